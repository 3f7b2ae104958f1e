"""Reading finished evaluations again, and comparing them."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from ...core.errors import BenchwrightError
from ...core.files import read_json_lines
from ..rows import Key
from .metrics import SEED, clustered_interval

__all__ = ["Comparison", "Run", "compare", "open_run"]

FLIPS = 5000


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
        report = json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise BenchwrightError(
            "there is no report.json", where=str(folder), remedy="benchwright evaluate RELEASE PREDICTIONS -o DIR"
        ) from error
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise BenchwrightError(f"cannot read it: {error}", where=str(path)) from error
    if not isinstance(report, dict) or report.get("schema_version") != 1:
        raise BenchwrightError("its schema_version is unknown here", where=str(path), remedy="upgrade benchwright")
    results = [fields for _line, fields in read_json_lines(folder / "results.jsonl")]
    examples = {
        (fields["github_id"], fields["id"]): fields for _line, fields in read_json_lines(folder / "examples.jsonl")
    }
    return Run(folder, report, results, examples)


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
