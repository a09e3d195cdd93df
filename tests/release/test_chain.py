"""Budgets in every kind: the rules at their edges against a slow copy with many digits, and against adversaries."""

import itertools
import json
import math
import random
import shutil
from dataclasses import replace
from decimal import Decimal
from functools import cache, partial
from pathlib import Path

import mpmath
import numpy as np
import pytest
from test_ledger import RECORD, execute, forge, rows

import sfumato as sf
from sfumato.errors import BudgetExceeded, LedgerError
from sfumato.laws.noise import Noise
from sfumato.laws.privacy import GDP, ZCDP, ApproxDP, Facts, PureDP
from sfumato.release.chain import Spent, limits, stated
from sfumato.release.ledger import Ledger

WINGS = ApproxDP(3.0, 1e-6)


def chart(epsilon, directions, chance=0.0):
    return Facts.of(PureDP(epsilon), [[Noise(epsilon, directions)]], chance)


def calibrated(epsilon, asked, chance):
    """What a chart in 96 directions loses that was asked for another promise."""
    return replace(chart(epsilon, 96), asked=asked, chance=chance)


def sums_of(book, asked, record=RECORD):
    """What a charge adds, by way of the line that a ledger would write."""
    epsilon, facts = stated(asked)
    return book.following("charge", "default", epsilon, json.dumps({**record, **facts})).adds


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.ledger"


@pytest.fixture
def book(path):
    return Ledger.create(path, 1).verify()


# What fits


def count(budget, facts, most=200):
    for made in range(most):
        try:
            budget.charge(facts, RECORD)
        except BudgetExceeded:
            return made
    return most


@pytest.mark.parametrize(
    ("facts", "least"), [(chart(1.0, 30, 6e-11), 10), (chart(0.5, 96, 3.1e-10), 40), (chart(1.0, 96, 3.1e-10), 30)]
)
def test_many_releases_in_many_directions_fit_a_delta_and_few_a_pure_budget(path, facts, least):
    assert count(Ledger.create(path, 3), facts) == 3 / facts.epsilon
    assert count(Ledger.create(path, dataset="approx", privacy=WINGS), facts) >= least
    assert count(Ledger.create(path, dataset="rho", privacy=ZCDP(0.05)), facts) == 0.05 // facts.rho


@pytest.mark.parametrize("whole", [ApproxDP(1.0, 1e-6), ApproxDP(0.1, 1e-9), ApproxDP(4.0, 1e-3)])
@pytest.mark.parametrize("directions", [2, 20, 96])
def test_a_release_calibrated_to_the_whole_budget_fits_an_empty_ledger_once(path, whole, directions):
    budget = Ledger.create(path, privacy=whole)
    facts = Facts.of(whole, [[whole.noise(directions, 1e-12)]], 1e-12)
    budget.charge(facts, RECORD)
    with pytest.raises(BudgetExceeded):
        budget.charge(facts, RECORD)
    with pytest.raises(BudgetExceeded):
        Ledger.create(path, dataset="less", privacy=ApproxDP(whole.epsilon, whole.delta * 0.99)).charge(whole, RECORD)


# The rules, against a slow copy


@cache
def slow_delta(rho, epsilon):
    """The least over α of e^((α−1)(αρ−ε))/(α−1)·(1−1/α)^α, by golden sections with 40 digits: 70 find the place to 13 digits,
    and so the value, which is flat there, to more than 20."""

    def log_delta(x):
        more = mpmath.exp(x)
        return more * ((1 + more) * rho - epsilon) - mpmath.log(more) + (1 + more) * mpmath.log(more / (1 + more))

    start = mpmath.log(epsilon / (2 * rho))
    low, high = min(start, 0) - 10, max(start, 0) + 4
    ratio = (mpmath.sqrt(5) - 1) / 2
    first, second = high - ratio * (high - low), low + ratio * (high - low)
    left, right = log_delta(first), log_delta(second)
    for _ in range(70):
        if left < right:
            high, second, right = second, first, left
            first = high - ratio * (high - low)
            left = log_delta(first)
        else:
            low, first, left = first, second, right
            second = low + ratio * (high - low)
            right = log_delta(second)
    return mpmath.exp(log_delta((low + high) / 2))


