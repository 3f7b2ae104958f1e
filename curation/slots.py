"""Arguments worth varying: the slots an annotator would change, with plausible values for each.

Comes in: a candidate and all others (:class:`Slots`, :func:`slots_of`), or just arguments (:func:`worth_varying`). Goes
out: tuples of :class:`Slot`, the most telling first. A pure reading of what curation stored: nothing is looked up in
the repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.models import Argument, Candidate, EntryPoint
from .commands.words import is_placeholder

__all__ = ["Slot", "Slots", "slots_of", "worth_varying"]

MOST_VALUES = 8
_PLUMBING = re.compile(
    r"(?:^|[_-])(?:help|version|verbose|debug|log|logger|wandb|port|rank|local[_-]rank|world|dist|workers?|threads?"
    r"|host|url|print|profil\w*|tensorboard|resume)(?:$|[_-])",
    re.IGNORECASE,
)
_TELLING = re.compile(
    r"(?:^|[_-])(?:model|arch|dataset|data|task|lr|learning[_-]rate|rate|epochs?|steps?|batch|seed|layers?|hidden|heads?"
    r"|dim|size|gpu|device|dropout|loss|optim\w*|mode|type|name|scale|num|n)(?:$|[_-])",
    re.IGNORECASE,
)
_LISTED = re.compile(
    r"""[\[({]([^\])}]{3,200})[\])}]|(?:one of|choose from|choices?:?|options?:?|either)\s+([^.;\n]{3,200})""",
    re.IGNORECASE,
)
_RANGE = re.compile(
    r"(?:between|from|in)\s*[\[(]?\s*(-?\d+(?:\.\d+)?)\s*(?:,|and|to|-|\.\.)\s*(-?\d+(?:\.\d+)?)", re.IGNORECASE
)
_WORD = re.compile(r"[A-Za-z0-9_.+-]+")
_SWITCH = re.compile(
    r"^(?:is|do|use|no|with|enable|disable|save|freeze)[_-]|^\s*(?:whether|if\s+(?:true|set))\b", re.IGNORECASE
)
_NUMBERED = re.compile(r"argument\d+")


@dataclass(frozen=True)
class Slot:
    """One argument that may be varied."""

    name: str
    flag: str | None
    value: Any
    """What the candidate gives it, or else its default."""
    values: tuple[Any, ...]
    """What may stand there instead, at most eight: other commands' values, choices, the help's, the default, steps."""
    worth: float
    """Higher is more telling: given, required, with known values, of a telling name."""
    reason: str
    """Where ``values`` come from."""


class Slots:
    """Finds the slots of candidates, with what others of the same repository and entry point are given."""

    def __init__(self, candidates: Iterable[Candidate] = ()) -> None:
        """``candidates`` may be any and are gone through once; their values are known to work and come first."""
        self._given: dict[tuple[str, EntryPoint], dict[str, list[Any]]] = {}
        for candidate in candidates:
            collect(self._given.setdefault(_script(candidate), {}), _comparable(candidate))

    def of(self, candidate: Candidate) -> tuple[Slot, ...]:
        """The slots of ``candidate``, the most telling first."""
        arguments = candidate.arguments
        if candidate.entry_point.kind == "api":
            arguments = tuple(argument for argument in arguments if argument.static)  # else it stands for a variable
        return _slots(arguments, self._given.get(_script(candidate), {}))


def slots_of(candidate: Candidate, candidates: Iterable[Candidate] = ()) -> tuple[Slot, ...]:
    """The slots of one candidate, the most telling first; ``candidates`` as in :class:`Slots`, which is for many."""
    return Slots(candidates).of(candidate)


def worth_varying(arguments: Sequence[Argument], others: Iterable[Sequence[Argument]] = ()) -> tuple[Slot, ...]:
    """The same for arguments without a candidate; ``others`` are those of other commands of the same script.

    Switches and plumbing (logs, ports, ranks) come last; arguments for which nothing plausible is known are left out,
    unless the command gives them.
    """
    given: dict[str, list[Any]] = {}
    for command in others:
        collect(given, command)
    return _slots(arguments, given)


def _script(candidate: Candidate) -> tuple[str, EntryPoint]:
    return candidate.repository.name, candidate.entry_point


def _comparable(candidate: Candidate) -> Iterable[Argument]:
    """The arguments whose names mean the same in another command; a snippet's first positional need not."""
    api = candidate.entry_point.kind == "api"
    return [a for a in candidate.arguments if not api or (a.static and not _NUMBERED.fullmatch(a.name))]


