"""Arguments: is a script really called with the values an example asks for?

Comes in: code (an example's output or a model's answer), the arguments by name and, where at hand, the repository's
files at the pin, the example's own output, and a recorder. Goes out: a :class:`Verdict` whose refusals name the
argument, the wanted and the found. Nothing is run unless a recorder (``recorder.Recorder``) is handed in.

Open ``check.py`` first, then ``shell.py`` (what bash starts), ``matching.py`` (flags and values) and ``python.py``.
"""

from __future__ import annotations

from .calls import Call, Trace
from .check import Records, Verdict, check_arguments, trace_of
from .matching import Refusal
from .shell import trace_shell
from .values import same

__all__ = ["Call", "Records", "Refusal", "Trace", "Verdict", "check_arguments", "same", "trace_of", "trace_shell"]
