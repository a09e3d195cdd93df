"""Incomplete specimens and semilandmarks, by the command line and by what the page sends: bits, words, and who sees them."""

import io
from contextlib import redirect_stderr
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.app.recipes import as_python
from sfumato.app.request import Request, as_option, from_page, in_page
from sfumato.app.workflow import Workflow
from sfumato.errors import FileError, Refusal

K = 9
SLIDERS = [(1, 2, 3), (2, 3, 4), (5, 6, 7)]


def tps(path, points, curve=0):
    """Write specimens, the last landmarks as a curve."""
    text = ""
    for i, p in enumerate(points):
        rows = ["NA " * p.shape[1] if np.isnan(x).any() else " ".join(map(repr, x)) for x in p.tolist()]
        marks = [f"{'LM' if p.shape[1] == 2 else 'LM3'}={len(p) - curve}", *rows[: len(p) - curve]]
        marks += ["CURVES=1", f"POINTS={curve}", *rows[len(p) - curve :]] if curve else []
        text += "\n".join([*marks, f"ID=s{i // 2}", f"SEX={'fm'[i % 2]}", ""])
    path.write_text(text)


def specimens(n, m, seed):
    rng = np.random.default_rng(seed)
    return 300 + 100 * np.random.default_rng(5).normal(size=(K, m)) + 4 * rng.normal(size=(n, K, m))


@pytest.fixture(params=[2, 3])
def files(request, tmp_path, monkeypatch):
    """Records with holes, the same with too many in one of them, public specimens with a hole, a centre, and sliders."""
    monkeypatch.chdir(tmp_path)
    m = request.param
    holed, public = specimens(120, m, 0), specimens(30, m, 1)
    for row, gone in ((3, [1]), (7, [0, 4, 8]), (40, [2, 5])):
        holed[row, gone] = np.nan
    public[4, 3] = np.nan
    worse = holed.copy()
    worse[11, :5] = np.nan
    for name, points in {
        "a": holed,
        "worse": worse,
        "public": public,
        "whole": public[:4],
        "center": public[:1],
    }.items():
        tps(tmp_path / f"{name}.tps", points)
    tps(tmp_path / "curved.tps", holed, curve=5)
    tps(tmp_path / "curves.tps", public[5:], curve=5)
    (tmp_path / "sliders.csv").write_text("before,slide,after\n" + "".join(f"{a},{b},{c}\n" for a, b, c in SLIDERS))
    return holed, public


def settled(**given):
    work = Workflow(Request(**{"files": ("a.tps",), "unit": "one record", "epsilon": 1.0} | given))
    work.load()
    work.settle()
    return work


PUBLIC = {"public": "public.tps", "missing": "estimate"}


def test_records_are_completed_from_what_is_public_alone(files):
    holed, public = files
    for how in ("bending", "distance"):
        work = settled(**PUBLIC, slide="sliders.csv", slide_by=how)
        wanted = sf.slide(sf.estimate_missing(holed, public), public, SLIDERS, by=how)
        np.testing.assert_array_equal(work.data.points, wanted)
        known = sf.slide(sf.estimate_missing(public, public), public, SLIDERS, by=how)
        np.testing.assert_array_equal(work.known.points, known)
    about = settled(center="center.tps", radius=0.2, missing="estimate", slide="sliders.csv")
    wanted = sf.slide(sf.estimate_missing(holed, public[0]), public[0], SLIDERS)
    np.testing.assert_array_equal(about.data.points, wanted)
    np.testing.assert_array_equal(about.reference, public[0])  # which itself does not slide


def test_curves_of_the_file_slide(files):
    holed, public = files
    sliders = [(5, 6, 7), (6, 7, 8), (7, 8, 9)]
    work = settled(files=("curved.tps",), public="curves.tps", missing="estimate", slide="curves")
    wanted = sf.slide(sf.estimate_missing(holed, public[5:]), public[5:], sliders)
    np.testing.assert_array_equal(work.data.points, wanted)
    with pytest.raises(Refusal) as refused:
        settled(**PUBLIC, slide="curves")
    assert "--slide curves: public.tps marks no curves with points to slide" in refused.value.say(as_option)


