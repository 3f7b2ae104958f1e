"""A repository's files at its pinned commit, read from git objects: no work tree, no hooks, no symlink escapes.

``open_tree`` finds a mirror that holds the commit, or else fetches that one commit (``fetch.py``). Files whose blob
is missing (a partial mirror, a large blob left out) are a stated condition: ``read`` gives None, ``missing`` lists
them.
"""

from __future__ import annotations

import os
import posixpath
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..core.errors import BenchwrightError, InfrastructureError
from ..core.models import Repository
from .address import parse_address
from .gitrun import GitFailedError, git_at, run_git
from .mirrors import local_mirrors, network_places

__all__ = ["PinnedTree", "Submodule", "open_tree"]

BATCH = 400
"""Object ids written before their answers are read: well below what a pipe holds."""


@dataclass(frozen=True)
class Entry:
    """One file of the tree: git's mode (octal text) and the blob id."""

    path: str
    mode: str
    blob: str


@dataclass(frozen=True)
class Submodule:
    """Another repository's commit that the tree points to; it is recorded, not fetched."""

    path: str
    commit: str


class PinnedTree:
    """The tree of one commit in one git directory. A context manager: it holds one ``git cat-file`` process."""

    def __init__(self, git_dir: Path, commit: str, origins: Sequence[str] = ()) -> None:
        """``origins`` are the addresses that a clone of ours may fetch left-out blobs from; a mirror has none."""
        self.git_dir = git_dir
        self.commit = commit
        self._origins = tuple(origins)
        self._process: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the reading process; a later read starts another."""
        if self._process is not None:
            process, self._process = self._process.proc, None
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
            process.wait()

    # listing -----------------------------------------------------------------------------------------------

    @cached_property
    def _listing(self) -> tuple[dict[str, Entry], tuple[Submodule, ...]]:
        raw = run_git(self.git_dir, ["ls-tree", "-r", "-z", "--full-tree", self.commit])
        entries: dict[str, Entry] = {}
        submodules: list[Submodule] = []
        for line in raw.split(b"\0"):
            if not line:
                continue
            head, name = line.split(b"\t", 1)
            mode, kind, oid = head.decode("ascii").split()
            path = name.decode("utf-8", "surrogateescape")
            if kind == "blob":
                entries[path] = Entry(path, mode, oid)
            else:
                submodules.append(Submodule(path, oid))
        return dict(sorted(entries.items())), tuple(sorted(submodules, key=lambda item: item.path))

    @cached_property
    def _paths(self) -> tuple[str, ...]:
        return tuple(self._listing[0])

    def paths(self) -> Sequence[str]:
        """Every file's path, sorted; symbolic links among them, submodules not."""
        return self._paths

    def blob_of(self, path: str) -> str | None:
        """The blob id of ``path``; None where there is no such file."""
        entry = self._listing[0].get(path)
        return entry.blob if entry else None

    def is_symlink(self, path: str) -> bool:
        """Whether ``path`` is a symbolic link (its content is then the link's target)."""
        entry = self._listing[0].get(path)
        return entry is not None and entry.mode == "120000"

    def submodules(self) -> Sequence[Submodule]:
        """Submodules with the commits this tree pins them to."""
        return self._listing[1]

    @cached_property
    def _sizes(self) -> dict[str, int | None]:
        blobs = sorted({entry.blob for entry in self._listing[0].values()})
        if not blobs:
            return {}
        answer = run_git(self.git_dir, ["cat-file", "--batch-check"], stdin="\n".join(blobs).encode() + b"\n")
        sizes: dict[str, int | None] = {}
        for line in answer.decode("ascii", "replace").splitlines():
            oid, *rest = line.split()
            sizes[oid] = int(rest[1]) if len(rest) == 2 else None
        return sizes

    def missing(self) -> Sequence[str]:
        """Paths of files whose blob is not here, sorted."""
        return [path for path, entry in self._listing[0].items() if self._sizes.get(entry.blob) is None]

    def size_of(self, path: str) -> int | None:
        """Bytes of one file; None where there is no such file or its blob is missing."""
        entry = self._listing[0].get(path)
        return self._sizes.get(entry.blob) if entry else None

    def size(self) -> int:
        """Bytes of all files that are here."""
        return sum(self._sizes.get(entry.blob) or 0 for entry in self._listing[0].values())

    # reading -----------------------------------------------------------------------------------------------

    def _reader(self) -> Any:
        if self._process is None:
            self._process = git_at(self.git_dir).cat_file(batch=True, as_process=True, istream=subprocess.PIPE)
        return self._process

    def _contents(self, blobs: Sequence[str]) -> Iterator[bytes | None]:
        """The content of each blob in turn, None where it is missing."""
        process = self._reader()
        for start in range(0, len(blobs), BATCH):
            part = blobs[start : start + BATCH]
            try:
                process.stdin.write("".join(f"{oid}\n" for oid in part).encode("ascii"))
                process.stdin.flush()
            except OSError as error:
                raise self._broken() from error
            for _ in part:
                yield self._content(process.stdout)

    def _content(self, stream: Any) -> bytes | None:
        header = stream.readline()
        if not header:
            raise self._broken()
        fields = header.split()
        if len(fields) != 3:
            return None
        size = int(fields[2])
        data: bytes = stream.read(size + 1)
        if len(data) != size + 1:
            raise self._broken()
        return data[:-1]

    def _broken(self) -> InfrastructureError:
        self.close()
        return InfrastructureError(
            "git stopped while objects were read",
            where=str(self.git_dir),
            remedy="check the mirror with: git fsck --connectivity-only",
        )

    def read(self, path: str) -> bytes | None:
        """The file's bytes as stored; None where there is no such file or its blob is missing."""
        entry = self._listing[0].get(path)
        return next(self._contents([entry.blob])) if entry else None

    def read_many(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """``(path, bytes)`` for each of ``paths`` that is there, in the order given. Read it to the end."""
        known = [path for path in paths if path in self._listing[0]]
        contents = self._contents([self._listing[0][path].blob for path in known])
        for path, data in zip(known, contents, strict=True):
            if data is not None:
                yield path, data

    # writing out -------------------------------------------------------------------------------------------

    def materialise(self, destination: Path) -> list[str]:
        """Write the tree as plain files below ``destination`` (no ``.git``, no history).

        Executable bits are kept, symbolic links only where they stay inside the tree. Large files that were left out
        of a clone are fetched now. Returns the paths that could not be written because their blob is missing.
        """
        if self._origins and self.missing():
            self._complete()
        written: set[str] = set()
        try:
            destination.mkdir(parents=True, exist_ok=True)
            for path, data in self.read_many(self.paths()):
                if _is_safe(path):
                    self._write(destination, path, data)
                written.add(path)
        except OSError as error:
            raise InfrastructureError(f"cannot write the files: {error.strerror}", where=str(destination)) from error
        return [path for path in self.paths() if path not in written]

    def _complete(self) -> None:
        """Fetch the blobs that were left out; what cannot be had stays missing, which the caller is told."""
        from .fetch import fetch_blobs

        if fetch_blobs(self._origins, sorted({self._listing[0][path].blob for path in self.missing()}), self.git_dir):
            self.close()  # a running reader does not see new packs
            del self._sizes

    def _write(self, destination: Path, path: str, data: bytes) -> None:
        target = destination / path
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = self._listing[0][path].mode
        if mode == "120000":
            link = os.fsdecode(data)
            inside = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
            if not link.startswith("/") and inside != ".." and not inside.startswith("../"):
                target.unlink(missing_ok=True)
                target.symlink_to(link)
            return
        target.write_bytes(data)
        target.chmod(0o755 if mode == "100755" else 0o644)


def _is_safe(path: str) -> bool:
    parts = path.split("/")
    return not path.startswith("/") and not any(part in ("", ".", "..") or part.casefold() == ".git" for part in parts)


def holds_commit(git_dir: Path, commit: str) -> bool:
    """Whether the git directory has this very commit (not merely an object of that id) and its tree."""
    try:
        found = run_git(git_dir, ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{tree}}"])
    except GitFailedError:
        return False
    return bool(found.strip())


def open_tree(repository: Repository, clones_dir: Path, mirrors: Sequence[str] = ()) -> PinnedTree:
    """The tree of ``repository`` at its pin: from a mirror that holds it, else from a clone below ``clones_dir``.

    The clone is bare and holds only the pinned commit; it is fetched over the network where it is not there yet.

    Raises:
        BenchwrightError: the address is refused, or the pin is nowhere to be had (with the reason of each place).
    """
    address = parse_address(repository.url, allow_file=True)
    looked_at: list[str] = []
    for git_dir in local_mirrors(address, mirrors):
        if holds_commit(git_dir, repository.commit):
            return PinnedTree(git_dir, repository.commit)
        looked_at.append(str(git_dir))
    clone = clones_dir / repository.name / repository.commit
    if not holds_commit(clone, repository.commit) if clone.is_dir() else True:
        from .fetch import fetch_commit

        try:
            fetch_commit(address, repository.commit, clone, mirrors)
        except BenchwrightError as error:
            if looked_at:
                error.message += f" (the pin is not in {', '.join(looked_at)} either)"
            raise
    return PinnedTree(clone, repository.commit, network_places(address, mirrors))
