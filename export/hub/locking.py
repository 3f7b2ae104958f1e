"""One publication at a time in a workspace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from ...core.errors import InfrastructureError
from ...core.workspace import Workspace

__all__ = ["publishing"]


@contextmanager
def publishing(workspace: Workspace) -> Iterator[None]:
    """Hold the right to publish from this workspace; a killed process lets go of it.

    Raises:
        InfrastructureError: another process holds it.
    """
    path = workspace.private_dir / "publish.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(path, timeout=0):
            yield
    except Timeout as error:
        raise InfrastructureError(
            "another publication runs in this workspace", where=str(path), remedy="wait for it to end"
        ) from error
