"""The statistics equal published values, and an independent way of computing them."""

import random
from collections.abc import Hashable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.annotation.agreement import (
    by_annotator,
    cohen_kappa,
    estimate,
    krippendorff_alpha,
    percent_agreement,
)

Rows = dict[str, list[Hashable | None]]


def units(rows: Rows) -> list[dict[str, Hashable]]:
    size = len(next(iter(rows.values())))
    return [{name: v for name, row in rows.items() if (v := row[i]) is not None} for i in range(size)]


# K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), sections A, B and C
BINARY: Rows = {"A": [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], "B": [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]}
NOMINAL: Rows = {"A": list("aabbdcccedda"), "B": list("babbbccceddd")}
MISSING: Rows = {
    "A": [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    "B": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    "C": [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    "D": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
}


@pytest.mark.parametrize(("rows", "alpha"), [(BINARY, 0.095), (NOMINAL, 0.692), (MISSING, 0.743)])
def test_alpha_equals_krippendorffs_own_examples(rows: Rows, alpha: float) -> None:
    assert krippendorff_alpha(units(rows)) == pytest.approx(alpha, abs=0.0006)


# J. Cohen (1960), table of two psychiatrists' 200 judgements; and the 50 applications of many textbooks
@pytest.mark.parametrize(
    ("table", "kappa"),
    [([[88, 14, 18], [10, 40, 10], [2, 6, 12]], 0.492), ([[20, 5], [10, 15]], 0.40)],
)
def test_kappa_equals_published_tables(table: list[list[int]], kappa: float) -> None:
    pairs = [{"A": i, "B": j} for i, row in enumerate(table) for j, n in enumerate(row) for _ in range(n)]
    assert cohen_kappa(pairs) == pytest.approx(kappa, abs=0.0006)


def coincidence_alpha(rows: list[dict[str, Hashable]]) -> float | None:
    """Alpha from the matrix of coincidences, as Krippendorff derives it by hand."""
    values = sorted({v for unit in rows for v in unit.values()}, key=str)
    matrix = dict.fromkeys(product(values, values), 0.0)
    for unit in rows:
        said = list(unit.values())
        for i, j in product(range(len(said)), repeat=2):
            if i != j:
                matrix[said[i], said[j]] += 1 / (len(said) - 1)
    totals = {v: sum(matrix[v, w] for w in values) for v in values}
    n = sum(totals.values())
    observed = sum(x for (v, w), x in matrix.items() if v != w)
    expected = sum(totals[v] * totals[w] for v, w in product(values, values) if v != w)
    return 1 - (n - 1) * observed / expected if expected else None


@given(st.lists(st.dictionaries(st.sampled_from("ABCDE"), st.integers(0, 3), max_size=5), max_size=20))
def test_alpha_with_missing_cells_equals_the_coincidence_matrix(rows: list[dict[str, Hashable]]) -> None:
    ours, theirs = krippendorff_alpha(rows), coincidence_alpha(rows)
    assert (ours is None) == (theirs is None)
    if theirs is not None:
        assert ours == pytest.approx(theirs)


def test_percent_agreement_counts_pairs_and_leaves_single_judgements_out() -> None:
    rows: list[dict[str, Hashable]] = [{"A": 1, "B": 1, "C": 2}, {"A": 1}, {"A": 2, "B": 2}]
    assert percent_agreement(rows) == pytest.approx((1 / 3 + 1) / 2)
    assert percent_agreement([{"A": 1}]) is None


def test_what_is_not_defined_has_no_value() -> None:
    same: list[dict[str, Hashable]] = [{"A": 1, "B": 1}] * 5
    assert krippendorff_alpha(same) is None
    assert cohen_kappa(same) is None
    assert cohen_kappa([{"A": 1, "B": 2, "C": 1}]) is None
    assert estimate(krippendorff_alpha, same).low is None


def test_the_interval_holds_the_value_narrows_with_data_and_repeats() -> None:
    chance = random.Random(7)

    def data(size: int) -> list[dict[str, Hashable]]:
        truth = [chance.randrange(3) for _ in range(size)]
        return [{who: t if chance.random() < 0.8 else chance.randrange(3) for who in "AB"} for t in truth]

    small, large = data(20), data(400)
    one, two = estimate(krippendorff_alpha, small), estimate(krippendorff_alpha, large)
    for found in (one, two):
        assert found.value is not None
        assert found.low is not None
        assert found.high is not None
        assert found.low <= found.value <= found.high
    assert two.high is not None
    assert two.low is not None
    assert one.high is not None
    assert one.low is not None
    assert two.high - two.low < one.high - one.low
    assert estimate(krippendorff_alpha, small) == one


def test_each_annotator_is_compared_with_the_others() -> None:
    rows: list[dict[str, Hashable]] = [{"A": 1, "B": 1, "C": 2}, {"A": 1, "B": 1}, {"C": 1}]
    assert by_annotator(rows) == {"A": (2, 2 / 3), "B": (2, 2 / 3), "C": (1, 0.0)}
