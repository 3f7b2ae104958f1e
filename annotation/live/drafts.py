"""What an annotator has typed so far, out of a request of the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core.errors import BenchwrightError
from ...core.models import TaskType
from ..interface import FIXED_CHOICES, fields_of

__all__ = ["Draft", "drafts_of"]


@dataclass(frozen=True)
class Draft:
    """The form of one task as it stands now; an empty part of it is empty text."""

    task: int
    """The server's id of the task, which tells drafts of different tasks apart."""
    candidate_id: str
    candidate_digest: str
    type: TaskType | None
    script: str
    prefix_code: str
    arguments: str
    instruction: str


def drafts_of(request: Mapping[str, Any]) -> list[Draft | None]:
    """One draft for each task of a ``/predict`` request; None where the server asks without anyone typing.

    Raises:
        BenchwrightError: the request has not the shape that the server sends.
    """
    try:
        context = (request.get("params") or {}).get("context") or {}
        if not context:
            return [None for _ in request["tasks"]]
        (task,) = request["tasks"]
        return [_draft(task, [item for item in context.get("result") or () if isinstance(item, Mapping)])]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise BenchwrightError(f"not a request for a prediction ({type(error).__name__})") from error


def _draft(task: Mapping[str, Any], items: list[Mapping[str, Any]]) -> Draft:
    fields = fields_of(items)
    texts = {name: fields.get(name, "") for name in ("script", "prefix_code", "arguments", "instruction")}
    for text in texts.values():
        text.encode()  # neither another type nor half of a surrogate pair goes further
    chosen = fields.get("type")
    return Draft(
        task=int(task["id"]),
        candidate_id=str(task["data"]["candidate_id"]),
        candidate_digest=str(task["data"].get("candidate_digest", "")),
        type=chosen if chosen in FIXED_CHOICES["out_type"] else None,
        **texts,
    )
