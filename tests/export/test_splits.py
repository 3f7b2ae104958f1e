from __future__ import annotations

import importlib.util
import shutil
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchwright.core.cli import app
from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Example, Repository, RepositoryRef, Task
from benchwright.core.tasks import write_task
from benchwright.core.workspace import Workspace
from benchwright.export import assign_splits, build_release
from benchwright.export.release.border import crossings
from benchwright.export.release.likeness import near_duplicates
from benchwright.export.release.splits import read_split, write_split

# imported by path: the tests' folders are no packages
_spec = importlib.util.spec_from_file_location("made_examples", Path(__file__).parent / "made_examples.py")
assert _spec is not None
assert _spec.loader is not None
made_examples = importlib.util.module_from_spec(_spec)
sys.modules["made_examples"] = made_examples
_spec.loader.exec_module(made_examples)
make, REPOSITORIES = made_examples.make, made_examples.REPOSITORIES

HELD_OUT = ("repository14", "repository15", "repository16", "repository17")


@pytest.fixture(scope="module")
def made():
    return make()


@pytest.fixture(scope="module")
def written(made, tmp_path_factory) -> Path:
    """The made examples as tasks on disk; four repositories are for training only."""
    return write_examples(tmp_path_factory.mktemp("made") / "made", made).root


@pytest.fixture
def filled(written, tmp_path) -> Workspace:
    shutil.copytree(written, tmp_path / "made")
    return Workspace(tmp_path / "made")


@pytest.fixture(scope="module")
def few():
    """A quarter of them, for what does not depend on the number."""
    return make(planted=20, count=43, examples=500)


@pytest.fixture(scope="module")
def written_few(few, tmp_path_factory) -> Path:
    return write_examples(tmp_path_factory.mktemp("few") / "few", few).root


@pytest.fixture
def copied(written_few, tmp_path):
    """Gives a workspace with the few under a name."""

    def copy(name: str) -> Workspace:
        shutil.copytree(written_few, tmp_path / name)
        return Workspace(tmp_path / name)

    return copy


def write_examples(folder, made) -> Workspace:
    repositories = [
        Repository(
            name=f"repository{number}",
            url=f"https://example.org/made/repository{number}",
            commit="c" * 40,
            github_id=number + 1,
            license="MIT",
            split="train" if f"repository{number}" in HELD_OUT else "test",
        )
        for number in range(REPOSITORIES)
    ]
    workspace = Workspace.create(folder, repositories)
    tasks = defaultdict(list)
    for row in made.rows:
        tasks[row.task_id].append(row)
    for name, rows in tasks.items():
        repository = repositories[rows[0].github_id - 1]
        fields = repository.model_dump(include={"name", "url", "commit", "github_id", "license"})
        task = Task(name=name.split("/")[1], repository=RepositoryRef(**fields), type=rows[0].type)
        examples = [Example(id=r.id, type=r.type, instruction=r.instruction, output=r.output) for r in rows]
        write_task(workspace, task, rows[0].oracle, examples)
    return workspace


# near-duplicates -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_planted_near_duplicates_are_found_and_little_else(seed):
    """Measured: recall 1.00 and precision 1.00 across the border; 0.96 to 1.00 among all pairs of tasks."""
    made = make(seed)
    planted = [row for row in made.rows if "/planted-" in row.task_id]
    others = [row for row in made.rows if "/planted-" not in row.task_id]
    found = {(pair.other.task_id, pair.one.task_id) for pair in near_duplicates(planted, others)}
    right = found & set(made.planted)
    assert len(right) / len(made.planted) >= 0.98
    assert len(right) / len(found) >= 0.95


def test_the_same_pairs_are_found_every_time(made):
    rows = made.rows[:600] + made.rows[-80:]
    assert [pair.line() for pair in near_duplicates(rows, rows)] == [
        pair.line() for pair in near_duplicates(rows, rows)
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("python a.py --lr 0.001 --n 3", "python ./a.py --n=3 --lr 1e-3"),
        ("python a.py --name 'two words' -v", 'python a.py -v --name "two words"  # as before'),
        ("python a.py \\\n  --x 1 \\\n  --y -2", "python a.py --y -2.0 --x 1"),
    ],
)
def test_a_command_is_the_same_in_another_order_and_spelling(made, one, other):
    row = next(row for row in made.rows if row.type == "Bash Script")
    first = replace(row, output=one, instruction="Do it.")
    second = replace(row, output=other, instruction="Something else altogether is asked.", task_id="x/y")
    assert len(list(near_duplicates([first], [second]))) == 1
    elsewhere = replace(second, github="https://example.org/another/repository")
    assert not list(near_duplicates([first], [elsewhere]))


