"""Jupyter notebooks: Markdown cells as Markdown, code cells as blocks, with the lines of the file as stored."""

from __future__ import annotations

import json
import re
from typing import Any

from .markdown import read_markdown
from .model import Block, Document, Heading
from .text import split_lines

__all__ = ["read_notebook"]

_SHELL_CELL = re.compile(r"\s*%%(?:bash|sh|shell|script (?:--\S+ )*(?:ba|z)?sh)\b")


def read_notebook(path: str, lines: tuple[str, ...]) -> Document:
    """Read a notebook (format 3 or 4). A file that is no notebook gives no blocks, and a note says so."""
    raw = "".join(lines)
    try:
        content = json.loads(raw)
        cells = content["cells"] if "cells" in content else content["worksheets"][0]["cells"]
        language = str(content.get("metadata", {}).get("kernelspec", {}).get("language", "python")).lower()
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return Document(path, lines, notes=("not read: this is no notebook",))
    finder = _Finder(raw)
    headings: list[Heading] = []
    blocks: list[Block] = []
    for cell in cells if isinstance(cells, list) else ():
        rows, numbers = finder.source(cell)
        if not rows:
            continue
        if cell.get("cell_type") == "markdown":
            _add_markdown(path, rows, numbers, headings, blocks)
        elif cell.get("cell_type") == "code" and language == "python" and "".join(rows).strip():
            if shell := _SHELL_CELL.match(rows[0]):
                rows, numbers = rows[1:], numbers[1:]
            if not rows:
                continue
            text = "".join(rows).rstrip("\n") + "\n"
            magic = any(row.lstrip().startswith(("!", "%")) for row in rows)
            kind = "shell" if shell else "ipython" if magic else "python"
            first, last = numbers[0], numbers[-1]
            blocks.append(Block("cell", kind, "", text, first, last, first, last))
    return Document(path, lines, tuple(headings), tuple(blocks))


def _add_markdown(path: str, rows: list[str], numbers: list[int], headings: list[Heading], blocks: list[Block]) -> None:
    """Blocks and headings of a Markdown cell, each of its lines on the line of the file that holds it."""

    def stored(line: int) -> int:
        return numbers[min(max(line, 1), len(numbers)) - 1]

    inner = read_markdown(path, split_lines("".join(rows)))
    headings += [Heading(item.level, item.title, stored(item.line)) for item in inner.headings]
    for block in inner.blocks:
        places = (block.start_line, block.end_line, block.outer_start, block.outer_end)
        blocks.append(Block(block.kind, block.language, block.tag, block.text, *map(stored, places)))


class _Finder:
    """Finds the line of the file on which each source line of each cell is stored, cell after cell."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.at = 0
        self.line = 1

    def source(self, cell: Any) -> tuple[list[str], list[int]]:
        """The source lines of a cell, and the line of the file each is stored on."""
        if not isinstance(cell, dict):
            return [], []
        source = cell.get("source", cell.get("input", ""))
        pieces = source if isinstance(source, list) else [source]
        rows: list[str] = []
        numbers: list[int] = []
        for piece in pieces:
            if not isinstance(piece, str) or not piece:
                continue
            self._move_to(piece)
            for row in split_lines(piece):
                rows.append(row)
                numbers.append(self.line)
        return rows, numbers

    def _move_to(self, piece: str) -> None:
        for encoded in (json.dumps(piece, ensure_ascii=False), json.dumps(piece)):
            found = self.raw.find(encoded, self.at)
            if found >= 0:
                self.line += self.raw.count("\n", self.at, found)
                self.at = found + 1  # an equal line after this one is another
                return
