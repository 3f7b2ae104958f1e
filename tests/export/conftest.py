"""A small benchmark of our own: two repositories that exist nowhere, rows with every kind of white space."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from benchwright.core.models import Repository
from benchwright.core.workspace import Workspace

ORACLE = "Train it\n\n```bash\npython train.py --lr 0.1\n```\n"
MakeRow = Callable[..., dict[str, Any]]


@pytest.fixture
def make_row() -> MakeRow:
    def make(number: int = 1, github_id: int = 31, **changes: Any) -> dict[str, Any]:
        name = {31: "kettle", 32: "lantern"}[github_id]
        return {
            "github_id": github_id,
            "github": f"https://example.org/{name}s/{name}",
            "repo_id": number,
            "path": "./",
            "arguments": "{'lr': '0.5', 'epochs': 3}",
            "instruction": f"Please train the {name} for three epochs at rate 0.5 ({number}).",
            "oracle": ORACLE,
            "type": "Bash Script",
            "id": number,
            "prefix_code": "",
            "output": "python train.py --lr 0.5 --epochs 3",
            **changes,
        }

    return make


@pytest.fixture
def awkward_rows(make_row: MakeRow) -> list[dict[str, Any]]:
    """Not sorted; text that a careless writer would change."""
    return [
        make_row(7, 32, path="./demo/", oracle="\n  kept\t\r\nas it is \n\n", output=" python a.py \n"),
        make_row(2, arguments='{"lr": "0.5", "note": "é \\u2028 \\"q\\""}', prefix_code="cd x\n\n"),
        make_row(1, repo_id=40, arguments="{'lr':   '0.5'}", instruction="a\x00b\x1f \ufeff end "),
        make_row(3, type="Python Code", output="import kettle\nkettle.boil(1)\n", arguments="{}"),
        make_row(9, 32, arguments="{'lr': 0.10, 'layers': (1, 2), 'deep': None}"),
        make_row(4, path="./a b/ü'\"/", oracle="", output='python train.py --name "two words" --lr 0.5'),
    ]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace that knows both repositories."""
    repositories = [
        Repository(
            name=name, url=f"https://example.org/{name}s/{name}", commit=digit * 40, github_id=number, license=lic
        )
        for name, digit, number, lic in (("kettle", "a", 31, "MIT"), ("lantern", "b", 32, "Apache-2.0"))
    ]
    made = Workspace.create(tmp_path / "small-bench", repositories)
    with open(made.config_path, "a", encoding="utf-8") as config:
        config.write('\n[check.accept]\nBW201 = "the rows are about writing text down, not about what it says"\n')
    return Workspace(made.root)


@pytest.fixture
def write_rows(tmp_path: Path) -> Callable[..., Path]:
    def write(rows: Iterable[dict[str, Any]], name: str = "rows.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write
