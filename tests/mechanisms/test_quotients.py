"""KNG, the Laplace and the staircase on rotations, axes and hyperbolic space (proofs, Result 8)."""

import numpy as np
import pytest

import sfumato as sf
from attacks import adversary
from conftest import cloud, typical_radius
from sfumato.audit import Pair, audit, exact_loss, neighbours
from sfumato.laws.bounds import bounds_of
from sfumato.laws.calibration.rounding import crossing, stretch_at_cut_locus
from sfumato.records import Records

TURNS, AXES, PLANE = sf.Rotations(), sf.Axes(dim=2), sf.Hyperbolic(dim=2)
SPACES = [TURNS, sf.Axes(dim=1), AXES, PLANE]
MECHANISMS = [sf.KNG, sf.ManifoldLaplace, sf.ManifoldStaircase, sf.Exponential]


def ball_of(space, radius, off=0.3):
    """A ball that is not about the origin."""
    return sf.Ball(space, space.present(space.exp(space.origin(), _vector(space, off))), radius)


def _vector(space, length):
    c = np.arange(1.0, space.dim + 1)
    return space.from_coordinates(space.origin(), length * c / np.linalg.norm(c))


# -- the sphere above ------------------------------------------------------------------------------------------------------
def test_curvatures_and_radii():
    for space, kappa in ((TURNS, 0.25), (AXES, 1.0), (sf.Axes(dim=5), 1.0)):
        bounds, limit = bounds_of(space), np.pi / (2 * np.sqrt(kappa))
        assert (bounds.curvature, bounds.injectivity_radius) == ((kappa, kappa), pytest.approx(limit))
        assert (bounds.convexity_radius, bounds.mean_radius_limit) == (pytest.approx(limit), pytest.approx(limit / 2))
    assert bounds_of(PLANE).curvature == (-1.0, 0.0)
    assert bounds_of(PLANE).radial_growth == 1.0


@pytest.mark.parametrize("space", [TURNS, AXES, sf.Axes(dim=4)], ids=str)
def test_logarithms_are_those_above_as_long_as_nothing_is_farther_than_the_injectivity_radius(space, rng):
    """Records in B_r(p₀), x in B_R(p₀), signs drawn at random: KNG's energy is that of the sphere if r + R is below the limit,
    and is not if it is beyond, which is why the limit is asked for."""
    limit, sphere = bounds_of(space).injectivity_radius, sf.Sphere(dim=space.dim)
    for r, R, same in ((0.45, 0.54, True), (0.3, 0.69, True), (0.7, 0.8, False)):
        center = cloud(space, space.origin(), limit, 1, rng)[0]
        records, x = (cloud(sphere, center, share * limit * space.q, 300, rng) for share in (r, R))
        above = np.linalg.norm(sphere.mean_log(x, records), axis=1) / space.q
        signs = rng.choice([-1.0, 1.0], (2, 300, 1))
        here = np.linalg.norm(space.mean_log(signs[0] * x, signs[1] * records), axis=1)
        assert (np.abs(here - above).max() < 1e-9) == same
        looped = np.stack([space.log(y, records).mean(axis=0) for y in x[:5]])
        assert np.allclose(space.mean_log(x[:5], signs[1] * records), looped, atol=1e-12)


@pytest.mark.parametrize("space", [TURNS, AXES], ids=str)
def test_the_mean_is_the_one_above_and_does_not_depend_on_signs(space, rng):
    ball = ball_of(space, 0.9 * bounds_of(space).mean_radius_limit)
    above = cloud(sf.Sphere(dim=space.dim), ball.center, space.q * ball.radius, 30, rng)
    laplace = sf.ManifoldLaplace(ball, 1.0)
    mixed = above * rng.choice([-1.0, 1.0], (30, 1))
    mean = sf.Sphere(dim=space.dim).validate(sf.frechet_mean(sf.Sphere(dim=space.dim), above).point[None])
    assert space.distance(laplace.at(len(mixed)).center(Records(space, mixed)), mean[0]) < 1e-10


# -- bounds, tried ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("space", "r", "R"), [(TURNS, 0.8, 1.4), (AXES, 0.6, 0.9)], ids=str)
def test_no_spread_and_no_divergence_exceeds_its_bound(space, r, R, rng):
    assert 0.999 < adversary.spread_ratio(space, r, R, 2, rng) <= 1 + 1e-9
    u = (R - r) / 2
    assert 0.02 < adversary.divergence_ratio(space, r, R, 1, rng, steps=2) <= 1
    assert 0.01 < adversary.divergence_ratio(space, r, R, 1, rng, u=u, steps=2) <= 1


