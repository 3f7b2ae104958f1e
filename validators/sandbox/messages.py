"""What is said to the launcher and what it says back, and keeping a script's output in bounded memory."""

from __future__ import annotations

import marshal
import os
import subprocess
import time
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from ...core.errors import PrerequisiteError
from ...core.models import Output
from .contract import DISK, HOME, WORK, Observation, Run

__all__ = [
    "HEAD_BYTES",
    "OVERTIME_S",
    "REPORT_BYTES",
    "SETUP_S",
    "TAIL_BYTES",
    "Deadline",
    "Keeper",
    "Launcher",
    "launcher",
    "message",
    "message_outside",
    "observe",
]

HEAD_BYTES = TAIL_BYTES = 32 * 1024
REPORT_KEYS = frozenset(
    (
        "absent",
        "artifact",
        "broken",
        "disk",
        "done",
        "duration",
        "entries",
        "expired",
        "failed",
        "left",
        "memory",
        "over",
        "ready",
        "shell",
        "started",
    )
)
REPORT_BYTES = 64 * 1024
SETUP_S = 120.0
"""From the start of a sandbox to that of the script: for copying the tree in."""
OVERTIME_S = 10.0
"""After the wall limit the launcher ends the script and reports; a sandbox silent for so long is killed."""


MODULES = ("watch", "attend")
"""Modules of ``launcher/`` in the order in which they are needed; last comes ``inside`` or ``outside``."""
LOAD = """\
import marshal, os, sys
size = data = b""
while not size.endswith(b"\\n"):
    size += os.read(0, 1) or sys.exit(1)
while len(data) < int(size):
    data += os.read(0, int(size) - len(data)) or sys.exit(1)
for name, code in marshal.loads(data):
    module = sys.modules["launcher." + name] = type(sys)(name)
    module.__package__ = "launcher"
    exec(code, module.__dict__)
module.main()
"""
"""Loads the launcher's modules from standard input instead of from files; their imports find each other by name."""
COMPILE = """\
import marshal, sys
parts = marshal.loads(sys.stdin.buffer.read())
parts = [(name, compile(text, name, "exec", optimize=2)) for name, text in parts]
sys.stdout.buffer.write(marshal.dumps(parts))
"""


class Launcher(NamedTuple):
    """How to start it: ``command``, and then ``code`` on its standard input, before the message.

    So it needs no file where it runs, and the command stays short: the engine copies that many times.
    """

    command: tuple[str, ...]
    code: bytes


@cache
def launcher(python: str, *, compiled: bool = True, main: str = "inside") -> Launcher:
    """The launcher for an interpreter that has nothing but the standard library.

    ``compiled``: ``python`` is also an interpreter of this machine, and compiles the text once here; else it is
    compiled at each start, which takes some 10 ms more. The text is this project's own, nothing of a task's is in it.

    Raises:
        PrerequisiteError: that interpreter cannot be started here.
    """
    texts = [(name, files(__package__).joinpath("launcher", f"{name}.py").read_text()) for name in (*MODULES, main)]
    code = marshal.dumps(texts, 2)  # a form that every Python 3 reads
    if compiled:
        try:
            answer = subprocess.run([python, "-I", "-S", "-c", COMPILE], input=code, capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise PrerequisiteError(f"the interpreter cannot be started: {error}", where=python) from error
        code = answer.stdout
    return Launcher((python, "-I", "-S", "-c", LOAD), b"%d\n" % len(code) + code)


def message(run: Run, sandbox: str, *, work: str = WORK, tree: str = "", disk: str = DISK, home: str = HOME) -> bytes:
    """The launcher's instruction inside; ``tree``: where it finds what it must copy, empty where it need not."""
    variables = run.environment(sandbox) | {"HOME": home}
    return _packed(
        run.interpreter,
        run.name,
        work,
        run.folder,
        tree,
        disk,
        repr(run.limits.timeout_s),
        run.success.path or "",
        *(f"{name}={value}" for name, value in variables.items()),
        script=run.script,
    )


def message_outside(run: Run, work: str, command: Sequence[str]) -> bytes:
    """The instruction for the launcher outside: ``work`` is the work area as it finds it, ``command`` the sandbox."""
    limit, artifact = repr(run.limits.timeout_s), run.success.path or ""
    return _packed(run.name, work, run.folder, limit, artifact, *command, script=run.script)


def _packed(*fields: str, script: bytes) -> bytes:
    body = b"".join(os.fsencode(part) + b"\0" for part in (str(len(fields)), *fields)) + script
    return f"{len(body)}\n".encode() + body


class Deadline:
    """When to stop listening: first for the script's start, then for its end."""

    def __init__(self, seconds: float) -> None:
        self.started = False
        self._end = time.monotonic() + seconds

    def start(self, seconds: float) -> None:
        self.started = True
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left, more than none.

        Raises:
            TimeoutError: none are.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


class Keeper:
    """The first and the last bytes of a stream, and how many there were."""

    def __init__(self, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> None:
        self._head_size, self._tail_size = head, tail
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self._head_size - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail += data[-self._tail_size :]
            del self._tail[: -self._tail_size]

    def output(self) -> Output:
        """As text: what is no UTF-8, or was cut in the middle of a character, shows as U+FFFD."""
        if self.total <= self._head_size + self._tail_size:
            return Output(head=_text(self._head + self._tail), bytes=self.total)
        return Output(head=_text(self._head), tail=_text(self._tail), bytes=self.total)

    @property
    def head(self) -> str:
        return _text(self._head)


def _text(data: bytes | bytearray) -> str:
    return data.decode("utf-8", "replace")


def observe(report: str, keeper: Keeper, duration_s: float, *, output_exceeded: bool = False) -> Observation:
    """Read the launcher's report; what is no line of it was said by the sandbox's own machinery."""
    told: dict[str, str] = {}
    strange: list[str] = []
    for line in report.splitlines():
        key, _, value = line.partition(" ")
        if key in REPORT_KEYS:
            told[key] = value
        elif line.strip():
            strange.append(line.strip())
    finished = "done" in told
    entries = [int(part) for part in told.get("entries", "0 0 0").split()]
    memory = [int(part) for part in told["memory"].split()] if "memory" in told else None
    status, _, program = told.get("failed", "").partition(" ")
    trouble = told.get("broken", "")
    if not finished and not trouble and "absent" not in told:
        trouble = "; ".join(strange)[:2000]
    return Observation(
        output=keeper.output(),
        duration_s=float(told.get("duration", duration_s)),
        finished=finished,
        timed_out="expired" in told,
        output_exceeded=output_exceeded,
        shell_status=int(told["shell"]) if "shell" in told else None,
        failed_entry=(int(status), program) if status else None,
        entries_ended=entries[0],
        entries_left=entries[1],
        not_found=entries[2],
        background_left=int(told.get("left", 0)),
        peak_memory_bytes=memory[0] if memory and memory[0] >= 0 else None,
        out_of_memory_kills=memory[1] if memory else 0,
        disk_full=told.get("disk", "0 0 0").endswith("1"),
        folder_absent="absent" in told,
        artifact_bytes=int(told["artifact"]) if "artifact" in told else None,
        trouble=trouble,
    )
