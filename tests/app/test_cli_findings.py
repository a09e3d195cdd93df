"""Findings from the command line: regions of the population, regions that are found, groups, the curator's check."""

import html
import json
import pkgutil
import re
import signal

import numpy as np
import pytest

import sfumato as sf
from conftest import is_short
from sfumato.views.subject import Subject

K = 8
ANGLES = 2 * np.pi * np.arange(K) / K
REFERENCE = np.stack([1.6 * np.cos(ANGLES), 0.7 * np.sin(ANGLES) * (1 + 0.3 * np.cos(ANGLES))], axis=1)


def write_tps(path, shapes, names):
    rows = zip(shapes.tolist(), names, strict=True)
    path.write_text("".join(f"LM={K}\n" + "".join(f"{x!r} {y!r}\n" for x, y in s) + f"ID={name}\n" for s, name in rows))


@pytest.fixture
def fish(tmp_path):
    """600 fish of two sexes that differ in their first landmark, with a table of sexes and three species that do not differ."""
    rng = np.random.default_rng(3)
    sex, names = np.where(np.arange(600) % 2, "f", "m"), [f"s{i:03d}" for i in range(600)]
    shapes = REFERENCE + rng.normal(0, 0.02, (600, K, 2))
    shapes[sex == "f", 0] += [0.4, 0.0]
    write_tps(tmp_path / "fish.tps", shapes, names)
    write_tps(tmp_path / "reference.tps", REFERENCE[None], ["reference"])
    rows = (f"{name};{s};{'abc'[i % 3]}" for i, (name, s) in enumerate(zip(names, sex, strict=True)))
    (tmp_path / "sexes.csv").write_text("\n".join(["ID;sex;species", *rows]))
    return shapes, sex


KNOWN = ["--center", "reference.tps", "--radius", "0.25"]
COMPARE = ["compare", "fish.tps", "--labels", "sexes.csv", *KNOWN, "--epsilon", "4"]


def least_radius(sfumato, *arguments):
    """Of the balls that four releases find: the search goes on far too long with a chance of half a per cent each, as the noise
    of its threshold may exceed what is allowed for it; all four with one of 1e-9."""
    radii = []
    for name in ("first.json", "second.json", "third.json", "fourth.json"):
        code, _, err = sfumato(*arguments, "--out", name)
        assert code == 0, err
        radii.append(sf.Release.load(name).ball.radius)
    return min(radii)


def test_a_whole_sphere_is_prior_enough(sfumato, tmp_path):
    rng = np.random.default_rng(0)
    points = rng.normal([0.6, 0.0, -0.8], 0.1, (3000, 3))
    np.savetxt(
        tmp_path / "v.csv", points / np.linalg.norm(points, axis=1, keepdims=True), delimiter=",", header="x,y,z"
    )
    found = ["release", "v.csv", "--space", "sphere", "--prior", "whole", "--epsilon", "2"]
    code, out, err = sfumato(*found, "--inference", "0.1", "--report", "mean.html", "--plot", "mean.png")
    assert code == 0, err
    assert is_short(out, err)
    release = sf.Release.load("mean.json")
    assert least_radius(sfumato, *found) < 1.5  # of π
    assert release.value @ [0.6, 0.0, -0.8] > 0.98
    assert "centre and radius found privately in a public ball of radius 3.14159" in release.describe()
    assert f"The population's mean: within {release.region(0.95).size} (95% confidence)." in out
    page = " ".join(html.unescape(re.sub(r"<[^>]*>", "", (tmp_path / "mean.html").read_text())).split())
    assert release.region(0.95).words in page
    legend = [text.get_text() for text in release.plot().legends[0].get_texts()]
    assert "95% region for the population's mean" in legend
    code, out, _ = sfumato(
        "plan", "--space", "sphere", "--prior", "whole", "--n", 3000, "--epsilon", 2, "--inference", 0.1, "-v"
    )
    assert code == 0
    assert re.search(
        r"[\d.]+% on finding its centre, [\d.]+% on finding its radius, 10% on the spread of the records and [\d.]+%",
        out,
    )
    assert "as if the records filled the whole of the prior" in out


