"""What every sandbox promises, and what it hands back: an observation, which ``outcomes.py`` judges."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol, Self

from ...core.models import Limits, Output, Success

__all__ = [
    "ASSETS",
    "DISK",
    "HOME",
    "WORK",
    "Capabilities",
    "Interpreter",
    "Observation",
    "Run",
    "Sandbox",
    "System",
    "abandoned",
    "owner",
]

DISK = "/tmp"  # noqa: S108 - inside the sandbox: the only place that can be written, of bounded size
WORK = f"{DISK}/work"
HOME = f"{DISK}/home"
ASSETS = "/assets"

Interpreter = Literal["bash", "python3"]


@dataclass(frozen=True)
class System:
    """An environment made ready: the read-only system that a script sees."""

    name: str
    digest: str
    """SHA-256 over recipe, base and lock."""
    root: Path
    """The base's unpacked file system."""
    python: str
    """Its interpreter's path, on this machine and inside alike."""
    packages: Path | None
    """Folder of installed Python packages, None where the recipe requires none."""
    packages_at: str
    """Where in the system that folder belongs: on the base's own ``sys.path``."""
    image: str
    """Name of the Docker image with all of it."""
    variables: Mapping[str, str] = field(default_factory=dict)
    base: str = "host:"
    """Identity of what it begins from; ``host:...`` where ``python`` is this machine's own."""
    base_image: str = ""
    """The Docker image that ``image`` begins from."""
    path_file: str = ""
    """A file of the root, inside, that puts ``packages_at`` on ``sys.path``; empty where it needs none."""
    assets: Path | None = None
    """Folder of files that appear below ``/assets``."""
    gpus: int = 0
    """Cards that each run is given for itself alone."""


@dataclass(frozen=True)
class Run:
    """One script to execute, once, in a fresh work area."""

    system: System
    script: bytes
    interpreter: Interpreter
    limits: Limits
    name: str = ".benchwright-script"
    """File name of the script; it lies in the folder it runs in, so that its siblings can be imported."""
    folder: str = "./"
    """The folder it runs in, relative to the work area."""
    tree: Path | None = None
    """Read-only folder the work area begins as a copy of; None: empty."""
    network: bool = False
    cards: tuple[str, ...] = ()
    """Ids of the cards leased to it; a sandbox that cannot give them refuses."""
    variables: Mapping[str, str] = field(default_factory=dict)
    success: Success = field(default_factory=Success)

    def environment(self, sandbox: str) -> dict[str, str]:
        """The script's variables: none of the caller's."""
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
            "HOME": HOME,
            "TMPDIR": DISK,
            "LANG": "C.UTF-8",
            "USER": "nobody",
            "BENCHWRIGHT_SANDBOX": sandbox,
            **self.system.variables,
            **self.variables,
        }


@dataclass(frozen=True)
class Observation:
    """What was seen from outside and what the launcher told, before any judgement."""

    output: Output
    duration_s: float
    finished: bool = False
    """The launcher told the whole story; without it only the fields above and ``output_exceeded`` are known."""
    timed_out: bool = False
    output_exceeded: bool = False
    shell_status: int | None = None
    """Exit status of the script's own process; negative: the signal that ended it."""
    failed_entry: tuple[int, str] | None = None
    """Status and program of the first entry point that failed."""
    entries_ended: int = 0
    entries_left: int = 0
    not_found: int = 0
    background_left: int = 0
    peak_memory_bytes: int | None = None
    out_of_memory_kills: int = 0
    disk_full: bool = False
    folder_absent: bool = False
    artifact_bytes: int | None = None
    """Size of the file that success requires, where the run wrote it; None: it did not."""
    trouble: str = ""
    """What the infrastructure said; where it is not empty, nothing is known of the script."""


@dataclass(frozen=True)
class Capabilities:
    """What a sandbox can enforce. ``Limits`` has nothing optional: what is False here must be said to the user."""

    network_off: bool = True
    read_only_system: bool = True
    memory: bool = True
    processes: bool = True
    cpus: bool = True
    disk: bool = True
    user: bool = True
    """The script runs as a user that owns nothing."""

    def lacking(self) -> list[str]:
        return [name for name, able in vars(self).items() if not able]


class Sandbox(Protocol):
    """A way of executing scripts. It is a context manager; runs may be executed from several threads at once."""

    name: str
    capabilities: Capabilities
    stopped: bool
    """True once ``stop`` was called."""

    def execute(self, run: Run) -> Observation:
        """Execute one script in a fresh work area and leave nothing behind.

        Every way in which the script can end is told in the observation; so is a failure of the sandbox itself
        (``trouble``).

        Raises:
            BenchwrightError: the run asks for what this sandbox cannot give; nothing was started.
        """
        ...

    def stop(self) -> None:
        """End every run at once; their ``execute`` returns soon. Called from another thread, on ^C."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def owner() -> str:
    """Names this process beyond its number: boot, process namespace, pid and start time, separated by ``-``."""
    return f"{place()}-{os.getpid()}-{start_time(os.getpid())}"


def place() -> str:
    """Boot and process namespace: process numbers mean something only there."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")[:12]
    return f"{boot}-{os.stat('/proc/self/ns/pid').st_ino}"


def start_time(pid: int) -> str | None:
    """Clock ticks from boot to the start of a process; None where it is gone or only a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def abandoned(name: str) -> bool:
    """True where ``name`` (an :func:`owner`) is of this boot and namespace, and its process is gone."""
    where, pid, started = name.rsplit("-", 2) if name.count("-") >= 2 else ("", "", "")
    return where == place() and pid.isdigit() and start_time(int(pid)) != started
