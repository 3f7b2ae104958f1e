"""The release before this one: what it said stays, and what changed since then is told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...core.errors import BenchwrightError
from ...core.workspace import Workspace
from ..checksums import SUMS
from ..dataset import Dataset, open_dataset
from ..declared import card_metadata

__all__ = ["kept_metadata", "previous_release", "require_canary"]

GUID = re.compile(r"canary GUID (\S+)")


def previous_release(workspace: Workspace, named: str | None) -> Dataset | None:
    """The release ``named`` (path or Hub id), else the newest below ``releases/`` that is older than this version.

    Raises:
        BenchwrightError: the one named cannot be opened.
    """
    if named is not None:
        return open_dataset(named)
    own = _order(workspace.config.version)
    older = [folder for folder in _built(workspace) if _order(folder.name) < own]
    if not older:
        return None
    newest = max(older, key=lambda folder: _order(folder.name))
    return open_dataset(str(newest), verify=False)  # a card that was edited there is no reason to stop here


def require_canary(workspace: Workspace) -> str:
    """The benchmark's canary GUID, which is the same in every release from the first on.

    Raises:
        BenchwrightError: there is none, or an earlier release has another.
    """
    canary = workspace.config.canary
    if not canary:
        raise BenchwrightError(
            "there is no canary, so nobody could find this benchmark in training data",
            where=str(workspace.config_path),
            remedy='write canary = "..." with a GUID: python -c "import uuid; print(uuid.uuid4())"',
        )
    for folder in _built(workspace):
        path = folder / "canary.txt"
        found = GUID.search(path.read_text("utf-8", errors="replace")) if path.is_file() else None
        if found and found[1] != canary:
            raise BenchwrightError(
                f"the canary is {canary}, and the release {folder.name} has {found[1]}",
                where=str(workspace.config_path),
                remedy=f'a canary never changes: write canary = "{found[1]}"',
            )
    return canary


def kept_metadata(target: Path, previous: Dataset | None) -> dict[str, Any]:
    """The card's metadata of the folder that is replaced, else of the release before: for the keys of others in it."""
    found = card_metadata(target)
    return found or (card_metadata(previous.root) if previous and previous.folder else {})


def _built(workspace: Workspace) -> Iterator[Path]:
    for folder in sorted((workspace.root / "releases").glob("*")):
        if re.match(r"\d", folder.name) and (folder / SUMS).is_file():
            yield folder


def _order(version: str) -> tuple[tuple[int, ...], bool, str]:
    """Sorts versions: numbers first, and what has a suffix (a preview) before what has none."""
    numbers, _, suffix = re.sub(r"^(\d+(?:\.\d+)*)", r"\1 ", version).partition(" ")
    parts = tuple(int(part) for part in numbers.split("."))
    return (*parts, 0, 0)[:3], not suffix.startswith("-"), suffix
