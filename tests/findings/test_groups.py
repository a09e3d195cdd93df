"""Groups compared: the level and power of the test, what is charged, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from benchmarks import findings as study
from conftest import cloud
from sfumato.files import Dataset
from sfumato.findings.groups import Comparison, holm
from sfumato.laws.calibration.population import omnibus
from sfumato.release.population import chart_variance

PLANE, SPHERE = sf.Euclidean(dim=2), sf.Sphere(dim=2)
UNIT = sf.Ball(PLANE, [0.0, 0.0], 1.0)


def two_groups(rng, n=400, apart=0.6):
    labels = np.repeat(["f", "m"], n)
    return rng.normal(0, 0.2, (2 * n, 2)) + np.where(labels == "f", apart / 2, -apart / 2)[:, None] * [1, 0], labels


@pytest.fixture(scope="module")
def compared():
    points, labels = two_groups(np.random.default_rng(1))
    return sf.compare_groups(points, labels, UNIT, 1.0)


# -- level and power ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("place", "n", "epsilon"), [("S²", 1000, 4.0), ("S²", 50, 1.0)])
def test_equal_means_are_rejected_seldom_and_different_ones_often(place, n, epsilon, rng):
    """2,000 seeded studies; a test that forgets the sampling error is far above its level where that error counts."""
    plan = study.plan_of(place, n, epsilon)
    same, moved = (study.rows_of(plan.chart.chart, "on a line", shift) for shift in (0.0, 0.45))
    margin = 5 * np.sqrt(0.05 * 0.95 / 2000)
    assert study.rejected(plan, same, same, 2000, rng).mean() < 0.05 + margin
    if n == 1000:
        assert study.rejected(plan, same, moved, 200, rng).mean() > 0.9
        (a, v), (b, _) = (study.released(plan, same, 2000, rng) for _ in range(2))
        forgetful = np.linalg.norm(a - b, axis=1) > study.quantiles(plan, 0 * v, 2)
        assert forgetful.mean() > 0.05 + 2 * margin


def test_the_study_and_the_comparison_are_the_same_test(compared):
    """The radius of one real comparison by the study's table; and that of the region of one group."""
    a, b = compared.groups.values()
    plan = sf.mechanisms.choose(UNIT, 400, 1.0, "tangent", inference=0.1)
    bounds = [chart_variance(release, 0.95) for release in (a, b)]
    radius = study.quantiles(plan, np.array(sum(bounds) / 400), 2)
    assert compared.difference().chart_radius == pytest.approx(float(radius), rel=1e-3)
    alone = study.quantiles(plan, np.array(bounds[0] / 400), 1)
    assert a.region(0.95).chart_radius == pytest.approx(float(alone), rel=1e-3)


def test_a_difference_says_how_far_and_how_likely(compared):
    """Means 0.6 apart: noise of 0.2 in one of the groups has a chance below 1e-6."""
    found = compared.difference()
    assert (found.first, found.second, found.level) == ("f", "m", 0.95)
    assert abs(found.length - 0.6) < 0.45
    assert found.differs
    assert found.p_value < 0.05
    assert found.words.startswith("The means of f and m differ (p ")
    assert found.chart_radius < compared.difference(level=0.99).chart_radius
    back = compared.difference("m", "f")
    assert (back.length, back.chart_radius) == (found.length, found.chart_radius)
    with pytest.raises(ValueError, match=r"level from 0\.85"):
        compared.difference(level=0.5)
    with pytest.raises(ValueError, match="there is no group 'x'; the groups are f, m"):
        compared.difference("x")


def test_verdict_and_p_value_agree(compared):
    for shift in (0.0, 0.02, 0.1, 0.6):
        groups = dict(compared.groups)
        chart = groups["f"].chart
        groups["m"] = replace(groups["f"], chart=replace(chart, point=[chart.point[0] + shift, chart.point[1]]))
        found = Comparison(epsilon=1.0, groups=groups).difference()
        assert found.differs == (found.p_value < 0.05)
        assert found.length == pytest.approx(shift, abs=1e-9)


