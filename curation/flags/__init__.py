"""The flags of a program, read from its source without importing or running it.

Comes in: the files of a repository at one commit (:class:`SourceFiles`) and the path of a script. Goes out: a
:class:`FlagReport`; and, for the words of a command, a :class:`Binding` of names to values as the program's own parser
would make it. Open ``report.py`` first, then ``argparse_reader.py``.
"""

from __future__ import annotations

from .binding import Binding, Problem, bind
from .reading import flags_of
from .report import Flag, FlagReport, Kind, SourceFiles

__all__ = ["Binding", "Flag", "FlagReport", "Kind", "Problem", "SourceFiles", "bind", "flags_of"]
