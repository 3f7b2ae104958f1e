"""A small workspace of our own with a release to publish, and ``benchwright`` run as a user's process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchwright.core.models import Example, Repository, RepositoryRef, Task
from benchwright.core.tasks import write_task
from benchwright.core.workspace import Workspace
from benchwright.export.release import build_release

TOKEN = "hf_writer"
PROGRAM = (sys.executable, "-P", "-c", "from benchwright.core.cli import main; main()")
COMMIT = "5" * 40


@dataclass
class Publisher:
    """A workspace, and the surroundings in which it publishes."""

    workspace: Workspace
    env: dict[str, str]
    output: str = ""
    """Everything the commands ever printed."""

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [*PROGRAM, "--workspace", str(self.workspace.root), "--json", *arguments]
        return subprocess.Popen(
            command, env=self.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )

    def run(self, *arguments: str, expect: int = 0, started: Callable[[int], None] | None = None) -> dict[str, Any]:
        process = self.start(*arguments)
        if started:
            started(process.pid)
        out, err = process.communicate(timeout=300)
        self.output += out + err
        assert process.returncode == expect, (process.returncode, err[-3000:])
        text = out if process.returncode == 0 else err.splitlines()[-1] if expect > 0 else "{}"
        value: dict[str, Any] = json.loads(text)
        return value

    def publish(self, *arguments: str, expect: int = 0, started: Callable[[int], None] | None = None) -> dict[str, Any]:
        return self.run("release", "publish", *arguments, expect=expect, started=started)

    def receipt(self, tag: str = "v0.1.0") -> dict[str, Any]:
        path = self.workspace.root / "releases" / "receipts" / f"{tag}.json"
        value: dict[str, Any] = json.loads(path.read_text())
        return value

    def release(self) -> Path:
        return build_release(Workspace(self.workspace.root)).folder

    def configure(self, old: str, new: str) -> None:
        path = self.workspace.config_path
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        self.workspace = Workspace(self.workspace.root)


def make_publisher(
    root: Path, url: str, *, xet: bool, token: str = TOKEN, repository: str = "tester/pocket"
) -> Publisher:
    """A workspace ``pocket`` with a dozen examples in two splits, built as version 0.1.0."""
    known = Repository(name="adder", url="https://example.org/o/adder", commit=COMMIT, github_id=1, license="MIT")
    workspace = Workspace.create(root / "pocket", [known])
    reference = RepositoryRef(name="adder", github_id=1, url=known.url, commit=COMMIT, license="MIT")
    task = Task(name="add", repository=reference, type="Bash Script")
    write_task(workspace, task, "# Adder\n\nRun `python add.py A B`.\n", [example(i) for i in range(1, 13)])
    (workspace.splits_dir).mkdir(exist_ok=True)
    (workspace.splits_dir / "quarter.txt").write_text("adder/3\nadder/1\nadder/2\n")
    keep = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    env = {
        **keep,
        "HF_ENDPOINT": url,
        "HF_HOME": str(root / "home"),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_UPDATE_CHECK": "1",
        "HF_TOKEN": token,
        **({} if xet else {"HF_HUB_DISABLE_XET": "1"}),
    }
    publisher = Publisher(workspace, env)
    publisher.configure('# repository = "owner/name"', f'repository = "{repository}"')
    publisher.release()
    return publisher


def example(number: int, output: str | None = None) -> Example:
    return Example(
        id=number,
        type="Bash Script",
        instruction=f"Add {number} and {number * number}, and print the sum.",
        arguments={"a": number, "b": number * number},
        output=output or f"python add.py {number} {number * number}",
    )
