"""Words as bash expands them: quotes, variables, defaults, arithmetic, braces. Exact, or it says that it is not."""

from __future__ import annotations

import ast
import fnmatch
import operator
import re
from collections.abc import Callable, Mapping

from tree_sitter import Node

__all__ = ["Expander", "Variable", "source_of"]

Variable = str | list[str]
MOST_FIELDS = 4096
_PARAMETER = re.compile(
    r"\$\{?(?P<length>#)?(?P<name>\w+|[@*#?!$-])(?:\[(?P<index>[^\]]*)\])?(?P<rest>.*?)\}?", re.DOTALL
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "\\": "\\"}
_ESCAPES |= {"'": "'", '"': '"', "?": "?"}
_OPERATORS: dict[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
}


def source_of(node: Node) -> str:
    """The node's text."""
    return (node.text or b"").decode("utf-8", "replace")


class Expander:
    """Expands words with the variables known at the moment; ``unknown`` counts what it could not know."""

    def __init__(self, variables: Mapping[str, Variable]) -> None:
        self.variables: dict[str, Variable | None] = dict(variables)
        self.unknown = 0

    def fields(self, node: Node) -> list[str]:
        """The words that one word of the source becomes."""
        text = source_of(node)
        if node.type in ("word", "concatenation", "brace_expression") and re.search(r"\{.*(?:,|\.\.).*\}", text):
            if not re.search(r"[\"'$`\\]", text):
                return _braces(text)
            self.unknown += 1
        if node.type == "word" and re.search(r"(?<!\\)[*?]", text):
            self.unknown += 1
        return self._expand(node)

    def value(self, node: Node | None) -> Variable | None:
        """What an assignment stores; None where it cannot be known."""
        if node is None:
            return ""
        before = self.unknown
        if node.type == "array":
            items = [field for child in node.named_children for field in self.fields(child)]
            return items if self.unknown == before else None
        joined = " ".join(self._expand(node, assigning=True))
        return joined if self.unknown == before else None

    # parts of words ----------------------------------------------------------------------------------------

    def _expand(self, node: Node, *, assigning: bool = False) -> list[str]:
        match node.type:
            case "raw_string":
                return [source_of(node)[1:-1]]
            case "ansi_c_string":
                return [_ansi(source_of(node)[2:-1])]
            case "string" | "translated_string":
                return self._quoted(node.children[-1] if node.type == "translated_string" else node)
            case "concatenation":
                return _glue(self._expand(child, assigning=assigning) for child in node.children)
            case "simple_expansion" | "expansion":
                found = self._parameter(source_of(node))
                return found if assigning else [part for text in found for part in text.split()]
            case "arithmetic_expansion":
                return [self._arithmetic(source_of(node))]
            case "command_substitution" | "process_substitution":
                self.unknown += 1
                return [source_of(node)]
            case "command_name":
                return self.fields(node.children[0]) if node.children else [source_of(node)]
            case _:
                return [re.sub(r"\\(\n|.)", lambda m: "" if m[1] == "\n" else m[1], source_of(node), flags=re.DOTALL)]

    def _quoted(self, node: Node) -> list[str]:
        data, at, end = node.text or b"", node.start_byte + 1, node.end_byte - 1
        parts: list[list[str]] = [[""]]
        for child in node.children:
            if child.type in ("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"):
                parts.append([_unquote(data[at - node.start_byte : child.start_byte - node.start_byte])])
                text = source_of(child)
                if child.type in ("simple_expansion", "expansion"):
                    many = text in ("$@", "${@}") or "[@]" in text
                    found = self._parameter(text)
                    parts.append(found if many else [" ".join(found)])
                else:
                    parts.append(self._expand(child))
                at = child.end_byte
        parts.append([_unquote(data[at - node.start_byte : end - node.start_byte])])
        whole = _glue(parts)
        lone = [] in parts and all(part in ([], [""]) for part in parts)
        return [] if lone else whole  # "$@" without arguments is no word at all

    def _parameter(self, text: str) -> list[str]:
        match = _PARAMETER.fullmatch(text)
        if match is None:
            self.unknown += 1
            return [text]
        name, index, rest = match["name"], match["index"], match["rest"]
        if name in ("@", "*"):
            held: Variable | None = self.variables.get("@", [])
        elif name == "#":
            held = str(len(self.variables.get("@") or []))
        else:
            held = self.variables.get(name, None if name in self.variables else "")
            if name not in self.variables and not rest.startswith((":", "-", "=", "+")):
                self.unknown += 1  # never set here: the reader sees the name, and no value equals it
                return [text]
        if held is None:
            self.unknown += 1
            return [text]
        if isinstance(held, list) and index not in ("@", "*") and name not in ("@", "*"):
            held = held[int(index)] if index and index.isdigit() and int(index) < len(held) else (held or [""])[0]
        if match["length"]:
            return [str(len(held))]
        if isinstance(held, list):
            if rest:
                self.unknown += 1
            return held
        return self._operated(held, rest, text)

    def _operated(self, held: str, rest: str, text: str) -> list[str]:
        """``${name:-default}``, ``${name%pattern}``, ``${name/from/to}`` and their kin."""
        default = re.fullmatch(r":?([-=+])(.*)", rest, re.DOTALL)
        if default:
            word = default[2].strip("\"'")
            if "$" in word or "`" in word:
                inner = self._parameter(word) if re.fullmatch(r"\$\{?\w+\}?", word) else None
                if inner is None:
                    self.unknown += 1
                    return [text]
                word = " ".join(inner)
            if default[1] == "+":
                return [word if held else ""]
            return [held or word]
        if not rest:
            return [held]
        trim = re.fullmatch(r"(%%?|##?)([^$`]*)", rest, re.DOTALL)
        if trim:
            return [_trimmed(held, trim[1], trim[2].strip("\"'"))]
        swap = re.fullmatch(r"(//?)([^/$`*?\[]+)/?([^$`]*)", rest, re.DOTALL)
        if swap:
            return [held.replace(swap[2], swap[3], -1 if swap[1] == "//" else 1)]
        self.unknown += 1
        return [text]

    def _arithmetic(self, text: str) -> str:
        inner = re.sub(r"^\$\(\(|\)\)$|^\$\[|\]$", "", text)
        inner = re.sub(r"\$?\{?\b([A-Za-z_]\w*)\}?", lambda m: str(self.variables.get(m[1]) or "0"), inner)
        try:
            return str(_integer(ast.parse(inner.strip(), mode="eval").body))
        except (SyntaxError, ValueError, ZeroDivisionError, RecursionError):
            self.unknown += 1
            return text


