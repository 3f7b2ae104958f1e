"""Smoke tests, which need no card, whatever the recipe asks for: that the parts are there and fit, and no more.

Comes in: a workspace and names of environments or tasks. Goes out: an outcome for each. An environment's is its
recipe's own few lines, run in the repository's tree; a task's is the small variant that its task.toml declares, and is
kept as evidence under that name, so that nobody takes it for the example's own output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ..core import toolkit_version
from ..core.errors import BenchwrightError
from ..core.models import Evidence, Limits, Outcome, Repository, Success
from ..core.progress import Reporter
from ..core.tasks import TaskFolder, append_evidence, load_tasks
from ..core.workspace import Workspace
from .controls.digests import example_job, run_digest
from .execution import Job, Runner
from .outcomes import POLICY
from .recipes import find_recipes

__all__ = ["Smoke", "smoke", "smoke_tasks"]

LIMITS = Limits(timeout_s=300, memory_bytes=4 * 1024**3, processes=512)


@dataclass(frozen=True)
class Smoke:
    """How the smoke test of one environment or task ended."""

    name: str
    outcome: Outcome

    @property
    def said(self) -> str:
        """The last line of the output, or why there is none."""
        text = (self.outcome.output.tail or self.outcome.output.head).strip()
        return text.splitlines()[-1] if text else self.outcome.detail


def smoke(
    workspace: Workspace, names: Sequence[str], sandbox: str, mirrors: Sequence[str], reporter: Reporter
) -> Iterator[Smoke]:
    """Run the smoke tests of those of the environments whose recipes have one.

    Raises:
        PrerequisiteError: the sandbox cannot be had.
    """
    recipes = {name: recipe for name, recipe in find_recipes(workspace.environments_dir) if recipe.smoke}
    trees: dict[str | None, Repository] = {}
    for repository in workspace.repositories():
        trees.setdefault(repository.environment, repository)
    with Runner(sandbox, workspace.environments_dir, workspace.clones_dir, mirrors, reporter=reporter) as runner:
        for name in (name for name in names if name in recipes):
            code, tree = recipes[name].smoke, trees.get(name)
            job = Job(name, code, "Python Code", repository=tree, environment=name, limits=LIMITS, gpus=0)
            yield Smoke(name, runner.execute(job))


def smoke_tasks(
    workspace: Workspace, task_ids: Sequence[str], sandbox: str, mirrors: Sequence[str], reporter: Reporter
) -> Iterator[Smoke]:
    """Run the CPU smoke variant of those of the tasks that declare one, and record it as what it is.

    Raises:
        BenchwrightError: none of the tasks declares one.
        PrerequisiteError: the sandbox cannot be had, or an environment is not built.
    """
    folders = [folder for folder in load_tasks(workspace, task_ids) if folder.task.cpu_smoke and folder.examples]
    if not folders:
        raise BenchwrightError(
            "none of the tasks declares a cpu_smoke",
            where=str(workspace.tasks_dir),
            remedy='write one in task.toml: cpu_smoke = "python train.py --steps 1"',
        )
    with Runner(sandbox, workspace.environments_dir, workspace.clones_dir, mirrors, reporter=reporter) as runner:
        for folder in folders:
            job = _variant(workspace, folder)
            outcome = runner.execute(job)
            if POLICY[outcome.outcome].counted:
                _record(workspace, folder, job, runner.environment_digest(job.environment), outcome)
            yield Smoke(folder.task.id, outcome)


def _variant(workspace: Workspace, folder: TaskFolder) -> Job:
    registered = {repository.name: repository for repository in workspace.repositories()}
    job = example_job(workspace, folder, folder.examples[0], registered.get(folder.task.repository.name))
    return replace(job, code=folder.task.cpu_smoke, type=folder.task.type, gpus=0, success=Success())


def _record(workspace: Workspace, folder: TaskFolder, job: Job, environment_digest: str, outcome: Outcome) -> None:
    line = Evidence(
        control="cpu_smoke",
        digest=run_digest(job, environment_digest),
        environment=job.environment,
        environment_digest=environment_digest,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        toolkit_version=toolkit_version(),
        outcome=outcome,
    )
    with workspace.lock():
        append_evidence(folder.folder, [line])
