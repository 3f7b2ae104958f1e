"""The values of YAML configurations: hydra's programs, and files that a command hands to OmegaConf."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from itertools import islice

import yaml
from tree_sitter import Node

from ...core.models import Argument
from .decorators import given_of
from .interpreter import Interpreter
from .report import Flag, FlagReport, SourceFiles
from .syntax import children, text_of, walk
from .values import Const

__all__ = ["config_arguments", "read_hydra", "read_omegaconf"]

MOST_KEYS = 2000
DEEPEST = 30


def config_arguments(files: SourceFiles, path: str) -> tuple[Argument, ...]:
    """The leaves of a YAML file, named by their keys joined with dots, in the order of the file.

    A file that is missing, or is no YAML mapping, has none. Nothing but plain scalars and lists is constructed.
    """
    data = files.read(path)
    return () if data is None else tuple(leaves(data, path))


def leaves(data: bytes, path: str, prefix: str = "") -> Iterator[Argument]:
    try:
        root = yaml.compose(data.decode("utf-8", "replace"), yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return
    if not isinstance(root, yaml.MappingNode):
        return
    for name, node in islice(flattened(root, prefix, 0), MOST_KEYS):
        yield argument_of(name, node, path)


def flattened(node: yaml.MappingNode, prefix: str, depth: int) -> Iterator[tuple[str, yaml.Node]]:
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or (not prefix and key.value in ("defaults", "hydra")):
            continue
        name = f"{prefix}{key.value}"
        if isinstance(value, yaml.MappingNode) and value.value and depth < DEEPEST:
            yield from flattened(value, f"{name}.", depth + 1)
        else:
            yield name, value


def argument_of(name: str, node: yaml.Node, path: str) -> Argument:
    value, static = scalar(node)
    kind = type(value).__name__ if isinstance(value, (bool, int, float, str, list)) else None
    return Argument(
        name=name,
        default=value if static else None,
        default_source=None if static else str(getattr(node, "value", ""))[:200],
        static=static,
        type=kind,
        defined_at=f"{path}:{node.start_mark.line + 1}",
    )


def scalar(node: yaml.Node, depth: int = 0) -> tuple[object, bool]:
    """A scalar or a list of scalars; False beside it where it is an interpolation or something else."""
    if isinstance(node, yaml.SequenceNode) and depth < 3:
        items = [scalar(item, depth + 1) for item in node.value[:200]]
        return [item for item, _ in items], all(static for _, static in items)
    if not isinstance(node, yaml.ScalarNode):
        return None, isinstance(node, yaml.MappingNode) and not node.value
    text = node.value
    if "${" in text or text == "???":
        return None, False
    kind = node.tag.rsplit(":", 1)[-1]
    try:
        if kind == "int":
            return int(text.replace("_", ""), 0), True
        if kind == "float":
            return float(
                text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan")
            ), ".inf" not in text.lower()
        if kind == "bool":
            return text.lower() in ("true", "yes", "on"), True
        if kind == "null":
            return None, True
        if kind == "str":
            # YAML 1.1 takes 1e-4 for a string, OmegaConf for a number, as its authors meant.
            return (float(text), True) if _looks_like_float(text) and node.style is None else (text, True)
    except ValueError:
        pass
    return text, True


def _looks_like_float(text: str) -> bool:
    head, sign, tail = text.lower().partition("e")
    return bool(sign) and head.lstrip("+-").replace(".", "", 1).isdigit() and tail.lstrip("+-").isdigit()


def read_hydra(reading: Interpreter, path: str, root: Node) -> FlagReport:
    """The keys of the configuration that ``@hydra.main`` names; a command sets them as ``key=value``."""
    scope = reading.module(path)
    for node in walk(root):
        expression = children(node)[0] if node.type == "decorator" and children(node) else None
        if expression is None or not text_of(expression).startswith("hydra.main") or expression.type != "call":
            continue
        given = given_of(reading, expression, scope)
        name, folder = given.text("config_name"), given.text("config_path")
        for index, key in ((0, "config_path"), (1, "config_name")):
            value = given.positional[index][0] if len(given.positional) > index else None
            if isinstance(value, Const):
                text = value.value
                folder, name = (text, name) if key == "config_path" else (folder, text)
        if not isinstance(name, str):
            return FlagReport("hydra", complete=False, unresolved=(f"{given.where}: the name of the configuration",))
        return composed(
            reading, posixpath.normpath(posixpath.join(posixpath.dirname(path), folder or ".")), name, given.where
        )
    return FlagReport()


def read_omegaconf(reading: Interpreter, path: str, root: Node) -> FlagReport:
    """The keys of the files that a program loads by their names, where ``OmegaConf.from_cli`` takes ``key=value``.

    Any other key is taken as well, so that unknown ones are no mistake.
    """
    scope = reading.module(path)
    found: dict[str, Argument] = {}
    unresolved: list[str] = []
    for node in walk(root):
        callee = node.child_by_field_name("function") if node.type == "call" else None
        if callee is None or text_of(callee).rsplit(".", 2)[-2:] != ["OmegaConf", "load"]:
            continue
        given = given_of(reading, node, scope)
        named = given.positional[0][0].value if given.positional and isinstance(given.positional[0][0], Const) else None
        places = [posixpath.normpath(posixpath.join(base, str(named))) for base in ("", posixpath.dirname(path))]
        file = next((place for place in places if reading.source(place) is not None), None) if named else None
        if file is None:
            unresolved.append(f"{given.where}: the keys of {text_of(node)[:80]}")
        for argument in leaves(reading.source(file) or b"", file) if file is not None else ():
            found[argument.name] = argument
    flags = tuple(Flag(argument) for argument in found.values())
    return FlagReport("hydra", flags, not unresolved, tuple(unresolved), allow_abbrev=False, accepts_unknown=True)


def composed(reading: Interpreter, folder: str, name: str, where: str) -> FlagReport:
    """A configuration with the groups of its defaults list."""
    file = posixpath.join(folder, name if name.endswith((".yaml", ".yml")) else f"{name}.yaml")
    data = reading.source(file)
    if data is None:
        return FlagReport(
            "hydra", complete=False, unresolved=(f"{where}: the configuration {file}",), allow_abbrev=False
        )
    found: dict[str, Argument] = {}
    for group, option, line in defaults_of(data):
        inner = posixpath.join(folder, group, f"{option}.yaml")
        choices = sorted(
            posixpath.basename(known).removesuffix(".yaml")
            for known in reading.files.paths()
            if posixpath.dirname(known) == posixpath.join(folder, group) and known.endswith(".yaml")
        )
        found[group] = Argument(
            name=group, default=option, type="str", choices=tuple(choices) or None, defined_at=f"{file}:{line}"
        )
        content = reading.source(inner)
        for argument in [] if content is None else leaves(content, inner, f"{group}."):
            found[argument.name] = argument
    for argument in leaves(data, file):
        found[argument.name] = argument
    return FlagReport("hydra", tuple(Flag(argument) for argument in found.values()), allow_abbrev=False)


def defaults_of(data: bytes) -> Iterator[tuple[str, str, int]]:
    """``(group, option, line)`` of the entries of a hydra defaults list."""
    try:
        root = yaml.compose(data.decode("utf-8", "replace"), yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return
    for key, value in root.value if isinstance(root, yaml.MappingNode) else []:
        if getattr(key, "value", None) == "defaults" and isinstance(value, yaml.SequenceNode):
            for item in value.value:
                for group, option in item.value if isinstance(item, yaml.MappingNode) else []:
                    if isinstance(group, yaml.ScalarNode) and isinstance(option, yaml.ScalarNode):
                        name = group.value.removeprefix("override ").removeprefix("optional ")
                        yield name, option.value, group.start_mark.line + 1
