"""What a document is made of, with positions in the file as stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Block", "BlockKind", "Document", "Heading"]

BlockKind = Literal["fence", "indented", "pre", "quote", "inline", "prose", "cell", "script"]


@dataclass(frozen=True)
class Heading:
    """A heading: its depth (1 = outermost), its text without markup, and the line it stands on."""

    level: int
    title: str
    line: int


@dataclass(frozen=True)
class Block:
    """Code in a document, without the markup around it.

    ``start_line`` and ``end_line`` are the code's own lines; ``outer_start`` and ``outer_end`` include the markup
    (fence lines, the item's marker). Lines are 1-based, inclusive, and count line feeds of the file as stored.
    """

    kind: BlockKind
    language: str
    """Canonical: ``shell``, ``console``, ``python``, ``pycon``, ``ipython``, another tag in lower case, or empty."""
    tag: str
    """The tag as the author wrote it."""
    text: str
    """With line feeds only, entities decoded, the indentation of the surrounding markup removed."""
    start_line: int
    end_line: int
    outer_start: int
    outer_end: int

    @property
    def in_text(self) -> bool:
        """Whether it stands within running text, marked as code (``inline``) or not at all (``prose``)."""
        return self.kind in ("inline", "prose")


@dataclass(frozen=True)
class Document:
    """A document as read: its lines (line ends kept), its headings and its blocks in the order they stand."""

    path: str
    lines: tuple[str, ...]
    headings: tuple[Heading, ...] = ()
    blocks: tuple[Block, ...] = ()
    notes: tuple[str, ...] = field(default=())
    """What could not be read, one sentence each."""

    def slice(self, start_line: int, end_line: int) -> str:
        """The text of these lines exactly as stored."""
        return "".join(self.lines[start_line - 1 : end_line])
