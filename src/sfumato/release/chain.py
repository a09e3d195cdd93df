"""The lines of a ledger and what they add up to: each holds the hash of the line before it, so that a changed line is found.

Only hashes computed anew from some line on, or an older copy, go unseen: against that, note the last hash elsewhere.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, Inexact, InvalidOperation
from functools import reduce
from typing import Any

from ..errors import BudgetExceeded, Refusal, printable
from ..laws.noise import quick_root
from ..laws.privacy import GDP, USUAL_DELTA, ZCDP, ApproxDP, Facts, Privacy, PureDP
from .document import compact, hash_of

GENESIS = "0" * 64  # what the first line holds for the hash of the line before it
DIGITS = 50  # of an ε on either side of the point, at most; sums of them, and of floats below 1e100, are exact in
EXACT = Context(prec=10 * DIGITS, traps=[Inexact, InvalidOperation])
DOWN = Context(prec=6, rounding=ROUND_FLOOR)
UP = Context(prec=3, rounding=ROUND_CEILING)
UNKNOWN = Decimal("Infinity")  # what a release adds to a sum of which nothing is proven
NEVER = -UNKNOWN
Sums = tuple[Decimal, ...]  # of ε, of ρ, of the ε and δ that are booked, of the chances that rounding moves a draw


@dataclass(frozen=True)
class Entry:
    """One line: a budget given to a data set, a charge against it, or the release that a charge paid for."""

    sequence: int
    kind: str
    dataset: str
    time: str  # for readers: the order is that of ``sequence``, so a clock that goes back does no harm
    epsilon: str
    record: str  # the canonical JSON of what is public about it
    record_hash: str
    previous: str
    hash: str

    @property
    def purpose(self) -> str:
        """What the line is for, in a few public words."""
        record = json.loads(self.record)
        if self.kind == "release":
            return f"release {str(record.get('release'))[:12]}… paid by line {record.get('charge')}"
        mechanism = record.get("mechanism")
        name = mechanism.get("name") if isinstance(mechanism, dict) else mechanism
        words = str(record.get("statistic", "a release" if self.kind == "charge" else "budget"))
        by = f" by {name}" if name else ""
        of = f", n = {record['n']}" if "n" in record else ""
        return f"{words}{by}{of}"

    @property
    def privacy(self) -> Privacy | None:
        """What a budget allows or a charge asked for, if that is another kind of privacy than ε."""
        asked = (json.loads(self.record).get("facts") or {}).get("asked", {"epsilon": 0})
        return None if asked.keys() == {"epsilon"} else Privacy.from_dict(asked)

    @property
    def adds(self) -> Sums:
        """What a charge adds to the sums of its data set; a pure ε alone adds ρ = ε²/2 (Bun and Steinke 2016)."""
        facts = json.loads(self.record).get("facts")
        if facts is None:
            epsilon = amount(self.epsilon)
            return epsilon, EXACT.divide(EXACT.multiply(epsilon, epsilon), 2), epsilon, Decimal(0), Decimal(0)
        booked_epsilon, booked_delta = facts["booked"]
        numbers = facts.get("rho", math.inf), booked_epsilon, booked_delta, facts["chance"]
        if not all(isinstance(number, (int, float)) and number >= 0 for number in numbers):
            raise ValueError("what it says of a release is impossible")
        return UNKNOWN if self.epsilon == str(UNKNOWN) else amount(self.epsilon), *map(Decimal, map(repr, numbers))

    @property
    def is_intact(self) -> bool:
        """Whether the hashes are those of the fields, and the record can be read."""
        if [type(field) for field in vars(self).values()] != [int, *[str] * 8]:
            return False
        try:
            is_record = isinstance(json.loads(self.record), dict)
        except (ValueError, RecursionError):
            return False
        return is_record and self.record_hash == hash_of(self.record) and self.hash == link(vars(self))

    def __str__(self) -> str:
        kind = f"{self.kind} {self.privacy or self.epsilon}"
        return printable("  ".join([str(self.sequence), self.time, self.dataset, kind, self.purpose, self.hash[:12]]))


@dataclass(frozen=True)
class Spent:
    """A budget, as an exact ε or another kind of privacy, what charges may add up to, and what they do."""

    budget: Decimal | Privacy
    most: Sums
    sums: Sums = (Decimal(0),) * 5

    def plus(self, charge: Sums) -> Spent:
        """Return what is spent with one charge more.  A first one that fits only C with all of δ, as a release that is
        calibrated to the whole budget does, leaves all of it to C for good."""
        more = replace(self, sums=tuple(map(EXACT.add, self.sums, charge)))
        if max(more.ways) < 0 and not any(self.sums) and isinstance(self.budget, ApproxDP):
            more = replace(more, most=(self.most[0], NEVER, self.most[2], Decimal(repr(self.budget.delta)), Decimal(0)))
        if max(more.ways) < 0:
            rho = f" with ρ = {charge[1]:.6g}" if isinstance(self.budget, Privacy) else ""
            words = f"epsilon {charge[0]:f}{rho}".replace(str(UNKNOWN), "unknown")
            raise BudgetExceeded("it spends more than was left: ", words)
        return more

    @property
    def ways(self) -> Sums:
        """What is left of ε by rule A, of ρ by B and of the booked ε by C; less than nothing where a rule does not hold."""
        epsilon, rho, booked = map(EXACT.subtract, self.most[:3], self.sums[:3])
        rounds = self.sums[4] <= self.most[4]
        return epsilon if rounds else NEVER, rho if rounds else NEVER, booked if self.sums[3] <= self.most[3] else NEVER

    @property
    def left(self) -> Decimal:
        """The largest ε that a release may have of which no more is known: exact as a sum of ε, else rounded down."""
        epsilon, rho, booked = self.ways
        by_rho = Context(prec=EXACT.prec).sqrt(EXACT.multiply(2, max(rho, Decimal(0))))
        return plain(max(epsilon, booked, DOWN.plus(by_rho)))

    def words(self, owner: str) -> str:
        """Return how much is left of how much, by each rule that holds."""
        if isinstance(self.budget, Decimal):
            return f"{self.left} of {self.budget} is left of the budget of {owner}."
        text = f"an epsilon of {self.left} is left of the budget of {owner}, {self.budget}"
        delta = self.most[3] - self.sums[3] if any(self.sums) else Decimal(repr(self.budget.numbers[-1]))
        rho, booked, rest = (f"{float(DOWN.plus(number)):g}" for number in (*self.ways[1:], delta))
        text += f", or ρ = {rho} of {self.most[1]:f} where ρ is known of a release" if self.ways[1] > 0 else ""
        text += f", or ε = {booked} with δ = {rest}." if self.ways[2] > 0 < delta else "."
        taken = float(self.sums[4] / self.most[4]) if self.most[4] else 0.0
        return f"{text} Rounding has taken {taken:.0%} of its part of δ." if taken else text

    @property
    def together(self) -> str:
        """What all charges are together as (ε, 10⁻⁶) by their ρ, in a sentence; empty if the sum of their ε is less."""
        epsilon, rho, *_, chance = map(float, self.sums)
        found = ZCDP(rho).at(0.9 * USUAL_DELTA).epsilon if 1e-99 < rho < 1e99 else math.inf
        rounding = chance * (1 + math.exp(min(found, 600.0)))
        if isinstance(self.budget, ApproxDP) or found >= epsilon or rounding > 0.09 * USUAL_DELTA:
            return ""
        known = ApproxDP(float(UP.create_decimal(found)), USUAL_DELTA)
        return f" Together the releases so far are {known.words}."


@dataclass(frozen=True)
class Book:
    """What a ledger says, once all of it has been verified: its lines, each data set's budget and what it has spent."""

    entries: tuple[Entry, ...]
    accounts: Mapping[str, Spent]

    @property
    def budgets(self) -> dict[str, Decimal | Privacy]:
        """Each data set's budget: an ε as an exact decimal, or another kind of privacy."""
        return {name: account.budget for name, account in self.accounts.items()}

    @property
    def spent(self) -> dict[str, Decimal]:
        """The sum of the ε that each data set has spent."""
        return {name: plain(account.sums[0]) for name, account in self.accounts.items()}

    @property
    def head(self) -> str:
        """The hash of the last line.  Noted elsewhere, it proves later that no line up to it was changed or removed."""
        return self.entries[-1].hash if self.entries else GENESIS

    def left(self, dataset: str) -> Decimal:
        """Return the largest ε that is left for a release of which no more is known."""
        return self.accounts[dataset].left

    def unnoted(self, dataset: str) -> list[Entry]:
        """Return the charges for which no release is noted."""
        paid = {json.loads(line.record).get("charge") for line in self.entries if line.kind == "release"}
        charges = [line for line in self.entries if line.kind == "charge" and line.dataset == dataset]
        return [line for line in charges if line.sequence not in paid]

    def describe(self, dataset: str) -> str:
        """Return how much is left of how much, and what was spent on what."""
        account = self.accounts[dataset]
        return f"{account.words(repr(dataset))} Spent so far: {self.purposes(dataset)}.{account.together}"

    def purposes(self, dataset: str) -> str:
        """Return what was spent on what."""
        groups: dict[str, list[Decimal]] = {}
        for entry in self.entries:
            if entry.kind == "charge" and entry.dataset == dataset:
                purpose = f"{entry.purpose}, for {entry.privacy}" if entry.privacy else entry.purpose
                groups.setdefault(purpose, []).append(Decimal(entry.epsilon))
        spent = []
        for purpose, amounts in groups.items():
            charges = "1 charge" if len(amounts) == 1 else f"{len(amounts)} charges"
            epsilon = str(plain(reduce(EXACT.add, amounts))).replace(str(UNKNOWN), "an unknown epsilon")
            spent.append(f"{epsilon} on {printable(purpose)} ({charges})")
        return "; ".join(spent) or "nothing"

    def following(self, kind: str, dataset: str, epsilon: Decimal, record: str) -> Entry:
        """Return the line that comes next in the chain."""
        fields = (len(self.entries) + 1, kind, dataset, now(), f"{epsilon:f}", record, hash_of(record), self.head)
        return Entry(*fields, hash=link(vars(Entry(*fields, hash=""))))

    def extended(self, entry: Entry) -> Book:
        """Return the book with the line that was written next."""
        accounts = dict(self.accounts)
        _add(entry, accounts)
        return Book((*self.entries, entry), accounts)


