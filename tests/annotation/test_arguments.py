"""Argument values as text: what is written is read back, and nothing is evaluated."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.annotation.arguments import parse_arguments, write_arguments
from benchwright.core.errors import BenchwrightError

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = SCALARS | st.lists(SCALARS, max_size=3)


@given(st.dictionaries(st.from_regex(r"[A-Za-z_][A-Za-z0-9_.]*", fullmatch=True), VALUES, max_size=5))
def test_arguments_come_back_with_their_names_values_and_types(arguments: dict[str, Any]) -> None:
    back = parse_arguments(write_arguments(arguments))
    assert back == arguments
    assert [type(value) for value in back.values()] == [type(value) for value in arguments.values()]


@given(st.dictionaries(st.text(min_size=1), st.text(), max_size=3))
def test_names_that_no_line_can_hold_are_written_as_json(arguments: dict[str, str]) -> None:
    assert parse_arguments(write_arguments(arguments)) == arguments


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("", {}),
        ("lr=0.001\nname=v 2", {"lr": 0.001, "name": "v 2"}),
        ("--lr = 1e-4\n\n--cuda=true", {"lr": 1e-4, "cuda": True}),
        ("path=a=b", {"path": "a=b"}),
        ("flag=True\nnothing=None\nwords='a b'", {"flag": True, "nothing": None, "words": "a b"}),
        ("sizes=[1, 2]\nshape=(3, 4)", {"sizes": [1, 2], "shape": (3, 4)}),
        ('{"lr": 0.1}', {"lr": 0.1}),
        ("{'lr': 0.1, 'cuda': False}", {"lr": 0.1, "cuda": False}),
        ("x=nan\ny=Infinity", {"x": "nan", "y": "Infinity"}),
        ("x=__import__('os').getcwd()", {"x": "__import__('os').getcwd()"}),
        ("x=1_000\nz=007", {"x": 1000, "z": "007"}),
    ],
)
def test_what_a_person_types_is_read(typed: str, read: dict[str, Any]) -> None:
    assert parse_arguments(typed) == read


@pytest.mark.parametrize("typed", ["lr 0.1", "=3", "lr=1\nlr=2", "{'a': open('x')}", "{1: 2}", "{", "[1]"])
def test_what_cannot_be_read_is_said(typed: str) -> None:
    with pytest.raises(BenchwrightError):
        parse_arguments(typed)


DEEP = {"json": '{"a":' * 100_000 + "1" + "}" * 100_000, "moderate": '{"a":' * 300 + "1" + "}" * 300}
UNFIT = {"infinite": "1e999", "surrogate": '"\\ud800"', "deep": "[" * 300 + "]" * 300, "endless": "[" * 100_000}


@pytest.mark.parametrize("typed", DEEP.values(), ids=DEEP)
def test_a_dictionary_nested_beyond_reason_is_refused_and_stops_nothing(typed: str) -> None:
    with pytest.raises(BenchwrightError):
        parse_arguments(typed)


@pytest.mark.parametrize("value", UNFIT.values(), ids=UNFIT)
def test_a_value_that_no_file_of_a_task_can_hold_stays_the_text_it_is(value: str) -> None:
    assert parse_arguments(f"a={value}") == {"a": value}
