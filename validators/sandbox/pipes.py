"""Starting a launcher as our own child and listening to it: output on one pipe, its report on another."""

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

__all__ = ["listen"]

CHUNK = 1 << 16
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def listen(
    command: Sequence[str],
    instruction: bytes,
    run: Run,
    kill: Callable[[], None],
    note: Callable[[int], None] = lambda pid: None,
    owner: int | None = None,
    spawn: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen,
) -> Observation:
    """Start ``command``, give it its instruction, read until its report ends, the pipes close or a limit is reached.

    ``spawn`` starts it, ``note`` is told the process started, ``kill`` ends everything that was started. The output
    pipe belongs to the script's user (``owner``), so that it may open /dev/stdout. Whoever still holds the pipes after
    the report is not waited for.
    """
    began = time.monotonic()
    output, output_end = os.pipe()
    report, report_end = os.pipe()
    if owner is not None:
        os.fchown(output_end, owner, owner)
    try:
        process = spawn(
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
    keeper, told, deadline = Keeper(), bytearray(), Deadline(SETUP_S)
    exceeded = late = False
    try:
        _instruct(process, instruction)
        exceeded = _read(output, report, keeper, told, deadline, run)
    except TimeoutError:
        late = True
    finally:
        _drain(output, keeper)
        kill()  # the launcher has nothing more to say, and nothing may outlive it
        os.close(output)
        os.close(report)
        process.wait()
    seen = observe(told.decode("utf-8", "replace"), keeper, time.monotonic() - began, output_exceeded=exceeded)
    return replace(seen, timed_out=True) if late and deadline.started else seen


def _instruct(process: subprocess.Popen[bytes], instruction: bytes) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as pipe:  # it ended before it read: its report says why
        view = memoryview(instruction)
        while view:
            view = view[pipe.write(view) :]


def _read(output: int, report: int, keeper: Keeper, told: bytearray, deadline: Deadline, run: Run) -> bool:
    """Read both pipes; True where the script wrote more than it may."""
    os.set_blocking(output, False)
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        selector.register(report, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(deadline.left()):
                data = os.read(key.fd, CHUNK)
                if not data:
                    selector.unregister(key.fd)
                elif key.fd == output:
                    keeper.add(data)
                    if keeper.total > run.limits.output_bytes:
                        return True
                elif len(told) < REPORT_BYTES:
                    told += data
                    if not deadline.started and b"started" in told:
                        deadline.start(run.limits.timeout_s + OVERTIME_S)
            if told.endswith(b"done \n"):
                return False
    return False


def _drain(output: int, keeper: Keeper) -> None:
    """What the script wrote and nobody has read yet."""
    os.set_blocking(output, False)
    with suppress(BlockingIOError):
        while data := os.read(output, CHUNK):
            keeper.add(data)
