"""Regions for the population's mean: their formula, that they cover, and what a release tells of them."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import gammainccinv

import sfumato as sf
from conftest import cloud
from sfumato.laws.calibration.population import noise_quantile, sum_quantile, sum_tail, variance_bound
from sfumato.mechanisms import choose
from sfumato.records import Records

SPHERE = sf.Sphere(dim=2)
BALL = sf.Ball(SPHERE, [0.0, 0.0, 1.0], 0.6)


def noise(p, sigma, size, rng):
    g = rng.normal(size=(size, p))
    return sigma * rng.gamma(p, size=size)[:, None] * g / np.linalg.norm(g, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("p", "sigmas", "variance"), [(1, [0.3], 0.1), (2, [0.05], 0.3), (10, [0.02, 0.03], 0.04), (30, [0.1], 0.0)]
)
def test_quantiles_are_those_of_simulated_sums(p, sigmas, variance, rng):
    drawn = sum(noise(p, sigma, 200_000, rng) for sigma in sigmas)
    drawn[:, 0] += np.sqrt(variance) * rng.normal(size=len(drawn))
    lengths = np.linalg.norm(drawn, axis=1)
    for level in (0.85, 0.95, 0.99):
        q = sum_quantile(level, p, sigmas, variance)
        margin = 5.5 * np.sqrt(level * (1 - level) / len(lengths))
        assert abs((lengths <= q).mean() - level) < margin
        assert abs((lengths <= 1.15 * q).mean() - level) > margin
        assert sum_tail(q, p, sigmas, variance) == pytest.approx(1 - level, rel=1e-6)


@pytest.mark.parametrize("p", [1, 2, 3, 10, 50, 96, 200])
def test_tails_are_right_far_out(p):
    """Of one noise the length is σ·Gamma(p); of two on a line the tail of the sum is e^(−x)·(1 + x/2)."""
    for tail in (0.1, 1e-3, 1e-5, 1e-8):
        x = gammainccinv(p, tail)
        assert sum_tail(0.3 * x, p, [0.3], 0.0) == pytest.approx(tail, rel=1e-3)
        if p == 1:
            assert sum_tail(x, 1, [1.0, 1.0], 0.0) == pytest.approx(tail * (1 + x / 2), rel=1e-3)


def test_the_variance_is_bounded_by_the_formula():
    b, q = 0.02, noise_quantile(0.95, 3, 0.01)
    found = variance_bound(0.95, 50, 1.0, 3, 0.01, 0.3, b, 0.4)
    assert found == pytest.approx(50 / 49 * (0.3 + b * np.log(10) - (0.4 - q) ** 2))
    assert variance_bound(0.95, 50, 8.0, 3, 0.01, 0.3, b, 0.4) == pytest.approx(found + 4 / 50)
    assert variance_bound(0.95, 50, 1.0, 3, 0.01, 5.0, b, 0.0) == 1.0
    assert variance_bound(0.95, 50, 1.0, 3, 0.01, -5.0, b, 0.9) == 0.0
    assert variance_bound(0.95, 1, 1.0, 3, 0.01, 0.0, b, 0.9) == 1.0


@pytest.mark.parametrize(("n", "epsilon", "p"), [(50, 4.0, 2), (200, 1.0, 10), (1000, 0.5, 2)])
def test_regions_cover_and_the_noise_alone_would_not(n, epsilon, p, rng):
    """A population on a line, which is the worst of its spread; with the plan's own draws."""
    space = sf.Euclidean(dim=p)
    plan = choose(sf.Ball(space, np.zeros(p), 1.0), n, epsilon, "tangent", inference=0.1)
    sigma, scale = plan.chart.scale.sigma, float(plan.width) / n
    hits, alone, spreads = 0, 0, np.linspace(0, 1.1, 12)
    table = [sum_quantile(0.95, p, [sigma], spread / n) for spread in spreads]
    for _ in range(400):
        points = np.zeros((n, p))
        points[:, 0] = 0.2 + 0.4 * rng.normal(size=n).clip(-2, 2)
        drawn = plan.chart.draw(Records(space, points), rng)
        moment = plan.spread.second_moment(plan.chart.chart, Records(space, points), rng)
        variance = variance_bound(0.95, n, epsilon, p, sigma, moment, scale, np.linalg.norm(drawn.point))
        off = np.linalg.norm(drawn.raw - np.eye(1, p)[0] * 0.2)
        hits, alone = (
            hits + (off <= np.interp(variance, spreads, table)),
            alone + (off <= noise_quantile(0.95, p, sigma)),
        )
    assert hits > 400 * 0.94 - 5 * np.sqrt(400 * 0.94 * 0.06)
    assert n > 50 or alone < hits - 60  # where the sample says as little as the noise hides


