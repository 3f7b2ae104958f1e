"""Protocol ``ml-bench``: the verdict that the published runner gives, from the same evidence.

A sample passes when, in this order: every value of the arguments, in lower case, is a substring of the sample in lower
case; its type fits (Bash: the text holds ``.sh `` or ``.py ``; Python: it holds neither); the shell ends with 0, or
runs into the time limit. What never read its pipe counted as the time limit, too. Two things of it are not
reproduced: its work tree shared by all samples, and its ``eval`` of the arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core.models import Outcome, OutcomeKind
from ..rows import Row

__all__ = ["PIPE_BYTES", "Verdict", "by_text", "judge", "time_limit"]

PIPE_BYTES = 64 * 1024
"""Capacity of a Linux pipe: a process that wrote more to the unread pipe waited for ever."""

TIME_LIMIT_S = 10.0
VID2VID_TIME_LIMIT_S = 4.0
TIMM_PYTHON_TIME_LIMIT_S = 7.0


@dataclass(frozen=True)
class Verdict:
    """What the published runner would say, and the rule that decided.

    ``rule`` is ``arguments``, ``type`` or ``exit_code`` for a sample that fails, ``time_limit`` or ``unread_pipe`` for
    one that passes by them, and None for one that passes by its exit status, or was not executed (``passed`` is then
    None).
    """

    passed: bool | None
    rule: str | None


def time_limit(row: Row) -> float:
    """The published limit in seconds: 10; 4 for vid2vid; 7 for timm's Python."""
    name = row.github.rstrip("/").removesuffix(".git").rpartition("/")[2].lower()
    if name == "vid2vid":
        return VID2VID_TIME_LIMIT_S
    if name == "pytorch-image-models" and row.type == "Python Code":
        return TIMM_PYTHON_TIME_LIMIT_S
    return TIME_LIMIT_S


def by_text(row: Row, arguments: Mapping[str, Any], sample: str) -> Verdict:
    """The verdict of the rules that need no execution."""
    lowered = sample.lower()
    if not all(str(value).lower() in lowered for value in arguments.values()):
        return Verdict(False, "arguments")
    names_script = ".sh " in sample or ".py " in sample
    if names_script != (row.type == "Bash Script"):
        return Verdict(False, "type")
    return Verdict(None, None)


def judge(row: Row, arguments: Mapping[str, Any], sample: str, outcome: Outcome | None) -> Verdict:
    """The whole verdict; ``outcome`` is None where the sample was not executed."""
    text = by_text(row, arguments, sample)
    if text.rule is not None or outcome is None or outcome.outcome is OutcomeKind.INFRASTRUCTURE:
        return text
    if outcome.outcome is OutcomeKind.NOT_EXECUTED:
        return text
    if outcome.output.bytes > PIPE_BYTES:
        return Verdict(True, "unread_pipe")
    if outcome.outcome is OutcomeKind.TIMED_OUT or outcome.duration_s > time_limit(row):
        return Verdict(True, "time_limit")
    shell = outcome.exit_code if outcome.shell_exit_code is None else outcome.shell_exit_code
    return Verdict(True, None) if shell == 0 else Verdict(False, "exit_code")
