"""Theorem 3, measured: how the squared error of KNG falls with n and ε and grows with the dimension."""

from functools import partial

import numpy as np

from ..means.frechet import solve
from ..mechanisms import KNG
from ..records import Records
from ..regions.ball import Ball
from ..spaces import space_from
from ..views.figures import figure
from .store import Compute, Row, Store, mark_ticks, markdown_table, save_figure, summary

RADIUS = 0.2
N = 2000
EPSILON = 1.0
DIM = 4
GRIDS: dict[str, tuple[float, ...]] = {
    "n": (500, 1000, 2000, 4000, 8000),
    "ε": (0.25, 0.5, 1.0, 2.0, 4.0),
    "d": (6, 12, 24, 48),
}
QUANTITIES = {"n": "squared distance by n", "ε": "squared distance by ε", "d": "squared distance by d"}
FIELDS = {"n": "n", "ε": "epsilon", "d": "dim"}  # of a row
EXPECTED = {"n": -2.0, "ε": -2.0, "d": 2.0}


def cells(replicates: int) -> dict[str, Compute]:
    """Return what computes each cell, by its name."""
    return {
        f"rates/{variable}/{value:g}": partial(_cell, variable, value, replicates)
        for variable, grid in GRIDS.items()
        for value in grid
    }


def _cell(variable: str, value: float, replicates: int, rng: np.random.Generator) -> list[Row]:
    n = int(value) if variable == "n" else N
    epsilon = value if variable == "ε" else EPSILON
    dim = int(value) if variable == "d" else DIM
    space = space_from("sphere", {"dim": dim})
    kng = KNG(Ball(space, space.origin(), RADIUS), epsilon)
    squares = []
    for _ in range(max(2, replicates // 4000)):
        points = space.random_points(space.origin(), RADIUS, n, rng)
        mean = solve(Records(space, points)).point
        squares.append(space.distance(mean, kng.sample(points, 500, rng)) ** 2)
    array = np.asarray(squares)
    return [Row("rates", "as proven", "KNG", QUANTITIES[variable], n, epsilon, dim, *summary(array), array.size)]


def slopes(store: Store) -> dict[str, tuple[float, list[Row]]]:
    """Return the least-squares slope of log E ρ² in each variable, and the rows behind it."""
    fitted = {}
    for variable, attribute in FIELDS.items():
        rows = store.select(study="rates", quantity=QUANTITIES[variable])
        rows.sort(key=lambda r: float(getattr(r, attribute)))
        x, y = (np.log([float(getattr(r, a)) for r in rows]) for a in (attribute, "mean"))
        fitted[variable] = (float(np.polyfit(x, y, 1)[0]), rows)
    return fitted


def draw(store: Store) -> None:
    chart = figure(11, 3.6)
    panels = chart.subplots(1, 3)
    for axes, (variable, (slope, rows)) in zip(panels, slopes(store).items(), strict=True):
        attribute = FIELDS[variable]
        axes.loglog([getattr(r, attribute) for r in rows], [r.mean for r in rows], "o-", color="#6b3f1d")
        mark_ticks(axes, [getattr(r, attribute) for r in rows])
        axes.set(xlabel=variable, title=f"slope {slope:+.3f} (Theorem 3: {EXPECTED[variable]:+.0f})")
    panels[0].set_ylabel("mean squared distance")
    save_figure(chart, store.folder, "rates")


def report(store: Store) -> str:
    body = [[v, f"{slope:+.3f}", f"{EXPECTED[v]:+.0f}"] for v, (slope, _) in slopes(store).items()]
    settings = f"Certified KNG on S^{DIM}, r = {RADIUS}, n = {N}, ε = {EPSILON:g}, one varied at a time."
    table = markdown_table(["variable", "slope of log E ρ²", "Theorem 3"], body)
    return "\n\n".join(["## Rates", settings, "![rates](rates.png)", table])
