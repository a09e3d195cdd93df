"""Releases that promise any kind of privacy: the noise that goes with it, what is proven of them, and how stages share it."""

import math
import re

import numpy as np
import pytest

import sfumato as sf
from sfumato.laws.noise import Noise, Parts
from sfumato.laws.privacy import Facts
from sfumato.laws.sampling import replaying
from sfumato.mechanisms.choice import choose
from sfumato.views.words import powers

KINDS = [sf.PureDP(1.0), sf.ApproxDP(1.0, 1e-6), sf.ZCDP(0.1), sf.GDP(0.5)]
FLAT = sf.Euclidean(dim=20)
SHAPES = sf.PlanarShapes(landmarks=50)
BALL = sf.Ball(FLAT, np.zeros(20), radius=2.0)


def falling(n, seed):
    return np.random.default_rng(seed).normal(size=(n, 20)) / np.arange(1, 21) ** 2


def sketch():
    return sf.Ellipsoid.from_sample(FLAT, falling(60, 1))


WAYS = {
    "plain": {"region": BALL},
    "look": {"region": sketch()},
    "look and spread": {"region": sketch(), "inference": 0.1},
    "two steps": {"region": BALL, "steps": 2},
    "found": {"prior": sf.Ball(FLAT, np.zeros(20), radius=20.0)},
}


def planned(way, privacy, n=400):
    how = dict(WAYS[way])
    find = "ball" if "prior" in how else None
    region = how.pop("region", None) or how.pop("prior")
    return choose(region, n, privacy, find=find, **how)


@pytest.mark.parametrize("privacy", KINDS, ids=str)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_release_keeps_every_kind(way, privacy, tmp_path):
    release = sf.private_mean(falling(400, 2), privacy=privacy, allow_useless=True, **WAYS[way])
    assert release.guarantee.privacy == privacy
    assert release.guarantee.private
    release.save(tmp_path / "mean.json")
    again = sf.Release.load(tmp_path / "mean.json")
    assert again.guarantee == release.guarantee
    assert f"the release is {powers(privacy.words)}" in again.describe()


@pytest.mark.parametrize("way", WAYS)
def test_parts_stay_within_what_was_asked_for(way):
    pure, approx, zcdp, gdp = (planned(way, privacy) for privacy in KINDS)
    for plan in (pure, approx, zcdp, gdp):
        assert sum(max(one.epsilon for one in part) for part in plan.parts) <= plan.facts.epsilon
    assert pure.facts.epsilon == 1.0
    assert sum(max(one.rho for one in part) for part in zcdp.parts) <= 0.1 * (1 + 1e-12)
    assert math.hypot(*(max(one.mu for one in part) for part in gdp.parts)) <= 0.5 * (1 + 1e-9)
    noises = [part for part in approx.parts if any(one.directions for one in part)]
    if len(noises) == 1:
        spent = sum(part[0].epsilon for part in approx.parts if part not in noises)
        whole = Parts(spent, noises[0]).certified(1.0) + (1 + math.e) * approx.chance
        assert (
            0.8e-6 < whole <= 1e-6
        )  # an eighth is kept for rounding; the same with a tenth more noise taken away is refused
        louder = tuple(Noise(1.1 * one.epsilon, one.directions) for one in noises[0])
        assert Parts(spent, louder).certified(1.0) > 1e-6


def test_two_charts_divide_an_approximate_promise():
    """A first release that is (ε₁, δ₁)-private, and a second that keeps δ − δ₁ with ε₁ spent."""
    plan = planned("two steps", sf.ApproxDP(1.0, 1e-6))
    (first,), (second,) = plan.parts
    assert first.certified(0.25) <= 0.25e-6
    assert Parts(0.25, (second,)).certified(1.0) <= 0.75e-6
    assert second.epsilon > 0.75  # which a pure promise would leave


def test_a_delta_halves_the_error_on_shapes():
    """With 50 landmarks, n = 409 and a ball of radius 0.125 the error at (1, 10⁻⁶) is at most 0.45 of certified KNG's at ε = 1;
    with noise for a promise ten times weaker that would be nothing to be proud of, and the δ says so."""
    ball = sf.Ball(SHAPES, SHAPES.present(SHAPES.origin()), radius=0.125)
    kng = sf.KNG(ball, 1.0).plan(409)
    chart = sf.TangentKNorm(ball, sf.ApproxDP(1.0, 1e-6)).plan(409)
    assert chart.error_95 <= 0.45 * kng.error_95
    assert chart.noise_95 == pytest.approx(0.387 * kng.noise_95, rel=0.01)
    best = sf.plan(ball, n=409, privacy=sf.ApproxDP(1.0, 1e-6))[0]
    assert (best.mechanism, best.error_95) == ("tangent", chart.error_95)


