"""Harbor tasks: one folder for each example, so that agents are run by the field's own harness.

``tasks/NAME/``  task.toml, instruction.md, solution/, tests/     (the shape ``harbor run`` and ``harbor lint`` read)
``images/``      a Dockerfile for each repository and environment, its tree, and the runner that verifies
``dataset.toml`` the tasks with their content digests, as ``harbor sync`` computes them

An agent works in the repository's tree at the pin and leaves ``answer.sh`` or ``answer.py`` in ``/logs/artifacts``.
The verifier is another, fresh container of the same image with the task's tests, without network; the toolkit in it
applies the strict protocol (``export/harbor_verifier.py``).
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomlkit

from ..core import toolkit_version
from ..core.errors import BenchwrightError
from ..core.files import atomic_write, digest_of, staged_directory
from ..core.progress import Reporter
from ..core.workspace import cache_dir
from .chat import fenced
from .dataset import Dataset
from .evaluation.settings import Setting, repository_names, settings_of
from .rows import Row

if TYPE_CHECKING:
    from ..validators.sandbox import System

__all__ = ["HarborExport", "content_digest", "export_harbor"]

SCHEMA = "1.4"
"""Version of Harbor's task format that this writes."""
AGENT_TIMEOUT_S = 1800.0
VERIFIER_SPARE_S = 120.0
"""For the verifier's own start, beside the script's limit."""
ANSWERS = {"Bash Script": "answer.sh", "Python Code": "answer.py"}
RUNNER_FOLDERS = ("annotation", "core", "curation", "validators", "export")
RUNNER_DISTRIBUTIONS = (
    "annotated-types", "filelock", "platformdirs", "pydantic", "pydantic_core", "PyYAML", "tomlkit", "tree-sitter",
    "tree-sitter-bash", "tree-sitter-python", "typing_extensions", "typing-inspection",
)  # fmt: skip
"""What the verifier imports; a test runs it with these alone."""


@dataclass(frozen=True)
class HarborExport:
    """What was written."""

    folder: Path
    tasks: int
    images: tuple[str, ...]
    built: bool

    def value(self) -> dict[str, Any]:
        return {"folder": str(self.folder), "tasks": self.tasks, "images": list(self.images), "built": self.built}


@dataclass(frozen=True)
class _Image:
    """The image of one repository in one environment, with the runner beside it."""

    name: str
    tag: str
    setting: Setting
    system: System


def export_harbor(
    dataset: Dataset,
    folder: Path,
    *,
    split: str | None = None,
    limit: int | None = None,
    environments_dir: Path | None = None,
    build: bool = False,
    mirrors: Sequence[str] = (),
    reporter: Reporter,
) -> HarborExport:
    """Write the tasks of a split (default: the main one) into the new folder; with ``build`` make their images too.

    Raises:
        BenchwrightError: ``folder`` is not empty, a repository cannot be had, or an environment's Python is not the
            one this runs with (the runner is copied from here).
        PrerequisiteError: an environment is not built, or no Docker engine answers.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise BenchwrightError("there is something already", where=str(folder), remedy="name a new folder with -o")
    rows = list(dataset.rows(split or dataset.main_split()))[:limit]
    settings = settings_of(dataset, rows, repository_names(dataset, rows))
    environments = environments_dir or (dataset.folder / "environments" if dataset.folder else None)
    title = _slug(_title(dataset))
    with staged_directory(folder.resolve()) as stage:
        _write_runner(stage / "images" / "runner")
        runner = content_digest(stage / "images" / "runner")
        images = _images([settings[row.key] for row in rows], environments, runner)
        _write_images(stage / "images", images.values(), mirrors, reporter)
        references = []
        with reporter.track("writing tasks", len(rows)) as advance:
            for row in rows:
                setting = settings[row.key]
                name = _slug(f"{setting.repository.name}-{row.id}")
                _write_task(stage / "tasks" / name, f"{title}/{name}", row, setting, images[_key(setting)], dataset)
                references.append({"name": f"{title}/{name}", "digest": content_digest(stage / "tasks" / name)})
                advance(name)
        atomic_write(stage / "dataset.toml", _manifest(title, dataset, references))
        atomic_write(stage / "README.md", _readme(title, len(rows), images.values()))
        if build:
            _build(stage / "images", images.values(), reporter)
    return HarborExport(folder, len(rows), tuple(image.tag for image in images.values()), build)


def _title(dataset: Dataset) -> str:
    """The release's own name where its CITATION.cff gives one, else how the user named it."""
    import yaml

    path = dataset.root / "CITATION.cff" if dataset.folder else None
    fields = yaml.safe_load(path.read_text("utf-8")) if path and path.is_file() else None
    return str(fields["title"]) if isinstance(fields, dict) and fields.get("title") else Path(dataset.name).stem


