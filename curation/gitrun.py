"""Running git so that it never prompts, never hangs, runs no hook and fetches only what is asked for."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core.errors import InfrastructureError, PrerequisiteError

__all__ = ["FETCH_TIMEOUT_S", "GitFailedError", "git_at", "run_git"]

FETCH_TIMEOUT_S = 900.0
"""No single git process lives longer than this."""

LOCAL_TIMEOUT_S = 120.0

_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "GCM_INTERACTIVE": "never",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=20 -oServerAliveInterval=10 -oServerAliveCountMax=3",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PROTOCOL_FROM_USER": "0",
}
_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "credential.interactive": "false",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "30",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.version": "2",
}


class GitFailedError(InfrastructureError):
    """git ended with an error; ``stderr`` is what it said, without any password."""

    def __init__(self, message: str, *, where: str | None = None, remedy: str | None = None, stderr: str = "") -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.stderr = stderr


def git_at(git_dir: Path, protocols: Sequence[str] = ()) -> Any:
    """GitPython's command object bound to a git directory; the explicit GIT_DIR serves mirrors of other owners.

    ``protocols`` are the only transports it may use; none by default.
    """
    try:
        import git
    except ImportError as error:  # GitPython raises this where the git program is missing
        raise PrerequisiteError("git is not installed", remedy="install git 2.30 or newer") from error
    environment = dict(_ENVIRONMENT, GIT_DIR=str(git_dir), GIT_ALLOW_PROTOCOL=":".join(protocols) or "none")
    environment["GIT_CONFIG_COUNT"] = str(len(_SETTINGS))
    for number, (key, value) in enumerate(_SETTINGS.items()):
        environment[f"GIT_CONFIG_KEY_{number}"] = key
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    command = git.Git(str(git_dir))
    command.update_environment(**environment)
    return command


def run_git(
    git_dir: Path,
    arguments: Sequence[str],
    *,
    protocols: Sequence[str] = (),
    timeout_s: float = LOCAL_TIMEOUT_S,
    stdin: bytes | None = None,
) -> bytes:
    """Run ``git ARGUMENTS`` and return its standard output.

    Raises:
        GitFailedError: it failed, or took longer than ``timeout_s`` (its whole process group is ended then).
    """
    process = git_at(git_dir, protocols).execute(
        ["git", *arguments],
        as_process=True,
        istream=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
        start_new_session=True,
    )
    inner: subprocess.Popen[bytes] = process.proc
    try:
        output, errors = inner.communicate(stdin, timeout=timeout_s)
    except BaseException as error:
        _end(inner)
        if isinstance(error, subprocess.TimeoutExpired):
            raise GitFailedError(
                f"git {arguments[0]} did not end within {timeout_s:g} s", remedy="try again, or name a --mirror"
            ) from error
        raise
    if inner.returncode != 0:
        said = _redacted(errors.decode("utf-8", "replace"))
        raise GitFailedError(_last_words(said) or f"git {arguments[0]} failed", stderr=said)
    return output


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _redacted(text: str) -> str:
    return re.sub(r"://[^/@\s]*@", "://", text)


def _last_words(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if re.match(r"(fatal|error|remote):", line.strip())]
    return (lines or stderr.strip().splitlines() or [""])[-1][:300]
