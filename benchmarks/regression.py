"""``python -m benchmarks.regression``: whether the regression of Result 14 holds what it says, beside the published one.

Some 20 minutes on one core, a minute with ``--quick``; tables in Markdown.  Studies are made with a seeded generator.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from typing import NamedTuple
from unittest.mock import patch

from . import THREADS

os.environ.update(dict.fromkeys(THREADS, "1"))

import numpy as np

from sfumato.errors import Refusal
from sfumato.findings.regression import CHART, Line, Regression
from sfumato.laws.privacy import PureDP
from sfumato.numerics.arrays import Array, Points
from sfumato.regions import Ball, Ellipsoid
from sfumato.spaces import space_from
from sfumato.spaces.base import Space
from sfumato.studies.store import markdown_table
from sfumato.studies.synthetic import corpus_callosa

from .findings import PLACES, region
from .geodesic import Sets, kng

POOL = 20_000  # records of a population, all of it: its slope is known, and a study draws from it with replacement
SPREAD = 0.4  # root mean square distance of records from their mean, in sizes of the region
SIZES = (400, 2000)
EPSILONS = (0.5, 1.0, 4.0)
COVARIATES = ("uniform", "normal", "skewed")
SHARES = (0.0, 0.1, 0.4)  # of the variance that the covariate explains: R²
LIMITS = (0.0, 1.0)
MOST_REJECTED = 0.055  # cells above are run again, with
AGAIN = 8  # times the studies
OUTLINES = ((580, 60), (900, 60))  # n, and how many other outlines are public
EXPLAINED = (0.01, 0.02, 0.05, 0.1)


# -- populations and studies -------------------------------------------------------------------------------------------------
def covariates(kind: str, size: int, rng: np.random.Generator) -> Array:
    """Return covariates within the limits: filling them, normal with limits six standard deviations wide, or skewed."""
    if kind == "uniform":
        return rng.random(size)
    drawn = rng.normal(0.5, 1 / 6, size) if kind == "normal" else rng.gamma(2.0, 0.08, size)
    return np.clip(drawn, *LIMITS)


@dataclass(frozen=True, eq=False)
class Population:
    """All records: covariates, and points as the chart takes them."""

    z: Array
    w: Array

    def line(self, middle: float) -> tuple[Array, Array]:
        """Return the slope, as Result 14 defines it about this middle, and the mean at 0."""
        s = np.clip(8 * (self.z - middle), -1.0, 1.0)
        off = s - s.mean()
        slope = off @ self.w / max(float(off @ self.z), 1e-9)  # 0 where all are in one half
        return slope, self.w.mean(axis=0) - slope * self.z.mean()

    @property
    def values(self) -> tuple[float, float]:
        """Values of the covariate a standard deviation from its mean, within the limits."""
        low, high = np.clip(self.z.mean() + self.z.std() * np.array([-1.0, 1.0]), *LIMITS)
        return float(low), float(high)


@cache
def chart_of(place: str, n: int, epsilon: float) -> Ellipsoid:
    return region(place).settle(n, PureDP(epsilon).split(CHART)[0]).as_chart()


@lru_cache(maxsize=16)
def population(place: str, n: int, epsilon: float, kind: str, share: float) -> Population:
    """Return records about a line in the chart of a place, by way of the space; their mean is a tenth of its size off."""
    rng = np.random.default_rng([COVARIATES.index(kind), int(100 * share)])
    chart = chart_of(place, n, epsilon)
    p = len(chart.axes)
    z = covariates(kind, POOL, rng)
    w = rng.normal(size=(POOL, p)) * SPREAD * np.sqrt((1 - share) / p)
    w[:, 0] += SPREAD * np.sqrt(share) * (z - z.mean()) / z.std()
    w[:, -1] += 0.1
    return Population(z, chart.chart(chart.admit(chart.space.present(chart.point(w)))))


def plan(p: int, n: int, epsilon: float, public: bool) -> Line:
    """Return the plan of a regression by coordinates in a chart: for records that were taken there before."""
    chart = Ball(space_from("euclidean", {"dim": p}), np.zeros(p), 1.0).as_chart()
    return Line("z", LIMITS, public, False, chart, PureDP(epsilon), None, n)


class Study(NamedTuple):
    """What a study found: whether it rejected; where it was read on, whether its slope is known, and where it is, which of the
    slope and the means at two values are in their regions."""

    rejected: bool
    finite: bool | None = None
    held: tuple[bool, ...] = ()


def released(line: Line, points: Points, z: Array, rng: np.random.Generator) -> Regression:
    """Return a regression whose noise is that of a seeded generator."""
    with patch("sfumato.mechanisms.paying.secure_generator", lambda: rng):
        return line.run(points, z, "one record", "", rng)


def studied(line: Line, people: Population, studies: int, read: int, rng: np.random.Generator) -> list[Study]:
    """Return what so many studies find, the first of which are read for their regions too."""
    found = []
    for i in range(studies):
        chosen = rng.integers(len(people.z), size=line.n)
        one = released(line, people.w[chosen], people.z[chosen], rng)
        found.append(_read(one, people) if i < read else Study(one.changes))
    return found


def _read(one: Regression, people: Population) -> Study:
    if one.slope is None:
        return Study(one.changes, False)
    slope, start = people.line(one.middle)
    reaches = [one.region(), *(one.region(at=value) for value in people.values)]
    truths = [slope, *(start + slope * value for value in people.values)]
    off = [np.linalg.norm(reach.w - truth) / reach.chart_radius for reach, truth in zip(reaches, truths, strict=True)]
    return Study(one.changes, True, tuple(bool(ratio <= 1) for ratio in off))


def refused(line: Line) -> bool:
    """Return whether a slope is refused beforehand; a test alone never is, here."""
    try:
        line.check(None, False)
    except Refusal:
        return True
    return False


def _rejected(studies: Sequence[Study]) -> str:
    return f"{100 * np.mean([one.rejected for one in studies]):.1f}"


def _finite(studies: Sequence[Study]) -> str:
    """Return the percentage of known slopes, and of these that are in their regions."""
    finite = [one.finite for one in studies if one.finite is not None]
    return f"{100 * np.mean(finite):.0f}, {_covered(studies, 0)}" if finite else "refused"


def _means(studies: Sequence[Study]) -> str:
    return " ".join(_covered(studies, i) for i in (1, 2)) if any(one.held for one in studies) else "refused"


def _covered(studies: Sequence[Study], which: int) -> str:
    held = [one.held[which] for one in studies if one.held]
    return f"{100 * np.mean(held):.1f}" if held else "–"


# -- level and coverage ------------------------------------------------------------------------------------------------------
class Cell(NamedTuple):
    """A setting of the study of level and coverage."""

    place: str
    n: int
    epsilon: float
    covariate: str
    share: float
    public: bool

    def run(self, tests: int, regions: int, rng: np.random.Generator) -> list[Study]:
        """Return so many studies with a test where nothing changes, and so many with regions, where they are not refused."""
        people = population(*self[:5])
        line = plan(people.w.shape[1], self.n, self.epsilon, self.public)
        read = 0 if refused(line) else regions
        return studied(line, people, read if self.share else max(tests, read), read, rng)


@dataclass(frozen=True)
class Held:
    """The study of level and coverage: so many tests where nothing changes, and so many regions in each cell."""

    tests: int
    regions: int
    places: tuple[str, ...]
    sizes: tuple[int, ...]
    epsilons: tuple[float, ...]

    def run(self, rng: np.random.Generator) -> Iterator[str]:
        """Yield the tables."""
        every = product(self.places, self.sizes, self.epsilons, COVARIATES, SHARES, (False, True))
        cells = {cell: cell.run(self.tests, self.regions, rng) for cell in map(Cell._make, every)}
        nulls = {
            cell: float(np.mean([one.rejected for one in found])) for cell, found in cells.items() if not cell.share
        }
        high = [cell for cell, level in nulls.items() if level > MOST_REJECTED]
        again = [np.mean([one.rejected for one in cell.run(AGAIN * self.tests, 0, rng)]) for cell in high]
        yield f"## Test of no change: rejects where nothing changes, in % of {len(COVARIATES) * self.tests} studies"
        yield self._table({cell: cells[cell] for cell in nulls}, "place", _rejected)
        yield (
            f"{len(high)} of {len(nulls)} cells with {self.tests} studies came out above {MOST_REJECTED:.1%}; with "
            f"{AGAIN * self.tests} fresh studies each they reject {max(again, default=0.0):.1%} at most. "
            f"All together: {np.mean([*nulls.values()]):.1%}."
        )
        yield f"## Regions of the slope: % finite, and % of these that hold it; {self.regions} studies in each cell"
        for by in ("place", "covariate", "share"):
            yield self._table(cells, by, _finite)
        yield "## Regions of the mean a standard deviation below and above the middle: % that hold it, where the slope is known"
        yield self._table(cells, "place", _means)

    def _table(self, cells: dict[Cell, list[Study]], by: str, words: Callable[[list[Study]], str]) -> str:
        """Return cells pooled over all but n, ε, whether the covariate is public, and one other part of their names."""
        across = list(product(self.sizes, self.epsilons))
        pooled: dict[tuple[str, bool, int, float], list[Study]] = {}
        for cell, found in cells.items():
            name = f"R² = {cell.share}" if by == "share" else getattr(cell, by)
            pooled.setdefault((name, cell.public, cell.n, cell.epsilon), []).extend(found)
        body = [
            [name, "public" if public else "private", *(words(pooled[name, public, *setting]) for setting in across)]
            for name, public in dict.fromkeys(key[:2] for key in pooled)
        ]
        return markdown_table(["", "covariate", *(f"n = {n}, ε = {epsilon:g}" for n, epsilon in across)], body)


# -- hostile populations -----------------------------------------------------------------------------------------------------
def hostile(rng: np.random.Generator, size: int = 4 * POOL) -> dict[str, Population]:
    """Return populations on a line or in a plane that were looked for to break level or coverage."""
    normal = np.clip(rng.normal(0.5, 1 / 6, size), *LIMITS)
    noise = 0.3 * rng.normal(size=(size, 2)) / np.sqrt(2)
    rare = np.where(rng.random(size) < 0.01, 1.0, 0.0)
    half = np.where(rng.random(size) < 0.5, 1.0, 0.0)
    coin = np.where(rng.random(size) < 0.5, 1.0, -1.0)
    end = np.where(rng.random(size) < 0.2, 0.5, 0.125)  # distance from the middle
    first = np.array([1.0, 0.0])
    rising = np.outer(1.2 * (normal - 0.5), first)
    found = {
        "no change, doses 0 and 1, half of the records at each end": (half, coin[:, None]),
        "no change, all records alike and far from the centre": (normal, np.ones((size, 1))),
        "no change, 99% and 1% far from each other": (normal, np.outer(1.9 * rare - 0.9, first)),
        "no change, varies only where the dose is 1, for 1%": (rare, np.outer(rare * coin, first)),
        "no change, all at the upper limit": (1 - 0.02 * half, noise + 0.8 * first),
        "rising, varies ten times more at high values": (normal, rising + noise * (0.2 + 2 * normal)[:, None]),
        "rising, heavy tails": (normal, rising + noise * rng.standard_t(2, (size, 1))),
        "rising from end to end, without noise": (normal, 2 * normal[:, None] - 1),
        "rising, limits 12 standard deviations wide": (0.25 + normal / 2, rising + noise),
        "rising, limits 24 standard deviations wide": (0.375 + normal / 4, rising + noise),
        "a step": (normal, np.outer(np.where(normal < 0.5, -0.5, 0.5), first) + noise),
        "steep in the middle, turned back for the last 20%": (
            0.5 + coin * end,
            np.where(end < 0.5, coin, -coin)[:, None],
        ),
    }
    return {
        name: Population(z, w / np.maximum(1, np.linalg.norm(w, axis=1, keepdims=True)))
        for name, (z, w) in found.items()
    }


def besieged(studies: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield what hostile populations do."""
    many = AGAIN * studies
    words = f"{studies} studies ({many} tests where nothing changes)"
    yield f"## Hostile populations: % rejected; % of slopes known, % of these in their region; {words}"
    settings = [(400, 1.0, False), (400, 4.0, True), (2000, 4.0, False)]
    header = ["", *(f"n = {n}, ε = {e:g}, {'public' if public else 'private'}" for n, e, public in settings)]
    body = []
    for name, people in hostile(np.random.default_rng(3)).items():
        row = [name]
        for n, epsilon, public in settings:
            tests = many if name.startswith("no change") else studies
            found = studied(plan(people.w.shape[1], n, epsilon, public), people, tests, studies, rng)
            row.append(f"{_rejected(found)}; {_finite(found)}")
        body.append(row)
    yield markdown_table(header, body)


