"""A space made of two functions: its contract, failing records, files, records and every mechanism."""

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.regions import Ellipsoid

SHAPE = (2, 2)


def log(point):
    """Scaled rotations of the plane (z = e^(a + ib), |b| < π) and nothing else; the centre is the identity."""
    if point[0, 0] != point[1, 1]:
        raise RuntimeError("no such matrix")
    z = complex(point[0, 0], point[1, 0])
    return [math.log(abs(z)), math.atan2(z.imag, z.real)]


def exp(w):
    z = np.exp(complex(*w))
    return np.array([[z.real, -z.imag], [z.imag, z.real]])


def log_of_all(points):
    if (points[:, 0, 0] != points[:, 1, 1]).any():
        raise RuntimeError("no such matrix")
    z = points[:, 0, 0] + 1j * points[:, 1, 0]
    return np.stack([np.log(np.abs(z)), np.angle(z)], axis=1)


def exp_of_all(w):
    return np.stack([exp(row) for row in w])


SINGLE = sf.Chart(log=log, exp=exp, dim=2)
BATCHED = sf.Chart(log=log_of_all, exp=exp_of_all, dim=2, batched=True)
BOTH = pytest.mark.parametrize("space", [SINGLE, BATCHED], ids=["one by one", "batched"])
W = np.random.default_rng(7).normal(0.2, 0.3, (200, 2))
POINTS = exp_of_all(W)


def spoilt(rows):
    points = POINTS.copy()
    points[rows, 0, 0] += 1  # what log raises at
    return points


# -- the contract -----------------------------------------------------------------------------------------------------------
@BOTH
def test_a_point_stands_for_its_coordinates(space):
    found = space.validate(POINTS)
    assert found == pytest.approx(W, abs=1e-12)
    assert space.present(found) == pytest.approx(POINTS, abs=1e-12)
    assert space.present(space.origin()).tolist() == np.eye(2).tolist()
    assert space.present(found[0]).shape == SHAPE
    assert space.present(found.reshape(4, 50, 2)).shape == (4, 50, *SHAPE)
    assert space.present(found[:0]).shape == (0, *SHAPE)
    assert space.validate(POINTS[:0]).shape == (0, 2)
    assert (space.dim, space.point_shape, space.kind) == (2, (2,), "arrays")
    assert space.distance(found[0], found[1]) == pytest.approx(np.linalg.norm(W[0] - W[1]))


def test_charts_of_other_functions_are_others():
    assert sf.Chart(log, exp, 2) == SINGLE
    assert hash(sf.Chart(log, exp, 2)) == hash(SINGLE)
    assert SINGLE != BATCHED
    assert sf.Chart(lambda y: log(y), exp, 2) != SINGLE
    assert repr(SINGLE) == "Chart(log=log, exp=exp, dim=2)"


@BOTH
@pytest.mark.parametrize("bad", [[5], [0, 5, 199], range(200)], ids=["one", "three", "all"])
def test_a_record_whose_log_fails_goes_to_the_centre_and_no_other_notices(space, bad):
    region = Ellipsoid(space, exp([0.1, 0.2]), axes=[0.5, 0.8])
    whole, broken = (region.chart(space.diagnose(p)[0]) for p in (POINTS, spoilt(list(bad))))
    assert not broken[list(bad)].any()
    others = np.setdiff1d(np.arange(200), list(bad))
    assert broken[others].tobytes() == whole[others].tobytes()
    assert np.abs(whole).max() > 0.1
    clipped = sf.Ball(space, exp([0.1, 0.2]), 0.5).clip(spoilt(list(bad)))
    assert clipped[list(bad)] == pytest.approx(np.tile([0.1, 0.2], (len(bad), 1)), abs=1e-12)


