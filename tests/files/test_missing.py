"""Missing landmarks in every format, as the programs of the field write them."""

import io
import json

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import FileError, Fix
from sfumato.files.missing import codes

PLANE = np.random.default_rng(0).integers(20, 900, size=(5, 6, 2)) + 0.25
SOLID = np.random.default_rng(1).integers(20, 900, size=(5, 6, 3)) + 0.25
GONE = [(1, 2), (3, 0), (3, 5)]


def holed(points, code=np.nan):
    points = points.copy()
    for row, mark in GONE:
        points[row, mark] = code
    return points


def cells(point, gone="NA"):
    return [gone if np.isnan(x) else repr(float(x)) for x in point]


def tps(points, gone="NA"):
    lines = ["".join(" ".join(cells(point, gone)) + "\n" for point in p) for p in points]
    return "".join(f"LM={points.shape[1]}\n{text}ID={i}\n" for i, text in enumerate(lines))


def wide(points, gone="NA", mark=","):
    names = [f"{axis}{i}" for i in range(1, points.shape[1] + 1) for axis in "xyz"[: points.shape[2]]]
    return "".join(mark.join(row) + "\n" for row in [names, *(cells(p.ravel(), gone) for p in points)])


def long(points, gone="NA"):
    axes = "xyz"[: points.shape[2]]
    rows = [[str(i), str(j), *cells(x, gone)] for i, p in enumerate(points) for j, x in enumerate(p, start=1)]
    return "".join(",".join(row) + "\n" for row in [["specimen", "landmark", *axes], *rows])


def nts(points, code=-999):
    n, k, m = points.shape
    filled = np.where(np.isnan(points), code, points).reshape(n, -1)
    return f"1 {n} {k * m} 1 {code} DIM={m}\n" + "".join(" ".join(map(repr, row)) + "\n" for row in filled.tolist())


def morphologika(points, gone="NA"):
    n, k, m = points.shape
    rows = "".join(" ".join(cells(x, gone)) + "\n" for p in points for x in p)
    return f"[individuals]\n{n}\n[landmarks]\n{k}\n[dimensions]\n{m}\n[rawpoints]\n{rows}"


def as_json(points, gone=None):
    return json.dumps([[[gone if np.isnan(x) else x for x in mark] for mark in p] for p in points.tolist()])


def npy(points):
    buffer = io.BytesIO()
    np.save(buffer, points)
    return buffer.getvalue()


def mat(points):
    from scipy.io import savemat

    buffer = io.BytesIO()
    savemat(buffer, {"a": np.moveaxis(points, 0, -1)})
    return buffer.getvalue()


def parquet(points):
    import pyarrow
    import pyarrow.parquet

    names = [f"{axis}{i}" for i in range(1, points.shape[1] + 1) for axis in "xyz"[: points.shape[2]]]
    columns = points.reshape(len(points), -1).T.tolist()
    absent = {name: [None if np.isnan(x) else x for x in one] for name, one in zip(names, columns, strict=True)}
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(absent), buffer)
    return buffer.getvalue()


WRITTEN = {
    "TPS": tps,
    "TPS, NaN": lambda p: tps(p, "NaN"),
    "TPS, minus one": lambda p: tps(p, "-1"),
    "TPS, -999": lambda p: tps(p, "-999"),
    "CSV": wide,
    "CSV, empty cells": lambda p: wide(p, ""),
    "CSV, -9999": lambda p: wide(p, "-9999"),
    "TSV, empty cells": lambda p: wide(p, "", "\t"),
    "CSV, a row a landmark": lambda p: long(p, ""),
    "NTS": nts,
    "Morphologika": morphologika,
    "Morphologika, 9999": lambda p: morphologika(p, "9999"),
    "JSON, null": as_json,
    "JSON, a code": lambda p: as_json(p, -999),
    "NPY": npy,
    "MATLAB": mat,
    "Parquet": parquet,
}


@pytest.fixture
def load(tmp_path):
    def load(content, name="file.dat", **how):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return sf.read(path, **how)

    return load


@pytest.mark.parametrize("points", [PLANE, SOLID], ids=["plane", "space"])
@pytest.mark.parametrize("how", WRITTEN)
def test_every_reader_hands_missing_landmarks_on(load, how, points):
    wanted = holed(points)
    space = sf.Shapes(6, points.shape[2])
    found = load(WRITTEN[how](wanted), space=space, missing="estimate")
    np.testing.assert_array_equal(found.points, wanted)
    np.testing.assert_array_equal(load(WRITTEN[how](points), space=space, missing="estimate").points, points)
    assert np.isfinite(sf.estimate_missing(found, points[0])).all()


@pytest.mark.parametrize("points", [PLANE, SOLID], ids=["plane", "space"])
def test_files_of_r(load, tmp_path, points):
    import rdata

    rdata.write_rds(tmp_path / "made.rds", np.moveaxis(holed(points), 0, -1))
    found = sf.read(tmp_path / "made.rds", sf.Shapes(6, points.shape[2]), missing="estimate")
    np.testing.assert_array_equal(found.points, holed(points))