# -- beside the published mechanism --------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Beside:
    """Our regression, the published one and least squares on the same data sets: a geodesic, and noise about it."""

    space: Space
    radius: float
    sets: int
    n: int = 400
    share: float = 0.4

    def data(self, kind: str, rng: np.random.Generator) -> tuple[Sets, tuple[Points, Points]]:
        """Return data sets, their covariates over half the width of the limits, and the footpoint and vector behind them."""
        space = self.space
        center = space.origin()
        shift = 0.1 * self.radius * np.eye(1, space.dim, space.dim - 1)
        p = space.exp(center, space.from_coordinates(center, shift))[0]
        x = 2 * covariates(kind, self.sets * self.n, rng) - 1
        length = SPREAD * self.radius * np.sqrt(self.share) / x.std()
        v = space.from_coordinates(p, length * np.eye(1, space.dim))[0]
        predicted = space.exp(p, x.reshape(-1, *[1] * v.ndim) * v)
        noise = SPREAD * self.radius * np.sqrt((1 - self.share) / space.dim) * rng.normal(size=(len(x), space.dim))
        made = [
            space.exp(at, space.from_coordinates(at, one[None]))[0] for at, one in zip(predicted, noise, strict=True)
        ]
        ball = Ball(space, space.present(center), self.radius)
        points = ball.admit(space.present(np.stack(made)))
        return Sets(ball, x.reshape(self.sets, self.n), space.validate(points)), (p, v)

    def run(self, kind: str, epsilon: float, rng: np.random.Generator) -> list[str]:
        """Return the mean errors of each: of the slope over the slope, and of the mean at two values over the region's size."""
        sets, (p, v) = self.data(kind, rng)
        ends = self._ends(p[None], v[None], sets)[:, 0]
        fit = sets.fitted()
        residuals = self.space.norm(np.repeat(fit[0], self.n, axis=0), sets.residuals(*fit))
        found = [
            self._ours(sets, epsilon, rng),
            self._ends(*kng(sets, epsilon, 2 * self.radius, True, rng), sets),
            self._ends(*kng(sets, epsilon, residuals.reshape(sets.x.shape).max(axis=1), False, rng), sets),
            self._ends(*fit, sets),
        ]
        return [self._words(each, ends, sets) for each in found]

    def _values(self, sets: Sets) -> tuple[float, float]:
        return float(sets.x.mean() - sets.x.std()), float(sets.x.mean() + sets.x.std())

    def _ends(self, p: Points, v: Points, sets: Sets) -> Points:
        return np.stack([self.space.exp(p, x * v) for x in self._values(sets)])

    def _ours(self, sets: Sets, epsilon: float, rng: np.random.Generator) -> Points:
        """Return our means at two values for each set; none is refused or too noisy in these settings."""
        found = []
        line = Line("x", (-1.0, 1.0), False, False, sets.ball.as_chart(), PureDP(epsilon), None, self.n)
        for x, y in zip(sets.x, sets.y.reshape(*sets.x.shape, *sets.y.shape[1:]), strict=True):
            one = released(line, y, x, rng)
            found.append([self.space.validate(one.at(value)[None])[0] for value in self._values(sets)])
        return np.stack(found, axis=1)

    def _words(self, found: Points, ends: Points, sets: Sets) -> str:
        space = self.space
        center = sets.ball.center
        low, high = (space.coordinates(center, space.log(center, each)) for each in found)
        first, last = (space.coordinates(center, space.log(center, each[None])) for each in ends)
        slope = np.linalg.norm(high - low - last + first, axis=1) / np.linalg.norm(last - first)
        off = [space.distance(true, each) / self.radius for true, each in zip(ends, found, strict=True)]
        return f"{np.mean(slope):.2f}; {np.mean(off[0]):.2f}, {np.mean(off[1]):.2f}"


