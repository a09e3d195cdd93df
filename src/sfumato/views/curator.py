"""What the curator alone may hear of the records, in words.  It goes to the curator's screen, and nowhere else."""

from collections.abc import Callable, Collection
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Fix, printable
from ..files import Dataset
from ..files.missing import remarks
from ..files.people import RECORD, repeated_labels
from ..numerics.arrays import Array, Points
from ..regions import Ball, Ellipsoid, Region, Settled
from ..regions.ball import FoundBall
from ..release import Release
from ..spaces.base import Space

NEARLY_ALL = 0.9  # share of records outside the ball that the curator should hear of loudly
MARK = "Curator only"
CLOSER = 0.6  # of its distance from the centre, within which another reading of a specimen is taken for the right one
MOST_TURNS = 2000  # specimens, the farthest, in which other orders are looked for
MOST_SWAPS = 60  # the same for swaps
MOST_LANDMARKS = 120  # of specimens in which swaps are looked for
OFTEN = 0.2  # of the specimens, from which on a landmark is missing so often that estimates move the mean
FAR = 3.0  # interquartile ranges above the upper quartile, from which on a distance is an outlier


def some(words: list[str], most: int = 5) -> list[str]:
    """Return a handful of them, and how many more there are.

    >>> some(["a", "b", "c"], 2)
    ['a', 'b', 'and 1 more']
    """
    return words[:most] + ([f"and {len(words) - most} more"] if len(words) > most else [])


def region_used(region: Region, done: Any) -> Settled:
    """Return the region that a result was made in: the one given, what was settled for its n and ε, or what was found."""
    done = next(iter(getattr(done, "groups", {"": done}).values()))
    if not isinstance(done, Release):
        return Ellipsoid(region.space, done.center, done.axes, done.basis)
    chart = done.chart
    ball = done.ball
    if chart is None or chart.basis is None:
        if done.found:
            return FoundBall(region.space, ball.center, ball.radius, done.guarantee.epsilon, done.found)
        return Ball(region.space, ball.center, ball.radius)
    return Ellipsoid(region.space, ball.center, chart.axes, chart.basis)


def beyond(region: Settled, points: Points) -> tuple[NDArray[np.bool_], int]:
    """Return which records a region clips, and how many could not be read as points."""
    canonical, bad = region.space.diagnose(points)
    canonical = canonical.copy()
    canonical[list(bad)] = region.center
    return region.outside(canonical), len(bad)


def of_clipping(region: Settled, points: Points, first: bool) -> str:
    """Return how many records were clipped, or how many of the ``first`` ones."""
    clipped, bad = beyond(region, points)
    n = len(clipped)
    outside = int(clipped.sum())
    records = f"the first {n} records" if first else f"{n} records"
    words = f"{outside or 'none'} of {records} lay outside the {region.called}"
    words += " (moved to its edge)" if outside else ""
    if bad:
        words += f"; {bad} could not be read as points and became the centre"
    if outside < NEARLY_ALL * n:
        return f"{MARK}: {words}."
    return f"{MARK.upper()}: {words}. The release says little of them. Are centre and records of one kind, in the same units?"


def of_estimates(data: Dataset, left: Collection[int], ahead: str = "") -> str:
    """Return which landmarks of which specimens, but for those that are left as they were, are estimates; and which often."""
    gone = np.any(np.isnan(data.points), axis=2)
    rows = [row for row in np.flatnonzero(gone.any(axis=1)).tolist() if row not in left]
    each = [f"{data.where(row)}: landmark {', '.join(map(str, np.flatnonzero(gone[row]) + 1))}" for row in rows]
    words = f"missing landmarks {ahead}estimated: {gone[rows].sum()}, in {len(rows)} of {len(data)} specimens"
    often = [f"landmark {i + 1} in {m}" for i, m in enumerate(gone[rows].sum(axis=0).tolist()) if m > OFTEN * len(data)]
    drawn = f" Estimated often: {', '.join(some(often))}. That draws the mean towards what is public, which no stated error "
    drawn += "counts: leave such a landmark out of all specimens."
    return printable(f"{MARK}: {words}: {'; '.join(some(each))}.{drawn * bool(often)}") if rows else ""


def inspection(data: Dataset, space: Space, missing: str) -> dict[str, Any]:
    """Return what a file holds, read as points of a space; ``missing`` is what was said of missing values.  Specimens of which
    landmarks are to be estimated, half of them at most, are not bad."""
    n = len(data)
    bad = space.diagnose(data.points)[1] if n else {}
    told = []
    if "estimate" in missing and data.kind == "landmarks":
        part = np.any(np.isnan(data.points), axis=2).mean(axis=1)
        bad = {row: reason for row, reason in bad.items() if not 0 < part[row] <= 0.5}
        told = [*filter(None, [of_estimates(data, bad, "to be ").removeprefix(f"{MARK}: ")])]
    return {
        "format": data.format,
        "kind": data.kind,
        "records": n,
        "shape": data.points.shape[1:],
        "points_from": data.source,
        "bad_records": len(bad),
        "bad": {row: bad[row] for row in sorted(bad)[:5]},
        "remarks": told + some(remarks(data, space, said=bool(missing))),
        "columns_with_repeats": {name: len(np.unique(data.labels[name])) for name in repeated_labels(data.labels)},
        "exact_copies": n - len(np.unique(data.points.reshape(n, -1), axis=0)) if n else 0,
    }


def inspection_in_words(data: Dataset, space: Space, facts: dict[str, Any], how: Callable[[Fix], str] = str) -> str:
    """Return the same for people, with advice in the words of a front."""
    more = facts["bad_records"] - len(facts["bad"])
    shape = " x ".join(map(str, facts["shape"]))
    contents = data.contents if data.kind == "landmarks" else f"{len(data)} records, {data.kind} of shape {shape}"
    lines = [
        "For the curator's eyes: not private.",
        "",
        f"{data.path}: {data.format}, {contents}",
        f"The points are {data.source}, as for {space}",
        f"Columns beside the points: {', '.join(data.labels) or 'none'}",
        f"Bad records: {facts['bad_records'] or 'none'}",
        *(f"  {data.where(row)}: {reason}" for row, reason in facts["bad"].items()),
    ]
    lines += [f"  and {more} more"] if more else []
    lines += [f"To look at: {line}" for line in facts["remarks"]]
    for column, repeats in repeated_labels(data.labels).items():
        fixes = how(Fix("unit_column", column)), how(Fix("unit", RECORD))
        whose = f"if it says whose record it is, release with {fixes[0]}, or with {fixes[1]} if not"
        lines.append(f"Column {column!r} has {repeats}: {whose}")
    lines += [f"{facts['exact_copies']} records are exact copies of others"] if facts["exact_copies"] else []
    return "\n".join(map(printable, lines))


# -- records beside a public region -------------------------------------------------------------------------------------------
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
    mirrored = points * np.array([-1.0, *[1.0] * (m - 1)])
    read(rows, mirrored, "its mirror image is much closer: was it seen from the other side?")
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