def test_mechanisms_that_are_only_purely_private_say_so():
    sphere = sf.Sphere(dim=2)
    ball = sf.Ball(sphere, [0.0, 0.0, 1.0], radius=0.4)
    for privacy, epsilon in zip(KINDS, (1.0, 1.0, math.sqrt(0.2), sf.GDP(0.5).pure), strict=True):
        for kind in (sf.KNG, sf.ManifoldLaplace):
            plan = kind(ball, privacy).plan(100)
            assert plan.allowed == pytest.approx(epsilon)
            assert plan.scale.sigma == pytest.approx(kind(ball, epsilon).plan(100).scale.sigma, rel=1e-5)
            assert plan.parts == [(Noise(plan.allowed),)]


def test_a_promise_is_the_same_noise_by_another_name():
    """The draw at (ε, δ) is that of a pure promise with the ε that the noise has."""
    privacy = sf.ApproxDP(1.0, 1e-6)
    plan = sf.TangentKNorm(BALL, privacy).plan(400)
    values = []
    for epsilon in (privacy, plan.allowed):
        with replaying(np.random.default_rng(3)):
            values.append(sf.TangentKNorm(BALL, epsilon).release(falling(400, 2)).raw)
    assert np.array_equal(*values)


def test_more_directions_are_worth_their_noise_with_a_delta():
    sample = falling(60, 4)
    region = sf.Ellipsoid.from_sample(FLAT, sample)
    pure, approx = (len(region.settle(400, one).axes) for one in (sf.PureDP(0.5), sf.ApproxDP(0.5, 1e-6)))
    assert approx >= pure
    errors = [region.whole_error(400, one).quantile(0.95) for one in (sf.PureDP(0.5), sf.ApproxDP(0.5, 1e-6))]
    assert errors[1] <= errors[0]


def test_findings_take_every_kind(rng):
    points = rng.normal(size=(600, 3)) * [0.6, 0.3, 0.1]
    ball = sf.Ball(sf.Euclidean(dim=3), np.zeros(3), radius=2.0)
    for privacy in KINDS:
        mean = sf.private_mean(points, ball, privacy=privacy)
        assert sf.private_variance(points, mean, privacy=privacy).guarantee.privacy == privacy
        components = sf.private_components(points, mean, privacy=privacy, allow_useless=True)
        assert components.release.guarantee.privacy == privacy
        found = sf.compare_groups(points, np.arange(600) % 2, ball, privacy=privacy)
        assert found.guarantee.privacy == privacy
        assert found.epsilon >= max(one.guarantee.epsilon for one in found.groups.values())
        size = sf.private_size(rng.normal(size=(600, 5, 2)), 1.0, 6.0, privacy=privacy)
        assert (
            size.mean.guarantee.rho + size.variance.guarantee.rho <= Facts.of(privacy, [[privacy.noise(1)]]).rho * 1.001
        )
        ball_found = sf.find_region(points, sf.Ball(ball.space, np.zeros(3), 20.0), privacy=privacy)
        assert ball_found.epsilon > 0


def test_estimators_take_every_kind(rng):
    X = rng.normal(size=(200, 3)) / 4
    for privacy in KINDS:
        known = {"space": sf.Euclidean(dim=3), "center": np.zeros(3), "radius": 2.0}
        assert sf.PrivateFrechetMean(**known, privacy=privacy).fit(X).release_.guarantee.privacy == privacy
        model = sf.PrivateMDM(**known, privacy=privacy, allow_useless=True).fit(X, np.arange(200) % 2)
        assert model.release_.guarantee.privacy == privacy
    with pytest.raises(TypeError, match="a privacy, not both"):
        sf.PrivateFrechetMean(**known, privacy=privacy, epsilon=1.0).fit(X)


def test_a_charge_carries_all_facts(rng):
    charged = []

    class Purse:
        def charge(self, facts, record):
            charged.append(facts)

    for privacy in KINDS:
        release = sf.private_mean(falling(400, 2), BALL, privacy=privacy, budget=Purse())
        facts = charged.pop()
        g = release.guarantee
        assert (facts.epsilon, facts.rho, facts.mu, facts.approx.to_dict()) == (g.epsilon, g.rho, g.mu, g.approx)
        assert facts.asked == privacy
        assert 0 < facts.chance < 1e-10
        assert facts.booked == ((1.0, 1e-6) if privacy == KINDS[1] else (facts.epsilon, facts.booked[1]))