@pytest.mark.parametrize(("space", "radius"), [(TURNS, 1.2), (AXES, 0.74), (PLANE, 1.0)], ids=str)
def test_no_neighbours_move_the_mean_beyond_what_the_laplace_allows_for(space, radius, rng):
    laplace = sf.ManifoldLaplace(sf.Ball(space, space.present(space.origin()), radius), 1.0)
    assert 0.8 < adversary.mean_ratio(laplace, 60, 1, rng, steps=8) <= 1


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_volume_is_the_jacobian_of_exp(space, rng):
    base = cloud(space, space.origin(), 0.5, 1, rng)[0]
    v, step = rng.normal(size=space.dim) / np.sqrt(space.dim), 1e-5

    def at(c):
        return space.exp(base, space.from_coordinates(base, c))

    there = at(v)
    sides = [space.log(there, at(v + step * e)) - space.log(there, at(v - step * e)) for e in np.eye(space.dim)]
    jacobian = np.abs(np.linalg.det(space.coordinates(there, np.stack(sides)) / (2 * step)))
    found = bounds_of(space).log_volume_density(base, space.from_coordinates(base, v))
    assert np.exp(found) == pytest.approx(jacobian, rel=1e-6)


def test_the_whole_of_a_quotient_is_half_of_the_sphere():
    """∫V up to the injectivity radius, times the area of the directions: half of 2π² times 8 for rotations, of 4π for axes."""
    for space, directions, half in ((TURNS, 4 * np.pi, 8 * np.pi**2), (AXES, 2 * np.pi, 2 * np.pi)):
        u, w = np.polynomial.legendre.leggauss(60)
        limit = bounds_of(space).injectivity_radius
        radial = np.exp(bounds_of(space).log_radial_bounds(limit * (1 + u) / 2)[1])
        assert directions * limit / 2 * (w @ radial) == pytest.approx(half, rel=1e-12)


# -- radii -----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("space", "limit"), [(TURNS, np.pi / 2), (AXES, np.pi / 4), (sf.Axes(dim=1), np.pi / 4)], ids=str
)
def test_balls_up_to_half_the_injectivity_radius_are_lawful(space, limit):
    for kind, largest in ((sf.KNG, limit), (sf.Exponential, limit), (sf.ManifoldLaplace, 0.95 * limit)):
        assert kind(ball_of(space, largest * (1 - 1e-6)), 1.0).at(50).scale.sigma > 0
        with pytest.raises(
            sf.RadiusError, match=rf"on {space.__class__.__name__}.* needs a radius below {largest:.6g}"
        ):
            kind(ball_of(space, largest), 1.0).at(50)


def test_kng_stays_where_the_sphere_above_is_the_same():
    for space in (TURNS, AXES):
        for share in (0.2, 0.99):
            r = share * bounds_of(space).mean_radius_limit
            for n in (3, 100):
                assert r + sf.KNG(ball_of(space, r), 1.0).at(n).scale.region < bounds_of(space).injectivity_radius


def test_a_laplace_that_does_not_exist_on_the_hyperbolic_plane_is_refused():
    with pytest.raises(sf.Refusal, match="does not exist at this scale: n·ε must exceed 2"):
        sf.ManifoldLaplace(ball_of(PLANE, 1.0), 0.19).at(10)


# -- draws and releases ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", MECHANISMS)
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_they_are_released_by_every_mechanism(space, kind, rng):
    ball = ball_of(space, typical_radius(space))
    points = cloud(space, ball.center, 0.5 * ball.radius, 200, rng)
    points = points * rng.choice([-1.0, 1.0], (200, 1)) if space.name == "axes" else points
    release = sf.private_mean(space.present(points), ball, 2.0, kind.name)
    mean = space.validate(sf.frechet_mean(space, space.present(points)).point[None])
    assert space.distance(space.validate(release.value[None]), mean)[0] < release.error(1 - 1e-6)
    assert release.guarantee.numerical_delta < 1e-9


@pytest.mark.parametrize("space", [TURNS, AXES], ids=str)
def test_laplace_draws_reach_all_of_a_quotient_and_follow_their_law(space, rng):
    """Noise as wide as the space: distances from the mean have the law that errors are stated by."""
    laplace = sf.ManifoldLaplace(ball_of(space, 0.5), 0.9)
    points = np.repeat(laplace.ball.center[None], 2, axis=0)
    draws = space.validate(laplace.sample(space.present(points), 20_000, rng))
    distance = space.distance(laplace.ball.center, draws)
    assert distance.max() > 0.99 * bounds_of(space).injectivity_radius
    for p in (0.2, 0.5, 0.9):
        assert np.mean(distance <= laplace.at(2).error_quantile(p)) == pytest.approx(
            p, abs=5 * np.sqrt(p * (1 - p) / 20_000)
        )
    narrower = sf.ManifoldLaplace(laplace.ball, 0.9 * 1.1)  # 10% less noise is found out
    assert abs(np.mean(distance <= narrower.at(2).error_quantile(0.5)) - 0.5) > 5 * np.sqrt(0.25 / 20_000)


