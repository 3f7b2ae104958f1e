"""Rules about an example's arguments: met by the output, known from the instruction, whole, not contradicted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...curation.source import PinnedTree
from ..arguments import check_arguments
from ..arguments.programs import GENERIC, normal
from ..arguments.slots import tokens
from ..arguments.values import FALSE, TRUE, number, text
from .subject import Context, Finding, Subject

__all__ = ["check_arguments_of", "check_instruction"]

_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty"
)
_WORD_OF = {str(value): word for value, word in enumerate(_NUMBER_WORDS.split())}
_WORD_OF |= {"100": "(?:a|one) hundred", "1000": "(?:a|one) thousand"}
_WRITTEN_NUMBER = re.compile(
    r"(?<![\w.])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+)?(?:(?!\w)|(?=k\b))(?:\s?(?:thousand|million|k)\b)?"
)
_LINK = (
    r"(?:\s+(?:size|value|count|number|parameter|argument|limit|period))?[\"'`]?\s*"
    r"(?:(?:of|to|at|is|as|be|=|:|set to|equal to)\s+)+(?:(?:exactly|about)\s+)?[\"'`]?"
)
_SCALE = {"thousand": 1000, "k": 1000, "million": 1_000_000}
_RATES = frozenset({"lr", "rate", "learning", "dropout", "decay", "momentum"})


def check_arguments_of(subject: Subject, tree: PinnedTree | None) -> Iterator[Finding]:
    """The output against the arguments: typed, and letter by letter as ML-Bench does it."""
    arguments = subject.arguments
    if arguments is None:
        shown = subject.text("arguments")[:80]
        yield subject.finding("BW003", f"arguments: {shown!r}")
        return
    output = subject.text("output")
    lowered = output.lower()
    for name, wanted in arguments.items():
        if str(wanted).lower() not in lowered:
            yield subject.finding("BW202", f"{name}: {text(wanted)!r} does not stand in the output as text")
        if isinstance(wanted, str) and not wanted.strip():
            yield subject.finding("BW206", f"{name} is empty")
    verdict = check_arguments(
        output,
        "Python Code" if subject.is_python else "Bash Script",
        arguments,
        path=subject.text("path"),
        prefix_code=subject.text("prefix_code"),
        files=tree,
    )
    for problem in verdict.problems:
        if problem.argument is not None or not subject.is_python:  # code that does not parse has its own rule
            yield subject.finding("BW201", problem.message)


def check_instruction(subject: Subject, context: Context) -> Iterator[Finding]:
    """The arguments against the instruction."""
    arguments, instruction = subject.arguments, subject.text("instruction")
    if not arguments or not instruction.strip():
        return
    numbers = _numbers(instruction)
    for name, wanted in arguments.items():
        if text(wanted).strip() == "" or _is_switch(wanted):
            continue
        cut = _cut_off(name, wanted, instruction)
        if cut:
            yield subject.finding("BW205", f"{name}: {text(wanted)!r}, {cut}")
        beside = _beside(name, wanted, instruction, arguments)
        if beside is not None:
            yield subject.finding("BW204", f"{name}: {text(wanted)!r}, and the instruction says {beside}")
        elif not cut and not _stands_in(wanted, instruction, numbers):
            yield subject.finding("BW203", f"{name}: {text(wanted)!r} does not stand in the instruction")


def _is_switch(wanted: Any) -> bool:
    return isinstance(wanted, bool) or (number(wanted) is None and text(wanted).strip().lower() in TRUE | FALSE)


def _numbers(instruction: str) -> list[Any]:
    return [value for match in _WRITTEN_NUMBER.finditer(instruction) if (value := _value(match[0])) is not None]


def _value(written: str) -> Any:
    parts = re.match(r"([-+]?[\d,.eE+-]*\d)\s?([a-z]*)", written)
    if parts is None:
        return None
    value = number(parts[1].replace(",", ""))
    return value * _SCALE.get(parts[2], 1) if value is not None else None


def _stands_in(wanted: Any, instruction: str, numbers: list[Any]) -> bool:
    """Whether a reader finds the value: as it is, as a number, as a number's word, as words, as a file's name."""
    whole, lowered = text(wanted).strip(), instruction.lower()
    if re.search(rf"(?<![\w.]){re.escape(whole.lower())}(?![\w])", lowered):
        return True
    value = number(wanted)
    if value is not None:
        word = _WORD_OF.get(whole)
        return (
            value in numbers
            or (word is not None and re.search(rf"\b{word}\b", lowered) is not None)
            or (re.search(rf"(?<![\d.]){re.escape(whole)}(?!\d|\.\d)", lowered) is not None)
        )
    if isinstance(wanted, (list, tuple)):
        return all(_stands_in(item, instruction, numbers) for item in wanted)
    if len(whole) > 2 and whole.lower() in lowered:
        return True
    squeezed = re.sub(r"[\W_]+", "", whole.lower())
    if len(squeezed) > 2 and squeezed in re.sub(r"[\W_]+", "", lowered):
        return True
    words = tokens(whole.rpartition("/")[2].rpartition(".")[0] or whole)
    return bool(words) and all(word in tokens(instruction) for word in words)


def _cut_off(name: str, wanted: Any, instruction: str) -> str | None:
    """Why a value looks cut off at a point; None where it does not."""
    value, whole = number(wanted), text(wanted).strip()
    if value is None:
        return None
    glued = re.search(rf"(?<![\w.]){re.escape(whole)}\.(?=[A-Z][a-z])", instruction)
    if glued and value == 0:
        return f"and the instruction breaks off at {instruction[glued.start() : glued.end() + 12]!r}"
    longer = re.search(rf"(?<![\w.,-]){re.escape(whole)}\.\d+", instruction)
    alone = re.search(rf"(?<![\w.,-]){re.escape(whole)}(?!\d|[.,]\d)", instruction)
    if longer and not alone:
        return f"and the instruction says {longer[0]}"
    if value == 0 and set(tokens(name)) & _RATES and whole == "0":
        return "which no run can learn from" if set(tokens(name)) & {"lr", "learning"} else None
    return None


def _beside(name: str, wanted: Any, instruction: str, arguments: dict[str, Any]) -> str | None:
    """Another number that the instruction gives the argument by its name; None where it gives none."""
    value = number(wanted)
    words = _name_words(name)
    if value is None or not words or GENERIC.fullmatch(normal(name)) or len("".join(words)) < 3:
        return None
    plain = re.sub(r"(?<=[a-z])-(?=[a-z])", "", instruction.lower())  # warm-up, warmup
    said = _said(plain, words)
    if not said and not _stands_in(wanted, instruction, _numbers(instruction)):
        said = _said(plain, words, r"\s*#?\s*")  # GPU 7, layer #3
    others = {word for other in arguments if other != name for word in _name_words(other)}
    telling = [word for word in words if len(word) > 4 and word not in others]
    if not said and telling and not _stands_in(wanted, instruction, _numbers(instruction)):
        said = _said(plain, telling[:1])
    if not said or any(given == value for given, _ in said):
        return None
    return said[0][1]


def _name_words(name: str) -> list[str]:
    return [word for word in re.split(r"[_\W]+", normal(name).lower()) if word not in ("num", "number", "n", "of", "")]


def _said(instruction: str, words: list[str], link: str = _LINK) -> list[tuple[Any, str]]:
    """The numbers that follow these words: value and text."""
    named = r"[\s_-]*".join(re.escape(word.rstrip("s")) + r"[a-z]{0,3}" for word in words)
    found = re.finditer(rf"\b{named}{link}({_WRITTEN_NUMBER.pattern})", instruction)
    return [(value, match[1]) for match in found if (value := _value(match[1])) is not None]
