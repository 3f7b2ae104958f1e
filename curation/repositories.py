"""The registry: adding a repository at a commit, moving a pin, and checking that all is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..core.errors import BenchwrightError
from ..core.models import Repository
from ..core.progress import Reporter
from ..core.tasks import TaskFolder, load_tasks
from ..core.workspace import Workspace
from .address import parse_address
from .licenses import UNKNOWN, License, find_license
from .pins import resolve_pin
from .pipeline import Found, content_key, curate_one, keep
from .source import PinnedTree, open_tree
from .workers import done_by_workers

__all__ = ["Added", "Moved", "State", "add", "check", "next_github_id", "update"]

LFS_MARK = b"version https://git-lfs.github.com/spec/"
MOST_LFS_BYTES = 1024
NEVER_USED = 12
"""ML-Bench has no repository of this number, though others' tools name one: it stays free."""


@dataclass(frozen=True)
class Added:
    """A repository that was registered, with what its user should know."""

    repository: Repository
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        fields = self.repository.model_dump(mode="json", exclude={"schema_version"})
        return {**fields, "notes": list(self.notes)}

    def lines(self) -> list[str]:
        r = self.repository
        head = f"added {r.name} (github_id {r.github_id}) at {r.commit}, licence {r.license or 'none found'}"
        return [head, *(f"note: {note}" for note in self.notes), f"next: benchwright curate {r.name}"]


def add(
    workspace: Workspace,
    url: str,
    commit: str,
    *,
    name: str | None = None,
    mirrors: Sequence[str] = (),
    allow_file: bool = False,
) -> Added:
    """Register the repository at ``url``, pinned to the commit that ``commit`` names now.

    Raises:
        BenchwrightError: the address or pin is refused, cannot be found, or is registered already.
    """
    address = parse_address(url, allow_file=allow_file)
    known = workspace.repositories()
    for other in known:
        if parse_address(other.url, allow_file=True).key == address.key and (name is None or other.name == name):
            raise BenchwrightError(
                f"it is registered already, as {other.name}",
                where=address.url,
                remedy=f"benchwright repos update {other.name} --commit REV, or give another --name",
            )
    pin = resolve_pin(address, commit, mirrors)
    draft = Repository.load({"name": name or address.name, "url": address.url, "commit": pin.commit}, address.url)
    with open_tree(draft, workspace.clones_dir, mirrors) as tree:
        found = find_license(tree)
        notes = [pin.note, *_license_notes(found.spdx if found else None), *_tree_notes(tree)]
    with workspace.lock():
        known = workspace.repositories()
        if any(other.name.casefold() == draft.name.casefold() for other in known):
            raise BenchwrightError(f"the name {draft.name} is taken", remedy="give another one: --name NAME")
        added = draft.model_copy(
            update={
                "ref": commit if commit != pin.commit else None,
                "github_id": next_github_id(known, load_tasks(workspace)),
                "license": found.spdx if found else None,
                "license_sha256": found.sha256 if found else None,
            }
        )
        workspace.save_repositories([*known, added])
    return Added(added, tuple(note for note in notes if note))


def next_github_id(known: Iterable[Repository], tasks: Iterable[TaskFolder]) -> int:
    """The next free number: above every number that a repository has, or that a task of a removed one still has."""
    taken = [repository.github_id for repository in known] + [item.task.repository.github_id for item in tasks]
    number = max((taken_id for taken_id in taken if taken_id is not None), default=0) + 1
    return number + 1 if number == NEVER_USED else number


def _license_notes(spdx: str | None) -> list[str]:
    if spdx is None:
        return ["no licence file was found at its root: its text may not be redistributed"]
    return [f"its licence file is none of the licences known here ({UNKNOWN}): read it"] if spdx == UNKNOWN else []