def slowly(budget, charges, slack=0):
    """Whether charges keep an (ε, δ) by the three rules, as they are written down; their sums are ``slack`` larger."""
    epsilon, delta = (mpmath.mpf(repr(number)) for number in budget.numbers)

    def holds(charges, noise, pairs, rounding):
        sums = [
            mpmath.fsum(mpmath.mpf(str(one).lower()[:3] if one > 1e99 else str(one)) for one in column) * (1 + slack)
            for column in zip(*charges, strict=True)
        ]
        epsilons, rhos, es, ds, chances = sums
        by_rho = mpmath.isfinite(rhos) and slow_delta(rhos, epsilon) <= noise * delta
        rounds = (1 + mpmath.exp(epsilon)) * chances <= rounding * delta
        return (rounds and (epsilons <= epsilon or by_rho)) or (es <= epsilon and ds <= pairs * delta)

    usual = [mpmath.mpf(part) / 20 for part in (5, 8, 7)]
    return holds(charges, *(usual if holds(charges[:1], *usual) else (0, 1, 0)))


@pytest.mark.parametrize("budget", [WINGS, ApproxDP(0.5, 1e-9), ApproxDP(1.0, 0.02), ApproxDP(20.0, 1e-12)])
def test_every_charge_is_judged_as_the_rules_say(book, budget):
    """Random charges of every kind, many of them near an edge; what is allowed must be allowed by the slow copy."""
    chance, judged = random.Random(20260), {True: 0, False: 0}
    edge = float(limits(budget)[4])
    with mpmath.workdps(40):
        for _ in range(12):
            account, charges = Spent(budget, limits(budget)), []
            for _ in range(12):
                size = budget.epsilon * 2 ** chance.uniform(-4, 1)
                delta = budget.delta * 2 ** chance.uniform(-6, 1)
                directions, rounding = chance.choice([2, 30, 96]), edge * 2 ** chance.uniform(-8, 0)
                asked = chance.choice(
                    [
                        partial(chart, size, directions, rounding),
                        partial(chart, size, 200),
                        partial(float, size),
                        partial(ApproxDP, size, delta),
                        partial(calibrated, size, ApproxDP(size / 2, delta), edge / 9),
                        partial(ZCDP, size**2 / 60),
                        partial(GDP, size / 8),
                    ]
                )
                adds = sums_of(book, asked())
                try:
                    account = account.plus(adds)
                except BudgetExceeded:
                    assert not slowly(budget, [*charges, adds], slack=1e-5)
                    judged[False] += 1
                else:
                    charges.append(adds)
                    assert slowly(budget, charges)
                    judged[True] += 1
    assert min(judged.values()) > 20


@pytest.mark.parametrize("budget", [WINGS, ApproxDP(0.01, 1e-3), ApproxDP(30.0, 1e-10), ApproxDP(1e-6, 1e-12)])
def test_the_rho_of_an_epsilon_and_a_delta_is_rounded_down_a_little(budget):
    with mpmath.workdps(40):
        rho = mpmath.mpf(str(limits(budget)[1]))
        epsilon, delta = mpmath.mpf(budget.epsilon), mpmath.mpf(budget.delta) / 4
        assert slow_delta(rho, epsilon) < delta < slow_delta(rho * (1 + mpmath.mpf("1.3e-5")), epsilon)


def test_each_rule_ends_exactly_at_its_edge(path):
    def budget(name):
        return Ledger.create(path, dataset=name, privacy=WINGS)

    most = limits(WINGS)
    by_pairs = budget("C")
    by_pairs.charge(ApproxDP(1.0, 3e-7), RECORD)
    by_pairs.charge(ApproxDP(2.0, 1e-7), RECORD)
    for more in (ApproxDP(1e-9, 1e-20), PureDP(1e-9), ZCDP(1e-9)):
        with pytest.raises(BudgetExceeded):
            by_pairs.charge(more, RECORD)

    by_rho = budget("B")
    by_rho.charge(ZCDP(0.1), RECORD)
    by_rho.charge(ZCDP(float(most[1] - Decimal("0.1"))), RECORD)
    with pytest.raises(BudgetExceeded):
        by_rho.charge(ZCDP(1e-15), RECORD)

    by_epsilon = budget("A")
    for _ in range(30):  # whose ρ is far too large, and whose booked δ too
        by_epsilon.charge(
            replace(chart(0.1, 1), rho=1.0, asked=ApproxDP(0.1, 1e-7), chance=float(most[4]) / 31), RECORD
        )
    with pytest.raises(BudgetExceeded):
        by_epsilon.charge("1e-50", RECORD)

    by_chance = budget("rounding")
    by_chance.charge(replace(chart(0.1, 30), asked=ApproxDP(0.1, 5e-7), chance=float(most[4])), RECORD)
    for more in (replace(chart(0.1, 30), chance=1e-20), ApproxDP(0.1, 1e-20)):
        with pytest.raises(BudgetExceeded, match="Rounding has taken 100% of its part of δ"):
            by_chance.charge(more, RECORD)
    by_chance.charge(chart(0.1, 30), RECORD)  # which rounding cannot move
    assert by_chance.left == Decimal("2.8")


