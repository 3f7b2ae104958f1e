"""A hundred answers over ten entry points of real repositories, judged by a reader before any check had seen them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchwright.curation.presets import preset_repositories
from benchwright.curation.source import PinnedTree, open_tree
from benchwright.validators.arguments import check_arguments

HERE = Path(__file__).parent / "answers"
MIRRORS = Path(__file__).parents[3] / ".mirror"
ENTRIES = {item["entry"]: item for item in json.loads((HERE / "entries.json").read_text())}
ANSWERS = [json.loads(line) for line in (HERE / "answers.jsonl").read_text().splitlines()]

pytestmark = pytest.mark.skipif(not MIRRORS.is_dir(), reason="the repositories are not here")


@cache
def tree_of(name: str) -> PinnedTree:
    (repository,) = [item for item in preset_repositories("ml-bench") if item.name == name]
    return open_tree(repository, Path("/nonexistent"), [f"file://{MIRRORS}/{{owner}}+{{name}}/repo"])


def test_half_of_the_hundred_are_traps() -> None:
    assert (len(ENTRIES), len(ANSWERS), sum(item["accepted"] for item in ANSWERS)) == (10, 100, 50)


@pytest.mark.parametrize("item", ANSWERS, ids=lambda item: f"{item['entry']}-{item['kind']}")
@pytest.mark.parametrize("example", [True, False], ids=["with the example", "by the entry point alone"])
def test_the_verdict_is_the_readers(item: dict[str, Any], example: bool) -> None:
    entry = ENTRIES[item["entry"]]
    verdict = check_arguments(
        item["answer"],
        entry["type"],
        entry["arguments"],
        path=entry["path"],
        files=tree_of(entry["repository"]),
        reference=entry["output"] if example else None,
        entry=None if example else entry["file"],
    )
    assert verdict.accepted == item["accepted"], str(verdict)
