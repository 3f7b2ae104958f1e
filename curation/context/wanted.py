"""What one entry point or snippet needs to be understood: stretches of files, each with how much it is worth."""

from __future__ import annotations

import posixpath
import re
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice

from tree_sitter import Node

from ...core.models import Argument
from ..flags import FlagReport, flags_of
from ..flags.interpreter import Interpreter, Stop
from ..flags.reading import reading_of
from ..flags.scopes import Lazy, Scope
from ..flags.syntax import calls, children, parse_python, string_value, text_of, walk
from ..flags.values import Class, External, Function, Value
from .index import Definition, Index, Wanted

__all__ = ["named_file", "wanted_by_script", "wanted_by_snippet"]

MOST_DEFINITIONS = 60
MOST_HOPS = 6
_CONFIGURATIONS = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini", ".gin")
_STATEMENTS = frozenset({"expression_statement", "call", "decorator", "typed_default_parameter"})


# Scripts


def wanted_by_script(index: Index, path: str, arguments: Sequence[Argument]) -> list[Wanted]:
    """The parser, the main path, what it uses, and where argument values are told apart, for the program ``path``."""
    given = {argument.name for argument in arguments if argument.value is not None}
    found = list(parser_statements(index, flags_of(index.files, path), given))
    found.extend(whole_program(index, path))
    if not any(wanted.path == path for wanted in found):
        found.extend(script_lines(index, path))
    reached = dict.fromkeys([path, *(wanted.path for wanted in found)])
    found.extend(value_lines(index, reached, arguments))
    found.extend(named_files(index, posixpath.dirname(path), arguments))
    return found


def named_files(index: Index, folder: str, arguments: Sequence[Argument]) -> Iterator[Wanted]:
    """The configuration files of the repository that a command's values name: much of what it does stands in them."""
    for argument in arguments:
        path = named_file(index, folder, argument.value)
        if path is not None:
            lines = index.source(path).count(b"\n")
            yield Wanted(path, 1, min(lines, 40), lines, f"file of {argument.name}", 75)


def named_file(index: Index, folder: str, value: object) -> str | None:
    """The configuration file that a value names, as seen from the root or else from the program's ``folder``."""
    if isinstance(value, str) and value.endswith(_CONFIGURATIONS):
        for base in dict.fromkeys(("", folder)):
            path = posixpath.normpath(posixpath.join(base, value))
            if b"\n" in index.source(path):
                return path
    return None


def whole_program(index: Index, path: str) -> list[Wanted]:
    """What does not depend on a command's values, worked out once for each program."""
    known = index.programs.get(path)
    if known is None:
        known = index.programs[path] = main_path(index, path) if path.endswith(".py") else script_lines(index, path)
    return known


def script_lines(index: Index, path: str) -> list[Wanted]:
    """A shell script, or a program that is one run of statements, as a whole."""
    lines = index.source(path).count(b"\n") + 1
    return [Wanted(path, 1, min(lines, 60), lines, path.rsplit("/", 1)[-1], 90)]


def main_path(index: Index, path: str) -> list[Wanted]:
    """Where a Python program begins, and the definitions it uses."""
    reading = reading_of(index.files, path)
    try:
        scope = reading.module(path)
    except (Stop, RecursionError):
        return []
    root = parse_python(index.source(path)).root_node
    starts = main_nodes(root, scope)
    found = list(main_stretches(index, path, starts))
    found.extend(used(index, reading, [(node, scope) for node in starts], path))
    return found


def parser_statements(index: Index, report: FlagReport, given: set[str]) -> Iterator[Wanted]:
    """The statements that define the flags: neighbours together, those that the command gives first."""
    places: dict[str, dict[int, bool]] = {}
    reports = [report, *report.subcommands.values()]
    for flag in [flag for each in reports for flag in each.flags]:
        where = flag.argument.defined_at
        if where is not None:
            path, _, line = where.rpartition(":")
            lines = places.setdefault(path, {})
            lines[int(line)] = lines.get(int(line), False) or flag.argument.name in given
    for path, lines in places.items():
        ends = statement_ends(index, path, lines)
        for start, end, is_given in neighbours([(line, ends.get(line, line), lines[line]) for line in sorted(lines)]):
            around = index.around(path, start) if path.endswith(".py") else None
            name = around.name if around is not None else path.rsplit("/", 1)[-1]
            yield Wanted(path, start, end, end, f"flags of {name}", 200 if is_given else 120)


