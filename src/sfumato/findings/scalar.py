"""Numbers beside a mean: the variance about it, and the size of landmark configurations."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidPointError
from ..files import Dataset, as_data
from ..files.people import RECORD, take_unit
from ..laws.privacy import Facts, Privacy, as_privacy
from ..mechanisms.base import PERSON, gather
from ..mechanisms.inference import SHARE, Spread, check_share
from ..mechanisms.paying import Budget, paying
from ..mechanisms.plan import Plan
from ..mechanisms.stages import Composition
from ..mechanisms.tangent import TangentKNorm
from ..numerics.arrays import Array, Points, as_numbers
from ..records import Mapped, Records
from ..regions import Ball, Region
from ..regions.ellipsoid import for_each
from ..release import Release
from ..release.document import hash_of
from ..release.terms import SIZE, SIZE_VARIANCE, VARIANCE, ScalarStatistic
from ..spaces import LINE
from ..spaces.base import Space


def private_variance(
    points: ArrayLike | Dataset,
    mean: Release,
    epsilon: float | None = None,
    *,
    reach: float | None = None,
    **options: Any,
) -> Release:
    """Release the Fréchet variance about a released mean m: the mean of ρ(m, yᵢ)², each clipped to at most reach².

    One record moves it by at most reach²/n, so Laplace noise of that scale over ε is ε-private; the ε of the mean, which is
    public, comes beside it.  With a share of ε for its own spread, :meth:`Release.region` of the result is an interval for the
    variance of the population.

    ``points`` are the records of which ``mean`` was released, or others like them.  ``reach`` is the public distance from the
    mean beyond which records count as being there; unless given, how far any record of the region can be from the mean: the
    radius of a ball, or the reach of an ellipsoid in all directions, the frozen ones too, plus the distance of the released
    mean from the centre.  Other options are ``inference``, the share of ε for the interval, a tenth unless given (0: none);
    and ``privacy``, ``budget``, ``unit``, ``unit_name``, ``invalid`` and ``force`` as in :func:`sfumato.private_mean`.

    >>> from sfumato import Euclidean, private_mean
    >>> points = np.random.default_rng(0).normal(0.0, 0.5, (4000, 2))
    >>> mean = private_mean(points, Ball(Euclidean(dim=2), [0.0, 0.0], radius=2.5), epsilon=1.0)
    >>> variance = private_variance(points, mean, epsilon=1.0)
    >>> bool(abs(variance.value[0] - 0.5) < 0.05), variance.region(0.95).radius < 0.1
    (True, True)
    """
    if not isinstance(mean, Release):
        raise TypeError(f"the second argument of private_variance is a released mean, not {mean!r}")
    space = mean.space.required
    far = _reach(space, mean) if reach is None else reach
    ball = Ball(space, mean.value, far)
    squares = partial(_squared_distances, ball)
    return private_scalar(points, ball, squares, (0.0, far**2), VARIANCE, epsilon, after=mean, **options)


def variance_plan(mean: Release, n: int, privacy: Privacy, reach: float | None, inference: float) -> Plan:
    """Return the plan of the variance of n records about a released mean: what :func:`private_variance` would release."""
    far = _reach(mean.space.required, mean) if reach is None else reach
    return scalar_plan(n, (0.0, far**2), VARIANCE, privacy, inference)


def private_scalar(
    points: ArrayLike | Dataset,
    region: Region,
    numbers: Callable[[Points], Array],
    limits: tuple[float, float],
    statistic: ScalarStatistic,
    epsilon: float | None = None,
    *,
    after: Release | None = None,
    inference: float = SHARE,
    budget: Budget | None = None,
    unit: str | ArrayLike | None = None,
    unit_name: str = PERSON,
    invalid: str = "raise",
    force: bool = False,
    privacy: Privacy | None = None,
) -> Release:
    """Release the mean of one number for each record, clipped to public limits: what every statistic of one number is made of.

    ``numbers`` takes canonical points of the region's space, (n, …), and gives a number for each, (n,), by that point alone.
    One record moves the mean by at most (high − low)/n, so Laplace noise of that scale over ε is ε-private; a number that is
    not finite counts as the middle of the limits.  A number ``after`` a released mean is about as many units as that.

    >>> from sfumato import Euclidean
    >>> warmth = ScalarStatistic("mean warmth", each="temperatures", mean="the mean temperature")
    >>> region = Ball(Euclidean(dim=1), [15.0], radius=30.0)
    >>> points = np.random.default_rng(0).normal(20.0, 2.0, (4000, 1))
    >>> released = private_scalar(points, region, lambda points: points[:, 0], (0.0, 40.0), warmth, epsilon=1.0)
    >>> bool(abs(released.value[0] - 20) < 0.5), released.estimate
    (True, 'the mean temperature, each number clipped to the public limits')
    """
    promise = as_privacy(epsilon, privacy, "private_scalar").check(force)
    records, words = gather(region, as_data(points, region.space), unit, unit_name, invalid)
    if after is not None:
        check_units_of(after, records.n, unit)
    if np.shape(numbers(np.stack([region.center] * 3))) != (3,):
        raise ValueError("a statistic gives one number for each point: (n, …) points, (n,) numbers. Nothing was spent")
    plan = scalar_plan(records.n, limits, statistic, promise, inference)
    column = Mapped(records, LINE, partial(_column, numbers, region.center))
    return _release(plan, column, statistic, words, points, budget, after)


def _column(numbers: Callable[[Points], Array], center: Points, points: Points) -> Array:
    """Return the number of each record; NaN, which counts as the middle, where it has none: nothing may fail any more."""
    column = for_each(numbers, center, points)
    return column[:, None] if column.shape == (len(points),) else np.full((len(points), 1), np.nan)


def _reach(space: Space, mean: Release) -> float:
    """Return how far from a released mean m the records of its public region can lie: s + ρ(c, m), if none is farther than s
    from the centre c.  An ellipsoid's longest axis is not such an s where directions are frozen: records vary there too."""
    chart = mean.chart
    reach = None if chart is None else chart.reach
    if reach is None and chart is not None and chart.frozen:
        raise ValueError(
            f"the region of the mean says nothing of how far records lie in {chart.frozen} of {space.dim} directions: give "
            "reach, a public distance from the mean within which nearly all records lie"
        )
    center, value = space.validate(np.stack([mean.ball.center, mean.value]))
    return (reach or mean.ball.radius) + float(space.distance(center, value))


