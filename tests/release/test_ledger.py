"""The budget is never under-counted: not by rounding, races, crashes, damage or a changed line."""

import multiprocessing
import os
import pickle
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from dataclasses import fields
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest

from sfumato import Ball, Euclidean, Session
from sfumato.errors import BudgetExceeded, LedgerError
from sfumato.laws.noise import Noise
from sfumato.laws.privacy import ZCDP, ApproxDP, Facts, PureDP
from sfumato.release import chain, ledger
from sfumato.release.ledger import Entry, Ledger

RECORD = {"statistic": "Fréchet mean", "mechanism": {"name": "laplace", "options": {}}, "n": 126}
COLUMNS = [field.name for field in fields(Entry)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.ledger"


KINDS = {
    "epsilon": ({"epsilon": 3}, {"epsilon": "0.3"}),
    "epsilon and delta": ({"privacy": ApproxDP(3.0, 1e-6)}, {"privacy": ApproxDP(0.3, 1e-6)}),
    "rho": ({"privacy": ZCDP(0.5)}, {"privacy": ZCDP(0.005)}),
}


def asked(kind, epsilon):
    """What a release in 30 directions is charged as: its ε to a budget of ε, all that is known of it to others."""
    return epsilon if kind == "epsilon" else Facts.of(PureDP(epsilon), [[Noise(epsilon, 30)]], 1e-12)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Ledgers that tests take copies of, with budgets of every kind."""
    folder = tmp_path_factory.mktemp("prepared")
    for kind, (whole, tenth) in KINDS.items():
        wings = Ledger.create(folder / f"study, {kind}", dataset="wings", **whole)
        paid = wings.charge(asked(kind, 0.5), RECORD)
        wings.complete(paid, "ab" * 32)
        faces = Ledger.create(folder / f"study, {kind}", dataset="faces", **tenth)
        faces.charge(asked(kind, 0.1), RECORD)
        faces.charge(asked(kind, 0.1), {"statistic": "median"})
        wings.charge(asked(kind, 1), RECORD)
        large = Ledger.create(folder / f"large, {kind}", **whole)
        for number in range(12):
            large.charge(asked(kind, 0.125), RECORD | {"center": [number / 7] * (20 if number % 3 else 400)})
    return folder


@pytest.fixture
def study(prepared, path):
    """A ledger of seven lines: budgets for two data sets, four charges, one of them completed."""
    shutil.copy(prepared / "study, epsilon", path)
    return Ledger(path, "wings")


@pytest.fixture(params=KINDS)
def any_study(prepared, path, request):
    """The same with budgets of one kind."""
    shutil.copy(prepared / f"study, {request.param}", path)
    return Ledger(path, "wings")


@pytest.fixture(params=KINDS)
def large(prepared, path, request):
    """A ledger of several pages, with records that overflow theirs; ε adds up to 1.5."""
    return shutil.copy(prepared / f"large, {request.param}", path)


def execute(path, *statements):
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def rows(path):
    with closing(sqlite3.connect(path)) as connection:
        return [dict(zip(COLUMNS, row, strict=True)) for row in connection.execute("SELECT * FROM entries")]


def forge(path, lines):
    """Put lines in the place of a ledger's own, with all hashes computed anew: what a chain alone cannot see."""
    previous = chain.GENESIS
    execute(path, "DELETE FROM entries", "DELETE FROM sqlite_sequence")
    with closing(sqlite3.connect(path)) as connection, connection:
        for number, line in enumerate(lines, start=1):
            line = line | {"sequence": number, "record_hash": chain.hash_of(line["record"]), "previous": previous}
            previous = line["hash"] = chain.link(line)
            connection.execute(f"INSERT INTO entries VALUES ({', '.join('?' * 9)})", [line[c] for c in COLUMNS])


def totals(path):
    book = Ledger(path).verify()
    return dict(book.budgets), dict(book.spent)


# Amounts


def test_ten_tenths_are_one(path):
    budget = Ledger.create(path, 1.0)
    for _ in range(10):
        budget.charge(0.1, RECORD)
    assert budget.left == 0
    with pytest.raises(BudgetExceeded):
        budget.charge("1e-50", RECORD)
    assert [line["epsilon"] for line in rows(path)] == ["1"] + ["0.1"] * 10


def test_sums_stay_exact_whatever_the_context(path):
    with localcontext() as context:
        context.prec = 3
        budget = Ledger.create(path, "1" + "0" * 49)
        budget.charge("1e-50", RECORD)
        assert str(budget.left) == "9" * 49 + "." + "9" * 50
        with pytest.raises(BudgetExceeded):
            budget.charge("1" + "0" * 49, RECORD)


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [
        (2, "2"),
        (100.0, "100"),
        (1 / 3, "0.3333333333333333"),
        (1e-7, "0.0000001"),
        ("1.50", "1.5"),
        (Decimal("2e1"), "20"),
        (np.float64(0.1), "0.1"),
        (np.float32(0.1), "0.10000000149011612"),
        (np.int64(3), "3"),
    ],
)
def test_amounts_are_plain_decimals(path, epsilon, text):
    assert Ledger.create(path, epsilon).verify().entries[0].epsilon == text


