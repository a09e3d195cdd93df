"""Products: what the shared suite cannot know of them."""

import pickle
import re
import sys

import numpy as np
import pytest

import sfumato as sf
from conftest import cloud
from sfumato.app import cli
from sfumato.laws.bounds import has_bounds
from sfumato.spaces import SPACES, space_from, space_typed

SHAPES = sf.Product(sf.PlanarShapes(landmarks=5), sf.Euclidean(dim=1), weights=[1, 0.5])
WING = np.array([[0.0, 0.0], [2.0, 0.0], [3.0, 1.0], [2.0, 2.0], [0.0, 1.5]])


def log_size(landmarks):
    """The logarithm of the centroid size."""
    return np.log(np.linalg.norm(landmarks - landmarks.mean(axis=-2, keepdims=True), axis=(-2, -1)))


@pytest.fixture
def wings(rng):
    return WING * rng.lognormal(0.2, 0.1, (400, 1, 1)) + 0.05 * rng.normal(size=(400, 5, 2))


def test_weights_multiply_distances(rng):
    space = sf.Product(sf.Sphere(dim=2), sf.SPD(size=2), weights=(3, 0.25))
    a, b = (cloud(space, space.origin(), 1.0, 20, rng) for _ in range(2))
    (u, p), (v, q) = (space.split(space.present(x)) for x in (a, b))
    wanted = (3 * sf.Sphere(dim=2).distance(u, v)) ** 2 + (0.25 * sf.SPD(size=2).distance(p, q)) ** 2
    assert np.allclose(space.distance(a, b) ** 2, wanted, rtol=1e-12)
    assert space.dim == 5
    assert not has_bounds(space)


def test_it_agrees_with_geomstats(rng):
    pytest.importorskip("geomstats")
    from geomstats.geometry.euclidean import Euclidean
    from geomstats.geometry.hypersphere import Hypersphere
    from geomstats.geometry.product_manifold import ProductManifold

    theirs = ProductManifold([Hypersphere(2), Euclidean(2)])
    ours = sf.Product(sf.Sphere(dim=2), sf.Euclidean(dim=2))
    a, b = (cloud(ours, ours.origin(), 1.0, 20, rng) for _ in range(2))
    assert np.allclose(ours.distance(a, b), theirs.metric.dist(a, b), atol=1e-9)
    assert np.allclose(ours.log(a[0], b), theirs.metric.log(b, a[0]), atol=1e-9)
    assert np.allclose(ours.exp(a[0], ours.log(a[0], b)), theirs.metric.exp(ours.log(a[0], b), a[0]), atol=1e-9)


def test_its_mean_is_made_of_those_of_its_parts(wings):
    mean = sf.frechet_mean(SHAPES, SHAPES.join(wings, log_size(wings)))
    shape, size = SHAPES.split(mean.point)
    alone = sf.frechet_mean(SHAPES.parts[0], wings).point
    assert SHAPES.parts[0].distance(*SHAPES.parts[0].validate([shape, alone])) < 1e-9
    assert size == pytest.approx([log_size(wings).mean()], abs=1e-9)


def test_rows_are_joined_and_split(wings):
    rows = SHAPES.join(wings, log_size(wings))
    assert rows.shape == (400, 11)
    assert all(map(np.array_equal, SHAPES.split(rows), (wings, log_size(wings)[:, None])))
    turned = SHAPES.join(wings[..., 0] + 1j * wings[..., 1], log_size(wings))  # in another layout of the first part
    assert np.max(SHAPES.distance(SHAPES.validate(turned), SHAPES.validate(rows))) < 1e-12
    assert [part.shape for part in SHAPES.split(rows[0])] == [(5, 2), (1,)]
    for wrong, words in (
        ((wings,), "points of 2 parts are due, not of 1"),
        ((wings, log_size(wings)[1:]), "the parts hold 400, 399 records"),
        ((wings[:, 1:], log_size(wings)), "points have shape"),
    ):
        with pytest.raises(ValueError, match=words):
            SHAPES.join(*wrong)
    for wrong in (rows[:, 1:], rows[0, :3], rows[None]):
        with pytest.raises(ValueError, match="expected"):
            SHAPES.validate(wrong)


def test_a_bad_row_names_its_part(wings):
    rows = SHAPES.join(wings, log_size(wings))
    rows[4, :10], rows[6, 10] = 1.0, np.nan
    reasons = SHAPES.diagnose(rows)[1]
    assert reasons == {
        4: "in part 1, shapes: has no shape: all its 5 landmarks coincide",
        6: "in part 2, euclidean: holds NaN or an infinite value: component 1",
    }


def test_equality_and_pickles():
    same = sf.Product(*SHAPES.parts, weights=(1.0, 0.5))
    assert same == SHAPES == pickle.loads(pickle.dumps(SHAPES))
    assert hash(same) == hash(SHAPES)
    assert sf.Product(*SHAPES.parts) != SHAPES != sf.Product(*SHAPES.parts[::-1], weights=[0.5, 1])
    assert space_typed("product(shapes(landmarks=5), euclidean(dim=1), weights=[1, 0.5])").sized() == SHAPES


@pytest.mark.parametrize(
    ("parts", "weights", "words"),
    [
        ((), None, "give two spaces or more"),
        ((sf.Euclidean(dim=1),), None, "give two spaces or more"),
        ((sf.Euclidean(dim=1), "sphere"), None, "give two spaces or more"),
        (SHAPES.parts, [1, 0], "weights must be positive numbers"),
        (SHAPES.parts, [1, np.inf], "weights must be positive numbers"),
        (SHAPES.parts, 2, "weights must be positive numbers"),
        (SHAPES.parts, [1, 2, 3], "3 weights for 2 spaces"),
    ],
)
def test_bad_arguments_are_refused_in_words(parts, weights, words):
    with pytest.raises(ValueError, match=words):
        sf.Product(*parts, weights=weights)


