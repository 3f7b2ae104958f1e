"""``repos``, ``curate`` and ``candidates``: from pinned repositories to candidate tasks."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .session import session_of

__all__ = ["register"]

repos = typer.Typer(help="Register repositories and keep their pins.", no_args_is_help=True)
candidates = typer.Typer(help="Look at what curation found.", no_args_is_help=True)

Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Repositories; default: all registered.")]


class Format(StrEnum):
    """How candidates are written."""

    JSONL = "jsonl"


@repos.command("add")
def add(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="https://HOST/OWNER/NAME, or git@HOST:OWNER/NAME.git")],
    commit: Annotated[str, typer.Option(metavar="REV", help="Commit id, branch or tag to pin.")],
    name: Annotated[str | None, typer.Option(help="Name in this workspace; default: the repository's own.")] = None,
    allow_file: Annotated[
        bool, typer.Option("--allow-file", help="Permit a file:// address, read from this machine.")
    ] = False,
) -> None:
    """Register a repository at a commit; its licence is looked up and written down."""
    from ...curation.repositories import add as add_repository

    session = session_of(context)
    workspace = session.workspace()
    added = add_repository(
        workspace, url, commit, name=name, mirrors=session.mirrors_of(workspace), allow_file=allow_file
    )
    session.reporter.result(added.as_json(), added.lines())


@repos.command("update")
def update(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A registered repository.")],
    commit: Annotated[str, typer.Option(metavar="REV", help="Commit id, branch or tag to pin from now on.")],
) -> None:
    """Move a pin, and say which candidates and tasks stay, change or vanish."""
    from ...curation.repositories import update as update_repository

    session = session_of(context)
    workspace = session.workspace()
    moved = update_repository(workspace, name, commit, mirrors=session.mirrors_of(workspace))
    session.reporter.result(moved.as_json(), moved.lines())


@repos.command("list")
def list_repositories(context: typer.Context) -> None:
    """Show the registered repositories."""
    session = session_of(context)
    found = session.workspace().repositories()
    session.reporter.table(
        "",
        ("name", "github_id", "commit", "licence", "split", "address"),
        [(r.name, r.github_id, r.commit[:12], r.license or "none found", r.split, r.url) for r in found],
        [r.model_dump(mode="json", exclude={"schema_version"}) for r in found],
    )


@repos.command("check")
def check(context: typer.Context, names: Names = None) -> None:
    """Say for each repository whether its pin is there, its licence, size, submodules, and what is missing."""
    from ...curation.repositories import check as check_repositories

    session = session_of(context)
    workspace = session.workspace()
    states = check_repositories(workspace, names or (), session.mirrors_of(workspace), session.reporter)
    session.reporter.table(
        "", states[0].COLUMNS if states else ("name",), [s.row() for s in states], [s.as_json() for s in states]
    )
    if any(state.problems for state in states):
        raise typer.Exit(1)


def curate(
    context: typer.Context,
    names: Names = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; default: one for each processor.")] = None,
) -> None:
    """Find candidate tasks in the documents of the repositories, each at its pin."""
    from ...curation import curate as curate_repositories
    from ...curation.report import show

    session = session_of(context)
    workspace = session.workspace()
    mirrors = session.mirrors_of(workspace)
    results = curate_repositories(workspace, names or (), jobs=jobs, mirrors=mirrors, reporter=session.reporter)
    show(results, session.reporter)


@candidates.command("list")
def list_candidates(
    context: typer.Context,
    names: Names = None,
    kind: Annotated[str | None, typer.Option("--type", help="Only 'bash' or 'python' candidates.")] = None,
    minimum: Annotated[float, typer.Option("--min-score", help="Only candidates of at least this score.")] = 0.0,
    document: Annotated[str | None, typer.Option(help="Only candidates of this document.")] = None,
    sort: Annotated[str, typer.Option(help="'score', 'document' or 'id'.")] = "score",
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many of each repository.")] = None,
) -> None:
    """List candidates, best first."""
    from ...curation.report import chosen, registered, show_list

    session = session_of(context)
    workspace = session.workspace()
    with workspace.open_store() as store:
        found = chosen(store.candidates(registered(workspace, names)), kind, minimum, document, sort, limit)
        show_list(found, session.reporter)


@candidates.command("show")
def show_candidate(
    context: typer.Context,
    candidate_id: Annotated[str, typer.Argument(metavar="ID", help="A candidate's id, or the beginning of it.")],
    code: Annotated[bool, typer.Option("--context", help="Show the code that it uses instead.")] = False,
) -> None:
    """Show one candidate with everything an annotator sees, and the values worth trying."""
    from ...curation.report import show_one
    from ...curation.slots import slots_of

    session = session_of(context)
    with session.workspace().open_store() as store:
        candidate = store.candidate(candidate_id)
        slots = slots_of(candidate, store.candidates([candidate.repository.name]))
        show_one(candidate, session.reporter, slots, code)


@candidates.command("export")
def export(
    context: typer.Context,
    names: Names = None,
    form: Annotated[Format, typer.Option("--format", help="One JSON object a line.")] = Format.JSONL,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Default: print them.")] = None,
) -> None:
    """Write candidates as JSON lines, by repository name and best first."""
    from ...curation.report import export_lines, registered

    session = session_of(context)
    workspace = session.workspace()
    with workspace.open_store() as store:
        export_lines(store, registered(workspace, names), output, session.reporter)


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.add_typer(repos, name="repos")
    app.command()(curate)
    app.add_typer(candidates, name="candidates")
