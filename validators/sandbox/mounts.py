"""Mounts in a private mount namespace of one thread: they vanish with it, however it ends, and no one else sees them.

Bubblewrap runs as nobody, who cannot reach folders below a user's private cache. So, as root, a worker thread leaves
the machine's mount namespace, covers one folder with a small file system of its own, and binds there what a run needs.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

from ...core.errors import InfrastructureError
from .contract import DISK, HOME, WORK

__all__ = ["Stage"]

CLONE_NEWNS = 0x00020000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
NOBODY = 65534
COVERED = ("/media", "/srv", "/mnt", "/opt", "/home")
"""Folders of every Linux that a thread may cover; the first that holds nothing a run needs."""

_libc = ctypes.CDLL(None, use_errno=True)


class Stage:
    """The private mounts of the thread that makes it, and only of that thread."""

    def __init__(self) -> None:
        _check(_libc.unshare(CLONE_NEWNS), "leave the mount namespace")
        _mount(None, "/", None, MS_REC | MS_PRIVATE)
        self._at: Path | None = None
        self._bound: dict[Path, Path] = {}

    def bind(self, folder: Path) -> Path:
        """Where nobody finds ``folder``, read-only."""
        if folder not in self._bound:
            at = self._place([folder]) / str(len(self._bound))
            at.mkdir()
            _mount(str(folder), str(at), None, MS_BIND)
            _mount(None, str(at), None, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV)
            self._bound[folder] = at
        return self._bound[folder]

    def area(self, size: int, tree: Path | None) -> Path:
        """A fresh work area of bounded size for one run; with ``tree`` an overlay of it at its work folder."""
        lower = self.bind(tree) if tree else None
        at = self._place([]) / "area"
        at.mkdir(exist_ok=True)
        _mount("tmpfs", str(at), "tmpfs", MS_NOSUID | MS_NODEV, f"size={size},mode=755")
        inside = at / "inside"
        work = inside / os.path.relpath(WORK, DISK)
        for folder in (inside, work, inside / os.path.relpath(HOME, DISK)):
            folder.mkdir()
            os.chown(folder, NOBODY, NOBODY)
        inside.chmod(0o1777)
        if lower is not None:
            for name in ("upper", "index"):
                (at / name).mkdir()
                os.chown(at / name, NOBODY, NOBODY)
            options = f"lowerdir={lower},upperdir={at / 'upper'},workdir={at / 'index'}"
            _mount("overlay", str(work), "overlay", MS_NOSUID | MS_NODEV, options)
        return inside

    def clear(self) -> None:
        """Take the run's area away, where it has one."""
        if self._at is not None:
            inside = self._at / "area" / "inside"
            _libc.umount2(str(inside / os.path.relpath(WORK, DISK)).encode(), MNT_DETACH)  # not there without a tree
            _libc.umount2(str(self._at / "area").encode(), MNT_DETACH)

    def _place(self, needed: Iterable[Path]) -> Path:
        if self._at is None:
            holds = [os.path.realpath(folder) for folder in needed]
            for name in COVERED:
                if os.path.isdir(name) and not any(path.startswith(f"{name}/") for path in holds):
                    _mount("tmpfs", name, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755")
                    self._at = Path(name)
                    return self._at
            raise InfrastructureError(f"none of {', '.join(COVERED)} can be covered for the sandbox's mounts")
        return self._at


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str = "") -> None:
    def text(value: str | None) -> bytes | None:
        return None if value is None else os.fsencode(value)

    _check(_libc.mount(text(source), text(target), text(kind), ctypes.c_ulong(flags), text(options)), f"mount {target}")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot {what}: {os.strerror(number)}")
