"""The launcher: the first process inside every sandbox. It starts the script, watches it, and tells how it ended.

It is carried in as source text (``python3 -I -S -c``) and needs nothing but Python 3.8 or newer and Linux, so any
image with a ``python3`` will do. Comes in: one message on standard input (see ``messages.py``). Goes out: the
script's output on descriptor 1, and lines ``key value`` on descriptor 2, which the script never holds.

How an exit status is kept from being masked: the launcher traces the script (ptrace, at fork, exec and exit only), so
it sees the status of *every* process, whatever the shell makes of it: ``python x.py; true``, a pipe, ``|| true``, a
subshell, an absolute path, ``xargs``. An *entry point* is an outermost Python process: one that runs a Python
interpreter below no other. Its limits: a process started with CLONE_UNTRACED is not watched (it is still ended), and
in a script that starts no Python only the shell's own status and commands that were not found are known.

The script cannot reach the launcher: as process 1 of its namespace it takes no signal from inside, it is not
dumpable (no ptrace, no /proc/1/fd), and its descriptors are closed in the script.
"""

from __future__ import annotations

import _ctypes  # as below: the Python module around it costs another 4 ms
import _signal as signal  # type: ignore[import-not-found]  # the C module: `signal` costs 4 ms of enum at each start
import os
import resource
import sys
import time

PTRACE_CONT, PTRACE_GETEVENTMSG, PTRACE_SEIZE, PTRACE_LISTEN = 7, 0x4201, 0x4206, 0x4208
OPTIONS = 0x02 | 0x04 | 0x08 | 0x10 | 0x100000  # fork, vfork, clone, exec; all are killed when the launcher dies
EVENT_FORKS, EVENT_EXEC, EVENT_STOP = (1, 2, 3), 4, 128
WALL = 0x40000000  # __WALL: threads and processes alike
STOPPING = (19, 20, 21, 22)  # SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU
PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 4, 38
GRACE_S = 0.4  # for what the script left behind to end by itself, as `tee` does behind a process substitution
TICK_S = 0.05  # between looks at the disk's filling, while nothing happens


class Word(_ctypes._SimpleCData):  # type: ignore[type-arg]
    """A C long: wide enough for every argument here, addresses included."""

    _type_ = "l"


class Function(_ctypes.CFuncPtr):
    """A function of the C library that takes and gives longs."""

    _flags_ = _ctypes.FUNCFLAG_CDECL
    _restype_ = Word


def function(name: str, arguments: int) -> Function:
    found = Function(_ctypes.dlsym(_ctypes.dlopen(None, 0), name))  # type: ignore[arg-type]
    found.argtypes = (Word,) * arguments
    return found


ptrace, prctl = function("ptrace", 4), function("prctl", 5)


def tell(key: str, value: object = "") -> None:
    os.write(2, f"{key} {value}\n".encode("utf-8", "backslashreplace"))


def receive() -> tuple[list[str], bytes]:
    """The message: decimal length, newline, then fields ended by NUL; what follows the last is the script."""
    data = b""
    while b"\n" not in data:
        part = os.read(0, 65536)
        if not part:
            sys.exit(1)
        data += part
    head, data = data.split(b"\n", 1)
    while len(data) < int(head):
        part = os.read(0, 1 << 20)
        if not part:
            sys.exit(1)
        data += part
    count, data = data.split(b"\0", 1)
    *fields, script = data.split(b"\0", int(count))
    return [os.fsdecode(field) for field in fields], script


class Process:
    """One watched process."""

    def __init__(self, below: bool) -> None:
        self.below = below
        """Started by an entry point, or by something that one started."""
        self.program: str | None = None
        """What it runs, where it is an entry point."""