def test_a_delta_that_rounding_alone_would_take_is_refused():
    ball = sf.Ball(SHAPES, SHAPES.present(SHAPES.origin()), radius=0.125)
    with pytest.raises(sf.PrecisionError, match="use a larger delta, or a region with fewer directions than 96"):
        sf.TangentKNorm(ball, sf.ApproxDP(1.0, 1e-12)).plan(409)


def test_one_promise_and_not_two():
    with pytest.raises(TypeError, match="private_mean needs an epsilon"):
        sf.private_mean(falling(40, 2), BALL)
    with pytest.raises(TypeError, match="a privacy, not both"):
        sf.private_mean(falling(40, 2), BALL, 1.0, privacy=sf.ZCDP(0.1))
    with pytest.raises(TypeError, match=re.escape("sfumato.ApproxDP(1.0, 1e-6)")):
        sf.private_mean(falling(40, 2), BALL, privacy=1.0)


def test_what_would_help_is_said_in_the_kind_that_was_asked_for():
    for privacy, words in zip(KINDS[1:], ("an epsilon of", "a rho of", "a mu of"), strict=True):
        with pytest.raises(sf.Refusal, match=words):
            sf.private_mean(
                falling(8, 2), sf.Ball(FLAT, np.zeros(20), 2.0), privacy=privacy.sized(privacy.numbers[0] / 50)
            )


def test_rounding_never_takes_more_than_the_delta_that_was_asked_for():
    """Mechanisms that are only purely private have all of δ for rounding; where that is not enough they are refused."""
    ball = sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.5)
    for n, privacy in [
        (100, sf.ApproxDP(10.0, 1e-10)),
        (100, sf.ApproxDP(15.0, 1e-9)),
        (10**6, sf.ApproxDP(10.0, 1e-10)),
    ]:
        assert choose(ball, n, privacy).losses.numerical_delta <= privacy.delta
    with pytest.raises(sf.Refusal, match="a failure probability of"):
        choose(ball, 200, sf.ApproxDP(1.0, 1e-13))


def test_rho_and_mu_state_the_probability_that_rounding_moves_a_draw():
    """Their pure ε may be so large that a δ beside it would say nothing; the (ε, δ) that is stated holds it."""
    ball = sf.Ball(sf.Euclidean(dim=500), np.zeros(500), radius=1.0)
    for privacy in (sf.ZCDP(0.5), sf.GDP(1.0), sf.ZCDP(2.0)):
        plan = sf.TangentKNorm(ball, privacy).plan(1000)
        facts = plan.facts
        assert plan.losses.numerical_delta == facts.chance
        lost = (1 + math.exp(facts.approx.epsilon)) * facts.chance
        ideal = Parts(0.0, plan.parts[0]).certified(facts.approx.epsilon)
        assert min(ideal, sf.ZCDP(facts.rho).profile(facts.approx.epsilon)) + lost <= facts.approx.delta * (1 + 1e-6)


def test_a_promise_of_nothing_is_refused():
    for ask in (lambda one: sf.private_mean(falling(40, 2), BALL, privacy=one), lambda one: sf.KNG(BALL, one)):
        with pytest.raises(ValueError, match="epsilon must be a positive number"):
            ask(sf.ApproxDP(0.0, 1e-3))


@pytest.mark.parametrize(
    "wrong",
    [
        {"approx": {}},
        {"approx": {"rho": 1.0}},
        {"rho": -1.0},
        {"mu": 0.0},
        {"asked": {"epsilon": 1.0}},
        {"asked": {"rho": 0.5}},
        {"asked": {"epsilon": 0.01, "delta": 1e-9}},
        {"approx": {"epsilon": "one", "delta": 1e-6}},
    ],
    ids=str,
)
def test_altered_promises_are_refused(wrong):
    document = sf.private_mean(falling(400, 2), BALL, privacy=sf.ApproxDP(1.0, 1e-6)).to_dict()
    assert sf.Release.from_dict(document)
    with pytest.raises(sf.RecordError):
        sf.Release.from_dict({**document, "guarantee": {**document["guarantee"], **wrong}})


def test_sessions_take_every_kind(tmp_path):
    for privacy in KINDS:
        session = sf.Session(tmp_path / f"{type(privacy).__name__}.json")
        assert session.release(falling(400, 2), BALL, privacy=privacy).guarantee.privacy == privacy
        assert sf.Release.load(session.out).guarantee.privacy == privacy
