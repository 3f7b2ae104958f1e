"""What was read of a repository's files, kept as long as the object that gives them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ...curation.flags import SourceFiles

if TYPE_CHECKING:
    from .programs import Program
    from .python import Uses

__all__ = ["ROOTS", "Memory", "memory_of"]

ROOTS = ("", "src", "python", "lib")
"""Folders that projects put on Python's path."""
MOST_SNIPPETS = 512


@dataclass
class Memory:
    """Everything read of one repository at one commit."""

    paths: frozenset[str]
    texts: dict[str, str | None] = field(default_factory=dict)
    programs: dict[str, Program] = field(default_factory=dict)
    commands: dict[str, str | None] = field(default_factory=dict)
    parameters: dict[tuple[str, str], tuple[str, ...] | None] = field(default_factory=dict)
    snippets: dict[tuple[str, str], Uses] = field(default_factory=dict)

    def keep_snippet(self, key: tuple[str, str], uses: Uses) -> None:
        """Remember a snippet; of many the oldest goes."""
        if len(self.snippets) >= MOST_SNIPPETS:
            self.snippets.pop(next(iter(self.snippets)))
        self.snippets[key] = uses

    def text(self, files: SourceFiles, path: str) -> str | None:
        """A file as text, read once; None where it is not at hand."""
        if path not in self.texts:
            source = files.read(path)
            self.texts[path] = None if source is None else source.decode("utf-8", "replace")
        return self.texts[path]


_MEMORIES: WeakKeyDictionary[Any, Memory] = WeakKeyDictionary()


def memory_of(files: SourceFiles) -> Memory:
    """The memory of ``files``; a fresh one each time for an object that cannot be referred to weakly."""
    try:
        known = _MEMORIES.get(files)
        if known is None:
            known = _MEMORIES[files] = Memory(frozenset(files.paths()))
    except TypeError:
        return Memory(frozenset(files.paths()))
    return known
