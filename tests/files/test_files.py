"""Files in and out.  Every fixture is made here; the helper ``cuts`` holds each format to coming out whole or not at all."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import zipfile

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import Fix
from sfumato.files import FileError, apart, read, write_points
from sfumato.files.base import allowed
from sfumato.files.reading import reader

RNG = np.random.default_rng(20221)
LANDMARKS = RNG.normal(size=(4, 5, 2))
MATRICES = (lambda a: a @ a.swapaxes(1, 2) + np.eye(3))(RNG.normal(size=(6, 3, 3)))
VECTORS = (lambda a: a / np.linalg.norm(a, axis=1, keepdims=True))(RNG.normal(size=(7, 3)))
IDS = ["a", "b", "c", "d"]


@pytest.fixture
def load(tmp_path):
    """Write text or bytes to a file and read that."""

    def load(content, space=None, name="file.dat", **choice):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read(path, space, **choice)

    return load


def tps(points=LANDMARKS, end="\n", ids=IDS):
    rows = [
        [f"LM={len(p)}", *(f"{x!r} {y!r}" for x, y in p.tolist()), f"ID={i}", ""]
        for p, i in zip(points, ids, strict=True)
    ]
    return end.join(line for row in rows for line in row) + end


def morphologika(points=LANDMARKS):
    n, k, d = points.shape
    text = (
        f"[individuals]\n{n}\n[landmarks]\n{k}\n[dimensions]\n{d}\n[names]\n" + "\n".join(IDS[:n]) + "\n\n[rawpoints]\n"
    )
    for i, specimen in enumerate(points.tolist()):
        text += f"\n'{i + 1}\n" + "".join(" ".join(map(repr, row)) + "\n" for row in specimen)
    return text


def nts(points=LANDMARKS, header="1 4L 10 0 DIM=2", labels="a b c d\n"):
    return f'"made by a test\n{header}\n{labels}' + "".join(
        " ".join(map(repr, p.ravel().tolist())) + "\n" for p in points
    )


def csv(header, rows, mark=","):
    return "".join(mark.join(map(str, row)) + "\n" for row in [header, *rows])


def wide(points=LANDMARKS):
    names = [f"{axis}{i}" for i in range(1, points.shape[1] + 1) for axis in "xy"]
    return csv(["id", *names], [[i, *map(repr, p.ravel().tolist())] for i, p in zip(IDS, points, strict=True)])


def npy(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def npz(save=np.savez, **arrays):
    buffer = io.BytesIO()
    save(buffer, **arrays)
    return buffer.getvalue()


def mat(compressed=True, **arrays):
    from scipy.io import savemat

    buffer = io.BytesIO()
    savemat(buffer, arrays, do_compression=compressed)
    return buffer.getvalue()


def mat73(fill):
    """What MATLAB writes: HDF5 behind 512 bytes of its own."""
    import h5py

    buffer = io.BytesIO()
    with h5py.File(buffer, "w", userblock_size=512) as file:
        fill(file)
    return b"MATLAB 7.3 MAT-file, made by a test".ljust(512) + buffer.getvalue()[512:]


def mat73_of(**arrays):
    def fill(file):
        for name, array in arrays.items():
            file.create_dataset(name, data=np.asarray(array).T).attrs["MATLAB_class"] = np.bytes_("double")

    return mat73(fill)


def rds(tmp_path, value, compression="gzip", file_format="xdr"):
    import rdata

    rdata.write_rds(tmp_path / "made.rds", value, compression=compression, file_format=file_format)
    return (tmp_path / "made.rds").read_bytes()


def parquet(columns, **options):
    import pyarrow
    import pyarrow.parquet

    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), buffer, **options)
    return buffer.getvalue()


def parquet_of(points=LANDMARKS):
    names = [f"{axis}{i}" for i in range(1, points.shape[1] + 1) for axis in "xy"]
    return parquet({"id": IDS, **dict(zip(names, points.reshape(len(points), -1).T, strict=True))})


# -- TPS -------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["a.tps", "a.txt", "a.csv", "a.npy", "a"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_tps_is_told_by_its_content(load, name, end):
    data = load(tps(end=end), name=name)
    np.testing.assert_array_equal(data.points, LANDMARKS)
    assert (data.format, data.kind, len(data), data.path.name) == ("TPS", "landmarks", 4, name)
    assert data.labels["ID"].tolist() == IDS
    assert data.points.dtype == np.float64
    sf.PlanarShapes(5).validate(data.points)


def test_tps_with_everything_that_real_files_have(load):
    text = "\ufeffLM=1\n -1.5 2e2\n\nCURVES=2\nPOINTS=1\n3 4\nPOINTS=2\n5 6\nNA nan\nOUTLINES=1\nPOINTS=1\n.5 7.\n"
    text += "IMAGE=../../etc/passwd\nID=007\nSCALE=0.25\nCOMMENT=one\nCOMMENT=two=2\n\n   \x1a"
    data = load(text, sf.PlanarShapes(5))
    np.testing.assert_array_equal(data.points, [[[-1.5, 200], [3, 4], [5, 6], [np.nan, np.nan], [0.5, 7]]])
    assert data.labels["ID"].tolist() == ["007"]
    assert data.labels["SCALE"].tolist() == [0.25]
    assert data.labels["COMMENT"].tolist() == ["one; two=2"]
    with pytest.raises(sf.InvalidPointError, match=r"record 0: holds NaN or an infinite value: landmark 4$"):
        sf.PlanarShapes(5).validate(data.points)


def test_tps_of_curves_alone_and_without_ids(load):
    data = load("lm = 0\nCURVES=1\nPOINTS=3\n0 0\n1 0\n0 1\n" * 2)
    assert data.points.shape == (2, 3, 2)
    assert data.labels == {}


def test_tps_labels_that_only_some_records_have(load):
    text = "LM=3\n0 0\n1 0\n0 1\n{}LM=3\n0 0\n1 0\n0 1\nID=b\n"
    data = load(text.format("SCALE=2\nCOMMENT=x\nID=ü\n") + "LM=3\n0 0\n1 0\n0 1\nID=c\n")
    np.testing.assert_array_equal(data.labels["SCALE"], [2, np.nan, np.nan])
    assert data.labels["COMMENT"].tolist() == ["x", "", ""]


def test_text_in_other_encodings(load):
    for encoding in ("cp1252", "utf-16", "utf-8-sig"):
        data = load(tps(ids=["é", "ö", "c", "d"]).encode(encoding))
        assert data.labels["ID"].tolist() == ["é", "ö", "c", "d"]


TRIANGLE = "0 0\n1 0\n0 1\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("LM3=3\n0 0 0\n1 0\n0 1 0\n", r"line 3: expected three coordinates, not '1 0'"),
        ("LM3=3\n" + TRIANGLE, r"line 2: expected three coordinates, not '0 0'"),
        ("LM=3\n" + TRIANGLE + "LM3=3\n0 0 0\n1 0 0\n0 1 0\n", r"line 5: LM3= in a file of planar landmarks"),
        ("LM=3\n0 0\n1 0 0\n0 1\n", r"line 3: expected two coordinates, not '1 0 0'"),
        ("LM=1000000000000\n" + TRIANGLE, r"line 1: 'LM=1000000000000', but only 3 lines follow"),
        ("LM=" + "9" * 5000 + "\n" + TRIANGLE, r"line 1: LM='9{40}…' is not a count"),
        ("LM=-3\n" + TRIANGLE, r"line 1: LM='-3' is not a count"),
        ("LM=x\n" + TRIANGLE, r"line 1: LM='x' is not a count"),
        ("LM=4\n" + TRIANGLE + "ID=1\n", r"line 1: 'LM=4', but only 3 lines follow before the next keyword"),
        ("LM=2\n" + TRIANGLE, r"line 4: expected KEYWORD=value, found '0 1'; is a count too small"),
        ("LM=3\n0 0\n1 zero\n0 1\n", r"line 3: 'zero' is not a number"),
        ("LM=3\n0 0\n1 1_0\n0 1\n", r"line 3: '1_0' is not a number"),
        ("LM=3\n0 0\n1,5 0\n0 1\n", r"line 3: '1,5' has a decimal comma; write 1\.5"),
        ("LM=3\n0 0\n1\n0 1\n", r"line 3: expected two coordinates, not '1'"),
        ("ID=1\nLM=3\n" + TRIANGLE, r"line 1: 'ID=1' comes before the first LM="),
        (
            "LM=3\n" + TRIANGLE + "LM=4\n1 1\n" + TRIANGLE,
            r"record 1 \(line 5\): 4 points, but record 0 \(line 1\) has 3",
        ),
        ("LM=0\nID=1\n", r"record 0 \(line 1\): has no points"),
        ("LM=2\n0 0\n1 1\n", r"2 landmarks per specimen; a shape needs at least 3"),
        ("LM=3\n" + TRIANGLE + "POINTS=1\n1 1\n", r"line 5: a POINTS= that no CURVES= or OUTLINES= announces"),
        ("LM=3\n" + TRIANGLE + "CURVES=2\nPOINTS=1\n1 1\n", r"line 5: CURVES= announces 1 more POINTS= than follow"),
        ("LM=3\n" + TRIANGLE + "CURVES=1\nLM=3\n" + TRIANGLE, r"line 5: CURVES= announces 1 more"),
        ("LM=3\n" + TRIANGLE + "SCALE=big\n", r"line 5: SCALE 'big' is not a number"),
        ("LM=3\n" + TRIANGLE + "ID=1\nID=2\n", r"line 6: a second ID= in the record of line 1"),
        (
            2 * ("LM=3\n" + TRIANGLE + "ID=1\n") + "LM=3\n" + TRIANGLE,
            r"record 2 \(line 11\): the last record has no ID=",
        ),
        ("", r"the file is empty"),
    ],
)
def test_malformed_tps(load, text, message):
    with pytest.raises(FileError, match=r"file\.dat: " + message):
        load(text)


def test_a_tps_name_without_tps_inside(load):
    with pytest.raises(FileError, match="line 1: expected LM=, found 'hello'"):
        load("hello\n", name="a.tps")
    with pytest.raises(FileError, match="no LM= line"):
        load(b"\xff\xfeL", name="a.tps")  # half of a character of UTF-16, and nothing else


def test_landmarks_that_do_not_fit_the_space(load):
    with pytest.raises(
        FileError, match=r"holds 5 landmarks .* PlanarShapes\(landmarks=6\) needs landmarks of shape \(6, 2\)"
    ):
        load(tps(), sf.PlanarShapes(6))
    with pytest.raises(FileError, match=r"SPD\(size=5\) needs matrices"):
        load(tps(), sf.SPD(5))


# -- NTS and Morphologika --------------------------------------------------------------------------------------------------
def test_nts(load):
    data = load(nts())
    np.testing.assert_array_equal(data.points, LANDMARKS)
    assert (data.format, data.labels["ID"].tolist()) == ("NTS", IDS)
    columns = " ".join(f"c{i}" for i in range(10)) + "\n"
    np.testing.assert_array_equal(load(nts(header="1 4L 10L 0 dim=2", labels="a b c d\n" + columns)).points, LANDMARKS)


@pytest.mark.parametrize("letter", ["B", "E"])
def test_nts_with_labels_in_the_rows_and_missing_values(load, letter):
    rows = ["0 0 1 0 -999 1", "0 0 2 0 0 1"]
    rows = [f"{i} {row}" if letter == "B" else f"{row} {i}" for i, row in zip("ab", rows, strict=True)]
    data = load(f'" comment\n" another\n1 2{letter} 6 1 -999 DIM=2\n' + "\n".join(rows) + "\n")
    np.testing.assert_array_equal(data.points[0], [[0, 0], [1, 0], [np.nan, 1]])
    assert data.labels["ID"].tolist() == ["a", "b"]


def test_nts_of_one_specimen(load):
    assert load("1 3 2 0 DIM=2\n" + TRIANGLE).points.shape == (1, 3, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2 6 0 DIM=2\n0 0 1 0 0 1\n", "line 1: the header announces 12 numbers and labels, the file holds 6"),
        ("1 100000000000 1000000 0 DIM=2\n1\n", "line 1: the header announces 100000000000000000 numbers"),
        ("1 1 6 0 DIM=2\n0 0 1 0 0 1 5\n", "announces 6 numbers and labels, the file holds 7"),
        ("1 1 6 0 DIM=2\n0 0 1 0\n0 one\n", "line 3: 'one' is not a number"),
        ("1 1 6 0\n0 0 1 0 0 1\n", "line 1: the header does not say how many .*: write DIM=2 or DIM=3 at its end"),
        ("1 1 9 0 DIM=4\n0 0 1 0 0 1 0 0 0\n", "line 1: DIM='4'; landmarks have DIM=2 or DIM=3"),
        ("1 1 8 0 DIM=3\n0 0 1 0 0 1 0 0\n", "line 1: 8 columns cannot be landmarks with DIM=3: each has 3"),
        ("1 1 7 0 DIM=2\n0 0 1 0 0 1 0\n", "line 1: 7 columns cannot be landmarks with DIM=2: each has 2"),
        ("2 3 3 0 DIM=2\n1 2 3\n", "line 1: matrix type 2"),
        ("1 1 6 1 DIM=2\n0 0 1 0 0 1\n", "line 1: missing values are announced, but not the number"),
        ("1 1 6 0 9 DIM=2\n0 0 1 0 0 1\n", "line 1: '9' after 0"),
        ("1 1 x 0 DIM=2\n0 0 1 0 0 1\n", "line 1: '1 1 x 0 DIM=2' is not an NTS header"),
        ('" only a comment\n', "comments only"),
    ],
)
def test_malformed_nts(load, text, message):
    with pytest.raises(FileError, match=message):
        load(text, name="a.nts")


def test_morphologika(load):
    data = load(morphologika())
    np.testing.assert_array_equal(data.points, LANDMARKS)
    assert (data.format, data.labels["ID"].tolist()) == ("Morphologika", IDS)
    text = morphologika().replace("[names]\na\nb\nc\nd\n", "[labels]\nsex age\n[labelvalues]\nf 1\nm 2\nf 3\nm 4\n")
    labels = load(text + "[wireframe]\n1 2\n").labels
    assert {name: column.tolist() for name, column in labels.items()} == {
        "ID": ["1", "2", "3", "4"],
        "sex": ["f", "m", "f", "m"],
        "age": [1, 2, 3, 4],
    }
    no_marks = "\n".join(line for line in morphologika().split("\n") if not line.startswith("'"))
    np.testing.assert_array_equal(load(no_marks).points, LANDMARKS)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "[individuals]\n4",
            "[individuals]\n5",
            r"\[rawpoints\] holds 20 points, but 5 individuals of 5 landmarks are 25",
        ),
        ("[landmarks]\n5", "[landmarks]\n1000000000000", r"but 4 individuals of 1000000000000 landmarks"),
        ("[dimensions]\n2", "[dimensions]\n4", r"\[dimensions\] is 4; landmarks have 2 or 3"),
        ("[dimensions]\n2", "[dimensions]\n3", "line 16: expected three coordinates"),
        ("[dimensions]\n2\n", "", r"the section \[dimensions\] must hold one number, not 0 lines"),
        ("[landmarks]\n5", "[landmarks]\nfive", r"line 4: \[landmarks\] ='five' is not a count"),
        ("\nd\n", "\n", r"\[names\] holds 3 lines, but \[individuals\] says 4"),
        ("[individuals]", "[names]\n[individuals]", r"the heading '\[names\]' is cut or repeated"),
        ("'2\n", "", r"line 22: .*expected a 'specimen line"),
        ("[individuals]", "x\n[individuals]", r"line 1: 'x' comes before the first \[section\]"),
        ("[names]\na", "[labels]\nsex\n[labelvalues]\na b", r"line 10: 2 label values for the 1 labels"),
    ],
)
def test_malformed_morphologika(load, old, new, message):
    assert old in morphologika()
    with pytest.raises(FileError, match=message):
        load(morphologika().replace(old, new))


# -- tables ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "naming", ["x{}|y{}", "X.{}|Y.{}", "{}.X|{}.Y", "lm{}_x|lm{}_y", "part{} x|part{} y", "LM{}X|LM{}Y"]
)
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_wide_tables(load, naming, mark):
    names = [axis.format(i) for i in range(1, 6) for axis in naming.split("|")]
    shuffled = RNG.permutation(10) if "part" not in naming else np.arange(10)
    rows = [
        [i, *map(repr, p.ravel()[shuffled].tolist()), n] for n, (i, p) in enumerate(zip(IDS, LANDMARKS, strict=True))
    ]
    data = load(csv(["subject", *(names[i] for i in shuffled), "visit"], rows, mark))
    np.testing.assert_array_equal(data.points, LANDMARKS)
    assert data.format == ("TSV" if mark == "\t" else "CSV")
    assert data.labels["subject"].tolist() == IDS
    assert data.labels["visit"].tolist() == [0, 1, 2, 3]


def test_ten_landmarks_are_in_the_order_of_their_numbers(load):
    points = RNG.normal(size=(1, 12, 2))
    names = [f"{axis}{i}" for axis in "xy" for i in range(1, 13)]
    data = load(csv(names, [map(repr, points[0].T.ravel().tolist())]))
    np.testing.assert_array_equal(data.points, points)


def test_decimal_commas_quotes_and_blanks(load):
    assert load("a;b;c\n1,5;2;3\n").points.tolist() == [[1.5, 2, 3]]
    assert load('"my, name","a","b"\n"x, y",1,2\n').points.tolist() == [[1, 2]]
    assert load("# note\na  b\n 1 2\n3   4\n").points.tolist() == [[1, 2], [3, 4]]
    assert load("1,2,3\n4,5,NA\n").points[1, :2].tolist() == [4, 5]
    r_table = '"x" "y"\n"1" 0.5 1\n"2" 0.25 2\n'  # R's write.table: row names without a name
    assert load(r_table).points.tolist() == [[0.5, 1], [0.25, 2]]
    assert load(r_table).labels["row"].tolist() == [1, 2]


def long_rows(points=LANDMARKS, landmarks="12345"):
    return [
        [i, m, repr(x), repr(y), i * 2]
        for i, p in zip(IDS, points, strict=True)
        for m, (x, y) in zip(landmarks, p.tolist(), strict=True)
    ]


LONG = ["specimen", "landmark", "x", "y", "group"]


@pytest.mark.parametrize("landmarks", ["12345", "vwxyz"])
def test_long_tables(load, landmarks):
    rows = long_rows(landmarks=landmarks)
    data = load(csv(LONG, rows))
    np.testing.assert_array_equal(data.points, LANDMARKS)
    assert data.labels["specimen"].tolist() == IDS
    assert data.labels["group"].tolist() == ["aa", "bb", "cc", "dd"]
    assert set(data.labels) == {"specimen", "group"}
    mixed = rows[:5] + [rows[i] for i in 5 + RNG.permutation(15)]  # the first specimen sets the order of names
    by_id = dict(zip(*(lambda d: (d.labels["specimen"].tolist(), d.points))(load(csv(LONG, mixed))), strict=True))
    np.testing.assert_array_equal([by_id[i] for i in IDS], LANDMARKS)
    without = csv(["ID", "x", "y"], [[row[0], *row[2:4]] for row in rows])
    np.testing.assert_array_equal(load(without, sf.PlanarShapes(5)).points, LANDMARKS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (csv(LONG, long_rows()[:-1]), "record 3 .line 17.: specimen 'd' has 4 landmarks, but specimen 'a' has 5"),
        (csv(LONG, [*long_rows()[:-1], long_rows()[-2]]), "line 21: a second landmark '4' in one specimen .record 3."),
        (
            csv(LONG, [*long_rows()[:-1], ["d", 9, 1, 1, 1]]),
            "line 21: record 3 has landmark '9' where the first .* '5'",
        ),
        (
            "subject,x,y,z\n" + "a,0,0,1\n" * 4,
            "several rows x, y, z, which may be landmarks or vectors: give the space",
        ),
        ("x1,y1,x2,y2,x3,y3,x4\n1,2,3,4,5,6,7\n", "column 'x4' has no y beside it"),
        ("x1,y1,z1,x2,y2,z2,x3,y3\n1,2,3,4,5,6,7,8\n", "column 'x3' has no z beside it"),
        ("x1,y1,x2,y2,x3,y3,X.1\n1,2,3,4,5,6,7\n", "two columns hold the same coordinate"),
        ("x1,y1,x2,y2,x3,y3\n1,2,3,4,5,6\n1,2,3,4,5,six\n", "line 3: column 'y3': 'six' is not a number"),
        ("x1,y1,x2,y2,x3,y3\n1,2,3,4,5,6\n1,2,3,4,5\n", "line 3: 5 values in a table of 6 columns"),
        ("a,b,a\n1,2,3\n", "two columns are named 'a'"),
        ("a,b\n", "holds a header and no records"),
        ('a,b\n1,"2\n', "line 2: unexpected end of data"),
        ("name,colour\nu,red\n", "holds no columns of numbers, only name, colour"),
    ],
)
def test_malformed_tables(load, text, message):
    with pytest.raises(FileError, match=message):
        load(text)


def test_the_space_settles_a_table(load):
    flat = csv(["id", *"abcdefghij"], [[i, *map(repr, p.ravel().tolist())] for i, p in enumerate(LANDMARKS)])
    np.testing.assert_array_equal(load(flat, sf.PlanarShapes(5)).points, LANDMARKS)
    assert load(flat, sf.PlanarShapes(5)).labels["id"].tolist() == [0, 1, 2, 3]
    assert load(flat, sf.Euclidean(11)).points.shape == (4, 11)
    assert load(flat).kind == "vectors"
    with pytest.raises(
        FileError, match=r"holds 10 columns of numbers \(a, b, .*…\); PlanarShapes\(landmarks=6\) needs 12"
    ):
        load(flat, sf.PlanarShapes(6))
    with pytest.raises(FileError, match="needs 3; line 3: column 'c': 'x' is not a number"):
        load("a,b,c\n1,2,3\n1,2,x\n", sf.Euclidean(3))


def test_components_among_other_numbers(load):
    data = load("subject,age,x,y,z\n1,30,1,0,0\n1,31,0,1,0\n", sf.Sphere(2))
    assert data.points.tolist() == [[1, 0, 0], [0, 1, 0]]
    assert {name: column.tolist() for name, column in data.labels.items()} == {"subject": [1, 1], "age": [30, 31]}
    assert load("age,V1,V2\n30,1,2\n", sf.Euclidean(2)).points.tolist() == [[1, 2]]
    assert load("x,y,z\n1,2,a\n3,4,b\n").points.tolist() == [[1, 2], [3, 4]]  # a zone, say


def test_no_record_is_lost_because_it_is_empty(load):
    assert np.isnan(load("a,b\n1,2\n,\n3,4\n").points[1]).all()
    assert len(load("a,b\n\n1,2\n\n3,4\n\n")) == 2
    assert len(load("a\n1\nNA\n3\n\n")) == 3
    with pytest.raises(FileError, match="line 3: a blank line in a table of one column; write NA"):
        load("a\n1\n\n3\n")


def test_a_text_among_latitudes_is_told(load):
    rows = ["latitude,longitude,mag", *(f"{10 + i},{20 + i},{5 + i / 10}" for i in range(8))]
    rows[6] = "unknown,25,5.5"
    for space in (None, sf.Sphere(dim=2)):
        with pytest.raises(FileError, match="line 7: column 'latitude': 'unknown' is not a number"):
            load("\n".join(rows), space)
    words = load("lat,long,x,y\n" + "left,no,1,2\n" * 3, sf.Euclidean(dim=2))  # these are not angles
    assert words.points.tolist() == [[1, 2]] * 3


def test_latitude_and_longitude(load):
    data = load("site,Latitude,lng\np,90,10\nq,0,0\nr,-30,90\n", sf.Sphere(2))
    np.testing.assert_allclose(data.points, [[0, 0, 1], [1, 0, 0], [0, 3**0.5 / 2, -0.5]], atol=1e-15)
    assert data.labels["site"].tolist() == ["p", "q", "r"]
    sf.Sphere(2, curvature=4.0).validate(load("lat,lon\n1,2\n", sf.Sphere(2, curvature=4.0)).points)
    assert load("lat,lon\n1,2\n", sf.Euclidean(2)).points.tolist() == [[1, 2]]
    with pytest.raises(FileError, match="line 3: column 'lat': 91 is beyond ±90 degrees"):
        load("lat,lon\n1,2\n91,2\n", sf.Sphere(2))
    with pytest.raises(FileError, match="needs 3, or two named lat and lon"):
        load("a,b\n1,2\n", sf.Sphere(2))


def test_tensors_by_their_names(load):
    entry = {a + b: MATRICES[:, i, j] for i, a in enumerate("xyz") for j, b in enumerate("xyz")}
    orders = {
        "FSL": ["xx", "xy", "xz", "yy", "yz", "zz"],
        "DIPY": ["xx", "xy", "yy", "xz", "yz", "zz"],
        "full": list(entry),
    }
    for order in orders.values():
        rows = np.stack([entry[name] for name in order], axis=1).tolist()
        for space in (None, sf.SPD(3)):
            data = load(csv([f"D{name}" for name in order], [map(repr, row) for row in rows]), space)
            np.testing.assert_array_equal(data.points, MATRICES)
            assert data.kind == "matrices"
    bare = csv([f"t{i}" for i in range(6)], np.stack([entry[n] for n in orders["FSL"]], axis=1).tolist())
    np.testing.assert_array_equal(load(bare, sf.SPD(3)).points, MATRICES)
    short = csv([f"c{i}{j}" for i in range(3) for j in range(3)], MATRICES.reshape(6, 9).tolist())
    np.testing.assert_array_equal(load(short, sf.SPD(3)).points, MATRICES)
    np.testing.assert_array_equal(
        load(csv([f"v{i}" for i in range(9)], MATRICES.reshape(6, 9).tolist()), sf.SPD(3)).points, MATRICES
    )
    with pytest.raises(FileError, match=r"holds matrices \(3, 3\)"):
        load(short.replace("c", "D_"), sf.SPD(4))


def test_parquet(load):
    data = load(parquet_of())
    np.testing.assert_array_equal(data.points, LANDMARKS)
    assert (data.format, data.labels["id"].tolist()) == ("Parquet", IDS)
    rows = list(zip(*long_rows(), strict=True))
    columns = {
        "specimen": rows[0],
        "landmark": list(map(int, rows[1])),
        "x": list(map(float, rows[2])),
        "y": list(map(float, rows[3])),
    }
    np.testing.assert_array_equal(load(parquet(columns)).points, LANDMARKS)
    typed = load(parquet({"code": ["001", "002"], "a": [1.0, 2.0], "b": [3, 4]}))  # texts stay texts
    assert (typed.points.tolist(), typed.labels["code"].tolist()) == ([[1, 3], [2, 4]], ["001", "002"])
    with pytest.raises(FileError, match="record 0: column 'x1': the text '1' is not a number"):
        load(parquet({"x1": ["1"], **{name: [1.0] for name in ("y1", "x2", "y2", "x3", "y3")}}))
    missing = load(parquet({"a": [1.0, None], "b": [1, None], "when": [None, "x"]}))
    np.testing.assert_array_equal(missing.points, [[1, 1], [np.nan, np.nan]])


def test_malformed_parquet(load):
    with pytest.raises(FileError, match=r"column 'points' holds (fixed_size_)?list"):
        load(parquet({"points": [[1.0, 2.0]]}))
    with pytest.raises(FileError, match="holds no records"):
        load(parquet({"a": np.zeros(0)}))
    with pytest.raises(FileError, match="the Parquet file is damaged or cut"):
        load(b"PAR1" + bytes(40) + b"PAR1")
    bomb = parquet({"a": np.zeros(20_000_000)}, compression="zstd")
    assert len(bomb) < 100_000
    with pytest.raises(FileError, match="would unpack to 160000000 bytes, over the limit"):
        load(bomb)


# -- arrays ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["<f8", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy(load, dtype, order):
    for array, kind in ((LANDMARKS, "landmarks"), (MATRICES, "matrices"), (VECTORS, "vectors")):
        data = load(npy(np.asarray(array, dtype=dtype, order=order)))
        np.testing.assert_array_equal(data.points, array)
        assert (data.format, data.kind, data.points.dtype) == ("NPY", kind, np.dtype(np.float64))


UPPER = np.triu_indices(3)


@pytest.mark.parametrize(
    ("array", "space", "points"),
    [
        (LANDMARKS[..., 0] + 1j * LANDMARKS[..., 1], None, LANDMARKS),
        ((LANDMARKS[..., 0] + 1j * LANDMARKS[..., 1]).T, sf.PlanarShapes(5), LANDMARKS),
        (LANDMARKS[0, :, 0] + 1j * LANDMARKS[0, :, 1], sf.PlanarShapes(5), LANDMARKS[:1]),
        (np.moveaxis(LANDMARKS, 0, -1), sf.PlanarShapes(5), LANDMARKS),
        (LANDMARKS.transpose(2, 1, 0), sf.PlanarShapes(5), LANDMARKS),
        (LANDMARKS[0], sf.PlanarShapes, LANDMARKS[:1]),
        (LANDMARKS.reshape(4, 10), sf.PlanarShapes(5), LANDMARKS),
        (LANDMARKS[0], sf.PlanarShapes(5), LANDMARKS[:1]),
        (np.moveaxis(MATRICES, 0, -1), sf.SPD(3), MATRICES),
        (MATRICES[:3], sf.SPD(3), MATRICES[:3]),
        (MATRICES.reshape(6, 9), sf.SPD(3), MATRICES),
        (MATRICES[:, UPPER[0], UPPER[1]], sf.SPD(3), MATRICES),
        (MATRICES[0], sf.SPD(3), MATRICES[:1]),
        (VECTORS, sf.Sphere(2), VECTORS),
        (VECTORS[0], sf.Sphere(2), VECTORS[:1]),
        (MATRICES[:, :2, :2], None, MATRICES[:, :2, :2]),
        (np.arange(6).reshape(2, 3), sf.Euclidean(3), np.arange(6).reshape(2, 3)),
    ],
)
def test_layouts_of_arrays(load, array, space, points):
    np.testing.assert_array_equal(load(npy(array), space).points, points)


@pytest.mark.parametrize(
    ("array", "space", "message"),
    [
        (np.zeros((4, 5, 3)), sf.PlanarShapes, "PlanarShapes needs landmarks in the plane"),
        (
            np.zeros((4, 2, 5)),
            sf.PlanarShapes(5),
            r"needs landmarks of shape \(5, 2\)",
        ),  # in no layout that is documented
        (np.zeros((2, 4, 5)), sf.PlanarShapes(5), r"needs landmarks of shape \(5, 2\)"),
        (np.zeros((4, 5, 6)), None, r"the real array \(4, 5, 6\) is neither landmarks \(n, k, 2\)"),
        (np.zeros(4), None, r"the real array \(4,\) is neither"),
        (np.zeros((4, 5, 2)), sf.PlanarShapes(6), r"needs landmarks of shape \(6, 2\)"),
        (np.zeros((4, 2), complex), sf.Sphere(1), r"the complex array \(4, 2\) does not hold points"),
        (np.zeros((0, 5, 2)), None, r"holds no records: the array has shape \(0, 5, 2\)"),
        (np.array([["a"]]), None, "holds values of type <U1, not numbers"),
    ],
)
def test_arrays_that_are_refused(load, array, space, message):
    with pytest.raises(FileError, match=message):
        load(npy(array), space)


def test_an_array_that_can_be_read_in_two_ways_needs_a_space(load):
    content = mat(a=np.zeros((5, 5, 2)))
    with pytest.raises(
        FileError, match=r"as 5 records, landmarks \(5, 2\), .* or 2 records, matrices \(5, 5\), .*; give the space"
    ):
        load(content)
    assert load(content, sf.PlanarShapes).points.shape == (5, 5, 2)  # the class is enough
    assert load(content, sf.PlanarShapes(5)).points.shape == (5, 5, 2)
    assert load(content, sf.SPD(5)).points.shape == (2, 5, 5)


def header(shape, descr="<f8"):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": False, "shape": shape})
    return buffer.getvalue()


class Pickled:
    """Unpickling one fails the test."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was opened",)


