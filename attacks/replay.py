"""``python -m attacks --only replay``: public functions run again on a neighbour's data, with the same random outcomes.

A release is run on D with outcomes that the attacker chooses, then on a neighbour D′, forced to the same outcomes.  Each
random primitive tells its law, which is computed here by formulas of its own: the log ratio of all of them together is the
exact loss of that output, and must be at most ε.  The laws of all losses give ρ, μ and the ε at a δ, which must be what was
asked for and what the release states, by sums that know nothing of the package's (:mod:`attacks.accounts`).  Both results must
be the same as documents, to the last bit, as what differs did not come from the noise; and no record may cause an error after
the charge, or a warning.  So each row is exact: what loses more than was promised, on the data that were tried, is convicted.
"""

from __future__ import annotations

import json
import math
import tempfile
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import zip_longest
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.special import gammaincc

import sfumato as sf
from attacks import Broken, require
from attacks.accounts import CLAIMS, TOLERANCE, Losses, number, radial, two_points
from attacks.arenas import SPACES, ball_on
from attacks.checks import Case, Found, Settings, seed_of
from sfumato.audit.exact import energies, grid
from sfumato.audit.trial import COUNT
from sfumato.findings import classes
from sfumato.findings import combined as combined_module
from sfumato.findings import regression as regression_module
from sfumato.laws.privacy import GDP, ZCDP, ApproxDP, Privacy, PureDP
from sfumato.laws.sampling import Target
from sfumato.laws.sampling.divided import GRID, Divided
from sfumato.mechanisms import AmbientLaplace, ManifoldLaplace, PointwiseLaplace, base, find, inference, paying
from sfumato.mechanisms.find import Finder
from sfumato.mechanisms.inference import Spread
from sfumato.mechanisms.manifold import ManifoldMechanism
from sfumato.mechanisms.moments import WishartMoment, from_triangle, triangle
from sfumato.mechanisms.parted import Parted
from sfumato.mechanisms.plan import Drawn
from sfumato.mechanisms.stages import Looked
from sfumato.mechanisms.tangent import TangentKNorm
from sfumato.numerics.arrays import Array, Points
from sfumato.records import Records
from sfumato.regions import Ball, Ellipsoid

COUNTS = (1, 2, 5, 20)  # of units
SLACK = 1e-9  # rounding of the laws in doubles, as a share of ε and as a loss
FAR = 1e6  # times c that eigenvalues of noise are below 0 where they tell the most of two Wishart matrices
BEYOND = 40.0  # times p·c that the largest is above it
FIRST = "Bern"  # the site that is trusted
NOISE = TangentKNorm.noise
ROUNDS = 60  # pairs of neighbours: each claim five times
SLOW = {
    "regression by groups": 24,
    "groups of two factors": 24,
    "sites": 12,
    "sites, with the spread": 12,
    "sites, by groups": 12,
}
CONTROLLED = 24
NEVER = 1 << 30  # the place of a search that no candidate ends


# -- laws ------------------------------------------------------------------------------------------------------------------
class Law(ABC):
    """What is known, given the data, of an outcome before it is drawn."""

    @abstractmethod
    def drawn(self, rng: np.random.Generator) -> Any:
        """Return some outcome."""

    @abstractmethod
    def log(self, outcome: Any) -> float:
        """Return the logarithm of the probability or density of an outcome."""

    @abstractmethod
    def telling(self, other: Any, rng: np.random.Generator) -> Any:
        """Return an outcome that is as much more likely here than by the law of a neighbour as any."""

    def parts(self, other: Any) -> list[Losses]:
        """Return the laws of the losses against a neighbour; where they are not known, the worst that the largest allows."""
        telling = self.telling(other, np.random.default_rng(0))
        return [two_points(abs(self.log(telling) - other.log(telling)))]


def moved(directions: int, apart: float, sigma: float) -> list[Losses]:
    """Return the losses of noise that a neighbour moves by so much: none if it does not."""
    return [radial(directions, apart / sigma)] if apart else []


@dataclass(frozen=True)
class Place(Law):
    """A point of R^p with density ∝ exp(−‖x − mean‖/σ), before it is rounded to the lattice."""

    mean: Array
    sigma: float

    def drawn(self, rng: np.random.Generator) -> Array:
        """Return the public origin, which any data may give, or a point near or far."""
        return float(rng.random() < 0.75) * self._beyond(rng.standard_normal(len(self.mean)), rng)

    def log(self, outcome: Array) -> float:
        return -float(np.linalg.norm(outcome - self.mean)) / self.sigma - len(self.mean) * math.log(self.sigma)

    def telling(self, other: Place, rng: np.random.Generator) -> Array:
        apart = self.mean - other.mean
        return self._beyond(apart, rng) if apart.any() else self.drawn(rng)

    def parts(self, other: Place) -> list[Losses]:
        require(self.sigma == other.sigma, "neighbours have noise of different scales")
        return moved(len(self.mean), float(np.linalg.norm(self.mean - other.mean)), self.sigma)

    def _beyond(self, direction: Array, rng: np.random.Generator) -> Array:
        length = self.sigma * rng.standard_gamma(len(self.mean)) * rng.choice([1.0, 30.0])
        return np.asarray(self.mean + length * direction / np.linalg.norm(direction))


@dataclass(frozen=True)
class Coordinates(Law):
    """Numbers with Laplace noise, each with a scale of its own, before they are rounded to the lattice."""

    mean: Array
    scales: Array

    def drawn(self, rng: np.random.Generator) -> Array:
        return np.asarray(self.mean + self.scales * rng.laplace(size=self.mean.shape) * rng.choice([1.0, 30.0]))

    def log(self, outcome: Array) -> float:
        return -float(np.sum(np.abs(outcome - self.mean) / self.scales + np.log(self.scales)))

    def telling(self, other: Coordinates, rng: np.random.Generator) -> Array:
        sizes = self.scales * rng.standard_exponential(self.mean.shape)
        return np.asarray(self.mean + np.sign(self.mean - other.mean) * sizes)

    def parts(self, other: Coordinates) -> list[Losses]:
        apart = (np.abs(self.mean - other.mean) / self.scales).ravel().tolist()
        return [one for shift in apart for one in moved(1, round(shift, 9), 1.0)]


