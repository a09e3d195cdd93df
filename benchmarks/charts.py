"""A release by chart against a Fréchet mean: what reads the records once, and what reads them a few times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from .cases import Array, Case, Points
from .peers import space_of
from .table import Row, Table, alternate, cpu

if TYPE_CHECKING:
    from sfumato.regions.ellipsoid import Ellipsoid

AT_MOST = 1.5  # times the mean, for shapes
CASES = [("shapes", 50, 10_000), ("sphere", 2, 10**6), ("sphere", 2, 10**7), ("spd", 3, 20_000)]


def charts(quick: bool) -> Iterator[Table]:
    """Canonical points, chart coordinates and their sum, over the mean of the same records, for several numbers of axes."""
    rows = [row for kind, size, n in CASES for row in _rows(Case(kind, size, min(n, 2000) if quick else n), quick)]
    note = (
        "CPU seconds (median, taking turns) of what a release by chart does with records as users type them: it makes "
        "them canonical, takes them to p coordinates of an ellipsoid, and sums; over those of their `frechet_mean`."
    )
    yield Table("Charts", note, rows)


def _rows(case: Case, quick: bool) -> list[Row]:
    import sfumato as sf

    space, points = space_of(case.kind, case.size), case.points()
    regions = {p: ellipsoid(case, p) for p in sorted({max(1, space.dim // 5), space.dim})}
    runs = {"mean": cpu(lambda: sf.frechet_mean(space, points))}
    runs |= {str(p): cpu(lambda region=region: chart_sum(region, points)) for p, region in regions.items()}  # type: ignore[misc]
    for run in runs.values():
        run()  # what must be compiled is
    seconds = alternate(runs, 2 if quick or case.n > 10**6 else 5)
    judged = case.kind == "shapes" and not quick
    return [
        {
            "case": case.name,
            "axes": p,
            "mean, s": seconds["mean"],
            "chart, s": seconds[str(p)],
            "chart over mean": (ratio := seconds[str(p)] / seconds["mean"]),
            "at most": AT_MOST if judged else None,
            "met": ratio <= AT_MOST if judged else None,
        }
        for p in regions
    ]


def ellipsoid(case: Case, p: int) -> Ellipsoid:
    """One with p axes in directions of no particular kind, such that some records are clipped."""
    from sfumato.regions.ellipsoid import Ellipsoid

    space = space_of(case.kind, case.size)
    basis = np.linalg.qr(np.random.default_rng(p).normal(size=(space.dim, space.dim)))[0][:p]
    return Ellipsoid(space, case.center(), np.geomspace(1.0, 0.3, p) * case.radius, basis)


def chart_sum(region: Ellipsoid, points: Points) -> Array:
    """The sum of the chart coordinates of all records."""
    total = np.zeros(len(region.axes))
    for found in region.chart_blocks(region.space.diagnose(points)[0]):
        total += np.ones(len(found)) @ found
    return total
