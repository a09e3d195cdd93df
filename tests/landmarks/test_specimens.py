"""Missing landmarks and semilandmarks: by the published formulas, and each specimen by itself, to the bit."""

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator

import sfumato as sf
from sfumato.landmarks.specimens import estimated

SLIDERS = [(1, 2, 3), (2, 3, 4), (3, 4, 5), (7, 8, 9)]


def sample(n, k, m, rng, spread=0.05):
    """Specimens about one shape, moved, turned and scaled anyhow; half of their variation is one mode of all landmarks."""
    shape, mode = np.random.default_rng(k).normal(size=(2, k, m))
    points = shape + spread * (mode * rng.normal(size=(n, 1, 1)) + rng.normal(size=(n, k, m)))
    turns = np.linalg.qr(rng.normal(size=(n, m, m)))[0]
    turns[:, :, 0] *= np.sign(np.linalg.det(turns))[:, None]
    return points @ turns * rng.uniform(1, 9, size=(n, 1, 1)) + 20 * rng.normal(size=(n, 1, m)), shape


def with_holes(points, rng, most):
    holed = points.copy()
    for row in holed:
        row[rng.permutation(len(row))[: rng.integers(0, most + 1)]] = np.nan
    return holed


def over(shape, points, by=slice(None)):
    """Points laid over a shape by ordinary Procrustes, with the middle, the size and the rotation: by the textbook."""
    middle = points[by].mean(axis=0)
    size = np.linalg.norm(points[by] - middle)
    u, _, vt = np.linalg.svd((points[by] - middle).T @ (shape[by] - shape[by].mean(axis=0)))
    turn = u @ np.diag([1.0] * (len(vt) - 1) + [np.linalg.det(u @ vt)]) @ vt
    return (points - middle) / size @ turn, middle, size, turn


# -- missing landmarks ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("m", "kernel"), [(2, "thin_plate_spline"), (3, "linear")])
def test_one_shape_gives_the_thin_plate_spline(m, kernel, rng):
    points, shape = sample(40, 11, m, rng)
    holed = with_holes(points, rng, 5)
    found = sf.estimate_missing(holed, 7 * shape + 3)
    for x, own in zip(holed, found, strict=True):
        there = np.isfinite(x).all(axis=1)
        wanted = RBFInterpolator(shape[there], x[there], kernel=kernel, degree=1)(shape[~there]) if any(~there) else []
        np.testing.assert_allclose(own[~there], np.reshape(wanted, (-1, m)), atol=1e-9)
        np.testing.assert_array_equal(own[there], x[there])
    np.testing.assert_array_equal(sf.estimate_missing(holed, shape[None] * 2), sf.estimate_missing(holed, shape * 2))


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("n", [2, 5, 30])
def test_a_sample_gives_the_conditional_mean(m, n, rng):
    public, shape = sample(n, 9, m, rng)
    holed = with_holes(sample(8, 9, m, rng)[0], rng, 4)
    found = sf.estimate_missing(holed, public)
    mean = over(shape, public[0])[0]
    for _ in range(20):
        mean = np.mean([over(mean, one)[0] for one in public], axis=0)
    for x, own in zip(holed, found, strict=True):
        there = np.isfinite(x).all(axis=1)
        laid = np.array([over(mean, one, there)[0] for one in public])
        order = np.concatenate([np.repeat(there, m).nonzero()[0], np.repeat(~there, m).nonzero()[0]])
        flat, p = laid.reshape(n, -1)[:, order], m * there.sum()
        centre = flat.mean(axis=0)
        s = (flat - centre).T @ (flat - centre) / n
        d, trace, square = len(s), np.trace(s), np.trace(s @ s)
        rho = min(1, ((1 - 2 / d) * square + trace**2) / ((n + 1 - 2 / d) * (square - trace**2 / d)))
        s = (1 - rho) * s + rho * trace / d * np.eye(d)
        mine, middle, size, turn = over(mean, np.nan_to_num(x), there)
        off = s[p:, :p] @ np.linalg.inv(s[:p, :p]) @ (mine[there].ravel() - centre[:p])
        wanted = (centre[p:] + off).reshape(-1, m) @ turn.T * size + middle
        np.testing.assert_allclose(own[~there], wanted, atol=1e-7 * size)


def test_what_the_sample_knows_makes_estimates_better(rng):
    """Its mode of variation is half of all: one shape alone cannot know it."""
    points, shape = sample(300, 12, 2, rng)
    public = sample(80, 12, 2, rng)[0]
    holed = points.copy()
    holed[:, [0, 4, 7]] = np.nan
    size = np.linalg.norm(points - points.mean(axis=1, keepdims=True), axis=(1, 2))
    off = [
        np.median(np.linalg.norm(sf.estimate_missing(holed, r) - points, axis=(1, 2)) / size) for r in (public, shape)
    ]
    assert off[0] < 0.8 * off[1]
    assert off[1] < 0.2


