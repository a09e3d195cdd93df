"""Correlation matrices of full rank, laid out flat by the part of their logarithm off the diagonal."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..numerics.arrays import Array, Points
from .base import blame
from .spd import ASYMMETRY, SPD, _symmetric, from_triangle, triangle
from .spd_metrics import FlatMatrices, _log

DIAGONAL = 1e-5  # how far from 1 an entry of the diagonal may be, as in a file with a few digits
SINGULAR = 1e-12  # smallest eigenvalue of a matrix whose logarithm means something
STEEPEST = 40.0  # spectral norm of a logarithm; with more, no matrix could be written in doubles
EVALUATIONS = 300  # of the search for a diagonal
CLOSE = 1e-13  # logarithm of what the search may leave to 1


@dataclass(frozen=True)
class Correlation(FlatMatrices):
    """Correlation matrices of ``size`` channels, positive definite, with the off-log metric: ρ(A, B) = ‖off(Log A − Log B)‖.

    ``off`` leaves out the diagonal, and the norm is Frobenius's.  A symmetric matrix with zeros on its diagonal is off(Log C)
    for exactly one C (Archakov and Hansen 2021), so the space is flat, of dimension k(k−1)/2 (Thanwerdas 2024).  No order of
    the channels is preferred.  Back from there: the one diagonal D for which exp(X + D) has ones on its diagonal, by Newton's
    method, with the contraction D − log diag exp(X + D) where that fails.

    >>> space = Correlation(size=2)
    >>> a, b = space.validate([np.eye(2), [[1.0, 0.5], [0.5, 1.0]]])
    >>> round(float(space.distance(a, b) / np.sqrt(2)), 12)  # of two channels: Fisher's z, artanh ½
    0.549306144334
    """

    name: ClassVar[str] = "correlation"
    metric: ClassVar[str] = "off-log: Euclidean, between logarithms of matrices without their diagonals"
    least_size: ClassVar[int] = 2
    small: ClassVar[dict[str, Any]] = {"size": 3}
    fixed_diagonal: ClassVar[float | None] = 1.0

    smaller = FlatMatrices.fewer_channels

    def _dimension(self) -> int:
        return self.size * (self.size - 1) // 2

    def look(self, points: Array) -> tuple[Points, dict[int, str]]:
        one = np.eye(self.size)
        fair = np.asarray(np.isfinite(points).all(axis=(1, 2)))
        found = np.where(fair[:, None, None], points, one)
        fair &= np.abs(found - found.mT).max(axis=(1, 2)) <= ASYMMETRY * np.abs(found).max(axis=(1, 2))
        rows = np.flatnonzero(~fair)
        reasons = {int(rows[row]): words for row, words in SPD(self.size).diagnose(points[rows])[1].items()}
        diagonal = np.where(fair[:, None], np.diagonal(found, axis1=1, axis2=2), 1.0)
        off = (np.abs(diagonal - 1) > DIAGONAL).any(axis=1)
        blame(reasons, off, lambda row: _not_one(diagonal[row]))
        fair &= ~off
        found = np.where(fair[:, None, None], _symmetric(found), one)
        scale = np.sqrt(np.diagonal(found, axis1=1, axis2=2))
        found = found / scale[:, :, None] / scale[:, None, :]
        found[:, np.arange(self.size), np.arange(self.size)] = 1.0
        smallest = np.linalg.eigvalsh(found)[:, 0]
        words = (
            "is not positive definite: its smallest eigenvalue is {:.3g}, as of channels that say the same, or of fewer time "
            "points than channels; take fewer channels, or shrink every matrix by a share fixed beforehand, as 0.9·C + 0.1·I"
        )
        blame(reasons, ~(smallest > SINGULAR), lambda row: words.format(smallest[row]))
        found[list(reasons)] = one
        return found, reasons

    def to_flat(self, points: Points) -> Array:
        return triangle(_log(points))[:, self.size :]

    def from_flat(self, vectors: Array) -> Points:
        k = self.size
        hollow = from_triangle(np.pad(np.clip(vectors, -1e100, 1e100), ((0, 0), (k, 0))), k)
        steepness = np.abs(np.linalg.eigvalsh(hollow)).max(axis=1)
        hollow *= np.where(steepness > STEEPEST, STEEPEST / np.maximum(steepness, STEEPEST), 1.0)[:, None, None]
        levels, turn = np.linalg.eigh(hollow + _diagonal(hollow)[:, :, None] * np.eye(k))
        found = _symmetric((turn * np.exp(levels - levels[:, -1:])[:, None, :]) @ turn.mT)
        scale = np.sqrt(np.diagonal(found, axis1=1, axis2=2))
        found = _symmetric(found / scale[:, :, None] / scale[:, None, :])
        share = np.where(np.linalg.eigvalsh(found)[:, 0] > 10 * SINGULAR, 0.0, 20 * SINGULAR)  # towards the identity
        found *= 1 - share[:, None, None]
        found[:, np.arange(k), np.arange(k)] = 1.0
        return found


def _not_one(diagonal: Array) -> str:
    at = int(np.argmax(np.abs(diagonal - 1)))
    words = f"has {diagonal[at]:.3g} on its diagonal, in channel {at + 1}, where correlations have 1"
    if (diagonal > 0).all():
        return f"{words}: it is a covariance matrix; divide by the standard deviations, or take the space spd"
    return f"{words}; if diagonals were set to 0 in the file, put the 1 back; leave out a silent channel"


def _diagonal(hollow: Array) -> Array:
    """Return the diagonals D, (n, k), for which exp(hollow + D) has ones on its diagonal; each matrix stops for itself.
    Steps of Newton's method for log diag exp = 0 that come no closer are taken back for the contraction D − log diag exp."""
    n, k, _ = hollow.shape
    found = np.zeros((n, k))
    safe = np.zeros((n, k))
    before = np.full(n, np.inf)
    tried = np.zeros(n, dtype=bool)
    active = np.arange(n)
    for _ in range(EVALUATIONS):
        levels, turn = np.linalg.eigh(hollow[active] + found[active][:, :, None] * np.eye(k))
        top = levels[:, -1:]
        sums = np.maximum((turn * turn @ np.exp(levels - top)[:, :, None])[:, :, 0], 1e-300)
        left = np.log(sums) + top
        error = np.abs(left).max(axis=1)
        worse = tried[active] & ~(error < before[active])
        back = active[worse & (error > CLOSE)]
        go = ~worse & (error > CLOSE)
        found[back] = safe[back]
        tried[back] = False
        on = active[go]
        safe[on] = found[on] - left[go]
        before[on] = error[go]
        tried[on] = True
        if len(on):
            slope = _slope(levels[go], turn[go]) / sums[go][:, :, None] + 1e-13 * np.eye(k)
            found[on] -= np.clip(np.linalg.solve(slope, left[go][:, :, None])[:, :, 0], -STEEPEST, STEEPEST)
        active = np.sort(np.concatenate([back, on]))
        if not len(active):
            break
    return found


def _slope(levels: Array, turn: Array) -> Array:
    """Return the derivative of diag exp by the diagonal, Σ_ab φ_ab·u_ia·u_ib·u_ja·u_jb, φ the divided differences of exp
    (Daleckii and Krein), over the largest eigenvalue."""
    gap = np.abs(levels[:, :, None] - levels[:, None, :])
    size = np.exp(np.maximum(levels[:, :, None], levels[:, None, :]) - levels[:, -1:, None])
    phi = size * np.where(gap > 0, -np.expm1(-gap) / np.where(gap > 0, gap, 1.0), 1.0)
    found = np.empty(phi.shape)
    for i in range(turn.shape[1]):  # channels, not matrices: k³ numbers at once would be too many
        own = turn[:, i, :, None] * phi * turn[:, i, None, :]
        found[:, i] = np.sum((turn @ own) * turn, axis=-1)
    return found
