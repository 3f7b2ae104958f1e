"""Building a release folder: everything or nothing, and equal bytes for equal tasks.

README.md               the card; composition.csv and composition.html: what it consists of
data/SPLIT-….parquet    the default configuration
repositories/           each document once; retrieval/: the passage of each example; denormalized/: on demand
tasks.jsonl             what an evaluator needs to know of each task: entry point, limits, environment
check.json              what the rules of check found, and which errors were let pass, with the reason
withdrawn.jsonl         examples that were withdrawn, with the reason
repositories.toml       pins and licences
environments/           recipes of the environments
runner/                 the toolkit that scores it, and ten lines that lead to a score
annotations/            guideline, labels and agreement, where people annotated
splits/, croissant.json, eval.yaml, CITATION.cff, CHANGELOG.md, THIRD_PARTY_LICENSES, canary.txt, SHA256SUMS
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core.config import Config
from ...core.errors import BenchwrightError, require_extra
from ...core.files import atomic_write, canonical_json, staged_directory
from ...core.progress import Reporter
from ...core.workspace import Workspace
from ...validators.checks import Guarded, guard_workspace
from ..checksums import SUMS, write_sums
from ..dataset import Dataset
from .about import canary_text, citation, leaderboard, write_annotations
from .border import Crossings, crossings
from .card import Part, card_text
from .changelog import changelog_text
from .compile import Compiled, compile_rows
from .composition import Composition, compose
from .composition_page import composition_page
from .croissant import croissant_text
from .joining import join
from .licenses import contradiction, license_texts, may_pass_on
from .parquet import ROW_DTYPES, write_parquet
from .previous import kept_metadata, previous_release, require_canary
from .repositories import DOCUMENT_DTYPES, document_rows
from .retrieval import RETRIEVAL_DTYPES, Passages
from .runner import write_runner
from .splits import check_split_name
from .trees import Trees, local_tree

__all__ = ["Built", "build_release"]


@dataclass(frozen=True)
class Built:
    """A finished release folder."""

    folder: Path
    version: str
    splits: dict[str, int]
    tasks: int
    repositories: int
    yanked: int
    digest: str
    """SHA-256 of SHA256SUMS: one value for the whole content."""
    unverified: tuple[str, ...]
    """Examples whose output is not known to have passed with what stands now: ``TASK ID``."""
    without_text: tuple[str, ...]
    """Repositories that were not on this machine, so that their documents are named without their text."""
    doubtful_licenses: tuple[str, ...]
    """Where the registry and the licence file at the pin say different things."""
    crossings: Crossings
    """What stands on both sides of the border, where that was allowed."""
    checked: Guarded
    """What the rules of ``check`` found and did not stop it."""


def build_release(
    workspace: Workspace,
    folder: Path | None = None,
    mirrors: Sequence[str] = (),
    *,
    denormalized: bool = False,
    allow_overlap: bool = False,
    previous: str | None = None,
    accept: Sequence[str] = (),
    reporter: Reporter | None = None,
) -> Built:
    """Build the release of ``workspace`` into ``folder`` (default ``releases/VERSION``), replacing it at the end.

    Documents are read from ``mirrors`` and the workspace's clones, without network. ``denormalized`` adds a
    configuration of that name, with each row's whole document and passage. ``allow_overlap`` builds although tasks or
    near-duplicates stand on both sides of the border between training and measuring; the card then says so.
    ``previous`` is the release to tell the changes from (default: the newest older one below ``releases/``).
    ``accept`` names rules of ``check`` whose errors are let pass, beside those that benchwright.toml lets pass.

    Keys of an existing card's metadata that are not computed here are kept.

    Raises:
        BenchwrightError: something in the tasks, splits or licences stands against a release (it is named);
            ``folder`` is then as it was.
        PrerequisiteError: the extra ``release`` is not installed, or the toolkit itself, which a release carries.
    """
    require_extra("release", "pandas", "quicktok", "rensa", "punkt")
    target = (folder or workspace.root / "releases" / workspace.config.version).resolve()
    _refuse_foreign(target)
    with Trees(workspace.clones_dir, mirrors) as trees, staged_directory(target) as stage:
        making = _Making(workspace, stage, trees, require_canary(workspace), compile_rows(workspace, trees))
        found = crossings(making.compiled.splits)
        if not allow_overlap:
            found.refuse(
                str(workspace.splits_dir),
                "remove the training lists and run benchwright release split, which keeps them apart; "
                "or build all the same with --allow-overlap, and the card says so",
            )
        checked = guard_workspace(
            workspace,
            lambda repository: local_tree(repository, workspace.clones_dir, mirrors),
            [*accept, *(["BW403"] if allow_overlap else [])],
            reporter,
        )
        before = previous_release(workspace, previous)
        making.write_data(denormalized=denormalized)
        making.write_texts(before, checked)
        making.write_descriptions(kept_metadata(target, before), found)
        return making.finished(target, write_sums(stage), found, checked)


def _refuse_foreign(target: Path) -> None:
    """A folder that is no release is never replaced."""
    if target.exists() and not (target.is_dir() and ((target / SUMS).is_file() or not any(target.iterdir()))):
        raise BenchwrightError(
            "there is something that is no release", where=str(target), remedy="name another folder with -o"
        )


class _Making:
    """A release folder while it is written into ``stage``."""

    def __init__(self, workspace: Workspace, stage: Path, trees: Trees, canary: str, compiled: Compiled) -> None:
        self.workspace = workspace
        self.config: Config = workspace.config
        self.stage = stage
        self.trees = trees
        self.canary = canary
        self.compiled = compiled
        self.dtypes: dict[str, dict[str, str]] = {}
        self.parts: list[Part] = []
        self.composition: Composition | None = None

    # data --------------------------------------------------------------------------------------------------

    def write_data(self, *, denormalized: bool) -> None:
        """Every configuration, as Parquet."""
        passages = Passages(self.workspace, self.compiled.repositories, self.trees)
        for name, rows in self.compiled.splits.items():
            check_split_name(name)
            self._write("default", name, ROW_DTYPES, (row.values() for row in rows))
        self._write_documents()
        for name, rows in self.compiled.splits.items():
            self._write("retrieval", name, RETRIEVAL_DTYPES, passages.rows(rows))
        if denormalized:
            for name in self.compiled.splits:
                dtypes = {**ROW_DTYPES, "document": "large_string", "segment": "large_string"}
                self._write("denormalized", name, dtypes, join(self._dataset(), name, fetch=False))

    def _write(self, config: str, split: str, dtypes: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> None:
        path = self.stage / ("data" if config == "default" else config) / f"{split}-00000-of-00001.parquet"
        count, size = write_parquet(path, dtypes, rows, self.canary)
        self.dtypes[config] = dict(dtypes)
        name = path.relative_to(self.stage).as_posix()
        self.parts.append(Part(config, split, name, count, size, path.stat().st_size))

    def _dataset(self) -> Dataset:
        files: dict[str, tuple[Path, ...]] = {
            part.split: (self.stage / part.path,) for part in self.parts if part.config == "default"
        }
        return Dataset(str(self.stage), self.stage, files)

    def _write_documents(self) -> None:
        """The ``repositories`` configuration; what the composition needs of it is measured on the way."""
        paths: dict[str, set[str]] = {}
        for item in self.compiled.tasks:
            if item.task.source is not None:
                paths.setdefault(item.task.repository.name, set()).add(item.task.source.path)
        rows: list[dict[str, Any]] = []
        for repository in self.compiled.repositories:
            named = sorted(paths.get(repository.name, ()))
            rows.extend(document_rows(repository, self.trees.of(repository), named))
        oracles = {item.task.id: item.oracle for item in self.compiled.tasks}
        self.composition = compose(self.compiled, rows, oracles)
        allowed = {item.name for item in self.compiled.repositories if may_pass_on(self.workspace, item)}
        passed_on = (row if row["repository"] in allowed else {**row, "text": None} for row in rows)
        self._write("repositories", "full", DOCUMENT_DTYPES, passed_on)

    # texts -------------------------------------------------------------------------------------------------

    def write_texts(self, previous: Dataset | None, checked: Guarded) -> None:
        """What is copied from the workspace, and the small files."""
        shutil.copyfile(self.workspace.repositories_path, self.stage / "repositories.toml")
        for source in (self.workspace.environments_dir, self.workspace.splits_dir):
            _copy_files(source, self.stage / source.name)
        self._write_lines("tasks.jsonl", (self._task_line(item) for item in self.compiled.tasks))
        self._write_lines("check.json", [checked.value()])
        write_runner(self.workspace, self.compiled, self.stage / "runner")
        withdrawn = sorted(self.compiled.yanked.items())
        if withdrawn:
            lines = ({"github_id": key[0], "id": key[1], "reason": why} for key, why in withdrawn)
            self._write_lines("withdrawn.jsonl", lines)
        licenses = (license_texts(item, self.trees.of(item)) for item in self.compiled.repositories)
        atomic_write(self.stage / "THIRD_PARTY_LICENSES", "".join(licenses))
        atomic_write(self.stage / "canary.txt", canary_text(self.config.name, self.canary))
        atomic_write(self.stage / "CITATION.cff", citation(self.config))
        atomic_write(self.stage / "eval.yaml", leaderboard(self.config, list(self.compiled.splits)))
        atomic_write(self.stage / "CHANGELOG.md", changelog_text(self.config, previous, self._dataset()))

    def _write_lines(self, name: str, values: Iterable[Mapping[str, Any]]) -> None:
        atomic_write(self.stage / name, "".join(f"{canonical_json(value)}\n" for value in values))

    def _task_line(self, item: Any) -> dict[str, Any]:
        fields = item.task.model_dump(
            mode="json",
            include={"type", "path", "entry_point", "environment", "network", "success", "limits"},
            exclude_none=True,
        )
        limits = item.task.limits or self.config.limits
        return {"task_id": item.task.id, **fields, "limits": limits.model_dump(mode="json")}

    # descriptions ------------------------------------------------------------------------------------------

    def write_descriptions(self, kept: Mapping[str, Any], found: Crossings) -> None:
        """Card, composition, annotations and Croissant."""
        assert self.composition is not None
        agreement = write_annotations(self.workspace, self.stage / "annotations")
        atomic_write(self.stage / "composition.csv", self.composition.table().to_csv(lineterminator="\n"))
        atomic_write(self.stage / "composition.html", composition_page(self.config.name, self.composition))
        card = card_text(self.config, self.dtypes, self.parts, self.compiled, self.composition, agreement, found, kept)
        atomic_write(self.stage / "README.md", card)
        croissant = croissant_text(self.config, self.stage, self.dtypes, self.parts, self.compiled, agreement)
        atomic_write(self.stage / "croissant.json", croissant)

    def finished(self, target: Path, digest: str, found: Crossings, checked: Guarded) -> Built:
        """What was built, to be told."""
        repositories = self.compiled.repositories
        doubts = (contradiction(item, self.trees.of(item)) for item in repositories)
        return Built(
            target,
            self.config.version,
            {name: len(rows) for name, rows in self.compiled.splits.items()},
            len(self.compiled.tasks),
            len(repositories),
            len(self.compiled.yanked),
            digest,
            tuple(f"{row.task_id} {row.id}" for row in self.compiled.splits["full"] if row.verified_at is None),
            tuple(item.name for item in repositories if self.trees.of(item) is None),
            tuple(doubt for doubt in doubts if doubt is not None),
            found,
            checked,
        )


def _copy_files(source: Path, copy: Path) -> None:
    for path in sorted(source.rglob("*")):
        if path.is_file() and not path.is_symlink():
            place = copy / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