@pytest.mark.parametrize(
    "epsilon",
    [0, -1, -0.5, float("nan"), float("inf"), "NaN", "-1", "", "one", True, None, 1e-60, 1e50, "1e99999", "9" * 999],
)
def test_other_amounts_are_refused(path, epsilon):
    with pytest.raises(ValueError, match="epsilon must be a positive decimal"):
        Ledger.create(path, epsilon)
    assert not path.exists()
    budget = Ledger.create(path, 1)
    with pytest.raises(ValueError, match="epsilon must be a positive decimal"):
        budget.charge(epsilon, RECORD)
    assert len(budget.verify().entries) == 1


# Charging


def test_refusal_says_what_was_asked_what_is_left_and_where_it_went(study):
    with pytest.raises(BudgetExceeded) as refusal:
        study.charge(2, RECORD)
    assert str(refusal.value) == (
        "epsilon 2 was asked, but only 1.5 of 3 is left of the budget of 'wings'. Spent so far: 1.5 on Fréchet mean by "
        "laplace, n = 126 (2 charges)."
    )
    assert study.left == Decimal("1.5")
    assert Ledger(study.path, "faces").describe() == (
        "0.1 of 0.3 is left of the budget of 'faces'. Spent so far: 0.1 on Fréchet mean by laplace, n = 126 (1 charge); 0.1 on "
        "median (1 charge)."
    )


def test_lines_hold_what_is_public(study):
    book = study.verify()
    assert [line.sequence for line in book.entries] == list(range(1, 8))
    assert [line.kind for line in book.entries] == [
        "budget",
        "charge",
        "release",
        "budget",
        "charge",
        "charge",
        "charge",
    ]
    assert dict(book.budgets) == {"wings": 3, "faces": Decimal("0.3")}
    assert dict(book.spent) == {"wings": Decimal("1.5"), "faces": Decimal("0.2")}
    assert book.entries[1].record == '{"mechanism":{"name":"laplace","options":{}},"n":126,"statistic":"Fréchet mean"}'
    assert "charge 0.5  Fréchet mean by laplace, n = 126" in str(book.entries[1])
    assert "release abababababab… paid by line 2" in str(book.entries[2])


@pytest.mark.parametrize(
    "record", [{"value": [1.0]}, {"n": np.int64(3)}, {"n": float("nan")}, {"a": "\ud800"}, {1: 2, "a": 3}]
)
def test_records_that_are_private_or_not_json_are_refused(study, record):
    with pytest.raises(ValueError, match=r"public information only|must be plain JSON"):
        study.charge(0.1, record)
    assert study.left == Decimal("1.5")


