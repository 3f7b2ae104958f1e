"""A release named by its Hub id and tag: imported again, compared and scored, against a local double of the Hub."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


def test_a_release_on_the_hub_is_compared_scored_and_imported_by_its_tag(
    start_hub: Callable[..., Any], make_publisher: Callable[..., Any], tmp_path: Path
) -> None:
    publisher = make_publisher(start_hub())
    publisher.publish()
    folder = publisher.workspace.root / "releases" / "0.1.0"
    same = publisher.run("release", "diff", "tester/pocket@v0.1.0", str(folder))
    assert same == {"added": [], "removed": [], "changed": [], "splits": {}}

    predictions = tmp_path / "predictions.jsonl"
    predictions.write_text(json.dumps({"github_id": 1, "id": 1, "output": ["python add.py 1 1"]}) + "\n")
    run = tmp_path / "run"
    report = publisher.run(
        "evaluate", "tester/pocket@v0.1.0", str(predictions), "--no-execute", "--limit", "2", "-o", str(run)
    )
    assert report["protocols"]["strict"]["examples"]["release"] == 12
    assert report["provenance"]["release"]["name"] == "tester/pocket@v0.1.0"
    assert len(report["provenance"]["release"]["revision"]) == 40

    examples = publisher.workspace.tasks_dir / "adder" / "add" / "examples.jsonl"
    before = examples.read_text()
    done = publisher.run("tasks", "import", "tester/pocket@v0.1.0")
    assert (done["rows"], done["added"]) == (12, 0)
    assert examples.read_text() == before


def test_a_tag_that_is_not_there_is_said_so(start_hub: Callable[..., Any], make_publisher: Callable[..., Any]) -> None:
    publisher = make_publisher(start_hub())
    publisher.publish()
    error = publisher.run("tasks", "import", "tester/pocket@v9.9.9", expect=2)
    assert "no such dataset or tag" in error["error"]["message"]
    error = publisher.run("tasks", "import", "tester/nowhere", expect=2)
    assert "no such dataset or tag" in error["error"]["message"]


def test_a_release_on_the_hub_is_checked_by_the_same_rules_as_its_folder(
    start_hub: Callable[..., Any], make_publisher: Callable[..., Any]
) -> None:
    publisher = make_publisher(start_hub())
    publisher.publish()
    folder = publisher.workspace.root / "releases" / "0.1.0"
    local = publisher.run("check", str(folder))
    there = publisher.run("check", "tester/pocket@v0.1.0")
    assert [finding for finding in there if "id" in finding] == [finding for finding in local if "id" in finding]
    error = publisher.run("check", "tester/pocket@v0.1.0", "--fix", expect=2)
    assert "tester/pocket" in json.dumps(error)
