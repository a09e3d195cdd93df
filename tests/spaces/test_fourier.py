"""Outlines by elliptic Fourier coefficients: the formulas of Kuhl and Giardina, the normalisation, and outlines without one."""

import numpy as np
import pytest

import sfumato as sf

H = 5
SPACE = sf.Outlines(harmonics=H)


def blob(rng, points=90):
    t = np.sort(rng.random(points)) * 2 * np.pi
    r = 1 + 0.35 * np.cos(2 * t) + rng.normal(0, 0.08) * np.cos(3 * t + 0.4) + rng.normal(0, 0.05) * np.sin(4 * t)
    return np.stack([r * np.cos(t), r * np.sin(t)], axis=1)


def kuhl_giardina(outline, harmonics):
    """Equations 5 and 6 of their paper, in real numbers: (h, 4) of a, b, c, d."""
    step = np.roll(outline, -1, axis=0) - outline
    length = np.linalg.norm(step, axis=1)
    end = np.cumsum(length)
    phase = 2 * np.pi * np.stack([end - length, end]) / end[-1]
    found = np.zeros((harmonics, 4))
    for n in range(1, harmonics + 1):
        for axis in (0, 1):
            rate = step[:, axis] / length
            for i, wave in enumerate((np.cos, np.sin)):
                total = np.sum(rate * (wave(n * phase[1]) - wave(n * phase[0])))
                found[n - 1, 2 * axis + i] = end[-1] / (2 * np.pi**2 * n**2) * total
    return found


def normalised(found):
    """By matrices, as they normalise shapes; the start is within a quarter turn of the given one."""
    a, b, c, d = found[0]
    theta = 0.5 * np.arctan2(2 * (a * b + c * d), a * a + c * c - b * b - d * d)
    x, y = a * np.cos(theta) + b * np.sin(theta), c * np.cos(theta) + d * np.sin(theta)
    psi, size = np.arctan2(y, x), np.hypot(x, y)
    turn = np.array([[np.cos(psi), np.sin(psi)], [-np.sin(psi), np.cos(psi)]]) / size
    made = []
    for n, row in enumerate(found, start=1):
        start = np.array([[np.cos(n * theta), -np.sin(n * theta)], [np.sin(n * theta), np.cos(n * theta)]])
        made.append((turn @ row.reshape(2, 2) @ start).ravel())
    return np.array(made).T.ravel()  # all a, then all b, c, d


def test_coefficients_are_those_of_kuhl_and_giardina(rng):
    outlines = np.stack([blob(rng) for _ in range(30)])
    want = np.stack([normalised(kuhl_giardina(each, H)) for each in outlines])
    assert np.abs(SPACE.coefficients(outlines) - want).max() < 1e-12
    raw = np.stack([kuhl_giardina(each, H).T.ravel() for each in outlines])
    assert np.abs(SPACE.coefficients(raw) - want).max() < 1e-12
    assert np.abs(SPACE.coefficients(outlines) - 1.02 * want).max() > 1e-3
    flat = SPACE.validate(outlines)
    assert flat.shape == (30, 4 * H - 3)
    assert np.allclose(SPACE.distance(flat[0], flat[1:]), np.linalg.norm(want[1:] - want[0], axis=1), rtol=1e-12)


def test_place_size_rotation_and_points_along_the_line_do_not_matter(rng):
    outline = blob(rng)
    want = SPACE.coefficients([outline])[0]
    turn = np.array([[np.cos(2.0), -np.sin(2.0)], [np.sin(2.0), np.cos(2.0)]])
    for size in (1e-200, 1e-3, 1.0, 1e200):
        assert np.abs(SPACE.coefficients([size * (outline @ turn.T + 3)])[0] - want).max() < 1e-11
    finer = (
        outline[:, None] + np.array([0, 0.3, 0.3, 0.9])[:, None] * (np.roll(outline, -1, axis=0) - outline)[:, None]
    ).reshape(-1, 2)
    assert np.abs(SPACE.coefficients([finer])[0] - want).max() < 1e-11
    assert np.abs(SPACE.coefficients([np.vstack([outline, outline[:1]])])[0] - want).max() < 1e-11
    near = np.roll(outline, 5, axis=0)
    assert np.abs(SPACE.coefficients([near])[0] - want).max() < 1e-9
    far = SPACE.coefficients([np.roll(outline, 45, axis=0)])[0].reshape(4, H)
    signs = (-1.0) ** np.arange(H)  # from the other end of the first ellipse: half a turn, and half a period
    assert np.abs(far * signs - want.reshape(4, H)).max() < 1e-9
    assert np.abs(SPACE.coefficients([outline[::-1]])[0].reshape(4, H)[3, 0] + want.reshape(4, H)[3, 0]) < 1e-12


def test_values_are_drawn_and_read_back(rng, tmp_path):
    flat = rng.normal(0, 2.0, (50, SPACE.dim))  # d1 beyond 1 and below 0 too, where noise may lead
    drawn = SPACE.present(flat)
    assert drawn.shape == (50, 12 * H, 2)
    assert np.abs(SPACE.validate(drawn) - flat).max() < 1e-12
    sf.write_points(tmp_path / "mean.tps", drawn[0], "landmarks")
    assert np.abs(SPACE.validate(sf.read(tmp_path / "mean.tps", SPACE)) - flat[0]).max() < 1e-12
    outlines = np.stack([blob(rng, 400) for _ in range(5)])
    shapes = sf.PlanarShapes(50)
    off = []
    for space in (sf.Outlines(harmonics=1), SPACE, sf.Outlines(harmonics=14)):
        drawn = space.present(space.validate(outlines))
        pairs = [shapes.validate(sf.resample_outlines(both, 50, both[0])) for both in zip(outlines, drawn, strict=True)]
        off.append(max(float(shapes.distance(*pair)) for pair in pairs))
    assert off[2] < 0.02 < off[0]  # more harmonics come closer
    assert off == sorted(off, reverse=True)


