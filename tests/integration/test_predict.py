"""Asking as an evaluator does it: the command in its own process, killed in the middle, against a bad endpoint."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchwright.export.evaluation.predict import declared_by

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

KEY = "sk-not-to-be-seen-0123456789"
EXAMPLES, SAMPLES = 260, 5
Slot = tuple[int, int, int]


class Asker:
    """The command, its files, and all that it printed."""

    def __init__(self, root: Path, url: str) -> None:
        self.root, self.url = root, url
        self.predictions = root / "out" / "predictions.jsonl"
        self.printed = b""

    def start(self) -> subprocess.Popen[bytes]:
        command = ["benchwright", "predict", str(self.root / "rows.jsonl"), "--model", "double", "--setting", "none"]
        command += ["--base-url", self.url, "--samples", str(SAMPLES), "--concurrency", "24"]
        command += ["-o", str(self.predictions)]
        env = {**os.environ, "OPENAI_API_KEY": KEY, "NO_PROXY": "127.0.0.1"}
        command[:1] = [sys.executable, "-P", "-c", "from benchwright.core.cli import main; main()"]
        with open(self.root / "printed", "ab") as printed:
            return subprocess.Popen(command, env=env, stdout=printed, stderr=printed)

    def stored(self) -> dict[Slot, str]:
        """What the journal holds; a torn line is none."""
        found = {}
        journal = self.predictions.with_name("predictions.jsonl.journal")
        for line in journal.read_bytes().splitlines()[1:] if journal.exists() else []:
            try:
                fields = json.loads(line)
            except ValueError:
                continue
            slot = (fields["github_id"], fields["id"], fields["sample"])
            assert slot not in found, "one sample was stored twice"
            found[slot] = fields["content"]
        return found

    def lines(self) -> int:
        journal = self.predictions.with_name("predictions.jsonl.journal")
        return journal.read_bytes().count(b"\n") if journal.exists() else 0

    def kill_after(self, count: int) -> dict[Slot, str]:
        """Run until the journal holds ``count`` samples, kill -9, and give what it holds."""
        process = self.start()
        while self.lines() < count:
            assert process.poll() is None, (self.root / "printed").read_text()[-3000:]
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        return self.stored()

    def finish(self) -> int:
        return self.start().wait(timeout=200)


@pytest.fixture
def asker(tmp_path: Path, chat_double: Any) -> Asker:
    rows = [
        {
            "github_id": 1 + number % 14,
            "github": f"https://example.org/tools/tool{number % 14}",
            "repo_id": number,
            "path": "./",
            "arguments": "{}",
            "instruction": f"Do what is asked for in question <{number}>.",
            "oracle": "Run it.",
            "type": "Bash Script",
            "id": number,
            "prefix_code": "",
            "output": "true",
        }
        for number in range(EXAMPLES)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Asker(tmp_path, chat_double.url)


def misbehave(double: Any) -> None:
    """Slow answers, and every kind of trouble in about one request of six."""
    chance = random.Random(10)
    kinds = [
        double.Trouble(429, headers={"Retry-After": "0"}),
        double.Trouble(429),
        double.Trouble(500, body=b"<html>broken</html>"),
        double.Trouble(503, headers={"Retry-After": "0.2"}),
        double.Trouble(drop=True),
        double.Trouble(cut=True),
        double.Trouble(body=b'{"choices": [{"message": {"cont'),
        double.Trouble(body=b'{"choices": [{"message": null}]}'),
    ]

    def trouble(number: int, _body: dict[str, Any]) -> Any:
        if number == 200:
            return double.Trouble(429, headers={"Retry-After": "1"}, body=f"key {KEY}".encode())
        with double.lock:
            lot, delay = chance.random(), chance.uniform(0.01, 0.08)
        return chance.choice(kinds) if lot < 0.16 else double.Trouble(delay_s=delay)

    double.trouble = trouble


def test_260_examples_of_5_samples_killed_twice_are_complete_and_no_stored_sample_is_asked_for_again(
    asker: Asker, chat_double: Any
) -> None:
    misbehave(chat_double)
    before: dict[Slot, str] = {}
    for count in (300, 800):
        answered = Counter(chat_double.answered)
        after = asker.kill_after(count)
        assert before.items() <= after.items(), "a stored answer was lost or changed"
        allow_only_missing(before, chat_double.answered - answered)
        assert sum(chat_double.answered.values()) - len(after) <= 2 * 24, "more was lost than was in flight"
        assert not asker.predictions.exists()
        before = after
    answered, asked = Counter(chat_double.answered), Counter(chat_double.asked)
    assert asker.finish() == 0, (asker.root / "printed").read_text()[-3000:]
    last = asker.stored()
    assert before.items() <= last.items()
    assert len(last) == EXAMPLES * SAMPLES
    assert len(set(last.values())) == EXAMPLES * SAMPLES, "an answer stands for two samples"
    allow_only_missing(before, chat_double.answered - answered, exactly=True)
    have = Counter(number for _repository, number, _sample in before)
    whole = {f"<{number}>" for number, count in have.items() if count == SAMPLES}
    again = [question for question in chat_double.asked - asked if any(name in question for name in whole)]
    assert len(whole) > 100
    assert again == [], "a request for an example that was complete"

    lines = [json.loads(line) for line in asker.predictions.read_text().splitlines()]
    assert [line["output"] for line in lines] == [
        [last[line["github_id"], line["id"], sample] for sample in range(SAMPLES)] for line in lines
    ]
    assert len(lines) == EXAMPLES
    declared = declared_by(asker.predictions)
    assert declared is not None
    assert (declared.samples, declared.complete, declared.unchanged) == (SAMPLES, True, True)

    requests = len(chat_double.bodies)
    assert asker.finish() == 0
    assert len(chat_double.bodies) == requests, "a complete file was asked for again"
    files = [path for path in asker.root.rglob("*") if path.is_file()]
    assert not any(KEY.encode() in path.read_bytes() for path in files), "the key was written down"
    assert chat_double.keys == {f"Bearer {KEY}"}


def test_an_interrupt_ends_the_command_with_130_and_the_same_command_goes_on(asker: Asker, chat_double: Any) -> None:
    chat_double.trouble = lambda _number, _body: chat_double.Trouble(delay_s=0.02)
    process = asker.start()
    while asker.lines() < 50:
        assert process.poll() is None, (asker.root / "printed").read_text()[-3000:]
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    printed = (asker.root / "printed").read_text()
    assert "the same command goes on" in printed
    assert "Traceback" not in printed
    stored = asker.stored()
    assert asker.finish() == 0
    assert stored.items() <= asker.stored().items()
    assert len(asker.stored()) == EXAMPLES * SAMPLES


def allow_only_missing(stored: dict[Slot, str], answered: Counter[str], *, exactly: bool = False) -> None:
    """Of each example the server may have answered only as many samples as were not stored."""
    have = Counter(number for _repository, number, _sample in stored)
    for number in range(EXAMPLES):
        asked = sum(count for question, count in answered.items() if f"<{number}>" in question)
        assert asked <= SAMPLES - have[number]
        if exactly:
            assert asked == SAMPLES - have[number]
