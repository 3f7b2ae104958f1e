"""The flags of programs that use click."""

from __future__ import annotations

from dataclasses import replace

from tree_sitter import Node

from ...core.models import Argument
from .decorators import Command, assembled, called_names, constant_text, decorated, given_of
from .interpreter import Interpreter
from .parser_calls import Given
from .parsers import Keyword, make_flag, type_of_default
from .report import Flag, FlagReport
from .scopes import Scope
from .syntax import text_of, walk
from .values import Const, External, Function

__all__ = ["read_click"]


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
                shared = shared_flags(reading, expression, scope)
                flags.extend(shared)
                if not shared:
                    unresolved.append(f"{given.where}: flags that @{text_of(expression)} may add")
        flags.append(Flag(Argument(name="help", flag="--help", type="bool"), ("--help",), action="help"))
        report = FlagReport("click", tuple(flags), not unresolved, tuple(unresolved), allow_abbrev=False)
        is_group = any(word == "group" for word, _ in words)
        commands.append(Command(name, shown, parent, report, is_group))
    return assembled(commands, called_names(root))


def shared_flags(reading: Interpreter, expression: Node, scope: Scope, depth: int = 0) -> list[Flag]:
    """The flags that a decorator of the repository adds: every option and argument its function calls or applies."""
    callee = expression.child_by_field_name("function") if expression.type == "call" else expression
    helper = reading.evaluate(callee, scope) if callee is not None else None
    if not isinstance(helper, Function) or depth > 3:
        return []
    found: list[Flag] = []
    for node in walk(helper.node):
        is_decorator = node.parent is not None and node.parent.type == "decorator"
        if node.type != "call" and not is_decorator:
            continue
        word, _ = click_word(reading, node, helper.scope)
        if word in ("option", "argument"):
            found.append(click_flag(word, given_of(reading, node, helper.scope)))
        elif word is None and (is_decorator or (node.child_by_field_name("arguments") is not None)):
            found.extend(shared_flags(reading, node, helper.scope, depth + 1))
    return found


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
