"""Curves by their square-root velocities: against geomstats and planar shapes, closed ones, and alignment to a template."""

import importlib.util
import sys

import numpy as np
import pytest

import sfumato as sf
from conftest import cloud
from sfumato.app import cli
from sfumato.laws.bounds import has_bounds
from sfumato.numerics import warps as _warps
from sfumato.spaces import space_typed
from sfumato.views.shapes import across as across_curve
from sfumato.views.subject import Subject

OPEN, CLOSED = sf.ElasticCurves(points=12, closed=False), sf.ElasticCurves(points=12, closed=True)
WARPING = [sf.ElasticCurves(points=20, closed=closed, reparametrize=True) for closed in (False, True)]
TURN = np.array([[0.28, -0.96], [0.96, 0.28]])


def some_curves(n, points, rng):
    return np.cumsum(rng.normal(size=(n, points, 2)) + np.array([1, 0]), axis=1)


def wave(t):
    """An open curve whose speed and direction both change."""
    return np.stack([3 * t, np.sin(6 * t) + 0.3 * np.cos(13 * t)], axis=-1)


def loop(t):
    """A closed curve of period 1 that no turn takes to itself."""
    t = 2 * np.pi * t
    return np.stack([2 * np.cos(t) + 0.3 * np.cos(3 * t), np.sin(t) + 0.2 * np.sin(2 * t)], axis=-1)


def original_and_copy(points, closed):
    """A curve, and the same curve turned, enlarged, moved and run through at another speed; from another start if closed."""
    t = np.arange(points) / (points if closed else points - 1)
    late = t + 0.1 * np.sin(2 * np.pi * t) * (0.7 if closed else 1) + 0.31 * closed
    draw = loop if closed else wave
    return draw(t), 7 * draw(late) @ TURN.T + 100


# -- velocities ------------------------------------------------------------------------------------------------------------
def test_velocities_and_distances_are_those_of_geomstats(rng):
    """Its SRV metric measures chords, 2·sin(θ/2), of curves that we give the length one; rotations are its quotient."""
    curves = pytest.importorskip("geomstats.geometry.discrete_curves")
    theirs = curves.DiscreteCurvesStartingAtOrigin(ambient_dim=2, k_sampling_points=12, equip=False)
    theirs.equip_with_metric(curves.SRVMetric)
    c = some_curves(6, 12, rng)
    q = OPEN.validate(c)
    c = (c - c[:, :1]) / np.linalg.norm(np.diff(c, axis=1), axis=2).sum(axis=1)[:, None, None]
    found = theirs.metric.diffeo(c[:, 1:]) / np.sqrt(11)
    assert np.abs(found[..., 0] + 1j * found[..., 1] - q).max() < 1e-14
    chords = np.linalg.norm(q[1:] - q[0], axis=1)
    assert np.abs(theirs.metric.dist(c[0, 1:], c[1:, 1:]) - chords).max() < 1e-9
    theirs.equip_with_group_action("rotations")
    theirs.equip_with_quotient()
    turned = theirs.quotient.metric.dist(c[0, 1:], c[1:, 1:])
    assert np.abs(turned - 2 * np.sin(OPEN.distance(q[0], q[1:]) / 2)).max() < 1e-9
    assert np.abs(turned - chords).max() > 1e-3


def test_open_curves_have_the_geometry_of_planar_shapes_of_one_landmark_more(rng):
    """C^m is isometric to the centred vectors of C^(m+1), by an orthonormal basis of these."""
    shapes, base = sf.PlanarShapes(landmarks=12), OPEN.validate(some_curves(1, 12, rng))[0]
    frame = np.linalg.svd(np.ones((1, 12)))[2][1:]
    points = cloud(OPEN, base, 0.3, 30, rng)
    assert (OPEN.dim, OPEN.point_shape) == (shapes.dim, (11,))
    assert np.allclose(OPEN.log(base, points) @ frame, shapes.log(base @ frame, points @ frame), atol=1e-13)
    mean = OPEN.validate(sf.frechet_mean(OPEN, OPEN.present(points)).point[None])[0]
    other = sf.frechet_mean(shapes, shapes.present(points @ frame)).point
    assert shapes.distance(mean @ frame, other @ [1, 1j]) < 1e-12


