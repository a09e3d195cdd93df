"""Many groups in one picture, in words and in tables."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.app.studio.panels import on_page
from sfumato.findings.groups import Comparison
from sfumato.views.compared import PAIRS, in_short, in_words, pairs, scene
from sfumato.views.many import MOST, plane
from sfumato.views.report import write_report
from sfumato.views.scene import Dots, Line, Words

SHAPES = sf.PlanarShapes(landmarks=6)


def compared(groups, space=SHAPES, radius=0.2, epsilon=8.0, n=60):
    """Groups that lie along a line, the larger the farther."""
    rng = np.random.default_rng(5)
    labels = np.repeat(np.arange(groups), n + np.arange(groups))
    center = space.origin()
    tangents = rng.normal(0, 0.01, (len(labels), space.dim))
    tangents[:, 0] += 0.3 * radius * labels / groups
    points = space.present(space.exp(center, space.from_coordinates(center, tangents)))
    region = sf.Ball(space, space.present(center), radius)
    return sf.compare_groups(points, [f"group {i}" for i in labels], region, epsilon, allow_useless=True)


@pytest.fixture(scope="module")
def many():
    return compared(24)


def test_up_to_twenty_groups_are_in_the_plane_in_which_they_differ_most(many):
    panel = plane(many)
    (dots,) = (mark for mark in panel.marks if isinstance(mark, Dots))
    (rings,) = (mark for mark in panel.marks if isinstance(mark, Line))
    names = [mark.text for mark in panel.marks if isinstance(mark, Words)]
    assert sorted(names) == sorted(f"group {i}" for i in range(4, 24))  # the largest
    assert dots.points.shape == (MOST, 2)
    spread = np.ptp(dots.points, axis=0)
    assert spread[0] > 1.5 * spread[1]
    assert panel.scales.x.startswith("direction 1: ")
    ends = np.split(rings.points, np.flatnonzero(np.isnan(rings.points[:, 0])))
    for release, ring, dot in zip((many.groups[name] for name in names), ends, dots.points, strict=False):
        ring = ring[~np.isnan(ring[:, 0])]
        away = np.linalg.norm(ring - dot, axis=1)
        assert away == pytest.approx(release.region(0.95).radius, rel=1e-6)  # a ball is a circle from every side
        assert ((panel.low <= ring) & (ring <= panel.high)).all()
    lengths = [np.linalg.norm(one - dots.points, axis=1) for one in dots.points]
    tangents, *_ = many.numbers(names)
    true = [0.2 * np.linalg.norm(one - tangents, axis=1) for one in tangents]
    assert (np.array(lengths) <= np.array(true) + 1e-9).all()  # distances in a plane are no longer than they are


def test_an_ellipsoid_leaves_an_ellipse_that_holds_the_shadow_of_the_region():
    space = sf.Euclidean(dim=4)
    region = sf.Ellipsoid(space, np.zeros(4), [1.0, 0.5, 0.2, 0.05])
    points = np.random.default_rng(1).normal(0, 0.2, (600, 4)) * [1, 0.5, 0.2, 0.05]
    found = sf.compare_groups(points, np.arange(600) % 3, region, 4.0)
    panel = plane(found)
    rings = next(mark for mark in panel.marks if isinstance(mark, Line)).points
    ring = rings[: np.flatnonzero(np.isnan(rings[:, 0]))[0]]
    release = found.groups["0"]
    moved = release.region(0.95).chart_radius * np.random.default_rng(2).normal(size=(4000, 4))
    inside = moved / np.linalg.norm(moved, axis=1, keepdims=True) * release.region(0.95).chart_radius * region.axes
    w, sigmas, variances, _ = found.numbers([*found.groups])
    c = 1 / (20 * sigmas**2 + variances)
    rows = np.linalg.svd(np.sqrt(c)[:, None] * region.axes * (w - c @ w / c.sum()))[2][:2]
    shadow, middle = inside @ rows.T, ring.mean(axis=0)
    for turn in np.linspace(0, np.pi, 7):  # as wide as the shadow from every side
        side = np.array([np.cos(turn), np.sin(turn)])
        assert np.ptp(shadow @ side) <= np.ptp((ring - middle) @ side) * 1.001
        assert np.ptp(shadow @ side) > 0.8 * np.ptp((ring - middle) @ side)


def test_names_stand_beside_their_dots_within_the_panel_and_apart(many):
    panel = plane(compared(6))
    words = [mark for mark in panel.marks if isinstance(mark, Words)]
    assert len(words) == 6
    assert all(5 < np.hypot(*mark.move) < 60 for mark in words)
    page = on_page(scene(many))
    width, height = page["panels"][0]["size"]
    at = [mark["p"] for mark in page["panels"][0]["marks"] if mark["t"] == "text" and mark["s"].startswith("group")]
    assert len(at) == MOST
    assert all(0 <= x <= width and 0 <= y <= height for x, y in at)


def test_in_one_direction_groups_stand_side_by_side():
    panel = plane(compared(7, sf.Euclidean(dim=1), 1.0))
    assert [*panel.scales.names] == [f"group {i}" for i in range(6, -1, -1)]
    assert not panel.equal
    assert not any(isinstance(mark, Words) for mark in panel.marks)


def test_the_picture_and_the_tables_say_what_is_tested(many, tmp_path):
    many.plot(tmp_path / "many.png")
    assert len(scene(many).rows) > 1  # the two that differ most are below
    rows = pairs(many)
    assert len(rows) == 20
    assert {len(row) for row in rows} == {len(PAIRS)}
    assert rows[0][0] == f"{many.differences[0].first}, {many.differences[0].second}"
    assert "20 of 24 groups" in in_words(many)
    text = many.describe()
    assert "The means of all 24 groups are not all the same (p below 0.001)." in text
    assert text.count("corrected for 276 tests") == 20
    assert "p-values of all 276 pairs are corrected for their number (Holm)" in text
    assert "one in twenty" not in text
    *_, overall, found = in_short(many)
    assert overall == "The means of all 24 groups are not all the same (p below 0.001)."
    assert "of 276 pairs differ, corrected for all, at the level of 5%" in found
    write_report(many, tmp_path / "many.md")
    page = (tmp_path / "many.md").read_text(encoding="utf-8")
    assert "| group 7 |" in page
    assert f"moves it by at most 2/n of the region's size ({2 * 0.2 / 60:.2g})" in page


def test_groups_without_regions_are_shown_with_their_noise():
    rng = np.random.default_rng(0)
    space = sf.Euclidean(dim=6)
    sketch = sf.Ellipsoid.from_sample(space, rng.normal(size=(30, 6)), relation="other")
    found = sf.compare_groups(rng.normal(size=(900, 6)), np.arange(900) % 3, sketch, 4.0, allow_useless=True)
    labels = [mark.label for mark in plane(found).marks if isinstance(mark, Line)]
    assert labels == ["95% noise of each mean"]


def test_equal_means_are_drawn_and_said():
    """As if the noise had made them so."""
    found = compared(3, sf.Euclidean(dim=2), 1.0)
    one = found.groups["group 0"]
    same = Comparison(epsilon=8.0, groups=dict.fromkeys(found.groups, one))
    assert len(plane(same).marks) == 5
    assert same.omnibus == 1.0
    assert "may be the same (p above 0.15)" in same.describe()
