"""A shell script's calls with one argument changed: the words that carry it, and nothing else."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...curation.flags import SourceFiles
from ..arguments import Call, same
from ..arguments.matching import claimed_options, meets
from ..arguments.programs import Bound, Found, bound_call
from ..arguments.slots import Slot, SlotKind, holds
from .changing import changed, changed_inside

__all__ = ["changed_script"]


def changed_script(
    calls: Sequence[Call], name: str, arguments: Mapping[str, Any], files: SourceFiles | None, folder: str
) -> str | None:
    """A script that makes the same ``calls`` with ``name`` changed in each of them; None where none carries it.

    ``folder`` is where it will run, relative to the repository's root, as the calls' own folders are.
    """
    other = [_other_call(call, name, arguments, files) for call in calls]
    if not any(other):
        return None
    return "\n".join(_line(new or old, folder) for new, old in zip(other, calls, strict=True))


def _other_call(call: Call, name: str, arguments: Mapping[str, Any], files: SourceFiles | None) -> Call | None:
    bound = bound_call(call, files)
    found = bound.find(name)
    if found is not None and found.abbreviated and not meets(found, arguments[name]):
        found = None  # only the beginning of its name is the same
    if found is not None and found.how == "given":
        argv = _given_otherwise(bound, found, name, files)
        if argv is not None:
            return replace(call, argv=argv)
    if found is not None and found.how == "default" and found.flag is not None and found.flag.options:
        return _beside_default(bound, found, name, files)
    return _elsewhere(bound, name, arguments)


def _given_otherwise(bound: Bound, found: Found, name: str, files: SourceFiles | None) -> tuple[str, ...] | None:
    """The words with the one changed, or the switch left out, by which the call gives the argument."""
    choices = found.flag.argument.choices if found.flag is not None else None
    for argv in (*_one_changed(bound.call.argv, choices), *_one_left_out(bound.call.argv)):
        now = bound_call(replace(bound.call, argv=argv), files).find(name)
        if now is None or now.how != "given" or not same(now.value, found.value):
            return argv
    return None


def _one_changed(argv: tuple[str, ...], choices: Sequence[Any] | None) -> Iterator[tuple[str, ...]]:
    for at in range(len(argv) - 1, -1, -1):
        option, value = _parts(argv[at])
        if value is not None:
            yield (*argv[:at], option + str(changed(value, choices)), *argv[at + 1 :])


def _one_left_out(argv: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for at in range(len(argv) - 1, -1, -1):
        if _parts(argv[at])[1] is None:
            yield argv[:at] + argv[at + 1 :]


def _beside_default(bound: Bound, found: Found, name: str, files: SourceFiles | None) -> Call | None:
    assert found.flag is not None
    flag = found.flag
    words = (
        (flag.options[-1], str(changed(found.value, flag.argument.choices))) if flag.takes_value else flag.options[:1]
    )
    argv = (*bound.call.argv, *words)
    now = bound_call(replace(bound.call, argv=argv), files).find(name)
    return replace(bound.call, argv=argv) if now is not None and not same(now.value, found.value) else None


def _elsewhere(bound: Bound, name: str, arguments: Mapping[str, Any]) -> Call | None:
    """Every place that holds the value, but for options that another argument's name speaks of."""
    wanted = arguments[name]
    claimed = claimed_options(bound, {other: value for other, value in arguments.items() if other != name})
    call, argv = bound.call, list(bound.call.argv)
    owner = ""
    for at, word in enumerate(argv):
        option, value = _parts(word)
        owner = option.rstrip("=") if option else owner
        if value is not None and owner not in claimed and holds(Slot("", value), wanted):
            argv[at] = option + changed_inside(value, wanted)
    env = tuple((key, value if key in call.prepared else _held(value, wanted))
                for key, value in dict(call.env).items())  # fmt: skip
    target = call.target if call.kind == "code" else _held(call.target, wanted, "script")
    launcher = (*call.launcher[:1], *(_held(word, wanted, "name") for word in call.launcher[1:]))
    other = replace(call, argv=tuple(argv), env=env, target=target, launcher=launcher)
    return other if other != call else None


def _held(word: str, wanted: Any, kind: SlotKind = "value") -> str:
    return changed_inside(word, wanted) if holds(Slot("", word, kind), wanted) else word


def _parts(word: str) -> tuple[str, str | None]:
    """The option of a word, with its ``=``, and its value; ``--lr`` has none, and ``-0.5`` is one."""
    if re.match(r"--?[A-Za-z_]", word):
        option, sign, value = word.partition("=")
        return (option + sign, value) if sign else (option, None)
    return "", word


def _own(call: Call) -> list[tuple[str, str]]:
    """The variables that the script itself sets; the prefix code sets the others again."""
    return [(name, value) for name, value in dict(call.env).items() if name not in call.prepared]


def _line(call: Call, folder: str) -> str:
    words = shlex.join((*call.launcher, call.target, *call.argv))
    env = "".join(f"{name}={shlex.quote(value)} " for name, value in _own(call))
    if call.folder.startswith("?") or posixpath.normpath(call.folder or ".") == posixpath.normpath(folder or "."):
        return env + words
    return f"(cd {shlex.quote(posixpath.relpath(call.folder or '.', folder or '.'))} && {env}{words})"
