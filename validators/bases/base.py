"""What a base is, and how one is kept in the cache: made once, at a folder named by what it is made from."""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from filelock import FileLock

from ...core.errors import BenchwrightError
from ...core.files import atomic_write, digest_of, staged_directory
from ...core.workspace import cache_dir

__all__ = [
    "Base", "adopt_root", "image_name", "installed_packages", "interpreters", "kept_base", "make_places",
    "package_digest", "unpack",
]  # fmt: skip

OWN_PACKAGES = "/opt/benchwright/packages"
"""Where packages lie in a root that has some of its own where they usually lie."""
PROGRAMS = ("usr/local/bin", "usr/bin", "opt/conda/bin", "opt/venv/bin")


@dataclass(frozen=True)
class Base:
    """A root file system and what is known of it."""

    identity: str
    """``host:python3.11.2:<digest over all files>``, ``debian-root:bookworm:python3.11:<digest of the package list>``
    or ``registry:<reference with digest>``."""
    root: str
    """Its unpacked files on this machine."""
    python: str
    """Its interpreter's path inside; for ``host`` it is an interpreter of this machine at the same path."""
    python_version: str
    """``3.11.2``; the minor version alone where the root does not tell more without being run."""
    packages_at: str
    """Where packages are installed, on that interpreter's own ``sys.path``."""
    image: str
    """The Docker image an environment's own begins from: the reference itself, or one imported from ``root``."""
    path_file: str = ""
    """A file inside that puts ``packages_at`` on ``sys.path``; empty where it lies there anyway."""

    @property
    def minor(self) -> str:
        return ".".join(self.python_version.split(".")[:2])


def image_name(identity: str) -> str:
    """The name of a Docker image imported from a root made here; it claims to be nothing else."""
    return f"benchwright/base-{re.split('[:]', identity)[0]}:{digest_of(identity)[:16]}"


def kept_base(key: str, make: Callable[[Path, str], Base] | None) -> Base | None:
    """The base at ``key`` in the cache; if it is not there, ``make`` fills an empty folder (the root as ``root``).

    ``make`` is given the folder and the path that its root will have in the end; without it None is given.
    """
    folder = cache_dir() / "bases" / key
    described = folder / "base.json"
    if not described.exists():
        if make is None:
            return None
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.parent / f"{key}.lock"):
            if not described.exists():
                with staged_directory(folder) as staging:
                    base = make(staging, str(folder / "root"))
                    atomic_write(staging / "base.json", json.dumps(asdict(base), indent=2))
    return Base(**json.loads(described.read_text(encoding="utf-8")))


def interpreters(version: str) -> list[str]:
    """Programs on this machine that are Python ``version`` (such as 3.9), outside virtual environments, best first.

    Those of pyenv and uv are found where these keep them; a shim is asked what it stands for.
    """
    home = os.path.expanduser("~")
    pyenv = os.environ.get("PYENV_ROOT", f"{home}/.pyenv")
    kept = [
        *glob.glob(f"{glob.escape(pyenv)}/versions/{version}.*/bin/python{version}"),
        *glob.glob(f"{glob.escape(home)}/.local/share/uv/python/cpython-{version}.*/bin/python{version}"),
    ]
    named = [f"/usr/bin/python{version}", f"/usr/local/bin/python{version}", shutil.which(f"python{version}")]
    found = []
    for name in (*named, *sorted(kept, reverse=True)):
        real = _base_interpreter(name, version) if name else None
        if real and real not in found:
            found.append(real)
    return found


def _base_interpreter(program: str, version: str) -> str | None:
    question = "import sys; print('%d.%d' % sys.version_info[:2], getattr(sys, '_base_executable', sys.executable))"
    if not os.access(program, os.X_OK):
        return None
    try:
        answer = subprocess.run([program, "-I", "-c", question], capture_output=True, text=True, timeout=30)
    except OSError:
        return None
    told, _, path = answer.stdout.strip().partition(" ")
    return os.path.realpath(path) if answer.returncode == 0 and told == version and path else None


# roots that were made elsewhere or by another program ------------------------------------------------------


