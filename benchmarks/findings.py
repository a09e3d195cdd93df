"""Whether findings hold what they say: how often regions cover, how often tests reject, what an unknown ball costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import fdtr

from sfumato.laws.calibration.population import omnibus, precisions, sum_quantile, variance_bound
from sfumato.means.frechet import frechet_mean
from sfumato.mechanisms import choose
from sfumato.mechanisms.base import radial_noise
from sfumato.mechanisms.inference import SHARE
from sfumato.mechanisms.stages import Composition
from sfumato.numerics.arrays import Array, blocks
from sfumato.records import Records
from sfumato.regions import Ball, Ellipsoid, Region
from sfumato.spaces import space_from
from sfumato.spaces.base import Space
from sfumato.studies.store import Compute, Row, Store, mark_ticks, markdown_table, save_figure, summary
from sfumato.studies.synthetic import corpus_callosa, corpus_callosum_template
from sfumato.views.figures import QUIET, SHARP, SOFT, figure, plain, shared_legend

LEVEL, SPREAD, MODES, PUBLIC = 0.95, 0.4, 10, 50
POOL = 10_000  # records of a population, all of it: its mean is known, and a study draws from it with replacement
AT_ONCE = 4_000_000  # numbers of simulated records held at a time
SIZES, EPSILONS = (50, 200, 1000), (0.5, 1.0, 4.0)
SHAPES, OUTLINES = "shapes, k = 10", "outlines, k = 50"
PLACES = ("S²", "SPD(3)", SHAPES, OUTLINES)
POPULATIONS = ("isotropic", "decaying", "on a line", "two clusters", "5% outliers", "callosa")
LEVELS = ("isotropic", "on a line", "two clusters")  # populations that tests of equal means are tried on
MANY = 15  # groups that are compared at once
APART = (0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.45, 0.65)  # of two means, in sizes of the region
UNKNOWN = {"S²": 0.3, "SPD(3)": 0.5, SHAPES: 0.1}  # true radii; priors are four times as wide
DRAWS, KINDS, FOUND = 10, ("filling the ball", "any radius alike", "normal"), (1000, 5000)
COLOURS = {0.5: SOFT, 1.0: "#b5533c", 4.0: SHARP}


# -- populations, and studies of them ---------------------------------------------------------------------------------------
@lru_cache
def region(place: str) -> Region:
    """What is public: a ball, or for outlines with 50 landmarks ten modes of a public sample."""
    if place == OUTLINES:
        public = corpus_callosa(PUBLIC, 50, rng=np.random.default_rng(1))
        return Ellipsoid.from_sample(_space(place), public, relation="same", modes=MODES)
    space, radius = _space(place), {"S²": 0.6, "SPD(3)": 1.0, SHAPES: 0.15}[place]
    return Ball(space, corpus_callosum_template(10) if place == SHAPES else space.present(space.origin()), radius)


def _space(place: str) -> Space:
    known: dict[str, tuple[str, dict[str, Any]]] = {"S²": ("sphere", {"dim": 2}), "SPD(3)": ("spd", {"size": 3})}
    return space_from(*known.get(place, ("shapes", {"landmarks": 50 if place == OUTLINES else 10})))


def plan_of(place: str, n: int, epsilon: float) -> Composition:
    plan = choose(region(place), n, epsilon, "tangent", check=0, inference=SHARE)
    assert isinstance(plan, Composition)
    return plan


def wanted(name: str, size: int, p: int, rng: np.random.Generator, shift: float = 0.0) -> Array:
    """A population in a chart in which the region is the unit ball, before clipping; its mean moved along the first axis."""
    scales = {"on a line": np.eye(1, p)[0], "isotropic": np.ones(p)}.get(name, 1 / np.arange(1.0, p + 1))
    w = rng.normal(size=(size, p)) * SPREAD * scales / np.linalg.norm(scales)
    if name == "two clusters":  # a small one far off: as skew as the region allows
        w *= 0.1
        w[:, 0] += np.where(rng.random(size) < 0.1, 0.8, -0.1)
    elif name == "5% outliers":
        w[:, 0] += np.where(rng.random(size) < 0.05, 3.0, 0.0)
    else:
        w[:, -1] += 0.1 * (name != "on a line")
    w[:, 0] += shift
    return np.asarray(w)


@lru_cache(maxsize=32)
def rows_of(chart: Ellipsoid, name: str, shift: float = 0.0) -> Array:
    """All records of a population as the chart takes them, by way of the space; the same ones whenever they are asked for."""
    rng = np.random.default_rng([POPULATIONS.index(name), int(1000 * abs(shift)), shift > 0])
    if name == "callosa":
        points = corpus_callosa(POOL, len(chart.space.present(chart.center)), rng=rng)
    else:
        points = chart.space.present(chart.point(wanted(name, POOL, len(chart.axes), rng, shift)))
    return chart.chart(chart.admit(points))


@lru_cache(maxsize=32)
def place_of_mean(chart: Ellipsoid, name: str) -> Array:
    """Where the Fréchet mean of the clipped population is in the chart."""
    space, clipped = chart.space, chart.point(rows_of(chart, name))
    mean = space.validate(frechet_mean(space, space.present(clipped)).point[None])
    found = space.coordinates(chart.center, space.log(chart.center, mean)) @ chart.basis.T / chart.axes
    return np.asarray(found[0])


def released(plan: Composition, rows: Array, studies: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """w̃ and V of so many studies, each with n records from the population and the plan's own noise and lattice."""
    base, n, p = plan.chart, plan.n, rows.shape[1]
    squares, means, moments = np.sum(rows * rows, axis=1), np.empty((studies, p)), np.empty(studies)
    for part in blocks(studies, n * p, AT_ONCE):
        chosen = rng.integers(len(rows), size=(len(range(studies)[part]), n))
        means[part], moments[part] = rows[chosen].mean(axis=1), squares[chosen].mean(axis=1)
    scale, sigma, epsilon = float(plan.width) / n, base.scale.sigma, plan.facts.epsilon
    w = np.rint((means + radial_noise(p, base.scale.sigma, studies, rng)) / base.spacing) * base.spacing
    moments += rng.laplace(scale=scale, size=studies)
    found = zip(moments.tolist(), np.linalg.norm(w, axis=1).tolist(), strict=True)
    return w, np.array([variance_bound(LEVEL, n, epsilon, p, sigma, m, scale, length) for m, length in found])


