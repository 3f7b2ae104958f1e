"""The plain process: no isolation, but a clean environment, honest statuses and the end of the whole tree."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest

from benchwright.core.models import Limits, OutcomeKind
from benchwright.validators.execution import Job, Runner, run_file

pytestmark = pytest.mark.skipif(shutil.which("prlimit") is None, reason="prlimit (util-linux) is not installed")


@pytest.fixture(scope="module")
def runner() -> Runner:
    return Runner("process")


def job(code: str, timeout_s: float = 20, **changes: object) -> Job:
    return Job("it", code, "Bash Script", limits=Limits(timeout_s=timeout_s), **changes)  # type: ignore[arg-type]


def test_a_script_runs_in_a_fresh_folder_with_a_clean_environment(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_not_for_scripts")
    outcome = runner.execute(job("ls; env; echo x > made", variables={"GIVEN": "1"}))
    assert outcome.outcome is OutcomeKind.PASSED
    assert "HF_TOKEN" not in outcome.output.head
    assert "GIVEN=1" in outcome.output.head
    assert list(Path(tempfile.gettempdir()).glob(f"benchwright-run-*-{os.getpid()}-*")) == []


@pytest.mark.parametrize("line", ["python3 absent.py; true", "python absent.py | cat", "absent-tool || true"])
def test_a_hidden_failure_is_a_failure_here_too(runner: Runner, line: str) -> None:
    assert runner.execute(job(line)).outcome is OutcomeKind.FAILED


def test_a_timeout_ends_the_whole_tree(runner: Runner, tmp_path: Path) -> None:
    beat = tmp_path / "beat"
    code = f"setsid bash -c 'while :; do date +%s%N >{beat}; sleep 0.05; done' & sleep 60"
    assert runner.execute(job(code, timeout_s=1)).outcome is OutcomeKind.TIMED_OUT
    last = beat.read_text()
    time.sleep(0.3)
    assert beat.read_text() == last


def test_a_daemon_is_noted_and_ended(runner: Runner, tmp_path: Path) -> None:
    beat = tmp_path / "beat"
    outcome = runner.execute(job(f"setsid bash -c 'while :; do date +%s%N >{beat}; sleep 0.05; done' & sleep 0.3"))
    assert outcome.outcome is OutcomeKind.PASSED
    assert outcome.background_left
    last = beat.read_text()
    time.sleep(0.3)
    assert beat.read_text() == last


def test_prefix_code_is_shell_and_comes_first_before_a_snippet_too(runner: Runner) -> None:
    code = "import os\nprint(int(os.environ['BASE']) + 1)"
    outcome = runner.execute(Job("it", code, "Python Code", prefix_code="export BASE=41\n"))
    assert (outcome.passed, outcome.output.head) == (True, "42\n")


def test_many_jobs_come_back_each_with_its_outcome() -> None:
    with Runner("process", workers=2) as runner:
        jobs = [Job(str(code), f"exit {code}", "Bash Script") for code in range(6)]
        found = {job.key: outcome.exit_code for job, outcome in runner.run(jobs)}
    assert found == {str(code): code for code in range(6)}


def test_an_environment_that_is_not_there_is_infrastructure(runner: Runner) -> None:
    outcome = runner.execute(job("true", environment="quartz"))
    assert outcome.outcome is OutcomeKind.INFRASTRUCTURE
    assert "quartz" in outcome.detail


def test_a_file_that_is_no_script_is_refused(runner: Runner, tmp_path: Path) -> None:
    from benchwright.core.errors import BenchwrightError

    file = tmp_path / "notes.txt"
    file.write_text("true")
    with pytest.raises(BenchwrightError, match=r"neither \.sh nor \.py"):
        run_file(runner, file, Limits())
