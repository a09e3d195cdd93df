"""What a release by a public sample is worth: remedies that work, an error that holds where the sample does not fit."""

import re

import numpy as np
import pytest

import sfumato as sf
from sfumato.mechanisms.choice import choose, private_mean

SPREADS = 1 / np.arange(1, 13)
SPACE = sf.Euclidean(dim=12)


@pytest.mark.parametrize("relation", ["same", "related"])
def test_the_epsilon_and_the_records_that_a_refusal_names_are_enough(relation, rng):
    sketch = sf.Ellipsoid.from_sample(SPACE, rng.normal(size=(10, 12)), relation=relation)
    points = rng.normal(size=(40, 12))
    with pytest.raises(sf.Refusal, match="useless") as refusal:
        private_mean(points, sketch, 0.02)
    epsilon, n = re.search(r"an epsilon of ([\d.]+), (\d+) records", str(refusal.value)).groups()
    assert private_mean(points, sketch, float(epsilon)).n == 40
    assert private_mean(rng.normal(size=(int(n), 12)), sketch, 0.02).n == int(n)


def test_what_a_refused_comparison_of_groups_names_is_enough(rng):
    sketch = sf.Ellipsoid.from_sample(SPACE, rng.normal(size=(10, 12)) * SPREADS)
    points, labels = rng.normal(size=(80, 12)) * SPREADS, np.repeat(["f", "m"], 40)
    with pytest.raises(sf.Refusal, match="useless") as refusal:
        sf.compare_groups(points, labels, sketch, 0.1)
    epsilon = float(re.search(r"an epsilon of ([\d.]+)", str(refusal.value))[1])
    assert {*sf.compare_groups(points, labels, sketch, epsilon).groups} == {"f", "m"}


def test_the_error_holds_where_a_look_says_no():
    """Without what the ball clips, none of these releases were within the error that was stated."""
    rng = np.random.default_rng(5)
    held, noise = [], []
    for _ in range(10):
        turned = np.linalg.qr(rng.normal(size=(12, 12)))[0]
        away = rng.normal(size=12) * SPREADS @ turned
        away *= 2 * np.linalg.norm(SPREADS) / np.linalg.norm(away)
        sketch = sf.Ellipsoid.from_sample(SPACE, rng.normal(size=(20, 12)) * SPREADS)
        points = away + rng.normal(size=(1000, 12)) * SPREADS @ turned
        release = private_mean(points, sketch, 2.0)
        if release.chart.look is None:
            continue
        assert release.chart.look["fell_back"]
        error = np.linalg.norm(release.value - points.mean(axis=0))
        held.append(error <= release.error(0.95))
        noise.append(error <= release.noise(0.95))
    assert len(held) > 3
    assert np.mean(held) > 0.5 > np.mean(noise)


def test_no_epsilon_goes_into_a_spread_that_no_region_can_come_of(rng):
    sample, points = (rng.normal(size=(k, 12)) * SPREADS for k in (20, 300))
    for relation, check, spent in (("other", 0.0, False), ("related", 0.0, False), ("same", 0.0, True)):
        sketch = sf.Ellipsoid.from_sample(SPACE, sample, relation=relation)
        release = private_mean(points, sketch, 1.0, inference=0.1, check=check, allow_useless=True)
        assert ("spread" in release.spent) == spent


def test_a_whole_error_is_not_below_the_noise(rng):
    for dim in (1, 2, 12):
        sketch = sf.Ellipsoid.from_sample(sf.Euclidean(dim=dim), rng.normal(size=(8, dim)))
        plan = choose(sketch, 50, 1.0)
        release = private_mean(rng.normal(size=(50, dim)), sketch, 1.0, allow_useless=True)
        for p in (0.5, 0.9, 0.95, 0.99, 0.999):
            assert plan.whole_error(p) >= plan.release_error(p)
            assert release.error(p) >= release.noise(p)


def test_a_wider_ball_has_no_smaller_error():
    """The bound on the distance to the Fréchet mean, which is not known in wide balls, is stated and not added."""
    space = sf.Sphere(dim=3)
    balls = [sf.Ball(space, space.present(space.origin()), radius) for radius in (0.8, 1.2, 1.5, 1.6, 2.0, 3.0)]
    plans = [sf.TangentKNorm(ball, 1.0).plan(20) for ball in balls]
    assert np.all(np.diff([plan.error_95 for plan in plans]) > 0)
    assert len({plan.useless for plan in plans}) == 1


def test_a_second_step_states_the_whole_error(rng):
    sketch = sf.Ellipsoid.from_sample(SPACE, rng.normal(size=(20, 12)) * SPREADS, relation="same")
    points = rng.normal(size=(600, 12)) * SPREADS
    plan = choose(sketch, 600, 1.0, steps=2)
    release = private_mean(points, sketch, 1.0, steps=2)
    assert release.error(0.95) >= plan.error_95 > plan.noise_95
    assert plan.gain > 1


def test_remedies_of_a_mechanism_by_name_say_that_another_one_is_needed():
    """A public sample goes with charts: typed beside the Laplace's name it would be refused."""
    ball = sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 1.0], 0.3)
    with pytest.raises(
        sf.Refusal, match=r"a public sample of such records \(Ellipsoid.from_sample with mechanism='auto'\)"
    ):
        private_mean(np.tile([0.0, 0.0, 1.0], (5, 1)), ball, 0.3, "laplace")
