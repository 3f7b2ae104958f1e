"""``tasks/REPOSITORY/TASK/``: reading and writing accepted tasks, their examples and their evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomlkit

from .config import read_toml
from .errors import BenchwrightError
from .files import append_lines, atomic_write, canonical_json, read_json_lines
from .models import Evidence, Example, Task
from .workspace import Workspace

__all__ = [
    "TaskFolder",
    "append_evidence",
    "load_tasks",
    "next_example_id",
    "read_evidence",
    "read_folder",
    "write_task",
]


@dataclass(frozen=True)
class TaskFolder:
    """One task as it lies on disk."""

    folder: Path
    task: Task
    oracle: str
    examples: tuple[Example, ...]


def load_tasks(workspace: Workspace, ids: Iterable[str] = ()) -> list[TaskFolder]:
    """All tasks by id, or those named: ``REPOSITORY``, or ``REPOSITORY/TASK``.

    Raises:
        BenchwrightError: a file is wrong (named with its line), or a named task is not there.
    """
    found = [read_folder(path.parent) for path in sorted(workspace.tasks_dir.glob("*/*/task.toml"))]
    wanted = list(ids)
    if not wanted:
        return found
    chosen = [item for item in found if item.task.id in wanted or item.task.repository.name in wanted]
    known = {item.task.id for item in chosen} | {item.task.repository.name for item in chosen}
    missing = [name for name in wanted if name not in known]
    if missing:
        raise BenchwrightError(
            f"there is no task {', '.join(missing)}",
            where=str(workspace.tasks_dir),
            remedy="benchwright tasks list shows the names",
        )
    return chosen


def read_folder(folder: Path) -> TaskFolder:
    """One task as it lies in ``folder``.

    Raises:
        BenchwrightError: a file is wrong (named with its line).
    """
    task = Task.load(read_toml(folder / "task.toml"), str(folder / "task.toml"))
    if (task.repository.name, task.name) != (folder.parent.name, folder.name):
        raise BenchwrightError(f"names itself {task.id}, unlike its folder", where=str(folder / "task.toml"))
    examples_path = folder / "examples.jsonl"
    examples = [Example.load(fields, f"{examples_path}:{line}") for line, fields in read_json_lines(examples_path)]
    try:
        oracle = (folder / "oracle.md").read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BenchwrightError(f"cannot read it: {error}", where=str(folder / "oracle.md")) from error
    return TaskFolder(folder, task, oracle, tuple(examples))


def write_task(workspace: Workspace, task: Task, oracle: str, examples: Sequence[Example]) -> TaskFolder:
    """Write a task and its examples (sorted by id), leaving evidence alone; the caller holds the lock.

    ``task.toml`` is written last: a folder without it is no task yet.
    """
    folder = workspace.tasks_dir / task.repository.name / task.name
    ordered = sorted(examples, key=lambda example: example.id)
    lines = [canonical_json(example.model_dump(mode="json")) for example in ordered]
    atomic_write(folder / "oracle.md", oracle)
    atomic_write(folder / "examples.jsonl", "".join(f"{line}\n" for line in lines))
    atomic_write(folder / "task.toml", tomlkit.dumps(task.model_dump(mode="json", exclude_none=True)))
    return TaskFolder(folder, task, oracle, tuple(ordered))


def next_example_id(tasks: Iterable[TaskFolder], github_id: int | None) -> int:
    """The next free example id of a repository number; yanked ones stay taken."""
    taken = [example.id for item in tasks if item.task.repository.github_id == github_id for example in item.examples]
    return max(taken, default=0) + 1


def read_evidence(folder: Path) -> list[Evidence]:
    """All evidence ever recorded for the task in ``folder``, oldest first."""
    path = folder / "evidence.jsonl"
    if not path.exists():
        return []
    return [Evidence.load(fields, f"{path}:{line}") for line, fields in read_json_lines(path, torn=True)]


def append_evidence(folder: Path, evidence: Iterable[Evidence]) -> None:
    """Add evidence; nothing recorded is ever changed."""
    append_lines(folder / "evidence.jsonl", (canonical_json(item.model_dump(mode="json")) for item in evidence))
