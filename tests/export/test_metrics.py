from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations
from math import isclose

import pytest

from benchwright.export.evaluation.metrics import clustered_interval, first_k, mean, pass_at_k, pass_hat_k


@pytest.mark.parametrize(
    ("n", "c", "k", "value"),
    [
        (5, 0, 5, Fraction(0)),
        (5, 5, 1, Fraction(1)),
        (5, 2, 2, Fraction(7, 10)),
        (6, 2, 5, Fraction(1)),
        (10, 3, 2, Fraction(8, 15)),
        (3, 1, 5, None),
        (0, 0, 1, None),
    ],
)
def test_pass_at_k_is_exact(n, c, k, value):
    assert pass_at_k(n, c, k) == value


def test_pass_at_k_is_the_share_of_draws_that_hold_a_right_sample():
    for n in range(1, 7):
        for c in range(n + 1):
            for k in range(1, n + 1):
                draws = list(combinations([True] * c + [False] * (n - c), k))
                assert pass_at_k(n, c, k) == Fraction(sum(any(draw) for draw in draws), len(draws))


def test_pass_hat_k_is_the_share_of_draws_that_hold_nothing_else():
    for n in range(1, 7):
        for c in range(n + 1):
            for k in range(1, n + 1):
                draws = list(combinations([True] * c + [False] * (n - c), k))
                assert pass_hat_k(n, c, k) == Fraction(sum(all(draw) for draw in draws), len(draws))
    assert pass_hat_k(2, 2, 5) is None


@pytest.mark.parametrize(("n", "c", "k"), [(5, 6, 1), (5, -1, 1), (5, 1, 0)])
def test_counts_that_make_no_sense_are_refused(n, c, k):
    with pytest.raises(ValueError, match="makes no sense"):
        pass_at_k(n, c, k)


def test_first_k_looks_at_the_order():
    assert first_k([False, True], 1) == 0
    assert first_k([False, True], 2) == 1
    assert first_k([False, True], 5) is None


def test_a_mean_is_over_examples_and_exact():
    assert mean([Fraction(1, 5), Fraction(0), Fraction(1)]) == Fraction(2, 5)
    assert mean([]) is None


def test_an_interval_is_seeded_and_holds_the_mean():
    values = [float(i % 3 == 0) for i in range(60)]
    clusters = [i // 4 for i in range(60)]
    found = clustered_interval(values, clusters)
    assert found == clustered_interval(values, clusters)
    assert found is not None
    assert found[0] <= sum(values) / 60 <= found[1]


def test_examples_of_one_task_widen_the_interval():
    """With equal values inside a cluster the spread is that of the clusters: about twice as wide for four each."""
    source = random.Random(5)
    tasks = [float(source.random() < 0.5) for _ in range(50)]
    values = [value for value in tasks for _ in range(4)]
    clustered = clustered_interval(values, [i // 4 for i in range(200)])
    single = clustered_interval(values, list(range(200)))
    assert clustered is not None
    assert single is not None
    assert isclose((clustered[1] - clustered[0]) / (single[1] - single[0]), 2, rel_tol=0.2)


def test_an_interval_agrees_with_a_reference():
    numpy = pytest.importorskip("numpy")
    values = [float(i % 5 < 2) for i in range(100)]
    clusters = [i // 2 for i in range(100)]
    sums = numpy.array([values[2 * i] + values[2 * i + 1] for i in range(50)])
    drawn = numpy.random.default_rng(1).integers(0, 50, (20_000, 50))
    low, high = numpy.quantile(sums[drawn].sum(axis=1) / 100, [0.025, 0.975])
    found = clustered_interval(values, clusters, draws=20_000)
    assert found is not None
    assert isclose(found[0], low, abs_tol=0.012)
    assert isclose(found[1], high, abs_tol=0.012)


def test_one_task_alone_gives_no_interval():
    assert clustered_interval([1.0, 0.0], ["same", "same"]) is None
    assert clustered_interval([], []) is None
