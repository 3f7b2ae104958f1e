"""``evaluate``: predictions and a release in, ``results.jsonl`` and ``report.json`` out."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core import toolkit_version
from ...core.errors import BenchwrightError
from ...core.files import atomic_write
from ...core.models import Outcome, OutcomeKind
from ...core.progress import Reporter
from ...core.workspace import cache_dir
from ..rows import Key, Row, arguments_of
from ..sources import Dataset
from . import mlbench
from .evidence import EvidenceFile, job_key
from .metrics import DRAWS, LEVEL, SEED
from .predictions import VARYING, Predictions, read_predictions
from .score import Sample, examine, with_outcome
from .scores import PROTOCOLS, Material, differences, protocol_report
from .settings import Setting, repository_names, settings_of

if TYPE_CHECKING:
    from ...validators.execution import Job

__all__ = ["Evaluation", "Options", "evaluate"]

REPORT_VERSION = 1
DEFAULT_SANDBOX = "docker"
"""What the runner uses where none is named."""


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    protocol: str = "strict"
    """The headline; both are computed."""
    samples: int | str | None = None
    execute: bool = True
    regrade: bool = False
    """Judge recorded executions again; execute nothing."""
    limit: int | None = None
    sandbox: str | None = None
    workers: int = 1
    environments_dir: Path | None = None
    mirrors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evaluation:
    """A finished evaluation."""

    folder: Path
    report: dict[str, Any]
    ungraded: int
    """Samples, and gold outputs, that the machine kept from a verdict."""


@dataclass
class _Work:
    """Executions wanted, each once though many samples need it."""

    settings: dict[Key, Setting]
    digests: dict[str, str]
    sandbox: str
    jobs: dict[str, Job] = field(default_factory=dict)

    def want(self, row: Row, code: str) -> str:
        """The key of the execution of ``code`` for ``row``."""
        from ...validators.execution import Job

        setting = self.settings[row.key]
        digest = self.digests[setting.environment]
        key = job_key(code, row.type, row.path, row.prefix_code, setting, digest, self.sandbox)
        if key not in self.jobs:
            self.jobs[key] = Job(
                key=key,
                code=code,
                type=row.type,
                path=row.path,
                prefix_code=row.prefix_code,
                repository=setting.repository,
                environment=setting.environment,
                limits=setting.limits,
                network=setting.network,
            )
        return key


def evaluate(
    dataset: Dataset, predictions_path: Path, options: Options, folder: Path, reporter: Reporter
) -> Evaluation:
    """Score the predictions and write ``results.jsonl``, ``report.json`` and, when executing, ``outcomes.jsonl``.

    Executions recorded in ``folder`` are not repeated, but for those that the machine spoilt.

    Raises:
        BenchwrightError: release, predictions or options are wrong; nothing is executed then.
        PrerequisiteError: the sandbox or an environment cannot be had.
    """
    started = time.monotonic()
    if options.protocol not in PROTOCOLS:
        raise BenchwrightError(f"there is no protocol {options.protocol!r}", remedy=f"use {' or '.join(PROTOCOLS)}")
    every = list(dataset.rows(dataset.main_split()))
    predictions = read_predictions(predictions_path, [row.key for row in every], options.samples)
    rows = every if options.limit is None else every[: options.limit]
    names = repository_names(dataset, rows)
    samples = {row.key: [examine(row, i, text) for i, text in enumerate(predictions.samples[row.key])] for row in rows}
    gold: dict[Key, _Gold] | None = None
    environments: dict[str, str] = {}
    if options.execute:
        settings = settings_of(dataset, rows, names)
        environments = _environment_digests(options, settings.values(), reporter)
        work = _Work(settings, environments, options.sandbox or DEFAULT_SANDBOX)
        samples, gold = _executed(rows, predictions, samples, work, options, folder, reporter)
    passes = None if gold is None else {key: item.passes for key, item in gold.items()}
    material = Material(rows, names, len(every), samples, passes, predictions.declared)
    report = {
        "schema_version": REPORT_VERSION,
        "headline": options.protocol,
        "protocols": {name: protocol_report(material, name) for name in PROTOCOLS},
        "gold_fails_here": [] if gold is None else [g.failure for g in gold.values() if g.failure],
        "differences": differences(material),
        "provenance": _provenance(dataset, predictions, options, environments, gold, started),
    }
    lines = [json.dumps(s.line(), ensure_ascii=False) for row in rows for s in samples[row.key]]
    atomic_write(folder / "results.jsonl", "".join(f"{line}\n" for line in lines))
    atomic_write(folder / "report.json", json.dumps(report, ensure_ascii=False, indent=2) + "\n")
    ungraded = sum(sample.ungraded for some in samples.values() for sample in some)
    ungraded += sum(g.passes["strict"] is None for g in (gold or {}).values())
    return Evaluation(folder, report, ungraded)


# execution -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Gold:
    """What the published output of a row does here."""

    passes: dict[str, bool | None]
    failure: dict[str, Any] | None
    sandbox: str


def _executed(
    rows: Sequence[Row],
    predictions: Predictions,
    samples: dict[Key, list[Sample]],
    work: _Work,
    options: Options,
    folder: Path,
    reporter: Reporter,
) -> tuple[dict[Key, list[Sample]], dict[Key, _Gold]]:
    """Execute gold first, then the samples, and judge both."""
    evidence = EvidenceFile(folder / "outcomes.jsonl")
    gold_keys = {row.key: work.want(row, row.output) for row in rows}
    sample_keys = {
        (sample.key, sample.index): work.want(row, sample.runs)
        for row in rows
        for sample in samples[row.key]
        if sample.runs is not None
    }
    _run(work, evidence, options, reporter)
    gold = {row.key: _gold_of(row, _recorded(evidence, gold_keys[row.key])) for row in rows}
    judged: dict[Key, list[Sample]] = {}
    for row in rows:
        judged[row.key] = []
        for sample in samples[row.key]:
            key = sample_keys.get((sample.key, sample.index))
            text = predictions.samples[row.key][sample.index]
            if key is not None and text is not None:
                sample = with_outcome(sample, row, text, _recorded(evidence, key))
            judged[row.key].append(sample)
    return judged, gold


def _recorded(evidence: EvidenceFile, key: str) -> Outcome:
    if key in evidence.outcomes:
        return evidence.outcomes[key]
    return Outcome(outcome=OutcomeKind.INFRASTRUCTURE, detail="it was not executed")


def _run(work: _Work, evidence: EvidenceFile, options: Options, reporter: Reporter) -> None:
    open_jobs = [job for key, job in work.jobs.items() if not evidence.settled(key)]
    if len(open_jobs) < len(work.jobs):
        reporter.say(f"{len(work.jobs) - len(open_jobs)} executions are recorded in {evidence.path}")
    if options.regrade or not open_jobs:
        return
    from ...validators.execution import Runner

    with (
        Runner(
            sandbox=options.sandbox,
            environments_dir=options.environments_dir,
            clones_dir=cache_dir() / "repositories",
            mirrors=options.mirrors,
            workers=options.workers,
            reporter=reporter,
        ) as runner,
        reporter.track("executing", len(open_jobs)) as advance,
    ):
        for job, outcome in runner.run(open_jobs):
            evidence.add(job.key, outcome)
            advance(f"{job.repository and job.repository.name}: {outcome.outcome.value} {outcome.detail}")


def _gold_of(row: Row, outcome: Outcome) -> _Gold:
    published = mlbench.judge(row, arguments_of(row), row.output, outcome)
    ours = None if outcome.outcome is OutcomeKind.INFRASTRUCTURE else outcome.passed
    failure = None
    if not ours:
        failure = {
            "github_id": row.github_id,
            "id": row.id,
            "outcome": outcome.outcome.value,
            "detail": outcome.detail,
        }
    return _Gold({"strict": ours, "ml-bench": published.passed}, failure, outcome.sandbox)


def _environment_digests(options: Options, settings: Iterable[Setting], reporter: Reporter) -> dict[str, str]:
    """Environment name -> digest; what is not built yet is built."""
    from ...core.errors import PrerequisiteError
    from ...validators.environments import build, open_system

    digests = {}
    for name in sorted({setting.environment for setting in settings}):
        try:
            system = open_system(options.environments_dir, name)
        except PrerequisiteError:
            build(options.environments_dir, name, reporter)
            system = open_system(options.environments_dir, name)
        digests[name] = system.digest
    return digests


# provenance ------------------------------------------------------------------------------------------------


def _provenance(
    dataset: Dataset,
    predictions: Predictions,
    options: Options,
    environments: dict[str, str],
    gold: dict[Key, _Gold] | None,
    started: float,
) -> dict[str, Any]:
    sandboxes = sorted({g.sandbox for g in (gold or {}).values() if g.sandbox})
    return {
        "toolkit": toolkit_version(),
        "release": {
            "name": Path(dataset.name).name if Path(dataset.name).exists() else dataset.name,
            "revision": dataset.revision,
            "data_sha256": dataset.digest(),
        },
        "predictions": {
            "sha256": predictions.digest,
            "samples": VARYING if predictions.declared is None else predictions.declared,
            "ignored_samples": predictions.ignored,
        },
        "executed": options.execute,
        "limit": options.limit,
        "checks": {"code": True, "type": True, "arguments": "none"},
        "sandbox": sandboxes,
        "environments": environments,
        "intervals": {"method": "percentile bootstrap over tasks", "level": LEVEL, "draws": DRAWS, "seed": SEED},
        "machine": {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "duration_s": round(time.monotonic() - started, 3),
            "platform": platform.platform(),
            "python": platform.python_version(),
            "cpus": os.cpu_count(),
            "workers": options.workers,
        },
    }
