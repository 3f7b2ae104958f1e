"""Argument values as text a person edits: one ``NAME=VALUE`` a line, or a JSON or Python dictionary."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..core.errors import BenchwrightError

__all__ = ["parse_arguments", "write_arguments"]

LINE_NAME = re.compile(r"[^\s={\-][^\s=]*")
"""A name that can stand in a line of its own."""

DEEPEST = 32
"""Levels of nesting, far beyond any argument and far below what readers of JSON give up at."""


def write_arguments(arguments: Mapping[str, Any]) -> str:
    """Lines that :func:`parse_arguments` reads back to equal names, values and types; JSON where lines cannot."""
    if not all(LINE_NAME.fullmatch(name) for name in arguments):
        return json.dumps(dict(arguments), ensure_ascii=False, indent=1)
    return "\n".join(f"{name}={_write_value(value)}" for name, value in arguments.items())


def _write_value(value: Any) -> str:
    plain = isinstance(value, str) and value == value.strip() and len(value.splitlines()) == 1
    if plain and _parse_value(value) == value:
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def parse_arguments(text: str) -> dict[str, Any]:
    """Read what :func:`write_arguments` writes, or a person typed.

    A value is read as JSON, else as a Python literal, else as the text it is. Nothing is evaluated.

    Raises:
        BenchwrightError: a line has no ``=`` or no name, a name stands twice, or the dictionary is none.
    """
    stripped = text.strip()
    if not stripped:
        return {}
    if stripped.startswith("{"):
        return _parse_dictionary(stripped)
    found: dict[str, Any] = {}
    for line in stripped.split("\n"):
        if not line.strip():
            continue
        name, equals, value = line.partition("=")
        name = name.strip().lstrip("-")
        if not equals or not name:
            raise BenchwrightError(f"an argument must read NAME=VALUE, not {line.strip()[:60]!r}")
        if name in found:
            raise BenchwrightError(f"the argument {name} stands twice")
        found[name] = _parse_value(value.strip())
    return found


def _parse_dictionary(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = _literal(text)
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise BenchwrightError("the arguments begin like a dictionary but are neither JSON nor a Python dictionary")
    _require_json(value)
    return value


def _parse_value(text: str) -> Any:
    try:
        value = json.loads(text, parse_constant=_no_constant)
        known = True
    except (ValueError, RecursionError):
        value = _literal(text)
        known = value is not None or text == "None"
    try:
        _require_json(value)
    except BenchwrightError:
        return text
    return value if known else text


def _literal(text: str) -> Any:
    """The Python literal, or None where it is none."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _items(value: dict[str, Any] | list[Any] | tuple[Any, ...]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _require_json(value: Any) -> None:
    """Refuse what the files of a task cannot hold: infinite numbers, lone surrogates, nesting without end."""
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode("utf-8")
        level = [value]
        for _ in range(DEEPEST):
            level = [inner for item in level if isinstance(item, dict | list | tuple) for inner in _items(item)]
        if level:
            raise ValueError("nested too deeply")
    except (TypeError, ValueError, RecursionError) as error:
        raise BenchwrightError("an argument's value is not text, number, true, false, list or dictionary") from error


def _no_constant(text: str) -> Any:
    raise ValueError(text)  # NaN and Infinity stay the words they are
