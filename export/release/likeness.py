"""How alike two examples are, whatever the order of flags, the way numbers are written, and the words around them.

An output becomes a set of pieces: programs and files, ``flag value`` pairs, calls with their keyword arguments. An
instruction becomes the set of its words and of what it says twice in a row. MinHash (rensa) finds the few pairs worth
comparing; they are then compared exactly, so chance can lose a pair and never invents one.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import pairwise

from ...core.errors import require_extra
from ..rows import Row

__all__ = ["Alike", "near_duplicates"]

SAME_OUTPUT = 0.8
"""Share of pieces (Jaccard) from which two outputs for one repository and folder count as the same."""
SAME_INSTRUCTION = 0.6
"""Share of words and word pairs from which two instructions count as the same, where the outputs also resemble."""
RESEMBLING = 0.5
PERMUTATIONS, SEED = 128, 20231116
BANDS = 32
"""Pairs of Jaccard 0.6 become candidates with a chance of 0.99, of 0.8 with more than 0.999999: 1 - (1 - j^4)^32."""

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$")
WORD = re.compile(r"[a-z]+|[\w./-]*\d[\w./-]*")


@dataclass(frozen=True)
class Alike:
    """Two examples that are nearly the same."""

    one: Row
    other: Row
    output: float
    """Share of equal pieces of the outputs, 0 to 1."""
    instruction: float

    def line(self) -> str:
        """For people."""
        names = (f"{row.github_id}/{row.id}" for row in (self.one, self.other))
        return f"{' and '.join(names)} (outputs {self.output:.0%}, instructions {self.instruction:.0%} the same)"


@dataclass(frozen=True)
class _Example:
    row: Row
    output: frozenset[str]
    instruction: frozenset[str]


def near_duplicates(one: Sequence[Row], other: Sequence[Row]) -> Iterator[Alike]:
    """Pairs of one row of each that are nearly the same though their tasks differ; each pair of tasks once.

    Raises:
        PrerequisiteError: the extra ``release`` is not installed.
    """
    require_extra("release", "rensa")
    left = [_example(row) for row in one]
    right = left if other is one else [_example(row) for row in other]
    told: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()
    for side, least in (("output", SAME_OUTPUT), ("instruction", SAME_INSTRUCTION)):
        for first, second in _candidates(left, right, side, least):
            key = (first.row.task, second.row.task)
            if key not in told and (found := _compare(first, second)) is not None:
                told.add(key)
                yield found


def _compare(one: _Example, other: _Example) -> Alike | None:
    output = _jaccard(one.output, other.output)
    instruction = _jaccard(one.instruction, other.instruction)
    here = (one.row.github.casefold(), one.row.path) == (other.row.github.casefold(), other.row.path)
    if (here and output >= SAME_OUTPUT) or (output >= RESEMBLING and instruction >= SAME_INSTRUCTION):
        return Alike(one.row, other.row, output, instruction)
    return None


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if one or other else 1.0


def _candidates(
    left: Sequence[_Example], right: Sequence[_Example], side: str, least: float
) -> Iterator[tuple[_Example, _Example]]:
    """Pairs of different tasks that share ``least`` of their pieces on this side, as far as MinHash finds them."""
    from rensa import RMinHashLSH

    groups = _groups(right, side)
    index = RMinHashLSH(threshold=least, num_perm=PERMUTATIONS, num_bands=BANDS)
    keys = list(groups)
    for number, pieces in enumerate(keys):
        index.insert(number, _signature(pieces))
    tasks = [{item.row.task for item in groups[pieces]} for pieces in keys]
    for pieces, members in _groups(left, side).items():
        own = {item.row.task for item in members}
        for number in sorted(index.query(_signature(pieces))):
            one_task = len(own) == 1 and own == tasks[number]  # by far the most pairs: told apart at once
            if not one_task and _jaccard(pieces, keys[number]) >= least:
                others = groups[keys[number]]
                yield from ((a, b) for a in members for b in others if a.row.task != b.row.task)


def _groups(examples: Sequence[_Example], side: str) -> dict[frozenset[str], list[_Example]]:
    """Examples by their pieces on one side; of those that are equal on both sides, one of every task."""
    seen: set[tuple[frozenset[str], frozenset[str], tuple[str, ...]]] = set()
    groups: dict[frozenset[str], list[_Example]] = defaultdict(list)
    for example in examples:
        key = (example.output, example.instruction, example.row.task)
        if key not in seen:
            seen.add(key)
            groups[example.output if side == "output" else example.instruction].append(example)
    return groups


def _signature(pieces: Iterable[str]) -> object:
    from rensa import RMinHash

    found = RMinHash(num_perm=PERMUTATIONS, seed=SEED)
    found.update(sorted(pieces))
    return found


# pieces ----------------------------------------------------------------------------------------------------


def _example(row: Row) -> _Example:
    pieces = _code(row.output) if row.type.startswith("Python") else _shell(row.output)
    words = [_number(word) for word in WORD.findall(row.instruction.lower())]
    return _Example(row, frozenset(pieces), frozenset([*words, *(f"{a} {b}" for a, b in pairwise(words))]))


def _shell(text: str) -> Iterator[str]:
    """Programs and other words as they are, options joined to their values."""
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            words = line.split()
        option: str | None = None
        for word in words:
            if word.startswith("-") and not NUMBER.match(word):
                if option is not None:
                    yield option
                name, equals, value = word.partition("=")
                option = None if equals else name.lstrip("-")
                if equals:
                    yield f"{name.lstrip('-')} {_number(value)}"
            elif option is not None:
                yield f"{option} {_number(word)}"
                option = None
            else:
                yield _number(word.removeprefix("./"))
        if option is not None:
            yield option


def _code(text: str) -> Iterator[str]:
    """Each call with each of its arguments, and what is imported and assigned; lines where it is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield from (" ".join(line.split()) for line in text.splitlines() if line.strip())
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            yield f"{name}("
            yield from (f"{name}({place}: {ast.unparse(value)}" for place, value in enumerate(node.args))
            yield from (f"{name}({item.arg}={ast.unparse(item.value)}" for item in node.keywords)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", None) or ""
            yield from (f"import {module} {alias.name}" for alias in node.names)
        elif isinstance(node, ast.Assign) and not isinstance(node.value, ast.Call):
            yield from (f"{ast.unparse(target)} = {ast.unparse(node.value)}" for target in node.targets)


def _number(word: str) -> str:
    """0.001, 1e-3 and .0010 are one word."""
    if NUMBER.match(word):
        try:
            return str(Decimal(word).normalize())
        except InvalidOperation:
            return word
    return word.strip(".")
