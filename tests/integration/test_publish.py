"""Publishing as a release manager does it: the command line in its own process against a double of the Hub."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.export.checksums import write_sums

from .hub_reader import REPOSITORY, load, local, rename_configuration

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.mark.parametrize("xet", [False, True], ids=["lfs", "xet"])
def test_a_second_version_replaces_main_whole_and_the_first_tag_still_loads(
    xet: bool, start_hub: Callable[..., Any], make_publisher: Callable[..., Any], tmp_path: Path
) -> None:
    double = start_hub(xet=xet)
    publisher = make_publisher(double)
    first = local(publisher.workspace.root / "releases" / "0.1.0")
    receipt = publisher.publish()["receipt"]
    assert receipt["state"] == "published"
    rows = {(item["config"], item["split"]): item["rows"] for item in receipt["read_back"]}
    assert (rows["default", "full"], rows["default", "quarter"]) == (12, 3)
    assert load(publisher, tmp_path / "one", "v0.1.0") == first

    assert publisher.run("release", "yank", "adder/7", "--reason", "the sum is wrong")["already"] is False
    path = publisher.workspace.tasks_dir / "adder" / "add" / "examples.jsonl"
    path.write_text(path.read_text().replace("Add 5 and 25,", "Sum up 5 and 25,"))
    publisher.configure('version = "0.1.0"', 'version = "0.2.0"')
    rename_configuration(publisher.release(), "data", "tasks")
    plan = publisher.publish("--dry-run")["plan"]
    assert sorted(plan["difference"]["removed"]) == [
        "data/full-00000-of-00001.parquet",
        "data/quarter-00000-of-00001.parquet",
    ]
    publisher.publish()

    dataset = double.datasets[REPOSITORY]
    assert not [path for path in dataset.files("v0.2.0") if path.startswith("data/")]
    assert [path for path in dataset.files("v0.1.0") if path.startswith("data/")]
    assert dataset.files("main") == dataset.files("v0.2.0")
    assert len(dataset.history_of_main) == 3  # the first commit, and one for each version
    second = load(publisher, tmp_path / "two", "v0.2.0", "tasks")
    assert second == local(publisher.workspace.root / "releases" / "0.2.0", "tasks")
    assert 7 not in [row["id"] for row in second["full"]]
    assert "Sum up 5 and 25, and print the sum." in [row["instruction"] for row in second["full"]]
    assert load(publisher, tmp_path / "three", "v0.1.0") == first


def test_a_dry_run_changes_nothing(start_hub: Callable[..., Any], make_publisher: Callable[..., Any]) -> None:
    double = start_hub()
    publisher = make_publisher(double)
    before = {path: path.read_bytes() for path in publisher.workspace.root.rglob("*") if path.is_file()}
    plan = publisher.publish("--dry-run")["plan"]
    assert plan["creates_repository"] is True
    assert plan["account"] == "tester"
    assert double.datasets == {}
    assert {method for method, _path, _status in double.log} == {"GET"}
    assert {path: path.read_bytes() for path in publisher.workspace.root.rglob("*") if path.is_file()} == before


def test_publishing_twice_changes_nothing_the_second_time(
    start_hub: Callable[..., Any], make_publisher: Callable[..., Any]
) -> None:
    double = start_hub()
    publisher = make_publisher(double)
    first = publisher.publish()["receipt"]
    dataset = double.datasets[REPOSITORY]
    commits = list(dataset.commits)
    double.forget_requests()
    again = publisher.publish()
    assert again["plan"]["published"] is True
    assert again["receipt"] == first
    assert list(dataset.commits) == commits
    assert {method for method, _path, _status in double.log} == {"GET"}
    (publisher.workspace.root / "releases" / "receipts" / "v0.1.0.json").unlink()  # a fresh clone without it
    found = publisher.publish()["receipt"]
    assert found["commit"] == first["commit"]
    assert found["read_back"] == first["read_back"]
    assert list(dataset.commits) == commits


def test_a_dataset_that_was_deleted_is_published_again(
    start_hub: Callable[..., Any], make_publisher: Callable[..., Any]
) -> None:
    double = start_hub()
    publisher = make_publisher(double)
    publisher.publish()
    del double.datasets[REPOSITORY]
    assert publisher.publish()["receipt"]["state"] == "published"
    dataset = double.datasets[REPOSITORY]
    assert dataset.tags == {"v0.1.0": dataset.branches["main"]}


def test_a_tag_never_moves(start_hub: Callable[..., Any], make_publisher: Callable[..., Any]) -> None:
    double = start_hub()
    publisher = make_publisher(double)
    commit = publisher.publish()["receipt"]["commit"]
    path = publisher.workspace.tasks_dir / "adder" / "add" / "examples.jsonl"
    path.write_text(path.read_text().replace("Add 5 and 25,", "Sum up 5 and 25,"))
    publisher.release()
    error = publisher.publish(expect=2)["error"]
    assert "a tag never moves" in error["message"]
    assert "raise version" in error["remedy"]
    dataset = double.datasets[REPOSITORY]
    assert dataset.tags == {"v0.1.0": commit}
    assert len(dataset.requests) == 1


def test_visibility_and_gating_are_set_and_a_public_dataset_opens_only_at_the_end(
    start_hub: Callable[..., Any], make_publisher: Callable[..., Any], trouble: Any
) -> None:
    double = start_hub()
    publisher = make_publisher(double)
    publisher.configure('# visibility = "public"', 'visibility = "public"')
    publisher.configure('# gated = "manual"', 'gated = "manual"')
    seen = []

    def watch(_number: int, method: str, path: str) -> None:
        dataset = double.datasets.get(REPOSITORY)
        if dataset and method == "POST" and "/settings" not in path:
            seen.append(dataset.private)

    double.trouble = watch
    receipt = publisher.publish()["receipt"]
    assert (receipt["visibility"], receipt["gated"]) == ("public", "manual")
    dataset = double.datasets[REPOSITORY]
    assert (dataset.private, dataset.gated) == (False, "manual")
    assert seen
    assert all(seen)
    double.trouble = lambda _number, _method, _path: None
    publisher.configure('visibility = "public"', 'visibility = "private"')
    assert publisher.publish()["receipt"]["visibility"] == "private"
    assert dataset.private is True


def test_what_cannot_be_loaded_back_never_reaches_main(
    start_hub: Callable[..., Any], make_publisher: Callable[..., Any]
) -> None:
    """A card whose numbers are not the files' makes the dataset unloadable for everyone."""
    double = start_hub()
    publisher = make_publisher(double)
    folder = publisher.workspace.root / "releases" / "0.1.0"
    card = folder / "README.md"
    right = card.read_text()
    assert "num_examples: 12" in right
    card.write_text(right.replace("num_examples: 12", "num_examples: 13"))
    write_sums(folder)
    error = publisher.publish(expect=2)["error"]
    assert "numbers of rows" in error["message"]
    dataset = double.datasets[REPOSITORY]
    assert len(dataset.history_of_main) == 1
    assert dataset.tags == {}
    card.write_text(right)
    write_sums(folder)
    assert publisher.publish()["receipt"]["pull_request"] == 1
    assert dataset.files("main") == dataset.files("v0.1.0")