@dataclass(frozen=True)
class Located(Law):
    """A point of the manifold, before it is rounded to the lattice.

    The density of the Laplace and of the staircase is a function of the distance from the computed centre alone, and these
    spaces look the same from everywhere: so its normaliser is the same for neighbours.  Those of KNG and of the exponential
    mechanism are quadratures, in up to three dimensions.
    """

    plan: ManifoldMechanism
    target: Target

    def drawn(self, rng: np.random.Generator) -> Points:
        point: Points = self.target.draw(1, rng).points[0]
        return point

    @cached_property
    def nodes(self) -> tuple[Points, Array]:
        reach = self.plan.error_quantile(1 - 1e-9)
        return grid(self.target, self.plan.noise_length, reach, COUNT[self.plan.space.dim])

    @cached_property
    def normaliser(self) -> float:
        if isinstance(self.plan, ManifoldLaplace):
            return 0.0
        points, weights = self.nodes
        return float(np.log(np.sum(weights * np.exp(-energies(self.target, points)))))

    def logs(self, points: Points) -> Array:
        return np.asarray(-energies(self.target, points) - self.normaliser)

    def log(self, outcome: Points) -> float:
        return float(self.logs(outcome[None])[0])

    def telling(self, other: Located, rng: np.random.Generator) -> Points:
        space, base, length = self.plan.space, self.target.base, self.plan.noise_length
        away = -space.log(base, other.target.base[None])[0]
        apart = float(space.norm(base, away))
        if not apart:
            return self.drawn(rng)
        steps = np.linspace(-1.0, 4.0, 501)[:, None] * length / apart
        along = (np.append(steps, [[0.0]], axis=0)).reshape(-1, *(1,) * len(space.point_shape)) * away
        tried = [space.exp(base, along), self.target.draw(200, rng).points]
        if not isinstance(self.plan, ManifoldLaplace):
            tried += [self.nodes[0], other.nodes[0]]
        points = np.concatenate(tried)
        points = points[np.isfinite(self.logs(points))]
        with np.errstate(invalid="ignore"):
            return np.asarray(points[int(np.argmax(self.logs(points) - other.logs(points)))])


@dataclass(frozen=True)
class Wisharts(Law):
    """Entries of a symmetric matrix with the noise N = c·(Z₁Z₁ᵀ − Z₂Z₂ᵀ), before they are rounded to the lattice.

    The density of N is e^(tr N/2c)·P(W ≥ N) but for a constant, W having the density e^(−tr W/c) on W ≥ 0.  Where N has one
    eigenvalue a above 0 and all others far below it, as for outcomes that tell the most, W ≥ N says that an entry on the
    diagonal of W, which is c times a Gamma((p + 1)/2), is at least a; what else it says is of the order of c/FAR.
    """

    mean: tuple[Fraction, ...]
    c: float

    @property
    def side(self) -> int:
        return math.isqrt(2 * len(self.mean))

    def matrix(self, numbers: Sequence[Any]) -> Array:
        return from_triangle(np.array([float(x) for x in numbers]), self.side, weighted=False)

    def entries(self, noise: Array) -> Array:
        """Return the outcome that this noise makes."""
        rows, columns, _ = triangle(self.side)
        return np.asarray((self.matrix(self.mean) + noise)[rows, columns])

    def drawn(self, rng: np.random.Generator) -> Array:
        """Return the mean itself, or an outcome that is likely, or is far."""
        a, b = rng.standard_normal((2, self.side, self.side + 1))
        return self.entries(self.c * rng.choice([0.0, 1.0, 30.0]) * (a @ b.T + b @ a.T))

    def log(self, outcome: Array) -> float:
        rows, columns, _ = triangle(self.side)
        noise = [Fraction(x) - m for x, m in zip(outcome.tolist(), self.mean, strict=True)]
        trace = sum(x for x, i, j in zip(noise, rows, columns, strict=True) if i == j)
        largest = max(0.0, float(np.linalg.eigvalsh(self.matrix(noise))[-1])) / self.c
        tail = float(gammaincc((self.side + 1) / 2, largest))
        return float(trace) / (2 * self.c) + math.log(max(tail, 1e-300)) - len(noise) * math.log(self.c)

    def telling(self, other: Wisharts, rng: np.random.Generator) -> Array:
        """Return what is far beyond the mean where that of the neighbour is less, and far below it everywhere else."""
        values, vectors = np.linalg.eigh(self.matrix(self.mean) - other.matrix(other.mean))
        ends = np.where(np.arange(self.side) == self.side - 1, BEYOND * self.side, -FAR) * self.c
        return self.entries((vectors * ends) @ vectors.T) if values.any() else self.drawn(rng)


@dataclass(frozen=True)
class Whole(Law):
    """A whole number with probability ∝ exp(−|k − total|/scale)."""

    total: int
    scale: Fraction

    def drawn(self, rng: np.random.Generator) -> int:
        return self.total + round(float(self.scale) * rng.laplace())

    def log(self, outcome: int) -> float:
        return math.log(math.tanh(1 / (2 * self.scale))) - float(abs(outcome - self.total) / self.scale)

    def telling(self, other: Whole, rng: np.random.Generator) -> int:
        sign = 1 if self.total > other.total else -1
        return self.total + sign * abs(self.drawn(rng) - self.total)

    def parts(self, other: Whole) -> list[Losses]:
        """Return the losses one by one, or those of a continuous variable where the scale is large."""
        apart = abs(self.total - other.total)
        if self.scale > 100 or not apart:
            return moved(1, float(apart), float(self.scale))
        reach = apart + math.ceil(60 * self.scale)
        k = np.arange(-reach, reach + 1)
        chances = np.exp(-np.abs(k) / float(self.scale))
        return [Losses((np.abs(k - apart) - np.abs(k)) / float(self.scale), chances / chances.sum())]


class Finite(Law):
    """One of a few outcomes."""

    @property
    @abstractmethod
    def outcomes(self) -> Sequence[Any]:
        """Return all of them."""

    def drawn(self, rng: np.random.Generator) -> Any:
        return self.outcomes[int(rng.integers(len(self.outcomes)))]

    def telling(self, other: Law, rng: np.random.Generator) -> Any:
        return max(self.outcomes, key=lambda outcome: self.log(outcome) - other.log(outcome))

    def parts(self, other: Law) -> list[Losses]:
        logs, others = (np.array([law.log(outcome) for outcome in self.outcomes]) for law in (self, other))
        return [Losses(logs - others, np.exp(logs))]


