"""What the curator alone may hear of the records, in words.  It goes to the curator's screen, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Fix, printable
from ..files import Dataset
from ..files.missing import remarks
from ..files.people import RECORD, repeated_labels
from ..numerics.arrays import Points
from ..regions import Ball, Ellipsoid, Region, Settled
from ..regions.ball import FoundBall
from ..release import Release
from ..spaces.base import Space

NEARLY_ALL = 0.9  # share of records outside the ball that the curator should hear of loudly
MARK = "For the curator only, not part of the release"


def some(words: list[str], most: int = 5) -> list[str]:
    """Return a handful of them, and how many more there are.

    >>> some(["a", "b", "c"], 2)
    ['a', 'b', 'and 1 more']
    """
    return words[:most] + ([f"and {len(words) - most} more"] if len(words) > most else [])


def region_used(region: Region, release: Release) -> Settled:
    """Return the region that a release was made in: that which was given, what was settled for its n and ε, or what was
    found."""
    chart = release.chart
    ball = release.ball
    if chart is None or chart.basis is None:
        if release.found:
            return FoundBall(region.space, ball.center, ball.radius, release.guarantee.epsilon, release.found)
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
    if outside:
        words += f" and {'was' if outside == 1 else 'were'} moved to its edge"
    if bad:
        words += f"; {bad} could not be read as points and became the centre"
    if outside < NEARLY_ALL * n:
        return f"{MARK}: {words}."
    return (
        f"{MARK.upper()}: {words}. What was released is the mean of points on that edge, and says little of the records as "
        "they are. The centre and the radius do not fit them: are they in the same units (volts, microvolts), and is the "
        "centre of the same kind? Choose both anew from public knowledge, not from these records; another release costs its "
        "epsilon again."
    )


def inspection(data: Dataset, space: Space, said: bool) -> dict[str, Any]:
    """Return what a file holds, read as points of a space; ``said``: whether codes for missing values were declared."""
    n = len(data)
    bad = space.diagnose(data.points)[1] if n else {}
    return {
        "format": data.format,
        "kind": data.kind,
        "records": n,
        "shape": data.points.shape[1:],
        "points_from": data.source,
        "bad_records": len(bad),
        "bad": {row: bad[row] for row in sorted(bad)[:5]},
        "remarks": some(remarks(data, space, said=said)),
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
