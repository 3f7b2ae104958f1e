"""``init`` and ``doctor``: making a workspace, and seeing what this machine has."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .session import session_of

__all__ = ["doctor", "init"]


class Preset(StrEnum):
    """Registries that come with the package."""

    ML_BENCH = "ml-bench"


def init(
    context: typer.Context,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to make; its name names the benchmark.")],
    preset: Annotated[
        Preset | None,
        typer.Option(help="Register the repositories of a known benchmark, with pins, licences and environments."),
    ] = None,
) -> None:
    """Make a workspace: benchwright.toml, repositories.toml, and what git needs to keep text byte for byte."""
    from ...curation.presets import preset_repositories
    from ...validators.presets import preset_recipes, write_recipes
    from ..workspace import Workspace

    repositories = preset_repositories(preset.value) if preset else []
    recipes = preset_recipes(preset.value) if preset else {}
    named = [r.model_copy(update={"environment": r.name}) if r.name in recipes else r for r in repositories]
    workspace = Workspace.create(directory, named)
    write_recipes(workspace.environments_dir, recipes)
    session_of(context).reporter.result(
        {"workspace": str(workspace.root), "repositories": len(repositories)},
        [
            f"made the workspace {workspace.root} with {len(repositories)} repositories",
            "next: benchwright repos add URL --commit REV, or benchwright curate",
        ],
    )


def doctor(context: typer.Context) -> None:
    """Say what is there, what is missing, and how to get it."""
    from ..doctor import examine

    session = session_of(context)
    findings = examine(session.workspace_dir or Path.cwd())
    session.reporter.table(
        "",
        ("what", "state", "found", "how to get it"),
        [(f.what, f.state, f.found, f.remedy) for f in findings],
        [f.model_dump(mode="json") for f in findings],
    )
    if any(f.state == "missing" and f.required for f in findings):
        raise typer.Exit(2)
