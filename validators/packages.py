"""Python packages of an environment: resolved and fetched as wheels, locked by hash, installed without network.

Comes in: requirements, or a lock. Goes out: a lock, or a folder of installed packages. Each wheel is fetched once and
unpacked once for each base; environments hold links to the unpacked files, so that a large one takes its space once.
Where packages come from is pip's own configuration; no address is known here, and none is written.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from filelock import FileLock

from ..core.errors import BenchwrightError, InfrastructureError, PrerequisiteError
from ..core.files import atomic_write, digest_of, staged_directory
from ..core.workspace import cache_dir
from .bases import Base, interpreters
from .recipes import Recipe

__all__ = [
    "check_space",
    "fetch",
    "hashes",
    "install",
    "normalise",
    "pins",
    "resolve",
    "unpacked_bytes",
    "unpacked_folders",
    "wheel_folder",
]

PIP_WAIT_S = 3600
WHEELS_ONLY = ("--only-binary=:all:",)
SPARE_BYTES = 1 * 1024**3
"""Left free when an environment is built."""
LARGE_BYTES = 32 * 1024**2
"""A wheel beyond this is a layer of its own in Docker images."""
OLDEST_GLIBC = 5
"""The second number of the oldest C library that a manylinux wheel may be made for."""


def resolve(recipe: Recipe, base: Base, name: str) -> str:
    """Fetch wheels for the requirements and everything they need; the lock names each with its hash."""
    if not recipe.requirements:
        return ""
    with tempfile.TemporaryDirectory(dir=_folder("wheels"), prefix=".resolve-") as folder:
        if recipe.index_date:
            pinned = _resolve_dated(recipe, base, name)
            _download(pinned, base, folder, name)
        else:
            arguments = ["download", *WHEELS_ONLY, "--dest", folder, "--", *recipe.requirements]
            _pip(arguments, name, base, python=_installer(base))
        return "".join(_keep(wheel) for wheel in sorted(Path(folder).glob("*.whl")))


def install(base: Base, lock: str, packages: Path, name: str) -> tuple[str, list[Path]]:
    """Fill the new folder ``packages`` with links to what the lock's wheels hold.

    Gives the log, and the unpacked folders of large wheels, the largest first.

    Raises:
        BenchwrightError: a wheel does not fit this base.
    """
    logs = []
    large: list[tuple[int, Path]] = []
    packages.mkdir(parents=True)
    for wheel in _wheels(lock):
        folder, log = _unpacked(wheel, base, name)
        shutil.copytree(folder, packages, copy_function=_link, dirs_exist_ok=True)
        logs.append(log)
        if wheel.stat().st_size > LARGE_BYTES:
            large.append((wheel.stat().st_size, folder))
    return "".join(logs), [folder for _, folder in sorted(large, reverse=True)]


def unpacked_bytes(lock: str, base: Base) -> int:
    """What those of the lock's wheels will take that are not unpacked for this base yet; they must be fetched."""
    total = 0
    for wheel in _wheels(lock):
        with zipfile.ZipFile(wheel) as opened:
            total += 0 if _place(wheel, base).is_dir() else sum(entry.file_size for entry in opened.infolist())
    return total


# resolving and fetching ------------------------------------------------------------------------------------


def _resolve_dated(recipe: Recipe, base: Base, name: str) -> list[str]:
    """What the requirements came to on a day, as ``name==version``: uv asks the index for upload times."""
    assert recipe.index_date is not None
    uv = shutil.which("uv", path=f"{os.path.dirname(sys.executable)}:{os.environ.get('PATH', '')}")
    if uv is None:
        raise PrerequisiteError(
            "index_date needs uv", remedy=f"{sys.executable} -m pip install 'benchwright[curation]'"
        )
    command = [uv, "pip", "compile", "--quiet", "--no-header", "--no-annotate", *WHEELS_ONLY]
    command += ["--python-version", base.minor, "--python-platform", f"{os.uname().machine}-unknown-linux-gnu"]
    command += ["--exclude-newer", recipe.index_date.isoformat(), "-"]
    text = _run(command, name, base, given="\n".join(recipe.requirements))
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(("#", "-"))]


