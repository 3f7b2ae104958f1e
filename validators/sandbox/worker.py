"""A worker of the bubblewrap sandbox: private mounts, a control group and a launcher, made once for run after run."""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ...core.errors import InfrastructureError
from .cgroups import Groups
from .contract import DISK, WORK, Observation, Run
from .messages import launcher, message_outside
from .mounts import NOBODY, Stage
from .pipes import PATH, Ear

__all__ = ["Worker"]

READY_S = 30.0
T = TypeVar("T")


class Worker:
    """Executes one run at a time.

    Its thread holds the mounts, which vanish with it, and is what starts the launcher: so that has the thread's group
    and sees its mounts, while the toolkit's other threads see nothing of either.
    """

    def __init__(self, name: str, groups: Groups) -> None:
        self.name = name
        self._groups = groups
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="benchwright-start")
        self._lock = threading.Lock()
        self._stage: Stage | None = None
        self._launcher: _Launcher | None = None
        self._ended = False

    def execute(self, run: Run, command: Callable[[Stage, Path], Sequence[str]]) -> Observation:
        """Run it in a fresh work area. ``command`` gives the sandbox's own, for the mounts and the area made.

        Raises:
            OSError: the machine does not give what is needed.
        """
        stage, served = self._ready()
        groups = self._groups.begin(self.name, run.limits)
        told = False
        try:
            message = self._do(_prepare, run, stage, command)
            ear = Ear(run)
            told = self._attend(served, ear, message, groups)
        finally:
            if not told:
                self._end_launcher()
            self._groups.kill(self.name, spare=served.pid)
            self._do(stage.clear)
        seen = ear.observation()
        return replace(
            seen,
            peak_memory_bytes=self._groups.peak_bytes(self.name),
            out_of_memory_kills=self._groups.out_of_memory_kills(self.name),
            # what bubblewrap itself says goes where the script's words would go
            trouble=f"{seen.trouble}: {seen.output.head.strip()}" if seen.trouble and told else seen.trouble,
        )

    def _attend(self, served: _Launcher, ear: Ear, message: bytes, groups: Sequence[Path]) -> bool:
        output, output_end = os.pipe()
        descriptors = [output_end]
        try:
            os.fchown(output_end, NOBODY, NOBODY)  # so that the script may open /dev/stdout
            descriptors += [os.open(group, os.O_WRONLY) for group in groups]
            served.instruct(message, descriptors)
        except BaseException:
            os.close(output)
            raise
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        try:
            return ear.listen(output, served.channel.fileno())
        finally:
            os.close(output)

    def _ready(self) -> tuple[Stage, _Launcher]:
        if self._stage is None:
            self._do(self._groups.enter, self.name)
            self._stage = self._do(Stage)
        with self._lock:
            if self._ended:
                raise OSError("interrupted")
            if self._launcher is None:
                self._launcher = self._do(_Launcher)
            return self._stage, self._launcher

    def _do(self, what: Callable[..., T], *arguments: Any) -> T:
        """Do it in the thread."""
        return self._thread.submit(what, *arguments).result()

    def _end_launcher(self) -> None:
        with self._lock:
            if self._launcher is not None:
                self._launcher.end()
                self._launcher = None

    def end(self) -> None:
        """End what runs, and let nothing more begin. Called from any thread."""
        with self._lock:
            self._ended = True
            if self._launcher is not None:
                self._launcher.kill()
        self._groups.kill(self.name)

    def close(self) -> None:
        """Give everything back; nothing may run any more."""
        self._end_launcher()
        self._thread.shutdown()
        self._groups.remove(self.name)


def _prepare(run: Run, stage: Stage, command: Callable[[Stage, Path], Sequence[str]]) -> bytes:
    area = stage.area(run.limits.disk_bytes, run.tree)
    return message_outside(run, str(area / os.path.relpath(WORK, DISK)), command(stage, area))


class _Launcher:
    """``launcher/outside.py``, started by the calling thread and ready to be instructed."""

    def __init__(self) -> None:
        program = launcher(sys.executable, main="outside")
        self.channel, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                program.command,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=theirs.fileno(),
                env={"PATH": PATH},
                cwd="/",
            )
        self.pid = self._process.pid
        try:
            self.channel.sendall(program.code)
            self._wait()
        except BaseException:
            self.end()
            raise

    def _wait(self) -> None:
        told, deadline = b"", time.monotonic() + READY_S
        with selectors.DefaultSelector() as selector:
            selector.register(self.channel, selectors.EVENT_READ)
            while told != b"ready \n":
                selector.select(max(0.0, deadline - time.monotonic()))
                self.channel.setblocking(False)
                data = self.channel.recv(4096) if time.monotonic() < deadline else b""
                told += data
                if not data:
                    raise InfrastructureError(f"the launcher did not start: {told.decode(errors='replace')[-500:]}")
        self.channel.setblocking(True)

    def instruct(self, message: bytes, descriptors: Sequence[int]) -> None:
        sent = socket.send_fds(self.channel, [message], list(descriptors))
        self.channel.sendall(message[sent:])

    def kill(self) -> None:
        """With it the kernel ends every process that it traces."""
        self._process.kill()

    def end(self) -> None:
        self.kill()
        self._process.wait()
        with suppress(OSError):
            self.channel.close()
