"""Drafts from shell scripts that documents name and those beside them: each command, its variables filled in."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...core.models import EntryPoint, Source
from ..commands import Command, invocation_of, read_shell, role_of
from ..commands.words import is_placeholder
from ..documents.text import decode, split_lines
from .draft import Draft
from .from_document import DocumentReader, command_key, dedented, locate
from .layout import Layout
from .passages import mentions

__all__ = ["NamedScript", "does_work", "drafts_from_scripts", "named_scripts"]

MOST_SCRIPTS = 400
LARGEST_BYTES = 256 * 1024


@dataclass(frozen=True)
class NamedScript:
    """A shell script, the document that leads to it, and how it is called there."""

    path: str
    reader: DocumentReader
    line: int
    folder: str
    """Where it is run from."""
    args: tuple[str, ...] = ()
    named: bool = True
    """False for a script that only lies beside a named one."""


def named_scripts(readers: Sequence[DocumentReader], drafts: Sequence[Draft]) -> list[NamedScript]:
    """The scripts that documents run or mention, then those beside them; each once, by the first that leads there."""
    found: dict[str, NamedScript] = {}
    by_path = {reader.document.path: reader for reader in readers}
    for draft in drafts:
        if draft.target and draft.target.endswith((".sh", ".bash")):
            reader = by_path[draft.source.path]
            script = NamedScript(draft.target, reader, draft.source.start_line, draft.folder, draft.args)
            found.setdefault(draft.target, script)
    for reader in readers:
        for name, line in mentions(reader.document).items():
            place = reader.layout.find_file(name, reader.folder, "")
            if place:
                found.setdefault(place.target, NamedScript(place.target, reader, line, place.folder))
    beside: dict[str, NamedScript] = {}
    for script in list(found.values()):
        for path in _family(script, script.reader.layout):
            if path not in found and path not in beside and len(beside) + len(found) < MOST_SCRIPTS:
                beside[path] = NamedScript(path, script.reader, script.line, script.folder, (), named=False)
    nearest = {path: _nearest(path, list(found.values())) for path in beside}
    return [*found.values(), *(NamedScript(p, s.reader, s.line, s.folder, (), False) for p, s in nearest.items())]


def _family(script: NamedScript, layout: Layout) -> list[str]:
    """Shell scripts in the script's folder and, below the root, in the folders beside it."""
    folder = posixpath.dirname(script.path)
    wider = posixpath.dirname(folder)
    if wider and not (wider == script.reader.folder and wider):
        folder = wider
    if not folder:
        return sorted(path for path in layout.scripts if "/" not in path)
    return sorted(path for path in layout.scripts if path.startswith(f"{folder}/"))


def _nearest(path: str, scripts: Sequence[NamedScript]) -> NamedScript:
    def common(script: NamedScript) -> int:
        return len(posixpath.commonprefix([posixpath.dirname(path) + "/", posixpath.dirname(script.path) + "/"]))

    return max(scripts, key=common)


def drafts_from_scripts(layout: Layout, scripts: Sequence[NamedScript]) -> Iterator[Draft]:
    """For each script, its commands that start something of the repository."""
    contents = dict(layout.tree.read_many(script.path for script in scripts))
    for number, script in enumerate(scripts):
        text = decode(contents.get(script.path, b"")[:LARGEST_BYTES])
        if text is None:
            continue
        variables = {str(i): word for i, word in enumerate(script.args, 1)}
        reading = read_shell(text, variables={"0": script.path, **variables}, unroll=True)
        lines = len(split_lines(text))
        empty = True
        for position, command in enumerate(reading.commands):
            draft = _draft(layout, script, command, lines, (number, position))
            if draft:
                empty = False
                yield draft
        if empty and not script.named and does_work(script.path):
            yield _whole(layout, script, lines, number)


def _draft(layout: Layout, script: NamedScript, command: Command, lines: int, place: tuple[int, int]) -> Draft | None:
    invocation = invocation_of(command.argv, command.static)
    if invocation is None or role_of(command, invocation) != "task":
        return None
    script_folder = posixpath.dirname(script.path)
    cwd = command.cwd
    if cwd == "?script" or cwd.startswith("?script/"):
        found = locate(layout, invocation, script_folder, cwd[len("?script/") :])
    else:
        found = locate(layout, invocation, script.folder, cwd) if invocation.kind != "program" else None
        if found is None or found.target is None:
            found = locate(layout, invocation, script_folder, cwd)
    if found is None or found.target is None:
        return None
    key = command_key(found.target, invocation.args)
    draft = _around(script, found.entry_point, found.target, found.folder, dedented(command.source), key)
    draft.args, draft.static = invocation.args, invocation.static
    draft.normal = " ".join([found.entry_point.target, *invocation.args])
    draft.also_at.append(_source(layout, script.path, command.start_line, min(command.end_line, lines)))
    draft.order = (1000 + script.reader.rank, script.path, *place)
    if any("$" in word for word in invocation.args):
        draft.notes.append((-0.05, "has variables that only a run would set"))
    if any(map(is_placeholder, invocation.args)):
        draft.notes.append((-0.1, "has places to fill in"))
    return draft


def does_work(path: str) -> bool:
    """Whether a shell script's name says that it does the work, not that it prepares it."""
    (command,) = read_shell(f"bash {shlex.quote(path)}").commands
    return role_of(command, invocation_of(command.argv)) == "task"


def _whole(layout: Layout, script: NamedScript, lines: int, number: int) -> Draft:
    """The script itself, where nothing in it starts a file of the repository."""
    away = posixpath.relpath(script.path, script.folder or ".")
    inside = not away.startswith("..")
    output, folder = (f"bash {away}", script.folder) if inside else (f"bash {posixpath.basename(script.path)}", "")
    if not inside:
        folder = posixpath.dirname(script.path)
    entry = EntryPoint(kind="file", target=script.path)
    draft = _around(script, entry, script.path, folder, output, command_key(script.path, ()))
    draft.also_at.append(_source(layout, script.path, 1, max(lines, 1)))
    draft.order = (2000 + script.reader.rank, script.path, number, 0)
    return draft


def _around(
    script: NamedScript, entry: EntryPoint, target: str, folder: str, output: str, key: tuple[object, ...]
) -> Draft:
    scopes = script.reader.outline.scopes(script.line, script.line)
    preferred = next((scope.scope for scope in scopes if scope.scope == "section"), scopes[0].scope)
    draft = Draft(
        source=script.reader.source(script.line, script.line),
        type="Bash Script",
        folder=folder,
        entry_point=entry,
        target=target,
        output=output,
        key=key,
        normal=target,
        scopes=scopes,
        preferred=preferred,
        origin="script",
    )
    if not script.named:
        draft.notes.append((-0.05, "the document names a script beside this one"))
    return draft


def _source(layout: Layout, path: str, start: int, end: int) -> Source:
    return Source(path=path, blob=layout.tree.blob_of(path) or "", start_line=start, end_line=max(start, end))
