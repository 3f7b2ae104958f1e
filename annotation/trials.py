"""Runs of a candidate's script before anyone has judged it: the suggestion as it stands, or what it has become.

What a suggestion gave is kept in the state and shown with the task. It is no evidence: an accepted script is run again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from ..core.models import Candidate, Outcome, Repository, TaskType
from ..core.progress import Reporter
from ..core.store import Store
from ..core.workspace import Workspace
from ..validators.execution import Job, Runner
from ..validators.outcomes import POLICY
from .selection import Selection, select

__all__ = ["Trials", "run_suggestions"]


class Trials:
    """Makes the jobs of candidates, and keeps what their suggestions gave; ``workspace`` says where they run."""

    def __init__(self, workspace: Workspace) -> None:
        self._registered = {repository.name: repository for repository in workspace.repositories()}
        self._config = workspace.config

    def job(
        self,
        candidate: Candidate,
        script: str | None = None,
        type: TaskType | None = None,
        prefix_code: str | None = None,
    ) -> Job:
        """The job that runs ``candidate``'s script, or another in its place."""
        reference = candidate.repository
        return Job(
            key=candidate.id,
            code=candidate.output if script is None else script,
            type=type or candidate.type,
            path=candidate.path,
            prefix_code=candidate.prefix_code if prefix_code is None else prefix_code,
            repository=Repository(name=reference.name, url=reference.url, commit=reference.commit),
            environment=self._environment(candidate),
            limits=self._config.limits,
        )

    def outcomes(self, store: Store, candidates: Iterable[Candidate]) -> dict[str, Outcome]:
        """Candidate id -> what its suggestion gave when it was last run, for those that were run as they stand."""
        found = ((candidate.id, store.outcome(self._key(candidate))) for candidate in candidates)
        return {candidate_id: outcome for candidate_id, outcome in found if outcome is not None}

    def record(self, store: Store, candidate: Candidate, outcome: Outcome) -> None:
        """Keep what the suggestion of ``candidate`` gave, unless the machine spoilt the run."""
        if POLICY[outcome.outcome].counted:
            store.record_outcome(self._key(candidate), datetime.now(UTC).isoformat(timespec="seconds"), outcome)

    def _environment(self, candidate: Candidate) -> str:
        registered = self._registered.get(candidate.repository.name)
        return (registered and registered.environment) or self._config.environment

    def _key(self, candidate: Candidate) -> str:
        return f"suggestion {candidate.id} {candidate.digest} {self._environment(candidate)}"


def run_suggestions(
    workspace: Workspace,
    wanted: Iterable[Candidate] | Selection | None = None,
    *,
    sandbox: str | None = None,
    jobs: int = 1,
    mirrors: Sequence[str] = (),
    reporter: Reporter | None = None,
) -> Mapping[str, int]:
    """Run the suggestions (None: all of the state) that were not run as they stand; how many ended how.

    Raises:
        BenchwrightError: there are no candidates.
        PrerequisiteError: the sandbox cannot be had.
    """
    reporter = reporter or Reporter(quiet=True)
    trials = Trials(workspace)
    counts: dict[str, int] = {}
    with workspace.open_store() as store:
        candidates = select(store, wanted)
        known = trials.outcomes(store, candidates)
        missing = {candidate.id: candidate for candidate in candidates if candidate.id not in known}
        if not missing:
            return counts
        folders = (workspace.environments_dir, workspace.clones_dir, mirrors)
        with (
            Runner(sandbox, *folders, workers=jobs, reporter=reporter) as runner,
            reporter.track("execute", len(missing)) as advance,
        ):
            for job, outcome in runner.run(trials.job(candidate) for candidate in missing.values()):
                trials.record(store, missing[job.key], outcome)
                counts[outcome.outcome.value] = counts.get(outcome.outcome.value, 0) + 1
                advance(f"{job.key}: {outcome.outcome.value}")
    return counts
