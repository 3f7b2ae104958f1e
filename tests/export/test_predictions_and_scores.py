from __future__ import annotations

import hashlib
import json
import subprocess
import sys

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Outcome, OutcomeKind, Output
from benchwright.export.evaluation import mlbench
from benchwright.export.evaluation.metrics import pass_at_k
from benchwright.export.evaluation.predictions import VARYING, read_predictions
from benchwright.export.evaluation.score import Sample, examine, with_outcome
from benchwright.export.evaluation.scores import Material, protocol_report
from benchwright.export.rows import row_of

CLI = "from benchwright.core.cli import main; main()"


@pytest.fixture
def write_predictions(tmp_path):
    def write(*lines):
        path = tmp_path / "predictions.jsonl"
        path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
        return path

    return write


def line(number, *outputs, github_id=31):
    return {"github_id": github_id, "id": number, "output": list(outputs)}


# predictions -----------------------------------------------------------------------------------------------


def test_missing_samples_are_none_up_to_the_declared_number(write_predictions):
    path = write_predictions(line(1, "a", "b", "c"), line(2, "d", None))
    found = read_predictions(path, [(31, 1), (31, 2), (31, 3)])
    assert found.samples == {(31, 1): ("a", "b", "c"), (31, 2): ("d", None, None), (31, 3): (None, None, None)}
    assert found.declared == 3


def test_the_declared_number_decides(write_predictions):
    path = write_predictions(line(1, "a", "b", "c"))
    assert read_predictions(path, [(31, 1)], 2).samples == {(31, 1): ("a", "b")}
    assert read_predictions(path, [(31, 1)], 2).ignored == 1
    assert read_predictions(path, [(31, 1)], 5).samples == {(31, 1): ("a", "b", "c", None, None)}


