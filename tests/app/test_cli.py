"""The command line, as a new user types it."""

import json
import os
import pkgutil
import re
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from conftest import CHOSEN, is_short
from sfumato.app import cli
from sfumato.findings.session import Session
from sfumato.views.words import powers


@pytest.fixture
def wings(tmp_path):
    """A landmark file and a public reference."""
    rng = np.random.default_rng(5)
    reference = rng.normal(size=(6, 2))
    records = reference + rng.normal(0, 0.03, (40, 6, 2))
    for name, shapes in (("wings.tps", records), ("reference.tps", reference[None])):
        text = "".join("LM=6\n" + "".join(f"{x} {y}\n" for x, y in s) + f"ID={i}\n" for i, s in enumerate(shapes))
        (tmp_path / name).write_text(text)
    return [
        "release",
        "wings.tps",
        "--space",
        "shapes",
        "--center",
        "reference.tps",
        "--radius",
        "0.15",
        "--epsilon",
        "1",
    ]


def test_release_writes_what_was_asked_for(sfumato, wings, tmp_path):
    code, out, _ = sfumato(
        *wings, "--out", "mean.json", "--value", "mean.tps", "--plot", "mean.png", "--report", "mean.html", "-v"
    )
    assert code == 0
    assert "1-differentially private" in out
    release = sf.Release.load("mean.json")
    assert np.array_equal(sf.read("mean.tps").points[0], release.value)
    assert (tmp_path / "mean.png").read_bytes()[:4] == b"\x89PNG"
    assert "<html" in (tmp_path / "mean.html").read_text()[:200]
    left = {p.name for p in tmp_path.iterdir()}
    assert left == {"wings.tps", "reference.tps", "mean.json", "mean.tps", "mean.png", "mean.html"}


def test_release_for_machines(sfumato, wings):
    code, out, _ = sfumato(*wings, "--out", "mean.json", "--json", "--mechanism", "kng")
    assert code == 0
    assert json.loads(out)["mechanism"]["name"] == "kng"


def test_units_count_people(sfumato, wings, tmp_path):
    text = re.sub(r"ID=[0-9]*([0-9])\n", r"ID=\1\n", (tmp_path / "wings.tps").read_text())
    (tmp_path / "wings.tps").write_text(text)
    assert sfumato(*wings, "--out", "mean.json", "--unit-column", "ID", "--even-if-useless")[0] == 0
    record = sf.Release.load("mean.json").record
    assert record["n"] == 10
    code, _, err = sfumato(*wings, "--out", "other.json", "--unit-column", "name")
    assert code == 2
    assert "no column 'name'; columns beside the points: ID" in err


def test_budget_is_kept_and_refused_with_3(sfumato, wings, tmp_path):
    assert sfumato("ledger", "init", "study.ledger", "--epsilon", "2", "--dataset", "wings")[0] == 0
    codes = [
        sfumato(*wings, "--out", f"{i}.json", "--ledger", "study.ledger", "--dataset", "wings")[0] for i in range(3)
    ]
    assert codes == [0, 0, 3]
    assert not (tmp_path / "2.json").exists()
    code, out, _ = sfumato("ledger", "show", "study.ledger")
    assert code == 0
    assert "0 of 2 is left" in out
    assert sfumato("ledger", "log", "study.ledger")[1].count(" charge 1 ") == 2
    assert "all intact" in sfumato("ledger", "verify", "study.ledger")[1]
    assert json.loads(sfumato("ledger", "show", "study.ledger", "--json")[1]) == {"wings": {"budget": "2", "left": "0"}}
    code, _, err = sfumato(*wings, "--out", "3.json", "--ledger", "study.ledgre")
    assert code == 2  # a typo does not make a fresh budget
    assert "study.ledgre" in err


