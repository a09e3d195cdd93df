"""Landmarks in three dimensions, files of 3D Slicer, curves, and spaces whose points come in several layouts."""

import io
import json

import numpy as np
import pytest

import sfumato as sf
from sfumato.files import FileError, read, write_points
from sfumato.files.curves import resampled, wanted
from sfumato.files.missing import remarks
from sfumato.spaces import Family

RNG = np.random.default_rng(17)
SOLID = RNG.normal(size=(4, 5, 3))
IDS = ["a", "b", "c", "d"]


class Solid(sf.Euclidean):
    """A space of landmarks in three dimensions, as far as files care."""

    kind = "landmarks"
    landmark_dim = 3
    size_option = "landmarks"

    def __init__(self, landmarks):
        super().__init__(3 * landmarks)

    def present(self, points):
        return np.asarray(points, dtype=np.float64).reshape(*np.shape(points)[:-1], -1, 3)

    def diagnose(self, points):
        return super().diagnose(np.asarray(points).reshape(len(points), -1))


class EitherWay(Solid):
    """One that takes landmarks of two or three dimensions."""

    landmark_dim = None


class Turns(sf.Euclidean):
    """A space whose points are written in three ways."""

    kind = "matrices"
    size_option = None

    def __init__(self):
        super().__init__(9)

    @property
    def layouts(self):
        return {"matrices": (3, 3), "unit quaternions": (4,), "rotation vectors": (3,)}


@pytest.fixture
def load(tmp_path):
    def load(content, space=None, name="file.dat", **choice):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read(path, space, **choice)

    return load


def tps(points=SOLID, word="LM3"):
    return "".join(
        f"{word}={len(p)}\n" + "".join(" ".join(map(repr, row)) + "\n" for row in p.tolist()) + f"ID={i}\n"
        for i, p in zip(IDS, points, strict=False)
    )


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def mat(array):
    from scipy.io import savemat

    buffer = io.BytesIO()
    savemat(buffer, {"a": array})
    return buffer.getvalue()


def rds(tmp_path, value):
    import rdata

    rdata.write_rds(tmp_path / "made.rds", value)
    return (tmp_path / "made.rds").read_bytes()


def table(names, rows):
    return "".join(",".join(map(str, row)) + "\n" for row in [names, *rows])


def rows_of(points=SOLID, order="xyz"):
    return [
        [i, j, *(repr(float(mark["xyz".index(axis)])) for axis in order)]
        for i, p in zip(IDS, points, strict=True)
        for j, mark in enumerate(p, start=1)
    ]


def wide(naming, points=SOLID):
    names = [naming.format(axis=axis, i=i) for i in range(1, 6) for axis in "xyz"]
    return table(["id", *names], [[i, *map(repr, p.ravel().tolist())] for i, p in zip(IDS, points, strict=True)])


TEXTS = {
    "TPS": tps(),
    "TPS with LM=": tps(word="LM"),
    "NTS": "1 4L 15 0 DIM=3\na b c d\n" + "".join(" ".join(map(repr, p.ravel().tolist())) + "\n" for p in SOLID),
    "Morphologika": "[individuals]\n4\n[landmarks]\n5\n[dimensions]\n3\n[names]\na\nb\nc\nd\n[rawpoints]\n"
    + "".join("'#\n" + "".join(" ".join(map(repr, row)) + "\n" for row in p.tolist()) for p in SOLID),
    "wide": wide("{axis}{i}"),
    "wide with dots": wide("{i}.{axis}"),
    "wide with names": wide("nose{i}_{axis}"),
    "long": table(["specimen", "landmark", "x", "y", "z"], rows_of()),
    "long in another order": table(["specimen", "landmark", "z", "x", "y"], rows_of(order="zxy")),
    "JSON": json.dumps(SOLID.tolist()),
}


# -- where planar landmarks are read ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("space", [None, Solid, Solid(5), EitherWay])
@pytest.mark.parametrize("form", TEXTS)
def test_texts(load, form, space):
    data = load(TEXTS[form], space)
    assert data.kind == "landmarks"
    np.testing.assert_array_equal(data.points, SOLID)
    assert data.contents == "4 records of 5 landmarks in 3 dimensions"
    if form != "JSON":
        assert next(data.labels[key] for key in data.labels if key.lower() in ("id", "specimen")).tolist() == IDS


