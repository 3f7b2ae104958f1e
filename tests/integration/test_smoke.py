"""Smoke tests of environments and of tasks: no card, in the repository's own tree, never mistaken for gold."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Example, Repository, RepositoryRef, Task
from benchwright.core.progress import Reporter
from benchwright.core.tasks import read_evidence, write_task
from benchwright.core.workspace import Workspace
from benchwright.validators.smoke import smoke, smoke_tasks

pytestmark = pytest.mark.integration
QUIET = Reporter(quiet=True)


@pytest.fixture
def repository(tmp_path: Path, workspace: Workspace) -> Repository:
    """A package of one module, registered with an environment that asks for a card."""
    folder = tmp_path / "lantern"
    folder.mkdir()
    (folder / "lantern.py").write_text("import sys\nprint('steps', sys.argv[1:] or 'many')\n")
    identity = ("-c", "user.name=A Tester", "-c", "user.email=tester@example.org")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "one")):
        subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    recipe = workspace.environments_dir / "lamp" / "environment.toml"
    recipe.parent.mkdir(parents=True)
    recipe.write_text('gpus = 1\nsmoke = "import lantern"\n')
    made = Repository(name="lantern", url=folder.as_uri(), commit=head.stdout.strip(), environment="lamp")
    workspace.save_repositories([made])
    return made


@pytest.fixture
def task(repository: Repository, workspace: Workspace) -> Task:
    reference = RepositoryRef(name=repository.name, url=repository.url, commit=repository.commit)
    made = Task(name="shine", repository=reference, type="Bash Script", cpu_smoke="python lantern.py --steps 1")
    example = Example(id=1, type="Bash Script", instruction="Shine.", output="python lantern.py")
    write_task(workspace, made, oracle="# Shine\n", examples=[example])
    return made


def test_an_environments_own_lines_run_in_the_repositorys_tree(
    workspace: Workspace, repository: Repository, sandbox: str
) -> None:
    (result,) = smoke(workspace, ["standard", "lamp"], sandbox, (), QUIET)
    assert (result.name, result.outcome.outcome, result.said) == ("lamp", "passed", "steps many")


def test_a_tasks_small_variant_needs_no_card_and_is_recorded_as_that(
    workspace: Workspace, task: Task, sandbox: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHWRIGHT_CARDS", "")
    (result,) = smoke_tasks(workspace, [], sandbox, (), QUIET)
    assert (result.name, result.outcome.outcome, result.said) == ("lantern/shine", "passed", "steps ['--steps', '1']")
    (line,) = read_evidence(workspace.tasks_dir / "lantern" / "shine")
    assert (line.control, line.example_id) == ("cpu_smoke", None)


def test_without_a_variant_it_says_how_to_write_one(workspace: Workspace) -> None:
    with pytest.raises(BenchwrightError, match="cpu_smoke"):
        list(smoke_tasks(workspace, [], "bubblewrap", (), QUIET))
