"""Constant folding: what an operator, builtin or method gives on known values, without evaluating any code.

Only operations whose result is bounded are here, so that no source text can make reading slow or large.
"""

from __future__ import annotations

import operator
import posixpath
import re
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["CannotFoldError", "compare", "fold_binary", "fold_builtin", "fold_method", "fold_unary", "number"]

LARGEST = 100_000
"""Longest string or list, and largest exponent times digits, that folding makes."""


class CannotFoldError(Exception):
    """The result is not known without running the program, or too large to be wanted."""


def number(text: str) -> int | float | complex:
    """The value of a numeric literal."""
    text = text.replace("_", "").rstrip("lL") if text[:2].lower() not in ("0x", "0b", "0o") else text.replace("_", "")
    try:
        if text[:2].lower() in ("0x", "0b", "0o"):
            return int(text, 0)
        if text[-1:] in "jJ":
            return complex(text)
        if any(char in text for char in ".eE"):
            return float(text)
        if len(text) > 1 and text[0] == "0" and text.strip("0"):
            return int(text, 8)
        return int(text[:4000])
    except ValueError as error:
        raise CannotFoldError(text) from error


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "|": operator.or_,
    "&": operator.and_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
_WIDE_FORMAT = re.compile(r"%[^a-zA-Z%]*(?:\d{3}|\*)")
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": lambda left, right: left is right or ((left is None) == (right is None) and left == right),
    "is not": lambda left, right: not _COMPARE["is"](left, right),
    "in": lambda left, right: left in right,
    "not in": lambda left, right: left not in right,
}
_UNARY: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}


def fold_binary(sign: str, left: Any, right: Any) -> Any:
    """``left sign right``.

    Raises:
        CannotFoldError: no such operation on these values, or its result would be too large.
    """
    if sign in ("**", "<<") and (abs(_real(left)) > 10**12 or abs(_real(right)) > 512):
        raise CannotFoldError(sign)
    if sign == "*":
        _check_repetition(left, right)
    if sign == "%" and isinstance(left, str) and _WIDE_FORMAT.search(left):
        raise CannotFoldError(sign)
    return _guard(_BINARY.get(sign), left, right)


def _real(value: Any) -> float:
    if isinstance(value, (int, float)):
        return value
    raise CannotFoldError("no number")


def _check_repetition(left: Any, right: Any) -> None:
    for sequence, count in ((left, right), (right, left)):
        if isinstance(sequence, (str, list, tuple)) and isinstance(count, int) and len(sequence) * count > LARGEST:
            raise CannotFoldError("*")


def fold_unary(sign: str, value: Any) -> Any:
    """``-value``, ``+value`` or ``~value``; raises :class:`CannotFoldError`."""
    return _guard(_UNARY.get(sign), value)


def compare(sign: str, left: Any, right: Any) -> bool:
    """``left sign right`` for a comparison; raises :class:`CannotFoldError`."""
    return bool(_guard(_COMPARE.get(sign), left, right))


_BUILTINS: dict[str, Callable[..., Any]] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "len": len,
    "list": list,
    "tuple": tuple,
    "set": lambda *args: sorted(set(*args), key=repr),
    "frozenset": lambda *args: sorted(set(*args), key=repr),
    "sorted": sorted,
    "dict": dict,
    "min": min,
    "max": max,
    "sum": sum,
    "abs": abs,
    "round": round,
    "reversed": lambda value: list(reversed(value)),
    "enumerate": lambda value, start=0: list(enumerate(value, start)),
    "zip": lambda *values: list(zip(*values, strict=False)),
    "pow": lambda left, right: fold_binary("**", left, right),
}
_DOTTED: dict[str, Callable[..., Any]] = {
    "os.path.join": posixpath.join,
    "os.path.basename": posixpath.basename,
    "os.path.dirname": posixpath.dirname,
    "pathlib.Path": lambda *parts: posixpath.join(*parts) if parts else ".",
    "collections.OrderedDict": dict,
}


def fold_builtin(dotted: str, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """The result of a builtin or well-known pure function on constants; raises :class:`CannotFoldError`."""
    name = dotted.removeprefix("builtins.")
    if name == "range":
        if not args or not all(isinstance(arg, int) for arg in args):
            raise CannotFoldError(name)
        made = _guard(range, *args)
        if len(made) > LARGEST:
            raise CannotFoldError(name)
        return list(made)
    function = _BUILTINS.get(name) if dotted.startswith("builtins.") else _DOTTED.get(dotted)
    if keywords and name not in ("dict", "sorted"):
        raise CannotFoldError(name)
    return _guard(function, *args, **keywords)


_METHODS: dict[type, frozenset[str]] = {
    str: frozenset(
        {"lower", "upper", "title", "capitalize", "strip", "lstrip", "rstrip", "split", "rsplit", "splitlines", "join"}
        | {"replace", "startswith", "endswith", "removeprefix", "removesuffix", "isdigit", "isalpha", "count"}
    ),
    dict: frozenset({"keys", "values", "items", "get", "copy"}),
    list: frozenset({"copy", "index", "count"}),
    tuple: frozenset({"index", "count"}),
}


def fold_method(receiver: Any, name: str, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """``receiver.name(*args, **keywords)`` for a method that changes nothing; raises :class:`CannotFoldError`."""
    if isinstance(receiver, str) and name == "format":
        return _format(receiver, args, keywords)
    if keywords or name not in _METHODS.get(type(receiver), frozenset()):
        raise CannotFoldError(name)
    result = _guard(getattr(receiver, name), *args)
    return list(result) if isinstance(receiver, dict) and name in ("keys", "values", "items") else result


def _format(template: str, args: Sequence[Any], keywords: dict[str, Any]) -> str:
    """Only ``{}``, ``{0}`` and ``{name}``: widths could make it large, attributes could reach into objects."""
    out, position, auto = "", 0, 0
    while position < len(template):
        start = template.find("{", position)
        if start < 0:
            return out + template[position:]
        end = template.find("}", start)
        field = template[start + 1 : end]
        if end < 0 or template[start : start + 2] == "{{":
            raise CannotFoldError(template)
        out += template[position:start]
        try:
            if field == "":
                out, auto = out + str(args[auto]), auto + 1
            else:
                out += str(args[int(field)] if field.isdigit() else keywords[field])
        except (IndexError, KeyError) as error:
            raise CannotFoldError(template) from error
        position = end + 1
    return out


def _guard(function: Callable[..., Any] | None, *args: Any, **keywords: Any) -> Any:
    """The result, where there is one and it is not too large."""
    if function is None:
        raise CannotFoldError("no such operation")
    try:
        result = function(*args, **keywords)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise CannotFoldError(str(error)) from error
    if isinstance(result, (str, list, tuple, dict)) and len(result) > LARGEST:
        raise CannotFoldError("too large")
    return result
