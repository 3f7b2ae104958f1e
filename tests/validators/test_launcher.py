"""The launcher under every Python this machine has: it must run in any image with a Python from 3.8 on."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from benchwright.core.models import Limits
from benchwright.validators.sandbox import Run, System
from benchwright.validators.sandbox.messages import Keeper, launcher, message, observe

NAMES = [f"python3.{minor}" for minor in range(8, 16)]
FOUND = {
    os.path.realpath(path)
    for name in NAMES
    for path in (shutil.which(name), *glob.glob(str(Path.home() / f".pyenv/versions/*/bin/{name}")))
    if path and "shims" not in path
}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("python", sorted(FOUND))
def test_it_watches_a_script_under_this_python(python: str, compiled: bool, tmp_path: Path) -> None:
    system = System("any", "0", Path("/"), python, None, "", "")
    script = b"python3 absent.py | cat\nsleep 9 &\necho said\n"
    run = Run(system, script, "bash", Limits(timeout_s=20))
    told = message(run, "test", work=str(tmp_path / "work"), disk="", home=str(tmp_path / "home"))
    program = launcher(python, compiled=compiled)
    answer = subprocess.run(program.command, input=program.code + told, capture_output=True)
    seen = observe(answer.stderr.decode(), Keeper(), 0.0)
    assert seen.finished, answer.stderr
    assert seen.failed_entry is not None
    assert seen.failed_entry[0] == 2
    assert (seen.shell_status, seen.background_left, seen.entries_ended) == (0, 1, 1)
    assert answer.stdout.endswith(b"said\n")
