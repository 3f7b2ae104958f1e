"""pass@k without bias, and its uncertainty.

pass@k of an example with n samples, c of them right, is 1 - C(n-c, k) / C(n, k) (Chen et al. 2021, "Evaluating Large
Language Models Trained on Code", arXiv 2107.03374): the chance that k samples drawn without replacement hold a right
one. It is not defined for n < k. A mean is over examples, never over samples.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from fractions import Fraction
from math import comb

__all__ = ["clustered_interval", "first_k", "mean", "pass_at_k", "pass_hat_k"]

DRAWS = 2000
LEVEL = 0.95
SEED = 20240613


def pass_at_k(n: int, c: int, k: int) -> Fraction | None:
    """The unbiased estimate for ``c`` right of ``n`` samples, exactly; None where n < k.

    Raises:
        ValueError: k < 1, or not 0 <= c <= n.
    """
    if k < 1 or not 0 <= c <= n:
        raise ValueError(f"pass@{k} of {c} right among {n} samples makes no sense")
    if n < k:
        return None
    return 1 - Fraction(comb(n - c, k), comb(n, k))


def pass_hat_k(n: int, c: int, k: int) -> Fraction | None:
    """pass^k, the chance that all of ``k`` samples drawn without replacement are right; None where n < k.

    Raises:
        ValueError: k < 1, or not 0 <= c <= n.
    """
    if k < 1 or not 0 <= c <= n:
        raise ValueError(f"pass^{k} of {c} right among {n} samples makes no sense")
    return Fraction(comb(c, k), comb(n, k)) if n >= k else None


def first_k(right: Sequence[bool], k: int) -> Fraction | None:
    """ML-Bench's own figure: 1 if any of the first ``k`` samples is right; None where there are fewer."""
    return Fraction(any(right[:k])) if len(right) >= k else None


def mean(values: Sequence[Fraction]) -> Fraction | None:
    """The exact mean; None of nothing."""
    return sum(values, Fraction(0)) / len(values) if values else None


def clustered_interval(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    draws: int = DRAWS,
    level: float = LEVEL,
    seed: int = SEED,
) -> tuple[float, float] | None:
    """Bounds of the mean by the percentile bootstrap over whole clusters (examples of one task are not independent).

    ``values`` and ``clusters`` run in parallel. Fewer than two clusters say nothing about the spread between
    clusters: None.
    """
    totals: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        entry = totals.setdefault(cluster, [0.0, 0.0])
        entry[0] += value
        entry[1] += 1
    if len(totals) < 2:
        return None
    # plain lists and C-level sums: numpy is no part of the base installation
    sums, sizes = [entry[0] for entry in totals.values()], [entry[1] for entry in totals.values()]
    choices, places = random.Random(seed).choices, range(len(sums))  # noqa: S311 - statistics, not secrets
    means = []
    for _ in range(draws):
        drawn = choices(places, k=len(sums))
        means.append(sum(map(sums.__getitem__, drawn)) / sum(map(sizes.__getitem__, drawn)))
    means.sort()
    tail = (1 - level) / 2
    return _quantile(means, tail), _quantile(means, 1 - tail)


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Linear interpolation between order statistics (type 7)."""
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)
