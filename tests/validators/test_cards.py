"""Cards are leased by id: between threads, between processes, and never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from benchwright.core.errors import InfrastructureError, PrerequisiteError
from benchwright.validators.cards import cards_here, leased

HOLDER = """\
import time
from benchwright.validators.cards import leased
with leased(1) as cards:
    print(cards[0], flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def two_cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BENCHWRIGHT_CARDS", "GPU-a, GPU-b")


def test_two_workers_never_hold_one_card() -> None:
    with leased(1) as first, leased(1) as second:
        assert sorted((*first, *second)) == ["GPU-a", "GPU-b"]
        with pytest.raises(InfrastructureError, match="not free"), leased(1, wait_s=0.3):
            pass
    with leased(2) as both:
        assert both == ("GPU-a", "GPU-b")


def test_many_threads_wait_for_their_turn() -> None:
    held: set[str] = set()
    wrong: list[str] = []
    guard = threading.Lock()

    def work() -> None:
        for _ in range(3):
            with leased(1) as (card,):
                with guard:
                    wrong.extend([card] if card in held else [])
                    held.add(card)
                time.sleep(0.01)
                with guard:
                    held.discard(card)

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert wrong == []


def test_a_killed_process_leaves_no_card_behind() -> None:
    process = subprocess.Popen([sys.executable, "-P", "-c", HOLDER], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        taken = process.stdout.readline().strip()
        with leased(1) as other:
            assert other[0] != taken
            with pytest.raises(InfrastructureError), leased(1, wait_s=0.1):
                pass
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait(10)
    with leased(2, wait_s=5):
        pass


def test_a_machine_without_cards_says_so_and_none_are_needed_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHWRIGHT_CARDS", "")
    assert cards_here() == []
    with leased(0) as none:
        assert none == ()
    with pytest.raises(PrerequisiteError, match="this machine has 0"), leased(1):
        pass
