"""What a command gives each flag, and what its program's parser would say against it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from .report import Flag

__all__ = ["Binding", "Problem", "ProblemKind", "check_choice", "convert"]

ProblemKind = Literal[
    "unknown_option",
    "ambiguous",
    "bad_choice",
    "bad_value",
    "missing_value",
    "unexpected_value",
    "extra_positional",
    "missing_required",
    "exclusive",
    "ok_abbreviation",
    "ok_unknown",
]


@dataclass(frozen=True)
class Problem:
    """One thing about a command; those whose kind begins with ``ok_`` are allowed and worth saying."""

    kind: ProblemKind
    text: str
    """The word it is about, or the option that is missing."""
    name: str | None = None
    """The argument concerned, where one is."""
    message: str = ""

    @property
    def refused(self) -> bool:
        """Whether the program's parser stops at it."""
        return not self.kind.startswith("ok_")


@dataclass
class Binding:
    """The values a command gives, by argument name; arguments it does not name are absent, not None."""

    values: dict[str, Any] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    """The option string each name was given by, as it is defined (an abbreviation written out)."""
    problems: list[Problem] = field(default_factory=list)
    unknown: dict[str, list[str]] = field(default_factory=dict)
    """Unknown options with the words behind them, up to the next option."""
    extras: list[str] = field(default_factory=list)
    """Words that belong to no argument, in order, unknown options included."""
    subcommand: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the parser would take the command."""
        return not any(problem.refused for problem in self.problems)


_TRUE = frozenset({"true", "t", "yes", "y", "on", "1"})
_FALSE = frozenset({"false", "f", "no", "n", "off", "0"})


def convert(flag: Flag, word: str, problems: list[Problem]) -> Any:
    """``word`` as the flag's type makes it; where the type is the program's own, the word itself."""
    kind = flag.argument.type
    try:
        if kind == "int":
            return int(word)
        if kind == "float":
            return float(word)
    except ValueError:
        message = f"{word!r} is no {kind}"
        problems.append(Problem("bad_value", word, flag.argument.name, message))
        return word
    if kind == "bool" and flag.action not in ("store_true", "store_false"):
        if flag.converter is None:
            return bool(word)  # what type=bool does: every word but the empty one is true
        lowered = word.lower()
        return True if lowered in _TRUE else False if lowered in _FALSE else word
    return word


def check_choice(flag: Flag, value: Any, problems: list[Problem]) -> None:
    """Complain where ``value`` is none of the flag's choices."""
    choices = flag.argument.choices
    if choices is not None and not any(value == choice and type(value) is type(choice) for choice in choices):
        shown = ", ".join(map(str, choices[:12]))
        problems.append(Problem("bad_choice", str(value), flag.argument.name, f"{value!r} is none of {shown}"))
