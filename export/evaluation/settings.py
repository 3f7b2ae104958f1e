"""What the command line says, and what an example needs beside its row: pin, environment, limits, network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from ...core.errors import BenchwrightError
from ...core.files import read_json_lines
from ...core.models import Limits, Repository, explain
from ...core.workspace import Workspace, cache_dir
from ..dataset import Dataset
from ..rows import Key, Row

__all__ = ["DEFAULT_ENVIRONMENT", "Options", "Setting", "chosen_rows", "clones_dir", "repository_names", "settings_of"]

DEFAULT_ENVIRONMENT = "standard"


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    protocol: str = "strict"
    """The headline; both are computed."""
    samples: int | str | None = None
    execute: bool = True
    regrade: bool = False
    """Judge recorded executions again; execute nothing."""
    limit: int | None = None
    """The first so many of the examples that the two below leave."""
    repositories: tuple[str, ...] = ()
    """Names; empty: all."""
    type: str | None = None
    sandbox: str | None = None
    workers: int | None = 1
    """None: as many as the machine or the cluster holds."""
    engine: str = "local"
    """``local``: workers of this machine; ``ray``: of a cluster."""
    environments_dir: Path | None = None
    mirrors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setting:
    """How an example's text is executed."""

    repository: Repository
    environment: str
    limits: Limits
    network: bool


def clones_dir() -> Path:
    """Where clones of repositories are kept for all evaluations of this user."""
    return cache_dir() / "repositories"


@cache
def _preset() -> dict[int | None, Repository]:
    from ...curation.presets import preset_repositories

    return {item.github_id: item for item in preset_repositories("ml-bench")}


def _registry(dataset: Dataset) -> dict[int | None, Repository]:
    folder = dataset.folder
    return {item.github_id: item for item in Workspace(folder).repositories()} if folder else {}


def repository_names(dataset: Dataset, rows: Sequence[Row]) -> dict[int, str]:
    """github_id -> the repository's name: as the release calls it, else as its address ends.

    Raises:
        BenchwrightError: one number stands for two repositories.
    """
    registry = _registry(dataset)
    names: dict[int, str] = {}
    addresses: dict[int, str] = {}
    for row in rows:
        address = addresses.setdefault(row.github_id, row.github)
        if address.casefold() != row.github.casefold():
            raise BenchwrightError(
                f"github_id {row.github_id} stands for {address} and for {row.github}", where=dataset.name
            )
        known = registry.get(row.github_id)
        ending = row.github.rstrip("/").removesuffix(".git").rpartition("/")[2]
        names[row.github_id] = known.name if known else (row.task_id or "").rpartition("/")[0] or ending
    return names


def chosen_rows(rows: Sequence[Row], names: Mapping[int, str], options: Options) -> list[Row]:
    """The rows that the options ask for, in the release's order.

    Raises:
        BenchwrightError: a repository is none of the release's, or nothing is left.
    """
    for name in options.repositories:
        if name not in names.values():
            known = ", ".join(sorted(set(names.values())))
            raise BenchwrightError(f"the release has no repository {name!r}", remedy=f"it has {known}")
    chosen = [
        row
        for row in rows
        if (not options.repositories or names[row.github_id] in options.repositories)
        and options.type in (None, row.type)
    ]
    if rows and not chosen:
        raise BenchwrightError("no example of the release is left by --repository and --type")
    return chosen[: options.limit]


def settings_of(dataset: Dataset, rows: Sequence[Row], names: dict[int, str]) -> dict[Key, Setting]:
    """The setting of each row: its own columns first, then the release's files, then the preset.

    Raises:
        BenchwrightError: no commit is known for a repository, or ``tasks.jsonl`` is wrong.
    """
    registry = _registry(dataset)
    tasks = _tasks(dataset.folder / "tasks.jsonl") if dataset.folder else {}
    return {row.key: _setting(dataset, row, names[row.github_id], registry, tasks) for row in rows}


def _setting(
    dataset: Dataset,
    row: Row,
    name: str,
    registry: dict[int | None, Repository],
    tasks: dict[str, tuple[Limits, bool]],
) -> Setting:
    known = registry.get(row.github_id)
    if known is None and row.commit is None:
        known = _preset().get(row.github_id)
    commit = row.commit or (known.commit if known else None)
    if commit is None:
        raise BenchwrightError(
            f"no commit is known for {row.github} (github_id {row.github_id})",
            where=dataset.name,
            remedy="evaluate a release folder with its repositories.toml, or a dataset with the column commit",
        )
    repository = Repository.load(
        {"name": name, "github_id": row.github_id, "url": row.github, "commit": commit},
        f"{dataset.name}, example {row.github_id}/{row.id}",
    )
    limits, network = tasks.get(row.task_id or "", (Limits(), False))
    environment = row.environment or (known.environment if known else None) or DEFAULT_ENVIRONMENT
    return Setting(repository, environment, limits, network)


def _tasks(path: Path) -> dict[str, tuple[Limits, bool]]:
    if not path.is_file():
        return {}
    found = {}
    for line, fields in read_json_lines(path):
        try:
            limits = Limits.model_validate(fields.get("limits") or {})
        except ValidationError as error:
            raise BenchwrightError(explain(error), where=f"{path}:{line}") from error
        found[str(fields.get("task_id"))] = (limits, fields.get("network") is True)
    return found
