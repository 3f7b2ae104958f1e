"""Reading what is to be checked, leniently: a row that cannot be read is a finding, not the end."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core.errors import BenchwrightError
from ...core.files import canonical_json
from ...core.models import Example, Task
from ...core.tasks import TaskFolder, load_tasks, read_folder
from ...core.workspace import Workspace
from .rules import rule
from .subject import Finding, Subject, problems_of_row, subject_of

__all__ = [
    "Fixes",
    "example_values",
    "memberships",
    "mended_examples",
    "mended_lines",
    "rows_of_files",
    "rows_of_workspace",
]

BATCH_ROWS = 1024
EXAMPLES = "examples.jsonl"


def rows_of_files(splits: Mapping[str, Sequence[Path]]) -> Iterator[Subject | Finding]:
    """The rows of a dataset's files, or why one is none, in order."""
    for split, paths in splits.items():
        for path in paths:
            reader = _json_rows if path.suffix == ".jsonl" else _parquet_rows
            for where, values in reader(path):
                problems = [values] if isinstance(values, str) else problems_of_row(values)
                if isinstance(values, str) or problems:
                    for problem in problems:
                        yield Finding(rule("BW001"), where, str(problem), *_key(values))
                else:
                    yield subject_of(values, where, split)


def _key(values: Any) -> tuple[int | None, int | None]:
    if not isinstance(values, dict):
        return None, None
    pair = values.get("github_id"), values.get("id")
    return (pair[0], pair[1]) if isinstance(pair[0], int) and isinstance(pair[1], int) else (None, None)


def _json_rows(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        with open(path, "rb") as file:
            for line, raw in enumerate(file, 1):
                if not raw.strip():
                    continue
                try:
                    yield f"{path}:{line}", json.loads(raw.decode("utf-8"))
                except UnicodeDecodeError:
                    yield f"{path}:{line}", "it is not UTF-8"
                except (ValueError, RecursionError) as error:  # bad JSON, digits or nesting without end
                    yield f"{path}:{line}", f"it is no JSON: {error}"
    except OSError as error:
        raise BenchwrightError(f"cannot read it: {error.strerror}", where=str(path)) from error


def _parquet_rows(path: Path) -> Iterator[tuple[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH_ROWS):
                for values in batch.to_pylist():
                    number += 1
                    yield f"{path} row {number}", values
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise BenchwrightError(
            f"not a readable Parquet file{f' after row {number}' if number else ''}: {error}",
            where=str(path),
            remedy="get the file anew",
        ) from error


def rows_of_workspace(workspace: Workspace) -> Iterator[Subject | Finding]:
    """The examples of a workspace's tasks, each in the splits that list it; withdrawn ones are left out."""
    splits = memberships(workspace)
    for item in _task_folders(workspace):
        if isinstance(item, Finding):
            yield item
            continue
        for line, example in enumerate(item.examples, 1):
            if example.yanked is None:
                values = example_values(item.task, item.oracle, example)
                for split in splits.get(f"{item.task.repository.name}/{example.id}", ["full"]):
                    yield subject_of(values, f"{item.folder / EXAMPLES}:{line}", split)


def _task_folders(workspace: Workspace) -> Iterator[TaskFolder | Finding]:
    try:
        yield from load_tasks(workspace)
        return
    except BenchwrightError:
        pass  # one of them is wrong: read each by itself, and name those that are
    for path in sorted(workspace.tasks_dir.glob("*/*/task.toml")):
        try:
            yield read_folder(path.parent)
        except BenchwrightError as error:
            yield Finding(rule("BW004"), error.where or str(path), error.message)


def example_values(task: Task, oracle: str, example: Example) -> dict[str, Any]:
    """An example in the shape of a row."""
    repository = task.repository
    return {
        "github_id": repository.github_id or 0,
        "github": repository.url,
        "repo_id": example.repo_id if example.repo_id is not None else example.id,
        "path": task.path,
        "arguments": example.arguments_text or canonical_json(example.arguments),
        "instruction": example.instruction,
        "oracle": oracle,
        "type": example.type,
        "id": example.id,
        "prefix_code": example.prefix_code or task.prefix_code,
        "output": example.output,
        "task_id": task.id,
        "license": repository.license,
        "commit": repository.commit,
    }


def memberships(workspace: Workspace) -> dict[str, list[str]]:
    """Which splits list an example (``REPOSITORY/NUMBER``)."""
    found: dict[str, list[str]] = {}
    for path in sorted(workspace.splits_dir.glob("*.txt")):
        for line in path.read_text("utf-8", errors="replace").splitlines():
            if line.strip():
                found.setdefault(line.strip(), []).append(path.stem)
    return found


Fixes = Mapping[tuple[str, str], str]
"""Column and its text as it was found -> the mended text: another row of the same number is left alone."""


def mended_examples(item: TaskFolder, fixes: Mapping[int, Fixes]) -> tuple[Example, ...]:
    """The examples with mended columns."""
    return tuple(_mended(item.task, item.oracle, example, fixes.get(example.id, {})) for example in item.examples)


def _mended(task: Task, oracle: str, example: Example, fixes: Fixes) -> Example:
    held = example_values(task, oracle, example)
    return example.model_copy(update={column: text for (column, found), text in fixes.items() if held[column] == found})


def mended_lines(path: Path, fixes: Mapping[tuple[int, int], Fixes]) -> bytes:
    """A JSONL file with mended columns; lines that need nothing, or cannot be read, stay byte for byte."""
    return b"\n".join(_mended_line(raw, fixes) for raw in path.read_bytes().split(b"\n"))


def _mended_line(raw: bytes, fixes: Mapping[tuple[int, int], Fixes]) -> bytes:
    try:
        values = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    github_id, number = _key(values)
    wanted = fixes.get((github_id, number)) if github_id is not None and number is not None else None
    changes = {column: text for (column, found), text in (wanted or {}).items() if values.get(column) == found}
    return json.dumps(values | changes, ensure_ascii=False).encode("utf-8", "surrogatepass") if changes else raw
