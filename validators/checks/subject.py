"""What is checked: one example in the shape of a dataset row, wherever it came from, and what was found about it."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...core.models import Repository
from ...curation.source import PinnedTree
from .rules import Rule, rule

__all__ = ["COLUMNS", "Context", "Finding", "Subject", "problems_of_row", "subject_of"]

COLUMNS: Mapping[str, type] = {
    "github_id": int,
    "github": str,
    "repo_id": int,
    "path": str,
    "arguments": str,
    "instruction": str,
    "oracle": str,
    "type": str,
    "id": int,
    "prefix_code": str,
    "output": str,
}
TYPES = ("Bash Script", "Python Code")
TEXTS = ("instruction", "output", "prefix_code", "oracle", "arguments")


@dataclass(frozen=True)
class Finding:
    """One fault at one place."""

    rule: Rule
    where: str
    message: str
    github_id: int | None = None
    id: int | None = None
    fix: Mapping[str, str] = field(default_factory=dict)
    """Column -> mended text; empty where it takes a person."""
    before: Mapping[str, str] = field(default_factory=dict)
    """The text of those columns as it was found."""

    def as_json(self) -> dict[str, Any]:
        """The object that ``check --json`` prints."""
        found: dict[str, Any] = {
            "rule": self.rule.id,
            "severity": self.rule.severity,
            "where": self.where,
            "message": self.message,
            "fixable": bool(self.fix),
        }
        if self.github_id is not None:
            found |= {"github_id": self.github_id, "id": self.id}
        return found


@dataclass(frozen=True, eq=False)
class Subject:
    """One example."""

    where: str
    split: str
    values: Mapping[str, Any]

    @property
    def key(self) -> tuple[int, int]:
        return self.values["github_id"], self.values["id"]

    def text(self, column: str) -> str:
        value = self.values.get(column)
        return value if isinstance(value, str) else ""

    @property
    def is_python(self) -> bool:
        return self.text("type") == "Python Code"

    @cached_property
    def arguments(self) -> dict[str, Any] | None:
        """The arguments by name; None where they cannot be read."""
        for read in (json.loads, ast.literal_eval):
            try:
                value = read(self.text("arguments"))
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
            if isinstance(value, dict):
                return {str(name): given for name, given in value.items()}
        return None

    @cached_property
    def task(self) -> tuple[str, ...]:
        """What the example's task is, also where no task id is published."""
        named = self.text("task_id")
        if named:
            return (named,)
        return self.text("github").casefold(), self.text("path"), self.text("oracle"), self.text("type")

    def finding(self, identifier: str, message: str, fix: Mapping[str, str] | None = None) -> Finding:
        github_id, number = self.key
        before = {column: self.text(column) for column in fix or {}}
        return Finding(rule(identifier), self.where, message, github_id, number, fix or {}, before)


@dataclass
class Context:
    """What rules may ask about beside the example."""

    repositories: Mapping[int, Repository]
    open: Callable[[Repository], PinnedTree]
    """Gives a repository's files; a BenchwrightError says why not."""
    redistributable: Iterable[str] = ()


def problems_of_row(values: Any) -> list[str]:
    """Why ``values`` is no row of the published shape; empty where it is one."""
    if not isinstance(values, dict):
        return ["it is no JSON object"]
    problems = []
    missing = [name for name in COLUMNS if name not in values]
    if missing:
        problems.append(f"the columns {', '.join(missing)} are missing")
    for name, kind in COLUMNS.items():
        value = values.get(name)
        if name in values and (not isinstance(value, kind) or isinstance(value, bool)):
            problems.append(f"the column {name} holds {type(value).__name__}, not {kind.__name__}")
    if isinstance(values.get("type"), str) and values["type"] not in TYPES:
        problems.append(f"the type is {values['type']!r}, not {' or '.join(TYPES)}")
    return problems


def subject_of(values: Mapping[str, Any], where: str, split: str) -> Subject:
    """The example in a row that has the published shape."""
    return Subject(where, split, values)
