"""The launcher as the first process inside a sandbox; below a plain process it is only the script's parent.

The script cannot reach it: as process 1 of its namespace it takes no signal from inside, it is not dumpable (no
ptrace, no /proc/1/fd), and its descriptors are closed in the script.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # as in watch.py
import os
import sys
import time

from .attend import PR_SET_DUMPABLE, Disk, attend, receive, seized, settle, tell, written
from .watch import Watch, prctl


def main() -> None:
    fields, script = receive()
    launch(*fields, script=script)


def launch(
    program: str,
    name: str,
    root: str,
    inside: str,
    tree: str,
    disk_at: str,
    timeout: str,
    artifact: str,
    *variables: str,
    script: bytes,
) -> None:
    disk = Disk(disk_at)
    os.makedirs(root, exist_ok=True)
    if tree:
        copy(tree, root)
    folder = os.path.normpath(os.path.join(root, inside))
    if not os.path.isdir(folder):
        tell("absent", inside)
        return
    path = os.path.join(folder, name)
    if os.path.lexists(path):
        os.unlink(path)  # it may be a link
    with open(path, "xb") as file:
        file.write(script)
    environment = dict(item.split("=", 1) for item in variables)
    os.makedirs(environment.get("HOME", root), exist_ok=True)

    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    read, write = os.pipe()
    main = os.fork()
    if main == 0:
        try:
            settle(read, 1)
            os.chdir(folder)
            os.execvpe(program, [program, "./" + name if name.startswith("-") else name], environment)  # noqa: S606
        except OSError as error:
            os.write(1, f"{program}: {error.strerror}\n".encode())
        os._exit(127)
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    if not seized(main):
        return
    watch, wall = Watch(main), time.time()
    tell("started")
    os.write(write, b"g")
    duration = attend(watch, disk, float(timeout))
    if artifact:
        try:  # noqa: SIM105 - contextlib would have to be imported at each start
            written(os.lstat(os.path.join(root, artifact)), wall)
        except OSError:
            pass
    group = control_group() if os.getpid() == 1 else None  # else the machine's own group is what one would see
    if group:
        tell("memory", " ".join(group))
    tell("duration", duration)
    tell("done")


def copy(tree: str, folder: str) -> None:
    """Fill the work area from the read-only tree."""
    child = os.fork()
    if child == 0:
        os.dup2(2, 1)
        os.execvp("cp", ["cp", "-R", "-P", "-p", "--", tree + "/.", folder])  # noqa: S606
    if os.waitpid(child, 0)[1] != 0:
        tell("broken", "the tree could not be copied into the work area: is disk_bytes large enough for it?")
        sys.exit(1)


def control_group() -> tuple[str, str] | None:
    """(peak memory, out-of-memory kills) of the group this runs in, where it can be seen from inside."""
    unified = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
    events = "memory.events" if unified else "memory/memory.oom_control"
    try:
        with open("/sys/fs/cgroup/" + events) as lines:
            kills = [line.split()[1] for line in lines if line.startswith("oom_kill ")]
    except OSError:
        return None
    try:
        with open("/sys/fs/cgroup/" + ("memory.peak" if unified else "memory/memory.max_usage_in_bytes")) as value:
            peak = value.read().strip()
    except OSError:
        peak = "-1"  # Linux before 5.19
    return peak, (kills or ["0"])[0]
