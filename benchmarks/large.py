"""Releases of very many directions, made on the fly or read from Parquet files, measured in a process of their own.

The process is this file, as ``python -m benchmarks.large made N …`` or ``python -m benchmarks.large parquet FILE …``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numba import njit

from .cases import Array
from .peers import ONE_THREAD, ROOT, high_water

CENTER, RADIUS = [0.0, 0.0, 1.0], 0.4  # of the public ball
PART = 1 << 20  # records made at once: 25 MB
MECHANISMS = {"chart": "tangent", "Laplace": "laplace"}
FEW = 10**7  # records up to which a release is short, and made three times


# -- the records -----------------------------------------------------------------------------------------------------------
def directions(first: int, n: int) -> Array:
    """n records from number ``first`` on; record i is made from the number i, so every pass sees the same.

    They lie in the half of the ball that the x axis points to, so that its centre is not the mean: the height is uniform, the
    angle 2·atan(t) with t uniform in (−1, 1), both from SplitMix64 (Steele, Lea and Flood 2014).

    >>> x = directions(10**9, 3)
    >>> bool(np.abs(np.linalg.norm(x, axis=1) - 1).max() < 1e-15), bool((directions(10**9 + 2, 1) == x[2:]).all())
    (True, True)
    """
    x = np.empty((n, 3))
    _fill(x, first)
    return x


@njit(cache=True, nogil=True)
def _fill(x: Array, first: int) -> None:
    depth = 1 - np.cos(RADIUS)
    for i in range(len(x)):
        h = np.uint64(first + i + 1) * np.uint64(0x9E3779B97F4A7C15)
        h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        h ^= h >> np.uint64(31)
        u = np.int64(h >> np.uint64(32)) * 2.0**-32
        t = np.int64(h & np.uint64(0xFFFFFFFF)) * 2.0**-31 - 1.0
        z = 1 - depth * u
        s = np.sqrt(1 - z * z) / (1 + t * t)
        x[i] = s * (1 - t * t), s * (2 * t), z


def partitions(n: int, part: int = PART) -> list[Any]:
    """n records as delayed partitions of Dask: each is made when it is to be summed, and then forgotten."""
    from dask.delayed import delayed

    made = delayed(directions, pure=True)
    return [made(first, min(part, n - first)) for first in range(0, n, part)]


def write_parquet(n: int, folder: Path, files: int = 16) -> list[Path]:
    """The first n records in files of about the same size, a part of them in memory at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    schema = pa.schema([(f"v{i}", pa.float64()) for i in (1, 2, 3)])
    edges = np.linspace(0, n, files + 1).astype(int).tolist()
    written = [folder / f"{i:02d}.parquet" for i in range(files)]
    for file, start, stop in zip(written, edges, edges[1:], strict=False):
        with pq.ParquetWriter(file, schema, compression="none", use_dictionary=False) as writer:
            for first in range(start, stop, PART):
                some = directions(first, min(PART, stop - first))
                writer.write_table(pa.table(list(some.T), schema=schema))
    return written


# -- a process that measures -----------------------------------------------------------------------------------------------
def measured(*words: object) -> list[dict[str, Any]]:
    """What a fresh process says of its releases, a row for each."""
    command = [sys.executable, "-m", __spec__.name, *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, env=ONE_THREAD, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["the process ended without a word"])[-1])
    return [json.loads(line) for line in done.stdout.splitlines()]


def of_made(n: int) -> list[dict[str, Any]]:
    """Releases of n records that are made on the fly; ``making`` is what making them takes, in all passes."""
    import dask

    times, rows = 3 if n <= FEW else 1, []
    with dask.config.set(scheduler="sync"):
        for name in MECHANISMS:
            rows.append(_release(name, lambda: partitions(n), n, times))
    for row in rows:
        row["making"] = row["passes"] * median(_making(n) for _ in range(times))
    return rows


def of_parquet(files: list[str]) -> list[dict[str, Any]]:
    """Releases of Parquet files; one that is named again counts again."""
    from pyarrow.dataset import dataset

    found = dataset(files, format="parquet")
    return [_release(name, lambda: found, found.count_rows(), 1) for name in MECHANISMS]


def _release(name: str, points: Any, n: int, times: int) -> dict[str, Any]:
    """The median CPU and wall seconds of a release, the number of passes, and the high-water mark of the process so far."""
    import sfumato as sf

    passes: set[int] = set()
    cpu, wall = [], []
    for _ in range(times):
        start, now = time.process_time(), time.perf_counter()
        release = sf.private_mean(
            points(),
            sf.Ball(sf.Sphere(2), CENTER, RADIUS),
            epsilon=1.0,
            mechanism=MECHANISMS[name],
            progress=lambda number, *_: passes.add(number),
        )
        cpu.append(time.process_time() - start)
        wall.append(time.perf_counter() - now)
    assert release.n == n
    found = {"mechanism": name, "n": n, "passes": len(passes), "cpu": median(cpu), "wall": median(wall)}
    return {**found, "value": release.value.tolist(), "peak": high_water()}


def _making(n: int) -> float:
    start = time.process_time()
    for first in range(0, n, PART):
        directions(first, min(PART, n - first))
    return time.process_time() - start


def main(kind: str, *words: str) -> None:
    of_made(1000)  # what must be compiled is
    for rows in [of_made(int(n)) for n in words] if kind == "made" else [of_parquet(list(words))]:
        for row in rows:
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
