"""Compiled loops for subspaces and bodies, whose logarithms Y·U − X·V take small matrices; see ``spd_kernels.py``."""

from typing import Any

import numpy as np

from .arrays import Array
from .kernels import _compile, _inside, _sum
from .spd_kernels import LANES, _diagonalise, all_of, place_of, root, vectors

STEEP = 0.1  # cosine of an angle between subspaces, below which digits would be lost
NEWTON = 12  # steps, of which half are enough


@_inside
def _stretch(series: Any, c: Any) -> Any:
    """Return θ/sin θ at cos θ = c ≥ 0, from the series at θ/2: sin θ = 2·sin θ/2·cos θ/2."""
    half = root(0.5 + 0.5 * c)
    return _sum(series, 1.0 - half) / half


@_inside
def _product(one: Any, a: int, two: Any, b: int, p: int, made: Any) -> None:
    """Write the product of two p×p matrices, each as it is if the number after it is p, transposed if that is 1."""
    for at in range(p * p):
        s = all_of(0.0)
        for r in range(p):
            s = s + one[at // p * a + r * (p + 1 - a)] * two[r * b + at % p * (p + 1 - b)]
        made[at] = s


@_inside
def _for_subspaces(m: Any, p: int, sweeps: int, series: Any, u: Any, v: Any, room: Any) -> Any:
    """Write U = Q·diag(θ/(sin θ·cos θ))·Qᵀ·Mᵀ and V = M·U, Q being the eigenvectors of MᵀM, M = XᵀY; 1 where it is accurate."""
    q = room + p * p
    values = q + p * p
    _product(m, 1, m, p, p, room)
    fine = 1e-29 - _diagonalise(room, q, p, sweeps, values) > 0.0
    for i in range(p):
        c = root(values[i])
        fine = fine * (c > STEEP)
        factor = _stretch(series, c) / c
        for r in range(p):
            room[r * p + i] = factor * q[r * p + i]
    _product(m, p, q, p, p, v)
    _product(room, p, v, 1, p, u)
    _product(m, p, u, p, p, v)
    return fine


@_inside
def _for_bodies(m: Any, clear: float, series: Any, u: Any, v: Any, room: Any) -> Any:
    """Write U = θ/sin θ·R and V = θ/sin θ·cos θ, R being the rotation that ``kendall.py`` explains, B = Mᵀ; 1 where it is
    clearly the best."""
    size = all_of(0.0)
    rest = all_of(0.0)
    det = all_of(0.0)
    for i in range(3):
        one = m + 3 * ((i + 1) % 3)
        two = m + 3 * ((i + 2) % 3)
        for j in range(3):
            a = one[(j + 1) % 3] * two[(j + 2) % 3] - one[(j + 2) % 3] * two[(j + 1) % 3]
            u[3 * j + i] = a
            size = size + m[3 * i + j] * m[3 * i + j]
            rest = rest + a * a
            det = det + (1.0 / 3.0) * m[3 * i + j] * a
    c = all_of(1.0)
    step = c
    for _ in range(NEWTON):
        half = 0.5 * (c * c - size)
        step = 0.5 * (half * half - 2.0 * c * det - rest) / (half * c - det)
        c = c - step
    half = 0.5 * (c * c - size)
    over = half * c - det
    f = _stretch(series, c)
    _product(m, 3, m, 1, 3, v)
    _product(v, 3, m, 3, 3, room)
    for i in range(3):
        for j in range(3):
            u[3 * i + j] = (f / over) * ((half + size) * m[3 * j + i] + c * u[3 * i + j] - room[3 * j + i])
            v[3 * i + j] = f * c if i == j else all_of(0.0)
    return (over > clear) * (1e-26 - step * step > 0.0)


@_inside
def _read(points: Array, weights: Array, first: int, room: Array, at: int) -> None:
    """Write weights of eight records, and their numbers; past the end the last one again, without a weight."""
    for z in range(LANES):
        row = min(first + z, len(points) - 1)
        room[at, z] = weights[row] if row == first + z else 0.0
        for j in range(points.shape[1]):
            room[at + 1 + j, z] = points[row, j]


@_compile
def frame_sums(points: Array, weights: Array, x: Array, sweeps: Any, clear: Any, series: Any, room: Array) -> None:
    """Add to the first vectors weighted sums over records Y, as rows, at X: of the logarithm Y·U − X·V, and of its squared
    length; the next is not 0 if all are accurate.  They are subspaces, whose eigenvectors take so many ``sweeps``, or bodies,
    whose rotation is ``clear`` from a bound on; the other is None, and what it asks for is not compiled."""
    n, p = x.shape
    size = n * p
    sums = place_of(room)
    weight = sums + (size + 2)
    y = weight + 1
    m = y + size
    u = m + p * p
    v = u + p * p
    fine = all_of(1.0)
    for first in range(0, len(points), LANES):
        _read(points, weights, first, room, size + 2)
        for i in range(p):
            for j in range(p):
                s = all_of(0.0)
                for r in range(n):
                    s = s + x[r, i] * y[r * p + j]
                m[i * p + j] = s
        if sweeps is not None:
            fine = fine * _for_subspaces(m, p, sweeps, series, u, v, v + p * p)
        if clear is not None:
            fine = fine * _for_bodies(m, clear, series, u, v, v + p * p)
        square = all_of(0.0)
        for r in range(n):
            for j in range(p):
                s = all_of(0.0)
                for i in range(p):
                    s = s + (y[r * p + i] * u[i * p + j] - x[r, i] * v[i * p + j])
                sums[r * p + j] = sums[r * p + j] + weight[0] * s
                square = square + s * s
        sums[size] = sums[size] + weight[0] * square
    sums[size + 1] = fine


def frame_moments(points: Array, weights: Array, x: Array, sweeps: Any, clear: Any, series: Any) -> tuple[Array, bool]:
    """Return these sums, of logarithms and then of squares, and whether all are accurate."""
    room = vectors(2 * x.size + 6 * x.shape[1] ** 2 + 3)
    frame_sums(points.reshape(-1, x.size), weights, np.array(x, order="C"), sweeps, clear, series, room)
    return room[: x.size + 1].sum(axis=1), bool(room[x.size + 1].all())
