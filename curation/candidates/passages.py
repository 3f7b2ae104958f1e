"""The blocks of a document with what stands in each: shell commands or a Python snippet."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from functools import lru_cache

from pydantic import TypeAdapter, ValidationError

from ..cache import DOCUMENTS, Memory
from ..commands import Reading, Snippet, commands_in, read_snippet, typed_python
from ..documents import Block, Document, Heading, read_document
from ..documents.text import decode, split_lines

__all__ = ["Passage", "document_key", "mentions", "passages_of", "read_passages"]


@dataclass(frozen=True)
class Passage:
    """One block, read. ``code`` is the Python of a snippet, without prompts and shell lines."""

    block: Block
    reading: Reading | None = None
    snippet: Snippet | None = None
    code: str = ""


def passages_of(document: Document) -> list[Passage]:
    """The blocks that hold commands or Python, in the order they stand."""
    found: list[Passage] = []
    for block in document.blocks:
        if block.language in ("shell", "console", "ipython"):
            reading = commands_in(block.text, block.language, tag=block.tag, first_line=block.start_line)
            if reading.commands:
                found.append(Passage(block, reading))
        if block.language in ("python", "pycon", "ipython"):
            code = python_of(block)
            if code.strip():
                found.append(Passage(block, None, read_snippet(code), code))
    return found


def python_of(block: Block) -> str:
    """The Python of a block as one would run it."""
    if block.language == "pycon":
        typed = typed_python(block.text)
        return "\n".join(line for line in typed.split("\n") if line.strip()) + "\n"
    if block.language == "ipython":
        lines = block.text.split("\n")
        return "\n".join(line for line in lines if not line.lstrip().startswith(("!", "%", "?")))
    return block.text


@dataclass(frozen=True)
class Remembered:
    """A document without its lines, which the file itself gives."""

    headings: tuple[Heading, ...]
    blocks: tuple[Block, ...]
    notes: tuple[str, ...]
    passages: tuple[Passage, ...]


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[Remembered]:
    return TypeAdapter(Remembered)


def document_key(path: str, blob: str) -> str:
    """What reading a document depends on: its content, and the format its name says."""
    return f"{blob}:{posixpath.splitext(path)[1].lower()}"


def read_passages(path: str, blob: str, data: bytes, memory: Memory) -> tuple[Document, list[Passage]]:
    """A document and its passages, recalled where the same content was read before."""
    key = document_key(path, blob)
    value = memory.get(DOCUMENTS, key)
    if value is not None:
        try:
            known = _adapter().validate_json(value)
        except ValidationError:
            pass
        else:
            lines = split_lines(decode(data) or "") if known.blocks or known.headings or not known.notes else ()
            return Document(path, lines, known.headings, known.blocks, known.notes), list(known.passages)
    document = read_document(path, data)
    passages = passages_of(document)
    found = Remembered(document.headings, document.blocks, document.notes, tuple(passages))
    memory.put(DOCUMENTS, key, _adapter().dump_json(found))
    return document, passages


_MENTION = re.compile(r"(?<![\w/.$}-])[\w./*-]*[\w*]\.(?:sh|bash)\b")


def mentions(document: Document) -> dict[str, int]:
    """Shell scripts that the document names anywhere, with the line of the first mention."""
    found: dict[str, int] = {}
    for number, line in enumerate(document.lines, 1):
        if ".sh" in line or ".bash" in line:
            for match in _MENTION.finditer(line):
                found.setdefault(match[0], number)
    return found
