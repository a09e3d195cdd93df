"""The law of a chart's error, and how far its mean is from the Fréchet mean."""

import numpy as np
import pytest
from scipy.stats import chi, gamma

import sfumato as sf
from sfumato.laws.calibration.chart import chart_bias, chart_error

AXES = {
    "one": np.array([2.0]),
    "ball": np.full(30, 0.1),
    "long and short": np.array([1.0, 0.01]),
    "falling": 1 / np.sqrt(np.arange(1, 41)),
    "steep": np.exp(-np.arange(12) / 3.0),
}


def draws(axes, sigma, size, rng, gaussian):
    g = rng.standard_normal((size, len(axes)))
    lengths = np.linalg.norm(g * axes, axis=1)
    return sigma * (lengths if gaussian else lengths / np.linalg.norm(g, axis=1) * rng.gamma(len(axes), size=size))


@pytest.mark.parametrize("gaussian", [False, True], ids=["pure", "normal"])
@pytest.mark.parametrize("axes", AXES.values(), ids=AXES)
def test_quantiles_cover_what_they_say_and_little_more(axes, gaussian, rng):
    size, law = 100_000, chart_error(axes, 0.3, gaussian)
    error = np.sort(draws(axes, 0.3, size, rng, gaussian))
    for level in (0.5, 0.9, 0.95, 0.99):
        slack = 5 * np.sqrt(level * (1 - level) / size)
        covered = np.searchsorted(error, law.quantile(level)) / size
        short = np.searchsorted(error, 0.93 * law.quantile(level)) / size
        assert level - slack <= covered <= 1 - 0.75 * (1 - level) + slack
        assert short < level - slack  # a scale 7% too small would not do


@pytest.mark.parametrize("p", [1, 2, 5, 96])
def test_the_ball_has_its_law_in_closed_form(p):
    for level in (0.1, 0.5, 0.95, 0.999):
        pure, normal = gamma.ppf(level, p), chi.ppf(level, p)
        assert 1 <= chart_error(np.full(p, 3.0), 0.5).quantile(level) / (1.5 * pure) < 1.03
        assert 1 <= chart_error(np.full(p, 3.0), 0.5, gaussian=True).quantile(level) / (1.5 * normal) < 1.02


@pytest.mark.parametrize("gaussian", [False, True], ids=["pure", "normal"])
@pytest.mark.parametrize("short", [1.0, 0.5, 0.1, 0.01, 1e-12, 1e-90])
def test_tails_are_above_the_exact_law_of_two_axes(short, gaussian):
    """In the direction at an angle the noise is an exactly known length: its tail is a mean over angles, at every length."""
    law, angle = chart_error(np.array([1.0, short]), 1.0, gaussian), (np.arange(2000) + 0.5) * np.pi / 2000

    def tail(factor):
        x = factor * np.sqrt(law.squares)[:, None] / np.hypot(np.cos(angle), short * np.sin(angle))
        return np.mean(np.exp(-x * x / 2) if gaussian else (1 + x) * np.exp(-x), axis=1)

    assert (law.tails >= tail(1.0)).all()
    assert (law.tails < tail(0.97)).any()  # lengths 3% too short would not do


def test_directions_that_are_dropped_still_make_the_noise_longer(rng):
    """Noise is drawn in six directions and kept in two: longer than if it had been drawn in two."""
    axes = np.array([1.0, 0.5, 0.0, 0.0, 0.0, 0.0])
    error = draws(axes, 1.0, 100_000, rng, gaussian=False)
    for level in (0.5, 0.95):
        assert level - 0.008 <= np.mean(error <= chart_error(axes, 1.0).quantile(level)) <= level + 0.01
        assert np.mean(error <= chart_error(axes[:2], 1.0).quantile(level)) < level - 0.1
    assert chart_error(np.zeros(3), 1.0).quantile(0.95) == 0.0


def test_quantiles_rise_and_scale():
    axes = AXES["falling"]
    law = chart_error(axes, 1.0)
    found = [law.quantile(level) for level in (0.01, 0.5, 0.95, 0.999999)]
    assert found == sorted(found)
    assert law.quantile(1 - 1e-12) == np.inf  # beyond the table nothing is said
    assert chart_error(axes * 1e-50, 1e30).quantile(0.95) == pytest.approx(1e-20 * law.quantile(0.95), rel=1e-9)
    assert chart_error(axes[::-1], 1.0).quantile(0.95) == law.quantile(0.95)
    with pytest.raises(ValueError, match="probability"):
        law.quantile(1.5)


