"""What a space gets for one file and two lines: releases by every mechanism that is proven for it, and all around them."""

import numpy as np
import pytest

import sfumato as sf
from attacks import adversary
from hyperbolic import HyperbolicPlane
from sfumato.audit import audit
from sfumato.audit.pairs import Pair
from sfumato.bounds import bounds_of

PLANE = HyperbolicPlane()


@pytest.fixture
def ball():
    center = PLANE.exp(PLANE.origin(), PLANE.from_coordinates(PLANE.origin(), np.array([0.5, -0.2])))
    return sf.Ball(PLANE, center, 1.0)


@pytest.fixture
def points(ball, rng):
    return PLANE.exp(ball.center, PLANE.from_coordinates(ball.center, rng.normal(0.1, 0.3, (300, 2))))


def test_coordinates_are_orthonormal_and_logarithms_invert(ball, points):
    vectors = PLANE.log(ball.center, points)
    coordinates = PLANE.coordinates(ball.center, vectors)
    assert np.allclose(PLANE.from_coordinates(ball.center, coordinates), vectors)
    assert np.allclose(np.linalg.norm(coordinates, axis=1), PLANE.distance(ball.center, points))
    assert np.allclose(PLANE.exp(ball.center, vectors), points)


def test_the_generic_solver_finds_the_mean(points):
    mean = sf.frechet_mean(PLANE, points)
    assert mean.gradient_norm < 1e-11
    assert np.linalg.norm(PLANE.log(mean.point, points).mean(axis=0)) < 1e-11


@pytest.mark.parametrize("mechanism", ["kng", "laplace", "exponential"])
def test_it_is_released_by_every_mechanism(ball, points, mechanism):
    release = sf.private_mean(points, ball, 2.0, mechanism)
    assert PLANE.distance(release.value, sf.frechet_mean(PLANE, points).point) < release.error(0.999999)
    assert release.guarantee.numerical_delta < 1e-6


def test_plans_know_it():
    rows = {row.mechanism: row for row in sf.plan(PLANE, radius=1.0, n=300, epsilon=1.0)}
    assert rows["kng"].scale < 1.02 * 2 / 300
    assert rows["laplace"].error_95 < 0.04


def test_its_bounds_hold(rng):
    assert 0.999 < adversary.spread_ratio(PLANE, 0.5, 1.0, 3, rng) <= 1 + 1e-9
    assert 0.05 < adversary.divergence_ratio(PLANE, 0.5, 1.0, 1, rng, steps=5) <= 1
    assert 0.03 < adversary.divergence_ratio(PLANE, 0.5, 1.0, 1, rng, u=0.2, steps=4) <= 1


def test_its_volume_is_the_jacobian_of_exp(ball):
    """By finite differences, in the coordinates at the base."""
    v, step = np.array([0.7, -0.4]), 1e-5

    def at(c):
        return PLANE.exp(ball.center, PLANE.from_coordinates(ball.center, c))

    there = at(v)
    sides = [PLANE.log(there, at(v + step * e)) - PLANE.log(there, at(v - step * e)) for e in np.eye(2)]
    jacobian = np.abs(np.linalg.det(PLANE.coordinates(there, np.stack(sides)) / (2 * step)))
    found = bounds_of(PLANE).log_volume_density(ball.center, PLANE.from_coordinates(ball.center, v))
    assert np.exp(found) == pytest.approx(jacobian, rel=1e-6)


def test_the_audit_clears_it_and_convicts_a_third_of_its_scale(ball):
    ends = PLANE.exp(ball.center, PLANE.from_coordinates(ball.center, np.array([[1.0, 0.0], [-1.0, 0.0]])))
    pair = Pair("one record across the ball", *(np.stack([ball.center] * 9 + [end]) for end in ends))

    def verdict(mechanism):
        return audit(mechanism.sample, 1.0, pair, ball=ball, draws=12_000)

    assert not verdict(sf.ManifoldLaplace(ball, 1.0)).convicted
    assert verdict(sf.ManifoldLaplace(ball, 3.0)).convicted


def test_a_space_without_bounds_says_so():
    members = {name: member for name, member in vars(HyperbolicPlane).items() if not name.startswith("__")}
    with pytest.raises(ValueError, match="nothing is proven of"):
        bounds_of(type("Unproven", (sf.Space,), members)())
