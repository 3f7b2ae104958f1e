"""A candidate in the making."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...core.models import EntryPoint, OracleScope, ScopeName, Source, TaskType
from ..commands.snippets import Call

__all__ = ["Draft", "relative"]


@dataclass
class Draft:
    """Everything found out about one task before it is merged, scored and numbered."""

    source: Source
    type: TaskType
    folder: str
    """Where it runs, relative to the root; empty for the root."""
    entry_point: EntryPoint
    target: str | None
    """The file behind the entry point; None where the repository has none."""
    output: str
    key: tuple[object, ...]
    """Equal for the same task in another spelling."""
    normal: str
    """The command or code in one spelling; part of the id."""
    scopes: tuple[OracleScope, ...]
    preferred: ScopeName
    origin: str
    """``block``, ``inline``, ``script``, ``snippet`` or ``undocumented``."""
    args: tuple[str, ...] = ()
    static: tuple[bool, ...] = ()
    prefix: str = ""
    calls: tuple[Call, ...] = ()
    """Calls of the repository's own names, for a snippet."""
    foreign: bool = False
    """A snippet that imports nothing of the repository."""
    notes: list[tuple[float, str]] = field(default_factory=list)
    """What raises or lowers the score: weight and phrase."""
    also_at: list[Source] = field(default_factory=list)
    order: tuple[object, ...] = ()
    """Deterministic place among all: the first of equals becomes the candidate."""


def relative(folder: str) -> str:
    """A folder as published: ``./`` for the root, else ``./folder``."""
    return f"./{folder}" if folder not in ("", ".") else "./"
