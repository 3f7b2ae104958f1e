"""Write docs/cli.md from the command line itself, or with ``--check`` compare it and name the difference."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

import typer.main
from typer.cli import get_docs_for_click

from benchwright.core.cli import app

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"


def rendered() -> str:
    """The page: every command and option with its help text."""
    command = typer.main.get_command(app)
    context = command.context_class(command, info_name="benchwright")
    body = get_docs_for_click(obj=command, ctx=context, name="benchwright")
    return f"<!-- written by `make docs`: do not edit -->\n\n{body.strip()}\n"


def main() -> int:
    wanted = rendered()
    if "--check" not in sys.argv:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    found = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if found == wanted:
        return 0
    sys.stderr.writelines(
        difflib.unified_diff(found.splitlines(True), wanted.splitlines(True), "docs/cli.md", "the command line")
    )
    print("docs/cli.md is not what the command line says: run make docs", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
