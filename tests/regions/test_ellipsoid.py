"""An ellipsoid as a chart: every row from its own record, clipped in the ellipsoid's norm."""

import json
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from conftest import cloud, typical_radius
from sfumato.regions import Ball, Ellipsoid
from sfumato.regions.ellipsoid import shorten, tangent_coordinates


def an_ellipsoid(space, rng, p=None):
    p = space.dim if p is None else p
    center = space.present(cloud(space, space.origin(), 0.3 * typical_radius(space), 1, rng)[0])
    rows = np.linalg.qr(rng.standard_normal((space.dim, space.dim)))[0][:p]
    return Ellipsoid(space, center, typical_radius(space) * rng.uniform(0.2, 1.0, p), rows)


def test_a_point_has_the_coordinates_it_was_made_from(space, rng):
    region = an_ellipsoid(space, rng)
    w = rng.standard_normal((20, space.dim))
    w *= (rng.uniform(0, 0.99, 20) / np.linalg.norm(w, axis=1))[:, None]
    assert np.abs(region.chart(region.point(w)) - w).max() < 1e-9
    assert space.distance(region.point(w[0]), region.point(w)[0]) < 1e-12


def test_a_frozen_direction_is_neither_read_nor_moved(space, rng):
    if space.dim == 1:
        pytest.skip("one direction only")
    region = an_ellipsoid(space, rng, p=1)
    w = region.chart(cloud(space, region.center, typical_radius(space), 30, rng))
    assert w.shape == (30, 1)
    back = tangent_coordinates(space, region.center, region.point(w))
    assert np.abs(back - back @ region.basis.T @ region.basis).max() < 1e-9
    assert region.frozen == space.dim - 1


def test_a_ball_is_a_chart_with_equal_axes(space, rng):
    ball = Ball(space, space.present(space.origin()), typical_radius(space))
    points = cloud(space, ball.center, 0.99 * ball.radius, 30, rng)
    lengths = np.linalg.norm(ball.as_chart().chart(points), axis=1) * ball.radius
    assert np.allclose(lengths, ball.distances(points), atol=1e-12)
    assert ball.as_chart().spread == ball.as_chart().radius == ball.radius
    region = an_ellipsoid(space, rng)
    assert region.as_chart() is region


def test_clipped_records_are_in_the_ellipsoid_and_stay_where_they_are(space, rng):
    region = an_ellipsoid(space, rng)
    clipped = region.clip(cloud(space, region.center, 1.5 * typical_radius(space), 30, rng))
    assert space.distance(region.center, clipped).max() <= region.radius
    assert space.distance(clipped, region.clip(clipped)).max() < 1e-9


def test_every_row_is_within_the_unit_ball_to_the_last_bit(space, rng):
    region = an_ellipsoid(space, rng)
    far = cloud(space, region.center, 2 * typical_radius(space), 50, rng)
    w = region.chart(far)
    exact = [sum(Fraction(float(x)) ** 2 for x in row) for row in w]
    assert max(exact) <= 1 < 1.0001 * max(exact)  # some are clipped, and only just
    tangents = tangent_coordinates(space, region.center, far)
    wrong = tangents * np.minimum(1, region.radius / np.linalg.norm(tangents, axis=1))[:, None]  # in the metric's norm
    if np.ptp(region.axes) > 0:
        assert np.linalg.norm(wrong @ region.basis.T / region.axes, axis=1).max() > 1.01


def test_a_row_does_not_depend_on_the_other_records(space, rng):
    """To the bit: not on records that are not numbers, that overflow, or that lie at the end of the world."""
    region = an_ellipsoid(space, rng)
    points = cloud(space, region.center, typical_radius(space), 9, rng)
    honest = region.chart(points)
    for garbage in (np.nan, np.inf, 1e308, 0.0, -1e-320):
        attacked = points.copy()
        attacked[4] = garbage
        found = region.chart(attacked)
        assert np.array_equal(np.delete(found, 4, axis=0), np.delete(honest, 4, axis=0))
        assert np.linalg.norm(found[4]) <= 1
        if not np.isfinite(garbage):
            assert not found[4].any()


