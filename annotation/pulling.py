"""``annotate pull``: what annotators did comes into the archive, complete, under pseudonyms; then into ``tasks/``.

A light listing says which tasks changed since the last pull; only those are read in full. What vanished on the
server is reported and stays in the archive.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from ..core.errors import BenchwrightError
from ..core.models import Annotation, ScopeName, TaskType, Verdict
from ..core.progress import Reporter
from ..core.store import Store
from ..core.workspace import Workspace
from . import archive
from .acceptance import Acceptance, accept
from .archive import AnnotationKey
from .arguments import parse_arguments
from .client import FULL, Client, Server
from .display import plain_text
from .interface import fields_of
from .people import People
from .projects import Project, find_projects
from .server import connect

__all__ = ["ProjectPull", "PullReport", "pull"]

NAMESPACE = "annotation-pull"
SEARCH_SHARE = 0.25
"""Where more than this share of the tasks changed, reading all pages is quicker than searching."""

Seen = dict[str, tuple[str, list[int]]]
"""Task id -> time of its last change, ids of its annotations; as far as the last pull saw."""


@dataclass
class ProjectPull:
    """What a pull found in one project."""

    project: str
    annotations: int = 0
    """On the server now, skipped ones included."""
    new_versions: int = 0
    skipped: int = 0
    drafts: int = 0
    """Tasks with something typed that was not submitted; it stays on the server."""
    vanished: list[str] = field(default_factory=list)
    """Annotations that are in the archive but no longer on the server."""
    foreign_tasks: int = 0
    """Tasks that no push of ours made."""


@dataclass
class PullReport:
    """What a pull found on the server, and what became of it in ``tasks/``."""

    projects: list[ProjectPull]
    vanished_projects: list[str]
    acceptance: Acceptance
    people_path: str
    people_new: bool
    """True where the file that names the people behind the pseudonyms was made by this pull."""

    def lines(self) -> list[str]:
        """The report for a person."""
        lines = []
        for item in self.projects:
            lines.append(
                f"{item.project}: {item.annotations} annotations ({item.skipped} skipped), {item.drafts} drafts, "
                f"{item.new_versions} new versions archived"
            )
            if item.foreign_tasks:
                lines.append(f"  {item.foreign_tasks} tasks were not pushed by benchwright and are left alone")
            lines += [f"  vanished on the server, kept in the archive: {what}" for what in item.vanished]
        lines += [f"the project {slug} vanished on the server; its archive is kept" for slug in self.vanished_projects]
        if self.people_new and Path(self.people_path).exists():
            lines.append(f"{self.people_path} names the people: it cannot be rebuilt, keep a copy")
        return lines + self.acceptance.lines()


def pull(workspace: Workspace, *, server: Server | None = None, reporter: Reporter | None = None) -> PullReport:
    """Archive every version of every annotation that is new, then write the accepted ones into ``tasks/``.

    Raises:
        BenchwrightError: there is nothing to pull from, or the archive is damaged.
        InfrastructureError: the server stays away; what was archived stays.
    """
    reporter = reporter or Reporter(quiet=True)
    client = (server or connect(workspace)).client()
    found = find_projects(client, workspace)
    archived = archive.projects(workspace)
    if not found and not archived:
        raise BenchwrightError(
            "the server has no project of this benchmark", where=client.url, remedy="benchwright annotate push"
        )
    with workspace.open_store() as store, workspace.lock():
        reader = _Reader(workspace, client, store)
        reports = []
        with reporter.track("pull", len(found)) as advance:
            for slug, project in sorted(found.items()):
                reports.append(reader.pull(project))
                advance(f"{slug}: {reports[-1].annotations} annotations, {reports[-1].new_versions} new versions")
        gone = [slug for slug in archived if slug not in found]
        people = reader.people
        return PullReport(reports, gone, accept(workspace, store), str(people.path), people.is_new)


class _Reader:
    """Reads projects one after another, as one account, into one workspace."""

    def __init__(self, workspace: Workspace, client: Client, store: Store) -> None:
        self._workspace = workspace
        self._client = client
        self._store = store
        self._emails = client.emails()
        taken = {v.annotator for slug in archive.projects(workspace) for v in archive.read(workspace, slug)}
        self.people = People(workspace, taken)

    def pull(self, project: Project) -> ProjectPull:
        report = ProjectPull(project.slug)
        known = archive.read(self._workspace, project.slug)
        authors = {archive.key_of(version): version.annotator for version in known}
        versions = {(version.annotation_id, version.updated_at) for version in known}
        seen = self._remembered(project) if known else {}
        first = not seen  # then everything is read in full, and a light listing before it would tell nothing new
        light = () if first else self._client.tasks(project.id, "id,updated_at")
        there: dict[str, str] = {str(task["id"]): task["updated_at"] for task in light}
        fresh: list[Annotation] = []
        for task in self._changed(project, there, seen):
            if first:
                there[str(task["id"])] = task["updated_at"]
            key = task["data"].get("candidate_id")
            report.foreign_tasks += key is None
            seen[str(task["id"])] = (there.get(str(task["id"]), ""), [a["id"] for a in task["annotations"]])
            if key is None:
                continue
            for item in task["annotations"]:
                self._recognise(item, authors)
                if (item["id"], item["updated_at"]) not in versions:
                    fresh.append(self._annotation(project, task["data"], item, authors))
        fresh.sort(key=lambda version: (version.updated_at, version.annotation_id))
        archive.append(self._workspace, project.slug, fresh)
        seen = {task: value for task, value in seen.items() if task in there}
        self._store.remember(NAMESPACE, {self._key(project): json.dumps(seen).encode()})
        self._count(report, [*known, *fresh], seen, len(fresh))
        report.drafts = self._client.count_drafts(project.id)
        return report

    def _count(self, report: ProjectPull, versions: Sequence[Annotation], seen: Seen, fresh: int) -> None:
        alive = {annotation for _, annotations in seen.values() for annotation in annotations}
        newest = archive.latest(versions)
        by_id: dict[int, AnnotationKey] = {}
        for key in sorted(newest, key=lambda key: key[1]):
            by_id[key[0]] = key  # an id used again belongs to the younger annotation
        report.annotations = len(alive)
        report.new_versions = fresh
        report.skipped = sum(newest[key].skipped for i, key in by_id.items() if i in alive)
        report.vanished = [
            f"{version.candidate_id}: annotation {key[0]} of {version.annotator}, {version.created_at}"
            for key, version in newest.items()
            if not version.returned and (key[0] not in alive or by_id[key[0]] != key)
        ]

    def _changed(self, project: Project, there: Mapping[str, str], seen: Seen) -> Iterator[dict[str, Any]]:
        changed = [int(task) for task, at in there.items() if seen.get(task, ("", []))[0] != at]
        if seen and len(changed) <= SEARCH_SHARE * len(there):
            tasks = self._client.find_tasks(project.id, "id", changed, FULL)
            if len(tasks) == len(changed):
                return iter(tasks)
        return self._client.tasks(project.id, FULL, full=True)

    def _key(self, project: Project) -> str:
        return f"{self._client.url} {project.id} {project.slug}"

    def _remembered(self, project: Project) -> Seen:
        value = self._store.cached(NAMESPACE, [self._key(project)]).get(self._key(project))
        return {} if value is None else {task: (at, ids) for task, (at, ids) in json.loads(value).items()}

    def _recognise(self, item: Mapping[str, Any], authors: Mapping[AnnotationKey, str]) -> None:
        author, email = authors.get((item["id"], item["created_at"])), self._emails.get(_author_id(item))
        if author and email:
            self.people.recognise({author: email})

    def _annotation(
        self,
        project: Project,
        data: Mapping[str, Any],
        item: Mapping[str, Any],
        authors: Mapping[AnnotationKey, str],
    ) -> Annotation:
        author = authors.get((item["id"], item["created_at"]))
        if author is None:
            user = _author_id(item)
            author = self.people.pseudonym(self._emails.get(user) or f"account {user} on {self._client.url}")
        result = tuple(item.get("result") or ())
        fields = fields_of(result)
        try:
            arguments = parse_arguments(fields.get("arguments", ""))
        except BenchwrightError:
            arguments = {}  # what was typed stays in ``raw``; acceptance reads it again and reports it
        return Annotation(
            project=project.slug,
            candidate_id=str(data["candidate_id"]),
            candidate_digest=_digest_at(data, item["updated_at"]),
            annotation_id=item["id"],
            annotator=author,
            created_at=item["created_at"],
            updated_at=item["updated_at"],
            lead_time_s=item.get("lead_time"),
            skipped=bool(item.get("was_cancelled")),
            verdict=_one_of(Verdict, fields.get("verdict")),
            reason=plain_text(fields.get("reason", "")),
            type=_one_of(TaskType, fields.get("type")),
            oracle_scope=_one_of(ScopeName, fields.get("scope")),
            instruction=fields.get("instruction", ""),
            arguments=arguments,
            output=fields.get("script", ""),
            prefix_code=fields.get("prefix_code", ""),
            flags=tuple(fields.get("flags", ())),
            raw=result,
        )


def _author_id(item: Mapping[str, Any]) -> int:
    by = item.get("completed_by")
    return int(by["id"] if isinstance(by, dict) else by or 0)


def _digest_at(data: Mapping[str, Any], at: str) -> str:
    """Digest of the candidate as it was shown when the annotation was last changed."""
    for digest, until in data.get("shown_before", ()):
        if at.replace("Z", "+00:00") <= until:
            return str(digest)
    return str(data.get("candidate_digest", ""))


def _one_of(words: Any, value: Any) -> Any:
    return value if value in get_args(words) else None
