"""The launcher as a server outside of bubblewrap: it starts one sandbox after another and traces into each.

So neither an interpreter nor a change of user has to be started for a run. As root it first gives up every right for
good. It never follows a path of the script's into the machine: those are opened beneath the work area only.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # as in watch.py
import ctypes
import os
import socket
import time

from .attend import PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, Disk, attend, receive, seized, settle, tell, written
from .watch import Watch, prctl

NOBODY = 65534
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER = 1, 24, 36
OPENAT2, RESOLVE_IN_ROOT = 437, 0x10  # the call has this number on every kind of machine
MOST_DESCRIPTORS = 8
STARTABLE_S = 1.0  # between looks at a bubblewrap that has not started the script yet

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Serve until the other end of descriptor 0 is closed, at the latest until the toolkit is gone."""
    if os.geteuid() == 0:
        drop_rights()
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    prctl(
        PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0
    )  # what a sandbox leaves comes to us, and not to a process 1 that may sleep
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    channel = socket.socket(fileno=0)
    tell("ready")
    while True:
        data, descriptors, _, _ = socket.recv_fds(channel, 1 << 16, MOST_DESCRIPTORS)
        if not data:
            return
        try:
            fields, script = receive(data)
            told = launch(*fields, script=script, descriptors=descriptors)
        except OSError as error:
            told = False
            tell("broken", f"the script could not be started: {error}")
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        tell("done" if told else "over")


def drop_rights() -> None:
    for capability in range(64):
        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails beyond the last that this kernel knows
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def launch(
    name: str,
    root: str,
    inside: str,
    timeout: str,
    artifact: str,
    *command: str,
    script: bytes,
    descriptors: list[int],
) -> bool:
    """Run ``command``, which starts a sandbox and in it the script. False: it did not come to that, for a reason told.

    ``root``: the work area as it is seen out here. ``descriptors``: the script's output, then the control group files
    in which its first process registers itself.
    """
    work = os.open(root, os.O_PATH | os.O_DIRECTORY)
    try:
        try:
            place(work, inside, name, script)
        except OSError:
            tell("absent", inside)
            return False
        watch = begin(command, *descriptors)
        if watch is None:
            return False
        wall = time.time()
        while watch.main is None and watch.step(STARTABLE_S):
            pass
        if watch.main is None:
            tell("broken", "bubblewrap could not start the script")
            return False
        tell("started")
        duration = attend(watch, Disk(root), float(timeout))
        if artifact:
            try:
                found = beneath(work, artifact, os.O_PATH | os.O_NOFOLLOW)
                written(os.fstat(found), wall)
                os.close(found)
            except OSError:
                pass
        tell("duration", duration)
        return True
    finally:
        os.close(work)


def place(work: int, inside: str, name: str, script: bytes) -> None:
    """Write the script into its folder, where nothing of that name remains.

    Raises:
        OSError: there is no such folder.
    """
    folder = beneath(work, os.path.normpath(inside), os.O_DIRECTORY | os.O_RDONLY)
    try:
        try:  # noqa: SIM105
            os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            pass
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=folder)
        with open(file, "wb") as opened:
            opened.write(script)
    finally:
        os.close(folder)


def beneath(root: int, path: str, flags: int) -> int:
    """Open ``path`` with ``root`` as the root of everything: links and ``..`` that lead out of it end there.

    Raises:
        OSError: it is not there; Linux is older than 5.6.
    """
    how = (ctypes.c_uint64 * 3)(flags | os.O_CLOEXEC, 0, RESOLVE_IN_ROOT)
    found = libc.syscall(OPENAT2, root, os.fsencode(path), how, ctypes.sizeof(how))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
    return int(found)


def begin(command: tuple[str, ...], output: int, *groups: int) -> Watch | None:
    """Start ``command`` under watch; None where that cannot be, and was told."""
    read, write = os.pipe()
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # for the child, which may be traced and changes its own entry in /proc
    child = os.fork()
    if child == 0:
        try:
            for group in groups:
                os.write(group, b"0")
            settle(read, output)
            os.execv(command[0], command)  # noqa: S606
        except OSError as error:
            os.write(1, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(127)
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    os.close(read)
    try:
        if not seized(child):
            return None
        os.write(write, b"g")
    finally:
        os.close(write)
    return Watch(None, machinery=child)
