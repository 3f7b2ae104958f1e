"""Training examples as chat messages: from train splits only, in the shape that trainers take."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Example, Repository, RepositoryRef, Task
from benchwright.core.progress import Reporter
from benchwright.core.tasks import write_task
from benchwright.core.workspace import Workspace
from benchwright.export.chat import export_chat, fenced
from benchwright.export.dataset import Dataset, open_dataset
from benchwright.export.release import build_release

QUIET = Reporter(quiet=True)
README = "# Adder\n\nAdds numbers. Run `python add.py A B` to add A and B. The sum is printed.\n"


@pytest.fixture
def upstream(tmp_path: Path) -> tuple[str, str]:
    """A mirror template and the commit of a tiny repository."""
    work = tmp_path / "git" / "o+adder"
    work.mkdir(parents=True)
    (work / "README.md").write_text(README)
    (work / "add.py").write_text("import sys\nprint(int(sys.argv[1]) + int(sys.argv[2]))\n")
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", "-C", str(work), *command], check=True)
    commit = subprocess.run(["git", "-C", str(work), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return f"file://{tmp_path}/git/{{owner}}+{{name}}", commit.stdout.strip()


def release(root: Path, commit: str, splits: dict[str, list[int]]) -> Dataset:
    repository = Repository(name="adder", url="https://github.com/o/adder", commit=commit, github_id=1, license="MIT")
    workspace = Workspace.create(root / "pocket", [repository])
    task = Task(
        name="add",
        repository=RepositoryRef(name="adder", github_id=1, url=repository.url, commit=commit, license="MIT"),
        type="Bash Script",
    )
    examples = [
        Example(
            id=n, type="Bash Script", instruction=f"Add {n} and 1 and print the sum.", output=f"python add.py {n} 1"
        )
        for n in range(1, 7)
    ]
    write_task(workspace, task, "Run `python add.py A B` to add A and B.\n", examples)
    workspace.splits_dir.mkdir()
    for name, members in splits.items():
        (workspace.splits_dir / f"{name}.txt").write_text("".join(f"adder/{n}\n" for n in members))
    # one task on both sides: what the export itself must keep apart
    return open_dataset(str(build_release(workspace, allow_overlap=True).folder))


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_each_setting_gives_its_own_context_and_the_examples_output(tmp_path: Path, upstream: tuple[str, str]) -> None:
    mirror, commit = upstream
    dataset = release(tmp_path, commit, {"id_train": [4, 5]})
    done = export_chat(dataset, tmp_path / "chat", mirrors=[mirror], reporter=QUIET)
    assert done.lines == {"code": 2, "retrieval": 2, "oracle": 2}
    for setting, holds in (
        ("code", "=== add.py ===\nimport sys"),
        ("retrieval", "print(int(sys.argv[1])"),
        ("oracle", "Run `python add.py A B` to add A and B."),
    ):
        written = lines(tmp_path / "chat" / f"{setting}.jsonl")
        assert [line["id"] for line in written] == [4, 5]
        question, answer = written[0]["messages"]  # type: ignore[misc]
        assert question["role"] == "user"
        assert holds in question["content"]
        assert "Add 4 and 1 and print the sum." in question["content"]
        assert answer == {"role": "assistant", "content": "```bash\npython add.py 4 1\n```"}
    code = lines(tmp_path / "chat" / "code.jsonl")[0]["messages"][0]["content"]  # type: ignore[index]
    assert code.index("=== README.md ===") < code.index("=== add.py ===")


def test_the_files_load_as_chat(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    dataset = release(tmp_path, "5" * 40, {"train": [1, 2, 3]})
    export_chat(dataset, tmp_path / "chat", settings=["oracle"], reporter=QUIET)
    loaded = datasets.load_dataset(
        "json", data_files=str(tmp_path / "chat" / "oracle.jsonl"), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert len(loaded) == 3
    assert [item["role"] for item in loaded[0]["messages"]] == ["user", "assistant"]
    assert all(set(item) == {"role", "content"} for row in loaded for item in row["messages"])


def test_nothing_comes_from_a_test_split(tmp_path: Path) -> None:
    dataset = release(tmp_path, "5" * 40, {"ood_train": [1, 2, 3], "ood_test": [3, 4], "quarter": [2]})
    done = export_chat(dataset, tmp_path / "chat", settings=["oracle"], reporter=QUIET)
    assert done.held_out == 2
    assert [line["id"] for line in lines(tmp_path / "chat" / "oracle.jsonl")] == [1]
    with pytest.raises(BenchwrightError, match="ood_test is a test split"):
        export_chat(dataset, tmp_path / "other", splits=["ood_test"], reporter=QUIET)
    with pytest.raises(BenchwrightError, match="is a test split"):
        export_chat(dataset, tmp_path / "other", splits=["full"], reporter=QUIET)
    assert not (tmp_path / "other").exists()


def test_a_release_without_a_train_split_gives_nothing(tmp_path: Path) -> None:
    dataset = release(tmp_path, "5" * 40, {"quarter": [1, 2], "constrained": [3]})
    with pytest.raises(BenchwrightError, match="no train split"):
        export_chat(dataset, tmp_path / "chat", reporter=QUIET)


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    dataset = release(tmp_path, "5" * 40, {"train": [1]})
    (tmp_path / "chat").mkdir()
    (tmp_path / "chat" / "mine.txt").write_text("mine")
    with pytest.raises(BenchwrightError, match="something already"):
        export_chat(dataset, tmp_path / "chat", reporter=QUIET)
    assert (tmp_path / "chat" / "mine.txt").read_text() == "mine"


def test_a_fence_is_longer_than_those_inside() -> None:
    assert fenced("a\n```\nb\n", "bash") == "````bash\na\n```\nb\n````"
