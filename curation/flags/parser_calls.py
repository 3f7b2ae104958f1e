"""The methods of argparse's objects, as far as they say which flags there are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tree_sitter import Node

from .expressions import Expressions, sequence
from .parsers import Keyword, ParserState, make_flag
from .scopes import Scope
from .syntax import text_of, walk
from .values import Class, Const, Function, Group, Instance, Items, Subparsers, Table, Unknown, Value, items_of, table

__all__ = ["Given", "ParserCalls"]


@dataclass
class Given:
    """The arguments of a call, each with the text of its expression."""

    node: Node
    where: str
    positional: list[tuple[Value, str]]
    keywords: dict[str, tuple[Value, str]]
    uncertain: bool = False
    """True where ``*x`` or ``**x`` brings arguments that are not known."""
    called: bool = True
    """False where nobody calls it and reading it is a last resort: then defaults say nothing."""
    choices: dict[str, tuple[Value, str]] = field(default_factory=dict)
    """For click: the list in ``Choice([...])`` by the call's text."""

    def spread(self, value: Value, text: str) -> None:
        """Add what ``*value`` or ``**value`` brings."""
        if text.startswith("**"):
            if isinstance(value, Const) and isinstance(value.value, dict):
                self.keywords.update({str(key): (Const(item), repr(item)) for key, item in value.value.items()})
                return
            if isinstance(value, Table):
                self.keywords.update({str(key): (item, text) for key, item in value.items.items()})
                return
        else:
            items = items_of(value)
            if items is not None:
                self.positional.extend((item, text) for item in items)
                return
        self.uncertain = True

    def values(self) -> Iterator[tuple[Value, str]]:
        yield from self.positional
        yield from self.keywords.values()

    def text(self, key: str) -> str | None:
        """The keyword ``key`` where it is a known string."""
        value = self.keywords.get(key)
        if value is not None and isinstance(value[0], Const) and isinstance(value[0].value, str):
            return value[0].value
        return None

    def truth(self, key: str, default: bool) -> bool:
        value = self.keywords.get(key)
        return bool(value[0].value) if value is not None and isinstance(value[0], Const) else default


