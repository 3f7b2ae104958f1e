"""Containers created ahead: while a script runs, the engine makes the container for the next one like it.

Each is used once, so a script finds it as fresh as one made on the spot. Containers of a killed toolkit carry its
label like any other, and the next start removes them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from ...core.errors import BenchwrightError
from ...core.models import Limits
from .contract import Run

__all__ = ["Ahead"]


class Kind(NamedTuple):
    """What is fixed when a container is made; script, folder and variables come with the instruction."""

    image: str
    limits: Limits
    tree: Path | None
    network: bool
    cards: tuple[str, ...]


class Ahead:
    """At most ``size`` containers ready for one kind of run, and twice that in all."""

    def __init__(self, size: int, create: Callable[[Run], str], remove: Callable[[str], None]) -> None:
        self._size, self._create, self._remove = size, create, remove
        self._lock = threading.Lock()
        self._waiting: OrderedDict[Kind, list[Future[str]]] = OrderedDict()
        self._seen: Kind | None = None
        self._closed = False
        self._maker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="benchwright-ahead") if size else None

    def take(self, run: Run) -> str:
        """A container for ``run``: one that is ready or being made, else a new one. Orders the next where runs repeat.

        Raises:
            DockerException: the engine cannot make it.
        """
        kind = Kind(run.system.image, run.limits, run.tree, run.network, run.cards)
        with self._lock:
            waiting = self._waiting.get(kind, [])
            made = waiting.pop(0) if waiting else None
            repeated = kind == self._seen
            self._seen = kind
        try:
            return self._create(run) if made is None else made.result()
        finally:
            if repeated:
                self._order(kind, run)

    def _order(self, kind: Kind, run: Run) -> None:
        surplus: list[Future[str]] = []
        with self._lock:
            if self._maker is None or self._closed:
                return
            waiting = self._waiting.setdefault(kind, [])
            self._waiting.move_to_end(kind)
            while len(waiting) < self._size:
                waiting.append(self._maker.submit(self._create, run))
            while sum(map(len, self._waiting.values())) > 2 * self._size:
                surplus += self._waiting.popitem(last=False)[1]
        self._discard(surplus)

    def _discard(self, made: list[Future[str]]) -> None:
        from docker.errors import DockerException

        for future in made:
            if future.cancel():
                continue
            try:
                self._remove(future.result())
            except (DockerException, OSError, BenchwrightError):
                continue  # it was never made, or the engine has gone: the next start removes what is left

    def retire(self, container: str) -> None:
        """Remove a used container; where others are made ahead, behind the back of the next run."""
        with self._lock:
            aside = self._maker is not None and not self._closed
            if aside and self._maker is not None:
                self._maker.submit(self._remove, container)
        if not aside:
            self._remove(container)

    def close(self) -> None:
        """Remove what nobody took, and wait for all removals."""
        with self._lock:
            self._closed = True
            left = [future for waiting in self._waiting.values() for future in waiting]
            self._waiting.clear()
        self._discard(left)
        if self._maker is not None:
            self._maker.shutdown()
