"""The functions of distance that curvature brings in, accurate down to distance zero.

All series below come from  t·cot t = 1 − t²/3 − t⁴/45 − 2t⁶/945 − t⁸/4725 − 2t¹⁰/93555 − …,  in which every
coefficient after the first is negative.  So 1 − t·cot t, its ratio to t², and χ are increasing on (0, π), and the
hyperbolic twins follow by t → i·t.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
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


NEAR = 0.7  # cosine down to which the series below holds: 45.6 degrees
TERMS = 12


def _fit(powers: Callable[[int], Fraction], end: float) -> tuple[float, ...]:
    """Coefficients of the polynomial with TERMS terms that meets Σ powers(k)·zᵏ in Chebyshev's points of [0, end].

    In fractions, by Newton's divided differences: only the answer is rounded.
    """
    nodes = [Fraction(round((1 - np.cos(np.pi * (i + 0.5) / TERMS)) / 2 * end * 2**20), 2**20) for i in range(TERMS)]
    table = [sum((powers(k) * z**k for k in range(41)), Fraction(0)) for z in nodes]
    for order in range(1, TERMS):
        for i in range(TERMS - 1, order - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (nodes[i] - nodes[i - order])
    result = [table[-1]]
    for i in range(TERMS - 2, -1, -1):  # times (z − nodeᵢ), plus the next difference
        result = [a - nodes[i] * b for a, b in zip([Fraction(0), *result], [*result, Fraction(0)], strict=True)]
        result[0] += table[i]
    return tuple(float(c) for c in result)


@lru_cache(maxsize=1)
def angle_series() -> tuple[float, ...]:
    """Coefficients in z = 1 − cos θ of θ/sin θ = Σ k!/(2k+1)!!·zᵏ, good to rounding for cos θ ≥ NEAR."""
    coefficients = [Fraction(1)]
    for k in range(41):
        coefficients.append(coefficients[-1] * Fraction(k + 1, 2 * k + 3))
    return _fit(coefficients.__getitem__, 1 - NEAR)


WIDEST = 0.9  # tanh of the half-gap up to which the next series holds


@lru_cache(maxsize=1)
def artanh_series() -> tuple[float, ...]:
    """Coefficients in z of artanh(√z)/√z = Σ zᵏ/(2k+1), good to rounding for z up to tanh²(e/4) with tanh e = WIDEST."""
    return _fit(lambda k: Fraction(1, 2 * k + 1), float(np.tanh(np.arctanh(WIDEST) / 4)) ** 2)


@lru_cache(maxsize=32)
def log_tables(accuracy: float) -> tuple[Array, NDArray[np.int64], Array]:
    """Chebyshev series of log(1 + δt) on [−1, 1] for widths δ, as Σ_q T_4q(t)·Σ_j b_qj·T_j(t), j < 4: the widths, how many
    blocks q each needs for an error below ``accuracy``, and b.

    The coefficient of T_m is 2(−1)^(m+1)·z^m/m, z = δ/(1 + √(1 − δ²)), and T_(4q+j) = 2·T_4q·T_j − T_(4q−j).
    """
    widths: Array = 1 - 0.9 * 0.8 ** np.arange(20, dtype=np.float64)
    rows = []
    for delta in widths:
        z = delta / (1 + np.sqrt(1 - delta * delta))
        count = max(2, int(np.ceil((np.log(accuracy / 4) / np.log(z) + 1) / 4)))
        m = np.arange(1, 4 * count)
        series = np.concatenate([[np.log(delta / (2 * z))], -2 * (-z) ** m / m])
        table = np.zeros((count, 4))
        for q in range(count - 1, 0, -1):
            table[q, 0] = series[4 * q]
            for j in (3, 2, 1):
                table[q, j] = 2 * series[4 * q + j]
                series[4 * q - j] -= series[4 * q + j]
        table[0] = series[:4]
        rows.append(table)
    tables = np.zeros((len(rows), max(map(len, rows)), 4))
    for table, filled in zip(tables, rows, strict=True):
        table[: len(filled)] = filled
    return widths, np.array([len(table) for table in rows]), tables


def angle_over_sine(cosine: Array) -> Array:
    """θ/sin θ from cos θ: by the series near 1, else from arccos c and (1−c)(1+c), which are accurate for a given c.

    The series is summed for all, so that few that are far cost little more than none.
    """
    z = 1.0 - cosine
    series = angle_series()
    result = np.full_like(z, series[-1])
    for coefficient in series[-2::-1]:
        result *= z
        result += coefficient
    far = cosine < NEAR
    if far.any():
        c = np.maximum(cosine[far], -1.0)
        sine = np.sqrt((1.0 - c) * (1.0 + c))
        result[far] = np.where(sine == 0.0, 1.0, np.arccos(c) / np.where(sine == 0.0, 1.0, sine))
    return result


def angle_condition(angle: float) -> float:
    """(θ + 1 − θ·cot θ)/sin θ: how much f·y⊥, f = θ/sin θ, is off for a unit of error in y and in cos θ.  It rises from 1;
    logarithms are not asked for beyond 2.99.

    >>> round(angle_condition(0.0), 6), round(angle_condition(np.pi / 2), 6), round(angle_condition(2.9), 1)
    (1.0, 2.570796, 65.5)
    """
    theta = max(1e-6, min(angle, 2.99))
    return float((theta + cot_defect(theta)) / np.sin(theta))


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


def gradient_error(kappa: float, length: ArrayLike, second_moment: Array, reach: Array, slope: float) -> Array:
    """The bound of Space.gradient_error on the sphere (κ = 1/radius²) and on CP^m (κ = 4).

    For one record at distance s, (∇ᵥH)v = ⅓R(w, v)v + a rest, w = −log: linear in w, so that the mean of the first part is
    ⅓R(g, v)v, at most ⅓κ‖g‖ with ‖g‖ ≤ slope + t along the way; and ‖rest‖ ≤ 2/√3·D(s), D(s) = √κ·(χ(x) − 2x/3), x = √κ·s.
    D(s)/s³ rises, so the mean of D is at most D(S)/S² times the second moment.
    """
    u, S = np.asarray(length, dtype=np.float64), np.maximum(reach, 1e-150)
    x = np.sqrt(kappa) * S
    # χ(x) − 2x/3 = 4x³/45 + …: by the series where the difference would be rounding
    small = 4 * x**3 / 45 * (1 + x * x)
    rest = np.where(x < 0.05, small, chi(x) - 2 * x / 3)
    share = np.minimum(1.0, second_moment / S**2)
    return np.asarray(kappa * u * u * (slope / 6 + u / 18) + u * u / np.sqrt(3) * np.sqrt(kappa) * rest * share)