def test_a_charge_is_completed_once(study):
    charge = study.charge(0.1, RECORD)
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        study.complete(charge, "mean.json")
    note = study.complete(charge, "cd" * 32)
    with pytest.raises(ValueError, match="already paid for a release"):
        study.complete(charge, "cd" * 32)
    with pytest.raises(ValueError, match="is not a charge"):
        study.complete(note, "cd" * 32)
    assert study.left == Decimal("1.4")


def test_a_clock_that_goes_back_is_harmless(study, monkeypatch):
    monkeypatch.setattr(chain, "now", lambda: "1970-01-01T00:00:00+00:00")
    charge = study.charge(0.5, RECORD)
    monkeypatch.undo()
    study.charge(0.5, RECORD)
    lines = study.verify().entries
    assert lines[-2] == charge
    assert lines[-3].time > lines[-2].time < lines[-1].time
    assert study.left == Decimal("0.5")


def test_ledgers_can_be_pickled_and_named(study):
    again = pickle.loads(pickle.dumps(study))
    assert again.charge(0.5, RECORD) == study.verify().entries[-1]
    assert repr(again) == f"Ledger({str(study.path)!r}, dataset='wings')"


# Opening and creating


def test_opening_never_creates(path, tmp_path):
    with pytest.raises(LedgerError, match=r"there is no ledger at .*study.ledger: check the name"):
        Ledger(path)
    with pytest.raises(LedgerError, match="there is no ledger"):
        Ledger(tmp_path / "absent" / "study.ledger")
    assert list(tmp_path.iterdir()) == []


def test_creating_never_overwrites(study, tmp_path):
    with pytest.raises(LedgerError, match=r"already holds a budget of 3 for 'wings', which is never overwritten"):
        Ledger.create(study.path, 100, "wings")
    assert totals(study.path)[0] == {"wings": 3, "faces": Decimal("0.3")}
    for name, content in (("empty", b""), ("notes", b"my notes\n" * 500)):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(LedgerError, match=name):
            Ledger.create(tmp_path / name, 1)
        assert (tmp_path / name).read_bytes() == content
    with pytest.raises(LedgerError, match="not a regular file"):
        Ledger.create(tmp_path, 1)
    with pytest.raises(LedgerError, match="cannot be created"):
        Ledger.create(tmp_path / "absent" / "study.ledger", 1)


@pytest.mark.parametrize("name", ["caf\u00e9", "cafe\u0301", "\uff43af\u00e9"])
def test_a_name_has_one_spelling(path, name):
    Ledger.create(path, 1, "café")
    with pytest.raises(LedgerError, match="already holds a budget of 1 for 'café'"):
        Ledger.create(path, 1, name)
    assert Ledger(path, name).charge(1, RECORD).dataset == "café"
    assert list(Ledger(path).verify().budgets) == ["café"]


@pytest.mark.parametrize("name", ["w\u0456ngs", "Wings", "\u051d\u0456ngs", "w\u00efngs", "wings_", "w-ings"])
def test_names_that_look_alike_are_warned_of(path, name):
    Ledger.create(path, 1, "wings")
    with pytest.warns(UserWarning, match="looks like 'wings', which has a budget here already"):
        Ledger.create(path, 1, name)


@pytest.mark.parametrize("name", ["wings 2", "swing", "крылья", "φτερά", "翼 wings 2020"])
def test_other_names_pass_in_silence(path, name):
    """The tests make an error of every warning."""
    Ledger.create(path, 1, "wings")
    Ledger.create(path, 1, name)


def test_a_name_of_two_scripts_is_warned_of(path):
    with pytest.warns(UserWarning, match="mixes Cyrillic and Latin letters"):
        Ledger.create(path, 1, "f\u0430ces")


def test_a_name_that_an_older_version_wrote_is_still_found(path, monkeypatch):
    with monkeypatch.context() as older:
        older.setattr(ledger, "_one_spelling", lambda name: name)
        Ledger.create(path, 1, "cafe\u0301")
    assert Ledger(path, "cafe\u0301").left == 1