@pytest.mark.parametrize("answer", [[math.nan, 0.0], [math.inf, 0.0], [1.0], "words", None, [[1.0, 2.0, 3.0]]], ids=str)
def test_whatever_a_log_gives_for_a_record_is_its_own_matter(answer):
    space = sf.Chart(lambda y: answer if y[0, 0] > 100 else log(y), exp, 2)
    points = POINTS.copy()
    points[3] *= 1000
    found, reasons = space.diagnose(points)
    assert not reasons
    assert np.isnan(found[3]).all()
    assert found[np.arange(200) != 3].tobytes() == SINGLE.validate(POINTS)[np.arange(200) != 3].tobytes()


def test_a_log_that_spoils_its_argument_spoils_nothing():
    def spoiling(y):
        found = log(y)
        y[:] = 0
        return found

    points = POINTS.copy()
    assert sf.Chart(spoiling, exp, 2).validate(points).tobytes() == SINGLE.validate(POINTS).tobytes()
    assert points.tobytes() == POINTS.tobytes()


def test_what_one_record_draws_from_the_global_generator_no_other_notices():
    """As SciPy's logm does, where it estimates norms."""

    def drawing(y):
        drawn = np.random.random(5 if y[0, 0] > 100 else 1)  # noqa: NPY002
        return np.array(log(y)) + (1e-9 * drawn[0] if (y != np.eye(2)).any() else 0)

    space, others = sf.Chart(drawing, exp, 2), POINTS.copy()
    others[0] *= 1000
    np.random.seed(11)  # noqa: NPY002
    before = np.random.get_state()  # noqa: NPY002
    found, changed = space.validate(POINTS), space.validate(others)
    assert np.abs(found - SINGLE.validate(POINTS)).min() > 1e-12
    assert changed[1:].tobytes() == found[1:].tobytes()
    assert changed[0, 0] > found[0, 0] + 6
    assert np.array_equal(before[1], np.random.get_state()[1])  # noqa: NPY002


@BOTH
def test_bad_rows_are_named(space):
    points = POINTS.copy()
    points[4, 1, 0] = np.nan
    with pytest.raises(sf.InvalidPointError, match="record 4: holds NaN or an infinite value: the entry in row 2"):
        space.validate(points)
    assert list(space.diagnose(points)[1]) == [4]
    with pytest.raises(sf.InvalidPointError, match="record 6: has no coordinates: log fails"):
        space.validate(spoilt([6]))
    with pytest.raises(ValueError, match="the centre of the ball has no coordinates"):
        sf.Ball(space, spoilt([0])[0], 1.0)
    with pytest.raises(ValueError, match=r"shape \(200, 4\), expected \(n, 2, 2\)"):
        space.validate(POINTS.reshape(200, 4))
    with pytest.raises(ValueError, match="complex numbers where real ones are due"):
        space.validate(POINTS + 0j)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((log, exp, 0), "dim must be a whole number of at least 1"),
        ((3, exp, 2), "must be functions"),
        ((log, lambda w: 1.0, 2), "must give an array of finite real numbers"),
        ((log, lambda w: np.full(SHAPE, np.nan), 2), "must give an array of finite real numbers"),
        ((log, lambda w: exp(w) + 0j, 2), "must give an array of finite real numbers"),
        ((log, lambda w: exp(w + 1), 2), r"log\(exp\(0\)\) must be 2 numbers 0"),
        ((lambda y: log(y)[:1], exp, 2), r"log\(exp\(0\)\) must be 2 numbers 0"),
    ],
    ids=["dim", "function", "shape", "nan", "complex", "centre", "width"],
)
def test_functions_that_make_no_chart_are_refused(arguments, reason):
    with pytest.raises((ValueError, TypeError), match=reason):
        sf.Chart(*arguments)


def test_an_exp_of_changing_shape_is_named():
    space = sf.Chart(lambda y: [0.0], lambda w: np.zeros(3 if w[0] else 2), 1)
    with pytest.raises(ValueError, match=r"points of shape \(3,\), and \(2,\) at 0"):
        space.present(np.ones((1, 1)))


