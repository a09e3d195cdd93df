"""What a space gets for one file and two lines: releases by every mechanism that is proven for it, and all around them."""

import json
import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import hyperbolic
import sfumato as sf
from attacks import adversary
from hyperbolic import HyperbolicPlane
from sfumato import cli, spaces
from sfumato.audit import audit
from sfumato.audit.pairs import Pair
from sfumato.bounds import bounds_of

PLANE = HyperbolicPlane()


@pytest.fixture
def ball():
    center = PLANE.exp(PLANE.origin(), PLANE.from_coordinates(PLANE.origin(), np.array([0.5, -0.2])))
    return sf.Ball(PLANE, center, 1.0)


@pytest.fixture
def points(ball, rng):
    return PLANE.exp(ball.center, PLANE.from_coordinates(ball.center, rng.normal(0.1, 0.3, (300, 2))))


def test_coordinates_are_orthonormal_and_logarithms_invert(ball, points):
    vectors = PLANE.log(ball.center, points)
    coordinates = PLANE.coordinates(ball.center, vectors)
    assert np.allclose(PLANE.from_coordinates(ball.center, coordinates), vectors)
    assert np.allclose(np.linalg.norm(coordinates, axis=1), PLANE.distance(ball.center, points))
    assert np.allclose(PLANE.exp(ball.center, vectors), points)


def test_the_generic_solver_finds_the_mean(points):
    mean = sf.frechet_mean(PLANE, points)
    assert mean.gradient_norm < 1e-11
    assert np.linalg.norm(PLANE.log(mean.point, points).mean(axis=0)) < 1e-11


@pytest.mark.parametrize("mechanism", ["kng", "laplace", "exponential"])
def test_it_is_released_by_every_mechanism(ball, points, mechanism):
    release = sf.private_mean(points, ball, 2.0, mechanism)
    assert PLANE.distance(release.value, sf.frechet_mean(PLANE, points).point) < release.error(0.999999)
    assert release.guarantee.numerical_delta < 1e-6


def test_plans_know_it():
    rows = {row.mechanism: row for row in sf.plan(PLANE, radius=1.0, n=300, epsilon=1.0)}
    assert rows["kng"].scale < 1.02 * 2 / 300
    assert rows["laplace"].error_95 < 0.04


def test_its_bounds_hold(rng):
    assert 0.999 < adversary.spread_ratio(PLANE, 0.5, 1.0, 3, rng) <= 1 + 1e-9
    assert 0.05 < adversary.divergence_ratio(PLANE, 0.5, 1.0, 1, rng, steps=5) <= 1
    assert 0.03 < adversary.divergence_ratio(PLANE, 0.5, 1.0, 1, rng, u=0.2, steps=4) <= 1


def test_its_volume_is_the_jacobian_of_exp(ball):
    """By finite differences, in the coordinates at the base."""
    v, step = np.array([0.7, -0.4]), 1e-5

    def at(c):
        return PLANE.exp(ball.center, PLANE.from_coordinates(ball.center, c))

    there = at(v)
    sides = [PLANE.log(there, at(v + step * e)) - PLANE.log(there, at(v - step * e)) for e in np.eye(2)]
    jacobian = np.abs(np.linalg.det(PLANE.coordinates(there, np.stack(sides)) / (2 * step)))
    found = bounds_of(PLANE).log_volume_density(ball.center, PLANE.from_coordinates(ball.center, v))
    assert np.exp(found) == pytest.approx(jacobian, rel=1e-6)


def test_the_audit_clears_it_and_convicts_a_third_of_its_scale(ball):
    ends = PLANE.exp(ball.center, PLANE.from_coordinates(ball.center, np.array([[1.0, 0.0], [-1.0, 0.0]])))
    pair = Pair("one record across the ball", *(np.stack([ball.center] * 9 + [end]) for end in ends))

    def verdict(mechanism):
        return audit(mechanism.sample, 1.0, pair, region=ball, draws=12_000)

    assert not verdict(sf.ManifoldLaplace(ball, 1.0)).convicted
    assert verdict(sf.ManifoldLaplace(ball, 3.0)).convicted


def test_a_space_without_bounds_says_so():
    members = {name: member for name, member in vars(HyperbolicPlane).items() if not name.startswith("__")}
    with pytest.raises(ValueError, match="nothing is proven of"):
        bounds_of(type("Unproven", (sf.Space,), members)())


