"""Where an example stands: only evidence of all controls, bound to what is there now, makes it verified."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from benchwright.core.cli import app
from benchwright.core.models import Evidence, Example, Outcome, OutcomeKind, Repository, RepositoryRef, Task
from benchwright.core.tasks import append_evidence, load_tasks, write_task
from benchwright.core.workspace import Workspace
from benchwright.validators.controls import (
    Standing,
    State,
    check_digest,
    example_job,
    no_op_digest,
    run_digest,
    standings,
)

ENVIRONMENT = "e" * 64
KNOWN = Repository(name="kettle", url="https://example.org/kettles/kettle", commit="a" * 40, github_id=31)


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    workspace.save_repositories([KNOWN])
    reference = RepositoryRef(**KNOWN.model_dump(include={"name", "url", "commit", "github_id"}))
    task = Task(name="boil", repository=reference, type="Bash Script", path="./tools")
    example = Example(
        id=1,
        type="Bash Script",
        instruction="Boil two litres.",
        arguments={"litres": 2},
        output="python b.py --litres 2",
    )
    write_task(workspace, task, "# Boil\n\n    python b.py --litres 1\n", [example])
    return workspace


def record(workspace: Workspace, control: str, kind: OutcomeKind, held: bool | None = None, **changes: Any) -> None:
    (item,) = load_tasks(workspace)
    job = example_job(workspace, item, item.examples[0], KNOWN)
    digests = {
        "gold": run_digest(job, ENVIRONMENT),
        "no_op": no_op_digest(job, item.examples[0], ENVIRONMENT),
        "near_miss": check_digest(job, item.examples[0]),
    }
    fields: dict[str, Any] = {
        "control": control,
        "example_id": 1,
        "digest": digests[control],
        "environment": "standard",
        "environment_digest": ENVIRONMENT,
        "at": "2026-03-01T10:00:00+00:00",
        "toolkit_version": "0.1.0",
        "outcome": Outcome(outcome=kind, detail=f"what the {control} gave", sandbox="docker"),
        "held": held,
    }
    append_evidence(item.folder, [Evidence.model_validate(fields | changes)])


def complete(workspace: Workspace, runs: int = 3) -> None:
    for _ in range(runs):
        record(workspace, "gold", OutcomeKind.PASSED)
    for control in ("no_op", "near_miss"):
        record(workspace, control, OutcomeKind.NOT_EXECUTED, held=True)


def only(workspace: Workspace) -> Standing:
    [(_, _, standing)] = standings(workspace, environments=False)
    return standing


def test_all_controls_make_it_verified_and_each_that_is_missing_is_named(filled: Workspace) -> None:
    assert (only(filled).state, only(filled).why) == (State.UNVERIFIED, "it was never run")
    record(filled, "gold", OutcomeKind.PASSED)
    assert only(filled).why == "1 of 3 runs were made"
    record(filled, "gold", OutcomeKind.PASSED)
    record(filled, "gold", OutcomeKind.PASSED)
    assert only(filled).why == "the no-op and near-miss control was not made"
    record(filled, "no_op", OutcomeKind.NOT_EXECUTED, held=True)
    assert only(filled).why == "the near-miss control was not made"
    assert only(filled).last is None
    record(filled, "near_miss", OutcomeKind.NOT_EXECUTED, held=True)
    assert only(filled).verified
    assert only(filled).last is not None


def test_one_run_that_fails_among_others_is_flaky_however_many_pass(filled: Workspace) -> None:
    complete(filled)
    record(filled, "gold", OutcomeKind.FAILED)
    record(filled, "gold", OutcomeKind.PASSED)
    assert (only(filled).state, only(filled).why) == (State.FLAKY, "4 of 5 runs passed")


@pytest.mark.parametrize("control", ["no_op", "near_miss"])
def test_a_control_that_does_not_hold_fails_it_until_it_is_found_to_hold(filled: Workspace, control: str) -> None:
    complete(filled)
    record(filled, control, OutcomeKind.NOT_EXECUTED, held=False)
    assert only(filled).state is State.FAILED
    assert f"what the {control} gave" in only(filled).why
    record(filled, control, OutcomeKind.NOT_EXECUTED, held=True)
    assert only(filled).verified


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"output": "python b.py --litres 2.0"}, "it has changed since it was run"),
        ({"prefix_code": "export A=1"}, "it has changed since it was run"),
        ({"arguments": {"litres": "2"}}, "the no-op and near-miss control was not made"),
    ],
)
def test_evidence_does_not_hold_for_what_was_changed(filled: Workspace, changes: dict[str, Any], why: str) -> None:
    complete(filled)
    (item,) = load_tasks(filled)
    write_task(filled, item.task, item.oracle, [item.examples[0].model_copy(update=changes)])
    assert (only(filled).state, only(filled).why) == (State.UNVERIFIED, why)


def test_evidence_of_the_first_schema_is_read(filled: Workspace) -> None:
    record(filled, "gold", OutcomeKind.PASSED)
    (item,) = load_tasks(filled)
    path = item.folder / "evidence.jsonl"
    line = json.loads(path.read_text())
    old = {name: value for name, value in line.items() if name not in ("held", "varied")} | {"schema_version": 1}
    path.write_text(json.dumps(old) + "\n")
    assert only(filled).why == "1 of 3 runs were made"


def test_the_commands_say_where_each_example_stands(filled: Workspace) -> None:
    complete(filled)
    root = ["--workspace", str(filled.root)]
    rows = json.loads(CliRunner().invoke(app, [*root, "--json", "tasks", "list"]).stdout)
    shown = CliRunner().invoke(app, [*root, "tasks", "show", "kettle/boil"]).stdout
    value = json.loads(CliRunner().invoke(app, [*root, "--json", "tasks", "show", "kettle/boil"]).stdout)
    assert rows[0]["examples"] == 1
    assert value["examples"][0]["state"] in ("verified", "unverified")  # as this machine's environment is built or not
    assert "litres = 2" in shown
    assert 'path = "./tools"' in shown
    assert "near miss held" in shown or "unverified" in shown
    assert "{'" not in shown
