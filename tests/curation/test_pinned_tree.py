"""Reading the pin, and nothing but the pin."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Repository
from benchwright.core.workspace import Workspace
from benchwright.curation import PinnedTree, open_tree
from benchwright.curation.address import parse_address
from benchwright.curation.pins import resolve_pin
from benchwright.curation.repositories import add

from .conftest import commit_files, git

Make = Callable[..., tuple[Path, str]]
CASE = Path(__file__).parents[3] / "shared" / "cases/55-pins-and-shallow-clones"


@pytest.fixture
def open_own(tmp_path: Path) -> Callable[[str, str], PinnedTree]:
    def open_it(name: str, commit: str) -> PinnedTree:
        repository = Repository(name=name, url=f"https://example.org/own/{name}", commit=commit)
        return open_tree(repository, tmp_path / "clones", [f"file://{tmp_path}/origins/{{owner}}/{{name}}"])

    return open_it


def test_files_are_read_as_stored_at_the_pin(make_repository: Make, open_own: Callable[..., PinnedTree]) -> None:
    folder, commit = make_repository("tool", {"a.md": b"\xef\xbb\xbfone\r\n", "weiß/名.txt": "x", "with blank": "y"})
    commit_files(folder, {"a.md": "two"})
    with open_own("tool", commit) as tree:
        assert list(tree.paths()) == ["a.md", "weiß/名.txt", "with blank"]
        assert tree.read("a.md") == b"\xef\xbb\xbfone\r\n"
        assert tree.read("nothing") is None
        assert dict(tree.read_many(["with blank", "nothing", "weiß/名.txt"])) == {
            "with blank": b"y",
            "weiß/名.txt": b"x",
        }
        assert tree.blob_of("a.md") == git(folder, "rev-parse", f"{commit}:a.md")


def test_many_and_large_files_do_not_block_the_pipe(make_repository: Make, open_own: Callable[..., PinnedTree]) -> None:
    files = {f"f{number:04}": bytes([number % 251]) * 3000 for number in range(1500)}
    _, commit = make_repository("many", files)
    with open_own("many", commit) as tree:
        assert dict(tree.read_many(tree.paths())) == files


def test_links_that_leave_the_tree_are_not_written(
    make_repository: Make, open_own: Callable[..., PinnedTree], tmp_path: Path
) -> None:
    folder, _ = make_repository("tool", {"run.sh": "#!/bin/sh\n", "d/x": "x"})
    (folder / "run.sh").chmod(0o755)
    (folder / "d/inside").symlink_to("../run.sh")
    (folder / "d/outside").symlink_to("../../secret")
    (folder / "absolute").symlink_to("/etc/passwd")
    commit = commit_files(folder, {})
    with open_own("tool", commit) as tree:
        assert tree.materialise(tmp_path / "out") == []
    assert os.access(tmp_path / "out/run.sh", os.X_OK)
    assert (tmp_path / "out/d/inside").is_symlink()
    assert not (tmp_path / "out/d/outside").is_symlink()
    assert not (tmp_path / "out/absolute").is_symlink()
    assert not (tmp_path / "out/.git").exists()


def test_a_missing_blob_is_a_stated_condition(make_repository: Make, open_own: Callable[..., PinnedTree]) -> None:
    folder, commit = make_repository("tool", {"README.md": "one", "big.bin": "gone"})
    blob = git(folder, "rev-parse", f"{commit}:big.bin")
    (folder / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with open_own("tool", commit) as tree:
        assert tree.missing() == ["big.bin"]
        assert tree.read("big.bin") is None
        assert dict(tree.read_many(tree.paths())) == {"README.md": b"one"}


def test_submodules_are_recorded_not_fetched(make_repository: Make, open_own: Callable[..., PinnedTree]) -> None:
    folder, commit = make_repository("tool", {"README.md": "one"})
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{commit},vendor/part")
    git(folder, "commit", "-q", "-m", "with a submodule")
    with open_own("tool", git(folder, "rev-parse", "HEAD")) as tree:
        assert [(item.path, item.commit) for item in tree.submodules()] == [("vendor/part", commit)]
        assert list(tree.paths()) == ["README.md"]


def test_a_tree_or_blob_id_is_no_pin(make_repository: Make, open_own: Callable[..., PinnedTree]) -> None:
    folder, commit = make_repository("tool", {"README.md": "one"})
    with pytest.raises(BenchwrightError):
        open_own("tool", git(folder, "rev-parse", f"{commit}:README.md"))


def test_a_branch_that_looks_like_an_id_is_said_to_be_read_as_branch(make_repository: Make, tmp_path: Path) -> None:
    folder, first = make_repository("tool", {"README.md": "one"})
    commit_files(folder, {"README.md": "two"})
    git(folder, "branch", "abcdef12", first)
    pin = resolve_pin(
        parse_address("https://example.org/own/tool"), "abcdef12", [f"file://{tmp_path}/origins/{{owner}}/{{name}}"]
    )
    assert (pin.commit, pin.kind) == (first, "branch")
    assert "branch" in pin.note


def test_add_writes_down_the_full_commit_and_the_licence(
    make_repository: Make, workspace: Workspace, tmp_path: Path
) -> None:
    folder, commit = make_repository("tool", {"README.md": "one", "LICENSE": MIT})
    git(folder, "tag", "v1")
    mirrors = [f"file://{tmp_path}/origins/{{owner}}/{{name}}"]
    added = add(workspace, "https://example.org/own/tool", "v1", mirrors=mirrors)
    (kept,) = workspace.repositories()
    assert kept == added.repository
    assert (kept.commit, kept.ref, kept.license, kept.github_id) == (commit, "v1", "MIT", 1)
    with pytest.raises(BenchwrightError, match="registered already"):
        add(workspace, "git@example.org:own/tool.git", "main", mirrors=mirrors)


@pytest.mark.skipif(not CASE.exists(), reason="the shared cases are not here")
def test_the_pins_of_the_shared_case(tmp_path: Path) -> None:
    shutil.copy(CASE / "make.sh", tmp_path)
    subprocess.run(["bash", "make.sh", "T"], cwd=tmp_path, check=True, capture_output=True)
    root = tmp_path / "T"
    address = parse_address(f"file://{root}/origin", allow_file=True)
    wanted = json.loads((CASE / "expect.json").read_text())["pins"]
    for name, answer in wanted.items():
        pin = (root / name).read_text().strip()
        if name == "sha_missing":
            with pytest.raises(BenchwrightError, match="no commit"):
                resolve_pin(address, pin)
            continue
        found = resolve_pin(address, pin)
        repository = Repository(name="origin", url=address.url, commit=found.commit)
        with open_tree(repository, tmp_path / "clones") as tree:
            assert answer.split(" (")[0].split(" or ")[0] in (tree.read("README.md") or b"").decode()


MIT = """\
Copyright (c) 2024 A

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.
"""
