"""Compositions: three parts in a triangle, others side by side with the range that the error leaves to each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..numerics.arrays import Array, Points
from ..spaces.base import Space
from ..spaces.simplex import Aitchison, Simplex
from .base import Links, View, error_or_none, public_ball
from .figures import (
    FAINT,
    LAYER,
    LAYERS,
    QUIET,
    RIM,
    SHARP,
    SOFT,
    TEXT,
    Range,
    close_up,
    figure,
    intervals,
    name_of,
    shared_legend,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..regions.ball import Ball
    from ..release import Release

CORNERS = np.array(
    [[0.5, np.sqrt(0.75)], [0.0, 0.0], [1.0, 0.0]]
)  # of a triangle: where each of three parts is the whole
CLOSE = 0.08  # of the side of the triangle: an error that is smaller is shown a second time, larger
BEYOND = 700.0  # of an exponent


class Compositions(View):
    entry, exact_up_to = "Part", np.inf
    nameable = True
    origin, centers = "equal parts", ("origin", "equal parts")

    def things(self, release: Release) -> str:
        return f"compositions of {release.value.size} parts"

    def seen(self, release: Release) -> str:
        high, low = (int(pick(release.value)) for pick in (np.argmax, np.argmin))
        shares = [f"part {self.called(i)}, {release.value[i]:.3g} of the whole" for i in (high, low)]
        return f"The largest is {shares[0]}; the smallest is {shares[1]}."

    def meaning(self, release: Release, error: float) -> str:
        low, high = shares_within(public_ball(release).space, release.value, error)
        return f"no share off by more than {max((release.value - low).max(), (high - release.value).max()):.2g}"

    def draw(self, release: Release, p: float, outline: Links | None = None) -> Figure:
        return (_draw_triangle if release.value.size == 3 else _draw_parts)(release, p, self)


def shares_within(space: Space, shares: Array, distance: float) -> Range:
    """The least and the largest that each part of a composition within a distance of this one can be.

    By square roots: part j is cos² of an angle, which changes by half the distance at most.  By ratios: a ratio of two parts
    changes by a factor of e^(√2·distance) at most, and so do the odds of a part, a sum of such ratios.
    """
    if isinstance(space, Aitchison):
        factor = float(np.exp(min(np.sqrt(2) * distance, BEYOND)))
        return shares / (shares + (1 - shares) * factor), shares * factor / (shares * factor + 1 - shares)
    away = np.arccos(np.clip(np.sqrt(shares), 0.0, 1.0))
    low, high = np.minimum(away + distance / 2, np.pi / 2), np.maximum(away - distance / 2, 0.0)
    return np.cos(low) ** 2, np.cos(high) ** 2


def _draw_parts(release: Release, p: float, view: View) -> Figure:
    ball, error = public_ball(release), error_or_none(release, p)
    space, centre = ball.space, ball.space.present(ball.center)
    bars = None if error is None else shares_within(space, release.value, error)
    reach = shares_within(space, centre, ball.radius)
    drawn = intervals(release, p, "part", release.value, bars, centre, reach, names=view.names)
    drawn.axes[0].set(ylabel="share", ylim=(0, None))
    return drawn


def _draw_triangle(release: Release, p: float, view: View) -> Figure:
    """Every composition within the error, and the edge of the public ball, as far as they lie in the triangle."""
    ball, error = public_ball(release), error_or_none(release, p)
    at, value = release.value @ CORNERS, ball.space.validate(release.value[None])[0]
    size = 1.0 if error is None else float(np.abs(_round(ball.space, value, error) - at).max())
    closer = size < CLOSE
    drawn = figure(9.6 if closer else 6.4, 5.4 if closer else 6.6)
    panels = drawn.subplots(1, 1 + closer, squeeze=False)[0]
    for axes in panels:
        _triangle(axes, release, ball, p, view)
    if closer:
        close_up(panels[1], at, size, " of a side")
    shared_legend(drawn, 4 if closer else 2)
    return drawn


def _triangle(axes: Axes, release: Release, ball: Ball, p: float, view: View) -> None:
    from matplotlib.patches import Polygon

    error, space = error_or_none(release, p), ball.space
    for tick in np.arange(0.2, 0.9, 0.2):
        for part in range(3):
            ends = np.full((2, 3), 0.0)
            ends[:, part], ends[0, part - 1], ends[1, part - 2] = tick, 1 - tick, 1 - tick
            axes.plot(*(ends @ CORNERS).T, color=FAINT, lw=0.7, zorder=0)
    axes.add_patch(Polygon(CORNERS, fill=False, ec=QUIET, lw=0.8))
    value = space.validate(release.value[None])[0]
    if error is not None:
        for fraction in LAYERS:
            axes.add_artist(Polygon(_round(space, value, error * fraction), **LAYER))
        axes.plot(*_round(space, value, error).T, color=RIM, lw=0.6)
        axes.fill([], [], color=SOFT, alpha=0.5, lw=0, label=f"its {p:.0%} error")
    edge = _round(space, ball.center, ball.radius)
    axes.plot(*edge.T, color=QUIET, lw=1.0, ls=":", label="range of clipped records")
    centre = space.present(ball.center) @ CORNERS
    axes.plot(*centre, ls="", marker="o", mfc="white", mec=QUIET, label="public centre")
    axes.plot(*(release.value @ CORNERS), ls="", marker="o", color=SHARP, label=name_of(release))
    for part, (corner, side) in enumerate(zip(CORNERS, ("bottom", "top", "top"), strict=True)):
        name = view.called(part) if view.names else f"part {part + 1}"
        axes.text(float(corner[0]), float(corner[1]), name, clip_on=True, ha="center", va=side, color=TEXT, fontsize=10)
    axes.set(aspect="equal", xlim=(-0.1, 1.1), ylim=(-0.1, 1.0))
    axes.axis("off")


def _round(space: Space, point: Points, distance: float) -> Array:
    """Once round a composition of three parts at a distance, in the triangle.  A geodesic that leaves it stops at its side:
    that shows the whole ball, as shortest ways between compositions stay inside."""
    turn = np.linspace(0, 2 * np.pi, 721)
    ways = space.from_coordinates(point, np.stack([np.cos(turn), np.sin(turn)], axis=1))
    lengths = np.full(len(turn), min(distance, BEYOND))
    if isinstance(space, Simplex):  # x·cos t + u·sin t is 0 in a part at t = atan2(x, −u), half the length
        lengths = np.minimum(lengths, 2 * np.arctan2(np.maximum(point / 2, 0.0), -ways).min(axis=1))
    return np.asarray(space.present(space.exp(point, lengths[:, None] * ways)) @ CORNERS)
