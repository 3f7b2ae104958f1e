"""``evaluate --dry-run``: what an evaluation will take, before anything of it is executed.

Comes in: what ``evaluate`` is given, and the folders of earlier runs. Goes out: executions, and the hours that they
take. How long an example's own output runs is read from earlier runs of the same release, whichever model's answers
they were of; a sample is expected to run as long. What an execution costs beside its script is measured here.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import BenchwrightError
from ...core.models import Limits
from ...core.progress import Reporter
from ..dataset import Dataset
from .evidence import EvidenceFile
from .execute import DEFAULT_SANDBOX, Work, open_runner
from .predictions import read_predictions
from .recordings import Recordings
from .run import declared_samples, examined
from .settings import Options, chosen_rows, repository_names, settings_of

if TYPE_CHECKING:
    from ...validators.execution import Job, Runner

__all__ = ["Plan", "plan"]

ROUNDS = 4
"""Empty scripts that each worker runs, to know what an execution costs beside its script."""
LIMITS = Limits(timeout_s=60, memory_bytes=256 << 20)


@dataclass(frozen=True)
class Plan:
    """What an evaluation will take. Seconds are of one worker; ``wall`` is by the clock."""

    examples: int
    samples: int
    executions: int
    """Still to be made: of distinct texts, the examples' own outputs included."""
    recorded: int
    """Made already, in the run's folder."""
    recordings: int
    """Short runs that record what an answer starts."""
    timed: int
    """Executions whose example's own output has a known time."""
    unbuilt: tuple[str, ...]
    """Environments that will be built first; their time is not in the figures."""
    workers: int
    overhead_s: float
    """Of each execution, beside its script."""
    checks_s: float
    """Of reading and checking the answers' text, before the first execution."""
    expected_s: float | None
    """None where no time is known at all; where some are, the others are taken to be like them."""
    wall_s: float | None
    at_most_s: float
    """Every execution runs into its limit."""
    wall_at_most_s: float

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "unbuilt": list(self.unbuilt)}

    def lines(self) -> list[str]:
        """For people."""
        unknown = self.executions - self.timed
        known = f"gold times are known for {self.timed} of them" if self.executions else "nothing is left to execute"
        expected = (
            "expected: not known, because no gold time is (name an earlier run of this release with --times)"
            if self.expected_s is None or self.wall_s is None
            else f"expected: {_hours(self.expected_s)} of one worker, {_hours(self.wall_s)} by the "
            f"clock with {self.workers} workers"
        )
        guessed = f" ({unknown} without a time are taken to be like the others)" if unknown and self.timed else ""
        return [
            f"{self.examples} examples, {self.samples} samples: {self.executions} executions"
            f" and {self.recordings} recordings of calls to make, {self.recorded} executions are recorded",
            f"{known}; each costs {self.overhead_s * 1000:.0f} ms beside its script here",
            expected + guessed,
            f"at most, every one running into its limit: {_hours(self.at_most_s)} of one worker, "
            f"{_hours(self.wall_at_most_s)} by the clock",
            *(f"the environment {name} is not built and will be built first" for name in self.unbuilt),
        ]


