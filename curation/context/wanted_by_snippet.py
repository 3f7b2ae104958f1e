"""What a Python snippet needs to be understood: the repository's classes and functions that it uses."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice

from tree_sitter import Node

from ..flags.interpreter import Interpreter, Stop
from ..flags.scopes import Lazy, Scope
from ..flags.syntax import calls, children, parse_python, string_value, text_of, walk
from ..flags.values import Class, External, Function, Value
from .index import Index, Wanted
from .wanted_by_script import named_files, of_definition, referenced, statement_ends, stretch, used

__all__ = ["wanted_by_snippet"]

MOST_HOPS = 6
CONVENTIONAL = ("np", "torch", "tf", "nn", "F", "os", "sys", "plt", "pd", "random", "math", "time", "json", "re")
"""Names under which snippets mean well-known packages, whether or not they import them."""


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
    strings = strings_in(root)
    found.extend(named_files(index, folder, strings))
    found.extend(spelled_out(index, modules_behind(reading, [wanted.path for wanted in found]), strings))
    found.extend(
        used(index, reading, [(value.node, value.scope) for value in resolved if value.scope.path != entry], "")
    )
    return found


def strings_in(root: Node) -> list[str]:
    """The short strings that a snippet hands to calls, as registries take them, each once; no keys and no prose."""
    given = (part for call in calls(root) for part in children(call.child_by_field_name("arguments") or call))
    values = (
        (part.child_by_field_name("value") or part) if part.type == "keyword_argument" else part for part in given
    )
    strings = (string_value(value) for value in values if value.type == "string")
    return list(dict.fromkeys(text for text in strings if isinstance(text, str) and 2 < len(text) < 100))


def modules_behind(reading: Interpreter, paths: Sequence[str]) -> list[str]:
    """These Python files, and those of the repository that they import something from."""
    found = dict.fromkeys(path for path in paths if path.endswith(".py"))
    with suppress(Stop, RecursionError):
        for path in list(found):
            for value in reading.module(path).variables.values():
                if isinstance(value, (Lazy, Function, Class)):
                    found.setdefault(value.path if isinstance(value, Lazy) else value.scope.path)
    return list(found)


def spelled_out(index: Index, paths: Iterable[str], strings: Sequence[str]) -> Iterator[Wanted]:
    """Where the modules that a snippet imports hold its strings, as a string or a keyword: beside them stand others."""
    for path in paths if strings else ():
        source = index.source(path) if path.endswith(".py") else b""
        for text in strings:
            literal = text.encode("utf-8", "replace")
            if literal not in source:
                continue
            pattern = rb"['\"]" + re.escape(literal) + rb"['\"]|\b" + re.escape(literal) + rb"\s*="
            for match in islice(re.finditer(pattern, source), 2):
                line = source.count(b"\n", 0, match.start()) + 1
                yield Wanted(path, max(1, line - 6), line + 6, line + 12, f"values like {text}", 60)


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
    callees = [text_of(call.child_by_field_name("function") or call) for call in calls(root)]
    callees = [callee for callee in callees if callee.split(".", 1)[0] not in CONVENTIONAL]
    called = {callee.rsplit(".", 1)[-1] for callee in callees}
    strings = set(strings_in(root))
    names = {name for name in called | strings if name not in known and len(name) > 2}
    for places in index.registered(strings).values():
        for path, definition in places[:2]:
            yield of_definition(path, definition, 130)
    methods = {callee.rsplit(".", 1)[-1] for callee in callees if "." in callee}
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
