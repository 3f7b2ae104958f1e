"""The flags of programs that use click, typer, fire or HfArgumentParser, from signatures and decorators."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tree_sitter import Node

from ...core.models import Argument
from .interpreter import Interpreter
from .parser_calls import Given
from .parsers import Keyword, make_flag, with_default
from .report import Flag, FlagReport
from .scopes import Scope
from .signatures import Parameter, annotation_of, parameters_of
from .syntax import call_arguments, children, text_of, walk
from .values import Class, Const, External, Function, Unknown, Value, items_of

__all__ = ["read_click", "read_fire", "read_typer"]


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


def assembled(kind: str, commands: list[Command], called: set[str], multiple: bool = False) -> FlagReport:
    """One report: the only command, or the group that holds the others."""
    if not commands:
        return FlagReport()
    if len(commands) == 1 and not commands[0].is_group and not multiple:
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


# click


def read_click(reading: Interpreter, path: str, root: Node) -> FlagReport:
    """The flags of ``@click.command``, ``@click.group`` and the options and arguments around them."""
    scope = reading.module(path)
    commands: list[Command] = []
    for function, decorators in decorated(root):
        words = [click_word(reading, expression, scope) for expression in decorators]
        if not any(word in ("command", "group") for word, _ in words):
            continue
        flags: list[Flag] = []
        unresolved: list[str] = []
        name = text_of(function.child_by_field_name("name") or function)
        shown, parent = name.lower().replace("_", "-"), None
        for expression, (word, owner) in zip(decorators, words, strict=True):
            given = given_of(reading, expression, scope)
            if word in ("command", "group"):
                parent = owner
                text = given.text("name") or (constant_text(given.positional[0][0]) if given.positional else None)
                shown = text or shown
            elif word in ("option", "argument"):
                flags.append(click_flag(word, given))
            elif word == "version_option":
                flags.append(
                    Flag(Argument(name="version", flag="--version", type="bool"), ("--version",), action="version")
                )
            elif word is None:
                unresolved.append(f"{given.where}: flags that @{text_of(expression)} may add")
        flags.append(Flag(Argument(name="help", flag="--help", type="bool"), ("--help",), action="help"))
        report = FlagReport("click", tuple(flags), not unresolved, tuple(unresolved), allow_abbrev=False)
        is_group = any(word == "group" for word, _ in words)
        commands.append(Command(name, shown, parent, report, is_group))
    return assembled("click", commands, called_names(root))


def click_word(reading: Interpreter, expression: Node, scope: Scope) -> tuple[str | None, str | None]:
    """click's word for a decorator and the group it is taken from; ("", None) for what concerns no flag."""
    callee = expression.child_by_field_name("function") if expression.type == "call" else expression
    if callee is None:
        return None, None
    name = text_of(callee).rsplit(".", 1)[-1]
    value = reading.evaluate(callee, scope) if callee.type == "identifier" else None
    if isinstance(value, External):
        name = value.dotted.rsplit(".", 1)[-1]
    owner = callee.child_by_field_name("object") if callee.type == "attribute" else None
    held = reading.evaluate(owner, scope) if owner is not None else None
    group = text_of(owner) if owner is not None and isinstance(held, Function) else None
    if name in ("command", "group", "option", "argument", "version_option"):
        return name, group
    is_click = isinstance(held, External) and held.dotted == "click"
    if is_click or name in ("pass_context", "pass_obj") or isinstance(held, External) or isinstance(value, External):
        return "", None
    return None, None


