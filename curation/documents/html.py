"""Code and headings in the HTML that Markdown lets through."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from ..commands.words import is_inline_command
from .model import Heading
from .tags import language_of_tag

__all__ = ["html_blocks", "html_commands", "html_headings"]

Found = tuple[str, str, str, int, int]
"""Language, tag, code (entities decoded), first and last line."""


class _Finder(HTMLParser):
    def __init__(self, first_line: int) -> None:
        super().__init__(convert_charrefs=True)
        self._before = first_line - 1
        self.blocks: list[Found] = []
        self.headings: list[Heading] = []
        self.codes: list[tuple[str, int]] = []
        self._code: list[str] | None = None
        self._code_line = 0
        self._pre: list[str] | None = None
        self._start = 0
        self._info = ""
        self._title: list[str] | None = None
        self._title_line = 0

    @property
    def _line(self) -> int:
        return self.getpos()[0] + self._before

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "pre" and self._pre is None:
            self._pre, self._start, self._info = [], self._line, named.get("lang") or named.get("class") or ""
        elif tag == "code" and self._pre is not None:
            self._info = named.get("class") or self._info
        elif tag == "code":
            self._code, self._code_line = [], self._line
        elif re.fullmatch("h[1-6]", tag):
            self._title, self._title_line = [], self._line
        elif tag == "br" and self._pre is not None:
            self._pre.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre" and self._pre is not None:
            self._finish_pre()
        elif tag == "code" and self._code is not None:
            self.codes.append((" ".join("".join(self._code).split()), self._code_line))
            self._code = None
        elif re.fullmatch("h[1-6]", tag) and self._title is not None:
            title = " ".join("".join(self._title).split())
            if title:
                self.headings.append(Heading(int(tag[1]), title, self._title_line))
            self._title = None

    def handle_data(self, data: str) -> None:
        if self._pre is not None:
            self._pre.append(data)
        elif self._code is not None:
            self._code.append(data)
        elif self._title is not None:
            self._title.append(data)

    def _finish_pre(self) -> None:
        text = "".join(self._pre or ())
        self._pre = None
        start, end = self._start, self._line
        if text.startswith("\n"):  # the line feed after <pre> is not part of the code
            text, start = text[1:], start + 1
        stripped = text.rstrip("\n")
        if stripped.strip():
            language, tag = language_of_tag(self._info.split()[0] if self._info.split() else "")
            self.blocks.append((language, tag, stripped + "\n", start, min(start + stripped.count("\n"), end)))


def _find(content: str, first_line: int) -> _Finder:
    finder = _Finder(first_line)
    finder.feed(content)
    finder.close()
    return finder


def html_blocks(content: str, first_line: int) -> list[Found]:
    """The ``<pre>`` elements of a piece of HTML that begins on ``first_line``; comments are not looked into."""
    return _find(content, first_line).blocks if "<pre" in content.lower() else []


def html_commands(content: str, first_line: int) -> list[tuple[str, int]]:
    """Commands in ``<code>`` elements outside ``<pre>``, each with the line it begins on."""
    if "<code" not in content.lower():
        return []
    return [(code, line) for code, line in _find(content, first_line).codes if is_inline_command(code)]


def html_headings(content: str, first_line: int) -> list[Heading]:
    """The ``<h1>`` to ``<h6>`` elements of a piece of HTML that begins on ``first_line``."""
    return _find(content, first_line).headings if re.search(r"<h[1-6]", content, re.IGNORECASE) else []
