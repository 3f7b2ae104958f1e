"""Recipes that come with the package: one for each repository of the preset, each readable, each with its reasons."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from benchwright.core.workspace import Workspace
from benchwright.curation.presets import preset_repositories
from benchwright.validators.environments import statuses
from benchwright.validators.presets import preset_recipes
from benchwright.validators.recipes import Recipe

RECIPES = preset_recipes("ml-bench")


def test_every_repository_of_the_preset_has_one() -> None:
    assert sorted(RECIPES) == sorted(repository.name for repository in preset_repositories("ml-bench"))
    assert preset_recipes("none-such") == {}


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_it_is_valid_and_says_where_it_is_from_and_how_to_try_it(name: str) -> None:
    recipe = Recipe.load(tomllib.loads(RECIPES[name]), name)
    assert recipe.python
    assert recipe.requirements
    assert len(recipe.notes) > 80
    compile(recipe.smoke, name, "exec")


def test_a_new_workspace_has_them_and_its_repositories_name_them(tmp_path: Path) -> None:
    program = [sys.executable, "-P", "-c", "from benchwright.core.cli import main; main()"]
    folder = tmp_path / "bench"
    subprocess.run([*program, "init", str(folder), "--preset", "ml-bench"], check=True, capture_output=True)
    workspace = Workspace.find(folder)
    assert all(repository.environment == repository.name for repository in workspace.repositories())
    listed = {status.name: status.built for status in statuses(workspace.environments_dir)}
    assert set(listed) == {"standard", *RECIPES}
    assert not any(built for name, built in listed.items() if name != "standard")