def test_varying_takes_each_examples_own_number_and_at_least_one(write_predictions):
    path = write_predictions(line(1, "a", "b"), line(2, "c"))
    found = read_predictions(path, [(31, 1), (31, 2), (31, 3)], VARYING)
    assert [len(samples) for samples in found.samples.values()] == [2, 1, 1]
    assert found.declared is None


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([line(1, "a"), line(1, "b")], r":2: the example 31/1 stood on line 1"),
        ([line(7, "a")], r"no example 31/7 \(line 1\)"),
        ([line(1, "a", github_id=99)], "no example 99/1"),
        (["{not json"], ":1: not a line of JSON"),
        (["[]"], "not a JSON object"),
        ([{"github_id": "31", "id": 1, "output": ["a"]}], "github_id is missing or no integer"),
        ([{"github_id": 31, "id": True, "output": ["a"]}], "id is missing or no integer"),
        ([{"github_id": 31, "id": 1, "output": "a"}], "no list of texts"),
        ([{"github_id": 31, "id": 1, "output": [1]}], "no list of texts"),
        ([{"github_id": 31, "id": 1}], "no list of texts"),
        ([], "no prediction in it"),
        ([line(1)], "no example has a sample"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(write_predictions, lines, said):
    with pytest.raises(BenchwrightError, match=said):
        read_predictions(write_predictions(*lines), [(31, 1)])


# both protocols on one sample -------------------------------------------------------------------------------


@pytest.fixture
def row(make_row):
    return lambda **changes: row_of(make_row(**changes), "test")


def outcome(kind="passed", **fields):
    return Outcome(outcome=OutcomeKind(kind), **fields)


@pytest.mark.parametrize(
    ("arguments", "text", "rule"),
    [
        ("{'lr': '0.5'}", "python a.py --lr 0.5 ", None),
        ("{'lr': '0.5'}", "python a.py --lr 0.4 ", "arguments"),
        ("{'lr': '0.001'}", "python a.py --lr 1e-3 ", "arguments"),
        ("{'epochs': 300, 'lr': 0.001}", "python a.py --epochs 0.001 --lr 300 ", None),
        ("{'lr': '0'}", "python a.py --gpu 0 --lr 0.5 ", None),
        ("{'model': 'ResNet'}", "python a.py --model RESNET ", None),
        ("{}", "python a.py", "type"),
        ("{}", "bash a.sh x", None),
    ],
)
def test_the_published_text_rules_are_reproduced_with_their_faults(row, arguments, text, rule):
    assert examine(row(arguments=arguments), 0, text).ml_bench.rule == rule


def test_an_empty_python_sample_passes_the_published_type_rule_and_is_no_code_in_ours(row):
    sample = examine(row(arguments="{}", type="Python Code"), 0, "")
    assert sample.ml_bench == mlbench.Verdict(None, None)
    assert (sample.outcome, sample.runs) == ("no_code", "")


@pytest.mark.parametrize(
    ("changes", "seen", "published"),
    [
        ({}, outcome(exit_code=0, shell_exit_code=0), (True, None)),
        ({}, outcome("failed", exit_code=1, shell_exit_code=1), (False, "exit_code")),
        ({}, outcome("failed", exit_code=2, shell_exit_code=0), (True, None)),
        ({}, outcome("failed", exit_code=1, shell_exit_code=1, output=Output(bytes=200_000)), (True, "unread_pipe")),
        ({}, outcome("timed_out", duration_s=60), (True, "time_limit")),
        ({}, outcome("failed", exit_code=1, shell_exit_code=1, duration_s=11), (True, "time_limit")),
        ({}, outcome("failed", exit_code=1, shell_exit_code=1, duration_s=5), (False, "exit_code")),
        (
            {"github": "https://e.org/x/vid2vid"},
            outcome("failed", shell_exit_code=1, duration_s=5),
            (True, "time_limit"),
        ),
        ({}, outcome("infrastructure"), (None, None)),
    ],
)
def test_the_published_verdict_follows_from_the_same_evidence(row, changes, seen, published):
    text = "python a.py --lr 1 "
    example = row(arguments="{}", output="python a.py", **changes)
    sample = with_outcome(examine(example, 0, text), example, text, seen)
    assert (sample.ml_bench.passed, sample.ml_bench.rule) == published
    assert sample.outcome == seen.outcome.value


def test_timms_python_has_seven_seconds(row):
    timm = "https://github.com/huggingface/pytorch-image-models"
    assert mlbench.time_limit(row(github=timm, type="Python Code")) == 7
    assert mlbench.time_limit(row(github=timm)) == 10


def test_a_missing_sample_fails_in_both(row):
    sample = examine(row(), 0, None)
    assert (sample.outcome, sample.ml_bench.passed) == ("missing", False)


def test_code_of_the_wrong_type_is_named(row):
    assert examine(row(type="Python Code"), 0, "python train.py --lr 0.5").outcome == "wrong_type"
    assert examine(row(), 0, "```python\nimport kettle\nkettle.boil(1)\n```").outcome == "wrong_type"


# reports ---------------------------------------------------------------------------------------------------


def sample(key, index, kind, published=True):
    return Sample(key, index, kind, "", "x", "whole_answer", mlbench.Verdict(published, None), "x")


def material(rows, verdicts, *, gold=None, declared=None):
    samples = {
        row.key: [sample(row.key, i, kind, kind == "passed") for i, kind in enumerate(kinds)]
        for row, kinds in zip(rows, verdicts, strict=True)
    }
    passes = {row.key: {"strict": True, "ml-bench": True} for row in rows} | (gold or {})
    return Material(rows, {31: "kettle", 32: "lantern"}, len(rows), samples, passes, declared)


def counts(right, n):
    return ["passed"] * right + ["failed"] * (n - right)


def test_pass_at_k_is_the_mean_over_examples(row):
    rows = [row(number=i) for i in (1, 2, 3)]
    found = protocol_report(material(rows, [counts(1, 5), counts(0, 5), counts(5, 5)]), "strict")["pass_at_k"]
    assert found["1"]["value"] == pytest.approx(2 / 5)
    assert found["2"]["value"] == pytest.approx((pass_at_k(5, 1, 2) + 0 + 1) / 3)
    assert found["5"]["value"] == pytest.approx(2 / 3)


def test_where_n_is_below_k_there_is_no_mean_and_it_is_said_how_many_have_one(row):
    rows = [row(number=i) for i in range(1, 7)]
    cases = [(1, 5), (0, 5), (5, 5), (3, 10), (0, 2), (1, 1)]
    found = protocol_report(material(rows, [counts(*case) for case in cases]), "strict")["pass_at_k"]
    assert found["1"]["value"] == pytest.approx((1 / 5 + 0 + 1 + 3 / 10 + 0 + 1) / 6)
    assert found["2"] == {"value": None, "low": None, "high": None, "where_defined": {"value": 29 / 75, "examples": 5}}
    assert found["5"]["value"] is None
    assert found["5"]["where_defined"] == {"value": 35 / 48, "examples": 4}


def test_a_missing_sample_is_a_failure_in_the_denominator(row):
    found = protocol_report(material([row(number=1), row(number=2)], [["passed"], ["missing"]]), "strict")
    assert found["examples"] == {"release": 2, "gold_passes_here": 2, "graded": 2}
    assert found["pass_at_k"]["1"]["value"] == 0.5
    assert found["outcomes"] == {"missing": 1, "passed": 1}


def test_what_the_machine_spoilt_is_neither_pass_nor_failure(row):
    found = protocol_report(material([row(number=1), row(number=2)], [["passed"], ["infrastructure"]]), "strict")
    assert found["examples"]["graded"] == 1
    assert found["pass_at_k"]["1"]["value"] == 1
    assert found["left_out"] == {"infrastructure": ["31/2"]}


def test_an_example_whose_gold_does_not_pass_here_is_not_graded_and_is_listed(row):
    rows = [row(number=1), row(number=2)]
    gold = {(31, 2): {"strict": False, "ml-bench": False}}
    found = protocol_report(material(rows, [["failed"], ["passed"]], gold=gold), "strict")
    assert found["examples"] == {"release": 2, "gold_passes_here": 1, "graded": 1}
    assert found["left_out"] == {"gold does not pass here": ["31/2"]}


def test_all_invalid_is_zero_and_nothing_graded_is_no_number(row):
    assert protocol_report(material([row()], [["no_code"]]), "strict")["pass_at_k"]["1"]["value"] == 0
    nothing = protocol_report(material([row()], [["infrastructure"]]), "strict")["pass_at_k"]["1"]
    assert nothing == {"value": None, "low": None, "high": None}


def test_the_published_figure_drops_examples_without_all_samples_and_says_which(row):
    rows = [row(number=1), row(number=2)]
    found = protocol_report(material(rows, [["failed", "passed"], ["passed", "missing"]]), "ml-bench")
    assert found["left_out"] == {"not as many samples as declared": ["31/2"]}
    assert found["pass_at_k"]["1"]["value"] == 0
    assert found["pass_at_k"]["2"]["value"] == 1


def test_each_repository_and_type_has_its_own_figures(row):
    rows = [row(number=1), row(number=1, github_id=32), row(number=2, github_id=32, type="Python Code")]
    found = protocol_report(material(rows, [["passed"], ["failed"], ["passed"]]), "strict")
    assert {name: part["pass_at_k"]["1"]["value"] for name, part in found["repositories"].items()} == {
        "kettle": 1,
        "lantern": 0.5,
    }
    assert found["types"]["Bash Script"]["examples"]["release"] == 2


# the command -----------------------------------------------------------------------------------------------


def run(*words, code=0):
    done = subprocess.run([sys.executable, "-c", CLI, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done


def test_evaluating_without_execution_writes_results_and_shares(make_row, write_rows, write_predictions, tmp_path):
    rows = write_rows([make_row(1), make_row(2, arguments="{}"), make_row(3, type="Python Code"), make_row(4)])
    predictions = write_predictions(
        line(1, "```bash\npython train.py --lr 0.5 --epochs 3 \n```", "I'm sorry, I cannot."),
        line(2, "python train.py"),
        line(3, "python train.py --lr 0.5 --epochs 3 "),
        line(4, "python train.py --lr 0.4 --epochs 3 # 0.5 "),
    )
    run("evaluate", rows, predictions, "--no-execute", "-o", tmp_path / "run")
    lines = [json.loads(text) for text in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    assert [(found["id"], found["sample"], found["outcome"], found["ml_bench"]["rule"]) for found in lines] == [
        (1, 0, "not_executed", None),
        (1, 1, "no_code", "arguments"),
        (2, 0, "not_executed", "type"),
        (2, 1, "missing", "missing"),
        (3, 0, "wrong_type", "type"),
        (3, 1, "missing", "missing"),
        (4, 0, "wrong_arguments", None),
        (4, 1, "missing", "missing"),
    ]
    assert "lr: wanted '0.5', found '0.4' in --lr" in lines[6]["detail"]
    assert set(lines[0]) == {"github_id", "id", "sample", "outcome", "detail", "code", "code_rule", "ml_bench", "error"}
    assert [found["error"] and found["error"]["rule"] for found in lines] == [
        None, "refusal", None, "missing", "other_language", "missing", "other_value", "missing",
    ]  # fmt: skip
    answers = [json.loads(text) for text in (tmp_path / "run" / "samples.jsonl").read_text().splitlines()]
    assert answers[1]["arguments"] is None
    assert answers[6]["arguments"] == [
        {"name": "lr", "wanted": "0.5", "found": "0.4", "met": False},
        {"name": "epochs", "wanted": "3", "found": None, "met": True},
    ]
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    strict = report["protocols"]["strict"]
    assert strict["errors"] == {"gave_up": 4, "hallucination": 1, "misuse": 1}
    assert report["headline"] == "strict"
    assert strict["pass_at_k"] is None
    assert strict["examples"] == {"release": 4, "gold_passes_here": None, "graded": 4}
    assert strict["shares"] == pytest.approx({"given": 5 / 8, "code": 4 / 8, "type": 3 / 8, "arguments": 2 / 8})
    assert [(item["id"], item["sample"]) for item in report["differences"]] == [(2, 0), (4, 0)]


def test_the_number_that_predict_asked_for_is_the_declared_one(make_row, write_rows, write_predictions, tmp_path):
    rows, predictions = write_rows([make_row(1)]), write_predictions(line(1, "python train.py --lr 0.5 --epochs 3"))
    digest = hashlib.sha256(predictions.read_bytes()).hexdigest()
    record = {"schema_version": 1, "samples": 5, "complete": False, "predictions_sha256": digest}
    predictions.with_name(f"{predictions.name}.meta.json").write_text(json.dumps(record))
    run("evaluate", rows, predictions, "--no-execute", "-o", tmp_path / "run")
    lines = [json.loads(text) for text in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    assert [found["outcome"] for found in lines] == ["not_executed", *["missing"] * 4]
    predictions.write_text(predictions.read_text() + "\n")
    done = run("evaluate", rows, predictions, "--no-execute", "-o", tmp_path / "run")
    assert "was changed since predict wrote it" in done.stderr


def test_judging_again_where_nothing_was_executed_says_so(make_row, write_rows, write_predictions, tmp_path):
    rows, predictions = write_rows([make_row(1, commit="a" * 40)]), write_predictions(line(1, "python train.py"))
    done = run("evaluate", rows, predictions, "--regrade", "-o", tmp_path / "run", code=2)
    assert "no recorded executions" in done.stderr
    assert not (tmp_path / "run" / "report.json").exists()


def test_runs_without_executions_are_not_compared(make_row, write_rows, write_predictions, tmp_path):
    rows, predictions = write_rows([make_row(1)]), write_predictions(line(1, "python train.py --lr 0.5 --epochs 3"))
    run("evaluate", rows, predictions, "--no-execute", "-o", tmp_path / "run")
    done = run("report", tmp_path / "run", tmp_path / "run", "--compare", code=2)
    assert "nothing was executed in this run" in done.stderr


def test_limit_takes_the_first_examples_and_keeps_the_size_of_the_release(
    make_row, write_rows, write_predictions, tmp_path
):
    rows = write_rows([make_row(number) for number in (1, 2, 3)])
    predictions = write_predictions(line(1, "x"), line(3, "python train.py --lr 0.5 --epochs 3"))
    run("--json", "evaluate", rows, predictions, "--no-execute", "--limit", 2, "-o", tmp_path / "run")
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["protocols"]["strict"]["examples"]["release"] == 3
    assert len((tmp_path / "run" / "results.jsonl").read_text().splitlines()) == 2


def test_repository_and_type_choose_examples_and_the_size_of_the_release_stays(
    make_row, write_rows, write_predictions, tmp_path
):
    other = {"github": "https://e.org/x/samovar"}
    rows = write_rows([make_row(1), make_row(2, 32, **other), make_row(3, 32, type="Python Code", **other)])
    predictions = write_predictions(line(1, "python train.py"))
    words = ("--json", "evaluate", rows, predictions, "--no-execute", "-o", tmp_path / "run")
    run(*words, "--repository", "samovar", "--type", "bash")
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["protocols"]["strict"]["examples"]["release"] == 3
    lines = [json.loads(text) for text in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    assert [(found["github_id"], found["id"]) for found in lines] == [(32, 2)]
    assert "no repository 'teapot'" in run(*words, "--repository", "teapot", code=2).stderr


def test_wrong_use_is_said_without_a_traceback(make_row, write_rows, write_predictions, tmp_path):
    rows, predictions = write_rows([make_row(1)]), write_predictions(line(1, "x"))
    for words in (
        ("evaluate", tmp_path / "nothing", predictions),
        ("evaluate", rows, tmp_path / "nothing.jsonl"),
        ("evaluate", rows, predictions, "--samples", "many"),
    ):
        done = run(*words, code=2)
        assert done.stderr.startswith("error: ")
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--samples", "99999999999999999999"], "at most"),
        (["--samples", "000"], "number"),
        (["--samples", "9" * 5000], "at most"),
        (["--regrade", "--no-execute"], "exclude each other"),
        (["--regrade", "--dry-run"], "exclude each other"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_options_that_make_no_sense_are_refused_in_one_message(make_row, write_rows, write_predictions, words, says):
    rows, predictions = write_rows([make_row(1)]), write_predictions(line(1, "a"))
    program = [sys.executable, "-P", "-c", CLI, "evaluate", str(rows), str(predictions), *words]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, says in done.stderr, "Traceback" in done.stderr) == (2, "", True, False)
