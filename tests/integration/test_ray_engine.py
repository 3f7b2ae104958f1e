"""The Ray engine on two real nodes: the local engine's outcomes, though a node and the driver are killed in mid-run."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchwright.core.errors import PrerequisiteError
from benchwright.core.models import Limits, OutcomeKind
from benchwright.validators.execution import Job
from benchwright.validators.sandbox import open_sandbox

from .two_nodes import TwoNodes

pytestmark = pytest.mark.integration

CLI = "from benchwright.core.cli import main; main()"
WORK = """\
import argparse, time
parser = argparse.ArgumentParser()
parser.add_argument("--seconds", type=float, default=0)
parser.add_argument("--status", type=int, default=0)
parser.add_argument("--eat", type=int, default=0)
parser.add_argument("--number", type=int)
given = parser.parse_args()
held = bytearray(given.eat << 20)
held[::4096] = b"x" * len(held[::4096])
time.sleep(given.seconds)
raise SystemExit(given.status)
"""


@pytest.fixture(scope="module")
def nodes() -> Iterator[TwoNodes]:
    if importlib.util.find_spec("ray") is None:  # not imported: what it binds to is read from the environment then
        (pytest.fail if "CI" in os.environ else pytest.skip)("pip install 'benchwright[ray]'")
    try:
        with open_sandbox("bubblewrap"):
            pass
    except PrerequisiteError as error:
        (pytest.fail if "CI" in os.environ else pytest.skip)(str(error))
    with TwoNodes() as both:
        yield both


def arguments(number: int, longest_s: float) -> str:
    """An example's options: of twenty, fourteen pass, four fail, one hangs and one eats memory."""
    match number % 20:
        case 3 | 7 | 13 | 17:
            return f"--status {1 + number % 5} --seconds 0.0{number % 7}"
        case 5:
            return "--seconds 600"
        case 9:
            return "--eat 600"
    return f"--seconds {0.01 + longest_s * (number % 13 / 12) ** 3:.3f}"