def test_place_size_and_rotation_do_not_matter_and_extreme_numbers_are_read(rng):
    c = some_curves(5, 12, rng)
    c[:, 4] = c[:, 3]  # a point twice: no velocity there
    for space in (OPEN, CLOSED):
        q = space.validate(c)
        assert np.allclose(np.linalg.norm(q, axis=1), 1, atol=1e-15)
        assert np.all(q[:, 3] == 0)
        assert np.array_equal(space.validate(c[..., 0] + 1j * c[..., 1]), q)
        for factor in (1e-28, 1e28, 1e250, 1e-250):
            assert space.distance(q, space.validate(factor * (c @ TURN.T))).max() < 1e-14
        assert space.distance(q, space.validate(c + 1e6)).max() < 1e-8


def test_what_is_no_curve_is_said_in_words(rng):
    c = some_curves(4, 12, rng)
    c[1], c[2, 5, 1] = c[1, 0], np.nan
    assert OPEN.diagnose(c)[1] == {
        1: "has no curve: all its 12 points coincide",
        2: "holds NaN or an infinite value: landmark 6",
    }
    for wrong in (np.zeros((3, 11, 2)), np.zeros((3, 12, 3)), np.zeros((3, 11)) + 0j, np.zeros((3, 12))):
        with pytest.raises(ValueError, match=r"expected \(n, 12, 2\)"):
            OPEN.diagnose(wrong)
    with pytest.raises(ValueError, match="closed must be True or False, not 'yes'"):
        sf.ElasticCurves(points=5, closed="yes")
    with pytest.raises(ValueError, match="points must be a whole number of at least 3"):
        sf.ElasticCurves(points=2, closed=True)


def test_it_is_typed_with_or_without_its_size():
    assert space_typed("elastic-curves(closed=true)").shaped((12, 2)) == CLOSED
    assert space_typed("elastic-curves(points=12, closed=false)").sized() == OPEN
    with pytest.raises(
        ValueError, match=r"say whether the records are closed: space='elastic-curves\(closed=true\)' or"
    ):
        space_typed("elastic-curves").shaped((12, 2))
    with pytest.raises(
        ValueError, match=r"write space='elastic-curves\(points=4, closed=False, reparametrize=False\)'"
    ):
        space_typed("elastic-curves").sized(landmarks=12)
    with pytest.raises(ValueError, match="no points of shape"):
        space_typed("elastic-curves(closed=true)").shaped((12, 3))


# -- closed curves -----------------------------------------------------------------------------------------------------------
def test_what_should_be_closed_is_closed_when_it_is_shown(rng):
    q = CLOSED.validate(loop(np.arange(12) / 12)[None])[0]
    far = cloud(CLOSED, q, 0.4, 50, rng)
    assert np.abs(np.sum(far * np.abs(far), axis=1)).max() > 0.1  # gaps
    shown = CLOSED.present(far)
    closed = CLOSED.validate(shown)
    assert np.abs(np.sum(closed * np.abs(closed), axis=1)).max() < 1e-14
    assert np.abs(CLOSED.present(closed) - shown).max() < 1e-14
    assert CLOSED.distance(closed, CLOSED.validate(CLOSED.present(closed))).max() < 1e-7
    assert CLOSED.distance(far, closed).max() < 2 * 0.4
    assert np.abs(CLOSED.present(OPEN.origin()[[0] * 12]) - CLOSED.present(CLOSED.origin())).max() < 1e-15  # a line


def test_nothing_is_proven_of_closed_or_aligned_curves():
    assert [has_bounds(space) for space in (OPEN, CLOSED, *WARPING)] == [True, False, False, False]
    outline = loop(np.arange(12) / 12)
    with pytest.raises(sf.Refusal, match="nothing is proven"):
        sf.private_mean([outline] * 9, sf.Ball(CLOSED, outline, 0.1), 1.0, "kng")


