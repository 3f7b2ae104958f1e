"""What changed between two releases, by example and column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...core.files import read_json_lines
from ..dataset import Dataset
from ..rows import Key, Row

__all__ = ["Difference", "diff_releases"]


@dataclass(frozen=True)
class Difference:
    """What the new release has and the old one has not, and the other way round."""

    added: list[Key]
    removed: dict[Key, str]
    """Example -> why it was withdrawn; empty where the new release does not say."""
    changed: dict[Key, dict[str, tuple[Any, Any]]]
    """Example -> column -> (old value, new value)."""
    splits: dict[str, tuple[list[Key], list[Key]]] = field(default_factory=dict)
    """Split -> examples that joined it and that left it, though they stand in both releases."""

    @property
    def empty(self) -> bool:
        return not (self.added or self.removed or self.changed or self.splits)

    def as_json(self) -> dict[str, Any]:
        """For machines; examples are named by github_id and id."""
        return {
            "added": [_name(key) for key in self.added],
            "removed": [{**_name(key), "reason": reason} for key, reason in self.removed.items()],
            "changed": [
                {**_name(key), "columns": {c: {"old": old, "new": new} for c, (old, new) in columns.items()}}
                for key, columns in self.changed.items()
            ],
            "splits": {
                name: {"joined": [_name(key) for key in joined], "left": [_name(key) for key in left]}
                for name, (joined, left) in self.splits.items()
            },
        }

    def lines(self) -> list[str]:
        """For people: one line for each example."""
        found = [f"added    {_text(key)}" for key in self.added]
        found += [f"removed  {_text(key)}{f': {why}' if why else ''}" for key, why in self.removed.items()]
        found += [f"changed  {_text(key)}: {', '.join(columns)}" for key, columns in self.changed.items()]
        for name, (joined, left) in self.splits.items():
            found.append(f"split {name}: {len(joined)} joined, {len(left)} left")
        return found or ["no difference"]


def diff_releases(old: Dataset, new: Dataset) -> Difference:
    """Compare two releases.

    Raises:
        BenchwrightError: one of them cannot be read.
    """
    before, after = _rows(old), _rows(new)
    reasons = _withdrawn(new)
    both = [key for key in sorted(before) if key in after]
    columns = {key: _columns(before[key], after[key]) for key in both}
    splits = {}
    for name in sorted({*old.splits, *new.splits}):
        was, now = _members(old, name), _members(new, name)
        joined = [key for key in now if key not in set(was) and key in before]
        left = [key for key in was if key not in set(now) and key in after]
        if joined or left:
            splits[name] = (joined, left)
    return Difference(
        added=sorted(key for key in after if key not in before),
        removed={key: reasons.get(key, "") for key in sorted(before) if key not in after},
        changed={key: found for key, found in columns.items() if found},
        splits=splits,
    )


def _rows(dataset: Dataset) -> dict[Key, Row]:
    return {row.key: row for split in dataset.splits for row in dataset.rows(split)}


def _members(dataset: Dataset, split: str) -> list[Key]:
    return [row.key for row in dataset.rows(split)] if split in dataset.splits else []


def _columns(old: Row, new: Row) -> dict[str, tuple[Any, Any]]:
    was, now = old.values(), new.values()
    return {name: (was[name], now[name]) for name in was if was[name] != now[name]}


def _withdrawn(dataset: Dataset) -> dict[Key, str]:
    path = dataset.root / "withdrawn.jsonl"
    if dataset.folder is None or not path.is_file():
        return {}
    return {
        (fields.get("github_id", 0), fields.get("id", 0)): str(fields.get("reason", ""))
        for _line, fields in read_json_lines(path)
    }


def _name(key: Key) -> dict[str, int]:
    return {"github_id": key[0], "id": key[1]}


def _text(key: Key) -> str:
    return f"{key[0]}/{key[1]}"
