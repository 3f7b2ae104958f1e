"""Looking at shell text and its parse tree: what needs to know nothing of folders and variables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tree_sitter import Node

__all__ = ["UNROLL", "braces", "expansions", "holds", "logical_lines", "unescape", "words_after"]

UNROLL = 64
"""At most so many turns of loops are followed in one script."""


def logical_lines(data: bytes) -> Iterator[tuple[int, int]]:
    """First and last byte of each line, continued ones as one."""
    start = 0
    for match in re.finditer(rb"(?<!\\)\n|\Z", data):
        if match.start() > start:
            yield start, match.start()
        start = match.end()


def holds(node: Node, kind: str) -> bool:
    """Whether the node or one of its children is of this kind."""
    return node.type == kind or any(child.type == kind for child in node.children)


def words_after(redirects: Iterable[Node]) -> list[Node]:
    """Words that follow a redirection's own target: the grammar hangs them below it."""
    found: list[Node] = []
    for redirect in redirects:
        if redirect.type == "file_redirect":
            destinations = [child for child in redirect.children if child.is_named and child.type != "file_descriptor"]
            found += destinations[1:]
    return found


def expansions(nodes: Iterable[Node]) -> list[Node]:
    """The variables that the shell would fill in, in order."""
    found: list[Node] = []
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node.type in ("simple_expansion", "expansion"):
            found.append(node)
        elif node.type != "raw_string":
            waiting += node.children
    return sorted(found, key=lambda node: node.start_byte)


def unescape(text: str) -> str:
    """The word without backslashes, continued lines joined."""
    return re.sub(r"\\(.)", lambda match: "" if match[1] == "\n" else match[1], text, flags=re.DOTALL)


def braces(word: str) -> list[str]:
    """``{1..3}`` and ``a{b,c}`` as lists; anything else, and long ranges, as one word."""
    ranged = re.fullmatch(r"\{(-?\d+)\.\.(-?\d+)(?:\.\.(\d+))?\}", word)
    if ranged:
        first, last, step = int(ranged[1]), int(ranged[2]), int(ranged[3] or 1) or 1
        values = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
        return [str(value) for value in values[:UNROLL]]
    listed = re.fullmatch(r"([^{}]*)\{([^{}]+,[^{}]*)\}([^{}]*)", word)
    return [f"{listed[1]}{part}{listed[3]}" for part in listed[2].split(",")] if listed else [word]
