"""What an annotator would vary is offered with values that the code or another command vouches for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchwright.core.models import Argument, Candidate
from benchwright.curation.slots import slots_of, worth_varying


def test_slots_take_values_from_choices_help_defaults_and_other_commands() -> None:
    arguments = [
        Argument(name="dataset", flag="--dataset", value="cora", type="str", help="one of cora, citeseer, pubmed"),
        Argument(name="size", flag="--size", default="s", type="str", choices=("s", "m")),
        Argument(name="lr", flag="--lr", value=0.1, default=0.01, type="float"),
        Argument(name="log_dir", flag="--log_dir", default="logs", type="str"),
        Argument(name="model", flag="--model", value="gcn", type="str"),
    ]
    others = [[Argument(name="model", flag="--model", value="gat", type="str")]]
    slots = {slot.name: slot for slot in worth_varying(arguments, others)}
    assert slots["dataset"].values == ("citeseer", "pubmed")
    assert (slots["size"].value, slots["size"].values) == ("s", ("m",))
    assert slots["lr"].values[0] == 0.01
    assert slots["model"].values == ("gat",)
    assert "log_dir" not in slots
    assert worth_varying(arguments, others)[0].name == "model"


def test_values_come_from_commands_of_the_same_script_only(make_candidate: Callable[..., Candidate]) -> None:
    other_script = make_candidate(3, entry_point={"kind": "file", "target": "test.py"})
    candidates = [make_candidate(1), make_candidate(2), other_script]
    name = next(slot for slot in slots_of(candidates[0], candidates) if slot.name == "name")
    assert name.value == "net1"
    assert "net2" in name.values
    assert "net3" not in name.values


@pytest.mark.parametrize(
    ("argument", "values"),
    [
        ({"name": "is_training", "type": "int", "default": 1}, (0,)),
        ({"name": "dropout", "type": "float", "default": 0.5}, (0.25, 0.75)),
        ({"name": "layers", "type": "int", "value": 2}, (3, 4)),
        ({"name": "layers", "type": "int", "value": 2, "help": "in [1, 12]"}, (1, 12, 3, 4)),
        ({"name": "path", "type": "str", "value": "<your path>", "default": ""}, ()),
    ],
)
def test_what_is_offered_can_stand_there(argument: dict[str, object], values: tuple[object, ...]) -> None:
    (slot,) = worth_varying([Argument.model_validate(argument)])
    assert slot.values == values


def test_expressions_of_a_snippet_are_not_varied(make_candidate: Callable[..., Candidate]) -> None:
    arguments = [{"name": "data", "value": "x_train", "static": False}, {"name": "heads", "value": 8}]
    snippet = make_candidate(
        1, type="Python Code", entry_point={"kind": "api", "target": "net.Net"}, arguments=arguments
    )
    assert [slot.name for slot in slots_of(snippet)] == ["heads"]