def check_units_of(mean: Release, n: int, unit: object) -> None:
    """Raise an error if a mean of so many people would be followed, without a word, by a number about more records."""
    if unit is None and n != mean.n:
        raise ValueError(
            f"the mean is of {mean.n} units, and these are {n} records: give the labels of people as for the mean, or the "
            f"unit {RECORD!r} if each of these records stands for itself"
        )


def about_mean(release: Release, mean: object) -> Release:
    """Return a release about a released mean: it is no more private than that."""
    if not isinstance(mean, Release) or mean.guarantee.private:
        return release
    return replace(release, guarantee=replace(release.guarantee, private=False, condition=mean.guarantee.condition))


def _squared_distances(ball: Ball, points: Points) -> Array:
    """Return squared distances from the centre, clipped to radius²; NaN where there is no distance."""
    return np.asarray(np.minimum(for_each(ball.distances, ball.center, points), ball.radius) ** 2)


def scalar_plan(n: int, limits: tuple[float, float], kind: ScalarStatistic, privacy: Privacy, inference: float) -> Plan:
    """Return the plan of the mean of one number for each record, by Laplace noise in a chart of the line."""
    ball = _between(*limits)
    rest = privacy.aside(check_share(inference))[1] if inference else privacy
    base = TangentKNorm(ball, rest, statistic=kind).plan(n)
    if not inference:
        return base
    return Composition(ball, n, privacy, base, spread=Spread.of(privacy, inference))


def _release(
    plan: Plan, records: Records, kind: ScalarStatistic, unit: str, data: Any, budget: Any = None, after: Any = None
) -> Release:
    """Charge, draw, and say in the record what the number is about."""
    scalar = kind.within(plan.record.ball)
    public = replace(plan.record.of(data), scalar=scalar).document()
    with paying(budget, plan.facts, {**public, "unit": unit}) as payment:
        return payment.note(about_mean(replace(plan.release_of(records, unit, data=data), scalar=scalar), after))


def _between(low: float, high: float) -> Ball:
    return Ball(LINE, [(low + high) / 2], (high - low) / 2)


