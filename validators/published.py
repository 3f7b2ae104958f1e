"""Environments in a registry: pushed by the Docker engine, recorded by digest, pulled for what they were built from.

Comes in: built environments and a registry's address. Goes out: ``image.toml`` beside the recipe (kept in git), which
binds the recipe and the lock to an image by the digest of its manifest; and, where it is pulled, the image in the
engine and its files in the cache, so that bubblewrap sees the same system. A pulled environment keeps the digest of
the machine that built it: evidence made with either is comparable.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tomlkit
from filelock import FileLock
from pydantic import Field

from ..core.config import read_toml
from ..core.errors import BenchwrightError, InfrastructureError
from ..core.files import atomic_write, digest_of, staged_directory
from ..core.models import Record
from ..core.progress import Reporter
from ..core.workspace import cache_dir
from .recipes import Recipe, find_recipes, read_recipe
from .sandbox.contract import System
from .sandbox.images import LABEL_ENVIRONMENT, ensure_image

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["Transfer", "pull", "pulled_system", "push"]

FILE_NAME = "image.toml"
REGISTRY_PATTERN = r"[A-Za-z0-9][A-Za-z0-9.-]*(:\d{1,5})?(/[a-z0-9][a-z0-9._-]*)*"


class PublishedImage(Record):
    """The whole of ``image.toml``."""

    image: str = Field(pattern=r"^benchwright/[a-z0-9-]+$")
    """Its name in every registry."""
    digest: str = Field(pattern=r"^[0-9a-f]{64}$")
    """The environment's, on the machine that built it."""
    recipe: str
    """Digest of the recipe it was built from; another recipe is not served by it."""
    lock: str
    """Digest of the lock."""
    base: str
    python: str
    """The interpreter inside."""
    packages_at: str
    variables: dict[str, str] = Field(default_factory=dict)
    registries: dict[str, str] = Field(default_factory=dict)
    """Registry -> digest of the image's manifest there."""


@dataclass(frozen=True)
class Transfer:
    """One environment that went to a registry or came from one."""

    name: str
    reference: str
    """With the digest of its manifest."""
    digest: str
    """The environment's."""


def push(environments_dir: Path, registry: str, names: Sequence[str], reporter: Reporter) -> list[Transfer]:
    """Push environments (all that are built where none is named) and record each by its digest in ``image.toml``.

    Raises:
        BenchwrightError: one that was named is not built; nothing is.
        InfrastructureError: the registry or the engine failed.
    """
    from .environments import open_system, read_lock, statuses
    from .sandbox.docker import connect

    _check_address(registry)
    wanted = list(dict.fromkeys(names)) or [s.name for s in statuses(environments_dir) if s.built and s.digest]
    systems = {name: open_system(environments_dir, name) for name in wanted if (environments_dir / name).is_dir()}
    if missing := [name for name in names if name not in systems]:
        raise BenchwrightError(f"{missing[0]} has no folder to record its image in", where=str(environments_dir))
    if not systems:
        raise BenchwrightError("no environment is built", remedy="benchwright environments build --all")
    done = []
    with closing(connect()) as client, reporter.track("environments", len(systems)) as advance:
        for name, system in systems.items():
            recipe = read_recipe(environments_dir, name)
            lock = read_lock(environments_dir, name, recipe) or ""
            manifest = _push_image(client, system, registry)
            record = _record(environments_dir / name, system, recipe, lock, registry, manifest)
            done.append(Transfer(name, _reference(registry, record.image, manifest), system.digest))
            advance(f"{name}: pushed")
    return done


def _push_image(client: DockerClient, system: System, registry: str) -> str:
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    ensure_image(client, system)
    repository, _, tag = f"{registry}/{system.image}".rpartition(":")
    try:
        client.images.get(system.image).tag(repository, tag)
        told = list(client.api.push(repository, tag, stream=True, decode=True))
    except (DockerException, RequestException) as error:
        raise _unreachable(registry, str(error)) from error
    if failed := [step["error"] for step in told if "error" in step]:
        raise _unreachable(registry, str(failed[-1]))
    (manifest,) = [step["aux"]["Digest"] for step in told if step.get("aux", {}).get("Digest")]
    return str(manifest)


