"""``benchwright.toml``: what a workspace is, where its services are, and its default limits."""

from __future__ import annotations

import datetime
import tomllib
import uuid
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from .errors import BenchwrightError
from .models import Limits, Name, Part, Record

__all__ = [
    "FILE_NAME",
    "AboutConfig",
    "CheckConfig",
    "Config",
    "HubConfig",
    "LabelStudioConfig",
    "initial_text",
    "read_config",
    "read_toml",
]

FILE_NAME = "benchwright.toml"

REDISTRIBUTABLE = (
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC-BY-4.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unlicense",
)


class LabelStudioConfig(Part):
    """Where annotators work. Tokens never stand here: they come from the environment or ``annotate up``."""

    url: str | None = None
    """Base address of an existing server; None: the local one that ``annotate up`` starts."""


class HubConfig(Part):
    """Where releases are published."""

    repository: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$")
    """``owner/name`` of the dataset on the Hub."""
    visibility: Literal["public", "private"] | None = None
    """None: as it is; a new dataset begins private."""
    gated: Literal["auto", "manual", "off"] | None = None
    """Whether readers must ask first, and who answers them; None: as it is."""


class CheckConfig(Part):
    """Decisions about rules of ``check``."""

    accept: dict[str, str] = Field(default_factory=dict)
    """Rule id -> why a release may be built in spite of it."""


class AboutConfig(Part):
    """What a release says of itself in its card, citation and metadata."""

    description: str = ""
    """One or two sentences; empty: what every such benchmark is."""
    authors: tuple[str, ...] = ()
    url: str | None = Field(default=None, pattern=r"^https?://[^\s<>\"]+$")
    """Home page; None: the dataset's page on the Hub, if there is one."""
    date: str | None = Field(default=None, pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")
    """Day of the release. Never taken from the clock: two builds of one version are equal."""

    @field_validator("date")
    @classmethod
    def _is_in_the_calendar(cls, value: str | None) -> str | None:
        if value is not None:
            datetime.date.fromisoformat(value)
        return value


class Config(Record):
    """The whole of ``benchwright.toml``."""

    name: Name
    version: str = Field(default="0.1.0", pattern=r"^[0-9]+(?:\.[0-9]+){0,2}(?:[-+.][0-9A-Za-z][0-9A-Za-z.+-]{0,60})?$")
    """Of the next release; it names the release folder and, behind a ``v``, the tag."""
    license: str = "CC-BY-4.0"
    """Licence of the benchmark's own text (instructions, annotations), as an SPDX id."""
    canary: str = ""
    """GUID by which training data can be searched for this benchmark."""
    mirrors: tuple[str, ...] = ()
    environment: str = "standard"
    redistributable_licenses: tuple[str, ...] = REDISTRIBUTABLE
    repeat: int = Field(default=3, ge=1, le=1000)
    """Runs of an example's own output that must all pass before it counts as verified."""
    limits: Limits = Limits()
    check: CheckConfig = Field(default=CheckConfig())
    about: AboutConfig = Field(default=AboutConfig())
    label_studio: LabelStudioConfig = Field(default=LabelStudioConfig())
    hub: HubConfig = Field(default=HubConfig())


def read_config(path: Path) -> Config:
    """Read and check the file.

    Raises:
        BenchwrightError: it cannot be read, is no TOML, or a field is wrong (file and field are named).
    """
    return Config.load(read_toml(path), str(path))


def read_toml(path: Path) -> dict[str, Any]:
    """The file's content; errors name the file and, for bad TOML, the line and column."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BenchwrightError(f"cannot read it: {error.strerror}", where=str(path)) from error
    except (ValueError, RecursionError) as error:  # bad UTF-8, bad TOML, digits or nesting without end
        raise BenchwrightError(f"not valid TOML: {error}", where=str(path), remedy="correct the file") from error


def initial_text(name: str) -> str:
    """A new workspace's configuration, with a fresh canary and every choice explained in place."""
    limits = Limits()
    return f"""\
schema_version = 1
name = "{name}"
version = "0.1.0"
license = "CC-BY-4.0"              # of the benchmark's own text; each repository keeps its own
canary = "{uuid.uuid4()}"  # one per benchmark, from the first release on: do not change it
environment = "standard"           # used where neither the task nor its repository names one
repeat = 3                         # runs of an example's own output that must pass before it counts as verified
# mirrors = ["file:///srv/git/{{owner}}+{{name}}/repo"]

[about]                            # what a release says of itself
# description = "One or two sentences."
# authors = ["First Author", "Second Author"]
# url = "https://example.org/benchmark"
# date = "2026-01-31"              # day of the release

[limits]                           # of each run; a task.toml may set its own
timeout_s = {limits.timeout_s:g}
memory_bytes = {limits.memory_bytes}
cpus = {limits.cpus:g}
processes = {limits.processes}
output_bytes = {limits.output_bytes}
disk_bytes = {limits.disk_bytes}

# [check.accept]                   # rules that a release is built in spite of, each with the reason
# BW403 = "the training split repeats two tasks on purpose: see the card"

[label_studio]
# url = "https://label-studio.example.org"     # else the server that `benchwright annotate up` starts

[hub]
# repository = "owner/name"
# visibility = "public"            # or "private"; a new dataset begins private
# gated = "manual"                 # or "auto", "off"
"""
