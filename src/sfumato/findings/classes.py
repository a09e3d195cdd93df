"""Means of classes for telling them apart: the directions in which they differ, and where they lie along these."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert

from ..errors import Fix, Refusal
from ..laws.noise import Noise
from ..laws.privacy import Facts, Privacy, as_privacy
from ..laws.sampling.discrete import exponential_choice
from ..mechanisms.paying import Budget, paying
from ..mechanisms.tangent import TangentKNorm
from ..numerics.arrays import Array, Points
from ..records import Records
from ..records.units import number_units
from ..regions import Ball, Ellipsoid, Region
from ..regions.base import INSIDE
from ..regions.ellipsoid import point_or_center, shorten
from ..regions.units import reduce_to_units
from ..release import Guarantee, Release
from ..release.document import Document
from ..release.record import SpaceOf
from ..release.terms import Named, Neighbours
from ..spaces import space_from

DIRECTIONS = 0.72  # the share of ε for the contrasts of the classes
MIDDLE = 0.2  # the share for their middle; the rest is for how far they are apart
CELLS = 30  # of the grid of middles, on each side of the centre
BEND = 4.0  # how much finer that grid is near the centre
RATIO = 1.15  # of neighbouring distances of classes in their grid
SIZES = 33  # how many such distances there are
# the noise of the contrasts above which little is left of what the classes tell: seen in simulations of weak classes
NOISE_OF_ALL = 1.0  # where each unit has records of all classes
NOISE_OF_ONE = 0.4  # where each unit has records of one, so that most of its direction is its own


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassMeans(Document):
    """Private means of classes, as far as they differ: in all other directions they lie at the public centre."""

    classes: list[Any]  # in the order of the means
    middle: list[float]  # where the middle of the classes lies along the contrasts: private medians
    size: float  # how long the contrasts are: a private median
    guarantee: Guarantee  # what is promised of all of it together
    space: SpaceOf
    center: Array
    axes: Array
    basis: Array
    directions: Release  # the noisy mean of the contrasts of the classes in the chart, each unit's at length 1

    format: ClassVar[str] = "sfumato class means 1"
    noun: ClassVar[str] = "record of class means"

    @property
    def tangents(self) -> Array:
        """(K, d): the means as tangent vectors at the public centre."""
        k = len(self.classes)
        unit, along = _contrasts(self.directions.raw, k, self.axes)
        radius = float(self.axes.max())
        apart = self.size * helmert(k).T @ unit
        longest = float(np.linalg.norm(apart, axis=1).max())
        middle = shorten(np.array(self.middle) @ along, radius)
        room = max(0.0, radius - float(np.linalg.norm(middle)))
        # all in the region, as far apart as fits there; contrasts of length 0, if that is what was released, stay so
        fits = room / longest if longest > room else 1.0
        return np.asarray((middle + fits * apart) @ self.basis)

    @cached_property
    def means(self) -> Array:
        """(K, …): the means as points of the space."""
        return self.means_in(self.space.required)

    def means_in(self, space: Any) -> Array:
        """Return the means as points of a space that need not be a registered one."""
        at = space.validate(self.center[None])[0]
        return np.stack([point_or_center(space, at, tangent) for tangent in self.tangents])

    def check(self) -> None:
        if self.directions.raw.size != (len(self.classes) - 1) * len(self.axes):
            raise ValueError(f"{self.directions.raw.size} numbers are not contrasts of {len(self.classes)} classes")


def _contrasts(raw: Array, k: int, axes: Array) -> tuple[Array, Array]:
    """Return the released contrasts as tangent vectors, (k − 1, p), of length 1 in all; and directions that span them."""
    vectors = raw.reshape(k - 1, -1) * axes
    unit = vectors / max(float(np.linalg.norm(vectors)), 1e-300)
    return unit, np.linalg.svd(unit, full_matrices=False)[2]


def private_median(values: Array, edges: Array, epsilon: float, rng: np.random.Generator) -> float:
    """Return the middle of the cell of a public grid that holds the median, by the exponential mechanism, exactly.

    The loss of a cell is by how many ranks, times two, it misses the median; replacing a value moves it by at most 2.

    >>> edges = np.linspace(0.0, 1.0, 11)
    >>> round(private_median(np.full(1000, 0.42), edges, 1.0, np.random.default_rng(0)), 6)
    0.45
    """
    inside = np.clip(values, edges[0], np.nextafter(edges[-1], -np.inf))
    below = np.searchsorted(np.sort(inside), edges)  # the last is n
    losses = np.maximum(0, np.maximum(2 * below[:-1] - len(values), len(values) - 2 * below[1:]))
    j = exponential_choice(losses.tolist(), len(values), epsilon / 4, rng)
    return float((edges[j] + edges[j + 1]) / 2)


@dataclass(frozen=True, eq=False)
class Design:
    """Who has records of which class, which is public; and the chart's vectors of each unit's means, (n, K, p), or of each
    unit's one mean, (n, 1, p), where ``of`` is its class."""

    vectors: Array
    of: NDArray[np.intp] | None
    k: int

    @classmethod
    def make(
        cls, chart: Ellipsoid, points: Array, kind: NDArray[np.intp], unit: Any, admit: Callable[[Array], Points]
    ) -> Self:
        k = int(kind.max()) + 1
        person = np.arange(len(points)) if isinstance(unit, str) else number_units(unit, len(points))
        has = np.zeros((int(person.max()) + 1, k), dtype=bool)
        has[person, kind] = True
        one = bool((has.sum(axis=1) == 1).all())
        if not (one or has.all()):
            raise Refusal(
                "some units have records of several classes but not of all: leave out those without records of some class, or "
                "those with records of several. Nothing was spent"
            )
        reduced = admit(points) if isinstance(unit, str) else reduce_to_units(chart, points, person * k + kind, admit)
        vectors = chart.chart(reduced).reshape(len(has), 1 if one else k, -1)
        return cls(vectors, has.argmax(axis=1) if one else None, k)

    @property
    def n(self) -> int:
        """How many units there are."""
        return len(self.vectors)

    @property
    def sizes(self) -> list[int]:
        """Units that have records of each class."""
        return [self.n] * self.k if self.of is None else np.bincount(self.of, minlength=self.k).tolist()

    @property
    def rows(self) -> Array:
        """What each unit says of the contrasts, (n, (K − 1)·p), no longer than 1: its own contrasts at length 1; or the
        direction of its mean from the centre, in the contrasts of its class, less in larger classes."""
        h = helmert(self.k)
        if self.of is None:
            return _unit_rows(np.einsum("jk,nkp->njp", h, self.vectors).reshape(self.n, -1))
        sizes = np.array(self.sizes)
        weight = (h * (sizes.min() / sizes) * np.sqrt(self.k / (self.k - 1))).T[self.of]
        each = _unit_rows(self.vectors[:, 0])
        return np.asarray(np.einsum("nj,np->njp", weight, each).reshape(self.n, -1))


