"""``validate``: every example's own output is run, its controls are made, and what happened is recorded as evidence.

Comes in: a workspace and task names. Goes out: lines appended to ``evidence.jsonl``, each bound by a digest to all that
was run or checked, and a report. The evidence is also what makes it resumable: a run or check that has its line is not
made again, so killed at any moment and started anew it ends where an undisturbed one would.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from ..core import toolkit_version
from ..core.errors import BenchwrightError
from ..core.models import Evidence, Example, Limits, Outcome, OutcomeKind
from ..core.progress import Reporter
from ..core.tasks import TaskFolder, append_evidence, load_tasks, read_evidence
from ..core.workspace import Workspace
from .controls import (
    Standing,
    State,
    check_digest,
    count_states,
    example_job,
    no_op_digest,
    no_op_job,
    run_digest,
    standing_of,
)
from .controls.checking import Checked, check_controls
from .execution import Job, Runner, beside_gold, open_runner, run_file
from .outcomes import POLICY
from .recipes import STANDARD

__all__ = ["ExampleReport", "Report", "run_one", "validate"]

Control = Literal["gold", "no_op", "near_miss"]


@dataclass(frozen=True)
class ExampleReport:
    """What is known of one example: the outcomes of its runs with the digest that holds now, and where it stands."""

    task: str
    example: int
    outcomes: tuple[Outcome, ...]
    wanted: int
    standing: Standing

    @property
    def verdict(self) -> str:
        """``passed`` only where every run asked for was made and passed; ``flaky`` where only some did."""
        kinds = {outcome.outcome for outcome in self.outcomes}
        if OutcomeKind.INFRASTRUCTURE in kinds or len(self.outcomes) < self.wanted:
            return OutcomeKind.INFRASTRUCTURE.value
        if len(kinds) == 1:
            return next(iter(kinds)).value
        return "flaky" if OutcomeKind.PASSED in kinds else next(o.outcome.value for o in self.outcomes)

    @property
    def detail(self) -> str:
        return next((outcome.detail for outcome in self.outcomes if not outcome.passed), "")

    @property
    def right(self) -> bool:
        """Whether all that was asked for came out as it must; more runs may be needed before it is verified."""
        return self.verdict == OutcomeKind.PASSED and self.standing.state in (State.VERIFIED, State.UNVERIFIED)

    def as_json(self) -> dict[str, Any]:
        standing = self.standing
        return {
            "task": self.task,
            "example": self.example,
            "verdict": self.verdict,
            "outcomes": [outcome.outcome.value for outcome in self.outcomes],
            "detail": self.detail,
            "state": standing.state.value,
            "why": standing.why,
            "no_op": standing.no_op and standing.no_op.held,
            "near_miss": standing.near_miss and standing.near_miss.held,
            "varied": list(standing.near_miss.varied) if standing.near_miss else [],
        }


@dataclass(frozen=True)
class Report:
    """The result of a validation."""

    examples: tuple[ExampleReport, ...]
    executed: int
    """Runs made now; the others had their evidence already."""
    checked: int
    """Examples whose controls were checked now, because their text, arguments or the toolkit changed."""
    reused: int
    """Runs whose evidence held."""

    @property
    def counts(self) -> Mapping[str, int]:
        return Counter(item.verdict for item in self.examples)

    @property
    def states(self) -> Mapping[State, int]:
        return Counter(item.standing.state for item in self.examples)

    @property
    def exit_code(self) -> int:
        """0 where all passed and every control held, 2 where the infrastructure kept something from being known."""
        if self.counts.get(OutcomeKind.INFRASTRUCTURE):
            return 2
        return 0 if all(item.right for item in self.examples) else 1

    def as_json(self) -> dict[str, Any]:
        return {
            "examples": [item.as_json() for item in self.examples],
            "counts": dict(self.counts),
            "states": {state.value: number for state, number in self.states.items()},
            "executed": self.executed,
            "checked": self.checked,
            "reused": self.reused,
        }

    def lines(self) -> list[str]:
        """For people: what did not pass or hold, then the counts."""
        shown = []
        for item in self.examples:
            if item.verdict != OutcomeKind.PASSED:
                shown.append(f"{item.verdict:16} {item.task} example {item.example}: {item.detail}")
            elif not item.standing.verified:
                shown.append(f"{item.standing.state.value:16} {item.task} example {item.example}: {item.standing.why}")
        counts = ", ".join(f"{number} {verdict}" for verdict, number in sorted(self.counts.items()))
        return [
            *shown,
            f"{len(self.examples)} examples: {counts or 'none'}; {self.executed} runs were made now",
            f"{count_states(self.states) or 'none'}; {self.reused} runs had their evidence, "
            f"the controls of {self.checked} examples were checked now",
        ]


def _lines(folder: Path) -> Sequence[Evidence]:
    path = folder / "evidence.jsonl"
    if not path.exists():
        return ()
    status = path.stat()
    return _lines_of(folder, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=256)
def _lines_of(folder: Path, size: int, changed_at: int) -> Sequence[Evidence]:
    """Evidence read once for each state of the file."""
    return read_evidence(folder)


@dataclass(frozen=True, eq=False)
class _Item:
    """One example with all that its evidence depends on."""

    folder: TaskFolder
    example: Example
    job: Job
    environment_digest: str
    sandbox: str

    @property
    def name(self) -> str:
        return f"{self.folder.task.id} example {self.example.id}"

    def evidence(self, control: Control, digest: str) -> list[Evidence]:
        """Lines recorded for just this."""
        return [
            line
            for line in _lines(self.folder.folder)
            if (line.control, line.example_id, line.digest) == (control, self.example.id, digest)
        ]

    @property
    def gold(self) -> list[Evidence]:
        """Recorded runs of what stands now, in this kind of sandbox."""
        digest = run_digest(self.job, self.environment_digest)
        return [line for line in self.evidence("gold", digest) if line.outcome.sandbox == self.sandbox]

    def checked(self, control: Control) -> bool:
        """Whether this toolkit has a verdict on the control already."""
        lines = self.evidence(control, self.digest_of(control))
        return bool(lines) and lines[-1].toolkit_version == toolkit_version()

    def digest_of(self, control: Control) -> str:
        match control:
            case "gold":
                return run_digest(self.job, self.environment_digest)
            case "no_op":
                return no_op_digest(self.job, self.example, self.environment_digest)
            case _:
                return check_digest(self.job, self.example)


@dataclass(frozen=True)
class _Run:
    """One run to be made."""

    item: _Item
    control: Control
    job: Job
    name: str


_Spoilt = dict[_Item, list[Outcome]]
"""What the infrastructure kept from being known."""


def validate(
    workspace: Workspace,
    task_ids: Sequence[str] = (),
    repeat: int | None = None,
    *,
    sandbox: str | None = None,
    engine: str = "local",
    jobs: int | None = 1,
    mirrors: Sequence[str] = (),
    reporter: Reporter | None = None,
) -> Report:
    """Make each example's controls, and run its output until ``repeat`` lines of evidence have the digest of now.

    ``repeat``: None for as many as the workspace wants of a verified example. Evidence from another kind of sandbox is
    not counted. What the infrastructure spoilt is reported, not recorded.

    Raises:
        PrerequisiteError: the sandbox cannot be had, or an environment is not built.
        BenchwrightError: a task is wrong, or one named is not there.
    """
    reporter = reporter or Reporter(quiet=True)
    wanted = workspace.config.repeat if repeat is None else repeat
    folders = load_tasks(workspace, task_ids)
    spoilt: _Spoilt = {}
    with open_runner(
        engine, sandbox, workspace.environments_dir, workspace.clones_dir, mirrors, jobs, reporter
    ) as runner:
        items = list(_items(workspace, folders, runner))
        had = sum(len(item.gold[:wanted]) for item in items)
        runs = [run for item in items for run in _runs(item, wanted)]
        executed = _execute(workspace, runner, runs, wanted, spoilt, reporter)
        todo = [item for item in items if not all(map(item.checked, _without_run(item)))]
        checked = _check(workspace, runner, todo, mirrors, spoilt, reporter)
    reports = tuple(_reported(workspace, item, wanted, spoilt) for item in items)
    return Report(reports, executed, checked, had)


def _items(workspace: Workspace, folders: Sequence[TaskFolder], runner: Runner) -> Iterator[_Item]:
    registered = {repository.name: repository for repository in workspace.repositories()}
    for folder in folders:
        for example in folder.examples:
            if example.yanked is None:
                job = example_job(workspace, folder, example, registered.get(folder.task.repository.name))
                yield _Item(folder, example, job, runner.environment_digest(job.environment), runner.sandbox)


def _runs(item: _Item, wanted: int) -> Iterator[_Run]:
    """What is still to be run of an example."""
    for number in range(len(item.gold), wanted):
        yield _Run(item, "gold", item.job, f"{item.name} run {number + 1}")
    nothing = no_op_job(item.job)
    if nothing is not None and not item.evidence("no_op", item.digest_of("no_op")):
        yield _Run(item, "no_op", nothing, f"{item.name} no-op")


def _without_run(item: _Item) -> tuple[Control, ...]:
    """The controls that the check of arguments alone decides."""
    return ("near_miss", "no_op") if no_op_job(item.job) is None else ("near_miss",)


def _execute(
    workspace: Workspace, runner: Runner, runs: Sequence[_Run], wanted: int, spoilt: _Spoilt, reporter: Reporter
) -> int:
    """Make the runs; how many were recorded."""
    by_key = {f"{number} {run.name}": run for number, run in enumerate(runs)}
    recorded = 0
    gold: defaultdict[_Item, list[Outcome]] = defaultdict(list)  # made now, on this machine
    jobs = (replace(beside_gold(run.job, gold[run.item]), key=key) for key, run in by_key.items())
    with reporter.track("validate", len(runs)) as advance:
        for job, outcome in runner.run(jobs):
            run = by_key[job.key]
            if run.control == "gold":
                gold[run.item].append(outcome)
            if POLICY[outcome.outcome].counted:
                held = None if run.control == "gold" else not outcome.passed
                most = wanted if run.control == "gold" else 1
                _record(workspace, run.item, run.control, outcome, held, most=most)
                recorded += 1
            else:
                spoilt.setdefault(run.item, []).append(outcome)
            advance(f"{run.name}: {outcome.outcome.value}")
    return recorded


def _check(
    workspace: Workspace,
    runner: Runner,
    items: Sequence[_Item],
    mirrors: Sequence[str],
    spoilt: _Spoilt,
    reporter: Reporter,
) -> int:
    """Check the controls that need no run; how many examples' were recorded."""
    recorded = 0
    by_job = {item.job.key: item for item in items}
    pairs = [(item.job, item.example.arguments) for item in items]
    with reporter.track("checking controls", len(items)) as advance:
        for job, found in check_controls(pairs, runner, workspace.clones_dir, mirrors):
            item = by_job[job.key]
            if isinstance(found, Checked):
                if "no_op" in _without_run(item):
                    _record(workspace, item, "no_op", _said(found.no_op, runner), found.no_op_held)
                _record(workspace, item, "near_miss", _said(found.near, runner), found.near_held, found.varied)
                recorded += 1
            else:
                failed = Outcome(outcome=OutcomeKind.INFRASTRUCTURE, detail=found, sandbox=runner.sandbox)
                spoilt.setdefault(item, []).append(failed)
            advance(f"{item.name}: controls checked")
    return recorded


