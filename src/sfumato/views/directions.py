"""Directions, and axes, which have no sense: on a circle, on a globe, or by their coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..numerics.arrays import Array
from .base import (
    Links,
    View,
    ball_name,
    chart_of,
    error_or_none,
    is_geodesic,
    length,
    noise_of,
    population_label,
    population_of,
    public_ball,
)
from .figures import (
    FAINT,
    LAYER,
    LAYERS,
    PAIR,
    QUIET,
    REGION,
    RIM,
    SHARP,
    SOFT,
    TEXT,
    figure,
    intervals,
    marker,
    name_of,
    shared_legend,
)
from .globe import COARSE, coastlines, frame_of, graticule, is_place
from .words import in_degrees

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..release import Release


class Directions(View):
    origin, entry, exact_up_to = "an arbitrary pole", "Coordinate", np.inf

    def things(self, release: Release) -> str:
        return f"directions in {release.value.size} dimensions"

    def meaning(self, release: Release, error: float) -> str:
        return f"an angle of {np.degrees(cap_angle(release, error)):.3g}°" if length(release.value) > 0 else ""

    def seen(self, release: Release) -> str:
        if release.degrees is not None:
            return f"In degrees it is {in_degrees(release)}."
        if release.value.size > 3:
            return ""
        return f"Its coordinates are {', '.join(f'{x:.3g}' for x in release.value)}."

    def off_manifold(self, release: Release) -> str:
        return f"the released vector has length {length(release.value):.3g}: it is not a point of the sphere"

    def draw(self, release: Release, p: float, outline: Links | None = None) -> Figure:
        if length(release.value) > 0 and release.value.size in (2, 3):
            return (_draw_circle if release.value.size == 2 else _draw_globe)(release, p)
        return _draw_coordinates(release, p)

    def draw_pair(self, releases: Mapping[str, Release], radius: float, links: Links | None = None) -> Figure:
        if all(release.value.shape == (3,) and length(release.value) > 0 for release in releases.values()):
            (one, first), (two, second) = releases.items()
            return _draw_pair({one: first, two: replace(second, value=_facing(first, second.value))})
        return super().draw_pair(releases, radius, links)


def _draw_pair(releases: Mapping[str, Release]) -> Figure:
    """Both on one globe, and closer where they lie close together."""
    values = [release.value / length(release.value) for release in releases.values()]
    view = values[0] + values[1]
    view = values[0] if length(view) < 0.1 else view / length(view)
    edges = [edge for release in releases.values() if (edge := _region_edge(release, 0.95)) is not None]
    angle = max(_widest_angle(view, points) for points in (np.stack(values), *edges))
    closer = angle < 0.5
    drawn = figure(9.4 if closer else 6, 6.0 if closer else 7.0)
    panels = drawn.subplots(1, 2 if closer else 1, squeeze=False)[0]
    _pair_globe(panels[0], releases, view, 1.0)
    shared_legend(drawn, 2)
    if closer:
        _pair_globe(panels[1], releases, view, min(0.99, 1.25 * float(np.sin(angle))))
        panels[1].set_title(f"close up: {np.degrees(2.5 * angle):.2g}° across", fontsize=10, color=TEXT)
    return drawn


class Undirected(Directions):
    """Axes: the half of the globe about the released one, on which every axis has one end; on a circle both ends."""

    def things(self, release: Release) -> str:
        return f"axes in {release.value.size} dimensions"

    def shown(self, release: Release, p: float) -> str:
        return (
            "An axis has no sense: the end that is nearer to the released one is shown"
            if release.value.size == 3
            else ""
        )


def _facing(release: Release, points: Array) -> Array:
    """Points as they are; of axes the ends on the side of the released one."""
    if release.space.name != "axes":
        return points
    return np.asarray(np.where((points @ release.value)[..., None] < 0, -points, points))


def cap_angle(release: Release, error: float) -> float:
    """The angle about the released direction within which the direction of the statistic lies, if the error holds.

    Geodesic errors are arcs of radius 1/√κ, and no longer than those of a chart.  An ambient error is a Euclidean distance:
    between points of the sphere a chord, and about a vector v off the sphere a ball, which is seen from the origin under the
    angle arcsin(error/‖v‖).
    """
    q = np.sqrt(release.space.parameters.get("curvature", 1.0))
    if is_geodesic(release):
        return float(min(q * error, np.pi))
    if release.mechanism.options.get("project"):
        return float(2 * np.arcsin(min(q * error / 2, 1.0)))
    size = length(release.value)
    return float(np.arcsin(error / size)) if error < size else float(np.pi)


def _draw_coordinates(release: Release, p: float) -> Figure:
    """Every coordinate with the range that the error leaves it: that of a cap, or ± the error about a vector off the sphere."""
    error, value, centre = error_or_none(release, p), release.value, _facing(release, public_ball(release).center)
    bars = None
    if error is not None:
        on = release.on_manifold
        bars = _cap_range(value, cap_angle(release, error)) if on else (value - error, value + error)
    reach = _cap_range(centre, release.ball.radius / length(centre))
    return intervals(release, p, "coordinate", value, bars, centre, reach)


def _cap_range(point: Array, angle: float) -> tuple[Array, Array]:
    """Least and largest value of each coordinate within an angle of a point of a sphere."""
    size = length(point)
    away = np.arccos(np.clip(point / size, -1.0, 1.0))
    return size * np.cos(np.minimum(away + angle, np.pi)), size * np.cos(np.maximum(away - angle, 0.0))


def _draw_circle(release: Release, p: float) -> Figure:
    ball, error = public_ball(release), error_or_none(release, p)
    at, centre = (float(np.arctan2(v[1], v[0])) for v in (release.value, _facing(release, ball.center)))
    ends = (0.0, np.pi) if release.space.name == "axes" else (0.0,)
    drawn = figure(6, 6.6)
    axes = drawn.add_subplot(projection="polar")
    if error is not None:
        for end, fraction in product(ends, LAYERS):
            axes.bar(at + end, 0.12, width=2 * cap_angle(release, error) * fraction, bottom=0.94, **LAYER)
        axes.fill([], [], color=SOFT, alpha=0.5, lw=0, label=_angle_label(release, error, p))
    reach = centre + np.linspace(-1, 1, 181) * min(ball.radius / length(ball.center), np.pi)
    for end in ends:
        names = [None if end else name for name in (ball_name(release), "public centre", name_of(release))]
        axes.plot(reach + end, np.full(181, 0.9), color=QUIET, lw=1.0, ls=":", label=names[0])
        axes.plot(centre + end, 0.9, ls="", marker="o", mfc="white", mec=QUIET, label=names[1])
        axes.plot([at + end, at + end], [0, 1], color=SHARP, lw=1.2)
        seen = 6.0 if error is None else marker(160 * cap_angle(release, error))
        axes.plot(at + end, 1, ls="", marker="o", ms=seen, color=SHARP, label=names[2])
    axes.set(yticks=[], ylim=(0, 1.06))
    axes.tick_params(colors=TEXT, labelsize=9)
    axes.grid(color=FAINT)
    axes.spines["polar"].set_color(QUIET)
    shared_legend(drawn, 2)
    return drawn


def _draw_globe(release: Release, p: float) -> Figure:
    error = error_or_none(release, p)
    edge = _noise_edge(release, p)
    angle = None if error is None else cap_angle(release, error)
    if edge is not None:
        angle = _widest_angle(release.value, edge)
    if (region := _region_edge(release, p)) is not None:
        angle = max(angle or 0.0, _widest_angle(release.value, region))
    closer = angle is not None and angle < 0.25
    drawn = figure(9.4 if closer else 6, 5.7 if closer else 6.9)
    panels = drawn.subplots(1, 2 if closer else 1, squeeze=False)[0]
    _globe(panels[0], release, p, error, reach=1.0)
    shared_legend(drawn, 2 if not closer else 4 if region is None else 3)
    if closer and angle is not None:
        _globe(panels[1], release, p, error, reach=1.6 * float(np.sin(angle)))
        panels[1].set_title(f"close up: {np.degrees(3.2 * angle):.2g}° across", fontsize=10, color=SHARP)
    return drawn


def _globe(axes: Axes, release: Release, p: float, error: float | None, reach: float) -> None:
    """The sphere from straight above the released direction; ``reach`` is how much of its radius is shown."""
    from matplotlib.patches import Polygon

    view, whole = release.value / length(release.value), reach == 1.0
    frame = _sphere(axes, view, reach, release.degrees is not None)
    if _are_places(release):
        _draw_coasts(axes, frame, reach)
    if (region := _region_edge(release, p)) is not None:
        _curve(axes, frame @ region.T / length(release.value), whole, zorder=3, label=population_label(p), **REGION)
    if error is not None:
        angle, shape = cap_angle(release, error), _noise_edge(release, p)
        label, edge = _angle_label(release, error, p), np.sin(min(angle, np.pi / 2)) * _turns(2)
        if shape is not None:
            label, edge = f"its {p:.0%} error", shape @ frame[:2].T / length(release.value)
        for fraction in LAYERS:
            axes.add_artist(Polygon(fraction * edge, zorder=2, **LAYER))
        flat = shape is not None and np.linalg.matrix_rank(edge, 1e-6) < 2
        axes.plot(*edge.T, color=RIM, lw=3.0 if flat else 0.9, zorder=2, label=label)
    _draw_ball(axes, release, frame, whole)
    axes.plot(0, 0, ls="", marker="o", ms=6, color=SHARP, zorder=5, label=name_of(release))


def _sphere(axes: Axes, view: Array, reach: float, degrees: bool) -> Array:
    """A globe, or a part of it, from straight above a direction: across, up and towards the eye.  It has degrees, or axes."""
    from matplotlib.patches import Circle

    whole, frame = reach == 1.0, frame_of(view)
    if whole:
        axes.add_patch(Circle((0, 0), 1.0, fc="#fbf9f6", ec=QUIET, lw=0.8, zorder=0))
    style: dict[str, Any] = {"fontsize": 8, "color": TEXT, "ha": "center", "va": "center", "zorder": 4}
    for line in graticule(view, reach):
        _curve(axes, frame @ line.points.T, whole, color=FAINT, lw=0.7, zorder=1)
        if degrees and line.at is not None:
            axes.text(*line.at, line.words, bbox={"fc": "white", "ec": "none", "alpha": 0.75, "pad": 0.8}, **style)
    shown = 1.12 if whole else reach
    axes.set(aspect="equal", xlim=(-shown, shown), ylim=(-shown, shown), xticks=[], yticks=[], frame_on=not whole)
    axes.spines[:].set_color(FAINT)
    names = zip(("+x", "+y", "+z", "−x", "−y", "−z"), 1.03 * np.vstack([frame.T, -frame.T]), strict=True)
    for text, end in names if whole and not degrees else ():
        if end[2] > -0.2:
            axes.annotate(text, end[:2], xytext=(0, 5), textcoords="offset points", **{**style, "va": "bottom"})
    return frame


def _pair_globe(axes: Axes, releases: Mapping[str, Release], view: Array, reach: float) -> None:
    """Two directions, each with the region of its population's mean, and the shortest way from the first to the second."""
    from matplotlib.patches import Polygon

    degrees = all(release.degrees is not None for release in releases.values())
    frame, whole, ends = _sphere(axes, view, reach, degrees), reach == 1.0, list[Array]()
    if all(map(_are_places, releases.values())):
        _draw_coasts(axes, frame, reach)
    for color, mark, (name, release) in zip(PAIR, "os", releases.items(), strict=True):
        at, edge = release.value / length(release.value), _region_edge(release, 0.95)
        if edge is not None:
            around = edge / length(release.value) @ frame.T
            axes.add_patch(Polygon(around[:, :2], color=color, alpha=0.15, lw=0, zorder=2))
            _curve(axes, around.T, whole, color=color, lw=1.1, zorder=3, label=f"95% region, population of {name}")
        x, y, _ = frame @ at
        axes.plot(x, y, ls="", marker=mark, ms=6, color=color, zorder=5, label=f"released mean of {name}")
        ends.append(at)
    part = np.linspace(0, 1, 60)[:, None]
    way = (1 - part) * ends[0] + part * ends[1]
    way /= np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300)
    _curve(axes, frame @ way.T, whole, color="#222222", lw=0.8, zorder=4)


