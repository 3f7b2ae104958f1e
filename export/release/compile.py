"""The rows of a release: accepted tasks, in the order of the membership lists, with their provenance."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass

from ...core.errors import BenchwrightError
from ...core.files import canonical_json
from ...core.models import Evidence, Example, Repository
from ...core.tasks import TaskFolder, load_tasks
from ...core.workspace import Workspace
from ...validators.controls import standings
from ..find_oracle import text_at
from ..rows import Key, Row
from .licenses import may_pass_on, require_decided
from .splits import is_train, read_split, split_names
from .trees import Trees

__all__ = ["Compiled", "Standing", "compile_rows", "standing_rows"]


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


@dataclass(frozen=True)
class Standing:
    """The examples of all tasks, by name: ``REPOSITORY/NUMBER``."""

    rows: dict[str, Row]
    withdrawn: dict[str, tuple[Key, str]]
    """Those that were withdrawn, each with its key and the reason."""
    tasks: list[TaskFolder]
    """All tasks, also those of which no example stands."""


def standing_rows(workspace: Workspace, trees: Trees) -> Standing:
    """Make the row of every example that stands.

    Raises:
        BenchwrightError: there are no examples, two have one number, a task's repository is not registered, or its
            licence is undecided.
    """
    folders = load_tasks(workspace)
    registry = {item.name: item for item in workspace.repositories()}
    # without this machine's environments: equal tasks give equal rows everywhere
    evidence = {
        (item.task.id, example.id): known.last
        for item, example, known in standings(workspace, folders, environments=False)
    }
    rows: dict[str, Row] = {}
    withdrawn: dict[str, tuple[Key, str]] = {}
    for item in folders:
        repository = _registered(item, registry)
        digest = _oracle_digest(workspace, item, repository, trees)
        for example in item.examples:
            name = f"{item.task.repository.name}/{example.id}"
            if name in rows or name in withdrawn:
                raise BenchwrightError(f"the example {name} stands twice", where=str(item.folder / "examples.jsonl"))
            if example.yanked is not None:
                assert repository.github_id is not None  # checked before
                withdrawn[name] = (repository.github_id, example.id), example.yanked
            else:
                require_decided(workspace, item, repository)
                rows[name] = _row(workspace, item, example, repository, evidence[item.task.id, example.id], digest)
    if not rows:
        raise BenchwrightError(
            "there is no example to release",
            where=str(workspace.tasks_dir),
            remedy="benchwright annotate pull, or benchwright tasks import DATASET",
        )
    return Standing(rows, withdrawn, folders)


def compile_rows(workspace: Workspace, trees: Trees) -> Compiled:
    """Make the rows of every split from the tasks on disk.

    Raises:
        BenchwrightError: what :func:`standing_rows` raises, or a list names an example that is not there.
    """
    found = standing_rows(workspace, trees)
    names = list(dict.fromkeys(["full", *split_names(workspace)]))
    trained = {item for name in names if is_train(name) for item in read_split(workspace, name)}
    splits = {name: _members(workspace, name, found.rows, found.withdrawn, trained) for name in names}
    tasks = [item for item in found.tasks if any(example.yanked is None for example in item.examples)]
    used = {item.task.repository.name for item in tasks}
    repositories = [item for item in workspace.repositories() if item.name in used]
    return Compiled(splits, tasks, repositories, dict(found.withdrawn.values()))


def _registered(item: TaskFolder, registry: dict[str, Repository]) -> Repository:
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
    return known


def _oracle_digest(workspace: Workspace, item: TaskFolder, repository: Repository, trees: Trees) -> str | None:
    """SHA-256 of the text that a reader gets: the oracle, or the lines of the document where it is left out."""
    text: str | None = item.oracle
    if not may_pass_on(workspace, repository) and item.task.source is not None:
        source, tree = item.task.source, trees.of(repository)
        text = text_at(tree, source.path, source.start_line, source.end_line) if tree is not None else None
    return None if text is None else hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


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
    workspace: Workspace,
    item: TaskFolder,
    example: Example,
    repository: Repository,
    latest: Evidence | None,
    oracle_digest: str | None,
) -> Row:
    task = item.task
    assert repository.github_id is not None  # checked before
    text = example.arguments_text
    return Row(
        github_id=repository.github_id,
        github=task.repository.url,
        repo_id=example.id if example.repo_id is None else example.repo_id,
        path=task.path,
        arguments=canonical_json(example.arguments) if text is None else text,
        instruction=example.instruction,
        oracle=item.oracle if may_pass_on(workspace, repository) else "",
        type=example.type,
        id=example.id,
        prefix_code=example.prefix_code,
        output=example.output,
        commit=task.repository.commit,
        license=repository.license,
        source_path=task.source.path if task.source else None,
        start_line=task.source.start_line if task.source else None,
        end_line=task.source.end_line if task.source else None,
        blob=task.source.blob if task.source else None,
        oracle_sha256=oracle_digest,
        task_id=task.id,
        environment=task.environment or repository.environment or workspace.config.environment,
        environment_digest=latest.environment_digest if latest else None,
        verified_at=latest.at if latest else None,
        evidence_digest=latest.digest if latest else None,
    )
