"""Regression: how far one record moves the halves, what two noises tell, the law of the errors, level, power and coverage."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import gammaln, kv, roots_jacobi, roots_legendre
from scipy.stats import kstest

import sfumato as sf
from sfumato.findings import regression
from sfumato.findings.regression import Halves, Line, Regressions
from sfumato.laws.calibration.halves import Error, lengths, tail
from sfumato.laws.calibration.population import sum_tail
from sfumato.laws.noise import Noise
from sfumato.laws.privacy import PureDP
from sfumato.mechanisms.tangent import BITS, whole_sums
from sfumato.release.terms import Neighbours

PLANE = sf.Ball(sf.Euclidean(dim=2), [0.0, 0.0], 1.0)
LIMITS = (20.0, 90.0)


def line(n, epsilon=1.0, dim=2, public=False, test_only=False):
    chart = sf.Ball(sf.Euclidean(dim=dim), np.zeros(dim), 1.0).as_chart()
    return Line("age", LIMITS, public, test_only, chart, PureDP(epsilon), None, n)


def people(rng, n, slope=0.0, dim=2, spread=0.3, width=12.0):
    """Return records in the unit ball, seldom clipped, and their ages; the slope is for each standard deviation."""
    age = np.clip(rng.normal(50.0, width, n), *LIMITS)
    points = rng.normal(size=(n, dim)) * spread / np.sqrt(dim)
    points[:, 0] += slope * (age - 50) / width
    points[:, -1] += 0.1
    return points, age


def studied(plan, rng, studies, **how):
    """Return what studies of a plan find, by a generator handed in."""
    found = []
    for _ in range(studies):
        points, age = people(rng, plan.n, dim=len(plan.chart.axes), **how)
        found.append(plan.run(points, age, "one record", "", rng))
    return found


# -- privacy ------------------------------------------------------------------------------------------------------------
def test_one_record_moves_both_halves_by_two_together_and_not_by_less(rng):
    """In whole numbers, over hostile pairs: opposite ends, one half or both, equal but for the last bits, beyond the region,
    not finite.  The bound is met, so that noise a thousandth smaller would be refuted."""
    plan = line(1, dim=3)
    edge = rng.normal(size=(300, 3))
    edge /= np.linalg.norm(edge, axis=1, keepdims=True)
    sides = [edge, -edge, 1e300 * edge, np.nextafter(edge, 2), 0.0 * edge, np.full((300, 3), np.nan)]
    worst = 0.0
    for first in sides:
        for second in (sides[1], rng.permutation(edge)):
            parts = []
            for points in (first, second):
                w = plan.chart.chart(points)
                alpha = rng.choice([0.0, 1.0, 0.5, 1e-17, 1 - 2.0**-53, rng.random()], len(w))[:, None]
                parts.append(np.hstack([alpha * w, (1 - alpha) * w]))
            for one, two in zip(*parts, strict=True):
                sums = [whole_sums(lambda y: [y], row[None], None).astype(float) for row in (one, two)]
                apart = (sums[0] - sums[1]) / 2.0**BITS
                worst = max(worst, np.linalg.norm(apart[:3]) + np.linalg.norm(apart[3:]))
    assert worst <= 2
    assert worst > 1.999
    assert plan.halves.noise(1, 1.0).sigma == 2


def green(r, p):
    return (2 * np.pi) ** (-p / 2) * (2 * r) ** (1 - p / 2) * kv(p / 2 - 1, r / 2)


def delta(s, epsilon, p):
    """Return δ of one noise moved by s, at several ε, by the Green function of the proof; not by the package's integral."""
    nodes, weights = roots_legendre(120)
    u = (nodes + 1) / 2
    reach = np.sqrt(np.maximum(s * s - epsilon**2, 1e-300))[:, None]
    tau = reach * u**2
    sphere = 2 * np.exp((p - 1) / 2 * np.log(np.pi) - gammaln((p - 1) / 2))
    inner = (green(np.hypot(epsilon[:, None], tau), p) - green(s, p)) * tau ** (p - 2)
    more = np.exp(epsilon / 2) * sphere * np.sum(reach * weights * u * inner, axis=1)
    return np.maximum(0, -np.expm1(epsilon)) + np.where(np.abs(epsilon) < s, more, 0.0)


