"""The form: what the toolkit reads of it is there, and fields survive the way to Label Studio and back."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from benchwright.annotation.arguments import parse_arguments
from benchwright.annotation.interface import (
    check_configuration,
    configuration,
    fields_of,
    guidelines_html,
    live_item,
    opening,
    prefill,
    result_for,
    task_data,
)
from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Candidate, Outcome
from benchwright.curation.slots import slots_of

MakeCandidate = Callable[..., Candidate]


def test_our_configuration_has_every_control_and_the_data_every_variable(make_candidate: MakeCandidate) -> None:
    check_configuration(configuration(), "interface.xml")
    variables = set(re.findall(r'"\$(\w+)"', configuration()))
    data = task_data(make_candidate())
    assert variables <= set(data)
    assert not [name for name in data if name.startswith("out_")]


def test_label_studios_own_library_accepts_the_configuration_and_the_prefilled_answer(
    make_candidate: MakeCandidate,
) -> None:
    from label_studio_sdk.label_interface import LabelInterface

    interface = LabelInterface(configuration())
    interface.validate()
    prediction = {"result": opening(result_for(prefill(make_candidate())))}
    assert interface.validate_prediction(prediction) in (True, [])


def test_a_form_opens_with_every_text_and_without_what_an_earlier_run_showed() -> None:
    stored = [*result_for({"script": "true"}), live_item("PASSED"), {"from_name": "out_colour", "type": "choices"}]
    items = {item["from_name"]: item["value"] for item in opening([{**item, "origin": "manual"} for item in stored])}
    assert set(items) == {"out_script", "out_instruction", "out_arguments", "out_prefix_code", "out_reason", "out_live"}
    assert items["out_script"] == {"text": ["true"]}
    assert items["out_reason"] == {"text": [""]}
    assert "Not run yet" in items["out_live"]["text"][0]


def test_what_execution_while_typing_showed_is_never_read_back() -> None:
    assert fields_of([live_item("PASSED, exit status 0")]) == {}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("out_script", "script"), "no TextArea out_script"),
        (('<Choice value="reject"', '<Choice value="no"'), "out_verdict lacks the choice reject"),
        (('name="code"', 'name="listing"'), "refers to code, which is not there"),
        (("</View>", ""), "no XML"),
        (('"$place_html"', '"$readme_html"'), "shows $readme_html, which our tasks do not have"),
    ],
)
def test_a_configuration_that_lost_a_control_is_refused(change: tuple[str, str], said: str) -> None:
    with pytest.raises(BenchwrightError, match=re.escape(said)):
        check_configuration(configuration().replace(*change), "project 3")


def test_fields_come_back_byte_for_byte() -> None:
    fields: dict[str, Any] = {
        "scope": "section",
        "type": "Python Code",
        "instruction": "Train it.\n",
        "arguments": 'lr=0.1\nname="a b "',
        "script": "if x:\n\tprint('<b>&amp;\u4f60\u597d\"')  \r\n",
        "prefix_code": "import os\n",
        "flags": ["needs_gpu", "unsafe"],
        "verdict": "fix",
        "reason": "a > b",
    }
    assert fields_of(result_for(fields)) == fields


def test_empty_fields_give_no_item_and_unknown_fields_an_error() -> None:
    assert result_for({"script": "", "verdict": None, "flags": [], "arguments": {}}) == []
    with pytest.raises(BenchwrightError, match="no field colour"):
        result_for({"colour": "red"})


def test_what_is_filled_in_is_the_candidates_proposal(make_candidate: MakeCandidate) -> None:
    fields = fields_of(result_for(prefill(make_candidate(5))))
    assert fields["script"] == "python train.py --lr 0.5 --name net5"
    assert parse_arguments(fields["arguments"]) == {"lr": 0.5, "name": "net5"}
    assert (fields["scope"], fields["type"]) == ("section", "Bash Script")
    assert "verdict" not in fields
    assert "instruction" not in fields


def test_the_digest_of_what_is_shown_changes_exactly_with_it(make_candidate: MakeCandidate) -> None:
    candidate = make_candidate()
    shown = task_data(candidate)["shown"]
    assert task_data(candidate)["shown"] == shown
    ran = Outcome.model_validate({"outcome": "failed", "exit_code": 3})
    assert task_data(candidate, ran)["shown"] != shown
    assert "exit status 3" in task_data(candidate, ran)["suggestion_html"]


def test_arguments_show_type_default_and_choices(make_candidate: MakeCandidate) -> None:
    html = task_data(make_candidate())["arguments_html"]
    assert "float" in html
    assert ">a, b<" in html
    assert ">3<" in html


def test_values_worth_trying_are_shown_and_count_as_shown(make_candidate: MakeCandidate) -> None:
    candidate, other = make_candidate(1), make_candidate(2)
    data = task_data(candidate, slots=slots_of(candidate, [candidate, other]))
    assert "net2, a, b" in data["arguments_html"]
    assert data["shown"] != task_data(candidate)["shown"]


def test_the_guidelines_name_every_verdict_and_field() -> None:
    html = guidelines_html()
    for word in ("accept", "fix", "reject", "Oracle", "Instruction", "Arguments", "Script"):
        assert word in html
