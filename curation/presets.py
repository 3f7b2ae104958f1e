"""Registries that come with the package."""

from __future__ import annotations

from ..core.models import Repository

__all__ = ["preset_repositories"]


def preset_repositories(name: str) -> list[Repository]:
    """The repositories of the preset ``name``."""
    raise KeyError(name)
