"""Who judges what: balanced, repeatable, kept; gold that nothing tells apart."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.annotation.assignment import (
    Assignment,
    all_assignments,
    assign,
    choose_gold,
    gold_pairs,
    load,
    overlap_of,
    save,
)
from benchwright.annotation.team import share_of
from benchwright.core.errors import BenchwrightError
from benchwright.core.workspace import Workspace

PEOPLE = ["annotator-1", "annotator-2", "annotator-3"]


def loads(plan: Assignment) -> Counter[str]:
    return Counter(name for names in plan.assigned.values() for name in names)


@given(st.integers(1, 60), st.integers(1, 5), st.data())
def test_every_candidate_has_its_judges_and_loads_differ_by_one_at_most(
    candidates: int, people: int, data: st.DataObject
) -> None:
    names = [f"annotator-{n}" for n in range(1, people + 1)]
    overlap = data.draw(st.integers(1, people))
    keys = [f"tiny-{n:012x}" for n in range(candidates)]
    plan = assign(Assignment(project="p"), keys, names, overlap)
    assert all(len(set(who)) == overlap for who in plan.assigned.values())
    assert set(plan.assigned) == set(keys)
    counts = [loads(plan)[name] for name in names]
    assert max(counts) - min(counts) <= 1
    shuffled = data.draw(st.permutations(keys))
    assert assign(Assignment(project="p"), shuffled, names, overlap) == plan
    assert assign(plan, keys, names, overlap) == plan


def test_new_candidates_and_people_leave_what_was_assigned() -> None:
    first = assign(Assignment(project="p"), [f"a-{n}" for n in range(9)], PEOPLE[:2], 2)
    second = assign(first, [f"a-{n}" for n in range(15)], PEOPLE, 2)
    assert all(second.assigned[key] == who for key, who in first.assigned.items())
    assert loads(second)["annotator-3"] == 6
    assert second.annotators == tuple(PEOPLE)


def test_whoever_skips_is_replaced() -> None:
    plan = assign(Assignment(project="p"), ["a-1"], PEOPLE, 2)
    gone = plan.assigned["a-1"][0]
    again = assign(plan, ["a-1"], PEOPLE, 2, skipped={("a-1", gone)})
    assert set(again.assigned["a-1"]) == set(PEOPLE)


def test_an_overlap_beyond_the_people_is_refused() -> None:
    with pytest.raises(BenchwrightError, match="overlap of 3"):
        assign(Assignment(project="p"), ["a-1"], PEOPLE[:2], 3)


def test_gold_is_a_share_of_what_each_judges_and_never_ones_own() -> None:
    plan = assign(Assignment(project="p"), [f"a-{n}" for n in range(90)], PEOPLE, 2)
    settled = {f"g-{n}": (PEOPLE[n % 3],) for n in range(30)}
    gold = choose_gold(plan, settled, 0.1)
    for name in PEOPLE:
        mine = [key for key, who in gold.gold.items() if name in who]
        assert len(mine) == 7  # 60 ordinary ones: 7 of 67 are about a tenth
        assert all(name not in settled[key] for key in mine)
        order = gold.of(name)
        places = [order.index(key) for key in mine]
        assert len(order) == 67
        assert min(places) < 30 < max(places)  # mixed in, not in one place
    assert choose_gold(gold, settled, 0.1) == gold
    assert len(gold_pairs([gold])) == 21


def test_an_assignment_is_kept_as_text_and_says_how_many_judges_count(workspace: Workspace) -> None:
    plan = assign(Assignment(project="bench"), ["a-2", "a-1"], PEOPLE, 2)
    save(workspace, plan)
    assert load(workspace, "bench") == plan
    assert overlap_of(all_assignments(workspace), "a-1") == 2
    assert overlap_of(all_assignments(workspace), "another") == 1
    assert load(workspace, "other") == Assignment(project="other")


@pytest.mark.parametrize(("text", "share"), [("10%", 0.1), ("0.25", 0.25), (None, 0.0), ("0", 0.0)])
def test_a_share_is_written_as_a_percentage_or_a_number(text: str | None, share: float) -> None:
    assert share_of(text) == pytest.approx(share)


def test_a_share_that_is_none_is_refused() -> None:
    with pytest.raises(BenchwrightError, match="no share"):
        share_of("a tenth")


@pytest.mark.parametrize("text", ["x", "5", "[]", "[" * 100_000, '{"a": 1}', "\udcff"], ids=lambda text: text[:8])
def test_an_assignment_of_any_wrong_shape_is_an_error_that_names_the_file(workspace: Workspace, text: str) -> None:
    path = workspace.annotations_dir / "bench.assignments.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BenchwrightError) as seen:
        all_assignments(workspace)
    assert seen.value.where == str(path)
    assert seen.value.remedy