def click_flag(word: str, given: Given) -> Flag:
    """The flag of one ``@click.option`` or ``@click.argument``."""
    names = [text for text in (constant_text(value) for value, _ in given.positional) if text]
    on = [part.strip() for name in names for part in name.split("/")[:1]]
    off = tuple(part.strip() for name in names for part in name.split("/")[1:])
    options = [name for name in on if name.startswith("-")]
    explicit = [name for name in on if not name.startswith("-")]
    # click takes the name with the most dashes in front, the first of them.
    longest = sorted(options, key=lambda name: -(len(name) - len(name.lstrip("-"))))
    dest = (explicit or [longest[0].lstrip("-").replace("-", "_").lower() if longest else "?"])[0]
    wanted: dict[str, Keyword] = {"dest": (Const(dest), "")}
    for key in ("default", "required", "help", "nargs"):
        if key in given.keywords:
            wanted[key] = given.keywords[key]
    kind = given.keywords.get("type")
    if kind is not None:
        choices = choices_of(kind[1], given)
        if choices is not None:
            wanted["choices"] = choices
        else:
            wanted["type"] = kind
    is_flag = given.truth("is_flag", bool(off)) or "flag_value" in given.keywords
    if given.truth("count", False):
        wanted["action"] = (Const("count"), "")
    elif is_flag:
        wanted["action"] = (Const("boolean_optional" if off else "store_true"), "")
    elif given.truth("multiple", False):
        wanted["action"] = (Const("append"), "")
    if word == "argument":
        variadic = wanted.get("nargs", (Const(1), ""))[0] == Const(-1)
        if variadic:
            needs = given.truth("required", False)
            wanted["nargs"] = (Const("+" if needs else "*"), "")
        elif "default" in wanted or not given.truth("required", True):
            wanted["nargs"] = (Const("?"), "")
        flag = make_flag([dest], wanted, defined_at=given.where, uncertain=given.uncertain)
    else:
        if wanted.get("nargs", (Const(1), ""))[0] == Const(1):
            wanted.pop("nargs", None)
        flag = make_flag(options, wanted, defined_at=given.where, uncertain=given.uncertain)
    argument = flag.argument
    if kind is None and argument.choices is None and argument.type == "str":
        argument = argument.model_copy(update={"type": type_of_default(argument.default)})
    elif kind is not None and argument.choices is None:
        argument = argument.model_copy(update={"type": click_type(argument.type or "str")})
    if is_flag and "default" not in wanted:
        argument = argument.model_copy(update={"default": False})
    return replace(flag, argument=argument, options=(*options, *off), negations=off)


def choices_of(text: str, given: Given) -> Keyword | None:
    """The list inside ``click.Choice([...])``: the call was evaluated with the others, so its value is kept."""
    return given.choices.get(text)


def click_type(text: str) -> str:
    words = {"click.INT": "int", "click.FLOAT": "float", "click.STRING": "str", "click.BOOL": "bool"}
    if text in words:
        return words[text]
    for prefix, kind in (("click.Path", "str"), ("click.IntRange", "int"), ("click.FloatRange", "float")):
        if text.startswith(prefix):
            return kind
    return text


def type_of_default(value: object) -> str:
    return type(value).__name__ if isinstance(value, (bool, int, float)) else "str"


# typer and fire


def read_typer(reading: Interpreter, path: str, root: Node) -> FlagReport:
    """The flags of functions registered by ``@app.command()`` or started by ``typer.run``."""
    scope = reading.module(path)
    commands: list[Command] = []
    for function, decorators in decorated(root):
        for expression in decorators:
            callee = expression.child_by_field_name("function") if expression.type == "call" else None
            owner = callee.child_by_field_name("object") if callee is not None else None
            word = text_of(callee).rsplit(".", 1)[-1] if callee is not None else ""
            if owner is None or word not in ("command", "callback"):
                continue
            given = given_of(reading, expression, scope)
            name = text_of(function.child_by_field_name("name") or function)
            shown = given.text("name") or (constant_text(given.positional[0][0]) if given.positional else None)
            report = typer_report(reading, function, scope)
            parent = None if word == "callback" else text_of(owner)
            commands.append(Command(name, shown or name.replace("_", "-"), parent, report, word == "callback"))
    if not commands:
        for target in started(reading, root, scope, "run"):
            if isinstance(target, Function):
                return typer_report(reading, target.node, target.scope)
        return FlagReport()
    plain = [command for command in commands if not command.is_group]
    if len(commands) == 1 and plain:
        return plain[0].report
    root_flags = next((command.report.flags for command in commands if command.is_group), ())
    flags = (*root_flags, subcommand_flag(commands[0].report))
    return FlagReport(
        "typer", flags, allow_abbrev=False, subcommands={command.name: command.report for command in plain}
    )


def typer_report(reading: Interpreter, function: Node, scope: Scope) -> FlagReport:
    flags = [typer_flag(reading, parameter, scope) for parameter in parameters_of(function)]
    flags = [flag for flag in flags if "Context" not in (flag.argument.type or "")]
    flags.append(Flag(Argument(name="help", flag="--help", type="bool"), ("--help",), action="help"))
    return FlagReport("typer", tuple(flags), allow_abbrev=False)


def typer_flag(reading: Interpreter, parameter: Parameter, scope: Scope) -> Flag:
    """One parameter: an option where it has a default, else an argument; ``typer.Option`` and ``Argument`` decide."""
    where = f"{scope.path}:{parameter.node.start_point.row + 1}"
    marker = next(
        (node for node in walk(parameter.node) if node.type == "call" and marker_word(node) in ("Option", "Argument")),
        None,
    )
    default, names, keywords = parameter.default, [], {}
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
    if annotation.choices is not None:
        wanted["choices"] = (Const(list(annotation.choices)), "")
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


def marker_word(node: Node) -> str:
    return text_of(node.child_by_field_name("function") or node).rsplit(".", 1)[-1]


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


# Shared


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
