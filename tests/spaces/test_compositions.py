"""Compositions and angles: what they are, zeros and whole turns, and that noise never leaves them."""

import numpy as np
import pytest
from geomstats.information_geometry.categorical import CategoricalDistributions

import sfumato as sf
from sfumato.audit.exact import exact_loss
from sfumato.audit.trial import mechanisms
from sfumato.spaces import Aitchison


def test_square_roots_are_those_of_geomstats(rng):
    ours, theirs, shares = sf.Simplex(parts=4), CategoricalDistributions(3), rng.dirichlet(np.ones(4), size=20)
    points = ours.validate(shares)
    assert ours.distance(points[0], points) == pytest.approx(theirs.metric.dist(shares[0], shares), abs=1e-9)
    mean = sf.frechet_mean(ours, shares).point
    assert np.abs(theirs.metric.log(shares, mean).mean(axis=0)).max() < 1e-9


def test_square_roots_have_the_distance_of_fisher_and_rao(rng):
    space = sf.Simplex(parts=4)
    p, q = rng.dirichlet(np.ones(4), size=(2, 50))
    p[:5, 0] = 0.0
    p /= p.sum(axis=1, keepdims=True)
    a, b = space.validate(p), space.validate(q)
    assert space.distance(a, b) == pytest.approx(2 * np.arccos(np.sqrt(p * q).sum(axis=1)), abs=1e-9)
    step = np.array([1e-4, -2e-4, 0.5e-4, 0.5e-4])  # Fisher's information of one draw is diag(1/p)
    near = space.validate((q + step)[:10])
    assert space.distance(b[:10], near) == pytest.approx(np.sqrt((step**2 / q[:10]).sum(axis=1)), rel=0.05)


def test_the_mean_by_square_roots_is_that_of_the_sphere(rng):
    shares = rng.dirichlet(np.ones(5), size=40)
    mean = sf.frechet_mean(sf.Simplex(parts=5), shares).point
    sphere = sf.frechet_mean(sf.Sphere(dim=4), np.sqrt(shares)).point
    assert mean == pytest.approx(sphere**2, abs=1e-12)
    assert mean.sum() == pytest.approx(1.0, abs=1e-15)


def test_the_mean_by_ratios_is_the_closed_geometric_mean(rng):
    space = sf.Simplex(parts=4, metric="aitchison")
    shares = rng.dirichlet(np.full(4, 3.0), size=40)
    geometric = np.exp(np.log(shares).mean(axis=0))
    assert sf.frechet_mean(space, 1000 * shares).point == pytest.approx(geometric / geometric.sum(), abs=1e-12)
    ratios = np.log(shares[0] / shares[1])
    wanted = np.sqrt(((ratios[:, None] - ratios[None]) ** 2).sum() / (2 * 4))  # Aitchison's own formula
    assert float(space.distance(*space.validate(shares[:2]))) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("metric", ["square-root", "aitchison"])
def test_counts_and_percentages_are_shares(metric, rng):
    space, shares = sf.Simplex(parts=3, metric=metric), rng.dirichlet(np.ones(3), size=6)
    for whole in (100.0, 1e6, 1e-300, 1e300):
        assert np.allclose(space.present(space.validate(whole * shares)), shares, atol=1e-12)
    assert not space.corrections(shares)
    assert "sum to 1, but to 100; each is divided" in space.corrections(100 * shares / shares.sum(axis=1)[:, None])[0]


def test_what_is_no_composition_is_named():
    shares = np.array([[0.2, 0.8, 0.0], [0.5, 0.6, -0.1], [0.0, 0.0, 0.0]])
    assert sorted(sf.Simplex(parts=3).diagnose(shares)[1]) == [1, 2]
    reasons = sf.Simplex(parts=3, metric="aitchison").diagnose(shares)[1]
    assert "detection limit" in reasons[0]
    assert "negative part: part 3 is -0.1" in reasons[1]
    assert "nothing" in reasons[2]
    with pytest.raises(ValueError, match="metric must be"):
        sf.Simplex(parts=3, metric="clr")
    assert isinstance(sf.Simplex(parts=3, metric="aitchison"), Aitchison)


def test_folding_brings_nothing_farther_apart(rng):
    """What is written of a point outside the positive part is no farther from any composition, and from what is written of
    another: the errors that are stated of the sphere hold."""
    space = sf.Simplex(parts=4)
    a, b = 2 * (g := rng.normal(size=(2, 2000, 4))) / np.linalg.norm(g, axis=-1, keepdims=True)
    folded = [space.validate(space.present(points)) for points in (a, b)]
    assert (space.distance(*folded) <= space.distance(a, b) + 1e-9).all()
    assert (space.distance(*folded) < space.distance(a, b) - 0.1).mean() > 0.5


