"""What a name can stand for while a program is read: constants, functions, classes, parsers, or something unknown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tree_sitter import Node

if TYPE_CHECKING:
    from .parsers import ParserState
    from .scopes import Scope

__all__ = [
    "Class",
    "Const",
    "External",
    "Function",
    "Group",
    "Instance",
    "Items",
    "Module",
    "Subparsers",
    "Table",
    "Unknown",
    "Value",
    "constant_items",
    "items_of",
    "table",
]


@dataclass(frozen=True)
class Unknown:
    """Something that only running the program would tell; ``text`` is its expression."""

    text: str


@dataclass(frozen=True)
class Const:
    """A number, string, None, or a list, tuple, dict of such."""

    value: Any


@dataclass
class Items:
    """A list or tuple of which some items are no constants."""

    items: list[Value]


@dataclass
class Table:
    """A dict with constant keys of which some values are no constants."""

    items: dict[Any, Value]


@dataclass(frozen=True)
class External:
    """A name from a package that is not in the repository: ``argparse.ArgumentParser``."""

    dotted: str


@dataclass(frozen=True)
class Module:
    """A module of the repository; ``path`` ends with ``/`` for a folder without ``__init__``."""

    path: str


@dataclass(eq=False)
class Function:
    """A function or lambda of the repository, with the scope it was made in and what it is bound to."""

    node: Node
    scope: Scope
    bound: Value | None = None
    owner: Class | None = None


@dataclass(eq=False)
class Class:
    """A class of the repository."""

    node: Node
    scope: Scope
    bases: list[Value]
    members: dict[str, Value] = field(default_factory=dict)

    @property
    def name(self) -> str:
        name = self.node.child_by_field_name("name")
        return "" if name is None else (name.text or b"").decode("utf-8", "replace")


@dataclass(eq=False)
class Instance:
    """An object of a class of the repository."""

    cls: Class
    attributes: dict[str, Value] = field(default_factory=dict)
    parser: ParserState | None = None
    """Set where the class derives from argparse's parser."""


@dataclass(eq=False)
class Group:
    """A parser, or a group of one: whatever ``add_argument`` can be called on."""

    parser: ParserState
    exclusive: str | None = None
    """For a mutually exclusive group: where it is made."""
    required: bool = False


@dataclass(eq=False)
class Subparsers:
    """What ``add_subparsers`` gives."""

    parser: ParserState


Value = Unknown | Const | Items | Table | External | Module | Function | Class | Instance | Group | Subparsers


def constant_items(value: Value) -> Any:
    """The Python value of a constant.

    Raises:
        ValueError: ``value`` is none.
    """
    if isinstance(value, Const):
        return value.value
    raise ValueError("no constant")


def items_of(value: Value) -> list[Value] | None:
    """The items of a known sequence or the keys of a known dict; None where they are not known."""
    if isinstance(value, Items):
        return value.items
    if isinstance(value, Table):
        return [Const(key) for key in value.items]
    if isinstance(value, Const) and isinstance(value.value, (list, tuple, str, dict)):
        return [Const(item) for item in value.value]
    return None


def table(items: dict[object, Value]) -> Value:
    """A dict as one constant where all its values are known."""
    if all(isinstance(item, Const) for item in items.values()):
        return Const({key: item.value for key, item in items.items() if isinstance(item, Const)})
    return Table(items)
