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
) -> None:
    """Build the release folder: Parquet, card, checksums, environments. Equal tasks give equal bytes."""
    from ...export.release import build_release

    session = session_of(context)
    built = build_release(session.workspace(), output)
    session.reporter.result(
        {
            "folder": str(built.folder),
            "version": built.version,
            "splits": built.splits,
            "tasks": built.tasks,
            "repositories": built.repositories,
            "yanked": built.yanked,
            "digest": built.digest,
        },
        [
            f"built {built.folder}: version {built.version}, {built.tasks} tasks of {built.repositories} repositories",
            *(f"  {name}: {rows} rows" for name, rows in built.splits.items()),
            *([f"  {built.yanked} withdrawn examples left out"] if built.yanked else []),
            f"next: datasets.load_dataset({str(built.folder)!r}), or benchwright evaluate {built.folder} PREDICTIONS",
        ],
    )
