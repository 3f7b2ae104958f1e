"""Curating registered repositories: what changed is worked out again, in parallel, and stored whole or not at all."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ..core.errors import BenchwrightError, InfrastructureError
from ..core.files import digest_of
from ..core.models import Repository
from ..core.progress import Reporter
from ..core.store import Store
from ..core.workspace import Workspace
from .cache import Memory, tool_digest
from .workers import done_by_workers

__all__ = ["Curated", "content_key", "curate"]


@dataclass(frozen=True)
class Curated:
    """What became of one repository."""

    name: str
    candidates: int = 0
    unchanged: bool = False
    error: BenchwrightError | None = None
    notes: tuple[str, ...] = ()


def content_key(repository: Repository) -> str:
    """Everything the candidates of a repository depend on."""
    fields = repository.model_dump(mode="json", exclude={"ref", "license_sha256", "split", "environment"})
    return digest_of([fields, tool_digest()])


def curate(
    workspace: Workspace,
    names: Iterable[str] = (),
    *,
    jobs: int | None = None,
    mirrors: Sequence[str] = (),
    reporter: Reporter | None = None,
) -> list[Curated]:
    """Curate the repositories named (all where none is) and store their candidates.

    A repository whose pin, registry fields and tool are unchanged is left as it is. One that fails keeps what was
    stored before, and does not stop the others: its error is in the result.
    """
    reporter = reporter or Reporter(quiet=True)
    repositories = workspace.repositories(names)
    with workspace.open_store() as store:
        if not names:
            store.keep_only([repository.name for repository in repositories])
        waiting = [r for r in repositories if store.curated_key(r.name) != content_key(r)]
        results = {
            r.name: Curated(r.name, store.count_candidates(r.name), unchanged=True)
            for r in repositories
            if r not in waiting
        }
    if waiting:
        from . import candidates, source  # noqa: F401 - once, before the workers are made, and not in each of them

        # the workers start before the progress bar's thread and while no connection is open: both forbid forking
        with (
            done_by_workers(curate_one, waiting, workspace, mirrors, jobs) as outcomes,
            reporter.track("curate", len(waiting)) as advance,
            workspace.open_store() as store,
        ):
            for repository, outcome in outcomes:
                results[repository.name] = _settled(store, repository, outcome)
                advance(f"{repository.name}: {_in_words(results[repository.name])}")
    return [results[repository.name] for repository in repositories]


def _settled(store: Store, repository: Repository, outcome: Outcome) -> Curated:
    if isinstance(outcome, BenchwrightError):
        return Curated(repository.name, error=outcome)
    keep(store, repository, outcome)
    return Curated(repository.name, len(outcome.rows))


def _in_words(result: Curated) -> str:
    return "failed" if result.error else f"{result.candidates} candidates"


@dataclass(frozen=True)
class Found:
    """The candidates of one repository as they are stored (id, digest, JSON), and what is worth remembering."""

    rows: tuple[tuple[str, str, str], ...]
    memory: dict[str, dict[str, bytes]]


Outcome = Found | BenchwrightError


def keep(store: Store, repository: Repository, found: Found) -> None:
    """Store candidates and memory in one transaction: all of it or nothing."""
    with store.transaction():
        for namespace, values in found.memory.items():
            store.remember(namespace, values)
        store.replace_candidate_bodies(repository.name, content_key(repository), found.rows)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Nothing here dies before a repository is done, so looking for it only costs: a sixth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    gc.freeze()  # what is there already outlives the repository: collecting need not look at it
    try:
        yield
    finally:
        gc.collect()
        gc.unfreeze()
        if was_enabled:
            gc.enable()


def curate_one(repository: Repository, workspace: Workspace, mirrors: Sequence[str]) -> Outcome:
    """The candidates of one repository, or why there are none."""
    from .candidates import candidates_of
    from .source import open_tree

    try:
        with (
            _without_collector(),
            workspace.open_store() as store,
            open_tree(repository, workspace.clones_dir, mirrors) as tree,
        ):
            memory = Memory(store)
            found = candidates_of(repository, tree, memory)
            return Found(tuple((c.id, c.digest, c.model_dump_json()) for c in found), memory.new)
    except BenchwrightError as error:
        return error
    except OSError as error:
        return InfrastructureError(error.strerror or str(error), where=repository.name)
