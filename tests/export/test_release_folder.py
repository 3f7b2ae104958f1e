from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Repository, RepositoryRef, Source, Task
from benchwright.core.tasks import load_tasks, write_task
from benchwright.core.workspace import Workspace
from benchwright.export import build_release, import_dataset, join, open_dataset
from benchwright.export.checksums import write_sums
from benchwright.export.release.diff import diff_releases
from benchwright.export.release.splits import write_split
from benchwright.export.release.verify import check_release

README = "# Kettle\n\nBoil water.\n\n    python boil.py --litres 2\n\nThat is all: ü.\n"
LICENCE = "Everybody may read this, and nobody may copy it.\n"


@pytest.fixture
def kettle(tmp_path: Path) -> Repository:
    """A real git repository with a README and a licence of its own."""
    folder = tmp_path / "kettle-source"
    folder.mkdir()
    (folder / "README.md").write_text(README, encoding="utf-8")
    (folder / "LICENSE").write_text(LICENCE)
    (folder / "boil.py").write_text("import sys\n\nprint(sys.argv)\n")

    def git(*words: str) -> str:
        identity = ("-c", "user.name=A Tester", "-c", "user.email=tester@example.org")
        answer = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
        return answer.stdout.strip()

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "All there is")
    return Repository(
        name="kettle", url=folder.as_uri(), commit=git("rev-parse", "HEAD"), github_id=31, license="LicenseRef-Closed"
    )


@pytest.fixture
def boiled(tmp_path: Path, kettle: Repository, make_row, write_rows) -> Workspace:
    """A workspace with one task taken from the kettle's README, lines 3 to 5."""
    from benchwright.core.models import Example

    workspace = Workspace.create(tmp_path / "boiling", [kettle])
    task = Task(
        name="boil",
        repository=RepositoryRef(**kettle.model_dump(include={"name", "url", "commit", "github_id", "license"})),
        type="Bash Script",
        source=Source(path="README.md", blob="0" * 40, start_line=3, end_line=5),
    )
    example = Example(id=1, type="Bash Script", instruction="Boil.", output="python boil.py --litres 2")
    write_task(workspace, task, "Boil water.\n\n    python boil.py --litres 2\n", [example])
    return workspace


def mirror(workspace: Workspace) -> list[str]:
    """The repository's own folder, as a mirror."""
    return [workspace.repositories()[0].url]


def test_text_is_kept_back_where_the_licence_is_not_on_the_list_and_joined_again(boiled, tmp_path):
    built = build_release(boiled, tmp_path / "out", mirror(boiled))
    dataset = open_dataset(str(built.folder))
    (row,) = dataset.rows("full")
    assert (row.oracle, row.source_path, row.start_line, row.end_line) == ("", "README.md", 3, 5)
    for file in built.folder.rglob("*.parquet"):
        assert b"Boil water" not in file.read_bytes()
    (joined,) = join(dataset, clones_dir=tmp_path / "clones", mirrors=mirror(boiled))
    assert joined["oracle"] == "Boil water.\n\n    python boil.py --litres 2\n"
    assert joined["document"] == README


def test_text_is_passed_on_where_the_licence_is_on_the_list(boiled, tmp_path):
    listed = boiled.config_path.read_text() + "\n"
    boiled.config_path.write_text('redistributable_licenses = ["LicenseRef-Closed"]\n' + listed)
    workspace = Workspace(boiled.root)
    built = build_release(workspace, tmp_path / "out", mirror(workspace), denormalized=True)
    (row,) = open_dataset(str(built.folder)).rows("full")
    assert row.oracle.startswith("Boil water.")
    import pyarrow.parquet as pq

    (document,) = pq.read_table(built.folder / "repositories" / "full-00000-of-00001.parquet").to_pylist()
    assert (document["path"], document["text"]) == ("README.md", README)
    (whole,) = pq.read_table(built.folder / "denormalized" / "full-00000-of-00001.parquet").to_pylist()
    assert whole["document"] == README


