"""Products of a draw with a matrix, with one rounding."""

from __future__ import annotations

from math import fsum

import numpy as np

from ...numerics.arrays import Array
from ..calibration.error import COARSE


def coarse(matrix: Array) -> Array:
    """Return the matrix rounded to COARSE bits below its largest entry.

    >>> coarse(np.array([[0.5, 1e-9]])).tolist()
    [[0.5, 0.0]]
    """
    unit = 2.0 ** (np.frexp(np.abs(matrix).max())[1] - COARSE)
    return np.asarray(np.rint(matrix / unit) * unit)


def product(vector: Array, matrix: Array) -> Array:
    """Return vector @ matrix for a :func:`coarse` matrix, with each entry rounded once.

    (Unless terms cancel to less than 2^−70 of the largest one.)  The vector is divided into pieces with so few bits that
    their products with the matrix are exact in doubles.  The number of pieces does not depend on the vector.

    >>> product(np.array([1.0, 1e-17, -1.0]), np.ones((3, 1))).tolist()
    [1e-17]
    """
    bits = 53 - COARSE - len(vector).bit_length()
    count = -(-128 // bits)
    top = np.frexp(np.abs(vector).max())[1]
    rest = np.ldexp(vector, bits - top)
    pieces = np.empty((count, len(vector)))
    for i in range(count):
        pieces[i] = np.rint(rest)
        rest = np.ldexp(rest - pieces[i], bits)
    parts = np.ldexp(pieces @ matrix, top - bits * np.arange(1, count + 1)[:, None])
    return np.array([fsum(column) for column in parts.T.tolist()])
