"""The hash chain of a ledger: each line holds the hash of the line before it, so that a changed line is found.

Only hashes computed anew from some line on, or an older copy, go unseen: against that, note the last hash elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Context, Decimal, Inexact, InvalidOperation
from functools import reduce
from typing import Any

from ..errors import printable
from .document import compact, hash_of

GENESIS = "0" * 64  # what the first line holds for the hash of the line before it
DIGITS = 50  # amounts have at most this many digits on either side of the point, so that sums stay exact in
EXACT = Context(prec=4 * DIGITS, traps=[Inexact, InvalidOperation])


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
        kind = f"{self.kind} {self.epsilon}"
        return printable("  ".join([str(self.sequence), self.time, self.dataset, kind, self.purpose, self.hash[:12]]))


@dataclass(frozen=True)
class Book:
    """What a ledger says, once all of it has been verified: its lines, each data set's budget and what it has spent."""

    entries: tuple[Entry, ...]
    budgets: Mapping[str, Decimal]
    spent: Mapping[str, Decimal]

    @property
    def head(self) -> str:
        """The hash of the last line.  Noted elsewhere, it proves later that no line up to it was changed or removed."""
        return self.entries[-1].hash if self.entries else GENESIS

    def left(self, dataset: str) -> Decimal:
        """Return the part of the budget that is not spent."""
        return plain(EXACT.subtract(self.budgets[dataset], self.spent[dataset]))

    def describe(self, dataset: str) -> str:
        """Return how much is left of how much, and what was spent on what."""
        groups: dict[str, list[Decimal]] = {}
        for entry in self.entries:
            if entry.kind == "charge" and entry.dataset == dataset:
                groups.setdefault(entry.purpose, []).append(Decimal(entry.epsilon))
        spent = []
        for purpose, amounts in groups.items():
            charges = "1 charge" if len(amounts) == 1 else f"{len(amounts)} charges"
            spent.append(f"{total(amounts)} on {printable(purpose)} ({charges})")
        left = f"{self.left(dataset)} of {self.budgets[dataset]} is left of the budget of {dataset!r}"
        return f"{left}. Spent so far: {'; '.join(spent) or 'nothing'}."

    def following(self, kind: str, dataset: str, epsilon: Decimal, record: str) -> Entry:
        """Return the line that comes next in the chain."""
        fields = (len(self.entries) + 1, kind, dataset, now(), f"{epsilon:f}", record, hash_of(record), self.head)
        return Entry(*fields, hash=link(vars(Entry(*fields, hash=""))))

    def extended(self, entry: Entry) -> Book:
        """Return the book with the line that was written next."""
        budgets = dict(self.budgets)
        spent = dict(self.spent)
        _add(entry, budgets, spent)
        return Book((*self.entries, entry), budgets, spent)


def verified(rows: Iterable[Sequence[Any]]) -> Book:
    """Return the book of these lines; a ValueError says which is altered, missing, moved, inserted or not one of ours."""
    entries: list[Entry] = []
    budgets: dict[str, Decimal] = {}
    spent: dict[str, Decimal] = {}
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
            _add(entry, budgets, spent)
        except ValueError as error:
            raise ValueError(f"line {number} was not written by sfumato: {error}") from None
        entries.append(entry)
        head = entry.hash
    if not entries:
        raise ValueError("all lines are missing")
    return Book(tuple(entries), budgets, spent)


def _add(entry: Entry, budgets: dict[str, Decimal], spent: dict[str, Decimal]) -> None:
    """Count a line, or raise a ValueError if sfumato would not have written it."""
    name = entry.dataset
    asked = Decimal(0) if entry.kind == "release" else amount(entry.epsilon)
    if entry.kind == "budget" and name not in budgets:
        budgets[name] = asked
        spent[name] = Decimal(0)
    elif entry.kind in ("charge", "release") and name in budgets:
        spent[name] = total([spent[name], asked])
    else:
        raise ValueError(f"a {entry.kind!r} of {name!r} cannot stand there")
    if spent[name] > budgets[name]:
        raise ValueError("it spends more than was left")


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


def amount(epsilon: float | str | Decimal) -> Decimal:
    """Return ε as an exact decimal; a float counts as what it prints as, so 0.1 is a tenth."""
    try:
        text = str(epsilon) if isinstance(epsilon, (int, str, Decimal)) else repr(float(epsilon))
        exact = EXACT.create_decimal(text).normalize(EXACT)
        exponent = exact.as_tuple().exponent
        if isinstance(exponent, int) and exponent >= -DIGITS and 0 < exact < 10**DIGITS:
            return plain(exact)
    except (ArithmeticError, TypeError, ValueError):
        pass
    raise ValueError(f"epsilon must be a positive decimal with at most {DIGITS} digits on either side, not {epsilon!r}")


def total(amounts: Iterable[Decimal]) -> Decimal:
    """Return the exact sum, whatever the precision that is set."""
    return plain(reduce(EXACT.add, amounts, Decimal(0)))


def plain(exact: Decimal) -> Decimal:
    """Return the same number without exponent or trailing zeros."""
    return Decimal(format(exact.normalize(EXACT), "f"))
