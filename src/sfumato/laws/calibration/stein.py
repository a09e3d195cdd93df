"""A noisy mean drawn towards the public centre: nearer to the mean on average, wherever that is (proofs, Result 10)."""

import numpy as np
from numpy.typing import ArrayLike

from ...numerics.arrays import Array

FEWEST = 5.0  # unequal axes, counted as (Σa)²/Σa²: with fewer the smallest errors, those at 10%, would grow by up to 6%
EQUAL = 1e-9  # axes that differ by no more than this, in parts of the longest, are those of a ball


def shrinks(axes: Array) -> bool:
    """Return whether :func:`james_stein` moves a draw in a chart with these axes: there are directions enough."""
    shares = axes / axes.max()
    equal = bool(shares.min() >= 1 - EQUAL)
    return len(axes) > 2 and (equal or bool(np.sum(shares) ** 2 >= FEWEST * np.sum(shares**2)))


def james_stein(w: ArrayLike, axes: ArrayLike, sigma: float) -> Array:
    """Return chart coordinates (…, p) with noise of density ∝ e^(−‖x‖/σ), each multiplied by a factor between 0 and 1.

    With d = axes², falling, and d_{p+1} = 0, coordinate i is multiplied by Σ_{k≥i} ((d_k − d_{k+1})/d_i)·f_k, where f₁ = f₂ = 1
    and f_k = (1 − (k − 2)(p − 1)σ²/(w₁² + … + w_k²))⁺ (James and Stein 1961; nested as in Bhattacharya 1966).  Equal axes leave
    only f_p.  The mean square of the error, Σd_i·error_i², is never larger than without these factors, wherever the mean is.
    In at most two directions, and in few that are unequal (FEWEST), nothing changes.

    >>> james_stein([3.0, 0.0, 4.0], [1.0, 1.0, 1.0], sigma=1.0).round(6).tolist()  # 1 − 2/25 of each
    [2.76, 0.0, 3.68]
    >>> james_stein([2.0] * 6, [3.0, 2.0, 2.0, 2.0, 1.0, 1.0], sigma=0.5).round(3).tolist()  # the longest axis keeps most
    [1.85, 1.661, 1.661, 1.661, 1.583, 1.583]
    """
    w = np.asarray(w, dtype=np.float64)
    axes = np.asarray(axes, dtype=np.float64)
    if not shrinks(axes):
        return w.copy()
    p = len(axes)
    order = np.argsort(-axes, kind="stable")
    lengths = np.hypot.accumulate(w[..., order], axis=-1)  # neither squares nor their sums overflow or vanish
    cut = sigma * np.sqrt(np.maximum(np.arange(-1, p - 1), 0) * (p - 1.0))
    ratio = np.divide(cut, lengths, out=np.ones_like(lengths), where=lengths > cut)
    factors = (1 - ratio) * (1 + ratio)
    factors[..., :2] = 1.0
    next_to = np.append((axes[order][1:] / axes[order][:-1]) ** 2, 0.0)  # d_{i+1}/d_i
    for i in range(p - 2, -1, -1):
        factors[..., i] += next_to[i] * (factors[..., i + 1] - factors[..., i])
    shrunk = np.empty_like(w)
    shrunk[..., order] = w[..., order] * factors
    return shrunk


def shrunk_noise(axes: ArrayLike, offsets: ArrayLike, sigma: float) -> float:
    """Return about the root mean square error that is left of the noise, for a mean with these variances in the chart.

    Each f_k takes (k − 2)(p − 1)σ²·T/(T + the mean variance of the first k coordinates) from kT, T = σ²(p + 1) the noise of
    one coordinate: for normal noise and equal variances that is what it takes before the positive part.

    >>> round(shrunk_noise(np.ones(20), np.zeros(20), 1.0) / 420**0.5, 2)  # 0.35 with the positive part
    0.43
    """
    axes = np.asarray(axes, dtype=np.float64)
    p = len(axes)
    longest = float(axes.max())
    order = np.argsort(-axes, kind="stable")
    squares = (axes[order] / longest) ** 2
    if not shrinks(axes):
        return float(sigma * longest * np.sqrt((p + 1) * np.sum(squares)))
    k = np.arange(1, p + 1)
    variances = np.cumsum(np.asarray(offsets)[order]) / k / sigma**2
    left = k * (p + 1) - np.maximum(k - 2, 0) * (p - 1) * (p + 1) / (p + 1 + variances)
    return float(sigma * longest * np.sqrt(np.sum((squares - np.append(squares[1:], 0.0)) * left)))
