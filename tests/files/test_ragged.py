"""Ragged outlines: lists of R, Momocs's objects, chain codes, files of points; and what is said of them as they are."""

from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.files import FileError


def blob(rng, points, long=0.3):
    t = np.sort(rng.random(points)) * 2 * np.pi
    r = 100 * (1 + long * np.cos(2 * t) + 0.1 * np.cos(3 * t + 0.4))
    return np.stack([r * np.cos(t) + 200, r * np.sin(t) + 200], axis=1)


@pytest.fixture
def ragged(rng):
    """As Momocs's bottles and leaves: tens of outlines of tens to hundreds of points."""
    return {f"leaf {i}": blob(rng, int(m)) for i, m in enumerate(rng.integers(40, 300, 12))}


SPECIES = ["oak"] * 5 + ["elm"] * 7


def workspace(path, **objects):
    import rdata

    rdata.write_rda(path, objects)
    return path


def r_bytes(value, classes=()):
    """By hand, what R's serialize() writes of named lists, matrices and factors, as rdata writes no classes of its own."""
    import struct

    def ints(*values):
        return struct.pack(f">{len(values)}i", *values)

    def text(word):
        return ints(9, len(word)) + word.encode()

    def attributes(**named):
        return b"".join(ints(0x402, 1) + text(name) + content for name, content in named.items()) + ints(254)

    def strings(words):
        return ints(16, len(words)) + b"".join(map(text, words))

    if isinstance(value, np.ndarray):
        dim = ints(13, 2, *value.shape)
        return ints(0x20E, value.size) + value.ravel(order="F").astype(">f8").tobytes() + attributes(dim=dim)
    if isinstance(value, list):  # a factor
        levels = sorted(set(value))
        codes = ints(0x30D, len(value), *(levels.index(each) + 1 for each in value))
        return codes + attributes(levels=strings(levels), **{"class": strings(["factor"])})
    if classes == ("S4",):
        own = {name: r_bytes(*each) for name, each in value.items()}
        return ints(0x10319) + attributes(**own, **{"class": strings(["Out"])})
    content = ints(0x313, len(value)) + b"".join(r_bytes(*each) for each in value.values())
    more = {"class": strings(list(classes))} if classes else {}
    return content + attributes(names=strings(list(value)), **more)


def coo(ragged, kind="Out", s4=False):
    frame = {"type": (SPECIES,), "site": (["a", "b", "c"] * 4,)}
    parts = {"coo": ({name: (each,) for name, each in ragged.items()},), "fac": (frame, ("data.frame",)), "ldk": ({},)}
    head = b"X\n" + b"\x00\x00\x00\x02\x00\x03\x06\x02\x00\x02\x03\x00"
    return head + r_bytes(parts, ("S4",) if s4 else (kind, "Coo"))


def test_a_momocs_object(tmp_path, ragged):
    path = tmp_path / "bot.rds"
    for s4 in (False, True):
        path.write_bytes(coo(ragged, s4=s4))
        for space in (None, sf.PlanarShapes, sf.Outlines(harmonics=4)):
            with pytest.raises(
                FileError, match=r"'coo': 12 outlines of \d+ to \d+ points; .* resample each, as curves=50"
            ):
                sf.read(path, space)
            data = sf.read(path, space, curves=50)
            assert np.array_equal(data.points, sf.resample_outlines(ragged.values(), 50))
            assert data.labels["ID"].tolist() == list(ragged)
            assert data.labels["type"].tolist() == SPECIES
            assert "resampled to 50 points" in data.source
        with pytest.raises(FileError, match="holds outlines; Euclidean needs vectors"):
            sf.read(path, sf.Euclidean, array="coo", curves=50)


def test_open_curves_keep_their_ends(tmp_path, ragged):
    path = tmp_path / "olea.rds"
    path.write_bytes(coo(ragged, "Opn"))
    data = sf.read(path, curves=30)
    first = next(iter(ragged.values()))
    assert np.array_equal(data.points[0, [0, -1]], first[[0, -1]])