def test_another_value_is_another_example(made):
    row = next(row for row in made.rows if row.type == "Bash Script")
    first = replace(row, output="python a.py --data x --lr 0.1", instruction="Train on x at 0.1.")
    second = replace(row, output="python a.py --data y --lr 0.5", instruction="Train on y at 0.5.", task_id="x/y")
    assert not list(near_duplicates([first], [second]))


# making splits ---------------------------------------------------------------------------------------------


def test_no_task_and_nothing_nearly_the_same_crosses_the_border(filled, made):
    done = assign_splits(filled, train=0.6)
    rows = {f"repository{row.github_id - 1}/{row.id}": row for row in made.rows}
    splits = {name: [rows[item] for item in read_split(filled, name)] for name in done.splits}
    assert not crossings(splits)
    assert sorted(name for name in splits) == ["full", "id_train", "ood_train", "quarter"]
    assert {row.key for row in made.rows} == {row.key for name, members in splits.items() for row in members}
    assert done.together >= len({task for pair in made.planted for task in pair})
    assert {f"repository{row.github_id - 1}" for row in splits["ood_train"]} == set(HELD_OUT)
    assert not {f"repository{row.github_id - 1}" for row in (*splits["full"], *splits["id_train"])} & set(HELD_OUT)
    share = done.tasks["id_train"] / (done.tasks["id_train"] + done.tasks["full"])
    assert 0.5 < share < 0.7


@pytest.mark.parametrize(
    ("name", "training"),
    [("id_train", True), ("train", True), ("training.v2", True), ("train_2", True), ("full", False), ("trains", False)],
)
def test_a_split_is_for_training_where_its_name_has_the_word(name, training):
    from benchwright.export.chat import TRAIN
    from benchwright.export.release.splits import is_train

    assert is_train(name) == (TRAIN.search(name) is not None) == training


def test_the_quarter_is_a_quarter_of_every_repository_and_type(filled, made):
    assign_splits(filled)
    rows = {f"repository{row.github_id - 1}/{row.id}": row for row in made.rows}
    whole = Counter((rows[item].github_id, rows[item].type) for item in read_split(filled, "full"))
    part = Counter((rows[item].github_id, rows[item].type) for item in read_split(filled, "quarter"))
    assert set(read_split(filled, "quarter")) <= set(read_split(filled, "full"))
    assert abs(part.total() - whole.total() / 4) <= 1
    assert all(abs(part[key] - count / 4) <= 1 for key, count in whole.items())


def test_the_seed_chooses_and_a_re_run_changes_nothing(copied):
    filled = copied("first")
    first = assign_splits(filled, seed=1)
    lists = {path.name: path.read_bytes() for path in filled.splits_dir.iterdir()}
    again = assign_splits(filled, seed=99)  # what is in a list stays
    assert {path.name: path.read_bytes() for path in filled.splits_dir.iterdir()} == lists
    assert (again.splits, set(again.added.values())) == (first.splits, {0})
    other = copied("other")
    assign_splits(other, seed=1)
    assert {path.name: path.read_bytes() for path in other.splits_dir.iterdir()} == lists
    third = copied("third")
    assign_splits(third, seed=2)
    assert {path.name: path.read_bytes() for path in third.splits_dir.iterdir()} != lists


def test_lists_that_put_nearly_the_same_on_both_sides_are_refused(copied, few):
    def name_of(task):
        return next(f"{task.split('/')[0]}/{row.id}" for row in few.rows if row.task_id == task)

    filled = copied("filled")
    original, planted = next(pair for pair in few.planted if pair[0].split("/")[0] not in HELD_OUT)
    write_split(filled, "full", [name_of(original)])
    write_split(filled, "id_train", [name_of(planted)])
    with pytest.raises(BenchwrightError, match="both sides") as raised:
        assign_splits(filled)
    assert planted in raised.value.message
    assert read_split(filled, "full") == [name_of(original)]
    with pytest.raises(BenchwrightError, match="near-duplicates stand on both sides"):
        build_release(filled)


def test_split_and_build_from_the_command_line(copied):
    filled = copied("filled")
    run = CliRunner()
    done = run.invoke(app, ["--workspace", str(filled.root), "release", "split", "--train", "0.3", "--seed", "4"])
    assert done.exit_code == 0, done.output
    assert "held out for training: repository14" in done.output
    built = build_release(filled)
    assert sorted(built.splits) == ["full", "id_train", "ood_train", "quarter"]
    assert sum(built.splits.values()) - built.splits["quarter"] == len(read_all(filled))


def read_all(workspace):
    return [line for path in (workspace.tasks_dir).glob("*/*/examples.jsonl") for line in path.read_text().splitlines()]
