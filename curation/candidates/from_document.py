"""Drafts from one document: its commands and its snippets."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...core.models import EntryPoint, OracleScope, ScopeName, Source
from ..commands import Command, Invocation, Snippet, invocation_of, role_of
from ..commands.words import is_placeholder
from ..documents import Block, Document
from .draft import Draft
from .layout import Layout, Place
from .outline import Outline
from .passages import Passage
from .prefix import prefix_for

__all__ = ["DocumentReader", "command_key", "locate"]


@dataclass(frozen=True)
class Located:
    """A command's entry point, found in the repository (or not: ``target`` is None)."""

    entry_point: EntryPoint
    target: str | None
    folder: str
    how: str = "folder"


def locate(layout: Layout, invocation: Invocation, doc_folder: str, cwd: str) -> Located | None:
    """Where a started thing lies; None where it is no part of the repository and does not claim to be."""
    name = invocation.target
    if invocation.kind == "module":
        place = layout.find_module(name, doc_folder, cwd)
        return _located("module", name, place) if place else None
    if invocation.kind == "program":
        target = layout.console_scripts.get(name)
        if target is not None:
            return Located(EntryPoint(kind="console_script", target=name), target or None, "")
        return None
    if invocation.kind != "file" or name.startswith("-"):
        return None
    place = layout.find_file(name, doc_folder, cwd)
    if place:
        return _located("file", place.target, place)
    outside = name.startswith(("/", "$", "~", "<", "[", "{", "..")) or is_placeholder(name) or "://" in name
    if outside or is_placeholder(cwd) or not re.search(r"\.(?:py|sh)$", name) or any(mark in name for mark in "*$<{["):
        return None
    folder = posixpath.normpath(posixpath.join(doc_folder, "" if cwd.startswith(("?", "/")) else cwd))
    folder = "" if folder.startswith("..") or folder == "." else folder
    target = posixpath.normpath(posixpath.join(folder, name))
    return Located(EntryPoint(kind="file", target=target), None, folder)


def _located(kind: str, target: str, place: Place) -> Located:
    entry = EntryPoint(kind="module" if kind == "module" else "file", target=target)
    return Located(entry, place.target, place.folder, place.how)


def command_key(target: str, args: Sequence[str]) -> tuple[object, ...]:
    """Equal for the same call whatever the order of its options and the spelling of ``--x=1``."""
    positional: list[str] = []
    options: list[tuple[str, ...]] = []
    for word in args:
        if re.match(r"--?[A-Za-z]", word):
            name, equals, value = word.partition("=")
            options.append((name, value) if equals else (name,))
        elif options:
            options[-1] = (*options[-1], word)
        else:
            positional.append(word)
    return ("bash", target, tuple(positional), tuple(sorted(options)))


