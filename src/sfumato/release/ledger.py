"""The budget: how much ε each data set may spend, and every charge against it, in one SQLite file.

A charge is on disk before the data are read for a draw, so a crash can waste budget and never leak any.  Each line holds
the hash of the line before it; every reading verifies the whole chain and every writing does so under the write lock, so
nothing is charged to a ledger that is not sound, and two processes cannot overspend it.

The journal is SQLite's rollback journal with ``synchronous=EXTRA``: a commit returns once the file, and the removal of the
journal from its directory, have been flushed.  (With FULL, a power cut could bring a removed journal back and undo a
committed charge.  A write-ahead log would be as durable, but a copy of the file without its log would lack charges.)  Locks
need a file system that has them: keep a ledger on a local disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Context, Decimal, Inexact, InvalidOperation
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NoReturn

from ..errors import BudgetExceeded, LedgerError

FORMAT = "sfumato ledger 1"
PATIENCE = 30.0  # seconds to wait while another process writes
GENESIS = "0" * 64  # what the first line holds for the hash of the line before it
DIGITS = 50  # amounts have at most this many digits on either side of the point, so that sums stay exact in
EXACT = Context(prec=4 * DIGITS, traps=[Inexact, InvalidOperation])
RESTORE = (
    "Charge nothing to it: restore its last good copy and charge again what was released since, or treat it as spent."
)
# AUTOINCREMENT keeps the highest number ever used apart from the lines: removing the last lines leaves a trace.
SCHEMA = """CREATE TABLE entries (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    dataset TEXT NOT NULL,
    time TEXT NOT NULL,
    epsilon TEXT NOT NULL,
    record TEXT NOT NULL,
    record_hash TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL
)"""


@dataclass(frozen=True)
class Entry:
    """One line: a budget given to a data set, a charge against it, or the release that a charge paid for.

    ``record`` is the canonical JSON of what is public about it.  ``time`` is for readers: the order is that of ``sequence``,
    so a clock that goes back does no harm.
    """

    sequence: int
    kind: str
    dataset: str
    time: str
    epsilon: str
    record: str
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
        return words + (f" by {name}" if name else "") + (f", n = {record['n']}" if "n" in record else "")

    def __str__(self) -> str:
        return f"{self.sequence}  {self.time}  {self.dataset}  {self.kind} {self.epsilon}  {self.purpose}  {self.hash[:12]}"


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
        """The part of the budget that is not spent."""
        return Decimal(_plain(EXACT.subtract(self.budgets[dataset], self.spent[dataset])))

    def describe(self, dataset: str) -> str:
        """How much is left of how much, and what was spent on what."""
        groups: dict[str, list[Decimal]] = {}
        for entry in self.entries:
            if entry.kind == "charge" and entry.dataset == dataset:
                groups.setdefault(entry.purpose, []).append(Decimal(entry.epsilon))
        spent = [
            f"{_total(*amounts)} on {purpose} ({len(amounts)} charge{'s' * (len(amounts) > 1)})"
            for purpose, amounts in groups.items()
        ]
        return (
            f"{self.left(dataset)} of {self.budgets[dataset]} is left of the budget of {dataset!r}. "
            f"Spent so far: {'; '.join(spent) or 'nothing'}."
        )


class Ledger:
    """A data set's budget in a ledger file that :meth:`create` made.  Opening verifies the file and never creates one.

    ``dataset=None`` takes the only data set of the file.  Nothing stays open between calls, so a ledger can be shared by
    threads and processes; two copies of the file, however, are two budgets.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = f"{folder.name}/study.ledger"
    >>> with Ledger.create(path, epsilon=1, dataset="wings") as budget:
    ...     paid = budget.charge(0.7, {"statistic": "Fréchet mean", "mechanism": "kng", "n": 126})
    ...     budget.left
    Decimal('0.3')
    >>> with Ledger(path, dataset="wings") as budget:
    ...     paid = budget.charge(0.7, {"statistic": "Fréchet mean", "mechanism": "kng", "n": 126})
    Traceback (most recent call last):
    sfumato.errors.BudgetExceeded: epsilon 0.7 was asked, but only 0.3 of 1 is left of the budget of 'wings'. Spent so far:
    0.7 on Fréchet mean by kng, n = 126 (1 charge).
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], dataset: str | None = None) -> None:
        self.path = Path(path).absolute()
        self._seen = GENESIS  # the last head that this object saw: an older copy put in the file's place is refused
        budgets = self.verify().budgets
        if dataset is not None and dataset not in budgets:
            dataset = _one_spelling(dataset)
        if dataset is not None and dataset not in budgets:
            raise LedgerError(f"{self.path} has no data set {dataset!r}: it has {_names(budgets)}. Check the name")
        self.dataset = next(iter(budgets)) if dataset is None and len(budgets) == 1 else dataset

    @classmethod
    def create(cls, path: str | os.PathLike[str], epsilon: float | str | Decimal, dataset: str = "default") -> Ledger:
        """Give a data set a budget: in a new ledger, or as a further data set of one that exists.  Overwrites nothing.

        A name has one spelling (Unicode's NFKC).  One that looks like another of the ledger is warned of: two budgets for
        the same people add up.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     wings = Ledger.create(f"{folder}/study.ledger", epsilon=3, dataset="wings")
        ...     faces = Ledger.create(f"{folder}/study.ledger", epsilon="0.5", dataset="faces")
        ...     wings.left, faces.left
        (Decimal('3'), Decimal('0.5'))
        """
        budget = _amount(epsilon)
        if not isinstance(dataset, str) or not dataset.isprintable() or dataset != dataset.strip() or not dataset:
            raise ValueError(f"a data set's name must be printable text without spaces around it, not {dataset!r}")
        dataset = _one_spelling(dataset)
        path = Path(path).absolute()
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
            new = True
        except FileExistsError:
            new = False
        except OSError as error:
            raise LedgerError(
                f"{path} cannot be created ({error.strerror}): choose a folder you can write to"
            ) from None
        try:
            with _transaction(path, "IMMEDIATE") as connection:
                if new:
                    connection.execute(SCHEMA)
                book = Book((), {}, {}) if new else _verified(path, connection)
                if dataset in book.budgets:
                    raise LedgerError(
                        f"{path} already holds a budget of {book.budgets[dataset]} for {dataset!r}, which is never "
                        "overwritten: open it, or name another file or data set"
                    )
                _warn_of_look_alikes(dataset, book.budgets)
                _append(connection, book, "budget", dataset, _plain(budget), _canonical({"format": FORMAT}))
        except BaseException:
            with suppress(OSError):
                if new and path.stat().st_size == 0:  # nothing was committed, and no one else fills an empty file
                    path.unlink()
            raise
        return cls(path, dataset)

    def charge(self, epsilon: float | str | Decimal, record: Mapping[str, Any]) -> Entry:
        """Spend ε, before the data are read: it is on disk when this returns, and is never given back.

        ``record`` says what for and must be public: everything of a release's record but its value.  A float counts as the
        decimal that it prints as, so ten times 0.1 is 1.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Ledger.create(f"{folder}/study.ledger", epsilon=1) as budget:
        ...     charges = [budget.charge(0.1, {"statistic": "Fréchet mean"}) for _ in range(10)]
        ...     budget.left
        Decimal('0')
        """
        asked, text, dataset = _amount(epsilon), _canonical(record), self._named()
        if "value" in record:
            raise ValueError("a ledger keeps public information only: charge with the record without its value")
        with _transaction(self.path, "IMMEDIATE") as connection:
            book = _verified(self.path, connection, self._seen)
            if asked > book.left(dataset):
                raise BudgetExceeded(f"epsilon {asked} was asked, but only {book.describe(dataset)}")
            entry = _append(connection, book, "charge", dataset, _plain(asked), text)
        self._seen = entry.hash
        return entry

    def complete(self, entry: Entry, release_hash: str) -> Entry:
        """Note which release a charge paid for, by its ``sha256``.  A charge without it stands all the same.

        :func:`sfumato.private_mean` and every mechanism do this once the release is made.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Ledger.create(f"{folder}/study.ledger", epsilon=1) as budget:
        ...     paid = budget.charge(1, {"statistic": "Fréchet mean"})
        ...     budget.complete(paid, "c8dc5a975228" + 52 * "0").purpose
        'release c8dc5a975228… paid by line 2'
        """
        if len(release_hash) != 64 or not set(release_hash) <= set("0123456789abcdef"):
            raise ValueError(f"a release's hash must be 64 hexadecimal digits, not {release_hash!r}")
        text = _canonical({"charge": entry.sequence, "release": release_hash})
        with _transaction(self.path, "IMMEDIATE") as connection:
            book = _verified(self.path, connection, self._seen)
            if entry.kind != "charge" or entry not in book.entries:
                raise ValueError(f"line {entry.sequence} is not a charge of {self.path}")
            paid = [json.loads(line.record).get("charge") for line in book.entries if line.kind == "release"]
            if entry.sequence in paid:
                raise ValueError(f"line {entry.sequence} has already paid for a release")
            note = _append(connection, book, "release", entry.dataset, "0", text)
        self._seen = note.hash
        return note

    def verify(self, head: str | None = None) -> Book:
        """Read every line and check it; a :class:`LedgerError` says which is altered, missing, moved or inserted.

        What a chain of hashes cannot see by itself: that someone who can write the file computed all hashes anew from some
        line on, removed the last lines together with SQLite's count of them, or put an older copy in its place.  So note
        ``verify().head`` elsewhere (in a report, with a colleague) and pass it later as ``head``: all of that is then found,
        up to the noted line.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Ledger.create(f"{folder}/study.ledger", epsilon=1) as budget:
        ...     noted = budget.verify().head
        ...     paid = budget.charge(0.25, {"statistic": "Fréchet mean"})
        ...     [(line.sequence, line.kind, line.epsilon) for line in budget.verify(head=noted).entries]
        [(1, 'budget', '1'), (2, 'charge', '0.25')]
        """
        with _transaction(self.path, "DEFERRED") as connection:
            book = _verified(self.path, connection, self._seen, head or GENESIS)
        self._seen = book.head
        return book

    @property
    def left(self) -> Decimal:
        """The part of the budget that is not spent, as of now."""
        return self.verify().left(self._named())

    def describe(self) -> str:
        """How much is left of how much, and what was spent on what."""
        return self.verify().describe(self._named())

    def _named(self) -> str:
        if self.dataset is None:
            raise LedgerError(
                f"{self.path} has several data sets, {_names(self.verify().budgets)}: name the one to charge"
            )
        return self.dataset

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r}, dataset={self.dataset!r})"

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to do: every charge is already on disk, and nothing is open."""


@contextmanager
def _transaction(path: Path, kind: Literal["DEFERRED", "IMMEDIATE"]) -> Iterator[sqlite3.Connection]:
    """A connection in a transaction, committed at the end unless something was raised; SQLite's errors in plain words."""
    try:
        with closing(
            sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=PATIENCE, isolation_level=None)
        ) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")
            connection.execute("PRAGMA synchronous=EXTRA")
            connection.execute(f"BEGIN {kind}")
            yield connection
            connection.execute("COMMIT")  # closing without it rolls back
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter when SQLite's message quotes a damaged schema
        raise LedgerError(_explanation(path, error)) from None


