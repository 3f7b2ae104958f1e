"""Tests of a shell script that can be decided from its text: ``[ a = b ]``, ``[[ -n $x ]]``, ``[ 1 -lt 2 ]``."""

from __future__ import annotations

import fnmatch
import operator
import re

from tree_sitter import Node

from .expansion import Expander, source_of

__all__ = ["verdict_of"]


_NUMBERS = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-lt": operator.lt,
    "-le": operator.le,
    "-gt": operator.gt,
    "-ge": operator.ge,
}


def verdict_of(node: Node, words: Expander) -> bool | None:
    """Whether the test inside brackets holds; None where only running it would tell (``-f file``)."""
    if node.type == "parenthesized_expression":
        return verdict_of(node.named_children[0], words)
    if node.type == "unary_expression":
        sign, operand = source_of(node.children[0]), node.named_children[-1]
        if sign == "!":
            inner = verdict_of(operand, words)
            return None if inner is None else not inner
        text = _known(operand, words)
        return {"-n": bool(text), "-z": not text}.get(sign)
    if node.type != "binary_expression" or len(node.children) < 3:
        return bool(_known(node, words)) if node.type in ("string", "simple_expansion", "word", "number") else None
    left, sign, right = _known(node.children[0], words), source_of(node.children[1]), _known(node.children[2], words)
    if sign in ("=", "=="):
        return fnmatch.fnmatchcase(left, right) if source_of(node.parent or node).startswith("[[") else left == right
    if sign == "!=":
        return left != right
    if sign in _NUMBERS and re.fullmatch(r"-?\d+", left) and re.fullmatch(r"-?\d+", right):
        return bool(_NUMBERS[sign](int(left), int(right)))
    return None


def _known(node: Node, words: Expander) -> str:
    """A word of a test; a variable that was never set is empty here."""
    text = source_of(node)
    bare = re.fullmatch(r"\"?\$\{?(\w+)\}?\"?", text)
    if bare and bare[1] not in words.variables:
        return ""
    return " ".join(words.fields(node))
