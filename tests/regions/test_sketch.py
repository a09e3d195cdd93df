"""Ellipsoids from what is public: samples, smoothness, bending."""

import numpy as np
import pytest

import sfumato as sf
from conftest import cloud
from sfumato.laws.calibration.stein import james_stein
from sfumato.laws.calibration.whole import noise_error
from sfumato.regions import Ellipsoid
from sfumato.regions.landmarks import bending_moment, smooth_moment
from sfumato.regions.look import rms_noise
from sfumato.studies.synthetic import corpus_callosa, corpus_callosum_template

SHAPES = sf.PlanarShapes(landmarks=20)


def falling(m, d, rng):
    """Points of R^d with variances 1, 1/4, 1/9, …"""
    return rng.standard_normal((m, d)) / np.arange(1, d + 1)


def outline(landmarks=20):
    return corpus_callosum_template(landmarks)


# -- which axes -------------------------------------------------------------------------------------------------------
def test_no_other_axes_have_less_noise_for_the_same_second_moment(rng):
    """Σlⱼ/aⱼ² is the mean square of ‖w‖; among axes that leave it as it is, the best have the least Σaⱼ²."""
    sketch = Ellipsoid.smooth(SHAPES, outline(), 0.1)
    axes = sketch.settle(10**6, 1.0).axes
    variances = sketch.roots**2
    assert len(axes) == SHAPES.dim
    assert np.sum(variances / axes**2) == pytest.approx(1)
    for size in (0.01, 0.3):
        for _ in range(50):
            other = axes * np.exp(size * rng.standard_normal(len(axes)))
            other *= np.sqrt(np.sum(variances / other**2))
            assert np.sum(other**2) > np.sum(axes**2)


def test_more_records_are_worth_more_directions(rng):
    for sketch in (
        Ellipsoid.smooth(SHAPES, outline(), 0.1),
        Ellipsoid.bending(SHAPES, outline(), 0.1),
        Ellipsoid.from_sample(sf.Euclidean(dim=30), falling(40, 30, rng)),
    ):
        found = [len(sketch.settle(n, 1.0).axes) for n in (10, 100, 1000, 10**7)]
        assert found == sorted(found)
        assert found[0] < found[-1] == sketch.ball.space.dim


def test_the_ellipsoid_holds_the_share_it_was_asked_for(rng):
    space, shares, small = sf.Euclidean(dim=8), [], []
    for _ in range(20):
        region = Ellipsoid.from_sample(space, falling(60, 8, rng), coverage=0.9, modes=8).settle(500, 1.0)
        fresh = (falling(2000, 8, rng) - region.center) @ region.basis.T / region.axes
        shares.append(np.mean(np.linalg.norm(fresh, axis=1) <= 1))
        small.append(np.mean(np.linalg.norm(fresh, axis=1) <= 0.8))
    assert 0.87 < np.mean(shares) < 0.95
    assert np.mean(small) < 0.82  # axes a fifth shorter would not do


def test_a_sample_of_outlines_beats_the_ball_by_far(rng):
    shapes = corpus_callosa(60, 20, rng=rng)
    sketch = Ellipsoid.from_sample(SHAPES, shapes)
    region = sketch.settle(400, 1.0)
    ball = np.full(SHAPES.dim, sketch.ball.radius)
    assert rms_noise(region.axes, 400, 1.0) < 0.5 * rms_noise(ball, 400, 1.0)
    assert region.spread < 0.5 * sketch.ball.radius
    assert "from 60 public points" in region.describe()
    assert sketch.space == region.space == SHAPES
    assert np.array_equal(sketch.center, region.center)
    again = Ellipsoid.from_sample(SHAPES, shapes).settle(400, 1.0)
    assert again == region


def test_what_is_fixed_stays_fixed(rng):
    sketch = Ellipsoid.from_sample(SHAPES, corpus_callosa(9, 20, rng=rng), modes=7, weight=0.25, prior="bending")
    region = sketch.settle(100, 1.0)
    assert len(region.axes) == 7
    assert "shrunk by 0.25 to the bending energy" in region.source


