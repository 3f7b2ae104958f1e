"""Push against the real server: each candidate once, whatever is killed, lost, or answered wrongly."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from benchwright.annotation import Server, accounts, push
from benchwright.annotation.interface import prefill, result_for
from benchwright.annotation.pulling import pull
from benchwright.core.errors import BenchwrightError, InfrastructureError
from benchwright.core.models import Candidate
from benchwright.core.workspace import Workspace

from .real_label_studio import FaultyProxy

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

MakeCandidate = Callable[..., Candidate]


def keys(server: Server, project: int) -> Counter[str]:
    return Counter(task["data"]["candidate_id"] for task in server.client().tasks(project, "id,data"))


def test_pushing_twice_changes_nothing_even_without_the_state(
    workspace: Workspace, label_studio: Server, make_candidate: MakeCandidate
) -> None:
    candidates = [make_candidate(number) for number in range(1, 451)]
    first = push(workspace, candidates, server=label_studio)
    assert (first.created, first.updated, first.unchanged) == (450, 0, 0)
    with workspace.open_store() as store:
        assert len(store.pushes(label_studio.url, first.project)) == 450
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        (workspace.private_dir / name).unlink(missing_ok=True)
    second = push(workspace, [*candidates, make_candidate(999)], server=label_studio)
    assert second.project == first.project
    assert (second.created, second.updated, second.unchanged) == (1, 0, 450)
    counted = keys(label_studio, first.project)
    assert set(counted) == {c.id for c in candidates} | {make_candidate(999).id}
    assert set(counted.values()) == {1}


def test_a_changed_candidate_updates_its_task_and_keeps_its_annotations(
    workspace: Workspace, label_studio: Server, make_candidate: MakeCandidate
) -> None:
    old, other = make_candidate(1), make_candidate(2)
    project = push(workspace, [old, other], server=label_studio).project
    client = label_studio.client()
    (task,) = [t for t in client.tasks(project, "id,data") if t["data"]["candidate_id"] == old.id]
    said = {"result": result_for({**prefill(old), "instruction": "Train.", "verdict": "accept"})}
    client.request("annotating", "POST", f"api/tasks/{task['id']}/annotations", body=said)
    new = make_candidate(1, output="python train.py --lr 0.1 --name better")
    assert new.digest != old.digest
    report = push(workspace, [new, other], server=label_studio)
    assert (report.created, report.updated, report.unchanged) == (0, 1, 1)
    (changed,) = [t for t in client.tasks(project, "id,data,total_annotations") if t["id"] == task["id"]]
    assert changed["total_annotations"] == 1
    assert "better" in changed["data"]["suggestion_html"]
    predictions = client.request("reading", "GET", "api/predictions", params={"task": task["id"]})
    assert len(predictions) == 1
    assert "better" in str(predictions[0]["result"])
    assert push(workspace, [new, other], server=label_studio).updated == 0
    # what was annotated under the old text says so, also when it is pulled afterwards
    with workspace.open_store() as store:
        store.replace_candidates("tiny", "key", [new, other])
    assert "changed after" in pull(workspace, server=label_studio).acceptance.problems[old.id]


def test_a_push_killed_at_any_point_and_repeated_leaves_each_candidate_once(
    workspace: Workspace, label_studio: Server, proxy: FaultyProxy, make_candidate: MakeCandidate
) -> None:
    candidates = [make_candidate(number) for number in range(1, 1001)]
    with workspace.open_store() as store:
        store.replace_candidates("tiny", "key", candidates)
    environment = {**os.environ, "LABEL_STUDIO_URL": proxy.url, "LABEL_STUDIO_API_KEY": label_studio.token}
    program = [sys.executable, "-P", "-c", "from benchwright.core.cli import main; main()"]
    command = [*program, "--workspace", str(workspace.root), "annotate", "push"]
    # requests that change something: the project is made, then imports of 400, 400 and 200
    points = [(number, moment) for number in range(1, 5) for moment in ("before", "after")]
    killed = 0
    for index, (number, moment) in enumerate(points):
        title = f"killed {index}"
        proxy.reset()
        process = subprocess.Popen([*command, "--project", title], env=environment, stderr=subprocess.DEVNULL)

        def kill(process: subprocess.Popen[bytes] = process) -> None:
            process.send_signal(signal.SIGKILL)
            process.wait()

        proxy.at(number, moment, kill)
        process.wait(120)
        killed += process.returncode == -signal.SIGKILL
        proxy.reset()
        report = push(workspace, candidates, title=title, server=Server(proxy.url, label_studio.token))
        assert report.created + report.unchanged == 1000
        counted = keys(label_studio, report.project)
        assert len(counted) == 1000, (number, moment)
        assert set(counted.values()) == {1}, (number, moment)
        assert not report.problems
    assert killed == len(points)


@pytest.mark.parametrize("status", [502, 408, 429])
def test_an_error_answered_after_the_work_was_done_doubles_nothing(
    workspace: Workspace, label_studio: Server, proxy: FaultyProxy, make_candidate: MakeCandidate, status: int
) -> None:
    for number in (1, 2, 3):
        proxy.at(number, "after", lambda: status)
    candidates = [make_candidate(number) for number in range(1, 501)]
    report = push(workspace, candidates, server=Server(proxy.url, label_studio.token))
    assert report.created == 500
    counted = keys(label_studio, report.project)
    assert len(counted) == 500
    assert set(counted.values()) == {1}
    assert len([line for line in proxy.log if "/import" in line]) == 2


def test_an_error_answered_before_the_work_was_done_is_tried_again(
    workspace: Workspace, label_studio: Server, proxy: FaultyProxy, make_candidate: MakeCandidate
) -> None:
    proxy.at(2, "before", lambda: 503)
    report = push(workspace, [make_candidate(1)], server=Server(proxy.url, label_studio.token))
    assert report.created == 1
    assert sum(keys(label_studio, report.project).values()) == 1


def test_a_server_that_keeps_failing_ends_the_push_with_what_was_done(
    workspace: Workspace,
    label_studio: Server,
    proxy: FaultyProxy,
    make_candidate: MakeCandidate,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from benchwright.annotation import pushing

    monkeypatch.setattr(pushing, "ABSENT_S", 0.5)
    for number in range(3, 10):
        proxy.at(number, "before", lambda: 500)
    candidates = [make_candidate(number) for number in range(1, 501)]
    with pytest.raises(InfrastructureError, match="HTTP 500"):
        push(workspace, candidates, server=Server(proxy.url, label_studio.token))
    proxy.reset()
    report = push(workspace, candidates, server=Server(proxy.url, label_studio.token))
    assert (report.created, report.unchanged) == (100, 400)


def test_a_personal_access_token_works_like_a_legacy_one(
    workspace: Workspace, label_studio: Server, make_candidate: MakeCandidate
) -> None:
    import httpx

    assert label_studio.email is not None
    account = accounts.create(label_studio, "pat@example.org", "a-long-Password-1")
    with httpx.Client(base_url=label_studio.url, headers={"Referer": label_studio.url}) as session:
        session.get("/user/login/")
        form = {"email": account.email, "password": account.password}
        session.post("/user/login/", data={**form, "csrfmiddlewaretoken": session.cookies["csrftoken"]})
        answer = session.post("/api/token/", headers={"X-CSRFToken": session.cookies["csrftoken"]})
        assert answer.status_code == 201
        token = answer.json()["token"]
    report = push(workspace, [make_candidate(1)], server=Server(label_studio.url, token))
    assert report.created == 1
    assert pull(workspace, server=Server(label_studio.url, token)).projects[0].annotations == 0


def test_a_project_that_lost_a_control_is_refused(
    workspace: Workspace, label_studio: Server, make_candidate: MakeCandidate
) -> None:
    report = push(workspace, [make_candidate(1)], server=label_studio)
    bare = '<View><Text name="code" value="$code"/><TextArea name="out_script" toName="code"/></View>'
    label_studio.client().update_project(report.project, label_config=bare)
    with pytest.raises(BenchwrightError, match="there is no Choices out_verdict"):
        push(workspace, [make_candidate(2)], server=label_studio)


def test_a_wrong_key_is_said_without_showing_it(
    workspace: Workspace, label_studio: Server, make_candidate: Any
) -> None:
    with pytest.raises(BenchwrightError, match="refuses the key") as caught:
        push(workspace, [make_candidate(1)], server=Server(label_studio.url, "wrong-secret"))
    assert "wrong-secret" not in str(caught.value)
