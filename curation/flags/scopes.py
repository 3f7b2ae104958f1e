"""Names and what they stand for: scopes, and names that a module is only opened for once someone asks."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field

from .values import Const, External, Function, Unknown, Value

__all__ = ["Lazy", "Scope", "Unbound"]

_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True)
class Lazy:
    """A name imported from a module of the repository that nobody has needed yet."""

    path: str
    name: str


class Unbound(KeyError):  # noqa: N818 - a lookup's answer, not a fault
    """No such name here."""


@dataclass(eq=False)
class Scope:
    """The names of one module, class body or function call."""

    path: str
    """File the code stands in."""
    variables: dict[str, Value | Lazy] = field(default_factory=dict)
    parent: Scope | None = None
    stars: list[str] = field(default_factory=list)
    """Modules of which everything was imported."""
    is_class: bool = False
    function: Function | None = None
    """The function whose call this is the scope of."""

    def find(self, name: str) -> tuple[Scope, Value | Lazy] | None:
        """The scope that holds ``name`` and what it holds; class bodies are seen only from themselves."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.variables and (scope is self or not scope.is_class):
                return scope, scope.variables[name]
            scope = scope.parent
        return None

    @property
    def module(self) -> Scope:
        """The outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    @staticmethod
    def builtin(name: str) -> Value:
        """What a name means that nobody has bound."""
        return External(f"builtins.{name}") if name in _BUILTINS else Unknown(name)


def merge(left: Value | Lazy | None, right: Value | Lazy | None, text: str) -> Value | Lazy:
    """What a name stands for after two branches: what both say, else what is more than unknown, else unknown."""
    if left is None or right is None:
        only = left if right is None else right
        assert only is not None
        return Unknown(text) if isinstance(only, Const) else only
    if left is right or (isinstance(left, Const) and isinstance(right, Const) and same(left, right)):
        return left
    for value, other in ((left, right), (right, left)):
        if isinstance(other, Unknown) or (isinstance(other, Const) and not isinstance(value, Const)):
            return value if not isinstance(value, Const) else Unknown(text)
    return Unknown(text) if isinstance(left, Const) else left


def same(left: Const, right: Const) -> bool:
    """Equal in value and type: ``1`` is not ``True``."""
    return type(left.value) is type(right.value) and bool(left.value == right.value)
