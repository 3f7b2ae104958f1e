"""Everything that can go wrong, at every request of a publication in turn.

Whatever happens: main names nothing but whole states, there is one pull request, and at the end the release is
published with its tag. The long run walks through all requests; the usual one takes a seeded sample.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

REPOSITORY = "tester/pocket"
STATUSES = {
    "429": (429, {"RateLimit": '"api";r=0;t=0', "RateLimit-Policy": '"fixed window";"api";q=500;w=300'}),
    "500": (500, {}),
    "503": (503, {"Retry-After": "1"}),
}
LOST = ("dropped", "answer lost")
KILLED = ("killed before", "killed after")
KINDS = (*STATUSES, *LOST, *KILLED)
REQUESTS = {False: 70, True: 55}
"""With Xet or without: at least so many requests make up the publication of the small release."""


class Once:
    """One trouble at request ``number``; ``reached`` tells whether the conversation was that long."""

    def __init__(self, trouble: Any, kind: str, number: int, kill: Callable[[], None]) -> None:
        self.number, self.reached, self.where = number, False, ""
        if kind in STATUSES:
            status, headers = STATUSES[kind]
            self.befalls = trouble(status=status, headers=headers)
        elif kind == "dropped":
            self.befalls = trouble(before=lambda: None)
        elif kind == "answer lost":
            self.befalls = trouble(after=lambda: None)
        else:
            self.befalls = trouble(**{kind.removeprefix("killed "): kill})

    def __call__(self, number: int, method: str, path: str) -> Any:
        if number != self.number:
            return None
        self.reached, self.where = True, f"{method} {path}"
        return self.befalls


def check(double: Any, publisher: Any, at: str) -> None:
    """What must hold after every publication that ended well."""
    dataset = double.datasets[REPOSITORY]
    assert list(dataset.requests) == [1], at
    assert dataset.requests[1].status == "merged", at
    assert len(dataset.history_of_main) == 2, at  # the first commit, then the whole release
    assert dataset.tags == {"v0.1.0": dataset.branches["main"]}, at
    release = {path.name for path in (publisher.workspace.root / "releases" / "0.1.0").rglob("*") if path.is_file()}
    assert {path.split("/")[-1] for path in dataset.files("v0.1.0")} == {*release, ".gitattributes"}, at
    assert publisher.receipt()["state"] == "published", at
    assert not list(publisher.workspace.private_dir.glob("read-back-*")), at


def befall(double: Any, publisher: Any, trouble: Any, kind: str, number: int) -> bool:
    """Publish with one trouble; run again where the process was killed. False where there was no such request."""
    pid = 0

    def started(value: int) -> None:
        nonlocal pid
        pid = value

    def kill() -> None:
        with suppress(ProcessLookupError):  # the whole group: a reader process of it may be the one that asks
            os.killpg(pid, signal.SIGKILL)

    double.forget_requests()
    once = Once(trouble, kind, number, kill)
    double.trouble = once
    at = f"{kind} at request {number}"
    if kind in KILLED:
        process = publisher.start("release", "publish")
        started(process.pid)
        out, err = process.communicate(timeout=300)
        publisher.output += out + err
        double.trouble = lambda _number, _method, _path: None
        dataset = double.datasets.get(REPOSITORY)
        assert dataset is None or len(dataset.history_of_main) <= 2, at
        if once.reached:
            assert process.returncode == -signal.SIGKILL, at
            publisher.publish()
    else:
        publisher.publish()
    check(double, publisher, f"{at}: {once.where}")
    return once.reached


def walk(
    kind: str, numbers: Any, xet: bool, start_hub: Callable[..., Any], make_publisher: Callable[..., Any], trouble: Any
) -> int:
    """How many requests were troubled, up to the first number that no request had."""
    done = 0
    for number in numbers:
        double = start_hub(xet=xet)
        publisher = make_publisher(double, f"{kind} {number}")
        if not befall(double, publisher, trouble, kind, number):
            break
        done += 1
    return done


@pytest.mark.parametrize("kind", KINDS)
def test_a_trouble_at_some_request_leaves_one_pull_request_and_a_whole_main(
    kind: str, start_hub: Callable[..., Any], make_publisher: Callable[..., Any], trouble: Any
) -> None:
    chance = random.Random(f"2026 {kind}")
    xet = chance.random() < 0.5
    number = chance.randrange(1, REQUESTS[xet])
    assert walk(kind, [number], xet, start_hub, make_publisher, trouble) == 1


@pytest.mark.long
@pytest.mark.timeout(5400)
@pytest.mark.parametrize("xet", [False, True], ids=["lfs", "xet"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_trouble_at_every_request_leaves_one_pull_request_and_a_whole_main(
    kind: str, xet: bool, start_hub: Callable[..., Any], make_publisher: Callable[..., Any], trouble: Any
) -> None:
    assert walk(kind, range(1, 200), xet, start_hub, make_publisher, trouble) >= REQUESTS[xet]


@pytest.mark.parametrize("part", ["/commit/", "/merge", "/tag/"])
def test_a_hub_that_stays_down_ends_in_a_clear_error_and_the_next_run_finishes(
    part: str, start_hub: Callable[..., Any], make_publisher: Callable[..., Any], trouble: Any
) -> None:
    double = start_hub()
    publisher = make_publisher(double)
    down = trouble(status=503, headers={"Retry-After": "0"})
    double.trouble = lambda _number, method, path: down if method == "POST" and part in path else None
    error = publisher.publish(expect=2)["error"]
    assert "the Hub answered 503, and waiting did not help" in error["message"]
    assert "continues" in error["remedy"]
    dataset = double.datasets[REPOSITORY]
    assert dataset.tags == {}
    assert len(dataset.history_of_main) == (2 if part == "/tag/" else 1)
    double.trouble = lambda _number, _method, _path: None
    publisher.publish()
    check(double, publisher, part)


def test_a_hint_to_wait_long_is_passed_on_instead_of_waited_for(
    start_hub: Callable[..., Any], make_publisher: Callable[..., Any], trouble: Any
) -> None:
    double = start_hub()
    publisher = make_publisher(double)
    limit = trouble(status=429, headers={"Retry-After": "3600"})
    double.trouble = lambda _number, _method, path: limit if "/commit/" in path else None
    error = publisher.publish(expect=2)["error"]
    assert "in 3600 s" in error["remedy"]


def test_a_workspace_that_lost_its_receipt_continues_the_same_pull_request(
    start_hub: Callable[..., Any], make_publisher: Callable[..., Any], trouble: Any
) -> None:
    """As in continuous integration, where every run begins with a fresh clone."""
    double = start_hub()
    publisher = make_publisher(double)
    down = trouble(status=403)
    double.trouble = lambda _number, _method, path: down if path.endswith("/merge") else None
    assert publisher.publish(expect=2)["error"]["message"].startswith("merging pull request 1")
    (publisher.workspace.root / "releases" / "receipts" / "v0.1.0.json").unlink()
    double.trouble = lambda _number, _method, _path: None
    publisher.publish()
    check(double, publisher, "without its receipt")


def test_a_connection_that_drops_between_two_configurations_is_asked_again(
    start_hub: Callable[..., Any], make_publisher: Callable[..., Any], trouble: Any
) -> None:
    """The library would otherwise turn to its cache, which holds the configuration before."""
    double = start_hub()
    publisher = make_publisher(double)
    seen: list[str] = []
    dropped: list[str] = []

    def once(_number: int, _method: str, path: str) -> Any:
        loaded_one = any("/resolve/" in item and "/repositories/" in item for item in seen)
        seen.append(path)
        if loaded_one and not dropped and path.endswith("/.huggingface.yaml"):
            dropped.append(path)
            return trouble(before=lambda: None)
        return None

    double.trouble = once
    publisher.publish()
    assert dropped
    assert "the connection failed; trying again" in publisher.output
    check(double, publisher, "between two configurations")
