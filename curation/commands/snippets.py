"""Python snippets: what they import and call, and a form of them that spelling does not change. Nothing is run."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from dataclasses import dataclass

__all__ = ["Import", "Snippet", "read_snippet"]


@dataclass(frozen=True)
class Import:
    """``from module import name`` (relative ones with their dots), or ``import module`` with an empty name."""

    module: str
    name: str = ""

    @property
    def dotted(self) -> str:
        return f"{self.module}.{self.name}" if self.name and self.name != "*" else self.module


@dataclass(frozen=True)
class Call:
    """The first call of an imported name: the dotted callee, and its arguments as source text."""

    callee: str
    positional: tuple[str, ...] = ()
    keywords: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Snippet:
    """What can be said about a piece of Python without running it."""

    imports: tuple[Import, ...]
    calls: tuple[Call, ...]
    unbound: tuple[str, ...]
    """Names used that neither the snippet nor Python itself defines."""
    parses: bool
    normal: str
    """The code without comments, blank lines and differences of spacing."""


_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]+)|import[ \t]+([\w., \t]+))", re.M
)


def read_snippet(code: str) -> Snippet:
    """Analyse Python, also such that does not parse (then imports only)."""
    normal = _normal(code)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return Snippet(_textual_imports(code), (), (), False, normal)
    imports: list[Import] = []
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                imports.append(Import(alias.name))
                aliases[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                imports.append(Import(module, alias.name))
                aliases[alias.asname or alias.name] = f"{module}.{alias.name}"
    return Snippet(tuple(dict.fromkeys(imports)), _calls(tree, aliases), _unbound(tree), True, normal)


def _calls(tree: ast.AST, aliases: dict[str, str]) -> tuple[Call, ...]:
    found: dict[str, tuple[int, Call]] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        callee = _dotted(node.func, aliases)
        if callee and callee not in found:
            call = Call(
                callee,
                tuple(ast.unparse(arg) for arg in node.args),
                tuple((keyword.arg, ast.unparse(keyword.value)) for keyword in node.keywords if keyword.arg),
            )
            found[callee] = (node.lineno, call)
    return tuple(call for _, call in sorted(found.values(), key=lambda item: item[0]))


def _dotted(node: ast.expr, aliases: dict[str, str]) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name) and node.id in aliases:
        return ".".join([aliases[node.id], *reversed(parts)])
    return None


def _unbound(tree: ast.AST) -> tuple[str, ...]:
    import builtins

    bound: set[str] = set(dir(builtins)) | {"__file__", "__name__", "self", "cls"}
    used: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                used.append(node.id)
            else:
                bound.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound.update(alias.asname or alias.name.split(".")[0] for alias in node.names)
            if any(alias.name == "*" for alias in node.names):
                return ()
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return tuple(sorted({name for name in used if name not in bound}))


def _textual_imports(code: str) -> tuple[Import, ...]:
    found: list[Import] = []
    for match in _IMPORT.finditer(code):
        if match[1]:
            names = [part.split(" as ")[0].strip() for part in match[2].strip("() \t").split(",")]
            found += [Import(match[1], name) for name in names if re.fullmatch(r"\w+|\*", name)]
        else:
            names = [part.split(" as ")[0].strip() for part in match[3].split(",")]
            found += [Import(name) for name in names if re.fullmatch(r"[\w.]+", name)]
    return tuple(dict.fromkeys(found))


def _normal(code: str) -> str:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return "\n".join(" ".join(line.split()) for line in code.splitlines() if line.strip())
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER)
    words = [
        {tokenize.INDENT: "\u21e5", tokenize.DEDENT: "\u21e4", tokenize.NEWLINE: "\n"}.get(token.type, token.string)
        for token in tokens
        if token.type not in skipped
    ]
    return " ".join(words)
