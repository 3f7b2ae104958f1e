"""A Python snippet with one literal exchanged: a keyword of a call, or what a variable is assigned.

The literal is found in the syntax tree and its place in the source gets the new one; everything else stays byte for
byte. A name that stands for two literals is not varied, nor is a value that another literal of the snippet repeats:
the two (a width and the shape of what is put in) may have to be equal.
"""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...validators.arguments.programs import normal

__all__ = ["Literal", "edited_snippet", "literals_of"]


@dataclass(frozen=True)
class Literal:
    """A literal that a name stands for."""

    name: str
    value: Any
    start: tuple[int, int]
    """Line from 1 and offset in bytes from 0, as ``ast`` counts."""
    end: tuple[int, int]


def literals_of(code: str) -> tuple[Literal, ...]:
    """The literals of a snippet that may be varied, in order; none where it is no Python."""
    tree = _parsed(code)
    if tree is None:
        return ()
    found = [Literal(name, node.value, *_place(node)) for name, node in _named(tree)]
    names = Counter(normal(literal.name) for literal in found)
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    values = Counter((type(value), value) for value in constants)
    return tuple(
        literal
        for literal in found
        if names[normal(literal.name)] == 1 and values[(type(literal.value), literal.value)] == 1
    )


def edited_snippet(code: str, name: str, value: Any) -> str | None:
    """The snippet with the literal of ``name`` exchanged for ``value``; None where the name has none of its own."""
    literal = next((literal for literal in literals_of(code) if normal(literal.name) == normal(name)), None)
    if literal is None:
        return None
    lines = code.split("\n")
    (first, left), (last, right) = literal.start, literal.end
    head, tail = lines[first - 1].encode()[:left], lines[last - 1].encode()[right:]
    lines[first - 1 : last] = [(head + repr(value).encode() + tail).decode()]
    edited = "\n".join(lines)
    return edited if _parsed(edited) is not None else None


def _named(tree: ast.AST) -> Iterator[tuple[str, ast.Constant]]:
    """Keywords, and variables that are read somewhere, with the literal each is given."""
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    for node in ast.walk(tree):
        match node:
            case ast.keyword(arg=str(name), value=ast.Constant() as value):
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant() as value) if name in read:
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant() as value) if name in read:
                pass
            case _:
                continue
        if isinstance(value.value, (int, float, str)) and not isinstance(value.value, bool):
            yield name, value


def _place(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def _parsed(code: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
