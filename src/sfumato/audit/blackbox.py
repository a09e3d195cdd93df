"""Lower bounds on ε from draws alone.

A mechanism that is ε-differentially private gives every event E at neighbouring data sets D and D' probabilities with
P(E | D) ≤ e^ε·P(E | D') + δ.  So an event that is found often at D and seldom at D' bounds ε from below: with Clopper–Pearson
bounds p on the first probability and q on the second, ε ≥ log((p − δ)/q).

Pairs of data sets race in a pilot.  For the winner, events are learned from some draws, one is chosen with others, and it is
counted once among fresh ones: the bound holds whatever was tried before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri

from ..frechet import solve
from ..mechanisms.base import Mechanism
from ..mechanisms.manifold import ManifoldMechanism
from ..records import Records
from ..regions.ball import Ball
from ..sampling import Target
from ..spaces.base import Array, Points
from ..views.figures import QUIET, SHARP, SOFT
from .exact import energies
from .pairs import LONG, SIZES, Counts, Pair, Walk, neighbours, walks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[[Array, int, np.random.Generator], Array]

MOST_DRAWS, SECONDS = 1_000_000, 90.0  # as many draws as the time allows, and no more than this
CONFIDENCE = 1 - 1e-6
PILOT = 1 / 125  # the share of draws that each pair gets in the first round of the race; the next has thrice as many,
KEEP = 4  # and one pair in so many goes on to it
LEARN = 100_000  # at most so many draws teach the classifier
CHUNK = 100_000  # draws held at once
GRAIN = 1e-9  # values closer than this part of their spread are the same
REPEATS = 3  # a value drawn so often is an atom


# -- bounds -------------------------------------------------------------------------------------------------------------
def clopper_pearson(hits: ArrayLike, size: int, alpha: float) -> tuple[Array, Array]:
    """One-sided bounds on a probability, each wrong with probability at most ``alpha`` (Clopper and Pearson 1934).

    >>> low, high = clopper_pearson(0, 100, 0.05)
    >>> round(float(low), 4), round(float(high), 4)
    (0.0, 0.0295)
    """
    k = np.asarray(hits, dtype=np.float64)
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), size - np.maximum(k, 1) + 1, alpha), 0.0)
    high = np.where(k < size, betaincinv(np.minimum(k, size - 1) + 1, size - np.minimum(k, size - 1), 1 - alpha), 1.0)
    return low, high


def epsilon_bound(hits: ArrayLike, misses: ArrayLike, size: int, alpha: float, delta: float = 0.0) -> Array:
    """ε ≥ log((p − δ)/q), wrong with probability at most ``alpha``: an event was found ``hits`` times among ``size`` draws
    from D, ``misses`` times among as many from D'.  Zero where nothing is shown.

    >>> round(float(epsilon_bound(5000, 1000, 10_000, 1e-6)), 2)
    1.42
    """
    p, q = clopper_pearson(hits, size, alpha / 2)[0], clopper_pearson(misses, size, alpha / 2)[1]
    with np.errstate(divide="ignore"):
        bound: Array = np.maximum(np.log(np.maximum(p - delta, 0.0) / q), 0.0)
    return bound


# -- what is looked at in an output -------------------------------------------------------------------------------------
class Features:
    """Numbers that tell the outputs at one data set from those at its neighbour.

    On the manifold: coordinates at the centre, distances to the centre, to both means and to both places of the moved record,
    the differences of these, and the log likelihood ratio where the density is known, the lengths of both gradients where
    it is not.  In the numbers as released: the coordinates, distances in them, a fingerprint that is equal for equal outputs
    only, and with ``bits`` the trailing zero bits.
    """

    def __init__(self, ball: Ball, pair: Pair, targets: Sequence[Target] = (), bits: bool = False) -> None:
        self.ball, self.targets, self.bits, self.names = ball, targets, bits, [""]
        space = self.space = ball.space
        self.clipped = [ball.clip(points) for points in (pair.first, pair.second)]
        self.means: list[Points] = [solve(Records(space, points)).point for points in self.clipped]
        shown = [_flat(facing(ball, points)) for points in self.clipped]
        self.marks = {
            "the mean": [points.mean(axis=0) for points in shown],
            "the record": [p[pair.moved] for p in shown],
        }
        self.record = [points[pair.moved] for points in self.clipped]
        self.grid = float(2.0 ** np.floor(np.log2(ball.radius) - 32))
        self.fingerprint = np.random.default_rng(0).normal(size=shown[0].shape[1])
        self.on_manifold: bool | None = None  # the first outputs tell

    def __call__(self, outputs: Array) -> Array:
        """One column a feature; ``names`` says what they are."""
        outputs = np.asarray(outputs, dtype=np.float64)
        if not self.bits:  # real numbers, not doubles: what the last bits tell is another matter
            outputs = np.asarray(np.rint(outputs / self.grid) * self.grid, dtype=np.float64)
        columns = dict(self._released(_flat(outputs)))
        if outputs.shape[1:] == self.space.present(self.ball.center).shape and self.on_manifold is not False:
            x, bad = self.space.diagnose(outputs)
            if self.on_manifold is None:
                self.on_manifold = len(bad) < len(x) / 10
            if self.on_manifold:
                x[list(bad)] = self.ball.center
                columns |= dict(self._intrinsic(x))
                columns["is a point of the space"] = np.asarray(
                    ~np.isin(np.arange(len(x)), list(bad)), dtype=np.float64
                )
        self.names = list(columns)
        return np.nan_to_num(np.stack(list(columns.values()), axis=1), nan=1e300, posinf=1e300, neginf=-1e300)

    def _released(self, flat: Array) -> Iterator[tuple[str, Array]]:
        yield from ((f"number {i + 1} of the output", column) for i, column in enumerate(flat.T))
        for what, marks in self.marks.items():
            for order, kind in ((2, "Euclidean"), (1, "absolute")):
                a, b = (np.linalg.norm(flat - mark, ord=order, axis=1) for mark in marks)
                yield from _compared(f"{kind} distance from {what}", a, b)
        yield "fingerprint of the output", flat @ self.fingerprint
        if self.bits:
            whole = np.ldexp(np.frexp(np.nan_to_num(flat))[0], 53).astype(np.int64)
            yield "trailing zero bits", np.min(np.log2(np.maximum(whole & -whole, 1)), axis=1)

    def _intrinsic(self, x: Points) -> Iterator[tuple[str, Array]]:
        space, center = self.space, self.ball.center
        yield "distance from the centre", space.distance(center, x)
        for i, column in enumerate(space.coordinates(center, space.log(center, x)).T):
            yield f"coordinate {i + 1} at the centre", column
        yield from _compared("distance from the mean", *(space.distance(mean, x) for mean in self.means))
        a, b = (space.distance(record, x) for record in self.record)
        yield from _compared("distance from the record", a, b)
        yield "squared distance from the record of D′ less that of D", b**2 - a**2
        if self.targets:
            a, b = (energies(target, x) for target in self.targets)
            with np.errstate(invalid="ignore"):
                yield "log likelihood ratio", b - a
        else:
            yield from _compared("gradient", *(space.norm(x, space.mean_log(x, points)) for points in self.clipped))


def _compared(what: str, a: Array, b: Array) -> Iterator[tuple[str, Array]]:
    yield f"{what} of D", a
    yield f"{what} of D′", b
    yield f"{what} of D′ less that of D", b - a


def _flat(outputs: Array) -> Array:
    """One row of numbers an output; a symmetric matrix has each of its numbers once."""
    if outputs.ndim == 3 and outputs.shape[1] == outputs.shape[2] and np.array_equal(outputs, outputs.swapaxes(1, 2)):
        rows, columns = np.triu_indices(outputs.shape[1])
        return np.asarray(outputs[:, rows, columns])
    return outputs.reshape(len(outputs), -1)


def facing(ball: Ball, points: Points) -> Array:
    """Canonical points as a release would show them: seen from the public centre (shapes are turned towards it)."""
    return ball.space.present(ball.space.exp(ball.center, ball.space.log(ball.center, points)))


# -- events -------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Event:
    """{score ≥ threshold} or {score < threshold}; ``swapped``: it is the more likely at D'."""

    score: str
    column: int
    threshold: float
    above: bool
    swapped: bool

    def holds(self, scores: Array) -> Any:
        return scores >= self.threshold if self.above else scores < self.threshold

    def __str__(self) -> str:
        sign = "at least" if self.above else "below"
        return f"{self.score} {sign} {self.threshold:.6g}, more likely at {'D′' if self.swapped else 'D'}"


