"""The command line: the composition root; in ``core`` the one place that names the stages.

Comes in: the user's words. Goes out: a call of one function of one stage, its result as a table or JSON, an exit
code (0 done, 1 problems found, 2 usage, prerequisite or infrastructure, 130 interrupted). Each command imports its
stage when it runs, so ``--help`` stays fast. Open ``session.py`` first, then the file of the command you look for.
"""

from __future__ import annotations

import errno
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from .. import toolkit_version
from ..errors import BenchwrightError
from ..progress import Reporter
from . import annotation, check, curation, demo, evaluation, export, predict, publish, release, setup, tasks, validation
from .session import Session

__all__ = ["app", "main"]

app = typer.Typer(
    name="benchwright",
    help="Make a repository-level machine-learning benchmark and keep it alive.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"auto_envvar_prefix": "BENCHWRIGHT", "help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"benchwright {toolkit_version()}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    workspace: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Workspace; default: the nearest folder upwards with a benchwright.toml."),
    ] = None,
    mirror: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEMPLATE",
            help="Read repositories from here, e.g. file:///srv/git/{owner}+{name}/repo; repeatable.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", envvar="BENCHWRIGHT_JSON", help="Print the result as JSON.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print results and errors only.")] = False,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, show_envvar=False, help="Print the version."),
    ] = False,
) -> None:
    context.obj = Session(workspace, tuple(mirror or ()), Reporter(as_json, quiet))


app.command()(setup.init)
for part in (curation, annotation, tasks, check, validation, release, publish, export, predict, evaluation):
    part.register(app)
app.command()(demo.demo)
app.command()(setup.doctor)


def main() -> None:
    """Run the command line; a user's mistake ends in one clear message, never a traceback."""
    try:
        _refuse_empty_words(sys.argv[1:])
        app()
    except BenchwrightError as error:
        _fail(error)
    except OSError as error:
        _fail(_of_the_system(error))


def _refuse_empty_words(words: list[str]) -> None:
    """An empty word is a variable of the shell that was never set; as a path it would mean the folder one is in."""
    for before, word in zip(["", *words], words, strict=False):
        if word == "" or (word.startswith("--") and word.endswith("=")):
            raise BenchwrightError(
                "a word of the command line is empty",
                where=word.rstrip("=") or (f"after {before}" if before else "the first word"),
                remedy="give it a value, or leave the option out; a variable of the shell may not be set",
            )


def _of_the_system(error: OSError) -> BenchwrightError:
    """What the operating system refused, with the way out."""
    remedies = {
        errno.ENOSPC: "free space where the command writes (df -h names full disks), then run it again",
        errno.EDQUOT: "free space within your quota, then run the command again",
        errno.EROFS: "name another folder, or make this one writable",
        errno.EACCES: "permit access to it, or name another one",
        errno.EPERM: "permit access to it, or name another one",
        errno.ENOTDIR: "a folder is needed there: name another one",
        errno.EMFILE: "raise the limit of open files (ulimit -n), then run the command again",
    }
    where = error.filename and str(error.filename)
    return BenchwrightError(error.strerror or str(error), where=where, remedy=remedies.get(error.errno or 0))


def _fail(error: BenchwrightError) -> None:
    if "--json" in sys.argv:
        fields = {"message": error.message, "where": error.where, "remedy": error.remedy}
        print(json.dumps({"error": fields}, ensure_ascii=False), file=sys.stderr)
    else:
        print(f"error: {error}", file=sys.stderr)
    sys.exit(error.exit_code)
