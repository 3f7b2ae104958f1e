"""Which functions and classes are worth following: those through which a command-line parser can be reached."""

from __future__ import annotations

import re
from abc import abstractmethod
from contextlib import AbstractContextManager
from functools import lru_cache

from .calls import Calls, is_parser_class
from .library import Key, Library
from .scopes import Lazy, Scope
from .values import Class, External, Function, Group, Module, Value

__all__ = ["Relevance", "mentions_parser"]

_MADE = re.compile(rb"ArgumentParser|ArgParser|parse_args|parse_known_args|OptionParser|DEFINE_[a-z_]+\(|\bgetopt\.")
_MADE_WORDS = (b"Parser", b"parse_", b"DEFINE_", b"getopt")
"""One of them is in all that ``_MADE`` finds, and looking for them is much quicker."""
_RECEIVERS = re.compile(rb"(?<!\w)([A-Za-z_][\w.]*)\.(?:add_argument|add_option|add_subparsers|add_parser)\b")
_CALLEES = re.compile(rb"(?<!\w)([A-Za-z_][\w.]*+)\s*\(")


def mentions_parser(source: bytes) -> bool:
    """Whether argparse's words occur in ``source``."""
    return _makes_parser(source) or (b".add_" in source and _RECEIVERS.search(source) is not None)


def _makes_parser(source: bytes) -> bool:
    return any(word in source for word in _MADE_WORDS) and _MADE.search(source) is not None


@lru_cache(maxsize=8192)
def _says(text: bytes) -> tuple[bool, tuple[str, ...]]:
    """Whether a function's text itself makes, parses or fills a parser, and the names it calls.

    Filling a parser that it is handed does not count: then the call that hands it over is followed anyway.
    """
    if _makes_parser(text):
        return True, ()
    parameters = text.partition(b":\n")[0]
    for receiver in _RECEIVERS.findall(text) if b".add_" in text else ():
        if not re.search(rb"\b" + re.escape(receiver.partition(b".")[0]) + rb"\b", parameters) or b"self." in receiver:
            return True, ()
    names = dict.fromkeys(match.decode("ascii", "replace") for match in _CALLEES.findall(text))
    return False, tuple(names)


class Relevance(Calls):
    """Decides from the text of functions, following the names they call across modules."""

    library: Library
    _reads: list[set[str]]
    _asked: set[tuple[Key, int]] | None = None
    """What the question at hand has already looked at; None between questions."""

    @abstractmethod
    def source(self, path: str) -> bytes | None:
        """The bytes of a file."""

    @abstractmethod
    def recorded(self) -> AbstractContextManager[set[str]]:
        """The files read inside."""

    def relevant(self, function: Function) -> bool:
        return self._ask(function)

    def class_relevant(self, cls: Class) -> bool:
        return self._ask(cls)

    def _ask(self, value: Value) -> bool:
        """Search everything that can be reached; where nothing is found, that holds for all that was searched."""
        if self._asked is not None:
            return self._value_reaches(value)
        self._asked = set()
        with self.recorded() as reads:
            found = self._value_reaches(value)
        if not found:
            for key in self._asked:
                self.library.reaching[key] = (False, frozenset(reads))
        self._asked = None
        return found

    def _class_reaches(self, cls: Class) -> bool:
        if any(isinstance(value, Group) for value in cls.members.values()):
            return True
        if any(is_parser_class(base) for base in cls.bases):
            return True
        if self._reaches(cls.scope, cls.node.start_byte, cls.node.text or b"", cls):
            return True
        return any(isinstance(base, Class) and self._class_reaches(base) for base in cls.bases)

    def _reaches(self, scope: Scope, start: int, text: bytes, owner: Class | None) -> bool:
        key = (self.library.key(scope.path, self.entry), start)
        known = self.library.reaching.get(key)
        if known is not None:
            self._reads[-1] |= known[1]
            return known[0]
        assert self._asked is not None
        if key in self._asked:
            return False
        self._asked.add(key)
        with self.recorded() as reads:
            itself, names = _says(text)
            found = itself or any(self._name_reaches(name, scope, owner) for name in names)
        if found:
            self.library.reaching[key] = (True, frozenset(reads))
        return found

    def _name_reaches(self, dotted: str, scope: Scope, owner: Class | None) -> bool:
        first, *rest = dotted.split(".")
        if first in ("self", "cls") and owner is not None and rest:
            found = self.class_member(owner, rest[0])
            return found is not None and self._value_reaches(found)
        bound = scope.find(first)
        if bound is None:
            return any(self._lazy_reaches(Lazy(path, first), rest) for path in scope.module.stars)
        value = bound[1]
        if isinstance(value, Lazy):
            return self._lazy_reaches(value, rest)
        if isinstance(value, Module) and rest:
            return self._lazy_reaches(Lazy(value.path, rest[0]), rest[1:])
        for name in rest:
            if isinstance(value, (Class, Module)):
                value = self.attribute(value, name, name)
        return self._value_reaches(value)

    def _lazy_reaches(self, lazy: Lazy, rest: list[str]) -> bool:
        """Whether a name of another module leads to a parser; the module is opened only where it may."""
        inner = self.submodule(lazy.path, lazy.name)
        if inner is not None and rest:
            return self._lazy_reaches(Lazy(inner, rest[0]), rest[1:])
        source = None if lazy.path.endswith("/") else self.source(lazy.path)
        if source is None or (lazy.name.encode() not in source and b"import *" not in source):
            return False
        found = self.member(lazy.path, lazy.name)
        for name in rest:
            if isinstance(found, (Class, Module)):
                found = self.attribute(found, name, name)
        return found is not None and self._value_reaches(found)

    def _value_reaches(self, value: Value) -> bool:
        if isinstance(value, Function):
            return self._reaches(value.scope, value.node.start_byte, value.node.text or b"", value.owner)
        if isinstance(value, Class):
            return self._class_reaches(value)
        return isinstance(value, Group) or (isinstance(value, External) and is_parser_class(value))