class Watch:
    """Every process of the script: who is alive, which are entry points, how each of those ended."""

    def __init__(self, main: int) -> None:
        self.main = main
        self.alive = {main: Process(below=False)}
        self.held: set[int] = set()  # children seen before the event of their parent: they wait for it
        self.status: int | None = None  # the main process's
        self.entries = 0
        self.ended = 0
        self.failed: tuple[int, str] | None = None  # (status, what) of the first entry point that failed
        self.not_found = 0  # processes that ended with 126 or 127 without being an entry point

    def step(self, wait_s: float) -> bool:
        """Handle all that has happened; where nothing has, wait for it at most ``wait_s``. False: nobody is left."""
        quiet = True
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | WALL)
            except ChildProcessError:
                return False
            if pid == 0:
                break
            quiet = False
            self.event(pid, status)
        if quiet:
            signal.sigtimedwait([signal.SIGCHLD], wait_s)
        return True

    def event(self, pid: int, status: int) -> None:
        if not os.WIFSTOPPED(status):
            self.over(pid, -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
            return
        number, event = status >> 8 & 0xFF, status >> 16
        if event in EVENT_FORKS:
            self.adopt(self.message(pid), self.alive.get(pid))
        elif event == EVENT_EXEC:
            self.replaced(pid)
        elif event == EVENT_STOP and number in STOPPING:
            ptrace(PTRACE_LISTEN, pid, 0, 0)
            return
        elif event == EVENT_STOP and pid not in self.alive:
            self.held.add(pid)
            return
        ptrace(PTRACE_CONT, pid, 0, 0 if event else number)

    def message(self, pid: int) -> int:
        value = Word(0)
        ptrace(PTRACE_GETEVENTMSG, pid, 0, _ctypes.addressof(value))
        return int(value.value)

    def adopt(self, child: int, parent: Process | None) -> None:
        below = parent is not None and (parent.below or parent.program is not None)
        self.alive.setdefault(child, Process(below))
        if child in self.held:
            self.held.discard(child)
            ptrace(PTRACE_CONT, child, 0, 0)

    def replaced(self, pid: int) -> None:
        """``pid`` runs another program now (a thread that does so takes the whole process's number)."""
        process = self.alive.setdefault(pid, Process(below=False))
        if process.below or process.program is not None:
            return
        try:
            program = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
        except OSError:
            return
        if program.startswith(("python", "pypy")):
            process.program = program
            self.entries += 1

    def over(self, pid: int, status: int) -> None:
        process = self.alive.pop(pid, None)
        for child in list(self.held):  # their parent may have died before it could speak for them
            self.adopt(child, process)
        if pid == self.main:
            self.status = status
        if process is None:
            return
        if process.program is not None:
            self.ended += 1
            if status != 0 and self.failed is None:
                self.failed = (status, process.program)
        elif status in (126, 127) and not process.below:
            self.not_found += 1

    def kill(self) -> None:
        """End all that is left. As process 1 that is everything else in the namespace."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if os.getpid() == 1:
                end(-1)
            else:
                for pid in [*self.alive, *self.held]:
                    end(pid)
            if not self.step(0.02):
                return


def end(pid: int) -> None:
    try:  # noqa: SIM105 - contextlib would have to be imported at each start
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


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


def start(command: list[str], folder: str, variables: dict[str, str], go: int) -> None:
    """The child: waits until it is traced, then becomes the script."""
    os.read(go, 1)
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
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
    os.chdir(folder)
    os.execvpe(command[0], command, variables)  # noqa: S606


def copy(tree: str, folder: str) -> None:
    """Fill the work area from the read-only tree."""
    child = os.fork()
    if child == 0:
        os.dup2(2, 1)
        os.execvp("cp", ["cp", "-R", "-P", "-p", "--", tree + "/.", folder])  # noqa: S606
    if os.waitpid(child, 0)[1] != 0:
        tell("broken", "the tree could not be copied into the work area: is disk_bytes large enough for it?")
        sys.exit(1)


def written(path: str, since: float) -> None:
    """Tell of the file that success requires, if it is a plain file that has changed since the start."""
    try:
        found = os.lstat(path)
    except OSError:
        return
    if found.st_mode & 0o170000 == 0o100000 and found.st_mtime >= since - 1:
        tell("artifact", found.st_size)


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
    with open(path, "wb") as file:
        file.write(script)
    environment = dict(item.split("=", 1) for item in variables)
    os.makedirs(environment.get("HOME", root), exist_ok=True)

    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    read, write = os.pipe()
    main = os.fork()
    if main == 0:
        try:
            start([program, "./" + name if name.startswith("-") else name], folder, environment, read)
        except OSError as error:
            os.write(1, f"{program}: {error.strerror}\n".encode())
        os._exit(127)
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    if ptrace(PTRACE_SEIZE, main, 0, OPTIONS) != 0:
        os.kill(main, signal.SIGKILL)
        tell("broken", "the script's processes cannot be watched here: ptrace is refused")
        return
    watch = Watch(main)
    began, wall = time.monotonic(), time.time()
    tell("started")
    os.write(write, b"g")

    deadline = began + float(timeout)
    tick = time.monotonic() + TICK_S
    expired = False
    while watch.status is None and not expired:
        watch.step(max(0.0, min(TICK_S, deadline - time.monotonic())))
        expired = time.monotonic() >= deadline and watch.status is None
        if time.monotonic() >= tick:
            disk.look()
            tick = time.monotonic() + TICK_S
    duration = time.monotonic() - began
    disk.look()
    grace = time.monotonic() + (0 if expired else GRACE_S)
    while watch.alive and time.monotonic() < grace and watch.step(0.02):
        pass
    # what is judged is what had ended by now: the processes ended next are not the script's own doing
    tell("entries", f"{watch.ended} {watch.entries - watch.ended} {watch.not_found}")
    if watch.failed:
        tell("failed", f"{watch.failed[0]} {watch.failed[1]}")
    if expired:
        tell("expired")
    else:
        tell("shell", watch.status)
    if watch.alive:
        if not expired:
            tell("left", len(watch.alive))
        watch.kill()
    if artifact:
        written(os.path.join(root, artifact), wall)
    disk.look()
    tell("disk", f"{disk.used} {disk.size} {int(disk.full)}")
    group = control_group() if os.getpid() == 1 else None  # else the machine's own group is what one would see
    if group:
        tell("memory", " ".join(group))
    tell("duration", duration)
    tell("done")


fields, code = receive()
launch(*fields, script=code)
