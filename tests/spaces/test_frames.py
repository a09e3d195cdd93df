"""Subspaces and frames: against geomstats, and at the places where a logarithm is hard or not unique."""

import numpy as np
import pytest
from geomstats.geometry.grassmannian import Grassmannian
from geomstats.geometry.stiefel import Stiefel

import sfumato as sf
from sfumato.laws.calibration.chart import chart_bias
from sfumato.spaces import Family
from sfumato.spaces.grassmann import in_gauge


def projector(frames):
    return frames @ np.swapaxes(frames, -1, -2)


def turned(frames, rng):
    """Other frames of the same subspaces."""
    return frames @ np.linalg.qr(rng.normal(size=(len(frames), frames.shape[2], frames.shape[2])))[0]


def around(space, radius, count, rng):
    base = space.validate(np.linalg.qr(rng.normal(size=(1, space.n, space.p)))[0])[0]
    vectors = radius * space.random_directions(base, count, rng)
    return base, vectors, space.exp(base, vectors)


# -- subspaces ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("sizes", [(5, 2), (4, 3), (6, 1)])
@pytest.mark.parametrize("radius", [0.3, 1.5])
def test_subspaces_are_those_of_geomstats(sizes, radius, rng):
    ours, theirs = sf.Grassmann(*sizes), Grassmannian(*sizes)
    x, v, y = around(ours, radius, 20, rng)
    assert ours.distance(x, y) == pytest.approx(theirs.metric.dist(projector(x), projector(y)) / np.sqrt(2), abs=1e-9)
    seen = ours.log(x, y) @ x.T  # of projectors the tangent vectors are V·Xᵀ + X·Vᵀ
    assert np.allclose(seen + np.swapaxes(seen, 1, 2), theirs.metric.log(projector(y), projector(x)), atol=1e-9)
    assert np.allclose(ours.log(x, y), v, atol=1e-12)


def test_the_mean_subspace_is_that_of_geomstats(rng):
    ours, theirs = sf.Grassmann(5, 2), Grassmannian(5, 2)
    _, _, y = around(ours, 0.6, 25, rng)
    mean = projector(sf.frechet_mean(ours, y).point)
    assert np.abs(theirs.metric.log(projector(y), mean).mean(axis=0)).max() < 1e-9


@pytest.mark.parametrize("sizes", [(4, 2), (5, 2), (4, 1)])
def test_a_chart_of_subspaces_is_no_more_biased_than_is_proven(sizes, rng):
    space, center = sf.Grassmann(*sizes), sf.Grassmann(*sizes).origin()
    seen = []
    for radius in (0.3, 0.6):
        ends = radius * space.random_directions(center, 12, rng)
        for a, b in zip(ends[::2], ends[1::2], strict=True):
            for share in (0.5, 0.8):
                mean = sf.frechet_mean(space, space.exp(center, np.stack([a, b])), [share, 1 - share]).point
                here = space.log(center, space.validate(mean[None]))[0]
                off = float(space.norm(center, here - (share * a + (1 - share) * b)))
                assert off <= chart_bias(space, radius)
                seen.append(off / chart_bias(space, radius))
    assert max(seen) > 0.05
    assert np.isinf(chart_bias(space, np.pi / 4))


def test_a_subspace_is_the_same_in_whatever_way_it_is_written(rng):
    space = sf.Grassmann(n=5, p=2)
    _, _, y = around(space, 1.0, 50, rng)
    shown = space.present(y)
    scales = rng.uniform(0.1, 5.0, size=(50, 2, 2)) + 3 * np.eye(2)
    ways = [
        turned(y, rng),
        y @ scales,
        1e-250 * y,
        y * [1e200, 1e-200],
        projector(y),
        np.swapaxes(turned(y, rng), 1, 2),
    ]
    for way in ways:
        assert np.allclose(space.present(space.validate(way)), shown, atol=1e-12)
    assert np.allclose(np.swapaxes(shown, 1, 2) @ shown, np.eye(2), atol=1e-14)


def test_the_written_frame_does_not_hang_on_ties(rng):
    """Subspaces along the axes, where rows are equally long, are written as the axes whatever rounding says."""
    frames = np.repeat(np.eye(4)[None, :, 1:3], 30, axis=0)
    noisy = np.linalg.qr(turned(frames, rng) + 1e-15 * rng.normal(size=frames.shape))[0]
    assert np.allclose(in_gauge(noisy), frames, atol=1e-12)