def test_a_file_that_arrives_garbled_is_no_success(
    start_hub: Callable[..., Any], make_publisher: Callable[..., Any]
) -> None:
    double = start_hub()
    publisher = make_publisher(double)
    read = double.large.read
    double.large.read = lambda sha256: read(sha256)[:-1] + b"?"
    error = publisher.publish(expect=2)["error"]
    assert error["remedy"]
    assert len(double.datasets[REPOSITORY].history_of_main) == 1
    double.large.read = read
    assert publisher.publish()["receipt"]["pull_request"] == 1


def test_a_main_that_moved_is_not_merged_over(
    start_hub: Callable[..., Any], make_publisher: Callable[..., Any], trouble: Any
) -> None:
    double = start_hub()
    publisher = make_publisher(double)

    def somebody_commits(_number: int, method: str, path: str) -> None:
        dataset = double.datasets.get(REPOSITORY)
        if method == "POST" and "/commit/" in path and dataset and len(dataset.history_of_main) == 1:
            files = dict(dataset.commits[dataset.branches["main"]].tree)
            files["notes.txt"] = files[".gitattributes"]
            dataset.move_main(dataset.commit(dataset.branches["main"], files, "a note"))

    double.trouble = somebody_commits
    error = publisher.publish(expect=2)["error"]
    assert "main has moved" in error["message"]
    assert "close pull request 1" in error["remedy"]
    dataset = double.datasets[REPOSITORY]
    assert "tasks.jsonl" not in dataset.files("main")
    dataset.requests[1].status = "closed"
    assert publisher.publish()["receipt"]["pull_request"] == 2
    assert "notes.txt" not in dataset.files("main")


