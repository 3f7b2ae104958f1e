"""Sandboxes: where a script is executed without being able to do harm or to deceive.

Comes in: a ``Run`` (a script, its work area, its limits). Goes out: an ``Observation``. Open ``contract.py`` first,
then ``launcher/`` (what starts and
watches a script), ``docker.py`` and ``bubblewrap.py``.
"""

from __future__ import annotations

from ...core.errors import BenchwrightError, PrerequisiteError
from .contract import Capabilities, Observation, Run, Sandbox, System

__all__ = ["NAMES", "Capabilities", "Observation", "Run", "Sandbox", "System", "available_sandboxes", "open_sandbox"]

NAMES = ("docker", "bubblewrap", "process")


def open_sandbox(name: str | None = None, workers: int = 1) -> Sandbox:
    """The sandbox of that name; None: Docker. A weaker one is never chosen for the user.

    Raises:
        PrerequisiteError: it cannot be had here; the alternatives are named.
        BenchwrightError: there is no sandbox of that name.
    """
    if name in (None, "docker"):
        from .docker import DockerSandbox

        return DockerSandbox(ahead=workers)
    if name == "bubblewrap":
        from .bubblewrap import BubblewrapSandbox

        return BubblewrapSandbox(workers)
    if name == "process":
        from .process import ProcessSandbox

        return ProcessSandbox()
    raise BenchwrightError(f"there is no sandbox {name}", remedy=f"name one of {', '.join(NAMES)}")


def available_sandboxes() -> list[str]:
    """What can be had on this machine, the strongest first. ``process`` is always there, and isolates nothing."""
    found = []
    for name in NAMES:
        try:
            with open_sandbox(name):
                found.append(name)
        except PrerequisiteError:
            continue
    return found
