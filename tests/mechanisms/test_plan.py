"""A plan holds every public number of a release, each computed once, and sees no data."""

import sys
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from conftest import cloud
from sfumato.laws.calibration import certificate, scale
from sfumato.mechanisms import MECHANISMS, choose, plans
from sfumato.records import Records

SPHERE = sf.Sphere(dim=2)


def directions(n, rng):
    return SPHERE.present(cloud(SPHERE, SPHERE.origin(), 0.2, n, rng))


def counted(monkeypatch, owner, name):
    calls, function = [], getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *a, **o: (calls.append(name), function(*a, **o))[1])
    return calls


def test_one_release_calibrates_once(monkeypatch, rng):
    """Whatever a release asks of its plan: the scale, the lattice, the batch, the losses and six errors."""
    points, ball = directions(60, rng), sf.Ball(SPHERE, SPHERE.origin(), 0.3123)
    noise, proofs = counted(monkeypatch, sf.KNG, "noise"), counted(monkeypatch, scale, "certify")
    sf.private_mean(points, ball, 0.9, "kng").describe()
    assert len(noise) == len(proofs) == 1
    sf.private_mean(points, ball, 0.9)  # with the others to compare
    sf.KNG(ball, 0.9).release(points)
    assert len(noise) == len(proofs) == 1


def test_one_release_is_few_calls_between_modules(rng):
    points, count = directions(200, rng), 0
    sf.private_mean(points, sf.Ball(SPHERE, SPHERE.origin(), 0.5), epsilon=1.0)  # what is public of it is known

    def look(frame, event, _):
        nonlocal count
        here, there = frame.f_code.co_filename, frame.f_back.f_code.co_filename if frame.f_back else ""
        count += event == "call" and here != there and all(f"{Path(sf.__file__).parent}" in f for f in (here, there))

    ball = sf.Ball(SPHERE, SPHERE.origin(), 0.5)
    sys.setprofile(look)
    try:
        sf.private_mean(points, ball, epsilon=1.0)
    finally:
        sys.setprofile(None)
    assert 100 < count <= 150  # half of them are steps of the solver, some of which only hide how soon it is done


def test_a_plan_is_made_before_any_data(monkeypatch, rng):
    """Nothing that a release can refuse is left for after the charge: with the plan made, only draws remain."""
    ball = sf.Ball(SPHERE, SPHERE.origin(), 0.3)
    plan = choose(ball, 60, 1.0, "kng")
    assert plan.n == 60
    release = plan.release_of(Records(SPHERE, ball.clip(directions(60, rng))), "one record")
    record = {key: value for key, value in plan.record.document().items() if key != "time"}
    assert {key: release.record[key] for key in record} == record


def test_auto_takes_the_plan_with_the_smallest_error():
    problem = (sf.Ball(SPHERE, SPHERE.origin(), 0.3), 60, sf.PureDP(2.0))
    rows = plans(*problem)
    assert {name for name, _ in rows} == {kind.name for kind in MECHANISMS.values() if kind.auto}
    assert [plan.compared_by for _, plan in rows] == sorted(plan.compared_by for _, plan in rows)
    assert choose(*problem).name == rows[0][0]


def test_mechanisms_on_equal_balls_are_equal_and_share_their_plan():
    first, second = (sf.KNG(sf.Ball(SPHERE, [0.0, 0.0, 1.0], 0.3), 1.0) for _ in range(2))
    assert first == second
    assert first.at(50) is second.at(50)
    assert first.at(50) is not sf.KNG(first.ball, 1.0, "tight").at(50)
    assert sf.ManifoldLaplace(first.ball, 1.0) != first


def test_a_draw_that_cannot_be_made_is_refused_by_the_plan():
    """Also where no record would be charged for it yet: the number of proposals is part of the plan."""
    exponential = sf.Exponential(sf.Ball(sf.Euclidean(dim=10), np.zeros(10), 100.0), 1.0)
    with pytest.raises(sf.Refusal, match="as wide as the ball"):
        exponential.plan(1)


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_every_mechanism_says_what_its_promise_is(name):
    space = sf.PlanarShapes(landmarks=4) if name == "pointwise-laplace" else SPHERE
    plan = MECHANISMS[name](sf.Ball(space, space.present(space.origin()), 0.2), 2).plan(500)
    assert plan.privacy == sf.PureDP(2.0)
    assert plan.ideal < 2 <= plan.ideal * (1 + 1e-6)
    assert plan.statistic.name in plan.record.document()["statistic"]


def test_promises_add_up_and_refuse_what_they_cannot_be():
    assert sf.PureDP(0.5) + sf.PureDP(0.25) == sf.PureDP(0.75) < sf.PureDP(1)
    for wrong in (0, -1.0, np.nan, np.inf, "1", None):
        with pytest.raises(ValueError, match="epsilon must be a positive number"):
            sf.PureDP(wrong)
    with pytest.raises(sf.Refusal, match="promises nothing"):
        sf.PureDP(101.0).check()
    with pytest.warns(UserWarning, match="promises little"):
        sf.PureDP(101.0).check(force=True)


def test_the_search_for_a_scale_finds_what_a_fine_one_finds():
    """On R of every size, for both bounds: the quick search is not off by more than half a percent."""
    for space, r, n in ((SPHERE, 0.5, 200), (sf.Sphere(dim=1), 0.3, 3), (sf.SPD(size=2), 4.0, 200)):
        tight = scale.kng_scale(space, r, n, 1.0, "tight").sigma
        found = certificate.certify(space, r, n, tight).sigma
        widest = certificate.bounds_of(space).convexity_radius - 2 * r
        each = [
            certificate._solve(space, r, r + margin, n, tight, effect)
            for margin in np.geomspace(1e-3, min(widest, 8.0), 60) * (1 - 1e-9)
            for effect in (certificate._global, certificate._localised)
        ]
        assert found <= 1.005 * min(c.sigma for c in each if c)
