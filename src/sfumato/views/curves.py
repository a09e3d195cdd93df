"""Curves over the public reference, with a band as wide as the noise moves them across themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..numerics.arrays import Array
from ..spaces import ElasticCurves
from .base import Links, Noise, View, noise_of, numbered, public_ball
from .figures import figure, name_of, top_legend
from .shapes import draw_curves, soft_band

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..release import Release


class Curves(View):
    origin, exact_up_to = "a straight line, or a regular polygon", np.inf

    def things(self, release: Release) -> str:
        return f"planar curves of {len(release.value)} points"

    def table(self, release: Release) -> tuple[Sequence[str], list[tuple[str, ...]]]:
        return ("Point", "x", "y"), numbered(release.value)

    def shown(self, release: Release, p: float) -> str:
        if noise_of(release, p) is None:
            return (
                ""
                if release.predicted_error is None
                else "the error is one number for the whole curve, so no band is drawn"
            )
        return f"across the curve, each point of that mean lies within the soft band with probability {p:g}, taken by itself"

    def draw(self, release: Release, p: float, outline: Links | None = None) -> Figure:
        ball, noise, value = public_ball(release), noise_of(release, p), np.asarray(release.value)
        assert isinstance(ball.space, ElasticCurves)
        reference, closed = ball.space.present(ball.center), ball.space.closed
        widths = np.zeros(len(value)) if noise is None else _widths(noise, value, closed)
        ends = np.concatenate([reference, value - widths[:, None], value + widths[:, None]])
        margin = 0.03 * float(np.ptp(ends, axis=0).max())
        low, high = ends.min(axis=0) - margin, ends.max(axis=0) + margin
        drawn = figure(9, 1.0 + min(max(9 * (high - low)[1] / (high - low)[0], 2.0), 8.0))
        axes = drawn.add_subplot()
        axes.set(aspect="equal", xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        axes.axis("off")
        if widths.max() > 0:
            soft_band(axes, value, widths, low, high, f"its {p:.0%} error, across the curve", closed)
        draw_curves(axes, reference, value, name_of(release), closed)
        top_legend(axes, 3)
        return drawn


def _widths(noise: Noise, value: Array, closed: bool) -> Array:
    """How far the curve may be off at each point, across it."""
    ahead, behind = np.roll(value, -1, axis=0), np.roll(value, 1, axis=0)
    if not closed:
        ahead[-1], behind[0] = value[-1], value[0]
    across = (ahead - behind)[:, ::-1] * [-1, 1]
    across = across / np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-300)
    moves = noise.moves(1).reshape(len(value), 2, -1)
    return np.asarray(np.linalg.norm(np.einsum("ki,kip->kp", across, moves), axis=1))
