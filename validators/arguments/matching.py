"""One call against the arguments wanted of it: through the flags where an argument is one, else by value and kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .programs import GENERIC, Bound, Found, normal
from .slots import Slot, holds, tokens
from .values import as_flag_given, number, same, text

__all__ = ["Asked", "Refusal", "claimed_options", "judge_call", "meets", "refusal", "shared_places"]

_EMPTY_WORDS = frozenset({"argument", "arguments", "arg", "number", "num", "the", "of", "file", "name", "value"})


@dataclass(frozen=True)
class Refusal:
    """One argument that is not met."""

    argument: str | None
    """None where it is about the script as a whole."""
    wanted: Any
    found: Any
    message: str

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Asked:
    """The arguments of an example, and what its own output does with them."""

    arguments: dict[str, Any]
    example: Sequence[Bound] = field(default=())


def refusal(name: str, wanted: Any, found: Any, where: str = "") -> Refusal:
    """The refusal in one sentence."""
    place = f" {where}" if where else ""
    return Refusal(name, wanted, found, f"{name}: wanted {text(wanted)!r}, found {_shown(found)}{place}")


def _shown(found: Any) -> str:
    return "nothing" if found is None else repr(found) if isinstance(found, str) else text(found)


def judge_call(bound: Bound, asked: Asked) -> list[Refusal]:
    """What a call does not meet; empty where it meets everything."""
    claimed = claimed_options(bound, asked.arguments)
    problems = []
    for name, wanted in asked.arguments.items():
        problem = _judge(bound, name, wanted, asked, claimed)
        if problem is not None:
            problems.append(problem)
    return problems


def claimed_options(bound: Bound, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Options that an argument of their own name speaks of: they hold no other's value."""
    claimed: dict[str, str] = {}
    for name in arguments:
        found = bound.find(name)
        if found is not None and not found.abbreviated:
            keys = [*found.flag.options, found.flag.argument.name] if found.flag is not None else []
            keys += [option for option in bound.written if normal(option) == normal(name)]
            claimed |= dict.fromkeys(keys, name)
    return claimed


def _judge(bound: Bound, name: str, wanted: Any, asked: Asked, claimed: dict[str, str]) -> Refusal | None:
    found = bound.find(name)
    if found is None:
        return _by_place(bound, name, wanted, asked, claimed)
    if found.refused and not found.abbreviated:
        given = found.words[0] if len(found.words) == 1 else list(found.words) or None
        return refusal(name, wanted, given, f"(the program refuses it: {found.refused})")
    if meets(found, wanted):
        return None
    if found.abbreviated and (found.how != "given" or isinstance(found.value, bool)):
        return _by_place(bound, name, wanted, asked, claimed)
    if isinstance(wanted, str) and wanted.strip() and number(wanted) is None and _example_differs(name, wanted, asked):
        elsewhere = _by_place(bound, name, wanted, asked, claimed)
        if elsewhere is None:
            return None
    flag = found.flag.argument.flag or found.flag.argument.name if found.flag is not None else f"--{name}"
    if found.how == "absent":
        return refusal(name, wanted, None, f"({flag} is not given)")
    return refusal(name, wanted, found.value, f"(the default of {flag})" if found.how == "default" else f"in {flag}")


def meets(found: Found, wanted: Any) -> bool:
    """Whether what a call gives a flag is the value wanted."""
    flag = found.flag
    if flag is not None and not flag.takes_value and flag.action not in ("count", "switch"):
        asked = as_flag_given(wanted)
        if isinstance(found.value, bool) or found.value is None:
            return asked is not None and asked == bool(found.value)
        return same(wanted, found.value)
    if flag is None and found.value is True:
        return as_flag_given(wanted) is True
    if found.how == "absent" and found.value is not None:
        return False  # a default that only running the program would tell
    if found.value is None and isinstance(wanted, str) and not wanted:
        return True
    if found.kind == "bool" and found.words and flag is not None and flag.converter is None:
        return same(wanted, found.words[0], "bool")  # type=bool takes every word for true; the word says what was meant
    return same(wanted, found.value, found.kind)