def statement_ends(index: Index, path: str, lines: Iterable[int]) -> dict[int, int]:
    """The last line of the statement or call that begins at each line."""
    wanted = sorted(lines)
    key = (path, tuple(wanted))
    if key in index.ends:
        return index.ends[key]
    ends = index.ends[key] = {}
    stack = [parse_python(index.source(path)).root_node] if path.endswith(".py") else []
    while stack:
        node = stack.pop()
        first, last = node.start_point[0] + 1, node.end_point[0] + 1
        place = bisect_left(wanted, first)
        if place == len(wanted) or wanted[place] > last:
            continue  # nothing that is wanted begins in here
        if wanted[place] == first and node.type in _STATEMENTS:
            ends[first] = max(ends.get(first, first), last)
        stack.extend(node.named_children)
    return ends


def neighbours(statements: list[tuple[int, int, bool]]) -> Iterator[tuple[int, int, bool]]:
    """Statements with at most two lines between them as one stretch, while all or none of them is given."""
    current: tuple[int, int, bool] | None = None
    for start, end, given in statements:
        if current is not None and start - current[1] <= 3 and given == current[2]:
            current = (current[0], max(end, current[1]), given)
        else:
            if current is not None:
                yield current
            current = (start, end, given)
    if current is not None:
        yield current


def main_nodes(root: Node, scope: Scope) -> list[Node]:
    """The ``__main__`` block and the functions of the file that it calls, else the top level's statements."""
    blocks = [
        node
        for node in root.children
        if node.type == "if_statement" and "__main__" in text_of(node.child_by_field_name("condition") or node)
    ]
    starts = list(blocks)
    names = {text_of(call.child_by_field_name("function") or call) for block in blocks for call in calls(block)}
    # ``app.run(main)``, ``mp.spawn(worker, ...)``: names handed over are called as well.
    names |= {text_of(node) for block in blocks for node in walk(block) if node.type == "identifier"}
    if not blocks or any("app.run" in text_of(block) for block in blocks):
        names.add("main")
    if not blocks:
        starts = [
            node for node in root.children if node.type in ("expression_statement", "for_statement", "with_statement")
        ]
    for name in sorted(names):
        value = scope.variables.get(name)
        if isinstance(value, Function) and value.scope is scope:
            starts.append(value.node)
    return starts


def main_stretches(index: Index, path: str, starts: Sequence[Node]) -> Iterator[Wanted]:
    for node in starts:
        start, end = node.start_point[0] + 1, node.end_point[0] + 1
        if node.type == "function_definition":
            definition = index.around(path, start)
            header = definition.header_line if definition is not None else start
            name = text_of(node.child_by_field_name("name") or node)
            yield Wanted(path, start, max(header, min(end, start + 40)), end, name, 80)
        elif node.type == "if_statement":
            yield Wanted(path, start, min(end, start + 40), end, "__main__", 85)


def used(index: Index, reading: Interpreter, starts: Sequence[tuple[Node, Scope]], path: str) -> Iterator[Wanted]:
    """The functions and classes of the repository that are called, and what those call, nearest first."""
    level, seen, count = list(starts), set[tuple[str, int]](), 0
    folder = posixpath.dirname(reading.entry)  # programs of one folder mean the same files by their imports
    for worth in (50.0, 20.0):
        following: list[tuple[Node, Scope]] = []
        counted: dict[tuple[str, int], tuple[Function | Class, int]] = {}
        for node, scope in level:
            place = (folder, scope, node.start_byte)
            if place not in index.referenced:
                index.referenced[place] = list(referenced(reading, node, scope))
            for value in index.referenced[place]:
                key = (value.scope.path, value.node.start_byte)
                counted[key] = (value, counted.get(key, (value, 0))[1] + 1)
        for key, (value, times) in counted.items():
            if key in seen or count >= MOST_DEFINITIONS:
                continue
            seen.add(key)
            count += 1
            near = 5.0 if value.scope.path == path else 0.0
            yield stretch(index, value, worth + near + min(times, 5))
            following.append((value.node, value.scope))
        level = following


def referenced(reading: Interpreter, node: Node, scope: Scope) -> Iterator[Function | Class]:
    """What the calls in ``node`` lead to."""
    for call in calls(node):
        callee = call.child_by_field_name("function")
        if callee is None or callee.type not in ("identifier", "attribute") or len(text_of(callee)) > 200:
            continue
        try:
            value = reading.evaluate(callee, scope)
        except (Stop, RecursionError):
            return
        if isinstance(value, (Function, Class)) and value.node.type != "lambda":
            yield value


