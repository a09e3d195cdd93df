"""The mean that the Laplace is centred at: found for certain, whatever valid records do (proofs, Result 2b)."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.laws.bounds import bounds_of, register
from sfumato.laws.bounds.projective import ProjectiveSpace
from sfumato.laws.calibration.mean import mean_bounds
from sfumato.means import frechet
from sfumato.records import Records
from sfumato.regions import mean
from sfumato.regions.mean import mean_in_ball

POSITIVE = [sf.Sphere(2), sf.Sphere(3, 2.5), sf.Sphere(9), sf.PlanarShapes(3), sf.PlanarShapes(4), sf.PlanarShapes(7)]
HADAMARD = [sf.SPD(1), sf.SPD(2), sf.SPD(3), sf.Euclidean(2)]
SHARES = (0.3, 0.7, 0.949)


def the_ball(space, share):
    limit = bounds_of(space).mean_radius_limit if np.isfinite(bounds_of(space).mean_radius_limit) else 3.0
    return sf.Ball(space, space.present(space.origin()), share * limit)


def at(ball, coordinates):
    """Points of the ball's space by their coordinates at its centre."""
    return ball.space.exp(ball.center, ball.space.from_coordinates(ball.center, np.asarray(coordinates)))


def adversarial(ball, rng):
    """A few clusters, mostly at the edge of the ball and along one or two of its diameters, of very unequal sizes."""
    count, dim = int(rng.integers(2, 6)), ball.space.dim
    directions = rng.normal(size=(count, dim))
    if rng.random() < 0.7:
        directions = np.zeros((count, dim))
        directions[np.arange(count), rng.integers(0, min(2, dim), count)] = rng.choice([-1.0, 1.0], count)
        directions += rng.choice([0.0, 1e-8, 0.02, 0.3]) * rng.normal(size=directions.shape)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radii = ball.radius * np.where(rng.random(count) < 0.7, 1.0, rng.random(count))
    sizes = rng.multinomial(
        int(rng.choice([2, 5, 40, 200])), rng.dirichlet(np.full(count, rng.choice([0.3, 1.0, 3.0])))
    )
    points = at(ball, np.repeat(radii[:, None] * directions, np.maximum(sizes, [1] + [0] * (count - 1)), axis=0))
    return ball.clip(ball.space.present(points))


def somewhere(ball, rng):
    direction = rng.normal(size=ball.space.dim)
    return at(ball, ball.radius * rng.random() ** 0.3 * direction / np.linalg.norm(direction))


def gradient(space, x, points):
    """−∇F by plain logarithms, record by record."""
    return space.log(x, points).mean(axis=0)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("space", POSITIVE, ids=str)
def test_certain_steps_stay_in_the_ball_and_lower_the_cost(space, share, rng):
    ball = the_ball(space, share)
    bounds = mean_bounds(ball, 50)
    for _ in range(60):
        points, x = adversarial(ball, rng), somewhere(ball, rng)
        step = gradient(space, x, points)
        there = space.exp(x, bounds.step * step)
        assert space.distance(ball.center, there) <= ball.radius * (1 + 1e-12)
        cost = [0.5 * np.mean(space.distance(y, points) ** 2) for y in (x, there)]
        drop = (bounds.step - bounds.step**2 / 2) * float(space.norm(x, step)) ** 2
        assert cost[1] <= cost[0] - drop + 1e-12


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("space", POSITIVE, ids=str)
def test_where_the_gradient_is_small_the_cost_is_convex(space, share, rng):
    """Hess F ≥ (cos r − ‖∇F‖·sin t)/cos t at distance t from the centre (κ = 1); a bound twice as large fails."""
    ball = the_ball(space, share)
    q, bounds = np.sqrt(bounds_of(space).curvature[1]), mean_bounds(ball, 50)
    closest = np.inf
    for _ in range(60):
        points = adversarial(ball, rng)
        for x in (somewhere(ball, rng), mean_in_ball(ball, Records(space, points), bounds, bounds.tolerance).point):
            slope, t = float(space.norm(x, gradient(space, x, points))), q * float(space.distance(ball.center, x))
            bound = (np.cos(q * ball.radius) - q * slope * np.sin(t)) / np.cos(t)
            least = float(np.linalg.eigvalsh(space.hessian(x, points))[0]) / len(points)
            assert least >= bound - 1e-6
            if slope <= bounds.near:
                assert least >= bounds.hessian
                closest = min(closest, least / bounds.hessian)
    assert closest < (4 if share < 0.5 else 40)  # the search comes near


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("space", [*POSITIVE, *HADAMARD], ids=str)
def test_two_clusters_at_opposite_ends_have_the_mean_between_them(space, share):
    """Every split k : n − k; the mean lies on the diameter, at r·(1 − 2k/n)."""
    ball = the_ball(space, share)
    ends = np.zeros((2, space.dim))
    ends[0, 0], ends[1, 0] = ball.radius, -ball.radius
    ends = ball.clip(space.present(at(ball, ends)))
    for n in (1, 2, 3, 10, 41):
        bounds = mean_bounds(ball, n)
        for k in range(n + 1):
            points = np.repeat(ends, [n - k, k], axis=0)
            found = mean_in_ball(ball, Records(space, points), bounds, bounds.tolerance)
            middle = at(ball, np.eye(space.dim)[0] * ball.radius * (1 - 2 * k / n))
            assert space.distance(found.point, middle) <= bounds.distance + 1e-11 * ball.radius


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("space", [*POSITIVE, *HADAMARD], ids=str)
def test_neighbours_have_means_as_close_as_the_laplace_allows(space, share, rng):
    laplace = sf.ManifoldLaplace(the_ball(space, share), epsilon=10.0)
    ball, widest = laplace.ball, 0.0
    for _ in range(40):
        points = adversarial(ball, rng)
        other = points.copy()
        other[int(rng.integers(len(points)))] = adversarial(ball, rng)[0]
        n = len(points)
        allowed = bounds_of(space).mean_sensitivity(ball.radius) / n + 2 * mean_bounds(ball, n).distance
        moved = float(space.distance(*(laplace.at(len(p)).center(Records(space, p)) for p in (points, other))))
        assert moved <= allowed * (1 + 1e-9)
        widest = max(widest, moved / allowed)
    assert widest > 0.1