def test_one_specimen_changes_no_other(files, tmp_path):
    holed, _ = files
    before = settled(**PUBLIC, slide="sliders.csv").data.points
    other = holed.copy()
    other[0] = specimens(1, holed.shape[2], 9)[0] * 3
    other[0, 2] = np.nan
    tps(tmp_path / "a.tps", np.concatenate([other, 2 * other[:17]]))
    after = settled(**PUBLIC, slide="sliders.csv").data.points
    np.testing.assert_array_equal(after[1:120], before[1:])
    assert not np.array_equal(after[0], before[0])


def test_estimates_are_shown_to_the_curator_and_counted_nowhere(files, sfumato):
    asked = (
        "release",
        "a.tps",
        "--unit",
        "one record",
        "--public",
        "public.tps",
        "--epsilon",
        "1",
        "--even-if-useless",
    )
    code, out, err = sfumato(*asked, "--missing", "estimate", "--report", "mean.html", "--verbose")
    assert code == 0, err
    told = next(line for line in err.splitlines() if "estimated" in line)
    assert told.startswith("Curator only: missing landmarks estimated: 6, in 3 of 120 specimens: record 3 ")
    assert "record 7 (line " in told
    assert "landmark 1, 5, 9; record 40" in told
    written = [Path(name).read_text(encoding="utf-8") for name in ("mean.json", "mean.html")]
    for text in (out, *written):
        assert "estimated:" not in text
        assert "in 3 of 120" not in text
    for text in (out, written[1]):  # that it was asked for is public
        assert text.count("missing landmarks, if any, estimated from 30 public specimens") == 1
    assert '"n": 120' in written[0]
    assert sf.Release.load("mean.json").prepared == {"missing": "estimated", "reference": 30}


def test_records_say_what_was_asked_for_whatever_the_specimens_lack(files, sfumato, tmp_path):
    """The same words for specimens of which none lacks anything: what is said does not depend on the records."""
    holed, _ = files
    tps(tmp_path / "none.tps", np.nan_to_num(holed, nan=310.0))
    asked = ("--public", "public.tps", "--missing", "estimate", "--slide", "sliders.csv", "--epsilon", "8")
    asked += ("--symmetric", "1-2,3-4", "--unit", "one record", "--even-if-useless", "--force", "--report", "one.md")
    commands = {
        "release": (sf.Release, lambda done: done, ("--inference", "0.1", "--steps", "2")),
        "compare": (
            sf.Comparison,
            lambda done: next(iter(done.groups.values())),
            ("--by", "SEX", "--labels-are-public"),
        ),
        "regress": (sf.Regression, lambda done: done.halves, ("--on", "size", "--limits", "100:2000", "--test-only")),
        "components": (sf.Components, lambda done: done.release, ()),
    }
    said = {"missing": "estimated", "reference": 30, "slid": "bending", "sliders": [*map(list, SLIDERS)]}
    words = "missing landmarks, if any, estimated from 30 public specimens; 3 semilandmarks slid to the least bending energy"
    for command, (kind, release, more) in commands.items():
        for file in ("a.tps", "none.tps"):
            sf.Ledger.create(f"{command}-{file}.ledger", 8)
            code, _, err = sfumato(
                command, file, *asked, *more, "--out", "one.json", "--ledger", f"{command}-{file}.ledger"
            )
            assert code == 0, err
            done = kind.load("one.json")
            assert release(done).prepared == said | {"symmetric": [[1, 2], [3, 4]]}
            assert f"{words} from 30 public specimens; left and right averaged (2 pairs)." in done.describe()
            assert words in Path("one.md").read_text(encoding="utf-8")
            charge = sf.Ledger(f"{command}-{file}.ledger").verify().entries[1]
            assert '"slid":"bending"' in charge.record.replace(" ", "")


def test_a_data_set_that_is_prepared_in_python_says_so_too(files):
    _, public = files
    data = sf.read("a.tps", missing="estimate")
    done = sf.symmetrize(sf.slide(sf.estimate_missing(data, public[0]), public, SLIDERS, by="distance"), [(1, 2)])
    said = {"missing": "estimated", "slid": "distance", "sliders": [*map(list, SLIDERS)], "reference": 30}
    assert done.prepared == said | {"symmetric": [[1, 2]]}
    assert done.labels is data.labels
    assert isinstance(sf.slide(data.points, public, SLIDERS), np.ndarray)