def test_a_part_that_nobody_knows_is_no_obstacle(rng, tmp_path, monkeypatch):
    """A record of a product one of whose parts is of the user's own; and a class that only borrows the name of another."""

    class Moon(sf.Sphere): ...

    space = sf.Product(Moon(dim=2), sf.Euclidean(dim=1))
    region = sf.Ball(space, space.present(space.origin()), 1.0)
    release = sf.private_mean(space.present(cloud(space, space.origin(), 0.5, 200, rng)), region, 4.0)
    release.save(tmp_path / "mean.json")
    again = sf.Release.load(tmp_path / "mean.json")
    assert again.space.known is None
    assert ".Moon (dim 2, curvature 1.0), euclidean (dim 1)], weights [1.0, 1.0]" in again.describe()
    sf.write_report(again, tmp_path / "mean.html")
    with pytest.raises(ValueError, match="unknown space"):
        space_from("product", space.parameters())
    monkeypatch.delitem(SPACES, "shapes")
    assert SHAPES.parameters()["parts"][0]["name"] == "shapes"


# -- what it is for ---------------------------------------------------------------------------------------------------------
def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return int(stop.value.code or 0)


def test_a_shape_with_its_size_from_a_table(wings, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = [f"{axis}{i}" for i in range(1, 6) for axis in "xy"] + ["logsize"]
    for file, part in (("center.csv", WING[None]), ("wings.csv", wings)):
        rows = SHAPES.join(part, log_size(part))
        np.savetxt(file, rows, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    typed = ("--space", "product(shapes(landmarks=5), euclidean(dim=1), weights=[1, 0.5])")
    assert run(monkeypatch, "plan", *typed, "--n", 400, "--radius", 0.4, "--epsilon", 2) == 0
    assert run(monkeypatch, "inspect", "wings.csv", *typed) == 0
    assert "the columns x1, y1, x2, y2" in capsys.readouterr().out
    asked = ("--center", "center.csv", "--radius", 0.4, "--epsilon", 2, "--report", "mean.md")
    assert run(monkeypatch, "release", "wings.csv", *typed, *asked) == 0, capsys.readouterr().err
    release = sf.Release.load("mean.json")
    assert release.space.known == SHAPES
    shape, size = SHAPES.split(release.value)
    truth = sf.frechet_mean(SHAPES.parts[0], wings).point
    off = SHAPES.parts[0].distance(*SHAPES.parts[0].validate([shape, truth]))
    assert np.hypot(off, 0.5 * (size[0] - log_size(wings).mean())) < release.error(0.999999) + 0.01
    page = (tmp_path / "mean.md").read_text(encoding="utf-8")
    assert "of 400 points with 2 parts (shapes, euclidean)" in page
    assert "![Released mean of 400 points with 2 parts (shapes, euclidean), beside the public centre" in page
    assert f"| 2: euclidean | 1 | {size[0]:.6g} |" in page
    rows = SHAPES.join(wings, log_size(wings))
    rows[7, 10] = np.nan
    np.save("bad.npy", rows)
    assert run(monkeypatch, "release", "bad.npy", *typed, *asked, "--force") == 2
    assert "record 7: in part 2, euclidean: holds NaN" in capsys.readouterr().err


def test_the_example_of_the_documentation(wings, pytestconfig):
    text = (pytestconfig.rootpath / "docs" / "spaces.md").read_text(encoding="utf-8").split("## Products")[1]
    region = sf.Ball(SHAPES, SHAPES.join(WING[None], [log_size(WING)])[0], 0.4)
    names = {"np": np, "sf": sf, "landmarks": wings, "region": region}
    exec(re.search(r"```python\n(.*?)```", text, re.S)[1], names)
    assert names["space"] == SHAPES
    assert names["shape"].shape == (5, 2)
    assert abs(names["log_size"][0] - log_size(wings).mean()) < 2 * names["release"].error(0.999999)


def test_a_direction_with_a_scale_and_a_public_sample(rng):
    space = sf.Product(sf.Sphere(dim=2), sf.Euclidean(dim=1), weights=[1, 2])
    center = space.join([[0.6, 0.0, 0.8]], [1.5])[0]
    points = space.present(cloud(space, space.validate(center[None])[0], 0.3, 560, rng))
    region = sf.Ellipsoid.from_sample(space, points[:60])
    release = sf.private_mean(points[60:], region, 4.0)
    assert space.distance(*space.validate([release.value, center])) < release.error(0.999999) + 0.05
    assert release.error(0.95) < sf.private_mean(points[60:], sf.Ball(space, center, 0.6), 4.0).error(0.95)


def test_two_groups_of_channels(rng):
    space = sf.Product(sf.SPD(size=2), sf.SPD(size=3))
    points = cloud(space, space.origin(), 0.8, 600, rng)
    release = sf.private_mean(space.present(points), sf.Ball(space, space.present(space.origin()), 1.0), 4.0)
    first, second = space.split(release.value)
    assert np.linalg.eigvalsh(first).min() > 0 < np.linalg.eigvalsh(second).min()
    mean = sf.frechet_mean(space, space.present(points)).point
    assert space.distance(*space.validate([release.value, mean])) < release.error(0.999999) + 0.02
