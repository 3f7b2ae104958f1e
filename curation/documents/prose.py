"""Commands that stand in running text without any markup: a line of their own, or a few words of a sentence."""

from __future__ import annotations

import re

from ..commands.words import is_inline_command, strip_prompt

__all__ = ["commands_in_prose"]

_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)|<code>.*?</code>", re.DOTALL | re.IGNORECASE)
_IN_SENTENCE = re.compile(
    r"(?<![\w/`.$-])python3? (?:-\w )?(?:[\w-]+/)*[\w-]+\.py(?![\w/])"
    r"(?: --?[A-Za-z][\w-]*(?:(?:=| (?!-))[\w./:=-]*\w)?)*"
)

_SENTENCE = re.compile(
    r"`|[.,:;]$|(?:\s[A-Za-z]{2,}){3}|\.(?:py|sh) (?:to|and|or|is|with|for|in|on|from|will|script)\b"
)
_TWO_NAMES = re.compile(r"\S+\.(?:py|sh)\s+[^-\s]")
"""A script without interpreter and a word that is no option: names side by side, not a command."""


def commands_in_prose(text: str, first_line: int) -> list[tuple[str, int, int]]:
    """Commands in a paragraph whose first line is ``first_line``, with their first and last line.

    A line that begins with one is taken whole, with the lines it is continued on; of a sentence only the script and
    the options behind it are.
    """
    rows = _CODE.sub(lambda match: re.sub(r"[^\n]", "`", match[0]), text).split("\n")
    found: list[tuple[str, int, int]] = []
    at = 0
    while at < len(rows):
        start, row = at, _bare(rows[at])
        if is_inline_command(row) and not _SENTENCE.search(row) and not _TWO_NAMES.match(row):
            while rows[at].rstrip().endswith("\\") and at + 1 < len(rows):
                at += 1
            whole = "\n".join([row, *(line.strip() for line in rows[start + 1 : at + 1])])
            found.append((whole, first_line + start, first_line + at))
        else:
            found += [(match[0], first_line + at, first_line + at) for match in _IN_SENTENCE.finditer(row)]
        at += 1
    return found


def _bare(row: str) -> str:
    """The row without prompt and emphasis around it."""
    row = re.sub(r"^(\*\*|__|\*|_)(.*)\1$", r"\2", row.strip())
    return strip_prompt(row) or row
