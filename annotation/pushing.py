"""``annotate push``: candidates become tasks on the server, each exactly once, whatever is interrupted.

The server is the truth. Before anything is imported it is asked which candidates it has (by the key in the tasks'
data); an import whose answer is lost, or whose process was killed, is looked up before it is done again.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ..core import toolkit_version
from ..core.errors import BenchwrightError, InfrastructureError
from ..core.files import atomic_write, read_json
from ..core.models import Candidate, Outcome
from ..core.progress import Reporter
from ..core.store import Store
from ..core.tasks import load_tasks, read_evidence
from ..core.workspace import Workspace
from ..curation.slots import Slot, Slots
from .client import Client, DoubtfulError, Server
from .interface import NOTE, opening, prefill, result_for, task_data
from .projects import Project, ensure_project
from .selection import Selection, select
from .server import connect
from .trials import Trials

__all__ = ["Item", "PushReport", "item_of", "last_outcomes", "model_version", "only_one", "push", "push_items"]

CHUNK = 400
"""Tasks in one import: small enough for SQLite, and little is looked up again after a doubtful answer."""
ABSENT_S = 5.0
"""A doubtful import that has not shown for so long while the server answers was not done."""
SILENT_S = 120.0
"""How long a server may give no answer at all before the push gives up."""
ATTEMPTS = 3
LISTED = "id,data,total_annotations,cancelled_annotations"


@dataclass(frozen=True)
class Item:
    """One task to have on the server: ``data`` (with candidate_id, candidate_digest, shown) and what is prefilled."""

    data: dict[str, Any]
    predictions: tuple[dict[str, Any], ...]

    @property
    def key(self) -> str:
        return str(self.data["candidate_id"])

    def as_task(self) -> dict[str, Any]:
        return {"data": self.data, "predictions": list(self.predictions)}


@dataclass
class PushReport:
    """What a push found and did in one project."""

    project: int
    title: str
    url: str
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    repaired: int = 0
    """Surplus tasks without annotations that were removed."""
    problems: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The report for a person."""
        return [
            f"{self.title}: {self.created} new, {self.updated} updated, {self.unchanged} unchanged"
            + (f", {self.repaired} surplus removed" if self.repaired else ""),
            *(f"  problem: {problem}" for problem in self.problems),
            f"annotators work at {self.url}",
        ]


def push(
    workspace: Workspace,
    candidates: Iterable[Candidate] | Selection | None = None,
    *,
    title: str | None = None,
    server: Server | None = None,
    reporter: Reporter | None = None,
) -> PushReport:
    """Have ``candidates`` (None: all of the store) in one project on the server.

    ``title`` None: the benchmark's name.

    Raises:
        BenchwrightError: nothing to push, or the server's project does not fit.
        InfrastructureError: the server stays away; what was pushed stays, and the same command goes on from there.
    """
    client = (server or connect(workspace)).client()
    with workspace.open_store() as store, only_one(workspace):
        chosen = select(store, candidates)
        outcomes = last_outcomes(workspace) | Trials(workspace).outcomes(store, chosen)
        project = ensure_project(client, workspace, title or workspace.config.name)
        slots = Slots(store.candidates({candidate.repository.name for candidate in chosen}))
        items = [item_of(candidate, outcomes.get(candidate.id), slots.of(candidate)) for candidate in chosen]
        return push_items(workspace, client, store, project, items, reporter or Reporter(quiet=True))


def last_outcomes(workspace: Workspace) -> dict[str, Outcome]:
    """Candidate id -> the newest recorded run of the task it became."""
    found: dict[str, Outcome] = {}
    for item in load_tasks(workspace):
        gold = [evidence for evidence in read_evidence(item.folder) if evidence.control == "gold"]
        if item.task.candidate_id and gold:
            found[item.task.candidate_id] = gold[-1].outcome
    return found