def _widest_angle(direction: Array, edge: Array) -> float:
    """The largest angle between a direction and those of an edge."""
    cosine = edge @ direction / (np.linalg.norm(edge, axis=1) * length(direction))
    return float(np.arccos(np.clip(cosine, -1.0, 1.0)).max())


def _region_edge(release: Release, level: float) -> Array | None:
    """Round the region for the population's mean, where there is one on this side of the globe."""
    found = population_of(release, level)
    if found is None or len(found.w) > 2:
        return None
    edge = _facing(release, found.values(found.reach(len(found.w)) * _turns(len(found.w))))
    return edge if (edge @ release.value > 0).all() else None


def _draw_ball(axes: Axes, release: Release, frame: Array, whole: bool) -> None:
    """The public centre and the edge of the public ball, on a globe."""
    ball, chart = public_ball(release), chart_of(release)
    q, name = 1 / length(ball.center), f"edge of the {ball_name(release)}"
    centre, reached = q * _facing(release, ball.center), min(q * ball.radius, np.pi)
    side = np.linalg.svd(centre[None])[2][1:]  # two directions across the centre
    edge = np.cos(reached) * centre + np.sin(reached) * (_turns(2) @ side)
    if chart is not None and release.chart is not None and release.chart.basis is not None:
        edge, name = q * _facing(release, chart.point(_turns(len(chart.axes)))), "edge of the public ellipse"
    _curve(axes, frame @ edge.T, whole, color=QUIET, lw=1.1, ls=":", zorder=3, label=name)
    x, y, depth = frame @ centre
    seen = 1.0 if depth >= 0 else 0.4
    axes.plot(x, y, ls="", marker="o", ms=6, mfc="white", mec=QUIET, alpha=seen, zorder=4, label="public centre")


