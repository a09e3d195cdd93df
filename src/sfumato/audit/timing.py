"""The timing side channel: an audit on the time that a release takes.

Releases of two neighbouring data sets are made in turn, in random order, so that whatever else the machine does falls on
both alike.  A threshold on the time is learned from the first half and counted in the second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter_ns, thread_time_ns

import numpy as np

from ..mechanisms.base import Mechanism
from ..numerics.arrays import Array
from .blackbox import CONFIDENCE
from .pairs import Pair
from .verdict import Verdict, best_event, count

RELEASES = 2000
WARM = 50  # releases of each data set before times count
CLOCKS = ("time by the wall clock, ns", "time of the processor, ns")

Measure = Callable[[Array], Sequence[float]]


def clocked(work: Callable[[Array], object]) -> Measure:
    """Return a function that measures the two times that ``work(data)`` takes."""

    def measure(data: Array) -> Sequence[float]:
        wall = perf_counter_ns()
        processor = thread_time_ns()
        work(data)
        return perf_counter_ns() - wall, thread_time_ns() - processor

    return measure


def timing_audit(
    measure: Measure | Mechanism,
    pair: Pair,
    epsilon: float | None = None,
    *,
    releases: int = RELEASES,
    confidence: float = CONFIDENCE,
    delta: float = 0.0,
    seed: int = 0,
    name: str = "time",
    clocks: Sequence[str] = CLOCKS,
) -> Verdict:
    """Return a lower bound on the ε of the time that a release takes.

    ``measure`` is a mechanism, whose releases are timed; or a function that makes one release of a data set and returns its
    times, or any other numbers that count its work, which ``clocks`` names: it needs the ``epsilon`` that is claimed.
    ``releases`` of each data set are made.  The verdict is on the best threshold of the best of the measured numbers; all else
    is as for :func:`audit`.

    >>> import sfumato as sf
    >>> from sfumato.audit import neighbours
    >>> pair = neighbours(sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.4), 2)[0]
    >>> slow_if_east = lambda data: (float(data[-1, 1] > 0.1),)
    >>> timing_audit(slow_if_east, pair, 1.0, releases=200, clocks=("steps",)).convicted
    True
    """
    if isinstance(measure, Mechanism):
        epsilon = float(measure.epsilon) if epsilon is None else epsilon
        measure = clocked(partial(measure.release, allow_useless=True))
    if epsilon is None:
        raise ValueError("a function needs the epsilon that it claims: epsilon=")
    rng = np.random.default_rng(seed)
    sides = (np.asarray(pair.first), np.asarray(pair.second))
    times = np.zeros((2, releases, len(clocks)))
    for i in range(-WARM, releases):
        for side in rng.permutation(2):
            measured = measure(sides[side])
            if i >= 0:
                times[side, i] = measured
    learned = times[:, : releases // 2]
    fresh = times[:, releases // 2 :]
    event = best_event(learned[0], learned[1], clocks, 1 - confidence, delta)[1]
    both = fresh[0, :, event.column], fresh[1, :, event.column]
    about = {"name": name, "pair": pair.name, "claimed": epsilon, "confidence": confidence, "delta": delta, "pairs": 1}
    return count(event, learned[..., event.column], [both], **about)
