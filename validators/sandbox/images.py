"""Docker images of environments: made of the same folders that bubblewrap binds, named by digest, labelled ours."""

from __future__ import annotations

import os
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from ...core.errors import InfrastructureError
from ...core.workspace import cache_dir
from .contract import System

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["LABEL_ENVIRONMENT", "ensure_image", "remove_images"]

LABEL_ENVIRONMENT = "org.benchwright.environment"


def ensure_image(client: DockerClient, system: System) -> str:
    """The image of a built environment, made if the engine does not have it.

    Raises:
        InfrastructureError: the engine cannot take it (no space, gone).
    """
    from docker.errors import DockerException, ImageNotFound

    try:
        try:
            client.images.get(system.image)
        except ImageNotFound:
            (cache_dir() / "logs").mkdir(parents=True, exist_ok=True)
            with FileLock(cache_dir() / "logs" / "image.lock"):
                try:
                    client.images.get(system.image)
                except ImageNotFound:
                    _import(client, system)
    except (DockerException, OSError) as error:
        raise InfrastructureError(
            f"the engine does not take the image {system.image}: {error}",
            remedy="benchwright doctor; benchwright environments prune frees space",
        ) from error
    return system.image


def _import(client: DockerClient, system: System) -> None:
    """One flat image: the base's root with the packages in their place."""
    with _Archive(system) as stream:
        answer = client.api.import_image_from_stream(
            stream,
            repository=system.image.rpartition(":")[0],
            tag=system.image.rpartition(":")[2],
            changes=[f"LABEL {LABEL_ENVIRONMENT}={system.digest}", 'CMD ["python3"]'],
        )
    if '"error"' in str(answer):
        raise OSError(str(answer)[:500])


class _Archive:
    """A tar of the system, written by a thread while the engine reads, so that nothing large is held or copied."""

    def __init__(self, system: System) -> None:
        self._system = system
        read, write = os.pipe()
        self._read = os.fdopen(read, "rb")
        self._write = os.fdopen(write, "wb")
        self._thread = threading.Thread(target=self._fill, daemon=True)

    def __enter__(self) -> Any:
        self._thread.start()
        return self._read

    def __exit__(self, *_: object) -> None:
        self._read.close()
        self._thread.join()

    def _fill(self) -> None:
        try:
            with self._write, tarfile.open(fileobj=self._write, mode="w|", format=tarfile.PAX_FORMAT) as tar:
                for name, path in _contents(self._system):
                    tar.add(path, name, recursive=False, filter=_plain)
        except BrokenPipeError:
            pass  # the engine refused; its answer says why


def _contents(system: System) -> Iterator[tuple[str, Path]]:
    for path in sorted(system.root.rglob("*")):
        yield str(path.relative_to(system.root)), path
    if system.packages is not None:
        for path in sorted(system.packages.rglob("*")):
            yield os.path.join(system.packages_at.lstrip("/"), path.relative_to(system.packages)), path


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def remove_images(client: DockerClient, kept: set[str]) -> list[str]:
    """Remove every image that carries our label and whose digest is not in ``kept``; others are never touched."""
    from docker.errors import APIError

    gone: list[str] = []
    for image in client.images.list(filters={"label": LABEL_ENVIRONMENT}):
        if image.labels.get(LABEL_ENVIRONMENT) not in kept:
            try:
                client.images.remove(str(image.id), force=True)
            except APIError as error:
                if error.status_code != 409:  # a container is using it now
                    raise
            else:
                gone += image.tags or [str(image.id)]
    return gone
