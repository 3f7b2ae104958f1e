"""Which candidates of the state are meant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..core.errors import BenchwrightError
from ..core.models import Candidate
from ..core.store import Store

__all__ = ["Selection", "select"]


@dataclass(frozen=True)
class Selection:
    """Which of the store's candidates: of these repositories (all if none is named), the best ones."""

    repositories: tuple[str, ...] = ()
    limit: int | None = None
    min_score: float | None = None


def select(store: Store, wanted: Iterable[Candidate] | Selection | None) -> list[Candidate]:
    """The candidates given, or the store's that the selection names, best first.

    Raises:
        BenchwrightError: there are none.
    """
    if wanted is not None and not isinstance(wanted, Selection):
        return list(wanted)
    chosen = wanted or Selection()
    least = chosen.min_score
    found = [c for c in store.candidates(chosen.repositories) if least is None or c.score >= least]
    if not found:
        raise BenchwrightError(
            "there are no candidates to push", remedy="benchwright curate, then benchwright candidates list"
        )
    return sorted(found, key=lambda candidate: -candidate.score)[: chosen.limit]