def test_a_rare_cluster_at_the_far_end_is_covered_too(rng):
    """On a line, where a single record moves the mean by more than the noise does at an epsilon of 4."""
    n, epsilon, q, draws = 50, 4.0, 3 / 50, 20_000
    sigma, scale, rare = 2 / (n * 0.9 * epsilon), 1 / (n * 0.1 * epsilon), rng.binomial(n, q, size=draws)
    off = noise(1, sigma, draws, rng)[:, 0]
    found, moments = 2 * rare / n - 1 + off, 1 + scale * rng.laplace(size=draws)
    grid = np.concatenate([[0.0], np.geomspace(1e-3, 1.2, 30)])
    table = [sum_quantile(0.95, 1, [sigma], variance / n) for variance in grid]

    def covered(less):
        bounds = [
            variance_bound(0.95, n, epsilon, 1, sigma, *numbers)
            for numbers in zip(moments, np.full(draws, scale), np.abs(found), strict=True)
        ]
        radii = np.interp(np.array(bounds) - less, grid, table)
        return float((np.abs(found - (2 * q - 1)) <= radii).mean())

    assert covered(0.0) > 0.947
    assert covered(4 / n) < 0.943  # without what is added for such an epsilon


def test_a_release_says_it_and_so_does_its_record(rng):
    points = cloud(SPHERE, BALL.center, 0.4, 300, rng)
    release = sf.private_mean(points, BALL, 1.0, inference=0.1)
    region = release.region(0.95)
    assert release.guarantee.epsilon == 1.0
    assert release.spread.share == 0.1
    assert release.spread.scale == pytest.approx(1 / (300 * 0.1))
    assert 0 < region.radius < 0.6
    assert region.contains(release.raw[None])[0]
    assert not region.contains(SPHERE.exp(BALL.center, np.array([[0.0, 3.0, 0.0]])))[0]
    assert region.chart_radius < release.region(0.99).chart_radius
    assert region.words in release.describe()
    assert "95% confidence" in region.words
    again = sf.Release.from_json(release.to_json())
    assert again.region(0.95).chart_radius == region.chart_radius
    wide = sf.private_mean(points, BALL, 1.0, "tangent")
    assert wide.spread is None
    assert wide.region(0.95).chart_radius > region.chart_radius
    assert "as spread out as their public region allows" in wide.region().words


def test_what_has_no_region_says_how_to_get_one(rng):
    points = cloud(SPHERE, BALL.center, 0.4, 300, rng)
    with pytest.raises(ValueError, match=r"by kng has no region.*inference=0.1"):
        sf.private_mean(points, BALL, 1.0, "kng").region()
    with pytest.raises(ValueError, match=r"level from 0.85 to 0.999, not 0.5"):
        sf.private_mean(points, BALL, 1.0, inference=0.1).region(0.5)
    with pytest.raises(sf.Refusal, match="inference goes with releases by chart"):
        sf.private_mean(points, BALL, 1.0, "kng", inference=0.1)
    for share in (0.7, -0.1, "a"):
        with pytest.raises(ValueError, match="inference must be a share of epsilon"):
            sf.private_mean(points, BALL, 1.0, inference=share)


@pytest.mark.parametrize("how", [{}, {"steps": 2}, {"find": "ball"}])
def test_shares_add_up_exactly_and_one_record_moves_the_sum_by_one_unit(how):
    plan = choose(BALL, 10, 0.7, "tangent", inference=0.1, **how)
    assert 1 / plan.width + Fraction(0.9 * 0.7) == Fraction(0.7)
    edge = SPHERE.exp(BALL.center, np.array([[0.6, 0.0, 0.0]]))
    sums = []
    for first in (edge, BALL.center[None]):
        records = Records(SPHERE, np.concatenate([first, np.repeat(BALL.center[None], 9, axis=0)]))
        rng = np.random.default_rng(0)
        sums.append(plan.spread.second_moment(plan.chart.chart, records, rng) * 10)
    assert 0.999 < sums[0] - sums[1] <= 1


def test_it_is_charged_as_one(rng):
    charged = []

    class Budget:
        def charge(self, facts, record):
            charged.append((facts.epsilon, record["spread"]))

    release = sf.private_mean(cloud(SPHERE, BALL.center, 0.4, 300, rng), BALL, 1.0, inference=0.2, budget=Budget())
    assert [epsilon for epsilon, _ in charged] == [1.0]
    assert charged[0][1]["second_moment"] is None
    assert release.spread.second_moment is not None