def test_studies_that_were_prepared_otherwise_are_not_combined(files, sfumato):
    asked = (
        "--unit",
        "one record",
        "--epsilon",
        "8",
        "--mechanism",
        "tangent",
        "--center",
        "center.tps",
        "--radius",
        "0.3",
    )
    asked += ("--missing", "estimate")
    slid = ("--slide", "sliders.csv")
    ways = {
        "unslid": (),
        "slid": slid,
        "again": slid,
        "nearer": (*slid, "--slide-by", "distance"),
        "even": ("--symmetric", "1-2"),
    }
    for name, more in ways.items():
        code, _, err = sfumato("release", "a.tps", *asked, *more, "--out", f"{name}.json", "--even-if-useless")
        assert code == 0, err
    for name, words in {
        "unslid": "slid landmarks",
        "nearer": "slid landmarks",
        "even": "averaged left and right",
    }.items():
        code, _, err = sfumato("combine", "slid.json", f"{name}.json", "--people", "apart")
        assert code == 2
        assert f"some of these studies {words} and others did not" in err
    code, _, err = sfumato("combine", "unslid.json", "even.json", "--people", "apart")
    assert "some of these studies averaged left and right and others did not" in err
    code, _, err = sfumato("combine", "slid.json", "again.json", "--people", "apart")
    assert code == 0, err
    assert sf.Release.load("combined.json").prepared == sf.Release.load("slid.json").prepared


def test_the_curator_hears_which_landmarks_are_estimated_often(files, sfumato, tmp_path):
    holed, _ = files
    asked = ("--unit", "one record", "--public", "public.tps", "--missing", "estimate", "--epsilon", "1")
    for rows, often in (
        (24, ""),
        (25, "Estimated often: landmark 3 in 25. That draws the mean towards what is public"),
    ):
        points = np.nan_to_num(holed, nan=310.0)
        points[:rows, 2] = np.nan
        tps(tmp_path / "often.tps", points)
        told = sfumato("release", "often.tps", *asked, "--even-if-useless", "--force")[2]
        assert f"Curator only: missing landmarks estimated: {rows}, in {rows} of 120" in told
        assert ("Estimated often" in told, often in told) == (bool(often), True)
        assert "often" not in Path("mean.json").read_text(encoding="utf-8")


def test_inspection_shows_what_will_be_estimated(files, sfumato):
    code, out, _ = sfumato("inspect", "worse.tps", "--missing", "estimate")
    assert code == 0
    assert "Bad records: 1\n  record 11 (line " in out
    assert "To look at: missing landmarks to be estimated: 6, in 3 of 120 specimens: record 3 (line " in out
    assert "Bad records: 4" in sfumato("inspect", "worse.tps")[1]


def test_incomplete_specimens_are_refused_unless_it_is_said(files, sfumato):
    sf.Ledger.create("study.ledger", 5)
    asked = (
        "release",
        "a.tps",
        "--unit",
        "one record",
        "--epsilon",
        "1",
        "--ledger",
        "study.ledger",
        "--even-if-useless",
    )
    code, _, err = sfumato(*asked, "--center", "center.tps", "--radius", "0.2")
    assert code == 2
    assert "record 3 (line " in err
    assert "Mend the record, or give --invalid center; or estimate what is missing, --missing estimate" in err
    code, _, err = sfumato(*asked, "--public", "public.tps")
    assert code == 2
    assert "public.tps: record 4 (line " in err
    assert "or leave it out; or estimate what is missing, --missing estimate" in err
    worse = (asked[0], "worse.tps", *asked[2:], "--public", "public.tps", "--missing", "estimate")
    code, _, err = sfumato(*worse)
    assert code == 2
    assert "worse.tps: record 11 (line " in err
    assert "5 of its 9 landmarks are missing, more than half. Mend the record, or give --invalid center" in err
    assert not [entry for entry in sf.Ledger("study.ledger").verify().entries if entry.kind == "charge"]
    code, _, err = sfumato(*worse, "--invalid", "center")
    assert code == 0, err
    assert "missing landmarks estimated: 6, in 3 of 120" in err
    assert "1 could not be read as points and became the centre" in err


