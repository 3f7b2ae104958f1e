"""What a bash script starts, followed statement by statement without running it.

Programs are assumed to succeed (the recorder assumes the same), so that ``a && b`` reaches ``b``; ``true``, ``false``
and simple tests are decided. Whatever cannot be followed exactly is a doubt, which a recorder can settle.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from ...curation.commands import read_shell
from .calls import Call, Trace, call_of
from .conditions import verdict_of
from .expansion import Expander, Variable, source_of
from .folders import Place

__all__ = ["trace_shell"]

MOST_CALLS = 2000
MOST_TURNS = 256
MOST_STEPS = 20_000
DEEPEST = 8
_INTERPRETERS = ("bash", "sh", "zsh", "dash")


class _StopError(Exception):
    """``exit`` was reached."""


@lru_cache(maxsize=1)
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def trace_shell(
    text: str, *, folder: str = "", variables: Mapping[str, str] | None = None, arguments: Sequence[str] = ()
) -> Trace:
    """The calls that ``text`` makes when bash runs it in ``folder``; ``arguments`` are ``$1``, ``$2`` …"""
    return _traced(text, folder, tuple(sorted((variables or {}).items())), tuple(arguments))


@lru_cache(maxsize=2048)
def _traced(text: str, folder: str, variables: tuple[tuple[str, str], ...], arguments: tuple[str, ...]) -> Trace:
    known: dict[str, Variable] = {**dict(variables), "@": list(arguments)}
    known |= {str(number): word for number, word in enumerate(arguments, 1)}
    walker = _Walker(folder, known)
    try:
        walker.script(text)
    except RecursionError:
        walker.doubts.append("it is nested too deeply to be followed")
    return Trace(tuple(walker.calls), tuple(dict.fromkeys(walker.doubts)))


class _Walker:
    def __init__(self, folder: str, variables: Mapping[str, Variable]) -> None:
        self.place = Place(folder, folder)
        self.words = Expander(variables)
        self.calls: list[Call] = []
        self.doubts: list[str] = []
        self.functions: dict[str, Node] = {}
        self.depth = 0
        self.errexit = False
        self.steps = 0
        self.exported: set[str] = set()

    # scripts -----------------------------------------------------------------------------------------------

    def script(self, text: str) -> bool:
        """Follow a whole script; what stands behind ``exit`` is not reached."""
        text = text.replace("\r\n", "\n")
        root = _parser().parse(text.encode("utf-8", "replace")).root_node
        if root.has_error:
            return self._unparsed(text)
        try:
            return self.all(root.children)
        except _StopError:
            return True

    def _unparsed(self, text: str) -> bool:
        """The grammar refuses it: take the commands that can be read line by line, and say so."""
        self.doubts.append("part of it could not be read as bash")
        known = {name: value for name, value in self.words.variables.items() if isinstance(value, str)}
        for command in read_shell(text, cwd=self.place.folder, variables=known, unroll=True).commands:
            self._add(command.argv, command.cwd, command.env)
        return True

    def all(self, nodes: Iterable[Node]) -> bool:
        status = True
        for node in nodes:
            if node.is_named and node.type != "comment":
                status = self.walk(node)
                if not status and self.errexit and node.type in ("command", "redirected_statement"):
                    raise _StopError
        return status

    def walk(self, node: Node) -> bool:
        self.steps += 1
        if self.steps > MOST_STEPS:
            self.doubts.append(f"more than {MOST_STEPS} statements")
            raise _StopError
        match node.type:
            case "command":
                return self._command(node)
            case "redirected_statement":
                return self._redirected(node)
            case "list":
                return self._list(node)
            case "pipeline":
                return self._pipeline(node)
            case "subshell" | "command_substitution":
                return self._apart(node)
            case "negated_command":
                return not self.walk(node.named_children[-1])
            case "variable_assignment":
                self._assign(node)
            case "variable_assignments" | "declaration_command":
                for child in node.named_children:
                    if child.type == "variable_assignment":
                        self._assign(child)
                if node.children and node.children[0].type == "export":
                    self.exported |= {source_of(child).partition("=")[0] for child in node.named_children}
            case "if_statement":
                return self._if(node)
            case "for_statement":
                return self._for(node)
            case "while_statement":
                return self._while(node)
            case "case_statement":
                return self._case(node)
            case "function_definition":
                name = node.child_by_field_name("name")
                if name is not None:
                    self.functions[source_of(name)] = node
            case "test_command":
                return self._test(node)
            case "compound_statement" | "do_group" | "program" | "else_clause":
                return self.all(node.children)
            case "c_style_for_statement":
                self.doubts.append("a counting loop")
                body = node.child_by_field_name("body")
                return self.walk(body) if body is not None else True
            case "unset_command" | "comment" | "heredoc_body":
                pass
            case _:
                self.doubts.append(f"a {node.type.replace('_', ' ')}")
        return True

    # joined statements -------------------------------------------------------------------------------------

    def _list(self, node: Node) -> bool:
        status, operator = True, ""
        held, self.errexit = self.errexit, False
        for child in node.children:
            if child.is_named:
                if operator == "" or (operator == "&&") == status:
                    status = self.walk(child)
            else:
                operator = child.type
        self.errexit = held
        return status

    def _pipeline(self, node: Node) -> bool:
        parts = [child for child in node.children if child.is_named]
        for part in parts[1:]:
            inner = part.named_children[0] if part.type == "redirected_statement" else part
            if inner.type == "command" and re.match(r"(?:xargs|parallel|bash|sh|while)\b", source_of(inner)):
                self.doubts.append(f"a pipe into {source_of(inner).split()[0]}")
        if any(part.type == "while_statement" for part in parts):
            self.doubts.append("a loop that reads from a pipe")
        return [self._apart(part) for part in parts][-1]

    def _apart(self, node: Node) -> bool:
        """A subshell: what it sets and where it goes is gone afterwards."""
        held = self.place, dict(self.words.variables), self.errexit
        try:
            return self.all(node.children) if node.type == "subshell" else self.walk(node)
        except _StopError:
            return True
        finally:
            self.place, self.words.variables, self.errexit = held

    def _redirected(self, node: Node) -> bool:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.children if child.type.endswith("_redirect")]
        document = next((child for child in redirects if child.type == "heredoc_redirect"), None)
        if body is None:
            return True
        if body.type == "command":
            return self._command(body, redirects, document)
        return self.walk(body)

    # control -----------------------------------------------------------------------------------------------

    def _condition(self, nodes: Sequence[Node]) -> bool:
        held, self.errexit = self.errexit, False
        status = self.all(nodes)
        self.errexit = held
        return status

    def _if(self, node: Node) -> bool:
        for branch in (node, *(child for child in node.children if child.type == "elif_clause")):
            then = next((at for at, child in enumerate(branch.children) if child.type == "then"), 0)
            if self._condition(branch.children[1:then]):
                ends = ("elif_clause", "else_clause")
                return self.all(child for child in branch.children[then + 1 :] if child.type not in ends)
        otherwise = next((child for child in node.children if child.type == "else_clause"), None)
        return self.all(otherwise.children) if otherwise is not None else True

    def _for(self, node: Node) -> bool:
        name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        if name is None or body is None:
            return True
        before = self.words.unknown
        words = node.children_by_field_name("value")
        values = [field for word in words for field in self.words.fields(word)]
        if not words:
            values = list(self.words.variables.get("@") or [])
        if self.words.unknown > before:
            self.doubts.append(f"a loop over {' '.join(map(source_of, words))[:60]}")
        for value in values[:MOST_TURNS]:
            self.words.variables[source_of(name)] = value
            self.walk(body)
        return True

    def _while(self, node: Node) -> bool:
        body = node.child_by_field_name("body")
        until = node.children[0].type == "until"
        conditions = [child for child in node.children[1:] if child is not body and child.type != "do_group"]
        doubts = len(self.doubts)
        if body is not None and self._condition(conditions) != until:
            self.walk(body)
            self.doubts.append("a loop with a condition")
        elif len(self.doubts) > doubts:
            self.doubts.append("a loop with a condition")
        return True

    def _case(self, node: Node) -> bool:
        subject = node.child_by_field_name("value")
        before = self.words.unknown
        value = " ".join(self.words.fields(subject)) if subject is not None else ""
        if self.words.unknown > before:
            self.doubts.append("a case over something unknown")
        for item in (child for child in node.children if child.type == "case_item"):
            patterns = item.children_by_field_name("value")
            texts = [source_of(pattern).strip("\"'") for pattern in patterns]
            if any(fnmatch.fnmatchcase(value, text) for text in texts):
                end = max(pattern.end_byte for pattern in patterns)
                return self.all(child for child in item.children if child.start_byte >= end)
        return True

    def _test(self, node: Node) -> bool:
        before = self.words.unknown
        text = source_of(node)
        verdict = None
        inner = node.named_children[0] if node.named_children else None
        if inner is not None and text.startswith("["):
            verdict = verdict_of(inner, self.words)
        if verdict is None or self.words.unknown > before:
            self.doubts.append(f"the test {text[:60]}")
            return True
        return verdict

    # simple statements -------------------------------------------------------------------------------------

    def _assign(self, node: Node) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None:
            return
        before = self.words.unknown
        given = self.words.value(value)
        self.words.unknown = before  # it matters only where the variable is used
        if name.type == "subscript":
            self.words.variables[source_of(name).partition("[")[0]] = None
            return
        key = source_of(name)
        if "+=" in source_of(node)[: len(key) + 2] and given is not None:
            held = self.words.variables.get(key, "")
            if isinstance(held, list) and isinstance(given, list):
                given = [*held, *given]
            elif isinstance(held, str) and isinstance(given, str):
                given = held + given
            else:
                given = None
        self.words.variables[key] = given

    def _command(self, node: Node, redirects: Sequence[Node] = (), document: Node | None = None) -> bool:
        before = self.words.unknown
        env: list[tuple[str, str]] = []
        argv: list[str] = []
        for child in (*node.children, *_after(redirects)):
            if child.type == "variable_assignment":
                name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
                if name is not None:
                    given = self.words.value(value)
                    env.append((source_of(name), given if isinstance(given, str) else source_of(child)))
            elif child.is_named and not child.type.endswith("_redirect"):
                argv += self.words.fields(child)
        if not argv:
            return True
        uncertain = self.words.unknown > before
        self.words.unknown = before
        return self._run(argv, env, node, document, uncertain)

    def _run(
        self, argv: list[str], env: list[tuple[str, str]], node: Node, document: Node | None, uncertain: bool
    ) -> bool:
        name = argv[0]
        if name in self.functions:
            return self._function(self.functions[name], argv[1:])
        if name in ("cd", "pushd", "popd"):
            self.place = self.place.moved(argv)
            return True
        match name:
            case "true" | ":":
                return True
            case "false":
                return False
            case "exit":
                raise _StopError
            case "return" | "break" | "continue" | "shift" | "read" | "alias" | "trap" | "getopts" | "mapfile":
                self.doubts.append(f"the builtin {name}")
                return True
            case "set":
                self.errexit = self.errexit or any(re.fullmatch(r"-[a-z]*e[a-z]*", word) for word in argv[1:])
                if "--" in argv:
                    self._positionals(argv[argv.index("--") + 1 :])
                return True
            case "test" | "[":
                self.doubts.append(f"the test {' '.join(argv)[:60]}")
                return True
            case "eval":
                return self._deeper(" ".join(argv[1:]))
            case "export":
                return True
        if name in ("xargs", "parallel"):
            self.doubts.append(f"the program {name}")
        if name in _INTERPRETERS and "-c" in argv:
            at = argv.index("-c")
            return self._deeper(argv[at + 1] if at + 1 < len(argv) else "", apart=True, given=argv[at + 2 :])
        if document is not None and name in _INTERPRETERS:
            return self._document(document)
        held = {name: self.words.variables.get(name) for name in sorted(self.exported)}
        exported = [(name, value) for name, value in held.items() if isinstance(value, str)]
        found = self._add(argv, self.place.folder, [*exported, *env])
        if found and uncertain:
            self.doubts.append(f"a word of {source_of(node)[:80]}")
        return True

    def _add(self, argv: Sequence[str], folder: str, env: Sequence[tuple[str, str]]) -> bool:
        call = call_of(argv, folder, env)
        if call is None:
            return False
        if len(self.calls) >= MOST_CALLS:
            self.doubts.append(f"more than {MOST_CALLS} calls")
            raise _StopError
        self.calls.append(call)
        return True

    def _deeper(self, text: str, *, apart: bool = False, given: Sequence[str] = ()) -> bool:
        """Text that is itself a script: ``eval``, ``bash -c``, a here-document for bash."""
        if self.depth >= DEEPEST:
            self.doubts.append("scripts within scripts")
            return True
        self.depth += 1
        held = self.place, dict(self.words.variables)
        if apart:
            self._positionals(list(given[1:]))
            self.words.variables["0"] = given[0] if given else None
        status = self.script(text)
        if apart:
            self.place, self.words.variables = held
        self.depth -= 1
        return status

    def _document(self, document: Node) -> bool:
        start = next((source_of(child) for child in document.children if child.type == "heredoc_start"), "")
        body = next((source_of(child) for child in document.children if child.type == "heredoc_body"), "")
        if "$" in body and not start.startswith(("'", '"', "\\")):
            self.doubts.append("a here-document with variables")
        return self._deeper(body, apart=True)

    def _function(self, node: Node, arguments: list[str]) -> bool:
        body = node.child_by_field_name("body")
        if body is None or self.depth >= DEEPEST:
            self.doubts.append("functions that call one another")
            return True
        held = {key: self.words.variables.get(key) for key in ("@", *map(str, range(1, 10)))}
        self._positionals(arguments)
        self.depth += 1
        status = self.walk(body)
        self.depth -= 1
        for key, value in held.items():
            if value is None:
                self.words.variables.pop(key, None)
            else:
                self.words.variables[key] = value
        return status

    def _positionals(self, words: list[str]) -> None:
        """Set ``$1`` to ``$9`` and ``$@``."""
        self.words.variables.update({str(n): words[n - 1] if n <= len(words) else "" for n in range(1, 10)})
        self.words.variables["@"] = words


def _after(redirects: Iterable[Node]) -> list[Node]:
    """Words behind a redirection's own target, which the grammar hangs below it."""
    found: list[Node] = []
    for redirect in redirects:
        named = [child for child in redirect.children if child.is_named and child.type != "file_descriptor"]
        if redirect.type == "file_redirect":
            found += named[1:]
        elif redirect.type == "heredoc_redirect":
            found += [child for child in named if child.type in ("word", "number", "string", "raw_string")]
    return found
