"""Environments really built from the package index, and seen alike by every sandbox."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchwright.core.errors import BenchwrightError, PrerequisiteError
from benchwright.core.models import Limits
from benchwright.core.progress import Reporter
from benchwright.core.workspace import Workspace, cache_dir
from benchwright.validators.environments import build, build_many, check, open_system, statuses
from benchwright.validators.execution import Job, Runner
from benchwright.validators.pruning import prune

pytestmark = pytest.mark.integration

QUIET = Reporter(quiet=True)


@pytest.fixture
def recipe(workspace: Workspace) -> Path:
    """An environment with one small pure package and what it needs."""
    folder = workspace.environments_dir / "pebbles"
    folder.mkdir(parents=True)
    (folder / "environment.toml").write_text('requirements = ["jinja2<4"]\n\n[variables]\nMOOD = "calm"\n')
    return folder


def test_a_lock_names_every_package_with_its_hash_and_no_address(workspace: Workspace, recipe: Path) -> None:
    status = build(workspace.environments_dir, "pebbles", QUIET)
    lock = (recipe / "requirements.lock").read_text()
    assert status.built
    assert status.packages == 2
    assert {line.split("==")[0] for line in lock.splitlines()[1:]} == {"jinja2", "markupsafe"}
    assert all("--hash=sha256:" in line for line in lock.splitlines()[1:])
    assert "://" not in lock
    assert check(workspace.environments_dir, "pebbles") == []
    assert status.digest in (recipe / "Dockerfile").read_text()


def test_the_same_lock_gives_the_same_digest(workspace: Workspace, recipe: Path) -> None:
    first = build(workspace.environments_dir, "pebbles", QUIET)
    again = build(workspace.environments_dir, "pebbles", QUIET)
    assert first.digest == again.digest
    (recipe / "environment.toml").write_text('requirements = ["jinja2<4"]\n')
    assert build(workspace.environments_dir, "pebbles", QUIET).digest != first.digest


@pytest.mark.parametrize("sandbox", ["docker", "bubblewrap", "process"])
def test_every_sandbox_sees_the_packages(workspace: Workspace, recipe: Path, sandbox: str) -> None:
    build(workspace.environments_dir, "pebbles", QUIET)
    try:
        with Runner(sandbox, workspace.environments_dir) as runner:
            code = "import jinja2, os; print(jinja2.Template('{{ 6 * 7 }}').render(), os.environ['MOOD'])"
            outcome = runner.execute(Job("it", code, "Python Code", environment="pebbles", limits=Limits(timeout_s=30)))
    except PrerequisiteError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))
    assert outcome.output.head == "42 calm\n", outcome


def test_what_was_not_built_says_how_to_build_it(workspace: Workspace, recipe: Path) -> None:
    with pytest.raises(PrerequisiteError, match="benchwright environments build pebbles"):
        open_system(workspace.environments_dir, "pebbles")
    assert check(workspace.environments_dir, "pebbles") == ["the environment pebbles is not built"]
    assert [(s.name, s.built) for s in statuses(workspace.environments_dir)] == [("standard", True), ("pebbles", False)]


def test_what_cannot_be_resolved_names_its_log_and_leaves_no_lock(workspace: Workspace, recipe: Path) -> None:
    (recipe / "environment.toml").write_text('requirements = ["jinja2==0.0.0.1"]\n')
    with pytest.raises(BenchwrightError, match=r"log: .*environment-pebbles\.log"):
        build_many(workspace.environments_dir, ["pebbles"], False, QUIET)
    assert not (recipe / "requirements.lock").exists()


def test_prune_takes_only_what_no_environment_uses(
    workspace: Workspace, recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no-engine.sock")
    build(workspace.environments_dir, "pebbles", QUIET)
    used = open_system(workspace.environments_dir, "pebbles").packages
    foreign = cache_dir() / "label-studio"
    old = cache_dir() / "environments" / "old"
    for folder in (foreign, old):
        folder.mkdir(parents=True)
    assert prune(workspace.environments_dir) == [str(old)]
    assert used is not None
    assert used.is_dir()
    assert foreign.is_dir()


def test_the_command_line_builds_lists_and_checks(workspace: Workspace, recipe: Path) -> None:
    program = [sys.executable, "-P", "-c", "from benchwright.core.cli import main; main()"]

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*program, "--workspace", str(workspace.root), "environments", *words], capture_output=True, text=True
        )

    assert call("check").returncode == 1
    assert call("build").returncode == 2
    assert call("build", "--all").returncode == 0
    assert call("check").returncode == 0
    assert "pebbles" in call("list").stdout
