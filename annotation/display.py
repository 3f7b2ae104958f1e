"""What a document says, as HTML that is safe to show: only known tags, no attributes but plain links.

Documents come from anyone. Nothing of their HTML is passed on: the output is built anew from a list of harmless
tags, so that a hostile README shows as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from html.parser import HTMLParser
from typing import Any

__all__ = ["clean_html", "document_html", "plain_text", "preformatted", "table_html"]

_BLOCKS = {"blockquote", "dd", "details", "div", "dl", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p"}
_TABLES = {"table", "tbody", "td", "tfoot", "th", "thead", "tr"}
_WORDS = {"a", "abbr", "b", "br", "code", "del", "em", "i", "kbd", "s", "samp", "small", "span", "strong", "sub", "sup"}
_KEPT = _BLOCKS | _TABLES | _WORDS | {"pre", "summary", "u", "ul", "var"}
_VOID = frozenset({"br", "hr"})
_SILENT = frozenset({"script", "style", "template", "iframe", "object", "noscript", "title", "svg", "math"})
_CELL = "border:1px solid #bbb;padding:2px 6px;vertical-align:top;text-align:left;white-space:pre-wrap"
_STYLE = {  # Label Studio's own style sheet takes margins and bullets away
    "table": "border-collapse:collapse;margin:6px 0;font-size:13px",
    "td": _CELL,
    "th": f"{_CELL};background:rgba(128,128,128,.15)",
    "pre": "white-space:pre;tab-size:4;overflow-x:auto;background:rgba(128,128,128,.12);padding:6px;margin:6px 0",
    "p": "margin:6px 0",
    "ul": "margin:6px 0;padding-left:22px;list-style:disc",
    "ol": "margin:6px 0;padding-left:22px;list-style:decimal",
    "li": "margin:3px 0;display:list-item",
    **{
        f"h{n}": f"margin:12px 0 6px;line-height:1.25;font-weight:600;font-size:{21 - 2 * min(n, 4)}px"
        for n in range(1, 7)
    },
    "summary": "margin:4px 0;cursor:pointer",
    "blockquote": "margin:6px 0;padding-left:10px;border-left:3px solid #bbb",
}
_UNSHOWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def plain_text(text: str) -> str:
    """``text`` without what a server or browser cannot hold (control characters, lone surrogates): U+FFFD instead."""
    return _UNSHOWABLE.sub("\ufffd", text)


def document_html(text: str, path: str) -> str:
    """A stretch of a document as safe HTML: Markdown rendered (tables too), anything else as it stands."""
    if not path.lower().endswith((".md", ".markdown", ".mdown", ".ipynb")):
        return preformatted(text)
    return clean_html(_markdown().render(plain_text(text)))


@cache
def _markdown() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def preformatted(text: str) -> str:
    """``text`` with every space and line end kept."""
    return f'<pre style="{_STYLE["pre"]}">{escape(plain_text(text))}</pre>'


def table_html(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of plain cells; None is an empty cell."""
    head = "".join(f'<th style="{_STYLE["th"]}">{escape(column)}</th>' for column in columns)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_STYLE["td"]}">{"" if cell is None else escape(plain_text(str(cell)))}</td>' for cell in row
        )
        + "</tr>"
        for row in rows
    )
    return f'<table style="{_STYLE["table"]}"><tr>{head}</tr>{body}</table>'


def clean_html(text: str) -> str:
    """``text`` rebuilt from known tags only, every one closed; pictures become their description in brackets."""
    cleaner = _Cleaner()
    cleaner.feed(text)
    cleaner.close()
    return cleaner.result()


class _Cleaner(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._out: list[str] = []
        self._open: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent += 1
        elif self._silent:
            return
        elif tag == "img":
            self._out.append(escape(f"[picture: {dict(attrs).get('alt') or 'without description'}]"))
        elif tag in _KEPT:
            self._out.append(f"<{tag}{_attributes(tag, dict(attrs))}>")
            if tag not in _VOID:
                self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _SILENT:
            self.handle_starttag(tag, attrs)
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif not self._silent and tag in self._open:
            while (last := self._open.pop()) != tag:
                self._out.append(f"</{last}>")
            self._out.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self._out.append(escape(data, quote=False))

    def result(self) -> str:
        return "".join(self._out) + "".join(f"</{tag}>" for tag in reversed(self._open))


def _attributes(tag: str, given: dict[str, str | None]) -> str:
    style = f' style="{_STYLE[tag]}"' if tag in _STYLE else ""
    href = given.get("href") or ""
    if tag == "a" and href.startswith(("https://", "http://")):
        return f' href="{escape(href)}" target="_blank" rel="noopener noreferrer nofollow"'
    return style
