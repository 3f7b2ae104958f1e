"""What an annotator reads about a draft: how it ended, which arguments it does not set, the end of what it printed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...core.errors import BenchwrightError
from ...core.models import Outcome, OutcomeKind, TaskType
from ...curation.flags import SourceFiles
from ...validators.arguments import check_arguments
from ...validators.checks.argument_rules import check_instruction
from ...validators.checks.subject import Context, subject_of
from ..arguments import parse_arguments
from ..display import plain_text
from .drafts import Draft

__all__ = ["arguments_lines", "outcome_lines"]

LINES, CHARACTERS = 20, 2000
"""Of the output's end, as much as is shown."""


def outcome_lines(outcome: Outcome) -> list[str]:
    """How a run ended, in one line, then the end of its output."""
    status = "" if outcome.exit_code is None else f", exit status {outcome.exit_code}"
    ended = f"{outcome.outcome.value.replace('_', ' ').upper()}{status}, {outcome.duration_s:.1f} s"
    if outcome.outcome is OutcomeKind.INFRASTRUCTURE:
        ended = "NOT RUN: this machine could not, which says nothing about the script"
    lines = [f"{ended}: {outcome.detail}" if outcome.detail else ended]
    output = outcome.output
    text = plain_text(output.tail or output.head).rstrip()
    shown = "\n".join(text.splitlines()[-LINES:])[-CHARACTERS:]
    if not shown:
        return [*lines, "It printed nothing."]
    whole = output.bytes <= len(shown.encode("utf-8", "replace")) + 2
    return [*lines, "It printed:" if whole else f"It printed {output.bytes} bytes; the end of them:", shown]


def arguments_lines(draft: Draft, type: TaskType, path: str, files: SourceFiles | None) -> list[str]:
    """Which arguments the script does not set, and which the instruction does not state."""
    try:
        arguments = parse_arguments(draft.arguments)
    except BenchwrightError as error:
        return [f"Arguments (4): {error.message}"]
    if not arguments:
        return ["Arguments (4): none are named."]
    verdict = check_arguments(draft.script, type, arguments, path=path, prefix_code=draft.prefix_code, files=files)
    refused = [problem.message for problem in verdict.problems]
    lines = [f"The script does not set: {message}" for message in refused] or ["The script sets every argument."]
    return [*lines, *_instruction_lines(draft.instruction, arguments)]


def _instruction_lines(instruction: str, arguments: Mapping[str, Any]) -> Sequence[str]:
    if not instruction.strip():
        return ["The instruction (3) is still empty."]
    values = {"github_id": 0, "id": 0, "instruction": instruction, "arguments": json.dumps(dict(arguments))}
    found = check_instruction(subject_of(values, "draft", ""), Context({}, _no_tree))
    return [f"The instruction (3): {finding.message}" for finding in found]


def _no_tree(_repository: object) -> Any:
    raise BenchwrightError("the instruction is read without the repository")
