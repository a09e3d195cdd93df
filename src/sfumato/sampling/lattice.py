"""The public lattice that a release is rounded to (theory, Floating point).

Which floating-point numbers exp_x̄(v) can produce depends on the mean x̄, and would reveal something about the data.  A
release is therefore a function of whole numbers alone: the coordinates of the draw in the tangent space at the public
centre, divided by a public power of two and rounded.
"""

from __future__ import annotations

import numpy as np

from ..spaces.base import Array, Points, Space
from .precise import whole_numbers


def lattice_spacing(sigma: float) -> float:
    """The largest power of two that is at most a sixteenth of the noise scale.

    >>> lattice_spacing(0.1)
    0.00390625
    """
    return float(2.0 ** np.floor(np.log2(sigma / 16)))


def round_to_lattice(space: Space, base: Points, coordinates: Array, center: Points, spacing: float) -> Points:
    """The point of the lattice about ``center`` nearest, in tangent coordinates, to exp_base(coordinates)."""
    whole = whole_numbers(space, base, coordinates, center, spacing)
    return space.exp(center, space.from_coordinates(center, whole * spacing))
