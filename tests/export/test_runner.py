"""What a release carries to be scored with."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from benchwright.core.errors import PrerequisiteError
from benchwright.core.models import Example, Repository, RepositoryRef, Task
from benchwright.core.tasks import write_task
from benchwright.core.workspace import Workspace
from benchwright.export.harbor import _write_runner
from benchwright.export.release import build_release, runner
from benchwright.export.release.runner import toolkit_wheel, wheel_name

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "export" / "data" / "evaluator.lock"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    known = Repository(name="adder", url="https://github.com/o/adder", commit="5" * 40, github_id=1, license="MIT")
    made = Workspace.create(tmp_path / "pocket", [known])
    reference = RepositoryRef(name="adder", github_id=1, url=known.url, commit=known.commit, license="MIT")
    example = Example(id=1, type="Bash Script", instruction="Add 1 and 2.", output="python add.py 1 2")
    write_task(made, Task(name="add", repository=reference, type="Bash Script"), "Run add.py.\n", [example])
    return made


def test_a_release_names_the_toolkit_the_protocols_and_its_environments(workspace: Workspace) -> None:
    folder = build_release(workspace).folder / "runner"
    about = json.loads((folder / "runner.json").read_text())
    wheel = folder / about["toolkit"]["wheel"]
    assert hashlib.sha256(wheel.read_bytes()).hexdigest() == about["toolkit"]["sha256"]
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md",
        wheel.name,
        "requirements.lock",
        "runner.json",
    ]
    assert about["protocols"] == {"strict": 1, "ml-bench": 1}
    (environment,) = about["environments"]
    assert (environment["name"], environment["recipe"], environment["base"]) == ("standard", None, "host")
    assert re.fullmatch("[0-9a-f]{64}", environment["recipe_digest"])


def test_the_readme_has_ten_lines_and_names_only_files_of_the_release(workspace: Workspace) -> None:
    folder = build_release(workspace).folder
    text = (folder / "runner" / "README.md").read_text()
    assert len([line for line in text.splitlines() if line and not line.startswith("```")]) <= 10
    for name in re.findall(r"pocket/(runner/\S+)", text):
        assert (folder / name).is_file()


def test_the_wheel_is_valid_and_the_same_every_time() -> None:
    wheel = toolkit_wheel()
    assert wheel == toolkit_wheel()
    with zipfile.ZipFile(BytesIO(wheel)) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        record = archive.read(next(name for name in names if name.endswith("/RECORD"))).decode()
        assert [line.split(",")[0] for line in record.splitlines()] == names
    assert "benchwright/core/cli/__init__.py" in names
    assert not [name for name in names if "__pycache__" in name or "/tests/" in name]


def test_the_wheel_holds_what_the_build_tool_would_put_in(tmp_path: Path) -> None:
    source = tmp_path / "source"
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\0")
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)
    build = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=source, check=True, capture_output=True)
    with zipfile.ZipFile(tmp_path / wheel_name()) as archive:
        built = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}
    with zipfile.ZipFile(BytesIO(toolkit_wheel())) as archive:
        ours = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}
    assert ours.keys() == built.keys()
    assert ours == built


def test_a_toolkit_that_is_not_installed_says_that_it_cannot_be_carried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "DISTRIBUTION", "benchwright-that-nobody-installed")
    with pytest.raises(PrerequisiteError, match="without being installed"):
        toolkit_wheel()


def test_the_lock_covers_the_base_with_the_versions_that_are_tested() -> None:
    def pins(path: Path) -> dict[str, str]:
        return dict(re.findall(r"^([a-z0-9._-]+)==([^ \\;]+)", path.read_text(), re.MULTILINE))

    ours, tested = pins(LOCK), pins(ROOT / "requirements.lock")
    assert ours.items() <= tested.items()
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {re.split(r"[<>=\[]", item)[0].lower().replace("_", "-") for item in needed}
    assert names <= ours.keys()
    assert "://" not in LOCK.read_text()
    assert len(re.findall(r"^\S", LOCK.read_text(), re.MULTILINE)) == len(ours)


def test_harbors_verifier_starts_with_nothing_but_what_is_copied_beside_it(tmp_path: Path) -> None:
    _write_runner(tmp_path / "runner")
    program = "import sys; sys.path.insert(0, sys.argv[1]); import benchwright.export.harbor_verifier"
    command = [sys.executable, "-I", "-S", "-c", program, str(tmp_path / "runner")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
