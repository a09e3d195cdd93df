"""A mean whose noise comes in parts: its record states errors, regions and differences with the parts of all sites."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import kv

import sfumato as sf
from sfumato.laws.calibration.population import sum_quantile
from sfumato.laws.noise import Noise
from sfumato.laws.sampling.divided import GRID
from sfumato.mechanisms.inference import Spread
from sfumato.mechanisms.parted import Parted, PartedSpread, Total
from sfumato.mechanisms.stages import Composition

BALL = sf.Ball(sf.Euclidean(dim=3), [0.0, 0.0, 0.0], radius=1.0)


def plan_of(n, sites=3, trusted=1, share=0.1):
    privacy = sf.PureDP(1.0)
    spread = PartedSpread.of(privacy, share)
    mean = Parted(BALL, privacy.aside(share)[1], sites=sites, trusted=trusted, spread=spread).plan(n)
    return Composition(BALL, n, privacy, mean, spread=spread)


def released(plan, w, rng):
    """Return a release of records with these coordinates and the noise of all sites."""
    exact = np.append(w.sum(axis=0), np.sum(w * w))
    noise = [one.draws(1, rng, parts=one.sites)[0] for one in plan.chart.divided()]
    numbers = [Fraction(float(x)) for x in exact + np.concatenate(noise)]
    return plan.made(plan.record, Total(len(w), numbers), "one record", rng)


@pytest.mark.parametrize(("sites", "trusted"), [(3, 2), (20, 19), (40, 1)])
def test_stated_errors_hold_and_are_not_idle(sites, trusted, rng):
    region = sf.Ellipsoid(sf.Euclidean(dim=6), np.zeros(6), [1, 0.9, 0.5, 0.4, 0.2, 0.1])
    plan = Parted(region, 1.0, sites=sites, trusted=trusted).plan(900)
    (noise,) = plan.divided()
    dither = rng.random((20_000, sites, 6)).sum(axis=1) - sites / 2
    total = noise.draws(20_000, rng, parts=sites) + dither * noise.dither / 2**GRID
    length = np.linalg.norm(total / 900 * plan.chart.axes, axis=1)
    for p in (0.5, 0.95, 0.99):
        stated = plan.release_error(p)
        assert np.mean(length > stated) <= 1 - p + 5 * np.sqrt(p * (1 - p) / 20_000)
        assert np.mean(length > stated / 1.15) > 1.1 * (1 - p)


def test_the_error_is_the_root_of_sites_over_trusted_of_one_curators():
    one = sf.TangentKNorm(BALL, 1.0).plan(900)
    for sites, trusted in ((4, 1), (4, 3), (100, 50)):
        shared = Parted(BALL, 1.0, sites=sites, trusted=trusted).plan(900)
        assert shared.noise_95 / one.noise_95 == pytest.approx(np.sqrt(sites / trusted), rel=0.08)
        assert shared.scale.sigma == pytest.approx(one.scale.sigma)


def test_the_region_of_the_population_covers(rng):
    plan = plan_of(600)
    held, bare = [], []
    for _ in range(150):
        w = rng.normal(0.1, 0.02, (600, 3))
        release = released(plan, w, rng)
        held.append(release.region(0.9).contains([[0.1, 0.1, 0.1]])[0])
        alone = replace(release, mechanism=replace(release.mechanism, options={}))
        bare.append(alone.region(0.9).contains([[0.1, 0.1, 0.1]])[0])
    assert np.mean(held) > 0.9 - 5 * np.sqrt(0.09 / 150)
    assert np.mean(bare) < 0.75  # with the noise of one curator in the record


def test_no_difference_is_seldom_called_one(rng):
    """Tests of groups count the noise of all sites: with that of one curator they would reject too often."""
    plan, found, bare = plan_of(150), [], []
    for _ in range(200):
        groups = {name: released(plan, rng.normal(0.0, 0.02, (150, 3)), rng) for name in "ab"}
        alone = {name: replace(one, mechanism=replace(one.mechanism, options={})) for name, one in groups.items()}
        found.append(sf.Comparison(epsilon=1.0, groups=groups))
        bare.append(sf.Comparison(epsilon=1.0, groups=alone))
    for p_value in (lambda one: one.difference().p_value, lambda one: one.omnibus):
        assert np.mean([p_value(one) < 0.05 for one in found]) < 0.05 + 5 * np.sqrt(0.05 * 0.95 / 200)
        assert np.mean([p_value(one) < 0.05 for one in bare]) > 0.18


def test_quantiles_of_several_noises_are_at_most_so_many_times_those_of_one(rng):
    """By which the variance of a population is bounded (release/population.py)."""
    for p in (1, 2, 10, 96):
        for noises in (1.05, 1.5, 3.0, 20.0):
            for level in (0.7, 0.85, 0.95, 0.999):
                several = sum_quantile(level, p, [1.0], 0.0, noises)
                assert sum_quantile(level, p, [1.0], 0.0) <= several <= noises * sum_quantile(level, p, [1.0], 0.0)


def test_the_spread_pays_for_its_noise():
    plan = plan_of(600, sites=5, trusted=3)
    mean, spread = plan.chart.divided()
    assert spread.size == 1
    assert spread.scale == pytest.approx(float(Spread.of(sf.PureDP(1.0), 0.1).width))
    assert 2 / mean.scale + 1 / spread.scale <= 1.0
    assert plan.facts.epsilon == 1.0
    assert plan.facts.chance == pytest.approx(mean.chance + spread.chance, rel=1e-6)


def test_what_rounding_adds_is_small():
    ball = sf.Ball(sf.Euclidean(dim=96), np.zeros(96), radius=1.0)
    stated = [Parted(ball, 1.0, sites=m, trusted=m - 1).plan(1000).losses.numerical_delta for m in (3, 200)]
    assert stated == pytest.approx([1.2e-10, 1.5e-8], rel=0.05)


def test_with_all_sites_trusted_one_that_shows_its_part_breaks_epsilon():
    """By the density ∝ r^ν·K_ν(r) of what is left: 1.71 of 1 against one of 20 sites, and no bound against two."""

    def loss(shown, near):
        order = 11 * (20 - shown) / 40 - 5
        low, high = (order * np.log(r) + np.log(kv(abs(order), r)) for r in (near, 1 + near))
        return low - high

    assert loss(0, 1e-9) == pytest.approx(1.0, abs=1e-6)
    assert loss(1, 1e-9) == pytest.approx(1.709, abs=1e-3)
    assert loss(2, 1e-100) > loss(2, 1e-9) + 10


def test_rounding_and_noise_together_are_within_delta():
    """Of an (ε, δ), whatever the scale is rounded to: the dither is a power of two."""
    ball = sf.Ball(sf.Euclidean(dim=40), np.zeros(40), radius=1.0)
    for epsilon in np.geomspace(0.5, 3, 12).tolist():
        plan = Parted(ball, sf.ApproxDP(epsilon, 1e-6), sites=200, trusted=199).plan(1000)
        chance = sum(one.chance for one in plan.divided())
        assert Noise(plan.allowed, 40).certified(epsilon) + (1 + np.exp(epsilon)) * chance <= 1e-6