@lru_cache
def _table(p: int, groups: int, level: float) -> Callable[[Array], Array]:
    """log q against log(1 + variance), for noise of scale 1."""
    variances = np.concatenate([[0.0], np.geomspace(0.1, 1e4, 14)])
    lengths = [sum_quantile(level, p, [1.0] * groups, variance) for variance in variances]
    spline: Callable[[Array], Array] = CubicSpline(np.log1p(variances), np.log(lengths))
    return spline


def quantiles(plan: Composition, variance: Array, groups: int, level: float = LEVEL) -> Array:
    """What regions and tests compare lengths with: the quantile, and half a cell of the lattice for each group."""
    base, p = plan.chart, len(plan.chart.chart.axes)
    sigma, cells = base.scale.sigma, groups * base.spacing / 2 * np.sqrt(p)
    return np.asarray(sigma * np.exp(_table(p, groups, level)(np.log1p(variance / sigma**2))) + cells)


def covered(plan: Composition, rows: Array, truths: list[Array], studies: int, rng: np.random.Generator) -> Array:
    """Which studies have each of these points in their region: (points, studies)."""
    w, variance = released(plan, rows, studies, rng)
    q = quantiles(plan, variance / plan.n, 1)
    return np.stack([np.linalg.norm(w - truth, axis=1) <= q for truth in truths])


def rejected(plan: Composition, first: Array, second: Array, studies: int, rng: np.random.Generator) -> Array:
    """Which studies of two groups reject equal means."""
    (a, v), (b, u) = (released(plan, rows, studies, rng) for rows in (first, second))
    return np.asarray(np.linalg.norm(a - b, axis=1) > quantiles(plan, (v + u) / plan.n, 2))


def of_many(
    plan: Composition, rows: Sequence[Array], studies: int, rng: np.random.Generator, tests: int | None = None
) -> tuple[Array, Array]:
    """Which studies of one group from each population reject equal means: of one pair or more, as Holm's correction for so many
    tests has it (all pairs unless given); and of all groups at once.

    The p-value of all groups is computed for one study after another, the largest Q first, until it is above the level for 25.
    """
    base, p, many = plan.chart, rows[0].shape[1], len(rows)
    drawn = [released(plan, each, studies, rng) for each in rows]
    w, v = np.stack([w for w, _ in drawn], axis=1), np.stack([v for _, v in drawn], axis=1) / plan.n
    i, j = np.triu_indices(many, 1)
    limits = quantiles(plan, v[:, i] + v[:, j], 2, 1 - (1 - LEVEL) / (tests or len(i)))
    pairs = (np.linalg.norm(w[:, i] - w[:, j], axis=2) > limits).any(axis=1)
    sigmas, cells = np.full(many, base.scale.sigma), np.full(many, base.spacing / 2 * np.sqrt(p))
    c = precisions(p, sigmas, v)
    middle = np.einsum("sg,sgp->sp", c / c.sum(axis=1, keepdims=True), w)
    q = np.einsum("sg,sgp->s", c, (w - middle[:, None]) ** 2)
    every, missed = np.zeros(studies, dtype=bool), 0
    for study in np.argsort(-q):
        every[study] = omnibus(w[study], sigmas, v[study], cells) <= 1 - LEVEL
        missed = 0 if every[study] else missed + 1
        if missed > 25:
            break
    return pairs, every


