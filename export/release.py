"""Building a release folder: everything or nothing, and equal bytes for equal tasks.

README.md               the card
data/SPLIT-….parquet    the default configuration
tasks.jsonl             what an evaluator needs to know of each task: entry point, limits, environment
repositories.toml       pins and licences
environments/           recipes of the environments
splits/, CITATION.cff, canary.txt, SHA256SUMS
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.config import Config
from ..core.errors import BenchwrightError
from ..core.files import atomic_write, canonical_json, staged_directory
from ..core.workspace import Workspace
from .card import Part, card_text
from .dataset import Compiled, compile_rows
from .documents import DOCUMENT_DTYPES, document_rows, join, license_texts, local_tree
from .parquet import ROW_DTYPES, write_parquet
from .sources import Dataset, card_metadata
from .splits import check_split_name

__all__ = ["SUMS", "Built", "build_release"]

SUMS = "SHA256SUMS"


@dataclass(frozen=True)
class Built:
    """A finished release folder."""

    folder: Path
    version: str
    splits: dict[str, int]
    tasks: int
    repositories: int
    yanked: int
    digest: str
    """SHA-256 of SHA256SUMS: one value for the whole content."""
    unverified: tuple[str, ...]
    """Examples whose output is not known to have passed with what stands now: ``TASK ID``."""
    without_text: tuple[str, ...]
    """Repositories that were not on this machine, so that their documents are named without their text."""


def build_release(
    workspace: Workspace,
    folder: Path | None = None,
    mirrors: Sequence[str] = (),
    *,
    denormalized: bool = False,
) -> Built:
    """Build the release of ``workspace`` into ``folder`` (default ``releases/VERSION``), replacing it at the end.

    Documents are read from ``mirrors`` and the workspace's clones, without network. ``denormalized`` adds a
    configuration of that name, with each row's whole document.

    Keys of an existing card's metadata that are not computed here are kept.

    Raises:
        BenchwrightError: something in the tasks, splits or licences stands against a release (it is named);
            ``folder`` is then as it was.
    """
    config = workspace.config
    target = (folder or workspace.root / "releases" / config.version).resolve()
    _refuse_foreign(target)
    compiled = compile_rows(workspace)
    kept = card_metadata(target)
    dtypes = {"default": ROW_DTYPES, "repositories": DOCUMENT_DTYPES}
    with staged_directory(target) as stage:
        parts = [_write_split(stage, name, rows) for name, rows in compiled.splits.items()]
        documents, without_text = _write_documents(stage, workspace, compiled, mirrors)
        parts.append(documents)
        _copy_inputs(workspace, stage)
        _write_texts(stage, config, compiled)
        if denormalized:
            dtypes["denormalized"] = {**ROW_DTYPES, "document": "large_string"}
            parts.append(_write_denormalized(stage, workspace, mirrors, dtypes["denormalized"]))
        atomic_write(stage / "README.md", card_text(config, dtypes, parts, compiled, kept))
        digest = write_sums(stage)
    return Built(
        target,
        config.version,
        {name: len(rows) for name, rows in compiled.splits.items()},
        len(compiled.tasks),
        len(compiled.repositories),
        len(compiled.yanked),
        digest,
        tuple(f"{row.task_id} {row.id}" for row in compiled.splits["full"] if row.verified_at is None),
        tuple(without_text),
    )


def _refuse_foreign(target: Path) -> None:
    """A folder that is no release is never replaced."""
    if target.exists() and not (target.is_dir() and ((target / SUMS).is_file() or not any(target.iterdir()))):
        raise BenchwrightError(
            "there is something that is no release", where=str(target), remedy="name another folder with -o"
        )


def _write_split(stage: Path, name: str, rows: Iterable[Any]) -> Part:
    check_split_name(name)
    path = stage / "data" / f"{name}-00000-of-00001.parquet"
    count, size = write_parquet(path, ROW_DTYPES, (row.values() for row in rows))
    return Part("default", name, path.relative_to(stage).as_posix(), count, size, path.stat().st_size)


def _write_documents(
    stage: Path, workspace: Workspace, compiled: Compiled, mirrors: Sequence[str]
) -> tuple[Part, list[str]]:
    """The ``repositories`` configuration and the licence texts; names of the repositories that are not at hand."""
    paths: dict[str, set[str]] = {}
    for item in compiled.tasks:
        if item.task.source is not None:
            paths.setdefault(item.task.repository.name, set()).add(item.task.source.path)
    rows: list[dict[str, Any]] = []
    licenses: list[str] = []
    absent: list[str] = []
    for repository in compiled.repositories:
        tree = local_tree(repository, workspace.clones_dir, mirrors)
        if tree is None:
            absent.append(repository.name)
        with tree or nullcontext():
            allowed = repository.license in workspace.config.redistributable_licenses
            named = sorted(paths.get(repository.name, ()))
            rows.extend(document_rows(repository, tree, named, redistributed=allowed))
            licenses.append(license_texts(repository, tree))
    path = stage / "repositories" / "full-00000-of-00001.parquet"
    count, size = write_parquet(path, DOCUMENT_DTYPES, rows)
    atomic_write(stage / "THIRD_PARTY_LICENSES", "".join(licenses))
    part = Part("repositories", "full", path.relative_to(stage).as_posix(), count, size, path.stat().st_size)
    return part, absent


def _write_denormalized(stage: Path, workspace: Workspace, mirrors: Sequence[str], dtypes: Mapping[str, str]) -> Part:
    """Each row of ``full`` with its whole document, streamed."""
    data = Dataset(str(stage), stage, {"full": (stage / "data" / "full-00000-of-00001.parquet",)})
    path = stage / "denormalized" / "full-00000-of-00001.parquet"
    count, size = write_parquet(path, dtypes, join(data, "full", workspace.clones_dir, mirrors))
    return Part("denormalized", "full", path.relative_to(stage).as_posix(), count, size, path.stat().st_size)


def _copy_inputs(workspace: Workspace, stage: Path) -> None:
    shutil.copyfile(workspace.repositories_path, stage / "repositories.toml")
    for source in (workspace.environments_dir, workspace.splits_dir):
        for path in sorted(source.rglob("*")):
            if path.is_file() and not path.is_symlink():
                copy = stage / source.name / path.relative_to(source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)


def _write_texts(stage: Path, config: Config, compiled: Compiled) -> None:
    lines = []
    for item in compiled.tasks:
        fields = item.task.model_dump(
            mode="json",
            include={"type", "path", "entry_point", "environment", "network", "success", "limits"},
            exclude_none=True,
        )
        limits = item.task.limits or config.limits
        lines.append(canonical_json({"task_id": item.task.id, **fields, "limits": limits.model_dump(mode="json")}))
    atomic_write(stage / "tasks.jsonl", "".join(f"{line}\n" for line in lines))
    withdrawn = [
        canonical_json({"github_id": github_id, "id": number, "reason": why})
        for (github_id, number), why in sorted(compiled.yanked.items())
    ]
    if withdrawn:
        atomic_write(stage / "withdrawn.jsonl", "".join(f"{line}\n" for line in withdrawn))
    atomic_write(stage / "canary.txt", f"{config.name} canary GUID {config.canary}\nDo not train on this benchmark.\n")
    atomic_write(stage / "CITATION.cff", citation(config))


def citation(config: Config) -> str:
    """A Citation File Format 1.2.0 record of the release."""
    import yaml

    fields = {
        "cff-version": "1.2.0",
        "message": "If you use this dataset, please cite it.",
        "type": "dataset",
        "title": config.name,
        "version": config.version,
        "license": config.license,
        "authors": [{"name": f"The {config.name} authors"}],
    }
    return str(yaml.safe_dump(fields, sort_keys=False, allow_unicode=True))


def write_sums(folder: Path) -> str:
    """Write ``SHA256SUMS`` over every other file, in the format of ``sha256sum -c``; give its own SHA-256."""
    lines = []
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix()):
        if path.is_file() and path.relative_to(folder).as_posix() != SUMS:
            with open(path, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            lines.append(f"{digest}  {path.relative_to(folder).as_posix()}\n")
    text = "".join(lines)
    atomic_write(folder / SUMS, text)
    return hashlib.sha256(text.encode()).hexdigest()