# -- the bias -----------------------------------------------------------------------------------------------------------
def bias(space, tangents, weights):
    """‖log_c x̂ − t̄‖ of points with these tangent coordinates at the origin."""
    c = space.origin()
    points = space.present(space.exp(c, space.from_coordinates(c, tangents)))
    mean = space.validate(sf.frechet_mean(space, points, weights).point[None])[0]
    return float(np.linalg.norm(space.coordinates(c, space.log(c, mean)) - weights @ tangents / weights.sum()))


def worst_found(space, R, rng, steps=250):
    """A search for data in the ball, up to its boundary, whose bias is large."""
    best = 0.0
    for _ in range(3):
        t, w, here = rng.standard_normal((3, space.dim)), rng.uniform(0.2, 1, 3), 0.0
        t *= R / np.linalg.norm(t, axis=1, keepdims=True)
        for step in np.geomspace(0.6, 0.02, steps):
            t2, w2 = t + step * R * rng.standard_normal(t.shape), np.abs(w + step * rng.standard_normal(3)) + 1e-3
            t2 *= R / np.maximum(R, np.linalg.norm(t2, axis=1, keepdims=True))
            if (there := bias(space, t2, w2)) > here:
                t, w, here = t2, w2, there
        best = max(best, here)
    return best


@pytest.mark.parametrize(
    ("space", "R", "tight"),
    [
        (sf.Sphere(dim=2), 0.4, 0.6),
        (sf.Sphere(dim=2, curvature=4.0), 0.3, 0.6),
        (sf.SPD(size=2), 1.0, 0.5),
        (sf.PlanarShapes(landmarks=4), 0.25, 0.5),
    ],
    ids=str,
)
def test_no_data_are_found_with_a_larger_bias(space, R, tight, rng):
    """And the bound is not idle: some come near it, so that a bound half as large would be refuted."""
    found, proven = worst_found(space, R, rng), chart_bias(space, R)
    assert tight * proven < found <= proven


@pytest.mark.parametrize(
    ("space", "radii"),
    [
        (sf.Sphere(dim=2), (0.05, 0.8, 1.2)),
        (sf.SPD(size=2), (0.3, 3.0, 8.0)),
        (sf.SPD(size=3), (1.0, 4.0)),
        (sf.PlanarShapes(landmarks=4), (0.05, 0.4, 0.6)),
    ],
    ids=str,
)
def test_two_clusters_on_the_boundary_stay_within_the_bound(space, radii, rng):
    """The worst data that searches find; up to the largest radii, by the public bound and by the one at a release."""
    for R in radii:
        ratios = []
        for angle in np.linspace(0.2, np.pi - 0.05, 7):
            first, second = np.linalg.qr(rng.standard_normal((space.dim, 2)))[0].T
            tangents = R * np.array([first, np.cos(angle) * first + np.sin(angle) * second])
            for share in (0.03, 0.2, 0.5):
                weights = np.array([share, 1 - share])
                found, mean = bias(space, tangents, weights), float(np.linalg.norm(weights @ tangents))
                assert found <= chart_bias(space, R, mean) * (1 + 1e-9) + 1e-12
                ratios.append(found / chart_bias(space, R))
        assert max(ratios) <= 1
        if R < 0.1:
            assert max(ratios) > 0.3


def test_the_bound_at_a_release_is_the_smaller_the_nearer_it_is_to_the_centre(rng):
    for space, R in ((sf.Sphere(dim=3), 0.4), (sf.SPD(size=3), 1.5), (sf.PlanarShapes(landmarks=5), 0.2)):
        found = [chart_bias(space, R, reach) for reach in (0.05 * R, 0.2 * R, R, np.inf)]
        assert 0 < found[0] < found[1] <= found[2] == pytest.approx(found[3], rel=1e-8)
        for _ in range(30):
            t = rng.standard_normal((4, space.dim))
            t *= R * rng.uniform(0, 1, (4, 1)) / np.linalg.norm(t, axis=1, keepdims=True)
            w = np.ones(4)
            assert bias(space, t, w) <= chart_bias(space, R, float(np.linalg.norm(t.mean(axis=0)))) + 1e-12