def test_a_range_of_eigenvalues_is_prior_enough(sfumato, tmp_path):
    factors = np.random.default_rng(1).normal(size=(3000, 30, 2)) * [1.0, 3.0]
    np.save(tmp_path / "m.npy", np.einsum("nij,nik->njk", factors, factors) / 30)
    radius = least_radius(sfumato, "release", "m.npy", "--prior", "1e-3:1e3", "--epsilon", "4")
    release = sf.Release.load("first.json")
    prior = sf.widest_ball(sf.SPD(size=2), 1e-3, 1e3)
    assert prior.radius == pytest.approx(np.sqrt(2) * np.log(1e6) / 2)
    assert radius < prior.radius / 2
    assert "found privately in a public ball of radius 9.76" in release.describe()
    again = ["release", "m.npy", "--center", "identity", "--radius", "9", "--find-radius", "--epsilon", "4", "--force"]
    assert least_radius(sfumato, *again) < 6
    other = sf.Release.load("first.json")
    assert np.array_equal(other.ball.center, np.eye(2))
    assert other.chart.source.startswith("radius found privately")


@pytest.mark.parametrize(
    "space", [sf.SPD(size=3), sf.SPD(size=3, metric="log-euclidean"), sf.DiagonalSPD(size=3)], ids=str
)
def test_the_widest_ball_holds_all_that_it_says(space):
    rng = np.random.default_rng(2)
    turns = np.linalg.qr(rng.normal(size=(300, 3, 3)))[0] if space.present(space.origin()).ndim == 2 else np.eye(3)
    values = 10 ** rng.choice([-2.0, 0.3, 4.0], (300, 3))
    matrices = turns @ (values[:, :, None] * np.swapaxes(np.broadcast_to(turns, (300, 3, 3)), 1, 2))
    ball = sf.widest_ball(space, 1e-2, 1e4)
    distances = space.distance(ball.center, space.validate(matrices))
    assert distances.max() <= ball.radius * (1 + 1e-9)
    assert distances.max() > 0.99 * ball.radius  # and no more than it must


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--prior", "whole"], "PlanarShapes(landmarks=8) has no ball that surely holds all records"),
        (["--prior", "wide"], "say a radius, as 2.5; a range, as 1e-3:1e3; or 'whole'"),
        (["--prior", "0.8"], "is a radius, and needs --center too"),
        (["--prior", "0.8", *KNOWN], "--prior 0.8 says how wide the region is: leave out --radius"),
        (["--prior", "0.8", "--find-radius", *KNOWN], "give one of them"),
        (["--prior", "1:2", "--center", "reference.tps"], "has a centre of its own: leave out --center"),
        (["--find-radius", "--smooth", *KNOWN], "leave it out, or leave out --smooth"),
        (
            ["--find-radius", "--mechanism", "kng", *KNOWN],
            "a prior goes with releases by chart",
        ),
        (["--inference", "0.7", *KNOWN], "must be a share of epsilon, above 0 and up to 0.5"),
    ],
)
def test_options_that_do_not_go_together(sfumato, fish, tmp_path, options, words):
    code, _, err = sfumato("release", "fish.tps", "--epsilon", "1", *options)
    assert (code, words in err) == (2, True), err
    assert not (tmp_path / "mean.json").exists()


def test_groups_must_be_said_to_be_public(sfumato, fish, tmp_path):
    sfumato("ledger", "init", "study.ledger", "--epsilon", "5")
    code, _, err = sfumato(*COMPARE, "--by", "sex", "--ledger", "study.ledger")
    assert code == 2
    assert "is the sex of every person public knowledge?" in err
    assert "give --labels-are-public" in err
    assert "5 of 5 is left" in sfumato("ledger", "show", "study.ledger")[1]
    assert not (tmp_path / "comparison.json").exists()


