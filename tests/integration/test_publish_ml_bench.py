"""ML-Bench's published rows as a release: two versions through the Hub and back, and their gold scored from there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.core.workspace import Workspace

from .hub_reader import REPOSITORY, load, rename_configuration

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.mark.parametrize("xet", [False, True], ids=["lfs", "xet"])
def test_the_published_rows_come_back_value_for_value_and_can_be_scored(
    xet: bool, start_hub: Callable[..., Any], make_publisher: Callable[..., Any], tmp_path: Path
) -> None:
    """ML-Bench's rows through a release, the Hub and back; then an outsider scores their gold from the Hub."""
    published = Path(__file__).parents[3] / "shared" / "data" / "ml-bench" / "rows.jsonl"
    if not published.is_file():
        pytest.skip("the published rows do not lie beside the checkout")
    double = start_hub(xet=xet)
    publisher = make_publisher(double)
    workspace = tmp_path / "ml-bench"
    publisher.run("init", str(workspace), "--preset", "ml-bench")
    publisher.workspace = Workspace(workspace)
    publisher.configure('# repository = "owner/name"', f'repository = "{REPOSITORY}"')
    with open(publisher.workspace.config_path, "a", encoding="utf-8") as config:
        config.write("\n[check.accept]\n" + "".join(f'BW{n} = "as published"\n' for n in (1, 2, 3)))
    publisher.run("tasks", "import", str(published))
    publisher.run("release", "build")
    publisher.publish()
    rows = [json.loads(line) for line in published.read_text("utf-8").splitlines()]
    assert len(rows) == 173
    first = values_at(publisher, tmp_path / "reader", "v0.1.0", "default", rows)
    assert first == rows

    predictions = tmp_path / "gold.jsonl"
    gold = [{"github_id": row["github_id"], "id": row["id"], "output": [row["output"]]} for row in rows]
    predictions.write_text("".join(json.dumps(line) + "\n" for line in gold))
    run = tmp_path / "run"
    publisher.run("evaluate", f"{REPOSITORY}@v0.1.0", str(predictions), "--no-execute", "-o", str(run))
    assert len((run / "results.jsonl").read_text().splitlines()) == 173

    withdrawn, changed = rows[40], rows[90]
    publisher.run("release", "yank", f"{withdrawn['github_id']}/{withdrawn['id']}", "--reason", "a test")
    say_otherwise(publisher.workspace, changed, "In other words: " + changed["instruction"])
    publisher.configure('version = "0.1.0"', 'version = "0.2.0"')
    publisher.run("release", "build")
    rename_configuration(publisher.workspace.root / "releases" / "0.2.0", "data", "tasks")
    publisher.publish()
    expected = [dict(row) for row in rows if row is not withdrawn]
    next(row for row in expected if key_of(row) == key_of(changed))["instruction"] = (
        "In other words: " + changed["instruction"]
    )
    assert values_at(publisher, tmp_path / "second", "v0.2.0", "tasks", expected) == expected
    dataset = double.datasets[REPOSITORY]
    assert not [path for path in dataset.files("main") if path.startswith("data/")]
    assert dataset.files("main") == dataset.files("v0.2.0")
    assert values_at(publisher, tmp_path / "old", "v0.1.0", "default", rows) == rows


def key_of(row: dict[str, Any]) -> tuple[int, int]:
    return row["github_id"], row["id"]


def values_at(publisher: Any, home: Path, tag: str, config: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a reader finds at a tag, in the order of ``rows`` and with their columns; more rows are a failure."""
    loaded = load(publisher, home, tag, config)["full"]
    found = {key_of(row): row for row in loaded}
    assert len(found) == len(loaded) == len(rows)
    return [{name: found[key_of(row)][name] for name in row} for row in rows]


def say_otherwise(workspace: Workspace, row: dict[str, Any], instruction: str) -> None:
    """Change one example's instruction in its task."""
    before, after = (json.dumps(text, ensure_ascii=False) for text in (row["instruction"], instruction))
    changed = 0
    for path in workspace.tasks_dir.rglob("examples.jsonl"):
        lines = path.read_text("utf-8").splitlines(keepends=True)
        for place, line in enumerate(lines):
            if json.loads(line)["id"] == row["id"] and f'"instruction":{before}' in line:
                lines[place] = line.replace(f'"instruction":{before}', f'"instruction":{after}')
                path.write_text("".join(lines), "utf-8")
                changed += 1
    assert changed == 1
