"""The K-norm mechanism in a chart: noise in the tangent space at a public point, shaped by public knowledge (Result 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from ..bounds import bounds_of
from ..calibration.chart import ChartError, chart_bias, chart_error
from ..calibration.rounding import SELECTION, UNIT, crossing, relative_error
from ..calibration.scale import Scale
from ..errors import Refusal
from ..records import Records
from ..regions import Ball, Ellipsoid, Region, as_chart
from ..regions.ellipsoid import shorten
from ..release.record import ChartOf
from ..spaces.base import Array, Points, blocks
from ..statistics import ChartMean
from .base import Mechanism
from .plan import PREDICTED, Drawn, Losses, Plan

BITS = 40  # records are rounded towards zero to whole multiples of 2^−BITS, so that sums of them are exact


@dataclass(frozen=True)
class TangentKNorm(Mechanism):
    """Density ∝ exp(−(nε/2)·‖w − w̄‖) in the chart of the region, w̄ the mean of the records there, each held to ‖wᵢ‖ ≤ 1.

    The release is exp_c(W⁺w̃): a point of the manifold.  Privacy: ε-DP with σ = 2/(nε), as replacing one record moves w̄ by at
    most 2/n (proofs, Result 5).  Nothing about the manifold enters the proof.  The region is a ball, an ellipsoid, or what
    :meth:`Ellipsoid.from_sample`, ``smooth`` and ``bending`` give, whose axes are settled for this n and ε.

    >>> from sfumato import Sphere
    >>> region = Ellipsoid(Sphere(dim=2), center=[0.0, 0.0, 1.0], axes=[0.4, 0.1])
    >>> tangent = TangentKNorm(region, epsilon=1.0)
    >>> round(tangent.scale(100), 6), round(tangent.error_quantile(100, 0.95), 3)
    (0.02, 0.029)
    """

    name: ClassVar[str] = "tangent"
    takes: ClassVar[Any] = Region

    @property
    def kind(self) -> type[TangentPlan]:
        return TangentPlan

    @property
    def statistic(self) -> ChartMean:
        return ChartMean(as_chart(self.region)) if isinstance(self.region, Ball | Ellipsoid) else ChartMean(None)

    def at(self, n: int) -> Plan:
        """With the axes settled for so many records."""
        settled = self.region if isinstance(self.region, Ball) else self.region.settle(n, self.privacy.epsilon)
        return super().at(n) if settled is self.region else TangentKNorm(settled, self.epsilon, self.calibration).at(n)

    def noise(self, n: int, epsilon: float) -> Scale:
        return Scale(2 / (n * epsilon), "2/(n·ε) in the chart, in which the region is the unit ball (result 5)", {})


@dataclass(frozen=True, eq=False)
class TangentPlan(Plan):
    sampler: ClassVar[str] = "exact: Gamma radius, uniform direction, in the chart"

    @cached_property
    def chart(self) -> Ellipsoid:
        region = self.problem.region
        assert isinstance(region, Ball | Ellipsoid)
        return as_chart(region)

    @property
    def after(self) -> str:
        return "projected onto the public ball" if isinstance(self.problem.region, Ball) else ""

    @cached_property
    def described(self) -> ChartOf:
        chart, bias = self.chart, self.bias()
        basis = None if isinstance(self.problem.region, Ball) else chart.basis.tolist()
        return ChartOf(chart.axes.tolist(), basis, chart.source, chart.spread, chart.frozen, bias)

    # -- the error ---------------------------------------------------------------------------------------------------------
    @cached_property
    def error_law(self) -> ChartError:
        return chart_error(self.chart.axes, self.scale.sigma)

    def error_quantile(self, p: float) -> float:
        return self.error_law.quantile(p)

    def release_error(self, p: float) -> float:
        """The length of the noise, and half the diagonal of a cell of the lattice."""
        return self.error_quantile(p) + self.spacing / 2 * float(np.linalg.norm(self.chart.axes))

    def bias(self, reach: float = np.inf) -> float | None:
        """A bound on how far the chart's mean is from the Fréchet mean of the records in the region, seen from the centre; for
        noise that leaves the release within ``reach``.  None where nothing is proven."""
        try:
            found = chart_bias(self.space, self.chart.radius, reach)
        except Refusal:  # a space without bounds
            return None
        return found if np.isfinite(found) else None

    @cached_property
    def likely_error(self) -> float:
        """To the Fréchet mean, where that can be bounded."""
        try:
            bias = chart_bias(self.space, self.chart.radius)
        except Refusal:  # a space without bounds: nothing but charts
            return self.stated_error
        return self._stretch * (self.stated_error + bias)

    @property
    def _stretch(self) -> float:
        """How much exp stretches distances in the region: sinh(s)/s where the curvature is at least −κ, s = √κ·radius."""
        s = np.sqrt(max(0.0, -bounds_of(self.space).curvature[0])) * self.chart.radius
        return float(np.sinh(min(s, 300.0)) / s) if s > 0 else 1.0

    @property
    def to_beat(self) -> float:
        return self.chart.spread

    @property
    def remedies(self) -> list[str]:
        """Fewer directions, if some number of them is enough."""
        axes, sigma, radius = self.chart.axes, self.scale.sigma, self.chart.radius
        fewer = [p for p in range(1, len(axes)) if chart_error(axes[:p], sigma).quantile(PREDICTED) < radius]
        return [f"only the first {fewer[-1]} directions (--modes {fewer[-1]})"] if fewer else []

    # -- draws -------------------------------------------------------------------------------------------------------------
    @cached_property
    def losses(self) -> Losses:
        """δ: the noise, of mean length p·σ, has the relative error of its direction and sixteen roundings of its length.
        Nothing else is rounded: sums of records are sums of whole numbers."""
        p, sigma = len(self.chart.axes), self.scale.sigma
        noise_error = (relative_error(p) + 16 * UNIT) * (p + 1) * sigma
        return Losses(self.both(crossing(p, self.spacing, noise_error) + SELECTION, 0.0))

    def mean(self, records: Records) -> list[Fraction]:
        """w̄, exactly, of the records as they are rounded."""
        sums = records.reduce(partial(whole_sums, self.chart.chart))
        return [Fraction(int(total), records.n << BITS) for total in sums]

    def _noise(self, size: int, rng: np.random.Generator) -> Array:
        p = len(self.chart.axes)
        direction = rng.standard_normal((size, p))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return np.asarray(self.scale.sigma * rng.standard_gamma(p, size)[:, None] * direction)

    def sample(self, records: Records, size: int, rng: np.random.Generator) -> Array:
        w = np.array([float(x) for x in self.mean(records)]) + self._noise(size, rng)
        return self.space.present(self._point(self.chart.tangent(w)))

    def draw(self, records: Records, rng: np.random.Generator) -> Drawn:
        return self.about(self.mean(records), rng)

    def about(self, mean: Sequence[Fraction], rng: np.random.Generator) -> Drawn:
        """One draw about w̄."""
        tangent = self.chart.tangent(self.lattice_point(mean, rng))
        reach = float(np.linalg.norm(tangent)) + self.release_error(PREDICTED)
        raw = value = self.space.present(self._point(tangent))
        if self.after:  # a draw outside of the ball comes to its edge, which is nearer to the mean, wherever that is
            value = self.space.present(self._point(shorten(tangent, self.chart.radius)))
        return Drawn(value, raw, self.bias(reach))

    def lattice_point(self, mean: Sequence[Fraction], rng: np.random.Generator) -> Array:
        """w̃ on the lattice of R^p, from whole numbers and exact fractions."""
        noise, spacing = self._noise(1, rng)[0].tolist(), Fraction(self.spacing)
        whole = [round((m + Fraction(e)) / spacing) for m, e in zip(mean, noise, strict=True)]
        return np.array(whole, dtype=np.float64) * self.spacing

    def _point(self, tangents: Array) -> Points:
        chart = self.chart
        return self.space.exp(chart.center, self.space.from_coordinates(chart.center, tangents))


def whole_sums(rows: Callable[[Points], Array], points: Points, _: Array | None) -> Array:
    """Sums of rows of length 1 at most, each rounded towards zero to whole numbers of units of 2^−BITS: exact."""
    sums = [
        np.trunc(rows(points[part]) * 2.0**BITS).astype(np.int64).sum(axis=0).astype(object)
        for part in blocks(len(points), int(np.prod(points.shape[1:])))
    ]
    return np.asarray(sum(sums[1:], sums[0]))