@pytest.mark.parametrize("form", TEXTS)
def test_a_planar_space_is_told_that_landmarks_have_a_z(load, form):
    with pytest.raises(FileError, match=r"needs landmarks (in the plane|of shape \(5, 2\))"):
        load(TEXTS[form], sf.PlanarShapes if form == "TPS" else sf.PlanarShapes(5))
    assert load(TEXTS["TPS"].replace("LM3", "LM")).points.shape == (4, 5, 3)


def test_arrays(load, tmp_path):
    for space in (None, Solid, Solid(5), EitherWay):
        np.testing.assert_array_equal(load(npy(SOLID), space).points, SOLID)
        for order in ((1, 2, 0), (2, 1, 0)):
            np.testing.assert_array_equal(load(mat(SOLID.transpose(order)), space).points, SOLID)
            np.testing.assert_array_equal(load(rds(tmp_path, SOLID.transpose(order)), space).points, SOLID)
    for array in (np.moveaxis(SOLID, 0, -1), SOLID.transpose(2, 1, 0), SOLID.reshape(4, 15)):
        np.testing.assert_array_equal(load(npy(array), Solid(5)).points, SOLID)
    np.testing.assert_array_equal(load(npy(SOLID[0]), Solid).points, SOLID[:1])
    np.testing.assert_array_equal(load(npy(SOLID[0]), Solid(5)).points, SOLID[:1])
    flat = load(table([f"c{i}" for i in range(15)], SOLID.reshape(4, 15).tolist()), Solid(5))
    np.testing.assert_array_equal(flat.points, SOLID)
    assert flat.source.endswith("rows x1, y1, z1, x2, y2, z2, …")
    one = load(table("xyz", SOLID[0].tolist()), Solid)
    np.testing.assert_array_equal(one.points, SOLID[:1])
    assert load(table("xyz", SOLID[0].tolist())).kind == "vectors"  # as ever, where nothing says landmarks


def test_three_by_three_stays_a_matrix_unless_the_space_says_landmarks(load, tmp_path):
    squares = RNG.normal(size=(6, 3, 3))
    assert load(npy(squares)).kind == "matrices"
    assert load(rds(tmp_path, np.moveaxis(squares, 0, -1))).kind == "matrices"
    for space in (Solid, Solid(3), EitherWay):
        data = load(npy(squares), space)
        assert data.kind == "landmarks"
        np.testing.assert_array_equal(data.points, squares)
    assert load(npy(RNG.normal(size=(5, 5, 3)))).kind == "landmarks"  # NumPy has the records first
    with pytest.raises(
        FileError, match=r"as 2 records, landmarks \(5, 3\).* or 5 records, landmarks \(3, 2\).*give the space"
    ):
        load(rds(tmp_path, np.moveaxis(SOLID[:2], 0, -1)))
    assert load(rds(tmp_path, np.moveaxis(SOLID[:2], 0, -1)), Solid).points.shape == (2, 5, 3)


def test_long_tables_whose_specimens_the_user_names_and_of_one_specimen(load):
    names = ["shell", "landmark", "site", "x", "y", "z"]
    rows = [[i, j, "north", *at] for i, j, *at in rows_of()]
    for content in (table(names, rows), table(names, [rows[i] for i in RNG.permutation(20)])):
        for space in (None, Solid):
            with pytest.raises(
                FileError, match=r"no column is named specimen: say which .* columns='specimen=…, landmark"
            ):
                load(content, space)
            data = load(content, space, columns="specimen=shell, landmark, x, y, z")
            np.testing.assert_array_equal(data.points[np.argsort(data.labels["specimen"])], SOLID)
            assert data.landmarks == ("1", "2", "3", "4", "5")
    alone = table(names[1:], [row[1:] for row in rows[:5]])
    np.testing.assert_array_equal(load(alone, Solid).points, SOLID[:1])
    assert load(alone).kind == "vectors"  # which landmarks these are, nothing says
    named = load(table(["Specimen ID", "LM", "site", "X (mm)", "Y (mm)", "Z_mm"], rows))  # a unit says nothing else
    np.testing.assert_array_equal(named.points, SOLID)
    with pytest.raises(FileError, match="if each row is a landmark, add a column 'specimen'"):
        load(table(["x", "y", "z"], [row[3:] for row in rows]), Solid(5))


