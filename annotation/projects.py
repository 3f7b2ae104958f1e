"""Which projects on a server are this workspace's: a mark in their description, not their title, which may change."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..core.errors import BenchwrightError
from ..core.models import NAME_PATTERN
from ..core.workspace import Workspace
from .client import Client, DoubtfulError
from .interface import check_configuration, configuration, guidelines_html

__all__ = ["ADJUDICATION", "Project", "ensure_project", "find_projects", "slug_of"]

ADJUDICATION = "-adjudication"
"""How the name of a project ends in which differences are settled."""

MARK = re.compile(r"\[benchwright (?P<benchmark>\S+) (?P<slug>\S+)\]")


@dataclass(frozen=True)
class Project:
    """One of the workspace's projects on the server; its archive is ``annotations/SLUG.jsonl``."""

    id: int
    title: str
    slug: str


def slug_of(title: str) -> str:
    """The name of the archive file of a project with this title.

    Raises:
        BenchwrightError: the title has no 3 to 50 characters, or none of them can stand in a file name.
    """
    slug = re.sub(r"[^A-Za-z0-9._]+", "-", title).strip("-._").lower()
    if not 3 <= len(title) <= 50 or not re.fullmatch(NAME_PATTERN, slug):
        raise BenchwrightError(
            "a project's title needs 3 to 50 characters, some of them letters or digits",
            where=title,
            remedy="name another: --project TITLE",
        )
    return slug


def find_projects(client: Client, workspace: Workspace) -> dict[str, Project]:
    """The workspace's projects on this server, by slug.

    Raises:
        BenchwrightError: two carry the same mark.
    """
    found: dict[str, Project] = {}
    for fields in client.projects():
        mark = MARK.search(fields.get("description") or "")
        if not mark or mark["benchmark"] != _benchmark(workspace):
            continue
        project = Project(fields["id"], fields["title"], mark["slug"])
        if other := found.get(project.slug):
            raise BenchwrightError(
                f"the projects {other.id} and {project.id} both carry the mark {mark[0]}",
                where=client.url,
                remedy="remove the mark from the description of the one that is not ours",
            )
        found[project.slug] = project
    return found


def ensure_project(client: Client, workspace: Workspace, title: str, slug: str | None = None) -> Project:
    """The project of this title, made if it is not there; its controls are checked.

    Raises:
        BenchwrightError: it is there, but its labeling configuration lacks a control we read.
    """
    slug = slug or slug_of(title)
    ours = configuration(adjudication=slug.endswith(ADJUDICATION))
    project = find_projects(client, workspace).get(slug)
    if project is None:
        check_configuration(ours, "interface.xml")
        try:
            client.create_project(
                title=title,
                description=f"Candidates of the benchmark {workspace.config.name}. "
                f"[benchwright {_benchmark(workspace)} {slug}]",
                label_config=ours,
                expert_instruction=guidelines_html(),
                show_instruction=True,
                show_skip_button=True,
                show_collab_predictions=True,
                enable_empty_annotation=False,
            )
        except DoubtfulError:
            if slug not in find_projects(client, workspace):
                raise
        return find_projects(client, workspace)[slug]
    settings = client.project(project.id)
    if settings["label_config"] != ours:
        check_configuration(settings["label_config"], f"{client.url}/projects/{project.id}")
    return project


def _benchmark(workspace: Workspace) -> str:
    """Distinguishes benchmarks that share a server: the beginning of the canary, else the name."""
    return workspace.config.canary.partition("-")[0] or workspace.config.name
