"""How long until something happens: importing, and the first release of a fresh process."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

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


def startup(quick: bool) -> Iterator[Table]:
    """Wall seconds in fresh processes; the release of every space is made once before it is timed, to warm the cache."""
    repeats = 2 if quick else 5
    answers = [_run(IMPORT)[1].split() for _ in range(repeats)]
    seconds = statistics.median(float(s) for s, _ in answers)
    loaded = any(flag == "True" for _, flag in answers)
    rows: list[Row] = [
        {"what": "import sfumato", "s": seconds, "below": 0.4, "met": seconds < 0.4},
        {"what": "Numba is not loaded by it", "s": None, "below": None, "met": not loaded},
    ]
    for kind, size in (("sphere", 2), ("spd", 2), ("shapes", 50)):
        for mechanism in ("kng", "laplace"):
            script = RELEASE.format(kind=kind, size=size, mechanism=mechanism)
            _run(script)
            seconds = statistics.median(_run(script)[0] for _ in range(repeats))
            rows.append({"what": f"first release, {kind}, {mechanism}", "s": seconds, "below": 5.0, "met": seconds < 5})
    yield Table("Start", f"Wall seconds in fresh processes, the median of {repeats}, with a warm cache.", rows)


def _run(script: str) -> tuple[float, str]:
    """Wall seconds of a fresh interpreter that runs the script, and what it printed."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=ONE_THREAD, check=True, stdout=subprocess.PIPE, text=True
    )
    return time.perf_counter() - start, done.stdout
