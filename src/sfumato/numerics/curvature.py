"""The functions of distance that curvature brings in, accurate down to distance zero.

All series below come from  t·cot t = 1 − t²/3 − t⁴/45 − 2t⁶/945 − t⁸/4725 − 2t¹⁰/93555 − …,  in which every
coefficient after the first is negative.  So 1 − t·cot t, its ratio to t², and χ are increasing on (0, π), and the
hyperbolic twins follow by t → i·t.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ellipj, ellipk, ellipkm1

Array = NDArray[np.float64]

DEFECT = (1 / 3, 1 / 45, 2 / 945, 1 / 4725, 2 / 93555)
SMALL = 0.1  # below this the first omitted term, 1382·t¹²/638512875, is under 3e-18


def near_zero(t: Array, series: Array, formula: Callable[[Array], Array]) -> Array:
    """Return the series where |t| is below SMALL, and the formula elsewhere."""
    small = np.abs(t) < SMALL
    return np.where(small, series, formula(np.where(small, 1.0, t)))


def t_cot_t(t: Array) -> Array:
    """Return t·cot t, 1 at zero."""
    safe = np.where(t == 0, 1.0, t)
    return np.where(t == 0, 1.0, safe / np.tan(safe))


def coth_excess(t: ArrayLike) -> Array:
    """Return t·coth t − 1, concave as a function of t²."""
    t = np.asarray(t, dtype=np.float64)
    q = t * t
    series = q * (DEFECT[0] - q * (DEFECT[1] - q * (DEFECT[2] - q * (DEFECT[3] - q * DEFECT[4]))))
    return near_zero(t, series, lambda t: t / np.tanh(t) - 1.0)


def coth_slope(t: ArrayLike) -> Array:
    """Return (t·coth t − 1)·coth t / t, which rises from 1/3 at zero to 1."""
    t = np.asarray(t, dtype=np.float64)
    excess = coth_excess(t)
    q = t * t
    series = (1 / 3 - q / 45 + 2 * q**2 / 945 - q**3 / 4725 + 2 * q**4 / 93555) * (1.0 + excess)
    return near_zero(t, series, lambda t: excess * (1.0 + excess) / t**2)


def log_sinc(t: ArrayLike) -> Array:
    """Return log(sin t / t) on (−π, π)."""
    return np.asarray(np.log(np.sinc(np.asarray(t, dtype=np.float64) / np.pi)))


def log_sinhc(t: ArrayLike) -> Array:
    """Return log(sinh t / t) for t ≥ 0, without overflow."""
    t = np.asarray(t, dtype=np.float64)
    q = t * t
    series = q / 6 - q**2 / 180 + q**3 / 2835 - q**4 / 37800
    return near_zero(t, series, lambda t: t + np.log1p(-np.exp(-2 * t)) - np.log(2 * t))


NEAR = 0.7  # cosine down to which the series below holds: 45.6 degrees
TERMS = 12


@lru_cache(maxsize=2)
def angle_series(hyperbolic: bool = False) -> tuple[float, ...]:
    """Return TERMS coefficients in z = 1 − cos θ of θ/sin θ = Σ k!/(2k+1)!!·zᵏ, good to rounding for cos θ ≥ NEAR: those of the
    polynomial that meets it in Chebyshev's points, by Newton's divided differences in fractions; only the answer is rounded.
    It is t/sinh t at z = 1 − cosh t, for which the points lie below 0, up to cosh t = 2 − NEAR."""
    powers = [Fraction(1)]
    for k in range(40):
        powers.append(powers[-1] * Fraction(k + 1, 2 * k + 3))
    side = -1 if hyperbolic else 1
    places = side * (1 - np.cos(np.pi * (np.arange(TERMS) + 0.5) / TERMS)) / 2 * (1 - NEAR)
    nodes = [Fraction(round(place * 2**20), 2**20) for place in places]
    table = [sum((power * z**k for k, power in enumerate(powers)), Fraction(0)) for z in nodes]
    for order in range(1, TERMS):
        for i in range(TERMS - 1, order - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (nodes[i] - nodes[i - order])
    result = [table[-1]]
    for i in range(TERMS - 2, -1, -1):  # times (z − nodeᵢ), plus the next difference
        result = [a - nodes[i] * b for a, b in zip([Fraction(0), *result], [*result, Fraction(0)], strict=True)]
        result[0] += table[i]
    return tuple(float(c) for c in result)


HALF_WIDTHS = 0.25 * 1.12 ** np.arange(29)  # of log-eigenvalues, up to 6.0: condition numbers up to 156,000


def log_rule(half: float, accuracy: float) -> tuple[Array, Array]:
    """Return nodes x and weights w such that log z is within ``accuracy`` of Σ w·(z − 1)/(x·z + 1 − x) for |log z| ≤ half.

    As log z/(z − 1) = ∫₀¹dx/(xz + 1 − x), Gauss's nodes for dx/Π(x·sᵢ + 1 − x) give the rational function that meets it in 2N
    points sᵢ.  Those of Zolotarev on [e^−half, e^half] make the error fall by e^(2πK'/K) with each node, as fast as any can:
    it is below 3·half·e^(−2πNK'/K), and rounding, 2·10⁻¹⁴ for the widest.  The weights are fitted, so that rounding in the
    nodes does no harm.

    >>> nodes, weights = log_rule(2.0, 1e-10)
    >>> len(nodes), abs(float(weights @ (2.0 / (3 * nodes + 1 - nodes)) - np.log(3.0))) < 1e-10
    (9, True)
    """
    tiny = np.exp(-2 * half)
    quarter = ellipkm1(tiny)
    rate = 2 * np.pi * ellipk(tiny) / quarter
    count = max(2, int(np.ceil(np.log(3 * half / accuracy) / rate)))
    points = ellipj(quarter * (np.arange(2 * count) + 0.5) / (2 * count), 1 - tiny)[2] ** 2 * np.exp(half)
    u = np.linspace(-40, 40, 401)
    x = 1 / (1 + np.exp(-u))
    vector = np.sqrt(x / (1 + np.exp(u)) / np.prod(1 + np.outer(x, points - 1), axis=1))
    basis = [vector / np.linalg.norm(vector)]
    beside = []
    for _ in range(count - 1):  # Lanczos
        vector = (2 * x - 1) * basis[-1]
        for _ in range(2):
            vector = vector - np.transpose(basis) @ (np.asarray(basis) @ vector)
        beside.append(np.linalg.norm(vector))
        basis.append(vector / beside[-1])
    nodes = (1 + np.linalg.eigvalsh(np.diag(beside, -1))) / 2
    t = half * np.cos(np.pi * (np.arange(8 * count) + 0.5) / (8 * count))
    terms = np.expm1(t)[:, None] / (1 + np.expm1(t)[:, None] * nodes)
    scale = np.linalg.norm(terms, axis=0)
    return nodes, np.linalg.lstsq(terms / scale, t, rcond=1e-16)[0] / scale


@lru_cache(maxsize=32)
def log_rules(accuracy: float) -> tuple[Array, NDArray[np.int64], Array]:
    """Return for each of HALF_WIDTHS: the largest eigenvalue, how many nodes it takes, and nodes and weights over nodes."""
    made = [log_rule(half, accuracy) for half in HALF_WIDTHS]
    counts = np.array([len(nodes) for nodes, _ in made])
    rules = np.zeros((len(made), 2, counts.max()))
    for rule, count, (nodes, weights) in zip(rules, counts, made, strict=True):
        rule[:, :count] = nodes, weights / nodes
    return np.exp(HALF_WIDTHS), counts, rules


def angle_over_sine(cosine: Array) -> Array:
    """Return θ/sin θ from cos θ: by the series near 1, else from arccos c and (1−c)(1+c), which are accurate for a given c.

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


@lru_cache(maxsize=256)
def angle_condition(angle: float) -> float:
    """Return (θ + 1 − θ·cot θ)/sin θ: how much f·y⊥, f = θ/sin θ, is off for a unit of error in y and in cos θ.  It rises from
    1; logarithms are not asked for beyond 2.99.

    >>> round(angle_condition(0.0), 6), round(angle_condition(np.pi / 2), 6), round(angle_condition(2.9), 1)
    (1.0, 2.570796, 65.5)
    """
    theta = max(1e-6, min(angle, 2.99))
    return float((theta + 1 - theta / np.tan(theta)) / np.sin(theta))
