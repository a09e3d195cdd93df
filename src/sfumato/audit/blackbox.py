"""Lower bounds on ε, ρ or μ from draws, or from times, alone.

A pilot picks the worst of several pairs of data sets.  For it events are learned from some draws, one is chosen with others,
and it is counted once among fresh ones: the bound holds whatever was tried before.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter_ns, thread_time_ns
from typing import Any

import numpy as np

from ..laws.privacy import Privacy, as_privacy
from ..mechanisms import TangentKNorm
from ..mechanisms.base import Mechanism
from ..mechanisms.manifold import ManifoldMechanism
from ..numerics.arrays import Array
from ..regions import Settled, check_settled
from .exact import target_of
from .features import Features, facing
from .pairs import SIZES, Pair, neighbours
from .verdict import Verdict, best_event, count

Draw = Callable[[Array, int, np.random.Generator], Array]
Measure = Callable[[Array], Sequence[float]]

DRAWS = 200_000
CONFIDENCE = 1 - 1e-6
PILOT = 1 / 125  # share of draws that each pair gets in the first round of the pilot; a round has three times the last
KEEP = 4  # one pair in four goes on to the next round
PILOT_ALPHA = 0.01  # error probability of bounds that only rank pairs
LEARN = 100_000  # the most draws that the classifier learns from
CHUNK = 100_000  # draws in memory at a time
GRAIN = 1e-9  # values closer than this share of their spread count as equal
REPEATS = 3  # a value that is drawn this often counts as repeated
RELEASES = 2000  # of each data set, that are timed
WARM = 50  # releases of each data set before times count
CLOCKS = ("time by the wall clock, ns", "time of the processor, ns")


def audit(
    mechanism: Mechanism | Draw,
    epsilon: float | Privacy | None = None,
    pairs: Pair | Sequence[Pair] | None = None,
    *,
    region: Settled | None = None,
    draws: int = DRAWS,
    confidence: float = CONFIDENCE,
    bits: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> Verdict:
    """Return a lower bound on the ε of a mechanism, or its ρ or μ, from its outputs at two neighbouring data sets.

    ``mechanism`` is one of ours, or any function ``draw(data, size, rng)`` that returns ``size`` outputs; a function needs the
    ``epsilon`` that it claims, which is a number or a privacy of any kind, and the ``region`` of its data.  ``pairs`` are the
    neighbouring data sets to try, by default those of :func:`neighbours`; a pilot picks the worst.  Of the ``draws`` from each
    data set up to a quarter are to learn events, a quarter to choose one, half to count it.  The bound is wrong with a
    probability of at most 1 − ``confidence``.  ``bits`` looks at the last bits of the numbers too, which reveal the data if
    outputs are not on a lattice: for true releases.  ``seed`` is that of all that is random, ``name`` what the verdict says.

    >>> import sfumato as sf
    >>> laplace = sf.ManifoldLaplace(sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.4), epsilon=1.0)
    >>> verdict = audit(laplace, pairs=neighbours(laplace.ball, 10)[6], draws=20_000)
    >>> verdict.convicted, 0.3 < verdict.lower < 1
    (False, True)
    """
    if isinstance(mechanism, Mechanism):
        region = region_of(mechanism)
        epsilon = mechanism.privacy if epsilon is None else epsilon
        name = f"{mechanism.name} on {mechanism.space}" if name is None else name
    elif region is None or epsilon is None:
        raise ValueError("a function needs the region of its data and the epsilon that it claims: region=, epsilon=")
    if draws < 1000 or not 0 < confidence < 1:
        raise ValueError("an audit needs at least 1000 draws and a confidence between 0 and 1")
    candidates = [pairs] if isinstance(pairs, Pair) else list(pairs or neighbours(region, admitted(mechanism)))
    case = Case(mechanism, region, as_privacy(epsilon), bits, np.random.default_rng(seed))
    pair = case.race(candidates, max(100, int(PILOT * draws)))
    name = getattr(mechanism, "__name__", "mechanism") if name is None else name
    return case.examine(pair, draws, confidence, name=name, pairs=len(candidates))


@dataclass(frozen=True, eq=False)
class Case:
    """A mechanism and what it claims."""

    mechanism: Mechanism | Draw
    region: Settled
    claim: Privacy
    bits: bool
    rng: np.random.Generator

    def race(self, pairs: Sequence[Pair], size: int) -> Pair:
        """Return the pair that looks worst: by its best event in a few draws, one pair in KEEP goes on to the next round."""
        while len(pairs) > 1:
            worth = []
            for pair in pairs:
                features = self._features(pair)
                first, second = (self._columns(data, size, features) for data in (pair.first, pair.second))
                scores = Scores(features, first[::2], second[::2], self.claim.pure, classifier=self.bits)
                others = scores.extend(first[1::2]), scores.extend(second[1::2])
                worth.append(best_event(*others, scores.names, PILOT_ALPHA, self.claim)[0])
            order = np.argsort(worth, kind="stable")[::-1]
            pairs = [pairs[i] for i in order[: -(-len(pairs) // KEEP)]]
            size *= 3
        return pairs[0]

    def examine(self, pair: Pair, draws: int, confidence: float, **about: Any) -> Verdict:
        """Learn scores from some draws, choose an event with others, and return its count among fresh ones."""
        features = self._features(pair)
        sides = (pair.first, pair.second)
        size = draws // 4
        first, second = (self._columns(data, min(size, LEARN), features) for data in sides)
        scores = Scores(features, first, second, self.claim.pure, classifier=True)
        first, second = (self._columns(data, size, scores) for data in sides)
        event = best_event(first, second, scores.names, 1 - confidence, self.claim)[1]
        seen = np.concatenate([first[:, event.column], second[:, event.column]])
        del first, second
        parts = _chunks(draws - 2 * size)
        fresh = ([self._columns(data, part, scores)[:, event.column] for data in sides] for part in parts)
        about |= {"pair": pair.name, "claim": self.claim, "confidence": confidence}
        return count(event, seen, fresh, **about)

    def _features(self, pair: Pair) -> Features:
        targets = []
        if isinstance(self.mechanism, ManifoldMechanism):
            targets = [target_of(self.mechanism, data) for data in (pair.first, pair.second)]
        return Features(self.region, pair, targets, self.bits)

    def _columns(self, data: Array, size: int, look: Callable[[Array], Array]) -> Array:
        draw = sampler(self.mechanism)
        return np.concatenate([look(draw(data, part, self.rng)) for part in _chunks(size)])


def _chunks(size: int) -> list[int]:
    return [min(CHUNK, size - start) for start in range(0, size, CHUNK)]


class Scores:
    """The features, whether each is a repeated value, and the log odds of a classifier, learned from features."""

    def __init__(self, features: Features, first: Array, second: Array, claimed: float, classifier: bool) -> None:
        self.features = features
        self.model = boost(first, second) if classifier else None
        self.atoms = list(repeated_values(first, second, claimed))
        self.names = [*features.names, *(f"repeated values of the {features.names[c]}" for c, *_ in self.atoms)]
        if self.model is not None:
            self.names.append("log odds by gradient boosting on all features")

    def __call__(self, outputs: Array) -> Array:
        return self.extend(self.features(outputs))

    def extend(self, columns: Array) -> Array:
        """Return features and, beside them, the scores that were learned."""
        extra = []
        for column, grain, first, second in self.atoms:
            value = np.rint(columns[:, column] / grain)
            extra.append(np.isin(value, first).astype(np.float64) - np.isin(value, second))
        if self.model is not None:
            extra.append(self.model.decision_function(columns))
        return np.column_stack([columns, *extra])


def repeated_values(first: Array, second: Array, claimed: float) -> Iterator[tuple[int, float, Array, Array]]:
    """Yield the columns in which values are repeated at one data set and rare at the other: the column, the grain that its
    values are rounded to, and the values of each data set."""
    spread = np.ptp(np.concatenate([first, second]), axis=0)
    for column in np.flatnonzero(spread):
        grain = GRAIN * spread[column]
        a, b = (np.rint(side[:, column] / grain) for side in (first, second))
        values, where = np.unique(np.concatenate([a, b]), return_inverse=True)
        if len(values) == len(where):
            continue
        counts = [np.bincount(part, minlength=len(values)) for part in (where[: len(a)], where[len(a) :])]
        one, other = (
            values[(often >= REPEATS) & (often > np.exp(claimed) * (seldom + 1))]
            for often, seldom in (counts, counts[::-1])
        )
        if len(one) or len(other):
            yield int(column), float(grain), one, other


def boost(first: Array, second: Array) -> Any:
    """Return a gradient-boosted classifier whose decision is the log odds of D."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        raise ValueError("the audit's classifier needs scikit-learn: pip install scikit-learn") from None
    model = HistGradientBoostingClassifier(max_iter=60, learning_rate=0.15, max_leaf_nodes=15, random_state=0)
    labels = np.repeat([1, 0], [len(first), len(second)])
    return model.fit(np.concatenate([first, second]), labels)


