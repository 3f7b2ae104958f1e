"""The documents of a release's repositories, at their pins: text once per document, not once per row.

Only what lies on this machine is read (mirrors, and the clones that curation made): building needs no network.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..core.errors import BenchwrightError
from ..core.models import Repository
from ..curation.address import parse_address
from ..curation.documents import is_readme
from ..curation.licenses import find_license
from ..curation.mirrors import local_mirrors
from ..curation.source import PinnedTree, holds_commit, open_tree
from .rows import Row
from .sources import Dataset

__all__ = ["DOCUMENT_DTYPES", "document_rows", "join", "license_texts", "local_tree"]

DOCUMENT_DTYPES = {
    "github_id": "int64",
    "repository": "string",
    "github": "string",
    "commit": "string",
    "license": "string",
    "path": "string",
    "blob": "string",
    "sha256": "string",
    "text": "large_string",
}
"""Columns of the ``repositories`` configuration. ``sha256`` is of the bytes in git; ``text`` is null where the
licence is not on the workspace's list, or the document was not at hand when the release was built."""


def local_tree(repository: Repository, clones_dir: Path, mirrors: Sequence[str]) -> PinnedTree | None:
    """The repository at its pin from a mirror or clone on this machine; None where there is none."""
    address = parse_address(repository.url, allow_file=True)
    clone = clones_dir / repository.name / repository.commit
    for git_dir in (*local_mirrors(address, mirrors), *([clone] if clone.is_dir() else [])):
        if holds_commit(git_dir, repository.commit):
            return PinnedTree(git_dir, repository.commit)
    return None


def document_rows(
    repository: Repository, tree: PinnedTree | None, paths: Sequence[str], *, redistributed: bool
) -> Iterator[dict[str, Any]]:
    """One row for each document: those that tasks name, and the README at the root. At least one row a repository."""
    common = {
        "github_id": repository.github_id,
        "repository": repository.name,
        "github": repository.url,
        "commit": repository.commit,
        "license": repository.license,
    }
    nothing = {"path": None, "blob": None, "sha256": None, "text": None}
    known = [] if tree is None else [path for path in tree.paths() if "/" not in path and is_readme(path)]
    wanted = sorted({*paths, *known})
    if not wanted:
        yield {**common, **nothing}
    for path in wanted:
        data = tree.read(path) if tree is not None else None
        yield {
            **common,
            "path": path,
            "blob": tree.blob_of(path) if tree is not None else None,
            "sha256": None if data is None else hashlib.sha256(data).hexdigest(),
            "text": data.decode("utf-8", "replace") if data is not None and redistributed else None,
        }


def license_texts(repository: Repository, tree: PinnedTree | None) -> str:
    """The repository's part of ``THIRD_PARTY_LICENSES``: its licence file verbatim."""
    found = find_license(tree) if tree is not None else None
    data = tree.read(found.path) if tree is not None and found is not None else None
    text = data.decode("utf-8", "replace") if data is not None else "(the licence file was not at hand)\n"
    title = f"{repository.name}: {repository.license}\n{repository.url} at {repository.commit}"
    return f"{'=' * 78}\n{title}\n{'=' * 78}\n\n{text.rstrip()}\n\n"


def join(
    dataset: Dataset, split: str = "full", clones_dir: Path | None = None, mirrors: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """The rows of a split with the whole text of their document as ``document``, one at a time.

    Text that the release leaves out for its licence is read from the repository itself: from a mirror, or a clone
    below ``clones_dir``, which is fetched if needed. ``document`` is None where a row names none.

    Raises:
        BenchwrightError: the release has no ``repositories`` configuration, or a repository cannot be had.
    """
    texts = _published_texts(dataset)
    trees: dict[tuple[str, str], PinnedTree] = {}
    try:
        for row in dataset.rows(split):
            key = (row.github_id, row.source_path)
            if row.source_path is not None and texts.get(key) is None:
                texts[key] = _text_at(row, trees, clones_dir, mirrors)
            document = texts.get(key)
            oracle = row.oracle or _lines(document, row)
            yield {**row.values(), "oracle": oracle, "document": document}
    finally:
        for tree in trees.values():
            tree.close()


def _published_texts(dataset: Dataset) -> dict[tuple[int, str | None], str | None]:
    import pyarrow.parquet as pq

    folder = dataset.folder / "repositories" if dataset.folder else None
    files = sorted(folder.glob("*.parquet")) if folder else []
    if not files:
        raise BenchwrightError(
            "it has no configuration called repositories", where=dataset.name, remedy="benchwright release build"
        )
    found: dict[tuple[int, str | None], str | None] = {}
    for file in files:
        for item in pq.read_table(file, columns=["github_id", "path", "text"]).to_pylist():
            found[item["github_id"], item["path"]] = item["text"]
    return found


def _text_at(
    row: Row, trees: dict[tuple[str, str], PinnedTree], clones_dir: Path | None, mirrors: Sequence[str]
) -> str | None:
    from ..core.workspace import cache_dir

    assert row.source_path is not None
    if row.commit is None:
        return None
    place = (row.github, row.commit)
    if place not in trees:
        name = (row.task_id or "").rpartition("/")[0] or row.github.rstrip("/").rpartition("/")[2]
        repository = Repository.load({"name": name, "url": row.github, "commit": row.commit}, f"{row.key}")
        trees[place] = open_tree(repository, clones_dir or cache_dir() / "repositories", mirrors)
    data = trees[place].read(row.source_path)
    return None if data is None else data.decode("utf-8", "replace")


def _lines(document: str | None, row: Row) -> str:
    """The oracle of a row whose text the release leaves out: its lines of the document."""
    if document is None or row.start_line is None or row.end_line is None:
        return row.oracle
    lines = document.splitlines(keepends=True)
    return "".join(lines[row.start_line - 1 : row.end_line])