# -- many groups --------------------------------------------------------------------------------------------------------
def test_many_groups_of_one_population_seldom_differ(rng):
    """Of 15 groups, 105 pairs: 600 seeded studies, where pairs reject at nearly 5% each; uncorrected ones nearly always do."""
    plan = study.plan_of("SPD(3)", 200, 0.5)
    rows = [study.rows_of(plan.chart.chart, "isotropic")] * study.MANY
    margin = 5 * np.sqrt(0.055 * 0.945 / 600)
    pairs, every = study.of_many(plan, rows, 600, rng)
    assert pairs.mean() < 0.055 + margin
    assert every.mean() < 0.055 + margin
    uncorrected, _ = study.of_many(plan, rows, 60, rng, tests=1)
    assert uncorrected.mean() > 0.055 + 2 * margin


def test_many_groups_of_which_one_is_another_differ_and_a_test_without_sampling_errors_rejects_all(rng):
    plan = study.plan_of("S²", 1000, 4.0)
    same, moved = (study.rows_of(plan.chart.chart, "on a line", shift) for shift in (0.0, 0.2))
    for found in study.of_many(plan, [same] * 5 + [moved], 60, rng):
        assert found.mean() > 0.9
    (w, _), sigma = study.released(plan, same, 15 * 60, rng), plan.chart.scale.sigma
    known = (np.full(15, sigma), np.zeros(15), np.zeros(15))
    forgetful = [omnibus(each, *known) <= 0.05 for each in w.reshape(60, 15, 2)]
    assert np.mean(forgetful) > 0.5


@pytest.fixture(scope="module")
def sites():
    """Six sites of very unequal sizes, of which the last is another."""
    rng = np.random.default_rng(3)
    labels = np.repeat([f"site {i}" for i in range(6)], [40, 4000, 60, 300, 900, 500])
    points = rng.normal(0, 0.15, (len(labels), 2)) + np.where(labels == "site 5", 0.5, 0.0)[:, None]
    return points, labels


