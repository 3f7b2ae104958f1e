"""``release``: from accepted tasks to a dataset folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .session import session_of

__all__ = ["register"]

release = typer.Typer(help="Dataset releases.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.add_typer(release, name="release")


@release.command()
def build(
    context: typer.Context,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Release folder; default: releases/VERSION."),
    ] = None,
    denormalized: Annotated[
        bool, typer.Option("--denormalized", help="Add a configuration with each row's whole document.")
    ] = False,
) -> None:
    """Build the release folder: Parquet, card, checksums, environments. Equal tasks give equal bytes."""
    from ...export.release import build_release

    session = session_of(context)
    workspace = session.workspace()
    built = build_release(workspace, output, session.mirrors_of(workspace), denormalized=denormalized)
    if built.without_text:
        session.reporter.warn(
            f"not on this machine, so their documents are named without text: {', '.join(built.without_text)} "
            "(benchwright curate fetches them, or name a --mirror)"
        )
    session.reporter.result(
        {
            "folder": str(built.folder),
            "version": built.version,
            "splits": built.splits,
            "tasks": built.tasks,
            "repositories": built.repositories,
            "yanked": built.yanked,
            "digest": built.digest,
            "without_text": list(built.without_text),
        },
        [
            f"built {built.folder}: version {built.version}, {built.tasks} tasks of {built.repositories} repositories",
            *(f"  {name}: {rows} rows" for name, rows in built.splits.items()),
            *([f"  {built.yanked} withdrawn examples left out"] if built.yanked else []),
            f"next: datasets.load_dataset({str(built.folder)!r}), or benchwright evaluate {built.folder} PREDICTIONS",
        ],
    )
