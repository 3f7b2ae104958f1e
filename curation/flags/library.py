"""What readings of one repository share: its layout, and the modules that were read and left no parser behind."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from .modules import Layout, is_below
from .report import FlagReport, SourceFiles
from .scopes import Scope

if TYPE_CHECKING:
    from .interpreter import Interpreter

__all__ = ["Library", "library_of"]

Key = tuple[str | None, str]


@dataclass
class Library:
    """Shared knowledge about the files of one repository at one commit.

    Which file an import means depends on the program only for files below its folder, so what was learned about a
    module is kept under (that folder or None, the module's path), each with the files that it was learned from.
    """

    layout: Layout
    sources: dict[str, bytes | None] = field(default_factory=dict)
    reports: dict[str, FlagReport] = field(default_factory=dict)
    readings: dict[str, Interpreter] = field(default_factory=dict)
    """The readings that the reports come from, where the program could be read to its end."""
    scopes: dict[Key, tuple[Scope, frozenset[str]]] = field(default_factory=dict)
    reaching: dict[tuple[Key, int], tuple[bool, frozenset[str]]] = field(default_factory=dict)
    """Whether a parser can be reached through the function or class at a place."""
    imports: dict[Key, list[str]] = field(default_factory=dict)
    """The files that a module's import statements load."""

    def source(self, files: SourceFiles, path: str) -> bytes | None:
        """The bytes of ``path``, read once."""
        if path not in self.sources:
            self.sources[path] = files.read(path)
        return self.sources[path]

    @staticmethod
    def key(path: str, entry: str) -> Key:
        """Under what the module ``path`` is kept when the program ``entry`` is read."""
        started = posixpath.dirname(entry)
        return (started if is_below(path, started) else None, path)


_LIBRARIES: WeakKeyDictionary[SourceFiles, Library] = WeakKeyDictionary()


def library_of(files: SourceFiles) -> Library:
    """The library of ``files``, made once for each object that can be weakly referred to."""
    try:
        known = _LIBRARIES.get(files)
        if known is None:
            known = _LIBRARIES[files] = Library(Layout(files.paths()))
    except TypeError:
        return Library(Layout(files.paths()))
    return known
