"""Executing scripts: from a job (a script in a repository's tree, with limits) to an outcome.

Comes in: jobs of any number. Goes out: each with its outcome, as they finish, in bounded memory. Used by ``validate``
and ``run``, by the evaluation of predictions, and by the recorder of ``arguments/``.
"""

from __future__ import annotations

import posixpath
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from ..core.errors import BenchwrightError
from ..core.models import Limits, Outcome, OutcomeKind, Repository, Success, TaskType
from ..core.progress import Reporter
from .cards import leased
from .engine import spread, workers_here
from .environments import open_system
from .outcomes import POLICY, infrastructure, judge
from .preparation import with_prefix
from .recipes import STANDARD
from .sandbox import Run, Sandbox, System, open_sandbox
from .sandbox.contract import Interpreter
from .trees import tree_of

__all__ = ["Job", "Runner", "beside_gold", "open_runner", "run_file"]

ATTEMPTS = 3
"""Runs of one job where the infrastructure fails; the script itself is never given a second chance."""
GOLD_FACTOR, GOLD_FLOOR_S = 10.0, 10.0
"""What else is run for an example may take this many times what its own output took here, and this long in any case."""
SUFFIXES: Mapping[str, Interpreter] = {".sh": "bash", ".py": "python3"}


@dataclass(frozen=True)
class Job:
    """One script to run."""

    key: str
    """The caller's name for it; not interpreted."""
    code: str
    type: TaskType
    path: str = "./"
    """Folder it runs in, relative to the repository."""
    prefix_code: str = ""
    """Shell commands that run first, in the same shell."""
    repository: Repository | None = None
    environment: str = STANDARD
    limits: Limits = field(default_factory=Limits)
    network: bool = False
    gpus: int | None = None
    """Cards for it alone; None: what the environment's recipe asks for."""
    variables: Mapping[str, str] = field(default_factory=dict)
    success: Success = field(default_factory=Success)

    @cached_property
    def prepared(self) -> tuple[bytes, Interpreter]:
        """The whole script with its prefix code, and what runs it."""
        script, interpreter = with_prefix(self.prefix_code, self.code, self.type)
        return script.encode("utf-8", "surrogatepass"), interpreter


def beside_gold(job: Job, gold: Iterable[Outcome]) -> Job:
    """``job`` with the wall limit that follows from how long the example's own output took on this machine.

    ``gold``: outcomes of runs made here and now, not of recorded ones, which may be another machine's. The task's own
    limit is never exceeded, and stands alone where none of them passed or where success is to run for a while.
    """
    took = max((outcome.duration_s for outcome in gold if outcome.passed), default=None)
    if took is None or job.success.kind == "runs_for":
        return job
    limit = min(job.limits.timeout_s, max(GOLD_FLOOR_S, GOLD_FACTOR * took))
    return replace(job, limits=job.limits.model_copy(update={"timeout_s": limit}))


