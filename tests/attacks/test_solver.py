"""The solver of the mean: its centres are as good as the scale allows, and solvers that are not are convicted."""

import numpy as np
import pytest

import sfumato as sf
from attacks import broken
from attacks.arenas import largest_radius
from attacks.solver import by_draws, certain_means, probe, probes, worst
from attacks.walks import jump, suspicious, walks
from conftest import column
from sfumato.audit import audit
from sfumato.audit.blackbox import sampler
from sfumato.audit.exact import center_loss

SPHERE = sf.Sphere(dim=2)
BALL = sf.Ball(SPHERE, SPHERE.origin(), np.pi / 8)
EPSILON = 1.0

WIDE = sf.Ball(SPHERE, SPHERE.origin(), 0.92 * np.pi / 2)
MISPLACED = {
    "walks out of the ball": (broken.Misplaced(WIDE, EPSILON, place=broken.straying), 100, 0, 2, 5.0),
    "stops at .29 of the spread": (broken.Misplaced(BALL, EPSILON, place=broken.hasty(0.29)), 100, 0, 2, 2.5),
    "stops at .1 of the spread": (broken.Misplaced(BALL, EPSILON, place=broken.hasty(0.1)), 550, 0, 5, 2.5),
    "stops at .02 of the spread": (broken.Misplaced(BALL, EPSILON, place=broken.hasty(0.02)), 600, 2, 5, 2.5),
}


@pytest.mark.parametrize("name", MISPLACED)
def test_solvers_that_go_wrong_are_convicted(name, rng):
    """Three times: held against a certain mean, by the computed centres of neighbours, and by draws alone."""
    mechanism, n, which, step, floor = MISPLACED[name]
    walk, ball = walks(mechanism.ball, n)[which], mechanism.ball
    several = np.broadcast_to(walk.points[None], (len(walk.counts[::step]), *walk.points.shape))
    assert probe(mechanism, "", several, walk.counts[::step], neighbours=False).error > 1e4
    draw = sampler(mechanism)
    found = walk.pair(ball, jump(draw, ball, walk, size=2))
    assert center_loss(mechanism, found.first, found.second) > 4
    assert audit(draw, EPSILON, found, region=ball, draws=16_000).lower > floor
    assert any(one.error > 1e4 for one in worst(probes(mechanism, 10, rng)))  # ten random data sets are enough


def test_two_clusters_convict_the_old_solver_and_clear_this_one():
    """ε ≥ 5 of 1, by draws alone, in the ball of radius 0.92·π/2 of S² with a hundred records."""
    old = by_draws(broken.Misplaced(WIDE, EPSILON, place=broken.straying), 100, 16_000, seed=1)
    assert old.numbers["lower"] > 5
    new = by_draws(sf.ManifoldLaplace(WIDE, EPSILON), 100, 16_000, seed=1)
    assert new.held
    assert new.numbers["lower"] < 1


@pytest.mark.parametrize(
    ("space", "fraction", "sets"),
    [
        (SPHERE, 0.5, 100),
        (SPHERE, 0.999, 100),
        (sf.Sphere(dim=9), 0.999, 100),
        (sf.PlanarShapes(landmarks=4), 0.999, 100),
        (sf.SPD(size=2), 0.999, 20),
    ],
    ids=str,
)
def test_computed_means_are_as_good_as_the_scale_allows(space, fraction, sets, rng):
    """Up to the largest admitted radius; `python -m attacks --only solver` does this at full strength."""
    radius = fraction * min(largest_radius(sf.ManifoldLaplace, space, 100), 3.0)
    laplace = sf.ManifoldLaplace(sf.Ball(space, space.present(space.origin()), radius), 20 * EPSILON)
    for found in worst(probes(laplace, sets, rng)):
        assert found.sound, str(found)


def test_certain_means_are_those_of_closed_form():
    """Two clusters: the mean is on the geodesic between them, at the point that their numbers say."""
    for space, radius in ((SPHERE, 1.5), (sf.PlanarShapes(landmarks=4), 0.75), (sf.SPD(size=2), 2.0)):
        ball = sf.Ball(space, space.present(space.origin()), radius)
        walk = walks(ball, 12)[0]
        several = np.broadcast_to(walk.points, (13, *walk.points.shape))
        means, doubt = certain_means(ball, several, walk.counts)
        share = column(space, np.arange(13) / 12)
        exact = space.exp(walk.points[0], share * space.log(walk.points[0], walk.points[1]))
        assert space.distance(means, exact).max() < 1e-11
        assert doubt.max() < 1e-11


def test_walks_of_admitted_sizes_join_the_race():
    """A number of records that the mechanism refuses is left out, whether of walks or of pairs."""
    ball = sf.Ball(sf.SPD(size=3), np.eye(3), 1.0)
    laplace = sf.ManifoldLaplace(ball, EPSILON)
    with pytest.raises(ValueError, match="n"):
        laplace.plan(2)
    sizes = {len(pair) for pair in suspicious(laplace, ball, sizes=(2, 50), long=(2, 20))}
    assert sizes == {50, 20}
