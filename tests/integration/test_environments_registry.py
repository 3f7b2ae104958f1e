"""Environments on other bases, and through a registry: a real one (docker-registry), on loopback, started here."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from benchwright.core.errors import BenchwrightError, InfrastructureError, PrerequisiteError
from benchwright.core.models import Limits, Outcome
from benchwright.core.progress import Reporter
from benchwright.core.workspace import Workspace
from benchwright.validators.bases import open_base
from benchwright.validators.environments import build, check, open_system, statuses
from benchwright.validators.execution import Job, Runner
from benchwright.validators.pruning import prune
from benchwright.validators.published import pull, push
from benchwright.validators.recipes import Recipe, read_recipe
from benchwright.validators.sandbox.docker import connect

pytestmark = pytest.mark.integration

QUIET = Reporter(quiet=True)
LIMITS = Limits(timeout_s=60)
CONFIG = """\
version: 0.1
log: {{level: error}}
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: '127.0.0.1:{port}'}}
"""


def missing(what: str) -> None:
    """A service that cannot be had: a failure in continuous integration, elsewhere a skip that says how to get it."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture
def client() -> Iterator[Any]:
    try:
        engine = connect()
    except PrerequisiteError as error:
        missing(str(error))
    with closing(engine):
        yield engine


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """The address of an empty registry that ends with the test."""
    if shutil.which("docker-registry") is None:
        missing("docker-registry is not installed: apt-get install docker-registry")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = tmp_path / "registry.yml"
    config.write_text(CONFIG.format(folder=tmp_path / "registry", port=port))
    with open(tmp_path / "registry.log", "wb") as log:
        process = subprocess.Popen(["docker-registry", "serve", str(config)], stdout=log, stderr=log)
    try:
        for _ in range(100):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/", timeout=2).close()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        else:
            missing(f"the registry does not answer: {(tmp_path / 'registry.log').read_text()[-300:]}")
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def recipe(workspace: Workspace, name: str, text: str) -> None:
    folder = workspace.environments_dir / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "environment.toml").write_text(text)


def run(workspace: Workspace, name: str, code: str, sandbox: str) -> Outcome:
    try:
        with Runner(sandbox, workspace.environments_dir) as runner:
            return runner.execute(Job("it", code, "Python Code", environment=name, limits=LIMITS))
    except PrerequisiteError as error:
        missing(str(error))
        raise