def test_data_sets_are_named(study):
    with pytest.raises(LedgerError, match=r"has no data set 'wing': it has 'wings', 'faces'. Check the name"):
        Ledger(study.path, "wing")
    several = Ledger(study.path)
    assert len(several.verify().entries) == 7
    with pytest.raises(LedgerError, match="has several data sets, 'wings', 'faces': name the one to charge"):
        several.charge(0.1, RECORD)
    for name in ("", " wings", "wings\n", "a\0b"):
        with pytest.raises(ValueError, match="a data set's name"):
            Ledger.create(study.path, 1, name)


@pytest.mark.parametrize("name", ["a b?mode=memory#x%20.ledger", "größe.ledger", "'; DROP TABLE entries.ledger"])
def test_odd_file_names(tmp_path, name):
    Ledger.create(tmp_path / name, 1).charge(1, RECORD)
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert Ledger(tmp_path / name).left == 0


# Changed lines


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("number", [1, 5, 7])
def test_an_altered_field_is_found(any_study, column, number):
    value = {"sequence": "99", "epsilon": "'0.01'", "record": "'{}'", "kind": "'release'"}.get(column, f"'{'0' * 63}1'")
    execute(any_study.path, f"UPDATE entries SET {column} = {value} WHERE sequence = {number}")
    with pytest.raises(LedgerError, match=rf"study.ledger: line {number} is .* restore its last good copy"):
        Ledger(any_study.path)
    with pytest.raises(LedgerError):
        any_study.charge(0.1, RECORD)


@pytest.mark.parametrize("value", ["x'00'", "CAST(x'ff' AS TEXT)"])
def test_a_field_that_is_no_text_is_found(any_study, value):
    execute(any_study.path, f"UPDATE entries SET epsilon = {value} WHERE sequence = 5")
    with pytest.raises(LedgerError, match=r"line 5 is not what was written|study.ledger is damaged"):
        Ledger(any_study.path)


@pytest.mark.parametrize(
    ("statements", "finding"),
    [
        (["DELETE FROM entries WHERE sequence = 1"], "line 1 is missing"),
        (["DELETE FROM entries WHERE sequence = 5"], "line 5 is missing"),
        (["DELETE FROM entries WHERE sequence = 7"], "lines after line 6 were removed"),
        (["DELETE FROM entries WHERE sequence > 4"], "lines after line 4 were removed"),
        (["DELETE FROM entries"], "all lines are missing"),
        (["DELETE FROM sqlite_sequence"], "lines after line 7 were removed"),
        (
            ["DELETE FROM entries WHERE sequence = 5", "UPDATE entries SET sequence = sequence - 1 WHERE sequence > 5"],
            "line 5 is not what was written there: it was altered, or moved",
        ),
        (
            [f"UPDATE entries SET sequence = {new} WHERE sequence = {old}" for old, new in ((5, 99), (6, 5), (99, 6))],
            "line 5 is not what was written there: it was altered, or moved",
        ),
        (
            [f"UPDATE entries SET sequence = {step}sequence WHERE sequence {which}" for step, which in (("-", "> 4"),)]
            + ["UPDATE entries SET sequence = 1 - sequence WHERE sequence < 0"]
            + ["INSERT INTO entries SELECT 5, kind, dataset, time, epsilon, record, record_hash, previous, hash "
               "FROM entries WHERE sequence = 2"],
            "line 5 is not what was written there",
        ),
        (
            ["INSERT INTO entries SELECT 0, kind, dataset, time, epsilon, record, record_hash, previous, hash FROM entries "
             "WHERE sequence = 1"],
            "line 0 was inserted",
        ),
        (["CREATE TRIGGER refund AFTER INSERT ON entries BEGIN DELETE FROM entries; END"], "its table was changed"),
        (["ALTER TABLE entries RENAME TO lines"], "this is not a ledger"),
        (["DROP TABLE entries"], "there is nothing in this file"),
    ],
)  # fmt: skip
def test_removed_moved_and_inserted_lines_are_found(any_study, statements, finding):
    execute(any_study.path, *statements)
    with pytest.raises(LedgerError, match=finding):
        Ledger(any_study.path)
    with pytest.raises(LedgerError, match=finding):
        any_study.charge(0.1, RECORD)


