"""``annotate live``: connects the workspace's projects, runs what annotators type, and leaves nothing behind."""

from __future__ import annotations

import ipaddress
import signal
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from ...core.errors import BenchwrightError
from ...core.models import Candidate, OutcomeKind, Repository
from ...core.progress import Reporter
from ...core.workspace import Workspace
from ...curation.source import PinnedTree, open_tree
from ...validators.execution import Job, Runner
from ..client import Client, Server
from ..projects import Project, find_projects
from ..server import connect as connect_server
from ..trials import Trials
from .backend import Backend
from .connection import connect, disconnect
from .drafts import Draft
from .runs import NotRunError, Runs
from .shown import arguments_lines, outcome_lines

__all__ = ["Live", "LiveOptions", "serve"]

LOOK_AGAIN_S = 10.0
"""How soon a project that is pushed meanwhile is connected too."""
ANSWER_WITHIN_S = 10.0
"""The form is closed so long; a slower run goes on, and the next question about it is answered."""


@dataclass(frozen=True)
class LiveOptions:
    """Where drafts are run and who may ask."""

    host: str = "127.0.0.1"
    port: int = 0
    """0: a free one."""
    url: str | None = None
    """How the Label Studio server reaches this; None: by host and port."""
    sandbox: str | None = None
    at_once: int = 1
    """Sandboxes: never more runs than this at the same time."""
    waiting: int = 16
    """Drafts in line beyond those that run; a further one is told so at once."""
    timeout_s: float = 30.0
    """Wall limit of a draft's run, where the workspace's own is not shorter."""


class Live:
    """Everything that answers drafts: ``start`` opens it, ``attach`` connects the projects there are."""

    def __init__(
        self, workspace: Workspace, client: Client, options: LiveOptions, mirrors: Sequence[str], reporter: Reporter
    ) -> None:
        self._workspace, self._client, self._options, self._mirrors = workspace, client, options, tuple(mirrors)
        self._reporter = reporter
        self._trials = Trials(workspace)
        self._attached: dict[str, Project] = {}
        self._trees: dict[tuple[str, str], PinnedTree] = {}
        self._reading = threading.Lock()

    def start(self) -> ExitStack:
        """Open sandbox, queue and backend; closing what is given ends them in the right order.

        Raises:
            PrerequisiteError: the sandbox cannot be had.
            BenchwrightError: the address cannot be had.
        """
        options = self._options
        with ExitStack() as opening:
            folders = (self._workspace.environments_dir, self._workspace.clones_dir, self._mirrors)
            self._runner = opening.enter_context(
                Runner(options.sandbox, *folders, workers=options.at_once, reporter=self._reporter)
            )
            opening.callback(self._close_trees)
            self._runs = Runs(self._runner.execute, options.at_once, options.waiting)
            opening.callback(self._runs.join)
            opening.callback(self._runner.stop)
            opening.callback(self._runs.close)
            self._backend = Backend(options.host, options.port, self.answer)
            opening.callback(self._backend.close)
            opening.callback(self.detach)
            return opening.pop_all()

    @property
    def url(self) -> str:
        """Where the server finds the backend."""
        host = f"[{self._options.host}]" if ":" in self._options.host else self._options.host
        return self._options.url or f"http://{host}:{self._backend.port}"

    # projects ----------------------------------------------------------------------------------------------

    def attach(self) -> list[Project]:
        """Connect the projects that are not connected yet; those that were connected now.

        Raises:
            BenchwrightError: the server cannot reach the backend.
            InfrastructureError: the server does not answer.
        """
        found = find_projects(self._client, self._workspace)
        new = [project for slug, project in sorted(found.items()) if self._attached.get(slug) != project]
        for project in new:
            self._prepare(project)
            connect(self._client, project, self.url, self._backend.secret_of(project.slug))
            self._attached[project.slug] = project
        return new

    def detach(self) -> None:
        """Take the backend out of the projects again; what cannot be reached is said and left."""
        for project in self._attached.values():
            try:
                disconnect(self._client, project)
            except BenchwrightError as error:
                self._reporter.warn(f"{project.title} still names this backend: {error.message}")
        self._attached.clear()

    def _prepare(self, project: Project) -> None:
        """Have environments and files of the project's candidates at hand before someone waits for them."""
        with self._workspace.open_store() as store:
            pushed = set(store.pushes(self._client.url, project.id))
            candidates = [candidate for candidate in store.candidates() if candidate.id in pushed]
        jobs: dict[tuple[str, Repository | None], Job] = {}
        for candidate in candidates:
            job = self._trials.job(candidate)
            jobs.setdefault((job.environment, job.repository), job)
        with self._reporter.track(f"prepare {project.title}", len(jobs)) as advance:
            for job in jobs.values():
                name = job.repository.name if job.repository else job.key
                try:
                    self._runner.prepare(job)
                    advance(f"{name}: ready")
                except BenchwrightError as error:  # drafts of it say so; the others go on
                    self._reporter.warn(f"{name}: its scripts cannot be run: {error}")

    # answering ---------------------------------------------------------------------------------------------

    def answer(self, project: str, draft: Draft) -> str:
        """The text that an annotator of ``project`` is shown about ``draft``."""
        if not draft.script.strip():
            return "There is no script (5) to run."
        try:
            return self._answer(project, draft)
        except BenchwrightError as error:
            return f"NO RESULT: {error.message}"

    def _answer(self, project: str, draft: Draft) -> str:
        with self._workspace.open_store() as store:
            candidate = store.candidate(draft.candidate_id)
        job = self._job(candidate, draft)
        ended, *printed = self._run(project, candidate, draft, job)
        changed = ["The candidate has changed since this was pushed."] * (draft.candidate_digest != candidate.digest)
        return "\n".join([ended, *changed, *self._arguments(candidate, draft, job), *printed])

    def _job(self, candidate: Candidate, draft: Draft) -> Job:
        job = self._trials.job(candidate, draft.script, draft.type, draft.prefix_code)
        shorter = min(job.limits.timeout_s, self._options.timeout_s)
        return replace(job, limits=job.limits.model_copy(update={"timeout_s": shorter}))

    def _run(self, project: str, candidate: Candidate, draft: Draft, job: Job) -> list[str]:
        try:
            outcome = self._runs.outcome(job, (project, draft.task), ANSWER_WITHIN_S)
        except NotRunError as error:
            return [f"NO RESULT: {error.message}. Change the arguments (4) or the script (5) to ask again."]
        self._reporter.say(f"{project} {candidate.id}: {outcome.outcome.value}, {outcome.duration_s:.1f} s")
        if self._is_suggestion(candidate, job) and outcome.outcome is not OutcomeKind.TIMED_OUT:
            with self._workspace.open_store() as store:
                self._trials.record(store, candidate, outcome)
        return outcome_lines(outcome)

    def _is_suggestion(self, candidate: Candidate, job: Job) -> bool:
        whole = self._trials.job(candidate)
        return (job.code, job.type, job.prefix_code) == (whole.code, whole.type, whole.prefix_code)

    def _arguments(self, candidate: Candidate, draft: Draft, job: Job) -> list[str]:
        try:
            with self._reading:  # a tree has one reading process
                return arguments_lines(draft, job.type, job.path, self._tree(job.repository))
        except BenchwrightError as error:
            return [f"The arguments could not be checked: {error.message}"]

    def _tree(self, repository: Repository | None) -> PinnedTree | None:
        if repository is None:
            return None
        key = (repository.url, repository.commit)
        if key not in self._trees:
            try:
                self._trees[key] = open_tree(repository, self._workspace.clones_dir, self._mirrors)
            except BenchwrightError:
                return None  # without the code, arguments are read by their names
        return self._trees[key]

    def _close_trees(self) -> None:
        for tree in self._trees.values():
            tree.close()


