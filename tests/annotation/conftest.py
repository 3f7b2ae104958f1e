"""What tests of annotation share: a workspace with a repository of ours and a task of each type."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchwright.core.models import Example, Repository, RepositoryRef, Task
from benchwright.core.tasks import write_task
from benchwright.core.workspace import Workspace

PROGRAM = """
import argparse
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=0.02, help="learning rate")
p.add_argument("--epochs", type=int, default=4)
p.add_argument("--batch_size", type=int, default=64)
p.add_argument("--corpus", choices=["poems", "letters", "recipes"], default="poems")
p.add_argument("--leaf", default="green")
p.add_argument("--pot", default="iron")
p.add_argument("--num_workers", type=int, default=2)
p.add_argument("--is_fresh", type=int, default=1)
p.add_argument("--out", default="runs/first")
p.parse_args()
"""
LIBRARY = "class Kettle:\n    def __init__(self, litres=1.0, cups=4, label='plain'):\n        self.litres = litres\n"
SNIPPET = "from kettle import Kettle\n\nk = Kettle(litres=2.5, cups=8)\nprint(k.litres)\n"


@pytest.fixture
def bench(workspace: Workspace, tmp_path: Path) -> Workspace:
    """A workspace with one repository of ours and a task of each type."""
    home = tmp_path / "tearoom"
    home.mkdir()
    (home / "brew.py").write_text(PROGRAM)
    (home / "kettle.py").write_text(LIBRARY)
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "All there is"]):
        named = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", "-C", str(home), *named, *words], check=True)
    commit = subprocess.run(["git", "-C", str(home), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    pin = {"url": home.as_uri(), "commit": commit.stdout.strip(), "github_id": 5, "license": "MIT"}
    workspace.save_repositories([Repository.model_validate({"name": "tearoom", **pin})])
    reference = RepositoryRef.model_validate({"name": "tearoom", **pin})
    write_task(
        workspace,
        Task(name="brew", repository=reference, type="Bash Script"),
        "## Brewing poems slowly\n\n`python brew.py`\n",
        [
            Example(
                id=3,
                type="Bash Script",
                instruction="Brew the letters with a learning rate of 0.01, for 8 epochs.",
                arguments={"lr": 0.01, "epochs": 8, "corpus": "letters"},
                output="python brew.py --lr 0.01 --epochs 8 --corpus=letters --batch_size 8",
            )
        ],
    )
    write_task(
        workspace,
        Task(name="pour", repository=reference, type="Python Code"),
        "A kettle is made like this.\n",
        [
            Example(
                id=7,
                type="Python Code",
                instruction="Make a kettle that holds 2.5 litres.",
                arguments={"litres": "2.5"},
                output=SNIPPET,
            )
        ],
    )
    return workspace
