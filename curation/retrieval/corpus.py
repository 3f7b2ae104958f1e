"""The text of a repository as retrieval reads it: its text files, one after the other, in an order that is defined.

Files called README come first, then the others, each group in the order of their paths' bytes. (ML-Bench's script
takes the order in which the file system lists them, so the same tree on another disk gives other windows.) Before each
file stands a line ``=== path ===``, as there; the path is the repository's own, not that of somebody's clone.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from ..flags.report import SourceFiles

__all__ = ["Corpus", "TextFile", "ordered_paths", "text_files"]


@runtime_checkable
class _KnowsLinks(Protocol):
    def is_symlink(self, path: str) -> bool:
        """Whether ``path`` is a symbolic link."""


class Corpus(StrEnum):
    """Which files are read."""

    EVERYTHING = "everything"
    """All text files, as ML-Bench's setting has it."""
    DOCUMENTS = "documents"
    """README files, and whatever is written to be read: Markdown, reStructuredText, plain text, notebooks."""
    READMES = "readmes"
    CODE = "code"
    """Python and shell."""


class TextFile(NamedTuple):
    """One file's text, with line ends as ``\\n``; None where the content is missing."""

    path: str
    text: str | None


_DOCUMENTS = frozenset({".md", ".markdown", ".mdx", ".rst", ".txt", ".ipynb"})
_CODE = frozenset({".py", ".sh", ".bash"})


def ordered_paths(files: SourceFiles, corpus: Corpus = Corpus.EVERYTHING) -> list[str]:
    """The corpus's paths: README files first (any name that holds the word), then by the bytes of the path.

    Symbolic links are left out: what they point to is read under its own name.
    """
    links = files.is_symlink if isinstance(files, _KnowsLinks) else lambda path: False
    chosen = (path for path in files.paths() if _belongs(path, corpus) and not links(path))
    return sorted(chosen, key=lambda path: (not _is_readme(path), path.encode("utf-8", "surrogateescape")))


def text_files(files: SourceFiles, corpus: Corpus = Corpus.EVERYTHING) -> Iterator[TextFile]:
    """Read the corpus lazily, in order. What is not UTF-8 is no text file and is passed over."""
    for path in ordered_paths(files, corpus):
        content = files.read(path)
        if content is None:
            yield TextFile(path, None)
            continue
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            continue
        yield TextFile(path, text.replace("\r\n", "\n").replace("\r", "\n"))


def _is_readme(path: str) -> bool:
    return "README" in posixpath.basename(path).upper()


def _belongs(path: str, corpus: Corpus) -> bool:
    ending = posixpath.splitext(path)[1].lower()
    match corpus:
        case Corpus.EVERYTHING:
            return True
        case Corpus.READMES:
            return _is_readme(path)
        case Corpus.DOCUMENTS:
            return _is_readme(path) or ending in _DOCUMENTS
        case Corpus.CODE:
            return ending in _CODE