class ParserCalls(Expressions):
    """Keeps the parsers and carries out what is said to them."""

    parsers: list[ParserState]
    calls: list[Function]
    returns: list[list[Value]]
    followed: set[tuple[str, int]]
    open_ended: bool
    definitions: list[tuple[str, Given]]
    """absl's ``DEFINE_...`` and ``mark_...`` calls, and getopt's, in order."""

    def new_parser(self, where: str) -> ParserState:
        state = ParserState(where, self.branch_depth)
        self.parsers.append(state)
        return state

    def parser_of(self, value: Value) -> ParserState | None:
        """The parser behind a parser, a group, or an object of a class that derives from it."""
        if isinstance(value, Group):
            return value.parser
        if isinstance(value, Instance):
            return value.parser
        return None

    def configure(self, state: ParserState, given: Given) -> None:
        """``ArgumentParser(...)``'s own arguments."""
        state.allow_abbrev = given.truth("allow_abbrev", True)
        state.add_help = given.truth("add_help", True) and given.truth("add_help_option", True)
        state.prefix_chars = given.text("prefix_chars") or "-"
        if given.text("fromfile_prefix_chars"):
            state.notes.append(f"{given.where}: further arguments may stand in a file (fromfile_prefix_chars)")
        if "argument_default" in given.keywords:
            state.argument_default = given.keywords["argument_default"]
        if "parents" in given.keywords:
            value, text = given.keywords["parents"]
            parents = items_of(value)
            for parent in [Unknown(text)] if parents is None else parents:
                other = self.parser_of(parent)
                if other is not None:
                    state.inherit(other)
                else:
                    state.unresolved.append(f"{given.where}: flags of the parents {text}")

    def parser_method(self, state: ParserState, owner: Value, name: str, given: Given) -> Value:
        if name in ("add_argument", "add_option"):
            self.add_argument(state, owner, given)
        elif name == "add_mutually_exclusive_group":
            return Group(state, given.where, given.truth("required", False))
        elif name in ("add_argument_group", "add_option_group"):
            return owner if isinstance(owner, Group) else Group(state)
        elif name == "add_subparsers":
            self.add_subparsers(state, given)
            return Subparsers(state)
        elif name == "set_defaults":
            for key, (value, text) in given.keywords.items():
                state.set_default(key, value, text, self.branch_depth > state.depth)
            if given.uncertain:
                state.notes.append(f"{given.where}: defaults are replaced by {text_of(given.node)}")
        elif name.startswith("parse_") and name.endswith(("args", "intermixed_args")):
            return self.parse(state, name, given)
        elif name == "add_arguments":  # simple_parsing's
            for handed in given.positional[:1]:
                self.add_fields(state, handed, given.where)
        elif name.startswith("add_"):
            state.unresolved.append(f"{given.where}: flags that {text_of(given.node)[:80]} may add")
        return Unknown(text_of(given.node))

    def parse(self, state: ParserState, name: str, given: Given) -> Value:
        state.parsed = True
        if "known" in name:
            state.known_only += 1
        else:
            state.strict += 1
        argv = given.positional[0] if given.positional else given.keywords.get("args")
        if argv is not None and isinstance(argv[0], Const) and isinstance(argv[0].value, list):
            state.notes.append(f"{given.where}: parses {argv[1]}, not the command line")
        result = Unknown("arguments")
        return Items([result, Unknown("rest")]) if "known" in name else result

    def add_argument(self, state: ParserState, owner: Value, given: Given) -> None:
        names = [value.value for value, _ in given.positional if isinstance(value, Const)]
        if len(names) < len(given.positional) or not all(isinstance(name, str) for name in names):
            shown = ", ".join(text for _, text in given.positional)
            state.unresolved.append(f"{given.where}: a flag named {shown}")
            return
        if not names and (given.uncertain or "dest" not in given.keywords):
            state.unresolved.append(f"{given.where}: {text_of(given.node)[:120]}")
            return
        flag = make_flag(
            names,
            given.keywords,
            defined_at=given.where,
            prefix_chars=state.prefix_chars,
            conditional=self.branch_depth > state.depth,
            uncertain=given.uncertain,
            argument_default=state.argument_default,
            returns_bool=self.returns_bool,
        )
        if isinstance(owner, Group) and owner.exclusive is not None:
            flag = replace(flag, exclusive=owner.exclusive, exclusive_required=owner.required)
        state.add(flag)
        if flag.argument.name in state.defaults and "default" not in given.keywords:
            state.set_default(flag.argument.name, *state.defaults[flag.argument.name], conditional=False)

    def add_subparsers(self, state: ParserState, given: Given) -> None:
        dest = given.text("dest") or "command"
        required = (Const(given.truth("required", False)), "")
        keywords: dict[str, tuple[Value, str]] = {
            "nargs": (Const("A..."), ""),
            "dest": (Const(dest), ""),
            "required": required,
        }
        if "help" in given.keywords:
            keywords["help"] = given.keywords["help"]
        flag = make_flag([], keywords, defined_at=given.where)
        argument = flag.argument.model_copy(update={"required": bool(given.truth("required", False))})
        state.add(type(flag)(argument, action="subcommand", nargs="A..."))

    def subparsers_method(self, owner: Subparsers, name: str, given: Given) -> Value:
        if name != "add_parser":
            return Unknown(text_of(given.node))
        made = self.new_parser(given.where)
        made.is_subcommand = True
        self.configure(made, given)
        value, text = given.positional[0] if given.positional else given.keywords.get("name", (Unknown("?"), "?"))
        if isinstance(value, Const) and isinstance(value.value, str):
            owner.parser.subcommands[value.value] = made
            aliases = given.keywords.get("aliases")
            for alias in items_of(aliases[0]) or [] if aliases is not None else []:
                if isinstance(alias, Const) and isinstance(alias.value, str):
                    owner.parser.subcommands[alias.value] = made
        else:
            owner.parser.unresolved.append(f"{given.where}: a subcommand named {text}")
        return Group(made)

    def returns_bool(self, value: Value) -> bool:
        """Whether a function gives nothing but truth values: the ``str2bool`` that programs write themselves."""
        if not isinstance(value, Function):
            return False
        body = value.node.child_by_field_name("body")
        if body is None:
            return False
        if value.node.type == "lambda":
            return is_truth(body)
        found = [node for node in walk(body) if node.type == "return_statement"]
        results = [child for node in found for child in node.named_children]
        # ``if isinstance(v, bool): return v`` hands back what is one already.
        return any(is_truth(node) for node in results) and all(is_truth(n) or n.type == "identifier" for n in results)

    @abstractmethod
    def block(self, statements: Sequence[Node], scope: Scope) -> bool:
        """Read statements in order; True where they certainly leave the block."""

    def sequence_of(self, items: list[Value]) -> Value:
        return sequence(items)

    def table_of(self, items: dict[Any, Value]) -> Value:
        return table(items)

    @abstractmethod
    def relevant(self, function: Function) -> bool:
        """Whether a parser can be reached through a function."""

    @abstractmethod
    def class_relevant(self, cls: Class) -> bool:
        """Whether a parser can be reached through a class."""

    @abstractmethod
    def add_fields(self, state: ParserState, handed: Keyword, where: str) -> None:
        """Add the fields of data classes as flags."""

    @abstractmethod
    def dataclass_parser(self, given: Given) -> Value:
        """A parser filled from data classes."""


def is_truth(node: Node) -> bool:
    """Whether an expression gives True or False whatever it is about."""
    if node.type in ("true", "false", "comparison_operator", "not_operator"):
        return True
    if node.type in ("parenthesized_expression", "boolean_operator"):
        return all(is_truth(child) for child in node.named_children)
    if node.type == "conditional_expression":
        parts = node.named_children
        return is_truth(parts[0]) and is_truth(parts[-1])
    callee = node.child_by_field_name("function") if node.type == "call" else None
    return callee is not None and (callee.text or b"") in (b"bool", b"strtobool", b"distutils.util.strtobool")
