"""``annotate agreement``: the archive's judgements compared field by field, as tables, JSON and a page with plots."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal, InvalidOperation
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import BenchwrightError, require_extra
from ..core.files import atomic_write
from ..core.models import Annotation
from ..core.workspace import Workspace
from .acceptance import judgements
from .agreement import Estimate, by_annotator, cohen_kappa, estimate, krippendorff_alpha, percent_agreement
from .projects import ADJUDICATION

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FIELDS", "AgreementReport", "agreement", "figure", "same_script", "write_page"]

FIELDS = ("verdict", "type", "scope", "flags", "argument names", "argument values", "script", "instruction")
PRETTY = {"percent": "percent agreement", "kappa": "Cohen's kappa", "alpha": "Krippendorff's alpha"}


@dataclass
class AgreementReport:
    """Agreement over the candidates that two or more people judged; adjudications and gold are left out."""

    candidates: int
    annotators: list[str]
    fields: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    """Field -> statistic (percent, kappa, alpha) -> estimate."""
    repositories: dict[str, dict[str, float | None]] = field(default_factory=dict)
    """Repository -> field -> alpha; ``candidates`` counts them."""
    people: dict[str, dict[str, float | None]] = field(default_factory=dict)
    """Pseudonym -> field -> share of pairs with others that agree; ``candidates`` counts them."""

    def table(self) -> pd.DataFrame:
        """A row for each field: the three statistics, each with the bounds of its interval."""
        import pandas as pd

        rows = [
            {"field": name, **{f"{stat}_{part}": getattr(e, part) for stat, e in stats.items() for part in PARTS}}
            for name, stats in self.fields.items()
        ]
        return pd.DataFrame(rows).set_index("field")

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """The table for people, each figure with its interval."""
        lines = [[name, *(_with_interval(stats[stat]) for stat in PRETTY)] for name, stats in self.fields.items()]
        return ["field", *PRETTY.values()], lines

    def value(self) -> dict[str, Any]:
        """The report as plain values, for ``--json``."""
        fields = {n: {s: e.model_dump() for s, e in stats.items()} for n, stats in self.fields.items()}
        return {**asdict(self), "fields": fields}


PARTS = ("value", "low", "high")


def _with_interval(found: Estimate) -> str:
    bounds = "" if found.low is None else f" [{figure(found.low)}, {figure(found.high)}]"
    return figure(found.value) + bounds


def agreement(workspace: Workspace) -> AgreementReport:
    """Compare all judgements in the archive.

    Raises:
        BenchwrightError: no candidate was judged by two people.
        PrerequisiteError: pandas is not installed.
    """
    require_extra("annotation", "pandas")
    shared = {}
    for candidate, judged in judgements(workspace).items():
        people = {a.annotator: a for a in judged if a.verdict and not a.project.endswith(ADJUDICATION)}
        if len(people) > 1:
            shared[candidate] = people
    if not shared:
        raise BenchwrightError(
            "no candidate was judged by two people yet",
            where=str(workspace.annotations_dir),
            remedy="benchwright annotate push --annotators A,B --overlap 2, later benchwright annotate pull",
        )
    report = AgreementReport(len(shared), sorted({name for people in shared.values() for name in people}))
    statistics = {"percent": percent_agreement, "kappa": cohen_kappa, "alpha": krippendorff_alpha}
    units = {name: _units(shared, name) for name in FIELDS}
    for name in FIELDS:
        report.fields[name] = {stat: estimate(function, units[name]) for stat, function in statistics.items()}
    for repository in sorted({candidate.rpartition("-")[0] for candidate in shared}):
        own = {key: people for key, people in shared.items() if key.rpartition("-")[0] == repository}
        alphas = {name: krippendorff_alpha(_units(own, name)) for name in FIELDS}
        report.repositories[repository] = {"candidates": len(own), **alphas}
    for name in FIELDS:
        for person, (count, share) in by_annotator(units[name]).items():
            report.people.setdefault(person, {"candidates": 0})
            if name == "verdict":
                report.people[person]["candidates"] = count
            report.people[person][name] = share
    return report


def _units(shared: Mapping[str, Mapping[str, Annotation]], name: str) -> list[dict[str, Hashable]]:
    """What each said in one field; whoever rejects a candidate need not fill in the rest, and is left out there."""
    return [
        {who: _value(a, name) for who, a in people.items() if name in ("verdict", "flags") or a.verdict != "reject"}
        for people in shared.values()
    ]


def _value(annotation: Annotation, name: str) -> Hashable:
    """A value that is equal exactly where two annotators mean the same."""
    match name:
        case "verdict":
            return annotation.verdict
        case "type":
            return annotation.type
        case "scope":
            return annotation.oracle_scope
        case "flags":
            return frozenset(annotation.flags)
        case "argument names":
            return frozenset(annotation.arguments)
        case "argument values":
            return frozenset((key, _canonical(value)) for key, value in annotation.arguments.items())
        case "script":
            return _script(annotation)
        case _:
            return " ".join(re.findall(r"[\w.]+", annotation.instruction.casefold()))


def _canonical(value: Any) -> str:
    """0.001, "1e-3" and "0.0010" are one value; everything else is compared as it stands."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return str(Decimal(str(value)).normalize())
        except InvalidOperation:
            return str(value)
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def same_script(one: Annotation, two: Annotation) -> bool:
    """True where the scripts differ at most in layout, quotes, comments and the order of ``--name value`` options."""
    return _script(one) == _script(two)


