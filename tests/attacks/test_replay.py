"""Releases replayed on neighbours' data with the same outcomes: ours lose ε at most, those that are wrong are convicted."""

from fractions import Fraction

import numpy as np
import pytest

from attacks import Broken
from attacks.accounts import CLAIMS
from attacks.replay import CONTROLS, TRIES, Above, Pick, Place, Stop, Tape, Whole, primitives, replaced, worst
from sfumato.laws.sampling.discrete import discrete_laplace, exponential_choice
from sfumato.mechanisms import paying

ASKED = [CLAIMS[i] for i in (0, 4, 8, 10)]  # each kind once; `python -m attacks --only replay` does more


@pytest.mark.parametrize("name", TRIES)
def test_no_output_of_neighbours_tells_more_than_is_promised(name):
    found = worst(TRIES[name], len(ASKED), seed=1, asked=ASKED)
    assert found.held, found.words


@pytest.mark.parametrize("name", CONTROLS)
def test_what_is_wrong_on_purpose_is_convicted(name):
    """By nine pairs of neighbours; where the first of them are enough, no more are tried."""
    tried, wrong, asked = CONTROLS[name]
    found = (worst(tried, pairs, 1, wrong, asked) for pairs in (1, 9))
    assert any(one.numbers and not one.held for one in found)  # without numbers nothing was released


# -- the laws --------------------------------------------------------------------------------------------------------------
def within(logs, counts, n):
    """Whether counts of n are as probable as the logarithms say, at five standard deviations."""
    expected = np.exp(logs)
    return bool((np.abs(np.array(counts) - n * expected) <= 5 * np.sqrt(n * expected * (1 - expected)) + 1).all())


def search(limit, counts, scale, rng):
    top = limit + discrete_laplace(scale, rng)
    return next((j for j, count in enumerate(counts) if count + discrete_laplace(scale, rng) >= top), len(counts))


@pytest.mark.parametrize("part", [1.0, 0.8])
def test_the_laws_are_those_of_what_is_drawn(part, rng):
    """By draws; a scale 20% off is another law."""
    scale, rate, draws = Fraction(3, 2), 0.6, 6000
    losses, counts = [0, 1, 3], [0, 1, 1, 3]
    pick = Pick(tuple(losses), rate * part)
    drawn = np.bincount([exponential_choice(losses, max(losses), rate, rng) for _ in range(draws)], minlength=3)
    assert within([pick.log(j) for j in pick.outcomes], drawn, draws) == (part == 1)
    stop = Stop(2, scale * Fraction(part), counts)
    found = np.bincount([search(2, counts, scale, rng) for _ in range(draws)], minlength=5)
    assert within([stop.log(j) for j in stop.outcomes], found, draws) == (part == 1)
    whole = Whole(4, scale * Fraction(part))
    totals = [4 + discrete_laplace(scale, rng) for _ in range(draws)]
    assert within([whole.log(k) for k in range(2, 7)], [*map(totals.count, range(2, 7))], draws) == (part == 1)


def test_laws_sum_to_one_and_are_told_apart_as_far_as_they_can_be():
    for first, second in (
        (Stop(2, Fraction(3), [0, 1, 2, 2]), Stop(2, Fraction(3), [0, 1, 1, 1])),
        (Pick((0, 2, 9), 0.5), Pick((2, 0, 7), 0.5)),
        (Above(0.2, 0.5, 0.1), Above(0.7, 0.5, 0.1)),
    ):
        assert np.isclose(sum(np.exp(first.log(x)) for x in first.outcomes), 1.0)
        most = max(first.log(x) - second.log(x) for x in first.outcomes)
        chosen = first.telling(second, np.random.default_rng(0))
        assert first.log(chosen) - second.log(chosen) == most > 0
    here, there = Place(np.array([0.3, 0.0]), 0.1), Place(np.array([0.1, 0.0]), 0.1)
    chosen = here.telling(there, np.random.default_rng(0))
    assert np.isclose(here.log(chosen) - there.log(chosen), 2.0)


def test_randomness_that_the_table_does_not_know_is_found(rng):
    with replaced(primitives(Tape([], rng))), pytest.raises(Broken, match="laplace"):
        paying.secure_generator().laplace()
