import numpy as np
import pytest

import sfumato as sf
from conftest import Placed, cloud, column, typical_radius
from sfumato.regions import ball as ball_module


def test_clip_moves_along_the_geodesic_and_leaves_the_rest(space, rng):
    center = cloud(space, space.origin(), typical_radius(space), 1, rng)[0]
    ball = sf.Ball(space, space.present(center), typical_radius(space))
    directions, radii = space.random_directions(center, 30, rng), np.linspace(0.1, 1.4, 30) * ball.radius
    points = space.exp(center, directions * column(space, radii))
    clipped = ball.clip(space.present(points))
    assert (ball.distances(clipped) <= ball.radius).all()
    expected = space.exp(center, directions * column(space, np.minimum(radii, ball.radius)))
    assert space.distance(clipped, expected).max() < 1e-11


def test_the_far_side_of_the_sphere_is_clipped_too():
    ball = sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 1.0], 0.4)
    assert ball.distances(ball.clip([[0.0, 0.0, -1.0]])) == pytest.approx([0.4])


def test_bad_records_raise_with_their_row_or_become_the_centre():
    ball = sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 1.0], 0.4)
    points = [[0.0, 0.0, 1.0], [np.nan, 0.0, 1.0], [0.1, 0.0, np.sqrt(0.99)]]
    with pytest.raises(sf.InvalidPointError, match="record 1: holds NaN"):
        ball.clip(points)
    assert np.allclose(ball.clip(points, invalid="center")[1], [0, 0, 1])
    with pytest.raises(ValueError, match="'raise' or 'center'"):
        ball.clip(points, invalid="drop")


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf])
def test_radius_must_be_positive(radius):
    with pytest.raises(ValueError, match="radius of the ball must be a positive number"):
        sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 1.0], radius)


def test_centre_and_radius_are_required_and_checked():
    with pytest.raises(TypeError):
        sf.Ball(sf.Sphere(dim=2))
    with pytest.raises(TypeError):
        sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="the centre of the ball is not of unit norm"):
        sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 3.0], 0.1)


def test_clipping_does_the_same_work_whether_a_record_lies_outside(monkeypatch):
    """The clock must not tell: the steps stand for time."""
    space = sf.Sphere(dim=2)
    ball = sf.Ball(space, space.origin(), 0.4)
    inside = np.tile(space.origin(), (5, 1))
    outside = inside.copy()
    outside[-1] = [0.0, 1.0, 0.0]
    calls = []
    for name in ("log", "exp", "distance"):
        honest = getattr(sf.Sphere, name)
        monkeypatch.setattr(sf.Sphere, name, lambda *a, name=name, honest=honest: calls.append(name) or honest(*a))
    done = []
    for points in (inside, outside):
        calls.clear()
        ball.clip(points)
        done.append(list(calls))
    assert done[0] == done[1]
    assert {"log", "exp"} <= set(done[0])


EXTREME = {
    "one entry": lambda v: np.diag([v, 1.0]),
    "all": lambda v: v * np.eye(2),
    "opposite": lambda v: np.diag([v, 1 / v]),
    "correlated": lambda v: v * np.array([[1.0, 0.9], [0.9, 1.0]]),
    "tiny": lambda v: np.eye(2) / v,
}


@pytest.mark.parametrize("center", [1e-28, 1.0, 1e28])
@pytest.mark.parametrize("make", EXTREME.values(), ids=EXTREME)
def test_one_valid_matrix_of_any_size_poisons_nothing(make, center, tmp_path):
    """Distances that overflow are outside, and what is outside is moved into the ball; nothing fails, nothing is lost."""
    space = sf.SPD(size=2)
    ball = sf.Ball(space, center * np.eye(2), 1.0)
    for power in (100, 154, 155, 200, 300, 307, 307.9, 308, 308.2):
        data = np.stack([center * np.eye(2)] * 29 + [make(10.0**power)])
        if space.diagnose(data)[1]:
            continue  # not positive definite in doubles
        clipped = ball.clip(data)
        assert (ball.distances(clipped) <= ball.radius).all()
        assert ball.distances(clipped)[-1] > 0.9  # moved to the edge, not to the centre
        if power in (200, 308):
            for mechanism in ("kng", "laplace"):
                ledger = sf.Ledger.create(tmp_path / f"{mechanism}-{power}.ledger", 1, "x")
                value = sf.private_mean(data, ball, 1.0, mechanism, budget=ledger).value
                assert np.isfinite(value).all()


def test_records_too_far_for_doubles_go_to_the_centre():
    ball = sf.Ball(sf.Euclidean(dim=2), [-1e308, 0.0], 1.0)
    assert np.array_equal(ball.clip([[1.7e308, 1.0], [-1e308, 0.5]]), [[-1e308, 0.0], [-1e308, 0.5]])


@pytest.mark.parametrize("level", [1e-170, 1e-28, 6e153, 1e200])
def test_matrices_of_any_units_are_released(level):
    space = sf.SPD(size=2)
    ball = sf.Ball(space, level * np.eye(2), 1.5)
    for far in (0.0, 1.4):
        for mechanism in ("kng", "laplace"):
            data = np.repeat(level * np.diag([np.exp(far), 1.0])[None], 200, axis=0)
            value = sf.private_mean(data, ball, 1.0, mechanism).value
            assert space.distance(value, data[0]) < 0.5


@pytest.mark.parametrize("n", [2, 17, 257])
def test_a_record_is_clipped_to_the_same_bits_whatever_the_others_are(space, n, rng):
    """Also if another one moves in or out of the ball, so that more or fewer are clipped together."""
    radius = typical_radius(space)
    ball = sf.Ball(space, space.present(space.origin()), radius)
    points = space.present(cloud(space, space.origin(), 1.6 * radius, n, rng))
    clipped = ball.clip(points)
    for replaced in (space.origin()[None], cloud(space, space.origin(), 1.7 * radius, 1, rng)):
        others, i = points.copy(), int(rng.integers(n))
        others[i] = space.present(replaced)[0]
        assert np.array_equal(np.delete(ball.clip(others), i, axis=0), np.delete(clipped, i, axis=0))


@pytest.mark.parametrize("n", [2, 17, 257])
def test_clipping_a_row_does_not_depend_on_the_others(n, rng, monkeypatch):
    """Nor on a user's space in which place and number show in the last bits; also if several batches are needed."""
    monkeypatch.setattr(ball_module, "CACHE", 8 * 3 * 16)
    space, center = Placed(dim=3), np.zeros(3)
    ball = sf.Ball(space, center, 1.0)
    points = rng.normal(size=(n, 3))
    clipped = ball.clip(points)
    assert (ball.distances(clipped) <= 1 + 1e-6).all()
    assert (ball.distances(clipped) > 0.99).any()
    for replaced in (center, np.full(3, 9.0)):
        others, i = points.copy(), int(rng.integers(n))
        others[i] = replaced
        assert np.delete(ball.clip(others), i, axis=0).tobytes() == np.delete(clipped, i, axis=0).tobytes()
