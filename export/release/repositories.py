"""The configuration ``repositories``: each document of each repository once, not once in every row."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from ...core.models import Repository
from ...curation.documents import is_readme
from ...curation.documents.text import decode
from ...curation.source import PinnedTree

__all__ = ["DOCUMENT_DTYPES", "document_rows"]

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
"""Its columns. ``sha256`` is of the bytes in git; ``text`` is null where the licence is not on the workspace's list,
or the document was not at hand when the release was built."""


def document_rows(repository: Repository, tree: PinnedTree | None, paths: Sequence[str]) -> Iterator[dict[str, Any]]:
    """One row for each document: those that tasks name, and the README at the root. At least one row a repository.

    The text is in it whatever the licence: whoever writes it out leaves out what may not be passed on.
    """
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
            "path": path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
            "blob": tree.blob_of(path) if tree is not None else None,
            "sha256": None if data is None else hashlib.sha256(data).hexdigest(),
            "text": decode(data) if data is not None else None,
        }