def test_npy_headers_are_not_believed(load):
    with pytest.raises(
        FileError, match=r"the header says \(1000000000000, 5, 2\) values of 8 bytes, but 80 bytes follow"
    ):
        load(header((10**12, 5, 2)) + bytes(80))
    with pytest.raises(FileError, match="but 88 bytes follow"):
        load(header((1, 5, 2)) + bytes(88))
    with pytest.raises(FileError, match="the header says"):
        load(header((-1, -5, 2)) + bytes(80))
    with pytest.raises(FileError, match="holds no records"):
        load(header((10**12, 0)))
    with pytest.raises(FileError, match="holds Python objects or structures"):
        load(npy(np.array([[Pickled()]], dtype=object), allow_pickle=True))
    with pytest.raises(FileError, match="holds Python objects or structures"):
        load(npy(np.zeros(3, dtype=[("x", float), ("y", float)])))
    with pytest.raises(FileError, match="the NPY header is damaged, cut or of an unknown version"):
        load(b"\x93NUMPY\x09\x00" + bytes(200))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(load, save):
    data = load(
        npz(
            save,
            coords=LANDMARKS,
            subject=np.array(IDS),
            age=np.arange(4),
            edges=np.zeros((7, 2)),
            code=np.array([b"x"] * 4),
        )
    )
    np.testing.assert_array_equal(data.points, LANDMARKS)
    assert {name: column.tolist() for name, column in data.labels.items()} == {
        "subject": IDS,
        "age": [0, 1, 2, 3],
        "code": ["x"] * 4,
    }
    assert load(npz(save, anything=MATRICES, y=np.arange(6))).kind == "matrices"