def test_licence_texts_stand_verbatim(boiled, tmp_path):
    built = build_release(boiled, tmp_path / "out", mirror(boiled))
    assert LICENCE in (built.folder / "THIRD_PARTY_LICENSES").read_text()
    assert "license: other" in (built.folder / "README.md").read_text()


def test_a_repository_that_is_not_at_hand_is_named(boiled, tmp_path):
    repository = boiled.repositories()[0]
    boiled.save_repositories([repository.model_copy(update={"commit": "e" * 40})])
    built = build_release(boiled, tmp_path / "out")
    assert built.without_text == ("kettle",)


def test_text_without_a_known_place_is_not_kept_back_in_silence(workspace, make_row, write_rows, tmp_path):
    import_dataset(workspace, open_dataset(str(write_rows([make_row(1)]))))
    kettle, lantern = workspace.repositories()
    workspace.save_repositories([kettle.model_copy(update={"license": "LicenseRef-Closed"}), lantern])
    with pytest.raises(BenchwrightError, match="not on the list") as raised:
        build_release(workspace, tmp_path / "out")
    assert "redistributable_licenses" in (raised.value.remedy or "")


@pytest.mark.parametrize("config", ["default", "repositories", "denormalized"])
def test_every_configuration_loads_in_datasets_and_pandas(boiled, tmp_path, config):
    datasets, pandas = pytest.importorskip("datasets"), pytest.importorskip("pandas")
    built = build_release(boiled, tmp_path / "out", mirror(boiled), denormalized=True)
    datasets.disable_progress_bars()
    loaded = datasets.load_dataset(str(built.folder), config, split="full", cache_dir=str(tmp_path / "cache"))
    folder = {"default": "data"}.get(config, config)
    frame = pandas.read_parquet(built.folder / folder / "full-00000-of-00001.parquet")
    assert len(loaded) == len(frame) == 1
    assert loaded.column_names == list(frame.columns)


# comparing -------------------------------------------------------------------------------------------------


def test_a_diff_says_exactly_what_changed(workspace, make_row, write_rows, tmp_path):
    import_dataset(workspace, open_dataset(str(write_rows([make_row(1), make_row(2), make_row(3)]))))
    write_split(workspace, "quarter", ["kettle/1", "kettle/2"])
    build_release(workspace, tmp_path / "old")
    (item,) = load_tasks(workspace)
    one, two, three = item.examples
    write_task(
        workspace,
        item.task,
        item.oracle,
        [
            one.model_copy(update={"output": "python train.py --lr 0.5 "}),
            two.model_copy(update={"yanked": "cut off"}),
            three,
        ],
    )
    import_dataset(workspace, open_dataset(str(write_rows([make_row(4)]))))
    write_split(workspace, "quarter", ["kettle/1", "kettle/3"])
    build_release(workspace, tmp_path / "new")
    found = diff_releases(open_dataset(str(tmp_path / "old")), open_dataset(str(tmp_path / "new")))
    assert found.added == [(31, 4)]
    assert found.removed == {(31, 2): "cut off"}
    assert {key: list(columns) for key, columns in found.changed.items()} == {(31, 1): ["output"]}
    assert found.splits == {"quarter": ([(31, 3)], [])}
    assert found.lines()[0] == "added    31/4"


def test_a_release_does_not_differ_from_itself(workspace, make_row, write_rows, tmp_path):
    import_dataset(workspace, open_dataset(str(write_rows([make_row(1)]))))
    built = build_release(workspace, tmp_path / "out")
    same = diff_releases(open_dataset(str(built.folder)), open_dataset(str(built.folder)))
    assert same.empty
    assert same.lines() == ["no difference"]


# checking --------------------------------------------------------------------------------------------------


