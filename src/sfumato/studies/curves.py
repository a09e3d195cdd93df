"""Figure 1 of the paper: error against sample size, on the sphere (left) and on SPD matrices (right)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..means.frechet import solve
from ..mechanisms import KNG, AmbientLaplace, ManifoldLaplace, Mechanism
from ..numerics.arrays import Points
from ..records import Records
from ..regions.ball import Ball
from ..spaces import space_from
from ..views.figures import figure
from .store import Row, Store, mark_ticks, markdown_table, save_figure, summary

DRAWS = 400  # draws for each data set; a run of N replicates uses N/400 data sets


@dataclass(frozen=True)
class Curves:
    """One panel: a public ball in a space, how data are generated, the sample sizes, and the distance."""

    name: str
    title: str
    ball: Ball
    sizes: tuple[int, ...]
    data: Callable[[int, np.random.Generator], Points]
    projected: bool = False  # whether the ambient Laplace is also shown mapped back to the manifold
    indefinite: bool = False  # whether its matrices that are not positive definite are counted
    epsilon: float = 1.0

    def mechanisms(self) -> list[tuple[str, str, Mechanism]]:
        """(calibration, label, mechanism) of every curve."""
        ball, epsilon = self.ball, self.epsilon
        curves: list[tuple[str, str, Mechanism]] = [
            ("as run", "KNG", KNG(ball, epsilon, "as run")),
            ("as run", "manifold Laplace", ManifoldLaplace(ball, epsilon, "as run")),
            ("as run", "Euclidean Laplace", AmbientLaplace(ball, epsilon, "as run")),
            ("as proven", "KNG", KNG(ball, epsilon)),
            ("as proven", "manifold Laplace", ManifoldLaplace(ball, epsilon)),
            ("as proven", "Euclidean Laplace", AmbientLaplace(ball, epsilon)),
            ("theorem", "KNG", KNG(ball, epsilon, "theorem")),
            ("theorem", "manifold Laplace", ManifoldLaplace(ball, epsilon, "theorem")),
        ]
        if self.projected:
            curves.append(("as run", "Euclidean, projected", AmbientLaplace(ball, epsilon, "as run", project=True)))
            curves.append(("as proven", "Euclidean, projected", AmbientLaplace(ball, epsilon, project=True)))
        return curves

    def cells(self) -> int:
        return len(self.sizes) * len(self.mechanisms())

    def run(self, store: Store, replicates: int) -> None:
        for n in self.sizes:
            for calibration, label, mechanism in self.mechanisms():
                name = f"{self.name}/{calibration}/{label}/{n}"
                store.cell(name, partial(self._cell, n, calibration, label, mechanism, replicates))

    def _cell(
        self, n: int, calibration: str, label: str, mechanism: Mechanism, replicates: int, rng: np.random.Generator
    ) -> list[Row]:
        space, ambient = self.ball.space, self.ball.space.embedding()
        assert ambient is not None
        own, frechet, indefinite = [], [], []
        for _ in range(max(1, replicates // DRAWS)):
            points = self.data(n, rng)
            mean = ambient.embed(space.present(solve(Records(space, points)).point))
            statistic = mean
            if isinstance(mechanism, AmbientLaplace) and calibration != "as run":
                statistic = ambient.embed(mechanism.statistic.present(mechanism.statistic.of(Records(space, points))))
            draws = mechanism.sample(space.present(points), DRAWS, rng)
            embedded = ambient.embed(draws)
            own.append(np.linalg.norm(embedded - statistic, axis=1))
            frechet.append(np.linalg.norm(embedded - mean, axis=1))
            if self.indefinite and isinstance(mechanism, AmbientLaplace):
                indefinite.append(np.linalg.eigvalsh(draws)[:, 0] <= 0)
        quantities = {"distance to its own statistic": own, "distance to the Fréchet mean": frechet}
        if indefinite:
            quantities["share not positive definite"] = indefinite
        rows = []
        for quantity, values in quantities.items():
            array = np.asarray(values, dtype=np.float64)
            where = (n, self.epsilon, space.dim)
            rows.append(Row(self.name, calibration, label, quantity, *where, *summary(array), array.size))
        return rows

    # -- what a person sees ---------------------------------------------------------------------------------------------
    def draw(self, store: Store) -> None:
        chart = figure(11, 4.4)
        panels = chart.subplots(1, 2, sharey=True)
        for axes, calibration in zip(panels, ("as run", "as proven"), strict=True):
            for label in COLOURS:
                self._curve(axes, store, calibration, label, "-")
            if calibration == "as proven":
                for label in ("KNG", "manifold Laplace"):
                    self._curve(axes, store, "theorem", label, ":")
                axes.plot([], [], color="grey", ls=":", label="at the paper's theorem scale")
            axes.set(xscale="log", yscale="log", xlabel="records n")
            mark_ticks(axes, [n for n in (10, 20, 50, 100, 200, 500) if self.sizes[0] <= n <= self.sizes[-1]])
            axes.set_title("as the paper ran it" if calibration == "as run" else "as proven")
            axes.legend(fontsize=8, frameon=False)
        panels[0].set_ylabel("mean distance to the statistic privatised")
        chart.suptitle(self.title)
        save_figure(chart, store.folder, f"figure1_{self.name}")

    def _curve(self, axes: Any, store: Store, calibration: str, label: str, style: str) -> None:
        if rows := self.select(store, calibration, label, "distance to its own statistic"):
            n, mean, error = (np.array([getattr(r, f) for r in rows]) for f in ("n", "mean", "standard_error"))
            colour = COLOURS[label]
            axes.plot(n, mean, style, color=colour, lw=1.4, label=label if style == "-" else None)
            axes.fill_between(n, mean - 2 * error, mean + 2 * error, color=colour, alpha=0.2, lw=0)

    def select(self, store: Store, calibration: str, label: str, quantity: str) -> list[Row]:
        wanted = (self.name, calibration, label, quantity)
        rows = [r for r in store.rows if (r.study, r.calibration, r.mechanism, r.quantity) == wanted]
        return sorted(rows, key=lambda r: r.n)

    def report(self, store: Store) -> str:
        """Tables of error·n, which is constant where the error falls like 1/n (ε is 1)."""
        parts = [f"## {self.title}", f"![{self.title}](figure1_{self.name}.png)"]
        quantities = ["distance to its own statistic", "distance to the Fréchet mean", "share not positive definite"]
        for quantity in quantities:
            body = []
            for calibration in ("as run", "as proven", "theorem"):
                for label in COLOURS:
                    rows = self.select(store, calibration, label, quantity)
                    if not rows:
                        continue
                    if quantity.startswith("share"):
                        cells = [f"{r.mean:.3f}" for r in rows]
                    else:
                        cells = [f"{r.mean * r.n:.3f} ± {2 * r.standard_error * r.n:.3f}" for r in rows]
                    body.append([calibration, label, *cells])
            if body:
                what = quantity if quantity.startswith("share") else f"{quantity}, times n (± 2 SE)"
                parts.append(f"**{what[0].upper()}{what[1:]}**")
                parts.append(markdown_table(["scale", "mechanism", *[f"n = {n}" for n in self.sizes]], body))
        return "\n\n".join(parts)


COLOURS = {
    "KNG": "#6b3f1d",
    "manifold Laplace": "#2f6f8f",
    "Euclidean, projected": "#7a9a3a",
    "Euclidean Laplace": "#b5533c",
}


def sphere_curves(quick: bool) -> Curves:
    """S², r = π/8, data uniform in polar angle and radius about the north pole."""
    space, radius = space_from("sphere", {"dim": 2}), np.pi / 8

    def data(n: int, rng: np.random.Generator) -> Points:
        theta, phi = radius * rng.random(n), 2 * np.pi * rng.random(n)
        return np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=1)

    sizes = (10, 50, 100, 500) if quick else (10, 20, 35, 50, 75, 100, 150, 200, 300, 500)
    ball = Ball(space, [0.0, 0.0, 1.0], radius)
    return Curves("sphere", "Sphere S², r = π/8, ε = 1", ball, sizes, data, projected=True)


def spd_curves(quick: bool) -> Curves:
    """SPD(2), r = 1.5 about the identity, Wishart(I/2, 2) matrices kept within the ball."""
    space, radius = space_from("spd", {"size": 2}), 1.5

    def data(n: int, rng: np.random.Generator) -> Points:
        kept: list[Points] = []
        count = 0
        while count < n:
            factor = rng.normal(0, np.sqrt(0.5), (4 * n + 16, 2, 2))
            matrices = factor @ factor.transpose(0, 2, 1)
            matrices = matrices[np.linalg.eigvalsh(matrices)[:, 0] > 1e-6]  # far outside the ball, and hard on Cholesky
            inside = matrices[space.distance(np.eye(2), matrices) <= radius]
            kept.append(inside)
            count += len(inside)
        return np.concatenate(kept)[:n]

    sizes = (20, 50, 200) if quick else (20, 35, 50, 75, 100, 150, 200, 300, 500)
    ball = Ball(space, np.eye(2), radius)
    return Curves("spd", "SPD(2), r = 1.5, ε = 1, distance of vech", ball, sizes, data, indefinite=True)
