"""Repository trees to execute in: written once for each commit into the cache, read-only from then on."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock

from ..core.files import atomic_write, digest_of, staged_directory
from ..core.models import Repository
from ..core.progress import Reporter
from ..core.workspace import cache_dir

__all__ = ["remove_unused", "tree_folder", "tree_of"]

NOBODY = 65534
LAYOUT = 2
"""Raised when the way trees are written changes: those written before are then written anew."""
UNUSED_S = 30 * 24 * 3600.0


def tree_of(repository: Repository, clones_dir: Path, mirrors: Sequence[str], reporter: Reporter) -> Path:
    """The folder with the repository's files at its pin, without any history.

    Files whose content no source has (large blobs that a mirror leaves out) are absent from it, with a warning.

    Raises:
        BenchwrightError: the repository cannot be had, or not at that commit.
    """
    from ..curation.source import open_tree

    folder = tree_folder(repository)
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.parent / f"{folder.name}.lock"):
            if not folder.is_dir():
                with staged_directory(folder) as staging:
                    missing = open_tree(repository, clones_dir, mirrors).materialise(staging / "tree")
                    _give_away(staging / "tree")
                    atomic_write(staging / "missing.txt", "".join(f"{path}\n" for path in missing))
    os.utime(folder)  # used now
    if absent := (folder / "missing.txt").read_text(encoding="utf-8", errors="replace").splitlines():
        reporter.warn(
            f"{repository.name}: {len(absent)} files are absent, because no source has them (first: {absent[0]}); "
            f"remove {folder} to look again"
        )
    return folder / "tree"


def tree_folder(repository: Repository) -> Path:
    """Where the tree lies in the cache, made or not."""
    key = digest_of([LAYOUT, repository.url, repository.commit])[:12]
    return cache_dir() / "trees" / f"{repository.name}-{key}"


def remove_unused() -> list[Path]:
    """Remove trees that no run has used for a month; a run that needs one writes it again."""
    gone = []
    for folder in sorted((cache_dir() / "trees").glob("*/")):
        if time.time() - folder.stat().st_mtime > UNUSED_S:
            shutil.rmtree(folder)
            gone.append(folder)
    return gone


def _give_away(tree: Path) -> None:
    """As root: make the files nobody's, who may then change them in an overlay; below a root's cache none can reach."""
    if os.geteuid() == 0:
        for folder, folders, files in os.walk(tree):
            os.chown(folder, NOBODY, NOBODY)
            for name in (*folders, *files):
                os.chown(os.path.join(folder, name), NOBODY, NOBODY, follow_symlinks=False)