def test_npz_that_are_refused(load):
    with pytest.raises(
        FileError, match=r"more than one array could be the records \(it holds a \(4, 5, 2\) float64, b"
    ):
        load(npz(a=LANDMARKS, b=LANDMARKS))
    with pytest.raises(FileError, match="more than one array"):
        load(npz(points=LANDMARKS, coords=LANDMARKS))
    with pytest.raises(FileError, match="no array could be the records"):
        load(npz(y=np.arange(3)))
    with pytest.raises(FileError, match="array 'a': holds Python objects"):
        load(npz(a=np.array([[Pickled()]], dtype=object)))
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("readme.txt", "x")
    with pytest.raises(FileError, match="a zip archive without NumPy arrays"):
        load(other.getvalue())
    damaged = bytearray(npz(a=LANDMARKS))
    damaged[300] ^= 1
    with pytest.raises(FileError, match="the archive is damaged or cut: Bad CRC"):
        load(bytes(damaged))


def test_zip_bombs_are_refused_before_they_are_unpacked(load):
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("points.npy", "w") as member:
        member.write(header((10 << 17, 8)))
        for _ in range(10):
            member.write(bytes(8 << 20))
    content = bomb.getvalue()
    assert len(content) < 1 << 20
    with pytest.raises(FileError, match="the archive would unpack to 83886208 bytes, over the limit"):
        load(content)
    lying = bytearray(content)  # claims a small size in the directory and in the member
    at = content.rindex(b"PK\x01\x02")
    lying[at + 24 : at + 28] = struct.pack("<I", 1000)
    with pytest.raises(FileError):
        load(bytes(lying))
    assert allowed(1 << 40) == 4 << 30


