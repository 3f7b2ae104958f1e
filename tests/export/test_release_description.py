"""What a release says of itself: metadata that others read, citation, canary, changes, composition, annotations."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from benchwright.core.errors import BenchwrightError
from benchwright.core.files import append_lines, canonical_json
from benchwright.core.models import Annotation
from benchwright.core.tasks import load_tasks, write_task
from benchwright.core.workspace import Workspace
from benchwright.export import build_release, import_dataset, open_dataset
from benchwright.export.release import check_release
from benchwright.export.release.composition import TOKENIZERS
from benchwright.export.release.splits import write_split


@pytest.fixture
def filled(workspace, make_row, write_rows) -> Workspace:
    """Seven examples of five tasks in two repositories, two of them for training."""
    rows = [
        make_row(1),
        make_row(2, instruction="Train with a rate of a half and three passes.", prefix_code="cd x"),
        make_row(3, type="Python Code", output="import kettle\nkettle.boil(1)\n", arguments="{}", oracle="Boil.\n"),
        make_row(1, 32),
        make_row(
            2,
            32,
            output="python export.py --to onnx",
            arguments="{'to': 'onnx'}",
            instruction="Export to onnx.",
            oracle="Export.\n",
        ),
        make_row(
            3,
            32,
            output="python serve.py --port 80",
            arguments="{'port': 80}",
            instruction="Serve on port 80.",
            oracle="Serve.\n",
        ),
        make_row(
            4,
            32,
            output="python serve.py --port 81",
            arguments="{'port': 81}",
            instruction="Serve on port 81.",
            oracle="Serve.\n",
        ),
    ]
    import_dataset(workspace, open_dataset(str(write_rows(rows))))
    write_split(workspace, "full", ["kettle/1", "kettle/2", "kettle/3", "lantern/1", "lantern/2"])
    write_split(workspace, "id_train", ["lantern/3", "lantern/4"])
    return workspace


def configure(workspace: Workspace, old: str, new: str) -> Workspace:
    text = workspace.config_path.read_text()
    assert old in text
    workspace.config_path.write_text(text.replace(old, new))
    return Workspace(workspace.root)


# Croissant -------------------------------------------------------------------------------------------------


def test_mlcroissant_validates_and_loads_every_split_of_every_configuration(filled):
    mlcroissant = pytest.importorskip("mlcroissant")
    workspace = configure(filled, '# date = "2026-01-31" ', 'date = "2026-03-01" ')
    built = build_release(workspace, denormalized=True)
    described = mlcroissant.Dataset(str(built.folder / "croissant.json"))
    assert described.metadata.issues.errors == set()
    assert described.metadata.issues.warnings == set()
    rows = list(open_dataset(str(built.folder)).rows("full"))
    found = list(described.records("full"))
    plain = [{k.removeprefix("full/"): v.decode() if isinstance(v, bytes) else v for k, v in r.items()} for r in found]
    names = ("github_id", "id", "instruction", "output", "arguments", "license")
    assert [tuple(r[name] for name in names) for r in plain] == [
        tuple(getattr(r, name) for name in names) for r in rows
    ]
    names = {item.id for item in described.metadata.record_sets}
    assert names == {
        "full", "id_train", "repositories/full", "retrieval/full", "retrieval/id_train", "denormalized/full",
        "denormalized/id_train",
    }  # fmt: skip
    assert {name: len(list(described.records(name))) for name in names if name != "full"} == {
        "id_train": 2, "repositories/full": 2, "retrieval/full": 5, "retrieval/id_train": 2, "denormalized/full": 5,
        "denormalized/id_train": 2,
    }  # fmt: skip


def test_a_file_that_croissant_does_not_describe_is_refused_by_its_reader(filled):
    mlcroissant = pytest.importorskip("mlcroissant")
    built = build_release(filled)
    path = built.folder / "data" / "full-00000-of-00001.parquet"
    shutil.copy(built.folder / "data" / "id_train-00000-of-00001.parquet", path)
    with pytest.raises(Exception, match=r"Download"):
        list(mlcroissant.Dataset(str(built.folder / "croissant.json")).records("full"))


def test_the_responsible_ai_fields_are_counted(filled):
    fields = json.loads((build_release(filled).folder / "croissant.json").read_text())
    assert fields["conformsTo"] == ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
    assert "5 tasks" in fields["rai:dataCollection"]
    assert fields["rai:dataBiases"][0].startswith("4 of 5 examples")
    assert fields["rai:dataLimitations"][0].startswith("The outputs of 0 of 5")
    assert fields["prov:wasDerivedFrom"][0] == f"https://example.org/kettles/kettle at {'a' * 40}"
    assert "rai:dataAnnotationPlatform" not in fields  # nobody annotated: nothing is claimed


# small files -----------------------------------------------------------------------------------------------


def test_the_citation_has_what_the_workspace_says(filled):
    workspace = configure(filled, '# authors = ["First Author", "Second Author"]', 'authors = ["Ada B", "C Team"]')
    workspace = configure(workspace, '# date = "2026-01-31" ', 'date = "2026-03-01" ')
    built = build_release(workspace)
    fields = yaml.safe_load((built.folder / "CITATION.cff").read_text())
    assert fields["authors"] == [{"name": "Ada B"}, {"name": "C Team"}]
    assert str(fields["date-released"]) == "2026-03-01"
    assert (fields["cff-version"], fields["type"], fields["version"]) == ("1.2.0", "dataset", "0.1.0")


def test_the_leaderboard_names_measured_splits_only(filled):
    fields = yaml.safe_load((build_release(filled).folder / "eval.yaml").read_text())
    assert fields["tasks"] == [{"id": "full", "config": "default", "split": "full"}]


def test_the_canary_stands_in_card_file_and_every_parquet(filled):
    import pyarrow.parquet as pq

    built, canary = build_release(filled), filled.config.canary
    assert canary in (built.folder / "README.md").read_text()
    assert canary in (built.folder / "canary.txt").read_text()
    files = list(built.folder.rglob("*.parquet"))
    assert len(files) == 5
    assert all(canary.encode() in pq.read_schema(file).metadata[b"canary"] for file in files)


def test_the_canary_of_the_first_release_is_kept(filled):
    build_release(filled)
    canary = filled.config.canary
    changed = configure(filled, canary, "00000000-0000-4000-8000-000000000000")
    changed = configure(changed, 'version = "0.1.0"', 'version = "0.2.0"')
    with pytest.raises(BenchwrightError, match=r"the release 0\.1\.0 has") as raised:
        build_release(changed)
    assert canary in (raised.value.remedy or "")
    without = configure(changed, 'canary = "00000000-0000-4000-8000-000000000000"', 'canary = ""')
    with pytest.raises(BenchwrightError, match="there is no canary"):
        build_release(without)


# what changed ----------------------------------------------------------------------------------------------


def test_the_changelog_lists_every_changed_example_and_keeps_what_was_said(filled, make_row, write_rows):
    first = build_release(filled)
    assert "First release: 5 examples" in (first.folder / "CHANGELOG.md").read_text()
    item = next(task for task in load_tasks(filled) if len(task.examples) == 2 and task.task.id.startswith("kettle"))
    one, two = item.examples
    one = one.model_copy(update={"output": "python train.py --lr 0.5 --epochs 3 -q"})
    write_task(filled, item.task, item.oracle, [one, two.model_copy(update={"yanked": "the rate is\ncut off"})])
    import_dataset(
        filled,
        open_dataset(
            str(
                write_rows(
                    [make_row(9, 32, output="python new.py", arguments="{}", instruction="Be new.", oracle="New.")]
                )
            )
        ),
    )
    second = build_release(configure(filled, 'version = "0.1.0"', 'version = "0.2.0"'))
    text = (second.folder / "CHANGELOG.md").read_text()
    assert text.count("\n- ") == 3
    assert "- added 32/9\n- removed 31/2: the rate is cut off\n- changed 31/1: `output` from " in text
    assert '`"python train.py --lr 0.5 --epochs 3"` to `"python train.py --lr 0.5 --epochs 3 -q"`' in text
    assert text.index("## 0.2.0") < text.index("## 0.1.0")
    assert "First release: 5 examples" in text
    again = build_release(Workspace(filled.root))
    assert again.digest == second.digest


def test_keys_of_others_in_the_card_are_kept_in_the_next_version_and_stale_ones_dropped(filled):
    first = build_release(filled)
    card = first.folder / "README.md"
    card.write_text(card.read_text().replace("language:", "annotations_creators: [expert]\nlanguage:", 1))
    configs = yaml.safe_load(card.read_text().split("---\n")[1])["configs"]
    assert len(configs) == 3
    shutil.rmtree(first.folder / "retrieval")
    (first.folder / "SHA256SUMS").write_text("")
    from benchwright.export.checksums import write_sums

    write_sums(first.folder)
    second = build_release(configure(filled, 'version = "0.1.0"', 'version = "0.2.0"'))
    block = yaml.safe_load((second.folder / "README.md").read_text().split("---\n")[1])
    assert block["annotations_creators"] == ["expert"]
    assert [item["config_name"] for item in block["dataset_info"]] == ["default", "repositories", "retrieval"]
    assert check_release(second.folder) == []


# composition -----------------------------------------------------------------------------------------------


def test_the_composition_counts_and_measures_as_the_named_tokenizers_do(filled):
    import pandas

    built = build_release(filled)
    table = pandas.read_csv(built.folder / "composition.csv")
    counts = {(r.split, r.repository, r.type): (r.tasks, r.examples) for r in table.itertuples()}
    assert counts == {
        ("full", "kettle", "Bash Script"): (1, 2),
        ("full", "kettle", "Python Code"): (1, 1),
        ("full", "lantern", "Bash Script"): (2, 2),
        ("id_train", "lantern", "Bash Script"): (1, 2),
    }
    row = table[(table.repository == "kettle") & (table.type == "Python Code")].iloc[0]
    assert row["output o200k_base mean"] == 10  # as tiktoken counts it
    assert set(TOKENIZERS) == {name.split()[1] for name in table.columns if name.endswith(" mean")}


def test_the_page_with_plots_needs_nothing_else(filled):
    page = (build_release(filled).folder / "composition.html").read_text()
    assert page.count("<svg") == 5
    assert not re.search(r"https?://|<script|<link", page)
    assert "kettle" in page


# annotations -----------------------------------------------------------------------------------------------


def test_labels_are_published_under_pseudonyms_and_nothing_else_of_people(filled):
    people = [say(1, "a1", "accept"), say(2, "a2", "fix"), say(3, "a1", "reject", "candidate-2")]
    lines = [canonical_json(item.model_dump(mode="json")) for item in people]
    append_lines(filled.annotations_dir / "first.jsonl", lines)
    built = build_release(filled)
    labels = [json.loads(line) for line in (built.folder / "annotations" / "labels.jsonl").read_text().splitlines()]
    assert sorted((label["annotator"], label["verdict"]) for label in labels) == [
        ("a1", "accept"), ("a1", "reject"), ("a2", "fix")
    ]  # fmt: skip
    assert not {"raw", "reason", "created_at", "updated_at", "annotation_id"} & set(labels[0])
    agreement = json.loads((built.folder / "annotations" / "agreement.json").read_text())
    assert (agreement["candidates"], agreement["annotators"]) == (1, ["a1", "a2"])
    assert "How to annotate" in (built.folder / "annotations" / "guidelines.md").read_text()


def say(number: int, annotator: str, verdict: str, candidate: str = "candidate-1") -> Annotation:
    return Annotation(
        project="first",
        candidate_id=candidate,
        candidate_digest="d" * 64,
        annotation_id=number,
        annotator=annotator,
        created_at="2026-01-01T00:00:00Z",
        updated_at="2026-01-01T00:00:00Z",
        verdict=verdict,
        reason="Ask Barbara, she knows.",
        type="Bash Script",
        instruction="Do it.",
        output="python a.py",
        raw=({"value": "x"},),
    )


# what readers are told -------------------------------------------------------------------------------------


def test_a_release_that_was_changed_is_refused_by_every_reader(filled):
    built = build_release(filled)
    (built.folder / "tasks.jsonl").write_text("")
    with pytest.raises(BenchwrightError, match="changed after it was built") as raised:
        open_dataset(str(built.folder))
    assert "tasks.jsonl" in (raised.value.where or "")
    assert open_dataset(str(built.folder), verify=False).splits
    (built.folder / ".gitattributes").write_text("* -text\n")  # the Hub's own file
    build_release(filled)
    assert open_dataset(str(built.folder)).splits


@pytest.mark.parametrize("name", ["README.md", "tasks.jsonl", "THIRD_PARTY_LICENSES", "croissant.json"])
def test_an_emptied_file_is_found_though_the_checksums_were_written_anew(filled, name):
    from benchwright.export.checksums import write_sums

    built = build_release(filled)
    (built.folder / name).write_text("")
    write_sums(built.folder)
    assert name in {problem.where for problem in check_release(built.folder) if problem.severity == "error"}


def test_a_task_without_its_line_is_found(filled):
    from benchwright.export.checksums import write_sums

    built = build_release(filled)
    path = built.folder / "tasks.jsonl"
    path.write_text("".join(path.read_text().splitlines(True)[1:]))
    write_sums(built.folder)
    assert [problem.rule for problem in check_release(built.folder)] == ["release-tasks"]


def test_an_address_of_this_machine_only_is_told_and_not_linked(filled):
    known = filled.repositories()
    moved = known[0].model_copy(update={"url": "file:///home/me/kettle"})
    filled.save_repositories([moved, known[1]])
    for item in load_tasks(filled):
        if item.task.repository.name == "kettle":
            reference = item.task.repository.model_copy(update={"url": moved.url})
            task = item.task.model_copy(update={"repository": reference})
            write_task(filled, task, item.oracle, item.examples)
    built = build_release(filled)
    assert "file://" not in (built.folder / "README.md").read_text()
    assert [(p.rule, p.severity) for p in check_release(built.folder)] == [("release-address", "warning")]


@pytest.mark.parametrize("name", ["releases/9.9.9", "./nothing/here", "rows/full.parquet", "here/missing"])
def test_a_missing_path_is_not_taken_for_a_dataset_on_the_hub(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("here").mkdir()
    with pytest.raises(BenchwrightError, match="there is no such file or folder"):
        open_dataset(name)


def test_the_rules_are_applied_to_a_release_but_for_what_was_accepted_when_it_was_built(
    workspace, make_row, write_rows
):
    from benchwright.export.checksums import write_sums

    import_dataset(workspace, open_dataset(str(write_rows([make_row(1, output="python train.py --lr 0.5")]))))
    built = build_release(workspace)
    assert json.loads((built.folder / "check.json").read_text())["accepted"] == {
        "BW201": "the rows are about writing text down, not about what it says"
    }
    assert check_release(built.folder) == []
    (built.folder / "check.json").write_text('{"accepted":{},"findings":{}}\n')
    write_sums(built.folder)
    (problem,) = check_release(built.folder)
    assert (problem.rule, problem.where) == ("BW201", "31/1")
    assert "epochs" in problem.message
