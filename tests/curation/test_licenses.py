"""A licence is named only where its text is one that is known."""

from __future__ import annotations

import pytest

from benchwright.curation.licenses import identify

BSD = (
    "Redistribution and use in source and binary forms, with or without modification, are permitted provided that the"
    " following conditions are met: "
)


@pytest.mark.parametrize(
    ("text", "spdx"),
    [
        ("Apache License\n   Version 2.0, January 2004\n http://www.apache.org/licenses/", "Apache-2.0"),
        (BSD + "1. a 2. b 3. Neither the name of X nor", "BSD-3-Clause"),
        (BSD + "1. a 2. b THIS SOFTWARE IS PROVIDED", "BSD-2-Clause"),
        ("GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007", "GPL-3.0"),
        ("GNU LESSER GENERAL PUBLIC LICENSE Version 2.1, February 1999", "LGPL-2.1"),
        ("Creative Commons Attribution-NonCommercial 4.0 International", "CC-BY-NC-4.0"),
        ("This is free and unencumbered software released into the public domain.", "Unlicense"),
    ],
)
def test_known_texts_are_named(text: str, spdx: str) -> None:
    assert identify(text) == spdx


@pytest.mark.parametrize(
    "text",
    ["All rights reserved.", BSD + "1. a. For non-commercial use only. Neither the name of X nor", "MIT", "", "Apache"],
)
def test_other_texts_and_changed_ones_are_not(text: str) -> None:
    assert identify(text) is None