def prune_cache(environments_dir: Path | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Prune without the engine, which other tests use at the same time."""
    with monkeypatch.context() as away:
        away.setenv("DOCKER_HOST", f"unix://{tmp_path}/no-engine.sock")
        return prune(environments_dir)


def test_built_pushed_pruned_and_pulled_by_digest_it_runs_in_every_sandbox(
    workspace: Workspace, registry: str, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHWRIGHT_CACHE", str(tmp_path / "cache"))
    asset = tmp_path / "weights.txt"
    asset.write_text("seven\n")
    digest = sha256(asset.read_bytes()).hexdigest()
    recipe(
        workspace,
        "cobble",
        f'requirements = ["jinja2<4"]\n[variables]\nMOOD = "calm"\n'
        f'[[assets]]\npath = "a/weights.txt"\nurl = "{asset.as_uri()}"\nsha256 = "{digest}"\n',
    )
    code = (
        "import jinja2, os; print(jinja2.Template('{{ 6 * 7 }}').render(), os.environ['MOOD'], "
        "open('/assets/a/weights.txt').read().strip())"
    )
    built = build(workspace.environments_dir, "cobble", QUIET)
    before = {sandbox: run(workspace, "cobble", code, sandbox).output.head for sandbox in ("docker", "bubblewrap")}
    assert set(before.values()) == {"42 calm seven\n"}

    (pushed,) = push(workspace.environments_dir, registry, ["cobble"], QUIET)
    assert f"{registry}/benchwright/cobble@sha256:" in pushed.reference
    assert pushed.reference.rpartition("@")[2] in (workspace.environments_dir / "cobble" / "image.toml").read_text()

    # another machine: neither the image nor anything in the cache (of the engine only what is ours)
    prune_cache(None, monkeypatch, tmp_path)
    for image in client.images.list(filters={"label": f"org.benchwright.environment={built.digest}"}):
        client.images.remove(image.id, force=True)
    assert not [path for path in (tmp_path / "cache" / "environments").iterdir() if path.is_dir()]
    with pytest.raises(PrerequisiteError, match="is not built"):
        open_system(workspace.environments_dir, "cobble")

    (pulled,) = pull(workspace.environments_dir, registry, [], QUIET)
    assert (pulled.reference, pulled.digest) == (pushed.reference, built.digest)
    assert open_system(workspace.environments_dir, "cobble").digest == built.digest
    after = {sandbox: run(workspace, "cobble", code, sandbox).output.head for sandbox in ("docker", "bubblewrap")}
    assert after == before
    assert check(workspace.environments_dir, "cobble") == []
    assert {s.name: s.built for s in statuses(workspace.environments_dir)}["cobble"]
    assert not any(
        "cobble" in name or "pulled" in name for name in prune_cache(workspace.environments_dir, monkeypatch, tmp_path)
    )

    # a changed recipe is not served by the old image
    recipe(workspace, "cobble", 'requirements = ["jinja2<4"]\n')
    with pytest.raises(BenchwrightError, match="another recipe or lock"):
        pull(workspace.environments_dir, registry, ["cobble"], QUIET)
    with pytest.raises(PrerequisiteError, match="is not built"):
        open_system(workspace.environments_dir, "cobble")


def test_a_debian_root_made_here_has_its_system_packages_and_is_a_registry_base_by_digest(
    workspace: Workspace, registry: str, client: Any
) -> None:
    if shutil.which("mmdebstrap") is None:
        missing("mmdebstrap is not installed: apt-get install mmdebstrap")
    suite = 'base = "debian-root:bookworm"\nsystem_packages = ["bc"]\n'
    recipe(workspace, "gravel", f'{suite}requirements = ["jinja2<4"]\n')
    status = build(workspace.environments_dir, "gravel", QUIET)
    assert status.base.startswith("debian-root:bookworm:python3.")
    folder = workspace.environments_dir / "gravel"
    assert any(line.startswith("bc=") for line in (folder / "system-packages.txt").read_text().splitlines())
    made_from = (folder / "Dockerfile").read_text()
    assert "FROM benchwright/base-debian-root:" in made_from  # no image claims to be Debian's own
    code = (
        "import jinja2, subprocess, os; "
        "print(jinja2.Template('{{ 1 }}').render(), subprocess.run(['bc'], input=b'6*7\\n', capture_output=True).stdout"
        ".decode().strip(), os.getuid())"
    )
    for sandbox in ("docker", "bubblewrap"):
        assert run(workspace, "gravel", code, sandbox).output.head == "1 42 65534\n"
    assert run(workspace, "gravel", code, "process").outcome == "infrastructure"  # this machine is not that system

    base = open_base(read_recipe(workspace.environments_dir, "gravel"), "")
    assert base is not None
    client.images.get(base.image).tag(f"{registry}/debian-root", "it")
    client.images.push(f"{registry}/debian-root", "it")
    reference = client.images.get(base.image).attrs["RepoDigests"][0]
    client.images.remove(f"{registry}/debian-root:it")
    recipe(workspace, "scree", f'base = "{reference}"\nrequirements = ["jinja2<4"]\n')
    status = build(workspace.environments_dir, "scree", QUIET)
    assert status.base == f"registry:{reference}"
    assert f"FROM {reference}\n" in (workspace.environments_dir / "scree" / "Dockerfile").read_text()
    for sandbox in ("docker", "bubblewrap"):
        assert run(workspace, "scree", code, sandbox).output.head == "1 42 65534\n"


def test_a_registry_that_does_not_answer_is_named(workspace: Workspace, client: Any) -> None:
    recipe(workspace, "flint", "")
    with pytest.raises(InfrastructureError, match=r"127\.0\.0\.1:9"):
        push(workspace.environments_dir, "127.0.0.1:9", ["flint"], QUIET)
    with pytest.raises(BenchwrightError, match="no registry's address"):
        push(workspace.environments_dir, "http://127.0.0.1:9", ["flint"], QUIET)
    reference = f"127.0.0.1:9/nothing@sha256:{'0' * 64}"
    with pytest.raises(InfrastructureError, match="cannot be pulled"):
        open_base(Recipe(base=reference), "")


def test_an_old_day_gives_old_packages_for_an_old_python(workspace: Workspace) -> None:
    uv = [sys.executable, "-m", "uv", "--version"]
    if subprocess.run(uv, capture_output=True).returncode:
        missing("uv is not installed: pip install 'benchwright[curation]'")
    recipe(workspace, "slate", 'requirements = ["jinja2"]\nindex_date = 2023-02-01\n')
    build(workspace.environments_dir, "slate", QUIET)
    lock = (workspace.environments_dir / "slate" / "requirements.lock").read_text()
    assert "jinja2==3.1.2 --hash=sha256:" in lock
    assert "markupsafe==2.1.2 " in lock
