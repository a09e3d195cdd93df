"""Where the records lie, found privately: a centre and a radius within a generous public ball (Result 7)."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ..files import as_data
from ..laws.bounds import bounds_of, has_bounds
from ..laws.noise import Noise
from ..laws.privacy import Facts, Privacy, as_privacy
from ..laws.sampling.discrete import CLOCK_DELTA, discrete_laplace
from ..numerics.arrays import Array, Points, blocks
from ..records import Records
from ..regions import Ball, Ellipsoid, Region, check_ball
from ..regions.ball import FoundBall
from ..regions.ellipsoid import for_each, shorten, tangent_coordinates
from ..release.terms import Purpose
from ..spaces import space_from
from ..spaces.embedding import Embedding
from .base import gather
from .paying import Budget, paying
from .plan import Losses
from .stages import Outcome, Stage
from .tangent import TangentKNorm, check_movable, whole_means

RATIO = 1.1
LEAST = 1e-4  # of neighbouring candidates for the radius, and the smallest as a share of the largest
MARGIN = 1.1  # by which a radius is made larger, as the centre is not quite the mean
SLACK = 3.0  # how many scales of the noise the count of records that the radius holds may be short of all
NARROW = 0.25  # the radius of the records over that of the prior, for which the shares of ε are the best


@dataclass(frozen=True)
class Shares:
    """Parts of ε for the centre (0: it is known, or would cost too much) and for the radius; what follows has the rest."""

    center: float
    radius: float

    @classmethod
    def best(cls, dim: int, n: int, epsilon: float) -> Self:
        """Return, from public numbers, the shares with the least noise in the end, for records that fill NARROW of the prior.

        >>> Shares.best(2, 5000, 1.0), Shares.best(200, 1000, 1.0).center
        (Shares(center=0.05, radius=0.05), 0.0)
        """
        radius = float(np.clip(100 / (n * epsilon), 0.05, 0.15))
        tried = np.arange(0.05, 0.45, 0.05)
        off = dim * 2 / (n * tried * epsilon)  # of the centre, in radii of the prior
        worth = np.hypot(1, off / NARROW) / (1 - radius - tried)
        alone = 1 / NARROW / (1 - radius)  # with a centre as wrong as the prior allows
        best = int(np.argmin(worth))
        return cls(float(round(tried[best], 2)) if worth[best] < alone else 0.0, radius)


@dataclass(frozen=True, eq=False)
class Finder:
    """What is public of the search: the prior, the plan of the coarse centre (None: that of the prior stays), the noise of the
    counts, and how many records the radius is to hold."""

    prior: Ball
    first: TangentKNorm | None
    width: Fraction
    target: int

    @classmethod
    def of(cls, prior: Ball, n: int, center: Privacy | None, radius: Fraction, coverage: float | None) -> Self:
        """Return the search for the privacy of the centre and the ε of the radius; ``coverage`` None: nearly all records, as
        far as the noise can tell."""
        whole = _whole(prior)
        first = TangentKNorm(whole or prior, center).plan(n) if center is not None else None
        if first is not None and whole is None:
            check_movable(first, prior.moved, "only a radius can be found")
        prior.as_chart()  # which is what stays if none is found
        most = MARGIN * prior.radius * (1 if first is None else 2)
        if not 1e-99 < LEAST / RATIO * most < most < 1e99:
            raise ValueError(f"a radius of {prior.radius:g} is too extreme to look for a smaller one: use another unit")
        short = SLACK * 2 / float(radius) if coverage is None else (1 - coverage) * n
        return cls(prior, first, 2 / radius, n - int(min(short, 0.2 * n if coverage is None else n)))

    @property
    def grid(self) -> Array:
        """Candidates for the radius, rising: any record of the prior is within twice its radius of a centre in it."""
        most = self.prior.radius * (1 if self.first is None else 2)
        return np.asarray(most * RATIO ** np.arange(-int(np.log(1 / LEAST) / np.log(RATIO)), 1.0), dtype=np.float64)

    @property
    def parts(self) -> list[tuple[Noise, ...]]:
        """The noise of the centre and of the radius."""
        return [*([] if self.first is None else self.first.parts), (Noise(float(2 / self.width)),)]

    @property
    def losses(self) -> Losses:
        delta = 0.0 if self.first is None else self.first.losses.numerical_delta
        return Losses(delta, clock_delta=(1 + len(self.grid)) * CLOCK_DELTA)

    def find(self, records: Records, rng: np.random.Generator) -> tuple[Array, float]:
        """Return the centre as users write it, and the smallest candidate t with #{ρ(c, yᵢ) ≤ t} + noise ≥ target + noise,
        else the largest."""
        shown, center = _usable(self.prior, self._center(records, rng))
        grid = self.grid
        counts = np.cumsum(records.reduce(partial(_counts, self.prior, center, grid)))
        limit = self.target + discrete_laplace(self.width, rng)
        for radius, count in zip(grid, counts, strict=True):
            if int(count) + discrete_laplace(self.width, rng) >= limit:
                return shown, float(radius * MARGIN)
        return shown, float(grid[-1] * MARGIN)

    def _center(self, records: Records, rng: np.random.Generator) -> Array | None:
        """Return the mean of the records in a chart of the prior, or of the linear space around, with noise.  None if the
        noisy value is not a point (possible for user-defined spaces)."""
        if self.first is None:
            return None
        chart = self.first.chart
        space = self.prior.space
        ambient = None if _whole(self.prior) is None else space.embedding()
        rows = chart.chart_blocks if ambient is None else partial(_embedded, chart, ambient)
        w = self.first.lattice_point(whole_means(records, rows), rng)
        try:
            if ambient is None:
                return space.present(chart.point(shorten(w)))
            return space.present(ambient.project(chart.point(w), self.prior.center, self.prior.radius))
        except Exception:
            return None


def _usable(prior: Ball, shown: Array | None) -> tuple[Array, Points]:
    """Return a centre as users write it, and its point, if a chart and distances exist there, so that nothing fails after
    the charge; else those of the prior."""
    with suppress(Exception):  # by what was released alone
        moved = Ball(prior.space, np.asarray(shown), prior.radius)
        center = moved.as_chart().center
        own = tangent_coordinates(prior.space, center, center[None]), prior.space.distance(center, center[None])
        if all(np.isfinite(found).all() for found in own):
            return np.asarray(shown), moved.center
    return prior.space.present(prior.center), prior.center


def _embedded(chart: Ellipsoid, ambient: Embedding, points: Points) -> Iterator[Array]:
    for part in blocks(len(points), int(np.prod(points.shape[1:]))):
        yield from chart.chart_blocks(ambient.embed(points[part]))


def _whole(prior: Ball) -> Ball | None:
    """Return the ball around the whole space, in the linear space that it lies in, where the prior is all of it."""
    ambient = prior.space.embedding()
    if ambient is None or not has_bounds(prior.space) or prior.radius < bounds_of(prior.space).injectivity_radius:
        return None
    around = space_from("euclidean", {"dim": ambient.dim})
    return None if np.isinf(ambient.reach) else Ball(around, np.zeros(ambient.dim), ambient.reach)


def _counts(prior: Ball, center: Points, grid: Array, points: Points, _: Array | None) -> Array:
    """Return how many records each candidate is the first to hold; those without a distance count nowhere."""
    distance = for_each(partial(prior.space.distance, center), center, points)
    place = np.searchsorted(grid, np.where(np.isnan(distance), np.inf, distance))
    return np.bincount(place, minlength=len(grid) + 1)[: len(grid)].astype(object)


@dataclass(frozen=True, eq=False)
class Find(Stage):
    """A ball found privately within the prior, in which the mean is then released by chart (proofs, Result 7)."""

    finder: Finder
    split: Shares  # and ``chart`` is the mean in the whole prior

    finds_region: ClassVar[bool] = True

    @classmethod
    def of(cls, region: Region, n: int, privacy: Privacy, only_radius: bool = False) -> Self:
        """Return the stage, with the plan of the mean in the whole prior."""
        prior = check_ball(region, "a prior")
        split = Shares.best(prior.space.dim, n, privacy.pure)
        if only_radius:
            split = replace(split, center=0.0)
        radius, rest = privacy.aside(split.radius)
        center: Privacy | None = None
        if split.center:
            center, rest = rest.split(split.center / (1 - split.radius))
        finder = Finder.of(prior, n, center, radius, None)
        return cls(TangentKNorm(prior, rest).plan(n), finder, split)

    @property
    def parts(self) -> list[tuple[Noise, ...]]:
        return self.finder.parts + self.chart.parts

    @property
    def outer(self) -> float:
        return self.chart.outer if self.finder.first is None else min(self.finder.first.outer, self.chart.outer)

    @property
    def shares(self) -> dict[Purpose, float]:
        both = {Purpose.CENTER: self.split.center, Purpose.RADIUS: self.split.radius}
        return {what: share for what, share in both.items() if share}

    @property
    def words(self) -> str:
        spent = [f"{share:g} on its {what.value}" for what, share in self.shares.items()]
        return f"{' and '.join(spent)} were spent on finding the ball"

    @property
    def losses(self) -> Losses:
        return self.finder.losses

    @property
    def source(self) -> str:
        """How the ball is found, in words."""
        what = "radius" if self.finder.first is None else "centre and radius"
        return f"{what} found privately in a public ball of radius {self.finder.prior.radius:.6g}"

    def described(self, plan: TangentKNorm, done: bool) -> dict[str, Any]:
        return {"source": self.source}

    def run(self, records: Records, rng: np.random.Generator) -> Outcome:
        center, radius = self.finder.find(records, rng)
        price = sum(noise.epsilon for (noise,) in self.finder.parts)
        ball = FoundBall(self.chart.space, center, radius, price, self.source)
        return Outcome(self.chart.within(ball))


def find_region(
    points: ArrayLike, prior: Ball, epsilon: float | None = None, coverage: float = 0.95, **options: Any
) -> FoundBall:
    """Find, privately, a ball that holds most records within a generous public one: a centre, and a radius about it.

    Two thirds of ε place the centre (the mean in a chart of the prior; the mean in the space around, where the prior is a whole
    sphere), and one third finds the radius: the smallest of a public list of candidates that holds ``coverage`` of the records,
    by counts with Laplace noise on whole numbers (proofs, Result 7), made a tenth larger.

    With few records or a small ε the ball may come out much wider than the records, and a release in it be refused as useless
    after this was paid for; :func:`sfumato.private_mean` with ``prior=`` divides one ε by itself, and refuses before anything
    is spent.

    The prior is a ball that surely holds the records, as far as anybody knows beforehand: for directions, a radius of π about
    any direction, the whole sphere.  Releases that use the ball that is found cost their own ε beside this one, which it
    remembers as its price.  ``options`` are ``privacy`` in the place of ε, ``budget``, ``force``, ``unit``, ``unit_name``,
    ``invalid``, ``workers`` and ``memory`` as of :func:`sfumato.private_mean`.

    >>> from sfumato import Euclidean
    >>> points = np.random.default_rng(0).normal(3.0, 0.5, (4000, 2))
    >>> found = find_region(points, Ball(Euclidean(dim=2), [0.0, 0.0], radius=20.0), epsilon=1.0)
    >>> found.epsilon, bool(np.abs(found.center - 3).max() < 0.5), 0.8 < found.radius < 2.5
    (1.0, True, True)
    """
    return _found(points, prior, epsilon, coverage, True, **options)


def private_radius(
    points: ArrayLike, ball: Ball, epsilon: float | None = None, coverage: float = 0.95, **options: Any
) -> FoundBall:
    """Return the ball about a public centre within which a share of the records lies, its radius found privately.

    The smallest t of a public list with #{ρ(c, yᵢ) ≤ t} + Laplace noise ≥ coverage·n + Laplace noise, else the largest (proofs,
    Result 7).  The arguments are those of :func:`find_region`; all of ε is for the radius.

    >>> from sfumato import Euclidean
    >>> points = np.random.default_rng(0).normal(0.0, 0.5, (4000, 2))
    >>> bool(0.8 < private_radius(points, Ball(Euclidean(dim=2), [0.0, 0.0], radius=20.0), epsilon=1.0).radius < 1.8)
    True
    """
    return _found(points, ball, epsilon, coverage, False, **options)


def _found(
    points: Any,
    prior: Ball,
    epsilon: float | None,
    coverage: float,
    centre: bool,
    privacy: Privacy | None = None,
    budget: Budget | None = None,
    force: bool = False,
    **options: Any,
) -> FoundBall:
    check_ball(prior, "the second argument, which surely holds the records,")
    if not (isinstance(coverage, int | float) and 0.5 <= coverage < 1):
        raise ValueError(f"coverage must be a share of the records, from 0.5 to below 1, not {coverage!r}")
    rest = asked = as_privacy(epsilon, privacy).check(force)
    records, unit = gather(prior, as_data(points, prior.space), **{"unit_name": "one unit", **options})
    first: Privacy | None = None
    if centre:
        first, rest = asked.split(2 / 3)
    finder = Finder.of(prior, records.n, first, Fraction(rest.pure), coverage)
    facts = Facts.of(asked, finder.parts, finder.losses.numerical_delta / 2)
    what = "centre and radius" if centre else "radius"
    source = f"{what} found privately for epsilon {facts.epsilon:g}, in a public ball of radius {prior.radius:.6g}"
    about = {"statistic": f"{what} of a ball that holds {coverage:g} of the records", "n": records.n, "unit": unit}
    within = {"center": prior.space.present(prior.center).tolist(), "radius": prior.radius}
    with paying(budget, facts, {**about, "space": repr(prior.space), "prior": within}) as payment:
        center, radius = finder.find(records, payment.rng)
        return payment.note(FoundBall(prior.space, center, radius, facts.epsilon, source))
