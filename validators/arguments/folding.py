"""The plain values of Python expressions, through names, containers, joined text and arithmetic. Nothing is run."""

from __future__ import annotations

import ast
from typing import Any

__all__ = ["DEEPEST", "UNKNOWN", "Folding"]

DEEPEST = 12
MOST_NUMBER = 2**64
_CONVERTERS = ("Path", "PurePath", "str", "int", "float", "tuple", "list", "join", "Size")


class _Unknown:
    def __repr__(self) -> str:
        return "something computed"


UNKNOWN = _Unknown()


class Folding:
    """Knows the names of a snippet so far."""

    def __init__(self) -> None:
        self.values: dict[str, ast.expr | None] = {}
        """The expression last given to each variable; None where it is not known."""
        self.aliases: dict[str, str] = {}
        """Local names of what is imported."""

    def value(self, node: ast.expr | None, depth: int = 0) -> Any:
        """The plain value of an expression; :data:`UNKNOWN` where running it would be needed."""
        if node is None or depth > DEEPEST:
            return UNKNOWN
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                if node.id in self.values:
                    held = self.values[node.id]
                    return UNKNOWN if held is node else self.value(held, depth + 1)
                return UNKNOWN
            case ast.List() | ast.Tuple() | ast.Set():
                return [self.value(item, depth + 1) for item in node.elts]
            case ast.UnaryOp() if isinstance(node.op, (ast.USub, ast.UAdd)):
                inner = self.value(node.operand, depth + 1)
                if isinstance(inner, (int, float)) and not isinstance(inner, bool):
                    return -inner if isinstance(node.op, ast.USub) else inner
            case ast.BinOp():
                return self._joined(node, depth)
            case ast.JoinedStr():
                parts = [self.value(part.value if isinstance(part, ast.FormattedValue) else part, depth + 1)
                         for part in node.values]  # fmt: skip
                return "".join(map(str, parts)) if all(part is not UNKNOWN for part in parts) else UNKNOWN
            case ast.Call():
                name = self.callee(node.func)
                if name.rpartition(".")[2] in (
                    "Path",
                    "PurePath",
                    "str",
                    "int",
                    "float",
                    "tuple",
                    "list",
                    "join",
                    "Size",
                ):
                    return self._converted(name.rpartition(".")[2], node, depth)
        return UNKNOWN

    def _converted(self, name: str, node: ast.Call, depth: int) -> Any:
        given = [self.value(argument, depth + 1) for argument in node.args]
        if not given or UNKNOWN in given:
            return UNKNOWN
        if name == "join" and all(isinstance(part, str) for part in given):
            return "/".join(given)
        return given[0] if len(given) == 1 else UNKNOWN

    def _joined(self, node: ast.BinOp, depth: int) -> Any:
        left, right = self.value(node.left, depth + 1), self.value(node.right, depth + 1)
        if isinstance(left, str) and isinstance(right, str):
            if isinstance(node.op, ast.Add) and len(left) + len(right) < 10_000:
                return left + right
            if isinstance(node.op, ast.Div):
                return f"{left}/{right}"
        plain = (int, float)
        if isinstance(left, plain) and isinstance(right, plain) and max(abs(left), abs(right)) < MOST_NUMBER:
            try:
                if isinstance(node.op, ast.Add):
                    return left + right
                if isinstance(node.op, ast.Sub):
                    return left - right
                if isinstance(node.op, ast.Mult):
                    return left * right
                if isinstance(node.op, ast.Div):
                    return left / right
                if isinstance(node.op, ast.Pow) and abs(left) <= 1000 and abs(right) <= 100:
                    return left**right
            except (ArithmeticError, ValueError):
                return UNKNOWN
        return UNKNOWN

    def callee(self, node: ast.expr) -> str:
        """The dotted name of what is called, import aliases written out; empty where it has none."""
        parts: list[str] = []
        while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
            if isinstance(node, ast.Attribute):
                parts.append(node.attr)
                node = node.value
            else:
                return ".".join(reversed(parts))
        if isinstance(node, ast.Name):
            parts.append(self.aliases.get(node.id, node.id))
        return ".".join(reversed(parts))
