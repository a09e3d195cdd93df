"""Groups compared: the level and power of the test, what is charged, and what is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from benchmarks import findings as study
from conftest import cloud
from sfumato.findings.groups import Comparison
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
    assert "These are 3 tests" in text
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
