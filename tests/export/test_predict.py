"""Asking a model: a real client against a double that misbehaves in every way an endpoint can."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchwright.core import pacing
from benchwright.core.cli import app
from benchwright.core.errors import BenchwrightError, InfrastructureError
from benchwright.core.pacing import Pace, backoff, retry_after
from benchwright.core.progress import Reporter
from benchwright.export.dataset import Dataset, open_dataset
from benchwright.export.evaluation.predict import Options, Predicted, asking, declared_by, predict, preview
from benchwright.export.evaluation.predictions import read_predictions

QUIET = Reporter(quiet=True)
KEY = "sk-not-to-be-seen-0123456789"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits are those of a test; how long they really are is tested below."""
    monkeypatch.setattr(asking, "backoff", lambda _attempt: 0.002)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def dataset(make_row: Callable[..., dict[str, Any]], write_rows: Callable[..., Path]) -> Dataset:
    return open_dataset(str(write_rows([make_row(n) for n in (1, 2, 3)] + [make_row(4, 32)])))


@pytest.fixture
def ask(dataset: Dataset, tmp_path: Path, chat_double: Any) -> Callable[..., Predicted]:
    def run(**options: Any) -> Predicted:
        fields = {"model": "m", "setting": "oracle", "base_url": chat_double.url, "samples": 2, **options}
        return predict(dataset, Options(**fields), tmp_path / "out" / "p.jsonl", KEY, QUIET)

    return run


def written(done: Predicted) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.path.read_text("utf-8").splitlines()]


def journal(done: Predicted) -> Path:
    return done.path.with_name("p.jsonl.journal")


# what is had -----------------------------------------------------------------------------------------------


def test_every_example_gets_its_samples_in_the_format_that_evaluate_reads(
    ask: Callable[..., Predicted], dataset: Dataset
) -> None:
    done = ask()
    lines = written(done)
    assert [(line["github_id"], line["id"]) for line in lines] == [(31, 1), (31, 2), (31, 3), (32, 4)]
    assert len({text for line in lines for text in line["output"]}) == 8
    read = read_predictions(done.path, [row.key for row in dataset.rows("full")])
    assert all(text and text.startswith("```bash") for texts in read.samples.values() for text in texts)
    assert (done.asked, done.meta["complete"], done.meta["missing"]) == (8, True, [])


def test_what_is_sent_is_the_prompt_and_the_parameters_and_the_key_as_a_header(
    ask: Callable[..., Predicted], chat_double: Any
) -> None:
    ask(temperature=0.25, max_tokens=77)
    assert {frozenset(body) for body in chat_double.bodies} == {
        frozenset({"model", "temperature", "max_tokens", "messages"})
    }
    assert {(body["model"], body["temperature"], body["max_tokens"]) for body in chat_double.bodies} == {
        ("m", 0.25, 77)
    }
    assert chat_double.keys == {f"Bearer {KEY}"}


def test_every_raw_answer_is_kept_with_usage_and_reason_of_its_end(ask: Callable[..., Predicted]) -> None:
    done = ask()
    header, *lines = [json.loads(line) for line in journal(done).read_text().splitlines()]
    assert (header["model"], header["setting"], header["temperature"]) == ("m", "oracle", 1.0)
    assert len(lines) == 8
    for line in lines:
        assert line["response"]["usage"]["total_tokens"] == 107
        assert line["response"]["choices"][0]["message"]["content"] == line["content"]
        assert (line["finish_reason"], line["attempts"]) == ("stop", 1)


def test_tokens_and_cost_are_the_endpoints_own_and_only_counted_where_it_is_silent(
    ask: Callable[..., Predicted], chat_double: Any
) -> None:
    silent = chat_double.Trouble(usage=False)
    chat_double.trouble = lambda number, _body: silent if number > 6 else chat_double.Trouble()
    done = ask(price_in=10.0, price_out=100.0, concurrency=1)
    tokens = done.meta["tokens"]
    assert (tokens["samples_counted_by_endpoint"], tokens["samples_estimated"]) == (6, 2)
    assert tokens["prompts"] > 600
    assert tokens["answers"] > 42
    assert done.meta["cost"] == pytest.approx((tokens["prompts"] * 10 + tokens["answers"] * 100) / 1e6)
    assert ask().meta["cost"] is None