def _script(annotation: Annotation) -> Hashable:
    text = annotation.output
    try:
        if annotation.type == "Python Code":
            return ast.dump(ast.parse(text))
        joined = re.sub(r"\\\n", " ", text)
        return tuple(
            _command(line) for line in joined.splitlines() if line.strip() and not line.strip().startswith("#")
        )
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return " ".join(text.split())


def _command(line: str) -> Hashable:
    """A command's words before its options, and its options with their values in any order."""
    words = shlex.split(line, comments=True)
    first = next((i for i, word in enumerate(words) if word.startswith("--")), len(words))
    options: list[list[str]] = []
    for word in words[first:]:
        if word.startswith("-") and not _is_number(word):
            options.append(list(word.split("=", 1)) if word.startswith("--") else [word])
        else:
            options[-1].append(word)
    return tuple(words[:first]), tuple(sorted(tuple(_canonical(word) for word in option) for option in options))


def _is_number(word: str) -> bool:
    return re.fullmatch(r"-[\d.]+(e[+-]?\d+)?", word) is not None


# the page ----------------------------------------------------------------------------------------------------


def write_page(report: AgreementReport, path: Path, title: str) -> None:
    """Write the report as one HTML file with plots, which needs nothing else."""
    plots = "".join(f"<h2>{escape(PRETTY[stat])}</h2>{_plot(report, stat)}" for stat in PRETTY)
    tables = _html_table("By repository (alpha)", report.repositories) + _html_table(
        "By annotator (share of pairs with others that agree)", report.people
    )
    lead = (
        f"{report.candidates} candidates judged by two or more of {len(report.annotators)} annotators. Bars are 95 % "
        "bootstrap intervals over candidates. Kappa is given for two annotators only; no value means that the "
        "statistic is not defined, as where all say the same."
    )
    atomic_write(path, PAGE.format(title=escape(title), lead=lead, body=plots + tables))


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}: agreement</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }}
table {{ border-collapse: collapse; margin: 1rem 0; font-size: 14px; }}
td, th {{ border: 1px solid #ccc; padding: 3px 9px; text-align: right; }} td:first-child, th {{ text-align: left; }}
svg text {{ font: 13px system-ui, sans-serif; fill: #222; }}
</style></head><body><h1>{title}: agreement</h1><p>{lead}</p>{body}</body></html>
"""


def _plot(report: AgreementReport, stat: str) -> str:
    """Each field's value as a dot with its interval, from -1 (or 0) to 1."""
    left, width, row = 150, 560, 30
    start = 0.0 if stat == "percent" else min(0.0, *(e[stat].low or 0.0 for e in report.fields.values()))
    height = row * len(report.fields) + 40

    def x(value: float) -> float:
        return left + (value - start) / (1 - start) * width

    parts = []
    for tick in sorted({start, 0.0, 0.25, 0.5, 0.75, 1.0}):
        parts.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="8" y2="{height - 26}" stroke="#ddd"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="{height - 8}" text-anchor="middle">{tick:.2f}</text>')
    for index, (name, stats) in enumerate(report.fields.items()):
        y, shown = row * index + 24, stats[stat]
        parts.append(f'<text x="{left - 12}" y="{y + 4}" text-anchor="end">{escape(name)}</text>')
        if shown.value is None:
            parts.append(f'<text x="{left + 6}" y="{y + 4}" opacity=".6">not defined</text>')
            continue
        if shown.low is not None and shown.high is not None:
            ends = f'x1="{x(shown.low):.1f}" x2="{x(shown.high):.1f}" y1="{y}" y2="{y}"'
            parts.append(f'<line {ends} stroke="#4a7fb5" stroke-width="5" opacity=".45"/>')
        parts.append(f'<circle cx="{x(shown.value):.1f}" cy="{y}" r="5" fill="#1f5f9e"/>')
        parts.append(f'<text x="{left + width + 14}" y="{y + 4}">{shown.value:.2f}</text>')
    return f'<svg viewBox="0 0 {left + width + 70} {height}" width="100%" role="img">{"".join(parts)}</svg>'


def _html_table(title: str, rows: Mapping[str, Mapping[str, float | None]]) -> str:
    columns = ("candidates", *FIELDS)
    head = "".join(f"<th>{escape(column)}</th>" for column in ("", *columns))
    body = "".join(
        f"<tr><td>{escape(name)}</td>{''.join(f'<td>{figure(row.get(column))}</td>' for column in columns)}</tr>"
        for name, row in rows.items()
    )
    return f"<h2>{escape(title)}</h2><table><tr>{head}</tr>{body}</table>"


def figure(value: float | None) -> str:
    """A statistic with two decimals, a count without, a dash where it is not defined."""
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.2f}"
