"""Planar shapes: landmarks or outlines over the public reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..landmarks.outlines import crosses_itself
from ..numerics.arrays import Array, Points
from ..regions.ball import Ball
from ..spaces import PlanarShapes
from .base import Links, Noise, View, error_or_none, is_geodesic, noise_of, numbered, population_label, population_of
from .bending import bent_grid, can_bend, magnified
from .figures import (
    ALPHA,
    LAYER,
    LAYERS,
    PAIR,
    QUIET,
    REGION,
    RIM,
    SHARP,
    SOFT,
    TEXT,
    balanced,
    figure,
    name_of,
    shared_legend,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..release import Release

MOST_NUMBERS = 100  # beside landmarks
BESIDE = 0.45  # height to width, above which a grid stands beside a shape, not below


def looks_like_an_outline(landmarks: Array) -> bool:
    """Whether landmarks follow a closed curve: 20 or more, no step longer than a quarter of the whole, no crossing.

    >>> angle = 2 * np.pi * np.arange(30) / 30
    >>> circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    >>> looks_like_an_outline(circle), looks_like_an_outline(np.random.default_rng(0).permutation(circle))
    (True, False)
    """
    steps = np.linalg.norm(landmarks - np.roll(landmarks, 1, axis=0), axis=1)
    size = np.linalg.norm(np.ptp(landmarks, axis=0))
    return len(landmarks) >= 20 and bool(steps.max() <= size / 4) and not bool(crosses_itself(landmarks))


def shown(release: Release, p: float) -> str:
    """What the soft regions about landmarks are, and that a grid bends with the noise too."""
    own = f"each landmark of that mean lies in the soft region about its own with probability {p:g}, taken by itself"
    grid = "the grid bends by all that was released, noise included"
    return grid if noise_of(release, p) is None else f"{own}; {grid}"


def farthest(reference: Array, released: Array) -> str:
    """Which landmarks moved most, in words."""
    moved, size = np.linalg.norm(released - reference, axis=1), float(np.ptp(reference, axis=0).max())
    first, *others = (f"{i + 1} ({moved[i] / size:.2%})" for i in np.argsort(-moved)[:3])
    others_too = f", then {' and '.join(others)}" if others else ""
    return f"Landmark {first} lies farthest from where the reference has it, in parts of the length{others_too}."


class Shapes(View):
    origin, exact_up_to = "a regular polygon", np.inf

    def things(self, release: Release) -> str:
        return f"planar shapes of {len(release.value)} landmarks"

    def table(self, release: Release) -> tuple[Sequence[str], list[tuple[str, ...]]]:
        return ("Landmark", "x", "y"), numbered(release.value)

    def meaning(self, release: Release, error: float) -> str:
        return f"{error / np.sqrt(len(release.value)):.3g} a landmark if all share it, in shapes of size one"

    def caption(self, release: Release) -> str:
        grid = " A square grid on the reference is bent as the landmarks moved." * can_bend(
            Panel(release, 0.95).reference
        )
        return super().caption(release) + grid

    def shown(self, release: Release, p: float) -> str:
        return shown(release, p)

    def seen(self, release: Release) -> str:
        panel = Panel(release, 0.95)
        return farthest(panel.reference, panel.released)

    def draw(self, release: Release, p: float, outline: Links | None = None) -> Figure:
        """Both shapes over each other with the error, and a grid on the reference that bends to the release."""
        panel = Panel(release, p)
        low, high = limits([panel])
        ratio, bends = float((high - low)[1] / (high - low)[0]), can_bend(panel.reference)
        beside = bends and ratio > BESIDE
        width = 9.0 / (1 + beside)
        tall = min(max(width * ratio, 2.0), 8.0)
        drawn = figure(9, 1.3 + tall * (2 if bends and not beside else 1))
        panels = drawn.subplots(1 if beside or not bends else 2, 2 if beside else 1, squeeze=False).ravel()
        panel.draw(panels[0], low, high, width, outline)
        if bends:
            times = magnified(panel.reference, panel.released)
            draw_grid(panels[1], panel.reference, panel.released, outline, times=times)
            title = balanced(grid_title("the public reference", f"the {panel.name}", times), int(12 * width))
            panels[1].set_title("\n".join(title), fontsize=10, color=TEXT)
        shared_legend(drawn, 3 if panel.region is None else 4)
        return drawn

    def draw_pair(self, releases: Mapping[str, Release], radius: float, links: Links | None = None) -> Figure:
        """Both shapes over each other with the way of each landmark from the first to the second, and the same as a grid."""
        first, second = (Panel(release, 0.95) for release in releases.values())
        tips = _tips(first, second, radius)
        points = np.concatenate([first.released, second.released])
        low, high = points.min(axis=0), points.max(axis=0)
        margin = 0.08 * float((high - low).max())
        low, high = low - margin, high + margin
        ratio, bends = float((high - low)[1] / (high - low)[0]), can_bend(first.released)
        rows, columns = (1, 1) if not bends else (1, 2) if ratio > BESIDE else (2, 1)
        drawn = figure(9.0, 1.1 + rows * float(np.clip(9.0 * ratio / columns, 1.8, 6.0)))
        axes = drawn.subplots(rows, columns, squeeze=False).ravel()
        draw_overlay(axes[0], [*releases], first.released, second.released, tips, links)
        axes[0].set(aspect="equal", xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        axes[0].axis("off")
        one, two = releases
        axes[0].set_title(f"from {one} to {two}", fontsize=10, color=TEXT)
        if bends:
            times = magnified(first.released, second.released)
            draw_grid(axes[1], first.released, second.released, links, PAIR[1], "s", times)
            title = balanced(grid_title(one, two, times), int(12 * 9.0 / columns))
            axes[1].set_title("\n".join(title), fontsize=10, color=TEXT)
        shared_legend(drawn, 4)
        return drawn


def _ellipses(noise: Noise, k: int) -> tuple[Array, Array]:
    """Of each landmark the half-axes of the image of the ball, and its turn in degrees."""
    sides, halves, _ = np.linalg.svd(noise.moves(2).reshape(k, 2, -1))
    return np.pad(halves, ((0, 0), (0, 2 - halves.shape[1]))), np.degrees(np.arctan2(sides[:, 1, 0], sides[:, 0, 0]))


class Panel:
    """A release as it is drawn: the landmarks of the centre and the value, and an ellipse about each, by half-axes and turn.

    The error is one distance for the whole shape: each of k landmarks gets a disc of error/√k, its share if all were off by as
    much.  The noise of a chart has a shape: each landmark gets the ellipse that holds it with probability p, by itself; an
    outline gets a band as wide as its landmarks may be off across it.
    """

    def __init__(self, release: Release, p: float) -> None:
        space, k = PlanarShapes(len(release.value)), len(release.value)
        center = Ball(space, release.ball.center, release.ball.radius).center
        self.name, self.reference = name_of(release), space.present(center)
        self.released = _turned(space, release, center)
        error, self.noise = error_or_none(release, p), noise_of(release, p)
        self.halves, self.turns = np.full((k, 2), 0.0 if error is None else error / np.sqrt(k)), np.zeros(k)
        if self.noise is not None:
            self.halves, self.turns = _ellipses(self.noise, k)
        self.region = population_of(release, p)
        self.region_label = population_label(p)
        self.label = f"its {p:.0%} error, {'shared evenly' if self.noise is None else 'by landmark'}"

    def draw(self, axes: Axes, low: Array, high: Array, width: float, outline: Links | None) -> None:
        """On axes of this width in inches, between two corners; no marker hides what is about it."""
        axes.set(aspect="equal", xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        axes.axis("off")
        region = None if self.region is None else _ellipses(self.region, len(self.released))
        seen = 72 * width / (high - low)[0] * float(np.median(self.halves[:, 0]))
        if outline is None and looks_like_an_outline(self.reference):
            if seen > 0:
                soft_band(axes, self.released, self._widths(self.noise), low, high, self.label)
            if self.region is not None:
                _rim(axes, self.released, self._widths(self.region), low, high, self.region_label)
            draw_curves(axes, self.reference, self.released, self.name)
        else:
            if seen > 0:
                _discs(axes, self.released, self.halves, self.turns, self.label)
            if region is not None:
                draw_outlines(axes, self.released, *region, self.region_label)
            size = min(max(0.7 * seen, 1.6), 5.0) if seen > 0 else 5.0
            wide = 0.0 if region is None else 72 * width / (high - low)[0] * float(np.median(region[0][:, 0]))
            draw_landmarks(axes, self.reference, self.released, self.name, outline, size, 3 + 0.75 * wide)

    def _widths(self, noise: Noise | None) -> Array:
        """How far the outline may be off at each landmark, across it."""
        if noise is None:
            return self.halves[:, 0]
        along = np.roll(self.released, -1, axis=0) - np.roll(self.released, 1, axis=0)
        across = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1, keepdims=True)
        moves = noise.moves(1).reshape(len(across), 2, -1)
        return np.asarray(np.linalg.norm(np.einsum("ki,kip->kp", across, moves), axis=1))


def limits(panels: Sequence[Panel], some: Sequence[int] | None = None) -> tuple[Array, Array]:
    """The corners of what is drawn of some landmarks, with room for what is about the outermost, and their markers."""
    rows = slice(None) if some is None else list(some)
    points = np.concatenate([each[rows] for panel in panels for each in (panel.reference, panel.released)])
    about = max(float(panel.halves[rows].max()) for panel in panels)
    wide = [_ellipses(panel.region, len(panel.released))[0] for panel in panels if panel.region is not None]
    about = max([about, *(float(halves[rows].max()) for halves in wide)])
    margin = max(1.15 * about, 0.015 * float(np.ptp(points, axis=0).max()), 1e-9)
    return points.min(axis=0) - margin, points.max(axis=0) + margin


def _tips(first: Panel, second: Panel, radius: float) -> tuple[Array, Array] | None:
    """What the region for the difference leaves to the end of each arrow, where a chart is known: half-axes and turns."""
    if second.region is None:
        return None
    return _ellipses(replace(second.region, fixed=radius), len(second.released))


def draw_overlay(
    axes: Axes,
    names: Sequence[str],
    first: Array,
    second: Array,
    tips: tuple[Array, Array] | None,
    links: Links | None = None,
) -> None:
    """Two shapes, and an arrow for each landmark, as long as the difference is."""
    closed, pairs = links is None and looks_like_an_outline(first), joined(links, len(first))
    ring = [*range(len(first)), 0]
    for shape, color, name, mark in zip((first, second), PAIR, names, "os", strict=True):
        size = 1.5 if closed else 3.5
        style: dict[str, Any] = {"ls": "-" if closed else "", "lw": 1.2, "marker": mark, "ms": size, "color": color}
        axes.plot(*shape[ring if closed else slice(None)].T, label=name, zorder=3, **style)
        draw_links(axes, shape, pairs, color, "-" if mark == "o" else "--")
    if tips is not None and not closed:
        draw_outlines(axes, second, *tips, "95% region for the difference", color=QUIET)
    arrow: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.0025, "color": "#222222"}
    axes.quiver(*first.T, *(second - first).T, headwidth=5, headlength=6, headaxislength=5, zorder=4, **arrow)
    middle = first.mean(axis=0)
    out = [max(pair, key=lambda at: float(np.linalg.norm(at - middle))) for pair in zip(first, second, strict=True)]
    for i, at in enumerate(out if len(out) <= MOST_NUMBERS and not closed else [], start=1):
        away = 11 * (at - middle) / max(float(np.linalg.norm(at - middle)), 1e-300)
        style = {"textcoords": "offset points", "fontsize": 8, "color": TEXT, "ha": "center", "va": "center"}
        axes.annotate(str(i), at, xytext=tuple(away), **style)


def draw_grid(
    axes: Axes, first: Array, second: Array, links: Links | None, color: str = SHARP, mark: str = "o", times: int = 1
) -> None:
    """A square grid about the first shape, bent to the second, on which both stand; drawn ``times`` as large."""
    second = first + times * (second - first)
    points = np.concatenate([first, second])
    margin = 0.08 * float(np.ptp(points, axis=0).max())
    low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
    for line in bent_grid(first, second, low, high):
        axes.plot(*line.T, color=QUIET, lw=0.5, zorder=1)
    ways = np.stack([first, second, np.full_like(second, np.nan)], axis=1).reshape(-1, 2)
    axes.plot(*ways.T, color=color, lw=0.6, zorder=2)
    pairs = lines_between(links, first)
    draw_links(axes, second, pairs, color, "-")
    axes.plot(*first.T, ls="", marker="o", ms=2.4, mfc="white", mec=QUIET, mew=0.6, zorder=3)
    axes.plot(*second.T, ls="", marker=mark, ms=2 if len(second) > 30 else 3.5, color=color, zorder=4)
    axes.set(aspect="equal")
    axes.axis("off")


def grid_title(first: str, second: str, times: int) -> str:
    """What a grid shows, in words."""
    larger = f"; differences drawn {times} times as large" if times > 1 else ""
    return f"a grid on {first}, bent to {second}{larger}"


def lines_between(links: Links | None, shape: Array) -> NDArray[np.intp]:
    """Pairs of landmarks to join: those that are given, or those of an outline."""
    closed = links is None and looks_like_an_outline(shape)
    return joined(range(len(shape)) if closed else links, len(shape))


def draw_links(axes: Axes, shape: Array, pairs: NDArray[np.intp], color: str, style: str) -> None:
    """Lines between pairs of landmarks."""
    lines = np.concatenate([shape[pairs], np.full((len(pairs), 1, 2), np.nan)], axis=1).reshape(-1, 2)
    axes.plot(*lines.T, color=color, ls=style, lw=1.0, alpha=0.8, zorder=2)


def draw_curves(axes: Axes, reference: Array, released: Array, name: str, closed: bool = True) -> None:
    """Both shapes as curves."""
    ring = [*range(len(reference)), *[0] * closed]
    axes.plot(*reference[ring].T, color=QUIET, lw=1.0, ls=":", zorder=1, label="public reference")
    axes.plot(*released[ring].T, color=SHARP, lw=1.2, marker="o", ms=2.5, zorder=4, label=name)


def joined(links: Links | None, k: int) -> NDArray[np.intp]:
    """Pairs of landmarks, from 0, that lines join: those that are given, or a closed line through landmarks in their order.

    >>> joined([0, 2, 1], 3).tolist(), joined([(0, 1)], 3).tolist(), joined(None, 3).tolist()
    ([[0, 2], [2, 1], [1, 0]], [[0, 1]], [])
    """
    given = np.array([] if links is None else links, dtype=np.intp)
    pairs = np.stack([given, np.roll(given, -1)], axis=1) if given.ndim == 1 and given.size else given.reshape(-1, 2)
    if pairs.size and not (pairs.min() >= 0 and pairs.max() < k):
        raise ValueError(f"a line joins a landmark that is none of the {k}: {pairs.max() + 1}")
    return pairs


def draw_landmarks(
    axes: Axes,
    reference: Array,
    released: Array,
    name: str,
    outline: Links | None,
    size: float,
    away: float = 3.0,
) -> None:
    """Both shapes as landmarks, each joined to where it was; numbered, of very many only some, so many points ``away``."""
    pairs = joined(outline, len(released))
    for shape, color, style in ((reference, QUIET, ":"), (released, SHARP, "-")):
        draw_links(axes, shape, pairs, color, style)
    links = np.stack([reference, released, np.full_like(released, np.nan)], axis=1).reshape(-1, 2)
    axes.plot(*links.T, color=QUIET, lw=0.7, zorder=1)
    dot: dict[str, Any] = {"ls": "", "marker": "o", "ms": size}
    axes.plot(*reference.T, **dot, mfc="white", mec=QUIET, mew=0.2 * size, label="public reference", zorder=3)
    axes.plot(*released.T, **dot, color=SHARP, label=name, zorder=4)
    words: dict[str, Any] = {"textcoords": "offset points", "annotation_clip": True, "fontsize": 8, "color": SHARP}
    for i in range(0, len(released), -(-len(released) // MOST_NUMBERS)):
        axes.annotate(str(i + 1), released[i], xytext=(away, away), **words).set_in_layout(False)


def _discs(axes: Axes, landmarks: Array, halves: Array, turns: Array, label: str) -> None:
    from matplotlib.patches import Ellipse

    for i, (at, size, turn) in enumerate(zip(landmarks, 2 * halves, turns, strict=True)):
        for part in LAYERS:  # add_patch would measure each for the limits
            axes.add_artist(Ellipse(at, *(size * part), angle=turn, **LAYER))
        axes.add_patch(Ellipse(at, *size, angle=turn, fill=False, ec=RIM, lw=0.6, label=label if i == 0 else None))


def draw_outlines(axes: Axes, landmarks: Array, halves: Array, turns: Array, label: str, **style: Any) -> None:
    """An empty ellipse about each landmark."""
    from matplotlib.patches import Ellipse

    for i, (at, size, turn) in enumerate(zip(landmarks, 2 * halves, turns, strict=True)):
        about = {**REGION, "ls": "-", "lw": 0.8, **style}
        edge = Ellipse(
            at, *size, angle=turn, fill=False, ec=about.pop("color"), label=label if i == 0 else None, **about
        )
        axes.add_patch(edge)


def _turned(space: PlanarShapes, release: Release, center: Points) -> Array:
    """The released landmarks turned towards the reference; scaled only where shapes, which have no size, were released."""
    if is_geodesic(release):
        return space.present(space.align(center, release.value))
    z = release.value[:, 0] + 1j * release.value[:, 1]
    c = np.vdot(center, z)
    return space.present(z * (np.conj(c) / abs(c) if abs(c) > 0 else 1.0))


def _rim(axes: Axes, ring: Array, widths: Array, low: Array, high: Array, label: str) -> None:
    """The edge of all points within ``widths``, of its corners, of a closed polygon."""
    style = {"colors": [REGION["color"]], "linewidths": REGION["lw"], "linestyles": "dashed"}
    axes.contour(*_in_widths(ring, widths, low, high), levels=[1.0], **style)
    axes.plot([], [], label=label, **REGION)


def soft_band(axes: Axes, ring: Array, widths: Array, low: Array, high: Array, label: str, closed: bool = True) -> None:
    """All points within ``widths``, of its corners, of a polygon, darker towards it."""
    x, y, distance = _in_widths(ring, widths, low, high, closed)
    for fraction in LAYERS:
        axes.contourf(x, y, distance, levels=[-1.0, fraction], colors=[SOFT], alpha=ALPHA)
    axes.contour(x, y, distance, levels=[1.0], colors=[RIM], linewidths=0.6)
    axes.fill([], [], color=SOFT, alpha=0.5, lw=0, label=label)


def _in_widths(ring: Array, widths: Array, low: Array, high: Array, closed: bool = True) -> tuple[Array, Array, Array]:
    """Places between two corners, and how far each is from a polygon, in widths."""
    x, y = (np.linspace(low[i], high[i], 400) for i in (0, 1))
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    distance = np.full(grid.shape[:2], np.inf)  # in widths
    sides = zip(ring, np.roll(ring, -1, axis=0), widths, np.roll(widths, -1), strict=True)
    for a, b, v, w in [*sides][: None if closed else -1]:
        side = b - a
        along = np.clip((grid - a) @ side / max(float(side @ side), 1e-300), 0.0, 1.0)
        off = np.linalg.norm(grid - a - along[..., None] * side, axis=-1)
        distance = np.minimum(distance, off / np.maximum(v + (w - v) * along, 1e-300))
    return x, y, distance
