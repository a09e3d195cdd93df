"""An unknown ball: the law of its radius, what it costs, and what it is worth."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from conftest import cloud
from sfumato.mechanisms import choose
from sfumato.mechanisms import find as finding
from sfumato.mechanisms.find import MARGIN, RATIO, Find, Finder, Shares
from sfumato.records import Records

SPHERE, PLANE = sf.Sphere(dim=2), sf.Euclidean(dim=2)
WIDE = sf.Ball(PLANE, [0.0, 0.0], 20.0)
FAR = 400  # whole numbers of noise that are counted; the rest weighs less than 1e-40


def law(held, target, width, threshold_noise=True):
    """The probability of each candidate: of the first whose count and noise reach the target and its noise, else the last."""
    k = np.arange(-FAR, FAR + 1)
    weights = np.exp(-np.abs(k) / width)
    weights /= weights.sum()
    below = np.concatenate([[0.0], np.cumsum(weights)])  # of noise < k − FAR
    limits = k if threshold_noise else np.array([0])
    chances = weights if threshold_noise else np.ones(1)
    short = np.array([below[np.clip(target + limits - count + FAR, 0, 2 * FAR + 1)] for count in held])
    before = np.cumprod(np.concatenate([np.ones((1, len(limits))), short]), axis=0)
    found = np.append((1 - short) * before[:-1], before[-1:], axis=0) @ chances
    return np.append(found[:-2], found[-2] + found[-1])


def worst_loss(width, records=2, candidates=12, target=1):
    """Over all data sets of few records and all replacements of one of them: a record's place is the first candidate that
    holds it, or none."""
    laws = {
        places: law(np.cumsum(np.bincount(places, minlength=candidates + 1))[:-1], target, width)
        for places in product(range(candidates + 1), repeat=records)
        if list(places) == sorted(places)
    }
    losses = [0.0]
    for places, first in laws.items():
        for moved, place in product(range(records), range(candidates + 1)):
            other = laws[tuple(sorted((*places[:moved], place, *places[moved + 1 :])))]
            losses.append(float(np.abs(np.log(first) - np.log(other)).max()))
    return max(losses)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_the_radius_loses_no_more_than_its_share_and_half_the_noise_would(epsilon):
    assert 0.99 * epsilon < worst_loss(2 / epsilon) <= epsilon * (1 + 1e-9)
    assert worst_loss(2 / epsilon, records=4, candidates=4, target=3) <= epsilon * (1 + 1e-9)
    assert worst_loss(1 / epsilon) > 1.9 * epsilon


def test_the_law_adds_up():
    found = law([0, 2, 4], 3, 2.0)
    assert found.sum() == pytest.approx(1)
    assert np.all(found > 0)


def test_radii_are_found_with_that_law(monkeypatch):
    """Chi-square over 3,000 seeded draws; with half the noise, or without that of the threshold, it is another law."""
    monkeypatch.setattr(finding, "RATIO", 2.0)
    monkeypatch.setattr(finding, "LEAST", 0.02)
    finder = Finder.of(WIDE, 12, None, Fraction(1), 0.5)
    grid = finder.grid
    assert len(grid) == 6
    assert (float(finder.width), finder.target) == (2.0, 6)
    lengths = np.repeat(grid * 0.99, [1, 2, 2, 3, 2, 2])
    records, rng = Records(PLANE, lengths[:, None] * [1.0, 0.0]), np.random.default_rng(5)
    drawn = np.array([finder.find(records, rng)[1] for _ in range(3000)])
    counts = (np.abs(drawn[:, None] / MARGIN - grid) < 1e-9).sum(axis=0)
    assert counts.sum() == 3000
    held = np.cumsum([1, 2, 2, 3, 2, 2])
    assert stats.chisquare(counts, 3000 * law(held, 6, 2.0)).pvalue > 1e-6
    for wrong in (law(held, 6, 1.0), law(held, 6, 2.0, threshold_noise=False)):
        assert stats.chisquare(counts, 3000 * wrong).pvalue < 1e-6


@pytest.mark.parametrize("n", [1, 50, 5000])
def test_shares_add_up_exactly(n):
    plan = Find.of(WIDE, n, sf.PureDP(0.7))
    parts = [2 / plan.finder.width, Fraction(plan.chart.allowed)]
    if plan.finder.first is not None:
        parts.append(Fraction(plan.finder.first.allowed))
    assert Fraction(0.7) * (1 - Fraction(1, 10**15)) < sum(parts) <= Fraction(0.7)
    assert (plan.finder.first is None) == (n == 1)


def test_the_centre_is_skipped_where_it_would_cost_too_much():
    assert Shares.best(2, 5000, 1.0).center > 0
    assert Shares.best(200, 1000, 1.0).center == 0
    assert Find.of(WIDE, 5000, sf.PureDP(1.0), only_radius=True).finder.first is None
    space = sf.Euclidean(dim=200)
    plan = Find.of(sf.Ball(space, np.zeros(200), 9.0), 1000, sf.PureDP(1.0))
    assert plan.source == "radius found privately in a public ball of radius 9"


@pytest.mark.parametrize("space", [SPHERE, PLANE], ids=str)
def test_the_one_call_beats_the_prior(space, rng):
    """A prior four times too wide and off by 2.5 true radii: over 60 seeded draws the errors are 2 to 4 times apart."""
    center, radius = space.origin(), 0.3
    moved = space.exp(center, space.from_coordinates(center, 2.5 * radius * np.eye(1, 2)[0]))
    prior = sf.Ball(space, moved, 4 * radius)
    records = Records(space, cloud(space, center, radius, 5000, rng))
    mean = sf.frechet_mean(space, records.points).point
    errors = {}
    for find in ("ball", None):
        plan = choose(prior, 5000, 1.0, "tangent", find=find)
        drawn = np.stack([plan.draw(records, rng).value for _ in range(60)])
        errors[find] = space.distance(mean, drawn).mean()
    assert errors["ball"] < 0.7 * errors[None]


@pytest.mark.parametrize("make", [lambda: sf.SPD(size=3), lambda: sf.Sphere(dim=2)])
def test_a_space_made_anew_is_the_same_space(make, rng):
    """Plans of equal mechanisms are remembered, with the space of the first."""
    for _ in range(2):
        space = make()
        points = space.present(cloud(space, space.origin(), 0.3, 3000, rng))
        release = sf.private_mean(points, prior=sf.Ball(space, space.present(space.origin()), 1.0), epsilon=1.0)
        far = space.distance(space.origin(), space.validate(release.value[None]))[0]
        assert far < 0.3  # in the widest ball that can be found, a chance below 1e-9


def held(points, found, space):
    return space.distance(found.center, points) <= found.radius / MARGIN


def test_a_whole_sphere_is_a_prior(rng):
    """Noise of the centre above 0.02 has a chance of 1e-9; counts would have to be off by 600, with noise of scale 3."""
    center = np.array([0.0, 0.6, -0.8])
    points = cloud(SPHERE, center, 0.4, 4000, rng)
    found = sf.find_region(points, sf.Ball(SPHERE, [0.0, 0.0, 1.0], np.pi), epsilon=2.0)
    assert SPHERE.distance(center, found.center) < 0.05
    assert abs(held(points, found, SPHERE).mean() - 0.95) < 0.15
    assert 0.3 < found.radius < 0.55


def test_a_radius_holds_the_share_that_was_asked_for(rng):
    """Counts would have to be off by 200, with noise of scale 2."""
    points = rng.normal(0, 1, (4000, 2))
    for coverage in (0.5, 0.9):
        found = sf.private_radius(points, WIDE, epsilon=1.0, coverage=coverage)
        assert np.array_equal(found.center, WIDE.center)
        inside = np.linalg.norm(points, axis=1) <= found.radius / MARGIN
        before = np.linalg.norm(points, axis=1) <= found.radius / MARGIN / RATIO
        assert before.mean() - 0.05 < coverage < inside.mean() + 0.05


def test_a_found_ball_remembers_its_price_and_says_where_it_comes_from(rng):
    charged = []

    class Budget:
        def charge(self, facts, record):
            charged.append((facts.epsilon, record["statistic"]))

    points = rng.normal(3, 0.5, (3000, 2))
    found = sf.find_region(points, WIDE, 0.5, 0.9, budget=Budget())
    assert charged == [(0.5, "centre and radius of a ball that holds 0.9 of the records")]
    assert isinstance(found, sf.Ball)
    assert found.epsilon == 0.5
    assert found.source == "centre and radius found privately for epsilon 0.5, in a public ball of radius 20"
    release = sf.private_mean(points, found, 1.0, "tangent")
    assert release.chart.source == found.source
    assert release.guarantee.epsilon == 1.0
    radius = sf.private_radius(points, WIDE, 0.25, budget=Budget())
    assert charged[1] == (0.25, "radius of a ball that holds 0.95 of the records")
    assert radius.source.startswith("radius found privately for epsilon 0.25")


def test_the_one_call_is_charged_as_one_and_its_record_says_what_was_spent(rng):
    charged = []

    class Budget:
        def charge(self, facts, record):
            charged.append((facts.epsilon, record["chart"]["source"]))

    points = rng.normal(3, 0.5, (5000, 2))
    release = sf.private_mean(points, prior=WIDE, epsilon=1.0, budget=Budget())
    assert charged == [(1.0, "centre and radius found privately in a public ball of radius 20")]
    assert release.chart.source == charged[0][1]
    assert release.guarantee.epsilon == release.calibration.epsilon == 1.0
    words = release.calibration.formula
    assert "ε here 0.9 of the whole: 0.05 on its centre and 0.05 on its radius were spent on finding the ball" in words
    assert (
        np.abs(release.value - points.mean(axis=0)).max() < 1
    )  # in the widest ball that can be found, a chance of 1e-20
    again = sf.Release.from_json(release.to_json())
    assert again.chart.source == release.chart.source
    alone = sf.private_mean(points, prior=WIDE, epsilon=1.0, find="radius")
    assert alone.chart.source == "radius found privately in a public ball of radius 20"
    assert alone.ball.center == [0.0, 0.0]


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("space", [SPHERE, PLANE, sf.SPD(size=2), sf.PlanarShapes(landmarks=5)], ids=str)
def test_few_or_equal_records_are_released_like_others(space, n):
    center = space.present(space.origin())
    prior = sf.Ball(space, center, 0.5)
    points = np.repeat(center[None], 500 if n == 2 else 1, axis=0)
    for find in ("ball", "radius"):
        release = sf.private_mean(points, prior=prior, epsilon=1.0, find=find, allow_useless=True)
        assert release.n == len(points)
        assert np.isfinite(release.value).all()
        assert 0 < release.ball.radius <= 2 * 0.5 * MARGIN * (1 + 1e-9)
    found = sf.find_region(points[:n], prior, epsilon=1.0)
    assert 0 < found.radius <= 2 * 0.5 * MARGIN * (1 + 1e-9)


def test_records_at_one_point_have_a_small_ball():
    """The count is 400 above what is asked for, and the noise of it has a scale of 2."""
    found = sf.private_radius(np.zeros((4000, 2)), WIDE, epsilon=1.0, coverage=0.9)
    assert found.radius == pytest.approx(Finder.of(WIDE, 4000, None, Fraction(1), 0.9).grid[0] * MARGIN)


def test_records_beyond_every_candidate_leave_the_largest():
    points = np.full((400, 2), 1e6)
    assert sf.private_radius(points, WIDE, 1.0).radius <= 20 * MARGIN * (1 + 1e-9)


def test_what_is_not_a_prior_is_refused(rng):
    points = rng.normal(size=(30, 2))
    with pytest.raises(TypeError, match=r"surely holds the records, is a sfumato\.Ball, not"):
        sf.find_region(points, PLANE, 1.0)
    with pytest.raises(TypeError, match=r"a prior is a sfumato\.Ball, not"):
        sf.private_mean(points, prior=sf.Ellipsoid(PLANE, [0.0, 0.0], [1.0, 2.0]), epsilon=1.0)
    with pytest.raises(TypeError, match="takes a region or a prior"):
        sf.private_mean(points, WIDE, 1.0, prior=WIDE)
    with pytest.raises(sf.Refusal, match="a prior goes with releases by chart"):
        sf.private_mean(points, prior=WIDE, epsilon=1.0, mechanism="kng")
    for coverage in (0.2, 1.0, "a"):
        with pytest.raises(ValueError, match="coverage must be a share of the records"):
            sf.find_region(points, WIDE, 1.0, coverage)