@pytest.mark.parametrize("metric", ["square-root", "aitchison"])
@pytest.mark.parametrize("mechanism", ["kng", "laplace", "exponential", "staircase", "tangent"])
def test_every_mechanism_releases_a_composition(metric, mechanism, rng):
    space = sf.Simplex(parts=3, metric=metric)
    center = [0.9, 0.08, 0.02]  # near the edge, so that noise often leads out
    shares = rng.dirichlet(60 * np.array(center), size=200) + 1e-3
    release = sf.private_mean(shares, sf.Ball(space, center, radius=0.8), 0.3, mechanism)
    assert release.value.shape == (3,)
    assert release.value.min() >= 0
    assert release.value.sum() == pytest.approx(1.0, abs=1e-12)


def test_noise_far_out_is_still_a_composition():
    space = sf.Simplex(parts=3, metric="aitchison")
    far = space.present(np.array([[5000.0, -3000.0]]))
    assert not space.diagnose(far)[1]


# -- angles ------------------------------------------------------------------------------------------------------------------
def test_angles_are_those_of_the_circle(rng):
    circle, sphere = sf.Circle(), sf.Sphere(dim=1)
    a, b = rng.uniform(-20, 20, size=(2, 100))
    units = [np.stack([np.cos(t), np.sin(t)], axis=1) for t in (a, b)]
    assert circle.distance(circle.validate(a), circle.validate(b)) == pytest.approx(sphere.distance(*units), abs=1e-9)


def test_the_mean_of_angles_in_a_ball_is_that_of_the_chart(rng):
    """The torus is flat: no bias, across the seam at ±π as elsewhere."""
    space, center = sf.Torus(dim=2), np.array([3.1, -0.4])
    offsets = rng.uniform(-0.9, 0.9, size=(60, 2))
    mean = sf.frechet_mean(space, center + offsets).point
    assert space.distance(mean, space.validate((center + offsets.mean(axis=0))[None])[0]) < 1e-12
    assert mean.min() >= -np.pi
    assert mean.max() < np.pi


def test_whole_turns_are_left_out_and_degrees_remarked(rng):
    space, angles = sf.Torus(dim=2), rng.uniform(-3, 3, size=(20, 2))
    assert np.allclose(space.validate(angles + 2 * np.pi * rng.integers(-3, 4, size=(20, 2))), angles, atol=1e-13)
    assert not space.corrections(angles)
    assert "degrees" in space.corrections(np.degrees(angles))[0]
    assert "degrees" not in space.corrections(np.append(angles, [[7.0, 0.0]], axis=0))[0]
    assert (space.validate([[np.pi, -np.pi], [np.nextafter(np.pi, 4), 1e300]]) < np.pi).all()


def test_of_a_torus_charts_are_proven_and_nothing_else():
    points = np.zeros((400, 2))
    for radius, words in ((1.5, "Here that is their Fréchet mean"), (1.6, "how close is not known")):
        ball = sf.Ball(sf.Torus(dim=2), [0.0, 0.0], radius)
        assert words in sf.private_mean(points, ball, 1.0, "tangent").describe()
    ball = sf.Ball(sf.Torus(dim=2), [0.0, 0.0], radius=1.0)
    assert sf.private_mean(points, ball, 1.0).mechanism.name == "tangent"
    for mechanism in (sf.KNG, sf.ManifoldLaplace, sf.Exponential, sf.ManifoldStaircase):
        with pytest.raises(sf.Refusal, match="nothing is proven of this mechanism"):
            mechanism(ball, 1.0).release(points)
    with pytest.raises(sf.Refusal, match="nothing is proven of this mechanism"):
        sf.KNG(ball, 1.0, "theorem").release(points)
    assert [one.name for one in mechanisms(ball, 1.0)] == ["tangent"]  # what an audit takes for all


@pytest.mark.parametrize("metric", ["square-root", "aitchison"])
@pytest.mark.parametrize("kind", [sf.KNG, sf.ManifoldLaplace])
def test_the_exact_audit_near_the_edge(kind, metric):
    """Neighbours as far apart as the ball allows, one next to a composition without the second part."""
    space = sf.Simplex(parts=3, metric=metric)
    ball = sf.Ball(space, [0.9, 0.08, 0.02], radius=0.6)
    way = 0.59 * space.tangent_basis(ball.center)[0]
    one, other = space.present(space.exp(ball.center, np.array([way, -way])))
    first, second = np.array([one] * 8), np.array([one] * 7 + [other])
    assert 0.7 < exact_loss(kind(ball, 1.0), first, second).loss <= 1.0
    assert exact_loss(kind(ball, 2.0), first, second).loss > 1.4  # half the noise would be found out
