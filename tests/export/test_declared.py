"""What cards declare: whatever a hand or the Hub made of them ends in an error that names the field."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.export.declared import DataFiles, configurations, infos
from benchwright.export.hub.folder import read_release
from benchwright.export.release.verify import check_release

SHAPES = {
    "configs: 3": "configs",
    "configs: {a: 1}": "configs",
    "configs: [3]": "configs: 0",
    "configs: [{config_name: [1]}]": "config_name",
    "configs: [{default: [1]}]": "default",
    "configs: [{data_files: [{split: full}]}]": "path",
    "configs: [{data_files: [{split: {a: 1}, path: a}]}]": "split",
    "configs: [{data_files: [{split: full, path: {a: 1}}]}]": "path",
    "dataset_info: 3": "dataset_info",
    "dataset_info: [{features: 3}]": "features",
    "dataset_info: [{splits: [{name: full, num_examples: many}]}]": "num_examples",
    "dataset_info: {dataset_size: [1]}": "dataset_size",
    "made: 2001-99-99": "no YAML",
    "a: [" * 3000: "no YAML",
    "- a": "no mapping",
}


def card(folder: Path, metadata: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "README.md").write_text(f"---\n{metadata}\n---\n")
    return folder


@pytest.mark.parametrize("metadata", SHAPES, ids=lambda text: text[:50])
def test_a_card_of_any_other_shape_is_refused_by_the_name_of_the_field(tmp_path: Path, metadata: str) -> None:
    folder = card(tmp_path / "set", metadata)
    with pytest.raises(BenchwrightError, match=SHAPES[metadata]) as caught:
        (configurations(folder), infos(folder))
    assert (caught.value.where, bool(caught.value.remedy)) == (str(folder / "README.md"), True)
    assert any(SHAPES[metadata] in problem.message for problem in check_release(folder))
    with pytest.raises(BenchwrightError):
        read_release(folder, "1.0.0")


def test_numbers_may_name_splits_and_fields_of_others_are_no_matter(tmp_path: Path) -> None:
    folder = card(tmp_path / "set", "configs: [{config_name: 1, more: x, data_files: [{split: 2, path: [a, b]}]}]")
    (found,) = configurations(folder)
    assert (found.config_name, found.data_files) == ("1", [DataFiles(split="2", path=["a", "b"])])


@pytest.mark.parametrize("pattern", ["../*", "data/../../*", "/etc/*", "", "~/*"])
def test_a_card_names_no_file_outside_its_folder(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "outside.parquet").write_text("not for you")
    folder = card(tmp_path / "set", "a: 1")
    assert DataFiles(split="full", path=[pattern]).found(folder) == []