def test_r_lists_and_workspaces(load, tmp_path):
    import pandas as pd
    import rdata

    content = rds(tmp_path, dict(zip(IDS, SOLID, strict=True)))
    data = load(content)
    np.testing.assert_array_equal(data.points, SOLID)
    assert data.labels["ID"].tolist() == IDS
    frames = {name: pd.DataFrame(p, columns=list("xyz")) for name, p in zip(IDS, SOLID, strict=True)}
    np.testing.assert_array_equal(load(rds(tmp_path, frames)).points, SOLID)
    sliders, species = np.array([[1.0, 2, 3], [2, 3, 4]]), np.array(["u", "v", "u", "v"])
    rdata.write_rda(
        tmp_path / "study.rda",
        {"scallops": {"coorddata": np.moveaxis(SOLID, 0, -1), "curvslide": sliders, "species": species}},
    )
    data = read(tmp_path / "study.rda")
    np.testing.assert_array_equal(data.points, SOLID)
    assert data.source == "the array 'coorddata' (5, 3, 4), in the order (k, 3, n)"
    assert data.labels["species"].tolist() == ["u", "v", "u", "v"]
    wide_frame = pd.DataFrame(SOLID.reshape(4, 15), columns=[f"{a}{i}" for i in range(1, 6) for a in "xyz"])
    data = load(rds(tmp_path, wide_frame.assign(species=pd.Categorical(["u", "v", "u", "v"]))))
    np.testing.assert_array_equal(data.points, SOLID)
    assert data.labels["species"].tolist() == ["u", "v", "u", "v"]


def test_a_missing_landmark_of_three_coordinates(load):
    gone = TEXTS["TPS"].replace(" ".join(map(repr, SOLID[2, 3].tolist())), "NA NA NA")
    assert np.argwhere(np.isnan(load(gone).points)).tolist() == [[2, 3, 0], [2, 3, 1], [2, 3, 2]]
    pixels = RNG.integers(20, 900, size=(4, 5, 3)).astype(float)
    for code in (-999, -1):
        coded = pixels.copy()
        coded[3, 1] = code
        with pytest.raises(FileError, match=rf"record 3 \(line 22; ID 'd'\): landmark 2 is {code}; .*missing={code}"):
            load(tps(coded))
        assert np.isnan(load(tps(coded), missing=code).points[3, 1]).all()
        with pytest.raises(FileError, match=rf"column 'x2', and 'y2', 'z2', is {code}"):
            load(wide("{axis}{i}", coded))
    coded = pixels.copy()
    coded[3, 1, 2] = -999
    with pytest.raises(FileError, match="z of landmark 2 is -999"):
        load(tps(coded))


def test_remarks_in_three_dimensions(load):
    flat = SOLID * [1, 1, 0]
    data = load(tps(flat))
    assert data.points.shape == (4, 5, 3)
    assert any("all z are 0: if the landmarks are planar" in remark for remark in remarks(data, Solid(5)))
    assert remarks(load(tps()), Solid(5)) == []
    zero = RNG.integers(20, 900, size=(4, 5, 3)).astype(float)
    zero[3, 1] = 0
    assert "landmark 2 is (0, 0, 0)" in remarks(load(tps(zero)), Solid(5))[0]


@pytest.mark.parametrize("dim", [2, 3])
def test_a_mirror_image_among_the_specimens_is_noticed(load, dim):
    from sfumato.files.missing import mirrored

    some = RNG.normal(size=(8, dim)) + RNG.normal(0, 0.1, (20, 8, dim))
    some *= RNG.uniform(1, 9, (20, 1, 1))
    assert mirrored(some) == []
    some[[0, 7], :, 0] *= -1
    some[3, 2, 1] = np.nan
    assert mirrored(some) == [0, 7]
    some[:, :, 0] *= -1
    data = load(npy(some))
    space = sf.Shapes(8, dim)
    assert [words.split(":")[0] for words in remarks(data, space) if "looks like the mirror image" in words] == [
        "record 0",
        "record 7",
    ]
    if dim == 3:
        assert not any("mirror" in words for words in remarks(data, sf.Shapes3D(8, reflections=True)))


def test_inspection_in_three_dimensions(load):
    from sfumato.views.curator import inspection, inspection_in_words

    coded = SOLID.copy()
    coded[2, 3, 2] = np.nan
    data = load(tps(coded).replace("nan", "NA"))
    words = inspection_in_words(data, Solid(5), inspection(data, Solid(5), ""))
    assert "TPS, 4 records of 5 landmarks in 3 dimensions\nThe points are the landmarks of LM3=5" in words
    assert "Bad records: 1\n  record 2 (line 15; ID 'c'): holds NaN" in words


