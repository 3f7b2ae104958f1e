"""``export``: a release in the formats of other tools."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .session import Session, session_of

__all__ = ["register"]

export = typer.Typer(help="A release in the formats of other tools.", no_args_is_help=True)

Release = Annotated[
    str, typer.Argument(metavar="RELEASE", help="Release folder, data file, or Hub id: owner/name@tag.")
]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to make.")]


class Setting(StrEnum):
    """What a model is given of the repository."""

    CODE = "code"
    RETRIEVAL = "retrieval"
    ORACLE = "oracle"


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.add_typer(export, name="export")


@export.command()
def chat(
    context: typer.Context,
    release: Release,
    output: Output,
    split: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="This train split only; repeatable. Default: all of them.")
    ] = None,
    setting: Annotated[
        list[Setting] | None, typer.Option(help="This setting only; repeatable. Default: all three.")
    ] = None,
    characters: Annotated[
        int, typer.Option(min=1000, metavar="N", help="Characters of files in the code setting.")
    ] = 100_000,
) -> None:
    """Training examples as chat messages (a JSONL file for each setting); never from test splits."""
    from ...export.chat import SETTINGS, export_chat
    from ...export.dataset import open_dataset

    session = session_of(context)
    done = export_chat(
        open_dataset(release),
        output,
        splits=split or (),
        settings=[item.value for item in setting or ()] or SETTINGS,
        characters=characters,
        mirrors=mirrors_of(session),
        reporter=session.reporter,
    )
    lines = [f"{name}.jsonl: {count} conversations" for name, count in done.lines.items()]
    session.reporter.result(
        done.value(),
        [
            *lines,
            *([f"{done.held_out} examples left out: a test split has them too"] if done.held_out else []),
            f"next: datasets.load_dataset('json', data_files='{output}/oracle.jsonl')",
        ],
    )


def mirrors_of(session: Session) -> tuple[str, ...]:
    """The options' mirrors, and those of the workspace if the command is called in one."""
    from ..errors import BenchwrightError

    try:
        return session.mirrors_of(session.workspace())
    except BenchwrightError:
        if session.workspace_dir:
            raise
        return session.mirrors


@export.command()
def harbor(
    context: typer.Context,
    release: Release,
    output: Output,
    split: Annotated[str | None, typer.Option(metavar="NAME", help="The split; default: full.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="The first N examples only.")] = None,
    environments: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Environments; default: those of the release.")
    ] = None,
    build: Annotated[bool, typer.Option("--build", help="Build the tasks' images with the Docker engine.")] = False,
) -> None:
    """Harbor tasks, one for each example: environment, instruction, solution, and a verifier of our strict protocol."""
    from ...export.dataset import open_dataset
    from ...export.harbor import export_harbor

    session = session_of(context)
    done = export_harbor(
        open_dataset(release),
        output,
        split=split,
        limit=limit,
        environments_dir=environments,
        build=build,
        mirrors=mirrors_of(session),
        reporter=session.reporter,
    )
    session.reporter.result(
        done.value(),
        [
            f"wrote {done.tasks} tasks with {len(done.images)} images to {output}",
            f"next: harbor run --path {output}/tasks --agent oracle" if done.built else f"next: see {output}/README.md",
        ],
    )


@export.command()
def inspect(
    context: typer.Context,
    release: Release,
    output: Output,
    split: Annotated[str | None, typer.Option(metavar="NAME", help="The split; default: full.")] = None,
    setting: Annotated[
        list[Setting] | None, typer.Option(help="What the model is given; repeatable. Default: oracle.")
    ] = None,
    environments: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Environments; default: those of the release.")
    ] = None,
) -> None:
    """An inspect_ai task file with our scorer and sandbox: inspect eval DIR/NAME.py --model PROVIDER/MODEL."""
    from ...export.dataset import open_dataset
    from ...export.inspect_ai import export_inspect

    session = session_of(context)
    done = export_inspect(
        open_dataset(release),
        output,
        split=split,
        settings=[item.value for item in setting or ()] or ("oracle",),
        environments_dir=environments,
        mirrors=mirrors_of(session),
        reporter=session.reporter,
    )
    session.reporter.result(
        done.value(),
        [
            *(f"{name}.jsonl: {count} samples" for name, count in done.samples.items()),
            f"next: inspect eval {done.task_file} --model PROVIDER/MODEL",
        ],
    )
