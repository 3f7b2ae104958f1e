"""The local Label Studio server of a workspace: ``annotate up`` and ``annotate down``, and finding any other server.

It listens on loopback only, keeps its data in ``.benchwright/label-studio/``, outlives the command that started it,
and is recognised by process id and start time, so that ``down`` can never end another process.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomlkit
from filelock import FileLock

from ..core.config import read_toml
from ..core.errors import BenchwrightError, InfrastructureError, PrerequisiteError
from ..core.files import atomic_write, read_json
from ..core.progress import Reporter
from ..core.workspace import Workspace
from .client import Server
from .database import place_of, postgresql_settings
from .install import ensure_installed

__all__ = ["DEFAULT_PORT", "connect", "down", "running", "up"]

DEFAULT_PORT = 8080
ADMINISTRATOR = "admin@benchwright.example"
START_WAIT_S = 300.0
END_WAIT_S = 15.0
POLL_S = 0.25
SAY_EVERY_S = 10.0


def up(
    workspace: Workspace, port: int | None = None, reporter: Reporter | None = None, database: str | None = None
) -> Server:
    """Start the workspace's server (installing it first if need be), or find that it is up.

    ``port`` None: the one it had last time, else 8080. ``database``: ``postgresql://USER:PASSWORD@HOST:PORT/NAME``
    instead of SQLite in the workspace; its password is written nowhere, so it is named at every start.

    Raises:
        BenchwrightError: the port is taken, the server is up on another port than the one asked for, or the database
            is another than the one its data is in.
        InfrastructureError: it does not install, or does not come up; its last words are given.
    """
    reporter = reporter or Reporter(quiet=True)
    home = _home(workspace)
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)
    with FileLock(home / "up.lock"):
        new = not _login_path(home).exists()
        state = _state(home)
        if _alive(state):
            if port not in (None, state["port"]):
                raise BenchwrightError(
                    f"the server is up on port {state['port']}", where=str(home), remedy="benchwright annotate down"
                )
            reporter.say(f"Label Studio is up already: http://127.0.0.1:{state['port']}")
        else:
            settings = postgresql_settings(database) if database else {}
            _refuse_other_database(home, state, settings)
            _start(home, port or state.get("port") or DEFAULT_PORT, settings, reporter)
        server = replace(_server(home), new=new)
        _wait_until_healthy(home, server, reporter)
    server.client().check()
    return server


def down(workspace: Workspace, reporter: Reporter | None = None) -> bool:
    """End the workspace's server, and only that; False where none was up."""
    home = _home(workspace)
    state = _state(home)
    if not _alive(state):
        return False
    if reporter:
        reporter.say(f"ending Label Studio (process {state['pid']}) ...")
    os.killpg(state["pid"], signal.SIGTERM)
    deadline = time.monotonic() + END_WAIT_S
    while _alive(state):
        if time.monotonic() > deadline:
            os.killpg(state["pid"], signal.SIGKILL)
        time.sleep(POLL_S)
    atomic_write(_state_path(home), json.dumps({key: state[key] for key in ("port", "database") if key in state}))
    return True


def running(workspace: Workspace) -> Server | None:
    """The workspace's own server if its process is alive."""
    home = _home(workspace)
    return _server(home) if _alive(_state(home)) else None


def connect(workspace: Workspace) -> Server:
    """The server to work with: LABEL_STUDIO_URL, else ``[label_studio] url``, else the one that is up.

    Raises:
        PrerequisiteError: a server is named but no key, or none is named and none is up.
    """
    url = os.environ.get("LABEL_STUDIO_URL") or workspace.config.label_studio.url
    if not url:
        if server := running(workspace):
            return server
        raise PrerequisiteError("no Label Studio server is up", remedy="benchwright annotate up")
    if not url.startswith(("http://", "https://")):
        raise BenchwrightError("the server's address must begin with http:// or https://", where=url)
    token = os.environ.get("LABEL_STUDIO_API_KEY")
    if not token:
        raise PrerequisiteError(
            "the server is named but no key", where=url, remedy="set LABEL_STUDIO_API_KEY to a token of that server"
        )
    return Server(url.rstrip("/"), token)


# starting ----------------------------------------------------------------------------------------------------


def _start(home: Path, port: int, database: Mapping[str, str], reporter: Reporter) -> None:
    if not 1 <= port <= 65535:
        raise BenchwrightError(f"{port} is no port", remedy="name one between 1024 and 65535")
    _refuse_busy(port)  # Label Studio itself would move to the next port without a word
    venv = ensure_installed(reporter)
    login = _login(home)
    _refuse_busy(port)
    reporter.say(f"starting Label Studio on http://127.0.0.1:{port} (the first time takes about 40 s) ...")
    command = [str(venv / "bin" / "label-studio"), "start", "--no-browser", "--internal-host", "127.0.0.1"]
    command += ["--port", str(port), "--log-level", "WARNING"]
    descriptor = os.open(home / "server.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=home,
            env={**_environment(home, venv, login), **database},
            start_new_session=True,
        )
    state = {"pid": process.pid, "started": _start_time(process.pid), "port": port, "database": place_of(database)}
    atomic_write(_state_path(home), json.dumps(state), mode=0o600)


