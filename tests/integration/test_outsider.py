"""The path of somebody who has nothing of ours: the release's own lines, from the Hub to a score."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.core.models import Example, Repository, RepositoryRef, Task
from benchwright.core.tasks import write_task
from benchwright.core.workspace import Workspace

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


def commands_of(readme: str) -> list[str]:
    """The lines to type, as the page has them."""
    (block,) = re.findall(r"^```bash\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    return [line for line in block.splitlines() if line.strip()]


def make_repository(folder: Path) -> str:
    """``o/adder`` with a program of two flags; its commit."""
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("# Adder\n\nRun `python add.py --a A --b B`.\n")
    (folder / "add.py").write_text(
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--a', type=int)\n"
        "parser.add_argument('--b', type=int)\ngiven = parser.parse_args()\nprint(given.a + given.b)\n"
    )
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", "-C", str(folder), *command], check=True)
    head = subprocess.run(["git", "-C", str(folder), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return head.stdout.strip()


def add_task(workspace: Workspace, commit: str) -> None:
    known = Repository(name="sums", url="https://github.com/o/adder", commit=commit, github_id=2, license="MIT")
    workspace.save_repositories([*workspace.repositories(), known])
    reference = RepositoryRef(name="sums", github_id=2, url=known.url, commit=commit, license="MIT")
    examples = [
        Example(
            id=number,
            type="Bash Script",
            instruction=f"Add {number} and 1 with the repository's program.",
            arguments={"a": number, "b": 1},
            output=f"python add.py --a {number} --b 1",
        )
        for number in (101, 102)
    ]
    write_task(workspace, Task(name="add", repository=reference, type="Bash Script"), "Run add.py.\n", examples)


def test_the_releases_own_lines_lead_from_the_hub_to_a_score_in_a_fresh_environment(
    start_hub: Callable[..., Any], make_publisher: Callable[..., Any], tmp_path: Path
) -> None:
    publisher = make_publisher(start_hub())
    commit = make_repository(tmp_path / "git" / "o+adder")
    for folder in publisher.workspace.tasks_dir.iterdir():
        shutil.rmtree(folder)
    for path in publisher.workspace.splits_dir.iterdir():
        path.unlink()
    add_task(publisher.workspace, commit)
    publisher.release()
    publisher.publish()

    home = tmp_path / "outsider"
    home.mkdir()
    answers = ({"github_id": 2, "id": 101, "output": ["python add.py --a 101 --b 1"]},
               {"github_id": 2, "id": 102, "output": ["I would add them by hand."]})  # fmt: skip
    (home / "predictions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in answers))
    kept = ("PATH", "HOME", "LANG", "DOCKER_HOST", "BENCHWRIGHT_CACHE", "XDG_CACHE_HOME", "PIP_INDEX_URL")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    env |= {name: value for name, value in publisher.env.items() if name.startswith("HF_")}
    env |= {
        "HF_HOME": str(tmp_path / "outsiders-hub"),
        "BENCHWRIGHT_MIRROR": f"file://{tmp_path}/git/{{owner}}+{{name}}",  # instead of github.com
        "BENCHWRIGHT_EVALUATE_SANDBOX": "bubblewrap",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_COMPILE": "1",  # saves a test some seconds
    }
    card = (publisher.workspace.root / "releases" / "0.1.0" / "README.md").read_text()
    commands = commands_of(card.partition("## Scoring\n")[2].partition("\n## ")[0])
    assert commands == commands_of(
        (publisher.workspace.root / "releases" / "0.1.0" / "runner" / "README.md").read_text()
    )
    printed = ""
    for command in commands:
        done = subprocess.run(["bash", "-c", command], cwd=home, env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-3000:])
        printed = done.stdout
    assert "0.5" in printed or "50" in printed, printed
    report = json.loads((home / "run" / "report.json").read_text())
    strict = report["protocols"]["strict"]
    assert strict["examples"] == {"release": 2, "gold_passes_here": 2, "graded": 2}
    assert strict["pass_at_k"]["1"]["value"] == 0.5
    runner = json.loads((home / "pocket" / "runner" / "runner.json").read_text())
    assert report["provenance"]["protocol_versions"] == runner["protocols"]
    assert report["provenance"]["toolkit"] == runner["toolkit"]["version"]
