"""Console sessions: which lines were typed, and which the machine answered."""

from __future__ import annotations

import re

from .words import is_command_line, strip_prompt

__all__ = ["typed_lines", "typed_magic", "typed_python"]


def typed_lines(text: str, *, bare_commands: bool = False) -> str:
    """The typed part of a session as shell text with as many lines; answers become empty lines.

    With ``bare_commands`` a line without prompt that starts like a command was typed too (people mix both).
    """
    out: list[str] = []
    continued = False
    for line in text.split("\n"):
        typed = strip_prompt(line)
        if typed is None and continued:
            typed = re.sub(r"^\s*>\s?", "", line)
        if typed is None and bare_commands and is_command_line(line):
            typed = line
        out.append(typed or "")
        continued = typed is not None and typed.rstrip().endswith("\\")
    return "\n".join(out)


def typed_magic(text: str) -> str:
    """The shell lines of a notebook cell (``!``, ``%cd``, ``%run``) as shell text; Python lines become empty lines."""
    out: list[str] = []
    for line in text.split("\n"):
        bare = line.lstrip()
        if out and out[-1].rstrip().endswith("\\"):
            out.append(line)
        else:
            out.append(bare[1:].removeprefix("run ") if bare.startswith(("!", "%cd", "%run ")) else "")
    return "\n".join(out)


def typed_python(text: str) -> str:
    """The typed part of an interactive Python session; answers become empty lines, prompts vanish."""
    out: list[str] = []
    for line in text.split("\n"):
        match = re.match(r"\s*(?:>>>|\.\.\.)(?: (.*)|\s*)$", line)
        out.append((match[1] or "") if match else "")
    return "\n".join(out)
