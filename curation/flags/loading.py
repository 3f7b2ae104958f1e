"""Opening the files and modules of a program, each when it is first needed, and remembering which were read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tree_sitter import Node

from .dataclass_parser import DataclassParser
from .library import library_of
from .parser_calls import Given
from .parsers import ParserState
from .relevance import mentions_parser
from .report import SourceFiles
from .scopes import Lazy, Scope
from .syntax import children, parse_python
from .values import Class, Const, Function, Group, Instance, Module, Value

__all__ = ["Loader"]


class Loader(DataclassParser):
    """What one reading knows: its modules, parsers and definitions."""

    def __init__(self, files: SourceFiles, entry: str) -> None:
        self.files = files
        self.entry = entry
        self.library = library_of(files)
        self.layout = self.library.layout
        self.parsers: list[ParserState] = []
        self.unresolved: list[str] = []
        self.definitions: list[tuple[str, Given]] = []
        self.read_paths: set[str] = set()
        self.branch_depth = 0
        self.calls: list[Function] = []
        self.followed: set[tuple[str, int]] = set()
        self.open_ended = False
        self.returns: list[list[Value]] = []
        self.steps = 0
        self._modules: dict[str, tuple[Scope, frozenset[str]]] = {}
        self._loading: dict[str, Scope] = {}
        self._circular = False
        self._reads: list[set[str]] = [self.read_paths]
        self._resolving: set[Lazy] = set()

    # Files and modules

    def source(self, path: str) -> bytes | None:
        """The bytes of ``path``, remembered as read."""
        self._reads[-1].add(path)
        return self.library.source(self.files, path)

    @contextmanager
    def recorded(self) -> Iterator[set[str]]:
        """The files read inside, which count as read outside too."""
        reads: set[str] = set()
        self._reads.append(reads)
        try:
            yield reads
        finally:
            self._reads.pop()
            self._reads[-1] |= reads

    def module(self, path: str) -> Scope:
        """The top-level names of the module ``path``, after its top level has been read."""
        if path in self._loading:
            # Half-read, as in a circle of imports: what is made of it now is not to be shared.
            self._circular = self._circular or path != self.entry or len(self._loading) > 1
            return self._loading[path]
        known = self._modules.get(path)
        if known is not None:
            self._reads[-1] |= known[1]
            return known[0]
        key = self.library.key(path, self.entry)
        known = self.library.scopes.get(key)
        if known is None:
            before = len(self.parsers) + len(self.definitions)
            with self.recorded() as reads:
                scope = self.load(path)
            known = (scope, frozenset(reads))
            harmless = not any(isinstance(value, (Instance, Group)) for value in scope.variables.values())
            if (
                path != self.entry
                and not self._circular
                and harmless
                and len(self.parsers) + len(self.definitions) == before
            ):
                self.library.scopes[key] = known
            self._circular = self._circular and bool(self._loading)
        self._modules[path] = known
        self._reads[-1] |= known[1]
        return known[0]

    def load(self, path: str) -> Scope:
        """Read the top level of a module."""
        name = "__main__" if path == self.entry else path.removesuffix(".py").replace("/", ".")
        scope = Scope(path, {"__name__": Const(name)})
        self._loading[path] = scope
        source = None if path.endswith("/") else self.source(path)
        if source is not None:
            depth, self.branch_depth = self.branch_depth, 0
            self.returns.append([])
            self.block(children(parse_python(source).root_node), scope)
            self.returns.pop()
            self.branch_depth = depth
        del self._loading[path]
        return scope

    def submodule(self, path: str, name: str) -> str | None:
        if path.endswith("/"):
            return self.layout.inside(path[:-1], name)
        folder, _, file = path.rpartition("/")
        return self.layout.inside(folder, name) if file == "__init__.py" else None

    def last_resort(self, scope: Scope) -> None:
        """Nothing reached a parser from the top: read what nobody called, and the modules that were imported.

        A program may be started by a console script, a framework or ``python -m``, which call functions by name.
        """
        for value in list(scope.variables.values()):
            if isinstance(value, Class) and self.class_relevant(value):
                made = self.instantiate(value, self.nobody(value.node, scope))
                self.read_methods(made, scope)
            elif isinstance(value, Function) and self.relevant(value):
                self.read_uncalled(value, scope)
        for value in list(scope.variables.values()):
            if isinstance(value, (Lazy, Module)) and not self.parsers:
                source = None if value.path.endswith("/") else self.source(value.path)
                if source is not None and mentions_parser(source):
                    self.module(value.path)

    def nobody(self, node: Node, scope: Scope) -> Given:
        """The arguments of a call that is not in the source."""
        return Given(node, f"{scope.path}:{node.start_point.row + 1}", [], {}, called=False)

    def read_uncalled(self, function: Function, scope: Scope) -> None:
        if (function.scope.path, function.node.start_byte) not in self.followed:
            self.open_ended = True
            self.follow(function, self.nobody(function.node, scope))
            self.open_ended = False

    def read_methods(self, made: Value, scope: Scope) -> None:
        if isinstance(made, Instance):
            for cls in self.ancestry(made.cls):
                for member in list(cls.members.values()):
                    if isinstance(member, Function) and self.relevant(member):
                        self.read_uncalled(Function(member.node, member.scope, made, member.owner), scope)
