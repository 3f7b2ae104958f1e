"""Shell text to simple commands, statically: where each runs, with which environment, from which lines.

The text is parsed by tree-sitter's bash grammar after what it cannot read (here-documents, ``<placeholders>``) has
been masked byte for byte, so that positions stay exact. Nothing is run. Text that cannot be parsed as a whole is read
line by line, and a note says so.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from .masking import Masked, mask
from .shell_nodes import UNROLL, braces, expansions, holds, logical_lines, unescape, words_after

__all__ = ["Command", "Reading", "read_shell"]

TOO_DEEP = "it could not be read as shell: it is nested too deeply"


@dataclass(frozen=True)
class Command:
    """One simple command: a program with its words."""

    argv: tuple[str, ...]
    static: tuple[bool, ...]
    """For each word, whether its value is known without running anything."""
    text: str
    """On one line, without redirections, blanks between words collapsed."""
    source: str
    """As written, over several lines where it was, with redirections; known variables filled in where asked for."""
    start_line: int
    end_line: int
    cwd: str = ""
    """Folder it runs in, relative to where the text starts; ``?`` begins it where that is unknown."""
    env: tuple[tuple[str, str], ...] = ()
    """Variables set for this command alone."""
    background: bool = False
    redirected: bool = False
    loop: tuple[tuple[str, str], ...] = ()
    """Loop variables around it with their first value."""

    @property
    def program(self) -> str:
        return self.argv[0] if self.argv else ""


@dataclass(frozen=True)
class Reading:
    """All commands of a text in order, the folder its end is in, the variables it sets, and what was not readable."""

    commands: tuple[Command, ...]
    cwd: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def read_shell(
    text: str,
    *,
    first_line: int = 1,
    cwd: str = "",
    variables: Mapping[str, str] | None = None,
    unroll: bool = False,
) -> Reading:
    """The commands of shell text whose first line is line ``first_line``.

    With ``unroll``, as for the body of a script, known variables (``variables`` and assignments on the way, ``1``,
    ``2`` … for the script's arguments) are filled in and loops over fixed lists are followed turn by turn. Text that is
    nested more deeply than can be followed gives no commands, and a note that says so.
    """
    masked = mask(text.encode("utf-8", "surrogatepass"))
    walker = _Walker(masked, first_line, cwd, dict(variables or {}), unroll)
    try:
        _read_into(walker)
    except RecursionError:
        return Reading((), cwd, tuple(sorted((variables or {}).items())), (TOO_DEEP,))
    return walker.reading()


def _read_into(walker: _Walker) -> None:
    """Read the text as a whole, or line by line where it has errors."""
    masked = walker.masked
    root = _parser().parse(masked.parsed).root_node
    if not root.has_error:
        walker.walk_all(root.children)
        return
    for start, end in logical_lines(masked.parsed):
        line = masked.parsed[start:end]
        part = _parser().parse(b"\n" * masked.parsed.count(b"\n", 0, start) + line).root_node
        shift = start - masked.parsed.count(b"\n", 0, start)
        walker.shift = shift
        if part.has_error:
            walker.unread += 1
        walker.walk_all(part.children)


@dataclass
class _Walker:
    masked: Masked
    first_line: int
    cwd: str
    variables: dict[str, str]
    unroll: bool
    commands: list[Command] = field(default_factory=list)
    shift: int = 0
    unread: int = 0
    _previous: str = ""
    _stack: list[str] = field(default_factory=list)
    _loops: list[tuple[str, str]] = field(default_factory=list)

    def reading(self) -> Reading:
        notes = (f"{self.unread} line(s) could not be read as shell",) if self.unread else ()
        return Reading(tuple(self.commands), self.cwd, tuple(sorted(self.variables.items())), notes)

    # structure ---------------------------------------------------------------------------------------------

    def walk_all(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            if node.type == "&" and self.commands:
                self.commands[-1] = replace(self.commands[-1], background=True)
            else:
                self.walk(node)

    def walk(self, node: Node, redirects: tuple[Node, ...] = ()) -> None:
        match node.type:
            case "command":
                self._command(node, redirects)
            case "redirected_statement":
                body = node.child_by_field_name("body")
                inner = tuple(child for child in node.children if child.type.endswith("_redirect"))
                if body is not None:
                    self.walk(body, (*inner, *redirects))
            case "list":
                *first, last = node.children
                self.walk_all(first)
                self.walk(last, redirects)
            case "pipeline":
                self._pipeline(node, redirects)
            case "subshell":
                before = self.cwd, dict(self.variables)
                self.walk_all(node.children)
                self.cwd, self.variables = before
            case "for_statement":
                self._for(node)
            case "declaration_command" | "variable_assignments":
                for child in node.children:
                    if child.type == "variable_assignment":
                        self._assign(child)
                self._setting(node)
            case "variable_assignment":
                self._assign(node)
                self._setting(node)
            case "function_definition" | "comment" | "test_command" | "heredoc_redirect":
                pass
            case _:
                self.walk_all(node.children)

    def _pipeline(self, node: Node, redirects: tuple[Node, ...]) -> None:
        parts = [child for child in node.children if child.is_named]
        for number, part in enumerate(parts):
            # the grammar binds a pipe weaker than &&, the shell binds it tighter: what stands before the last && of
            # the first part runs in this shell, every member of the pipe in one of its own
            before = self.cwd
            self.walk(part, redirects if number == len(parts) - 1 else ())
            if number or not holds(part, "list"):
                self.cwd = before

    def _for(self, node: Node) -> None:
        name_node = node.child_by_field_name("variable")
        body = node.child_by_field_name("body")
        if name_node is None or body is None:
            return
        name = self._original(name_node)
        words = node.children_by_field_name("value")
        values: list[str] = []
        for word in words:
            value, static = self._word(word)
            if not static:
                values = []
                break
            values += braces(value) if word.type in ("concatenation", "brace_expression", "word") else [value]
        turns = (values or [""]) if self.unroll and len(self.commands) < UNROLL * 8 else (values or [""])[:1]
        for value in turns[:UNROLL]:
            self._loops.append((name, value))
            outer = self.variables.get(name)
            if self.unroll and values:
                self.variables[name] = value
            self.walk_all(body.children)
            self._loops.pop()
            if outer is None:
                self.variables.pop(name, None)
            else:
                self.variables[name] = outer

    def _assign(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        if name is None:
            return
        text, static = self._word(value) if value is not None else ("", True)
        if static or not self.unroll:
            self.variables[self._original(name)] = text
        else:
            self.variables.pop(self._original(name), None)

    def _setting(self, node: Node) -> None:
        """Assignments count as commands of the program ``export``, so that they can precede a task as written."""
        source = self._filled(node.start_byte, node.end_byte, node)
        words = source.split(None, 1)[-1] if node.type == "declaration_command" else source
        line = self.first_line + self._line_of(node.start_byte)
        last = self.first_line + self._line_of(max(node.end_byte - 1, node.start_byte))
        self.commands.append(Command(("export", words), (True, True), source, source, line, last, self.cwd))

    # words -------------------------------------------------------------------------------------------------

    def _original(self, node: Node) -> str:
        return self._slice(node.start_byte, node.end_byte)

    def _slice(self, start: int, end: int) -> str:
        original = self.masked.original
        return original[start + self.shift : end + self.shift].decode("utf-8", "replace")

    def _word(self, node: Node) -> tuple[str, bool]:
        """The word's value, and whether it is known without running anything."""
        match node.type:
            case "raw_string":
                return self._original(node)[1:-1], True
            case "string":
                return self._quoted(node)
            case "concatenation":
                parts = [self._word(child) for child in node.children]
                return "".join(text for text, _ in parts), all(static for _, static in parts)
            case "simple_expansion" | "expansion":
                return self._expansion(node)
            case "command_substitution" | "arithmetic_expansion" | "process_substitution":
                return self._original(node), False
            case "ansi_c_string":
                return self._original(node)[2:-1], True
            case "translated_string":
                return self._quoted(node.children[-1])
            case _:
                text = self._original(node)
                return re.sub(r"\\\n", "", text) if node.type == "number" else unescape(text), True

    def _quoted(self, node: Node) -> tuple[str, bool]:
        closed = len(self._original(node)) > 1 and self._original(node).endswith('"')
        start, end = node.start_byte + 1, node.end_byte - closed
        text, static, at = "", True, start
        for child in node.children:
            if child.type in ("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"):
                text += re.sub(r"\\([\"\\$`\n])", lambda m: m[1].strip("\n"), self._slice(at, child.start_byte))
                value, known = self._word(child)
                text, static, at = text + value, static and known, child.end_byte
        return text + re.sub(r"\\([\"\\$`\n])", lambda m: m[1].strip("\n"), self._slice(at, end)), static

    def _expansion(self, node: Node) -> tuple[str, bool]:
        raw = self._original(node)
        match = re.fullmatch(r"\$\{?(\w+|[@*#?])(?::?-([^}$`]*))?\}?", raw)
        if not match or not self.unroll:
            return raw, False
        value = self.variables.get(match[1])
        if value is None or (value == "" and match[2]):
            value = match[2]
        return (raw, False) if value is None else (value.strip("\"'") if value == match[2] else value, True)

    # commands ----------------------------------------------------------------------------------------------

    def _command(self, node: Node, redirects: tuple[Node, ...]) -> None:
        env: list[tuple[str, str]] = []
        words: list[Node] = []
        for child in node.children:
            if child.type == "variable_assignment":
                name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
                if name is not None:
                    env.append((self._original(name), self._word(value)[0] if value is not None else ""))
            elif child.type == "command_name":
                words.append(child.children[0] if child.children else child)
            elif not child.type.endswith("_redirect") and child.is_named:
                words.append(child)
        inner = tuple(child for child in node.children if child.type.endswith("_redirect"))
        if not words:
            return
        words += words_after(redirect for redirect in (*inner, *redirects))
        words.sort(key=lambda word: word.start_byte)
        values = [self._word(word) for word in words]
        argv = tuple(text for text, _ in values)
        if argv[0] in ("cd", "pushd", "popd"):
            self._change_folder(argv, all(static for _, static in values))
        start = node.start_byte
        end = max([node.end_byte, *(redirect.end_byte for redirect in redirects)])
        line = self.first_line + self._line_of(start)
        shown_words = [*(child for child in node.children if child.type == "variable_assignment"), *words]
        self.commands.append(
            Command(
                argv=argv,
                static=tuple(static for _, static in values),
                text=" ".join(self._filled(word.start_byte, word.end_byte, word) for word in shown_words),
                source=self._filled(start, end, node, *redirects),
                start_line=line,
                end_line=self.first_line + self._line_of(max(start, end - 1)),
                cwd=self.cwd,
                env=tuple(env),
                redirected=bool(inner or redirects),
                loop=tuple(self._loops),
            )
        )

    def _line_of(self, byte: int) -> int:
        original = self.masked.original
        return original.count(b"\n", 0, byte + self.shift)

    def _filled(self, start: int, end: int, *nodes: Node) -> str:
        """The source between two bytes; in scripts with the variables that are known filled in."""
        if not self.unroll:
            return self._slice(start, end)
        text, at = "", start
        for expansion in expansions(nodes):
            value, known = self._expansion(expansion)
            if known and start <= expansion.start_byte and expansion.end_byte <= end:
                text += self._slice(at, expansion.start_byte) + value
                at = expansion.end_byte
        return text + self._slice(at, end)

    def _change_folder(self, argv: tuple[str, ...], static: bool) -> None:
        if argv[0] == "popd":
            self.cwd = self._stack.pop() if self._stack else self.cwd
            return
        target = next((word for word in argv[1:] if not word.startswith("-") or word == "-"), "~")
        if argv[0] == "pushd":
            self._stack.append(self.cwd)
        before, self.cwd = self.cwd, self._folder(target, static)
        if target == "-":
            self.cwd = self._previous
        self._previous = before

    def _folder(self, target: str, static: bool) -> str:
        if re.search(r"\$\(\s*(?:dirname|cd)\b|\$\{?(?:BASH_SOURCE|0)\b", target):
            return "?script"
        if not static or target.startswith(("~", "$")):
            return "?" + target
        if target.startswith("/"):
            return target
        joined = posixpath.normpath(posixpath.join(self.cwd, target.rstrip("/") or "."))
        return "" if joined == "." else joined
