"""An accepted example, read for variation: which of its arguments may take which other values, and the output then."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from itertools import combinations
from random import Random
from typing import Any

from ...core.models import Argument, Example, Task
from ...curation.flags import SourceFiles
from ...curation.slots import Slot, from_help, worth_varying
from ...validators.arguments import check_arguments, same
from ...validators.arguments.programs import normal
from ...validators.arguments.slots import Slot as Place
from ...validators.arguments.slots import holds
from .scripts import Script, read_script
from .snippets import edited_snippet, literals_of

__all__ = ["Seed", "Variation", "read_seed", "variations"]

Pair = frozenset[tuple[str, str]]
"""Two arguments, each with a word."""
TELLING = 3.0
"""Worth from which an argument that the example does not name is varied, too: its name says what it does."""
MOST_EXTRA = 4
KEEP, EXTRA = 0.4, 0.4
"""Chances that an argument keeps its value, and that one more of those the example does not name is set."""
IDLE = 200
"""Draws without a new combination after which all of them count as tried."""
_OF_THE_MACHINE = re.compile(
    r"(?:^|[_-])(?:gpus?|cpus?|tpus?|cores?|cuda|device\w*|workers?|threads?|rank)(?:$|[_-])", re.IGNORECASE
)
_FROM_A_FILE = re.compile(r"\b(?:start|resume|restore|continue|checkpoint)", re.IGNORECASE)
_PLAIN_WORD = re.compile(r"[A-Za-z](?:[\w+.-]*[\w+])?")


@dataclass(frozen=True)
class Seed:
    """An example that a person wrote, its output read through the code it starts."""

    task: Task
    example: Example
    files: SourceFiles
    script: Script | None
    slots: tuple[Slot, ...]
    """What may be varied, those the example names first."""
    named: Mapping[str, str]
    """The name of a slot -> the example's name for it."""
    together: frozenset[Pair] = frozenset()
    """Pairs of words that one command is given: a task and its data belong together, though no choice says so."""

    @property
    def prefix_code(self) -> str:
        return self.example.prefix_code or self.task.prefix_code

    def meets(self, output: str, arguments: Mapping[str, Any]) -> bool:
        """Whether an output is called with the arguments, in the places where the seed's own output has them."""
        return check_arguments(
            output,
            self.example.type,
            arguments,
            path=self.task.path,
            prefix_code=self.prefix_code,
            reference=self.example.output,
            files=self.files,
        ).accepted


