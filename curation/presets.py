"""Registries that come with the package."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from ..core.errors import BenchwrightError
from ..core.models import Repository

__all__ = ["preset_repositories"]


def preset_repositories(name: str) -> list[Repository]:
    """The repositories of the preset ``name``, with pins, licences and numbers.

    Raises:
        BenchwrightError: there is no such preset.
    """
    folder = files(__package__) / "data"
    known = sorted(item.name.removesuffix(".toml") for item in folder.iterdir() if item.name.endswith(".toml"))
    if name not in known:
        raise BenchwrightError(f"there is no preset {name!r}", remedy=f"known: {', '.join(known)}")
    tables = tomllib.loads((folder / f"{name}.toml").read_text("utf-8"))["repository"]
    return [Repository.load(table, f"preset {name}, repository {i}") for i, table in enumerate(tables, 1)]
