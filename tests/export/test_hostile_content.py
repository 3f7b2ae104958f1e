"""Content that careless writers turn into wrong files: here it gives the right file, or an error that names it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.core.tasks import load_tasks, write_task
from benchwright.export import build_release, import_dataset, open_dataset
from benchwright.export.release.parquet import ROW_DTYPES, write_parquet


@pytest.fixture
def one(workspace, make_row, write_rows):
    """A workspace with two examples of one task."""
    import_dataset(workspace, open_dataset(str(write_rows([make_row(1), make_row(2, instruction="Train it anew.")]))))
    return workspace


def rewrite(workspace, **changes) -> None:
    """Write the first example anew as a careless tool would, without any check."""
    (item,) = load_tasks(workspace)
    (workspace.splits_dir / "full.txt").unlink()
    path = item.folder / "examples.jsonl"
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | changes), *others]) + "\n")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"instruction": "a \ud800 b"}, "instruction"),
        ({"output": "echo \udfff"}, "output"),
        ({"id": 2**70}, "id"),
        ({"id": None}, "id"),
        ({"prefix_code": None}, "prefix_code"),
    ],
)
def test_what_no_column_can_hold_stops_the_build_and_is_named(one, tmp_path, changes, said):
    rewrite(one, **changes)
    with pytest.raises(BenchwrightError, match=said):
        build_release(one, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_value_that_does_not_fit_is_named_with_row_column_and_example(tmp_path, make_row):
    rows = [{**dict.fromkeys(ROW_DTYPES), **make_row(number)} for number in (1, 2, 3)]
    rows[1]["id"] = 2**70
    with pytest.raises(BenchwrightError, match="the column id cannot hold this value") as raised:
        write_parquet(tmp_path / "data" / "x.parquet", ROW_DTYPES, rows)
    assert raised.value.where == f"data/x.parquet row 2 (example 31/{2**70})"
    rows[1]["id"], rows[2]["output"] = 2, "\ud83d"
    with pytest.raises(BenchwrightError, match="the column output cannot hold this value"):
        write_parquet(tmp_path / "data" / "x.parquet", ROW_DTYPES, rows)
    rows[2]["output"], rows[0]["oracle"] = "fine", 5
    with pytest.raises(BenchwrightError, match="the column oracle cannot hold this value"):
        write_parquet(tmp_path / "data" / "x.parquet", ROW_DTYPES, rows)


def test_numbers_and_nothing_in_one_column_stay_numbers_and_nothing(one, tmp_path):
    datasets = pytest.importorskip("datasets")
    import pyarrow.parquet as pq

    from benchwright.core.models import Source

    (item,) = load_tasks(one)
    source = Source(path="README.md", blob="0" * 40, start_line=3, end_line=4)
    task = item.task.model_copy(update={"name": "placed", "source": source})
    write_task(
        one,
        task,
        item.oracle,
        [item.examples[0].model_copy(update={"id": 3, "repo_id": 3, "instruction": "Train it a third time."})],
    )
    built = build_release(one, tmp_path / "out")
    datasets.disable_progress_bars()
    loaded = datasets.load_dataset(str(built.folder), split="full", cache_dir=str(tmp_path / "cache"))
    assert [row["start_line"] for row in loaded] == [None, None, 3]
    assert str(loaded.features["start_line"].dtype) == "int64"
    assert (
        str(pq.read_schema(built.folder / "data" / "full-00000-of-00001.parquet").field("verified_at").type) == "string"
    )
    assert [row["verified_at"] for row in loaded] == [None, None, None]  # typed, though nothing is in it


def test_a_list_called_all_is_refused(one, tmp_path):
    one.splits_dir.mkdir(exist_ok=True)
    (one.splits_dir / "all.txt").write_text("kettle/1\n")
    with pytest.raises(BenchwrightError, match="no split can be called 'all'"):
        build_release(one, tmp_path / "out")


def test_control_characters_and_every_kind_of_line_end_survive_all_readers(one, tmp_path):
    datasets, pandas, duckdb = (pytest.importorskip(name) for name in ("datasets", "pandas", "duckdb"))
    (item,) = load_tasks(one)
    odd = "nul \x00 bell \x07 cr \r crlf \r\n ff \f nel \x85 ls \u2028 bom \ufeff astral \U0001f9ea end  "
    examples = [item.examples[0].model_copy(update={"instruction": odd}), item.examples[1]]
    write_task(one, item.task, item.oracle, examples)
    built = build_release(one, tmp_path / "out")
    path = built.folder / "data" / "full-00000-of-00001.parquet"
    datasets.disable_progress_bars()
    loaded = datasets.load_dataset(str(built.folder), split="full", cache_dir=str(tmp_path / "cache"))
    assert loaded[0]["instruction"] == odd
    assert pandas.read_parquet(path)["instruction"][0] == odd
    assert duckdb.sql(f"select instruction from '{path}' order by id").fetchall()[0] == (odd,)
    assert next(open_dataset(str(built.folder)).rows("full")).instruction == odd


@pytest.mark.parametrize("config", ["default", "repositories", "retrieval", "denormalized"])
def test_every_configuration_and_split_loads_in_datasets_pandas_and_duckdb(one, tmp_path, config):
    from benchwright.export.release.splits import write_split

    datasets, pandas, duckdb = (pytest.importorskip(name) for name in ("datasets", "pandas", "duckdb"))
    write_split(one, "quarter", ["kettle/2"])
    built = build_release(one, tmp_path / "out", denormalized=True)
    datasets.disable_progress_bars()
    loaded = datasets.load_dataset(str(built.folder), config, cache_dir=str(tmp_path / "cache"))
    assert sorted(loaded) == (["full"] if config == "repositories" else ["full", "quarter"])
    for split, rows in loaded.items():
        path = built.folder / {"default": "data"}.get(config, config) / f"{split}-00000-of-00001.parquet"
        frame, relation = pandas.read_parquet(path), duckdb.sql(f"select * from '{path}'")
        assert rows.column_names == list(frame.columns) == relation.columns
        assert rows.to_list() == relation.to_arrow_table().to_pylist()
        assert len(frame) == len(rows) > 0


@pytest.mark.long
def test_more_than_two_gibibytes_of_text_in_one_column(tmp_path, make_row):
    """460 cells of 5 MB in a column of type string: written in row groups, read back by all."""
    datasets, pandas, duckdb = (pytest.importorskip(name) for name in ("datasets", "pandas", "duckdb"))
    count, size = 460, 5_000_000

    def text(number: int) -> str:
        return f"{number:08} " * (size // 9)

    rows = ({**dict.fromkeys(ROW_DTYPES), **make_row(number), "oracle": text(number)} for number in range(count))
    path = tmp_path / "big" / "full-00000-of-00001.parquet"
    written, held = write_parquet(path, ROW_DTYPES, rows)
    assert (written, held > 2**31) == (count, True)
    datasets.disable_progress_bars()
    loaded = datasets.load_dataset(str(path.parent), split="train", cache_dir=str(tmp_path / "cache"))
    assert len(loaded) == count
    assert loaded[count - 1]["oracle"] == text(count - 1)
    assert duckdb.sql(f"select sum(length(oracle)) from '{path}'").fetchall() == [(count * len(text(0)),)]
    frame = pandas.read_parquet(path, columns=["id", "oracle"])
    assert frame["oracle"][count - 1] == text(count - 1)
    assert sum(row.oracle == text(row.id) for row in open_dataset(str(path)).rows("full")) == count


@pytest.mark.long
def test_a_hundred_cells_of_five_megabytes_build_and_load(workspace, make_row, write_rows, tmp_path):
    datasets = pytest.importorskip("datasets")
    rows = [make_row(number, oracle=f"{number} line of text\n" * 280_000) for number in range(1, 101)]
    import_dataset(workspace, open_dataset(str(write_rows(rows))))
    built = build_release(workspace, tmp_path / "out")
    datasets.disable_progress_bars()
    loaded = datasets.load_dataset(str(built.folder), split="full", cache_dir=str(tmp_path / "cache"))
    assert [row["oracle"] for row in loaded] == [row["oracle"] for row in rows]
    assert Path(built.folder / "data" / "full-00000-of-00001.parquet").stat().st_size < 5_000_000