@dataclass(frozen=True)
class Above(Finite):
    """Whether a length with Laplace noise of a width is above a limit."""

    length: float
    limit: float
    width: float
    outcomes = (False, True)

    def log(self, outcome: bool) -> float:
        room = (self.limit - self.length) / self.width
        rare = -abs(room) - math.log(2)
        return rare if outcome is (room >= 0) else math.log1p(-math.exp(rare))


@dataclass(frozen=True)
class Pick(Finite):
    """A place, with probability ∝ e^(−rate·loss); losses beyond 60/rate count as that."""

    losses: tuple[int, ...]
    rate: float

    @property
    def outcomes(self) -> range:
        return range(len(self.losses))

    @cached_property
    def logs(self) -> Array:
        weights = -self.rate * np.minimum(self.losses, math.ceil(60 / self.rate))
        return np.asarray(weights - np.logaddexp.reduce(weights))

    def log(self, outcome: int) -> float:
        return float(self.logs[outcome])


@dataclass(frozen=True)
class Stop(Finite):
    """The first of some counts that is, with noise, at least a limit with noise of its own, both on whole numbers."""

    limit: int
    scale: Fraction
    counts: list[int] = field(default_factory=list)

    @property
    def outcomes(self) -> list[int]:
        return [*range(len(self.counts)), NEVER]

    def drawn(self, rng: np.random.Generator) -> int:
        """Return that none is: so all counts are seen."""
        return NEVER

    @cached_property
    def logs(self) -> list[float]:
        """Return the logarithm of the probability of each outcome: the sum over all values of the noise of the limit."""
        rate = float(1 / self.scale)
        reach = math.ceil(60 / rate) + max(abs(count - self.limit) for count in self.counts)
        noise = np.arange(-reach, reach + 1.0)
        going = math.log(math.tanh(rate / 2)) - rate * np.abs(noise)
        found = []
        for count in self.counts:
            short = self.limit + noise - count  # what the noise of the count must reach
            rare = -rate * np.where(short > 0, short, 1 - short) - math.log1p(math.exp(-rate))
            likely = np.log1p(-np.exp(rare))
            found.append(float(np.logaddexp.reduce(going + np.where(short > 0, rare, likely))))
            going = going + np.where(short > 0, likely, rare)
        return [*found, float(np.logaddexp.reduce(going))]

    def log(self, outcome: int) -> float:
        return self.logs[min(outcome, len(self.counts))]


# -- what is forced --------------------------------------------------------------------------------------------------------
@dataclass
class Tape:
    """The laws that a run came by and their outcomes: those of the script, then others."""

    script: Sequence[Any]
    rng: np.random.Generator
    laws: list[Law] = field(default_factory=list)
    outcomes: list[Any] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)  # of the site whose part is being made

    def take(self, law: Law) -> Any:
        """Note a law; return its outcome."""
        done = len(self.laws)
        self.laws.append(law)
        self.outcomes.append(self.script[done] if done < len(self.script) else law.drawn(self.rng))
        return self.outcomes[-1]


@dataclass(frozen=True)
class Noise:
    """Noise on whole numbers, which is drawn when it is known what it is added to."""

    tape: Tape
    scale: Fraction

    def __radd__(self, total: int) -> Any:
        return self.tape.take(Whole(total, self.scale))


@dataclass
class Hidden:
    """A whole number with noise that is never shown, but only compared with others of its kind."""

    tape: Tape
    scale: Fraction
    value: int = 0
    stop: Stop | None = None
    place: int = NEVER

    def __radd__(self, value: int) -> Hidden:
        return Hidden(self.tape, self.scale, value)

    def __ge__(self, limit: Hidden) -> bool:
        require(self.scale == limit.scale, "counts and their limit have noise of different scales")
        if limit.stop is None:
            limit.stop = Stop(limit.value, limit.scale)
            limit.place = self.tape.take(limit.stop)
        limit.stop.counts.append(self.value)
        return len(limit.stop.counts) - 1 == limit.place


class NoGenerator:
    """What stands where a generator would: any randomness that the table does not know is an error."""

    def __getattr__(self, name: str) -> Any:
        raise Broken(f"the replay does not know what draws by {name!r}: name it in attacks.replay.primitives")


class Still:
    """A clock that stands still, as hashes of releases hold the time, and some decide on an order."""

    @staticmethod
    def now(zone: tzinfo) -> datetime:
        return datetime(2000, 1, 1, tzinfo=zone)


