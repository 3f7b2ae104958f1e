"""``evaluate --dry-run``: what is known is used, what is not known is said, and nothing of the answers is executed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.core.progress import Reporter
from benchwright.export.dataset import open_dataset
from benchwright.export.evaluation import Options, Plan, evaluate, plan

pytestmark = pytest.mark.skipif(shutil.which("prlimit") is None, reason="prlimit (util-linux) is not installed")

QUIET = Reporter(quiet=True)
OPTIONS = Options(sandbox="process", workers=2)


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Three examples: at once, 0.4 s, and one whose output fails."""
    mill = tmp_path / "mill"
    mill.mkdir()
    (mill / "work.py").write_text("import sys, time\ntime.sleep(float(sys.argv[2]))\n")
    git = ["git", "-C", str(mill), "-c", "user.name=A Tester", "-c", "user.email=tester@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "All there is"]):
        subprocess.run([*git, *words], check=True)
    pin = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    folder = tmp_path / "release"
    folder.mkdir()
    lines(folder / "full.jsonl", [row(number, mill, text) for number, text in enumerate(("0", "0.4", "wrong"), 1)])
    (folder / "repositories.toml").write_text(
        f'[[repository]]\nname = "mill"\nurl = "{mill.as_uri()}"\ncommit = "{pin}"\ngithub_id = 31\n'
    )
    lines(folder / "tasks.jsonl", [{"task_id": f"mill/{n}", "limits": {"timeout_s": 20}} for n in (1, 2, 3)])
    return folder


def row(number: int, mill: Path, seconds: str) -> dict[str, Any]:
    return {
        "github_id": 31, "github": mill.as_uri(), "repo_id": 1, "path": "./", "id": number, "prefix_code": "",
        "arguments": f"{{'seconds': '{seconds}'}}", "instruction": f"Work {seconds}.", "oracle": "python work.py",
        "type": "Bash Script", "output": f"python work.py --seconds {seconds}", "task_id": f"mill/{number}",
    }  # fmt: skip


def lines(path: Path, values: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))


def answers(folder: Path, name: str, ending: str) -> Path:
    """Two samples each, of texts that no other file has."""
    given = {1: "0", 2: "0.4", 3: "wrong"}
    texts = {n: [f"python work.py --seconds {s} # {ending}{i}" for i in (1, 2)] for n, s in given.items()}
    lines(folder / name, [{"github_id": 31, "id": n, "output": text} for n, text in texts.items()])
    return folder / name


def planned(release: Path, predictions: Path, run: Path, *times: Path) -> Plan:
    return plan(open_dataset(str(release)), predictions, OPTIONS, run, times, QUIET)


def test_without_any_time_only_the_limits_are_known(release: Path, tmp_path: Path) -> None:
    found = planned(release, answers(tmp_path, "a.jsonl", "a"), tmp_path / "run")
    assert (found.examples, found.samples, found.executions, found.timed) == (3, 6, 9, 0)
    assert found.expected_s is None
    assert found.wall_s is None
    assert found.at_most_s >= 9 * 20
    assert any("not known" in line for line in found.lines())
    assert not (tmp_path / "run").exists()


def test_times_come_from_another_models_run(release: Path, tmp_path: Path) -> None:
    evaluate(open_dataset(str(release)), answers(tmp_path, "a.jsonl", "a"), OPTIONS, tmp_path / "run-a", QUIET)
    found = planned(release, answers(tmp_path, "b.jsonl", "b"), tmp_path / "run-b", tmp_path / "run-a")
    assert (found.executions, found.timed, found.recorded) == (9, 9, 0)
    assert found.expected_s is not None
    assert found.expected_s > 3 * 0.4
    assert found.wall_s is not None
    assert found.wall_s < found.wall_at_most_s < found.at_most_s


def test_what_is_recorded_is_not_counted_again(release: Path, tmp_path: Path) -> None:
    predictions = answers(tmp_path, "a.jsonl", "a")
    evaluate(open_dataset(str(release)), predictions, OPTIONS, tmp_path / "run", QUIET)
    found = planned(release, predictions, tmp_path / "run")
    assert (found.executions, found.recorded, found.expected_s) == (0, 9, 0.0)


def test_a_folder_that_is_no_run_is_refused(release: Path, tmp_path: Path) -> None:
    with pytest.raises(BenchwrightError, match="no folder of an executed run"):
        planned(release, answers(tmp_path, "a.jsonl", "a"), tmp_path / "run", tmp_path)
