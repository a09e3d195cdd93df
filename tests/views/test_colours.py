"""Colours that all eyes tell apart, and words that can be read; bent grids; names of channels."""

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

import sfumato as sf
from sfumato.views.bending import bent_grid, magnified
from sfumato.views.figures import PAIR, QUIET, RIM, SHARP, SOFT, STYLES, TEXT, contrast, ink, shade
from sfumato.views.plots import read_names
from sfumato.views.released import in_words
from sfumato.views.scene import Role

# Machado, Oliveira and Fernandes (2009): how linear colours look without one kind of cone
BLIND = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    "all cones": np.eye(3),
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
APART = 15.0  # in CIELAB: plain to see side by side


def lab(colour, eyes):
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(XYZ @ np.clip(np.asarray(BLIND[eyes]) @ linear, 0, 1) / [0.9505, 1.0, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(one, two, eyes):
    return float(np.linalg.norm(lab(one, eyes) - lab(two, eyes)))


STYLE = files("sfumato.app.studio").joinpath("page.css").read_text(encoding="utf-8")
SCREEN = STYLE.partition("@media print")[0].split("scheme: dark)")
PAGE, DARK = (dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", part)) for part in SCREEN)
TOGETHER = {
    "a release": (SHARP, QUIET, SOFT, STYLES[Role.REGION].color),
    "two groups": PAIR,
    "a heat map": (shade(-1), shade(0), shade(1)),
    "the studio": (PAGE["grey"], PAGE["draw"], PAGE["soft"]),
    "the dark studio": (DARK["grey"], DARK["draw"], DARK["soft"]),
    "public specimens": (PAGE["grey"], PAGE["accent"]),
}


@pytest.mark.parametrize("eyes", BLIND)
@pytest.mark.parametrize("what", TOGETHER)
def test_colours_that_stand_together_are_told_apart(what, eyes):
    for one, two in combinations(TOGETHER[what], 2):
        assert distance(one, two, eyes) > APART, (one, two)


def test_a_red_and_a_green_that_some_confuse_are_found():
    assert distance("#b05040", "#7a7030", "all cones") > APART
    assert distance("#b05040", "#7a7030", "deuteranopia") < APART


def test_words_and_lines_stand_out_from_the_paper():
    for colour in (TEXT, SHARP, PAGE["ink"], PAGE["quiet"], PAGE["accent"], PAGE["alarm"]):
        for paper in ("#ffffff", PAGE["paper"], PAGE["wash"]):
            assert contrast(colour, paper) >= 4.5, (colour, paper)
    for colour in (DARK[name] for name in ("ink", "quiet", "accent", "alarm")):
        for paper in (DARK[name] for name in ("card", "paper", "wash")):
            assert contrast(colour, paper) >= 4.5, (colour, paper)
    for colour in (QUIET, RIM, SHARP, STYLES[Role.REGION].color, *PAIR, PAGE["draw"]):
        assert contrast(colour, "#ffffff") >= 3, colour
    for x in np.linspace(-1, 1, 81):
        assert contrast(ink(shade(x)), shade(x)) >= 4.5


def test_a_grid_bends_with_the_landmarks_and_an_affine_change_leaves_it_straight(rng):
    first = rng.normal(size=(12, 2))
    low, high = first.min(axis=0), first.max(axis=0)
    turned = first @ np.array([[1.1, 0.2], [-0.3, 0.9]]) + [3.0, 1.0]
    for line in bent_grid(first, turned, low, high):
        assert np.allclose(np.diff(line, 2, axis=0), 0, atol=1e-9)
    moved = first + 0.1 * rng.normal(size=first.shape)
    assert any(np.abs(np.diff(line, 2, axis=0)).max() > 1e-4 for line in bent_grid(first, moved, low, high))
    assert magnified(first, first + 1e-3 * (moved - first)) > 1
    assert magnified(first, first + 10 * (moved - first)) == 1


@pytest.fixture
def matrices(rng):
    half = rng.normal(size=(200, 4, 8))
    return sf.private_mean(half @ np.swapaxes(half, 1, 2) / 8, sf.Ball(sf.SPD(size=4), np.eye(4), 2.0), 4.0)


def test_channels_have_names_where_they_are_given_and_no_record_holds_them(matrices, tmp_path):
    names = ["Fz", "Cz", "Pz", "Oz"]
    drawn = matrices.plot(channels=names)
    assert [text.get_text() for text in drawn.axes[1].get_yticklabels()] == names
    sf.write_report(matrices, tmp_path / "mean.html", channels=names)
    assert '<th scope="row">Pz</th>' in (tmp_path / "mean.html").read_text(encoding="utf-8")
    assert any(name in in_words(matrices, channels=names) for name in names)
    assert not any(name in matrices.to_json() for name in names)
    with pytest.raises(ValueError, match="gives 3 names, and there are 4 to name"):
        matrices.plot(channels=names[:3])
    shape = sf.private_mean(rng_shapes(), sf.Ball(sf.PlanarShapes(3), rng_shapes()[0], 0.3), 9.0)
    with pytest.raises(ValueError, match="nothing here has a name"):
        shape.plot(channels=names)


def rng_shapes():
    return np.tile([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], (200, 1, 1))


def test_names_are_read_as_they_are_typed(tmp_path):
    (tmp_path / "names.txt").write_text("Fz\n Cz\n\n", encoding="utf-8")
    assert read_names(str(tmp_path / "names.txt")) == ["Fz", "Cz"]
    np.savez(tmp_path / "names.npz", ch_names=np.array(["C3", "C4"]))
    assert read_names(str(tmp_path / "names.npz")) == ["C3", "C4"]
    np.savez(tmp_path / "other.npz", data=np.zeros(2))
    with pytest.raises(ValueError, match="neither channels nor ch_names"):
        read_names(str(tmp_path / "other.npz"))


def test_the_command_line_takes_names_and_refuses_too_few_before_anything_is_spent(sfumato, tmp_path):
    np.save(tmp_path / "power.npy", np.tile([1.0, 2.0, 3.0], (200, 1)))
    np.save(tmp_path / "center.npy", np.ones((1, 3)))
    told = "release power.npy --space euclidean --center center.npy --radius 4 --epsilon 8 --mechanism tangent"
    code, _, err = sfumato(*told.split(), "--channels", "Fz,Cz", "--report", "mean.html")
    assert (code, "gives 2 names, and there are 3 to name" in err) == (2, True), err
    assert not (tmp_path / "mean.json").exists()
    code, _, err = sfumato(*told.split(), "--channels", "Fz,Cz,Pz", "--report", "mean.html")
    assert code == 0, err
    assert '<th scope="row">Cz</th>' in (tmp_path / "mean.html").read_text(encoding="utf-8")
    assert "Cz" not in (tmp_path / "mean.json").read_text(encoding="utf-8")
