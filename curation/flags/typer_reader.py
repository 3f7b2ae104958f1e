"""The flags of programs that use typer: functions handed to ``@app.command()``, ``app.command()(f)``, ``typer.run``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tree_sitter import Node

from ...core.models import Argument
from .decorators import constant_text, decorated, given_of, marker_word, started, subcommand_flag
from .interpreter import Interpreter
from .parsers import Keyword, make_flag
from .report import Flag, FlagReport
from .scopes import Lazy, Scope
from .signatures import Parameter, annotation_of, parameters_of
from .syntax import call_arguments, children, parse_python, string_value, text_of, walk
from .values import Class, Const, Function, Value

__all__ = ["read_typer"]

DEEPEST = 5


@dataclass(frozen=True)
class Registered:
    """One command of one ``typer.Typer()``: its name, or None for the app's own callback, and its flags."""

    app: str
    name: str | None
    report: FlagReport


def read_typer(reading: Interpreter, path: str, root: Node) -> FlagReport:
    """The flags of the program's app: of its only command, or of its callback with the commands below it."""
    scope = reading.module(path)
    apps = [registered.app for registered in registrations(reading, root, scope)]
    nested = {text_of(inner) for _, inner, _ in mounted(reading, root, scope)}
    for app in dict.fromkeys([*(app for app, _, _ in mounted(reading, root, scope)), *apps]):
        if app not in nested:
            return app_report(reading, root, scope, app, 0)
    for target in started(reading, root, scope, "run"):
        if isinstance(target, Function):
            return function_report(reading, target.node, target.scope)
    return FlagReport()


def app_report(reading: Interpreter, root: Node, scope: Scope, app: str, depth: int) -> FlagReport:
    """What the app bound to ``app`` in the module of ``root`` takes."""
    commands = [registered for registered in registrations(reading, root, scope) if registered.app == app]
    unresolved = tuple(text for registered in commands for text in registered.report.unresolved)
    readable = [registered for registered in commands if registered.report.complete]
    below = {registered.name: registered.report for registered in readable if registered.name is not None}
    for owner, inner, name in mounted(reading, root, scope):
        if owner != app or depth > DEEPEST:
            continue
        bound = scope.variables.get(text_of(inner))
        source = reading.source(bound.path) if isinstance(bound, Lazy) else None
        if isinstance(bound, Lazy) and source is not None:
            tree = parse_python(source).root_node
            below[name] = app_report(reading, tree, reading.module(bound.path), bound.name, depth + 1)
        else:
            below[name] = app_report(reading, root, scope, text_of(inner), depth + 1)
    callbacks = [registered.report for registered in commands if registered.name is None]
    if len(below) == 1 and not callbacks and depth == 0 and len(commands) == 1:
        return commands[0].report
    flags = callbacks[0].flags if callbacks else ()
    complete = not unresolved and all(report.complete for report in below.values())
    base = FlagReport("typer", flags, complete, unresolved, allow_abbrev=False)
    return replace(base, flags=(*flags, subcommand_flag(base)), subcommands=below)


def registrations(reading: Interpreter, root: Node, scope: Scope) -> Iterator[Registered]:
    """Every function that the module hands to a command or callback of an app."""
    for function, decorators in decorated(root):
        for expression in decorators:
            registered = registration(reading, expression, scope)
            if registered is not None:
                name = text_of(function.child_by_field_name("name") or function)
                yield named(*registered, name, function_report(reading, function, scope))
    for node in walk(root):
        inner = node.child_by_field_name("function") if node.type == "call" else None
        registered = registration(reading, inner, scope) if inner is not None else None
        if registered is not None:
            positional, _, _ = call_arguments(node)
            target: Value | None = reading.evaluate(positional[0], scope) if positional else None
            name = text_of(positional[0]) if positional else "?"
            if isinstance(target, Function):
                yield named(*registered, name, function_report(reading, target.node, target.scope))
            else:
                where = f"{scope.path}:{node.start_point.row + 1}"
                report = FlagReport("typer", (), False, (f"{where}: the flags of {name}",), allow_abbrev=False)
                yield named(*registered, name, report)


def registration(reading: Interpreter, expression: Node, scope: Scope) -> tuple[str, str, str | None] | None:
    """The app, ``command`` or ``callback``, and the name given, of ``app.command("name")``."""
    callee = expression.child_by_field_name("function") if expression.type == "call" else None
    owner = callee.child_by_field_name("object") if callee is not None else None
    if callee is None or owner is None or owner.type != "identifier":
        return None
    word = text_of(callee).rsplit(".", 1)[-1]
    if word not in ("command", "callback"):
        return None
    given = given_of(reading, expression, scope)
    shown = given.text("name") or (constant_text(given.positional[0][0]) if given.positional else None)
    return text_of(owner), word, shown


