"""The main job from end to end, as `make demo` runs it, with the real services."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]


def demo(folder: Path) -> dict[str, object]:
    program = [
        sys.executable,
        "-P",
        "-c",
        "from benchwright.core.cli import main; main()",
        "--json",
        "demo",
        str(folder),
    ]
    done = subprocess.run(
        program, capture_output=True, text=True, timeout=800, env={**os.environ, "PYTHONSAFEPATH": "1"}
    )
    assert done.returncode == 0, done.stderr[-4000:]
    report: dict[str, object] = json.loads(done.stdout)
    return report


def test_the_demo_carries_two_repositories_to_a_score_and_a_second_run_adds_nothing(tmp_path: Path) -> None:
    first = demo(tmp_path / "demo")
    assert first["candidates"] == {"pocket-classifier": 5, "tallybox": 3}
    assert first["annotations"] == {"accepted": 6, "disagreements": 1, "skipped": 1, "annotators": 2}
    assert first["outcomes"] == {"passed": 6}
    assert first["release"] == {"rows": 6, "splits": ["full"]}
    if os.environ.get("CI") == "true":
        assert first["sandbox"] == "docker"

    second = demo(tmp_path / "demo")
    changing = {"seconds"}
    assert {k: v for k, v in second.items() if k not in changing} == {
        k: v for k, v in first.items() if k not in changing
    }
    archive = (tmp_path / "demo" / "annotations").glob("*.jsonl")
    assert sum(len(path.read_text().splitlines()) for path in archive) == 14
