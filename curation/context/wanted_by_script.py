"""What one program needs to be understood: stretches of files, each with how much it is worth."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

from tree_sitter import Node

from ...core.models import Argument
from ..flags import FlagReport, flags_of
from ..flags.interpreter import Interpreter, Stop
from ..flags.reading import reading_of
from ..flags.scopes import Scope
from ..flags.syntax import calls, parse_python, text_of, walk
from ..flags.values import Class, Function
from .index import CONFIGURATIONS, Definition, Index, Wanted

__all__ = [
    "named_file",
    "named_files",
    "of_definition",
    "referenced",
    "statement_ends",
    "stretch",
    "used",
    "wanted_by_script",
]

MOST_DEFINITIONS = 60
_NO_RUN = frozenset(
    {
        "import_statement",
        "import_from_statement",
        "future_import_statement",
        "function_definition",
        "class_definition",
        "decorated_definition",
    }
)
_PROGRAM = re.compile(rb"(?<![\w./-])(?:\./)?([\w.-]+(?:/[\w.-]+)*\.py)\b")
_ENTERED = re.compile(rb"^\s*cd\s+[\"']?([\w./-]+)", re.MULTILINE)
_STATEMENTS = frozenset({"expression_statement", "call", "decorator", "typed_default_parameter"})


def wanted_by_script(index: Index, path: str, arguments: Sequence[Argument]) -> list[Wanted]:
    """The parser, the main path, what it uses, and where argument values are told apart, for the program ``path``."""
    given = {argument.name for argument in arguments if argument.value is not None}
    found = list(parser_statements(index, flags_of(index.files, path), given))
    found.extend(whole_program(index, path))
    if not any(wanted.path == path for wanted in found):
        found.extend(script_lines(index, path))
    reached = dict.fromkeys([path, *(wanted.path for wanted in found)])
    found.extend(value_lines(index, reached, arguments))
    found.extend(value_definitions(index, [argument.value for argument in arguments]))
    found.extend(named_files(index, posixpath.dirname(path), [argument.value for argument in arguments]))
    return found


def named_files(index: Index, folder: str, values: Iterable[object]) -> Iterator[Wanted]:
    """The configuration files of the repository that values name: much of what a program does stands in them."""
    for value in values:
        path = named_file(index, folder, value)
        if path is not None:
            lines = index.source(path).count(b"\n")
            yield Wanted(path, 1, min(lines, 40), lines, posixpath.basename(path), 75)


def value_definitions(index: Index, values: Iterable[object]) -> Iterator[Wanted]:
    """Functions and classes that values name, as registries take them, by their own name or a registered one."""
    names = {part for value in values if isinstance(value, str) for part in value.split(",") if part.isidentifier()}
    for places in index.registered(names).values():
        for path, definition in places[:2]:
            yield of_definition(path, definition, 65)
    for places in index.defining(name for name in names if len(name) > 3).values():
        # A name that many files define says nothing about which of them is meant.
        for path, definition in places if len(places) <= 2 else ():
            yield of_definition(path, definition, 65 / len(places))


def named_file(index: Index, folder: str, value: object) -> str | None:
    """The configuration file that a value names: by its path from the root or ``folder``, or by its bare name."""
    if isinstance(value, str) and value.endswith(CONFIGURATIONS):
        for base in dict.fromkeys(("", folder)):
            path = posixpath.normpath(posixpath.join(base, value))
            if b"\n" in index.source(path):
                return path
    same = index.configurations.get(value, ()) if isinstance(value, str) else ()
    return same[0] if len(same) == 1 else None


def whole_program(index: Index, path: str) -> list[Wanted]:
    """What does not depend on a command's values, worked out once for each program."""
    known = index.programs.get(path)
    if known is None:
        known = (
            main_path(index, path) if path.endswith(".py") else [*script_lines(index, path, 130), *started(index, path)]
        )
        index.programs[path] = known
    return known


def script_lines(index: Index, path: str, worth: float = 90) -> list[Wanted]:
    """A shell script, or a program that is one run of statements, as a whole."""
    lines = index.source(path).count(b"\n") + 1
    return [Wanted(path, 1, min(lines, 60), lines, path.rsplit("/", 1)[-1], worth)]


def started(index: Index, script: str) -> Iterator[Wanted]:
    """The flags and the beginning of the Python programs that a shell script starts."""
    source, home = index.source(script), posixpath.dirname(script)
    entered = [word.decode("utf-8", "replace") for word in _ENTERED.findall(source)]
    bases = dict.fromkeys(["", home, *entered, *(posixpath.join(home, folder) for folder in entered)])
    for word in dict.fromkeys(_PROGRAM.findall(source)):
        for base in bases:
            path = posixpath.normpath(posixpath.join(base, word.decode()))
            if path in index.known_paths:
                yield from parser_statements(index, flags_of(index.files, path), set())
                yield from main_path(index, path)
                break


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
    found.extend(top_level(root, path, 85 if not any(node.type == "if_statement" for node in starts) else 45))
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
        if not path.endswith(".py"):  # in a configuration each line needs those that it is nested in
            start, end = (1, max(lines)) if path.endswith(CONFIGURATIONS) else (min(lines), max(lines))
            yield Wanted(path, start, min(end, start + 40), end, f"flags of {posixpath.basename(path)}", 200)
            continue
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


def top_level(root: Node, path: str, worth: float) -> Iterator[Wanted]:
    """The runs of statements outside every function and class: all there is to a plain script, else its constants."""
    run: list[Node] = []
    for node in [*root.children, None]:
        if node is not None and node.type not in _NO_RUN and "__main__" not in text_of(node)[:40]:
            if run or node.type != "comment":
                run.append(node)
        else:
            if run:
                start, end = run[0].start_point[0] + 1, run[-1].end_point[0] + 1
                yield Wanted(path, start, min(end, start + 30), end, path.rsplit("/", 1)[-1], worth)
            run = []


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
    compared = rb"\." + attribute + rb"\s*(?:==|!=|(?:not\s+)?in\s|\]|\.(?:lower|upper|strip|startswith|endswith)\()"
    turned = rb"(?:==|!=)\s*[\w.]{1,80}\." + attribute + rb"\b"
    looked_up = rb"\[[^\]\n]{0,200}\." + attribute + rb"\b"
    return re.compile(compared + rb"|" + turned + rb"|" + looked_up + rb"|['\"]" + literal + rb"['\"]")
