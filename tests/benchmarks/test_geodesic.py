"""The study of regressions: what geodesic regression is made of, the noise of the published mechanism, and its tables."""

import numpy as np
import pytest

import sfumato as sf
from benchmarks import geodesic, regression
from benchmarks.geodesic import Sets, kng, transported

SPACES = [sf.Sphere(dim=2), sf.SPD(size=2), sf.PlanarShapes(landmarks=5)]


def points(space, size, rng, spread=0.2):
    base = space.origin()
    return space.exp(base, space.from_coordinates(base, spread * rng.normal(size=(size, space.dim))))


def line(space, sets, n, rng, noise):
    """Return sets about a geodesic through the origin, its vector and the ball about it."""
    base = space.origin()
    x = rng.uniform(-1, 1, (sets, n))
    v = space.from_coordinates(base, 0.2 * np.eye(1, space.dim))
    on = space.exp(base, x.reshape(-1, *[1] * (v.ndim - 1)) * v)
    off = [space.exp(at, space.from_coordinates(at, noise * rng.normal(size=(1, space.dim))))[0] for at in on]
    return Sets(sf.Ball(space, space.present(base), 0.6), x, np.stack(off)), v[0]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_transport_keeps_lengths_and_the_geodesic_and_comes_back(space, rng):
    start, end = points(space, 20, rng), points(space, 20, rng)
    along = space.log(start, end)
    np.testing.assert_allclose(transported(start, end, along), -space.log(end, start), atol=1e-12)
    vectors = space.log(start, points(space, 20, rng))
    moved = transported(start, end, vectors)
    for a, b, u, v in zip(start, end, vectors, moved, strict=True):
        assert space.norm(b, v[None])[0] == pytest.approx(space.norm(a, u[None])[0])
    np.testing.assert_allclose(transported(end, start, moved), vectors, atol=1e-12)


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_least_squares_finds_the_geodesic(space, rng):
    sets, v = line(space, 3, 200, rng, 0.0)
    foot, vectors = sets.fitted()
    assert space.distance(space.origin(), foot).max() < 1e-9
    np.testing.assert_allclose(vectors, np.stack([v] * 3), atol=1e-8)


def test_the_chain_has_the_length_of_noise_that_theorem_1_asks_for(rng, monkeypatch):
    """Where gradients are near to linear the footpoint is off by σ·Gamma(2), σ = 2Δ/(ε/2), Δ = 2τ/n; half of it is refuted."""
    monkeypatch.setattr(geodesic, "STEPS", 300)
    space = sf.Sphere(dim=2)
    sets, _ = line(space, 150, 20, rng, 0.05)
    fit, _ = sets.fitted()
    sigma = 2 * (2 * 0.4 / 20) / (100 / 2)
    for sure, scale in ((True, sigma), (False, sigma / 2)):
        foot, _ = kng(sets, 100.0, 0.4, sure, rng)
        mean = np.mean(space.distance(fit, foot)) / scale
        assert abs(mean - 2) < 6 * np.sqrt(2 / 150)
        assert abs(mean / 2 - 2) > 6 * np.sqrt(2 / 150)


def test_the_study_prints_its_tables(rng, monkeypatch):
    monkeypatch.setattr(geodesic, "STEPS", 6)
    text = "\n".join(regression.Held(4, 2, ("S²",), (400,), (0.5, 4.0)).run(rng))
    assert "| S² | private | refused | 100, " in text
    assert "| S² | public | 100, " in text
    (_, table) = regression.compared(2, True, rng)
    assert table.count("| S² | ") == 3
    people = regression.hostile(rng, 2000)
    assert all(np.linalg.norm(each.w, axis=1).max() <= 1 + 1e-12 for each in people.values())