@pytest.mark.parametrize("space", [*POSITIVE, *HADAMARD], ids=str)
def test_steps_that_are_certain_find_it_alone_within_their_public_number(space, rng, monkeypatch):
    """As if the quick search always went astray."""
    ball = the_ball(space, 0.8)
    bounds = mean_bounds(ball, 300)
    for _ in range(12):
        points = adversarial(ball, rng)
        quick = mean_in_ball(ball, Records(space, points), bounds, bounds.tolerance)
        with monkeypatch.context() as patch:
            astray = frechet.Solution(quick.point, np.nan, 0, 0.0, quick.moments)
            patch.setattr(mean, "solve", lambda *_, astray=astray, **__: astray)
            slow = mean_in_ball(ball, Records(space, points), bounds, bounds.tolerance)
        assert slow.gradient_norm <= bounds.tolerance
        assert slow.iterations < bounds.passes
        assert space.distance(slow.point, quick.point) <= 2 * bounds.distance


def test_a_solver_without_an_answer_gives_the_best_point_of_the_ball(monkeypatch):
    space = sf.Sphere(2)
    ball = the_ball(space, 0.5)
    points = ball.clip(at(ball, [[0.5, 0.1], [0.2, -0.4]]))
    bounds = mean_bounds(ball, 2)
    monkeypatch.setattr(frechet, "MAX_ITERATIONS", 0)
    for passes, near in ((1, 0.5), (40, bounds.distance)):
        never = type(bounds)(**{**vars(bounds), "passes": passes})
        found = mean_in_ball(ball, Records(space, points), never, -1.0).point
        assert space.distance(found, at(ball, [0.35, -0.15])) < near + 0.05
        assert (passes > 1) or np.array_equal(found, ball.center)


def test_the_old_solver_leaves_the_ball():
    """Newton's step with a Hessian that is not positive, from where such a solver starts, ends at a saddle outside: the
    check of the ball is what tells."""
    space = sf.Sphere(2)
    ball = the_ball(space, 0.92)
    ends = at(ball, [[ball.radius, 0.0], [-ball.radius, 0.0]])
    points = ball.clip(np.repeat(ends, [67, 33], axis=0))
    x, damping = space.mean_start(points), 1.0
    for _ in range(200):
        moments = Records(space, points).moments(x)
        there = space.retract(x, damping * space.dim / float(moments.hessian) * moments.logs)
        shorter = float(space.norm(there, gradient(space, there, points))) < float(space.norm(x, moments.logs))
        x, damping = (there, min(1.0, 2 * damping)) if shorter else (x, damping / 2)
    assert float(space.norm(x, gradient(space, x, points))) < 1e-9
    assert space.distance(ball.center, x) > ball.radius
    bounds = mean_bounds(ball, 100)
    found = mean_in_ball(ball, Records(space, points), bounds, bounds.tolerance).point
    assert space.distance(ball.center, found) <= ball.radius


@pytest.mark.parametrize("spread", [0.0, 1e-12, 1e-6, 1e-4, 1e-3, 3e-3, 1e-2])
def test_matrices_that_nearly_coincide_have_a_mean(spread, rng):
    """Of sizes at which logarithms come from a series, whose error was once waited for for ever."""
    base = np.array([[1.2, 0.1, 0.0], [0.1, 1.0, 0.05], [0.0, 0.05, 0.9]])
    data = base * (1 + spread * rng.normal(size=(2000, 1, 1)))
    space = sf.SPD(3)
    mean = sf.frechet_mean(space, data).point
    expected = base * np.exp(np.mean(np.log1p(data[:, 0, 0] / base[0, 0] - 1)))
    assert space.distance(mean, expected) < 1e-12
    ball = sf.Ball(space, np.eye(3), 1.0)
    sf.private_mean(data, ball, 1.0)
    labels = ["ann"] * 1950 + [f"p{i}" for i in range(50)]
    sf.private_mean(data, ball, 5.0, "kng", unit=labels)


