"""How long until something happens: importing, and the first release of a fresh process."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from tempfile import TemporaryDirectory

from .peers import ONE_THREAD, ROOT
from .table import Row, Table

IMPORT = """
import sys, time
start = time.perf_counter()
import sfumato
print(time.perf_counter() - start, "numba" in sys.modules)
"""
RELEASE = """
import sfumato as sf
from benchmarks.cases import Case
from benchmarks.peers import space_of
case = Case({kind!r}, {size}, 1000)
ball = sf.Ball(space_of(case.kind, case.size), case.center(), case.radius)
print(sf.private_mean(case.points(), ball, 1.0, {mechanism!r}, allow_useless=True).value.shape)
"""
COLD = """
import time
from benchmarks.cases import Case
case = Case({kind!r}, {size}, 10_000)
points = case.points()
start = time.process_time()
import sfumato as sf
from benchmarks.peers import space_of
ball = sf.Ball(space_of(case.kind, case.size), case.center(), case.radius)
sf.private_mean(points, ball, 1.0, allow_useless=True)
print(time.process_time() - start)
"""
PLAN = """
import time
import numpy as np
import sfumato as sf
ball = sf.Ball(sf.SPD(3), np.eye(3), 1.5)
sf.plan(ball, n=1000, epsilon=1.0)
start = time.process_time()
sf.plan(ball, n=1001, epsilon=1.0)
print(time.process_time() - start)
"""


def startup(quick: bool) -> Iterator[Table]:
    """Wall seconds in fresh processes; the release of every space is made once before it is timed, to warm the cache."""
    repeats = 2 if quick else 5
    answers = [_run(IMPORT)[1].split() for _ in range(repeats)]
    seconds = statistics.median(float(s) for s, _ in answers)
    loaded = any(flag == "True" for _, flag in answers)
    rows: list[Row] = [
        {"what": "import sfumato", "s": seconds, "below": 0.1, "met": seconds < 0.1},
        {"what": "Numba is not loaded by it", "s": None, "below": None, "met": not loaded},
    ]
    for kind, size in (("sphere", 2), ("spd", 2), ("shapes", 50)):
        for mechanism in ("kng", "laplace"):
            script = RELEASE.format(kind=kind, size=size, mechanism=mechanism)
            _run(script)
            seconds = statistics.median(_run(script)[0] for _ in range(repeats))
            rows.append({"what": f"first release, {kind}, {mechanism}", "s": seconds, "below": 5.0, "met": seconds < 5})
    for kind, size in (("shapes", 50), ("spd", 3), ("sphere", 2)):
        for state, most in (("empty", 3.0), ("warm", 1.0)):
            seconds = min(_processor(kind, size, state) for _ in range(1 if quick else 3))
            what = f"first release of 10^4 records, {kind} {size}, {state} cache: processor seconds"
            rows.append({"what": what, "s": seconds, "below": most, "met": seconds < most})
    plans = [float(_run(PLAN)[1]) for _ in range(repeats)]
    seconds = statistics.median(plans)
    rows.append(
        {"what": "sf.plan on SPD(3), the second of a process", "s": seconds, "below": 0.1, "met": seconds < 0.1}
    )
    yield Table("Start", f"Wall seconds in fresh processes, the median of {repeats}, with a warm cache.", rows)


def _processor(kind: str, size: int, state: str) -> float:
    """Processor seconds of a release of 10^4 records in a fresh interpreter, with loops to be compiled or compiled before."""
    script = COLD.format(kind=kind, size=size)
    with TemporaryDirectory() as folder:
        if state == "warm":
            _run(script, NUMBA_CACHE_DIR=folder)
        return float(_run(script, NUMBA_CACHE_DIR=folder)[1])


def _run(script: str, **environment: str) -> tuple[float, str]:
    """Wall seconds of a fresh interpreter that runs the script, and what it printed."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**ONE_THREAD, **environment},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return time.perf_counter() - start, done.stdout
