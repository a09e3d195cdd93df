"""Second moments: the mean of w·wᵀ over records with ‖w‖ ≤ 1, by two kinds of noise, and what these do to eigenvalues."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from math import isqrt
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import chdtri
from scipy.stats import binom

from ..laws.calibration.rounding import SELECTION, UNIT
from ..laws.calibration.scale import Scale
from ..laws.privacy import Privacy
from ..numerics.arrays import Array, Points
from ..records import Records
from ..regions import Ball, Ellipsoid
from ..release.terms import After, Named
from ..spaces import space_from
from .base import Mechanism, radial_noise
from .plan import Drawn, Losses
from .tangent import TangentKNorm, whole_means

ROUNDED = 1 + 2.0**-32  # what rounding rows of up to 65,000 numbers towards zero may add to how far they are apart
GRID = 2.0**20  # numbers on this grid have products on that of 2^−40, whose sums are exact
DRAWS = 4000  # of made-up noise behind a quantile
MISSED = 1e-6  # the probability that the quantile is too small for all that
SIMULATED = 0.99  # the last probability for which these are enough
STATISTIC = Named("second moment about a mean, in a chart of tangent vectors there", "Frobenius norm of the difference")


def triangle(p: int) -> tuple[Any, Any, Array]:
    """Return rows and columns of the upper triangle, with weights 1 on the diagonal and √2 off it: an isometry."""
    rows, columns = np.triu_indices(p)
    return rows, columns, np.where(rows == columns, 1.0, np.sqrt(2))


def from_triangle(numbers: Array, p: int, weighted: bool = True) -> Array:
    """Return the symmetric matrices, (…, p, p), of upper triangles."""
    rows, columns, weights = triangle(p)
    matrices = np.empty((*numbers.shape[:-1], p, p))
    matrices[..., rows, columns] = matrices[..., columns, rows] = numbers / weights if weighted else numbers
    return matrices


def nearest_moment(matrix: Array) -> Array:
    """Return the nearest M ≥ 0 with tr M ≤ 1, as second moments are: (λⱼ − τ)⁺ in place of eigenvalues λⱼ.  It is no farther
    from the true one in the Frobenius norm, and at most twice as far in the operator norm (Result 12)."""
    values, vectors = np.linalg.eigh(matrix)
    excess = (np.cumsum(values[::-1]) - 1) / np.arange(1, len(values) + 1)
    kept = np.maximum(values - max(0.0, float(excess[values[::-1] >= excess][-1:].sum())), 0.0)
    return np.asarray((vectors * (kept / max(1.0, float(kept.sum())))) @ vectors.T)


def wishart_noise(p: int, size: int, rng: np.random.Generator) -> Array:
    """Return draws of Z₁Z₁ᵀ − Z₂Z₂ᵀ, Z p×(p + 1) standard normal, (size, p, p).  Products of leading bits, multiples of 2^−40
    with sums below 2^13, add exactly for p ≤ 40; the rest is smaller by 2^20, and so is what its sums lose."""
    z = rng.standard_normal((2, size, p, p + 1))
    lead = np.trunc(z * GRID) / GRID
    exact = lead @ lead.swapaxes(2, 3)
    small = lead @ (z - lead).swapaxes(2, 3)
    small = small + small.swapaxes(2, 3) + (z - lead) @ (z - lead).swapaxes(2, 3)
    return np.asarray((exact[0] - exact[1]) + (small[0] - small[1]))


class SecondMoment(TangentKNorm):
    """The mean of w·wᵀ for vectors no longer than 1, as √2-weighted upper triangles: points of the unit ball of R^D, two of
    which are at most √2 apart, as their product is (w·v)² ≥ 0; so σ = √2/(nε) is enough (proofs, the second moment)."""

    weighted: ClassVar[bool] = True
    apart: ClassVar[float] = float(np.sqrt(2)) * ROUNDED  # σ·nε
    formula: ClassVar[str] = "√2/(n·ε): two matrices u·uᵀ of vectors no longer than 1 are at most √2 apart"
    after = "projected onto the positive matrices of trace 1 at most"
    _done = [After.PROJECTED]  # noqa: RUF012

    @classmethod
    def of(cls, p: int, privacy: Privacy) -> Self:
        """Return the mechanism for vectors in R^p."""
        flat = space_from("euclidean", {"dim": p * (p + 1) // 2})
        return cls(Ball(flat, np.zeros(flat.dim), 1.0), privacy, statistic=STATISTIC)

    @classmethod
    def products(cls, chart: Ellipsoid, points: Points) -> Array:
        """Return the upper triangle of w·wᵀ of each record; if not weighted with w rounded towards zero, so exactly."""
        w = chart.chart(points)
        w = w if cls.weighted else np.trunc(w * GRID) / GRID
        rows, columns, weights = triangle(w.shape[1])
        return np.asarray(w[:, rows] * w[:, columns] * (weights if cls.weighted else 1.0))

    @property
    def side(self) -> int:
        """How many rows the matrix has."""
        return (isqrt(8 * self.space.dim + 1) - 1) // 2

    def noise(self, n: int, epsilon: float) -> Scale:
        return Scale(self.apart / (n * epsilon), self.formula, {})

    def mean(self, records: Records) -> list[Fraction]:
        """Return the mean of rows that are products already, exactly."""
        return whole_means(records, lambda rows: [rows])

    def about(self, mean: Sequence[Fraction], rng: np.random.Generator) -> Drawn:
        """Return one draw about the exact mean, and the value: the second moment nearest to it."""
        raw = self.lattice_point(mean, rng)
        rows, columns, weights = triangle(self.side)
        value = nearest_moment(from_triangle(raw, self.side, self.weighted))[rows, columns]
        return Drawn(value * weights if self.weighted else value, raw, self.bias(), raw)


class WishartMoment(SecondMoment):
    """The same with the noise of two Wishart matrices, c·(Z₁Z₁ᵀ − Z₂Z₂ᵀ) with Z p×(p + 1) standard normal and c = 1/(nε): ε-DP,
    as the loss is at most ‖E‖_*/2c for a shift by E, and ‖w·wᵀ − v·vᵀ‖_* ≤ 2 (Result 12)."""

    weighted: ClassVar[bool] = False
    apart: ClassVar[float] = 1.0
    formula: ClassVar[str] = "1/(n·ε): matrices w·wᵀ with ‖w‖ ≤ 1 are at most 2 apart in the nuclear norm"
    sampler: ClassVar[str] = "exact: the difference of two Wishart matrices, from normal numbers"
    options = {"noise": "wishart"}  # noqa: RUF012
    allowed = Mechanism.allowed
    parts = Mechanism.parts

    @cached_property
    def losses(self) -> Losses:
        """δ: but for a chance of 10⁻¹⁵ no row of Z is longer than R, so that an entry is off by u·(29.28·√k·R + 16·R²) at most,
        k = p + 1 (Result 12); sums of records are sums of whole numbers."""
        k = self.side + 1
        t = np.log(2e15 * self.side)
        square = k + 2 * np.sqrt(k * t) + 2 * t
        off = UNIT * (29.28 * np.sqrt(k * square) + 16 * square) * self.scale.sigma / self.spacing
        return Losses(self.both(float(2.125 * self.space.dim * off) + 1e-15 + SELECTION, 0.0))

    def error_quantile(self, p: float) -> float:
        """Return a Frobenius norm that the noise exceeds with probability at most 1 − p: from draws up to 99%, then the bound
        √(2(k + 1)·χ²) + 2(√k + √(k + 1) + t)·t' for k×k matrices, with ¼, ¼ and ½ of 1 − p for its parts (Result 12)."""
        k = self.side
        draws = self.scale.sigma * np.linalg.norm(spectra((1.0,) * k, type(self)), axis=1)
        if p <= SIMULATED:
            return upper(draws, p)
        far, farther = np.sqrt(-2 * np.log((1 - p) / np.array([2, 4])))
        bound = np.sqrt(2 * (k + 1) * chdtri(k * (k + 1), (1 - p) / 4))
        bound += 2 * (np.sqrt(k) + np.sqrt(k + 1) + farther) * far
        return max(upper(draws, SIMULATED), float(self.scale.sigma * bound))

    def release_error(self, p: float) -> float:
        return self.error_quantile(p) + self.spacing / 2 * self.side

    def sampled_noise(self, size: int, rng: np.random.Generator) -> Array:
        rows, columns, _ = triangle(self.side)
        return np.asarray(self.scale.sigma * wishart_noise(self.side, size, rng)[:, rows, columns])


