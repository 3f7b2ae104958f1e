"""A bash script with one argument set to another value: words of its parse tree exchanged, and the result read again.

An edit stands only if the script, followed anew as bash would run it, makes the same calls with the same bindings but
for that one argument. So two arguments of equal value are never mixed up, whatever quotes, variables or ``--x=V`` the
script uses, and nothing is ever replaced as text.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from ...core.models import Argument
from ...curation.candidates.arguments import bound_arguments
from ...curation.flags import SourceFiles
from ...validators.arguments import same, trace_of
from ...validators.arguments.expansion import Expander
from ...validators.arguments.programs import Bound, bound_call

__all__ = ["Script", "read_script"]

_HOLDS_WORDS = frozenset({"word", "number", "string", "raw_string", "ansi_c_string", "concatenation"})
_BEFORE_VALUE = re.compile(r"(-{0,2}[A-Za-z_][\w.-]*=)(.*)", re.DOTALL)


@dataclass(frozen=True)
class Script:
    """A script read through the flags of the one program it is about."""

    code: str
    path: str
    prefix_code: str
    files: SourceFiles | None
    calls: tuple[Bound, ...]
    at: int
    """Which of ``calls`` is meant."""

    @property
    def bound(self) -> Bound:
        return self.calls[self.at]

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """Every argument the program defines, with the script's values."""
        program = self.bound.program
        return bound_arguments(program.report, self.bound.call.argv)[0] if program is not None else ()

    def edited(self, name: str, value: str) -> Script | None:
        """The script with the argument ``name`` set to ``value`` (as a word); None where no edit does just that."""
        found = self.bound.find(name)
        if found is None or found.flag is None or found.abbreviated or found.refused:
            return None
        if found.how == "given":
            attempts = _exchanged(self.code, found.value, value)
        elif found.flag.options and found.flag.takes_value:
            attempts = _added(self.code, found.flag.argument.flag or found.flag.options[-1], value)
        else:
            return None
        for code in attempts:
            after = _read(code, self.path, self.prefix_code, self.files, self.at)
            if after is not None and _differs_only_in(self, after, found.flag.argument.name, value):
                return after
        return None


def read_script(code: str, path: str, prefix_code: str, files: SourceFiles | None) -> Script | None:
    """The script, if it starts exactly one program whose flags are known; else it is not clear what to vary."""
    first = _read(code, path, prefix_code, files, 0)
    known = [at for at, bound in enumerate(first.calls) if bound.program is not None] if first is not None else []
    return _read(code, path, prefix_code, files, known[0]) if len(known) == 1 else None


def _read(code: str, path: str, prefix_code: str, files: SourceFiles | None, at: int) -> Script | None:
    calls = trace_of(code, path, prefix_code, None).calls
    if at >= len(calls):
        return None
    return Script(code, path, prefix_code, files, tuple(bound_call(call, files) for call in calls), at)


def _differs_only_in(before: Script, after: Script, name: str, value: str) -> bool:
    if len(before.calls) != len(after.calls):
        return False
    for at, (old, new) in enumerate(zip(before.calls, after.calls, strict=True)):
        if at != before.at and old.call != new.call:
            return False
    old, new = before.bound, after.bound
    if _frame(old) != _frame(new) or old.binding.extras != new.binding.extras:
        return False
    refused = {problem for problem in new.binding.problems if problem.refused} - set(old.binding.problems)
    found = new.find(name)
    if refused or found is None or found.how != "given" or not same(value, found.value, found.kind):
        return False
    left, right = dict(old.binding.values), dict(new.binding.values)
    left.pop(name, None)
    right.pop(name, None)
    return left == right


def _frame(bound: Bound) -> tuple[Any, ...]:
    """All of a call but its words."""
    call = bound.call
    return call.kind, call.target, call.folder, call.launcher, call.env, call.prepared


# words of the source ---------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def _exchanged(code: str, old: Any, value: str) -> Iterator[str]:
    """The script with one word that holds ``old`` exchanged, for each such word, the last first."""
    source = code.encode()
    for node in reversed(list(_words(_parser().parse(source).root_node))):
        text = _text_of(node)
        if text is None:
            continue
        named = _BEFORE_VALUE.fullmatch(text)
        if same(old, text):
            yield _spliced(source, node.start_byte, node.end_byte, shlex.quote(value))
        elif named is not None and same(old, named[2]):
            yield _spliced(source, node.start_byte, node.end_byte, named[1] + shlex.quote(value))


def _added(code: str, option: str, value: str) -> Iterator[str]:
    """The script with the option behind the last word of one command, for each command, the last first."""
    source = code.encode()
    words = f" {option}={shlex.quote(value)}" if value.startswith("-") else f" {option} {shlex.quote(value)}"
    for node in reversed(list(_commands(_parser().parse(source).root_node))):
        yield _spliced(source, node.end_byte, node.end_byte, words)


def _spliced(source: bytes, start: int, end: int, text: str) -> str:
    return (source[:start] + text.encode() + source[end:]).decode()


def _words(node: Node) -> Iterator[Node]:
    """Whole words and assigned values, in order; not the pieces they are put together from."""
    if node.type in _HOLDS_WORDS:
        yield node
        return
    for child in _inside(node):
        yield from _words(child)


def _commands(node: Node) -> Iterator[Node]:
    if node.type == "command":
        yield node
    for child in _inside(node):
        yield from _commands(child)


def _inside(node: Node) -> Sequence[Node]:
    return [] if node.type in ("comment", "heredoc_body") else node.children


def _text_of(node: Node) -> str | None:
    """What bash makes of a word; None where that is known only when it runs, or is more than one word."""
    expander = Expander({})
    fields = expander.fields(node)
    return fields[0] if len(fields) == 1 and not expander.unknown and b"$" not in (node.text or b"") else None