def _explanation(path: Path, error: Exception) -> str:
    match getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return (
                f"{path} was in use by another process for {PATIENCE:g} seconds, and nothing was charged: try again, or end "
                "that process"
            )
        case sqlite3.SQLITE_FULL:
            return f"{path} cannot grow, as the disk is full, and nothing was charged: make room and try again"
        case sqlite3.SQLITE_CANTOPEN if not os.path.exists(path):
            return f"there is no ledger at {path}: check the name, or make one: sfumato ledger init, in Python Ledger.create"
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return f"{path} cannot be opened or written: it must be a file that you may write, in a folder that you may write"
        case sqlite3.SQLITE_IOERR:
            return (
                f"{path} could not be read or written ({error}). A charge that failed so may or may not stand: release nothing "
                "on it, check the disk, then verify the ledger"
            )
        case sqlite3.SQLITE_NOTADB if not _was_a_ledger(path):
            return f"{path} is not a ledger but some other file: check the name. Nothing was charged"
        case _:
            words = "".join(c if c.isprintable() else " " for c in str(error))
            return f"{path} is damaged ({words[:300]}). {RESTORE}"


def _was_a_ledger(path: Path) -> bool:
    """Whether a file that SQLite does not know holds what a ledger holds, so that it is a damaged one and no other file."""
    try:
        with path.open("rb") as file:
            content = file.read(1 << 20)
    except OSError:
        return True  # the worse case
    return any(mark in content for mark in (b"SQLite format 3", b"TABLE entries", FORMAT.encode(), GENESIS.encode()))


