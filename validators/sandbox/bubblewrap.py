"""The bubblewrap sandbox: namespaces and control groups without any engine; a fresh one takes some 20 ms.

As root: the work area and an overlay of the tree are mounted privately by the worker's thread (``mounts.py``), then
``setpriv`` becomes nobody and bubblewrap unshares everything. The script never runs as root, nor as the user.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

from ...core.errors import BenchwrightError, PrerequisiteError
from .cgroups import find_groups, reap
from .contract import DISK, Capabilities, Observation, Run, owner
from .messages import Keeper, launcher_command, message
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
SMALLEST_MEMORY = 16 * 1024**2


class BubblewrapSandbox:
    """A fresh set of namespaces a run, ended with the toolkit even where that is killed."""

    name = "bubblewrap"
    capabilities = Capabilities()

    def __init__(self, workers: int = 1) -> None:
        missing = [name for name in ("bwrap", "setpriv") if shutil.which(name) is None]
        if missing:
            raise PrerequisiteError(
                f"{' and '.join(missing)} are not installed", remedy="apt-get install bubblewrap util-linux"
            )
        if os.geteuid() != 0:
            raise PrerequisiteError(
                "bubblewrap without root has no control groups here, so memory and processes would be unlimited",
                remedy="use --sandbox docker, or run as root",
            )
        self._groups = find_groups()
        reap(self._groups)
        self._numbers = count()
        self._threads = threading.local()
        self._lock = threading.Lock()
        self._live: set[str] = set()
        self.stopped = False

    def execute(self, run: Run) -> Observation:
        if run.limits.memory_bytes < SMALLEST_MEMORY:
            raise BenchwrightError(f"a memory limit below {SMALLEST_MEMORY} bytes leaves no room for the launcher")
        began = time.monotonic()
        name = f"{owner()}-{next(self._numbers)}"
        try:
            return self._execute(run, name)
        except OSError as error:
            return Observation(Keeper().output(), time.monotonic() - began, trouble=f"bubblewrap failed: {error}")

    def _execute(self, run: Run, name: str) -> Observation:
        if not hasattr(self._threads, "stage"):
            self._threads.stage = Stage()
        stage: Stage = self._threads.stage
        joined = self._groups.create(name, run.limits)
        try:
            area = stage.area(run.limits.disk_bytes, run.tree)
            try:
                with self._lock:
                    if self.stopped:
                        raise OSError("interrupted")
                    self._live.add(name)
                seen = listen(
                    ["sh", "-c", JOIN, "sh", *map(str, joined), "--", *DROP, *_bwrap(run, stage, area)],
                    message(run, self.name),
                    run,
                    kill=lambda: self._groups.kill(name),
                    owner=NOBODY,
                )
            finally:
                self._groups.kill(name)
                stage.clear()
            return replace(
                seen,
                peak_memory_bytes=self._groups.peak_bytes(name),
                out_of_memory_kills=self._groups.out_of_memory_kills(name),
                trouble="interrupted" if self.stopped and not seen.finished else seen.trouble,
            )
        finally:
            with self._lock:
                self._live.discard(name)
            self._groups.remove(name)

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


def _bwrap(run: Run, stage: Stage, area: Path) -> list[str]:
    system = run.system
    command = ["bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]
    command += ["--as-pid-1", "--clearenv", "--share-net"] if run.network else ["--as-pid-1", "--clearenv"]
    command += ["--ro-bind", str(stage.bind(system.root)), "/", "--proc", "/proc", "--dev", "/dev"]
    command += ["--size", str(max(run.limits.memory_bytes // 2, 1 << 20)), "--perms", "1777", "--tmpfs", "/dev/shm"]  # noqa: S108
    command += ["--remount-ro", "/dev"]
    if system.packages is not None:
        command += ["--ro-bind", str(stage.bind(system.packages)), system.packages_at]
    if run.network:
        for path in ("/etc/resolv.conf", "/etc/ssl", "/usr/share/ca-certificates"):
            command += ["--ro-bind-try", path, path]
    return [*command, "--bind", str(area), DISK, "--", *launcher_command("/usr/bin/python3")]