# -- MATLAB ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("compressed", [True, False])
def test_mat(load, compressed):
    arrays = {"coords": np.moveaxis(LANDMARKS, 0, -1), "age": np.arange(4), "id": np.array(IDS, dtype=object)}
    data = load(mat(compressed, **arrays, info={"a": 1}))
    np.testing.assert_array_equal(data.points, LANDMARKS)
    assert (data.format, data.labels["age"].tolist(), data.labels["id"].tolist()) == ("MATLAB", [0, 1, 2, 3], IDS)
    np.testing.assert_array_equal(load(mat(compressed, c=MATRICES), sf.SPD(3)).points, MATRICES)
    np.testing.assert_array_equal(
        load(mat(compressed, c=np.moveaxis(MATRICES[:3], 0, -1)), sf.SPD(3)).points, MATRICES[:3]
    )
    np.testing.assert_array_equal(load(mat(compressed, v=VECTORS[:1])).points, VECTORS[:1])


def test_malformed_mat(load):
    content = mat(False, a=LANDMARKS)
    with pytest.raises(FileError, match=r"the element at byte 128 says \d+ bytes, more than follow"):
        load(content[:-8])
    with pytest.raises(FileError, match="the MATLAB header is damaged or cut"):
        load(content[:100])
    with pytest.raises(FileError, match="of kind 99, not a variable"):
        load(content[:128] + struct.pack("<II", 99, 0) + content[136:])
    with pytest.raises(
        FileError, match=r"no array could be .* nothing\); landmarks, .* structures and cells are not read"
    ):
        load(mat(s={"a": 1}))
    cells = np.empty(2, object)
    cells[:] = [LANDMARKS[0], LANDMARKS[0, :4]]
    with pytest.raises(FileError, match=r"in MATLAB outlines = cat\(3, cells\{:\}\), .*MATLAB files mark no curves"):
        load(mat(outlines=cells), curves=50)
    with pytest.raises(FileError, match="would unpack to more than the limit"):
        load(mat(True, a=np.zeros(10 << 20)))
    with pytest.raises(FileError, match="two variables are named 'a'"):
        load(content + content[128:])


def test_mat73(load):
    data = load(mat73_of(coords=np.moveaxis(LANDMARKS, 0, -1), age=np.arange(4.0)[:, None]))
    np.testing.assert_array_equal(data.points, LANDMARKS)
    assert (data.format, data.labels["age"].tolist()) == ("MATLAB 7.3", [0, 1, 2, 3])
    pairs = np.empty(LANDMARKS.shape[:2], dtype=[("real", float), ("imag", float)])
    pairs["real"], pairs["imag"] = LANDMARKS[..., 0], LANDMARKS[..., 1]
    np.testing.assert_array_equal(load(mat73(lambda f: f.update(z=pairs.T)), sf.PlanarShapes(5)).points, LANDMARKS)


def test_mat73_follows_no_links(load, tmp_path):
    import h5py

    with h5py.File(tmp_path / "secret.h5", "w") as secret:
        secret["points"] = LANDMARKS
    link = mat73(lambda f: f.update(points=h5py.ExternalLink(str(tmp_path / "secret.h5"), "points")))
    with pytest.raises(FileError, match="no array could be the records"):
        load(link)
    (tmp_path / "raw").write_bytes(bytes(320))
    raw = mat73(lambda f: f.create_dataset("a", (4, 5, 2), "f8", external=[(str(tmp_path / "raw"), 0, 320)]))
    with pytest.raises(FileError, match="keeps its data in other files"):
        load(raw)

    def virtual(file):
        layout = h5py.VirtualLayout((4, 5, 2), "f8")
        layout[...] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "points", (4, 5, 2))
        file.create_virtual_dataset("a", layout)

    with pytest.raises(FileError, match="keeps its data in other files"):
        load(mat73(virtual))


def test_a_file_that_hdf5_never_ends_with_is_given_up(load, monkeypatch):
    """Text of no length in the heap, as one changed byte makes it: HDF5 2.0 reads it for ever.  The fuzzer found it."""

    def fill(file):
        file["coords"] = np.moveaxis(LANDMARKS, 0, -1).T
        file["coords"].attrs["MATLAB_class"] = "double"

    sound = mat73(fill)
    endless = bytearray(sound)
    length = sound.index(b"double") - 8  # eight bytes before the text
    assert sound[length] == len("double")
    endless[length] = 0
    with monkeypatch.context() as patch:
        patch.setattr(apart, "READ_SECONDS", 3.0)
        with pytest.raises(FileError, match="the file is damaged"):
            load(bytes(endless))
    np.testing.assert_array_equal(load(sound).points, LANDMARKS)  # by another process than the one that was ended


def test_malformed_mat73(load):
    huge = mat73(lambda f: f.create_dataset("a", (10**9, 10), "f8", chunks=(1000, 10)))
    with pytest.raises(FileError, match=r"variable '/a' says \(1000000000, 10\) values, over the limit"):
        load(huge)
    with pytest.raises(FileError, match=r"the MATLAB 7.3 file is damaged or cut"):
        load(b"MATLAB 7.3 MAT-file".ljust(600))
    plain = mat73_of(a=LANDMARKS)[512:]
    with pytest.raises(FileError, match="an HDF5 file that MATLAB did not write"):
        load(plain)


# -- R ---------------------------------------------------------------------------------------------------------------------
GEOMORPH = np.moveaxis(LANDMARKS, 0, -1)


@pytest.mark.parametrize("compression", ["gzip", "bzip2", "xz", None])
@pytest.mark.parametrize("file_format", ["xdr", "ascii"])
def test_rds(load, tmp_path, compression, file_format):
    data = load(rds(tmp_path, GEOMORPH, compression, file_format))
    np.testing.assert_array_equal(data.points, LANDMARKS)
    assert (data.format, data.kind) == ("R", "landmarks")


def test_rdata(load, tmp_path):
    import rdata

    path = tmp_path / "made.RData"
    rdata.write_rda(path, {"coords": GEOMORPH, "age": np.arange(4), "note": "x"})
    data = load(path.read_bytes())
    np.testing.assert_array_equal(data.points, LANDMARKS)
    assert data.labels["age"].tolist() == [0, 1, 2, 3]
    rdata.write_rda(path, {"gpa": {"coords": GEOMORPH, "Csize": np.arange(4.0), "tan": np.zeros((4, 4))}})
    data = load(path.read_bytes())
    np.testing.assert_array_equal(data.points, LANDMARKS)
    assert data.labels["Csize"].tolist() == [0, 1, 2, 3]


def test_r_matrices(load, tmp_path):
    np.testing.assert_array_equal(load(rds(tmp_path, np.moveaxis(MATRICES[:3], 0, -1)), sf.SPD(3)).points, MATRICES[:3])


def r_int(*values):
    return struct.pack(f">{len(values)}i", *values)


def r_text(text):
    return r_int(9) + r_int(len(text)) + text.encode()


R_HEADER = b"X\n" + r_int(2, 0x030602, 0x020300)
R_NIL = r_int(254)


def r_array(shape, data, dimnames=b""):
    """By hand, what R's serialize() writes: a double vector with attributes dim and dimnames."""
    values = r_int(0x20E) + r_int(len(data)) + np.asarray(data, ">f8").tobytes()
    dim = r_int(0x402, 1) + r_text("dim") + r_int(13, len(shape), *shape)
    return R_HEADER + values + dim + dimnames + R_NIL


def test_r_dimnames_are_ids(load):
    names = r_int(0x402, 1) + r_text("dimnames") + r_int(19, 3) + R_NIL * 2 + r_int(16, 4) + b"".join(map(r_text, IDS))
    data = load(r_array((5, 2, 4), GEOMORPH.ravel(order="F"), names))
    np.testing.assert_array_equal(data.points, LANDMARKS)
    assert data.labels["ID"].tolist() == IDS


def test_r_texts_come_in_the_encoding_that_r_marked(load):
    """Two names that differ in one letter of Latin-1 would be the same if that letter were replaced."""
    ids = ["Müller", "Möller", "Maller", "Meller"]
    texts = b"".join(r_int(0x4009, 6) + name.encode("latin-1") for name in ids)
    names = r_int(0x402, 1) + r_text("dimnames") + r_int(19, 3) + R_NIL * 2 + r_int(16, 4) + texts
    assert load(r_array((5, 2, 4), GEOMORPH.ravel(order="F"), names)).labels["ID"].tolist() == ids


def r_attribute(name, value):
    return r_int(0x402, 1) + r_text(name) + value


def r_strings(*texts):
    return r_int(16, len(texts)) + b"".join(map(r_text, texts))


def r_sequence(n):
    """R writes 1:n as three numbers."""
    name = r_int(2, 1) + r_text("compact_intseq") + R_NIL
    return r_int(238) + name + r_int(14, 3) + np.array([n, 1, 1], ">f8").tobytes() + R_NIL


def test_r_data_frames(load):
    factor = r_int(0x30D, 4, 1, 2, -(2**31), 2) + r_attribute("levels", r_strings("f", "m"))
    columns = {
        "id": r_strings(*IDS),
        "sex": factor + r_attribute("class", r_strings("factor")) + R_NIL,
        "age": r_sequence(4),
    }
    for i, column in enumerate(LANDMARKS.reshape(4, 10).T):
        columns[f"{'xy'[i % 2]}{i // 2 + 1}"] = r_int(14, 4) + column.astype(">f8").tobytes()
    frame = r_int(0x313, len(columns)) + b"".join(columns.values())
    frame += r_attribute("names", r_strings(*columns)) + r_attribute("class", r_strings("data.frame"))
    content = R_HEADER + frame + r_attribute("row.names", r_int(13, 2, -(2**31), -4)) + R_NIL
    data = load(content)
    np.testing.assert_array_equal(data.points, LANDMARKS)
    assert {name: column.tolist() for name, column in data.labels.items()} == {
        "id": IDS,
        "sex": ["f", "m", "NA", "m"],
        "age": [1, 2, 3, 4],
    }
    for offset in range(len(content)):
        with pytest.raises(FileError):
            load(content[:offset])


def test_malformed_r(load):
    with pytest.raises(FileError, match=r"an array of dimensions \(5, 2, 5\) holds 40 values"):
        load(r_array((5, 2, 5), GEOMORPH.ravel()))
    with pytest.raises(FileError, match="a compressed file that R did not write; unpack it first"):
        load(gzip.compress(b"x1,y1\n1,2\n"))
    with pytest.raises(FileError, match="a compressed file that R did not write"):
        load(gzip.compress(gzip.compress(R_HEADER)))
    with pytest.raises(FileError, match="no array could be the records"):
        load(R_HEADER + R_NIL)
    for compress in (gzip.compress, bz2.compress, lzma.compress):
        bomb = compress(R_HEADER + bytes(80 << 20))
        with pytest.raises(FileError, match="would unpack to more than the limit"):
            load(bomb)
    with pytest.raises(FileError, match="a sequence of 1000000000000000 numbers, over the limit"):
        load(R_HEADER + r_sequence(1e15))
    with pytest.raises(FileError, match="the R file is damaged, cut or of an unknown kind"):
        load(R_HEADER + r_int(0x402) * 100_000)


# -- files that were once misread ----------------------------------------------------------------------------------------
QUAKES = "lat,lon,mag\n60,-150,4.5\n0,90,5\n"
DIRECTIONS = [[-np.sqrt(3) / 4, -0.25, np.sqrt(3) / 2], [0, 1, 0]]


