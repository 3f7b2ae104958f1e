"""Agreement figures against published tables and against the reference implementations."""

import random
from collections.abc import Sequence

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from benchwright.annotation.agreement import cohen_kappa, krippendorff_alpha, percent_agreement

Unit = dict[str, str]


def units_of(*observers: str) -> list[Unit]:
    """One string an observer, a letter a unit; a dot where it was not judged."""
    return [
        {f"annotator-{at}": said for at, said in enumerate(column, 1) if said != "."}
        for column in zip(*observers, strict=True)
    ]


PUBLISHED = [
    # K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), sections A, B and C
    (("0100000010", "1110010000"), 0.095),
    (("aabbdcccedda", "babbbccceddd"), 0.692),
    (("123321412...", "1233224125.3", ".3332342251.", "12332441251."), 0.743),
]


@pytest.mark.parametrize(("observers", "published"), PUBLISHED, ids=["binary", "nominal", "missing"])
def test_alpha_is_that_of_the_published_table(observers: Sequence[str], published: float) -> None:
    found = krippendorff_alpha(units_of(*observers))
    assert found == pytest.approx(published, abs=0.0006)
    assert found == pytest.approx(reference_alpha(units_of(*observers)), abs=1e-12)


def test_kappa_is_that_of_the_published_table() -> None:
    # 50 grant proposals, two readers: 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no
    found = units_of("y" * 25 + "n" * 25, "y" * 20 + "n" * 5 + "y" * 10 + "n" * 15)
    assert cohen_kappa(found) == pytest.approx(0.4)
    assert percent_agreement(found) == pytest.approx(0.7)


@pytest.mark.parametrize("seed", range(40))
def test_random_judgements_with_missing_cells_give_the_reference_figures(seed: int) -> None:
    chance = random.Random(seed)
    annotators, values = chance.choice([2, 2, 3, 5]), "abcde"[: chance.choice([2, 3, 5])]
    units: list[Unit] = []
    for _ in range(chance.choice([5, 20, 200])):
        truth = chance.choice(values)
        said = {f"annotator-{n}": truth if chance.random() < 0.6 else chance.choice(values) for n in range(annotators)}
        units.append({name: value for name, value in said.items() if chance.random() > 0.25})
    expected = reference_alpha(units)
    if expected is not None:
        assert krippendorff_alpha(units) == pytest.approx(expected, abs=1e-12)
    if annotators == 2:
        pairs = [tuple(unit[name] for name in sorted(unit)) for unit in units if len(unit) == 2]
        kappa = cohen_kappa_score(*zip(*pairs, strict=True)) if pairs else float("nan")
        if kappa == kappa:
            assert cohen_kappa(units) == pytest.approx(kappa, abs=1e-12)


def reference_alpha(units: Sequence[Unit]) -> float | None:
    names = sorted({name for unit in units for name in unit})
    codes = {value: code for code, value in enumerate(sorted({v for unit in units for v in unit.values()}))}
    table = np.array([[codes[unit[name]] if name in unit else np.nan for unit in units] for name in names])
    paired = {value for unit in units if len(unit) > 1 for value in unit.values()}
    if len(paired) < 2:
        return None
    return float(krippendorff.alpha(reliability_data=table, level_of_measurement="nominal"))