def _environment(home: Path, venv: Path, login: dict[str, str]) -> dict[str, str]:
    """A clean environment: Label Studio also reads bare names such as HOST, PORT, DEBUG and CI."""
    return {
        "PATH": f"{venv / 'bin'}:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PYTHONSAFEPATH": "1",  # its top-level package is called `core`, like a folder of ours
        "LABEL_STUDIO_BASE_DATA_DIR": str(home / "data"),
        "LABEL_STUDIO_USERNAME": login["email"],
        "LABEL_STUDIO_PASSWORD": login["password"],
        "LABEL_STUDIO_USER_TOKEN": login["token"],
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "LABEL_STUDIO_DISABLE_SIGNUP_WITHOUT_LINK": "true",
        "LABEL_STUDIO_COLLECT_ANALYTICS": "false",
        "LABEL_STUDIO_LATEST_VERSION_CHECK": "false",
        "LABEL_STUDIO_SENTRY_DSN": "",
        "LABEL_STUDIO_FRONTEND_SENTRY_DSN": "",
        "LABEL_STUDIO_FEATURE_FLAGS_OFFLINE": "true",
        # both let it talk to helpers on this machine, which is where they run
        "LABEL_STUDIO_SSRF_PROTECTION_ENABLED": "false",
        "LABEL_STUDIO_ML_BLOCK_LOCAL_IP": "false",
    }


def _wait_until_healthy(home: Path, server: Server, reporter: Reporter) -> None:
    started = said = time.monotonic()
    state = _state(home)
    while not _healthy(server.url):
        now = time.monotonic()
        if not _alive(state) or now - started > START_WAIT_S:
            lines = (home / "server.log").read_text("utf-8", errors="replace").splitlines()[-5:]
            raise InfrastructureError(
                "Label Studio ended while starting: " + " | ".join(lines)[-600:]
                if not _alive(state)
                else f"Label Studio does not answer after {START_WAIT_S:.0f} s",
                where=str(home / "server.log"),
                remedy="read the log; benchwright annotate down, then benchwright annotate up again",
            )
        if now - said > SAY_EVERY_S:
            said = now
            reporter.say(f"  {now - started:4.0f} s  waiting for Label Studio")
        time.sleep(POLL_S)


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as answer:  # noqa: S310 (our own loopback address)
            return b'"UP"' in answer.read()
    except (OSError, urllib.error.URLError):
        return False


def _refuse_other_database(home: Path, state: Mapping[str, Any], settings: Mapping[str, str]) -> None:
    """Annotations must not seem to vanish because the server was started on another database."""
    before, now = state.get("database"), place_of(settings)
    if before is None or before == now:
        return
    raise BenchwrightError(
        f"this workspace's annotations are in {before}, not in {now}",
        where=str(_state_path(home)),
        remedy="benchwright annotate up"
        + ("" if before == place_of({}) else f" --database {before} (with the password)")
        + f"; to begin anew, move {home} away",
    )


def _refuse_busy(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise BenchwrightError(
                f"the port cannot be had: {error.strerror}",
                where=f"127.0.0.1:{port}",
                remedy="benchwright annotate up --port N, with a free one",
            ) from error


# what is kept in .benchwright/label-studio -------------------------------------------------------------------


def _home(workspace: Workspace) -> Path:
    return workspace.private_dir / "label-studio"


def _login_path(home: Path) -> Path:
    return home / "login.toml"


def _login(home: Path) -> dict[str, str]:
    """Address, password and token of the administrator, made up at the first start."""
    path = _login_path(home)
    if path.exists():
        login = {key: str(value) for key, value in read_toml(path).items()}
        if gone := {"email", "password", "token"} - login.keys():
            raise BenchwrightError(f"it lacks {', '.join(sorted(gone))}", where=str(path), remedy="restore the file")
        return login
    if (home / "data" / "label_studio.sqlite3").exists():
        raise BenchwrightError(
            "the server's data is here but its login is gone",
            where=str(path),
            remedy=f"restore the file, or move {home / 'data'} away to begin anew",
        )
    login = {
        "email": ADMINISTRATOR,
        "password": secrets.token_urlsafe(12),
        "token": secrets.token_hex(20),
    }
    atomic_write(path, tomlkit.dumps(login), mode=0o600)
    return login


def _server(home: Path) -> Server:
    state, login = _state(home), _login(home)
    url = f"http://127.0.0.1:{state['port']}"
    return Server(url, login["token"], login["email"], login["password"], state["pid"])


def _state_path(home: Path) -> Path:
    return home / "server.json"


def _state(home: Path) -> dict[str, Any]:
    """What was noted of the server: port, process while it runs, database; nothing before the first start."""
    try:
        state = read_json(_state_path(home), remedy="remove the file")
    except FileNotFoundError:
        return {}
    if not all(isinstance(state.get(key, 0), int) for key in ("port", "pid")) or ("pid" in state) > ("port" in state):
        raise BenchwrightError(
            "it does not say which process serves at which port", where=str(_state_path(home)), remedy="remove the file"
        )
    return state


def _alive(state: dict[str, Any]) -> bool:
    """True where the process with this id is the one we started, not another that got the number later."""
    pid = state.get("pid")
    return pid is not None and state.get("started") is not None and _start_time(pid) == state["started"]


def _start_time(pid: int) -> str | None:
    """Boot id and start tick of a process; None where there is none, or only its unreaped remains."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    if fields[0] in "ZX":
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)  # our own child: let it go
        return None
    return f"{boot}:{fields[19]}"
