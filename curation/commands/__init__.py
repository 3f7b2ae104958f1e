"""Commands in documents and scripts, read statically: never run.

Comes in: the text of a block or script. Goes out: simple commands with folder, environment and lines (``shell.py``),
what each starts (``launchers.py``) and what it is for (``setup_lines.py``); for Python, what a snippet imports and
calls (``snippets.py``). Open ``shell.py`` first.
"""

from __future__ import annotations

from .console import typed_lines, typed_magic, typed_python
from .launchers import Invocation, invocation_of
from .setup_lines import Role, role_of
from .shell import Command, Reading, read_shell
from .snippets import Snippet, read_snippet

__all__ = [
    "Command",
    "Invocation",
    "Reading",
    "Role",
    "Snippet",
    "commands_in",
    "invocation_of",
    "read_shell",
    "read_snippet",
    "role_of",
    "typed_lines",
    "typed_python",
]


def commands_in(text: str, language: str, *, tag: str = "", first_line: int = 1) -> Reading:
    """The commands of a block by its language (``shell``, ``console``, ``ipython``); none for other languages."""
    if language == "shell":
        return read_shell(text, first_line=first_line)
    if language == "console":
        bare = tag.lower() not in ("console", "shell-session", "shellsession", "sh-session")
        return read_shell(typed_lines(text, bare_commands=bare), first_line=first_line)
    if language == "ipython":
        return read_shell(typed_magic(text), first_line=first_line)
    return Reading(())
