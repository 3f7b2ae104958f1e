"""``release``: from accepted tasks to a dataset folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .session import Session, session_of

if TYPE_CHECKING:
    from ...export.release import Built

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
        bool, typer.Option("--denormalized", help="Add a configuration with each row's whole document and passage.")
    ] = False,
    allow_overlap: Annotated[
        bool, typer.Option("--allow-overlap", help="Build although training and measuring overlap; the card says so.")
    ] = False,
    previous: Annotated[
        str | None,
        typer.Option(metavar="RELEASE", help="Tell changes from this release; default: the newest older one here."),
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(metavar="IDS", help="Build in spite of errors of these rules (benchwright check); repeatable."),
    ] = None,
) -> None:
    """Build the release folder: Parquet, card, checksums, environments. Equal tasks give equal bytes.

    What `benchwright check` calls an error stops it, but for rules named by --accept or under check.accept in
    benchwright.toml.
    """
    from ...export.release import build_release

    session = session_of(context)
    workspace = session.workspace()
    built = build_release(
        workspace,
        output,
        session.mirrors_of(workspace),
        denormalized=denormalized,
        allow_overlap=allow_overlap,
        previous=previous,
        accept=accept or (),
        reporter=session.reporter,
    )
    _warn(session, built)
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
            "doubtful_licenses": list(built.doubtful_licenses),
            "crossings": built.crossings.value(),
            "check": built.checked.value(),
        },
        [
            f"built {built.folder}: version {built.version}, {built.tasks} tasks of {built.repositories} repositories",
            *(f"  {name}: {rows} rows" for name, rows in built.splits.items()),
            *([f"  {built.yanked} withdrawn examples left out"] if built.yanked else []),
            f"next: datasets.load_dataset({str(built.folder)!r}), or benchwright evaluate {built.folder} PREDICTIONS",
        ],
    )


def _warn(session: Session, built: Built) -> None:
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
    for line in built.checked.lines():
        session.reporter.warn(f"benchwright check: {line}")
    for doubt in built.doubtful_licenses:
        session.reporter.warn(f"the licence of {doubt} (correct repositories.toml, or leave it where you have decided)")
    for line in built.crossings.lines():
        session.reporter.warn(f"on both sides of the border between training and measuring: {line}")


@release.command()
def split(
    context: typer.Context,
    train: Annotated[
        float, typer.Option(min=0, max=1, metavar="SHARE", help="Share of the tasks that go into id_train.")
    ] = 0.5,
    quarter: Annotated[
        float, typer.Option(min=0, max=1, metavar="SHARE", help="Share of the examples of full that are in quarter.")
    ] = 0.25,
    seed: Annotated[int, typer.Option(metavar="N", help="Another number chooses others.")] = 0,
) -> None:
    """Write splits/: full with its quarter, id_train, ood_train. What is in a list stays; what is new is added.

    A task, and what is nearly the same, is on one side. Repositories with split = "train" in repositories.toml are
    held out whole (ood_train); of the others tasks are chosen in each repository and type.
    """
    from ...export.release import assign_splits

    session = session_of(context)
    done = assign_splits(session.workspace(), train=train, quarter=quarter, seed=seed)
    session.reporter.result(
        done.value(),
        [
            *(
                f"{name}: {count} examples of {done.tasks[name]} tasks, {done.added[name]} of them new"
                for name, count in done.splits.items()
            ),
            *([f"{done.together} tasks are nearly the same as others and go with them"] if done.together else []),
            f"held out for training: {', '.join(done.held_out)}"
            if done.held_out
            else 'no repository is held out: split = "train" in repositories.toml does it',
            "next: benchwright release build",
        ],
    )


@release.command()
def diff(
    context: typer.Context,
    old: Annotated[str, typer.Argument(metavar="OLD", help="Release folder, file, or Hub id: owner/name@tag.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The release to compare with it.")],
) -> None:
    """Say what changed between two releases: examples added and removed, columns changed, splits joined and left."""
    from ...export.dataset import open_dataset
    from ...export.release import diff_releases

    found = diff_releases(open_dataset(old), open_dataset(new))
    session_of(context).reporter.result(found.as_json(), found.lines())


@release.command()
def check(
    context: typer.Context,
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="Release folder; default: the workspace's releases/VERSION.")
    ] = None,
) -> None:
    """Judge a release before anyone loads it: checksums, card, schema, every file and row, the rules of `check`."""
    from ...export.release import check_release
    from ...export.release.trees import local_tree
    from ..workspace import cache_dir
    from .export import mirrors_of

    session = session_of(context)
    clones, mirrors = cache_dir() / "repositories", mirrors_of(session)
    if folder is None:
        workspace = session.workspace()
        folder, clones = workspace.root / "releases" / workspace.config.version, workspace.clones_dir
    problems = check_release(folder, lambda repository: local_tree(repository, clones, mirrors))
    if not problems:
        session.reporter.result([], [f"{folder}: nothing is wrong"])
        return
    session.reporter.table(
        f"{folder}: {len(problems)} problems",
        ("rule", "severity", "where", "message"),
        [(item.rule, item.severity, item.where, item.message) for item in problems],
        [item.as_json() for item in problems],
    )
    if any(item.severity == "error" for item in problems):
        raise typer.Exit(1)