def _record(folder: Path, system: System, recipe: Recipe, lock: str, registry: str, manifest: str) -> PublishedImage:
    old = _read(folder)
    known = dict(old.registries) if old is not None and old.digest == system.digest else {}
    record = PublishedImage(
        image=system.image.rpartition(":")[0],
        digest=system.digest,
        recipe=recipe.digest,
        lock=digest_of(lock),
        base=old.base if old is not None and known else system.base,
        python=system.python,
        packages_at=system.packages_at,
        variables=dict(system.variables),
        registries={**known, registry: manifest},
    )
    atomic_write(folder / FILE_NAME, tomlkit.dumps(record.model_dump(mode="json")))
    return record


def pull(environments_dir: Path, registry: str, names: Sequence[str], reporter: Reporter) -> list[Transfer]:
    """Pull environments (all that have an ``image.toml`` where none is named) by their recorded digests.

    Raises:
        BenchwrightError: one has no record, was recorded for another recipe or lock, or is not what the record says.
        InfrastructureError: the registry or the engine failed.
    """
    from .environments import read_lock
    from .sandbox.docker import connect

    _check_address(registry)
    every = [name for name, _ in find_recipes(environments_dir) if (environments_dir / name / FILE_NAME).is_file()]
    wanted = list(dict.fromkeys(names)) or every
    if not wanted:
        raise BenchwrightError(f"no environment has an {FILE_NAME}", remedy=f"benchwright environments push {registry}")
    done = []
    with closing(connect()) as client, reporter.track("environments", len(wanted)) as advance:
        for name in wanted:
            recipe = read_recipe(environments_dir, name)
            lock = read_lock(environments_dir, name, recipe)
            record = _read(environments_dir / name)
            where = str(environments_dir / name / FILE_NAME)
            if record is None:
                raise BenchwrightError("there is no record of a pushed image", where=where)
            if not _serves(record, recipe, lock):
                raise BenchwrightError(
                    "the image was built from another recipe or lock",
                    where=where,
                    remedy=f"benchwright environments build {name}, and push it",
                )
            done.append(_pull_one(client, registry, name, record, where))
            advance(f"{name}: pulled")
    return done


def _pull_one(client: DockerClient, registry: str, name: str, record: PublishedImage, where: str) -> Transfer:
    from .bases.base import make_places
    from .bases.registry import export_root, pull_image

    manifest = record.registries.get(registry) or next(iter(record.registries.values()))
    reference = _reference(registry, record.image, manifest)
    image = pull_image(client, reference)
    if image.labels.get(LABEL_ENVIRONMENT) != record.digest:
        raise BenchwrightError(f"the image {reference} is not the environment that is recorded", where=where)
    image.tag(record.image, record.digest[:16])
    folder = _root(record).parent
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if folder.is_dir():
            return Transfer(name, reference, record.digest)
        with staged_directory(folder) as staging:
            export_root(client, reference, staging / "root")
            make_places(staging / "root")
    return Transfer(name, reference, record.digest)


def pulled_system(folder: Path, name: str, recipe: Recipe, lock: str | None) -> System | None:
    """The environment that was pulled for this recipe and lock; None where there is none in the cache."""
    record = _read(folder)
    if record is None or not _serves(record, recipe, lock) or not _root(record).is_dir():
        return None
    return System(
        name=name,
        digest=record.digest,
        root=_root(record),
        python=record.python,
        packages=None,
        packages_at=record.packages_at,
        image=f"{record.image}:{record.digest[:16]}",
        variables=record.variables,
        base=f"pulled:{record.base}",
        gpus=recipe.gpus,
    )


def _serves(record: PublishedImage, recipe: Recipe, lock: str | None) -> bool:
    return record.recipe == recipe.digest and lock is not None and record.lock == digest_of(lock)


def _root(record: PublishedImage) -> Path:
    return cache_dir() / "pulled" / record.digest[:20] / "root"


def _read(folder: Path) -> PublishedImage | None:
    path = folder / FILE_NAME
    return PublishedImage.load(read_toml(path), str(path)) if path.is_file() else None


def _reference(registry: str, image: str, manifest: str) -> str:
    return f"{registry}/{image}@{manifest}"


def _check_address(registry: str) -> None:
    if not re.fullmatch(REGISTRY_PATTERN, registry):
        raise BenchwrightError(
            f"{registry!r} is no registry's address", remedy="write HOST[:PORT][/PATH], such as 127.0.0.1:5000"
        )


def _unreachable(registry: str, told: str) -> InfrastructureError:
    return InfrastructureError(
        f"the registry {registry} does not take the image: {told}",
        remedy="see that it answers and that the engine may use it (docker login; TLS, except on loopback)",
    )