# -- what an attacker, or bad luck, would bring -------------------------------------------------------------------------
@pytest.mark.parametrize("m", [2, 3, 5])
def test_few_points_are_enough_for_an_ellipsoid_in_all_directions(m, space, rng):
    sketch = Ellipsoid.from_sample(space, space.present(cloud(space, space.origin(), 0.2, m, rng)))
    region = sketch.settle(10**9, 1.0)
    assert len(region.axes) == space.dim
    assert (region.axes > 0).all()
    assert 0 < sketch.ball.radius < 1


def test_a_sample_without_a_spread_is_refused(rng):
    shape = outline()
    with pytest.raises(ValueError, match=r"a public sample of 1 says nothing.*give a centre and a radius"):
        Ellipsoid.from_sample(SHAPES, shape[None])
    with pytest.raises(ValueError, match="a public sample of 0 says nothing"):
        Ellipsoid.from_sample(SHAPES, np.empty((0, 20, 2)))
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match=r"all the same.*give a centre and a radius"):
        Ellipsoid.from_sample(SHAPES, np.stack([shape, 3 * shape @ turn + 1, shape]))


def test_a_bad_public_point_is_named_by_its_row(rng):
    shapes = corpus_callosa(5, 20, rng=rng)
    shapes[3, 7, 1] = np.nan
    with pytest.raises(ValueError, match="the public sample: record 3: holds NaN or an infinite value: landmark 8"):
        Ellipsoid.from_sample(SHAPES, shapes)


@pytest.mark.parametrize("others", [1, 2, 5])
def test_a_sample_of_one_point_many_times_and_a_few_others_is_a_sample(others, rng):
    space, sample = sf.Euclidean(dim=4), np.zeros((100, 4))
    sample[:others] = np.eye(4)[np.arange(others) % 2]
    for rows in (sample, sample[::-1], rng.permutation(sample), sample[: others + 2]):
        for n in (1, 100, 10**6):
            region = Ellipsoid.from_sample(space, rows).settle(n, 1.0)
            assert (region.axes > 0).all()
            assert np.isfinite(region.axes).all()


@pytest.mark.filterwarnings("ignore::sfumato.ConvergenceWarning")
def test_public_points_at_the_cut_locus_still_make_a_region():
    for points in (
        [[0.0, 0, 1], [0.0, 0, -1]],
        [[0.0, 0, 1], [1e-9, 0, -1], [0.0, 1, 0]],
        [[1.0, 0, 0], [-1, 0, 0], [0, 1, 0]],
    ):
        region = Ellipsoid.from_sample(sf.Sphere(dim=2), points).settle(100, 1.0)
        assert np.isfinite(region.axes).all()
        assert region.radius < 20


@pytest.mark.parametrize("scale", [1e-60, 1e-6, 1e9, 1e60])
def test_units_do_not_matter(scale, rng):
    space, sample = sf.Euclidean(dim=12), falling(20, 12, rng)
    sample -= sample.mean(axis=0)
    plain = Ellipsoid.from_sample(space, sample).settle(200, 1.0)
    scaled = Ellipsoid.from_sample(space, scale * sample).settle(200, 1.0)
    assert np.allclose(scaled.axes, scale * plain.axes, rtol=1e-6, atol=0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"relation": "cousin"}, "relation must be one of same, related, other"),
        ({"coverage": 0.0}, "coverage is .auto. or a share"),
        ({"coverage": "most"}, "coverage is .auto. or a share"),
        ({"modes": 0}, "modes must be 'auto' or a whole number from 1 to 36"),
        ({"modes": 2.5}, "modes must be 'auto'"),
        ({"weight": 1.5}, "weight must be 'auto' or a number between 0 and 1"),
        ({"prior": "rough"}, "prior must be 'auto' or one of ball, smooth, open, bending"),
    ],
)
def test_wrong_arguments_are_named(arguments, words, rng):
    with pytest.raises(ValueError, match=words):
        Ellipsoid.from_sample(SHAPES, corpus_callosa(5, 20, rng=rng), **arguments)


