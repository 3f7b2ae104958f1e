"""Cards (GPUs) of this machine, leased by id, so that two workers never share one by accident.

Comes in: how many a run needs. Goes out: that many ids, held until the run has ended. A lease is a lock on a file in
the cache: it holds between threads, between processes and between workspaces, and the kernel ends it with the process
that holds it, however that ends.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from ..core.errors import InfrastructureError, PrerequisiteError
from ..core.workspace import cache_dir

__all__ = ["cards_here", "leased"]

LEASE_WAIT_S = 6 * 3600.0
PAUSE_S = 0.2


def cards_here() -> list[str]:
    """Ids of the cards that may be leased: those that BENCHWRIGHT_CARDS names, else all that the driver knows."""
    named = os.environ.get("BENCHWRIGHT_CARDS")
    if named is not None:
        return [card.strip() for card in named.split(",") if card.strip()]
    try:
        answer = subprocess.run(
            ["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"], capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return answer.stdout.split() if answer.returncode == 0 else []


@contextmanager
def leased(count: int, wait_s: float = LEASE_WAIT_S) -> Iterator[tuple[str, ...]]:
    """Hold ``count`` cards; waits while others hold them, and takes all or none, so that nobody waits for each other.

    Raises:
        PrerequisiteError: this machine has fewer.
        InfrastructureError: they were not free within ``wait_s`` seconds.
    """
    if count == 0:
        yield ()
        return
    cards = cards_here()
    if len(cards) < count:
        raise PrerequisiteError(
            f"{count} card{'s' if count > 1 else ''} (GPU) are needed, and this machine has {len(cards)}",
            remedy="run it on a machine with cards; BENCHWRIGHT_CARDS names those that may be used",
        )
    deadline = time.monotonic() + wait_s
    while True:
        with ExitStack() as held:
            taken = _take(cards, count, held)
            if taken is not None:
                yield taken
                return
        if time.monotonic() > deadline:
            raise InfrastructureError(f"{count} of {len(cards)} cards were not free within {wait_s:g} s")
        time.sleep(PAUSE_S)


def _take(cards: list[str], count: int, held: ExitStack) -> tuple[str, ...] | None:
    taken: list[str] = []
    for card in cards:
        try:
            held.enter_context(FileLock(_lock_file(card), timeout=0))
        except Timeout:
            continue
        taken.append(card)
        if len(taken) == count:
            return tuple(taken)
    return None


def _lock_file(card: str) -> Path:
    folder = cache_dir() / "cards"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{''.join(c if c.isalnum() or c == '-' else '_' for c in card)}.lock"
