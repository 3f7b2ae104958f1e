"""A task (accepted: README segment and entry point) and its examples (dataset rows)."""

from __future__ import annotations

import re
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from .candidate import EntryPoint, ScopeName, Source, TaskType
from .record import Part, Record
from .repository import Name, RepositoryRef

__all__ = ["Example", "Limits", "Success", "Task"]


class Limits(Part):
    """What a run may use. A sandbox that cannot enforce one of them refuses the run."""

    timeout_s: float = Field(default=60.0, gt=0, le=7 * 86400)
    memory_bytes: int = Field(default=2 * 1024**3, gt=0, le=2**50)
    cpus: float = Field(default=1.0, gt=0, le=4096)
    processes: int = Field(default=256, gt=0, le=2**22)
    output_bytes: int = Field(default=256 * 1024**2, gt=0, le=2**50)
    """Beyond this the run is ended; of what it wrote, head and tail are kept."""
    disk_bytes: int = Field(default=1024**3, gt=0, le=2**50)


class Success(Part):
    """What counts as success, declared: exit status 0, and where given more than that.

    ``artifact``: also, ``path`` is a file that the run wrote. ``metric``: also, the last match of ``pattern`` in the
    output is a number within ``at_least`` and ``at_most``. ``runs_for``: instead, it still runs after ``seconds`` and
    ``pattern`` in its output shows progress; for training jobs, and named as such wherever it is reported.
    """

    kind: Literal["exit_code", "artifact", "metric", "runs_for"] = "exit_code"
    path: str | None = None
    """Relative to the repository."""
    pattern: str | None = None
    """A regular expression; a metric's has one group, the number."""
    at_least: float | None = None
    at_most: float | None = None
    seconds: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        needed = {"artifact": ["path"], "metric": ["pattern"], "runs_for": ["pattern", "seconds"]}.get(self.kind, [])
        if missing := [name for name in needed if getattr(self, name) is None]:
            raise ValueError(f"success of kind {self.kind} needs {' and '.join(missing)}")
        if self.kind == "metric" and self.at_least is None and self.at_most is None:
            raise ValueError("success of kind metric needs at_least or at_most")
        try:
            groups = re.compile(self.pattern or "()").groups
        except re.error as error:
            raise ValueError(f"pattern is no regular expression: {error}") from error
        if self.kind == "metric" and groups != 1:
            raise ValueError("the pattern of a metric has one group, the number")
        return self


class Task(Record):
    """``tasks/REPOSITORY/TASK/task.toml``; the README segment lies beside it in ``oracle.md``."""

    name: Name
    """Folder name below ``tasks/REPOSITORY/``, unique in the repository."""
    repository: RepositoryRef
    type: TaskType
    path: str = "./"
    """Folder the output runs in, as published."""
    entry_point: EntryPoint | None = None
    source: Source | None = None
    source_similarity: float | None = None
    """How alike an imported README segment and its place are, 0 to 1; None where it was taken from there."""
    oracle_scope: ScopeName | None = None
    environment: str | None = None
    """None: the repository's, else the workspace's default."""
    network: bool = False
    cpu_smoke: str = ""
    """What shows without a card that the entry point works: the output made small. It verifies no example."""
    prefix_code: str = ""
    success: Success = Success()
    limits: Limits | None = None
    """None: the workspace's default limits."""
    candidate_id: str | None = None
    candidate_digest: str | None = None
    annotators: tuple[str, ...] = ()
    """Pseudonyms of those whose agreement made it."""
    origin: Literal["annotated", "imported"] = "annotated"

    @property
    def id(self) -> str:
        return f"{self.repository.name}/{self.name}"


class Example(Record):
    """One line of ``examples.jsonl``: an instruction, its arguments, and the output that fulfils it."""

    id: int
    """Unique with the repository's github_id; allocated in order and never reused, not even after a yank."""
    repo_id: int | None = None
    """ML-Bench's column of that name; None: the same as ``id``."""
    type: TaskType
    instruction: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    arguments_text: str | None = None
    """The published text of the arguments where the example was imported; None: written from ``arguments``."""
    prefix_code: str = ""
    output: str
    machine_written: bool = False
    yanked: str | None = None
    """Why it was withdrawn; None while it stands."""
