"""The proven bounds against direct search: nothing found exceeds them, and where they are exact the search reaches them."""

import mpmath
import numpy as np
import pytest

import sfumato as sf
from attacks import adversary
from sfumato.laws.bounds import bounds_of, constant
from sfumato.numerics import curvature as curvature
from sfumato.records import Records

CURVED = [
    (sf.Sphere(dim=2), 0.2, 0.4),
    (sf.Sphere(dim=3, curvature=2.0), 0.3, 0.5),
    (sf.PlanarShapes(landmarks=3), 0.1, 0.2),
    (sf.PlanarShapes(landmarks=4), 0.2, 0.35),
    (sf.PlanarShapes(landmarks=4), 0.28, 0.34),
    (sf.SPD(size=2), 0.5, 1.0),
    (sf.SPD(size=3), 1.0, 2.0),
]


@pytest.mark.parametrize(
    ("function", "exact"),
    [
        (constant.cot_defect, lambda t: 1 - t * mpmath.cot(t)),
        (constant.chi, lambda t: t / mpmath.sin(t) ** 2 - mpmath.cot(t)),
        (constant.psi, lambda t: (1 - t * mpmath.cot(t)) * mpmath.cot(t)),
        (curvature.coth_excess, lambda t: t * mpmath.coth(t) - 1),
        (curvature.coth_slope, lambda t: (t * mpmath.coth(t) - 1) * mpmath.coth(t) / t),
        (curvature.log_sinc, lambda t: mpmath.log(mpmath.sin(t) / t)),
        (curvature.log_sinhc, lambda t: mpmath.log(mpmath.sinh(t) / t)),
    ],
)
def test_functions_of_distance_are_accurate(function, exact):
    with mpmath.workdps(50):
        for t in (1e-9, 1e-4, 0.0999, 0.1001, 0.7, 1.5):
            # sinc near zero is 1 − t²/6: its logarithm there is exact to rounding, not relatively
            assert float(function(t)) == pytest.approx(float(exact(mpmath.mpf(t))), rel=3e-13, abs=3e-16)


@pytest.mark.parametrize(("space", "r", "R"), CURVED, ids=str)
def test_no_spread_of_logs_exceeds_A(space, r, R, rng):
    found = adversary.spread_ratio(space, r, R, 3, rng)
    assert 0.9999 < found <= 1 + 1e-9


def test_A_has_its_known_values():
    assert bounds_of(sf.Sphere(dim=2)).log_spread(np.pi / 8, np.pi / 8) / (np.pi / 4) == pytest.approx(1.0265, abs=1e-4)
    assert bounds_of(sf.PlanarShapes(landmarks=9)).log_spread(0.2, 0.2) / 0.4 == pytest.approx(1.0275, abs=1e-4)
    assert bounds_of(sf.PlanarShapes(landmarks=9)).log_spread(0.39, 0.39) / 0.78 == pytest.approx(1.114, abs=1e-3)


def test_A_is_rounded_up():
    """Against a dense evaluation of its formula."""
    for r, R in ((0.1, 0.1), (np.pi / 8, 0.7), (0.7, 0.8)):
        b = np.linspace(np.pi / 2, np.pi, 2_000_001)
        s = np.arccos(np.cos(r) * np.cos(R) + np.sin(r) * np.sin(R) * np.cos(b))
        dense = max(2 * r, np.max(2 * np.sin(r) * np.sin(b) * s / np.sin(s)))
        assert dense <= bounds_of(sf.Sphere(dim=2)).log_spread(r, R) <= dense * (1 + 2e-7)


@pytest.mark.parametrize(("space", "r", "R"), CURVED, ids=str)
def test_no_divergence_exceeds_B(space, r, R, rng):
    assert 0.05 < adversary.divergence_ratio(space, r, R, 1, rng, steps=5) <= 1


@pytest.mark.parametrize(("space", "r", "R"), CURVED, ids=str)
def test_no_divergence_near_the_mean_exceeds_the_localised_bound(space, r, R, rng):
    for u in (0.01, (R - r) / 2):
        assert 0.03 < adversary.divergence_ratio(space, r, R, 1, rng, u=u, steps=4) <= 1


@pytest.mark.parametrize(("space", "r", "R"), CURVED, ids=str)
def test_gradient_norm_rises_along_rays_as_fast_as_claimed(space, r, R, rng):
    from sfumato.laws.calibration.error import public_hessian
    from sfumato.means.frechet import solve

    p0 = space.origin()
    for _ in range(40):
        parts = rng.normal(size=(4, space.dim)) * 2
        data, w = np.stack([adversary.in_ball(space, p0, r, z) for z in parts]), rng.dirichlet(np.ones(4) * 0.5)
        mean = solve(Records(space, data, w)).point
        ray = space.random_directions(mean, 1, rng)[0]
        u = np.linspace(0.02, 0.9 * (R - r), 12)
        points = np.stack([space.exp(mean, t * ray) for t in u])
        assert space.distance(p0, points).max() <= R
        norms = space.norm(points, space.mean_log(points, data, w))
        lower, upper = public_hessian(space, r, R, u[1:])
        slope = np.sqrt(lower * upper) - (upper - lower) / 2
        assert (np.diff(norms) >= np.minimum.accumulate(slope) * np.diff(u) - 1e-9).all()


@pytest.mark.parametrize(
    ("space", "r", "n"),
    [
        (sf.Sphere(dim=2), np.pi / 8, 1000),
        (sf.Sphere(dim=3), 1.0, 20),
        (sf.PlanarShapes(landmarks=4), 0.39, 1000),
        (sf.SPD(size=2), 1.5, 5),
    ],
    ids=str,
)
def test_no_neighbours_move_the_mean_beyond_result_2(space, r, n, rng):
    laplace = sf.ManifoldLaplace(sf.Ball(space, space.present(space.origin()), r), 1.0 if n > 5 else 10.0)
    found = adversary.mean_ratio(laplace, n, 1, rng, steps=30 if n == 1000 else 8)
    assert found <= 1 + 1e-9
    if n == 1000:
        assert found > 0.95


@pytest.mark.parametrize(("n", "epsilon"), [(20, 1.0), (50, 1.0), (200, 1.0), (50, 0.4)])
def test_no_privacy_loss_on_the_sphere_exceeds_epsilon(n, epsilon, rng):
    assert 0.5 < adversary.loss_ratio(n, np.pi / 8, "certified", 2, rng, epsilon, steps=6) <= 1


def test_the_same_search_convicts_the_scale_that_the_paper_ran(rng):
    assert adversary.loss_ratio(10, np.pi / 8, "as run", 2, rng, steps=15) > 1.1


def test_quadrature_of_the_density_is_normalised(rng):
    """The instrument of the two tests above: the density integrates to one on an independent grid."""
    space, R, sigma = sf.Sphere(dim=2), 0.6, 0.05
    data = np.stack([adversary.in_ball(space, space.origin(), 0.4, z) for z in rng.normal(size=(3, 2))])
    t = (np.arange(600) + 0.5) / 600 * R
    ring = np.concatenate([adversary.sphere_grid(s, 2, 300)[300:] for s in t])
    density = np.exp(adversary.sphere_log_density(data, np.array([0.5, 0.3, 0.2]), sigma, R, ring))
    total = np.sum(density.reshape(600, 300).mean(axis=1) * 2 * np.pi * np.sin(t)) * R / 600
    assert total == pytest.approx(1.0, abs=2e-4)
