"""Bounds of negative constant curvature: releases by every mechanism that needs them, and what they rest on."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import sfumato as sf
from attacks import adversary
from sfumato.audit import audit
from sfumato.audit.pairs import Pair
from sfumato.bounds import bounds_of, constant_curvature
from sfumato.bounds import register as register_bounds
from sfumato.spaces import register
from sfumato.spaces.base import Space, not_finite


def minkowski(a, b):
    """Minkowski's: −a₀b₀ + a₁b₁ + a₂b₂."""
    return a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2] - a[..., 0] * b[..., 0]


@dataclass(frozen=True)
class HyperbolicPlane(Space):
    """The hyperboloid x₀² = 1 + x₁² + x₂², x₀ > 0, of curvature −1."""

    dim: int = 2
    name: ClassVar[str] = "hyperbolic-plane"
    metric: ClassVar[str] = "hyperbolic distance"

    @property
    def point_shape(self):
        return (3,)

    def parameters(self):
        return {}

    def origin(self):
        return np.array([1.0, 0.0, 0.0])

    def diagnose(self, points):
        x = self._real_batch(points)
        reasons = not_finite(x)
        for row in np.flatnonzero(~(np.abs(minkowski(x, x) + 1) <= 1e-6 * (1 + x[:, 0] ** 2))):
            reasons.setdefault(int(row), "is not on the hyperboloid")
        x = x.copy()
        x[list(reasons)] = self.origin()
        return self._lifted(x), reasons

    @staticmethod
    def _lifted(x):
        x[..., 0] = np.sqrt(1 + x[..., 1] ** 2 + x[..., 2] ** 2)
        return x

    def exp(self, base, vectors):
        t = self.norm(base, vectors)[..., None]
        return self._lifted(np.cosh(t) * base + np.sinh(t) / np.where(t > 0, t, 1.0) * vectors)

    def log(self, base, points):
        u = points + minkowski(base, points)[..., None] * base
        length = np.sqrt(np.maximum(minkowski(u, u), 0.0))[..., None]
        return self.distance(base, points)[..., None] * u / np.where(length > 0, length, 1.0)

    def distance(self, a, b):
        u = np.asarray(a) - np.asarray(b)
        return 2 * np.arcsinh(np.sqrt(np.maximum(minkowski(u, u), 0.0)) / 2)

    def inner(self, base, u, v):
        return minkowski(u, v)

    def _frame(self, base):
        """The boost from the origin to the base, applied to e₁ and e₂."""
        side, scale = base[1:], 1 / (1 + base[0])
        return np.column_stack([side, np.eye(2) + scale * np.outer(side, side)])

    def from_coordinates(self, base, coordinates):
        return coordinates @ self._frame(base)

    def coordinates(self, base, vectors):
        return vectors @ (self._frame(base) * [-1.0, 1.0, 1.0]).T


PLANE = HyperbolicPlane()
register(HyperbolicPlane)
register_bounds(HyperbolicPlane, lambda space: constant_curvature(space, -1.0))


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
    mean = sf.frechet_mean(PLANE, PLANE.present(points)).point
    assert PLANE.distance(*PLANE.validate([release.value, mean])) < release.error(0.999999)
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
        return audit(mechanism.sample, 1.0, pair, region=ball, draws=12_000)

    assert not verdict(sf.ManifoldLaplace(ball, 1.0)).convicted
    assert verdict(sf.ManifoldLaplace(ball, 3.0)).convicted
