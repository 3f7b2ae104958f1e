"""Whether two values are the same: numbers by value, booleans, lists, paths; text as it is."""

from __future__ import annotations

import json
import posixpath
import re
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

__all__ = ["FALSE", "TRUE", "as_flag_given", "items", "number", "same", "same_path", "text"]

TRUE = frozenset({"true", "yes", "y", "on", "t", "1", "store_true"})
FALSE = frozenset({"false", "no", "n", "off", "f", "0", "store_false"})
_NUMBER = re.compile(r"[+-]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_LONGEST_NUMBER = 64


def text(value: Any) -> str:
    """A value as a message and a comparison of text show it."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def number(value: Any) -> Decimal | None:
    """The value as a number; None where it is none. Booleans are none."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return Decimal(value)
    return _number(repr(value) if isinstance(value, float) else value.strip() if isinstance(value, str) else "")


@lru_cache(maxsize=65536)
def _number(written: str) -> Decimal | None:
    if len(written) > _LONGEST_NUMBER or not _NUMBER.fullmatch(written):
        return None
    try:
        found = Decimal(written)
    except InvalidOperation:
        return None
    return found if abs(found.adjusted()) < 400 else None


def items(value: Any) -> list[Any] | None:
    """The items of a list, also of one written as text: ``[1, 2]``, ``(1,2)``, ``1,2``, ``1 2``; None for one value."""
    if isinstance(value, (list, tuple)):
        return list(value)
    if not isinstance(value, str):
        return None
    bare = value.strip()
    if bare[:1] + bare[-1:] in ("[]", "()"):
        inside = bare[1:-1].strip().rstrip(",")
        return [part.strip().strip("'\"") for part in inside.split(",")] if inside else []
    if "," in bare:
        return [part.strip() for part in bare.split(",")]
    if re.search(r"\s", bare):
        return bare.split()
    return None


def same(wanted: Any, found: Any, kind: str | None = None) -> bool:
    """Whether a call's value is the one wanted; ``kind`` is the flag's type where one is known.

    What reads as a number is one; only a flag declared as text keeps the difference between ``007`` and ``7``.
    """
    if kind == "bool" or isinstance(found, bool) or isinstance(wanted, bool):
        return _truth(wanted) is not None and _truth(wanted) == _truth(found)
    if wanted is None or found is None:
        return _is_none(wanted) and _is_none(found)
    if text(wanted) == text(found):
        return True
    left, right = number(wanted), number(found)
    if left is not None and right is not None:
        literal = kind == "str" and isinstance(wanted, str) and isinstance(found, str)
        return left == right and not (literal and (_is_code(wanted) or _is_code(found)))
    many, given = items(wanted), items(found)
    if isinstance(found, (list, tuple)) or isinstance(wanted, (list, tuple)) or (many and given):
        many = [wanted] if many is None else many
        given = [found] if given is None else given
        flat = [part for item in given for part in (item if isinstance(item, (list, tuple)) else [item])]
        if isinstance(wanted, str) and len(flat) == 1 and isinstance(flat[0], str) and len(many) > 1:
            return same(wanted, flat[0], kind)
        return len(many) == len(flat) and all(same(a, b, kind) for a, b in zip(many, flat, strict=True))
    return same_path(text(wanted), text(found))


def same_path(wanted: str, found: str) -> bool:
    """Whether two texts are the same path: ``./a/`` and ``a``."""
    if not wanted or not found or "://" in wanted or "://" in found:
        return False
    if "/" not in wanted and "/" not in found:
        return False
    return posixpath.normpath(wanted) == posixpath.normpath(found)


def as_flag_given(wanted: Any) -> bool | None:
    """For a flag without value: whether it is wanted on; an empty text asks that it be given. None: it says neither."""
    if wanted is None or (isinstance(wanted, str) and not wanted.strip()):
        return True
    return _truth(wanted)


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    word = text(value).strip().lower()
    return True if word in TRUE else False if word in FALSE else None


def _is_none(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip().lower() in ("none", "null"))


def _is_code(word: str) -> bool:
    """Whether a text of digits is a code rather than a number: ``007``."""
    return re.fullmatch(r"0\d+", word) is not None