def test_compare_writes_what_was_asked_for_and_charges_once(sfumato, fish, tmp_path):
    sfumato("ledger", "init", "study.ledger", "--epsilon", "5")
    asked = [*COMPARE, "--by", "sex", "--labels-are-public", "--ledger", "study.ledger"]
    before = {path.name for path in tmp_path.iterdir()}
    code, out, err = sfumato(*asked, "--out", "c.json", "--plot", "c.png", "--report", "c.html", "-v")
    assert code == 0, err
    assert {path.name for path in tmp_path.iterdir()} - before == {"c.json", "c.png", "c.html"}
    found = sf.Comparison.load("c.json")
    assert {name: release.n for name, release in found.groups.items()} == {"f": 300, "m": 300}
    assert found.difference().differs  # 0.4 apart, at a noise of 0.01
    assert re.search(r"f, m +0\.\d+ +below 0\.001 +below 0\.001 +differ", out), out
    assert "1 of 5 is left" in sfumato("ledger", "show", "study.ledger")[1]
    entries = json.loads(sfumato("ledger", "log", "study.ledger", "--json")[1])
    assert [entry["kind"] for entry in entries][-2:] == ["charge", "release"]
    assert found.sha256 in json.dumps(entries[-1])
    page = (tmp_path / "c.html").read_text()
    for words in (
        "How the groups differ",
        "may be the same",
        "What is promised",
        "its group is the same",
        "data:image/png",
    ):
        assert (words in page) == (words != "may be the same"), words
    assert "records lay outside the public ball" in err  # on the curator's screen
    for name in ("c.json", "c.html"):
        assert "outside the public ball and" not in (tmp_path / name).read_text()
    code, _, err = sfumato(*asked, "--out", "d.json")
    assert (code, (tmp_path / "d.json").exists()) == (3, False), err


def test_many_groups_have_a_mean_each(sfumato, fish):
    code, out, err = sfumato(*COMPARE, "--by", "species", "--labels-are-public", "--json")
    assert code == 0, err
    assert [*json.loads(out)["groups"]] == ["a", "b", "c"]
    said = sf.Comparison.load("comparison.json").describe()
    assert said.count("The means of ") == 4  # of all, and of each pair
    assert "p-values of all 3 pairs are corrected for their number (Holm)" in said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--by", "age"], "sexes.csv: has no column 'age'; it has: ID, sex, species"),
        (["--by", "sex", "--find-radius"], "No such option: --find-radius"),  # one region serves all groups
        (["--by", "ID"], "sexes.csv: has no column in common with the records"),
    ],
)
def test_comparisons_that_cannot_be_made(sfumato, fish, options, words):
    code, _, err = sfumato(*COMPARE, "--labels-are-public", *options)
    assert (code, words in err) == (2, True), err


def test_a_table_of_groups_must_name_every_record_once(sfumato, fish, tmp_path):
    table = (tmp_path / "sexes.csv").read_text()
    for wrong, words in (
        (table.replace("s017;f", "s999;f"), "has no line for record 17 (line"),
        (table + "\ns017;m;a", "line 602: ID 's017' is in two groups, f and m"),
        (table.replace("s017;f", "s017;NA"), "1 of 600 records have no group, the first being record 17"),
    ):
        (tmp_path / "sexes.csv").write_text(wrong)
        code, _, err = sfumato(*COMPARE, "--by", "sex", "--labels-are-public")
        assert (code, words in err) == (2, True), err


@pytest.mark.parametrize(
    ("place", "words", "left", "made"),
    [
        ("sfumato.findings.groups.by_group", "nothing was released, and nothing was charged", "5 of 5", False),
        ("sfumato.mechanisms.paying.secure_generator", "but epsilon 4 is charged to study.ledger", "1 of 5", False),
        ("sfumato.findings.groups.Comparison.save", "is in c.json: do not release again", "1 of 5", True),
    ],
)
def test_ctrl_c_says_what_was_spent(sfumato, fish, tmp_path, monkeypatch, place, words, left, made):
    function = pkgutil.resolve_name(place)

    def interrupted(*arguments, **options):
        signal.raise_signal(signal.SIGINT)
        return function(*arguments, **options)

    sfumato("ledger", "init", "study.ledger", "--epsilon", "5")
    with monkeypatch.context() as patch:
        patch.setattr(place, interrupted)
        asked = [*COMPARE, "--by", "sex", "--labels-are-public", "--ledger", "study.ledger"]
        code, _, err = sfumato(*asked, "--out", "c.json", "--plot", "c.png")
    assert (code, words in err) == (130, True), err
    assert f"{left} is left" in sfumato("ledger", "show", "study.ledger")[1]
    assert ((tmp_path / "c.json").exists(), (tmp_path / "c.png").exists()) == (made, False)


