"""What click and typer have in common: decorated functions, groups of them, and the reports these make."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tree_sitter import Node

from ...core.models import Argument
from .interpreter import Interpreter
from .parser_calls import Given
from .report import Flag, FlagReport
from .scopes import Scope
from .syntax import call_arguments, children, text_of, walk
from .values import Const, Unknown, Value, items_of

__all__ = [
    "Command",
    "assembled",
    "constant_text",
    "decorated",
    "given_of",
    "marker_word",
    "started",
    "subcommand_flag",
]


class Command:
    """One decorated function: its name on the command line, the group it belongs to, and its flags."""

    def __init__(self, function: str, name: str, parent: str | None, report: FlagReport, is_group: bool) -> None:
        self.function = function
        self.name = name
        self.parent = parent
        self.report = report
        self.is_group = is_group


def decorated(root: Node) -> Iterable[tuple[Node, list[Node]]]:
    """Every decorated function below ``root`` with its decorators' expressions, outermost first."""
    for node in walk(root):
        definition = node.child_by_field_name("definition") if node.type == "decorated_definition" else None
        if definition is not None and definition.type == "function_definition":
            yield definition, [children(child)[0] for child in node.children if child.type == "decorator"]


def assembled(commands: list[Command], called: set[str]) -> FlagReport:
    """One report: the only command, or the group that holds the others."""
    if not commands:
        return FlagReport()
    if len(commands) == 1 and not commands[0].is_group:
        return commands[0].report
    groups = [command for command in commands if command.is_group]
    if groups:
        root = next((group for group in groups if group.parent is None), groups[0])
        return with_subcommands(root, commands)
    loose = {command.parent for command in commands}
    if loose == {None}:
        named = [command for command in commands if command.function in called] or commands
        return named[0].report
    base = FlagReport(commands[0].report.kind, (subcommand_flag(commands[0].report),))
    return replace(base, subcommands={command.name: command.report for command in commands})


def with_subcommands(group: Command, commands: list[Command]) -> FlagReport:
    """A group's own flags, and its commands below it."""
    inner = {
        command.name: with_subcommands(command, commands) if command.is_group else command.report
        for command in commands
        if command.parent == group.function and command is not group
    }
    flags = (*group.report.flags, subcommand_flag(group.report))
    return replace(group.report, flags=flags, subcommands=inner)


def subcommand_flag(report: FlagReport) -> Flag:
    where = next((flag.argument.defined_at for flag in report.flags), None)
    return Flag(
        Argument(name="command", required=True, type="str", defined_at=where), action="subcommand", nargs="A..."
    )


def marker_word(node: Node) -> str:
    return text_of(node.child_by_field_name("function") or node).rsplit(".", 1)[-1]


def started(reading: Interpreter, root: Node, scope: Scope, word: str) -> list[Value]:
    """What is handed to ``fire.Fire(x)`` or ``typer.run(x)``."""
    found: list[Value] = []
    for node in walk(root):
        if node.type == "call" and marker_word(node) == word:
            positional, keywords, _ = call_arguments(node)
            target = positional[0] if positional else keywords.get("component")
            if target is not None:
                found.append(reading.evaluate(target, scope))
    return found


def given_of(reading: Interpreter, expression: Node, scope: Scope) -> Given:
    """A decorator's arguments, with the lists inside ``Choice([...])`` kept."""
    if expression.type != "call":
        return Given(expression, f"{scope.path}:{expression.start_point.row + 1}", [], {})
    given = reading.given(expression, scope)
    for node in walk(expression):
        if node.type == "call" and marker_word(node) == "Choice":
            positional, _, _ = call_arguments(node)
            items = items_of(reading.evaluate(positional[0], scope)) if positional else None
            known = items is not None and all(isinstance(item, Const) for item in items)
            values = [item.value for item in items or [] if isinstance(item, Const)]
            given.choices[text_of(node)] = (Const(values) if known else Unknown(text_of(node)), text_of(node))
    return given


def constant_text(value: Value) -> str | None:
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else None


def called_names(root: Node) -> set[str]:
    """Names called at the top level or under ``if __name__ == "__main__"``."""
    return {
        text_of(node.child_by_field_name("function") or node)
        for top in root.children
        if top.type in ("expression_statement", "if_statement")
        for node in walk(top)
        if node.type == "call"
    }
