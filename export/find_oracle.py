"""Finding an oracle in its repository: the text at a known place, or the place of a text that was imported.

Published text was retyped: marks are gone, lines are wrapped anew, values changed. So words are compared, not lines:
the place is the stretch of a document that holds most of the oracle's word triples with the least else between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from ..core.models import Source
from ..curation.documents import select_documents
from ..curation.documents.text import decode, split_lines
from ..curation.source import PinnedTree

__all__ = ["Located", "Texts", "lines_of", "locate", "text_at"]

WORD = re.compile(r"[^\W_]+(?:[._/-][^\W_]+)*")
SIZE = 3
MISS = 0.15
"""What a word that is not the oracle's costs, where a found triple gains 1."""


@dataclass(frozen=True)
class Located:
    """A place in a document."""

    source: Source
    similarity: float
    """Share of the oracle's word triples that stand there, 0 to 1."""


@dataclass(frozen=True)
class _Text:
    path: str
    blob: str
    triples: list[tuple[str, ...]]
    lines: list[int]
    """Line of each triple's first word; one more for the end."""


class Texts:
    """The words of all documents of one repository at its pin."""

    def __init__(self, tree: PinnedTree, patterns: Sequence[str] = ()) -> None:
        self._texts: list[_Text] = []
        self.index: dict[tuple[str, ...], set[int]] = {}
        """Triple -> numbers of the documents that hold it."""
        for path, data in tree.read_many(select_documents(tree.paths(), patterns)):
            blob = tree.blob_of(path)
            if blob is not None:
                self._add(path, blob, data.decode("utf-8", "replace"))

    def _add(self, path: str, blob: str, text: str) -> None:
        words = [
            (word.lower(), number) for number, line in enumerate(text.split("\n"), 1) for word in WORD.findall(line)
        ]
        triples = _triples([word for word, _number in words])
        for triple in triples:
            self.index.setdefault(triple, set()).add(len(self._texts))
        self._texts.append(_Text(path, blob, triples, [number for _word, number in words]))

    def candidates(self, triples: Iterable[tuple[str, ...]], limit: int = 8) -> list[_Text]:
        """The documents that hold most of ``triples``, best first."""
        counts: dict[int, int] = {}
        for triple in triples:
            for number in self.index.get(triple, ()):
                counts[number] = counts.get(number, 0) + 1
        best = sorted(counts, key=lambda number: (-counts[number], number))
        return [self._texts[number] for number in best[:limit]]


def text_at(tree: PinnedTree, path: str, start: int, end: int) -> str | None:
    """Lines ``start`` to ``end`` (1-based, inclusive) of a document; None where it is not there, or no text."""
    data = tree.read(path)
    text = decode(data) if data is not None else None
    return None if text is None else lines_of(text, start, end)


def lines_of(text: str, start: int, end: int) -> str:
    """The same of a text; only a line feed ends a line."""
    return "".join(split_lines(text)[start - 1 : end])


def locate(oracle: str, path: str, texts: Texts) -> Located | None:
    """Where ``oracle`` stands; among places that are equally alike the one nearest to the folder ``path``."""
    if "\n" not in oracle.strip():  # published text whose line ends were escaped once too often
        oracle = re.sub(r"\\[nrt]", " ", oracle)
    wanted = set(_triples([word.lower() for word in WORD.findall(oracle)]))
    if not wanted:
        return None
    folder = PurePosixPath(path)
    found = [_best_stretch(wanted, text) for text in texts.candidates(wanted)]
    ranked = sorted(
        (item for item in found if item is not None),
        key=lambda item: (-round(item.similarity, 3), -_shared(folder, item.source.path), item.source.path),
    )
    return ranked[0] if ranked else None


def _triples(words: list[str]) -> list[tuple[str, ...]]:
    size = min(SIZE, max(1, len(words)))
    return [tuple(words[at : at + size]) for at in range(len(words) - size + 1)]


def _best_stretch(wanted: set[tuple[str, ...]], text: _Text) -> Located | None:
    """The stretch of greatest gain (Kadane's algorithm), a triple gaining only where it is first seen in it."""
    best_gain, best = 0.0, (0, -1)
    gain, start = 0.0, 0
    seen: dict[tuple[str, ...], int] = {}
    for at, triple in enumerate(text.triples):
        if gain <= 0:
            gain, start = 0.0, at
        fresh = triple in wanted and seen.get(triple, -1) < start
        gain += 1.0 if fresh else -MISS
        if triple in wanted:
            seen[triple] = at
        if gain > best_gain:
            best_gain, best = gain, (start, at)
    if best[1] < best[0]:
        return None
    stretch = text.triples[best[0] : best[1] + 1]
    end = min(best[1] + len(stretch[0]) - 1, len(text.lines) - 1)
    source = Source(path=text.path, blob=text.blob, start_line=text.lines[best[0]], end_line=text.lines[end])
    return Located(source, len(wanted & set(stretch)) / len(wanted))


def _shared(folder: PurePosixPath, path: str) -> int:
    """How many leading folders two paths share."""
    count = 0
    for one, other in zip(folder.parts, PurePosixPath(path).parent.parts, strict=False):
        if one != other:
            break
        count += 1
    return count
