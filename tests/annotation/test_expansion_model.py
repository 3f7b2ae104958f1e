"""A model writes instructions: taken only if every value is stated and no code is given away."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchwright.annotation.expansion import writing
from benchwright.annotation.expansion.expanding import expand
from benchwright.annotation.expansion.writing import Writer, leak_of
from benchwright.core.cli import app
from benchwright.core.errors import BenchwrightError, InfrastructureError
from benchwright.core.models import Example
from benchwright.core.tasks import load_tasks
from benchwright.core.workspace import Workspace

KEY = "sk-of-nobody-at-all"


def settings_of(body: dict[str, Any]) -> dict[str, Any]:
    asked = body["messages"][-1]["content"]
    found = json.loads(asked.split("Settings: ", 1)[1].split("\n", 1)[0])
    assert isinstance(found, dict)
    return found


def told(body: dict[str, Any]) -> str:
    """What a good model says: the number of the request keeps two answers apart."""
    return "Our tearoom wants this: " + "; ".join(f"the {name} is {value}" for name, value in settings_of(body).items())


Says = Callable[[Callable[[int, dict[str, Any]], str]], None]


@pytest.fixture
def says(chat_double: Any) -> Says:
    """Let the double answer with what a function of the request's number and body gives."""

    def let(answer: Callable[[int, dict[str, Any]], str]) -> None:
        chat_double.trouble = lambda number, body: chat_double.Trouble(
            message={"role": "assistant", "content": answer(number, body)}
        )

    return let


def writer(chat_double: Any) -> Writer:
    return Writer("scribe", chat_double.url, KEY)


def made(bench: Workspace) -> list[Example]:
    return [e for item in load_tasks(bench) for e in item.examples if e.machine_written]


def test_a_models_instructions_are_taken_and_marked(bench: Workspace, chat_double: Any, says: Says) -> None:
    says(lambda _number, body: told(body))
    done = expand(bench, ["tearoom/brew"], 6, writer=writer(chat_double))
    assert done.added == {"tearoom/brew": 6}
    assert all(example.instruction.startswith("Our tearoom wants this") for example in made(bench))
    assert all(str(value) in e.instruction for e in made(bench) for value in e.arguments.values())
    assert {body["model"] for body in chat_double.bodies} == {"scribe"}
    assert chat_double.keys == {f"Bearer {KEY}"}
    asked = len(chat_double.bodies)
    assert expand(bench, ["tearoom/brew"], 6, writer=writer(chat_double)).added == {"tearoom/brew": 0}
    assert len(chat_double.bodies) == asked


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda body: told(body).rpartition(";")[0],  # the last value is left out
        lambda body: told(body) + " Use --lr for it.",
        lambda body: told(body) + " Start brew.py for it.",
        lambda body: told(body) + "\n```bash\nbrew\n```",
        lambda body: told(body) + " with lr=0.3",
        lambda body: "",
        lambda body: told(body) * 60,
    ],
)
def test_answers_that_leave_out_a_value_or_give_code_away_are_not_taken(
    bench: Workspace, chat_double: Any, says: Says, spoilt: Callable[[dict[str, Any]], str]
) -> None:
    says(lambda number, body: spoilt(body) if number % 2 else told(body))
    done = expand(bench, ["tearoom/brew"], 4, writer=writer(chat_double))
    assert done.added == {"tearoom/brew": 4}
    assert sum(done.refused.values()) > 0
    for example in made(bench):
        assert not leak_of(example.instruction, example)
        assert all(str(value) in example.instruction for value in example.arguments.values())


def test_values_that_look_like_code_may_stand_in_the_instruction() -> None:
    example = Example(
        id=1,
        type="Bash Script",
        instruction="",
        arguments={"script": "brew.py", "mode": "-u", "shift": -0.5},
        output="python -u brew.py --shift -0.5",
    )
    assert not leak_of("Take brew.py in mode -u with a shift of -0.5, a state-of-the-art choice.", example)
    assert leak_of("Take other.py in mode -u with a shift of -0.5.", example)
    assert leak_of("Run this: python -u brew.py --shift -0.5", example)


def test_a_busy_endpoint_is_asked_again(bench: Workspace, chat_double: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "backoff", lambda _attempt: 0.01)

    def trouble(number: int, body: dict[str, Any]) -> Any:
        if number in (1, 3):
            return chat_double.Trouble(503)
        return chat_double.Trouble(message={"role": "assistant", "content": told(body)})

    chat_double.trouble = trouble
    assert expand(bench, ["tearoom/brew"], 4, writer=writer(chat_double)).added == {"tearoom/brew": 4}


def test_an_endpoint_that_stays_down_or_refuses_the_key_ends_the_run(
    bench: Workspace, chat_double: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "backoff", lambda _attempt: 0.001)
    chat_double.trouble = lambda _number, _body: chat_double.Trouble(503)
    with pytest.raises(InfrastructureError):
        expand(bench, [], 3, writer=writer(chat_double))
    chat_double.trouble = lambda _number, _body: chat_double.Trouble(401)
    with pytest.raises(BenchwrightError, match="OPENAI_API_KEY"):
        expand(bench, [], 3, writer=writer(chat_double))
    assert not made(bench)


def test_the_command_takes_model_and_endpoint(
    bench: Workspace, chat_double: Any, says: Says, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    says(lambda _number, body: told(body))
    words = ["tasks", "expand", "tearoom/brew", "--count", "2", "--model", "scribe", "--base-url", chat_double.url]
    result = CliRunner().invoke(app, ["--workspace", str(bench.root), *words])
    assert result.exit_code == 0, result.output
    assert len(made(bench)) == 2
    assert not [path for path in Path(bench.root).rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
