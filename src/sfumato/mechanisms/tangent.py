"""The K-norm mechanism in a chart: noise in the tangent space at a public point, shaped by public knowledge (Result 5)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np

from ..errors import Fix, Refusal
from ..laws.bounds import bounds_of, has_bounds
from ..laws.calibration.chart import ChartError, chart_bias, chart_error
from ..laws.calibration.rounding import SELECTION, UNIT, crossing, relative_error
from ..laws.calibration.scale import Scale, check_records
from ..laws.calibration.stein import james_stein, shrinks, shrunk_noise
from ..laws.calibration.whole import WholeError
from ..laws.noise import Noise
from ..laws.privacy import Privacy
from ..numerics.arrays import MANY, RUN, Array, Points, compiled
from ..records import Records
from ..regions import Ellipsoid, Region, Settled
from ..regions.ellipsoid import point_or_center
from ..regions.look import rms_noise
from ..regions.sketch import OFFSET
from ..release.record import PROBABILITIES, ChartOf, WholeOf
from ..release.terms import After, in_order
from .base import Mechanism, radial_noise
from .plan import Drawn, Losses, Remedy
from .statistics import CHART_MEAN, Statistic

BITS = 40  # records are rounded towards zero to whole multiples of 2^−BITS, so that sums of them are exact


@dataclass(frozen=True)
class TangentKNorm(Mechanism):
    """Density ∝ exp(−(nε/2)·‖w − w̄‖) in the chart of the region, w̄ the mean of the records there, each clipped to ‖wᵢ‖ ≤ 1.

    The draw is exp_c(W⁺w̃), a point of the manifold, and ``raw`` of a release; ``value`` is made of w̃ by moving it towards the
    public centre (Result 10), and then to the nearest point of the region.  Privacy: ε-DP with σ = 2/(nε), as replacing one
    record moves w̄ by at most 2/n (proofs, Result 5); for other kinds the ε of this noise follows from the number of directions
    (Result 9).  Nothing about the manifold enters the proof.  The region is a ball, an
    ellipsoid, or what :meth:`Ellipsoid.from_sample`, ``smooth`` and ``bending`` give, whose axes are settled for this n and ε.

    >>> from sfumato import Sphere
    >>> region = Ellipsoid(Sphere(dim=2), center=[0.0, 0.0, 1.0], axes=[0.4, 0.1])
    >>> plan = TangentKNorm(region, epsilon=1.0).plan(100)
    >>> round(plan.scale.sigma, 6), round(plan.error_quantile(0.95), 3)
    (0.02, 0.029)
    """

    statistic: Statistic = field(default=CHART_MEAN, kw_only=True, repr=False)
    # what settled the region, if it is not given so
    known: Region | None = field(default=None, kw_only=True, repr=False)

    name: ClassVar[str] = "tangent"
    paper: ClassVar[str] = (
        "M. Hardt and K. Talwar (2010). On the geometry of differential privacy. 42nd ACM Symposium on Theory of Computing."
    )
    sampler: ClassVar[str] = "exact: Gamma radius, uniform direction, in the chart"
    auto: ClassVar[bool] = True
    takes_charts: ClassVar[bool] = True
    # parts of the coordinates, each with noise of its own: one record moves all of them by 2/n together (Result 14)
    blocks: ClassVar[int] = 1

    def at(self, n: int) -> Self:
        """Return the mechanism with its axes and its scale settled for n records."""
        check_records(n)
        settled = self.region.settle(n, self.privacy)
        return super().at(n) if settled is self.region else replace(self, region=settled, known=self.region).at(n)

    def within(self, region: Settled) -> Self:
        """Return the same plan in another region of as many directions: its scale does not depend on where that is."""
        return replace(self, region=region).settled(self.n, self.ideal, self.scale)

    def noise(self, n: int, epsilon: float) -> Scale:
        return Scale(2 / (n * epsilon), "2/(n·ε) in the chart, in which the region is the unit ball (result 5)", {})

    @cached_property
    def chart(self) -> Ellipsoid:
        """The region as a chart, for n records."""
        return self.region.settle(self.n, self.privacy).as_chart()

    @cached_property
    def allowed(self) -> float:
        chance = crossing(self.directions, 1 / 32, self._noise_error(1.0)) + 2 * SELECTION
        return self.privacy.noise(self.directions // self.blocks, chance).epsilon

    @property
    def parts(self) -> list[tuple[Noise, ...]]:
        return [(Noise(self.allowed, self.directions // self.blocks),)]

    @property
    def after(self) -> str:
        return in_order(self._done, self.region.called)

    @property
    def _done(self) -> list[After]:
        """What is done to a draw, in order."""
        return [After.SHRUNK, After.PROJECTED] if shrinks(self.chart.axes) else [After.PROJECTED]

    @cached_property
    def described(self) -> ChartOf:
        chart = self.chart
        basis = None if self.region.is_ball else chart.basis.tolist()
        parts = (chart.axes.tolist(), basis, chart.source, chart.spread, chart.frozen, self.bias())
        return ChartOf(*parts, reach=chart.reach, after=[done.value for done in self._done])

    # -- the error ---------------------------------------------------------------------------------------------------------
    @cached_property
    def error_law(self) -> ChartError:
        return chart_error(self.chart.axes, self.scale.sigma)

    def error_quantile(self, p: float) -> float:
        return self.error_law.quantile(p)

    def release_error(self, p: float) -> float:
        """Return the length of the noise, and half the diagonal of a cell of the lattice."""
        return self.error_quantile(p) + self.spacing / 2 * float(np.linalg.norm(self.chart.axes))

    def bias(self, reach: float = np.inf) -> float | None:
        """Return a bound on how far the chart's mean is from the Fréchet mean of the records in the region, seen from the
        centre; for noise that leaves the release within ``reach``.  None where nothing is proven."""
        try:
            bias = chart_bias(self.space, self.chart.radius, reach)
        except Refusal:  # a space without bounds
            return None
        return bias if np.isfinite(bias) else None

    def _whole(self, w: Array | None = None) -> WholeError | None:
        return (self.known or self.region).whole_after(self.chart, self.n, self.allowed, w)

    @cached_property
    def foreseen(self) -> WholeError | None:
        """The whole error by a public sample or a model; None where the noise and the curvature are all that is known."""
        return self._whole()

    def whole_error(self, p: float) -> float:
        """Return it by what is foreseen, or that of the noise if it is more; else the noise as a distance in the space."""
        noise = self.release_error(p)
        return noise * self._stretch if self.foreseen is None else max(noise, self.foreseen.quantile(p))

    @property
    def asked(self) -> Region:
        return self.known or self.region

    @property
    def compared_by(self) -> float:
        """The 95% error to the Fréchet mean, where that can be bounded, times what is left of the noise after the shrinking."""
        axes = self.chart.axes
        offsets = np.full(len(axes), OFFSET**2 / len(axes))  # of a mean that is half a radius from the centre
        shrunk = shrunk_noise(axes, offsets, self.scale.sigma)
        error = self.error_95 + self._stretch * (self.bias() or 0.0)
        return error * shrunk / rms_noise(axes, self.n, self.allowed)

    @property
    def gain(self) -> float | None:
        return None if self.foreseen is None else self.foreseen.gain

    @cached_property
    def whole(self) -> WholeOf:
        whole = WholeOf({f"{p:g}": float(self.whole_error(p)) for p in PROBABILITIES})
        if self.foreseen is None:
            return whole
        relation = (self.known or self.region).related_as
        return replace(whole, rms=self.foreseen.rms, public=self.foreseen.public, relation=relation)

    def whole_after(self, w: Array) -> WholeOf | None:
        """Return what a record states of the whole error after the draw w; None where that tells no more."""
        after = self._whole(w)
        if after is None or after == self.foreseen:
            return None
        drawn = {p: max(foreseen, after.quantile(float(p))) for p, foreseen in self.whole.quantiles.items()}
        return replace(self.whole, drawn=drawn, rms=after.rms, public=after.public)

    @property
    def is_far_from_the_mean(self) -> bool:
        return self.bias() is None and has_bounds(self.space)

    @property
    def _stretch(self) -> float:
        """How much exp stretches distances: sinh(s)/s in the region where the curvature is at least −κ, s = √κ·radius
        (proofs, Result 5).  Released values lie in it."""
        if not has_bounds(self.space):
            return 1.0
        root = np.sqrt(max(0.0, -bounds_of(self.space).curvature[0]))
        s = min(root * self.chart.radius, 300.0)
        return float(np.sinh(s) / s) if s > 0 else 1.0

    @property
    def directions(self) -> int:
        return len(self.chart.axes)

    @property
    def to_beat(self) -> float:
        return self.chart.spread

    @property
    def remedies(self) -> list[Remedy]:
        return shaped(self.region, self.n, self.privacy) if self.gain is None else []

    # -- draws -------------------------------------------------------------------------------------------------------------
    @cached_property
    def losses(self) -> Losses:
        """δ: the noise, of mean length p·σ, has the relative error of its direction and 24 roundings of both lengths.
        Nothing else is rounded: sums of records are sums of whole numbers."""
        p = self.directions
        self.chart.point(np.zeros(p))  # a space without a frame at the centre fails now, not after the charge
        return Losses(self.both(crossing(p, self.spacing, self._noise_error(self.scale.sigma)) + SELECTION, 0.0))

    def _noise_error(self, sigma: float) -> float:
        """Return the expected length of what rounding moves noise of this scale by."""
        p = self.directions // self.blocks
        return self.blocks * (relative_error(p) + 24 * UNIT) * (p + 1) * sigma

    def mean(self, records: Records) -> list[Fraction]:
        """Return w̄, exactly, of the records as they are rounded."""
        return whole_means(records, self.chart.chart_blocks)

    def sampled_noise(self, size: int, rng: np.random.Generator) -> Array:
        """Return draws of the noise in the chart, (size, p)."""
        p = self.directions // self.blocks
        return np.hstack([radial_noise(p, self.scale.sigma, size, rng) for _ in range(self.blocks)])

    def draws(self, records: Records, size: int, rng: np.random.Generator) -> Array:
        w = np.array([float(x) for x in self.mean(records)])
        w = w + self.sampled_noise(size, rng)
        return self.space.present(self.chart.point(w))

    def draw(self, records: Records, rng: np.random.Generator) -> Drawn:
        return self.about(self.mean(records), rng)

    def about(self, mean: Sequence[Fraction], rng: np.random.Generator) -> Drawn:
        """Return one draw about w̄, and the value: moved towards the centre (Result 10), then to the nearest point of the
        region, from which no mean in it is farther."""
        w = self.lattice_point(mean, rng)
        chart = self.chart
        reach = float(np.linalg.norm(chart.tangent(chart.nearest(w)))) + self.noise_95
        value = chart.nearest(james_stein(w, chart.axes, self.stein_scale))
        shown, raw = (point_or_center(self.space, chart.center, chart.tangent(x)) for x in (value, w))
        return Drawn(shown, raw, self.bias(reach), w, self.whole_after(w))

    @property
    def stein_scale(self) -> float:
        """The σ by which a draw is moved: 1/((p − 1)σ²) is the mean of one over the variance of its noise (Result 10)."""
        return self.scale.sigma

    def lattice_point(self, mean: Sequence[Fraction], rng: np.random.Generator) -> Array:
        """Return w̃ on the lattice of R^p, from whole numbers and exact fractions."""
        noise = self.sampled_noise(1, rng)[0].tolist()
        whole = [nearest_multiple(m, e, self.spacing) for m, e in zip(mean, noise, strict=True)]
        return np.array(whole, dtype=np.float64) * self.spacing


def nearest_multiple(mean: Fraction, noise: float, spacing: float) -> int:
    """Return the whole number nearest to (mean + noise)/spacing, the even one of two: as fractions would, in fewer steps.

    >>> [nearest_multiple(Fraction(1, 4), noise, 0.5) for noise in (0.0, 0.5, -0.76)]
    [0, 2, -1]
    """
    over, under = noise.as_integer_ratio()
    many, one = spacing.as_integer_ratio()
    total = (mean.numerator * under + over * mean.denominator) * one
    share = mean.denominator * under * many
    whole, rest = divmod(total, share)
    return whole + (2 * rest > share or (2 * rest == share and whole % 2))


def shaped(region: Region, n: int, privacy: Privacy) -> list[Remedy]:
    """Return what shapes the noise of a ball better: a public sample of such records; and smoothness, where that is of use."""
    ways: list[Remedy] = [("noise shaped by a public sample of such records (", Fix("public", "FILE"), ")")]
    if region.space.landmark_dim is not None:
        smooth = Ellipsoid.smooth(region.space, region.space.present(region.center), region.radius)
        if not TangentKNorm(smooth, privacy).plan(n).useless:
            ways.append(("or by smoothness along an outline (", Fix("smooth", True), ")"))
    return ways


def check_movable(first: TangentKNorm, moved: Callable[[Points], object], *instead: str | Fix) -> None:
    """Raise a Refusal if the space has no chart about other points: at a public one, so that nothing fails after the charge."""
    try:
        moved(first.chart.point(np.full(first.directions, 1e-3)))
    except Exception as error:
        why = f"{first.space} has no chart but the one about its centre: "
        raise Refusal(why, *instead, f" ({error})") from None


def whole_means(records: Records, rows: Callable[[Points], Iterable[Array]]) -> list[Fraction]:
    """Return the means of rows of length 1 at most, one for each record and rounded to whole numbers of units: exactly."""
    return [Fraction(int(total), records.n << BITS) for total in records.reduce(partial(whole_sums, rows))]


def whole_sums(rows: Callable[[Points], Iterable[Array]], points: Points, _: Array | None) -> Array:
    """Return sums of rows of length 1 at most, which come in blocks, each rounded towards zero to whole numbers of units of
    2^−BITS: exact, as sums of RUN such numbers are whole numbers below 2^53, whatever the order."""
    total: Any = 0
    for block in rows(points):
        if block.size >= MANY and (kernels := compiled()):
            total = total + kernels.whole_sums(np.ascontiguousarray(block), 2.0**BITS).astype(object)
            continue
        for start in range(0, max(1, len(block)), RUN):
            some = np.trunc(block[start : start + RUN] * 2.0**BITS)
            total = total + (np.ones(len(some)) @ some).astype(np.int64).astype(object)
    return np.asarray(total)
