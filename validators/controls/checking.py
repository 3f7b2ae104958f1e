"""The controls that need no run: the example's own output and its near misses before the check of arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core.errors import BenchwrightError
from ...curation.source import PinnedTree, open_tree
from ..arguments.recorder import Recorder
from ..execution import Job, Runner
from .digests import NOTHING
from .near_misses import Judged, judged

__all__ = ["Checked", "check_controls"]


@dataclass(frozen=True)
class Checked:
    """What the check of arguments says of an example's controls."""

    own: str
    """Why the example's own output is refused; empty where it is accepted."""
    nothing: str
    """Why an answer that does nothing is refused; empty where it is accepted."""
    varied: tuple[str, ...]
    accepted: tuple[str, ...]
    """Arguments whose near miss is accepted."""

    @property
    def no_op_held(self) -> bool:
        return bool(self.nothing)

    @property
    def no_op(self) -> str:
        """The finding on the no-op."""
        return self.nothing or "an answer that does nothing passes: give it arguments, or declare its success"

    @property
    def near_held(self) -> bool:
        return not self.own and not self.accepted

    @property
    def near(self) -> str:
        """The finding on the near misses."""
        if self.own:
            return f"its own output is refused: {self.own}"
        if self.accepted:
            return f"the output is accepted with another value of {', '.join(self.accepted)}"
        return f"refused with another value of {', '.join(self.varied)}" if self.varied else "it has no arguments"


def check_controls(
    examples: Iterable[tuple[Job, Mapping[str, Any]]], runner: Runner, clones_dir: Path, mirrors: Sequence[str] = ()
) -> Iterator[tuple[Job, Checked | str]]:
    """Check each example, given by its job and arguments; a text says what of the infrastructure prevented it."""
    trees: dict[tuple[str, str], PinnedTree | str] = {}
    with ExitStack() as stack:
        for job, arguments in examples:
            assert job.repository is not None
            place = job.repository.url, job.repository.commit
            if place not in trees:
                try:
                    trees[place] = stack.enter_context(open_tree(job.repository, clones_dir, mirrors))
                except BenchwrightError as error:
                    trees[place] = str(error)
            tree = trees[place]
            yield job, tree if isinstance(tree, str) else _checked(job, arguments, tree, runner)


def _checked(job: Job, arguments: Mapping[str, Any], tree: PinnedTree, runner: Runner) -> Checked | str:
    recorder = Recorder(runner, job.repository, job.environment)
    example = Judged(job.code, job.type, arguments, job.path, job.prefix_code, tree, recorder)
    own, nothing = example.refusal(job.code), example.refusal(NOTHING[job.type])
    refused, accepted = judged(example) if not own else ([], [])
    if recorder.failed:
        return "the sandbox failed before the calls could be recorded"
    return Checked(own, nothing, (*refused, *accepted), tuple(accepted))
