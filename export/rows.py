"""A dataset row: ML-Bench's eleven columns, and where the row comes from.

The eleven columns keep ML-Bench's names, types and text byte for byte. The provenance columns are ours; each is null
where it is not known. ``arguments`` is text: a Python or JSON mapping, read here without evaluating anything.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, get_args

from ..core.errors import BenchwrightError
from ..core.files import canonical_json
from ..core.models import TaskType

__all__ = ["COLUMNS", "INTEGERS", "PROVENANCE", "Key", "Row", "arguments_of", "parse_arguments", "row_of"]

COLUMNS = (
    "github_id",
    "github",
    "repo_id",
    "path",
    "arguments",
    "instruction",
    "oracle",
    "type",
    "id",
    "prefix_code",
    "output",
)
"""ML-Bench's columns, in the published order."""

PROVENANCE = (
    "commit",
    "license",
    "source_path",
    "start_line",
    "end_line",
    "blob",
    "oracle_sha256",
    "task_id",
    "environment",
    "environment_digest",
    "verified_at",
    "evidence_digest",
)
"""Our columns after them: where the oracle stands in the repository, and what ran the output, when."""

INTEGERS = frozenset({"github_id", "repo_id", "id", "start_line", "end_line"})

Key = tuple[int, int]
"""``(github_id, id)``: what names an example in predictions and results."""


@dataclass(frozen=True, slots=True)
class Row:
    """One example as published."""

    github_id: int
    github: str
    repo_id: int
    path: str
    arguments: str
    instruction: str
    oracle: str
    type: TaskType
    id: int
    prefix_code: str
    output: str
    commit: str | None = None
    license: str | None = None
    source_path: str | None = None
    start_line: int | None = None
    end_line: int | None = None
    blob: str | None = None
    oracle_sha256: str | None = None
    """Of the oracle, or, where that is left out for its licence, of the text that ``join`` gives instead."""
    task_id: str | None = None
    environment: str | None = None
    environment_digest: str | None = None
    verified_at: str | None = None
    evidence_digest: str | None = None

    @property
    def key(self) -> Key:
        return self.github_id, self.id

    @property
    def task(self) -> tuple[str, ...]:
        """What the row's task is, also where no task id was published: repository, path, oracle and type."""
        if self.task_id is not None:
            return (self.task_id,)
        return self.github.casefold(), self.path, self.oracle, self.type

    def values(self) -> dict[str, Any]:
        """Column name -> value, in the order of the columns."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def row_of(values: Mapping[str, Any], where: str) -> Row:
    """Check one row read from a dataset; columns it does not know are left out.

    Raises:
        BenchwrightError: a column is missing, of the wrong type, or no UTF-8 text (row and column are named).
    """
    missing = [name for name in COLUMNS if name not in values]
    if missing:
        raise BenchwrightError(
            f"the columns {', '.join(missing)} are missing",
            where=where,
            remedy="a dataset has ML-Bench's eleven columns: " + ", ".join(COLUMNS),
        )
    known = {name: values[name] for name in (*COLUMNS, *PROVENANCE) if name in values}
    for name, value in known.items():
        _check(name, value, name in PROVENANCE, where)
    if known["type"] not in get_args(TaskType):
        raise BenchwrightError(
            f"the type is {known['type']!r}", where=where, remedy="use " + " or ".join(get_args(TaskType))
        )
    return Row(**known)


def _check(name: str, value: Any, optional: bool, where: str) -> None:
    if value is None and optional:
        return
    if name in INTEGERS:
        if not isinstance(value, int) or isinstance(value, bool):
            raise BenchwrightError(f"the column {name} holds {type(value).__name__}, not an integer", where=where)
        if not -(2**63) <= value < 2**63:
            raise BenchwrightError(f"the column {name} does not fit into 64 bits", where=where)
    elif not isinstance(value, str):
        raise BenchwrightError(f"the column {name} holds {type(value).__name__}, not text", where=where)
    elif not _encodes(value):
        raise BenchwrightError(
            f"the column {name} holds a lone surrogate, which is no text that UTF-8 can store",
            where=where,
            remedy="replace the character: it stands for bytes that were never valid text",
        )


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def parse_arguments(text: str, where: str) -> dict[str, Any]:
    """Read the text of the ``arguments`` column: a JSON object, or a Python mapping of literals.

    Raises:
        BenchwrightError: it is neither.
    """
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, dict):
            return _plain(value, where)
    raise BenchwrightError(
        f"the arguments are no mapping: {text[:80]!r}",
        where=where,
        remedy="write a JSON object, or a Python dictionary of literals, for example {'lr': '0.1'}",
    )


def _plain(value: dict[Any, Any], where: str) -> dict[str, Any]:
    """The same as JSON has it: names are text, tuples are lists."""
    try:
        plain = json.loads(canonical_json({str(name): given for name, given in value.items()}))
    except (TypeError, ValueError, RecursionError) as error:
        raise BenchwrightError(f"the arguments hold what JSON cannot: {error}", where=where) from error
    assert isinstance(plain, dict)
    return {str(name): plain[str(name)] for name in value}


def arguments_of(row: Row) -> dict[str, Any]:
    """The row's arguments by name.

    Raises:
        BenchwrightError: the text is no mapping of literals (the example is named).
    """
    return parse_arguments(row.arguments, f"example {row.github_id}/{row.id}")
