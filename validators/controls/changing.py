"""Another value of the same kind: near enough to be mistaken for the first, and never equal to it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from ..arguments.values import FALSE, TRUE, number, same

__all__ = ["changed", "changed_inside"]

_OTHER_WORD = {"true": "False", "false": "True", "yes": "no", "no": "yes", "on": "off", "off": "on"}


def changed(value: Any, choices: Sequence[Any] | None = None) -> Any:
    """A value that is not ``value``, of its type; one of ``choices`` where a flag allows no other."""
    for choice in choices or ():
        if not same(value, choice):
            return type(value)(choice) if isinstance(value, (int, float, str)) else choice
    if isinstance(value, bool):
        return not value
    if isinstance(value, (list, tuple)):
        return [changed(value[0]), *value[1:]] if value else ["x"]
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return float(_number(Decimal(repr(value)))) if value == value and abs(value) != float("inf") else 0.0
    return _text(value) if isinstance(value, str) else "x"


def changed_inside(word: str, wanted: Any) -> str:
    """``word`` with ``wanted`` changed where it stands in it, else with each of its own words changed."""
    inside = str(wanted)
    if inside and re.search(re.escape(inside), word, re.IGNORECASE):
        return re.sub(re.escape(inside), lambda match: str(changed(match[0])), word, flags=re.IGNORECASE)
    if number(word) is not None or not re.search(r"[A-Za-z]", word):
        return str(changed(word))
    return re.sub(r"[a-z]+|[A-Z]+(?![a-z])", r"\g<0>x", word)


def _text(value: str) -> str:
    word = value.strip()
    if word.lower() in TRUE | FALSE and word.lower() in _OTHER_WORD:
        return _OTHER_WORD[word.lower()]
    plain = number(word)
    if plain is not None:
        return str(_number(plain))
    if word[:1] in ("(", "[", "{") and re.search(r"\d", word):
        return _counted(word)
    folder, name = posixpath.split(word.rstrip("/"))
    stem, suffix = posixpath.splitext(name)
    if re.search(r"\D\d+$", stem):
        stem = re.sub(r"\d+$", lambda match: str(int(match[0]) + 1), stem)
    else:
        stem = re.sub(r"(?<=[^\W_])(?=[\W_]*$)", "x", stem, count=1) if re.search(r"[^\W_]", stem) else f"{stem}x"
    return posixpath.join(folder, stem + suffix) + ("/" if word.endswith("/") else "")


def _number(value: Decimal) -> Decimal:
    """One more of a whole number, half as much again of a fraction: what was between 0 and 1 mostly stays there."""
    if value == value.to_integral_value():
        return value + 1
    other = value * Decimal("1.5")
    return other if abs(value) >= 1 or abs(other) < 1 else value / 2


def _counted(word: str) -> str:
    return re.sub(r"\d+", lambda match: str(int(match[0]) + 1), word, count=1)
