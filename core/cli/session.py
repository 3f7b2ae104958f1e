"""What the global options say, given to every command as the context's object."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..progress import Reporter

if TYPE_CHECKING:
    from ..workspace import Workspace

__all__ = ["Session", "session_of"]


@dataclass(frozen=True)
class Session:
    """The global options of one call of ``benchwright``."""

    workspace_dir: Path | None = None
    mirrors: tuple[str, ...] = ()
    reporter: Reporter = field(default_factory=Reporter)

    def workspace(self) -> Workspace:
        """The workspace the options name, else the nearest one upwards."""
        from ..workspace import Workspace

        return Workspace.find(self.workspace_dir)

    def mirrors_of(self, workspace: Workspace) -> tuple[str, ...]:
        """Mirror templates in the order to try them: the options' first, then the configuration's."""
        return (*self.mirrors, *workspace.config.mirrors)


def session_of(context: typer.Context) -> Session:
    """The session that the root command put into the context."""
    session = context.find_root().obj
    assert isinstance(session, Session)
    return session