def test_where_nothing_is_proven_nothing_is_said():
    assert chart_bias(sf.Sphere(dim=2), 1.6) == np.inf
    assert chart_bias(sf.PlanarShapes(landmarks=5), 0.8) == np.inf
    assert chart_bias(sf.Euclidean(dim=3), 1e9) == 0.0
    assert chart_bias(sf.Sphere(dim=2), 1.5) == np.inf  # H̄ is not known to be positive
    assert chart_bias(sf.SPD(size=2), 3.0) <= 0.1572 * 0.5 * 27
    assert chart_bias(sf.SPD(size=2), 20.0) < 20.0 * (
        1 + 1e-8
    )  # H̄ ≥ 1, so the Fréchet mean is the nearer one to the centre


# -- from the tangent space to the manifold ------------------------------------------------------------------------------
def stretched(r):
    """sinh(s)/s on SPD, whose curvature is at least −½."""
    return np.sinh(r / np.sqrt(2)) / (r / np.sqrt(2))


def ends(space, tangents):
    c = space.origin()
    return space.exp(c, space.from_coordinates(c, tangents))


def distances(space, a, b):
    return np.array([float(space.distance(x, y[None])[0]) for x, y in zip(ends(space, a), ends(space, b), strict=True)])


def vectors(space, lengths, rng):
    t = rng.standard_normal((len(lengths), space.dim))
    return t * (lengths / np.linalg.norm(t, axis=1))[:, None]


@pytest.mark.parametrize(
    "space", [sf.Sphere(dim=2), sf.Sphere(dim=4, curvature=2.0), sf.PlanarShapes(landmarks=5)], ids=str
)
def test_exp_stretches_by_no_more_than_is_stated(space, rng):
    """Not at all where no curvature is negative: to the cut locus and beyond."""
    a, b = (vectors(space, 5 * rng.random(400), rng) for _ in range(2))
    b = np.where(rng.random((400, 1)) < 0.5, b, a + 1e-3 * b)
    assert (distances(space, a, b) <= np.linalg.norm(a - b, axis=1) + 1e-7).all()


def test_matrices_are_stretched_by_no_more_than_is_stated(rng):
    space, R = sf.SPD(size=3), 2.5
    inside, near = (vectors(space, R * rng.random(400) ** 0.2, rng) for _ in range(2))
    near = np.where(rng.random((400, 1)) < 0.7, inside + 0.01 * near, near)
    near *= np.minimum(1, R / np.linalg.norm(near, axis=1))[:, None]
    ratio = distances(space, inside, near) / np.linalg.norm(inside - near, axis=1)
    assert 1.1 < ratio.max() <= stretched(R)
    outside = near * rng.uniform(1, 4, (400, 1))  # a draw that is not projected
    length = np.linalg.norm(outside - inside, axis=1)
    assert (distances(space, inside, outside) <= np.hypot(1, stretched(R)) * length).all()


def test_projection_onto_a_ball_and_where_it_fails(rng):
    """In the tangent space the nearest point of a ball is nearer to all of it; along the sphere only for outputs within
    2π − 3R; and clipping in the chart's norm is no projection."""
    space = sf.Sphere(dim=2)
    mean, draw = (vectors(space, size * rng.random(400), rng) for size in (1.0, 6.0))
    nearest = draw / np.maximum(1, np.linalg.norm(draw, axis=1))[:, None]
    assert (np.linalg.norm(nearest - mean, axis=1) <= np.linalg.norm(draw - mean, axis=1) + 1e-15).all()
    for R, limit in ((np.pi / 3, np.pi), (1.3, 2 * np.pi - 3.9)):
        z, x = vectors(space, R * rng.random(2000) ** 0.1, rng), vectors(space, rng.uniform(R, np.pi, 2000), rng)
        lengths = np.linalg.norm(x, axis=1)
        worse = distances(space, x * (R / lengths)[:, None], z) > distances(space, x, z) + 1e-9
        assert not worse[lengths <= limit].any()
        assert worse[lengths > limit].any() == (limit < np.pi)
    axes, w, at = np.array([1.0, 0.01]), np.array([1.0, 1.0]), np.array([1.0, 0.0])
    assert np.linalg.norm((w / np.linalg.norm(w) - at) * axes) > 25 * np.linalg.norm((w - at) * axes)
