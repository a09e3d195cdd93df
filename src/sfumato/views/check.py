"""The curator's check of records against a public region: what it would clip, and which specimens look wrongly digitised.

For the curator's screen alone: nothing of it is private.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import printable
from ..files import Dataset
from ..numerics.arrays import Array, Points
from ..regions import Settled
from ..spaces.base import Space
from .curator import beyond, some

CLOSER = 0.6  # of its distance from the centre, within which another reading of a specimen is taken for the right one
MOST_TURNS = 2000  # specimens, the farthest, in which other orders are looked for
MOST_SWAPS = 60  # the same for swaps
MOST_LANDMARKS = 120  # of specimens in which swaps are looked for
FAR = 3.0  # interquartile ranges above the upper quartile, from which on a distance is an outlier


def against(region: Settled, data: Dataset) -> list[str]:
    """Return what a curator should see of records beside a region, before a release is made in it."""
    n = len(data)
    outside = int(beyond(region, data.points)[0].sum())
    lines = [f"{outside or 'none'} of {n} records {'lies' if outside == 1 else 'lie'} outside the {region.called}"]
    lines[0] += " and would be moved to its edge" if outside else ""
    away = _away(region.space, region.center, data.points)
    known = np.flatnonzero(np.isfinite(away))
    if not len(known):
        return lines
    low, middle, high = np.quantile(away[known], [0.25, 0.5, 0.75])
    size = f"; its radius is {region.radius:.3g}" if region.is_ball else ""
    lines.append(f"half of the records are within {middle:.3g} of the public centre{size}")
    order = known[np.argsort(-away[known])]
    far = [row for row in order.tolist() if away[row] > high + FAR * (high - low)]
    lines += some([f"outlier: {data.where(row)}: {away[row]:.3g} from the centre" for row in far])
    if not far:
        farthest = ", ".join(f"{data.where(row)} ({away[row]:.3g})" for row in order[:3].tolist())
        lines.append(f"no record lies far from the others; the farthest: {farthest}")
    lines += _landmarks(region.space, region.center, data, away) if data.kind == "landmarks" else []
    return [printable(line) for line in lines]


def _landmarks(space: Space, center: Points, data: Dataset, away: Array) -> list[str]:
    """Return specimens that are much closer to the centre when they are mirrored, or their landmarks taken in another order."""
    readings: dict[int, tuple[float, str]] = {}
    order = np.argsort(-np.nan_to_num(away))
    k, m = data.points.shape[1:]

    def read(rows: NDArray[np.intp], points: Points, words: str, than: float = 0.8) -> None:
        """Keep this reading where it is much closer than the specimen as it is, and closer than any before."""
        other = _away(space, center, points)
        for row, distance in zip(rows.tolist(), other.tolist(), strict=True):
            if distance < CLOSER * away[row] and distance < than * readings.get(row, (np.inf, ""))[0]:
                readings[row] = distance, f"{words} ({distance:.3g} from the centre then, {away[row]:.3g} now)"

    rows = order[:MOST_TURNS]
    points = data.points[rows]
    read(
        rows,
        points * np.array([-1.0, *[1.0] * (m - 1)]),
        "its mirror image is much closer: was it seen from the other side?",
    )
    for start in range(k):
        turned = np.roll(points, -start, axis=1)
        if start:
            read(rows, turned, f"its landmarks may be in another order, and begin with landmark {start + 1}")
        back = np.roll(turned[:, ::-1], 1, axis=1)
        read(rows, back, f"its landmarks may be in the reversed order, and begin with landmark {start + 1}")
    rows = order[~np.isin(order, [*readings])][:MOST_SWAPS]
    for i, j in combinations(range(k), 2) if k <= MOST_LANDMARKS else ():
        swapped = data.points[rows].copy()
        swapped[:, [i, j]] = swapped[:, [j, i]]
        read(rows, swapped, f"landmarks {i + 1} and {j + 1} may be swapped", than=1.0)
    lines = [f"{data.where(row)}: {readings[row][1]}" for row in sorted(readings)]
    return some(lines, 10) or ["no specimen looks mirrored, and none has its landmarks in another order"]


def _away(space: Space, center: Points, points: Any) -> Array:
    """Return the distance of each record from the centre; NaN where it is no point."""
    canonical, bad = space.diagnose(points)
    with np.errstate(all="ignore"):
        distances = np.array(space.distance(center, canonical), dtype=np.float64)
    distances[list(bad)] = np.nan
    return distances
