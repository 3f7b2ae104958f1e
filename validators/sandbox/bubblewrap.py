"""The bubblewrap sandbox: namespaces and control groups without any engine; a fresh one takes some 20 ms.

As root: the work area and an overlay of the tree are mounted privately by the worker's thread (``mounts.py``), then
``setpriv`` becomes nobody and bubblewrap unshares everything. The script never runs as root, nor as the user.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from queue import Queue
from types import TracebackType
from typing import Any, Self, TypeVar

from ...core.errors import BenchwrightError, PrerequisiteError
from .cgroups import Groups, find_groups, reap
from .contract import DISK, Capabilities, Observation, Run, owner
from .messages import Keeper, compiled_launcher, message
from .mounts import NOBODY, Stage
from .pipes import listen

__all__ = ["BubblewrapSandbox"]

DROP = (
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--no-new-privs",
    "--bounding-set=-all",
    "--inh-caps=-all",
)
JOIN = 'for group; do [ "$group" = -- ] && break; echo $$ > "$group"; shift; done; shift; exec "$@"'
"""Joins the groups named up to ``--``, then becomes what follows: no other process is ever outside them."""
T = TypeVar("T")
NAMESPACES = ("--unshare-all", "--unshare-user", "--disable-userns")
NUMBERS = count()
"""Groups of one process never share a name, however many sandboxes it opens."""
SMALLEST_MEMORY = 16 * 1024**2


class BubblewrapSandbox:
    """A fresh set of namespaces a run, ended with the toolkit even where that is killed."""

    name = "bubblewrap"
    capabilities = Capabilities()

    def __init__(self, workers: int = 1) -> None:
        missing = [name for name in ("bwrap", "setpriv", "unshare") if shutil.which(name) is None]
        if missing:
            raise PrerequisiteError(
                f"{' and '.join(missing)} are not installed", remedy="apt-get install bubblewrap util-linux"
            )
        if os.geteuid() != 0:
            raise PrerequisiteError(
                "bubblewrap without root has no control groups here, so memory and processes would be unlimited",
                remedy="use --sandbox docker, or run as root",
            )
        _probe()
        self._groups = find_groups()
        reap(self._groups)
        self._lock = threading.Lock()
        self._live: set[str] = set()
        self.stopped = False
        self._free: Queue[_Starter] = Queue()
        for _ in range(max(1, workers)):
            self._free.put(_Starter(f"{owner()}-{next(NUMBERS)}", self._groups))

    def execute(self, run: Run) -> Observation:
        if run.limits.memory_bytes < SMALLEST_MEMORY:
            raise BenchwrightError(f"a memory limit below {SMALLEST_MEMORY} bytes leaves no room for the launcher")
        began = time.monotonic()
        starter = self._free.get()
        try:
            return self._execute(run, starter)
        except OSError as error:
            return Observation(Keeper().output(), time.monotonic() - began, trouble=f"bubblewrap failed: {error}")
        finally:
            self._free.put(starter)

    def _execute(self, run: Run, starter: _Starter) -> Observation:
        name = starter.name
        stage = starter.ready()
        joined = self._groups.begin(name, run.limits)
        try:
            with self._lock:
                if self.stopped:
                    raise OSError("interrupted")
                self._live.add(name)
            prepared = starter.do(_prepare, run, stage)
            seen = listen(
                ["sh", "-c", JOIN, "sh", *map(str, joined), "--", *DROP, *prepared] if joined else [*DROP, *prepared],
                message(run, self.name),
                run,
                kill=lambda: self._groups.kill(name),
                owner=NOBODY,
                spawn=starter.start,
            )
            return replace(
                seen,
                peak_memory_bytes=self._groups.peak_bytes(name),
                out_of_memory_kills=self._groups.out_of_memory_kills(name),
                trouble="interrupted" if self.stopped and not seen.finished else seen.trouble,
            )
        finally:
            self._groups.kill(name)
            starter.do(stage.clear)
            with self._lock:
                self._live.discard(name)

    def stop(self) -> None:
        with self._lock:
            self.stopped = True
            live = list(self._live)
        for name in live:
            self._groups.kill(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        while not self._free.empty():
            self._free.get().close()


class _Starter:
    """A thread with private mounts and a control group, in which runs are started; others read what they say.

    Its group may throttle it, so it does nothing else; and the mounts of the toolkit's other threads stay untouched.
    """

    def __init__(self, name: str, groups: Groups) -> None:
        self.name = name
        self._groups = groups
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="benchwright-start")
        self._stage: Stage | None = None

    def ready(self) -> Stage:
        if self._stage is None:
            self.do(self._groups.enter, self.name)
            self._stage = self.do(Stage)
        return self._stage

    def do(self, what: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Do it in the thread."""
        return self._thread.submit(what, *arguments, **named).result()

    def start(self, *arguments: Any, **named: Any) -> subprocess.Popen[bytes]:
        """``subprocess.Popen`` in the thread: what it starts is in the thread's group and sees its mounts."""
        return self.do(subprocess.Popen, *arguments, **named)

    def close(self) -> None:
        self._thread.shutdown()
        self._groups.remove(self.name)


def _probe() -> None:
    """Raise where root may not mount (in a container without the right) or nobody gets no namespaces."""
    namespaces = [*DROP, "bwrap", *NAMESPACES, "--ro-bind", "/", "/", "true"]
    for command, remedy in (
        (["unshare", "--mount", "true"], "start the container with the right to mount (SYS_ADMIN)"),
        (namespaces, "permit unprivileged user namespaces (sysctl user.max_user_namespaces, a profile for AppArmor)"),
    ):
        answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/")
        if answer.returncode:
            raise PrerequisiteError(
                f"bubblewrap does not work here: {answer.stderr.strip() or answer.returncode}",
                remedy=f"{remedy}, or use --sandbox docker",
            )


def _prepare(run: Run, stage: Stage) -> list[str]:
    return _bwrap(run, stage, stage.area(run.limits.disk_bytes, run.tree))


def _bwrap(run: Run, stage: Stage, area: Path) -> list[str]:
    system = run.system
    command = ["bwrap", *NAMESPACES, "--die-with-parent", "--new-session"]
    command += ["--as-pid-1", "--clearenv", "--share-net"] if run.network else ["--as-pid-1", "--clearenv"]
    command += ["--ro-bind", str(stage.bind(system.root)), "/", "--proc", "/proc", "--dev", "/dev"]
    command += ["--size", str(max(run.limits.memory_bytes // 2, 1 << 20)), "--perms", "1777", "--tmpfs", "/dev/shm"]  # noqa: S108
    command += ["--remount-ro", "/dev"]
    if system.packages is not None:
        command += ["--ro-bind", str(stage.bind(system.packages)), system.packages_at]
    if run.network:
        for path in ("/etc/resolv.conf", "/etc/ssl", "/usr/share/ca-certificates"):
            command += ["--ro-bind-try", path, path]
    return [*command, "--bind", str(area), DISK, "--", *compiled_launcher(system.python)]
