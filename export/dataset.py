"""The rows of a release: accepted tasks, in the order of the membership lists, with their provenance."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from ..core.errors import BenchwrightError
from ..core.files import canonical_json
from ..core.models import Evidence, Example, Repository
from ..core.tasks import TaskFolder, load_tasks, read_evidence
from ..core.workspace import Workspace
from .rows import Key, Row
from .splits import is_train, read_split, split_names

__all__ = ["Compiled", "compile_rows"]


@dataclass(frozen=True)
class Compiled:
    """Everything of a release that comes from the tasks."""

    splits: dict[str, list[Row]]
    """``full`` first: what its list names, and every example that no train list names; then each list's own."""
    tasks: list[TaskFolder]
    """Tasks with at least one example that stands."""
    repositories: list[Repository]
    """The repositories of these tasks, in the registry's order."""
    yanked: dict[Key, str]
    """Withdrawn examples, each with the reason."""


def compile_rows(workspace: Workspace) -> Compiled:
    """Make the rows of every split from the tasks on disk.

    Raises:
        BenchwrightError: there are no examples, two have one number, a task's repository is not registered, or a
            list names an example that is not there.
    """
    folders = load_tasks(workspace)
    registry = {item.name: item for item in workspace.repositories()}
    rows: dict[str, Row] = {}
    withdrawn: dict[str, tuple[Key, str]] = {}
    for item in folders:
        _check_repository(item, registry)
        evidence = read_evidence(item.folder)
        for example in item.examples:
            name = f"{item.task.repository.name}/{example.id}"
            if name in rows or name in withdrawn:
                raise BenchwrightError(f"the example {name} stands twice", where=str(item.folder / "examples.jsonl"))
            if example.yanked is not None:
                withdrawn[name] = (_number(registry, item), example.id), example.yanked
            else:
                _require_license(workspace, item, registry[item.task.repository.name])
                rows[name] = _row(workspace, item, example, registry[item.task.repository.name], evidence)
    if not rows:
        raise BenchwrightError(
            "there is no example to release",
            where=str(workspace.tasks_dir),
            remedy="benchwright annotate pull, or benchwright tasks import DATASET",
        )
    names = list(dict.fromkeys(["full", *split_names(workspace)]))
    trained = {item for name in names if is_train(name) for item in read_split(workspace, name)}
    splits = {name: _members(workspace, name, rows, withdrawn, trained) for name in names}
    standing = [item for item in folders if any(example.yanked is None for example in item.examples)]
    used = {item.task.repository.name for item in standing}
    return Compiled(splits, standing, [r for r in registry.values() if r.name in used], dict(withdrawn.values()))


def _number(registry: dict[str, Repository], item: TaskFolder) -> int:
    number = registry[item.task.repository.name].github_id
    assert number is not None  # checked before
    return number


def _check_repository(item: TaskFolder, registry: dict[str, Repository]) -> None:
    reference = item.task.repository
    known = registry.get(reference.name)
    if known is None or known.github_id is None:
        raise BenchwrightError(
            f"its repository {reference.name} is not registered" if known is None else "its repository has no number",
            where=str(item.folder / "task.toml"),
            remedy=f"benchwright repos add {reference.url} --commit {reference.commit}",
        )
    if reference.github_id not in (None, known.github_id):
        raise BenchwrightError(
            f"it says github_id {reference.github_id}, the registry says {known.github_id} for {reference.name}",
            where=str(item.folder / "task.toml"),
        )


def _require_license(workspace: Workspace, item: TaskFolder, repository: Repository) -> None:
    """Text is passed on where the licence is known and on the list; else it must be found in the repository again."""
    license = repository.license
    if license is None:
        raise BenchwrightError(
            f"the licence of {repository.name} is not known, so its text cannot be redistributed",
            where=str(workspace.repositories_path),
            remedy='write its SPDX id as license = "...", or LicenseRef-NAME where it has none',
        )
    if license not in workspace.config.redistributable_licenses and item.oracle and item.task.source is None:
        raise BenchwrightError(
            f"the licence {license} of {repository.name} is not on the list of those that may be redistributed, and "
            "the place of this text in the repository is not known",
            where=str(item.folder / "oracle.md"),
            remedy=f"read the licence; then add it to redistributable_licenses in {workspace.config_path.name}",
        )


def _members(
    workspace: Workspace, name: str, rows: dict[str, Row], withdrawn: Collection[str], trained: Collection[str]
) -> list[Row]:
    listed = read_split(workspace, name)
    unknown = [item for item in listed if item not in rows and item not in withdrawn]
    if unknown:
        raise BenchwrightError(
            f"it lists {len(unknown)} examples that are not there: {', '.join(unknown[:5])}",
            where=str(workspace.splits_dir / f"{name}.txt"),
            remedy="remove these lines, or bring the tasks back",
        )
    members = [rows[item] for item in listed if item in rows]
    if name != "full":
        if not members:
            raise BenchwrightError(
                "no example of it stands, and an empty split cannot be loaded",
                where=str(workspace.splits_dir / f"{name}.txt"),
                remedy="remove the list, or put examples into it",
            )
        return members
    taken = {*listed, *trained}
    return members + sorted((row for item, row in rows.items() if item not in taken), key=lambda row: row.key)


def _row(
    workspace: Workspace, item: TaskFolder, example: Example, repository: Repository, evidence: Iterable[Evidence]
) -> Row:
    task = item.task
    assert repository.github_id is not None  # checked before
    gold = [line for line in evidence if line.control == "gold" and line.example_id == example.id]
    latest = gold[-1] if gold and gold[-1].outcome.passed else None
    text = example.arguments_text
    license = repository.license
    return Row(
        github_id=repository.github_id,
        github=task.repository.url,
        repo_id=example.id if example.repo_id is None else example.repo_id,
        path=task.path,
        arguments=canonical_json(example.arguments) if text is None else text,
        instruction=example.instruction,
        oracle=item.oracle if license in workspace.config.redistributable_licenses else "",
        type=example.type,
        id=example.id,
        prefix_code=example.prefix_code,
        output=example.output,
        commit=task.repository.commit,
        license=license,
        source_path=task.source.path if task.source else None,
        start_line=task.source.start_line if task.source else None,
        end_line=task.source.end_line if task.source else None,
        blob=task.source.blob if task.source else None,
        task_id=task.id,
        environment=task.environment or repository.environment or workspace.config.environment,
        environment_digest=latest.environment_digest if latest else None,
        verified_at=latest.at if latest else None,
        evidence_digest=latest.digest if latest else None,
    )
