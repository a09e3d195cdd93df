"""Neighbouring data sets that are likely to be the worst for a mechanism."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..laws.bounds import known_bounds
from ..means.frechet import solve
from ..numerics.arrays import Array
from ..records import Records
from ..regions import Ellipsoid, Settled

SIZES = (2, 5, 10, 50)  # numbers of records: in small data sets each record counts for much
OUTSIDE = 3.0  # a record outside the region lies this many radii from its centre, where the space is that large
CLUSTERED = 1  # among the pairs along a diameter: one record crosses while the others sit at the boundary
COMING_IN = 5  # one record moves from the centre, where the others sit, to the boundary


@dataclass(frozen=True, eq=False)
class Pair:
    """Two data sets D and D' of as many records, which differ in one at most; ``name`` says where that and the others lie."""

    name: str
    first: Array
    second: Array
    moved: int = field(init=False)  # the row in which they differ; the last if they do not

    def __post_init__(self) -> None:
        if np.shape(self.first) != np.shape(self.second) or len(self.first) < 1:
            raise ValueError("neighbouring data sets have the same number of records, at least one")
        differ = np.flatnonzero((np.asarray(self.first) != self.second).reshape(len(self), -1).any(axis=1))
        if len(differ) > 1:
            raise ValueError(f"neighbouring data sets differ in one record, but these differ in {len(differ)}")
        object.__setattr__(self, "moved", int(differ[0]) if len(differ) else len(self) - 1)

    def __len__(self) -> int:
        return len(self.first)


def neighbours(region: Settled, sizes: int | Sequence[int] = SIZES) -> list[Pair]:
    """Return pairs that stress a mechanism: one record crosses the region, moves to its boundary or lies beyond it, while the
    others sit at the centre, in a cluster at the boundary, at both ends of a diameter, or are spread.

    Two diameters are tried, as the curvature may depend on the plane; of an ellipsoid the longest and the shortest.  Data at
    both ends of one, with a record that moves across, move the Fréchet mean the most where the curvature is positive
    (theory, Result 2).

    >>> from sfumato import Ball, Sphere
    >>> pairs = neighbours(Ball(Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.4), 10)
    >>> len(pairs), pairs[0].name
    (18, 'n = 10: others at the centre, one record across the ball, axis 1')
    """
    sizes = [sizes] if isinstance(sizes, int) else sizes
    if min(sizes, default=0) < 1:
        raise ValueError(f"a data set has at least one record; got {sizes} for the numbers of records")
    chart = region.as_chart()
    lengths = chart.axes
    extremes = {int(np.argmax(lengths)), int(np.argmin(lengths))}
    axes = extremes if np.ptp(lengths) else range(min(2, len(lengths)))
    return [pair for n in sizes for axis in sorted(axes) for pair in _along(chart, n, axis)]


def _along(chart: Ellipsoid, n: int, axis: int) -> list[Pair]:
    """Return the pairs of n records along one diameter."""
    space = chart.space
    p = len(chart.axes)
    u = np.eye(p)[axis]
    at = chart.point
    what = "ellipsoid" if np.ptp(chart.axes) or chart.frozen else "ball"

    def mean_moves(w: Array) -> float:
        means = [solve(Records(space, np.append(ends, [end], axis=0))).point for end in (at(w), at(-w))]
        return float(space.distance(*means))

    centre = at(0 * u)
    east = at(u)
    west = at(-u)
    middle, cluster, inside = (np.repeat(point[None], n - 1, axis=0) for point in (centre, east, at(0.9 * u)))
    ends = np.stack([east, west])[np.arange(n - 1) % 2]
    rng = np.random.default_rng(n)
    lengths = rng.random((n - 1, 1))
    directions = rng.standard_normal((n - 1, p))
    spread = at(lengths * directions / np.linalg.norm(directions, axis=1, keepdims=True))
    bounds = known_bounds(space)  # without them a record without a logarithm is at the centre of a chart
    most = np.inf if bounds is None else 0.9 * bounds.injectivity_radius
    far = min(OUTSIDE * chart.radius, most) / chart.axes[axis]
    rows = [
        (f"others at the centre, one record across the {what}", middle, east, west),
        (f"others at the boundary, one record across the {what}", cluster, east, west),
        (f"others just inside the boundary, one record across the {what}", inside, east, west),
        (f"others at both ends, one record across the {what}", ends, east, west),
        (f"others spread, one record across the {what}", spread, east, west),
        ("others at the centre, one record from there to the boundary", middle, centre, east),
        (f"others at the centre, one record beyond the {what}", middle, at(far * u), at(-far * u)),
    ]
    if p > 1:
        v = max((w for i, w in enumerate(np.eye(p)[:6]) if i != axis), key=mean_moves)
        rows += [
            ("others at both ends, one record across another diameter", ends, at(v), at(-v)),
            ("others at the boundary, one record across another diameter", cluster, at(v), at(-v)),
        ]
    pairs = []
    for words, rest, *ends_of_record in rows:
        sides = (space.present(np.append(rest, [end], axis=0)) for end in ends_of_record)
        pairs.append(Pair(f"n = {n}: {words}, axis {axis + 1}", *sides))
    return pairs
