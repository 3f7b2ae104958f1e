"""The flags of programs that use fire: the parameters of what is handed to it."""

from __future__ import annotations

from dataclasses import replace

from tree_sitter import Node

from ...core.models import Argument
from .decorators import started, subcommand_flag
from .interpreter import Interpreter
from .parsers import type_of_default, with_default
from .report import Flag, FlagReport
from .signatures import annotation_of, parameters_of
from .syntax import text_of
from .values import Class, Function

__all__ = ["read_fire"]


def read_fire(reading: Interpreter, path: str, root: Node) -> FlagReport:
    """The parameters of what is handed to ``fire.Fire``: a function, a class's methods, or a module's functions."""
    scope = reading.module(path)
    targets = started(reading, root, scope, "Fire")
    for target in targets:
        if isinstance(target, Function):
            return fire_report(reading, target)
        if isinstance(target, Class):
            methods = {
                name: fire_report(reading, member)
                for name, member in target.members.items()
                if isinstance(member, Function) and not name.startswith("_")
            }
            own = target.members.get("__init__")
            flags = fire_report(reading, own).flags if isinstance(own, Function) else ()
            base = FlagReport("fire", flags, allow_abbrev=False)
            return replace(base, flags=(*flags, subcommand_flag(base)), subcommands=methods)
    functions = {
        name: fire_report(reading, value)
        for name, value in scope.variables.items()
        if isinstance(value, Function) and value.scope is scope
    }
    base = FlagReport("fire", (), allow_abbrev=False)
    return replace(base, flags=(subcommand_flag(base),), subcommands=functions)


def fire_report(reading: Interpreter, function: Function) -> FlagReport:
    """Every parameter by name or, unless keyword-only, by place."""
    flags: list[Flag] = []
    for parameter in parameters_of(function.node):
        where = f"{function.scope.path}:{parameter.node.start_point.row + 1}"
        argument = Argument(
            name=parameter.name,
            flag=f"--{parameter.name}",
            required=parameter.default is None,
            type=annotation_of(parameter.annotation).type,
            defined_at=where,
        )
        if parameter.default is not None:
            value = reading.evaluate(parameter.default, function.scope)
            argument = with_default(argument, value, text_of(parameter.default))
            if parameter.annotation is None:
                argument = argument.model_copy(update={"type": type_of_default(argument.default)})
        dashed = f"--{parameter.name.replace('_', '-')}"
        options = tuple(dict.fromkeys([f"--{parameter.name}", dashed]))
        flags.append(Flag(argument, options, action="switch" if argument.type == "bool" else "store"))
    return FlagReport("fire", tuple(flags), allow_abbrev=False)