def test_the_number_of_samples_stands_beside_the_file(ask: Callable[..., Predicted], tmp_path: Path) -> None:
    done = ask(samples=3)
    declared = declared_by(done.path)
    assert declared is not None
    assert (declared.samples, declared.complete, declared.unchanged) == (3, True, True)
    done.path.write_text(done.path.read_text() + "\n")
    assert not declared_by(done.path).unchanged  # type: ignore[union-attr]
    assert declared_by(tmp_path / "elsewhere.jsonl") is None
    done.path.with_name("p.jsonl.meta.json").write_text("{}")
    with pytest.raises(BenchwrightError, match="not what predict writes"):
        declared_by(done.path)


# going on --------------------------------------------------------------------------------------------------


def test_a_stored_sample_is_never_asked_for_again(ask: Callable[..., Predicted], chat_double: Any) -> None:
    first = written(ask())
    again = ask()
    assert (again.asked, len(chat_double.bodies)) == (0, 8)
    assert written(again) == first
    more = ask(samples=3)
    assert (more.asked, len(chat_double.bodies)) == (4, 12)
    assert [line["output"][:2] for line in written(more)] == [line["output"] for line in first]
    assert [len(line["output"]) for line in written(ask(samples=1))] == [1, 1, 1, 1]
    assert len(chat_double.bodies) == 12


def test_an_answer_torn_by_a_kill_is_asked_for_again(ask: Callable[..., Predicted], chat_double: Any) -> None:
    done = ask()
    text = journal(done).read_text()
    journal(done).write_text(text[:-40])
    again = ask()
    assert (again.asked, again.torn, len(chat_double.bodies)) == (1, 1, 9)
    assert ask().asked == 0


def test_answers_to_another_question_are_never_mixed_in(ask: Callable[..., Predicted], chat_double: Any) -> None:
    ask()
    for other in ({"model": "n"}, {"temperature": 0.5}, {"setting": "none"}, {"max_tokens": 5}):
        with pytest.raises(BenchwrightError, match="another question"):
            ask(**other)
    assert len(chat_double.bodies) == 8


def test_an_example_whose_prompt_has_changed_is_not_completed_with_other_samples(ask: Callable[..., Predicted]) -> None:
    done = ask(samples=1)
    lines = journal(done).read_text().splitlines()
    changed = [json.dumps({**json.loads(line), "prompt": "0" * 64}) for line in lines[1:]]
    journal(done).write_text("\n".join([lines[0], *changed]) + "\n")
    stopped = ask(samples=2).stopped
    assert stopped is not None
    assert "not the one that earlier samples answered" in str(stopped)