def test_inspect_finds_what_went_wrong_at_the_digitiser(sfumato, fish, tmp_path):
    shapes, _ = fish
    shapes = shapes[:40].copy()
    clean = [*KNOWN[:2], "--radius", "0.3"]
    write_tps(tmp_path / "clean.tps", shapes, range(40))
    code, out, err = sfumato("inspect", "clean.tps", *clean)
    assert code == 0, err
    assert "none of 40 records lie outside the public ball" in out
    assert "no specimen looks mirrored, and none has its landmarks in another order" in out
    shapes[3] = np.roll(shapes[3], 3, axis=0)
    shapes[7, [1, 5]] = shapes[7, [5, 1]]
    shapes[11] *= [-1, 1]
    write_tps(tmp_path / "wrong.tps", shapes, [f"s{i}" for i in range(40)])
    before = sorted(tmp_path.iterdir())
    code, out, err = sfumato("inspect", "wrong.tps", *clean)
    assert code == 0, err
    said = dict(re.findall(r"^- record (\d+) \([^)]*\): (.*)$", out, re.M))
    assert sorted(said) == ["11", "3", "7"]
    assert "begin with landmark 4" in said["3"]
    assert "landmarks 2 and 6 may be swapped" in said["7"]
    assert "its mirror image is much closer" in said["11"]
    assert "Curator only: beside the public region" in out
    assert sorted(tmp_path.iterdir()) == before
    assert "outlier: record 3 (line" in out


# -- pictures and words ---------------------------------------------------------------------------------------------------
def test_the_region_of_the_population_is_drawn_as_it_is(fish):
    """Each landmark's ellipse is the image of the ball of radius q: points on its edge reach the ellipse, none leaves it."""
    shapes, _ = fish
    ball = sf.Ball(sf.PlanarShapes(landmarks=K), REFERENCE, radius=0.25)
    release = sf.private_mean(shapes, ball, epsilon=4.0, inference=0.1)
    found = Subject.of(release, 0.95).region
    assert found.fixed == release.region(0.95).chart_radius
    moves = found.moves(2).reshape(K, 2, -1)
    halves = np.linalg.svd(moves)[1][:, 0]
    u = np.random.default_rng(0).normal(size=(4000, len(found.w)))
    u *= found.fixed / np.linalg.norm(u, axis=1, keepdims=True)
    edge = found.values(u)
    inside = release.region(0.95).contains(found.values(0.999 * u))
    assert inside.all()
    off = np.linalg.norm(edge - found.values(np.zeros_like(found.w)), axis=2).max(axis=0)
    assert (off <= 1.05 * halves).all()
    assert (off >= 0.5 * halves).all()
    assert Subject.of(sf.private_mean(shapes, ball, epsilon=4.0, mechanism="tangent"), 0.95).region is None


def test_pictures_of_two_groups(fish, tmp_path):
    shapes, sex = fish
    rng = np.random.default_rng(0)
    directions = rng.normal(0, 0.1, (600, 3)) + [0.0, 0.0, 1.0] + 0.3 * (sex == "f")[:, None] * [1.0, 0, 0]
    spread = np.einsum("nij,nik->njk", *[rng.normal(size=(600, 20, 4))] * 2) / 20
    solid = np.concatenate([REFERENCE, np.cos(3 * ANGLES)[:, None]], axis=1)
    for points, region in (
        (shapes, sf.Ball(sf.PlanarShapes(landmarks=K), REFERENCE, 0.25)),
        (directions / np.linalg.norm(directions, axis=1, keepdims=True), sf.Ball(sf.Sphere(dim=2), [0, 0, 1.0], 0.5)),
        (spread, sf.Ball(sf.SPD(size=4), np.eye(4), 1.5)),
        (spread[:, :2, :2], sf.Ball(sf.SPD(size=2), np.eye(2), 1.5)),
        (solid + rng.normal(0, 0.05, (600, K, 3)), sf.Ball(sf.Shapes3D(landmarks=K), solid, 0.4)),
        (directions, sf.Ball(sf.Euclidean(dim=3), [0, 0, 1.0], 1.0)),
    ):
        found = sf.compare_groups(points, sex, region, epsilon=8.0)
        found.plot(tmp_path / "pair.svg")
        assert (tmp_path / "pair.svg").read_text().startswith("<?xml")
        drawn = found.plot()
        assert found.difference().words.split(" (")[0] in (tmp_path / "pair.svg").read_text()
        legend = " ".join(text.get_text() for text in drawn.findobj(lambda x: hasattr(x, "get_text")))
        assert "f" in legend.split(), region.space
    with pytest.raises(ValueError, match=r"\.png or \.svg"):
        found.plot(tmp_path / "pair.pdf")