def test_a_line_replaced_with_its_own_hash_breaks_the_chain(any_study):
    line = rows(any_study.path)[4] | {"epsilon": "0.01"}
    execute(
        any_study.path,
        f"UPDATE entries SET epsilon = '0.01', hash = '{chain.link(line)}' WHERE sequence = {line['sequence']}",
    )
    with pytest.raises(
        LedgerError, match="line 6 does not follow the one before: lines were replaced, removed or inserted"
    ):
        Ledger(any_study.path)


def test_a_noted_head_finds_what_the_chain_cannot(study):
    path, noted, lines = study.path, study.verify().head, rows(study.path)
    shutil.copy(path, path.with_suffix(".old"))
    study.charge(0.1, RECORD)
    assert Ledger(path).verify(head=noted).head != noted  # lines that came after are fine

    forge(path, lines[:-1])  # the tail removed with SQLite's count of it
    Ledger(path)
    with pytest.raises(LedgerError, match=f"no line has the hash {noted} noted before"):
        Ledger(path).verify(head=noted)

    forge(path, [*lines[:-1], lines[-1] | {"epsilon": "0.01"}])
    assert Ledger(path, "wings").left == Decimal("2.49")
    with pytest.raises(LedgerError, match="lines were removed or rewritten since"):
        Ledger(path).verify(head=noted)

    shutil.copy(path.with_suffix(".old"), path)  # an older copy: found by whoever saw the newer one
    assert Ledger(path).verify(head=noted).head == noted
    with pytest.raises(LedgerError, match="lines were removed or rewritten since"):
        study.charge(0.1, RECORD)


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"epsilon": "-1"}, "line 6 was not written by sfumato: epsilon must be"),
        ({"epsilon": "5"}, "it spends more than was left"),
        ({"dataset": "birds"}, "a 'charge' of 'birds' cannot stand there"),
        ({"kind": "budget"}, "a 'budget' of 'faces' cannot stand there"),
        ({"kind": "refund"}, "a 'refund' of 'faces' cannot stand there"),
        ({"record": "[]"}, "line 6 is not what was written"),
        ({"record": "{"}, "line 6 is not what was written"),
    ],
)
def test_lines_that_no_charge_would_write_are_refused(study, change, finding):
    lines = rows(study.path)
    forge(study.path, lines)
    assert totals(study.path)[1] == {"wings": Decimal("1.5"), "faces": Decimal("0.2")}
    lines[5] |= change
    forge(study.path, lines)
    with pytest.raises(LedgerError, match=finding):
        Ledger(study.path)


# Damaged files


def test_truncated_files_are_refused(large):
    whole, before = large.read_bytes(), totals(large)
    assert len(whole) > 10 * 4096
    for size in [1, 50, 100, 511, *range(512, len(whole), 1536), *range(4096, len(whole), 4096), len(whole) - 1]:
        large.write_bytes(whole[:size])
        with pytest.raises(LedgerError, match=r"study.ledger.* Charge nothing to it: restore its last good copy"):
            Ledger(large)
    large.write_bytes(whole)
    assert totals(large) == before
    assert before[1] == {"default": Decimal("1.5")}


