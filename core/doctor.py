"""Looking at this machine: what benchwright can use here, and how to get what is missing."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from .models import Part
from .workspace import cache_dir

__all__ = ["Finding", "examine"]

LOW_DISK_BYTES = 5 * 1024**3
PROGRAM_WAIT_S = 10

EXTRAS = {
    "curation": ("markdown_it", "docutils"),
    "annotation": ("label_studio_sdk", "pandas"),
    "release": ("datasets", "pandas"),
}


class Finding(Part):
    """One thing looked for."""

    what: str
    state: Literal["present", "missing", "limited"]
    found: str = ""
    remedy: str = ""
    required: bool = False
    """True where nothing works without it."""


def examine(folder: Path) -> list[Finding]:
    """Look for everything, in the order in which a new user needs it; ``folder``: whose disk is looked at."""
    return [
        Finding(what="Python", state="present", found=platform.python_version(), required=True),
        _program("git", "apt-get install git", required=True),
        _docker(),
        _control_groups(),
        _program("bwrap", "apt-get install bubblewrap"),
        _program("mmdebstrap", "apt-get install mmdebstrap (only for environments whose base is a debian-root)"),
        *(_extra(name, modules) for name, modules in EXTRAS.items()),
        _label_studio(),
        _disk(folder),
        _hub_token(),
    ]


def _program(name: str, remedy: str, required: bool = False) -> Finding:
    path = shutil.which(name)
    if path is None:
        return Finding(what=name, state="missing", remedy=remedy, required=required)
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=PROGRAM_WAIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(what=name, state="missing", found=f"{path} does not run: {error}", remedy=remedy)
    return Finding(what=name, state="present", found=answer.stdout.strip().splitlines()[0], required=required)


def _docker() -> Finding:
    import docker
    from docker.errors import DockerException

    what = "Docker engine"
    try:
        client = docker.from_env(timeout=PROGRAM_WAIT_S)
        try:
            info = client.info()
        finally:
            client.close()
    except DockerException:
        return Finding(
            what=what,
            state="missing",
            remedy="install Docker (docs.docker.com/engine/install), or set DOCKER_HOST to one that runs; "
            "without it, --sandbox bubblewrap",
        )
    lacking = [name for name in ("MemoryLimit", "PidsLimit", "CpuCfsQuota") if not info.get(name)]
    found = f"{info.get('ServerVersion')}, cgroup v{info.get('CgroupVersion', '1')}, {info.get('Driver')}"
    if lacking:
        return Finding(
            what=what,
            state="limited",
            found=f"{found}; cannot enforce {', '.join(lacking)}",
            remedy="enable the cgroup controllers memory, pids and cpu for the engine",
        )
    return Finding(what=what, state="present", found=found)


def _control_groups() -> Finding:
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        controllers = (root / "cgroup.controllers").read_text().split()
        version = "v2"
    else:
        controllers = [name for name in ("memory", "pids", "cpu", "freezer") if (root / name).is_dir()]
        version = "v1"
    if not {"memory", "pids", "cpu"} <= set(controllers):
        return Finding(what="control groups", state="missing", remedy="mount /sys/fs/cgroup with memory, pids and cpu")
    return Finding(what="control groups", state="present", found=f"{version}: {' '.join(controllers)}")


def _extra(name: str, modules: tuple[str, ...]) -> Finding:
    missing = [module for module in modules if find_spec(module) is None]
    what = f"extra [{name}]"
    if missing:
        return Finding(
            what=what,
            state="missing",
            found=f"without {', '.join(missing)}",
            remedy=f"pip install 'benchwright[{name}]'",
        )
    return Finding(what=what, state="present")


def _label_studio() -> Finding:
    what = "Label Studio"
    if url := os.environ.get("LABEL_STUDIO_URL"):
        return Finding(what=what, state="present", found=f"{url} (from LABEL_STUDIO_URL)")
    program = cache_dir() / "label-studio" / "venv" / "bin" / "label-studio"
    if program.exists():
        return Finding(what=what, state="present", found=str(program.parent.parent))
    return Finding(what=what, state="missing", remedy="benchwright annotate up installs it into the cache folder")


def _disk(folder: Path) -> Finding:
    place = next(p for p in (folder.resolve(), *folder.resolve().parents) if p.exists())
    free = shutil.disk_usage(place).free
    found = f"{free / 1024**3:.1f} GiB free at {place}"
    if free < LOW_DISK_BYTES:
        return Finding(
            what="disk space", state="limited", found=found, remedy="environments need several GiB: free some"
        )
    return Finding(what="disk space", state="present", found=found)


def _hub_token() -> Finding:
    from huggingface_hub import get_token

    if get_token():
        return Finding(what="Hub token", state="present", found="present")
    return Finding(what="Hub token", state="missing", remedy="hf auth login, or set HF_TOKEN; needed only to publish")
