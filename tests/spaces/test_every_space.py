"""The contract of a space, tried on every space that sfumato knows: geometry, privacy of rows, and all that is around them."""

import json
import sys
import warnings
from html import escape

import numpy as np
import pytest

import sfumato as sf
from conftest import EXAMPLES, cloud, typical_radius
from sfumato.app import cli
from sfumato.mechanisms import choose
from sfumato.records import Records
from sfumato.spaces import SPACES, space_from, space_typed
from sfumato.views import view_of
from sfumato.views.released import in_words
from sfumato.views.subject import Subject


def written(space, points):
    """Points as a user can write them: of a space whose points are those of another one, up to a fold."""
    return space.validate(space.present(points))


ALL = [space for examples in EXAMPLES.values() for space in examples]


@pytest.fixture(params=ALL, ids=str)
def space(request):
    return request.param


@pytest.fixture
def base(space, rng):
    """A point that is not the origin, so that nothing is simple there by chance."""
    return written(space, cloud(space, space.origin(), typical_radius(space), 1, rng))[0]


@pytest.fixture
def points(space, base, rng):
    return written(space, cloud(space, base, typical_radius(space), 40, rng))


def test_every_registered_space_is_tried():
    ours = {name for name, kind in SPACES.items() if kind.__module__.startswith("sfumato.")}
    assert ours == set(EXAMPLES)
    assert all(type(SPACES[name].example()) is SPACES[name] for name in ours)
    assert all(space.name == name for name, spaces in EXAMPLES.items() for space in spaces)


# -- geometry --------------------------------------------------------------------------------------------------------------
def test_points_come_back_as_they_were_presented(space, points):
    shown = space.present(points)
    assert shown.dtype == np.float64
    assert shown.shape[1:] == next(iter(space.layouts.values()))
    again = space.validate(shown)
    assert space.distance(points, again).max() <= 1e-7 * (
        1 + np.abs(shown).max()
    )  # √rounding, where distances are angles
    assert np.allclose(space.present(again), shown, rtol=1e-12, atol=1e-12)


def test_log_inverts_exp_and_its_length_is_the_distance(space, base, points):
    vectors = space.log(base, points)
    assert np.allclose(space.norm(base, vectors), space.distance(base, points), rtol=1e-9, atol=1e-9)
    assert np.allclose(space.distance(points, base), space.distance(base, points), rtol=1e-9, atol=1e-9)
    assert space.distance(space.exp(base, vectors), points).max() <= 1e-7
    assert np.allclose(space.log(base, space.exp(base, vectors)), vectors, atol=1e-9)
    assert np.abs(space.log(base, base[None])).max() <= 1e-7
    assert space.distance(base, space.exp(base, np.zeros_like(vectors[:1])))[0] <= 1e-7


def test_coordinates_are_those_of_an_orthonormal_basis(space, base, points, rng):
    basis = space.tangent_basis(base)
    gram = np.array([[float(space.inner(base, a, b)) for a in basis] for b in basis])
    assert gram.shape == (space.dim, space.dim)
    assert np.allclose(gram, np.eye(space.dim), atol=1e-10)
    c = rng.normal(size=(7, space.dim))
    assert np.allclose(space.coordinates(base, space.from_coordinates(base, c)), c, atol=1e-10)
    seen = space.coordinates(base, space.log(base, points))
    assert np.allclose(np.linalg.norm(seen, axis=1), space.distance(base, points), rtol=1e-9, atol=1e-9)


def test_short_geodesics_look_straight(space, base, rng):
    """exp and log belong to the metric of ``inner``: distances between near points are lengths of tangent vectors."""
    c = 1e-4 * rng.normal(size=(2, space.dim)) / np.sqrt(space.dim)
    a, b = (space.exp(base, space.from_coordinates(base, each)) for each in c)
    assert space.distance(a, b) == pytest.approx(np.linalg.norm(c[0] - c[1]), rel=1e-3)


def test_noise_can_lead_anywhere(space, base, rng):
    """A release may be far outside the region: it is a point all the same."""
    for length in (1.0, 3.0, 10.0):
        far = space.exp(base, length * space.random_directions(base, 5, rng))
        if np.isfinite(space.present(far)).all():
            assert not space.diagnose(space.present(far))[1]


def test_the_mean_is_where_the_logarithms_cancel(space, points):
    mean = sf.frechet_mean(space, space.present(points))
    at = space.validate(mean.point[None])[0]
    assert np.linalg.norm(space.coordinates(at, space.log(at, points)).mean(axis=0)) < 1e-8


