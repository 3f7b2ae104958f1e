"""Drafts to candidates: one for each distinct task, scored with reasons, with an id that survives and a digest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Any

from ...core.models import Argument, Candidate, Repository, Source
from ..flags import FlagReport
from .arguments import FlagReader, bound_arguments, call_arguments
from .contexts import ContextReader
from .draft import Draft, relative

__all__ = ["merge", "to_candidates"]

_BASE = {
    "block": (0.6, "a command in a code block"),
    "inline": (0.45, "a command in running text"),
    "snippet": (0.55, "a Python snippet"),
    "script": (0.4, "a command in a shell script that a document leads to"),
    "undocumented": (0.15, "a script with a command line that no document names"),
}


_SHOWN: dict[str, Any] = {
    **dict.fromkeys(("type", "path", "entry_point", "output", "arguments", "oracle", "prefix_code"), True),
    "source": {"heading"},
    "oracle_scopes": {"__all__": {"scope", "text"}},
    "context": {"__all__": {"path", "symbol", "text"}},
}
"""What an annotator is shown; lines, blobs and the commit are not among it."""


def merge(drafts: Iterable[Draft]) -> list[Draft]:
    """Put the same task together: the first in order stays, with the other places in ``also_at``."""
    first: dict[tuple[object, ...], Draft] = {}
    ordered = sorted(drafts, key=lambda draft: tuple(map(str_or_number, draft.order)))
    own = {_without_package(draft.normal): draft for draft in ordered if not draft.foreign}
    for draft in ordered:
        twin = own.get(_without_package(draft.normal)) if draft.foreign else None
        if twin and twin.source.path != draft.source.path:
            draft.key = twin.key  # a copy of the document for those who install the package under another name
        known = first.setdefault(draft.key, draft)
        if known is draft:
            continue
        known.also_at += [draft.source, *draft.also_at]
        if not known.prefix:
            known.prefix = draft.prefix
    for draft in first.values():
        draft.also_at = _distinct(draft.also_at, draft.source)
    return list(first.values())


def _without_package(code: str) -> str:
    """A snippet's normal form without the outermost package of dotted imports."""
    return re.sub(r"\b(from|import) \w+ (?=\.)", r"\1 ", code)


def str_or_number(part: object) -> tuple[int, int, str]:
    """A key by which numbers and texts can be sorted together."""
    return (0, part, "") if isinstance(part, int) else (1, 0, str(part))


def _distinct(sources: Sequence[Source], own: Source) -> list[Source]:
    found = {(source.path, source.start_line, source.end_line): source for source in sources}
    found.pop((own.path, own.start_line, own.end_line), None)
    return [found[key] for key in sorted(found)]


def to_candidates(
    repository: Repository, drafts: Sequence[Draft], flags: FlagReader, contexts: ContextReader
) -> list[Candidate]:
    """Candidates, best first. Equal scores keep the order of the documents."""
    taken: dict[tuple[str, ...], int] = {}
    made: list[Candidate] = []
    for draft in drafts:
        base = (repository.name, draft.source.path, draft.entry_point.target, draft.normal)
        ordinal = taken[base] = taken.get(base, -1) + 1
        made.append(_candidate(repository, draft, flags, contexts, (*base, ordinal)))
    return sorted(made, key=lambda candidate: -candidate.score)  # stable: equals stay in document order


def _candidate(
    repository: Repository, draft: Draft, flags: FlagReader, contexts: ContextReader, identity: tuple[object, ...]
) -> Candidate:
    notes = [_BASE[draft.origin]]
    arguments: tuple[Argument, ...]
    if draft.type == "Bash Script" and draft.target:
        arguments, found = bound_arguments(flags.report(draft.target), draft.args)
        notes += found
    elif draft.type == "Bash Script":
        arguments, found = bound_arguments(FlagReport(), draft.args)
        notes += found
    else:
        arguments = call_arguments(draft.calls)
    depth = draft.source.path.count("/")
    notes.append(
        (
            max(0.1 - 0.03 * depth, 0.0),
            "its document lies at the root" if not depth else "its document lies below the root",
        )
    )
    if draft.also_at and draft.origin in ("block", "snippet", "inline"):
        notes.append((0.02, f"stands in {1 + len(draft.also_at)} places"))
    notes += draft.notes
    score = min(max(sum(weight for weight, _ in notes), 0.0), 1.0)
    oracle = next((scope for scope in draft.scopes if scope.scope == draft.preferred), draft.scopes[0])
    name = hashlib.sha256("\0".join(map(str, identity)).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    candidate = Candidate(
        id=f"{repository.name}-{name}",
        digest="",
        repository=repository.ref_of(),
        source=draft.source,
        type=draft.type,
        path=relative(draft.folder),
        entry_point=draft.entry_point,
        output=draft.output,
        arguments=arguments,
        oracle=oracle.text,
        oracle_scopes=draft.scopes,
        prefix_code=draft.prefix,
        context=contexts.of(draft, arguments),
        score=round(score, 3),
        reasons=tuple(f"{weight:+.2f} {phrase}" for weight, phrase in notes),
        also_at=tuple(draft.also_at),
    )
    shown = candidate.model_dump_json(include=_SHOWN)
    return candidate.model_copy(update={"digest": hashlib.sha256(shown.encode("utf-8")).hexdigest()})
