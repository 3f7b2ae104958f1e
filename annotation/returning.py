"""``annotate send-back``: an annotator gets a task once more, with the reason, and with what they had filled in.

The community server has no reviews. So the annotation is taken from the server, where the task then is open again;
the archive keeps it, and with it that it was sent back, from which on it counts as no judgement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any

from ..core.errors import BenchwrightError
from ..core.models import Annotation
from ..core.progress import Reporter
from ..core.workspace import Workspace
from . import archive
from .client import FULL, Client, Server
from .display import plain_text
from .interface import NOTE, opening
from .people import People
from .projects import find_projects
from .pulling import pull
from .pushing import model_version
from .server import connect

__all__ = ["SentBack", "send_back"]


@dataclass(frozen=True)
class SentBack:
    """One annotation that its author is asked to look at again."""

    candidate: str
    annotator: str
    project: str
    reason: str

    def lines(self) -> list[str]:
        """The report for a person."""
        return [f"{self.candidate} is open again for {self.annotator} in {self.project}, with the reason shown"]


def send_back(
    workspace: Workspace,
    candidate: str,
    reason: str,
    annotator: str | None = None,
    *,
    server: Server | None = None,
    reporter: Reporter | None = None,
) -> SentBack:
    """Open ``candidate`` (its id, or the beginning of it) again for ``annotator`` (None: the only one who judged it).

    ``annotator`` is a pseudonym or an e-mail address. Killed at any moment, the same command goes on from there.

    Raises:
        BenchwrightError: no reason, nobody judged it, or several did and none is named.
        InfrastructureError: the server stays away.
    """
    if not reason.strip():
        raise BenchwrightError("a task is sent back with a reason", remedy="say what is to be done: --reason TEXT")
    server = server or connect(workspace)
    pull(workspace, server=server, reporter=reporter)  # nothing leaves the server that the archive does not have
    said = _chosen(workspace, candidate, annotator)
    client = server.client()
    project = find_projects(client, workspace).get(said.project)
    if project is None:
        raise BenchwrightError(f"the project {said.project} is not on the server", where=client.url)
    for task in client.find_tasks(project.id, "candidate_id", [said.candidate_id], FULL):
        _reopen(client, task, said, reason)
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    returned = said.model_copy(update={"returned": reason, "updated_at": max(now, said.updated_at)})
    with workspace.lock():
        archive.append(workspace, said.project, [returned])
    return SentBack(said.candidate_id, said.annotator, project.title, reason)


def _chosen(workspace: Workspace, candidate: str, annotator: str | None) -> Annotation:
    name = annotator and _pseudonym(workspace, annotator)
    found = [
        said
        for project in archive.projects(workspace)
        for said in archive.latest(archive.read(workspace, project)).values()
        if said.candidate_id.startswith(candidate) and not said.returned and name in (None, said.annotator)
    ]
    people = sorted({said.annotator for said in found})
    if len({said.candidate_id for said in found}) > 1 or len(people) > 1:
        shown = ", ".join(sorted({f"{said.candidate_id} by {said.annotator}" for said in found})[:6])
        raise BenchwrightError(
            f"more than one annotation is meant: {shown}", where=candidate, remedy="name the whole id and --annotator"
        )
    if not found:
        raise BenchwrightError(
            f"{annotator or 'nobody'} has not judged it" if annotator else "nobody has judged it",
            where=candidate,
            remedy="benchwright annotate status shows who did what",
        )
    return max(found, key=lambda said: said.updated_at)


def _pseudonym(workspace: Workspace, annotator: str) -> str:
    accounts = People(workspace).accounts()
    return next((name for name, account in accounts.items() if account.casefold() == annotator.casefold()), annotator)


def _reopen(client: Client, task: Mapping[str, Any], said: Annotation, reason: str) -> None:
    """The reason first, then what was filled in, the annotation last: whatever is cut off can be done again."""
    day = datetime.now(UTC).date().isoformat()
    note = f"<p><b>Sent back on {day}:</b> {escape(plain_text(reason))}</p>"
    client.update_task(task["id"], {**task["data"], NOTE: note})
    if said.raw:
        prediction = {"result": opening(said.raw), "score": 1.0, "model_version": model_version()}
        client.replace_predictions(task["id"], [prediction])
    if said.annotation_id in _ids(task["annotations"]):
        client.request("taking an annotation back", "DELETE", f"api/annotations/{said.annotation_id}")


def _ids(annotations: Sequence[Mapping[str, Any]]) -> set[int]:
    return {int(item["id"]) for item in annotations}