def primitives(tape: Tape) -> list[tuple[Any, str, Any]]:
    """Return every random primitive of a release: where it is found, by which name, and what takes its outcome from the tape.

    This table is all that knows where randomness is: what is moved in the package is moved here.
    """

    def lattice_point(plan: TangentKNorm, mean: Sequence[Fraction], _: Any) -> Array:
        if isinstance(plan, Parted):  # the mean has its noise
            return np.array([round(x / Fraction(plan.spacing)) * plan.spacing for x in mean])
        if isinstance(plan, WishartMoment):
            matrix = tape.take(Wisharts(tuple(mean), plan.scale.sigma))
            return np.asarray(np.rint(matrix / plan.spacing) * plan.spacing)
        parts = np.split(np.array([float(x) for x in mean]), plan.blocks)
        place = np.concatenate([tape.take(Place(part, plan.scale.sigma)) for part in parts])
        return np.asarray(np.rint(place / plan.spacing) * plan.spacing)

    def located(plan: ManifoldMechanism, target: Target, _: Any) -> Points:
        space, center = plan.space, plan.ball.center
        place = space.coordinates(center, space.log(center, tape.take(Located(plan, target))))
        return space.exp(center, space.from_coordinates(center, np.rint(place / plan.spacing) * plan.spacing))

    def ambient(plan: AmbientLaplace, records: Records, _: Any) -> Drawn:
        place = tape.take(Place(plan.mean(records), plan.scale.sigma))
        value = plan.present(np.rint(place / plan.spacing) * plan.spacing)
        return Drawn(value, value)

    def pointwise(plan: PointwiseLaplace, records: Records, _: Any) -> Drawn:
        value = np.asarray(
            np.rint(tape.take(Coordinates(plan.mean(records), plan.scales)) / plan.spacings) * plan.spacings
        )
        return Drawn(value, value)

    make = sf.Study._make

    def made(study: sf.Study, sums: Any, key: Any, ledger: Any) -> Any:
        tape.sums = list(sums[0]) if key.name == FIRST else []
        return make(study, sums, key, ledger)

    def part(noise: Divided, _: Any) -> list[int]:
        """Return what the first site adds, which is trusted; the others add the mean of a dither."""
        if not tape.sums:
            return [(noise.dither - 1) // 2] * noise.size
        own, tape.sums = tape.sums[: noise.size], tape.sums[noise.size :]
        place = tape.take(Place(np.array([x / 2**GRID for x in own]), noise.scale))
        return [round(x * 2**GRID) - y for x, y in zip(place.tolist(), own, strict=True)]

    def falls_back(plan: Looked, lost: list[Fraction], _: Any) -> bool:
        length = math.sqrt(sum(x * x for x in lost)) * plan.look.ball.radius
        return bool(tape.take(Above(length, plan.limit, plan.width)))

    return [
        (TangentKNorm, "lattice_point", lattice_point),
        (ManifoldMechanism, "rounded", located),
        (AmbientLaplace, "draw", ambient),
        (PointwiseLaplace, "draw", pointwise),
        (Divided, "part", part),
        (sf.Study, "_make", made),
        (Looked, "falls_back", falls_back),
        (inference, "discrete_laplace", lambda scale, _: Noise(tape, scale)),
        (find, "discrete_laplace", lambda scale, _: Hidden(tape, scale)),
        (classes, "exponential_choice", lambda losses, _most, rate, _: tape.take(Pick(tuple(losses), rate))),
        (paying, "secure_generator", NoGenerator),
        (base, "datetime", Still),
    ]


@contextmanager
def replaced(rows: Iterable[tuple[Any, str, Any]]) -> Iterator[None]:
    """Put other things in the place of some, and all back at the end."""
    with ExitStack() as stack:
        for where, name, other in rows:
            stack.enter_context(patch.object(where, name, other))
        yield


# -- one run, and two ------------------------------------------------------------------------------------------------------
@dataclass
class Purse:
    """A budget that notes what it is charged for."""

    charges: list[Any] = field(default_factory=list)
    stated: list[Privacy] = field(default_factory=list)  # every kind that the release states

    def charge(self, facts: Any, about: Mapping[str, Any], /) -> None:
        self.charges.append([facts.epsilon, about])
        self.stated = [PureDP(facts.epsilon), ZCDP(facts.rho), GDP(facts.mu), facts.approx]


Make = Callable[[Any, Purse], Any]


@dataclass(frozen=True)
class Ran:
    """What a run shows, as text, and the laws and outcomes behind it."""

    shown: str
    tape: Tape
    stated: Sequence[Privacy]


def timeless(item: Any) -> Any:
    """Return a document without times, and without sums over them."""
    if isinstance(item, dict):
        return {key: timeless(value) for key, value in item.items() if key not in ("time", "sha256")}
    return [timeless(value) for value in item] if isinstance(item, list | tuple) else item


def document(found: Any) -> Any:
    """Return all that a public function gave out: numbers and words."""
    if isinstance(found, tuple):
        return [document(part) for part in found]
    if isinstance(found, sf.PrivateMDM):
        return [document(found.release_), found.covmeans_.tolist()]
    if isinstance(found, Ball):
        return [found.space.present(found.center).tolist(), found.radius, repr(found)]
    words = found.describe() if not isinstance(found, sf.Comparison) and hasattr(found, "describe") else ""
    return [found.to_dict(), words]


def ran(make: Make, data: Any, script: Sequence[Any], rng: np.random.Generator) -> Ran:
    """Run a release with the outcomes of a script; Broken by an error after the charge, a NaN, or a warning of NumPy's."""
    tape, purse = Tape(script, rng), Purse()
    with replaced(primitives(tape)), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            given = timeless(document(make(data, purse)))
        except Broken:
            raise
        except Exception as error:  # before the charge a refusal, which is compared with that of the neighbour
            require(not purse.charges, f"{type(error).__name__} after the charge: {error}")
            given = f"{type(error).__name__}: {error}"
    said = [f"{one.category.__name__}: {one.message}" for one in heard]
    for words in said:
        require(not words.startswith("RuntimeWarning"), words)
    shown = json.dumps([given, timeless(purse.charges), said], indent=0)
    require("NaN" not in shown, "a NaN is released")
    return Ran(shown, tape, purse.stated)


def difference(first: str, second: str) -> str:
    """Return the first line in which two texts differ."""
    pairs = zip_longest(first.splitlines(), second.splitlines(), fillvalue="nothing")
    return next((f"{one[:200]} / {two[:200]}" for one, two in pairs if one != two), "")


Shares = dict[str, float]


def shares(make: Make, data: Any, neighbour: Any, asked: Privacy, rng: np.random.Generator) -> Shares:
    """Return what neighbours lose as a share of what was asked for and of all that is stated, the most of each kind: of one
    output, each of its outcomes in turn as telling as it can be.  Nothing if nothing was drawn; Broken by what differs beside
    it."""
    script: list[Any] = []
    while True:
        one = ran(make, data, script, rng)
        two = ran(make, neighbour, one.tape.outcomes, rng)
        kinds = [[type(law).__name__ for law in side.tape.laws] for side in (one, two)]
        require(kinds[0] == kinds[1], f"neighbours take different paths: {kinds[0]} / {kinds[1]}")
        require(one.shown == two.shown, f"neighbours differ beside the noise: {difference(one.shown, two.shown)}")
        pairs, done = list(zip(one.tape.laws, two.tape.laws, strict=True)), len(script)
        if done == len(pairs):
            break
        script = [*one.tape.outcomes[:done], pairs[done][0].telling(pairs[done][1], rng)]
    if not pairs:
        return {}
    parts = [part for a, b in pairs for part in a.parts(b)]
    largest = sum(a.log(x) - b.log(x) for (a, b), x in zip(pairs, script, strict=True)) - SLACK
    found: Shares = {}
    for claim in (asked, *one.stated):
        has = largest if isinstance(claim, PureDP) else number(parts, claim) if parts else 0.0
        kind = "".join(claim.symbols)
        found[kind] = max(found.get(kind, -math.inf), has / claim.numbers[0])
    return found


def convicted(found: Shares) -> bool:
    """Return whether a share is above 1 by more than rounding: of sums in doubles, or over the law of a loss."""
    return any(share > 1 + (SLACK if kind == "ε" else TOLERANCE) for kind, share in found.items())


# -- neighbours ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Data:
    """Records with, for each, whose it is (None: each is a unit) and its public group."""

    points: Array
    unit: Any
    group: Any


def hostile(ball: Ball, rng: np.random.Generator) -> Array:
    """Return valid records as users write them: at the centre and nearly there, at the ends of a line through it and beyond;
    and those multiplied by numbers as large and as small as there are, where the space has such points."""
    space, center = ball.space, ball.center
    along = space.random_directions(center, 1, rng)
    steps = np.array([0.0, 1e-300, 0.5, 1.0, -1.0, 2.5, -2.5]).reshape(-1, *(1,) * len(space.point_shape))
    near = space.present(space.exp(center, ball.radius * steps * along))
    with np.errstate(over="ignore"):
        sizes = [size * near[3] for size in (-1.0, 1e300, -1e300, 1e-300, 5e-324, 1.7e308, -1.7e308)]
    apart = [np.diag([1e300, 1e-300])] if near[0].shape == (2, 2) else []
    tried = np.concatenate([near, [one for one in (*sizes, *apart) if np.isfinite(one).all()]])
    return np.asarray(np.delete(tried, list(space.diagnose(tried)[1]), axis=0))


def neighbours(
    ball: Ball, n: int, rng: np.random.Generator, both: bool = False, groups_in_all: int = 2
) -> tuple[Data, Data]:
    """Return data sets of n units that differ in all records of one.  Units are in one of some groups, or in the first two."""
    space, known = ball.space, hostile(ball, rng)
    spread = space.present(space.random_points(ball.center, 1.5 * ball.radius, n, rng))
    ends = known[np.arange(n) % 2 + 3]
    same = np.repeat(known[rng.integers(len(known), size=1)], n, axis=0)
    others = (spread, ends, same, known[rng.integers(len(known), size=n)])[rng.integers(4)]
    labelled = both or bool(rng.random() < 0.5)

    def records(last: Array | None, i: int) -> list[tuple[Array, str, int]]:
        groups = [0, 1] if both else [i % groups_in_all]
        groups += [groups[0]] * int(rng.integers(3)) * labelled
        name = ("{0}", " {0}", "{0} ", "\uff30{1}")[rng.integers(4)].format(f"P{i}", i)
        return [(others[i] if last is None else last[rng.integers(len(last))], name, group) for group in groups]

    shared = [record for i in range(n - 1) for record in records(None, i)]
    across = bool(rng.random() < 0.5)  # from beyond one edge to beyond the other, or from any record to any
    found = []
    for end in (known[5:6], known[6:7]):
        points, names, groups = zip(*shared, *records(end if across else known, n - 1), strict=True)
        order = rng.permutation(len(points)) if labelled else np.arange(len(points))
        unit = np.array(names)[order] if labelled else None
        found.append(Data(np.array(points)[order], unit, np.array(groups)[order]))
    return found[0], found[1]


# -- releases --------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Tried:
    """A release of neighbours' data, with what it is asked to promise."""

    make: Make
    first: Any
    second: Any
    asked: Privacy

    def shares(self, rng: np.random.Generator) -> Shares:
        """Return the larger shares of both directions."""
        ways = (self.first, self.second), (self.second, self.first)
        return most(shares(self.make, *way, self.asked, rng) for way in ways)


def most(found: Iterable[Shares]) -> Shares:
    """Return the largest share of each kind."""
    together: Shares = {}
    for one in found:
        together |= {kind: max(share, together.get(kind, -math.inf)) for kind, share in one.items()}
    return together


Try = Callable[[np.random.Generator, Privacy], Tried]


def some_ball(rng: np.random.Generator) -> Ball:
    """Return a ball of some kind of space, small or wide."""
    ball = ball_on(list(SPACES)[rng.integers(len(SPACES))])
    return Ball(ball.space, ball.space.present(ball.center), ball.radius * rng.choice([1.0, 1.0, 2.5]))


def in_a_ball(
    release: Callable[[Ball, Data, Privacy, dict[str, Any]], Any],
    counts: Sequence[int] = COUNTS,
    both: bool = False,
    groups: int = 2,
) -> Try:
    """Return how a release in a ball is tried: on some space, with some number of units."""

    def tried(rng: np.random.Generator, epsilon: Privacy) -> Tried:
        ball = some_ball(rng)

        def make(data: Data, purse: Purse) -> Any:
            unit = "one record" if data.unit is None else data.unit
            return release(ball, data, epsilon, {"unit": unit, "budget": purse})

        return Tried(make, *neighbours(ball, int(rng.choice(counts)), rng, both, groups), epsilon)

    return tried


def ellipsoid(ball: Ball) -> Ellipsoid:
    """Return an ellipsoid in a ball, of two directions at most."""
    axes = [ball.radius, ball.radius / 3][: ball.space.dim]
    return Ellipsoid(ball.space, ball.space.present(ball.center), axes)


def mean(chosen: Callable[[Ball], dict[str, Any]], **options: Any) -> Try:
    """Return how a mean is tried, with a region or a prior made from a ball."""
    return in_a_ball(
        lambda ball, data, epsilon, common: sf.private_mean(
            data.points, privacy=epsilon, allow_useless=True, **chosen(ball), **options, **common
        )
    )


@cache
def public_mean(ball: Ball) -> sf.Release:
    """Return a released mean that does not depend on anybody's data."""
    with replaced(primitives(Tape([], np.random.default_rng(0)))):
        return sf.private_mean(ball.space.present(ball.center)[None], ball, 1.0, "tangent", allow_useless=True)


def mdm(ball: Ball, data: Data, epsilon: Any, common: dict[str, Any]) -> Any:
    """Return a fitted classifier."""
    model = sf.PrivateMDM(region=ball, epsilon=epsilon, budget=common["budget"], allow_useless=True)
    return model.fit(data.points, data.group, unit=common["unit"])


def regression(by: bool = False, **options: Any) -> Try:
    """Return how a regression is tried: on a private covariate that is a function of the record, or on one that is public,
    which groups have; by groups, if these are given."""

    def release(ball: Ball, data: Data, epsilon: Privacy, common: dict[str, Any]) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            covariate = np.nan_to_num(np.sum(data.points.reshape(len(data.points), -1), axis=1))
        if options.get("covariate_is_public"):
            covariate = data.group * 2.0 + 0.5
        how = {"limits": (-1.0, 3.0), "by": data.group if by else None, "allow_useless": True, **options, **common}
        return sf.private_regression(data.points, covariate, ball, privacy=epsilon, **how)

    return in_a_ball(release, counts=(6, 7, 20))


def wishart(rng: np.random.Generator, epsilon: Privacy) -> Tried:
    """Try components in so many directions that their noise is that of two Wishart matrices: one record is turned by a right
    angle, or goes to the centre, or as far as there are numbers."""
    n, dim = int(rng.choice(COUNTS)), int(rng.choice([5, 6, 9]))
    ball = Ball(sf.Euclidean(dim=dim), np.zeros(dim), 1.0)
    turn = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    others = np.repeat(turn[:1], n - 1, axis=0) * rng.choice([0.0, 1e-300, 1.0, -1.0, 1e300])
    ends = turn[0], turn[1] * rng.choice([1.0, 1.0, 1e9, 0.0, 1e-300, 1e300])
    sides = [np.append(others, end[None], axis=0) for end in ends]

    def make(data: Array, purse: Purse) -> Any:
        return sf.private_components(data, ball, privacy=epsilon, budget=purse, allow_useless=True)

    return Tried(make, sides[0], sides[1], epsilon)


def look(rng: np.random.Generator, epsilon: Privacy) -> Tried:
    """Try a look at whether a public sample fits, on records of which some do not."""
    n, dim = int(rng.choice([30, 400])), 12
    sample = np.random.default_rng(0).normal(size=(60, dim)) / np.arange(1, dim + 1) ** 2
    sketch = Ellipsoid.from_sample(sf.Euclidean(dim=dim), sample)
    points = np.where(np.arange(n)[:, None] < rng.integers(n), 9.0 * np.eye(dim)[-1], 0.0)
    across = rng.choice([0.0, 1e300, 9.0]) * np.eye(dim)[0] + 9.0 * np.eye(dim)[-1]
    sides = [np.append(points[1:], end[None], axis=0) for end in (across, -across)]

    def make(data: Array, purse: Purse) -> Any:
        return sf.private_mean(data, sketch, privacy=epsilon, inference=rest, budget=purse, allow_useless=True)

    rest = float(rng.choice([0.0, 0.1]))
    return Tried(make, sides[0], sides[1], epsilon)


def size(rng: np.random.Generator, epsilon: Privacy) -> Tried:
    """Try sizes of landmarks, of which one is as small or as large as there are."""
    landmarks = rng.normal(size=(int(rng.choice(COUNTS)), 4, 2))
    sides = [np.append(landmarks[1:], far * landmarks[:1], axis=0) for far in rng.choice([0.0, 1e-300, 1.0, 1e150], 2)]

    def make(data: Array, purse: Purse) -> Any:
        return sf.private_size(data, 0.5, 4.0, privacy=epsilon, inference=0.2, budget=purse)

    return Tried(make, sides[0], sides[1], epsilon)


LINE = Ball(sf.Euclidean(dim=1), [0.0], 1.0)
SPELLINGS = {  # of two people, the first of whom has three records
    "text": np.array(["A", "A ", "\uff21", "B"]),
    "bytes": np.array([b"A", b"A ", b" A", b"B"]),
    "bytes and text": np.array([b"A", "A", "A ", b"B"], dtype=object),
    "numbers": np.array([1, 1.0, np.int64(1), 2], dtype=object),
    "numbers and text": np.array([1, "1", "1 ", 2], dtype=object),
}


def one_person(unit: Any, rng: np.random.Generator, epsilon: Privacy) -> Tried:
    """Try the mean of two people, of whom the first goes from one end to the other with all records."""

    def make(data: Array, purse: Purse) -> Any:
        return sf.private_mean(
            data, LINE, None, "tangent", privacy=epsilon, unit=unit, budget=purse, allow_useless=True
        )

    return Tried(make, np.array([[1.0]] * 3 + [[0.0]]), np.array([[-1.0]] * 3 + [[0.0]]), epsilon)


def files(people: Sequence[Sequence[str]], rng: np.random.Generator, epsilon: Privacy) -> Tried:
    """Try the mean of people in two files of two records each, of whom the first is in both and goes from end to end."""

    def make(data: Array, purse: Purse) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder, name) for name in ("first.csv", "second.csv")]
            for path, names, rows in zip(paths, people, (data[:2], data[2:]), strict=True):
                lines = (f"{name},{x!r},0.0" for name, x in zip(names, rows.tolist(), strict=True))
                path.write_text("\n".join(["subject,x,y", *lines]))
            found = sf.read(paths, plane.space)
        labels = found.labels["subject"]
        return sf.private_mean(
            found, plane, None, "tangent", privacy=epsilon, unit=labels, budget=purse, allow_useless=True
        )

    plane = Ball(sf.Euclidean(dim=2), [0.0, 0.0], 1.0)
    return Tried(make, np.array([1.0, 0.0, 1.0, 0.0]), np.array([-1.0, 0.0, -1.0, 0.0]), epsilon)