def _origin(dataset: Dataset) -> str:
    """The dataset's Hub id, or the last part of its path: nothing of the machine it was made on."""
    return dataset.name if dataset.revision else Path(dataset.name).name


def _slug(text: str) -> str:
    """A name Harbor and Docker both take."""
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-._") or "benchmark"


# images ----------------------------------------------------------------------------------------------------


def _key(setting: Setting) -> tuple[str, str]:
    return setting.repository.name, setting.environment


def _images(settings: Iterable[Setting], environments_dir: Path | None, runner: str) -> dict[tuple[str, str], _Image]:
    from ..validators.environments import open_system

    found: dict[tuple[str, str], _Image] = {}
    for setting in settings:
        if _key(setting) in found:
            continue
        system = open_system(environments_dir, setting.environment)
        _check_python(system)
        name = _slug(f"{setting.repository.name}-{setting.environment}")
        made_of = [system.digest, setting.repository.url, setting.repository.commit, runner]
        tag = f"benchwright/harbor-{name}:{digest_of(made_of)[:16]}"
        found[_key(setting)] = _Image(name, tag, setting, system)
    return found


def _check_python(system: System) -> None:
    inside = system.python.rpartition("python")[2]
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    if inside != here:
        raise BenchwrightError(
            f"the environment {system.name} has Python {inside}, and the verifier would be made from Python {here}",
            where=f"environments/{system.name}",
            remedy=f"install benchwright for Python {inside} and run this with it",
        )


def _write_images(folder: Path, images: Iterable[_Image], mirrors: Sequence[str], reporter: Reporter) -> None:
    from ..curation.source import open_tree

    for image in images:
        repository = image.setting.repository
        with open_tree(repository, cache_dir() / "repositories", mirrors) as tree:
            missing = tree.materialise(folder / image.name / "repository")
        if missing:
            reporter.warn(f"{repository.name}: {len(missing)} files are absent, because no source has them")
        variables = [f"ENV {name}={json.dumps(value)}" for name, value in sorted(image.system.variables.items())]
        lines = [
            f"# {repository.url} at {repository.commit}, environment {image.system.digest}",
            f"FROM {image.system.image}",
            "COPY runner /opt/benchwright",
            f"COPY {image.name}/repository /repository",
            *variables,
            "WORKDIR /repository",
        ]
        atomic_write(folder / image.name / "Dockerfile", "\n".join(lines) + "\n")