def test_numbers_are_described_as_numbers(fish):
    shapes, _ = fish
    ball = sf.Ball(sf.PlanarShapes(landmarks=K), REFERENCE, radius=0.25)
    mean = sf.private_mean(shapes, ball, epsilon=4.0)
    variance = sf.private_variance(shapes, mean, epsilon=4.0)
    said = variance.describe()
    held = 2 * variance.ball.radius
    assert 0.0625 < held < 0.16
    assert (
        f"Squared distances from the released mean were first clipped to at most {held:.6g}, which is public." in said
    )
    assert "the mean squared distance from the released mean, in the population, lies within" in said
    assert "clipped records" not in said
    assert "Fréchet mean" not in said
    size = sf.private_size(shapes, 2.0, 8.0, epsilon=4.0)
    assert "Centroid sizes were first clipped to at least 2 and at most 8, which is public." in size.mean.describe()
    assert "the variance of centroid sizes, in the population, lies within" in size.variance.describe()
    group = sf.compare_groups(shapes, np.arange(600) % 2, ball, epsilon=4.0).groups["0"]
    assert "All of them together cost this epsilon" in group.describe()
    assert "All of them together" not in mean.describe()


def test_people_in_the_table_of_groups_are_asked_for_and_protected(sfumato, tmp_path):
    """The table beside the landmarks said whose they are, and nobody asked; nor could it be said."""
    rng = np.random.default_rng(0)
    template = np.array([[0, 0], [2, 0], [3, 1], [2, 2], [0, 2]])
    blocks = []
    for i, shape in enumerate((template + rng.normal(0, 0.03, (400, 5, 2))).tolist()):
        blocks += ["LM=5", *(f"{x!r} {y!r}" for x, y in shape), f"ID=s{i}"]
    (tmp_path / "fish.tps").write_text("\n".join(blocks) + "\n")
    rows = [f"s{i},{'fm'[i // 4 % 2]},{i // 4}{'.0' * (i % 2)}" for i in range(400)]
    (tmp_path / "about.csv").write_text("\n".join(["ID,sex,subject", *rows]) + "\n")
    (tmp_path / "center.tps").write_text("\n".join(["LM=5", *(f"{x} {y}" for x, y in template), "ID=c"]) + "\n")
    asked = ["compare", "fish.tps", "--labels", "about.csv", "--by", "sex", "--labels-are-public", "--epsilon", "4"]
    asked += ["--center", "center.tps", "--radius", "0.2"]
    code, _, err = sfumato(*asked)
    assert (code, "the column 'subject' has 100 values for 400 records" in err) == (2, True), err
    code, out, err = sfumato(*asked, "--unit-column", "subject")
    assert code == 0, err
    assert is_short(out, err)
    assert "Released the means of f (50), m (50); ε = 4 for all together protects one subject: all its records." in out
    assert {name: release.n for name, release in sf.Comparison.load("comparison.json").groups.items()} == {
        "f": 50,
        "m": 50,
    }


def test_a_centre_is_read_by_the_columns_of_the_records(sfumato, tmp_path):
    """In radians as they are, if that is what the columns are said to be."""
    rng = np.random.default_rng(0)
    places = np.column_stack([rng.normal(0.8, 0.02, 600), rng.normal(-1.2, 0.02, 600)])
    np.savetxt(tmp_path / "places.csv", places, delimiter=",", header="lat,lon", comments="")
    (tmp_path / "center.csv").write_text("lat,lon\n0.8,-1.2\n")
    asked = ["release", "places.csv", "--space", "sphere", "--columns", "lat_rad=lat,lon_rad=lon", "--out", "m.json"]
    code, _, err = sfumato(*asked, "--center", "center.csv", "--radius", "0.2", "--epsilon", "4", "--unit", "one place")
    assert (code, "none of 600 records lay outside" in err) == (0, True), err


# -- change with a number -----------------------------------------------------------------------------------------------
REGRESS = ["regress", "fish.tps", *KNOWN, "--epsilon", "4"]


@pytest.fixture
def growing(fish, tmp_path):
    """The fish again, whose first landmark moves with an age that stands in a table, and whose size grows with it."""
    shapes, sex = fish
    rng = np.random.default_rng(4)
    age = np.clip(rng.normal(5, 1.5, 600), 0, 10)
    shapes = REFERENCE + rng.normal(0, 0.02, (600, K, 2))
    shapes[:, 0] += np.outer(age - 5, [0.08, 0.0])
    names = [f"s{i:03d}" for i in range(600)]
    write_tps(tmp_path / "fish.tps", shapes * np.exp(0.1 * age)[:, None, None], names)
    rows = (f"{name};{a:.3f};{s}" for name, a, s in zip(names, age, sex, strict=True))
    (tmp_path / "ages.csv").write_text("\n".join(["ID;age;sex", *rows]))
    return age