def _unit_rows(rows: Array) -> Array:
    """Return rows at a length of nearly 1; 0 where a row has none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        units = rows * (INSIDE / np.sqrt(np.sum(rows * rows, axis=1, keepdims=True)))
    return np.where(np.isfinite(units).all(axis=1, keepdims=True), units, 0.0)


def private_class_means(
    points: Array,
    kind: NDArray[np.intp],
    classes: Sequence[Any],
    region: Region,
    epsilon: float | Privacy,
    unit: Any,
    words: str,
    *,
    invalid: str = "raise",
    budget: Budget | None = None,
    allow_useless: bool = False,
) -> ClassMeans:
    """Release means of classes, as far as they differ; ``kind`` says for each record which class it is of.

    72% of ε go into the contrasts of the classes, of which each unit gives the direction alone, so that no bound on
    their size is needed; the rest into medians along these directions, which a wide region hardly costs anything.
    """
    privacy = as_privacy(epsilon).check()
    medians, rest = privacy.aside(1 - DIRECTIONS)
    try:
        json.dumps([*classes], ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError):
        raise ValueError(f"classes must be text or whole numbers, not {classes[0]!r}") from None
    count = len(points) if isinstance(unit, str) else len(np.unique(number_units(unit, len(points))))
    shape = region.settle(count, rest).as_chart()
    design = Design.make(shape, points, kind, unit, partial(region.admit, invalid=invalid))
    plan = _plan(design, len(shape.axes), privacy, allow_useless)
    about = {"statistic": "means of classes (as far as they differ)", "unit": words, "groups": design.sizes}
    facts = Facts.of(privacy, [*plan.parts, (Noise(float(medians)),)], plan.chance)
    with paying(budget, facts, {**plan.record.document(), **about}) as payment:
        release = plan.release_of(Records(plan.space, design.rows), words)
        middle, size = _medians(design, shape.axes, release.raw, float(medians), payment.rng)
        losses = {**vars(plan.losses), "neighbours": Neighbours.CLASSES, "private": release.guarantee.private}
        guarantee = Guarantee.of(facts, words, **losses)
        means = ClassMeans(
            classes=[*classes],
            middle=middle,
            size=size,
            guarantee=guarantee,
            space=SpaceOf.of(shape.space),
            center=shape.space.present(shape.center),
            axes=shape.axes,
            basis=shape.basis,
            directions=release,
        )
        return payment.note(means)


def _plan(design: Design, p: int, privacy: Privacy, allow: bool) -> TangentKNorm:
    """Return the plan of the contrasts, or raise a Refusal if classes would be told apart no better than by chance."""
    flat = space_from("euclidean", {"dim": (design.k - 1) * p})
    named = Named("mean contrast of classes, of each unit at length 1", "length in the chart")

    def planned(whole: Privacy, n: int = design.n) -> TangentKNorm:
        rest = whole.aside(1 - DIRECTIONS)[1]
        return TangentKNorm(Ball(flat, np.zeros(flat.dim), 1.0), rest, statistic=named).plan(n)

    plan = planned(privacy)
    most = NOISE_OF_ALL if design.of is None else NOISE_OF_ONE
    if plan.noise_95 >= most and not allow:
        larger = (privacy.sized(float(f"{privacy.numbers[0] * 1.1**step:.2g}")) for step in range(1, 200))
        enough = next((one.size_words for one in larger if planned(one).noise_95 < most), "a much larger epsilon")
        raise Refusal(
            f"classes would be told apart hardly better than by chance: {design.n} units in {flat.dim} directions have noise "
            f"of up to {plan.noise_95:.2g} (95%), where each unit counts as 1, and more than {most:g} hides the classes. What "
            f"helps: {int(np.ceil(design.n * plan.noise_95 / most)) + 1} units, {enough}, or a region with fewer directions, "
            "such as Ellipsoid.from_sample of public records; or ",
            Fix("allow_useless", True),
            ". Nothing was spent",
        )
    return plan


def _medians(
    design: Design, axes: Array, raw: Array, epsilon: float, rng: np.random.Generator
) -> tuple[list[float], float]:
    """Return the middle of the classes along the contrasts, and how long these are, by the ε that is for both."""
    longest = float(axes.max())
    h = helmert(design.k)
    unit, along = _contrasts(raw, design.k, axes)
    tangents = design.vectors * axes
    edges = longest * np.sinh(BEND * np.arange(-CELLS, CELLS + 1) / CELLS) / np.sinh(BEND)
    if design.of is None:
        each = MIDDLE / (1 - DIRECTIONS) * epsilon / len(along)
        middle = [private_median(column, edges, each, rng) for column in (tangents.mean(axis=1) @ along.T).T]
        lengths = np.einsum("jk,nkp,jp->n", h, tangents, unit)
        sizes = np.append(0.0, longest * RATIO ** np.arange(-SIZES, 1.0))
        return middle, private_median(lengths, sizes, (1 - MIDDLE / (1 - DIRECTIONS)) * epsilon, rng)
    each = epsilon / len(along)  # of each class, as a unit is in one
    own = [tangents[design.of == c, 0] @ along.T for c in range(design.k)]
    middles = np.array([[private_median(column, edges, each, rng) for column in places.T] for places in own])
    length = float(np.sum((h @ middles) * (unit @ along.T)))
    return middles.mean(axis=0).tolist(), max(length, longest * RATIO**-SIZES)
