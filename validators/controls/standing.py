"""Where an example stands, by the evidence recorded beside its task: verified, flaky, failed, or not verified yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ...core.errors import BenchwrightError
from ...core.models import Evidence, Example
from ...core.tasks import TaskFolder, load_tasks, read_evidence
from ...core.workspace import Workspace
from ..execution import Job
from .digests import check_digest, example_job, no_op_digest, run_digest

__all__ = ["Standing", "State", "count_states", "standing_of", "standings"]


class State(StrEnum):
    """What the evidence amounts to."""

    VERIFIED = "verified"
    FLAKY = "flaky"
    FAILED = "failed"
    """Its own output does not pass, or a control did not come out as it must."""
    UNVERIFIED = "unverified"
    """Evidence is missing, or was recorded of what has changed since."""


@dataclass(frozen=True)
class Standing:
    """Of one example."""

    state: State
    why: str
    """What is missing or wrong; empty where it is verified."""
    gold: tuple[Evidence, ...] = ()
    """The runs that hold now, oldest first: of one environment in one kind of sandbox."""
    no_op: Evidence | None = None
    near_miss: Evidence | None = None

    @property
    def verified(self) -> bool:
        return self.state is State.VERIFIED

    @property
    def last(self) -> Evidence | None:
        """The newest run that bears a verified example."""
        return self.gold[-1] if self.verified else None


def standing_of(
    job: Job, example: Example, evidence: Sequence[Evidence], repeat: int, environment_digest: str | None = None
) -> Standing:
    """Where an example stands; only evidence bound to what holds now is counted.

    ``environment_digest``: the environment's as it is now; None where it is not known here, so that the one of the
    newest run counts.
    """
    mine = [line for line in evidence if line.example_id == example.id]
    ran = [line for line in mine if line.control == "gold"]
    gold = [
        line
        for line in ran
        if line.environment_digest == (environment_digest or line.environment_digest)
        and line.digest == run_digest(job, line.environment_digest)
    ]
    if not gold:
        return Standing(State.UNVERIFIED, "it has changed since it was run" if ran else "it was never run")
    newest = gold[-1]
    gold = [
        line
        for line in gold
        if (line.environment_digest, line.outcome.sandbox) == (newest.environment_digest, newest.outcome.sandbox)
    ]
    no_op = _newest(mine, "no_op", no_op_digest(job, example, newest.environment_digest))
    near_miss = _newest(mine, "near_miss", check_digest(job, example))
    state, why = _judged(gold, no_op, near_miss, repeat)
    return Standing(state, why, tuple(gold), no_op, near_miss)


def _judged(
    gold: Sequence[Evidence], no_op: Evidence | None, near_miss: Evidence | None, repeat: int
) -> tuple[State, str]:
    passed = sum(line.outcome.passed for line in gold)
    if 0 < passed < len(gold):
        return State.FLAKY, f"{passed} of {len(gold)} runs passed"
    if not passed:
        return State.FAILED, f"{gold[-1].outcome.outcome.value}: {gold[-1].outcome.detail}".rstrip(": ")
    for name, control in (("near miss", near_miss), ("no-op", no_op)):
        if control is not None and control.held is False:
            return State.FAILED, f"{name}: {control.outcome.detail}"
    if passed < repeat:
        return State.UNVERIFIED, f"{passed} of {repeat} runs were made"
    missing = [name for name, control in (("no-op", no_op), ("near-miss", near_miss)) if control is None]
    if missing:
        return State.UNVERIFIED, f"the {' and '.join(missing)} control was not made"
    return State.VERIFIED, ""


def _newest(evidence: Sequence[Evidence], control: str, digest: str) -> Evidence | None:
    return next((line for line in reversed(evidence) if line.control == control and line.digest == digest), None)


def standings(
    workspace: Workspace, folders: Sequence[TaskFolder] | None = None, *, environments: bool = True
) -> Iterator[tuple[TaskFolder, Example, Standing]]:
    """Every example that was not withdrawn, with where it stands; nothing is run, and no sandbox is needed.

    ``environments``: whether evidence must be of the environments as they are built on this machine now.

    Raises:
        BenchwrightError: a file of the workspace is wrong.
    """
    registered = {repository.name: repository for repository in workspace.repositories()}
    digests: dict[str, str | None] = {}
    for folder in load_tasks(workspace) if folders is None else folders:
        evidence = read_evidence(folder.folder)
        for example in folder.examples:
            if example.yanked is None:
                job = example_job(workspace, folder, example, registered.get(folder.task.repository.name))
                if environments and evidence and job.environment not in digests:
                    digests[job.environment] = _environment_digest(workspace, job.environment)
                digest = digests.get(job.environment)
                yield folder, example, standing_of(job, example, evidence, workspace.config.repeat, digest)


def _environment_digest(workspace: Workspace, name: str) -> str | None:
    """The digest that the environment has now; None where it is not built on this machine."""
    from ..environments import open_system

    try:
        return open_system(workspace.environments_dir, name).digest
    except BenchwrightError:
        return None


def count_states(found: Mapping[State, int]) -> str:
    """``3 verified, 1 flaky``."""
    return ", ".join(f"{found[state]} {state.value}" for state in State if found.get(state))
