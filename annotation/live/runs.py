"""The bounded queue before the sandboxes: never more runs at once than there are, and no endless line of waiting ones.

Equal drafts share one run; a draft that was not begun yet is dropped when a newer one of the same task comes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress

from ...core.errors import BenchwrightError
from ...core.files import digest_of
from ...core.models import Outcome
from ...validators.execution import Job
from ...validators.outcomes import POLICY

__all__ = ["NotRunError", "Runs"]

REMEMBERED = 256
"""Outcomes kept for drafts that come again: each field an annotator leaves posts the whole form."""


class NotRunError(BenchwrightError):
    """A draft that was not run, and why, in words for the annotator."""


class Runs:
    """Runs jobs by ``execute``: ``at_once`` at a time, ``waiting`` in line. Use it as a context manager."""

    def __init__(self, execute: Callable[[Job], Outcome], at_once: int, waiting: int) -> None:
        self._execute = execute
        self._at_once, self._most = at_once, at_once + waiting
        self._pool = ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="benchwright-live")
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Future[Outcome]] = OrderedDict()
        self._newest: dict[Hashable, Future[Outcome]] = {}
        """The newest unfinished run of each task."""
        self._open = 0

    def outcome(self, job: Job, task: Hashable, wait_s: float) -> Outcome:
        """What ``job`` gives, from a run now or one of the same job before; ``task`` is whose draft it is.

        Raises:
            NotRunError: too many wait, a newer draft of the task came, or it takes longer than ``wait_s``; it then
                goes on, and is there when it is asked for again.
        """
        future = self._future(job, task)
        try:
            return future.result(timeout=wait_s)
        except CancelledError as error:
            raise NotRunError("another draft of this task came after it") from error
        except TimeoutError as error:
            raise NotRunError(f"it is not done after {wait_s:.0f} s, and goes on") from error

    def _future(self, job: Job, task: Hashable) -> Future[Outcome]:
        key = _key(job)
        with self._lock:
            future = self._known.get(key)
            if future is not None and not future.cancelled():
                self._known.move_to_end(key)
                return future
            before = self._newest.get(task)
        if before is not None:
            before.cancel()  # outside the lock, which its end takes
        with self._lock:
            if self._open >= self._most:
                raise NotRunError(f"{self._open - self._at_once} scripts are waiting already")
            self._open += 1
            future = self._pool.submit(self._execute, job)
            self._known[key] = self._newest[task] = future
            while len(self._known) > REMEMBERED + self._most:
                self._known.popitem(last=False)
        future.add_done_callback(lambda done: self._ended(done, key, task))
        return future

    def _ended(self, future: Future[Outcome], key: str, task: Hashable) -> None:
        with self._lock:
            self._open -= 1
            if self._newest.get(task) is future:
                del self._newest[task]
            spoilt = future.cancelled() or future.exception() or not POLICY[future.result().outcome].counted
            if spoilt and self._known.get(key) is future:
                del self._known[key]  # what the machine spoilt is worth trying again

    def close(self) -> None:
        """Drop what waits, and let nothing new begin; what runs is ended by whoever owns the sandbox."""
        with suppress(RuntimeError):
            self._pool.shutdown(wait=False, cancel_futures=True)

    def join(self) -> None:
        """Wait until nothing runs any more."""
        self._pool.shutdown(wait=True)


def _key(job: Job) -> str:
    repository = job.repository
    place = (repository.url, repository.commit) if repository else ()
    return digest_of([job.code, job.prefix_code, job.type, job.path, *place, job.environment, job.limits.timeout_s])