def _check_database(path: Path, connection: sqlite3.Connection, refuse: Callable[[str], NoReturn]) -> None:
    """Refuse a file that SQLite finds damaged, or whose table is none of ours."""
    fault = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if fault != "ok":
        refuse(f"SQLite finds the file damaged ({' '.join(fault.split())})")
    schema = connection.execute("SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").fetchall()
    if not schema:
        refuse("there is nothing in this file; if it never held a budget, delete it and create the ledger again")
    if not any("record_hash" in str(sql) for (sql,) in schema):
        raise LedgerError(f"{path} is another database, not a ledger: check the name. Nothing was charged")
    if schema != [(SCHEMA,)]:
        refuse("this is not a ledger of this version of sfumato, or its table was changed; check the name")


def _verified(path: Path, connection: sqlite3.Connection, *heads: str) -> Book:
    """The lines of a ledger, if SQLite finds the file sound, the chain holds and it contains the heads noted before."""

    def refuse(fault: str) -> NoReturn:
        raise LedgerError(f"{path}: {fault}. {RESTORE}")

    _check_database(path, connection, refuse)
    entries: list[Entry] = []
    budgets: dict[str, Decimal] = {}
    spent: dict[str, Decimal] = {}
    head = GENESIS
    for number, row in enumerate(connection.execute("SELECT * FROM entries ORDER BY sequence").fetchall(), start=1):
        entry = Entry(*row)
        if entry.sequence != number:
            refuse(f"line {number} is missing" if entry.sequence > number else f"line {entry.sequence} was inserted")
        if not _is_intact(entry):
            refuse(f"line {number} is not what was written there: it was altered, or moved from another place")
        if entry.previous != head:
            refuse(f"line {number} does not follow line {number - 1}: lines there were replaced, removed or inserted")
        try:
            amount = _amount(entry.epsilon) if entry.kind != "release" else Decimal(0)
        except ValueError as error:
            refuse(f"line {number} was not written by sfumato: {error}")
        if entry.kind == "budget" and entry.dataset not in budgets:
            budgets[entry.dataset], spent[entry.dataset] = amount, Decimal(0)
        elif entry.kind in ("charge", "release") and entry.dataset in budgets:
            spent[entry.dataset] = _total(spent[entry.dataset], amount)
        else:
            refuse(
                f"line {number} was not written by sfumato: a {entry.kind!r} of {entry.dataset!r} cannot stand there"
            )
        if spent[entry.dataset] > budgets[entry.dataset]:
            refuse(f"line {number} was not written by sfumato: it spends more than was left")
        entries.append(entry)
        head = entry.hash
    if not entries:
        refuse("all lines are missing")
    if connection.execute("SELECT * FROM sqlite_sequence").fetchall() != [("entries", len(entries))]:
        refuse(f"lines after line {len(entries)} were removed")
    if lost := set(heads) - {GENESIS} - {entry.hash for entry in entries}:
        refuse(f"no line has the hash {lost.pop()} noted before: lines were removed or rewritten since")
    return Book(tuple(entries), budgets, spent)


