"""Judging observations: one policy, and nothing that a script prints counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchwright.core.models import Limits, OutcomeKind, Output, Success
from benchwright.validators.outcomes import POLICY, judge
from benchwright.validators.sandbox import Observation, Run, System

SYSTEM = System("standard", "0" * 64, Path("/nowhere"), "/usr/bin/python3", None, "/nowhere", "benchwright/standard:0")
RUN = Run(SYSTEM, b"true", "bash", Limits(timeout_s=3))


def seen(**changes: Any) -> Observation:
    fields = {"finished": True, "shell_status": 0} | changes
    return Observation(Output(head="PASSED\n", bytes=7), 0.5, **fields)


@pytest.mark.parametrize(
    ("changes", "kind", "exit_code"),
    [
        ({}, "passed", 0),
        ({"shell_status": 124}, "failed", 124),
        ({"shell_status": -9}, "failed", 137),
        ({"failed_entry": (2, "python3.11")}, "failed", 2),
        ({"failed_entry": (-6, "python3.11")}, "failed", 134),
        ({"failed_entry": (2, "python3.11"), "shell_status": 7}, "failed", 2),
        ({"entries_left": 1}, "failed", None),
        ({"entries_left": 1, "entries_ended": 1}, "passed", 0),
        ({"not_found": 1}, "failed", 127),
        ({"not_found": 1, "entries_ended": 1}, "passed", 0),
        ({"timed_out": True, "shell_status": None}, "timed_out", None),
        ({"timed_out": True, "shell_status": None, "out_of_memory_kills": 1}, "timed_out", None),
        ({"out_of_memory_kills": 1}, "out_of_memory", 0),
        ({"finished": False, "shell_status": None, "out_of_memory_kills": 1}, "out_of_memory", None),
        ({"output_exceeded": True, "finished": False}, "output_exceeded", None),
        ({"disk_full": True, "shell_status": 1}, "disk_exceeded", 1),
        ({"disk_full": True}, "passed", 0),
        ({"folder_absent": True, "finished": False, "shell_status": None}, "failed", None),
        ({"finished": False, "shell_status": None, "trouble": "engine gone"}, "infrastructure", None),
        ({"finished": False, "shell_status": None}, "infrastructure", None),
    ],
)
def test_each_observation_has_one_outcome(changes: dict[str, Any], kind: str, exit_code: int | None) -> None:
    outcome = judge(seen(**changes), RUN, "docker")
    assert outcome.outcome.value == kind
    if kind != "out_of_memory":
        assert outcome.exit_code == exit_code


def test_every_outcome_has_a_policy_and_only_infrastructure_is_retried() -> None:
    assert set(POLICY) == set(OutcomeKind)
    assert [kind for kind, policy in POLICY.items() if policy.retried] == [OutcomeKind.INFRASTRUCTURE]
    assert not any(policy.counted for kind, policy in POLICY.items() if policy.retried)


def test_a_background_process_is_noted_beside_a_pass() -> None:
    outcome = judge(seen(background_left=2), RUN, "docker")
    assert outcome.passed
    assert outcome.background_left
    assert "2 background processes" in outcome.detail


def test_a_hidden_failure_says_that_it_was_hidden() -> None:
    assert "which the script hides" in judge(seen(failed_entry=(2, "python3")), RUN, "docker").detail


# success as declared -------------------------------------------------------------------------------------------


def declared(fields: dict[str, Any], **changes: Any) -> tuple[str, str]:
    text = changes.pop("text", "")
    observation = replace(seen(**changes), output=Output(head=text, bytes=len(text)))
    outcome = judge(observation, replace(RUN, success=Success.model_validate(fields)), "docker")
    return outcome.outcome.value, outcome.detail


def test_an_artifact_must_be_there_and_new() -> None:
    wanted = {"kind": "artifact", "path": "out/model.bin"}
    assert declared(wanted, artifact_bytes=10)[0] == "passed"
    assert declared(wanted, artifact_bytes=None) == (
        "failed",
        "did not write out/model.bin, which its success requires",
    )
    assert declared(wanted, artifact_bytes=10, shell_status=1)[0] == "failed"


@pytest.mark.parametrize(
    ("text", "kind"),
    [("acc: 0.50\nacc: 0.93\n", "passed"), ("acc: 0.95\nacc: 0.2", "failed"), ("acc: nan", "failed"), ("", "failed")],
)
def test_a_metric_is_the_last_one_printed(text: str, kind: str) -> None:
    assert declared({"kind": "metric", "pattern": r"acc: (\S+)", "at_least": 0.9}, text=text)[0] == kind


def test_runs_for_needs_progress_and_is_named() -> None:
    wanted = {"kind": "runs_for", "pattern": r"step \d+", "seconds": 3}
    ended = {"timed_out": True, "shell_status": None}
    kind, detail = declared(wanted, text="step 1 loss 2.0", **ended)
    assert kind == "passed"
    assert "runs_for" in detail
    assert declared(wanted, text="loading", **ended)[0] == "timed_out"
    assert declared(wanted, text="step 1", shell_status=1)[0] == "failed"


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "artifact"},
        {"kind": "metric", "pattern": "(x)"},
        {"kind": "metric", "pattern": "x", "at_least": 1},
        {"kind": "runs_for", "pattern": "x"},
        {"kind": "runs_for", "pattern": "(", "seconds": 1},
    ],
)
def test_a_declaration_that_lacks_something_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"success|metric|pattern"):
        Success.model_validate(fields)
