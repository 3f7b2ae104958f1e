"""Where a script is: ``cd``, ``pushd`` and ``popd``, followed relative to the repository's root."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

__all__ = ["Place"]


@dataclass(frozen=True)
class Place:
    """The folder a script is in, and those it can go back to."""

    folder: str
    """Relative to the root; ``?`` begins it where that is unknown."""
    previous: str
    stack: tuple[str, ...] = ()

    def moved(self, argv: Sequence[str]) -> Self:
        """After the words of a ``cd``, ``pushd`` or ``popd``."""
        if argv[0] == "popd":
            return replace(self, folder=self.stack[-1], stack=self.stack[:-1]) if self.stack else self
        target = next((word for word in argv[1:] if not word.startswith("-") or word == "-"), "~")
        stack = (*self.stack, self.folder) if argv[0] == "pushd" else self.stack
        return replace(self, folder=self._at(target), previous=self.folder, stack=stack)

    def _at(self, target: str) -> str:
        if target == "-":
            return self.previous
        if target.startswith(("~", "$")):
            return f"?{target}"
        joined = posixpath.normpath(posixpath.join(self.folder, target))
        return "" if joined == "." else joined