def test_lists_of_r_one_and_two_deep(tmp_path, ragged):
    path = tmp_path / "leaves.rda"
    want = sf.resample_outlines(ragged.values(), 50)
    items = list(ragged.items())
    groups = {"oak": dict(items[:5]), "elm": dict(items[5:])}
    for held in ({"leaves": ragged}, {"leaves": groups}, {"study": {"leaves": groups, "year": 2020.0}}):
        data = sf.read(workspace(path, **held), curves=50)
        assert np.array_equal(data.points, want)
        assert data.labels["ID"].tolist() == list(ragged)
        if "leaves" not in held or "oak" in held["leaves"]:
            assert data.labels["group"].tolist() == SPECIES
        with pytest.raises(FileError, match=r"12 outlines of \d+ to \d+ points; .* curves=50"):
            sf.read(path)
    bare = sf.read(workspace(path, leaves={name: list(own.values()) for name, own in groups.items()}), curves=50)
    assert list(bare.labels) == ["group"]  # numbers in a list name nobody
    even = {name: {key: each[:40] for key, each in own.items()} for name, own in groups.items()}
    assert sf.read(workspace(path, leaves=even)).points.shape == (12, 40, 2)
    assert sf.read(path, curves=20).points.shape == (12, 20, 2)


def test_labels_come_from_the_same_list(tmp_path, ragged):
    import pandas

    ages = [float(i) for i in range(12)]
    tables = [pandas.DataFrame({"age": numbers}) for numbers in (ages, ages[::-1])]
    held = {name: {"coo": ragged, "fac": table} for name, table in zip(("one", "two"), tables, strict=True)}
    path = workspace(tmp_path / "two.rda", **held)
    with pytest.raises(FileError, match=r"more than one array could be the records"):
        sf.read(path, curves=50)
    assert sf.read(path, array="two$coo", curves=50).labels["age"].tolist() == ages[::-1]
    assert sf.read(path, array="one$coo", curves=50).labels["age"].tolist() == ages


def test_lists_that_are_not_outlines_stay_what_they_are(tmp_path, rng):
    frames = [np.linalg.qr(rng.normal(size=(5, 2)))[0] for _ in range(6)]
    path = workspace(tmp_path / "x.rda", frames=frames, sizes=np.arange(6.0))
    assert sf.read(path, sf.Grassmann(5, 2)).points.shape == (6, 5, 2)
    matrices = [np.eye(2) * (i + 1) for i in range(5)]
    assert sf.read(workspace(tmp_path / "y.rda", m=matrices), sf.SPD(2)).points.shape == (5, 2, 2)
    assert sf.read(workspace(tmp_path / "y.rda", m={"a": {}, "b": [], "c": matrices}), sf.SPD(2)).points.shape == (
        5,
        2,
        2,
    )


def write_folder(folder, ragged, sep=" ", header=""):
    folder.mkdir()
    for name, each in ragged.items():
        np.savetxt(folder / f"{name}.{'csv' if sep == ',' else 'txt'}", each, delimiter=sep, header=header, comments="")
    return folder


@pytest.mark.parametrize(("sep", "header"), [(" ", ""), ("\t", ""), (",", "x,y")])
def test_a_folder_of_point_files(tmp_path, ragged, sep, header):
    folder = write_folder(tmp_path / "leaves", ragged, sep, header)
    data = sf.read(folder, curves=50)
    assert np.array_equal(data.points, sf.resample_outlines(ragged.values(), 50))
    assert [Path(name).stem for name in data.labels["file"]] == list(ragged)
    with pytest.raises(FileError, match=r"rows of two numbers; name the space, as space='shapes', and .* curves=50"):
        sf.read(folder)
    with pytest.raises(
        FileError, match=r"all files must hold the same; if they are outlines, resample each, as curves=50"
    ):
        sf.read(folder, sf.PlanarShapes)
    one = next(iter(folder.iterdir()))
    assert sf.read(one, sf.PlanarShapes, curves=50).points.shape == (1, 50, 2)
    assert sf.read(one, sf.Euclidean(2), curves=50).points.shape[1:] == (2,)  # who says vectors gets these


