"""``release split``: which example is measured and which is for training, by task, seeded, and for good.

What a list names stays where it is; what is new is added. Tasks that are nearly the same go together. Of repositories
with ``split = "train"`` in ``repositories.toml`` everything is training (``ood_train``); of the others a share of the
tasks is (``id_train``), chosen in each repository and type; the rest is measured (``full``, and its ``quarter``).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from ...core.errors import BenchwrightError
from ...core.workspace import Workspace
from ..rows import Row
from .border import crossings
from .compile import standing_rows
from .likeness import near_duplicates
from .splits import is_train, read_split, split_names, write_split
from .trees import Trees

__all__ = ["Assigned", "assign_splits"]

T = TypeVar("T")
Task = tuple[str, ...]
HELD_OUT, TRAIN, MEASURED, PART = "ood_train", "id_train", "full", "quarter"


@dataclass(frozen=True)
class Assigned:
    """What the lists hold now."""

    splits: dict[str, int]
    """Split -> examples."""
    added: dict[str, int]
    """Split -> examples that were in none of its lists before."""
    tasks: dict[str, int]
    """Split -> tasks."""
    together: int
    """Tasks that are on one side with another because they are nearly the same."""
    held_out: tuple[str, ...]
    """Repositories that are for training only."""

    def value(self) -> dict[str, Any]:
        return asdict(self)


def assign_splits(workspace: Workspace, *, train: float = 0.5, quarter: float = 0.25, seed: int = 0) -> Assigned:
    """Write ``splits/*.txt``. ``train``: share of the tasks, ``quarter``: share of the measured examples, 0 to 1.

    Raises:
        BenchwrightError: the tasks cannot be read, or the lists as they are have a task, or near-duplicates, on both
            sides. Nothing is written then.
        PrerequisiteError: the extra ``release`` is not installed.
    """
    with workspace.lock():
        registry = {item.name: item for item in workspace.repositories()}
        held_out = {item.github_id for item in registry.values() if item.split == "train"}
        with Trees(workspace.clones_dir, ()) as trees:
            rows = standing_rows(workspace, trees).rows
        listed = {
            name: [item for item in read_split(workspace, name) if item in rows] for name in split_names(workspace)
        }
        clusters = _clusters(list(rows.values()))
        sides = _settled(clusters, listed, rows, held_out)
        sides.update(_chosen([item for item in clusters if item not in sides], train, seed, rows))
        lists = _lists(clusters, sides, rows, held_out)
        lists[PART] = _part(lists[MEASURED], listed.get(PART, []), rows, quarter, seed)
        lists = {name: _in_order(names, listed.get(name, []), rows) for name, names in lists.items() if names}
        crossings({name: [rows[item] for item in names] for name, names in lists.items()}).refuse(
            str(workspace.splits_dir), "remove the lists that hold them, and run it again"
        )
        for name, names in lists.items():
            write_split(workspace, name, names)
    return Assigned(
        splits={name: len(names) for name, names in lists.items()},
        added={name: len(set(names) - set(listed.get(name, []))) for name, names in lists.items()},
        tasks={name: len({rows[item].task for item in names}) for name, names in lists.items()},
        together=sum(len(item) for item in clusters if len(item) > 1),
        held_out=tuple(name for name, item in registry.items() if item.github_id in held_out),
    )


def _clusters(rows: Sequence[Row]) -> list[tuple[Task, ...]]:
    """Tasks, those together that are nearly the same (also through a third)."""
    parent = {row.task: row.task for row in rows}

    def root(task: Task) -> Task:
        while parent[task] != task:
            parent[task] = task = parent[parent[task]]
        return task

    for pair in near_duplicates(rows, rows):
        one, other = sorted((root(pair.one.task), root(pair.other.task)))
        parent[other] = one
    found: dict[Task, list[Task]] = defaultdict(list)
    for task in sorted(parent):
        found[root(task)].append(task)
    return [tuple(members) for members in found.values()]


def _settled(
    clusters: Iterable[tuple[Task, ...]],
    listed: Mapping[str, Sequence[str]],
    rows: Mapping[str, Row],
    held_out: set[int | None],
) -> dict[tuple[Task, ...], bool]:
    """Cluster -> whether it is for training, where a list or a repository that is held out says so."""
    said: dict[Task, set[bool]] = defaultdict(set)
    for name, members in listed.items():
        for item in members:
            said[rows[item].task].add(is_train(name))
    for row in rows.values():
        if row.github_id in held_out:
            said[row.task].add(True)
    sides: dict[tuple[Task, ...], bool] = {}
    for cluster in clusters:
        found = {side for task in cluster for side in said[task]}
        if len(found) > 1:
            named = ", ".join(task[0] for task in cluster[:5])
            raise BenchwrightError(
                f"lists, or repositories that are held out, put nearly the same tasks on both sides: {named}",
                where="splits",
                remedy="remove one of them from its list, or withdraw its examples: benchwright release yank",
            )
        if found:
            sides[cluster] = found.pop()
    return sides


def _chosen(
    clusters: Sequence[tuple[Task, ...]], share: float, seed: int, rows: Mapping[str, Row]
) -> dict[tuple[Task, ...], bool]:
    """A share of the clusters of each repository and type is for training."""
    strata = {row.task: (row.github_id, row.type) for row in rows.values()}
    chosen = set(_sample(clusters, share, lambda item: strata[item[0]], lambda item: "/".join(item[0]), seed))
    return {item: item in chosen for item in clusters}


def _lists(
    clusters: Iterable[tuple[Task, ...]],
    sides: Mapping[tuple[Task, ...], bool],
    rows: Mapping[str, Row],
    held_out: set[int | None],
) -> dict[str, list[str]]:
    training = {task for cluster in clusters if sides[cluster] for task in cluster}
    lists: dict[str, list[str]] = {MEASURED: [], TRAIN: [], HELD_OUT: []}
    for name, row in rows.items():
        if row.task not in training:
            lists[MEASURED].append(name)
        else:
            lists[HELD_OUT if row.github_id in held_out else TRAIN].append(name)
    return lists


def _part(
    measured: Sequence[str], before: Sequence[str], rows: Mapping[str, Row], share: float, seed: int
) -> list[str]:
    """A share of the measured examples of each repository and type; those of before stay."""
    kept = [name for name in before if name in set(measured)]
    chosen = _sample(measured, share, lambda n: (rows[n].github_id, rows[n].type), lambda n: n, seed, set(kept))
    return list(dict.fromkeys([*kept, *chosen]))


def _sample(
    items: Sequence[T],
    share: float,
    stratum: Callable[[T], tuple[int, str]],
    name: Callable[[T], str],
    seed: int,
    first: set[T] | frozenset[T] = frozenset(),
) -> list[T]:
    """``share`` of the items of each stratum, ``first`` before others; what rounding leaves goes to the next one."""
    strata: dict[tuple[int, str], list[T]] = defaultdict(list)
    for item in items:
        strata[stratum(item)].append(item)
    chosen: list[T] = []
    owed = 0.0
    for key in sorted(strata):
        members = sorted(
            strata[key],
            key=lambda item: (item not in first, hashlib.sha256(f"{seed} {name(item)}".encode()).digest()),
        )
        owed += share * len(members)
        count = min(len(members), max(0, int(owed + 0.5)))
        owed -= count
        chosen += members[:count]
    return chosen


def _in_order(names: Iterable[str], before: Sequence[str], rows: Mapping[str, Row]) -> list[str]:
    """What was listed before in its order, then the new by number."""
    wanted = set(names)
    kept = [name for name in before if name in wanted]
    return kept + sorted(wanted - set(kept), key=lambda name: rows[name].key)