def test_a_full_disk_ends_the_run_and_no_answer_counts_as_had_that_was_not_written(
    ask: Callable[..., Predicted], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = ask(samples=1)
    before = journal(done).read_text()

    def full(path: Path, _lines: Any) -> None:
        raise InfrastructureError("cannot append: No space left on device", where=str(path))

    monkeypatch.setattr("benchwright.export.evaluation.predict.journal.append_lines", full)
    stopped = ask(samples=5)
    assert "No space left" in str(stopped.stopped)
    assert len(stopped.meta["missing"]) == 16
    assert journal(done).read_text() == before


def test_two_processes_never_write_one_journal(ask: Callable[..., Predicted], tmp_path: Path, chat_double: Any) -> None:
    from filelock import FileLock

    (tmp_path / "out").mkdir()
    with FileLock(tmp_path / "out" / ".p.jsonl.journal.lock"), pytest.raises(BenchwrightError, match="another process"):
        ask()
    assert chat_double.bodies == []


# trouble ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {"status": 429},
        {"status": 429, "headers": {"Retry-After": "0"}},
        {"status": 500, "body": b"<html>oops</html>"},
        {"status": 503, "body": b'{"error": {"message": "overloaded"}}'},
        {"status": 408},
        {"drop": True},
        {"cut": True},
        {"cut": True, "chunked": True},
        {"body": b'{"choices": [{"mess'},
        {"body": b"[]"},
        {"body": b"null"},
        {"body": b""},
        {"body": b'{"choices": []}'},
        {"body": b'{"error": {"message": "late error"}}'},
        {"body": b"[" * 100_000},
        {"body": b'{"choices": [{"message": {"content": "\xff"}, "finish_reason": "stop"}]}'},
        {"finish_reason": None},
        {"finish_reason": "error"},
        {"finish_reason": {"a": 1}},
        {"finish_reason": ["stop"]},
        {"message": {"content": 7}},
        {"message": {"content": ["a", "list"]}},
    ],
    ids=lambda fields: str(fields)[:60],
)
def test_what_is_no_whole_answer_is_asked_for_again(
    ask: Callable[..., Predicted], chat_double: Any, fields: dict[str, Any]
) -> None:
    trouble = chat_double.Trouble(**fields)
    chat_double.trouble = lambda number, _body: trouble if number in (1, 2, 6) else chat_double.Trouble()
    done = ask()
    assert (done.meta["complete"], done.asked, done.retries, len(chat_double.bodies)) == (True, 8, 3, 11)
    assert all(text.startswith("```bash") for line in written(done) for text in line["output"])


def test_what_could_not_be_had_is_named_and_absent_and_had_by_the_same_call_later(
    ask: Callable[..., Predicted], chat_double: Any
) -> None:
    broken = chat_double.Trouble(500)
    chat_double.trouble = lambda _n, body: broken if "(2)" in body["messages"][0]["content"] else chat_double.Trouble()
    done = ask()
    assert [len(line["output"]) for line in written(done)] == [2, 2, 2]
    assert not done.meta["complete"]
    assert [(item["github_id"], item["id"], item["sample"]) for item in done.meta["missing"]] == [
        (31, 2, 0),
        (31, 2, 1),
    ]
    assert all("status 500" in item["reason"] for item in done.meta["missing"])
    assert len(chat_double.bodies) == 6 + 2 * pacing.ATTEMPTS
    chat_double.trouble = lambda _n, _b: chat_double.Trouble()
    later = ask()
    assert (later.asked, later.meta["complete"]) == (2, True)


def test_no_sample_is_null_or_made_up(ask: Callable[..., Predicted], chat_double: Any) -> None:
    chat_double.trouble = lambda number, _b: chat_double.Trouble(500) if number > 3 else chat_double.Trouble()
    done = ask(concurrency=1)
    assert sum(len(line["output"]) for line in written(done)) == 3
    assert "null" not in done.path.read_text()
    assert len(done.meta["missing"]) == 5


def test_an_answer_in_chunks_is_as_good_as_one_in_a_piece(ask: Callable[..., Predicted], chat_double: Any) -> None:
    chat_double.trouble = lambda _n, _b: chat_double.Trouble(chunked=True)
    assert (ask().meta["complete"], len(chat_double.bodies)) == (True, 8)


def test_characters_that_no_file_can_hold_come_back_as_they_were(
    ask: Callable[..., Predicted], chat_double: Any
) -> None:
    text = "\ud800 \x00 \u2028 \U0001f600"
    chat_double.trouble = lambda _n, _b: chat_double.Trouble(message={"content": text})
    assert written(ask())[0]["output"] == [text, text]
    assert ask().asked == 0


def test_a_model_that_wrote_no_text_is_reported_and_not_asked_again(
    ask: Callable[..., Predicted], chat_double: Any
) -> None:
    spent = chat_double.Trouble(message={"content": None, "reasoning_content": "hm"}, finish_reason="length")
    refusal = chat_double.Trouble(message={"content": None, "refusal": "I will not."})
    chat_double.trouble = lambda number, _b: {1: spent, 2: refusal}.get(number, chat_double.Trouble())
    done = ask(concurrency=1)
    assert written(done)[0]["output"] == ["", "I will not."]
    assert (done.meta["empty"], done.meta["finish_reasons"]) == (1, {"length": 1, "stop": 7})
    assert '"reasoning_content": "hm"' in journal(done).read_text()
    assert ask().asked == 0


