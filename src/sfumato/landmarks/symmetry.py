"""Bilateral symmetry: specimens without their asymmetry, before anything else is done with them."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .splines import as_came, as_landmarks, in_units


def symmetrize(points: ArrayLike, pairs: Iterable[Sequence[int]]) -> Any:
    """Return the symmetric component of each specimen: its mean with its own mirror image, sides relabelled.

    The mirror image is laid over the specimen by ordinary Procrustes superimposition, that is, reflected in the plane through
    the centroid (in two dimensions, the line) that brings it closest: the plane across the eigenvector of the smallest
    eigenvalue of XᵀPX, for centred landmarks X and P the exchange of sides.  The mean of both is exactly symmetric about it
    (Mardia, Bookstein and Moreton 2000; Klingenberg, Barluenga and Meyer 2002).  Each specimen is treated by itself, so a
    release from such specimens is as private as any.  It stays where it was, in its unit; one that holds NaN or an infinite
    value is returned as it is.

    Parameters
    ----------
    points : array_like
        Landmarks, (n, k, 2) or (n, k, 3), one specimen, (k, 2) or (k, 3), or a Dataset, which comes back as one.
    pairs : sequence of pairs of int
        The numbers of the landmarks, counted from 1, that are each other's mirror images, as ``[(1, 2), (3, 4)]``.  All other
        landmarks lie on the midline.

    >>> face = [[-1.0, 0.0], [1.2, 0.1], [0.1, -1.0]]                 # left eye, right eye, chin
    >>> even = symmetrize(face, [(1, 2)])
    >>> [round(float(np.linalg.norm(even[i] - even[2])), 3) for i in (0, 1)]
    [1.521, 1.521]
    """
    marks = as_landmarks(points, "symmetrize")
    other = _exchange(pairs, marks.shape[1])
    sides = [[i + 1, j + 1] for i, j in enumerate(other) if i < j]
    good = np.isfinite(marks).all(axis=(1, 2), keepdims=True)
    x, scale = in_units(np.where(good, marks, 0.0))
    middle = np.add.reduce(x, axis=1, keepdims=True) / x.shape[1]
    x = x - middle
    mirrored = x[:, other]
    product = x.mT @ mirrored
    normal = np.linalg.eigh((product + product.mT) / 2)[1][:, :, :1]
    mirrored = mirrored - 2 * (mirrored @ normal) @ normal.mT
    symmetric = np.where(good, ((x + mirrored) / 2 + middle) * scale, marks)
    return as_came(points, symmetric, symmetric=sides)


def read_pairs(text: str) -> list[tuple[int, int]]:
    """Return pairs as they are typed.

    >>> read_pairs("1-2, 3-4")
    [(1, 2), (3, 4)]
    """
    matches = [re.fullmatch(r"\s*(\d+)\s*-\s*(\d+)\s*", part) for part in text.split(",")]
    pairs = [(int(match[1]), int(match[2])) for match in matches if match]
    if len(pairs) < len(matches):
        raise ValueError(f"{text}: write pairs of left and right landmarks, counted from 1, as 1-2,3-4")
    return pairs


def _exchange(pairs: Iterable[Sequence[int]], k: int) -> list[int]:
    """Return for each landmark, from 0, its mirror image."""
    other = list(range(k))
    known: set[int] = set()
    for pair in pairs:
        words = "-".join(map(str, pair)) if np.ndim(pair) == 1 else repr(pair)
        if np.shape(pair) != (2,) or any(isinstance(i, bool) or int(i) != i for i in pair):
            raise ValueError(f"the pair {words} must be the numbers of two landmarks, as (1, 2)")
        a, b = (int(i) for i in pair)
        for i in (a, b):
            if not 1 <= i <= k:
                raise ValueError(f"the pair {words}: there are {k} landmarks, counted from 1, so none is number {i}")
            if i in known:
                raise ValueError(f"the pair {words}: landmark {i} stands in another pair already")
        if a == b:
            raise ValueError(f"the pair {words} is one landmark: leave it out, it is then on the midline")
        known |= {a, b}
        other[a - 1] = b - 1
        other[b - 1] = a - 1
    if not known:
        raise ValueError("give at least one pair of landmarks that are each other's mirror images")
    return other
