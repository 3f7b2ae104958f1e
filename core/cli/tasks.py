"""``tasks``: accepted tasks, importing them from a published dataset, and making more examples of them."""

from __future__ import annotations

import os
from collections import Counter
from typing import Annotated

import typer

from .session import session_of

__all__ = ["register"]

tasks = typer.Typer(help="Accepted tasks and their examples.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.add_typer(tasks, name="tasks")


@tasks.command("import")
def import_(
    context: typer.Context,
    dataset: Annotated[
        str, typer.Argument(metavar="DATASET", help="Folder, Parquet or JSONL file, or Hub id: owner/name@tag.")
    ],
    split: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Import this split only; repeatable. Default: all.")
    ] = None,
) -> None:
    """Read a published dataset into tasks/; what is there already stays as it is.

    For example: benchwright tasks import super-dainiu/ml-bench --split full
    """
    from ...export.dataset import open_dataset
    from ...export.importer import import_dataset

    session = session_of(context)
    workspace = session.workspace()
    done = import_dataset(workspace, open_dataset(dataset), split or (), session.mirrors_of(workspace))
    session.reporter.result(
        {
            "rows": done.rows,
            "tasks": done.tasks,
            "added": done.added,
            "repositories": list(done.repositories),
            "splits": list(done.splits),
            "located": done.located,
            "unplaced": done.unplaced,
        },
        [
            f"{done.rows} rows of {done.tasks} tasks: {done.added} examples added, {done.rows - done.added} were there",
            *([f"found the README segment of {done.located} new tasks in its repository"] if done.added else []),
            *(
                f"  not found: {name} (the best place is {near:.0%} alike)"
                for name, near in done.unplaced.items()
                if near is not None
            ),
            *(
                f"  not looked for: {name} is not on this machine (benchwright curate fetches it, or name a --mirror)"
                for name in sorted({task.split("/")[0] for task, near in done.unplaced.items() if near is None})
            ),
            *(f"registered {name} from the preset" for name in done.repositories),
        ],
    )


@tasks.command("list")
def list_(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Repositories or REPOSITORY/TASK; default: all.")
    ] = None,
) -> None:
    """One line for each task: its type, path, examples, how many of them are verified, and origin."""
    from ...validators.controls import standings
    from ..tasks import load_tasks

    session = session_of(context)
    workspace = session.workspace()
    items = load_tasks(workspace, names or ())
    states: dict[str, Counter[str]] = {item.task.id: Counter() for item in items}
    for item, _, standing in standings(workspace, items):
        states[item.task.id][standing.state.value] += 1
    session.reporter.table(
        "",
        ("task", "type", "path", "examples", "verified", "flaky", "failed", "withdrawn", "origin"),
        [
            (
                item.task.id,
                item.task.type,
                item.task.path,
                states[item.task.id].total(),
                *(states[item.task.id][state] for state in ("verified", "flaky", "failed")),
                sum(example.yanked is not None for example in item.examples),
                item.task.origin,
            )
            for item in items
        ],
    )


@tasks.command()
def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="REPOSITORY/TASK", help="The task, as `tasks list` names it.")],
) -> None:
    """All of one task: its record, its README segment, its examples and where each stands."""
    from ...validators.controls.page import task_page
    from ..errors import BenchwrightError
    from ..tasks import load_tasks

    session = session_of(context)
    if "/" not in name:
        raise BenchwrightError(f"{name} names no task", remedy="benchwright tasks list shows the names")
    workspace = session.workspace()
    (item,) = load_tasks(workspace, [name])
    page = task_page(workspace, item)
    session.reporter.result(page.as_json(), page.lines())


@tasks.command()
def expand(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Repositories or REPOSITORY/TASK; default: all.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, max=10_000, help="How many made examples each task shall have.")] = 20,
    seed: Annotated[int, typer.Option(help="Decides which values and words; the same one gives the same.")] = 0,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Let this model write the instructions instead of sentences of ours."),
    ] = None,
    base_url: Annotated[
        str,
        typer.Option(
            metavar="URL",
            envvar=["BENCHWRIGHT_TASKS_EXPAND_BASE_URL", "OPENAI_BASE_URL"],
            help="The model's OpenAI-compatible endpoint; the key is read from OPENAI_API_KEY and never written down.",
        ),
    ] = "https://api.openai.com/v1",
) -> None:
    """Make further examples: other argument values in the output, and an instruction that states every one.

    What people wrote stays as it is. Every new example passes the rules of `check`; `validate` then runs it.

    A model's instructions are taken if they state every value and hold no code.

    For example: benchwright tasks expand tiny --count 50
    """
    from ...annotation.expansion.expanding import expand as expand_tasks
    from ...annotation.expansion.writing import Writer

    session = session_of(context)
    workspace, reporter = session.workspace(), session.reporter
    mirrors = session.mirrors_of(workspace)
    writer = Writer(model, base_url, os.environ.get("OPENAI_API_KEY"), reporter) if model else None
    done = expand_tasks(workspace, names or (), count, seed=seed, mirrors=mirrors, writer=writer, reporter=reporter)
    session.reporter.result(done.value(), done.lines(count))
