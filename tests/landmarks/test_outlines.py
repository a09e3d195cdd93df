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
