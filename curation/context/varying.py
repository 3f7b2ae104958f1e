"""Arguments worth varying: the slots an annotator would change, with plausible values for each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.models import Argument

__all__ = ["Slot", "worth_varying"]

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


@dataclass(frozen=True)
class Slot:
    """One argument that may be varied."""

    name: str
    flag: str | None
    values: tuple[Any, ...]
    """Plausible values: those of other commands, choices, values named by the help, steps around a number."""
    worth: float
    reason: str


def worth_varying(arguments: Sequence[Argument], others: Iterable[Sequence[Argument]] = ()) -> tuple[Slot, ...]:
    """The slots of a candidate, the most telling first.

    ``others`` are the arguments of other commands of the same script, whose values are known to work. Switches,
    plumbing (logs, ports, ranks) and arguments for which nothing plausible is known come last or not at all.
    """
    seen: dict[str, list[Any]] = {}
    for command in others:
        for argument in command:
            if argument.value is not None and argument.value not in seen.setdefault(argument.name, []):
                seen[argument.name].append(argument.value)
    slots = [slot_of(argument, seen.get(argument.name, [])) for argument in arguments]
    known = [slot for slot in slots if slot is not None]
    return tuple(sorted(known, key=lambda slot: (-slot.worth, slot.name)))


def slot_of(argument: Argument, elsewhere: list[Any]) -> Slot | None:
    """The slot of one argument; None where varying it says nothing."""
    base = argument.value if argument.value is not None else argument.default
    values: list[Any] = []
    reasons: list[str] = []

    def offer(found: Iterable[Any], reason: str) -> None:
        new = [value for value in found if value not in values and value != base]
        if new:
            values.extend(new)
            reasons.append(reason)

    offer(elsewhere, "other commands")
    offer(argument.choices or (), "choices")
    offer(from_help(argument), "help")
    offer([argument.default] if argument.default is not None and argument.value is not None else [], "default")
    if argument.type == "bool":
        offer([not base] if isinstance(base, bool) else [True, False], "switch")
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
    shown = tuple(values[:MOST_VALUES]) if base is None else (base, *values[: MOST_VALUES - 1])
    return Slot(argument.name, argument.flag, shown, worth, ", ".join(reasons) or "given")


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
    """Smaller and larger numbers around a number: halves and doubles, for small counts the neighbours."""
    if isinstance(base, bool) or not isinstance(base, (int, float)):
        return []
    if kind == "int" or isinstance(base, int):
        if abs(base) <= 4:
            return [base + 1, base + 2] if base >= 0 else []
        return [base // 2, base * 2]
    return [base / 10, base / 2, base * 2] if base else [0.1, 0.5]
