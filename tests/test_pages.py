"""The pages of the documentation: code and commands as a reader types them, and names that tie them to the package."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.app import demo

DOCS = Path(__file__).parents[1] / "docs"
SRC = Path(sf.__file__).parent


def run(page, sfumato):
    """Run the Python and the commands of a page in their order; return its text, the names and the number of commands."""
    text = (DOCS / page).read_text(encoding="utf-8")
    names = {}
    commands = 0
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S):
        if language == "python":
            exec(block, names)
        for command in block.replace("\\\n", " ").splitlines():
            if sfumato and not language and command.startswith("sfumato "):
                code, _, err = sfumato(*shlex.split(command)[1:])
                assert code == 0, (command, err)
                commands += 1
    return text, names, commands


def test_findings(sfumato):
    text, names, _ = run("findings.md", sfumato)
    quoted = re.search(r"within (0\.\d+) of the released mean \(n = 800", text)[1]
    assert names["release"].region(0.95).radius == pytest.approx(float(quoted), rel=0.3)  # noise moves it a little
    quoted = re.search(r"1\. variance (0\.\d+) ", text)[1]
    assert names["components"].variances[0] == pytest.approx(float(quoted), rel=0.3)
    assert names["components"].significant[0]


def test_incomplete_specimens_and_semilandmarks(sfumato):
    text, names, commands = run("landmarks.md", sfumato)
    assert commands == 1
    quoted = re.search(r"^> (estimates are off .*)$", text, re.M)[1]
    off, vary = (float(np.median(names[name])) for name in ("off", "vary"))
    assert quoted == f"estimates are off by {off:.1f}, landmarks vary by {vary:.1f}"


def test_synthetic_specimens(sfumato, tmp_path):
    _, names, commands = run("synthetic.md", sfumato)
    assert commands == 1
    assert len(names["again"]) == 100
    assert np.array_equal(names["again"].points, names["made"].points)
    assert {path.name for path in tmp_path.iterdir()} >= {"fish.json", "made.tps", "made.png"}


def test_files(sfumato, tmp_path):
    _, names, commands = run("files.md", sfumato)
    assert commands == 2
    assert np.allclose(names["same"][0], names["data"].points[0], atol=1e-12)
    assert names["release"].gain > 1
    assert sf.read("mean.tps").points.shape == (1, 72, 2)
    assert (tmp_path / "mean.png").exists()


def test_large_data(sfumato):
    np.save("directions.npy", np.eye(3)[np.full(2000, 2)])
    assert run("scale.md", None)[1]["release"].value @ [0, 0, 1] > 0.99


def test_groups(sfumato, tmp_path):
    _, names, commands = run("groups.md", sfumato)
    assert commands == 1
    assert {path.name for path in tmp_path.iterdir()} >= {"sexes.html", "again.png", "sexes.png"}
    assert names["found"].difference().differs
    assert names["sites"].omnibus < 0.001
    assert len(names["sites"].groups) == 12
    assert names["sites"].differences[0].differs
    assert len(names["both"].pairs) == 3
    assert sf.Comparison.load("sexes.json").difference().differs


def test_regression(sfumato, tmp_path):
    text, names, _ = run("regression.md", sfumato)
    assert (tmp_path / "size.png").exists()
    found = names["found"]
    assert "p below 0.001" in text
    assert found.p_value < 0.01
    assert found.p_along < 0.01
    space = names["region"].space
    assert space.dim == 6
    assert found.region(at=np.log(50)).radius < 0.06
    assert names["test"].slope is None
    assert names["both"].difference().differs


def test_an_unknown_region(sfumato, tmp_path):
    assert run("unknown-region.md", sfumato)[2] == 2
    assert {path.name for path in tmp_path.iterdir()} >= {"heading.json", "heading.png"}


def test_several_sites(sfumato):
    text, names, commands = run("several-sites.md", sfumato)
    assert commands == 1
    assert np.array_equal(sf.Release.load("combined.json").value, names["mean"].value)
    space, mean = names["space"], names["mean"]
    every = sf.frechet_mean(space, [one for site in names["sites"] for one in site]).point
    assert space.distance(*space.validate([mean.value, every])) < 3 * mean.error(0.95)
    alone = [f"{one.error(0.95):.2g}" for one in names["done"]]
    assert f"it lies within {mean.error(0.95):.2g} of the weighted mean" in text
    assert f"the sites alone have {alone[0]} and\n{alone[2]}," in text
    one = sf.plan(names["region"], n=1000, epsilon=1.0, mechanism="tangent", inference=0.1)[0]
    assert f"would have {one.error_95:.2g}:" in text
    assert sf.Release.load("all-sites.json").sha256 == mean.sha256
    assert sf.load_region("region.json") == names["again"]


def test_the_page_about_r_is_what_make_test_r_runs():
    blocks = re.findall(r"^```r\n(.*?)^```", (DOCS / "r.md").read_text(encoding="utf-8"), re.M | re.S)
    assert blocks == [(DOCS / "r.R").read_text(encoding="utf-8")]
    room = Path(__file__).parents[1] / "r"
    files = [path for path in room.rglob("*") if path.is_file()]
    assert sum(path.read_text(encoding="utf-8").count("\n") for path in files) <= 600
    assert "seed" not in (room / "R" / "sfumato.R").read_text(encoding="utf-8")


def test_one_mean_of_several_sites(sfumato, tmp_path):
    pytest.importorskip("cryptography")
    text, names, _ = run("sites.md", None)
    release = names["release"]
    assert release.mechanism.options["sites"] == {"Lisbon": 300, "Oslo": 250, "Rome": 400}
    assert release.region(0.95).radius < 0.02
    true = np.diag([0.09, 0.0225, 0.0036])
    assert np.abs(names["second_moment"] - true).max() < 0.02
    assert {path.name for path in tmp_path.iterdir()} >= {"study.json", "Lisbon.part", "Oslo.key", "Rome.pub"}
    for command in re.findall(r"^sfumato (site \w+ .*)$", text.replace("\\\n", " "), re.M):
        _, out, _ = sfumato(*command.split()[:2], "--help")
        assert all(option in out for option in re.findall(r"(--[a-z]+)", command)), command


def test_pages_about_wings(sfumato, tmp_path):
    """One after the other, where the demo has written its wings: no page takes a name that is taken."""
    demo.run_wings(tmp_path, 1.0)
    assert [run(page, sfumato)[2] for page in ("index.md", "your-data.md", "budgets.md")] == [1, 4, 4]


def test_the_numbers_of_the_demo_are_those_below_the_picture_and_in_the_paragraph_for_a_paper(sfumato):
    private, public = demo.plates(demo.heads())
    region = sf.Ellipsoid.from_sample(sf.PlanarShapes(landmarks=88), public, relation="same")
    row = sf.plan(region, n=len(private), epsilon=1.0)[0]
    release = sf.private_mean(private, region, epsilon=1.0, unit="one trilobite")
    release.save("demo.json")
    said = " ".join(run("in-a-paper.md", sfumato)[0].replace("\n>", "").split())
    chart = release.record["chart"]
    axes = f"in {row.directions} of {row.directions + chart['frozen']} directions, with semi-axes from"
    assert f"{axes} {chart['axes'][-1]:.2f} to {chart['axes'][0]:.2f}" in said
    assert f"lies within {row.error_95:.2g} of the mean of the records" in said
    assert f"the noise ({row.noise_95:.2g} alone)" in said
    assert f"expected to be {row.to_beat:.2g} from that mean; the release is {row.gain:.2g} times nearer" in said
    assert release.guarantee.numerical_delta == pytest.approx(4e-11, rel=0.1)
    (caption,) = re.findall(
        r"\*The mean of 265 [^*]*\*", " ".join((DOCS / "index.md").read_text(encoding="utf-8").split())
    )
    assert f"within {row.error_95:.2g} of the release" in caption
    assert f"expected to be {row.gain:.2g} times nearer" in caption
    assert "Serra et al. 2023" in caption


def test_every_result_that_the_package_names_has_its_proof():
    named = re.findall(
        r"\bResults? ((?:\d+[a-z]?(?:, | and | to )?)+)", " ".join(path.read_text() for path in SRC.rglob("*.py"))
    )
    results = {f"result-{one}" for some in named for one in re.findall(r"\d+[a-z]?", some)}
    assert len(results) > 10
    assert results <= {path.stem for path in (DOCS / "proofs").glob("*.md")}


def test_every_test_that_a_proof_names_is_there():
    tests = {path.stem: path.read_text(encoding="utf-8") for path in Path(__file__).parent.rglob("test_*.py")}
    for page in (DOCS / "proofs").glob("*.md"):
        file = ""
        for home, test in re.findall(r"`(?:(test_\w+)::)?(test_\w+)`", page.read_text(encoding="utf-8")):
            file = home or file
            assert test in tests or f"def {test}(" in tests[file], (page.name, file, test)
