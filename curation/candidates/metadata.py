"""Package metadata read as text: installed commands and import names. Nothing is imported or run."""

from __future__ import annotations

import configparser
import posixpath
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from ..source import PinnedTree

__all__ = ["console_scripts_of", "package_names_of"]

_ENTRY = re.compile(r"""["']?\s*([A-Za-z0-9_.-]+)\s*=\s*([A-Za-z_][\w.]*):[\w.]+""")


def _files(tree: PinnedTree) -> Iterator[tuple[str, str]]:
    wanted = ("setup.py", "setup.cfg", "pyproject.toml")
    paths = [path for path in tree.paths() if posixpath.basename(path) in wanted and path.count("/") <= 2]
    for path, data in tree.read_many(paths):
        yield path, data.decode("utf-8", "replace")


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def console_scripts_of(tree: PinnedTree) -> dict[str, str]:
    """Command name -> dotted module, or the path of the file in the tree that is installed as it stands."""
    found: dict[str, str] = {}
    for path, text in _files(tree):
        folder = posixpath.dirname(path)
        if path.endswith("pyproject.toml"):
            content = _toml(text)
            tables = (
                content.get("project", {}).get("scripts"),
                content.get("tool", {}).get("poetry", {}).get("scripts"),
            )
            for table in tables:
                for name, value in (table or {}).items():
                    if isinstance(value, str):
                        found.setdefault(name, value.partition(":")[0])
            continue
        block = re.search(r"console_scripts[\"']?\s*[:=]\s*(\[.*?\]|(?:\n[ \t]+\S[^\n]*)+)", text, re.S)
        for match in _ENTRY.finditer(block[1] if block else ""):
            found.setdefault(match[1], match[2])
        plain = re.search(r"\bscripts\s*=\s*\[(.*?)\]", text, re.S)
        for script in re.findall(r"[\"']([^\"']+)[\"']", plain[1] if plain else ""):
            found.setdefault(posixpath.basename(script), posixpath.normpath(posixpath.join(folder, script)))
    return found


def package_names_of(tree: PinnedTree) -> set[str]:
    """Names under which the package may be imported, by its distribution name and what it maps folders to."""
    names: set[str] = set()
    for path, text in _files(tree):
        if path.endswith("pyproject.toml"):
            content = _toml(text)
            named = [content.get("project", {}).get("name"), content.get("tool", {}).get("poetry", {}).get("name")]
        elif path.endswith("setup.cfg"):
            parser = configparser.ConfigParser(interpolation=None, strict=False)
            try:
                parser.read_string(text)
            except configparser.Error:
                continue
            named = [parser.get("metadata", "name", fallback=None)]
        else:
            named = re.findall(r"\bname\s*=\s*[\"']([\w.-]+)[\"']", text)
            mapped = re.search(r"package_dir\s*=\s*\{(.*?)\}", text, re.S)
            named += [key.split(".")[0] for key in re.findall(r"[\"']([\w.]+)[\"']\s*:", mapped[1] if mapped else "")]
        names |= {re.sub(r"[-.]", "_", name) for name in named if name}
    return names
