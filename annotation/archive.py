"""``annotations/PROJECT.jsonl``: every version of every annotation ever seen, never changed, never shortened."""

from __future__ import annotations

from collections.abc import Iterable

from ..core.files import append_lines, canonical_json, read_json_lines
from ..core.models import Annotation
from ..core.workspace import Workspace

__all__ = ["AnnotationKey", "append", "key_of", "latest", "projects", "read"]

AnnotationKey = tuple[int, str]
"""Annotation id and time of creation: ids alone are used again by SQLite after a deletion."""


def key_of(annotation: Annotation) -> AnnotationKey:
    return annotation.annotation_id, annotation.created_at


def projects(workspace: Workspace) -> list[str]:
    """Names of the projects that have an archive."""
    return sorted(path.stem for path in workspace.annotations_dir.glob("*.jsonl"))


def read(workspace: Workspace, project: str) -> list[Annotation]:
    """All versions of a project's annotations, oldest first; none where there is no archive.

    Raises:
        BenchwrightError: a line is wrong (it is named).
    """
    path = workspace.annotations_dir / f"{project}.jsonl"
    if not path.exists():
        return []
    return [Annotation.load(fields, f"{path}:{line}") for line, fields in read_json_lines(path)]


def append(workspace: Workspace, project: str, versions: Iterable[Annotation]) -> None:
    """Add versions; the caller holds the workspace's lock and has seen that they are new."""
    lines = (canonical_json(version.model_dump(mode="json")) for version in versions)
    append_lines(workspace.annotations_dir / f"{project}.jsonl", lines)


def latest(versions: Iterable[Annotation]) -> dict[AnnotationKey, Annotation]:
    """The newest version of each annotation."""
    newest: dict[AnnotationKey, Annotation] = {}
    for version in versions:
        key = key_of(version)
        if key not in newest or newest[key].updated_at <= version.updated_at:
            newest[key] = version
    return newest