def test_a_prompt_that_is_refused_is_not_sent_again_for_its_other_samples(
    ask: Callable[..., Predicted], chat_double: Any
) -> None:
    body = b'{"error": {"message": "context length exceeded"}}'
    chat_double.trouble = lambda _n, sent: (
        chat_double.Trouble(400, body=body) if "(1)" in sent["messages"][0]["content"] else chat_double.Trouble()
    )
    done = ask(samples=5, concurrency=1)
    assert len(chat_double.bodies) == 1 + 15
    assert {item["reason"] for item in done.meta["missing"]} == {"status 400: context length exceeded"}


@pytest.mark.parametrize(("status", "remedy"), [(401, "OPENAI_API_KEY"), (403, "OPENAI_API_KEY"), (404, "--model")])
def test_what_every_request_would_meet_stops_the_run_at_once(
    ask: Callable[..., Predicted], chat_double: Any, status: int, remedy: str
) -> None:
    chat_double.trouble = lambda number, _b: chat_double.Trouble(status if number > 2 else 200)
    done = ask(concurrency=1)
    assert len(chat_double.bodies) == 3
    assert done.stopped is not None
    assert remedy in str(done.stopped)
    assert sum(len(line["output"]) for line in written(done)) == 2
    assert len(done.meta["missing"]) == 6


def test_an_endpoint_that_is_down_is_given_up_after_some_samples(
    ask: Callable[..., Predicted], chat_double: Any
) -> None:
    chat_double.trouble = lambda _n, _b: chat_double.Trouble(drop=True)
    done = ask(samples=20, concurrency=2)
    assert isinstance(done.stopped, InfrastructureError)
    assert len(chat_double.bodies) <= (asking.HOPELESS + 2) * pacing.ATTEMPTS
    assert not done.path.exists()
    assert not done.meta["complete"]


def test_an_address_where_nobody_listens_ends_in_a_message(ask: Callable[..., Predicted]) -> None:
    done = ask(base_url="http://127.0.0.1:9/v1")
    assert {item["reason"] for item in done.meta["missing"]} == {"connection: ConnectError"}


