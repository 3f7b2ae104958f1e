"""The blocks of a document with what stands in each: shell commands or a Python snippet."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..commands import Reading, Snippet, commands_in, read_snippet, typed_python
from ..documents import Block, Document

__all__ = ["Passage", "mentions", "passages_of"]


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


_MENTION = re.compile(r"(?<![\w/.$}-])[\w./*-]*[\w*]\.(?:sh|bash)\b")


def mentions(document: Document) -> dict[str, int]:
    """Shell scripts that the document names anywhere, with the line of the first mention."""
    found: dict[str, int] = {}
    for number, line in enumerate(document.lines, 1):
        if ".sh" in line or ".bash" in line:
            for match in _MENTION.finditer(line):
                found.setdefault(match[0], number)
    return found