@pytest.mark.parametrize("mechanism", ["kng", "laplace", "exponential", "tangent"])
def test_open_curves_are_released_by_every_mechanism(mechanism, rng):
    space = sf.ElasticCurves(points=4, closed=False)
    center = space.validate(some_curves(1, 4, rng))[0]
    curves = space.present(cloud(space, center, 0.2, 400, rng))
    release = sf.private_mean(curves, sf.Ball(space, space.present(center), 0.25), 4.0, mechanism)
    mean = space.validate(sf.frechet_mean(space, curves).point[None])
    assert space.distance(space.validate(release.value[None]), mean) < release.error(0.999999) + 0.01
    assert release.guarantee.numerical_delta < 1e-8


# -- reparametrization -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("closed", [False, True])
def test_the_same_curve_at_another_speed_is_found_again(closed):
    """The finer the grid the better; run through backwards it is another curve, and without alignment it stays far."""
    found = []
    for points in (25, 50, 100):
        space, plain = (sf.ElasticCurves(points, closed, align) for align in (True, False))
        curve, copy = original_and_copy(points, closed)
        base, other, backwards = space.validate([curve, copy, copy[::-1]])
        found.append(float(space.distance(base, other)))
        assert plain.distance(base, other) > 0.5
        assert space.distance(base, backwards) > 0.4
        assert np.linalg.norm(space.log(base, other)) == pytest.approx(found[-1], abs=1e-12)
    assert found[0] < 0.15
    assert found[0] > 1.2 * found[1] > 1.4 * found[2]
    assert found[2] < 0.04


@pytest.mark.parametrize("space", WARPING, ids=str)
def test_alignment_never_takes_a_curve_farther_away(space, rng):
    plain = sf.ElasticCurves(space.points, space.closed)
    q = space.validate(some_curves(12, space.points, rng))
    near, far = space.distance(q[0], q), plain.distance(q[0], q)
    assert np.all(near <= far + 1e-12)
    assert np.median(far[1:] - near[1:]) > 0.05
    assert near[0] < 1e-7
    assert np.abs(space.log(q[0], q[:1])).max() < 1e-7
    assert np.allclose(np.linalg.norm(space.align(q[0], q), axis=1), 1, atol=1e-14)
    pairs = space.distance(q[:3], q[3:6])
    assert np.array_equal(pairs, [space.distance(a, b) for a, b in zip(q[:3], q[3:6], strict=True)])


@pytest.mark.parametrize("space", WARPING, ids=str)
def test_an_aligned_row_depends_on_its_record_alone_to_the_bit(space, rng):
    curves = some_curves(9, space.points, rng)
    base = space.validate(curves[:1])[0]
    chart = sf.Ball(space, curves[0], 0.8).as_chart().chart
    other = some_curves(9, space.points, rng)
    other[1], other[2], other[3] = np.nan, 1e250, 0.0
    rows = [0, 5, 8]
    other[rows] = curves[rows]

    def found(shown):
        canonical, reasons = space.diagnose(shown)
        canonical[list(reasons)] = base
        yield from (canonical, space.log(base, canonical), space.log_map(base)(canonical), chart(canonical))
        yield from (space.distance(base, canonical), space.outside(base, canonical, 0.6), space.align(base, canonical))

    for one, again, two in zip(found(curves), found(curves), found(other), strict=True):
        assert np.array_equal(one, again)
        assert np.array_equal(one[rows], two[rows])
        assert not np.array_equal(one, two) or one.dtype == bool


@pytest.mark.parametrize("closed", [False, True])
def test_without_numba_the_same_alignment_is_found_to_the_bit(closed, rng, monkeypatch):
    spec = importlib.util.spec_from_file_location("sfumato.numerics._plain_warps", _warps.__file__)
    plain = importlib.util.module_from_spec(spec)
    with monkeypatch.context() as without:
        without.setattr("sfumato.numerics.arrays.compiled", lambda _: None)
        spec.loader.exec_module(plain)
    assert plain._numba is None
    assert _warps._numba is not None
    q = sf.ElasticCurves(10, closed).validate(some_curves(4, 10, rng))
    real = q.view(np.float64).reshape(len(q), -1, 2)
    assert np.array_equal(plain.warped(real[:1], real, closed), _warps.warped(real[:1], real, closed))


