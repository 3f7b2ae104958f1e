"""Pull against the real server: everything ever said is archived, and what is accepted becomes a task."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.annotation import Account, Server, accounts, archive, pull, push
from benchwright.annotation.interface import configuration, prefill, result_for
from benchwright.core.models import Candidate
from benchwright.core.tasks import load_tasks
from benchwright.core.workspace import Workspace

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

MakeCandidate = Callable[..., Candidate]
SCRIPT = "if [ 1 ]; then\n\tpython train.py --name '<b>&amp; \u4f60\u597d\u3000\"' \\\n\t  --lr 1e-3  \nfi\r\n\n"


class Bench:
    """A workspace with pushed candidates, and people who judge them."""

    def __init__(self, workspace: Workspace, server: Server, candidates: list[Candidate]) -> None:
        self.workspace, self.server, self.candidates = workspace, server, candidates
        with workspace.open_store() as store:
            store.replace_candidates("tiny", "key", candidates)
        self.project = push(workspace, candidates, server=server).project
        tasks = server.client().tasks(self.project, "id,data")
        self.tasks = {task["data"]["candidate_id"]: task["id"] for task in tasks}

    def say(self, who: Account, number: int, **fields: Any) -> int:
        candidate = self.candidates[number]
        skipped = fields.pop("skipped", False)
        form = {**prefill(candidate), "instruction": "Please train it.", "verdict": "accept", **fields}
        body = {"result": [] if skipped else result_for(form), "was_cancelled": skipped, "lead_time": 12.5}
        path = f"api/tasks/{self.tasks[candidate.id]}/annotations"
        return int(who.client().request("annotating", "POST", path, body=body)["id"])


@pytest.fixture
def ann(label_studio: Server) -> Account:
    return accounts.create(label_studio, "ann@example.org", "a-long-Password-1")


@pytest.fixture
def ben(label_studio: Server) -> Account:
    return accounts.create(label_studio, "ben@example.org", "a-long-Password-2")


@pytest.fixture
def bench(workspace: Workspace, label_studio: Server, make_candidate: MakeCandidate) -> Bench:
    return Bench(workspace, label_studio, [make_candidate(number) for number in range(1, 5)])


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_annotations_become_tasks_byte_for_byte_and_a_second_pull_changes_nothing(
    bench: Bench, ann: Account, ben: Account
) -> None:
    bench.say(ann, 0, script=SCRIPT)
    bench.say(ben, 0, script=SCRIPT)
    bench.say(ann, 1)
    bench.say(ben, 1, verdict="reject", reason="only a fragment")
    bench.say(ann, 2, skipped=True)
    report = pull(bench.workspace, server=bench.server)
    assert [(p.annotations, p.new_versions, p.skipped) for p in report.projects] == [(5, 5, 1)]
    assert report.people_new
    assert report.acceptance.written == ["tiny/train-000000000001"]
    assert report.acceptance.disagreements == {bench.candidates[1].id: ["verdict"]}
    (item,) = load_tasks(bench.workspace)
    assert item.examples[0].output == SCRIPT
    assert item.task.annotators == ("annotator-1", "annotator-2")
    kept = [path for path in files(bench.workspace.root) if not path.startswith(".benchwright")]
    assert not [
        path for path in kept if b"example.org" in (bench.workspace.root / path).read_bytes() and "annot" in path
    ]

    before = files(bench.workspace.annotations_dir) | files(bench.workspace.tasks_dir)
    again = pull(bench.workspace, server=bench.server)
    assert (again.projects[0].annotations, again.projects[0].new_versions) == (5, 0)
    assert again.acceptance.written == []
    assert files(bench.workspace.annotations_dir) | files(bench.workspace.tasks_dir) == before


def test_a_changed_annotation_is_a_further_version_and_its_example_keeps_its_id(bench: Bench, ann: Account) -> None:
    number = bench.say(ann, 0)
    bench.say(ann, 1)
    pull(bench.workspace, server=bench.server)
    form = {**prefill(bench.candidates[0]), "instruction": "Train it better.", "verdict": "accept"}
    ann.client().request("changing", "PATCH", f"api/annotations/{number}", body={"result": result_for(form)})
    report = pull(bench.workspace, server=bench.server)
    assert (report.projects[0].annotations, report.projects[0].new_versions) == (2, 1)
    assert report.acceptance.written == ["tiny/train-000000000001"]
    versions = archive.read(bench.workspace, report.projects[0].project)
    assert [v.instruction for v in versions if v.annotation_id == number] == ["Please train it.", "Train it better."]
    ids = {item.task.name: [example.id for example in item.examples] for item in load_tasks(bench.workspace)}
    assert sorted(ids.values()) == [[1], [2]]


def test_what_vanishes_on_the_server_is_reported_and_kept(bench: Bench, ann: Account, ben: Account) -> None:
    gone = bench.say(ann, 0)
    bench.say(ben, 1)
    bench.say(ben, 2)
    pull(bench.workspace, server=bench.server)
    archived = files(bench.workspace.annotations_dir)
    client = bench.server.client()
    client.request("deleting", "DELETE", f"api/annotations/{gone}")
    client.delete_task(bench.tasks[bench.candidates[1].id])
    report = pull(bench.workspace, server=bench.server)
    assert len(report.projects[0].vanished) == 2
    assert bench.candidates[0].id in " ".join(report.projects[0].vanished)
    assert files(bench.workspace.annotations_dir) == archived
    assert len(load_tasks(bench.workspace)) == 3
    again = bench.say(ann, 0)  # SQLite may give the deleted annotation's number again
    later = pull(bench.workspace, server=bench.server)
    assert later.projects[0].new_versions == 1
    assert len(later.projects[0].vanished) == 2
    assert again

    client.request("deleting", "DELETE", f"api/projects/{bench.project}")
    emails = {email: user for user, email in client.emails().items()}
    client.request("deleting", "DELETE", f"api/users/{emails[ben.email]}")
    shutil.rmtree(bench.workspace.private_dir)
    kept = files(bench.workspace.annotations_dir)
    last = pull(bench.workspace, server=bench.server)
    assert last.vanished_projects == ["bench"]
    assert files(bench.workspace.annotations_dir) == kept
    assert len(load_tasks(bench.workspace)) == 3
    assert "vanished on the server" in "\n".join(last.lines())


def test_after_the_private_folder_is_lost_everyone_keeps_their_pseudonym(
    bench: Bench, ann: Account, ben: Account
) -> None:
    bench.say(ben, 0)
    bench.say(ann, 1)
    pull(bench.workspace, server=bench.server)
    archived = files(bench.workspace.annotations_dir)
    names = (bench.workspace.private_dir / "people.toml").read_text()
    shutil.rmtree(bench.workspace.private_dir)
    pull(bench.workspace, server=bench.server)
    assert files(bench.workspace.annotations_dir) == archived
    assert sorted((bench.workspace.private_dir / "people.toml").read_text().split()) == sorted(names.split())
    bench.say(ann, 2)
    with bench.workspace.open_store() as store:
        store.replace_candidates("tiny", "key", bench.candidates)
    report = pull(bench.workspace, server=bench.server)
    newest = archive.read(bench.workspace, report.projects[0].project)[-1]
    assert newest.annotator == "annotator-2"


def test_every_page_is_read(workspace: Workspace, label_studio: Server, ann: Account, make_candidate: Any) -> None:
    bench = Bench(workspace, label_studio, [make_candidate(number) for number in range(1, 1102)])
    for number in (0, 550, 1100):
        bench.say(ann, number)
    assert pull(workspace, server=label_studio).projects[0].new_versions == 3
    bench.say(ann, 700)
    report = pull(workspace, server=label_studio)  # only the changed task is read in full
    assert (report.projects[0].annotations, report.projects[0].new_versions) == (4, 1)


def test_tasks_that_others_made_are_left_alone(bench: Bench, ann: Account) -> None:
    client = bench.server.client()
    (foreign,) = client.import_tasks(bench.project, [{"data": {**dict.fromkeys(SHOWN, "x"), "scopes": []}}])
    client.request("annotating", "POST", f"api/tasks/{foreign}/annotations", body={"result": []})
    bench.say(ann, 0)
    report = pull(bench.workspace, server=bench.server)
    assert report.projects[0].foreign_tasks == 1
    assert report.projects[0].new_versions == 1
    assert push(bench.workspace, bench.candidates, server=bench.server).unchanged == 4


SHOWN = re.findall(r'"\$(\w+)"', configuration())


def test_the_archive_is_plain_json_lines(bench: Bench, ann: Account) -> None:
    bench.say(ann, 0, script="\u4f60\u597d")
    pull(bench.workspace, server=bench.server)
    (path,) = bench.workspace.annotations_dir.glob("*.jsonl")
    (line,) = path.read_text("utf-8").splitlines()
    assert json.loads(line)["output"] == "\u4f60\u597d"
    assert json.loads(line)["lead_time_s"] == 12.5