def test_the_correction_is_that_of_holm(sites):
    found = sf.compare_groups(*sites, UNIT, 2.0)
    raw = [one.p_value for one in found.differences]
    assert raw == sorted(raw)
    assert len(raw) == found.differences[0].tests == 15
    worst = 0.0
    for k, one in enumerate(found.differences):  # by hand: the smallest times 15, the next times 14, …
        worst = max(worst, one.p_value * (15 - k))
        assert one.adjusted == pytest.approx(min(1.0, worst))
        assert one.differs == (one.adjusted <= 0.05)
        assert one.p_value == pytest.approx(_alone(found, one.first, one.second), rel=1e-9)
    assert found.difference("site 1", "site 5").differs
    assert found.omnibus < 0.001
    assert holm([0.04, 0.001, 0.03]) == pytest.approx([0.06, 0.003, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]


def _alone(found, first, second):
    both = {name: found.groups[name] for name in (first, second)}
    return Comparison(epsilon=2.0, groups=both).difference().p_value


def test_regions_of_pairs_hold_for_all_of_them_at_once(sites):
    found = sf.compare_groups(*sites, UNIT, 2.0)
    pair = Comparison(epsilon=2.0, groups={name: found.groups[name] for name in ("site 1", "site 5")})
    assert found.difference("site 1", "site 5").chart_radius > 1.2 * pair.difference().chart_radius
    assert found.difference("site 1", "site 5", 0.99).chart_radius > found.difference("site 1", "site 5").chart_radius


def test_p_values_do_not_depend_on_the_order_of_groups(sites):
    found = sf.compare_groups(*sites, UNIT, 2.0)
    back = Comparison(epsilon=2.0, groups=dict(reversed(found.groups.items())))
    assert back.omnibus == pytest.approx(found.omnibus, rel=1e-6)
    for one in found.differences:
        other = back.difference(one.second, one.first)
        assert (other.p_value, other.adjusted) == pytest.approx((one.p_value, one.adjusted), rel=1e-9)


def test_records_that_coincide_and_labels_of_any_kind_are_compared():
    labels = np.array(["ä b", "\uff21", "<b>&", "0"] * 50)
    found = sf.compare_groups(np.zeros((200, 2)), labels, UNIT, 4.0)
    assert [*found.groups] == ["0", "<b>&", "A", "ä b"]
    assert 0 < found.omnibus <= 1
    assert "ä b" in found.describe()
    with pytest.raises(ValueError, match="50 of 200 records have no group"):
        sf.compare_groups(np.zeros((200, 2)), np.array(["", " a", "a ", "b"] * 50), UNIT, 4.0, budget=Never())
    assert [*sf.compare_groups(np.zeros((200, 2)), [" a", "a ", "b", "c"] * 50, UNIT, 4.0).groups] == ["a", "b", "c"]


# -- two factors --------------------------------------------------------------------------------------------------------
def test_two_factors_are_groups_of_combinations_tested_within_the_second(rng):
    sex, place = rng.choice(["f", "m"], 1200), rng.choice(["A", "B", "C"], 1200, p=[0.5, 0.3, 0.2])
    points = rng.normal(0, 0.1, (1200, 2))
    points[(sex == "m") & (place == "B")] += [0.6, 0.0]
    sex[place == "C"] = "f"  # one combination does not occur
    charged = []

    class Budget:
        def charge(self, facts, record):
            charged.append((facts.epsilon, record["groups"]))

    found = sf.compare_groups(points, sex, UNIT, 1.0, within=place, budget=Budget())
    assert [*found.groups] == ["f in A", "f in B", "f in C", "m in A", "m in B"]
    assert charged == [(1.0, {name: release.n for name, release in found.groups.items()})]
    assert {release.guarantee.epsilon for release in found.groups.values()} == {1.0}
    assert sorted(found.pairs) == [("f in A", "m in A"), ("f in B", "m in B")]
    assert [one.tests for one in found.differences] == [2, 2]
    assert found.difference().first == "f in A"
    assert found.difference("f in B", "m in B").differs
    across = found.difference("m in B", "f in A")
    assert across.tests == 1  # a test by itself, as it is none of the pairs
    assert across.adjusted == across.p_value
    assert "f in B and m in B differ (p " in found.describe()
    again = Comparison.from_json(found.to_json())
    assert again.pairs == found.pairs
    assert again.cells == {name: name.split(" in ") for name in found.groups}
    assert again.sha256 == found.sha256
    assert "cells" not in sf.compare_groups(points, sex, UNIT, 1.0).to_dict()


def test_factors_may_be_labels_beside_the_points(rng):
    labels = {"sex": np.array(["f", "m"] * 60), "site": np.repeat(["A", "B"], 60), "subject": np.arange(120)}
    data = Dataset(rng.normal(0, 0.1, (120, 2)), labels=labels, kind="vectors", format="test", path=Path("test"))
    found = sf.compare_groups(data, "sex", UNIT, 4.0, within="site", unit=labels["subject"])
    assert {name: release.n for name, release in found.groups.items()} == dict.fromkeys(found.groups, 30)
    with pytest.raises(ValueError, match="there is no label 'age' beside the points; there are: site, subject"):
        sf.compare_groups(data, "sex", UNIT, 4.0, within="age")


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (["f", "m"] * 10, ["A"] * 20, "all labels are 'A'"),
        (["f", "m"] * 10, ["A", "B"] * 10, "none have the second in common"),
        (["a in b", "a", "c", "c"] * 5, ["c", "b in c", "c", "d"] * 5, "two combinations of labels are written alike"),
        (["f", "m"] * 10, ["A", "A"] * 9 + ["A", "B"], "the group 'm in B' has 1 unit"),
        (["f", "m"] * 10, ["A", "A"] * 9 + ["A", ""], "1 of 20 records have no group"),
        (["f", "m"] * 10, ["A"] * 19, "20 records need as many labels"),
    ],
)
def test_factors_that_make_no_groups_are_refused(first, second, words, rng):
    with pytest.raises(ValueError, match=words):
        sf.compare_groups(rng.normal(size=(20, 2)), first, UNIT, 4.0, within=second, budget=Never())


def test_a_unit_in_two_combinations_is_refused(rng):
    sex, place, people = ["f", "m"] * 20, ["A"] * 20 + ["B"] * 20, np.arange(40)
    people[22] = 0  # of the same sex, at another site
    with pytest.raises(sf.Refusal, match="a unit has records in two groups"):
        sf.compare_groups(rng.normal(size=(40, 2)), sex, UNIT, 4.0, within=place, unit=people, budget=Never())


