"""What a release passes on, what it leaves out, and how the two come together again."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Example, Repository, RepositoryRef, Source, Task
from benchwright.core.tasks import write_task
from benchwright.core.workspace import Workspace
from benchwright.export import build_release, join, open_dataset

README = """# Lamp

A lamp is lit with one command, and it stays lit for as long as you like.

    python light.py --minutes 5

Every lamp goes out in the end.\u2028 This is still the same line: ü.
"""
OPEN = (
    "MIT License\n\nCopyright (c) 2020 The Lamp People\n\nPermission is hereby granted, free of charge, to any person "
    "obtaining a copy of this software and associated documentation files, to deal in the Software without "
    "restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, "
    "sublicense, and/or sell copies of the Software.\n\nThe above copyright notice and this permission notice shall "
    "be included in all copies or substantial portions of the Software.  \n\n"
)
PROGRAM = """import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--minutes", type=int)
print(parser.parse_args().minutes)
"""
CLOSED = "You may look at this, and no more.\n"
NOTICE = "This product holds a wick made by others.\n"
Bench = tuple[Workspace, list[str]]


@pytest.fixture
def make_repository(tmp_path: Path) -> Callable[..., Repository]:
    def make(name: str, number: int, license: str | None, text: str, files: dict[str, str] | None = None) -> Repository:
        folder = tmp_path / "git" / f"lamps+{name}"
        folder.mkdir(parents=True)
        for path, content in {"README.md": README, "LICENSE": text, "light.py": PROGRAM, **(files or {})}.items():
            (folder / path).write_text(content, encoding="utf-8")

        def git(*words: str) -> str:
            identity = ("-c", "user.name=A Tester", "-c", "user.email=tester@example.org")
            answer = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
            return answer.stdout.strip()

        git("init", "-q", "-b", "main")
        git("add", ".")
        git("commit", "-q", "-m", "All there is")
        commit = git("rev-parse", "HEAD")
        url = f"https://example.org/lamps/{name}"
        return Repository(name=name, url=url, commit=commit, github_id=number, license=license)

    return make


def add_task(workspace: Workspace, repository: Repository, count: int = 2) -> None:
    fields = repository.model_dump(include={"name", "url", "commit", "github_id", "license"})
    task = Task(
        name="light",
        repository=RepositoryRef(**fields),
        type="Bash Script",
        source=Source(path="README.md", blob="0" * 40, start_line=5, end_line=7),
    )
    examples = [
        Example(
            id=number,
            type="Bash Script",
            instruction=f"Light the lamp for {number} minutes with one command.",
            arguments={"minutes": number},
            output=f"python light.py --minutes {number}",
        )
        for number in range(1, count + 1)
    ]
    write_task(workspace, task, "".join(README.split("\n", 4)[4].splitlines(True)), examples)


@pytest.fixture
def bench(tmp_path, make_repository) -> Bench:
    """One repository whose text may be passed on, and one whose text may not, both with the same README."""
    known = [
        make_repository("open", 1, "MIT", OPEN, {"NOTICE": NOTICE}),
        make_repository("closed", 2, "LicenseRef-Look-Only", CLOSED),
    ]
    workspace = Workspace.create(tmp_path / "lamps", known)
    for repository in known:
        add_task(workspace, repository)
    return workspace, [f"file://{tmp_path}/git/{{owner}}+{{name}}"]


def table(folder: Path, config: str, split: str = "full") -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = pq.read_table(folder / config / f"{split}-00000-of-00001.parquet").to_pylist()
    return rows


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_no_configuration_holds_text_whose_licence_is_not_on_the_list(bench, tmp_path):
    workspace, mirrors = bench
    built = build_release(workspace, tmp_path / "out", mirrors, denormalized=True)
    for config in ("data", "retrieval", "denormalized"):
        for row in table(built.folder, config):
            texts = " ".join(str(row.get(name) or "") for name in ("oracle", "segment", "document"))
            assert ("--minutes 5" in texts) == (row["github_id"] == 1), config
    for row in table(built.folder, "repositories"):
        assert (row["text"] == README) == (row["github_id"] == 1)
        assert row["sha256"] == sha256(README)


def test_what_is_left_out_is_named_by_commit_path_lines_and_digest_and_joined_again(bench, tmp_path):
    workspace, mirrors = bench
    built = build_release(workspace, tmp_path / "out", mirrors)
    dataset = open_dataset(str(built.folder))
    closed = [row for row in dataset.rows("full") if row.github_id == 2]
    segment = (
        "    python light.py --minutes 5\n\nEvery lamp goes out in the end.\u2028 This is still the same line: ü.\n"
    )
    repository = workspace.repositories()[1]
    for row in closed:
        assert (row.commit, row.source_path, row.start_line, row.end_line) == (repository.commit, "README.md", 5, 7)
        assert (row.oracle, row.oracle_sha256) == ("", sha256(segment))
    joined = {(row["github_id"], row["id"]): row for row in join(dataset, mirrors=mirrors)}
    assert {row["oracle"] for key, row in joined.items() if key[0] == 2} == {segment}
    passages = {(row["github_id"], row["id"]): row for row in table(built.folder, "retrieval")}
    for key, row in joined.items():  # half of it from the release and half from the repositories
        assert row["document"] == README
        assert passages[key]["sha256"] == sha256(row["segment"])
        assert "--minutes 5" in row["segment"]
    assert {row["document"] for row in join(dataset, fetch=False)} == {README, None}


def test_joined_text_that_is_not_what_the_release_was_made_from_is_refused(bench, tmp_path, monkeypatch):
    workspace, mirrors = bench
    dataset = open_dataset(str(build_release(workspace, tmp_path / "out", mirrors).folder))
    monkeypatch.setattr(
        "benchwright.curation.source.PinnedTree.read", lambda self, path: README.replace("5", "50").encode()
    )
    with pytest.raises(BenchwrightError, match="is not what the release was made from"):
        list(join(dataset, mirrors=mirrors))


def test_the_passage_is_the_one_that_predict_shows_a_model(bench, tmp_path):
    from benchwright.export.evaluation.prompts import Prompts

    workspace, mirrors = bench
    built = build_release(workspace, tmp_path / "out", mirrors)
    dataset = open_dataset(str(built.folder))
    row = next(dataset.rows("full"))
    (found,) = [item for item in table(built.folder, "retrieval") if (item["github_id"], item["id"]) == row.key]
    assert found["segment"] in Prompts(dataset, [row], "retrieval", mirrors=mirrors).of(row).text
    assert found["sha256"] == sha256(found["segment"])
    assert found["paths"].startswith('["README.md"')
    assert found["score"] > 0


def test_a_model_is_shown_the_segment_that_the_release_leaves_out(bench, tmp_path):
    from benchwright.export.evaluation.prompts import Prompts

    workspace, mirrors = bench
    dataset = open_dataset(str(build_release(workspace, tmp_path / "out", mirrors).folder))
    rows = list(dataset.rows("full"))
    texts = [Prompts(dataset, rows, "oracle", mirrors=mirrors).of(row).text for row in rows]
    assert all("python light.py --minutes 5" in text for text in texts)


def test_a_repository_that_is_not_at_hand_has_rows_without_a_passage(bench, tmp_path):
    workspace, _ = bench
    built = build_release(workspace, tmp_path / "out")
    assert built.without_text == ("open", "closed")
    rows = table(built.folder, "retrieval")
    assert [(row["github_id"], row["id"], row["segment"]) for row in rows] == [
        (1, 1, None), (1, 2, None), (2, 1, None), (2, 2, None)
    ]  # fmt: skip


def test_licence_and_notice_stand_verbatim(bench, tmp_path):
    workspace, mirrors = bench
    built = build_release(workspace, tmp_path / "out", mirrors)
    text = (built.folder / "THIRD_PARTY_LICENSES").read_text("utf-8")
    assert OPEN in text
    assert NOTICE in text
    assert CLOSED in text


def test_the_card_names_whose_text_is_left_out(bench, tmp_path):
    workspace, mirrors = bench
    card = (build_release(workspace, tmp_path / "out", mirrors).folder / "README.md").read_text("utf-8")
    assert "Text of closed (LicenseRef-Look-Only) is not passed on here" in card


@pytest.mark.parametrize("license", [None, "LicenseRef-unknown"])
def test_an_undecided_licence_stops_the_build_and_says_how_to_decide(bench, tmp_path, license):
    workspace, mirrors = bench
    known = workspace.repositories()
    workspace.save_repositories([known[0], known[1].model_copy(update={"license": license})])
    with pytest.raises(BenchwrightError, match="licence of closed is not known") as raised:
        build_release(workspace, tmp_path / "out", mirrors)
    for words in ("https://example.org/lamps/closed", "SPDX", "LicenseRef-NAME", "redistributable_licenses"):
        assert words in (raised.value.remedy or "")
    assert not (tmp_path / "out").exists()


def test_a_licence_unlike_the_file_at_the_pin_is_told(bench, tmp_path):
    workspace, mirrors = bench
    known = workspace.repositories()
    workspace.save_repositories([known[0].model_copy(update={"license": "Apache-2.0"}), known[1]])
    built = build_release(workspace, tmp_path / "out", mirrors)
    assert built.doubtful_licenses == ("open: repositories.toml says Apache-2.0, LICENSE at the pin is MIT",)


def test_the_presets_own_terms_keep_their_text_out(tmp_path):
    """vid2vid and IF have terms of their own: named by LicenseRef, so decided, and not on the list."""
    from benchwright.curation.presets import preset_repositories
    from benchwright.export.release.licenses import may_pass_on

    workspace = Workspace.create(tmp_path / "preset", preset_repositories("ml-bench"))
    closed = [item.name for item in workspace.repositories() if not may_pass_on(workspace, item)]
    assert closed == ["if", "vid2vid"]


def test_two_checkouts_with_other_surroundings_build_equal_bytes(bench, tmp_path):
    workspace, mirrors = bench
    (workspace.splits_dir).mkdir(exist_ok=True)
    (workspace.splits_dir / "quarter.txt").write_text("open/2\nclosed/1\n")
    moved_git = tmp_path / "another place" / "mirrors"
    shutil.copytree(tmp_path / "git", moved_git)
    places = {
        "one": (workspace.root, mirrors[0], {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C"}),
        "two": (
            tmp_path / "other" / "lamps-checkout",
            f"file://{moved_git}/{{owner}}+{{name}}",
            {"PYTHONHASHSEED": "77", "TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8", "LANGUAGE": "tr", "COLUMNS": "40"},
        ),
    }
    places["two"][0].parent.mkdir()
    for path in sorted(workspace.root.rglob("*"), reverse=True):  # files come into being in another order
        if path.is_file() and ".benchwright" not in path.parts:
            copy = places["two"][0] / path.relative_to(workspace.root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    sums = {}
    for name, (root, mirror, surroundings) in places.items():
        command = ["--workspace", str(root), "--mirror", mirror, "release", "build", "--denormalized"]
        subprocess.run(
            [sys.executable, "-c", "from benchwright.core.cli import main; main()", *command],
            check=True,
            cwd=root,
            env=os.environ | surroundings,
            capture_output=True,
        )
        sums[name] = (root / "releases" / "0.1.0" / "SHA256SUMS").read_text()
    assert sums["one"] == sums["two"]
    assert len(sums["one"].splitlines()) > 15
