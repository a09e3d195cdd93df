"""Nothing fails after the charge, whatever the noise makes of the value: zero, or far beyond the region."""

import json
from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato import findings
from sfumato.mechanisms.inference import Spread
from sfumato.mechanisms.tangent import TangentKNorm

BALL = sf.Ball(sf.Euclidean(dim=2), [0.0, 0.0], 1.0)
CHART = sf.Ellipsoid(sf.Sphere(dim=2), [0.0, 0.0, 1.0], [0.5, 0.2])
MATRICES = sf.Ball(sf.SPD(size=2), np.eye(2), 2.0)
WIDE = sf.Ball(sf.Euclidean(dim=5), np.zeros(5), 1.0)  # whose second moment has the noise of two Wishart matrices
REGIONS = [BALL, CHART, MATRICES, WIDE, sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0)]
N = 24


def records(region):
    rng = np.random.default_rng(0)
    return region.space.present(region.space.random_points(region.center, 0.3, N, rng))


def mean(points, region, budget):
    return sf.private_mean(points, region, 1.0, "tangent", inference=0.1, budget=budget, allow_useless=True)


def variance(points, region, budget):
    return sf.private_variance(points, mean(points, region, None), 1.0, budget=budget)


def components(points, region, budget):
    return sf.private_components(points, region, 1.0, components=1, budget=budget, allow_useless=True)


def groups(points, region, budget):
    return sf.compare_groups(points, ["f", "m"] * (N // 2), region, 1.0, budget=budget, allow_useless=True)


def regression(points, region, budget):
    how = {"limits": (0.0, 1.0), "budget": budget, "allow_useless": True}
    return sf.private_regression(points, np.linspace(0, 1, N), region, 1.0, **how)


def regressions(points, region, budget):
    how = {"limits": (0.0, 1.0), "by": ["f", "m"] * (N // 2), "budget": budget, "allow_useless": True}
    return sf.private_regression(points, np.linspace(0, 1, N), region, 1.0, **how)


def factors(points, region, budget):
    sex, place = ["f", "m"] * (N // 2), np.arange(N) // 2 % 3
    return sf.compare_groups(points, sex, region, 1.0, within=place, budget=budget, allow_useless=True)


def one_class_each(points, region, budget):
    model = sf.PrivateMDM(region=region, epsilon=1.0, budget=budget, allow_useless=True)
    return model.fit(points, np.arange(N) % 3).release_


def size(points, region, budget):
    shapes = np.random.default_rng(0).normal(size=(N, 5, 2))
    return sf.private_size(shapes, 1.0, 5.0, 1.0, budget=budget).mean


@pytest.fixture(params=[0.0, -1e6, 1e12], ids=lambda far: f"noise {far:g}")
def forced(request, monkeypatch):
    """Every release is this far along each axis, and so is every spread."""
    far = request.param
    monkeypatch.setattr(TangentKNorm, "lattice_point", lambda plan, mean, rng: np.full(len(mean), far * plan.spacing))
    monkeypatch.setattr(Spread, "second_moment", lambda *_: far)
    monkeypatch.setattr(findings.regression, "noisy_mean", lambda *_: far)


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: f"{type(region).__name__} of {region.space}")
@pytest.mark.parametrize(
    "release", [mean, variance, components, groups, factors, regression, regressions, one_class_each, size]
)
@pytest.mark.filterwarnings("error")
def test_any_outcome_is_released_said_and_saved(release, region, forced, tmp_path):
    ledger = sf.Ledger.create(tmp_path / "study.ledger", epsilon=10)
    found = release(records(region), region, ledger)
    assert ledger.left == 9
    assert ledger.verify().entries[-1].kind == "release"
    found.save(tmp_path / "found.json")
    assert "NaN" not in (tmp_path / "found.json").read_text()
    if hasattr(found, "describe"):
        assert found.describe()
    if release in (regression, regressions):
        assert found.plot().axes
    if hasattr(found, "means"):
        assert np.isfinite(found.means).all()
    if getattr(found, "spread", None) is not None:
        assert found.region(0.95).radius >= 0


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: f"{type(region).__name__} of {region.space}")
@pytest.mark.filterwarnings("error")
def test_any_outcomes_are_combined_and_shown(region, forced, tmp_path):
    points = records(region)
    found = sf.combine([mean(points, region, None), mean(points[1:], region, None)], "apart")
    assert found.describe()
    assert found.region(0.95).radius >= 0
    assert np.isfinite(found.value).all()
    found.save(tmp_path / "found.json")
    assert sf.Release.load(tmp_path / "found.json").sha256 == found.sha256


@pytest.mark.parametrize("kinds", [np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"), ["a", "\ud800"]])
def test_classes_that_no_record_can_hold_are_refused_before_the_charge(kinds, tmp_path):
    ledger = sf.Ledger.create(tmp_path / "study.ledger", epsilon=10)
    model = sf.PrivateMDM(region=BALL, epsilon=1.0, budget=ledger, allow_useless=True)
    with pytest.raises(ValueError, match="classes must be text or whole numbers"):
        model.fit(np.zeros((40, 2)), np.tile(kinds, 20))
    assert ledger.left == 10


def test_a_space_whose_exp_fails_at_what_was_released_gives_the_centre(monkeypatch):
    class Torn(sf.Euclidean):
        """Has no points but those that its records are."""

        def exp(self, base, vectors):
            if np.ndim(vectors) == 1 and np.any(vectors):
                raise ArithmeticError("there is nothing")
            return super().exp(base, vectors)

    region = sf.Ball(Torn(dim=2), [0.0, 0.0], 1.0)
    found = sf.PrivateMDM(region=region, epsilon=1.0, allow_useless=True).fit(np.ones((40, 2)), np.arange(40) % 2)
    assert np.array_equal(found.covmeans_, np.zeros((2, 2)))
    assert json.loads(found.release_.to_json())["classes"] == [0, 1]


def test_what_is_no_budget_is_refused_in_words():
    with pytest.raises(TypeError, match=r"budget must be a ledger, as sfumato\.Ledger"):
        sf.private_mean(np.zeros((500, 2)), BALL, 1.0, budget="study.ledger")


def test_a_mean_of_people_is_not_followed_by_a_variance_of_records():
    points, people = np.zeros((600, 2)), np.arange(600) // 3
    released = sf.private_mean(points, BALL, 1.0, unit=people)
    for follow in (sf.private_variance, sf.private_components):
        with pytest.raises(ValueError, match="the mean is of 200 units, and these are 600 records"):
            follow(points, released, 1.0)
    assert sf.private_variance(points, released, 1.0, unit=people).n == 200
    shown = replace(released, guarantee=replace(released.guarantee, private=False))
    for mean, private in ((released, True), (shown, False)):  # what is about a mean is no more private than that
        assert sf.private_variance(points, mean, 1.0, unit=people).guarantee.private is private
        assert sf.private_components(points, mean, 1.0, unit=people).release.guarantee.private is private
    with pytest.raises(TypeError, match="is a released mean, not"):
        sf.private_variance(points, [0.0, 0.0], 1.0)
