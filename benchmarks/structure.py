"""What public knowledge about landmarks is worth, and what it costs to be wrong: errors against n, landmarks and sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sfumato.means.frechet import frechet_mean
from sfumato.mechanisms import choose
from sfumato.numerics.arrays import Array
from sfumato.records import Records
from sfumato.regions import Ball, Ellipsoid, Region
from sfumato.regions.ellipsoid import tangent_coordinates
from sfumato.spaces import space_from
from sfumato.spaces.base import Space
from sfumato.studies.store import Compute, Row, Store, mark_ticks, markdown_table, save_figure, summary
from sfumato.studies.synthetic import corpus_callosa
from sfumato.views.figures import QUIET, SHARP, figure, plain, shared_legend

EPSILON, RADIUS, DRAWS, TURN = 1.0, 0.15, 10, np.pi / 6
RIGHT = {"ball": QUIET, "smooth": "#7a9a3a", "bending": "#2f6f8f", "sample": SHARP}
WRONG = {"other species": "#b5533c", "axes turned by 30°": "#c9a66b", "variances doubled": "#d98c5f"}
WRONG |= {"centre off by a spread": "#a06ba5", "centre off by 30°": "#5b4a8a"}
Point = tuple[str, int, int, int]  # data, n, landmarks, public sample
DISTANCE = "distance to the Fréchet mean"
STATED, HELD, FORESEEN = "stated 95% error", "share of releases within it", "gain that was foreseen"
PUBLIC = "distance of the public centre"


def wings() -> tuple[Array, Array] | None:
    """The wings of ktch that are not Culex, and those that are; None where the package is not installed."""
    try:
        from ktch.datasets import load_landmark_mosquito_wings
    except ImportError:
        return None
    found = load_landmark_mosquito_wings()
    culex = np.array(list(dict(found.meta["genus"]).values())) == "CX"
    coordinates = np.asarray(found.coords, dtype=np.float64).reshape(len(culex), 18, 2)
    return coordinates[~culex], coordinates[culex]


def samples(point: Point, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Private records, a public sample of the same population, and one of another species: outlines a third too high, or the
    wings of a genus that is in neither of the others."""
    data, n, k, m = point
    if data == "outlines":
        drawn = corpus_callosa(n + 2 * m, k, rng=rng)
        return drawn[:n], drawn[n : n + m], drawn[n + m :] * [1.0, 4 / 3]
    known = wings()
    assert known is not None
    mixed, culex = (rng.permutation(some) for some in known)
    return mixed[:n], mixed[n : n + m], culex[:m]


