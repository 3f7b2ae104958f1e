"""What a Python snippet really uses: imports, functions called, and the values that reach their parameters.

Values are followed through simple assignments, loops over literals, unpacking and containers. What is only printed,
documented, commented or never reached (``if False``, a function nobody calls, code behind ``exit()``) is no use.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ...curation.flags import SourceFiles
from .folding import DEEPEST, UNKNOWN, Folding
from .memory import memory_of
from .signatures import parameters_of
from .slots import Slot

__all__ = ["UNKNOWN", "Uses", "uses_in"]

_SHOWING = frozenset(
    {"print", "warn", "info", "debug", "warning", "error", "critical", "exception", "log", "write_stderr", "pprint"}
)
_ENDING = frozenset({"exit", "quit", "_exit", "abort"})


@dataclass
class Uses:
    """What was found."""

    slots: list[Slot] = field(default_factory=list)
    parameters: dict[str, list[Any]] = field(default_factory=dict)
    """Keyword parameters of calls with every value given to them, in order; :data:`UNKNOWN` where it is computed."""
    variables: dict[str, Any] = field(default_factory=dict)
    """Variables that are used, with the last value given to each."""
    problem: str = ""
    """Why it could not be read at all."""


def uses_in(code: str, files: SourceFiles | None = None, folder: str = "") -> Uses:
    """Read the snippet; nothing is imported or run. What is given back is shared: it is only to be read.

    With ``files``, values given by position to the repository's own functions count under their parameters' names.
    """
    if files is None:
        return _uses_alone(code)
    memory = memory_of(files)
    if (code, folder) not in memory.snippets:
        memory.keep_snippet((code, folder), _read(code, files, folder))
    return memory.snippets[(code, folder)]


@lru_cache(maxsize=1024)
def _uses_alone(code: str) -> Uses:
    return _read(code, None, "")


def _read(code: str, files: SourceFiles | None, folder: str) -> Uses:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(_plain(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" (line {error.lineno}: {error.msg})" if isinstance(error, SyntaxError) else ""
        return Uses(problem=f"it is no Python{where}")
    reader = _Reader(files, folder)
    try:
        reader.block(tree.body)
    except RecursionError:
        return Uses(problem="an expression is nested too deeply to be read")
    return reader.finish()


def _plain(code: str) -> str:
    """Without a notebook's shell lines."""
    return "\n".join("" if line.lstrip().startswith(("!", "%")) else line for line in code.split("\n"))


