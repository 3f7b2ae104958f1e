"""Hiding from the shell grammar what it would misread, byte for byte, so that positions stay exact."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Masked", "mask"]


@dataclass(frozen=True)
class Masked:
    """The same number of bytes twice: as written (blanks made plain), and as the parser gets to see it."""

    original: bytes
    parsed: bytes


_HEREDOC = re.compile(rb"<<(-?)[ \t]*(?:(['\"])([\w.-]+)\2|\\?([A-Za-z_][\w.-]*))")
_ANGLE = re.compile(rb"<(?=[A-Za-z_/.~$\x80-\xff])[^<>\n|&;\"'`]{0,80}(?<! )>(?!=)")
_BRACKET = re.compile(rb"\[(?=[A-Za-z-])[^\[\]\n\"'$`;|&]{0,60}\]")
_BRACE = re.compile(rb"\{(?=[A-Za-z])[^{}\n\"'$`;|&,]* [^{}\n\"'$`;|&,]*\}")
_TEMPLATE = re.compile(rb"\$?\{\{[^{}\n]*\}\}")
_NO_EXPANSION = re.compile(rb"\$\{(?=\d+[^}:#%/+=?\d-]|[^\w#!@*?$-])[^{}\n]*\}")
_FOREIGN_CONTINUATION = re.compile(rb"(?<=[ \t])[\^`][ \t]*\n(?=[ \t]*-)")
_COMMENT_AFTER_CONTINUATION = re.compile(rb"\\([ \t]+#[^\n]*)(?=\n)")
_BLANKS_AFTER_CONTINUATION = re.compile(rb"\\([ \t]+)(?=\n)")


def mask(data: bytes) -> Masked:
    """Make carriage returns and no-break spaces plain blanks, and mask here-documents and placeholders."""
    data = data.replace(b"\r\n", b" \n").replace(b"\r", b" ").replace(b"\xc2\xa0", b"  ").replace(b"\0", b" ")
    # lines continued as cmd and PowerShell do it
    data = _FOREIGN_CONTINUATION.sub(lambda m: b"\\".rjust(len(m[0]) - 1) + b"\n", data)
    # a comment or blanks between the continuing backslash and the line's end: move the backslash behind them
    data = _BLANKS_AFTER_CONTINUATION.sub(lambda m: m[1] + b"\\", data)
    parsed = _COMMENT_AFTER_CONTINUATION.sub(lambda m: b" " * len(m[1]) + b"\\", data)
    original = parsed if parsed != data else data
    parsed = _without_heredocs(original)
    for pattern in (_TEMPLATE, _NO_EXPANSION, _ANGLE, _BRACKET, _BRACE):
        parsed = pattern.sub(lambda match: b"_" * len(match[0]), parsed)
    return Masked(original, parsed)


def _without_heredocs(data: bytes) -> bytes:
    if b"<<" not in data:
        return data
    out: list[bytes] = []
    waiting: list[tuple[bytes, bool]] = []
    for line in data.split(b"\n"):
        if waiting:
            word, tabs = waiting[0]
            if (line.strip(b"\t") if tabs else line).rstrip(b" ") == word:
                waiting.pop(0)
            out.append(b" " * len(line))
            continue
        masked = line
        if not line.lstrip().startswith(b"#"):
            for match in _HEREDOC.finditer(line):
                if line[match.start() - 1 : match.start()] == b"<" or line[match.end() : match.end() + 1] == b"<":
                    continue  # <<< is a here-string
                waiting.append((match[3] or match[4], match[1] == b"-"))
                masked = masked[: match.start()] + b" " * len(match[0]) + masked[match.end() :]
        out.append(masked)
    if waiting:  # never closed: what looked like a here-document was something else
        return data
    return b"\n".join(out)