def pair(first, second, epsilon, p):
    """Return δ of two noises moved by these shifts: that of the second, at what the loss of the first leaves."""
    nodes, weights = roots_jacobi(60, (p - 3) / 2, (p - 3) / 2)
    loss = first * nodes
    density = weights * (2 * (p - 1) * first * kv(p / 2, first / 2) / kv(p / 2 - 1, first / 2) + first**2 - loss**2)
    density = density / np.sum(density * np.cosh(loss / 2)) * np.exp(loss / 2)
    return float(density @ delta(second, epsilon - loss, p))


@pytest.mark.parametrize("p", [2, 3, 7, 20])
def test_two_noises_tell_no_more_than_one_moved_by_the_sum(p):
    """For every split and ε tried; two that are moved by three quarters each would tell more."""
    for s in (0.3, 2.0, 6.0):
        for share in (0.0, 0.3, 0.8):
            one = float(delta(s, np.array([share * s]), p)[0])
            assert one == pytest.approx(Noise(s, p).delta(share * s), abs=2e-5)
            for part in (0.05, 0.3, 0.5):
                assert pair(part * s, (1 - part) * s, share * s, p) <= one + 1e-9
    assert pair(1.5, 1.5, 0.0, p) > float(delta(2.0, np.zeros(1), p)[0]) + 1e-3


def test_both_halves_have_noise_of_their_own_and_promise_what_one_would(rng):
    plan = Halves(sf.Ball(sf.Euclidean(dim=8), np.zeros(8), 1.0), 1.0).plan(50)
    noise = plan.sampled_noise(4000, rng).reshape(4000, 2, 4) / plan.scale.sigma
    for half in (0, 1):
        assert kstest(np.linalg.norm(noise[:, half], axis=1), "gamma", (4,)).pvalue > 1e-6
    assert (
        kstest(np.linalg.norm(noise, axis=(1, 2)), "gamma", (8,)).pvalue < 1e-6
    )  # that of one noise in eight directions
    assert plan.parts == [(Noise(1.0, 4),)]
    approx = Halves(plan.region, sf.ApproxDP(1.0, 1e-6)).plan(50)
    assert approx.allowed == pytest.approx(sf.ApproxDP(1.0, 1e-6).noise(4).epsilon, rel=1e-3)


@pytest.mark.parametrize("privacy", [sf.PureDP(0.7), sf.ApproxDP(1.0, 1e-6), sf.ZCDP(0.05), sf.GDP(0.4)])
@pytest.mark.parametrize("public", [False, True])
def test_parts_of_epsilon_add_up_exactly(privacy, public):
    plan = replace(line(400, public=public), privacy=privacy)
    parts = sum(regression.PARTS[name] for name in plan.split[0])
    spent, rest = privacy.aside(parts / 100)
    assert sum(plan.split[0].values()) == spent
    assert plan.halves.privacy == rest
    if isinstance(privacy, sf.PureDP):
        assert spent + Fraction(rest.epsilon) == Fraction(privacy.epsilon)
        assert rest.epsilon == pytest.approx(privacy.epsilon * (0.94 if public else 0.72))


def test_it_is_charged_once_before_anything_is_drawn_and_says_whom_it_protects(rng):
    charged = []

    class Budget:
        def charge(self, facts, record):
            charged.append((facts.epsilon, record["statistic"], record["covariate"], record["n"], record.get("groups")))

    points, age = people(rng, 600, 0.2)
    found = sf.private_regression(points, age, PLANE, 1.0, limits=LIMITS, name="age", budget=Budget())
    sex = np.arange(600) % 2
    both = sf.private_regression(
        points, age, PLANE, 1.0, limits=LIMITS, name="age", by=sex, budget=Budget(), allow_useless=True
    )
    assert [row[:4] for row in charged] == [(1.0, "mean that changes with a covariate", "age", 600)] * 2
    assert charged[1][4] == {"0": 300, "1": 300}
    assert found.guarantee.epsilon == both.epsilon == 1.0
    assert found.guarantee.privacy == sf.PureDP(1.0)
    assert "its group is the same" in both.groups["0"].guarantee.neighbours
    known = sf.private_regression(points, age, PLANE, 1.0, covariate_is_public=True)
    assert "covariates are public, and the same" in known.guarantee.neighbours
    assert known.mean == pytest.approx(age.mean())


