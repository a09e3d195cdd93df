"""Draws against independent references, with tests that reject wrong variants."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from benchmarks.chain import metropolis
from conftest import cloud, column
from sfumato.laws.bounds import bounds_of
from sfumato.laws.calibration.error import exponential_error_law
from sfumato.laws.calibration.scale import Scale
from sfumato.laws.radial import RadialLaw
from sfumato.laws.sampling import EnvelopeError, Target
from sfumato.records import Records

TINY = 1e-6
DRAWS = 50_000


def weighted_ks(draws, reference, weights):
    """p-value of the two-sample Kolmogorov–Smirnov test, the reference being weighted."""
    order = np.argsort(reference)
    cumulative = np.cumsum(weights[order]) / weights.sum()
    x = np.sort(draws)
    at = np.concatenate([[0.0], cumulative])[np.searchsorted(reference[order], x, side="right")]
    steps = np.arange(len(x) + 1) / len(x)
    gap = max(np.abs(steps[1:] - at).max(), np.abs(steps[:-1] - at).max())
    effective = weights.sum() ** 2 / np.sum(weights**2)
    return stats.kstwobign.sf(gap * np.sqrt(len(x) * effective / (len(x) + effective)))


def independent_logs(space, x, places):
    """log_x(y) for each y of a few places and many x, from the textbook, in other words than the package's."""
    if isinstance(space, sf.SPD):
        w, v = np.linalg.eigh(x)
        inverse = (v * w[:, None] ** -0.5) @ v.transpose(0, 2, 1)
        return [
            log_of_matrices(inverse @ y @ inverse) for y in places
        ]  # the norm is Frobenius's in the frame of the root
    return [log_on_a_sphere(space, x, y) for y in places]


def log_of_matrices(matrices):
    w, v = np.linalg.eigh(matrices)
    return (v * np.log(w)[:, None]) @ v.transpose(0, 2, 1)


def log_on_a_sphere(space, x, y):
    if isinstance(space, sf.Sphere):
        c = np.clip(x @ y, -1, 1)[:, None]
        return np.arccos(c) / np.sqrt(1 - c**2) * (y - c * x)
    c = (np.conj(x) @ y)[:, None]
    turned = y * np.exp(-1j * np.angle(c))
    return (
        np.arccos(np.minimum(np.abs(c), 1))
        / np.sqrt(1 - np.minimum(np.abs(c), 1 - 1e-16) ** 2)
        * (turned - np.abs(c) * x)
    )


def reference(space, mean, sigma, energy, R, center, rng, size=250_000, volume=True):
    """An independent weighted sample: Gamma radii and uniform directions, weighted by density and volume."""
    d = space.dim
    radius = 1.15 * sigma * rng.standard_gamma(d, size)
    if np.isfinite(bounds_of(space).injectivity_radius):
        radius = radius[radius < bounds_of(space).injectivity_radius]
    vectors = space.random_directions(mean, len(radius), rng) * column(space, radius)
    x = space.exp(mean, vectors)
    log_weight = -energy(x, radius) + radius / (1.15 * sigma)
    if volume:
        log_weight = log_weight + bounds_of(space).log_volume_density(mean, vectors)
    weight = np.exp(log_weight - log_weight.max()) * (space.distance(center, x) <= R)
    return x, weight


CASES = [
    (sf.Sphere(dim=2), np.pi / 8, 50),
    (sf.Sphere(dim=5), 0.5, 60),
    (sf.PlanarShapes(landmarks=4), 0.2, 50),
    (sf.SPD(size=2), 1.5, 60),
    (sf.SPD(size=3), 1.0, 60),
]