def test_opposite_and_near_subspaces(rng):
    space = sf.Grassmann(n=4, p=2)
    x, across = space.validate([np.eye(4)[:, :2], np.eye(4)[:, 2:]])
    assert float(space.distance(x, across)) == pytest.approx(np.pi / np.sqrt(2), abs=1e-12)
    assert space.distance(space.exp(x, space.log(x, across)), across) <= 1e-7
    v = 1e-9 * space.random_directions(x, 20, rng)
    assert np.allclose(space.log(x, space.exp(x, v)), v, atol=1e-15)


def test_what_is_no_subspace_is_named(rng):
    space = sf.Grassmann(n=3, p=2)
    flat = np.array([[[1.0, 2.0], [2.0, 4.0], [0.0, 0.0]]])
    with pytest.raises(sf.InvalidPointError, match="not independent"):
        space.validate(flat)
    with pytest.raises(sf.InvalidPointError, match="not the projector"):
        space.validate(np.eye(3)[None])
    frames = np.linalg.qr(rng.normal(size=(4, 3, 2)))[0]
    assert not space.corrections(frames)
    assert "stands for what its vectors span" in space.corrections(2 * frames)[0]
    with pytest.raises(ValueError, match="less than n"):
        sf.Grassmann(n=3, p=3)


# -- frames ------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("sizes", [(5, 2), (5, 3), (4, 1)])  # geomstats finds no logarithm for some frames of p = n − 1
def test_frames_are_those_of_geomstats(sizes, rng):
    ours, theirs = sf.Stiefel(*sizes), Stiefel(*sizes)
    x, v, y = around(ours, 0.9, 6, rng)
    assert np.allclose(theirs.metric.exp(v, x), y, atol=1e-12)
    assert np.allclose(theirs.metric.inner_product(v, v[::-1], x), ours.inner(x, v, v[::-1]), atol=1e-12)
    theirs.metric.log_solver.tol = 1e-11
    assert np.allclose(theirs.metric.log(y, x), ours.log(x, y), atol=1e-9)


@pytest.mark.parametrize("sizes", [(4, 2), (6, 2), (5, 3), (3, 2), (5, 4), (5, 1)])
def test_logarithms_of_frames_converge(sizes, rng):
    space = sf.Stiefel(*sizes)
    for radius in (1e-9, 0.5, 1.5, 2.5):
        x, v, y = around(space, radius, 50, rng)
        assert np.allclose(space.log(x, y), v, atol=1e-9 if radius > 2 else 1e-13)


def test_frames_with_signs_flipped_are_far(rng):
    """Half a turn has several logarithms; the one that is taken has the length of any, and leads there."""
    space = sf.Stiefel(n=5, p=2)
    x, _, _ = around(space, 1.0, 1, rng)
    for signs in ([-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]):
        v = space.log(x, (x * signs)[None])
        assert space.norm(x, v)[0] == pytest.approx(np.pi, abs=1e-3)
        assert np.allclose(space.exp(x, v)[0], x * signs, atol=1e-4)


@pytest.mark.parametrize("space", [sf.Stiefel(n=5, p=2), sf.Grassmann(n=5, p=2)], ids=str)
def test_noise_of_any_size_leads_to_a_frame(space, rng):
    for length in (1e-300, 1e6, 1e100, 1e200):
        found = space.exp(space.origin(), length * space.random_directions(space.origin(), 5, rng))
        assert np.allclose(np.swapaxes(found, 1, 2) @ found, np.eye(2), atol=1e-12)
        assert not space.diagnose(found)[1]


def test_what_is_no_frame_is_named(rng):
    space = sf.Stiefel(n=4, p=2)
    frames = np.linalg.qr(rng.normal(size=(5, 4, 2)))[0]
    frames[2] *= 1.5
    with pytest.raises(sf.InvalidPointError, match=r"record 2.*orthonormal columns"):
        space.validate(frames)
    assert "nearest frame" in space.corrections(np.round(np.delete(frames, 2, axis=0), 3))[0]


def test_frames_in_rows_are_told_to_be_transposed(tmp_path):
    np.save(tmp_path / "rows.npy", np.tile(np.eye(5)[:2], (3, 1, 1)))
    with pytest.raises(ValueError, match=r"no points of shape \(2, 5\): transpose each record"):
        Family(sf.Stiefel).shaped((2, 5))
    assert sf.read(tmp_path / "rows.npy", sf.Grassmann).source.endswith("as vectors in rows")