def test_chain_codes(tmp_path):
    path = tmp_path / "seeds.chc"
    path.write_text("a_1 10 20 0.25 9 0 0 2 2 4 4 6 6 -1\nb_1 -1 2 0.25 12 0 0 0 2 2\n4 4 4 6 6 -1\n")
    data = sf.read(path, curves=8)
    assert (data.format, data.labels["ID"].tolist()) == ("CHC", ["a_1", "b_1"])
    square = [[2, 2], [1, 2], [0, 2], [0, 1], [0, 0], [1, 0], [2, 0], [2, 1]]
    assert np.allclose(data.points[0], square)
    with pytest.raises(FileError, match=r"2 outlines of 8 to 10 points; .* curves=50"):
        sf.read(path)
    text = path.read_text()
    for end in (*range(40, 70), len(text) - 3):
        (tmp_path / "cut.chc").write_text(text[:end])
        with pytest.raises(FileError, match=r"line [12]: a chain-coded outline is .*; is the file cut"):
            sf.read(tmp_path / "cut.chc", curves=8)
    (tmp_path / "cut.chc").write_bytes(b"\xfe\xff_")  # UTF-16 of half a letter
    with pytest.raises(FileError, match="is the file cut"):
        sf.read(tmp_path / "cut.chc", curves="drop")
    numbers = tmp_path / "table.txt"
    numbers.write_text("1 2 3 4 5 0 1 2 3 4 5 6 7\n" * 4)
    assert sf.read(numbers, sf.Euclidean).points.shape == (4, 13)


def test_outlines_of_tps_are_closed(tmp_path, ragged):
    text = ""
    for name, each in ragged.items():
        rows = "".join(f"{x!r} {y!r}\n" for x, y in each.tolist())
        text += f"LM=0\nOUTLINES=1\nPOINTS={len(each)}\n{rows}ID={name}\n"
    path = tmp_path / "mice.tps"
    path.write_text(text)
    assert np.array_equal(sf.read(path, curves=50).points, sf.resample_outlines(ragged.values(), 50))
    with pytest.raises(FileError, match=r"12 outlines of \d+ to \d+ points; .* curves=50"):
        sf.read(path)
    path.write_text(text.replace("OUTLINES", "CURVES"))
    assert np.array_equal(sf.read(path, curves=50).points[0, [0, -1]], next(iter(ragged.values()))[[0, -1]])


def test_a_public_outline_says_where_others_start(tmp_path, ragged, rng):
    path = workspace(tmp_path / "leaves.rda", leaves=ragged)
    public = workspace(tmp_path / "public.rda", atlas={"x": blob(rng, 90), "y": blob(rng, 95)})
    reference = sf.read(public, curves=50).points[0]
    want = sf.resample_outlines(ragged.values(), 50, reference)
    assert np.array_equal(sf.read(path, curves=50, reference=reference).points, want)
    assert np.array_equal(sf.read(path, curves=50, reference=public).points, want)
    assert not np.array_equal(sf.read(path, curves=50).points, want)
    sf.save_region(sf.Ball(sf.PlanarShapes(landmarks=50), reference, 0.1), tmp_path / "region.json")
    assert np.allclose(sf.read(path, curves=50, reference=tmp_path / "region.json").points, want, atol=1e-9)
    folder = write_folder(tmp_path / "leaves", ragged)
    assert np.allclose(sf.read(folder, curves=50, reference=public).points, want, atol=1e-9)