def unpack(stream: IO[bytes], root: Path) -> None:
    """Unpack a root's tar (GNU tar keeps every member below ``root``), without devices and without its owners."""
    root.mkdir(parents=True, exist_ok=True)
    command = ["tar", "--extract", "--file=-", f"--directory={root}", "--no-same-owner", "--preserve-permissions"]
    command += ["--exclude=dev/*", "--exclude=./dev/*", "--delay-directory-restore"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    try:
        shutil.copyfileobj(stream, process.stdin, 1 << 20)
    except BrokenPipeError:
        pass  # tar says why
    finally:
        _, told = process.communicate()
    if process.returncode:
        raise BenchwrightError(f"the root cannot be unpacked: {told.decode('utf-8', 'replace').strip()[-300:]}")


def make_places(root: Path) -> None:
    """The folders at which sandboxes put something over the root."""
    for name in ("proc", "sys", "dev", "tmp", "repository", "assets"):
        _inside(root, f"/{name}").mkdir(parents=True, exist_ok=True)
    _inside(root, "/tmp").chmod(0o1777)  # noqa: S108 - a folder of the root


def adopt_root(root: Path, version: str | None, where: str) -> tuple[str, str, str, str]:
    """Make an unpacked root ready: (interpreter, its version, where packages belong, path file or empty).

    Raises:
        BenchwrightError: it has no Python 3, or not of the version asked for.
    """
    make_places(root)
    python, minor = _python_of(root, version, where)
    prefix = os.path.dirname(os.path.dirname(python))
    debian = prefix == "/usr" and _inside(root, "/usr/lib/python3/dist-packages").is_dir()
    site = f"/usr/local/lib/python{minor}/dist-packages" if debian else f"{prefix}/lib/python{minor}/site-packages"
    if not _inside(root, site).is_dir() or not any(_inside(root, site).iterdir()):
        _inside(root, site).mkdir(parents=True, exist_ok=True)
        return python, minor, site, ""
    _inside(root, OWN_PACKAGES).mkdir(parents=True, exist_ok=True)
    path_file = f"{site}/benchwright.pth"
    _inside(root, path_file).write_text(f"import sys; sys.path.insert(1, {OWN_PACKAGES!r})\n")
    return python, minor, OWN_PACKAGES, path_file


def _python_of(root: Path, version: str | None, where: str) -> tuple[str, str]:
    for folder in PROGRAMS:
        names = [path.name for path in _inside(root, f"/{folder}").glob("python3.*")]
        found = sorted((n for n in names if re.fullmatch(r"python3\.\d+", n)), key=lambda n: int(n.split(".")[1]))
        for name in reversed(found):
            if version in (None, name.removeprefix("python")):
                return f"/{folder}/{name}", name.removeprefix("python")
    raise BenchwrightError(
        f"the base has no Python {version or 3}", where=where, remedy="name a base that has it, or another python"
    )


def _inside(root: Path, path: str) -> Path:
    """The place of ``path`` in the root, links followed as they would be inside, so that none leads out of it."""
    at = root
    parts = [part for part in path.split("/") if part]
    for _ in range(256):
        if not parts:
            return at
        part = parts.pop(0)
        if part == "..":
            at = at.parent if at != root else root
        elif (at / part).is_symlink():
            target = os.readlink(at / part)
            at = root if target.startswith("/") else at
            parts = [piece for piece in target.split("/") if piece not in ("", ".")] + parts
        else:
            at = at / part
    raise BenchwrightError(f"the links at {path} go round in circles", where=str(root))


def installed_packages(root: Path) -> list[str]:
    """``name=version`` of every Debian package in the root, sorted; none where it is no Debian root."""
    status = root / "var/lib/dpkg/status"
    if not status.is_file():
        return []
    found = []
    for paragraph in status.read_text(encoding="utf-8", errors="replace").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in paragraph.splitlines() if re.match(r"[A-Z][\w-]*: ", line))
        if fields.get("Status") == "install ok installed":
            found.append(f"{fields['Package']}={fields['Version']}")
    return sorted(found)


def package_digest(packages: Iterable[str]) -> str:
    return digest_of(list(packages))
