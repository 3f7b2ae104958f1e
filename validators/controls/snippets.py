"""A Python snippet with one argument changed: the literals that give it, or the names that are it."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..arguments.programs import normal
from ..arguments.slots import Slot, holds
from ..arguments.values import items, same
from .changing import changed, changed_inside

__all__ = ["changed_snippet"]


@dataclass(frozen=True)
class _Edit:
    """Text to put in place of a stretch of the source; lines from 1, columns in characters from 0."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


def changed_snippet(code: str, name: str, wanted: Any) -> str | None:
    """The snippet with ``name`` changed, first where it is given by its name; None where nothing carries it."""
    try:
        tree = ast.parse(code)
        found = (
            list(_edits(code, [node for node in _named(tree, name) if _is_it(node, wanted)], wanted))
            or [*_edits(code, _literals(tree, wanted), wanted), *_names(code, wanted)]
        )  # fmt: skip
        other = _applied(code, found)
        ast.parse(other)
    except (SyntaxError, ValueError, RecursionError, tokenize.TokenError):
        return None
    return other if other != code else None


def _named(tree: ast.AST, name: str) -> Iterator[ast.expr]:
    """The expressions given to a keyword, variable, parameter, attribute or key of that very name."""
    key = normal(name)
    for node in ast.walk(tree):
        match node:
            case ast.keyword(arg=str(given)) if normal(given) == key:
                yield node.value
            case ast.Assign():
                if any(_called(target, key) for target in node.targets):
                    yield node.value
            case ast.AnnAssign() if node.value is not None and _called(node.target, key):
                yield node.value
            case ast.Dict():
                for item, value in zip(node.keys, node.values, strict=True):
                    if isinstance(item, ast.Constant) and isinstance(item.value, str) and normal(item.value) == key:
                        yield value


def _called(target: ast.expr, key: str) -> bool:
    named = target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""
    return normal(named) == key


def _literals(tree: ast.AST, wanted: Any) -> Iterator[ast.expr]:
    """Every literal that holds the value, and not a second time what stands in one of them."""
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and id(node) not in inside and _is_it(node, wanted):
            inside |= {id(part) for part in ast.walk(node)}
            yield node
        elif isinstance(node, ast.Call) and _is_shape(node.args, wanted):
            yield node.args[0]  # torch.randn(50, 49, 512)
        elif isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in ast.walk(node)}  # its parts have no place of their own


def _is_it(node: ast.expr, wanted: Any) -> bool:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    if isinstance(value, (list, tuple)):
        return _shape_is(list(value), wanted)
    return isinstance(value, (str, int, float)) and holds(Slot("", value), wanted)


def _is_shape(nodes: list[ast.expr], wanted: Any) -> bool:
    try:
        return len(nodes) > 1 and _shape_is([ast.literal_eval(node) for node in nodes], wanted)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False


def _shape_is(value: list[Any], wanted: Any) -> bool:
    many = items(wanted)
    return bool(many) and len(value) == len(many or ()) and same(many, value)


def _edits(code: str, nodes: Iterable[ast.expr], wanted: Any) -> Iterator[_Edit]:
    lines = code.split("\n")
    for node in nodes:
        value = ast.literal_eval(node)
        other = changed_inside(value, wanted) if isinstance(value, str) else changed(value)
        text = repr(tuple(other) if isinstance(value, tuple) else other)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        yield _Edit(
            _place(lines, node.lineno, node.col_offset), _place(lines, node.end_lineno, node.end_col_offset), text
        )


def _place(lines: list[str], line: int, offset: int) -> tuple[int, int]:
    """A place in characters; ``ast`` counts the bytes of UTF-8."""
    return line, len(lines[line - 1].encode()[:offset].decode())


def _names(code: str, wanted: Any) -> Iterator[_Edit]:
    """Names of modules, classes, functions and parameters that are the value."""
    if not isinstance(wanted, str):
        return
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.NAME and holds(Slot("", token.string, "name"), wanted):
            yield _Edit(token.start, token.end, changed_inside(token.string, wanted))


def _applied(code: str, edits: Iterable[_Edit]) -> str:
    lines = code.split("\n")
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        (first, left), (last, right) = edit.start, edit.end
        lines[first - 1 : last] = [lines[first - 1][:left] + edit.text + lines[last - 1][right:]]
    return "\n".join(lines)
