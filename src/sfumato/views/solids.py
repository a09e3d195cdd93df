"""Landmarks in space, with or without their size: three projections, and on a page a figure that turns; in the plane, one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..numerics.arrays import Array
from .base import (
    Links,
    Noise,
    View,
    error_or_none,
    is_geodesic,
    noise_of,
    numbered,
    population_label,
    population_of,
    public_ball,
)
from .bending import can_bend, magnified
from .figures import ALPHA, LAYERS, RIM, SOFT, TEXT, balanced, figure, name_of, shared_legend
from .page import Block, Turning
from .shapes import draw_grid, draw_landmarks, draw_outlines, draw_overlay, farthest, grid_title, joined, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..release import Release

# Views of axes x (the longest of the reference), y and z, by what goes right and up: none shows a mirror image
FRONT, RIGHT, ABOVE = np.eye(3)[[0, 1]], np.array([[0, 0, -1], [0, 1, 0]]), np.array([[1, 0, 0], [0, 0, -1]])
WIDTH = 9.0  # of the picture, in inches
NEAR = 1e-6  # coordinates that differ by less, of the size, may be equal but for rounding


class Solids(View):
    origin = "the rim of a saddle, or a regular polygon"

    def __init__(self, what: str, unit: str) -> None:
        self.what, self.unit = what, unit

    def things(self, release: Release) -> str:
        k, m = release.value.shape
        return f"{self.what} of {k} landmarks in {'space' if m == 3 else 'the plane'}"

    def table(self, release: Release) -> tuple[Sequence[str], list[tuple[str, ...]]]:
        return ("Landmark", *"xyz"[: release.value.shape[1]]), numbered(release.value)

    def meaning(self, release: Release, error: float) -> str:
        return f"{error / np.sqrt(len(release.value)):.3g} a landmark if all share it, in {self.unit}"

    def shown(self, release: Release, p: float) -> str:
        return shown(release, p)

    def seen(self, release: Release) -> str:
        solid = Solid(release, 0.95)
        return farthest(solid.reference, solid.released)

    def draw(self, release: Release, p: float, outline: Links | None = None) -> Figure:
        solid = Solid(release, p)
        drawn, panels, scale = _panels([solid])
        for axes, side in panels:
            solid.draw(axes, side, scale, outline)
        _front_grid(drawn, solid, outline)
        shared_legend(drawn, 3 if solid.region is None else 2)
        return drawn

    def draw_pair(self, releases: Mapping[str, Release], radius: float, links: Links | None = None) -> Figure:
        """Both over each other from every side, with the way of each landmark from the first to the second."""
        first, second = (Solid(release, 0.95) for release in releases.values())
        moves = second.moves_of(population_of([*releases.values()][1], 0.95), radius)
        drawn, panels, _ = _panels([first, second])
        for axes, side in panels:
            tips = None if moves is None else _halves(moves @ np.swapaxes(moves, 1, 2), side)
            draw_overlay(axes, [*releases], first.released @ side.T, second.released @ side.T, tips, links)
        shared_legend(drawn, 3)
        return drawn

    def more(self, release: Release, p: float = 0.95, outline: Links | None = None) -> list[Block]:
        if release.value.shape[1] != 3:
            return []
        solid = Solid(release, p)
        soft = f", {solid.label} (soft)" if solid.spread.any() else ""
        words = f"The same in space: {solid.name} (dark), public reference (open circles){soft}."
        return [Turning(words, solid.numbers(), joined(outline, len(release.value)).tolist())]


def _panels(solids: Sequence[Solid]) -> tuple[Figure, list[tuple[Axes, Array]], float]:
    """A figure with a panel for each side from which these are seen, and how many inches a unit has."""
    if solids[0].reference.shape[1] == 2:
        sides = [(np.eye(2), "", (0, 0))]
    else:
        sides = [(FRONT, "front", (1, 0)), (RIGHT, "from the right", (1, 1)), (ABOVE, "from above", (0, 0))]
    corners = np.array([[solid.limits(side) for side, _, _ in sides] for solid in solids])
    low, high = corners[:, :, 0].min(axis=0), corners[:, :, 1].max(axis=0)
    across = high - low
    rows = 1 if len(sides) == 1 else 2
    widths, heights = across[:rows, 0], across[::-2, 1] if rows == 2 else across[:, 1]
    scale = WIDTH / float(widths.sum())
    drawn = figure(WIDTH, 1.2 + min(max(scale * float(heights.sum()), 2.0), 10.0))
    grid = drawn.add_gridspec(rows, rows, width_ratios=widths, height_ratios=heights)
    panels = list[tuple["Axes", Array]]()
    for (side, name, place), start, end in zip(sides, low, high, strict=True):
        axes = drawn.add_subplot(grid[place])
        axes.set(aspect="equal", xlim=(start[0], end[0]), ylim=(start[1], end[1]))
        axes.axis("off")
        axes.set_title(name, fontsize=9, color=TEXT, loc="left")
        panels.append((axes, side))
    return drawn, panels, scale


def _front_grid(drawn: Figure, solid: Solid, links: Links | None) -> None:
    """The bending of the reference as it is seen from the front, in the corner that three sides leave; of landmarks in the
    plane there is no other side."""
    first, second = solid.reference[:, :2], solid.released[:, :2]
    if solid.reference.shape[1] == 3 and can_bend(first):
        times, grid = magnified(first, second), drawn.axes[0].get_gridspec()
        assert grid is not None
        axes, widths = drawn.add_subplot(grid[0, 1]), np.asarray(grid.get_width_ratios(), dtype=np.float64)
        draw_grid(axes, first, second, links, times=times)
        title = f"front: {grid_title('the reference', f'the {solid.name}', times)}"
        lines = balanced(title, max(16, int(13 * WIDTH * widths[1] / widths.sum())))
        axes.set_title("\n".join(lines), fontsize=9, color=TEXT, loc="left")


class Solid:
    """A release as it is drawn, in the principal axes of the public reference: landmarks of both, and for each landmark the
    matrix A·Aᵀ of the ellipsoid A·(unit ball) about it.

    The error is one distance for all: each of k landmarks gets a ball of error/√k, its share if all were off by as much.  The
    noise of a chart has a shape: each landmark gets the ellipsoid that holds it with probability p, by itself.
    """

    def __init__(self, release: Release, p: float) -> None:
        ball = public_ball(release)
        space, (k, m) = ball.space, ball.center.shape
        value = space.validate(release.value[None])[0] if is_geodesic(release) else release.value
        turn = _axes(ball.center)
        self.name = name_of(release)
        self.reference, self.released = ball.center @ turn, space.align(ball.center, value) @ turn
        self.turn = turn
        error, noise = error_or_none(release, p), noise_of(release, p)
        about = self.moves_of(population_of(release, p))
        self.region = None if about is None else about @ np.swapaxes(about, 1, 2)
        self.region_label = population_label(p)
        found = self.moves_of(noise)
        moves = np.zeros((k, m, 1)) if found is None else found
        self.spread = moves @ np.swapaxes(moves, 1, 2)
        if noise is None and error is not None:
            self.spread = np.tile(error**2 / k * np.eye(m), (k, 1, 1))
        self.label = f"its {p:.0%} error, {'shared evenly' if noise is None else 'by landmark'}"

    def moves_of(self, noise: Noise | None, radius: float | None = None) -> Array | None:
        """(k, m, p): how each landmark moves along the axes of the ball, of its own radius or this one."""
        if noise is None:
            return None
        noise = noise if radius is None else replace(noise, fixed=radius)
        k, m = self.released.shape
        return np.asarray(np.swapaxes(self.turn, 0, 1) @ noise.moves(m).reshape(k, m, -1))

    def limits(self, side: Array) -> tuple[Array, Array]:
        """The corners of what is seen from a side, with room for what is about the outermost."""
        points = np.concatenate([self.reference, self.released]) @ side.T
        about = self.spread if self.region is None else np.concatenate([self.spread, self.region])
        margin = max(1.15 * float(_halves(about, side)[0].max()), 0.03 * float(np.ptp(self.reference, axis=0).max()))
        return points.min(axis=0) - margin, points.max(axis=0) + margin

    def draw(self, axes: Axes, side: Array, scale: float, outline: Links | None) -> None:
        """What is seen from a side, at so many inches for a unit; no marker hides what is about it."""
        from matplotlib.collections import EllipseCollection

        (halves, turns), at = _halves(self.spread, side), self.released @ side.T
        seen = 72 * scale * float(np.median(halves[:, 0]))
        if seen > 0:
            about: dict[str, Any] = {"angles": turns, "units": "xy", "offsets": at, "offset_transform": axes.transData}
            for part in LAYERS:
                axes.add_collection(
                    EllipseCollection(*(2 * part * halves.T), **about, color=SOFT, alpha=ALPHA, lw=0), autolim=False
                )
            rim = EllipseCollection(*(2 * halves.T), **about, facecolors="none", edgecolors=RIM, linewidths=0.6)
            axes.add_collection(rim, autolim=False)
            axes.fill([], [], color=SOFT, alpha=0.5, lw=0, label=self.label)
        size, away = min(max(0.7 * seen, 1.6), 5.0) if seen > 0 else 4.0, 3.0
        if self.region is not None:
            wide = _halves(self.region, side)
            draw_outlines(axes, at, *wide, self.region_label)
            away += 0.75 * 72 * scale * float(np.median(wide[0][:, 0]))
        draw_landmarks(axes, self.reference @ side.T, at, self.name, outline, size, away)

    def numbers(self) -> list[list[float]]:
        """For each landmark, in hundredths of the largest distance from the middle: reference, release, and the matrix."""
        unit = 100 / max(float(np.linalg.norm(x, axis=1).max()) for x in (self.reference, self.released))
        i, j = np.triu_indices(3)
        every = np.hstack([unit * self.reference, unit * self.released, unit**2 * self.spread[:, i, j]])
        return [[round(float(x), 3) for x in row] for row in every]


def _halves(spread: Array, side: Array) -> tuple[Array, Array]:
    """Half-axes (k, 2), the longer first, and turns in degrees of the ellipses that are seen of ellipsoids from a side."""
    squares, axes = np.linalg.eigh(side @ spread @ side.T)
    return np.sqrt(np.maximum(squares[:, ::-1], 0.0)), np.degrees(np.arctan2(axes[:, 1, 1], axes[:, 0, 1]))


def _axes(center: Array) -> Array:
    """The principal axes of landmarks as columns, the longest first, a rotation; the first landmark of those that lie farthest
    out along an axis is on its positive side, but for the last axis."""
    axes = np.linalg.svd(center, full_matrices=False)[2].T
    along = center @ axes
    far = np.abs(along) >= np.abs(along).max(axis=0) - NEAR * np.linalg.norm(center)
    first = along[np.argmax(far, axis=0), np.arange(len(axes))]
    axes = axes * np.where(first < 0, -1.0, 1.0)
    axes[:, -1] *= np.sign(np.linalg.det(axes))
    return np.asarray(axes)