def test_a_rho_budget_is_an_exact_sum(path):
    budget = Ledger.create(path, privacy=ZCDP(1.0))
    for _ in range(10):
        budget.charge(ZCDP(0.1), RECORD)
    assert budget.left == 0
    with pytest.raises(BudgetExceeded):
        budget.charge("1e-40", RECORD)


# The first charge


def test_only_the_first_charge_may_take_all_of_delta_for_rule_c(path):
    wide = ApproxDP(1.0, 7e-7)
    first = Ledger.create(path, dataset="first", privacy=WINGS)
    first.charge(wide, RECORD)
    with pytest.raises(BudgetExceeded):
        first.charge(ZCDP(1e-6), RECORD)  # rule B is closed for good
    with pytest.raises(BudgetExceeded):
        first.charge(ApproxDP(1.0, 3.1e-7), RECORD)
    again = Ledger(path, "first")  # as the book says by itself
    again.charge(ApproxDP(1.0, 3e-7), RECORD)
    again.charge(1, RECORD)
    assert again.left == 0

    second = Ledger.create(path, dataset="second", privacy=WINGS)
    second.charge(ZCDP(1e-6), RECORD)
    with pytest.raises(BudgetExceeded):
        second.charge(wide, RECORD)
    second.charge(ZCDP(0.1), RECORD)

    third = Ledger.create(path, dataset="third", privacy=WINGS)
    third.charge(replace(chart(1.0, 30), asked=wide), RECORD)  # fits A: nothing is given to C
    third.charge(ZCDP(0.1), RECORD)
    with pytest.raises(BudgetExceeded):
        third.charge(ApproxDP(1.0, 1e-7), RECORD)


# Adversaries


def flips(epsilon, times=1):
    """So many answers, each right with the odds e^ε: what is known of it, and the outcomes with both probabilities."""
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    ways = [math.comb(times, k) for k in range(times + 1)]
    first = [ways[k] * right**k * (1 - right) ** (times - k) for k in range(times + 1)]
    rho = times * epsilon**2 / 2
    facts = replace(chart(times * epsilon, 0), rho=rho)
    return facts, list(zip(first, first[::-1], strict=True))


def leak(epsilon, delta):
    """Tells all with probability δ, and else is right with the odds e^ε."""
    _, answers = flips(epsilon)
    honest = [((1 - delta) * p, (1 - delta) * q) for p, q in answers]
    return ApproxDP(epsilon, delta), [(delta, 0.0), (0.0, delta), *honest]


MENU = [
    flips(0.25),
    flips(0.5),
    flips(0.1, 4),
    flips(0.15, 3),
    leak(0.1, 0.02),
    leak(0.3, 0.005),
    leak(0.2, 0.06),
    leak(1.0, 0.15),
]


def worst_delta(account, epsilon, choose, history=(), weights=(1.0, 1.0), depth=6):
    """The δ of all that an adversary sees who chooses each release by what the earlier ones said."""
    for adds, outcomes in choose(history) if depth else ():
        try:
            more = account.plus(adds)
        except BudgetExceeded:
            continue
        return sum(
            worst_delta(more, epsilon, choose, (*history, i), (weights[0] * p, weights[1] * q), depth - 1)
            for i, (p, q) in enumerate(outcomes)
            if p * weights[0] or q * weights[1]
        )
    return max(0.0, weights[0] - math.exp(epsilon) * weights[1])


