"""Label Studio on a real PostgreSQL, started by the test on loopback as the system's own user ``postgres``."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchwright.annotation import push
from benchwright.annotation import server as label_studio_server
from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Candidate
from benchwright.core.progress import Reporter
from benchwright.core.workspace import Workspace

from .real_label_studio import free_port, require_label_studio

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(900)]

PASSWORD = "p@ss/w:rd"


def unavailable(message: str) -> None:
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(message)


@pytest.fixture
def database() -> Iterator[str]:
    """The address of an empty database in a cluster of its own."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs or os.geteuid() != 0:
        unavailable("PostgreSQL is not installed, or this is not root: apt-get install postgresql")
    bin_dir, port = programs[-1].parent, free_port()
    folder = Path(
        subprocess.run(["mktemp", "-d"], user="postgres", check=True, capture_output=True, text=True).stdout.strip()
    )

    def run(*words: str | Path, **more: str) -> None:
        subprocess.run(
            words, user="postgres", cwd=folder, check=True, capture_output=True, timeout=120, text=True, **more
        )

    try:
        (folder / "password").write_text(PASSWORD)
        shutil.chown(folder / "password", "postgres")
        run(
            bin_dir / "initdb",
            "-D",
            folder / "data",
            "-A",
            "scram-sha-256",
            "-U",
            "keeper",
            f"--pwfile={folder}/password",
        )
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
        run(bin_dir / "pg_ctl", "-D", folder / "data", "-o", options, "-l", folder / "log", "-w", "start")
        try:
            yield f"postgresql://keeper:p%40ss%2Fw%3Ard@127.0.0.1:{port}/postgres"
        finally:
            run(bin_dir / "pg_ctl", "-D", folder / "data", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)


def test_a_server_on_postgresql_keeps_its_tasks_there_and_refuses_to_start_on_another_database(
    database: str, tmp_path: Path, make_candidate: Callable[..., Candidate]
) -> None:
    require_label_studio()
    workspace = Workspace.create(tmp_path / "bench")
    candidates = [make_candidate(number) for number in range(3)]
    port = free_port()
    server = label_studio_server.up(workspace, port, Reporter(), database)
    try:
        project = push(workspace, candidates, server=server).project
    finally:
        label_studio_server.down(workspace)
    assert not list((workspace.private_dir / "label-studio").rglob("*.sqlite3"))
    written = [path for path in workspace.root.rglob("*") if path.is_file()]
    assert [path for path in written if PASSWORD.encode() in path.read_bytes() or b"p%40ss" in path.read_bytes()] == []
    with pytest.raises(BenchwrightError, match="annotations are in postgresql://keeper@"):
        label_studio_server.up(workspace, port, Reporter())
    server = label_studio_server.up(workspace, port, Reporter(), database)
    try:
        assert len(list(server.client().tasks(project, "id"))) == 3
    finally:
        label_studio_server.down(workspace)
