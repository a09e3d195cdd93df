"""What a record says is there as values, of files that earlier versions wrote too."""

import json
from dataclasses import replace

import pytest

import sfumato as sf
from release.e5d94c3.make_records import HERE
from sfumato.release.record import BallOf
from sfumato.release.terms import SIZE, VARIANCE, Kind, Neighbours, Purpose, ScalarStatistic

SHARES = {
    "kng": {},
    "inference": {Purpose.SPREAD: 0.1},
    "look-does-not-fit": {Purpose.LOOK: 0.1},
    "look-fits-inference": {Purpose.LOOK: 0.09, Purpose.SPREAD: 0.1},
    "two-steps": {Purpose.FIRST: 0.25},
    "two-steps-inference": {Purpose.FIRST: 0.2, Purpose.SPREAD: 0.2},
    "prior": {Purpose.CENTER: 0.1, Purpose.RADIUS: 0.15},
    "prior-radius": {Purpose.RADIUS: 0.15},
}


def old(name):
    return sf.Release.load(HERE / f"{name}.json")


@pytest.mark.parametrize("name", SHARES)
def test_the_shares_of_epsilon_are_numbers(name):
    release = old(name)
    assert release.shares == pytest.approx(SHARES[name])
    stated = replace(release, spent={"look": 0.3})
    assert stated.shares == {Purpose.LOOK: 0.3}
    assert sf.Release.from_json(stated.to_json()).shares == {"look": 0.3}


@pytest.mark.parametrize(
    ("name", "kind"),
    [("kng", Kind.MEAN), ("tangent", Kind.MEAN), ("own-objective", Kind.OBJECTIVE), ("size-variance", Kind.SCALAR)],
)
def test_the_kind_of_a_value(name, kind):
    assert old(name).kind is kind


def test_one_number_says_what_it_is_about():
    variance = old("variance").scalar
    assert (variance.each, variance.low) == (VARIANCE.each, 0.0)
    assert variance.reach**2 == pytest.approx(variance.high)
    assert old("size").scalar == SIZE.within(old("size").ball)
    assert old("kng").scalar is None
    assert "scalar" not in old("variance").record


def test_a_statistic_of_one_s_own_stands_in_the_file():
    own = ScalarStatistic("mean age", each="ages", mean="the mean age").within(BallOf([50.0], 50.0))
    release = replace(old("size"), statistic="mean age", scalar=own)
    again = sf.Release.from_json(release.to_json())
    assert again.scalar == own
    assert again.kind is Kind.SCALAR
    document = json.loads(release.to_json())
    document["scalar"]["low"] = "nothing"
    with pytest.raises(sf.RecordError, match="low: expected a finite number"):
        sf.Release.from_json(json.dumps(document))


def test_groups_and_balls_found_privately():
    groups = sf.Comparison.load(HERE / "comparison.json").groups.values()
    assert all(release.guarantee.grouped for release in groups)
    assert not old("kng").guarantee.grouped
    assert old("kng").guarantee.neighbours == Neighbours.UNITS
    assert [old(name).found_privately for name in ("kng", "prior", "found-ball-chart")] == [False, True, True]