def stretch(index: Index, value: Function | Class, worth: float) -> Wanted:
    path, line = value.scope.path, value.node.start_point[0] + 1
    for definition in index.of(path).definitions if path.endswith(".py") else ():
        if (
            definition.start_line <= line <= definition.header_line
            and definition.end_line == value.node.end_point[0] + 1
        ):
            return of_definition(path, definition, worth)
    end = value.node.end_point[0] + 1
    return Wanted(
        path, line, min(end, line + 5), end, text_of(value.node.child_by_field_name("name") or value.node), worth
    )


def of_definition(path: str, definition: Definition, worth: float) -> Wanted:
    return Wanted(path, definition.start_line, definition.header_line, definition.end_line, definition.qualified, worth)


def value_lines(index: Index, paths: Iterable[str], arguments: Sequence[Argument]) -> Iterator[Wanted]:
    """Lines that tell an argument's values apart: ``args.model == "x"``, ``{"x": ...}[args.model]``, a dict's keys."""
    open_ended = [a for a in arguments if a.choices is None and a.type in ("str", None) and isinstance(a.value, str)]
    told = [(argument.name, argument.value) for argument in open_ended if argument.value]
    for path in paths:
        for name, value in told if path.endswith(".py") else ():
            key = (path, name, value)
            if key not in index.hits:
                source = index.source(path)
                may_tell = f".{name}".encode() in source or value.encode("utf-8", "replace") in source
                found = islice(telling(name, value).finditer(source), 4) if may_tell else ()
                index.hits[key] = tuple(source.count(b"\n", 0, match.start()) + 1 for match in found)
            for line in index.hits[key]:
                yield Wanted(path, max(1, line - 2), line + 2, line + 2, f"values of {name}", 60)


@lru_cache(maxsize=4096)
def telling(name: str, value: str) -> re.Pattern[bytes]:
    """Lines that compare or look up the argument ``name``, or hold ``value`` as a string."""
    attribute, literal = re.escape(name.encode()), re.escape(value.encode("utf-8", "replace"))
    compared = rb"\." + attribute + rb"\b[^\n]{0,200}?(?:==|!=|\bin\b|\]|lower\(|startswith)"
    looked_up = rb"\[[^\]\n]{0,200}\." + attribute + rb"\b"
    return re.compile(compared + rb"|" + looked_up + rb"|['\"]" + literal + rb"['\"]")


# Snippets


def wanted_by_snippet(index: Index, snippet: str, folder: str) -> list[Wanted]:
    """The classes and functions of the repository that a Python snippet uses, wherever they are defined.

    ``folder`` is where the snippet runs. Imports are followed first, through packages that re-export; a name that they
    do not lead to, and a name given as a string (as registries take them), is looked for in the whole repository.
    """
    entry = f"{folder.strip('./')}/<snippet>".lstrip("/")
    reading = Interpreter(index.files, entry)
    scope = Scope(entry, {})
    root = parse_python(snippet.encode()).root_node
    with suppress(Stop, RecursionError):
        reading.block(children(root), scope)
    found: list[Wanted] = []
    methods = {
        text_of(attribute)
        for call in calls(root)
        if (callee := call.child_by_field_name("function")) is not None
        and callee.type == "attribute"
        and (attribute := callee.child_by_field_name("attribute")) is not None
    }
    imported = {text_of(node) for node in walk(root) if node.type == "identifier"}
    resolved: list[Function | Class] = list(referenced(reading, root, scope))
    for name in sorted(imported & set(scope.variables)):
        value = reading.lookup(name, scope)
        if isinstance(value, (Function, Class)) and value.node.type != "lambda" and value.scope is not scope:
            resolved.append(value)
    seen: set[tuple[str, int]] = set()
    for value in resolved:
        key = (value.scope.path, value.node.start_byte)
        if key not in seen and value.scope.path != entry:
            seen.add(key)
            found.append(stretch(index, value, 150))
            found.extend(members(index, reading, value, methods))
            found.extend(demonstration(index, value.scope.path))
    found.extend(imported_data(index, reading, scope))
    found.extend(renamed(index, reading, scope))
    found.extend(elsewhere(index, root, scope, {name for wanted in found for name in [wanted.symbol.split(".")[0]]}))
    found.extend(
        used(index, reading, [(value.node, value.scope) for value in resolved if value.scope.path != entry], "")
    )
    return found