@pytest.mark.parametrize("space", [None, sf.Sphere, sf.Sphere(2)])
def test_named_columns_win_over_position(load, space):
    """Three columns of numbers of which two are named are no vectors of three."""
    data = load(QUAKES, space)
    np.testing.assert_allclose(data.points, DIRECTIONS, atol=1e-15)
    assert (data.source, data.degrees) == ("the columns lat, lon, in degrees", ("lat", "lon"))
    assert data.labels["mag"].tolist() == [4.5, 5]
    assert load(QUAKES, sf.Euclidean).points.shape == (2, 3)
    for latitude, longitude in (("decimalLatitude", "decimalLongitude"), ("reclat", "reclong"), ("site_lat", "site_long"),
                                ("Latitude (deg)", "Longitude (deg)"), ("LAT", "LNG")):  # fmt: skip
        named = load(QUAKES.replace("lat", latitude, 1).replace("lon", longitude, 1), space)
        np.testing.assert_allclose(named.points, DIRECTIONS, atol=1e-15)
    assert load("age,x,y,z,weight\n30,0,0,1,70\n", sf.Sphere).points.tolist() == [[0, 0, 1]]
    assert load("age,v1,v2,v3,v4\n30,0,0,0,1\n", sf.Sphere).points.tolist() == [[0, 0, 0, 1]]
    assert load("x,y,age\n0,1,30\n", sf.Euclidean(2)).points.tolist() == [[0, 1]]


def test_other_angles_are_known_or_asked_about(load):
    """Field by field the same name means another angle; what is not agreed is asked, and can be said."""
    np.testing.assert_allclose(load("inc,dec\n60,-150\n0,90\n", sf.Sphere).points, DIRECTIONS, atol=1e-15)
    np.testing.assert_allclose(load("RA,Dec\n210,60\n90,0\n", sf.Sphere(2)).points, DIRECTIONS, atol=1e-15)
    for text in (
        "theta,phi\n60,-150\n0,90\n",
        "ra,dec\n14,60\n6,0\n",
        "start_lat,start_lon,end_lat,end_lon\n1,2,3,4\n",
    ):
        with pytest.raises(FileError, match=r"are angles, but which is the latitude .* Say columns='lat="):
            load(text, sf.Sphere)
    with pytest.raises(FileError, match=r"Say columns='lat=plunge, lon=trend'"):
        load("trend,plunge\n120,30\n130,20\n", sf.Axes)
    with pytest.raises(FileError, match=r"strike, dip are those of planes: give the pole .* lat = 90 − dip"):
        load("strike,dip\n120,30\n130,20\n", sf.Axes)
    said = load("theta,phi\n60,-150\n0,90\n", sf.Sphere, columns="lat=theta, lon=phi")
    np.testing.assert_allclose(said.points, DIRECTIONS, atol=1e-15)
    assert said.source == "the columns theta as lat, phi as lon"
    ends = load(
        "start_lat,start_lon,end_lat,end_lon\n1,2,60,-150\n1,2,0,90\n", sf.Sphere, columns=["end_lat", "end_lon"]
    )
    np.testing.assert_allclose(ends.points, DIRECTIONS, atol=1e-15)
    assert set(ends.labels) == {"start_lat", "start_lon"}
    with pytest.raises(FileError, match=r"line 2: column 'lat': -150 is beyond ±90 degrees; are the two exchanged"):
        load("lat,lon\n-150,60\n", sf.Sphere)


def test_degrees_or_radians_are_asked_where_only_the_user_named_the_angles(load):
    angles = np.radians([[60.0, -150.0], [0.0, 90.0]]).tolist()
    text = csv(["phi", "theta"], angles)
    with pytest.raises(
        FileError, match=r"phi and theta is above 2π: .* columns='lat_deg=phi, .*='lat_rad=phi, lon_rad="
    ):
        load(text, sf.Sphere, columns="lat=phi, lon=theta")
    said = load(text, sf.Sphere, columns="lat_rad=phi, lon_rad=theta")
    np.testing.assert_allclose(said.points, DIRECTIONS, atol=1e-15)
    assert said.degrees == ("lat", "lon")
    named = load(csv(["lat_rad", "lon_rad"], angles), sf.Sphere)
    np.testing.assert_allclose(named.points, DIRECTIONS, atol=1e-15)
    assert named.source == "the columns lat_rad, lon_rad, in radians"
    small = load("a,b\n1,2\n3,4\n", sf.Sphere, columns="lat_deg=a, lon_deg=b")
    np.testing.assert_array_equal(small.points, load("lat,lon\n1,2\n3,4\n", sf.Sphere).points)
    assert load("phi,theta\n60,-150\n0,90\n", sf.Sphere, columns="lat=phi,lon=theta").degrees == ("lat", "lon")


@pytest.mark.parametrize("names", ["qx,qy,qz,qw", "qw,qx,qy,qz", "q0,q1,q2,q3"])
def test_four_columns_of_quaternions_are_rotations(load, names):
    four = np.array([[0.5, 0.5, 0.5, 0.5], [0.6, 0.8, 0.0, 0.0], [0.0, 0.0, -1.0, 0.0]])
    data = load(csv(names.split(","), four.tolist()))
    assert [kind.name for kind in data.usual] == ["rotations"]
    assert "as quaternions, scalar first (w, x, y, z)" in data.source
    np.testing.assert_array_equal(data.points, four[:, [3, 0, 1, 2]] if names.endswith("w") else four)
    with pytest.raises(FileError, match="may be quaternions or vectors: name the space"):
        load(csv("wxyz", four.tolist()))
    assert not load(csv("wxyz", (2 * four).tolist())).quaternions  # a plain w may be a weight


@pytest.mark.parametrize(("odd", "differs"), [("2", False), ("02", False), ("2.0", False), ("", True), ("3", True)])
def test_a_slip_in_a_label_of_a_specimen_does_not_hide_the_column(load, odd, differs):
    """A column that was not the same in all rows of a specimen was dropped, and with it the question whose records they are."""
    rows = ["specimen,subject,landmark,x,y"]
    for specimen in range(12):
        for landmark in range(5):
            subject = odd if (specimen, landmark) == (3, 4) else specimen // 2 + 1
            rows.append(f"s{specimen},{subject},{landmark + 1},{landmark % 3 + 0.1 * specimen},{landmark // 2}")
    text = "\n".join(rows) + "\n"
    if differs:
        with pytest.raises(FileError, match=r"line 21: column 'subject' differs within one specimen \(record 3\)"):
            load(text, sf.PlanarShapes)
    else:
        assert list(load(text, sf.PlanarShapes).labels) == ["specimen", "subject"]


def test_columns_are_chosen(load):
    data = load("id,age,a,b\n7,30,1,2\n8,31,3,4\n", sf.Euclidean, columns="b, ID")
    assert (data.points.tolist(), data.source) == ([[2, 7], [4, 8]], "the columns b, id")
    assert data.labels["age"].tolist() == [30, 31]
    assert load(parquet({"a": [1.0], "b": [2.0], "c": [3.0]}), columns=["c", "a"]).points.tolist() == [[3, 1]]
    for columns, message in [
        ("a, q", r"there is no column 'q'; it has id, age, a, b"),
        ("a, A", "the column 'A' is given twice"),
    ]:
        with pytest.raises(FileError, match=message):
            load("id,age,a,b\n7,30,1,2\n", columns=columns)
    with pytest.raises(FileError, match="line 2: column 'a': 'x' is not a number"):
        load("a,b\nx,2\n", columns="a")
    with pytest.raises(FileError, match="columns are chosen in a table, and this file holds landmarks alone"):
        load(tps(), columns="a")
    with pytest.raises(FileError, match="there is no array 'a'; it holds landmarks"):
        load(tps(), array="a")
    with pytest.raises(FileError, match="there is no array 'x'; it holds a table of 1 rows"):
        load("a,b\n1,2\n", array="x")
    with pytest.raises(FileError, match="columns are chosen in a table, and this file holds arrays"):
        load(npy(VECTORS), columns="a")


def r_workspace(path, **objects):
    import rdata

    rdata.write_rda(path, objects)
    return path.read_bytes()


def test_in_r_an_array_of_records_wins_over_a_table(load, tmp_path):
    """A table of ages beside the landmarks gives labels, and never becomes the points."""
    import pandas

    table = pandas.DataFrame({"age": [30.0, 31, 32, 33], "sex": [1.0, 2, 1, 2]})
    for objects in (
        {"wings": {"coords": GEOMORPH, "people": table}},
        {"people": table, "outlines": GEOMORPH},
        {"study": {"deep": {"A": GEOMORPH}}, "people": table},
    ):
        for space in (None, sf.PlanarShapes):
            data = load(r_workspace(tmp_path / "w.RData", **objects), space)
            np.testing.assert_array_equal(data.points, LANDMARKS)
            assert data.labels["age"].tolist() == [30, 31, 32, 33]
            assert "(5, 2, 4), in the order (k, 2, n)" in data.source
    assert load(r_workspace(tmp_path / "w.RData", people=table), sf.Euclidean).points.shape == (4, 2)
    two = r_workspace(tmp_path / "w.RData", left=GEOMORPH, right=GEOMORPH + 1, people=table)
    with pytest.raises(
        FileError, match=r"more than one .*left \(5, 2, 4\).* people, a table of 4 rows\); say which, as array='left'"
    ):
        load(two)
    np.testing.assert_array_equal(load(two, array="right").points, LANDMARKS + 1)
    assert load(two, array="people").points.shape == (4, 2)
    with pytest.raises(FileError, match=r"there is no array 'top'; it holds left \(5, 2, 4\)"):
        load(two, array="top")


def test_r_lists_of_matrices_are_records(load, tmp_path):
    """As Momocs keeps outlines: a list of matrices, a matrix for each specimen, beside a table."""
    import pandas

    outlines = dict(zip(IDS, LANDMARKS, strict=True))
    table = pandas.DataFrame({"age": [30.0, 31, 32, 33]})
    for objects in ({"out": {"coo": outlines, "fac": table}}, {"out": outlines}, {"a": {"b": {"c": outlines}}}):
        data = load(r_workspace(tmp_path / "w.RData", **objects))
        np.testing.assert_array_equal(data.points, LANDMARKS)
        assert data.labels["ID"].tolist() == IDS
    plain = load(rds(tmp_path, list(LANDMARKS)))
    np.testing.assert_array_equal(plain.points, LANDMARKS)
    np.testing.assert_array_equal(load(rds(tmp_path, list(MATRICES)), sf.SPD(3)).points, MATRICES)
    uneven = r_workspace(tmp_path / "w.RData", out={"coo": {**outlines, "e": LANDMARKS[0, :4]}, "fac": table})
    for space in (None, sf.PlanarShapes, sf.PlanarShapes(5)):
        with pytest.raises(FileError, match=r"'coo': 5 outlines of 4 to 5 points; .* resample each, as curves=50"):
            load(uneven, space)
    assert load(uneven, curves=50).points.shape == (5, 50, 2)
    deeper = {name: {"xy": outline, "scale": 2.0} for name, outline in outlines.items()}  # parts of something
    with pytest.raises(FileError, match=r"more than one array could be the records .*say which, as array='out\$a\$xy'"):
        load(r_workspace(tmp_path / "w.RData", out=deeper, fac=table))


def test_the_axis_of_coordinates_may_stand_anywhere(load):
    """MATLAB's (2, k, n) is read; where NumPy has no habit, a refusal says how to choose."""
    for order in ((1, 2, 0), (2, 1, 0)):
        data = load(mat(a=LANDMARKS.transpose(order)))
        np.testing.assert_array_equal(data.points, LANDMARKS)
    for array in (np.moveaxis(LANDMARKS, 0, -1), LANDMARKS.transpose(2, 1, 0)):
        for space in (None, sf.PlanarShapes):
            with pytest.raises(
                FileError, match="say how many landmarks a record has, landmarks=5, or save it with the rec"
            ):
                load(npy(array), space)
    with pytest.raises(FileError, match="say how many rows a record has, size=2, or save it with the records first"):
        load(npy(np.zeros((2, 2, 6))))
    for array in (np.zeros((5, 2, 5)), np.zeros((2, 5, 5))):
        with pytest.raises(FileError, match="save it with the records first"):
            load(npy(array), sf.PlanarShapes(5))


