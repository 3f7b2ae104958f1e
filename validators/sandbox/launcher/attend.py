"""From the message to the report: what both ways of starting a script have in common."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # as in watch.py
import os
import resource
import sys
import time

from .watch import OPTIONS, PTRACE_SEIZE, Watch, prctl, ptrace

PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 4, 38
GRACE_S = 0.4  # for what the script left behind to end by itself, as `tee` does behind a process substitution
TICK_S = 0.05  # between looks at the disk's filling, while nothing happens


def tell(key: str, value: object = "") -> None:
    os.write(2, f"{key} {value}\n".encode("utf-8", "backslashreplace"))


def receive(data: bytes = b"") -> tuple[list[str], bytes]:
    """The message on descriptor 0, after the part of it that was read already.

    Decimal length, newline, number of fields, then fields, each ended by NUL; what follows the last is the script.
    """
    while b"\n" not in data:
        data += more()
    head, data = data.split(b"\n", 1)
    while len(data) < int(head):
        data += more()
    count, data = data.split(b"\0", 1)
    *fields, script = data.split(b"\0", int(count))
    return [os.fsdecode(field) for field in fields], script


def more() -> bytes:
    part = os.read(0, 1 << 20)
    if not part:
        sys.exit(1)
    return part


class Disk:
    """How full the work area has been. Looked at when a process ends and at each tick."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.size = self.used = 0
        self.full = False
        self.look()

    def look(self) -> None:
        if not self.folder:
            return
        space = os.statvfs(self.folder)
        self.size = space.f_blocks * space.f_frsize
        self.used = max(self.used, self.size - space.f_bfree * space.f_frsize)
        self.full = self.full or space.f_bavail * space.f_frsize < 65536 or (space.f_files > 0 and space.f_ffree == 0)


def seized(pid: int) -> bool:
    """Begin to trace a child. False, with the reason told: that is refused here, and the child has been ended."""
    if ptrace(PTRACE_SEIZE, pid, 0, OPTIONS) == 0:
        return True
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    tell("broken", "the script's processes cannot be watched here: ptrace is refused")
    return False


def settle(go: int, output: int) -> None:
    """In the child: wait until it is traced, then take nothing of the launcher along.

    Standard input is closed, standard error joins the output, and descriptors, mask and signals are a script's usual.
    """
    os.read(go, 1)
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(1, 2)
    os.closerange(3, 4096)
    os.setsid()
    os.umask(0o022)
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGPIPE, 25):  # Python ignores SIGPIPE and SIGXFSZ; a script expects the usual
        signal.signal(number, signal.SIG_DFL)
    try:
        with open("/proc/self/oom_score_adj", "w") as score:
            score.write("500")  # when memory runs out the script goes, not the launcher
    except OSError:
        pass


def attend(watch: Watch, disk: Disk, timeout_s: float) -> float:
    """Watch the script, which has started, to its end or its limit; tell how it went and end what is left.

    Gives the seconds it ran.
    """
    deadline = watch.began + timeout_s
    tick = time.monotonic() + TICK_S
    expired = False
    while watch.status is None and not expired:
        watch.step(max(0.0, min(TICK_S, deadline - time.monotonic())))
        expired = time.monotonic() >= deadline and watch.status is None
        if time.monotonic() >= tick:
            disk.look()
            tick = time.monotonic() + TICK_S
    duration = time.monotonic() - watch.began
    disk.look()
    grace = time.monotonic() + (0 if expired else GRACE_S)
    while watch.left and time.monotonic() < grace and watch.step(0.02):
        pass
    # what is judged is what had ended by now: the processes ended next are not the script's own doing
    tell("entries", f"{watch.ended} {watch.entries - watch.ended} {watch.not_found}")
    if watch.failed:
        tell("failed", f"{watch.failed[0]} {watch.failed[1]}")
    if expired:
        tell("expired")
    else:
        tell("shell", watch.status)
        if watch.left:
            tell("left", watch.left)
    watch.kill()
    disk.look()
    tell("disk", f"{disk.used} {disk.size} {int(disk.full)}")
    return duration


def written(found: os.stat_result, since: float) -> None:
    """Tell of the file that success requires, if it is a plain file that has changed since the start."""
    if found.st_mode & 0o170000 == 0o100000 and found.st_mtime >= since - 1:
        tell("artifact", found.st_size)
