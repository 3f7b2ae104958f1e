"""Binding what a command gives to what its entry point defines."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from ...core.files import digest_of
from ...core.models import Argument
from ..cache import FLAGS, Memory, flags_key, flags_value, recalled_flags
from ..commands.snippets import Call
from ..flags import FlagReport, bind, flags_of
from ..source import PinnedTree

__all__ = ["FlagReader", "bound_arguments", "call_arguments"]


class FlagReader:
    """The flags of a repository's entry points, each read once, or recalled where nothing that decides them changed."""

    def __init__(self, tree: PinnedTree, memory: Memory, targets: Iterable[str]) -> None:
        self._tree = tree
        self._memory = memory
        self._reports: dict[str, FlagReport] = {}
        self._modules = digest_of([path for path in tree.paths() if path.endswith(".py")])
        self._sources: dict[str, bytes] | None = None
        memory.expect(FLAGS, [flags_key(tree, path, self._modules) for path in targets])

    def report(self, path: str) -> FlagReport:
        if path not in self._reports:
            key = flags_key(self._tree, path, self._modules)
            found = recalled_flags(self._memory.get(FLAGS, key), self._tree)
            if found is None:
                found = flags_of(self, path)
                value = flags_value(found, self._tree)
                if value is not None:
                    self._memory.put(FLAGS, key, value)
            self._reports[path] = found
        return self._reports[path]

    # the files of the repository, as flags_of wants them; modules are read all at once, the first time one is wanted

    def paths(self) -> Sequence[str]:
        return self._tree.paths()

    def read(self, path: str) -> bytes | None:
        if self._sources is None:
            modules = [name for name in self._tree.paths() if name.endswith(".py")]
            self._sources = dict(self._tree.read_many(modules))
        return self._sources[path] if path in self._sources else self._tree.read(path)


def bound_arguments(report: FlagReport, args: Sequence[str]) -> tuple[tuple[Argument, ...], list[tuple[float, str]]]:
    """Every argument the entry point defines, with the command's values; then what the command gives besides.

    Also says, as notes for the score, where document and code disagree.
    """
    binding = bind(report, args)
    arguments = [
        argument.model_copy(update={"value": _plain(binding.values[argument.name])})
        if argument.name in binding.values
        else argument
        for argument in report.arguments
    ]
    known = {argument.name for argument in arguments}
    for option, words in binding.unknown.items():
        name, _, value = option.partition("=")
        given: Any = value if "=" in option else (words[0] if len(words) == 1 else list(words) or True)
        arguments.append(Argument(name=name.lstrip("-"), flag=name, value=given, static=True))
    unknown_words = {word for option, words in binding.unknown.items() for word in (option, *words)}
    extras = [word for word in binding.extras if not unknown_words.intersection((word, word.partition("=")[0]))]
    arguments += [
        Argument(name=f"argument{number}", value=word)
        for number, word in enumerate(extras, 1)
        if f"argument{number}" not in known
    ]
    notes: list[tuple[float, str]] = []
    if report.flags:
        notes.append((0.1, f"its entry point defines {len(report.arguments)} arguments"))
        refused = [problem for problem in binding.problems if problem.refused]
        unknown = [problem.text for problem in refused if problem.kind == "unknown_option"]
        if unknown and report.complete:
            notes.append((-0.05, f"README and code disagree: the code does not define {', '.join(unknown[:4])}"))
        elif refused and report.complete:
            notes.append((-0.03, f"README and code disagree: {refused[0].message or refused[0].kind}"))
    if binding.values or binding.unknown:
        notes.append((0.05, f"sets {len(binding.values) + len(binding.unknown)} arguments"))
    return tuple(arguments), notes


def call_arguments(calls: Sequence[Call]) -> tuple[Argument, ...]:
    """What the first call with arguments of the repository's code is given."""
    for call in calls:
        if call.positional or call.keywords:
            named = [(f"argument{number}", text) for number, text in enumerate(call.positional, 1)]
            return tuple(_call_argument(name, text) for name, text in dict([*named, *call.keywords]).items())
    return ()


def _call_argument(name: str, text: str) -> Argument:
    try:
        value, static = _plain(ast.literal_eval(text)), True
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        value, static = text, False
    return Argument(name=name, value=value, static=static)


def _plain(value: Any) -> Any:
    """The same value in JSON's types; what has none there as text."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if (isinstance(value, float) and value != value) or value in (float("inf"), float("-inf")):
        return str(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)