def test_a_strangers_pull_request_of_the_same_title_is_not_continued(
    start_hub: Callable[..., Any], make_publisher: Callable[..., Any]
) -> None:
    double = start_hub()
    publisher = make_publisher(double)
    publisher.publish()
    dataset = double.datasets[REPOSITORY]
    request = type(dataset.requests[1])
    dataset.requests[2] = request("Release v0.2.0", "take mine", "stranger", dataset.branches["main"])
    publisher.configure('version = "0.1.0"', 'version = "0.2.0"')
    publisher.release()
    assert publisher.publish()["receipt"]["pull_request"] == 3
    assert dataset.requests[2].head == dataset.history_of_main[1]


@pytest.mark.parametrize(
    ("token", "says"),
    [("hf_reader", "may not write"), ("hf_stranger", "is no member of tester"), ("hf_wrong", "401")],
)
def test_a_token_that_may_not_write_is_refused_before_anything_happens(
    token: str, says: str, start_hub: Callable[..., Any], make_publisher: Callable[..., Any]
) -> None:
    double = start_hub()
    publisher = make_publisher(double, token=token)
    error = publisher.publish(expect=2)["error"]
    assert says in error["message"]
    assert "token" in error["remedy"] or "log in" in error["remedy"]
    assert double.datasets == {}


def test_without_a_token_it_says_how_to_get_one(
    start_hub: Callable[..., Any], make_publisher: Callable[..., Any]
) -> None:
    double = start_hub()
    publisher = make_publisher(double)
    del publisher.env["HF_TOKEN"]
    error = publisher.publish(expect=2)["error"]
    assert "no token" in error["message"]
    assert "hf auth login" in error["remedy"]
    assert double.log == []


def test_a_dry_run_shows_what_can_be_known_and_what_is_missing(
    start_hub: Callable[..., Any], make_publisher: Callable[..., Any]
) -> None:
    double = start_hub()
    publisher = make_publisher(double)
    del publisher.env["HF_TOKEN"]
    publisher.configure(f'repository = "{REPOSITORY}"', "")
    process = publisher.start("release", "publish", "--dry-run")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 2, err
    plan = json.loads(out)["plan"]
    assert (plan["tag"], plan["repository"]) == ("v0.1.0", None)
    assert plan["splits"]["default"] == ["full", "quarter"]
    assert plan["files"] > 20
    assert [item.split(":")[0] for item in plan["missing"]] == ["a dataset to publish to", "a token for the Hub"]
    assert double.log == []


def test_the_hubs_own_store_gives_the_token(start_hub: Callable[..., Any], make_publisher: Callable[..., Any]) -> None:
    double = start_hub()
    publisher = make_publisher(double)
    home = Path(publisher.env["HF_HOME"])
    home.mkdir(parents=True)
    (home / "token").write_text(publisher.env.pop("HF_TOKEN"))
    assert publisher.publish()["receipt"]["state"] == "published"


def test_a_short_lived_token_publishes_to_a_dataset_that_trusts_the_job(
    start_hub: Callable[..., Any], make_publisher: Callable[..., Any]
) -> None:
    double = start_hub()
    publisher = make_publisher(double)
    publisher.publish()
    publisher.configure('version = "0.1.0"', 'version = "0.2.0"')
    publisher.release()
    double.accounts["hf_jwt_short"] = {"name": "tester", "role": "write", "orgs": {}, "scoped": True}
    double.identity_tokens["identity-of-the-job"] = "hf_jwt_short"
    del publisher.env["HF_TOKEN"]
    publisher.env |= {"HF_OIDC_ID_TOKEN": "identity-of-the-job", "HF_OIDC_RESOURCE": "datasets/tester/other"}
    assert "is for datasets/tester/other" in publisher.publish(expect=2)["error"]["message"]
    publisher.env["HF_OIDC_RESOURCE"] = f"datasets/{REPOSITORY}"
    assert publisher.publish()["receipt"]["state"] == "published"
    assert "hf_jwt_short" not in publisher.output
    assert "identity-of-the-job" not in publisher.output


