"""The numbers under which repositories are published."""

from pathlib import Path

import pytest

from benchwright.core.models import Example, Repository, Task
from benchwright.core.tasks import load_tasks, write_task
from benchwright.core.workspace import Workspace
from benchwright.curation.repositories import next_github_id

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def numbered(number: int | None) -> Repository:
    return Repository(name=f"r{number}", url=f"https://example.org/o/r{number}", commit=COMMIT, github_id=number)


@pytest.mark.parametrize(
    ("known", "number"), [([], 1), ([3, 1], 4), ([None, 2], 3), ([11], 13), ([12], 13), ([13], 14)]
)
def test_the_next_number_is_above_all_and_never_twelve(known: list[int | None], number: int) -> None:
    assert next_github_id([numbered(n) for n in known], []) == number


def test_the_number_of_a_removed_repository_whose_tasks_remain_is_not_given_again(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path / "bench", [numbered(1)])
    task = Task(name="train", repository=numbered(7).ref_of(), type="Bash Script")
    write_task(workspace, task, "", [Example(id=1, type="Bash Script", instruction="Train.", output="python t.py ")])
    assert next_github_id(workspace.repositories(), load_tasks(workspace)) == 8
