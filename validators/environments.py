"""Environments: from a recipe to a locked, built, read-only system that every sandbox sees alike.

Comes in: ``environments/NAME/environment.toml``. Goes out: ``requirements.lock`` and ``Dockerfile`` beside it (kept in
git), and in the cache a folder named by digest with the installed packages and the build log. Wheels are resolved and
fetched outside and installed without network; no package's code runs while it is installed. The Docker image is made
from the same folders when a Docker sandbox first needs it (``sandbox/images.py``).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from ..core.errors import BenchwrightError, InfrastructureError, PrerequisiteError
from ..core.files import atomic_write, digest_of, staged_directory
from ..core.progress import Reporter
from ..core.workspace import cache_dir
from .bases import Base, host_base
from .recipes import Recipe, find_recipes, read_recipe
from .sandbox.contract import System
from .sandbox.docker import connect
from .sandbox.images import LABEL_ENVIRONMENT, remove_images
from .trees import remove_unused

__all__ = ["Status", "build", "build_many", "check", "check_all", "open_system", "prune", "statuses"]

LOCK_NAME = "requirements.lock"
PIP_WAIT_S = 3600
DATED_PIP = 26
"""The first pip that can leave out distributions uploaded after a day."""
WHEELS_ONLY = ("--only-binary=:all:",)
LOW_DISK_BYTES = 2 * 1024**3
LOCK_HEADER = "# made by `benchwright environments build`; remove it to resolve anew\n"


@dataclass(frozen=True)
class Status:
    """One environment as ``environments list`` shows it."""

    name: str
    digest: str
    """Empty where there is no lock yet."""
    base: str
    packages: int
    """Distributions in the lock."""
    built: bool
    bytes: int


def open_system(environments_dir: Path | None, name: str) -> System:
    """The built environment.

    Raises:
        PrerequisiteError: it has not been built.
        BenchwrightError: there is no such environment, or its recipe is wrong.
    """
    recipe = read_recipe(environments_dir, name)
    base = host_base(recipe.python)
    lock = _read_lock(environments_dir, name, recipe)
    if lock is None:
        raise _not_built(name)
    system = _system(name, recipe, base, lock)
    if system.packages is not None and not system.packages.is_dir():
        raise _not_built(name)
    return system


def build(environments_dir: Path | None, name: str, reporter: Reporter) -> Status:
    """Build one environment; what is there already is left alone. The lock is made if there is none.

    Raises:
        PrerequisiteError: pip is missing, or there is too little disk space.
        BenchwrightError: requirements cannot be resolved to wheels (the end of the log is shown, the log named).
    """
    recipe = read_recipe(environments_dir, name)
    if recipe.system_packages:
        raise BenchwrightError(
            "the base 'host' cannot install system packages",
            where=str(_folder(environments_dir, name)),
            remedy="leave system_packages empty",
        )
    base = host_base(recipe.python)
    lock = _read_lock(environments_dir, name, recipe)
    if lock is None:
        _check_space()
        reporter.say(f"{name}: resolving {len(recipe.requirements)} requirements")
        lock = _resolve(recipe, base, name)
        atomic_write(_folder(environments_dir, name) / LOCK_NAME, LOCK_HEADER + lock)
    system = _system(name, recipe, base, lock)
    if system.packages is not None and not system.packages.is_dir():
        _check_space()
        reporter.say(f"{name}: installing {len(_pins(lock))} packages")
        _install(base, lock, system.packages, name)
    folder = _folder(environments_dir, name) if environments_dir else None
    if folder is not None and folder.is_dir():
        atomic_write(folder / "Dockerfile", dockerfile(system, base))
    return _status(name, recipe, system, lock)


def build_many(environments_dir: Path, names: Sequence[str], every: bool, reporter: Reporter) -> list[Status]:
    """Build those named, or with ``every`` all; one that fails does not keep the others from being built.

    Raises:
        BenchwrightError: nothing was asked for, or one or more failed (after all were tried).
    """
    if not names and not every:
        raise BenchwrightError("no environment was named", remedy="benchwright environments build NAME, or --all")
    wanted = [name for name, _ in find_recipes(environments_dir)] if every else list(dict.fromkeys(names))
    built, failed = [], []
    with reporter.track("environments", len(wanted)) as advance:
        for name in wanted:
            try:
                built.append(build(environments_dir, name, reporter))
                advance(f"{name}: built")
            except BenchwrightError as error:
                failed.append(error)
                advance(f"{name}: not built")
                if len(wanted) > 1:
                    reporter.warn(str(error))
    if len(failed) == 1:
        raise failed[0]
    if failed:
        raise InfrastructureError(f"{len(failed)} of {len(wanted)} environments were not built, see above")
    return built


def dockerfile(system: System, base: Base) -> str:
    """What the image is made of, to be read beside the recipe. The image is imported from the same two folders."""
    lines = [f"# environment {system.name}, digest {system.digest}"]
    lines += ["FROM scratch", f"# root: {base.identity}", "COPY root /"]
    if system.packages is not None:
        lines += [
            f"# packages: {LOCK_NAME}, installed as wheels without network",
            f"COPY packages {system.packages_at}",
        ]
    lines += [f"LABEL {LABEL_ENVIRONMENT}={system.digest}", 'CMD ["python3"]']
    return "\n".join(lines) + "\n"


def statuses(environments_dir: Path | None) -> Iterator[Status]:
    """Every environment, built or not."""
    for name, recipe in find_recipes(environments_dir):
        base = host_base(recipe.python)
        lock = _read_lock(environments_dir, name, recipe)
        if lock is None:
            yield Status(name, "", base.identity, 0, False, 0)
        else:
            yield _status(name, recipe, _system(name, recipe, base, lock), lock)


def check(environments_dir: Path | None, name: str) -> list[str]:
    """What is wrong with a built environment: one sentence for each, none where all is well."""
    try:
        system = open_system(environments_dir, name)
    except PrerequisiteError as error:
        return [error.message]
    recipe = read_recipe(environments_dir, name)
    lock = _read_lock(environments_dir, name, recipe) or ""
    found = []
    locked = {pin.partition("==")[0] for pin in _pins(lock)}
    for requirement in recipe.requirements:
        wanted = _normalise(re.split(r"[^A-Za-z0-9._-]", requirement.strip(), maxsplit=1)[0])
        if wanted and wanted not in locked:
            found.append(f"{LOCK_NAME} does not hold {wanted}, which the recipe requires: remove the lock and build")
    if system.packages is not None:
        installed = {_normalise(path.name.split("-")[0]) for path in system.packages.glob("*.dist-info")}
        found += [f"{pin} is locked and not installed" for pin in sorted(locked - installed)]
    return found


def check_all(environments_dir: Path | None) -> dict[str, list[str]]:
    """Environment -> what is wrong with it."""
    return {name: check(environments_dir, name) for name, _ in find_recipes(environments_dir)}


def prune(environments_dir: Path | None) -> list[str]:
    """Remove what no environment of this workspace uses: folders of ours in the cache, images that carry our label.

    Says what went. Other workspaces of this user build theirs again from their locks.
    """
    kept: set[Path] = set()
    digests = set()
    for name, recipe in find_recipes(environments_dir):
        base = host_base(recipe.python)
        kept.add(Path(base.root).parent)
        lock = _read_lock(environments_dir, name, recipe)
        if lock is not None:
            system = _system(name, recipe, base, lock)
            digests.add(system.digest)
            if system.packages:
                kept |= {system.packages.parent, _wheels(lock)}
    gone = []
    for place in ("bases", "environments", "wheels"):
        for folder in sorted((cache_dir() / place).glob("*")):
            if folder.is_dir() and folder not in kept:
                shutil.rmtree(folder)
                gone.append(str(folder))
    gone += map(str, remove_unused())
    try:
        client = connect()
    except PrerequisiteError:
        return gone  # without an engine there are no images to look at
    with closing(client):
        return gone + remove_images(client, digests)


# locks and packages ----------------------------------------------------------------------------------------


def _resolve(recipe: Recipe, base: Base, name: str) -> str:
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
            lines.append(f"{_normalise(project)}=={version} --hash=sha256:{_sha256(wheel)}\n")
        _keep_wheels(Path(folder), "".join(lines))
        return "".join(lines)


def _install(base: Base, lock: str, packages: Path, name: str) -> None:
    wheels = _wheels(lock)
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


def _read_lock(environments_dir: Path | None, name: str, recipe: Recipe) -> str | None:
    """The lock without comments; empty where nothing is required; None where it must be made first."""
    if not recipe.requirements:
        return ""
    path = _folder(environments_dir, name) / LOCK_NAME
    if not path.is_file():
        return None
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("#"))


def _pins(lock: str) -> list[str]:
    return [line.split()[0] for line in lock.splitlines()]


def _system(name: str, recipe: Recipe, base: Base, lock: str) -> System:
    digest = digest_of([recipe.digest, base.identity, lock])
    packages = cache_dir() / "environments" / digest[:20] / "packages" if lock else None
    variables = dict(recipe.variables)
    if packages:
        variables.setdefault("PATH", f"{base.packages_at}/bin:/usr/local/bin:/usr/bin:/bin")
    image = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-") or "environment"
    return System(
        name=name,
        digest=digest,
        root=Path(base.root),
        python=base.python,
        packages=packages,
        packages_at=base.packages_at,
        image=f"benchwright/{image}:{digest[:16]}",
        variables=variables,
    )


def _status(name: str, recipe: Recipe, system: System, lock: str) -> Status:
    built = system.packages is None or system.packages.is_dir()
    size = sum(f.stat().st_size for f in system.packages.rglob("*") if f.is_file()) if built and system.packages else 0
    return Status(name, system.digest, host_base(recipe.python).identity, len(_pins(lock)), built, size)


def _folder(environments_dir: Path | None, name: str) -> Path:
    if environments_dir is None:
        raise BenchwrightError(f"the environment {name} needs a workspace", remedy="benchwright --workspace DIR ...")
    return environments_dir / name


def _wheel_parent() -> Path:
    folder = cache_dir() / "wheels"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _wheels(lock: str) -> Path:
    return _wheel_parent() / digest_of(lock)[:20]


def _keep_wheels(folder: Path, lock: str) -> None:
    with staged_directory(_wheels(lock)) as staging:
        for wheel in folder.glob("*.whl"):
            shutil.move(wheel, staging / wheel.name)


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _normalise(project: str) -> str:
    return re.sub(r"[-_.]+", "-", project).lower()


def _check_space() -> None:
    folder = _wheel_parent()
    free = shutil.disk_usage(folder).free
    if free < LOW_DISK_BYTES:
        raise InfrastructureError(
            f"only {free / 1024**3:.1f} GiB are free, {LOW_DISK_BYTES / 1024**3:.0f} are needed",
            where=str(folder),
            remedy="benchwright environments prune, or set BENCHWRIGHT_CACHE to a folder on a larger disk",
        )


def _not_built(name: str) -> PrerequisiteError:
    return PrerequisiteError(f"the environment {name} is not built", remedy=f"benchwright environments build {name}")
