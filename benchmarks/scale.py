"""Data that do not fit in memory, and two workers instead of one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from .cases import Array, Case
from .peers import ONE_THREAD, space_of
from .table import Row, Table

if TYPE_CHECKING:
    from sfumato import Space

FILES = 16
PARTITIONS = 16  # of a Dask array: a task costs the scheduler a few milliseconds, so it should take a worker many
# run by an interpreter that is small itself: on Linux a child starts with the high-water mark of its parent
PEAK = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=sys.stderr)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
sys.exit(code)
"""


def scale(quick: bool) -> Iterator[Table]:
    """A Parquet set past the memory that is allowed for it, and a Dask cluster that loses a worker."""
    yield _sizes(1 << (16 if quick else 21))
    yield _parquet(Case("sphere", 2, 10**6 if quick else 170_000_000))
    yield _cluster(Case("sphere", 2, 10**6 if quick else 50_000_000), judge=not quick)


# -- dimensions ----------------------------------------------------------------------------------------------------------
SIZES = {"sphere": (2, 9, 99), "shapes": (10, 50, 200), "spd": (2, 3, 10, 30)}


def _sizes(numbers: int) -> Table:
    """What a record costs as it grows, for about as many numbers in all."""
    from sfumato import frechet_mean

    rows: list[Row] = []
    for case in (Case(kind, size, 0) for kind, sizes in SIZES.items() for size in sizes):
        width = int(np.prod(case.point_shape))
        case = replace(case, n=max(200, numbers // width))
        space, points = space_of(case.kind, case.size), case.points()
        frechet_mean(space, points)  # what must be compiled is
        start = time.process_time()
        passes = frechet_mean(space, points).passes
        cost = 1e9 * (time.process_time() - start) / passes / case.n
        rows.append({"case": case.name, "passes": passes, "ns a record": cost, "ns a number": cost / width})
    return Table("Growth in the size of a record", "CPU time of a mean, for each pass and record; one run.", rows)


# -- Parquet -------------------------------------------------------------------------------------------------------------
def _parquet(case: Case) -> Table:
    with TemporaryDirectory() as name:
        folder = Path(name)
        files = write_parquet(case, folder / "directions")
        size = sum(file.stat().st_size for file in files)
        np.save(folder / "center.npy", case.center()[None])
        words = ["release", *files, "--space", "sphere", "--center", folder / "center.npy", "--radius", case.radius]
        words += ["--epsilon", 1.0, "--mechanism", "kng", "--out", folder / "release.json"]
        command = [sys.executable, "-c", PEAK, sys.executable, "-m", "sfumato.cli", *map(str, words)]
        start = time.perf_counter()
        done = subprocess.run(command, env=ONE_THREAD, capture_output=True, text=True)
        seconds = time.perf_counter() - start
        made = (folder / "release.json").exists()
    peak = int(done.stdout.split()[-1]) / 1e6
    reason = "" if made else "not run: " + (done.stderr.strip().splitlines() or ["no release was made"])[-1]
    row: Row = {
        "case": case.name,
        "on disk, GB": size / 1e9,
        "release, s": seconds if made else None,
        "peak, MB": peak if made else None,
        "below": 600,
        "met": made and peak < 600,
        "": reason,
    }
    note = f"`sfumato release` of {FILES} Parquet files in a fresh process: wall seconds, and its high-water mark."
    return Table("Parquet larger than memory", note, [row])


def write_parquet(case: Case, folder: Path) -> list[Path]:
    """The records of a case of vectors in files of about the same size, a part of the records in memory at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    schema = pa.schema([(f"v{i}", pa.float64()) for i in range(1, case.size + 2)])
    files: list[Path] = []
    for parts in np.array_split(np.arange(len(case.parts())), FILES):
        if len(parts):
            files.append(folder / f"{len(files):02d}.parquet")
            with pq.ParquetWriter(files[-1], schema, compression="none", use_dictionary=False) as writer:
                for i in parts:
                    writer.write_table(pa.table(list(case.part(int(i)).T), schema=schema))
    return files


# -- Dask ----------------------------------------------------------------------------------------------------------------
def _cluster(case: Case, judge: bool) -> Table:
    """The same mean by one process, one worker, two workers, and two workers of which one is killed half-way."""
    space = space_of(case.kind, case.size)
    points = case.points()
    wall, here = time.perf_counter(), time.process_time()
    expected = _mean(space, points)
    wall, here = time.perf_counter() - wall, time.process_time() - here
    rows: list[dict[str, Any]] = [{"workers": "none: an array", "mean, s": wall, "CPU here, s": here}]
    del points
    try:
        rows += _with_workers(case, space, expected, here / 2 if judge else None)
    except (TypeError, ValueError, NotImplementedError) as error:
        rows.append({"workers": f"not run: {error}", "met": False})
    head = ("workers", "mean, s", "CPU here, s", "distance", "met")
    return Table(
        f"Dask: {case.name}",
        "Wall seconds (median of three, one and two workers taking turns) of a mean of records that the workers hold; CPU "
        "seconds of the process that asks; distance to the mean of the same records in one array, wanted below 1e-12. Two "
        "workers are to be 1.4 times as fast as one, and not because this process does their work.",
        [{key: row.get(key) for key in head} for row in rows],
    )


def _with_workers(case: Case, space: Space, expected: Array, most_here: float | None) -> Iterator[dict[str, Any]]:
    from dask.distributed import Client, LocalCluster, wait

    def run(workers: str, client: Client, points: Any) -> dict[str, Any]:
        with client.as_current():
            wall, here = time.perf_counter(), time.process_time()
            mean = _mean(space, points)
            wall, here = time.perf_counter() - wall, time.process_time() - here
        distance = float(space.distance(mean, expected))
        return {
            "workers": workers,
            "mean, s": wall,
            "CPU here, s": here,
            "distance": distance,
            "met": distance <= 1e-12,
        }

    with ExitStack() as stack:
        held = {}
        for workers in (1, 2):
            cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
            client = stack.enter_context(Client(stack.enter_context(cluster)))
            with client.as_current():
                points = dask_array(case).persist()
                wait(points)
            held[str(workers)] = client, points
            run(str(workers), client, points)  # what must be compiled is
        rounds = [{workers: run(workers, *held[workers]) for workers in held} for _ in range(3)]
        middle = {w: sorted((one[w] for one in rounds), key=lambda row: float(row["mean, s"]))[1] for w in held}
        yield from middle.values()
        gain = middle["1"]["mean, s"] / middle["2"]["mean, s"]
        met = None if most_here is None else gain >= 1.4 and middle["2"]["CPU here, s"] <= most_here
        yield {"workers": "one over two", "mean, s": gain, "met": met}
        client, points = held["2"]
        victim = min(client.run(os.getpid).values())
        killer = threading.Timer(middle["2"]["mean, s"] / 2, os.kill, (victim, signal.SIGKILL))
        killer.start()
        row = run("2, one killed half-way", client, points)
        yield {**row, "met": row["met"] and not killer.is_alive()}
        killer.join()


def dask_array(case: Case) -> Any:
    """The records of a case in at most PARTITIONS, each made where it is needed."""
    import dask.array as da
    from dask.delayed import delayed

    made, rows = delayed(_partition), case.parts()
    parts = []
    for some in np.array_split(np.arange(len(rows)), min(len(rows), PARTITIONS)):
        first, last = int(some[0]), int(some[-1])
        shape = (rows[last].stop - rows[first].start, *case.point_shape)
        parts.append(da.from_delayed(made(case, first, last), shape, np.float64))
    return da.concatenate(parts)


def _partition(case: Case, first: int, last: int) -> Array:
    return np.concatenate([case.part(i) for i in range(first, last + 1)])


def _mean(space: Space, points: Any) -> Array:
    from sfumato import frechet_mean

    return frechet_mean(space, points).point
