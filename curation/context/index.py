"""An index of what Python files define: functions and classes with their lines, signature and docstring.

It is made by one tree-sitter query a file, depends on the file's bytes alone, and can be kept under the blob's id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

import tree_sitter_python
from tree_sitter import Language, Node, Parser, Query, QueryCursor

from ..flags import SourceFiles
from ..flags.scopes import Scope
from ..flags.syntax import parse_python
from ..flags.values import Class, Function
from .tokens import count_tokens

__all__ = ["CONFIGURATIONS", "Cache", "Definition", "FileIndex", "Index", "Wanted", "index_source"]

_PYTHON = Language(tree_sitter_python.language())
QUERY = """
(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
"""


CONFIGURATIONS = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini", ".gin")

_DEFINED = re.compile(rb"\n([ \t]*)(?:async[ \t]+)?(?:def|class)[ \t]+([A-Za-z_]\w*)")
_REGISTERED = re.compile(rb"\n[ \t]*@[\w.]+\([^)\n'\"]*['\"]([^'\"\n]{3,100})['\"]")


@dataclass(frozen=True)
class Wanted:
    """One stretch of a file: all of it where it fits, else down to ``header_line``, which is its essence."""

    path: str
    start_line: int
    header_line: int
    end_line: int
    symbol: str
    worth: float
    """Higher comes first: 100 and more for what defines the arguments, below 50 for what is only used."""


@lru_cache(maxsize=1)
def _query() -> Query:
    return Query(_PYTHON, QUERY)


@dataclass(frozen=True)
class Definition:
    """A function, method or class: 1-based inclusive lines, decorators included."""

    name: str
    kind: str
    """``function`` or ``class``."""
    parent: str
    """Qualified name of the class or function around it; empty at the top level."""
    start_line: int
    header_line: int
    """Last line of the signature and docstring."""
    end_line: int

    @property
    def qualified(self) -> str:
        return f"{self.parent}.{self.name}" if self.parent else self.name


@dataclass(frozen=True)
class FileIndex:
    """What one file defines, in the order of its lines."""

    definitions: tuple[Definition, ...]

    def to_bytes(self) -> bytes:
        """As JSON, to be kept under the blob's id."""
        rows = [[d.name, d.kind, d.parent, d.start_line, d.header_line, d.end_line] for d in self.definitions]
        return json.dumps(rows, ensure_ascii=False).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> FileIndex | None:
        """What :meth:`to_bytes` wrote; None where it is anything else."""
        try:
            return cls(tuple(Definition(*row) for row in json.loads(data)))
        except (ValueError, TypeError):
            return None


def index_source(source: bytes) -> FileIndex:
    """The index of one file; a file with syntax errors gives what can be made out."""
    return index_tree(Parser(_PYTHON).parse(source).root_node)


def index_tree(root: Node) -> FileIndex:
    """The same from a tree that is there already."""
    captured = QueryCursor(_query()).captures(root)
    nodes = [(node, "function") for node in captured.get("function", ())]
    nodes += [(node, "class") for node in captured.get("class", ())]
    spans = sorted((node.start_byte, node.end_byte, node, kind) for node, kind in nodes)
    parents = list(_parents(spans))
    names: list[str] = []
    definitions: list[Definition] = []
    for number, (_, _, node, kind) in enumerate(spans):
        name_node = node.child_by_field_name("name")
        name = "" if name_node is None else (name_node.text or b"").decode("utf-8", "replace")
        parent = names[parents[number]] if parents[number] >= 0 else ""
        names.append(f"{parent}.{name}" if parent else name)
        outer = node.parent
        first = outer if outer is not None and outer.type == "decorated_definition" else node
        definitions.append(
            Definition(
                name,
                kind,
                parent,
                first.start_point[0] + 1,
                _header_line(node),
                node.end_point[0] + 1,
            )
        )
    return FileIndex(tuple(definitions))


Span = tuple[int, int, Node, str]


def _parents(spans: list[Span]) -> Iterator[int]:
    """For each definition the number of the one around it; -1 at the top level."""
    stack: list[int] = []
    for number, (start, _, _, _) in enumerate(spans):
        while stack and spans[stack[-1]][1] <= start:
            stack.pop()
        yield stack[-1] if stack else -1
        stack.append(number)


def _header_line(node: Node) -> int:
    """The last line of a definition's signature, or of its docstring where it has one."""
    body = node.child_by_field_name("body")
    if body is None or not body.named_children:
        return node.end_point[0] + 1
    first = body.named_children[0]
    if first.type == "expression_statement" and first.named_children and first.named_children[0].type == "string":
        return first.end_point[0] + 1
    return max(node.start_point[0] + 1, min(body.start_point[0], node.end_point[0] + 1))


class Cache(Protocol):
    """What was made of a blob, kept under its id."""

    def get(self, key: str) -> bytes | None: ...

    def __setitem__(self, key: str, value: bytes) -> None: ...


class Index:
    """The Python files of one repository, indexed as they are asked for."""

    def __init__(
        self,
        files: SourceFiles,
        *,
        blob_of: Callable[[str], str | None] | None = None,
        cache: Cache | None = None,
    ) -> None:
        """``cache`` keeps indexes by blob id, ``blob_of`` gives a path's; without them nothing is kept."""
        self.files = files
        self.paths = [path for path in files.paths() if path.endswith(".py")]
        self.programs: dict[str, list[Wanted]] = {}
        """What each program needs whatever its command's values are: ``wanted_by_script.py`` keeps it here."""
        self.ends: dict[tuple[str, tuple[int, ...]], dict[int, int]] = {}
        """Where the statements of a file end that begin at some lines: ``wanted_by_script.py`` keeps it here, too."""
        self.hits: dict[tuple[str, str, str], tuple[int, ...]] = {}
        """Lines of a file that tell a name's value apart: likewise."""
        self.referenced: dict[tuple[str, Scope, int], list[Function | Class]] = {}
        """What the calls in a definition lead to, for programs in a folder: likewise."""
        self._lines: dict[str, list[str]] = {}
        self._tokens: dict[str, dict[int, int]] = {}
        self._blob_of = blob_of if cache is not None else None
        self._cache = cache if cache is not None else {}
        self._known: dict[str, FileIndex] = {}
        self._sources: dict[str, bytes] = {}

    def source(self, path: str) -> bytes:
        """The bytes of ``path``; empty where there are none."""
        if path not in self._sources:
            self._sources[path] = self.files.read(path) or b""
        return self._sources[path]

    def lines(self, path: str) -> list[str]:
        """The lines of a file with their ends, cut at line feeds only, as line numbers count them."""
        known = self._lines.get(path)
        if known is None:
            parts = self.source(path).decode("utf-8", "replace").split("\n")
            known = [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
            self._lines[path] = known
        return known

    def tokens(self, path: str, number: int) -> int:
        """Tokens of one line of a file, numbered from 0; counted once."""
        counts = self._tokens.setdefault(path, {})
        if number not in counts:
            counts[number] = count_tokens(self.lines(path)[number])
        return counts[number]

    def of(self, path: str) -> FileIndex:
        """The index of one file."""
        if path not in self._known:
            self._known[path] = self._made(path, lambda source: index_tree(parse_python(source).root_node))
        return self._known[path]

    def build(self) -> dict[str, FileIndex]:
        """The index of every Python file; no tree is kept."""
        for path in self.paths:
            if path not in self._known:
                self._known[path] = self._made(path, index_source)
        return dict(self._known)

    def _made(self, path: str, make: Callable[[bytes], FileIndex]) -> FileIndex:
        """What is kept under the file's blob, or else what ``make`` makes of it."""
        blob = self._blob_of(path) if self._blob_of is not None else None
        kept = self._cache.get(blob) if blob is not None else None
        found = FileIndex.from_bytes(kept) if kept is not None else None
        if found is None:
            found = make(self.source(path))
            if blob is not None:
                self._cache[blob] = found.to_bytes()
        return found

    def defining(self, names: Iterable[str]) -> dict[str, list[tuple[str, Definition]]]:
        """Where functions and classes of these names are defined at the top level of a file."""
        return self._named(names, self._spelled[0], lambda definition: not definition.parent)

    def methods(self, names: Iterable[str]) -> dict[str, list[tuple[str, Definition]]]:
        """Where methods of these names are defined."""
        return self._named(names, self._spelled[1], lambda definition: bool(definition.parent))

    def defines(self, name: str) -> bool:
        """Whether a function, class or registered thing of this name is known."""
        return name in self._spelled[0] or name in self._spelled[2]

    def registered(self, names: Iterable[str]) -> dict[str, list[tuple[str, Definition]]]:
        """What a decorator registers under these names: ``@registry.register_model("name")``."""
        found: dict[str, list[tuple[str, Definition]]] = {}
        for name in sorted(set(names) & set(self._spelled[2])):
            for path, line in self._spelled[2][name]:
                definition = self.around(path, line)
                if definition is not None:
                    found.setdefault(name, []).append((path, definition))
        return found

    @cached_property
    def known_paths(self) -> frozenset[str]:
        return frozenset(self.paths)

    @cached_property
    def configurations(self) -> dict[str, list[str]]:
        """Configuration files by their name without its ending."""
        found: dict[str, list[str]] = {}
        for path in self.files.paths():
            name, dot, ending = path.rpartition("/")[2].rpartition(".")
            if f"{dot}{ending}" in CONFIGURATIONS:
                found.setdefault(name, []).append(path)
        return found

    def _named(
        self, names: Iterable[str], places: Mapping[str, set[str]], keep: Callable[[Definition], bool]
    ) -> dict[str, list[tuple[str, Definition]]]:
        return {
            name: [
                (path, definition)
                for path in sorted(places[name])
                for definition in self.of(path).definitions
                if definition.name == name and keep(definition)
            ]
            for name in sorted(set(names) & set(places))
        }

    @cached_property
    def _spelled(self) -> tuple[dict[str, set[str]], dict[str, set[str]], dict[str, list[tuple[str, int]]]]:
        """Files by the names that look defined in them (top level, inside), and places by registered names.

        Found by the look of the lines, which is quick; the index of a file then says what is really there.
        """
        top: dict[str, set[str]] = {}
        inside: dict[str, set[str]] = {}
        registered: dict[str, list[tuple[str, int]]] = {}
        for path in self.paths:
            source = b"\n" + self.source(path)  # a pattern that begins with one byte is searched for quickly
            for indent, name in _DEFINED.findall(source):
                (inside if indent else top).setdefault(name.decode(), set()).add(path)
            for match in _REGISTERED.finditer(source):
                line = source.count(b"\n", 0, match.start() + 1)
                registered.setdefault(match.group(1).decode("utf-8", "replace"), []).append((path, line))
        return top, inside, registered

    def around(self, path: str, line: int) -> Definition | None:
        """The outermost definition that holds ``line``."""
        return next((d for d in self.of(path).definitions if not d.parent and d.start_line <= line <= d.end_line), None)
