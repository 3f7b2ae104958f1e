"""Environments: from a recipe to a locked, built, read-only system that every sandbox sees alike.

Comes in: ``environments/NAME/environment.toml``. Goes out: ``requirements.lock`` and ``Dockerfile`` beside it (kept in
git), and in the cache a folder named by digest with the installed packages and the build log. Wheels are resolved and
fetched outside and installed without network; no package's code runs while it is installed. The Docker image is made
from the same folders when a Docker sandbox first needs it (``sandbox/images.py``).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import BenchwrightError, InfrastructureError, PrerequisiteError
from ..core.files import atomic_write, digest_of
from ..core.progress import Reporter
from ..core.workspace import cache_dir
from .bases import Base, host_base
from .packages import check_space, install, normalise, pins, resolve, wheels_folder
from .recipes import Recipe, find_recipes, read_recipe
from .sandbox.contract import System
from .sandbox.docker import connect
from .sandbox.images import LABEL_ENVIRONMENT, remove_images
from .trees import remove_unused

__all__ = ["Status", "build", "build_many", "check", "check_all", "open_system", "prune", "statuses"]

LOCK_NAME = "requirements.lock"
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
        check_space()
        reporter.say(f"{name}: resolving {len(recipe.requirements)} requirements")
        lock = resolve(recipe, base, name)
        atomic_write(_folder(environments_dir, name) / LOCK_NAME, LOCK_HEADER + lock)
    system = _system(name, recipe, base, lock)
    if system.packages is not None and not system.packages.is_dir():
        check_space()
        reporter.say(f"{name}: installing {len(pins(lock))} packages")
        install(base, lock, system.packages, name)
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
    locked = {pin.partition("==")[0] for pin in pins(lock)}
    for requirement in recipe.requirements:
        wanted = normalise(re.split(r"[^A-Za-z0-9._-]", requirement.strip(), maxsplit=1)[0])
        if wanted and wanted not in locked:
            found.append(f"{LOCK_NAME} does not hold {wanted}, which the recipe requires: remove the lock and build")
    if system.packages is not None:
        installed = {normalise(path.name.split("-")[0]) for path in system.packages.glob("*.dist-info")}
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
                kept |= {system.packages.parent, wheels_folder(lock)}
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


def _read_lock(environments_dir: Path | None, name: str, recipe: Recipe) -> str | None:
    """The lock without comments; empty where nothing is required; None where it must be made first."""
    if not recipe.requirements:
        return ""
    path = _folder(environments_dir, name) / LOCK_NAME
    if not path.is_file():
        return None
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("#"))


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
    return Status(name, system.digest, host_base(recipe.python).identity, len(pins(lock)), built, size)


def _folder(environments_dir: Path | None, name: str) -> Path:
    if environments_dir is None:
        raise BenchwrightError(f"the environment {name} needs a workspace", remedy="benchwright --workspace DIR ...")
    return environments_dir / name


def _not_built(name: str) -> PrerequisiteError:
    return PrerequisiteError(f"the environment {name} is not built", remedy=f"benchwright environments build {name}")