def test_the_variance_about_a_mean_has_an_interval(rng):
    points = rng.normal(0, 0.3, (3000, 2))
    mean = sf.private_mean(points, sf.Ball(sf.Euclidean(dim=2), [0.0, 0.0], 1.5), 4.0)
    variance = sf.private_variance(points, mean, 4.0)
    assert abs(variance.value[0] - 0.18) < 0.05
    assert variance.region(0.95).contains(variance.value[None])[0]
    with pytest.raises(ValueError, match="must be a positive number"):
        sf.private_variance(points, mean, 1.0, reach=-1.0)


@pytest.mark.parametrize("steps", [1, 2])
def test_the_variance_counts_the_directions_that_the_region_leaves_out(steps, rng):
    """The longest axis is far too short a reach where one direction of forty is learned."""
    space, spreads = sf.Euclidean(dim=40), np.array([0.5] + [0.25] * 39)
    region = sf.Ellipsoid.from_sample(space, spreads * rng.normal(size=(40, 40)), modes=1).settle(400, 1.0)
    records = 0.1 + spreads * rng.normal(size=(400, 40))
    mean = sf.private_mean(records, region, 1.0, steps=steps, allow_useless=True)
    truth = np.mean(space.distance(mean.value, records) ** 2)
    assert len(mean.chart.axes) == 1
    variance = sf.private_variance(records, sf.Release.from_json(mean.to_json()), 4.0)
    interval = variance.region(0.999)
    assert interval.contains(np.array([[truth]]))[0]
    assert interval.radius < truth / 4
    axis = sf.private_variance(records, mean, 4.0, reach=mean.ball.radius).region(0.999)
    assert not axis.contains(np.array([[truth]]))[0]
    reach = np.sqrt(2 * variance.ball.radius)
    assert f"farther than {reach:.4g} from the released mean" in variance.describe()


def test_no_record_of_a_ball_is_held_closer_than_it_is(rng):
    """Nine of ten records at one end of the ball, and the tenth at the other, farther from their mean than its radius."""
    records = np.where(np.arange(2000) % 10 == 0, -1.0, 1.0)[:, None]
    mean = sf.private_mean(records, sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0), 4.0)
    assert sf.private_variance(records, mean, 4.0).value[0] == pytest.approx(0.36, abs=0.05)
    assert sf.private_variance(records, mean, 4.0, reach=1.0).value[0] < 0.2


def test_a_reach_that_the_region_does_not_know_is_asked_for(rng):
    records = rng.normal(0, 0.3, (400, 3))
    space, center = sf.Euclidean(dim=3), [0.0, 0.0, 0.0]
    mean = sf.private_mean(records, sf.Ellipsoid(space, center, axes=[1.0, 0.9]), 4.0)
    with pytest.raises(ValueError, match="1 of 3 directions: give reach"):
        sf.private_variance(records, mean, 4.0)
    assert abs(sf.private_variance(records, mean, 4.0, reach=1.5).value[0] - 0.27) < 0.1
    mean = sf.private_mean(records, sf.Ellipsoid(space, center, axes=[1.0, 0.9], reach=1.5), 4.0)
    assert abs(sf.private_variance(records, mean, 4.0).value[0] - 0.27) < 0.1
    with pytest.raises(ValueError, match="reach of the ellipsoid must be a positive length"):
        sf.Ellipsoid(space, center, axes=[1.0], reach=-1.0)


def test_sizes_are_released_with_their_variance_and_charged_as_one(rng):
    charged = []

    class Budget:
        def charge(self, facts, record):
            charged.append((facts.epsilon, record["statistic"]))

    landmarks = rng.normal(size=(2000, 8, 3))
    sizes = sf.centroid_size(landmarks)
    found = sf.private_size(landmarks, 1.0, 9.0, 4.0, budget=Budget())
    assert charged == [(4.0, "mean and variance of centroid sizes")]
    assert abs(found.mean.value[0] - sizes.mean()) < 0.2
    assert abs(found.variance.value[0] - sizes.var()) < 0.5
    landmarks[5, 0, 0] = np.nan
    with pytest.raises(sf.InvalidPointError, match="record 5: has no size"):
        sf.private_size(landmarks, 1.0, 9.0, 4.0)
    with pytest.raises(ValueError, match="the smaller first"):
        sf.private_size(landmarks, 9.0, 1.0, 4.0)
