"""Control groups of our own, for sandboxes that have no engine: limits, peak memory, out-of-memory kills, tree kill.

Which version is used is what is mounted: v2 where ``cgroup.controllers`` lies at the root, else the v1 controllers.
Groups are named after their owner, so that the next start finds and removes those of a killed toolkit, and only those.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from ...core.errors import PrerequisiteError
from ...core.models import Limits
from .contract import abandoned, owner

__all__ = ["Groups", "GroupsV1", "GroupsV2", "find_groups"]

ROOT = Path("/sys/fs/cgroup")
PARENT = "benchwright"
PERIOD_US = 100_000
KILL_WAIT_S = 10.0
STALE_BYTES = 16 * 1024**2
"""Page cache of earlier runs that a run's peak may hold: emptying a group makes every processor work and wait."""


class Groups(Protocol):
    """Makes and removes groups of one version. A group is known by its name and serves one run after another."""

    def enter(self, name: str) -> None:
        """Make a group for the runs that the calling thread will start."""
        ...

    def begin(self, name: str, limits: Limits) -> list[Path]:
        """Set limits and begin to count. Gives the files into which the run's first process writes its number."""
        ...

    def peak_bytes(self, name: str) -> int | None:
        """The most memory the run has held, page cache and files in memory included; None where it is not known."""
        ...

    def out_of_memory_kills(self, name: str) -> int: ...

    def kill(self, name: str, spare: int = 0) -> None:
        """End every process of the group but ``spare``, those that fork meanwhile included, and never ourselves."""
        ...

    def remove(self, name: str) -> None:
        """Remove a group whose thread has ended."""
        ...

    def names(self) -> Iterator[str]:
        """All groups of ours on this machine, whoever their owner is."""
        ...


class GroupsV1:
    """The separate hierarchies: memory, pids, cpu.

    Here a single thread can be in a group, and what it starts is in it from the start. That saves moving a process for
    each run, for which the kernel waits some 15 ms. The memory of the toolkit itself stays where it was charged before.
    """

    CONTROLLERS = ("memory", "pids", "cpu")

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root
        self._kills_before: dict[str, int] = {}

    def _folder(self, controller: str, name: str) -> Path:
        return self._root / controller / PARENT / name

    def enter(self, name: str) -> None:
        for controller in self.CONTROLLERS:
            self._folder(controller, name).mkdir(parents=True, exist_ok=True)
            _write(self._folder(controller, name) / "tasks", threading.get_native_id())
        self._weigh()

    def _weigh(self) -> None:
        """Each worker weighs as much as any other program of a busy machine, and not all of them together."""
        _write(self._root / "cpu" / PARENT / "cpu.shares", 1024 * len(list(self.names())))

    def begin(self, name: str, limits: Limits) -> list[Path]:
        memory, cpu = self._folder("memory", name), self._folder("cpu", name)
        if (_number(memory / "memory.usage_in_bytes") or 0) > STALE_BYTES:
            _write(memory / "memory.force_empty", 0)  # page cache of the run before is not this one's
        limit, both = memory / "memory.limit_in_bytes", memory / "memory.memsw.limit_in_bytes"
        if both.exists():
            # the limit on memory and swap is never the smaller of the two, not even for a moment
            raised = limits.memory_bytes > (_number(both) or 0)
            for path in (both, limit) if raised else (limit, both):
                _write(path, limits.memory_bytes)
        else:
            _write(limit, limits.memory_bytes)
            _write(memory / "memory.swappiness", 0)  # swap is not accounted here: none of it then
        _write(memory / "memory.max_usage_in_bytes", 0)
        self._kills_before[name] = self._kills(name)
        _write(self._folder("pids", name) / "pids.max", limits.processes + SUPPORT)
        _write(cpu / "cpu.cfs_period_us", PERIOD_US)
        _write(cpu / "cpu.cfs_quota_us", int(limits.cpus * PERIOD_US))
        return []

    def peak_bytes(self, name: str) -> int | None:
        return _number(self._folder("memory", name) / "memory.max_usage_in_bytes")

    def out_of_memory_kills(self, name: str) -> int:
        return self._kills(name) - self._kills_before.get(name, 0)

    def _kills(self, name: str) -> int:
        return _entry(self._folder("memory", name) / "memory.oom_control", "oom_kill")

    def kill(self, name: str, spare: int = 0) -> None:
        _kill_all(self._folder("pids", name), spare)

    def remove(self, name: str) -> None:
        for controller in self.CONTROLLERS:
            _remove(self._folder(controller, name))

    def names(self) -> Iterator[str]:
        parents = [self._root / controller / PARENT for controller in self.CONTROLLERS]
        yield from sorted({path.name for parent in parents for path in parent.glob("*") if path.is_dir()})