def _write_runner(folder: Path) -> None:
    """The toolkit and what it imports, as installed here: no index is asked, and the versions are those tested."""
    root = Path(__file__).parents[1]
    for name in RUNNER_FOLDERS:
        ignored = shutil.ignore_patterns("__pycache__", "tests")
        shutil.copytree(root / name, folder / "benchwright" / name, ignore=ignored)
    versions = {"benchwright": toolkit_version()}
    for name in RUNNER_DISTRIBUTIONS:
        distribution = metadata.distribution(name)
        versions[name] = distribution.version
        for file in distribution.files or ():
            if ".." not in file.parts and file.suffix != ".pyc" and file.parts[0] != "bin":
                target = folder / Path(*file.parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(str(distribution.locate_file(file)), target)
    atomic_write(folder / "versions.json", json.dumps(versions, indent=2) + "\n")


def _build(folder: Path, images: Iterable[_Image], reporter: Reporter) -> None:
    from docker.errors import BuildError, DockerException

    from ..validators.sandbox.docker import connect
    from ..validators.sandbox.images import ensure_image

    client = connect()
    for image in images:
        ensure_image(client, image.system)
        reporter.say(f"building {image.tag}")
        try:
            client.images.build(path=str(folder), dockerfile=f"{image.name}/Dockerfile", tag=image.tag, rm=True)
        except (BuildError, DockerException) as error:
            raise BenchwrightError(f"the image {image.tag} was not built: {error}", where=image.name) from error


# tasks -----------------------------------------------------------------------------------------------------


def _write_task(folder: Path, name: str, row: Row, setting: Setting, image: _Image, dataset: Dataset) -> None:
    answer = ANSWERS[row.type]
    example = {
        "schema_version": 1,
        "row": row.values(),
        "limits": setting.limits.model_dump(mode="json"),
        "variables": dict(image.system.variables),
    }
    canary = _canary(dataset)
    atomic_write(folder / "task.toml", _config(name, row, setting, image, dataset))
    atomic_write(
        folder / "instruction.md",
        f"<!-- {canary} -->\n\n{_instruction(row, answer)}" if canary else _instruction(row, answer),
    )
    atomic_write(folder / "solution" / answer, row.output if row.output.endswith("\n") else f"{row.output}\n")
    solve = f'#!/bin/bash\nset -eu\nmkdir -p /logs/artifacts\ncp "$(dirname "$0")/{answer}" /logs/artifacts/{answer}\n'
    atomic_write(folder / "solution" / "solve.sh", solve, mode=0o755)
    atomic_write(folder / "tests" / "example.json", json.dumps(example, ensure_ascii=False, indent=2) + "\n")
    atomic_write(folder / "tests" / "Dockerfile", f"FROM {image.tag}\nCOPY . /tests\n")
    test = f"""#!/bin/bash
# No reward is written where there is no verdict, so that a failure of the machine is no zero.
set -u
export PYTHONPATH=/opt/benchwright PYTHONDONTWRITEBYTECODE=1
exec python3 -P -m benchwright.export.harbor_verifier /tests/example.json /logs/artifacts/{answer} /logs/verifier
"""
    atomic_write(folder / "tests" / "test.sh", test, mode=0o755)


def _canary(dataset: Dataset) -> str:
    path = dataset.root / "canary.txt" if dataset.folder else None
    return path.read_text("utf-8").splitlines()[0].strip() if path and path.is_file() else ""


def _config(name: str, row: Row, setting: Setting, image: _Image, dataset: Dataset) -> str:
    limits = setting.limits
    size = {
        "cpus": limits.cpus,
        "memory_mb": max(64, limits.memory_bytes // 2**20),
        "storage_mb": max(1024, 2 * limits.disk_bytes // 2**20),
    }
    fields = {
        "schema_version": SCHEMA,
        "artifacts": [f"/logs/artifacts/{ANSWERS[row.type]}"],
        "task": {"name": name, "description": row.instruction.split("\n")[0][:200], "keywords": ["machine-learning"]},
        "metadata": {
            "github_id": row.github_id,
            "id": row.id,
            "repository": row.github,
            "commit": setting.repository.commit,
            "license": row.license or "",
            "type": row.type,
            "environment_digest": image.system.digest,
            "dataset": _origin(dataset),
            "benchwright": toolkit_version(),
            "protocol": "strict",
        },
        "agent": {"timeout_sec": AGENT_TIMEOUT_S},
        "environment": {"docker_image": image.tag, "workdir": "/repository", **size},
        "verifier": {
            "timeout_sec": limits.timeout_s + VERIFIER_SPARE_S,
            "environment_mode": "separate",
            "environment": {"network_mode": "public" if setting.network else "no-network", **size},
        },
    }
    return tomlkit.dumps(fields)


def _instruction(row: Row, answer: str) -> str:
    kind = "a shell script (run by bash)" if row.type == "Bash Script" else "Python code (run by python3)"
    before = ""
    if row.prefix_code.strip():
        language = "bash" if row.type == "Bash Script" else "python"
        before = (
            f"This is put in front of your script and needs no repeating:\n\n{fenced(row.prefix_code, language)}\n\n"
        )
    return f"""{row.instruction}

The repository {row.github} lies in `/repository`. Write {kind} that does this to `/logs/artifacts/{answer}`.

{before}The script is judged by running it once, in folder `{row.path}` of a fresh copy of the repository, in
a container like this one: it must really start the program with the arguments asked for, and end with exit status 0.
What you change elsewhere in this container does not count.
"""


def content_digest(folder: Path) -> str:
    """Harbor's digest of a task: SHA-256 over the sorted relative paths and their SHA-256."""
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix()):
        if path.is_file():
            own = hashlib.sha256(path.read_bytes()).hexdigest()
            whole.update(f"{path.relative_to(folder).as_posix()}\0{own}\n".encode())
    return f"sha256:{whole.hexdigest()}"


def _manifest(title: str, dataset: Dataset, references: list[dict[str, str]]) -> str:
    fields = {
        "schema_version": "1.0",
        "dataset": {"name": f"{title}/{title}", "description": f"Made from {_origin(dataset)} by benchwright."},
        "tasks": references,
        "metadata": {"dataset_digest": dataset.digest(), "benchwright": toolkit_version(), "protocol": "strict"},
    }
    return tomlkit.dumps(fields)


def _readme(title: str, tasks: int, images: Iterable[_Image]) -> str:
    builds = "\n".join(
        f"    docker build -f {image.name}/Dockerfile -t {image.tag} .   # on top of {image.system.image}"
        for image in images
    )
    return f"""# {title}: {tasks} Harbor tasks

    harbor lint tasks/*
    harbor run --path tasks --agent oracle      # every task must give reward 1
    harbor run --path tasks --agent nop         # every task must give reward 0

The images are made by `benchwright export harbor ... --build`, or, once `benchwright environments build` has made
what they stand on, in the folder `images/` by:

{builds}

The verifier applies benchwright's strict protocol; beside `reward.txt` it leaves `benchwright.json` with the outcome.
"""
