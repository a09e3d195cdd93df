"""Groups, sizes and variances: who is in which group, what is charged and when, and what the chart's coordinates are."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.files import Dataset
from sfumato.release.population import chart_coordinates, released_coordinates

PLANE = sf.Ball(sf.Euclidean(dim=2), [0.0, 0.0], 1.0)


class Budget:
    def __init__(self, left=np.inf):
        self.charged, self.left = [], left

    def charge(self, facts, record):
        if facts.epsilon > self.left:
            raise sf.BudgetExceeded("nothing is left")
        self.charged.append(facts.epsilon)


@pytest.fixture
def landmarks(rng):
    return rng.normal(size=(200, 6, 2))


@pytest.mark.parametrize(
    ("first", "second"), [("A", "A "), ("A", " A"), ("Zoe\u0308", "Zo\u00eb"), ("1", 1), ("\uff21", "A")]
)
def test_a_unit_in_two_groups_is_refused_however_it_is_spelt(first, second, rng):
    """As units are told apart where their records become one: else one person would be in two releases for the price of one."""
    budget, groups = Budget(), np.repeat(["f", "m"], 60)
    units = np.array([first, *range(100, 159), second, *range(300, 359)], dtype=object)
    with pytest.raises(sf.Refusal, match="a unit has records in two groups"):
        sf.compare_groups(rng.normal(size=(120, 2)) / 5, groups, PLANE, 2.0, unit=units, budget=budget)
    assert not budget.charged
    units[60] = "another"
    assert (
        sf.compare_groups(rng.normal(size=(120, 2)) / 5, groups, PLANE, 2.0, unit=units, budget=budget).groups["f"].n
        == 60
    )
    assert budget.charged == [2.0]


@pytest.mark.parametrize("missing", [None, np.nan, "", "NA"])
def test_a_record_without_a_group_is_no_group_of_its_own(missing, rng):
    labels = np.array(["f", "m"] * 60, dtype=object)
    labels[5:9] = missing
    with pytest.raises(ValueError, match=r"4 of 120 records have no group, the first being record 5"):
        sf.compare_groups(rng.normal(size=(120, 2)) / 5, labels, PLANE, 2.0)


def test_groups_are_charged_once_before_any_draw_and_not_if_that_is_refused(rng, monkeypatch):
    points, labels, drawn = rng.normal(size=(120, 2)) / 5, np.array(["f", "m"] * 60), []
    from sfumato.mechanisms.stages import Composition

    run, budget = Composition.run, Budget()
    monkeypatch.setattr(Composition, "run", lambda self, *rest: drawn.append([*budget.charged]) or run(self, *rest))
    sf.compare_groups(points, labels, PLANE, 2.0, budget=budget)
    assert drawn == [[2.0], [2.0]]
    with pytest.raises(sf.BudgetExceeded):
        sf.compare_groups(points, labels, PLANE, 2.0, budget=Budget(left=1.0))
    assert len(drawn) == 2


@pytest.mark.parametrize("share", [-0.5, 0.9, 1e-17, np.nan, "a"])
def test_no_share_of_epsilon_can_make_the_rest_larger_than_the_whole(share, landmarks, rng):
    points, budget = rng.normal(size=(120, 2)) / 5, Budget()
    mean = sf.private_mean(points, PLANE, 4.0)
    for ask in (
        lambda: sf.private_size(landmarks, 1.0, 9.0, 1.0, inference=share, budget=budget),
        lambda: sf.private_variance(points, mean, 1.0, inference=share, budget=budget),
        lambda: sf.compare_groups(points, ["f", "m"] * 60, PLANE, 2.0, inference=share, budget=budget),
    ):
        with pytest.raises(ValueError, match="inference must be a share of epsilon"):
            ask()
    assert not budget.charged


def test_what_sizes_cannot_be_released_for_is_said_before_the_charge(landmarks):
    budget = Budget()
    for largest, records, words in (
        (1e60, landmarks, "between 1e-100 and 1e100"),
        (9.0, landmarks[:0], "at least one record"),
    ):
        with pytest.raises(ValueError, match=words):
            sf.private_size(records, 1.0, largest, 1.0, budget=budget)
    assert not budget.charged
    none = sf.private_size(landmarks, 1.0, 9.0, 1.0, inference=0.0, budget=budget)
    assert none.mean.spread is None
    assert budget.charged == [1.0]


def test_sizes_of_people_with_several_records_ask_whom_to_protect(landmarks):
    subjects = np.repeat(np.arange(50), 4)
    data = Dataset(landmarks, labels={"subject": subjects}, kind="landmarks", format="test", path=Path("test"))
    with pytest.raises(ValueError, match="protecting one record does not protect a person"):
        sf.private_size(data, 1.0, 9.0, 1.0)
    with pytest.raises(ValueError, match="is the name of a column"):
        sf.private_size(data, 1.0, 9.0, 1.0, unit="subject")
    found = sf.private_size(data, 1.0, 9.0, 1.0, unit=subjects)
    assert found.mean.n == found.variance.n == 50


def test_one_person_moves_the_sum_of_sizes_by_one_unit_at_most(landmarks):
    """However many records one has, and however large they are."""
    from sfumato.findings.scalar import centroid_size
    from sfumato.mechanisms.base import gather
    from sfumato.mechanisms.tangent import BITS, whole_sums

    ball, units = sf.Ball(sf.Euclidean(dim=1), [5.0], 4.0), np.repeat(np.arange(50), 4)
    sums = []
    for factor in (1.0, 1e-9, 1e9):
        changed = landmarks.copy()
        changed[units == 7] *= factor
        records, _ = gather(ball, centroid_size(changed)[:, None], units, "one person", "raise", workers=1)
        sums.append(int(records.reduce(lambda points, _: whole_sums(ball.as_chart().chart_blocks, points, None))[0]))
    assert 1.9 * 2**BITS < max(sums) - min(sums) <= 2 * 2**BITS


def test_coordinates_of_a_draw_beyond_the_cut_locus_are_its_own(rng):
    """Of rotations near a half turn about a public axis: the point that is drawn is often the other way round."""
    space = sf.Rotations()
    ball = sf.Ball(space, np.zeros(3), 3.14)
    tangents = np.zeros((200, 3))
    tangents[:, 0] = 3.05 + 0.05 * rng.uniform(-1, 1, size=200)
    points, labels = (
        space.present(space.exp(ball.center, space.from_coordinates(ball.center, tangents))),
        ["a", "b"] * 100,
    )
    torn = 0
    for _ in range(60):
        found = sf.compare_groups(points, labels, ball, 1.0, allow_useless=True)
        was = torn
        for release in found.groups.values():
            w = released_coordinates(release)
            assert np.linalg.norm(w - np.array([3.05 / 3.14, 0, 0])) < 30 * release.calibration.sigma
            torn += bool(np.linalg.norm(w - chart_coordinates(release, release.raw[None])[0]) > 1)
            assert released_coordinates(sf.Release.from_json(release.to_json())).tolist() == w.tolist()
        if torn == was + 1 < 3:  # one of the two: their points are far apart, and what was drawn is not
            assert found.difference().length < 60 * found.groups["a"].calibration.sigma < 1.5
    assert torn > 2


def test_a_record_with_other_coordinates_than_axes_is_refused(rng):
    release = sf.private_mean(rng.normal(size=(120, 2)) / 5, PLANE, 2.0, "tangent", inference=0.1)
    for wrong in ([1.0], [1.0, "a"], [1.0, 2.0, 3.0]):
        changed = replace(release, chart=replace(release.chart, point=wrong))
        with pytest.raises(ValueError, match="one number for each axis"):
            sf.Release.from_json(changed.to_json())


def test_a_ledger_knows_what_every_charge_paid_for(tmp_path, landmarks, rng):
    points = rng.normal(size=(120, 2)) / 5
    ledger = sf.Ledger.create(tmp_path / "study.ledger", epsilon=20)
    ball = sf.find_region(points, PLANE, 1.0, budget=ledger)
    mean = sf.private_mean(points, ball, 1.0, "tangent", budget=ledger, allow_useless=True)
    made = [
        ball,
        mean,
        sf.private_radius(points, PLANE, 1.0, budget=ledger),
        sf.private_size(landmarks, np.float64(1), np.float64(9), 1.0, budget=ledger),
        sf.private_variance(points, mean, 1.0, budget=ledger),
        sf.compare_groups(points, ["f", "m"] * 60, PLANE, 1.0, budget=ledger),
    ]
    entries = ledger.verify().entries
    noted = [json.loads(entry.record)["release"] for entry in entries if entry.kind == "release"]
    assert noted == [each.sha256 for each in made]
    charges = [json.loads(entry.record) for entry in entries if entry.kind == "charge"]
    assert [charge["n"] for charge in charges] == [120, 120, 120, 200, 120, 120]
    assert float(ledger.left) == 14
    assert made[3].sha256 != made[3]._replace(mean=mean).sha256
