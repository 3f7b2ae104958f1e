"""What runs before a script: its prefix code, which is shell whatever the script itself is.

Comes in: prefix code and a script. Goes out: one script and the interpreter for it. Lines that only install packages
are left out: that is what the environment is for, and without network they could only fail.
"""

from __future__ import annotations

import hashlib
import posixpath

from ..core.models import TaskType
from ..curation.commands import Command, invocation_of, read_shell
from .sandbox.contract import Interpreter

__all__ = ["with_prefix", "without_installs"]

INTERPRETERS: dict[TaskType, Interpreter] = {"Bash Script": "bash", "Python Code": "python3"}
INSTALLERS = frozenset(("apt", "apt-get", "conda", "easy_install", "mamba", "micromamba", "pip", "pip3", "uv"))
SNIPPET = ".benchwright-snippet.py"


def with_prefix(prefix: str, code: str, kind: TaskType) -> tuple[str, Interpreter]:
    """The script that does ``prefix`` and then ``code``, and what runs it.

    A Python snippet behind a prefix is written to a file by the shell that ran the prefix, so that it starts in the
    folder and with the variables that the prefix left, and its own status is the last one.
    """
    prepared = without_installs(prefix)
    if not prepared.strip():
        return code, INTERPRETERS[kind]
    if kind == "Bash Script":
        return f"{prepared.rstrip()}\n{code}", "bash"
    # a word that cannot be a line of the snippet, since it depends on all of it
    end = f"END-{hashlib.sha256(code.encode('utf-8', 'surrogatepass')).hexdigest()}"
    return f"{prepared.rstrip()}\ncat > {SNIPPET} <<'{end}'\n{code}\n{end}\npython3 {SNIPPET}\n", "bash"


def without_installs(prefix: str) -> str:
    """``prefix`` without the lines on which nothing but package managers is called."""
    commands = read_shell(prefix).commands
    installs = {n for c in commands if _installs(c) for n in range(c.start_line, c.end_line + 1)}
    others = {n for c in commands if not _installs(c) for n in range(c.start_line, c.end_line + 1)}
    lines = prefix.split("\n")
    return "\n".join(line for n, line in enumerate(lines, 1) if n not in installs or n in others)


def _installs(command: Command) -> bool:
    started = invocation_of(command.argv, command.static)
    if started is None:
        return False
    return started.target == "pip" if started.kind == "module" else posixpath.basename(started.target) in INSTALLERS