def region_of(mechanism: Mechanism) -> Settled:
    """Return where the data of a mechanism lie: a chart for those that release in one, otherwise a ball."""
    region = check_settled(mechanism.region, "audit the mechanism with")
    return region.as_chart() if isinstance(mechanism, TangentKNorm) else region


def sampler(mechanism: Mechanism | Draw) -> Draw:
    """Return a function that draws from a mechanism, seen from the public centre as a release is."""
    if not isinstance(mechanism, Mechanism):
        return mechanism
    if not isinstance(mechanism, ManifoldMechanism):
        return mechanism.sample
    return lambda data, size, rng: facing(mechanism.ball, mechanism.space.validate(mechanism.sample(data, size, rng)))


def releases(mechanism: Mechanism) -> Draw:
    """Return a function to audit that makes true releases, on the lattice and with the secure generator: about 1,000 a second.

    >>> import sfumato as sf
    >>> laplace = sf.ManifoldLaplace(sf.Ball(sf.Euclidean(dim=1), [0.0], radius=1.0), epsilon=1.0)
    >>> releases(laplace)(np.zeros((10, 1)), 3, np.random.default_rng()).shape
    (3, 1)
    """
    return lambda data, size, _: np.stack([mechanism.release(data, allow_useless=True).raw for _ in range(size)])


