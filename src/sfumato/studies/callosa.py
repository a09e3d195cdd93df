"""Figures 2 and 3 of the paper: private corpus callosa, and the same smoothed."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..landmarks.outlines import crosses_itself, outline_bandwidth, smooth_outline
from ..means.frechet import frechet_mean
from ..mechanisms import KNG, ManifoldLaplace, PointwiseLaplace
from ..numerics.arrays import Array
from ..regions.ball import Ball
from ..spaces import Space, space_from
from ..views.figures import figure
from .store import Compute, Row, Store, Variant, markdown_table, save_figure, summary
from .synthetic import corpus_callosa, corpus_callosum_template

RADIUS = 0.125
EPSILON = 1.0
DRAWS = 500
SHOWN = 6  # draws in a row of a figure
CROSSING = "share that cross themselves"
QUANTITIES = ("Riemannian distance", "full Procrustes distance", CROSSING)
LEAKY = "as run, not private"


@dataclass(frozen=True)
class Callosa:
    """The outlines, the public reference that is the centre, and where both come from."""

    outlines: Array
    reference: Array
    source: str

    @property
    def space(self) -> Space:
        """The space of the shapes of the outlines."""
        return space_from("shapes", {"landmarks": self.outlines.shape[1]})

    def mean(self) -> Array:
        """Return the Fréchet mean of the outlines, which is not private."""
        return frechet_mean(self.space, self.outlines).point

    def variants(self) -> list[Variant]:
        """Return the mechanisms that are compared.  "as run" takes the paper's radius max ρ(x̄, xᵢ), which is not private."""
        ball = Ball(self.space, self.reference, RADIUS)
        mean = self.mean()
        furthest = float(self.space.distance(mean, self.outlines).max())
        leaky = Ball(self.space, mean, min(furthest * (1 + 1e-9), 0.39))
        return [
            Variant("as proven", "KNG", KNG(ball, EPSILON)),
            Variant("as proven", "manifold Laplace", ManifoldLaplace(ball, EPSILON)),
            Variant("theorem", "KNG", KNG(ball, EPSILON, "theorem")),
            Variant("as proven", "point-wise, aligned", PointwiseLaplace(ball, EPSILON)),
            Variant("as proven", "point-wise, unaligned", PointwiseLaplace(ball, EPSILON, align=False)),
            Variant(LEAKY, "KNG", KNG(leaky, EPSILON, "as run")),
            Variant(LEAKY, "point-wise, aligned", PointwiseLaplace(leaky, EPSILON, "as run")),
            Variant(LEAKY, "point-wise, unaligned", PointwiseLaplace(leaky, EPSILON, "as run", align=False)),
        ]

    def bandwidth(self) -> float:
        """Return the bandwidth of smoothing, from the reference outline and the predicted error of certified KNG alone."""
        kng = KNG(Ball(self.space, self.reference, RADIUS), EPSILON)
        return outline_bandwidth(self.reference, kng.at(len(self.outlines)).error_quantile(0.5))

    def cells(self, replicates: int) -> dict[str, Compute]:
        """Return what computes each cell, by its name."""
        cell = partial(self._cell, self.bandwidth())
        return {f"shapes/{each.calibration}/{each.label}": partial(cell, each) for each in self.variants()}

    def _cell(self, bandwidth: float, variant: Variant, rng: np.random.Generator) -> list[Row]:
        calibration, label, mechanism = variant
        space = self.space
        where = (len(self.outlines), EPSILON, space.dim)
        mean = frechet_mean(space, space.present(mechanism.ball.clip(self.outlines))).point
        private = mechanism.sample(self.outlines, DRAWS, rng)
        rows = []
        for state, outlines in (("", private), (", smoothed", smooth_outline(private, bandwidth))):
            distance = space.distance(mean, outlines)
            measured = (distance, np.sin(distance), crosses_itself(outlines).astype(np.float64))
            for quantity, values in zip(QUANTITIES, measured, strict=True):
                rows.append(Row("shapes", calibration, label, quantity + state, *where, *summary(values[None]), DRAWS))
        return rows

    def _placed(self, outlines: Array) -> Array:
        """Return outlines rotated to match the reference, for pictures."""
        return self.space.present(self.space.align(self.reference, outlines))

    def draw(self, store: Store) -> None:
        rng = np.random.default_rng([store.settings["seed"], 2])
        drawn = [
            (variant, self._placed(variant.mechanism.sample(self.outlines, SHOWN, rng)))
            for variant in self.variants()
            if not isinstance(variant.mechanism, ManifoldLaplace)
        ]
        for name, calibrations in (("as_proven", ("as proven", "theorem")), ("as_run", (LEAKY,))):
            rows = [(variant, draws) for variant, draws in drawn if variant.calibration in calibrations]
            self._figure2(store, rows, f"figure2_{name}")
            # smoothing cannot mend what was not aligned
            aligned = [row for row in rows if getattr(row[0].mechanism, "align", True)]
            chart = figure(11, 0.8 + 1.5 * len(aligned))
            _grid(chart, [(variant, smooth_outline(draws, self.bandwidth())) for variant, draws in aligned])
            spacing = f"{self.bandwidth() * len(self.reference):.2f} landmark spacings"
            chart.suptitle(f"Smoothed by local linear regression, bandwidth {spacing}", fontsize=10)
            save_figure(chart, store.folder, f"figure3_{name}")

    def _figure2(self, store: Store, rows: list[tuple[Variant, Array]], name: str) -> None:
        chart = figure(14, 1.7 + 1.5 * len(rows))
        sides: Any = chart.subfigures(1, 2, width_ratios=(1.2, 3))
        left, right = sides
        panels = left.subplots(2, 1)
        count = min(10, len(self.outlines))
        for outline in self._placed(self.outlines[:count]):
            _coloured(panels[0], outline)
        panels[0].set_title(f"{count} outlines", fontsize=9)
        _coloured(panels[1], self._placed(self.mean()[None])[0], size=8)
        panels[1].set_title("their Fréchet mean", fontsize=9)
        _grid(right, rows)
        chart.suptitle(f"Private means at ε = {EPSILON:g}; {self.source.split(' (')[0]}", fontsize=10)
        save_figure(chart, store.folder, name)

    def report(self, store: Store) -> str:
        distance = self.space.distance(self.mean(), self.outlines)
        outside = int((self.space.distance(self.reference, self.outlines) > RADIUS).sum())
        k = len(self.reference)
        settings = (
            f"{self.source}. n = {len(self.outlines)}, k = {k}, ε = {EPSILON:g}, r = {RADIUS}; shape distance to "
            f"the mean {distance.mean():.3f} on average, {distance.max():.3f} at most; {outside} outlines outside the ball are "
            f"clipped. {DRAWS} draws of each mechanism. Smoothing: bandwidth {self.bandwidth() * k:.2f} landmark "
            "spacings, from the reference outline and the predicted error. 'as run, not private' takes centre and radius from "
            "the data, as the paper did: the stated ε does not hold."
        )
        quantities = {f"{name}{state}": name == CROSSING for state in ("", ", smoothed") for name in QUANTITIES}
        body = []
        for calibration, label, _ in self.variants():
            own = store.select(study="shapes", calibration=calibration, mechanism=label)
            rows = {row.quantity: row for row in own}
            body.append([calibration, label, *(rows[name].words(share, 4) for name, share in quantities.items())])
        figures = [f"figure{number}_{name}" for number in (2, 3) for name in ("as_run", "as_proven")]
        pictures = [f"![{name}]({name}.png)" for name in figures]
        table = markdown_table(["scale", "mechanism", *quantities], body)
        return "\n\n".join(["## Shapes", settings, table, *pictures])


