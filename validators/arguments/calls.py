"""A call: what a script really starts, with the words that reach it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Call", "Trace"]


@dataclass(frozen=True)
class Call:
    """One program start, launchers and interpreters taken away."""

    kind: Literal["file", "module", "program", "code"]
    target: str
    """As written: a path relative to ``folder``, a dotted module, a program's name."""
    argv: tuple[str, ...]
    """The target's own words, as the shell hands them over."""
    folder: str = ""
    """Where it runs, relative to the repository's root; ``?`` begins it where that is unknown."""
    launcher: tuple[str, ...] = ()
    """The words before the target: interpreter and launcher with their options."""
    env: tuple[tuple[str, str], ...] = ()
    """Variables set for it."""

    def shown(self) -> str:
        """The call on one line, for a message."""
        import shlex

        return shlex.join((*self.launcher, self.target, *self.argv))


@dataclass(frozen=True)
class Trace:
    """Every call a script makes, in order."""

    calls: tuple[Call, ...]
    doubts: tuple[str, ...] = ()
    """Why the calls may not be exactly these; empty where they are exact."""

    @property
    def exact(self) -> bool:
        return not self.doubts
