"""Pictures of releases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .ball import Ball
from .release import Release
from .spaces import PlanarShapes

SOFT, SHARP, QUIET = "#c9a66b", "#6b3f1d", "#8a8a8a"


def plot_shape(
    release: Release, path: str | Path, title: str = "", p: float = 0.95, outline: Sequence[int] | None = None
) -> None:
    """Draw a released shape over the public reference, with its error, and write it as PNG or SVG.

    The error is one distance for the whole shape.  Each landmark gets a disc of radius error/√k, its share if all k
    landmarks were off by as much; a single landmark can be off by more when others are off by less.  ``outline`` lists
    landmarks (from 0) to join by a closed line.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.patches import Circle

    space = PlanarShapes(**release.record["space"]["parameters"])
    ball = Ball(space, release.record["ball"]["center"], release.record["ball"]["radius"])
    reference = space.present(ball.center)
    released = space.present(space.align(ball.center, release.value))
    error = release.error(p)

    points = np.vstack([reference, released])
    low, high = points.min(axis=0), points.max(axis=0)
    height = 9 * (high[1] - low[1]) / (high[0] - low[0])
    figure, axes = plt.subplots(figsize=(9, 1.9 + min(max(height, 2.0), 8.0)), layout="constrained")
    share = error / np.sqrt(space.landmarks)
    for i, (x, y) in enumerate(released):
        for fraction in np.linspace(1.0, 0.1, 10):  # a soft edge: many thin discs
            axes.add_patch(Circle((x, y), share * fraction, color=SOFT, alpha=0.07, lw=0))
        axes.add_patch(
            Circle(
                (x, y),
                share,
                fill=False,
                ec=SOFT,
                lw=0.6,
                label=f"its {p:.0%} error, shared evenly" if i == 0 else None,
            )
        )
    if outline is not None:
        ring = [*outline, outline[0]]
        axes.plot(*reference[ring].T, color=QUIET, lw=0.8, ls=":", zorder=1)
        axes.plot(*released[ring].T, color=SHARP, lw=1.0, alpha=0.7, zorder=2)
    for a, b in zip(reference, released, strict=True):
        axes.plot(*zip(a, b, strict=True), color=QUIET, lw=0.7, zorder=1)
    axes.scatter(
        reference[:, 0], reference[:, 1], s=22, facecolors="white", edgecolors=QUIET, label="public reference", zorder=3
    )
    axes.scatter(released[:, 0], released[:, 1], s=24, color=SHARP, label="released mean", zorder=4)
    for i, (x, y) in enumerate(released, start=1):
        axes.annotate(str(i), (x, y), xytext=(3, 3), textcoords="offset points", fontsize=7, color=SHARP)
    axes.set_aspect("equal")
    axes.axis("off")
    margin = 1.15 * share
    axes.set_xlim(low[0] - margin, high[0] + margin)
    axes.set_ylim(low[1] - margin, high[1] + margin)
    g, r = release.guarantee, release.record
    if title:
        figure.suptitle(title, fontsize=12)
    figure.supxlabel(
        f"ε = {g.epsilon:g}, n = {r['n']}, mechanism {r['mechanism']['name']}; with probability {p:g} the mean of the data "
        f"lies within {error:.3f} (shape distance)",
        fontsize=9,
    )
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=8, frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)
