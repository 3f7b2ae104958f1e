"""``repos``, ``curate`` and ``candidates`` as a user calls them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchwright.core.cli import app
from benchwright.core.errors import BenchwrightError
from benchwright.core.workspace import Workspace

FILES = {
    "README.md": "# Bird\n\n```bash\npython fly.py --high 3\n```\n\n```python\nimport bird\nbird.go()\n```\n",
    "fly.py": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--high', type=int)\np.parse_args()\n",
    "bird.py": "def go():\n    pass\n",
}


@pytest.fixture
def call(make_repository: Callable[..., tuple[Path, str]], workspace: Workspace, tmp_path: Path) -> Callable[..., str]:
    make_repository("bird", FILES)
    mirror = f"file://{tmp_path}/origins/{{owner}}/{{name}}"

    def run(*arguments: str) -> str:
        options = ("--workspace", str(workspace.root), "--mirror", mirror, "--quiet")
        result = CliRunner().invoke(app, [*options, *arguments], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


def test_a_repository_is_added_curated_listed_shown_and_exported(call: Callable[..., str], tmp_path: Path) -> None:
    call("repos", "add", "https://example.org/own/bird", "--commit", "main")
    assert "no licence" not in call("repos", "list")
    call("curate", "--jobs", "1")
    listed = json.loads(call("--json", "candidates", "list", "--type", "bash"))
    assert [item["output"] for item in listed] == ["python fly.py --high 3"]
    shown = call("candidates", "show", listed[0]["id"])
    assert "--high" in shown
    assert "fly.py:3" in shown
    assert "tokens (cl100k_base); --context shows them" in shown
    context = call("candidates", "show", listed[0]["id"], "--context")
    assert "add_argument" in context
    assert "flags of fly.py" in context
    whole = json.loads(call("--json", "candidates", "show", listed[0]["id"]))
    assert [(slot["name"], slot["value"], slot["values"]) for slot in whole["slots"]] == [("high", 3, [4, 5])]
    assert 0 < whole["context_size"]["tokens"] <= whole["context_size"]["budget"] == 4000
    call("candidates", "export", "-o", str(tmp_path / "out.jsonl"))
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert [line["type"] for line in lines] == ["Bash Script", "Python Code"]
    wanted = (
        "id digest repository source type path entry_point output arguments oracle oracle_scopes prefix_code context"
        " score also_at"
    )
    assert set(wanted.split()) <= set(lines[0])
    assert set(lines[0]["repository"]) == {"name", "github_id", "url", "commit", "license"}
    assert "def go" in json.dumps(lines[1]["context"])


def test_a_name_that_is_not_registered_is_an_error(call: Callable[..., str]) -> None:
    for command in (("curate", "eagle"), ("candidates", "list", "eagle"), ("candidates", "export", "eagle")):
        with pytest.raises(BenchwrightError, match="not registered"):
            call(*command)


def test_a_list_says_what_each_candidate_does_and_why_it_may_be_empty(call: Callable[..., str]) -> None:
    call("repos", "add", "https://example.org/own/bird", "--commit", "main")
    assert "run benchwright curate" in call("candidates", "list")
    call("curate", "--jobs", "1")
    shown = call("candidates", "list")
    assert "python fly.py --high 3" in shown
    assert "bird.go()" in shown  # what the snippet does, not what it imports
    assert "run benchwright curate" in call("candidates", "list", "--document", "docs/none.md")
