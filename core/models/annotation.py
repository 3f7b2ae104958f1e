"""One version of one person's annotation, as kept for ever in ``annotations/PROJECT.jsonl``."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from .candidate import ScopeName, TaskType
from .record import Record

__all__ = ["Annotation", "Verdict"]

Verdict = Literal["accept", "fix", "reject"]


class Annotation(Record):
    """What one annotator (under a pseudonym) said about one candidate, at one moment."""

    project: str
    candidate_id: str
    candidate_digest: str
    annotation_id: int
    """The server's id; with ``updated_at`` it names this version."""
    annotator: str
    """Pseudonym; the account behind it stands only in ``.benchwright/people.toml``."""
    created_at: str
    updated_at: str
    """ISO 8601 with time zone, as the server gave it."""
    lead_time_s: float | None = None
    skipped: bool = False
    verdict: Verdict | None = None
    reason: str = ""
    type: TaskType | None = None
    oracle_scope: ScopeName | None = None
    instruction: str = ""
    arguments: dict[str, Any] = Field(default_factory=dict)
    output: str = ""
    """The script, byte for byte as the annotator left it."""
    prefix_code: str = ""
    flags: tuple[str, ...] = ()
    returned: str = ""
    """Why it was sent back to its author; from then on it is no judgement."""
    raw: tuple[dict[str, Any], ...] = ()
    """Label Studio's own result items, so that nothing it said is lost."""