# -- errors -------------------------------------------------------------------------------------------------------------
def test_errors_follow_the_law_that_is_integrated_elsewhere():
    """Against the quadrature for groups, which has no Laplace terms; a scale a tenth off is seen.  Two errors add up."""
    error = Error(5, (0.02, 0.03), (0.0, 0.0, 0.0), 4e-4)
    draws = lengths(error)
    for level in (0.5, 0.9, 0.99):
        length = float(np.quantile(draws, level))
        assert sum_tail(length, 5, [0.02, 0.03], 4e-4) == pytest.approx(1 - level, abs=5 * np.sqrt(level / 65536))
        assert abs(sum_tail(length, 5, [0.018, 0.027], 3.24e-4) - (1 - level)) > 5 * np.sqrt(0.1 * level / 65536)
    for level in (0.05, 1e-3, 1e-4):
        far = float(np.quantile(draws, 1 - level))
        assert tail(far, error) == pytest.approx(sum_tail(far, 5, [0.02, 0.03], 4e-4), rel=0.02)
    assert tail(0.0, error) == 1
    assert 0 < tail(1e9, error) < 1e-4
    one, two = (Error(5, (scale, 0.0), (0.01,), 0.0) for scale in (0.02, 0.03))
    squares = 5 * 6 * (0.02**2 + 0.03**2) + 2 * 2 * 0.01**2
    assert np.mean(lengths(one, two) ** 2) == pytest.approx(squares, rel=0.003)
    plain = (Error(5, (scale, 0.0), (), 0.0) for scale in (0.02, 0.03))
    assert tail(0.5, *plain) == pytest.approx(sum_tail(0.5, 5, [0.02, 0.03], 0.0), rel=0.02)


@pytest.mark.parametrize("p", [1, 2, 12])
def test_tails_with_laplace_terms_are_those_of_two_million_draws(p):
    """Also along one direction, and far out; a Laplace term a tenth wider is seen.  A huge one swamps the noise."""
    rng = np.random.default_rng(p)
    error = Error(p, (0.01, 0.012), (0.02, 0.03, 0.01), 4e-4)
    along = rng.laplace(size=(2 * 10**6, 3)) @ error.laplaces
    along += 0.02 * rng.standard_normal(2 * 10**6)
    square = np.square(error.scales) @ rng.chisquare(p + 1, (2, 2 * 10**6))
    along += np.sqrt(square) * rng.standard_normal(2 * 10**6)
    apart = np.sqrt(np.square(along) + (square * rng.chisquare(p - 1, 2 * 10**6) if p > 1 else 0.0))
    for drawn, how in ((apart, {}), (np.abs(along), {"directions": 1})):
        far = np.quantile(drawn, [0.95, 0.999])
        assert [tail(x, error, **how) for x in far] == [pytest.approx(0.05, rel=0.015), pytest.approx(1e-3, rel=0.1)]
        wider = error._replace(laplaces=(0.022, 0.033, 0.011))
        assert tail(far[0], wider, **how) > 0.05 * 1.02
    huge = error._replace(laplaces=(1e9, 0.0, 0.0))
    assert tail(3e9, huge) == pytest.approx(np.exp(-3), rel=0.03)


@pytest.mark.parametrize("public", [False, True])
def test_no_change_is_found_seldom_and_a_change_often(public, rng):
    """400 seeded studies; without the noise of the mean of s the private test would be above its level where that counts."""
    plan = line(400, 1.0, dim=4, public=public)
    same = np.array([found.p_value for found in studied(plan, rng, 400)])
    assert np.mean(same <= 0.05) < 0.05 + 5 * np.sqrt(0.05 * 0.95 / 400)
    moved = np.array([found.p_value for found in studied(plan, rng, 60, slope=0.2)])
    assert np.mean(moved <= 0.05) > 0.9


@pytest.mark.parametrize(("public", "n", "epsilon"), [(False, 400, 1.0), (True, 400, 0.5), (False, 2000, 4.0)])
def test_regions_cover_the_slope_and_the_mean_at_any_value(public, n, epsilon, rng):
    """150 seeded studies each; half the radius would not cover the slope."""
    plan = line(n, epsilon, dim=2, public=public)
    every = [found for found in studied(plan, rng, 150, slope=0.15) if found.slope is not None]
    assert len(every) > 100
    true = np.array([0.15 / 12.0, 0.0])
    errors = np.array([np.linalg.norm(found.slope - true) for found in every])
    radii = np.array([found.region().radius for found in every])
    margin = 5 * np.sqrt(0.05 * 0.95 / len(every))
    assert np.mean(errors <= radii) > 0.95 - margin
    if epsilon < 4:  # where the noise is most of the error
        assert np.mean(errors <= radii / 2) < 0.95 - margin
    for value in (40.0, 65.0):
        mean = np.array([0.15 * (value - 50) / 12.0, 0.1])
        inside = [np.linalg.norm(found.at(value) - mean) <= found.region(at=value).radius for found in every]
        assert np.mean(inside) > 0.95 - margin


