"""Reading a published dataset into ``tasks/``: rows become tasks with examples, and build to the same rows again."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import PurePosixPath

from ..core.errors import BenchwrightError
from ..core.files import canonical_json
from ..core.models import EntryPoint, Example, Repository, RepositoryRef, Source, Task
from ..core.tasks import TaskFolder, load_tasks, write_task
from ..core.workspace import Workspace
from .dataset import Dataset
from .find_oracle import Texts, locate
from .release.splits import read_split, write_split
from .release.trees import local_tree
from .rows import Row, arguments_of

__all__ = ["Imported", "import_dataset"]

Group = tuple[str, list[Row]]
SLUG_CHARACTERS = 40
ALIKE = 0.8
"""Share of an oracle's word triples that a place must hold to be recorded as its source."""


@dataclass(frozen=True)
class Imported:
    """What an import did."""

    rows: int
    tasks: int
    """Tasks the rows belong to."""
    added: int
    """Examples that were not there before."""
    repositories: tuple[str, ...]
    """Repositories newly registered, from the preset."""
    splits: tuple[str, ...]
    located: int
    """New tasks whose README segment was found in the repository at its pin."""
    unplaced: dict[str, float | None]
    """The other new tasks, each with how alike the best place is (0 to 1); None where the repository is not here."""


def import_dataset(
    workspace: Workspace, dataset: Dataset, splits: Iterable[str] = (), mirrors: Sequence[str] = ()
) -> Imported:
    """Write the rows of ``dataset`` as tasks; rows that are there already stay as they are.

    Rows are grouped into tasks by repository, path, oracle and type. The order of the rows is kept in
    ``splits/NAME.txt``. A repository that is not registered is taken from the ``ml-bench`` preset by its github_id.
    Of repositories that are on this machine (``mirrors``, or the workspace's clones) the oracle's place is looked for.

    Raises:
        BenchwrightError: a row is wrong, its repository has no pin, or an example of this number is there with
            other content. Nothing is written then.
    """
    chosen = list(splits) or list(dataset.splits)
    rows_of = {name: list(dataset.rows(name)) for name in chosen}
    rows = _distinct(rows_of)
    with workspace.lock():
        registry = _registry(workspace, rows)
        existing = {item.task.id: item for item in load_tasks(workspace)}
        groups = _groups(rows, {row.github_id: registry[row.github_id][0].name for row in rows})
        _refuse_other_content(existing.values(), groups)
        changed = [
            _merged(existing.get(task_id), task_id, members, registry[members[0].github_id][0])
            for task_id, members in groups.items()
        ]
        places = _Places(workspace, mirrors)
        added = located = 0
        unplaced: dict[str, float | None] = {}
        for task, oracle, examples, new in changed:
            if new:
                if task.id not in existing and task.source is None:
                    task, found = places.place(task, oracle)
                    located += task.source is not None
                    if task.source is None:
                        unplaced[task.id] = found
                write_task(workspace, task, oracle, examples)
                added += new
        fresh = [repository for repository, is_new in registry.values() if is_new]
        if fresh:
            workspace.save_repositories([*workspace.repositories(), *fresh])
        for name, members in rows_of.items():
            ids = [f"{registry[row.github_id][0].name}/{row.id}" for row in members]
            write_split(workspace, name, list(dict.fromkeys([*read_split(workspace, name), *ids])))
    registered = tuple(item.name for item in fresh)
    return Imported(len(rows), len(groups), added, registered, tuple(chosen), located, unplaced)


class _Places:
    """Looks oracles up in the repositories that are on this machine; each is read once."""

    def __init__(self, workspace: Workspace, mirrors: Sequence[str]) -> None:
        self._workspace = workspace
        self._mirrors = mirrors
        self._texts: dict[tuple[str, str], Texts | None] = {}

    def place(self, task: Task, oracle: str) -> tuple[Task, float | None]:
        """The task, with its place if that is certain enough to be published, and how alike the best place is."""
        texts = self._texts_of(task.repository)
        if texts is None:
            return task, None
        found = locate(oracle, task.path, texts)
        if found is None or found.similarity < ALIKE:
            return task, found.similarity if found else 0.0
        similarity = round(found.similarity, 4)
        return task.model_copy(update={"source": found.source, "source_similarity": similarity}), similarity

    def _texts_of(self, reference: RepositoryRef) -> Texts | None:
        key = (reference.url, reference.commit)
        if key not in self._texts:
            repository = Repository(name=reference.name, url=reference.url, commit=reference.commit)
            tree = local_tree(repository, self._workspace.clones_dir, self._mirrors)
            with tree or nullcontext():
                self._texts[key] = Texts(tree) if tree is not None else None
        return self._texts[key]


def _distinct(rows_of: dict[str, list[Row]]) -> list[Row]:
    """Each example once, though it stands in several splits."""
    found: dict[tuple[int, int], tuple[str, Row]] = {}
    for split, rows in rows_of.items():
        for row in rows:
            first, known = found.setdefault(row.key, (split, row))
            if known != row:
                raise BenchwrightError(
                    f"the splits {first} and {split} give different rows the same number",
                    where=f"example {row.github_id}/{row.id}",
                    remedy=f"import one of them: --split {first}",
                )
    return [row for _split, row in found.values()]


