"""Sending a task back, and drafts, against the real server."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from benchwright.annotation import Account, Server, accounts, archive, pull, push
from benchwright.annotation.interface import fields_of, prefill, result_for
from benchwright.annotation.progress import status
from benchwright.annotation.returning import send_back
from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Annotation, Candidate
from benchwright.core.tasks import load_tasks
from benchwright.core.workspace import Workspace

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

MakeCandidate = Callable[..., Candidate]
REASON = "The instruction does not say <how> long: state the epochs."


class Bench:
    """Two candidates on the server, and what people do with them."""

    def __init__(self, workspace: Workspace, server: Server, candidates: list[Candidate]) -> None:
        self.workspace, self.server, self.candidates = workspace, server, candidates
        with workspace.open_store() as store:
            store.replace_candidates("tiny", "key", candidates)
        self.project = push(workspace, candidates, server=server).project
        tasks = server.client().tasks(self.project, "id,data")
        self.tasks = {task["data"]["candidate_id"]: task["id"] for task in tasks}

    def say(self, who: Account, number: int, **fields: Any) -> None:
        candidate = self.candidates[number]
        form = {**prefill(candidate), "instruction": "Please train it.", "verdict": "accept", **fields}
        path = f"api/tasks/{self.tasks[candidate.id]}/annotations"
        who.client().request("annotating", "POST", path, body={"result": result_for(form), "lead_time": 9.5})

    def next_task(self, who: Account) -> dict[str, Any]:
        """The task that the label stream shows next to this person."""
        params = {"id": "next_task", "project": self.project}
        return dict(who.client().request("next task", "POST", "api/dm/actions", body={}, params=params))


@pytest.fixture
def bench(workspace: Workspace, label_studio: Server, make_candidate: MakeCandidate) -> Bench:
    return Bench(workspace, label_studio, [make_candidate(number) for number in (1, 2)])


@pytest.fixture
def dora(label_studio: Server) -> Account:
    return accounts.create(label_studio, "dora@example.org", "a-long-Password-7")


def test_a_task_sent_back_is_open_again_with_the_reason_and_counts_once_it_is_done_anew(
    bench: Bench, dora: Account
) -> None:
    workspace, server, candidate = bench.workspace, bench.server, bench.candidates[0]
    bench.say(dora, 0, script="python train.py --lr 0.1\n\t# kept", verdict="fix")
    bench.say(dora, 1)
    done = send_back(workspace, candidate.id, REASON, server=server)
    assert (done.annotator, done.project) == ("annotator-1", "bench")
    assert len(load_tasks(workspace)) == 2  # it had become a task, which stays until it is settled

    again = bench.next_task(dora)
    assert again["data"]["candidate_id"] == candidate.id
    assert "&lt;how&gt; long: state the epochs." in again["data"]["note_html"]
    (prediction,) = server.client().request("reading", "GET", "api/predictions", params={"task": again["id"]})
    filled_in = fields_of(prediction["result"])
    assert (filled_in["script"], filled_in["verdict"]) == ("python train.py --lr 0.1\n\t# kept", "fix")

    report = pull(workspace, server=server)
    assert report.projects[0].vanished == []  # we took it ourselves, and said so
    assert "no longer accepted (waiting" in report.acceptance.problems[candidate.id]
    (standing,) = status(workspace)
    assert (standing.done, standing.sent_back) == (1, 1)
    with pytest.raises(BenchwrightError, match="nobody has judged it"):
        send_back(workspace, candidate.id, REASON, server=server)

    unchanged = push(workspace, bench.candidates, server=server)
    assert (unchanged.created, unchanged.updated) == (0, 0)
    bench.say(dora, 0, instruction="Train it for 3 epochs.")
    last = pull(workspace, server=server)
    assert last.acceptance.problems == {}
    assert last.acceptance.waiting == []
    (item,) = [item for item in load_tasks(workspace) if item.task.candidate_id == candidate.id]
    assert [example.instruction for example in item.examples] == ["Train it for 3 epochs."]
    said = [v for v in archive.read(workspace, "bench") if v.candidate_id == candidate.id]
    assert [(v.instruction, v.returned) for v in said] == [
        ("Please train it.", ""),
        ("Please train it.", REASON),
        ("Train it for 3 epochs.", ""),
    ]


def test_where_two_judged_it_the_one_that_is_meant_must_be_named(
    bench: Bench, dora: Account, label_studio: Server
) -> None:
    emil = accounts.create(label_studio, "emil@example.org", "a-long-Password-8")
    bench.say(dora, 0)
    bench.say(emil, 0)
    key = bench.candidates[0].id
    with pytest.raises(BenchwrightError, match=r"(?s)annotator-1.*annotator-2.*--annotator"):
        send_back(bench.workspace, key, REASON, server=bench.server)
    with pytest.raises(BenchwrightError, match="with a reason"):
        send_back(bench.workspace, key, "  ", "annotator-1", server=bench.server)
    assert send_back(bench.workspace, key, REASON, "emil@example.org", server=bench.server).annotator == "annotator-2"
    assert send_back(bench.workspace, key, REASON, "annotator-1", server=bench.server).annotator == "annotator-1"
    report = pull(bench.workspace, server=bench.server)
    assert (report.projects[0].annotations, report.acceptance.written) == (0, [])


def test_a_send_back_that_was_cut_off_is_done_again(
    bench: Bench, dora: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = archive.append

    def cut_off(workspace: Workspace, project: str, versions: Iterable[Annotation]) -> None:
        kept = list(versions)
        if any(version.returned for version in kept):
            raise KeyboardInterrupt
        append(workspace, project, kept)

    bench.say(dora, 0)
    with monkeypatch.context() as patch:
        patch.setattr(archive, "append", cut_off)
        with pytest.raises(KeyboardInterrupt):
            send_back(bench.workspace, bench.candidates[0].id, REASON, server=bench.server)
    send_back(bench.workspace, bench.candidates[0].id, REASON, server=bench.server)
    versions = archive.read(bench.workspace, "bench")
    assert [v.returned for v in versions] == ["", REASON]
    assert pull(bench.workspace, server=bench.server).projects[0].annotations == 0


def test_what_was_typed_and_not_submitted_is_counted(bench: Bench, dora: Account) -> None:
    assert pull(bench.workspace, server=bench.server).projects[0].drafts == 0
    task = bench.tasks[bench.candidates[1].id]
    draft = {"result": result_for({"instruction": "half a sent"}), "lead_time": 3.0}
    dora.client().request("typing", "POST", f"api/tasks/{task}/drafts", body=draft)
    report = pull(bench.workspace, server=bench.server)
    assert (report.projects[0].drafts, report.projects[0].annotations) == (1, 0)
    assert "1 drafts" in "\n".join(report.lines())
