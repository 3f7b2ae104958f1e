"""Reading finished evaluations again, and comparing them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from pydantic import BaseModel, ValidationError

from ...core.errors import BenchwrightError
from ...core.files import read_json, read_json_lines
from ...core.models.record import explain
from ..rows import Key
from .metrics import SEED, clustered_interval

__all__ = ["Comparison", "Run", "compare", "open_run", "records"]

FLIPS = 5000
AGAIN = "benchwright evaluate RELEASE PREDICTIONS -o DIR"


class _Figure(BaseModel):
    value: float | None
    low: float | None = None
    high: float | None = None


class _Counts(BaseModel):
    release: int
    gold_passes_here: int | None
    graded: int


class _Protocol(BaseModel):
    examples: _Counts
    pass_at_k: dict[str, _Figure] | None
    left_out: dict[str, list[str]]


class _Report(BaseModel):
    """What reading a report again relies on; the rest of it is for people."""

    headline: str
    protocols: dict[str, _Protocol]


@dataclass(frozen=True)
class Run:
    """One evaluation as it lies on disk."""

    folder: Path
    report: dict[str, Any]
    results: list[dict[str, Any]]
    examples: dict[Key, dict[str, Any]]

    @property
    def name(self) -> str:
        return self.folder.name

    def shares(self, protocol: str) -> dict[Key, float]:
        """Graded example -> share of its samples that are right: its pass@1."""
        left_out = {
            tuple(int(part) for part in name.split("/"))
            for names in self.report["protocols"][protocol]["left_out"].values()
            for name in names
        }
        right: dict[Key, list[bool]] = {}
        for line in self.results:
            key = (line["github_id"], line["id"])
            if key not in left_out:
                passed = line["outcome"] == "passed" if protocol == "strict" else line["ml_bench"]["passed"] is True
                right.setdefault(key, []).append(passed)
        return {key: mean(values) for key, values in right.items()}


def open_run(folder: Path) -> Run:
    """Read the folder that ``evaluate -o`` wrote.

    Raises:
        BenchwrightError: it is no such folder, or a file of it is damaged.
    """
    path = folder / "report.json"
    try:
        report = read_json(path, remedy=AGAIN)
    except FileNotFoundError as error:
        raise BenchwrightError("there is no report.json", where=str(folder), remedy=AGAIN) from error
    if report.get("schema_version") != 1:
        raise BenchwrightError(
            "it is no report, or one whose schema_version is unknown here",
            where=str(path),
            remedy=f"{AGAIN}, or upgrade",
        )
    try:
        said = _Report.model_validate(report)
    except ValidationError as error:
        raise BenchwrightError(f"it is no report: {explain(error)}", where=str(path), remedy=AGAIN) from error
    if said.headline not in said.protocols:
        raise BenchwrightError(f"it has no protocol {said.headline!r}", where=str(path), remedy=AGAIN)
    results = list(records(folder / "results.jsonl", sample=int, outcome=str, code=(str, type(None)), ml_bench=dict))
    examples = {
        (fields["github_id"], fields["id"]): fields for fields in records(folder / "examples.jsonl", task=(str, list))
    }
    return Run(folder, report, results, examples)


def records(path: Path, **shape: type | tuple[type, ...]) -> Iterator[dict[str, Any]]:
    """The lines of a run's file, each about an example and with the fields of ``shape``.

    Raises:
        BenchwrightError: the file cannot be read, or a line lacks a field (the line is named).
    """
    for number, fields in read_json_lines(path):
        for name, kinds in {"github_id": int, "id": int, **shape}.items():
            if name not in fields or not isinstance(fields[name], kinds):
                raise BenchwrightError(
                    f"no line that evaluate writes: {name} is missing or of another type",
                    where=f"{path}:{number}",
                    remedy=AGAIN,
                )
        yield fields


@dataclass(frozen=True)
class Comparison:
    """Two runs on the examples that both graded."""

    first: str
    second: str
    examples: int
    difference: float
    """pass@1 of the second less that of the first."""
    low: float | None
    high: float | None
    """Bounds of the difference, by the bootstrap over tasks."""
    p: float
    """Share of random exchanges of the two runs, task by task, that give a difference at least as large."""
    better: int
    worse: int
    ties: int
    only_first: int
    only_second: int

    def as_json(self) -> dict[str, Any]:
        return dict(vars(self))


def compare(runs: Sequence[Run], protocol: str) -> tuple[list[Comparison], dict[str, list[str]]]:
    """Every later run against the first, and the examples that no longer tell the runs apart.

    Raises:
        BenchwrightError: fewer than two runs, or two that share no graded example.
    """
    if len(runs) < 2:
        raise BenchwrightError("comparing takes two runs or more", remedy="benchwright report RUN RUN --compare")
    for run in runs:
        if run.report["protocols"][protocol]["pass_at_k"] is None:
            raise BenchwrightError(
                "nothing was executed in this run, so it has no passes to compare",
                where=str(run.folder),
                remedy="evaluate again without --no-execute",
            )
    shares = [run.shares(protocol) for run in runs]
    found = [_pair(runs[0], run, shares[0], own) for run, own in zip(runs[1:], shares[1:], strict=True)]
    common = set.intersection(*(set(own) for own in shares))
    names = {key: f"{key[0]}/{key[1]}" for key in sorted(common)}
    return found, {
        "all_solved": [name for key, name in names.items() if all(own[key] == 1 for own in shares)],
        "none_solved": [name for key, name in names.items() if all(own[key] == 0 for own in shares)],
    }


def _pair(first: Run, second: Run, before: dict[Key, float], after: dict[Key, float]) -> Comparison:
    common = sorted(before.keys() & after.keys())
    if not common:
        raise BenchwrightError("the two runs share no graded example", where=f"{first.folder}, {second.folder}")
    gains = [after[key] - before[key] for key in common]
    tasks = [json.dumps(first.examples[key]["task"]) for key in common]
    interval = clustered_interval(gains, tasks) or (None, None)
    return Comparison(
        first=first.name,
        second=second.name,
        examples=len(common),
        difference=mean(gains),
        low=interval[0],
        high=interval[1],
        p=_exchange_test(gains, tasks),
        better=sum(gain > 0 for gain in gains),
        worse=sum(gain < 0 for gain in gains),
        ties=sum(gain == 0 for gain in gains),
        only_first=len(before.keys() - after.keys()),
        only_second=len(after.keys() - before.keys()),
    )


def _exchange_test(gains: Sequence[float], tasks: Sequence[str]) -> float:
    """Paired randomisation test, two-sided; the examples of a task are exchanged together."""
    sums: dict[str, float] = {}
    for gain, task in zip(gains, tasks, strict=True):
        sums[task] = sums.get(task, 0.0) + gain
    totals = list(sums.values())
    seen = abs(sum(totals)) - 1e-9
    source = random.Random(SEED)  # noqa: S311 - statistics, not secrets
    hits = sum(abs(sum(t if source.random() < 0.5 else -t for t in totals)) >= seen for _ in range(FLIPS))
    return (hits + 1) / (FLIPS + 1)
