from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.core.tasks import load_tasks, write_task
from benchwright.core.workspace import Workspace
from benchwright.export import COLUMNS, build_release, import_dataset, open_dataset
from benchwright.export.release.splits import read_split, write_split
from benchwright.export.rows import parse_arguments

RUN = "from benchwright.core.cli import main; main()"
PUBLISHED = Path(__file__).parents[3] / "shared" / "data/ml-bench"


def bring_in(workspace, path, *splits):
    return import_dataset(workspace, open_dataset(str(path)), splits)


def loaded(folder, split="full", columns=COLUMNS):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    cache = folder.parent / f"cache-{folder.name}"
    data = datasets.load_dataset(str(folder), split=split, cache_dir=str(cache))
    return data.select_columns(list(columns)).to_list()


def test_importing_and_building_gives_the_same_rows_in_the_same_order(workspace, awkward_rows, write_rows, tmp_path):
    done = bring_in(workspace, write_rows(awkward_rows))
    assert (done.rows, done.added, done.tasks) == (6, 6, 5)
    built = build_release(workspace, tmp_path / "out")
    assert built.splits == {"full": 6}
    assert loaded(tmp_path / "out") == awkward_rows


def test_a_release_imported_again_builds_to_the_same_rows(workspace, awkward_rows, write_rows, tmp_path):
    bring_in(workspace, write_rows(awkward_rows))
    first = build_release(workspace, tmp_path / "first")
    again = Workspace.create(tmp_path / "again", workspace.repositories())
    bring_in(again, first.folder)
    build_release(again, tmp_path / "second", accept=["argument-not-met"])
    assert loaded(tmp_path / "second") == awkward_rows
    assert [item.task.id for item in load_tasks(again)] == [item.task.id for item in load_tasks(workspace)]


def test_a_release_brings_its_own_pins_into_an_empty_workspace(workspace, awkward_rows, write_rows, tmp_path):
    bring_in(workspace, write_rows(awkward_rows))
    first = build_release(workspace, tmp_path / "first")
    empty = Workspace.create(tmp_path / "empty")
    bring_in(empty, first.folder)
    pins = [(r.name, r.url, r.commit, r.github_id, r.license) for r in workspace.repositories()]
    assert sorted((r.name, r.url, r.commit, r.github_id, r.license) for r in empty.repositories()) == sorted(pins)
    build_release(empty, tmp_path / "second", accept=["BW201"])
    assert loaded(tmp_path / "second") == awkward_rows


def test_importing_twice_changes_nothing(workspace, awkward_rows, write_rows):
    path = write_rows(awkward_rows)
    bring_in(workspace, path)
    before = {file: file.read_bytes() for file in workspace.root.rglob("*") if file.is_file()}
    assert bring_in(workspace, path).added == 0
    assert {file: file.read_bytes() for file in workspace.root.rglob("*") if file.is_file()} == before


def test_parquet_and_jsonl_give_the_same_tasks(workspace, awkward_rows, write_rows, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(awkward_rows), tmp_path / "full-00000-of-00001.parquet")
    assert bring_in(workspace, tmp_path / "full-00000-of-00001.parquet").added == 6
    assert bring_in(workspace, write_rows(awkward_rows)).added == 0


def test_rows_are_grouped_by_repository_path_oracle_and_type(workspace, make_row, write_rows):
    rows = [
        make_row(1),
        make_row(2, output="python train.py --lr 0.1 --epochs 3"),
        make_row(3, path="./sub"),
        make_row(4, oracle="other"),
        make_row(5, type="Python Code"),
        make_row(1, 32),
    ]
    assert bring_in(workspace, write_rows(rows)).tasks == 5


def test_reviewed_text_is_never_overwritten_by_an_import(workspace, make_row, write_rows):
    bring_in(workspace, write_rows([make_row(1)]))
    for change in ({"output": "python train.py"}, {"oracle": "x"}, {"arguments": "{}"}, {"repo_id": 5}):
        with pytest.raises(BenchwrightError, match="31/1"):
            bring_in(workspace, write_rows([make_row(1, **change)]))


