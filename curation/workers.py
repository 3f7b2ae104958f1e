"""Doing one piece of work for each of many repositories in as many processes as there are processors."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

from ..core.errors import BenchwrightError, InfrastructureError
from ..core.models import Repository
from ..core.workspace import Workspace

__all__ = ["done_by_workers"]

T = TypeVar("T")


@contextmanager
def done_by_workers(
    work: Callable[[Repository, Workspace, Sequence[str]], T],
    repositories: Sequence[Repository],
    workspace: Workspace,
    mirrors: Sequence[str],
    jobs: int | None = None,
) -> Iterator[Iterator[tuple[Repository, T | BenchwrightError]]]:
    """Gives what ``work`` makes of each repository, in the order in which they are done.

    One process does it all where ``jobs`` or the machine allows no more. A worker that is ended from outside gives an
    ``InfrastructureError``. Enter it while no other thread runs and no connection is open: both forbid forking.
    """
    workers = min(jobs or len(os.sched_getaffinity(0)), len(repositories))
    if workers <= 1:
        yield ((repository, work(repository, workspace, mirrors)) for repository in repositories)
        return
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_as_worker, initargs=(os.getpid(),)) as pool:
        futures: dict[Future[T], Repository] = {
            pool.submit(work, repository, workspace, mirrors): repository for repository in repositories
        }
        results = _results(futures)
        try:
            yield results
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _results(futures: dict[Future[T], Repository]) -> Iterator[tuple[Repository, T | BenchwrightError]]:
    for future in as_completed(futures):
        try:
            result: T | BenchwrightError = future.result()
        except BrokenProcessPool:
            result = InfrastructureError(
                "a worker process was ended from outside, perhaps for want of memory", remedy="do it with --jobs 1"
            )
        yield futures[future], result


def _as_worker(parent: int) -> None:
    """A worker ends with its parent, even if that is killed, and without a word on ^C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
        set_parent_death_signal = 1  # PR_SET_PDEATHSIG of prctl(2)
        ctypes.CDLL(None, use_errno=True).prctl(set_parent_death_signal, signal.SIGKILL)
    if os.getppid() != parent:  # it was killed before the line above
        os._exit(1)
