"""A public region as a file: the same region for everybody, and refused if it was altered."""

import json

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import RecordError
from sfumato.release.document import Document
from sfumato.release.shared import RegionOf
from sfumato.spaces import all_spaces

TEMPLATE = np.array([[0, 0], [2, 0], [3, 1], [2, 2], [0, 2]])
SPACE = sf.PlanarShapes(landmarks=5)


def shapes(n, seed=0):
    return TEMPLATE + np.random.default_rng(seed).normal(0, 0.05, (n, 5, 2))


def settled():
    return sf.Ellipsoid.from_sample(SPACE, shapes(40)).settle(300, 1.0)


@pytest.mark.parametrize("kind", all_spaces(), ids=lambda kind: kind.name)
def test_every_space_has_regions_in_files(tmp_path, kind):
    space = kind.example()
    center = space.present(space.origin())
    for region in (
        sf.Ball(space, center, 0.1),
        sf.Ellipsoid(space, center, [0.2, 0.1][: space.dim], source="an atlas"),
    ):
        sf.save_region(region, tmp_path / "region.json")
        back = sf.load_region(tmp_path / "region.json")
        assert type(back) is type(region)
        assert repr(back) == repr(region)
        assert np.array_equal(space.present(back.center), space.present(region.center))
        sf.save_region(back, tmp_path / "again.json")
        assert (tmp_path / "again.json").read_bytes() == (tmp_path / "region.json").read_bytes()
        assert sf.load_region(tmp_path / "again.json") == back


def test_two_museums_release_in_one_chart_and_their_means_are_combined(tmp_path):
    sf.save_region(settled(), tmp_path / "region.json")
    done = []
    for n in (300, 500):
        region = sf.load_region(tmp_path / "region.json")
        done.append(sf.private_mean(shapes(n, n), region, 1.0, mechanism="tangent"))
    both = sf.combine(done, people="apart")
    assert both.n == 800
    assert both.region(0.95).radius > 0


def test_what_is_no_public_region_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match=r"depend on n and ε: save region\.settle\(n, epsilon\)"):
        sf.save_region(sf.Ellipsoid.from_sample(SPACE, shapes(40)), tmp_path / "region.json")
    found = sf.private_radius(shapes(2000), sf.Ball(SPACE, TEMPLATE, 0.5), 1.0)
    with pytest.raises(ValueError, match="found privately"):
        sf.save_region(found, tmp_path / "region.json")
    with pytest.raises(TypeError, match="save_region takes a region"):
        sf.save_region(SPACE, tmp_path / "region.json")
    assert not (tmp_path / "region.json").exists()


def test_a_region_that_was_altered_or_cut_is_refused(tmp_path):
    path = tmp_path / "region.json"
    sf.save_region(settled(), path)
    text = path.read_text()
    for i in range(1, len(text) - 1, 97):
        path.write_text(text[:i])
        with pytest.raises(RecordError, match=r"region\.json: this (is not a )?public region"):
            sf.load_region(path)
    document = json.loads(text)
    for change in (
        {"arguments": document["arguments"] | {"spread": 0.5}},
        {"arguments": document["arguments"] | {"axes": [-1.0]}},
        {"arguments": document["arguments"] | {"radius": 1.0}},
        {"arguments": document["arguments"] | {"seed": 1}},
        {"arguments": document["arguments"] | {"center": "here"}},
        {"arguments": []},
        {"space": document["space"] | {"parameters": {"landmarks": 6}}},
        {"space": document["space"] | {"parameters": {"landmarks": 10**12}}},
        {"space": document["space"] | {"name": "nowhere"}},
        {"format": "sfumato release 1"},
    ):
        path.write_text(json.dumps(document | change))
        with pytest.raises(RecordError, match=r"region\.json: "):
            sf.load_region(path)
    odd = {**document, "arguments": document["arguments"] | {"source": ["words"]}}
    del odd["sha256"]
    path.write_text(json.dumps(odd | {"sha256": Document.digest(odd)}))  # a sum that is right
    with pytest.raises(RecordError, match="source is not in words"):
        sf.load_region(path)
    path.write_text(text)
    assert RegionOf.load(path).region == settled()


# -- the command line --------------------------------------------------------------------------------------------------------
@pytest.fixture
def files(sfumato):
    for name, n in (("public.tps", 60), ("lisbon.tps", 300), ("oslo.tps", 500)):
        made = sf.Dataset(shapes(n, n), "landmarks", labels={"ID": np.arange(n).astype(str)})
        sf.write_points(name, made)
    sf.write_points("center.tps", TEMPLATE.astype(float), "landmarks")
    return sfumato


def test_the_command_line_writes_a_region_and_releases_in_it(files):
    code, out, err = files("region", "--public", "public.tps", "--n", "300", "--epsilon", "1")
    assert (code, err) == (0, ""), err
    assert out.startswith("Written: region.json, an ellipsoid with ")
    for site in ("lisbon", "oslo"):
        ways = ("--region", "region.json", "--epsilon", "1", "--mechanism", "tangent", "--out", f"{site}.json")
        code, _, err = files("release", f"{site}.tps", *ways)
        assert code == 0, err
    code, _, err = files("combine", "lisbon.json", "oslo.json", "--people", "apart")
    assert code == 0, err
    code, out, err = files("plan", "--region", "region.json", "--n", "300", "--epsilon", "1")
    assert (code, "--region region.json" in out) == (0, True), out + err
    code, out, err = files("inspect", "oslo.tps", "--region", "region.json")
    assert (code, "beside the public region" in out) == (0, True), err
    assert (
        files("regress", "oslo.tps", "--on", "size", "--limits", "1:9", "--region", "region.json", "--epsilon", "2")[0]
        == 0
    )


def test_a_ball_needs_no_epsilon(files):
    code, _, err = files("region", "--center", "center.tps", "--radius", "0.15", "--out", "ball.json")
    assert (code, err) == (0, ""), err
    assert sf.load_region("ball.json") == sf.Ball(SPACE, TEMPLATE, 0.15)
    code, _, err = files("release", "oslo.tps", "--region", "ball.json", "--epsilon", "1")
    assert code == 0, err


def test_what_does_not_go_with_a_region(files):
    sf.save_region(settled(), "region.json")
    with_it = ("release", "oslo.tps", "--epsilon", "1", "--region", "region.json")
    for more, words in (
        (("--public", "public.tps"), "--region is a whole public region, of its own space: leave out --public"),
        (("--space", "shapes", "--radius", "0.1"), "leave out --space and --radius"),
        (("--landmarks", "5"), "landmarks stands in the space shapes(…) already"),
        (("--mechanism", "laplace"), "--mechanism laplace: takes a ball"),
        (("--out", "region.json", "--force"), "would replace region.json"),
    ):
        code, _, err = files(*with_it, *more)
        assert (code, words in err) == (2, True), err
    six = sf.PlanarShapes(landmarks=6)
    sf.save_region(sf.Ball(six, six.present(six.origin()), 0.1), "six.json")
    code, _, err = files("release", "oslo.tps", "--region", "six.json", "--epsilon", "1")
    assert (code, "6" in err, "5" in err) == (2, True, True), err
    code, _, err = files("region", "--public", "public.tps", "--out", "new.json")
    assert (code, "give --n and --epsilon" in err) == (2, True), err
    code, _, err = files("region", "--radius", "0.1", "--out", "new.json")
    assert (code, "--radius needs --center too" in err) == (2, True), err
    code, _, err = files("release", "oslo.tps", "--region", "gone.json", "--epsilon", "1")
    assert (code, "gone.json: no such file" in err) == (2, True), err