def adversaries(book, number):
    known = [(sums_of(book, facts), outcomes) for facts, outcomes in MENU]
    for seed in range(number):
        chance = random.Random(seed)
        liked = chance.sample(known, chance.randint(1, 4))

        def choose(history, seed=seed, liked=liked):
            return random.Random(hash((seed, *history))).sample(liked, len(liked))

        yield choose


def test_no_adversary_gets_more_than_delta_out_of_a_ledger(book):
    """They choose what comes next by what came before.  With limits of three times as much some do get more."""
    budget = ApproxDP(1.0, 0.15)
    honest = limits(budget)
    wrong = (*honest[:3], 3 * honest[3], honest[4])
    found = {}
    for name, most in (("right", honest), ("wrong", wrong)):
        found[name] = max(worst_delta(Spent(budget, most), 1.0, choose) for choose in adversaries(book, 60))
    assert 0.14 < found["right"] <= 0.15 * (1 + 1e-12)  # reached by one that tells all at once
    assert found["wrong"] > 0.16


# What is left, in words


def test_what_is_left_may_be_spent_and_hardly_more(path):
    """On a release of which no more is known, after whatever was charged."""
    before = [
        [],
        [chart(1.0, 30, 6e-11)] * 9,
        [ApproxDP(3.0, 1e-6)],
        [ApproxDP(1.0, 9e-7)],
        [ZCDP(0.1)],
        [0.5],
        [chart(2.5, 96)] * 2,
    ]
    kinds = {"approx": WINGS, "rho": ZCDP(0.3), "tiny": ApproxDP(1e-3, 1e-12), "large": ApproxDP(50.0, 0.1)}
    spent = 0
    for number, (kind, charges) in enumerate(itertools.product(kinds, before)):
        budget = Ledger.create(path, dataset=f"{kind} {number}", privacy=kinds[kind])
        for facts in charges:
            try:
                budget.charge(facts, RECORD)
            except BudgetExceeded:
                break
        left = budget.left
        with pytest.raises(BudgetExceeded):
            budget.charge(left * Decimal("1.00001") + Decimal("1e-9"), RECORD)
        if left:
            budget.charge(left, RECORD)
            spent += 1
    assert spent > 15


def test_words_for_a_curator(path):
    budget = Ledger.create(path, dataset="wings", privacy=WINGS)
    assert budget.describe() == (
        "an epsilon of 3 is left of the budget of 'wings', ε = 3, δ = 1e-06, or ρ = 0.167297 of 0.167297 where ρ is known of a "
        "release, or ε = 3 with δ = 1e-06. Spent so far: nothing."
    )
    for _ in range(10):
        budget.charge(chart(1.0, 30, 6e-11), RECORD)
    words = (
        "an epsilon of 0.0354964 is left of the budget of 'wings', ε = 3, δ = 1e-06, or ρ = 0.00063 of 0.167297 where ρ is "
        "known of a release. Rounding has taken 4% of its part of δ. Spent so far: 10 on Fréchet mean by laplace, n = 126 (10 "
        "charges)."
    )
    assert budget.describe() == words
    with pytest.raises(BudgetExceeded) as refusal:
        budget.charge(chart(1.0, 30, 6e-11), RECORD)
    assert str(refusal.value) == f"epsilon 1 with ρ = 0.0166667 was asked, but only {words}"
    with pytest.raises(BudgetExceeded, match=r"^epsilon 2.42226 with ρ = 0.0305591 for ε = 1, δ = 1e-06 was asked"):
        budget.charge(Facts.of(ApproxDP(1.0, 1e-6), [[ApproxDP(1.0, 1e-6).noise(96)]]), RECORD)

    pure = Ledger.create(path, 12, "pure")
    for _ in range(10):
        pure.charge(chart(1.0, 30, 6e-11), RECORD)
    assert pure.describe() == (
        "2 of 12 is left of the budget of 'pure'. Spent so far: 10 on Fréchet mean by laplace, n = 126 (10 charges). Together "
        "the releases so far are (2.85, 1e-06)-differentially private."
    )
    assert "Together" not in Ledger.create(path, 5, "one").describe()
    rho = Ledger.create(path, dataset="rho", privacy=ZCDP(0.5))
    rho.charge(ZCDP(0.32), RECORD)
    assert rho.describe().startswith(
        "an epsilon of 0.6 is left of the budget of 'rho', ρ = 0.5, or ρ = 0.18 of 0.5 where"
    )
    assert "an unknown epsilon on Fréchet mean by laplace, n = 126, for ρ = 0.32 (1 charge)" in rho.describe()
    assert "charge ρ = 0.32  Fréchet mean" in str(rho.verify().entries[-1])
    assert "budget ε = 3, δ = 1e-06  budget" in str(rho.verify().entries[0])


