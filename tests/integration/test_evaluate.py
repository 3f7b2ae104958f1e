"""``evaluate`` on real sandboxes: good and bad answers, both protocols from one execution, resuming."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.core.progress import Reporter
from benchwright.export import open_dataset
from benchwright.export.evaluation import Options
from benchwright.export.evaluation import evaluate as run_evaluation

pytestmark = pytest.mark.integration

CLI = "from benchwright.core.cli import main; main()"
TRAIN = """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=0.1)
parser.add_argument("--rounds", type=int, default=1)
print("rate", parser.parse_args().rate)
"""
LIBRARY = "def boil(litres):\n    return litres / 2\n"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A release folder of five examples of one repository, its pin in ``repositories.toml``, short limits."""
    kettle = tmp_path / "kettle"
    kettle.mkdir()
    (kettle / "train.py").write_text(TRAIN)
    (kettle / "kettle.py").write_text(LIBRARY)

    def git(*words: str) -> str:
        identity = ("-c", "user.name=A Tester", "-c", "user.email=tester@example.org")
        answer = subprocess.run(["git", *identity, *words], cwd=kettle, check=True, capture_output=True, text=True)
        return answer.stdout.strip()

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "All there is")
    folder = tmp_path / "release"
    folder.mkdir()
    rows = [row(number, kettle, **changes) for number, changes in enumerate(EXAMPLES, 1)]
    (folder / "full.jsonl").write_text("".join(json.dumps(item) + "\n" for item in rows))
    (folder / "repositories.toml").write_text(
        f'[[repository]]\nname = "kettle"\nurl = "{kettle.as_uri()}"\ncommit = "{git("rev-parse", "HEAD")}"\n'
        'github_id = 31\nlicense = "MIT"\n'
    )
    limits = {"timeout_s": 5, "memory_bytes": 256 << 20}
    lines = [json.dumps({"task_id": f"kettle/{i}", "limits": limits}) + "\n" for i in range(1, 6)]
    (folder / "tasks.jsonl").write_text("".join(lines))
    return folder


EXAMPLES: list[dict[str, Any]] = [
    {},
    {},
    {"arguments": "{'litres': 3}", "type": "Python Code", "output": "import kettle\nprint(kettle.boil(3))\n"},
    {"arguments": "{'rate': '0.5'}", "output": "python train.py --rate 0.5 --no-such-flag"},
    {},
]


def row(number: int, kettle: Path, **changes: Any) -> dict[str, Any]:
    return {
        "github_id": 31,
        "github": kettle.as_uri(),
        "repo_id": number,
        "path": "./",
        "arguments": "{'rate': '0.5'}",
        "instruction": "Train at rate 0.5.",
        "oracle": "python train.py --rate 0.1",
        "type": "Bash Script",
        "id": number,
        "prefix_code": "",
        "output": "python train.py --rate 0.5",
        "task_id": f"kettle/{number}",
        **changes,
    }


