"""What ``repos`` says of real repositories: what is there, what is left out, what a moved pin does, what stays open."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Repository, Task
from benchwright.core.tasks import write_task
from benchwright.core.workspace import Workspace
from benchwright.curation import curate, fetch
from benchwright.curation.address import parse_address
from benchwright.curation.pins import resolve_pin
from benchwright.curation.repositories import add, check, update

from .conftest import commit_files, git

Make = Callable[..., tuple[Path, str]]
URL = "https://example.org/own/tool"


@pytest.fixture
def mirrors(tmp_path: Path) -> list[str]:
    return [f"file://{tmp_path}/origins/{{owner}}/{{name}}"]


def test_check_states_submodules_pointers_and_missing_files(
    make_repository: Make, workspace: Workspace, mirrors: list[str]
) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12345\n"
    folder, commit = make_repository("tool", {"README.md": "one", "w.bin": pointer, "lost.bin": "gone", "LICENSE": "?"})
    blob = git(folder, "rev-parse", f"{commit}:lost.bin")
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{commit},vendor/part")
    git(folder, "commit", "-q", "-m", "with a submodule")
    (folder / ".git/objects" / blob[:2] / blob[2:]).unlink()
    added = add(workspace, URL, "main", mirrors=mirrors)
    assert {"1 submodules are recorded, not fetched", "1 files are missing here (left out of the mirror or clone)"} < {
        *added.notes
    }
    (state,) = check(workspace, mirrors=mirrors)
    assert state.reachable
    assert state.submodules == (("vendor/part", commit),)
    assert (state.lfs, state.missing, state.files) == (("w.bin",), ("lost.bin",), 4)
    assert state.bytes == len("one") + len(pointer) + len("?")
    assert "unknown" in state.problems[0]
    assert added.repository.license == "LicenseRef-unknown"
    assert state.as_json()["submodules"] == [{"path": "vendor/part", "commit": commit}]


def test_a_changed_licence_text_is_a_finding(make_repository: Make, workspace: Workspace, mirrors: list[str]) -> None:
    folder, _ = make_repository("tool", {"LICENSE": "ours"})
    add(workspace, URL, "main", mirrors=mirrors)
    moved = commit_files(folder, {"LICENSE": "other"})
    (kept,) = workspace.repositories()
    workspace.save_repositories([kept.model_copy(update={"commit": moved, "license": "LicenseRef-ours"})])
    (state,) = check(workspace, mirrors=mirrors)
    assert state.problems == ("its licence text is not the one that was registered",)


def test_check_keeps_the_order_of_the_registry_and_goes_on_after_one_that_is_lost(
    make_repository: Make, workspace: Workspace, mirrors: list[str]
) -> None:
    names = [f"tool{number}" for number in range(5)]
    for name in names:
        make_repository(name, {"README.md": name})
        add(workspace, f"https://example.org/own/{name}", "main", mirrors=mirrors)
    entries = workspace.repositories()
    workspace.save_repositories(
        [entries[0].model_copy(update={"commit": "1" * 40, "url": "file:///x/y"}), *entries[1:]]
    )
    states = check(workspace, mirrors=mirrors)
    assert [state.name for state in states] == [entry.name for entry in workspace.repositories()]
    assert [state.reachable for state in states] == [False, True, True, True, True]


def test_a_moved_pin_says_what_becomes_of_tasks(
    make_repository: Make, workspace: Workspace, mirrors: list[str]
) -> None:
    def section(title: str, rate: str) -> str:
        return f"# On {title}\n\n## {title}\n\nRun it:\n\n```bash\npython fit.py --rate {rate}\n```\n\nMore.\n\n"

    files = {"fit.py": "import sys\nprint(sys.argv)\n"}
    text = "# Tool\n" + "\nA line.\n" * 250 + section("Slow", "1") + section("Fast", "2") + section("Mad", "3")
    folder, _ = make_repository("tool", {**files, "README.md": text})
    add(workspace, URL, "main", mirrors=mirrors)
    curate(workspace, mirrors=mirrors)
    with workspace.open_store() as store:
        found = {candidate.source.heading[-1]: candidate for candidate in store.candidates(["tool"])}
    for title, candidate in found.items():
        task = Task(
            name=title.lower(),
            repository=candidate.repository,
            source=candidate.source,
            type=candidate.type,
            path=candidate.path,
            entry_point=candidate.entry_point,
            candidate_id=candidate.id,
            candidate_digest=candidate.digest,
        )
        write_task(workspace, task, candidate.oracle, [])
    commit_files(folder, {"README.md": text.replace("rate 3", "rate 9").replace("Run it:", "Run it slowly:", 1)})
    moved = update(workspace, "tool", "main", mirrors=mirrors)
    assert moved.tasks == {"tool/slow": "changes", "tool/fast": "stays", "tool/mad": "vanishes"}
    assert "task tool/fast stays" in moved.lines()


def test_a_mirror_without_the_revision_is_named(make_repository: Make, mirrors: list[str]) -> None:
    folder, commit = make_repository("tool", {"README.md": "one"})
    address = parse_address("https://127.0.0.1:9/own/tool")
    with pytest.raises(BenchwrightError, match=f"the mirror {folder}.* has no commit, branch or tag gone"):
        resolve_pin(address, "gone", mirrors)
    assert resolve_pin(address, "HEAD", mirrors).commit == commit


def test_a_login_and_a_stall_end_the_search_for_a_pin(
    make_repository: Make, git_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_repository("tool", {"README.md": "one"})
    git_server.behaviour = "401"
    with pytest.raises(BenchwrightError, match="login"):
        resolve_pin(parse_address(URL), "main", [git_server.template])
    git_server.behaviour = "stall"
    monkeypatch.setattr(fetch, "LIST_TIMEOUT_S", 1.0)
    started = time.monotonic()
    with pytest.raises(BenchwrightError, match="slow or stalls"):
        resolve_pin(parse_address(URL), "main", [git_server.template])
    assert time.monotonic() - started < 15


def test_a_part_of_an_id_is_found_over_the_network_without_partial_clones(
    make_repository: Make, git_server: Any
) -> None:
    folder, first = make_repository("tool", {"README.md": "one"})
    commit_files(folder, {"README.md": "two"})
    git(folder, "config", "uploadpack.allowFilter", "false")
    assert resolve_pin(parse_address(URL), first[:10], [git_server.template]).commit == first


def test_two_hundred_repositories_leave_no_process_and_no_descriptor(make_repository: Make, tmp_path: Path) -> None:
    _, commit = make_repository("tool", {"README.md": "# T\n\n```bash\npython fit.py\n```\n", "fit.py": "print()"})
    entries = [
        Repository(name=f"tool{number}", url=f"https://example.org/own/tool{number}", commit=commit)
        for number in range(200)
    ]
    many = Workspace.create(tmp_path / "many", entries)
    mirrors = [f"file://{tmp_path}/origins/own/tool"]
    before = len(list(Path("/proc/self/fd").iterdir()))
    results = curate(many, jobs=1, mirrors=mirrors)
    assert [result.candidates for result in results] == [1] * 200
    assert all(state.reachable for state in check(many, mirrors=mirrors))
    assert Path("/proc/thread-self/children").read_text().split() == []
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 2
