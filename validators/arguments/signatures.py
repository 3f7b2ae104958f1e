"""The parameters of a repository's functions and classes, so that ``f(512, 8)`` and ``f(dim=512, heads=8)`` are one."""

from __future__ import annotations

import ast
import posixpath
import warnings
from collections.abc import Iterable
from functools import lru_cache

from ...curation.flags import SourceFiles
from .memory import ROOTS, memory_of

__all__ = ["parameters_of"]

MOST_HOPS = 4


def parameters_of(files: SourceFiles, dotted: str, folder: str = "") -> tuple[str, ...] | None:
    """The positional parameters of ``package.module.name``; None where the repository does not define it."""
    known = memory_of(files).parameters
    key = (dotted, folder)
    if key not in known:
        known[key] = _find(files, dotted, folder, MOST_HOPS)
    return known[key]


def _find(files: SourceFiles, dotted: str, folder: str, hops: int) -> tuple[str, ...] | None:
    module, _, name = dotted.rpartition(".")
    if not module or hops == 0:
        return None
    path = _module_path(files, module, folder)
    source = files.read(path) if path else None
    tree = _parsed(source) if source is not None else None
    if tree is None or path is None:
        return None
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return _of_class(node, tree, MOST_HOPS)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            return tuple(argument.arg for argument in (*node.args.posonlyargs, *node.args.args))
    for origin in _origins(tree, name, _package(path)):
        found = _find(files, origin, folder, hops - 1)
        if found is not None:
            return found
    return None


def _of_class(node: ast.ClassDef, tree: ast.Module, hops: int) -> tuple[str, ...] | None:
    """Of ``__init__``, of a base in the same file, or of a data class's fields."""
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            return tuple(argument.arg for argument in (*part.args.posonlyargs, *part.args.args))[1:]
    if any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
        fields = (part.target for part in node.body if isinstance(part, ast.AnnAssign))
        return tuple(target.id for target in fields if isinstance(target, ast.Name))
    if hops == 0:
        return None
    bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
    for other in tree.body:
        if isinstance(other, ast.ClassDef) and other.name in bases and other is not node:
            return _of_class(other, tree, hops - 1)
    return None


def _origins(tree: ast.Module, name: str, package: str) -> Iterable[str]:
    """Where a module that does not define the name imports it from."""
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom):
            continue
        parts = package.split(".") if package else []
        base = parts[: len(parts) - node.level + 1] if node.level else []
        module = ".".join([*base, *([node.module] if node.module else [])])
        for alias in node.names:
            if (alias.asname or alias.name) == name:
                yield f"{module}.{alias.name}"
            elif alias.name == "*":
                yield f"{module}.{name}"


def _package(path: str) -> str:
    return posixpath.dirname(path).replace("/", ".")


def _module_path(files: SourceFiles, module: str, folder: str) -> str | None:
    paths = memory_of(files).paths
    inside = module.replace(".", "/")
    for root in dict.fromkeys((folder, *ROOTS)):
        base = posixpath.normpath(posixpath.join(root, inside))
        for path in (f"{base}.py", f"{base}/__init__.py"):
            if path in paths:
                return path
    return None


@lru_cache(maxsize=256)
def _parsed(source: bytes) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
