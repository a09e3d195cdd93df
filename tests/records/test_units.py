"""Units of privacy, and when a budget is charged."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

import sfumato as sf
from conftest import Placed, cloud, typical_radius
from sfumato.errors import Fix
from sfumato.files import Dataset
from sfumato.files.people import repeated_labels
from sfumato.records.units import number_units
from sfumato.regions.units import reduce_to_units


class Notebook:
    """A budget that notes what it was asked."""

    def __init__(self, refuse=False):
        self.charges, self.refuse = [], refuse

    def charge(self, facts, record, /):
        if self.refuse:
            raise ValueError("the budget is spent")
        self.charges.append((facts.epsilon, record))


def test_each_unit_becomes_its_own_mean(space, rng):
    ball = sf.Ball(space, space.present(space.origin()), typical_radius(space))
    points = ball.clip(space.present(cloud(space, space.origin(), 1.2 * typical_radius(space), 12, rng)))
    labels = np.array(list("abcabcabcdda"))
    reduced = reduce_to_units(ball, space.present(points), number_units(labels, 12))
    assert len(reduced) == 4
    assert (ball.distances(reduced) <= ball.radius).all()
    for letter, point in zip("abcd", reduced, strict=True):
        own = sf.frechet_mean(space, space.present(points[labels == letter])).point
        assert space.distance(space.validate(own[None])[0], point) < 1e-9


def test_n_counts_people_and_the_record_names_the_unit(rng):
    space = sf.Sphere(dim=2)
    ball = sf.Ball(space, [0.0, 0.0, 1.0], 0.4)
    points = cloud(space, space.origin(), 0.4, 60, rng)
    release = sf.private_mean(points, ball, 1.0, unit=np.repeat(np.arange(20), 3))
    assert release.record["n"] == 20
    assert "same label" in release.guarantee.unit
    assert (
        release.record["calibration"]["sigma"] == sf.private_mean(points[:20], ball, 1.0).record["calibration"]["sigma"]
    )


def test_changing_all_records_of_one_person_moves_one_point(rng):
    """What the unit is for: the statistic sees one changed point, however many records the person has."""
    space = sf.Euclidean(dim=2)
    ball = sf.Ball(space, [0.0, 0.0], 1.0)
    points, labels = rng.normal(0, 0.3, (50, 2)), np.repeat(np.arange(5), 10)
    other = points.copy()
    other[labels == 2] = 0.9
    before, after = (reduce_to_units(ball, ball.clip(p), labels) for p in (points, other))
    assert (np.abs(before - after).max(axis=1) > 1e-9).sum() == 1


def test_each_record_needs_a_label():
    ball = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0)
    with pytest.raises(ValueError, match="3 records but 2 labels"):
        sf.private_mean([[0.1], [0.2], [0.3]], ball, 1.0, unit=["a", "b"])


@pytest.mark.parametrize(
    ("labels", "n"),
    [
        (["ann", "ann ", "bob", "bob"], 2),  # a space at the end makes no other person
        (["jos\u00e9", "jose\u0301", "bob", "\uff42ob"], 2),  # nor does another way to write the same letters
        (np.array(["a", "b", "b", 7], dtype=object), 3),
        ([1.0, 1.0, 2.0, 3.0], 3),
        (np.array([b"ann", b"ann ", b"bob", b"bob"]), 2),  # as HDF5 and NumPy store text
        (np.array([b"ann", "ann", b"bob", "c"], dtype=object), 3),
        (np.array([1, 1.0, "1", "01"], dtype=object), 1),  # from several files
        (["1", "1.0", "2", "+2"], 2),
        (["A", "A\u200b", "A\x00", "B"], 2),  # what nobody sees
        (np.array([1.1, 1.1, 2, 2], dtype=np.float32), 2),
        ([1.1, float(np.float32(1.1)), "1.10", Decimal("1.1")], 1),
        (np.array(["2020-01-31", "2020-01-31", "2020-02-01", "2020-02-01"], dtype="datetime64[ns]"), 2),
        ([date(2020, 1, 31), datetime(2020, 1, 31), "2020-01-31", np.datetime64("2020-01-31")], 1),
        ([datetime(2020, 1, 31, 9, tzinfo=UTC), "2020-01-31 09:00", "2020-01-31T10:00:00+01:00", "x"], 2),
        ([UUID(int=0xABCDEF << 100), str(UUID(int=0xABCDEF << 100)).upper(), UUID(int=0xABCDEF << 100).hex, "b"], 2),
        (["0.1234567890123456789", 0.1234567890123456789, "0.10000000149011612", 0.10000000149011612], 2),
        (["e\u200b\u0301ric", "\u00e9ric", "b\ufe0f", "b\u2800"], 2),
        (["\u0661\u0662", "12", "\u22125", "-5"], 2),
        (np.array([np.datetime64("2020"), np.datetime64("2020-01-01"), "2020-01-01", "x"], dtype=object), 2),
    ],
)
def test_one_person_has_one_label(labels, n):
    ball = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0)
    assert sf.private_mean([[0.1]] * 4, ball, 1.0, unit=labels, allow_useless=True).record["n"] == n


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "", "b", "b"],
        ["a", "NA", "b", "b"],
        [1.0, np.nan, 2.0, 2.0],
        ["a", None, "b", "b"],
        ["a", " ", "b", "b"],
        ["a", "\u200b", "b", "b"],
        [b"a", b"", b"b", b"b"],
        np.array(["2020-01-01", "NaT", "2020-01-01", "2020-01-01"], dtype="datetime64[D]"),
        np.ma.array([1, 2, 3, 3], mask=[False, True, False, False]),
    ],
)
def test_a_record_without_a_label_is_refused(labels):
    ball, budget = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0), Notebook()
    with pytest.raises(ValueError, match="1 of 4 records have no unit, the first being record 1"):
        sf.private_mean([[0.1]] * 4, ball, 1.0, unit=labels, budget=budget)
    assert budget.charges == []


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([True, True, False, False], "yes or no"),
        ([b"a", b"\xff\xfe", b"c", b"d"], "not UTF-8"),
        ([1.0, 2.0**53, 2**53 + 1, 4.0], "too large to differ from its neighbours"),
        ([1.0, np.inf, 2.0, 3.0], "too large"),
        ([1, 2j, 3, 4], "a complex"),
        (np.array([("a",), [1], {}, 1], dtype=object), "a tuple"),
        (np.array([1, 2, 3, 4], dtype="timedelta64[s]"), "timedelta64"),
        (np.zeros((4, 1)), "4 records but an array of labels of shape"),
        (["a", "Jos\ufffd", "b", "c"], "a letter was lost"),
        (np.array([1, 2, 3, 2**24], dtype=np.float32), "too large"),
        (["9999-12-31 23:59:59-05:00", "b", "c", "d"], "record 0 has the label"),
        ([Fraction(10**400, 3), 1, 2, 3], "record 0 has the label"),
        ([Decimal("1e999999"), 1, 2, 3], "a thousand digits"),
    ],
)
def test_what_names_nobody_is_refused_before_the_charge(labels, reason):
    ball, budget = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0), Notebook()
    with pytest.raises(ValueError, match=reason):
        sf.private_mean([[0.1]] * 4, ball, 1.0, unit=labels, budget=budget)
    assert budget.charges == []


@pytest.mark.parametrize(
    "words", ["subject_id", "subjectID", "SubjectId", "ID", "id", "PTID", "sub.1", "df['subject']", "label", "", "  "]
)
def test_a_column_s_name_is_no_unit(words):
    """The record would name a unit that nothing was grouped by."""
    ball, budget = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0), Notebook()
    for release in (partial(sf.private_mean, epsilon=1.0, region=ball), sf.KNG(ball, 1.0).release):
        with pytest.raises(ValueError, match=r"looks like the name of a column.*unit=data\.labels|say what one"):
            release([[0.1]] * 5, unit=words, budget=budget)
    assert budget.charges == []


@pytest.mark.parametrize(
    "words", ["one record", "one person", "person", "mosquito", "half a month", "half-month", "Person"]
)
def test_words_are_a_unit(words):
    ball = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0)
    assert sf.private_mean([[0.1]] * 50, ball, 1.0, unit=words).guarantee.unit == words


def test_a_data_set_with_repeated_subjects_needs_a_unit():
    labels = {"subject": np.repeat(np.arange(12), 40), "trial": np.tile(np.arange(40), 12), "age": np.full(480, 30)}
    data = Dataset(np.zeros((480, 1)), "vectors", "CSV", labels, Path("trials.csv"))
    ball, budget = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0), Notebook()
    with pytest.raises(
        ValueError, match=r"^the column 'subject' has 12 values for 480 records: if it says whose"
    ) as error:
        sf.private_mean(data, ball, 1.0, budget=budget)
    assert "trial" not in str(error.value)
    assert {Fix("unit_column", "subject"), Fix("unit", "one record")} <= set(error.value.parts)
    for words in ("subject", "SUBJECT", "one subject", "trial"):
        with pytest.raises(ValueError, match=r"unit=data\.labels\["):
            sf.private_mean(data, ball, 1.0, unit=words, budget=budget)
    assert budget.charges == []
    assert sf.private_mean(data, ball, 1.0, unit="one record").record["n"] == 480
    assert sf.private_mean(data, ball, 1.0, unit=labels["subject"]).record["n"] == 12
    alone = Dataset(np.zeros((12, 1)), "vectors", "CSV", {"subject": np.arange(12)}, Path("people.csv"))
    assert sf.private_mean(alone, ball, 1.0).guarantee.unit == "one record"
    assert sf.private_mean(alone, ball, 1.0, unit="one subject").guarantee.unit == "one subject"


def test_a_table_with_a_column_of_people_needs_a_unit():
    arrow = pytest.importorskip("pyarrow")
    ball, budget = sf.Ball(sf.Euclidean(dim=2), [0.0, 0.0], 1.0), Notebook()
    table = arrow.table({"patient_id": [1, 1, 2], "x": [0.1, 0.2, 0.3], "y": [0.1, 0.2, 0.3]})
    for unit in (None, "patient_id", "one patient"):
        with pytest.raises(ValueError, match="patient_id"):
            sf.private_mean(table, ball, 1.0, unit=unit, budget=budget)
    assert budget.charges == []
    assert sf.private_mean(table, ball, 1.0, unit="one record", allow_useless=True).record["n"] == 3


def test_columns_that_say_whose_record_it_is():
    letters = np.array(list("abcdefghijkl"))
    labels = {
        "mouse": np.array(["Anna", "Anna", "Bea"] * 40),  # by its name
        "village": np.tile(letters, 10),  # by how many values it holds, with few records each
        "ind": np.repeat(np.arange(60), 2),  # lizards measured twice
        "spelt": np.array([f"S{i // 2}{' ' * (i % 2)}" for i in range(120)]),
        "bytes": np.array([f"S{i // 2}".encode() for i in range(120)]),
        "padded": np.array([f"{'0' * (i % 2)}{i // 2}" for i in range(120)]),
        "rank": np.arange(120),
        "sex": np.array(["f", "m"] * 60),
        "zone": np.array(["Z1", "Z2", "Z3"] * 40),  # a factor with few levels
        "month": np.repeat(np.arange(10), 12),  # many records each
        "width": np.tile(np.arange(60) / 4, 2),  # a measurement
    }
    assert list(repeated_labels(labels)) == ["mouse", "village", "ind", "spelt", "bytes", "padded"]


def test_a_large_epsilon_is_warned_of_and_a_huge_one_needs_force():
    ball, budget = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0), Notebook()
    for release in (partial(sf.private_mean, region=ball, epsilon=101.0), sf.KNG(ball, 101.0).release):
        with pytest.raises(ValueError, match=r"an epsilon of 101 promises nothing.*force=True"):
            release([[0.1]] * 5, budget=budget)
        assert budget.charges == []
        with pytest.warns(UserWarning, match="an epsilon of 101 promises little"):
            assert release([[0.1]] * 5, force=True).guarantee.epsilon == 101.0
    with pytest.warns(UserWarning, match="an epsilon of 11 promises little"):
        sf.private_mean([[0.1]] * 5, ball, 11.0)
    sf.private_mean([[0.1]] * 5, ball, 10.0)  # in silence, as the tests make an error of every warning
    assert sf.KNG(ball, 1e6).sample([[0.1]] * 5, 3, np.random.default_rng(0)).shape == (3, 1)  # studies may


def test_a_release_is_noted_beside_its_charge(tmp_path, caplog):
    ball, ledger = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0), sf.Ledger.create(tmp_path / "a.ledger", 2)
    for make in (partial(sf.private_mean, region=ball, epsilon=0.5), sf.KNG(ball, 0.5).release):
        release = make([[0.1]] * 50, budget=ledger)
        *_, charge, note = ledger.verify().entries
        assert json.loads(note.record) == {"charge": charge.sequence, "release": release.sha256}
        release.save(tmp_path / "mean.json")
        assert json.loads((tmp_path / "mean.json").read_text())["sha256"] == release.sha256
        assert sf.Release.load(tmp_path / "mean.json").sha256 == release.sha256
    assert not caplog.records


def test_a_paid_release_is_not_lost_when_it_cannot_be_noted(tmp_path, monkeypatch, caplog):
    def full(*_):
        raise sf.LedgerError("the disk is full")

    ball, ledger = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0), sf.Ledger.create(tmp_path / "a.ledger", 2)
    monkeypatch.setattr(sf.Ledger, "complete", full)
    assert sf.private_mean([[0.1]] * 50, ball, 0.5, budget=ledger).value.shape == (1,)
    assert "could not be noted beside its charge: the disk is full" in caplog.text


def test_a_budget_is_charged_once_with_public_numbers_only():
    ball, budget = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0), Notebook()
    release = sf.private_mean([[0.1]] * 50, ball, 0.5, budget=budget)
    [(epsilon, record)] = budget.charges
    assert epsilon == 0.5
    assert "value" not in record
    assert {k: v for k, v in record.items() if k != "unit"} == {
        k: v for k, v in release.record.items() if k != "on_manifold"
    }


def test_bad_records_cost_nothing():
    ball, budget = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0), Notebook()
    with pytest.raises(sf.InvalidPointError):
        sf.private_mean([[np.nan]], ball, 0.5, budget=budget)
    assert budget.charges == []


def test_nothing_is_drawn_when_the_budget_refuses(monkeypatch):
    ball = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0)
    monkeypatch.setattr("sfumato.mechanisms.paying.secure_generator", lambda: pytest.fail("drew without a budget"))
    with pytest.raises(ValueError, match="the budget is spent"):
        sf.private_mean([[0.1]] * 50, ball, 0.5, budget=Notebook(refuse=True))


@pytest.mark.parametrize("kind", ["ball", "ellipsoid"])
def test_how_many_records_others_have_changes_nothing_of_ones_own(kind, rng):
    center, axes = np.zeros(3), np.ones(3)
    region = sf.Ball(Placed(dim=3), center, 1.0) if kind == "ball" else sf.Ellipsoid(Placed(dim=3), center, axes=axes)
    points, units = rng.normal(size=(40, 3)), ["a", *(f"b{i // 3}" for i in range(39))]
    own = reduce_to_units(region, points, number_units(units, 40))[1:]
    found = reduce_to_units(region, np.concatenate([points[:1], points]), number_units(["a", *units], 41))[1:]
    assert found.tobytes() == own.tobytes()
    together = region.admit(points)[1:], region.admit(np.concatenate([points[:1], points]))[2:]
    assert together[0].tobytes() != together[1].tobytes()  # so that the test can see it


def test_a_bad_record_of_a_person_is_named_by_its_row():
    points = np.zeros((6, 1))
    points[[1, 4]] = np.nan
    ball, people = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0), ["b", "b", "a", "a", "b", "c"]
    with pytest.raises(sf.InvalidPointError, match=r"^record 1: holds NaN.*\(1 more are bad: 4\)"):
        sf.private_mean(points, ball, 1.0, unit=people)
    release = sf.private_mean(points, ball, 1.0, unit=people, invalid="center", allow_useless=True)
    assert release.record["n"] == 3


@pytest.mark.parametrize("size", [1.7e308, -1.7e308, 1e300, 5e-324])
@pytest.mark.filterwarnings("error")
def test_no_warning_tells_of_a_persons_records(size):
    """A mean of numbers whose sum overflows was warned of, and a warning is seen by whoever reads a log."""
    points, people = np.full((20, 2), size), np.arange(20) // 2
    for region in (
        sf.Ball(sf.Euclidean(dim=2), [0.0, 0.0], 1.0),
        sf.Ellipsoid(sf.Euclidean(dim=2), [0.0, 0.0], [1.0, 0.5]),
    ):
        assert np.isfinite(sf.private_mean(points, region, 1.0, unit=people, allow_useless=True).value).all()


@pytest.mark.parametrize("height", [18, 22, 28, 34])
def test_nobodys_records_make_a_release_of_people_fail(height, rng):
    """With one record that is so much larger than a person's others their mean was not found, and an error told of it."""
    space, factors = sf.SPD(2), rng.normal(size=(400, 2, 2))
    points = factors @ factors.swapaxes(1, 2) + 0.5 * np.eye(2)
    points[0] = np.diag([10.0**height, 1.0])
    ball = sf.Ball(space, 2 * np.eye(2), radius=80.0)
    assert np.isfinite(reduce_to_units(ball, ball.clip(space.validate(points)), np.arange(400) // 20)).all()


def test_a_person_whose_records_are_as_far_as_numbers_go_has_a_mean():
    """The sum of such records overflowed, and a warning told of it."""
    region = sf.Ellipsoid(sf.Euclidean(dim=2), np.zeros(2), axes=np.ones(2))
    for sign in (1, -1):
        points = np.array([[1.7e308, 0.1], [sign * 1.7e308, 0.3], [0.2, 0.2]])
        found = reduce_to_units(region, points, np.array([0, 0, 1]))
        assert np.isfinite(found).all()
        assert np.allclose(found[:, 1], 0.2)
        assert (found[0, 0] == 0) == (sign == -1)
