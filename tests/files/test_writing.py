"""Released values and synthetic specimens in the formats of other programs: our own readers read them back to the last bit."""

import json
import sys

import numpy as np
import pytest

import sfumato as sf
from sfumato.files import Dataset, FileError, read, write_points
from sfumato.files.writing import LANDMARKS, WRITERS

RNG = np.random.default_rng(0)
EXTREME = np.array([[1e-300, -1e300], [0.1 + 0.2, 1 / 3], [-0.0, 5e-324], [2.0**60, np.pi]])


@pytest.mark.parametrize("value", [RNG.normal(size=(5, 2)), RNG.normal(size=(7, 3)) * 1e-9, EXTREME], ids=str)
@pytest.mark.parametrize("ending", [*WRITERS, ".TPS", ".Nts"])
def test_landmarks_come_back_to_the_last_bit(tmp_path, ending, value):
    k, dim = value.shape
    path = tmp_path / f"mean{ending}"
    if ending == ".mrk.json" and dim == 2:
        with pytest.raises(ValueError, match=r"3D Slicer has landmarks in three dimensions; write \.tps"):
            write_points(path, value, "landmarks")
        return
    write_points(path, value, "landmarks")
    back = read(path, sf.Shapes(k, dim), missing="none")
    assert back.points.tobytes() == value[None].tobytes()
    if ending.lower() not in (".npy", ".rds"):  # a bare array does not say what it is
        assert read(path, missing="none").points.tobytes() == value[None].tobytes()


@pytest.mark.parametrize(
    ("value", "kind", "space"),
    [
        (np.diag([1.0, 2.0, 1 / 3]), "matrices", sf.SPD(3)),
        (np.array([0.6, 0.8, 0.0]), "vectors", sf.Sphere(2)),
        (np.array([0.25]), "vectors", sf.Euclidean(1)),
    ],
)
@pytest.mark.parametrize("ending", WRITERS)
def test_other_values_go_where_they_can_be_held(tmp_path, ending, value, kind, space):
    path = tmp_path / f"value{ending}"
    if ending in LANDMARKS:
        with pytest.raises(ValueError, match=rf"{LANDMARKS[ending]} files hold landmarks, not {kind}; write \.csv"):
            write_points(path, value, kind)
        assert not path.exists()
    else:
        write_points(path, value, kind)
        assert np.array_equal(read(path, space).points, value[None])


def specimens(n, dim=2, **labels):
    names = {"ID": [f"synthetic {i}" for i in range(n)], "synthetic": ["seed 7"] * n, **labels}
    return Dataset(RNG.normal(size=(n, 5, dim)), "landmarks", labels={name: np.array(x) for name, x in names.items()})


@pytest.mark.parametrize("n", [1, 2, 12])
@pytest.mark.parametrize("ending", WRITERS)
def test_synthetic_specimens_keep_their_mark(tmp_path, ending, n):
    data = specimens(n, 3)
    path = tmp_path / f"made{ending}"
    if ending in (".npy", ".mrk.json"):
        with pytest.raises(ValueError, match=r"with no place for labels \(ID, synthetic\)"):
            write_points(path, data)
        return
    write_points(path, data)
    back = read(path, sf.Shapes(5, 3))
    assert np.array_equal(back.points, data.points)
    assert len(back.labels["ID"]) == n
    for i in range(n):
        assert "seed" in " ".join(str(column[i]) for column in back.labels.values())
        assert f"synthetic{i}" in back.labels["ID"][i].replace("_", "").replace(" ", "")


@pytest.mark.parametrize("ending", [".nts", ".txt", ".csv", ".rds"])
def test_odd_labels_do_not_break_a_file(tmp_path, ending):
    data = specimens(4, ID=["[odd]", "'quoted", "two\nlines", "  "])
    write_points(tmp_path / f"made{ending}", data)
    back = read(tmp_path / f"made{ending}", sf.PlanarShapes(5))
    assert np.array_equal(back.points, data.points)


def test_a_data_set_without_labels_is_written_whole_or_refused(tmp_path):
    data = Dataset(RNG.normal(size=(3, 5, 2)), "landmarks")
    with pytest.raises(ValueError, match="holds one value"):
        write_points(tmp_path / "made.npy", data)
    write_points(tmp_path / "made.rds", data)
    assert np.array_equal(read(tmp_path / "made.rds", sf.PlanarShapes(5)).points, data.points)


def test_files_of_other_programs_say_what_these_need(tmp_path):
    write_points(tmp_path / "made.nts", specimens(2))
    first, *names = (tmp_path / "made.nts").read_text().splitlines()[:3]
    assert (first, names) == ("1 2L 10 0 DIM=2", ["synthetic_0;seed_7", "synthetic_1;seed_7"])
    write_points(tmp_path / "made.txt", specimens(2))
    lines = (tmp_path / "made.txt").read_text().splitlines()
    assert lines[:6] == ["[individuals]", "2", "[landmarks]", "5", "[dimensions]", "2"]
    assert lines[6:9] == ["[names]", "synthetic_0", "synthetic_1"]
    assert lines[lines.index("[rawpoints]") + 1] == "'synthetic_0"  # geomorph takes one such line a specimen away
    write_points(tmp_path / "mean.mrk.json", np.eye(3), "landmarks")
    document = json.loads((tmp_path / "mean.mrk.json").read_text())
    assert document["@schema"].endswith("markups-schema-v1.0.3.json#")
    assert document["markups"][0]["coordinateSystem"] == "LPS"


