"""A region for the mean of the population is given by a public sample only where that sample is known to fit."""

from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf


@pytest.fixture(scope="module")
def released():
    rng = np.random.default_rng(3)
    spreads = 1 / np.arange(1, 13)
    sketch = sf.Ellipsoid.from_sample(sf.Euclidean(dim=12), rng.normal(size=(40, 12)) * spreads, relation="same")
    points = rng.normal(size=(3000, 12)) * spreads
    release = sf.private_mean(points, sketch, 4.0, inference=0.1)
    return replace(release, whole=replace(release.whole, drawn={}))  # as if the draw told no more


def test_there_is_one_for_a_sample_of_the_same_population(released):
    assert released.region(0.95).radius > 0
    assert "confidence the mean of the population" in released.describe()


@pytest.mark.parametrize(
    ("relation", "look", "why"),
    [
        ("related", None, "no look was made"),
        ("other", {"share": 0.1, "fell_back": True}, "a look says"),
        ("same", None, "the draw lies farther"),
        ("same", None, "may be more than the noise"),
    ],
)
def test_there_is_none_where_the_sample_may_not_fit(released, relation, look, why):
    stated = released.whole.quantiles
    drawn = {p: 1.6 * x for p, x in stated.items()} if "farther" in why else {}
    wide = {p: 2 * released.noise(float(p)) for p in stated} if "noise" in why else stated
    whole = replace(released.whole, relation=relation, quantiles=wide, drawn=drawn)
    release = replace(released, whole=whole, chart=replace(released.chart, look=look))
    with pytest.raises(ValueError, match=f"no region for the population's mean: .*{why}"):
        release.region(0.95)
    assert "no region can be given for the mean of the population" in release.describe()
    assert why in release.describe()


def test_a_look_that_says_yes_is_enough(released):
    whole = replace(released.whole, relation="related")
    looked = replace(released, whole=whole, chart=replace(released.chart, look={"share": 0.1, "fell_back": False}))
    assert looked.region(0.95).radius == released.region(0.95).radius
