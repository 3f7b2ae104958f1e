"""One index per repository and setting, made at the first question and held for the next."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from ...core.errors import BenchwrightError
from .index import ML_BENCH, Index, Setting

if TYPE_CHECKING:
    from ..flags.report import SourceFiles

__all__ = ["Indexes"]


class Indexes:
    """Gives the index of a repository under a setting, and lets go of the one longest unused.

    ``open_files`` opens a repository's files by its name; they are closed as soon as the index is made. At most
    ``held`` indexes are in memory at a time: rows sorted by repository need one.
    """

    def __init__(self, open_files: Callable[[str], AbstractContextManager[SourceFiles]], held: int = 4) -> None:
        if held < 1:
            raise BenchwrightError(f"{held} indexes are to be held; hold at least 1", where="retrieval")
        self._open = open_files
        self._held = held
        self._indexes: OrderedDict[tuple[str, Setting], Index] = OrderedDict()

    def get(self, repository: str, setting: Setting = ML_BENCH) -> Index:
        """The index of the repository called so."""
        key = (repository, setting)
        if key not in self._indexes:
            with self._open(repository) as files:
                self._indexes[key] = Index.build(files, setting)
            if len(self._indexes) > self._held:
                self._indexes.popitem(last=False)
        self._indexes.move_to_end(key)
        return self._indexes[key]
