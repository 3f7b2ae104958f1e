"""The state: transactions, two writers, kills."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from benchwright.core.errors import BenchwrightError, InfrastructureError
from benchwright.core.models import Outcome, OutcomeKind
from benchwright.core.store import Store

WRITER = """
import sys
from pathlib import Path
from benchwright.core.store import Store
with Store(Path(sys.argv[1])) as store:
    for i in range(200):
        store.remember(sys.argv[2], {str(i): b"x" * 1000})
"""


def test_two_processes_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    workers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("a", "b")]
    assert [worker.wait(60) for worker in workers] == [0, 0]
    with Store(path) as store:
        for name in ("a", "b"):
            assert len(store.cached(name, map(str, range(200)))) == 200


def test_a_failing_transaction_leaves_the_state_before_it(tmp_path: Path) -> None:
    with Store(tmp_path / "state.db") as store:
        store.remember("n", {"k": b"old"})
        with pytest.raises(RuntimeError), store.transaction():
            store.remember("n", {"k": b"new"})
            raise RuntimeError
        assert store.cached("n", ["k"]) == {"k": b"old"}


def test_a_process_killed_in_mid_transaction_leaves_the_state_before_it(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    program = (
        "import os, signal, sys; from pathlib import Path; from benchwright.core.store import Store\n"
        "store = Store(Path(sys.argv[1]))\n"
        "store.remember('n', {'k': b'old'})\n"
        "with store.transaction():\n"
        "    store.remember('n', {'k': b'new', 'other': b'y' * 10_000_000})\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", program, str(path)]).returncode == -9
    with Store(path) as store:
        assert store.cached("n", ["k", "other"]) == {"k": b"old"}


def test_an_outcome_is_found_again_by_its_key(tmp_path: Path) -> None:
    seen = Outcome(outcome=OutcomeKind.TIMED_OUT, duration_s=1.5, detail="wall time of 1 s", sandbox="docker")
    with Store(tmp_path / "state.db") as store:
        store.record_outcome("key", "2026-01-01T00:00:00Z", seen)
        assert store.outcome("key") == seen
        assert store.outcome("other") is None


def test_a_damaged_state_says_that_it_can_be_removed(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(InfrastructureError, match="remove it and run the command again"):
        Store(path)


def test_a_state_of_a_newer_benchwright_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    Store(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(BenchwrightError, match="layout 99"):
        Store(path)


def test_an_id_may_be_shortened_while_it_stays_unique(tmp_path: Path) -> None:
    with Store(tmp_path / "state.db") as store, pytest.raises(BenchwrightError, match="candidates list"):
        store.candidate("none")


def test_a_disk_that_fills_up_in_mid_transaction_is_an_error_with_a_remedy_and_loses_nothing(tmp_path: Path) -> None:
    with Store(tmp_path / "state.db") as store:
        store.remember("n", {"k": b"old"})
        store._db.execute("PRAGMA max_page_count = 20")
        with pytest.raises(InfrastructureError, match="full") as seen:
            store.remember("n", {"k": b"new", "other": b"y" * 10_000_000})
        assert seen.value.where == str(tmp_path / "state.db")
        assert "free space" in str(seen.value.remedy)
        assert store.cached("n", ["k", "other"]) == {"k": b"old"}


def test_a_file_damaged_in_its_middle_is_an_error_that_says_to_remove_it(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with Store(path) as store:
        store.remember("n", {str(i): b"x" * 1000 for i in range(500)})
    pages = bytearray(path.read_bytes())
    pages[8 * 4096 :] = b"\xa5" * (len(pages) - 8 * 4096)
    path.write_bytes(pages)
    with Store(path) as store, pytest.raises(InfrastructureError, match="malformed") as seen:
        store.cached("n", [str(i) for i in range(500)])
    assert "remove it" in str(seen.value.remedy)


def test_a_state_that_another_process_keeps_locked_is_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchwright.core.store.BUSY_WAIT_S", 0.1)
    with Store(tmp_path / "state.db") as one, Store(tmp_path / "state.db") as two, one.transaction():
        with pytest.raises(InfrastructureError, match="locked") as seen:
            two.remember("n", {"k": b"v"})
        assert "another process" in str(seen.value.remedy)
