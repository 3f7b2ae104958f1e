"""The flags of a program that uses ``absl.flags`` or TensorFlow's older copy of it.

Such flags are global: those of every module that the program imports, directly or not, are on its command line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .interpreter import Interpreter
from .parser_calls import Given
from .parsers import Keyword, make_flag
from .report import Flag, FlagReport
from .syntax import text_of
from .values import Const, Unknown, items_of

__all__ = ["DEFINES", "read_absl"]

DEFINES = re.compile(rb"\bDEFINE_[a-z_]+\s*\(")
_IMPORTS = re.compile(
    rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+)|import[ \t]+([\w., \t]+))", re.MULTILINE
)
_TYPES = {
    "string": "str",
    "integer": "int",
    "float": "float",
    "bool": "bool",
    "boolean": "bool",
    "enum": "str",
    "list": "list",
    "spaceseplist": "list",
    "string_list": "list",
    "multi_string": "str",
    "multi_integer": "int",
    "multi_float": "float",
    "multi_enum": "str",
    "enum_class": "str",
    "multi_enum_class": "str",
}
MOST_MODULES = 3000


def read_absl(reading: Interpreter, path: str) -> FlagReport:
    """The flags that the program ``path`` defines by ``DEFINE_...``, in its own file and in what it imports."""
    reading.module(path)
    for module in closure(reading, path):
        source = reading.source(module)
        if module != path and source is not None and b"DEFINE_" in source and DEFINES.search(source):
            reading.module(module)
    flags: dict[str, Flag] = {}
    unresolved: list[str] = []
    required: set[str] = set()
    for word, given in reading.definitions:
        if word.startswith("mark_"):
            named = given.positional[0][0] if given.positional else Unknown("")
            items = [named] if isinstance(named, Const) and isinstance(named.value, str) else items_of(named)
            for item in items or []:
                if isinstance(item, Const) and isinstance(item.value, str):
                    required.add(item.value)
            continue
        flag = flag_of(word, given)
        if isinstance(flag, Flag):
            flags.setdefault(flag.argument.name, flag)
        elif flag is not None:
            unresolved.append(flag)
    made = tuple(
        Flag(
            flag.argument.model_copy(update={"required": flag.argument.required or name in required}),
            flag.options,
            flag.negations,
            flag.action,
            flag.nargs,
        )
        for name, flag in flags.items()
    )
    return FlagReport("absl", made, not unresolved, tuple(unresolved), allow_abbrev=False)


def flag_of(word: str, given: Given) -> Flag | str | None:
    """The flag of one ``DEFINE_word(...)``; what it is where it cannot be read; None for words of no interest."""
    kind = word.removeprefix("DEFINE_")
    if kind in ("alias", "flag") and not given.positional:
        return None
    names = ["name", "default", "enum_values", "help"] if "enum" in kind else ["name", "default", "help"]
    if kind in ("alias", "flag"):
        names = ["name", "original"] if kind == "alias" else ["parser", "name", "default", "help"]
    keywords: dict[str, Keyword] = {**dict(zip(names, given.positional, strict=False)), **given.keywords}
    name = keywords.get("name", keywords.get("flag_name", (Unknown("?"), "?")))[0]
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return f"{given.where}: a flag named {text_of(given.node)[:120]}"
    wanted: dict[str, Keyword] = {}
    for theirs, ours in (
        ("default", "default"),
        ("default_value", "default"),
        ("help", "help"),
        ("docstring", "help"),
        ("required", "required"),
        ("enum_values", "choices"),
    ):
        if theirs in keywords:
            wanted[ours] = keywords[theirs]
    if kind.endswith("enum_class"):
        wanted.pop("choices", None)
    is_bool = kind in ("bool", "boolean")
    short = keywords.get("short_name")
    options = [f"--{name.value}"]
    if short is not None and isinstance(short[0], Const) and isinstance(short[0].value, str):
        options.append(f"-{short[0].value}")
    wanted["dest"] = (Const(name.value), "")
    flag = make_flag(options, wanted, defined_at=given.where, uncertain=given.uncertain)
    argument = flag.argument.model_copy(update={"type": _TYPES.get(kind, kind)})
    negations = (f"--no{name.value}",) if is_bool else ()
    action = "switch" if is_bool else "append" if kind.startswith("multi") else "store"
    return Flag(argument, (*flag.options, *negations), negations, action)


def closure(reading: Interpreter, path: str) -> Iterator[str]:
    """``path`` and the modules of the repository it imports, directly or not, each once."""
    pending, seen = [path], {path}
    while pending and len(seen) < MOST_MODULES:
        current = pending.pop()
        yield current
        source = reading.source(current)
        key = reading.library.key(current, reading.entry)
        if key not in reading.library.imports:
            reading.library.imports[key] = [] if source is None else imports(reading, current, source)
        for imported in reading.library.imports[key]:
            if imported not in seen:
                seen.add(imported)
                pending.append(imported)


def imports(reading: Interpreter, importer: str, source: bytes) -> list[str]:
    """The files that the import statements of ``importer`` load, packages on the way to them included."""
    found: list[str] = []
    for match in _IMPORTS.finditer(source):
        origin, names, plain = (group.decode("ascii", "replace") if group else "" for group in match.groups())
        if plain:
            wanted = [(0, part.split(" as ")[0].strip()) for part in plain.split(",")]
        else:
            dotted = origin.lstrip(".")
            level = len(origin) - len(dotted)
            parts = [part.split(" as ")[0].strip() for part in names.strip("()").replace("\n", ",").split(",")]
            wanted = [(level, dotted)] + [
                (level, f"{dotted}.{part}".strip(".")) for part in parts if part.isidentifier()
            ]
        for level, dotted in wanted:
            path = (
                reading.layout.relative(importer, level, dotted)
                if level
                else reading.layout.absolute(dotted, importer, reading.entry)
                if dotted
                else None
            )
            if path is not None and not path.endswith("/"):
                found.append(path)
    return found