def hotelling(n: int, first: Array, second: Array, studies: int, rng: np.random.Generator) -> Array:
    """Which studies reject by Hotelling's test of two groups of n, at the same level and without privacy."""
    p, found = first.shape[1], []
    for part in blocks(studies, 2 * n * p, AT_ONCE):
        size = len(range(studies)[part])
        a, b = (rows[rng.integers(len(rows), size=(size, n))] for rows in (first, second))
        apart, spread = a.mean(axis=1) - b.mean(axis=1), np.zeros((size, p, p))
        for group in (a, b):
            off = group - group.mean(axis=1, keepdims=True)
            spread += np.matmul(off.transpose(0, 2, 1), off) / (2 * n - 2)
        square = n / 2 * np.einsum("si,si->s", apart, np.linalg.solve(spread, apart[..., None])[..., 0])
        found.append(fdtr(p, 2 * n - 1 - p, square * (2 * n - 1 - p) / (p * (2 * n - 2))) > LEVEL)
    return np.concatenate(found)


def ball_errors(place: str, n: int, kind: str, repeats: int, rng: np.random.Generator) -> dict[str, Array]:
    """Distances to the Fréchet mean: with the true ball known; by the one call, from a prior four times as wide whose centre
    is off by 2.5 true radii; and in that prior."""
    space, radius = _space(place), UNKNOWN[place]
    center, dim = space.origin(), space.dim
    moved = space.exp(center, space.from_coordinates(center, 2.5 * radius * np.eye(1, dim)[0]))
    prior, true = Ball(space, space.present(moved), 4 * radius), Ball(space, space.present(center), radius)
    asked = {"true ball": (true, "auto", None), "one call": (prior, "auto", "ball"), "prior": (prior, "tangent", None)}
    plans = {
        name: choose(known, n, 1.0, how, find=find)  # type: ignore[arg-type]
        for name, (known, how, find) in asked.items()
    }
    found: dict[str, list[Array]] = {name: [] for name in asked}
    for _ in range(repeats):
        t = rng.normal(size=(n, dim)) * 0.45 / np.sqrt(dim)
        if kind == "normal":
            t /= np.maximum(1, np.linalg.norm(t, axis=1, keepdims=True))
        else:
            t *= rng.random((n, 1)) ** (1 / dim if kind == KINDS[0] else 1) / np.linalg.norm(t, axis=1, keepdims=True)
        points = space.present(space.exp(center, space.from_coordinates(center, radius * t)))
        mean = space.validate(frechet_mean(space, points).point[None])
        for name, plan in plans.items():
            records = Records(space, plan.region.admit(points))
            drawn = np.stack([plan.draw(records, rng).value for _ in range(DRAWS)])
            found[name].append(space.distance(mean[0], space.validate(drawn)))
    return {name: np.array(values) for name, values in found.items()}