class Scores:
    """The features, what a classifier makes of them, and membership among values that come again and again.

    The classifier (gradient boosting) and the repeated values are learned from the draws given here.
    """

    def __init__(self, features: Features, first: Array, second: Array, claimed: float, classifier: bool) -> None:
        self.features = features
        self.atoms: list[tuple[int, float, Array, Array]] = []
        spread = np.ptp(np.concatenate([first, second]), axis=0)
        for column in np.flatnonzero(spread):
            grain = GRAIN * spread[column]
            a, b = (np.rint(side[:, column] / grain) for side in (first, second))
            values, where = np.unique(np.concatenate([a, b]), return_inverse=True)
            if len(values) == len(where):
                continue
            counts = [np.bincount(part, minlength=len(values)) for part in (where[: len(a)], where[len(a) :])]
            often = [
                values[(one >= REPEATS) & (one > np.exp(claimed) * (other + 1))]
                for one, other in (counts, counts[::-1])
            ]
            if len(often[0]) or len(often[1]):
                self.atoms.append((int(column), float(grain), *often))
        self.model = boost(first, second) if classifier else None
        self.names = [*features.names, *(f"repeated values of the {features.names[c]}" for c, *_ in self.atoms)]
        if self.model is not None:
            self.names.append("log odds by gradient boosting on all features")

    def __call__(self, outputs: Array) -> Array:
        return self.extend(self.features(outputs))

    def extend(self, columns: Array) -> Array:
        extra = []
        for column, grain, first, second in self.atoms:
            value = np.rint(columns[:, column] / grain)
            extra.append(np.isin(value, first).astype(np.float64) - np.isin(value, second))
        if self.model is not None:
            extra.append(self.model.decision_function(columns))
        return np.column_stack([columns, *extra])