@cache
def keys() -> dict[str, tuple[bytes, sf.SiteKey]]:
    """Return the keys of three sites: the file of each, and its public part."""
    with tempfile.TemporaryDirectory() as folder:
        made = {name: sf.SiteKey.create(Path(folder, name), name) for name in (FIRST, "Lima", "Oslo")}
        return {name: (Path(folder, name).read_bytes(), key) for name, key in made.items()}


def sites(inference: float, groups: bool) -> Try:
    """Return how a study of three sites is tried, one of which is trusted and has the person whose records change."""

    def tried(rng: np.random.Generator, epsilon: Privacy) -> Tried:
        ball, n = some_ball(rng), int(rng.choice([1, 2, 5]))
        known, about = keys(), {"groups": ["A", "B"]} if groups else {}
        public = {key: n for _, key in known.values()}
        study = sf.Study.of(ball, public, trusted=1, epsilon=epsilon, inference=inference, allow_useless=True, **about)

        def make(data: Data, purse: Purse) -> Any:
            with tempfile.TemporaryDirectory() as folder:
                parts = []
                for name, (key, _) in known.items():
                    Path(folder, name).write_bytes(key)
                    Path(folder, name).chmod(0o600)
                    ledger = sf.Ledger.create(Path(folder, f"{name}.ledger"), epsilon=1e9)
                    own = data if name == FIRST else others
                    labels = {"labels": np.where(own.group % 2, "B", "A")} if groups else {}
                    how = {"agreed": study.code, "unit": own.unit, **labels}
                    parts.append(study.contribute(own.points, str(Path(folder, name)), ledger, **how))
                    purse.charges.append(name)
                return (study.combine(parts), *parts)

        others = Data(np.repeat(ball.space.present(ball.center)[None], n, axis=0), None, np.arange(n))
        return Tried(make, *neighbours(ball, n, rng), epsilon)

    return tried


