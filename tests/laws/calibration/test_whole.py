"""The whole error as one distribution (Result 11)."""

import numpy as np
import pytest

from sfumato.laws.calibration.chart import chart_error
from sfumato.laws.calibration.whole import WholeError, error_quantile, noise_error, noise_moments


def test_noise_alone_has_the_moments_of_its_law(rng):
    axes, sigma = np.array([3.0, 1.0, 1.0, 0.5]), 0.2
    noise, variation = noise_moments(axes, sigma)
    draws = rng.standard_normal((400_000, 4))
    draws *= sigma * (rng.standard_gamma(4, len(draws)) / np.linalg.norm(draws, axis=1))[:, None]
    squares = np.sum((axes * draws) ** 2, axis=1)
    assert noise**2 == pytest.approx(squares.mean(), rel=0.01)
    assert variation == pytest.approx(squares.var() / squares.mean() ** 2, rel=0.05)


@pytest.mark.parametrize("p", [1, 2, 5, 30, 96])
def test_without_a_bias_it_is_close_to_the_exact_law_of_the_noise(p):
    whole = noise_error(np.ones(p), 100, 1.0)
    assert whole.gain is None
    for level in (0.5, 0.9, 0.95):
        assert whole.quantile(level) == pytest.approx(
            chart_error(np.ones(p), 0.02).quantile(level), rel=0.15 if p > 2 else 0.5
        )
    assert whole.quantile(0.95) == pytest.approx(chart_error(np.ones(p), 0.02).quantile(0.95), rel=0.07)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
@pytest.mark.parametrize("degrees", [2, 8, 118, np.inf])
@pytest.mark.parametrize("variation", [5.0, 1.0, 0.05])
def test_it_rises_with_the_noise_and_with_the_bias(variation, degrees, level):
    lengths = np.geomspace(1e-4, 1e4, 2000)
    assert (np.diff(error_quantile(level, lengths, variation, 1.0, degrees)) >= 0).all()
    assert (np.diff(error_quantile(level, 1.0, variation, lengths, degrees)) >= 0).all()


@pytest.mark.parametrize("unit", [1e-300, 1e-150, 1.0, 1e150, 1e300])
def test_units_do_not_matter(unit):
    plain, scaled = (WholeError(3 * u, 0.5, 4 * u, 2, 2 * u, 9 * u) for u in (1.0, unit))
    assert scaled.quantile(0.95) == pytest.approx(unit * plain.quantile(0.95))
    assert scaled.rms == pytest.approx(unit * plain.rms)
    assert scaled.gain == pytest.approx(plain.gain)
    assert noise_moments(np.full(3, unit), 1.0)[0] == pytest.approx(unit * np.sqrt(12))


def test_no_error_at_all_and_no_such_level():
    nothing = WholeError(0.0, 0.5, 0.0, 2, 0.0, 1.0)
    assert nothing.quantile(0.95) == 0
    assert nothing.gain == np.inf
    with pytest.raises(ValueError, match="between 0 and 1"):
        nothing.quantile(1.5)
