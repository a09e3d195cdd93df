"""Closed outlines by their elliptic Fourier coefficients, normalised by the first ellipse (Kuhl and Giardina 1982)."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array, Points
from .base import Kind, blame, not_finite
from .euclidean import Flat
from .shapes import COINCIDENT

POINTS = 12  # that outlines are drawn with, for each harmonic
GRID = 2.0**40  # coefficients are multiples of one over it, so that what is drawn here reads back to the last bit
TIE = 1e-9  # axes of the first ellipse that differ by less, of their sum, make a circle; a smaller one is none


@dataclass(frozen=True)
class Outlines(Flat):
    """Closed outlines in the plane, by the coefficients of their first ``harmonics`` h.

    With t along an outline of length T, x(t) = Σ aₙ·cos(2πnt/T) + bₙ·sin(2πnt/T), and y(t) likewise by cₙ and dₙ.  The first
    ellipse says size, rotation and start, as in Momocs's efourier with norm=TRUE: its longer half-axis becomes 1 and lies along
    x, and the outline starts at that end of it which is nearer, by t, to the first point.  So a₁ = 1, b₁ = c₁ = 0, and d₁ and
    the other coefficients are a vector of R^(4h−3), whose distance and mean are taken.

    Users give outlines as (n, k, 2), of any k ≥ 2h + 1 points, or coefficients as (n, 4h): all a, b, c, d.  Values are outlines
    of 12·h points at even t, and such an outline is read back as it is.  Where the first ellipse is a circle the outline keeps
    its start; where there is none, as all points coincide or the outline runs round twice, it is refused.

    >>> angle = 2 * np.pi * np.arange(60) / 60
    >>> ellipse = np.stack([4 * np.cos(angle), 3 * np.sin(angle)], axis=1)
    >>> space = Outlines(harmonics=3)
    >>> space.coefficients([ellipse, 5 * ellipse[:, ::-1] + 7]).round(2)[:, [0, 3, 6, 9]].tolist()
    [[1.0, 0.0, 0.0, 0.81], [1.0, 0.0, 0.0, -0.81]]
    """

    harmonics: int
    name: ClassVar[str] = "outlines"
    metric: ClassVar[str] = "Euclidean, between normalised elliptic Fourier coefficients"
    kind: ClassVar[Kind] = "landmarks"
    size_option: ClassVar[str | None] = "harmonics"
    landmark_dim: ClassVar[int | None] = 2

    def _dimension(self) -> int:
        return 4 * self.harmonics - 3

    @cached_property
    def layouts(self) -> dict[str, tuple[int, ...]]:
        return {"landmarks": (POINTS * self.harmonics, 2), "coefficients": (4 * self.harmonics,)}

    def takes(self, shape: tuple[int, ...]) -> bool:
        return super().takes(shape) or (len(shape) == 2 and shape[1] == 2 and shape[0] > 2 * self.harmonics)

    def origin(self) -> Points:
        return np.where(np.arange(self.dim), 0.0, 0.5)

    def coefficients(self, points: ArrayLike) -> Array:
        """Return the normalised coefficients of outlines, (n, 4h): all a, then all b, c and d."""
        plus, minus = np.moveaxis(_both(self.validate(points)), -1, 0)
        return np.concatenate([(plus + minus).real, (minus - plus).imag, (plus + minus).imag, (plus - minus).real], 1)

    def look(self, points: Array) -> tuple[Points, dict[int, str]]:
        reasons = not_finite(points, landmarks=points.ndim == 3)
        points = np.where(np.isfinite(points), points, 0.0)
        largest = np.abs(points).max(axis=tuple(range(1, points.ndim)), keepdims=True)
        scaled = points / np.where(largest < 1e-300, 1.0, largest)  # no overflow, no underflow
        length = np.ones(len(points))
        if points.ndim == 3:
            z = scaled[..., 0] + 1j * scaled[..., 1]
            sizes = np.abs(np.roll(z, -1, axis=1) - z)
            length = np.add.reduce(sizes, axis=1)
            blame(reasons, length <= COINCIDENT, lambda _: f"has no outline: all its {z.shape[1]} points coincide")
            both = _along(z, sizes, self.harmonics)
        elif points.shape[1:] == self.point_shape:
            both = _both(points)
        else:
            a, b, c, d = scaled.reshape(len(points), 4, -1).transpose(1, 0, 2)
            both = np.stack([a + d + 1j * (c - b), a - d + 1j * (c + b)], axis=-1) / 2
        words = "has no first ellipse, by which outlines are turned and scaled, as one that runs round twice has none"
        blame(reasons, np.abs(both[:, 0]).sum(axis=1) <= TIE * length, lambda _: words)
        both[list(reasons)] = _both(self.origin())
        made = _normalised(both)
        if points.shape[1:] == self.layouts["landmarks"]:  # perhaps drawn here, at even t
            even = _along(z, np.ones_like(sizes), self.harmonics) * largest
            p, q = even[:, 0].T
            drawn = (np.abs(p + q - 1) <= TIE) & (np.abs((p - q).imag) <= TIE)
            drawn[list(reasons)] = False
            made = np.where(drawn[:, None, None], even, made)
        return np.round(made * GRID) / GRID, reasons

    def to_flat(self, points: Points) -> Array:
        width = (points[:, 0, 0] - points[:, 0, 1]).real
        others = np.ascontiguousarray(points[:, 1:]).view(np.float64).reshape(len(points), self.dim - 1)
        return np.concatenate([width[:, None], np.sqrt(2) * others], axis=1)

    def from_flat(self, vectors: Array) -> Points:
        k = POINTS * self.harmonics
        n = np.arange(1, self.harmonics + 1)[:, None]
        waves = np.exp(2j * np.pi * n * np.arange(k) / k) / np.sinc(n / k) ** 2
        z = np.einsum("rni,nki->rk", _both(vectors), np.stack([waves, waves.conj()], axis=-1))
        return np.stack([z.real, z.imag], axis=-1)

    def displacements(self, base: Points, bending: bool = False) -> Array:
        return self.present(self.tangent_basis(base)) - self.present(np.zeros(self.dim))


# -- coefficients of e^(2πint/T) and e^(−2πint/T), (rows, h, 2): ½(a + d + ic − ib) and ½(a − d + ic + ib) -------------------
def _both(vectors: Array) -> Points:
    """Return those of canonical points, which are d₁ and then √2 times the real and imaginary parts of those after it."""
    rows = vectors.reshape(-1, vectors.shape[-1])
    others = np.ascontiguousarray(rows[:, 1:] / np.sqrt(2)).view(np.complex128)
    first = np.stack([(1 + rows[:, 0]) / 2, (1 - rows[:, 0]) / 2], axis=1)
    return np.concatenate([first[:, None], others.reshape(len(rows), rows.shape[1] // 4, 2)], axis=1)


def _along(z: Points, sizes: Array, harmonics: int) -> Points:
    """Return those of polygons z, (n, k), with t along sides of these sizes: T/(2πn)²·Σ uⱼ·(eⱼ₊₁ⁿ − eⱼⁿ), uⱼ the sides over
    their sizes, e = e^(−2πit/T) at the corners (Kuhl and Giardina 1982, in complex numbers)."""
    length = np.add.reduce(sizes, axis=1)
    corner = np.exp(-2j * np.pi * np.cumsum(sizes, axis=1) / np.where(length > 1e-150, length, 1.0)[:, None])
    ways = (np.roll(z, -1, axis=1) - z) / np.where(sizes > 1e-150, sizes, 1.0)  # none of a side that is none
    power = np.ones_like(corner)
    found = np.empty((len(z), harmonics, 2), dtype=np.complex128)
    for n in range(1, harmonics + 1):
        power = power * corner
        change = power - np.concatenate([np.ones((len(z), 1)), power[:, :-1]], axis=1)
        for i, each in enumerate((change, change.conj())):
            found[:, n - 1, i] = np.add.reduce(ways * each, axis=1) * length / (2 * np.pi * n) ** 2
    return found


def _normalised(both: Points) -> Points:
    """Return coefficients with the first ellipse's longer half-axis from 0 to 1: p·v and q·v̄ then point the same way, for the
    first two coefficients p and q and the change of start v, of the two that are possible that within a quarter turn."""
    p, q = both[:, 0].T
    is_circle = np.minimum(np.abs(p), np.abs(q)) <= TIE * (np.abs(p) + np.abs(q))
    twice = np.where(is_circle, 1.0, q * p.conj())
    v = np.sqrt(twice / np.abs(twice))
    end = p * v + q * v.conj()
    starts = v[:, None] ** np.arange(1, both.shape[1] + 1)
    both = both * np.stack([starts, starts.conj()], axis=-1)
    return np.asarray(both * (end.conj() / np.abs(end) ** 2)[:, None, None])