def item_of(candidate: Candidate, outcome: Outcome | None = None, slots: Sequence[Slot] = ()) -> Item:
    """The task that shows ``candidate``, filled in with what it proposes.

    Raises:
        BenchwrightError: the script holds what no server can store byte for byte.
    """
    try:
        candidate.output.encode()
    except UnicodeEncodeError as error:
        raise BenchwrightError(
            "the script is not UTF-8", where=candidate.id, remedy="leave it out: benchwright candidates list"
        ) from error
    prediction = {
        "result": opening(result_for(prefill(candidate))),
        "score": candidate.score,
        "model_version": model_version(),
    }
    return Item(task_data(candidate, outcome, slots), (prediction,))


@cache
def model_version() -> str:
    """The name under which what is filled in stands on the server."""
    return f"benchwright {toolkit_version()}"  # reading the package's metadata takes longer than making an item


def push_items(
    workspace: Workspace,
    client: Client,
    store: Store,
    project: Project,
    items: Sequence[Item],
    reporter: Reporter,
) -> PushReport:
    """Have each of ``items`` in ``project`` once, up to date; the caller holds the push lock."""
    url = f"{client.url}/projects/{project.id}"
    report = PushReport(project.id, project.title, url)
    journal = _Journal(workspace.private_dir / "label-studio" / f"push-{project.slug}.json", client, project)
    wanted = {item.key: item for item in items}
    journal.finish()
    there = find_existing(client, project.id, list(wanted))
    _drop_surplus(client, there, report)
    changed = [item for key, item in wanted.items() if key in there and _shown(there[key][0]) != item.data["shown"]]
    report.unchanged = len(there) - len(changed)
    _record(store, client, project, wanted, {key: tasks[0]["id"] for key, tasks in there.items()})
    missing = [item for key, item in wanted.items() if key not in there]
    chunks = [missing[start : start + CHUNK] for start in range(0, len(missing), CHUNK)]
    if not (chunks or changed):
        return report
    expected = client.project(project.id)["task_number"] + len(missing)
    with reporter.track(f"push {project.title}", len(chunks) + len(changed)) as advance:
        for chunk in chunks:
            tasks = journal.import_once(chunk)
            _record(store, client, project, wanted, tasks)
            report.created += len(tasks)
            advance(f"{len(tasks)} tasks")
        for item in changed:
            _update(client, there[item.key][0], item)
            report.updated += 1
            advance(f"{item.key}: updated")
    if client.project(project.id)["task_number"] != expected:  # a request that was given up for lost came through
        _drop_surplus(client, find_existing(client, project.id, list(wanted)), report)
    return report