def test_curves_at_their_own_speeds_have_a_sharper_private_mean(rng):
    """Of 200 copies of one wave at speeds of their own: aligned they are one curve, otherwise they only look different."""
    t = np.linspace(0, 1, 24)
    speeds = rng.uniform(-0.14, 0.14, size=(200, 1))
    curves, reference = wave(t + speeds * np.sin(2 * np.pi * t)) + rng.normal(0, 0.01, (200, 24, 2)), wave(t)
    errors = []
    for align in (True, False):
        space = sf.ElasticCurves(24, closed=False, reparametrize=align)
        far = float(np.quantile(space.distance(*space.validate(reference[None]), space.validate(curves)), 0.9))
        region = sf.Ellipsoid.smooth(space, reference, far, closed=False)
        errors.append(sf.private_mean(curves, region, 2.0).error(0.95))
    assert errors[0] < 0.6 * errors[1]


@pytest.mark.parametrize("align", [False, True])
def test_closed_curves_from_a_file_to_a_picture(align, tmp_path, monkeypatch, capsys, rng):
    monkeypatch.chdir(tmp_path)
    t = np.arange(24) / 24
    speeds, sizes = rng.uniform(-0.05, 0.05, (60, 1)), rng.normal(1, 0.1, (60, 1, 2))
    np.save("outlines.npy", loop(t + speeds * np.sin(2 * np.pi * t)) * sizes)
    np.save("center.npy", loop(t)[None])
    program = ["release", "outlines.npy", "--space", f"elastic-curves(closed=true, reparametrize={align})"]
    told = ["--center", "center.npy", "--radius", "0.4", "--smooth", "--epsilon", "8", "--out", "mean.json"]
    monkeypatch.setattr(sys, "argv", ["sfumato", *program, *told, "--report", "mean.html", "--plot", "mean.png"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert not stop.value.code, capsys.readouterr().err
    release = sf.Release.load("mean.json")
    assert release.space.known == sf.ElasticCurves(24, True, align)
    assert release.chart.frozen > 0
    assert (tmp_path / "mean.png").read_bytes()[:4] == b"\x89PNG"
    assert "planar curves of 24 points" in (tmp_path / "mean.html").read_text()


# -- around it ---------------------------------------------------------------------------------------------------------------
def test_smoothness_is_that_of_the_velocities(rng):
    reference = wave(np.linspace(0, 1, 12))
    sketch = sf.Ellipsoid.smooth(OPEN, reference, 0.3, closed=False)
    region = sketch.settle(200, 1.0)
    assert 2 <= len(region.axes) < OPEN.dim
    modes = OPEN.from_coordinates(sketch.center, sketch.basis[[0, -1]])
    rough = np.linalg.norm(np.diff(modes, axis=1), axis=1)
    assert 4 * rough[0] < rough[1]
    with pytest.raises(ValueError, match="no bending energy"):
        sf.Ellipsoid.bending(OPEN, reference, 0.3)


@pytest.mark.parametrize("closed", [False, True])
def test_the_band_holds_each_point_as_often_as_it_says(closed, rng):
    space = sf.ElasticCurves(24, closed)
    t = np.arange(24) / 24
    reference = loop(t) if closed else wave(t)
    region = sf.Ellipsoid.smooth(space, reference, 0.2, closed=closed)
    release = sf.private_mean(np.repeat(reference[None], 400, axis=0), region, 4.0)
    noise = Subject.of(release, 0.9).noise
    widths = across_curve(noise, release.value, closed)
    p = len(noise.w)
    drawn = noise.sigma * np.sqrt(rng.chisquare(p + 1, (4000, 1))) * rng.standard_normal((4000, p))
    across = np.gradient(release.value, axis=0)
    if closed:
        across = np.roll(release.value, -1, axis=0) - np.roll(release.value, 1, axis=0)
    across = np.stack([-across[:, 1], across[:, 0]], axis=1) / np.linalg.norm(across, axis=1, keepdims=True)
    off = np.abs(np.einsum("nki,ki->nk", noise.values(drawn) - noise.values(np.zeros(p)), across))
    held = np.mean(off <= widths, axis=0)
    assert 0.87 < held.min() <= held.max() < 0.93
    assert np.mean(off <= 0.7 * widths, axis=0).max() < 0.85
