"""Numbers of each kind of privacy from the law of a loss: those of the package's own formulas, found in another way."""

import numpy as np
import pytest

from attacks.accounts import CLAIMS, TOLERANCE, number, radial, reach, together, two_points
from attacks.arenas import ball_on
from attacks.matrix import _less, released
from sfumato.laws.noise import Noise
from sfumato.laws.privacy import GDP, ApproxDP, PureDP
from sfumato.mechanisms import KNG, ManifoldLaplace, TangentKNorm


@pytest.mark.parametrize("directions", [1, 2, 3, 8, 15])
def test_noise_has_what_it_is_given_for_and_a_tenth_less_has_not(directions):
    for claim in CLAIMS:
        shift = claim.noise(directions).epsilon
        assert number([radial(directions, shift)], claim) <= claim.numbers[0] * (1 + TOLERANCE)
        if claim.numbers[0] <= 1 and claim.symbols != "ρ":
            assert number([radial(directions, shift / 0.9)], claim) > claim.numbers[0] * (1 + TOLERANCE)


@pytest.mark.parametrize("directions", [2, 5])
def test_delta_is_that_of_the_package(directions):
    for shift, epsilon in ((1.0, 0.3), (1.0, 0.9), (8.0, 5.0)):
        exact = Noise(shift, directions).delta(epsilon)
        assert radial(directions, shift).delta(epsilon) == pytest.approx(exact, rel=5e-3)
        assert abs(radial(directions, 1.1 * shift).delta(epsilon) / exact - 1) > 0.02


def test_parts_add_up():
    one = two_points(0.5)
    assert number([one, one], PureDP(1.0)) == pytest.approx(1.0)
    assert number([one, one], ApproxDP(1.0, 1e-6)) == pytest.approx(1.0, abs=2e-3)
    assert together([one, one]).chances.sum() == pytest.approx(1.0)
    assert number([radial(3, 1.0)] * 4, GDP(1.0)) == pytest.approx(2 * radial(3, 1.0).mu)


def test_power_grows_with_draws_and_is_less_in_many_directions():
    few, many = (reach(radial(2, 1.0), PureDP(1.0), draws, 1e-6) for draws in (1000, 100_000))
    assert 0 < few < many < 1
    assert reach(radial(10, 1.0), PureDP(1.0), 100_000, 1e-6) < many
    rng = np.random.default_rng(0)
    drawn = [rng.binomial(100_000, p) for p in (np.exp(1.0) / (1 + np.exp(1.0)), 1 / (1 + np.exp(1.0)))]
    assert np.log(drawn[0] / drawn[1]) == pytest.approx(reach(two_points(1.0), PureDP(1.0), 100_000, 1e-6), abs=0.1)


@pytest.mark.parametrize("kind", [KNG, ManifoldLaplace, TangentKNorm])
def test_mechanisms_keep_every_kind_and_are_convicted_with_less_noise(kind):
    ball = ball_on("euclidean")
    assert released(kind, ball, CLAIMS[1::3], 1).held
    assert not released(kind, ball, CLAIMS[1:2], 1, _less(kind, 0.9)).held
