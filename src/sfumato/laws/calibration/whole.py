"""The whole error of a release by chart: noise, clipping, what is left out and curvature, as one distribution (Result 11).

It is a model, checked on data and not proven: the law of the noise is exact, that of the rest is estimated from what is public.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv

from ...numerics.arrays import Array
from ..radial import check_probability


@dataclass(frozen=True)
class WholeError:
    """How far a release is expected to lie from the mean of its records.  All lengths are root mean squares.

    The square of the error has a Gamma distribution with mean noise² + bias² and variance noise⁴·variation +
    bias⁴·(1 + 4/degrees).

    Attributes
    ----------
    noise : float
        Length of the noise that is drawn.
    variation : float
        Variance of the squared noise, over the square of its mean.
    bias : float
        What is left out: by clipping, in frozen directions, and by curvature.
    degrees : float
        Degrees of freedom from which the bias was estimated.
    shrunk : float
        Error that the noise leaves once the draw was moved towards the public centre (Result 10); at most ``noise``.
    public : float or None
        How far the public centre alone is expected to be from the mean; None where nothing is known of it.

    Examples
    --------
    >>> whole = WholeError(noise=3.0, variation=0.5, bias=4.0, degrees=18, shrunk=3.0, public=10.0)
    >>> whole.rms, whole.gain, round(whole.quantile(0.95), 2)
    (5.0, 2.0, 7.85)
    """

    noise: float
    variation: float
    bias: float
    degrees: float
    shrunk: float
    public: float | None

    @property
    def rms(self) -> float:
        """Root mean square of the error of the released value."""
        return float(np.hypot(self.shrunk, self.bias))

    @property
    def gain(self) -> float | None:
        """How many times smaller the error is than that of the public centre; None where that is not known."""
        if self.public is None:
            return None
        return self.public / self.rms if self.rms > 0 else np.inf

    def quantile(self, probability: float) -> float:
        """Return the length that the error exceeds with the rest of the probability."""
        check_probability(probability)
        return float(error_quantile(probability, self.noise, self.variation, self.bias, self.degrees))


def error_quantile(
    probability: float, noise: Array | float, variation: Array | float, bias: Array | float, degrees: float
) -> Array:
    """Return quantiles of errors whose squares have Gamma distributions, as in :class:`WholeError`.

    At 95% they rise with ``noise`` and with ``bias``.
    """
    total = np.hypot(noise, bias)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(total > 0, np.minimum(noise / total, 1.0) ** 2, 1.0)
    spread = np.maximum(share**2 * variation + (1 - share) ** 2 * (1 + 4 / degrees), 1e-12)
    return np.asarray(total * np.sqrt(spread * gammaincinv(1 / spread, probability)))


def noise_moments(axes: Array, sigma: float) -> tuple[float, float]:
    """Return the root mean square length of a chart's noise and the relative variance of its square.

    The noise is σ·√V·g in the chart, V = χ² with p + 1 degrees of freedom, so ‖A·noise‖² has mean σ²(p + 1)·Σa² and second
    moment σ⁴(p + 1)(p + 3)·(2Σa⁴ + (Σa²)²).

    >>> noise_moments(np.ones(1), 1.0)  # of a Laplace variable: mean square 2, fourth moment 24
    (1.4142135623730951, 5.0)
    """
    p = len(axes)
    longest = float(np.max(axes))
    squares = (np.asarray(axes) / longest) ** 2
    variation = (p + 3) / (p + 1) * (1 + 2 * np.sum(squares**2) / np.sum(squares) ** 2) - 1
    return float(sigma * longest * np.sqrt((p + 1) * np.sum(squares))), float(variation)


def noise_error(axes: Array, n: int, epsilon: float) -> WholeError:
    """Return the error of a chart of which only the noise is known: no sample says where the mean may lie."""
    noise, variation = noise_moments(axes, 2 / (n * epsilon))
    return WholeError(noise, variation, 0.0, np.inf, noise, None)