def test_what_a_npz_holds_beside_the_points(load):
    content = npz(points=VECTORS, latlonmag=VECTORS * 10)
    assert load(content, sf.Sphere, array="points").source == "the array 'points' (7, 3), in the order (n, m)"
    for names in (("points", "latlonmag"), ("x", "y")):  # no name wins over another
        message = (
            rf"more than one .* \(it holds {names[0]} \(7, 3\) float64, {names[1]} .*say which, as array='{names[0]}'"
        )
        with pytest.raises(FileError, match=message):
            load(npz(**dict.fromkeys(names, VECTORS)), sf.Sphere)
    np.testing.assert_array_equal(load(content, sf.Sphere, array="latlonmag").points, VECTORS * 10)
    assert load(npz(matrix=np.zeros((4, 4)), shape=LANDMARKS)).source.startswith("the array 'shape'")


def test_folders_and_several_files(tmp_path):
    """A file for each specimen: TPS, or two columns without a name."""
    for i, points in enumerate([*LANDMARKS] * 3):
        (tmp_path / f"wing{i}.tps").write_text(tps(points[None], ids=[f"s{i}"]))
    data = read(tmp_path)
    np.testing.assert_array_equal(data.points, np.tile(LANDMARKS, (3, 1, 1)))  # wing10 after wing9
    assert data.labels["ID"].tolist() == [f"s{i}" for i in range(12)]
    assert data.labels["file"].tolist()[-1] == "wing11.tps"
    assert data.source == "the landmarks of LM=5, of each of 12 files"
    np.testing.assert_array_equal(read([tmp_path / "wing3.tps", tmp_path / "wing1.tps"]).points, LANDMARKS[[3, 1]])
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    with pytest.raises(FileError, match=r"a folder of several kinds of files \(12 \.tps, 1 \.jpg\); give the files"):
        read(tmp_path)
    outlines = tmp_path / "outlines"
    outlines.mkdir()
    for i, points in enumerate(LANDMARKS):
        (outlines / f"{i}.txt").write_text("".join(f"{x!r} {y!r}\n" for x, y in points.tolist()))
    np.testing.assert_array_equal(read(outlines, sf.PlanarShapes).points, LANDMARKS)
    (tmp_path / "people.csv").write_text("age,sex\n30,1\n31,2\n32,1\n")
    with pytest.raises(
        FileError, match=r"holds 2 columns of numbers \(age, sex\); if these are landmarks, say how many"
    ):
        read(tmp_path / "people.csv", sf.PlanarShapes)
    (outlines / "4.txt").write_text("1 2\n3 4\n5 7\n")
    with pytest.raises(
        FileError, match=r"4\.txt: holds landmarks of shape \(3, 2\).*0\.txt .* all files must hold the same"
    ):
        read(outlines, sf.PlanarShapes)


def test_json(load):
    import json

    np.testing.assert_array_equal(load(json.dumps(LANDMARKS.tolist())).points, LANDMARKS)
    held = {"study": {"coords": LANDMARKS.tolist(), "ID": IDS, "age": [1, 2, 3, 4]}, "note": "x"}
    data = load(json.dumps(held))
    np.testing.assert_array_equal(data.points, LANDMARKS)
    assert data.format == "JSON"
    assert data.labels["study$age"].tolist() == [1, 2, 3, 4]
    rows = [{"lat": 60, "lon": -150, "mag": 4.5, "place": "a"}, {"lat": 0, "lon": 90, "mag": None, "place": "b"}]
    points = [
        {
            "geometry": {"type": "Point", "coordinates": [row["lon"], row["lat"], 7]},
            "properties": {"place": row["place"]},
        }
        for row in rows
    ]
    for document in (rows, {"type": "FeatureCollection", "features": points}):
        data = load(json.dumps(document), sf.Sphere)
        np.testing.assert_allclose(data.points, DIRECTIONS, atol=1e-15)
        assert data.labels["place"].tolist() == ["a", "b"]
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    np.testing.assert_allclose(load(json.dumps(columns)).points, DIRECTIONS, atol=1e-15)
    released = {"format": "sfumato release 1", "value": [0.0, 0.6, 0.8], "ball": {"center": [1.0, 0, 0]}}
    assert load(json.dumps(released), sf.Sphere(2)).points.tolist() == [[0, 0.6, 0.8]]
    for text, message in [
        ("[[1, 2], [3]]", "lists of different lengths, 1 to 2"),
        ("[[1, 2], [3, 4", r"line 1: not JSON"),
        ('{"a": "b"}', "no array could be the records"),
        ('{"features": [{"geometry": {"type": "Polygon"}}]}', "GeoJSON of kind 'Polygon'; sfumato reads points"),
        ("[" * 100_000, "not JSON that can be read"),
    ]:
        with pytest.raises(FileError, match=message):
            load(text)


def test_what_is_not_read_is_called_by_its_name(load):
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
    for content, message in [
        (book.getvalue(), "a spreadsheet, which is not read; save the sheet as CSV"),
        (b"\xd0\xcf\x11\xe0" + bytes(500), "an old spreadsheet or document"),
        (b"\x89PNG\r\n" + bytes(500), "a picture, not records"),
        (b"II*\x00" + bytes(500), "a picture, not records"),
        (b"%PDF-1.7\n", "a PDF"),
    ]:
        with pytest.raises(FileError, match=message):
            load(content)


def test_specimens_that_divide_their_points_otherwise_are_refused(load):
    """As many points in all, but other ones: what is a landmark here is a point of a curve there."""
    one = "LM=2\n0 0\n1 0\nCURVES=1\nPOINTS=2\n0 1\n1 1\n"
    other = "LM=1\n0 0\nCURVES=1\nPOINTS=3\n1 0\n0 1\n1 1\n"
    assert load(one * 2).source == "the landmarks of LM=2, then 2 points of curves and outlines"
    with pytest.raises(FileError, match=r"record 1 \(line 8\): landmarks and curves of \[1, 3\] points, but record 0"):
        load(one + other)


# -- codes for missing values, and other things to tell the curator ----------------------------------------------------------
PIXELS = RNG.integers(20, 900, size=(6, 5, 2)).astype(float)


def with_code(code, points=PIXELS):
    points = points.copy()
    points[3, 1] = code
    return points


@pytest.mark.parametrize("code", [-999, -9999, 9999, -99, -1, -999.25, 99999, -32768])
def test_a_code_for_a_missing_landmark_is_refused_until_it_is_explained(load, code):
    content = tps(with_code(code), ids="abcdef")
    with pytest.raises(FileError, match=rf"record 3 \(line 25; ID 'd'\): landmark 2 is {code:g}; .* missing={code:g} "):
        load(content)
    data = load(content, missing=code)
    assert np.isnan(data.points[3, 1]).all()
    assert np.isfinite(data.points).sum() == PIXELS.size - 2
    np.testing.assert_array_equal(load(content, missing="none").points, with_code(code))


def test_codes_in_tables_name_the_column(load):
    names = [f"{axis}{i}" for i in range(1, 6) for axis in "xy"]
    content = csv(names, with_code(-999).reshape(6, 10).tolist())
    with pytest.raises(FileError, match=r"record 3 \(line 5\): column 'x2', and 'y2', is -999"):
        load(content)
    data = load(content, missing=[-999])
    assert data.where(3) == "record 3 (line 5; see column x2, y2)"
    weights = [[60 + i / 10, 170 + i] for i in range(12)]
    with pytest.raises(FileError, match=r"record 4 \(line 6\): column 'height' is 9999"):
        load(csv(["weight", "height"], [*weights[:4], [61, 9999], *weights[4:]]))
    with pytest.raises(FileError, match=r"column 'lat': -999 is beyond ±90 degrees; .*\(missing=-999\)"):
        load(QUAKES + "-999,-999,5\n")
    assert np.isnan(load(QUAKES + "-999,-999,5\n", missing=-999).points[2]).all()


def test_codes_beside_the_largest_numbers(load):
    values = [[-999.0, 1e308], *([float(i), 1.5e308] for i in range(12))]
    with pytest.raises(FileError, match="many programs write this for a missing value"):
        load(csv(["a", "b"], values))


def test_plausible_numbers_are_not_taken_for_codes(load):
    """999 among pixels up to 1200, a depth of −99 among others, a constant, a few numbers: all may have been measured."""
    pixels = with_code(999, PIXELS * 1.4)
    np.testing.assert_array_equal(load(npy(pixels)).points, pixels)
    assert load(csv(["depth"], [[-90 - i] for i in range(20)])).points.shape == (20, 1)
    assert load(csv(["level"], [[900 + 9 * i] for i in range(12)])).points.max() == 999
    assert load(csv(["level"], [[999]] * 20)).points.shape == (20, 1)
    assert load(csv(["a"], [[5], [999]])).points.shape == (2, 1)
    baseline = PIXELS.copy()
    baseline[:, 0] = 0
    load(npy(baseline))


def test_remarks_for_the_curator(load):
    from sfumato.files.missing import remarks

    pixels = with_code(999, PIXELS * 1.4)
    assert any(
        "landmark 2 is 999; many programs" in remark for remark in remarks(load(npy(pixels)), sf.PlanarShapes(5))
    )
    zeros = with_code(0)
    assert "record 3: landmark 2 is (0, 0)" in remarks(load(npy(zeros)), sf.PlanarShapes(5))[0]
    assert remarks(load(npy(PIXELS)), sf.PlanarShapes(5)) == []
    radians = load("lat,lon\n" + "0.5,-3\n-1.2,2\n" * 5, sf.Sphere)
    assert any("are they in radians?" in remark for remark in remarks(radians, sf.Sphere(2)))
    assert remarks(load(QUAKES), sf.Sphere(2)) == []


def test_unit_vectors_with_few_decimals_are_put_right(load):
    """Record by record: what becomes of one does not depend on the others."""
    from sfumato.files.missing import remarks

    data = load(csv("xyz", VECTORS.round(4).tolist()), sf.Sphere)
    points = sf.Sphere(2).validate(data)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-15)
    np.testing.assert_array_equal(points[2:3], sf.Sphere(2).validate(data.points[2:3]))
    mixed = np.array([*points[:3], data.points[4]])
    assert sf.Sphere(2).validate(mixed)[:3].tobytes() == points[:3].tobytes()
    assert "are not quite of the right length" in remarks(data, sf.Sphere(2))[0]
    with pytest.raises(
        sf.InvalidPointError, match=r"its norm is 1\.002; if it is a direction, divide it by its length"
    ):
        sf.Sphere(2).validate(np.array([[0, 0, 1.002]]))


def test_a_data_set_is_taken_for_its_points_and_shows_none(load):
    data = load(QUAKES)
    assert (
        repr(data) == "<Dataset file.dat: 2 records, vectors of 3, from the columns lat, lon, in degrees; labels: mag>"
    )
    np.testing.assert_array_equal(np.asarray(data), data.points)
    text = "".join(f"{10 + i % 7},{170 + i % 30}\n" for i in range(60))
    data = load("lat,lon\n" + text)
    release = sf.private_mean(data, sf.Ball(sf.Sphere(2), sf.read(data.path).points[0], 0.5), epsilon=10.0)
    degrees = release.record["degrees"]
    up, round_ = np.radians(degrees["lat"]), np.radians(degrees["lon"])
    at = [np.cos(up) * np.cos(round_), np.cos(up) * np.sin(round_), np.sin(up)]
    np.testing.assert_allclose(at, release.value, atol=1e-12)
    assert f"The value in degrees: lat {degrees['lat']:.6g}, lon {degrees['lon']:.6g}." in release.describe()
    again = sf.Release.from_json(release.to_json())
    assert again.record["degrees"] == degrees
    assert (
        "degrees" not in sf.private_mean(data.points, sf.Ball(sf.Sphere(2), data.points[0], 0.5), epsilon=10.0).record
    )