@pytest.mark.parametrize(
    ("space", "share"), [(TURNS, 0.3), (TURNS, 0.4), (AXES, 0.47), (sf.Axes(dim=1), 0.45)], ids=str
)
def test_what_is_projected_is_no_farther_from_any_point_of_the_ball(space, share, rng):
    """Beyond a third of the injectivity radius the nearest point of the ball may be farther from some, which are behind."""
    limit = bounds_of(space).injectivity_radius
    plan = sf.ManifoldLaplace(ball_of(space, share * limit), 1.0).at(500)
    center, radius = plan.ball.center, plan.ball.radius
    inside = space.exp(center, space.random_directions(center, 400, rng) * (radius * rng.random(400) ** 0.1)[:, None])
    grew = 0.0
    for length in np.linspace(0.1, 0.999, 40) * limit:
        draw = space.exp(center, length * space.random_directions(center, 1, rng)[0])
        before = space.distance(draw, inside)
        assert (space.distance(plan.projected(draw), inside) <= before + 1e-9).all()
        grew = max(grew, (space.distance(plan.ball.clip(space.present(draw)[None])[0], inside) - before).max())
    assert (grew > 1e-3) == (share > 1 / 3)  # clipping alone would be wrong there


@pytest.mark.parametrize("space", [TURNS, AXES, sf.Axes(dim=1), sf.Sphere(dim=1)], ids=str)
def test_draws_near_the_wall_of_the_cut_locus_are_counted(space, rng):
    """A draw within e of the cut locus of the centre can be rounded to the opposite end: as seldom as the record says."""
    ball = ball_of(space, 0.3 * bounds_of(space).mean_radius_limit)
    plan = sf.ManifoldLaplace(ball, 1.0).at(1)
    limit, e = bounds_of(space).injectivity_radius, 0.01
    data = space.exp(ball.center, space.from_coordinates(ball.center, ball.radius * np.eye(space.dim)[:1]))
    draws = space.validate(plan.draws(Records(space, data), 40_000, rng))
    found = np.mean(np.abs(space.distance(ball.center, draws) - limit) < e)
    counted = stretch_at_cut_locus(space, plan.error_law, ball.radius, plan.far)
    assert 1e-4 < found < crossing(space.dim, plan.spacing, e * counted)
    assert plan.stretched_length > counted * plan.lengths[-1] * 2


# -- the audit -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", MECHANISMS[:3])
@pytest.mark.parametrize(("space", "radius"), [(TURNS, 0.8), (AXES, 0.7), (sf.Axes(dim=1), 0.7), (PLANE, 1.0)], ids=str)
def test_the_exact_audit_clears_them_and_convicts_what_claims_too_little(space, radius, kind):
    ball, count = ball_of(space, radius), 10 if space.dim == 3 else 32
    pair = next(found for found in neighbours(ball, 8) if "centre, one record across the ball" in found.name)
    found = exact_loss(kind(ball, 1.0), pair.first, pair.second, count)
    assert not found.broken
    assert found.loss > 0.4
    other = exact_loss(kind(ball, 3.0), pair.first, pair.second, count)  # noise for ε = 3 that claims 1
    assert other.loss > 1.2


@pytest.mark.parametrize("space", [TURNS, AXES], ids=str)
def test_the_audit_by_draws_clears_them_and_convicts_a_quarter_of_their_scale(space):
    ball = ball_of(space, 0.8 if space is TURNS else 0.5)
    pair = next(found for found in neighbours(ball, 10) if "boundary, one record across the ball" in found.name)

    def verdict(kind, epsilon):
        return audit(kind(ball, epsilon).sample, 1.0, pair, region=ball, draws=6000)

    for kind in (sf.ManifoldLaplace, sf.KNG)[: 2 if space is TURNS else 1]:
        assert not verdict(kind, 1.0).convicted
        assert verdict(kind, 4.0).convicted


def test_records_whose_matrices_are_symmetric_are_audited_as_rotations_are():
    """The identity and half turns are symmetric matrices; what is drawn about them is not."""
    ball = sf.Ball(TURNS, np.eye(3), 0.8)
    pair = next(found for found in neighbours(ball, 10) if "centre, one record across the ball" in found.name)
    still = Pair("no difference", np.repeat(np.eye(3)[None], 10, axis=0), np.repeat(np.eye(3)[None], 10, axis=0))
    for each in (pair, still):
        assert not audit(sf.ManifoldLaplace(ball, 1.0), pairs=each, draws=2000).convicted
