"""Who judges which candidate, and which of them are gold: kept as text in ``annotations/PROJECT.assignments.json``.

An assignment once made stays, so that it can be read, repeated and compared; new candidates go to whoever has the
fewest. Nothing but the benchmark's text decides: the same candidates and annotators always give the same assignment.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import Field

from ..core.errors import BenchwrightError
from ..core.files import atomic_write, read_json
from ..core.models import Record
from ..core.workspace import Workspace

__all__ = ["Assignment", "all_assignments", "assign", "choose_gold", "gold_pairs", "load", "overlap_of", "save"]

SUFFIX = ".assignments.json"


class Assignment(Record):
    """Who judges what in the projects of one title."""

    project: str
    """Name of the title's projects: ``PROJECT.annotator-1`` is one annotator's."""
    annotators: tuple[str, ...] = ()
    """Pseudonyms, in the order in which they joined."""
    assigned: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Candidate id -> pseudonyms of those who judge it."""
    gold: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Candidate id with a settled answer -> those who judge it once more, without being told."""

    def of(self, annotator: str) -> list[str]:
        """Everything this annotator judges, gold among it, in an order that tells nothing."""
        ids = [key for part in (self.assigned, self.gold) for key, names in part.items() if annotator in names]
        return sorted(ids, key=lambda key: _rank(annotator, key))


def _path(workspace: Workspace, project: str) -> Path:
    return workspace.annotations_dir / f"{project}{SUFFIX}"


def load(workspace: Workspace, project: str) -> Assignment:
    """The assignment of this project; an empty one where there is none.

    Raises:
        BenchwrightError: the file is damaged.
    """
    path = _path(workspace, project)
    try:
        return Assignment.load(read_json(path, remedy="restore it from git"), str(path))
    except FileNotFoundError:
        return Assignment(project=project)


def save(workspace: Workspace, assignment: Assignment) -> None:
    """Write it, sorted, one candidate a line; the caller holds the workspace's lock."""
    fields = assignment.model_dump(mode="json")
    lines = [f" {json.dumps(name)}: {_lines(value)}" for name, value in fields.items()]
    atomic_write(_path(workspace, assignment.project), "{\n" + ",\n".join(lines) + "\n}\n")


def _lines(value: object) -> str:
    """JSON with one entry of a dictionary a line, so that a diff shows whose assignment changed."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value)
    return "{\n" + ",\n".join(f"  {json.dumps(key)}: {json.dumps(who)}" for key, who in sorted(value.items())) + "\n }"


def all_assignments(workspace: Workspace) -> list[Assignment]:
    """The assignments of every title."""
    names = sorted(path.name.removesuffix(SUFFIX) for path in workspace.annotations_dir.glob(f"*{SUFFIX}"))
    return [load(workspace, name) for name in names]


def overlap_of(assignments: Iterable[Assignment], candidate_id: str) -> int:
    """How many people must judge this candidate before it counts: one, unless it is assigned to more."""
    return max((len(a.assigned.get(candidate_id, ())) for a in assignments), default=1) or 1


def gold_pairs(assignments: Iterable[Assignment]) -> set[tuple[str, str]]:
    """(candidate, annotator) of every judgement that measures the annotator, not the candidate."""
    return {(key, name) for a in assignments for key, names in a.gold.items() for name in names}


def assign(
    old: Assignment,
    candidates: Iterable[str],
    annotators: Sequence[str],
    overlap: int,
    skipped: Collection[tuple[str, str]] = (),
) -> Assignment:
    """``old``, and each of ``candidates`` assigned to ``overlap`` of ``annotators``, loads differing by one at most.

    ``skipped``: (candidate, annotator) pairs; whoever skipped a candidate is replaced by one more annotator.

    Raises:
        BenchwrightError: fewer annotators than ``overlap``.
    """
    if not 1 <= overlap <= len(annotators):
        raise BenchwrightError(
            f"an overlap of {overlap} needs as many annotators, there are {len(annotators)}",
            remedy="name more with --annotators, or lower --overlap",
        )
    assigned = dict(old.assigned)
    load_of = Counter(dict.fromkeys(annotators, 0))
    for names in assigned.values():
        load_of.update(name for name in names if name in load_of)
    for key in sorted(set(candidates), key=lambda key: _rank("order", key)):
        names = assigned.get(key, ())
        active = [name for name in names if (key, name) not in skipped]
        free = [name for name in annotators if name not in names]
        free.sort(key=lambda name: (load_of[name], _rank(name, key)))
        chosen = free[: max(0, overlap - len(active))]
        load_of.update(chosen)
        assigned[key] = (*names, *chosen)
    joined = tuple(dict.fromkeys((*old.annotators, *annotators)))
    return old.model_copy(update={"annotators": joined, "assigned": assigned})


def choose_gold(old: Assignment, settled: Mapping[str, Collection[str]], share: float) -> Assignment:
    """``old``, and so many of ``settled`` added that they make up ``share`` of what each annotator judges.

    ``settled``: candidate id with a known answer -> pseudonyms of those who gave it, who are not asked again.
    Where there are too few, each annotator gets those there are.
    """
    gold = {key: list(names) for key, names in old.gold.items()}
    for name in old.annotators:
        ordinary = sum(name in names for names in old.assigned.values())
        wanted = round(share * ordinary / (1 - share))
        have = sum(name in names for names in gold.values())
        usable = [
            key
            for key, authors in settled.items()
            if name not in authors and name not in gold.get(key, ()) and name not in old.assigned.get(key, ())
        ]
        # another salt than that of the order, else gold would stand first
        for key in sorted(usable, key=lambda key: _rank(f"gold {name}", key))[: max(0, wanted - have)]:
            gold.setdefault(key, []).append(name)
    return old.model_copy(update={"gold": {key: tuple(names) for key, names in gold.items()}})


def _rank(salt: str, key: str) -> str:
    return hashlib.sha256(f"{salt}\n{key}".encode()).hexdigest()
