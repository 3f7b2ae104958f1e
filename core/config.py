"""``benchwright.toml``: what a workspace is, where its services are, and its default limits."""

from __future__ import annotations

import tomllib
import uuid
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from .errors import BenchwrightError
from .models import Limits, Name, Part, Record

__all__ = [
    "FILE_NAME",
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

    repository: str | None = None
    """``owner/name`` of the dataset on the Hub."""
    visibility: Literal["public", "private"] | None = None
    """None: as it is; a new dataset begins private."""
    gated: Literal["auto", "manual", "off"] | None = None
    """Whether readers must ask first, and who answers them; None: as it is."""


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
    limits: Limits = Limits()
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
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
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
# mirrors = ["file:///srv/git/{{owner}}+{{name}}/repo"]

[limits]                           # of each run; a task.toml may set its own
timeout_s = {limits.timeout_s:g}
memory_bytes = {limits.memory_bytes}
cpus = {limits.cpus:g}
processes = {limits.processes}
output_bytes = {limits.output_bytes}
disk_bytes = {limits.disk_bytes}

[label_studio]
# url = "https://label-studio.example.org"     # else the server that `benchwright annotate up` starts

[hub]
# repository = "owner/name"
# visibility = "public"            # or "private"; a new dataset begins private
# gated = "manual"                 # or "auto", "off"
"""
