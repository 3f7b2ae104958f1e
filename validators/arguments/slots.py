"""Where a call or snippet holds values, for arguments that the dataset names without their being flags.

A slot is a place (an option, a positional, the script, a parameter of a call) with a value. A wanted value
is in a slot when it is the slot's whole value, a run of a path's parts, or a run of the words in an identifier.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from .values import number, same, text

__all__ = ["Slot", "holds", "tokens"]

_MOST_PIECES = 3
_TOKENS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
SlotKind = Literal["value", "name", "script", "prose"]


@dataclass(frozen=True)
class Slot:
    """One place with a value."""

    key: str
    """Names the place: ``--lr``, ``word 2``, ``script``, ``parameter name of f``."""
    value: Any
    kind: SlotKind = "value"
    """``name``: what is used is itself a name (an option, a function, a module); ``prose``: a sentence in a string."""


@lru_cache(maxsize=16384)
def tokens(identifier: str) -> tuple[str, ...]:
    """The words of an identifier in lower case: at ``_``, ``-``, ``.``, blanks, and where case or digits change."""
    return tuple(part.lower() for part in _TOKENS.findall(identifier))


@lru_cache(maxsize=16384)
def _pieces(identifier: str) -> tuple[str, ...]:
    """The parts between ``_``, ``-``, ``.``, ``=`` and blanks, in lower case."""
    return tuple(part.lower() for part in re.split(r"[\s_\-.=:,;?!'\"()]+", identifier) if part)


def _run(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    if not short:
        return False
    return any(long[at : at + len(short)] == short for at in range(len(long) - len(short) + 1))


def holds(slot: Slot, wanted: Any) -> bool:
    """Whether the wanted value is what stands in the slot, or plainly a part of it."""
    if isinstance(wanted, bool) or wanted is None:
        return slot.kind == "value" and isinstance(slot.value, (bool, str)) and same(wanted, slot.value)
    if (
        slot.kind == "value"
        and (wanted == slot.value or not _plain_text(wanted, slot.value))
        and same(wanted, slot.value)
    ):
        return True
    if isinstance(wanted, (list, dict)) or (isinstance(wanted, str) and wanted[:1] in ("(", "[")):
        return False
    within = slot.value if isinstance(slot.value, (list, tuple)) else [slot.value]
    if number(wanted) is not None:
        return any(_number_in(text(wanted), item, slot.kind) for item in within)
    return any(_text_in(text(wanted).strip(), text(item)) for item in within if not isinstance(item, (bool, dict)))


def _plain_text(wanted: Any, value: Any) -> bool:
    """Whether both are words, which are the same only letter by letter or as paths; those are looked at below."""
    return isinstance(wanted, str) and isinstance(value, str) and wanted.isidentifier() and value.isidentifier()


def _number_in(wanted: str, item: Any, kind: str) -> bool:
    """A number is a value by itself, or a piece of a file's or model's name: ``v2.0`` in ``dev-v2.0.json``."""
    if kind == "value" and number(item) is not None:
        return same(wanted, item)
    if not isinstance(item, str) or kind == "prose":
        return False
    return re.search(rf"(?<![\d.]){re.escape(wanted)}(?![0-9A-Za-z]|\.\d)", item, re.IGNORECASE) is not None


def _text_in(wanted: str, found: str) -> bool:
    if not wanted:
        return False
    if wanted == found:
        return True
    if wanted.startswith("-"):
        return False
    first = tokens(wanted)
    if first and first[0] not in found.lower():
        return False  # none of what follows could hold
    if "/" in wanted or ("/" in found and not re.search(r"\s", found)):
        return _path_in(wanted, found)
    return _name_in(wanted, found)


def _name_in(wanted: str, found: str) -> bool:
    pieces, whole = _pieces(wanted), _pieces(found)
    if pieces == whole:
        return True
    if len(pieces) > _MOST_PIECES and not re.search(r"\s", wanted):
        return False  # so exact a name is meant as a whole
    return _run(pieces, whole) or _words_in(wanted, found)


def _words_in(wanted: str, found: str) -> bool:
    """``AFT`` in ``AFT_FULL``, ``CrissCross`` in ``CrissCrossAttention``; but not ``blip`` in ``blip2``."""
    short = tokens(wanted)
    if "".join(short) == "".join(tokens(found)):
        return True
    parts = list(_TOKENS.finditer(found))
    words = [part[0].lower() for part in parts]
    for at in range(len(words) - len(short) + 1):
        end = at + len(short)
        if tuple(words[at:end]) == short and _parted(found, parts, at) and _parted(found, parts, end):
            return True
    return False


def _parted(found: str, parts: list[re.Match[str]], at: int) -> bool:
    """Whether a word of an identifier may end before its ``at``-th part: at a sign, a capital, a class's number."""
    if at in (0, len(parts)):
        return True
    before, after = parts[at - 1], parts[at]
    if before.end() < after.start():
        return True
    if before[0].isdigit():
        return False
    return found[:1].isupper() if after[0].isdigit() else after[0][:1].isupper()


def _path_in(wanted: str, found: str) -> bool:
    """The wanted parts in a row among the path's parts; the last may lack its suffix."""
    left = [part for part in posixpath.normpath(wanted).split("/") if part not in ("", ".")]
    right = [part for part in posixpath.normpath(found).split("/") if part not in ("", ".")]
    if wanted.startswith("/") != found.startswith("/") and wanted.startswith("/"):
        return False
    # what begins with ./ is relative to the folder: it begins the other path too
    starts: Iterable[int] = range(1) if wanted.startswith("./") else range(len(right) - len(left) + 1)
    for at in starts:
        part = right[at : at + len(left)]
        if part == left or (part and part[:-1] == left[:-1] and _stem(part[-1]) == left[-1]):
            return True
    if len(left) != 1:
        return False
    return any(
        _name_in(left[0], part) or _name_in(left[0], _stem(part))
        for part in (right[:1] if wanted.startswith("./") else right)
    )


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name
