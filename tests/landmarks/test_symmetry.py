"""Specimens without their asymmetry."""

import sys

import numpy as np
import pytest

import sfumato as sf
from sfumato.app import cli

PAIRS = [(1, 2), (5, 3)]
OTHER = [1, 0, 4, 3, 2, 5]  # landmarks 4 and 6 lie on the midline


def specimens(n, m, rng):
    """Six landmarks, symmetric but for noise and one that stands out on one side, lying anyhow."""
    half = np.array([[1.0, 0.2, 0.1], [1.5, -1.0, 0.7]])[:, :m]
    mirror = half * ([-1.0] + [1.0] * (m - 1))
    middle = np.array([[0.0, 2.0, 0.0], [0.0, -1.5, 0.8]])[:, :m]
    ideal = np.stack([half[0], mirror[0], half[1], middle[0], mirror[1], middle[1]])
    ideal[0, 1] += 0.4
    turned = np.linalg.qr(rng.normal(size=(n, m, m)))[0]
    return (ideal + 0.05 * rng.normal(size=(n, 6, m))) @ turned + 20 * rng.normal(size=(n, 1, m))


def nearest(a, b):
    """b over a by ordinary Procrustes, turned or turned over."""
    a0, b0 = a - a.mean(axis=0), b - b.mean(axis=0)
    u, _, vt = np.linalg.svd(b0.T @ a0)
    return b0 @ u @ vt + a.mean(axis=0)


@pytest.mark.parametrize("m", [2, 3])
def test_it_is_the_mean_with_the_mirror_image(m, rng):
    raw = specimens(30, m, rng)
    found = sf.symmetrize(raw, PAIRS)
    for x, even in zip(raw, found, strict=True):
        assert np.allclose(even, (x + nearest(x, x[OTHER])) / 2, atol=1e-12)  # by the textbook
        assert np.allclose(nearest(even, even[OTHER]), even, atol=1e-12)  # and symmetric
        assert np.linalg.norm(nearest(x, x[OTHER]) - x) > 0.02  # as it was not before
        mirror = np.linalg.svd((even - even.mean(axis=0)).T @ (even - even.mean(axis=0))[OTHER])
        assert np.linalg.det(mirror[0] @ mirror[2]) == pytest.approx(-1)  # by a reflection
    assert np.allclose(sf.symmetrize(found, PAIRS), found, atol=1e-12)
    assert np.array_equal(sf.symmetrize(raw[0], PAIRS).shape, raw[0].shape)


def test_each_specimen_is_treated_by_itself(rng):
    raw = specimens(40, 3, rng)
    wanted = sf.symmetrize(raw, PAIRS)
    for value in (np.nan, np.inf, 0.0, 1e308, 7.0, 1e-300):
        other = raw.copy()
        other[7] = value
        other[9, 2, 1] = value
        found = sf.symmetrize(other, PAIRS)
        keep = np.delete(np.arange(40), [7, 9])
        assert np.array_equal(found[keep], wanted[keep])
        if not np.isfinite(value):
            assert np.array_equal(found[[7, 9]], other[[7, 9]], equal_nan=True)
    assert np.allclose(sf.symmetrize(1e250 * raw, PAIRS), 1e250 * wanted, rtol=1e-12, atol=1e238)


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([(0, 1)], "none is number 0"),
        ([(2, 7)], "there are 6 landmarks, counted from 1"),
        ([(1, 2), (2, 3)], "landmark 2 stands in another pair"),
        ([(4, 4)], "is one landmark: leave it out"),
        ([(1, 2, 3)], "two landmarks"),
        ([(1.5, 2)], "two landmarks"),
        ([3], "two landmarks"),
        ([], "at least one pair"),
    ],
)
def test_pairs_that_do_not_fit_are_refused(pairs, words, rng):
    with pytest.raises(ValueError, match=words):
        sf.symmetrize(specimens(2, 3, rng), pairs)


def test_only_landmarks_have_sides():
    for wrong in (np.zeros((4, 5)), np.zeros((4, 5), dtype=complex), np.zeros(3), np.zeros((2, 2, 4, 3))):
        with pytest.raises(ValueError, match="symmetrize takes landmarks"):
            sf.symmetrize(wrong, [(1, 2)])


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["sfumato", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return stop.value.code or 0


@pytest.mark.parametrize("public", [True, False])
def test_the_command_line_symmetrizes_all_that_it_reads(public, tmp_path, monkeypatch, capsys, rng):
    monkeypatch.chdir(tmp_path)
    raw, atlas = specimens(400, 2, rng), specimens(20, 2, rng)
    np.save("a.npy", raw)
    np.save("atlas.npy", atlas if public else atlas[:1])
    told = ["--public", "atlas.npy"] if public else ["--center", "atlas.npy", "--radius", "0.2"]
    options = ["--space", "shapes", "--epsilon", "1e6", "--force", "--mechanism", "tangent"]
    options += ["--check", "0"] if public else []
    assert run(monkeypatch, "release", "a.npy", *told, *options, "--symmetric", "1-2, 5-3") == 0
    release, space = sf.Release.load("mean.json"), sf.PlanarShapes(6)
    center = np.asarray(release.ball.center)
    assert np.allclose(sf.symmetrize(center, PAIRS), center, atol=1e-12)
    mean = sf.frechet_mean(space, sf.symmetrize(raw, PAIRS)).point
    plain = sf.frechet_mean(space, raw).point
    at = [float(space.distance(space.validate(x[None]), space.validate(release.value[None]))[0]) for x in (mean, plain)]
    assert at[0] < 0.01 < 0.04 < at[1]
    assert run(monkeypatch, "release", "a.npy", *told, *options, "--symmetric", "1,2") == 2
    assert "write pairs of left and right landmarks, counted from 1, as 1-2,3-4" in capsys.readouterr().err
