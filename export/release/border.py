"""The border between training and measuring: no task, and nothing nearly the same, stands on both sides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.errors import BenchwrightError
from ..rows import Row
from .likeness import Alike, near_duplicates
from .splits import is_train

__all__ = ["Crossings", "crossings"]

SHOWN = 5


@dataclass(frozen=True)
class Crossings:
    """What stands on both sides."""

    tasks: tuple[str, ...]
    """Names of tasks."""
    alike: tuple[Alike, ...]
    """Pairs of a measured and a training example of different tasks that are nearly the same; each two tasks once."""

    def __bool__(self) -> bool:
        return bool(self.tasks or self.alike)

    def lines(self) -> list[str]:
        """For people: one line for each."""
        return [*(f"the task {name}" for name in self.tasks), *(item.line() for item in self.alike)]

    def value(self) -> dict[str, Any]:
        """For machines."""
        pairs = [
            {
                "measured": {"github_id": item.one.github_id, "id": item.one.id},
                "training": {"github_id": item.other.github_id, "id": item.other.id},
                "output": round(item.output, 3),
                "instruction": round(item.instruction, 3),
            }
            for item in self.alike
        ]
        return {"tasks": list(self.tasks), "near_duplicates": pairs}

    def refuse(self, where: str, remedy: str) -> None:
        """Raise :class:`BenchwrightError` that names the first of them, if there is any."""
        if self:
            lines = self.lines()
            more = f" and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
            raise BenchwrightError(
                f"{len(self.tasks)} tasks and {len(self.alike)} near-duplicates stand on both sides of the border "
                f"between training and measuring: {'; '.join(lines[:SHOWN])}{more}",
                where=where,
                remedy=remedy,
            )


def crossings(splits: Mapping[str, Sequence[Row]]) -> Crossings:
    """What the splits have on both sides.

    Raises:
        PrerequisiteError: there are train splits, and the extra ``release`` is not installed.
    """
    train = _distinct(row for name, rows in splits.items() if is_train(name) for row in rows)
    measured = _distinct(row for name, rows in splits.items() if not is_train(name) for row in rows)
    if not train or not measured:
        return Crossings((), ())
    both = {row.task for row in train} & {row.task for row in measured}
    names = sorted(task[0] if len(task) == 1 else f"{task[0]} {task[1]}" for task in both)
    return Crossings(tuple(names), tuple(near_duplicates(measured, train)))


def _distinct(rows: Iterable[Row]) -> list[Row]:
    return list({row.key: row for row in rows}.values())
