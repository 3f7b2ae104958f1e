"""The local server: up, up again, down, and what it must not do on the way."""

import json
import os
import socket
import stat
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from benchwright.annotation import accounts, server
from benchwright.core.errors import BenchwrightError, PrerequisiteError
from benchwright.core.workspace import Workspace

from .real_label_studio import free_port, require_label_studio

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]


def benchwright(workspace: Workspace, *words: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-P", "-c", "from benchwright.core.cli import main; main()"]
    return subprocess.run(
        [*program, "--workspace", str(workspace.root), "--json", *words],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONSAFEPATH": "1", "DEBUG": "true", "HOST": "http://example.org"},
    )


def test_a_server_comes_up_outlives_its_command_and_goes_down_without_a_trace(workspace: Workspace) -> None:
    require_label_studio()
    port = free_port()
    try:
        first = benchwright(workspace, "annotate", "up", "--port", str(port))
        assert first.returncode == 0, first.stderr
        shown = json.loads(first.stdout)
        assert shown["url"] == f"http://127.0.0.1:{port}"
        home = workspace.private_dir / "label-studio"
        token = tokens(home)["token"]
        assert shown["password"]  # shown once
        assert token not in first.stdout + first.stderr
        assert stat.S_IMODE((home / "login.toml").stat().st_mode) == 0o600

        found = server.connect(workspace)
        assert urllib.request.urlopen(f"{found.url}/health", timeout=10).status == 200
        assert listening_addresses(port) == {"127.0.0.1"}
        account = accounts.create(found, "ann@example.org")
        assert account.client().request("whoami", "GET", "api/current-user/whoami")["email"] == "ann@example.org"

        second = benchwright(workspace, "annotate", "up")
        assert second.returncode == 0
        assert "is up already" in second.stderr
        assert "password" not in json.loads(second.stdout)
        assert server.connect(workspace).pid == found.pid

        log = (home / "server.log").read_text()
        assert token not in log
        assert account.token not in log
        assert account.password not in log
        pid = found.pid
        assert pid is not None
        assert benchwright(workspace, "annotate", "down").returncode == 0
        assert ended(pid)
        assert listening_addresses(port) == set()
        assert json.loads(benchwright(workspace, "annotate", "down").stdout) == {"ended": False}
    finally:
        server.down(workspace)


def ended(pid: int) -> bool:
    """True once nothing is left of the process; its new parent may take a moment to let it go."""
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists():
            return True
        time.sleep(0.1)
    return False


def tokens(home: Path) -> dict[str, Any]:
    import tomllib

    return tomllib.loads((home / "login.toml").read_text())


def listening_addresses(port: int) -> set[str]:
    """IPv4 addresses on which something listens at ``port``."""
    found = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        address, state = line.split()[1], line.split()[3]
        host, _, number = address.partition(":")
        if state == "0A" and int(number, 16) == port:
            found.add(socket.inet_ntoa(bytes.fromhex(host)[::-1]))
    return found


def test_a_busy_port_is_refused_instead_of_moving_to_the_next(workspace: Workspace) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(BenchwrightError, match="port cannot be had"):
            server.up(workspace, taken.getsockname()[1])
    assert server.running(workspace) is None


def test_down_never_ends_a_process_that_got_the_number_later(workspace: Workspace) -> None:
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        home = workspace.private_dir / "label-studio"
        home.mkdir(parents=True)
        stale = {"pid": bystander.pid, "started": "another boot:1", "port": 1}
        (home / "server.json").write_text(json.dumps(stale))
        assert not server.down(workspace)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_without_a_server_or_a_key_the_error_says_what_to_do(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LABEL_STUDIO_URL", raising=False)
    monkeypatch.delenv("LABEL_STUDIO_API_KEY", raising=False)
    with pytest.raises(PrerequisiteError, match="benchwright annotate up"):
        server.connect(workspace)
    monkeypatch.setenv("LABEL_STUDIO_URL", "http://127.0.0.1:1/")
    with pytest.raises(PrerequisiteError, match="LABEL_STUDIO_API_KEY"):
        server.connect(workspace)
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", "secret-key")
    assert server.connect(workspace).url == "http://127.0.0.1:1"
    pulled = benchwright(workspace, "annotate", "pull")
    assert pulled.returncode == 2
    assert "no answer" in pulled.stderr
    assert "secret-key" not in pulled.stderr
    assert "Traceback" not in pulled.stderr