def _tree_notes(tree: PinnedTree) -> list[str]:
    notes = []
    if tree.submodules():
        notes.append(f"{len(tree.submodules())} submodules are recorded, not fetched")
    if tree.missing():
        notes.append(f"{len(tree.missing())} files are missing here (left out of the mirror or clone)")
    return notes


@dataclass(frozen=True)
class Moved:
    """A pin that was moved, and what became of the candidates and tasks, by content."""

    name: str
    before: str
    after: str
    stay: tuple[str, ...]
    change: tuple[str, ...]
    vanish: tuple[str, ...]
    new: tuple[str, ...]
    tasks: dict[str, str]
    """Task id -> ``stays``, ``changes``, ``vanishes``, or ``unknown`` (it comes from no candidate)."""
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        candidates = {key: list(getattr(self, key)) for key in ("stay", "change", "vanish", "new")}
        return {
            "name": self.name,
            "before": self.before,
            "after": self.after,
            "candidates": candidates,
            "tasks": self.tasks,
            "note": self.note,
        }

    def lines(self) -> list[str]:
        counts = ", ".join(f"{len(getattr(self, key))} {key}" for key in ("stay", "change", "vanish", "new"))
        lines = [f"{self.name}: {self.before[:12]} -> {self.after[:12]}", f"candidates: {counts}"]
        lines += [f"  {kind}: {item}" for kind in ("change", "vanish", "new") for item in getattr(self, kind)[:20]]
        lines += [f"task {task} {fate}" for task, fate in sorted(self.tasks.items())]
        return [*lines, *([f"note: {self.note}"] if self.note else [])]


def update(workspace: Workspace, name: str, commit: str, *, mirrors: Sequence[str] = ()) -> Moved:
    """Move the pin of ``name`` to the commit that ``commit`` names now, curate it there, and compare by content.

    Raises:
        BenchwrightError: the name is not registered, or the commit cannot be found.
    """
    (old,) = workspace.repositories([name])
    pin = resolve_pin(parse_address(old.url, allow_file=True), commit, mirrors)
    new = old.model_copy(update={"commit": pin.commit, "ref": commit if commit != pin.commit else None})
    with open_tree(new, workspace.clones_dir, mirrors) as tree:
        found = find_license(tree)
    licence = {"license_sha256": found.sha256 if found else None}
    if found is None or found.sha256 != old.license_sha256:
        # a licence known under a name of the maintainers' own stays as long as its text does
        kept = old.license if found and old.license_sha256 is None and found.spdx == UNKNOWN else None
        licence["license"] = kept or (found.spdx if found else None)
    new = new.model_copy(update=licence)
    with workspace.open_store() as store:
        if store.curated_key(old.name) == content_key(old):
            before = {candidate.id: candidate.digest for candidate in store.candidates([old.name])}
        else:
            before = _digests(_found(curate_one(old, workspace, tuple(mirrors))))
        after = _found(curate_one(new, workspace, tuple(mirrors)))
        with workspace.lock():
            current = workspace.repositories()
            workspace.save_repositories([new if item.name == old.name else item for item in current])
        keep(store, new, after)
    return _compare(workspace, old, new, before, _digests(after), pin.note)


def _found(outcome: Found | BenchwrightError) -> Found:
    if isinstance(outcome, BenchwrightError):
        raise outcome
    return outcome


def _digests(found: Found) -> dict[str, str]:
    return {candidate: digest for candidate, digest, _ in found.rows}


def _compare(
    workspace: Workspace,
    old: Repository,
    new: Repository,
    was: Mapping[str, str],
    now: Mapping[str, str],
    note: str,
) -> Moved:
    fates: dict[str, str] = {}
    for item in load_tasks(workspace):
        if item.task.repository.name == new.name:
            origin = item.task.candidate_id
            known = now.get(origin) if origin else None
            same = known is not None and known == (item.task.candidate_digest or was.get(origin or ""))
            gone = "vanishes" if origin else "unknown"
            fates[item.task.id] = "stays" if same else "changes" if known else gone
    return Moved(
        name=new.name,
        before=old.commit,
        after=new.commit,
        stay=tuple(sorted(key for key in now if was.get(key) == now[key])),
        change=tuple(sorted(key for key in now if key in was and was[key] != now[key])),
        vanish=tuple(sorted(was.keys() - now.keys())),
        new=tuple(sorted(now.keys() - was.keys())),
        tasks=fates,
        note=note,
    )


