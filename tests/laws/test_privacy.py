"""Kinds of privacy as values: how they add up, compare and are divided, and that nothing breaks them (proofs, Result 9)."""

import itertools
import json
import math
from fractions import Fraction
from functools import cache

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from test_noise import discrete

from sfumato.errors import PrecisionError
from sfumato.laws.noise import Noise, Parts
from sfumato.laws.privacy import GDP, USUAL_DELTA, ZCDP, ApproxDP, Facts, Privacy, PureDP, as_privacy, up

ALL = [PureDP(0.7), ZCDP(0.05), GDP(0.4), ApproxDP(1.0, 1e-6)]
NONE = [math.nan, math.inf, -1.0, True, "1", None]


# -- values ------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [PureDP, ZCDP, GDP])
@pytest.mark.parametrize("wrong", [*NONE, 0])
def test_what_is_no_positive_number_is_refused(kind, wrong):
    with pytest.raises(ValueError, match="must be a positive number, between 1e-100 and 1e100, not"):
        kind(wrong)


@pytest.mark.parametrize("wrong", NONE)
def test_what_is_no_epsilon_and_delta_is_refused(wrong):
    with pytest.raises(ValueError, match="epsilon must be"):
        ApproxDP(wrong, 1e-6)
    for delta in (wrong, 0.0, 1.0):
        with pytest.raises(ValueError, match="delta must be a small probability"):
            ApproxDP(1.0, delta)
    with pytest.raises(ValueError, match="spent must be"):
        ApproxDP(1.0, 1e-6, wrong)


@pytest.mark.parametrize("privacy", [*ALL, ApproxDP(np.float32(0.5), Fraction(1, 1000)), ZCDP(3)], ids=str)
def test_json_gives_back_what_was_written(privacy):
    again = Privacy.from_dict(json.loads(json.dumps(privacy.to_dict())))
    assert again == privacy
    assert type(again) is type(privacy)


def test_json_of_no_kind_is_refused():
    for wrong in ({}, {"epsilon": 1.0, "rho": 1.0}, {"delta": 1e-6}, {"epsilon": 1.0, "delta": 1e-6, "spent": 0.5}):
        with pytest.raises(ValueError, match="no kind of privacy"):
            Privacy.from_dict(wrong)
    with pytest.raises(ValueError, match="delta must be"):
        Privacy.from_dict({"epsilon": 1.0, "delta": 2.0})


def test_one_promise_is_asked_for_and_not_two():
    assert as_privacy(1.0) == PureDP(1.0)
    assert as_privacy(None, ZCDP(0.1)) == as_privacy(ZCDP(0.1)) == ZCDP(0.1)
    for both in ((None, None), (1.0, ZCDP(0.1)), (ZCDP(0.1), ZCDP(0.1)), (None, 0.1)):
        with pytest.raises(TypeError):
            as_privacy(*both)


# -- between kinds -----------------------------------------------------------------------------------------------------------
def test_promises_add_up_to_the_first_kind_that_both_follow_to():
    assert PureDP(0.5) + PureDP(0.25) == PureDP(0.75)
    assert PureDP(1.0) + ZCDP(0.1) == ZCDP(0.1) + PureDP(1.0) == ZCDP(0.6)
    assert GDP(3.0) + GDP(4.0) == GDP(5.0)
    assert GDP(2.0) + ZCDP(1.0) == ZCDP(3.0)
    assert (GDP(1.0) + PureDP(1.0)).mu == pytest.approx(math.hypot(1, Noise(1.0).mu))
    assert ApproxDP(1.0, 1e-6) + ApproxDP(0.5, 1e-7) + PureDP(0.5) == ApproxDP(2.0, 1.1e-6)
    with pytest.raises(TypeError, match="do not add up"):
        ApproxDP(1.0, 1e-6) + ZCDP(0.1)


def test_a_promise_is_below_what_follows_from_it():
    assert PureDP(0.5) < PureDP(1.0)
    assert not PureDP(1.0) < PureDP(1.0)
    assert PureDP(1.0) <= ZCDP(0.5)
    assert not PureDP(1.0) <= ZCDP(0.499)
    assert PureDP(1.0) <= ApproxDP(0.9, 0.1)
    assert not PureDP(1.0) <= ApproxDP(0.9, 0.01)
    assert GDP(1.0) <= ZCDP(0.5)
    assert not ZCDP(1e-9) <= PureDP(1e9)
    assert ApproxDP(1.0, 1e-6) <= ApproxDP(0.99, 0.01)
    assert not ApproxDP(1.0, 1e-6) <= ApproxDP(0.99, 1e-6)
    for kind in ALL:
        for other in ALL:
            assert kind <= kind.at(0.01) <= kind.at(0.01) + other.at(0.01)