def test_what_all_releases_are_together_holds(book):
    """The (ε, 10⁻⁶) that is said of many releases follows from their ρ, with what rounding adds."""
    facts, said = chart(1.0, 30, 6e-11), []
    account = Spent(Decimal(30), limits(Decimal(30)))
    for number in range(1, 25):
        account = account.plus(sums_of(book, facts))
        if words := account.together:
            said.append(float(words.partition("(")[2].partition(",")[0]))
            with mpmath.workdps(30):
                lost = (1 + math.exp(said[-1])) * number * facts.chance
                assert slow_delta(mpmath.mpf(number * facts.rho), said[-1]) + lost <= 1e-6
                assert said[-1] < number
    assert len(said) > 15


# Kinds of budgets and charges


def test_a_budget_in_mu_is_refused_with_what_to_give_instead(path):
    with pytest.raises(sf.Refusal, match=r"no budget in μ, as .* comes next: give ρ = 0.5, or ε = 4.88655, δ = 1e-06"):
        Ledger.create(path, privacy=GDP(1.0))
    assert not path.exists()


def test_a_budget_is_an_epsilon_or_a_privacy(path):
    with pytest.raises(TypeError, match=r"a budget needs an epsilon .* or a privacy, not both"):
        Ledger.create(path, 1, privacy=WINGS)
    with pytest.raises(TypeError, match="privacy is a kind such as"):
        Ledger.create(path, privacy=1.0)
    assert not path.exists()
    assert Ledger.create(path, privacy=PureDP(0.3)).budget == Decimal("0.3")
    Ledger.create(path, dataset="wings", privacy=WINGS)
    with pytest.raises(LedgerError, match="already holds a budget of ε = 3, δ = 1e-06 for 'wings'"):
        Ledger.create(path, 1, "wings")
    assert Ledger(path, "wings").budget == WINGS


def test_a_promise_alone_counts_as_what_follows_from_it(book):
    infinite = Decimal("Infinity")
    assert sums_of(book, PureDP(0.5)) == sums_of(book, 0.5) == (Decimal("0.5"), Decimal("0.125"), Decimal("0.5"), 0, 0)
    assert sums_of(book, ApproxDP(0.5, 1e-7)) == (infinite, infinite, Decimal("0.5"), Decimal("1e-7"), 0)
    assert sums_of(book, GDP(0.5))[0] == infinite
    assert Decimal("0.125") <= sums_of(book, GDP(0.5))[1] < Decimal("0.12500000000001")
    epsilon, rho, booked, delta, _ = sums_of(book, ZCDP(0.1))
    assert (epsilon, rho, delta) == (infinite, Decimal("0.1"), Decimal("1e-6"))
    assert booked == Decimal(repr(ZCDP(0.1).at(1e-6).epsilon))


def test_facts_stand_in_the_record_of_a_charge(path):
    facts = Facts.of(ApproxDP(1.0, 1e-6), [[ApproxDP(1.0, 1e-6).noise(96)]], 3e-12)
    entry = Ledger.create(path, privacy=WINGS).charge(facts, RECORD)
    assert entry.epsilon == repr(facts.epsilon)
    assert json.loads(entry.record) == {
        **RECORD,
        "facts": {
            "asked": {"epsilon": 1.0, "delta": 1e-6},
            "approx": {"epsilon": 1.0, "delta": 1e-6},
            "booked": [1.0, 1e-6],
            "rho": facts.rho,
            "mu": facts.mu,
            "chance": 3e-12,
        },
    }
    with pytest.raises(ValueError, match="without value and facts"):
        Ledger(path).charge(1, {"facts": {"rho": 0.0}})


