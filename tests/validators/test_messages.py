"""The launcher's report, and output in bounded memory."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.validators.sandbox.messages import Deadline, Keeper, launcher, observe


def test_a_whole_report_is_read() -> None:
    report = (
        "started \nentries 2 1 0\nfailed 3 python3.11\nshell 0\nleft 4\ndisk 10 100 1\n"
        "memory 4096 2\nduration 1.25\ndone \n"
    )
    seen = observe(report, Keeper(), 9.0)
    assert (seen.finished, seen.shell_status, seen.failed_entry) == (True, 0, (3, "python3.11"))
    assert (seen.entries_ended, seen.entries_left, seen.background_left) == (2, 1, 4)
    assert (seen.peak_memory_bytes, seen.out_of_memory_kills, seen.disk_full) == (4096, 2, True)
    assert seen.duration_s == 1.25


def test_a_torn_report_is_no_end_and_strange_lines_are_the_machinerys_words() -> None:
    seen = observe("bwrap: cannot do this\nstarted \nshell 0\n", Keeper(), 2.0)
    assert not seen.finished
    assert seen.trouble == "bwrap: cannot do this"
    assert seen.duration_s == 2.0


@given(st.lists(st.binary(max_size=50)), st.integers(1, 40), st.integers(1, 40))
def test_head_and_tail_are_the_streams_own(parts: list[bytes], head: int, tail: int) -> None:
    keeper = Keeper(head, tail)
    for part in parts:
        keeper.add(part)
    whole = b"".join(parts)
    output = keeper.output()
    assert output.bytes == len(whole)
    if len(whole) <= head + tail:
        assert output.head == whole.decode("utf-8", "replace")
        assert output.tail == ""
    else:
        assert output.head == whole[:head].decode("utf-8", "replace")
        assert output.tail == whole[-tail:].decode("utf-8", "replace")


def test_a_deadline_begins_anew_with_the_script() -> None:
    deadline = Deadline(0.01)
    time.sleep(0.02)
    with pytest.raises(TimeoutError):
        deadline.left()
    deadline.start(5)
    assert 4 < deadline.left() <= 5


def test_the_launcher_needs_nothing_but_the_interpreter() -> None:
    program = launcher(sys.executable)
    answer = subprocess.run(program.command, stdin=subprocess.DEVNULL, capture_output=True)
    assert (answer.returncode, answer.stdout, answer.stderr) == (1, b"", b"")
    cut = subprocess.run(program.command, input=program.code[:-1], capture_output=True)
    assert (cut.returncode, cut.stdout, cut.stderr) == (1, b"", b"")
    assert sum(map(len, program.command)) < 1000  # an engine copies it many times