def test_an_import_that_fails_writes_nothing(workspace, make_row, write_rows):
    with pytest.raises(BenchwrightError, match="no mapping"):
        bring_in(workspace, write_rows([make_row(1), make_row(2, arguments="__import__('os').getpid()")]))
    assert load_tasks(workspace) == []


def test_a_repository_without_a_pin_is_named(workspace, make_row, write_rows):
    row = make_row(1) | {"github_id": 99, "github": "https://example.org/no/pin"}
    with pytest.raises(BenchwrightError, match=r"no commit is known for https://example\.org/no/pin") as raised:
        bring_in(workspace, write_rows([row]))
    assert "repos add" in (raised.value.remedy or "")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "1"}, "column id"),
        ({"id": True}, "column id"),
        ({"id": 2**70}, "64 bits"),
        ({"oracle": None}, "column oracle"),
        ({"oracle": "\ud800"}, "lone surrogate"),
        ({"type": "Bash"}, "type is 'Bash'"),
        ({"arguments": "{'a': b'x'}"}, "JSON cannot"),
        ({"arguments": "[1]"}, "no mapping"),
        ({"arguments": "{" * 5000}, "no mapping"),
    ],
)
def test_a_wrong_cell_is_named_with_row_and_column(workspace, make_row, write_rows, change, said):
    with pytest.raises(BenchwrightError, match=said):
        bring_in(workspace, write_rows([make_row(1) | change]))


def test_an_example_that_stands_twice_is_refused(workspace, make_row, write_rows):
    with pytest.raises(BenchwrightError, match="stands twice"):
        bring_in(workspace, write_rows([make_row(1), make_row(1)]))


def test_a_missing_column_is_named(workspace, make_row, write_rows):
    row = make_row(1)
    del row["prefix_code"]
    with pytest.raises(BenchwrightError, match="prefix_code are missing"):
        bring_in(workspace, write_rows([row]))


def test_arguments_are_read_without_evaluating_anything():
    assert parse_arguments("{'a': 1, 'b': (1, 2), 3: None}", "here") == {"a": 1, "b": [1, 2], "3": None}
    assert parse_arguments('{"a": true}', "here") == {"a": True}
    for text in ("dict(a=1)", "{'a': open('/etc/passwd')}", "", "lambda: 0"):
        with pytest.raises(BenchwrightError):
            parse_arguments(text, "here")


def test_two_builds_are_equal_bytes_whatever_the_surroundings(workspace, awkward_rows, write_rows, tmp_path):
    bring_in(workspace, write_rows(awkward_rows))
    sums = []
    for name, hash_seed, zone, locale in (("one", "1", "UTC", "C"), ("two", "77", "Asia/Tokyo", "C.UTF-8")):
        surroundings = os.environ | {"PYTHONHASHSEED": hash_seed, "TZ": zone, "LC_ALL": locale}
        subprocess.run(
            [
                sys.executable,
                "-c",
                RUN,
                "--workspace",
                str(workspace.root),
                "release",
                "build",
                "-o",
                str(tmp_path / name),
            ],
            check=True,
            env=surroundings,
            capture_output=True,
        )
        sums.append((tmp_path / name / "SHA256SUMS").read_bytes())
    assert sums[0] == sums[1]


def test_the_checksums_are_right(workspace, awkward_rows, write_rows, tmp_path):
    bring_in(workspace, write_rows(awkward_rows))
    built = build_release(workspace, tmp_path / "out")
    listed = dict(reversed(line.split("  ", 1)) for line in (built.folder / "SHA256SUMS").read_text().splitlines())
    there = {str(p.relative_to(built.folder)) for p in built.folder.rglob("*") if p.is_file()} - {"SHA256SUMS"}
    assert set(listed) == there
    for name, digest in listed.items():
        assert hashlib.sha256((built.folder / name).read_bytes()).hexdigest() == digest


