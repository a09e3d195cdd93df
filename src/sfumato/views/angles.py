"""Angles: two on a square that is joined at its sides, others on a circle each."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ..numerics.arrays import Array
from .base import Links, Table, View, chart_of, error_or_none
from .figures import (
    FAINT,
    LAYER,
    LAYERS,
    QUIET,
    RIM,
    SHARP,
    SOFT,
    TEXT,
    close_up,
    figure,
    marker,
    name_of,
    plain,
    shared_legend,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..release import Release

CLOSE = 0.35  # radians: a smaller error is shown a second time, larger
MOST = 12  # circles in a picture; more angles than that are a table


class Angles(View):
    entry, origin, exact_up_to = "Angle, in radians", "an arbitrary angle", np.inf

    def things(self, release: Release) -> str:
        count = release.value.size
        return "angles" if count == 1 else f"sets of {count} angles"

    def meaning(self, release: Release, error: float) -> str:
        return f"every angle within {np.degrees(min(error, np.pi)):.3g}°"

    def caption(self, release: Release) -> str:
        return Table().caption(release) if release.value.size > MOST else super().caption(release)

    def draw(self, release: Release, p: float, outline: Links | None = None) -> Figure:
        count = release.value.size
        if count > MOST:
            return super().draw(release, p)
        from matplotlib.ticker import MaxNLocator

        error = error_or_none(release, p)
        closer = count == 2 and error is not None and error < CLOSE
        size = (9.8, 5.6) if closer else (6.4, 6.8) if count <= 2 else (9.4, 1.0 + 2.9 * -(-count // 4))
        drawn = figure(*size)
        if count == 2:
            panels = drawn.subplots(1, 1 + closer, squeeze=False)[0]
            for axes in panels:
                _square(axes, release, p)
            if closer and error is not None:
                close_up(panels[1], np.degrees(release.value), float(np.degrees(error)), "°")
                for axis in (panels[1].xaxis, panels[1].yaxis):
                    axis.set_major_locator(MaxNLocator(5))
        else:
            columns = min(count, 4)
            for j in range(count):
                axes = drawn.add_subplot(-(-count // columns), columns, j + 1, projection="polar")
                _circle(axes, release, p, j)
                axes.set_title("" if count == 1 else f"angle {j + 1}", fontsize=10, color=SHARP)
        shared_legend(drawn, 2 if count <= 2 and not closer else 4)
        return drawn


def _reach(release: Release) -> Array:
    """How far from the public centre clipping let each angle be."""
    region = chart_of(release)
    if region is None:
        return np.full(release.value.size, release.ball.radius)
    return np.asarray(np.linalg.norm(region.axes[:, None] * region.basis, axis=0))


def _circle(axes: Axes, release: Release, p: float, j: int) -> None:
    at, centre, error = release.value[j], release.ball.center[j], error_or_none(release, p)
    if error is not None:
        for fraction in LAYERS:
            axes.bar(at, 0.12, width=2 * min(error * fraction, np.pi), bottom=0.94, **LAYER)
        axes.fill([], [], color=SOFT, alpha=0.5, lw=0, label=f"its {p:.0%} error")
    reach = centre + np.linspace(-1, 1, 181) * min(_reach(release)[j], np.pi)
    axes.plot(reach, np.full(181, 0.9), color=QUIET, lw=1.0, ls=":", label="range of clipped records")
    axes.plot(centre, 0.9, ls="", marker="o", mfc="white", mec=QUIET, label="public centre")
    axes.plot([at, at], [0, 1], color=SHARP, lw=1.2)
    seen = 6.0 if error is None else marker(72 * error)
    axes.plot(at, 1, ls="", marker="o", ms=seen, color=SHARP, label=name_of(release))
    axes.set(yticks=[], ylim=(0, 1.06))
    axes.tick_params(colors=TEXT, labelsize=8)
    axes.grid(color=FAINT)
    axes.spines["polar"].set_color(QUIET)


def _square(axes: Axes, release: Release, p: float) -> None:
    """In degrees; what leaves at one side comes in at the other."""
    from matplotlib.patches import Polygon

    turn = np.linspace(0, 2 * np.pi, 361)
    ring, error, region = np.stack([np.cos(turn), np.sin(turn)], axis=1), error_or_none(release, p), chart_of(release)
    value, centre = np.degrees(release.value), np.degrees(np.asarray(release.ball.center, dtype=np.float64))
    edge = release.ball.radius * ring
    if region is not None:
        edge = region.tangent(ring[:, : len(region.axes)])
    for first, shift in enumerate(sorted(product((0, -360, 360), repeat=2), key=lambda s: np.abs(s).sum())):
        if error is not None:
            for fraction in LAYERS:
                axes.add_artist(Polygon(value + shift + np.degrees(error * fraction) * ring, **LAYER))
            axes.plot(*(value + shift + np.degrees(error) * ring).T, color=RIM, lw=0.6)
        label = None if first else "range of clipped records"
        axes.plot(*(centre + shift + np.degrees(edge)).T, color=QUIET, lw=1.0, ls=":", label=label)
    if error is not None:
        axes.fill([], [], color=SOFT, alpha=0.5, lw=0, label=f"its {p:.0%} error")
    axes.plot(*centre, ls="", marker="o", mfc="white", mec=QUIET, label="public centre")
    axes.plot(*value, ls="", marker="o", color=SHARP, label=name_of(release))
    axes.set(aspect="equal", xlim=(-180, 180), ylim=(-180, 180))
    axes.set(xticks=range(-180, 181, 60), yticks=range(-180, 181, 60))
    axes.set(xlabel="angle 1, in degrees", ylabel="angle 2, in degrees")
    plain(axes)
