"""What every stage stands on: records on disk, the workspace, its state, errors, progress, the command line.

Comes in: a workspace folder and the user's words. Goes out: checked records (``models``), atomic files (``files``),
one SQLite state (``store``), errors with a remedy (``errors``). It knows no stage, but for ``cli``, the composition
root. Open ``workspace.py`` first (where everything lies), then ``models/`` (what is written), ``tasks.py`` (accepted
tasks and their evidence) and, for a command, ``cli/``.
"""

__all__ = ["toolkit_version"]


def toolkit_version() -> str:
    """The installed version of benchwright; ``0+unknown`` where it runs without being installed."""
    from importlib.metadata import PackageNotFoundError, version  # not needed by --help, and slow to load

    try:
        return version("benchwright")
    except PackageNotFoundError:
        return "0+unknown"