def test_only_landmarks_are_smooth_or_bend():
    for make in (Ellipsoid.smooth, Ellipsoid.bending):
        with pytest.raises(ValueError, match="its points are not landmarks"):
            make(sf.Sphere(dim=2), [0.0, 0.0, 1.0], 0.1)
    with pytest.raises(ValueError, match="order of smoothness"):
        Ellipsoid.smooth(SHAPES, outline(), 0.1, order=-1)
    with pytest.raises(ValueError, match="radius of the ball"):
        Ellipsoid.smooth(SHAPES, outline(), 0.0)
    with pytest.raises(ValueError, match="the centre of the ellipsoid has no shape"):
        Ellipsoid.bending(SHAPES, np.zeros((20, 2)), 0.1)


# -- landmarks ----------------------------------------------------------------------------------------------------------
def variance_of(moment, space, center, displacement):
    """uᵀCu for the unit vector u of the tangent part of a displacement (k, 2)."""
    u = space.tangent_basis(center).conj() @ (displacement[:, 0] + 1j * displacement[:, 1])
    u = u.real / np.linalg.norm(u.real)
    return u @ moment @ u


@pytest.mark.parametrize("closed", [True, False])
def test_a_wave_along_the_outline_has_the_variance_of_its_frequency(closed, rng):
    """A centre in the lowest modes alone leaves the others horizontal, so these are eigenvectors."""
    space, steps = sf.PlanarShapes(landmarks=24), np.arange(24)
    turn = np.pi * (steps + 0.5) / 24 * (2 if closed else 1)
    center = space.validate(np.stack([np.cos(turn), np.sin(turn) if closed else np.cos(2 * turn)], axis=1)[None])[0]
    for order in (1.0, 2.0):
        moment = smooth_moment(space, center, order, closed)
        for waves in (4, 7, 11):
            wave = np.stack([np.cos(waves * turn), 0 * turn], axis=1)
            expected = (1 + (waves if closed else waves / 2)) ** (-2 * order)
            assert variance_of(moment, space, center, wave) == pytest.approx(expected)


def test_affine_changes_bend_nothing_and_a_single_landmark_bends_most(rng):
    shape = outline()
    center = SHAPES.validate(shape[None])[0]
    moment = bending_moment(SHAPES, center)
    assert np.linalg.eigvalsh(moment)[0] > -1e-12
    marks = SHAPES.present(center[None])[0]
    stretch = marks * [1.0, 0.0]
    assert variance_of(moment, SHAPES, center, stretch) == pytest.approx(1)
    spike = np.zeros((20, 2))
    spike[5] = [1.0, 0.0]
    assert variance_of(moment, SHAPES, center, spike) < 0.5
    assert np.linalg.eigvalsh(moment)[-1] <= 1 + 1e-9