def test_outlines_without_a_first_ellipse(rng):
    turn = 2 * np.pi * np.arange(80) / 80
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    twice = np.stack([np.cos(2 * turn), np.sin(2 * turn)], axis=1)
    eight = np.stack([np.sin(turn), np.sin(2 * turn)], axis=1)
    line = np.stack([np.abs((turn / np.pi) % 2 - 1), 0 * turn], axis=1)
    rows = np.stack([circle, twice, np.full((80, 2), 7.0), eight, line, np.roll(circle, 9, axis=0), -circle * [1, -1]])
    points, reasons = SPACE.diagnose(rows)
    assert sorted(reasons) == [1, 2]
    assert "runs round twice" in reasons[1]
    assert "all its 80 points coincide" in reasons[2]
    assert np.isfinite(points).all()
    assert np.allclose(points[0, 0], 1.0)  # a circle, d1 = 1, wherever it starts
    assert np.allclose(points[5], points[0], atol=1e-9)
    assert np.allclose(points[6, 0], -1.0)
    assert np.allclose(points[4, 0], 0.0, atol=1e-12)
    with pytest.raises(sf.InvalidPointError, match="record 1"):
        sf.private_mean(rows, sf.Ball(SPACE, circle, 1.0), epsilon=1.0)
    assert sorted(SPACE.diagnose(np.zeros((2, 4 * H)))[1]) == [0, 1]
    assert SPACE.diagnose(np.empty((0, 80, 2)))[0].shape == (0, SPACE.dim)


def test_a_row_depends_on_its_record_alone_wherever_it_stands(rng):
    outlines = np.stack([blob(rng) for _ in range(33)])
    made = SPACE.validate(outlines)
    order = rng.permutation(33)
    assert np.array_equal(SPACE.validate(outlines[order]), made[order])
    padded = np.concatenate([np.full((5, 90, 2), np.nan), outlines, 1e250 * outlines[:3], np.zeros((2, 90, 2))])
    assert np.array_equal(SPACE.diagnose(padded)[0][5:38], made)
    for row in (0, 17, 32):
        assert np.array_equal(SPACE.validate(outlines[row : row + 1])[0], made[row])


def test_any_number_of_points_that_can_have_the_harmonics():
    circle = np.exp(2j * np.pi * np.arange(11) / 11)
    assert SPACE.validate(np.stack([circle.real, circle.imag], axis=1)[None]).shape == (1, SPACE.dim)
    with pytest.raises(
        ValueError, match=r"points have shape \(1, 10, 2\), expected landmarks \(n, 60, 2\) or coefficients"
    ):
        SPACE.validate(np.zeros((1, 10, 2)))
    with pytest.raises(ValueError, match="harmonics must be a whole number of at least 1"):
        sf.Outlines(harmonics=0)
    with pytest.raises(ValueError, match=r"say how many harmonics, as space='outlines\(harmonics=6\)'"):
        sf.spaces.space_typed("outlines").shaped((50, 2))


def test_smoothness_is_known_of_outlines(rng):
    """The directions of a smooth outline are displacements of its points, without the first ellipse that stays."""
    moves = SPACE.displacements(SPACE.origin())
    assert moves.shape == (SPACE.dim, 12 * H, 2)
    step = rng.normal(size=SPACE.dim)
    shown = SPACE.present(SPACE.origin() + step) - SPACE.present(SPACE.origin())
    assert np.allclose(np.tensordot(step, moves, 1), shown)
    region = sf.Ellipsoid.smooth(SPACE, SPACE.present(SPACE.origin()), 0.4)
    release = sf.private_mean(np.stack([blob(rng) for _ in range(200)]), region, epsilon=4.0)
    assert not SPACE.diagnose(release.value[None])[1]


def test_the_page_runs(pytestconfig):
    text = (pytestconfig.rootpath / "docs" / "spaces.md").read_text(encoding="utf-8").split("### Outlines")[1]
    names = {}
    exec(text.split("```python\n")[1].split("```")[0], names)
    assert names["coefficients"].shape == (1, 16)
    assert names["coefficients"][0, [0, 4, 8]] == pytest.approx([1, 0, 0], abs=1e-9)


def test_sides_that_are_no_length_are_no_warning_and_no_other_records_matter():
    """The smallest numbers there are: a whole outline of them has no points apart, a side of them is none."""
    space = sf.Outlines(harmonics=2)
    drawn = space.present(space.origin())
    tiny = np.where(np.arange(len(drawn))[:, None] % 3, drawn, 0.0)
    for smallest in (5e-324, 1e-310, 1e-160):
        assert list(space.diagnose(np.stack([drawn, smallest * drawn / drawn.max()]))[1]) == (
            [1] if smallest < 1e-300 else []
        )
        near = tiny.copy()
        near[0] = near[1] + [smallest, 0.0]
        assert space.diagnose(near[None])[1] == {}
