"""``SHA256SUMS``: what a release folder holds, as ``sha256sum -c`` reads it; written last, checked by every reader."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from ..core.files import atomic_write

__all__ = ["SUMS", "changes", "write_sums"]

SUMS = "SHA256SUMS"
LINE = re.compile(r"(?P<digest>[0-9a-f]{64})  (?P<name>.+)")


def write_sums(folder: Path) -> str:
    """Write the file over every other file of ``folder``; give its own SHA-256, one value for the whole content."""
    lines = []
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix()):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name != SUMS:
            lines.append(f"{_sha256(path)}  {name}\n")
    text = "".join(lines)
    atomic_write(folder / SUMS, text)
    return hashlib.sha256(text.encode()).hexdigest()


def changes(folder: Path) -> Iterator[tuple[str, str]]:
    """``(name, what is wrong)`` for each file that is not as the file says: lost, changed, or not listed."""
    listed: dict[str, str] = {}
    for number, line in enumerate((folder / SUMS).read_text("utf-8", errors="replace").split("\n"), 1):
        if entry := LINE.fullmatch(line):
            listed[entry["name"]] = entry["digest"]
        elif line:
            yield SUMS, f"line {number} is not what sha256sum writes"
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {SUMS}
    for name in sorted(listed.keys() | there):
        if name not in there:
            yield name, f"{SUMS} lists it, and it is not there"
        elif name not in listed:
            yield name, f"{SUMS} does not list it"
        elif _sha256(folder / name) != listed[name]:
            yield name, f"its content is not what {SUMS} says"


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
