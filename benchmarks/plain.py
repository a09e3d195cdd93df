"""Fréchet means in NumPy alone, written as a good NumPy programmer would: batched, without checks, to a gradient norm.

Each starts from a mean in closed form and takes steps exp_x(mean logarithm), over the mean Hessian where that is one number.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .cases import Array, Points, frame_logs

STEPS = 1000


def plain(kind: str, size: int, points: Array, tolerance: float) -> Callable[[], Array]:
    """The solver of a space, with the records as it likes them."""
    solver = {
        "sphere": _directions,
        "shapes": _outlines,
        "shapes3d": _bodies,
        "spd": _matrices,
        "grassmann": _subspaces,
        "stiefel": _frames,
        "hyperbolic": _hyperboloid,
    }[kind]
    return lambda: solver(points, tolerance)


def _directions(y: Array, tolerance: float) -> Array:
    x = y.mean(axis=0)
    x /= np.sqrt(x @ x)
    for _ in range(STEPS):
        cosine = np.minimum(y @ x, 1.0)
        sine = np.sqrt(1 - cosine * cosine)
        factor = np.where(sine > 1e-8, np.arccos(cosine) / np.where(sine > 1e-8, sine, 1.0), 1.0)
        along = factor @ cosine
        step = (factor @ y - along * x) / len(y)
        length = np.sqrt(step @ step)
        if length <= tolerance:
            break
        step /= (1 + (len(x) - 2) * along / len(y)) / (len(x) - 1)
        length = np.sqrt(step @ step)
        x = np.cos(length) * x + np.sin(length) / length * step
    return np.asarray(x)


def _outlines(points: Array, tolerance: float) -> Array:
    z: Points = np.ascontiguousarray(points).view(np.complex128)[..., 0]
    z = z - z.mean(axis=1, keepdims=True)
    z /= np.sqrt(np.vecdot(z, z).real)[:, None]
    x = z[0]
    x = x.conj() @ z.T @ z.conj()
    x = x.conj() / np.linalg.norm(x)
    for _ in range(STEPS):
        overlap = z @ x.conj()
        cosine = np.abs(overlap)
        sine = np.sqrt(np.maximum(1 - cosine * cosine, 0.0))
        factor = np.where(sine > 1e-8, np.arccos(np.minimum(cosine, 1.0)) / np.where(sine > 1e-8, sine, 1.0), 1.0)
        step = ((factor * overlap.conj() / cosine) @ z - (factor @ cosine) * x) / len(z)
        length = np.linalg.norm(step)
        if length <= tolerance:
            break
        x = np.cos(length) * x + np.sin(length) / length * step
    return np.stack([x.real, x.imag], axis=-1)


def _bodies(points: Array, tolerance: float) -> Array:
    y = points - points.mean(axis=1, keepdims=True)
    y /= np.sqrt((y * y).sum(axis=(1, 2)))[:, None, None]
    x = y[0]
    for _ in range(STEPS):
        u, s, vt = np.linalg.svd(x.T @ y)
        sign = np.linalg.det(u @ vt)
        s[:, -1] *= sign
        u[:, :, -1] *= sign[:, None]
        cosine = np.minimum(s.sum(axis=1), 1.0)
        sine = np.sqrt(1 - cosine * cosine)
        factor = np.where(sine > 1e-8, np.arccos(cosine) / np.where(sine > 1e-8, sine, 1.0), 1.0)
        step = np.einsum("n,nka,nba->kb", factor, y, u @ vt, optimize=True) - (factor @ cosine) * x
        step /= len(y)
        length = np.linalg.norm(step)
        if length <= tolerance:
            break
        x = np.cos(length) * x + np.sin(length) / length * step
    return np.asarray(x)


def _matrices(y: Array, tolerance: float) -> Array:
    x = y.mean(axis=0)
    for _ in range(STEPS):
        root = np.linalg.cholesky(x)
        inverse = np.linalg.inv(root)
        values, vectors = np.linalg.eigh(inverse @ y @ inverse.T)
        step = ((vectors * np.log(values)[:, None]) @ vectors.swapaxes(1, 2)).mean(axis=0)
        if np.linalg.norm(step) <= tolerance:
            break
        values, vectors = np.linalg.eigh(step)
        side = root @ vectors
        x = (side * np.exp(values)) @ side.T
    return np.asarray(x)


def _subspaces(y: Array, tolerance: float) -> Array:
    p = y.shape[2]
    x = np.linalg.eigh(np.tensordot(y, y, ((0, 2), (0, 2))))[1][:, -p:]
    for _ in range(STEPS):
        inside = x.T @ y
        u, s, vt = np.linalg.svd((y - x @ inside) @ np.linalg.inv(inside), full_matrices=False)
        step = ((u * np.arctan(s)[:, None]) @ vt).mean(axis=0)
        if np.linalg.norm(step) <= tolerance:
            break
        u, s, vt = np.linalg.svd(step, full_matrices=False)
        x = np.linalg.qr((x @ vt.T * np.cos(s) + u * np.sin(s)) @ vt)[0]
    return np.asarray(x)


def _frames(y: Array, tolerance: float) -> Array:
    u, _, vt = np.linalg.svd(y.mean(axis=0), full_matrices=False)
    x = u @ vt
    for _ in range(STEPS):
        step = frame_logs(x, y).mean(axis=0)
        along = x.T @ step
        if np.sqrt(np.sum(step * step) - np.sum(along * along) / 2) <= tolerance:
            break
        u, _, vt = np.linalg.svd(x + step, full_matrices=False)
        x = u @ vt
    return np.asarray(x)


def _hyperboloid(y: Array, tolerance: float) -> Array:
    metric = np.ones(y.shape[1])
    metric[0] = -1.0
    x = y.mean(axis=0)
    x /= np.sqrt(-(metric * x) @ x)
    for _ in range(STEPS):
        cosh = np.maximum(-y @ (metric * x), 1.0)
        sinh = np.sqrt(cosh * cosh - 1)
        factor = np.where(sinh > 1e-8, np.arccosh(cosh) / np.where(sinh > 1e-8, sinh, 1.0), 1.0)
        along = factor @ cosh
        step = (factor @ y - along * x) / len(y)
        length = np.sqrt(max(0.0, (metric * step) @ step))
        if length <= tolerance:
            break
        step /= (1 + (len(x) - 2) * along / len(y)) / (len(x) - 1)
        length = np.sqrt((metric * step) @ step)
        x = np.cosh(length) * x + np.sinh(length) / length * step
    return np.asarray(x)
