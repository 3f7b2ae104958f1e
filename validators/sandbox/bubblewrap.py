"""The bubblewrap sandbox: namespaces and control groups without any engine; a fresh one takes some 8 ms.

As root: the work area and an overlay of the tree are mounted privately by a worker's thread (``mounts.py``); a
launcher that has become nobody starts bubblewrap, which unshares everything, and traces into it. The script never
runs as root, nor as the user.
"""

from __future__ import annotations

import os
import posixpath
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from queue import Queue
from types import TracebackType
from typing import Self

from ...core.errors import BenchwrightError, PrerequisiteError
from .cgroups import find_groups, reap
from .contract import ASSETS, DISK, WORK, Capabilities, Observation, Run, owner
from .launcher.outside import beneath
from .messages import Keeper
from .mounts import NOBODY, Stage
from .worker import Worker

__all__ = ["BubblewrapSandbox"]

NAMESPACES = ("--unshare-all", "--unshare-user", "--disable-userns")
NUMBERS = count()
"""Groups of one process never share a name, however many sandboxes it opens."""
SMALLEST_MEMORY = 16 * 1024**2


class BubblewrapSandbox:
    """A fresh set of namespaces a run, ended with the toolkit even where that is killed."""

    name = "bubblewrap"
    capabilities = Capabilities()

    def __init__(self, workers: int = 1) -> None:
        bwrap = shutil.which("bwrap")
        if bwrap is None:
            raise PrerequisiteError("bubblewrap is not installed", remedy="apt-get install bubblewrap")
        if os.geteuid() != 0:
            raise PrerequisiteError(
                "bubblewrap without root has no control groups here, so memory and processes would be unlimited",
                remedy="use --sandbox docker, or run as root",
            )
        _probe(bwrap)
        self._bwrap = bwrap
        self._groups = find_groups()
        reap(self._groups)
        self.stopped = False
        self._workers = [Worker(f"{owner()}-{next(NUMBERS)}", self._groups) for _ in range(max(1, workers))]
        self._free: Queue[Worker] = Queue()
        for worker in self._workers:
            self._free.put(worker)

    def execute(self, run: Run) -> Observation:
        if run.limits.memory_bytes < SMALLEST_MEMORY:
            raise BenchwrightError(f"a memory limit below {SMALLEST_MEMORY} bytes leaves no room for the launcher")
        if run.cards:
            raise PrerequisiteError("bubblewrap gives no cards (GPU) to a script", remedy="--sandbox docker")
        began = time.monotonic()
        worker = self._free.get()
        try:
            seen = worker.execute(run, partial(_command, self._bwrap, run))
            return replace(seen, trouble="interrupted") if self.stopped and not seen.finished else seen
        except OSError as error:
            return Observation(Keeper().output(), time.monotonic() - began, trouble=f"bubblewrap failed: {error}")
        finally:
            self._free.put(worker)

    def stop(self) -> None:
        self.stopped = True
        for worker in self._workers:
            worker.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        while not self._free.empty():
            self._free.get().close()


def _probe(bwrap: str) -> None:
    """Raise where root may not mount (in a container without the right) or nobody gets no namespaces."""
    try:
        with ThreadPoolExecutor(max_workers=1) as thread:
            thread.submit(Stage).result()
        root = os.open("/", os.O_PATH)
        os.close(beneath(root, ".", os.O_PATH))
        os.close(root)
    except OSError as error:
        raise PrerequisiteError(
            f"bubblewrap does not work here: {error}",
            remedy="start the container with the right to mount (SYS_ADMIN), on Linux 5.6 or newer, "
            "or use --sandbox docker",
        ) from error
    answer = subprocess.run(
        [bwrap, *NAMESPACES, "--ro-bind", "/", "/", "true"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/", user=NOBODY, group=NOBODY, extra_groups=[],
    )  # fmt: skip
    if answer.returncode:
        raise PrerequisiteError(
            f"bubblewrap does not work here: {answer.stderr.strip() or answer.returncode}",
            remedy="permit unprivileged user namespaces (sysctl user.max_user_namespaces, a profile for AppArmor), "
            "or use --sandbox docker",
        )


def _command(bwrap: str, run: Run, stage: Stage, area: Path) -> list[str]:
    """Bubblewrap, and in it the script; process 1 in there is bubblewrap's own."""
    system = run.system
    command = [bwrap, *NAMESPACES, "--new-session", *(["--share-net"] if run.network else [])]
    command += ["--ro-bind", str(stage.bind(system.root)), "/", "--proc", "/proc", "--dev", "/dev"]
    command += ["--size", str(max(run.limits.memory_bytes // 2, 1 << 20)), "--perms", "1777", "--tmpfs", "/dev/shm"]  # noqa: S108
    command += ["--remount-ro", "/dev"]
    if system.packages is not None:
        command += ["--ro-bind", str(stage.bind(system.packages)), system.packages_at]
    if system.assets is not None:
        command += ["--ro-bind", str(stage.bind(system.assets)), ASSETS]
    if run.network:
        for path in ("/etc/resolv.conf", "/etc/ssl", "/usr/share/ca-certificates"):
            command += ["--ro-bind-try", path, path]
    command += ["--bind", str(area), DISK, "--chdir", posixpath.join(WORK, run.folder), "--clearenv"]
    for name, value in run.environment("bubblewrap").items():
        command += ["--setenv", name, value]
    return [*command, "--", run.interpreter, f"./{run.name}" if run.name.startswith("-") else run.name]