# -- with the rest ----------------------------------------------------------------------------------------------------------
@BOTH
@pytest.mark.parametrize("mechanism", ["auto", "kng", "laplace", "exponential", "tangent"])
def test_every_mechanism_of_flat_space_releases_it(space, mechanism):
    release = sf.private_mean(POINTS, sf.Ball(space, np.eye(2), 1.5), 4.0, mechanism)
    assert release.value.shape == SHAPE
    assert release.value[0, 0] == release.value[1, 1]
    clipped = sf.Ball(space, np.eye(2), 1.5).clip(POINTS)
    error = np.linalg.norm(space.validate(release.value[None])[0] - clipped.mean(axis=0))
    assert error <= 2 * release.error(0.999)
    assert mechanism == "exponential" or 2 * release.error(0.999) < 0.5 * np.linalg.norm(clipped.mean(axis=0))


def test_the_mean_is_that_of_coordinates():
    assert sf.frechet_mean(SINGLE, POINTS).point == pytest.approx(exp(W.mean(axis=0)), abs=1e-12)
    with pytest.raises(sf.Refusal, match="AmbientLaplace is not defined"):
        sf.private_mean(POINTS, sf.Ball(SINGLE, np.eye(2), 1.5), 1.0, "ambient-laplace")


def test_a_public_sample_makes_an_ellipsoid():
    region = Ellipsoid.from_sample(SINGLE, POINTS[:60]).settle(140, 1.0)
    assert region.center == pytest.approx(W[:60].mean(axis=0), abs=1e-9)
    chart = region.chart(SINGLE.diagnose(POINTS)[0])
    assert 0.8 < np.mean(np.linalg.norm(chart, axis=1) < 0.999) < 1
    assert SINGLE.present(region.point(chart[:1])).shape == (1, *SHAPE)


def test_files_of_its_points_are_read(tmp_path):
    np.save(tmp_path / "points.npy", POINTS)
    np.savetxt(tmp_path / "points.csv", POINTS.reshape(200, 4), delimiter=",", header="a,b,c,d", comments="")
    for name in ("points.npy", "points.csv"):
        found = SINGLE.validate(sf.read(tmp_path / name, SINGLE).points)
        assert found == pytest.approx(W, abs=1e-12)
    line = sf.Chart(np.log, np.exp, 4)
    assert sf.read(tmp_path / "points.csv", line).points.shape == (200, 4)


def test_a_release_is_reloaded_and_shown_without_its_functions(tmp_path):
    release = sf.private_mean(POINTS, sf.Ball(SINGLE, np.eye(2), 1.5), 4.0)
    release.save(tmp_path / "mean.json")
    again = sf.Release.load(tmp_path / "mean.json")
    assert again.value.tolist() == release.value.tolist()
    assert again.space.known is None
    assert again.space.parameters == {"log": "log", "exp": "exp", "dim": 2}
    assert again.error(0.95) == release.error(0.95)
    assert "coordinates in the user's own chart" in again.describe()
    sf.plot_release(again, tmp_path / "mean.png")
    sf.write_report(again, tmp_path / "mean.html")
    assert "points of the space &#x27;chart&#x27;" in (tmp_path / "mean.html").read_text()


def test_an_exp_that_fails_at_the_draw_gives_the_centre_and_a_frame_that_fails_refuses_first(rng):
    """What is done then depends on the lattice point alone, and nothing raises after the charge."""
    from sfumato.mechanisms import choose
    from sfumato.records import Records

    def exp(v):
        if np.linalg.norm(v) > 1e-3:
            raise ArithmeticError("far")
        return v

    space = sf.Chart(log=lambda y: y, exp=exp, dim=2)
    plan = choose(sf.Ellipsoid(space, [0.0, 0.0], [1.0, 0.5]), 5, 1.0)
    assert plan.draw(Records(space, np.zeros((5, 2))), rng).value.tolist() == [0.0, 0.0]