def combined(rng: np.random.Generator, epsilon: Privacy) -> Tried:
    """Try one mean from two releases of the same people; what it states is what both lose together."""
    ball = some_ball(rng)

    def make(data: Data, purse: Purse) -> Any:
        unit = "one record" if data.unit is None else data.unit
        how: dict[str, Any] = {"unit": unit, "budget": purse, "allow_useless": True}
        balls = ball, Ball(ball.space, ball.space.present(ball.center), 0.9 * ball.radius)
        done = [sf.private_mean(data.points, one, None, "tangent", privacy=epsilon, **how) for one in balls]
        found = sf.combine(done, "both")
        said: Any = found.guarantee
        purse.stated = [PureDP(said.epsilon), ZCDP(said.rho), GDP(said.mu), ApproxDP(**said.approx)]
        return found

    both = GDP(epsilon.mu * math.sqrt(2)) if isinstance(epsilon, GDP) else epsilon.sized(2 * epsilon.numbers[0])
    both = ApproxDP(both.epsilon, 2 * both.delta) if isinstance(both, ApproxDP) else both
    return Tried(make, *neighbours(ball, int(rng.choice(COUNTS)), rng), both)


TRIES: dict[str, Try] = {
    "mean by chart": mean(lambda ball: {"region": ball, "mechanism": "tangent"}),
    "mean by chart, with its spread": mean(lambda ball: {"region": ball, "mechanism": "tangent"}, inference=0.5),
    "mean in an ellipsoid": mean(lambda ball: {"region": ellipsoid(ball)}),
    "mean in two steps": mean(lambda ball: {"region": ball}, steps=2),
    "mean in two steps in an ellipsoid, with its spread": mean(
        lambda ball: {"region": ellipsoid(ball)}, steps=2, inference=0.3
    ),
    "mean in a ball that is found": mean(lambda ball: {"prior": ball}),
    "mean with a radius that is found, and its spread": mean(
        lambda ball: {"prior": ball}, find="radius", inference=0.2
    ),
    "mean after a look": look,
    "region": in_a_ball(
        lambda ball, data, epsilon, common: sf.find_region(data.points, ball, privacy=epsilon, **common)
    ),
    "radius": in_a_ball(
        lambda ball, data, epsilon, common: sf.private_radius(
            data.points, ball, privacy=epsilon, coverage=0.5, **common
        )
    ),
    "variance": in_a_ball(
        lambda ball, data, epsilon, common: sf.private_variance(
            data.points, public_mean(ball), privacy=epsilon, **common
        )
    ),
    "sizes": size,
    "components": in_a_ball(
        lambda ball, data, epsilon, common: sf.private_components(
            data.points, ball, privacy=epsilon, components=1, allow_useless=True, **common
        )
    ),
    "components by two Wishart matrices": wishart,
    "groups": in_a_ball(
        lambda ball, data, epsilon, common: sf.compare_groups(
            data.points, data.group, ball, privacy=epsilon, allow_useless=True, **common
        ),
        counts=(4, 5, 20),
    ),
    "regression": regression(),
    "regression, test only": regression(test_only=True),
    "regression on a public covariate": regression(covariate_is_public=True),
    "regression by groups": regression(by=True),
    "groups of two factors": in_a_ball(
        lambda ball, data, epsilon, common: sf.compare_groups(
            data.points, data.group % 2, ball, privacy=epsilon, within=data.group // 2, allow_useless=True, **common
        ),
        counts=(8, 9, 20),
        groups=4,
    ),
    "one mean from two releases": combined,
    "sites": sites(0.0, False),
    "sites, with the spread": sites(0.2, False),
    "sites, by groups": sites(0.0, True),
    "means of classes, units with one": in_a_ball(mdm, counts=(2, 5, 20)),
    "means of classes, units with both": in_a_ball(mdm, both=True),
    **{f"one person, spelled in {kind}": partial(one_person, unit) for kind, unit in SPELLINGS.items()},
    "people in two files": partial(files, [("1", "2"), (" 1", "S3")]),
    "people in two files, as numbers and as text": partial(files, [("1.0", "2.5"), ("1", "S3")]),
}