@pytest.mark.parametrize(
    "wrong", [{"rho": -1.0}, {"chance": math.nan}, {"chance": -1e-9}, {"epsilon": -1.0}, {"epsilon": 0.0}]
)
def test_impossible_facts_are_not_charged(path, wrong):
    budget = Ledger.create(path, privacy=ApproxDP(1e9, 0.5))
    with pytest.raises(ValueError, match=r"is impossible|must be plain JSON|must be a positive decimal"):
        budget.charge(replace(chart(1.0, 30), **wrong), RECORD)
    assert len(budget.verify().entries) == 1
    budget.charge(replace(chart(1.0, 30), rho=math.nan), RECORD)
    assert budget.verify().accounts["default"].sums[1] == Decimal("Infinity")  # which says nothing


@pytest.mark.parametrize("size", ["1e-50", 1e-30, 1e30, "9e49"])
def test_tiny_and_huge_epsilons(path, size):
    for number, kind in enumerate((WINGS, ZCDP(0.5), ApproxDP(1e40, 1e-9), ApproxDP(1e-30, 1e-9))):
        budget = Ledger.create(path, dataset=str(number), privacy=kind)
        left = budget.left
        try:
            budget.charge(size, RECORD)
        except BudgetExceeded:
            assert left < Decimal(str(size))
        else:
            assert budget.left <= left >= Decimal(str(size))


# Lines of others


@pytest.mark.parametrize("where", ["old/old.ledger", "e5d94c3/study.ledger"])
def test_old_ledgers_are_charged_with_facts(tmp_path, where):
    shutil.copy(Path(__file__).parent / where, tmp_path / "old.ledger")
    budget = Ledger(tmp_path / "old.ledger")
    before = budget.left
    rho = budget.verify().accounts[budget.dataset].sums[1]
    assert rho == sum(Decimal(line.epsilon) ** 2 / 2 for line in budget.verify().entries if line.kind == "charge")
    budget.charge(chart(float(before) / 4, 30, 1e-12), RECORD)
    budget.charge(before / 4, RECORD)
    assert Ledger(tmp_path / "old.ledger").left == before / 2
    lines = rows(tmp_path / "old.ledger")
    assert [("facts" in json.loads(line["record"])) for line in lines[-2:]] == [True, False]


def test_an_altered_fact_is_found(path):
    Ledger.create(path, privacy=WINGS).charge(chart(1.0, 30), RECORD)
    lines = rows(path)
    lines[1]["record"] = lines[1]["record"].replace('"rho":0.0166667', '"rho":0.0000001')
    assert lines[1]["record"] != rows(path)[1]["record"]
    execute(path, f"UPDATE entries SET record = '{lines[1]['record']}' WHERE sequence = 2")
    with pytest.raises(LedgerError, match="line 2 is not what was written there"):
        Ledger(path)


IMPOSSIBLE = {
    "negative": {"rho": -0.1},
    "no number": {"chance": math.nan},
    "text": {"rho": "0.1"},
    "true": {"rho": True},
    "nothing": {"rho": None},
    "one of two": {"booked": [1.0]},
    "three of two": {"booked": [1.0, 0.0, 0.0]},
    "no pair": {"booked": 1.0},
    "negative pair": {"booked": [1.0, -1e-9]},
    "a kind of one's own": {"asked": {"sigma": 1.0}},
    "no kind": {"asked": [1.0]},
    "a kind without a number": {"asked": {"rho": "much"}},
}


@pytest.mark.parametrize("wrong", IMPOSSIBLE)
def test_lines_with_impossible_facts_are_refused(path, wrong):
    Ledger.create(path, privacy=WINGS).charge(chart(1.0, 30), RECORD)
    lines = rows(path)
    record = json.loads(lines[1]["record"])
    forge(path, lines)
    Ledger(path)
    record["facts"] |= IMPOSSIBLE[wrong]
    lines[1]["record"] = json.dumps(record)
    forge(path, lines)
    with pytest.raises(LedgerError, match=r"line 2 was not written by sfumato: .* Charge nothing to it"):
        Ledger(path)


@pytest.mark.parametrize(
    "facts", ["[]", '"rho"', "7", '{"asked": {"mu": 1.0}}', '{"asked": {"epsilon": null, "delta": 1e-6}}']
)
def test_budgets_that_nobody_gives_are_refused(path, facts):
    Ledger.create(path, privacy=WINGS)
    lines = rows(path)
    lines[0]["record"] = f'{{"format": "sfumato ledger 1", "facts": {facts}}}'
    forge(path, lines)
    with pytest.raises(LedgerError, match="line 1 was not written by sfumato"):
        Ledger(path)


