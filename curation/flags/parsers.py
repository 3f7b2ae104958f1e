"""argparse's objects as far as reading needs them: a parser's state, and the flag that one ``add_argument`` makes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...core.models import Argument
from .report import Flag, FlagReport
from .values import Class, Const, External, Function, Unknown, Value

__all__ = ["ParserState", "make_flag", "plain", "type_of_default", "with_default"]

_NO_VALUE_TYPES = {"store_true": "bool", "store_false": "bool", "count": "int", "boolean_optional": "bool"}
_NARGS_WORDS = {"OPTIONAL": "?", "ZERO_OR_MORE": "*", "ONE_OR_MORE": "+", "REMAINDER": "...", "PARSER": "A..."}


@dataclass(eq=False)
class ParserState:
    """What has been said to one parser so far."""

    where: str
    depth: int = 0
    """How many branches deep it was made; flags added deeper are conditional."""
    flags: list[Flag] = field(default_factory=list)
    defaults: dict[str, tuple[Value, str]] = field(default_factory=dict)
    unresolved: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    allow_abbrev: bool = True
    prefix_chars: str = "-"
    add_help: bool = True
    parsed: bool = False
    strict: int = 0
    known_only: int = 0
    """How often it parsed refusing, and accepting, what it does not know."""
    inherited: bool = False
    subcommands: dict[str, ParserState] = field(default_factory=dict)
    is_subcommand: bool = False
    argument_default: tuple[Value, str] | None = None

    def add(self, flag: Flag) -> None:
        """Add ``flag``; of two with the same option the first stands, as they come from different branches."""
        taken = {option for known in self.flags for option in known.options}
        if flag.options and taken.issuperset(flag.options):
            return
        if not flag.options and any(not f.options and f.argument.name == flag.argument.name for f in self.flags):
            return
        self.flags.append(flag)

    def inherit(self, parent: ParserState) -> None:
        """Take over everything of ``parent``, as ``parents=[parent]`` does."""
        parent.inherited = True
        for flag in parent.flags:
            self.add(flag)
        self.defaults.update(parent.defaults)
        self.unresolved.extend(parent.unresolved)
        self.notes.extend(parent.notes)
        self.subcommands.update(parent.subcommands)

    def set_default(self, name: str, value: Value, text: str, conditional: bool) -> None:
        """``set_defaults(name=value)``: replaces the default of a flag there is, and of one still to come."""
        if conditional:
            value = Unknown(text)
        self.defaults[name] = (value, text)
        self.flags = [
            replace(flag, argument=with_default(flag.argument, value, text)) if flag.argument.name == name else flag
            for flag in self.flags
        ]

    def report(self, read_paths: frozenset[str]) -> FlagReport:
        """The state as a report."""
        flags = list(self.flags)
        taken = {option for flag in flags for option in flag.options}
        char = "-" if "-" in self.prefix_chars else self.prefix_chars[0]
        if self.add_help and f"{char * 2}help" not in taken:
            options = tuple(option for option in (f"{char}h", f"{char * 2}help") if option not in taken)
            help_argument = Argument(name="help", flag=f"{char * 2}help", type="bool", help="show the help and exit")
            flags.insert(0, Flag(help_argument, options, action="help"))
        return FlagReport(
            kind="argparse",
            flags=tuple(flags),
            complete=not self.unresolved and all(not sub.unresolved for sub in self.subcommands.values()),
            unresolved=tuple(dict.fromkeys(self.unresolved)),
            notes=tuple(dict.fromkeys(self.notes)),
            allow_abbrev=self.allow_abbrev,
            prefix_chars=self.prefix_chars,
            subcommands={name: sub.report(read_paths) for name, sub in self.subcommands.items()},
            read_paths=read_paths,
        )


def plain(value: Any) -> Any:
    """``value`` as JSON can hold it: tuples and sets as lists.

    Raises:
        ValueError: it cannot be held.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item) for item in value), key=repr)
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: plain(item) for key, item in value.items()}
    raise ValueError(f"{type(value).__name__} is no JSON value")


def with_default(argument: Argument, value: Value, text: str) -> Argument:
    """``argument`` with another default; ``text`` is its expression."""
    if isinstance(value, External) and value.dotted.endswith("argparse.SUPPRESS"):
        return argument.model_copy(update={"default": None, "default_source": text})
    if isinstance(value, Const):
        try:
            literal = plain(value.value)
        except ValueError:
            return argument.model_copy(update={"default": None, "default_source": text})
        source = None if _is_literal(text, literal) else text
        return argument.model_copy(update={"default": literal, "default_source": source})
    return argument.model_copy(update={"default": None, "default_source": text, "static": False})


def type_of_default(value: object) -> str:
    """The type that click and fire take from a default."""
    return type(value).__name__ if isinstance(value, (bool, int, float)) else "str"


def _is_literal(text: str, value: Any) -> bool:
    """Whether ``text`` says no more than ``value`` does."""
    if isinstance(value, str):
        return text[:1] in "\"'rRbBuUfF" and text[-1:] in "\"'" and "{" not in text
    if isinstance(value, (int, float)):
        return text[:1] in "-+.0123456789TF" and not any(sign in text for sign in "*/(")
    return value is None or not any(char.isalpha() for char in text.replace("True", "").replace("False", ""))


Keyword = tuple[Value, str]
"""A keyword's value, and the text of its expression."""


