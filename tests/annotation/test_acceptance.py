"""From what people said to tasks: agreement, differences, identity of examples."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.annotation import archive
from benchwright.annotation.acceptance import Acceptance, accept
from benchwright.annotation.arguments import parse_arguments
from benchwright.annotation.interface import fields_of, prefill, result_for
from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Annotation, Candidate
from benchwright.core.tasks import load_tasks
from benchwright.core.workspace import Workspace

MakeCandidate = Callable[..., Candidate]


def said(candidate: Candidate, annotator: str = "annotator-1", at: int = 1, **fields: Any) -> Annotation:
    """What ``annotator`` submitted at minute ``at``: the proposal, an instruction, accept; ``fields`` differ."""
    project = fields.pop("project", "bench")
    skipped = fields.pop("skipped", False)
    digest = fields.pop("digest", candidate.digest)
    form = {**prefill(candidate), "instruction": "Please train it.", "verdict": "accept", **fields}
    raw = result_for(form)
    read = fields_of(raw)
    try:
        arguments = parse_arguments(read.get("arguments", ""))
    except BenchwrightError:
        arguments = {}
    return Annotation(
        project=project,
        candidate_id=candidate.id,
        candidate_digest=digest,
        annotation_id=int(annotator.rpartition("-")[2]) * 1000 + int(candidate.id[-4:], 16),
        annotator=annotator,
        created_at="2026-01-01T00:00:00Z",
        updated_at=f"2026-01-01T00:{at:02}:00Z",
        skipped=skipped,
        verdict=read.get("verdict"),
        type=read.get("type"),
        oracle_scope=read.get("scope"),
        instruction=read.get("instruction", ""),
        arguments=arguments,
        output=read.get("script", ""),
        prefix_code=read.get("prefix_code", ""),
        raw=tuple(raw),
    )


def settle(workspace: Workspace, candidates: list[Candidate], annotations: list[Annotation]) -> Acceptance:
    with workspace.open_store() as store:
        store.replace_candidates("tiny", "key", candidates)
        for annotation in annotations:
            archive.append(workspace, annotation.project, [annotation])
        with workspace.lock():
            return accept(workspace, store)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_one_accepting_annotator_makes_a_task_with_the_chosen_oracle(
    workspace: Workspace, make_candidate: MakeCandidate
) -> None:
    candidate = make_candidate(1)
    result = settle(workspace, [candidate], [said(candidate, scope="block", prefix_code="export A=1\n")])
    assert result.written == ["tiny/train-000000000001"]
    assert result.not_executed == result.written
    (item,) = load_tasks(workspace)
    assert item.oracle == "python train.py --lr 0.1\n"
    assert item.task.annotators == ("annotator-1",)
    (example,) = item.examples
    assert (example.id, example.arguments) == (1, {"lr": 0.1, "name": "net1"})
    assert (example.output, example.prefix_code) == (candidate.output, "export A=1\n")


def test_the_same_again_changes_nothing_and_a_change_keeps_the_id(
    workspace: Workspace, make_candidate: MakeCandidate
) -> None:
    candidates = [make_candidate(1), make_candidate(2)]
    settle(workspace, candidates, [said(candidate) for candidate in candidates])
    before = files(workspace.tasks_dir)
    again = settle(workspace, candidates, [])
    assert (again.written, len(again.unchanged)) == ([], 2)
    assert files(workspace.tasks_dir) == before
    changed = settle(workspace, candidates, [said(candidates[1], at=5, instruction="Train, but better.")])
    assert changed.written == ["tiny/train-000000000002"]
    by_name = {item.task.name: item.examples[0] for item in load_tasks(workspace)}
    assert {name: example.id for name, example in by_name.items()} == {
        "train-000000000001": 1,
        "train-000000000002": 2,
    }
    assert by_name["train-000000000002"].instruction == "Train, but better."


@pytest.mark.parametrize(
    ("other", "fields"),
    [
        ({"verdict": "reject"}, ["verdict"]),
        ({"script": "python train.py --lr 0.2"}, ["script"]),
        ({"arguments": {"lr": 0.2}}, ["arguments"]),
        ({"type": "Python Code"}, ["type"]),
    ],
)
def test_two_annotators_who_differ_make_no_task(
    workspace: Workspace, make_candidate: MakeCandidate, other: dict[str, Any], fields: list[str]
) -> None:
    candidate = make_candidate(1)
    result = settle(workspace, [candidate], [said(candidate), said(candidate, "annotator-2", **other)])
    assert result.disagreements == {candidate.id: fields}
    assert load_tasks(workspace) == []


def test_two_who_word_it_differently_agree(workspace: Workspace, make_candidate: MakeCandidate) -> None:
    candidate = make_candidate(1)
    second = said(candidate, "annotator-2", instruction="Train, would you?", script=candidate.output + "\n")
    result = settle(workspace, [candidate], [said(candidate), second])
    assert len(result.written) == 1
    (item,) = load_tasks(workspace)
    assert item.task.annotators == ("annotator-1", "annotator-2")
    assert item.examples[0].instruction == "Please train it."


def test_an_adjudication_settles_a_difference(workspace: Workspace, make_candidate: MakeCandidate) -> None:
    candidate = make_candidate(1)
    result = settle(
        workspace,
        [candidate],
        [
            said(candidate),
            said(candidate, "annotator-2", verdict="reject"),
            said(candidate, "annotator-3", at=9, project="bench-adjudication", script="python train.py --lr 0.3"),
        ],
    )
    assert len(result.written) == 1
    assert load_tasks(workspace)[0].examples[0].output == "python train.py --lr 0.3"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"verdict": "fix"}, "still the suggested one"),
        ({"verdict": None}, "gave no verdict"),
        ({"instruction": "  "}, "instruction empty"),
        ({"arguments": "lr 0.1"}, "NAME=VALUE"),
        ({"digest": "an older one"}, "changed after"),
        ({"scope": "document"}, "scope document"),
    ],
)
def test_what_cannot_become_a_task_is_reported_with_the_reason(
    workspace: Workspace, make_candidate: MakeCandidate, fields: dict[str, Any], reason: str
) -> None:
    candidate = make_candidate(1)
    result = settle(workspace, [candidate], [said(candidate, **fields)])
    assert reason in result.problems[candidate.id]
    assert load_tasks(workspace) == []


def test_a_corrected_script_under_fix_is_accepted(workspace: Workspace, make_candidate: MakeCandidate) -> None:
    candidate = make_candidate(1)
    result = settle(workspace, [candidate], [said(candidate, verdict="fix", script="python train.py --lr 0.1")])
    assert len(result.written) == 1


def test_rejected_and_skipped_candidates_make_no_task(workspace: Workspace, make_candidate: MakeCandidate) -> None:
    one, two = make_candidate(1), make_candidate(2)
    result = settle(workspace, [one, two], [said(one, verdict="reject"), said(two, skipped=True)])
    assert result.rejected == [one.id]
    assert load_tasks(workspace) == []


def test_a_task_whose_annotator_changed_their_mind_is_reported_and_stays(
    workspace: Workspace, make_candidate: MakeCandidate
) -> None:
    candidate = make_candidate(1)
    settle(workspace, [candidate], [said(candidate)])
    result = settle(workspace, [candidate], [said(candidate, at=7, verdict="reject")])
    assert "no longer accepted" in result.problems[candidate.id]
    assert len(load_tasks(workspace)) == 1


def test_a_task_whose_candidate_vanished_from_the_pin_is_reported_with_the_way_out_and_stays(
    workspace: Workspace, make_candidate: MakeCandidate
) -> None:
    candidate = make_candidate(1)
    settle(workspace, [candidate], [said(candidate)])
    problem = settle(workspace, [], []).problems[candidate.id]
    assert "no such candidate at the pinned commit" in problem
    assert "benchwright release yank" in problem
    assert len(load_tasks(workspace)) == 1


@pytest.mark.parametrize(("name", "field"), [("scope", "oracle_scope"), ("type", "type")])
def test_a_choice_that_the_form_does_not_offer_is_named(
    workspace: Workspace, make_candidate: MakeCandidate, name: str, field: str
) -> None:
    candidate = make_candidate(1)
    raw = tuple(result_for({**prefill(candidate), "instruction": "Train.", "verdict": "accept", name: "galaxy"}))
    annotation = said(candidate).model_copy(update={"raw": raw, field: None})  # as a pull reads it
    result = settle(workspace, [candidate], [annotation])
    assert result.problems == {candidate.id: f"annotator-1 chose the {name} 'galaxy', which does not exist"}
    assert load_tasks(workspace) == []
