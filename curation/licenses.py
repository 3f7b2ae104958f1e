"""The licence of a repository, by the text of its licence file. A guess is never stated as a fact: see ``UNKNOWN``."""

from __future__ import annotations

import hashlib
import posixpath
import re
from dataclasses import dataclass

from .documents.text import decode
from .source import PinnedTree

__all__ = ["UNKNOWN", "License", "find_license", "identify"]

UNKNOWN = "LicenseRef-unknown"
"""There is a licence file, and it is none of the licences known here."""

_FILE = re.compile(r"(?:un)?licen[cs]e(?:[._-].*)?|copying(?:\..*)?|licen[cs]e[._-]?(?:mit|apache).*", re.IGNORECASE)


@dataclass(frozen=True)
class License:
    """What was found: the SPDX id (or ``LicenseRef-unknown``), the file, and the SHA-256 of its bytes."""

    spdx: str
    path: str
    sha256: str


# each id with phrases that must all be there, and phrases that must not; the first that fits is taken
_RULES: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("AGPL-3.0", ("gnu affero general public license", "version 3"), ()),
    ("LGPL-3.0", ("gnu lesser general public license", "version 3"), ("version 2.1",)),
    ("LGPL-2.1", ("gnu lesser general public license", "version 2.1"), ()),
    ("GPL-3.0", ("gnu general public license", "version 3, 29 june 2007"), ()),
    ("GPL-2.0", ("gnu general public license", "version 2, june 1991"), ()),
    ("MPL-2.0", ("mozilla public license version 2.0",), ()),
    ("Apache-2.0", ("apache license", "version 2.0, january 2004"), ("non-commercial", "noncommercial")),
    ("CC0-1.0", ("cc0 1.0 universal",), ()),
    ("CC-BY-NC-SA-4.0", ("attribution-noncommercial-sharealike 4.0 international",), ()),
    ("CC-BY-NC-ND-4.0", ("attribution-noncommercial-noderivatives 4.0 international",), ()),
    ("CC-BY-NC-4.0", ("attribution-noncommercial 4.0 international",), ()),
    ("CC-BY-SA-4.0", ("attribution-sharealike 4.0 international",), ()),
    ("CC-BY-4.0", ("attribution 4.0 international",), ()),
    ("Unlicense", ("this is free and unencumbered software released into the public domain",), ()),
    (
        "BSD-3-Clause",
        ("redistribution and use in source and binary forms", "neither the name", "conditions are met"),
        ("non-commercial", "noncommercial", "personal or research"),
    ),
    (
        "BSD-2-Clause",
        ("redistribution and use in source and binary forms", "conditions are met"),
        ("neither the name", "non-commercial", "noncommercial", "personal or research"),
    ),
    (
        "MIT",
        (
            "permission is hereby granted, free of charge, to any person obtaining a copy",
            "without restriction, including without limitation the rights to use, copy, modify, merge, publish,"
            " distribute, sublicense, and/or sell",
            "the above copyright notice and this permission notice shall be included in all copies",
        ),
        ("non-commercial", "noncommercial", "subject to the following conditions: 1.", "research purposes only"),
    ),
    ("ISC", ("permission to use, copy, modify, and/or distribute this software for any purpose",), ()),
)


def identify(text: str) -> str | None:
    """The SPDX id of a licence text; None where it is none of those known here, or is one with changes."""
    plain = " ".join(re.sub(r"[\"'`“”‘’]", "", text.lower()).split())
    for spdx, present, absent in _RULES:
        if all(re.sub(r"[\"'`]", "", phrase) in plain for phrase in present) and not any(p in plain for p in absent):
            return spdx
    return None


def find_license(tree: PinnedTree) -> License | None:
    """The licence at the repository's root; None where no file there looks like one."""
    names = [path for path in tree.paths() if "/" not in path and _FILE.fullmatch(path)]
    names.sort(key=lambda path: (posixpath.splitext(path)[0].lower() not in ("license", "licence"), path))
    found: License | None = None
    for path, data in tree.read_many(names):
        spdx = identify(decode(data) or "") or UNKNOWN
        if found is None or (found.spdx == UNKNOWN and spdx != UNKNOWN):
            found = License(spdx, path, hashlib.sha256(data).hexdigest())
    return found
