"""The thin-plate spline that takes one set of landmarks to another, as a grid that it bends (Bookstein 1989)."""

import numpy as np

from ..landmarks.splines import spline
from ..numerics.arrays import Array

TIMES = (100, 50, 20, 10, 5, 2)  # a bending too small to see is drawn so many times as large
MOST = 0.1  # of the size of the shape: how far a landmark may go so
WIDEST = 0.03  # how wide its error may become
NEVER = 0.8  # how much of the way between two landmarks may go: at 1 they would meet
LINES = 18  # of a grid along its longer side
FINE = 60  # points of a line
APART = 1e-6  # landmarks that are nearer, in parts of the size, are one: no spline passes through both


def can_bend(first: Array) -> bool:
    """Return whether a thin-plate spline passes through these landmarks: they are apart, and not all on a line.

    >>> can_bend(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])), can_bend(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]))
    (True, False)
    """
    size = float(np.ptp(first, axis=0).max())
    centred = (first - first.mean(axis=0)) / max(size, 1e-300)
    return len(first) > 2 and bool(np.linalg.svd(centred)[1][1] > 1e-3) and bool(_apart(first).min() > APART * size)


def magnified(first: Array, second: Array, half: float = 0.0) -> int:
    """Return how many times as large a bending is drawn, with errors of this half-width: so that it is seen, and no two
    landmarks change places; once where nothing moves.

    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> magnified(square, square + [[0.004, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]), magnified(square, 1.2 * square)
    (20, 1)
    """
    moved = second - first
    size = float(np.ptp(first, axis=0).max())
    far = max(half * MOST / WIDEST, float(np.linalg.norm(moved, axis=1).max())) / size
    strain = float((_apart(moved) / np.maximum(_apart(first), 1e-300)).max())
    return next((times for times in TIMES if 0 < times * far <= MOST and times * strain <= NEVER), 1)


def larger(times: int, of: str = "") -> str:
    """Return what a legend says of something that is drawn so many times as large.

    >>> larger(5, "differences"), larger(1)
    (', differences ×5', '')
    """
    return f", {of} ×{times}".replace("  ", " ") if times > 1 else ""


def bent_grid(first: Array, second: Array, low: Array, high: Array) -> list[Array]:
    """Return the lines of a square grid between two corners, bent by the spline from the first landmarks to the second."""
    step = float((high - low).max()) / LINES
    x, y = (np.arange(low[i] + step / 2, high[i], step) for i in (0, 1))
    fine = [np.linspace(low[i], high[i], FINE) for i in (0, 1)]
    lines = [np.stack([np.full(FINE, at), fine[1]], axis=1) for at in x]
    lines += [np.stack([fine[0], np.full(FINE, at)], axis=1) for at in y]
    return list(np.split(spline(first, np.concatenate(lines)) @ second, len(lines)))


def _apart(points: Array) -> Array:
    """Return the distances of all pairs of points."""
    i, j = np.triu_indices(len(points), 1)
    return np.asarray(np.linalg.norm(points[i] - points[j], axis=1))
