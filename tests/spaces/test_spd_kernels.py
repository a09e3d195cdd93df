"""Sums over covariance matrices without eigenvectors, against those with; and means on hard data."""

import warnings

import numpy as np
import pytest

import sfumato as sf
from sfumato.spaces import spd


def wishart(k, n, rng, spread=0.0):
    """Random covariance matrices; with a spread, of channels whose units differ from record to record."""
    a = rng.standard_normal((n, k, 2 * k)) * np.exp(spread * rng.uniform(-1, 1, (n, k, 1)))
    return a @ a.swapaxes(1, 2) / (2 * k)


def by_eigenvectors(points, weights=None):
    values, vectors = np.linalg.eigh(points)
    logs = (vectors * np.log(values)[:, None]) @ vectors.swapaxes(1, 2)
    return np.tensordot(np.ones(len(points)) if weights is None else weights, logs, 1), np.log(values)


@pytest.fixture
def eager(monkeypatch):
    monkeypatch.setattr(spd, "MANY", 1)


@pytest.mark.parametrize("k", [3, 4, 5, 8, 13])
@pytest.mark.parametrize("spread", [0.0, 1.5, 5.0])
def test_sums_are_those_of_eigenvectors(k, spread, rng, eager, monkeypatch):
    space, points = sf.SPD(k), wishart(k, 201, rng, spread)
    weights = rng.random(201) * (rng.random(201) < 0.7)
    logs, values = by_eigenvectors(points, weights)
    worst = 4e-15 * k * float(np.exp(values.max(axis=1) - values.min(axis=1)).max())
    found = space.moments(np.eye(k), points, weights)
    assert found.weight == pytest.approx(weights.sum(), rel=1e-14)
    assert np.abs(found.logs - logs).max() < 201 * min(worst, 1e-9)
    assert found.square == pytest.approx(float(weights @ np.sum(values**2, axis=1)), rel=1e-8)
    monkeypatch.setattr(spd, "compiled", lambda *_: None)
    plain = space.moments(np.eye(k), points, weights)
    assert np.abs(found.logs - plain.logs).max() < 201 * min(worst, 1e-9)


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 2049])
def test_each_record_counts_once(n, rng, eager):
    for k in (3, 6):
        points = wishart(k, n, rng)
        logs, _ = by_eigenvectors(points)
        assert np.abs(sf.SPD(k).moments(np.eye(k), points).logs - logs).max() < 1e-11 * n


@pytest.mark.parametrize("k", [3, 4, 9])
def test_what_is_left_out_stays_below_what_is_said(k, rng, eager):
    space, points = sf.SPD(k), wishart(k, 300, rng, 1.0)
    exact = by_eigenvectors(points)[0] / 300
    for accuracy in (1e-2, 1e-5, 1e-8):
        found = space.moments(np.eye(k), points, None, accuracy)
        assert np.linalg.norm(found.logs / 300 - exact) <= found.error <= accuracy


@pytest.mark.parametrize("k", [3, 7])
def test_means_do_not_depend_on_units(k, rng, eager):
    """Nor on how they differ by channel; records that coincide are their own mean."""
    space, points = sf.SPD(k), wishart(k, 150, rng)
    mean = sf.frechet_mean(space, points).point
    for scale in (np.full(k, 1e-14), np.full(k, 1e14), 10.0 ** np.linspace(-6, 6, k)):
        moved = sf.frechet_mean(space, points * np.outer(scale, scale)).point
        assert float(space.distance(moved, mean * np.outer(scale, scale))) < 1e-10
    same = np.repeat(points[:1], 150, axis=0)
    assert float(space.distance(sf.frechet_mean(space, same).point, points[0])) < 1e-13


@pytest.mark.parametrize("k", [3, 22])
def test_means_of_anisotropic_records_converge(k, rng, eager):
    """Condition numbers up to e^10 and channels a hundred times as loud as others; no stop before the tolerance."""
    scale = np.exp(rng.standard_normal((200, k)) * np.linspace(0, 1, k))
    mix = rng.standard_normal((k, k)) * 10.0 ** np.linspace(0, 2, k)
    points = mix @ (wishart(k, 200, rng) * scale[:, :, None] * scale[:, None, :]) @ mix.T
    points = (points + points.swapaxes(1, 2)) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sf.frechet_mean(sf.SPD(k), points, tolerance=1e-8)
    inverse = np.linalg.inv(np.linalg.cholesky(found.point))
    white = inverse @ points @ inverse.T
    logs, _ = by_eigenvectors((white + white.swapaxes(1, 2)) / 2)
    assert np.linalg.norm(logs) / 200 <= 1.01e-8 >= found.gradient_norm


def test_a_tolerance_that_is_not_reached_is_said(rng, eager):
    with pytest.warns(sf.ConvergenceWarning):
        sf.frechet_mean(sf.SPD(3), wishart(3, 100, rng), tolerance=1e-19)