def test_a_missing_package_is_named_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rdata", None)
    with pytest.raises(FileError, match="writing R files needs the package rdata: pip install rdata"):
        write_points(tmp_path / "mean.rds", np.eye(3), "matrices")
    assert not (tmp_path / "mean.rds").exists()


@pytest.mark.parametrize("ending", WRITERS)
def test_a_record_is_exported(sfumato, tmp_path, ending):
    space = sf.Shapes(6, 3)
    template = RNG.normal(size=(6, 3))
    region = sf.Ball(space, template, 0.2)
    done = sf.private_mean(template + RNG.normal(0, 0.02, (400, 6, 3)), region, 2.0)
    done.save("mean.json")
    code, out, err = sfumato("export", "mean.json", "--out", f"mean{ending}")
    assert (code, err) == (0, ""), err
    assert out == f"Written: mean{ending}\n"
    assert np.array_equal(read(f"mean{ending}", space).points[0], done.value)
    code, _, err = sfumato("export", "mean.json", "--out", f"mean{ending}")
    assert (code, "exists already" in err) == (2, True)


def test_exports_that_cannot_be(sfumato):
    sf.private_mean(np.full((200, 2), 0.1), sf.Ball(sf.Euclidean(2), [0.0, 0.0], 1.0), 2.0).save("mean.json")
    for out, words in (
        ("mean.tps", "TPS files hold landmarks, not vectors"),
        ("mean.xyz", "cannot write such an ending"),
    ):
        code, _, err = sfumato("export", "mean.json", "--out", out)
        assert (code, words in err) == (2, True), err
    code, _, err = sfumato("export", "mean.json", "--out", "mean.json", "--force")
    assert (code, "would replace mean.json" in err) == (2, True), err


def test_a_value_that_cannot_be_held_is_refused_before_the_charge(sfumato, tmp_path):
    np.save("points.npy", np.full((300, 2), 0.1))
    sf.Ledger.create("study.ledger", 3)
    ways = ("--space", "euclidean", "--center", "origin", "--radius", "1", "--epsilon", "1", "--ledger", "study.ledger")
    code, _, err = sfumato("release", "points.npy", *ways, "--value", "mean.nts")
    assert (code, "--value mean.nts" in err, "NTS files hold landmarks, not vectors" in err) == (2, True, True), err
    assert sf.Ledger("study.ledger").left == 3
    code, _, err = sfumato("release", "points.npy", *ways, "--value", "mean.rds")
    assert code == 0, err
    assert np.array_equal(read("mean.rds", sf.Euclidean(2)).points[0], sf.Release.load("mean.json").value)


def test_means_of_groups_and_of_a_regression_are_exported(sfumato, tmp_path):
    rng = np.random.default_rng(0)
    ball = sf.Ball(sf.PlanarShapes(landmarks=5), SHAPE := rng.normal(size=(5, 2)), 0.3)
    points = SHAPE + rng.normal(0, 0.02, (9000, 5, 2))
    labels, age = np.resize(["f", "m"], 9000), rng.uniform(20, 80, 9000)
    found = sf.compare_groups(points, labels, ball, 4.0)
    line = sf.private_regression(points, age, ball, 9.0, limits=(20, 90))
    both = sf.private_regression(points, age, ball, 9.0, limits=(20, 90), by=labels)
    size = sf.private_regression(
        points, np.log(age), ball, 9.0, limits=tuple(np.log([20, 90])), name="log centroid size"
    )
    kept = {
        "groups": found,
        "line": line,
        "both": both,
        "size": size,
        "directions": sf.private_components(points, ball, 9.0),
    }
    for name, done in kept.items():
        done.save(f"{name}.json")
    assert sfumato("export", "groups.json", "--out", "groups.tps")[0] == 0
    read = sf.read("groups.tps")
    assert read.labels["ID"].tolist() == ["f", "m"]
    np.testing.assert_array_equal(read.points, [one.value for one in found.groups.values()])
    for name, value in {"line": [line.at(50)], "both": [each.at(50) for each in both.groups.values()]}.items():
        assert sfumato("export", f"{name}.json", "--at", "50", "--out", f"{name}.csv")[0] == 0
        np.testing.assert_array_equal(sf.read(f"{name}.csv", sf.PlanarShapes(5)).points, value)
    assert sfumato("export", "size.json", "--at", "50", "--out", "size.npy")[0] == 0
    np.testing.assert_array_equal(np.load("size.npy"), size.at(np.log(50)))
    for asked, words in {
        ("line.json",): "line.json: holds a regression, so say at which value of its covariate the mean is wanted",
        ("line.json", "--at", "95"): "95 is outside the public limits, 20 to 90",
        ("groups.json", "--at", "50"): "groups.json: holds a comparison, where nothing is at a value",
        ("directions.json",): "which has no mean; 'sfumato synthesize' makes specimens from it",
    }.items():
        code, _, err = sfumato("export", *asked, "--out", "none.csv")
        assert (code, words in err) == (2, True), err