def _download(pinned: Sequence[str], base: Base, folder: str, name: str) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as requirements:
        requirements.write("".join(f"{line}\n" for line in pinned))
        requirements.flush()
        _pip(["download", "--no-deps", *_target(base), "--dest", folder, "-r", requirements.name], name, base)


def fetch(lock: str, base: Base, name: str) -> None:
    """Have every wheel of the lock in the cache.

    Raises:
        BenchwrightError: one cannot be had any more.
    """
    missing = [line for line in lock.splitlines() if not any(wheel_folder(_hash(line)).glob("*.whl"))]
    if missing:
        with tempfile.TemporaryDirectory(dir=_folder("wheels"), prefix=".fetch-") as folder:
            _download(missing, base, folder, name)
            for wheel in Path(folder).glob("*.whl"):
                _keep(wheel)


def _keep(wheel: Path) -> str:
    """Move a wheel to its place; its line of the lock."""
    with open(wheel, "rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    project, version = wheel.name.split("-")[:2]
    folder = wheel_folder(sha256)
    folder.mkdir(exist_ok=True)
    os.replace(wheel, folder / wheel.name)
    return f"{normalise(project)}=={version} --hash=sha256:{sha256}\n"


# unpacking -------------------------------------------------------------------------------------------------


def unpacked_folders(lock: str, base: Base) -> Iterator[Path]:
    """Where the lock's wheels are unpacked for this base."""
    for sha256 in hashes(lock):
        yield _folder("unpacked") / digest_of([sha256, base.python, base.minor, base.packages_at])[:20]


def _place(wheel: Path, base: Base) -> Path:
    (folder,) = unpacked_folders(f"x --hash=sha256:{wheel.parent.name}", base)
    return folder


def _unpacked(wheel: Path, base: Base, name: str) -> tuple[Path, str]:
    folder = _place(wheel, base)
    if not folder.is_dir():
        with FileLock(f"{folder}.lock"):
            if not folder.is_dir():
                with staged_directory(folder) as staging:
                    files = staging / "files"
                    # for which Python a wheel is, was asked when it was fetched; here pip would ask of its own
                    arguments = ["install", "--no-index", "--no-deps", "--no-compile", "--ignore-requires-python"]
                    arguments += _target(base)
                    log = _pip([*arguments, "--target", str(files), "--", str(wheel)], name, base)
                    _own_scripts(files, base)
                    _compile(files, base)
                    atomic_write(staging / "install.log", log)
    return folder / "files", (folder / "install.log").read_text(encoding="utf-8")


def _compile(files: Path, base: Base) -> None:
    """Byte code now, since nothing can be written later. Files for other Python versions fail, and need not succeed.

    A base whose Python this machine lacks goes without: its imports take longer.
    """
    for python in interpreters(base.minor)[:1]:
        command = [python, "-I", "-m", "compileall", "-q", "-j", "0", "-d", base.packages_at]
        command += [] if base.minor == "3.6" else ["--invalidation-mode", "unchecked-hash"]
        command.append(str(files))
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PIP_WAIT_S)


def _own_scripts(files: Path, base: Base) -> None:
    """Console scripts name the interpreter that ran pip; inside it lies where the base has it."""
    for script in (files / "bin").glob("*"):
        content = script.read_bytes()
        if content.startswith(b"#!") and b"python" in content.split(b"\n", 1)[0]:
            script.write_bytes(b"#!" + base.python.encode() + b"\n" + content.split(b"\n", 1)[1])


def _link(source: str, target: str) -> None:
    """A hard link; where two wheels hold a file of one name, the later one's counts."""
    if os.path.lexists(target):
        os.unlink(target)
    os.link(source, target, follow_symlinks=False)


# pip -------------------------------------------------------------------------------------------------------


