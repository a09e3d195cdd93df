"""What the clock tells: an audit on the time that a release takes.

Releases of two neighbouring data sets are made in turn, in random order, so that whatever else the machine does falls on
both alike.  A threshold on the time is learned from the first half and counted in the second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns, thread_time_ns

import numpy as np

from ..mechanisms.base import Mechanism
from ..mechanisms.manifold import ManifoldMechanism
from ..records import Records
from ..sampling import secure_generator
from ..spaces.base import Array
from .blackbox import CONFIDENCE, Verdict, _edges, best_event, epsilon_bound
from .broken import first_acceptance
from .pairs import Pair

RELEASES = 2000
WARM = 50  # releases of each data set before the clock counts
CLOCKS = ("time by the wall clock, ns", "time of the processor, ns")

Measure = Callable[[Array], Sequence[float]]


def clocked(work: Callable[[Array], object]) -> Measure:
    """The two times that ``work(data)`` takes."""

    def measure(data: Array) -> Sequence[float]:
        wall, processor = perf_counter_ns(), thread_time_ns()
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
    name: str | None = None,
    clocks: Sequence[str] = CLOCKS,
) -> Verdict:
    """A lower bound on the ε of the time that a release takes.

    A mechanism's own releases are timed; or ``measure(data)`` makes one and returns its times, or any other numbers that
    count its work, named by ``clocks``.

    >>> import sfumato as sf
    >>> from sfumato.audit import neighbours
    >>> pair = neighbours(sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.4), 2)[0]
    >>> slow_if_east = lambda data: (float(data[-1, 1] > 0.1),)
    >>> timing_audit(slow_if_east, pair, 1.0, releases=200, clocks=("steps",)).convicted
    True
    """
    if isinstance(measure, Mechanism):
        name = f"clock of {measure.name} on {measure.space}" if name is None else name
        epsilon = float(measure.epsilon) if epsilon is None else epsilon
        measure = clocked(measure.release)
    if epsilon is None:
        raise ValueError("a function needs the epsilon that it claims")
    rng, sides = np.random.default_rng(seed), (np.asarray(pair.first), np.asarray(pair.second))
    times = np.zeros((2, releases, len(clocks)))
    for i in range(-WARM, releases):
        for side in rng.permutation(2):
            found = measure(sides[side])
            if i >= 0:
                times[side, i] = found
    half = releases // 2
    event = best_event(times[0, :half], times[1, :half], clocks, 1 - confidence, delta)[1]
    fresh = times[:, half:, event.column]
    counts = [int(np.sum(event.holds(side))) for side in fresh]
    hits, misses = counts[::-1] if event.swapped else counts
    size = releases - half
    edges = _edges(fresh.ravel(), event.threshold)
    return Verdict(
        name="clock" if name is None else name,
        pair=pair.name,
        claimed=epsilon,
        epsilon_lower=float(epsilon_bound(hits, misses, size, 1 - confidence, delta)),
        confidence=confidence,
        delta=delta,
        event=event,
        draws=size,
        hits=hits,
        misses=misses,
        pairs=1,
        edges=edges,
        histograms=np.stack([np.histogram(np.clip(side, edges[0], edges[-1]), edges)[0] for side in fresh]),
    )


def stopping_at_first(mechanism: ManifoldMechanism) -> Callable[[Array], object]:
    """A release as it should not be: the same draw, but it stops at the first accepted proposal."""

    def release(data: Array) -> object:
        clipped = mechanism.ball.clip(data)
        target = mechanism.target(Records(mechanism.space, clipped))
        return first_acceptance(target, secure_generator())

    return release
