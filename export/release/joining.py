"""``join``: the rows of a release with the text that stands elsewhere, one row at a time.

A row's document comes from the configuration ``repositories``, its passage from ``retrieval``. What the release leaves
out for its licence is read from the repository itself, at the row's commit, and compared with the digest in the row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ...core.errors import BenchwrightError
from ...core.models import Repository
from ...core.workspace import cache_dir
from ...curation.documents.text import decode
from ...curation.retrieval import Index
from ...curation.source import PinnedTree, open_tree
from ..dataset import Dataset
from ..find_oracle import lines_of
from ..rows import Row

__all__ = ["join"]

BATCH_ROWS = 256


def join(
    dataset: Dataset,
    split: str = "full",
    clones_dir: Path | None = None,
    mirrors: Sequence[str] = (),
    *,
    fetch: bool = True,
) -> Iterator[dict[str, Any]]:
    """The rows of a split with ``document`` (the whole document) and ``segment`` (the passage that BM25 finds).

    With ``fetch``, text that the release leaves out for its licence is read from the repository: from one of
    ``mirrors``, or a clone below ``clones_dir`` (default: the user's cache), which is made if needed; ``oracle`` is
    then filled in, too. Without, it stays empty. Both new columns are None where a row names no document, or the
    release knows no passage. Memory does not grow with the number of rows.

    Raises:
        BenchwrightError: the release has no configuration ``repositories``, a repository cannot be had, or its text
            is not what the row's digest says.
    """
    texts = _published_texts(dataset)
    segments = _segments(dataset, split)
    with _Repositories(clones_dir or cache_dir() / "repositories", mirrors) as repositories:
        for row in dataset.rows(split):
            document = texts.get((row.github_id, row.source_path))
            found = next(segments, None)
            segment = found["segment"] if found else None
            if found and (found["github_id"], found["id"]) != row.key:
                raise BenchwrightError("its retrieval configuration has other rows", where=f"{dataset.name}, {split}")
            if fetch and row.source_path and document is None:
                document = texts[row.github_id, row.source_path] = repositories.document(row)
            if fetch and found and segment is None and found["sha256"]:
                segment = repositories.segment(row, found)
            oracle = row.oracle
            if fetch and not oracle and document is not None and row.start_line and row.end_line:
                oracle = _compared(lines_of(document, row.start_line, row.end_line), row.oracle_sha256, row)
            yield {**row.values(), "oracle": oracle, "document": document, "segment": segment}


def _compared(text: str, digest: str | None, row: Row) -> str:
    if digest is not None and hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != digest:
        raise BenchwrightError(
            f"the text in {row.github} at {row.commit} is not what the release was made from",
            where=f"example {row.github_id}/{row.id}",
            remedy="read from another mirror or clone: this one was changed",
        )
    return text


class _Repositories:
    """Text of repositories at the rows' commits; each is opened, and indexed, at the first question."""

    def __init__(self, clones_dir: Path, mirrors: Sequence[str]) -> None:
        self._clones_dir = clones_dir
        self._mirrors = tuple(mirrors)
        self._trees: dict[tuple[str, str | None], PinnedTree] = {}
        self._indexes: dict[tuple[str, str | None], Index] = {}
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def document(self, row: Row) -> str | None:
        assert row.source_path is not None
        data = self._tree(row).read(row.source_path) if row.commit else None
        return None if data is None else decode(data)

    def segment(self, row: Row, found: dict[str, Any]) -> str:
        """The passage that the retrieval configuration names by its sentences."""
        key = (row.github, row.commit)
        if key not in self._indexes:
            self._indexes[key] = Index.build(self._tree(row))
        chosen = self._indexes[key].sentences[found["first_sentence"] - 1 : found["last_sentence"]]
        return _compared(" ".join(word for text in chosen for word in text.split()), found["sha256"], row)

    def _tree(self, row: Row) -> PinnedTree:
        key = (row.github, row.commit)
        if key not in self._trees:
            name = (row.task_id or "").rpartition("/")[0] or row.github.rstrip("/").rpartition("/")[2]
            fields = {"name": name, "url": row.github, "commit": row.commit}
            repository = Repository.load(fields, f"example {row.github_id}/{row.id}")
            self._trees[key] = self._open.enter_context(open_tree(repository, self._clones_dir, self._mirrors))
        return self._trees[key]


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


def _segments(dataset: Dataset, split: str) -> Iterator[dict[str, Any]]:
    """The rows of the configuration ``retrieval``, which stand in the order of the split's; none where it is absent."""
    import pyarrow.parquet as pq

    folder = dataset.folder / "retrieval" if dataset.folder else None
    for path in sorted(folder.glob(f"{split}-*.parquet")) if folder else []:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH_ROWS):
                yield from batch.to_pylist()