class Runner:
    """A sandbox with its environments and trees at hand. Use it as a context manager."""

    def __init__(
        self,
        sandbox: str | None = None,
        environments_dir: Path | None = None,
        clones_dir: Path | None = None,
        mirrors: Sequence[str] = (),
        workers: int = 1,
        reporter: Reporter | None = None,
    ) -> None:
        """``sandbox``: docker (the default), bubblewrap or process.

        Raises:
            PrerequisiteError: it cannot be had here; the alternatives are named.
        """
        self._reporter = reporter or Reporter(quiet=True)
        self._environments_dir = environments_dir
        self._clones_dir = clones_dir
        self._mirrors = tuple(mirrors)
        self._workers = max(1, workers)
        self._lock = threading.Lock()
        self._systems: dict[str, System] = {}
        self._trees: dict[tuple[str, str], Path] = {}
        self._sandbox: Sandbox = open_sandbox(sandbox, self._workers)
        if lacking := self._sandbox.capabilities.lacking():
            self._reporter.warn(f"the sandbox {self._sandbox.name} does not enforce: {', '.join(lacking)}")

    @property
    def sandbox(self) -> str:
        """Name of the sandbox in use."""
        return self._sandbox.name

    def environment_digest(self, name: str) -> str:
        """SHA-256 over the environment's recipe, base and lock.

        Raises:
            PrerequisiteError: it is not built.
        """
        return self._system(name).digest

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Outcome]]:
        """Yield each job with its outcome as they finish; ``jobs`` is read as workers become free.

        A job whose environment or repository cannot be had ends as ``infrastructure``, with the remedy in its detail.
        """
        yield from spread(jobs, self.execute, self._workers, self._sandbox.stop)

    def prepare(self, job: Job) -> None:
        """Have the job's environment and tree at hand, so that running it takes no longer than it must.

        Raises:
            PrerequisiteError: the environment is not built.
            BenchwrightError: the repository cannot be had.
        """
        self._system(job.environment)
        self._tree(job.repository)

    def holds(self, limits: Limits) -> int:
        """Runs with these limits that are made at a time."""
        return self._workers

    def use(self, system: System) -> None:
        """Run what asks for an environment of this name in ``system``."""
        with self._lock:
            self._systems[system.name] = system

    def stop(self) -> None:
        """End what runs, and let nothing new begin."""
        self._sandbox.stop()

    def execute(self, job: Job) -> Outcome:
        """Run one job here and now."""
        if posixpath.normpath(job.path).startswith(("../", "/")) or posixpath.normpath(job.path) == "..":
            detail = f"the folder {job.path!r} it should run in lies outside the repository"
            return Outcome(outcome=OutcomeKind.FAILED, detail=detail, sandbox=self._sandbox.name)
        try:
            run = Run(
                system=self._system(job.environment),
                script=job.prepared[0],
                interpreter=job.prepared[1],
                limits=_limits(job),
                folder=job.path,
                tree=self._tree(job.repository),
                network=job.network,
                variables=job.variables,
                success=job.success,
            )
            with leased(run.system.gpus if job.gpus is None else job.gpus) as cards:
                return self.attempt(replace(run, cards=cards))
        except BenchwrightError as error:
            return infrastructure(str(error), self._sandbox.name)

    def attempt(self, run: Run) -> Outcome:
        """Execute, again where the infrastructure failed and not the script."""
        outcome = infrastructure("never started", self._sandbox.name)
        for attempt in range(ATTEMPTS):
            time.sleep(attempt)  # an engine that restarts needs a moment
            try:
                outcome = judge(self._sandbox.execute(run), run, self._sandbox.name)
            except BenchwrightError as error:  # refused before the start: trying again changes nothing
                return infrastructure(str(error), self._sandbox.name)
            if not POLICY[outcome.outcome].retried or self._sandbox.stopped:
                break
        return outcome

    def _system(self, name: str) -> System:
        with self._lock:
            if name not in self._systems:
                self._systems[name] = open_system(self._environments_dir, name)
            return self._systems[name]

    def _tree(self, repository: Repository | None) -> Path | None:
        if repository is None:
            return None
        if self._clones_dir is None:
            raise BenchwrightError(f"the repository {repository.name} needs a folder for clones")
        with self._lock:
            key = (repository.url, repository.commit)
            if key not in self._trees:
                self._trees[key] = tree_of(repository, self._clones_dir, self._mirrors, self._reporter)
            return self._trees[key]

    def __enter__(self) -> Self:
        self._sandbox.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sandbox.__exit__(kind, error, trace)


def open_runner(
    engine: str,
    sandbox: str | None,
    environments_dir: Path | None,
    clones_dir: Path | None,
    mirrors: Sequence[str],
    workers: int | None,
    reporter: Reporter,
) -> Runner:
    """A runner of this machine (``local``), or one of a cluster (``ray``).

    ``workers``: runs at a time; None: as many as the machine or the cluster holds.

    Raises:
        PrerequisiteError: the sandbox, or Ray, cannot be had.
        InfrastructureError: the cluster cannot be reached.
    """
    if engine == "ray":
        from .engine.remote import RayRunner

        return RayRunner(sandbox, environments_dir, clones_dir, mirrors, workers, reporter)
    return Runner(sandbox, environments_dir, clones_dir, mirrors, workers or workers_here(Limits()), reporter)


def _limits(job: Job) -> Limits:
    """A job that is only to run for a while is ended after it."""
    if job.success.kind == "runs_for" and job.success.seconds:
        return job.limits.model_copy(update={"timeout_s": min(job.success.seconds, job.limits.timeout_s)})
    return job.limits


def run_file(
    runner: Runner,
    file: Path,
    limits: Limits,
    *,
    repository: Repository | None = None,
    environment: str = STANDARD,
    variables: Mapping[str, str] | None = None,
) -> Outcome:
    """Run one file: ``.sh`` by bash, ``.py`` by python; alone, or at the root of a repository's tree.

    Raises:
        BenchwrightError: it is neither, or cannot be read; the environment or repository cannot be had.
    """
    interpreter = SUFFIXES.get(file.suffix)
    if interpreter is None:
        raise BenchwrightError("neither .sh nor .py", where=str(file), remedy="rename it after what it is")
    try:
        script = file.read_bytes()
    except OSError as error:
        raise BenchwrightError(f"cannot read it: {error.strerror}", where=str(file)) from error
    run = Run(
        system=runner._system(environment),
        script=script,
        interpreter=interpreter,
        limits=limits,
        name=file.name,
        tree=runner._tree(repository),
        variables=variables or {},
    )
    with leased(run.system.gpus) as cards:
        return runner.attempt(replace(run, cards=cards))
