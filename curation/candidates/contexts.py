"""The code context of candidates: what the ``context`` package finds, remembered while no code changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pydantic import TypeAdapter, ValidationError

from ...core.files import digest_of
from ...core.models import Argument, ContextPiece
from ..context import Index, context_for
from ..memory import CONTEXTS, Memory
from ..source import PinnedTree
from .arguments import FlagReader
from .draft import Draft

__all__ = ["ContextReader"]


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[tuple[ContextPiece, ...]]:
    return TypeAdapter(tuple[ContextPiece, ...])


class ContextReader:
    """Finds the context of one repository's candidates."""

    def __init__(self, tree: PinnedTree, files: FlagReader, memory: Memory) -> None:
        self._index = Index(files)
        self._memory = memory
        self._code = digest_of([[path, tree.blob_of(path)] for path in tree.paths() if path.endswith((".py", ".sh"))])

    def of(self, draft: Draft, arguments: Sequence[Argument]) -> tuple[ContextPiece, ...]:
        """The pieces for one draft; none where it starts nothing of the repository."""
        snippet = draft.output if draft.type == "Python Code" else None
        if snippet is None and draft.target is None:
            return ()
        given = [[argument.name, argument.value] for argument in arguments if argument.value is not None]
        key = digest_of([self._code, draft.target, snippet, draft.folder, given])
        known = self._memory.look_up(CONTEXTS, key)
        if known is not None:
            try:
                return _adapter().validate_json(known)
            except ValidationError:
                pass
        found = context_for(self._index, script=draft.target, snippet=snippet, folder=draft.folder, arguments=arguments)
        self._memory.put(CONTEXTS, key, _adapter().dump_json(found))
        return found
