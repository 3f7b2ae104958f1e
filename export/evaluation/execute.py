"""Executing what an evaluation needs: the published outputs first, then the samples; each distinct text once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import BenchwrightError
from ...core.models import Outcome, OutcomeKind
from ...core.progress import Reporter
from ..rows import Key, Row, arguments_of
from . import mlbench
from .evidence import EvidenceFile, job_key
from .predictions import Predictions
from .score import NOT_EXECUTED, Sample, with_outcome
from .settings import Options, Setting, clones_dir

if TYPE_CHECKING:
    from ...validators.execution import Job, Runner

__all__ = ["DEFAULT_SANDBOX", "Gold", "Work", "environment_digests", "execute", "open_runner"]

DEFAULT_SANDBOX = "docker"
"""What the runner uses where none is named."""


@dataclass
class Work:
    """Executions wanted, each once though many samples need it."""

    settings: dict[Key, Setting]
    digests: dict[str, str]
    sandbox: str
    jobs: dict[str, Job] = field(default_factory=dict)
    gold: dict[Key, str] = field(default_factory=dict)
    """Row -> key of the execution of its published output."""
    beside: dict[str, str] = field(default_factory=dict)
    """Key of a sample's execution -> that of the gold beside which it runs."""
    _golden: set[str] = field(default_factory=set)

    def want_gold(self, row: Row) -> None:
        """Ask for the execution of the published output of ``row``."""
        self.gold[row.key] = self._want(row, row.output)
        self._golden.add(self.gold[row.key])

    def want(self, row: Row, code: str) -> str:
        """The key of the execution of ``code`` for ``row``, whose gold was asked for before."""
        key = self._want(row, code)
        if key not in self._golden:
            self.beside.setdefault(key, self.gold[row.key])
        return key

    def _want(self, row: Row, code: str) -> str:
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


@dataclass(frozen=True)
class Gold:
    """What the published output of a row does here."""

    passes: dict[str, bool | None]
    failure: dict[str, Any] | None
    sandbox: str


def execute(
    rows: Sequence[Row],
    predictions: Predictions,
    samples: dict[Key, list[Sample]],
    own: dict[Key, Sample],
    work: Work,
    options: Options,
    folder: Path,
    reporter: Reporter,
) -> tuple[dict[Key, list[Sample]], dict[Key, Gold]]:
    """Execute gold first, then the samples, and judge both; ``own`` is what the text of each gold is worth."""
    evidence = EvidenceFile(folder / "outcomes.jsonl")
    for row in rows:
        work.want_gold(row)
    sample_keys = {
        (sample.key, sample.index): work.want(row, sample.runs)
        for row in rows
        for sample in samples[row.key]
        if sample.runs is not None
    }
    try:
        _run(work, evidence, options, reporter)
    finally:
        evidence.close()
    gold = {row.key: _gold_of(row, own[row.key], _recorded(evidence, work.gold[row.key])) for row in rows}
    judged: dict[Key, list[Sample]] = {}
    for row in rows:
        judged[row.key] = []
        for sample in samples[row.key]:
            key = sample_keys.get((sample.key, sample.index))
            text = predictions.samples[row.key][sample.index]
            if key is not None and text is not None:
                seen = _recorded(evidence, key)
                sample = replace(with_outcome(sample, row, text, seen, evidence.crashes.get(key)), execution=key)
            judged[row.key].append(sample)
    return judged, gold


def _recorded(evidence: EvidenceFile, key: str) -> Outcome:
    if key in evidence.outcomes:
        return evidence.outcomes[key]
    return Outcome(outcome=OutcomeKind.INFRASTRUCTURE, detail="it was not executed")


def _run(work: Work, evidence: EvidenceFile, options: Options, reporter: Reporter) -> None:
    open_jobs = [job for key, job in work.jobs.items() if not evidence.settled(key)]
    if len(open_jobs) < len(work.jobs):
        reporter.say(f"{len(work.jobs) - len(open_jobs)} executions are recorded in {evidence.path}")
    if options.regrade and not evidence.outcomes:
        raise BenchwrightError(
            "there are no recorded executions to judge again", where=str(evidence.path), remedy="leave out --regrade"
        )
    if options.regrade or not open_jobs:
        return
    from ...validators.execution import beside_gold

    with open_runner(options, reporter) as runner, reporter.track("executing", len(open_jobs)) as advance:
        golden = [job for job in open_jobs if job.key not in work.beside]
        samples = (
            beside_gold(job, [_recorded(evidence, work.beside[job.key])]) for job in open_jobs if job.key in work.beside
        )
        for part in (golden, samples):  # all gold has run before the first sample's limit is asked for
            for job, outcome in runner.run(part):
                evidence.add(job.key, outcome)
                advance(f"{job.repository and job.repository.name}: {outcome.outcome.value} {outcome.detail}")


def open_runner(options: Options, reporter: Reporter) -> Runner:
    """A runner as the options want it.

    Raises:
        PrerequisiteError: the sandbox, or the engine, cannot be had.
    """
    from ...validators.execution import open_runner

    return open_runner(
        options.engine,
        options.sandbox,
        options.environments_dir,
        clones_dir(),
        options.mirrors,
        options.workers,
        reporter,
    )


def _gold_of(row: Row, text: Sample, outcome: Outcome) -> Gold:
    """Gold passes where an answer with the same text would: an example that nobody can solve is not graded."""
    published = mlbench.judge(row, arguments_of(row), row.output, outcome)
    refused = text.outcome != NOT_EXECUTED
    unknown = text.ungraded or outcome.outcome is OutcomeKind.INFRASTRUCTURE
    ours = None if unknown else outcome.passed and not refused
    failure = None
    if not ours:
        failure = {
            "github_id": row.github_id,
            "id": row.id,
            "outcome": text.outcome if refused else outcome.outcome.value,
            "detail": f"its own output is refused: {text.detail}" if refused else outcome.detail,
        }
    return Gold({"strict": ours, "ml-bench": published.passed}, failure, outcome.sandbox)


def environment_digests(options: Options, settings: Iterable[Setting], reporter: Reporter) -> dict[str, str]:
    """Environment name -> digest; what is not built yet is built."""
    from ...core.errors import PrerequisiteError
    from ...validators.environments import build, open_system

    digests = {}
    for name in sorted({setting.environment for setting in settings}):
        try:
            system = open_system(options.environments_dir, name)
        except PrerequisiteError:
            build(options.environments_dir, name, reporter, record=False)
            system = open_system(options.environments_dir, name)
        digests[name] = system.digest
    return digests
