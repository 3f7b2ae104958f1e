"""Environments: from a recipe to a locked, built, read-only system that every sandbox sees alike.

Comes in: ``environments/NAME/environment.toml``. Goes out: ``requirements.lock``, ``system-packages.txt`` and
``Dockerfile`` beside it (kept in git), and in the cache a folder named by digest with the installed packages, the
assets and the build log. Wheels are resolved and fetched outside and installed without network; no package's code
runs while it is installed. The Docker image is built by that Dockerfile from the same folder when a Docker sandbox
first needs it (``sandbox/images.py``). What was pulled from a registry instead is in ``published.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from ..core.errors import BenchwrightError, InfrastructureError, PrerequisiteError
from ..core.files import atomic_write, digest_of, staged_directory
from ..core.progress import Reporter
from ..core.workspace import cache_dir
from .assets import place_assets
from .bases import Base, open_base
from .packages import check_space, fetch, install, normalise, pins, resolve, unpacked_bytes
from .published import pulled_system
from .recipes import Recipe, find_recipes, read_recipe
from .sandbox.contract import System
from .sandbox.images import LAYERS_NAME, dockerfile

__all__ = [
    "Status", "build", "build_many", "check", "check_all", "environment_folder", "open_system", "read_lock", "statuses",
    "system_of",
]  # fmt: skip

LOCK_NAME = "requirements.lock"
SYSTEM_LOCK_NAME = "system-packages.txt"
LOCK_HEADER = "# made by `benchwright environments build`; remove it to resolve anew\n"
RESOLVE_BYTES = 2 * 1024**3
"""Free space that resolving asks for, while nobody knows yet what the wheels come to."""


@dataclass(frozen=True)
class Status:
    """One environment as ``environments list`` shows it."""

    name: str
    digest: str
    """Empty where there is no lock or no base yet."""
    base: str
    packages: int
    """Distributions in the lock."""
    built: bool
    bytes: int
    gpus: int = 0


def open_system(environments_dir: Path | None, name: str) -> System:
    """The built environment, or the one pulled for this recipe and lock.

    Raises:
        PrerequisiteError: it has not been built.
        BenchwrightError: there is no such environment, or its recipe is wrong.
    """
    recipe = read_recipe(environments_dir, name)
    lock = read_lock(environments_dir, name, recipe)
    if lock is None:
        raise _not_built(name)
    if environments_dir and (pulled := pulled_system(environments_dir / name, name, recipe, lock)):
        return pulled
    # the base 'host' takes seconds and nothing but this machine, so it need not have been asked for
    base = open_base(recipe, str(_where(environments_dir, name)), make=recipe.base == "host")
    if base is None:
        raise _not_built(name)
    system = system_of(name, recipe, base, lock)
    if not _is_built(system):
        raise _not_built(name)
    return system


def build(environments_dir: Path | None, name: str, reporter: Reporter, *, record: bool = True) -> Status:
    """Build one environment; what is there already is left alone. The lock is made if there is none.

    With ``record``, Dockerfile and system packages are written beside the recipe, to be kept in git; without it a
    release that carries the recipe stays as it was built.

    Raises:
        PrerequisiteError: pip, uv, mmdebstrap or the engine is missing where the recipe needs it.
        InfrastructureError: there is too little disk space, or an asset or image cannot be fetched.
        BenchwrightError: requirements cannot be resolved to wheels (the end of the log is shown, the log named).
    """
    recipe = read_recipe(environments_dir, name)
    lock = read_lock(environments_dir, name, recipe)
    if lock is not None and environments_dir and (pulled := pulled_system(environments_dir / name, name, recipe, lock)):
        return _status(name, recipe, pulled, lock)
    if recipe.base != "host":
        reporter.say(f"{name}: the base {recipe.base}")
    base = open_base(recipe, str(_where(environments_dir, name)))
    assert base is not None
    if lock is None:
        check_space(RESOLVE_BYTES, "resolving")
        reporter.say(f"{name}: resolving {len(recipe.requirements)} requirements")
        lock = resolve(recipe, base, name)
        atomic_write(_folder(environments_dir, name) / LOCK_NAME, LOCK_HEADER + lock)
    system = system_of(name, recipe, base, lock)
    if not _is_built(system):
        reporter.say(f"{name}: installing {len(pins(lock))} packages")
        _fill(recipe, base, lock, system)
    folder = _folder(environments_dir, name) if environments_dir and record else None
    if folder is not None and folder.is_dir():
        atomic_write(folder / "Dockerfile", dockerfile(system))
        packages = Path(base.root).parent / "packages.txt"
        if packages.is_file():
            atomic_write(folder / SYSTEM_LOCK_NAME, packages.read_bytes())
    return _status(name, recipe, system, lock)


def _fill(recipe: Recipe, base: Base, lock: str, system: System) -> None:
    fetch(lock, base, system.name)
    check_space(unpacked_bytes(lock, base), f"the environment {system.name}")
    folder = environment_folder(system.digest)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if folder.is_dir():
            return  # another process was faster
        with staged_directory(folder) as staging:
            log, large = install(base, lock, staging / "packages", system.name) if lock else ("", [])
            if recipe.assets:
                place_assets(recipe.assets, staging / "assets")
            atomic_write(staging / LAYERS_NAME, "".join(f"{path}\n" for path in large))
            atomic_write(staging / "build.log", log)


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


def statuses(environments_dir: Path | None) -> Iterator[Status]:
    """Every environment, built or not; nothing is made."""
    for name, recipe in find_recipes(environments_dir):
        yield _status_of(environments_dir, name, recipe)


def _status_of(environments_dir: Path | None, name: str, recipe: Recipe) -> Status:
    lock = read_lock(environments_dir, name, recipe)
    unknown = Status(name, "", recipe.base, len(pins(lock or "")), False, 0, recipe.gpus)
    if lock is None:
        return unknown
    if environments_dir and (pulled := pulled_system(environments_dir / name, name, recipe, lock)):
        return _status(name, recipe, pulled, lock)
    try:
        base = open_base(recipe, "", make=recipe.base == "host")
    except BenchwrightError:  # this machine lacks the Python; building says so
        return unknown
    return _status(name, recipe, system_of(name, recipe, base, lock), lock) if base else unknown


def check(environments_dir: Path | None, name: str) -> list[str]:
    """What is wrong with a built environment: one sentence for each, none where all is well."""
    try:
        system = open_system(environments_dir, name)
    except PrerequisiteError as error:
        return [error.message]
    recipe = read_recipe(environments_dir, name)
    lock = read_lock(environments_dir, name, recipe) or ""
    found = []
    locked = {pin.partition("==")[0] for pin in pins(lock)}
    for requirement in recipe.requirements:
        wanted = normalise(re.split(r"[^A-Za-z0-9._-]", requirement.strip(), maxsplit=1)[0])
        if wanted and wanted not in locked:
            found.append(f"{LOCK_NAME} does not hold {wanted}, which the recipe requires: remove the lock and build")
    packages = system.packages or Path(f"{system.root}{system.packages_at}")
    if lock:
        installed = {normalise(path.name.split("-")[0]) for path in packages.glob("*.dist-info")}
        found += [f"{pin} is locked and not installed" for pin in sorted(locked - installed)]
    return found


def check_all(environments_dir: Path | None, names: Sequence[str] = ()) -> dict[str, list[str]]:
    """Environment (those named, or all) -> what is wrong with it."""
    wanted = names or [name for name, _ in find_recipes(environments_dir)]
    return {name: check(environments_dir, name) for name in wanted}


# locks and places ------------------------------------------------------------------------------------------


def read_lock(environments_dir: Path | None, name: str, recipe: Recipe) -> str | None:
    """The lock without comments; empty where nothing is required; None where it must be made first."""
    if not recipe.requirements:
        return ""
    path = _folder(environments_dir, name) / LOCK_NAME
    if not path.is_file():
        return None
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("#"))


def environment_folder(digest: str) -> Path:
    """Where an environment lies in the cache: built, or pulled."""
    return cache_dir() / "environments" / digest[:20]


def system_of(name: str, recipe: Recipe, base: Base, lock: str) -> System:
    """The system that the recipe, its base and its lock come to, built or not."""
    digest = digest_of([recipe.digest, base.identity, lock])
    folder = environment_folder(digest)
    variables = dict(recipe.variables)
    if lock:
        variables.setdefault("PATH", f"{base.packages_at}/bin:/usr/local/bin:/usr/bin:/bin")
    image = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-") or "environment"
    return System(
        name=name,
        digest=digest,
        root=Path(base.root),
        python=base.python,
        packages=folder / "packages" if lock else None,
        packages_at=base.packages_at,
        image=f"benchwright/{image}:{digest[:16]}",
        variables=variables,
        base=base.identity,
        base_image=base.image,
        path_file=base.path_file,
        assets=folder / "assets" if recipe.assets else None,
        gpus=recipe.gpus,
    )


def _is_built(system: System) -> bool:
    return (system.packages is None and system.assets is None) or environment_folder(system.digest).is_dir()


def _status(name: str, recipe: Recipe, system: System, lock: str) -> Status:
    built = _is_built(system)
    size = sum(f.stat().st_size for f in system.packages.rglob("*") if f.is_file()) if built and system.packages else 0
    return Status(name, system.digest, system.base, len(pins(lock)), built, size, recipe.gpus)


def _folder(environments_dir: Path | None, name: str) -> Path:
    if environments_dir is None:
        raise BenchwrightError(f"the environment {name} needs a workspace", remedy="benchwright --workspace DIR ...")
    return environments_dir / name


def _where(environments_dir: Path | None, name: str) -> Path | str:
    return environments_dir / name if environments_dir else f"environment {name}"


def _not_built(name: str) -> PrerequisiteError:
    return PrerequisiteError(f"the environment {name} is not built", remedy=f"benchwright environments build {name}")
