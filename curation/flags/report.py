"""What reading a program's flags gives: the flags, what could not be read, and which files were looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ...core.models import Argument

__all__ = ["Flag", "FlagReport", "Kind", "SourceFiles"]

Kind = Literal["argparse", "absl", "click", "typer", "fire", "hydra", "getopt", "argv", "shell", "none"]


class SourceFiles(Protocol):
    """The files of a repository at one commit; nothing needs to lie in a work tree."""

    def paths(self) -> Sequence[str]:
        """Every path, ``/``-separated and relative to the repository's root."""

    def read(self, path: str) -> bytes | None:
        """The bytes of one file; None where there is no such file or its content is missing."""


@dataclass(frozen=True)
class Flag:
    """One flag or positional, with what :class:`Argument` does not carry."""

    argument: Argument
    options: tuple[str, ...] = ()
    """Every option string, aliases and negations included; empty for a positional."""
    negations: tuple[str, ...] = ()
    """Those of ``options`` that switch it off: ``--no-amp``, ``--noamp``."""
    action: str = "store"
    """argparse's word for it: store, store_true, store_const, append, count, boolean_optional, help, ... or, for an
    action class of the program, ``custom``."""
    nargs: int | str | None = None
    """As argparse has it: None (one value), a count, ``?``, ``*``, ``+``, ``...`` (the rest), ``A...`` (a command)."""
    const: Any = None
    conditional: bool = False
    """True where the program defines it only in some branch."""
    exclusive: str | None = None
    """Where its mutually exclusive group is made; flags of one group share this."""
    exclusive_required: bool = False
    converter: str | None = None
    """The type's expression where it is a function of the program."""

    @property
    def takes_value(self) -> bool:
        """Whether a value may follow it."""
        return self.action not in NO_VALUE and self.nargs != 0


NO_VALUE = frozenset(
    {
        "store_true",
        "store_false",
        "store_const",
        "append_const",
        "count",
        "help",
        "version",
        "boolean_optional",
        "switch",
    }
)
"""Actions after which no value follows. ``switch``: absl's and fire's booleans, which take one only behind ``=``."""


@dataclass(frozen=True)
class FlagReport:
    """The flags of one program."""

    kind: Kind = "none"
    flags: tuple[Flag, ...] = ()
    complete: bool = True
    """False where flags exist, or may exist, that are not in ``flags``."""
    unresolved: tuple[str, ...] = ()
    """What exists and could not be read: ``path:line: what``."""
    notes: tuple[str, ...] = ()
    """What a reader should know that hides no flag: defaults replaced from a file, a command line not read."""
    allow_abbrev: bool = True
    prefix_chars: str = "-"
    accepts_unknown: bool = False
    """True where the program keeps options it does not know (``parse_known_args``) instead of refusing them."""
    subcommands: Mapping[str, FlagReport] = field(default_factory=dict)
    read_paths: frozenset[str] = frozenset()
    """Files that this report rests on; while they and the list of paths are unchanged, so is it.

    What was learned about a shared module rests on all that was looked at for it, so there may be more than needed.
    """

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """What a caller may vary: every flag but ``--help`` and ``--version``."""
        return tuple(flag.argument for flag in self.flags if flag.action not in ("help", "version", "subcommand"))

    @property
    def options(self) -> dict[str, str]:
        """Every option string, aliases and negations included, with the name it sets."""
        return {option: flag.argument.name for flag in self.flags for option in flag.options}

    @property
    def takes_value(self) -> dict[str, bool]:
        """Whether a value may follow each option string."""
        return {option: flag.takes_value for flag in self.flags for option in flag.options}

    def flag(self, name: str) -> Flag | None:
        """The flag that sets ``name``, or that has the option string ``name``."""
        return next((flag for flag in self.flags if name == flag.argument.name or name in flag.options), None)
