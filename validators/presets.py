"""Recipes that come with the package, one for each repository of a preset, written from what its documents say."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from ..core.files import atomic_write
from .recipes import FILE_NAME

__all__ = ["preset_recipes", "write_recipes"]


def preset_recipes(preset: str) -> dict[str, str]:
    """Repository -> the text of its environment.toml; empty where the preset has none."""
    folder = files(__package__) / "data" / preset
    if not folder.is_dir():
        return {}
    found = {item.name.removesuffix(".toml"): item for item in folder.iterdir() if item.name.endswith(".toml")}
    return {name: found[name].read_text(encoding="utf-8") for name in sorted(found)}


def write_recipes(environments_dir: Path, recipes: Mapping[str, str]) -> None:
    """Write each as the recipe of the environment of that name."""
    for name, text in recipes.items():
        atomic_write(environments_dir / name / FILE_NAME, text)