def test_a_token_appears_nowhere(
    start_hub: Callable[..., Any], make_publisher: Callable[..., Any], trouble: Any, tmp_path: Path
) -> None:
    """Not when all goes well, not when the Hub repeats it in its errors, and in no file, here or on the Hub."""
    planted = "hf_PlantedTokenThatMustNotLeak"
    double = start_hub()
    double.accounts[planted] = double.accounts["hf_writer"]
    publisher = make_publisher(double, token=planted)
    answers = [trouble(400, {"X-Error-Message": f"bad token {planted}"}), trouble(401, {"X-Error-Message": planted})]
    for answer in answers:
        for part in ("whoami", "preupload", "/commit/", "/discussions", "/resolve/", "/tree/"):

            def fails(_number: int, _method: str, path: str, part: str = part, answer: Any = answer) -> Any:
                return answer if part in path else None

            double.trouble = fails
            publisher.output += "".join(publisher.start("release", "publish").communicate(timeout=120))
    double.trouble = lambda _number, _method, _path: None
    publisher.publish()
    publisher.run("release", "yank", "0.1.0", "--reason", "a test")
    publisher.run("release", "yank", "adder/7", "--reason", "a test")
    assert publisher.output.count("the Hub answered 40") >= 8
    assert planted not in publisher.output
    files = [path for path in tmp_path.rglob("*") if path.is_file()]  # workspace, release, receipt, caches, the Hub's
    assert publisher.workspace.root / "releases" / "receipts" / "v0.1.0.json" in files
    assert not [path for path in files if planted.encode() in path.read_bytes()]
    commits = double.datasets[REPOSITORY].commits.values()
    assert not [
        path for commit in commits for path, blob in commit.tree.items() if planted.encode() in (blob.content or b"")
    ]


def test_a_withdrawn_version_is_marked_and_its_tag_stays(
    start_hub: Callable[..., Any], make_publisher: Callable[..., Any]
) -> None:
    double = start_hub()
    publisher = make_publisher(double)
    publisher.publish()
    dataset = double.datasets[REPOSITORY]
    before = dataset.files("v0.1.0")
    assert publisher.run("release", "yank", "v0.1.0", "--reason", "three rows are wrong")["already"] is False
    assert dataset.files("v0.1.0") == before
    tree = dataset.commits[dataset.branches["main"]].tree
    assert "three rows are wrong" in tree["YANKED.md"].content.decode()
    assert "v0.1.0 is withdrawn" in tree["README.md"].content.decode()
    assert publisher.receipt()["yanked"]["reason"] == "three rows are wrong"
    assert publisher.run("release", "yank", "0.1.0", "--reason", "again")["already"] is True

    publisher.configure('version = "0.1.0"', 'version = "0.2.0"')
    publisher.release()
    publisher.publish()
    assert "YANKED.md" in dataset.files("main")
    assert "withdrawn" not in dataset.commits[dataset.branches["main"]].tree["README.md"].content.decode()
    missing = publisher.run("release", "yank", "9.9.9", "--reason", "x", expect=2)["error"]
    assert "there is no version v9.9.9" in missing["message"]


def test_a_changed_release_folder_is_not_published(
    start_hub: Callable[..., Any], make_publisher: Callable[..., Any]
) -> None:
    double = start_hub()
    publisher = make_publisher(double)
    folder = publisher.workspace.root / "releases" / "0.1.0"
    (folder / "secret.env").write_text("not part of it")
    assert "secret.env" in publisher.publish(expect=2)["error"]["message"]
    (folder / "secret.env").unlink()
    (folder / "tasks.jsonl").write_text("{}\n")
    assert "changed after the release was built" in publisher.publish(expect=2)["error"]["message"]
    shutil.rmtree(folder)
    assert "release build" in publisher.publish(expect=2)["error"]["remedy"]
    assert double.log == []
