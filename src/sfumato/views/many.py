"""Many groups in one picture: their released means in the plane in which they differ most, each with its region."""

import numpy as np

from ..errors import printable
from ..findings.groups import Comparison
from ..laws.calibration.population import noise_quantile, precisions
from ..numerics.arrays import Array
from ..release.population import no_region
from .scene import CIRCLE, Dots, Line, Mark, Panel, Role, Scales, Words, around, broken

MOST = 20  # groups in a picture, or pairs in a table
WIDTH = 5.0  # inches, of which the axes and the panels below leave 50 points each to names
AROUND = np.concatenate([away * CIRCLE[:-1:15] for away in (1.0, 1.8, 2.6)])  # where a name is tried about its dot


def plane(comparison: Comparison) -> Panel:
    """Return the released means in the tangent space at the public centre, along the two directions in which they differ most,
    each with the ellipse that its 95% region leaves there, or its noise where it has none; in one direction, side by side.
    Directions are the leading ones of Σc(t̃ − t̄)(t̃ − t̄)ᵀ, c as in the test of equal means; of many groups the largest are shown.
    """
    names = sorted(comparison.groups, key=lambda name: -comparison.groups[name].n)[:MOST]
    releases = [comparison.groups[name] for name in names]
    w, sigmas, variances, _ = comparison.numbers(names)
    axes = np.asarray(releases[0].chart.axes)  # type: ignore[union-attr]
    c = precisions(len(axes), sigmas, variances)
    _, lengths, rows = np.linalg.svd(np.sqrt(c)[:, None] * axes * (w - c @ w / np.sum(c)), full_matrices=False)
    rows = rows[:2]
    shares = lengths**2 / max(float(np.sum(lengths**2)), 1e-300)
    along = [f"direction {i + 1}: {shares[i]:.0%} of the differences" for i in range(len(rows))]
    at = w * axes @ rows.T
    moves = np.linalg.qr((rows * axes).T)[1].T
    known = not any(map(no_region, releases))
    noise = noise_quantile(0.95, len(axes), 1.0) * sigmas
    radii = [one.region(0.95).chart_radius for one in releases] if known else noise
    if line := len(rows) == 1:
        at = np.insert(at, 0, np.arange(1, len(at) + 1), axis=1)
        moves = np.diag([0.0, moves[0, 0]])
    rings = at[:, None] + np.reshape(radii, (-1, 1, 1)) * (CIRCLE @ moves.T)
    room = np.ptp(rings, axis=(0, 1)) + 1e-300
    low, high = around([rings / room], 0.06)
    size = np.array([WIDTH, WIDTH * float(np.clip(room[1] / room[0], 0.5, 0.85))])
    label = "95% region for each population's mean" if known else "95% noise of each mean"
    marks: list[Mark] = [Line(broken(rings), Role.REGION, label)]
    marks.append(Dots(at, Role.VALUE, "released mean of each group", size=5.0))
    short = [printable(name)[:24] for name in names]
    marks += [] if line else _named(at, short, low * room, 50 * size / (high - low) / room)
    scales = Scales("", along[0], short) if line else Scales(along[0], along[1])
    return Panel(marks, low * room, high * room, size=(size[0], size[1]), scales=scales, equal=not line)


def _named(at: Array, names: list[str], low: Array, scale: Array) -> list[Mark]:
    """Return names beside dots, each where it hides the least of dots and names; a unit has ``scale`` points."""
    taken = np.hstack([scale * (at - low), np.full_like(at, 3.5)])  # boxes, as their middle and half their sides
    marks: list[Mark] = []
    for i, name in enumerate(names):
        half = np.array([2.1 * len(name), 4.5])
        spots = taken[i, :2] + AROUND * (half + 5.0)
        spots[:, 0] = np.clip(spots[:, 0], half[0], 50 * WIDTH - half[0])
        hidden = np.maximum(0.0, half + taken[:, 2:] - np.abs(spots[:, None] - taken[:, :2])).prod(axis=2).sum(axis=1)
        taken = np.vstack([taken, [*spots[np.argmin(hidden)], *half]])
        x, y = (taken[-1, :2] - taken[i, :2]).tolist()
        marks.append(Words(at[i], name, move=(x, y)))
    return marks
