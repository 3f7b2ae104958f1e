"""A Python snippet against the arguments wanted of it: parameters by name, everything else by value and kind."""

from __future__ import annotations

from typing import Any

from ...curation.flags import SourceFiles
from .matching import Refusal, refusal
from .programs import normal
from .python import UNKNOWN, Uses, uses_in
from .slots import Slot, holds, tokens
from .values import items, number, same

__all__ = ["judge_snippet"]

_RESULT = "result"


def judge_snippet(
    code: str,
    arguments: dict[str, Any],
    reference: str | None = None,
    files: SourceFiles | None = None,
    folder: str = "",
) -> list[Refusal]:
    """What the snippet does not meet."""
    uses = uses_in(code, files, folder)
    if uses.problem:
        return [Refusal(None, "Python", None, uses.problem)]
    example = uses_in(reference, files, folder) if reference else None
    found = (_judge(uses, name, wanted, example) for name, wanted in arguments.items())
    return [problem for problem in found if problem is not None]


def _judge(uses: Uses, name: str, wanted: Any, example: Uses | None) -> Refusal | None:
    named = _named(uses, name)
    if named:
        if any(_meets(value, wanted) for value in named):
            return None
        if not any(isinstance(value, (list, dict)) for value in named) or number(wanted) is not None:
            return refusal(name, wanted, named[-1], f"given to {name}")
    places = _places(uses, wanted)
    if not places:
        return refusal(name, wanted, None, "in any call")
    if number(wanted) is not None:
        akin = [value for key, values in uses.parameters.items() if _akin(name, key) for value in values]
        known = [value for value in akin if number(value) is not None]
        if known and not any(same(wanted, value) for value in known):
            return refusal(name, wanted, known[-1], "given to a parameter of that kind")
    return _against(name, wanted, uses, places, example) if example is not None else None


def _named(uses: Uses, name: str) -> list[Any]:
    """Known values of the parameter or variable of that very name."""
    key = normal(name)
    values = [value for parameter, given in uses.parameters.items() if normal(parameter) == key for value in given]
    if not values:
        values = [value for variable, value in uses.variables.items() if normal(variable) == key]
    return [value for value in values if value is not UNKNOWN and value is not None]


def _meets(value: Any, wanted: Any) -> bool:
    return holds(Slot("", value), wanted) or _shape(wanted, value)


def _shape(wanted: Any, value: Any) -> bool:
    """``(50,512,7,7)`` against the same numbers in a row, or with blanks between."""
    if not isinstance(value, list) or len(value) < 2:
        return False
    many = items(wanted)
    return many is not None and len(many) > 1 and same(many, value)


def _places(uses: Uses, wanted: Any) -> list[Slot]:
    return [slot for slot in uses.slots if holds(slot, wanted) or (isinstance(slot.value, list) and _in(slot, wanted))]


def _in(slot: Slot, wanted: Any) -> bool:
    return _shape(wanted, slot.value) or _inside(slot.value, wanted)


def _inside(value: list[Any], wanted: Any) -> bool:
    """A value in a list of lists: ``[("protein", "MKT...")]``."""
    return any(isinstance(item, list) and (_inside(item, wanted) or holds(Slot("", item), wanted)) for item in value)


def _against(name: str, wanted: Any, uses: Uses, places: list[Slot], example: Uses) -> Refusal | None:
    """Refuse where the very parameter that holds the value in the example holds another here."""
    known = [slot for slot in _places(example, wanted) if slot.kind == "value"]
    exact = [slot for slot in known if same(wanted, slot.value)] or known
    keys = {slot.key for slot in exact if slot.key != _RESULT}
    held = {slot.key for slot in places}
    if keys & held:
        return None
    for slot in uses.slots:
        if slot.key in keys and slot.kind == "value":
            return refusal(name, wanted, slot.value, f"given as {slot.key}")
    return None


def _akin(name: str, parameter: str) -> bool:
    left, right = tokens(name), tokens(parameter)
    return bool(left) and all(word in right for word in left)
