"""Which reader a program needs, by the words in it."""

from __future__ import annotations

from dataclasses import replace

from .argparse_reader import read_argparse
from .report import FlagReport, SourceFiles

__all__ = ["flags_of"]


def flags_of(files: SourceFiles, path: str) -> FlagReport:
    """The flags of the program ``path``.

    Nothing is imported or run. The report depends only on the list of paths and on the files in ``read_paths``. A
    path that cannot be read gives a report of kind ``none`` that is not complete and says so.
    """
    source = files.read(path)
    if source is None:
        return FlagReport(
            complete=False, unresolved=(f"{path}:1: the file is not there",), read_paths=frozenset({path})
        )
    report = read_argparse(files, path)
    return replace(report, read_paths=report.read_paths | {path})