def test_a_change_with_age_is_released_shown_and_reported(sfumato, growing, tmp_path):
    ledger = sf.Ledger.create(tmp_path / "study.ledger", 20, "fish")
    asked = [*REGRESS, "--labels", "ages.csv", "--ledger", "study.ledger", "--on", "age"]
    code, out, err = sfumato(*asked, "--limits", "0:10", "--plot", "age.png", "--report", "age.html")
    assert code == 0, err
    assert is_short(out, err)
    found = sf.Regression.load("regression.json")
    assert found.changes
    assert "The mean changes with age (p below 0.001)." in out
    assert found.limits == [0, 10]
    assert ledger.left == 16
    page = " ".join(html.unescape(re.sub(r"<[^>]*>", "", (tmp_path / "age.html").read_text())).split())
    for words in ("The mean changes with age", "test of no change", "Neighbours are data sets of the same size"):
        assert words in page
    assert (tmp_path / "age.png").stat().st_size > 1000
    code, out, err = sfumato(*asked, "--number-is-public", "--out", "known.json", "-v")
    assert code == 0, err
    assert "Age is public, and not protected" in out
    by = ["--by", "sex", "--labels-are-public", "--limits", "0:10", "--out", "sexes.json"]
    code, out, err = sfumato(*asked, *by)
    assert code == 0, err
    sexes = sf.Regressions.load("sexes.json")
    assert [*sexes.groups] == ["f", "m"]
    # by chance they differ in one run of twenty
    verdict = "differ" if sexes.difference("f", "m").differs else "may be the same"
    assert f"The slopes of f and m {verdict}" in out
    assert ledger.left == 8


def test_a_change_with_size_is_by_its_logarithm_and_shown_as_a_size(sfumato, growing):
    code, out, err = sfumato(*REGRESS, "--on", "size", "--limits", "2:20")
    assert code == 0, err
    found = sf.Regression.load("regression.json")
    assert found.covariate == "log centroid size"
    assert found.limits == pytest.approx(np.log([2, 20]))
    low, high = map(float, re.search(r"From ([\d.]+) to ([\d.]+) it moves", out).groups())
    assert 2 <= low < high <= 20
    assert np.log([low, high]) == pytest.approx(found.values, abs=0.01)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--on", "age"], "--on age: say between which numbers it surely lies, by public knowledge: --limits LOW:HIGH"),
        (["--on", "size", "--limits", "0:9"], "--limits 0:9: say two numbers, the smaller first, above 0 for sizes"),
        (["--on", "age", "--limits", "9-12"], "--limits 9-12: say two numbers, the smaller first, as 20:90"),
        (["--on", "weight", "--limits", "0:9", "--labels", "ages.csv"], "has no column 'weight'"),
        (["--on", "ID", "--limits", "0:9"], "record 0 (line 1; ID 's000'): ID is 's000', which is not a number"),
        (["--on", "size", "--limits", "2:20", "--by", "ID"], "is the ID of every person public knowledge?"),
        (
            ["--on", "size", "--limits", "2:20", "--epsilon", "0.3"],
            "only the test of no change, --test-only; or --even-if",
        ),
    ],
)
def test_regressions_that_cannot_be_made(sfumato, growing, options, words):
    code, _, err = sfumato(*REGRESS, *options)
    assert code == 2
    assert words in " ".join(err.split())


def test_a_variance_and_directions_follow_a_released_mean(sfumato, fish, tmp_path):
    sf.Ledger.create(tmp_path / "study.ledger", 20, "fish")
    paid = ["--ledger", "study.ledger", "--epsilon", "4"]
    assert sfumato("release", "fish.tps", *KNOWN, *paid)[0] == 0
    code, out, err = sfumato("variance", "fish.tps", "--about", "mean.json", *paid, "--report", "variance.html")
    assert code == 0, err
    assert is_short(out, err)
    mean, found = sf.Release.load("mean.json"), sf.Release.load("variance.json")
    assert found.scalar.reach > 0
    assert "Released the mean squared distance from a released mean" in out
    code, out, err = sfumato("components", "fish.tps", "--about", "mean.json", *paid, "--plot", "ways.png")
    assert code == 0, err
    assert is_short(out, err)
    ways = sf.Components.load("components.json")
    assert np.allclose(ways.center, mean.value)
    assert abs(ways.directions[0] @ ways.directions[0] - 1) < 1e-9
    assert sf.Ledger(tmp_path / "study.ledger").left == 8
    code, _, err = sfumato("variance", "fish.tps", "--about", "reference.tps", *paid, "--force")
    assert code == 2
    assert "this is not a release record" in err