def test_records_at_one_end_of_the_limits_are_no_change(rng):
    """All covariates lie at the upper limit, and the mean is far from the centre: the mean of s is 1, and no part of the mean
    may be taken for a difference of the halves."""
    plan = line(4000, 4.0)
    points = np.tile([0.9, 0.0], (4000, 1))
    found = [plan.run(points, np.full(4000, 90.0), "one record", "", rng) for _ in range(40)]
    assert np.mean([one.p_value <= 0.05 for one in found]) < 0.05 + 5 * np.sqrt(0.05 * 0.95 / 40)
    assert all(one.slope is None for one in found)


def test_a_test_alone_has_more_power_and_no_slope(rng):
    points, age = people(rng, 150, 0.3)
    found = sf.private_regression(points, age, PLANE, 1.0, limits=LIMITS, name="age", test_only=True)
    assert found.slope is None
    assert line(150, test_only=True).halves.scale.sigma < line(150).halves.scale.sigma
    for ask in (found.region, lambda: found.at(50)):
        with pytest.raises(ValueError, match="the slope was not asked for: the test of no change is all"):
            ask()
    assert "Only this test was asked for" in found.describe()


# -- what is refused ----------------------------------------------------------------------------------------------------
class Never:
    def charge(self, facts, record):
        raise AssertionError("charged for a regression that is refused")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"limits": None}, "say between which public limits age lies"),
        ({"limits": (90, 20)}, "the smaller first"),
        ({"limits": (-1e308, 1e308)}, "the smaller first"),
        ({"limits": (0.0, 1e-323)}, "the smaller first"),
        ({"epsilon": 0.1}, "the slope would mostly be too noisy"),
        ({"epsilon": 0.001}, "no change could be seen"),
        ({"covariate": np.ones((600, 2))}, "one number for each record"),
        ({"covariate": np.ones(7)}, "600 records and 7 covariates"),
        (
            {"covariate": np.append(np.full(599, 50.0), np.nan)},
            "the first being record 599: give it or leave them out; as the middle of the limits: invalid='center'",
        ),
        ({"covariate": "age"}, "there is no label 'age'"),
        ({"unit": np.zeros(600)}, "there is 1 unit, and 3 are needed"),
        ({"by": np.append(np.zeros(598), [1, 1])}, "the group '1.0' has 2 units"),
        ({"by": np.arange(600) % 2, "unit": np.arange(600) // 2}, "a unit has records in two groups"),
        ({"public_covariate": [1.0, 2.0]}, "goes with a public sample"),
    ],
)
def test_what_cannot_be_regressed_is_refused_before_it_is_charged(change, words, rng):
    points, age = people(rng, 600)
    asked = {"covariate": age, "region": PLANE, "epsilon": 1.0, "limits": LIMITS, "name": "age", "budget": Never()}
    with pytest.raises((sf.Refusal, ValueError), match=words):
        sf.private_regression(points, **asked | change)


@pytest.mark.parametrize(("wide", "known"), [(8, True), (26, False)])
def test_limits_that_are_too_wide_for_a_slope_are_refused_where_public_covariates_say_so(wide, known, rng):
    """C falls with the square of the width: the distance from the middle over the width, 0.8/26, would allow the second."""
    z = rng.normal(0, 1 / wide, 1000)
    points = rng.normal(0, 0.2, (1000, 2))
    region = sf.Ellipsoid.from_sample(sf.Euclidean(dim=2), points[:400], relation="same")
    asked = {"epsilon": 1.5, "limits": (-0.5, 0.5), "public_covariate": z[:400]}
    assert 1000 * 1.5 * 0.12 * np.mean(np.abs(z[:400])) > 3.8
    if known:
        assert sf.private_regression(points, z, region, **asked).n == 1000
    else:
        with pytest.raises(sf.Refusal, match="mostly be too noisy"):
            sf.private_regression(points, z, region, budget=Never(), **asked)


def test_a_record_without_a_covariate_counts_as_the_middle_if_that_is_wished(rng):
    points, age = people(rng, 600)
    age[0] = np.nan
    assert sf.private_regression(points, age, PLANE, 1.0, limits=LIMITS, invalid="center").n == 600