def boost(first: Array, second: Array) -> Any:
    """A gradient-boosted classifier whose decision is the log odds of D."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        raise ValueError("the audit's classifier needs scikit-learn: pip install 'sfumato[sklearn]'") from None
    model = HistGradientBoostingClassifier(max_iter=60, learning_rate=0.15, max_leaf_nodes=15, random_state=0)
    labels = np.repeat([1, 0], [len(first), len(second)])
    return model.fit(np.concatenate([first, second]), labels)


def best_event(first: Array, second: Array, names: Sequence[str], alpha: float, delta: float) -> tuple[float, Event]:
    """The event {score ≥ t} or {score < t} with the largest bound on ε, over all scores, about 300 thresholds each, and both
    directions: ranked by Wilson's bounds, which are quick.  Returns the Clopper–Pearson bound of the best."""
    size = len(first)
    tail = np.unique(np.geomspace(5, size, 80).astype(int))
    ranks = np.unique(np.concatenate([tail, 2 * size - tail, np.linspace(0, 2 * size - 1, 200).astype(int)]))
    found: list[tuple[float, int, int, Event]] = []
    for column, name in enumerate(names):
        a, b = np.sort(first[:, column]), np.sort(second[:, column])
        values = np.sort(np.concatenate([a, b]))
        thresholds = np.unique(values[ranks[ranks < len(values)]])
        thresholds = np.append(thresholds, np.nextafter(thresholds[[0, -1]], np.inf))
        below = [np.searchsorted(side, thresholds, side="left") for side in (a, b)]
        for above in (False, True):
            counts = [size - c if above else c for c in below]
            for swapped in (False, True):
                hits, misses = counts[::-1] if swapped else counts
                bounds = _wilson(hits, misses, size, alpha, delta)
                i = int(np.argmax(bounds))
                event = Event(name, column, float(thresholds[i]), above, swapped)
                found.append((float(bounds[i]), int(hits[i]), int(misses[i]), event))
    _, hit, miss, event = max(found, key=lambda row: row[0])
    return float(epsilon_bound(hit, miss, size, alpha, delta)), event


