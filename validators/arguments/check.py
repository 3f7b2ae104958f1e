"""Does a script do what the arguments ask? The verdict, with the argument, the wanted and the found of each refusal."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ...core.models import TaskType
from ...curation.flags import SourceFiles
from .calls import MARK, Call, Trace, after_preparation
from .matching import Asked, Refusal, judge_call
from .programs import Bound, bound_call, inner_calls, program_path
from .shell import trace_shell
from .snippets import judge_snippet

__all__ = ["Records", "Verdict", "check_arguments", "folder_of", "trace_of"]


class Records(Protocol):
    """Whatever knows what a script starts because it was run with recording launchers."""

    def record(self, code: str, *, path: str, prefix_code: str) -> Trace | None:
        """The calls the script really makes; None where nothing was recorded."""


@dataclass(frozen=True)
class Verdict:
    """Whether the arguments are met."""

    accepted: bool
    problems: tuple[Refusal, ...] = ()
    """Of the call that comes nearest; empty where accepted."""
    calls: tuple[Call, ...] = ()
    """What a Bash script starts; empty for Python."""
    notes: tuple[str, ...] = ()
    """What was not certain."""

    def __str__(self) -> str:
        return "accepted" if self.accepted else "; ".join(map(str, self.problems))


def check_arguments(
    code: str,
    type: TaskType,
    arguments: Mapping[str, Any],
    *,
    path: str = "./",
    prefix_code: str = "",
    entry: str | None = None,
    reference: str | None = None,
    files: SourceFiles | None = None,
    recorder: Records | None = None,
) -> Verdict:
    """Whether ``code`` really uses the ``arguments``.

    ``path`` is the folder it runs in. ``entry`` names the script that must be started; without it the scripts that
    ``reference`` (the example's own output) starts. The reference also tells where an argument belongs that is no
    flag. With ``files`` (the repository at its pin) words are read through the program's own flags: aliases,
    abbreviations, defaults, types; without it by names as written. ``recorder`` settles what bash alone can tell.
    One call must meet all arguments, and no further run of the same program may give them other values: a loop over
    every value is no answer. Never raises on what the code says.
    """
    if type == "Python Code":
        problems = judge_snippet(code, dict(arguments), reference, files, folder_of(path))
        return Verdict(not problems, tuple(problems))
    trace = trace_of(code, path, prefix_code, recorder)
    example = trace_of(reference, path, prefix_code, recorder).calls if reference else ()
    entries = [entry] if entry else [name for call in example if (name := _entry_of(call, files))]
    fitting = _fitting(trace.calls, entries, files, path)
    if not fitting:
        wanted = " or ".join(dict.fromkeys(entries)) or "a program"
        found = ", ".join(dict.fromkeys(call.target for call in trace.calls)) or "nothing"
        problem = Refusal(None, wanted, found, f"it must start {wanted}, and starts {found}")
        return Verdict(False, (problem,), trace.calls, trace.doubts)
    asked = Asked(dict(arguments), [bound_call(call, files) for call in example])
    bound = [bound_call(call, files) for call in fitting]
    problems = _nearest(bound, asked) or (_hedged(bound, asked) if entries else [])
    return Verdict(not problems, tuple(problems), trace.calls, trace.doubts)


def _fitting(calls: Sequence[Call], entries: Sequence[str], files: SourceFiles | None, path: str) -> list[Call]:
    """The calls that start what is asked for: by themselves, else through a shell script of the repository."""
    if not entries:
        return list(calls)
    for level in (calls, [inner for call in calls for inner in inner_calls(call, files)]):
        found = [call for call in level if any(_is_entry(call, name, files, path) for name in entries)]
        if found:
            return found
    return []


def _nearest(bound: Sequence[Bound], asked: Asked) -> list[Refusal]:
    """The refusals of the call that meets most; where the example starts several programs, each may meet its part."""
    judged = [judge_call(call, asked) for call in bound]
    best = min(judged, key=len)
    if not best or len({call.call.target for call in asked.example}) < 2:
        return best
    refused = [{problem.argument for problem in problems} for problems in judged]
    common = set.intersection(*refused)
    return [problem for problem in best if problem.argument in common]


def _hedged(bound: Sequence[Bound], asked: Asked) -> list[Refusal]:
    """Refusals of an answer that also runs the program with other values of what was asked: a loop over all of them.

    Runs that leave an argument to its default (``--help``) are no such thing, nor are those an example makes itself.
    """
    if len(bound) < 2 or len(asked.example) > 1:
        return []
    for call in bound:
        for problem in judge_call(call, asked):
            found = call.find(problem.argument) if problem.argument is not None else None
            if found is not None and found.how == "given":
                message = f"{problem.message}, in one of {len(bound)} runs: one was asked for"
                return [Refusal(problem.argument, problem.wanted, problem.found, message)]
    return []


def trace_of(code: str, path: str, prefix_code: str, recorder: Records | None) -> Trace:
    """The calls of ``code`` behind its prefix code: read from its text, recorded where that is not exact."""
    if not prefix_code.strip():
        trace = trace_shell(code, folder=folder_of(path))
    else:
        whole = trace_shell(f"{prefix_code}\n{MARK}\n{code}", folder=folder_of(path))
        trace = Trace(after_preparation(whole.calls, MARK), whole.doubts)
    if not trace.exact and recorder is not None:
        recorded = recorder.record(code, path=path, prefix_code=prefix_code)
        if recorded is not None and recorded.exact:
            return recorded
    return trace


def folder_of(path: str) -> str:
    """An example's ``path`` relative to the repository's root, as calls name it."""
    folder = posixpath.normpath(path or ".").lstrip("/")
    return "" if folder == "." else folder


def _entry_of(call: Call, files: SourceFiles | None) -> str | None:
    if call.kind not in ("file", "module", "program"):
        return None
    return program_path(call, files) or _as_file(call)


def _as_file(call: Call) -> str:
    if call.kind == "module":
        return f"{call.target.replace('.', '/')}.py"
    if call.kind == "program" or call.folder.startswith("?"):
        return call.target
    return posixpath.normpath(posixpath.join(call.folder, call.target))


def _is_entry(call: Call, entry: str, files: SourceFiles | None, path: str) -> bool:
    """Whether a call starts the script named: by its place in the repository, else by the end of its path."""
    found = program_path(call, files) or _as_file(call)
    wanted = posixpath.normpath(entry)
    if found == wanted or found == posixpath.normpath(posixpath.join(folder_of(path), wanted)):
        return True
    if call.kind == "module" and (call.target == entry or wanted.endswith(f"/{found}")):
        return True
    stem = wanted.removesuffix(".py").replace("/", ".")
    if call.kind == "module" and stem.endswith(f".{call.target}"):
        return True
    return call.folder.startswith("?") and posixpath.basename(found) == posixpath.basename(wanted)
