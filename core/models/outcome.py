"""What running a script gave, and the dated evidence that a task works."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar, Literal

from .record import Part, Record, Upgrade

__all__ = ["Evidence", "Outcome", "OutcomeKind", "Output"]


class OutcomeKind(StrEnum):
    """How a run ended. Only ``PASSED`` is a success; ``INFRASTRUCTURE`` is never the script's failure."""

    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    OUTPUT_EXCEEDED = "output_exceeded"
    DISK_EXCEEDED = "disk_exceeded"
    NOT_EXECUTED = "not_executed"
    INFRASTRUCTURE = "infrastructure"


class Output(Part):
    """Standard output and error together, as text: the first and the last part, and how many bytes there were."""

    head: str = ""
    tail: str = ""
    """Empty where ``head`` holds everything."""
    bytes: int = 0


class Outcome(Record):
    """The result of one run in one sandbox."""

    outcome: OutcomeKind
    exit_code: int | None = None
    """The entry point's own exit status; None where it did not end by itself."""
    shell_exit_code: int | None = None
    """The surrounding shell's, which ``; true`` or a pipe can mask."""
    detail: str = ""
    """The limit that ended it, or what the infrastructure said."""
    duration_s: float = 0.0
    peak_memory_bytes: int | None = None
    output: Output = Output()
    sandbox: str = ""
    network: bool = False
    """True only where the task declared it."""
    background_left: bool = False
    """True where processes outlived the script and were ended."""

    @property
    def passed(self) -> bool:
        return self.outcome is OutcomeKind.PASSED


class Evidence(Record):
    """One dated line of a task's ``evidence.jsonl``, bound to what was run or checked by ``digest``.

    ``gold``: a run of the example's own output. ``no_op``: what an answer that does nothing comes to. ``near_miss``:
    the example's own output is accepted, and with any one argument changed it is refused. ``cpu_smoke``: a run of the
    task's variant that needs no card, which verifies no example.
    """

    SCHEMA_VERSION: ClassVar[int] = 2
    UPGRADES: ClassVar[Mapping[int, Upgrade]] = {1: lambda fields: fields}  # 2 adds held and varied

    schema_version: int = 2
    control: Literal["gold", "no_op", "near_miss", "cpu_smoke"]
    example_id: int | None = None
    digest: str
    """SHA-256 over script, prefix code, commit, environment digest, success declaration and limits; of the other
    controls over what their verdict depends on."""
    environment: str
    environment_digest: str
    at: str
    """UTC, ISO 8601."""
    toolkit_version: str
    outcome: Outcome
    """Of a control that is not run, ``not_executed``, with the finding as its detail."""
    held: bool | None = None
    """Whether the control came out as it must; None for gold, whose outcome says it."""
    varied: tuple[str, ...] = ()
    """The arguments of which a near miss was tried."""
