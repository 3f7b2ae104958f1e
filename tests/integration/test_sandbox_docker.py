"""What is Docker's own: containers carry our label, leftovers are reaped, containers made ahead are used once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchwright.core.errors import PrerequisiteError
from benchwright.core.models import Limits
from benchwright.validators.environments import open_system
from benchwright.validators.sandbox import Run
from benchwright.validators.sandbox.contract import owner
from benchwright.validators.sandbox.docker import LABEL_OWNER, DockerSandbox, connect

pytestmark = pytest.mark.integration

LIMITS = Limits(timeout_s=20, memory_bytes=128 << 20)


@pytest.fixture
def client() -> Iterator[Any]:
    try:
        opened = connect()
    except PrerequisiteError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))
    with DockerSandbox() as sandbox:
        sandbox.execute(script("true"))  # the image is there from now on
    yield opened
    opened.close()


def script(text: str) -> Run:
    return Run(open_system(None, "standard"), text.encode(), "bash", LIMITS)


def containers(client: Any, label: str = LABEL_OWNER) -> set[str]:
    return {item.id for item in client.containers.list(all=True, filters={"label": label}, ignore_removed=True)}


def started_by(client: Any, pid: int) -> set[str]:
    """Containers of one toolkit: others may use this engine now."""
    found = client.containers.list(all=True, filters={"label": LABEL_OWNER}, ignore_removed=True)
    return {item.id for item in found if item.labels[LABEL_OWNER].rsplit("-", 2)[1] == str(pid)}


def test_a_killed_toolkits_container_is_reaped_and_a_strangers_is_not(client: Any) -> None:
    code = (
        "import threading, time\n"
        "from benchwright.core.models import Limits\n"
        "from benchwright.validators.environments import open_system\n"
        "from benchwright.validators.sandbox import Run, open_sandbox\n"
        "run = Run(open_system(None, 'standard'), b'sleep 60', 'bash', Limits(timeout_s=90))\n"
        "open_sandbox('docker').execute(run)\n"
    )
    image = open_system(None, "standard").image
    stranger = client.api.create_container(image, ["sleep", "1"], labels={"org.example": "someone's"})["Id"]
    process = subprocess.Popen([sys.executable, "-P", "-c", code])
    try:
        deadline = time.monotonic() + 30
        while not (left := started_by(client, process.pid)) and time.monotonic() < deadline:
            time.sleep(0.1)
        process.kill()
        process.wait()
        assert len(left) == 1
        assert left <= containers(client)
        with DockerSandbox():
            assert not left & containers(client)
        assert client.containers.get(stranger)
    finally:
        process.kill()
        client.api.remove_container(stranger)


def test_containers_made_ahead_are_fresh_and_none_is_left(client: Any) -> None:
    with DockerSandbox(ahead=2) as sandbox:
        for _ in range(5):
            seen = sandbox.execute(script("ls -A /tmp/work | grep -v benchwright; echo mark > mark; hostname"))
            assert "mark" not in seen.output.head
            assert seen.finished
    assert containers(client, f"{LABEL_OWNER}={owner()}") == set()


def test_a_container_that_a_failing_engine_left_goes_with_its_sandbox(client: Any) -> None:
    with DockerSandbox() as sandbox:
        left = sandbox._create(script("true"))
        assert left in containers(client)
    assert left not in containers(client)


def test_an_engine_that_does_not_answer_names_the_alternatives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    with pytest.raises(PrerequisiteError, match="--sandbox bubblewrap"):
        DockerSandbox()


def test_memory_limits_too_small_for_the_launcher_are_refused(client: Any) -> None:
    from benchwright.core.errors import BenchwrightError

    run = Run(open_system(None, "standard"), b"true", "bash", Limits(memory_bytes=4 << 20))
    with DockerSandbox() as sandbox, pytest.raises(BenchwrightError, match="no room for the launcher"):
        sandbox.execute(run)


@pytest.mark.parametrize("text", ["sleep 60", "yes"])
def test_an_interrupted_run_ends_at_once_and_leaves_nothing(client: Any, tmp_path: Path, text: str) -> None:
    (tmp_path / "long.sh").write_text(text)
    program = [sys.executable, "-P", "-c", "from benchwright.core.cli import main; main()"]
    process = subprocess.Popen(
        [*program, "run", str(tmp_path / "long.sh"), "--timeout", "100"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while not started_by(client, process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert "Traceback" not in said
    assert process.returncode in (130, 1)  # 1: the flood had reached its limit before the interrupt did
    assert started_by(client, process.pid) == set()