@pytest.mark.parametrize("privacy", ALL[:3], ids=str)
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.05])
def test_the_least_epsilon_for_a_delta_is_found(privacy, delta):
    epsilon = privacy.at(delta).epsilon
    assert privacy.profile(epsilon) <= delta < privacy.profile(epsilon * (1 - 1e-6))
    assert privacy <= privacy.at(delta)


def test_a_promise_says_nothing_of_a_smaller_delta():
    assert ApproxDP(1.0, 1e-6).at(1e-5) == ApproxDP(1.0, 1e-5)
    with pytest.raises(ValueError, match="says nothing"):
        ApproxDP(1.0, 1e-6).at(1e-7)


@pytest.mark.parametrize("mu", [1e-6, 0.01, 1.0, 7.0])
@pytest.mark.parametrize("place", [0.0, 0.5, 3.0, 12.0])
def test_the_profile_of_a_gaussian_agrees_with_forty_digits_from_above(mu, place):
    with mp.workdps(40):
        epsilon = place * mu + mu**2 / 2
        m = mp.mpf(mu)
        x = mp.mpf(epsilon)
        true = mp.ncdf(-x / m + m / 2) - mp.exp(x) * mp.ncdf(-x / m - m / 2)
        assert true <= GDP(mu).profile(epsilon) <= true * (1 + 1e-4)
    assert GDP(mu).profile(epsilon) <= ZCDP(mu**2 / 2).profile(epsilon) * (1 + 1e-4)


def test_rho_gives_the_best_of_a_fine_grid_of_orders():
    alpha = 1 + np.geomspace(1e-3, 1e4, 200_000)
    for rho, epsilon in itertools.product((1e-4, 0.02, 1.0), (1e-3, 0.1, 3.0)):
        log_delta = (alpha - 1) * (alpha * rho - epsilon) - np.log(alpha - 1) + alpha * np.log1p(-1 / alpha)
        assert ZCDP(rho).profile(epsilon) == pytest.approx(min(1.0, float(np.exp(log_delta.min()))), rel=1e-6)


@pytest.mark.parametrize("privacy", ALL, ids=str)
def test_noise_keeps_the_promise_and_nearly_uses_it_up(privacy):
    for p in (0, 1, 2, 3, 20, 2000):
        noise = privacy.noise(p)
        assert noise.epsilon >= privacy.pure * (1 - 1e-8)
        made = {PureDP: noise.epsilon, ZCDP: noise.rho, GDP: noise.mu, ApproxDP: noise.certified(1.0)}[type(privacy)]
        assert made <= privacy.numbers[-1]
        if p:
            assert privacy.scales(p)[-1] == pytest.approx(noise.epsilon)
            larger = Noise(noise.epsilon * 1.005, p)
            more = {PureDP: larger.epsilon, ZCDP: larger.rho, GDP: larger.mu, ApproxDP: larger.delta(1.0)}[
                type(privacy)
            ]
            assert more > privacy.numbers[-1]
    assert PureDP(privacy.pure) <= privacy


# -- parts -------------------------------------------------------------------------------------------------------------------
SHARES = [0.001, 0.05, 0.3, 0.5, 0.9]


@pytest.mark.parametrize("share", SHARES)
def test_a_share_and_the_rest_are_the_whole(share):
    for kind in (PureDP, ZCDP, GDP):
        for number in (1 / 3, 0.1, 7e-5, 2.9):
            part, rest = kind(number).split(share)
            whole = part + rest
            assert number * (1 - 1e-14) <= whole.numbers[0]
            exact = [Fraction(one.numbers[0]) ** (2 if kind is GDP else 1) for one in (part, rest, kind(number))]
            assert exact[0] + exact[1] <= exact[2]
            assert part.numbers[0] == pytest.approx(number * (share**0.5 if kind is GDP else share))
            aside, left = kind(number).aside(share)
            assert left.numbers[0] == pytest.approx(rest.numbers[0], rel=1e-14)
            assert PureDP(aside) + left <= kind(number * (1 + 1e-9))
    assert sum(map(Fraction, (PureDP(0.1).aside(share)[0], PureDP(0.1).aside(share)[1].epsilon))) == Fraction(0.1)


def beyond(epsilon: float, *laws: np.ndarray) -> float:
    """Return δ(ε) of independent releases whose outcomes have these probabilities for two neighbours."""
    one, other = (np.multiply.outer(*(law[k] for law in laws)) for k in range(2))
    return float(np.sum(np.maximum(0, one - math.exp(epsilon) * other)))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.75])