def test_groups_are_compared_within_each_value_of_a_second_factor(sfumato, fish, tmp_path):
    rows = (tmp_path / "sexes.csv").read_text().splitlines()
    sited = [f"{row};{'site' if i == 0 else 'north' if i <= 200 else 'south'}" for i, row in enumerate(rows)]
    (tmp_path / "sexes.csv").write_text("\n".join(sited))
    asked = [*COMPARE, "--by", "sex", "--within", "site"]
    code, _, err = sfumato(*asked)
    assert code == 2
    assert "is the sex and site of every person public knowledge?" in err
    code, out, err = sfumato(*asked, "--labels-are-public", "--plot", "c.png", "--report", "c.html")
    assert code == 0, err
    found = sf.Comparison.load("comparison.json")
    sizes = {"f in north": 100, "f in south": 200, "m in north": 100, "m in south": 200}
    assert {name: release.n for name, release in found.groups.items()} == sizes
    assert "2 of 2 pairs differ, corrected for all" in out  # 0.4 apart; sites are not compared with each other
    code, _, err = sfumato(*asked[:-1], "place", "--labels-are-public", "--out", "d.json")
    assert (code, "has no column 'place'; it has: ID, sex, species, site" in err) == (2, True), err


# -- what is made of releases alone ---------------------------------------------------------------------------------------
@pytest.fixture
def studies(sfumato, fish):
    """Means of all fish, ε = 2, and of half of them, ε = 3, in one region."""
    shapes, _ = fish
    region = sf.Ball(sf.PlanarShapes(landmarks=K), REFERENCE, radius=0.25)
    for name, some, epsilon in (("a.json", shapes, 2.0), ("b.json", shapes[:300], 3.0)):
        sf.private_mean(some, region, epsilon, mechanism="tangent").save(name)
    return ["combine", "a.json", "b.json"]


def test_studies_are_combined_at_the_price_of_who_is_in_them(sfumato, studies, tmp_path):
    code, out, err = sfumato(*studies, "--people", "apart", "--plot", "ab.png", "--report", "ab.html")
    assert code == 0, err
    assert is_short(out, err)
    assert "Released the combined mean of 900 planar shapes of 8 landmarks; ε = 3 protects" in out
    assert "Written: combined.json, ab.png, ab.html" in out
    apart, mean = sf.Release.load("combined.json"), sf.Release.load("a.json")
    assert apart.noise(0.95) < mean.noise(0.95)
    assert apart.space.required.distance(apart.value, mean.value) < 0.05
    assert (tmp_path / "ab.png").stat().st_size > 1000
    assert "combined mean" in (tmp_path / "ab.html").read_text()
    code, out, err = sfumato(*studies, "--people", "both", "--weights", "n", "--out", "both.json")
    assert (code, "ε = 5 protects" in out) == (0, True), err
    shares = [study["share"] for study in sf.Release.load("both.json").mechanism.options["releases"]]
    assert sorted(shares) == pytest.approx([1 / 3, 2 / 3])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a.json", "b.json"], "Missing option '--people'"),
        (["a.json", "b.json", "--people", "some"], "if nobody is in two of the studies"),
        (["a.json", "b.json", "--people", "apart", "--weights", "size"], "weights are 'error' or 'n'"),
        (["a.json", "--people", "apart"], "needs two releases or more, each once"),
        (["a.json", "a.json", "--people", "apart"], "needs two releases or more, each once"),
        (["a.json", "fish.tps", "--people", "apart"], "fish.tps"),
        (["a.json", "b.json", "--people", "apart", "--out", "a.json", "--force"], "would replace a.json"),
        (["a.json", "b.json", "--people", "apart", "--plot", "ab.pdf"], "the ending must be .png or .svg"),
    ],
)
def test_studies_that_cannot_be_combined(sfumato, studies, tmp_path, arguments, words):
    code, _, err = sfumato("combine", *arguments)
    assert (code, words in err) == (2, True), err
    assert not (tmp_path / "combined.json").exists()