def make_release(folder: Path, examples: int, samples: int, longest_s: float) -> tuple[Path, str]:
    """A release and predictions for it, each sample another text; returns the folder and the script's unique name."""
    repository = folder / "mill"
    repository.mkdir(parents=True)
    script = f"work_{os.getpid()}_{time.monotonic_ns()}.py"
    (repository / script).write_text(WORK)
    git = ["git", "-C", str(repository), "-c", "user.name=A Tester", "-c", "user.email=tester@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "All there is"]):
        subprocess.run([*git, *words], check=True)
    pin = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    release = folder / "release"
    release.mkdir()
    rows, predictions, tasks = [], [], []
    for number in range(examples):
        options = f"{arguments(number, longest_s)} --number {number}"
        words = options.split()
        wanted = {name[2:]: value for name, value in zip(words[::2], words[1::2], strict=True)}
        command = f"python {script} {options}"
        rows.append(
            {
                "github_id": 31, "github": repository.as_uri(), "repo_id": 1, "path": "./", "id": number + 1,
                "prefix_code": "", "arguments": str(wanted), "instruction": f"Do {options}.",
                "oracle": f"python {script}", "type": "Bash Script", "output": command, "task_id": f"mill/{number}",
            }
        )  # fmt: skip
        texts = [f"{command} # answer {sample}" for sample in range(samples)]
        predictions.append({"github_id": 31, "id": number + 1, "output": texts})
        limits = {"timeout_s": 1.5 + longest_s, "memory_bytes": 200 << 20}
        tasks.append({"task_id": f"mill/{number}", "limits": limits})
    for name, lines in (("release/full", rows), ("predictions", predictions), ("release/tasks", tasks)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (release / "repositories.toml").write_text(
        f'[[repository]]\nname = "mill"\nurl = "{repository.as_uri()}"\ncommit = "{pin}"\ngithub_id = 31\n'
    )
    return folder, script


class Evaluation:
    """``benchwright evaluate`` on the release of a folder, in a process of its own."""

    def __init__(self, folder: Path, name: str, *options: str, environment: dict[str, str] | None = None) -> None:
        self.run = folder / name
        self._log = open(folder / f"{name}.log", "a+")  # noqa: SIM115 - ends with the process
        words = ["evaluate", str(folder / "release"), str(folder / "predictions.jsonl"), "-o", str(self.run)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", CLI, *words, "--sandbox", "bubblewrap", *options],
            stdout=self._log,
            stderr=self._log,
            env=environment,
        )

    def lines(self) -> list[dict[str, object]]:
        path = self.run / "outcomes.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def after(self, count: int, timeout_s: float) -> None:
        """Wait until so many outcomes are recorded."""
        self._wait(lambda: len(self.lines()) >= count, timeout_s)

    def done(self, timeout_s: float) -> dict[tuple[int, int], str]:
        """(example, sample) -> outcome."""
        self._wait(lambda: self.process.poll() is not None, timeout_s)
        assert self.process.returncode == 0, self.said()
        lines = map(json.loads, (self.run / "results.jsonl").read_text().splitlines())
        return {(line["id"], line["sample"]): line["outcome"] for line in lines}

    def said(self) -> str:
        self._log.seek(0)
        return self._log.read()

    def _wait(self, enough: Callable[[], bool], timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not enough():
            if time.monotonic() > deadline:
                self.process.kill()
                pytest.fail(f"not in {timeout_s} s: {self.said()[-3000:]}")
            time.sleep(0.1)


def running(script: str) -> list[str]:
    """Numbers of the processes whose command line names the script."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if script.encode() in words:
            found.append(path.parent.name)
    return found


def killed_and_resumed(nodes: TwoNodes, folder: Path, examples: int, samples: int, longest_s: float) -> None:
    """Local, then on two nodes with the driver killed after a fifth and a node after half."""
    folder, script = make_release(folder, examples, samples, longest_s)
    many, patience = examples * (samples + 1), 60 + examples * (samples + 1) * 2
    alone = Evaluation(folder, "local", "--jobs", "2")
    first = Evaluation(folder, "ray", "--engine", "ray", environment=nodes.environment())
    first.after(many // 5, patience)
    first.process.kill()
    first.process.wait()
    second = Evaluation(folder, "ray", "--engine", "ray", environment=nodes.environment())
    second.after(many // 2, patience)
    nodes.kill_one()
    local = alone.done(patience)
    assert second.done(patience) == local
    lines = second.lines()
    assert Counter(line["key"] for line in lines).most_common(1)[0][1] == 1, "an execution was counted twice"
    assert len(lines) == many
    assert set(local.values()) == {"passed", "failed", "timed_out", "out_of_memory"}
    assert "executions are recorded in" in second.said()
    deadline = time.monotonic() + 10
    while running(script) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert running(script) == []


def test_what_no_node_can_do_is_told_and_an_early_end_leaves_nothing(
    nodes: TwoNodes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in nodes.environment().items():
        if name.startswith("RAY_"):
            monkeypatch.setenv(name, value)
    from benchwright.validators.engine.remote import RayRunner

    mark = f"sleep 300.{os.getpid()}{time.monotonic_ns()}"
    with RayRunner("bubblewrap", tmp_path) as runner:
        wide = runner.execute(Job("wide", "true", "Bash Script", limits=Limits(cpus=512)))
        carded = runner.execute(Job("carded", "true", "Bash Script", gpus=3))
        homeless = runner.execute(Job("homeless", "true", "Bash Script", environment="nowhere"))
        some = [Job("quick", "true", "Bash Script"), Job("slow", mark, "Bash Script", limits=Limits(timeout_s=400))]
        results = runner.run(some)
        job, outcome = next(results)
        began = time.monotonic()
        results.close()  # type: ignore[attr-defined]
        assert time.monotonic() - began < 30
        again = runner.execute(some[0])
    assert (wide.outcome, "no node of the cluster has" in wide.detail) == (OutcomeKind.INFRASTRUCTURE, True)
    assert (carded.outcome, "3 GPUs" in carded.detail) == (OutcomeKind.INFRASTRUCTURE, True)
    assert (homeless.outcome, "nowhere" in homeless.detail) == (OutcomeKind.INFRASTRUCTURE, True)
    assert (job.key, outcome.outcome, again.outcome) == ("quick", OutcomeKind.PASSED, OutcomeKind.PASSED)
    assert running(mark) == []


def test_a_killed_node_and_a_killed_driver_lose_nothing_and_double_nothing(nodes: TwoNodes, tmp_path: Path) -> None:
    killed_and_resumed(nodes, tmp_path, examples=20, samples=2, longest_s=0.5)


@pytest.mark.long
@pytest.mark.timeout(3000)
def test_two_thousand_scripts_of_mixed_length_come_out_as_on_one_machine(tmp_path: Path) -> None:
    with TwoNodes() as fresh:
        killed_and_resumed(fresh, tmp_path, examples=400, samples=4, longest_s=3.0)