def verified(rows: Iterable[Sequence[Any]]) -> Book:
    """Return the book of these lines; a ValueError says which is altered, missing, moved, inserted or not one of ours."""
    entries: list[Entry] = []
    accounts: dict[str, Spent] = {}
    head = GENESIS
    for number, row in enumerate(rows, start=1):
        entry = Entry(*row)
        if entry.sequence > number:
            raise ValueError(f"line {number} is missing")
        if entry.sequence < number:
            raise ValueError(f"line {entry.sequence} was inserted")
        if not entry.is_intact:
            raise ValueError(f"line {number} is not what was written there: it was altered, or moved from elsewhere")
        if entry.previous != head:
            raise ValueError(f"line {number} does not follow the one before: lines were replaced, removed or inserted")
        try:
            _add(entry, accounts)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            fault = error if isinstance(error, ValueError) else "what it says of privacy cannot be read"
            raise ValueError(f"line {number} was not written by sfumato: {fault}") from None
        entries.append(entry)
        head = entry.hash
    if not entries:
        raise ValueError("all lines are missing")
    return Book(tuple(entries), accounts)


def _add(entry: Entry, accounts: dict[str, Spent]) -> None:
    """Count a line, or raise a ValueError if sfumato would not have written it."""
    name = entry.dataset
    privacy = entry.privacy
    if entry.kind == "budget" and name not in accounts:
        budget = privacy or amount(entry.epsilon)
        accounts[name] = Spent(budget, limits(budget))
    elif entry.kind == "charge" and name in accounts:
        accounts[name] = accounts[name].plus(entry.adds)
    elif entry.kind != "release" or name not in accounts:
        raise ValueError(f"a {entry.kind!r} of {name!r} cannot stand there")


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def link(fields: Mapping[str, Any]) -> str:
    """Return the hash of a line: of all its fields, the record by its own hash."""
    return hash_of(canonical({name: field for name, field in fields.items() if name not in ("record", "hash")}))