def serve(
    workspace: Workspace,
    options: LiveOptions,
    *,
    mirrors: Sequence[str] = (),
    server: Server | None = None,
    reporter: Reporter | None = None,
    ended: threading.Event | None = None,
) -> None:
    """Answer drafts of all projects of ``workspace`` until ``ended``; without it, until the process is asked to end.

    Raises:
        BenchwrightError: there is no project, or the server cannot reach the backend.
        PrerequisiteError: the sandbox cannot be had.
        InfrastructureError: the server does not answer at the start; later it is waited for.
    """
    reporter = reporter or Reporter(quiet=True)
    client = (server or connect_server(workspace)).client()
    ended = ended or _until_asked()
    if not options.url and options.host in ("0.0.0.0", "::"):  # noqa: S104 - asked for by name
        raise BenchwrightError(
            "listening on every address does not say which one the server should use",
            where=options.host,
            remedy="name it: --url http://ADDRESS:PORT",
        )
    live = Live(workspace, client, options, mirrors, reporter)
    with live.start():
        if not live.attach():
            raise BenchwrightError(
                "the server has no project of this benchmark", where=client.url, remedy="benchwright annotate push"
            )
        if not options.url and not _is_loopback(options.host):
            reporter.warn(
                "drafts and secrets travel unencrypted to this address: put TLS before it and name it by --url"
            )
        reporter.say(
            f"scripts are run while annotators type: {options.at_once} at once, {options.waiting} may wait "
            f"({live.url}; ^C ends it)"
        )
        while not ended.wait(LOOK_AGAIN_S):
            _attach_further(live, reporter)


def _attach_further(live: Live, reporter: Reporter) -> None:
    try:
        for project in live.attach():
            reporter.say(f"connected {project.title}")
    except BenchwrightError as error:  # it may be starting anew; the next look tells
        reporter.say(f"not connected now: {error.message}")


def _until_asked() -> threading.Event:
    """An event that ^C and a polite request to end set, so that the projects are left as they were found."""
    ended = threading.Event()

    def end(*_: Any) -> None:
        ended.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    return ended


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
