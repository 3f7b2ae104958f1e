"""``demo``: the whole pipeline on two small repositories that the package carries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .session import session_of

__all__ = ["demo"]


def demo(
    context: typer.Context,
    directory: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Folder for its workspace; a second run goes on in it.")
    ] = Path("demo-workspace"),
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave Label Studio running, with its address and login.")
    ] = False,
) -> None:
    """Walk the whole pipeline on two small repositories that the package carries."""
    from ...export.demo import run_demo

    session = session_of(context)
    done = run_demo(directory, keep, session.reporter)
    session.reporter.table(
        f"What happened, and where it lies in {directory}",
        ("stage", "result", "where", "s"),
        [(step.stage, step.result, step.where, f"{step.seconds:.1f}") for step in done.steps],
        done.as_json(),
    )
    if done.label_studio and not session.reporter.json:
        session.reporter.result(None, [f"Label Studio {key}: {value}" for key, value in done.label_studio.items()])
