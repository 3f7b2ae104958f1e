"""What a suggestion gave before anyone judged it is kept for just that suggestion, and is no evidence."""

from __future__ import annotations

from collections.abc import Callable

from benchwright.annotation.pushing import item_of
from benchwright.annotation.trials import Trials
from benchwright.core.models import Candidate, Outcome, OutcomeKind
from benchwright.core.workspace import Workspace

MakeCandidate = Callable[..., Candidate]


def outcome(kind: str) -> Outcome:
    return Outcome(outcome=OutcomeKind(kind), exit_code=0 if kind == "passed" else None)


def test_an_outcome_is_shown_with_the_candidate_that_gave_it_and_with_no_changed_one(
    workspace: Workspace, make_candidate: MakeCandidate
) -> None:
    trials, ran, other = Trials(workspace), make_candidate(1), make_candidate(2)
    changed = make_candidate(1, output="python train.py --lr 9")
    with workspace.open_store() as store:
        trials.record(store, ran, outcome("passed"))
        found = trials.outcomes(store, [ran, other])
        assert set(found) == {ran.id}
        assert trials.outcomes(store, [changed]) == {}
    shown = item_of(ran, found[ran.id]).data["suggestion_html"]
    assert "passed</b>, exit status 0" in shown
    assert "not executed yet" in item_of(other).data["suggestion_html"]


def test_what_the_machine_spoilt_is_not_kept(workspace: Workspace, make_candidate: MakeCandidate) -> None:
    trials, candidate = Trials(workspace), make_candidate(1)
    with workspace.open_store() as store:
        for kind in ("infrastructure", "not_executed"):
            trials.record(store, candidate, outcome(kind))
            assert trials.outcomes(store, [candidate]) == {}
        trials.record(store, candidate, outcome("timed_out"))
        assert trials.outcomes(store, [candidate])[candidate.id].outcome is OutcomeKind.TIMED_OUT


def test_a_draft_takes_its_place_in_the_job_and_the_rest_is_the_candidates(
    workspace: Workspace, make_candidate: MakeCandidate
) -> None:
    candidate = make_candidate(1, path="./tools", prefix_code="export A=1\n")
    whole = Trials(workspace).job(candidate)
    assert (whole.code, whole.prefix_code, whole.path) == (candidate.output, "export A=1\n", "./tools")
    assert whole.repository is not None
    assert whole.repository.commit == candidate.repository.commit
    assert whole.environment == workspace.config.environment
    assert not whole.network
    draft = Trials(workspace).job(candidate, "print(1)", "Python Code", "")
    assert (draft.code, draft.type, draft.prefix_code, draft.path) == ("print(1)", "Python Code", "", "./tools")
