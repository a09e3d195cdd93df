"""The budget: how much each data set may spend, in any kind of privacy, and every charge against it, in one SQLite file.

A charge is on disk before the data are read for a draw, so a crash can waste budget and never leak any.  Opening verifies the
whole chain of hashes (:mod:`~sfumato.release.chain`); so does every later reading or writing, the latter under the write lock,
unless the file is, byte for byte, what was verified last.  So nothing is charged to a ledger that is damaged, and two
processes cannot overspend it.

With ``synchronous=EXTRA`` a commit returns once the file, and the removal of the rollback journal from its directory, have
been flushed.  (With FULL, a power cut could bring a removed journal back and undo a charge; a copy of a file without its
write-ahead log would lack charges.)  Locks need a file system that has them: keep a ledger on a local disk.
"""

import hashlib
import json
import os
import sqlite3
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Self

from ..errors import BudgetExceeded, LedgerError, printable
from ..laws.privacy import Facts, Privacy, as_privacy
from .chain import GENESIS, Book, Entry, canonical, stated, verified

__all__ = ["Book", "Entry", "Ledger"]

FORMAT = "sfumato ledger 1"
EMPTY = Book((), {})
LOCK_SECONDS = 30.0  # seconds to wait while another process writes
RESTORE = "Charge nothing to it: restore its last good copy and charge what was released since, or treat it as spent."
# AUTOINCREMENT keeps the highest number ever used apart from the lines: removing the last lines leaves a trace.
COLUMNS = ",\n    ".join(f"{field.name} TEXT NOT NULL" for field in fields(Entry)[1:])
SCHEMA = f"CREATE TABLE entries (\n    sequence INTEGER PRIMARY KEY AUTOINCREMENT,\n    {COLUMNS}\n)"


