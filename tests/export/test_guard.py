"""The rules of ``check`` before a release: what they call an error stops it, and a decision lets it pass."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.core.progress import Reporter
from benchwright.core.workspace import Workspace
from benchwright.export.checksums import write_sums
from benchwright.export.dataset import open_dataset
from benchwright.export.hub import publish_release
from benchwright.export.importer import import_dataset
from benchwright.export.release import build_release
from benchwright.export.release.parquet import ROW_DTYPES, write_parquet

TOKEN = "hf_" + "a1B2c3D4e5" * 4


@pytest.fixture
def fill(tmp_path: Path, workspace: Workspace, make_row: Callable[..., dict[str, Any]]) -> Callable[..., Workspace]:
    """``fill(changes...)``: a workspace with one good example and one for each of the changes, nothing accepted."""

    def filled(*changes: dict[str, Any]) -> Workspace:
        rows = [make_row(1), *(make_row(number, **change) for number, change in enumerate(changes, 2))]
        path = tmp_path / "full.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        text = workspace.config_path.read_text().partition("[check.accept]")[0]
        workspace.config_path.write_text(text)
        made = Workspace(workspace.root)
        import_dataset(made, open_dataset(str(path)))
        return made

    return filled


def decide(workspace: Workspace, line: str) -> Workspace:
    with open(workspace.config_path, "a", encoding="utf-8") as config:
        config.write(f"\n[check.accept]\n{line}\n")
    return Workspace(workspace.root)


def test_what_has_no_error_is_built_and_its_warnings_are_told(fill, tmp_path):
    built = build_release(fill({"instruction": "Train it at 0.5 for a while."}), tmp_path / "out")
    assert built.checked.accepted == {}
    assert built.checked.value()["findings"]["BW203"] == 1
    assert any(line.startswith("BW203 warning, 1 times") for line in built.checked.lines())


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"arguments": "{'lr': '0.4', 'epochs': 3}"}, "BW201"),
        ({"output": f"export HF_TOKEN={TOKEN}\npython train.py --lr 0.5 --epochs 3"}, "BW601"),
        ({"arguments": "{'lr': '0', 'epochs': 3}", "instruction": "Three epochs at 0.Nothing else."}, "BW205"),
    ],
)
def test_an_error_stops_the_build_and_leaves_what_was_there(fill, tmp_path, change, rule):
    with pytest.raises(BenchwrightError, match=rule) as raised:
        build_release(fill(change), tmp_path / "out")
    assert "[check.accept]" in (raised.value.remedy or "")
    assert TOKEN not in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_a_decision_in_the_file_or_on_the_command_lets_that_rule_pass(fill, tmp_path):
    faulty = fill({"arguments": "{'lr': '0.4', 'epochs': 3}", "instruction": "Rate 0.4, three epochs."})
    assert build_release(faulty, tmp_path / "a", accept=["BW201"]).checked.accepted == {"BW201": "--accept"}
    with pytest.raises(BenchwrightError, match="BW201"):
        build_release(faulty, tmp_path / "b", accept=["BW601"])
    decided = decide(faulty, 'BW201 = "shown as a bad example"')
    assert build_release(decided, tmp_path / "c").checked.accepted == {"BW201": "shown as a bad example"}


@pytest.mark.parametrize(
    ("line", "message"),
    [('BW201 = " "', "no reason is given for BW201"), ('BW999 = "why not"', "there is no rule BW999")],
)
def test_a_decision_without_reason_or_rule_is_refused(fill, tmp_path, line, message):
    with pytest.raises(BenchwrightError, match=message):
        build_release(decide(fill(), line), tmp_path / "out")


def test_a_faulty_release_is_not_published_whoever_built_it(fill, make_row, tmp_path):
    made = fill()
    folder = build_release(made).folder
    (data,) = (folder / "data").glob("full-*.parquet")
    rows = [row.values() for row in open_dataset(str(folder)).rows("full")]
    rows[0]["arguments"] = "{'lr': '0.4', 'epochs': 3}"
    write_parquet(data, ROW_DTYPES, rows)
    (folder / "SHA256SUMS").unlink()
    write_sums(folder)
    with pytest.raises(BenchwrightError, match="BW201"):
        publish_release(made, reporter=Reporter(quiet=True), dry_run=True)
    with pytest.raises(BenchwrightError, match="no dataset is named to publish to"):  # the next thing to be asked
        publish_release(made, reporter=Reporter(quiet=True), accept=["BW201"])
