"""Documents of a repository: which files they are, and their headings and code blocks with exact positions.

Comes in: a path and the bytes of a file. Goes out: a ``Document``. Open ``model.py`` first, then ``markdown.py``.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from .model import Block, BlockKind, Document, Heading
from .tags import guess_language, language_of_tag
from .text import decode, split_lines

__all__ = [
    "Block",
    "BlockKind",
    "Document",
    "Heading",
    "guess_language",
    "is_readme",
    "language_of_tag",
    "read_document",
    "select_documents",
]

LARGEST_BYTES = 4 * 1024 * 1024
"""A larger file is data: it is not read as a document."""

_README = re.compile(r"(?:.*[._ -])?readme(?:[._ -].*)?", re.IGNORECASE)
_SUFFIXES: tuple[str, ...] = (
    "",
    ".md",
    ".markdown",
    ".mdown",
    ".mkd",
    ".mkdn",
    ".mdx",
    ".rst",
    ".rest",
    ".txt",
    ".ipynb",
)
_SUFFIXES += (".html", ".htm", ".org", ".adoc", ".asciidoc", ".textile", ".wiki")
_LANGUAGE_SUFFIX = re.compile(r"\.[a-z]{2}(?:[-_][a-z]{2,4})?", re.IGNORECASE)


def is_readme(path: str) -> bool:
    """Whether the file is a README: in any case, language, extension of a text format, or none."""
    name = posixpath.basename(path)
    stem, suffix = posixpath.splitext(name)
    if suffix.lower() not in _SUFFIXES:
        if not _LANGUAGE_SUFFIX.fullmatch(suffix) or stem.lower() != "readme":
            return False
        return suffix.lower() not in (".py", ".sh", ".js", ".ts", ".rb", ".go", ".rs", ".pl", ".lua")
    return _README.fullmatch(stem if suffix else name) is not None


def select_documents(paths: Iterable[str], patterns: Sequence[str] = ()) -> list[str]:
    """The documents among ``paths``, sorted: READMEs, and what matches one of the glob ``patterns``."""
    matchers = [_glob(pattern) for pattern in patterns]
    return sorted(path for path in paths if is_readme(path) or any(matcher.fullmatch(path) for matcher in matchers))


@lru_cache(maxsize=256)
def _glob(pattern: str) -> re.Pattern[str]:
    """``**/`` matches any folders and none, ``*`` and ``?`` stay within one."""
    out = ""
    for part in re.split(r"(\*\*/|\*\*|\*|\?)", pattern.removeprefix("./").lstrip("/")):
        out += {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(part, re.escape(part))
    return re.compile(out)


def read_document(path: str, data: bytes) -> Document:
    """Read one document by the format that its name says (Markdown where it says none).

    A file that is no text, or too large, gives a document without lines and a note that says so.
    """
    if len(data) > LARGEST_BYTES:
        return Document(path, (), notes=(f"not read: {len(data)} bytes are more than a document has",))
    text = decode(data)
    if text is None:
        return Document(path, (), notes=("not read: this is no text",))
    lines = split_lines(text)
    suffix = posixpath.splitext(path)[1].lower()
    if suffix in (".rst", ".rest"):
        from .rst import read_rst

        return read_rst(path, lines)
    if suffix == ".ipynb":
        from .notebook import read_notebook

        return read_notebook(path, lines)
    from .markdown import read_markdown

    return read_markdown(path, lines)
