"""``annotate``: the local Label Studio server, sending candidates to people, taking back what they did."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .session import session_of

if TYPE_CHECKING:
    from ...annotation import PushReport, TeamReport

__all__ = ["register"]

TITLE = typer.Option(metavar="TITLE", help="The project's title; default: the benchmark's name.")

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
    project: Annotated[str | None, TITLE] = None,
    annotators: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="A project for each of these e-mail addresses (or names, made accounts)."),
    ] = None,
    overlap: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="How many annotators judge each candidate (with --annotators)."),
    ] = None,
    gold: Annotated[
        str | None,
        typer.Option(metavar="P", help="Share of tasks with a settled answer to mix in, as 10% (with --annotators)."),
    ] = None,
) -> None:
    """Make each candidate a task on the server, once; changed ones are updated and keep their annotations."""
    from ...annotation import Selection, push_to, share_of
    from ...annotation import push as push_shared

    if not annotators and (overlap or gold):
        raise typer.BadParameter("--overlap and --gold need --annotators")
    session = session_of(context)
    workspace, reporter = session.workspace(), session.reporter
    chosen = Selection(tuple(names or ()), limit, min_score)
    people = [name.strip() for name in (annotators or "").split(",") if name.strip()]
    report: TeamReport | PushReport
    if people:
        share = share_of(gold)
        report = push_to(workspace, people, chosen, overlap=overlap or 1, gold=share, title=project, reporter=reporter)
    else:
        report = push_shared(workspace, chosen, title=project, reporter=reporter)
    session.reporter.result(asdict(report), report.lines())


@annotate.command()
def pull(context: typer.Context) -> None:
    """Archive all annotations, then write the accepted ones into tasks/."""
    from ...annotation import pull as run

    session = session_of(context)
    report = run(session.workspace(), reporter=session.reporter)
    session.reporter.result(asdict(report), report.lines())


@annotate.command()
def status(context: typer.Context) -> None:
    """Show how far each annotator is, how fast, and how well against gold and the others, as of the last pull."""
    from ...annotation.progress import BLINDNESS, columns_and_rows
    from ...annotation.progress import status as run

    session = session_of(context)
    standings = run(session.workspace())
    session.reporter.table("", *columns_and_rows(standings), [asdict(standing) for standing in standings])
    session.reporter.say(BLINDNESS)


@annotate.command()
def agreement(
    context: typer.Context,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a page with plots, by repository and annotator.")
    ] = None,
) -> None:
    """Show how far annotators agree, field by field, with bootstrap intervals."""
    from ...annotation import consensus

    session = session_of(context)
    workspace = session.workspace()
    report = consensus.agreement(workspace)
    if html:
        consensus.write_page(report, html, workspace.config.name)
    title = f"{report.candidates} candidates judged by two or more of {len(report.annotators)} annotators"
    session.reporter.table(title, *report.rows(), report.value())


@annotate.command()
def adjudicate(context: typer.Context, project: Annotated[str | None, TITLE] = None) -> None:
    """Make a project of the candidates whose annotators differ, with all answers side by side."""
    from ...annotation.adjudication import adjudicate as run

    session = session_of(context)
    report = run(session.workspace(), title=project, reporter=session.reporter)
    session.reporter.result(asdict(report), report.lines())
