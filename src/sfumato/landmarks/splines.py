"""Landmarks laid over each other, and the thin-plate spline (Bookstein 1989), by operations on matrices of one specimen each.
No other specimen changes a bit of it, so long as they lie in memory alike: landmarks are taken by ``take`` and ``compress``."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics.arrays import Array, as_numbers

ROUNDS = 20  # of superimposition on the mean shape
FLAT = 1e-6  # width over length below which landmarks lie on a line
SINGULAR = 1e-10  # of the largest eigenvalue: below it there is none


def as_landmarks(points: ArrayLike, taker: str) -> Array:
    """Return landmarks as float64, (n, k, 2) or (n, k, 3), for the function that takes them; one specimen as a batch."""
    array = as_numbers(points)
    if np.iscomplexobj(array) or array.ndim not in (2, 3) or array.shape[-1] not in (2, 3):
        shape = f"shape {array.shape} of {'complex' if np.iscomplexobj(array) else 'real'} numbers"
        raise ValueError(f"{taker} takes landmarks, (n, k, 2) or (n, k, 3), not an array of {shape}")
    return array.astype(np.float64, order="C").reshape(-1, *array.shape[-2:])


def as_came(points: Any, made: Array, reference: Any = None, **said: Any) -> Any:
    """Return landmarks in the form in which they came: an array, or a data set that says what was done to it."""
    made = made.reshape(np.shape(points))
    if reference is not None:
        said["reference"] = int(np.prod(np.shape(reference)[:-2]))
    return replace(points, points=made, prepared=points.prepared | said) if hasattr(points, "prepared") else made


def beside_public(points: ArrayLike, reference: ArrayLike, taker: str) -> tuple[Array, Array, Array]:
    """Return specimens, the complete ones of a public sample, or one public shape as such, and their mean shape."""
    marks, sample = (as_landmarks(each, taker) for each in (points, reference))
    if sample.shape[1:] != marks.shape[1:]:
        raise ValueError(f"{taker}: public landmarks {sample.shape[1:]}, but records of {marks.shape[1:]}")
    sample = in_units(sample[np.isfinite(sample).all(axis=(1, 2))])[0]
    if not len(sample):
        raise ValueError("no public specimen has all its landmarks, and one at least must")
    return marks, sample, mean_shape(sample)


def in_units(marks: Array) -> tuple[Array, Array]:
    """Return specimens over their largest finite coordinates, so that no square overflows, and these."""
    scale = np.max(np.abs(marks), axis=(1, 2), keepdims=True, initial=0.0, where=np.isfinite(marks))
    scale = np.where(scale > 1e-300, scale, 1.0)
    return marks / scale, scale


def lay_over(shape: Array, marks: Array, by: ArrayLike = True) -> tuple[Array, Callable[[Array], Array]]:
    """Return specimens moved, scaled and turned such that their landmarks ``by`` have mean 0 and size one and lie closest to
    those of a shape (ordinary Procrustes superimposition); and the function that takes points back."""
    by = np.broadcast_to(by, len(shape))
    some = np.compress(by, marks, axis=1)
    middle = np.add.reduce(some, axis=1, keepdims=True) / some.shape[1]
    size = np.linalg.norm(some - middle, axis=(1, 2), keepdims=True)
    size = np.where(size > 0, size, 1.0)
    turn = rotations(shape[by], (some - middle) / size)
    return (marks - middle) / size @ turn.mT, lambda points: np.asarray(points @ turn * size + middle)


def rotations(shape: Array, marks: Array) -> Array:
    """Return the rotations that take a shape about 0 closest to each specimen (Umeyama 1991)."""
    u, _, vt = np.linalg.svd(shape.T @ marks)
    u[..., -1] *= np.where(np.linalg.det(u @ vt) < 0, -1.0, 1.0)[:, None]
    return np.asarray(u @ vt)


def mean_shape(sample: Array) -> Array:
    """Return the mean of specimens laid over it (Gower 1975), of size one about 0."""
    mean = sample[0]
    for _ in range(ROUNDS):
        mean = lay_over(mean, sample)[0].mean(axis=0)
    return np.asarray(lay_over(mean, mean[None])[0][0])


def spanned(marks: Array) -> NDArray[np.intp]:
    """Return how many dimensions the landmarks of each specimen span: 0 for one point, 1 for a line."""
    widths = np.linalg.svd(marks - np.add.reduce(marks, axis=1, keepdims=True) / marks.shape[1])[1]
    return np.asarray(np.sum(widths > FLAT * np.maximum(widths[:, :1], SINGULAR), axis=1))


def kernel(a: Array, b: Array) -> Array:
    """Return r²·log r² in the plane, −r in space, for the distances r of points a from points b."""
    square = np.sum((a[:, None] - b[None]) ** 2, axis=-1)
    return np.asarray(square * np.log(np.where(square > 0, square, 1.0)) if a.shape[1] == 2 else -np.sqrt(square))


def principal_warps(marks: Array) -> tuple[Array, Array]:
    """Return an orthonormal basis of what affine functions of landmarks miss, (k, p), and its inverse bending energies: the
    eigenvalues of QᵀKQ, for the kernel K and any such basis Q (Bookstein 1989)."""
    left, sizes, _ = np.linalg.svd(np.column_stack([np.ones(len(marks)), marks]))
    rest = left[:, int(np.sum(sizes > 1e-9 * sizes[0])) :]
    warps, vectors = np.linalg.eigh(rest.T @ kernel(marks, marks) @ rest)
    return rest @ vectors, np.maximum(warps, 0.0)


def bending_energy(marks: Array) -> Array:
    """Return the matrix B of the energy Σyᵀ·B·y, over coordinates, of moving landmarks to y: the upper left of the inverse of
    [[K, P], [Pᵀ, 0]], for the affine functions P.  Landmarks that coincide move together."""
    side, warps = principal_warps(marks)
    firm = warps > SINGULAR * warps.max(initial=0.0)
    return np.asarray((side[:, firm] / warps[firm]) @ side[:, firm].T)


def spline(marks: Array, points: Array) -> Array:
    """Return the matrix of the thin-plate spline: times new places of the landmarks, it gives those of the points."""
    energy = bending_energy(marks)
    affine, there = (np.column_stack([np.ones(len(some)), some]) for some in (marks, points))
    bent = kernel(points, marks) - there @ np.linalg.pinv(affine) @ kernel(marks, marks)
    return np.asarray(bent @ energy + there @ np.linalg.pinv(affine))
