"""The configuration ``retrieval``: for each example the passage that ML-Bench's retrieval setting finds.

BM25Okapi over windows of ten sentences among the first thousand of the repository's files, READMEs first
(``curation.retrieval``). A row stands for each row of the default configuration, in the same order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from ...core.files import canonical_json
from ...core.models import Repository
from ...core.workspace import Workspace
from ...curation.retrieval import Index, Segment
from ..rows import Key, Row
from .licenses import may_pass_on
from .trees import Trees

__all__ = ["RETRIEVAL_DTYPES", "Passages"]

RETRIEVAL_DTYPES = {
    "github_id": "int64",
    "id": "int64",
    "segment": "large_string",
    "sha256": "string",
    "score": "float64",
    "paths": "string",
    "first_sentence": "int64",
    "last_sentence": "int64",
}
"""Its columns. ``segment`` is null where the licence keeps the text back (``join`` makes it anew; ``sha256`` is of the
whole text); all are null where the repository was not at hand. ``paths`` is a JSON list of the files it reaches into;
sentences are counted from 1 through the whole text."""


class Passages:
    """Finds the passage of each row; a repository is indexed once, and a row in two splits is asked for once."""

    def __init__(self, workspace: Workspace, repositories: Iterable[Repository], trees: Trees) -> None:
        self._workspace = workspace
        self._repositories = {item.github_id: item for item in repositories}
        self._trees = trees
        self._indexes: dict[int, Index | None] = {}
        self._known: dict[Key, tuple[int, int, float] | None] = {}
        self._passages: dict[tuple[int, int, int], dict[str, Any]] = {}

    def rows(self, rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
        """One row of the configuration for each of ``rows``.

        Raises:
            PrerequisiteError: the extra ``curation`` is not installed.
        """
        for row in rows:
            if row.key not in self._known:
                self._known[row.key] = self._find(row)
            values: dict[str, Any] = dict.fromkeys(RETRIEVAL_DTYPES)
            values.update(github_id=row.github_id, id=row.id)
            if (found := self._known[row.key]) is not None:
                first, last, score = found
                values.update(self._passages[row.github_id, first, last], score=score)
            yield values

    def _find(self, row: Row) -> tuple[int, int, float] | None:
        """First and last sentence of the row's passage, and its score; the passage itself is kept once."""
        if row.github_id not in self._indexes:
            tree = self._trees.of(self._repositories[row.github_id])
            self._indexes[row.github_id] = Index.build(tree) if tree is not None else None
        index = self._indexes[row.github_id]
        best = index.top(row.instruction) if index is not None else []
        if not best:
            return None
        place = (row.github_id, best[0].first, best[0].last)
        if place not in self._passages:
            self._passages[place] = self._passage(best[0], self._repositories[row.github_id])
        return best[0].first, best[0].last, round(best[0].score, 6)

    def _passage(self, found: Segment, repository: Repository) -> dict[str, Any]:
        text = found.text
        paths = [path.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for path in found.paths]
        return {
            "segment": text if may_pass_on(self._workspace, repository) else None,
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "paths": canonical_json(paths),
            "first_sentence": found.first,
            "last_sentence": found.last,
        }