def test_one_outline_changed_changes_no_other(tmp_path, ragged, rng):
    reference = blob(rng, 100)
    made = sf.read(workspace(tmp_path / "a.rda", leaves=ragged), curves=50, reference=reference).points
    changed = {**ragged, "leaf 3": 1e4 * blob(rng, 17, long=0.6)[::-1]}
    other = sf.read(workspace(tmp_path / "b.rda", leaves=changed), curves=50, reference=reference).points
    rows = np.arange(12) != 3
    assert np.array_equal(made[rows], other[rows])
    assert not np.array_equal(made[3], other[3])


def test_missing_points_are_refused_before_they_are_hidden(tmp_path, ragged):
    coded = {**ragged, "leaf 2": np.vstack([ragged["leaf 2"], [[-999.0, -999.0]]])}
    path = workspace(tmp_path / "a.rda", leaves=coded)
    with pytest.raises(FileError, match=r"record 2 \(ID 'leaf 2'\): a point of a curve holds -999"):
        sf.read(path, curves=50)
    data = sf.read(path, curves=50, missing=-999)
    assert np.isnan(data.points[2]).all()
    assert np.isfinite(data.points[[0, 1, *range(3, 12)]]).all()


@pytest.mark.parametrize("points", [0, 1, 2])
def test_a_short_outline_is_a_bad_record_by_itself(tmp_path, ragged, rng, points):
    short = {**ragged, "leaf 3": ragged["leaf 3"][:points]}
    data = sf.read(workspace(tmp_path / "a.rda", leaves=short), curves=50)
    assert np.array_equal(data.points, sf.resample_outlines(short.values(), 50), equal_nan=True)
    assert [*sf.PlanarShapes(50).diagnose(data.points)[1]] == [3]
    if points:  # an empty file may be a damaged one
        folder = write_folder(tmp_path / "leaves", short)
        assert np.array_equal(sf.read(folder, curves=50).points, data.points, equal_nan=True)


def test_missing_points_are_passed_over_where_they_are_estimated(tmp_path, ragged):
    holed = {name: each.copy() for name, each in ragged.items()}
    holed["leaf 1"][[4, 9]] = np.nan
    holed["leaf 2"][7] = -999.0
    holed["leaf 3"][:-2] = np.nan
    path = workspace(tmp_path / "a.rda", leaves=holed)
    there = [each[np.isfinite(each).all(axis=1) & (each != -999).all(axis=1)] for each in holed.values()]
    data = sf.read(path, curves=50, missing="estimate")
    assert np.array_equal(data.points, sf.resample_outlines(there, 50), equal_nan=True)
    assert np.isnan(data.points).any(axis=(1, 2)).tolist() == [row == 3 for row in range(12)]
    assert np.isnan(sf.read(path, curves=50, missing=-999).points).any(axis=(1, 2))[[1, 2, 3]].all()
    (tmp_path / "opn.rds").write_bytes(coo({**holed, "leaf 4": np.vstack([ragged["leaf 4"], [[np.nan] * 2]])}, "Opn"))
    curves = sf.read(tmp_path / "opn.rds", curves=20, missing="estimate").points
    assert np.isnan(curves).any(axis=(1, 2)).tolist() == [row in (3, 4) for row in range(12)]  # the second lacks an end


def test_what_does_not_fit_says_what_would(tmp_path, ragged):
    path = tmp_path / "bot.rds"
    path.write_bytes(coo(ragged))
    for space, words in (
        (sf.Outlines(6), r"10 points on each, and Outlines\(harmonics=6\) needs 13 or more: curves=13"),
        (sf.PlanarShapes(50), r"10 points on each, and PlanarShapes\(landmarks=50\) needs 50: curves=50"),
    ):
        for source in (path, write_folder(tmp_path / space.name, ragged)):
            with pytest.raises(FileError, match=words):
                sf.read(source, space, curves=10)
    with pytest.raises(FileError, match=r"it holds coo: landmarks, fac, a table of 12 rows"):
        sf.read(path, array="x", curves=50)
    even = workspace(tmp_path / "a.rda", A=np.stack([each[:40] for each in ragged.values()], axis=-1))
    assert sf.read(even, curves=40).points.shape == (12, 40, 2)
    with pytest.raises(FileError, match=r"the array \(40, 2, 12\) marks no curves: .* leave out curves=50"):
        sf.read(even, curves=50)


