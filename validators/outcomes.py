"""From an observation to an outcome, and what each outcome means for retries and for a score.

Comes in: what a sandbox saw. Goes out: one ``Outcome``. Nothing a script prints is believed; only statuses, counters
and limits are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..core.models import Limits, Outcome, OutcomeKind, Success
from .sandbox.contract import Observation, Run

__all__ = ["POLICY", "Policy", "infrastructure", "judge"]


NETWORK_NEEDED = re.compile(
    r"name resolution|Name or service not known|Network is unreachable|[Cc]ould not resolve|NameResolutionError"
    r"|getaddrinfo|Max retries exceeded"
)
"""A hint for the reader of a failure, never a reason for a verdict."""


@dataclass(frozen=True)
class Policy:
    """What follows from an outcome."""

    retried: bool
    """Run again at once: the script was not the cause."""
    counted: bool
    """It stands for the script: in a score's denominator, and resumable without running again."""


POLICY: Mapping[OutcomeKind, Policy] = {
    OutcomeKind.PASSED: Policy(retried=False, counted=True),
    OutcomeKind.FAILED: Policy(retried=False, counted=True),
    OutcomeKind.TIMED_OUT: Policy(retried=False, counted=True),
    OutcomeKind.OUT_OF_MEMORY: Policy(retried=False, counted=True),
    OutcomeKind.OUTPUT_EXCEEDED: Policy(retried=False, counted=True),
    OutcomeKind.DISK_EXCEEDED: Policy(retried=False, counted=True),
    OutcomeKind.NOT_EXECUTED: Policy(retried=False, counted=False),
    OutcomeKind.INFRASTRUCTURE: Policy(retried=True, counted=False),
}


def infrastructure(message: str, sandbox: str) -> Outcome:
    """The outcome of a run that the machine, not the script, spoilt."""
    return Outcome(outcome=OutcomeKind.INFRASTRUCTURE, detail=message, sandbox=sandbox)


def judge(seen: Observation, run: Run, sandbox: str) -> Outcome:
    """The one outcome of a run, with the limit that ended it or the reason it failed."""
    kind, exit_code, reason = _declared(*_verdict(seen, run.limits), seen, run.success)
    notes = [reason]
    if kind is OutcomeKind.FAILED and not run.network and NETWORK_NEEDED.search(seen.output.head + seen.output.tail):
        notes.append("its output speaks of a network, which is off here")
    if seen.background_left:
        notes.append(f"{seen.background_left} background processes outlived the script and were ended")
    if run.network:
        notes.append("with network, as the task declares")
    return Outcome(
        outcome=kind,
        exit_code=exit_code,
        shell_exit_code=None if seen.shell_status is None else _shell_code(seen.shell_status),
        detail="; ".join(filter(None, notes)),
        duration_s=round(seen.duration_s, 3),
        peak_memory_bytes=seen.peak_memory_bytes,
        output=seen.output,
        sandbox=sandbox,
        network=run.network,
        background_left=seen.background_left > 0,
    )


def _verdict(seen: Observation, limits: Limits) -> tuple[OutcomeKind, int | None, str]:
    if seen.folder_absent:
        return OutcomeKind.FAILED, None, "the folder it should run in does not exist in the repository at this commit"
    if seen.output_exceeded:
        return OutcomeKind.OUTPUT_EXCEEDED, None, f"wrote more than {limits.output_bytes} bytes"
    code, reason = _entry_status(seen)
    kills = seen.out_of_memory_kills
    if seen.timed_out:
        killed = f"; {kills} of its processes were killed for memory" if kills else ""
        return OutcomeKind.TIMED_OUT, None, f"still running after {limits.timeout_s:g} s{killed}"
    if kills:
        return OutcomeKind.OUT_OF_MEMORY, code, f"the limit of {limits.memory_bytes} bytes of memory was reached"
    if not seen.finished:
        return OutcomeKind.INFRASTRUCTURE, None, seen.trouble or "the sandbox ended without a report"
    if code == 0:
        return OutcomeKind.PASSED, 0, "the work area was full for a while" if seen.disk_full else ""
    if seen.disk_full:
        return OutcomeKind.DISK_EXCEEDED, code, f"the work area of {limits.disk_bytes} bytes was full"
    return OutcomeKind.FAILED, code, reason


def _declared(
    kind: OutcomeKind, exit_code: int | None, reason: str, seen: Observation, success: Success
) -> tuple[OutcomeKind, int | None, str]:
    """What the declaration asks for beyond exit status 0; only ``runs_for`` makes a pass of what was none."""
    printed = f"{seen.output.head}\n{seen.output.tail}"
    if success.kind == "runs_for" and kind is OutcomeKind.TIMED_OUT:
        if re.search(success.pattern or "", printed):
            return OutcomeKind.PASSED, None, f"ran for {success.seconds:g} s with progress, as declared (runs_for)"
        return kind, exit_code, f"{reason}, and its output shows no progress (runs_for)"
    if kind is not OutcomeKind.PASSED:
        return kind, exit_code, reason
    if success.kind == "artifact" and not seen.artifact_bytes:
        return OutcomeKind.FAILED, exit_code, f"did not write {success.path}, which its success requires"
    if success.kind == "metric":
        value = _metric(success.pattern or "", printed)
        low, high = success.at_least, success.at_most
        if value is None or not (low is None or value >= low) or not (high is None or value <= high):
            return OutcomeKind.FAILED, exit_code, f"the metric is {value}, outside {low} to {high}"
    return kind, exit_code, reason


def _metric(pattern: str, printed: str) -> float | None:
    """The last number that the pattern finds; None where it finds none (or no number)."""
    found = re.findall(pattern, printed)
    try:
        return float(found[-1])
    except (IndexError, ValueError):
        return None


def _entry_status(seen: Observation) -> tuple[int | None, str]:
    """The status that counts: an entry point's failure before the shell's, and never a hidden one."""
    if seen.failed_entry is not None:
        status, program = seen.failed_entry
        hidden = "" if seen.shell_status else ", which the script hides"
        return _shell_code(status), f"{program} ended with {_named(status)}{hidden}"
    if seen.shell_status is None:
        return None, "the script did not end"
    if seen.shell_status != 0:
        return _shell_code(seen.shell_status), f"ended with {_named(seen.shell_status)}"
    if seen.entries_left and not seen.entries_ended:
        return None, "the script ended while its entry point was still running in the background"
    if seen.not_found and not seen.entries_ended:
        return 127, "a command was not found, which the script hides"
    return 0, ""


def _shell_code(status: int) -> int:
    """A status as a shell gives it: 128 and the signal for a process that a signal ended."""
    return status if status >= 0 else 128 - status


def _named(status: int) -> str:
    if status >= 0:
        return f"exit code {status}"
    import signal

    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"
