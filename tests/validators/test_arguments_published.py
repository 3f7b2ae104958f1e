"""Published rows against their own arguments: equal writings are accepted, changed values are refused."""

from __future__ import annotations

import ast
import json
import random
import re
import shlex
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchwright.curation.presets import preset_repositories
from benchwright.curation.source import PinnedTree, open_tree
from benchwright.validators.arguments import check_arguments, trace_shell
from benchwright.validators.arguments.programs import Bound, bound_call
from benchwright.validators.checks import check_dataset, selected
from benchwright.validators.controls import Judged, judged

BESIDE = Path(__file__).parents[3]
PUBLISHED = BESIDE / "shared" / "data" / "ml-bench"
MIRRORS = BESIDE / ".mirror"
pytestmark = pytest.mark.skipif(
    not (PUBLISHED.is_dir() and MIRRORS.is_dir()), reason="the published rows or their repositories are not here"
)

ROWS_AT_FAULT = {
    (1, 15), (2, 31), (2, 34), (2, 42), (2, 46), (2, 49), (2, 59), (3, 71), (3, 72), (3, 73), (3, 74), (3, 83),
    (8, 213), (8, 228), (8, 229), (8, 236), (10, 7), (14, 257), (14, 258),
}  # fmt: skip
"""Rows whose output does not do what their arguments say; each was read."""


@cache
def rows() -> list[dict[str, Any]]:
    lines = (PUBLISHED / "rows.jsonl").read_text("utf-8").splitlines()
    return [{**row, "arguments": ast.literal_eval(row["arguments"])} for row in map(json.loads, lines)]


@cache
def tree_of(github_id: int) -> PinnedTree:
    (repository,) = [entry for entry in preset_repositories("ml-bench") if entry.github_id == github_id]
    return open_tree(repository, Path("/nonexistent"), [f"file://{MIRRORS}/{{owner}}+{{name}}/repo"])


def accepted(row: dict[str, Any], code: str, arguments: dict[str, Any], *, example: bool) -> bool:
    verdict = check_arguments(
        code,
        row["type"],
        arguments,
        path=row["path"],
        files=tree_of(row["github_id"]),
        reference=row["output"] if example else None,
    )
    return verdict.accepted


def sound() -> Iterator[dict[str, Any]]:
    for row in rows():
        if (row["github_id"], row["id"]) not in ROWS_AT_FAULT:
            yield row


def test_every_row_meets_its_own_arguments_but_for_those_at_fault() -> None:
    refused = {
        (row["github_id"], row["id"])
        for row in rows()
        if not accepted(row, row["output"], row["arguments"], example=False)
    }
    assert refused == ROWS_AT_FAULT


def test_every_sound_row_meets_its_arguments_with_itself_as_the_example() -> None:
    assert [row["id"] for row in sound() if not accepted(row, row["output"], row["arguments"], example=True)] == []


def changed(value: Any, dice: random.Random) -> Any:
    word = str(value)
    try:
        number = Decimal(word)
    except InvalidOperation:
        if word.startswith("("):
            return re.sub(r"\d+", lambda match: str(int(match[0]) + 1), word, count=1)
        flipped = {"true": "False", "false": "True"}.get(word.lower())
        return flipped or dice.choice([f"{word}_more", f"other_{word}", f"{word}x", "zebra"])
    return str(number + dice.choice([1, 7, Decimal("0.013") if "." in word else 3]))


def test_one_argument_changed_is_refused_every_time() -> None:
    dice = random.Random(5)
    passed = []
    tried = 0
    for row in sound():
        for name, value in row["arguments"].items():
            if value == "":
                continue
            for _ in range(2):
                near = {**row["arguments"], name: changed(value, dice)}
                for example in (False, True):
                    tried += 1
                    if accepted(row, row["output"], near, example=example):
                        passed.append((row["github_id"], row["id"], name, near[name]))
    assert tried > 2000
    assert passed == []


def test_one_value_changed_in_a_command_is_refused_every_time() -> None:
    passed = []
    tried = 0
    for row in sound():
        if row["type"] != "Bash Script":
            continue
        for name, value in row["arguments"].items():
            word = str(value)
            numeric = re.fullmatch(r"-?[\d.]+", word) is not None
            pattern = rf"(?<=[ =]){re.escape(word)}(?=\s|$)" if numeric else re.escape(word)
            code = re.sub(pattern, "41.5" if numeric else f"{word}zz", row["output"]) if word else row["output"]
            if code != row["output"]:
                tried += 1
                if accepted(row, code, row["arguments"], example=True):
                    passed.append((row["github_id"], row["id"], name))
    assert tried > 400
    assert passed == []


# written differently, and equal ----------------------------------------------------------------------------


def groups(bound: Bound) -> list[list[str]]:
    """The call's words by option; a positional is a group with an empty name."""
    takes = bound.program.report.takes_value if bound.program else {}
    found: list[list[str]] = []
    current: list[str] | None = None
    for word in bound.call.argv:
        if re.match(r"--?[A-Za-z_]", word):
            option, sign, value = word.partition("=")
            found.append([option, *([value] if sign else [])])
            current = None if sign or takes.get(option) is False else found[-1]
        elif current is not None:
            current.append(word)
        else:
            found.append(["", word])
    return found