def _integer(node: ast.AST) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _integer(node.left), _integer(node.right)
        if max(abs(left), abs(right)) < 2**63:
            return _OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_integer(node.operand)
    raise ValueError("no plain arithmetic")


def _glue(parts: object) -> list[str]:
    """Neighbouring parts of one word: the last field of one and the first of the next are one field."""
    whole: list[str] = []
    for part in parts:  # type: ignore[attr-defined]
        if whole and part:
            whole = [*whole[:-1], whole[-1] + part[0], *part[1:]]
        elif part:
            whole = list(part)
    return whole


def _unquote(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    return re.sub(r"\\([\"\\$`\n])", lambda m: m[1].strip("\n"), text)


def _ansi(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return _ESCAPES.get(match[2], "\\" + match[2])

    return re.sub(r"\\(?:x([0-9A-Fa-f]{1,2})|(.))", one, text, flags=re.DOTALL)


def _trimmed(held: str, sign: str, pattern: str) -> str:
    sizes = range(len(held) + 1) if len(sign) == 1 else range(len(held), -1, -1)
    for size in sizes:
        part = held[len(held) - size :] if sign[0] == "%" else held[:size]
        if fnmatch.fnmatchcase(part, pattern):
            return held[: len(held) - size] if sign[0] == "%" else held[size:]
    return held


def _braces(text: str) -> list[str]:
    """``{1..3}`` and ``a{b,c}d``, several in one word too."""
    match = re.search(r"\{(?:(-?\d+)\.\.(-?\d+)(?:\.\.(\d+))?|([^{}]*,[^{}]*))\}", text)
    if match is None:
        return [text]
    if match[4] is None:
        first, last, step = int(match[1]), int(match[2]), int(match[3] or 1) or 1
        values = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
        inside = [str(value) for value in values[:MOST_FIELDS]]
    else:
        inside = match[4].split(",")
    made: list[str] = []
    for part in inside:
        made += _braces(text[: match.start()] + part + text[match.end() :])
        if len(made) >= MOST_FIELDS:
            break
    return made[:MOST_FIELDS]
