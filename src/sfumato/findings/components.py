"""Principal directions: in which directions records vary most about a released mean (proofs, the second moment)."""

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from ..errors import Fix, Refusal
from ..files import Dataset, as_data
from ..laws.calibration.scale import Scale
from ..laws.privacy import Privacy, as_privacy
from ..mechanisms.base import PERSON, gather
from ..mechanisms.paying import Budget, paying
from ..mechanisms.tangent import TangentKNorm
from ..numerics.arrays import Array, Points
from ..records import Mapped
from ..regions import Ball, Ellipsoid, Region, Settled, check_region
from ..release import Release
from ..release.document import Document
from ..release.record import SpaceOf
from ..release.terms import Named
from ..shown import Shown
from ..spaces import space_from
from .scalar import check_units_of

ROUNDED = 1 + 2.0**-32  # what rounding rows of up to 65,000 numbers towards zero may add to how far they are apart
MOST_MODES = 40
LEVEL = 0.95
DRAWS = 4000  # of made-up noise behind a quantile
MISSED = 1e-6  # the probability that the quantile is too small for all that
CLEAR = 0.04  # the noise of a variance over the largest that it can be, which the number of modes is chosen for


# -- the noise -------------------------------------------------------------------------------------------------------------
class SecondMoment(TangentKNorm):
    """The mean of u·uᵀ for vectors no longer than 1, as √2-weighted upper triangles: points of the unit ball of R^D, two of
    which are at most √2 apart, as their product is (u·v)² ≥ 0; so σ = √2/(nε) is enough (proofs, the second moment)."""

    def noise(self, n: int, epsilon: float) -> Scale:
        sigma = float(np.sqrt(2)) * ROUNDED / (n * epsilon)
        return Scale(sigma, "√2/(n·ε): two matrices u·uᵀ of vectors no longer than 1 are at most √2 apart", {})


