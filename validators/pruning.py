"""Removing what no environment of a workspace uses: folders of ours in the cache, images that carry our label."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

from ..core.errors import BenchwrightError, PrerequisiteError
from ..core.workspace import cache_dir
from .assets import asset_file
from .bases import open_base
from .environments import environment_folder, read_lock, system_of
from .packages import hashes, unpacked_folders, wheel_folder
from .published import pulled_system
from .recipes import Recipe, find_recipes
from .sandbox.images import remove_images
from .trees import remove_unused

__all__ = ["prune"]

PLACES = ("assets", "bases", "environments", "pulled", "unpacked", "wheels")


def prune(environments_dir: Path | None) -> list[str]:
    """Remove what no environment of this workspace uses, and say what went.

    Other workspaces of this user build theirs again from their locks.
    """
    from .sandbox.docker import connect

    kept: set[Path] = set()
    digests: set[str] = set()
    for name, recipe in find_recipes(environments_dir):
        _keep(environments_dir, name, recipe, kept, digests)
    gone = []
    for place in PLACES:
        for path in sorted((cache_dir() / place).glob("*")):
            if path in kept or path.suffix == ".lock":
                continue
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            gone.append(str(path))
    gone += map(str, remove_unused())
    try:
        client = connect()
    except PrerequisiteError:
        return gone  # without an engine there are no images to look at
    with closing(client):
        return gone + remove_images(client, digests)


def _keep(environments_dir: Path | None, name: str, recipe: Recipe, kept: set[Path], digests: set[str]) -> None:
    kept.update(asset_file(asset) for asset in recipe.assets)
    lock = read_lock(environments_dir, name, recipe)
    if environments_dir and (pulled := pulled_system(environments_dir / name, name, recipe, lock or "")):
        kept.add(pulled.root.parent)
        digests.add(pulled.digest)
    try:
        base = open_base(recipe, "", make=False)
    except BenchwrightError:
        return  # it cannot be built here, so there is nothing of it to keep
    if base is None:
        return
    kept.add(Path(base.root).parent)
    digests.add(base.identity)
    if lock is not None:
        system = system_of(name, recipe, base, lock)
        digests.add(system.digest)
        kept.add(environment_folder(system.digest))
        kept.update(wheel_folder(sha256) for sha256 in hashes(lock))
        kept.update(unpacked_folders(lock, base))
