"""``CHANGELOG.md`` of a release: what changed since the one before, example by example, then what that one said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ...core.config import Config
from ..dataset import Dataset
from .diff import Difference, diff_releases

__all__ = ["changelog_text"]

TITLE = "# Changelog\n\n"
VERIFICATION = frozenset({"environment_digest", "verified_at", "evidence_digest", "oracle_sha256"})
"""Columns that change whenever outputs are run again; counted, not listed."""
LONGEST = 300
"""Characters up to which a value is shown."""


def changelog_text(config: Config, previous: Dataset | None, current: Dataset) -> str:
    """The whole file. ``current`` is the release being built.

    Raises:
        BenchwrightError: one of the two cannot be read.
    """
    title = f"## {config.version}{f' ({config.about.date})' if config.about.date else ''}\n\n"
    if previous is None:
        count = sum(1 for _ in current.rows("full"))
        return f"{TITLE}{title}First release: {count} examples in the split full.\n"
    found = diff_releases(previous, current)
    body = "\n".join(_lines(found)) or "The rows are the same as before."
    return f"{TITLE}{title}{body}\n\n{_before(previous)}".rstrip() + "\n"


def _before(previous: Dataset) -> str:
    path = previous.root / "CHANGELOG.md"
    if previous.folder is None or not path.is_file():
        return ""
    return path.read_text("utf-8", errors="replace").removeprefix(TITLE)


def _lines(found: Difference) -> Iterator[str]:
    for key in found.added:
        yield f"- added {_name(key)}"
    for key, reason in found.removed.items():
        yield f"- removed {_name(key)}{f': {_one_line(reason)}' if reason else ''}"
    anew = 0
    for key, columns in found.changed.items():
        shown = {name: values for name, values in columns.items() if name not in VERIFICATION}
        anew += not shown
        if shown:
            yield f"- changed {_name(key)}: {'; '.join(_change(name, *values) for name, values in shown.items())}"
    for name, (joined, left) in found.splits.items():
        if joined:
            yield f"- split {name}: joined by {', '.join(map(_name, joined))}"
        if left:
            yield f"- split {name}: left by {', '.join(map(_name, left))}"
    if anew:
        yield f"- verified anew, with the same content: {anew} examples"


def _change(name: str, old: Any, new: Any) -> str:
    was, now = _shown(old), _shown(new)
    if name == "oracle" or len(was) > LONGEST or len(now) > LONGEST:  # text may be withheld now that was not before
        return f"`{name}` ({len(str(old or ''))} to {len(str(new or ''))} characters)"
    return f"`{name}` from {was} to {now}"


def _shown(value: Any) -> str:
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _name(key: tuple[int, int]) -> str:
    return f"{key[0]}/{key[1]}"