def compared(sets: int, quick: bool, rng: np.random.Generator) -> Iterator[str]:
    """Yield the table of our regression beside the published one."""
    yield (
        f"## Beside KNG geodesic regression (Kulkarni and Soto 2025): n = 400, R² = 0.4, private covariates, {sets} data sets. "
        "Mean error of the slope, over the slope; of the mean at two values, over the radius of the public ball"
    )
    places = {"S²": ("sphere", {"dim": 2}, 0.6), "SPD(2)": ("spd", {"size": 2}, 1.0)}
    places["shapes, k = 10"] = ("shapes", {"landmarks": 10}, 0.15)
    body = []
    settings = (("uniform", 1.0), ("normal", 1.0), ("normal", 4.0))
    for (place, (name, how, radius)), (kind, epsilon) in product([*places.items()][: 1 if quick else 3], settings):
        beside = Beside(space_from(name, how), radius, sets)
        body.append([place, kind, f"{epsilon:g}", *beside.run(kind, epsilon, rng)])
    others = ["KNG, public τ, σ = 2Δ/ε", "KNG, τ from the data, σ = Δ/ε (not private)", "not private"]
    yield markdown_table(["", "covariate", "ε", "ours", *others], body)


# -- power -------------------------------------------------------------------------------------------------------------------
def powers(studies: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield how often a change of made-up outlines is found, and how far the slope is off."""
    words = "% rejected (error of the slope in the chart, over the slope)"
    yield f"## Power on made-up outlines, k = 50, at ε = 1: {words}; {studies} studies"
    space = space_from("shapes", {"landmarks": 50})
    center = space.validate(corpus_callosa(1, 50, rng=np.random.default_rng(7)))[0]
    body = []
    for n, known in OUTLINES:
        row = [str(n), str(known)]
        for share in EXPLAINED:
            found = []
            for _ in range(studies):
                z = np.clip(rng.normal(0.5, 1 / 6, n + known), *LIMITS)
                t = space.coordinates(center, space.log(center, space.validate(corpus_callosa(n + known, 50, rng=rng))))
                t -= t.mean(axis=0)
                mode = np.linalg.svd(t[:known], full_matrices=False)[2][:4].sum(axis=0) / 2
                total = np.sum(t**2) / len(t)
                t = np.sqrt(1 - share) * t + np.sqrt(share * total) * np.outer((z - z.mean()) / z.std(), mode)
                points = space.present(space.exp(center, space.from_coordinates(center, t)))
                found.append(_found(space, points, z, n, rng))
            rejected, off = np.array(found).T
            row.append(f"{100 * np.mean(rejected):.0f} ({np.nanmedian(off):.2f})")
        body.append(row)
    yield markdown_table(["n", "public outlines", *(f"R² = {share:g}" for share in EXPLAINED)], body)


def _found(space: Space, points: Array, z: Array, n: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return whether a study rejects, and the relative error of its slope; the last points are the public ones."""
    chart = Ellipsoid.from_sample(space, points[n:], relation="same").settle(n, PureDP(1.0).split(CHART)[0]).as_chart()
    people = Population(z[:n], chart.chart(chart.admit(points[:n])))
    line = plan(len(chart.axes), n, 1.0, False)
    one = released(line, people.w, people.z, rng)
    slope, _ = people.line(one.middle)
    off = np.nan if one.chart_slope is None else np.linalg.norm(chart.axes * (one.chart_slope - slope))
    return float(one.changes), float(off / np.linalg.norm(chart.axes * slope))


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regression", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer cells and studies: a minute")
    parser.add_argument("--only", choices=("held", "hostile", "beside", "power"), help="one part of it")
    parser.add_argument("--seed", type=int, default=0, help="seed of data and draws")
    given = parser.parse_args(words)
    quick = given.quick
    held = Held(20, 4, PLACES[:1], SIZES[:1], EPSILONS) if quick else Held(400, 60, PLACES, SIZES, EPSILONS)
    parts: dict[str, Callable[[np.random.Generator], Iterator[str]]] = {
        "held": held.run,
        "hostile": lambda rng: besieged(8 if quick else 400, rng),
        "beside": lambda rng: compared(4 if quick else 10, quick, rng),
        "power": lambda rng: powers(3 if quick else 100, rng),
    }
    for i, (name, part) in enumerate(parts.items()):
        if given.only in (None, name):
            for words_of_it in part(np.random.default_rng([given.seed, i])):
                print(words_of_it, end="\n\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
