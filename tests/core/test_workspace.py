"""The workspace: finding it, its registry, its configuration, its lock."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchwright.core.config import FILE_NAME
from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Repository
from benchwright.core.workspace import Workspace

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def repository(name: str, **fields: object) -> Repository:
    return Repository.model_validate({"name": name, "url": f"https://example.org/o/{name}", "commit": COMMIT, **fields})


def test_a_workspace_is_found_from_a_folder_below_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Workspace.create(tmp_path / "bench")
    (made.root / "tasks" / "deep").mkdir(parents=True)
    monkeypatch.chdir(made.root / "tasks" / "deep")
    assert Workspace.find().root == made.root


def test_outside_a_workspace_the_error_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(BenchwrightError, match="benchwright init DIR"):
        Workspace.find(tmp_path)


def test_a_second_init_changes_nothing(tmp_path: Path) -> None:
    made = Workspace.create(tmp_path / "bench")
    before = made.config_path.read_text()
    with pytest.raises(BenchwrightError, match="already"):
        Workspace.create(tmp_path / "bench")
    assert made.config_path.read_text() == before


def test_comments_and_order_of_the_registry_survive_a_change(tmp_path: Path) -> None:
    made = Workspace.create(tmp_path / "bench", [repository("first"), repository("second", license="MIT")])
    text = made.repositories_path.read_text().replace('license = "MIT"', 'license = "MIT" # read twice')
    made.repositories_path.write_text(f"# ours\n{text}")
    made.save_repositories([*made.repositories(), repository("third", github_id=7, documents=["docs/**/*.md"])])
    written = made.repositories_path.read_text()
    assert written.startswith("# ours\n")
    assert "# read twice" in written
    assert [r.name for r in made.repositories()] == ["first", "second", "third"]
    assert made.repositories(["THIRD"])[0].documents == ("docs/**/*.md",)


def test_a_name_that_is_not_registered_is_named(tmp_path: Path) -> None:
    made = Workspace.create(tmp_path / "bench", [repository("first")])
    with pytest.raises(BenchwrightError, match="not registered: other"):
        made.repositories(["first", "other"])


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("name = [", "not valid TOML"),
        ('name = "b"\nschema_version = 99', "schema_version 99"),
        ('name = "b"\n[limits]\ntimeout_s = -1', "limits.timeout_s"),
        ('name = "b"\ntypo = 1', "typo"),
        ('name = "b"\nversion = "../../evil"', "version"),
        ('name = "b"\n[limits]\ntimeout_s = inf', "limits.timeout_s"),
        ('name = "b"\n[limits]\nprocesses = 10000000000000', "limits.processes"),
    ],
)
def test_a_wrong_configuration_names_the_file_and_the_field(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(BenchwrightError) as caught:
        _ = Workspace(tmp_path).config
    assert str(tmp_path / FILE_NAME) in str(caught.value)
    assert named in str(caught.value)


def test_two_processes_that_register_at_once_both_succeed(tmp_path: Path) -> None:
    made = Workspace.create(tmp_path / "bench")
    program = (
        "import sys; from pathlib import Path; from benchwright.core.workspace import Workspace;"
        "from benchwright.core.models import Repository\n"
        "w = Workspace(Path(sys.argv[1]))\n"
        "for i in range(20):\n"
        "    with w.lock():\n"
        f"        r = Repository(name=f'{{sys.argv[2]}}{{i}}', url='u', commit='{COMMIT}')\n"
        "        w.save_repositories([*w.repositories(), r])\n"
    )
    workers = [subprocess.Popen([sys.executable, "-c", program, str(made.root), name]) for name in ("a", "b")]
    assert [worker.wait(60) for worker in workers] == [0, 0]
    assert sorted(r.name for r in made.repositories()) == sorted(f"{n}{i}" for n in "ab" for i in range(20))


def test_a_process_that_dies_with_the_lock_does_not_keep_it(tmp_path: Path) -> None:
    made = Workspace.create(tmp_path / "bench")
    program = (
        "import sys, time; from pathlib import Path; from benchwright.core.workspace import Workspace\n"
        "with Workspace(Path(sys.argv[1])).lock():\n    print('held', flush=True); time.sleep(60)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", program, str(made.root)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    holder.kill()
    holder.wait()
    started = time.monotonic()
    with made.lock():
        pass
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    "text",
    [
        "repository = 5",
        "repository = [5]",
        "[repository]\nname = 'a'",
        "a = " + "[" * 5000,
        "a = " + "9" * 5000,
    ],
    ids=lambda text: text[:20],
)
def test_a_registry_of_any_wrong_shape_is_an_error_that_names_the_file(tmp_path: Path, text: str) -> None:
    workspace = Workspace.create(tmp_path / "bench")
    workspace.repositories_path.write_text(f"schema_version = 1\n{text}\n")
    with pytest.raises(BenchwrightError) as seen:
        workspace.repositories()
    assert str(seen.value.where).startswith(str(workspace.repositories_path))
    assert seen.value.remedy


@pytest.mark.parametrize(
    ("table", "field", "value"),
    [
        ("about", "date", "2026-02-30"),
        ("about", "date", "0000-00-00"),
        ("about", "url", "javascript:alert(1)"),
        ("about", "url", "https://example.org/a b"),
        ("hub", "repository", "owner"),
        ("hub", "repository", "owner/name/more"),
        ("hub", "repository", "../name"),
    ],
)
def test_what_a_release_would_say_falsely_or_never_reach_is_refused_where_it_is_written(
    tmp_path: Path, table: str, field: str, value: str
) -> None:
    made = Workspace.create(tmp_path / "bench")
    text = made.config_path.read_text().replace(f"[{table}]", f'[{table}]\n{field} = "{value}"\n')
    made.config_path.write_text(text)
    with pytest.raises(BenchwrightError, match=f"{table}.{field}"):
        _ = Workspace(made.root).config


def test_the_demos_workspace_knows_where_its_repositories_really_are(tmp_path: Path) -> None:
    from benchwright.export.demo.walk import _workspace

    made = _workspace(tmp_path / "a ü" / "demo")
    assert made.config.mirrors == (f"file://{tmp_path}/a ü/demo/sources/{{name}}",)
    assert made.config.limits.timeout_s == 10
