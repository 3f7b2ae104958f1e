"""Errors a user can act on: what happened, where, and the command or edit that mends it.

Everything raised on purpose derives from :class:`BenchwrightError`; the command line prints it without a
traceback and exits with its ``exit_code`` (1: problems found; 2: usage, prerequisite or infrastructure).
"""

from __future__ import annotations

import importlib.util

__all__ = [
    "BenchwrightError",
    "InfrastructureError",
    "PrerequisiteError",
    "ProblemsFoundError",
    "require_extra",
]


class BenchwrightError(Exception):
    """A mistake or condition the user can mend.

    ``message`` says what is wrong, ``where`` names the file, line, field or item, ``remedy`` the command or
    edit that mends it. None of them may contain a secret.
    """

    exit_code = 2

    def __init__(self, message: str, *, where: str | None = None, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\n  to mend it: {self.remedy}" if self.remedy else text


class ProblemsFoundError(BenchwrightError):
    """The work was done and found something wrong with the user's material (exit code 1)."""

    exit_code = 1


class PrerequisiteError(BenchwrightError):
    """Something the command needs is not there: a program, an extra, a token."""


class InfrastructureError(BenchwrightError):
    """A service or the machine failed, not the material: engine gone, disk full, server unreachable."""


def require_extra(extra: str, *modules: str) -> None:
    """Raise :class:`PrerequisiteError` naming the extra to install if one of ``modules`` cannot be imported."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise PrerequisiteError(
            f"this needs {', '.join(missing)}, which the base installation leaves out",
            remedy=f"pip install 'benchwright[{extra}]'",
        )
