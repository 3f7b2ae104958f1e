"""Docker images of environments: built of the same folders that bubblewrap binds, named by digest, labelled ours.

Comes in: a :class:`System`. Goes out: the text of its Dockerfile, and its image in the engine. A base made on this
machine is one layer, each large wheel is one, the other packages are one, so that environments share what they have
in common; the build runs nothing and has no network.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
import threading
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from ...core.errors import InfrastructureError
from ...core.workspace import cache_dir
from .contract import ASSETS, System

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["LABEL_ENVIRONMENT", "LAYERS_NAME", "dockerfile", "ensure_image", "remove_images"]

LAYERS_NAME = "layers.txt"
"""Beside an environment's packages: the folders that its large wheels were unpacked to, one a line, largest first."""
LABEL_ENVIRONMENT = "org.benchwright.environment"
"""Its value is the environment's digest; of a base's image, the base's identity."""


def dockerfile(system: System) -> str:
    """What the image is built by: from its base, without network, running nothing.

    The context lies in the cache: ``large/...`` is a folder of ``unpacked/``, ``packages`` and ``assets`` are the
    environment's own, ``packages`` without what is in a large one already.
    """
    lines = [f"# environment {system.name}, digest {system.digest}", f"# base: {system.base}"]
    lines.append(f"FROM {system.base_image}")
    if system.path_file and system.base.startswith("registry:"):
        lines.append(f"COPY {os.path.basename(system.path_file)} {system.path_file}")
    if system.packages is not None:
        lines += ["# the wheels of requirements.lock, installed without network"]
        lines += [f"COPY large/{folder.parent.name} {system.packages_at}" for folder in _large(system.packages)]
        lines.append(f"COPY packages {system.packages_at}")
    if system.assets is not None:
        lines.append(f"COPY assets {ASSETS}")
    lines += [f"ENV {name}={json.dumps(value)}" for name, value in sorted(system.variables.items())]
    lines += [f"LABEL {LABEL_ENVIRONMENT}={system.digest}", 'CMD ["python3"]']
    return "\n".join(lines) + "\n"


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
                    _make(client, system)
    except (DockerException, OSError) as error:
        raise InfrastructureError(
            f"the engine does not take the image {system.image}: {error}",
            remedy="benchwright doctor; benchwright environments prune frees space",
        ) from error
    return system.image


def _make(client: DockerClient, system: System) -> None:
    if not system.base_image:  # a pulled environment whose image someone removed: its root holds everything
        _import(client, system.root, system.image, system.digest)
        return
    if system.base.startswith("registry:"):
        from ..bases.registry import pull_image

        pull_image(client, system.base_image)
    else:
        from docker.errors import ImageNotFound

        try:
            client.images.get(system.base_image)
        except ImageNotFound:
            _import(client, system.root, system.base_image, system.base)
    _build(client, system)


def _import(client: DockerClient, root: Path, image: str, label: str) -> None:
    """One flat image of a root."""
    repository, _, tag = image.rpartition(":")
    with _Archive(lambda tar: _add(tar, root, "")) as stream:
        answer = client.api.import_image_from_stream(
            stream,
            repository=repository,
            tag=tag,
            changes=[f"LABEL {LABEL_ENVIRONMENT}={label}", 'CMD ["python3"]'],
        )
    if '"error"' in str(answer):
        raise OSError(str(answer)[:500])
    client.api.tag(
        json.loads(str(answer).splitlines()[-1])["status"].strip(), repository, tag
    )  # podman names it latest


def _build(client: DockerClient, system: System) -> None:
    with _Archive(lambda tar: _context(tar, system)) as stream:
        told = client.api.build(
            fileobj=stream,
            custom_context=True,
            tag=system.image,
            rm=True,
            forcerm=True,
            network_mode="none",
            decode=True,
        )
        for step in told:
            if "error" in step:
                raise OSError(str(step["error"])[:500])


def _context(tar: tarfile.TarFile, system: System) -> None:
    _text(tar, "Dockerfile", dockerfile(system))
    if system.path_file:
        inside = Path(f"{system.root}{system.path_file}")
        _text(tar, os.path.basename(system.path_file), inside.read_text(encoding="utf-8"))
    if system.packages is not None:
        there: set[int] = set()
        for folder in _large(system.packages):
            _add(tar, folder, f"large/{folder.parent.name}")
            there |= {path.lstat().st_ino for path in folder.rglob("*") if not path.is_dir()}
        _add(tar, system.packages, "packages", there)
    if system.assets is not None:
        _add(tar, system.assets, "assets")


def _large(packages: Path) -> list[Path]:
    listed = packages.parent / LAYERS_NAME
    folders = [Path(line) for line in listed.read_text(encoding="utf-8").splitlines()] if listed.is_file() else []
    return folders if all(folder.is_dir() for folder in folders) else []  # pruned: all are in packages


def _text(tar: tarfile.TarFile, name: str, text: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(text.encode())
    tar.addfile(entry, io.BytesIO(text.encode()))


def _add(tar: tarfile.TarFile, folder: Path, name: str, left_out: AbstractSet[int] = frozenset()) -> None:
    for path in (folder, *sorted(folder.rglob("*"))):
        if path.lstat().st_ino in left_out or (path == folder and not name):
            continue
        tar.inodes = {}  # type: ignore[attr-defined]  # files that environments share are links; here each is a file
        tar.add(path, os.path.join(name, path.relative_to(folder)), recursive=False, filter=_plain)


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


class _Archive:
    """A tar written by a thread while the engine reads, so that nothing large is held or copied."""

    def __init__(self, fill: Callable[[tarfile.TarFile], None]) -> None:
        self._fill_with = fill
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
                self._fill_with(tar)
        except BrokenPipeError:
            pass  # the engine refused; its answer says why


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
