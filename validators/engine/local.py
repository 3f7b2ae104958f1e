"""The local engine: a fixed number of threads on this machine, at most a few jobs ahead of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

__all__ = ["spread"]

T = TypeVar("T")
R = TypeVar("R")

AHEAD = 2
"""Jobs taken from the iterable for each worker: enough to keep it busy, few enough to stay flat in memory."""


def spread(jobs: Iterable[T], work: Callable[[T], R], workers: int, stop: Callable[[], None]) -> Iterator[tuple[T, R]]:
    """Yield ``(job, work(job))`` as they finish.

    Where the caller stops early (^C, an error, a closed generator), ``stop`` is called once to end what runs, and
    every worker is waited for: nothing goes on behind the caller's back.
    """
    queue = iter(jobs)
    running: dict[Future[R], T] = {}
    pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="benchwright-run")
    finished = False
    try:
        while True:
            while len(running) < workers * AHEAD and not finished:
                try:
                    job = next(queue)
                except StopIteration:
                    finished = True
                    break
                running[pool.submit(work, job)] = job
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield running.pop(future), future.result()
    except BaseException:
        for future in running:
            future.cancel()
        stop()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