@pytest.mark.parametrize("m", [2, 3])
def test_estimates_move_turn_and_grow_with_the_specimen(m, rng):
    points, shape = sample(30, 8, m, rng)
    holed = with_holes(points, rng, 4)
    turn = np.linalg.qr(rng.normal(size=(m, m)))[0]
    turn[:, 0] *= np.sign(np.linalg.det(turn))
    for reference in (shape, sample(9, 8, m, rng)[0]):
        found = sf.estimate_missing(holed, reference)
        assert np.isfinite(found).all()
        for scale in (1e-250, 3.0, 1e250):
            moved = sf.estimate_missing(scale * (holed @ turn + 5), reference)
            np.testing.assert_allclose(moved / scale, found @ turn + 5, rtol=1e-9, atol=1e-9)


def test_what_cannot_be_estimated_stays_and_says_why(rng):
    shape = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
    holed = shape + 0.01 * rng.normal(size=(7, 6, 2))
    holed[0, :4] = np.nan
    holed[1, 4:] = np.nan
    holed[2, 0] = np.nan
    holed[2, 1, 1] = np.inf
    holed[3, 1:] = holed[3, 1]
    holed[3, 0] = np.nan
    holed[4] = np.nan
    holed[5, 0, 1] = np.nan  # one coordinate: the whole landmark is estimated
    found, reasons = estimated(holed, shape)
    assert sorted(reasons) == [0, 1, 3, 4]
    assert reasons[0] == "4 of its 6 landmarks are missing, more than half"
    assert reasons[4] == "all its landmarks are missing"
    assert reasons[1].startswith(
        "2 of its 6 landmarks are missing, and the others, or these in the public shape, are too"
    )
    np.testing.assert_array_equal(found[[0, 1, 2, 3, 4, 6]], holed[[0, 1, 2, 3, 4, 6]])
    assert np.isfinite(found[5]).all()
    assert not np.any(found[5, 0] == holed[5, 0])
    assert set(estimated(holed, shape + 0.01 * rng.normal(size=(5, 6, 2)))[1]) == {
        0,
        3,
        4,
    }  # two off a line are enough there


def test_odd_public_knowledge(rng):
    points, shape = sample(6, 7, 3, rng)
    holed = with_holes(points, rng, 3)
    same = np.repeat(shape[None], 4, axis=0)
    assert np.isfinite(sf.estimate_missing(holed, same)).all()  # they do not vary: where they are
    gaps = same + 0.01 * rng.normal(size=same.shape)
    gaps[1, 2] = np.nan
    np.testing.assert_array_equal(sf.estimate_missing(holed, gaps), sf.estimate_missing(holed, gaps[[0, 2, 3]]))
    twice = shape.copy()
    twice[1] = twice[0]  # two landmarks in one place
    assert np.isfinite(sf.estimate_missing(holed, twice)).all()
    flat = shape * [1, 1, 0]
    assert len(estimated(holed, flat)[1]) == np.isnan(holed).any(axis=(1, 2)).sum()
    with pytest.raises(ValueError, match="no public specimen has all its landmarks"):
        sf.estimate_missing(holed, gaps[1])
    with pytest.raises(ValueError, match=r"public landmarks \(6, 3\), but records of \(7, 3\)"):
        sf.estimate_missing(holed, shape[:6])
    with pytest.raises(ValueError, match="estimate_missing takes landmarks"):
        sf.estimate_missing(np.zeros((4, 5)), shape)


# -- each specimen by itself ------------------------------------------------------------------------------------------------
def alone(function, points, rng):
    """Whether each row is the same to the bit in any company."""
    whole, n = function(points), len(points)
    order = rng.permutation(n)
    padded = np.concatenate([rng.normal(size=(37, *points.shape[1:])), points, 1e9 + points[::-1]])
    changed = points.copy()
    changed[0] = rng.normal(size=points.shape[1:]) * 1e5
    found = [function(points[order])[np.argsort(order)], function(padded)[37 : 37 + n], function(points[::-1])[::-1]]
    found += [np.stack([function(one) for one in points]), np.concatenate([function(one[None]) for one in points])]
    found += [function(np.asfortranarray(points)), np.concatenate([whole[:1], function(changed)[1:]])]
    return all(np.array_equal(whole, one, equal_nan=True) for one in found)