def _noise_edge(release: Release, p: float) -> Array | None:
    """Round what holds the direction of the statistic with probability p, if noise has a shape and leaves it on this side."""
    noise = noise_of(release, p)
    if noise is None:
        return None
    edge = _facing(release, noise.values(noise.reach(len(noise.w)) * _turns(len(noise.w))))
    return edge if (edge @ release.value > 0).all() else None


def _turns(p: int) -> Array:
    """Once round the circle; of a line, forth and back."""
    turn = np.linspace(0, 2 * np.pi, 361)
    return np.stack([np.cos(turn), np.sin(turn)], axis=1)[:, :p]


def _curve(axes: Axes, points: Array, whole: bool, **style: Any) -> None:
    """A line on a globe; faint on the far side, which a close-up does not show."""
    x, y, depth = points
    shown = depth >= 0
    axes.plot(np.where(shown, x, np.nan), np.where(shown, y, np.nan), **style)
    if whole:
        style = {**style, "label": None, "alpha": 0.35, "lw": 0.6 * style["lw"]}
        axes.plot(np.where(shown, np.nan, x), np.where(shown, np.nan, y), **style)


def _are_places(release: Release) -> bool:
    """Whether the records came as latitudes and longitudes."""
    return release.degrees is not None and is_place(tuple(release.degrees))


def _draw_coasts(axes: Axes, frame: Array, reach: float) -> None:
    """Those on the near side; none in a close-up, for which they are too coarse."""
    for line in coastlines() if reach > COARSE else []:
        _curve(axes, frame @ line.T, False, color=QUIET, lw=0.7, zorder=1)


def _angle_label(release: Release, error: float, p: float) -> str:
    angle = cap_angle(release, error)
    return f"its {p:.0%} error: {angle:.3g} rad, {np.degrees(angle):.3g}°"
