"""Two people, neither shown the other's work: own projects, gold, agreement, adjudication, status."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from benchwright.annotation import Account, Server, accounts, consensus, pull, push, push_to
from benchwright.annotation.adjudication import adjudicate
from benchwright.annotation.assignment import load
from benchwright.annotation.interface import prefill, result_for
from benchwright.annotation.people import People
from benchwright.annotation.progress import status
from benchwright.annotation.trials import Trials
from benchwright.core.models import Candidate, Outcome, OutcomeKind
from benchwright.core.tasks import load_tasks
from benchwright.core.workspace import Workspace

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

MakeCandidate = Callable[..., Candidate]


def say(
    account: Account, project: int, candidates: dict[str, Candidate], answer: Callable[[str], dict[str, Any]]
) -> int:
    """Judge every task of the project that ``account`` has not judged yet; ``answer`` gives what differs."""
    client, count = account.client(), 0
    for task in client.tasks(project, "id,data,annotations", full=True):
        if task["annotations"]:
            continue
        candidate = candidates[task["data"]["candidate_id"]]
        form = {**prefill(candidate), "instruction": "Please train it.", "verdict": "accept", **answer(candidate.id)}
        body = {"result": result_for(form), "lead_time": 30}
        client.request("annotating", "POST", f"api/tasks/{task['id']}/annotations", body=body)
        count += 1
    return count


def test_two_people_judge_alone_and_a_third_settles_their_difference(
    workspace: Workspace, label_studio: Server, make_candidate: MakeCandidate
) -> None:
    made = [make_candidate(number) for number in range(1, 25)]
    candidates = {candidate.id: candidate for candidate in made}
    with workspace.open_store() as store:
        store.replace_candidates("tiny", "key", made)

    # a chief settles four candidates, which can be gold later
    chief = accounts.create(label_studio, "chief@example.org", "a-long-Password-0")
    first = push(workspace, made[:4], title="settled", server=label_studio)
    assert say(chief, first.project, candidates, lambda _: {}) == 4
    assert len(pull(workspace, server=label_studio).acceptance.written) == 4

    with workspace.open_store() as store:
        for candidate in made[:4]:  # what is gold soon was run, the others were not
            Trials(workspace).record(store, candidate, Outcome(outcome=OutcomeKind.PASSED, exit_code=0))
    team = ["una@example.org", "vic"]
    report = push_to(workspace, team, overlap=2, gold=0.1, title="round", server=label_studio)
    assert set(report.logins) == {"una@example.org", "vic@benchwright.example"}
    assert report.load == {"annotator-2": 20, "annotator-3": 20}
    assert report.gold == {"annotator-2": 2, "annotator-3": 2}
    assert len({item.project for item in report.projects}) == 2
    again = push_to(workspace, team, overlap=2, gold=0.1, title="round", server=label_studio)
    assert [item.created for item in again.projects] == [0, 0]
    assert again.logins == {}

    plan = load(workspace, "round")
    for item, name in zip(report.projects, ("annotator-2", "annotator-3"), strict=True):
        tasks = list(label_studio.client().tasks(item.project, "id,data"))
        assert [task["data"]["candidate_id"] for task in tasks] == plan.of(name)
        gold = {key for key, who in plan.gold.items() if name in who}
        keys = [set(task["data"]) for task in tasks]
        assert all(found == keys[0] for found in keys)  # gold has the same keys as the others
        assert len(gold) == 2
        # a result shown with gold alone would give it away
        assert all("not executed yet" in task["data"]["suggestion_html"] for task in tasks)

    wrong = next(key for key, who in plan.gold.items() if "annotator-3" in who)
    contested = sorted(plan.assigned)[0]

    def vics(key: str) -> dict[str, Any]:
        if key == wrong:
            return {"verdict": "reject", "reason": "no idea"}
        return {"script": "python train.py --lr 9", "verdict": "fix"} if key == contested else {}

    una = accounts.create(label_studio, "una@example.org", report.logins["una@example.org"])
    vic = accounts.create(label_studio, "vic@benchwright.example", report.logins["vic@benchwright.example"])
    assert say(una, report.projects[0].project, candidates, lambda _: {}) == 22
    waiting = pull(workspace, server=label_studio).acceptance
    assert len(waiting.waiting) == 20  # one judged, two are asked for
    assert say(vic, report.projects[1].project, candidates, vics) == 22
    pulled = pull(workspace, server=label_studio).acceptance
    assert len(pulled.written) == 19
    assert pulled.disagreements == {contested: ["script"]}
    assert wrong not in pulled.problems  # a judgement of gold says nothing about the candidate

    by_name = {standing.annotator: standing for standing in status(workspace)}
    assert (by_name["annotator-2"].gold_right, by_name["annotator-2"].gold_judged) == (2, 2)
    assert (by_name["annotator-3"].gold_right, by_name["annotator-3"].gold_judged) == (1, 2)
    assert by_name["annotator-2"].assigned == by_name["annotator-2"].done == 22
    assert by_name["annotator-3"].agreement == pytest.approx(19 / 20)
    found = consensus.agreement(workspace)
    assert found.candidates == 20
    assert found.fields["script"]["percent"].value == pytest.approx(19 / 20)
    assert json.dumps(found.value())

    settled = adjudicate(workspace, title="round", server=label_studio)
    assert settled.created == 1
    assert adjudicate(workspace, title="round", server=label_studio).created == 0
    client = label_studio.client()
    (task,) = client.tasks(settled.project, "id,data")
    assert "differs" in task["data"]["answers_html"]
    assert "--lr 9" in task["data"]["answers_html"]
    predictions = client.request("reading", "GET", "api/predictions", params={"task": task["id"]})
    assert {item["model_version"] for item in predictions} == {"annotator-2", "annotator-3"}
    say(chief, settled.project, candidates, lambda _: {"script": "python train.py --lr 5", "verdict": "fix"})
    last = pull(workspace, server=label_studio).acceptance
    assert last.disagreements == {}
    assert len(last.written) == 1
    (item,) = [t for t in load_tasks(workspace) if t.task.candidate_id == contested]
    assert item.examples[0].output == "python train.py --lr 5"
    assert len(load_tasks(workspace)) == 24
    assert People(workspace).account("annotator-3") == "vic@benchwright.example"
    kept = "".join(path.read_text() for path in workspace.annotations_dir.iterdir())
    for private in ("una@", "vic@", "chief@"):
        assert private not in kept
