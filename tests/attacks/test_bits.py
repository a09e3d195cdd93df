"""Attacks on the bits of releases: they break what is not rounded, or rounded about the data, and not what is released."""

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from attacks.bits import attack, audit_bits, features, region_for, textbook_laplace
from sfumato.audit import epsilon_bound
from sfumato.laws.sampling import round_to_lattice

ATTACKED = [
    (sf.ManifoldLaplace, sf.Sphere(dim=2), np.pi / 8, 50, 3.0),
    (sf.KNG, sf.Sphere(dim=2), np.pi / 8, 50, 1.5),
    (sf.ManifoldLaplace, sf.SPD(size=2), 1.5, 50, 1.0),
    (sf.ManifoldLaplace, sf.PlanarShapes(landmarks=5), 0.2, 50, 4.0),
    (sf.KNG, sf.Euclidean(dim=3), 1.0, 50, 3.0),
    (sf.AmbientLaplace, sf.Sphere(dim=2), np.pi / 8, 50, 1.5),
    (sf.TangentKNorm, sf.Euclidean(dim=3), 1.0, 50, 2.0),
]


@pytest.mark.parametrize(
    ("kind", "space", "radius", "n", "broken"), ATTACKED, ids=lambda x: getattr(x, "__name__", str(x))
)
def test_attacks_break_the_sampler_and_not_the_release(kind, space, radius, n, broken, rng):
    """`python -m attacks --only bits` does this at full strength."""
    mechanism = kind(region_for(kind, space, radius), epsilon=1.0)
    assert audit_bits(mechanism, n, 8000, rng, released=False).epsilon > broken
    assert audit_bits(mechanism, n, 400, rng, released=True, secure=False).epsilon < 1.0


class LatticeAboutTheMean(sf.ManifoldLaplace):
    """A broken release: the lattice is that of the data."""

    def rounded(self, target, rng):
        return round_to_lattice(self.space, target.base, target.draw_one(9, rng), target.base, self.spacing)


def test_a_lattice_that_depends_on_the_data_is_found(rng):
    """As few releases as above are enough to break one."""
    broken = LatticeAboutTheMean(sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 1.0], np.pi / 8), epsilon=1.0)
    assert audit_bits(broken, 50, 400, rng, released=True, secure=False).epsilon > 2


class LatticeOfTheChartsMean(sf.TangentKNorm):
    """The same mistake in a chart."""

    def lattice_point(self, mean, rng):
        return np.array([float(x) for x in mean]) + super().lattice_point([Fraction(0)] * len(mean), rng)


@pytest.mark.parametrize("space", [sf.Sphere(dim=2), sf.PlanarShapes(landmarks=5), sf.Euclidean(dim=3)], ids=str)
def test_charts_have_a_public_lattice(space, rng):
    region = region_for(sf.TangentKNorm, space, 0.2)
    assert audit_bits(sf.TangentKNorm(region, 1.0), 50, 400, rng, released=True, secure=False).epsilon < 1.0
    assert audit_bits(LatticeOfTheChartsMean(region, 1.0), 50, 400, rng, released=True, secure=False).epsilon > 2


def test_a_textbook_laplace_is_broken(rng):
    """ε = 1 is claimed, and its doubles give away more than 4."""
    sigma = 0.02
    pole, away = np.array([0.0, 0.0, 1.0]), np.array([np.sin(sigma), 0.0, np.cos(sigma)])
    first, second, again = (
        features(sf.Sphere(dim=2), textbook_laplace(c, sigma, 8000, rng), [pole, away]) for c in (pole, away, pole)
    )
    assert attack(first, second).epsilon > 4
    assert attack(first, again).epsilon < 0.1  # the same centre twice: nothing to find


def test_a_bound_holds_as_often_as_it_says(rng):
    """Events with a log ratio of 1: the bound exceeds it in far fewer than one case in ten, and comes close."""
    k1, k0 = rng.binomial(2000, 0.3, 4000), rng.binomial(2000, 0.3 / np.e, 4000)
    bound = epsilon_bound(k1, k0, 2000, 0.1)
    assert np.mean(bound > 1) < 0.1
    assert np.median(bound) > 0.8
