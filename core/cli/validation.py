"""``run``, ``validate`` and ``environments``: executing scripts, recording evidence, building what they run in."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .session import Session, session_of

if TYPE_CHECKING:
    from ..models import Limits, Outcome
    from ..workspace import Workspace

__all__ = ["register"]


class SandboxName(StrEnum):
    """Where scripts are executed; a weaker one is never chosen silently."""

    DOCKER = "docker"
    BUBBLEWRAP = "bubblewrap"
    PROCESS = "process"


class EngineName(StrEnum):
    """What spreads the runs."""

    LOCAL = "local"
    RAY = "ray"


SandboxOption = Annotated[
    SandboxName, typer.Option(help="Where to execute; process isolates nothing and is for scripts you trust.")
]

environments_app = typer.Typer(help="What scripts run in: recipes, locks, images.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command()(run)
    app.command()(validate)
    app.add_typer(environments_app, name="environments")


def run(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A script: .sh is run by bash, .py by python.")],
    repository: Annotated[
        str | None, typer.Option(metavar="NAME", help="Run it at the root of this repository's tree.")
    ] = None,
    environment: Annotated[
        str | None, typer.Option(metavar="NAME", help="Environment; default: the repository's, else the workspace's.")
    ] = None,
    timeout: Annotated[float | None, typer.Option(metavar="S", min=0.1, help="Wall limit in seconds.")] = None,
    memory: Annotated[str | None, typer.Option(metavar="SIZE", help="Memory limit, such as 512m or 2g.")] = None,
    variable: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Variable of the script; repeatable.")
    ] = None,
    sandbox: SandboxOption = SandboxName.DOCKER,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.", show_envvar=False)] = False,
) -> None:
    """Execute one script in a sandbox and say how it ended (exit code 0 passed, 1 not, 2 infrastructure)."""
    from ...validators.validation import run_one

    session = session_of(context)
    workspace = _workspace(session, repository or environment)
    outcome = run_one(
        workspace,
        file,
        _limits(workspace, timeout, memory),
        sandbox=sandbox.value,
        repository=repository,
        environment=environment,
        variables=_variables(variable or []),
        mirrors=session.mirrors_of(workspace) if workspace else session.mirrors,
        reporter=session.reporter,
    )
    _show(session, outcome, as_json)
    raise typer.Exit(_exit_code(outcome))


def validate(
    context: typer.Context,
    tasks: Annotated[
        list[str] | None, typer.Argument(metavar="[TASK]...", help="REPOSITORY or REPOSITORY/TASK; default: all.")
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(min=1, help="Runs of each example; default: what the workspace wants of a verified one (3)."),
    ] = None,
    sandbox: SandboxOption = SandboxName.DOCKER,
    engine: Annotated[
        EngineName, typer.Option(help="This machine, or the Ray cluster at RAY_ADDRESS (none: one started here).")
    ] = EngineName.LOCAL,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Runs at a time; default: what the machine or cluster holds.")
    ] = None,
    cpu_smoke: Annotated[
        bool, typer.Option("--cpu-smoke", help="Run only the tasks' CPU smoke variants: no card, once each.")
    ] = False,
) -> None:
    """Run every example's own output, make its controls, record the evidence; what has it already is not made again.

    An example is verified once its output passed in every run, doing nothing does not pass, and its output with any
    one argument changed is refused.
    """
    from ...validators.validation import validate as validate_tasks

    session = session_of(context)
    workspace = session.workspace()
    if cpu_smoke:
        raise typer.Exit(_cpu_smoke(session, tasks or [], sandbox))
    report = validate_tasks(
        workspace,
        tasks or [],
        repeat,
        sandbox=sandbox.value,
        engine=engine.value,
        jobs=jobs,
        mirrors=session.mirrors_of(workspace),
        reporter=session.reporter,
    )
    session.reporter.result(report.as_json(), report.lines())
    raise typer.Exit(report.exit_code)


def _cpu_smoke(session: Session, tasks: list[str], sandbox: SandboxName) -> int:
    from ...validators.smoke import smoke_tasks

    workspace = session.workspace()
    mirrors = session.mirrors_of(workspace)
    results = list(smoke_tasks(workspace, tasks, sandbox.value, mirrors, session.reporter))
    rows = [(result.name, result.outcome.outcome.value, result.said) for result in results]
    session.reporter.table("CPU smoke variants", ("task", "outcome", "said"), rows)
    return max(_exit_code(result.outcome) for result in results)


@environments_app.command("build")
def environments_build(
    context: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Environments to build.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Build all of the workspace.")] = False,
) -> None:
    """Resolve and lock the requirements (where there is no lock), fetch wheels, install them without network."""
    from ...validators.environments import build_many

    session = session_of(context)
    statuses = build_many(session.workspace().environments_dir, names or [], every, session.reporter)
    _show_statuses(session, statuses)


@environments_app.command("list")
def environments_list(context: typer.Context) -> None:
    """Show every environment, built or not."""
    from ...validators.environments import statuses

    session = session_of(context)
    _show_statuses(session, list(statuses(session.workspace().environments_dir)))


@environments_app.command("check")
def environments_check(
    context: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Environments; default: all.")] = None,
    smoke: Annotated[bool, typer.Option("--smoke", help="Also run the recipes' smoke tests in a sandbox.")] = False,
    sandbox: SandboxOption = SandboxName.DOCKER,
) -> None:
    """Say what is wrong with the environments; exit code 1 where something is."""
    from ...validators.environments import check_all

    session = session_of(context)
    found = check_all(session.workspace().environments_dir, names or [])
    rows = [(name, problem) for name, problems in found.items() for problem in problems]
    if smoke:
        rows += _smoke(session, [name for name, problems in found.items() if not problems], sandbox)
    session.reporter.table("", ("environment", "problem"), rows)
    raise typer.Exit(1 if rows else 0)


def _smoke(session: Session, names: list[str], sandbox: SandboxName) -> list[tuple[str, str]]:
    from ...validators.smoke import smoke

    workspace = session.workspace()
    problems = []
    for result in smoke(workspace, names, sandbox.value, session.mirrors_of(workspace), session.reporter):
        session.reporter.say(f"{result.name}: {result.outcome.outcome.value}: {result.said}")
        if not result.outcome.passed:
            problems.append((result.name, f"the smoke test {result.outcome.outcome.value}: {result.said}"))
    return problems


@environments_app.command("prune")
def environments_prune(context: typer.Context) -> None:
    """Remove bases, packages, wheels and images of ours that no environment of the workspace uses."""
    from ...validators.pruning import prune

    session = session_of(context)
    gone = prune(session.workspace().environments_dir)
    session.reporter.result(gone, [*(f"removed {name}" for name in gone), f"removed {len(gone)} in all"])


RegistryArgument = Annotated[str, typer.Argument(metavar="REGISTRY", help="HOST[:PORT][/PATH] of a Docker registry.")]
NamesArgument = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Environments; default: all.")]


@environments_app.command("push")
def environments_push(context: typer.Context, registry: RegistryArgument, names: NamesArgument = None) -> None:
    """Push built environments to a registry; image.toml beside each recipe records the digest."""
    from ...validators.published import push

    session = session_of(context)
    _show_transfers(session, push(session.workspace().environments_dir, registry, names or [], session.reporter))


@environments_app.command("pull")
def environments_pull(context: typer.Context, registry: RegistryArgument, names: NamesArgument = None) -> None:
    """Pull environments by the digests that image.toml records, instead of building them."""
    from ...validators.published import pull

    session = session_of(context)
    _show_transfers(session, pull(session.workspace().environments_dir, registry, names or [], session.reporter))


def _show_transfers(session: Session, transfers: list[Transfer]) -> None:
    rows = [(t.name, t.reference) for t in transfers]
    session.reporter.table("", ("environment", "image"), rows, [vars(t) for t in transfers])


def _show_statuses(session: Session, statuses: list[Status]) -> None:
    columns = ("environment", "built", "packages", "MB", "cards", "digest", "base")
    rows = [
        (s.name, "yes" if s.built else "no", s.packages, round(s.bytes / 1e6), s.gpus, s.digest[:12], s.base[:40])
        for s in statuses
    ]
    session.reporter.table("", columns, rows, [vars(s) for s in statuses])


def _show(session: Session, outcome: Outcome, as_json: bool) -> None:
    import json

    fields = outcome.model_dump(mode="json", include=set(SHOWN))
    value = {name: fields[name] for name in SHOWN}
    if as_json and not session.reporter.json:
        print(json.dumps(value, ensure_ascii=False, indent=2))
        return
    lines = [line for line in (outcome.output.head.rstrip("\n"), outcome.output.tail.rstrip("\n")) if line]
    if outcome.output.tail:
        lines.insert(1, f"[... of {outcome.output.bytes} bytes in all ...]")
    ended = f"{outcome.outcome.value} after {outcome.duration_s:.2f} s in {outcome.sandbox}"
    session.reporter.result(value, [*lines, ended + (f": {outcome.detail}" if outcome.detail else "")])


SHOWN = ("outcome", "exit_code", "detail", "duration_s", "peak_memory_bytes", "output", "sandbox")


def _exit_code(outcome: Outcome) -> int:
    if outcome.outcome in ("infrastructure", "not_executed"):
        return 2
    return 0 if outcome.passed else 1


def _workspace(session: Session, needed: str | None) -> Workspace | None:
    """The workspace; None where there is none and nothing of it is asked for."""
    from ..errors import BenchwrightError

    try:
        return session.workspace()
    except BenchwrightError:
        if needed or session.workspace_dir:
            raise
        return None


def _limits(workspace: Workspace | None, timeout: float | None, memory: str | None) -> Limits:
    from pydantic import ValidationError

    from ..errors import BenchwrightError
    from ..models import Limits, explain

    limits = workspace.config.limits if workspace else Limits()
    changed: dict[str, float] = {}
    if timeout is not None:
        changed["timeout_s"] = timeout
    if memory is not None:
        changed["memory_bytes"] = _bytes(memory)
    try:
        return Limits.model_validate({**limits.model_dump(), **changed})
    except ValidationError as error:
        raise BenchwrightError(explain(error), where="--timeout, --memory", remedy="name a smaller limit") from error


def _bytes(text: str) -> int:
    import re

    match = re.fullmatch(r"(\d+)([kmg]?)b?", text.strip().lower())
    if match is None or int(match[1]) == 0:
        raise typer.BadParameter(f"{text!r} is no size: write 512m, 2g or a number of bytes", param_hint="--memory")
    return int(match[1]) * {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}[match[2]]


def _variables(pairs: list[str]) -> dict[str, str]:
    wrong = [pair for pair in pairs if not pair.partition("=")[0].isidentifier() or "=" not in pair]
    if wrong:
        raise typer.BadParameter(f"{wrong[0]!r} is not NAME=VALUE", param_hint="--variable")
    return dict(pair.split("=", 1) for pair in pairs)


if TYPE_CHECKING:
    from ...validators.environments import Status
    from ...validators.published import Transfer
