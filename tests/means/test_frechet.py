import numpy as np
import pytest

import sfumato as sf
from conftest import cloud, typical_radius


def test_gradient_vanishes(space, rng):
    points = cloud(space, space.origin(), typical_radius(space), 60, rng)
    mean = sf.frechet_mean(space, space.present(points))
    assert mean.gradient_norm <= 1e-12
    x = space.validate(mean.point[None])
    assert float(space.norm(x, space.mean_log(x, points))[0]) <= 1e-11


@pytest.mark.parametrize("spread", [1e-9, 1e-5])
def test_tight_clusters_are_solved_as_well(space, rng, spread):
    points = cloud(space, space.origin(), spread, 40, rng)
    mean = sf.frechet_mean(space, space.present(points))
    assert mean.gradient_norm <= max(1e-12 * spread, 3e-15)


def test_it_is_the_minimiser(space, rng):
    points = cloud(space, space.origin(), typical_radius(space), 30, rng)
    x = space.validate(sf.frechet_mean(space, space.present(points)).point[None])[0]

    def cost(at):
        return np.sum(space.distance(at, points) ** 2)

    for direction in space.random_directions(x, 10, rng):
        assert cost(space.exp(x, 1e-3 * direction)) > cost(x)


def test_weights_count_like_copies(space, rng):
    points = cloud(space, space.origin(), typical_radius(space), 5, rng)
    copies = np.array([3, 1, 0, 2, 4])
    weighted = sf.frechet_mean(space, space.present(points), weights=copies).point
    repeated = sf.frechet_mean(space, space.present(np.repeat(points, copies, axis=0))).point
    assert space.distance(space.validate(weighted[None]), space.validate(repeated[None]))[0] < 1e-12


def test_known_means():
    matrices = np.array([np.diag([1.0, 4.0]), np.diag([4.0, 1.0]), np.diag([2.0, 16.0])])
    assert np.allclose(
        sf.frechet_mean(sf.SPD(size=2), matrices).point, np.diag([2.0, 4.0])
    )  # geometric, as they commute
    assert np.allclose(sf.frechet_mean(sf.Euclidean(dim=1), [[1.0], [2.0], [6.0]]).point, [3.0])


@pytest.mark.parametrize("scale", [1e-28, 1e28])
def test_spd_mean_scales_with_its_data(rng, scale):
    space = sf.SPD(size=3)
    points = cloud(space, np.eye(3), 2.0, 50, rng)
    assert np.allclose(
        sf.frechet_mean(space, scale * points).point / scale, sf.frechet_mean(space, points).point, rtol=1e-11
    )


def test_widely_spread_matrices_converge(rng):
    space = sf.SPD(size=4)
    mean = sf.frechet_mean(space, cloud(space, np.eye(4), 9.0, 60, rng))
    assert mean.gradient_norm < 1e-9


def test_stopping_early_warns_with_what_was_reached(rng, monkeypatch):
    space = sf.Sphere(dim=2)
    monkeypatch.setattr("sfumato.means.frechet.MAX_ITERATIONS", 1)
    with pytest.warns(sf.ConvergenceWarning, match=r"reached a gradient norm of .* in 1 steps"):
        sf.frechet_mean(space, cloud(space, space.origin(), 0.7, 20, rng))


def test_bad_weights_and_no_points_are_refused():
    with pytest.raises(ValueError, match="2 non-negative"):
        sf.frechet_mean(sf.Euclidean(dim=1), [[1.0], [2.0]], weights=[1.0, -1.0])
    with pytest.raises(ValueError, match="no points"):
        sf.frechet_mean(sf.Euclidean(dim=1), np.zeros((0, 1)))