def collect(given: dict[str, list[Any]], arguments: Iterable[Argument]) -> None:
    """Add the values of one command to the distinct ones of each name; a few are enough."""
    for argument in arguments:
        values = given.setdefault(argument.name, [])
        if argument.value is not None and len(values) <= MOST_VALUES and argument.value not in values:
            values.append(argument.value)


def _slots(arguments: Iterable[Argument], given: Mapping[str, list[Any]]) -> tuple[Slot, ...]:
    slots = [slot_of(argument, given.get(argument.name, [])) for argument in arguments]
    known = [slot for slot in slots if slot is not None]
    return tuple(sorted(known, key=lambda slot: (-slot.worth, slot.name)))


def slot_of(argument: Argument, elsewhere: list[Any]) -> Slot | None:
    """The slot of one argument; None where varying it says nothing."""
    base = argument.value if argument.value is not None else argument.default
    values: list[Any] = []
    reasons: list[str] = []

    def offer(found: Iterable[Any], reason: str) -> None:
        before = len(values)
        for value in found:
            if value not in values and value != base and _says_something(value):
                values.append(value)
        if len(values) > before:
            reasons.append(reason)

    offer(elsewhere, "other commands")
    offer(argument.choices or (), "choices")
    offer(from_help(argument), "help")
    offer([argument.default] if argument.default is not None and argument.value is not None else [], "default")
    if argument.type == "bool":
        offer([not base] if isinstance(base, bool) else [True, False], "switch")
    elif base in (0, 1) and (_SWITCH.search(argument.name) or _SWITCH.search(argument.help or "")):
        offer([1 - base], "switch")
    elif not argument.choices:
        offer(steps(base, argument.type), "steps")
    if not values and argument.value is None:
        return None
    worth = 10.0 if argument.value is not None else 0.0
    worth += 5.0 if argument.required else 0.0
    worth += 4.0 if argument.choices or elsewhere else 0.0
    worth += 3.0 if _TELLING.search(argument.name) else 0.0
    worth -= 8.0 if _PLUMBING.search(argument.name) else 0.0
    worth -= 3.0 if argument.type == "bool" else 0.0
    return Slot(argument.name, argument.flag, base, tuple(values[:MOST_VALUES]), worth, ", ".join(reasons))


def _says_something(value: Any) -> bool:
    """Whether a value may be offered: empty ones and places to fill in are none."""
    return not (isinstance(value, str) and (not value.strip() or is_placeholder(value)))


def from_help(argument: Argument) -> list[Any]:
    """Values that a help text lists (``[cora, citeseer]``, ``a | b``, ``one of a, b``) or a range it names."""
    text = argument.help or ""
    if len(text) > 4000:
        return []
    kind = argument.type
    found: list[Any] = []
    for match in _LISTED.finditer(text):
        inside = match.group(1) or match.group(2)
        parts = [part.strip(" '\"`:") for part in re.split(r"[,|/]|\bor\b", inside)]
        if len(parts) >= 2 and all(_WORD.fullmatch(part) for part in parts if part):
            found.extend(typed(part, kind) for part in parts if part)
    bounds = _RANGE.search(text) if kind in ("int", "float") else None
    if bounds is not None:
        found.extend(typed(bound, kind) for bound in bounds.groups())
    return [value for value in found if value is not None]


def typed(word: str, kind: str | None) -> Any:
    """``word`` as the argument's type makes it; None where it cannot."""
    try:
        return int(word) if kind == "int" else float(word) if kind == "float" else word
    except ValueError:
        return None


def steps(base: Any, kind: str | None) -> list[Any]:
    """Smaller and larger numbers around a number: halves and doubles, for small counts the neighbours.

    A share, as its size suggests, stays below one.
    """
    if isinstance(base, bool) or not isinstance(base, (int, float)):
        return []
    if kind == "int" or isinstance(base, int):
        if abs(base) <= 4:
            return [base + 1, base + 2] if base >= 0 else []
        return [base // 2, base * 2]
    if 0.1 <= base <= 1:
        return [base / 2, (base + 1) / 2]
    return [base / 10, base / 2, base * 2] if base else [0.1, 0.5]
