"""Functions and data classes as command lines: what typer, fire and HfArgumentParser make of parameters and fields."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

from .syntax import children, text_of

__all__ = ["Annotation", "Parameter", "annotation_of", "fields_of", "parameters_of"]

_WRAPPED = re.compile(r"^(?:typing\.|t\.)?(\w+)\[(.*)\]$", re.DOTALL)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function, or one field of a data class."""

    name: str
    node: Node
    annotation: str | None
    default: Node | None
    keyword_only: bool = False


@dataclass(frozen=True)
class Annotation:
    """What an annotation says about a value."""

    type: str
    is_list: bool = False
    choices: tuple[str | int, ...] | None = None
    optional: bool = False


def parameters_of(function: Node) -> list[Parameter]:
    """The named parameters of a function, without ``self``, ``*args`` and ``**kwargs``."""
    holder = function.child_by_field_name("parameters")
    found: list[Parameter] = []
    keyword_only = False
    for node in [] if holder is None else children(holder):
        if node.type in ("keyword_separator", "list_splat_pattern"):
            keyword_only = True
        if node.type == "identifier":
            found.append(Parameter(text_of(node), node, None, None, keyword_only))
        elif node.type in ("default_parameter", "typed_parameter", "typed_default_parameter"):
            name = node.child_by_field_name("name") or children(node)[0]
            annotation = node.child_by_field_name("type")
            if name.type != "identifier":
                continue
            text = None if annotation is None else text_of(annotation)
            found.append(Parameter(text_of(name), node, text, node.child_by_field_name("value"), keyword_only))
    return [parameter for parameter in found if parameter.name not in ("self", "cls")]


def fields_of(cls: Node) -> list[Parameter]:
    """The annotated fields of a class body."""
    found: list[Parameter] = []
    body = cls.child_by_field_name("body")
    for statement in [] if body is None else children(body):
        for node in children(statement) if statement.type == "expression_statement" else []:
            left, annotation = node.child_by_field_name("left"), node.child_by_field_name("type")
            if node.type == "assignment" and left is not None and annotation is not None and left.type == "identifier":
                found.append(Parameter(text_of(left), node, text_of(annotation), node.child_by_field_name("right")))
    return found


def annotation_of(text: str | None) -> Annotation:
    """``Optional[int]``, ``List[str]``, ``Literal["a", "b"]``, ``int | None`` and the like, read as text."""
    if text is None:
        return Annotation("str")
    text = text.strip().strip("'\"").strip()
    parts = [part.strip() for part in split_top(text, "|")]
    if len(parts) > 1:
        rest = [part for part in parts if part != "None"]
        inner = annotation_of(rest[0]) if len(rest) == 1 else Annotation(text)
        return Annotation(inner.type, inner.is_list, inner.choices, optional="None" in parts)
    match = _WRAPPED.match(text)
    if match is None:
        return Annotation(text)
    wrapper, inside = match.groups()
    items = split_top(inside, ",")
    if wrapper == "Annotated":
        return annotation_of(items[0])
    if wrapper == "Optional":
        inner = annotation_of(inside)
        return Annotation(inner.type, inner.is_list, inner.choices, optional=True)
    if wrapper == "Union":
        return annotation_of(" | ".join(item.strip() for item in items))
    if wrapper in ("List", "list", "Sequence", "Tuple", "tuple", "Set", "set", "Iterable"):
        return Annotation(annotation_of(items[0]).type, is_list=True)
    if wrapper == "Literal":
        values = [item.strip() for item in items]
        plain = tuple(int(v) if re.fullmatch(r"-?\d+", v) else v.strip("'\"") for v in values)
        return Annotation("int" if all(isinstance(v, int) for v in plain) else "str", choices=plain)
    return Annotation(text)


def split_top(text: str, separator: str) -> list[str]:
    """``text`` cut at ``separator`` where no bracket or quote is open."""
    parts, depth, quote, start = [], 0, "", 0
    for index, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "[(":
            depth += 1
        elif char in "])":
            depth -= 1
        elif char == separator and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]
