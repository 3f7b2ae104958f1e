"""Prefix code: the lines of a document that prepare what a task needs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from ..commands import Command, invocation_of, role_of
from .layout import Layout
from .outline import Outline
from .passages import Passage

__all__ = ["prefix_for"]

LONGEST = 40
"""Lines; more preparation than that is an installation guide, not a prefix."""


def prefix_for(
    layout: Layout,
    outline: Outline,
    passages: Sequence[Passage],
    number: int,
    position: int,
    doc_folder: str,
    folder: str,
) -> str:
    """Prefix code of the command at ``position`` of passage ``number`` (of the snippet, if that passage is one).

    It holds the setup lines before it in its block, those of earlier blocks of its section that only prepare, and
    the assignments anywhere before it of variables it uses. A line that belongs in another folder goes there in a
    subshell, so that the task still starts in ``folder``.
    """
    passage = passages[number]
    section = outline.section(passage.block.start_line)
    commands = passage.reading.commands if passage.reading else ()
    task = commands[position] if commands else None
    lines: list[str] = []
    for earlier in passages[:number]:
        in_section = section[0] <= earlier.block.start_line <= section[1]
        if in_section and earlier.reading and not earlier.block.in_text and _only_prepares(earlier):
            lines += _setup(earlier.reading.commands, None, layout, doc_folder, folder)
    if task:
        own = {name for command in commands[:position] for name in _set_by(command)}
        lines += [line for name, line in _needed_settings(passages[:number], task) if name not in own]
        lines += _setup(commands[:position], task, layout, doc_folder, folder)
        lines += [f"{name}={value}" for name, value in task.loop if value]
    return "".join(f"{line}\n" for line in dict.fromkeys(lines[-LONGEST:]))


def _only_prepares(passage: Passage) -> bool:
    assert passage.reading is not None
    return all(role_of(c, invocation_of(c.argv, c.static)) == "setup" for c in passage.reading.commands)


def _setup(
    commands: Sequence[Command], task: Command | None, layout: Layout, doc_folder: str, folder: str
) -> list[str]:
    lines: list[str] = []
    for command in commands:
        if command.program in ("cd", "pushd", "popd"):
            continue
        invocation = invocation_of(command.argv, command.static)
        if invocation is None or role_of(command, invocation) != "setup":
            continue
        source = command.source.strip()
        place = layout.find_file(invocation.target, doc_folder, command.cwd) if invocation.kind == "file" else None
        there = place.folder if place else layout.settled(doc_folder, command.cwd)
        here = folder if place or not task else layout.settled(doc_folder, task.cwd)
        if there is not None and here is not None and there != here and command.program != "export":
            source = f"(cd {posixpath.relpath(there or '.', here or '.')} && {source})"
        lines.append(source)
    return lines


def _set_by(command: Command) -> list[str]:
    """Names of the variables a line of assignments sets."""
    if command.program != "export" or len(command.argv) != 2:
        return []
    return re.findall(r"(?:^|\s)([A-Za-z_]\w*)\+?=", command.argv[1])[:4]


def _needed_settings(passages: Sequence[Passage], task: Command) -> list[tuple[str, str]]:
    """For each variable the task uses, the last line before its block that sets it."""
    wanted = dict.fromkeys(re.findall(r"\$\{?([A-Za-z_]\w*)", task.source))
    found: dict[str, str] = {}
    for passage in passages:
        for command in passage.reading.commands if passage.reading else ():
            found.update((name, command.source.strip()) for name in _set_by(command) if name in wanted)
    return [(name, found[name]) for name in wanted if name in found]
