"""``validate`` on real sandboxes: evidence bound to what was run, and the same end however often it is killed."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchwright.core.errors import PrerequisiteError
from benchwright.core.models import Example, Limits, Repository, RepositoryRef, Task
from benchwright.core.tasks import load_tasks, read_evidence, write_task
from benchwright.core.workspace import Workspace
from benchwright.validators.sandbox import open_sandbox
from benchwright.validators.sandbox.contract import abandoned
from benchwright.validators.sandbox.docker import LABEL_OWNER
from benchwright.validators.trees import tree_folder
from benchwright.validators.validation import validate

pytestmark = pytest.mark.integration

CGROUPS = Path("/sys/fs/cgroup")
TRAIN = """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=0.1)
print("rate", parser.parse_args().rate)
"""


@pytest.fixture(params=["docker", "bubblewrap"])
def sandbox(request: pytest.FixtureRequest) -> str:
    try:
        with open_sandbox(request.param):
            return str(request.param)
    except PrerequisiteError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    """A git repository of two files, at its only commit."""
    folder = tmp_path / "pebble"
    (folder / "tools").mkdir(parents=True)
    (folder / "tools" / "train.py").write_text(TRAIN)
    (folder / "README.md").write_text("# Pebble\n\n    python train.py --rate 0.5\n")

    def git(*words: str) -> str:
        identity = ("-c", "user.name=A Tester", "-c", "user.email=tester@example.org")
        answer = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
        return answer.stdout.strip()

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "All there is")
    made = Repository(name="pebble", url=folder.as_uri(), commit=git("rev-parse", "HEAD"), github_id=1)
    yield made
    shutil.rmtree(tree_folder(made), ignore_errors=True)


@pytest.fixture
def make_task(workspace: Workspace, repository: Repository) -> Callable[..., None]:
    """``make_task(name, output...)``: a task with an example for each output."""
    ids = iter(range(1, 1000))

    def make(name: str, *outputs: str, **changes: object) -> None:
        fields: dict[str, object] = {
            "name": name,
            "repository": RepositoryRef(**repository.model_dump(include={"name", "url", "commit", "github_id"})),
            "type": "Bash Script",
            "path": "./tools",
            "limits": Limits(timeout_s=10, memory_bytes=256 << 20),
        }
        kind = changes.get("type", "Bash Script")
        task = Task.model_validate(fields | changes)
        examples = [
            Example(id=next(ids), type=kind, instruction="Train.", output=output)  # type: ignore[arg-type]
            for output in outputs
        ]
        workspace.save_repositories([repository])
        write_task(workspace, task, "python train.py --rate 0.5\n", examples)

    return make


def state(workspace: Workspace) -> list[tuple[object, ...]]:
    """All evidence without what differs from run to run."""
    return sorted(
        (item.task.id, line.example_id, line.digest, line.outcome.outcome.value, line.outcome.exit_code)
        for item in load_tasks(workspace)
        for line in read_evidence(item.folder)
    )


def test_what_passes_has_evidence_and_is_not_run_again(
    workspace: Workspace, make_task: Callable[..., None], sandbox: str
) -> None:
    make_task("train", "python train.py --rate 0.5", "python train.py")
    first = validate(workspace, repeat=2, sandbox=sandbox, jobs=2)
    assert (first.exit_code, first.executed, dict(first.counts)) == (0, 4, {"passed": 2})
    [item] = load_tasks(workspace)
    evidence = read_evidence(item.folder)
    assert len(evidence) == 4
    assert {line.outcome.output.head for line in evidence} == {"rate 0.5\n", "rate 0.1\n"}
    assert all(line.outcome.peak_memory_bytes and line.outcome.sandbox == sandbox for line in evidence)
    again = validate(workspace, repeat=2, sandbox=sandbox)
    assert (again.exit_code, again.executed) == (0, 0)
    more = validate(workspace, repeat=3, sandbox=sandbox)
    assert more.executed == 2


def test_what_fails_is_named_and_the_exit_code_says_so(
    workspace: Workspace, make_task: Callable[..., None], sandbox: str
) -> None:
    make_task("wrong", "python train.py --speed 1; true")
    make_task("slow", "sleep 60", limits=Limits(timeout_s=1, memory_bytes=256 << 20))
    make_task("lost", "true", path="./nowhere")
    report = validate(workspace, repeat=1, sandbox=sandbox, jobs=2)
    assert report.exit_code == 1
    assert {item.task: item.verdict for item in report.examples} == {
        "pebble/lost": "failed",
        "pebble/slow": "timed_out",
        "pebble/wrong": "failed",
    }


def test_evidence_of_changed_work_no_longer_holds(
    workspace: Workspace, make_task: Callable[..., None], sandbox: str
) -> None:
    make_task("train", "python train.py")
    assert validate(workspace, repeat=1, sandbox=sandbox).executed == 1
    make_task("train", "python train.py", prefix_code="export A=1")
    assert validate(workspace, repeat=1, sandbox=sandbox).executed == 1


def test_a_repository_that_cannot_be_had_is_infrastructure(
    workspace: Workspace, make_task: Callable[..., None], repository: Repository, sandbox: str
) -> None:
    make_task("gone", "true")
    [item] = load_tasks(workspace)
    reference = item.task.repository.model_copy(update={"commit": "0" * 40})
    write_task(workspace, item.task.model_copy(update={"repository": reference}), item.oracle, item.examples)
    report = validate(workspace, repeat=1, sandbox=sandbox)
    assert report.exit_code == 2
    assert state(workspace) == []


# killed in mid-work ----------------------------------------------------------------------------------------------


def command(workspace: Workspace, sandbox: str) -> list[str]:
    program = [sys.executable, "-P", "-c", "from benchwright.core.cli import main; main()"]
    return [
        *program,
        "--workspace",
        str(workspace.root),
        "validate",
        "--repeat",
        "2",
        "--sandbox",
        sandbox,
        "--jobs",
        "2",
    ]


def leftovers(since: set[str]) -> Iterator[str]:
    """Containers, control groups, mounts, processes and temporary folders that were not there before."""
    return (thing for thing in traces() if thing not in since)


def traces() -> set[str]:
    """What a toolkit leaves that is gone; what other toolkits of this machine are using now is not meant."""
    groups = [*CGROUPS.glob("*/benchwright/*"), *CGROUPS.glob("benchwright/*")]
    found = {str(path) for path in groups if path.is_dir() and abandoned(path.name.rpartition("-")[0])}
    found |= {str(path) for path in Path("/tmp").glob("benchwright-run-*")}
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    found |= {line for line in mounts if "benchwright" in line and "/overlay2/" not in line}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"__BENCHWRIGHT_TEST__" in (process / "cmdline").read_bytes() and int(process.name) != os.getpid():
                found.add(f"process {process.name}")
        except OSError:
            continue
    try:
        import docker

        client = docker.from_env()
        ours = client.containers.list(all=True, filters={"label": LABEL_OWNER}, ignore_removed=True)
        found |= {f"container {c.id}" for c in ours if abandoned(c.labels[LABEL_OWNER])}
        client.close()
    except docker.errors.DockerException:
        pass
    return found


@pytest.mark.parametrize("rounds", [15, pytest.param(100, marks=pytest.mark.long)])
def test_killed_at_random_moments_it_ends_as_if_undisturbed(
    workspace: Workspace, make_task: Callable[..., None], sandbox: str, rounds: int
) -> None:
    for number in range(3):
        make_task(f"task{number}", f"python train.py --rate {number}; : __BENCHWRIGHT_TEST__", "sleep 0.1", "exit 3")
    before = traces()
    wanted = validate(workspace, repeat=2, sandbox=sandbox, jobs=2)
    undisturbed = state(workspace)
    assert len(undisturbed) == 18
    seed = int(os.environ.get("BENCHWRIGHT_TEST_SEED") or random.randrange(10**6))
    print(f"seed {seed} (BENCHWRIGHT_TEST_SEED={seed} repeats it), {rounds} kills in {sandbox}")
    choice = random.Random(seed)
    for item in load_tasks(workspace):
        (item.folder / "evidence.jsonl").unlink()
    for _ in range(rounds):
        process = subprocess.Popen(command(workspace, sandbox), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(choice.uniform(0.3, 1.8))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if len(state(workspace)) == len(undisturbed):
            for item in load_tasks(workspace):
                (item.folder / "evidence.jsonl").unlink()
    last = subprocess.run(command(workspace, sandbox), capture_output=True, text=True)
    assert last.returncode == wanted.exit_code, last.stderr
    assert state(workspace) == undisturbed
    assert list(leftovers(before)) == []


def test_an_interrupt_ends_the_runs_and_the_command(
    workspace: Workspace, make_task: Callable[..., None], sandbox: str
) -> None:
    make_task("slow", "sleep 50; : __BENCHWRIGHT_TEST__", limits=Limits(timeout_s=60, memory_bytes=256 << 20))
    before = traces()
    process = subprocess.Popen(command(workspace, sandbox), stderr=subprocess.PIPE, text=True)
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert state(workspace) == []
    assert list(leftovers(before)) == []


def test_the_command_prints_the_report_as_json(
    workspace: Workspace, make_task: Callable[..., None], sandbox: str
) -> None:
    make_task("train", "python train.py", "python absent.py | cat")
    words = command(workspace, sandbox)
    answer = subprocess.run([*words[:4], "--json", *words[4:]], capture_output=True, text=True)
    report = json.loads(answer.stdout)
    assert answer.returncode == 1
    assert report["counts"] == {"passed": 1, "failed": 1}
    assert report["executed"] == 4