@pytest.mark.parametrize("n", [6, 3000])  # by NumPy, and by compiled loops
@pytest.mark.parametrize("given", ["canonical", "rough"])
def test_a_record_becomes_canonical_whatever_the_others_are(space, given, n, rng):
    """To the bit: otherwise one record in unusual units moves all rows of the chart, and 2/n is not the sensitivity."""
    points = space.present(cloud(space, space.origin(), typical_radius(space), n, rng))
    if given == "rough":
        points = points * (1 + 1e-7 * rng.standard_normal((n, *(1,) * (points.ndim - 1))))
    honest = space.diagnose(points)[0]
    for factor in (1 + 1e-9, 2.0, 1e150, 1e-150, 0.0, np.nan):
        attacked = points.copy()
        attacked[4] *= factor
        found = space.diagnose(attacked)[0]
        assert np.array_equal(np.delete(found, 4, axis=0), np.delete(honest, 4, axis=0)), factor


def test_a_matrix_of_the_smallest_numbers_does_not_change_because_another_is_not_quite_symmetric():
    """Halves of subnormal numbers are rounded: 3 units would become 4, and a logarithm change by 0.29."""
    tiny = np.tile(np.diag([3 * 5e-324, 2.0]), (5, 1, 1))
    tiny[0] = [[1.0, 0.5], [0.5, 1.0]]
    skew = tiny.copy()
    skew[0, 0, 1] += 1e-14
    space = sf.SPD(size=2)
    assert np.array_equal(space.diagnose(skew)[0][1:], space.diagnose(tiny)[0][1:])


def exact_square(row):
    """The sum of squares in fractions, of each different number once."""
    numbers, counts = np.unique(row, return_counts=True)
    return sum(count * Fraction(x) ** 2 for x, count in zip(numbers.tolist(), counts.tolist(), strict=True))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("p", [1, 2, 129, 10_000, 200_000])
def test_no_row_is_longer_than_one_in_any_dimension_or_layout(p, order):
    """Squares that are added one after the other lose up to p/2 units, more than what is left for it."""
    rows = np.asarray(np.vstack([np.full(p, x) for x in (1.1, 1.7, 3e100, 1e-30)]), order=order)
    found = shorten(rows)
    assert max(map(exact_square, found[:3])) <= 1
    assert np.array_equal(found, shorten(np.ascontiguousarray(rows)))
    if p == 200_000:
        lengths = np.sqrt(np.cumsum(rows * rows, axis=1)[:3, -1:])  # one after the other
        wrong = (1 - 2.0**-40) * rows[:3] / lengths
        assert max(map(exact_square, wrong)) > 1


def test_clipping_holds_for_axes_and_records_of_any_size():
    space = sf.Euclidean(dim=4)
    sizes = 10.0 ** np.array([-320, -200, -155, -100, -28, 0, 28, 100, 155, 200, 308])
    records = np.concatenate([np.outer(sizes, [1.0, -1.0, 1.0, 0.5]), np.outer(sizes, [1e-12, 0.0, 1.0, 0.0])])
    for axes in ([1.0, 1e-12], [1e-99, 1e99], [1e99, 1e99, 1e99, 1e99], [1e-99], [1e-12, 1.0, 1e12]):
        region = Ellipsoid(space, np.zeros(4), axes)
        w = region.chart(records)
        assert np.isfinite(w).all()
        assert max(sum(Fraction(float(x)) ** 2 for x in row) for row in w) <= 1
        assert np.isfinite(region.tangent(w)).all()


def test_a_basis_is_orthonormal_as_a_whole():
    """Each product may be small and the rows still stretch vectors: 60 rows that all lean the same way."""
    lean = np.eye(60) + 4e-10
    with pytest.raises(ValueError, match="not orthonormal"):
        Ellipsoid(sf.Euclidean(dim=60), np.zeros(60), np.ones(60), lean)
    Ellipsoid(sf.Euclidean(dim=60), np.zeros(60), np.ones(60), np.eye(60) + 4e-12)


def test_a_logarithm_that_raises_costs_only_its_own_record(rng, monkeypatch):
    space = sf.Sphere(dim=3)
    region = an_ellipsoid(space, rng)
    points = cloud(space, region.center, 0.5, 40, rng)
    honest, log = region.chart(points), sf.Sphere.log

    def touchy(self, base, rows):
        if (rows[..., 0] > 5).any():
            raise np.linalg.LinAlgError("did not converge")
        return log(self, base, rows)

    monkeypatch.setattr(sf.Sphere, "log", touchy)
    bad = [0, 17, 18, 39]
    attacked = points.copy()
    attacked[bad] = 9.0
    found = region.chart(attacked)
    assert not found[bad].any()
    assert np.array_equal(np.delete(found, bad, axis=0), np.delete(honest, bad, axis=0))
    assert attacked[0, 0] == 9.0  # the records themselves are left alone
    assert region.chart(points[:0]).shape == (0, 3)