def written(bound: Bound, parts: list[list[str]], *, equals: bool = False, quote: Any = shlex.quote) -> str:
    words = [shlex.join((*bound.call.launcher, bound.call.target))]
    for option, *values in parts:
        flag = bound.program.report.flag(option) if bound.program and option else None
        # absl's booleans take a value only behind =
        switch = (
            bound.program is not None and bound.program.report.kind == "absl" and flag and flag.argument.type == "bool"
        )
        if option and len(values) == 1 and (equals or switch):
            words.append(f"{option}={quote(values[0])}")
        else:
            words += [*([option] if option else []), *map(quote, values)]
    return " ".join(words)


def other_number(word: str) -> str:
    try:
        number = Decimal(word)
    except InvalidOperation:
        return word
    return f"{number:.6e}" if re.fullmatch(r"0\.\d{1,6}", word) else word


def writings(bound: Bound, dice: random.Random) -> Iterator[tuple[str, str]]:
    parts = groups(bound)
    head, plain = written(bound, []), written(bound, parts)
    options = [part for part in parts if part[0]]
    dice.shuffle(options)
    yield "order", written(bound, [part for part in parts if not part[0]] + options)
    yield "quotes", written(bound, parts, quote=lambda word: f'"{word}"')
    yield "numbers", written(bound, [[part[0], *map(other_number, part[1:])] for part in parts])
    yield "continued", plain.replace(" --", " \\\n  --")
    yield "array", f'words=({plain[len(head) :]})\n{head} "${{words[@]}}"'
    yield "function", f'run() {{ {head} "$@"; }}\nrun{plain[len(head) :]}'
    yield "pipe", f"cd . && {plain} 2>&1 | tee log.txt"
    if all(part[0].startswith("--") for part in options):
        yield "equals", written(bound, parts, equals=True)
    lines, named = [], []
    for at, (option, *values) in enumerate(parts):
        lines += [f"V{at}_{n}={shlex.quote(value)}" for n, value in enumerate(values)]
        named.append([option, *(f"V{at}_{n}" for n in range(len(values)))])
    yield "variables", "\n".join([*lines, written(bound, named, quote=lambda name: f'"${{{name}}}"')])
    if bound.program and bound.program.report.kind == "argparse" and bound.program.report.allow_abbrev:
        known = list(bound.program.report.options)
        yield "abbreviation", written(bound, [[shortest(part[0], known), *part[1:]] for part in parts])


def shortest(option: str, known: list[str]) -> str:
    for size in range(4, len(option)):
        if option.startswith("--") and sum(other.startswith(option[:size]) for other in known) == 1:
            return option[:size]
    return option


def test_written_differently_but_equal_is_accepted_every_time() -> None:
    dice = random.Random(11)
    refused = []
    tried = 0
    for row in sound():
        if row["type"] != "Bash Script":
            continue
        folder = row["path"].removeprefix("./").rstrip("/")
        bound = bound_call(trace_shell(row["output"], folder=folder).calls[-1], tree_of(row["github_id"]))
        if bound.program and any(problem.kind == "unknown_option" for problem in bound.binding.problems):
            continue  # what a program does behind an option it does not know depends on how it is written
        for kind, code in writings(bound, dice):
            for example in (False, True):
                tried += 1
                if not accepted(row, code, row["arguments"], example=example):
                    refused.append((row["github_id"], row["id"], kind, code))
    assert tried > 1500
    assert refused == []


# what the audit of the published rows knows, found by the rules -------------------------------------------------


def test_check_finds_what_the_audit_knows_and_no_undefined_flag_more() -> None:
    audit = [json.loads(line) for line in (PUBLISHED / "audit.jsonl").read_text("utf-8").splitlines()]
    pins = preset_repositories("ml-bench")
    rules = selected(["BW102", "BW202", "BW301"], ())
    mirrors = [f"file://{MIRRORS}/{{owner}}+{{name}}/repo"]
    files = {"full": [PUBLISHED / "rows.jsonl"]}
    report = check_dataset(files, pins, rules, clones_dir=Path("/nonexistent"), mirrors=mirrors)
    found: dict[str, set[tuple[int | None, int | None]]] = {"BW102": set(), "BW202": set(), "BW301": set()}
    for item in report.findings:
        found[item.rule.id].add((item.github_id, item.id))
    known = {
        "BW102": {(row["github_id"], row["id"]) for row in audit if not row["type_ok"]},
        "BW202": {(row["github_id"], row["id"]) for row in audit if row["validator_missing_keys"]},
        "BW301": {(row["github_id"], row["id"]) for row in audit if row["undefined_flags"]},
    }
    assert {rule: len(rows) for rule, rows in known.items()} == {"BW102": 1, "BW202": 14, "BW301": 5}
    assert found == known


def test_the_near_misses_of_every_sound_output_are_refused() -> None:
    tried, accepted_all_the_same = 0, []
    for row in sound():
        example = Judged(
            row["output"], row["type"], row["arguments"], row["path"], row["prefix_code"], tree_of(row["github_id"])
        )
        assert example.refusal(row["output"]) == ""
        refused, passed = judged(example)
        tried += len(refused) + len(passed)
        accepted_all_the_same += [(row["github_id"], row["id"], name) for name in passed]
    assert tried > 500
    assert accepted_all_the_same == []
