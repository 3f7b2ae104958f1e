"""Spreading jobs over threads: bounded, complete, and nothing goes on behind the caller's back."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from benchwright.validators.engine import spread


def test_every_job_comes_back_once() -> None:
    found = dict(spread(range(50), lambda n: n * n, 4, lambda: None))
    assert found == {n: n * n for n in range(50)}


def test_jobs_are_read_only_as_workers_become_free() -> None:
    taken = 0

    def jobs() -> Iterator[int]:
        nonlocal taken
        for number in range(1000):
            taken += 1
            yield number

    results = spread(jobs(), lambda n: n, 2, lambda: None)
    next(results)
    assert taken <= 8
    results.close()  # type: ignore[attr-defined]


def test_an_early_end_stops_what_runs_and_waits_for_it() -> None:
    stopped = threading.Event()
    ended = []

    def work(number: int) -> int:
        if number:
            stopped.wait(10)
        ended.append(number)
        return number

    results = spread(range(9), work, 2, stopped.set)
    assert next(results) == (0, 0)
    began = time.monotonic()
    results.close()  # type: ignore[attr-defined]
    assert stopped.is_set()
    assert time.monotonic() - began < 5
    assert len(ended) <= 5


def test_an_error_in_a_worker_reaches_the_caller() -> None:
    def work(number: int) -> int:
        raise ValueError(number)

    with pytest.raises(ValueError, match="0"):
        list(spread(range(3), work, 1, lambda: None))
