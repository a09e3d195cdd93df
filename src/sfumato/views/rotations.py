"""Rotations of space: where they take the three axes, with a soft cap about each end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..numerics.arrays import Array
from .base import Links, View, error_or_none, numbered
from .figures import FAINT, LAYER, LAYERS, QUIET, RIM, SHARP, SOFT, figure, marker, name_of, shared_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..release import Release

EYE = np.array([0.8, 0.45, 0.4])  # where the picture is seen from


class Rotations(View):
    centers, exact_up_to = ("origin", "identity"), np.inf

    def things(self, release: Release) -> str:
        return "rotations of space"

    def table(self, release: Release) -> tuple[Sequence[str], list[tuple[str, ...]]]:
        return ("", "1", "2", "3"), numbered(release.value)

    def meaning(self, release: Release, error: float) -> str:
        return f"a rotation by {np.degrees(min(error, np.pi)):.3g}°"

    def seen(self, release: Release) -> str:
        turn = np.asarray(release.ball.center).T @ release.value
        angle = np.degrees(np.arccos(np.clip((np.trace(turn) - 1) / 2, -1.0, 1.0)))
        return f"It is turned by {angle:.3g}° from the public centre."

    def off_manifold(self, release: Release) -> str:
        return "the released matrix is not a rotation"

    def shown(self, release: Release, p: float) -> str:
        return "A rotation by an angle moves no axis by more than that: each cap holds its axis, all three at once"

    def draw(self, release: Release, p: float, outline: Links | None = None) -> Figure:
        """The images of the axes x, y, z on the unit sphere, seen from one side; what points away is faint."""
        from matplotlib.patches import Circle

        drawn = figure(6, 6.6)
        axes = drawn.add_subplot()
        axes.add_patch(Circle((0, 0), 1.0, fc="#fbf9f6", ec=FAINT, lw=0.8, zorder=0))
        value, error = np.asarray(release.value), error_or_none(release, p)
        frame = _seen_from(EYE)
        if error is not None:
            angle = min(error, np.pi)
            for axis in value.T:
                _cap(axes, frame, axis, angle)
            label = f"its {p:.0%} error: {angle:.3g} rad, {np.degrees(angle):.3g}°"
            axes.fill([], [], color=SOFT, alpha=0.5, lw=0, label=label)
        _arrows(axes, frame, np.asarray(release.ball.center), QUIET, "public centre", dashed=True)
        seen = 5.0 if error is None else marker(160 * error, 5.0)
        _arrows(axes, frame, value, SHARP, name_of(release), False, seen)
        axes.set(aspect="equal", xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), xticks=[], yticks=[], frame_on=False)
        shared_legend(drawn, 2)
        return drawn


def _seen_from(eye: Array) -> Array:
    """Rows: to the right, up, and towards the eye."""
    view = eye / np.linalg.norm(eye)
    right = np.cross([0.0, 0.0, 1.0], view)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(view, right), view])


def _arrows(axes: Axes, frame: Array, matrix: Array, color: str, label: str, dashed: bool, size: float = 5.0) -> None:
    for name, (x, y, depth) in zip("xyz", (frame @ matrix).T, strict=True):
        seen = 1.0 if depth >= 0 else 0.4
        style: dict[str, Any] = {
            "color": color,
            "lw": 1.0 if dashed else 1.8,
            "alpha": seen,
            "zorder": 3 if dashed else 4,
        }
        axes.plot([0, x], [0, y], ls="--" if dashed else "-", label=label if name == "x" else None, **style)
        axes.plot(x, y, ls="", marker="o", ms=size, mfc="white" if dashed else color, mec=color, alpha=seen, zorder=5)
        away = 1.0 + 0.09 / max(float(np.hypot(x, y)), 0.3)
        if not dashed:
            axes.annotate(name, (x * away, y * away), color=color, alpha=seen, ha="center", va="center", fontsize=11)


def _cap(axes: Axes, frame: Array, axis: Array, angle: float) -> None:
    """All directions within an angle of an axis, on the sphere, in soft layers; fainter where they are on the far side."""
    from matplotlib.patches import Polygon

    side = np.linalg.svd(axis[None])[2][1:]
    turn = np.linspace(0, 2 * np.pi, 181)
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=1) @ side
    seen = 1.0 if frame[2] @ axis >= 0 else 0.5
    for fraction in LAYERS:
        edge = frame @ (np.cos(fraction * angle) * axis + np.sin(fraction * angle) * circle).T
        axes.add_artist(Polygon(edge[:2].T, zorder=2, **{**LAYER, "alpha": LAYER["alpha"] * seen}))
    edge = frame @ (np.cos(angle) * axis + np.sin(angle) * circle).T
    axes.plot(*edge[:2], color=RIM, lw=0.9, alpha=seen, zorder=2)
