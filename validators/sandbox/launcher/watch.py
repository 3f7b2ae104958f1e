"""Watching every process of a script through ptrace, so that no exit status can be masked.

The launcher traces the script at fork, exec and exit only, so it sees the status of *every* process, whatever the
shell makes of it: ``python x.py; true``, a pipe, ``|| true``, a subshell, an absolute path, ``xargs``. An *entry
point* is an outermost Python process: one that runs a Python interpreter below no other. Its limits: a process started
with CLONE_UNTRACED is not watched (it is still ended), and in a script that starts no Python only the shell's own
status and commands that were not found are known.
"""

from __future__ import annotations

import _ctypes  # as below: the Python module around it costs another 4 ms
import _signal as signal  # type: ignore[import-not-found]  # the C module: `signal` costs 4 ms of enum at each start
import os
import time

PTRACE_CONT, PTRACE_GETEVENTMSG, PTRACE_SEIZE, PTRACE_LISTEN = 7, 0x4201, 0x4206, 0x4208
OPTIONS = 0x02 | 0x04 | 0x08 | 0x10 | 0x100000  # fork, vfork, clone, exec; all are killed when the launcher dies
EVENT_FORKS, EVENT_EXEC, EVENT_STOP = (1, 2, 3), 4, 128
WALL = 0x40000000  # __WALL: threads and processes alike
STOPPING = (19, 20, 21, 22)  # SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU
AT_ONCE = 256  # events handled before the clock is looked at again: a storm of forks never lets them run out
KILL_S = 10.0


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


class Process:
    """One watched process."""

    def __init__(self, below: bool = False, ours: bool = False) -> None:
        self.below = below
        """Started by an entry point, or by something that one started."""
        self.ours = ours
        """The sandbox's own machinery, no part of the script."""
        self.program: str | None = None
        """What it runs, where it is an entry point."""


class Watch:
    """Every process of the script: who is alive, which are entry points, how each of those ended."""

    def __init__(self, main: int | None, machinery: int | None = None) -> None:
        """``main``: the script's own process. None: the first that a process started by ``machinery`` turns into."""
        self.main = main
        self.machinery = machinery
        self.began = time.monotonic()
        self.alive = {pid: Process(ours=pid == machinery) for pid in (main, machinery) if pid is not None}
        self.held: set[int] = set()  # children seen before the event of their parent: they wait for it
        self.status: int | None = None  # the main process's
        self.entries = 0
        self.ended = 0
        self.failed: tuple[int, str] | None = None  # (status, what) of the first entry point that failed
        self.not_found = 0  # processes that ended with 126 or 127 without being an entry point

    @property
    def left(self) -> int:
        """Processes of the script that are alive."""
        return sum(not process.ours for process in self.alive.values()) + len(self.held)

    def step(self, wait_s: float) -> bool:
        """Handle what has happened; where nothing has, wait for it at most ``wait_s``. False: nobody is left."""
        for handled in range(AT_ONCE):
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | WALL)
            except ChildProcessError:
                return False
            if pid == 0:
                if not handled:
                    signal.sigtimedwait([signal.SIGCHLD], wait_s)
                break
            self.event(pid, status)
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
        ours = parent is not None and parent.ours and self.main is None
        self.alive.setdefault(child, Process(below, ours))
        if child in self.held:
            self.held.discard(child)
            ptrace(PTRACE_CONT, child, 0, 0)

    def replaced(self, pid: int) -> None:
        """``pid`` runs another program now (a thread that does so takes the whole process's number)."""
        process = self.alive.setdefault(pid, Process())
        if process.ours:
            if pid == self.machinery or self.main is not None:
                return
            process.ours, self.main, self.began = False, pid, time.monotonic()
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
        if process is None or process.ours:
            return
        if process.program is not None:
            self.ended += 1
            if status != 0 and self.failed is None:
                self.failed = (status, process.program)
        elif status in (126, 127) and not process.below:
            self.not_found += 1

    def kill(self) -> None:
        """End all that is left. Where a process 1 of its own namespace is among them, all else goes with it."""
        deadline = time.monotonic() + KILL_S
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