@pytest.mark.parametrize("ending", [".tps", ".csv", ".npy"])
def test_a_value_in_three_dimensions_is_written_to_the_last_bit(tmp_path, ending):
    path = tmp_path / f"mean{ending}"
    write_points(path, SOLID[0], "landmarks")
    np.testing.assert_array_equal(read(path, Solid(5)).points, SOLID[:1])
    if ending == ".tps":
        assert path.read_text().startswith("LM3=5\n")


def test_cut_files_are_complete_or_refused(load):
    for form in ("TPS", "NTS", "Morphologika"):
        text = TEXTS[form]
        for end in range(1, len(text), 13):
            try:
                data = load(text[:end])
            except FileError:
                continue
            assert form == "TPS" or len(data) == 4 or data.kind != "landmarks"
            assert data.kind != "landmarks" or data.points.shape[1:] == (5, 3)


# -- 3D Slicer -------------------------------------------------------------------------------------------------------------
COLUMNS = "id,x,y,z,ow,ox,oy,oz,vis,sel,lock,label,desc,associatedNodeID"


def fcsv(points, system="LPS", names=None, status=""):
    signs = [1, 1, 1] if system in ("LPS", "1") else [-1, -1, 1]
    names = names or [f"F-{j}" for j in range(1, len(points) + 1)]
    return f"# Markups fiducial file version = 4.11\n# CoordinateSystem = {system}\n# columns = {COLUMNS}\n" + "".join(
        f"vtkMRMLMarkupsFiducialNode_{j},{x!r},{y!r},{z!r},0,0,0,1,1,1,0,{name},,{status}\n"
        for j, ((x, y, z), name) in enumerate(zip((points * signs).tolist(), names, strict=True))
    )


def markups(points, system="LPS", names=None, kind="Fiducial", **more):
    signs = [1, 1, 1] if system == "LPS" else [-1, -1, 1]
    names = names or [f"F-{j}" for j in range(1, len(points) + 1)]
    held = [
        {"id": str(j), "label": name, "position": at, "positionStatus": "defined"}
        for j, (at, name) in enumerate(zip((points * signs).tolist(), names, strict=True))
    ]
    return {"type": kind, "coordinateSystem": system, "controlPoints": held, **more}


def mrk(*lists):
    return json.dumps({"@schema": "https://…/markups-schema-v1.0.3.json#", "markups": list(lists)}, indent=1)


@pytest.mark.parametrize("space", [None, Solid, Solid(5)])
@pytest.mark.parametrize("system", ["LPS", "RAS"])
def test_slicer_files_come_out_in_lps(load, system, space):
    for content, name, form in (
        (fcsv(SOLID[0], system), "a.fcsv", "Slicer fiducials"),
        (fcsv(SOLID[0], {"LPS": "1", "RAS": "0"}[system]), "a.txt", "Slicer fiducials"),
        (mrk(markups(SOLID[0], system)), "a.mrk.json", "Slicer markups"),
        (mrk(markups(SOLID[0, :2], system), markups(SOLID[0, 2:], "LPS")), "a.json", "Slicer markups"),
    ):
        data = load(content, space, name)
        np.testing.assert_array_equal(data.points, SOLID[:1])
        assert (data.format, data.kind) == (form, "landmarks")
        assert (
            data.source == "5 control points in LPS coordinates (RAS is turned to them)" or "2 control" in data.source
        )


def test_a_folder_of_slicer_files_in_both_systems(tmp_path):
    for ending, write in ((".fcsv", fcsv), (".mrk.json", lambda *a, **k: mrk(markups(*a, **k)))):
        folder = tmp_path / ending[1:]
        folder.mkdir()
        for i, p in enumerate(SOLID):  # each list is named after its specimen
            names = [f"skull{i}-{j}" for j in range(1, 6)]
            (folder / f"s{i}{ending}").write_text(write(p, "LPS" if i % 2 else "RAS", names))
        data = read(folder)
        np.testing.assert_array_equal(data.points, SOLID)
        assert data.labels["file"].tolist() == [f"s{i}{ending}" for i in range(4)]
        assert data.landmarks == ("1", "2", "3", "4", "5")
        assert "LPS" in data.source
        assert data.source.endswith("of each of 4 files")