def named(app: str, word: str, shown: str | None, function: str, report: FlagReport) -> Registered:
    return Registered(app, None if word == "callback" else shown or function.replace("_", "-"), report)


def mounted(reading: Interpreter, root: Node, scope: Scope) -> list[tuple[str, Node, str]]:
    """``app.add_typer(other, name="x")``: the app, the other, the name."""
    found: list[tuple[str, Node, str]] = []
    for node in walk(root):
        callee = node.child_by_field_name("function") if node.type == "call" else None
        owner = callee.child_by_field_name("object") if callee is not None else None
        if owner is None or not text_of(callee or node).endswith(".add_typer"):
            continue
        positional, keywords, _ = call_arguments(node)
        name = constant_text(reading.evaluate(keywords["name"], scope)) if "name" in keywords else None
        if positional:
            found.append((text_of(owner), positional[0], name or text_of(positional[0])))
    return found


def function_report(reading: Interpreter, function: Node, scope: Scope) -> FlagReport:
    flags = [parameter_flag(reading, parameter, scope) for parameter in parameters_of(function)]
    flags = [flag for flag in flags if "Context" not in (flag.argument.type or "")]
    flags.append(Flag(Argument(name="help", flag="--help", type="bool"), ("--help",), action="help"))
    return FlagReport("typer", tuple(flags), allow_abbrev=False)


def parameter_flag(reading: Interpreter, parameter: Parameter, scope: Scope) -> Flag:
    """One parameter: an option where it has a default, else an argument; ``typer.Option`` and ``Argument`` decide."""
    where = f"{scope.path}:{parameter.node.start_point.row + 1}"
    marker = next(
        (node for node in walk(parameter.node) if node.type == "call" and marker_word(node) in ("Option", "Argument")),
        None,
    )
    default = parameter.default
    names: list[str] = []
    wanted: dict[str, Keyword] = {"dest": (Const(parameter.name), "")}
    if marker is not None:
        positional, keywords, _ = call_arguments(marker)
        inside_default = marker == parameter.default
        if inside_default:
            default = positional.pop(0) if positional else keywords.get("default")
        names = [text for text in (constant_text(reading.evaluate(node, scope)) for node in positional) if text]
        if "help" in keywords:
            wanted["help"] = (reading.evaluate(keywords["help"], scope), text_of(keywords["help"]))
    if default is not None and text_of(default) != "...":
        wanted["default"] = (reading.evaluate(default, scope), text_of(default))
    needed = "default" not in wanted
    annotation = annotation_of(parameter.annotation)
    is_option = marker_word(marker) == "Option" if marker is not None else not needed
    choices = annotation.choices or members_of(reading, annotation.type, scope)
    if choices is not None:
        annotation = replace(annotation, type=annotation.type if annotation.choices else "str")
        wanted["choices"] = (Const(list(choices)), "")
    if not is_option:
        nargs = "*" if annotation.is_list and not needed else "+" if annotation.is_list else None if needed else "?"
        wanted["nargs"] = (Const(nargs), "")
        flag = make_flag([parameter.name], wanted, defined_at=where)
        return replace(flag, argument=flag.argument.model_copy(update={"type": annotation.type}))
    spelled = f"--{parameter.name.replace('_', '-')}"
    on = [name.split("/")[0] for name in names] or [spelled]
    off = tuple(name.split("/")[1] for name in names if "/" in name)
    if annotation.type == "bool":
        off = off or ((f"--no-{parameter.name.replace('_', '-')}",) if not names else ())
        wanted["action"] = (Const("boolean_optional" if off else "store_true"), "")
    elif annotation.is_list:
        wanted["action"] = (Const("append"), "")
    wanted["required"] = (Const(needed), "")
    flag = make_flag(on, wanted, defined_at=where)
    argument = flag.argument.model_copy(update={"type": annotation.type})
    return replace(flag, argument=argument, options=(*on, *off), negations=off)


def members_of(reading: Interpreter, kind: str, scope: Scope) -> tuple[str, ...] | None:
    """The values of an enumeration's members, which typer takes as choices; None where ``kind`` names none."""
    cls = reading.lookup(kind, scope) if kind.isidentifier() else None
    if isinstance(cls, Lazy):
        cls = reading.opened(cls)
    bases = cls.node.child_by_field_name("superclasses") if isinstance(cls, Class) else None
    body = cls.node.child_by_field_name("body") if isinstance(cls, Class) else None
    if bases is None or body is None or not re.search(r"\w*Enum\b", text_of(bases)):
        return None
    values = (
        string_value(right)
        for statement in children(body)
        for node in (children(statement) if statement.type == "expression_statement" else [])
        if node.type == "assignment"
        and (right := node.child_by_field_name("right")) is not None
        and right.type == "string"
    )
    return tuple(value for value in values if isinstance(value, str)) or None