@pytest.mark.parametrize("size", [3, 4, 6, 8])
@pytest.mark.parametrize("name", ["kng", "laplace", "staircase", "exponential", "tangent"])
def test_records_that_are_all_the_centre_are_released(size, name):
    """So many that loops are compiled: the start is then the mean, with a gradient of zero to the last bit, by which the solver
    once divided; after the charge, and not for a neighbour."""
    ball = sf.Ball(sf.SPD(size), np.eye(size), 0.5)
    assert sf.private_mean(np.array([np.eye(size)] * 2048), ball, 2.0, name, allow_useless=True).value.shape == (
        size,
        size,
    )


@pytest.mark.parametrize("size", [3, 4, 6])
@pytest.mark.parametrize("spread", [0.0, 1e-15, 1e-13, 1e-9])
def test_nothing_is_gained_by_steps_below_rounding(size, spread, rng):
    a, e = rng.normal(size=(size, 2 * size)), rng.normal(size=(2000, size, size)) * spread
    root = np.linalg.cholesky(a @ a.T)
    data = root @ (np.eye(size) + e / 2 + e.swapaxes(1, 2) / 2) @ root.T
    assert sf.frechet_mean(sf.SPD(size), data / 2 + data.swapaxes(1, 2) / 2).passes < 50  # 501 without the check


@pytest.mark.parametrize("size", [6, 22])
def test_anisotropic_matrices_reach_the_tolerance_or_warn(size, rng):
    """Condition numbers to e^10, each matrix with axes of its own."""
    space = sf.SPD(size)
    turns = np.linalg.qr(rng.normal(size=(60, size, size)))[0]
    data = (turns * np.exp(rng.uniform(-5, 5, size=(60, 1, size)))) @ np.swapaxes(turns, 1, 2)
    data = (data + np.swapaxes(data, 1, 2)) / 2
    mean = sf.frechet_mean(space, data, tolerance=1e-8)
    x = mean.point[None]
    assert mean.gradient_norm <= 1e-8
    assert float(space.norm(x, space.mean_log(x, data))[0]) <= 1e-7
    with pytest.warns(sf.ConvergenceWarning, match="gradient norm"):
        sf.frechet_mean(space, data, tolerance=1e-18)


@pytest.mark.parametrize("units", [1.0, 1e8, 1e10, 1e28])
def test_units_that_differ_by_row_do_not_move_the_mean(units):
    """A centre diag(1/s, s): an inverse that exchanges rows was off by 1e-9 and more, and the solver did not end."""
    space, n = sf.SPD(2), 200
    center, side = np.diag([1 / units, units]), np.diag([units**-0.5, units**0.5])
    ball = sf.Ball(space, center, 2.0)
    ends = [space.exp(center, side @ np.array([[1.2, off], [off, -1.3]]) @ side) for off in (0.0, 1e-5)]
    first = ball.clip(np.repeat(ends[0][None], n, axis=0))
    second = first.copy()
    second[0] = ball.clip(ends[1][None])[0]
    laplace = sf.ManifoldLaplace(ball, 1.0)
    centers = [laplace.at(len(points)).center(Records(space, points)) for points in (first, second)]
    assert space.distance(*centers) < 1e-6
    assert space.distance(centers[0], ends[0]) < 1e-9


def test_vectors_of_many_dimensions_far_from_zero_have_their_mean():
    """A mean between doubles: the error of a computed point grows with the root of the dimension."""
    dim, n = 1080, 50
    space, step = sf.Euclidean(dim), np.spacing(2.0**20)
    ball = sf.Ball(space, np.full(dim, 2.0**20), 1.0)
    first = np.tile(ball.center + np.rint(0.9 / np.sqrt(dim) / step) * step, (n, 1))
    second = first.copy()
    second[0] += n // 2 * step
    centers = [
        sf.ManifoldLaplace(ball, 1.0).at(len(ball.clip(points))).center(Records(space, ball.clip(points)))
        for points in (first, second)
    ]
    assert space.distance(*centers) < 1e-6
    assert space.distance(centers[0], first[0]) < 1e-6


def test_curvature_of_both_signs_is_refused():
    class Saddle(sf.Sphere):
        pass

    class Both(ProjectiveSpace):
        def __init__(self, space):
            super().__init__(space)
            self.curvature = (-1.0, 1.0)

    register(Saddle, Both)
    with pytest.raises(ValueError, match="both signs"):
        mean_bounds(sf.Ball(Saddle(2), Saddle(2).origin(), 0.3), 10)
