"""Which reader a program needs, by the words in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from tree_sitter import Node

from .absl_reader import read_absl
from .argparse_reader import chosen, summary
from .click_reader import read_click
from .config_reader import read_hydra, read_omegaconf
from .fire_reader import read_fire
from .interpreter import Interpreter, Stop
from .library import library_of
from .plain_readers import read_argv, read_getopt
from .report import FlagReport, SourceFiles
from .shell_reader import read_shell
from .syntax import parse_python
from .typer_reader import read_typer

__all__ = ["flags_of", "reading_of"]

Reader = Callable[[Interpreter, str, Node], FlagReport]

_READERS: tuple[tuple[re.Pattern[bytes], Reader], ...] = (
    (re.compile(rb"\bhydra\.main\b"), read_hydra),
    (re.compile(rb"\bOmegaConf\.from_cli\b"), read_omegaconf),
    (re.compile(rb"\bclick\b.*\b(?:command|group)\b|\bclick\.(?:command|group|option)", re.DOTALL), read_click),
    (re.compile(rb"\btyper\b"), read_typer),
    (re.compile(rb"\bfire\.Fire\b|from fire import"), read_fire),
    (re.compile(rb"\bgetopt\b"), read_getopt),
    (
        re.compile(rb"DEFINE_[a-z_]+\(|\bFLAGS\b|\bapp\.run\b|\bflags\b"),
        lambda reading, path, _: read_absl(reading, path),
    ),
)
_SHELL = re.compile(rb"^#!.*\b(?:ba|z|k|da)?sh\b")


def flags_of(files: SourceFiles, path: str) -> FlagReport:
    """The flags of the program ``path``: a Python file or a shell script.

    Nothing is imported or run. The report depends only on the list of paths and on the files in ``read_paths``. A
    path that cannot be read gives a report of kind ``none`` that is not complete and says so.
    """
    reports = library_of(files).reports
    if path not in reports:
        reports[path] = report_of(files, path)
    return reports[path]


def reading_of(files: SourceFiles, path: str) -> Interpreter:
    """The reading that :func:`flags_of` made of a Python program, or else one that has not begun."""
    reading = library_of(files).readings.get(path) or Interpreter(files, path)
    reading.steps = 0
    return reading


def report_of(files: SourceFiles, path: str) -> FlagReport:
    """The same, read anew."""
    reading = Interpreter(files, path)
    source = reading.source(path)
    if source is None:
        missing = (f"{path}:1: the file is not there",)
        return FlagReport(complete=False, unresolved=missing, read_paths=frozenset({path}))
    if path.endswith((".sh", ".bash")) or _SHELL.match(source[:200]):
        return replace(read_shell(source, path), read_paths=frozenset({path}))
    report = FlagReport()
    try:
        report = read(reading, path, source)
    except Stop:
        reading.unresolved.append(f"{path}:1: reading ended early: the program is too long to follow")
    except RecursionError:
        reading.unresolved.append(f"{path}:1: reading ended early: an expression is nested too deeply")
    if reading.unresolved and report.kind == "none":
        report = summary(reading)
    return replace(report, read_paths=frozenset(reading.read_paths))


def read(reading: Interpreter, path: str, source: bytes) -> FlagReport:
    """The first reader that finds something; argparse's comes first, and once more as a last resort."""
    scope = reading.module(path)
    reading.library.readings[path] = reading
    if chosen(reading.parsers):
        return summary(reading)
    root = parse_python(source).root_node
    for words, reader in _READERS:
        if words.search(source):
            report = reader(reading, path, root)
            if report.flags or report.unresolved or report.accepts_unknown:
                return report
    reading.last_resort(scope)
    if chosen(reading.parsers):
        return summary(reading)
    return read_argv(reading, path, root) if b"argv" in source else FlagReport()
