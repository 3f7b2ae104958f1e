"""``validate``: every example's own output is run, and what happened is recorded as evidence beside its task.

Comes in: a workspace and task names. Goes out: lines appended to ``evidence.jsonl``, each bound by a digest to all that
was run, and a report. The evidence is also what makes it resumable: a run that has its line is not run again, so
killed at any moment and started anew it ends where an undisturbed one would.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..core import toolkit_version
from ..core.errors import BenchwrightError
from ..core.files import digest_of
from ..core.models import Evidence, Example, Limits, Outcome, OutcomeKind, Repository
from ..core.progress import Reporter
from ..core.tasks import TaskFolder, append_evidence, load_tasks, read_evidence
from ..core.workspace import Workspace
from .execution import Job, Runner, run_file
from .outcomes import POLICY
from .recipes import STANDARD

__all__ = ["ExampleReport", "Report", "evidence_digest", "example_job", "run_one", "validate"]


@dataclass(frozen=True)
class ExampleReport:
    """What is known of one example: the outcomes of its runs with the digest that holds now."""

    task: str
    example: int
    outcomes: tuple[Outcome, ...]
    wanted: int

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


@dataclass(frozen=True)
class Report:
    """The result of a validation."""

    examples: tuple[ExampleReport, ...]
    executed: int
    """Runs made now; the others had their evidence already."""

    @property
    def counts(self) -> Mapping[str, int]:
        return Counter(item.verdict for item in self.examples)

    @property
    def exit_code(self) -> int:
        """0 where all passed, 2 where the infrastructure kept something from being known, else 1."""
        if self.counts.get(OutcomeKind.INFRASTRUCTURE):
            return 2
        return 0 if set(self.counts) <= {OutcomeKind.PASSED.value} else 1

    def as_json(self) -> dict[str, Any]:
        return {
            "examples": [
                {
                    "task": item.task,
                    "example": item.example,
                    "verdict": item.verdict,
                    "outcomes": [outcome.outcome.value for outcome in item.outcomes],
                    "detail": item.detail,
                }
                for item in self.examples
            ],
            "counts": dict(self.counts),
            "executed": self.executed,
        }

    def lines(self) -> list[str]:
        """For people: what did not pass, then the counts."""
        shown = [
            f"{item.verdict:16} {item.task} example {item.example}: {item.detail}"
            for item in self.examples
            if item.verdict != OutcomeKind.PASSED
        ]
        counts = ", ".join(f"{number} {verdict}" for verdict, number in sorted(self.counts.items()))
        return [*shown, f"{len(self.examples)} examples: {counts or 'none'}; {self.executed} runs were made now"]


@dataclass(frozen=True)
class _Item:
    """One example with all that its runs depend on."""

    folder: TaskFolder
    example: Example
    job: Job
    digest: str
    environment_digest: str


def validate(
    workspace: Workspace,
    task_ids: Sequence[str] = (),
    repeat: int = 3,
    *,
    sandbox: str | None = None,
    jobs: int = 1,
    mirrors: Sequence[str] = (),
    reporter: Reporter | None = None,
) -> Report:
    """Run each example's output until it has ``repeat`` lines of evidence with the digest that holds now.

    Evidence from another kind of sandbox is not counted. What the infrastructure spoilt is reported, not recorded.

    Raises:
        PrerequisiteError: the sandbox cannot be had, or an environment is not built.
        BenchwrightError: a task is wrong, or one named is not there.
    """
    reporter = reporter or Reporter(quiet=True)
    folders = load_tasks(workspace, task_ids)
    with Runner(
        sandbox, workspace.environments_dir, workspace.clones_dir, mirrors, workers=jobs, reporter=reporter
    ) as runner:
        items = list(_items(workspace, folders, runner))
        known = {id(item): _known(item, runner.sandbox) for item in items}
        missing = [(item, n) for item in items for n in range(len(known[id(item)]), repeat)]
        spoilt: dict[int, list[Outcome]] = {}
        by_key = {f"{n} {item.folder.task.id} {item.example.id}": (item, n) for item, n in missing}
        todo = (_named(item.job, key) for key, (item, _) in by_key.items())
        with reporter.track("validate", len(missing)) as advance:
            for job, outcome in runner.run(todo):
                item, number = by_key[job.key]
                if POLICY[outcome.outcome].counted:
                    _record(workspace, item, outcome, repeat)
                else:
                    spoilt.setdefault(id(item), []).append(outcome)
                name = f"{item.folder.task.id} example {item.example.id} run {number + 1}"
                advance(f"{name}: {outcome.outcome.value}")
        examples = tuple(
            ExampleReport(
                item.folder.task.id,
                item.example.id,
                (*_known(item, runner.sandbox)[:repeat], *spoilt.get(id(item), ())),
                repeat,
            )
            for item in items
        )
    return Report(examples, executed=len(missing) - sum(map(len, spoilt.values())))


def example_job(workspace: Workspace, folder: TaskFolder, example: Example, registered: Repository | None) -> Job:
    """The job that runs an example's own output, with everything that task, repository and workspace say of it."""
    task = folder.task
    reference = task.repository
    return Job(
        key=f"{task.id} {example.id}",
        code=example.output,
        type=example.type,
        path=task.path,
        prefix_code=example.prefix_code or task.prefix_code,
        repository=Repository(name=reference.name, url=reference.url, commit=reference.commit),
        environment=task.environment or (registered and registered.environment) or workspace.config.environment,
        limits=task.limits or workspace.config.limits,
        network=task.network,
        success=task.success,
    )


def evidence_digest(job: Job, folder: TaskFolder, environment_digest: str) -> str:
    """SHA-256 over all that a run depends on: where any of it changes, old evidence no longer holds."""
    return digest_of(
        {
            "code": job.code,
            "prefix_code": job.prefix_code,
            "type": job.type,
            "path": job.path,
            "commit": job.repository.commit if job.repository else None,
            "environment": environment_digest,
            "success": folder.task.success.model_dump(mode="json", exclude_none=True),
            "limits": job.limits.model_dump(mode="json"),
            "network": job.network,
        }
    )


def _items(workspace: Workspace, folders: Sequence[TaskFolder], runner: Runner) -> Iterator[_Item]:
    registered = {repository.name: repository for repository in workspace.repositories()}
    for folder in folders:
        for example in folder.examples:
            if example.yanked is not None:
                continue
            job = example_job(workspace, folder, example, registered.get(folder.task.repository.name))
            environment_digest = runner.environment_digest(job.environment)
            digest = evidence_digest(job, folder, environment_digest)
            yield _Item(folder, example, job, digest, environment_digest)


def _known(item: _Item, sandbox: str) -> list[Outcome]:
    """Outcomes recorded for just this, in this kind of sandbox."""
    return [
        line.outcome
        for line in read_evidence(item.folder.folder)
        if line.control == "gold"
        and line.example_id == item.example.id
        and line.digest == item.digest
        and line.outcome.sandbox == sandbox
    ]


def _record(workspace: Workspace, item: _Item, outcome: Outcome, repeat: int) -> None:
    line = Evidence(
        control="gold",
        example_id=item.example.id,
        digest=item.digest,
        environment=item.job.environment,
        environment_digest=item.environment_digest,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        toolkit_version=toolkit_version(),
        outcome=outcome,
    )
    with workspace.lock():
        if len(_known(item, outcome.sandbox)) < repeat:  # another process may have validated the same meanwhile
            append_evidence(item.folder.folder, [line])


def _named(job: Job, key: str) -> Job:
    from dataclasses import replace

    return replace(job, key=key)


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