# -- controls --------------------------------------------------------------------------------------------------------------
def _less_noise(part: float) -> list[tuple[Any, str, Any]]:
    """Return what to replace for noise of so much of its scale, in every part of every release."""
    noise, found = TangentKNorm.noise, Finder.of
    return [
        (TangentKNorm, "noise", lambda *asked: replace(noise(*asked), sigma=part * noise(*asked).sigma)),
        (Finder, "of", lambda *asked: replace(found(*asked), width=Fraction(part) * found(*asked).width)),
    ]


def _louder(part: float) -> list[tuple[Any, str, Any]]:
    """Return what to replace for a look, a spread and medians with so much of their noise, the rest being as it is."""
    width, spread, median = Looked.width.fget, Spread.of, classes.private_median  # type: ignore[attr-defined]
    noisy = inference.noisy_mean
    return [
        (regression_module, "noisy_mean", lambda total, n, wide, rng: noisy(total, n, Fraction(part) * wide, rng)),
        (Looked, "width", property(lambda plan: part * width(plan))),
        (Spread, "of", lambda *asked: Spread(asked[1], Fraction(part) * spread(*asked).width)),
        (classes, "private_median", lambda values, edges, epsilon, rng: median(values, edges, epsilon / part, rng)),
    ]


def told(rng: np.random.Generator, epsilon: Privacy) -> Tried:
    """Try a release whose words come from a record."""

    def make(data: Array, purse: Purse) -> Any:
        words = f"one record, such as {data[0, 0]}"
        return sf.private_mean(
            data, LINE, None, "tangent", privacy=epsilon, unit=words, budget=purse, allow_useless=True
        )

    return Tried(make, np.array([[0.1]]), np.array([[0.2]]), epsilon)