@pytest.fixture
def built(workspace, make_row, write_rows, tmp_path) -> Path:
    import_dataset(workspace, open_dataset(str(write_rows([make_row(1), make_row(2, 32)]))))
    return build_release(workspace, tmp_path / "out").folder


def errors(folder: Path) -> dict[str, str]:
    return {problem.where: problem.message for problem in check_release(folder) if problem.severity == "error"}


def test_a_fresh_release_has_no_problem(built):
    assert check_release(built) == []


def test_a_changed_an_added_and_a_lost_file_are_found(built):
    (built / "canary.txt").write_text("changed")
    (built / "more.txt").write_text("new")
    (built / "CITATION.cff").unlink()
    assert set(errors(built)) == {"canary.txt", "more.txt", "CITATION.cff"}


def test_a_glob_that_matches_nothing_and_a_file_that_nothing_matches_are_found(built):
    (built / "data" / "full-00000-of-00001.parquet").rename(built / "data" / "lost.parquet")
    write_sums(built)
    found = errors(built)
    assert "no file matches" in found["default/full"]
    assert "0 splits" in found["data/lost.parquet"]


def test_a_stale_card_is_found(built):
    card = built / "README.md"
    card.write_text(card.read_text().replace("num_examples: 2", "num_examples: 3", 1))
    write_sums(built)
    assert "could not be loaded" in errors(built)["default"]


def test_another_schema_is_found(built):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = built / "data" / "full-00000-of-00001.parquet"
    table = pq.read_table(path)
    pq.write_table(table.set_column(0, "github_id", table["github_id"].cast(pa.int32())), path)
    write_sums(built)
    assert "types" in errors(built)["data/full-00000-of-00001.parquet"]


def test_a_file_that_is_no_parquet_is_found(built):
    (built / "data" / "full-00000-of-00001.parquet").write_bytes(b"PAR1 not really")
    write_sums(built)
    assert "not a readable Parquet file" in errors(built)["data/full-00000-of-00001.parquet"]


@pytest.mark.parametrize(
    "name", ["croissant.json", "runner/runner.json", "tasks.jsonl", "repositories.toml", "eval.yaml", "CITATION.cff"]
)
def test_a_file_that_is_not_of_the_format_its_name_promises_is_found(built, name):
    (built / name).write_text("[[[ : {")
    write_sums(built)
    assert name in errors(built)


@pytest.mark.parametrize("recipe", [None, "[[["])
def test_a_row_whose_environment_nobody_could_build_is_found(workspace, make_row, write_rows, tmp_path, recipe):
    folder = workspace.environments_dir / "kiln"
    folder.mkdir(parents=True)
    (folder / "environment.toml").write_text('schema_version = 1\nrequirements = ["numpy"]\n')
    workspace.save_repositories(r.model_copy(update={"environment": "kiln"}) for r in workspace.repositories())
    import_dataset(workspace, open_dataset(str(write_rows([make_row(1)]))))
    built = build_release(workspace, tmp_path / "out").folder
    assert check_release(built) == []
    copy = built / "environments" / "kiln" / "environment.toml"
    copy.unlink() if recipe is None else copy.write_text(recipe)
    write_sums(built)
    assert any("kiln" in where for where in errors(built))


def test_a_line_that_is_no_checksum_is_told_as_such(built):
    with open(built / "SHA256SUMS", "a") as file:
        file.write("\x00\x01 not a line\n")
    assert "is not what sha256sum writes" in errors(built)["SHA256SUMS"]
    with pytest.raises(BenchwrightError, match="line"):
        open_dataset(str(built))


def test_a_full_disk_while_data_are_written_names_the_file_and_the_way_out(tmp_path):
    from benchwright.core.errors import InfrastructureError
    from benchwright.export.release.parquet import write_parquet

    with pytest.raises(InfrastructureError, match="cannot write the file") as caught:
        write_parquet(Path("/dev/full"), {"a": "string"}, [{"a": "x" * 100_000}])
    assert caught.value.remedy == "free space or permit writing"