def test_what_the_waits_are_for_is_said_once_and_not_only_at_the_end(
    dataset: Dataset, tmp_path: Path, chat_double: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    busy = chat_double.Trouble(status=503)
    chat_double.trouble = lambda number, _b: busy if number <= 3 else chat_double.Trouble()
    options = Options(model="m", setting="oracle", base_url=chat_double.url, samples=2)
    predict(dataset, options, tmp_path / "p.jsonl", KEY, Reporter())
    assert capsys.readouterr().err.count("503") == 1


def test_an_answer_that_takes_too_long_is_given_up(ask: Callable[..., Predicted], chat_double: Any) -> None:
    slow = chat_double.Trouble(delay_s=5.0)
    chat_double.trouble = lambda number, _b: slow if number == 1 else chat_double.Trouble()
    started = time.monotonic()
    done = ask(timeout_s=1.0)
    assert done.meta["complete"]
    assert done.retries >= 1
    assert time.monotonic() - started < 5


def test_a_model_that_knows_its_limit_by_the_newer_name_gets_it(
    ask: Callable[..., Predicted], chat_double: Any
) -> None:
    body = b'{"error": {"message": "Unsupported parameter: use max_completion_tokens instead"}}'
    chat_double.trouble = lambda _n, sent: (
        chat_double.Trouble(400, body=body) if "max_tokens" in sent else chat_double.Trouble()
    )
    done = ask(concurrency=4)
    assert done.meta["complete"]
    assert chat_double.bodies[-1]["max_completion_tokens"] == 8192


def test_what_a_server_says_cannot_move_the_cursor(ask: Callable[..., Predicted], chat_double: Any) -> None:
    body = json.dumps({"error": {"message": "\x1b[2J\nbad\u202e"}}).encode()
    chat_double.trouble = lambda _n, _b: chat_double.Trouble(400, body=body)
    assert {item["reason"] for item in ask().meta["missing"]} == {"status 400: [2J bad"}


# pace ------------------------------------------------------------------------------------------------------


def test_no_more_requests_are_in_flight_than_allowed(ask: Callable[..., Predicted], chat_double: Any) -> None:
    chat_double.trouble = lambda _n, _b: chat_double.Trouble(delay_s=0.05)
    ask(samples=5, concurrency=3)
    assert 1 < chat_double.most_in_flight <= 3


def test_requests_begin_no_faster_than_the_rate(ask: Callable[..., Predicted], chat_double: Any) -> None:
    ask(samples=2, per_minute=1200, concurrency=8)
    gaps = [b - a for a, b in zip(chat_double.starts, chat_double.starts[1:], strict=False)]
    assert sum(gaps) >= 7 * 0.05 * 0.95


def test_a_wait_that_the_server_asks_for_holds_for_all(ask: Callable[..., Predicted], chat_double: Any) -> None:
    busy = chat_double.Trouble(429, headers={"Retry-After": "1"})
    chat_double.trouble = lambda number, _b: busy if number == 2 else chat_double.Trouble(delay_s=0.05)
    started = time.monotonic()
    done = ask(concurrency=2, samples=5)
    assert done.meta["complete"]
    assert time.monotonic() - started >= 1.0
    assert max(b - a for a, b in zip(chat_double.starts, chat_double.starts[1:], strict=False)) >= 0.8


def test_a_wait_of_hours_is_not_waited_for(ask: Callable[..., Predicted], chat_double: Any) -> None:
    chat_double.trouble = lambda _n, _b: chat_double.Trouble(429, headers={"Retry-After": "86400"})
    done = ask()
    assert len(chat_double.bodies) == 8
    assert all("86400 s" in item["reason"] for item in done.meta["missing"])


def test_waits_grow_and_stay_bounded() -> None:
    assert all(0.5 <= backoff(1) <= 1.0 for _ in range(50))
    assert all(8 <= backoff(5) <= 16 for _ in range(50))
    assert all(30 <= backoff(40) <= 60 for _ in range(50))


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, None), ("7", 7.0), ("0.5", 0.5), ("-3", 0.0), ("soon", None), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
     ("", None), ("nan", None), ("inf", None), ("1e999", None)],
)  # fmt: skip
def test_retry_after_is_a_number_or_a_date(header: str | None, seconds: float | None) -> None:
    assert retry_after(header) == seconds


def test_a_pace_without_a_rate_never_waits() -> None:
    import asyncio

    async def many() -> float:
        pace, started = Pace(None), time.monotonic()
        for _ in range(10_000):
            await pace.turn()
        return time.monotonic() - started

    assert asyncio.run(many()) < 1


# secrets ---------------------------------------------------------------------------------------------------


def test_the_key_is_in_no_file_even_if_the_endpoint_repeats_it(ask: Callable[..., Predicted], chat_double: Any) -> None:
    told = chat_double.Trouble(message={"content": f"your key is {KEY}"})
    wrong = chat_double.Trouble(400, body=json.dumps({"error": {"message": f"bad key {KEY}"}}).encode())
    chat_double.trouble = lambda number, _b: told if number % 2 else wrong
    done = ask(concurrency=1)
    files = [path for path in done.path.parent.iterdir() if path.is_file()]
    assert len(files) >= 3
    assert not any(KEY.encode() in path.read_bytes() for path in files)
    assert "your key is [key]" in done.path.read_text()
    assert {item["reason"] for item in done.meta["missing"]} == {"status 400: bad key [key]"}


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/v1",
        "host/v1",
        "",
        "http://user:secret@host/v1",
        "http://host/v1?key=secret",
        "http:///v1",
        "http://[x/v1",
        "http://host:99999999/v1",
        "http://host:secret/v1",
        "http://ho st/v1\n",
        "http://ho st/v1",
    ],
)
def test_an_address_that_is_none_or_carries_a_secret_is_refused_and_not_repeated(
    ask: Callable[..., Predicted], url: str
) -> None:
    with pytest.raises(BenchwrightError) as caught:
        ask(base_url=url)
    assert "secret@" not in str(caught.value)
    assert "=secret" not in str(caught.value)


