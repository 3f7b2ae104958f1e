"""A real engine of the test's own, killed and started again in the middle of a run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from benchwright.core.models import Limits, OutcomeKind
from benchwright.validators.execution import Job, Runner
from benchwright.validators.sandbox.docker import LABEL_OWNER, DockerSandbox, connect

pytestmark = pytest.mark.integration

LIMITS = Limits(timeout_s=30, memory_bytes=128 << 20)


class Engine:
    """``dockerd`` below a short folder, without bridge or packet filter."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = f"unix://{folder}/docker.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> bool:
        # a killed engine's containerd is waited for in vain
        for name in ("containerd.pid", "containerd.sock", "containerd.sock.ttrpc"):
            (self.folder / "exec" / "containerd" / name).unlink(missing_ok=True)
        (self.folder / "pid").unlink(missing_ok=True)
        at = str(self.folder)
        options = f"--host {self.host} --data-root {at}/data --exec-root {at}/exec --pidfile {at}/pid"
        options += " --iptables=false --ip6tables=false --bridge=none --exec-opt native.cgroupdriver=cgroupfs"
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(["dockerd", *options.split()], stdout=log, stderr=log)
        deadline = time.monotonic() + 40
        while time.monotonic() < deadline and self._process.poll() is None:
            with suppress(Exception):
                connect().close()
                return True
            time.sleep(0.2)
        return False

    def kill(self) -> None:
        """As a crash would: the engine at once, and its containerd with it."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._end_containerd(signal.SIGKILL)

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(30)
        self._end_containerd(signal.SIGTERM)

    def _end_containerd(self, number: signal.Signals) -> None:
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = (process / "cmdline").read_bytes().split(b"\0")
                if words[0].rpartition(b"/")[2] == b"containerd" and str(self.folder).encode() in b" ".join(words):
                    os.kill(int(process.name), number)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    lacking = "root and dockerd (apt-get install docker.io) are needed to start an engine of the test's own"
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        pytest.fail(lacking) if os.environ.get("CI") == "true" else pytest.skip(lacking)
    folder = Path(tempfile.mkdtemp(prefix="bw-engine-", dir="/run"))  # a socket's path is short
    made = Engine(folder)
    monkeypatch.setenv("DOCKER_HOST", made.host)
    try:
        if not made.start():
            said = (folder / "log").read_text(errors="replace")[-300:]
            pytest.fail(said) if os.environ.get("CI") == "true" else pytest.skip(f"a second engine: {said}")
        yield made
    finally:
        made.stop()
        for mount in sorted(Path("/proc/self/mounts").read_text().splitlines(), reverse=True):
            if mount.split()[1].startswith(f"{folder}/"):
                subprocess.run(["umount", "-l", mount.split()[1]], capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def ours() -> set[str]:
    client = connect()
    found = client.containers.list(all=True, filters={"label": LABEL_OWNER}, ignore_removed=True)
    client.close()
    return {container.id for container in found}


def test_a_run_whose_engine_vanishes_is_tried_again_and_never_the_scripts_failure(engine: Engine) -> None:
    with Runner("docker") as runner:
        job = Job("it", "sleep 3; echo whole", "Bash Script", limits=LIMITS)
        assert runner.execute(Job("warm", "true", "Bash Script", limits=LIMITS)).passed  # the image is there now
        back = threading.Thread(target=lambda: (time.sleep(1.5), engine.kill(), engine.start()))
        back.start()
        outcome = runner.execute(job)
        back.join()
        assert outcome.outcome in (OutcomeKind.PASSED, OutcomeKind.INFRASTRUCTURE), outcome
        again = runner.execute(job)
        assert (again.outcome, again.output.head) == (OutcomeKind.PASSED, "whole\n"), again
    with DockerSandbox():
        pass
    assert ours() == set()


def test_an_engine_that_stays_away_is_infrastructure(engine: Engine) -> None:
    with Runner("docker") as runner:
        assert runner.execute(Job("warm", "true", "Bash Script", limits=LIMITS)).passed
        away = threading.Thread(target=lambda: (time.sleep(1.5), engine.kill()))
        away.start()
        outcome = runner.execute(Job("it", "sleep 5; exit 3", "Bash Script", limits=LIMITS))
        away.join()
        assert outcome.outcome is OutcomeKind.INFRASTRUCTURE, outcome
        assert outcome.exit_code is None
        assert engine.start()
    with DockerSandbox():
        pass
    assert ours() == set()
