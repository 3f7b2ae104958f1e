"""Which functions and classes are worth following: those through which a command-line parser can be reached."""

from __future__ import annotations

import re
from abc import abstractmethod

from .calls import Calls, is_parser_class
from .scopes import Lazy, Scope
from .values import Class, External, Function, Group, Module, Value

__all__ = ["Relevance", "mentions_parser"]

_PARSER_WORDS = re.compile(
    rb"add_argument|ArgumentParser|ArgParser|parse_args|parse_known_args|add_subparsers|OptionParser|add_option\b"
)
_CALLEES = re.compile(rb"([A-Za-z_][\w.]*)\s*\(")
MOST_HOPS = 12


def mentions_parser(source: bytes) -> bool:
    """Whether argparse's words occur in ``source``."""
    return _PARSER_WORDS.search(source) is not None


class Relevance(Calls):
    """Decides from the text of functions, following the names they call across modules."""

    _relevant: dict[tuple[str, int], bool]

    @abstractmethod
    def source(self, path: str) -> bytes | None:
        """The bytes of a file."""

    def relevant(self, function: Function) -> bool:
        return self._reaches(function.scope, function.node.start_byte, function.node.text or b"", function.owner, 0)

    def class_relevant(self, cls: Class) -> bool:
        return self._class_reaches(cls, 0)

    def _class_reaches(self, cls: Class, hops: int) -> bool:
        if any(isinstance(value, Group) for value in cls.members.values()):
            return True
        if any(is_parser_class(base) for base in cls.bases):
            return True
        if self._reaches(cls.scope, cls.node.start_byte, cls.node.text or b"", cls, hops):
            return True
        return any(isinstance(base, Class) and self._class_reaches(base, hops + 1) for base in cls.bases)

    def _reaches(self, scope: Scope, start: int, text: bytes, owner: Class | None, hops: int) -> bool:
        key = (scope.path, start)
        if key in self._relevant:
            return self._relevant[key]
        self._relevant[key] = False  # while it is being decided: circles end here
        if _PARSER_WORDS.search(text) is not None:
            self._relevant[key] = True
        elif hops < MOST_HOPS:
            names = dict.fromkeys(match.decode("ascii", "replace") for match in _CALLEES.findall(text))
            self._relevant[key] = any(self._name_reaches(name, scope, owner, hops + 1) for name in names)
        return self._relevant[key]

    def _name_reaches(self, dotted: str, scope: Scope, owner: Class | None, hops: int) -> bool:
        first, *rest = dotted.split(".")
        if first in ("self", "cls") and owner is not None and rest:
            found = self.class_member(owner, rest[0])
            return found is not None and self._value_reaches(found, hops)
        bound = scope.find(first)
        if bound is None:
            return any(self._lazy_reaches(Lazy(path, first), rest, hops) for path in scope.module.stars)
        value = bound[1]
        if isinstance(value, Lazy):
            return self._lazy_reaches(value, rest, hops)
        if isinstance(value, Module) and rest:
            return self._lazy_reaches(Lazy(value.path, rest[0]), rest[1:], hops)
        for name in rest:
            if isinstance(value, (Class, Module)):
                value = self.attribute(value, name, name)
        return self._value_reaches(value, hops)

    def _lazy_reaches(self, lazy: Lazy, rest: list[str], hops: int) -> bool:
        """Whether a name of another module leads to a parser; the module is opened only where it may."""
        inner = self.submodule(lazy.path, lazy.name)
        if inner is not None and rest:
            return self._lazy_reaches(Lazy(inner, rest[0]), rest[1:], hops)
        source = None if lazy.path.endswith("/") else self.source(lazy.path)
        if source is None:
            return False
        name = lazy.name.encode()
        defined = re.search(rb"^\s*(?:async\s+)?(?:def|class)\s+" + re.escape(name) + rb"\b", source, re.MULTILINE)
        if defined is None and name not in source and b"import *" not in source:
            return False
        if defined is not None and not mentions_parser(source) and b"import" not in source:
            return False
        found = self.member(lazy.path, lazy.name)
        return found is not None and self._value_reaches(found, hops)

    def _value_reaches(self, value: Value, hops: int) -> bool:
        if isinstance(value, Function):
            return self._reaches(value.scope, value.node.start_byte, value.node.text or b"", value.owner, hops)
        if isinstance(value, Class):
            return self._class_reaches(value, hops)
        return isinstance(value, Group) or (isinstance(value, External) and is_parser_class(value))
