"""``evaluate`` and ``report``: scoring answers and looking at scores."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .session import Session, session_of

__all__ = ["MOST_SAMPLES", "register"]

MOST_SAMPLES = 10_000
"""Of an example, by declaration: every missing one is a failure that has its line."""


class Protocol(StrEnum):
    """Which score is the headline."""

    STRICT = "strict"
    ML_BENCH = "ml-bench"


class TaskTypeName(StrEnum):
    """Which of the two types."""

    BASH = "bash"
    PYTHON = "python"


class SandboxName(StrEnum):
    """Where text of others is executed."""

    DOCKER = "docker"
    BUBBLEWRAP = "bubblewrap"
    PROCESS = "process"


class EngineName(StrEnum):
    """What spreads the executions."""

    LOCAL = "local"
    RAY = "ray"


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command()(evaluate)
    app.command()(report)


def evaluate(
    context: typer.Context,
    release: Annotated[
        str, typer.Argument(metavar="RELEASE", help="Release folder, Parquet or JSONL file, or Hub id: owner/name@tag.")
    ],
    predictions: Annotated[
        Path,
        typer.Argument(metavar="PREDICTIONS", help='JSONL: {"github_id", "id", "output": [sample, ...]} a line.'),
    ],
    protocol: Annotated[
        Protocol, typer.Option(help="The headline: ours, or the published runner's verdicts. Both are computed.")
    ] = Protocol.STRICT,
    samples: Annotated[
        str | None,
        typer.Option(metavar="N|varying", help="Samples declared for each example; default: the largest count."),
    ] = None,
    no_execute: Annotated[bool, typer.Option("--no-execute", help="Check the text only; execute nothing.")] = False,
    regrade: Annotated[
        bool, typer.Option("--regrade", help="Judge the executions recorded in the run's folder again.")
    ] = False,
    repository: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Examples of this repository only; repeatable.")
    ] = None,
    type: Annotated[TaskTypeName | None, typer.Option(help="Examples of this type only.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="The first N examples only.")] = None,
    environments: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Environments; default: those of the release.")
    ] = None,
    sandbox: Annotated[SandboxName | None, typer.Option(help="Where answers are executed.")] = None,
    engine: Annotated[
        EngineName, typer.Option(help="This machine, or the Ray cluster at RAY_ADDRESS (none: one started here).")
    ] = EngineName.LOCAL,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Executions at a time; default: what the machine or cluster holds."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Folder of the run; default: PREDICTIONS.run.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many hours it will take; execute empty scripts only.")
    ] = False,
    times: Annotated[
        list[Path] | None,
        typer.Option(metavar="RUN", help="With --dry-run: an earlier run of this release to take times from."),
    ] = None,
) -> None:
    """Score a model's answers: pass@1, 2 and 5 for each repository, with intervals and the three denominators.

    For example: benchwright evaluate releases/1.0.0 predictions.jsonl --sandbox docker -o run
    """
    from ...export.dataset import open_dataset
    from ...export.evaluation import Options, plan
    from ...export.evaluation import evaluate as run
    from ...export.evaluation.table import notes, table_rows
    from ..errors import BenchwrightError

    session = session_of(context)
    dataset = open_dataset(release)
    own = dataset.folder / "environments" if dataset.folder else None
    if environments and not environments.is_dir():
        raise BenchwrightError("there is no such folder of environments", where=str(environments))
    options = Options(
        protocol=protocol.value,
        samples=_declared(samples),
        execute=not no_execute,
        regrade=regrade,
        limit=limit,
        repositories=tuple(repository or ()),
        type=None if type is None else {"bash": "Bash Script", "python": "Python Code"}[type],
        sandbox=sandbox.value if sandbox else None,
        workers=jobs,
        engine=engine.value,
        environments_dir=environments or (own if own and own.is_dir() else None),
        mirrors=_mirrors(session),
    )
    if regrade and (no_execute or dry_run):
        raise BenchwrightError(
            f"--regrade and {'--no-execute' if no_execute else '--dry-run'} exclude each other", remedy="leave one out"
        )
    if times and not dry_run:
        raise BenchwrightError("--times is for --dry-run", remedy="add --dry-run, or leave --times out")
    folder = output or predictions.with_suffix(".run")
    if dry_run:
        planned = plan(dataset, predictions, options, folder, times or [], session.reporter)
        session.reporter.result(planned.as_json(), planned.lines())
        return
    done = run(dataset, predictions, options, folder, session.reporter)
    titles, rows = table_rows(done.report)
    session.reporter.table(f"{release}, protocol {protocol.value}", titles, rows, done.report)
    for note in [*notes(done.report), f"results: {done.folder / 'results.jsonl'}, {done.folder / 'report.json'}"]:
        session.reporter.say(note)
    if done.ungraded:
        session.reporter.warn(f"{done.ungraded} executions were spoilt by the machine: run the same command again")
        raise typer.Exit(2)


def _declared(samples: str | None) -> int | str | None:
    from ..errors import BenchwrightError

    if samples is None or samples == "varying":
        return samples
    if not samples.isascii() or not samples.isdigit() or not samples.strip("0"):
        raise BenchwrightError(f"--samples is a number or the word varying, not {samples!r}")
    if len(samples) > len(str(MOST_SAMPLES)) or int(samples) > MOST_SAMPLES:
        raise BenchwrightError(f"--samples is {MOST_SAMPLES} at most")
    return int(samples)


def _mirrors(session: Session) -> tuple[str, ...]:
    """The options' mirrors, and those of the workspace if the command is called in one."""
    from ..errors import BenchwrightError

    try:
        return session.mirrors_of(session.workspace())
    except BenchwrightError:
        if session.workspace_dir is not None:
            raise
        return session.mirrors


def report(
    context: typer.Context,
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders that `evaluate -o` wrote.")],
    compare: Annotated[
        bool, typer.Option("--compare", help="Test each later run against the first, example by example.")
    ] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write one self-contained HTML file.")] = None,
) -> None:
    """Show finished evaluations again: as a table, compared, or as one HTML file with every sample.

    For example: benchwright report run-a run-b --compare --html report.html
    """
    from ...export.evaluation.runs import compare as compare_runs
    from ...export.evaluation.runs import open_run
    from ...export.evaluation.table import comparison_lines, runs_table
    from ..files import atomic_write

    session = session_of(context)
    opened = [open_run(folder) for folder in runs]
    comparisons, alike = compare_runs(opened, opened[0].report["headline"]) if compare else ([], {})
    if html is not None:
        from ...export.evaluation.page import html_page

        atomic_write(html, html_page(opened, comparisons))
        session.reporter.say(f"wrote {html}")
    titles, rows = runs_table(opened)
    value = {
        "runs": {run.name: run.report["protocols"] for run in opened},
        "comparisons": [item.as_json() for item in comparisons],
        **alike,
    }
    session.reporter.table("", titles, rows, value)
    if not session.reporter.json:
        for line in comparison_lines(comparisons, alike):
            print(line)
