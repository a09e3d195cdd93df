"""Sums for means that are not private: loops that are loaded already, and short cuts that look at all records at once."""

import subprocess
import sys

import numpy as np
import pytest

import sfumato as sf
from conftest import cloud, typical_radius
from sfumato.means.frechet import solve
from sfumato.numerics.arrays import compiled
from sfumato.numerics.curvature import angle_series
from sfumato.records import Records
from sfumato.spaces import arcs, base, hyperbolic, rays, spd, sphere

MODULES = (arcs, base, hyperbolic, rays, spd, sphere)
SPACES = [sf.Sphere(2), sf.Sphere(9), sf.PlanarShapes(8), sf.Shapes3D(6), sf.Shapes3D(6, reflections=True), sf.SPD(3)]
SPACES += [sf.Grassmann(7, 3), sf.Stiefel(6, 2), sf.Hyperbolic(2), sf.Hyperbolic(5), sf.Axes(2)]


@pytest.fixture(autouse=True)
def kernels():
    """Compiled loops, loaded."""
    return compiled(), compiled("spd_kernels"), compiled("frame_kernels")


def unloaded(monkeypatch):
    """Let the process look as if it had loaded nothing."""
    for module in MODULES:
        monkeypatch.setattr(module, "loaded", lambda *_: False)


def some_records(space, rng, n, radius=None):
    center = cloud(space, space.origin(), 0.2, 1, rng)[0]
    return np.ascontiguousarray(cloud(space, center, radius or typical_radius(space), n, rng)), center


def same(space, x, points, weights=None):
    """Adaptive moments against sums of logarithms and of squared distances."""
    w = np.ones(len(points)) if weights is None else weights
    found = space.moments(x, points, weights, 1e-13, adaptive=True)
    assert found.weight == pytest.approx(w.sum(), rel=1e-14)
    exact = np.tensordot(w, space.log(x, points), 1)
    assert np.abs(found.logs - exact).max() <= found.error * len(points) + 2e-14 * w.sum() * (1 + np.abs(exact).max())
    assert found.square == pytest.approx(float(w @ space.distance(x, points) ** 2), rel=1e-11, abs=1e-15 * len(points))


@pytest.mark.parametrize("n", [1, 2, 33, 400])
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_adaptive_moments_are_sums_of_logarithms(space, rng, n):
    points, x = some_records(space, rng, n)
    same(space, x, points)
    same(space, x, points, rng.random(n))
    same(space, points[0], points)  # one at distance 0


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_a_mean_is_the_same_whatever_is_loaded(space, rng, monkeypatch):
    points = space.present(some_records(space, rng, 60)[0])
    warm, rough = sf.frechet_mean(space, points), sf.frechet_mean(space, points, tolerance=1e-8)
    unloaded(monkeypatch)
    cold = sf.frechet_mean(space, points)
    assert rough.gradient_norm <= 1e-8
    at, near, far = (space.validate(mean.point[None])[0] for mean in (cold, warm, rough))
    assert space.distance(at, near) < 1e-12
    assert space.distance(at, far) < 1e-7


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_what_private_releases_use_asks_for_nothing_that_is_loaded(space, rng, monkeypatch):
    """Sums, and the solver, of records as mechanisms make them: to the bit."""
    points, x = some_records(space, rng, 40)
    here = space.moments(x, points)
    mean = solve(Records(space, points), least=4)
    unloaded(monkeypatch)
    for one, other in (
        (here, space.moments(x, points)),
        (mean.moments, solve(Records(space, points), least=4).moments),
    ):
        assert np.array_equal(one.logs, other.logs)
        assert one.square == other.square
        assert np.array_equal(one.hessian, other.hessian)


def test_bodies_that_do_not_say_how_to_be_turned_go_the_long_way(rng):
    space = sf.Shapes3D(6)
    points, x = some_records(space, rng, 5)
    line = rng.standard_normal((3, 6, 1)) * [1.0, 0.0, 0.0]
    flat = rng.standard_normal((3, 6, 3)) * [1.0, 1.0, 0.0]
    same(space, x, space.validate(np.concatenate([points, line, flat, -points])))
    mirror = points * [1.0, 1.0, -1.0]
    same(space, x, np.ascontiguousarray(mirror))
    same(space, space.validate(flat)[0], space.validate(flat))


def test_subspaces_at_right_angles_go_the_long_way(rng):
    space = sf.Grassmann(7, 3)
    points, x = some_records(space, rng, 5)
    across = np.linalg.qr(x, mode="complete")[0][:, 3:6]
    same(space, x, np.concatenate([points, across[None]]))
    for angle in (1e-300, 1e-9, 1e-4, 1.0, 1.4, 1.5, np.pi / 2 - 1e-6):
        turned = np.cos(angle) * x + np.sin(angle) * across
        found = space.moments(x, turned[None], None, 0.0, adaptive=True)
        assert np.sqrt(found.square) == pytest.approx(np.sqrt(3) * angle, rel=1e-7, abs=1e-12)
        same(space, x, turned[None])


