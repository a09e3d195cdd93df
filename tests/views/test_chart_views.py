"""Releases by chart: in words, in the report, and drawn with the shape of their noise."""

import re

import numpy as np
import pytest

import sfumato as sf
from sfumato.app import demo
from sfumato.regions.look import SHARE
from sfumato.views import matrices, shapes
from sfumato.views.directions import Directions
from sfumato.views.plots import plot_release
from sfumato.views.report import write_report
from sfumato.views.subject import Subject

LINE, BALL, ELLIPSOID = "line", "ball", "ellipsoid"
DRAWN = [
    (sf.Sphere(dim=1), LINE),
    (sf.Sphere(dim=2, curvature=0.25), ELLIPSOID),
    (sf.Sphere(dim=2), LINE),
    (sf.Sphere(dim=2), BALL),
    (sf.Sphere(dim=4), ELLIPSOID),
    (sf.PlanarShapes(landmarks=6), ELLIPSOID),
    (sf.PlanarShapes(landmarks=6), LINE),
    (sf.PlanarShapes(landmarks=24), ELLIPSOID),
    (sf.PlanarShapes(landmarks=24), BALL),
    (sf.SPD(size=2), ELLIPSOID),
    (sf.SPD(size=5), ELLIPSOID),
    (sf.Euclidean(dim=4), ELLIPSOID),
]


def region_of(space, frozen=1):
    """An ellipsoid with axes from 0.1 to 0.3, about a point off the origin, with so many directions left out if it has more."""
    p = max(1, space.dim - frozen)
    start = space.origin()
    center = space.exp(start, space.from_coordinates(start, np.full(space.dim, 0.1 / np.sqrt(space.dim))))
    basis = np.linalg.qr(np.random.default_rng(3).normal(size=(space.dim, space.dim)))[0][:p]
    return sf.Ellipsoid(space, space.present(center), np.linspace(0.3, 0.1, p), basis, source="from an atlas")


def records_of(region, n, seed=0):
    rng = np.random.default_rng(seed)
    tangents = 0.05 * rng.normal(size=(n, region.space.dim)) + 0.02
    space = region.space
    return space.present(space.exp(region.center, space.from_coordinates(region.center, tangents)))


def released(region, n=400, epsilon=2.0):
    return sf.private_mean(records_of(region, n), region, epsilon, mechanism="tangent", allow_useless=True)


def line(release, start):
    found = [words for words in release.describe().splitlines() if words.startswith(start)]
    return found[0] if found else None


# -- words --------------------------------------------------------------------------------------------------------------
def test_a_chart_says_what_it_estimates_and_what_it_leaves_out():
    release = released(region_of(sf.Sphere(dim=4), frozen=2))
    words = release.describe()
    assert "mean in a chart about the public centre, of 400 units (one record), in the space 'sphere'" in words
    ellipsoid = "the public ellipsoid with 2 of 4 directions and semi-axes from 0.1 to 0.3 (from an atlas)"
    assert f"clipped to {ellipsoid} about a public centre" in words
    assert "public ball" not in words
    assert f"at most {release.chart.bias:.3g} away" in line(release, "Estimated")
    assert f"at most {release.bias:.3g} away if the error is as stated" in line(release, "Estimated")
    assert "2 of 4 directions stay as in the public centre; nothing is learned about them" in line(release, "Left out")
    assert "(length in the tangent space at the public centre)" in line(release, "Accuracy")
    assert line(release, "Before") is None
    assert "the draw was projected onto the public ellipsoid" in line(release, "After")


def test_nothing_is_left_out_of_a_whole_ellipsoid_and_a_flat_mean_is_the_mean():
    release = released(region_of(sf.Euclidean(dim=3), frozen=0))
    assert "ellipsoid with all 3 directions" in release.describe()
    assert line(release, "Left out") is None
    assert "Here that is their Fréchet mean. One record, whatever it is, moves it by" in line(release, "Estimated")


