"""``check``: the rules over a workspace or a dataset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .session import Session, session_of

if TYPE_CHECKING:
    from ...validators.checks import Report, Rule

__all__ = ["register"]

MOST_ROUNDS = 4
"""Rules on one column are mended one after the other."""


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command()(check)


def check(
    context: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="WORKSPACE | DATASET",
            help="A workspace's folder, or a dataset: folder, Parquet or JSONL file, Hub id. Default: this workspace.",
            show_default=False,
        ),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="IDS", help="Only these rules: BW201, BW3 or a name; repeatable."),
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(metavar="IDS", help="All but these rules; repeatable.")] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what is safe to mend, then check again.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.", show_envvar=False)] = False,
) -> None:
    """Find faults in examples; exit code 1 where one of severity error is found. Rules: docs/rules.md."""
    from ...validators.checks import selected

    session = session_of(context)
    rules = list(selected(select or (), ignore or ()))
    report = _workspace(session, target, rules, fix) if _is_workspace(target) else _dataset(session, target, rules, fix)
    if as_json and not session.reporter.json:
        print(json.dumps([item.as_json() for item in report.findings], ensure_ascii=False, indent=2))
    else:
        session.reporter.result([item.as_json() for item in report.findings], report.lines())
    raise typer.Exit(report.exit_code)


def _is_workspace(target: str | None) -> bool:
    from ..config import FILE_NAME

    return target is None or (Path(target) / FILE_NAME).is_file()


def _workspace(session: Session, target: str | None, rules: list[Rule], fix: bool) -> Report:
    from ...validators.checks import check_workspace, fix_workspace
    from ..workspace import Workspace

    workspace = Workspace.find(Path(target)) if target else session.workspace()
    mirrors = session.mirrors_of(workspace)
    report = check_workspace(workspace, rules, mirrors=mirrors, reporter=session.reporter)
    rounds = MOST_ROUNDS if fix else 0
    while rounds and (changed := fix_workspace(workspace, report)):
        rounds -= 1
        session.reporter.say(f"mended {changed} examples; benchwright validate runs them again")
        report = check_workspace(workspace, rules, mirrors=mirrors, reporter=session.reporter)
    return report


def _dataset(session: Session, target: str | None, rules: list[Rule], fix: bool) -> Report:
    from ...curation.presets import preset_repositories
    from ...export.dataset import open_dataset
    from ...validators.checks import check_dataset, fix_dataset
    from ..errors import BenchwrightError
    from ..workspace import Workspace, cache_dir

    assert target is not None
    dataset = open_dataset(target)
    if fix and dataset.revision is not None:
        raise BenchwrightError(
            "a dataset on the Hub is not mended there",
            where=target,
            remedy="benchwright tasks import it into a workspace, then benchwright check --fix there",
        )
    own = Workspace(dataset.folder).repositories() if dataset.folder else []
    repositories = [*preset_repositories("ml-bench"), *own]  # a release's own registry comes last and counts

    def once() -> Report:
        return check_dataset(
            dataset.splits,
            repositories,
            rules,
            clones_dir=cache_dir() / "repositories",
            mirrors=session.mirrors,
            reporter=session.reporter,
        )

    report = once()
    rounds = MOST_ROUNDS if fix else 0
    while rounds and (changed := fix_dataset(dataset.splits, report)):
        rounds -= 1
        session.reporter.say(f"mended {changed} examples")
        report = once()
    return report
