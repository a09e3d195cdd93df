"""What a space gets for one file: docs/adding-a-space.md as it is written, and all that the page says."""

import importlib
import json
import os
import pickle
import re
import shlex
import shutil
import subprocess
import sys
from functools import partial
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato import spaces
from sfumato.app import cli
from sfumato.audit import audit
from sfumato.audit.pairs import Pair
from sfumato.laws.bounds import bounds_of
from sfumato.release.record import SpaceOf

PAGE = (Path(__file__).parents[2] / "docs" / "adding-a-space.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.M | re.S)


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    """The module of the page, imported from a file of its own."""
    folder = tmp_path_factory.mktemp("mine")
    (folder / "mine.py").write_text(BLOCKS[0][1], encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield importlib.import_module("mine")
        spaces.SPACES.pop("cylinder", None)
        del sys.modules["mine"]


@pytest.fixture
def space(mine):
    spaces.register(mine.Cylinder)
    return mine.Cylinder()


@pytest.fixture
def ball(space):
    """Where the angles jump from π to −π."""
    return sf.Ball(space, [3.1, -0.2], 1.0)


@pytest.fixture
def points(space, ball, rng):
    return space.exp(ball.center, rng.normal(0.1, 0.3, (300, 2)))


@pytest.fixture
def sfumato(monkeypatch, capsys, tmp_path, ball, points):
    """Run a command in a folder with records as CSV and NPY and a public centre: (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)
    np.savetxt(tmp_path / "points.csv", points, delimiter=",", header="angle,height", comments="", fmt="%.17g")
    np.save(tmp_path / "points.npy", points)
    np.save(tmp_path / "center.npy", ball.center[None])

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        output = capsys.readouterr()
        return int(stop.value.code or 0), output.out, output.err

    return run


SPACE = ("--space", "cylinder")
ASKED = (*SPACE, "--center", "center.npy", "--radius", "1", "--epsilon", "2", "--out", "mean.json")


# -- the page ---------------------------------------------------------------------------------------------------------------
def test_the_page_runs_as_it_is_written(space, sfumato, tmp_path, capsys):
    """Its Python in order, its commands with the output that it shows; … stands for anything."""
    names = {}
    for language, text in BLOCKS[1:]:
        if language == "python":
            exec(text, names)
        elif language == "console":
            for typed in text.split("$ ")[1:]:
                command, *lines = typed.splitlines()
                code, out, err = sfumato(*shlex.split(command)[1:])
                assert code == 0, (command, err)
                shown = ".*".join("[^\n]*".join(map(re.escape, line.rstrip().split("…"))) for line in lines)
                assert re.search(shown, out, re.S), (command, out)
    assert [language for language, _ in BLOCKS].count("console") == 2
    assert (tmp_path / "mean.png").read_bytes()[:4] == b"\x89PNG"
    assert "cylinder" in (tmp_path / "mean.html").read_text(encoding="utf-8")
    release, points = names["release"], space.validate(names["points"])
    mean = sf.frechet_mean(space, points).point
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert abs(mean[0]) > 2.9
    for value in (release.value, names["estimator"].mean_):
        assert space.distance(value, mean) < release.error(0.999999) + 0.02
    assert set(np.sign(points[:, 0])) == {-1, 1}  # beyond π, and not


def test_every_name_on_the_page_exists():
    for path in re.findall(r"`((?:src|tests)/[\w/]+(?:\.py)?)/?`", PAGE):
        assert (Path(__file__).parents[2] / path).exists(), path
    for name in re.findall(r"`(\w+)`", PAGE.split("What each piece must do")[1].split("Two rules")[0]):
        assert hasattr(sf.Space, name) or name in sf.Space.__annotations__ or name == "base", name


def test_no_file_of_the_package_knows_it():
    package = Path(sf.__file__).parent
    assert not [path for path in package.rglob("*.py") if "cylinder" in path.read_text(encoding="utf-8").lower()]


# -- geometry ---------------------------------------------------------------------------------------------------------------
def test_coordinates_are_orthonormal_and_logarithms_invert(space, ball, points):
    vectors = space.log(ball.center, points)
    coordinates = space.coordinates(ball.center, vectors)
    assert np.allclose(np.linalg.norm(coordinates, axis=1), space.distance(ball.center, points))
    assert np.allclose(space.exp(ball.center, vectors), points)
    assert space.distance(np.array([3.1, 0.0]), np.array([-3.1, 0.0])) == pytest.approx(2 * (np.pi - 3.1))
    assert pickle.loads(pickle.dumps(space)) == space


def test_the_generic_solver_finds_the_mean(space, points):
    mean = sf.frechet_mean(space, points)
    assert mean.gradient_norm < 1e-11
    assert np.linalg.norm(space.log(mean.point, points).mean(axis=0)) < 1e-11


# -- releases -----------------------------------------------------------------------------------------------------------------
def test_it_is_released_by_a_chart_and_by_nothing_that_needs_bounds(space, ball, points):
    release = sf.private_mean(points, ball, 2.0)
    assert release.mechanism.name == "tangent"
    assert space.distance(release.value, sf.frechet_mean(space, points).point) < release.error(0.999999) + 0.02
    assert release.guarantee.numerical_delta < 1e-6
    with pytest.raises(ValueError, match="nothing is proven of"):
        bounds_of(space)
    for mechanism in ("kng", "laplace", "staircase", "exponential"):
        with pytest.raises(ValueError, match="nothing is proven of"):
            sf.private_mean(points, ball, 2.0, mechanism)


def test_plans_know_it(space):
    rows = {row.mechanism: row for row in sf.plan(space, radius=1.0, n=300, epsilon=1.0)}
    assert rows["tangent"].scale == pytest.approx(2 / 300)
    assert rows["tangent"].error_95 < 0.04


def test_the_audit_clears_it_and_convicts_a_third_of_its_scale(ball):
    ends = ball.space.exp(ball.center, np.array([[1.0, 0.0], [-1.0, 0.0]]))
    pair = Pair("one record across the ball", *(np.stack([ball.center] * 9 + [end]) for end in ends))

    def verdict(mechanism):
        return audit(mechanism.sample, 1.0, pair, region=ball, draws=4000)

    assert not verdict(sf.TangentKNorm(ball, 1.0)).convicted
    assert verdict(sf.TangentKNorm(ball, 3.0)).convicted


# -- around a release: files, the command line, records, reports, pictures, estimators ------------------------------------
@pytest.mark.parametrize("file", ["points.csv", "points.npy"])
def test_the_command_line_releases_it_from_a_file(space, sfumato, points, tmp_path, file):
    code, out, err = sfumato(
        *("release", file, *ASKED, "--value", "mean.csv", "--plot", "mean.png", "--report", "mean.html")
    )
    assert code == 0, err
    assert "300 points of the space 'cylinder'; ε = 2 protects one record.\nWithin 0.0" in out
    assert "(length of the shortest path on the cylinder) of the mean of the clipped records" in out
    assert "of 300 records lay outside the public ball" in err
    release = sf.Release.load(tmp_path / "mean.json")
    assert space.distance(release.value, sf.frechet_mean(space, points).point) < release.error(0.999999) + 0.02
    assert release.error(0.5) < release.error(0.95)
    assert release.space.known == space
    assert np.array_equal(sf.read("mean.csv", space).points[0], release.value)
    assert (tmp_path / "mean.png").read_bytes()[:4] == b"\x89PNG"
    page = (tmp_path / "mean.html").read_text(encoding="utf-8")
    assert "points of the space &#x27;cylinder&#x27;" in page
    assert f"{release.value[0]:.6g}".removeprefix("-") in page


def test_the_origin_is_a_centre_and_a_bad_row_is_named(sfumato, points, tmp_path):
    words = ("--center", "origin", "--radius", "2", "--epsilon", "2", "--out", "mean.json")
    assert sfumato("release", "points.csv", *SPACE, *words)[0] == 0
    points[7, 0] = np.nan
    np.save(tmp_path / "bad.npy", points)
    code, _, err = sfumato("release", "bad.npy", *SPACE, *words, "--force")
    assert (code, "bad.npy: record 7: holds NaN or an infinite value: component 1" in err) == (2, True), err
    assert sfumato("release", "bad.npy", *SPACE, *words, "--force", "--invalid", "center")[0] == 0
    code, _, err = sfumato("release", "points.csv", *SPACE, "--dim", "2", *words, "--force")
    assert (code, "dim does not go with the space cylinder, which takes no size" in err) == (2, True), err


def test_the_command_line_plans_and_inspects_it(sfumato, tmp_path):
    code, out, err = sfumato("plan", *SPACE, "--n", 300, "--radius", 1, "--epsilon", 1, "--simulate", "such.png")
    assert (code, "auto takes this one" in out) == (0, True), err
    assert (tmp_path / "such.png").read_bytes()[:4] == b"\x89PNG"
    found = json.loads(sfumato("inspect", "points.csv", *SPACE, "--json")[1])
    assert (found["records"], found["shape"], found["bad_records"]) == (300, [2], 0)
    assert "as for Cylinder" in sfumato("inspect", "points.npy", *SPACE)[1]


def test_the_command_line_audits_all_of_it_and_convicts_what_is_broken(sfumato):
    told = ("audit", *SPACE, "--radius", 1, "--n", 10, "--draws", 2000, "--json")
    code, out, err = sfumato(*told)
    assert code == 0, err
    assert [(row["name"], row["convicted"]) for row in json.loads(out)] == [("tangent on Cylinder(dim=2)", False)]
    code, out, err = sfumato(*told, "--broken")
    assert code == 1, err
    rows = {row["name"]: row["convicted"] for row in json.loads(out)}
    assert rows["chart, axes from the data"]
    assert rows["chart, size from the data"]
    assert "chart, clipped in the norm of the metric" not in rows  # which is right in a ball


def test_files_are_read_in_parts(sfumato, points, tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for i in range(2):
        columns = dict(zip(("angle", "height"), points[i::2].T, strict=True))
        parquet.write_table(arrow.table(columns), tmp_path / f"{i}.parquet")
    code, _, err = sfumato("release", "0.parquet", "1.parquet", *ASKED)
    assert (code, sf.Release.load(tmp_path / "mean.json").n) == (0, 300), err


def test_its_record_is_read_where_nobody_knows_it(sfumato, tmp_path):
    """In another process, which has never heard of the space: words, errors, the report and the picture."""
    assert sfumato("release", "points.csv", *ASKED)[0] == 0
    code = (
        "import sfumato as sf; r = sf.Release.load('mean.json'); assert r.space.known is None; print(r.error(0.95));"
        "sf.write_report(r, 'there.html'); sf.plot_release(r, 'there.png'); print(r.describe())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    here = sf.Release.load("mean.json")
    assert float(done.stdout.splitlines()[0]) == here.error(0.95)
    assert here.describe() in done.stdout
    assert (tmp_path / "there.png").read_bytes()[:4] == b"\x89PNG"
    assert "cylinder" in (tmp_path / "there.html").read_text(encoding="utf-8")


def test_a_file_beside_the_data_is_enough(mine, tmp_path, points):
    """--space module:Class, in a process that was told of the space by nothing else."""
    (tmp_path / "mine.py").write_text(BLOCKS[0][1], encoding="utf-8")
    np.save(tmp_path / "points.npy", points)
    program = [sys.executable, "-P", "-m", "sfumato", "inspect", "points.npy", "--json", "--space"]
    done = subprocess.run([*program, "mine:Cylinder"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["bad_records"] == 0
    for wrong, words in (
        ("mine:Nothing", "the space 'mine:Nothing' cannot be loaded"),
        ("mine:turned", "is not a kind of space"),
        ("nowhere", "unknown space 'nowhere'; known: euclidean, sphere, spd, shapes, "),
    ):
        done = subprocess.run([*program, wrong], capture_output=True, text=True, cwd=tmp_path)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr
    assert "module:Class for one of your own" in done.stderr


def test_it_is_a_part_of_a_product(space, sfumato, points):
    np.save("both.npy", np.column_stack([points, points[:, 0]]))
    typed = re.search(r"--space '(product\(.*?)'", PAGE)[1]
    told = ("--space", typed, "--center", "origin", "--radius", "4", "--epsilon", "2")
    code, _, err = sfumato("release", "both.npy", *told)
    assert code == 0, err
    assert sf.Release.load("mean.json").space.known == sf.Product(space, sf.Euclidean(dim=1))


def test_inside_the_package_it_is_one_file_and_two_lines(tmp_path):
    """A copy of the package with the file of the page and the two lines that the page gives, in another process."""
    package = tmp_path / "sfumato"
    shutil.copytree(Path(sf.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    registered, public = (text for language, text in BLOCKS if language == "py")
    file = "".join(line for line in BLOCKS[0][1].splitlines(keepends=True) if "register" not in line)
    (package / "spaces" / "cylinder.py").write_text(file, encoding="utf-8")
    _insert(package / "spaces" / "__init__.py", "from .hyperbolic import", registered)
    _insert(package / "__init__.pyi", "from .spaces import Chart", public)
    code = (
        "import numpy as np, sfumato as sf; from sfumato.spaces import space_typed; space = space_typed('cylinder').sized();"
        "assert space == sf.Cylinder() == sf.Cylinder.example(); points = np.full((500, 2), [3.1, 1.2]);"
        "release = sf.private_mean(points, sf.Ball(space, [3.14, 1.0], 1.5), epsilon=8.0); release.save('mean.json');"
        "again = sf.Release.load('mean.json'); assert again.space.known == space; print(space.distance(again.value, points[0]))"
    )
    place = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = partial(subprocess.run, capture_output=True, text=True, cwd=tmp_path, env=place)
    done = run([sys.executable, "-c", code])
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.2
    assert "cylinder" in run([sys.executable, "-m", "sfumato", "spaces"]).stdout
    contract = Path(__file__).parents[1] / "spaces" / "test_every_space.py"
    done = run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(contract), "-k", "Cylinder or registered"]
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"\b1[0-9] passed", done.stdout), done.stdout


def _insert(file, before, line):
    """Add a line to a file, above the first that begins so."""
    text = file.read_text(encoding="utf-8")
    assert text.count(f"\n{before}") == 1
    file.write_text(text.replace(f"\n{before}", f"\n{line}{before}"), encoding="utf-8")


def test_an_installed_package_offers_spaces_and_a_record_loads_none(space, monkeypatch):
    assert ("toml", '[project.entry-points."sfumato.spaces"]\ncylinder = "mine:Cylinder"\n') in BLOCKS
    offers = [EntryPoint("cylinder", "mine:Cylinder", spaces.GROUP)]
    monkeypatch.setattr(
        spaces, "entry_points", lambda group, name: [e for e in offers if (e.group, e.name) == (group, name)]
    )
    monkeypatch.delitem(spaces.SPACES, "cylinder")
    assert SpaceOf("cylinder", {}, space.metric).known == space  # as in a record of it that is read elsewhere
    assert SpaceOf("mine.Cylinder", {}, space.metric).known is None
    monkeypatch.delitem(spaces.SPACES, "cylinder")
    offers[0] = EntryPoint("cylinder", "gone:Cylinder", spaces.GROUP)
    assert SpaceOf("cylinder", {}, space.metric).known is None  # a broken package spoils no record
    with pytest.raises(ValueError, match="unknown space 'mine:Cylinder'"):
        spaces.space_from("mine:Cylinder", {})  # as a record might say


def test_estimators_take_it(space, ball, points):
    pytest.importorskip("sklearn")
    fitted = sf.PrivateFrechetMean(space=space, center=ball.center, radius=1.0, epsilon=2.0).fit(points)
    mean = sf.frechet_mean(space, points).point
    assert space.distance(fitted.mean_, mean) < fitted.release_.error(0.999999) + 0.02
    assert fitted.n_features_in_ == 2
