"""The pictures of the glossary: ``python docs/glossary.py`` draws them.  Their points are made up."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

import sfumato as sf
from sfumato.views.figures import FAINT, QUIET, RIM, SHARP, SOFT, TEXT

GLOBE = sf.Sphere(dim=2)
TILT = np.radians(20)
EYE = np.array(
    [[0, 1, 0], [-np.sin(TILT), 0, np.cos(TILT)], [np.cos(TILT), 0, np.sin(TILT)]]
)  # right, up, towards the eye
CLOUD = np.array(
    [[-1.1, 0.4], [-0.5, -0.8], [-0.4, 1.1], [0.2, -0.3], [0.5, 0.6], [0.8, -0.7], [1.7, 0.5], [-0.8, -0.1]]
)
DOTTED = {"linestyle": ":", "linewidth": 1.5}


def dots(panel, points, color=QUIET, **how):
    """Draw points of the plane, or of the globe as one sees it."""
    flat = points @ EYE[:2].T if points.shape[-1] == 3 else points
    panel.plot(*np.atleast_2d(flat).T, **{"marker": "o", "linestyle": "", "color": color} | how)


def ring(panel, wide, high=None, at=(0, 0), **how):
    """Draw an ellipse."""
    panel.add_patch(Ellipse(at, wide, high or wide, **{"facecolor": "none", "edgecolor": QUIET} | how))


def note(panel, words, x, y, color=TEXT, **how):
    """Write words from a place on, or about it."""
    panel.annotate(words, (x, y), color=color, **{"fontsize": 9, "va": "center"} | how)


def globe(panel):
    """Draw a globe with the meridians and parallels that one sees, and return points of it about its middle."""
    ring(panel, 2, facecolor="#faf8f5")
    turn = np.linspace(-180, 180, 181)
    lines = [(turn * 0 + at, turn) for at in range(-60, 90, 30)] + [(turn, turn * 0 + at) for at in range(0, 180, 30)]
    for latitude, longitude in lines:
        seen = GLOBE.from_degrees(latitude, longitude) @ EYE.T
        panel.plot(*np.where(seen[:, 2:] > 0, seen, np.nan)[:, :2].T, color=FAINT, linewidth=0.8)
    return GLOBE.exp(EYE[2], GLOBE.from_coordinates(EYE[2], 0.45 * CLOUD))


def ways(panel, points, color, **how):
    """Draw the shortest ways from the mean of points of the globe to each of them."""
    mean = sf.frechet_mean(GLOBE, points).point
    for vector in GLOBE.log(mean, points):
        dots(panel, GLOBE.exp(mean, np.linspace(0, 1, 40)[:, None] * vector), color, marker="", linestyle="-", **how)
    dots(panel, points)
    dots(panel, mean, SHARP, markersize=9)


def manifold(panel):
    globe(panel)
    ends = GLOBE.from_degrees(np.array([40.0, 40.0]), np.array([-65.0, 65.0]))
    ways(panel, ends, SHARP, linewidth=2)
    dots(panel, ends, marker="", linestyle="--")
    dots(panel, ends.mean(axis=0), marker="X", markersize=9)
    note(panel, "mean on the globe", 1.15, 0.8, SHARP)
    note(panel, "plain average:\nbelow the ground", 1.15, 0.2)


def frechet_mean(panel):
    ways(panel, globe(panel), RIM)
    note(panel, "from here the squares\nof the ways to all\nrecords sum to the least", 1.15, 0.2, SHARP)


def clipping(panel):
    ring(panel, 2, **DOTTED)
    dots(panel, np.zeros(2), markerfacecolor="white", markersize=8)
    points = np.vstack([0.75 * CLOUD, [[-1.2, -0.8], [0.9, 0.9]]])
    inside = points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1)
    dots(panel, points)
    dots(panel, inside, SHARP)
    for start, end in zip(points, inside, strict=True):
        panel.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": SHARP, "shrinkA": 0, "shrinkB": 3})
    note(panel, "beyond the radius:\ncounted at the edge", 1.2, -0.3, SHARP)
    note(panel, "public centre", -0.08, 0.2, ha="center")


def chart(panel):
    dots(panel, globe(panel), SHARP, markersize=4)
    panel.annotate("", (1.75, 0), (1.1, 0), arrowprops={"arrowstyle": "-|>", "color": TEXT})
    for at in np.linspace(-0.9, 0.9, 7):
        panel.plot([1.9, 3.7], [at, at], [at + 2.8, at + 2.8], [-0.9, 0.9], color=FAINT, linewidth=0.8)
    dots(panel, 0.45 * CLOUD + [2.8, 0], SHARP)
    for at, radius in ((0, np.sin(0.85)), (2.8, 0.85)):
        ring(panel, 2 * radius, at=(at, 0), **DOTTED)


def epsilon(panel):
    x = np.linspace(-1.1, 1.1, 441)
    for at, strength, words in ((0, 1.0, "ε = 1: at most e¹ = 2.7 times"), (2.7, 3.0, "ε = 3: up to e³ = 20 times")):
        for shift, color, style in ((-0.15, QUIET, "--"), (0.15, SHARP, "-")):
            panel.plot(x + at, 0.6 * strength * np.exp(-strength * np.abs(x - shift) / 0.3), style, color=color)
        note(panel, words, at, -0.25, ha="center")
    panel.set_ylim(-0.5, 2.0)
    note(panel, "with your\nrecord", 0.3, 0.65, SHARP)
    note(panel, "with another\nin its place", -0.3, 0.65, ha="right")


def public_sample(panel):
    ring(panel, 2, 0.5, angle=25, facecolor=SOFT, edgecolor=RIM, alpha=0.6)
    ring(panel, 2, **DOTTED)
    dots(panel, CLOUD * [0.5, 0.14] @ [[0.91, 0.42], [-0.42, 0.91]], markerfacecolor="white")
    note(panel, "noise with a\npublic sample", 1.15, 0.5, SHARP)
    note(panel, "noise with one\npublic specimen", 1.15, -0.5)


if __name__ == "__main__":
    for draw in (manifold, frechet_mean, clipping, chart, epsilon, public_sample):
        figure, axes = plt.subplots(figsize=(4.8, 2.6), layout="constrained")
        axes.set_aspect("equal")
        axes.axis("off")
        draw(axes)
        axes.set_xlim(axes.get_xlim()[0] - 0.1, max(axes.get_xlim()[1], 3.0))
        figure.savefig(Path(__file__).with_suffix("") / f"{draw.__name__.replace('_', '-')}.png", dpi=150)
