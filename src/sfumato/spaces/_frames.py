"""Orthonormal frames: what subspaces and frames share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from ..numerics.arrays import Array, Points
from .base import Kind, Space, whole_number

TIE = 1e-6  # rows whose lengths differ by less than this share count as equally long, and the first of them is taken


def swap(matrices: Array) -> Array:
    """Return the transposes, (…, p, n)."""
    return np.swapaxes(matrices, -1, -2)


def in_gauge(frames: Array) -> Array:
    """Return the frame X·Q, Q orthogonal, that depends on the subspace alone, for orthonormal X, (…, n, p).

    p of its rows, in their order, form a lower triangle with a positive diagonal: those with the largest pivots when the
    projector XXᵀ is divided into L·Lᵀ by Cholesky's method; each has the longest part that those before it do not explain.

    >>> turned = np.array([[0.6, 0.8], [0.8, -0.6], [0.0, 0.0]])
    >>> in_gauge(turned).round(6).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """
    rest = frames
    chosen = []
    for _ in range(frames.shape[-1]):
        lengths = np.sum(rest * rest, axis=-1)
        row = np.argmax(lengths >= (1 - TIE) * lengths.max(axis=-1, keepdims=True), axis=-1)[..., None, None]
        chosen.append(row)
        along = np.take_along_axis(rest, row, axis=-2)
        along = along / np.sqrt(np.sum(along * along, axis=-1, keepdims=True))
        rest = rest - np.sum(rest * along, axis=-1, keepdims=True) * along
    rows = np.sort(np.concatenate(chosen, axis=-2), axis=-2)
    q, r = np.linalg.qr(swap(np.take_along_axis(frames, rows, axis=-2)))
    signs = np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    found = np.asarray(frames @ (q * signs[..., None, :]))
    np.put_along_axis(found, rows, swap(r * signs[..., None]), axis=-2)  # with zeros that are zeros
    return found + 0.0


def not_orthonormal(frames: Array) -> Array:
    """Return how far the products of the columns are from 0 and 1."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.abs(swap(frames) @ frames - np.eye(frames.shape[-1])).max(axis=(1, 2)))


def complement(frame: Array) -> Array:
    """Return an orthonormal frame, (n, n − p), of what is orthogonal to one subspace: a function of the subspace."""
    return in_gauge(np.linalg.qr(frame, mode="complete")[0][:, frame.shape[1] :])


@dataclass(frozen=True)
class Frames(Space):
    """Points that are written as p columns of n numbers, for p < n."""

    n: int
    p: int
    kind: ClassVar[Kind] = "arrays"
    by_name: ClassVar[bool] = True
    size_option: ClassVar[str | None] = "n"
    least_size: ClassVar[int] = 2

    def __post_init__(self) -> None:
        name = type(self).__name__
        object.__setattr__(self, "p", whole_number(name, "p", self.p, 1))
        if self.p >= self.n:
            wrong = f"p must be less than n, the dimension of the space around: not {self.p} of {self.n}"
            raise ValueError(f"{name}: {wrong}")
        super().__post_init__()

    def origin(self) -> Points:
        return np.eye(self.n, self.p)

    def complement(self, base: Points) -> Array:
        """Return the orthonormal frame, (n, n − p), in which what is orthogonal to one point has coordinates."""
        return _complement(base.tobytes(), (self.n, self.p))


@lru_cache(maxsize=64)
def _complement(frame: bytes, shape: tuple[int, int]) -> Array:
    return complement(np.frombuffer(frame).reshape(shape))
