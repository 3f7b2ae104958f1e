"""Markdown by a CommonMark parser: headings, fences at any depth, indented code, code in HTML, inline commands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ..commands.words import is_command_line, is_inline_command, strip_prompt
from .html import html_blocks, html_commands, html_headings
from .model import Block, BlockKind, Document, Heading
from .prose import commands_in_prose
from .tags import guess_language, language_of_tag, looks_like_python

__all__ = ["read_markdown"]


_TAG_IN_CODE = re.compile(r"^\s*(?:bash|sh|shell|console)\s+(?=\$ |[A-Z_]+=|(?:python|torchrun|accelerate)[\d.]* )")
"""The tag of a fence that was given two backticks only, and so became a code in running text."""


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    # emphasis and entities play no part in finding code, and cost as much as all the rest
    return MarkdownIt("commonmark").enable("table").disable(["emphasis", "autolink", "entity"])


def read_markdown(path: str, lines: tuple[str, ...], first_line: int = 1) -> Document:
    """Read Markdown; ``first_line`` is where ``lines`` begin in the file (for Markdown inside other formats)."""
    # a lone carriage return would count as a line end for the parser, but not for git
    text = re.sub(r"\r(?!\n)", " ", "".join(lines))
    reader = _Reader(lines, first_line)
    reader.read(_parser().parse(text))
    return Document(path, lines, tuple(reader.headings), tuple(reader.blocks))


class _Reader:
    def __init__(self, lines: Sequence[str], first_line: int) -> None:
        self.lines = lines
        self.offset = first_line  # of token maps, which count from 0
        self.headings: list[Heading] = []
        self.blocks: list[Block] = []
        self.quote_depth = 0

    def read(self, tokens: Sequence[Token]) -> None:
        heading_level = 0
        for token in tokens:
            match token.type:
                case "heading_open":
                    heading_level = int(token.tag[1])
                case "heading_close":
                    heading_level = 0
                case "blockquote_open":
                    self.quote_depth += 1
                case "blockquote_close":
                    self.quote_depth -= 1
                case "fence":
                    self._fence(token)
                case "code_block":
                    self._indented(token)
                case "html_block":
                    self._html(token)
                case "inline" if heading_level:
                    self._heading(token, heading_level)
                    self._paragraph(token)
                case "inline":
                    self._paragraph(token)

    def _lines_of(self, token: Token) -> tuple[int, int]:
        start, end = token.map or (0, 1)
        return self.offset + start, self.offset + max(end, start + 1) - 1

    def _heading(self, token: Token, level: int) -> None:
        line, _ = self._lines_of(token)
        title = "".join(
            child.content if child.type in ("text", "code_inline") else " " if child.type == "softbreak" else ""
            for child in token.children or ()
        )
        title = re.sub(r"[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?=\s|$)", "", title)
        self.headings.append(Heading(level, " ".join(title.split()), line))

    def _fence(self, token: Token) -> None:
        outer_start, outer_end = self._lines_of(token)
        count = token.content.count("\n") + (not token.content.endswith("\n") and bool(token.content))
        language, tag = language_of_tag(token.info)
        self._add("fence", language, tag, token.content, outer_start + 1, count, outer_start, outer_end)

    def _indented(self, token: Token) -> None:
        start, end = self._lines_of(token)
        text = token.content.rstrip("\n") + "\n"
        first, _, rest = text.partition("\n")
        tagged = re.fullmatch(r"(?::::|#!)(\w+)", first.strip())  # as older Markdown tools mark the language
        language, tag = language_of_tag(tagged[1]) if tagged else ("", "")
        code = rest if tagged else text
        self._add("indented", language, tag, code, start + bool(tagged), code.count("\n"), start, end)

    def _add(
        self, kind: str, language: str, tag: str, text: str, start: int, count: int, outer_start: int, outer_end: int
    ) -> None:
        if not text.strip():
            return
        text = text.replace("\r\n", "\n")
        end = start + max(count, 1) - 1
        guessed = guess_language(language, text)
        self.blocks.append(Block(kind, guessed, tag, text, start, end, outer_start, max(outer_end, end)))  # type: ignore[arg-type]

    def _html(self, token: Token) -> None:
        first, last = self._lines_of(token)
        self.headings += html_headings(token.content, first)
        for language, tag, text, start, end in html_blocks(token.content, first):
            self._add("pre", language, tag, text, start, end - start + 1, start, end)
        for command, line in html_commands(token.content, first):
            self._inline("inline", command, line)
        self._fences_in_html(token.content, first, last)

    def _fences_in_html(self, content: str, first: int, last: int) -> None:
        """Fences that follow an HTML line without a blank line: Markdown sees HTML, their author saw code."""
        if content.lstrip().startswith(("<!--", "<pre", "<script", "<style")):
            return
        rows = content.split("\n")
        opening = next((i for i, row in enumerate(rows) if re.match(r" {0,3}(```|~~~)", row)), None)
        if opening is None:
            return
        inner = _Reader(rows[opening:], first + opening)
        inner.read(_parser().parse("\n".join(rows[opening:])))
        self.blocks += [block for block in inner.blocks if block.kind == "fence" and block.outer_end <= last]

    def _paragraph(self, token: Token) -> None:
        first, last = self._lines_of(token)
        if self.quote_depth and self._quoted_code(token, first, last):
            return
        line = first
        for child in token.children or ():
            if child.type in ("softbreak", "hardbreak"):
                line += 1
            elif child.type == "code_inline" and is_inline_command(code := _TAG_IN_CODE.sub("", child.content)):
                self._inline("inline", code.strip(), self._line_with(code, line, last))
        for command, at in html_commands(token.content, first):
            self._inline("inline", command, at)
        if ".py" in token.content or ".sh" in token.content:
            for command, start, end in commands_in_prose(token.content, first):
                self._inline("prose", command, start, end)

    def _inline(self, kind: BlockKind, command: str, start: int, end: int = 0) -> None:
        command, end = strip_prompt(command) or command, end or start
        self.blocks.append(Block(kind, "shell", "", f"{command}\n", start, end, start, end))

    def _line_with(self, code: str, line: int, last: int) -> int:
        """The line on which an inline code begins; the count of breaks can fall behind where code spans lines."""
        start = code.strip()[:20]
        for number in range(line, last + 1):
            index = number - self.offset
            if index < len(self.lines) and start in self.lines[index]:
                return number
        return line

    def _quoted_code(self, token: Token, first: int, last: int) -> bool:
        """A paragraph in a block quote that is code, its lines held apart by hard breaks."""
        rows = [re.sub(r"\\$", "", row).rstrip() for row in token.content.split("\n")]
        text = "\n".join(rows) + "\n"
        if is_command_line(rows[0]):
            # a backslash that ends the line of a command continues it
            text = token.content + "\n"
        elif not looks_like_python(text):
            return False
        self._add("quote", "", "", text, first, len(rows), first, last)
        return True
