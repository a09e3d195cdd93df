"""The look: what a chart would lose against the ball, record by record, and where it falls back."""

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from conftest import cloud, typical_radius
from sfumato.regions import Ball, Ellipsoid, Look, NoLook
from sfumato.regions.look import SHARE, rms_noise

FLAT = sf.Euclidean(dim=30)


def falling(m, rng, offset=0.0):
    return rng.standard_normal((m, 30)) / np.arange(1, 31) ** 1.5 + offset


def a_look(space, rng):
    radius = typical_radius(space)
    chart = Ellipsoid(space, space.present(space.origin()), 0.5 * radius * rng.uniform(0.1, 1, (space.dim + 1) // 2))
    return Look(chart, Ball(space, space.present(space.origin()), radius))


def test_no_loss_is_longer_than_the_radius_and_each_is_its_own_record_s(space, rng):
    look = a_look(space, rng)
    points = cloud(space, look.ball.center, 1.5 * typical_radius(space), 30, rng)
    lost = look.lost(points)
    assert np.linalg.norm(lost, axis=1).max() <= look.ball.radius
    attacked = points.copy()
    attacked[7] = np.nan
    assert np.array_equal(np.delete(look.lost(attacked), 7, axis=0), np.delete(lost, 7, axis=0))
    assert not look.lost(attacked)[7].any()


def test_replacing_a_record_moves_the_loss_by_no_more_than_the_noise_allows_for(space, rng):
    """|b − b'| ≤ 2R/n, so Laplace noise of scale 2R/(n·share·ε) makes it share·ε-DP."""
    look, n = a_look(space, rng), 4
    allowed = look.scale(n, 1.0) * look.share
    assert allowed == pytest.approx(2 * look.ball.radius / n)
    for _ in range(30):
        data = cloud(space, look.ball.center, 2 * typical_radius(space), n + 1, rng)
        b = [np.linalg.norm(look.lost(part).mean(axis=0)) for part in (data[:n], data[1:])]
        assert abs(b[0] - b[1]) <= allowed


def test_a_loss_is_the_difference_of_what_ball_and_chart_make_of_a_record():
    look = Look(Ellipsoid(FLAT, np.zeros(30), [1.0, 0.5]), Ball(FLAT, np.zeros(30), 2.0))
    records = np.zeros((4, 30))
    records[0, :2] = [0.5, 0.1]  # in the chart
    records[1, 0] = 1.5  # clipped by the chart
    records[2, 5] = 0.7  # in a frozen direction
    records[3, 5] = 9.0  # the same, and outside of the ball
    lost = look.lost(records)
    assert not lost[0].any()
    assert lost[1, 0] == pytest.approx(0.5)
    assert lost[2, 5] == pytest.approx(0.7)
    assert np.linalg.norm(lost[3]) == pytest.approx(2.0)


@pytest.mark.parametrize("n", [200, 400, 1000])
def test_a_sample_that_fits_is_kept_and_a_wrong_one_is_not(n, rng):
    look = Ellipsoid.from_sample(FLAT, falling(60, rng)).looked(n, 1.0, SHARE)
    assert isinstance(look, Look)
    limit, scale = look.limit(n, 1.0), look.scale(n, 1.0)
    fits = np.linalg.norm(look.lost(falling(n, rng)).mean(axis=0))
    direction = np.zeros(30)
    direction[-1] = 1.0  # nothing in the sample points there
    other = np.linalg.norm(look.lost(falling(n, rng, 0.6 * look.ball.radius * direction)).mean(axis=0))
    assert fits + scale < limit < other - 2 * scale


def test_the_limit_is_where_the_ball_becomes_the_better_one():
    chart, ball = Ellipsoid(FLAT, np.zeros(30), [0.3, 0.2]), Ball(FLAT, np.zeros(30), 1.0)
    look, n, rest = Look(chart, ball), 1000, 0.9
    limit = look.limit(n, 1.0)
    noise = rms_noise(chart.axes, n, rest), rms_noise(ball.as_chart().axes, n, rest)
    assert 0 < limit <= np.sqrt(noise[1] ** 2 - noise[0] ** 2)
    assert look.limit(10, 1.0) == pytest.approx(0.7)  # a loss is never longer than the radius
    assert Look(ball.as_chart(), ball).limit(n, 1.0) == 0.0


def test_no_look_where_it_would_tell_nothing_or_is_not_needed(rng):
    sketch = Ellipsoid.from_sample(FLAT, falling(60, rng))
    drowned = sketch.looked(20, 1.0, SHARE)
    assert sketch.no_look(20, 1.0, SHARE) is NoLook.NEEDLESS  # the ball's noise is wider than the ball
    assert isinstance(drowned, Ellipsoid)
    assert len(drowned.axes) < 30
    low = Ellipsoid.from_sample(sf.Euclidean(dim=3), falling(60, rng)[:, :3])
    assert low.no_look(1000, 1.0, SHARE) is NoLook.BLIND  # in three dimensions the look is as loud as the ball
    assert low.looked(1000, 1.0, SHARE) == low.settle(1000, 1.0)


def test_a_sample_of_the_same_population_is_not_looked_at(rng):
    sample = falling(60, rng)
    for relation, why in {"same": NoLook.SAME, "related": None, "other": None}.items():
        sketch = Ellipsoid.from_sample(FLAT, sample, relation)
        assert sketch.no_look(1000, 1.0, SHARE) is why
        assert isinstance(sketch.looked(1000, 1.0, SHARE), Ellipsoid if why else Look)


def test_a_region_for_the_population_is_looked_for_where_a_look_is_not_needed(rng):
    sketch = Ellipsoid.from_sample(FLAT, falling(60, rng))
    assert sketch.no_look(20, 1.0, SHARE) is NoLook.NEEDLESS
    assert isinstance(sketch.looked(20, 1.0, SHARE, always=True), Look)
    same = Ellipsoid.from_sample(FLAT, falling(60, rng), "same")
    assert not isinstance(same.looked(20, 1.0, SHARE, always=True), Look)


@pytest.mark.parametrize("share", [0.0, 0.2, -1.0])
def test_a_look_has_its_price(share):
    ball = Ball(FLAT, np.zeros(30), 1.0)
    with pytest.raises(ValueError, match="between 0 and a sixth of epsilon"):
        Look(ball.as_chart(), ball, share)


def test_a_look_has_one_centre():
    with pytest.raises(ValueError, match="same space and centre"):
        Look(Ellipsoid(FLAT, np.zeros(30), [1.0]), Ball(FLAT, np.ones(30), 1.0))


@pytest.mark.parametrize("radius", [1e-90, 1e-28, 1.0, 1e28, 1e90])
def test_no_loss_is_longer_than_the_radius_to_the_last_bit(radius, rng):
    look = Look(Ellipsoid(FLAT, np.zeros(30), radius * np.array([3.0, 1e-6])), Ball(FLAT, np.zeros(30), radius))
    sizes = radius * 10.0 ** np.array([-12, -1, 0, 0.3, 1, 12, 200])
    records = np.concatenate(
        [np.outer(sizes, row) for row in rng.standard_normal((20, 30))] + [np.full((1, 30), np.nan)]
    )
    lost = look.lost(records) / radius
    assert max(sum(Fraction(float(x)) ** 2 for x in row) for row in lost) <= 1
