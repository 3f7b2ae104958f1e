"""Control groups of both versions, on file trees laid out as the kernel lays them."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from benchwright.core.errors import PrerequisiteError
from benchwright.core.models import Limits
from benchwright.validators.sandbox.cgroups import GroupsV1, GroupsV2, find_groups
from benchwright.validators.sandbox.contract import abandoned, owner

LIMITS = Limits(memory_bytes=64 << 20, processes=20, cpus=0.5)


@pytest.fixture
def unified(tmp_path: Path) -> Path:
    """A recorded /sys/fs/cgroup of version 2, with a group that has lived."""
    group = tmp_path / "benchwright" / "lived"
    group.mkdir(parents=True)
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory hugetlb pids rdma\n")
    (group / "memory.swap.max").write_text("max\n")
    (group / "memory.peak").write_text("20217856\n")
    (group / "memory.events").write_text("low 0\nhigh 0\nmax 31\noom 1\noom_kill 1\noom_group_kill 0\n")
    (group / "cgroup.procs").write_text("")
    return tmp_path


@pytest.fixture
def separate(tmp_path: Path) -> Path:
    """A recorded /sys/fs/cgroup of version 1."""
    for controller in ("memory", "pids", "cpu", "freezer"):
        (tmp_path / controller / "benchwright" / "lived").mkdir(parents=True)
    memory = tmp_path / "memory" / "benchwright" / "lived"
    (memory / "memory.max_usage_in_bytes").write_text("67108864\n")
    (memory / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
    return tmp_path


def test_version_2_sets_limits_and_reads_counters(unified: Path) -> None:
    groups = GroupsV2(unified)
    groups.enter("lived")
    joined = groups.begin("fresh", LIMITS)
    group = unified / "benchwright" / "fresh"
    assert joined == [group / "cgroup.procs"]
    assert (group / "memory.max").read_text() == str(64 << 20)
    assert int((group / "pids.max").read_text()) >= 20
    assert (group / "cpu.max").read_text() == "50000 100000"
    assert (unified / "benchwright" / "cpu.weight").read_text() == "200"  # with the one that has lived
    assert (unified / "cgroup.subtree_control").read_text() == "+memory +pids +cpu"
    assert (groups.peak_bytes("lived"), groups.out_of_memory_kills("lived")) == (20217856, 1)
    assert list(groups.names()) == ["fresh", "lived"]


def test_version_2_kills_a_tree_at_once_where_the_kernel_can(unified: Path) -> None:
    kill = unified / "benchwright" / "lived" / "cgroup.kill"
    kill.write_text("")
    GroupsV2(unified).kill("lived")
    assert kill.read_text() == "1"


def test_version_2_kills_process_by_process_where_it_cannot(unified: Path) -> None:
    process = subprocess.Popen(["sleep", "60"])
    members = unified / "benchwright" / "lived" / "cgroup.procs"
    members.write_text(f"{process.pid}\n")

    class Emptied(GroupsV2):
        """The recorded file does not empty itself as the kernel's does."""

        def kill(self, name: str) -> None:
            members.unlink(missing_ok=True) if process.poll() is not None else super().kill(name)

    os.kill(process.pid, 0)
    threading.Thread(target=lambda: (process.wait(), members.write_text(""))).start()
    Emptied(unified).kill("lived")
    assert process.wait() == -9


def test_a_counter_that_an_old_kernel_lacks_is_unknown_not_zero(unified: Path) -> None:
    (unified / "benchwright" / "lived" / "memory.peak").unlink()
    assert GroupsV2(unified).peak_bytes("lived") is None


def test_version_1_sets_limits_and_reads_counters(separate: Path) -> None:
    groups = GroupsV1(separate)
    groups.enter("lived")
    assert groups.begin("lived", LIMITS) == []
    memory = separate / "memory" / "benchwright" / "lived"
    assert (memory / "memory.limit_in_bytes").read_text() == str(64 << 20)
    assert (memory / "memory.swappiness").read_text() == "0"
    assert (separate / "cpu" / "benchwright" / "cpu.shares").read_text() == "1024"
    assert (separate / "cpu" / "benchwright" / "lived" / "cpu.cfs_quota_us").read_text() == "50000"
    assert (memory / "tasks").read_text() == str(threading.get_native_id())
    (memory / "memory.max_usage_in_bytes").write_text("67108864\n")
    (memory / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 5\n")
    assert (groups.peak_bytes("lived"), groups.out_of_memory_kills("lived")) == (67108864, 2)


def test_what_is_mounted_chooses_the_version(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu io")
    with pytest.raises(PrerequisiteError, match="memory, pids"):
        find_groups(tmp_path)
    (tmp_path / "cgroup.controllers").unlink()
    (tmp_path / "memory").mkdir()
    with pytest.raises(PrerequisiteError, match="cpu, pids"):
        find_groups(tmp_path)


def test_an_owner_is_abandoned_only_when_its_process_is_gone() -> None:
    process = subprocess.Popen(["sleep", "60"])
    mine = owner()
    start = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19]
    theirs = "-".join([*mine.split("-")[:-2], str(process.pid), start])
    assert not abandoned(mine)
    assert not abandoned(theirs)
    process.kill()
    process.wait()
    assert abandoned(theirs)
    assert not abandoned(theirs.replace(theirs.split("-")[0], "otherboot"))
    assert not abandoned("nonsense")
