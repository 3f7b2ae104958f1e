"""Evaluating needs only the base installation."""

from __future__ import annotations

import json
import subprocess
import sys

EXTRAS = ("datasets", "docutils", "label_studio_sdk", "markdown_it", "mlcroissant", "numpy", "pandas", "ray")
PROGRAM = f"""
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Refuse())
from benchwright.core.cli import main
main()
"""


def test_evaluating_and_reporting_need_no_extra(make_row, write_rows, tmp_path):
    rows = write_rows([make_row(1)])
    predictions = tmp_path / "predictions.jsonl"
    predictions.write_text(json.dumps({"github_id": 31, "id": 1, "output": ["python train.py --lr 0.5 --epochs 3"]}))
    for words in (
        ["evaluate", rows, predictions, "--no-execute", "-o", tmp_path / "run"],
        ["report", tmp_path / "run", "--html", tmp_path / "report.html"],
    ):
        command = [sys.executable, "-c", PROGRAM, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "report.html").stat().st_size > 10_000