def test_landmarks_of_other_names_or_another_order_are_refused(tmp_path):
    names = ["nasion", "bregma", "lambda", "inion", "basion"]
    one, two = tmp_path / "one.fcsv", tmp_path / "two.mrk.json"
    one.write_text(fcsv(SOLID[0], names=names))
    two.write_text(mrk(markups(SOLID[1], names=names)))
    np.testing.assert_array_equal(read([one, two]).points, SOLID[:2])
    assert read([one, two]).landmarks == tuple(names)
    two.write_text(mrk(markups(SOLID[1], names=[names[1], names[0], *names[2:]])))
    with pytest.raises(
        FileError, match=r"two\.mrk\.json: has landmark 'bregma' where .*one\.fcsv has 'nasion'; .*order"
    ):
        read([one, two])
    two.write_text(mrk(markups(SOLID[1, :4], names=names[:4])))
    with pytest.raises(FileError, match=r"two\.mrk\.json: holds landmarks of shape \(4, 3\)"):
        read([one, two])


def test_points_that_were_not_placed_are_missing(load):
    held = markups(SOLID[0], names=["nasion", "bregma", "lambda", "inion", "basion"])
    held["controlPoints"][1] |= {"positionStatus": "missing"}
    held["controlPoints"][3] |= {"positionStatus": "undefined", "position": None}
    data = load(mrk(held))
    assert np.isnan(data.points[0]).all(axis=1).tolist() == [False, True, False, True, False]
    assert data.where(0) == "record 0 (see landmark 'bregma', 'inion')"
    lines = fcsv(SOLID[0], status=",2,0").splitlines()
    lines[4] = lines[4].replace(",2,0", ",0,0")
    assert np.isnan(load("\n".join(lines)).points[0]).all(axis=1).tolist() == [False, True, False, False, False]
    np.testing.assert_array_equal(load(fcsv(SOLID[0], status=",2,0")).points, SOLID[:1])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("LPS", "IJK", "the coordinate system 'IJK' is not known"),
        ("id,x,y,z", "id,x,y", "names no column z"),
        (",1,1,1,0,F-2,,", "", "line 5: 7 values, but '# columns =' names 14; is the file cut"),
        ("_1,", "_1,one,", "line 5: 'one' is not a number"),
        ("F-2", '"F-2', r"line [0-9]+: \d+ values|unexpected end of data|line 5"),
    ],
)
def test_malformed_fcsv(load, old, new, message):
    text = fcsv(SOLID[0])
    assert old in text
    with pytest.raises(FileError, match=message):
        load(text.replace(old, new, 1), name="a.fcsv")


def test_fcsv_without_points(load):
    with pytest.raises(FileError, match="holds no control points"):
        load("\n".join(fcsv(SOLID[0]).splitlines()[:3]))
    plain = "\n".join(fcsv(SOLID[0], "RAS").splitlines()[3:])  # old files lack what says LPS
    np.testing.assert_array_equal(load(plain, name="a.fcsv").points, SOLID[:1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (mrk(markups(SOLID[0]))[:-40], "not JSON: .*; is the file cut"),
        (mrk(markups(SOLID[0], kind="ROI")), "list 1 is of type 'ROI'; save lists of points and curves alone"),
        (mrk(markups(SOLID[0], coordinateSystem="XYZ")), "the coordinate system 'XYZ' is not known"),
        (
            mrk({"type": "Fiducial", "controlPoints": [{"position": [1, 2]}]}),
            r"point 1: the position '\[1, 2\]' is not",
        ),
        (mrk({"type": "Fiducial", "controlPoints": [{"position": [1, 2, "3"]}]}), "is not three numbers"),
        (mrk({"type": "Fiducial", "controlPoints": 3}), "'controlPoints' is not a list of points"),
        (mrk({"type": "Fiducial", "controlPoints": []}), "holds no control points"),
        ('{"markups": [3]}', "'markups' is not a list of markups"),
        (mrk(), "holds no control points"),
    ],
)
def test_malformed_markups(load, text, message):
    with pytest.raises(FileError, match=message):
        load(text)


# -- curves ----------------------------------------------------------------------------------------------------------------
ARC = [[0.0, 0.0], [1.0, 0.0], [1.0, 3.0]]
OTHER = [[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [0.0, 4.0], [0.0, 6.0]]
LOOP = [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0], [0.0, 0.0]]