def test_a_person_is_one_unit_with_the_mean_of_their_own_covariates(rng, monkeypatch):
    seen = []
    run = Line.run

    def noted(plan, points, z, *rest):
        seen.append((points, z))
        return run(plan, points, z, *rest)

    monkeypatch.setattr(Line, "run", noted)
    points, age = people(rng, 1200)
    who = np.arange(1200) // 2
    found = sf.private_regression(points, age, PLANE, 1.0, limits=LIMITS, unit=who)
    assert found.n == 600
    ((rows, z),) = seen
    order = np.unique(who.astype(str), return_index=True)[1]
    pairs = {tuple(np.round([a, *row], 9)) for a, row in zip(z, rows, strict=True)}
    expected = {
        tuple(np.round([age[i : i + 2].mean(), *points[i : i + 2].mean(axis=0)], 9)) for i in sorted(order.tolist())
    }
    assert pairs == expected


def test_the_mean_of_a_unit_never_leaves_the_limits(rng, monkeypatch):
    """Means of numbers at a limit are rounded beyond it, where limits are close to each other and far from zero."""
    seen = []
    monkeypatch.setattr(Line, "_mean", lambda plan, name, numbers, rng: seen.append(numbers) or 0.5)
    low = 1e15
    records = np.full(3864, low + 1)
    assert np.mean(records[:1288]) > low + 1
    who = np.arange(3864) // 1288
    asked = {"limits": (low, low + 1), "unit": who, "allow_useless": True}
    sf.private_regression(np.zeros((3864, 2)), records, PLANE, 1.0, **asked)
    assert seen[0].tolist() == [1.0] * 3
    assert all(numbers.min() >= 0 and numbers.max() <= 1 for numbers in seen)


def test_both_promises_of_a_regression_name_the_same_neighbours(rng):
    points, age = people(rng, 600)
    found = sf.private_regression(points, age, PLANE, 1.0, limits=LIMITS, covariate_is_public=True)
    assert found.halves.guarantee.neighbours == found.guarantee.neighbours == Neighbours.COVARIATES


# -- groups, files, words -----------------------------------------------------------------------------------------------
def test_groups_with_other_slopes_are_told_apart_and_those_with_the_same_are_not(rng):
    age = np.clip(rng.normal(50, 12, 4000), *LIMITS)
    sex = np.arange(4000) % 2
    points = rng.normal(0, 0.2, (4000, 2)) + np.outer((age - 50) / 12, [0.15, 0.0])
    other = points + np.outer(sex * (age - 50) / 12, [-0.3, 0.0])
    same, apart = (sf.private_regression(each, age, PLANE, 2.0, limits=LIMITS, by=sex) for each in (points, other))
    assert apart.difference().differs
    assert apart.difference().p_value < 1e-3
    assert same.difference().p_value > 1e-4
    assert same.difference().chart_radius > same.groups["0"].region().chart_radius
    with pytest.raises(ValueError, match="there is no group 'x'; the groups are 0, 1"):
        same.difference("x")
    assert len(same.differences) == 1
    assert "The slopes of 0 and 1 differ (p below 0.001, at the level of 0.05)." in apart.describe()


def test_the_difference_of_slopes_is_no_better_known_than_the_steeper_one(rng):
    """Its error grows with the slope, and so would be too small by the length of the other, which the test may use."""
    z = rng.uniform(0, 1, 600)
    group = np.repeat(["flat", "steep"], 300)
    points = np.where(group == "steep", 1.9 * (z - 0.5), 0.0)[:, None] + rng.normal(0, 0.02, (600, 1))
    ball = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0)
    plan = Line("z", (0.0, 1.0), False, False, ball.as_chart(), PureDP(2.0), None, 300)
    each = {
        name: plan.run(points[group == name], z[group == name], "one record", "", rng) for name in ("flat", "steep")
    }
    found = Regressions(epsilon=2.0, groups=each)
    flat, steep = found.groups.values()
    apart = found.difference()
    assert apart.chart_radius > steep.region().chart_radius
    short = lengths(*(each.chart_error(0.95, 0.0, each.lever(1.0), flat.longest(0.95)) for each in (flat, steep)))
    assert np.quantile(short, 0.95) < 0.9 * apart.chart_radius