def make_flag(
    names: Sequence[str],
    keywords: Mapping[str, Keyword],
    *,
    defined_at: str,
    prefix_chars: str = "-",
    conditional: bool = False,
    uncertain: bool = False,
    argument_default: Keyword | None = None,
    returns_bool: Callable[[Value], bool] = lambda value: False,
) -> Flag:
    """The flag that ``add_argument(*names, **keywords)`` makes.

    ``uncertain`` says that keywords exist which could not be read (``**options``).
    """
    options = tuple(name for name in names if name[:1] and name[0] in prefix_chars)
    long = [name for name in options if len(name) > 1 and name[1] in prefix_chars]
    static = not (uncertain or conditional)
    dest, dest_known = _text(keywords, "dest")
    if not options:
        name = names[0] if names else (dest or "")
    else:
        name = dest or (long or list(options))[0].lstrip(prefix_chars).replace("-", "_")
    static &= dest_known
    action, action_type, known = _action(keywords)
    static &= known
    nargs, known = _nargs(keywords)
    static &= known
    if action in _NO_VALUE_TYPES or action in ("store_const", "append_const", "help", "version"):
        nargs = 0
    const, _ = _constant(keywords, "const")
    choices, known = _choices(keywords)
    static &= known
    required, known = _required(keywords, options, nargs)
    static &= known
    negations: tuple[str, ...] = ()
    if action == "boolean_optional":
        negations = tuple(f"--no-{name[2:]}" for name in options if name.startswith("--"))
    help_value = keywords.get("help")
    help_text = help_value[0].value if help_value and isinstance(help_value[0], Const) else None
    argument = Argument(
        name=name,
        flag=next(iter(long or options), None),
        static=static,
        type=action_type or _type(keywords, returns_bool),
        choices=choices,
        required=required,
        help=help_text if isinstance(help_text, str) else (help_value[1] if help_value and help_text is None else None),
        defined_at=defined_at,
    )
    default = keywords.get("default") or argument_default
    if default is not None:
        argument = with_default(argument, *default)
        if not static:
            argument = argument.model_copy(update={"static": False})
    elif action == "store_true":
        argument = argument.model_copy(update={"default": False})
    elif action == "store_false":
        argument = argument.model_copy(update={"default": True})
    converter = keywords["type"][1] if "type" in keywords and isinstance(keywords["type"][0], Function) else None
    return Flag(argument, (*options, *negations), negations, action, nargs, const, conditional, converter=converter)


def _text(keywords: Mapping[str, Keyword], key: str) -> tuple[str | None, bool]:
    if key not in keywords:
        return None, True
    value = keywords[key][0]
    if isinstance(value, Const) and (value.value is None or isinstance(value.value, str)):
        return value.value, True
    return None, False


def _constant(keywords: Mapping[str, Keyword], key: str) -> tuple[Any, bool]:
    if key not in keywords:
        return None, True
    value = keywords[key][0]
    if isinstance(value, Const):
        try:
            return plain(value.value), True
        except ValueError:
            return None, False
    return None, False


def _action(keywords: Mapping[str, Keyword]) -> tuple[str, str | None, bool]:
    """The action's word, the type it implies, and whether it is known."""
    if "action" not in keywords:
        return "store", None, True
    value, _ = keywords["action"]
    if isinstance(value, Const):
        word = value.value if isinstance(value.value, str) else "store"
        return word, _NO_VALUE_TYPES.get(word), True
    if isinstance(value, External) and value.dotted.endswith("BooleanOptionalAction"):
        return "boolean_optional", "bool", True
    # A class of the program takes one value unless nargs says otherwise; what it does with it is its own affair.
    return "custom", None, isinstance(value, (Class, External))


def _nargs(keywords: Mapping[str, Keyword]) -> tuple[int | str | None, bool]:
    if "nargs" not in keywords:
        return None, True
    value = keywords["nargs"][0]
    if isinstance(value, External):
        word = _NARGS_WORDS.get(value.dotted.rsplit(".", 1)[-1])
        return word, word is not None
    if isinstance(value, Const) and (value.value is None or isinstance(value.value, (int, str))):
        return value.value, True
    return None, False


def _choices(keywords: Mapping[str, Keyword]) -> tuple[tuple[Any, ...] | None, bool]:
    if "choices" not in keywords:
        return None, True
    value = keywords["choices"][0]
    if isinstance(value, Const):
        if value.value is None:
            return None, True
        if isinstance(value.value, (list, tuple, set, frozenset, dict, range, str)) and len(value.value) <= 10_000:
            try:
                return tuple(plain(list(value.value))), True
            except ValueError:
                return None, False
    return None, False


def _required(keywords: Mapping[str, Keyword], options: Sequence[str], nargs: int | str | None) -> tuple[bool, bool]:
    if not options:
        return nargs not in ("?", "*", "...") and nargs != 0, True
    if "required" not in keywords:
        return False, True
    value = keywords["required"][0]
    if isinstance(value, Const):
        return bool(value.value), True
    return False, False


def _type(keywords: Mapping[str, Keyword], returns_bool: Callable[[Value], bool]) -> str:
    """``int``, ``float``, ``str``, ``bool``, or the text of the type's expression."""
    if "type" not in keywords:
        return "str"
    value, text = keywords["type"]
    if isinstance(value, Const):
        # optparse names its types; argparse takes None for "as it is".
        words = {None: "str", "string": "str", "long": "int"}
        return words.get(value.value, str(value.value))
    if isinstance(value, External):
        return value.dotted.removeprefix("builtins.")
    if isinstance(value, Function) and returns_bool(value):
        return "bool"
    return text
