"""The code context of candidates: what the ``context`` package finds, remembered while no code changes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from functools import cached_property, lru_cache

from pydantic import TypeAdapter, ValidationError

from ...core.files import digest_of
from ...core.models import Argument, ContextPiece
from ..cache import CONTEXTS, DEFINITIONS, Blobs, Memory
from ..context import CONFIGURATIONS, Index, context_for, named_file
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
        memory.expect(
            DEFINITIONS, [blob for path in tree.paths() if path.endswith(".py") and (blob := tree.blob_of(path))]
        )
        self._index = Index(files, blob_of=tree.blob_of, cache=Blobs(memory, DEFINITIONS))
        self._memory = memory
        shown = (".py", ".sh", *CONFIGURATIONS)
        self._code = digest_of([[path, tree.blob_of(path)] for path in tree.paths() if path.endswith(shown)])
        self._made: dict[str, tuple[ContextPiece, ...]] = {}

    def of(self, draft: Draft, arguments: Sequence[Argument]) -> tuple[ContextPiece, ...]:
        """The pieces for one draft; none where it starts nothing of the repository."""
        snippet = draft.output if draft.type == "Python Code" else None
        if snippet is None and draft.target is None:
            return ()
        home = posixpath.dirname(draft.target or "")
        told = [self._told_apart(argument, home) for argument in arguments]
        given = [[argument.name, argument.value] for argument in told if argument.value is not None]
        key = digest_of([self._code, draft.target, snippet, draft.folder, given])
        if key not in self._made:
            self._made[key] = self._recalled(key) or self._keep(
                key, context_for(self._index, script=draft.target, snippet=snippet, folder=draft.folder, arguments=told)
            )
        return self._made[key]

    def _recalled(self, key: str) -> tuple[ContextPiece, ...] | None:
        known = self._memory.look_up(CONTEXTS, key)
        try:
            return _adapter().validate_json(known) if known is not None else None
        except ValidationError:
            return None

    def _keep(self, key: str, found: tuple[ContextPiece, ...]) -> tuple[ContextPiece, ...]:
        self._memory.put(CONTEXTS, key, _adapter().dump_json(found))
        return found

    def _told_apart(self, argument: Argument, folder: str) -> Argument:
        """The argument with a value that the code could tell from others, or one that stands for all it does not know.

        Commands that differ only in such values (paths, names of runs) have the same context; there can be hundreds.
        """
        value = argument.value
        if value is None or (isinstance(value, str) and self._means_something(value, folder)):
            return argument
        unknown = "\0" if isinstance(value, str) and value else 0
        return argument.model_copy(update={"value": unknown})

    def _means_something(self, value: str, folder: str) -> bool:
        return (
            value.encode("utf-8", "replace") in self._literals
            or any(map(self._index.defines, value.split(",")))
            or named_file(self._index, folder, value) is not None
        )

    @cached_property
    def _literals(self) -> frozenset[bytes]:
        """Everything that stands between quotes in the repository's Python."""
        found: set[bytes] = set()
        for path in self._index.paths:
            found.update(_QUOTED.findall(self._index.source(path)))
        return frozenset(found)


_QUOTED = re.compile(rb"['\"]([^'\"\n]{1,100})(?=['\"])")
