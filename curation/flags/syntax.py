"""Python files as syntax trees: parsed once per content, with the imports, functions, classes of the top level."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import tree_sitter_python
from tree_sitter import Language, Node, Parser, Query, QueryCursor, Tree

__all__ = ["assigned_names", "call_arguments", "calls", "children", "parse_python", "string_value", "text_of", "walk"]

_PYTHON = Language(tree_sitter_python.language())


@lru_cache(maxsize=2048)
def parse_python(source: bytes) -> Tree:
    """The syntax tree of ``source``; files with errors give a tree with ERROR nodes, never an exception."""
    return Parser(_PYTHON).parse(source)


def text_of(node: Node) -> str:
    """The source text of ``node``; bytes that are no UTF-8 become replacement characters."""
    return (node.text or b"").decode("utf-8", "replace")


def children(node: Node) -> list[Node]:
    """Named children without comments."""
    return [child for child in node.named_children if child.type != "comment"]


def walk(node: Node) -> Iterator[Node]:
    """``node`` and every named node below it, in source order."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.named_children))


@lru_cache(maxsize=1)
def _calls_query() -> Query:
    return Query(_PYTHON, "(call) @call")


def calls(node: Node) -> list[Node]:
    """The calls in ``node``, itself included, in source order: outer ones before those inside them."""
    found = QueryCursor(_calls_query()).captures(node).get("call", [])
    return sorted(found, key=lambda call: (call.start_byte, -call.end_byte))


@lru_cache(maxsize=1)
def _assigned_query() -> Query:
    return Query(_PYTHON, "[(assignment left: (identifier) @name) (augmented_assignment left: (identifier) @name)]")


def assigned_names(node: Node) -> set[str]:
    """The plain names that statements in ``node`` assign to."""
    return {text_of(name) for name in QueryCursor(_assigned_query()).captures(node).get("name", [])}


def call_arguments(call: Node) -> tuple[list[Node], dict[str, Node], list[Node]]:
    """Positional arguments, keyword arguments, and ``*x`` or ``**x`` of a call node."""
    positional: list[Node] = []
    keywords: dict[str, Node] = {}
    splats: list[Node] = []
    holder = call.child_by_field_name("arguments")
    if holder is None:
        return positional, keywords, splats
    if holder.type == "generator_expression":
        return [holder], keywords, splats
    for child in children(holder):
        if child.type == "keyword_argument":
            name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
            if name is not None and value is not None:
                keywords[text_of(name)] = value
        elif child.type in ("list_splat", "dictionary_splat"):
            splats.append(child)
        else:
            positional.append(child)
    return positional, keywords, splats


def string_value(node: Node) -> str | bytes | None:
    """The value of a string literal without interpolation; None where ``node`` is none.

    Escapes are decoded as Python does, by hand and not by evaluation.
    """
    if node.type == "concatenated_string":
        parts = [string_value(child) for child in children(node)]
        if parts and all(isinstance(part, str) for part in parts):
            return "".join(part for part in parts if isinstance(part, str))
        return None
    if node.type != "string" or any(child.type == "interpolation" for child in node.children):
        return None
    start, end = node.children[0], node.children[-1]
    if start.type != "string_start":
        return None
    prefix = text_of(start).rstrip("\"'").lower()
    if "b" in prefix:
        return None
    body = (node.text or b"")[start.end_byte - node.start_byte : end.start_byte - node.start_byte]
    raw = body.decode("utf-8", "replace").replace("\r\n", "\n")
    return raw if "r" in prefix else unescape(raw)


_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def unescape(text: str) -> str:
    """Backslash escapes decoded; unknown ones stay as they are, as in Python."""
    if "\\" not in text:
        return text
    out: list[str] = []
    index = 0
    while index < len(text):
        char = text[index]
        index += 1
        if char != "\\" or index == len(text):
            out.append(char)
            continue
        code = text[index]
        index += 1
        width = {"x": 2, "u": 4, "U": 8}.get(code)
        if code == "\n":
            continue
        if code in _SIMPLE:
            out.append(_SIMPLE[code])
        elif width and _is_code_point(text[index : index + width], width):
            out.append(chr(int(text[index : index + width], 16)))
            index += width
        elif code in "01234567":
            digits = code
            while len(digits) < 3 and index < len(text) and text[index] in "01234567":
                digits += text[index]
                index += 1
            out.append(chr(int(digits, 8)))
        else:
            out.append("\\" + code)
    return "".join(out)


def _is_code_point(digits: str, width: int) -> bool:
    if len(digits) != width or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
        return False
    return int(digits, 16) <= 0x10FFFF