# -- the study -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Findings:
    """The study; a quick one has fewer populations and sizes."""

    quick: bool = False

    @property
    def sizes(self) -> tuple[int, ...]:
        return SIZES[:2] if self.quick else SIZES

    @property
    def epsilons(self) -> tuple[float, ...]:
        return EPSILONS[1:2] if self.quick else EPSILONS

    @property
    def places(self) -> tuple[str, ...]:
        return PLACES[::3] if self.quick else PLACES

    def grid(self) -> Iterator[tuple[str, str]]:
        for place in self.places:
            names = POPULATIONS[2:5:2] if self.quick else POPULATIONS
            yield from ((place, name) for name in names if name != "callosa" or place in (SHAPES, OUTLINES))

    def unknown(self) -> list[tuple[str, int, str]]:
        if self.quick:
            return [("S²", 1000, KINDS[0])]
        return [(place, n, kind) for n in FOUND for place in UNKNOWN for kind in KINDS]

    def cells(self, replicates: int) -> dict[str, Compute]:
        """Return what computes each cell, by its name."""
        cells: dict[str, Compute] = {}
        for n in self.sizes:
            for place, name in self.grid():
                cells[f"coverage/{place}/{name}/{n}"] = partial(self._coverage, place, name, n, replicates // 20)
            for place in self.places:
                cells[f"level/{place}/{n}"] = partial(self._level, place, n, replicates // 4)
                cells[f"many/{place}/{n}"] = partial(self._many, place, n, max(20, replicates // 40))
                cells[f"power/{place}/{n}"] = partial(self._power, place, n, max(20, replicates // 80))
        for place, n, kind in self.unknown():
            repeats = max(4, replicates // 1000)
            cells[f"unknown/{place}/{n}/{kind}"] = partial(self._unknown, place, n, kind, repeats)
        return cells

    def _coverage(self, place: str, name: str, n: int, studies: int, rng: np.random.Generator) -> list[Row]:
        made = []
        for epsilon in self.epsilons:
            plan = plan_of(place, n, epsilon)
            chart = plan.chart.chart
            rows = rows_of(chart, name)
            found = covered(plan, rows, [rows.mean(axis=0), place_of_mean(chart, name)], studies, rng)
            for quantity, hits in zip(("covers the mean", "covers the Fréchet mean"), found, strict=True):
                made.append(_row(place, name, quantity, n, epsilon, chart, hits))
        return made

    def _level(self, place: str, n: int, studies: int, rng: np.random.Generator) -> list[Row]:
        made = []
        for epsilon in self.epsilons:
            plan = plan_of(place, n, epsilon)
            for name in LEVELS:
                rows = rows_of(plan.chart.chart, name)
                found = rejected(plan, rows, rows, studies, rng)
                made.append(_row(place, name, "rejects equal means", n, epsilon, plan.chart.chart, found))
        return made

    def _many(self, place: str, n: int, studies: int, rng: np.random.Generator) -> list[Row]:
        made = []
        for epsilon in self.epsilons:
            plan = plan_of(place, n, epsilon)
            for name in LEVELS:
                found = of_many(plan, [rows_of(plan.chart.chart, name)] * MANY, studies, rng)
                for what, hits in zip(("rejects a pair of many", "rejects all of many"), found, strict=True):
                    made.append(_row(place, name, what, n, epsilon, plan.chart.chart, hits))
        return made

    def _power(self, place: str, n: int, studies: int, rng: np.random.Generator) -> list[Row]:
        made = []
        for epsilon in self.epsilons:
            plan = plan_of(place, n, epsilon)
            chart = plan.chart.chart
            for shift in APART:
                first, second = (rows_of(chart, "isotropic", end) for end in (-shift / 2, shift / 2))
                what = f"rejects means {shift:g} apart"
                found = rejected(plan, first, second, studies, rng)
                made.append(_row(place, "isotropic", what, n, epsilon, chart, found))
                if epsilon == self.epsilons[-1]:
                    found = hotelling(n, first, second, studies, rng)
                    made.append(_row(place, "isotropic, Hotelling", what, n, np.inf, chart, found))
        return made

    def _unknown(self, place: str, n: int, kind: str, repeats: int, rng: np.random.Generator) -> list[Row]:
        found, dim = ball_errors(place, n, kind, repeats, rng), _space(place).dim
        told = ("distance to the Fréchet mean", n, 1.0, dim)
        rows = {name: (*told, *summary(errors), repeats * DRAWS) for name, errors in found.items()}
        return [Row("findings", f"{place}, {kind}", name, *numbers) for name, numbers in rows.items()]

    # -- what a person sees ----------------------------------------------------------------------------------------------
    def draw(self, store: Store) -> None:
        chart, n = figure(3.4 * len(self.places), 4.0), 200
        panels: Any = chart.subplots(1, len(self.places), sharey=True)
        for axes, place in zip(panels, self.places, strict=True):
            for epsilon in (np.inf, *self.epsilons):
                style = {"color": COLOURS.get(epsilon, QUIET), "ls": "--" if np.isinf(epsilon) else "-"}
                label = "Hotelling's test, not private" if np.isinf(epsilon) else f"ε = {epsilon:g}"
                axes.plot(APART, _power(store, place, n, epsilon), "o", ms=3, label=label, **style)
            axes.set(xscale="log", title=place, ylim=(-0.02, 1.02))
            mark_ticks(axes, APART[::2])
            plain(axes)
        chart.supxlabel("distance of the means, in sizes of the region", color=QUIET, fontsize=10)
        panels[0].set_ylabel(f"share of studies that reject, n = {n} a group")
        shared_legend(chart)
        save_figure(chart, store.folder, "findings")

    def report(self, store: Store) -> str:
        across = [(n, epsilon) for n in self.sizes for epsilon in self.epsilons]
        header = ["", "population", *(f"n = {n}, ε = {epsilon:g}" for n, epsilon in across)]
        many = next(row.replicates for row in store.rows if row.quantity == "covers the mean")
        few = next(row.replicates for row in store.rows if row.quantity == "rejects equal means")
        parts = [
            f"## Regions at {LEVEL:.0%}: how many of {many} studies have the population's mean in them, in percent"
        ]
        for words, quantity in (
            ("The mean in the chart, of the clipped population", "covers the mean"),
            (
                "Its Fréchet mean, whose distance from that is the bias that a region states apart",
                "covers the Fréchet mean",
            ),
        ):
            body = [[*cell, *(_share(store, *cell, quantity, *where) for where in across)] for cell in self.grid()]
            parts += [f"{words}:", markdown_table(header, body)]
        body = [
            [place, name, *(_share(store, place, name, "rejects equal means", *where) for where in across)]
            for place in self.places
            for name in LEVELS
        ]
        parts += [f"## The test of equal means: its level at a nominal 5%, in percent of {few} studies with n a group"]
        parts += [markdown_table(header, body), "![power against distance](findings.png)"]
        some = next(row.replicates for row in store.rows if row.quantity == "rejects a pair of many")
        parts += [f"## {MANY} groups of the same population: in percent of {some} studies with n a group"]
        for words, quantity in (
            ("One pair or more is said to differ, corrected for all pairs (Holm)", "rejects a pair of many"),
            ("Equal means of all groups are rejected", "rejects all of many"),
        ):
            body = [
                [place, name, *(_share(store, place, name, quantity, *where) for where in across)]
                for place in self.places
                for name in LEVELS
            ]
            parts += [f"{words}:", markdown_table(header, body)]
        parts += ["Distance of the means, in sizes of the region, at which four studies in five reject:"]
        ways = [*(f"ε = {epsilon:g}" for epsilon in self.epsilons), "Hotelling, not private"]
        body = [
            [place, str(n), *(_reached(_power(store, place, n, epsilon)) for epsilon in (*self.epsilons, np.inf))]
            for place in self.places
            for n in self.sizes
        ]
        parts += [markdown_table(["", "n a group", *ways], body)]
        parts += ["## Unknown balls: errors over that with the true ball known, ε = 1", self._balls(store)]
        return "\n\n".join(parts)

    def _balls(self, store: Store) -> str:
        body = []
        for place, n, kind in self.unknown():
            found = {row.mechanism: row for row in store.rows if (row.calibration, row.n) == (f"{place}, {kind}", n)}
            one, true, prior = (found[name] for name in ("one call", "true ball", "prior"))
            ratio, error = (
                one.mean / true.mean,
                np.hypot(one.standard_error / one.mean, true.standard_error / true.mean),
            )
            told = [f"{true.mean:.4f}", f"{ratio:.2f} ± {ratio * error:.2f}", f"{prior.mean / true.mean:.2f}"]
            body.append([place, str(n), kind, *told])
        return markdown_table(["", "n", "records", "true ball", "one call, over it", "prior alone, over it"], body)


def _row(place: str, name: str, quantity: str, n: int, epsilon: float, chart: Ellipsoid, hits: Array) -> Row:
    share, many = float(np.mean(hits)), hits.size
    numbers = (n, float(epsilon), len(chart.axes), share, float(np.sqrt(share * (1 - share) / many)), many)
    return Row("findings", place, name, quantity, *numbers)


def _share(store: Store, place: str, name: str, quantity: str, n: int, epsilon: float) -> str:
    key = ("findings", place, name, quantity, n, epsilon)
    found = [
        row
        for row in store.rows
        if (row.study, row.calibration, row.mechanism, row.quantity, row.n, row.epsilon) == key
    ]
    return f"{100 * found[0].mean:.1f}"


def _power(store: Store, place: str, n: int, epsilon: float) -> list[float]:
    """The power at each distance; that of Hotelling's test at an infinite ε."""
    names = {f"rejects means {shift:g} apart": shift for shift in APART}
    return [
        r.mean for r in store.rows if r.quantity in names and (r.calibration, r.n, r.epsilon) == (place, n, epsilon)
    ]


def _reached(power: list[float], wanted: float = 0.8) -> str:
    """The distance at which a rising power comes to four fifths, between those that were tried."""
    above = [i for i, value in enumerate(power) if value >= wanted]
    if not above:
        return f"above {APART[-1]:g}"
    i = above[0]
    if i == 0:
        return f"below {APART[0]:g}"
    share = (wanted - power[i - 1]) / (power[i] - power[i - 1])
    return f"{APART[i - 1] + share * (APART[i] - APART[i - 1]):.2f}"