def _grid(figure: Any, rows: list[tuple[Variant, Array]]) -> None:
    """Draw a row of outlines for each mechanism."""
    panels = figure.subplots(len(rows), SHOWN, squeeze=False)
    for line, (variant, draws) in zip(panels, rows, strict=True):
        for axes, outline in zip(line, draws, strict=True):
            _coloured(axes, outline, size=3)
        label = f"{variant.label}\n({variant.calibration})"
        line[0].text(-0.1, 0.5, label, transform=line[0].transAxes, ha="right", va="center", fontsize=8)


def _coloured(axes: Any, outline: Array, size: float = 2) -> None:
    """Draw an outline, coloured along its parameter."""
    closed = np.vstack([outline, outline[:1]])
    axes.plot(closed[:, 0], closed[:, 1], color="0.6", lw=0.5, zorder=1)
    axes.scatter(outline[:, 0], outline[:, 1], c=np.arange(len(outline)), cmap="viridis", s=size, zorder=2)
    axes.set_aspect("equal")
    axes.axis("off")


def synthetic(seed: int) -> Callosa:
    """Return the default data: 409 synthetic outlines.  The template that they vary is the public reference."""
    outlines = corpus_callosa(409, 50, rng=np.random.default_rng([seed, 1]))
    return Callosa(outlines, corpus_callosum_template(50), "Synthetic corpus callosa")


def from_outlines(outlines: Array, source: str) -> Callosa:
    """Return a study of a user's own outlines, not a release: their own mean stands in for a public reference."""
    points = np.asarray(outlines, dtype=np.float64)
    mean = frechet_mean(space_from("shapes", {"landmarks": points.shape[1]}), points).point
    note = "their own mean stands in for a public reference: a study, not a release"
    protect = "protect this report, its figures and its tables as carefully as the data"
    return Callosa(points, mean, f"{source} ({note}; {protect})")
