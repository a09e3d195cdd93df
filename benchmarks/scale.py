"""Records that do not fit in memory, two workers instead of one, and what that says of still more records.

``make bench ARGS="--only scale"``; with ``--only billion`` a billion records and 20 GB of Parquet files.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from .cases import Case
from .large import PART, measured, partitions, write_parquet
from .peers import space_of
from .table import Row, Table, load

if TYPE_CHECKING:
    from sfumato.means.frechet import FrechetMean
    from sfumato.records import Progress

PARQUET, AGAIN = 170_000_000, 5  # records in Parquet files, 4.1 GB; read five times as if they were others, 20 GB
IDLE = 300  # tasks that have nothing to do
PEAK, GROWTH, GAIN, LOSS, CLOSE = 600, 1.3, 1.6, 2.0, 1e-12  # what is wanted: MB, ratios, a distance
PATIENCE = {"distributed.scheduler.worker-ttl": "30s"}  # with a worker that hangs; one that is killed is missed at once


def scale(quick: bool) -> Iterator[Table]:
    """What large records cost, very many of them, two workers, the loss of one; and on paper still more records."""
    yield _sizes(1 << (16 if quick else 21))
    yield from _many(quick, [10**5, 10**6] if quick else [10**7, 10**8], 10**6 if quick else PARQUET, 1)


def billion(quick: bool) -> Iterator[Table]:
    """The same with a billion records and 20 GB of Parquet files."""
    yield from _many(quick, [10**5, 10**6] if quick else [10**7, 10**9], 10**6 if quick else PARQUET, AGAIN)


def _many(quick: bool, sizes: list[int], parquet: int, again: int) -> Iterator[Table]:
    made, own = _made(sizes, judge=not quick)
    yield made
    files, read = _parquet(parquet, again)
    yield files
    workers, task = _cluster(4 * PART if quick else 50_000_000, judge=not quick)
    yield workers
    yield _on_paper(own, read, task)


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


# -- very many records ---------------------------------------------------------------------------------------------------
Costs = dict[
    str, tuple[int, float]
]  # of a mechanism: how many passes it makes, and the seconds of a record in one of them


def _made(sizes: list[int], judge: bool) -> tuple[Table, Costs]:
    """Releases of few and of many directions that are made on the fly, in one fresh process."""
    found = measured("made", *sizes)
    first = {row["mechanism"]: row["cpu"] / row["n"] for row in found if row["n"] == sizes[0]}
    growth = [row["cpu"] / row["n"] / first[row["mechanism"]] for row in found]
    rows: list[Row] = [
        {
            "release": f"{row['mechanism']}, n = {row['n']:,}",
            "passes": row["passes"],
            "wall, s": row["wall"],
            "CPU, s": row["cpu"],
            "making them, s": row["making"],
            "ns a record": 1e9 * row["cpu"] / row["n"],
            "without making": 1e9 * (row["cpu"] - row["making"]) / row["n"],
            "over the fewest": more,
            "peak, MB": row["peak"] / 1e6,
            "met": row["peak"] < PEAK * 1e6 and more <= GROWTH if judge else None,
        }
        for row, more in zip(found, growth, strict=True)
    ]
    note = (
        "Directions on S², made on the fly in every pass and not stored, released in one fresh process on one core. A record "
        f"is to cost at most {GROWTH:g} times what it costs among the fewest; the high-water mark of the process is to stay "
        f"below {PEAK} MB. {load()}."
    )
    own = {
        row["mechanism"]: (row["passes"], (row["cpu"] - row["making"]) / row["passes"] / row["n"])
        for row in found
        if row["n"] == sizes[-1]
    }
    return Table("Very many records", note, rows), own


# -- Parquet -------------------------------------------------------------------------------------------------------------
def _parquet(n: int, again: int) -> tuple[Table, Costs]:
    """Releases of a set of files, which may be read several times as if they were others."""
    with TemporaryDirectory() as folder:
        files = write_parquet(n, Path(folder, "directions"))
        size = again * sum(file.stat().st_size for file in files)
        found = measured("parquet", *again * files)
    rows: list[Row] = [
        {
            "release": f"{row['mechanism']}, n = {row['n']:,}",
            "read in a pass, GB": size / 1e9,
            "passes": row["passes"],
            "wall, s": row["wall"],
            "CPU, s": row["cpu"],
            "ns a record and pass": 1e9 * row["cpu"] / row["passes"] / row["n"],
            "peak, MB": row["peak"] / 1e6,
            "met": row["peak"] < PEAK * 1e6,
        }
        for row in found
    ]
    named = "" if again == 1 else f", each of them named {again} times and read as often in every pass"
    note = (
        f"Releases of {len(files)} Parquet files{named}, in a fresh process on one core; its high-water mark is to stay below "
        f"{PEAK} MB. {load()}."
    )
    read = {row["mechanism"]: (row["passes"], row["cpu"] / row["passes"] / row["n"]) for row in found}
    return Table("Parquet larger than memory", note, rows), read


# -- Dask ----------------------------------------------------------------------------------------------------------------
def _cluster(n: int, judge: bool) -> tuple[Table, float]:
    """The same mean by one process, one worker, two workers, and two workers of which one is killed half-way; and the seconds
    that a task takes."""
    import dask
    import psutil  # Dask needs it

    free = psutil.cpu_count() * (1 - psutil.cpu_percent(interval=1.0) / 100)
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(PATIENCE))
        clients = {workers: _client(stack, workers) for workers in (1, 2)}
        with dask.config.set(scheduler="sync"):
            alone, expected = _timed(None, n)
        runs = [{workers: _timed(client, n) for workers, client in clients.items()} for _ in range(4)]
        one, two = (median(run[workers][0] for run in runs[1:]) for workers in clients)  # the first loads what it needs
        seconds, idle = _timed(clients[2], 10 * IDLE, part=10)  # while both workers are well
        losses = [_lost(clients[2], n) for _ in range(3)]
    task = seconds / idle.passes / IDLE
    loss, killed, survived = sorted(losses, key=itemgetter(0))[1]
    space = space_of("sphere", 2)
    rows: list[Row] = []
    for name, taken, mean, ratio, wanted, met in (
        ("none: in this process", alone, expected, None, None, True),
        ("1", one, runs[-1][1][1], None, None, True),
        ("2", two, runs[-1][2][1], one / two, f"at least {GAIN:g}", one / two >= GAIN if free >= 1.8 else None),
        ("2, one killed half-way", killed, survived, loss, f"at most {LOSS:g}", loss <= LOSS),
    ):
        apart = float(space.distance(mean.point, expected.point))
        row: Row = {"workers": name, "mean, s": taken, "ratio": ratio, "wanted": wanted, "distance": apart}
        rows.append({**row, "met": False if apart > CLOSE else met if judge else None})
    note = (
        f"Wall seconds (median of three) of the mean of n = {n:,} directions, made anew in every pass as if they were read; "
        "one worker over two, and two of which one is killed over two just before. Distances are to the mean of this process, "
        f"and wanted below {CLOSE:g}. The gain is judged where 1.8 cores are free: at the start {free:.1f} were. {load()}. "
        f"A task that has nothing to do takes {1e3 * task:.2g} ms."
    )
    return Table("Dask", note, rows), task


def _client(stack: ExitStack, workers: int) -> Any:
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    return stack.enter_context(Client(stack.enter_context(LocalCluster(n_workers=workers, **options))))


def _timed(client: Any, n: int, part: int = PART, progress: Progress | None = None) -> tuple[float, FrechetMean]:
    """Wall seconds of a mean, and the mean."""
    from sfumato import frechet_mean

    with client.as_current() if client else nullcontext():
        start = time.perf_counter()
        mean = frechet_mean(space_of("sphere", 2), partitions(n, part), progress=progress)
        return time.perf_counter() - start, mean


def _lost(client: Any, n: int) -> tuple[float, float, FrechetMean]:
    """How many times as long a mean takes if a worker is killed in the middle of the third pass, of four; its seconds; and the
    mean."""
    client.wait_for_workers(2)
    usual = min(_timed(client, n)[0] for _ in range(2))  # a new worker loads what it needs in the first
    alive = set(client.run(os.getpid).values())

    def progress(number: int, done: int, parts: int) -> None:
        if number == 3 and 2 * done >= parts and len(alive) == 2:
            os.kill(alive.pop(), signal.SIGKILL)

    seconds, mean = _timed(client, n, progress=progress)
    if len(alive) == 2:
        raise RuntimeError("the mean took fewer than three passes: no worker was killed")
    return seconds / usual, seconds, mean


# -- on paper ------------------------------------------------------------------------------------------------------------
def _on_paper(own: Costs, read: Costs, task: float) -> Table:
    """What more records and workers would take, from the costs measured here."""

    def seconds(cost: tuple[int, float], n: int, workers: int, tasks: int) -> float:
        passes, record = cost
        return passes * (n * record / workers + tasks * task)

    rows: list[Row] = [
        {
            "records": f"{n:.0e}",
            "workers": workers,
            "GB each": 24e-9 * n / workers,
            "tasks a pass": parts,
            "chart, Parquet, s": seconds(read["chart"], n, workers, parts),
            "Laplace, Parquet, s": seconds(read["Laplace"], n, workers, parts),
            "Laplace, in memory, s": seconds(own["Laplace"], n, workers, workers),
            "scheduler, Parquet, s a pass": parts * task,
        }
        for n in (10**9, 10**10)
        for workers in (1, 16, 1000)
        for parts in [max(workers, n // PART)]
    ]
    (once, chart), (passes, laplace), (_, held) = read["chart"], read["Laplace"], own["Laplace"]
    note = (
        "Not measured: passes × (records × nanoseconds ÷ workers + tasks × milliseconds), with the costs measured above. A "
        f"chart needs {once} passes of {1e9 * chart:.3g} ns a record over Parquet files, Laplace {passes} of "
        f"{1e9 * laplace:.3g} ns; over records that workers hold {1e9 * held:.3g} ns, as for those made on the fly without the "
        f"making. A task takes {1e3 * task:.2g} ms. There is a task for each {PART:,} records, or for each worker that "
        f"holds its own. Disks must give each worker {24e-6 / laplace:.3g} MB a second."
    )
    return Table("On paper", note, rows)
