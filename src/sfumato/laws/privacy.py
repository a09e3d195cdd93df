"""Kinds of privacy as values: what is promised, how promises add up and are divided, and in which words (proofs, Result 9)."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_ndtr, ndtr

from ..errors import Fix, PrecisionError, Refusal
from ..numerics.arrays import Array
from .noise import ROUND_UP, Noise, Parts, largest_noise, quick_root

LARGE_EPSILON = 10.0  # above it a release warns
LARGEST_EPSILON = 100.0  # above it a release is refused
USUAL_DELTA = 1e-6  # at which a release states (ε, δ) unless another was asked for
WIDE = 4096  # directions of a noise that stands for all others where δ is divided between the two sides of a stage
FAR = 0.01  # the least part of δ for the far side
ROOM = 0.125  # the part of δ for rounding where a stage chooses among ways, whose rounding differs
ROUND_DOWN = 1 - 3e-9  # takes off more than ROUND_UP adds when μ is found again from ε
POSITIVE = (1e-100, 1e100, "a positive number, between 1e-100 and 1e100")


@dataclass(frozen=True)
class Privacy(ABC):
    """A promise about one unit, as a number or two: the smaller, the more private."""

    symbols: ClassVar[str]
    phrase: ClassVar[str]
    limits: ClassVar[Mapping[str, tuple[float, float, str]]] = {}

    def __post_init__(self) -> None:
        for part in fields(self):
            number = getattr(self, part.name)
            low, high, what = self.limits.get(part.name, POSITIVE)
            real = isinstance(number, Real) and not isinstance(number, bool)
            if not (real and low <= float(number) <= high):
                raise ValueError(f"{part.name} must be {what}, not {number!r}")
            object.__setattr__(self, part.name, float(number))

    @property
    @abstractmethod
    def pure(self) -> float:
        """The ε that any ε-differentially private mechanism may have to keep this promise."""

    @property
    def outer(self) -> float:
        """The ε with which a failure of probability c for each of two neighbours is stated as δ = (1 + e^ε)·c, if the
        draws do not have less; −∞: as c."""
        return -math.inf

    @abstractmethod
    def noise(self, directions: int, chance: float = 0.0) -> Noise:
        """Return the noise with the largest ε of which this promise is proven; rounding fails with probability ``chance``."""

    def scales(self, count: int) -> Array:
        """Return about that ε for 1 … ``count`` directions, from a few of them: between these its logarithm is a line in
        that of their number.  For the choice of a chart alone, which any ε would do for."""
        steps = (round(4 * 1.4**k) for k in range(40) if 4 * 1.4**k < count)
        some = sorted({*range(1, min(count, 4) + 1), *steps, count})
        known = np.log([self.noise(p).epsilon for p in some])
        return np.asarray(np.exp(np.interp(np.log(np.arange(1, count + 1)), np.log(some), known)))

    def split(self, share: float) -> tuple[Self, Self]:
        """Return two promises that keep this one together: a share, and the rest."""
        whole = self.numbers[0]
        part = self.sized(share * whole)
        rest = whole - part.numbers[0]
        if Fraction(part.numbers[0]) + Fraction(rest) > Fraction(whole):
            rest = math.nextafter(rest, 0.0)
        return part, self.sized(rest)

    def aside(self, share: float) -> tuple[Fraction, Self]:
        """Return the ε of a purely private stage that takes a share, and what is left for the others."""
        part, rest = self.split(share)
        return Fraction(part.pure), rest

    @abstractmethod
    def profile(self, epsilon: float) -> float:
        """Return a δ with which (ε, δ)-differential privacy follows."""

    def at(self, delta: float) -> ApproxDP:
        """Return the (ε, δ) with the least ε that follows, rounded up."""
        low = 0.0
        high = 1.0
        while self.profile(high) > delta:
            high *= 2
        while high - low > 1e-9 * high + 1e-15:
            middle = (low + high) / 2
            if self.profile(middle) <= delta:
                high = middle
            else:
                low = middle
        return ApproxDP(high, delta)

    def sized(self, number: float) -> Self:
        """Return a promise of the same kind with another first number, which is ε, ρ or μ."""
        return replace(self, **{fields(self)[0].name: number})

    @property
    def size_words(self) -> str:
        """The first number, in words."""
        name = fields(self)[0].name
        return f"{'an' if name == 'epsilon' else 'a'} {name} of {self.numbers[0]:g}"

    @property
    def numbers(self) -> tuple[float, ...]:
        """The numbers of the promise."""
        return tuple(self.to_dict().values())

    def _as(self, kind: type[Privacy]) -> tuple[float, ...] | None:
        """Return the numbers of a promise of another kind that follows by itself; None if none does."""
        return self.numbers if type(self) is kind else None

    def __add__(self, other: Privacy) -> Privacy:
        """Return what two releases about the same people promise together, whether or not the first decides the second."""
        for kind in KINDS:
            mine = self._as(kind)
            its = other._as(kind)
            if mine is not None and its is not None:
                return kind(*map(kind._sum, mine, its))
        raise TypeError(f"{self} and {other} do not add up: make an (ε, δ) of each, by at(delta)")

    def __le__(self, other: Privacy) -> bool:
        """Return whether another promise follows from this one."""
        same = self._as(type(other))
        if same is not None and all(mine <= its for mine, its in zip(same, other.numbers, strict=True)):
            return True
        return isinstance(other, ApproxDP) and self.profile(other.epsilon) <= other.delta

    def __lt__(self, other: Privacy) -> bool:
        """Return whether another promise follows from this one and says less."""
        return self <= other and self != other

    @staticmethod
    def _sum(first: float, second: float) -> float:
        return first + second

    @property
    def words(self) -> str:
        """The promise in words."""
        return self.phrase.format(*self.numbers)

    def __str__(self) -> str:
        return ", ".join(f"{symbol} = {x:g}" for symbol, x in zip(self.symbols, self.numbers, strict=True))

    def to_dict(self) -> dict[str, float]:
        """Return the promise as JSON holds it."""
        return {part.name: getattr(self, part.name) for part in fields(self) if part.repr}

    @staticmethod
    def from_dict(given: Mapping[str, Any]) -> Privacy:
        """Return the promise that :meth:`to_dict` wrote, of whichever kind.

        >>> Privacy.from_dict({"rho": 0.1}), Privacy.from_dict(ApproxDP(1.0, 1e-6).to_dict())
        (ZCDP(rho=0.1), ApproxDP(epsilon=1.0, delta=1e-06))
        """
        for kind in KINDS:
            if given.keys() == {part.name for part in fields(kind) if part.repr}:
                return kind(**given)
        raise ValueError(f"{dict(given)!r} is no kind of privacy")

    def check(self, force: bool = False) -> Self:
        """Return the promise; warn of one that promises little, and refuse one that promises nothing unless ``force``."""
        weak = f"an epsilon of {self.pure:g}"
        if "ε" not in self.symbols:
            weak = f"{self}, as weak as {weak},"
        if self.pure > LARGEST_EPSILON and not force:
            raise Refusal(
                f"{weak} promises nothing: choose an epsilon of 10 or less (1 is common), or give ",
                Fix("force", True),
                " to release all the same. Nothing was spent",
            )
        if self.pure > LARGE_EPSILON:
            warnings.warn(
                f"{weak} promises little: one record may change the odds of what is released by a factor of e to the "
                f"power of {self.pure:g}. 1 is common; above 10 hardly anyone would call it privacy",
                stacklevel=4,
            )
        return self


@dataclass(frozen=True)
class PureDP(Privacy):
    """ε-differential privacy: replacing one unit changes the probability of any outcome by a factor of at most e^ε.

    The smaller ``epsilon``, the more private; 1 is common.

    >>> PureDP(0.5) + PureDP(0.25), PureDP(0.5) <= PureDP(1.0), PureDP(0.5) <= ZCDP(0.125)
    (PureDP(epsilon=0.75), True, True)
    >>> PureDP(0.5).words
    '0.5-differentially private'
    """

    epsilon: float
    symbols: ClassVar[str] = "ε"
    phrase: ClassVar[str] = "{:g}-differentially private"

    @property
    def pure(self) -> float:
        return self.epsilon

    def noise(self, directions: int, chance: float = 0.0) -> Noise:
        return Noise(self.epsilon, directions)

    def scales(self, count: int) -> Array:
        return np.full(count, self.epsilon)

    @property
    def outer(self) -> float:
        return math.inf  # that of the draws themselves

    def aside(self, share: float) -> tuple[Fraction, PureDP]:
        rest = PureDP((1 - share) * self.epsilon)
        return Fraction(self.epsilon) - Fraction(rest.epsilon), rest

    def profile(self, epsilon: float) -> float:
        return Noise(self.epsilon).certified(epsilon)

    def _as(self, kind: type[Privacy]) -> tuple[float, ...] | None:
        one = Noise(self.epsilon)
        return {PureDP: (one.epsilon,), ZCDP: (one.rho,), GDP: (one.mu,), ApproxDP: (one.epsilon, 0.0)}[kind]


@dataclass(frozen=True)
class ZCDP(Privacy):
    """ρ-zero-concentrated differential privacy (Bun and Steinke 2016): Rényi divergences of order α are at most α·ρ.

    The noise of a chart that is s-private in p directions has ρ = s²/(2p), any ε-private mechanism ε²/2; and they add up.

    >>> ZCDP(0.1) + PureDP(1.0), round(ZCDP(0.1).at(1e-6).epsilon, 3), round(ZCDP(0.1).noise(20).epsilon, 6)
    (ZCDP(rho=0.6), 2.142, 2.0)
    """

    rho: float
    symbols: ClassVar[str] = "ρ"
    phrase: ClassVar[str] = "{:g}-zero-concentrated differentially private"

    @property
    def pure(self) -> float:
        return self.noise(1).epsilon

    def noise(self, directions: int, chance: float = 0.0) -> Noise:
        return Noise(math.sqrt(2 * max(1, directions) * self.rho) * (1 - 1e-15), directions)

    def profile(self, epsilon: float) -> float:
        """Return the least over α of e^((α−1)(αρ−ε))/(α−1)·(1−1/α)^α (Canonne, Kamath and Steinke 2020); at most 1."""

        def log_delta(x: float) -> float:
            more = math.exp(x)  # α − 1
            return more * ((1 + more) * self.rho - epsilon) - x - (1 + more) * math.log1p(math.exp(-x))

        start = math.log(max(epsilon / (2 * self.rho), 1e-9))
        least = minimize_scalar(log_delta, bounds=(min(start, 0.0) - 9, max(start, 0.0) + 3), method="bounded").fun
        return min(1.0, math.exp(min(0.0, float(least))) * ROUND_UP)


@dataclass(frozen=True)
class GDP(Privacy):
    """μ-Gaussian differential privacy (Dong, Roth and Su 2022): neighbours are as hard to tell apart as N(0, 1) and N(μ, 1).

    >>> GDP(3.0) + GDP(4.0), round(GDP(1.0).at(1e-6).epsilon, 3), round(GDP(1.0).noise(96).epsilon, 2)
    (GDP(mu=5.0), 4.887, 9.76)
    """

    mu: float
    symbols: ClassVar[str] = "μ"
    phrase: ClassVar[str] = "{:g}-Gaussian differentially private"

    @property
    def pure(self) -> float:
        mu = min(self.mu, 70.0) * ROUND_DOWN
        return math.log1p(math.erf(mu / math.sqrt(8)) / float(ndtr(-mu / 2)))

    def noise(self, directions: int, chance: float = 0.0) -> Noise:
        """Return it by δ(0) = 2Φ(μ/2) − 1 (proofs, Result 9)."""
        apart = min(math.erf(self.mu * ROUND_DOWN / math.sqrt(8)), 1 - 1e-6)
        most = largest_noise(directions, ((0.0, apart),)).epsilon if directions else 0.0
        return Noise(max(most, self.pure), directions)

    def split(self, share: float) -> tuple[GDP, GDP]:
        first, second = (self.mu * math.sqrt(part) * (1 - 1e-15) for part in (share, 1 - share))
        return GDP(first), GDP(second)

    def profile(self, epsilon: float) -> float:
        """Return Φ(−ε/μ + μ/2) − e^ε·Φ(−ε/μ − μ/2), rounded up."""
        first, second = (float(log_ndtr(-epsilon / self.mu + side * self.mu / 2)) for side in (1, -1))
        lost = 1e-15 * (1 + abs(epsilon) - first - second)
        return min(1.0, math.exp(first) * (lost - math.expm1(min(0.0, epsilon + second - first))) * ROUND_UP)

    def _as(self, kind: type[Privacy]) -> tuple[float, ...] | None:
        return (self.mu**2 / 2,) if kind is ZCDP else super()._as(kind)

    @staticmethod
    def _sum(first: float, second: float) -> float:
        return math.hypot(first, second)


@dataclass(frozen=True)
class ApproxDP(Privacy):
    """(ε, δ)-differential privacy: replacing one unit changes the probability p of any outcome to at most e^ε·p + δ.

    δ should be far below 1/n: with δ = 1/n one could publish a record outright.  ``spent`` is the part of ε that purely private
    stages of the same release take before the noise.

    >>> ApproxDP(1.0, 1e-6) + PureDP(0.5), ApproxDP(1.0, 1e-6) <= ApproxDP(1.0, 1e-5), ZCDP(0.02) <= ApproxDP(1.0, 1e-6)
    (ApproxDP(epsilon=1.5, delta=1e-06), True, True)
    >>> [round(ApproxDP(1.0, 1e-6, spent).noise(96).epsilon, 2) for spent in (0.0, 0.1)]
    [2.42, 2.25]
    """

    epsilon: float
    delta: float
    spent: float = field(default=0.0, repr=False)
    symbols: ClassVar[str] = "εδ"
    phrase: ClassVar[str] = "({:g}, {:g})-differentially private"
    limits: ClassVar[Mapping[str, tuple[float, float, str]]] = {
        "epsilon": (0.0, *POSITIVE[1:]),
        "delta": (1e-100, 1 - 1e-9, "a small probability, such as 1e-6"),
        "spent": (0.0, 1e100, "a part of epsilon"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.spent > self.epsilon or (self.spent and self.spent == self.epsilon):
            raise ValueError(f"spent must be below epsilon, not {self.spent!r}")

    @property
    def pure(self) -> float:
        return self.epsilon - self.spent

    @property
    def outer(self) -> float:
        return self.epsilon

    def noise(self, directions: int, chance: float = 0.0) -> Noise:
        """Return the noise; what rounding adds, (1 + e^ε)·``chance``, is part of δ."""
        if directions == 0:
            return Noise(self.pure)
        lost = (1 + math.exp(min(self.epsilon, 600.0))) * chance
        most = self.delta * (ROOM if self.spent else 0.5)
        if not lost <= most:
            raise PrecisionError(
                f"rounding in double precision would take {lost:.1e} of the delta of {self.delta:g} that this part of the "
                f"release has: use a larger delta, or a region with fewer directions than {directions}"
            )
        return largest_noise(directions, self._sides(self.delta - (most if self.spent else lost)))

    def _sides(self, delta: float) -> tuple[tuple[float, float], ...]:
        """Return the (ε, δ) that the noise must keep: a stage moves ε to both sides, and each side has a part of δ."""
        if not self.spent:
            return ((self.epsilon, delta),)
        far = _far_part(self.epsilon, self.delta, self.spent)
        near, less = (float(expit(side * self.spent)) for side in (1, -1))
        return (self.pure, (1 - far) * delta / near), (self.epsilon + self.spent, far * delta / less)

    def split(self, share: float) -> tuple[ApproxDP, ApproxDP]:
        first = ApproxDP(share * self.pure, share * self.delta)
        return first, ApproxDP(self.epsilon, (1 - share) * self.delta, self.spent + first.epsilon)

    def aside(self, share: float) -> tuple[Fraction, ApproxDP]:
        part = share * self.pure
        return Fraction(part), replace(self, spent=self.spent + part)

    def profile(self, epsilon: float) -> float:
        """Return δ, and below ε also the most that an ε-private mechanism may have (Kairouz, Oh and Viswanath 2017)."""
        return self.delta + (1 - self.delta) * Noise(self.epsilon).certified(epsilon)

    def at(self, delta: float) -> ApproxDP:
        """Return the promise itself; it says nothing of a smaller δ."""
        if delta < self.delta:
            raise ValueError(f"{self} says nothing of a delta of {delta:g}")
        return ApproxDP(self.epsilon, delta)


KINDS: tuple[type[Privacy], ...] = (PureDP, GDP, ZCDP, ApproxDP)  # a sum is of the first that both follow to


@lru_cache(maxsize=256)
def _far_part(epsilon: float, delta: float, spent: float) -> float:
    """Return the part of δ for losses on the far side of a stage: that of a noise in many directions; at least FAR."""

    def together(s: float) -> float:
        return Parts(spent, (Noise(s, WIDE),)).delta(epsilon)

    s = quick_root(1e3, delta, together, epsilon - spent)
    return max(FAR, float(expit(-spent)) * Noise(s, WIDE).delta(epsilon + spent) / delta)


def as_privacy(epsilon: float | Privacy | None, privacy: Privacy | None = None, what: str = "a release") -> Privacy:
    """Return the promise that is asked for, as an ε or as any kind."""
    if isinstance(epsilon, Privacy) and privacy is None:
        return epsilon
    if (epsilon is None) == (privacy is None):
        raise TypeError(f"{what} needs an epsilon (the smaller, the more private; 1 is common) or a privacy, not both")
    if privacy is not None and not isinstance(privacy, Privacy):
        raise TypeError(f"privacy is a kind such as sfumato.ApproxDP(1.0, 1e-6), not {privacy!r}")
    promise = privacy or PureDP(epsilon)  # type: ignore[arg-type]
    if not promise.pure > 0:
        raise ValueError("epsilon must be a positive number")
    return promise


@dataclass(frozen=True)
class Facts:
    """All that is proven of one release, whichever was asked for.

    ``chance`` bounds the probability that rounding moves a draw, for each of two neighbours.  ``approx`` holds it; all else is
    proven of draws that are not moved, so that ε has a further δ of (1 + e^ε)·chance.
    """

    asked: Privacy
    epsilon: float
    rho: float
    mu: float
    approx: ApproxDP
    chance: float = 0.0

    @classmethod
    def of(cls, asked: Privacy, parts: Sequence[Sequence[Noise]], chance: float = 0.0) -> Facts:
        """Return the facts of parts that follow each other, each with some ways that what came before chooses among.

        >>> facts = Facts.of(PureDP(1.0), [[Noise(0.1)], [Noise(0.9, 96), Noise(0.9, 10)]])
        >>> facts.epsilon, round(facts.rho, 4), round(facts.approx.epsilon, 3)
        (1.0, 0.0455, 0.911)
        """
        known = {
            "epsilon": up(math.fsum(max(way.epsilon for way in part) for part in parts)),
            "rho": up(math.fsum(max(way.rho for way in part) for part in parts)),
            "mu": up(math.hypot(*(max(way.mu for way in part) for part in parts))),
        }
        if isinstance(asked, ApproxDP):
            return cls(asked, approx=asked, chance=chance, **known)
        known |= asked.to_dict()
        return cls(asked, approx=_approx(parts, known["epsilon"], known["rho"], chance), chance=chance, **known)

    @cached_property
    def stated(self) -> dict[str, Any]:
        """What a release states beside ε: the other kinds, and what was asked for if that was not ε."""
        asked = None if isinstance(self.asked, PureDP) else self.asked.to_dict()
        return {"rho": self.rho, "mu": self.mu, "approx": self.approx.to_dict(), "asked": asked}

    def __or__(self, other: Facts) -> Facts:
        """Return the facts of two releases about different people: the larger of each."""
        names = ("epsilon", "rho", "mu", "chance")
        worst = {name: max(getattr(self, name), getattr(other, name)) for name in names}
        asked = other.asked if self.asked <= other.asked else self.asked
        return Facts(asked, approx=ApproxDP(*map(max, self.approx.numbers, other.approx.numbers)), **worst)

    @property
    def booked(self) -> tuple[float, float]:
        """The (ε, δ) that a ledger books: that which was asked for, else the pure ε and what rounding adds to it."""
        if isinstance(self.asked, ApproxDP):
            return self.approx.epsilon, self.approx.delta
        return self.epsilon, (1 + math.exp(min(self.epsilon, 600.0))) * self.chance


def _approx(parts: Sequence[Sequence[Noise]], epsilon: float, rho: float, chance: float) -> ApproxDP:
    """Return the (ε, 10⁻⁶) that is proven: exactly where there is one noise and else pure stages, otherwise by ρ.

    Rounding is part of its δ, which is larger where that alone would take half of it.
    """
    stages = [max(way.epsilon for way in part) for part in parts if not any(way.directions for way in part)]
    noises = [tuple(part) for part in parts if any(way.directions for way in part)]

    def least(delta: float) -> float:
        known = [epsilon, ZCDP(rho).at(delta).epsilon]
        if len(noises) == 1:
            known.append(Parts(math.fsum(stages), noises[0]).least_epsilon(delta))
        return min(epsilon, up(min(known)))

    half = least(USUAL_DELTA / 2)
    lost = (1 + math.exp(min(half, 600.0))) * chance
    if lost <= USUAL_DELTA / 2:
        return ApproxDP(least(USUAL_DELTA - lost) if lost else least(USUAL_DELTA), USUAL_DELTA)
    return ApproxDP(half, min(up(USUAL_DELTA / 2 + lost), 1 - 1e-9))


def up(number: float) -> float:
    """Return a number rounded up to six digits, for people to read and files to hold.

    >>> up(2.42209858), up(0.1)
    (2.4221, 0.1)
    """
    rounded = float(f"{number:.6g}")
    return rounded if rounded >= number else float(f"{number * (1 + 9e-6):.6g}")