def _is_intact(entry: Entry) -> bool:
    """Whether a line's hashes are those of its fields, and its record can be read."""
    if [type(field) for field in vars(entry).values()] != [int, *[str] * 8]:
        return False
    try:
        is_record = isinstance(json.loads(entry.record), dict)
    except (ValueError, RecursionError):
        return False
    return is_record and entry.record_hash == _hash(entry.record) and entry.hash == _link(vars(entry))


def _append(connection: sqlite3.Connection, book: Book, kind: str, dataset: str, epsilon: str, record: str) -> Entry:
    """The next line of the chain, in the transaction in which the book was read."""
    fields = {
        "sequence": len(book.entries) + 1,
        "kind": kind,
        "dataset": dataset,
        "time": _now(),
        "epsilon": epsilon,
        "record": record,
        "record_hash": _hash(record),
        "previous": book.head,
    }
    entry = Entry(**fields, hash=_link(fields))  # type: ignore[arg-type]
    connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", tuple(vars(entry).values()))
    return entry


def _link(fields: Mapping[str, Any]) -> str:
    """The hash of a line: of all its fields, the record by its own hash."""
    return _hash(_canonical({name: field for name, field in fields.items() if name not in ("record", "hash")}))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(record: Mapping[str, Any]) -> str:
    """JSON with sorted keys and no spaces: equal records have equal text, also after a round trip through a file."""
    try:
        text = json.dumps(dict(record), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError) as error:
        raise ValueError(f"the record of a charge must be plain JSON: {error}") from None
    return text