@dataclass(frozen=True)
class State:
    """What ``repos check`` found out about one repository."""

    COLUMNS: ClassVar[tuple[str, ...]] = ("name", "state", "licence", "files", "MB", "submodules", "LFS", "missing")

    name: str
    reachable: bool
    problems: tuple[str, ...] = ()
    license: str | None = None
    files: int = 0
    bytes: int = 0
    submodules: tuple[tuple[str, str], ...] = ()
    """Path and pinned commit of each."""
    lfs: tuple[str, ...] = ()
    """Files that are pointers to Git LFS objects, which are not fetched."""
    missing: tuple[str, ...] = ()
    """Files whose blob is not here."""

    def row(self) -> tuple[Any, ...]:
        counts = (len(self.submodules), len(self.lfs), len(self.missing))
        state = "; ".join(self.problems) or "ok"
        return (self.name, state, self.license or "none", self.files, round(self.bytes / 1e6, 1), *counts)

    def as_json(self) -> dict[str, Any]:
        fields = dict(vars(self))
        fields["submodules"] = [{"path": path, "commit": commit} for path, commit in self.submodules]
        return fields


def check(
    workspace: Workspace, names: Iterable[str] = (), mirrors: Sequence[str] = (), reporter: Reporter | None = None
) -> list[State]:
    """The state of each repository named, or of all."""
    repositories = workspace.repositories(names)
    states: dict[str, State] = {}
    with (
        done_by_workers(_state, repositories, workspace, mirrors) as outcomes,
        (reporter or Reporter(quiet=True)).track("check", len(repositories)) as advance,
    ):
        for repository, outcome in outcomes:
            state = _unreachable(repository, outcome) if isinstance(outcome, BenchwrightError) else outcome
            states[repository.name] = state
            advance(f"{repository.name}: {'; '.join(state.problems) or 'ok'}")
    return [states[repository.name] for repository in repositories]


def _unreachable(repository: Repository, error: BenchwrightError) -> State:
    return State(repository.name, False, (error.message,), repository.license)


def _state(repository: Repository, workspace: Workspace, mirrors: Sequence[str]) -> State:
    try:
        with open_tree(repository, workspace.clones_dir, mirrors) as tree:
            found = find_license(tree)
            small = [path for path in tree.paths() if tree.size_of(path) in range(1, MOST_LFS_BYTES)]
            lfs = tuple(path for path, data in tree.read_many(small) if data.startswith(LFS_MARK))
            return State(
                name=repository.name,
                reachable=True,
                problems=tuple(_license_problems(repository, found)),
                license=repository.license,
                files=len(tree.paths()),
                bytes=tree.size(),
                submodules=tuple((item.path, item.commit) for item in tree.submodules()),
                lfs=lfs,
                missing=tuple(tree.missing()),
            )
    except BenchwrightError as error:
        return _unreachable(repository, error)


def _license_problems(repository: Repository, found: License | None) -> list[str]:
    if repository.license is None:
        return ["no licence is known"]
    if repository.license == UNKNOWN:
        return ["its licence is unknown: read it and write its name into repositories.toml"]
    if repository.license_sha256 and (found is None or found.sha256 != repository.license_sha256):
        return ["its licence text is not the one that was registered"]
    own_name = repository.license.startswith("LicenseRef-")
    if found and found.spdx != UNKNOWN and not own_name and found.spdx != repository.license:
        return [f"registered as {repository.license}, but its text is {found.spdx}"]
    return []
