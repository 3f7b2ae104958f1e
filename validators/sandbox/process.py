"""A plain process: no isolation at all. Only for scripts one trusts, and only when it is asked for by name.

What it does give: a clean environment, a fresh work folder, wall and output limits, resource limits where Linux has
them for a single process, and the end of the whole tree (the launcher traces every process, so none escapes).
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from ...core.errors import PrerequisiteError
from .contract import Capabilities, Observation, Run, abandoned, owner
from .messages import launcher, message
from .pipes import listen

__all__ = ["ProcessSandbox"]

PREFIX = "benchwright-run-"


class ProcessSandbox:
    """Runs on the machine itself, with the user's rights, files and network."""

    name = "process"
    capabilities = Capabilities(
        network_off=False, read_only_system=False, memory=False, processes=False, cpus=False, disk=False, user=False
    )

    def __init__(self) -> None:
        if shutil.which("prlimit") is None:
            raise PrerequisiteError("prlimit is not installed", remedy="apt-get install util-linux")
        self.stopped = False
        self._lock = threading.Lock()
        self._live: set[int] = set()
        self._parent = Path(tempfile.gettempdir())
        for folder in self._parent.glob(f"{PREFIX}*"):
            if abandoned(folder.name.removeprefix(PREFIX).rpartition("-")[0]):
                shutil.rmtree(folder, ignore_errors=True)

    def execute(self, run: Run) -> Observation:
        if not run.system.base.startswith("host:") or run.system.assets is not None:
            raise PrerequisiteError(
                f"the environment {run.system.name} is a system of its own, and a plain process has this machine's",
                remedy="--sandbox docker or --sandbox bubblewrap",
            )
        started: list[int] = []

        def note(pid: int) -> None:
            with self._lock:
                started.append(pid)
                self._live.add(pid)

        with tempfile.TemporaryDirectory(
            dir=self._parent, prefix=f"{PREFIX}{owner()}-", ignore_cleanup_errors=True
        ) as folder:
            at = Path(folder)
            try:
                seen = listen(
                    [*_limits(run), *launcher(run.system.python).command],
                    launcher(run.system.python).code + _instruction(run, at, self.name),
                    run,
                    kill=lambda: _end(started),
                    note=note,
                )
            finally:
                with self._lock:
                    self._live.difference_update(started)
        return replace(seen, trouble="interrupted") if self.stopped and not seen.finished else seen

    def stop(self) -> None:
        with self._lock:
            self.stopped = True
            _end(list(self._live))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _limits(run: Run) -> list[str]:
    """What Linux can hold a single process to: address space and file size. More than nothing, less than a sandbox."""
    return ["prlimit", f"--as={run.limits.memory_bytes}", f"--fsize={run.limits.disk_bytes}", "--core=0", "--"]


def _instruction(run: Run, at: Path, sandbox: str) -> bytes:
    programs = at / "bin"
    programs.mkdir()
    for name in ("python", "python3"):
        (programs / name).symlink_to(run.system.python)
    variables = {"TMPDIR": str(at), "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin"}
    if run.cards:
        variables["CUDA_VISIBLE_DEVICES"] = ",".join(run.cards)
    if run.system.packages is not None:
        variables["PYTHONPATH"] = str(run.system.packages)
        variables["PATH"] = f"{programs}:{run.system.packages}/bin:/usr/local/bin:/usr/bin:/bin"
    return message(
        replace(run, variables={**variables, **run.variables}),
        sandbox,
        work=str(at / "work"),
        tree=str(run.tree or ""),
        disk="",
        home=str(at / "home"),
    )


def _end(pids: list[int]) -> None:
    """End launchers: the kernel ends with each every process that it traces, wherever that went."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, 9)
