"""What the double keeps: datasets with commits, branches, tags and pull requests, and the large files beside them."""

from __future__ import annotations

import hashlib
import itertools
import re
import struct
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

LARGE_SUFFIXES = ("arrow", "bin", "gz", "parquet", "tar", "whl", "zip", "zst")
ATTRIBUTES = "".join(f"*.{name} filter=lfs diff=lfs merge=lfs -text\n" for name in LARGE_SUFFIXES).encode()
LARGE_BYTES = 10 * 1024 * 1024


def blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@dataclass(frozen=True)
class Entry:
    """One file of a tree: its content where it is small, its SHA-256 where it lies beside the repository."""

    size: int
    oid: str
    content: bytes | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Commit:
    id: str
    parent: str | None
    tree: dict[str, Entry]
    title: str


@dataclass
class Request:
    """A pull request."""

    title: str
    description: str
    author: str
    head: str
    status: str = "draft"
    merged_as: str | None = None


@dataclass
class Dataset:
    id: str
    private: bool
    gated: object = False
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    requests: dict[int, Request] = field(default_factory=dict)
    history_of_main: list[str] = field(default_factory=list)
    """Every commit main ever named, in order: what a reader of main could have seen."""
    serial: itertools.count[int] = field(default_factory=itertools.count)

    def commit(self, parent: str | None, tree: dict[str, Entry], title: str) -> str:
        key = repr((self.id, next(self.serial), parent, title, sorted((p, e.oid) for p, e in tree.items())))
        commit = hashlib.sha1(key.encode()).hexdigest()
        self.commits[commit] = Commit(commit, parent, dict(tree), title)
        return commit

    def move_main(self, commit: str) -> None:
        self.branches["main"] = commit
        self.history_of_main.append(commit)

    def resolve(self, revision: str | None) -> Commit | None:
        name = revision or "main"
        request = re.fullmatch(r"refs/pr/(\d+)", name)
        if request:
            found = self.requests.get(int(request[1]))
            return self.commits[found.head] if found else None
        name = re.sub(r"^refs/(heads|tags)/", "", name)
        commit = self.branches.get(name) or self.tags.get(name) or (name if name in self.commits else None)
        return self.commits[commit] if commit else None

    def files(self, revision: str = "main") -> dict[str, str]:
        """Path -> identity of the content, for comparing states in tests."""
        commit = self.resolve(revision)
        assert commit is not None, revision
        return {path: entry.sha256 or entry.oid for path, entry in commit.tree.items()}


class LargeFiles:
    """Contents by SHA-256: uploaded plainly (LFS), or in the chunk store that the client's Xet library writes."""

    def __init__(self, root: Path) -> None:
        self.plain = root / "lfs"
        self.chunks = root / "cas"
        self.plain.mkdir(parents=True, exist_ok=True)
        self.chunks.mkdir(parents=True, exist_ok=True)
        self._hashes: dict[str, str] = {}
        self._lock = threading.Lock()

    def put(self, sha256: str, content: bytes) -> bool:
        if hashlib.sha256(content).hexdigest() != sha256:
            return False
        (self.plain / sha256).write_bytes(content)
        return True

    def has(self, sha256: str) -> bool:
        return (self.plain / sha256).exists() or self.xet_hash(sha256) is not None

    def xet_hash(self, sha256: str) -> str | None:
        """The Xet name of a content, from the shard files in the chunk store."""
        with self._lock:
            if sha256 not in self._hashes:
                for path in self.chunks.rglob("*.mdb"):
                    self._hashes.update(_read_shard(path.read_bytes()))
            return self._hashes.get(sha256)

    def read(self, sha256: str) -> bytes:
        path = self.plain / sha256
        if not path.exists():
            import hf_xet

            name = self.xet_hash(sha256)
            assert name is not None, sha256
            fetched = self.plain / f".{sha256}.{threading.get_ident()}"
            with hf_xet.XetSession().new_file_download_group(endpoint=f"local://{self.chunks}/") as group:
                group.start_download_file(hf_xet.XetFileInfo(name, None), str(fetched))
            fetched.rename(path)
        return path.read_bytes()


def _hash(raw: bytes) -> str:
    return "".join(f"{part:016x}" for part in struct.unpack("<4Q", raw))


def _read_shard(data: bytes) -> dict[str, str]:
    """SHA-256 -> Xet hash: after a 48-byte header, per file a 48-byte head, its segments, and by flag bits more."""
    found: dict[str, str] = {}
    offset = 48
    while offset + 48 <= len(data):
        raw, flags, segments = data[offset : offset + 32], *struct.unpack("<II", data[offset + 32 : offset + 40])
        offset += 48
        if raw == b"\xff" * 32:
            break
        offset += 48 * segments * (2 if flags & (1 << 31) else 1)
        if flags & (1 << 30):
            found[_hash(data[offset : offset + 32])] = _hash(raw)
            offset += 48
    return found


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