class Ledger:
    """A data set's budget in a ledger file.  Opening verifies the file and never creates one: :meth:`create` does.

    Nothing stays open between calls, so threads and processes can share a ledger; two copies of the file are two budgets.
    ``dataset`` is the one to charge; it may be left out if the file has only one.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = f"{folder.name}/study.ledger"
    >>> paid = Ledger.create(path, 1, "wings").charge(0.7, {"statistic": "Fréchet mean", "mechanism": "kng", "n": 126})
    >>> Ledger(path).left
    Decimal('0.3')
    >>> Ledger(path).charge(0.7, {"statistic": "Fréchet mean"})
    Traceback (most recent call last):
    sfumato.errors.BudgetExceeded: epsilon 0.7 was asked, but only 0.3 of 1 is left of the budget of 'wings'. Spent so far:
    0.7 on Fréchet mean by kng, n = 126 (1 charge).
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], dataset: str | None = None) -> None:
        self.path = Path(path).absolute()
        # What was verified last, and the SHA-256 of the file then: an older copy put in the file's place is refused.
        self._last = EMPTY, ""
        budgets = self.verify().budgets
        if dataset is None and len(budgets) == 1:
            dataset = next(iter(budgets))
        elif dataset is not None and dataset not in budgets:
            dataset = _one_spelling(dataset)
            if dataset not in budgets:
                names = ", ".join(map(repr, budgets))
                raise LedgerError(f"{self.path} has no data set {dataset!r}: it has {names}. Check the name")
        self.dataset = dataset

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        epsilon: float | str | Decimal | None = None,
        dataset: str = "default",
        *,
        privacy: Privacy | None = None,
    ) -> Self:
        """Give a data set a budget: in a new ledger, or as a further data set of one that exists.  Overwrites nothing.

        The budget is an ``epsilon`` or a ``privacy``: ``ZCDP(0.5)``, or ``ApproxDP(3, 1e-6)``, which many more releases fit.
        A name has one spelling (Unicode's NFKC); one that looks like another of the ledger is warned of.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     wings = Ledger.create(f"{folder}/study.ledger", epsilon=3, dataset="wings")
        ...     faces = Ledger.create(f"{folder}/study.ledger", epsilon="0.5", dataset="faces")
        ...     wings.left, faces.left
        (Decimal('3'), Decimal('0.5'))
        """
        asked = epsilon if privacy is None else as_privacy(epsilon, privacy, "a budget")  # type: ignore[arg-type]
        exact, kind = stated(asked)  # type: ignore[arg-type]
        if not isinstance(dataset, str) or not dataset.isprintable() or dataset != dataset.strip() or not dataset:
            raise ValueError(f"a data set's name must be printable text without spaces around it, not {dataset!r}")
        dataset = _one_spelling(dataset)
        path = Path(path).absolute()
        new = True
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            new = False
        except OSError as error:
            raise LedgerError(f"{path} cannot be created ({error.strerror}): choose another folder") from None
        try:
            with _transaction(path, "IMMEDIATE") as connection:
                if new:
                    connection.execute(SCHEMA)
                book = EMPTY if new else _read(path, connection)
                if dataset in book.budgets:
                    raise LedgerError(
                        f"{path} already holds a budget of {book.budgets[dataset]} for {dataset!r}, which is never "
                        "overwritten: open it, or name another file or data set"
                    )
                _warn_of_look_alikes(dataset, book.budgets)
                entry = book.following("budget", dataset, exact, canonical({"format": FORMAT, **kind}))
                book.extended(entry)  # which names a kind that no ledger keeps
                _append(connection, entry)
        except BaseException:
            with suppress(OSError):
                if new and path.stat().st_size == 0:  # nothing was committed, and no one else fills an empty file
                    path.unlink()
            raise
        return cls(path, dataset)

    def charge(
        self, asked: Facts | Privacy | float | str | Decimal, record: Mapping[str, Any], once: Iterable[str] = ()
    ) -> Entry:
        """Spend what a release takes, before the data are read: it is on disk when this returns, and is never given back.

        ``asked`` is an ε, another kind of privacy, or all ``Facts`` that are proven, by which an (ε, δ) budget allows most.
        ``record`` says what for and must be public: all of a release's record but its value.  A float counts as the decimal
        that it prints as, so ten times 0.1 is 1.  A BudgetExceeded means that less is left: nothing was charged.  A charge
        whose record says the same under the names ``once`` stands for this one, however many processes charge.
        """
        if {"value", "facts"} & set(record):
            raise ValueError("a ledger keeps public information only: charge with the record without value and facts")
        exact, facts = stated(asked)
        text = canonical({**record, **facts})
        dataset = self._named()

        same = {name: record[name] for name in once}

        def charged(book: Book) -> Entry:
            for line in book.entries if same else ():
                if line.kind == "charge" and same.items() <= json.loads(line.record).items():
                    return line
            entry = book.following("charge", dataset, exact, text)
            try:
                book.extended(entry)
            except BudgetExceeded as refused:
                words = f"{refused.parts[1]} for {entry.privacy}" if entry.privacy else refused.parts[1]
                raise BudgetExceeded(f"{words} was asked, but only {book.describe(dataset)}") from None
            return entry

        return self._write(charged)

    def complete(self, entry: Entry, release_hash: str, once: bool = False) -> Entry:
        """Note which release a charge paid for, by its ``sha256``, or with ``once`` return the note that is there already; a
        charge without such a note still counts."""
        if len(release_hash) != 64 or not set(release_hash) <= set("0123456789abcdef"):
            raise ValueError(f"a release's hash must be 64 hexadecimal digits, not {release_hash!r}")
        text = canonical({"charge": entry.sequence, "release": release_hash})

        def noted(book: Book) -> Entry:
            if entry.kind != "charge" or entry not in book.entries:
                raise ValueError(f"line {entry.sequence} is not a charge of {self.path}")
            notes = {json.loads(line.record).get("charge"): line for line in book.entries if line.kind == "release"}
            if once and entry.sequence in notes:
                return notes[entry.sequence]
            if entry.sequence in notes:
                raise ValueError(f"line {entry.sequence} has already paid for a release")
            return book.following("release", entry.dataset, Decimal(0), text)

        return self._write(noted)

    def verify(self, head: str | None = None) -> Book:
        """Read every line and check it; a :class:`LedgerError` says which is altered, missing, moved or inserted.

        A chain cannot show by itself that all hashes from some line on were computed anew, that the last lines were removed
        with SQLite's count of them, or that it is an older copy: note ``verify().head`` elsewhere and pass it as ``head``.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     budget = Ledger.create(f"{folder}/study.ledger", epsilon=1)
        ...     noted = budget.verify().head
        ...     paid = budget.charge(0.25, {"statistic": "Fréchet mean"})
        ...     [(line.sequence, line.kind, line.epsilon) for line in budget.verify(head=noted).entries]
        [(1, 'budget', '1'), (2, 'charge', '0.25')]
        """
        with _transaction(self.path, "DEFERRED") as connection:
            book = _read(self.path, connection, self._last[0].head, head or GENESIS)
            self._last = book, _fingerprint(connection)
        # what the ledger keeps, nobody may change
        return replace(book, accounts=dict(book.accounts))

    @property
    def budget(self) -> Decimal | Privacy:
        """The whole budget: an ε as an exact decimal, or another kind of privacy."""
        return self._read().budgets[self._named()]

    @property
    def left(self) -> Decimal:
        """The largest ε that is left, as of now, for a release of which no more is known."""
        return self._read().left(self._named())

    def describe(self) -> str:
        """Return how much is left of how much, and what was spent on what."""
        return self._read().describe(self._named())

    def _named(self) -> str:
        if self.dataset is None:
            names = ", ".join(map(repr, self._read().budgets))
            raise LedgerError(f"{self.path} has several data sets, {names}: name the one to charge")
        return self.dataset

    def _read(self) -> Book:
        with _transaction(self.path, "DEFERRED") as connection:
            return self._verified(connection)

    def _verified(self, connection: sqlite3.Connection) -> Book:
        """Return what the ledger says in a transaction: verified anew, unless the file is what was verified last."""
        book, seen = self._last
        mark = _fingerprint(connection)
        if mark != seen or not mark:
            book = _read(self.path, connection, book.head)
            self._last = book, mark
        return book

    def _write(self, following: Callable[[Book], Entry]) -> Entry:
        """Write the line that follows what the ledger says, under the write lock, unless it is there."""
        with _transaction(self.path, "IMMEDIATE") as connection:
            book = self._verified(connection)
            entry = following(book)
            if entry.sequence <= len(book.entries):
                return entry
            _append(connection, entry)
            mark = _fingerprint(connection)  # as the file will be
        self._last = book.extended(entry), mark
        return entry

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r}, dataset={self.dataset!r})"


@contextmanager
def _transaction(path: Path, kind: Literal["DEFERRED", "IMMEDIATE"]) -> Iterator[sqlite3.Connection]:
    """Connect and begin a transaction, committed at the end unless something was raised; say SQLite's errors in plain words."""
    try:
        with closing(
            sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=LOCK_SECONDS, isolation_level=None)
        ) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")
            connection.execute("PRAGMA synchronous=EXTRA")
            connection.execute(f"BEGIN {kind}")
            yield connection
            connection.execute("COMMIT")  # closing without it rolls back
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter when SQLite's message quotes a damaged schema
        raise LedgerError(_explanation(path, error)) from None