def test_a_file_that_predict_did_not_write_is_left_alone(
    ask: Callable[..., Predicted], tmp_path: Path, chat_double: Any
) -> None:
    path = tmp_path / "out" / "p.jsonl"
    path.parent.mkdir()
    path.write_text("mine")
    with pytest.raises(BenchwrightError, match="did not write"):
        ask()
    assert path.read_text() == "mine"
    path.unlink()
    path.mkdir()
    with pytest.raises(BenchwrightError, match="did not write"):
        ask()
    assert chat_double.bodies == []


def test_a_key_that_cannot_be_one_is_refused_without_being_shown(dataset: Dataset, tmp_path: Path) -> None:
    options = Options(model="m", setting="none", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(BenchwrightError) as caught:
        predict(dataset, options, tmp_path / "p.jsonl", "sk-\nsecret", QUIET)
    assert "secret" not in str(caught.value)


# the command -----------------------------------------------------------------------------------------------


def command(dataset: Dataset, double: Any, *more: str) -> Any:
    words = ["predict", dataset.name, "--model", "org/m", "--base-url", double.url, "--samples", "2", *more]
    return CliRunner().invoke(app, words, env={"OPENAI_API_KEY": KEY})


def test_a_dry_run_shows_a_prompt_of_each_repository_and_asks_nothing(dataset: Dataset, chat_double: Any) -> None:
    done = command(dataset, chat_double, "--setting", "oracle", "--dry-run")
    assert done.exit_code == 0, done.output
    assert "--- 31/1" in done.stdout
    assert "--- 32/4" in done.stdout
    assert "--- 31/2" not in done.stdout
    assert "8 requests" in done.stdout
    planned = preview(dataset, Options(model="m", setting="none", base_url=chat_double.url, samples=2), QUIET)
    assert planned["requests"] == 8
    assert planned["prompt_tokens"] >= 8 * 20
    assert chat_double.bodies == []


def test_the_command_writes_the_file_and_says_0_when_it_is_complete(
    dataset: Dataset, chat_double: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = command(dataset, chat_double, "--setting", "none")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "org_m.none.jsonl").is_file()
    assert KEY not in done.output


def test_the_command_says_2_while_samples_are_missing(dataset: Dataset, chat_double: Any, tmp_path: Path) -> None:
    chat_double.trouble = lambda number, _b: chat_double.Trouble(400 if number == 1 else 200)
    done = command(dataset, chat_double, "--setting", "none", "-o", str(tmp_path / "p.jsonl"))
    assert isinstance(done.exception, InfrastructureError)
    assert done.exception.exit_code == 2
    assert "could not be had" in str(done.exception)
    assert "same command" in str(done.exception)


@pytest.mark.parametrize(
    "words",
    [
        ["--samples", "1000000000000"],
        ["--temperature", "inf"],
        ["--temperature", "nan"],
        ["--concurrency", "100000000"],
        ["--price", "nan", "1"],
        ["--price", "-1", "1"],
        ["--price", "1", "inf"],
    ],
    ids=" ".join,
)
def test_numbers_without_measure_are_refused_before_anything_is_asked(
    dataset: Dataset, chat_double: Any, tmp_path: Path, words: list[str]
) -> None:
    command = ["predict", dataset.name, "--model", "m", "--setting", "oracle", "--base-url", chat_double.url]
    done = CliRunner().invoke(app, [*command, "-o", str(tmp_path / "p.jsonl"), *words])
    refused = done.exit_code == 2 or isinstance(done.exception, BenchwrightError)
    assert (refused, chat_double.bodies, list(tmp_path.glob("p.jsonl*"))) == (True, [], [])
