"""How far annotators agree, field by field: percent agreement, Cohen's kappa, Krippendorff's alpha, with intervals.

Sources: J. Cohen, "A coefficient of agreement for nominal scales", Educ. Psychol. Meas. 20 (1960);
K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), nominal metric, missing values allowed;
B. Efron, percentile bootstrap over candidates.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import combinations

from ..core.models import Part

__all__ = ["Estimate", "Units", "by_annotator", "cohen_kappa", "estimate", "krippendorff_alpha", "percent_agreement"]

Units = Sequence[Mapping[str, Hashable]]
"""One mapping a candidate: annotator -> value. Who did not judge it is absent."""

RESAMPLES = 1000
CONFIDENCE = 0.95


class Estimate(Part):
    """A statistic with the bounds of its 95 % bootstrap interval; None where it is not defined."""

    value: float | None
    low: float | None
    high: float | None


def percent_agreement(units: Units) -> float | None:
    """Share (0 to 1) of pairs of annotators of one candidate who gave the same value, averaged over candidates."""
    shares = []
    for unit in units:
        values = list(unit.values())
        if len(values) > 1:
            pairs = len(values) * (len(values) - 1)
            shares.append(sum(n * (n - 1) for n in Counter(values).values()) / pairs)
    return sum(shares) / len(shares) if shares else None


def cohen_kappa(units: Units) -> float | None:
    """Kappa of two annotators over the candidates both judged; None with more of them, or where all say the same."""
    annotators = sorted({name for unit in units for name in unit})
    if len(annotators) != 2:
        return None
    one, two = annotators
    pairs = [(unit[one], unit[two]) for unit in units if one in unit and two in unit]
    if not pairs:
        return None
    observed = sum(a == b for a, b in pairs) / len(pairs)
    ones, twos = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    expected = sum(ones[value] * twos[value] for value in ones) / len(pairs) ** 2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def krippendorff_alpha(units: Units) -> float | None:
    """Nominal alpha over all candidates with two or more values; None where there is but one value in all."""
    total: Counter[Hashable] = Counter()
    disagreeing = 0.0
    for unit in units:
        counts = Counter(unit.values())
        size = sum(counts.values())
        if size < 2:
            continue
        total.update(counts)
        disagreeing += sum(n * (size - n) for n in counts.values()) / (size - 1)
    size = sum(total.values())
    expected = sum(n * (size - n) for n in total.values())
    return None if expected == 0 else 1 - (size - 1) * disagreeing / expected


def estimate(statistic: Callable[[Units], float | None], units: Units, seed: int = 0) -> Estimate:
    """The statistic of ``units`` and its percentile bootstrap interval over candidates; equal input, equal result."""
    value = statistic(units)
    judged = [unit for unit in units if len(unit) > 1]
    if value is None or len(judged) < 2:
        return Estimate(value=value, low=None, high=None)
    chance = random.Random(seed)  # noqa: S311 (no secret depends on it)
    found = sorted(
        again for _ in range(RESAMPLES) if (again := statistic(chance.choices(judged, k=len(judged)))) is not None
    )
    if len(found) < RESAMPLES // 2:  # mostly undefined, as where nearly all say the same
        return Estimate(value=value, low=None, high=None)
    tail = (1 - CONFIDENCE) / 2
    return Estimate(value=value, low=_quantile(found, tail), high=_quantile(found, 1 - tail))


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def by_annotator(units: Units) -> dict[str, tuple[int, float | None]]:
    """Annotator -> how many candidates they share with others, and the share of pairs with others that agree."""
    same: dict[str, list[bool]] = defaultdict(list)
    shared: Counter[str] = Counter()
    for unit in units:
        if len(unit) > 1:
            shared.update(unit.keys())
        for one, two in combinations(sorted(unit), 2):
            for name in (one, two):
                same[name].append(unit[one] == unit[two])
    return {name: (shared[name], sum(found) / len(found)) for name, found in sorted(same.items())}
