"""What a reader of a published dataset gets, and a release folder whose configuration is called otherwise."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchwright.export.checksums import write_sums

__all__ = ["REPOSITORY", "load", "local", "rename_configuration"]

REPOSITORY = "tester/pocket"
LOAD = """
import datasets, json, sys
datasets.disable_progress_bars()
name, config, revision = sys.argv[1:]
loaded = datasets.load_dataset(name, config, revision=revision)
print(json.dumps({split: rows.to_list() for split, rows in loaded.items()}))
"""


def load(publisher: Any, home: Path, revision: str, config: str = "default") -> dict[str, list[dict[str, Any]]]:
    """What a reader gets, in a process of its own with an empty cache."""
    command = [sys.executable, "-P", "-c", LOAD, REPOSITORY, config, revision]
    env = {**publisher.env, "HF_HOME": str(home)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    rows: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
    return rows


def local(folder: Path, config: str = "data") -> dict[str, list[dict[str, Any]]]:
    return {path.name.split("-")[0]: pq.read_table(path).to_pylist() for path in (folder / config).glob("*.parquet")}


def rename_configuration(folder: Path, old: str, new: str) -> None:
    """Make the folder one that calls its configuration, and its data's folder, otherwise."""
    (folder / old).rename(folder / new)
    card = folder / "README.md"
    text = (
        card.read_text()
        .replace("config_name: default", f"config_name: {new}")
        .replace(f"path: {old}/", f"path: {new}/")
    )
    card.write_text(text)
    write_sums(folder)