def test_files_of_slicer(load, tmp_path):
    wanted = holed(SOLID)
    for i, p in enumerate(wanted):
        marks = [
            {"label": f"F-{j}", "position": [0, 0, 0] if gone else x.tolist(), "positionStatus": status}
            for j, x in enumerate(p, start=1)
            for gone in [np.isnan(x).any()]
            for status in ["missing" if gone else "defined"]
        ]
        markups = {"markups": [{"type": "Fiducial", "coordinateSystem": "LPS", "controlPoints": marks}]}
        (tmp_path / f"{i}.mrk.json").write_text(json.dumps(markups))
    np.testing.assert_array_equal(sf.read(sorted(tmp_path.glob("*.json")), missing="estimate").points, wanted)


def test_a_blank_line_is_a_landmark_only_between_others(load):
    text = tps(PLANE[:2])
    lines = text.split("\n")
    lines[3] = ""
    assert np.isnan(load("\n".join(lines)).points[0, 2]).all()
    assert np.isfinite(load(text.replace("LM=6\n", "LM=6\n\n", 1).replace("ID=0", "\n\nID=0")).points).all()
    with pytest.raises(FileError, match="only 5 lines follow before the next keyword; is the file cut"):
        load("\n".join(lines[:3] + lines[4:]))
    with pytest.raises(FileError, match=r"only 4 lines follow .*cut"):
        load(tps(PLANE[:1]).split("ID")[0].rsplit("\n", 3)[0] + "\n\n")


def test_a_count_that_is_none_is_refused_with_a_remedy(load):
    with pytest.raises(FileError, match=r"LM='-1' is not a count; write NA for what is missing"):
        load("LM=-1\nID=a\n")
    with pytest.raises(FileError, match=r"has 5 landmarks, but specimen '0' has 6; write a row with NA"):
        load("\n".join(long(PLANE).split("\n")[:-2]) + "\n")


def test_negative_coordinates_are_missing_if_that_is_said(load):
    """As geomorph has it with negNA; a scale may have made −1 anything below 0."""
    points = holed(PLANE, -0.05)
    points[1, 2, 0] = 0.3
    text = "".join(tps(p[None]) for p in points)
    assert np.isfinite(load(text, missing="estimate").points).all()
    np.testing.assert_array_equal(load(text, missing="estimate, negative").points, holed(PLANE))
    np.testing.assert_array_equal(load(text, missing=["negative"]).points, holed(PLANE))


def test_a_code_is_told_by_the_specimen_alone(load):
    """A landmark that is −1 and nothing else is none, among pixels as about 0; and 999 alone may be any pixel."""
    pixels, centred = holed(PLANE, -1.0), holed(PLANE - 400, -1.0)
    both = np.concatenate([pixels, centred])
    found = load(npy(both), missing="estimate", space=sf.PlanarShapes(6)).points
    np.testing.assert_array_equal(found[:5], holed(PLANE))
    np.testing.assert_array_equal(found[5:], holed(PLANE - 400))
    for row in range(10):
        alone = load(npy(both[row : row + 1]), missing="estimate", space=sf.PlanarShapes(6)).points
        np.testing.assert_array_equal(alone[0], found[row])
    right = PLANE.copy()
    right[:, 2, 0] = 999
    np.testing.assert_array_equal(load(npy(right), missing="estimate,none", space=sf.PlanarShapes(6)).points, right)
    np.testing.assert_array_equal(load(npy(right[:1]), missing="estimate", space=sf.PlanarShapes(6)).points, right[:1])


def test_what_is_said_of_codes_goes_beside_the_estimate(load):
    few = PLANE[:, :4].copy()
    few[1, 2, 0] = -999  # seven other numbers are too few to tell it by
    with pytest.raises(FileError) as refused:
        load(npy(few), missing="estimate", space=sf.PlanarShapes(4))
    fixes = [part for part in refused.value.parts if isinstance(part, Fix)]
    assert fixes == [Fix("missing", "estimate,-999"), Fix("missing", "estimate,none")]
    assert np.isnan(load(npy(few), missing="estimate,-999", space=sf.PlanarShapes(4)).points).sum() == 2
    assert np.isfinite(load(npy(few), missing="estimate,none", space=sf.PlanarShapes(4)).points).all()
    half = PLANE.copy()
    half[2, 3, 1] = -9999  # one coordinate
    assert np.isnan(load(npy(half), missing="estimate").points[2, 3]).all()
    assert codes(["estimate", -9]) == ((-9.0,), ("estimate",))
    with pytest.raises(ValueError, match=r"missing must be a number .* 'estimate' or 'negative', not 'guess'"):
        load(npy(PLANE), missing="guess")


def test_points_within_curves_slide(load):
    curve = "CURVES=2\nPOINTS=4\n1 1\n2 3\n3 4\n4 4\nPOINTS=3\n5 5\n6 7\n8 8\n"
    text = f"LM=3\n0 0\n9 0\n0 9\n{curve}ID=a\n"
    assert load(text).sliders == ((4, 5, 6), (5, 6, 7), (8, 9, 10))
    assert load(text, curves="drop").sliders == ()
    assert load(text, curves=5).sliders == ((4, 5, 6), (5, 6, 7), (6, 7, 8), (9, 10, 11), (10, 11, 12), (11, 12, 13))
    assert load(tps(PLANE)).sliders == ()
    gap = text.replace("2 3", "NA NA")
    assert np.isnan(load(gap, missing="estimate").points[0, 4]).all()
