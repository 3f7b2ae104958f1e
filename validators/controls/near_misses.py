"""Near misses: an example's own output with one argument changed. Whoever judges answers must refuse every one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...core.models import TaskType
from ...curation.flags import SourceFiles
from ..arguments import Records, check_arguments, trace_of
from ..arguments.check import folder_of
from .changing import changed
from .commands import changed_script
from .snippets import changed_snippet

__all__ = ["Judged", "NearMiss", "judged", "near_misses"]


@dataclass(frozen=True)
class Judged:
    """An example as the check of arguments sees it; every control of it is judged in the same way."""

    output: str
    type: TaskType
    arguments: Mapping[str, Any]
    path: str = "./"
    prefix_code: str = ""
    files: SourceFiles | None = None
    recorder: Records | None = None

    def refusal(self, code: str, arguments: Mapping[str, Any] | None = None) -> str:
        """Why the answer ``code`` is refused; empty where it is accepted."""
        verdict = check_arguments(
            code,
            self.type,
            self.arguments if arguments is None else arguments,
            path=self.path,
            prefix_code=self.prefix_code,
            reference=self.output,
            files=self.files,
            recorder=self.recorder,
        )
        return "" if verdict.accepted else str(verdict)


@dataclass(frozen=True)
class NearMiss:
    """One argument changed."""

    argument: str
    code: str | None
    """The output with the argument changed; None where it cannot be changed there, so that ``wanted`` is instead."""
    wanted: Mapping[str, Any]
    """The arguments it is judged by."""


def near_misses(example: Judged) -> Iterator[NearMiss]:
    """One for each argument."""
    trace = None
    if example.type == "Bash Script":
        trace = trace_of(example.output, example.path, example.prefix_code, example.recorder)
    for name, wanted in example.arguments.items():
        if trace is None:
            code = changed_snippet(example.output, name, wanted)
        else:
            code = changed_script(trace.calls, name, example.arguments, example.files, folder_of(example.path))
        if code is not None:
            yield NearMiss(name, code, example.arguments)
        else:
            yield NearMiss(name, None, {**example.arguments, name: changed(wanted)})


def judged(example: Judged) -> tuple[list[str], list[str]]:
    """The arguments whose near miss is refused, as it must be, and those whose is accepted."""
    refused: list[str] = []
    accepted: list[str] = []
    for near in near_misses(example):
        met = not example.refusal(example.output if near.code is None else near.code, near.wanted)
        (accepted if met else refused).append(near.argument)
    return refused, accepted
