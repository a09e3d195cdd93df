import numpy as np
import pytest

import sfumato as sf
from sfumato.landmarks.outlines import smoothing_matrix
from sfumato.studies.synthetic import corpus_callosa, corpus_callosum_template


def test_smoothing_keeps_constants_and_goes_around():
    matrix = smoothing_matrix(30, 0.05)
    assert np.allclose(matrix.sum(axis=1), 1.0)
    assert np.allclose(matrix, np.roll(np.roll(matrix, 7, axis=0), 7, axis=1))  # no seam where the outline closes
    shifted = sf.smooth_outline(np.ones((30, 2)) * [3.0, -2.0])
    assert np.allclose(shifted, [3.0, -2.0])


def test_smoothing_commutes_with_moving_turning_and_relabelling(rng):
    outline, turn = rng.normal(size=(20, 2)), np.array([[0.6, -0.8], [0.8, 0.6]])
    smooth = sf.smooth_outline(outline, 0.08)
    assert np.allclose(sf.smooth_outline(2 * outline @ turn + 5, 0.08), 2 * smooth @ turn + 5)
    assert np.allclose(sf.smooth_outline(np.roll(outline, 3, axis=0), 0.08), np.roll(smooth, 3, axis=0))
    assert np.allclose(sf.smooth_outline(np.stack([outline, outline]), 0.08)[1], smooth)


def test_public_bandwidth_lowers_the_error_and_widens_with_it(rng):
    template = corpus_callosum_template(50)
    space = sf.PlanarShapes(landmarks=50)
    widths = [sf.outline_bandwidth(template, error) for error in (0.01, 0.06, 0.2)]
    assert widths == sorted(widths)
    truth = space.validate(template[None])[0]
    noisy = space.exp(truth, 0.06 * space.random_directions(truth, 200, rng))
    raw, smooth = (
        space.distance(truth, noisy),
        space.distance(truth, sf.smooth_outline(space.present(noisy), widths[1])),
    )
    assert smooth.mean() < 0.75 * raw.mean()


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan])
def test_bad_bandwidths_and_outlines_are_refused(bad):
    with pytest.raises(ValueError, match="bandwidth must be a positive fraction"):
        sf.smooth_outline(np.ones((5, 2)), bad)
    with pytest.raises(ValueError, match="landmarks"):
        sf.smooth_outline(np.ones(5))


def test_crossings_are_found_exactly():
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], dtype=float)
    bow_tie = square[[0, 2, 1, 3]]
    touching = np.array([[0, 0], [2, 0], [2, 1], [1, 0], [0, 1]], dtype=float)  # a corner on a side
    almost = touching + np.array([[0, 0], [0, 0], [0, 0], [0, 5e-324], [0, 0]])  # the smallest number above it
    folded = np.array([[0, 0], [3, 0], [3, 1], [1, 0], [2, 0], [0, 1]], dtype=float)  # two sides on one line
    assert sf.crosses_itself([square, bow_tie]).tolist() == [False, True]
    assert bool(sf.crosses_itself(touching))
    assert not bool(sf.crosses_itself(almost))
    assert bool(sf.crosses_itself(folded))


def test_synthetic_callosa_are_like_real_ones(rng):
    outlines = corpus_callosa(409, 50, rng=rng)
    space, template = sf.PlanarShapes(landmarks=50), corpus_callosum_template(50)
    distance = space.distance(sf.frechet_mean(space, outlines).point, outlines)
    assert 0.040 < distance.mean() < 0.050
    assert 0.09 < distance.max() < 0.14
    assert space.distance(template, sf.frechet_mean(space, outlines).point) < 0.01
    assert not bool(sf.crosses_itself(template))
    assert np.mean(sf.crosses_itself(outlines)) < 0.05


# -- as many points on each ------------------------------------------------------------------------------------------------
def blob(rng, points, long=0.3):
    """An outline of its own, its points unevenly along it, anticlockwise."""
    t = np.sort(rng.random(points)) * 2 * np.pi
    r = 1 + long * np.cos(2 * t) + 0.1 * np.cos(3 * t + 0.4) + rng.normal(0, 0.02) * np.sin(5 * t)
    return np.stack([r * np.cos(t), r * np.sin(t)], axis=1)


TURN = np.array([[0.6, -0.8], [0.8, 0.6]])
REFERENCE = np.roll(sf.resample_outlines([blob(np.random.default_rng(1), 300)], 60)[0], -13, axis=0)
BOTH = pytest.mark.parametrize("reference", [None, REFERENCE], ids=["alone", "by a reference"])


@BOTH
def test_resampling_depends_on_the_line_and_not_on_how_it_was_traced(rng, reference):
    outline = blob(rng, 137)
    made = sf.resample_outlines([outline], 50, reference)[0]
    finer = (
        outline[:, None] + np.linspace(0, 1, 4)[:3, None] * (np.roll(outline, -1, axis=0) - outline)[:, None]
    ).reshape(-1, 2)
    traced = {
        "from elsewhere": np.roll(outline, 40, axis=0),
        "backwards": outline[::-1],
        "closed": np.vstack([outline, outline[:1]]),
        "with repeated points": np.repeat(outline, rng.integers(1, 4, 137), axis=0),
        "with points between": finer,
    }
    for other in traced.values():
        assert np.allclose(sf.resample_outlines([other], 50, reference)[0], made, atol=1e-9)
    for size in (1e300, 1e-300):
        assert np.allclose(sf.resample_outlines([outline * size], 50, reference)[0] / size, made, atol=1e-9)
    moved = sf.resample_outlines([3 * outline @ TURN.T + 7], 50, reference)[0]
    assert np.allclose(moved, 3 * made @ TURN.T + 7, atol=1e-7)
    assert not np.allclose(sf.resample_outlines([outline * [1, -1]], 50, reference)[0], made * [1, -1], atol=1e-3)