def _wilson(hits: Counts, misses: Counts, size: int, alpha: float, delta: float) -> Array:
    z = float(-ndtri(alpha / 2))

    def bound(k: Counts, sign: float) -> Array:
        share = k / size
        middle, width = share + z * z / (2 * size), z * np.sqrt(share * (1 - share) / size + (z / (2 * size)) ** 2)
        return np.asarray((middle + sign * width) / (1 + z * z / size))

    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(bound(hits, -1.0) - delta, 1e-300) / bound(misses, 1.0)))


# -- the audit ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Verdict:
    """What an audit found: with probability ``confidence`` the mechanism's true ε is at least ``epsilon_lower``."""

    name: str
    pair: str
    claimed: float
    epsilon_lower: float
    confidence: float
    delta: float
    event: Event
    draws: int  # fresh draws from each data set, in which the event was counted
    hits: int  # at the data set where it is likely
    misses: int  # at the other
    pairs: int  # pairs that raced in the pilot
    edges: Array = field(repr=False)
    histograms: Array = field(repr=False)  # of the score at both data sets

    @property
    def convicted(self) -> bool:
        return self.epsilon_lower > self.claimed

    def __str__(self) -> str:
        doubt = 1 - self.confidence
        return (
            f"{self.name}: ε is at least {self.epsilon_lower:.4g} (wrong with probability {doubt:.1g}), claimed "
            f"{self.claimed:g}: {'CONVICTED' if self.convicted else 'cleared'}\n  data: {self.pair}\n  event: {self.event}\n"
            f"  found {self.hits} times against {self.misses} in {self.draws} draws each"
        )

    def record(self) -> dict[str, Any]:
        """All but the picture's numbers, for JSON."""
        fields = {key: value for key, value in asdict(self).items() if key not in ("edges", "histograms")}
        return {**fields, "event": str(self.event), "convicted": self.convicted}

    def plot(self) -> Figure:
        """The score of the event at both data sets, and the bound on ε that each threshold would give."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7, 5.5), layout="constrained")
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
        for counts, label, colour in zip(self.histograms, ("D", "D′"), (SHARP, SOFT), strict=True):
            top.stairs(counts / self.draws, self.edges, label=f"at {label}", color=colour, fill=True, alpha=0.25)
            top.stairs(counts / self.draws, self.edges, color=colour)
        top.set_ylabel("share of draws")
        verdict = (
            f"ε ≥ {self.epsilon_lower:.3f}, claimed {self.claimed:g}: {'convicted' if self.convicted else 'cleared'}"
        )
        top.set_title(f"{self.name}\n{verdict}", fontsize=11)
        cumulative = np.cumsum(self.histograms, axis=1)[:, :-1]
        counts = self.draws - cumulative if self.event.above else cumulative
        hits, misses = counts[::-1] if self.event.swapped else counts
        bounds = epsilon_bound(hits, misses, self.draws, 1 - self.confidence, self.delta)
        bottom.plot(self.edges[1:-1], bounds, color=SHARP, label="bound at other thresholds")
        bottom.axhline(self.claimed, color=QUIET, ls="--", label="claimed")
        bottom.plot([self.event.threshold], [self.epsilon_lower], "o", color=SHARP, label="the event", clip_on=False)
        for axes in (top, bottom):
            axes.axvline(self.event.threshold, color=QUIET, lw=1)
            axes.legend(frameon=False, fontsize=9)
            axes.spines[["top", "right"]].set_visible(False)
        bottom.set_ylabel("lower bound on ε")
        bottom.set_ylim(0, 1.15 * max(self.claimed, self.epsilon_lower, float(bounds.max())))
        bottom.set_xlabel(f"{self.event.score}\n{self.pair}", fontsize=9)
        return figure


def audit(
    mechanism: Mechanism | Draw,
    epsilon: float | None = None,
    pairs: Pair | Sequence[Pair] | None = None,
    *,
    ball: Ball | None = None,
    draws: int | None = None,
    confidence: float = CONFIDENCE,
    delta: float = 0.0,
    bits: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> Verdict:
    """A lower bound on the ε of a mechanism, from draws alone: by what its outputs look like at two neighbouring data sets.

    ``mechanism`` is one of ours, or any function ``draw(data, size, rng)`` that returns ``size`` outputs; a function needs
    the ``ball`` that its data lie in and the ``epsilon`` that it claims.  Without ``pairs``, those of :func:`suspicious` are
    tried.  The worst in a pilot is audited with ``draws`` draws from each data set: up to a quarter to learn events, a quarter
    to choose one, half to count it.  The bound is wrong with probability at most 1 − ``confidence``.

    By default there are as many draws as about two minutes allow, at most a million; give a number, and the verdict depends
    on the seed alone.  ``bits`` looks at the last bits of the numbers too, which tell of the data where outputs are not
    rounded to a lattice: for what is really released.

    >>> import sfumato as sf
    >>> laplace = sf.ManifoldLaplace(sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.4), epsilon=1.0)
    >>> verdict = audit(laplace, pairs=neighbours(laplace.ball, 10)[6], draws=20_000)
    >>> verdict.convicted, 0.3 < verdict.epsilon_lower < 1
    (False, True)
    """
    if isinstance(mechanism, Mechanism):
        ball, claimed = mechanism.ball, float(mechanism.epsilon) if epsilon is None else epsilon
        label = f"{mechanism.name} on {mechanism.space}" if name is None else name
    elif ball is None or epsilon is None:
        raise ValueError("a function needs the ball of its data and the epsilon that it claims: ball=, epsilon=")
    else:
        claimed, label = epsilon, getattr(mechanism, "__name__", "mechanism") if name is None else name
    if (draws is not None and draws < 1000) or not 0 < confidence < 1 or not 0 <= delta < 1:
        raise ValueError("an audit takes at least 1000 draws, a confidence between 0 and 1 and a delta below 1")
    candidates = [pairs] if isinstance(pairs, Pair) else list(pairs or suspicious(mechanism, ball))
    case = Case(mechanism, ball, claimed, delta, bits, np.random.default_rng(seed))
    if draws is None:
        draws = case.affordable(max(candidates, key=len), race=len(candidates) > 1)
    pair = case.race(candidates, max(100, int(PILOT * draws)))
    found = case.examine(pair, draws, 1 - confidence)
    return Verdict(label, pair.name, claimed, confidence=confidence, delta=delta, pairs=len(candidates), **found)


@dataclass(frozen=True, eq=False)
class Case:
    """A mechanism before the court."""

    mechanism: Mechanism | Draw
    ball: Ball
    claimed: float
    delta: float
    bits: bool
    rng: np.random.Generator

    def affordable(self, pair: Pair, race: bool) -> int:
        """How many draws fit into SECONDS, by a trial with the largest data set."""
        features, trial = self._features(pair), 400
        for _ in range(2):  # the first compiles and fills caches
            start = perf_counter()
            self._columns(pair.first, trial, features)
            each = (perf_counter() - start) / trial
        return int(np.clip(SECONDS / (each * (4 if race else 2)), 4000, MOST_DRAWS))

    def race(self, pairs: Sequence[Pair], size: int) -> Pair:
        """The pair that looks worst: the best event of each is found among a few draws, by thresholds and repeated values
        alone; one pair in KEEP goes on to the next round."""
        while len(pairs) > 1:
            worth = []
            for pair in pairs:
                features = self._features(pair)
                first, second = (self._columns(data, size, features) for data in (pair.first, pair.second))
                scores = Scores(features, first[::2], second[::2], self.claimed, classifier=self.bits)
                events = scores.extend(first[1::2]), scores.extend(second[1::2])
                worth.append(best_event(*events, scores.names, 0.01, self.delta)[0])
            order = np.argsort(worth, kind="stable")[::-1]
            pairs, size = [pairs[i] for i in order[: -(-len(pairs) // KEEP)]], 3 * size
        return pairs[0]

    def examine(self, pair: Pair, draws: int, alpha: float) -> dict[str, Any]:
        """Learn, choose, count."""
        features, sides, size = self._features(pair), (pair.first, pair.second), draws // 4
        first, second = (self._columns(data, min(size, LEARN), features) for data in sides)
        scores = Scores(features, first, second, self.claimed, classifier=True)
        first, second = (self._columns(data, size, scores) for data in sides)
        event = best_event(first, second, scores.names, alpha, self.delta)[1]
        edges = _edges(np.concatenate([first[:, event.column], second[:, event.column]]), event.threshold)
        del first, second
        counted, histograms, size = [0, 0], np.zeros((2, len(edges) - 1)), draws - 2 * size
        for count in _chunks(size):
            for side, data in enumerate(sides):
                column = self._columns(data, count, scores)[:, event.column]
                counted[side] += int(np.sum(event.holds(column)))
                histograms[side] += np.histogram(np.clip(column, edges[0], edges[-1]), edges)[0]
        hits, misses = counted[::-1] if event.swapped else counted
        return {
            "epsilon_lower": float(epsilon_bound(hits, misses, size, alpha, self.delta)),
            "event": event,
            "draws": size,
            "hits": hits,
            "misses": misses,
            "edges": edges,
            "histograms": histograms,
        }

    def _features(self, pair: Pair) -> Features:
        targets = []
        if isinstance(self.mechanism, ManifoldMechanism):
            for points in (pair.first, pair.second):
                clipped = self.ball.clip(points)
                targets.append(self.mechanism.target(Records(self.ball.space, clipped)))
        return Features(self.ball, pair, targets, self.bits)

    def _columns(self, data: Array, size: int, look: Callable[[Array], Array]) -> Array:
        draw = sampler(self.mechanism)
        return np.concatenate([look(draw(data, count, self.rng)) for count in _chunks(size)])


def _chunks(size: int) -> list[int]:
    return [min(CHUNK, size - start) for start in range(0, size, CHUNK)]


def _edges(scores: Array, threshold: float) -> Array:
    """Cells of the picture's histograms: they hold all but a thousandth of the scores at each end, and the threshold."""
    low, high = np.quantile(scores, [1e-3, 1 - 1e-3])
    low, high = min(float(low), threshold), max(float(high), threshold)
    margin = 0.02 * (high - low) or 0.5
    return np.linspace(low - margin, high + margin, 81)


