"""The arguments of programs without a framework: getopt and ``sys.argv``."""

from __future__ import annotations

import re

from tree_sitter import Node

from ...core.models import Argument
from .interpreter import Interpreter
from .parsers import with_default
from .report import Flag, FlagReport
from .syntax import children, text_of, walk
from .values import Const, items_of

__all__ = ["read_argv", "read_getopt"]


def read_getopt(reading: Interpreter, path: str, root: Node) -> FlagReport:
    """The options of ``getopt.getopt(words, "hi:", ["ifile="])``."""
    reading.module(path)
    flags: dict[str, Flag] = {}
    unresolved: list[str] = []
    for word, given in reading.definitions:
        if not word.endswith("getopt"):
            continue
        values = [value for value, _ in given.positional] + [
            given.keywords[key][0] for key in ("shortopts", "longopts") if key in given.keywords
        ]
        short = values[1] if len(values) > 1 else None
        long = items_of(values[2]) if len(values) > 2 else []
        if len(values) > 2 and isinstance(values[2], Const) and isinstance(values[2].value, str):
            long = [values[2]]
        if not isinstance(short, Const) or not isinstance(short.value, str) or long is None:
            unresolved.append(f"{given.where}: the options of {text_of(given.node)[:80]}")
            continue
        specs = [(f"-{letter}", bool(colon)) for letter, colon in re.findall(r"([A-Za-z0-9?])(:?)", short.value)]
        for item in long:
            if isinstance(item, Const) and isinstance(item.value, str):
                specs.append((f"--{item.value.rstrip('=')}", item.value.endswith("=")))
            else:
                unresolved.append(f"{given.where}: a long option")
        for option, takes in specs:
            argument = Argument(
                name=option.lstrip("-").replace("-", "_"),
                flag=option,
                type="str" if takes else "bool",
                default=None if takes else False,
                defined_at=given.where,
            )
            flags.setdefault(option, Flag(argument, (option,), action="store" if takes else "store_true"))
    return (
        FlagReport("getopt", tuple(flags.values()), not unresolved, tuple(unresolved))
        if flags or unresolved
        else FlagReport()
    )


def read_argv(reading: Interpreter, path: str, root: Node) -> FlagReport:
    """The places of ``sys.argv`` that a program looks at, named by the variables it puts them in."""
    found: dict[int, Argument] = {}
    rest: Argument | None = None
    guarded = "len(sys.argv)" in text_of(root) or "len(argv)" in text_of(root)
    for node in walk(root):
        owner = node.child_by_field_name("value") if node.type == "subscript" else None
        if owner is None or text_of(owner) not in ("sys.argv", "argv"):
            if node.type == "assignment":
                unpacked(node, path, found)
            continue
        index = node.child_by_field_name("subscript")
        where = f"{path}:{node.start_point.row + 1}"
        if index is not None and index.type == "integer" and 0 < int(text_of(index)) < 100:
            place = int(text_of(index))
            known = found.get(place)
            if known is None or known.name.startswith("argument"):
                found[place] = argv_argument(node, place, where, reading, guarded)
        elif index is not None and index.type == "slice" and text_of(index).strip("0123456789") == ":" and rest is None:
            name, kind, _, _ = target_of(node)
            rest = Argument(name=name or "arguments", type=kind, defined_at=where)
    flags = [Flag(found[place], nargs=None if found[place].required else "?") for place in sorted(found)]
    if rest is not None and not flags:
        flags.append(Flag(rest, nargs="*"))
    return FlagReport("argv", tuple(flags), allow_abbrev=False) if flags else FlagReport()


def argv_argument(node: Node, place: int, where: str, reading: Interpreter, guarded: bool) -> Argument:
    name, kind, default, conditional = target_of(node)
    required = not (conditional or (guarded and within_if(node)))
    argument = Argument(name=name or f"argument{place}", type=kind, required=required, defined_at=where)
    if default is not None:
        argument = with_default(argument, reading.evaluate(default, reading.module(reading.entry)), text_of(default))
    return argument


def target_of(node: Node) -> tuple[str | None, str, Node | None, bool]:
    """The variable a word ends up in, its type by the conversion around it, its default, and whether it may lack."""
    kind, default, conditional = "str", None, False
    current: Node | None = node.parent
    inner = word = node
    while current is not None and current.type in (
        "call",
        "argument_list",
        "conditional_expression",
        "parenthesized_expression",
        "keyword_argument",
    ):
        if current.type == "call":
            callee = text_of(current.child_by_field_name("function") or current)
            kind = callee if callee in ("int", "float", "bool") else kind
            parameter = parameter_of(current, callee, word)
            if parameter is not None:
                return parameter, kind, default, conditional
        elif current.type == "conditional_expression":
            parts = children(current)
            default, conditional = (parts[2] if parts[0] == inner else parts[0]), True
        elif current.type == "keyword_argument":
            return text_of(current.child_by_field_name("name") or current), kind, default, conditional
        word = inner if current.type == "argument_list" else word
        inner, current = current, current.parent
    left = current.child_by_field_name("left") if current is not None and current.type == "assignment" else None
    alone = left is not None and current is not None and len(re.findall(r"\bargv\[\d", text_of(current))) == 1
    name = text_of(left).rsplit(".", 1)[-1] if alone and left and left.type in ("identifier", "attribute") else None
    return name, kind, default, conditional


def parameter_of(call: Node, callee: str, word: Node) -> str | None:
    """What a function of the same file calls the word that it is given here by its place."""
    root = call
    while root.parent is not None:
        root = root.parent
    for part in root.named_children:
        node = part.child_by_field_name("definition") or part
        name, parameters = node.child_by_field_name("name"), node.child_by_field_name("parameters")
        if node.type == "function_definition" and parameters and name and text_of(name) == callee:
            place = children(word.parent).index(word) if word.parent is not None else 0
            names = [text_of(part.child_by_field_name("name") or part) for part in children(parameters)]
            return names[place] if place < len(names) and names[place].isidentifier() else None
    return None


def within_if(node: Node) -> bool:
    current = node.parent
    while current is not None:
        if current.type == "if_statement" and "argv)" in text_of(current.child_by_field_name("condition") or current):
            return True
        current = current.parent
    return False


def unpacked(node: Node, path: str, found: dict[int, Argument]) -> None:
    """``_, source, target = sys.argv`` and ``source, target = sys.argv[1:]``."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or left.type not in ("pattern_list", "tuple_pattern"):
        return
    start = {"sys.argv": 0, "sys.argv[1:]": 1}.get(text_of(right).replace(" ", ""))
    if start is not None:
        for place, target in enumerate(children(left), start):
            if place > 0 and target.type == "identifier":
                where = f"{path}:{target.start_point.row + 1}"
                found[place] = Argument(name=text_of(target), type="str", required=True, defined_at=where)
