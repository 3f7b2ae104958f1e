"""The wall limit beside gold: a factor of what the example's own output took here, with a floor."""

from __future__ import annotations

import pytest

from benchwright.core.models import Limits, Outcome, OutcomeKind, Success
from benchwright.validators.execution import Job, beside_gold


def outcome(seconds: float, kind: OutcomeKind = OutcomeKind.PASSED) -> Outcome:
    return Outcome(outcome=kind, duration_s=seconds)


@pytest.mark.parametrize(
    ("took", "declared", "limit"),
    [([], 60, 60), ([0.1], 60, 10), ([2.0, 3.0], 60, 30), ([2.0], 15, 15), ([0.1], 4, 4), ([900.0], 3600, 3600)],
)
def test_the_limit_is_a_factor_of_gold_with_a_floor_and_never_beyond_the_tasks_own(
    took: list[float], declared: float, limit: float
) -> None:
    job = Job("it", "true", "Bash Script", limits=Limits(timeout_s=declared, memory_bytes=64 << 20))
    limits = beside_gold(job, [outcome(seconds) for seconds in took]).limits
    assert limits == job.limits.model_copy(update={"timeout_s": limit})


def test_gold_that_did_not_pass_says_nothing_of_time() -> None:
    job = Job("it", "true", "Bash Script")
    assert beside_gold(job, [outcome(0.1, OutcomeKind.FAILED), outcome(0.1, OutcomeKind.TIMED_OUT)]) == job


def test_what_is_to_run_for_a_while_keeps_its_time() -> None:
    success = Success(kind="runs_for", pattern="loss", seconds=50)
    job = Job("it", "true", "Bash Script", success=success)
    assert beside_gold(job, [outcome(0.1)]) == job
