"""A base from a registry: an image named by its digest, pulled by the Docker engine, its files unpacked beside it.

Comes in: ``HOST/NAME@sha256:...`` and the names of system packages. Goes out: the image in the engine and the same
files in the cache, so that every sandbox sees the same system. Nothing of it is run, except where system packages
are asked for: then its own apt-get, in a build with network.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import BenchwrightError, InfrastructureError
from ...core.files import atomic_write, digest_of
from .base import Base, adopt_root, installed_packages, kept_base, package_digest, unpack

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["export_root", "pull_image", "registry_base"]

LAYOUT = 1
LABEL_BASE = "org.benchwright.base"


def registry_base(reference: str, system_packages: Sequence[str], version: str | None, *, make: bool) -> Base | None:
    """The base named by ``reference`` (with digest); if it is not in the cache, pulled or None.

    Raises:
        PrerequisiteError: no Docker engine answers.
        InfrastructureError: the image cannot be pulled.
        BenchwrightError: it has no such Python, or apt-get in it failed.
    """
    wanted = sorted(set(system_packages))
    key = digest_of(["registry", LAYOUT, reference, wanted, version])[:20]
    return kept_base(key, (lambda folder, final: _make(reference, wanted, version, folder, final)) if make else None)


def _make(reference: str, wanted: Sequence[str], version: str | None, folder: Path, final: str) -> Base:
    from ..sandbox.docker import connect

    with closing(connect()) as client:
        pull_image(client, reference)
        image, identity = reference, f"registry:{reference}"
        if wanted:
            image = _with_packages(client, reference, wanted)
        export_root(client, image, folder / "root")
    packages = installed_packages(folder / "root")
    atomic_write(folder / "packages.txt", "".join(f"{line}\n" for line in packages))
    if wanted:
        identity += f":{package_digest(packages)}"
    python, minor, packages_at, path_file = adopt_root(folder / "root", version, f"base {reference}")
    return Base(identity, final, python, minor, packages_at, image, path_file)


def pull_image(client: DockerClient, reference: str) -> Any:
    """The image, from the engine or else the registry.

    Raises:
        InfrastructureError: neither has it, or the registry does not answer.
    """
    from docker.errors import DockerException, ImageNotFound
    from requests.exceptions import RequestException

    try:
        try:
            return client.images.get(reference)
        except ImageNotFound:
            return client.images.pull(reference)
    except (DockerException, RequestException) as error:
        raise InfrastructureError(
            f"the image {reference} cannot be pulled: {error}",
            remedy="name a registry that this machine's Docker engine reaches (docker login where it asks for one)",
        ) from error


def export_root(client: DockerClient, image: str, root: Path) -> None:
    """Unpack all files of an image; no program of it is run."""
    container = client.api.create_container(image, ["true"])
    try:
        unpack(_Stream(client.api.export(container, chunk_size=1 << 20)), root)  # type: ignore[arg-type]
    finally:
        client.api.remove_container(container, force=True, v=True)


def _with_packages(client: DockerClient, reference: str, wanted: Sequence[str]) -> str:
    """An image of ours: the base with these Debian packages (their names were checked when the recipe was read)."""
    name = f"benchwright/base-registry:{digest_of([reference, wanted])[:16]}"
    install = "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends"
    text = (
        f"FROM {reference}\nLABEL {LABEL_BASE}={digest_of([reference, wanted])}\n"
        f"RUN {install} {' '.join(wanted)} && rm -rf /var/lib/apt/lists/*\n"
    )
    told = list(
        client.api.build(
            fileobj=io.BytesIO(text.encode()), tag=name, network_mode="host", rm=True, forcerm=True, decode=True
        )
    )
    if failed := [step["error"] for step in told if "error" in step]:
        raise BenchwrightError(
            f"apt-get in the base failed: {failed[-1]}",
            where=f"base {reference}",
            remedy="correct the system_packages, or name a base that is made of Debian packages",
        )
    return name


class _Stream:
    """Chunks as a file to read."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def read(self, size: int) -> bytes:
        if not self._rest:
            self._rest = next(self._chunks, b"")
        data, self._rest = self._rest[:size], self._rest[size:]
        return data