def curved(*curves, landmarks=((5.0, 5.0), (6.0, 5.0), (5.0, 7.0))):
    def lines(points):
        return "".join(" ".join(map(repr, map(float, p))) + "\n" for p in points)

    blocks = "".join(f"POINTS={len(curve)}\n{lines(curve)}" for curve in curves)
    return f"LM={len(landmarks)}\n{lines(landmarks)}CURVES={len(curves)}\n{blocks}"


def test_curves_are_kept_dropped_or_resampled(load):
    text = curved(ARC, LOOP) + curved(OTHER, LOOP)
    with pytest.raises(FileError, match=r"record 1 .*\[3, 5, 5\] points, but record 0 .*curves='drop'.*curves=20"):
        load(text)
    dropped = load(text, curves="drop")
    assert dropped.points.shape == (2, 3, 2)
    assert dropped.source == "the landmarks of LM=3; 2 curves and outlines were dropped"
    data = load(text, curves=3)
    assert "then 2 curves and outlines, each resampled to 3 points evenly along it" in data.source
    np.testing.assert_array_equal(data.points[:, :3], dropped.points)
    np.testing.assert_allclose(data.points[0, 3:6], [[0, 0], [1, 1], [1, 3]], atol=1e-15)
    np.testing.assert_allclose(data.points[1, 3:6], [[0, 0], [0, 3], [0, 6]], atol=1e-15)
    np.testing.assert_allclose(data.points[:, 6:], [[[0, 0], [2, 2], [0, 0]]] * 2, atol=1e-15)
    kept = curved(ARC) * 2
    np.testing.assert_array_equal(load(kept).points, load(kept, curves="keep").points)
    assert load(kept).points.shape == (2, 6, 2)
    with pytest.raises(FileError, match=r"landmarks and curves of \[3, 5\] .*curves='drop'$"):
        load(curved(ARC, ARC) + curved(ARC), curves=5)
    with pytest.raises(FileError, match="has no points"):
        load(curved(ARC, landmarks=()), curves="drop")
    assert load(curved(ARC, landmarks=()), curves=4).points.shape == (1, 4, 2)
    for wrong in ("some", 1, -3, True, 2.5, "1e3"):
        with pytest.raises(ValueError, match="curves must be 'keep', 'drop' or a number"):
            load(kept, curves=wrong)
    assert wanted("12") == 12
    assert load(tps(), curves=9).source == "the landmarks of LM3=5; it marks no curves"


def test_resampling_keeps_lengths_and_ends():
    rng = np.random.default_rng(3)
    for dim in (2, 3):
        curve = np.cumsum(rng.normal(size=(40, dim)), axis=0)
        dense = resampled(curve, 20_001)
        length = np.linalg.norm(np.diff(curve, axis=0), axis=1).sum()
        steps = np.linalg.norm(np.diff(dense, axis=0), axis=1)
        assert np.abs(steps.sum() - length) < 1e-3 * length  # corners are cut by a little
        np.testing.assert_allclose(np.median(steps), length / 20_000, rtol=1e-9)
        np.testing.assert_array_equal(dense[[0, -1]], curve[[0, -1]])
    assert np.isfinite(resampled(1e300 * curve, 7)).all()
    np.testing.assert_array_equal(resampled(np.ones((4, 2)), 3), np.ones((3, 2)))
    np.testing.assert_array_equal(resampled(np.ones((1, 2)), 3), np.ones((3, 2)))
    assert np.isnan(resampled(np.array([[0.0, 0.0], [np.nan, 1.0], [2.0, 2.0]]), 3)).all()


def test_a_code_in_a_curve_is_not_blended_into_new_points(load):
    bad = [[10.0, 20.0], [-999.0, -999.0], [30.0, 40.0], [50.0, 10.0]]
    text = curved(bad) + curved(OTHER)
    with pytest.raises(FileError, match=r"record 0 \(line 1\): a point of a curve holds -999; many programs"):
        load(text, curves=4)
    data = load(text, curves=4, missing=-999)
    assert np.isnan(data.points[0, 3:]).all()
    assert np.isfinite(data.points[1]).all()


