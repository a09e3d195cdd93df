"""One noise, every kind of privacy (proofs, Result 9): against forty digits, draws, and a search for counterexamples."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from scipy.special import erfinv, expit, logsumexp, xlogy
from scipy.stats import kstest

from sfumato.laws import noise as module
from sfumato.laws.noise import Noise, Parts, kappa, largest_noise
from sfumato.laws.privacy import GDP, ApproxDP


def by_gamma(p: int, s: float, epsilon: float) -> mp.mpf:
    """Return δ(ε) by another formula, to forty digits: the mean over the length r of the noise, which is Gamma(p), of
    F((s² − ε²)/(2rs) − ε/s) − e^ε·F(−(s² − ε²)/(2rs) − ε/s), F the law of a coordinate of a point of the unit sphere."""
    with mp.workdps(40):
        s = mp.mpf(s)
        epsilon = mp.mpf(epsilon)
        half = mp.mpf(p - 1) / 2

        def below(t: mp.mpf) -> mp.mpf:
            return mp.betainc(half, half, 0, min(1, max(0, (1 + t) / 2)), regularized=True)

        def mass(r: mp.mpf) -> mp.mpf:
            side = (s * s - epsilon * epsilon) / (2 * r * s)
            both = below(side - epsilon / s) - mp.exp(epsilon) * below(-side - epsilon / s)
            return both * mp.exp((p - 1) * mp.log(r) - r - mp.loggamma(p))

        width = 3 * mp.sqrt(p)
        far = [(s + epsilon) / 2 + k * width for k in range(math.ceil(float((p + 14 * mp.sqrt(p) + 60) / width)))]
        return mp.quad(mass, [mp.mpf(0), (s - epsilon) / 2, *far])


NODES, WEIGHTS = np.polynomial.legendre.leggauss(600)
CASES = [
    (2, 1.01, 1.0),
    (2, 10.0, 0.0),
    (3, 1.5, 0.3),
    (5, 1.0137, 1.0),
    (20, 50.0, 20.0),
    (96, 2.4224, 1.0),
    (200, 8.0, 4.0),
]


@pytest.mark.parametrize(("p", "s", "epsilon"), CASES)
def test_delta_agrees_with_forty_digits_and_the_certificate_is_above(p, s, epsilon, monkeypatch):
    true = by_gamma(p, s, epsilon)
    noise = Noise(s, p)
    assert abs(noise.delta(epsilon) / true - 1) < 1e-9
    assert true <= noise.certified(epsilon) <= 1.01 * true
    monkeypatch.setattr(module, "kappa", lambda p, s: 1.001 * kappa(p, s))
    module._integral.cache_clear()
    assert abs(noise.delta(epsilon) / true - 1) > 1e-9
    module._integral.cache_clear()


def test_scales_are_those_of_the_table_and_below_a_gaussians():
    table = {2: 1.0000, 5: 1.0137, 10: 1.0912, 20: 1.2940, 50: 1.818, 96: 2.4224}
    gaussian = {2: 5.97, 5: 9.45, 10: 13.4, 20: 18.9, 50: 29.9, 96: 41.4}
    mu = max(mu for mu in np.linspace(0.2, 0.3, 10_001) if GDP(mu).profile(1.0) <= 1e-6)
    for p, s in table.items():
        noise = largest_noise(p, ((1.0, 1e-6),))
        assert noise.epsilon == pytest.approx(s, rel=1e-3)
        assert noise.certified(1.0) <= 1e-6 < Noise(1 + 1.01 * (noise.epsilon - 1), p).delta(1.0)
        assert math.sqrt(p) / mu == pytest.approx(gaussian[p], rel=5e-3)
        assert math.sqrt(p * (p + 1)) / noise.epsilon < math.sqrt(p) / mu


@pytest.mark.parametrize("p", [2, 3, 10])
def test_losses_of_draws_follow_the_law(p, rng):
    s = 6.0
    x = rng.normal(size=(200_000, p))
    x *= (rng.gamma(p, size=len(x)) / np.linalg.norm(x, axis=1))[:, None]
    losses = np.linalg.norm(x - s * np.eye(p)[0], axis=1) - np.linalg.norm(x, axis=1)
    angle = np.linspace(0, np.pi, 20_001)

    def chance(k: float) -> float:
        """Return the chance of a Kolmogorov distance as large as that of the draws, for this κ."""
        density = np.exp(s / 2 * np.cos(angle)) * np.sin(angle) ** (p - 2) * (k + (s * np.sin(angle)) ** 2)
        below = np.cumsum(density) / np.sum(density)
        return float(kstest(losses, lambda x: np.interp(x, s * np.cos(angle)[::-1], 1 - below[::-1])).pvalue)

    assert chance(kappa(p, s)) > 1e-6
    assert chance(2 * (p - 1) * s) < 1e-6  # without the ratio of Bessel functions


def log_moment(p: int, s: float, a: float) -> float:
    """Return log M(a), M(a) = ∫ cosh(al)·w(l) dl: w has atoms at ±s and a density between them if p is 1."""

    def log_cosh(x):
        return np.logaddexp(x, -x)

    if p == 1:
        return float(np.logaddexp(log_cosh(a * s) + math.log(2), a * s + math.log(-math.expm1(-2 * a * s) / a)))
    angle = np.pi / 4 * (1 + NODES)
    w = np.log(WEIGHTS) + xlogy(p - 2, np.sin(angle)) + np.log(kappa(p, s) + (s * np.sin(angle)) ** 2)
    return float(logsumexp(log_cosh(a * s * np.cos(angle)) + w))


def test_no_renyi_divergence_exceeds_rho():
    worst = 0.0
    for p, s, alpha in itertools.product((1, 2, 3, 5, 20, 96), (0.1, 0.5, 1, 3, 10, 30), (1.01, 1.5, 2, 5, 30, 300)):
        divergence = (log_moment(p, s, alpha - 0.5) - log_moment(p, s, 0.5)) / (alpha - 1)
        bound = alpha * Noise(s, p).rho
        assert divergence <= bound * (1 + 1e-7), (p, s, alpha)
        worst = max(worst, divergence / bound) if s == 0.1 else worst
    assert worst > 0.98  # a ρ 2% smaller does not hold


@pytest.mark.parametrize("p", [1, 2, 3, 5, 20, 96])
def test_no_trade_off_is_worse_than_that_of_mu(p):
    for s in (0.1, 1.0, 2.6, 4.8, 12.0, 20.0):
        noise = Noise(s, p)
        exact = math.sqrt(8) * float(erfinv(noise.delta(0.0)))
        places = np.linspace(0, s, 60)
        assert all(noise.delta(x) <= GDP(exact).profile(x) * (1 + 1e-7) for x in places), s
        assert noise.delta(0.0) > GDP(0.99 * exact).profile(0.0)
        assert exact <= noise.mu <= GDP(exact).mu * (1.01 if s < 3 else 2)
        assert noise.mu <= Noise(s).mu * (1 + 1e-8)


def test_delta_grows_with_the_shift_and_falls_with_epsilon():
    for p in (0, 1, 2, 3, 20, 300):
        over = np.array([[Noise(s, p).delta(x) for s in np.linspace(0.05, 8, 40)] for x in (-1.0, 0.0, 0.5, 2.0)])
        assert np.all(np.diff(over) >= 0)
        assert np.all(np.diff(over, axis=0) <= 0)
        assert np.all(np.diff(over[1]) > 0)


def discrete(noise: Noise, count: int = 600) -> np.ndarray:
    """Return the probabilities of so many outcomes for two neighbours: their losses follow the law of the noise."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    sine = np.sin(np.pi / 2 * (1 + nodes))
    half = noise.epsilon / 2 * np.cos(np.pi / 2 * (1 + nodes))
    mass = (
        weights
        * sine ** (noise.directions - 2)
        * (kappa(noise.directions, noise.epsilon) + (noise.epsilon * sine) ** 2)
    )
    both = mass * np.exp([half, -half])
    return both / both.sum(axis=1, keepdims=True)


