"""Every rule finds its fault and leaves sound rows alone; a row's faults are told with where, what and a stable id."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchwright.core.cli import app
from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Example, Repository, Task
from benchwright.core.tasks import load_tasks, write_task
from benchwright.core.workspace import Workspace
from benchwright.curation.source import PinnedTree
from benchwright.validators.checks import (
    RULES,
    Context,
    Finding,
    Subject,
    check_dataset,
    check_examples,
    check_workspace,
    fix_dataset,
    fix_workspace,
    rules_page,
    selected,
)

README = "# Tiny\n\nTrain a small model on your words with the command below, it takes a minute.\n\n    python fit.py\n"
FILES = {
    "README.md": README,
    "fit.py": """
import argparse
from helpers import more
p = argparse.ArgumentParser()
p.add_argument("--rounds", type=int, default=3)
p.add_argument("--kind", choices=["wide", "deep"], default="wide")
p.add_argument("--out", required=True)
more(p)
p.parse_args()
""",
    "helpers.py": "def more(parser):\n    parser.add_argument('--words', default='w.txt')\n",
    "inner/run.py": "import sys\nprint(sys.argv)\n",
}
ROW: dict[str, Any] = {
    "github_id": 3,
    "github": "https://example.org/a/tiny",
    "repo_id": 1,
    "path": "./",
    "arguments": "{'rounds': '7', 'out': 'runs'}",
    "instruction": "Train the small model for 7 rounds and leave it in runs, please.",
    "oracle": README.partition("\n\n")[2],
    "type": "Bash Script",
    "id": 1,
    "prefix_code": "",
    "output": "python fit.py --rounds 7 --out runs",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> PinnedTree:
    folder = tmp_path_factory.mktemp("tiny")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *identity, *words], cwd=folder, env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    return PinnedTree(folder / ".git", git("rev-parse", "HEAD"))


def repository(tree: PinnedTree, **changes: Any) -> Repository:
    fields = {"name": "tiny", "url": ROW["github"], "commit": tree.commit, "github_id": 3, "license": "MIT", **changes}
    return Repository.load(fields, "test")


def found(rows: Iterable[dict[str, Any]], tree: PinnedTree, split: str = "full", **changes: Any) -> list[Finding]:
    context = Context({3: repository(tree, **changes)}, lambda _: tree, ("MIT",))
    subjects = [Subject(f"row {number}", row.get("split", split), row) for number, row in enumerate(rows, 1)]
    return list(check_examples(subjects, context, RULES.values()).findings)


def rules_of(findings: Iterable[Finding]) -> set[str]:
    return {finding.rule.id for finding in findings}


def test_a_sound_row_has_no_findings(tree: PinnedTree) -> None:
    assert found([ROW], tree) == []


PYTHON = {
    "type": "Python Code",
    "output": "from helpers import more\nmore(rounds=7, out='runs')\n",
}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"arguments": "{'rounds': 3 + 4}"}, {"BW003"}),
        ({"output": "import helpers\nhelpers.more(rounds=7, out='runs')"}, {"BW101", "BW102"}),
        ({"type": "Python Code"}, {"BW101", "BW102"}),
        ({"output": "./fit.py", "arguments": "{}"}, {"BW102", "BW302"}),
        ({**PYTHON, "output": "more(rounds=7, out='runs'\n"}, {"BW103"}),
        ({"output": "python fit.py --rounds 7 --out 'runs"}, {"BW103"}),
        ({"output": "$ python fit.py --rounds 7 --out runs"}, {"BW104"}),
        ({"prefix_code": "$ cd data"}, {"BW104"}),
        ({"prefix_code": "mkdir data/npip install words"}, {"BW105"}),
        ({"output": "python fit.py --rounds 70 --out runs"}, {"BW201"}),
        ({"output": "python fit.py --rounds 007 --out runs", "arguments": "{'rounds': '7.0'}"}, {"BW202"}),
        ({"instruction": "Train the small model and leave it in runs."}, {"BW203"}),
        ({"instruction": "Train for the rounds of 9 and leave it in runs."}, {"BW204"}),
        ({"instruction": "Train 7 rounds in runs at a rate of 0.01", "arguments": "{'lr': '0'}"}, {"BW201", "BW205"}),
        ({"instruction": "Train it, rounds 9, and leave it in runs."}, {"BW204"}),
        ({"instruction": "Train for 7.5 rounds and leave it in runs."}, {"BW205"}),
        ({"arguments": "{'kind': ''}"}, {"BW201", "BW206"}),
        ({"output": "python fit.py --rounds 7 --out runs --bogus 1"}, {"BW301"}),
        ({"output": "python fit.py --rounds 7", "arguments": "{'rounds': 7}"}, {"BW302"}),
        ({"output": "python fit.py --rounds 7 --out runs --kind thin"}, {"BW303"}),
        ({"output": "python fit.py --rounds 7 --out runs extra"}, {"BW303"}),
        ({"output": "python fit.py --round 7 --out runs"}, {"BW304"}),
        ({"output": "python fits.py --rounds 7 --out runs"}, {"BW305"}),
        ({**PYTHON, "output": "from inner.walk import go\ngo(rounds=7, out='runs')\n"}, {"BW305"}),
        ({"path": "./outer"}, {"BW306"}),
        ({"output": "python fit.py --rounds 7 --out runs --words /path/to/words.txt"}, {"BW307"}),
        ({"oracle": "Nothing of this text was ever written in any document there."}, {"BW503"}),
        ({"oracle": "Use the token hf_" + "aB3" * 12}, {"BW503", "BW601"}),
        ({"prefix_code": "git clone https://me:s3cretpass@example.org/a"}, {"BW601"}),
        ({"instruction": "Train 7 rounds in runs, it\u00e2\u0080\u0099s fine."}, {"BW602"}),
        ({"instruction": "Train 7 rounds in runs \ufffd."}, {"BW602"}),
        ({"output": "python fit.py --rounds 7\u00a0--out runs"}, {"BW603"}),
        ({"output": "python fit.py --rounds 7 --out runs\r\n"}, {"BW604"}),
    ],
)  # fmt: skip
def test_each_rule_finds_its_fault(tree: PinnedTree, changes: dict[str, Any], expected: set[str]) -> None:
    findings = found([{**ROW, **changes}], tree)
    assert expected <= rules_of(findings)
    assert rules_of(findings) - expected <= {"BW201", "BW202", "BW203", "BW303", "BW307", "BW302"}
    assert all((finding.github_id, finding.id) == (3, 1) for finding in findings)


@pytest.mark.parametrize(
    "changes",
    [
        PYTHON,
        {**PYTHON, "output": "import os.path\nimport inner.run\nfrom inner import run\nrun(rounds=7, out='runs')\n"},
        {"output": "torchrun --nproc_per_node 2 fit.py --rounds 7 --out runs"},
        {"output": "python fit.py --rounds 7 --out runs --words other.txt"},
        {"output": "cd inner && python run.py 7 runs", "arguments": "{'argument1': '7'}"},
        {"instruction": "Train for seven rounds and leave it in runs."},
        {"instruction": "Leave it in runs after 7 rounds; a batch size of 9 is not asked for."},
        {"prefix_code": "export A=1\necho '$5 a month'"},
        {"output": "python fit.py --rounds 7 --out runs # <br> path, it's fine"},
        {"output": "python fit.py --rounds 7 --out runs --words \"it's\" # a 'b"},
        {"output": "python fit.py --rounds 7 --out runs --words 'say \"x'"},
        {
            "output": "python fit.py --rounds 100 --out runs",
            "arguments": "{'rounds': '100'}",
            "instruction": "Train for a hundred rounds and leave it in runs.",
        },
    ],
)
def test_what_is_sound_is_left_alone(tree: PinnedTree, changes: dict[str, Any]) -> None:
    assert rules_of(found([{**ROW, **changes}], tree)) <= {"BW203"}


def test_a_secret_is_never_shown(tree: PinnedTree) -> None:
    token = "hf_" + "Zq9" * 12
    findings = found([{**ROW, "prefix_code": f"export T={token}"}], tree)
    assert "BW601" in rules_of(findings)
    assert token not in json.dumps([finding.as_json() for finding in findings])


def test_duplicates_near_duplicates_and_overlaps_are_found(tree: PinnedTree) -> None:
    near = ROW["instruction"].replace("please", "kindly").replace("the small", "the small and simple")
    long = " ".join(f"word{number}" for number in range(40))
    rows = [
        {**ROW, "split": "full"},
        {**ROW, "id": 2, "split": "full"},
        {**ROW, "id": 3, "split": "id_train", "instruction": near},
        {**ROW, "id": 4, "split": "full", "instruction": f"{long} 7 runs"},
        {**ROW, "id": 5, "split": "full", "instruction": f"{long} 7 runs now"},
        {**ROW, "id": 6, "split": "full", "output": "python fit.py --out runs --rounds 7"},
    ]
    findings = found(rows, tree)
    by_rule = {(finding.rule.id, finding.id) for finding in findings}
    assert {("BW401", 2), ("BW403", 3), ("BW402", 5), ("BW404", 6)} <= by_rule


def test_a_split_that_is_a_part_of_another_is_no_fault(tree: PinnedTree) -> None:
    assert found([{**ROW, "split": "full"}, {**ROW, "split": "quarter"}], tree) == []


def test_a_repeated_id_is_found(tree: PinnedTree) -> None:
    assert "BW002" in rules_of(found([ROW, {**ROW, "instruction": "Other 7 runs"}], tree))


@pytest.mark.parametrize(("licence", "expected"), [(None, {"BW501"}), ("GPL-3.0", {"BW502"}), ("mit", set())])
def test_licences_are_told_once_a_repository(tree: PinnedTree, licence: str | None, expected: set[str]) -> None:
    findings = found([ROW, {**ROW, "id": 2, "instruction": "7 rounds, in runs"}], tree, license=licence)
    assert rules_of(findings) == expected
    assert len(findings) == len(expected)


def test_without_the_repository_its_rules_are_left_out_and_said_so(tree: PinnedTree) -> None:
    def nowhere(_: Repository) -> PinnedTree:
        raise BenchwrightError("it is nowhere")

    context = Context({3: repository(tree)}, nowhere, ("MIT",))
    rows = [Subject("row 1", "full", {**ROW, "output": "python fits.py --rounds 7 --out runs"})]
    assert rules_of(check_examples(rows, context, RULES.values()).findings) == {"BW308"}


def test_rules_are_chosen_by_id_beginning_and_name() -> None:
    assert [rule.id for rule in selected(["BW201,BW101"], [])] == ["BW101", "BW201"]
    assert {rule.id[:3] for rule in selected(["bw3"], [])} == {"BW3"}
    assert [rule.id for rule in selected(["undefined-flag"], [])] == ["BW301"]
    assert "BW203" not in {rule.id for rule in selected([], ["BW2"])}
    with pytest.raises(BenchwrightError, match="no rule BW9"):
        selected(["BW9"], [])


def test_the_page_of_rules_is_what_the_rules_say() -> None:
    page = Path(__file__).parents[2] / "docs" / "rules.md"
    assert page.read_text("utf-8") == rules_page()


# files, workspaces, the command ----------------------------------------------------------------------------


def write_rows(path: Path, rows: Iterable[Any]) -> Path:
    lines = (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def test_rows_that_cannot_be_read_are_findings(tmp_path: Path) -> None:
    short = {key: value for key, value in ROW.items() if key != "oracle"}
    path = write_rows(tmp_path / "rows.jsonl", ["{", short, {**ROW, "id": "7"}, {**ROW, "type": "Perl"}, "[]"])
    report = check_dataset({"full": [path]}, [], list(RULES.values()), clones_dir=tmp_path)
    assert [finding.rule.id for finding in report.findings] == ["BW001"] * 5
    assert report.exit_code == 1
    assert [finding.where.rpartition(":")[2] for finding in report.findings] == ["1", "2", "3", "4", "5"]


def test_a_number_of_endless_digits_in_jsonl_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": ' + "9" * 5000 + "}\n")
    report = check_dataset({"full": [path]}, [], list(RULES.values()), clones_dir=tmp_path)
    assert [finding.rule.id for finding in report.findings] == ["BW001"]


def test_parquet_is_read_as_jsonl_is(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    row = {**ROW, "output": "python fit.py --rounds 8 --out runs"}
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pylist([row]), path)
    report = check_dataset({"full": [path]}, [], list(selected(["BW2"], [])), clones_dir=tmp_path)
    assert [finding.rule.id for finding in report.findings] == ["BW201", "BW202"]
    with pytest.raises(BenchwrightError, match="only JSONL"):
        fix_dataset(
            {"full": [path]},
            type(report)(1, (Finding(RULES["BW604"], "x", "y", 3, 1, {"output": "z"}, {"output": "w"}),)),
        )


def test_mending_a_dataset_changes_only_what_is_faulty(tmp_path: Path) -> None:
    rows = [ROW, {**ROW, "id": 2, "prefix_code": "$ cd data\r\n"}, {**ROW, "id": 3, "instruction": "7\u200b runs"}]
    path = write_rows(tmp_path / "rows.jsonl", rows)
    before = path.read_bytes().split(b"\n")
    rules = list(selected(["BW1", "BW6"], []))

    def check() -> Any:
        return check_dataset({"full": [path]}, [], rules, clones_dir=tmp_path)

    while check().count("warning") > 0:
        assert fix_dataset({"full": [path]}, check()) > 0
    after = path.read_bytes().split(b"\n")
    assert after[0] == before[0]
    assert json.loads(after[1])["prefix_code"] == "cd data\n"
    assert json.loads(after[2])["instruction"] == "7 runs"
    assert fix_dataset({"full": [path]}, check()) == 0


def add_task(workspace: Workspace, tree: PinnedTree, **changes: Any) -> None:
    workspace.save_repositories([repository(tree)])
    task = Task(name="fit", repository=repository(tree).ref_of(), type="Bash Script")
    fields = {"id": 1, "type": "Bash Script", "instruction": ROW["instruction"], "output": ROW["output"]}
    example = Example(**{**fields, "arguments": {"rounds": 7, "out": "runs"}, **changes})
    write_task(workspace, task, ROW["oracle"], [example])


def mirror(tree: PinnedTree) -> str:
    return f"file://{tree.git_dir}"


def test_a_workspace_is_checked_and_mended(workspace: Workspace, tree: PinnedTree) -> None:
    add_task(workspace, tree, output=ROW["output"] + "\r\n")
    rules = list(RULES.values())
    report = check_workspace(workspace, rules, mirrors=[mirror(tree)])
    assert rules_of(report.findings) == {"BW604"}
    assert report.exit_code == 0
    assert fix_workspace(workspace, report) == 1
    assert check_workspace(workspace, rules, mirrors=[mirror(tree)]).findings == ()
    (item,) = load_tasks(workspace)
    assert item.examples[0].output == ROW["output"] + "\n"


def test_withdrawn_examples_are_not_checked(workspace: Workspace, tree: PinnedTree) -> None:
    add_task(workspace, tree, output="python nowhere.py", yanked="wrong")
    assert check_workspace(workspace, list(RULES.values()), mirrors=[mirror(tree)]).findings == ()


def test_a_broken_task_is_a_finding_and_the_others_are_checked(workspace: Workspace, tree: PinnedTree) -> None:
    add_task(workspace, tree, output="python fits.py --rounds 7 --out runs")
    broken = workspace.tasks_dir / "tiny" / "zzz"
    broken.mkdir()
    (broken / "task.toml").write_text("name = 1\n")
    report = check_workspace(workspace, list(RULES.values()), mirrors=[mirror(tree)])
    assert rules_of(report.findings) == {"BW004", "BW305"}


def test_the_command_prints_findings_and_ends_with_one_for_errors(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.jsonl", [{**ROW, "output": "python fit.py --rounds 8 --out runs"}])
    run = CliRunner()
    done = run.invoke(app, ["check", str(path), "--select", "BW2", "--json"])
    assert done.exit_code == 1
    (error, warning) = json.loads(done.stdout)
    assert error == {
        "rule": "BW201",
        "severity": "error",
        "where": f"{path}:1",
        "message": "rounds: wanted '7', found '8' in --rounds",
        "fixable": False,
        "github_id": 3,
        "id": 1,
    }
    assert warning["rule"] == "BW202"
    done = run.invoke(app, ["check", str(path), "--select", "BW2", "--ignore", "BW201"])
    assert done.exit_code == 0
    assert "1 examples: 0 errors, 1 warnings" in done.stdout


def test_the_command_mends_a_workspace(workspace: Workspace, tree: PinnedTree) -> None:
    add_task(workspace, tree, output=ROW["output"] + "\r\n")
    done = CliRunner().invoke(app, ["--mirror", mirror(tree), "check", str(workspace.root), "--fix"])
    assert done.exit_code == 0, done.output
    assert "0 errors, 0 warnings" in done.stdout


def test_fixing_leaves_what_cannot_be_read_and_other_rows_of_the_same_number_alone(tmp_path: Path) -> None:
    path = tmp_path / "full.jsonl"
    first = {**ROW, "output": "python fit.py --rounds 3\r\n"}
    other = {**ROW, "output": "python fit.py --rounds 4\n"}
    lines = [json.dumps(first), "[1, 2]", '{"cut', "[" * 100_000, json.dumps(other), "", json.dumps(first)]
    path.write_bytes("\n".join(lines).encode() + b"\n\xff\xfe\n")
    report = check_dataset({"full": [path]}, [], selected(["BW6"], ()), clones_dir=tmp_path)
    assert fix_dataset({"full": [path]}, report) == 1
    after = path.read_bytes().split(b"\n")
    assert after[1:6] == [line.encode() for line in lines[1:6]]
    assert after[-2:] == [b"\xff\xfe", b""]
    assert [json.loads(after[at])["output"] for at in (0, 4, 6)] == [
        "python fit.py --rounds 3\n",
        "python fit.py --rounds 4\n",
        "python fit.py --rounds 3\n",
    ]