def imported_data(index: Index, reading: Interpreter, scope: Scope) -> Iterator[Wanted]:
    """Where an imported name that is neither function nor class gets its value; what ``import *`` may bring."""
    for value in scope.variables.values():
        for _ in range(MOST_HOPS):
            following = reading.module(value.path).variables.get(value.name) if isinstance(value, Lazy) else None
            if not isinstance(following, Lazy):
                break
            value = following
        if not isinstance(value, Lazy) or isinstance(reading.opened(value), (Function, Class)):
            continue
        assigned = re.search(
            rb"^" + re.escape(value.name.encode()) + rb"\s*[:=]", index.source(value.path), re.MULTILINE
        )
        if assigned is not None:
            line = index.source(value.path).count(b"\n", 0, assigned.start()) + 1
            end = statement_ends(index, value.path, [line]).get(line, line)
            yield Wanted(value.path, line, min(end, line + 20), end, value.name, 130)
    for path in scope.stars:
        lines = index.source(path).count(b"\n")
        if lines:
            yield Wanted(path, 1, min(lines, 20), min(lines, 60), path.rsplit("/", 1)[-1], 65)


def renamed(index: Index, reading: Interpreter, scope: Scope) -> Iterator[Wanted]:
    """What a snippet imports under a name that the package has only once it is installed.

    A setup script may map a folder to another name. So the last part of ``installed.attention.SGE.Block`` is looked
    for, in files whose path has one of the parts in between.
    """
    wanted: dict[str, set[str]] = {}
    for name in scope.variables:
        value = reading.lookup(name, scope)
        parts = value.dotted.split(".") if isinstance(value, External) else []
        if len(parts) > 2 and parts[0] not in sys.stdlib_module_names:
            wanted.setdefault(parts[-1], set()).update(parts[1:-1])
    for name, places in index.defining(wanted).items():
        shared = [len(wanted[name] & set(path.removesuffix(".py").split("/"))) for path, _ in places]
        fitting = [place for place, count in zip(places, shared, strict=True) if count and count == max(shared)]
        for path, definition in fitting if len(fitting) <= 2 else ():
            yield of_definition(path, definition, 145.0)
            yield from demonstration(index, path)


def members(index: Index, reading: Interpreter, value: Value, methods: set[str]) -> Iterator[Wanted]:
    """The constructor of a class, and those of its methods that the snippet calls, its bases' included."""
    if not isinstance(value, Class):
        return
    for name in ("__init__", "forward", "__call__", *sorted(methods)):
        member = reading.class_member(value, name)
        if isinstance(member, Function) and member.node.type != "lambda":
            yield stretch(index, member, 140 if name in ("__init__", *methods) else 100)


def demonstration(index: Index, path: str) -> Iterator[Wanted]:
    """How a file itself shows what it defines: its ``__main__`` block."""
    for node in parse_python(index.source(path)).root_node.children:
        if node.type == "if_statement" and "__main__" in text_of(node.child_by_field_name("condition") or node):
            start, end = node.start_point[0] + 1, node.end_point[0] + 1
            yield Wanted(path, start, min(end, start + 15), end, "__main__", 90)


def elsewhere(index: Index, root: Node, scope: Scope, known: set[str]) -> Iterator[Wanted]:
    """Definitions found by name: names called that no import explains, and strings that name something."""
    called = {text_of(call.child_by_field_name("function") or call).rsplit(".", 1)[-1] for call in calls(root)}
    strings = {value for node in walk(root) if node.type == "string" and isinstance(value := string_value(node), str)}
    names = {name for name in called | strings if name not in known and len(name) > 2}
    for places in index.registered(strings).values():
        for path, definition in places[:2]:
            yield of_definition(path, definition, 130)
    methods = {text_of(call.child_by_field_name("function") or call) for call in calls(root)}
    methods = {name.rsplit(".", 1)[-1] for name in methods if "." in name}
    for places in index.methods(methods).values():
        # A name that many classes have says nothing about which of them is meant.
        for path, definition in places if len(places) <= 2 else ():
            yield of_definition(path, definition, 100.0 / len(places))
    for name, places in index.defining(names).items():
        certain = 110.0 if name in strings else 70.0
        if name in scope.variables and name not in strings:
            continue
        for path, definition in places[:2] if len(places) <= 4 else ():
            yield of_definition(path, definition, certain / len(places))
