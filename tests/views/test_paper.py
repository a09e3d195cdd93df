"""Pictures for a paper: lines or a hull, differences that are seen and said, no noise for a component, no caption inside."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import sfumato as sf
from conftest import EXAMPLES, cloud
from sfumato.views import components, view_of
from sfumato.views.figures import draw
from sfumato.views.released import in_words
from sfumato.views.scene import Cells, Dots, Line, Role
from sfumato.views.subject import Subject

WING = np.array([[0.0, 0.0], [2.0, 0.4], [4.0, 0.3], [4.2, 0.0], [4.0, -0.3], [1.5, -0.6], [2.0, 0.0]])
SOLID = np.concatenate([WING, [[0.2], [0.5], [0.0], [-0.3], [0.4], [-0.5], [1.0]]], axis=1)
TURN = 2 * np.pi * np.arange(40) / 40
EGG = np.stack([2 * np.cos(TURN), np.sin(TURN) * (1 + 0.2 * np.cos(TURN))], axis=1)  # an outline


def released(space, reference, n=400, epsilon=4.0, off=0.01):
    base = space.validate(np.asarray(reference, dtype=float)[None])[0]
    points = cloud(space, base, off, n, np.random.default_rng(1))
    ball = sf.Ball(space, space.present(base), 0.3 if off < 0.1 else 3 * off)
    return sf.private_mean(space.present(points), ball, epsilon, mechanism="tangent", allow_useless=True)


def scene(release, **looks):
    return view_of(release).scene(Subject.of(release, **looks))


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_space_has_a_picture_with_its_public_centre_and_no_caption_inside(name):
    space = EXAMPLES[name][0]
    release = released(space, space.present(space.origin()))
    drawn = scene(release)
    shown = {getattr(mark, "role", type(mark)) for panel in drawn.panels for mark in panel.marks}
    assert shown & {Role.CENTRE, Cells}
    figure = draw(drawn)
    assert figure.get_figwidth() <= 6.5 + 1e-9
    assert not figure.get_supxlabel()
    assert view_of(release).caption(Subject.of(release)).endswith(".")


def test_landmarks_without_lines_stand_on_their_hull_and_lines_take_its_place():
    release = released(sf.PlanarShapes(7), WING)
    bare, joined = (scene(release, links=links).panels[0].marks for links in (None, [(0, 1), (1, 2)]))
    (hull,) = (mark for mark in bare if isinstance(mark, Line) and mark.fill)
    assert len(hull.points) == 7  # the landmark inside is no corner; the first is again the last
    assert not any(isinstance(mark, Line) and mark.fill for mark in joined)
    assert "no part of what they are on" in view_of(release).caption(Subject.of(release))


@pytest.mark.parametrize(
    ("space", "reference"),
    [
        (sf.PlanarShapes(7), WING),
        (sf.Shapes3D(7), SOLID),
        (sf.SPD(2), np.eye(2)),
        (sf.PlanarShapes(40), EGG),
        (sf.Outlines(3), EGG),
    ],
)
def test_differences_that_would_hardly_be_seen_are_larger_and_the_legend_says_so(space, reference):
    release = released(space, reference, n=100_000, epsilon=9.0)
    (value,) = {
        mark.label for mark in scene(release).panels[0].marks if getattr(mark, "role", "") == Role.VALUE and mark.label
    }
    assert int(re.fullmatch(r"released mean, differences ×(\d+)", value)[1]) > 1
    assert ("Point " in in_words(release)) == (reference is EGG)


def test_a_large_matrix_stands_beside_its_centre_and_their_difference():
    matrices = np.tile(np.diag([1.5, 1.0, 1.0, 1.0, 1.0]), (400, 1, 1))  # far from the centre: never shrunk onto it
    ball = sf.Ball(sf.SPD(size=5), np.eye(5), 0.9)
    release = sf.private_mean(matrices, ball, 4.0, mechanism="tangent")
    centre, value, apart = scene(release).rows[0]
    assert (centre.title, value.title) == ("public centre", "released mean")
    assert apart.title.startswith("difference, colours\u00a0×")
    (cells,) = apart.marks
    assert np.allclose(cells.matrix, release.value - np.eye(5))
    assert np.abs(cells.matrix).max() == pytest.approx(cells.most)


def test_components_are_pairs_of_extremes_and_noise_has_none():
    def found(significant):
        return SimpleNamespace(
            space=SimpleNamespace(known=sf.PlanarShapes(7)),
            center=WING,
            significant=significant,
            shares=np.array([0.6, 0.3]),
            count=2,
            variances=np.array([0.04, 0.02]),
            intervals=lambda: np.array([[0.03, 0.05], [-0.01, 0.03]]),
            points=lambda j, apart: np.stack([WING - 0.1 * apart, WING + 0.1 * apart]),
        )

    (panel,) = components._shapes(found([True, False]), None).panels
    assert panel.title == "component 1, 60%"
    labels = [mark.label for mark in panel.marks if isinstance(mark, Dots)]
    assert labels == ["−2 s.d.", "+2 s.d."]
    (axes,) = draw(components.scene(found([False, False]))).axes
    assert axes.get_title() == "no component is above the noise"
    assert not axes.lines