def test_odd_centres_have_their_warps_too():
    twice = outline()
    twice[4] = twice[5]  # two landmarks in one place
    flat = np.stack([np.linspace(0, 1, 20) ** 2, np.zeros(20)], axis=1)  # all on a line
    for shape in (twice, flat):
        assert (Ellipsoid.bending(SHAPES, shape, 0.1).settle(1000, 1.0).axes > 0).all()
    triangle = sf.PlanarShapes(landmarks=3)
    region = Ellipsoid.bending(triangle, [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 0.1).settle(1000, 1.0)
    assert region.axes == pytest.approx([0.08, 0.08])  # no warps: a ball


def test_the_smallest_epsilon_still_settles(rng):
    sketch = Ellipsoid.from_sample(sf.Euclidean(dim=3), 1e60 * rng.standard_normal((9, 3)))
    with np.errstate(over="ignore"):
        assert len(sketch.settle(1, 1e-99).axes) >= 1


# -- the whole error ------------------------------------------------------------------------------------------------------
GRID = [(n, epsilon) for n in (2, 10, 60, 300, 2000, 10**5) for epsilon in (0.01, 0.1, 0.3, 1.0, 3.0, 10.0)]


def some_samples(rng):
    yield sf.Euclidean(dim=12), falling(20, 12, rng)
    yield sf.Euclidean(dim=3), rng.standard_t(2, (9, 3))
    yield sf.Euclidean(dim=5), falling(2, 5, rng)
    yield SHAPES, corpus_callosa(15, 20, rng=rng)
    yield sf.Sphere(dim=2), sf.Sphere(dim=2).present(cloud(sf.Sphere(dim=2), sf.Sphere(dim=2).origin(), 0.4, 8, rng))


@pytest.mark.parametrize("modes", ["auto", 1, 2])
@pytest.mark.parametrize("relation", ["same", "related", "other"])
def test_more_records_or_a_larger_epsilon_never_raise_the_stated_error(relation, modes, rng):
    for space, sample in some_samples(rng):
        sketch = Ellipsoid.from_sample(space, sample, relation, modes=modes)
        stated = {cell: sketch.whole_error(*cell).quantile(0.95) for cell in GRID}
        for n, epsilon in GRID:
            better = [stated[other] for other in GRID if other[0] >= n and other[1] >= epsilon]
            assert max(better) <= stated[n, epsilon] * (1 + 1e-12)


def test_for_landmarks_alone_neither(rng):
    for sketch in (Ellipsoid.smooth(SHAPES, outline(), 0.1), Ellipsoid.bending(SHAPES, outline(), 0.1)):
        stated = [sketch.whole_error(n, 1.0).quantile(0.95) for n in (2, 5, 20, 50, 100, 200, 1000, 10**5)]
        assert stated == sorted(stated, reverse=True)
        assert sketch.whole_error(50, 1.0).gain < sketch.whole_error(1000, 1.0).gain


def released(sketch, records, epsilon, rng):
    """Return the error of one flat release, and its coordinates."""
    n, chart = len(records), sketch.settle(len(records), epsilon)
    direction = rng.standard_normal(len(chart.axes))
    noise = 2 / (n * epsilon) * rng.standard_gamma(len(direction)) * direction / np.linalg.norm(direction)
    raw = chart.of_tangents(records - chart.center).mean(axis=0) + noise
    value = chart.center + chart.tangent(james_stein(raw, chart.axes, 2 / (n * epsilon)))
    return np.linalg.norm(value - records.mean(axis=0)), raw


@pytest.mark.parametrize(("m", "dim"), [(5, 2), (5, 15), (20, 3), (20, 15)])
def test_the_stated_error_holds_and_is_not_far_above_the_actual_one(m, dim, rng):
    """Normal records of the population of the sample; a sample of another one is found out."""
    space, whole, noise, ratios = sf.Euclidean(dim=dim), [], [], []
    for _ in range(40):
        sketch = Ellipsoid.from_sample(space, falling(m, dim, rng), "same")
        for epsilon in (0.25, 1.0, 4.0):
            stated = sketch.whole_error(150, epsilon)
            error, _ = released(sketch, falling(150, dim, rng), epsilon, rng)
            whole.append(error <= stated.quantile(0.95))
            noise.append(error <= noise_error(sketch.settle(150, epsilon).axes, 150, epsilon).quantile(0.95))
            ratios.append(stated.quantile(0.95) / error)
    assert np.mean(whole) >= 0.9
    assert np.mean(noise) < np.mean(whole)  # counting the noise alone says too little
    assert np.median(ratios) <= (2.5 if dim > 3 else 4.5)


def test_after_the_draw_a_wrong_sample_shows_and_the_figure_never_falls(rng):
    space, right, wrong = sf.Euclidean(dim=12), [], []
    for _ in range(20):
        sketch = Ellipsoid.from_sample(space, falling(20, 12, rng), "same")
        chart, foreseen = sketch.settle(300, 1.0), sketch.whole_error(300, 1.0)
        for offset, found in ((0.0, right), (1.5, wrong)):
            error, raw = released(sketch, falling(300, 12, rng) + offset * np.eye(12)[0], 1.0, rng)
            after = sketch.whole_after(chart, 300, 1.0, raw)
            assert after.quantile(0.95) >= foreseen.quantile(0.95)
            assert after.rms >= foreseen.rms
            assert after.public >= foreseen.public
            found.append(
                (after.public / foreseen.public, error <= after.quantile(0.95), error <= foreseen.quantile(0.95))
            )
    assert np.median([f for f, _, _ in right]) < 1.2
    assert np.median([f for f, _, _ in wrong]) > 2
    assert np.mean([later for _, later, _ in wrong]) > np.mean([before for _, _, before in wrong])


def test_after_a_draw_in_the_ball_it_is_the_ball_s(rng):
    sketch = Ellipsoid.from_sample(sf.Euclidean(dim=4), falling(20, 4, rng))
    ball = sketch.ball.as_chart()
    foreseen = sketch.whole_after(ball, 100, 1.0)
    assert foreseen.noise == pytest.approx(rms_noise(ball.axes, 100, 1.0))
    assert sketch.whole_after(ball, 100, 1.0, np.zeros(4)) == foreseen
    far = sketch.whole_after(ball, 100, 1.0, np.full(4, 0.5))
    assert far.public > foreseen.public
    assert far.quantile(0.95) >= foreseen.quantile(0.95)


def test_a_chart_is_known_wherever_it_was_moved_to_and_for_other_numbers_of_records(rng):
    """Groups share the chart of the smallest, and a second step moves it."""
    sketch = Ellipsoid.from_sample(sf.Euclidean(dim=12), falling(30, 12, rng))
    chart = sketch.settle(100, 1.0)
    larger = sketch.whole_after(chart, 300, 1.0)
    assert larger.noise == pytest.approx(rms_noise(chart.axes, 300, 1.0))
    assert (
        sketch.whole_error(300, 1.0).quantile(0.95)
        <= larger.quantile(0.95)
        < sketch.whole_error(100, 1.0).quantile(0.95)
    )
    assert sketch.whole_after(chart.moved(np.full(12, 0.1)), 300, 1.0) == larger


def test_who_says_less_of_the_sample_states_a_larger_error(rng):
    sample = falling(20, 12, rng)
    same, related, other = (
        Ellipsoid.from_sample(sf.Euclidean(dim=12), sample, relation).whole_error(200, 1.0)
        for relation in ("same", "related", "other")
    )
    assert same.quantile(0.95) < related.quantile(0.95) < other.quantile(0.95)
    assert same.public < related.public < other.public


def test_of_two_points_each_is_held_out_from_the_directions_of_the_prior(rng):
    sketch = Ellipsoid.from_sample(sf.Euclidean(dim=4), [[0.0, 0, 0, 0], [1.0, 0, 0, 0]])
    for _, roots, _, _ in sketch._folds(0.05, np.eye(4) / 4):
        assert roots == pytest.approx(np.full(4, roots[0]))


def test_only_curved_spaces_bend(rng):
    assert Ellipsoid.from_sample(sf.Euclidean(dim=4), falling(20, 4, rng)).bend < 1e-12
    sphere = sf.Sphere(dim=2)
    bends = [
        Ellipsoid.from_sample(sphere, sphere.present(cloud(sphere, sphere.origin(), radius, 20, rng))).bend
        for radius in (0.1, 0.8)
    ]
    assert 0 < bends[0] < bends[1] < 0.5


def test_of_a_ball_only_the_noise_is_known():
    ball = sf.Ball(sf.Euclidean(dim=2), [0.0, 0.0], 2.0)
    whole = ball.whole_error(100, 1.0)
    assert whole.rms == pytest.approx(rms_noise(np.full(2, 2.0), 100, 1.0))
    assert whole.bias == 0
    assert whole.gain is None
    assert ball.as_chart().whole_error(100, 1.0) == whole


def test_fear_of_clipping_does_not_cost_much_more_than_the_ball(rng):
    for dim in (3, 12):
        sketch = Ellipsoid.from_sample(sf.Euclidean(dim=dim), falling(20, dim, rng), "other")
        ball = rms_noise(sketch.ball.as_chart().axes, 1000, 2.0)
        assert rms_noise(sketch.settle(1000, 2.0).axes, 1000, 2.0) <= 1.2 * ball * (1 + 1e-9)