def late(rng: np.random.Generator, epsilon: Privacy) -> Tried:
    """Try a release that finds a record too far away when it is charged already."""

    def make(data: Array, purse: Purse) -> Any:
        found = sf.private_mean(data, LINE, None, "tangent", privacy=epsilon, budget=purse, allow_useless=True)
        if np.abs(data).max() > 1:
            raise ValueError("a record is too far away")
        return found

    return Tried(make, np.array([[0.0]]), np.array([[2.0]]), epsilon)


def warns(rng: np.random.Generator, epsilon: Privacy) -> Tried:
    """Try a release that squares records that may be as large as numbers get."""

    def make(data: Array, purse: Purse) -> Any:
        return sf.private_mean(
            np.minimum(data * data, 1.0), LINE, None, "tangent", privacy=epsilon, budget=purse, allow_useless=True
        )

    return Tried(make, np.array([[0.0]]), np.array([[1e300]]), epsilon)


SPLIT = np.array(["A", "A2", "A3", "B"])
PURE = CLAIMS[:3]
CONTROLS: dict[str, tuple[Try, list[tuple[Any, str, Any]], Sequence[Privacy]]] = {
    "mean by chart, noise 10% too small": (TRIES["mean by chart"], _less_noise(0.9), PURE),
    **{
        f"mean by chart, noise 10% too small, by {kind.__name__} alone": (
            TRIES["mean by chart"],
            _less_noise(0.9),
            [claim for claim in CLAIMS if isinstance(claim, kind)],
        )
        for kind in (ApproxDP, ZCDP, GDP)
    },
    "one mean from two releases, at the price of one": (
        combined,
        [(combined_module, "_total", lambda add, name, numbers: max(numbers))],
        PURE,
    ),
    "sites, half the noise of the trusted one": (
        sites(0.0, False),
        [(TangentKNorm, "noise", lambda *asked: replace(NOISE(*asked), sigma=NOISE(*asked).sigma / 2))],
        PURE,
    ),
    "components by two Wishart matrices, noise 10% too small": (
        wishart,
        [(WishartMoment, "apart", 0.9), (base, "_fitted", base._fitted.__wrapped__)],
        PURE,
    ),
    "mean in two steps, noise 20% too small": (TRIES["mean in two steps"], _less_noise(0.8), PURE),
    "radius, noise 20% too small": (TRIES["radius"], _less_noise(0.8), PURE),
    "mean after a look, a quarter of the look's noise": (TRIES["mean after a look"], _louder(0.25), PURE),
    "mean with its spread, a quarter of the spread's noise": (
        TRIES["mean by chart, with its spread"],
        _louder(0.25),
        PURE,
    ),
    "means of classes, a quarter of the medians' noise": (
        TRIES["means of classes, units with one"],
        _louder(0.25),
        PURE,
    ),
    "regression, noise of the halves 20% too small": (
        TRIES["regression on a public covariate"],
        _less_noise(0.8),
        PURE,
    ),
    "regression, a quarter of the noise of its numbers": (TRIES["regression"], _louder(0.25), PURE),
    "one person, counted as three": (partial(one_person, SPLIT), [], PURE),
    "words from a record": (told, [], PURE),
    "an error after the charge": (late, [], PURE),
    "a warning": (warns, [], PURE),
}


def worst(
    tried: Try, rounds: int, seed: int, wrong: Sequence[tuple[Any, str, Any]] = (), asked: Sequence[Privacy] = CLAIMS
) -> Found:
    """Try a release on so many pairs of neighbours, and say the worst share of each kind; or what differs, fails or warns
    beside it."""
    rng, found = np.random.default_rng(seed), Shares()
    only = {claim.symbols for claim in asked}
    with replaced(wrong):
        for i in range(rounds):
            one = tried(rng, asked[i % len(asked)])
            try:
                found = most((found, {kind: x for kind, x in one.shares(rng).items() if kind in only}))
            except Broken as broken:
                return Found(False, f"pair {i + 1}, {one.asked}: {broken}", {"pair": i})
    if not found:
        return Found(False, "nothing was released", {})
    words = f"lost of what is promised: {in_words(found)}, in {rounds} pairs, both ways, to the bit the same beside it"
    return Found(not convicted(found), words, {"shares": found, "found": max(found.values()), "power": 1.0})


def in_words(found: Shares) -> str:
    """Return shares by kind.

    >>> in_words({"εδ": 1.0, "ε": 0.5})
    '0.5000 of ε, 1.0000 of (ε, δ)'
    """
    names = {"ε": "ε", "εδ": "(ε, δ)", "ρ": "ρ", "μ": "μ"}
    return ", ".join(f"{found[kind]:.4f} of {name}" for kind, name in names.items() if kind in found)


def cases(settings: Settings) -> list[Case]:
    """Return every release, and those that are wrong on purpose."""
    found = []
    for name, one in TRIES.items():
        rounds = len(CLAIMS) // 2 if settings.quick else SLOW.get(name, ROUNDS)
        some = CLAIMS[::2] if settings.quick else CLAIMS
        found.append(Case(name, partial(worst, one, rounds, seed_of(settings, name), asked=some)))
    for name, (one, wrong, asked) in CONTROLS.items():
        found.append(Case(name, partial(worst, one, CONTROLLED, seed_of(settings, name), wrong, asked), True))
    return found