def test_splits_are_membership_lists(workspace, awkward_rows, write_rows, tmp_path):
    bring_in(workspace, write_rows(awkward_rows))
    write_split(workspace, "quarter", ["kettle/3", "lantern/7"])
    build_release(workspace, tmp_path / "out")
    assert [(row["github_id"], row["id"]) for row in loaded(tmp_path / "out", "quarter")] == [(31, 3), (32, 7)]
    assert len(loaded(tmp_path / "out")) == 6


def test_four_published_splits_come_back_each_with_its_own_rows(workspace, make_row, write_rows, tmp_path):
    (tmp_path / "data").mkdir()
    published = {
        "full": [make_row(2), make_row(1)],
        "quarter": [make_row(1)],
        "id_train": [make_row(7, path="./other"), make_row(5, path="./other")],
        "ood_train": [make_row(1, 32)],
    }
    for name, rows in published.items():
        write_rows(rows, f"data/{name}.jsonl")
    bring_in(workspace, tmp_path / "data")
    with pytest.raises(BenchwrightError, match="near-duplicates stand on both sides") as raised:
        build_release(workspace, tmp_path / "out")
    assert "--allow-overlap" in (raised.value.remedy or "")
    build_release(workspace, tmp_path / "out", allow_overlap=True)
    for name, rows in published.items():
        assert loaded(tmp_path / "out", name) == rows


def test_a_task_on_both_sides_of_the_train_border_is_refused_and_found(workspace, make_row, write_rows, tmp_path):
    from benchwright.export.release.verify import check_release

    bring_in(workspace, write_rows([make_row(1), make_row(2), make_row(3, path="./other")]))
    write_split(workspace, "full", ["kettle/1"])
    write_split(workspace, "id_train", ["kettle/2", "kettle/3"])
    with pytest.raises(BenchwrightError, match="1 tasks and 1 near-duplicates"):
        build_release(workspace, tmp_path / "out")
    built = build_release(workspace, tmp_path / "out", allow_overlap=True)
    assert [problem.rule for problem in check_release(built.folder)] == ["release-border", "release-near-duplicate"]
    assert "1 tasks and 1 near-duplicates stand both" in (built.folder / "README.md").read_text()


def test_a_bare_dataset_takes_its_pins_from_the_preset(make_row, write_rows, tmp_path):
    from benchwright.curation.presets import preset_repositories

    dgl = next(item for item in preset_repositories("ml-bench") if item.github_id == 1)
    row = make_row(1) | {"github_id": 1, "github": dgl.url.upper().replace("HTTPS://GITHUB.COM", "https://github.com")}
    workspace = Workspace.create(tmp_path / "bare")
    assert bring_in(workspace, write_rows([row])).repositories == ("dgl",)
    (item,) = load_tasks(workspace)
    assert item.task.repository.commit == dgl.commit
    assert item.task.repository.url == row["github"]
    other = make_row(2) | {"github_id": 1, "github": "https://example.org/not/dgl"}
    with pytest.raises(BenchwrightError, match="no commit is known"):
        bring_in(Workspace.create(tmp_path / "fresh"), write_rows([other]))


def test_a_list_with_an_unknown_example_stops_the_build(workspace, awkward_rows, write_rows, tmp_path):
    bring_in(workspace, write_rows(awkward_rows))
    write_split(workspace, "quarter", ["kettle/3", "kettle/999"])
    with pytest.raises(BenchwrightError, match="kettle/999"):
        build_release(workspace, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["all", "a-b", "../x", "", "a b"])
def test_a_split_that_could_not_be_loaded_again_is_refused(workspace, name):
    with pytest.raises(BenchwrightError, match="no split can be called"):
        write_split(workspace, name, ["kettle/1"])


def test_an_empty_split_is_refused_since_it_could_not_be_loaded(workspace, awkward_rows, write_rows, tmp_path):
    bring_in(workspace, write_rows(awkward_rows))
    write_split(workspace, "nothing", [])
    with pytest.raises(BenchwrightError, match="no example"):
        build_release(workspace, tmp_path / "out")


