"""The report as a table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .runs import Comparison, Run

__all__ = ["comparison_lines", "notes", "runs_table", "table_rows"]

COLUMNS = ("repository", "examples", "gold passes here", "graded", "pass@1", "pass@2", "pass@5")
NO_EXECUTION_COLUMNS = ("repository", "examples", "samples")


def table_rows(report: dict[str, Any]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Column titles and one row for each repository, the whole last."""
    protocol = report["protocols"][report["headline"]]
    parts = [*protocol["repositories"].items(), ("all", protocol)]
    if protocol["pass_at_k"] is None:
        checks = tuple(protocol["shares"])
        titles = (*NO_EXECUTION_COLUMNS, *(f"passes {check}" for check in checks))
        return titles, [
            (name, part["examples"]["release"], part["samples"], *(_percent(part["shares"][c]) for c in checks))
            for name, part in parts
        ]
    return COLUMNS, [
        (
            name,
            part["examples"]["release"],
            part["examples"]["gold_passes_here"],
            part["examples"]["graded"],
            *(_pass_at(part["pass_at_k"][k], with_interval=name == "all") for k in ("1", "2", "5")),
        )
        for name, part in parts
    ]


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def _pass_at(entry: dict[str, Any], *, with_interval: bool) -> str:
    if entry["value"] is None:
        return "-"
    text = _percent(entry["value"])
    if with_interval and entry["low"] is not None:
        text += f" [{100 * entry['low']:.1f}, {100 * entry['high']:.1f}]"
    return text


def notes(report: dict[str, Any]) -> list[str]:
    """What a reader must know beside the figures."""
    found = []
    protocol = report["protocols"][report["headline"]]
    for reason, examples in protocol["left_out"].items():
        shown = ", ".join(examples[:8]) + (", ..." if len(examples) > 8 else "")
        found.append(f"{len(examples)} examples are not graded: {reason} ({shown})")
    missing = protocol.get("outcomes", {}).get("missing")
    if missing:
        found.append(f"{missing} samples are missing and count as failures")
    if report["provenance"]["predictions"]["ignored_samples"]:
        found.append(f"{report['provenance']['predictions']['ignored_samples']} samples beyond the declared number")
    if report["differences"]:
        found.append(f"the two protocols differ on {len(report['differences'])} samples (differences in report.json)")
    return found


def runs_table(runs: Sequence[Run]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Column titles and one row for each run and protocol."""
    titles = ("run", "protocol", "examples", "gold passes here", "graded", "pass@1", "pass@2", "pass@5")
    rows = []
    for run in runs:
        for name, part in run.report["protocols"].items():
            figures = part["pass_at_k"] or {}
            shown = (_pass_at(figures[k], with_interval=True) if k in figures else "not executed" for k in "125")
            examples = part["examples"]
            counts = (examples["release"], examples["gold_passes_here"], examples["graded"])
            rows.append((run.name, name, *counts, *shown))
    return titles, rows


def comparison_lines(comparisons: Sequence[Comparison], alike: dict[str, list[str]]) -> list[str]:
    """What the comparison says, one sentence for each pair, and which examples tell nothing any more."""
    found = []
    for item in comparisons:
        bounds = "" if item.low is None or item.high is None else f" [{100 * item.low:+.1f}, {100 * item.high:+.1f}]"
        found.append(
            f"{item.second} against {item.first}: pass@1 {100 * item.difference:+.1f} points{bounds} on "
            f"{item.examples} examples, p = {item.p:.4f}; {item.better} better, {item.worse} worse, {item.ties} ties"
        )
    if comparisons:
        found.append(
            f"{len(alike['all_solved'])} examples are always solved, {len(alike['none_solved'])} never: "
            "they do not tell the runs apart"
        )
    return found
