"""Rules over many examples: repeated ids, duplicates, near-duplicates, one task in two splits."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from .subject import Finding, Subject

__all__ = ["check_across", "is_training"]

NEAR = 0.85
"""Share of common word pairs from which two instructions count as nearly the same."""
MOST_COMPARED = 400
"""Examples of one output that are compared with one another."""


def check_across(subjects: Sequence[Subject]) -> Iterator[Finding]:
    """Every rule over all examples; a split that is a part of another repeats its examples and no more."""
    yield from _ids(subjects)
    once = {(*subject.key, _same(subject)): subject for subject in reversed(subjects)}
    distinct = list(once.values())[::-1]
    yield from _duplicates(distinct)
    yield from _near(distinct)
    yield from _answers(distinct)
    yield from _overlap(subjects)


def _same(subject: Subject) -> tuple[str, ...]:
    return tuple(
        subject.text(column) for column in ("path", "instruction", "arguments", "type", "prefix_code", "output")
    )


def _ids(subjects: Sequence[Subject]) -> Iterator[Finding]:
    seen: dict[tuple[str, int, int], str] = {}
    contents: dict[tuple[int, int], Subject] = {}
    for subject in subjects:
        key = (subject.split, *subject.key)
        if key in seen:
            yield subject.finding("BW002", f"{subject.key[0]}/{subject.key[1]} stands at {seen[key]} already")
            continue
        seen[key] = subject.where
        first = contents.setdefault(subject.key, subject)
        if first.split != subject.split and _same(first) != _same(subject):
            yield subject.finding("BW002", f"{subject.key[0]}/{subject.key[1]} is another example in {first.split}")


def _duplicates(subjects: Sequence[Subject]) -> Iterator[Finding]:
    seen: dict[tuple[object, ...], Subject] = {}
    for subject in subjects:
        key = (subject.key[0], _same(subject))
        first = seen.setdefault(key, subject)
        if first is not subject and first.key != subject.key:
            yield subject.finding("BW401", f"it is the same as {first.key[0]}/{first.key[1]}")


def _plain(code: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"\\\n", " ", code)).strip()


def _pairs(instruction: str) -> frozenset[tuple[str, str]]:
    words = re.findall(r"[a-z0-9_.]+", instruction.lower())
    return frozenset(pairwise(words))


def _near(subjects: Sequence[Subject]) -> Iterator[Finding]:
    groups: dict[tuple[int, str], list[Subject]] = defaultdict(list)
    for subject in subjects:
        groups[(subject.key[0], _plain(subject.text("output")))].append(subject)
    for group in groups.values():
        compared = [(subject, _pairs(subject.text("instruction"))) for subject in group[:MOST_COMPARED]]
        for at, (subject, pairs) in enumerate(compared):
            for other, others in compared[:at]:
                if _same(subject) == _same(other) or subject.key == other.key:
                    continue
                shared = len(pairs & others) / max(1, len(pairs | others))
                if shared >= NEAR:
                    message = (
                        f"the instruction is {shared:.0%} that of {other.key[0]}/{other.key[1]}, the output the same"
                    )
                    yield subject.finding("BW402", message)
                    break


def _answers(subjects: Sequence[Subject]) -> Iterator[Finding]:
    seen: dict[tuple[object, ...], Subject] = {}
    for subject in subjects:
        asked = " ".join(subject.text("instruction").split()).lower()
        if not asked:
            continue
        first = seen.setdefault((subject.task, asked), subject)
        if first.key != subject.key and _plain(first.text("output")) != _plain(subject.text("output")):
            yield subject.finding("BW404", f"{first.key[0]}/{first.key[1]} asks the same and has another output")


def _overlap(subjects: Sequence[Subject]) -> Iterator[Finding]:
    """Tasks on both sides; of each task and training split one finding, at its first example there."""
    tested: dict[tuple[str, ...], Subject] = {}
    for subject in subjects:
        if not is_training(subject.split):
            tested.setdefault(subject.task, subject)
    told: set[tuple[str, tuple[str, ...]]] = set()
    for subject in subjects:
        other = tested.get(subject.task)
        if is_training(subject.split) and other is not None and (subject.split, subject.task) not in told:
            told.add((subject.split, subject.task))
            yield subject.finding("BW403", f"its task is in {other.split}, too (example {other.key[0]}/{other.key[1]})")


def is_training(split: str) -> bool:
    return re.search(r"(?:^|[_.-])(?:train|training|dev|fewshot|few_shot)(?:$|[_.-])", split.lower()) is not None
