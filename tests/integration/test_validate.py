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

from benchwright.core.models import Example, Limits, Repository, RepositoryRef, Success, Task
from benchwright.core.tasks import load_tasks, read_evidence, write_task
from benchwright.core.workspace import Workspace
from benchwright.validators.controls import Standing, State, standings
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
        (
            item.task.id,
            line.example_id,
            line.control,
            line.digest,
            line.outcome.outcome.value,
            str(line.outcome.exit_code),
        )
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
    evidence = [line for line in read_evidence(item.folder) if line.control == "gold"]
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


def make_example(workspace: Workspace, output: str, arguments: dict[str, object], **changes: object) -> None:
    """Give the only task its only example anew."""
    [item] = load_tasks(workspace)
    example = item.examples[0].model_copy(update={"output": output, "arguments": arguments, **changes})
    write_task(workspace, item.task, item.oracle, [example])


def only(workspace: Workspace) -> Standing:
    [(_, _, standing)] = standings(workspace)
    return standing


def test_verified_is_what_has_all_controls_bound_to_what_stands_now(
    workspace: Workspace, make_task: Callable[..., None], sandbox: str
) -> None:
    make_task("train", "python train.py")
    make_example(workspace, "python train.py --rate 0.5", {"rate": 0.5})
    assert (only(workspace).state, only(workspace).why) == (State.UNVERIFIED, "it was never run")
    short = validate(workspace, repeat=1, sandbox=sandbox)
    assert (short.exit_code, short.states) == (0, {State.UNVERIFIED: 1})
    assert only(workspace).why == "1 of 3 runs were made"
    report = validate(workspace, sandbox=sandbox)
    assert (report.exit_code, report.executed, report.reused, report.checked) == (0, 2, 1, 0)
    standing = only(workspace)
    assert standing.verified
    assert standing.near_miss is not None
    assert standing.no_op is not None
    assert (standing.near_miss.varied, standing.no_op.held) == (("rate",), True)
    assert (validate(workspace, sandbox=sandbox).executed, validate(workspace, sandbox=sandbox).checked) == (0, 0)

    make_example(workspace, "python train.py --rate 0.5", {"rate": "5e-1"})  # checked again, not run again
    assert only(workspace).why == "the no-op and near-miss control was not made"
    report = validate(workspace, sandbox=sandbox)
    assert (report.executed, report.reused, report.checked) == (0, 3, 1)
    assert only(workspace).verified

    make_example(workspace, "python train.py --rate 0.50", {"rate": 0.5})  # run again
    assert only(workspace).why == "it has changed since it was run"
    report = validate(workspace, sandbox=sandbox)
    assert (report.executed, report.reused, report.checked) == (3, 0, 1)


def test_what_is_flaky_is_named(
    workspace: Workspace, make_task: Callable[..., None], sandbox: str, tmp_path: Path
) -> None:
    make_task("dice", "python train.py; exit $(( $(date +%N | sed 's/^0*//') % 2 ))")
    for _ in range(8):
        report = validate(workspace, repeat=len(only(workspace).gold) + 2, sandbox=sandbox)
        if only(workspace).state is State.FLAKY:
            break
    assert only(workspace).state is State.FLAKY
    assert report.exit_code == 1
    assert any(line.startswith("flaky") and "pebble/dice example 1" in line for line in report.lines())


@pytest.mark.parametrize(
    ("output", "arguments", "kind", "why"),
    [
        (
            "python train.py --rate 0.5",
            {"rate": 0.4},
            "Bash Script",
            "near miss: its own output is refused: rate: wanted '0.4'",
        ),
        ("import os", {}, "Python Code", "no-op: an answer that does nothing"),
    ],
)
def test_a_control_that_does_not_hold_is_a_failure(
    workspace: Workspace,
    make_task: Callable[..., None],
    sandbox: str,
    output: str,
    arguments: dict[str, object],
    kind: str,
    why: str,
) -> None:
    make_task("train", "python train.py")
    make_example(workspace, output, arguments, type=kind)
    report = validate(workspace, sandbox=sandbox)
    assert (report.exit_code, dict(report.counts)) == (1, {"passed": 1})
    assert only(workspace).state is State.FAILED
    assert only(workspace).why.startswith(why)


def test_where_success_is_declared_doing_nothing_is_run(
    workspace: Workspace, make_task: Callable[..., None], sandbox: str
) -> None:
    loose = Success(kind="metric", pattern="(0)", at_least=0)
    make_task(
        "metric", "python train.py --rate 0.5", success=Success(kind="metric", pattern=r"rate (\S+)", at_least=0.5)
    )
    make_task("loose", "python train.py --rate 0.0", success=loose, prefix_code="echo 0")
    report = validate(workspace, sandbox=sandbox)
    states = {item.task.id: standing for item, _, standing in standings(workspace)}
    assert states["pebble/metric"].verified
    assert states["pebble/loose"].state is State.FAILED
    assert states["pebble/loose"].why.startswith("no-op")
    assert report.executed == 8


def test_what_text_does_not_tell_is_recorded_for_the_controls(
    workspace: Workspace, make_task: Callable[..., None], sandbox: str
) -> None:
    make_task("train", "python train.py")
    make_example(workspace, "R=$(echo 5)\npython train.py --rate 0.$R", {"rate": 0.5})
    assert validate(workspace, sandbox=sandbox).exit_code == 0
    assert only(workspace).verified


def test_evidence_of_an_older_toolkit_is_checked_again_and_not_run_again(
    workspace: Workspace, make_task: Callable[..., None], sandbox: str
) -> None:
    make_task("train", "python train.py --rate 0.5")
    validate(workspace, sandbox=sandbox)
    [item] = load_tasks(workspace)
    path = item.folder / "evidence.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**line, "toolkit_version": "0.0.1"}) + "\n" for line in lines))
    assert only(workspace).verified
    report = validate(workspace, sandbox=sandbox)
    assert (report.executed, report.checked) == (0, 1)


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
            words = (process / "cmdline").read_bytes()
            orphan = (process / "stat").read_text().rpartition(")")[2].split()[1] == "1"
            if b"__BENCHWRIGHT_TEST__" in words and int(process.name) != os.getpid():
                found.add(f"process {process.name}")
            if orphan and (b'sys.modules["launcher."' in words or words.startswith(b"/usr/bin/bwrap")):
                found.add(f"process {process.name}, which nobody ends")
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
    assert len(undisturbed) == 18 + 2 * 9  # the runs; of each example a no-op and a near-miss control
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
