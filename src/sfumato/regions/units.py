"""One point of the region for each unit of privacy."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..means.frechet import solve
from ..numerics.arrays import Array, Points, as_numbers
from ..records import Records
from ..records.units import by_unit
from .base import Region
from .ellipsoid import tangent_coordinates


def reduce_to_units(
    region: Region, points: ArrayLike, unit_of: NDArray[np.intp], admit: Callable[[Array], Points] | None = None
) -> Points:
    """Return one canonical point for each unit, by its number: the mean of its records, in the region.

    A unit's records are checked, clipped and averaged by themselves (proofs, Units).
    """
    admit = admit or region.admit
    reduce = _mean_in_ball if region.is_ball else _mean_in_chart
    means = by_unit(points, unit_of, lambda own: reduce(region, admit(own)))
    if not means:
        return admit(as_numbers(points))
    if region.is_ball:
        return region.admit(region.space.present(np.stack(means)))
    with np.errstate(all="ignore"):  # a mean without a point has no place in a chart and counts as its centre
        return region.space.exp(region.center, region.space.from_coordinates(region.center, np.stack(means)))


def _mean_in_ball(ball: Region, own: Points) -> Points:
    """Return the Fréchet mean of one unit's clipped records."""
    return own[0] if len(own) == 1 else solve(Records(ball.space, own)).point


def _mean_in_chart(region: Region, own: Points) -> Array:
    """Return the mean of one unit's logarithms at the public centre, in which those that do not exist count as 0."""
    tangents = np.nan_to_num(tangent_coordinates(region.space, region.center, own), nan=0.0, posinf=0.0, neginf=0.0)
    return np.asarray(np.sum(tangents / len(own), axis=0))
