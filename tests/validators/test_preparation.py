"""Prefix code is shell; what it installs is the environment's matter."""

import subprocess
from pathlib import Path

import pytest

from benchwright.validators.preparation import with_prefix, without_installs


@pytest.mark.parametrize(
    ("prefix", "left"),
    [
        ("pip install numpy\nexport A=1", "export A=1"),
        ("sudo apt-get install -y \\\n  ffmpeg\ncd src", "cd src"),
        ("python -m pip install -e .", ""),
        ("pip install numpy && cd src", "pip install numpy && cd src"),
        ("echo 'pip install x' > notes.txt", "echo 'pip install x' > notes.txt"),
        ("", ""),
    ],
)
def test_only_lines_that_do_nothing_but_install_are_left_out(prefix: str, left: str) -> None:
    assert without_installs(prefix) == left


def test_a_snippet_without_preparation_stays_python() -> None:
    assert with_prefix("pip install tallybox\n", "print(1)", "Python Code") == ("print(1)", "python3")


def test_a_snippet_starts_where_and_with_what_its_prefix_left(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    code = "import os, sys\nprint(os.path.basename(os.getcwd()), os.environ['SIZE'], 'END-\\'$x`')\nsys.exit(3)"
    script, interpreter = with_prefix("cd src\nexport SIZE=4\n", code, "Python Code")
    done = subprocess.run([interpreter, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (3, "src 4 END-'$x`\n", "")


def test_a_command_follows_its_prefix_in_one_shell() -> None:
    script, interpreter = with_prefix("export DATA=d\n\n", "python train.py $DATA", "Bash Script")
    assert (script, interpreter) == ("export DATA=d\npython train.py $DATA", "bash")
