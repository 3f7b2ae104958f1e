"""From one repository's tree to its candidates.

Comes in: a ``PinnedTree``. Goes out: candidates, best first. Open ``from_document.py`` first, then ``merge.py``.
"""

from __future__ import annotations

from ...core.models import Candidate, Repository
from ..cache import DOCUMENTS, Memory
from ..documents import select_documents
from ..source import PinnedTree
from .arguments import FlagReader
from .contexts import ContextReader
from .draft import Draft
from .from_document import DocumentReader
from .from_scripts import drafts_from_scripts, named_scripts
from .layout import Layout
from .merge import merge, to_candidates
from .passages import document_key, read_passages
from .undocumented import undocumented_drafts

__all__ = ["candidates_of"]


def candidates_of(repository: Repository, tree: PinnedTree, memory: Memory | None = None) -> list[Candidate]:
    """All candidates of ``repository`` at the pin that ``tree`` holds, best first."""
    memory = memory or Memory()
    layout = Layout(repository.name, tree)
    paths = sorted(select_documents(tree.paths(), repository.documents), key=_document_order)
    memory.expect(DOCUMENTS, [document_key(path, tree.blob_of(path) or "") for path in paths])
    readers: list[DocumentReader] = []
    for rank, (path, data) in enumerate(tree.read_many(paths)):
        blob = tree.blob_of(path) or ""
        document, passages = read_passages(path, blob, data, memory)
        readers.append(DocumentReader(layout, document, passages, blob, rank))
    drafts: list[Draft] = [draft for reader in readers for draft in reader.drafts()]
    scripts = named_scripts(readers, drafts)
    drafts += drafts_from_scripts(layout, scripts)
    drafts += undocumented_drafts(layout, readers, {draft.target for draft in drafts if draft.target})
    merged = merge(drafts)
    flags = FlagReader(tree, memory, sorted({draft.target for draft in merged if draft.target}))
    return to_candidates(repository, merged, flags, ContextReader(tree, flags, memory))


def _document_order(path: str) -> tuple[int, int, str]:
    """Documents nearer to the root first, of these the plain README before its translations."""
    name = path.rpartition("/")[2].lower()
    return path.count("/"), 0 if name in ("readme.md", "readme.rst", "readme", "readme.txt") else 1, path