@pytest.mark.parametrize("distance", [1e-9, 1.0, 2.5, 6.0, 12.0, 20.0])
def test_far_points_of_hyperbolic_space_keep_their_digits(distance, rng):
    space = sf.Hyperbolic(2)
    far = space.exp(space.origin(), np.array([0.0, distance, 0.0]))
    points = np.ascontiguousarray(cloud(space, far, 0.5, 50, rng))
    found = space.moments(far, points, None, 0.0, adaptive=True)
    exact = space.log(far, points).sum(axis=0)
    assert np.abs(found.logs - exact).max() < 50 * space.rounding_error(far, 0.5)
    assert sf.frechet_mean(space, points).gradient_norm < 1e-9 * np.cosh(distance)


@pytest.mark.parametrize("n", [2**14, 2**14 + 37])
def test_the_pass_that_checks_very_many_directions_gives_their_moments(n, rng, monkeypatch):
    monkeypatch.setattr(sphere, "LARGE", 2**14)
    space = sf.Sphere(2)
    points, _ = some_records(space, rng, n)
    canonical, x, sums = space.validate_and_start(points)
    assert canonical is points
    exact = space.moments(x, points)
    assert np.abs(sums.logs - exact.logs).max() < 1e-11 * n
    assert (sums.weight, sums.square) == pytest.approx((n, exact.square))
    assert sums.hessian == pytest.approx(exact.hessian)
    mean = sf.frechet_mean(space, points)
    assert mean.passes <= 4
    for row in (3, n - 1):  # one of those that the first guess is made of, and another
        off = points.copy()
        off[row] *= 1 + 1e-9
        assert np.abs(sf.frechet_mean(space, off).point - mean.point).max() < 1e-14
        off[row] = np.nan
        with pytest.raises(sf.InvalidPointError, match="NaN"):
            sf.frechet_mean(space, off)


def test_points_on_the_sheet_are_taken_as_they_are(rng):
    space = sf.Hyperbolic(3)
    points, _ = some_records(space, rng, 50)
    canonical, start, _ = space.validate_and_start(points)
    assert canonical is points
    assert start == pytest.approx(space.mean_start(points), abs=1e-14)
    for change in (1e-6, 0.5, 1e300, np.nan, np.inf):
        off = points.copy()
        off[7, 0] += change
        if change < 1e-5:
            assert np.abs(space.validate_and_start(off)[0] - points).max() < 1e-14
        else:
            with pytest.raises(sf.InvalidPointError, match=r"hyperboloid|NaN"):
                space.validate_and_start(off)


def test_steps_in_loops_are_counted_and_bounded(rng, monkeypatch):
    for space in (sf.Sphere(2), sf.PlanarShapes(8), sf.Hyperbolic(2)):
        points, x = some_records(space, rng, 50)
        for most in (0, 1, 2):
            assert space.descend(x, points, 1e-14, most)[1] == most
        nearer, steps, there = space.descend(x, points, 1e-9, 100)
        assert 2 <= steps <= 12
        exact = space.moments(nearer, points)
        assert np.abs(exact.logs).max() < 50 * 1e-8
        assert np.abs(exact.logs - there.logs).max() < 1e-11
        assert (there.weight, there.square) == pytest.approx((exact.weight, exact.square))
        assert there.hessian == pytest.approx(exact.hessian if exact.hessian.ndim == 0 else np.trace(exact.hessian))
        mean = sf.frechet_mean(space, space.present(points), tolerance=1e-8)
        assert mean.passes >= mean.iterations + 1 > 2
    whole = cloud(sf.Sphere(2), sf.Sphere(2).origin(), 3.0, 50, rng)
    assert sf.Sphere(2).descend(whole[0], whole, 1e-9, 100)[1] == 0  # too wide
    assert sf.Sphere(2, curvature=4.0).descend(whole[0] / 2, whole / 2, 1e-9, 100)[1] == 0
    unloaded(monkeypatch)
    assert space.descend(x, points, 1e-9, 100) == (pytest.approx(x), 0, None)


def test_the_series_of_hyperbolic_angles():
    z = np.linspace(-0.3, -1e-9, 101)
    t = np.arccosh(1 - z)
    assert (
        np.abs(np.polynomial.polynomial.polyval(z, angle_series(hyperbolic=True)) / (t / np.sinh(t)) - 1).max() < 1e-8
    )
    assert abs(np.polynomial.polynomial.polyval(-0.25, angle_series(hyperbolic=True)) - _exactly(0.25)) < 4e-16


def _exactly(z):
    """t/sinh t at cosh t = 1 + z, by its alternating power series."""
    total, term = 0.0, 1.0
    for k in range(60):
        total += term
        term *= -z * (k + 1) / (2 * k + 3)
    return total


FEW = """
import sys
import numpy as np
import sfumato as sf
points = np.random.default_rng(0).normal(size=(50, 3)) * 0.1 + [0, 0, 1]
points /= np.linalg.norm(points, axis=1)[:, None]
ball = sf.Ball(sf.Sphere(2), [0, 0, 1], 0.5)
for _ in range(4):
    {call}
print("sfumato.numerics.kernels" in sys.modules)
"""


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        ("sf.frechet_mean(ball.space, points)", "True"),
        ("sf.private_mean(points, ball, 50.0, allow_useless=True)", "False"),
    ],
)
def test_whoever_asks_for_some_means_loads_loops_for_few_records(call, answer):
    """Private releases of few records never do, whatever was asked for before."""
    done = subprocess.run([sys.executable, "-c", FEW.format(call=call)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == answer