@BOTH
def test_points_are_at_even_distances_along_the_line(rng, reference):
    outline = blob(rng, 80)
    ring = np.vstack([outline, outline[:1]])
    lengths = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(ring, axis=0), axis=1))])
    made = sf.resample_outlines([outline], 25, reference)[0]
    places = []
    for point in made:
        step = np.diff(ring, axis=0)
        part = np.clip(np.sum((point - outline) * step, axis=1) / np.sum(step**2, axis=1), 0, 1)
        away = np.linalg.norm(outline + part[:, None] * step - point, axis=1)
        assert away.min() < 1e-12  # on the line
        places.append((lengths[:-1] + part * np.diff(lengths))[np.argmin(away)])
    gaps = (np.roll(places, -1) - places) % lengths[-1]
    assert np.allclose(gaps, lengths[-1] / 25)
    assert float(np.sum(made[:, 0] * np.roll(made[:, 1], -1) - np.roll(made[:, 0], -1) * made[:, 1])) > 0


@BOTH
def test_an_outline_is_resampled_by_itself_to_the_bit(rng, reference):
    """Other records, in any order and number, and bad ones among them, move no bit of it."""
    outlines = [blob(rng, int(m)) for m in rng.integers(12, 200, 25)]
    made = sf.resample_outlines(outlines, 40, reference)
    order = rng.permutation(25)
    assert np.array_equal(sf.resample_outlines([outlines[i] for i in order], 40, reference), made[order])
    bad = [np.full((9, 2), np.nan), np.zeros((5, 2)), np.empty((0, 2)), 1e300 * blob(rng, 30)]
    padded = sf.resample_outlines([*bad, *outlines, *bad], 40, reference)
    assert np.array_equal(padded[4:-4], made)
    changed = sf.resample_outlines([blob(rng, 99), *outlines[1:]], 40, reference)
    assert np.array_equal(changed[1:], made[1:])
    assert not np.array_equal(changed[0], made[0])


def test_the_reference_says_start_and_direction(rng):
    """Outlines that look alike, traced from anywhere in either direction, come out with corresponding points."""
    outlines = [blob(rng, 150) for _ in range(20)]
    traced = [np.roll(x[:: rng.choice([-1, 1])], rng.integers(150), axis=0) @ TURN.T for x in outlines]
    space = sf.PlanarShapes(60)
    for reference, sign in ((REFERENCE, 1), (REFERENCE[::-1], -1)):
        made = sf.resample_outlines(traced, 60, reference)
        assert space.distance(*space.validate(np.stack([made[0], reference]))) < 0.1
        assert space.distance(space.validate(reference[None]), space.validate(made)).max() < 0.1
        area = np.sum(
            made[..., 0] * np.roll(made[..., 1], -1, axis=1) - np.roll(made[..., 0], -1, axis=1) * made[..., 1], 1
        )
        assert (np.sign(area) == sign).all()
    shifted = np.roll(REFERENCE, 20, axis=0)  # another start, as far apart as the test can see
    assert space.distance(*space.validate(np.stack([sf.resample_outlines(traced, 60, shifted)[0], REFERENCE]))) > 0.3
    again = sf.resample_outlines([10 * blob(np.random.default_rng(1), 300)[::-1]], 60, REFERENCE)[0] / 10
    assert np.abs(again - REFERENCE).max() < 5e-3


def test_outlines_that_are_hardly_any(rng):
    line = [[0.0, 0.0], [4.0, 0.0]]
    for reference in (None, REFERENCE, [*line, [2.0, 0.0]]):
        for outline in ([*line, line[1]], [[1.0, 2.0]] * 7, [[0, 0], [1, 1], [1, 0], [0, 1]], np.zeros((3, 2))):
            made = sf.resample_outlines([outline], 8, reference)
            assert np.isfinite(made).all()
            assert np.array_equal(made, sf.resample_outlines([outline], 8, reference))
    assert sf.resample_outlines([[[1.0, 2.0]] * 7], 3).tolist() == [[[1.0, 2.0]] * 3]
    circle = np.exp(2j * np.pi * np.arange(90) / 90)
    circle = np.stack([circle.real, circle.imag], axis=1)
    assert np.allclose(sf.resample_outlines([circle], 9), sf.resample_outlines([np.roll(circle, 31, axis=0)], 9))
    assert np.isnan(
        sf.resample_outlines([np.empty((0, 2)), [[1.0, 2.0]], line, [[0, np.inf], [1, 1], [2, 0]]], 4)
    ).all()
    assert sf.resample_outlines([], 5).shape == (0, 5, 2)
    for k in (2, 2.5, True, "9"):
        with pytest.raises(ValueError, match="3 points or more"):
            sf.resample_outlines([circle], k)
    with pytest.raises(ValueError, match=r"outline 1: expected points \(m, 2\), not an array of shape \(4, 3\)"):
        sf.resample_outlines([circle, np.zeros((4, 3))], 5)
    with pytest.raises(ValueError, match=r"the reference is one outline"):
        sf.resample_outlines([circle], 5, [circle])
