"""``annotate adjudicate``: a project of the candidates whose annotators differ, both answers side by side.

The adjudicator's answer wins; the originals stay in the archive.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ..core.errors import BenchwrightError
from ..core.files import digest_of
from ..core.models import Annotation, Candidate
from ..core.progress import Reporter
from ..core.workspace import Workspace
from ..curation.slots import Slots
from .acceptance import decide, judgements
from .arguments import write_arguments
from .assignment import all_assignments, overlap_of
from .client import Server
from .display import plain_text, preformatted, table_html
from .interface import opening, task_data
from .projects import ADJUDICATION, ensure_project, slug_of
from .pushing import Item, PushReport, last_outcomes, only_one, push_items
from .server import connect
from .trials import Trials

__all__ = ["adjudicate"]


def adjudicate(
    workspace: Workspace,
    *,
    title: str | None = None,
    server: Server | None = None,
    reporter: Reporter | None = None,
) -> PushReport:
    """Push every candidate whose annotators differ to the adjudication project, with their answers as predictions.

    Raises:
        BenchwrightError: nobody differs, or the candidates are not in the state.
    """
    client = (server or connect(workspace)).client()
    title = title or workspace.config.name
    with workspace.open_store() as store, only_one(workspace):
        candidates = {candidate.id: candidate for candidate in store.candidates()}
        differing = _differing(workspace, candidates)
        if not differing:
            raise BenchwrightError(
                "there is no difference to settle", remedy="benchwright annotate pull brings in what annotators did"
            )
        outcomes, slots = (
            last_outcomes(workspace) | Trials(workspace).outcomes(store, candidates.values()),
            Slots(candidates.values()),
        )
        items = [
            _item(candidates[key], judged, task_data(candidates[key], outcomes.get(key), slots.of(candidates[key])))
            for key, judged in differing.items()
        ]
        slug = f"{slug_of(title)}{ADJUDICATION}"
        project = ensure_project(client, workspace, f"{title[:37]}: adjudication", slug)
        return push_items(workspace, client, store, project, items, reporter or Reporter(quiet=True))


def _differing(workspace: Workspace, candidates: Mapping[str, Candidate]) -> dict[str, list[Annotation]]:
    assignments = all_assignments(workspace)
    found = {}
    for key, judged in judgements(workspace).items():
        own = [a for a in judged if not a.project.endswith(ADJUDICATION)]
        if key in candidates and decide(own, candidates[key], overlap_of(assignments, key)).kind == "disagreed":
            found[key] = own
    return found


def _item(candidate: Candidate, judged: Sequence[Annotation], data: dict[str, Any]) -> Item:
    data = {key: value for key, value in data.items() if key != "shown"}
    data["answers_html"] = answers_html(judged)
    predictions = tuple({"result": opening(a.raw), "model_version": a.annotator, "score": 1.0} for a in judged)
    return Item({**data, "shown": digest_of(data)}, predictions)


def answers_html(judged: Sequence[Annotation]) -> str:
    """What each annotator said, a column each, rows that differ marked; below, the scripts' differences by line."""
    rows = []
    for name, values in _rows(judged):
        mark = "" if len(set(values)) == 1 else "differs"
        rows.append((name, mark, *values))
    parts = [table_html(("field", "", *(a.annotator for a in judged)), rows)]
    first = judged[0]
    for other in judged[1:]:
        if other.output == first.output:
            continue
        lines = difflib.ndiff(plain_text(first.output).splitlines(), plain_text(other.output).splitlines())
        heading = f"{first.annotator} (-) and {other.annotator} (+)"
        kept = "\n".join(line for line in lines if not line.startswith("?"))
        parts.append(f"<p><b>{escape(heading)}</b></p>{preformatted(kept)}")
    return "".join(parts)


def _rows(judged: Sequence[Annotation]) -> list[tuple[str, list[str]]]:
    return [
        ("verdict", [a.verdict or "" for a in judged]),
        ("reason", [a.reason for a in judged]),
        ("oracle", [a.oracle_scope or "" for a in judged]),
        ("type", [a.type or "" for a in judged]),
        ("instruction", [a.instruction for a in judged]),
        ("arguments", [write_arguments(a.arguments) for a in judged]),
        ("script", [a.output for a in judged]),
        ("prefix code", [a.prefix_code for a in judged]),
        ("flags", [", ".join(a.flags) for a in judged]),
    ]