@pytest.mark.parametrize(("m", "k"), [(2, 9), (2, 34), (3, 13), (3, 33)])
def test_no_other_specimen_changes_a_bit(m, k, rng):
    points, shape = sample(11, k, m, rng)
    holed = with_holes(points, rng, k // 2 + 1)
    holed[3, 0, 0], holed[5] = np.inf, 0.0
    sliders = SLIDERS if k < 30 else [(i, i + 1, i + 2) for i in range(1, k - 1)]
    for reference in (shape, sample(7, k, m, rng)[0]):
        assert alone(lambda x, r=reference: sf.estimate_missing(x, r), holed, rng)
        for by in ("bending", "distance"):
            assert alone(lambda x, r=reference, b=by: sf.slide(x, r, sliders, by=b), points, rng)
            assert alone(lambda x, r=reference: sf.slide(sf.estimate_missing(x, r), r, sliders), holed, rng)
    pooled = lambda x: sf.estimate_missing(x, np.concatenate([np.reshape(x, (-1, k, m)), shape[None]]))  # noqa: E731
    assert not alone(pooled, holed, rng)  # estimates from other records are seen


# -- semilandmarks ----------------------------------------------------------------------------------------------------------
def slid_by_formula(y, shape, sliders, by):
    """One round, by Bookstein (1997) and Gunz, Mitteroecker and Bookstein (2005), with the whole matrices."""
    k, m = shape.shape
    tangents = np.zeros((m * k, len(sliders)))
    for j, (before, on, after) in enumerate(np.array(sliders) - 1):
        tangents[on + k * np.arange(m), j] = (y[after] - y[before]) / np.linalg.norm(y[after] - y[before])
    if by == "distance":
        _, middle, size, turn = over(shape, y)
        unit = (shape - shape.mean(axis=0)) / np.linalg.norm(shape - shape.mean(axis=0))
        away = (y - (unit @ turn.T * size + middle)).T.ravel()
        return y - (tangents @ tangents.T @ away).reshape(m, k).T
    r = np.linalg.norm(shape[:, None] - shape, axis=-1)
    kernel = r**2 * np.log(r**2 + (r == 0)) if m == 2 else -r
    affine = np.column_stack([np.ones(k), shape])
    energy = np.linalg.inv(np.block([[kernel, affine], [affine.T, np.zeros((m + 1, m + 1))]]))[:k, :k]
    every = np.kron(np.eye(m), energy)
    t = -np.linalg.solve(tangents.T @ every @ tangents, tangents.T @ every @ y.T.ravel())
    return y + (tangents @ t).reshape(m, k).T


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("by", ["bending", "distance"])
def test_sliding_is_the_published_formula(m, by, rng):
    points, shape = sample(20, 11, m, rng)
    found = sf.slide(points, 3 * shape + 1, SLIDERS, by=by, rounds=1)
    for y, own in zip(points, found, strict=True):
        np.testing.assert_allclose(own, slid_by_formula(y, shape, SLIDERS, by), rtol=1e-9, atol=1e-9)
    if by == "bending":  # in any round, as it knows no place, size or rotation
        y = points[0]
        for _ in range(3):
            y = slid_by_formula(y, shape, SLIDERS, by)
        np.testing.assert_allclose(sf.slide(points[0], shape, SLIDERS), y, rtol=1e-8)


# what geomorph 4.0.8 makes of these after three rounds on a fixed reference (semilandmarks.slide.BE without approximation, and
# semilandmarks.slide.ProcD, with apply.pPsup between), laid over the reference
REFERENCE = np.array([[0, 0, 0], [1, 0.6, 0.5], [2, 1, 0.2], [3, 0.8, -0.3], [4, 0, 0.4], [2, -1.5, 1]])
SPECIMEN = np.array(
    [[0.1, 0, 0.1], [0.7, 0.7, 0.4], [1.9, 1.3, 0.4], [3.3, 0.7, -0.2], [4.1, 0.2, 0.3], [2.2, -1.4, 0.8]]
)
# fmt: off
BY_GEOMORPH = {
    (2, "bending"): [[-0.486290919454, -0.039904533574], [-0.274832910469, 0.152147509826], [-0.045985938606, 0.261687728311],
                     [0.223219279863, 0.153879745212], [0.556434559397, -0.077517728717], [0.027455929269, -0.450292721058]],
    (2, "distance"): [[-0.507742914721, -0.054648770030], [-0.297884743175, 0.150533747891], [0.001318911088, 0.260468462766],
                      [0.253884438677, 0.132208481221], [0.530175856356, -0.047824667464], [0.020248451775, -0.440737254385]],
    (3, "bending"): [[-0.519911280257, -0.086079017058, -0.064003226469], [-0.250143023455, 0.184847960190, 0.022320031565],
                     [0.007717222320, 0.250110157690, -0.009253002246], [0.246658740815, 0.115314900244, -0.127142985486],
                     [0.504402007941, -0.032290536114, 0.018484005209], [0.011276332637, -0.431903464952, 0.159595177428]],
    (3, "distance"): [[-0.498928909030, -0.061556361944, -0.059099846250], [-0.289420519314, 0.151508988852, 0.012288364304],
                      [0.007278481441, 0.255251141005, -0.005893073154], [0.242538703734, 0.123623424884, -0.129919773050],
                      [0.521610282416, -0.046476484104, 0.016779172043], [0.016921960752, -0.422350708693, 0.165845156107]],
}
# fmt: on


@pytest.mark.parametrize(("m", "by"), BY_GEOMORPH)
def test_sliding_agrees_with_geomorph(m, by):
    reference, specimen = REFERENCE[:, :m], SPECIMEN[:, :m]
    wanted = BY_GEOMORPH[m, by]
    found = sf.slide(5 * specimen - 2, reference, [(1, 2, 3), (2, 3, 4), (3, 4, 5)], by=by)
    np.testing.assert_allclose(over(reference, found)[0], wanted, atol=1e-9)
    once = sf.slide(specimen, reference, [(1, 2, 3), (2, 3, 4), (3, 4, 5)], by=by, rounds=1)
    assert np.abs(over(reference, once)[0] - wanted).max() > 1e-3  # another number of rounds is seen


def test_only_semilandmarks_slide_and_the_reference_stays(rng):
    points, shape = sample(30, 11, 2, rng)
    for by in ("bending", "distance"):
        found = sf.slide(points, shape, SLIDERS, by=by)
        fixed = np.setdiff1d(np.arange(11), [on - 1 for _, on, _ in SLIDERS])
        np.testing.assert_array_equal(found[:, fixed], points[:, fixed])
        assert (np.abs(found - points)[:, [1, 2, 3, 7]].max(axis=(1, 2)) > 1e-3).all()
        np.testing.assert_allclose(sf.slide(shape, shape, SLIDERS, by=by), shape, atol=1e-9)
        odd = points.copy()
        odd[0, 4, 1] = np.nan
        np.testing.assert_array_equal(sf.slide(odd, shape, SLIDERS, by=by)[0], odd[0])
        public = sample(9, 11, 2, rng)[0]
        assert np.isfinite(sf.slide(points, public, SLIDERS, by=by)).all()
    for by in ("bending", "distance"):
        np.testing.assert_allclose(
            sf.slide(1e250 * points, shape, SLIDERS, by) / 1e250, sf.slide(points, shape, SLIDERS, by), rtol=1e-7
        )


def test_sliding_never_fails():
    turn = 2 * np.pi * np.arange(24) / 24
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    ring = [(i, i % 24 + 1, (i + 1) % 24 + 1) for i in range(1, 25)]  # all slide, and turning bends nothing
    odd = np.stack([circle, 0 * circle, np.roll(circle, 3, axis=0), np.repeat(circle[:1], 24, axis=0), circle * [1, 0]])
    odd = np.concatenate([odd, odd * 1e-300, odd * 1e300])
    for by in ("bending", "distance"):
        with np.errstate(all="raise", under="ignore"):
            assert np.isfinite(sf.slide(odd, circle, ring, by=by)).all()


@pytest.mark.parametrize(
    ("sliders", "words"),
    [
        ([(1, 2, 12)], "the slider 1, 2, 12: there is no landmark 12, but 1 to 11"),
        ([(0, 1, 2)], "the slider 0, 1, 2: there is no landmark 0"),
        ([(1, 2, 1)], "a landmark stands twice in a row"),
        ([(1, 2.5, 3)], r"there is no landmark 2\.5"),
        ([(1, 2, 3), (4, 2, 5)], "the slider 1, 2, 3: landmark 2 slides twice"),
        ([(1, 2)], "rows of three landmarks alone: before, slide, after"),
        ([], "rows of three landmarks"),
    ],
)
def test_sliders_that_do_not_fit_are_refused(sliders, words, rng):
    points, shape = sample(2, 11, 2, rng)
    with pytest.raises(ValueError, match=words):
        sf.slide(points, shape, sliders)
    with pytest.raises(ValueError, match="slide by 'bending' or by 'distance', not by 'force'"):
        sf.slide(points, shape, SLIDERS, by="force")