def test_flipped_bits_are_refused_or_change_no_total(large):
    """Also a charge after the damage is either refused or counted."""
    whole, before, chance = large.read_bytes(), totals(large), random.Random(20221)
    offsets = [*range(100), *(chance.randrange(len(whole)) for _ in range(300))]
    outcomes = {"refused": 0, "harmless": 0}
    for offset in offsets:
        damaged = bytearray(whole)
        damaged[offset] ^= 1 << chance.randrange(8)
        large.write_bytes(damaged)
        try:
            assert totals(large) == before
            if chance.random() < 0.2:
                Ledger(large).charge("0.25", RECORD)
                assert totals(large)[1] == {"default": Decimal("1.75")}
            outcomes["harmless"] += 1
        except LedgerError:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 20  # both happen


def test_a_damaged_schema_is_refused(large):
    """Its text is quoted in SQLite's messages, where it need not even be text any more."""
    whole = large.read_bytes()
    start = whole.index(b"CREATE TABLE entries") - 20
    for offset in range(start, start + len(ledger.SCHEMA) + 20, 3):
        large.write_bytes(whole[:offset] + bytes([whole[offset] ^ 0x80]) + whole[offset + 1 :])
        with pytest.raises(LedgerError):
            Ledger(large)


def test_overwritten_pages_are_refused(large):
    whole, before = large.read_bytes(), totals(large)
    for start in range(0, len(whole), 4096):
        for filler in (b"\0" * 4096, random.Random(start).randbytes(4096), whole[4096:8192]):
            large.write_bytes(whole[:start] + filler + whole[start + 4096 :])
            try:
                assert totals(large) == before  # the page was unused, or filled with itself
                assert large.read_bytes() == whole
            except LedgerError:
                pass


@pytest.mark.parametrize("content", [b"", b"\0" * 8192, b"SQLite format 3\0", b"sequence,kind\n1,budget\n" * 100])
def test_other_files_are_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(LedgerError, match=r"study.ledger"):
        Ledger(path)
    assert path.read_bytes() == content


# What the operating system can do


