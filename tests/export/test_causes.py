from __future__ import annotations

from pathlib import Path

import pytest

from benchwright.core.models import Outcome, OutcomeKind, Output
from benchwright.export.evaluation.causes import CLASSES, CRASHES, cause_of_arguments, cause_of_crash, cause_of_text
from benchwright.validators.arguments import check_arguments


def failed(text: str, **fields: object) -> Outcome:
    return Outcome(outcome=OutcomeKind.FAILED, exit_code=1, output=Output(head=text, bytes=len(text)), **fields)


TRACE = 'Traceback (most recent call last):\n  File "brew.py", line 3, in <module>\n    pour()\n'
SAID = {
    "usage: brew.py [-h] [--heat HEAT]\nbrew.py: error: unrecognized arguments: --temp 9\n": "unknown_flag",
    "Usage: brew [OPTIONS]\nTry 'brew --help' for help.\n\nError: No such option: --temp\n": "unknown_flag",
    "FATAL Flags parsing error:\n  Unknown command line flag 'temp'. Did you mean: heat ?\n": "unknown_flag",
    "ERROR: Could not consume arg: --temp\nUsage: brew.py\n": "unknown_flag",
    "ls: unrecognized option '--temp'\nTry 'ls --help' for more information.\n": "unknown_flag",
    "python: can't open file '/work/brwe.py': [Errno 2] No such file or directory\n": "no_such_script",
    "bash: scripts/brew.sh: No such file or directory\n": "no_such_script",
    "/usr/bin/python3: No module named brewery.main\n": "no_such_module",
    TRACE + "ModuleNotFoundError: No module named 'brewery'\n": "no_such_module",
    TRACE + "ImportError: cannot import name 'Pot' from 'kettle' (/work/kettle.py)\n": "no_such_name",
    TRACE + "AttributeError: module 'kettle' has no attribute 'whistle'\n": "no_such_name",
    "bash: line 1: brew: command not found\n": "no_such_command",
    "brew.py: error: the following arguments are required: --water\n": "required_argument",
    "Error: Missing option '--water'.\n": "required_argument",
    TRACE + "TypeError: pour() missing 1 required positional argument: 'cup'\n": "required_argument",
    TRACE + "FileNotFoundError: [Errno 2] No such file or directory: 'beans.csv'\n": "no_such_file",
    "cat: beans.csv: No such file or directory\n": "no_such_file",
    TRACE + "NameError: name 'cup' is not defined\n": "undefined_name",
    TRACE + "TypeError: pour() got an unexpected keyword argument 'speed'\n": "unknown_keyword",
    "brew.py: error: argument --heat: invalid choice: 'mild' (choose from 'low', 'high')\n": "refused_value",
    "Error: Invalid value for '--heat': 'mild' is not an int.\n": "refused_value",
    TRACE + "RuntimeError: shape '[2, 3]' is invalid for input of size 5\n": "exception",
    TRACE + "torch.OutOfMemoryError: tried to allocate\n": "exception",
    "  File \"brew.py\", line 1\n    pour(\n        ^\nSyntaxError: '(' was never closed\n": "python_syntax",
    "/tmp/script.sh: line 2: syntax error near unexpected token `fi'\n": "shell_syntax",
    "brewing\nlukewarm\n": "exit_code",
}


@pytest.mark.parametrize("text", SAID, ids=lambda text: text.strip().split("\n")[-1][:60])
def test_the_last_words_of_a_failed_program_name_the_rule(text):
    assert cause_of_crash(failed(text)).rule == SAID[text]


def test_every_rule_for_a_crash_is_shown_by_an_example():
    assert {rule for _, rule, _ in CRASHES} | {"exit_code"} == set(SAID.values())
    assert {name for name, _, _ in CRASHES} <= set(CLASSES)


def test_the_evaluators_page_names_every_class_and_every_rule_for_a_crash():
    page = (Path(__file__).parents[2] / "docs" / "evaluator.md").read_text("utf-8")
    assert [name for name in (*CLASSES, *(rule for _, rule, _ in CRASHES)) if f"`{name}`" not in page] == []


def test_of_several_errors_the_last_one_decides():
    text = (
        "cat: old.csv: No such file or directory\n"
        + TRACE
        + "KeyError: 'cup'\n\nDuring handling of the above exception, another exception occurred:\n\n"
        + TRACE
        + "ModuleNotFoundError: No module named 'brewery'\n"
    )
    cause = cause_of_crash(failed(text))
    assert (cause.error_class, cause.words) == ("hallucination", "ModuleNotFoundError: No module named 'brewery'")


def test_a_limit_is_its_own_class_and_the_machines_failure_is_none():
    limit = cause_of_crash(Outcome(outcome=OutcomeKind.TIMED_OUT, detail="after 5 s"))
    assert (limit.error_class, limit.rule) == ("limit", "timed_out")
    for kind in (OutcomeKind.PASSED, OutcomeKind.INFRASTRUCTURE, OutcomeKind.NOT_EXECUTED):
        assert cause_of_crash(Outcome(outcome=kind)) is None


def test_no_answer_is_giving_up_and_the_other_language_a_hallucination():
    assert cause_of_text("missing", "", "").error_class == "gave_up"
    assert cause_of_text("no_code", "refusal", "the answer holds no code").rule == "refusal"
    assert cause_of_text("wrong_type", "whole_answer", "").rule == "other_language"
    assert cause_of_text("not_executed", "whole_answer", "") is None


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("python brew.py --heat 9", "argument_left_out"),
        ("python brew.py --heat 9 --water 4", "other_value"),
        ("python pour.py --heat 9 --water 3", "other_program"),
    ],
)
def test_refused_arguments_are_left_out_or_wrong_or_of_another_program(code, rule):
    wanted = {"heat": "9", "water": "3"}
    verdict = check_arguments(code, "Bash Script", wanted, reference="python brew.py --heat 9 --water 3")
    assert cause_of_arguments(code, "Bash Script", verdict.problems).rule == rule


def test_python_that_cannot_be_parsed_is_a_syntax_error_before_it_is_a_wrong_value():
    verdict = check_arguments("pour(3", "Python Code", {"cups": 4})
    cause = cause_of_arguments("pour(3", "Python Code", verdict.problems)
    assert (cause.error_class, cause.rule) == ("syntax", "python_syntax")