@dataclass(frozen=True)
class Variation:
    """Other arguments and the output that meets them."""

    seed: Seed
    changed: Mapping[str, Any]
    """The example's arguments with another value than the seed's."""
    added: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that the seed does not name."""
    output: str = ""

    @cached_property
    def arguments(self) -> dict[str, Any]:
        return {**self.seed.example.arguments, **self.changed, **self.added}


def read_seed(
    task: Task, example: Example, files: SourceFiles, others: Iterable[Sequence[Argument]] = ()
) -> Seed | str:
    """The example as a seed, or why it is none; ``others`` are the arguments of other commands of the same script."""
    prefix = example.prefix_code or task.prefix_code
    script = None
    if example.type == "Bash Script":
        script = read_script(example.output, task.path, prefix, files)
        if script is None:
            return "its output does not start exactly one program whose flags are known"
        arguments = script.arguments
    else:
        arguments = tuple(
            Argument(name=literal.name, value=literal.value, type=type(literal.value).__name__)
            for literal in literals_of(example.output)
        )
    named = _named(example, arguments, script)
    bare = Seed(task, example, files, script, (), named)
    if not bare.meets(example.output, example.arguments):
        return "its output does not meet its own arguments: benchwright check says where"
    apart = {name: value for name, value in example.arguments.items() if name not in named.values()}
    known = {argument.name: argument for argument in arguments}
    own: list[Slot] = []
    extra: list[Slot] = []
    commands = [arguments, *others]
    for slot in worth_varying(arguments, commands):
        argument = known[slot.name]
        values = tuple(value for value in slot.values if _may_stand(value, argument))
        if (
            not values
            or _OF_THE_MACHINE.search(slot.name)
            or any(_holds(slot.value, value) for value in apart.values())
        ):
            continue
        varied = Slot(slot.name, slot.flag, slot.value, values, slot.worth, slot.reason)
        if slot.name in named:
            own.append(varied)
        elif slot.worth >= TELLING and slot.name not in example.arguments and _free(argument):
            extra.append(varied)
    if not own and not extra:
        return "nothing plausible is known that its arguments could be instead"
    return Seed(task, example, files, script, (*own, *extra[:MOST_EXTRA]), named, _together(own, known, commands))


def _named(example: Example, arguments: Iterable[Argument], script: Script | None) -> dict[str, str]:
    """Which of the program's arguments each of the example's is; those that only name a place are left out."""
    found: dict[str, str] = {}
    for name, wanted in example.arguments.items():
        if script is not None:
            given = script.bound.find(name)
            if given is None or given.flag is None or given.abbreviated or given.how != "given":
                continue
            if same(wanted, given.value, given.kind):
                found[given.flag.argument.name] = name
        else:
            literal = next((a for a in arguments if normal(a.name) == normal(name) and same(wanted, a.value)), None)
            if literal is not None:
                found[literal.name] = name
    return found


def _holds(value: Any, wanted: Any) -> bool:
    """Whether changing ``value`` could take away what an argument that is no flag speaks of."""
    return value is not None and not isinstance(value, bool) and holds(Place("", value), wanted)


def _repeated(slot: Slot, arguments: Iterable[Argument]) -> bool:
    """Whether another argument repeats a word: the data ``m4``, and ``./dataset/m4`` as its folder."""
    given = (argument.value for argument in arguments if argument.name != slot.name)
    return any(isinstance(value, str) and holds(Place("", value), slot.value) for value in given)


def _free(argument: Argument) -> bool:
    """Whether an argument can be set without anything else having to be there."""
    return argument.type in ("int", "float") and not _FROM_A_FILE.search(argument.help or "")


def _may_stand(value: Any, argument: Argument) -> bool:
    """Numbers for numbers; words only where the code or other commands name them, and none that name files."""
    if isinstance(value, bool) or argument.type == "bool" or isinstance(argument.value, (bool, list)):
        return False
    base = argument.value if argument.value is not None else argument.default
    if isinstance(base, (int, float)) or argument.type in ("int", "float"):
        return isinstance(value, (int, float))
    if not isinstance(value, str) or not _PLAIN_WORD.fullmatch(value) or re.search(r"[/.]", str(base)):
        return False
    if argument.choices:
        return value in argument.choices
    listed = from_help(argument)
    return value not in listed or base in listed


def _together(
    own: Sequence[Slot], known: Mapping[str, Argument], commands: Sequence[Sequence[Argument]]
) -> frozenset[Pair]:
    """The pairs of words in ``commands`` for those of the slots that declare no choices."""
    free = {slot.name for slot in own if isinstance(slot.value, str) and not known[slot.name].choices}
    words = [
        [
            (argument.name, argument.value)
            for argument in command
            if argument.name in free and isinstance(argument.value, str)
        ]
        for command in commands
    ]
    return frozenset(frozenset(pair) for given in words for pair in combinations(given, 2))


# drawing ---------------------------------------------------------------------------------------------------


def variations(seed: Seed, dice: Random) -> Iterator[Variation]:
    """Every combination of other values once, in an order that ``dice`` decides; each output is made and checked."""
    seen: set[tuple[tuple[str, str], ...]] = {()}
    idle = 0
    while idle < IDLE:
        drawn = _drawn(seed, dice)
        key = tuple(sorted((name, _word(value)) for name, value in drawn.items()))
        if key in seen:
            idle += 1
            continue
        idle = 0
        seen.add(key)
        variation = _made(seed, drawn) if _belong(seed, drawn) else None
        if variation is not None:
            yield variation


def _drawn(seed: Seed, dice: Random) -> dict[str, Any]:
    own = [slot for slot in seed.slots if slot.name in seed.named]
    extra = [slot for slot in seed.slots if slot.name not in seed.named]
    drawn = {slot.name: dice.choice(slot.values) for slot in own if dice.random() >= KEEP}
    while extra and dice.random() < EXTRA:
        slot = extra.pop(dice.randrange(len(extra)))
        values = slot.values if slot.value is None else (slot.value, *slot.values)
        drawn[slot.name] = dice.choice(slot.values if _given(seed, slot) else values)
    return drawn


def _belong(seed: Seed, drawn: Mapping[str, Any]) -> bool:
    """Whether the words of a combination have been used together, each two of them; words with choices are free."""
    tied = {name for pair in seed.together for name, _ in pair}
    words = [(slot.name, drawn.get(slot.name, slot.value)) for slot in seed.slots if slot.name in tied]
    return all(frozenset(pair) in seed.together for pair in combinations(words, 2))


def _given(seed: Seed, slot: Slot) -> bool:
    found = seed.script.bound.find(slot.name) if seed.script is not None else None
    return seed.script is None or (found is not None and found.how == "given")


def _made(seed: Seed, drawn: Mapping[str, Any]) -> Variation | None:
    """The variation with its output; None where the output cannot be edited so, or is not told from the seed's."""
    output = seed.example.output
    script = seed.script
    for name, value in drawn.items():
        if script is not None:
            script = script.edited(name, _word(value))
            if script is None:
                return None
            output = script.code
        else:
            changed = edited_snippet(output, name, value)
            if changed is None:
                return None
            output = changed
    as_text = bool(seed.example.arguments) and all(isinstance(v, str) for v in seed.example.arguments.values())
    changed_own: dict[str, Any] = {}
    added: dict[str, Any] = {}
    for name, value in drawn.items():
        own = seed.named.get(name)
        if own is not None:
            changed_own[own] = _stored(value, as_text=isinstance(seed.example.arguments[own], str))
        else:
            added[name] = _stored(value, as_text=as_text)
    made = Variation(seed, changed_own, added, output)
    if not seed.meets(output, made.arguments):
        return None
    return made if not changed_own or not seed.meets(output, seed.example.arguments) else None


def _word(value: Any) -> str:
    """A value as a command is given it: numbers without exponent, and without the last digits of binary fractions."""
    if isinstance(value, float):
        return format(Decimal(repr(float(f"{value:.6g}"))), "f")
    return str(value)


def _stored(value: Any, *, as_text: bool) -> Any:
    """A value as the example's arguments hold it; a number whose own text has an exponent is kept as its word."""
    word = _word(value)
    if as_text or isinstance(value, str):
        return word
    number = float(word) if isinstance(value, float) else value
    return number if str(number) == word else word