def admitted(mechanism: Mechanism | Draw, sizes: Sequence[int] = SIZES) -> list[int]:
    """Return the numbers of records that a mechanism accepts, or raise its refusal.  A function accepts all."""
    if not isinstance(mechanism, Mechanism):
        return list(sizes)
    refused = dict[int, ValueError]()
    for n in sizes:
        try:
            mechanism.plan(n)
        except ValueError as error:
            refused[n] = error
    if len(refused) == len(sizes):
        raise refused[sizes[0]]
    return [n for n in sizes if n not in refused]


# -- times ---------------------------------------------------------------------------------------------------------------------
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
    epsilon: float | Privacy | None = None,
    *,
    releases: int = RELEASES,
    confidence: float = CONFIDENCE,
    seed: int = 0,
    name: str = "time",
    clocks: Sequence[str] = CLOCKS,
) -> Verdict:
    """Return a lower bound on the ε of the time that a release takes: the timing side channel.

    Releases of the two data sets are made in turn, in random order, so that whatever else the machine does falls on both
    alike.  A threshold on the time is learned from the first half and counted in the second.

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
        epsilon = measure.privacy if epsilon is None else epsilon
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
    claim = as_privacy(epsilon)
    event = best_event(learned[0], learned[1], clocks, 1 - confidence, claim)[1]
    both = fresh[0, :, event.column], fresh[1, :, event.column]
    about = {"name": name, "pair": pair.name, "claim": claim, "confidence": confidence, "pairs": 1}
    return count(event, learned[..., event.column], [both], **about)
