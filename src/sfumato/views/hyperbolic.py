"""The hyperbolic plane in the Poincaré disc; other dimensions by their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..numerics.arrays import Array
from ..spaces.hyperbolic import Hyperbolic as Plane
from .base import Links, View, ball_name, chart_of, error_or_none, public_ball
from .figures import LAYER, LAYERS, QUIET, RIM, SHARP, close_up, figure, name_of, shared_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..release import Release

CLOSE = 0.12  # of the disc: what is smaller is shown a second time, larger


class Hyperbolic(View):
    entry, exact_up_to = "Coordinate", np.inf

    def things(self, release: Release) -> str:
        return f"points of hyperbolic space of dimension {release.value.size - 1}"

    def off_manifold(self, release: Release) -> str:
        return "the released value is not on the hyperboloid"

    def caption(self, release: Release) -> str:
        return super().caption(release) if release.value.size == 3 else "What was released, in numbers."

    def shown(self, release: Release, p: float) -> str:
        return "Drawn in the Poincaré disc, whose edge is infinitely far away" if release.value.size == 3 else ""

    def draw(self, release: Release, p: float, outline: Links | None = None) -> Figure:
        space = release.space.known
        if release.value.size != 3 or not isinstance(space, Plane):
            return super().draw(release, p, outline)
        at, error = space.to_poincare(release.value), error_or_none(release, p)
        edge = None if error is None else _error_edge(release, space, error)
        size = None if edge is None else float(np.abs(edge - at).max())
        closer = size is not None and size < CLOSE
        drawn = figure(9.4 if closer else 6, 5.7 if closer else 6.9)
        panels = drawn.subplots(1, 2 if closer else 1, squeeze=False)[0]
        for axes in panels:
            _disc(axes, release, space, p)
        panels[0].set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05))
        shared_legend(drawn, 4 if closer else 2)
        if closer and size is not None:
            close_up(panels[1], at, size, " of the disc's radius")
        return drawn


def _circle(space: Plane, center: Array, radius: float, about: Array | None = None) -> Array:
    """A circle in the tangent space at a point, about a vector there, as it lies in the disc."""
    turn = np.linspace(0, 2 * np.pi, 361)
    round_ = radius * np.stack([np.cos(turn), np.sin(turn)], axis=1) + (0.0 if about is None else about)
    return space.to_poincare(space.exp(center, space.from_coordinates(center, round_)))


def _error_edge(release: Release, space: Plane, error: float) -> Array:
    """Round what holds the statistic: a circle about the value, or for a chart one in the tangent space at the centre."""
    value, chart = space.validate(release.value[None])[0], chart_of(release)
    if chart is None:
        return _circle(space, value, error)
    return _circle(space, chart.center, error, space.coordinates(chart.center, space.log(chart.center, value)))


def _disc(axes: Axes, release: Release, space: Plane, p: float) -> None:
    from matplotlib.patches import Circle, Polygon

    ball, error = public_ball(release), error_or_none(release, p)
    axes.add_patch(Circle((0, 0), 1.0, fc="#fbf9f6", ec=QUIET, lw=0.8, zorder=0))
    if error is not None:
        for fraction in LAYERS:
            axes.add_artist(Polygon(_error_edge(release, space, fraction * error), zorder=2, **LAYER))
        axes.plot(*_error_edge(release, space, error).T, color=RIM, lw=0.9, zorder=2, label=f"its {p:.0%} error")
    if ball.radius < 15:
        edge = _circle(space, ball.center, ball.radius)
        axes.plot(*edge.T, color=QUIET, lw=1.1, ls=":", zorder=3, label=f"edge of the {ball_name(release)}")
    centre, at = space.to_poincare(ball.center), space.to_poincare(release.value)
    axes.plot(*centre, ls="", marker="o", ms=6, mfc="white", mec=QUIET, zorder=4, label="public centre")
    axes.plot(*at, ls="", marker="o", ms=6, color=SHARP, zorder=5, label=name_of(release))
    axes.set(aspect="equal", xticks=[], yticks=[], frame_on=False)
