"""Reads a program's statements in order and keeps track of what its names stand for, without running anything.

Both sides of a branch are read and what they leave behind is joined; loops over known lists are unrolled; functions
and classes are followed only where a command-line parser can be reached through them (``relevance.py``). What an
expression is worth is ``expressions.py``'s matter, what a call does ``calls.py``'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tree_sitter import Node

from .loading import Loader
from .scopes import Lazy, Scope, merge
from .syntax import assigned_names, children, text_of, walk
from .values import Class, Const, External, Function, Module, Table, Unknown, Value, items_of, table

__all__ = ["Interpreter"]

MOST_STEPS = 400_000
LONGEST_LOOP = 300
SHORT_LOOP = 12
_MAKES_FLAGS = re.compile(rb"add_(?:arguments?|option|parser)|DEFINE_|set_defaults|parser\b|parents\b")


class Stop(Exception):  # noqa: N818 - reading ends early, nothing failed
    """Too many steps: what was read so far counts, and the report says that it ended."""


class Interpreter(Loader):
    """One reading of one program."""

    # Statements

    def block(self, statements: Sequence[Node], scope: Scope) -> bool:
        """Read ``statements``; True where they certainly leave the block (return, raise, break, continue)."""
        return any(self.statement(node, scope) for node in statements)

    def body(self, node: Node | None, scope: Scope) -> bool:
        return node is not None and self.block(children(node), scope)

    def statement(self, node: Node, scope: Scope) -> bool:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Stop
        read = getattr(self, f"read_{node.type}", None)
        if read is not None:
            return bool(read(node, scope))
        if node.type in ("raise_statement", "break_statement", "continue_statement"):
            return True
        if node.type not in ("pass_statement", "global_statement", "nonlocal_statement", "assert_statement"):
            for child in children(node):
                if child.type == "block" or child.type.endswith(("_statement", "_definition")):
                    self.statement(child, scope)
        return False

    def read_block(self, node: Node, scope: Scope) -> bool:
        return self.body(node, scope)

    def read_expression_statement(self, node: Node, scope: Scope) -> None:
        for child in children(node):
            if child.type == "assignment":
                self.assignment(child, scope)
            elif child.type == "augmented_assignment":
                self.augmented(child, scope)
            elif child.type not in ("string", "yield"):
                self.evaluate(child, scope)

    def read_return_statement(self, node: Node, scope: Scope) -> bool:
        if self.returns:
            value = [self.evaluate(child, scope) for child in children(node)]
            self.returns[-1].extend(value or [Const(None)])
        return True

    def read_import_statement(self, node: Node, scope: Scope) -> None:
        for item in node.children_by_field_name("name"):
            alias = item.child_by_field_name("alias")
            dotted = (
                text_of(item.child_by_field_name("name") or item) if item.type == "aliased_import" else text_of(item)
            )
            bound = dotted if alias else dotted.split(".", 1)[0]
            scope.variables[text_of(alias) if alias else bound] = self.imported(bound, scope.path)

    def imported(self, dotted: str, importer: str) -> Value:
        path = self.layout.absolute(dotted, importer, self.entry)
        if path is None or path == importer:
            return External(dotted)
        return Module(path)

    def read_import_from_statement(self, node: Node, scope: Scope) -> None:
        origin = node.child_by_field_name("module_name")
        if origin is None:
            return
        text = text_of(origin).replace(" ", "")
        dotted = text.lstrip(".")
        level = len(text) - len(dotted)
        if level:
            path = self.layout.relative(scope.path, level, dotted)
        else:
            path = self.layout.absolute(dotted, scope.path, self.entry)
        if path == scope.path:
            path = None
        if any(child.type == "wildcard_import" for child in node.children):
            if path is not None:
                scope.stars.append(path)
            return
        for item in node.children_by_field_name("name"):
            name = imported_name(item)
            alias = item.child_by_field_name("alias")
            made: Value | Lazy = External(f"{dotted}.{name}") if path is None else Lazy(path, name)
            scope.variables[text_of(alias) if alias else name] = made

    def read_function_definition(self, node: Node, scope: Scope) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            scope.variables[text_of(name)] = Function(node, scope)

    def read_class_definition(self, node: Node, scope: Scope) -> None:
        name = node.child_by_field_name("name")
        if name is None:
            return
        holder = node.child_by_field_name("superclasses")
        bases = [] if holder is None else [base for base in children(holder) if base.type != "keyword_argument"]
        made = Class(node, scope, [self.evaluate(base, scope) for base in bases])
        inner = Scope(scope.path, dict(made.members), scope, is_class=True)
        self.body(node.child_by_field_name("body"), inner)
        made.members = {name: value for name, value in inner.variables.items() if not isinstance(value, Lazy)}
        for member in made.members.values():
            if isinstance(member, Function) and member.owner is None:
                member.owner = made
        scope.variables[text_of(name)] = made

    def read_decorated_definition(self, node: Node, scope: Scope) -> None:
        definition = node.child_by_field_name("definition")
        if definition is not None:
            self.statement(definition, scope)

    def read_if_statement(self, node: Node, scope: Scope) -> bool:
        condition = node.child_by_field_name("condition")
        value = self.evaluate(condition, scope) if condition is not None else Unknown("")
        alternatives = node.children_by_field_name("alternative")
        if isinstance(value, Const):
            if value.value:
                return self.body(node.child_by_field_name("consequence"), scope)
            return self.otherwise(alternatives, scope)
        before = dict(scope.variables)
        with self.branch():
            left = self.body(node.child_by_field_name("consequence"), scope)
            after = scope.variables
            self.rebind(scope, before)
            right = self.otherwise(alternatives, scope)
        if left and right:
            return True
        if right:
            self.rebind(scope, after)
        elif not left:
            self.join(scope, after)
        return False

    def otherwise(self, alternatives: Sequence[Node], scope: Scope) -> bool:
        """``elif`` and ``else`` as the rest of an ``if``."""
        if not alternatives:
            return False
        first = alternatives[0]
        if first.type == "else_clause":
            return self.body(first.child_by_field_name("body"), scope)
        condition = first.child_by_field_name("condition")
        value = self.evaluate(condition, scope) if condition is not None else Unknown("")
        if isinstance(value, Const) and value.value:
            return self.body(first.child_by_field_name("consequence"), scope)
        if isinstance(value, Const):
            return self.otherwise(alternatives[1:], scope)
        before = dict(scope.variables)
        left = self.body(first.child_by_field_name("consequence"), scope)
        after = scope.variables
        self.rebind(scope, before)
        right = self.otherwise(alternatives[1:], scope)
        if right:
            self.rebind(scope, after)
        elif not left:
            self.join(scope, after)
        return left and right

    @contextmanager
    def branch(self) -> Iterator[None]:
        self.branch_depth += 1
        try:
            yield
        finally:
            self.branch_depth -= 1

    def rebind(self, scope: Scope, variables: dict[str, Value | Lazy]) -> None:
        """Make ``scope`` hold a copy of ``variables``."""
        scope.variables = dict(variables)

    def join(self, scope: Scope, other: dict[str, Value | Lazy]) -> None:
        mine = scope.variables
        for name in [*mine, *(name for name in other if name not in mine)]:
            if mine.get(name) is not other.get(name):
                mine[name] = merge(mine.get(name), other.get(name), name)

    def read_try_statement(self, node: Node, scope: Scope) -> bool:
        left = self.body(node.child_by_field_name("body"), scope)
        after = dict(scope.variables)
        for child in node.children:
            if child.type in ("except_clause", "except_group_clause"):
                with self.branch():
                    for part in children(child):
                        if part.type == "block":
                            self.body(part, scope)
                # What the body bound stands, unless it is unknown: handlers bind substitutes.
                for name, value in after.items():
                    if not isinstance(value, Unknown):
                        scope.variables[name] = value
            elif child.type == "else_clause":
                left = self.body(child.child_by_field_name("body"), scope) or left
            elif child.type == "finally_clause":
                for part in children(child):
                    left = self.body(part, scope) or left
        return left and not any(child.type == "except_clause" for child in node.children)

    def read_with_statement(self, node: Node, scope: Scope) -> bool:
        for child in walk(node.children[1]):
            if child.type == "as_pattern":
                target = child.child_by_field_name("alias")
                if target is not None and target.named_children:
                    self.bind_target(target.named_children[0], Unknown(text_of(children(child)[0])), scope)
            elif child.type == "with_item":
                value = child.child_by_field_name("value")
                if value is not None and value.type == "call":
                    self.evaluate(value, scope)
        return self.body(node.child_by_field_name("body"), scope)

    def read_while_statement(self, node: Node, scope: Scope) -> None:
        self.once(node, scope)

    def read_for_statement(self, node: Node, scope: Scope) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return
        items = items_of(self.evaluate(right, scope))
        # A loop over more than a few items is followed only where flags may be made in it.
        longest = LONGEST_LOOP if _MAKES_FLAGS.search(node.text or b"") else SHORT_LOOP
        if items is None or len(items) > longest:
            self.bind_target(left, Unknown(text_of(left)), scope)
            self.once(node, scope)
            return
        for item in items:
            self.bind_target(left, item, scope)
            self.body(node.child_by_field_name("body"), scope)

    def once(self, node: Node, scope: Scope) -> None:
        """A loop's body, read once: what it assigns is unknown from the start."""
        body = node.child_by_field_name("body")
        if body is None:
            return
        for name in assigned_names(body):
            if isinstance(scope.variables.get(name), Const):
                scope.variables[name] = Unknown(name)
        with self.branch():
            self.body(body, scope)

    def read_match_statement(self, node: Node, scope: Scope) -> None:
        with self.branch():
            for child in walk(node):
                if child.type == "case_clause":
                    self.body(child.child_by_field_name("consequence"), scope)

    # Assignments

    def assignment(self, node: Node, scope: Scope) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return
        if right.type == "assignment":
            self.assignment(right, scope)
            inner = right.child_by_field_name("left")
            value: Value = self.evaluate(inner, scope) if inner is not None else Unknown("")
        else:
            value = self.evaluate(right, scope)
        self.bind_target(left, value, scope)

    def augmented(self, node: Node, scope: Scope) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None:
            return
        value = self.binary(text_of(sign)[:-1], self.evaluate(left, scope), self.evaluate(right, scope), text_of(node))
        self.bind_target(left, value, scope)

    def bind_target(self, target: Node, value: Value, scope: Scope) -> None:
        """``target = value``, for names, attributes, subscripts and unpacking."""
        if target.type == "identifier":
            scope.variables[text_of(target)] = value
        elif target.type in ("pattern_list", "tuple_pattern", "list_pattern", "tuple", "list"):
            parts = children(target)
            items = items_of(value)
            matched = items if items is not None and len(items) == len(parts) else None
            for index, part in enumerate(parts):
                self.bind_target(part, matched[index] if matched else Unknown(text_of(part)), scope)
        elif target.type == "attribute":
            owner, name = target.child_by_field_name("object"), target.child_by_field_name("attribute")
            if owner is not None and name is not None:
                self.set_attribute(self.evaluate(owner, scope), text_of(name), value)
        elif target.type == "subscript":
            owner = target.child_by_field_name("value")
            if owner is not None and owner.type == "identifier":
                self.set_item(target, value, scope)

    def set_item(self, target: Node, value: Value, scope: Scope) -> None:
        owner, keys = target.child_by_field_name("value"), target.children_by_field_name("subscript")
        assert owner is not None
        held = self.evaluate(owner, scope)
        key = self.evaluate(keys[0], scope) if len(keys) == 1 else Unknown("")
        if isinstance(held, (Table, Const)) and isinstance(key, Const) and isinstance(key.value, (str, int)):
            items = dict(held.items) if isinstance(held, Table) else None
            if isinstance(held, Const) and isinstance(held.value, dict):
                items = {name: Const(item) for name, item in held.value.items()}
            if items is not None and self.branch_depth == 0:
                items[key.value] = value
                scope.variables[text_of(owner)] = table(items)
                return
        if isinstance(held, (Const, Table)):
            scope.variables[text_of(owner)] = Unknown(text_of(owner))


def imported_name(item: Node) -> str:
    """The name an import statement's item imports, without its alias."""
    return text_of(item.child_by_field_name("name") or item) if item.type == "aliased_import" else text_of(item)
