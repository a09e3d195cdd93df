"""Planar shapes: landmarks or outlines over the public reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..outlines import crosses_itself
from ..regions.ball import Ball
from ..spaces import PlanarShapes
from ..spaces.base import Array, Points
from .base import View, error_or_none, is_geodesic, noise_of, numbered
from .figures import ALPHA, LAYER, LAYERS, QUIET, SHARP, SOFT, figure, name_of, top_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..release import Release

MOST_NUMBERS = 100  # beside landmarks


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


class Shapes(View):
    origin, exact_up_to = "a regular polygon", np.inf

    def things(self, release: Release) -> str:
        return f"planar shapes of {len(release.value)} landmarks"

    def table(self, release: Release) -> tuple[Sequence[str], list[tuple[str, ...]]]:
        return ("Landmark", "x", "y"), numbered(release.value)

    def meaning(self, release: Release, error: float) -> str:
        return f"{error / np.sqrt(len(release.value)):.3g} a landmark if all share it, in shapes of size one"

    def shown(self, release: Release, p: float) -> str:
        own = "each landmark of that mean lies in the soft region about its own"
        return "" if noise_of(release, p) is None else f"{own} with probability {p:g}, taken by itself"

    def draw(self, release: Release, p: float, outline: Sequence[int] | None = None) -> Figure:
        panel = Panel(release, p)
        low, high = limits([panel])
        drawn = figure(9, 1.0 + min(max(9 * (high - low)[1] / (high - low)[0], 2.0), 8.0))
        axes = drawn.add_subplot()
        panel.draw(axes, low, high, 9, outline)
        top_legend(axes, 3)
        return drawn


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
            sides, halves, _ = np.linalg.svd(self.noise.moves(2).reshape(k, 2, -1))
            self.halves = np.pad(halves, ((0, 0), (0, 2 - halves.shape[1])))
            self.turns = np.degrees(np.arctan2(sides[:, 1, 0], sides[:, 0, 0]))
        self.label = f"its {p:.0%} error, {'shared evenly' if self.noise is None else 'by landmark'}"

    def draw(self, axes: Axes, low: Array, high: Array, width: float, outline: Sequence[int] | None) -> None:
        """On axes of this width in inches, between two corners; no marker hides what is about it."""
        axes.set(aspect="equal", xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        axes.axis("off")
        seen = 72 * width / (high - low)[0] * float(np.median(self.halves[:, 0]))
        if outline is None and looks_like_an_outline(self.reference):
            if seen > 0:
                soft_band(axes, self.released, self._widths(), low, high, self.label)
            draw_curves(axes, self.reference, self.released, self.name)
        else:
            if seen > 0:
                _discs(axes, self.released, self.halves, self.turns, self.label)
            size = min(max(0.7 * seen, 1.6), 5.0) if seen > 0 else 5.0
            draw_landmarks(axes, self.reference, self.released, self.name, outline, size)

    def _widths(self) -> Array:
        """How far the outline may be off at each landmark, across it."""
        if self.noise is None:
            return self.halves[:, 0]
        along = np.roll(self.released, -1, axis=0) - np.roll(self.released, 1, axis=0)
        across = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1, keepdims=True)
        moves = self.noise.moves(1).reshape(len(across), 2, -1)
        return np.asarray(np.linalg.norm(np.einsum("ki,kip->kp", across, moves), axis=1))


def limits(panels: Sequence[Panel], some: Sequence[int] | None = None) -> tuple[Array, Array]:
    """The corners of what is drawn of some landmarks, with room for what is about the outermost, and their markers."""
    rows = slice(None) if some is None else list(some)
    points = np.concatenate([each[rows] for panel in panels for each in (panel.reference, panel.released)])
    about = max(float(panel.halves[rows].max()) for panel in panels)
    margin = max(1.15 * about, 0.015 * float(np.ptp(points, axis=0).max()), 1e-9)
    return points.min(axis=0) - margin, points.max(axis=0) + margin


def draw_curves(axes: Axes, reference: Array, released: Array, name: str, closed: bool = True) -> None:
    """Both shapes as curves."""
    ring = [*range(len(reference)), *[0] * closed]
    axes.plot(*reference[ring].T, color=QUIET, lw=1.0, ls=":", zorder=1, label="public reference")
    axes.plot(*released[ring].T, color=SHARP, lw=1.2, marker="o", ms=2.5, zorder=4, label=name)


def draw_landmarks(
    axes: Axes, reference: Array, released: Array, name: str, outline: Sequence[int] | None, size: float
) -> None:
    """Both shapes as landmarks, each joined to where it was; numbered, of very many only some."""
    ring = [] if outline is None else [*outline, outline[0]]
    axes.plot(*reference[ring].T, color=QUIET, lw=0.8, ls=":", zorder=1)
    axes.plot(*released[ring].T, color=SHARP, lw=1.0, alpha=0.7, zorder=2)
    links = np.stack([reference, released, np.full_like(released, np.nan)], axis=1).reshape(-1, 2)
    axes.plot(*links.T, color=QUIET, lw=0.7, zorder=1)
    dot: dict[str, Any] = {"ls": "", "marker": "o", "ms": size}
    axes.plot(*reference.T, **dot, mfc="white", mec=QUIET, mew=0.2 * size, label="public reference", zorder=3)
    axes.plot(*released.T, **dot, color=SHARP, label=name, zorder=4)
    style: dict[str, Any] = {"textcoords": "offset points", "annotation_clip": True, "fontsize": 7, "color": SHARP}
    for i in range(0, len(released), -(-len(released) // MOST_NUMBERS)):
        axes.annotate(str(i + 1), released[i], xytext=(3, 3), **style).set_in_layout(False)


def _discs(axes: Axes, landmarks: Array, halves: Array, turns: Array, label: str) -> None:
    from matplotlib.patches import Ellipse

    for i, (at, size, turn) in enumerate(zip(landmarks, 2 * halves, turns, strict=True)):
        for part in LAYERS:  # add_patch would measure each for the limits
            axes.add_artist(Ellipse(at, *(size * part), angle=turn, **LAYER))
        axes.add_patch(Ellipse(at, *size, angle=turn, fill=False, ec=SOFT, lw=0.6, label=label if i == 0 else None))


def _turned(space: PlanarShapes, release: Release, center: Points) -> Array:
    """The released landmarks turned towards the reference; scaled only where shapes, which have no size, were released."""
    if is_geodesic(release):
        return space.present(space.align(center, release.value))
    z = release.value[:, 0] + 1j * release.value[:, 1]
    c = np.vdot(center, z)
    return space.present(z * (np.conj(c) / abs(c) if abs(c) > 0 else 1.0))


def soft_band(axes: Axes, ring: Array, widths: Array, low: Array, high: Array, label: str, closed: bool = True) -> None:
    """All points within ``widths``, of its corners, of a polygon, darker towards it."""
    x, y = (np.linspace(low[i], high[i], 400) for i in (0, 1))
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    distance = np.full(grid.shape[:2], np.inf)  # in widths
    sides = zip(ring, np.roll(ring, -1, axis=0), widths, np.roll(widths, -1), strict=True)
    for a, b, v, w in [*sides][: None if closed else -1]:
        side = b - a
        along = np.clip((grid - a) @ side / max(float(side @ side), 1e-300), 0.0, 1.0)
        off = np.linalg.norm(grid - a - along[..., None] * side, axis=-1)
        distance = np.minimum(distance, off / np.maximum(v + (w - v) * along, 1e-300))
    for fraction in LAYERS:
        axes.contourf(x, y, distance, levels=[-1.0, fraction], colors=[SOFT], alpha=ALPHA)
    axes.contour(x, y, distance, levels=[1.0], colors=[SOFT], linewidths=0.6)
    axes.fill([], [], color=SOFT, alpha=0.5, lw=0, label=label)
