"""What an expression is worth: constants folded, names looked up across modules, attributes and items taken."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from tree_sitter import Node

from .folding import CannotFoldError, compare, fold_binary, fold_unary, number
from .scopes import Lazy, Scope
from .syntax import children, string_value, text_of
from .values import Class, Const, External, Function, Instance, Items, Module, Table, Unknown, Value, items_of, table

__all__ = ["Expressions"]

LONGEST_COMPREHENSION = 1000


class Expressions(ABC):
    """Evaluates expressions; opening modules and following calls is left to those who build on it."""

    branch_depth: int
    entry: str
    _resolving: set[Lazy]

    @abstractmethod
    def module(self, path: str) -> Scope:
        """The names of the module ``path``."""

    @abstractmethod
    def submodule(self, path: str, name: str) -> str | None:
        """The file of the module ``name`` inside the package ``path``."""

    @abstractmethod
    def call(self, node: Node, scope: Scope) -> Value:
        """The result of a call."""

    @abstractmethod
    def bind_target(self, target: Node, value: Value, scope: Scope) -> None:
        """``target = value``."""

    # Names

    def lookup(self, name: str, scope: Scope) -> Value:
        """What ``name`` stands for in ``scope``."""
        found = scope.find(name)
        if found is not None:
            return self.opened(found[1]) if isinstance(found[1], Lazy) else found[1]
        for path in reversed(scope.module.stars):
            value = self.member(path, name)
            if value is not None:
                return value
        return scope.builtin(name)

    def opened(self, lazy: Lazy) -> Value:
        """What an imported name stands for; in a circle of imports it stays unknown."""
        if lazy in self._resolving:
            return Unknown(lazy.name)
        self._resolving.add(lazy)
        try:
            return self.member(lazy.path, lazy.name) or Unknown(lazy.name)
        finally:
            self._resolving.discard(lazy)

    def member(self, path: str, name: str) -> Value | None:
        """``name`` in the module ``path``: what it binds, or a module inside it; None where it has none."""
        scope = self.module(path)
        if name in scope.variables or scope.stars:
            value = self.lookup(name, scope)
            if not (isinstance(value, (Unknown, External)) and name not in scope.variables):
                return value
        inner = self.submodule(path, name)
        return None if inner is None else Module(inner)

    def attribute(self, owner: Value, name: str, text: str) -> Value:
        """``owner.name``."""
        if isinstance(owner, Module):
            found = self.member(owner.path, name)
            return Unknown(text) if found is None else found
        if isinstance(owner, External):
            return External(f"{owner.dotted}.{name}")
        if isinstance(owner, Instance):
            if name in owner.attributes:
                return owner.attributes[name]
            found = self.class_member(owner.cls, name)
            if isinstance(found, Function):
                return Function(found.node, found.scope, owner, found.owner)
            return Unknown(text) if found is None else found
        if isinstance(owner, Class):
            found = self.class_member(owner, name)
            return Unknown(text) if found is None else found
        return Unknown(text)

    def class_member(self, cls: Class, name: str, skip: Class | None = None) -> Value | None:
        """``name`` in ``cls`` or its bases, depth first; with ``skip`` only in what comes after that class."""
        order = self.ancestry(cls)
        if skip is not None and skip in order:
            order = order[order.index(skip) + 1 :]
        for known in order:
            if name in known.members:
                return known.members[name]
        return None

    def ancestry(self, cls: Class) -> list[Class]:
        """The class and its bases that are in the repository, nearest first."""
        order: list[Class] = []
        pending = [cls]
        while pending:
            current = pending.pop(0)
            if current not in order:
                order.append(current)
                pending[:0] = [base for base in current.bases if isinstance(base, Class)]
        return order

    def set_attribute(self, owner: Value, name: str, value: Value) -> None:
        if isinstance(owner, Instance):
            owner.attributes[name] = value
        elif isinstance(owner, Class) and owner.scope.path == self.entry:
            owner.members[name] = value

    # Expressions

    def evaluate(self, node: Node, scope: Scope) -> Value:
        """What ``node`` is worth; calls inside it are followed."""
        handler: Callable[[Node, Scope], Value] | None = getattr(self, f"value_of_{node.type}", None)
        if handler is None:
            for child in children(node):
                self.evaluate(child, scope)
            return Unknown(text_of(node))
        return handler(node, scope)

    def value_of_identifier(self, node: Node, scope: Scope) -> Value:
        return self.lookup(text_of(node), scope)

    def value_of_string(self, node: Node, scope: Scope) -> Value:
        literal = string_value(node)
        if literal is not None:
            return Const(literal)
        if not any(child.type == "interpolation" for child in node.children):
            return Unknown(text_of(node))
        return self.formatted(node, scope)

    def formatted(self, node: Node, scope: Scope) -> Value:
        """An f-string of which every part is known."""
        parts: list[str] = []
        for child in node.children:
            if child.type == "interpolation":
                inner = child.child_by_field_name("expression")
                plain = inner is not None and len(child.named_children) == 1
                value = self.evaluate(inner, scope) if inner is not None else Unknown("")
                if not plain or not isinstance(value, Const):
                    return Unknown(text_of(node))
                parts.append(str(value.value))
            elif child.type == "string_content":
                if any(part.type == "escape_interpolation" for part in child.children):
                    return Unknown(text_of(node))
                parts.append(text_of(child))
        return Const("".join(parts))

    def value_of_concatenated_string(self, node: Node, scope: Scope) -> Value:
        parts = [self.value_of_string(child, scope) for child in children(node)]
        if all(isinstance(part, Const) for part in parts):
            return Const("".join(part.value for part in parts if isinstance(part, Const)))
        return Unknown(text_of(node))

    def value_of_integer(self, node: Node, scope: Scope) -> Value:
        try:
            return Const(number(text_of(node)))
        except CannotFoldError:
            return Unknown(text_of(node))

    value_of_float = value_of_integer

    def value_of_true(self, node: Node, scope: Scope) -> Value:
        return Const(True)

    def value_of_false(self, node: Node, scope: Scope) -> Value:
        return Const(False)

    def value_of_none(self, node: Node, scope: Scope) -> Value:
        return Const(None)

    def value_of_parenthesized_expression(self, node: Node, scope: Scope) -> Value:
        inner = children(node)
        return self.evaluate(inner[0], scope) if len(inner) == 1 else Unknown(text_of(node))

    def value_of_list(self, node: Node, scope: Scope) -> Value:
        items: list[Value] = []
        for child in children(node):
            if child.type == "list_splat":
                inner = items_of(self.evaluate(children(child)[0], scope))
                if inner is None:
                    return Unknown(text_of(node))
                items.extend(inner)
            else:
                items.append(self.evaluate(child, scope))
        return sequence(items)

    value_of_tuple = value_of_list
    value_of_set = value_of_list
    value_of_expression_list = value_of_list

    def value_of_dictionary(self, node: Node, scope: Scope) -> Value:
        items: dict[object, Value] = {}
        for child in children(node):
            if child.type == "dictionary_splat":
                inner = self.evaluate(children(child)[0], scope)
                if isinstance(inner, Const) and isinstance(inner.value, dict):
                    items.update({key: Const(value) for key, value in inner.value.items()})
                elif isinstance(inner, Table):
                    items.update(inner.items)
                else:
                    return Unknown(text_of(node))
                continue
            key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
            known = self.evaluate(key, scope) if key is not None else Unknown("")
            if value is None or not isinstance(known, Const) or isinstance(known.value, (list, dict)):
                return Unknown(text_of(node))
            items[known.value] = self.evaluate(value, scope)
        return table(items)

    def value_of_attribute(self, node: Node, scope: Scope) -> Value:
        owner, name = node.child_by_field_name("object"), node.child_by_field_name("attribute")
        if owner is None or name is None:
            return Unknown(text_of(node))
        return self.attribute(self.evaluate(owner, scope), text_of(name), text_of(node))

    def value_of_subscript(self, node: Node, scope: Scope) -> Value:
        owner, keys = node.child_by_field_name("value"), node.children_by_field_name("subscript")
        held = self.evaluate(owner, scope) if owner is not None else Unknown("")
        key = self.evaluate(keys[0], scope) if len(keys) == 1 else Unknown("")
        if isinstance(key, Const):
            try:
                if isinstance(held, Const):
                    return Const(held.value[key.value])
                if isinstance(held, (Items, Table)):
                    return held.items[key.value]
            except (LookupError, TypeError):
                pass
        return Unknown(text_of(node))

    def value_of_unary_operator(self, node: Node, scope: Scope) -> Value:
        argument, sign = node.child_by_field_name("argument"), node.child_by_field_name("operator")
        value = self.evaluate(argument, scope) if argument is not None else Unknown("")
        if isinstance(value, Const) and sign is not None:
            try:
                return Const(fold_unary(text_of(sign), value.value))
            except CannotFoldError:
                pass
        return Unknown(text_of(node))

    def value_of_binary_operator(self, node: Node, scope: Scope) -> Value:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None:
            return Unknown(text_of(node))
        return self.binary(text_of(sign), self.evaluate(left, scope), self.evaluate(right, scope), text_of(node))

    def binary(self, sign: str, left: Value, right: Value, text: str) -> Value:
        if isinstance(left, Const) and isinstance(right, Const):
            try:
                return Const(fold_binary(sign, left.value, right.value))
            except CannotFoldError:
                return Unknown(text)
        if sign == "+":
            mine, other = items_of(left), items_of(right)
            if mine is not None and other is not None:
                return Items([*mine, *other])
        return Unknown(text)

    def value_of_not_operator(self, node: Node, scope: Scope) -> Value:
        argument = node.child_by_field_name("argument")
        value = self.evaluate(argument, scope) if argument is not None else Unknown("")
        return Const(not value.value) if isinstance(value, Const) else Unknown(text_of(node))

    def value_of_boolean_operator(self, node: Node, scope: Scope) -> Value:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None:
            return Unknown(text_of(node))
        value, other = self.evaluate(left, scope), self.evaluate(right, scope)
        wants = text_of(sign) == "and"
        if isinstance(value, Const):
            return other if bool(value.value) == wants else value
        # ``unknown and False`` is falsy whatever the unknown is: enough to leave a branch out.
        return Unknown(text_of(node))

    def value_of_comparison_operator(self, node: Node, scope: Scope) -> Value:
        parts = children(node)
        values = [self.evaluate(part, scope) for part in parts]
        signs = node.children_by_field_name("operators")
        if len(values) != 2 or len(signs) != 1:
            return Unknown(text_of(node))
        left, right = values
        if isinstance(left, Const) and isinstance(right, Const):
            try:
                return Const(compare(text_of(signs[0]), left.value, right.value))
            except CannotFoldError:
                return Unknown(text_of(node))
        return Unknown(text_of(node))

    def value_of_conditional_expression(self, node: Node, scope: Scope) -> Value:
        parts = children(node)
        if len(parts) != 3:
            return Unknown(text_of(node))
        condition = self.evaluate(parts[1], scope)
        if isinstance(condition, Const):
            return self.evaluate(parts[0] if condition.value else parts[2], scope)
        for part in (parts[0], parts[2]):
            value = self.evaluate(part, scope)
            if not isinstance(value, (Const, Unknown)):
                return value
        return Unknown(text_of(node))

    def value_of_named_expression(self, node: Node, scope: Scope) -> Value:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        made = self.evaluate(value, scope) if value is not None else Unknown("")
        if name is not None:
            self.bind_target(name, made, scope)
        return made

    def value_of_lambda(self, node: Node, scope: Scope) -> Value:
        return Function(node, scope)

    def value_of_call(self, node: Node, scope: Scope) -> Value:
        return self.call(node, scope)

    def value_of_list_comprehension(self, node: Node, scope: Scope) -> Value:
        """A comprehension with one ``for`` over a known sequence, with or without conditions."""
        body = node.child_by_field_name("body")
        clauses = [child for child in children(node) if child is not body and child.type.endswith("_clause")]
        if body is None or not clauses or any(clause.type == "for_in_clause" for clause in clauses[1:]):
            return Unknown(text_of(node))
        left, right = clauses[0].child_by_field_name("left"), clauses[0].child_by_field_name("right")
        items = items_of(self.evaluate(right, scope)) if right is not None else None
        if left is None or items is None or len(items) > LONGEST_COMPREHENSION:
            return Unknown(text_of(node))
        inner = Scope(scope.path, {}, scope)
        made: list[Value] = []
        for item in items:
            self.bind_target(left, item, inner)
            kept: bool | None = True
            for clause in clauses[1:]:
                test = self.evaluate(children(clause)[0], inner)
                kept = bool(test.value) if isinstance(test, Const) and kept is not None else None
                if not kept:
                    break
            if kept is None:
                return Unknown(text_of(node))
            if kept:
                made.append(self.evaluate(body, inner))
        return sequence(made)

    value_of_generator_expression = value_of_list_comprehension
    value_of_set_comprehension = value_of_list_comprehension


def sequence(items: list[Value]) -> Value:
    """A list as one constant where all its items are known."""
    if all(isinstance(item, Const) for item in items):
        return Const([item.value for item in items if isinstance(item, Const)])
    return Items(items)
