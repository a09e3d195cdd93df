"""Which displacements of landmarks are likely, from the landmarks alone: smooth ones along an outline, and those of little
bending.  Each is a second moment in the coordinates at a public shape, up to a factor."""

import numpy as np

from ..landmarks.splines import principal_warps
from ..numerics.arrays import Array, Points
from ..spaces.base import Space

STIFFNESS = 4.0  # of the median principal warp against an affine change


def smooth_moment(space: Space, center: Points, order: float, closed: bool) -> Array:
    """Return the moment of modes along the landmarks with variance (1 + |f|)^(−2·order), f whole periods of the outline:
    Fourier modes where it is closed, cosines where it is open.

    >>> from sfumato import PlanarShapes
    >>> space = PlanarShapes(landmarks=12)
    >>> np.linalg.eigvalsh(smooth_moment(space, space.origin(), 1.0, True))[::-1].round(3).tolist()[:6]
    [0.25, 0.25, 0.111, 0.111, 0.111, 0.111]
    """
    basis = _basis(space, center)
    k = basis.shape[1]
    if closed:
        frequencies = np.fft.fftfreq(k, 1 / k)
        modes = np.fft.fft(np.eye(k)) / np.sqrt(k)
    else:
        steps = np.arange(k)
        frequencies = steps / 2
        modes = np.cos(np.pi * np.outer(steps, steps + 0.5) / k) * np.sqrt(2 / k) + 0j
    variances = (1 + np.abs(frequencies)) ** (-2.0 * order)  # of a shift too: shapes have none, steps along a curve may
    return _restricted(basis, ((modes.conj().T * variances) @ modes).real)


def bending_moment(space: Space, center: Points) -> Array:
    """Return the moment of principal warps of the thin-plate spline at the shape (Bookstein 1989): variance 1 for affine
    changes and 1/(1 + 4e/median e) for a warp of bending energy e.

    In terms of the inverse energies g a variance is g/(g + 4·median g), and landmarks that coincide do no harm.
    """
    basis = _basis(space, center, bending=True)
    marks = space.present(center[None])[0].reshape(basis.shape[1:])
    side, warps = principal_warps(marks)
    shrink = STIFFNESS * float(np.median(warps)) if len(warps) else 0.0
    return _restricted(basis, np.eye(len(marks)) - (side * (shrink / np.maximum(warps + shrink, 1e-300))) @ side.T)


def _restricted(basis: Array, moment: Array) -> Array:
    """Return the second moment of the tangent part of displacements with this (k, k) moment in each coordinate."""
    restricted = np.einsum("aki,kl,bli->ab", basis, moment, basis, optimize=True)
    return np.asarray(restricted + restricted.T) / 2


def _basis(space: Space, center: Points, bending: bool = False) -> Array:
    """Return the tangent basis at the centre as displacements, (d, k, coordinates)."""
    if space.landmark_dim is None:
        raise ValueError(f"{space}: its points are not landmarks that run along or bend: give axes or a public sample")
    return space.displacements(center, bending)