class GroupsV2:
    """The unified hierarchy: a fresh group for each run, which the run's first process joins.

    ``cgroup.kill`` (Linux 5.14) ends a tree at once; before it, process by process.
    """

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root
        self._parent = root / PARENT

    def enter(self, name: str) -> None:
        for folder in (self._root, self._parent):
            folder.mkdir(exist_ok=True)
            _write(folder / "cgroup.subtree_control", "+memory +pids +cpu")

    def begin(self, name: str, limits: Limits) -> list[Path]:
        group = self._parent / name
        self.remove(name)  # counters begin with the group
        group.mkdir()
        _write(self._parent / "cpu.weight", min(10_000, 100 * len(list(self.names()))))  # each as much as any program
        _write(group / "memory.max", limits.memory_bytes)
        if (group / "memory.swap.max").exists():
            _write(group / "memory.swap.max", 0)
        _write(group / "pids.max", limits.processes + SUPPORT)
        _write(group / "cpu.max", f"{int(limits.cpus * PERIOD_US)} {PERIOD_US}")
        return [group / "cgroup.procs"]

    def peak_bytes(self, name: str) -> int | None:
        return _number(self._parent / name / "memory.peak")  # Linux 5.19

    def out_of_memory_kills(self, name: str) -> int:
        return _entry(self._parent / name / "memory.events", "oom_kill")

    def kill(self, name: str, spare: int = 0) -> None:
        group = self._parent / name
        if (group / "cgroup.kill").exists():
            _write(group / "cgroup.kill", 1)  # who is to be spared is not in here
        _kill_all(group, spare)

    def remove(self, name: str) -> None:
        _remove(self._parent / name)

    def names(self) -> Iterator[str]:
        yield from sorted(path.name for path in self._parent.glob("*") if path.is_dir())


SUPPORT = 4
"""Tasks of the sandbox itself: the launcher, bubblewrap's two, and the thread that starts it."""


def find_groups(root: Path = ROOT) -> Groups:
    """The version that is mounted, if we may make groups in it.

    Raises:
        PrerequisiteError: none is mounted with memory, pids and cpu, or it cannot be written.
    """
    remedy = "run as root on a machine with /sys/fs/cgroup writable, or use --sandbox docker"
    if (root / "cgroup.controllers").exists():
        available = (root / "cgroup.controllers").read_text().split()
        groups: Groups = GroupsV2(root)
    else:
        available = [name for name in GroupsV1.CONTROLLERS if (root / name).is_dir()]
        groups = GroupsV1(root)
    if missing := sorted(set(GroupsV1.CONTROLLERS) - set(available)):
        raise PrerequisiteError(f"control groups without {', '.join(missing)} enforce no limits", remedy=remedy)
    try:
        _try(groups)
    except OSError as error:
        raise PrerequisiteError(
            f"control groups cannot be made here: {error.strerror}", where=str(root), remedy=remedy
        ) from error
    return groups


def _try(groups: Groups) -> None:
    """Make and remove a group, in a thread of its own.

    Raises:
        OSError: that cannot be done.
    """
    name = f"{owner()}-probe"

    def make() -> None:
        groups.enter(name)
        groups.begin(name, Limits())

    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(make).result()
    groups.remove(name)


def reap(groups: Groups) -> None:
    """End and remove the groups of toolkits that were killed."""
    for name in groups.names():
        if abandoned(name.rpartition("-")[0]):
            groups.kill(name)
            groups.remove(name)


def _write(path: Path, value: int | str) -> None:
    path.write_text(str(value))


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _entry(path: Path, key: str) -> int:
    with suppress(OSError):
        for line in path.read_text().splitlines():
            name, _, value = line.partition(" ")
            if name == key:
                return int(value)
    return 0


def _members(group: Path, spare: int) -> list[int]:
    try:
        listed = {int(line) for line in (group / "cgroup.procs").read_text().split()}
        return sorted(listed - {os.getpid(), spare})  # a thread of ours may be in it, under our number
    except OSError:
        return []


def _kill_all(group: Path, spare: int) -> None:
    deadline, pause = time.monotonic() + KILL_WAIT_S, 0.0003
    while (members := _members(group, spare)) and time.monotonic() < deadline:
        for pid in members:
            with suppress(ProcessLookupError):
                os.kill(pid, 9)
        time.sleep(pause)
        pause = min(2 * pause, 0.01)


def _remove(group: Path) -> None:
    """Remove an empty group; the kernel may need a moment to notice that it is."""
    deadline = time.monotonic() + KILL_WAIT_S
    while True:
        try:
            group.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.001)
