"""Sums over subspaces and bodies by compiled loops, against NumPy's way of the same formulas."""

import numpy as np
import pytest

import sfumato as sf
from conftest import cloud
from sfumato.numerics.arrays import MANY, compiled
from sfumato.spaces import base

SPACES = [sf.Grassmann(2, 1), sf.Grassmann(7, 3), sf.Grassmann(9, 8), sf.Grassmann(20, 12)]
SPACES += [sf.Shapes3D(4), sf.Shapes3D(24), sf.Shapes3D(60)]


@pytest.fixture(autouse=True)
def kernels():
    """Compiled loops, loaded."""
    if compiled("frame_kernels") is None:
        pytest.skip("Numba compiles nothing")


def some(space, rng, n, radius=0.4):
    x = cloud(space, space.origin(), 0.1, 1, rng)[0]
    return x, np.ascontiguousarray(cloud(space, x, radius, n, rng))


def same(space, x, points, weights):
    """Loops against sums of NumPy's logarithms, those by the quick way and those by the accurate one."""
    found = space._quick_moments(x, points, weights)
    assert found is not None
    assert float(found.hessian) == pytest.approx(float(weights @ space.hessian_trace(x, points)), rel=1e-14)
    for logs in (space._logs(x, points, True), space.log(x, points)):
        total = np.tensordot(weights, logs, 1)
        assert np.abs(found.logs - total).max() <= 1e-13 * weights.sum()
        square = float(weights @ space.norm(x, logs) ** 2)
        assert found.square == pytest.approx(square, rel=1e-12, abs=1e-28 * len(points))
    assert found.weight == weights.sum()


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 100])
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_sums_are_those_of_numpy(space, n, rng):
    x, points = some(space, rng, n)
    for weights in (np.ones(n), rng.random(n)):
        same(space, x, points, weights)
        same(space, x, np.repeat(points[:1], n, axis=0), weights)
        same(space, points[0], points, weights)
    near = np.ascontiguousarray(cloud(space, x, 1e-7, n, rng))
    found = space._quick_moments(x, near, np.ones(n))
    assert found.square == pytest.approx(float(np.sum(space.distance(x, near) ** 2)), rel=1e-6)
    alike = space._quick_moments(x, np.repeat(x[None], n, axis=0), np.ones(n))
    assert alike.square < 1e-29 * n * x.size
    assert np.abs(alike.logs).max() < 1e-14 * n


@pytest.mark.parametrize("angle", [0.3, 1.0, 1.4, 1.46, 1.48, 1.5, np.pi / 2])
def test_subspaces_at_nearly_right_angles_are_left_to_numpy(angle, rng):
    space = sf.Grassmann(7, 3)
    x, points = some(space, rng, 20)
    across = np.linalg.qr(x, mode="complete")[0][:, 3:6]
    points[11] = (np.cos([0.1, 0.2, angle]) * x + np.sin([0.1, 0.2, angle]) * across) @ np.linalg.qr(points[0, :3])[0]
    assert (space._quick_moments(x, points, np.ones(20)) is None) == (np.cos(angle) < 0.1)
    found = space.moments(x, points, None, 0.0, adaptive=True)
    assert np.abs(found.logs - space.log(x, points).sum(axis=0)).max() < 1e-12
    assert found.square == pytest.approx(float(np.sum(space.distance(x, points) ** 2)), rel=1e-12)


def test_bodies_that_can_be_turned_in_several_ways_are_left_to_numpy(rng):
    space = sf.Shapes3D(8)
    x, points = some(space, rng, 20, 0.2)
    ones = np.ones(20)
    mirrored = points * [1.0, 1.0, -1.0]
    same(space, x, space.validate(points * [1.0, 1.0, 1e-3]), ones)  # flat, but it is clear how to turn it
    same(space, x, space.validate(mirrored * [1.0, 1.0, 0.3]), ones)  # turned over, and likewise
    line = space.validate(np.concatenate([points[:19], points[19:] * [1.0, 1e-9, 1e-9]]))
    round_about = space.validate(mirrored * [1.0, 1.0, 1.2])
    for wrong in (line, mirrored, round_about):
        assert space._quick_moments(x, wrong, ones) is None
        found = space.moments(x, wrong, None, 0.0, adaptive=True)
        assert np.abs(found.logs - space.log(x, wrong).sum(axis=0)).max() < 1e-12
    assert space._quick_moments(line[19], points, ones) is None
    assert sf.Shapes3D(8, reflections=True)._quick_moments(x, points, ones) is None
    turn = np.linalg.qr(rng.standard_normal((20, 3, 3)))[0]
    turn *= np.linalg.det(turn)[:, None, None]
    same(space, x, np.ascontiguousarray(points @ turn), ones)


def test_a_body_that_is_left_to_numpy_takes_its_run_with_it(rng):
    space = sf.Shapes3D(5)
    x, points = some(space, rng, 5000, 0.2)
    points[3000] = space.validate(x[None] * [1.0, 1e-9, 1e-9])[0]
    found = space.moments(x, points, None, 0.0, adaptive=True)
    assert np.abs(found.logs - space.log(x, points).sum(axis=0)).max() < 1e-10
    assert found.weight == 5000


@pytest.mark.parametrize("space", [sf.Grassmann(7, 3), sf.Shapes3D(24)], ids=str)
def test_loops_are_loaded_for_many_records_and_used_for_means_that_are_not_private(space, rng, monkeypatch):
    x, points = some(space, rng, MANY // int(np.prod(space.point_shape)) + 1)
    assert space._quick_moments(x, points[:, ::-1], np.ones(len(points))) is None  # not side by side
    private = space.moments(x, points)
    monkeypatch.setattr(base, "loaded", lambda _: False)
    assert space._quick_moments(x, points, np.ones(len(points))) is not None
    assert space._quick_moments(x, points[:-1], np.ones(len(points) - 1)) is None
    monkeypatch.setattr(base, "compiled", lambda _: None)
    assert space._quick_moments(x, points, np.ones(len(points))) is None
    again = space.moments(x, points)
    assert np.array_equal(private.logs, again.logs)
    assert private.square == again.square