# -- privacy of rows ---------------------------------------------------------------------------------------------------------
def test_a_row_depends_on_its_record_alone_to_the_bit(space, base, points, rng):
    shown = space.present(points)
    other = space.present(cloud(space, base, 3 * typical_radius(space), 40, rng))
    other[::5] = np.nan
    other[1::7] = 1e250
    other[2::11] = 0.0
    rows = [0, 13, 39]
    other[rows] = shown[rows]
    chart = sf.Ball(space, space.present(base), typical_radius(space)).as_chart().chart
    both = [list(_found(space, base, chart, each)) for each in (shown, other)]
    for one, two in zip(*both, strict=True):
        assert np.array_equal(one[rows], two[rows], equal_nan=True)


def _found(space, base, chart, shown):
    with np.errstate(all="ignore"):
        canonical, reasons = space.diagnose(shown)
        canonical = canonical.copy()
        canonical[list(reasons)] = base
        logs = space.log(base, canonical)
        yield from (canonical, logs, space.distance(base, canonical), space.coordinates(base, logs))
        yield from (space.log_map(base)(canonical), chart(canonical))


def test_bad_rows_are_named_and_the_others_are_not(space, points):
    shown = space.present(points)
    for row, value in ((3, np.nan), (17, np.inf)):
        shown[row].flat[0] = value
    reasons = space.diagnose(shown)[1]
    assert sorted(reasons) == [3, 17]
    assert all("NaN or an infinite value" in words for words in reasons.values())
    with pytest.raises(sf.InvalidPointError, match="record 3"):
        space.validate(shown)
    with pytest.raises(ValueError, match="shape"):
        space.validate(np.zeros((4, 97)))


# -- around it ----------------------------------------------------------------------------------------------------------------
def test_a_release_by_chart_and_its_record(space, base, points, tmp_path):
    region = sf.Ball(space, space.present(base), typical_radius(space))
    release = sf.private_mean(np.concatenate([space.present(points)] * 50), region, 8.0, "tangent")
    whole = choose(region, 2000, 8.0, "tangent").mean(Records(space, points))
    chart = region.as_chart()
    mean = chart.point(np.array([[float(x) for x in whole]]))[0]
    assert space.distance(space.validate(release.value[None]), mean).max() <= 3 * release.error(0.999999) + 1e-7
    path = tmp_path / "mean.json"
    release.save(path)
    again = sf.Release.load(path)
    assert again.sha256 == release.sha256
    assert again.space.known == space
    assert space_from(space.name, json.loads(json.dumps(space.parameters()))) == space
    assert release.describe()
    sf.write_report(again, tmp_path / "mean.html")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sf.plot_release(again, tmp_path / "mean.svg")
    words = in_words(again)
    assert f"Released mean of 2000 {view_of(again).things(Subject.of(again))}, beside the public centre" in words
    assert f'alt="{escape(words)}"' in (tmp_path / "mean.html").read_text(encoding="utf-8")
    assert f'<title id="words">{escape(words)}</title>' in (tmp_path / "mean.svg").read_text(encoding="utf-8")
    assert f"'{space.name}'" in release.describe() or type(space).__name__ in repr(space)


def test_one_and_two_records_and_equal_ones(space, base):
    region = sf.Ball(space, space.present(base), typical_radius(space))
    for n in (1, 2, 5):
        same = np.repeat(space.present(base)[None], n, axis=0)
        release = sf.private_mean(same, region, 1.0, "tangent", allow_useless=True)
        assert release.value.shape == same.shape[1:]


def test_it_can_be_typed(space):
    assert space_typed(space.typed).sized() == space


def test_the_command_line_releases_it(space, base, points, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("points.npy", space.present(points))
    np.save("center.npy", space.present(base)[None])
    told = ["--center", "center.npy", "--radius", str(typical_radius(space)), "--epsilon", "4", "--out", "mean.json"]
    program = ["sfumato", "release", "points.npy", "--space", space.typed, "--mechanism", "tangent"]
    monkeypatch.setattr(sys, "argv", [*program, *told])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert not stop.value.code, capsys.readouterr().err
    assert sf.Release.load("mean.json").space.known == space


def test_estimators_take_it(space, base, points):
    pytest.importorskip("sklearn")
    center, radius = space.present(base), typical_radius(space)
    fitted = sf.PrivateFrechetMean(space=space, center=center, radius=radius, epsilon=4.0, mechanism="tangent")
    assert fitted.fit(space.present(points)).mean_.shape == center.shape
