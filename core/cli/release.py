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
    if built.unverified:
        some = ", ".join(built.unverified[:5]) + (", ..." if len(built.unverified) > 5 else "")
        session.reporter.warn(
            f"{len(built.unverified)} of {built.splits['full']} rows are not known to pass: {some} "
            "(verified_at is empty there; benchwright validate runs them)"
        )
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
            "unverified": list(built.unverified),
            "without_text": list(built.without_text),
        },
        [
            f"built {built.folder}: version {built.version}, {built.tasks} tasks of {built.repositories} repositories",
            *(f"  {name}: {rows} rows" for name, rows in built.splits.items()),
            *([f"  {built.yanked} withdrawn examples left out"] if built.yanked else []),
            f"next: datasets.load_dataset({str(built.folder)!r}), or benchwright evaluate {built.folder} PREDICTIONS",
        ],
    )


@release.command()
def diff(
    context: typer.Context,
    old: Annotated[str, typer.Argument(metavar="OLD", help="Release folder, file, or Hub id: owner/name@tag.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The release to compare with it.")],
) -> None:
    """Say what changed between two releases: examples added and removed, columns changed, splits joined and left."""
    from ...export.diff import diff_releases
    from ...export.sources import open_dataset

    found = diff_releases(open_dataset(old), open_dataset(new))
    session_of(context).reporter.result(found.as_json(), found.lines())


@release.command()
def check(
    context: typer.Context,
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="Release folder; default: the workspace's releases/VERSION.")
    ] = None,
) -> None:
    """Judge a release before anyone loads it: checksums, card, schema, every file and every row."""
    from ...export.verify import check_release

    session = session_of(context)
    if folder is None:
        workspace = session.workspace()
        folder = workspace.root / "releases" / workspace.config.version
    problems = check_release(folder)
    session.reporter.table(
        f"{folder}: {len(problems)} problems" if problems else f"{folder}: nothing is wrong",
        ("rule", "severity", "where", "message"),
        [(item.rule, item.severity, item.where, item.message) for item in problems],
        [item.as_json() for item in problems],
    )
    if any(item.severity == "error" for item in problems):
        raise typer.Exit(1)
