"""Write docs/cli.md and docs/rules.md from the program itself, or with ``--check`` compare them with it."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

import typer.main
from typer.cli import get_docs_for_click

from benchwright.core.cli import app
from benchwright.validators.checks import rules_page

FOLDER = Path(__file__).parent.parent / "docs"


def command_page() -> str:
    """``docs/cli.md``: every command and option with its help text."""
    command = typer.main.get_command(app)
    context = command.context_class(command, info_name="benchwright")
    body = get_docs_for_click(obj=command, ctx=context, name="benchwright")
    return f"<!-- written by `make docs`: do not edit -->\n\n{body.strip()}\n"


PAGES = {"cli.md": command_page, "rules.md": rules_page}


def main() -> int:
    differing = 0
    for name, render in PAGES.items():
        page, wanted = FOLDER / name, render()
        if "--check" not in sys.argv:
            FOLDER.mkdir(exist_ok=True)
            page.write_text(wanted, encoding="utf-8")
            continue
        found = page.read_text(encoding="utf-8") if page.exists() else ""
        if found != wanted:
            differing += 1
            lines = (found.splitlines(True), wanted.splitlines(True))
            sys.stderr.writelines(difflib.unified_diff(*lines, f"docs/{name}", "the program"))
            print(f"docs/{name} is not what the program says: run make docs", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
