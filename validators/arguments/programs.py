"""From a call to its program's file and flags, and to the values its words give them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

from ...curation.flags import Binding, Flag, FlagReport, Problem, SourceFiles, bind, flags_of
from .calls import Call
from .memory import ROOTS, memory_of
from .shell import trace_shell
from .slots import Slot

__all__ = ["GENERIC", "ROOTS", "Bound", "Found", "bound_call", "inner_calls", "program_path"]

GENERIC = re.compile(r"arg(?:ument)?s?_?\d*", re.IGNORECASE)


def program_path(call: Call, files: SourceFiles | None, path: str = "./") -> str | None:
    """The file a call starts, relative to the repository's root; None where it is not in the repository."""
    if files is None or call.kind == "code" or call.folder.startswith("?"):
        return None
    paths = memory_of(files).paths
    if call.kind == "program":
        return _installed(files, call.target)
    if call.kind == "module":
        inside = call.target.replace(".", "/")
        names = [f"{inside}.py", f"{inside}/__main__.py"]
        folders = [call.folder, *(posixpath.join(call.folder, root) for root in ROOTS), *ROOTS]
    else:
        names, folders = [call.target], [call.folder]
    for folder in dict.fromkeys(folders):
        for name in names:
            joined = posixpath.normpath(posixpath.join(folder, name)).removeprefix("/")
            if joined in paths:
                return joined
    return None


def program_of(files: SourceFiles, path: str) -> Program:
    """A program's flags, read once for each commit and path."""
    known = memory_of(files).programs
    if path not in known:
        report = flags_of(files, path)
        names: dict[str, Flag] = {}
        for flag in report.flags:
            keys = [normal(flag.argument.name), *(normal(option) for option in flag.options)]
            if flag.action in ("help", "version") or (not flag.options and GENERIC.fullmatch(keys[0])):
                continue  # both sides number what has no name: that says nothing
            for key in keys:
                names.setdefault(key, flag)
        known[path] = Program(report, names)
    return known[path]


def inner_calls(call: Call, files: SourceFiles | None, depth: int = 2) -> list[Call]:
    """What a shell script of the repository starts in turn, with the call's words as ``$1``, ``$2`` …"""
    path = program_path(call, files)
    if path is None or files is None or depth == 0 or not path.endswith((".sh", ".bash")):
        return []
    text = memory_of(files).text(files, path)
    if text is None:
        return []
    trace = trace_shell(text, folder=call.folder, variables=dict(call.env), arguments=call.argv)
    found: list[Call] = []
    for inner in trace.calls:
        found += [inner, *inner_calls(inner, files, depth - 1)]
    return found


@dataclass(frozen=True)
class Found:
    """What a call gives one flag."""

    value: Any
    how: Literal["given", "default", "absent"]
    flag: Flag | None = None
    words: tuple[str, ...] = ()
    """The value as written."""
    abbreviated: bool = False
    """The argument's name is only the beginning of the flag's."""
    refused: str = ""
    """What the program's parser says against how it is given; it would stop there."""

    @property
    def kind(self) -> str | None:
        """The flag's type."""
        return self.flag.argument.type if self.flag is not None else None


def _installed(files: SourceFiles, command: str) -> str | None:
    """The file behind a command that the repository's package installs, read from its metadata as text."""
    known = memory_of(files).commands
    if command not in known:
        known[command] = next(_behind(files, command), None)
    return known[command]


def _behind(files: SourceFiles, command: str) -> Iterator[str]:
    paths = memory_of(files).paths
    for path in sorted(paths, key=lambda path: (path.count("/"), path)):
        folder, name = posixpath.split(path)
        if name not in ("pyproject.toml", "setup.cfg", "setup.py") or path.count("/") > 2:
            continue
        text = memory_of(files).text(files, path) or ""
        entry = re.search(rf"(?:^|[\s\"']){re.escape(command)}[\"']?\s*=\s*[\"']?([A-Za-z_][\w.]*):", text)
        if entry is None:
            continue
        inside = _moved(entry[1].split("."), text)
        for root in ROOTS:
            base = posixpath.normpath(posixpath.join(folder, root, inside))
            yield from (file for file in (f"{base}.py", f"{base}/__init__.py") if file in paths)


def _moved(parts: list[str], text: str) -> str:
    """A module's path, where its longest package that ``package_dir`` puts elsewhere is looked for there."""
    for size in range(len(parts), 0, -1):
        name = re.escape(".".join(parts[:size]))
        place = re.search(rf"[\"']{name}[\"']\s*:\s*[\"']([\w./-]+)[\"']", text)
        if place:
            return "/".join((place[1], *parts[size:]))
    return "/".join(parts)


@dataclass(frozen=True)
class Program:
    """A program of the repository: its flags, by every name an argument may have."""

    report: FlagReport
    names: Mapping[str, Flag]