class _Reader(Folding):
    def __init__(self, files: SourceFiles | None, folder: str) -> None:
        self.files, self.folder = files, folder
        self.stars: list[str] = []
        self.uses = Uses()
        super().__init__()
        self.functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef] = {}
        self.entered: set[str] = set()
        self.results: set[str] = set()
        self.ended = False

    # statements --------------------------------------------------------------------------------------------

    def block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if self.ended:
                return
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Import():
                for alias in node.names:
                    self._imported(alias.name, "", alias.asname or alias.name.split(".")[0])
            case ast.ImportFrom():
                for alias in node.names:
                    self._imported("." * node.level + (node.module or ""), alias.name, alias.asname or alias.name)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self.functions[node.name] = node
                for decorator in node.decorator_list:
                    self.expression(decorator)
            case ast.Assign():
                self.expression(node.value)
                for target in node.targets:
                    self._bind(target, node.value)
            case ast.AnnAssign():
                if node.value is not None:
                    self.expression(node.value)
                    self._bind(node.target, node.value)
            case ast.AugAssign():
                self.expression(node.value)
                self._bind(node.target, None)
            case ast.Expr():
                self.expression(node.value)
            case ast.If():
                self._if(node)
            case ast.For() | ast.AsyncFor():
                self.expression(node.iter)
                self._bind_each(node.target, node.iter)
                self.block(node.body)
                self.block(node.orelse)
            case ast.While():
                if self._truth(node.test) is not False:
                    self.expression(node.test)
                    self.block(node.body)
                self.block(node.orelse)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self.expression(item.context_expr)
                    if item.optional_vars is not None:
                        self._bind(item.optional_vars, item.context_expr)
                self.block(node.body)
            case ast.Try() | ast.TryStar():
                for part in (node.body, node.orelse, node.finalbody):
                    self.block(part)
            case ast.Raise():
                self.ended = True
            case ast.Assert():
                self.expression(node.test)
            case ast.Return():
                if node.value is not None:
                    self.expression(node.value)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.expression(child)

    def _if(self, node: ast.If) -> None:
        truth = self._truth(node.test)
        self.expression(node.test)
        before = self.ended
        if truth is not False:
            self.block(node.body)
        branch_ended, self.ended = self.ended, before
        if truth is not True:
            self.block(node.orelse)
        self.ended = (branch_ended and truth is True) or self.ended

    def _truth(self, test: ast.expr) -> bool | None:
        """Whether a condition holds, where that is plain: constants, and being the main program."""
        if isinstance(test, ast.Constant):
            return bool(test.value)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self._truth(test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__":
            same = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value == "__main__"
            return same if isinstance(test.ops[0], ast.Eq) else None
        if isinstance(test, ast.Name) and isinstance(self.values.get(test.id), ast.Constant):
            return bool(self.values[test.id].value)  # type: ignore[union-attr]
        return None

    def _imported(self, module: str, name: str, local: str) -> None:
        dotted = f"{module}.{name}" if name and name != "*" else module
        if name == "*":
            self.stars.append(module)
        self.aliases[local] = dotted
        self.uses.slots += [Slot(f"import {dotted}", part, "name") for part in dotted.split(".") if part]

    # values ------------------------------------------------------------------------------------------------

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self.values[target.id] = value
            if isinstance(value, ast.Call):
                self.results.add(target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            matched = len(parts) == len(target.elts)
            for at, inner in enumerate(target.elts):
                self._bind(inner, parts[at] if matched else None)
        elif isinstance(target, ast.Attribute) and value is not None:
            self._give(target.attr, value, f"attribute {target.attr}")
        elif isinstance(target, ast.Subscript) and value is not None:
            index = target.slice.value if isinstance(target.slice, ast.Constant) else None
            if isinstance(index, str):
                self._give(index, value, f"key {index}")

    def _bind_each(self, target: ast.expr, iterable: ast.expr) -> None:
        if isinstance(iterable, ast.Name):
            iterable = self.values.get(iterable.id) or iterable
        if isinstance(target, ast.Name) and isinstance(iterable, (ast.List, ast.Tuple)):
            self.values[target.id] = iterable
        else:
            self._bind(target, None)

    # expressions -------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> None:
        """Note every call inside, with what reaches it."""
        loops = [part for part in ast.walk(node) if isinstance(part, ast.comprehension)]
        outside = dict(self.values) if loops else self.values
        for loop in loops:
            self._bind_each(loop.target, loop.iter)
        for call in _calls(node):
            self._call(call)
        self.values = outside  # a comprehension's variables end with it
        for name in _names(node):
            self._enter(name)
        if isinstance(node, ast.Name):
            self._reached(node)

    def _call(self, node: ast.Call) -> None:
        name = self.callee(node.func)
        last = name.rpartition(".")[2]
        if last in _ENDING and (name in _ENDING or name.startswith(("sys.", "os."))):
            self.ended = True
            return
        if last in _SHOWING:
            return
        for part in name.split("."):
            if part:
                self.uses.slots.append(Slot(f"call {last}", part, "name"))
        names = self._parameters(name) if node.args else ()
        for at, argument in enumerate(node.args):
            starred = isinstance(argument, ast.Starred)
            if starred:
                names = ()
            if at < len(names):
                self._give(names[at], argument, f"{last} {names[at]}")
                continue
            inner = argument.value if isinstance(argument, ast.Starred) else argument
            key = f"{last} argument {at + 1}"
            value = self.value(inner)
            self._slot(key, value)
            self._contents(inner, key)
            if starred and isinstance(value, list):
                for item in value:
                    self._slot(key, item)
        numbers = [self.value(argument) for argument in node.args]
        if len(numbers) > 1 and all(isinstance(item, (int, float)) for item in numbers):
            self._slot(f"{last} arguments", numbers)
        for keyword in node.keywords:
            if keyword.arg is None:
                self._contents(keyword.value, f"{last} keywords")
                if isinstance(keyword.value, ast.Name):
                    self._unpacked(self.values.get(keyword.value.id))
                else:
                    self._unpacked(keyword.value)
            else:
                self._give(keyword.arg, keyword.value, f"{last} {keyword.arg}")

    def _parameters(self, callee: str) -> tuple[str, ...]:
        """The positional parameters of a function of the repository; empty for any other."""
        if self.files is None:
            return ()
        places = [callee] if "." in callee else [f"{module}.{callee}" for module in self.stars]
        found = (parameters_of(self.files, place, self.folder) for place in places)
        return next((names for names in found if names is not None), ())

    def _unpacked(self, node: ast.expr | None) -> None:
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    self._give(key.value, value, f"keyword {key.value}")
        elif isinstance(node, ast.Call) and self.callee(node.func) == "dict":
            for keyword in node.keywords:
                if keyword.arg:
                    self._give(keyword.arg, keyword.value, f"keyword {keyword.arg}")

    def _give(self, name: str, node: ast.expr, key: str) -> None:
        value = self.value(node)
        self.uses.parameters.setdefault(name, []).append(value)
        self.uses.slots.append(Slot(key, name, "name"))
        self._slot(key, value)
        self._contents(node, key)

    def _contents(self, node: ast.expr, key: str) -> None:
        """What stands inside an argument: names with their values, containers, keys."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                self._reached(inner, key)
            elif isinstance(inner, ast.Dict):
                for name, value in zip(inner.keys, inner.values, strict=True):
                    if isinstance(name, ast.Constant) and isinstance(name.value, str):
                        self.uses.slots.append(Slot(f"{key} key", name.value, "name"))
                        self.uses.parameters.setdefault(name.value, []).append(self.value(value))
                        self._slot(f"{key} {name.value}", self.value(value))
            elif isinstance(inner, (ast.List, ast.Tuple, ast.Constant, ast.BinOp, ast.JoinedStr)) and inner is not node:
                self._slot(key, self.value(inner))

    def _reached(self, node: ast.Name, key: str = "") -> None:
        name, seen = node.id, 0
        held = self.values.get(name)
        if name not in self.values or (key and name in self.uses.variables and self.uses.variables[name] is held):
            return
        self.uses.variables[name] = self.value(held)
        if held is not None and not isinstance(held, ast.Call) and seen < DEEPEST:
            self._slot(key or f"variable {name}", self.value(held))
            if not isinstance(held, ast.Name) or held.id != name:
                for inner in _names(held):
                    if inner != name and inner not in self.uses.variables:
                        self._reached(ast.Name(inner, ast.Load()), key)
                for dictionary in (part for part in ast.walk(held) if isinstance(part, ast.Dict)):
                    self._contents(dictionary, key or f"variable {name}")

    def _slot(self, key: str, value: Any) -> None:
        if value is UNKNOWN or value is None:
            return
        if isinstance(value, list):
            known = [item for item in value if item is not UNKNOWN]
            self.uses.slots.append(Slot(key, known if len(known) != len(value) else value))
            return
        if isinstance(value, bytes):
            return
        prose = isinstance(value, str) and len(value.split()) > 3
        self.uses.slots.append(Slot(key, value, "prose" if prose else "value"))

    def _enter(self, name: str) -> None:
        """Follow a function or class of the snippet the first time it is named."""
        node = self.functions.get(name)
        if node is None or name in self.entered:
            return
        self.entered.add(name)
        held, self.ended = self.ended, False
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    self._defaults(part)
                    self.block(part.body)
                else:
                    self.statement(part)
                self.ended = False
        else:
            self._defaults(node)
            self.block(node.body)
        self.ended = held

    def _defaults(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        arguments = node.args
        named = [*arguments.posonlyargs, *arguments.args]
        pairs = list(zip(named[len(named) - len(arguments.defaults) :], arguments.defaults, strict=True))
        pairs += [(arg, value) for arg, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
        for argument, default in pairs:
            self._give(argument.arg, default, f"{node.name} {argument.arg}")

    def finish(self) -> Uses:
        """Names that receive a result count last: they say what a call is for, not what it is given."""
        self.uses.slots += [Slot("result", name, "name") for name in sorted(self.results)]
        self.uses.slots = list({(slot.key, repr(slot.value), slot.kind): slot for slot in self.uses.slots}.values())
        return self.uses


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """The calls in an expression, the innermost first; those whose result is only shown are left out with it."""
    if isinstance(node, (ast.Lambda,)):
        return
    if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        if name in _SHOWING:
            for argument in node.args:
                yield from _calls(argument)
            return
    for child in ast.iter_child_nodes(node):
        yield from _calls(child)
    if isinstance(node, ast.Call):
        yield node


def _names(node: ast.AST) -> list[str]:
    return [inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)]
