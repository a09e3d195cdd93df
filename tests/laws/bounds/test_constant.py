"""Bounds of negative constant curvature: releases by every mechanism that needs them, and what they rest on."""

import numpy as np
import pytest

import sfumato as sf
from attacks import adversary
from sfumato.audit import audit
from sfumato.audit.pairs import Pair
from sfumato.laws.bounds import bounds_of
from sfumato.mechanisms import choose

PLANE = sf.Hyperbolic(dim=2)


def at(base, coordinates):
    """Points by their coordinates at a base."""
    return PLANE.exp(base, PLANE.from_coordinates(base, np.asarray(coordinates)))


@pytest.fixture
def ball():
    return sf.Ball(PLANE, PLANE.present(at(PLANE.origin(), [0.5, -0.2])), 1.0)


@pytest.fixture
def points(ball, rng):
    return at(ball.center, rng.normal(0.1, 0.3, (300, 2)))


@pytest.mark.parametrize("mechanism", ["kng", "laplace", "exponential"])
def test_it_is_released_by_every_mechanism(ball, points, mechanism):
    release = sf.private_mean(PLANE.present(points), ball, 2.0, mechanism)
    plan = choose(ball, len(points), 2.0, mechanism)
    mean = sf.frechet_mean(PLANE, PLANE.present(points)).point
    assert PLANE.distance(*PLANE.validate([release.value, mean])) < plan.release_error(0.999999)
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
    there = at(ball.center, v)
    sides = [
        PLANE.log(there, at(ball.center, v + step * e)) - PLANE.log(there, at(ball.center, v - step * e))
        for e in np.eye(2)
    ]
    jacobian = np.abs(np.linalg.det(PLANE.coordinates(there, np.stack(sides)) / (2 * step)))
    found = bounds_of(PLANE).log_volume_density(ball.center, PLANE.from_coordinates(ball.center, v))
    assert np.exp(found) == pytest.approx(jacobian, rel=1e-6)


def test_the_audit_clears_it_and_convicts_a_third_of_its_scale(ball):
    ends = PLANE.present(at(ball.center, [[1.0, 0.0], [-1.0, 0.0]]))
    middle = PLANE.present(ball.center)
    pair = Pair("one record across the ball", *(np.stack([middle] * 9 + [end]) for end in ends))

    def verdict(mechanism):
        return audit(mechanism.sample, 1.0, pair, region=ball, draws=4000)

    assert not verdict(sf.ManifoldLaplace(ball, 1.0)).convicted
    assert verdict(sf.ManifoldLaplace(ball, 3.0)).convicted