# -- around a release: files, the command line, records, reports, pictures, estimators ------------------------------------
@pytest.fixture
def sfumato(monkeypatch, capsys, tmp_path, ball, points):
    """Run a command in a folder with records as CSV and NPY and a public centre: (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)
    np.savetxt(tmp_path / "points.csv", points, delimiter=",", header="t,x,y", comments="", fmt="%.17g")
    np.save(tmp_path / "points.npy", points)
    np.save(tmp_path / "center.npy", ball.center[None])

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        output = capsys.readouterr()
        return int(stop.value.code or 0), output.out, output.err

    return run


SPACE = ("--space", "hyperbolic-plane")
ASKED = (*SPACE, "--center", "center.npy", "--radius", "1", "--epsilon", "2", "--out", "mean.json")


@pytest.mark.parametrize("file", ["points.csv", "points.npy"])
def test_the_command_line_releases_it_from_a_file(sfumato, points, tmp_path, file):
    code, out, err = sfumato(
        *("release", file, *ASKED, "--value", "mean.csv", "--plot", "mean.png", "--report", "mean.html")
    )
    assert code == 0, err
    assert "in the space 'hyperbolic-plane' (metric: hyperbolic distance)" in out
    assert "4 of 300 records lay outside the public ball" in err
    release = sf.Release.load(tmp_path / "mean.json")
    assert PLANE.distance(release.value, sf.frechet_mean(PLANE, points).point) < release.error(0.999999)
    assert release.error(0.5) < release.error(0.95)
    assert release.space.known == PLANE
    assert np.array_equal(sf.read("mean.csv", PLANE).points[0], release.value)
    assert (tmp_path / "mean.png").read_bytes()[:4] == b"\x89PNG"
    page = (tmp_path / "mean.html").read_text(encoding="utf-8")
    assert "hyperbolic-plane" in page
    assert f"{release.value[1]:.6g}" in page


def test_the_origin_is_a_centre_and_a_bad_row_is_named(sfumato, points, tmp_path):
    words = ("--center", "origin", "--radius", "2", "--epsilon", "2", "--out", "mean.json")
    assert sfumato("release", "points.csv", *SPACE, *words)[0] == 0
    points[7, 0] += 1
    np.save(tmp_path / "bad.npy", points)
    code, _, err = sfumato("release", "bad.npy", *SPACE, *words, "--force")
    assert (code, "bad.npy: record 7: is not on the hyperboloid" in err) == (2, True), err
    code, _, err = sfumato("release", "points.csv", *SPACE, "--dim", "2", *words, "--force")
    assert (code, "--dim does not go with --space hyperbolic-plane, which takes no size" in err) == (2, True), err


def test_the_command_line_plans_inspects_and_audits_it(sfumato, tmp_path):
    code, out, err = sfumato("plan", *SPACE, "--n", 300, "--radius", 1, "--epsilon", 1, "--simulate", "such.png")
    assert (code, "auto takes this one" in out) == (0, True), err
    assert (tmp_path / "such.png").read_bytes()[:4] == b"\x89PNG"
    found = json.loads(sfumato("inspect", "points.csv", *SPACE, "--json")[1])
    assert (found["records"], found["shape"], found["bad_records"]) == (300, [3], 0)
    assert "as for HyperbolicPlane" in sfumato("inspect", "points.npy", *SPACE)[1]
    audited = ("audit", *SPACE, "--mechanism", "laplace", "--radius", 1, "--n", 50, "--draws", 4000, "--json")
    code, out, err = sfumato(*audited)
    assert (code, json.loads(out)[0]["convicted"]) == (0, False), err


def test_files_are_read_in_parts(sfumato, points, tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for i in range(2):
        parquet.write_table(arrow.table(dict(zip("txy", points[i::2].T, strict=True))), tmp_path / f"{i}.parquet")
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
    assert "hyperbolic-plane" in (tmp_path / "there.html").read_text(encoding="utf-8")


def test_a_file_beside_the_data_is_enough(tmp_path, points):
    """--space module:Class, in a process that was told of the space by nothing else."""
    shutil.copy(hyperbolic.__file__, tmp_path / "mine.py")
    np.save(tmp_path / "points.npy", points)
    program = [sys.executable, "-P", "-m", "sfumato", "inspect", "points.npy", "--json", "--space"]
    done = subprocess.run([*program, "mine:HyperbolicPlane"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["bad_records"] == 0
    for wrong, words in (
        ("mine:Nothing", "the space 'mine:Nothing' cannot be loaded"),
        ("mine:product", "is not a kind of space"),
        ("torus", "unknown space 'torus'; known: euclidean, sphere, spd, shapes; module:Class"),
    ):
        done = subprocess.run([*program, wrong], capture_output=True, text=True, cwd=tmp_path)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr


def test_an_installed_package_offers_spaces_and_a_record_loads_none(monkeypatch):
    offers = [EntryPoint("hyperbolic-plane", "hyperbolic:HyperbolicPlane", spaces.GROUP)]
    monkeypatch.setattr(
        spaces, "entry_points", lambda group, name: [e for e in offers if (e.group, e.name) == (group, name)]
    )
    monkeypatch.delitem(spaces.SPACES, "hyperbolic-plane")
    assert spaces.space_from("hyperbolic-plane", {}) == PLANE
    with pytest.raises(ValueError, match="unknown space 'hyperbolic:HyperbolicPlane'"):
        spaces.space_from("hyperbolic:HyperbolicPlane", {})  # as a record might say


def test_estimators_take_it(ball, points):
    pytest.importorskip("sklearn")
    fitted = sf.PrivateFrechetMean(space=PLANE, center=ball.center, radius=1.0, epsilon=2.0).fit(points)
    assert PLANE.distance(fitted.mean_, sf.frechet_mean(PLANE, points).point) < fitted.release_.error(0.999999)
    assert fitted.n_features_in_ == 3


def test_this_file_and_its_space_are_all_there_is():
    """No file of the package knows the plane: all of the above came from one file."""
    package = Path(sf.__file__).parent
    assert not [path for path in package.rglob("*.py") if "hyperbolicplane" in path.read_text(encoding="utf-8").lower()]
