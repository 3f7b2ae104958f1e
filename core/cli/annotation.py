"""``annotate``: the local Label Studio server, sending candidates to people, taking back what they did."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from .session import session_of

__all__ = ["register"]

annotate = typer.Typer(help="Have candidates judged by people in Label Studio.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.add_typer(annotate, name="annotate")


@annotate.command()
def up(
    context: typer.Context,
    port: Annotated[
        int | None, typer.Option(metavar="N", help="Port on 127.0.0.1; default: as last time, else 8080.")
    ] = None,
) -> None:
    """Start this workspace's Label Studio server, installing it first if it is not there."""
    from ...annotation import server

    session = session_of(context)
    found = server.up(session.workspace(), port, session.reporter)
    login = {"email": found.email, "password": found.password} if found.new else {}
    where = session.workspace().private_dir / "label-studio" / "login.toml"
    shown = [f"{name}: {value}" for name, value in login.items()] or [f"its login is in {where}"]
    session.reporter.result({"url": found.url, **login}, [f"Label Studio is up: {found.url}", *shown])


@annotate.command()
def down(context: typer.Context) -> None:
    """End this workspace's Label Studio server; its data stays."""
    from ...annotation import server

    session = session_of(context)
    ended = server.down(session.workspace(), session.reporter)
    session.reporter.result({"ended": ended}, ["Label Studio has ended" if ended else "no Label Studio server was up"])


@annotate.command()
def push(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Repositories; default: all that were curated.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the N best candidates.")] = None,
    min_score: Annotated[
        float | None, typer.Option(metavar="X", help="Only candidates with this score or more.")
    ] = None,
    project: Annotated[
        str | None, typer.Option(metavar="TITLE", help="The project's title; default: the benchmark's name.")
    ] = None,
) -> None:
    """Make each candidate a task on the server, once; changed ones are updated and keep their annotations."""
    from ...annotation import push as run

    session = session_of(context)
    report = run(
        session.workspace(),
        repositories=names or (),
        limit=limit,
        min_score=min_score,
        title=project,
        reporter=session.reporter,
    )
    session.reporter.result(asdict(report), report.lines())


@annotate.command()
def pull(context: typer.Context) -> None:
    """Archive all annotations, then write the accepted ones into tasks/."""
    from ...annotation import pull as run

    session = session_of(context)
    report = run(session.workspace(), reporter=session.reporter)
    session.reporter.result(asdict(report), report.lines())