ANSWERS: dict[int, list[str]] = {
    1: [
        "```bash\npython train.py --rate 5e-1 \n```",
        "python train.py --rate 0.4",
        "python train.py --rate 0.5 --bogus 1",
        "python train.py --rate 0.5 --bogus 1 ; true",
    ],
    2: ["sleep 60 # train.py 0.5", "python train.py --rate 0.5; head -c 200000 /dev/zero; exit 1", "I cannot."],
    3: [
        "```python\nimport kettle\nprint(kettle.boil(3))\n```",
        "import kettle\nkettle.boil(3) / 0",
        "",
        "python train.py 3",
    ],
    4: ["python train.py --rate 0.5"],
}


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    path = tmp_path / "predictions.jsonl"
    lines = [{"github_id": 31, "id": number, "output": samples} for number, samples in ANSWERS.items()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def evaluate(release: Path, predictions: Path, sandbox: str, tmp_path: Path) -> Callable[..., tuple[Any, Any, str]]:
    def run(*words: str, code: int = 0) -> tuple[Any, Any, str]:
        folder = tmp_path / "run"
        command = [sys.executable, "-c", CLI, "evaluate", str(release), str(predictions), "--sandbox", sandbox]
        done = subprocess.run([*command, "-o", str(folder), *words], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        lines = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
        results = {(line["id"], line["sample"]): line for line in lines}
        return results, json.loads((folder / "report.json").read_text()), done.stderr

    return run


def test_both_protocols_judge_the_same_executions(evaluate: Callable[..., tuple[Any, Any, str]]) -> None:
    results, report, _ = evaluate("--jobs", "2")
    ours = {key: line["outcome"] for key, line in results.items()}
    assert ours == {
        (1, 0): "passed",
        (1, 1): "wrong_arguments",
        (1, 2): "failed",
        (1, 3): "failed",
        (2, 0): "wrong_arguments",
        (2, 1): "failed",
        (2, 2): "no_code",
        (2, 3): "missing",
        (3, 0): "passed",
        (3, 1): "failed",
        (3, 2): "no_code",
        (3, 3): "wrong_type",
        (4, 0): "passed",
        **{(4, index): "missing" for index in (1, 2, 3)},
        **{(5, index): "missing" for index in (0, 1, 2, 3)},
    }
    published = {key: (line["ml_bench"]["passed"], line["ml_bench"]["rule"]) for key, line in results.items()}
    assert published[1, 0] == (False, "arguments")
    assert published[1, 2] == (False, "exit_code")
    assert published[1, 3] == (True, None)
    assert published[2, 0][0] is True
    assert published[2, 1] == (True, "unread_pipe")
    assert published[3, 1] == (False, "exit_code")
    strict = report["protocols"]["strict"]
    assert strict["examples"] == {"release": 5, "gold_passes_here": 4, "graded": 4}
    assert strict["left_out"] == {"gold does not pass here": ["31/4"]}
    assert strict["pass_at_k"]["1"]["value"] == pytest.approx((1 / 4 + 0 + 1 / 4 + 0) / 4)
    assert strict["pass_at_k"]["5"]["value"] is None
    assert report["protocols"]["ml-bench"]["left_out"] == {"not as many samples as declared": ["31/2", "31/4", "31/5"]}
    assert report["protocols"]["ml-bench"]["examples"]["graded"] == 2
    assert [item["id"] for item in report["gold_fails_here"]] == [4]


def test_a_second_run_executes_nothing_and_says_the_same(
    evaluate: Callable[..., tuple[Any, Any, str]], tmp_path: Path
) -> None:
    first, report, _ = evaluate()
    executed = (tmp_path / "run" / "outcomes.jsonl").read_bytes()
    second, again, said = evaluate("--regrade")
    assert second == first
    assert (tmp_path / "run" / "outcomes.jsonl").read_bytes() == executed
    assert "are recorded" in said
    for one in (report, again):
        del one["provenance"]["machine"]
    assert again == report


def test_a_torn_record_is_executed_again(evaluate: Callable[..., tuple[Any, Any, str]], tmp_path: Path) -> None:
    first, _, _ = evaluate()
    record = tmp_path / "run" / "outcomes.jsonl"
    whole = record.read_bytes()
    record.write_bytes(whole[: len(whole) - 40])
    second, _, _ = evaluate()
    assert {key: line["outcome"] for key, line in second.items()} == {
        key: line["outcome"] for key, line in first.items()
    }
    assert len(record.read_bytes().splitlines()) >= len(whole.splitlines())


def test_an_endless_answer_is_ended_beside_golds_own_time_long_before_the_tasks_limit(
    release: Path, sandbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchwright.validators.execution.GOLD_FLOOR_S", 2.0)
    limits = {"timeout_s": 300, "memory_bytes": 256 << 20}
    (release / "tasks.jsonl").write_text(json.dumps({"task_id": "kettle/1", "limits": limits}) + "\n")
    predictions = tmp_path / "endless.jsonl"
    answer = "python train.py --rate 0.5; sleep 200"
    predictions.write_text(json.dumps({"github_id": 31, "id": 1, "output": [answer]}) + "\n")
    options = Options(sandbox=sandbox, limit=1)
    began = time.monotonic()
    run_evaluation(open_dataset(str(release)), predictions, options, tmp_path / "run", Reporter(quiet=True))
    assert time.monotonic() - began < 100
    (line,) = [json.loads(text) for text in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    assert (line["outcome"], line["error"]["class"]) == ("timed_out", "limit")


def test_a_repository_that_cannot_be_had_leaves_items_ungraded(
    evaluate: Callable[..., tuple[Any, Any, str]], release: Path, tmp_path: Path
) -> None:
    registry = release / "repositories.toml"
    text = registry.read_text()
    commit = text.split('commit = "')[1].split('"')[0]
    registry.write_text(text.replace(commit, "f" * 40))
    results, report, said = evaluate(code=2)
    assert report["protocols"]["strict"]["examples"]["graded"] == 0
    assert report["protocols"]["strict"]["pass_at_k"]["1"]["value"] is None
    assert results[1, 0]["outcome"] == "infrastructure"
    assert "spoilt by the machine" in said


def test_gold_that_an_answer_of_the_same_text_could_not_pass_is_left_out_and_named(
    evaluate: Callable[..., tuple[Any, Any, str]], release: Path
) -> None:
    rows = [json.loads(line) for line in (release / "full.jsonl").read_text().splitlines()]
    rows[4]["arguments"] = "{'rate': '0.9'}"
    (release / "full.jsonl").write_text("".join(json.dumps(item) + "\n" for item in rows))
    _, report, _ = evaluate()
    strict = report["protocols"]["strict"]
    assert strict["examples"] == {"release": 5, "gold_passes_here": 3, "graded": 3}
    assert strict["left_out"] == {"gold does not pass here": ["31/4", "31/5"]}
    (failure,) = [item for item in report["gold_fails_here"] if item["id"] == 5]
    assert failure["outcome"] == "wrong_arguments"
    assert "its own output is refused: rate: wanted '0.9'" in failure["detail"]


UNSURE = "```bash\nR=$(echo 5)\npython train.py --rate 0.$R\n```"


def test_what_text_does_not_tell_is_recorded_once_and_decides(
    evaluate: Callable[..., tuple[Any, Any, str]], predictions: Path, tmp_path: Path
) -> None:
    answers = [UNSURE, UNSURE.replace("echo 5", "echo 4"), "if [ -f train.py ]; then python train.py --rate 0.5; fi"]
    predictions.write_text(json.dumps({"github_id": 31, "id": 1, "output": answers}) + "\n")
    results, _, _ = evaluate("--jobs", "2")
    assert [results[1, index]["outcome"] for index in range(3)] == ["passed", "wrong_arguments", "passed"]
    assert "found 0.4 in --rate" in results[1, 1]["detail"]
    recorded = (tmp_path / "run" / "recordings.jsonl").read_bytes()
    assert len(recorded.splitlines()) >= 2
    again, _, said = evaluate("--regrade")
    assert again == results
    assert "recording calls" not in said
    assert (tmp_path / "run" / "recordings.jsonl").read_bytes() == recorded


def test_without_execution_nothing_is_recorded_and_the_doubt_is_named(
    evaluate: Callable[..., tuple[Any, Any, str]], predictions: Path, tmp_path: Path
) -> None:
    predictions.write_text(json.dumps({"github_id": 31, "id": 1, "output": [UNSURE]}) + "\n")
    results, _, _ = evaluate("--no-execute")
    assert results[1, 0]["outcome"] == "wrong_arguments"
    assert not (tmp_path / "run" / "recordings.jsonl").exists()
