"""Rules about where an example comes from: licences, and whether its README segment is still there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...curation.source import PinnedTree
from .rules import rule
from .subject import Context, Finding, Subject

__all__ = ["check_licences", "check_source"]

SHINGLE = 5
ENOUGH = 0.5
"""Share of the segment's word runs that one document must hold: segments were copied from rendered pages."""
_DOCUMENT = re.compile(r"\.(?:md|markdown|rst|txt|ipynb)$|readme", re.IGNORECASE)


def check_licences(subjects: Sequence[Subject], context: Context) -> Iterator[Finding]:
    """One finding for each repository whose licence is unknown or not redistributable."""
    allowed = {name.casefold() for name in context.redistributable}
    seen: set[int] = set()
    for subject in subjects:
        number = subject.key[0]
        if number in seen:
            continue
        seen.add(number)
        known = context.repositories.get(number)
        licence = subject.text("license") or (known.license if known is not None else None)
        name = known.name if known is not None else subject.text("github")
        if not licence:
            yield Finding(rule("BW501"), name, f"no licence is known for {subject.text('github')}")
        elif allowed and licence.casefold() not in allowed:
            yield Finding(rule("BW502"), name, f"{licence} is not among the redistributable licences")


def check_source(
    subject: Subject, tree: PinnedTree, shingles: dict[str, frozenset[tuple[str, ...]]]
) -> Iterator[Finding]:
    """Whether some document at the pin holds the README segment; ``shingles`` keeps what was read of this tree."""
    oracle = subject.text("oracle")
    wanted = _shingles(oracle.replace("\\n", "\n"))
    if not wanted:
        return
    folder = subject.text("path").strip("./")
    documents = [path for path in tree.paths() if _DOCUMENT.search(path)]
    documents.sort(key=lambda path: (not path.startswith(folder), path.count("/"), path))
    best, where = 0.0, ""
    for path in documents[:400]:
        if path not in shingles:
            source = tree.read(path)
            shingles[path] = _shingles((source or b"").decode("utf-8", "replace"))
        share = len(wanted & shingles[path]) / len(wanted)
        if share > best:
            best, where = share, path
        if best > 0.9:
            return
    if best < ENOUGH:
        nearest = f"; the nearest, {where}, holds {best:.0%} of it" if where else ""
        yield subject.finding("BW503", f"no document holds the README segment{nearest}")


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    if len(words) < SHINGLE:
        return frozenset({tuple(words)}) if words else frozenset()
    return frozenset(tuple(words[at : at + SHINGLE]) for at in range(len(words) - SHINGLE + 1))