def setting(space, r, n, rng):
    """n records in five places, so that the reference needs five logarithms a point."""
    center = cloud(space, space.origin(), 0.3, 1, rng)[0]
    places = cloud(space, center, r, 5, rng)
    points = np.repeat(places, n // 5, axis=0)
    mean = space.validate(sf.frechet_mean(space, space.present(points)).point[None])[0]
    return sf.Ball(space, space.present(center), r), places, points, mean


def marginals(space, center, mean, x):
    frame = space.coordinates(center, space.log(center, x))
    return {
        "radius": space.distance(mean, x),
        "to centre": space.distance(center, x),
        "first": frame[:, 0],
        "last": frame[:, -1],
    }


@pytest.mark.parametrize(("space", "r", "n"), CASES, ids=lambda x: str(x))
@pytest.mark.parametrize("kind", [sf.KNG, sf.ManifoldLaplace], ids=lambda k: k.__name__)
def test_draws_follow_their_density(space, r, n, kind, rng):
    ball, places, points, mean = setting(space, r, n, rng)
    mechanism = kind(ball, epsilon=1.0)
    scale = mechanism.at(n).scale
    data = ball.clip(space.present(points))

    def energy(x, radius):
        if kind is sf.ManifoldLaplace:
            return radius / scale.sigma
        logs = np.mean(independent_logs(space, x, places), axis=0)
        return np.linalg.norm(logs.reshape(len(x), -1), axis=1) / scale.sigma

    x, weight = reference(space, mean, scale.sigma, energy, scale.region, ball.center, rng, size=100_000)
    expected = marginals(space, ball.center, mean, x)

    def p_values(sigma_factor=1.0):
        wrong = mechanism.settled(n, 1.0, replace(scale, sigma=scale.sigma * sigma_factor))
        draws = marginals(space, ball.center, mean, wrong.target(Records(space, data)).draw(DRAWS, rng).points)
        return [weighted_ks(draws[name], expected[name], weight) for name in expected]

    assert min(p_values()) > TINY
    assert min(p_values(1.05)) < TINY  # a scale 5% off is found: 1e-26 or less


class NoVolume(RadialLaw):
    """A broken law: the radius is drawn as if the space had one dimension."""

    def volume(self, u):
        return np.zeros_like(u)


@pytest.mark.parametrize(("space", "r", "n"), CASES, ids=lambda x: str(x))
def test_a_missing_volume_element_is_found(space, r, n, rng):
    ball, _, points, mean = setting(space, r, n, rng)
    mechanism = sf.ManifoldLaplace(ball, epsilon=1.0)
    target = mechanism.at(len(ball.clip(space.present(points)))).target(
        Records(space, ball.clip(space.present(points)))
    )
    x, weight = reference(
        space,
        mean,
        mechanism.at(n).scale.sigma,
        lambda x, u: u / mechanism.at(n).scale.sigma,
        np.inf,
        ball.center,
        rng,
        size=50_000,
    )
    law = target.law
    broken = NoVolume(space, law.edges, law.slopes, law.unbounded).sample(20_000, rng)
    assert weighted_ks(broken, space.distance(mean, x), weight) < TINY


@pytest.mark.parametrize(
    ("space", "sigma"),
    [(sf.Sphere(dim=5), 0.25), (sf.SPD(size=2), 0.5), (sf.PlanarShapes(landmarks=4), 0.15)],
    ids=str,
)
def test_the_jacobian_matters_at_large_scales(space, sigma, rng):
    """At a large scale the curved volume element differs from the flat one, and leaving it out is found."""
    base = space.origin()
    law = RadialLaw.from_slope(space, lambda u: 0 * u + 1 / sigma, bounds_of(space).injectivity_radius)
    radius = space.distance(base, Target(space, base, law).draw(DRAWS, rng).points)
    for volume, good in ((True, True), (False, False)):
        x, weight = reference(space, base, sigma, lambda x, u: u / sigma, np.inf, base, rng, volume=volume)
        assert bool(weighted_ks(radius, space.distance(base, x), weight) > TINY) is good


@pytest.mark.parametrize(("space", "r", "n"), CASES[:4], ids=lambda x: str(x))
def test_exponential_draws_follow_their_density(space, r, n, rng):
    ball, places, points, mean = setting(space, r, n, rng)
    mechanism = sf.Exponential(ball, epsilon=4.0)
    sigma = mechanism.at(n).scale.sigma
    width = np.sqrt(sigma) * 0.9

    def energy(x, radius):
        return np.mean([space.distance(y, x) ** 2 for y in places], axis=0) / (2 * sigma)

    x, weight = reference(space, mean, width, energy, r, ball.center, rng)
    draws = mechanism.sample(space.present(points), DRAWS, rng)
    found, expected = (marginals(space, ball.center, mean, p) for p in (space.validate(draws), x))
    assert min(weighted_ks(found[name], expected[name], weight) for name in found) > TINY
    plan = mechanism.settled(n, 1.0, Scale(1.1 * sigma, "", {}, r))
    wide = plan.target(Records(space, ball.clip(space.present(points)))).draw(DRAWS, rng).points
    assert weighted_ks(space.distance(mean, wide), expected["radius"], weight) < TINY


def test_chain_agrees_with_exact_draws(rng):
    """The chain kept for comparison has the right target; repeating nothing on rejection would not."""
    space = sf.Sphere(dim=2)
    ball, _, points, mean = setting(space, np.pi / 8, 50, rng)
    kng = sf.KNG(ball, 1.0)
    target = kng.at(len(ball.clip(points))).target(Records(kng.space, ball.clip(points)))
    exact = space.distance(mean, target.draw(20_000, rng).points)
    chain = space.distance(mean, metropolis(target, 1500, rng, step=1.5 * kng.at(50).scale.sigma, burn_in=200, thin=25))
    assert stats.ks_2samp(chain, exact).pvalue > TINY
    assert stats.ks_2samp(1.25 * chain, exact).pvalue < TINY


@pytest.mark.parametrize(
    "space", [sf.Sphere(dim=5), sf.SPD(size=3), sf.Euclidean(dim=4), sf.PlanarShapes(landmarks=9)], ids=str
)
def test_radial_law_draws_and_quantiles_agree_with_quadrature(space, rng):
    sigma = 0.08
    law = RadialLaw.from_slope(space, lambda u: 0 * u + 1 / sigma, bounds_of(space).injectivity_radius)
    u = np.linspace(1e-9, min(bounds_of(space).injectivity_radius, 12.0), 400_001)
    density = np.exp(bounds_of(space).log_radial_bounds(u)[1] - u / sigma)
    cdf = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])
    cdf /= cdf[-1]
    draws = law.sample(100_000, rng)
    assert stats.kstest(draws, lambda x: np.interp(x, u, cdf)).pvalue > TINY
    assert stats.kstest(1.01 * draws, lambda x: np.interp(x, u, cdf)).pvalue < TINY
    for p in (0.05, 0.5, 0.95, 0.999):
        assert law.quantile(p) == pytest.approx(np.interp(p, cdf, u), rel=1e-5)
    with pytest.raises(ValueError, match="between 0 and 1"):
        law.quantile(1.0)


