"""The error of a release by chart: its distance from the chart's mean, and that from the Fréchet mean; public numbers only."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, chdtri

from ...numerics.arrays import Array
from ...numerics.curvature import coth_excess
from ...spaces.base import Space
from ..bounds import bounds_of
from ..bounds.constant import cot_defect
from ..radial import check_probability

STEP = 2.0 ** (1 / 64)  # ratio of neighbouring lengths in the table: quantiles are rounded up by at most its root
SHORTEST = 1 / 256  # squared axes shorter than this much of the longest are taken for that long
LEFT_OUT = 1e-9  # probability that each of the sums may leave out; it is added to every tail
COMMON = 0.999  # values below the quantile that this share exceeds are rounded up to it
BASIS = 1 + 1e-9  # how much longer a vector may be than its coordinates, in a basis that is orthonormal to nine digits


@dataclass(frozen=True, eq=False)
class ChartError:
    """The distribution of ‖A·noise‖, rounded up: ``tails[i]`` is at least the probability of a square above ``squares[i]``."""

    squares: Array
    tails: Array

    def quantile(self, probability: float) -> float:
        """Return a length that the noise exceeds with probability at most 1 − ``probability``."""
        check_probability(probability)
        below = self.tails <= 1 - probability
        return float(np.sqrt(self.squares[int(np.argmax(below))])) if below.any() else np.inf


def chart_error(axes: Array, sigma: float | Sequence[float], gaussian: bool = False, noises: float = 1.0) -> ChartError:
    """Return the distribution of ‖A·noise‖ for noise of density ∝ e^(−‖w‖/σ) in R^p, the sum of several such, or normal noise.

    A Gamma(p) variable is the product of independent χ_p and χ_{p+1}; so the noise is σ·χ_{p+1}·g, g standard normal in R^p,
    and ‖A·noise‖² = V·Q, V = Σσᵢ²χ²_{p+1} (σ², for normal noise) and Q = Σaⱼ²gⱼ².  Both are put on one grid of equal ratios;
    each value of V is rounded up to it, so the convolution of logarithms is above the law of the product everywhere.
    An axis of length 0 is a direction in which noise is drawn and dropped: it counts in p.  Sites that draw more parts than one
    noise takes (Result 13) have ``noises``·(p + 1) degrees of freedom in the place of p + 1.

    >>> law = chart_error(np.ones(1), sigma=2.0)  # a Laplace variable: 2·ln 20 at 95%
    >>> bool(1 < law.quantile(0.95) / (2 * np.log(20)) < 1.01)
    True
    """
    axes = np.asarray(axes, dtype=np.float64)
    longest = float(axes.max())
    sigmas = np.sort(np.atleast_1d(sigma))
    if longest == 0:
        return ChartError(np.zeros(1), np.zeros(1))
    first, tails = _form_tails(tuple(np.sort((axes[axes > 0] / longest) ** 2).tolist()))
    if not gaussian:
        start, above = _form_tails(tuple(((sigmas / sigmas[-1]) ** 2).tolist()), noises * (len(axes) + 1))
        masses = -np.diff(above, prepend=1.0)  # each at the upper end of its cell
        padded = np.concatenate([np.ones(len(masses)), tails, np.zeros(len(masses))])
        tails = np.convolve(masses, padded)[len(masses) : 2 * len(masses) + len(tails)]
        first += start
    squares = (BASIS * sigmas[-1] * longest) ** 2 * STEP ** np.arange(first, first + len(tails), dtype=np.float64)
    return ChartError(squares, np.minimum(1.0, tails + 4 * LEFT_OUT))


@lru_cache(maxsize=64)
def _form_tails(weights: tuple[float, ...], degrees: float = 1) -> tuple[int, Array]:
    """Return P(Q > STEP^e), rounded up, for e = first, first + 1, …; Q = Σλⱼχ² with weights λ that rise to 1, and these degrees
    of freedom each.  Large N (:func:`chi_squares`) are rounded up to one in 64."""
    beta, every = chi_squares(np.maximum(weights, SHORTEST), degrees)
    ends = bins(len(every), 64)
    law = np.diff(np.cumsum(every)[ends - 1], prepend=0.0)
    total = degrees * len(weights)
    low, high = np.log([beta * chdtri(total, COMMON), chdtri(total, LEFT_OUT)]) / np.log(STEP)
    start = int(np.floor(low))
    x = STEP ** np.arange(start, int(np.ceil(high)) + 1) / beta
    return start, np.asarray(chdtrc(total + 2 * (ends - 1.0), x[:, None]) @ law)


def chi_squares(weights: Array, degrees: float) -> tuple[float, Array]:
    """Return β, the least of weights λ that rise to 1, and the law of N = 0, 1, …, by which Σλⱼχ² is β·χ² with 2N more degrees
    of freedom in all: a sum of negative binomial variables of order degrees/2 and parameters γⱼ = 1 − β/λⱼ (Ruben 1962), by its
    generating function.  What the transform folds over is below LEFT_OUT, by Chernoff's bound."""
    beta = float(weights[0])
    gamma = 1 - beta / weights
    if gamma[-1] == 0:
        return beta, np.ones(1)
    z = (1 + 1 / gamma[-1]) / 2
    bound = 0.5 * degrees * np.sum(np.log1p(-gamma) - np.log1p(-gamma * z)) - np.log(LEFT_OUT)
    size = 1 << int(np.ceil(np.log2(bound / np.log(z) + 2)))
    circle = np.exp(-2j * np.pi * np.arange(size // 2 + 1) / size)
    logarithm = sum(np.log1p(-g) - np.log(1 - g * circle) for g in gamma)
    return beta, np.maximum(np.fft.irfft(np.exp(0.5 * degrees * logarithm), size), 0.0)


def bins(size: int, steps: int) -> NDArray[np.intp]:
    """Return ends between which the numbers 0, …, size − 1 are alike to one in ``steps``."""
    ends = np.ceil(np.exp(np.arange(0, np.log(size) + 1 / steps, 1 / steps)))
    return np.unique(np.minimum(size, ends)).astype(np.intp)


def chart_bias(space: Space, radius: float, reach: float = np.inf) -> float:
    """Return a bound on ‖log_c x̂ − t̄‖, from the mean t̄ of tangent vectors at c no longer than ``radius`` to the Fréchet mean
    x̂ of their end points (proofs, Result 5); infinity where nothing is proven.

    ``reach`` is ‖t̃‖ + q, for a bound at a release t̃ that holds wherever the noise is no longer than q.
    Curvature in [0, κ], τ = ρ(c, x̂), h(x) = x·cot x of √κ times its argument, k = (1 − h(R + τ))/(R + τ)²:
    max over τ ≤ R of kτ(R² − ⅔τ²)/(1 − kτ²); and β/(1 − β)·min(R, reach) with β = (1 − h(2R))/4 ≤ ⅔.
    Curvature in [−κ, 0]: max over τ ≤ m = min(R, reach) of τ·(x·coth x − 1), x² = κ·(R² − ⅔τ²), or √(m² − τ²) if that is less.

    >>> from sfumato import SPD, Euclidean, Sphere
    >>> round(chart_bias(Sphere(dim=2), 0.2), 5), round(chart_bias(SPD(size=2), 1.0), 3), chart_bias(Euclidean(dim=3), 1.0)
    (0.00128, 0.077, 0.0)
    """
    bounds = bounds_of(space)
    R = BASIS * radius
    lower, upper = bounds.curvature
    if lower < 0 < upper or not bounds.mean_radius_limit > R:
        return float(np.inf)
    steps = np.linspace(0.0, R if upper > 0 else min(R, reach), 1 << 12)
    below = steps[:-1]  # and above: the ends of each cell, at which every factor is taken where it is largest
    above = steps[1:]
    moment = R * R - 2 / 3 * below**2
    if lower < 0:
        bent = above * coth_excess(np.sqrt(-lower * moment))
        return float(np.minimum(bent, np.sqrt(steps[-1] ** 2 - below**2)).max())
    root = np.sqrt(upper)
    k = cot_defect(root * (R + above)) / (R + above) ** 2
    proven = k * above**2 < 1
    public = (k * above * moment / (1 - k * above**2)).max() if proven.all() else np.inf
    beta = float(cot_defect(2 * root * R)) / 4
    at_release = beta / (1 - beta) * min(R, reach) if beta <= 2 / 3 else np.inf
    return float(min(public, at_release))