class DocumentReader:
    """Makes drafts from one document of a repository."""

    def __init__(self, layout: Layout, document: Document, passages: Sequence[Passage], blob: str, rank: int) -> None:
        self.layout = layout
        self.document = document
        self.blob = blob
        self.rank = rank
        self.folder = posixpath.dirname(document.path)
        self.outline = Outline(document)
        self.passages = passages

    def source(self, start: int, end: int) -> Source:
        return Source(
            path=self.document.path,
            blob=self.blob,
            start_line=start,
            end_line=end,
            heading=self.outline.heading_path(start),
        )

    def drafts(self) -> Iterator[Draft]:
        """All drafts of the document, in the order they stand in it."""
        carried, where = "", (0, 0)
        for number, passage in enumerate(self.passages):
            if passage.reading is not None:
                section = self.outline.section(passage.block.start_line)
                start = carried if section == where else ""
                yield from self._from_commands(number, passage, start)
                if not passage.block.in_text:
                    carried, where = join_folder(start, passage.reading.cwd), section
            if passage.snippet is not None:
                draft = self._from_snippet(number, passage, passage.snippet)
                if draft:
                    yield draft

    # commands ----------------------------------------------------------------------------------------------

    def _from_commands(self, number: int, passage: Passage, start: str) -> Iterator[Draft]:
        assert passage.reading is not None
        for position, command in enumerate(passage.reading.commands):
            invocation = invocation_of(command.argv, command.static)
            if role_of(command, invocation) != "task" or invocation is None:
                continue
            cwd = join_folder(start, command.cwd)
            found = locate(self.layout, invocation, self.folder, cwd)
            if found and (found.target or passage.block.kind != "prose"):
                yield self._command_draft(number, position, passage, command, invocation, found)

    def _command_draft(
        self, number: int, position: int, passage: Passage, command: Command, invocation: Invocation, found: Located
    ) -> Draft:
        block = passage.block
        start, end = self._lines(block, command)
        key = command_key(found.target or found.entry_point.target, invocation.args)
        scopes = self.outline.scopes(block.outer_start, block.outer_end)
        draft = Draft(
            source=self.source(start, end),
            type="Bash Script",
            folder=found.folder,
            entry_point=found.entry_point,
            target=found.target,
            output=f"{_left_out(command)}{dedented(command.source)}",
            key=key,
            normal=" ".join([found.entry_point.target, *_flat(key)]),
            scopes=scopes,
            preferred=self._preferred(scopes),
            origin="inline" if block.in_text else "block",
            args=invocation.args,
            static=invocation.static,
            prefix=prefix_for(self.layout, self.outline, self.passages, number, position, self.folder, found.folder),
            order=(self.rank, self.document.path, start, position),
        )
        if found.target is None:
            draft.notes.append((-0.3, "the repository has no such file"))
        elif found.how != "folder":
            draft.notes.append((-0.05, "the file was found by search, not where the document says"))
        if any(map(is_placeholder, invocation.args)):
            draft.notes.append((-0.1, "has places to fill in"))
        if invocation.args in (("--help",), ("-h",)):
            draft.notes.append((-0.4, "only asks for help"))
        if command.loop:
            draft.notes.append((-0.05, "stands in a loop"))
        return draft

    def _lines(self, block: Block, command: Command) -> tuple[int, int]:
        if block.in_text:
            return block.start_line, block.end_line
        return min(command.start_line, block.end_line), min(command.end_line, block.end_line)

    def _preferred(self, scopes: Sequence[OracleScope]) -> ScopeName:
        """The section where the block is the only one in it, else the block with the text that leads to it."""
        section = next((scope for scope in scopes if scope.scope == "section"), None)
        if section and len(self.outline.blocks_in((section.start_line, section.end_line))) <= 1:
            return "section"
        return scopes[0].scope

    # snippets ----------------------------------------------------------------------------------------------

    def _from_snippet(self, number: int, passage: Passage, snippet: Snippet) -> Draft | None:
        block = passage.block
        own = [item for item in snippet.imports if self._is_own(item.module)]
        earlier = self._earlier_snippets(number, block, snippet) if not own else []
        target = own[0].dotted if own else next((item.dotted for item in snippet.imports), "")
        if not own and earlier and earlier[-1].snippet:
            target = next(
                (i.dotted for p in earlier if p.snippet for i in p.snippet.imports if self._is_own(i.module)), ""
            )
        if not target or (not own and not snippet.parses):
            return None
        scopes = self.outline.scopes(block.outer_start, block.outer_end)
        draft = Draft(
            source=self.source(block.start_line, block.end_line),
            type="Python Code",
            folder=self._snippet_folder(own[0].module if own else ""),
            entry_point=EntryPoint(kind="api", target=target),
            target=None,
            output=passage.code,
            key=("python", snippet.normal),
            normal=snippet.normal,
            scopes=scopes,
            preferred=self._preferred(scopes),
            origin="snippet",
            prefix=prefix_for(self.layout, self.outline, self.passages, number, 0, self.folder, ""),
            order=(self.rank, self.document.path, block.start_line, 0),
        )
        if not own and not earlier:
            draft.foreign = True
            draft.notes.append((-0.3, "imports nothing of the repository"))
        elif not own:
            draft.notes.append((-0.2, "goes on from an earlier snippet"))
        if not snippet.parses:
            draft.notes.append((-0.15, "does not parse as Python"))
        if snippet.unbound and own:
            draft.notes.append((-0.1, f"uses names it does not define: {', '.join(snippet.unbound[:5])}"))
        draft.calls = tuple(call for call in snippet.calls if self._is_own(call.callee))
        return draft

    def _is_own(self, module: str) -> bool:
        top = module.split(".")[0]
        if not top:
            return True
        if top in self.layout.packages:
            return True
        folder = self.folder
        while folder:
            if f"{folder}/{top}.py" in self.layout.files or f"{folder}/{top}" in self.layout.folders:
                return True
            folder = posixpath.dirname(folder)
        return False

    def _snippet_folder(self, module: str) -> str:
        """The folder from which a snippet's own import works: the document's, if it holds the module, else the root."""
        top = module.split(".")[0]
        if self.folder and (
            f"{self.folder}/{top}.py" in self.layout.files or f"{self.folder}/{top}" in self.layout.folders
        ):
            return self.folder
        return ""

    def _earlier_snippets(self, number: int, block: Block, snippet: Snippet) -> list[Passage]:
        """Snippets before this one in the enclosing section, if it goes on with what they began."""
        span = self.outline.parent(block.start_line)
        before = [p for p in self.passages[:number] if p.snippet and p.block.start_line >= span[0]]
        uses_own = any(self._is_own(item.module) for p in before if p.snippet for item in p.snippet.imports)
        words = {word for passage in before for word in re.findall(r"[A-Za-z_]\w*", passage.code)}
        goes_on = "(" in block.text and not words.isdisjoint(snippet.unbound)
        return before if uses_own and goes_on else []


def _left_out(command: Command) -> str:
    """The interpreter, where running text names a script and its options only."""
    return "python " if re.fullmatch(r"[\w-][\w.-]*(?:/[\w.-]+)*\.py", command.program) else ""


def join_folder(start: str, cwd: str) -> str:
    """``cwd`` as seen from ``start``; absolute and unknown folders stand for themselves."""
    if not cwd or cwd.startswith(("?", "/")):
        return cwd or start
    return posixpath.normpath(posixpath.join(start, cwd))


def dedented(source: str) -> str:
    """A command over several lines with its later lines indented by two blanks."""
    first, *rest = [line.rstrip() for line in source.split("\n")]
    return "\n".join([first, *(f"  {line.strip()}" for line in rest if line.strip())])


def _flat(key: tuple[object, ...]) -> Iterator[str]:
    _, _, positional, options = key
    assert isinstance(positional, tuple)
    assert isinstance(options, tuple)
    yield from positional
    for option in options:
        yield from option