@pytest.mark.parametrize("fits", [True, False])
def test_a_look_says_what_it_cost_and_found(fits, tmp_path):
    rng, space = np.random.default_rng(0), sf.Euclidean(dim=150)
    spread = np.array([1.0, 0.5, 0.5, *[0.01] * 147])
    region = sf.Ellipsoid.from_sample(space, rng.normal(size=(60, 150)) * spread)
    points = rng.normal(size=(2000, 150)) * spread + (0.0 if fits else 2 * spread[::-1])
    look = region.looked(2000, 1.0, SHARE)
    loss = np.linalg.norm(look.lost(points).mean(axis=0))
    room = (look.limit(2000, 1.0) - loss) / look.scale(2000, 1.0)
    assert (room > 12) if fits else (room < -12)  # in widths of the noise: the answer is not left to chance
    release = sf.private_mean(points, region, epsilon=1.0)
    before = line(release, "Before")
    assert "10% of epsilon was spent on a look at whether the public sample fits the records" in before
    assert ("so the ellipsoid was used" in before) == fits
    assert ("so the ball was used in place of the ellipsoid" in before) == (not fits)
    assert ("clipped to the public ball of radius" in release.describe()) == (not fits)
    assert ("from 60 public points" in release.describe()) == fits
    text = page(release, tmp_path)
    filled = re.search(r"^σ = (.*) = (.*)$", text, re.MULTILINE)
    assert eval(filled[1].replace("·", "*")) == pytest.approx(release.calibration.sigma, rel=1e-6)
    assert before.removeprefix("Before: ") in text


def test_a_projection_is_said_and_where_the_draw_is_kept():
    ball = sf.Ball(sf.Euclidean(dim=2), [0.0, 0.0], 1.0)
    far = sf.private_mean(np.zeros((2, 2)), ball, 0.01, mechanism="tangent", allow_useless=True)
    near = sf.private_mean(np.zeros((5000, 2)), ball, 1.0, mechanism="tangent")
    start = "After: the draw was projected onto the public ball, with public numbers alone; "
    assert line(far, "After") == start + "release.raw is the draw before that."
    assert line(near, "After") == start + "this changed nothing."
    assert "clipped to the public ball of radius 1 about a public centre" in near.describe()


def page(release, folder):
    write_report(release, folder / "mean.md")
    return (folder / "mean.md").read_text(encoding="utf-8")


def test_the_report_says_what_was_released_and_what_was_left_out(tmp_path):
    text = page(released(region_of(sf.Sphere(dim=4))), tmp_path)
    assert text.startswith("# The private mean of 400 directions in 5 dimensions\n")
    assert "if the public region came from the data" in text
    assert "Left out:" in text


# -- pictures -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("space", "kind"), DRAWN, ids=str)
def test_every_chart_is_drawn_from_its_record_alone(space, kind, tmp_path):
    region = region_of(space, frozen=space.dim - 1 if kind == LINE else 1)
    release = released(sf.Ball(space, space.present(region.center), 0.3) if kind == BALL else region)
    plot_release(release, tmp_path / "a.svg", title="A title")
    plot_release(sf.Release.from_json(release.to_json()), tmp_path / "b.svg", title="A title")
    first, second = ((tmp_path / name).read_text(encoding="utf-8") for name in ("a.svg", "b.svg"))
    assert re.sub(r"[mp]?[0-9a-f]{10}\b", "", first) == re.sub(r"[mp]?[0-9a-f]{10}\b", "", second)
    assert "<!-- A title -->" in first


