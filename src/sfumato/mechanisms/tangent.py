"""The K-norm mechanism in a chart: noise in the tangent space at a public point, shaped by public knowledge (Result 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from ..errors import Refusal
from ..laws.bounds import bounds_of, has_bounds
from ..laws.calibration.chart import ChartError, chart_bias, chart_error
from ..laws.calibration.rounding import SELECTION, UNIT, crossing, relative_error
from ..laws.calibration.scale import Scale, check_records
from ..numerics.arrays import MANY, RUN, Array, Points, compiled
from ..records import Records
from ..regions import Ellipsoid, Settled
from ..regions.ellipsoid import point_or_center, shorten
from ..release.record import ChartOf
from .base import Mechanism
from .plan import PREDICTED, Drawn, Losses, Plan
from .statistics import ChartMean

BITS = 40  # records are rounded towards zero to whole multiples of 2^−BITS, so that sums of them are exact


@dataclass(frozen=True)
class TangentKNorm(Mechanism):
    """Density ∝ exp(−(nε/2)·‖w − w̄‖) in the chart of the region, w̄ the mean of the records there, each held to ‖wᵢ‖ ≤ 1.

    The release is exp_c(W⁺w̃): a point of the manifold.  Privacy: ε-DP with σ = 2/(nε), as replacing one record moves w̄ by at
    most 2/n (proofs, Result 5).  Nothing about the manifold enters the proof.  The region is a ball, an ellipsoid, or what
    :meth:`Ellipsoid.from_sample`, ``smooth`` and ``bending`` give, whose axes are settled for this n and ε.

    ``shrink=True`` draws the value towards the centre by the factors whose worst mean square error over the region is least
    (:meth:`TangentPlan.factors`): worth it for little n·ε in many directions.

    >>> from sfumato import Sphere
    >>> region = Ellipsoid(Sphere(dim=2), center=[0.0, 0.0, 1.0], axes=[0.4, 0.1])
    >>> tangent = TangentKNorm(region, epsilon=1.0)
    >>> round(tangent.scale(100), 6), round(tangent.error_quantile(100, 0.95), 3)
    (0.02, 0.029)
    """

    shrink: bool = False
    name: ClassVar[str] = "tangent"
    takes_charts: ClassVar[bool] = True

    @property
    def kind(self) -> type[TangentPlan]:
        return TangentPlan

    @property
    def statistic(self) -> ChartMean:
        return ChartMean()

    def options(self) -> dict[str, Any]:
        return {"shrink": True} if self.shrink else {}

    def at(self, n: int) -> Plan:
        """With the axes settled for so many records."""
        check_records(n)
        settled = self.region.settle(n, self.privacy.epsilon)
        return super().at(n) if settled is self.region else replace(self, region=settled).at(n)

    def noise(self, n: int, epsilon: float) -> Scale:
        return Scale(2 / (n * epsilon), "2/(n·ε) in the chart, in which the region is the unit ball (result 5)", {})


@dataclass(frozen=True, eq=False)
class TangentPlan(Plan):
    sampler: ClassVar[str] = "exact: Gamma radius, uniform direction, in the chart"

    @cached_property
    def region(self) -> Settled:
        return self.problem.region.settle(self.n, self.problem.privacy.epsilon)

    @cached_property
    def chart(self) -> Ellipsoid:
        return self.region.as_chart()

    @property
    def after(self) -> str:
        projected = [f"projected onto the {self.region.called}"] if self.region.is_ball else []
        low, high = float(self.factors.min()), float(self.factors.max())
        shrunk = [f"drawn towards the public centre by factors from {low:.3g} to {high:.3g}"] if low < 1 else []
        return " and ".join(shrunk + projected)

    @cached_property
    def factors(self) -> Array:
        """What the coordinates of a draw are multiplied by: λⱼ = (1 − μ/aⱼ)⁺ with μ = T·Σ(aⱼ − μ)⁺, T = σ²(p + 1) the variance
        of each coordinate of the noise; the worst mean square error of a mean in the region is then μ² + T·Σaⱼ²λⱼ², the least
        of all such factors (Pinsker 1980).  All are 1 unless shrinkage is asked for."""
        axes = self.chart.axes
        if not self.options.get("shrink"):
            return np.ones(len(axes))
        variance = self.scale.sigma**2 * (len(axes) + 1)
        low, high = 0.0, float(axes.max())
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if variance * np.maximum(axes - middle, 0.0).sum() > middle else (low, middle)
        return np.maximum(1 - low / axes, 0.0)

    @property
    def shortfall(self) -> float:
        """The most that the factors move a mean of the region: its largest (1 − λⱼ)·aⱼ."""
        return float(((1 - self.factors) * self.chart.axes).max())

    @cached_property
    def described(self) -> ChartOf:
        chart, bias = self.chart, self.bias()
        basis = None if self.region.is_ball else chart.basis.tolist()
        return ChartOf(chart.axes.tolist(), basis, chart.source, chart.spread, chart.frozen, bias, reach=chart.reach)

    # -- the error ---------------------------------------------------------------------------------------------------------
    @cached_property
    def error_law(self) -> ChartError:
        return chart_error(self.chart.axes * self.factors, self.scale.sigma)

    def error_quantile(self, p: float) -> float:
        return self.error_law.quantile(p) + self.shortfall

    def release_error(self, p: float) -> float:
        """The length of the noise, and half the diagonal of a cell of the lattice."""
        return self.error_quantile(p) + self.spacing / 2 * float(np.linalg.norm(self.chart.axes * self.factors))

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
        """To the Fréchet mean, where that can be bounded; else to the chart's own mean."""
        bias = self.bias()
        return self.stated_error if bias is None else self._stretch * (self.stated_error + bias)

    @property
    def is_far_from_the_mean(self) -> bool:
        """Whether the region is so wide that nothing is proven of the Fréchet mean, on a space of which something is known."""
        return self.bias() is None and has_bounds(self.space)

    @property
    def _stretch(self) -> float:
        """How much exp stretches distances: f = sinh(s)/s in the region where the curvature is at least −κ, s = √κ·radius.  A
        draw that is not projected may lie beyond: then f as far as the error reaches, or √(1 + f²) (proofs, Result 5)."""
        root = np.sqrt(max(0.0, -bounds_of(self.space).curvature[0]))
        if root == 0:
            return 1.0
        s = np.minimum(root * (self.chart.radius + np.array([0.0, self.stated_error])), 300.0)
        inside, beyond = (float(f) for f in np.sinh(s) / s)
        return inside if self.region.is_ball else min(beyond, float(np.hypot(1, inside)))

    @property
    def to_beat(self) -> float:
        return self.chart.spread

    @property
    def remedies(self) -> list[str]:
        """Fewer directions, if some number of them is enough: each more makes the noise longer, so halving finds it."""
        axes, sigma, radius = self.chart.axes, self.scale.sigma, self.chart.radius
        fewer, more = 0, len(axes)
        while more - fewer > 1:
            p = (fewer + more) // 2
            fewer, more = (p, more) if chart_error(axes[:p], sigma).quantile(PREDICTED) < radius else (fewer, p)
        if self.region.is_ball:  # whose directions are all alike: a sample says which come first
            words = f"only the {fewer} directions in which a public sample of such records differs most"
            return [f"{words} (--public FILE --modes {fewer})"] if fewer else []
        return [f"only the first {fewer} directions (--modes {fewer})"] if fewer else []

    # -- draws -------------------------------------------------------------------------------------------------------------
    @cached_property
    def losses(self) -> Losses:
        """δ: the noise, of mean length p·σ, has the relative error of its direction and 24 roundings of both lengths.
        Nothing else is rounded: sums of records are sums of whole numbers."""
        p, sigma = len(self.chart.axes), self.scale.sigma
        self._point(np.zeros(self.space.dim))  # a space without a frame at the centre fails now, not after the charge
        noise_error = (relative_error(p) + 24 * UNIT) * (p + 1) * sigma
        return Losses(self.both(crossing(p, self.spacing, noise_error) + SELECTION, 0.0))

    def mean(self, records: Records) -> list[Fraction]:
        """w̄, exactly, of the records as they are rounded."""
        sums = records.reduce(partial(whole_sums, self.chart.chart_blocks))
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
        w = self.lattice_point(mean, rng)
        tangent = self.chart.tangent(w * self.factors)
        if self.region.is_ball:  # one outside comes to the edge, which is nearer to any mean of the ball
            tangent = shorten(tangent, self.chart.radius)
        reach = float(np.linalg.norm(tangent)) + self.stated_error
        value, raw = (point_or_center(self.space, self.chart.center, t) for t in (tangent, self.chart.tangent(w)))
        return Drawn(value, raw, self.bias(reach), w)

    def lattice_point(self, mean: Sequence[Fraction], rng: np.random.Generator) -> Array:
        """w̃ on the lattice of R^p, from whole numbers and exact fractions."""
        noise, spacing = self._noise(1, rng)[0].tolist(), Fraction(self.spacing)
        whole = [round((m + Fraction(e)) / spacing) for m, e in zip(mean, noise, strict=True)]
        return np.array(whole, dtype=np.float64) * self.spacing

    def _point(self, tangents: Array) -> Points:
        chart = self.chart
        return self.space.exp(chart.center, self.space.from_coordinates(chart.center, tangents))


def whole_sums(rows: Callable[[Points], Iterable[Array]], points: Points, _: Array | None) -> Array:
    """Sums of rows of length 1 at most, which come in blocks, each rounded towards zero to whole numbers of units of 2^−BITS:
    exact, as sums of RUN such numbers are whole numbers below 2^53, whatever the order."""
    total: Any = 0
    for found in rows(points):
        if found.size >= MANY and (kernels := compiled()):
            total = total + kernels.whole_sums(np.ascontiguousarray(found), 2.0**BITS).astype(object)
            continue
        for start in range(0, max(1, len(found)), RUN):
            some = np.trunc(found[start : start + RUN] * 2.0**BITS)
            total = total + (np.ones(len(some)) @ some).astype(np.int64).astype(object)
    return np.asarray(total)
