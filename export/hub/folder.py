"""A finished release folder, checked: its files with their digests, its version, its configurations and splits."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...core.errors import BenchwrightError
from ..checksums import SUMS
from ..declared import configurations, infos

__all__ = ["KEPT", "LocalFile", "ReleaseFolder", "read_release", "tag_of"]

VERSION = re.compile(r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$")
LINE = re.compile(r"^(?P<sha256>[0-9a-f]{64}) [ *](?P<path>.+)$")
KEPT = (".gitattributes", "YANKED.md")
"""Files of the Hub's side: a release neither brings nor removes them."""
BLOCK = 1 << 20


@dataclass(frozen=True)
class LocalFile:
    """One file of the folder."""

    path: Path
    size: int
    sha256: str

    @cached_property
    def blob_id(self) -> str:
        """The id git gives this content (SHA-1 over ``blob SIZE\\0`` and the bytes)."""
        digest = hashlib.sha1(b"blob %d\0" % self.size, usedforsecurity=False)
        with open(self.path, "rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
        return digest.hexdigest()


@dataclass(frozen=True)
class ReleaseFolder:
    """What is to be published."""

    root: Path
    version: str
    files: dict[str, LocalFile]
    """Path in the repository -> file, ``SHA256SUMS`` included."""
    digest: str
    """SHA-256 of ``SHA256SUMS``: one value for the whole content."""
    splits: dict[str, dict[str, tuple[Path, ...]]]
    """Configuration -> split -> its Parquet files, as the card declares them."""

    @property
    def tag(self) -> str:
        return tag_of(self.version)

    @property
    def data_bytes(self) -> int:
        """Bytes of the data files on disk."""
        paths = {path for splits in self.splits.values() for files in splits.values() for path in files}
        return sum(path.stat().st_size for path in paths)

    @property
    def loaded_bytes(self) -> int:
        """Bytes of the data once loaded, as the card declares them; never less than on disk."""
        declared = sum(info.dataset_size for info in infos(self.root).values())
        return max(declared, self.data_bytes)


def tag_of(version: str) -> str:
    """The tag of a version: ``v`` and the version."""
    return f"v{version}"


def read_release(root: Path, version: str) -> ReleaseFolder:
    """Read and check the folder: every file is listed in ``SHA256SUMS`` with its own digest, and nothing else.

    Raises:
        BenchwrightError: it is no release folder, of another version, changed since it was built, or its card names
            files that are not there.
    """
    if not VERSION.match(version):
        raise BenchwrightError(
            f"{version!r} is no version", where="benchwright.toml", remedy="use three numbers, for example 1.0.0"
        )
    sums = root / SUMS
    if not sums.is_file():
        raise BenchwrightError("there is no release in it", where=str(root), remedy="benchwright release build")
    listed = _listed(sums)
    files = {path: _checked(root, path, sha256) for path, sha256 in sorted(listed.items())}
    _refuse_unlisted(root, listed)
    _check_version(root, version)
    data = sums.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    files[SUMS] = LocalFile(sums, len(data), digest)
    return ReleaseFolder(root, version, files, digest, _splits(root, listed))


def _listed(sums: Path) -> dict[str, str]:
    listed: dict[str, str] = {}
    for number, line in enumerate(sums.read_text("utf-8").splitlines(), 1):
        match = LINE.match(line)
        if not match or match["path"] in listed or match["path"] in (SUMS, *KEPT):
            raise BenchwrightError(
                "not a line this folder can have", where=f"{sums}:{number}", remedy="benchwright release build"
            )
        listed[match["path"]] = match["sha256"]
    return listed


def _checked(root: Path, name: str, sha256: str) -> LocalFile:
    path = root / name
    if path.is_symlink() or not path.is_file() or not path.resolve().is_relative_to(root.resolve()):
        raise BenchwrightError(
            f"{SUMS} lists it, and it is no file of this folder", where=str(path), remedy="benchwright release build"
        )
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise BenchwrightError(
            "it was changed after the release was built", where=str(path), remedy="benchwright release build"
        )
    return LocalFile(path, path.stat().st_size, sha256)


def _refuse_unlisted(root: Path, listed: dict[str, str]) -> None:
    there = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file() or path.is_symlink()}
    extra = sorted(there - set(listed) - {SUMS})
    if extra:
        raise BenchwrightError(
            f"{len(extra)} files are not part of the release: {', '.join(extra[:5])}",
            where=str(root),
            remedy="remove them, or benchwright release build",
        )


def _check_version(root: Path, version: str) -> None:
    """The folder says its own version in ``CITATION.cff``; publishing it under another would never be noticed."""
    import yaml

    path = root / "CITATION.cff"
    try:
        fields = yaml.safe_load(path.read_text("utf-8")) if path.is_file() else None
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # 2026-99-99 is a ValueError
        raise BenchwrightError(f"no YAML: {error}", where=str(path), remedy="benchwright release build") from error
    own = str(fields.get("version")) if isinstance(fields, dict) else None
    if own != version:
        raise BenchwrightError(
            f"the folder holds version {own}, the workspace says {version}",
            where=str(path),
            remedy="benchwright release build, or set version in benchwright.toml",
        )


def _splits(root: Path, listed: dict[str, str]) -> dict[str, dict[str, tuple[Path, ...]]]:
    where = str(root / "README.md")
    found: dict[str, dict[str, tuple[Path, ...]]] = {}
    for entry in configurations(root):
        if not entry.data_files:
            raise BenchwrightError("a configuration names no data files", where=where)
        splits: dict[str, tuple[Path, ...]] = {}
        for item in entry.data_files:
            paths = item.found(root)
            if not paths:
                raise BenchwrightError(f"no file matches {', '.join(item.path)}", where=where)
            splits[item.split] = tuple(paths)
        found[entry.config_name] = splits
    used = [
        path.relative_to(root).as_posix() for splits in found.values() for files in splits.values() for path in files
    ]
    parquet = [path for path in listed if path.endswith(".parquet")]
    if not found or sorted(used) != sorted(parquet):
        raise BenchwrightError(
            "each Parquet file must belong to exactly one split of one configuration, and the card says otherwise",
            where=where,
            remedy="benchwright release build",
        )
    return found