def test_curves_of_slicer(load, tmp_path):
    arc = np.array([[*p, 1.0] for p in ARC])
    data = load(mrk(markups(arc, kind="Curve"), markups(SOLID[0])), curves=3)
    np.testing.assert_allclose(data.points[0], [*SOLID[0], [0, 0, 1], [1, 1, 1], [1, 3, 1]])
    assert load(mrk(markups(arc, kind="Curve"), markups(SOLID[0])), curves="drop").points.shape == (1, 5, 3)
    for i, curve in enumerate((arc, arc[:2])):
        (tmp_path / f"{i}.mrk.json").write_text(mrk(markups(SOLID[i]), markups(curve, kind="ClosedCurve")))
    files = [tmp_path / f"{i}.mrk.json" for i in range(2)]
    with pytest.raises(FileError, match="all files must hold the same, as curves=20"):
        read(files)
    assert read(files, curves=4).points.shape == (2, 9, 3)


class Diagonal(sf.Euclidean):
    kind = "vectors"

    @property
    def layouts(self):
        return {"vectors": (self.dim,), "matrices": (self.dim, self.dim)} | ({"number": ()} if self.dim == 1 else {})


def test_the_first_layout_wins(load):
    assert load(npy(np.eye(3)), Diagonal(3)).points.shape == (3, 3)  # three records, not one matrix
    assert load(npy(np.ones((5, 3, 3))), Diagonal(3)).points.shape == (5, 3, 3)
    assert load(npy(np.eye(3)), Turns()).points.shape == (1, 3, 3)
    assert load(npy(np.arange(7.0)), Diagonal(1)).points.shape == (7, 1)


# -- spaces that take several layouts --------------------------------------------------------------------------------------
QUATERNIONS = (lambda a: a / np.linalg.norm(a, axis=1, keepdims=True))(RNG.normal(size=(6, 4)))


@pytest.mark.parametrize("space", [Turns(), Family(Turns)])
@pytest.mark.parametrize(
    "names", ["qw qx qy qz", "QX QY QZ QW", "x y z w", "q_x q_w q_z q_y", "q0 q1 q2 q3", "y z w x"]
)
def test_names_order_the_parts_of_a_quaternion(load, names, space):
    order = ["wxyz".index(name[-1].lower().translate(str.maketrans("0123", "wxyz"))) for name in names.split()]
    text = table(["time", *names.split()], np.column_stack([np.arange(6), QUATERNIONS[:, order]]).tolist())
    data = load(text, space)
    np.testing.assert_array_equal(data.points, QUATERNIONS)
    assert data.source.endswith("quaternions, scalar first (w, x, y, z)")
    assert list(data.labels) == ["time"]
    if names[0] in "qQ":  # without a space too; a plain w may be a weight
        np.testing.assert_array_equal(load(text).points, QUATERNIONS)


def test_every_layout_of_a_space_is_read(load):
    from scipy.spatial.transform import Rotation

    turns = Rotation.from_quat(QUATERNIONS, scalar_first=True)
    space = Turns()
    for points, called in (
        (turns.as_matrix(), "matrices"),
        (QUATERNIONS, "unit quaternions, scalar first (w, x, y, z)"),
        (turns.as_rotvec(), "rotation vectors"),
    ):
        for wanted_space in (space, Turns):
            data = load(npy(points), wanted_space)
            np.testing.assert_array_equal(data.points, points)
            assert data.source.endswith(f", as {called}")
        np.testing.assert_array_equal(load(npy(points[0]), space).points, points[:1])
    text = table(["a", "b", "c", "d"], QUATERNIONS.tolist())
    assert load(text, space).source == "the columns a, b, c, d, as unit quaternions, scalar first (w, x, y, z)"
    np.testing.assert_array_equal(load(npy(turns.as_matrix().reshape(6, 9)), space).points, turns.as_matrix())
    names = [f"r{i}_{j}" for i in range(3) for j in range(3)]
    data = load(table(names, turns.as_matrix().reshape(6, 9).tolist()), space)
    np.testing.assert_array_equal(data.points, turns.as_matrix())
    with pytest.raises(
        FileError, match=r"needs matrices of shape \(3, 3\) or unit quaternions of shape \(4,\) or rotation"
    ):
        load(npy(np.zeros((6, 5))), space)
    with pytest.raises(FileError, match="needs 3 or 4 or 9"):
        load(table(list("abcdef"), np.zeros((2, 6)).tolist()), space)  # no half of a symmetric matrix
