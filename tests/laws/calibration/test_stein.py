"""The step of James and Stein: a smaller error wherever the mean is, for any axes (Result 10)."""

import numpy as np
import pytest

from benchmarks.stein import AT_MOST, axes_of, in_ball, paired
from sfumato.laws.calibration import stein
from sfumato.laws.calibration.stein import james_stein, shrunk_noise

DIMENSIONS = [3, 4, 12, 200]
KINDS = ["falling", "steep", "blocks", "one long"]


def too_bold(w, axes, sigma):
    """Return a step whose constant is twice too large."""
    return james_stein(w, axes, np.sqrt(2) * sigma)


def worst_in_ball(p, rule):
    """Return the worst ratio of the root mean square, and of any quantile, over offsets."""
    ratios = np.stack([in_ball(p, offset, rule, 500, 100) for offset in (0, 0.3, 0.6, 1, 3)])
    return ratios[:, 0].max(), ratios[:, 1:].max()


@pytest.mark.parametrize("p", DIMENSIONS)
def test_in_a_ball_no_offset_has_a_larger_error_at_any_level(p):
    square, quantile = worst_in_ball(p, james_stein)
    assert square <= 1
    assert quantile <= AT_MOST
    assert worst_in_ball(p, too_bold)[1] > AT_MOST + 0.005  # at 10%: the test has power


@pytest.mark.parametrize(("p", "known"), [(6, 0.64), (20, 0.35), (96, 0.15)])
def test_near_the_centre_most_of_the_noise_is_gone(p, known):
    assert in_ball(p, 0.0, radii=500, angles=100)[0] == pytest.approx(known, abs=0.006)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("p", [9, 30])
def test_unequal_axes_lose_nothing_wherever_the_mean_is(kind, p, rng):
    axes = axes_of(kind, p)
    noise = np.sqrt((p + 1) * np.sum(axes**2))
    for direction in (np.eye(p)[0], np.eye(p)[-1], np.ones(p)):
        for offset in (0.0, 0.5, 1.0, 3.0):
            mean = offset * noise * direction / np.linalg.norm(axes * direction)
            ratios = paired(axes, mean, 20_000, rng)
            assert ratios[0] <= 1.001
            assert ratios[1:].max() <= 1.01  # benchmarks.stein has more draws


@pytest.mark.parametrize("axes", [[1.0, 1.0, 0.5], [1.0, 0.5, 0.3, 0.2], [1.0, 0.5, 0.3, 1e-3, 1e-3, 1e-3]])
def test_few_unequal_axes_are_left_alone(axes, rng, monkeypatch):
    """A mean off along a short axis would have larger errors at 10%, though a smaller mean square."""
    p = len(axes)
    w = rng.standard_normal((20, p))
    assert np.array_equal(james_stein(w, axes, 0.5), w)
    monkeypatch.setattr(stein, "FEWEST", 0.0)
    means = [offset * np.sqrt(p * (p + 1)) * np.eye(p)[2] for offset in (0.5, 0.7, 1.0)]
    ratios = np.stack([paired(np.array(axes), mean, 30_000, rng) for mean in means])
    assert ratios[:, 0].max() < 1
    assert ratios[:, 1].max() > 1.015


def test_a_ball_is_its_special_case_and_two_directions_are_left_alone(rng):
    w = rng.standard_normal((50, 7))
    factor = np.maximum(0, 1 - 30 * 0.3**2 / np.sum(w**2, axis=1, keepdims=True))
    assert np.allclose(james_stein(w, np.full(7, 5.0), 0.3), factor * w)
    for p in (1, 2):
        assert np.array_equal(james_stein(w[:, :p], np.ones(p), 0.3), w[:, :p])


def test_the_order_of_the_axes_and_their_unit_do_not_matter(rng):
    axes = np.array([3.0, 2.5, 2.0, 1.5, 2.0, 2.5])
    w, order = rng.standard_normal((40, 6)), rng.permutation(6)
    found = james_stein(w, axes, 0.2)
    assert np.allclose(james_stein(w[:, order], axes[order], 0.2), found[:, order])
    assert np.allclose(james_stein(w, 1e-200 * axes, 0.2), found)
    nearly = axes * (1 + 1e-13 * rng.standard_normal(6))
    assert np.allclose(james_stein(w, nearly, 0.2), found, atol=1e-10)
    assert (found * w >= 0).all()
    assert (np.abs(found) <= np.abs(w)).all()


def test_it_is_the_formula_of_the_proof(rng):
    axes, w, sigma = np.sort(rng.uniform(0.3, 1, 9))[::-1], rng.standard_normal(9), 0.1
    p, d = 9, np.append(axes**2, 0.0)
    f = [1.0 if k < 3 else max(0.0, 1 - (k - 2) * (p - 1) * sigma**2 / np.sum(w[:k] ** 2)) for k in range(1, p + 1)]
    expected = [w[i] * sum((d[k] - d[k + 1]) / d[i] * f[k] for k in range(i, p)) for i in range(p)]
    assert james_stein(w, axes, sigma) == pytest.approx(expected)


@pytest.mark.parametrize("sigma", [1e-300, 1e-3, 1.0, 1e300])
@pytest.mark.parametrize("length", [0.0, 5e-324, 1e-300, 1.0, 1e300])
def test_no_number_is_too_small_or_too_large(length, sigma):
    for axes in (np.ones(7), np.array([1e300] * 6 + [1e-300]), 1e-300 * np.arange(1, 8.0)):
        found = james_stein(np.full(7, length), axes, sigma)
        assert np.isfinite(found).all()
        assert (found >= 0).all()
        assert (found <= length).all()
        if length > 1e3 * sigma:
            assert found == pytest.approx(length, rel=1e-4)


@pytest.mark.parametrize("kind", ["ball", "falling", "blocks"])
@pytest.mark.parametrize("offset", [0.3, 1.0])
def test_what_is_left_of_the_noise_is_known_beforehand(kind, offset, rng):
    """For means that vary about the centre by so many times the noise."""
    axes, noise = axes_of(kind, 12), rng.standard_normal((20_000, 12))
    noise *= (rng.standard_gamma(12, len(noise)) / np.linalg.norm(noise, axis=1))[:, None]
    mean = offset * np.sqrt(13) * rng.standard_normal(noise.shape)
    left = np.sqrt(np.mean(np.sum((axes * (james_stein(mean + noise, axes, 1.0) - mean)) ** 2, axis=1)))
    expected = shrunk_noise(axes, np.full(12, 13 * offset**2), 1.0)
    assert 0.8 < left / expected < 1.02
    assert expected < np.sqrt(13 * np.sum(axes**2))
