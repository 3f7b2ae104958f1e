"""Telling a person and a machine what happens: progress on standard error, results on standard output.

Results are tables for people or, with ``--json``, one JSON value. Progress is a bar on a terminal, else one line an
item; ``--quiet`` leaves only results and errors.
"""

from __future__ import annotations

import json
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

__all__ = ["Advance", "Reporter"]

Advance = Callable[[str], None]
"""Say that one item is done: its name, and after a colon what became of it."""


@dataclass(frozen=True)
class Reporter:
    """Where a command says what it does. Commands take one; nothing below prints by itself."""

    json: bool = False
    quiet: bool = False

    def say(self, message: str) -> None:
        """One line about what is happening now."""
        if not self.quiet:
            print(message, file=sys.stderr, flush=True)

    def warn(self, message: str) -> None:
        """One line the user should act on; shown even with ``--quiet``."""
        print(f"warning: {message}", file=sys.stderr, flush=True)

    @contextmanager
    def track(self, title: str, total: int) -> Iterator[Advance]:
        """Show progress over ``total`` items; call the value given once for each item done."""
        if self.quiet:
            yield lambda _note: None
        elif sys.stderr.isatty():
            yield from self._bar(title, total)
        else:
            yield from self._lines(title, total)

    def _bar(self, title: str, total: int) -> Iterator[Advance]:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}", markup=False),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            bar = progress.add_task(title, total=total, note="")
            yield lambda note: progress.update(bar, advance=1, note=note)

    def _lines(self, title: str, total: int) -> Iterator[Advance]:
        started = time.monotonic()
        done = 0

        def advance(note: str) -> None:
            nonlocal done
            done += 1
            print(
                f"{title} {done}/{total} {time.monotonic() - started:6.1f} s  {note}",
                file=sys.stderr,
                flush=True,
            )

        yield advance

    def result(self, value: Any, lines: Sequence[str] = ()) -> None:
        """The command's result: ``value`` as JSON with ``--json``, else the prepared lines."""
        if self.json:
            print(json.dumps(value, ensure_ascii=False, indent=2))
        else:
            for line in lines:
                print(printable(line))

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], value: Any = None) -> None:
        """A table for people; with ``--json`` ``value``, or else a list of objects with the columns as keys."""
        if self.json:
            self.result([dict(zip(columns, row, strict=True)) for row in rows] if value is None else value)
            return
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(title=title or None, title_justify="left")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(Text("" if cell is None else printable(str(cell))) for cell in row))
        # a pipe has no width: give long lines room instead of folding them at 80 columns
        Console(width=None if sys.stdout.isatty() else 160, soft_wrap=False).print(table)


def printable(text: str) -> str:
    """``text`` of others without what a terminal obeys: control characters but tab and newline become ``\\x..``."""
    return "".join(c if c in "\t\n" or unicodedata.category(c) != "Cc" else f"\\x{ord(c):02x}" for c in text)