def canonical(record: Mapping[str, Any]) -> str:
    """Return the compact JSON of a record, or raise a ValueError if it has none."""
    try:
        text = compact(dict(record), allow_nan=False)
        text.encode()
    except (TypeError, ValueError) as error:
        raise ValueError(f"the record of a charge must be plain JSON: {error}") from None
    return text


def limits(budget: Decimal | Privacy) -> Sums:
    """Return what charges may add up to.  A budget in ε or in ρ is one sum; an (ε, δ) goes on while one of three rules holds.

    A: the ε add up to at most ε.  B: the ρ add up to a ρ that is (ε, δ/4)-differentially private (Canonne, Kamath and Steinke
    2020).  C: the (e, d) that are booked add up to at most (ε, 2δ/5).  The rest of δ is for rounding under A and B:
    (1 + e^ε)·(the chances) ≤ 7δ/20.

    >>> [f"{float(limit):.3g}" for limit in limits(ApproxDP(3.0, 1e-6))]
    ['3', '0.167', '3', '4e-07', '1.66e-08']
    """
    if isinstance(budget, Decimal):
        return budget, NEVER, NEVER, NEVER, UNKNOWN
    if isinstance(budget, GDP):
        why = "a ledger keeps no budget in μ, as sums of μ are not proven here where releases decide what comes next"
        raise Refusal(f"{why}: give ρ = {budget.mu**2 / 2:g}, or {budget.at(USUAL_DELTA)}")
    first = Decimal(repr(budget.numbers[0]))
    if not isinstance(budget, ApproxDP):
        return NEVER, first, NEVER, NEVER, UNKNOWN
    log_rho = quick_root(228.0, budget.delta / 4, lambda x: ZCDP(math.exp(x)).profile(budget.epsilon), -228.0)
    rho = DOWN.create_decimal(math.exp(log_rho) * (1 - 1e-6))
    delta = EXACT.multiply(Decimal(repr(budget.delta)), Decimal("0.4"))
    chance = 0.349999 * budget.delta / (1 + math.exp(min(budget.epsilon, 600.0)))
    return first, rho, first, delta, Decimal(repr(chance))


