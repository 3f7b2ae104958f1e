"""The whole of ``curate`` on real repositories: the same end state however often, wherever and however it ran."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Repository
from benchwright.core.workspace import Workspace
from benchwright.curation import curate
from benchwright.curation.candidates import arguments, contexts, passages
from benchwright.curation.documents import Document, read_document
from benchwright.curation.report import as_published
from benchwright.curation.repositories import add, check, update

from .conftest import commit_files

Make = Callable[..., tuple[Path, str]]

PARTS, RUNS = 25, 8
"""Documents of each of several repositories, and commands of each document."""

TRAIN = """\
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1, help="step size")
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--net", choices=["small", "large"], default="small")
if __name__ == "__main__":
    print(parser.parse_args())
"""


def readme(title: str, sections: int = 1) -> str:
    parts = [f"# {title}\n\nA thing that learns.\n"]
    for number in range(1, sections + 1):
        parts.append(
            f"\n## Run {number}\n\nStart it so:\n\n```bash\nexport DATA=/path/to/data\n"
            f"python train.py --lr 0.{number} \\\n  --epochs {number}\n```\n"
        )
    return "".join(parts)


def lines_of(workspace: Workspace) -> list[str]:
    with workspace.open_store() as store:
        return [as_published(body) for (body,) in store.candidate_bodies()]


@pytest.fixture
def mirrors(tmp_path: Path) -> list[str]:
    return [f"file://{tmp_path}/origins/{{owner}}/{{name}}"]


@pytest.fixture
def tool(make_repository: Make, workspace: Workspace, mirrors: list[str]) -> Path:
    folder, _ = make_repository("tool", {"README.md": readme("Tool", 2), "train.py": TRAIN})
    add(workspace, "https://example.org/own/tool", "main", mirrors=mirrors)
    return folder


def test_a_command_becomes_a_candidate_with_all_an_annotator_needs(
    tool: Path, workspace: Workspace, mirrors: list[str]
) -> None:
    (result,) = curate(workspace, mirrors=mirrors, jobs=1)
    assert (result.candidates, result.unchanged) == (2, False)
    with workspace.open_store() as store:
        first = next(store.candidates())
    assert first.output == "python train.py --lr 0.1 \\\n  --epochs 1"
    assert (first.path, first.entry_point.kind, first.entry_point.target) == ("./", "file", "train.py")
    assert (first.source.start_line, first.source.end_line, first.source.heading) == (11, 12, ("Tool", "Run 1"))
    values = {argument.name: (argument.value, argument.default, argument.choices) for argument in first.arguments}
    assert values == {
        "lr": (0.1, 0.1, None),
        "epochs": (1, 3, None),
        "net": (None, "small", ("small", "large")),
    }
    assert all(a.defined_at and a.defined_at.startswith("train.py:") for a in first.arguments)
    assert first.prefix_code == "export DATA=/path/to/data\n"
    text = readme("Tool", 2).splitlines(keepends=True)
    for scope in first.oracle_scopes:
        assert scope.text == "".join(text[scope.start_line - 1 : scope.end_line])
    assert first.oracle in {scope.text for scope in first.oracle_scopes}


def test_a_second_run_does_nothing_and_says_so(tool: Path, workspace: Workspace, mirrors: list[str]) -> None:
    curate(workspace, mirrors=mirrors, jobs=1)
    before = lines_of(workspace)
    (again,) = curate(workspace, mirrors=["file:///nowhere/{name}"], jobs=1)
    assert again.unchanged
    assert lines_of(workspace) == before


def test_what_was_remembered_gives_the_same_candidates(
    tool: Path, workspace: Workspace, mirrors: list[str], tmp_path: Path
) -> None:
    curate(workspace, mirrors=mirrors, jobs=1)
    commit_files(tool, {"docs/README.md": readme("More", 1), "tools/train.py": TRAIN})
    update(workspace, "tool", "main", mirrors=mirrors)
    fresh = Workspace.create(tmp_path / "fresh", workspace.repositories())
    curate(fresh, mirrors=mirrors, jobs=1)
    assert lines_of(workspace) == lines_of(fresh)


def test_a_changed_configuration_file_is_seen_though_no_code_changed(
    tool: Path, workspace: Workspace, mirrors: list[str]
) -> None:
    document = "```bash\npython train.py --conf conf.yaml\n```\n"
    commit_files(tool, {"README.md": document, "conf.yaml": "size: 1\n"})
    update(workspace, "tool", "main", mirrors=mirrors)
    commit_files(tool, {"conf.yaml": "size: 2\n"})
    update(workspace, "tool", "main", mirrors=mirrors)
    assert any("size: 2" in line for line in lines_of(workspace))


def test_one_changed_document_costs_that_document(
    tool: Path, workspace: Workspace, mirrors: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_files(tool, {"docs/README.md": readme("More", 3), "other/README.md": readme("Other", 3)})
    update(workspace, "tool", "main", mirrors=mirrors)
    commit_files(tool, {"docs/README.md": readme("More", 3) + "\nThe end.\n"})
    read: list[str] = []

    def reading(path: str, data: bytes) -> Document:
        read.append(path)
        return read_document(path, data)

    def refuse(*_arguments: object, **_options: object) -> None:
        raise AssertionError("code that did not change was read again")

    monkeypatch.setattr(passages, "read_document", reading)
    monkeypatch.setattr(arguments, "flags_of", refuse)
    monkeypatch.setattr(contexts, "context_for", refuse)
    update(workspace, "tool", "main", mirrors=mirrors)
    assert read == ["docs/README.md"]


def test_one_that_fails_keeps_what_was_there_and_stops_no_other(
    tool: Path, make_repository: Make, workspace: Workspace, mirrors: list[str]
) -> None:
    make_repository("other", {"README.md": readme("Other"), "train.py": TRAIN})
    add(workspace, "https://example.org/own/other", "main", mirrors=mirrors)
    curate(workspace, mirrors=mirrors)
    with workspace.lock():
        first, second = workspace.repositories()
        workspace.save_repositories([first.model_copy(update={"commit": "0" * 40, "url": "file:///x/y"}), second])
    results = {result.name: result for result in curate(workspace, mirrors=mirrors)}
    assert isinstance(results["tool"].error, BenchwrightError)
    assert results["other"].error is None
    assert len(lines_of(workspace)) == 3


def test_an_unregistered_repository_loses_its_candidates(tool: Path, workspace: Workspace, mirrors: list[str]) -> None:
    curate(workspace, mirrors=mirrors)
    workspace.save_repositories([])
    assert curate(workspace, mirrors=mirrors) == []
    assert lines_of(workspace) == []


def test_a_moved_pin_says_what_stays_changes_vanishes_and_comes(
    tool: Path, workspace: Workspace, mirrors: list[str]
) -> None:
    curate(workspace, mirrors=mirrors)
    text = readme("Tool", 1) + "\n## Test\n\n```bash\npython train.py --net large\n```\n"
    commit = commit_files(tool, {"README.md": text.replace("A thing", "Some lines more.\n\nA thing")})
    moved = update(workspace, "tool", "main", mirrors=mirrors)
    assert moved.after == commit
    assert (len(moved.stay), len(moved.change), len(moved.vanish), len(moved.new)) == (0, 1, 1, 1)
    assert workspace.repositories()[0].commit == commit
    assert curate(workspace, mirrors=mirrors)[0].unchanged


def test_a_moved_pin_that_moves_lines_only_changes_nothing_of_a_section(
    tool: Path, workspace: Workspace, mirrors: list[str]
) -> None:
    long = "\n".join(f"Sentence {number}.\n" for number in range(450))
    commit_files(tool, {"README.md": f"# Tool\n\n{long}\n" + readme("Two", 2)})
    update(workspace, "tool", "main", mirrors=mirrors)
    commit_files(tool, {"README.md": f"# Tool\n\nOne more.\n\n{long}\n" + readme("Two", 2)})
    moved = update(workspace, "tool", "main", mirrors=mirrors)
    assert (len(moved.stay), len(moved.change), len(moved.vanish), len(moved.new)) == (2, 0, 0, 0)


def test_check_names_licence_and_missing_pin(tool: Path, workspace: Workspace, mirrors: list[str]) -> None:
    (state,) = check(workspace, mirrors=mirrors)
    assert state.reachable
    assert state.problems == ("no licence is known",)
    workspace.save_repositories(
        [repository.model_copy(update={"commit": "1" * 40}) for repository in workspace.repositories()]
    )
    (state,) = check(workspace, mirrors=[*mirrors, "http://127.0.0.1:9/{name}"])
    assert not state.reachable


# killing, locales, hash seeds: through the command line -------------------------------------------------------


def run(workspace: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command(workspace, *arguments), env={**os.environ, **environment}, capture_output=True, timeout=120
    )


def command(workspace: Path, *arguments: str) -> list[str]:
    start = "from benchwright.core.cli import main; main()"
    return [sys.executable, "-c", start, "--workspace", str(workspace), *arguments]


def registered(folder: Path, commits: dict[str, str]) -> Workspace:
    entries = [
        Repository(name=name, url=f"https://example.org/own/{name}", commit=commit, github_id=number)
        for number, (name, commit) in enumerate(commits.items(), 1)
    ]
    return Workspace.create(folder, entries)


@pytest.fixture
def several(make_repository: Make) -> dict[str, str]:
    """Six repositories of some documents each, so that curating all takes a while."""
    commits = {}
    for number in range(6):
        files: dict[str, str] = {"README.md": readme(f"Repository {number}", 3), "train.py": TRAIN}
        for part in range(PARTS):
            files[f"examples/part{part}/README.md"] = readme(f"Part {part}", RUNS)
            files[f"examples/part{part}/train.py"] = TRAIN
        commits[f"repo{number}"] = make_repository(f"repo{number}", files)[1]
    return commits


def stored(workspace: Workspace) -> int:
    try:
        with sqlite3.connect(f"file:{workspace.private_dir / 'state.db'}?mode=ro", uri=True, timeout=1) as state:
            return int(state.execute("SELECT count(*) FROM curated").fetchone()[0])
    except sqlite3.Error:
        return 0


def processes_under(folder: Path) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(folder).encode() in words and (entry / "exe").exists():
                found.append(entry.name)
    return found


def test_a_killed_run_and_another_end_like_one_that_was_not_killed(
    several: dict[str, str], tmp_path: Path, mirrors: list[str]
) -> None:
    whole = registered(tmp_path / "whole", several)
    assert run(whole.root, "--mirror", mirrors[0], "curate", "--jobs", "2").returncode == 0
    killed = registered(tmp_path / "killed", several)
    process = subprocess.Popen(
        command(killed.root, "--mirror", mirrors[0], "curate", "--jobs", "2"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while stored(killed) < 1 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.poll() is None, "it ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert 1 <= stored(killed) < len(several)
    time.sleep(0.3)
    assert processes_under(killed.root) == []  # no worker outlives it
    assert run(killed.root, "--mirror", mirrors[0], "curate", "--jobs", "2").returncode == 0
    assert stored(killed) == len(several)
    assert lines_of(killed) == lines_of(whole)
    assert len(lines_of(whole)) == 6 * (3 + PARTS * RUNS)


def test_exports_are_the_same_bytes_whatever_locale_hash_seed_and_folder(
    several: dict[str, str], tmp_path: Path, mirrors: list[str]
) -> None:
    names = ["repo0", "repo1"]
    exports = set()
    for number, (locale, zone, jobs) in enumerate([("C", "UTC", "1"), ("C.UTF-8", "Asia/Tokyo", "2")]):
        workspace = registered(tmp_path / f"place{number}" / "deep" / f"w{number}", several)
        environment = {"LC_ALL": locale, "TZ": zone, "PYTHONHASHSEED": str(number + 1)}
        done = run(workspace.root, "--mirror", mirrors[0], "curate", *names, "--jobs", jobs, **environment)
        assert done.returncode == 0, done.stderr
        target = workspace.root / "out.jsonl"
        assert run(workspace.root, "candidates", "export", "-o", str(target), **environment).returncode == 0
        exports.add(target.read_bytes())
        assert run(workspace.root, "candidates", "export", **environment).stdout == target.read_bytes()
    assert len(exports) == 1
    lines = [json.loads(line) for line in exports.pop().splitlines()]
    assert len({line["id"] for line in lines}) == len(lines) == 2 * (3 + PARTS * RUNS)