def test_a_withdrawn_example_is_left_out_and_its_number_stays_taken(workspace, make_row, write_rows, tmp_path):
    bring_in(workspace, write_rows([make_row(1), make_row(2)]))
    (item,) = load_tasks(workspace)
    gone = item.examples[0].model_copy(update={"yanked": "its value was cut off"})
    write_task(workspace, item.task, item.oracle, [gone, item.examples[1]])
    built = build_release(workspace, tmp_path / "out")
    assert (built.splits, built.yanked) == ({"full": 1}, 1)
    with pytest.raises(BenchwrightError, match="was withdrawn here"):
        bring_in(workspace, write_rows([make_row(1)]))


def test_an_unknown_licence_stops_the_build(workspace, make_row, write_rows, tmp_path):
    bring_in(workspace, write_rows([make_row(1)]))
    kettle, lantern = workspace.repositories()
    workspace.save_repositories([kettle.model_copy(update={"license": None}), lantern])
    with pytest.raises(BenchwrightError, match="licence of kettle is not known"):
        build_release(workspace, tmp_path / "out")


def test_a_folder_that_is_no_release_is_never_replaced(workspace, make_row, write_rows, tmp_path):
    bring_in(workspace, write_rows([make_row(1)]))
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("years of work")
    with pytest.raises(BenchwrightError, match="no release"):
        build_release(workspace, tmp_path / "precious")
    assert (tmp_path / "precious" / "thesis.txt").read_text() == "years of work"


def test_the_card_is_computed_and_keeps_foreign_keys(workspace, awkward_rows, write_rows, tmp_path):
    import yaml

    bring_in(workspace, write_rows(awkward_rows))
    built = build_release(workspace, tmp_path / "out")
    card = built.folder / "README.md"
    card.write_text(card.read_text().replace("language:", "extra_gated_prompt: Please ask.\nlanguage:", 1))
    build_release(workspace, tmp_path / "out")
    block = yaml.safe_load(card.read_text().split("---\n")[1])
    assert block["extra_gated_prompt"] == "Please ask."
    assert block["size_categories"] == ["n<1K"]
    assert block["license"] == ["apache-2.0", "cc-by-4.0", "mit"]
    (info,) = [item for item in block["dataset_info"] if item["config_name"] == "default"]
    assert info["splits"][0]["num_examples"] == 6
    assert workspace.config.canary in card.read_text()


def test_a_deep_cell_of_five_megabytes_survives(workspace, make_row, write_rows, tmp_path):
    long = "line of text\n" * 400_000
    bring_in(workspace, write_rows([make_row(1, oracle=long), make_row(2)]))
    build_release(workspace, tmp_path / "out")
    assert loaded(tmp_path / "out")[0]["oracle"] == long


def test_numbers_of_two_splits_that_clash_are_named(workspace, make_row, write_rows, tmp_path):
    (tmp_path / "data").mkdir()
    write_rows([make_row(1)], "data/full.jsonl")
    write_rows([make_row(1, output="python other.py")], "data/id_train.jsonl")
    with pytest.raises(BenchwrightError, match="full and id_train") as raised:
        bring_in(workspace, tmp_path / "data")
    assert "--split full" in (raised.value.remedy or "")
    assert bring_in(workspace, tmp_path / "data", "full").rows == 1
    assert read_split(workspace, "full") == ["kettle/1"]


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published rows are not on this machine")
def test_the_published_rows_come_back_value_for_value(tmp_path):
    workspace = Workspace.create(tmp_path / "published")
    workspace.repositories_path.write_bytes((PUBLISHED / "repositories.toml").read_bytes())
    assert bring_in(workspace, PUBLISHED / "rows.jsonl").rows == 173
    with pytest.raises(BenchwrightError, match="errors stand against a release"):
        build_release(workspace, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    build_release(workspace, tmp_path / "out", accept=["BW1,BW2"])
    rows = [json.loads(line) for line in (PUBLISHED / "rows.jsonl").read_text("utf-8").splitlines()]
    assert loaded(tmp_path / "out") == rows