@pytest.mark.parametrize("space", [sf.PlanarShapes(landmarks=6), sf.Euclidean(dim=4)], ids=str)
def test_the_drawn_regions_hold_what_they_say(space):
    """Each pair of numbers of the statistic is in the ellipse about a draw's own with the probability stated, or a bit more;
    and all numbers are in the bars at once.  Neither would be so if they were a quarter smaller."""
    region, n, p = region_of(space), 300, 0.9
    mechanism = sf.TangentKNorm(region, epsilon=1.0)
    release = mechanism.release(records_of(region, n))
    mean = space.present(region.point(region.chart(space.validate(records_of(region, n))).mean(axis=0)))
    draws = mechanism.sample(records_of(region, n), 4000, np.random.default_rng(1))
    noise = Subject.of(release, p).noise
    off = (draws - mean).reshape(len(draws), -1)
    pairs = noise.moves(2).reshape(off.shape[1] // 2, 2, -1)
    for i, moves in enumerate(pairs):
        scaled = off[:, 2 * i : 2 * i + 2] @ np.linalg.inv(np.linalg.cholesky(moves @ moves.T)).T
        lengths = np.linalg.norm(scaled, axis=1)
        assert 0.88 < np.mean(lengths < 1) < 0.94
        assert np.mean(lengths < 0.75) < 0.88
    bars = np.linalg.norm(noise.moves(len(noise.w)), axis=1)
    assert np.mean((np.abs(off) <= bars).all(axis=1)) > 0.89


def test_an_ellipse_is_drawn_about_each_landmark_and_a_ball_s_are_alike():
    space = sf.PlanarShapes(landmarks=6)
    region = region_of(space, frozen=4)
    made = [released(region), released(sf.Ball(space, space.present(region.center), 0.3))]
    forms = [shapes.Landmarks(Subject.of(release), turned=False) for release in made]
    by_chart, by_ball = (np.sqrt(np.linalg.eigvalsh(form.spread)[:, ::-1]) for form in forms)
    assert (by_chart.max(axis=1) < by_ball.min(axis=1)).all()
    assert (by_chart[:, 1] < 0.9 * by_chart[:, 0]).any()
    assert (by_ball[:, 1] > 0.7 * by_ball[:, 0]).all()


def test_directions_lie_round_an_ellipse():
    space = sf.Sphere(dim=2)
    region = sf.Ellipsoid(space, [0.0, 0.6, 0.8], axes=[0.4, 0.05])
    release = released(region)
    shown = Subject.of(release)
    edge = Directions()._edge(shown, shown.noise)
    angles = np.arccos(np.clip(edge @ release.value, -1, 1))
    assert angles.max() / angles.min() == pytest.approx(8, rel=0.05)
    labels = [text.get_text() for text in release.plot().legends[0].get_texts()]
    assert "edge of the public ellipse" in labels


def test_matrices_of_a_chart_lie_between_those_drawn():
    """Errors of a chart are lengths at the centre, and distances there are longer."""
    space, rng = sf.SPD(size=3), np.random.default_rng(0)
    region = sf.Ellipsoid(space, np.diag([1.0, 2.0, 5.0]), np.full(6, 2.0))
    release = released(region, n=60)
    error = release.error(0.95)
    low, high = matrices.matrix_bounds(Subject.of(release), error)
    tangent = space.coordinates(region.center, space.log(region.center, release.value[None]))
    steps = rng.normal(size=(200, 6))
    others = tangent + error * steps / np.linalg.norm(steps, axis=1, keepdims=True)
    others *= np.minimum(1.0, 2.0 / np.linalg.norm(others, axis=1, keepdims=True))
    others = space.exp(region.center, space.from_coordinates(region.center, others))
    assert np.linalg.eigvalsh(others - low).min() > 0
    assert np.linalg.eigvalsh(high - others).min() > 0


# -- the demo -----------------------------------------------------------------------------------------------------------
def test_the_demo_s_public_wings_are_not_among_its_private_ones():
    data, reference = demo.wings()
    private, public = demo.shared(data)
    assert (len(private), len(public)) == (100, 26)
    every = np.concatenate([private, public, reference[None]]).reshape(127, -1)
    assert len(np.unique(every, axis=0)) == 127
