"""Label Studio in a virtual environment of its own: it pins libraries that nothing else could live with.

``data/label-studio.lock`` names every library it needs with its hashes, and no index: each machine gets the same.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.resources import as_file, files
from pathlib import Path
from typing import IO

from filelock import FileLock

from ..core.errors import InfrastructureError
from ..core.files import atomic_write
from ..core.progress import Reporter
from ..core.workspace import cache_dir

__all__ = ["VERSION", "ensure_installed"]

VERSION = "1.23.2"
"""The release that goes with the SDK of the extra ``[annotation]``; ``make lock`` resolves its lock file anew."""

LOCK = "data/label-studio.lock"

SAY_EVERY_S = 10.0


def ensure_installed(reporter: Reporter) -> Path:
    """The folder of the virtual environment that holds Label Studio, installed first if it is not there.

    The mark that an installation is whole is written last, so that one cut off by a kill is done again.

    Raises:
        InfrastructureError: pip failed; its last words are given.
    """
    home = cache_dir() / "label-studio"
    venv, mark = home / "venv", home / "venv" / f".label-studio-{VERSION}"
    if mark.exists():
        return venv
    home.mkdir(parents=True, exist_ok=True)
    with FileLock(home / "install.lock"):
        if not mark.exists():
            if not _is_whole(venv):
                _install(venv, reporter)
            atomic_write(mark, "")
    return venv


def _is_whole(venv: Path) -> bool:
    """True where someone installed the right release by other means, with all it needs."""
    python = venv / "bin" / "python"
    if not python.exists() or not (venv / "bin" / "label-studio").exists():
        return False
    program = "import importlib.metadata as m, sys; sys.exit(m.version('label-studio') != sys.argv[1])"
    return all(
        subprocess.run([python, "-P", *words], env=_environment(), capture_output=True).returncode == 0
        for words in (("-c", program, VERSION), ("-m", "pip", "check"))
    )


def _install(venv: Path, reporter: Reporter) -> None:
    reporter.say(f"installing Label Studio {VERSION} into {venv} (about 1 GB, two to three minutes) ...")
    shutil.rmtree(venv, ignore_errors=True)
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log,
        as_file(files(__package__) / LOCK) as lock,
    ):
        quiet = ("--disable-pip-version-check", "--progress-bar=off")
        for words in (
            ("-m", "venv", str(venv)),
            ("-m", "pip", "install", *quiet, "--require-hashes", "-r", str(lock)),
        ):
            python = sys.executable if words[1] == "venv" else str(venv / "bin" / "python")
            _run([python, *words], log, reporter)


def _run(command: list[str], log: IO[str], reporter: Reporter) -> None:
    started = said = time.monotonic()
    process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=_environment())
    try:
        while process.poll() is None:
            time.sleep(0.2)
            if time.monotonic() - said > SAY_EVERY_S:
                said = time.monotonic()
                reporter.say(f"  {said - started:4.0f} s  {_last_line(log)}")
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    if process.returncode != 0:
        log.seek(0)
        tail = " | ".join(line.strip() for line in log.readlines()[-5:])
        raise InfrastructureError(
            f"installing Label Studio failed: {tail[-600:]}",
            where=" ".join(command[1:4]),
            remedy="see that pip reaches its package index and the disk has 2 GB free, then run it again",
        )


def _last_line(log: IO[str]) -> str:
    lines = Path(f"/proc/self/fd/{log.fileno()}").read_text("utf-8", errors="replace").splitlines()
    return lines[-1].strip()[:100] if lines else "starting"


def _environment() -> dict[str, str]:
    """This process's, without what would make the other Python import from here."""
    keep = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return {**keep, "PYTHONSAFEPATH": "1"}