def test_pairs_whose_slopes_are_not_known_count_in_the_correction(rng):
    points, age = people(rng, 1800)
    found = sf.private_regression(points, age, PLANE, 2.0, limits=LIMITS, by=np.arange(1800) % 3)
    hidden = {**found.groups, "2": replace(found.groups["2"], product=-1.0)}
    some = replace(found, groups=hidden)
    assert [(one.first, one.second, one.tests) for one in some.differences] == [("0", "1", 3)]
    assert some.differences[0].adjusted == pytest.approx(min(1.0, 3 * some.differences[0].p_value))
    with pytest.raises(ValueError, match="too noisy to be known"):
        some.difference("0", "2")


def test_the_slope_of_a_public_sample_is_the_baseline(rng):
    """On the sphere: the public slope is that of its own tangents, and the test along it sees what it should."""
    space = sf.Sphere(dim=2)
    north = np.array([0.0, 0.0, 1.0])

    def directions(n):
        z = rng.uniform(0, 1, n)
        v = rng.normal(0, 0.1, (n, 3)) * [1, 1, 0] + np.outer(z - 0.5, [0.3, 0.0, 0.0])
        return space.exp(north, v), z

    public, known = directions(80)
    points, z = directions(3000)
    region = sf.Ellipsoid.from_sample(space, public, relation="same")
    found = sf.private_regression(points, z, region, 1.0, limits=(0, 1), public_covariate=known)
    assert found.p_along < 0.001
    slope = (np.array(found.baseline) * found.axes) @ found.basis
    assert np.linalg.norm(slope) == pytest.approx(0.3, abs=5 * found.baseline_error)
    assert found.slope @ slope / np.linalg.norm(slope) == pytest.approx(0.3, abs=0.2)
    assert "Along the change that public specimens show: p below 0.001." in found.describe()
    few = "fewer than three public points have covariates that differ within the limits"
    for wrong, words in (([1.0], "80 public points need as many"), (np.ones(80), few), (np.full(80, np.nan), few)):
        with pytest.raises(ValueError, match=words):
            sf.private_regression(points, z, region, 1.0, limits=(0, 1), public_covariate=wrong)


def test_public_points_without_a_covariate_are_left_out_of_the_baseline(rng):
    """The slope is that of the others, wherever these lie: a line without noise is met exactly."""
    z = np.arange(9.0)
    z[[0, 5]] = np.nan
    public = np.stack([0.3 + 0.1 * np.arange(9.0), np.full(9, 0.2)], axis=1)
    region = sf.Ellipsoid.from_sample(sf.Euclidean(dim=2), public)
    slope, error = region.public_slope(z)
    assert slope == pytest.approx([0.1, 0.0])
    assert error == pytest.approx(0.0, abs=1e-12)
    records = rng.normal(0.5, 0.1, (900, 2))
    found = sf.private_regression(records, rng.uniform(0, 8, 900), region, 2.0, limits=(0, 8), public_covariate=z)
    assert (np.array(found.baseline) * found.axes) @ found.basis == pytest.approx([0.1, 0.0])


def test_it_works_on_every_space_is_saved_and_drawn(space, rng, tmp_path):
    from conftest import cloud, typical_radius

    base, radius = space.origin(), typical_radius(space)
    points = space.present(cloud(space, base, 0.3 * radius, 60, rng))
    ball = sf.Ball(space, space.present(base), radius)
    z = rng.uniform(0, 1, 60)
    how = {"limits": (0, 1), "name": "dose", "covariate_is_public": True, "allow_useless": True}
    found = sf.private_regression(points, z, ball, 8.0, **how)
    assert found.slope.shape == (space.dim,)
    assert found.at(0.5).shape == ball.space.present(base).shape
    found.save(tmp_path / "found.json")
    again = sf.Regression.load(tmp_path / "found.json")
    assert again.describe() == found.describe()
    assert again.sha256 == found.sha256
    assert found.plot(tmp_path / "found.png").axes
    with pytest.raises(ValueError, match="outside the public limits, 0 to 1"):
        found.at(2.0)


def test_an_altered_file_is_not_read(rng, tmp_path):
    points, age = people(rng, 600, 0.2)
    found = sf.private_regression(points, age, PLANE, 1.0, limits=LIMITS, name="age")
    path = tmp_path / "age.json"
    found.save(path)
    document = json.loads(path.read_text())
    for key, value in (("upper", 0.5), ("limits", [90.0, 20.0]), ("axes", [1.0]), ("widths", {"mean": 1.0})):
        path.write_text(json.dumps(document | {key: value}))
        with pytest.raises(sf.RecordError, match="altered"):
            sf.Regression.load(path)