# -- the price ----------------------------------------------------------------------------------------------------------
def test_all_groups_are_charged_as_one_and_each_has_its_own_noise(rng):
    charged = []

    class Budget:
        def charge(self, facts, record):
            charged.append((facts.epsilon, record["statistic"], record["groups"], record["n"]))

    points, labels = two_groups(rng, 100)
    labels[:40] = "x"
    found = sf.compare_groups(points, labels, UNIT, 0.8, budget=Budget())
    assert charged == [(0.8, "means of groups in one chart", {"f": 60, "m": 100, "x": 40}, 200)]
    assert found.epsilon == 0.8
    for name, release in found.groups.items():
        n = {"f": 60, "m": 100, "x": 40}[name]
        assert release.n == n
        assert release.guarantee.epsilon == 0.8
        assert release.calibration.sigma == pytest.approx(2 / (n * 0.8 * 0.9))
        assert release.spread.scale == pytest.approx(1 / (n * 0.8 * 0.1))
        assert release.guarantee.neighbours == (
            "data sets in which one unit's value differs and its group is the same; the groups of all units and so the sizes "
            "of the groups are public"
        )


def test_many_groups_are_compared_in_one_chart(rng):
    space = sf.PlanarShapes(landmarks=6)
    points = space.present(cloud(space, space.origin(), 0.1, 240, rng))
    sketch = sf.Ellipsoid.from_sample(space, points[:40], modes=2)
    found = sf.compare_groups(points, np.arange(240) % 3, sketch, 2.0)
    assert [*found.groups] == ["0", "1", "2"]
    assert len({json.dumps([release.chart.axes, release.ball.center]) for release in found.groups.values()}) == 1
    assert len(found.differences) == 3
    text = found.describe()
    assert "p-values of all 3 pairs are corrected for their number (Holm)" in text
    assert "0 (80), 1 (80), 2 (80), whose groups and sizes are public; ε = 2 in all" in text


# -- what is refused ----------------------------------------------------------------------------------------------------
class Never:
    def charge(self, facts, record):
        raise AssertionError("charged for a comparison that is refused")


def test_private_labels_and_people_in_two_groups_are_refused(rng):
    points, labels = two_groups(rng, 20)
    with pytest.raises(sf.Refusal, match="the group of every person must be public"):
        sf.compare_groups(points, labels, UNIT, 1.0, public_labels=False, budget=Never())
    people = np.arange(40) // 2
    assert sf.compare_groups(points, labels, UNIT, 1.0, unit=people, allow_useless=True).groups["f"].n == 10
    people[-1] = 0
    with pytest.raises(sf.Refusal, match="a unit has records in two groups"):
        sf.compare_groups(points, labels, UNIT, 1.0, unit=people, budget=Never())


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["a"] * 10, "all labels are 'a'"),
        (["a"] * 9 + ["b"], "the group 'b' has 1 unit"),
        (["a", "b"], "10 records need as many labels"),
        ("sex", "there is no label 'sex' beside the points"),
    ],
)
def test_labels_that_make_no_groups_are_refused(labels, words, rng):
    with pytest.raises(ValueError, match=words):
        sf.compare_groups(rng.normal(size=(10, 2)), labels, UNIT, 1.0, budget=Never())


def test_a_useless_comparison_is_refused_before_it_is_charged(rng):
    points, labels = two_groups(rng, 4)
    with pytest.raises(sf.Refusal, match="this release would be useless"):
        sf.compare_groups(points, labels, UNIT, 0.1, budget=Never())
    assert len(sf.compare_groups(points, labels, UNIT, 0.1, allow_useless=True).groups) == 2


# -- files --------------------------------------------------------------------------------------------------------------
def test_a_comparison_is_saved_and_an_altered_one_is_not_read(compared, tmp_path):
    path = tmp_path / "groups.json"
    compared.save(path)
    again = Comparison.load(path)
    assert again.to_json() == compared.to_json()
    assert again.difference().chart_radius == compared.difference().chart_radius
    document = json.loads(path.read_text())
    document["groups"]["f"]["n"] += 1
    path.write_text(json.dumps(document))
    with pytest.raises(sf.RecordError, match="altered since it was saved"):
        Comparison.load(path)
    for text in ("{}", "[]", "nothing", json.dumps({"format": "sfumato comparison 1", "groups": {"f": {}}})):
        path.write_text(text)
        with pytest.raises(sf.RecordError, match="is not a "):
            Comparison.load(path)


def test_a_comparison_is_drawn(compared, tmp_path):
    compared.plot(tmp_path / "groups.png")
    assert (tmp_path / "groups.png").stat().st_size > 1000
