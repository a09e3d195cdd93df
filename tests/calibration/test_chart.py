"""The law of a chart's error, and how far its mean is from the Fréchet mean."""

import numpy as np
import pytest
from scipy.stats import chi, gamma

import sfumato as sf
from sfumato.calibration.chart import chart_bias, chart_error

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
    assert chart_bias(sf.SPD(size=2), 20.0) < 20.0 * (1 + 1e-8)  # H̄ ≥ 1, so the Fréchet mean is the nearer one to the centre