def _example_differs(name: str, wanted: Any, asked: Asked) -> bool:
    """Whether the example's own output gives the flag another value and holds this one elsewhere."""
    for example in asked.example:
        found = example.find(name)
        if found is not None and not meets(found, wanted):
            return bool(_places(example, wanted, claimed_options(example, asked.arguments)))
    return False


def _places(bound: Bound, wanted: Any, claimed: dict[str, str]) -> list[Slot]:
    return [slot for slot in bound.slots if slot.key not in claimed and holds(slot, wanted)]


def _by_place(bound: Bound, name: str, wanted: Any, asked: Asked, claimed: dict[str, str]) -> Refusal | None:
    """An argument that is no flag: its value must stand where the example has it, else in a place of its kind."""
    if isinstance(wanted, str) and not wanted.strip():
        return refusal(name, wanted, None, f"({bound.call.target} has no such option)")
    slots = [slot for slot in bound.slots if slot.key not in claimed]
    places = [slot for slot in slots if holds(slot, wanted)]
    if not places:
        return refusal(name, wanted, _near(name, slots), f"anywhere in {bound.call.shown()[:200]}")
    told, problem = _by_example(bound, name, wanted, asked, slots)
    if told:
        return problem
    if number(wanted) is not None:
        if bound.program is None and not _by_position(name, places):
            return refusal(name, wanted, None, "(no option of that name is given)")
        akin = [slot for slot in slots if _akin(name, slot) and number(slot.value) is not None]
        if akin and not any(holds(slot, wanted) for slot in akin):
            return refusal(name, wanted, akin[0].value, f"in {akin[0].key}")
    return None


def _by_example(
    bound: Bound, name: str, wanted: Any, asked: Asked, slots: Sequence[Slot]
) -> tuple[bool, Refusal | None]:
    """Whether the example says where the value belongs, and what is wrong there."""
    for example in asked.example:
        if not _same_program(bound, example):
            continue
        by_name = example.find(name)
        if bound.program is None and by_name is not None and not by_name.abbreviated and meets(by_name, wanted):
            return True, refusal(name, wanted, None, "(no option of that name is given)")
        known = _places(example, wanted, claimed_options(example, asked.arguments))
        if known:
            return True, shared_places(name, wanted, known, slots)
    return False, None


def _by_position(name: str, places: Sequence[Slot]) -> bool:
    return GENERIC.fullmatch(normal(name)) is not None or any(slot.key.startswith(("word ", "the ")) for slot in places)


def _same_program(bound: Bound, example: Bound) -> bool:
    return (bound.path or bound.call.target) == (example.path or example.call.target)


def shared_places(name: str, wanted: Any, known: Sequence[Slot], slots: Sequence[Slot]) -> Refusal | None:
    """Refuse where a place that holds the value in the example holds another here, or none of them holds it."""
    exact = [slot for slot in known if same(wanted, slot.value)] or list(known)
    keys = {slot.key for slot in exact}
    held = {slot.key for slot in slots if holds(slot, wanted)}
    for slot in slots:
        if slot.key in keys and slot.key not in held:
            return refusal(name, wanted, slot.value, f"in {slot.key}")
    if keys & held:
        return None
    return refusal(name, wanted, None, f"in {' or '.join(sorted(keys))}, where the example has it")


def _akin(name: str, slot: Slot) -> bool:
    """Whether an option's name shares a telling word with the argument's: ``thresh`` and ``--score_threshold``."""
    if slot.kind != "value" or slot.key.startswith(("the ", "word ")):
        return False
    left = [word for word in tokens(name) if word not in _EMPTY_WORDS and not word.isdigit()]
    right = tokens(slot.key)
    return any(a == b or (len(a) > 4 and b.startswith(a)) for a in left for b in right)


def _near(name: str, slots: Sequence[Slot]) -> Any:
    """The value in a place whose name is akin, for the message."""
    return next((slot.value for slot in slots if _akin(name, slot)), None)
