"""The certificate of KNG's scale: its known values, and its integrals against mpmath."""

import mpmath
import numpy as np
import pytest

import sfumato as sf
from sfumato.laws.bounds import bounds_of
from sfumato.laws.calibration import certificate, kng_scale


def ratio(space, r, n, calibration="certified", epsilon=1.0):
    return kng_scale(space, r, n, epsilon, calibration).sigma * n * epsilon / (2 * r)


def test_scales_have_their_known_values():
    sphere, shapes, spd = sf.Sphere(dim=2), sf.PlanarShapes(landmarks=50), sf.SPD(size=2)
    assert ratio(sphere, np.pi / 8, 50, "theorem") == pytest.approx(2.429, abs=1e-3)
    assert ratio(shapes, 0.125, 409, "theorem") == pytest.approx(2.170, abs=1e-3)
    assert ratio(sphere, np.pi / 8, 50, "tight") == pytest.approx(2.053, abs=1e-3)
    assert ratio(shapes, 0.125, 409, "tight") == pytest.approx(2.021, abs=1e-3)
    assert ratio(sphere, np.pi / 8, 50) <= 1.063
    assert ratio(sphere, np.pi / 8, 500) <= 1.031
    assert ratio(shapes, 0.125, 409) <= 1.042
    assert ratio(shapes, 0.125, 647) <= 1.028
    assert ratio(spd, 1.5, 100) <= 1.03
    assert ratio(spd, 1.5, 100, "theorem") == pytest.approx(2.0)
    assert ratio(sf.Euclidean(dim=3), 1.5, 7) == pytest.approx(1.0)


def test_a_certified_scale_can_be_checked_by_hand():
    for space, r, n in (
        (sf.Sphere(dim=2), 0.4, 60),
        (sf.PlanarShapes(landmarks=10), 0.15, 200),
        (sf.SPD(size=3), 1.0, 80),
    ):
        scale = kng_scale(space, r, n, 0.7, "certified")
        x = scale.numbers
        assert scale.region == x["R"] > r
        assert x["A"] / scale.sigma + x["B"] + x["flux"] + x["tail"] <= n * 0.7
        assert x["A"] == pytest.approx(bounds_of(space).log_spread(r, x["R"]))


def test_certified_is_never_worse_than_tight_and_falls_back_to_it():
    for n in (2, 5, 12, 40):
        assert ratio(sf.Sphere(dim=2), 0.5, n) <= ratio(sf.Sphere(dim=2), 0.5, n, "tight")
    assert kng_scale(sf.Sphere(dim=2), 0.5, 2, 1.0, "certified").region == 0.5


def test_curvature_is_only_a_unit():
    a, b = (
        kng_scale(sf.Sphere(dim=3), 0.4, 50, 1.0, "certified"),
        kng_scale(sf.Sphere(dim=3, curvature=4.0), 0.2, 50, 1.0, "certified"),
    )
    assert a.sigma == pytest.approx(2 * b.sigma, rel=1e-6)


@pytest.mark.parametrize("make", [certificate._global, certificate._localised])
def test_integrals_of_the_certificate_are_upper_bounds(make):
    """Against mpmath on S²: flux for the global bound; body, flux and tail for the localised one, the body as a lower bound
    on its cells' right ends."""
    r, R, sigma = 0.4, 0.55, 0.012
    space = sf.Sphere(dim=2)
    A, rho1 = bounds_of(space).log_spread(r, R), R - r
    B, flux, tail = make(space, r, R, A, 0.01)(sigma)
    with mpmath.workdps(30):
        if make is certificate._global:
            lam = float(bounds_of(space).hessian_bounds(r + R)[0])
            z = mpmath.quad(lambda u: mpmath.sin(u) * mpmath.exp(-u / sigma), np.linspace(0, rho1, 20).tolist())
            exact = A / lam * mpmath.sin(R) * mpmath.exp(-rho1 / sigma) / z
            assert exact <= flux * (1 + 1e-9)
            assert flux <= exact * (1 + 1e-6)
            return

        def hessian(u):
            reach = min(2 * r + u, r + R)
            return float(bounds_of(space).mean_hessian_bounds(r * r + u * u, reach)[0])

        grid = np.linspace(0, r + R, 3001)
        slope = np.array([np.sqrt(h) - (1 - h) / 2 for h in map(hessian, grid)])
        energy = np.concatenate([[0], np.cumsum((slope[1:] + slope[:-1]) / 2 * np.diff(grid))])
        weight = np.sin(grid) * np.exp(-energy / sigma)
        inside = grid <= rho1
        z = np.trapezoid(weight[inside], grid[inside])
        body = (
            np.trapezoid(
                weight[inside] * bounds_of(space).local_divergence_bound(r, grid[inside] + 1e-12, R), grid[inside]
            )
            / z
        )
        beyond = A / sigma * np.trapezoid(weight[~inside], grid[~inside]) / z
        rim = A / hessian(rho1) * np.sin(rho1) * np.exp(-np.interp(rho1, grid, energy) / sigma) / z
        assert body * (1 - 1e-4) <= B <= body * 1.03
        assert rim * (1 - 1e-3) <= flux <= rim * 1.03
        assert beyond * (1 - 1e-3) <= tail <= beyond * 1.1
