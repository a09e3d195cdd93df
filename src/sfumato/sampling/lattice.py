"""The public lattice that a release is rounded to (theory, Floating point).

Which doubles exp_x̄(v) can produce depends on x̄, and so would tell of the data.  A release is therefore a function of whole
numbers alone: the coordinates of the draw in the tangent space at the public centre, divided by a public power of two.
"""

from __future__ import annotations

import numpy as np

from ..spaces.base import Points, Space


def lattice_spacing(sigma: float) -> float:
    """The power of two at or below a sixteenth of the length that sets the noise.

    >>> lattice_spacing(0.1)
    0.00390625
    """
    return float(2.0 ** np.floor(np.log2(sigma / 16)))


def round_to_lattice(space: Space, center: Points, point: Points, spacing: float) -> Points:
    """The point of the lattice about ``center`` nearest to ``point`` in tangent coordinates."""
    whole = np.rint(space.coordinates(center, space.log(center, point)) / spacing)
    return space.exp(center, space.from_coordinates(center, whole * spacing))
