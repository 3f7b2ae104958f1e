"""From judged samples to ``report.json``: pass@k with intervals, three denominators, per repository and type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..rows import Key, Row
from .metrics import clustered_interval, first_k, mean, pass_at_k, pass_hat_k
from .score import NOT_EXECUTED, Sample

__all__ = ["KS", "PROTOCOLS", "Graded", "Material", "differences", "protocol_report"]

KS = (1, 2, 5)
PROTOCOLS = {"strict": 1, "ml-bench": 1}
"""Name -> version, which rises whenever the same executions can come to other verdicts."""


@dataclass(frozen=True)
class Material:
    """Everything that a report is computed from."""

    rows: Sequence[Row]
    """The examples of the release that were asked for."""
    names: Mapping[int, str]
    """github_id -> name of the repository."""
    release: int
    """Examples in the whole release."""
    samples: Mapping[Key, Sequence[Sample]]
    gold: Mapping[Key, Mapping[str, bool | None]] | None
    """Protocol -> whether the published output passes here; None without execution."""
    declared: int | None
    """Declared number of samples; None: each example's own."""


@dataclass(frozen=True)
class Graded:
    """One example with a verdict on each sample."""

    row: Row
    right: tuple[bool, ...]


def protocol_report(material: Material, protocol: str) -> dict[str, Any]:
    """The part of the report about one protocol."""
    graded, dropped = _graded(material, protocol)
    report = _part(material, protocol, material.rows, graded, material.release)
    for title, name_of in (("repositories", _repository_name(material)), ("types", _type_name)):
        names = sorted({name_of(row) for row in material.rows})
        report[title] = {
            name: _part(
                material,
                protocol,
                rows := [row for row in material.rows if name_of(row) == name],
                [item for item in graded if name_of(item.row) == name],
                len(rows),
            )
            for name in names
        }
    report["left_out"] = dropped
    return report


def _repository_name(material: Material) -> Callable[[Row], str]:
    return lambda row: material.names[row.github_id]


def _type_name(row: Row) -> str:
    return row.type


def _graded(material: Material, protocol: str) -> tuple[list[Graded], dict[str, list[str]]]:
    """The examples that count, and why each of the others does not.

    Strict: gold passes here and no sample was spoilt by the machine; missing samples are failures. ml-bench: as many
    samples as declared were given, whatever the gold does.
    """
    graded: list[Graded] = []
    left_out: dict[str, list[str]] = {}
    for row in material.rows:
        samples = material.samples[row.key]
        reason = _left_out(material, row, samples, protocol)
        if reason:
            left_out.setdefault(reason, []).append(f"{row.github_id}/{row.id}")
        else:
            verdicts = (s.right if protocol == "strict" else bool(s.ml_bench.passed) for s in samples)
            graded.append(Graded(row, tuple(verdicts)))
    return graded, left_out


def _left_out(material: Material, row: Row, samples: Sequence[Sample], protocol: str) -> str:
    if protocol == "ml-bench":
        if any(sample.outcome == "missing" for sample in samples):
            return "not as many samples as declared"
        if material.gold is not None and any(sample.ml_bench.passed is None for sample in samples):
            return "infrastructure"
        return ""
    if material.gold is not None and not material.gold[row.key]["strict"]:
        return "infrastructure" if material.gold[row.key]["strict"] is None else "gold does not pass here"
    return "infrastructure" if any(sample.ungraded for sample in samples) else ""


