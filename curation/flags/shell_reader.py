"""The arguments of shell scripts: ``$1``, ``getopts``, and loops that shift through options."""

from __future__ import annotations

import re
from collections.abc import Iterator

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from ...core.models import Argument
from .report import Flag, FlagReport
from .syntax import text_of, walk

__all__ = ["read_shell"]

_BASH = Language(tree_sitter_bash.language())
_DEFAULTED = re.compile(r"^\$\{(\d+):?[-=](.*)\}$", re.DOTALL)
_POSITION = re.compile(r"^\$\{?#?(\d+)")
_OPTION_WORD = re.compile(r"[\"']?\$(?:1|\{1[^}]*\}|[A-Za-z_]\w*|\{[A-Za-z_]\w*\})[\"']?")
_OPTION = re.compile(r"--?[A-Za-z]")


def read_shell(source: bytes, path: str) -> FlagReport:
    """The positional parameters of a shell script and what ``getopts`` takes; its functions have their own."""
    root = Parser(_BASH).parse(source).root_node
    found: dict[int, Argument] = {}
    flags: list[Flag] = []
    passes_on: str | None = None
    pending = [root]
    while pending:
        node = pending.pop(0)
        if node.type == "function_definition":
            continue
        options = list(case_options(node, path)) if node.type == "while_statement" else []
        if options:
            flags.extend(options)  # what such a loop calls $1 and $2 is the option and its value
            continue
        pending.extend(node.children)
        where = f"{path}:{node.start_point.row + 1}"
        text = text_of(node)
        if node.type in ("simple_expansion", "expansion"):
            match = _POSITION.match(text)
            if match is not None and not text.startswith(("${#", "$#")) and int(match.group(1)) > 0:
                place = int(match.group(1))
                known = found.get(place)
                made = shell_argument(node, place, where)
                if known is None or (known.name == str(place) and made.name != str(place)):
                    found[place] = made
            elif text in ("$@", "$*", "${@}", "${*}"):
                passes_on = passes_on or where
        elif node.type == "command" and text.startswith("getopts "):
            spec = text.split()[1].strip("'\"") if len(text.split()) > 1 else ""
            for letter, colon in re.findall(r"([A-Za-z0-9])(:?)", spec):
                argument = Argument(name=letter, flag=f"-{letter}", type="str" if colon else "bool", defined_at=where)
                flags.append(Flag(argument, (f"-{letter}",), action="store" if colon else "store_true"))
    flags.extend(Flag(found[place], nargs=None if found[place].required else "?") for place in sorted(found))
    if passes_on is not None:
        flags.append(Flag(Argument(name="arguments", type="str", defined_at=passes_on), nargs="..."))
    return FlagReport("shell", tuple(flags), allow_abbrev=False)


def case_options(loop: Node, path: str) -> Iterator[Flag]:
    """The options of ``while ...; do case $1 in -n|--name) name=$2; shift 2 ;; esac; done``."""
    if not re.search(r"\bshift\b", text_of(loop)):
        return
    for case in walk(loop):
        value = case.child_by_field_name("value") if case.type == "case_statement" else None
        if value is None or not _OPTION_WORD.fullmatch(text_of(value)):
            continue
        for item in (part for part in case.named_children if part.type == "case_item"):
            body = text_of(item)
            patterns, _, body = body.partition(")")
            options = [word.strip().strip("'\"") for word in patterns.lstrip("( ").split("|")]
            names = tuple(
                dict.fromkeys(word.removesuffix("=*").removesuffix("*") for word in options if _OPTION.match(word))
            )
            if not names or names == ("--",):
                continue
            takes = (
                any(word.endswith("=*") for word in options) or re.search(r"\$\{?2\b|\bshift\s+2\b", body) is not None
            )
            assigned = re.search(r"^\s*(?:export\s+|local\s+)?([A-Za-z_]\w*)=", body, re.MULTILINE)
            long = max(names, key=len)
            argument = Argument(
                name=assigned.group(1) if assigned else long.lstrip("-").replace("-", "_"),
                flag=long,
                type="str" if takes else "bool",
                default=None if takes else False,
                defined_at=f"{path}:{item.start_point.row + 1}",
            )
            yield Flag(argument, names, action="store" if takes else "store_true")


def shell_argument(node: Node, place: int, where: str) -> Argument:
    """``$1``, named by the variable it is assigned to; ``${1:-x}`` has a default."""
    name, current = str(place), node.parent
    while current is not None and current.type in ("string", "concatenation", "raw_string"):
        if len(current.named_children) > 1:
            break
        current = current.parent
    if current is not None and current.type == "variable_assignment":
        name = text_of(current.child_by_field_name("name") or current)
    match = _DEFAULTED.match(text_of(node))
    if match is None:
        return Argument(name=name, type="str", required=True, defined_at=where)
    default = match.group(2).strip("'\"")
    static = "$" not in default and "`" not in default
    return Argument(
        name=name,
        type="str",
        default=default if static else None,
        default_source=None if static else default,
        static=static,
        defined_at=where,
    )