@pytest.mark.parametrize("command", ["compare", "regress", "components", "variance", "units", "plan", "inspect"])
def test_every_command_takes_them(files, sfumato, command):
    wishes = ["--missing", "estimate", "--slide", "sliders.csv"]
    asked = ["a.tps", *wishes, "--unit", "one record", "--public", "public.tps", "--epsilon", "8", "--even-if-useless"]
    if command == "compare":
        code, _, err = sfumato("compare", *asked, "--by", "SEX", "--labels-are-public")
    elif command == "regress":
        code, _, err = sfumato("regress", *asked, "--on", "size", "--limits", "100:2000", "--test-only")
    elif command == "units":
        alone = asked.index("--unit")
        code, _, err = sfumato("release", *asked[:alone], *asked[alone + 2 :], "--unit-column", "ID")
    elif command == "plan":
        code, out, err = sfumato("plan", *wishes, "--public", "public.tps", "--n", "4000", "--epsilon", "1")
        assert "--missing estimate" in out
        assert "--slide sliders.csv" in out
        assert sfumato("plan", "--public", "public.tps", "--n", "4000", "--epsilon", "1")[0] == 2
    elif command == "inspect":
        code, out, err = sfumato("inspect", "worse.tps", *wishes, "--public", "public.tps")
        assert "Bad records: 1" in out
    else:
        assert sfumato("release", *asked)[0] == 0
        code, _, err = sfumato(
            command, "a.tps", *wishes, "--unit", "one record", "--about", "mean.json", "--epsilon", "8"
        )
        assert "missing landmarks estimated: 6" in err
    assert code == 0, err


def test_sizes_are_those_of_the_estimated_specimens(files):
    work = settled(**PUBLIC, on="size", limits="100:2000")
    np.testing.assert_array_equal(work.columns["on"], np.log(sf.centroid_size(work.data)))
    assert np.isfinite(work.columns["on"]).all()


def test_the_page_asks_for_the_same(files):
    given = {
        "files": "a.tps",
        "public": "public.tps",
        "missing": "estimate",
        "slide": "sliders.csv",
        "slide_by": "distance",
    }
    request = from_page(given | {"epsilon": "1"}, Request)
    assert (request.missing, request.slide, request.slide_by) == ("estimate", "sliders.csv", "distance")
    with pytest.raises(Refusal) as refused:
        settled(public="public.tps")
    assert "the code for missing values (estimate)" in refused.value.say(in_page)


@pytest.mark.parametrize("center", [False, True])
def test_the_python_that_is_shown_does_the_same(files, center):
    known = {"center": "center.tps", "radius": 0.2} if center else {"public": "public.tps"}
    more = {
        "missing": "estimate",
        "slide": "sliders.csv",
        "symmetric": "1-2,3-4",
        "allow_useless": True,
        "unit": "one record",
    }
    work = settled(**known, **more)
    code = as_python(work.request, work.space).replace("release.save", "print")
    made = {}
    with redirect_stderr(io.StringIO()):
        exec(code, made)
    np.testing.assert_array_equal(made["data"].points, work.data.points)
    np.testing.assert_array_equal(made["region"].center, work.region.center)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"slide": "nowhere.csv"}, "nowhere.csv"),
        ({"slide": "a.tps"}, "--slide a.tps: sliders are rows of three landmarks alone: before, slide, after"),
        ({"slide": "sliders.csv", "slide_by": "force"}, "--slide-by must be 'bending' or 'distance', not 'force'"),
        ({"slide_by": "distance"}, "--slide-by goes with --slide"),
        (
            {"missing": "estimate", "public": "", "center": "one.tps", "radius": 0.3},
            "--center one.tps: lacks landmarks",
        ),
        ({"missing": "guess"}, "'none', 'estimate' or 'negative', not 'guess'"),
        ({"missing": "estimate", "public": "holes.tps"}, "--missing estimate: no public specimen has all its"),
    ],
)
def test_what_cannot_be_done_is_said(files, given, words, tmp_path):
    _, public = files
    holes = public[:3].copy()
    holes[:, 0] = np.nan
    tps(tmp_path / "holes.tps", holes)
    tps(tmp_path / "one.tps", holes[:1])
    with pytest.raises((ValueError, OSError)) as refused:
        settled(**PUBLIC | given)
    error = refused.value
    assert words in (error.say(as_option) if isinstance(error, Refusal | FileError) else str(error))


def test_other_records_than_landmarks_are_not_estimated(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.repeat(np.eye(3)[None], 5, axis=0))
    np.save("b.npy", np.eye(3)[None])
    for more in ({"missing": "estimate"}, {"slide": "sliders.csv"}):
        with pytest.raises(Refusal, match="go with landmarks, and these are matrices"):
            settled(files=("a.npy",), center="b.npy", radius=1.0, space="spd", **more)