def find_existing(client: Client, project: int, keys: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Those of ``keys`` that the project has, each with its tasks (oldest first; more than one is a fault).

    The server answers a filter it does not understand with no hits, not with an error; so each search is proved by
    a key that is known to be there.

    Raises:
        InfrastructureError: the search does not find what is there.
    """
    sample = client.request(
        "reading a task", "GET", "api/tasks", params={"project": project, "page": 1, "page_size": 1, "include": LISTED}
    )["tasks"]
    known = sample[0]["data"].get("candidate_id") if sample else None
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    if not sample:
        return found
    hits = client.find_tasks(project, "candidate_id", [known, *keys] if known else list(keys), LISTED)
    if known and not hits:
        raise InfrastructureError(
            "the server's search for candidates finds nothing, though they are there",
            where=client.url,
            remedy="use a server of the release that benchwright annotate up installs",
        )
    unique = {hit["id"]: hit for hit in hits}
    for _, hit in sorted(unique.items()):
        if hit["data"]["candidate_id"] in set(keys) or hit["data"]["candidate_id"] != known:
            found[hit["data"]["candidate_id"]].append(hit)
    return found


def _drop_surplus(client: Client, there: dict[str, list[dict[str, Any]]], report: PushReport) -> None:
    for key, tasks in there.items():
        tasks.sort(key=lambda task: (-_annotations(task), task["id"]))
        for surplus in tasks[1:]:
            if _annotations(surplus):
                report.problems.append(f"{key} stands twice, both annotated: tasks {tasks[0]['id']}, {surplus['id']}")
            else:
                client.delete_task(surplus["id"])
                report.repaired += 1


def _annotations(task: Mapping[str, Any]) -> int:
    return int(task["total_annotations"]) + int(task["cancelled_annotations"])


def _shown(task: Mapping[str, Any]) -> Any:
    return task["data"].get("shown")


def _update(client: Client, task: Mapping[str, Any], item: Item) -> None:
    """Show the new data; the digest in it is written last, so that a kill before leaves the update to be done."""
    old = task["data"]
    history = list(old.get("shown_before", ()))
    if old.get("candidate_digest") != item.data["candidate_digest"]:
        history.append([old.get("candidate_digest"), datetime.now(UTC).isoformat()])
    client.replace_predictions(task["id"], item.predictions)
    kept = {"shown_before": history} if history else {}
    client.update_task(task["id"], {**item.data, NOTE: old.get(NOTE, ""), **kept})


def _record(
    store: Store, client: Client, project: Project, wanted: Mapping[str, Item], tasks: Mapping[str, int]
) -> None:
    pushed = {key: (task, str(wanted[key].data["shown"])) for key, task in tasks.items()}
    store.record_pushes(client.url, project.id, pushed)


@contextmanager
def only_one(workspace: Workspace) -> Iterator[None]:
    """Hold off other pushes of this workspace.

    Raises:
        InfrastructureError: one is running.
    """
    lock = FileLock(workspace.private_dir / "label-studio" / "push.lock", timeout=1)
    Path(lock.lock_file).parent.mkdir(parents=True, exist_ok=True)
    try:
        with lock:
            yield
    except Timeout as error:
        raise InfrastructureError("another push is running", where=str(lock.lock_file), remedy="wait for it") from error


class _Journal:
    """The one import under way, written down before it is sent, so that a killed push knows what to look up."""

    def __init__(self, path: Path, client: Client, project: Project) -> None:
        self._path = path
        self._client = client
        self._project = project.id

    def finish(self) -> None:
        """See how an import ended whose process was killed: wait until it shows, or until it cannot any more."""
        try:
            pending = read_json(self._path, remedy="remove the file")
        except FileNotFoundError:
            return
        if pending.get("server") == self._client.url and pending.get("project") == self._project:
            self._settle(list(pending["keys"]))
        self._path.unlink()

    def import_once(self, items: Sequence[Item]) -> dict[str, int]:
        """Import ``items``; key -> task id.

        Raises:
            InfrastructureError: three attempts failed, or the server stays silent.
        """
        keys = [item.key for item in items]
        pending = {"server": self._client.url, "project": self._project, "keys": keys}
        atomic_write(self._path, json.dumps(pending), mode=0o600)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                ids = self._client.import_tasks(self._project, [item.as_task() for item in items])
                tasks = dict(zip(keys, ids, strict=True))
            except DoubtfulError:
                tasks = self._settle(keys)
                if not tasks and attempt == ATTEMPTS:
                    raise
            if tasks:
                break
        self._path.unlink()
        return tasks

    def _settle(self, keys: list[str]) -> dict[str, int]:
        """After a doubtful import (all or nothing): the ids if it was done, nothing if it was not."""
        silent_since = time.monotonic()
        absent_since: float | None = None
        while True:
            try:
                found = find_existing(self._client, self._project, keys)
            except DoubtfulError:
                absent_since = None
                if time.monotonic() - silent_since > SILENT_S:
                    raise
            else:
                silent_since = time.monotonic()
                absent_since = absent_since or silent_since
                if len(found) == len(keys):
                    return {key: tasks[0]["id"] for key, tasks in found.items()}
                if silent_since - absent_since > ABSENT_S:
                    return {}
            time.sleep(0.5)
