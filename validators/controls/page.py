"""One task for a reader: its record, its README segment, its examples and where each of them stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tomlkit

from ...core.models import Example
from ...core.tasks import TaskFolder
from ...core.workspace import Workspace
from .standing import Standing, standings

__all__ = ["TaskPage", "task_page"]


@dataclass(frozen=True)
class TaskPage:
    """What is shown of a task."""

    item: TaskFolder
    standings: dict[int, Standing]
    """By example; withdrawn ones have none."""

    def as_json(self) -> dict[str, Any]:
        """The records as they lie on disk, each example with its ``state`` and ``why``."""
        examples = []
        for example in self.item.examples:
            fields = example.model_dump(mode="json", exclude_none=True)
            standing = self.standings.get(example.id)
            told = {"state": standing.state.value, "why": standing.why} if standing else {"state": "withdrawn"}
            examples.append(fields | told)
        task = self.item.task.model_dump(mode="json", exclude_none=True)
        return {"task": task, "oracle": self.item.oracle, "examples": examples}

    def lines(self) -> list[str]:
        """The same for people."""
        record = tomlkit.dumps(self.item.task.model_dump(mode="json", exclude_none=True)).rstrip()
        found = [self.item.task.id, "", *record.split("\n"), "", "README segment:", *_indented(self.item.oracle)]
        for example in self.item.examples:
            found += ["", *_example(example, self.standings.get(example.id))]
        return found


def task_page(workspace: Workspace, item: TaskFolder) -> TaskPage:
    """Read what is known of the task.

    Raises:
        BenchwrightError: a file of the workspace is wrong.
    """
    return TaskPage(item, {example.id: standing for _, example, standing in standings(workspace, [item])})


def _example(example: Example, standing: Standing | None) -> Iterator[str]:
    yield f"Example {example.id}, {example.type}, {_stands(example, standing)}"
    yield "  instruction:"
    yield from _indented(example.instruction, 4)
    if example.arguments:
        yield "  arguments:"
        yield from (f"    {name} = {value!r}" if isinstance(value, str) else f"    {name} = {value}"
                    for name, value in example.arguments.items())  # fmt: skip
    if example.prefix_code.strip():
        yield "  prefix code:"
        yield from _indented(example.prefix_code, 4)
    yield "  output:"
    yield from _indented(example.output, 4)
    for control in (standing.no_op, standing.near_miss) if standing else ():
        if control is not None:
            verdict = "held" if control.held else "did not hold"
            yield f"  {control.control.replace('_', ' ')} {verdict}, {control.at}: {control.outcome.detail}".rstrip(
                ": "
            )


def _stands(example: Example, standing: Standing | None) -> str:
    if standing is None:
        return f"withdrawn: {example.yanked}"
    last = standing.last
    if last is not None:
        return f"verified: {len(standing.gold)} runs passed, the last {last.at} in {last.outcome.sandbox}"
    return f"{standing.state.value}: {standing.why}"


def _indented(text: str, by: int = 2) -> list[str]:
    return [" " * by + line for line in text.rstrip("\n").split("\n")]
