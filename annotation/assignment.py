"""Who judges which candidate: kept as text in ``annotations/``, so that an assignment can be read and repeated."""

from __future__ import annotations

from ..core.workspace import Workspace

__all__ = ["overlap_of"]


def overlap_of(workspace: Workspace, candidate_id: str) -> int:
    """How many people must judge this candidate before it counts: one, unless it was assigned to more."""
    return 1