def test_a_chain_that_spends_more_than_its_rules_allow_is_refused(path):
    budget = Ledger.create(path, privacy=WINGS)
    for _ in range(10):
        budget.charge(chart(1.0, 30), RECORD)
    lines = rows(path)
    forge(path, [*lines, lines[-1]])
    with pytest.raises(LedgerError, match="line 12 was not written by sfumato: it spends more than was left"):
        Ledger(path)
    forge(path, [lines[0], *lines[2:], lines[-1]])
    assert len(Ledger(path).verify().entries) == 11


# Sessions


def test_a_session_asks_a_pure_budget_before_and_others_at_the_draw(path, tmp_path):
    ball = sf.Ball(sf.Euclidean(dim=2), [0.0, 0.0], 1.0)
    session = sf.Session(tmp_path / "mean.json", Ledger.create(path, "0.5", "pure"))
    with pytest.raises(BudgetExceeded, match=r"epsilon 1 was asked, but only 0.5 of 0.5 is left"):
        session.afford(1.0)
    with pytest.raises(BudgetExceeded, match=r"epsilon 0.632456 was asked"):
        session.afford(ZCDP(0.2))
    session.afford(ApproxDP(0.5, 1e-6))
    other = sf.Session(tmp_path / "mean.json", Ledger.create(path, dataset="approx", privacy=ApproxDP(0.5, 1e-6)))
    other.afford(1.0)
    with pytest.raises(BudgetExceeded, match=r"epsilon 1 with ρ = "):
        other.release(np.zeros((90, 2)), ball, 1.0)
    assert not other.out.exists()
    other.release(np.zeros((90, 2)), ball, ApproxDP(0.5, 1e-6))
    charge, note = other.ledger.verify().entries[-2:]
    assert (charge.kind, note.kind) == ("charge", "release")
    assert json.loads(charge.record)["facts"]["booked"] == [0.5, 1e-6]
    assert "nothing was released, but ε = 0.5, δ = 1e-06 is charged" in _words_of_a_stop(other, ball)


def _words_of_a_stop(session, ball):
    session.ledger = Ledger.create(session.ledger.path, dataset="stopped", privacy=ApproxDP(0.5, 1e-6))
    session.charge(Facts.of(ApproxDP(0.5, 1e-6), [[ApproxDP(0.5, 1e-6).noise(2)]]), RECORD)
    return session.ctrl_c.words


# The command line


def test_the_command_line_gives_budgets_of_every_kind(sfumato):
    assert sfumato("ledger", "init", "study.ledger", "--epsilon", "0.3")[:2] == (
        0,
        "0.3 of 0.3 is left of the budget of 'default'. Spent so far: nothing.\n",
    )
    code, out, _ = sfumato("ledger", "init", "study.ledger", "--epsilon", "3", "--delta", "1e-6", "--dataset", "wings")
    assert (code, out.startswith("an epsilon of 3 is left of the budget of 'wings', ε = 3, δ = 1e-06, or ρ")) == (
        0,
        True,
    )
    assert sfumato("ledger", "init", "study.ledger", "--rho", "0.5", "--dataset", "faces")[0] == 0
    code, out, _ = sfumato("ledger", "show", "study.ledger", "--json")
    assert json.loads(out) == {
        "default": {"budget": "0.3", "left": "0.3"},
        "wings": {"budget": {"epsilon": 3.0, "delta": 1e-6}, "left": "3"},
        "faces": {"budget": {"rho": 0.5}, "left": "1"},
    }
    assert len(sfumato("ledger", "show", "study.ledger")[1].splitlines()) == 3
    for options, words in [
        (["--mu", "1"], "a ledger keeps no budget in μ"),
        ([], "--epsilon 1 is common"),
        (["--delta", "1e-6"], "--epsilon 1 is common"),
        (["--epsilon", "1", "--rho", "1"], "are different promises"),
        (["--epsilon", "3", "--delta", "2"], "delta must be a small probability"),
    ]:
        code, _, err = sfumato("ledger", "init", "study.ledger", "--dataset", "more", *options)
        assert (code, words in err) == (2, True), err
    assert "many more releases fit" in " ".join(sfumato("ledger", "init", "--help")[1].split())
    assert (
        "promise little together" in sfumato("ledger", "init", "study.ledger", "--rho", "200", "--dataset", "much")[2]
    )