def test_two_noises_that_share_an_epsilon_and_a_delta_keep_both(share):
    whole = ApproxDP(1.0, 1e-4)
    first, rest = whole.split(share)
    assert (first.epsilon, rest.epsilon, rest.spent) == (share, 1.0, share)
    assert first.delta + rest.delta == pytest.approx(whole.delta)
    for p, q in itertools.product((2, 20, 96), (2, 30)):
        a = discrete(first.noise(p))
        assert beyond(1.0, a, discrete(rest.noise(q))) <= whole.delta
        forgotten = ApproxDP(1.0, rest.delta)  # as if nothing had been spent
        assert share < 0.5 or beyond(1.0, a, discrete(forgotten.noise(q))) > whole.delta


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-6, 1e-8), (1.0, 1e-6), (1.0, 1e-12), (3.0, 0.5), (50.0, 1e-6)])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_a_stage_and_a_noise_among_several_keep_a_promise(epsilon, delta, share):
    aside, rest = ApproxDP(epsilon, delta).aside(share)
    ways = tuple(rest.noise(p) for p in (0, 1, 2, 3, 20, 2000))
    assert Parts(float(aside), ways).certified(epsilon) <= delta
    assert min(way.epsilon for way in ways) >= rest.pure
    more = tuple(ApproxDP(epsilon, 1.5 * delta if delta < 0.5 else 0.9, rest.spent).noise(p) for p in (20, 2000))
    assert Parts(float(aside), more).delta(epsilon) > delta


def test_what_rounding_adds_is_part_of_delta_whichever_way_is_taken():
    """A stage that chooses between two ways, with chances of rounding that differ: for each neighbour a draw is another one."""

    def total(spent, ways):
        near, far = (
            max(way.delta(side) + (1 + math.exp(side)) * chance for way, chance in ways)
            for side in (1 - spent, 1 + spent)
        )
        return expit(spent) * near + expit(-spent) * far

    whole = ApproxDP(1.0, 1e-6)
    wrong = []
    for spent, chances in itertools.product((0.1, 0.5), itertools.permutations((1e-11, 1e-9, 3e-8), 2)):
        rest = ApproxDP(1.0, 1e-6, spent)
        assert (
            total(spent, [(rest.noise(p, chance), chance) for p, chance in zip((20, 1000), chances, strict=True)])
            <= 1e-6
        )
        # Each way with δ less what its own rounding adds: their envelope is above δ.
        own = [ApproxDP(1.0, (1e-6 - (1 + math.e) * chance) * 8 / 7, spent) for chance in chances]
        wrong.append(total(spent, [(one.noise(p), c) for one, p, c in zip(own, (20, 1000), chances, strict=True)]))
    assert max(wrong) > 1.02 * whole.delta
    lost = (1 + math.e) * 3e-8
    noise = whole.noise(96, 3e-8)
    assert noise.certified(1.0) + lost <= whole.delta < Noise(1.01 * noise.epsilon, 96).delta(1.0) + lost


def test_a_delta_that_rounding_would_use_up_is_refused():
    assert ApproxDP(1.0, 1e-6).noise(20, 1.3e-7).epsilon > 1
    with pytest.raises(
        PrecisionError, match=r"take 7.4e-07 of the delta of 1e-06 that this part of the release has: use a larger"
    ):
        ApproxDP(1.0, 1e-6).noise(20, 2e-7)
    with pytest.raises(PrecisionError, match=r"take 3.7e-07 of the delta of 1e-06 that this part"):
        ApproxDP(1.0, 1e-6, 0.5).noise(20, 1e-7)
    with pytest.raises(PrecisionError):
        ApproxDP(1.0, 1e-6).noise(20, math.nan)
    assert ApproxDP(1.0, 1e-6).noise(0, 1.0) == Noise(1.0)


# -- facts -------------------------------------------------------------------------------------------------------------------
PARTS = [[Noise(0.1)], [Noise(0.9, 96), Noise(0.8, 10)]]


