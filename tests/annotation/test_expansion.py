"""Expanding tasks: made examples state every value, meet their own arguments, and come out the same each time."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from typer.testing import CliRunner

from benchwright.annotation.expansion.expanding import expand
from benchwright.annotation.expansion.seeds import Seed, read_seed, variations
from benchwright.annotation.expansion.wording import in_own_words, spoken, title_of
from benchwright.core.cli import app
from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Argument, Example
from benchwright.core.tasks import TaskFolder, load_tasks, write_task
from benchwright.core.workspace import Workspace
from benchwright.curation.source import PinnedTree, open_tree
from benchwright.validators.arguments import check_arguments
from benchwright.validators.checks import RULES, check_workspace

COUNT = 12


def tree_of(bench: Workspace) -> PinnedTree:
    return open_tree(bench.repositories()[0], bench.clones_dir, [])


def made(bench: Workspace) -> list[tuple[TaskFolder, Example]]:
    return [(item, e) for item in load_tasks(bench) for e in item.examples if e.machine_written]


def seed_of(bench: Workspace, tree: PinnedTree, **changes: Any) -> Seed:
    item = load_tasks(bench)[0]
    found = read_seed(item.task, item.examples[0].model_copy(update=changes), tree)
    assert isinstance(found, Seed)
    return found


def test_every_made_example_passes_the_rules_and_the_typed_check(bench: Workspace) -> None:
    done = expand(bench, [], COUNT)
    assert done.added == {"tearoom/brew": COUNT, "tearoom/pour": COUNT}
    findings = check_workspace(bench, RULES.values()).findings
    assert not [f for f in findings if f.rule.severity == "error" or f.rule.id in ("BW202", "BW203", "BW402")]
    with tree_of(bench) as tree:
        for item, example in made(bench):
            verdict = check_arguments(
                example.output, example.type, example.arguments, reference=item.examples[0].output, files=tree
            )
            assert verdict.accepted, example


def test_outputs_and_instructions_differ_and_ids_go_on_in_order(bench: Workspace) -> None:
    expand(bench, [], COUNT)
    examples = [example for _, example in made(bench)]
    assert sorted(example.id for example in examples) == list(range(8, 8 + 2 * COUNT))
    assert len({example.instruction for example in examples}) == len(examples)
    brewed = [example for item, example in made(bench) if item.task.name == "brew"]
    assert len({example.output for example in brewed}) == COUNT
    assert not [e for e in brewed if any(word in e.output for word in ("num_workers", "is_fresh", "--out"))]
    assert all("--" not in example.instruction and ".py" not in example.instruction for example in examples)


def test_a_second_run_adds_nothing_and_a_larger_number_adds_the_rest(bench: Workspace) -> None:
    expand(bench, [], COUNT)
    before = {path: path.read_bytes() for path in bench.tasks_dir.rglob("*.*")}
    assert set(expand(bench, [], COUNT).added.values()) == {0}
    assert {path: path.read_bytes() for path in bench.tasks_dir.rglob("*.*")} == before
    assert expand(bench, ["tearoom/brew"], COUNT + 3).added == {"tearoom/brew": 3}
    numbers = [example.id for _, example in made(bench)]
    assert len(set(numbers)) == len(numbers) == 2 * COUNT + 3


def test_the_same_seed_gives_the_same_and_another_seed_another(bench: Workspace) -> None:
    folders = load_tasks(bench)
    texts = []
    for seed in (1, 1, 2):
        for item in folders:
            write_task(bench, item.task, item.oracle, item.examples)
        expand(bench, [], COUNT, seed=seed)
        texts.append([(e.instruction, e.output) for _, e in made(bench)])
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]


def test_what_people_wrote_stays_and_yanked_numbers_stay_taken(bench: Workspace) -> None:
    (brew, _) = load_tasks(bench)
    yanked = brew.examples[0].model_copy(update={"id": 40, "yanked": "wrong"})
    write_task(bench, brew.task, brew.oracle, [*brew.examples, yanked])
    expand(bench, ["tearoom"], 2)
    assert load_tasks(bench)[0].examples[0] == brew.examples[0]
    assert min(example.id for _, example in made(bench)) == 41


def test_made_examples_join_the_training_split_of_their_task_only(bench: Workspace) -> None:
    bench.splits_dir.mkdir()
    (bench.splits_dir / "id_train.txt").write_text("tearoom/3\n")
    (bench.splits_dir / "full.txt").write_text("tearoom/7\n")
    expand(bench, [], 2)
    assert (bench.splits_dir / "id_train.txt").read_text() == "tearoom/3\ntearoom/8\ntearoom/9\n"
    assert (bench.splits_dir / "full.txt").read_text() == "tearoom/7\n"
    assert "BW403" not in {finding.rule.id for finding in check_workspace(bench, RULES.values()).findings}


def test_an_example_that_breaks_a_rule_is_no_seed(bench: Workspace) -> None:
    item = load_tasks(bench)[0]
    wrong = item.examples[0].model_copy(update={"output": "python brew.py --lr 0.5"})
    write_task(bench, item.task, item.oracle, [wrong])
    done = expand(bench, ["tearoom/brew"], 2)
    assert "BW201" in done.skipped["tearoom/brew"]
    assert not done.added
    assert not made(bench)


def test_a_repository_that_is_not_at_hand_stops_before_anything_is_written(bench: Workspace, tmp_path: Path) -> None:
    (tmp_path / "tearoom").rename(tmp_path / "elsewhere")
    with pytest.raises(BenchwrightError):
        expand(bench, [], 2)
    assert not made(bench)


def test_equal_values_of_two_arguments_are_told_apart(bench: Workspace) -> None:
    with tree_of(bench) as tree:
        seed = seed_of(bench, tree)
        drawn = list(variations(seed, Random(3)))
        assert len(drawn) > 100
        alone = [v for v in drawn if set(v.changed) == {"epochs"} and not v.added]
        assert alone
        assert all(v.output.endswith("--corpus=letters --batch_size 8") for v in alone)
        for variation in drawn:
            assert {"lr", "epochs", "corpus"} <= set(variation.arguments)
            assert set(variation.added) <= {"batch_size"}


def test_words_that_no_command_uses_together_are_not_combined(bench: Workspace) -> None:
    output = "python brew.py --leaf green --pot iron --corpus letters"
    with tree_of(bench) as tree:
        item = load_tasks(bench)[0]
        example = item.examples[0].model_copy(
            update={"output": output, "arguments": {"leaf": "green", "pot": "iron", "corpus": "letters"}}
        )
        leaf, pot = Argument(name="leaf"), Argument(name="pot")
        others = [
            (leaf.model_copy(update={"value": a}), pot.model_copy(update={"value": b}))
            for a, b in (("green", "clay"), ("black", "clay"), ("white", "glass"))
        ]
        seed = read_seed(item.task, example, tree, others)
        assert isinstance(seed, Seed)
        drawn = list(variations(seed, Random(3)))
        used = {(v.arguments["leaf"], v.arguments["pot"]) for v in drawn}
        assert used == {("green", "iron"), ("green", "clay"), ("black", "clay"), ("white", "glass")}
        assert {v.arguments["corpus"] for v in drawn} == {"poems", "letters", "recipes"}


def test_a_persons_words_are_kept_only_where_each_old_value_stands_once_in_them(bench: Workspace) -> None:
    with tree_of(bench) as tree:
        clear = "Brew the letters with a learning rate of 0.01, for 8 epochs."
        unclear = "Brew 8 letters with a learning rate of 0.01 for 8 epochs."
        hidden = "Brew the letters at 0.015, that is a learning rate of 0.01, for 8 epochs."
        for instruction, name, fits in ((clear, "epochs", True), (unclear, "epochs", False), (hidden, "lr", False)):
            seed = seed_of(bench, tree, instruction=instruction)
            varied = next(v for v in variations(seed, Random(1)) if set(v.changed) == {name} and not v.added)
            told = in_own_words(varied, Random(1))
            assert (told is not None) == fits
            if told is not None:
                assert told == instruction.replace("8 epochs", f"{varied.changed['epochs']} epochs")


def test_names_are_said_as_people_say_them() -> None:
    assert spoken("lr") == "learning rate"
    assert spoken("num_train_steps") == "number of train steps"
    assert spoken("n-epochs") == "number of epochs"
    assert spoken("d_model") == "d_model"


def test_headings_that_are_code_are_no_title(bench: Workspace) -> None:
    task = load_tasks(bench)[0].task
    assert title_of(task, "## Brewing poems slowly\ntext") == "Brewing poems slowly"
    assert title_of(task, "$ python brew.py\n") == ""
    assert title_of(task, "See brew.py for all\n") == ""
    assert title_of(task, "") == ""


def test_the_command_says_what_it_did(bench: Workspace) -> None:
    words = ["--workspace", str(bench.root), "tasks", "expand", "tearoom/brew", "--count", "3"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0
    assert "3 examples added to 1 tasks" in result.stdout
    assert "next: benchwright validate" in result.stdout
    result = CliRunner().invoke(app, [*words[:-3], "tearoom/none"])
    assert result.exit_code != 0