def test_processes_that_race_never_overspend(sfumato, wings, tmp_path):
    sfumato("ledger", "init", "study.ledger", "--epsilon", "2")
    command = [sys.executable, "-m", "sfumato.app.cli", *wings, "--ledger", "study.ledger", "--even-if-useless"]
    racers = [
        subprocess.Popen(
            [*command, "--out", f"{i}.json"], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for i in range(4)
    ]
    assert sorted(r.wait() for r in racers) == [0, 0, 3, 3]
    assert len(list(tmp_path.glob("?.json"))) == 2
    assert "all intact" in sfumato("ledger", "verify", "study.ledger")[1]


def test_bad_input_ends_with_a_sentence_and_2(sfumato, wings, tmp_path):
    broken = (tmp_path / "wings.tps").read_text().replace("LM=6\n", "LM=6\nnan nan\n", 1)
    (tmp_path / "short.tps").write_text(broken)
    (tmp_path / "others.tps").write_bytes((tmp_path / "wings.tps").read_bytes())
    lines = (tmp_path / "wings.tps").read_text().splitlines()
    lines[9:15] = ["1 1"] * 6
    (tmp_path / "point.tps").write_text("\n".join(lines) + "\n")
    rest = wings[2:]
    for arguments, words in [
        (["release", "missing.tps", *rest, "--out", "m.json"], "missing.tps"),
        ([*wings[:5], "none.tps", *wings[6:], "--out", "m.json"], "--center none.tps: there is no such file; give"),
        (["release", "short.tps", *rest, "--out", "m.json"], "short.tps: line"),
        (["release", "point.tps", *rest, "--out", "m.json"], "point.tps: record 1 (line 9; ID '1'): has no shape"),
        ([*wings, "--out", "nowhere/m.json"], "there is no folder nowhere"),
        ([*wings[:-1], "0", "--out", "m.json"], "epsilon must be a positive number"),
        ([*wings, "--out", "m.json", "--mechanism", "gauss"], "known: auto, kng"),
        (["release", "wings.tps", "--space", "spd", *wings[4:], "--out", "m.json"], "SPD needs matrices"),
        (
            [*wings[:4], "--center", "others.tps", *wings[6:], "--out", "m.json"],
            "a single public record, but the file holds 40",
        ),
    ]:
        code, _, err = sfumato(*arguments)
        assert code == 2, arguments
        assert words in err
        assert "Traceback" not in err
        assert not (tmp_path / "m.json").exists()
    assert sfumato("release", "point.tps", *rest, "--out", "m.json", "--invalid", "center")[0] == 0


def test_too_large_a_radius_says_the_largest(sfumato, wings):
    wings[7] = "0.9"
    code, _, err = sfumato(*wings, "--out", "m.json")
    assert code == 2
    assert err.startswith("sfumato: the radius may be at most 0.74 here, not 0.9; 0.1 to 0.2 is usual for shapes")
    wings[7] = "0.4"
    assert "the radius may be at most 0.39 here, not 0.4" in sfumato(*wings, "--out", "m.json", "--mechanism", "kng")[2]
    wings[7] = "0.39"
    assert "the radius may be" not in sfumato(*wings, "--out", "m.json", "--mechanism", "kng")[2]


def test_directions_matrices_and_vectors_are_read_too(sfumato, tmp_path):
    rng = np.random.default_rng(1)
    (tmp_path / "quakes.csv").write_text(
        "lat,lon\n" + "".join(f"{a},{b}\n" for a, b in rng.normal([50, 10], 3, (50, 2)))
    )
    (tmp_path / "center.csv").write_text("lat,lon\n50,10\n")
    np.save(tmp_path / "eeg.npy", 1e-28 * np.array([np.cov(rng.normal(size=(3, 50))) for _ in range(40)]))
    np.save(tmp_path / "unit.npy", 1e-28 * np.eye(3)[None])
    np.savetxt(tmp_path / "plain.csv", rng.normal(0, 0.1, (30, 2)), delimiter=",", header="a,b", comments="")
    for arguments in (
        ("quakes.csv", "--space", "sphere", "--center", "center.csv", "--radius", "0.3"),
        ("eeg.npy", "--space", "spd", "--center", "unit.npy", "--radius", "2"),
        ("plain.csv", "--space", "euclidean", "--center", "origin", "--radius", "1"),
    ):
        code, out, err = sfumato("release", *arguments, "--epsilon", "1", "--out", "m.json", "--force")
        assert code == 0, err
        assert is_short(out, err)
        assert out.startswith("Released the mean of ")


def test_plan_touches_no_data(sfumato):
    shapes = ("--space", "shapes", "--landmarks", "50", "--n", "409", "--radius", "0.125")
    code, out, _ = sfumato("plan", *shapes, "--epsilon", "1")
    assert code == 0
    assert "auto takes this one" in out
    assert "For a 95% error of 0.0346: ε = 2.01 with 409 records, or 818 records with ε = 1." in out
    rest = ("--n", "50", "--radius", "1", "--epsilon", "1")
    plan = json.loads(sfumato("plan", "--space", "sphere", *rest, "--json", "--error", "0.1")[1])
    assert plan["wanted"]["error_95"] == 0.1
    assert [m["mechanism"] for m in plan["mechanisms"] if m["refusal"]] == ["kng", "exponential"]
    assert sfumato("plan", "--space", "spd", *rest)[2] == "sfumato: --space spd needs --size\n"


def test_plan_draws_curves_and_a_simulated_release(sfumato, tmp_path):
    arguments = ("plan", "--space", "sphere", "--n", "60", "--radius", "0.5", "--epsilon", "1")
    assert sfumato(*arguments, "--plot", "plan.png", "--simulate", "such.png")[0] == 0
    for name in ("plan.png", "such.png"):
        assert (tmp_path / name).read_bytes()[:4] == b"\x89PNG"


def test_inspect_says_what_a_file_holds(sfumato, wings, tmp_path):
    code, out, _ = sfumato("inspect", "wings.tps")
    assert code == 0
    assert out.startswith("For the curator's eyes: not private.")
    assert "40 records of 6 landmarks\n" in out
    assert "--unit-column" not in out
    np.save(tmp_path / "m.npy", np.array([np.eye(3), -np.eye(3), np.eye(3)]))
    found = json.loads(sfumato("inspect", "m.npy", "--json")[1])
    assert list(found["bad"]) == ["1"]
    assert found["exact_copies"] == 1


def test_curves_are_resampled_alike_in_records_and_public_files(sfumato, tmp_path):
    rng = np.random.default_rng(11)

    def written(name, sizes):
        def lines(points):
            return "".join(f"{x} {y}\n" for x, y in (points + rng.normal(0, 0.01, np.shape(points))).tolist())

        marks = np.array([[0.0, 0], [1, 0], [0, 1]])
        arcs = [np.column_stack([np.linspace(1, 2, m), np.linspace(0, 1, m) ** 2]) for m in sizes]
        text = "".join(f"LM=3\n{lines(marks)}CURVES=1\nPOINTS={len(arc)}\n{lines(arc)}" for arc in arcs)
        (tmp_path / name).write_text(text)

    written("records.tps", rng.integers(8, 14, 60))
    written("public.tps", range(8, 28))
    written("center.tps", [9])
    code, _, err = sfumato("inspect", "records.tps")
    assert code == 2
    assert "--curves drop" in err
    assert "--curves 20" in err
    code, out, _ = sfumato("inspect", "records.tps", "--curves", "5")
    assert code == 0
    assert "60 records of 8 landmarks\n" in out
    assert "then 1 curves and outlines, each resampled to 5 points" in out
    assert "60 records of 3 landmarks\n" in sfumato("inspect", "records.tps", "--curves", "drop")[1]
    for known in (["--public", "public.tps"], ["--center", "center.tps", "--radius", "0.2"]):
        code, _, err = sfumato("release", "records.tps", *known, "--epsilon", "50", "--curves", "5", "--force")
        assert code == 0, err
        assert np.shape(json.loads((tmp_path / "mean.json").read_text())["value"]) == (8, 2)
        assert sfumato("plan", *known, "--n", "60", "--epsilon", "50", "--curves", "5")[0] == 0
        assert "--curves" in sfumato("plan", "--public", "public.tps", "--n", "60", "--epsilon", "50")[2]
    assert "curves must be 'keep', 'drop' or a number" in sfumato("inspect", "records.tps", "--curves", "few")[2]


def test_landmarks_in_another_order_than_the_records_are_refused(sfumato, tmp_path):
    rng = np.random.default_rng(4)
    names = ["nasion", "bregma", "lambda", "inion"]

    def written(name, order, n):
        rows = [
            f"s{i},{mark},{x},{y}\n"
            for i in range(n)
            for mark, (x, y) in zip(order, rng.normal(size=(4, 2)).tolist(), strict=True)
        ]
        (tmp_path / name).write_text("specimen,landmark,x,y\n" + "".join(rows))

    written("records.csv", names, 20)
    written("public.csv", names[::-1], 9)
    written("center.csv", names[::-1], 1)
    for known in (["--public", "public.csv"], ["--center", "center.csv", "--radius", "0.3"]):
        code, _, err = sfumato("release", "records.csv", *known, "--epsilon", "1")
        assert code == 2
        assert "has landmark 'inion' where the records have 'nasion'; put its landmarks in their order" in err


def test_every_command_has_help_with_an_example(sfumato):
    for command in (
        ["release"],
        ["plan"],
        ["inspect"],
        ["spaces"],
        ["demo"],
        ["reproduce"],
        ["ledger", "init"],
        ["ledger", "show"],
    ):
        code, out, _ = sfumato(*command, "--help")
        assert code == 0
        assert f"Example: sfumato {' '.join(command)}" in out


def test_the_help_a_command_and_the_documentation_name_every_space(sfumato, pytestconfig):
    from sfumato.spaces import SPACES

    page = (pytestconfig.rootpath / "docs" / "spaces.md").read_text(encoding="utf-8")
    assert [name for name in CHOSEN if not re.search(rf"^\| .*`{name}[`(]", page, re.MULTILINE)] == []

    code, listing, _ = sfumato("spaces")
    assert code == 0
    for command in ("release", "compare", "plan", "inspect", "audit"):
        out = sfumato(command, "--help")[1]
        for name in SPACES:
            assert re.search(rf"Names for --space: [^.]*\b{name}\b", out), (command, name)
    for name in SPACES:
        assert re.search(rf"^  {name}\(.*\)\n      [A-Z\w]", listing, re.MULTILINE), name


def test_a_terminal_gets_colours_tables_and_a_bar(sfumato, wings, monkeypatch):
    """And what is piped has none of them."""
    commands = (["ledger", "init", "study.ledger", "--epsilon", "2"], ["ledger", "show", "study.ledger"], ["spaces"])
    commands += (["plan", "--space", "sphere", "--radius", "1", "--n", "50", "--epsilon", "1"], ["release", "--help"])
    piped = [sfumato(*command)[1] for command in commands][1:]
    assert "\x1b" not in "".join([*piped, *sfumato(*wings)[1:]])
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    seen = [sfumato(*command)[1] for command in commands[1:]]
    for words in seen:
        assert "\x1b[" in words
    assert ["─" in words for words in seen] == [True, True, True, False]
    code, _, err = sfumato(*wings, "--out", "again.json")
    assert (code, "reading wings.tps" in err) == (0, True)


def test_debug_shows_the_traceback(sfumato, wings):
    with pytest.raises(FileNotFoundError):
        sfumato("--debug", "release", "missing.tps", *wings[2:], "--out", "m.json")
    with pytest.raises(FileNotFoundError):
        sfumato("release", "missing.tps", *wings[2:], "--out", "m.json", "--debug")


def test_what_exists_is_replaced_only_with_force(sfumato, wings, tmp_path):
    sfumato("ledger", "init", "study.ledger", "--epsilon", "2")
    paid = (*wings, "--ledger", "study.ledger")
    for name in ("m.json", "m.html", "m.csv", "picture.png"):
        (tmp_path / name).write_text("mine")
    for outputs in (
        ["--out", "m.json"],
        ["--out", "n.json", "--report", "m.html"],
        ["--out", "n.json", "--value", "m.csv"],
        ["--out", "n.json", "--report", "picture.md"],  # whose picture would be picture.png
    ):
        code, _, err = sfumato(*paid, *outputs)
        assert (code, "exists already; choose another name, or give --force" in err) == (2, True), err
    assert "2 of 2 is left" in sfumato("ledger", "show", "study.ledger")[1]
    assert (tmp_path / "m.json").read_text() == "mine"
    assert not (tmp_path / "n.json").exists()
    assert sfumato(*paid, "--out", "m.json", "--force")[0] == 0
    assert sf.Release.load("m.json").record["n"] == 40


def test_a_file_that_appears_meanwhile_is_kept(sfumato, wings, tmp_path, monkeypatch):
    private_mean = sf.private_mean

    def slow(*arguments, **options):
        (tmp_path / "m.json").write_text("another process was here")
        return private_mean(*arguments, **options)

    monkeypatch.setattr("sfumato.findings.session.private_mean", slow)
    code, out, err = sfumato(*wings, "--out", "m.json")
    assert (code, "the release is printed above: keep it" in err) == (2, True)
    assert sf.Release.from_json(out).record["n"] == 40
    assert (tmp_path / "m.json").read_text() == "another process was here"


def test_a_wrong_ledger_is_named_calmly(sfumato, wings, tmp_path):
    import sqlite3

    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE birds (name TEXT)")
    other.close()
    for name, words in (
        ("wings.tps", "is not a ledger but some other file: check the name"),
        ("other.db", "is another database, not a ledger: check the name"),
        ("none.ledger", "make one: sfumato ledger init"),
    ):
        code, _, err = sfumato("ledger", "show", name)
        assert (code, words in err, "treat it as spent" in err) == (2, True, False), err
    sfumato("ledger", "init", "study.ledger", "--epsilon", "2")
    content = (tmp_path / "study.ledger").read_bytes()
    (tmp_path / "study.ledger").write_bytes(bytes(16) + content[16:])
    assert "or treat it as spent" in sfumato("ledger", "show", "study.ledger")[2]


@pytest.mark.parametrize("space", ["shapes", "sphere", "spd"])
def test_predicted_errors_cover_real_ones(space):
    """`plan` promises 95%; releases of data unlike its worst case may only do better."""
    made = {"shapes": sf.PlanarShapes(5), "sphere": sf.Sphere(2), "spd": sf.SPD(2)}[space]
    rng = np.random.default_rng(3)
    ball = sf.Ball(made, made.present(made.origin()), 0.3)
    directions = made.random_directions(ball.center, 60, rng)
    points = made.exp(ball.center, directions * (0.3 * rng.random(60)).reshape(-1, *(1,) * len(made.point_shape)))
    row = sf.plan(made, 0.3, 60, 1.0)[0]
    mechanism = {"kng": sf.KNG, "laplace": sf.ManifoldLaplace, "staircase": sf.ManifoldStaircase}[row.mechanism](
        ball, 1.0
    )
    mean = made.validate(sf.frechet_mean(made, made.present(points)).point[None])[0]
    errors = made.distance(mean, made.validate(mechanism.sample(made.present(points), 4000, rng)))
    assert 0.93 <= np.mean(errors <= row.error_95) <= 1


def test_outputs_are_checked_before_anything_is_spent(sfumato, wings, tmp_path):
    sfumato("ledger", "init", "study.ledger", "--epsilon", "2")
    (tmp_path / "folder.json").mkdir()
    paid = ("--ledger", "study.ledger")
    for arguments, words in [
        (["--out", "folder.json"], "is not a regular file"),
        (["--out", "wings.tps"], "would replace wings.tps"),
        (["--out", "reference.tps"], "would replace reference.tps"),
        (["--out", "study.ledger"], "would replace study.ledger"),
        (["--out", "m.html", "--report", "m.html"], "would replace --out m.html"),
        (["--out", "m.json", "--plot", "m.jpg"], "the ending must be .png or .svg"),
        (["--out", "m.json", "--report", "m.txt"], "the ending must be .html or .md"),
    ]:
        code, _, err = sfumato(*wings, *arguments, *paid)
        assert (code, words in err) == (2, True), err
    assert "2 of 2 is left" in sfumato("ledger", "show", "study.ledger")[1]
    assert sf.read("wings.tps").points.shape == (40, 6, 2)
    code, _, err = sfumato(*wings, "--out", "m.json", "--dataset", "wings")
    assert code == 2
    assert "give --ledger too" in err
    code, _, err = sfumato(*wings[:-1], "nan", "--out", "m.json", *paid)
    assert code == 2
    assert "epsilon must be a positive number" in err


def test_a_paid_release_is_never_lost(sfumato, wings, tmp_path, monkeypatch):
    def full(self, path, overwrite):
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(sf.Release, "save", full)
        code, out, err = sfumato(*wings, "--out", "m.json")
    assert code == 2
    assert "the release is printed above: keep it" in err
    assert sf.Release.from_json(out).record["n"] == 40
    monkeypatch.setattr(
        "sfumato.views.outputs.write_picture", lambda *a, **k: (_ for _ in ()).throw(OSError(28, "No space left"))
    )
    code, _, err = sfumato(*wings, "--out", "m.json", "--plot", "m.png")
    assert code == 2
    assert "the release is made and is in m.json; do not release again" in err
    assert sf.Release.load("m.json").record["n"] == 40


def test_a_record_without_a_unit_is_refused(sfumato, tmp_path):
    rows = "".join(f"{who},{x},{y}\n" for who, x, y in [("a", 0.1, 0.2), ("", 0.3, 0.1), ("b", 0.2, 0.2)])
    (tmp_path / "people.csv").write_text("who,x,y\n" + rows)
    arguments = ("--space", "euclidean", "--center", "origin", "--radius", "1", "--epsilon", "1", "--out", "m.json")
    code, _, err = sfumato("release", "people.csv", *arguments, "--unit-column", "who")
    assert code == 2
    assert "1 of 3 records have no unit, the first being record 1" in err


def test_a_latitude_out_of_range_is_named(sfumato, tmp_path):
    (tmp_path / "quakes.csv").write_text("lat,lon\n50,10\n95,10\n51,11\n")
    code, _, err = sfumato("inspect", "quakes.csv", "--space", "sphere")
    assert code == 2
    assert "quakes.csv" in err
    assert "95" in err


def quakes(n=60):
    return "lat,lon,mag\n" + "".join(f"{40 + i % 7},{-120 - i % 30},{4 + i % 3}\n" for i in range(n))


def test_degrees_go_in_and_come_out(sfumato, tmp_path):
    """Named columns win over three numbers in a row; what was taken is said, and the value is in degrees too."""
    (tmp_path / "quakes.csv").write_text(quakes())
    (tmp_path / "center.csv").write_text("lat,lon\n43,-130\n")
    sfumato("ledger", "init", "study.ledger", "--epsilon", "40")
    arguments = ("--space", "sphere", "--center", "center.csv", "--radius", "0.5", "--epsilon", "20", "--out", "m.json")
    code, out, err = sfumato("release", "quakes.csv", *arguments, "--report", "m.md", "--ledger", "study.ledger", "-v")
    assert code == 0, err
    assert "Curator only: the points are the columns lat, lon, in degrees." in err
    release = sf.Release.load("m.json")
    degrees = release.record["degrees"]
    assert release.sha256 in sfumato("ledger", "log", "study.ledger", "--json")[1]  # the whole record, degrees and all
    assert abs(degrees["lat"] - 43) < 10
    assert abs(degrees["lon"] + 134) < 15
    assert f"The value in degrees: lat {degrees['lat']:.6g}, lon {degrees['lon']:.6g}." in out
    assert f"In degrees, computed from this value: lat {degrees['lat']:.6g}" in (tmp_path / "m.md").read_text()
    assert "the points are the columns lat, lon" not in (tmp_path / "m.json").read_text()
    code, _, _ = sfumato(
        "release", "quakes.csv", *arguments[:-1], "n.json", "--columns", "lon=lat,lat=mag", "--unit", "one record"
    )
    assert code == 0
    code, out, _ = sfumato("inspect", "quakes.csv")
    assert "The points are the columns lat, lon, in degrees, as for Sphere(dim=2" in out


def test_inspect_takes_what_it_advises(sfumato, tmp_path):
    rng = np.random.default_rng(5)
    flat = rng.normal(size=(6, 10))
    np.savetxt(tmp_path / "flat.csv", flat, delimiter=",", header=",".join("abcdefghij"), comments="")
    code, _, err = sfumato("inspect", "flat.csv", "--space", "shapes")
    assert (code, "say how many landmarks a record has, as --landmarks 5" in err) == (2, True), err
    code, out, _ = sfumato("inspect", "flat.csv", "--space", "shapes", "--landmarks", "5")
    assert (code, "the columns a, b, c, d, e, f, g, h, i, j, rows x1, y1, x2, y2, …" in out) == (0, True), out
    np.savez(tmp_path / "two.npz", left=flat.reshape(6, 5, 2), right=flat.reshape(6, 5, 2) + 1)
    code, _, err = sfumato("inspect", "two.npz")
    assert (code, "say which, as --array left" in err) == (2, True), err
    assert "the array 'right' (6, 5, 2)" in sfumato("inspect", "two.npz", "--array", "right")[1]
    last = rng.normal(size=(5, 3, 20))
    np.save(tmp_path / "last.npy", last)
    np.save(tmp_path / "one.npy", np.moveaxis(last, 2, 0)[:1])
    ball = ("--center", "one.npy", "--radius", "0.5", "--epsilon", "1", "--even-if-useless")
    code, _, err = sfumato("release", "last.npy", *ball)
    assert (code, "say how many landmarks a record has, --landmarks 5, or save it" in err) == (2, True), err
    assert sfumato("release", "last.npy", *ball, "--landmarks", "5")[0] == 0
    np.save(tmp_path / "turns.npy", np.tile([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], (4, 1, 1)))
    assert "the most usual one was taken; 'sfumato spaces' lists the others" in sfumato("inspect", "turns.npy")[1]
    np.save(tmp_path / "nans.npy", np.full((3000, 3), np.nan))
    code, out, _ = sfumato("inspect", "nans.npy", "--space", "sphere")
    assert "Bad records: 3000" in out
    assert "  and 2995 more" in out
    assert len(out.splitlines()) < 20
    found = json.loads(sfumato("inspect", "nans.npy", "--space", "sphere", "--json")[1])
    assert (found["bad_records"], len(found["bad"])) == (3000, 5)


def test_codes_and_rounding_are_told_to_the_curator(sfumato, wings, tmp_path):
    text = (tmp_path / "wings.tps").read_text().splitlines()
    text[2] = "-999 -999"
    (tmp_path / "codes.tps").write_text("\n".join(text) + "\n")
    arguments = ("release", "codes.tps", *wings[2:])
    code, _, err = sfumato(*arguments, "--out", "m.json")
    assert code == 2
    assert "record 0 (line 1; ID '0'): landmark 2 is -999; many programs write this for a missing value" in err
    assert "To look at: record 0 (line 1; ID '0'): landmark 2 is -999" in sfumato("inspect", "codes.tps")[1]
    code, _, err = sfumato(*arguments, "--out", "m.json", "--missing", "-999")
    assert (code, "record 0 (line 1; ID '0'): holds NaN or an infinite value: landmark 2. Mend" in err) == (2, True), (
        err
    )
    code, _, err = sfumato(*arguments, "--out", "m.json", "--missing", "-999", "--invalid", "center")
    assert code == 0, err
    assert sfumato(*arguments, "--out", "n.json", "--missing", "none")[0] == 0
    rng = np.random.default_rng(8)
    points = np.array([0, 0, 1]) + rng.normal(0, 0.1, (50, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    np.savetxt(tmp_path / "unit.csv", points.round(4), delimiter=",", header="x,y,z", comments="")
    rest = ("--space", "sphere", "--center", "c.csv", "--radius", "0.5", "--epsilon", "5", "--out", "s.json")
    (tmp_path / "c.csv").write_text("x,y,z\n0,0,1\n")
    code, out, err = sfumato("release", "unit.csv", *rest)
    assert code == 0, err
    assert "are not quite of the right length" in err
    assert "right length" not in out + (tmp_path / "s.json").read_text()


def test_a_folder_and_several_files_are_released(sfumato, wings, tmp_path):
    """A file for each specimen."""
    records = ("LM=" + part for part in (tmp_path / "wings.tps").read_text().split("LM=")[1:])
    (tmp_path / "each").mkdir()
    for i, record in enumerate(records):
        (tmp_path / "each" / f"{i}.tps").write_text(record)
    code, _, err = sfumato("release", "each", *wings[2:], "--out", "m.json", "-v")
    assert code == 0, err
    assert "of each of 40 files" in err
    assert sf.Release.load("m.json").record["n"] == 40
    files = [f"each/{i}.tps" for i in range(7)]
    assert sfumato("release", *files, *wings[2:], "--out", "n.json", "--even-if-useless")[0] == 0
    assert sf.Release.load("n.json").record["n"] == 7


# -- mistakes that new users make: a sentence that helps, nothing spent, nothing lost --------------------------------------
@pytest.fixture
def trials(tmp_path):
    """Twelve subjects with forty trials each, as a table."""
    rng = np.random.default_rng(8)
    rows = [(s, t, 20 + s, "mf"[s % 2], *rng.normal(0, 0.2, 3)) for s in range(12) for t in range(40)]
    text = "".join(f"{s},{t},{age},{sex},{x},{y},{z}\n" for s, t, age, sex, x, y, z in rows)
    (tmp_path / "trials.csv").write_text("subject,trial,age,sex,v1,v2,v3\n" + text)
    return (
        *("release", "trials.csv", "--space", "euclidean", "--dim", "3"),
        *("--center", "origin", "--radius", "1", "--epsilon", "1", "--out", "m.json"),
    )


def test_a_repeated_subject_column_is_refused_until_the_unit_is_said(sfumato, trials, tmp_path):
    sfumato("ledger", "init", "study.ledger", "--epsilon", "3")
    paid = (*trials, "--ledger", "study.ledger")
    for unit, words in [
        ([], "the column 'subject' has 12 values for 480 records"),
        ([], "--unit-column subject"),
        (["--unit", "subject"], "unit 'subject' is the name of a column, but a unit in words groups nothing"),
        (["--unit", "one subject"], "the column 'subject' has 12 values for 480 records"),
        (["--unit", "subject_id"], "looks like the name of a column"),
        (["--unit", " "], "the unit is empty: say what one record stands for"),
        (["--unit-column", "Subject"], "no column 'Subject'"),
    ]:
        code, _, err = sfumato(*paid, *unit)
        assert (code, words in err) == (2, True), err
    code, _, err = sfumato(*paid)
    assert not any(f"'{column}'" in err for column in ("trial", "age", "sex"))  # measurements and groups are no names
    assert "3 of 3 is left" in sfumato("ledger", "show", "study.ledger")[1]
    assert not (tmp_path / "m.json").exists()
    assert sfumato(*paid, "--unit-column", "subject", "--even-if-useless")[0] == 0
    done = sf.Release.load("m.json")
    assert (done.record["n"], done.guarantee.unit) == (12, "one subject: all its records")
    assert sfumato(*paid, "--unit", "one record", "--force")[0] == 0
    assert sf.Release.load("m.json").record["n"] == 480


def test_a_subject_column_of_a_file_read_in_parts_is_refused_too(sfumato, tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    numbers = np.random.default_rng(2).normal(0, 0.2, (2500, 2))
    table = arrow.table({"patient_id": np.arange(2500), "x": numbers[:, 0], "y": numbers[:, 1]})
    parquet.write_table(table, tmp_path / "long.parquet")
    command = (
        *("release", "long.parquet", "--space", "euclidean", "--center", "origin", "--radius", "1"),
        *("--epsilon", "1", "--out", "m.json", "--memory", "20kB"),
    )
    code, _, err = sfumato(*command)
    assert (code, "the column 'patient_id' has values that may repeat" in err) == (2, True), err
    assert sfumato(*command, "--unit", "one record")[0] == 0


def test_inspect_names_no_measurement_as_a_person(sfumato, trials):
    out = sfumato("inspect", "trials.csv", "--space", "euclidean")[1]
    assert "Column 'subject' has 12 values for 480 records" in out
    assert not any(f"'{column}'" in out for column in ("trial", "age", "sex"))


def test_the_curator_alone_hears_what_was_clipped(sfumato, wings, tmp_path):
    rng = np.random.default_rng(1)
    far = np.column_stack([rng.normal(3, 0.1, 45), rng.normal(0, 0.1, 45)])
    near = rng.normal(0, 0.1, (5, 2))
    command = ("--space", "euclidean", "--center", "origin", "--radius", "1", "--epsilon", "1", "--force")
    said = []
    for name, points in (("most", np.vstack([far, near])), ("some", np.vstack([far[:5], near])), ("none", near)):
        np.savetxt(tmp_path / f"{name}.csv", points, delimiter=",", header="a,b", comments="")
        outputs = ("--out", f"{name}.json", "--report", f"{name}.md")
        code, out, err = sfumato("release", f"{name}.csv", *command, *outputs, "--even-if-useless")
        assert code == 0, err  # whatever was clipped
        said.append(err)
        written = out + (tmp_path / f"{name}.json").read_text() + (tmp_path / f"{name}.md").read_text()
        assert "lay outside" not in written.replace("where many records lay outside the region", "").replace(
            "one that lay outside was moved to its edge", ""
        )
        assert "curator" not in written
        assert "of the mean of the clipped records" in out
    assert "CURATOR ONLY: 45 of 50 records lay outside" in said[0]
    assert "Curator only: 5 of 10 records lay outside" in said[1]
    assert "Curator only: none of 5 records lay outside" in said[2]


def test_matrices_in_other_units_than_the_centre_are_said_loudly(sfumato, tmp_path):
    rng = np.random.default_rng(1)
    np.save(tmp_path / "eeg.npy", 1e-27 * np.array([np.cov(rng.normal(size=(3, 50))) for _ in range(40)]))
    command = ("release", "eeg.npy", "--space", "spd", "--center", "identity", "--radius", "2", "--epsilon", "1")
    code, _, err = sfumato(*command, "--out", "m.json", "--json")
    assert (code, "40 of 40 records lay outside" in err, "the same units" in err) == (0, True, True), err


@pytest.mark.parametrize("space", ["shapes", "sphere"])
def test_an_origin_that_means_nothing_is_no_centre(sfumato, wings, space, tmp_path):
    (tmp_path / "lat.csv").write_text("lat,lon\n50,10\n51,11\n")
    file = {"shapes": "wings.tps", "sphere": "lat.csv"}[space]
    command = ("release", file, "--space", space, "--center", "origin", "--radius", "0.15", "--epsilon", "1")
    code, _, err = sfumato(*command, "--out", "m.json")
    assert (code, "give a file with one public record" in err) == (2, True), err
    assert not (tmp_path / "m.json").exists()


def test_a_large_epsilon_is_warned_of_and_a_huge_one_needs_force(sfumato, wings, tmp_path):
    assert "promise little together" in sfumato("ledger", "init", "study.ledger", "--epsilon", "1e13")[2]
    paid = (*wings[:-1], "1e12", "--out", "m.json", "--ledger", "study.ledger", "--mechanism", "exponential")
    code, _, err = sfumato(*paid)
    assert (code, "promises nothing: choose an epsilon of 10 or less" in err, "--force" in err) == (2, True, True), err
    assert "Spent so far: nothing" in sfumato("ledger", "show", "study.ledger")[1]
    code, _, err = sfumato(*wings[:-1], "20", "--out", "m.json")
    assert (code, err.count("promises little")) == (0, 1), err
    code, _, err = sfumato(*wings[:-1], "200", "--out", "m.json", "--force")
    assert (code, err.count("promises little")) == (0, 1), err
    assert (
        "promises little" in sfumato("plan", "--space", "sphere", "--n", "50", "--radius", "0.3", "--epsilon", "99")[2]
    )


def test_a_plan_that_cannot_be_carried_out_says_so_and_ends_with_1(sfumato, tmp_path):
    hopeless = ("plan", "--space", "sphere", "--n", "5", "--radius", "2", "--epsilon", "1")
    code, out, _ = sfumato(*hopeless)
    assert (code, "Nothing can be released so" in out, "inf" in out) == (1, True, False), out
    assert "no ε up to 100 is enough with 5 records, and no number of records is enough with ε = 1." in out
    code, out, err = sfumato(*hopeless, "--json", "--plot", "p.png")
    wanted = json.loads(out, parse_constant=pytest.fail)["wanted"]
    assert (code, wanted) == (1, {"error_95": None, "epsilon_at_n": None, "n_at_epsilon": None})
    assert "no picture" in err
    assert not (tmp_path / "p.png").exists()
    code, out, _ = sfumato("plan", "--space", "spd", "--size", "40", "--n", "3", "--radius", "1.5", "--epsilon", "0.5")
    assert (code, "It would be useless, and is refused" in out) == (1, True), out
    assert re.search(
        "For a release of use: 3[45][0-9][0-9] records with ε = 0.5; no ε up to 100 is enough with 3 records", out
    ), out


def test_a_plan_names_the_cure_that_helps(sfumato):
    few, more = ({row.mechanism: row for row in sf.plan(sf.SPD(3), radius=2.0, n=n, epsilon=1.0)} for n in (12, 24))
    assert "the noise is so wide" in few["laplace"].refusal
    assert "Use more records, a larger epsilon or a smaller radius" in few["laplace"].refusal
    assert more["laplace"].refusal is None  # and it does
    flat = ("plan", "--space", "euclidean", "--dim", "2", "--radius", "0.3", "--n")
    assert "epsilon is so small that rounding" in sfumato(*flat, "100", "--epsilon", "1e-30", "-v")[1]
    tiny = ("plan", "--space", "sphere", "--radius", "1e-14", "--n", "100000", "--epsilon", "1")
    row = next(line for line in sfumato(*tiny, "-v")[1].splitlines() if line.startswith("kng cannot be used"))
    assert "Use a smaller epsilon, fewer records, or a radius or coordinates of more ordinary size" in row


def test_every_way_to_ask_for_the_command_and_its_version(tmp_path):
    for arguments in (["-m", "sfumato", "--version"], ["-m", "sfumato.app.cli", "--version"]):
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, f"sfumato {sf.__version__}\n"), done.stderr


def test_an_output_that_cannot_be_written_is_found_before_the_release(sfumato, wings, tmp_path, monkeypatch):
    sfumato("ledger", "init", "study.ledger", "--epsilon", "2")
    paid = (*wings, "--ledger", "study.ledger")
    code, _, err = sfumato(*paid, "--out", "m" * 247 + ".json")  # the temporary file beside it has no room for its name
    assert (code, "cannot be written (file name too long)" in err) == (2, True), err

    def read_only(*_, **__):
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", read_only)
        code, _, err = sfumato(*paid, "--out", "m.json")
    assert (code, "m.json: cannot be written (read-only file system)" in err) == (2, True), err
    np.save(tmp_path / "m.npy", np.array([np.eye(2)] * 20))
    spd = ("release", "m.npy", "--space", "spd", "--center", "identity", "--radius", "1", "--epsilon", "1")
    code, _, err = sfumato(*spd, "--out", "n.json", "--value", "v.tps", "--ledger", "study.ledger")
    assert (code, "TPS files hold landmarks, not matrices" in err) == (2, True), err
    assert "2 of 2 is left" in sfumato("ledger", "show", "study.ledger")[1]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.npy", "reference.tps", "study.ledger", "wings.tps"]


def test_a_wrong_number_of_workers_costs_nothing(sfumato, wings):
    sfumato("ledger", "init", "study.ledger", "--epsilon", "2")
    code, _, err = sfumato(*wings, "--ledger", "study.ledger", "--out", "m.json", "--workers", "0")
    assert (code, "workers must be a whole number of at least 1" in err) == (2, True), err
    assert "2 of 2 is left" in sfumato("ledger", "show", "study.ledger")[1]


def test_the_released_value_is_shown(sfumato, wings):
    out = sfumato(*wings, "--out", "m.json", "--verbose")[1]
    shown = out.split("Value, to six digits:\n")[1].split("\n\n")[0]
    found = np.array([[float(x) for x in line.split()] for line in shown.splitlines()])
    assert found == pytest.approx(sf.Release.load("m.json").value, rel=1e-5)


@pytest.mark.parametrize(
    ("place", "words", "left"),
    [
        ("sfumato.regions.ball:Ball.clip", "nothing was released, and nothing was charged", "2 of 2"),
        (
            "sfumato.release.ledger:Ledger.charge",
            "nothing was released, but epsilon 1 is charged to study.ledger",
            "1 of 2",
        ),
        ("sfumato.mechanisms.paying:secure_generator", "nothing was released, but epsilon 1 is charged", "1 of 2"),
        (
            "sfumato.release.ledger:Ledger.complete",
            "the release is made and is in m.json: do not release again",
            "1 of 2",
        ),
        ("sfumato.release:Release.save", "the release is made and is in m.json: do not release again", "1 of 2"),
    ],
)
@pytest.mark.parametrize(
    ("number", "swallowed"), [(signal.SIGINT, True), (signal.SIGINT, False), (signal.SIGTERM, False)]
)
def test_ctrl_c_stops_and_says_what_was_spent(
    sfumato, wings, tmp_path, monkeypatch, place, words, left, number, swallowed
):
    """Also where Python swallows what Ctrl-C raises, as it does in callbacks of compiled code; SIGTERM likewise."""
    function = pkgutil.resolve_name(place)

    def interrupted(*arguments, **options):
        with suppress(cli.Stopped if swallowed else ()):
            signal.raise_signal(number)
        return function(*arguments, **options)

    sfumato("ledger", "init", "study.ledger", "--epsilon", "2")
    with monkeypatch.context() as patch:
        patch.setattr(place.replace(":", "."), interrupted)
        code, _, err = sfumato(*wings, "--out", "m.json", "--plot", "m.png", "--ledger", "study.ledger")
    assert (code, f"stopped: {words}" in err) == (128 + number, True), err
    assert f"{left} is left" in sfumato("ledger", "show", "study.ledger")[1]
    assert (tmp_path / "m.json").exists() == ("m.json" in words)
    assert not (tmp_path / "m.png").exists()
    assert not list(tmp_path.glob("*.part"))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_told_to_end_removes_what_it_was_writing(number, tmp_path):
    """A real process, stopped when its first file is on the way to disk."""
    code = (
        "import os; from sfumato import atomic; from sfumato.app import cli\n"
        f"def flushed(_): os.kill(os.getpid(), {number:d})\n"
        "atomic.os.fsync = flushed\n"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code, "demo"], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, "stopped: what was at work is not finished" in done.stderr) == (128 + number, True)
    assert list((tmp_path / "demo-output").iterdir()) == []


@pytest.mark.parametrize("full", [True, False], ids=["full", "closed"])
def test_a_release_that_cannot_be_shown_is_not_to_be_made_again(sfumato, wings, tmp_path, full):
    sfumato("ledger", "init", "study.ledger", "--epsilon", "2")
    reading, writing = (None, os.open("/dev/full", os.O_WRONLY)) if full else os.pipe()
    if reading is not None:
        os.close(reading)
    command = [sys.executable, "-m", "sfumato", *wings, "--out", "m.json", "--ledger", "study.ledger"]
    command += ["--even-if-useless"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    os.close(writing)
    assert (done.returncode, "the record is written, m.json: do not release again" in done.stderr) == (4, True), done
    assert "Exception" not in done.stderr
    assert sf.Release.load(tmp_path / "m.json").guarantee.epsilon == 1
    assert "1 of 2 is left" in sfumato("ledger", "show", "study.ledger")[1]


def test_a_release_whose_output_is_closed_from_the_start_says_so(wings, tmp_path):
    command = shlex.join([sys.executable, "-m", "sfumato", *wings, "--out", "m.json", "--even-if-useless"])
    done = subprocess.run(["sh", "-c", f"{command} >&-"], stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert (done.returncode, "the record is written, m.json: do not release again" in done.stderr) == (4, True), done


def test_a_release_that_can_neither_be_written_nor_printed_goes_to_standard_error(wings, tmp_path):
    code = (
        "from sfumato import release; from sfumato.app import cli\n"
        "def full(*_, **__): raise OSError(28, 'No space left on device')\n"
        "release.Release.save = full\n"
        "cli.main()"
    )
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-c", code, *wings, "--even-if-useless"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert done.returncode == 2
    record, words = re.search(r"^(\{.*^\})\n(.*)", done.stderr, re.DOTALL | re.MULTILINE).groups()
    assert sf.Release.from_json(record).guarantee.epsilon == 1
    assert "the release is printed above: keep it" in words


def test_pipes_and_devices_are_refused_and_not_waited_for(sfumato, wings, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    command, file, *how = wings
    for name in ("pipe", "/dev/zero"):
        for files in ((name,), (file, name), (name, file)):
            code, _, err = sfumato(command, *files, *how, "--out", "m.json")
            assert (code, f"{name}: not a regular file" in err) == (2, True), err
    code, _, err = sfumato(*wings, "--out", "m.json", "--ledger", "pipe")
    assert (code, "pipe is not a regular file" in err) == (2, True), err
    groups = ("--by", "sex", "--labels-are-public", "--labels", "pipe")
    code, _, err = sfumato("compare", file, *how, *groups, "--out", "m.json")
    assert (code, "the table of labels pipe: not a regular file" in err) == (2, True), err
    with pytest.raises(sf.UnsavedError, match="not a regular file") as unsaved:
        Session(tmp_path / "pipe", overwrite=True).release(
            np.zeros((50, 2)), sf.Ball(sf.Euclidean(2), [0, 0], 1.0), epsilon=1.0
        )
    assert unsaved.value.release.guarantee.epsilon == 1
    assert (tmp_path / "pipe").is_fifo()


def test_a_data_set_that_looks_like_another_is_warned_of(sfumato):
    sfumato("ledger", "init", "study.ledger", "--epsilon", "1", "--dataset", "wings")
    code, _, err = sfumato("ledger", "init", "study.ledger", "--epsilon", "1", "--dataset", "w\u0456ngs")  # Cyrillic i
    assert (code, "looks like 'wings', which has a budget here already" in err) == (0, True), err
    code, _, err = sfumato("ledger", "init", "study.ledger", "--epsilon", "1", "--dataset", "\uff57ings")  # wide w
    assert (code, "already holds a budget of 1 for 'wings'" in err) == (2, True), err


# -- regions from public knowledge ---------------------------------------------------------------------------------------
def write_tps(path, shapes):
    rows = ("".join(f"{x!r} {y!r}\n" for x, y in shape) for shape in shapes.tolist())
    path.write_text("".join(f"LM={shapes.shape[1]}\n{lines}ID={i}\n" for i, lines in enumerate(rows)))


@pytest.fixture
def atlas(tmp_path):
    """Mosquito wings: 26 of them public, 100 private; and one reference."""
    from sfumato.app import demo

    data, reference = demo.wings()
    order = np.random.default_rng(7).permutation(len(data))
    for name, shapes in (
        ("atlas.tps", data[order[:26]]),
        ("specimens.tps", data[order[26:]]),
        ("reference.tps", reference[None]),
    ):
        write_tps(tmp_path / name, shapes)
    return ("release", "specimens.tps", "--epsilon", "1")


def test_one_command_from_two_tps_files(atlas, tmp_path):
    """As a new user types it: no space, centre, radius; record, picture and report are written."""
    command = [sys.executable, "-m", "sfumato", *atlas, "--public", "atlas.tps", "--plot", "mean.png"]
    done = subprocess.run([*command, "--report", "mean.html"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Written: mean.json, mean.png, mean.html" in done.stdout
    assert is_short(done.stdout, done.stderr)
    release = sf.Release.load(tmp_path / "mean.json")
    chart = release.record["chart"]
    assert (release.record["n"], release.guarantee.epsilon, chart["look"]["share"]) == (100, 1.0, 0.1)
    assert chart["look"]["fell_back"] or "from 26 public points" in chart["source"]
    ball = sf.plan(sf.PlanarShapes(18), 0.15, 100, 1.0)[0]
    assert chart["look"]["fell_back"] or release.error(0.95) < ball.error_95 / 4
    assert (tmp_path / "mean.png").read_bytes()[:4] == b"\x89PNG"
    assert "<html" in (tmp_path / "mean.html").read_text(encoding="utf-8")[:200]
    assert "lay outside the public" in done.stderr
    assert "curator" not in done.stdout + (tmp_path / "mean.json").read_text(encoding="utf-8")


def test_a_useless_release_is_refused_with_what_helps(atlas, tmp_path):
    """Before anything is spent; and it is made if that is wanted."""
    sf.Ledger.create(tmp_path / "study.ledger", "2")
    command = [sys.executable, "-m", "sfumato", *atlas[:-1], "0.3", "--ledger", "study.ledger"]
    command += ["--center", "reference.tps", "--radius", "0.15"]
    refused = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert refused.returncode == 2
    for words in ("this release would be useless", "an epsilon of 0.", "00 records", "--public", "Nothing was spent"):
        assert words in refused.stderr
    assert not (tmp_path / "mean.json").exists()
    assert sf.Ledger(tmp_path / "study.ledger").left == 2
    wanted = subprocess.run([*command, "--even-if-useless"], capture_output=True, text=True, cwd=tmp_path)
    assert wanted.returncode == 0, wanted.stderr
    assert sf.Release.load(tmp_path / "mean.json").record["n"] == 100


def test_smoothness_bending_modes_and_the_look(sfumato, atlas):
    about = ("--center", "reference.tps", "--radius", "0.15")
    for i, (options, source, directions, look) in enumerate(
        [
            ((*about, "--smooth"), "smoothness along the closed outline", None, False),
            ((*about, "--open", "--modes", "4"), "smoothness along the open curve", 4, False),
            ((*about, "--bending", "--modes", "7"), "the bending energy", 7, False),
            (("--public", "atlas.tps", "--check", "0"), "26 public points", None, False),
            (("--public", "atlas.tps", "--modes", "3"), "26 public points", 3, True),
            (("--public", "atlas.tps", "--bending", "--check", "0"), "to the bending energy", None, False),
        ]
    ):
        code, _, err = sfumato(*atlas, *options, "--out", f"{i}.json")
        assert code == 0, err
        chart = sf.Release.load(f"{i}.json").record["chart"]
        assert (chart["look"] is not None) == look, options
        if not (look and chart["look"]["fell_back"]):
            assert source in chart["source"]
            assert directions in (None, len(chart["axes"]))


def test_what_is_said_twice_or_not_at_all_is_named(sfumato, atlas, tmp_path):
    about = ("--center", "reference.tps", "--radius", "0.15")
    for options, words in [
        ((), "say what is publicly known of where the records lie: --public FILE"),
        (("--center", "reference.tps"), "--center needs --radius too"),
        (("--radius", "0.15"), "--radius needs --center too"),
        (("--public", "atlas.tps", "--radius", "0.15"), "leave out --center and --radius, or leave out --public"),
        (("--public", "atlas.tps", "--mechanism", "kng"), "--mechanism kng: takes a ball"),
        (("--public", "atlas.tps", "--modes", "33"), "--modes must be from 1 to 32"),
        (("--public", "atlas.tps", "--check", "0.2"), "--check 0.2 must be a share of epsilon"),
        ((*about, "--check", "0.1"), "it goes with --public"),
        ((*about, "--modes", "3"), "--modes counts directions"),
        ((*about, "--smooth", "--bending"), "--smooth and --bending say different things"),
    ]:
        code, _, err = sfumato(*atlas, *options)
        assert (code, words in err) == (2, True), err
    assert not (tmp_path / "mean.json").exists()


def test_a_public_file_that_is_not_public_or_does_not_fit(sfumato, atlas, tmp_path):
    shapes = sf.read(tmp_path / "atlas.tps").points
    (tmp_path / "copy.tps").write_bytes((tmp_path / "specimens.tps").read_bytes())
    np.save(tmp_path / "copy.npy", sf.read(tmp_path / "specimens.tps").points[::-1])
    write_tps(tmp_path / "twelve.tps", shapes[:, :12])
    write_tps(tmp_path / "one.tps", shapes[:1])
    write_tps(tmp_path / "gap.tps", np.where(np.arange(26)[:, None, None] == 3, np.nan, shapes))
    np.save(tmp_path / "matrices.npy", np.array([np.eye(5)] * 3))
    for name, words in [
        ("specimens.tps", "is the file of the records itself, so it is not public"),
        ("copy.tps", "holds the records of specimens.tps themselves, so it is not public"),
        ("copy.npy", "holds the records of specimens.tps themselves, so it is not public"),
        (
            "twelve.tps",
            "--public twelve.tps holds 26 records of 12 landmarks, but specimens.tps holds 100 records of 18",
        ),
        ("matrices.npy", "It must hold specimens like the records: specimens.tps holds 100 records of 18 landmarks"),
        ("one.tps", "--public one.tps: holds 1 specimen, and how far specimens differ is seen from two or more"),
        ("gap.tps", "--public gap.tps: record 3 (line 61; ID '3'): holds NaN"),
        ("none.tps", "none.tps: no such file"),
    ]:
        code, _, err = sfumato(*atlas, "--public", name)
        assert (code, words in err) == (2, True), err
    assert not (tmp_path / "mean.json").exists()
    flat = shapes.reshape(26, -1)
    np.savetxt(tmp_path / "flat.csv", flat, delimiter=",", header=",".join(f"v{i}" for i in range(36)), comments="")
    assert sfumato(*atlas, "--public", "flat.csv", "--out", "flat.json", "--landmarks", "18")[0] == 0
    write_tps(tmp_path / "some.tps", np.concatenate([shapes, sf.read(tmp_path / "specimens.tps").points[:5]]))
    code, out, err = sfumato(*atlas, "--public", "some.tps")
    assert (code, "5 of the records are in some.tps too" in err, "some.tps" in out) == (0, True, False), err


def test_what_vectors_are_must_be_said(sfumato, tmp_path):
    np.savetxt(
        tmp_path / "plain.csv", np.random.default_rng(0).normal(size=(9, 3)), delimiter=",", header="a,b,c", comments=""
    )
    code, _, err = sfumato("release", "plain.csv", "--center", "origin", "--radius", "9", "--epsilon", "1")
    assert (code, "say which, --space euclidean or --space sphere" in err) == (2, True), err


def test_plan_with_public_specimens(sfumato, atlas, tmp_path):
    public = ("plan", "--public", "atlas.tps", "--n", "100", "--epsilon", "1")
    code, out, _ = sfumato(*public, "--plot", "plan.png", "--simulate", "such.png", "--verbose")
    assert code == 0
    assert re.search("It is made in [0-9]+ of 32 directions; nothing is learned about the others", out), out
    assert "All this is so if the public specimens are from a population like that of the records." in out
    short = sfumato(*public)[1]
    assert re.search(
        r"noise 0.0\d+, the rest clipped or left out. On average 0.0\d+ off; the public mean alone 0.0\d+: 1.\d times nearer",
        short,
    ), short
    assert "To release it: sfumato release FILE --public atlas.tps --epsilon 1 --out mean.json" in short
    assert "directions" not in short
    for name in ("plan.png", "such.png"):
        assert (tmp_path / name).read_bytes()[:4] == b"\x89PNG"
    found = json.loads(sfumato(*public, "--modes", "3", "--check", "0", "--json")[1])["mechanisms"]
    assert [(row["directions"], row["useless"]) for row in found] == [(3, False)]
    looked = json.loads(sfumato(*public, "--modes", "3", "--json")[1])["mechanisms"][0]
    assert looked["error_95"] > found[0]["error_95"]  # a tenth of ε is spent on the look
    region = sf.Ellipsoid.from_sample(sf.PlanarShapes(18), sf.read("atlas.tps").points)
    enough = sf.needed_n(region, 1.0, 0.008)  # from there on, though more records let more directions in
    assert sf.plan(region, n=round(0.97 * enough), epsilon=1.0)[0].error_95 > 0.008
    assert all(sf.plan(region, n=round(f * enough), epsilon=1.0)[0].error_95 <= 0.008 for f in (1.01, 1.3, 3, 30))
    about = ("plan", "--center", "reference.tps", "--radius", "0.15", "--n", "100", "--epsilon", "1")
    assert "It is made in 5 of 32 directions" in sfumato(*about, "--smooth", "--modes", "5", "-v")[1]
    assert "noise, without what clipping moved; the public radius is 0.15." in sfumato(*about)[1]
    code, _, err = sfumato("plan", "--radius", "0.15", "--smooth", "--n", "100", "--epsilon", "1")
    assert (code, "--radius needs --center too" in err) == (2, True), err


def test_every_front_states_the_same_figures(sfumato, atlas):
    """Command line, Python, page, record, words and report, for the same plan."""
    from sfumato.app.studio.previews import of_release

    wishes = ("--public", "atlas.tps", "--relation", "same", "--epsilon", "1")
    row = json.loads(sfumato("plan", *wishes, "--n", "100", "--json")[1])["mechanisms"][0]
    region = sf.Ellipsoid.from_sample(sf.PlanarShapes(18), sf.read("atlas.tps").points, relation="same")
    plan = sf.plan(region, n=100, epsilon=1.0)[0]
    page = of_release(sf.mechanisms.choose(region, 100, 1.0))
    figures = [row["error_95"], row["noise_95"], row["gain"]]
    assert figures == pytest.approx([plan.error_95, plan.noise_95, plan.gain], rel=1e-12)
    assert page["error"] == pytest.approx(plan.error_95, rel=1e-12)
    for words in (f"ithin {plan.error_95:.3g} (", f"noise {plan.noise_95:.3g}", f"{plan.gain:.2g} times nearer"):
        assert words in page["says"]
    code, out, err = sfumato("release", "specimens.tps", *wishes, "--out", "r.json", "--report", "r.html")
    assert code == 0, err
    release = sf.Release.load("r.json")
    assert release.n == 100
    assert release.whole.quantiles["0.95"] == pytest.approx(plan.error_95, rel=1e-12)
    assert release.noise(0.95) == pytest.approx(plan.noise_95, rel=1e-12)
    assert release.error(0.95) >= plan.error_95
    report = Path("r.html").read_text(encoding="utf-8")
    for words in (out, release.describe(), report):
        assert f"{release.error(0.95):.3g}"[:-1] in words  # to as many digits as it has room for
        assert f"{release.gain:.2g} times nearer" in words


def test_the_farther_the_public_specimens_the_larger_the_stated_error(sfumato, atlas):
    public = ("plan", "--public", "atlas.tps", "--n", "100", "--epsilon", "1", "--check", "0", "--json")
    plain = json.loads(sfumato(*public)[1])["mechanisms"][0]
    rows = [json.loads(sfumato(*public, "--relation", how)[1])["mechanisms"][0] for how in ("same", "related", "other")]
    assert rows[1] == plain
    assert rows[0]["error_95"] < rows[1]["error_95"] < rows[2]["error_95"]
    assert all(row["error_95"] > row["noise_95"] and row["gain"] > 0 for row in rows)
    code, _, err = sfumato(*public, "--relation", "alike")
    assert (code, "--relation alike must be 'same', 'related' or 'other'" in err) == (2, True), err
    code, _, err = sfumato("plan", "--center", "reference.tps", "--radius", "0.1", "--relation", "same", *public[3:7])
    assert (code, "--relation says how public specimens relate" in err) == (2, True), err


def test_plan_marks_what_would_be_useless(sfumato):
    code, out, _ = sfumato(
        "plan", "--space", "shapes", "--landmarks", "18", "--radius", "0.15", "--n", "20", "--epsilon", "1"
    )
    assert code == 1
    assert re.search("laplace .* useless", out), out
    needed = re.search("For a release of use: ε = ([0-9.]+) with 20 records, or ([0-9]+) records with ε = 1", out)
    for n, epsilon in ((20, float(needed[1]) * 1.02), (int(needed[2]) * 1.02, 1.0)):
        assert not sf.plan(sf.PlanarShapes(18), 0.15, round(n), epsilon)[0].useless
    for n, epsilon in ((20, float(needed[1]) * 0.97), (int(needed[2]) * 0.97, 1.0)):
        assert sf.plan(sf.PlanarShapes(18), 0.15, round(n), epsilon)[0].useless


def test_a_record_is_not_taken_for_the_public_centre(sfumato, atlas, tmp_path):
    """A centre is public: one that is a file of the records, or lies in their folder, is refused before anything is spent."""
    (tmp_path / "records").mkdir()
    shapes = sf.read(tmp_path / "specimens.tps").points
    for row in range(9):
        write_tps(tmp_path / "records" / f"s{row}.tps", shapes[row : row + 1])
    known = ("--radius", "0.5", "--epsilon", "5", "--unit", "one specimen", "--out", "mean.json")
    for files in (["records"], ["records/s0.tps", "records/s1.tps"]):
        code, _, err = sfumato("release", *files, "--center", "records/s0.tps", *known)
        assert (code, "records/s0.tps: is the file of the records itself, so it is not public" in err) == (2, True), err
    assert not (tmp_path / "mean.json").exists()


def test_each_record_by_itself_and_a_column_of_people_contradict_each_other(sfumato, tmp_path):
    points = np.random.default_rng(0).normal(size=(40, 2))
    people = np.repeat(np.arange(20), 2)
    np.savetxt(tmp_path / "v.csv", np.column_stack([points, people]), delimiter=",", header="x,y,subject", comments="")
    known = ("--space", "euclidean", "--columns", "x,y", "--center", "origin", "--radius", "3", "--epsilon", "1")
    code, _, err = sfumato("release", "v.csv", *known, "--unit-column", "subject", "--unit", "one record")
    assert (code, "--unit 'one record' says that each record stands for itself, and --unit-column subject" in err) == (
        2,
        True,
    ), err


def test_a_wide_ball_names_the_mechanism_as_it_is_typed(sfumato, tmp_path):
    directions = np.random.default_rng(0).normal([0, 0, 5], size=(40, 3))
    np.savetxt(
        tmp_path / "d.csv",
        directions / np.linalg.norm(directions, axis=1)[:, None],
        delimiter=",",
        header="x,y,z",
        comments="",
    )
    np.savetxt(tmp_path / "pole.csv", [[0.0, 0.0, 1.0]], delimiter=",", header="x,y,z", comments="")
    code, _, err = sfumato(
        "release", "d.csv", "--space", "sphere", "--center", "pole.csv", "--radius", "3", "--epsilon", "1"
    )
    assert (code, "--mechanism tangent" in err, "mechanism=" in err) == (2, True, False), err


@pytest.mark.parametrize(
    ("options", "privacy"),
    [
        (["--epsilon", "1", "--delta", "1e-6"], sf.ApproxDP(1.0, 1e-6)),
        (["--rho", "0.2"], sf.ZCDP(0.2)),
        (["--mu", "0.5"], sf.GDP(0.5)),
    ],
)
def test_other_kinds_of_privacy(sfumato, wings, options, privacy, tmp_path):
    outputs = ("--plot", "mean.png", "--report", "mean.html")
    code, out, err = sfumato(*wings[:-2], *options, *outputs, "--even-if-useless", "--verbose")
    assert code == 0, err
    assert "Of 100 guesses whether one unit is in" in out
    release = sf.Release.load("mean.json")
    assert release.guarantee.privacy == privacy
    report = (tmp_path / "mean.html").read_text()
    assert powers(str(privacy)).split(" = ")[1] in report.replace("\u00a0", " ")
    code, out, err = sfumato("plan", "--space", "shapes", "--landmarks", "6", "--radius", "0.15", "--n", "40", *options)
    assert code == 0, err
    assert powers(str(privacy)) in out


def test_promises_that_do_not_go_together(sfumato, wings):
    for options, words in {
        ("--epsilon", "1", "--rho", "0.1"): "--epsilon and --rho are different promises: give one of them",
        ("--rho", "0.1", "--delta", "1e-6"): "--delta goes with --epsilon",
        ("--delta", "1e-6"): "epsilon must be a positive number: --epsilon 1 is common",
        ("--epsilon", "1", "--delta", "2"): "delta must be a small probability, such as 1e-6, not 2.0",
    }.items():
        code, _, err = sfumato(*wings[:-2], *options)
        assert (code, words in err) == (2, True), err