def _installer(base: Base) -> str:
    """An interpreter of this machine of the base's version, by which pip knows what fits."""
    if base.identity.startswith("host:"):
        return base.python
    for python in interpreters(base.minor):
        return python
    raise PrerequisiteError(
        f"requirements for Python {base.minor} are resolved by an interpreter of that version, and none is here",
        remedy=f"install Python {base.minor}, or give the recipe an index_date: uv needs no such interpreter",
    )


def _target(base: Base) -> list[str]:
    """Options by which pip takes wheels for the base, whatever interpreter runs it."""
    machine = os.uname().machine
    newest = int(os.confstr("CS_GNU_LIBC_VERSION").split(".")[1])  # type: ignore[union-attr]
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in range(newest, OLDEST_GLIBC - 1, -1)]
    platforms += [f"{old}_{machine}" for old in ("manylinux2014", "manylinux2010", "manylinux1", "linux")]
    chosen = [f"--platform={platform}" for platform in platforms]
    return [*WHEELS_ONLY, f"--python-version={base.minor}", "--implementation=cp", *chosen]


def _pip(arguments: list[str], name: str, base: Base, *, python: str | None = None) -> str:
    """Run our interpreter's pip (for another interpreter where ``python`` names it). Gives its log."""
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode:
        raise PrerequisiteError("pip is missing from this Python", remedy=f"{sys.executable} -m ensurepip")
    chosen = ["--python", python] if python else []
    command = [sys.executable, "-m", "pip", *chosen, "--disable-pip-version-check", "--no-input"]
    return _run([*command, *arguments], name, base)


def _run(command: list[str], name: str, base: Base, *, given: str = "") -> str:
    environment = {**os.environ, "PIP_ROOT_USER_ACTION": "ignore", "PIP_BREAK_SYSTEM_PACKAGES": "1"}
    answer = subprocess.run(
        command,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PIP_WAIT_S, env=environment, input=given,
    )  # fmt: skip
    log = cache_dir() / "logs" / f"environment-{name}.log"
    text = re.sub(r"(https?://)[^\s/@]*@", r"\1", answer.stdout)  # an index address may carry a password
    atomic_write(log, text)
    if answer.returncode:
        said = [line.strip(" ×╰─▶") for line in text.splitlines() if line.strip()]
        last = [line for line in said if line.startswith("ERROR")] or said
        raise BenchwrightError(
            f"the packages cannot be had as wheels for Python {base.python_version}: {'; '.join(last[-2:])}",
            where=f"environment {name} (log: {log})",
            remedy="change the requirements, the python or the index_date in environment.toml",
        )
    return text


# locks and wheels ------------------------------------------------------------------------------------------


def pins(lock: str) -> list[str]:
    return [line.split()[0] for line in lock.splitlines()]


def hashes(lock: str) -> Iterable[str]:
    return [_hash(line) for line in lock.splitlines()]


def _hash(line: str) -> str:
    return line.rpartition("sha256:")[2].strip()


def normalise(project: str) -> str:
    return re.sub(r"[-_.]+", "-", project).lower()


def wheel_folder(sha256: str) -> Path:
    return _folder("wheels") / sha256


def _wheels(lock: str) -> list[Path]:
    return [wheel for sha256 in hashes(lock) for wheel in wheel_folder(sha256).glob("*.whl")]


def _folder(name: str) -> Path:
    folder = cache_dir() / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def check_space(needed: int, what: str) -> None:
    """Refuse before it is begun what would fill the disk.

    Raises:
        InfrastructureError: fewer bytes are free than needed and a gibibyte beside.
    """
    folder = _folder("wheels")
    free = shutil.disk_usage(folder).free
    if free < needed + SPARE_BYTES:
        raise InfrastructureError(
            f"{what} needs {(needed + SPARE_BYTES) / 1024**3:.1f} GiB, and {free / 1024**3:.1f} GiB are free",
            where=str(folder),
            remedy="benchwright environments prune, or set BENCHWRIGHT_CACHE to a folder on a larger disk",
        )
