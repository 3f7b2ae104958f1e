"""The folder a maintainer keeps in git: where everything lies, and reading and writing the registry.

Comes in: a folder, or none (then the nearest one upwards). Goes out: paths, the configuration, the registered
repositories, the open store and the workspace's lock.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import tomlkit
from filelock import FileLock, Timeout

from .config import FILE_NAME, Config, initial_text, read_config, read_toml
from .errors import BenchwrightError, InfrastructureError
from .files import atomic_write
from .models import NAME_PATTERN, Repository
from .store import Store

__all__ = ["Workspace", "cache_dir"]

LOCK_WAIT_S = 120


class Workspace:
    """One workspace on disk. Paths are computed, nothing is created before it is written."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    # finding and making ------------------------------------------------------------------------------------

    @classmethod
    def find(cls, explicit: Path | None = None) -> Workspace:
        """The workspace at ``explicit``, else the nearest folder upwards from here with a benchwright.toml.

        Raises:
            BenchwrightError: there is none.
        """
        start = explicit or Path.cwd()
        for folder in (start,) if explicit else (start, *start.resolve().parents):
            if (folder / FILE_NAME).is_file():
                return cls(folder)
        raise BenchwrightError(
            f"there is no {FILE_NAME} here{'' if explicit else ' or in a folder above'}",
            where=str(start),
            remedy="benchwright init DIR, or name a workspace: benchwright --workspace DIR ...",
        )

    @classmethod
    def create(cls, root: Path, repositories: Iterable[Repository] = ()) -> Workspace:
        """Make a new workspace.

        Raises:
            BenchwrightError: there is one already, or the folder's name cannot name a benchmark.
        """
        workspace = cls(root)
        name = workspace.root.name
        if workspace.config_path.exists():
            raise BenchwrightError(
                "there is a workspace already", where=str(workspace.root), remedy="work in it, or name another folder"
            )
        if not re.fullmatch(NAME_PATTERN, name):
            raise BenchwrightError(
                "the folder names the benchmark: letters, digits, '.', '_' and '-' only",
                where=str(workspace.root),
            )
        atomic_write(workspace.root / ".gitattributes", "* -text -whitespace\n")
        atomic_write(workspace.root / ".gitignore", ".benchwright/\n")
        workspace.save_repositories(repositories)
        atomic_write(workspace.config_path, initial_text(name))  # last: its presence says the rest is there
        return workspace

    # paths -------------------------------------------------------------------------------------------------

    @property
    def config_path(self) -> Path:
        return self.root / FILE_NAME

    @property
    def repositories_path(self) -> Path:
        return self.root / "repositories.toml"

    @property
    def tasks_dir(self) -> Path:
        return self.root / "tasks"

    @property
    def annotations_dir(self) -> Path:
        return self.root / "annotations"

    @property
    def environments_dir(self) -> Path:
        return self.root / "environments"

    @property
    def splits_dir(self) -> Path:
        return self.root / "splits"

    @property
    def private_dir(self) -> Path:
        """``.benchwright/``: clones, state, caches, logs; not kept in git."""
        return self.root / ".benchwright"

    @property
    def clones_dir(self) -> Path:
        return self.private_dir / "repositories"

    # content -----------------------------------------------------------------------------------------------

    @cached_property
    def config(self) -> Config:
        return read_config(self.config_path)

    def open_store(self) -> Store:
        """A connection to ``.benchwright/state.db``; one for each thread and process."""
        return Store(self.private_dir / "state.db")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the workspace for a read-change-write of its text files, against other processes.

        Raises:
            InfrastructureError: another process held it for two minutes.
        """
        self.private_dir.mkdir(parents=True, exist_ok=True)
        path = self.private_dir / "lock"
        try:
            with FileLock(path, timeout=LOCK_WAIT_S):
                yield
        except Timeout as error:
            raise InfrastructureError(
                f"another benchwright has held the workspace for {LOCK_WAIT_S} s",
                where=str(path),
                remedy="try again",
            ) from error

    def repositories(self, names: Iterable[str] = ()) -> list[Repository]:
        """The registered repositories, in the file's order; only those in ``names`` if any is given.

        Raises:
            BenchwrightError: the file is wrong, or a name is not registered.
        """
        if not self.repositories_path.exists():
            return []
        tables = read_toml(self.repositories_path).get("repository", [])
        where = str(self.repositories_path)
        if not isinstance(tables, list):
            raise BenchwrightError(
                "each repository is a table of its own", where=where, remedy="begin it with [[repository]]"
            )
        known = [Repository.load(table, f"{where} [[repository]] {i}") for i, table in enumerate(tables, 1)]
        seen: set[str] = set()
        for repository in known:
            if repository.name.casefold() in seen:
                raise BenchwrightError(
                    f"the name {repository.name} stands twice", where=where, remedy="rename or remove one of them"
                )
            seen.add(repository.name.casefold())
        wanted = list(dict.fromkeys(names))
        if not wanted:
            return known
        by_name = {repository.name.casefold(): repository for repository in known}
        missing = [name for name in wanted if name.casefold() not in by_name]
        if missing:
            raise BenchwrightError(
                f"not registered: {', '.join(missing)}",
                where=where,
                remedy="benchwright repos list shows the names; benchwright repos add URL --commit REV adds one",
            )
        return [by_name[name.casefold()] for name in wanted]

    def save_repositories(self, repositories: Iterable[Repository]) -> None:
        """Write the registry, keeping comments and order of the tables that stay."""
        text = self.repositories_path.read_text("utf-8") if self.repositories_path.exists() else "schema_version = 1\n"
        document = tomlkit.parse(text)
        old = {str(table["name"]): table for table in document.get("repository", [])}
        tables = tomlkit.aot()
        for repository in repositories:
            table = old.get(repository.name, tomlkit.table())
            fields = _plain(repository)
            for key in [key for key in table if key not in fields]:
                del table[key]
            for key, value in fields.items():
                if table.get(key) != value:
                    table[key] = value
            tables.append(table)
        if tables or "repository" in document:
            document["repository"] = tables
        atomic_write(self.repositories_path, tomlkit.dumps(document))


def _plain(repository: Repository) -> dict[str, Any]:
    fields = repository.model_dump(mode="json", exclude_none=True, exclude={"schema_version"})
    return {key: value for key, value in fields.items() if value != []}


def cache_dir() -> Path:
    """The user's cache folder for what can be fetched or built again, shared by workspaces."""
    import platformdirs

    named = os.environ.get("BENCHWRIGHT_CACHE")
    return Path(named) if named else Path(platformdirs.user_cache_dir("benchwright"))