def misled(space: Space, sample: Array, rng: np.random.Generator) -> dict[str, Array]:
    """A public sample made wrong in its tangent space: every direction turned, all of it moved, or spread too far."""
    center = space.validate(frechet_mean(space, sample).point[None])[0]
    t = tangent_coordinates(space, center, space.validate(sample))
    frame = np.linalg.qr(rng.normal(size=(space.dim, space.dim)))[0]  # planar shapes have an even dimension
    quarter = frame @ np.kron(np.eye(space.dim // 2), [[0.0, 1.0], [-1.0, 0.0]]) @ frame.T
    spread = float(np.sqrt(np.mean(np.sum(t**2, axis=1))))
    changed = {
        "axes turned by 30°": np.cos(TURN) * t + np.sin(TURN) * t @ quarter,
        "variances doubled": np.sqrt(2) * t,
        "centre off by a spread": t + spread * frame[0],
        "centre off by 30°": t + TURN * frame[0],
    }
    return {w: space.present(space.exp(center, space.from_coordinates(center, moved))) for w, moved in changed.items()}


def regions(space: Space, public: Array, other: Array, rng: np.random.Generator) -> Iterator[tuple[str, Region]]:
    """What is known, and what is wrongly believed to be known."""
    yield "ball", Ball(space, public[0], RADIUS)
    yield "smooth", Ellipsoid.smooth(space, public[0], RADIUS)
    yield "bending", Ellipsoid.bending(space, public[0], RADIUS)
    for name, sample in {"sample": public, "other species": other, **misled(space, public, rng)}.items():
        yield name, Ellipsoid.from_sample(space, sample, relation="same" if name == "sample" else "other")


def measured(region: Region, private: Array, truth: Array, rng: np.random.Generator) -> dict[str, Array]:
    """What releases give, looks included: their distances to the Fréchet mean of the private records, the 95% error that they
    state, whether it held, the gain that was foreseen, and the distance of the public centre."""
    plan = choose(region, len(private), EPSILON, "tangent")
    records = Records(region.space, region.admit(private))
    draws = [plan.draw(records, rng) for _ in range(DRAWS)]
    far = region.space.distance(truth, np.stack([draw.value for draw in draws]))
    figures = [draw.whole or plan.whole for draw in draws]
    stated = np.array([max(w.quantiles["0.95"], w.drawn.get("0.95", 0.0)) for w in figures if w is not None])
    alone = region.space.distance(truth, region.space.present(region.center))
    gain = np.nan if plan.gain is None else plan.gain
    return {
        DISTANCE: far,
        STATED: stated,
        HELD: (far <= stated).astype(float),
        FORESEEN: np.full(DRAWS, gain),
        PUBLIC: np.full(DRAWS, float(alone)),
    }


@dataclass(frozen=True)
class Structure:
    """The study; a quick one has fewer points of smaller shapes."""

    quick: bool = False

    def grids(self) -> dict[tuple[str, str], list[Point]]:
        """For each panel the points along one variable, the others at their usual values."""
        n, k, m = (200, 16, 20) if self.quick else (400, 50, 50)
        sizes = (50, 200) if self.quick else (50, 200, 400, 1000, 5000)
        landmarks, public = ((16, 20), (5, 20)) if self.quick else ((10, 20, 50, 80), (5, 20, 50, 200))
        found = {
            ("outlines", "n"): [("outlines", i, k, m) for i in sizes],
            ("outlines", "k"): [("outlines", n, i, m) for i in landmarks],
            ("outlines", "m"): [("outlines", n, k, i) for i in public],
        }
        if wings() is not None:
            found["wings", "m"] = [("wings", 80, 18, i) for i in public if i <= 20]
        return found

    def cells(self, replicates: int) -> dict[str, Compute]:
        """Return what computes each cell, by its name."""
        repeats = max(2, replicates // 5000)
        points = dict.fromkeys(point for points in self.grids().values() for point in points)
        return {f"structure/{point}": partial(self._cell, point, repeats) for point in points}

    def _cell(self, point: Point, repeats: int, rng: np.random.Generator) -> list[Row]:
        found: dict[tuple[str, str], list[Array]] = {}
        space = space_from("shapes", {"landmarks": point[2]})
        for _ in range(repeats):
            private, public, other = samples(point, rng)
            truth = frechet_mean(space, private).point
            for name, region in regions(space, public, other, rng):
                for quantity, values in measured(region, private, truth, rng).items():
                    found.setdefault((name, quantity), []).append(values)
        where = (point[1], EPSILON, space.dim)
        return [
            Row(
                "structure",
                point[0],
                name,
                f"{told}, {point[3]} public",
                *where,
                *summary(np.array(values)),
                repeats * DRAWS,
            )
            for (name, told), values in found.items()
        ]

    # -- what a person sees ---------------------------------------------------------------------------------------------
    def draw(self, store: Store) -> None:
        grids = self.grids()
        chart, words = figure(4 * len(grids), 5.2), {"n": "records n", "k": "landmarks k", "m": "public sample m"}
        panels: Any = chart.subplots(1, len(grids), sharey=True)
        for axes, ((data, variable), points) in zip(panels, grids.items(), strict=True):
            x = [point[1:]["nkm".index(variable)] for point in points]
            for name, means in _means(store, points).items():
                axes.plot(x, means, "o-" if name in RIGHT else "o--", ms=3, label=name, color=(RIGHT | WRONG)[name])
            axes.set(xscale="log", yscale="log", xlabel=words[variable], title=data)
            mark_ticks(axes, x)
            plain(axes)
        panels[0].set_ylabel("mean distance to the Fréchet mean")
        shared_legend(chart)
        save_figure(chart, store.folder, "structure")

    def report(self, store: Store) -> str:
        parts = [
            f"Mean Riemannian distance of a release from the Fréchet mean of the private records, ε = {EPSILON:g}. "
            f"Ball, smooth, bending: one public specimen is the centre, the radius {RADIUS:g}.",
            "![error against n, k and m](structure.png)",
        ]
        ratios: dict[str, list[str]] = {name: [name] for name in ("sample", *WRONG)}
        for (data, variable), points in self.grids().items():
            fixed = ", ".join(f"{v} = {points[0][i + 1]}" for i, v in enumerate("nkm") if v != variable)
            header, means = [str(point["nkm".index(variable) + 1]) for point in points], _means(store, points)
            parts.append(f"**{data[0].upper()}{data[1:]}, {fixed}**")
            body = [[name, *(f"{value:.4f}" for value in row)] for name, row in means.items()]
            parts.append(markdown_table([variable, *header], body))
            for name, row in ratios.items():
                row.append(" ".join(f"{a / b:.2f}" for a, b in zip(means[name], means["ball"], strict=True)))
        for data, point in {points[-1][0]: points[len(points) // 2] for points in self.grids().values()}.items():
            whole = {told: _means(store, [point], told) for told in (DISTANCE, STATED, HELD, PUBLIC, FORESEEN)}
            body = []
            for name in (*RIGHT, *WRONG):
                (error,), (stated,), (held,), (public,), (gain,) = (means[name] for means in whole.values())
                foreseen = "" if np.isnan(gain) else f"{gain:.2f}"
                body.append([name, f"{error:.4f}", f"{stated:.4f}", f"{held:.0%}", f"{public / error:.2f}", foreseen])
            n, k, m = point[1:]
            parts.append(f"**What is stated: {data}, n = {n}, k = {k}, m = {m}**")
            header = ["", "mean error", "stated at 95%", "held", "gain", "gain foreseen"]
            parts.append(markdown_table(header, body))
        if wings() is None:
            parts.append("No wings: they come with the package ktch, which is not installed (pip install ktch).")
        header = ["error over the ball's", *(f"{data}, by {variable}" for data, variable in self.grids())]
        parts += ["## What it costs to be wrong", markdown_table(header, list(ratios.values()))]
        return "\n\n".join(parts)


def _means(store: Store, points: list[Point], told: str = DISTANCE) -> dict[str, list[float]]:
    """For each region the means of a quantity along the points, all of which are done."""
    cells = [
        {
            row.mechanism: row.mean
            for row in store.cell(f"structure/{point}", lambda rng: [])
            if row.quantity.startswith(told)
        }
        for point in points
    ]
    return {name: [cell[name] for cell in cells] for name in (*RIGHT, *WRONG)}
