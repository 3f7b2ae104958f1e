"""What a call does: makes parsers and objects, adds flags, or leads into a function of the repository."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tree_sitter import Node

from .folding import CannotFoldError, fold_builtin, fold_method
from .parser_calls import Given, ParserCalls
from .parsers import ParserState
from .scopes import Scope
from .syntax import call_arguments, children, text_of
from .values import (
    Class,
    Const,
    External,
    Function,
    Group,
    Instance,
    Items,
    Subparsers,
    Table,
    Unknown,
    Value,
    constant_items,
    items_of,
)

__all__ = ["Calls"]

DEEPEST = 24
LONGEST_LIST = 256
"""Items; a list that grows beyond is data, not choices, and following each of its appends takes quadratic time."""
_WHOLE_PARSERS = frozenset(
    ("tyro.cli", "simple_parsing.parse", "jsonargparse.CLI", "jsonargparse.auto_cli", "pyrallis.parse", "draccus.parse")
)
"""Functions that make a parser of a class or function and use it at once."""
_PARSER_CLASSES = ("ArgumentParser", "ArgParser", "OptionParser")
_DEFINITION = re.compile(r"DEFINE_[a-z_]+$|mark_flags?_as_required$|(?:gnu_)?getopt$")
_HARMLESS = ("builtins.", "argcomplete.", "logging.", "pprint.", "warnings.", "copy.")


class Calls(ParserCalls):
    """Dispatches calls by what is called."""

    def call(self, node: Node, scope: Scope) -> Value:
        callee = node.child_by_field_name("function")
        if callee is None:
            return Unknown(text_of(node))
        if callee.type == "attribute":
            owner_node, name_node = callee.child_by_field_name("object"), callee.child_by_field_name("attribute")
            if owner_node is not None and name_node is not None:
                return self.method_call(node, owner_node, text_of(name_node), scope)
        target = self.evaluate(callee, scope)
        if isinstance(target, External) and target.dotted == "builtins.super":
            return Unknown("super()")
        return self.apply(target, self.given(node, scope), scope)

    def given(self, node: Node, scope: Scope) -> Given:
        """The arguments of a call, evaluated."""
        positional, keywords, splats = call_arguments(node)
        given = Given(
            node,
            f"{scope.path}:{node.start_point.row + 1}",
            [(self.evaluate(item, scope), text_of(item)) for item in positional],
            {name: (self.evaluate(item, scope), text_of(item)) for name, item in keywords.items()},
        )
        for splat in splats:
            value = self.evaluate(children(splat)[0], scope) if children(splat) else Unknown("")
            given.spread(value, text_of(splat))
        return given

    def method_call(self, node: Node, owner_node: Node, name: str, scope: Scope) -> Value:
        text = text_of(node)
        parent = self.super_of(owner_node, scope)
        if parent is not None:
            return self.super_call(parent, name, self.given(node, scope), scope)
        owner = self.evaluate(owner_node, scope)
        state = self.parser_of(owner)
        if state is None and self.adds_flags(owner, name, node):
            state = self.adopt(owner_node, scope)
        if state is not None and not self.overridden(owner, name):
            return self.parser_method(state, owner, name, self.given(node, scope))
        if isinstance(owner, Subparsers):
            return self.subparsers_method(owner, name, self.given(node, scope))
        if isinstance(owner, (Const, Items, Table)):
            return self.data_method(owner, owner_node, name, self.given(node, scope), scope, text)
        return self.apply(
            self.attribute(owner, name, text_of(node.child_by_field_name("function") or node)),
            self.given(node, scope),
            scope,
            owner,
        )

    def adds_flags(self, owner: Value, name: str, node: Node) -> bool:
        """Whether ``owner.name(...)`` can only be argparse's, though nobody saw the parser made."""
        if name not in ("add_argument", "add_argument_group") or not isinstance(owner, (Unknown, External)):
            return False
        positional, _, _ = call_arguments(node)
        return name == "add_argument_group" or (bool(positional) and "string" in positional[0].type)

    def adopt(self, owner_node: Node, scope: Scope) -> ParserState:
        """A parser that was made elsewhere: what it held before is not known."""
        state = self.new_parser(f"{scope.path}:{owner_node.start_point.row + 1}")
        if not self.open_ended:
            state.unresolved.append(f"{state.where}: flags that {text_of(owner_node)} had before")
        self.bind_target(owner_node, Group(state), scope)
        return state

    # super()

    def super_of(self, node: Node, scope: Scope) -> tuple[Value, Class | None] | None:
        """The object and the class that ``super()`` or ``super(Class, self)`` starts from."""
        callee = node.child_by_field_name("function") if node.type == "call" else None
        if callee is None or text_of(callee) != "super":
            return None
        holder: Scope | None = scope
        while holder is not None and holder.function is None:
            holder = holder.parent
        if holder is None or holder.function is None:
            return None
        return holder.function.bound or Unknown("self"), holder.function.owner

    def super_call(self, parent: tuple[Value, Class | None], name: str, given: Given, scope: Scope) -> Value:
        owner, cls = parent
        if not isinstance(owner, Instance):
            return Unknown(text_of(given.node))
        found = self.class_member(owner.cls, name, skip=cls) if cls is not None else None
        if isinstance(found, Function):
            return self.apply(Function(found.node, found.scope, owner, found.owner), given, scope)
        if owner.parser is not None:
            if name == "__init__":
                self.configure(owner.parser, given)
                return Const(None)
            return self.parser_method(owner.parser, owner, name, given)
        return Unknown(text_of(given.node))

    def overridden(self, owner: Value, name: str) -> bool:
        """Whether a class that derives from the parser has its own method of that name."""
        return isinstance(owner, Instance) and self.class_member(owner.cls, name) is not None

    # Applying a value to arguments

    def apply(self, target: Value, given: Given, scope: Scope, owner: Value | None = None) -> Value:
        """The result of calling ``target``."""
        if isinstance(target, Function):
            own_method = isinstance(target.bound, Instance) and target.bound.parser is not None
            if own_method or self.carries_parser(given) or self.relevant(target) or target.node.type == "lambda":
                return self.follow(target, given)
            return Unknown(text_of(given.node))
        if isinstance(target, Class):
            return self.instantiate(target, given)
        if isinstance(target, Group):
            return Unknown(text_of(given.node))
        if isinstance(target, External):
            return self.external(target, given)
        name = text_of(given.node.child_by_field_name("function") or given.node).rsplit(".", 1)[-1]
        if _DEFINITION.match(name):
            return self.external(External(name), given)
        self.hand_over(target, given)
        return Unknown(text_of(given.node))

    def external(self, target: External, given: Given) -> Value:
        name = target.dotted.rsplit(".", 1)[-1]
        if _DEFINITION.match(name):
            self.definitions.append((name, given))
            return Unknown(text_of(given.node))
        if name in _PARSER_CLASSES:
            state = self.new_parser(given.where)
            self.configure(state, given)
            return Group(state)
        if name == "HfArgumentParser":
            return self.dataclass_parser(given)
        if target.dotted in _WHOLE_PARSERS:
            state = self.new_parser(given.where)
            state.parsed = True
            if target.dotted == "simple_parsing.parse" and given.positional:
                self.add_fields(state, given.positional[0], given.where)
            else:
                state.unresolved.append(f"{given.where}: flags that {target.dotted} makes")
            return Unknown(text_of(given.node))
        if target.dotted == "builtins.dict" and not given.positional and not given.uncertain:
            return self.table_of({key: value for key, (value, _) in given.keywords.items()})
        if name in ("deepcopy", "copy") and given.positional:
            return given.positional[0][0]
        if name == "partial" and given.positional:
            return given.positional[0][0]
        try:
            args = [constant_items(value) for value, _ in given.positional]
            keywords = {key: constant_items(value) for key, (value, _) in given.keywords.items()}
            if not given.uncertain:
                return Const(fold_builtin(target.dotted, args, keywords))
        except (CannotFoldError, ValueError):
            pass
        for value, _ in given.values():
            # ``app.run(main)``, ``Process(target=main)``: what is handed over gets called.
            if isinstance(value, Function) and value.node.type != "lambda" and self.relevant(value):
                self.follow(value, Given(given.node, given.where, [], {}))
        self.hand_over(target, given)
        if target.dotted in ("builtins.list", "builtins.tuple", "builtins.sorted") and len(given.positional) == 1:
            items = items_of(given.positional[0][0])
            if items is not None:
                return Items(items)
        return Unknown(text_of(given.node))

    def hand_over(self, target: Value, given: Given) -> None:
        """A parser given to code that is not in the repository may come back with more flags."""
        if isinstance(target, External) and target.dotted.startswith(_HARMLESS):
            return
        for value, _ in given.values():
            state = self.parser_of(value)
            if state is not None:
                callee = text_of(given.node.child_by_field_name("function") or given.node)
                state.unresolved.append(f"{given.where}: flags that {callee} adds, which is not readable here")

    def carries_parser(self, given: Given) -> bool:
        return any(self.parser_of(value) or isinstance(value, Subparsers) for value, _ in given.values())

    def data_method(self, owner: Value, owner_node: Node, name: str, given: Given, scope: Scope, text: str) -> Value:
        """A method of a list, dict or string: folded where it only reads, applied where it changes the object."""
        if name in ("append", "extend", "insert", "update", "pop", "remove", "clear", "setdefault", "add", "sort"):
            changed: Value = Unknown(text_of(owner_node))
            if name in ("append", "extend") and given.positional and self.branch_depth == 0:
                changed = self.longer(owner, name, given.positional[0][0]) or changed
            self.bind_target(owner_node, changed, scope)
            return Const(None) if name in ("append", "extend") else Unknown(text)
        if isinstance(owner, Table):
            if name == "keys":
                return Const(list(owner.items))
            if name == "values":
                return Items(list(owner.items.values()))
            if name == "items":
                return Items([Items([Const(key), value]) for key, value in owner.items.items()])
        try:
            args = [constant_items(value) for value, _ in given.positional]
            keywords = {key: constant_items(value) for key, (value, _) in given.keywords.items()}
            return Const(fold_method(constant_items(owner), name, args, keywords))
        except (CannotFoldError, ValueError):
            return Unknown(text)

    def longer(self, owner: Value, name: str, more: Value) -> Value | None:
        """A list with an item or a list behind it; None where it is not known or too long to keep track of."""
        held = items_of(owner) if not isinstance(owner, Table) else None
        added = [more] if name == "append" else items_of(more)
        if held is None or added is None or len(held) + len(added) > LONGEST_LIST:
            return None
        return self.sequence_of([*held, *added])

    # Functions and classes of the repository

    def follow(self, function: Function, given: Given) -> Value:
        """Read a function's body with its parameters bound; its value is what it returns."""
        busy = any(known.node == function.node and known.scope.path == function.scope.path for known in self.calls)
        if busy or len(self.calls) >= DEEPEST:
            return Unknown(text_of(given.node))
        self.followed.add((function.scope.path, function.node.start_byte))
        scope = Scope(function.scope.path, {}, function.scope, function=function)
        self.bind_parameters(function, given, scope)
        body = function.node.child_by_field_name("body")
        if body is None:
            return Unknown(text_of(given.node))
        if function.node.type == "lambda":
            return self.evaluate(body, scope)
        self.calls.append(function)
        self.returns.append([])
        ended = self.block(children(body), scope)
        self.calls.pop()
        return self.returned(self.returns.pop(), ended, text_of(given.node))

    def returned(self, values: Sequence[Value], ended: bool, text: str) -> Value:
        if not values:
            return Const(None) if not ended else Unknown(text)
        for value in values:
            if not isinstance(value, (Const, Unknown)):
                return value
        first = values[0]
        if ended and isinstance(first, Const) and all(isinstance(v, Const) and v.value == first.value for v in values):
            return first
        return Unknown(text)

    def bind_parameters(self, function: Function, given: Given, scope: Scope) -> None:
        holder = function.node.child_by_field_name("parameters")
        arguments = list(given.positional)
        if function.owner is not None and self.decorated(function, "classmethod"):
            arguments.insert(0, (function.owner, "cls"))
        elif function.bound is not None and not self.decorated(function, "staticmethod"):
            arguments.insert(0, (function.bound, "self"))
        for parameter in [] if holder is None else children(holder):
            name_node = parameter_name(parameter)
            if name_node is None:
                continue
            name = text_of(name_node)
            default = parameter.child_by_field_name("value")
            if parameter.type in ("list_splat_pattern", "dictionary_splat_pattern"):
                rest = [value for value, _ in arguments]
                keywords = {key: value for key, (value, _) in given.keywords.items()}
                is_list = parameter.type == "list_splat_pattern"
                scope.variables[name] = self.sequence_of(rest) if is_list else self.table_of(keywords)
                arguments = []
            elif name in given.keywords:
                scope.variables[name] = given.keywords[name][0]
            elif arguments:
                scope.variables[name] = arguments.pop(0)[0]
            elif default is not None and not given.uncertain and given.called:
                scope.variables[name] = self.evaluate(default, function.scope)
            else:
                scope.variables[name] = Unknown(name)

    def decorated(self, function: Function, name: str) -> bool:
        decorated = function.node.parent
        if decorated is None or decorated.type != "decorated_definition":
            return False
        return any(child.type == "decorator" and name in text_of(child) for child in decorated.children)

    def instantiate(self, cls: Class, given: Given) -> Value:
        """An object of a class: its ``__init__`` is read where a parser can be reached through it."""
        made = Instance(cls)
        if any(is_parser_class(base) for known in self.ancestry(cls) for base in known.bases):
            made.parser = self.new_parser(given.where)
        found = self.class_member(cls, "__init__")
        if isinstance(found, Function):
            if made.parser is not None or self.carries_parser(given) or self.class_relevant(cls):
                self.follow(Function(found.node, found.scope, made, found.owner), given)
        elif made.parser is not None:
            self.configure(made.parser, given)
        return made


def is_parser_class(value: Value) -> bool:
    return isinstance(value, External) and value.dotted.rsplit(".", 1)[-1] in _PARSER_CLASSES


def parameter_name(parameter: Node) -> Node | None:
    """The identifier of a parameter, with or without default, annotation or star."""
    if parameter.type == "identifier":
        return parameter
    name = parameter.child_by_field_name("name")
    if name is not None:
        return name
    return next((child for child in children(parameter) if child.type == "identifier"), None)
