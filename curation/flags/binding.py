"""Reading a command's words through the flags of a program, as the program's own parser would."""

from __future__ import annotations

from collections.abc import Sequence

from .argparse_binding import ArgparseBinder
from .bound import Binding, Problem
from .report import FlagReport
from .word_binding import WordBinder

__all__ = ["Binding", "Problem", "bind"]


def bind(report: FlagReport, argv: Sequence[str]) -> Binding:
    """What ``argv`` (the words after the program, launchers and redirections taken away) gives each flag.

    Words are as the shell hands them over: unquoted, one a list item. Never raises: what the parser would refuse is
    in ``problems``, and the words around it are still read.
    """
    if report.kind == "argparse":
        return ArgparseBinder(report, list(argv)).bind()
    return WordBinder(report, argv).bind()