def stated(asked: Facts | Privacy | float | str | Decimal) -> tuple[Decimal, dict[str, Any]]:
    """Return the ε of a charge, and the facts for its line if more is known; μ has ρ = μ²/2 (Dong, Roth and Su 2022)."""
    if isinstance(asked, PureDP):
        asked = asked.epsilon
    elif isinstance(asked, Privacy):
        mu = getattr(asked, "mu", math.inf)
        approx = asked.at(getattr(asked, "delta", USUAL_DELTA))
        asked = Facts(asked, math.inf, getattr(asked, "rho", mu**2 / 2 * (1 + 1e-15)), mu, approx)
    if not isinstance(asked, Facts):
        return amount(asked), {}
    booked = asked.booked if asked.booked[0] < math.inf else asked.approx.numbers
    facts = {"asked": asked.asked.to_dict(), "approx": asked.approx.to_dict(), "booked": booked, "chance": asked.chance}
    facts |= {name: getattr(asked, name) for name in ("rho", "mu") if getattr(asked, name) < 1e100}
    return amount(asked.epsilon) if asked.epsilon < math.inf else UNKNOWN, {"facts": facts}


def amount(epsilon: float | str | Decimal | None) -> Decimal:
    """Return ε as an exact decimal; a float counts as what it prints as, so 0.1 is a tenth."""
    try:
        text = str(epsilon) if isinstance(epsilon, (int, str, Decimal)) else repr(float(epsilon))  # type: ignore[arg-type]
        exact = EXACT.create_decimal(text).normalize(EXACT)
        exponent = exact.as_tuple().exponent
        if isinstance(exponent, int) and exponent >= -DIGITS and 0 < exact < 10**DIGITS:
            return plain(exact)
    except (ArithmeticError, TypeError, ValueError):
        pass
    raise ValueError(f"epsilon must be a positive decimal with at most {DIGITS} digits on either side, not {epsilon!r}")


def plain(exact: Decimal) -> Decimal:
    """Return the same number without exponent or trailing zeros."""
    return Decimal(format(exact.normalize(EXACT), "f"))