def test_a_logarithm_that_fails_everywhere_is_not_taken_for_bad_records(rng, monkeypatch):
    region = an_ellipsoid(sf.Sphere(dim=2), rng)
    monkeypatch.setattr(sf.Sphere, "log", lambda self, base, rows: rows.nonsense)
    with pytest.raises(AttributeError, match="nonsense"):
        region.chart(np.tile(region.center, (3, 1)))


def test_replacing_a_record_moves_the_mean_by_two_over_n_at_most(space, rng):
    region, n = an_ellipsoid(space, rng), 5
    for _ in range(20):
        data = cloud(space, region.center, 1.5 * typical_radius(space), n + 1, rng)
        a, b = data[:n].copy(), data[:n].copy()
        b[rng.integers(n)] = data[n] if rng.random() < 0.7 else np.nan
        assert np.linalg.norm(region.chart(a).mean(axis=0) - region.chart(b).mean(axis=0)) <= 2 / n


def test_a_record_brings_it_back_to_the_bit(space, rng):
    region = an_ellipsoid(space, rng)
    again = Ellipsoid(space, **json.loads(json.dumps(region.parameters())))
    if (
        space.name == "elastic-curves"
    ):  # the centre is written as a curve and read as velocities: it comes back to rounding
        assert np.allclose(again.center, region.center, rtol=0, atol=1e-14)
        assert np.array_equal(again.axes, region.axes)
        assert np.array_equal(again.basis, region.basis)
        return
    for name in ("center", "axes", "basis"):
        assert np.array_equal(getattr(again, name), getattr(region, name)), name
    assert again == region
    assert hash(again) == hash(region)
    assert Ellipsoid(space, **region.parameters() | {"source": "elsewhere"}) != region
    assert (again.source, again.spread, again.describe()) == (region.source, region.spread, region.describe())
    assert region.settle(100, 1.0) is region


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"axes": [1.0, 0.0]}, "axis 1 of the ellipsoid must be a positive length"),
        ({"axes": [np.nan]}, "axis 0 of the ellipsoid must be a positive length"),
        ({"axes": []}, "between 1 and 2 axes"),
        ({"axes": [1.0, 1.0, 1.0]}, "between 1 and 2 axes"),
        ({"axes": 1.0}, "between 1 and 2 axes"),
        ({"axes": [1.0], "basis": [[1.0, 1.0]]}, "not orthonormal"),
        ({"axes": [1.0], "basis": [[np.nan, 0.0]]}, "not orthonormal"),
        ({"axes": [1.0], "basis": np.eye(2)}, r"shape \(2, 2\), expected \(1, 2\)"),
        ({"axes": [1.0], "center": [0.0, 0.0, 3.0]}, "the centre of the ellipsoid is not of unit norm"),
        ({"axes": [1.0], "center": [0.0, 1.0]}, "the centre of the ellipsoid is not a single point"),
        ({"axes": [1.0], "spread": -1.0}, "spread of the ellipsoid must be a positive length"),
    ],
)
def test_what_is_no_ellipsoid_is_said_plainly(arguments, words):
    with pytest.raises(ValueError, match=words):
        Ellipsoid(sf.Sphere(dim=2), **{"center": [0.0, 0.0, 1.0], **arguments})


def test_nothing_of_it_can_be_changed_afterwards():
    center = np.array([0.0, 0.0, 1.0])
    region = Ellipsoid(sf.Sphere(dim=2), center, [0.1])
    center[:] = np.nan
    assert region.center.tolist() == [0.0, 0.0, 1.0]
    for array in (region.center, region.axes, region.basis):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.5


def test_the_first_argument_is_a_space():
    with pytest.raises(TypeError, match="is a space such as"):
        Ellipsoid([0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.1])


def test_the_nearest_point_of_the_ellipsoid_is_no_farther_from_any_of_its_points(rng):
    for axes in ([2.0, 1.0, 0.1], [1.0, 1.0, 1.0], [1e90, 1.0, 1e-90]):
        region = Ellipsoid(sf.Euclidean(dim=3), np.zeros(3), axes)
        for w in rng.standard_normal((20, 3)) * [[3.0]] * rng.uniform(0.1, 3, (20, 1)):
            found = region.nearest(w)
            assert np.linalg.norm(found) <= 1
            if np.linalg.norm(w) <= 1:
                assert np.array_equal(found, w)
            for inside in rng.standard_normal((20, 3)):
                inside /= max(1.0, np.linalg.norm(inside))
                before, after = (np.linalg.norm(region.axes * (x - inside)) for x in (w, found))
                assert after <= before * (1 + 1e-9)
