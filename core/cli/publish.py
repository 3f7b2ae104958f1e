"""``release publish`` and ``release yank``: a release on the Hugging Face Hub."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from .release import release
from .session import session_of

__all__ = ["register"]


def register(_app: typer.Typer) -> None:
    """Add the commands to the ``release`` group."""
    release.command()(publish)
    release.command()(yank)


def publish(
    context: typer.Context,
    folder: Annotated[
        Path | None, typer.Argument(metavar="[RELEASE]", help="Release folder; default: releases/VERSION.")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Check everything and show the plan, as far as it can be known; change nothing."
        ),
    ] = False,
    accept: Annotated[
        list[str] | None,
        typer.Option(metavar="IDS", help="Publish in spite of errors of these rules (benchwright check); repeatable."),
    ] = None,
) -> None:
    """Publish the release on the Hub: one pull request, read back and merged, one tag. A re-run continues.

    The dataset is [hub] repository in benchwright.toml; the token comes from HF_TOKEN, `hf auth login`, or, in
    continuous integration, HF_OIDC_RESOURCE.
    """
    from ...export.hub import publish_release

    session = session_of(context)
    workspace = session.workspace()
    done = publish_release(
        workspace,
        folder,
        reporter=session.reporter,
        dry_run=dry_run,
        accept=accept or (),
        mirrors=session.mirrors_of(workspace),
    )
    session.reporter.result(done.value(), done.lines())
    if done.unknown:
        raise typer.Exit(2)


def yank(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(metavar="VERSION|ROW", help="A published version (1.2.0), or an example (REPOSITORY/NUMBER)."),
    ],
    reason: Annotated[str, typer.Option("--reason", help="What is wrong with it; readers see this.")],
) -> None:
    """Withdraw a version (marked on the Hub; tag and history stay) or an example (left out from now on)."""
    from ...export.hub import yank_example, yank_version

    session = session_of(context)
    if re.match(r"v?\d+\.\d+\.\d+", what) and "/" not in what:
        done = yank_version(session.workspace(), what, reason, reporter=session.reporter)
    else:
        done = yank_example(session.workspace(), what, reason)
    session.reporter.result(done.value(), [done.line()])
