"""The staircase: its law, its privacy where it is worst, what rounding can do to its thresholds (proofs, Result 5c)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from sfumato.audit import neighbours
from sfumato.audit.exact import center_loss, exact_loss
from sfumato.laws.bounds import bounds_of
from sfumato.laws.calibration.rounding import UNIT
from sfumato.laws.radial import RadialLaw
from sfumato.mechanisms import choose
from sfumato.mechanisms.staircase import MOST_STEPS, best_gamma, roughness, staircase_law

TINY = 1e-6
PLACES = [sf.Euclidean(dim=2), sf.Sphere(dim=2), sf.SPD(size=2)]


def staircase(space, epsilon, radius=0.3):
    return sf.ManifoldStaircase(sf.Ball(space, space.present(space.origin()), radius), epsilon)


def mean_length(law):
    end = law.edges[-1]
    return end * law.expect(lambda u: u / end)


def across(space, radius, n):
    """n records at the centre, the last one moved from one end of the ball to the other."""
    center, direction = space.origin(), space.from_coordinates(space.origin(), np.eye(space.dim)[:1])
    ends = [space.exp(center[None], sign * radius * direction) for sign in (1.0, -1.0)]
    return [space.present(np.concatenate([np.stack([center] * (n - 1)), end])) for end in ends]


@dataclass(frozen=True)
class Narrow(sf.ManifoldStaircase):
    """Wrong on purpose: Δ is a fifth too small."""

    def noise(self, n, epsilon):
        scale = super().noise(n, epsilon)
        return replace(scale, sigma=0.8 * scale.sigma)


# -- the law -----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("dim", "epsilon", "ratio"),
    [(2, 1, 0.993), (2, 2, 0.955), (2, 4, 0.776), (2, 8, 0.365), (3, 1, 0.999), (3, 2, 0.985), (3, 4, 0.88), (3, 8, 0.53),
     (6, 1, 1.0), (6, 4, 0.98), (6, 8, 0.79)],
)  # fmt: skip
def test_the_mean_error_over_that_of_the_laplace_is_as_in_theory(dim, epsilon, ratio):
    plan = staircase(sf.Euclidean(dim=dim), epsilon).at(100)
    assert mean_length(plan.error_law) / (dim * plan.scale.sigma) == pytest.approx(ratio, abs=0.005)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0, 8.0])
def test_in_one_dimension_it_is_the_optimal_noise_of_geng_and_viswanath(epsilon):
    """γ = 1/(1 + e^(ε/2)) and a mean error of Δ·e^(ε/2)/(e^ε − 1)."""
    gamma = best_gamma(sf.Euclidean(dim=1), 1 / epsilon, epsilon)
    assert gamma == pytest.approx(1 / (1 + np.exp(epsilon / 2)), rel=0.04)  # candidates are 7.5% apart
    found = mean_length(staircase_law(sf.Euclidean(dim=1), 1 / epsilon, epsilon, gamma))
    assert found == pytest.approx(np.exp(epsilon / 2) / np.expm1(epsilon), rel=2e-3)


@pytest.mark.parametrize("space", [sf.Euclidean(dim=3), sf.Sphere(dim=2), sf.SPD(size=2)], ids=str)
def test_no_other_gamma_has_a_smaller_mean_error(space):
    plan = staircase(space, 4.0).at(50)
    sigma, jump, gamma = plan.scale.sigma, plan.scale.numbers["jump"], plan.scale.numbers["gamma"]
    best = mean_length(plan.proposals)
    others = [mean_length(staircase_law(space, sigma, jump, g)) for g in np.linspace(0.02, 1, 50)]
    assert best < min(others) * (1 + 1e-3)
    assert best < 0.97 * mean_length(staircase_law(space, sigma, jump, 2 * gamma))


def survival(law, u):
    """P(distance > u), by the cells of the law."""
    if u >= law.edges[-1]:
        return float(law._cell_masses[-1] / law._cell_masses.sum())
    cell = int(np.searchsorted(law.edges, u, side="right")) - 1
    part = law._mass(np.array([u, law.edges[cell + 1]]))[0]
    return float((part + law._cell_masses[cell + 1 :].sum()) / law._cell_masses.sum())


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_the_law_is_a_mixture_of_uniform_balls(dim):
    """In flat space: ball j with probability ∝ e^(−εj)·(j + γ)^d."""
    epsilon, gamma = 3.0, 0.4
    law = staircase_law(sf.Euclidean(dim=dim), 1 / epsilon, epsilon, gamma)
    radii = np.arange(60) + gamma
    share = np.exp(-epsilon * np.arange(60)) * radii**dim
    for u in (0.1, 0.4, 0.41, 1.3, 2.0, 5.0):
        inside = np.sum(share * np.minimum(1, u / radii) ** dim) / share.sum()
        assert survival(law, u) == pytest.approx(1 - inside, rel=1e-8)
    for p in (0.3, 0.95, 0.999):
        assert survival(law, law.quantile(p)) == pytest.approx(1 - p, rel=1e-4)
        assert survival(law, law.quantile(p)) <= (1 - p) * (1 + 1e-9)


@pytest.mark.parametrize("space", [*PLACES, sf.Sphere(dim=1), sf.PlanarShapes(landmarks=3)], ids=str)
def test_draws_follow_the_law(space, rng):
    mechanism, n = staircase(space, 4.0), 10
    points = np.stack([space.present(space.origin())] * n)
    plan = mechanism.at(n)
    found = space.distance(space.origin(), space.validate(mechanism.sample(points, 20_000, rng)))

    def p_value(plan):
        grid = np.linspace(0, plan.error_quantile(1 - 1e-9), 1200)
        return stats.kstest(found, lambda u: np.interp(u, grid, [1 - survival(plan.error_law, t) for t in grid])).pvalue

    assert p_value(plan) > TINY
    for wrong in (0.8, 1.2):
        numbers = {**plan.scale.numbers, "gamma": wrong * plan.scale.numbers["gamma"]}
        assert p_value(plan.settled(plan.n, plan.ideal, replace(plan.scale, numbers=numbers))) < TINY


def test_noise_as_wide_as_the_space_has_one_step_or_none():
    """One record and a tiny ε: the second threshold lies beyond the antipode."""
    plan = staircase(sf.Sphere(dim=2), 0.01, 1.4).at(1)
    assert len(plan.proposals.steps) == 1
    assert plan.error_quantile(0.5) == pytest.approx(np.pi / 2, rel=0.01)
    uniform = staircase_law(plan.space, plan.scale.sigma, plan.ideal, 1.0)
    assert uniform.quantile(0.5) == pytest.approx(np.pi / 2, rel=1e-6)
    assert roughness(uniform) == 0


# -- privacy -----------------------------------------------------------------------------------------------------------------
def energies_apart(plan, distance):
    """The largest difference of energies between radii at most ``distance`` apart, looked for where the thresholds are."""
    law = plan.proposals
    near = np.nextafter(law.steps, 0), law.steps, np.nextafter(law.steps, np.inf), law.edges
    u = np.unique(np.concatenate([*near, *(t + distance for t in near), *(t - distance for t in near)]))
    u = u[u >= 0]
    reach = u[np.searchsorted(u, u + distance, side="right") - 1]
    return float(np.max(law.energy(reach) - law.energy(u)))


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0, 30.0])
@pytest.mark.parametrize("space", [*PLACES, sf.Sphere(dim=1), sf.SPD(size=5), sf.PlanarShapes(landmarks=20)], ids=str)
def test_radii_as_far_apart_as_means_can_be_differ_by_epsilon_at_most(space, epsilon):
    plan = staircase(space, epsilon, 0.1).at(30)
    moved = plan.scale.numbers["delta"] + plan.scale.numbers["solver"]
    jump = plan.scale.numbers["jump"]
    assert energies_apart(plan, moved) <= jump * (1 + 1e-9)
    assert energies_apart(plan, moved / 100) == pytest.approx(jump, rel=1e-9)  # however close the means
    assert energies_apart(plan, 1.001 * moved) >= (1.5 if len(plan.proposals.steps) > 1 else 1.0) * jump


@pytest.mark.parametrize("space", PLACES, ids=str)
def test_the_density_ratio_at_the_worst_pair_is_epsilon_also_at_thresholds(space):
    """Points on the geodesic through two centres as far apart as neighbours can have them, at every threshold of either."""
    plan = staircase(space, 2.0).at(20)
    numbers, law = plan.scale.numbers, plan.proposals
    moved = numbers["delta"] + numbers["solver"]
    direction = space.from_coordinates(space.origin(), np.eye(space.dim)[:1])

    def along(t):
        return space.exp(space.origin()[None], np.asarray(t).reshape(-1, *(1,) * len(space.point_shape)) * direction)

    first, second = along([0.0])[0], along([moved])[0]
    u = np.concatenate([law.steps[:12] * (1 + tiny) for tiny in (-1e-9, 0.0, 1e-9)])
    x = along(np.concatenate([u, -u, moved + u, moved - u]))
    losses = np.abs(law.energy(space.distance(first, x)) - law.energy(space.distance(second, x)))
    assert losses.max() == pytest.approx(numbers["jump"])
    farther = np.abs(law.energy(space.distance(first, x)) - law.energy(space.distance(along([1.001 * moved])[0], x)))
    assert farther.max() == pytest.approx(2 * numbers["jump"])


@pytest.mark.parametrize(("space", "count"), [*zip(PLACES, (48, 48, 12), strict=True), (sf.Sphere(dim=1), 2)], ids=str)
def test_the_exact_audit_clears_it_and_convicts_a_sensitivity_a_fifth_too_small(space, count):
    """Normalisers by quadrature about each mean; the worst loss is ε itself."""
    good, n = staircase(space, 2.0), 5
    bad = Narrow(good.ball, 2.0)
    pair = across(space, good.ball.radius, n)
    found = exact_loss(good, *pair, count)
    assert not found.broken
    assert found.loss == pytest.approx(2.0, rel=1e-4)
    assert exact_loss(bad, *pair, count).loss == pytest.approx(4.0, rel=1e-3)
    assert exact_loss(bad, *pair, count).broken
    for other in neighbours(good.ball, n)[:6]:
        assert not exact_loss(good, other.first, other.second, count).broken
    assert center_loss(good, *pair) <= 2.0 < center_loss(bad, *pair)


def test_a_law_that_does_not_exist_is_refused_in_words():
    with pytest.raises(sf.Refusal, match=r"the staircase distribution on SPD.* does not exist .* use more records"):
        staircase(sf.SPD(size=2), 0.1, 2.0).plan(20)
    with pytest.raises(sf.RadiusError, match="the manifold staircase on Sphere"):
        staircase(sf.Sphere(dim=2), 1.0, 1.55).plan(20)


# -- floating point ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dim", [1, 3, 96, 3000])
@pytest.mark.parametrize("epsilon", [0.37, 1.0, 7.3])
def test_thresholds_as_doubles_are_far_enough_apart_for_every_rounding(dim, epsilon):
    """Directions are off by (d/2 + 2) units at most, and differently for two data sets."""
    plan = staircase(sf.Euclidean(dim=dim), epsilon, 0.1).at(300)
    sensitivity = Fraction(plan.scale.numbers["delta"]) + Fraction(plan.scale.numbers["solver"])
    off = Fraction(dim + 4, 2) * Fraction(UNIT)

    def enough(thresholds):
        exact = pairwise(Fraction(float(t)) for t in thresholds)
        return all(b * (1 - off) - a * (1 + off) >= sensitivity for a, b in exact)

    assert len(plan.proposals.steps) > 5
    assert enough(plan.proposals.steps)
    step = float(sensitivity)
    assert not enough(step * (np.arange(len(plan.proposals.steps)) + plan.scale.numbers["gamma"]))


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0, 12.0])
@pytest.mark.parametrize("dim", [1, 2, 6])
def test_the_lattice_is_fine_against_the_steps(dim, epsilon):
    """E|∂ log density| is Σ shareⱼ·d/radiusⱼ over the uniform balls; the lattice is at most a sixteenth of its inverse."""
    plan = staircase(sf.Euclidean(dim=dim), epsilon).at(100)
    jump, gamma = plan.scale.numbers["jump"], plan.scale.numbers["gamma"]
    step, j = plan.scale.sigma * jump, np.arange(400)
    share = np.exp(-jump * j) * (j + gamma) ** dim
    rough = np.sum(share * dim / ((j + gamma) * step)) / share.sum()
    assert roughness(plan.proposals) == pytest.approx(rough, rel=1e-6)
    assert plan.spacing * max(rough, 1 / plan.scale.sigma) <= 1 / 16
    if dim == 1 and epsilon >= 8:  # tied to σ alone it would not be
        assert plan.scale.sigma / 16 * rough > 0.25


@pytest.mark.parametrize(
    "space", [sf.Sphere(dim=2), sf.PlanarShapes(landmarks=4), sf.SPD(size=2), sf.SPD(size=4)], ids=str
)
def test_roughness_is_a_bound_on_curved_spaces_too(space):
    """Against the derivative of the probability of a shell: the mass that a small shift of all radii carries over a step."""
    law = staircase(space, 4.0, 0.3).at(60).proposals
    area = bounds_of(space).log_sphere_area(np.ones(1)) is not None
    true = replace(law, log_volume=bounds_of(space).log_sphere_area if area else None)
    heights = np.exp(true.volume(true.steps) - true.energy(np.nextafter(true.steps, 0)))
    falls = np.sum(heights) * -np.expm1(-law.jumps.max()) / np.exp(np.logaddexp.reduce(true.log_masses()))
    assert falls <= roughness(law) * (1 + 1e-9)
    assert roughness(law) <= 1.2 * falls  # and not an idle one


def test_few_draws_lie_near_a_face_of_the_lattice(rng):
    """In one dimension at ε = 8 the density is steepest against σ: the share of draws within e of a face is at most 2.5·e/s."""
    plan = staircase(sf.Euclidean(dim=1), 8.0).at(100)
    u = plan.proposals.sample(200_000, rng)

    def share(spacing, e):
        offset = np.abs(np.mod(u / spacing, 1.0) - 0.5) * spacing  # faces half-way between lattice points
        return float(np.mean(offset < e))

    e = plan.spacing / 50
    assert share(plan.spacing, e) < 2.5 * e / plan.spacing
    coarse = 1.8 * plan.proposals.steps[0]  # faces just before the first threshold, where nearly all draws are
    assert share(coarse, coarse / 50) > 2.5 / 50


@pytest.mark.parametrize("space", [*PLACES, sf.PlanarShapes(landmarks=20)], ids=str)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 1000.0])
def test_what_rounding_adds_is_within_epsilon_and_a_small_delta(space, epsilon):
    plan = staircase(space, epsilon, 0.2).plan(500)
    assert plan.ideal + plan.losses.numerical_epsilon <= epsilon
    assert 1e-12 < plan.losses.numerical_delta <= 1e-6
    assert plan.losses.clock_delta == 0
    assert plan.scale.numbers["jump"] == plan.ideal


def test_many_small_steps_end_in_an_even_rise():
    plan = staircase(sf.Euclidean(dim=40), 0.05).at(10)
    law, laplace = plan.proposals, sf.ManifoldLaplace(plan.ball, 0.05).at(10)
    assert len(law.steps) == MOST_STEPS - 1
    assert law.energy(law.steps[-1:] + 3 * plan.scale.sigma)[0] == pytest.approx((MOST_STEPS - 2) * 0.05 + 3, abs=0.06)
    assert plan.error_quantile(0.95) == pytest.approx(laplace.error_quantile(0.95), rel=0.01)


def test_an_epsilon_beyond_all_reason_is_studied_without_a_crash(rng):
    for dim in (1, 3):
        mechanism = sf.ManifoldStaircase(sf.Ball(sf.Euclidean(dim=dim), np.zeros(dim), 1.0), 1e6, "as run")
        assert np.abs(mechanism.sample(np.zeros((10, dim)), 50, rng)).max() < 0.01
        assert 0 < mechanism.at(10).noise_length <= mechanism.at(10).scale.sigma


def test_laws_without_jumps_are_what_they_were(rng):
    """A jump of zero changes no number of a law and no draw."""
    plain = RadialLaw.from_slope(sf.Sphere(dim=2), lambda u: 0 * u + 4.0, np.pi)
    none = replace(plain, jumps=np.zeros(len(plain.edges)))
    assert np.array_equal(plain.sample(500, np.random.default_rng(1)), none.sample(500, np.random.default_rng(1)))
    assert plain.quantile(0.9) == none.quantile(0.9)


# -- releases ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("space", PLACES, ids=str)
def test_releases_are_within_their_stated_error(space):
    mechanism, n = staircase(space, 4.0), 40
    points = np.stack([space.present(space.origin())] * n)
    releases = [mechanism.release(points) for _ in range(250)]
    found = np.array([float(space.distance(space.origin(), space.validate(r.value[None])[0])) for r in releases])
    for p in (0.5, 0.95):
        within = np.mean(found <= releases[0].error(p))
        assert abs(within - p) < 5 * np.sqrt(p * (1 - p) / len(found)) + 0.05  # and is no idle bound
    assert releases[0].record["calibration"]["numbers"].keys() >= {"delta", "solver", "gamma", "jump"}


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0, 8.0])
def test_auto_takes_it_only_where_draws_have_a_smaller_95_percent_error(dim, epsilon, rng):
    ball, n = sf.Ball(sf.Euclidean(dim=dim), np.zeros(dim), 1.0), 50
    stair, laplace = (kind(ball, epsilon) for kind in (sf.ManifoldStaircase, sf.ManifoldLaplace))
    ours, theirs = (
        np.quantile(np.linalg.norm(m.sample(np.zeros((n, dim)), 40_000, rng), axis=1), 0.95) for m in (stair, laplace)
    )
    chosen = choose(ball, n, epsilon).name
    others = [kind(ball, epsilon).plan(n).error_95 for kind in (sf.KNG, sf.ManifoldLaplace)]
    assert (chosen == "staircase") == (epsilon >= 2 and stair.plan(n).error_95 < min(others))
    if ours > 1.04 * theirs:
        assert chosen != "staircase"
    if ours < 0.96 * theirs:
        assert chosen == "staircase"
