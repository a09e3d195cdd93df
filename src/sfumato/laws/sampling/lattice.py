"""The public lattice that a release is rounded to (theory, Floating point).

Which floating-point numbers exp_x̄(v) can produce depends on the mean x̄ of the data.  A release is therefore a function of
whole numbers alone: the coordinates of the draw at the public centre, divided by a public power of two and rounded.
"""

from fractions import Fraction

import numpy as np

from ...numerics.arrays import Array, Points
from ...spaces.base import Space


def lattice_spacing(sigma: float) -> float:
    """Return the largest power of two that is at most a sixteenth of the noise scale.

    >>> lattice_spacing(0.1)
    0.00390625
    """
    return float(2.0 ** np.floor(np.log2(sigma / 16)))


def round_to_lattice(space: Space, base: Points, coordinates: Array, center: Points, spacing: float) -> Points:
    """Return the lattice point about ``center`` nearest, in tangent coordinates, to exp_base(coordinates)."""
    whole = whole_numbers(space, base, coordinates, center, spacing)
    return space.exp(center, space.from_coordinates(center, whole * spacing))


def is_precise(space: Space, reach: float) -> bool:
    """Return whether draws within ``reach`` of the centre are rounded in long arithmetic."""
    return space.exact is not None and reach <= space.exact.reach


def whole_numbers(space: Space, base: Points, coordinates: Array, center: Points, spacing: float) -> Array:
    """Return the coordinates at ``center`` of exp_base(coordinates), in units of ``spacing`` and rounded.

    They come from the exact map of the space if it has one, otherwise from doubles.

    >>> from sfumato import Euclidean
    >>> whole_numbers(Euclidean(dim=1), np.array([0.1]), np.array([0.2]), np.array([0.0]), 2.0**-4).tolist()
    [5.0]
    """
    if exact := space.exact:
        exactly = exact.coordinates(space, base, coordinates, center)
        return np.array([float(round(c / Fraction(spacing))) for c in exactly])
    point = space.exp(base, space.from_coordinates(base, coordinates))
    return np.asarray(np.rint(space.coordinates(center, space.log(center, point)) / spacing))


def add_exactly(value: Array, noise: Array, spacing: Array | float) -> Array:
    """Return the lattice point nearest to value + noise, the sum being exact.

    >>> add_exactly(np.array([0.1]), np.array([0.2]), 0.25).tolist()
    [0.25]
    """
    spacings = np.broadcast_to(spacing, np.shape(value))
    terms = zip(value.ravel().tolist(), noise.ravel().tolist(), spacings.ravel().tolist(), strict=True)
    rounded = [float(round((Fraction(v) + Fraction(e)) / Fraction(s)) * Fraction(s)) for v, e, s in terms]
    return np.reshape(rounded, np.shape(value))
