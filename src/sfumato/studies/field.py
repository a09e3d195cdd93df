"""``sfumato reproduce field``: the tables of other papers in their own settings, ours beside theirs at the same guarantee."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from ..laws.privacy import GDP, ApproxDP, Privacy, PureDP
from ..means.frechet import solve
from ..mechanisms import ManifoldLaplace
from ..mechanisms.choice import choose
from ..numerics.arrays import Array, Points
from ..records import Records
from ..regions.ball import Ball
from ..spaces import GLOBE, space_from
from ..spaces.spd import from_triangle
from ..views.figures import LINES, TEXT, figure, plain
from .curves import sphere_curves, wishart
from .store import Compute, Row, Store, mark_ticks, markdown_table, save_figure, summary

DRAWS = 20  # of each data set
SET = 1000  # replicates for which there is one data set
HEADING = """# The field's tables, measured

Ours are values of releases, as `sf.private_mean` makes them for the same promise; means ± two standard errors. †: it refuses \
unless told otherwise, as the error would be as large as the region."""


class Case(NamedTuple):
    """Records in their public ball, their Fréchet mean, what is promised about them, and a source of random numbers."""

    ball: Ball
    records: Records
    mean: Points
    privacy: Privacy
    rng: np.random.Generator


Draws = Callable[[Case], Points]


# -- the mechanisms --------------------------------------------------------------------------------------------------------
def released(case: Case, mechanism: str = "auto", privacy: Privacy | None = None, raw: bool = False) -> Points:
    """Return values of releases, or the raw draws that they are made of."""
    plan = choose(case.ball, case.records.n, privacy or case.privacy, mechanism)
    drawn = [plan.draw(case.records, case.rng) for _ in range(DRAWS)]
    return case.ball.space.validate(np.stack([one.raw if raw else one.value for one in drawn]))


def wrapped(case: Case) -> Points:
    """Return exp(log x̄ + σg) at the public centre, g standard normal, σ = 2r/(nμ) (Jiang and others 2026)."""
    space = case.ball.space
    at = case.ball.center
    sigma = 2 * case.ball.radius / (case.records.n * case.privacy.numbers[0])
    center = space.coordinates(at, space.log(at, case.mean[None]))
    return space.exp(at, space.from_coordinates(at, center + sigma * case.rng.standard_normal((DRAWS, space.dim))))


def gaussian(case: Case) -> Points:
    """Return normal noise on S² with σ = Δ/μ, Δ the move of the mean as printed (Jiang and others 2023)."""
    sigma = ManifoldLaplace(case.ball, case.privacy.numbers[0], "theorem").at(case.records.n).scale.sigma
    return gaussian_noise(case.mean, sigma, DRAWS, case.rng)


def gaussian_noise(center: Points, sigma: float, size: int, rng: np.random.Generator) -> Points:
    """Return draws of density ∝ exp(−ρ²/2σ²) on S², their distances ρ by the inverse of a fine cumulative sum."""
    grid = np.linspace(0.0, min(np.pi, 12 * sigma), 20_001)
    law = np.cumsum(np.sin(grid) * np.exp(-((grid / sigma) ** 2) / 2))
    distances = np.interp(rng.random(size), law / law[-1], grid)
    return GLOBE.exp(center, distances[:, None] * GLOBE.random_directions(center, size, rng))


def descent(case: Case, mu: float) -> Points:
    """Return where n noisy steps down the gradient end, from random starts (Han and others 2024, DP-RiemOpt).

    With σ = 2/(μ√n) in each step all of them together are μ-Gaussian differentially private for records up to 2 apart.
    """
    space = case.ball.space
    n = case.records.n
    turn = np.linalg.qr(case.rng.standard_normal((DRAWS, 2, 2)))[0]
    at: Points = turn * (1 + case.rng.random((DRAWS, 1, 2))) @ turn.mT
    for _ in range(n):
        frame = np.linalg.cholesky(at)
        noise = frame @ from_triangle(2 / (mu * np.sqrt(n)) * case.rng.standard_normal((DRAWS, 3)), 2) @ frame.mT
        at = space.exp(at, 0.01 * (space.mean_log(at, case.records.points) + noise))
    return at


# -- the tables ------------------------------------------------------------------------------------------------------------
class Setting(NamedTuple):
    """A public ball, how data in it are made, and what was published about it, by its name and by n or μ."""

    name: str
    ball: Ball
    data: Callable[[int, np.random.Generator], Points]
    published: dict[str, dict[float, float]]


@dataclass(frozen=True)
class Section:
    """Settings of one paper, for some n and promises, and what is measured in them: distances to the mean of the records; or
    the excess ``risk``, by which the mean square of the distances to the records exceeds its least value."""

    name: str
    paper: str
    along: str
    grid: Sequence[tuple[int, Privacy]]
    curves: dict[str, Draws]
    settings: Sequence[Setting]
    risk: bool = False

    def cells(self, replicates: int) -> dict[str, Compute]:
        """Return what computes each cell, by its name."""
        return {
            f"{setting.name}/{n}/{privacy}": partial(self._rows, setting, n, privacy, max(2, replicates // SET))
            for setting, (n, privacy) in product(self.settings, self.grid)
        }

    def _rows(self, setting: Setting, n: int, privacy: Privacy, sets: int, rng: np.random.Generator) -> list[Row]:
        """Return the mean error of each curve, all of them on the same data sets."""
        space = setting.ball.space
        errors: dict[str, list[Array]] = {label: [] for label in self.curves}
        for _ in range(sets):
            records = Records(space, setting.data(n, rng))
            case = Case(setting.ball, records, solve(records).point, privacy, rng)
            for label, draws in self.curves.items():
                errors[label].append(self._error(case, draws(case)))
        about = ("excess risk" if self.risk else "distance", n, privacy.numbers[0], space.dim)
        found = {label: np.stack(arrays) for label, arrays in errors.items()}
        return [Row(setting.name, str(privacy), by, *about, *summary(array), array.size) for by, array in found.items()]

    def _error(self, case: Case, points: Points) -> Array:
        space = case.ball.space
        if not self.risk:
            return space.distance(case.mean, points)
        squares = [float(np.mean(space.distance(at, case.records.points) ** 2)) for at in (case.mean, *points)]
        return np.asarray(squares[1:]) - squares[0]

    def _at(self, row: Row) -> float:
        return row.n if self.along == "n" else row.epsilon

    def draw(self, store: Store) -> None:
        columns = min(3, len(self.settings))
        chart = figure(max(6.4, 3.2 * columns), 1.6 + 2.6 * len(self.settings) / columns)
        panels = chart.subplots(len(self.settings) // columns, columns, squeeze=False).ravel()
        looks = [*LINES[: len(self.curves) - 1], LINES[-1]]
        for axes, setting in zip(panels, self.settings, strict=True):
            for label, (colour, style) in zip(self.curves, looks, strict=True):
                rows = sorted(store.select(study=setting.name, mechanism=label), key=self._at)
                at = [self._at(row) for row in rows]
                axes.plot(at, [row.mean for row in rows], ls=style, color=colour, label=label)
            for (label, points), mark in zip(setting.published.items(), "os", strict=False):
                axes.plot([*points], [*points.values()], mark, color="black", mfc="white", ms=7, label=label)
            axes.set(xscale="log", xlabel=self.along, title=setting.name)
            axes.set_yscale("log", subs=(2, 5))
            axes.yaxis.set(major_formatter="{x:g}", minor_formatter="{x:g}")
            mark_ticks(axes, at)
            plain(axes)
            axes.tick_params(which="both", colors=TEXT, labelsize=9)
        panels[0].set_ylabel("excess risk" if self.risk else "mean distance to the Fréchet mean")
        chart.legend(
            *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=9, frameon=False
        )
        save_figure(chart, store.folder, self.name)

    def report(self, store: Store) -> str:
        """Return the figure, and a table of what was published and what was measured."""
        told = list(self.settings[0].published)
        body = []
        for setting, (n, privacy) in product(self.settings, self.grid):
            rows = store.select(study=setting.name, n=n, calibration=str(privacy))
            at = self._at(rows[0])
            numbers = [setting.published.get(label, {}).get(at) for label in told]
            cells = ["" if x is None else f"{x:.3f}" for x in numbers] + [row.words(False) for row in rows]
            cells[len(told)] += " †" if choose(setting.ball, n, privacy).useless else ""
            body.append([setting.name, f"{at:g}", *cells])
        table = markdown_table(["", self.along, *told, *self.curves], body)
        return "\n\n".join([f"## {self.paper}", f"![Errors of {self.paper}, and ours]({self.name}.png)", table])


def sections() -> list[Section]:
    """Return the tables, one for each paper."""
    sphere = sphere_curves(quick=True)
    narrow, wide = (Ball(space_from("spd", {"size": 2}), np.eye(2), radius) for radius in (1.0, 1.5))
    promise = ApproxDP(0.1, 1e-3)
    weak = 2 * promise.epsilon / np.sqrt(-np.log(promise.delta))  # μ of σ² = log(1/δ)/(nε²), as published
    kept = ApproxDP(promise.epsilon, round(GDP(weak).profile(promise.epsilon), 5))
    enough = brentq(lambda mu: GDP(mu).profile(promise.epsilon) - promise.delta, weak / 2, weak)
    ours: dict[str, Draws] = {"sfumato": released, "sfumato, chart": partial(released, mechanism="tangent")}
    centre: dict[str, Draws] = {"public centre": lambda case: case.ball.center[None]}
    by_descent: dict[str, Draws] = {
        "DP-RiemOpt, enough noise": partial(descent, mu=enough),
        f"sfumato, chart, δ = {kept.delta:g}": partial(released, mechanism="tangent", privacy=kept),
        "DP-RiemOpt, its noise": partial(descent, mu=weak),
    }
    unshrunk = partial(released, mechanism="tangent", raw=True)
    by_wrapping: dict[str, Draws] = {"wrapped Gaussian": wrapped, "sfumato, chart, not shrunk": unshrunk}
    wrapping = []
    for metric, size in product(("log-euclidean", "log-cholesky", "affine"), (2, 4, 5)):
        space = space_from("spd" if metric == "affine" else metric, {"size": size})
        ball = Ball(space, np.eye(size), 1.5)
        told = {"published": {1.0: {2: 0.120, 4: 0.231, 5: 0.286}[size]}} if metric != "affine" else {}
        data = partial(ball.space.random_points, ball.center, ball.radius)
        wrapping.append(Setting(f"{metric}, d = {ball.space.dim}", ball, data, told))
    means = {"their Gaussian, published": {1.118: 0.153}, "their Laplace, published": {1.118: 0.285}}
    risks = {"DP-RiemOpt, published": {100.0: 0.148, 200.0: 0.057, 300.0: 0.038}}
    lengths = {"their Laplace, published": {25.0: 0.737, 100.0: 0.177, 500.0: 0.036}}
    return [
        Section("sphere", "Jiang and others 2023", "μ", [(10, GDP(mu)) for mu in (0.25, 0.5, 1.118, 2.0, 4.0)],
                ours | {"their Gaussian": gaussian} | centre, [Setting("S²", sphere.ball, sphere.data, means)]),
        Section("descent", "Han and others 2024", "n", [(n, promise) for n in (20, 50, 100, 200, 300)],
                ours | by_descent | centre, [Setting("SPD(2), r = 1", narrow, partial(wishart, narrow), risks)], risk=True),
        Section("wrapped", "Jiang and others 2026", "μ", [(40, GDP(mu)) for mu in (0.1, 0.5, 1.0, 2.0)],
                ours | by_wrapping | centre, wrapping),
        Section("laplace", "Reimherr and others 2021", "n", [(n, PureDP(1.0)) for n in (25, 50, 100, 200, 500)],
                ours | centre, [Setting("SPD(2), r = 1.5", wide, partial(wishart, wide), lengths)]),
    ]  # fmt: skip
