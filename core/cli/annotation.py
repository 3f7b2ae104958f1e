"""``annotate``: the local Label Studio server, sending candidates to people, taking back what they did."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .session import session_of
from .validation import SandboxName, SandboxOption

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
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="PostgreSQL instead of SQLite, for teams: postgresql://USER:PASSWORD@HOST:PORT/NAME."
        ),
    ] = None,
) -> None:
    """Start this workspace's Label Studio server, installing it first if it is not there."""
    from ...annotation import server

    session = session_of(context)
    found = server.up(session.workspace(), port, session.reporter, database)
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
    execute: Annotated[
        bool,
        typer.Option("--execute", help="First run the suggested scripts that were not run yet, to show the result."),
    ] = False,
    sandbox: SandboxOption = SandboxName.DOCKER,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at the same time (with --execute).")] = 1,
) -> None:
    """Make each candidate a task on the server, once; changed ones are updated and keep their annotations."""
    from ...annotation import Selection, push_to, share_of
    from ...annotation import push as push_shared
    from ...annotation.trials import run_suggestions

    if not annotators and (overlap or gold):
        raise typer.BadParameter("--overlap and --gold need --annotators")
    session = session_of(context)
    workspace, reporter = session.workspace(), session.reporter
    chosen = Selection(tuple(names or ()), limit, min_score)
    people = [name.strip() for name in (annotators or "").split(",") if name.strip()]
    if execute:
        run_suggestions(
            workspace,
            chosen,
            sandbox=sandbox.value,
            jobs=jobs,
            mirrors=session.mirrors_of(workspace),
            reporter=reporter,
        )
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


@annotate.command("send-back")
def send_back(
    context: typer.Context,
    candidate: Annotated[str, typer.Argument(metavar="CANDIDATE", help="Its id, or the beginning of it.")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="What is to be done; the annotator is shown it.")],
    annotator: Annotated[
        str | None, typer.Option(metavar="NAME", help="Pseudonym or e-mail address; default: the only one.")
    ] = None,
) -> None:
    """Open a task again for an annotator, with the reason; the archive keeps what was said."""
    from ...annotation.returning import send_back as run

    session = session_of(context)
    done = run(session.workspace(), candidate, reason, annotator, reporter=session.reporter)
    session.reporter.result(asdict(done), done.lines())


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


@annotate.command()
def live(
    context: typer.Context,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0: a free one.")] = 0,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="How the server reaches this; default: by address and port.")
    ] = None,
    sandbox: SandboxOption = SandboxName.DOCKER,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at the same time.")] = 1,
    waiting: Annotated[int, typer.Option(min=0, metavar="N", help="Drafts that may wait in line.")] = 16,
    timeout: Annotated[float, typer.Option(metavar="S", min=0.1, help="Wall limit of a run in seconds.")] = 30.0,
) -> None:
    """Run annotators' scripts in the sandbox while they type and show them the result, until ^C."""
    from ...annotation.live import LiveOptions, serve

    session = session_of(context)
    workspace = session.workspace()
    options = LiveOptions(host, port, url, sandbox.value, jobs, waiting, timeout)
    serve(workspace, options, mirrors=session.mirrors_of(workspace), reporter=session.reporter)