@lru_cache(maxsize=64)
def _norms(axes: tuple[float, ...]) -> Array:
    """Return ‖A·N·A‖, the largest absolute eigenvalue, of made-up noise N of scale 1, rising: by a fixed seed, so public."""
    rng = np.random.default_rng(0)
    size = len(axes) * (len(axes) + 1) // 2
    norms = []
    for _ in range(8):
        direction = rng.standard_normal((DRAWS // 8, size))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        values = np.linalg.eigvalsh(from_triangle(direction, len(axes)) * np.outer(axes, axes))
        norms.append(np.abs(values).max(axis=1) * rng.standard_gamma(size, len(direction)))
    return np.sort(np.concatenate(norms))


def noise_quantile(axes: Array, sigma: float, level: float) -> float:
    """Return a length that ‖A·N·A‖ exceeds with probability at most 1 − level: of many draws the one that is above the
    quantile with probability 1 − 10⁻⁶."""
    place = int(binom.isf(MISSED, DRAWS, level)) + 1
    if not level >= 0.5 or place >= DRAWS:
        raise ValueError(f"a level is between 0.5 and 0.99, not {level!r}")
    longest = float(axes.max())
    return sigma * longest**2 * float(_norms(tuple((axes / longest).tolist()))[place])


def triangle(p: int) -> tuple[Any, Any, Array]:
    """Return rows and columns of the upper triangle, with weights 1 on the diagonal and √2 off it: an isometry."""
    rows, columns = np.triu_indices(p)
    return rows, columns, np.where(rows == columns, 1.0, np.sqrt(2))


def from_triangle(numbers: Array, p: int) -> Array:
    """Return the symmetric matrices, (…, p, p), of weighted upper triangles."""
    rows, columns, weights = triangle(p)
    matrices = np.empty((*numbers.shape[:-1], p, p))
    matrices[..., rows, columns] = matrices[..., columns, rows] = numbers / weights
    return matrices


def _products(chart: Ellipsoid, points: Points) -> Array:
    """Return u·uᵀ of each record, as weighted upper triangles."""
    u = chart.chart(points)
    rows, columns, weights = triangle(u.shape[1])
    return np.asarray(u[:, rows] * u[:, columns] * weights)


# -- what is released --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False, kw_only=True)
class Components(Document, Shown):
    """The leading directions of variation about a released mean, with their variances: all from one released matrix."""

    count: int  # how many leading directions were asked for
    space: SpaceOf  # of the records
    center: Array  # the mean
    axes: Array  # the lengths of the public directions there that the second moment was taken in
    basis: Array  # these directions
    release: Release  # the second moment in that chart, with its noise, guarantee and record

    format: ClassVar[str] = "sfumato components 1"
    noun: ClassVar[str] = "record of components"
    shown_by: ClassVar[str] = "components"

    @cached_property
    def matrix(self) -> Array:
        """(p, p): the second moment in units of the space's metric, as it was released.  It may have negative eigenvalues."""
        return from_triangle(self.release.raw, len(self.axes)) * np.outer(self.axes, self.axes)

    @cached_property
    def _decomposed(self) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(self.matrix)
        return values[::-1], vectors[:, ::-1]

    @property
    def variances(self) -> Array:
        """Explained variances, the largest first: squared distances in the metric of the space."""
        return self._decomposed[0][: self.count]

    @property
    def shares(self) -> Array:
        """Explained variances over the total; NaN where the noise hides the total."""
        total = float(np.trace(self.matrix))
        return self.variances / total if total > 0 else np.full(self.count, np.nan)

    @property
    def directions(self) -> Array:
        """(count, d): unit tangent vectors at the mean, in the space's coordinates there; their sign means nothing."""
        units = self._decomposed[1][:, : self.count].T @ self.basis
        largest = np.take_along_axis(units, np.abs(units).argmax(axis=1)[:, None], axis=1)
        return np.asarray(units * np.where(largest < 0, -1.0, 1.0))

    def noise(self, level: float = LEVEL) -> float:
        """Return what the noise moves every variance by at most, all at once, with this probability (Weyl's inequality)."""
        cell = self.release.lattice_spacing / 2 * np.sqrt(self.release.raw.size)
        noise = noise_quantile(self.axes, self.release.calibration.sigma, level)
        return noise + float(cell * self.axes.max() ** 2)

    def intervals(self, level: float = LEVEL) -> Array:
        """Return, (count, 2), where the explained variances of the clipped records lie, all at once; not the population's."""
        off = self.noise(level)
        return np.maximum(np.stack([self.variances - off, self.variances + off], axis=1), 0.0)

    @property
    def significant(self) -> list[bool]:
        """Whether each direction stands above the noise: its variance surely (95%) exceeds those of all directions beyond the
        ``count`` leading ones."""
        values = self._decomposed[0]
        off = self.noise()
        rest = max(float(values[self.count]) + off, 0.0) if self.count < len(values) else 0.0
        return [bool(value - off > rest) for value in self.variances]

    @property
    def angles(self) -> Array:
        """Degrees that each direction is off by at most, with a probability of 95%; 90: the direction is not determined.

        sin ≤ 2·noise/gap, the gap to the neighbouring variances (Davis and Kahan; Yu, Wang and Samworth 2015).
        """
        values = self._decomposed[0]
        apart = -np.diff(values)
        gaps = np.minimum(np.append(apart, np.inf), np.insert(apart, 0, np.inf))[: self.count]
        return np.asarray(np.degrees(np.arcsin(np.minimum(1.0, 2 * self.noise() / np.maximum(gaps, 1e-300)))))

    def points(self, component: int = 0, deviations: float = 2.0) -> Array:
        """Return, (2, …), the points exp_m(∓k·s·v) at k standard deviations s from the mean along a direction v."""
        space = self.space.required
        at = space.validate(self.center[None])[0]
        length = np.sqrt(max(0.0, float(self.variances[component])))
        steps = np.array([[-1.0], [1.0]]) * deviations * length * self.directions[component]
        return space.present(space.exp(at, space.from_coordinates(at, steps)))

    def check(self) -> None:
        p = len(self.axes)
        if self.release.raw.size != p * (p + 1) // 2 or len(self.basis) != p:
            raise ValueError(f"a second moment of {self.release.raw.size} numbers is not one of {p} directions")


# -- the release -----------------------------------------------------------------------------------------------------------
def private_components(
    points: ArrayLike | Dataset,
    mean: Release | Region,
    epsilon: float | None = None,
    components: int = 2,
    *,
    modes: int | None = None,
    unit: str | ArrayLike | None = None,
    unit_name: str = PERSON,
    invalid: str = "raise",
    budget: Budget | None = None,
    force: bool = False,
    allow_useless: bool = False,
    privacy: Privacy | None = None,
) -> Components:
    """Release the directions in which records vary most about a released mean, and how much.

    In the chart about the mean (the region's axes, moved there) a record is a vector u with ‖u‖ ≤ 1.  Replacing one moves the
    mean of u·uᵀ by at most √2/n in the Frobenius norm, so noise of density ∝ exp(−(nε/√2)·‖N‖) is ε-private; with a δ or
    a ρ, much less of it is (proofs, Result 9).  All else is computed from the noisy matrix.

    ``points`` are the records of which ``mean`` was released, whose own ε comes beside this one, or others like them; with a
    region in the place of a mean, variation is about its public centre.  ``components`` is how many leading directions, and
    ``modes`` how many of the region's directions, the longest of them, the second moment is taken in: its noise grows like the
    power 1.5 of this.  Unless given, all of a ball; of an ellipsoid as many as leave the noise below 4% of the largest
    possible variance, a choice by public numbers.  Where twice the noise of a variance (95%) is as large as the largest
    variance in the region, so that none could stand above it, it is refused without ``allow_useless``.  All else is as in
    :func:`sfumato.private_mean`.

    >>> from sfumato import Euclidean, private_mean
    >>> points = np.random.default_rng(0).normal(size=(4000, 3)) * [0.6, 0.3, 0.1]
    >>> mean = private_mean(points, Ball(Euclidean(dim=3), [0.0, 0.0, 0.0], radius=2.0), epsilon=1.0)
    >>> found = private_components(points, mean, epsilon=1.0)
    >>> bool(abs(found.directions[0, 0]) > 0.9), found.significant[0], found.release.guarantee.epsilon
    (True, True, 1.0)
    """
    promise = as_privacy(epsilon, privacy, "private_components").check(force)
    if isinstance(components, bool) or not isinstance(components, int | np.integer) or components < 1:
        raise ValueError(f"the number of components must be a whole number of at least 1, not {components!r}")
    region = _about(mean)
    records, words = gather(region, as_data(points, region.space), unit, unit_name, invalid)
    if isinstance(mean, Release):
        check_units_of(mean, records.n, unit)
    whole = region.settle(records.n, promise).as_chart()
    plan, chart = _plan(whole, records.n, promise, int(components), modes, region.is_ball, allow_useless)
    with paying(budget, plan.facts, {**plan.record.document(), "unit": words}) as payment:
        release = plan.release_of(Mapped(records, plan.space, partial(_products, chart)), words)
        where = {"center": chart.space.present(chart.center), "axes": chart.axes, "basis": chart.basis}
        space = SpaceOf.of(chart.space)
        return payment.note(Components(count=int(components), space=space, **where, release=release))


def _about(mean: Release | Region) -> Region:
    """Return the region about the released mean; or as it is, if no mean was given."""
    if not isinstance(mean, Release):
        return check_region(mean, "the second argument is a released mean or")
    space = mean.space.required
    chart = mean.chart
    if not mean.on_manifold:
        raise ValueError("the released mean is not a point of its space, so that there are no directions at it")
    region: Settled = Ball(space, mean.ball.center, mean.ball.radius)
    if chart is not None and chart.basis is not None:
        region = Ellipsoid(space, mean.ball.center, chart.axes, chart.basis, source=chart.source, spread=chart.spread)
    return region.moved(space.validate(mean.value[None])[0])


def _plan(
    whole: Ellipsoid, n: int, privacy: Privacy, count: int, modes: int | None, fixed: bool, allow: bool
) -> tuple[TangentKNorm, Ellipsoid]:
    """Return the plan of the second moment and its chart; a Refusal where no variance could stand out."""
    most = len(whole.axes)
    order = np.argsort(-whole.axes, kind="stable")
    if modes is not None and not (isinstance(modes, int | np.integer) and count <= modes <= most):
        raise ValueError(f"modes must be a whole number from {count} (the components) to {most}, not {modes!r}")
    if count > most:
        raise ValueError(f"there are {most} directions in this region, so not {count} components")

    def off(p: int) -> float:
        """Return the noise of a variance over the largest that it can be."""
        axes = whole.axes[order[:p]]
        epsilon = privacy.noise(p * (p + 1) // 2).epsilon
        return noise_quantile(axes, float(np.sqrt(2)) / (n * epsilon), LEVEL) / float(axes.max()) ** 2

    def largest(limit: float, high: int) -> int:
        """Return how many directions, up to so many, have noise below the limit: it grows with them."""
        return bisect_left(range(1, high + 1), True, key=lambda p: off(p) >= limit)

    usual = most if fixed else max(count, largest(CLEAR, min(most, MOST_MODES)))
    p = modes or usual
    if p > MOST_MODES:
        raise Refusal(
            f"a second moment is taken in {MOST_MODES} directions at most, and these are {p}: give ",
            Fix("modes", MOST_MODES),
            " or less, and a region that says which directions come first, such as Ellipsoid.from_sample. Nothing was spent",
        )
    if 2 * off(p) >= 1 and not allow:
        fewer = largest(0.5, p)
        less = (f", only {fewer} directions (", Fix("modes", fewer), ")") if fewer >= count else ()
        raise Refusal(
            f"the variances of {p} directions would be lost in the noise: it moves each by up to {off(p):.2g} times the "
            f"largest that records in the region can have (95%). What helps: {int(np.ceil(n * 2 * off(p))) + 1} records or "
            "as much more epsilon",
            *less,
            "; or ",
            Fix("allow_useless", True),
            ". Nothing was spent",
        )
    some = np.sort(order[:p])
    chart = Ellipsoid(whole.space, **whole.parameters() | {"axes": whole.axes[some], "basis": whole.basis[some]})
    flat = space_from("euclidean", {"dim": p * (p + 1) // 2})
    named = Named("second moment about a mean, in a chart of tangent vectors there", "Frobenius norm of the difference")
    return SecondMoment(Ball(flat, np.zeros(flat.dim), 1.0), privacy, statistic=named).plan(n), chart
