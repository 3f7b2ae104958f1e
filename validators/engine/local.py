"""The local engine: a fixed number of threads on this machine, at most a few jobs ahead of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TypeVar

from ...core.models import Limits

__all__ = ["spread", "workers_here"]

T = TypeVar("T")
R = TypeVar("R")

AHEAD = 2
"""Jobs taken from the iterable for each worker: enough to keep it busy, few enough to stay flat in memory."""


def workers_here(limits: Limits) -> int:
    """Runs with these limits that this machine holds at a time: by its cores, and by the memory that is free now."""
    cores = len(os.sched_getaffinity(0))
    free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, StopIteration, ValueError), open("/proc/meminfo", encoding="ascii") as file:
        free = next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:"))
    return max(1, min(int(cores / limits.cpus), free // limits.memory_bytes))


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