def sampler(mechanism: Mechanism | Draw) -> Draw:
    """Draws of a mechanism for study, seen from the public centre as a release is; a function is its own sampler."""
    if not isinstance(mechanism, Mechanism):
        return mechanism
    if not isinstance(mechanism, ManifoldMechanism):
        return mechanism.sample
    space = mechanism.space
    return lambda data, size, rng: facing(mechanism.ball, space.validate(mechanism.sample(data, size, rng)))


def suspicious(
    mechanism: Mechanism | Draw, ball: Ball, sizes: Sequence[int] = SIZES, long: Sequence[int] = LONG
) -> list[Pair]:
    """Pairs to race: those of :func:`~sfumato.audit.pairs.neighbours` with so many records, and from each walk of data sets
    with ``long`` of them, on which one record after another goes to the far end, the step at which outputs jump the farthest.

    A few draws tell, as all data sets of a walk get the same random numbers: what is left is what the data do.
    """
    pairs = usable(mechanism, neighbours(ball, sizes))
    for n in long:
        with suppress(ValueError):  # too many or too few for this mechanism
            if isinstance(mechanism, Mechanism):
                mechanism.plan(n)
            pairs += [walk.pair(ball, _jump(sampler(mechanism), ball, walk)) for walk in walks(ball, n)]
    return pairs


def _jump(draw: Draw, ball: Ball, walk: Walk, size: int = 16) -> int:
    outputs = [_flat(draw(walk.data(ball, k), size, np.random.default_rng(0))) for k in range(len(walk.counts))]
    return int(np.argmax([np.median(np.linalg.norm(b - a, axis=1)) for a, b in pairwise(outputs)]))


def releases(mechanism: Mechanism) -> Draw:
    """True releases, on the lattice and with the secure generator: about a thousand a second."""
    return lambda data, size, _: np.stack([mechanism.release(data).value for _ in range(size)])


def usable(mechanism: Mechanism | Draw, pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs whose number of records the mechanism takes; its own refusal if there is none."""
    if not isinstance(mechanism, Mechanism):
        return list(pairs)
    refused = {}
    for n in {len(pair) for pair in pairs}:
        try:
            mechanism.plan(n)
        except ValueError as error:
            refused[n] = error
    kept = [pair for pair in pairs if len(pair) not in refused]
    if not kept:
        raise next(iter(refused.values()))
    return kept
