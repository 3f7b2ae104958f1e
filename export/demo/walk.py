"""From two repositories to a score, one stage after the other, exactly through the functions the commands call."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ...core.config import FILE_NAME
from ...core.errors import BenchwrightError
from ...core.files import atomic_write
from ...core.models import Candidate
from ...core.progress import Reporter
from ...core.workspace import Workspace
from .answers import predictions
from .people import Submitted, annotators, submit
from .repositories import make_repositories, url_of

__all__ = ["Demo", "Step", "run_demo"]

FIRST_PORT = 8080
PORTS = 50
TIMEOUT_S = 10
TITLE = "benchwright demo"


@dataclass(frozen=True)
class Step:
    """One line of the table at the end."""

    stage: str
    result: str
    where: str
    seconds: float


@dataclass
class Demo:
    """What the walk found; ``steps`` is the same for people."""

    candidates: dict[str, int] = field(default_factory=dict)
    annotations: dict[str, int] = field(default_factory=dict)
    sandbox: str = ""
    outcomes: dict[str, int] = field(default_factory=dict)
    release: dict[str, Any] = field(default_factory=dict)
    evaluation: dict[str, Any] = field(default_factory=dict)
    label_studio: dict[str, str] | None = None
    """Address and login, only where it was left running."""
    steps: list[Step] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        value = asdict(self)
        steps = value.pop("steps")
        return {**value, "seconds": {step["stage"]: round(step["seconds"], 1) for step in steps}}


def run_demo(folder: Path, keep: bool, reporter: Reporter) -> Demo:
    """Walk the pipeline in ``folder``; a walk that was done or interrupted before is gone on with.

    ``keep`` leaves Label Studio running.

    Raises:
        BenchwrightError: ``folder`` holds something else, or a stage cannot do its part (it is named).
    """
    return _Walk(_workspace(folder), reporter).run(keep)


def _workspace(folder: Path) -> Workspace:
    if (folder / FILE_NAME).exists():
        if not (folder / "sources").is_dir():
            raise BenchwrightError("this is another workspace", where=str(folder), remedy="name another folder")
        return Workspace(folder)
    (folder / "sources").mkdir(parents=True, exist_ok=True)
    workspace = Workspace.create(folder)
    text = workspace.config_path.read_text("utf-8").replace("timeout_s = 60", f"timeout_s = {TIMEOUT_S}")
    # the addresses are made up: whatever command is tried in it finds the repositories where the demo made them
    line = next(line for line in text.splitlines() if line.startswith("# mirrors = "))
    atomic_write(workspace.config_path, text.replace(line, f"mirrors = {json.dumps([_mirror(folder)])}"))
    return workspace


def _mirror(folder: Path) -> str:
    return f"file://{folder.resolve()}/sources/{{name}}"


class _Walk:
    """The stages in order, with what they found."""

    def __init__(self, workspace: Workspace, reporter: Reporter) -> None:
        self.workspace = workspace
        self.reporter = reporter
        self.demo = Demo()
        self.mirrors = (_mirror(workspace.root),)

    def run(self, keep: bool) -> Demo:
        self._register()
        candidates = self._curate()
        self._annotate(candidates, keep)
        self._validate()
        self._build()
        self._evaluate()
        return self.demo

    @contextmanager
    def _stage(self, name: str) -> Iterator[list[str]]:
        """Time a stage; the block appends its result and where it lies."""
        self.reporter.say(f"== {name}")
        started = time.monotonic()
        said: list[str] = []
        yield said
        result, where = said
        self.demo.steps.append(Step(name, result, where, time.monotonic() - started))

    def _register(self) -> None:
        from ...curation.repositories import add

        with self._stage("repositories") as said:
            commits = make_repositories(self.workspace.root / "sources")
            known = {repository.name for repository in self.workspace.repositories()}
            for name, commit in commits.items():
                if name not in known:
                    add(self.workspace, url_of(name), commit, name=name, mirrors=self.mirrors)
            # the classifier needs numpy: an environment of its own, shared by all its tasks
            atomic_write(
                self.workspace.environments_dir / "numpy" / "environment.toml",
                'schema_version = 1\nrequirements = ["numpy>=1.24,<3"]\n',
            )
            with self.workspace.lock():
                registered = self.workspace.repositories()
                self.workspace.save_repositories(
                    r.model_copy(update={"environment": "numpy"}) if r.name == "pocket-classifier" else r
                    for r in registered
                )
            said += [f"{len(commits)} at their pins", "repositories.toml"]

    def _curate(self) -> list[Candidate]:
        from ...curation import curate

        with self._stage("curation") as said:
            for done in curate(self.workspace, mirrors=self.mirrors, reporter=self.reporter):
                if done.error:
                    raise done.error
            with self.workspace.open_store() as store:
                candidates = list(store.candidates())
            self.demo.candidates = dict(sorted(Counter(c.repository.name for c in candidates).items()))
            said += [f"{len(candidates)} candidates", ".benchwright/state.db (benchwright candidates list)"]
        return candidates

    def _annotate(self, candidates: list[Candidate], keep: bool) -> None:
        from ...annotation import pull, push, server

        with self._stage("annotation") as said:
            running = server.up(self.workspace, self._port(), self.reporter)
            try:
                people = annotators(running, self.workspace.private_dir / "label-studio")
                project = push(self.workspace, title=TITLE, server=running, reporter=self.reporter).project
                done = [submit(account, project, candidates, i > 0) for i, account in enumerate(people)]
                pulled = pull(self.workspace, server=running, reporter=self.reporter)
            finally:
                if not keep:
                    server.down(self.workspace, self.reporter)
            accepted = len(pulled.acceptance.written) + len(pulled.acceptance.unchanged)
            self.demo.annotations = {
                "accepted": accepted,
                "disagreements": len(pulled.acceptance.disagreements),
                "skipped": sum(item.skipped for item in pulled.projects),
                "annotators": len(people),
            }
            if keep:
                self.demo.label_studio = {
                    "url": running.url,
                    "login": str(running.email),
                    "password": str(running.password),
                }
            said += [f"{_submitted(done)}; {accepted} tasks accepted", "annotations/, tasks/"]

    def _port(self) -> int | None:
        """None where the server is up or has had a port before; else the first free one."""
        import socket

        from ...annotation import server

        if server.running(self.workspace):
            return None
        for port in range(FIRST_PORT, FIRST_PORT + PORTS):
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError:
                    continue
                return port
        raise BenchwrightError(f"all ports from {FIRST_PORT} to {FIRST_PORT + PORTS - 1} are taken")

    def _validate(self) -> None:
        from ...validators.environments import build_many
        from ...validators.sandbox import available_sandboxes
        from ...validators.validation import validate

        with self._stage("validation") as said:
            self.demo.sandbox = available_sandboxes()[0]
            if self.demo.sandbox != "docker":
                self.reporter.warn(
                    f"no Docker engine answers: the demo's own scripts run in the sandbox {self.demo.sandbox}"
                    + (", which isolates nothing" if self.demo.sandbox == "process" else "")
                    + " (to get Docker: docs.docker.com/engine/install)"
                )
            build_many(self.workspace.environments_dir, (), True, self.reporter)
            report = validate(self.workspace, sandbox=self.demo.sandbox, mirrors=self.mirrors, reporter=self.reporter)
            self.demo.outcomes = dict(report.counts)
            counted = ", ".join(f"{number} {state.value}" for state, number in sorted(report.states.items()))
            said += [f"{counted} in {self.demo.sandbox}: three runs each, and controls", "tasks/*/*/evidence.jsonl"]

    def _build(self) -> None:
        from ..release import build_release

        with self._stage("release") as said:
            built = build_release(self.workspace)
            self.demo.release = {"rows": built.splits["full"], "splits": sorted(built.splits)}
            said += [f"{built.splits['full']} rows", str(built.folder.relative_to(self.workspace.root))]

    def _evaluate(self) -> None:
        from ..dataset import open_dataset
        from ..evaluation import Options, evaluate

        with self._stage("evaluation") as said:
            release = self.workspace.root / "releases" / self.workspace.config.version
            dataset = open_dataset(str(release))
            answers = self.workspace.root / "predictions.jsonl"
            atomic_write(answers, predictions(dataset.rows("full")))
            options = Options(
                sandbox=self.demo.sandbox, workers=2, environments_dir=release / "environments", mirrors=self.mirrors
            )
            done = evaluate(dataset, answers, options, self.workspace.root / "evaluation", self.reporter)
            if done.ungraded:
                raise BenchwrightError(f"{done.ungraded} samples could not be graded", where=str(done.folder))
            strict = done.report["protocols"]["strict"]
            self.demo.evaluation = {
                "examples": strict["examples"],
                "pass_at_k": {k: round(v["value"], 4) for k, v in strict["pass_at_k"].items()},
            }
            shown = ", ".join(f"pass@{k} {v['value']:.2f}" for k, v in strict["pass_at_k"].items())
            said += [f"{shown} (two of five answers are right)", "evaluation/report.json"]


def _submitted(done: list[Submitted]) -> str:
    new, known = sum(item.new for item in done), sum(item.known for item in done)
    return f"{new} annotations by {len(done)} people" + (f" ({known} were there)" if known else "")
