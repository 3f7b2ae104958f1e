"""Fenced blocks of a model's answer: nested, unclosed, indented and quoted ones included."""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

__all__ = ["Block", "fenced_blocks", "marked_blocks", "parses"]

FENCE = re.compile(r"^(?P<quote>(?:[ \t]*>)*)(?P<indent>[ \t]*)(?P<marks>`{3,}|~{3,})(?P<info>[^\n]*)$")
DOCUMENT = frozenset({"markdown", "md", "mdx"})
MAX_BLOCKS = 200
"""An answer with more blocks is read up to there: it is no answer any more."""
MAX_DEPTH = 8
LEAD_LINES = 4
MARKED_CHARACTERS = 100_000
TAG = re.compile(r"<(pre|code|answer|solution|command|bash|shell|python)\b([^<>]{0,200})>", re.IGNORECASE)
ONE_LINE = re.compile(r"```(?P<content>[^`\n]+)```")


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    language: str
    """First word of the info string in lower case; empty where there is none."""
    text: str
    """The content, ended by a line feed where it is not empty; indentation of the fence is taken off."""
    closed: bool = True
    lead: str = ""
    """The last line with text before the block."""


@dataclass(frozen=True)
class _Mark:
    quote: str
    indent: str
    marks: str
    info: str

    def ends(self, opener: _Mark) -> bool:
        return not self.info and self.marks[0] == opener.marks[0] and len(self.marks) >= len(opener.marks)

    def opens_inside(self, opener: _Mark) -> bool:
        return bool(self.info) and self.marks[0] == opener.marks[0] and len(self.marks) >= len(opener.marks)


def fenced_blocks(text: str, depth: int = 0) -> list[Block]:
    """All blocks in order; a Markdown block gives the blocks inside it instead of itself.

    A fence with an info string inside a block of the same width opens a nested block where that makes sense of the
    whole (its content parses, or stands in a here-document); otherwise the outer block is an unclosed one that ends
    there.
    """
    lines = text.split("\n")
    marks = [(at, mark) for at, line in enumerate(lines) if (mark := _mark(line)) is not None]
    found: list[Block] = []
    done = 0
    for number, (at, opener) in enumerate(marks):
        if at < done or len(found) >= MAX_BLOCKS:
            continue
        lead = next((line.strip() for line in reversed(lines[max(done, at - LEAD_LINES) : at]) if line.strip()), "")
        block, done = _read_block(lines, at + 1, opener, marks[number + 1 :])
        block = replace(block, lead=lead)
        if block.language in DOCUMENT and depth < MAX_DEPTH:
            inner = fenced_blocks(block.text, depth + 1)
            found.extend(inner or [block])
        else:
            found.append(block)
    return found


def _mark(line: str) -> _Mark | None:
    match = FENCE.match(line)
    if match is None or (match["marks"][0] == "`" and "`" in match["info"]):
        return None
    return _Mark(match["quote"], match["indent"], match["marks"], match["info"].strip())


def _read_block(lines: list[str], start: int, opener: _Mark, marks: list[tuple[int, _Mark]]) -> tuple[Block, int]:
    """The block whose content begins at line ``start``, and the line to go on from; ``marks`` are those after it."""
    depth = 0
    nested: int | None = None
    for at, mark in marks:
        if mark.opens_inside(opener):
            nested = at if nested is None else nested
            depth += 1
        elif mark.ends(opener):
            if depth == 0:
                block = _block(lines[start:at], opener, closed=True)
                if nested is None or _nesting_makes_sense(block, lines[start:nested]):
                    return block, at + 1
                break
            depth -= 1
    if nested is not None:
        if _language(opener) in DOCUMENT:
            return _block(lines[start:], opener, closed=False), len(lines)
        return _block(lines[start:nested], opener, closed=False), nested
    return _block(lines[start:], opener, closed=False), len(lines)


def _nesting_makes_sense(block: Block, before: list[str]) -> bool:
    if block.language in DOCUMENT or not block.language:
        return True
    return parses(block.text) or any("<<" in line for line in before)


def marked_blocks(text: str) -> list[Block]:
    """Blocks marked otherwise: by tags (``<pre>``, ``<code>``, ``<answer>``), or by fences within one line."""
    text = text[:MARKED_CHARACTERS]
    found = []
    for tag, attributes, content in _tagged(text):
        named = re.search(r"lang(?:uage)?[-=]\"?(\w+)", attributes + content[:100])
        language = named[1].lower() if named else tag if tag in ("bash", "python", "shell") else ""
        plain = html.unescape(re.sub(r"</?(?:pre|code|span)\b[^<>]*>", "", content)).strip("\n")
        if plain.strip():
            found.append(Block(language, f"{plain}\n"))
    for match in ONE_LINE.finditer(text):
        first, _, rest = match["content"].strip().partition(" ")
        command = first in ("python", "bash", "sh") and re.match(r"-|\S+\.(?:py|sh)\b", rest)
        found.append(
            Block("", f"{match['content'].strip()}\n") if command or not rest else Block(first.lower(), f"{rest}\n")
        )
    return found


def _tagged(text: str) -> Iterator[tuple[str, str, str]]:
    """Name, attributes and content of each element; one inside another belongs to the outer."""
    lowered = text.lower()
    at = 0
    unclosed: set[str] = set()
    for match in TAG.finditer(text):
        tag = match[1].lower()
        if match.start() < at or tag in unclosed:
            continue
        end = lowered.find(f"</{tag}>", match.end())
        if end < 0:
            unclosed.add(tag)
        else:
            at = end
            yield tag, match[2], text[match.end() : end]


def parses(code: str) -> bool:
    """Whether ``code`` is Python by its syntax; it is not run."""
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _language(opener: _Mark) -> str:
    word = re.split(r"[\s,;:{(]", opener.info.lstrip("{. "), maxsplit=1)[0]
    return word.strip("}`.").lower()


def _block(lines: list[str], opener: _Mark, *, closed: bool) -> Block:
    content = [_without_margin(line, opener) for line in lines]
    while not closed and content and not content[-1].strip():
        content.pop()
    return Block(_language(opener), "".join(f"{line}\n" for line in content), closed)


def _without_margin(line: str, opener: _Mark) -> str:
    for _ in range(opener.quote.count(">")):
        line = re.sub(r"^[ \t]*>", "", line, count=1)
    margin = len(opener.indent.expandtabs(4))
    while margin > 0 and line[:1] in (" ", "\t"):
        margin -= 4 if line[0] == "\t" else 1
        line = line[1:]
    return line
