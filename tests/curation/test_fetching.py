"""Fetching over the network: only the pin, in bounded time, with a clear reason where it fails."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Repository
from benchwright.curation import fetch, open_tree
from benchwright.curation.address import parse_address
from benchwright.curation.pins import resolve_pin

from .conftest import commit_files, git

Make = Callable[..., tuple[Path, str]]
URL = "https://example.org/own/tool"


def pinned(commit: str) -> Repository:
    return Repository(name="tool", url=URL, commit=commit)


def test_only_the_pinned_commit_is_fetched(make_repository: Make, git_server: Any, tmp_path: Path) -> None:
    folder, first = make_repository("tool", {"README.md": "one"})
    second = commit_files(folder, {"README.md": "two"})
    commit_files(folder, {"README.md": "three"})
    with open_tree(pinned(second), tmp_path / "clones", [git_server.template]) as tree:
        assert tree.read("README.md") == b"two"
        assert git(tree.git_dir, "rev-list", "--all", second).split() == [second]
    with pytest.raises(Exception, match="non-zero"):
        git(tree.git_dir, "cat-file", "-e", first)


def test_a_clone_is_used_again_without_asking_the_server(
    make_repository: Make, git_server: Any, tmp_path: Path
) -> None:
    _, commit = make_repository("tool", {"README.md": "one"})
    with open_tree(pinned(commit), tmp_path / "clones", [git_server.template]):
        asked = len(git_server.requests)
    with open_tree(pinned(commit), tmp_path / "clones", [git_server.template]) as tree:
        assert tree.read("README.md") == b"one"
    assert len(git_server.requests) == asked > 0


def test_large_files_are_left_out_until_they_are_needed(make_repository: Make, git_server: Any, tmp_path: Path) -> None:
    folder, commit = make_repository("tool", {"README.md": "one", "weights.bin": bytes(5 * 1024 * 1024)})
    git(folder, "config", "uploadpack.allowFilter", "true")
    with open_tree(pinned(commit), tmp_path / "clones", [git_server.template]) as tree:
        assert tree.read("README.md") == b"one"
        assert tree.read("weights.bin") is None
        assert tree.missing() == ["weights.bin"]
        git_server.behaviour = "broken"
        assert tree.materialise(tmp_path / "out") == ["weights.bin"]
        assert (tmp_path / "out/README.md").read_text() == "one"
        git_server.behaviour = "serve"
        assert tree.materialise(tmp_path / "out") == []
        assert tree.missing() == []
    assert (tmp_path / "out/weights.bin").stat().st_size == 5 * 1024 * 1024


def test_without_partial_clones_everything_comes(make_repository: Make, git_server: Any, tmp_path: Path) -> None:
    folder, commit = make_repository("tool", {"README.md": "one", "weights.bin": bytes(5 * 1024 * 1024)})
    git(folder, "config", "uploadpack.allowFilter", "false")
    with open_tree(pinned(commit), tmp_path / "clones", [git_server.template]) as tree:
        assert tree.missing() == []


def test_a_commit_that_is_nowhere_is_said_to_be_missing_and_leaves_no_clone(
    make_repository: Make, git_server: Any, tmp_path: Path
) -> None:
    make_repository("tool", {"README.md": "one"})
    with pytest.raises(BenchwrightError, match="does not have the pinned commit"):
        open_tree(pinned("01" * 20), tmp_path / "clones", [git_server.template + "/nowhere", git_server.template])
    assert list((tmp_path / "clones").rglob("HEAD")) == []


def test_a_login_is_refused_not_asked_for(make_repository: Make, git_server: Any, tmp_path: Path) -> None:
    _, commit = make_repository("tool", {"README.md": "one"})
    git_server.behaviour = "401"
    started = time.monotonic()
    with pytest.raises(BenchwrightError, match="login"):
        fetch.fetch_commit(parse_address(URL), commit, tmp_path / "clone", [git_server.template])
    assert time.monotonic() - started < 20


def test_nonsense_from_a_server_is_an_error(make_repository: Make, git_server: Any, tmp_path: Path) -> None:
    _, commit = make_repository("tool", {"README.md": "one"})
    git_server.behaviour = "broken"
    with pytest.raises(BenchwrightError):
        fetch.fetch_commit(parse_address(URL), commit, tmp_path / "clone", [git_server.template])
    assert not (tmp_path / "clone").exists()


def test_a_server_that_stalls_is_given_up(
    make_repository: Make, git_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, commit = make_repository("tool", {"README.md": "one"})
    git_server.behaviour = "stall"
    monkeypatch.setattr(fetch, "FETCH_TIMEOUT_S", 1.0)
    started = time.monotonic()
    with pytest.raises(BenchwrightError, match="slow or stalls"):
        fetch.fetch_commit(parse_address(URL), commit, tmp_path / "clone", [git_server.template])
    assert time.monotonic() - started < 15


@pytest.mark.parametrize("spelling", ["main", "v1", "short", "full", "tag object"])
def test_a_pin_is_resolved_over_the_network(make_repository: Make, git_server: Any, spelling: str) -> None:
    folder, commit = make_repository("tool", {"README.md": "one"})
    git(folder, "tag", "-a", "v1", "-m", "one")
    words = {"short": commit[:12], "full": commit, "tag object": git(folder, "rev-parse", "v1")}
    pin = resolve_pin(parse_address(URL), words.get(spelling, spelling), [git_server.template])
    assert pin.commit == commit


def test_no_process_is_left_behind(make_repository: Make, tmp_path: Path) -> None:
    _, commit = make_repository("tool", {"README.md": "one"})
    template = f"file://{tmp_path}/origins/{{owner}}/{{name}}"
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(200):
        with open_tree(pinned(commit), tmp_path / "clones", [template]) as tree:
            assert tree.read("README.md") == b"one"
    children = Path(f"/proc/self/task/{Path('/proc/self').resolve().name}/children").read_text().split()
    assert children == []
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 2