def _said(detail: str, runner: Runner) -> Outcome:
    return Outcome(outcome=OutcomeKind.NOT_EXECUTED, detail=detail, sandbox=runner.sandbox)


def _record(
    workspace: Workspace,
    item: _Item,
    control: Control,
    outcome: Outcome,
    held: bool | None,
    varied: Sequence[str] = (),
    most: int | None = None,
) -> None:
    """Append a line, unless another process has recorded as many meanwhile."""
    line = Evidence(
        control=control,
        example_id=item.example.id,
        digest=item.digest_of(control),
        environment=item.job.environment,
        environment_digest=item.environment_digest,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        toolkit_version=toolkit_version(),
        outcome=outcome,
        held=held,
        varied=tuple(varied),
    )
    with workspace.lock():
        known = len(item.gold) if control == "gold" else len(item.evidence(control, line.digest))
        if known < most if most is not None else not item.checked(control):
            append_evidence(item.folder.folder, [line])


def _reported(workspace: Workspace, item: _Item, wanted: int, spoilt: _Spoilt) -> ExampleReport:
    evidence = [
        line for line in _lines(item.folder.folder) if line.control != "gold" or line.outcome.sandbox == item.sandbox
    ]
    standing = standing_of(item.job, item.example, evidence, workspace.config.repeat, item.environment_digest)
    outcomes = (*(line.outcome for line in item.gold[:wanted]), *spoilt.get(item, ()))
    return ExampleReport(item.folder.task.id, item.example.id, outcomes, wanted, standing)


def run_one(
    workspace: Workspace | None,
    file: Path,
    limits: Limits,
    *,
    sandbox: str | None = None,
    repository: str | None = None,
    environment: str | None = None,
    variables: Mapping[str, str] | None = None,
    mirrors: Sequence[str] = (),
    reporter: Reporter | None = None,
) -> Outcome:
    """``benchwright run``: one file, alone in the standard environment or at the root of a registered repository.

    Raises:
        BenchwrightError: the file, repository or environment cannot be had; a repository needs a workspace.
    """
    found = None
    if repository is not None:
        if workspace is None:
            raise BenchwrightError("--repository needs a workspace", remedy="benchwright --workspace DIR run ...")
        [found] = workspace.repositories([repository])
    default = workspace.config.environment if workspace and found else STANDARD
    with Runner(
        sandbox,
        workspace.environments_dir if workspace else None,
        workspace.clones_dir if workspace else None,
        mirrors,
        reporter=reporter,
    ) as runner:
        chosen = environment or (found.environment if found else None) or default
        return run_file(runner, file, limits, repository=found, environment=chosen, variables=variables)
