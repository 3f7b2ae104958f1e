"""The repositories of a release at their pins, from this machine: building needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from ...core.models import Repository
from ...curation.address import parse_address
from ...curation.mirrors import local_mirrors
from ...curation.source import PinnedTree, holds_commit

__all__ = ["Trees", "local_tree"]


def local_tree(repository: Repository, clones_dir: Path, mirrors: Sequence[str]) -> PinnedTree | None:
    """The repository at its pin from a mirror or clone on this machine; None where there is none."""
    address = parse_address(repository.url, allow_file=True)
    clone = clones_dir / repository.name / repository.commit
    for git_dir in (*local_mirrors(address, mirrors), *([clone] if clone.is_dir() else [])):
        if holds_commit(git_dir, repository.commit):
            return PinnedTree(git_dir, repository.commit)
    return None


class Trees:
    """Gives each repository's tree, opened at the first question. A context manager: it closes them all."""

    def __init__(self, clones_dir: Path, mirrors: Sequence[str]) -> None:
        self._clones_dir = clones_dir
        self._mirrors = tuple(mirrors)
        self._opened: dict[tuple[str, str], PinnedTree | None] = {}

    def of(self, repository: Repository) -> PinnedTree | None:
        """The tree; None where the repository is not on this machine."""
        key = (repository.url, repository.commit)
        if key not in self._opened:
            self._opened[key] = local_tree(repository, self._clones_dir, self._mirrors)
        return self._opened[key]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for tree in self._opened.values():
            if tree is not None:
                tree.close()