def test_a_bad_number_is_named():
    for space, points, words in [
        (sf.PlanarShapes(3), np.zeros((1, 3, 2)), "landmark 2"),
        (sf.SPD(2), np.eye(2)[None], "the entry in row 2, column 1"),
        (sf.Euclidean(4), np.zeros((1, 4)), "component 3"),
        (sf.Sphere(3), np.eye(4)[:1], "component 3"),
    ]:
        points = points.copy()
        points.reshape(-1)[2] = np.nan
        with pytest.raises(sf.InvalidPointError, match=f"record 0: holds NaN or an infinite value: {words}$"):
            space.validate(points)
    with pytest.raises(sf.InvalidPointError, match=r"\(2999 more are bad: 1, 2, 3, 4, 5, …\)$"):
        sf.Euclidean(1).validate(np.full((3000, 1), np.nan))


# -- whole or not at all -----------------------------------------------------------------------------------------------------
COUNTED = {
    "NTS": lambda tmp: nts().encode(),
    "NTS, labels at the end": lambda tmp: b"1 2E 6 0 DIM=2\n0 0 1 0 0 1 a\n0 0 2 0 0 1 b\n",
    "Morphologika": lambda tmp: morphologika().encode(),
    "Parquet": lambda tmp: parquet_of(),
    "NPY": lambda tmp: npy(LANDMARKS),
    "NPZ": lambda tmp: npz(coords=LANDMARKS, subject=np.array(IDS)),
    "NPZ, compressed": lambda tmp: npz(np.savez_compressed, coords=LANDMARKS),
    "MATLAB": lambda tmp: mat(False, coords=LANDMARKS),
    "MATLAB, compressed": lambda tmp: mat(True, coords=LANDMARKS),
    "MATLAB 7.3": lambda tmp: mat73_of(coords=LANDMARKS),
    "RDS": lambda tmp: rds(tmp, GEOMORPH),
    "RDS, plain": lambda tmp: rds(tmp, GEOMORPH, None),
    "RDS, ASCII": lambda tmp: rds(tmp, GEOMORPH, None, "ascii"),
    "RDS, a list": lambda tmp: rds(tmp, {"coords": GEOMORPH, "age": np.arange(4.0)}, None),
}