def plan(
    dataset: Dataset,
    predictions_path: Path,
    options: Options,
    folder: Path,
    times: Sequence[Path],
    reporter: Reporter,
) -> Plan:
    """What ``evaluate`` with the same options will take. Only empty scripts are executed, to measure.

    ``times``: folders of earlier runs whose times are used beside those of ``folder``.

    Raises:
        BenchwrightError: release, predictions, options or a run are wrong.
        PrerequisiteError: the sandbox cannot be had.
    """
    began = time.monotonic()
    every = list(dataset.rows(dataset.main_split()))
    declared = options.samples if options.samples is not None else declared_samples(predictions_path, reporter)
    predictions = read_predictions(predictions_path, [row.key for row in every], declared)
    names = repository_names(dataset, every)
    rows = chosen_rows(every, names, options)
    settings = settings_of(dataset, rows, names)
    recordings = Recordings(folder)
    samples, _, _ = examined(rows, predictions, settings, options, recordings)
    checks = time.monotonic() - began
    environments = sorted({setting.environment for setting in settings.values()})
    digests = _digests(options, environments)
    work = Work(settings, digests, options.sandbox or DEFAULT_SANDBOX)
    for row in rows:
        work.want_gold(row)
    for row in rows:
        for sample in samples[row.key]:
            if sample.runs is not None:
                work.want(row, sample.runs)
    mine = EvidenceFile(folder / "outcomes.jsonl")
    known = _durations([mine, *(_recorded(run) for run in times)], set(work.gold.values()))
    todo = {key: job for key, job in work.jobs.items() if not mine.settled(key)}
    with open_runner(options, reporter) as runner:
        workers = options.workers or runner.holds(_usual(todo) or Limits())
        overhead = _overhead(runner, workers) if todo else 0.0
    wanted = sum(len(codes) for _, codes in recordings.wanted.values())
    times_of = {key: known.get(work.beside.get(key, key)) for key in todo}
    timed = [seconds for seconds in times_of.values() if seconds is not None]
    mean = sum(timed) / len(timed) if timed else 0.0
    likely = {key: overhead + (mean if seconds is None else seconds) for key, seconds in times_of.items()}
    longest = {key: overhead + _longest(job, times_of[key]) for key, job in todo.items()}

    def clock(seconds: Mapping[str, float]) -> float:
        golden = [s for key, s in seconds.items() if key not in work.beside]
        sampled = [s for key, s in seconds.items() if key in work.beside]
        return checks + sum(_makespan(part, workers) for part in ([overhead] * wanted, golden, sampled))

    blind = bool(todo) and not timed
    return Plan(
        examples=len(rows),
        samples=sum(map(len, samples.values())),
        executions=len(todo),
        recorded=len(work.jobs) - len(todo),
        recordings=wanted,
        timed=len(timed),
        unbuilt=tuple(name for name in environments if not digests[name]),
        workers=workers,
        overhead_s=overhead,
        checks_s=checks,
        expected_s=None if blind else wanted * overhead + sum(likely.values()),
        wall_s=None if blind else clock(likely),
        at_most_s=wanted * overhead + sum(longest.values()),
        wall_at_most_s=clock(longest),
    )


def _digests(options: Options, environments: Sequence[str]) -> dict[str, str]:
    """Environment -> digest; empty where it is not built."""
    from ...core.errors import PrerequisiteError
    from ...validators.environments import open_system

    digests = {}
    for name in environments:
        try:
            digests[name] = open_system(options.environments_dir, name).digest
        except PrerequisiteError:
            digests[name] = ""
    return digests


def _recorded(run: Path) -> EvidenceFile:
    path = run / "outcomes.jsonl"
    if not path.is_file():
        raise BenchwrightError(
            "it is no folder of an executed run", where=str(run), remedy="name what evaluate -o wrote"
        )
    return EvidenceFile(path)


def _durations(files: Sequence[EvidenceFile], gold: set[str]) -> Mapping[str, float]:
    """Key of a gold execution -> seconds that it took, in the last file that tells."""
    return {key: file.outcomes[key].duration_s for file in files for key in gold if file.settled(key)}


def _makespan(seconds: Sequence[float], workers: int) -> float:
    """How long it takes until all are done, each by the worker that is free first."""
    free = [0.0] * workers
    for much in seconds:
        heapq.heapreplace(free, free[0] + much)
    return max(free)


def _longest(job: Job, gold_s: float | None) -> float:
    from ...core.models import Outcome, OutcomeKind
    from ...validators.execution import beside_gold

    if gold_s is None:
        return job.limits.timeout_s
    took = Outcome(outcome=OutcomeKind.PASSED, duration_s=gold_s)
    return beside_gold(job, [took]).limits.timeout_s


def _usual(jobs: Mapping[str, Job]) -> Limits | None:
    """The limits that most executions have."""
    counts: dict[Limits, int] = {}
    for job in jobs.values():
        counts[job.limits] = counts.get(job.limits, 0) + 1
    return max(counts, key=lambda limits: counts[limits]) if counts else None


def _overhead(runner: Runner, workers: int) -> float:
    """Seconds of a worker for an execution of nothing, with all workers busy."""
    from ...validators.execution import Job

    empty = [Job(str(number), "true", "Bash Script", limits=LIMITS) for number in range(workers)]
    list(runner.run(empty))  # the sandboxes are made before the clock starts
    many = [replace(job, key=f"{job.key} {turn}") for turn in range(ROUNDS) for job in empty]
    began = time.monotonic()
    list(runner.run(many))
    return (time.monotonic() - began) / ROUNDS


def _hours(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
