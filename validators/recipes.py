"""``environments/NAME/environment.toml``: what a repository's tasks need to run, as a person wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints, field_validator

from ..core.config import read_toml
from ..core.errors import BenchwrightError
from ..core.files import digest_of
from ..core.models import NAME_PATTERN, Part, Record

__all__ = ["FILE_NAME", "STANDARD", "Asset", "Recipe", "find_recipes", "read_recipe"]

FILE_NAME = "environment.toml"
STANDARD = "standard"
BASE_PATTERN = r"^(host|debian-root:[a-z]{3,20}|[a-z0-9][a-z0-9._:/-]*@sha256:[0-9a-f]{64})$"
DebianPackage = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.+-]{1,99}$")]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class Asset(Part):
    """A file that scripts read and that no package holds: weights, a small data set."""

    path: str
    """Where it lies below ``/assets`` in the system."""
    url: str = Field(pattern=r"^(https?|file)://\S+$")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")

    @field_validator("path")
    @classmethod
    def _below(cls, value: str) -> str:
        parts = value.split("/")
        if not value or "" in parts or "." in parts or ".." in parts or any(ord(c) < 32 for c in value):
            raise ValueError(f"{value!r} is not a plain path below /assets")
        return value


class Recipe(Record):
    """The whole of ``environment.toml``."""

    base: str = Field(default="host", pattern=BASE_PATTERN)
    """``host``: a root made of this machine's own Python and tools; ``debian-root:SUITE``: a Debian root made here; or
    a registry reference with its digest."""
    python: str | None = Field(default=None, pattern=r"^3\.\d{1,2}$")
    """Minor version, such as ``3.11``; None: the base's own."""
    system_packages: tuple[DebianPackage, ...] = ()
    """Debian packages that the base is given."""
    requirements: tuple[str, ...] = ()
    """As in a requirements file, one each; no options, so no index address can stand here."""
    index_date: date | None = None
    """Only distributions uploaded before this day are considered when the lock is made."""
    assets: tuple[Asset, ...] = ()
    gpus: int = Field(default=0, ge=0, le=64)
    """Cards that a run needs, each leased to it alone."""
    variables: dict[Variable, str] = Field(default_factory=dict)
    smoke: str = ""
    """Python that shows the environment to work at the root of the repository's tree: its own package imports."""
    notes: str = ""

    @field_validator("requirements")
    @classmethod
    def _plain_requirements(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for line in value:
            if line.lstrip().startswith("-") or "://" in line or "\n" in line:
                raise ValueError(f"{line.split()[0]!r} is an option or an address; name a package and its version")
        return value

    @property
    def digest(self) -> str:
        """Covers what the environment is made from, not its notes; a field added here later does not change it."""
        apart = {"notes", "schema_version", "smoke"}
        return digest_of(self.model_dump(mode="json", exclude=apart, exclude_defaults=True))


def read_recipe(environments_dir: Path | None, name: str) -> Recipe:
    """The recipe of ``name``; ``standard`` needs no file.

    Raises:
        BenchwrightError: there is no such environment, or its file is wrong.
    """
    if not re.fullmatch(NAME_PATTERN, name):
        raise BenchwrightError(f"{name!r} cannot name an environment: letters, digits, '.', '_' and '-' only")
    path = environments_dir / name / FILE_NAME if environments_dir else None
    if path is None or not path.is_file():
        if name == STANDARD:
            return Recipe()
        raise BenchwrightError(
            f"there is no environment {name}",
            where=str(path) if path else None,
            remedy=f"write its {FILE_NAME}, or correct the name in task.toml or repositories.toml",
        )
    return Recipe.load(read_toml(path), str(path))


def find_recipes(environments_dir: Path | None) -> Iterator[tuple[str, Recipe]]:
    """``standard`` first, then every environment that has a file, by name."""
    names = sorted(path.parent.name for path in environments_dir.glob(f"*/{FILE_NAME}")) if environments_dir else []
    for name in [STANDARD, *(n for n in names if n != STANDARD)]:
        yield name, read_recipe(environments_dir, name)
