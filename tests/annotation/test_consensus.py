"""What annotators are compared by, and the page that shows it."""

from pathlib import Path
from typing import Any

import pytest

from benchwright.annotation import archive, consensus
from benchwright.annotation.progress import status
from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Annotation
from benchwright.core.workspace import Workspace


def said(annotator: str, candidate: int, **fields: Any) -> Annotation:
    values: dict[str, Any] = {
        "project": "bench",
        "candidate_id": f"tiny-{candidate:012x}",
        "candidate_digest": "d",
        "annotation_id": candidate * 10 + int(annotator[-1]),
        "annotator": annotator,
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        "lead_time_s": 60.0 * candidate,
        "verdict": "accept",
        "type": "Bash Script",
        "oracle_scope": "section",
        "instruction": "Train it.",
        "arguments": {"lr": 0.001},
        "output": "python train.py --lr 0.001",
        **fields,
    }
    return Annotation.model_validate(values)


@pytest.mark.parametrize(
    ("type_", "one", "two", "same"),
    [
        ("Bash Script", "python t.py --a 1 --b x", "python t.py  --b=x \\\n  --a 1.0 # done", True),
        ("Bash Script", "python t.py --a 1", "python t.py --a 2", False),
        ("Bash Script", "python t.py in out --a 1", "python t.py out in --a 1", False),
        ("Bash Script", "python t.py --x 1 --x 2", "python t.py --x 1", False),
        ("Bash Script", "echo 'open", "echo  'open", True),
        ("Python Code", "f(a = 'x')  # why", 'f(a="x")', True),
        ("Python Code", "f(1)", "f(2)", False),
        ("Python Code", "def (", "def  (", True),
    ],
)
def test_scripts_are_compared_by_what_they_do_not_by_their_layout(type_: str, one: str, two: str, same: bool) -> None:
    first, second = (said("annotator-1", 1, type=type_, output=text) for text in (one, two))
    assert consensus.same_script(first, second) is same


def test_agreement_is_reported_field_by_field_with_intervals_and_a_page(workspace: Workspace, tmp_path: Path) -> None:
    rows = []
    for number in range(1, 13):
        rows.append(said("annotator-1", number, type="Python Code" if number % 2 else "Bash Script", output="f()"))
        verdict = "reject" if number > 10 else "fix" if number == 1 else "accept"
        rows.append(
            said(
                "annotator-2",
                number,
                verdict=verdict,
                type="Python Code" if number % 2 else "Bash Script",
                arguments={"lr": "1e-3"},
                output="f( )" if number < 9 else "g()",
            )
        )
    archive.append(workspace, "bench", rows)
    report = consensus.agreement(workspace)
    assert report.candidates == 12
    assert report.fields["type"]["alpha"].value == 1.0  # who rejects is left out of what they need not fill in
    assert report.fields["argument values"]["percent"].value == 1.0
    assert report.fields["verdict"]["percent"].value == pytest.approx(9 / 12)
    kappa = report.fields["verdict"]["kappa"]
    assert kappa.value == 0.0
    script = report.fields["script"]["percent"]
    assert script.low is not None
    assert script.low < 0.8 < 1
    assert list(report.table().index) == list(consensus.FIELDS)
    assert report.people["annotator-1"]["candidates"] == 12
    consensus.write_page(report, tmp_path / "agreement.html", "bench <1>")
    page = (tmp_path / "agreement.html").read_text()
    assert page.count("<svg") == 3
    assert "bench &lt;1&gt;" in page
    assert "nan" not in page.lower()
    columns, lines = report.rows()
    assert len(columns) == 4
    assert len(lines) == len(consensus.FIELDS)


def test_without_shared_candidates_the_error_says_how_to_get_them(workspace: Workspace) -> None:
    archive.append(workspace, "bench", [said("annotator-1", 1), said("annotator-2", 2)])
    with pytest.raises(BenchwrightError, match="--overlap 2"):
        consensus.agreement(workspace)


def test_an_answer_without_a_verdict_agrees_with_nobody(workspace: Workspace) -> None:
    silent = [said(name, 2, verdict=None) for name in ("annotator-1", "annotator-2")]
    archive.append(workspace, "bench", [said("annotator-1", 1), said("annotator-2", 1), *silent])
    assert consensus.agreement(workspace).candidates == 1


def test_status_counts_what_everyone_did(workspace: Workspace) -> None:
    archive.append(
        workspace,
        "bench",
        [
            said("annotator-1", 1),
            said("annotator-1", 3),
            said("annotator-1", 4, skipped=True),
            said("annotator-2", 1),
            said("annotator-2", 3, verdict="reject"),
        ],
    )
    one, two = status(workspace)
    assert (one.done, one.skipped, one.minutes_each) == (2, 1, 2.0)
    assert (two.done, two.skipped) == (2, 0)
    assert one.agreement == two.agreement == 0.5