def test_predicted_errors_hold_and_the_laplace_is_exact(rng):
    for space, r, n in CASES:
        ball, _, points, mean = setting(space, r, n, rng)
        for kind in (sf.KNG, sf.ManifoldLaplace, sf.Exponential):
            mechanism = kind(ball, epsilon=2.0)
            distance = space.distance(mean, space.validate(mechanism.sample(space.present(points), 8_000, rng)))
            for p in (0.5, 0.95):
                bound, inside = (
                    mechanism.at(n).error_quantile(p),
                    np.mean(distance <= mechanism.at(n).error_quantile(p)),
                )
                assert inside >= p - 5 * np.sqrt(p * (1 - p) / 8_000)
                if kind is sf.ManifoldLaplace:
                    assert abs(inside - p) < 5 * np.sqrt(p * (1 - p) / 8_000)
                if kind is sf.KNG:
                    assert bound < 1.3 * np.quantile(distance, p)


def test_kng_error_holds_for_the_worst_data_too(rng):
    """Two clusters at opposite ends have the flattest gradient."""
    space, r, n = sf.Sphere(dim=2), 0.7, 200
    ends = np.array([[np.sin(r), 0, np.cos(r)], [-np.sin(r), 0, np.cos(r)]])
    kng = sf.KNG(sf.Ball(space, [0.0, 0.0, 1.0], r), epsilon=1.0)
    distance = space.distance(space.origin(), kng.sample(np.repeat(ends, 100, axis=0), 20_000, rng))
    assert np.mean(distance <= kng.at(n).error_quantile(0.95)) >= 0.95 - 0.008
    assert np.mean(distance <= kng.at(n).error_quantile(0.95) * 0.8) < 0.95


def test_an_envelope_above_the_target_is_caught(rng):
    space = sf.Sphere(dim=2)
    law = RadialLaw.from_slope(space, lambda u: 0 * u + 2.0, 1.0)
    with pytest.raises(EnvelopeError, match="nothing was released"):
        Target(space, space.origin(), law, energy=lambda x: space.distance(space.origin(), x), doubted=True).draw(
            100, rng
        )


def test_exponential_law_dominates_its_own_steps():
    law = exponential_error_law(sf.Sphere(dim=2), 0.4, 0.01)
    assert (np.diff(law.slopes) >= 0).all()
    assert law.quantile(0.5) < law.quantile(0.95) < 0.8


def test_few_gradients_per_draw(rng):
    """Data filling half of the ball; `python -m benchmarks.cost` prints these."""
    from benchmarks.cost import CASES as COSTS
    from benchmarks.cost import evaluations_per_draw

    for case in COSTS:
        assert evaluations_per_draw(case, size=2000, rng=rng) < case.limit
