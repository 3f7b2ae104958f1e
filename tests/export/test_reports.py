from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.core.progress import Reporter
from benchwright.export.dataset import open_dataset
from benchwright.export.evaluation import Options, evaluate
from benchwright.export.evaluation.evidence import EvidenceFile
from benchwright.export.evaluation.page import html_page
from benchwright.export.evaluation.runs import Run, compare, open_run
from benchwright.export.evaluation.table import comparison_lines, runs_table

HOSTILE = "```bash\npython train.py --lr 0.5 --epochs 3\n```\n</script><script>alert(1)</script><!-- \u2028 \ud800 é"


@pytest.fixture
def run_folder(make_row, write_rows, tmp_path):
    rows = write_rows([make_row(1), make_row(2)])
    predictions = tmp_path / "predictions.jsonl"
    lines = [{"github_id": 31, "id": 1, "output": [HOSTILE]}, {"github_id": 31, "id": 2, "output": ["no"]}]
    predictions.write_text("".join(json.dumps(line) + "\n" for line in lines))
    folder = tmp_path / "run"
    evaluate(open_dataset(str(rows)), predictions, Options(execute=False), folder, Reporter(quiet=True))
    return folder


class Page(HTMLParser):
    """Collects what a browser would load from elsewhere, and the embedded data."""

    def __init__(self, text):
        super().__init__()
        self.outside, self.scripts, self.data, self._inside = [], 0, "", False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.outside += [value for name, value in attrs if name in ("src", "href", "action", "data", "poster")]
        self.scripts += tag == "script"
        self._inside = attributes.get("id") == "data"

    def handle_endtag(self, tag):
        self._inside = False

    def handle_data(self, data):
        self.data += data if self._inside else ""


def test_the_page_stands_alone_and_hostile_answers_stay_text(run_folder):
    page = Page(html_page([open_run(run_folder)]))
    assert page.outside == []
    assert page.scripts == 2
    sample = json.loads(page.data)["runs"][0]["samples"][0]
    assert sample["answer"] == HOSTILE
    assert sample["outcome"] == "not_executed"


def test_the_page_forbids_itself_every_request(run_folder):
    text = html_page([open_run(run_folder)])
    assert "default-src 'none'" in text
    assert not re.search(r"@import|url\(|https?://(?!www\.w3\.org/2000/svg)", text.split('id="data"')[0])


def test_a_folder_without_a_report_is_refused_with_the_remedy(tmp_path):
    with pytest.raises(BenchwrightError, match="no report"):
        open_run(tmp_path)


def made_run(folder, outcomes, tasks=None):
    """A run of executed samples: (github_id, id) -> outcomes."""
    results = [
        {"github_id": 31, "id": number, "sample": i, "outcome": kind, "ml_bench": {"passed": kind == "passed"}}
        for number, kinds in outcomes.items()
        for i, kind in enumerate(kinds)
    ]
    examples = {(31, number): {"task": (tasks or {}).get(number, number)} for number in outcomes}
    part = {
        "left_out": {},
        "pass_at_k": {k: {"value": 0.5, "low": None, "high": None} for k in "125"},
        "examples": {"release": 3, "gold_passes_here": 3, "graded": 3},
    }
    return Run(folder, {"headline": "strict", "protocols": {"strict": part, "ml-bench": part}}, results, examples)


def test_two_runs_are_compared_example_by_example(tmp_path):
    first = made_run(tmp_path / "a", {1: ["passed", "failed"], 2: ["failed"], 3: ["passed"], 4: ["failed"]})
    second = made_run(tmp_path / "b", {1: ["passed", "passed"], 2: ["passed"], 3: ["passed"], 4: ["failed"]})
    (found,), alike = compare([first, second], "strict")
    assert (found.better, found.worse, found.ties) == (2, 0, 2)
    assert found.difference == pytest.approx((0.5 + 1 + 0 + 0) / 4)
    assert found.p == pytest.approx(0.5, abs=0.05)
    assert alike == {"all_solved": ["31/3"], "none_solved": ["31/4"]}
    assert "p = 0." in comparison_lines([found], alike)[0]
    assert len(runs_table([first, second])[1]) == 4


def test_examples_of_one_task_are_exchanged_together(tmp_path):
    """Eight gains of one task are one observation: they prove nothing."""
    numbers = range(1, 9)
    first = made_run(tmp_path / "a", {n: ["failed"] for n in numbers}, dict.fromkeys(numbers, "one"))
    second = made_run(tmp_path / "b", {n: ["passed"] for n in numbers}, dict.fromkeys(numbers, "one"))
    (found,), _ = compare([first, second], "strict")
    assert found.p == 1
    assert found.low is None


def test_comparing_takes_two_runs_with_examples_in_common(tmp_path):
    first = made_run(tmp_path / "a", {1: ["passed"]})
    with pytest.raises(BenchwrightError, match="two runs or more"):
        compare([first], "strict")
    with pytest.raises(BenchwrightError, match="share no graded example"):
        compare([first, made_run(tmp_path / "b", {2: ["passed"]})], "strict")


def test_a_torn_line_of_evidence_costs_one_execution_and_spoils_nothing_after_it(tmp_path):
    from benchwright.core.models import Outcome, OutcomeKind, Output

    path = tmp_path / "outcomes.jsonl"
    evidence = EvidenceFile(path)
    long = Output(head="x" * 100_000, bytes=100_000)
    for key in ("a", "b"):
        evidence.add(key, Outcome(outcome=OutcomeKind.PASSED, output=long))
    evidence.close()
    path.write_bytes(path.read_bytes()[:-50])
    again = EvidenceFile(path)
    assert (again.settled("a"), again.settled("b")) == (True, False)
    again.add("b", Outcome(outcome=OutcomeKind.FAILED))
    again.add("c", Outcome(outcome=OutcomeKind.INFRASTRUCTURE))
    again.close()
    last = EvidenceFile(path)
    assert last.outcomes["b"].outcome is OutcomeKind.FAILED
    assert last.outcomes["a"].output == Output(bytes=100_000)
    assert not last.settled("c")


@pytest.mark.parametrize("name", ["report.json", "results.jsonl", "examples.jsonl", "samples.jsonl"])
@pytest.mark.parametrize(
    "text", ['{"a": 1}', "null", "[[[", '{"schema_version": 1}', '{"github_id": 1, "id": 1, "sample": "x"}']
)
def test_a_damaged_file_of_a_run_is_refused_by_name_with_the_remedy(run_folder, name, text):
    (run_folder / name).write_text(text + "\n")
    with pytest.raises(BenchwrightError) as caught:
        html_page([open_run(run_folder)])
    assert str(run_folder / name) in (caught.value.where or "")
    assert caught.value.remedy


@pytest.mark.parametrize("line", ["null", "[1]", '{"key": [1]}', '{"outcome": 3}', "[" * 100_000])
def test_a_line_that_is_no_outcome_spoils_no_page(run_folder, line):
    (run_folder / "outcomes.jsonl").write_text(line + "\n")
    html_page([open_run(run_folder)])
    assert EvidenceFile(run_folder / "outcomes.jsonl").outcomes == {}
