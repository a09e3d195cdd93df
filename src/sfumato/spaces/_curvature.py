"""The functions of distance that curvature brings in, accurate down to distance zero.

All series below come from  t·cot t = 1 − t²/3 − t⁴/45 − 2t⁶/945 − t⁸/4725 − 2t¹⁰/93555 − …,  in which every
coefficient after the first is negative.  So 1 − t·cot t, its ratio to t², and χ are increasing on (0, π), and the
hyperbolic twins follow by t → i·t.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

_DEFECT = (1 / 3, 1 / 45, 2 / 945, 1 / 4725, 2 / 93555)
_SMALL = 0.1  # below this the first omitted term, 1382·t¹²/638512875, is under 3e-18


def _near_zero(t: Array, series: Array, formula: Array) -> Array:
    return np.where(np.abs(t) < _SMALL, series, formula)


def cot_defect(t: ArrayLike) -> Array:
    """1 − t·cot t: how far the Hessian of half the squared distance falls below 1 where the curvature is 1."""
    t = np.asarray(t, dtype=np.float64)
    q = t * t
    series = q * (_DEFECT[0] + q * (_DEFECT[1] + q * (_DEFECT[2] + q * (_DEFECT[3] + q * _DEFECT[4]))))
    safe = np.where(np.abs(t) < _SMALL, 1.0, t)
    return _near_zero(t, series, 1.0 - safe / np.tan(safe))


def chi(t: ArrayLike) -> Array:
    """χ(t) = −(t·cot t)′ = t/sin²t − cot t."""
    t = np.asarray(t, dtype=np.float64)
    q = t * t
    series = t * (
        2 * _DEFECT[0] + q * (4 * _DEFECT[1] + q * (6 * _DEFECT[2] + q * (8 * _DEFECT[3] + q * 10 * _DEFECT[4])))
    )
    safe = np.where(np.abs(t) < _SMALL, 1.0, t)
    return _near_zero(t, series, safe / np.sin(safe) ** 2 - 1.0 / np.tan(safe))


def psi(t: ArrayLike) -> Array:
    """ψ(t) = (1 − t·cot t)·cot t, which equals t − χ(t); concave, so it has one maximum on (0, π)."""
    return np.asarray(t, dtype=np.float64) - chi(t)


def coth_excess(t: ArrayLike) -> Array:
    """t·coth t − 1, concave as a function of t²."""
    t = np.asarray(t, dtype=np.float64)
    q = t * t
    series = q * (_DEFECT[0] - q * (_DEFECT[1] - q * (_DEFECT[2] - q * (_DEFECT[3] - q * _DEFECT[4]))))
    safe = np.where(np.abs(t) < _SMALL, 1.0, t)
    return _near_zero(t, series, safe / np.tanh(safe) - 1.0)


def coth_slope(t: ArrayLike) -> Array:
    """(t·coth t − 1)·coth t / t, which rises from 1/3 at zero to 1."""
    t = np.asarray(t, dtype=np.float64)
    excess = coth_excess(t)
    q = t * t
    series = (1 / 3 - q / 45 + 2 * q**2 / 945 - q**3 / 4725 + 2 * q**4 / 93555) * (1.0 + excess)
    safe = np.where(np.abs(t) < _SMALL, 1.0, t)
    return _near_zero(t, series, excess * (1.0 + excess) / safe**2)


def log_sinc(t: ArrayLike) -> Array:
    """log(sin t / t) on (−π, π)."""
    return np.asarray(np.log(np.sinc(np.asarray(t, dtype=np.float64) / np.pi)))


def log_sinhc(t: ArrayLike) -> Array:
    """log(sinh t / t) for t ≥ 0, without overflow."""
    t = np.asarray(t, dtype=np.float64)
    safe = np.where(t < _SMALL, 1.0, t)
    q = t * t
    series = q / 6 - q**2 / 180 + q**3 / 2835 - q**4 / 37800
    return _near_zero(t, series, safe + np.log1p(-np.exp(-2 * safe)) - np.log(2 * safe))


def angle_over_sine(cosine: Array) -> Array:
    """θ/sin θ from cos θ.  Both arccos c and (1−c)(1+c) are accurate for a given c, so their ratio is too."""
    c = np.minimum(cosine, 1.0)
    sine = np.sqrt((1.0 - c) * (1.0 + c))
    flat = sine == 0.0
    return np.where(flat, 1.0, np.arccos(c) / np.where(flat, 1.0, sine))


@lru_cache(maxsize=4096)
def unit_log_spread(r: float, R: float) -> float:
    """A(r, R) on the unit sphere, rounded up: the largest ‖log_x y − log_x y'‖, x in B_R(p0), y and y' in B_r(p0).

    The widest pair lies on the edge of B_r(p0), at an angle b from the direction of x and mirrored; by the law of
    sines its width is 2·sin r·sin b·s/sin s with cos s = cos r·cos R + sin r·sin R·cos b (theory, Result 1).  For b
    below π/2 the mirror image π − b is wider, and on [π/2, π] sin b falls while s/sin s rises: each cell therefore has
    an upper bound from its two ends, and cells that could still hold the maximum are divided until it is known to 1e-7.
    """

    def stretch(b: Array) -> Array:  # s/sin s
        return angle_over_sine(np.cos(r) * np.cos(R) + np.sin(r) * np.sin(R) * np.cos(b))

    low = np.linspace(np.pi / 2, np.pi, 65)[:-1]
    width = np.pi / 128
    for _ in range(14):
        upper = np.sin(low) * stretch(np.minimum(low + width, np.pi))
        found = float(np.max(np.sin(low) * stretch(low)))
        if upper.max() - found <= 1e-7 * found:
            break
        width /= 8
        low = (low[upper > found][:, None] + width * np.arange(8)).ravel()
    return max(2 * r, 2 * float(np.sin(r) * upper.max()) * (1 + 1e-14))
