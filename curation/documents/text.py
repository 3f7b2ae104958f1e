"""Bytes to text without losing positions."""

from __future__ import annotations

import codecs
import re

__all__ = ["decode", "split_lines"]

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode(data: bytes) -> str | None:
    """The text of a document, without byte order mark; None where it is no text.

    UTF-8 unless a mark says otherwise; what is not UTF-8 is read as GB 18030 if that gives mostly CJK, else as
    Windows-1252, in which every byte means something.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    if b"\0" in data[:8192]:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    try:
        chinese = data.decode("gb18030")
    except UnicodeDecodeError:
        chinese = ""
    foreign = [char for char in chinese if ord(char) > 127]
    cjk = sum("\u4e00" <= char <= "\u9fff" or "\u3000" <= char <= "\u303f" for char in foreign)
    if cjk > max(5, 0.8 * len(foreign)):
        return chinese
    return "".join(bytes([byte]).decode("cp1252", "ignore") or "\ufffd" for byte in data)


def split_lines(text: str) -> tuple[str, ...]:
    """Lines with their line ends. Only a line feed ends a line, as in git and editors; U+2028 and the like do not."""
    return tuple(re.findall(r"[^\n]*\n|[^\n]+\Z", text))