def _part(
    material: Material, protocol: str, rows: Sequence[Row], graded: Sequence[Graded], release: int
) -> dict[str, Any]:
    gold = None
    if material.gold is not None:
        gold = sum(bool(material.gold[row.key][protocol]) for row in rows)
    part: dict[str, Any] = {"examples": {"release": release, "gold_passes_here": gold, "graded": len(graded)}}
    samples = [sample for row in rows for sample in material.samples[row.key]]
    part["samples"] = len(samples)
    if material.gold is None:
        part["pass_at_k"] = None
        part["shares"] = _shares(samples, protocol)
    else:
        part["pass_at_k"] = {str(k): _pass_at(graded, k, protocol) for k in KS}
        if protocol == "strict":
            all_right = {k: [pass_hat_k(len(item.right), sum(item.right), k) for item in graded] for k in KS}
            part["pass_hat_k"] = {str(k): _mean_of_all(values) for k, values in all_right.items()}
    if protocol == "strict":
        part["outcomes"] = dict(sorted(Counter(sample.outcome for sample in samples).items()))
        part["errors"] = dict(Counter(sample.cause.error_class for sample in samples if sample.cause).most_common())
    else:
        part["rules"] = dict(sorted(Counter(_rule(sample) for sample in samples).items()))
    return part


def _rule(sample: Sample) -> str:
    verdict = sample.ml_bench
    word = {True: "passed", False: "failed", None: "no verdict"}[verdict.passed]
    return f"{word}: {verdict.rule}" if verdict.rule else word


def _pass_at(graded: Sequence[Graded], k: int, protocol: str) -> dict[str, Any]:
    if protocol == "strict":
        values = [pass_at_k(len(item.right), sum(item.right), k) for item in graded]
    else:
        values = [first_k(item.right, k) for item in graded]
    return _summary(graded, values)


def _summary(graded: Sequence[Graded], values: Sequence[Fraction | None]) -> dict[str, Any]:
    """Mean with intervals over tasks and over repositories; no mean unless every example has a value."""
    known = [(item, value) for item, value in zip(graded, values, strict=True) if value is not None]
    over_known = mean([value for _item, value in known])
    if over_known is None or len(known) < len(values):
        entry: dict[str, Any] = {"value": None, "low": None, "high": None}
        if over_known is not None:
            entry["where_defined"] = {"value": float(over_known), "examples": len(known)}
        return entry
    floats = [float(value) for _item, value in known]
    low, high = clustered_interval(floats, [item.row.task for item, _value in known]) or (None, None)
    entry = {"value": float(over_known), "low": low, "high": high}
    over_repositories = clustered_interval(floats, [item.row.github_id for item, _value in known])
    if over_repositories:
        entry["over_repositories"] = dict(zip(("low", "high"), over_repositories, strict=True))
    return entry


def _mean_of_all(values: Sequence[Fraction | None]) -> float | None:
    known = [value for value in values if value is not None]
    average = mean(known) if len(known) == len(values) else None
    return None if average is None else float(average)


def _shares(samples: Sequence[Sample], protocol: str) -> dict[str, float | None]:
    """Share of the samples that pass each check, in the order of the checks; a missing sample passes none."""
    if not samples:
        return {}
    if protocol == "ml-bench":
        checks = {
            "arguments": [s.ml_bench.rule not in ("missing", "arguments") for s in samples],
            "type": [s.ml_bench.rule not in ("missing", "arguments", "type") for s in samples],
        }
    else:
        checks = {
            "given": [s.outcome != "missing" for s in samples],
            "code": [s.outcome not in ("missing", "no_code") for s in samples],
            "type": [s.outcome not in ("missing", "no_code", "wrong_type") for s in samples],
            "arguments": [s.outcome == NOT_EXECUTED for s in samples],
        }
    return {name: sum(passes) / len(samples) for name, passes in checks.items()}


def differences(material: Material) -> list[dict[str, Any]]:
    """The samples on which the two protocols differ; without execution, those on whose text they differ."""
    return [
        {
            "github_id": row.github_id,
            "id": row.id,
            "sample": sample.index,
            "strict": sample.outcome,
            "strict_detail": sample.detail,
            "ml_bench": {"passed": sample.ml_bench.passed, "rule": sample.ml_bench.rule},
        }
        for row in material.rows
        for sample in material.samples[row.key]
        if _differ(sample, executed=material.gold is not None)
    ]


def _differ(sample: Sample, *, executed: bool) -> bool:
    if not executed:
        return (sample.outcome == NOT_EXECUTED) != (sample.ml_bench.rule is None)
    if sample.ungraded or sample.ml_bench.passed is None:
        return False
    return sample.right != sample.ml_bench.passed