def _explanation(path: Path, error: Exception) -> str:
    """Return what an error of SQLite's means and what to do."""
    if path.exists() and not path.is_file():
        return f"{path} is not a regular file, so it cannot be a ledger: check the name. Nothing was charged"
    match getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return (
                f"{path} was in use by another process for {LOCK_SECONDS:g} seconds, and nothing was charged: try again, or "
                "end that process"
            )
        case sqlite3.SQLITE_FULL:
            return f"{path} cannot grow, as the disk is full, and nothing was charged: make room and try again"
        case sqlite3.SQLITE_CANTOPEN if not os.path.exists(path):
            return f"there is no ledger at {path}: check the name, or make one: sfumato ledger init, in Python Ledger.create"
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return f"{path} cannot be opened or written: it must be a file that you may write, in a folder that you may write"
        case sqlite3.SQLITE_IOERR:
            return (
                f"{path} could not be read or written ({error}). The charge may or may not be recorded: release nothing, check "
                "the disk, then verify the ledger"
            )
        case sqlite3.SQLITE_NOTADB if not _was_a_ledger(path):
            return f"{path} is not a ledger but some other file: check the name. Nothing was charged"
        case _:
            return f"{path} is damaged ({printable(str(error)[:300])}). {RESTORE}"


def _was_a_ledger(path: Path) -> bool:
    """Return whether a file that SQLite does not know holds what a ledger holds, and so is a damaged one."""
    try:
        with path.open("rb") as file:
            content = file.read(1 << 20)
    except OSError:
        return True  # the worse case
    return any(mark in content for mark in (b"SQLite format 3", b"TABLE entries", FORMAT.encode(), GENESIS.encode()))