def interaction(spent: float, ways: list[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """Return the probabilities of all transcripts for two neighbours: a stage of three answers, a noise that they choose, and a
    stage of two answers, of which each outcome of the noise decides which is the likelier."""

    def answers(epsilon: float) -> np.ndarray:
        return np.array([[expit(epsilon), expit(-epsilon)], [expit(-epsilon), expit(epsilon)]])

    first = spent * rng.choice([0.0, 1.0, rng.random()])
    before = answers(first) @ rng.dirichlet([0.1, 0.1, 0.1], size=2)
    after = answers(spent - first)
    whole = []
    for answer in before.T:
        noise = ways[rng.integers(len(ways))]
        turned = rng.random(noise.shape[1]) < rng.random()
        last = np.where(turned[:, None], after[:, None, ::-1], after[:, None, :])
        whole.append(answer[:, None, None] * noise[:, :, None] * last)
    return np.concatenate(whole, axis=1).reshape(2, -1)


def test_no_stage_before_or_after_the_noise_does_worse_than_the_formula(rng):
    ways = (Noise(1.3, 3), Noise(3.0, 40))
    laws = [discrete(way) for way in ways]
    share = []
    for _ in range(400):
        epsilon = rng.choice([0.3, 1.0, 1.8])
        one, other = interaction(0.4, laws, rng)
        found = np.sum(np.maximum(0, one - math.exp(epsilon) * other))
        share.append([found / Parts(spent, ways).delta(epsilon) for spent in (0.4, 0.36)])
    assert np.max(share, axis=0)[0] <= 1.003
    assert np.max(share, axis=0)[1] > 1.03


def test_least_epsilon_is_certified_and_close_to_the_least():
    for spent, ways in itertools.product(
        (0.0, 0.3), ((Noise(1.0, 96),), (Noise(0.9, 2), Noise(1.1, 30)), (Noise(0.8),))
    ):
        parts = Parts(spent, ways)
        least = parts.least_epsilon(1e-6)
        assert parts.certified(least) <= 1e-6 < parts.delta(0.995 * least)


@pytest.mark.parametrize("p", [1, 2, 3, 20, 2000])
def test_the_largest_noise_is_found_for_any_numbers(p):
    for epsilon, delta in itertools.product((0.0, 1e-6, 1.0, 50.0), (1e-12, 1e-6, 0.5)):
        noise = largest_noise(p, ((epsilon, delta),))
        assert noise.epsilon >= epsilon
        assert noise.certified(epsilon) <= delta
        assert (
            Noise(epsilon + 1.02 * (noise.epsilon - epsilon) + 1e-11 * epsilon, p).delta(epsilon) > delta
            or noise.epsilon > 1e3
        )


@pytest.mark.parametrize("p", [0, 1, 2, 20_000])
@pytest.mark.parametrize("s", [1e-100, 1e-9, 1e4])
def test_no_number_is_too_small_or_too_large(p, s):
    noise = Noise(s, p)
    for epsilon in (0.0, s / 3, s, 2 * s):
        assert 0 <= noise.certified(epsilon) <= 1
        assert noise.certified(-epsilon) == pytest.approx(
            -math.expm1(-epsilon) + math.exp(-epsilon) * noise.certified(epsilon)
        )
    assert 0 < noise.mu <= 1.2534 * s
    assert math.isfinite(noise.rho)


def test_scales_of_many_directions_are_between_those_of_a_few():
    def one(p: int) -> float:
        return largest_noise(p, ((1.0, 1e-6),)).epsilon

    found = ApproxDP(1.0, 1e-6).scales(300)
    assert len(found) == 300
    assert all(found[p - 1] == pytest.approx(one(p), rel=0.01) for p in (1, 2, 7, 30, 123, 300))
    assert np.all(np.diff(found) > 0)