def _registry(workspace: Workspace, rows: list[Row]) -> dict[int, tuple[Repository, bool]]:
    """github_id -> the repository, and whether it is new: taken from the rows themselves, else from the preset."""
    from ..curation.presets import preset_repositories

    registered = workspace.repositories()
    known = {item.github_id: (item, False) for item in registered if item.github_id is not None}
    names = {item.name.casefold() for item in registered}
    preset: dict[int | None, Repository] = {}
    for row in rows:
        if row.github_id in known:
            continue
        preset = preset or {item.github_id: item for item in preset_repositories("ml-bench")}
        pinned = _stated(row) or preset.get(row.github_id)
        if pinned is None or _address(pinned.url) != _address(row.github) or pinned.name.casefold() in names:
            raise BenchwrightError(
                f"no commit is known for {row.github} (github_id {row.github_id})",
                where=f"example {row.github_id}/{row.id}",
                remedy=f"benchwright repos add {row.github} --commit REV, with github_id = {row.github_id} "
                f"in {workspace.repositories_path.name}",
            )
        known[row.github_id] = (pinned, True)
    return known


def _stated(row: Row) -> Repository | None:
    """The repository as the rows of our own releases state it; None for a dataset without commits."""
    if row.commit is None:
        return None
    name = row.task_id.partition("/")[0] if row.task_id else row.github.rstrip("/").rpartition("/")[2]
    fields = {"name": name, "url": row.github, "commit": row.commit, "github_id": row.github_id, "license": row.license}
    return Repository.load(fields, f"example {row.github_id}/{row.id}")


def _address(url: str) -> str:
    return url.casefold().rstrip("/").removesuffix(".git")


def _groups(rows: list[Row], names: dict[int, str]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(f"{names[row.github_id]}/{_task_name(row, names[row.github_id])}", []).append(row)
    return groups


def _task_name(row: Row, repository: str) -> str:
    """The published task's name where there is one, else a readable word and a digest of what makes the task."""
    published, _, name = (row.task_id or "").partition("/")
    if name and published == repository:
        return name
    parts = (row.github, row.path, row.oracle, row.type)
    digest = hashlib.sha256("\0".join(f"{len(part)}:{part}" for part in parts).encode()).hexdigest()[:12]
    word = re.sub(r"[^a-z0-9]+", "-", PurePosixPath(row.path).name.lower()).strip("-")[:SLUG_CHARACTERS].strip("-")
    return f"{word or ('bash' if row.type.startswith('Bash') else 'python')}-{digest}"


def _refuse_other_content(existing: Iterable[TaskFolder], groups: dict[str, list[Row]]) -> None:
    """An example's number is never given to other content."""
    wanted = {row.key: (task_id, row) for task_id, members in groups.items() for row in members}
    for item in existing:
        for example in item.examples:
            task_id, row = wanted.get((item.task.repository.github_id or -1, example.id), (None, None))
            if row is None:
                continue
            if example.yanked is not None:
                differs = "was withdrawn here"
            elif task_id != item.task.id:
                differs = f"belongs to the task {item.task.id} here"
            elif (item.oracle, item.task.path, item.task.repository.url) != (row.oracle, row.path, row.github):
                differs = "has another oracle, path or address here"
            elif _published(example) != _published(_example(row)):
                differs = "has other content here"
            else:
                continue
            raise BenchwrightError(
                f"the example {differs}",
                where=f"example {row.github_id}/{row.id}",
                remedy=f"reviewed text is never overwritten: compare with {item.folder / 'examples.jsonl'}",
            )


def _published(example: Example) -> tuple[object, ...]:
    text = example.arguments_text
    return (
        example.instruction,
        example.output,
        example.prefix_code,
        example.type,
        example.repo_id if example.repo_id is not None else example.id,
        canonical_json(example.arguments) if text is None else text,
    )


def _merged(
    known: TaskFolder | None, task_id: str, members: list[Row], repository: Repository
) -> tuple[Task, str, list[Example], int]:
    """The task with the new examples beside the old, and how many are new."""
    old = list(known.examples) if known else []
    numbers = {example.id for example in old}
    new = [_example(row) for row in members if row.id not in numbers]
    task = known.task if known else _task(task_id.partition("/")[2], members[0], repository)
    return task, members[0].oracle, [*old, *new], len(new)


def _task(name: str, row: Row, repository: Repository) -> Task:
    source = None
    if row.source_path and row.blob and row.start_line and row.end_line:
        source = Source(path=row.source_path, blob=row.blob, start_line=row.start_line, end_line=row.end_line)
    return Task(
        name=name,
        repository=RepositoryRef(
            name=repository.name,
            github_id=row.github_id,
            url=row.github,
            commit=row.commit or repository.commit,
            license=row.license or repository.license,
        ),
        type=row.type,
        path=row.path,
        entry_point=_entry_point(row),
        source=source,
        environment=row.environment,
        origin="imported",
    )


def _entry_point(row: Row) -> EntryPoint | None:
    """What the output starts, where it plainly starts one file of the repository."""
    if not row.type.startswith("Bash"):
        return None
    started = {word for word in row.output.split() if re.fullmatch(r"[\w./-]+\.(?:py|sh)", word)}
    return EntryPoint(kind="file", target=started.pop()) if len(started) == 1 else None


def _example(row: Row) -> Example:
    return Example(
        id=row.id,
        repo_id=row.repo_id,
        type=row.type,
        instruction=row.instruction,
        arguments=arguments_of(row),
        arguments_text=row.arguments,
        prefix_code=row.prefix_code,
        output=row.output,
    )