@pytest.mark.parametrize("format", COUNTED)
def test_a_cut_file_is_complete_or_refused(load, tmp_path, format):
    content = COUNTED[format](tmp_path)
    whole = load(content)
    offsets = (
        range(len(content))
        if len(content) < 1500
        else sorted({*range(0, len(content), len(content) // 1000), *range(len(content) - 50, len(content))})
    )
    for offset in offsets:
        try:
            data = load(content[:offset])
        except FileError:
            continue
        if data.format != whole.format:  # a stump of a header, without the file's name, can pass for a table
            assert offset < 40
            continue
        assert data.points.shape == whole.points.shape
        same_but_for_a_cut_number(data.points, whole.points, content[:offset])
        assert data.labels.keys() == whole.labels.keys()


@pytest.mark.parametrize(
    "content", [tps().encode(), tps(end="\r\n").encode(), wide().encode(), csv(LONG, long_rows()).encode()]
)
def test_a_cut_file_without_a_count_ends_between_records_or_is_refused(load, content):
    """TPS and CSV do not say how many records they hold: what is read is whole records, in full."""
    space = sf.PlanarShapes(5)  # without it, a long table cut in its first specimen has fewer landmarks
    whole, shorter = load(content, space), {}
    for offset in range(len(content)):
        try:
            data = load(content[:offset], space)
        except FileError:
            continue
        same_but_for_a_cut_number(data.points, whole.points[: len(data)], content[:offset])
        shorter[len(data)] = offset
    assert {1, 2, 3} <= set(shorter)


def same_but_for_a_cut_number(found, expected, content):
    """A text that ends without a line end may have lost digits of its very last number, and nothing else."""
    if content.endswith((b"\n", b"\r")):
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_array_equal(found.ravel()[:-1], expected.ravel()[:-1])


def test_a_last_line_without_an_end_is_read(load):
    assert load("LM=3\n" + TRIANGLE + "ID=1").points.shape == (1, 3, 2)
    assert load("a,b\n1,2\n3,4").points.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("format", [*COUNTED, "TPS", "CSV"])
def test_a_damaged_file_raises_nothing_else(load, tmp_path, format):
    """Random bytes put into a file: it is read or refused, and nothing else happens."""
    rng = np.random.default_rng(7)
    content = {"TPS": lambda tmp: tps().encode(), "CSV": lambda tmp: wide().encode(), **COUNTED}[format](tmp_path)
    for _ in range(150):
        damaged = bytearray(content)
        for at in rng.integers(0, len(content), size=rng.integers(1, 6)):
            damaged[at] = rng.integers(0, 256)
        try:
            load(bytes(damaged))
        except FileError:
            continue


def test_what_is_no_data(load, tmp_path):
    with pytest.raises(FileError, match="an empty folder; give a file of records, or a folder of such files"):
        read(tmp_path)
    with pytest.raises(FileError, match="not a regular file"):
        read("/dev/null")
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.tps")
    with pytest.raises(FileError, match="not a file that sfumato reads"):
        load(b"\x00\x01\x02" * 100)
    with pytest.raises(FileError, match="column 'note' holds a text of 100000 characters"):
        load("note,a,b\n" + "x" * 100_000 + ",1,2\n" + "y,1,2\n" * 3000)


def test_a_missing_package_is_named(load, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(FileError, match=r"reading MATLAB 7.3 files needs the package h5py: pip install h5py"):
        load(b"MATLAB 7.3 MAT-file".ljust(600))


# -- writing -----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("value", "kind", "space", "endings"),
    [
        (LANDMARKS[0] / 3, "landmarks", sf.PlanarShapes(5), (".tps", ".csv", ".npy", ".CSV")),
        (MATRICES[0] / 3, "matrices", sf.SPD(3), (".csv", ".npy")),
        (np.diag(np.arange(1.0, 13.0)), "matrices", sf.SPD(12), (".csv", ".npy")),
        (VECTORS[0], "vectors", sf.Sphere(2), (".csv", ".npy")),
    ],
)
def test_a_value_is_written_to_the_last_bit(tmp_path, value, kind, space, endings):
    for ending in endings:
        path = tmp_path / f"mean{ending}"
        path.write_text("old")
        write_points(path, value, kind)
        data = read(path, space)
        np.testing.assert_array_equal(data.points, value[None])
        assert data.kind == kind
        if ending != ".npy":
            assert read(path).kind == kind
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(f"mean{ending}" for ending in endings)


def test_values_that_are_not_written(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"TPS files hold landmarks, not matrices"):
        write_points(tmp_path / "a.tps", np.eye(2), "matrices")
    with pytest.raises(
        ValueError, match=r"cannot write such an ending; choose \.tps, \.nts, \.txt, \.mrk\.json, \.csv, \.npy, \.rds"
    ):
        write_points(tmp_path / "a.json", np.eye(2), "matrices")
    with pytest.raises(ValueError, match=r"shape \(2, 3\) is not one value of kind 'matrices'"):
        write_points(tmp_path / "a.csv", np.zeros((2, 3)), "matrices")
    with pytest.raises(ValueError, match="kind must be"):
        write_points(tmp_path / "a.csv", np.zeros(3), "points")
    with pytest.raises(ValueError, match="holds NaN"):
        write_points(tmp_path / "a.csv", [np.nan], "vectors")
    (tmp_path / "a.csv").write_text("old")
    monkeypatch.setattr("os.replace", lambda *paths: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_points(tmp_path / "a.csv", [1.0], "vectors")
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == "old"


# -- found by python -m attacks.fuzz ---------------------------------------------------------------------------------------
def test_patterns_do_not_take_for_ever(load):
    """Each of these took more than a minute, or for ever, by backtracking or by looking a list up for every column."""
    landmarks = "0 0\n1 0\n0 1\n"
    for text, message in [
        (f"LM=3\n{landmarks}A{' ' * 60_000}!\n", "expected KEYWORD=value"),
        (f"LM=3\n{'9' * 60_000}x 0\n1 0\n0 1\n", "is not a number"),
        ('"c\n\n' * 400 + "x\n", "line 3: ',' expected after"),
        (f"[individuals]\n1\n[a{' ' * 60_000}b\n", "the heading .* is cut or repeated"),
        (f"x1,y1,x2,y2,x3,y3\n{'9' * 60_000}x,1,2,3,4,5\n", "column 'x1': '9{40}…' is not a number"),
    ]:
        with pytest.raises(FileError, match=message):
            load(text)
    wide = ",".join(f"c{i}" for i in range(40_000)) + "\n" + ",".join(["1"] * 40_000) + "\n"
    assert load(wide).points.shape == (1, 40_000)


def test_headers_with_odd_types_and_axes_are_refused(load):
    for content, message in [
        (header((1,) * 70) + bytes(8), "the header says 70 axes"),
        (header((True, True)) + bytes(8), "the header says 2 axes"),
        (header((2,), ("<f8", (3,))) + bytes(48), "holds Python objects or structures"),
    ]:
        with pytest.raises(FileError, match=message):
            load(content)
    axes = struct.pack("<100i", *[1] * 100)
    parts = (
        struct.pack("<IIII", 6, 8, 6, 0)
        + struct.pack("<II", 5, 400)
        + axes
        + struct.pack("<II", 1, 1)
        + b"X"
        + bytes(7)
    )
    parts += struct.pack("<II", 9, 8) + bytes(8)
    with pytest.raises(FileError, match="the MATLAB file is damaged"):
        load(mat(False, X=np.eye(3))[:128] + struct.pack("<II", 14, len(parts)) + parts)


def test_names_with_thousands_of_digits(load):
    names = ",".join(f"{axis}{i}{'1' * 5000}" for i in range(1, 4) for axis in "xy")
    assert load(f"{names}\n1,2,3,4,5,6\n").kind == "landmarks"


def test_texts_may_not_fill_the_memory(load):
    """A text of some kilobytes takes that much in every row of its column, and there may be many columns."""
    import pyarrow as pa

    table = ",".join(f"c{i}" for i in range(60)) + "\n" + ",".join(["x" * 20_000] * 60) + "\n"
    for content in (
        table + (",".join("y" * 60) + "\n") * 2000,
        "".join(
            f"LM=3\n0 0\n1 0\n0 1\nA={'x' * (20_000 if i == 0 else 1)}\nB={'x' * (20_000 if i == 0 else 1)}\n"
            for i in range(900)
        ),
        mat(True, X=np.eye(3), who=np.array(["a" * 30_000, *["b"] * 2000], dtype=object)),
        R_HEADER
        + struct.pack(">4i", 16, 2001, 0x40009, 30_000)
        + b"a" * 30_000
        + struct.pack(">2is", 0x40009, 1, b"b") * 2000,
        parquet(
            {"a": np.zeros(2000), "b": pa.DictionaryArray.from_arrays(np.zeros(2000, dtype=np.int32), ["a" * 200_000])}
        ),
        parquet(
            {"a": np.zeros(2000), "b": pa.DictionaryArray.from_arrays(np.zeros(2000, dtype=np.int32), [b"a" * 200_000])}
        ),
    ):
        with pytest.raises(FileError, match=r"holds a text of \d+ characters; leave the column out"):
            load(content)


def test_messages_can_be_printed(load):
    long = b"\x01" * 500
    for content in (
        b"\x1b[2J,\x07\nb,a\n",
        b"PAR1" + bytes(range(200)) + b"PAR1",
        b"a,\xc2\x85\nb,c\n",
        long + b",b\nc,d\n",
    ):
        with pytest.raises(FileError) as refusal:
            load(content)
        assert str(refusal.value).isprintable()
        assert len(str(refusal.value)) < 1000


def test_the_rows_of_a_single_point_are_no_labels(load):
    data = load("a,b,who\n1,0,x\n0,1,y\n", sf.SPD(2))
    assert data.points.shape == (1, 2, 2)
    assert data.labels == {}


def test_a_specimen_too_many(load):
    with pytest.raises(FileError, match=r"\[rawpoints\] holds 5 specimens, but \[individuals\] says 4"):
        load(morphologika().rstrip() + "\n'Z\n")


def test_a_file_that_crashes_its_reader_is_refused(load, monkeypatch):
    """HDF5's library can end the process at a damaged file: it reads in one of its own, and the next file gets another."""
    from sfumato.files import apart

    assert apart.read_apart("matlab:mat_arrays", mat(x=[[97, 98]]))["x"].tolist() == [[97, 98]]
    with pytest.raises(FileError, match="the program that reads such files failed"):
        apart.read_apart("apart:no_such_reader", b"ab")
    monkeypatch.setattr(apart, "READ_SECONDS", 0.0)
    with pytest.raises(FileError, match="failed or gave up"):
        apart.read_apart("apart:never", b"ab")
    monkeypatch.undo()
    assert load(mat73_of(coords=LANDMARKS)).points.shape == LANDMARKS.shape


def test_packed_in_other_ways_is_refused(load):
    def filtered(file):
        file.create_dataset("X", shape=(4, 3), dtype="f8", chunks=(4, 3), compression=32008, allow_unknown_filter=True)

    def chunked(file):
        file.create_dataset(
            "X", shape=(4, 3), chunks=(1 << 14, 1 << 14), maxshape=(None, None), dtype="f8", compression="gzip"
        )

    for make, message in ((filtered, "packed in a way that MATLAB does not use"), (chunked, "over the limit")):
        with pytest.raises(FileError, match=message):
            load(mat73(make))
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("points.npy", npy(LANDMARKS))
    with pytest.raises(FileError, match="packed in a way that NumPy does not use"):
        load(other.getvalue())


def test_a_parquet_file_that_lies_about_its_size_is_refused(load):
    """The footer says 4 bytes where the page unpacks to 300 MB; the process that unpacks it may not take so much."""
    import pyarrow.parquet

    size = 300 << 20
    text = pyarrow.StringArray.from_buffers(
        1, pyarrow.py_buffer(struct.pack("<2i", 0, size)), pyarrow.py_buffer(b"a" * size)
    )
    content = parquet({"a": [1.0], "b": text}, compression="zstd", use_dictionary=False, write_statistics=False)
    group = pyarrow.parquet.ParquetFile(io.BytesIO(content)).metadata.row_group(0)
    assert len(content) < 100_000
    with pytest.raises(FileError, match="would unpack to"):
        load(content)
    for size in (group.total_byte_size, group.column(1).total_uncompressed_size):
        number, left = b"", 2 * size
        while left:
            number, left = number + bytes([left % 128 | 128 * (left > 127)]), left // 128
        content = content.replace(number, b"\x88" + b"\x80" * (len(number) - 2) + b"\x00")
    with pytest.raises(FileError, match=r"needs more memory than its size explains|failed or gave up"):
        load(content)


# -- tables in memory --------------------------------------------------------------------------------------------------------
def test_a_data_frame_is_read_as_its_file_would_be(load):
    import pandas

    frame = pandas.DataFrame(
        {
            "subject": ["a", None, "b"],
            "lat": [10.0, 11.0, 12.0],
            "lon": [1, 2, 3],
            "age": pandas.array([7, None, 9], "Int64"),
        }
    )
    data, file = read(frame, sf.Sphere(2)), load(frame.to_csv(index=False), sf.Sphere(2))
    np.testing.assert_array_equal(data.points, file.points)
    assert (data.degrees, data.labels["subject"].tolist()) == (("lat", "lon"), ["a", "", "b"])
    np.testing.assert_array_equal(data.labels["age"], [7, np.nan, 9])
    with pytest.raises(FileError, match=r"DataFrame: there is no column 'depth'"):
        read(frame, columns="depth")
    with pytest.raises(FileError, match=r"DataFrame: record 1: column 'lat': 100 is beyond"):
        read(frame.assign(lat=[10.0, 100.0, 12.0]), sf.Sphere(2))
    frame = pandas.DataFrame({f"{axis}{i}": LANDMARKS[:, i, j] for i in range(5) for j, axis in enumerate("xy")})
    np.testing.assert_array_equal(read(frame).points, LANDMARKS)


def test_frames_are_taken_for_points():
    import pandas

    angles = np.random.default_rng(0).normal(0, 5, (200, 2))
    frame = pandas.DataFrame({"id": np.arange(200), "lon": angles[:, 0], "lat": angles[:, 1]})
    points = read(frame, sf.Sphere(2)).points
    np.testing.assert_array_equal(
        sf.frechet_mean(sf.Sphere(2), frame).point, sf.frechet_mean(sf.Sphere(2), points).point
    )
    release = sf.private_mean(frame, sf.Ball(sf.Sphere(2), [1.0, 0.0, 0.0], 0.8), epsilon=1.0, unit="one quake")
    assert set(release.record["degrees"]) == {"lat", "lon"}


def test_polars_is_asked_as_pandas_is():
    """polars is not among the packages of the tests: a frame with its names and methods stands for it."""

    class Series(list):
        def to_numpy(self):
            return np.array(self)

        def to_list(self):
            return list(self)

    class DataFrame(dict):
        columns = property(lambda self: list(self))

    DataFrame.__module__ = "polars.dataframe.frame"
    frame = DataFrame(site=Series(["u", "v"]), lat=Series([0.0, 90.0]), lon=Series([90.0, 0.0]))
    data = read(frame)
    np.testing.assert_allclose(data.points, [[0, 1, 0], [0, 0, 1]], atol=1e-12)
    assert (data.format, data.labels["site"].tolist()) == ("polars", ["u", "v"])


def test_a_lazy_frame_is_computed_and_its_errors_are_told_in_a_sentence():
    """Of polars by a frame with its names and methods, as above; of xarray really, computed by Dask."""
    import dask.array
    import pandas
    import xarray

    class ComputeError(Exception):
        pass

    class LazyFrame:
        def __init__(self, found):
            self.found = found

        @property
        def columns(self):
            raise ComputeError("no such file")

        def collect(self):
            if self.found is None:
                raise ComputeError("no such file")
            return self.found

    LazyFrame.__module__ = "polars.lazyframe.frame"
    frame = pandas.DataFrame({"lat": [0.0, 90.0], "lon": [90.0, 0.0]})
    np.testing.assert_allclose(read(LazyFrame(frame)).points, [[0, 1, 0], [0, 0, 1]], atol=1e-12)
    with pytest.raises(sf.FileError, match=r"LazyFrame: could not be computed \(ComputeError: no such file\)"):
        sf.private_mean(LazyFrame(None), sf.Ball(sf.Sphere(2), [1.0, 0.0, 0.0], 0.8), epsilon=1.0)

    def fail(block):
        raise ComputeError("no such file")

    array = dask.array.from_array(MATRICES).map_blocks(fail, dtype=float)
    lazy = xarray.DataArray(array, dims=("epoch", "row", "column"), name="cov")
    with pytest.raises(sf.FileError, match=r"Dataset: could not be computed \(ComputeError: no such file\)"):
        read(xarray.Dataset({"cov": lazy}))
    with pytest.raises(ValueError, match=r"the points could not be computed \(ComputeError: no such file\)"):
        sf.private_mean(lazy, sf.Ball(sf.SPD(3), np.eye(3), 1.0), epsilon=1.0)


def test_xarray():
    import xarray

    array = xarray.DataArray(MATRICES, dims=("epoch", "row", "column"), name="cov")
    np.testing.assert_array_equal(sf.SPD(3).validate(array), MATRICES)
    data = read(xarray.Dataset({"cov": array, "age": ("epoch", np.arange(len(MATRICES)))}))
    np.testing.assert_array_equal(data.points, MATRICES)
    assert (data.kind, data.labels["age"].tolist()) == ("matrices", list(range(len(MATRICES))))


# -- spaces that files know nothing of -----------------------------------------------------------------------------------------
class Rotations(sf.Euclidean):
    """A space of (2, 3) arrays: all that files ask of a space is its kind and the shape of a point."""

    kind = "arrays"

    def present(self, points):
        return np.asarray(points, dtype=np.float64).reshape(*np.shape(points)[:-1], 2, 3)


def test_a_new_space_needs_no_reader_of_its_own(load, tmp_path):
    space, points = Rotations(6), np.arange(24.0).reshape(4, 2, 3)
    table = "a,b,c,d,e,f\n" + "".join(",".join(map(str, point.flat)) + "\n" for point in points)
    for content in (npy(points), npy(points.reshape(4, 6)), table):
        data = load(content, space)
        np.testing.assert_array_equal(data.points, points)
        assert data.kind == "arrays"
    np.testing.assert_array_equal(load(npy(points[0]), space).points, points[:1])
    with pytest.raises(FileError, match=r"needs arrays of shape \(2, 3\)"):
        load(npy(points[:, :, :2]), space)
    write_points(tmp_path / "value.csv", points[1], "arrays")
    np.testing.assert_array_equal(read(tmp_path / "value.csv", space).points, points[1:2])


def test_an_answer_larger_than_its_file_explains_is_refused(load, monkeypatch):
    from sfumato.files import apart

    content = mat(False, coords=LANDMARKS)
    monkeypatch.setattr(apart, "_room", lambda content: 100)
    with pytest.raises(FileError, match="failed or gave up"):
        load(content)
    monkeypatch.undo()
    np.testing.assert_array_equal(load(content).points, LANDMARKS)


def test_refusals_carry_their_fixes(load):
    """The command line and the page say them in words of their own, also after the name of the file was put before them."""
    rows = np.vstack([np.linspace(1, 2, 24).reshape(12, 2), [[-999, 1], [-999, 2]]])
    curves = (
        "LM=3\n0 0\n1 0\n0 1\nCURVES=1\nPOINTS=2\n0 0\n1 1\nID=a\n"
        + "LM=3\n0 0\n1 0\n0 1\nCURVES=1\nPOINTS=3\n0 0\n1 1\n2 2\nID=b\n"
    )
    for content, space, fixes in [
        ("theta,phi\n60,-150\n0,90\n", sf.Sphere, [Fix("columns", "lat=theta, lon=phi")]),
        (csv(["height", "weight"], rows.tolist()), None, [Fix("missing", -999), Fix("missing", "none")]),
        (npz(left=LANDMARKS, right=LANDMARKS), None, [Fix("array", "left")]),
        (npy(np.zeros((4, 2, 5))), sf.PlanarShapes, [Fix("landmarks", 4)]),
        (curves, None, [Fix("curves", "drop"), Fix("curves", 20)]),
        (csv("wxyz", [[0.5, 0.5, 0.5, 0.5]] * 3), None, [Fix("space", "rotations"), Fix("space", "euclidean")]),
    ]:
        with pytest.raises(FileError) as refusal:
            load(content, space)
        assert [part for part in refusal.value.parts if isinstance(part, Fix)] == fixes, str(refusal.value)
        assert f"--{fixes[0].wish} " in refusal.value.say(lambda fix: f"--{fix.wish} {fix.value}")


def test_a_file_is_parsed_once_however_often_it_is_read(tmp_path):
    path = tmp_path / "flat.csv"
    path.write_text(csv("abcd", [[1.0, 0.0, 0.0, 1.0]] * 3))
    reading = reader(path)
    assert reading().points.shape == (3, 4)
    path.unlink()
    assert reading(sf.SPD(2)).points.shape == (3, 2, 2)
    assert reading(sf.Euclidean, columns="b, c").points.shape == (3, 2)


def test_several_frames_are_read_each_by_itself():
    """Frames have no name of their own, by which what was read of one could be kept for another."""
    import pandas

    frames = [pandas.DataFrame({"x": [i, i + 0.5], "y": [1.0, 2.0]}) for i in (0.0, 10.0)]
    assert read(frames, sf.Euclidean(2)).points[:, 0].tolist() == [0, 0.5, 10, 10.5]