@contextmanager
def unprivileged():
    """Without the rights of root, to whom nothing is read-only."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o444, 0o777), (0o444, 0o555), (0o666, 0o555)])
def test_read_only_ledgers_can_be_verified_but_not_charged(file_mode, folder_mode):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "study.ledger")
        Ledger.create(path, 1)
        path.chmod(file_mode)
        Path(folder).chmod(folder_mode)
        with unprivileged():
            budget = Ledger(path)
            with pytest.raises(
                LedgerError, match=r"study.ledger cannot be opened or written: it must be a file that you may"
            ):
                budget.charge(0.5, RECORD)
            assert budget.left == 1
            if folder_mode == 0o555:
                with pytest.raises(LedgerError, match=r"other.ledger cannot be created \(Permission denied\)"):
                    Ledger.create(Path(folder, "other.ledger"), 1)
        Path(folder).chmod(0o755)


def test_unreadable_ledgers_are_refused():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "study.ledger")
        Ledger.create(path, 1)
        path.chmod(0)
        Path(folder).chmod(0o755)
        with unprivileged(), pytest.raises(LedgerError, match="cannot be opened or written"):
            Ledger(path)


def test_a_writer_that_holds_the_lock_too_long(study, monkeypatch):
    monkeypatch.setattr(ledger, "LOCK_SECONDS", 0.2)
    with closing(sqlite3.connect(study.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(
            LedgerError, match=r"in use by another process for 0.2 seconds, and nothing was charged: try again"
        ):
            study.charge(0.5, RECORD)
        assert study.left == Decimal("1.5")  # reading is possible meanwhile
        other.execute("ROLLBACK")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerError, match="in use by another process"):
            Ledger(study.path)
        with pytest.raises(LedgerError, match="in use by another process"):
            Ledger.create(study.path, 1, "birds")
    study.charge(0.5, RECORD)
    assert study.left == 1


def test_a_reader_that_stays_too_long(study, monkeypatch):
    """A commit waits for readers; one that does not end makes it fail, and the charge is rolled back."""
    monkeypatch.setattr(ledger, "LOCK_SECONDS", 0.2)
    with closing(sqlite3.connect(study.path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM entries").fetchall()
        with pytest.raises(LedgerError, match="in use by another process"):
            study.charge(0.5, RECORD)
    assert study.left == Decimal("1.5")


def test_a_full_disk(study, path, monkeypatch):
    class Full(sqlite3.Connection):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            self.execute("PRAGMA max_page_count = 1")  # as large as it is now, at least

    connect = sqlite3.connect
    monkeypatch.setattr(ledger.sqlite3, "connect", lambda *a, **o: connect(*a, factory=Full, **o))
    with pytest.raises(
        LedgerError, match=r"study.ledger cannot grow, as the disk is full, and nothing was charged: make room"
    ):
        study.charge(0.5, RECORD | {"center": [0.5] * 10_000})
    fresh = path.with_name("fresh.ledger")
    with pytest.raises(LedgerError, match=r"fresh.ledger cannot grow"):
        Ledger.create(fresh, 1)
    assert not fresh.exists()
    monkeypatch.undo()
    assert study.left == Decimal("1.5")


def charge_in_a_small_space(path, size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        Ledger(path).charge(0.5, RECORD | {"center": [0.5] * 10_000})
    except LedgerError as error:
        assert "could not be read or written (disk I/O error)" in str(error), error  # noqa: PT017
        sys.exit(3)


def test_writes_that_fail_leave_the_ledger_as_it_was(large):
    """The operating system refuses to write past a size: in the journal, or in the ledger itself."""
    before, spawn = totals(large), multiprocessing.get_context("spawn")
    for size in (0, 600, large.stat().st_size):
        process = spawn.Process(target=charge_in_a_small_space, args=(large, size))
        process.start()
        process.join()
        assert process.exitcode == 3
        process.close()
        assert totals(large) == before


# Processes

CHARGE_ONCE = """
import sys
from sfumato.release.ledger import BudgetExceeded, Ledger
budget = Ledger(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
try:
    budget.charge(1, {"n": 1})
    print("charged")
except BudgetExceeded:
    print("refused")
"""

# a process after the other, all of them from one that has imported what they need; a line is one write, as print makes two
# where PYTHONUNBUFFERED is set, and a process that is killed between them leaves half a line
CHARGE_FOREVER = """
import os, sys
from sfumato.release.ledger import Ledger
while sys.stdin.readline():
    process = os.fork()
    if process:
        os.waitpid(process, 0)
        os.write(1, b"ended\\n")
        continue
    budget = Ledger(sys.argv[1])
    os.write(1, f"{os.getpid()}\\n".encode())
    while True:
        entry = budget.charge("0.001", {"n": 1, "center": [0.5] * 500})
        os.write(1, f"{entry.sequence}\\n".encode())
"""


def run(program, path):
    return subprocess.Popen(
        [sys.executable, "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize(
    "budget", [{"epsilon": 5}, {"privacy": ApproxDP(5.0, 1e-6)}, {"privacy": ZCDP(2.5)}], ids=KINDS
)
def test_eight_processes_race_for_a_budget_of_five(path, budget):
    Ledger.create(path, **budget)
    processes = [run(CHARGE_ONCE, path) for _ in range(8)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate()[0] for process in processes]
    assert sorted(answers) == ["charged\n"] * 5 + ["refused\n"] * 3
    assert totals(path)[1] == {"default": 5}


@pytest.mark.parametrize(
    "budget", [{"epsilon": 1000}, {"privacy": ApproxDP(9.0, 1e-6)}, {"privacy": ZCDP(9.0)}], ids=KINDS
)
def test_a_killed_process_leaves_every_charge_it_made(path, budget):
    Ledger.create(path, **budget)
    chance = random.Random(3)
    known = 1
    parent = run(CHARGE_FOREVER, path)
    for _ in range(15):
        parent.stdin.write("another\n")
        parent.stdin.flush()
        process = int(parent.stdout.readline())
        parent.stdout.readline()
        time.sleep(chance.uniform(0, 0.1))
        os.kill(process, signal.SIGKILL)
        printed = list(iter(parent.stdout.readline, "ended\n"))
        known = max([known + 1, *map(int, printed)])
        lines = len(Ledger(path).verify().entries)
        assert known <= lines <= known + 1  # the last one may have been committed and not printed
        known = lines
    assert parent.communicate() == ("", None)
    assert Ledger(path).charge(1, RECORD).sequence == known + 1  # and it goes on from there
    assert [file.name for file in path.parent.iterdir()] == ["study.ledger"]


def test_an_interrupted_creation_is_no_budget(path):
    """Killed between making the file and committing to it: empty, and neither opened nor filled by another."""
    path.touch()
    for attempt in (Ledger, lambda path: Ledger.create(path, 1)):
        with pytest.raises(LedgerError, match="there is nothing in this file; if it never held a budget, delete it"):
            attempt(path)


# Verified once


def test_one_release_verifies_the_chain_once(path, monkeypatch):
    """When the ledger is opened; every later step finds the file as it was, or as it left it."""
    Ledger.create(path, 3).charge(1, RECORD)
    count = []
    monkeypatch.setattr(ledger, "verified", lambda rows: (count.append(1), chain.verified(rows))[1])
    session = Session(path.with_name("mean.json"), Ledger(path))
    for _ in range(3):
        session.release(np.zeros((90, 1)), Ball(Euclidean(dim=1), [0.0], 1.0), 0.5)
        session.out.unlink()
    assert session.ledger.left == Decimal("0.5")
    assert len(count) == 1
    assert len(session.ledger.verify().entries) == 2 + 3 * 2
    assert len(count) == 2  # asked for


@pytest.mark.parametrize("statement", ["UPDATE entries SET time = time || ' '", "UPDATE sqlite_sequence SET seq = 99"])
def test_any_change_of_the_file_is_seen_at_once(study, statement):
    """Without a moment between, and with the times of the file put back."""
    for operation in (lambda: study.left, study.describe, lambda: study.charge(0.1, RECORD)):
        shutil.copy(study.path, study.path.with_suffix(".kept"))
        before = study.path.stat()
        execute(study.path, statement)
        os.utime(study.path, ns=(before.st_atime_ns, before.st_mtime_ns))
        with pytest.raises(LedgerError, match="restore its last good copy"):
            operation()
        shutil.copy(study.path.with_suffix(".kept"), study.path)
        assert study.left == Decimal("1.5")


def test_what_another_process_wrote_is_verified(study, monkeypatch):
    count = []
    monkeypatch.setattr(ledger, "verified", lambda rows: (count.append(1), chain.verified(rows))[1])
    other = Ledger(study.path, "wings")
    other.charge(0.5, RECORD)
    assert len(count) == 1
    assert study.left == 1
    assert len(count) == 2
    study.charge(0.5, RECORD)
    assert other.left == Decimal("0.5")
    assert len(count) == 3


def test_an_sqlite_that_gives_no_copy_of_a_file_is_verified_each_time(study, monkeypatch):
    monkeypatch.setattr(ledger, "_fingerprint", lambda connection: "")
    count = []
    monkeypatch.setattr(ledger, "verified", lambda rows: (count.append(1), chain.verified(rows))[1])
    study.complete(study.charge(0.5, RECORD), "ab" * 32)
    assert study.left == 1
    assert len(count) == 3


def test_what_was_verified_cannot_be_changed(study):
    """A ledger keeps what it verified: a caller that writes into it must not make room for a charge."""
    study.charge(study.left, {"statistic": "mean"})
    book = study.verify()
    book.spent[study.dataset] = Decimal(0)
    book.budgets[study.dataset] = Decimal(1000)
    with pytest.raises(BudgetExceeded):
        study.charge(1, {"statistic": "mean"})
