"""Control groups of our own, for sandboxes that have no engine: limits, peak memory, out-of-memory kills, tree kill.

Which version is used is what is mounted: v2 where ``cgroup.controllers`` lies at the root, else the v1 controllers.
Groups are named after their owner, so that the next start finds and removes those of a killed toolkit, and only those.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
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


class Groups(Protocol):
    """Makes and removes groups of one version. A group is known by its name."""

    def create(self, name: str, limits: Limits) -> list[Path]:
        """Make a group with limits. Gives the files into which a process writes its number to join."""
        ...

    def peak_bytes(self, name: str) -> int | None:
        """The most memory the group has held, page cache and files in memory included."""
        ...

    def out_of_memory_kills(self, name: str) -> int: ...

    def kill(self, name: str) -> None:
        """End every process of the group, those that fork meanwhile included."""
        ...

    def remove(self, name: str) -> None: ...

    def names(self) -> Iterator[str]:
        """All groups of ours on this machine, whoever their owner is."""
        ...


class GroupsV1:
    """The separate hierarchies: memory, pids, cpu."""

    CONTROLLERS = ("memory", "pids", "cpu")

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root

    def _folder(self, controller: str, name: str) -> Path:
        return self._root / controller / PARENT / name

    def create(self, name: str, limits: Limits) -> list[Path]:
        for controller in self.CONTROLLERS:
            self._folder(controller, name).mkdir(parents=True, exist_ok=True)
        memory, cpu = self._folder("memory", name), self._folder("cpu", name)
        _write(memory / "memory.limit_in_bytes", limits.memory_bytes)
        if (memory / "memory.memsw.limit_in_bytes").exists():
            _write(memory / "memory.memsw.limit_in_bytes", limits.memory_bytes)
        else:
            _write(memory / "memory.swappiness", 0)  # swap is not accounted here: none of it then
        _write(self._folder("pids", name) / "pids.max", limits.processes + SUPPORT)
        _write(cpu / "cpu.cfs_period_us", PERIOD_US)
        _write(cpu / "cpu.cfs_quota_us", int(limits.cpus * PERIOD_US))
        return [self._folder(controller, name) / "cgroup.procs" for controller in self.CONTROLLERS]

    def peak_bytes(self, name: str) -> int | None:
        return _number(self._folder("memory", name) / "memory.max_usage_in_bytes")

    def out_of_memory_kills(self, name: str) -> int:
        return _entry(self._folder("memory", name) / "memory.oom_control", "oom_kill")

    def kill(self, name: str) -> None:
        _kill_all(self._folder("pids", name))

    def remove(self, name: str) -> None:
        for controller in self.CONTROLLERS:
            _remove(self._folder(controller, name))

    def names(self) -> Iterator[str]:
        parents = [self._root / controller / PARENT for controller in self.CONTROLLERS]
        yield from sorted({path.name for parent in parents for path in parent.glob("*") if path.is_dir()})


class GroupsV2:
    """The unified hierarchy. ``cgroup.kill`` (Linux 5.14) ends a tree at once; before it, process by process."""

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root
        self._parent = root / PARENT

    def create(self, name: str, limits: Limits) -> list[Path]:
        for folder in (self._root, self._parent):
            folder.mkdir(exist_ok=True)
            _write(folder / "cgroup.subtree_control", "+memory +pids +cpu")
        group = self._parent / name
        group.mkdir(exist_ok=True)
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

    def kill(self, name: str) -> None:
        group = self._parent / name
        if (group / "cgroup.kill").exists():
            _write(group / "cgroup.kill", 1)
        _kill_all(group)

    def remove(self, name: str) -> None:
        _remove(self._parent / name)

    def names(self) -> Iterator[str]:
        yield from sorted(path.name for path in self._parent.glob("*") if path.is_dir())


SUPPORT = 3
"""Processes of the sandbox itself: the launcher and bubblewrap's two."""


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
    probe = f"{owner()}-probe"
    try:
        groups.create(probe, Limits())
        groups.remove(probe)
    except OSError as error:
        raise PrerequisiteError(
            f"control groups cannot be made here: {error.strerror}", where=str(root), remedy=remedy
        ) from error
    return groups


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


def _members(group: Path) -> list[int]:
    try:
        return [int(line) for line in (group / "cgroup.procs").read_text().split()]
    except OSError:
        return []


def _kill_all(group: Path) -> None:
    deadline, pause = time.monotonic() + KILL_WAIT_S, 0.0003
    while (members := _members(group)) and time.monotonic() < deadline:
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
