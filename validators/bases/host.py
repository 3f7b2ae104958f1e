"""The base ``host``: a small root file system made of this machine's own Python, its libraries and a few tools.

Comes in: a Python version. Goes out: a folder in the cache that both sandboxes use (bind mount, image import), so a
script sees the same system in each and never the machine's own files. It needs neither a registry nor root. Its
identity is a digest over every file in it, so two machines that differ say so.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from ...core.errors import PrerequisiteError
from ...core.files import digest_of
from .base import Base, image_name, interpreters, kept_base

__all__ = ["host_base"]

LAYOUT = 5
"""Raised when the way a root is made changes: roots made before are then made anew."""
TOOLS = """
    awk basename bash bzip2 cat chmod cmp comm cp cut date dd df diff dirname du echo egrep env expr false fgrep find
    fold getopt grep gunzip gzip head hostname id install join kill less ln ls mawk md5sum mkdir mkfifo mktemp mv
    nice nl nohup nproc od paste patch pkill printenv printf ps pwd readlink realpath rm rmdir sed seq sh sha1sum
    setsid sha256sum shuf sleep sort split stat stdbuf tac tail tar tee test timeout touch tr true truncate tty uname
    uniq unlink unxz unzip wc wget which whoami xargs xz yes zcat
""".split()  # noqa: SIM905 - a list of eighty names is read as words
# what manylinux wheels may expect of a system (PEP 600's list, without those of a desktop), and OpenMP
LIBRARIES = (
    "libdl.so.2", "libexpat.so.1", "libgcc_s.so.1", "libgomp.so.1", "libm.so.6", "libnsl.so.1", "libpthread.so.0",
    "libresolv.so.2", "librt.so.1", "libstdc++.so.6", "libutil.so.1", "libz.so.1",
)  # fmt: skip
LEFT_OUT = (
    "test", "tests", "idlelib", "turtledemo", "tkinter", "lib2to3", "ensurepip", "config-*", "site-packages",
    "dist-packages",
)  # fmt: skip
ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/tmp/home:/bin/sh\n",
    "group": "root:x:0:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


def host_base(version: str | None = None, *, make: bool = True) -> Base | None:
    """The base for a Python version (None: this machine's usual one); if it is not in the cache, made or None.

    Raises:
        PrerequisiteError: this machine has no such Python.
    """
    python = _find_python(version)
    maker = (lambda folder, final: _make(python, folder / "root", final)) if make else None
    return kept_base(_fingerprint(python), maker)


def _find_python(version: str | None) -> str:
    """An interpreter outside any virtual environment, of the version asked for."""
    base = os.path.join(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    usual = ["/usr/bin/python3", base] if version is None else interpreters(version)
    for name in usual:
        if os.access(name, os.X_OK):
            return os.path.realpath(name)
    raise PrerequisiteError(
        f"there is no Python {version or 3} on this machine to make the base 'host' from",
        remedy="install it, name another python in environment.toml, or name a registry image with its digest as base",
    )


def _fingerprint(python: str) -> str:
    """Changes when the interpreter, the C library or our way of making roots does; cheap enough for every start."""
    seen = []
    for path in (python, shutil.which("bash") or "", *_library_paths(("libc.so.6", *LIBRARIES))):
        try:
            status = os.stat(path)
        except OSError:
            continue
        seen.append((path, status.st_size, status.st_mtime_ns))
    return digest_of([LAYOUT, seen])[:20]


def _library_paths(names: Iterable[str]) -> Iterator[str]:
    machine = os.uname().machine
    folders = (f"/usr/lib/{machine}-linux-gnu", "/usr/lib64", "/usr/lib")
    for name in names:
        yield from [path for folder in folders if os.path.exists(path := f"{folder}/{name}")][:1]


def _make(python: str, root: Path, final: str) -> Base:
    questions = (
        "import site,sys,sysconfig as s; print(s.get_path('stdlib'), site.getsitepackages()[0], *sys.version_info[:3])"
    )
    answer = subprocess.run([python, "-I", "-c", questions], capture_output=True, text=True, check=True, timeout=60)
    stdlib, packages_at, *numbers = answer.stdout.split()
    _skeleton(root, packages_at)
    binaries = [_copy_tool(root, path) for name in TOOLS if (path := shutil.which(name, path="/usr/bin:/bin"))]
    binaries.append(_copy_tool(root, python))
    for name in ("python", "python3", os.path.basename(python)):
        _link(root, f"/usr/bin/{name}", python)
    shutil.copytree(
        stdlib, f"{root}{stdlib}", symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT), dirs_exist_ok=True
    )
    extensions = [str(path) for path in Path(f"{root}{stdlib}").rglob("*.so")]
    for library in _needed([*binaries, *extensions]) | set(_library_paths(LIBRARIES)):
        _copy_file(root, library)
    version = ".".join(numbers)
    identity = f"host:python{version}:{_digest_tree(root)}"
    return Base(identity, final, python, version, packages_at, image_name(identity))


def _skeleton(root: Path, packages_at: str) -> None:
    inside = (
        "usr/bin",
        "usr/lib",
        "usr/lib64",
        "usr/sbin",
        "usr/local/bin",
        "etc",
        "proc",
        "sys",
        "dev",
        "root",
        "run",
    )
    for name in (*inside, "home", "tmp", "var/tmp", "repository", "assets", packages_at.lstrip("/")):
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in ("tmp", "var/tmp"):
        (root / name).chmod(0o1777)  # Docker gives the area mounted there the mode of what it covers
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    for name, text in ETC.items():
        (root / "etc" / name).write_text(text)


def _copy_tool(root: Path, path: str) -> str:
    """Copy the program behind ``path``; a link keeps its name and points to the program's own place."""
    real = os.path.realpath(path)
    _copy_file(root, real)
    _link(root, path, real)
    return real


def _copy_file(root: Path, path: str) -> None:
    target = Path(f"{root}{path}")
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)


def _link(root: Path, path: str, real: str) -> None:
    link = Path(f"{root}{path}")
    if not link.exists() and not link.is_symlink():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(real)


def _needed(binaries: list[str]) -> set[str]:
    """Every shared library that the programs load, and the loader itself, as ``ldd`` finds them."""
    answer = subprocess.run(["ldd", *binaries], capture_output=True, text=True, timeout=120)
    found = set()
    for line in answer.stdout.splitlines():
        words = line.split()
        if len(words) > 2 and words[1] == "=>" and words[2].startswith("/"):
            found.add(words[2])
        elif words and words[0].startswith("/") and "/ld-" in words[0]:
            found.add(words[0])
    return found


def _digest_tree(root: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if "__pycache__" in path.parts:
            continue
        name = str(path.relative_to(root)).encode("utf-8", "surrogateescape")
        if path.is_symlink():
            digest.update(b"link %s %s\n" % (name, os.readlink(path).encode()))
        elif path.is_dir():
            digest.update(b"folder %s %o\n" % (name, path.stat().st_mode & 0o7777))
        elif path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest().encode()
            digest.update(b"file %s %o %s\n" % (name, path.stat().st_mode & 0o7777, content))
    return digest.hexdigest()
