"""Real services for the tests, started once and ended with the session."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchwright.annotation import server as label_studio_server
from benchwright.annotation.client import Server
from benchwright.annotation.install import VERSION
from benchwright.core.progress import Reporter
from benchwright.core.workspace import Workspace, cache_dir


@pytest.fixture(scope="session")
def label_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Label Studio server of its own, with the installation the user already has (with CI=true: made if missing)."""
    require_label_studio()
    home = Workspace.create(tmp_path_factory.mktemp("label-studio") / "server")
    try:
        yield label_studio_server.up(home, free_port(), Reporter())
    finally:
        label_studio_server.down(home)


def require_label_studio() -> None:
    program = cache_dir() / "label-studio" / "venv" / "bin" / "label-studio"
    if not program.exists() and os.environ.get("CI") != "true":
        pytest.skip(f"Label Studio {VERSION} is not installed; `benchwright annotate up` installs it")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def bench(tmp_path: Path, request: pytest.FixtureRequest) -> Workspace:
    """A workspace of its own name, so that tests sharing a server do not see one another's projects."""
    return Workspace.create(tmp_path / f"b-{abs(hash(request.node.nodeid)) % 10**9}")
