"""Python packages of an environment: resolved and fetched as wheels, locked by hash, installed without network.

Comes in: requirements, or a lock. Goes out: a lock, or a folder of installed packages. Where packages come from is
pip's own configuration; no address is known here, and none is written.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from filelock import FileLock

from ..core.errors import BenchwrightError, InfrastructureError, PrerequisiteError
from ..core.files import atomic_write, digest_of, staged_directory
from ..core.workspace import cache_dir
from .bases import Base
from .recipes import Recipe

__all__ = ["check_space", "install", "normalise", "pins", "resolve", "wheels_folder"]

PIP_WAIT_S = 3600
DATED_PIP = 26
"""The first pip that can leave out distributions uploaded after a day."""
WHEELS_ONLY = ("--only-binary=:all:",)
LOW_DISK_BYTES = 2 * 1024**3


def resolve(recipe: Recipe, base: Base, name: str) -> str:
    """Fetch wheels for the requirements and everything they need; the lock names each with its hash."""
    if not recipe.requirements:
        return ""
    with tempfile.TemporaryDirectory(dir=_wheel_parent(), prefix=".resolve-") as folder:
        arguments = ["download", *WHEELS_ONLY, "--dest", folder]
        if recipe.index_date:
            _require_pip(DATED_PIP, "index_date")
            arguments.append(f"--uploaded-prior-to={recipe.index_date.isoformat()}")
        _pip(base, [*arguments, "--", *recipe.requirements], name)
        lines = []
        for wheel in sorted(Path(folder).glob("*.whl")):
            project, version = wheel.name.split("-")[:2]
            lines.append(f"{normalise(project)}=={version} --hash=sha256:{_sha256(wheel)}\n")
        _keep_wheels(Path(folder), "".join(lines))
        return "".join(lines)


def install(base: Base, lock: str, packages: Path, name: str) -> None:
    wheels = wheels_folder(lock)
    if not wheels.is_dir():
        with tempfile.TemporaryDirectory(dir=_wheel_parent(), prefix=".fetch-") as folder:
            requirements = Path(folder) / "requirements"
            requirements.write_text(lock)
            fetched = Path(folder) / "wheels"
            _pip(
                base,
                [
                    "download",
                    *WHEELS_ONLY,
                    "--no-deps",
                    "--require-hashes",
                    "-d",
                    str(fetched),
                    "-r",
                    str(requirements),
                ],
                name,
            )
            _keep_wheels(fetched, lock)
    packages.parent.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{packages.parent}.lock"):
        if packages.is_dir():
            return
        with staged_directory(packages.parent) as staging:
            target = staging / "packages"
            target.mkdir()
            arguments = ["install", "--no-index", "--no-deps", "--no-compile", "--target", str(target)]
            log = _pip(base, [*arguments, *(str(wheel) for wheel in sorted(wheels.glob("*.whl")))], name)
            _own_scripts(target, base)
            _compile(target, base)
            atomic_write(staging / "build.log", log)


def _compile(packages: Path, base: Base) -> None:
    """Byte code now, since nothing can be written later. Files for other Python versions fail, and need not succeed."""
    command = [base.python, "-I", "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash"]
    command += ["-s", str(packages), "-p", base.packages_at, str(packages)]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PIP_WAIT_S)


def _own_scripts(packages: Path, base: Base) -> None:
    """Console scripts name the interpreter that ran pip; inside it lies where the base has it."""
    for script in (packages / "bin").glob("*"):
        content = script.read_bytes()
        if content.startswith(b"#!") and b"python" in content.split(b"\n", 1)[0]:
            script.write_bytes(b"#!" + base.python.encode() + b"\n" + content.split(b"\n", 1)[1])


def _pip(base: Base, arguments: list[str], name: str) -> str:
    """Run our interpreter's pip for the base's interpreter, so that wheels fit the base. Gives its log.

    Where packages come from is pip's own configuration: no address is known here.
    """
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode:
        raise PrerequisiteError("pip is missing from this Python", remedy=f"{sys.executable} -m ensurepip")
    command = [sys.executable, "-m", "pip", "--python", base.python, "--disable-pip-version-check", "--no-input"]
    environment = {**os.environ, "PIP_ROOT_USER_ACTION": "ignore", "PIP_BREAK_SYSTEM_PACKAGES": "1"}
    answer = subprocess.run(
        [*command, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PIP_WAIT_S, env=environment,
    )  # fmt: skip
    log = cache_dir() / "logs" / f"environment-{name}.log"
    text = re.sub(r"(https?://)[^\s/@]*@", r"\1", answer.stdout)  # an index address may carry a password
    atomic_write(log, text)
    if answer.returncode:
        last = [line for line in text.splitlines() if line.startswith("ERROR")] or text.splitlines()
        raise BenchwrightError(
            f"the packages cannot be had as wheels for Python {base.python_version}: {'; '.join(last[-2:])}",
            where=f"environment {name} (log: {log})",
            remedy="change the requirements, the python or the index_date in environment.toml",
        )
    return text


def _require_pip(major: int, reason: str) -> None:
    from importlib.metadata import version

    if int(version("pip").split(".")[0]) < major:
        raise PrerequisiteError(
            f"{reason} needs pip {major} or newer, this is {version('pip')}",
            remedy=f"{sys.executable} -m pip install --upgrade pip",
        )


def pins(lock: str) -> list[str]:
    return [line.split()[0] for line in lock.splitlines()]


def normalise(project: str) -> str:
    return re.sub(r"[-_.]+", "-", project).lower()


def wheels_folder(lock: str) -> Path:
    return _wheel_parent() / digest_of(lock)[:20]


def _wheel_parent() -> Path:
    folder = cache_dir() / "wheels"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _keep_wheels(folder: Path, lock: str) -> None:
    with staged_directory(wheels_folder(lock)) as staging:
        for wheel in folder.glob("*.whl"):
            shutil.move(wheel, staging / wheel.name)


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_space() -> None:
    folder = _wheel_parent()
    free = shutil.disk_usage(folder).free
    if free < LOW_DISK_BYTES:
        raise InfrastructureError(
            f"only {free / 1024**3:.1f} GiB are free, {LOW_DISK_BYTES / 1024**3:.0f} are needed",
            where=str(folder),
            remedy="benchwright environments prune, or set BENCHWRIGHT_CACHE to a folder on a larger disk",
        )