def test_facts_are_those_of_the_worst_way():
    facts = Facts.of(PureDP(1.0), PARTS)
    assert facts.epsilon == 1.0
    assert facts.rho == pytest.approx(0.1**2 / 2 + 0.8**2 / 20, rel=1e-5)
    assert facts.mu == pytest.approx(math.hypot(Noise(0.1).mu, Noise(0.8, 10).mu), rel=1e-5)
    exact = Parts(0.1, tuple(PARTS[1]))
    assert (
        exact.certified(facts.approx.epsilon)
        <= facts.approx.delta
        == USUAL_DELTA
        < exact.delta(0.99 * facts.approx.epsilon)
    )
    several = Facts.of(PureDP(10.0), [[Noise(1.0, 96)]] * 10)
    assert several.approx.epsilon == pytest.approx(ZCDP(10 / 192).at(1e-6).epsilon, rel=3e-5)


@pytest.mark.parametrize("asked", ALL, ids=str)
def test_facts_hold_what_was_asked_for(asked):
    facts = Facts.of(asked, PARTS, chance=1e-10)
    assert asked in (PureDP(facts.epsilon), ZCDP(facts.rho), GDP(facts.mu), facts.approx)
    if isinstance(asked, ApproxDP):
        assert facts.booked == asked.numbers
    else:
        assert facts.booked == (facts.epsilon, (1 + math.exp(facts.epsilon)) * 1e-10)


def test_releases_about_different_people_have_the_larger_of_each_number():
    first = Facts.of(ApproxDP(1.0, 1e-6), [[Noise(2.0, 96)]], 1e-10)
    second = Facts.of(ApproxDP(0.5, 1e-3), [[Noise(1.5, 2)]], 1e-11)
    both = first | second
    assert both.booked == (second | first).booked == (1.0, 1e-3)
    assert (both.epsilon, both.rho, both.mu, both.chance) == (2.0, second.rho, second.mu, 1e-10)


@given(st.floats(1e-90, 1e90))
def test_six_digits_are_rounded_up(number):
    assert number <= up(number) <= number * (1 + 2e-5)
    assert float(f"{up(number):.6g}") == up(number)


# -- several releases --------------------------------------------------------------------------------------------------------
def answers(epsilon: float, told: float = 0.0) -> list[tuple[float, float]]:
    """Return the losses of randomized response, which tells all with a small probability, and their probabilities."""
    both = [(side, (1 - told) * float(expit(side))) for side in (epsilon, -epsilon)]
    return [*both, (math.inf, told)] if told else both


MENU = {
    "pure": (answers(0.2), Facts(PureDP(0.2), 0.2, 0.02, 1, ApproxDP(0.2, 0.1))),
    "computed": (answers(0.2, 1e-3), Facts(PureDP(0.2), 0.2, 0.02, 1, ApproxDP(0.2, 0.1), 1e-3)),
    "approximate": (answers(0.5, 0.02), Facts(ApproxDP(0.5, 0.02), 9.0, 9.0, 9, ApproxDP(0.5, 0.02))),
}


def most_by_an_analyst(budget: ApproxDP, parts: tuple[float, float, float], apart: bool) -> float:
    """Return the largest P(S) − e^ε·Q(S) of any analyst who chooses the next release by what came before, exactly.

    ``parts`` of δ are those of rules B and C and of rounding.  ``apart``: a wrong ledger, in which a release counts by the rule
    that it was let in by, and by no other.
    """

    def within(done: tuple[str, ...]) -> bool:
        facts = [MENU[name][1] for name in done]
        rounding = (1 + math.exp(budget.epsilon)) * sum(one.chance for one in facts) <= parts[2]
        pure = sum(one.epsilon for one in facts) <= budget.epsilon
        rho = not facts or ZCDP(sum(one.rho for one in facts)).profile(budget.epsilon) <= parts[0]
        booked = [sum(one.booked[k] for one in facts) for k in range(2)]
        return (rounding and (pure or rho)) or (booked[0] <= budget.epsilon and booked[1] <= parts[1])

    @cache
    def most(done: tuple[str, ...], loss: float) -> float:
        best = max(0.0, 1 - math.exp(budget.epsilon - loss))
        for name, (law, _) in MENU.items():
            then = tuple(sorted((*done, name)))
            alone = tuple(one for one in then if one == name)
            if within(alone if apart else then):
                best = max(best, sum(chance * most(then, round(loss + more, 9)) for more, chance in law))
        return best

    return most((), 0.0)


def test_no_analyst_gets_more_out_of_a_ledger_than_its_budget():
    budget = ApproxDP(1.0, 0.1)
    for parts in ((0.025, 0.04, 0.035), (0.0, 0.1, 0.0), (0.1, 0.0, 0.0), (0.07, 0.0, 0.03)):
        assert 0.008 < most_by_an_analyst(budget, parts, apart=False) <= budget.delta
    assert most_by_an_analyst(budget, (0.025, 0.04, 0.035), apart=True) > 1.5 * budget.delta
