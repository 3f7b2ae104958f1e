"""``runner/``: the toolkit that scores this release, as exactly as it was when the release was made.

benchwright-VERSION-py3-none-any.whl   the toolkit itself
requirements.lock                      what it needs, exact versions with hashes and no index's address
runner.json                            versions of toolkit and protocols, environments by digest
README.md                              ten lines from nothing to a score; the card's section Scoring says the same

The wheel is put together from the files that run here, so it needs neither a checkout nor a build tool nor a network;
equal files give equal bytes everywhere (nothing is compressed: that would differ between zlib's versions).
"""

from __future__ import annotations

import base64
import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping
from importlib import metadata
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any

from ...core.config import Config
from ...core.errors import PrerequisiteError
from ...core.files import atomic_write
from ...core.workspace import Workspace
from ...validators.recipes import FILE_NAME, read_recipe
from ..evaluation.scores import PROTOCOLS
from .compile import Compiled

__all__ = ["scoring", "toolkit_wheel", "wheel_name", "write_runner"]

DISTRIBUTION = "benchwright"
STAGES = ("annotation", "core", "curation", "export", "validators")
FIRST_DAY = (1980, 1, 1, 0, 0, 0)
"""The date of every file in the wheel: a zip knows no earlier one."""
WHEEL = "Wheel-Version: 1.0\nGenerator: benchwright\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
DESCRIBED = ("entry_points.txt", "top_level.txt")


def write_runner(workspace: Workspace, compiled: Compiled, folder: Path) -> None:
    """Write the four files into ``folder``.

    Raises:
        PrerequisiteError: benchwright is not installed here, so that no wheel can be made of it.
    """
    name, wheel = wheel_name(), toolkit_wheel()
    atomic_write(folder / name, wheel)
    lock = files(f"{__name__.partition('.')[0]}.export") / "data" / "evaluator.lock"
    atomic_write(folder / "requirements.lock", lock.read_bytes())
    about = {
        "schema_version": 1,
        "toolkit": {
            "version": _distribution().version,
            "wheel": name,
            "sha256": hashlib.sha256(wheel).hexdigest(),
            "python": _distribution().metadata["Requires-Python"],
        },
        "protocols": PROTOCOLS,
        "environments": list(_environments(workspace, compiled)),
    }
    atomic_write(folder / "runner.json", json.dumps(about, indent=2) + "\n")
    config = workspace.config
    atomic_write(folder / "README.md", f"# {config.name} {config.version}: from here to a score\n\n{scoring(config)}\n")


def _environments(workspace: Workspace, compiled: Compiled) -> Iterator[dict[str, Any]]:
    """Each environment that rows name: its recipe, and the digests of the builds that rows were verified in."""
    verified: dict[str, set[str]] = {}
    for rows in compiled.splits.values():
        for row in rows:
            if row.environment:
                verified.setdefault(row.environment, set()).update(filter(None, [row.environment_digest]))
    for name, digests in sorted(verified.items()):
        path = workspace.environments_dir / name / FILE_NAME
        recipe = read_recipe(workspace.environments_dir, name)
        yield {
            "name": name,
            # without a file it is the toolkit's own standard environment
            "recipe": f"environments/{name}/{FILE_NAME}" if path.is_file() else None,
            "recipe_digest": recipe.digest,
            "base": recipe.base,
            "verified_digests": sorted(digests),
        }


def scoring(config: Config) -> str:
    """What leads somebody who has nothing of ours from the Hub (or the release's folder) to a score."""
    local = config.name
    steps = ["python3 -m venv venv"]
    if config.hub.repository:
        steps += [
            "venv/bin/pip install huggingface_hub",
            f"venv/bin/hf download {config.hub.repository} --repo-type dataset --revision v{config.version} "
            f"--local-dir {local}",
        ]
    steps += [
        f"venv/bin/pip install --require-hashes -r {local}/runner/requirements.lock",
        f"venv/bin/pip install --no-deps {local}/runner/{wheel_name()}",
        f"venv/bin/benchwright evaluate {local} predictions.jsonl -o run",
        "venv/bin/benchwright report run",
    ]
    folder = "" if config.hub.repository else f" `{local}` is this release's folder."
    return (
        "You need Linux, Python 3.11 or newer, and Docker (or add `--sandbox bubblewrap`)." + folder + "\n"
        'In `predictions.jsonl` there is a line for each example: `{"github_id": 1, "id": 1, "output": ["answer"]}`.\n'
        "\n```bash\n" + "\n".join(steps) + "\n```"
    )


# the wheel -------------------------------------------------------------------------------------------------


def wheel_name() -> str:
    """The wheel's file name, as https://packaging.python.org/specifications/binary-distribution-format has it.

    Raises:
        PrerequisiteError: benchwright is not installed here.
    """
    return f"{_stem()}-py3-none-any.whl"


def toolkit_wheel() -> bytes:
    """The running toolkit as a wheel, from an installed package or an editable checkout alike.

    Raises:
        PrerequisiteError: benchwright is not installed here.
    """
    about = f"{_stem()}.dist-info"
    contents = {f"{DISTRIBUTION}/{path}": data for path, data in _sources()}
    contents |= {f"{about}/{path}": data for path, data in _description().items()}
    contents[f"{about}/RECORD"] = _record(contents, f"{about}/RECORD")
    target = BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for path, data in contents.items():
            entry = zipfile.ZipInfo(path, FIRST_DAY)
            entry.external_attr = 0o100644 << 16
            entry.create_system = 3  # Unix: the permissions above count
            archive.writestr(entry, data)
    return target.getvalue()


def _distribution() -> metadata.Distribution:
    try:
        return metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError as error:
        raise PrerequisiteError(
            "a release carries the toolkit that made it, and this one runs without being installed",
            remedy="pip install 'benchwright[release]', or in a checkout: pip install -e '.[release]'",
        ) from error


def _stem() -> str:
    return f"{DISTRIBUTION}-{_distribution().version.replace('-', '_')}"


def _sources() -> Iterator[tuple[str, bytes]]:
    root = Path(__file__).parents[2]
    for stage in STAGES:
        for path in sorted((root / stage).rglob("*")):
            place = path.relative_to(root)
            hidden = any(part.startswith(".") or part == "__pycache__" for part in place.parts)
            if path.is_file() and not hidden and path.suffix != ".pyc":
                yield place.as_posix(), path.read_bytes()


def _description() -> dict[str, bytes]:
    """What the installation knows of the package: metadata, commands, licence."""
    installed = _distribution()
    text = installed.read_text("METADATA") or installed.read_text("PKG-INFO") or ""
    found = {"METADATA": text.encode(), "WHEEL": WHEEL.encode()}
    for name in DESCRIBED:
        if text := installed.read_text(name) or "":
            found[name] = text.encode()
    for file in installed.files or ():
        if "licenses" in file.parts and file.parts[0].endswith(".dist-info"):
            found["/".join(file.parts[1:])] = file.read_binary()
    return found


def _record(contents: Mapping[str, bytes], own: str) -> bytes:
    lines = []
    for path, data in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(data)}\n")
    return ("".join(lines) + f"{own},,\n").encode()
