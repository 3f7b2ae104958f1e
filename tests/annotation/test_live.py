"""Execution while typing, without a server or a sandbox: the queue, the four calls, and what is shown."""

from __future__ import annotations

import base64
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from benchwright.annotation.interface import fields_of, result_for
from benchwright.annotation.live.backend import Backend
from benchwright.annotation.live.drafts import Draft, drafts_of
from benchwright.annotation.live.runs import NotRunError, Runs
from benchwright.annotation.live.shown import arguments_lines, outcome_lines
from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Outcome
from benchwright.validators.execution import Job


def outcome(kind: str = "passed", **fields: Any) -> Outcome:
    return Outcome.model_validate({"outcome": kind, **fields})


def job(code: str) -> Job:
    return Job(key="tiny", code=code, type="Bash Script")


def request(context: Any, task: int = 7, **data: Any) -> dict[str, Any]:
    return {"tasks": [{"id": task, "data": {"candidate_id": "tiny-1", **data}}], "params": {"context": context}}


def draft(**fields: Any) -> Draft:
    (made,) = drafts_of(request({"result": result_for(fields)}))
    assert made is not None
    return made


class Machine:
    """Stands for the sandbox: counts what runs at once, and holds every run until it is let go."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.ran: list[str] = []
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()

    def execute(self, made: Job) -> Outcome:
        with self._lock:
            self.ran.append(made.code)
            self._now += 1
            self.most = max(self.most, self._now)
        self.let_go.wait(10)
        with self._lock:
            self._now -= 1
        return outcome("infrastructure" if made.code == "spoilt" else "passed", detail=made.code)


@pytest.fixture
def machine() -> Iterator[Machine]:
    made = Machine()
    yield made
    made.let_go.set()


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


# the queue ---------------------------------------------------------------------------------------------------


def test_no_more_run_at_once_than_there_are_sandboxes_and_no_more_wait_than_may(machine: Machine) -> None:
    runs = Runs(machine.execute, at_once=2, waiting=3)
    with ThreadPoolExecutor(8) as people:
        asked = [people.submit(runs.outcome, job(f"echo {n}"), n, 10) for n in range(5)]
        wait_until(lambda: len(machine.ran) == 2 and runs._open == 5)
        with pytest.raises(NotRunError, match="3 scripts are waiting already"):
            runs.outcome(job("echo 5"), 5, 10)
        machine.let_go.set()
        assert [future.result().detail for future in asked] == [f"echo {n}" for n in range(5)]
    assert machine.most == 2
    assert runs.outcome(job("echo 5"), 5, 10).passed
    runs.close()
    runs.join()


def test_a_draft_that_waits_is_dropped_when_a_newer_one_of_its_task_comes(machine: Machine) -> None:
    runs = Runs(machine.execute, at_once=1, waiting=5)
    with ThreadPoolExecutor(4) as people:
        first = people.submit(runs.outcome, job("first"), "a task", 10)
        wait_until(lambda: machine.ran == ["first"])
        second = people.submit(runs.outcome, job("second"), "a task", 10)
        wait_until(lambda: runs._open == 2)
        third = people.submit(runs.outcome, job("third"), "a task", 10)
        with pytest.raises(NotRunError, match="another draft"):
            second.result(5)
        machine.let_go.set()
        assert first.result(5).passed
        assert third.result(5).detail == "third"
    assert machine.ran == ["first", "third"]


def test_equal_drafts_share_one_run_and_what_the_machine_spoilt_is_tried_again(machine: Machine) -> None:
    machine.let_go.set()
    runs = Runs(machine.execute, at_once=2, waiting=5)
    for code in ("same", "same", "spoilt", "spoilt"):
        runs.outcome(job(code), "a task", 10)
        wait_until(lambda: runs._open == 0)
    assert machine.ran == ["same", "spoilt", "spoilt"]


def test_a_slow_run_goes_on_and_is_there_when_it_is_asked_for_again(machine: Machine) -> None:
    runs = Runs(machine.execute, at_once=1, waiting=0)
    with pytest.raises(NotRunError, match="goes on"):
        runs.outcome(job("slow"), "a task", 0.05)
    machine.let_go.set()
    assert runs.outcome(job("slow"), "a task", 5).passed
    assert machine.ran == ["slow"]


# the four calls ----------------------------------------------------------------------------------------------


@pytest.fixture
def backend() -> Iterator[Backend]:
    made = Backend("127.0.0.1", 0, lambda project, draft: f"{project}: {draft.script}")
    yield made
    made.close()


def call(backend: Backend, path: str, body: Any = None, user: str = "mill", secret: str | None = None) -> Any:
    secret = backend.secret_of("mill") if secret is None else secret
    token = base64.b64encode(f"{user}:{secret}".encode()).decode()
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    asked = urllib.request.Request(
        f"http://127.0.0.1:{backend.port}{path}", data, {"Authorization": f"Basic {token}"} if user else {}
    )
    with urllib.request.urlopen(asked, timeout=5) as answer:
        return json.load(answer)


def test_the_four_calls_answer_as_label_studio_expects(backend: Backend) -> None:
    assert call(backend, "/health")["status"] == "UP"
    assert call(backend, "/setup", {"access_token": "the owner's"}) == {"model_version": "benchwright live"}
    assert call(backend, "/webhook", {"action": "ANNOTATION_CREATED"}) == {}
    script = "echo '<b>&\u6e2f'\t\n"
    answer = call(backend, "/predict", request({"result": result_for({"script": script})}))
    ((item,),) = [result["result"] for result in answer["results"]]
    assert item["from_name"] == "out_live"
    assert item["value"] == {"text": [f"mill: {script}"]}
    assert fields_of([item]) == {}
    # without anyone typing, Label Studio asks for predictions of many tasks: there are none
    many = {"tasks": [{"id": n, "data": {}} for n in range(3)], "params": {"context": None}}
    assert [result["result"] for result in call(backend, "/predict", many)["results"]] == [[], [], []]


@pytest.mark.parametrize(("user", "secret"), [("", ""), ("mill", "wrong"), ("other", None), ("mill", "")])
@pytest.mark.parametrize("path", ["/health", "/predict"])
def test_without_the_projects_own_secret_nothing_is_answered(
    backend: Backend, path: str, user: str, secret: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    backend.secret_of("mill")
    body = request({"result": result_for({"script": "true"})}) if path == "/predict" else None
    with pytest.raises(urllib.error.HTTPError) as refused:
        call(backend, path, body, user, secret)
    assert refused.value.code == 401
    assert capfd.readouterr() == ("", "")


def test_secrets_differ_by_project_and_are_shown_nowhere(backend: Backend, capfd: pytest.CaptureFixture[str]) -> None:
    secrets = {backend.secret_of(name) for name in ("mill", "other")}
    assert len(secrets) == 2
    assert all(len(secret) >= 40 for secret in secrets)
    call(backend, "/setup", {"access_token": "the owner's"})
    shown = "".join(capfd.readouterr()) + repr(backend)
    assert not any(secret in shown for secret in (*secrets, "the owner's"))


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b"[" * 100_000, 400),
        ({}, 400),
        ({"tasks": [{}], "params": {"context": {"result": []}}}, 400),
        ({"tasks": [{"id": 1, "data": {"candidate_id": "x"}}] * 2, "params": {"context": {"result": []}}}, 400),
        ({"tasks": "abc", "params": {"context": {"result": "abc"}}}, 400),
        (request({"result": [{"from_name": "out_script", "value": {"text": [3]}}]}), 400),
        (b'{"tasks":[{"id":1,"data":{"candidate_id":"x"}}],"params":{"context":{"result":'
         b'[{"from_name":"out_script","value":{"text":["\\ud800"]}}]}}}', 400),
    ],
)  # fmt: skip
def test_a_request_of_another_shape_is_refused_and_the_next_one_answered(
    backend: Backend, body: Any, code: int
) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        call(backend, "/predict", body)
    assert refused.value.code == code
    assert call(backend, "/health")["status"] == "UP"
    with pytest.raises(urllib.error.HTTPError) as refused:
        call(backend, "/train", {})
    assert refused.value.code == 404


def test_it_listens_on_an_address_of_version_six_too() -> None:
    try:
        made = Backend("::1", 0, lambda project, draft: "")
    except BenchwrightError:
        pytest.skip("this machine has no loopback address of version six")
    try:
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"http://[::1]:{made.port}/health", timeout=5)
    finally:
        made.close()


def test_a_taken_address_is_said_with_what_to_do(backend: Backend) -> None:
    with pytest.raises(BenchwrightError, match="cannot be had") as caught:
        Backend("127.0.0.1", backend.port, lambda project, draft: "")
    assert "--port" in str(caught.value)


# what is shown -----------------------------------------------------------------------------------------------


def test_the_outcome_comes_first_then_the_end_of_what_was_printed() -> None:
    printed = "".join(f"line {n}\n" for n in range(100))
    ended = outcome("failed", exit_code=3, duration_s=0.52, detail="python3 ended with exit code 3")
    ended = ended.model_copy(update={"output": ended.output.model_copy(update={"head": printed, "bytes": 790})})
    lines = outcome_lines(ended)
    assert lines[0] == "FAILED, exit status 3, 0.5 s: python3 ended with exit code 3"
    assert lines[1] == "It printed 790 bytes; the end of them:"
    assert lines[2].startswith("line 80\n")
    assert lines[2].endswith("line 99")
    assert outcome_lines(outcome())[-1] == "It printed nothing."


def test_a_machines_failure_is_not_called_the_scripts() -> None:
    said = outcome_lines(outcome("infrastructure", detail="the environment numpy is not built"))[0]
    assert said.startswith("NOT RUN")
    assert "says nothing about the script" in said
    assert "numpy is not built" in said


def test_arguments_that_the_script_does_not_set_are_named() -> None:
    made = draft(
        script="python train.py --lr 0.1",
        arguments="lr=0.01\nepochs=3",
        instruction="Train it with a learning rate of 0.01.",
    )
    lines = arguments_lines(made, "Bash Script", "./", None)
    assert lines[0].startswith("The script does not set: lr: wanted")
    assert any(line.startswith("The script does not set: epochs") for line in lines)
    assert any("epochs" in line and line.startswith("The instruction (3)") for line in lines)
    right = draft(script="python train.py --lr 0.01", arguments="lr=0.01", instruction="A learning rate of 0.01.")
    assert arguments_lines(right, "Bash Script", "./", None) == ["The script sets every argument."]
    wrong = draft(script="true", arguments="lr: 0.01")
    assert "NAME=VALUE" in arguments_lines(wrong, "Bash Script", "./", None)[0]