# -- size ------------------------------------------------------------------------------------------------------------------
class SizeRelease(NamedTuple):
    """The private mean and variance of centroid sizes: two releases that were charged as one."""

    mean: Release
    variance: Release

    @property
    def sha256(self) -> str:
        """The SHA-256 of those of both, which stands beside their charge in a ledger."""
        return hash_of(f"{self.mean.sha256}{self.variance.sha256}")


def centroid_size(points: ArrayLike | Dataset) -> Array:
    """Return the size of landmark configurations, (n, k, m): √Σ‖xⱼ − x̄‖², times the SCALE of a TPS file (Bookstein 1991).

    >>> centroid_size(np.array([[[0.0, 0.0], [2.0, 0.0], [0.0, 0.0], [2.0, 0.0]]])).tolist()
    [2.0]
    """
    array = as_numbers(points.points if isinstance(points, Dataset) else points)
    if array.ndim != 3:
        raise ValueError(f"sizes are those of landmarks, an array (n, k, 2) or (n, k, 3), not of shape {array.shape}")
    sizes = np.linalg.norm(array - array.mean(axis=1, keepdims=True), axis=(1, 2))
    if isinstance(points, Dataset) and "SCALE" in points.labels:
        sizes = sizes * np.asarray(points.labels["SCALE"], dtype=np.float64)
    return np.asarray(sizes, dtype=np.float64)


def private_size(
    points: ArrayLike | Dataset,
    smallest: float,
    largest: float,
    epsilon: float | None = None,
    *,
    inference: float = SHARE,
    budget: Budget | None = None,
    unit: str | ArrayLike | None = None,
    unit_name: str = PERSON,
    force: bool = False,
    privacy: Privacy | None = None,
) -> SizeRelease:
    """Release the mean and the variance of centroid sizes, which shapes leave out: half of ε for each, charged as one.

    The landmarks, (n, k, 2) or (n, k, 3), are in common units; sizes outside the public limits ``smallest`` and ``largest`` are
    moved to them.  All else is as in :func:`private_variance`.  ``mean`` and ``variance`` are each a Release with its own error
    and interval.

    >>> rng = np.random.default_rng(0)
    >>> landmarks = rng.normal(size=(3000, 12, 2)) * rng.uniform(0.9, 1.1, (3000, 1, 1))
    >>> size = private_size(landmarks, 2.0, 8.0, epsilon=2.0)
    >>> bool(abs(size.mean.value[0] - centroid_size(landmarks).mean()) < 0.05), size.variance.value.shape
    (True, (1,))
    """
    if not 0 <= smallest < largest < np.inf:
        raise ValueError(f"limits of sizes must be public numbers, the smaller first, not {smallest!r} and {largest!r}")
    promise = as_privacy(epsilon, privacy, "private_size").check(force)
    half = promise.split(0.5)[0]
    _, unit = take_unit(points, unit)  # while the labels beside the landmarks are known
    sizes = centroid_size(points)
    if (bad := np.flatnonzero(~np.isfinite(sizes))).size:
        raise InvalidPointError({int(row): "has no size: a landmark is missing, or its SCALE is" for row in bad})
    records, words = gather(_between(smallest, largest), sizes[:, None], unit, unit_name)
    first = scalar_plan(records.n, (smallest, largest), SIZE, half, inference)

    def second(far: float) -> Plan:
        return scalar_plan(records.n, (0.0, far**2), SIZE_VARIANCE, half, inference)

    most = second(largest - smallest)  # the most and the least, so that what they refuse is refused before the charge
    second((largest - smallest) / 2)
    facts = Facts.of(promise, [*first.parts, *most.parts], first.chance + most.chance)
    limits = [float(smallest), float(largest)]
    public = {"statistic": "mean and variance of centroid sizes", "limits": limits, "n": records.n, "unit": words}
    with paying(budget, facts, public) as payment:
        mean = _release(first, records, SIZE, words, points)
        middle = float(np.clip(mean.value[0], smallest, largest))
        far = max(middle - smallest, largest - middle)
        ball = Ball(LINE, [middle], far)
        rows = partial(_column, partial(_squared_distances, ball), ball.center)
        variance = _release(second(far), Mapped(records, LINE, rows), SIZE_VARIANCE, words, points)
        return payment.note(SizeRelease(mean, variance))