@dataclass(frozen=True)
class Bound:
    """A call read through its program's flags, or by names as written where the program is not at hand."""

    call: Call
    path: str | None
    program: Program | None
    binding: Binding
    written: Mapping[str, tuple[str, ...]]
    """Every option as written with the words behind it; the last of equal ones."""
    words: tuple[str, ...]
    """Words that belong to no option, as far as that can be told without the program."""

    def find(self, name: str) -> Found | None:
        """What the call gives the argument ``name``; None where the program has no such flag and the call none."""
        key = normal(name)
        flag = self.program.names.get(key) if self.program is not None else None
        if flag is not None:
            return self._of(flag)
        for option, given in self.written.items():
            if normal(option) == key:
                return Found(_plain(given), "given", words=given)
        return self._abbreviated(key)

    def _abbreviated(self, key: str) -> Found | None:
        if self.program is None or len(key) < 3:
            return None
        begun = [flag for name, flag in self.program.names.items() if name.startswith(key) and flag.options]
        if len({flag.argument.name for flag in begun}) != 1:
            return None
        found = self._of(begun[0])
        return replace(found, abbreviated=True)

    def _of(self, flag: Flag) -> Found:
        name = flag.argument.name
        words = next((self.written[option] for option in flag.options if option in self.written), ())
        refused = next((problem.message for problem in self.binding.problems if _speaks_of(problem, flag)), "")
        if name in self.binding.values or refused:
            return Found(self.binding.values.get(name), "given", flag, words, refused=refused)
        if flag.argument.default is None and flag.argument.default_source:
            return Found(flag.argument.default_source, "absent", flag)
        return Found(flag.argument.default, "default" if flag.argument.default is not None else "absent", flag)

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """Every place of the call that can hold a value."""
        call = self.call
        target = call.target.replace(".", "/") if call.kind == "module" else call.target
        found = [Slot("the script", target, "script")]
        found += [Slot("the launcher", word, "name") for word in call.launcher]
        for name, value in dict(call.env).items():
            if name in call.prepared:
                continue
            found += [Slot(f"${name}", value), Slot(f"${name}", name, "name")]
        named: set[str] = set()
        for flag in self.program.report.flags if self.program is not None else ():
            name = flag.argument.name
            if name in self.binding.values:
                key = flag.argument.flag or name
                named.add(key)
                found.append(Slot(key, self.binding.values[name]))
                found += [Slot(key, key.lstrip("-"), "name")] if flag.options else []
        for option, words in self.written.items():
            if option not in named:
                found.append(Slot(option, _plain(words)))
                found.append(Slot(option, option.lstrip("-"), "name"))
        loose = self.words if self.program is None or not self.program.report.flags else self.binding.extras
        found += [Slot(f"word {at}", word) for at, word in enumerate(loose, 1) if not word.startswith("--")]
        return tuple(found)


_STOPS = frozenset({"bad_choice", "bad_value", "missing_value", "unexpected_value"})


def _speaks_of(problem: Problem, flag: Flag) -> bool:
    """Whether a parser's complaint is about how this flag is given."""
    if problem.kind == "ambiguous":
        begun = problem.text.partition("=")[0]
        return any(option.startswith(begun) for option in flag.options)
    return problem.kind in _STOPS and problem.name == flag.argument.name


def bound_call(call: Call, files: SourceFiles | None) -> Bound:
    """Read a call's words through its program's flags; never raises on words a program would refuse."""
    path = program_path(call, files)
    program = program_of(files, path) if files is not None and path is not None else None
    if program is not None and not program.report.flags and not program.report.complete:
        program = None
    report = program.report if program is not None else None
    binding = bind(report, call.argv) if report is not None else Binding()
    written, words = _as_written(call.argv, report)
    return Bound(call, path, program, binding, written, words)


def _as_written(argv: Iterable[str], report: FlagReport | None) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    options: dict[str, tuple[str, ...]] = {}
    words: list[str] = []
    takes = report.takes_value if report is not None else {}
    current: str | None = None
    literal = False
    for word in argv:
        if word == "--" and not literal:
            literal, current = True, None
        elif not literal and re.match(r"--?[A-Za-z_]", word):
            option, sign, value = word.partition("=")
            options.pop(option, None)
            options[option] = (value,) if sign else ()
            current = None if sign or takes.get(option) is False else option
        elif current is not None:
            options[current] = (*options[current], word)
        else:
            words.append(word)
    return options, tuple(words)


def _plain(words: tuple[str, ...]) -> Any:
    """An option's words as one value: none is True, as a switch; several are a list."""
    return True if not words else words[0] if len(words) == 1 else list(words)


@lru_cache(maxsize=65536)
def normal(name: str) -> str:
    """A name without dashes before it, and with one sign between its words."""
    return re.sub(r"[\s-]+", "_", name.strip().lstrip("-")).strip("_")