@pytest.fixture
def model(fish):
    """Components of the fish, of which the first, along which the sexes differ, is above the noise."""
    region = sf.Ball(sf.PlanarShapes(landmarks=K), REFERENCE, radius=0.25)
    made = sf.private_components(fish[0], region, 8.0)
    assert made.significant[0]  # 0.4 at one landmark, of a spread of 0.02
    made.save("components.json")
    return made


def test_specimens_are_made_up_of_released_components(sfumato, model, tmp_path):
    asked = ["synthesize", "components.json", "--n", "100"]
    (tmp_path / "fish.tps").unlink()  # which no specimen comes from
    code, out, err = sfumato(*asked, "--seed", "5", "--out", "made.tps", "--plot", "made.png", "--links", "outline")
    assert code == 0, err
    assert "Made up 100 specimens, marked as synthetic: seed 5 makes the same ones again." in out
    assert "Written: made.tps, made.png" in out
    assert (tmp_path / "made.png").stat().st_size > 1000
    data = sf.read("made.tps", sf.PlanarShapes(landmarks=K))
    assert data.points.shape == (100, K, 2)
    assert np.allclose(data.points, model.sample(100, seed=5).points)
    text = (tmp_path / "made.tps").read_text()
    assert text.count("synthetic: seed 5") == text.count("ID=synthetic ") == 100
    assert sfumato(*asked, "--seed", "5", "--out", "again.tps")[0] == 0
    assert sfumato(*asked, "--out", "other.tps")[0] == 0
    assert (tmp_path / "again.tps").read_text() == text != (tmp_path / "other.tps").read_text()
    code, _, err = sfumato(*asked, "--out", "made.tps")
    assert (code, "made.tps: exists already" in err) == (2, True), err
    assert (tmp_path / "made.tps").read_text() == text
    assert sfumato(*asked, "--seed", "6", "--out", "made.tps", "--force")[0] == 0
    assert (tmp_path / "made.tps").read_text() != text
    assert sfumato(*asked, "--out", "made.csv")[0] == 0
    assert set(sf.read("made.csv", sf.PlanarShapes(landmarks=K)).labels["synthetic"]) != set()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["components.json", "--n", "0"], "the number of specimens must be a whole number of at least 1, not 0"),
        (["components.json", "--seed", "-1"], "the seed must be a whole number of at least 0, not -1"),
        (["components.json", "--out", "made.npy"], "with no place for labels (ID, synthetic); write .csv or .rds"),
        (["components.json", "--links", "1-99"], "--links 1-99: write pairs of landmarks from 1 to 8"),
        (["components.json", "--plot", "components.json"], "the ending must be .png or .svg"),
        (["fish.tps"], "fish.tps"),
        (["weak.json"], "no synthetic specimens: no component is above the noise"),
    ],
)
def test_specimens_that_cannot_be_made_up(sfumato, model, fish, tmp_path, options, words):
    if options == ["weak.json"]:
        region = sf.Ball(sf.PlanarShapes(landmarks=K), REFERENCE, radius=0.25)
        sf.private_components(fish[0][:50], region, 0.05, allow_useless=True).save("weak.json")
    before = {path.name for path in tmp_path.iterdir()}
    code, _, err = sfumato("synthesize", *options)
    assert (code, words in err) == (2, True), err
    assert {path.name for path in tmp_path.iterdir()} == before


def test_matrices_that_are_made_up_go_to_a_table_and_have_no_picture(sfumato, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    logs = np.zeros((2000, 2, 2))
    logs[:, 0, 0] = rng.uniform(-1, 1, 2000)
    matrices = np.stack([np.diag(np.exp(np.diag(one))) for one in logs])
    sf.private_components(matrices, sf.Ball(sf.SPD(size=2), np.eye(2), 1.5), 8.0).save("m.json")
    code, _, err = sfumato("synthesize", "m.json", "--plot", "m.png")
    assert (code, "specimens are drawn by their landmarks, and these are matrices" in err) == (2, True), err
    code, out, err = sfumato("synthesize", "m.json", "--n", "7")
    assert (code, "Written: synthetic.csv" in out) == (0, True), err
    assert len(sf.read("synthetic.csv", sf.SPD(size=2))) == 7