# -- the command line --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("form", ["rda", "folder", "chc"])
def test_the_command_line_releases_ragged_outlines(sfumato, ragged, rng, form):
    workspace("public.rda", atlas={f"p{i}": blob(rng, 70 + i, 0.3 + 0.02 * i) for i in range(6)})
    path = "leaves.rda"
    if form == "rda":
        workspace(path, leaves={"oak": dict([*ragged.items()][:5]), "elm": dict([*ragged.items()][5:])})
    elif form == "folder":
        path = str(write_folder(Path("leaves"), ragged))
    else:
        path = "leaves.chc"
        steps = "0 " * 9 + "1 " * 5 + "2 " * 4 + "3 " * 5 + "4 " * 9 + "5 " * 5 + "6 " * 4 + "7 " * 5
        Path(path).write_text("".join(f"s{i}_1 0 0 1 1 {'0 ' * i}{steps}{'4 ' * i}-1\n" for i in range(12)))
    asked = ["--public", "public.rda", "--relation", "other", "--epsilon", "20", "--even-if-useless"]
    code, _, error = sfumato("release", path, *asked)
    assert code
    assert "--curves 50" in error
    code, out, error = sfumato("release", path, "--curves", "50", *asked, "--value", "mean.tps")
    assert not code, error
    assert "12 planar shapes of 50 landmarks" in out
    assert sf.read("mean.tps").points.shape == (1, 50, 2)
    code, out, error = sfumato(
        "release", path, "--curves", "50", "--space", "outlines(harmonics=3)", *asked, "--out", "o.json"
    )
    assert not code, error
    assert "12 closed outlines drawn with 36 points" in out
    if form == "rda":
        compared = ["--by", "group", "--labels-are-public", "--out", "c.json"]
        code, out, error = sfumato("compare", path, "--curves", "50", *asked, *compared)
        assert not code, error
        assert "oak (5)" in out


def test_records_that_are_public_too_are_noticed(sfumato, ragged):
    """Both are resampled by the same reference, so the same outline is the same record."""
    items = [*ragged.items()]
    workspace("public.rda", atlas=dict(items[:4]))
    workspace("leaves.rda", leaves=dict(items[2:]))
    _, _, error = sfumato("release", "leaves.rda", "--curves", "40", "--public", "public.rda", "--epsilon", "20")
    assert "2 of the records are in public.rda too" in error


def test_the_python_of_a_request_reads_the_same(sfumato, ragged, rng):
    from sfumato.app.recipes import as_python
    from sfumato.app.request import Request
    from sfumato.app.workflow import Workflow

    workspace("public.rda", atlas={f"p{i}": blob(rng, 70 + i) for i in range(6)})
    folder = str(write_folder(Path("leaves"), ragged))
    sf.write_points("center.tps", sf.resample_outlines([blob(rng, 80)], 40)[0], "landmarks")
    for known in ({"public": "public.rda"}, {"center": "center.tps", "radius": 0.3}):
        request = Request(files=(folder,), curves="40", epsilon=9.0, allow_useless=True, out="x.json", **known)
        work = Workflow(request)
        work.load()
        work.settle()
        names = {}
        exec(as_python(request, work.space), names)
        assert np.array_equal(names["data"].points, work.data.points)
        center = names["region"].settle(12, 9.0).center
        assert np.array_equal(center, work.region.settle(12, 9.0).center)
        own = sf.read(folder, curves=40).points
        assert not np.array_equal(own, work.data.points)  # which start by themselves
