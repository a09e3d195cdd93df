"""Figures 2 and 3 of the paper: private corpus callosa, and the same smoothed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..landmarks.outlines import crosses_itself, outline_bandwidth, smooth_outline
from ..means.frechet import frechet_mean
from ..mechanisms import KNG, ManifoldLaplace, Mechanism, PointwiseLaplace
from ..numerics.arrays import Array
from ..regions.ball import Ball
from ..spaces import Space, space_from
from ..views.figures import figure
from .store import Row, Store, markdown_table, save_figure
from .synthetic import corpus_callosa, corpus_callosum_template

RADIUS, EPSILON = 0.125, 1.0
DRAWS, SHOWN = 500, 6


def space_of(outlines: Array) -> Space:
    return space_from("shapes", {"landmarks": outlines.shape[1]})


@dataclass(frozen=True)
class Callosa:
    """Outlines, the public reference that is the centre, and where both come from."""

    outlines: Array
    reference: Array
    source: str

    @property
    def space(self) -> Space:
        return space_of(self.outlines)

    def mechanisms(self) -> list[tuple[str, str, Mechanism]]:
        """(calibration, label, mechanism).  "data radius" is the paper's: r = max ρ(x̄, xᵢ), which is not private."""
        ball = Ball(self.space, self.reference, RADIUS)
        mean = frechet_mean(self.space, self.outlines).point
        furthest = float(self.space.distance(mean, self.outlines).max())
        leaky = Ball(self.space, mean, min(furthest * (1 + 1e-9), 0.39))
        return [
            ("as proven", "KNG", KNG(ball, EPSILON)),
            ("as proven", "manifold Laplace", ManifoldLaplace(ball, EPSILON)),
            ("theorem", "KNG", KNG(ball, EPSILON, "theorem")),
            ("as proven", "point-wise, aligned", PointwiseLaplace(ball, EPSILON)),
            ("as proven", "point-wise, unaligned", PointwiseLaplace(ball, EPSILON, align=False)),
            ("as run, not private", "KNG", KNG(leaky, EPSILON, "as run")),
            ("as run, not private", "point-wise, aligned", PointwiseLaplace(leaky, EPSILON, "as run")),
            ("as run, not private", "point-wise, unaligned", PointwiseLaplace(leaky, EPSILON, "as run", align=False)),
        ]

    def bandwidth(self) -> float:
        """From public numbers only: the reference outline and the predicted error of certified KNG."""
        kng = KNG(Ball(self.space, self.reference, RADIUS), EPSILON)
        return outline_bandwidth(self.reference, kng.at(len(self.outlines)).error_quantile(0.5))

    def cells(self) -> int:
        return len(self.mechanisms())

    def run(self, store: Store, replicates: int) -> None:
        bandwidth = self.bandwidth()
        for calibration, label, mechanism in self.mechanisms():
            name = f"shapes/{calibration}/{label}"
            store.cell(name, partial(self._cell, calibration, label, mechanism, bandwidth))

    def _cell(
        self, calibration: str, label: str, mechanism: Mechanism, bandwidth: float, rng: np.random.Generator
    ) -> list[Row]:
        space, n = self.space, len(self.outlines)
        mean = frechet_mean(space, space.present(mechanism.ball.clip(self.outlines))).point
        private = mechanism.sample(self.outlines, DRAWS, rng)
        rows = []
        for state, outlines in (("", private), (", smoothed", smooth_outline(private, bandwidth))):
            distance = space.distance(mean, outlines)
            quantities = {
                "Riemannian distance": distance,
                "full Procrustes distance": np.sin(distance),
                "share that cross themselves": crosses_itself(outlines).astype(np.float64),
            }
            for quantity, values in quantities.items():
                error = float(values.std(ddof=1) / np.sqrt(DRAWS))
                where = (n, EPSILON, space.dim)
                rows.append(
                    Row("shapes", calibration, label, quantity + state, *where, float(values.mean()), error, DRAWS)
                )
        return rows

    # -- what a person sees ---------------------------------------------------------------------------------------------
    def _placed(self, outlines: Array) -> Array:
        """Outlines rotated to match the reference, for pictures."""
        return self.space.present(self.space.align(self.reference, outlines))

    def draw(self, store: Store) -> None:
        rng = np.random.default_rng([store.settings["seed"], 2])
        chosen = [
            (f"{label}\n({calibration})", self._placed(mechanism.sample(self.outlines, SHOWN, rng)))
            for calibration, label, mechanism in self.mechanisms()
            if label != "manifold Laplace"
        ]
        for name, calibrations in (("as_proven", ("as proven", "theorem")), ("as_run", ("as run, not private",))):
            rows = [(label, draws) for label, draws in chosen if any(c in label for c in calibrations)]
            self._figure2(store, rows, f"figure2_{name}")
            smoothed = [(t, smooth_outline(d, self.bandwidth())) for t, d in rows if "unaligned" not in t]
            self._figure3(store, smoothed, f"figure3_{name}")

    def _figure2(self, store: Store, rows: list[tuple[str, Array]], name: str) -> None:
        mean = frechet_mean(self.space, self.outlines).point
        chart = figure(14, 1.7 + 1.5 * len(rows))
        sides: Any = chart.subfigures(1, 2, width_ratios=(1.2, 3))
        left, right = sides
        panels = left.subplots(2, 1)
        count = min(10, len(self.outlines))
        for outline in self._placed(self.outlines[:count]):
            _coloured(panels[0], outline)
        panels[0].set_title(f"{count} outlines", fontsize=9)
        _coloured(panels[1], self._placed(mean[None])[0], size=8)
        panels[1].set_title("their Fréchet mean", fontsize=9)
        self._grid(right, rows)
        chart.suptitle(f"Private means at ε = {EPSILON:g}; {self.source.split(' (')[0]}", fontsize=10)
        save_figure(chart, store.folder, name)

    def _figure3(self, store: Store, rows: list[tuple[str, Array]], name: str) -> None:
        chart = figure(11, 0.8 + 1.5 * len(rows))
        self._grid(chart, rows)
        spacing = self.bandwidth() * len(self.reference)
        chart.suptitle(f"Smoothed by local linear regression, bandwidth {spacing:.2f} landmark spacings", fontsize=10)
        save_figure(chart, store.folder, name)

    def _grid(self, figure: Any, rows: list[tuple[str, Array]]) -> None:
        panels = figure.subplots(len(rows), SHOWN, squeeze=False)
        for line, (label, draws) in zip(panels, rows, strict=True):
            for axes, outline in zip(line, draws, strict=True):
                _coloured(axes, outline, size=3)
            line[0].text(-0.1, 0.5, label, transform=line[0].transAxes, ha="right", va="center", fontsize=8)

    def report(self, store: Store) -> str:
        space = self.space
        mean = frechet_mean(space, self.outlines).point
        distance = space.distance(mean, self.outlines)
        outside = int((space.distance(self.reference, self.outlines) > RADIUS).sum())
        k = len(self.reference)
        settings = (
            f"{self.source}. n = {len(self.outlines)}, k = {k}, ε = {EPSILON:g}, r = {RADIUS}; shape distance to "
            f"the mean {distance.mean():.3f} on average, {distance.max():.3f} at most; {outside} outlines outside the ball are "
            f"clipped. {DRAWS} draws of each mechanism. Smoothing: bandwidth {self.bandwidth() * k:.2f} landmark "
            "spacings, from the reference outline and the predicted error. 'as run, not private' takes centre and radius from "
            "the data, as the paper did: the stated ε does not hold."
        )
        quantities = [
            f"{q}{s}"
            for s in ("", ", smoothed")
            for q in ("Riemannian distance", "full Procrustes distance", "share that cross themselves")
        ]
        body = []
        for calibration, label, _ in self.mechanisms():
            wanted = ("shapes", calibration, label)
            rows = {r.quantity: r for r in store.rows if (r.study, r.calibration, r.mechanism) == wanted}
            cells = []
            for q in quantities:
                value, error = rows[q].mean, 2 * rows[q].standard_error
                cells.append(f"{value:.3f}" if q.startswith("share") else f"{value:.4f} ± {error:.4f}")
            body.append([calibration, label, *cells])
        pictures = [
            f"![{n}]({n}.png)" for n in ("figure2_as_run", "figure2_as_proven", "figure3_as_run", "figure3_as_proven")
        ]
        table = markdown_table(["scale", "mechanism", *quantities], body)
        return "\n\n".join(["## Shapes", settings, table, *pictures])


def _coloured(axes: Any, outline: Array, size: float = 2) -> None:
    """An outline coloured along its parameter."""
    closed = np.vstack([outline, outline[:1]])
    axes.plot(closed[:, 0], closed[:, 1], color="0.6", lw=0.5, zorder=1)
    axes.scatter(outline[:, 0], outline[:, 1], c=np.arange(len(outline)), cmap="viridis", s=size, zorder=2)
    axes.set_aspect("equal")
    axes.axis("off")


def synthetic(seed: int) -> Callosa:
    """The default data: 409 synthetic outlines.  The template that they were made from is the public reference."""
    rng = np.random.default_rng([seed, 1])
    return Callosa(corpus_callosa(409, 50, rng=rng), corpus_callosum_template(50), "Synthetic corpus callosa")


def from_outlines(outlines: Array, source: str) -> Callosa:
    """A user's own outlines.  A study, not a release: their own mean stands in for a public reference."""
    space = space_of(outlines)
    mean = frechet_mean(space, outlines).point
    note = (
        f"{source} (their own mean stands in for a public reference: a study, not a release; protect this report, its figures "
        "and its tables as carefully as the data)"
    )
    return Callosa(np.asarray(outlines, dtype=np.float64), mean, note)
