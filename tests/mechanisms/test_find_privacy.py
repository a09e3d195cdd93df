"""A ball that is found privately: the law of the search is ε-private, ε adds up, and nothing fails once it is charged."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from sfumato.laws.sampling.discrete import discrete_laplace
from sfumato.mechanisms import choose
from sfumato.mechanisms.find import MARGIN, Find, Finder
from sfumato.mechanisms.stages import Composition, FirstStep
from sfumato.records import Records

LINE = sf.Euclidean(dim=1)


class Budget:
    def __init__(self):
        self.charged = []

    def charge(self, facts, record):
        self.charged.append(facts.epsilon)


def law_of_the_search(counts, target, epsilon, width=None):
    """The exact chance of each candidate, by the sum over the noise of the threshold."""
    a = math.exp(-epsilon / 2) if width is None else math.exp(-1 / width)
    k = np.arange(-300, 301)
    limits, masses = target + k, (1 - a) / (1 + a) * a ** np.abs(k)
    below, found = np.ones(len(k)), []
    for count in counts:
        m = (limits - count).astype(float)
        held = np.where(m <= 0, 1 - a ** np.maximum(1 - m, 1) / (1 + a), a ** np.maximum(m, 0) / (1 + a))
        found.append(float((masses * below * held).sum()))
        below = below * (1 - held)
    found[-1] += float((masses * below).sum())
    return np.array(found)


def worst_ratio(epsilon, n, candidates=4, **law):
    """Over all data sets of n records among the candidates, or beyond, and all their neighbours."""
    worst = 0.0
    for places in itertools.combinations_with_replacement(range(candidates + 1), n):
        for gone, new in itertools.product(sorted(set(places)), range(candidates + 1)):
            other = [*places]
            other[other.index(gone)] = new
            first, second = ([sum(p <= i for p in data) for i in range(candidates)] for data in (places, other))
            for target in range(n + 1):
                ratio = law_of_the_search(first, target, epsilon, **law) / law_of_the_search(
                    second, target, epsilon, **law
                )
                worst = max(worst, float(np.abs(np.log(ratio)).max()))
    return worst


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_the_exact_law_of_the_search_is_private_for_all_neighbours_and_half_the_noise_is_not(epsilon):
    worst = max(worst_ratio(epsilon, n) for n in (1, 2, 3))
    assert 0.6 * epsilon < worst <= epsilon * (1 + 1e-9)
    assert worst_ratio(epsilon, 3, width=1 / epsilon) > epsilon


def test_the_search_as_it_is_run_follows_that_law():
    ball, n, epsilon = sf.Ball(LINE, [0.0], 1.0), 12, 1.0
    finder = Finder.of(ball, n, None, Fraction(epsilon), 0.75)
    grid = finder.grid
    points = grid[:n, None] * 0.999  # so that it ends early
    counts = [(points[:, 0] <= t).sum() for t in grid]
    rng, draws = np.random.default_rng(7), 3000
    found = [finder.find(Records(LINE, points), rng)[1] for _ in range(draws)]
    places = np.bincount(np.searchsorted(grid, np.array(found) / MARGIN - 1e-12), minlength=len(grid))

    def p_value(width):
        expected = draws * law_of_the_search(counts, finder.target, epsilon, width)
        often = expected > 5
        rest = [places[~often].sum()], [expected[~often].sum()]
        return stats.chisquare(
            *(np.concatenate([x[often], r]) for x, r in zip((places, expected), rest, strict=True))
        ).pvalue

    assert finder.width == 2
    assert p_value(2.0) > 1e-6
    assert p_value(1.4) < 1e-6


def test_noise_needs_a_positive_scale():
    for scale in (Fraction(0), Fraction(-3, 2)):
        with pytest.raises(ValueError, match="scale of noise must be positive"):
            discrete_laplace(scale, np.random.default_rng(0))


def spent(plan):
    """What all parts of a plan spend, exactly."""
    if not isinstance(plan, Composition):
        return Fraction(plan.ideal)
    total = Fraction(plan.chart.ideal)
    if plan.spread is not None:
        total += 1 / plan.width
    if isinstance(plan.first, FirstStep):
        total += Fraction(plan.first.first.ideal)
    if isinstance(plan.first, Find):
        finder = plan.first.finder
        total += 2 / finder.width + (0 if finder.first is None else Fraction(finder.first.ideal))
    return total


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 0.7, 1 / 3, 8.0])
@pytest.mark.parametrize("inference", [0.0, 0.1, 1e-6, 0.5])
@pytest.mark.parametrize("how", [{}, {"steps": 2}, {"find": "ball"}, {"find": "radius"}])
def test_parts_never_cost_more_than_was_charged(epsilon, inference, how):
    for n in (1, 17, 100_000):
        plan = choose(
            sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 1.0], 1.0),
            n,
            epsilon,
            "tangent",
            inference=inference,
            **how,
        )
        assert 0.999 * epsilon < spent(plan) <= Fraction(epsilon)


def test_a_second_search_in_an_equal_space_is_made_as_the_first():
    """Plans are kept by what they are asked, so that their space may be another object, though the same space."""
    matrices = np.repeat(np.eye(3)[None], 400, axis=0)
    for _ in range(3):
        found = sf.find_region(matrices, sf.Ball(sf.SPD(size=3), np.eye(3), 2.0), 8.0)
        assert np.linalg.norm(np.log(np.linalg.eigvalsh(found.center))) < 0.5


@pytest.mark.parametrize("radius", [100.0, 600.0])
def test_a_centre_that_cannot_be_one_leaves_that_of_the_prior(radius):
    """Noise leads to matrices that no double can hold: that is told by what is released, and is no error after the charge."""
    budget, matrices = Budget(), np.repeat(np.eye(3)[None], 20, axis=0)
    for _ in range(4):
        found = sf.find_region(matrices, sf.Ball(sf.SPD(size=3), np.eye(3), radius), 0.5, budget=budget)
        assert np.isfinite(found.center).all()
    release = sf.private_mean(
        matrices, prior=sf.Ball(sf.SPD(size=3), np.eye(3), radius), epsilon=0.5, allow_useless=True, budget=budget
    )
    assert np.isfinite(release.value).all()
    assert budget.charged == [0.5] * 5


def test_a_prior_whose_candidates_are_no_lengths_is_refused_before_the_charge():
    budget = Budget()
    for radius in (1e-97, 9e99):
        with pytest.raises(ValueError, match="too extreme"):
            sf.find_region(np.zeros((50, 1)), sf.Ball(LINE, [0.0], radius), 1.0, budget=budget)
    assert not budget.charged


class Moody(sf.Euclidean):
    """A space whose distance fails for a record, but not as seen from the centre of the prior."""

    def distance(self, a, b):
        if np.any(np.asarray(b)[..., 0] > 0.9) and np.any(np.asarray(a) != 0):
            raise FloatingPointError("no distance")
        return super().distance(a, b)


def test_a_record_without_a_distance_is_counted_nowhere_and_fails_nothing():
    points = np.random.default_rng(0).uniform(-0.1, 0.1, size=(300, 2)) + np.array([0.3, 0.0])
    points[7] = [0.95, 0.0]
    budget, space = Budget(), Moody(dim=2)
    found = sf.find_region(points, sf.Ball(space, [0.0, 0.0], 1.0), 4.0, budget=budget)
    assert budget.charged == [4.0]
    assert 0 < found.radius < 2.3
