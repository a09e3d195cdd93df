"""A release by chart against a Fréchet mean: what reads the records once, and what reads them a few times."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from .cases import Array, Case, Points
from .peers import space_of
from .table import Row, Table, alternate, cpu

if TYPE_CHECKING:
    from sfumato.regions.ellipsoid import Ellipsoid

AT_MOST = 1.5  # times the mean, for shapes
CASES = [("shapes", 50, 10_000), ("sphere", 2, 10**6), ("sphere", 2, 10**7), ("spd", 3, 20_000)]
STAGED = [("sphere", 2, 10**6), ("shapes", 50, 20_000), ("spd", 3, 20_000)]


def charts(quick: bool) -> Iterator[Table]:
    """Canonical points, chart coordinates and their sum, over the mean of the same records, for several numbers of axes."""
    rows = [row for kind, size, n in CASES for row in _rows(Case(kind, size, min(n, 2000) if quick else n), quick)]
    note = (
        "CPU seconds (median, taking turns) of what a release by chart does with records as users type them: it makes "
        "them canonical, takes them to p coordinates of an ellipsoid, and sums; over those of their `frechet_mean`."
    )
    yield Table("Charts", note, rows)
    note = (
        "CPU nanoseconds a record (median, taking turns) of what a release by chart with all axes does, each stage as the "
        "difference of two runs: in memory it checks the records, takes logarithms at the centre, clips and sums; from "
        "Parquet, uncompressed, it first decodes columns and puts them side by side, twice, as a first pass checks and counts."
    )
    yield Table("Charts, where the time goes", note, [_stages(Case(*one), quick) for one in STAGED])


def _stages(case: Case, quick: bool) -> Row:
    from pyarrow.dataset import dataset

    import sfumato as sf
    from sfumato.mechanisms.tangent import whole_sums
    from sfumato.records.sources import _batches, chunk_rows, table_parts
    from sfumato.regions.ellipsoid import tangent_blocks

    case = Case(case.kind, case.size, min(case.n, 2000) if quick else case.n)
    space, points = space_of(case.kind, case.size), case.points()
    region = ellipsoid(case, space.dim)
    canonical, rows = space.diagnose(points)[0], region.basis / region.axes[:, None]
    mechanism = sf.TangentKNorm(region, 1.0)
    with TemporaryDirectory() as folder:
        _write(points, case, Path(folder, "records.parquet"))
        stored = dataset(Path(folder, "records.parquet"))
        parts = table_parts(stored, space, chunk_rows(space, 1 << 28, 1))
        runs = {
            "check": cpu(lambda: space.diagnose(points)),
            "log": cpu(lambda: _all(tangent_blocks(space, region.center, canonical, rows))),
            "clip": cpu(lambda: _all(region.chart_blocks(canonical))),
            "sum": cpu(lambda: whole_sums(region.chart_blocks, canonical, None)),
            "decode": cpu(lambda: _all(b for p in parts for b in _batches(p.source, p.schema, p.columns, p.rows))),
            "side by side": cpu(lambda: _all(chain.from_iterable(parts))),
            "release": cpu(lambda: mechanism.release(points, allow_useless=True)),
            "from Parquet": cpu(lambda: mechanism.release(stored, allow_useless=True)),
        }
        for run in runs.values():
            run()  # what must be compiled is
        found = {name: 1e9 * s / case.n for name, s in alternate(runs, 2 if quick else 5).items()}
    before = {"clip": "log", "sum": "clip", "side by side": "decode"}
    stages = {name: max(0.0, found[name] - found.get(before.get(name, ""), 0.0)) for name in found}
    memory, disk = (max(names, key=stages.__getitem__) for names in (list(stages)[:4], list(stages)[:6]))
    return {"case": case.name, "axes": space.dim} | stages | {"most, in memory": memory, "most, from Parquet": disk}


def _all(blocks: Iterable[Any]) -> None:
    deque(blocks, 0)


def _write(points: Points, case: Case, path: Path) -> None:
    import pyarrow as arrow
    from pyarrow.parquet import write_table

    each = {
        "sphere": list("xyzabcdefgh"[: case.size + 1]),
        "shapes": [f"{axis}{j + 1}" for j in range(case.size) for axis in "xy"],
        "spd": [f"m{i + 1}{j + 1}" for i in range(case.size) for j in range(case.size)],
    }[case.kind]
    columns = points.reshape(case.n, -1).T
    write_table(arrow.table(dict(zip(each, columns, strict=True))), path, compression="none", use_dictionary=False)


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