def _amount(epsilon: float | str | Decimal) -> Decimal:
    """ε as an exact decimal; a float counts as what it prints as, so 0.1 is a tenth."""
    try:
        text = str(epsilon) if isinstance(epsilon, (int, str, Decimal)) else repr(float(epsilon))
        amount = EXACT.create_decimal(text).normalize(EXACT)
        exponent = amount.as_tuple().exponent
        if isinstance(exponent, int) and exponent >= -DIGITS and 0 < amount < 10**DIGITS:
            return Decimal(_plain(amount))
    except (ArithmeticError, TypeError, ValueError):
        pass
    raise ValueError(f"epsilon must be a positive decimal with at most {DIGITS} digits on either side, not {epsilon!r}")


def _total(*amounts: Decimal) -> Decimal:
    total = Decimal(0)
    for amount in amounts:
        total = EXACT.add(total, amount)
    return Decimal(_plain(total))


def _plain(amount: Decimal) -> str:
    """Without exponent or trailing zeros."""
    return format(amount.normalize(EXACT), "f")


# Letters of other scripts, and a digit or two, that look like Latin ones.
_ALIKE = str.maketrans("аеорсухіѕјһԁԛԝвкмнтгαορνικτυχεηω01", "aeopcyxisjhdqwbkmhtraopviktuxenwol")


def _one_spelling(name: str) -> str:
    return unicodedata.normalize("NFKC", name).strip()


def _skeleton(name: str) -> str:
    """What is left of a name to a hasty eye: no case, accents, spaces or signs, and one script."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    return "".join(c for c in letters if c.isalnum()).translate(_ALIKE)


def _warn_of_look_alikes(dataset: str, budgets: Mapping[str, Decimal]) -> None:
    alike = next((name for name in budgets if name != dataset and _skeleton(name) == _skeleton(dataset)), None)
    scripts = {unicodedata.name(c, "").split(" ")[0] for c in dataset if c.isalpha()} & {"LATIN", "CYRILLIC", "GREEK"}
    if alike is not None:
        warnings.warn(
            f"the name {dataset!r} ({dataset!a}) looks like {alike!r}, which has a budget here already: if both are the same "
            "data, charge that one only, as two budgets for the same people add up",
            stacklevel=3,
        )
    elif len(scripts) > 1:
        warnings.warn(
            f"the name {dataset!r} ({dataset!a}) mixes {' and '.join(sorted(s.title() for s in scripts))} letters, which look "
            "alike: is it the name that you mean?",
            stacklevel=3,
        )


def _names(budgets: Mapping[str, Decimal]) -> str:
    return ", ".join(map(repr, budgets))
