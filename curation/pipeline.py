"""Curating registered repositories: what changed is worked out again, in parallel, and stored whole or not at all."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass

from ..core.errors import BenchwrightError, InfrastructureError
from ..core.files import digest_of
from ..core.models import Repository
from ..core.progress import Reporter
from ..core.store import Store
from ..core.workspace import Workspace
from .memory import Memory, tool_digest

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
    results: dict[str, Curated] = {}
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
            with reporter.track("curate", len(waiting)) as advance:
                for repository, outcome in _work(waiting, workspace, tuple(mirrors), jobs):
                    if isinstance(outcome, BenchwrightError):
                        results[repository.name] = Curated(repository.name, error=outcome)
                        advance(f"{repository.name}: failed")
                        continue
                    keep(store, repository, outcome)
                    results[repository.name] = Curated(repository.name, len(outcome.rows))
                    advance(f"{repository.name}: {len(outcome.rows)} candidates")
    return [results[repository.name] for repository in repositories]


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


def _work(
    waiting: Sequence[Repository], workspace: Workspace, mirrors: tuple[str, ...], jobs: int | None
) -> Iterator[tuple[Repository, Outcome]]:
    workers = min(jobs or len(os.sched_getaffinity(0)), len(waiting))
    if workers <= 1:
        for repository in waiting:
            yield repository, curate_one(repository, workspace, mirrors)
        return
    # fork costs nothing per worker and this process has no threads
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_as_worker, initargs=(os.getpid(),)) as pool:
        futures: dict[Future[Outcome], Repository] = {
            pool.submit(curate_one, repository, workspace, mirrors): repository for repository in waiting
        }
        try:
            for future in as_completed(futures):
                yield futures.pop(future), future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _as_worker(parent: int) -> None:
    """A worker leaves ^C to the parent, and dies with it even if that is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        set_parent_death_signal = 1  # PR_SET_PDEATHSIG of prctl(2)
        ctypes.CDLL(None, use_errno=True).prctl(set_parent_death_signal, signal.SIGKILL)
    if os.getppid() != parent:  # it was killed before the line above
        os._exit(1)


def curate_one(repository: Repository, workspace: Workspace, mirrors: tuple[str, ...]) -> Outcome:
    """The candidates of one repository, or why there are none."""
    from .candidates import candidates_of
    from .source import open_tree

    try:
        with workspace.open_store() as store, open_tree(repository, workspace.clones_dir, mirrors) as tree:
            memory = Memory(store)
            found = candidates_of(repository, tree, memory)
            return Found(tuple((c.id, c.digest, c.model_dump_json()) for c in found), memory.new)
    except BenchwrightError as error:
        return error
    except OSError as error:
        return InfrastructureError(error.strerror or str(error), where=repository.name)
