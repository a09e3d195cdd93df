"""Figure 1 of the paper: error against sample size, on the sphere (left) and on SPD matrices (right)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..laws.calibration import Calibration
from ..means.frechet import solve
from ..mechanisms import KNG, AmbientLaplace, ManifoldLaplace
from ..numerics.arrays import Points
from ..records import Records
from ..regions.ball import Ball
from ..spaces import space_from
from ..views.figures import figure
from .store import Compute, Row, Store, Variant, mark_ticks, markdown_table, save_figure, summary

DRAWS = 400  # draws for each data set; a run of N replicates uses N/400 data sets
SCALES: dict[str, Calibration] = {"as run": "as run", "as proven": "certified", "theorem": "theorem"}
KINDS = {"KNG": KNG, "manifold Laplace": ManifoldLaplace, "Euclidean Laplace": AmbientLaplace}
OWN = "distance to its own statistic"
FRECHET = "distance to the Fréchet mean"
INDEFINITE = "share not positive definite"


@dataclass(frozen=True)
class Curves:
    """A panel: a public ball in a space, how data are generated, and the sample sizes."""

    name: str
    title: str
    ball: Ball
    sizes: tuple[int, ...]
    data: Callable[[int, np.random.Generator], Points]
    projected: bool = False  # whether the ambient Laplace is also shown mapped back to the manifold
    indefinite: bool = False  # whether its matrices that are not positive definite are counted
    epsilon: float = 1.0

    def variants(self) -> list[Variant]:
        """Return the mechanism of every curve."""
        curves = [
            Variant(words, label, kind(self.ball, self.epsilon, scale))
            for words, scale in SCALES.items()
            for label, kind in KINDS.items()
            if scale != "theorem" or kind is not AmbientLaplace
        ]
        for words in ("as run", "as proven") if self.projected else ():
            projected = AmbientLaplace(self.ball, self.epsilon, SCALES[words], project=True)
            curves.append(Variant(words, "Euclidean, projected", projected))
        return curves

    def cells(self, replicates: int) -> dict[str, Compute]:
        """Return what computes each cell, by its name."""
        return {
            f"{self.name}/{variant.calibration}/{variant.label}/{n}": partial(self._cell, n, variant, replicates)
            for n in self.sizes
            for variant in self.variants()
        }

    def _cell(self, n: int, variant: Variant, replicates: int, rng: np.random.Generator) -> list[Row]:
        calibration, label, mechanism = variant
        space = self.ball.space
        ambient = space.embedding()
        assert ambient is not None
        measured: dict[str, list[Any]] = {OWN: [], FRECHET: []}
        for _ in range(max(1, replicates // DRAWS)):
            points = self.data(n, rng)
            mean = ambient.embed(space.present(solve(Records(space, points)).point))
            statistic = mean
            if isinstance(mechanism, AmbientLaplace) and calibration != "as run":
                statistic = ambient.embed(mechanism.present(mechanism.mean(Records(space, points))))
            draws = mechanism.sample(space.present(points), DRAWS, rng)
            embedded = ambient.embed(draws)
            measured[OWN].append(np.linalg.norm(embedded - statistic, axis=1))
            measured[FRECHET].append(np.linalg.norm(embedded - mean, axis=1))
            if self.indefinite and isinstance(mechanism, AmbientLaplace):
                measured.setdefault(INDEFINITE, []).append(np.linalg.eigvalsh(draws)[:, 0] <= 0)
        arrays = {quantity: np.asarray(values, dtype=np.float64) for quantity, values in measured.items()}
        return [
            Row(self.name, calibration, label, quantity, n, self.epsilon, space.dim, *summary(array), array.size)
            for quantity, array in arrays.items()
        ]

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
        rows = self._select(store, calibration, label, OWN)
        n, mean, error = (np.array([getattr(r, f) for r in rows]) for f in ("n", "mean", "standard_error"))
        if rows:
            axes.plot(n, mean, style, color=COLOURS[label], lw=1.4, label=label if style == "-" else None)
            axes.fill_between(n, mean - 2 * error, mean + 2 * error, color=COLOURS[label], alpha=0.2, lw=0)

    def _select(self, store: Store, calibration: str, label: str, quantity: str) -> list[Row]:
        return store.select(study=self.name, calibration=calibration, mechanism=label, quantity=quantity)

    def report(self, store: Store) -> str:
        """Return tables of error·n, which is constant where the error falls like 1/n (ε is 1)."""
        parts = [f"## {self.title}", f"![{self.title}](figure1_{self.name}.png)"]
        for quantity in (OWN, FRECHET, INDEFINITE):
            curves = {
                (calibration, label): self._select(store, calibration, label, quantity)
                for calibration in SCALES
                for label in COLOURS
            }
            share = quantity == INDEFINITE
            body = [[*curve, *(r.words(share, factor=r.n) for r in rows)] for curve, rows in curves.items() if rows]
            if body:
                unit = "" if share else ", times n (± 2 SE)"
                parts.append(f"**{quantity[0].upper()}{quantity[1:]}{unit}**")
                parts.append(markdown_table(["scale", "mechanism", *[f"n = {n}" for n in self.sizes]], body))
        return "\n\n".join(parts)


COLOURS = {
    "KNG": "#6b3f1d",
    "manifold Laplace": "#2f6f8f",
    "Euclidean, projected": "#7a9a3a",
    "Euclidean Laplace": "#b5533c",
}


def sphere_curves(quick: bool) -> Curves:
    """Return the panel of S², r = π/8, data uniform in polar angle and radius about the north pole."""
    radius = np.pi / 8

    def data(n: int, rng: np.random.Generator) -> Points:
        theta = radius * rng.random(n)
        phi = 2 * np.pi * rng.random(n)
        return np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=1)

    sizes = (10, 50, 100, 500) if quick else (10, 20, 35, 50, 75, 100, 150, 200, 300, 500)
    ball = Ball(space_from("sphere", {"dim": 2}), [0.0, 0.0, 1.0], radius)
    return Curves("sphere", "Sphere S², r = π/8, ε = 1", ball, sizes, data, projected=True)


def spd_curves(quick: bool) -> Curves:
    """Return the panel of SPD(2), r = 1.5 about the identity, Wishart(I/2, 2) matrices kept within the ball."""
    ball = Ball(space_from("spd", {"size": 2}), np.eye(2), 1.5)
    sizes = (20, 50, 200) if quick else (20, 35, 50, 75, 100, 150, 200, 300, 500)
    title = "SPD(2), r = 1.5, ε = 1, distance of vech"
    return Curves("spd", title, ball, sizes, partial(wishart, ball), indefinite=True)


def wishart(ball: Ball, n: int, rng: np.random.Generator) -> Points:
    """Return n matrices of the law Wishart(I/2, 2), those within a ball of SPD(2)."""
    kept = np.empty((0, 2, 2))
    while len(kept) < n:
        factor = rng.normal(0, np.sqrt(0.5), (4 * n + 16, 2, 2))
        matrices = factor @ factor.transpose(0, 2, 1)
        matrices = matrices[np.linalg.eigvalsh(matrices)[:, 0] > 1e-6]  # far outside the ball, and hard on Cholesky
        kept = np.concatenate([kept, matrices[ball.distances(matrices) <= ball.radius]])
    return kept[:n]
