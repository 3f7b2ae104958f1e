"""Listening to a launcher: the script's output on one descriptor, the launcher's report on another."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from .contract import Observation, Run
from .messages import OVERTIME_S, REPORT_BYTES, SETUP_S, Deadline, Keeper, observe

__all__ = ["Ear", "listen"]

CHUNK = 1 << 16
ENDS = (b"done \n", b"over \n")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Ear:
    """Listens to one run, until its report ends, both descriptors close, or a limit is reached."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._began = time.monotonic()
        self._deadline = Deadline(SETUP_S)
        self._keeper, self._told = Keeper(), bytearray()
        self._exceeded = self._late = False

    def listen(self, output: int, report: int) -> bool:
        """True where the launcher itself has ended its report; else what it started must be ended from outside."""
        os.set_blocking(output, False)
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(output, selectors.EVENT_READ)
                selector.register(report, selectors.EVENT_READ)
                while selector.get_map() and not self._exceeded and not self._told.endswith(ENDS):
                    for key, _ in selector.select(self._deadline.left()):
                        data = os.read(key.fd, CHUNK)
                        if not data:
                            selector.unregister(key.fd)
                        elif key.fd == output:
                            self._heard(data)
                        else:
                            self._report(data)
        except TimeoutError:
            self._late = True
        self._drain(output)
        return self._told.endswith(ENDS)

    def _heard(self, data: bytes) -> None:
        self._keeper.add(data)
        self._exceeded = self._keeper.total > self._run.limits.output_bytes

    def _report(self, data: bytes) -> None:
        if len(self._told) < REPORT_BYTES:
            self._told += data
            if not self._deadline.started and b"started" in self._told:
                self._deadline.start(self._run.limits.timeout_s + OVERTIME_S)

    def _drain(self, output: int) -> None:
        """What the script wrote and nobody has read yet; whoever still holds the pipe is not waited for."""
        with suppress(BlockingIOError):
            while not self._exceeded and (data := os.read(output, CHUNK)):
                self._heard(data)

    def observation(self) -> Observation:
        told = self._told.decode("utf-8", "replace")
        seen = observe(told, self._keeper, time.monotonic() - self._began, output_exceeded=self._exceeded)
        return replace(seen, timed_out=True) if self._late and self._deadline.started else seen


def listen(
    command: Sequence[str],
    instruction: bytes,
    run: Run,
    kill: Callable[[], None],
    note: Callable[[int], None] = lambda pid: None,
    owner: int | None = None,
) -> Observation:
    """Start a launcher as our own child, give it its instruction, and listen.

    ``note`` is told the process started, ``kill`` ends everything that was started: the launcher has nothing more to
    say then, and nothing may outlive it. The output pipe belongs to the script's user (``owner``), so that it may open
    /dev/stdout.
    """
    ear = Ear(run)
    output, output_end = os.pipe()
    report, report_end = os.pipe()
    if owner is not None:
        os.fchown(output_end, owner, owner)
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output_end,
            stderr=report_end,
            env={"PATH": PATH},
            bufsize=0,
            cwd="/",
        )
    except BaseException:
        os.close(output)
        os.close(report)
        raise
    finally:
        os.close(output_end)
        os.close(report_end)
    note(process.pid)
    try:
        _instruct(process, instruction)
        ear.listen(output, report)
    finally:
        kill()
        os.close(output)
        os.close(report)
        process.wait()
    return ear.observation()


def _instruct(process: subprocess.Popen[bytes], instruction: bytes) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as pipe:  # it ended before it read: its report says why
        view = memoryview(instruction)
        while view:
            view = view[pipe.write(view) :]