@lru_cache(maxsize=24)
def spectra(axes: tuple[float, ...], kind: type[SecondMoment]) -> Array:
    """Return the eigenvalues, rising, of A·N·A for made-up noise N of scale 1, (DRAWS, p): by a fixed seed, so public."""
    rng = np.random.default_rng(0)
    p = len(axes)
    values = []
    for size in [DRAWS // 8] * 8:
        made = radial_noise(p * (p + 1) // 2, 1.0, size, rng) if kind.weighted else wishart_noise(p, size, rng)
        noise = from_triangle(made, p) if kind.weighted else made
        values.append(np.linalg.eigvalsh(noise * np.outer(axes, axes)))
    return np.concatenate(values)


def upper(draws: Array, level: float) -> float:
    """Return what such a number, or the operator norm of eigenvalues in rows, exceeds with probability at most 1 − level: of
    DRAWS draws the one that is above the quantile with probability 1 − 10⁻⁶."""
    place = int(binom.isf(MISSED, DRAWS, level)) + 1
    if not level >= 0.5 or place >= DRAWS:
        raise ValueError(f"a level is between 0.5 and {SIMULATED}, not {level!r}")
    return float(np.sort(np.abs(draws).max(axis=1) if draws.ndim == 2 else draws)[place])


def least_noise(axes: Array, n: int, privacy: Privacy, level: float) -> tuple[float, type[SecondMoment]]:
    """Return the quantile of the operator norm of A·N·A by the noise for which that is less, and its mechanism."""
    found: list[tuple[float, type[SecondMoment]]] = []
    for kind in (SecondMoment, WishartMoment):
        epsilon = privacy.noise(kind.weighted * len(axes) * (len(axes) + 1) // 2).epsilon
        found.append((kind.apart / (n * epsilon) * upper(spectra(tuple(axes.tolist()), kind), level), kind))
    return min(found, key=lambda one: one[0])
