"""Principal directions: in which directions records vary most about a released mean (proofs, the second moment and Result 12);
and made-up specimens that vary so."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from secrets import randbits
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import Fix, Refusal
from ..files import Dataset, as_data
from ..laws.privacy import Privacy, as_privacy
from ..mechanisms.base import PERSON, gather
from ..mechanisms.moments import SecondMoment, WishartMoment, from_triangle, least_noise, spectra, upper
from ..mechanisms.paying import Budget, paying
from ..numerics.arrays import Array
from ..records import Mapped
from ..regions import Ball, Ellipsoid, Region, check_region
from ..regions.base import Moment, best_axes
from ..release import Guarantee, Release
from ..release.document import Document
from ..release.record import SpaceOf
from ..shown import Shown
from .scalar import about_mean, check_units_of

MOST_MODES = 40
USUAL = 8  # modes at most, unless more are asked for: the first components are known best in few
LEVEL = 0.95
ABOVE = 0.9875  # the probability with which no component is said to be above the noise that is not
CLEAR = 0.2  # of the largest variance that is publicly expected: the noise of a variance that modes are chosen for
LEARNED = 0.25  # the least weight of the release beside the public sample for synthetic specimens


# -- what is released --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False, kw_only=True)
class Components(Document, Shown):
    """The leading directions of variation about a released mean, with their variances: all from one released matrix M̃, but for
    the directions, which are those of λ·M̃ + (1 − λ)·C₀ where C₀ is the covariance of a public sample, λ the ``weight``."""

    count: int  # how many leading directions were asked for
    space: SpaceOf  # of the records
    center: Array  # the mean
    axes: Array  # the lengths of the public directions there that the second moment was taken in
    basis: Array  # these directions
    release: Release  # the second moment in that chart, with its noise, guarantee and record
    public: Array | None = None  # rows F at the mean with C₀ = FᵀF, where there is a public sample
    weight: float = 1.0  # of the release beside it

    newer: ClassVar[Mapping[str, Any]] = {"public": None, "weight": 1.0}
    format: ClassVar[str] = "sfumato components 1"
    noun: ClassVar[str] = "record of components"
    shown_by: ClassVar[str] = "components"

    @property
    def _kind(self) -> type[SecondMoment]:
        return WishartMoment if self.release.mechanism.options else SecondMoment

    @property
    def guarantee(self) -> Guarantee:
        """What is promised."""
        return self.release.guarantee

    @cached_property
    def matrix(self) -> Array:
        """(p, p): the second moment in units of the space's metric, as it was released.  It may have negative eigenvalues."""
        released = from_triangle(self.release.raw, len(self.axes), self._kind.weighted)
        return released * np.outer(self.axes, self.axes)

    @cached_property
    def _public(self) -> Array:
        rows = np.zeros((1, self.basis.shape[1])) if self.public is None else self.public
        return np.asarray(rows.T @ rows)

    @cached_property
    def _weighed(self) -> Array:
        return self.weight * self.matrix + (1 - self.weight) * self.basis @ self._public @ self.basis.T

    @cached_property
    def _decomposed(self) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(self._weighed)
        return values[::-1], vectors[:, ::-1]

    @property
    def variances(self) -> Array:
        """Explained variances, the leading direction first: squared distances in the metric of the space."""
        vectors = self._decomposed[1][:, : self.count]
        return np.asarray(np.sum(vectors * (self.matrix @ vectors), axis=0))

    @property
    def shares(self) -> Array:
        """Explained variances over the total in the public directions; NaN where the noise hides the total."""
        total = float(np.trace(self.matrix))
        return self.variances / total if total > 0 else np.full(self.count, np.nan)

    @property
    def directions(self) -> Array:
        """(count, d): unit tangent vectors at the mean, in the space's coordinates there; their sign means nothing."""
        units = self._decomposed[1][:, : self.count].T @ self.basis
        largest = np.take_along_axis(units, np.abs(units).argmax(axis=1)[:, None], axis=1)
        return np.asarray(units * np.where(largest < 0, -1.0, 1.0))

    @cached_property
    def _noise(self) -> Array:
        """Eigenvalues of made-up noise."""
        return self.release.calibration.sigma * spectra(tuple(self.axes.tolist()), self._kind)

    @property
    def _cell(self) -> float:
        """How far rounding to the lattice moves an eigenvalue at most."""
        side = np.sqrt(self.release.raw.size) if self._kind.weighted else len(self.axes)
        return float(self.release.lattice_spacing / 2 * side * self.axes.max() ** 2)

    def noise(self, level: float = LEVEL) -> float:
        """Return what the noise moves every variance by at most, all at once, with this probability (Weyl's inequality)."""
        return upper(self._noise, level) + self._cell

    def intervals(self, level: float = LEVEL) -> Array:
        """Return, (count, 2), where the explained variances of the clipped records lie, all at once; not the population's."""
        off = self.noise(level)
        return np.maximum(np.stack([self.variances - off, self.variances + off], axis=1), 0.0)

    @property
    def significant(self) -> list[bool]:
        """Whether each component is above the noise: it surely varies more than the mean of itself and all behind it, as those
        before it do.  Where the records vary alike in these directions, it is said so in 1.25% at most (Result 12)."""
        values = np.linalg.eigvalsh(self.matrix)
        found: list[bool] = []
        for k in range(len(values), len(values) - self.count, -1):
            last = slice(k if len(values) > 1 else 0)  # one direction alone is compared with none
            off = self._noise[:, -1] - self._noise[:, last].sum(axis=1) / k
            least = min(values[k - 1], self.variances[len(found)])  # also along the direction that is told
            apart = float(least - values[last].sum() / k)
            found.append(all(found) and apart > upper(off, ABOVE) + 2 * self._cell)
        return found

    @property
    def angles(self) -> Array:
        """Degrees that each direction is off by at most, with a probability of 95%; 90: it is not determined.  sin ≤ 2·off/gap,
        the gap to the next variances (Davis and Kahan; Yu, Wang and Samworth 2015), off by noise and weighing."""
        values = self._decomposed[0]
        apart = -np.diff(values)
        gaps = np.minimum(np.append(apart, np.inf), np.insert(apart, 0, np.inf))[: self.count]
        off = self.noise() + float(np.linalg.norm(self._weighed - self.matrix, 2))
        return np.asarray(np.degrees(np.arcsin(np.minimum(1.0, 2 * off / np.maximum(gaps, 1e-300)))))

    def points(self, component: int = 0, deviations: float = 2.0) -> Array:
        """Return, (2, …), the points exp_m(∓k·s·v) at k standard deviations s from the mean along a direction v."""
        length = np.sqrt(max(0.0, float(self.variances[component])))
        return self._at(np.array([[-1.0], [1.0]]) * deviations * length * self.directions[component])

    def _at(self, tangents: Array) -> Array:
        """Return the points that tangent coordinates at the mean lead to."""
        space = self.space.required
        at = space.validate(self.center[None])[0]
        return space.present(space.exp(at, space.from_coordinates(at, tangents)))

    @cached_property
    def covariance(self) -> Array:
        """(d, d): the positive part of C₀ + Bᵀ·λ(M̃ − B·C₀·Bᵀ)·B in the space's coordinates at the mean, B the basis."""
        change = self.weight * (self.matrix - self.basis @ self._public @ self.basis.T)
        values, vectors = np.linalg.eigh(self._public + self.basis.T @ change @ self.basis)
        return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)

    def sample(self, size: int, *, seed: int | None = None) -> Dataset:
        """Return synthetic specimens, of released and public numbers alone: normal tangent vectors at the mean, as points.

        They are for teaching, pictures and trials of programs; not to train classifiers, nor to conclude about tails or people.
        Labels say that they are synthetic, and the seed that makes them again.  Where little was learned, a Refusal says so.
        """
        number = randbits(32) if seed is None else seed
        for name, whole, least in (("number of specimens", size, 1), ("seed", number, 0)):
            if isinstance(whole, bool) or not isinstance(whole, int | np.integer) or whole < least:
                raise ValueError(f"the {name} must be a whole number of at least {least}, not {whole!r}")
        why = "" if any(self.significant) else "no component is above the noise, and they would show little else"
        if self.weight < LEARNED:
            why = f"the release has a weight of only {self.weight:.0%} beside the public specimens, so use those"
        if why:
            raise Refusal(f"no synthetic specimens: {why}. What helps: more records, or a larger epsilon")
        values, vectors = np.linalg.eigh(self.covariance)
        normal = np.random.default_rng(number).standard_normal((size, len(values)))
        points = self._at(normal @ (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
        names = np.array([f"synthetic {i + 1}" for i in range(size)])
        labels = {"ID": names, "synthetic": np.full(size, f"seed {number}")}
        source = f"released components, with seed {number}: synthetic, none of them a record"
        return Dataset(points, self.space.required.kind, "synthetic", labels, source=source)

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
    region: Region | None = None,
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

    In a chart about the mean a record is a vector w with ‖w‖ ≤ 1.  Replacing one moves the mean of w·wᵀ by at most 2/n in the
    nuclear norm, so c·(Z₁Z₁ᵀ − Z₂Z₂ᵀ), Z p×(p + 1) standard normal and c = 1/(nε), makes it ε-private (Result 12); in up to
    four directions, or with a δ, ρ or μ, noise of density ∝ exp(−(nε/√2)·‖N‖) moves eigenvalues less, and is taken (proofs,
    the second moment).  All else is computed from the noisy matrix.

    ``points`` are the records of which ``mean`` was released, whose own ε comes beside this one, or others like them; with a
    region in the place of a mean, variation is about its public centre.  ``region`` is what was public before the mean, such
    as :meth:`Ellipsoid.from_sample`: its covariance is weighed with the released one, and fills in what was not released for
    :meth:`Components.sample`.  ``components`` is how many leading directions, ``modes`` how many public ones the second moment
    is taken in: unless given all of a ball, else up to eight that leave the noise of a variance (95%) below a fifth of the
    largest that is publicly expected.  All else is as in :func:`sfumato.private_mean`.

    >>> from sfumato import Euclidean, private_mean
    >>> points = np.random.default_rng(0).normal(size=(4000, 3)) * [0.6, 0.3, 0.1]
    >>> mean = private_mean(points, Ball(Euclidean(dim=3), [0.0, 0.0, 0.0], radius=2.0), epsilon=1.0)
    >>> found = private_components(points, mean, epsilon=1.0)
    >>> bool(abs(found.directions[0, 0]) > 0.9), found.significant[0], found.release.guarantee.epsilon
    (True, True, 1.0)
    >>> found.sample(500, seed=7).labels["synthetic"][:2].tolist()
    ['seed 7', 'seed 7']
    """
    promise = as_privacy(epsilon, privacy, "private_components").check(force)
    if isinstance(components, bool) or not isinstance(components, int | np.integer) or components < 1:
        raise ValueError(f"the number of components must be a whole number of at least 1, not {components!r}")
    known, moment = _about(mean, region)
    records, words = gather(known, as_data(points, known.space), unit, unit_name, invalid)
    if isinstance(mean, Release):
        check_units_of(mean, records.n, unit)
    plan, chart = _plan(known, moment, records.n, promise, int(components), modes, allow_useless)
    where = _where(plan, chart, moment)
    with paying(budget, plan.facts, {**plan.record.of(points).document(), "unit": words}) as payment:
        release = plan.release_of(Mapped(records, plan.space, partial(plan.products, chart)), words, data=points)
        return payment.note(Components(count=int(components), **where, release=about_mean(release, mean)))


def foreseen_components(region: Region, n: int, privacy: Privacy, count: int, modes: int | None) -> str:
    """Return what the noise would leave of the directions of n records in a region, in a sentence; a Refusal where nothing."""
    plan, chart = _plan(region, region.moment, n, privacy, count, modes, False)
    off = plan.scale.sigma * upper(spectra(tuple(chart.axes.tolist()), type(plan)), LEVEL)
    known = f"Variances in {len(chart.axes)} directions would be known to within {off:.2g} (95%)"
    return f"{known}; none is above {chart.radius**2:.2g}."


def _about(mean: Release | Region, region: Region | None) -> tuple[Region, Moment]:
    """Return the region about the released mean, and how records vary there; or as they are, if no mean was given."""
    if not isinstance(mean, Release):
        if region is not None:
            raise ValueError("the region goes with a released mean; without one, it is the second argument itself")
        known = check_region(mean, "the second argument is a released mean or")
        return known, known.moment
    space = mean.space.required
    chart = mean.chart
    if not mean.on_manifold:
        raise ValueError("the released mean is not a point of its space, so that there are no directions at it")
    known = Ball(space, mean.ball.center, mean.ball.radius) if region is None else check_region(region, "region is")
    if known.space != space:
        raise ValueError(f"the mean was released on {space}, and the region is one of {known.space}")
    if region is None and chart is not None and chart.basis is not None:
        known = Ellipsoid(space, mean.ball.center, chart.axes, chart.basis)
    moment = known.moment
    there = Ellipsoid(space, space.present(known.center), moment.deviations, moment.directions)
    there = there.moved(space.validate(mean.value[None])[0])
    return there, moment._replace(directions=there.basis)


def _plan(
    region: Region, moment: Moment, n: int, privacy: Privacy, count: int, modes: int | None, allow: bool
) -> tuple[SecondMoment, Ellipsoid]:
    """Return the plan of the second moment and its chart; a Refusal where no variance could stand out."""
    most = len(moment.deviations)
    if modes is not None and not (isinstance(modes, int | np.integer) and count <= modes <= most):
        raise ValueError(f"modes must be a whole number from {count} (the components) to {most}, not {modes!r}")
    if count > most:
        raise ValueError(f"there are {most} directions in this region, so not {count} components")

    def off(p: int, of: float | None = None) -> float:
        """Return the noise of a variance in so many directions, over the square of a length or of the longest axis."""
        axes = best_axes(moment.deviations[:p])
        return least_noise(axes, n, privacy, LEVEL)[0] / float(of or axes[0]) ** 2

    def largest(limit: float, high: int, of: float | None = None) -> int:
        """Return how many directions, up to so many, have noise below the limit: it grows with them."""
        return bisect_left(range(1, high + 1), True, key=lambda p: off(p, of) >= limit)

    first = float(moment.deviations[0])
    alike = first == moment.deviations[-1]  # as in a ball, of which no directions come first
    p = modes or (most if alike else max(count, largest(CLEAR, min(most, USUAL), first)))
    if p > MOST_MODES:
        known = (Fix("modes", MOST_MODES), " or less, and a region that says which come first. Nothing was spent")
        raise Refusal(f"a second moment is taken in {MOST_MODES} directions at most, and these are {p}: give ", *known)
    part = off(p)
    if 2 * part >= 1 and not allow:
        fewer = largest(0.5, p)
        less = (f", only {fewer} directions (", Fix("modes", fewer), ")") if fewer >= count else ()
        raise Refusal(
            f"the variances of {p} directions would be lost in the noise: it moves each by up to {part:.2g} times the "
            f"largest that records in the region can have (95%). What helps: {int(np.ceil(n * 2 * part)) + 1} records or "
            "as much more epsilon",
            *(*less, "; or ", Fix("allow_useless", True), ". Nothing was spent"),
        )
    axes = best_axes(moment.deviations[:p])
    chart = Ellipsoid(region.space, region.space.present(region.center), axes, moment.directions[:p])
    return least_noise(axes, n, privacy, LEVEL)[1].of(p, privacy).plan(n), chart


def _where(plan: SecondMoment, chart: Ellipsoid, moment: Moment) -> dict[str, Any]:
    """Return the public parts of the document.  The release has the weight λ = E₀/(E₀ + E) beside the covariance C₀ of a
    sample, E₀ and E being the mean squares of the Frobenius errors of both in the chart's directions."""
    where: dict[str, Any] = {"space": SpaceOf.of(chart.space), "center": chart.space.present(chart.center)}
    where |= {"axes": chart.axes, "basis": np.ascontiguousarray(chart.basis)}
    if np.isinf(moment.doubt):
        return where
    rows = np.ascontiguousarray(moment.deviations[:, None] * moment.directions)
    known = (rows @ chart.basis.T / chart.radius).T @ (rows @ chart.basis.T / chart.radius)
    off = moment.doubt * (np.trace(known) ** 2 + np.sum(known**2))
    draws = plan.scale.sigma * spectra(tuple(chart.axes.tolist()), type(plan)) / chart.radius**2
    noise = np.mean(np.sum(draws**2, axis=1))
    return {**where, "public": rows, "weight": float(np.clip(off / (off + noise), 1e-9, 1 - 1e-9))}