def _read(path: Path, connection: sqlite3.Connection, *heads: str) -> Book:
    """Return the lines of a ledger, if SQLite finds the file sound, the chain holds and has the heads noted before."""
    try:
        _check_database(path, connection)
        book = verified(connection.execute("SELECT * FROM entries ORDER BY sequence").fetchall())
        if connection.execute("SELECT * FROM sqlite_sequence").fetchall() != [("entries", len(book.entries))]:
            raise ValueError(f"lines after line {len(book.entries)} were removed")
        if lost := set(heads) - {GENESIS} - {entry.hash for entry in book.entries}:
            raise ValueError(f"no line has the hash {lost.pop()} noted before: lines were removed or rewritten since")
    except UnicodeDecodeError:  # SQLite's own trouble, which _transaction explains
        raise
    except ValueError as fault:
        raise LedgerError(f"{path}: {fault}. {RESTORE}") from None
    return book


def _fingerprint(connection: sqlite3.Connection) -> str:
    """Return the SHA-256 of the file as a transaction sees it, but for SQLite's count of changes; empty if it cannot be had."""
    try:
        content = bytearray(connection.serialize())
    except (sqlite3.Error, MemoryError, AttributeError):  # damage, which verifying names; or an SQLite built without it
        return ""
    content[24:28] = bytes(4)  # how many changes there were, which a commit still counts up
    content[92:100] = bytes(8)  # the same, and the version of SQLite that counted
    return hashlib.sha256(content).hexdigest()


def _check_database(path: Path, connection: sqlite3.Connection) -> None:
    """Raise a ValueError if SQLite finds the file damaged, or its table is not ours; a LedgerError if it never was a ledger."""
    fault = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if fault != "ok":
        raise ValueError(f"SQLite finds the file damaged ({' '.join(fault.split())})")
    schema = connection.execute("SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").fetchall()
    if not schema:
        raise ValueError("there is nothing in this file; if it never held a budget, delete it and create it again")
    if not any("record_hash" in str(sql) for (sql,) in schema):
        raise LedgerError(f"{path} is another database, not a ledger: check the name. Nothing was charged")
    if schema != [(SCHEMA,)]:
        raise ValueError("this is not a ledger of this version of sfumato, or its table was changed; check the name")


def _append(connection: sqlite3.Connection, entry: Entry) -> None:
    """Write the next line, in the transaction in which the book was read."""
    connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", tuple(vars(entry).values()))


# Letters of other scripts, and a digit or two, that look like Latin ones.
_ALIKE = str.maketrans("аеорсухіѕјһԁԛԝвкмнтгαορνικτυχεηω01", "aeopcyxisjhdqwbkmhtraopviktuxenwol")


def _one_spelling(name: str) -> str:
    return unicodedata.normalize("NFKC", name).strip()


def _skeleton(name: str) -> str:
    """Return what a hasty eye sees of a name: no case, accents, spaces or signs, and one script."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    return "".join(c for c in letters if c.isalnum()).translate(_ALIKE)


def _warn_of_look_alikes(dataset: str, budgets: Iterable[str]) -> None:
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
