"""The benchmark's own parts: data that are where they should be, norms that are right, tables that say what was measured."""

import doctest
import json

import numpy as np
import pytest

import sfumato as sf
from benchmarks import bench, cases, large, means, scale, table
from benchmarks.cases import Case, gradient_norm
from benchmarks.charts import chart_sum, ellipsoid
from benchmarks.large import CENTER, PART, RADIUS, directions, measured, partitions, write_parquet
from benchmarks.means import CASES
from benchmarks.peers import Timed, space_of
from benchmarks.samplers import experiments
from benchmarks.table import Table, alternate, save

SMALL = [
    Case("sphere", 2, 400),
    Case("sphere", 9, 400),
    Case("shapes", 6, 400),
    Case("spd", 2, 400),
    Case("spd", 5, 400),
]


@pytest.mark.parametrize("module", [cases, large, table], ids=lambda module: module.__name__)
def test_examples(module):
    failed, tried = doctest.testmod(module)
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_records_fill_the_ball_unevenly(case):
    space, points = space_of(case.kind, case.size), case.points()
    center = space.validate(case.center()[None])[0]
    distance = space.distance(center, space.validate(points))
    assert 0.95 * case.radius < distance.max() <= case.radius * (1 + 1e-9)
    assert gradient_norm(case.kind, case.center(), points) > 0.05 * case.radius  # so the centre is not the mean


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_independent_gradient_norm(case):
    space, points = space_of(case.kind, case.size), case.points()
    for at in (points[0], case.center()):
        x = space.validate(at[None])
        ours = float(space.norm(x[0], space.mean_log(x, space.validate(points))[0]))
        assert gradient_norm(case.kind, at, points) == pytest.approx(ours, rel=1e-9)
    mean = sf.frechet_mean(space, points).point
    assert gradient_norm(case.kind, mean, points) < 1e-8
    x = space.validate(mean[None])[0]
    tilted = space.present(space.exp(x, 1e-6 * space.tangent_basis(x)[0]))
    assert gradient_norm(case.kind, tilted, points) > 1e-7  # a worse mean is seen to be one


def test_matrices_of_other_kinds():
    """Covariances about the identity; anisotropic ones with condition numbers from their mean beyond e^7, which most solvers
    find hard, and a mean that is badly conditioned itself."""
    tame, wide = (Case("spd", 4, 500, data).points() for data in ("covariances", "anisotropic"))
    spreads = []
    for points in (tame, wide):
        mean = sf.frechet_mean(sf.SPD(4), points).point
        assert gradient_norm("spd", mean, points) < 1e-8
        whiten = np.linalg.inv(np.linalg.cholesky(mean))
        spreads.append(np.log(np.linalg.cond(whiten @ points @ whiten.T)).max())
    assert np.linalg.cond(sf.frechet_mean(sf.SPD(4), tame).point) < 2 < 1000 < np.linalg.cond(mean)
    assert spreads[0] < 7 < spreads[1] < 14


def test_directions_are_the_same_however_they_are_cut(tmp_path):
    """Made at once, in partitions, or read from files; in the ball, and most on one side."""
    import dask
    import pyarrow.parquet as pq

    n = PART + 5000
    points = directions(0, n)
    with dask.config.set(scheduler="sync"):
        np.testing.assert_array_equal(np.concatenate(dask.compute(*partitions(n))), points)
    files = write_parquet(n, tmp_path / "set", files=3)
    read = [np.stack([column.to_numpy() for column in pq.read_table(file).columns], axis=1) for file in files]
    np.testing.assert_array_equal(np.concatenate(read), points)
    assert len(np.unique(points[:, 2])) > 0.99 * n
    angle = np.arccos(points[:, 2])
    assert 0.999 * RADIUS < angle.max() <= RADIUS * (1 + 1e-9)
    assert np.linalg.norm(points.mean(axis=0)[:2]) > 0.1
    assert sf.read(files[0], sf.Sphere(2)).points.shape == (len(read[0]), 3)


def test_large_releases_are_measured_in_a_process_of_their_own(tmp_path):
    """The values are those of the same records in memory, to within the noise; a file that is named twice counts twice."""
    n = 40_000
    files = write_parquet(n, tmp_path / "set", files=2)
    points = directions(0, n)
    space, center = sf.Sphere(2), np.array(CENTER)
    expected = {
        "chart": space.exp(center, space.log(center, points).mean(axis=0)),
        "Laplace": sf.frechet_mean(space, points).point,
    }
    for rows, count in ((measured("made", n), n), (measured("parquet", *files, *files), 2 * n)):
        assert [(row["mechanism"], row["n"]) for row in rows] == [("chart", count), ("Laplace", count)]
        for row in rows:
            assert np.linalg.norm(row["value"] - expected[row["mechanism"]]) < 0.001
            assert 50e6 < row["peak"] < 600e6
            assert row["passes"] >= 1
            assert row["cpu"] > row.get("making", 0.0)
    assert np.linalg.norm(expected["chart"] - expected["Laplace"]) > 0.001  # so the one is not taken for the other
    with pytest.raises(RuntimeError, match=r"nothing\.parquet"):
        measured("parquet", tmp_path / "nothing.parquet")


def test_on_paper_the_work_is_divided_and_the_tasks_are_not():
    rows = scale._on_paper({"Laplace": (4, 1e-8)}, {"chart": (2, 5e-8), "Laplace": (4, 4e-8)}, 1e-3).rows
    last = rows[-1]
    assert (last["records"], last["workers"], last["tasks a pass"]) == ("1e+10", 1000, 10**10 // PART)
    assert last["chart, Parquet, s"] == pytest.approx(2 * (10**10 * 5e-8 / 1000 + 10**10 // PART * 1e-3))
    assert last["Laplace, in memory, s"] == pytest.approx(4 * (10**10 * 1e-8 / 1000 + 1000 * 1e-3))


def test_a_timed_solver_answers_from_a_process_of_its_own(tmp_path):
    case = Case("spd", 2, 50)
    np.save(tmp_path / "points.npy", case.points())
    with Timed("sfumato", case.kind, case.size, tmp_path / "points.npy") as solver:
        assert 0 < solver.run() < 60
    assert gradient_norm(case.kind, solver.mean, case.points()) < 1e-8
    assert solver.memory >= 0
    with pytest.raises(RuntimeError, match="sfumato ended with code 1"):
        Timed("sfumato", case.kind, case.size, tmp_path / "nothing.npy")


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_charts_that_are_timed_clip_some_records_and_count_all(case):
    region, points = ellipsoid(case, 2), case.points()
    w = region.chart(region.space.validate(points))
    assert chart_sum(region, points) == pytest.approx(w.sum(axis=0), rel=1e-12)
    assert 0.02 < np.mean(np.linalg.norm(w, axis=1) > 0.999) < 0.98


def test_every_peer_has_a_row_and_a_reason_where_it_has_no_time(monkeypatch):
    wanted = {"geomstats": 1e-9, "pymanopt": 1e9}
    rows = means._compare(Case("shapes", 5, 30), wanted, 1)
    assert [row["peer"].split()[0].rstrip(":") for row in rows] == list(means.PEERS)
    assert rows[1]["peer"] == "pyRiemann: has matrices only"
    assert rows[1]["peer over ours"] is None
    for row in (rows[0], rows[2]):
        assert max(row["gradient, peer"], row["gradient, ours"]) < 1e-8
        assert row["peer over ours"] == pytest.approx(row["peer, s"] / row["ours, s"])
    assert [row["met"] for row in rows] == [True, None, False]
    monkeypatch.setattr("benchmarks.peers.PATIENCE", 0)
    with pytest.raises(RuntimeError, match="stopped after 0 s"):
        Timed("sfumato", "spd", 2, "points.npy")


def test_the_quick_run_says_where_it_ran(tmp_path, capsys):
    assert bench.main(["--quick", "--only", "passes", "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert table.processor() in printed
    assert "Load average" in printed
    assert "| SPD(3) anisotropic, n = 300 |" in printed
    assert table.processor() in (tmp_path / "out" / "BENCH.md").read_text()


def test_what_is_wanted():
    """The figures that the project holds itself to."""
    wanted = {(case.name, peer): ratio for case, peers in CASES for peer, ratio in peers.items()}
    assert wanted == {
        ("S^2, n = 100,000", "geomstats"): 50,
        ("S^99, n = 10,000", "geomstats"): 40,
        ("shapes k = 50, n = 409", "geomstats"): 50,
        ("SPD(2), n = 100,000", "geomstats"): 100,
        ("SPD(2), n = 100,000", "pyRiemann"): 50,
        ("SPD(3) covariances, n = 100,000", "pyRiemann"): 40,
        ("SPD(4) covariances, n = 50,000", "pyRiemann"): 35,
        ("SPD(8) covariances, n = 5,000", "pyRiemann"): 12,
        ("SPD(22) covariances, n = 500", "pyRiemann"): 5,
        ("SPD(64) covariances, n = 200", "pyRiemann"): 4,
        ("SPD(3) anisotropic, n = 20,000", "pyRiemann"): 1,
        ("SPD(8) anisotropic, n = 5,000", "pyRiemann"): 1,
        ("SPD(22) anisotropic, n = 500", "pyRiemann"): 1,
    }
    chains = {e.name: (e.burn_in, e.thin, e.wanted) for e in experiments(quick=True)}
    assert chains == {"S^2": (20_000, 600, 200), "SPD(2)": (5000, 5000, 1000), "shapes k = 50": (7500, 7500, 1000)}


def test_tables_are_saved_and_misses_named(tmp_path):
    rows = [
        {"case": "a", "ratio": 51.234, "wanted": 50, "met": True},
        {"case": "b", "ratio": 2.0, "wanted": 50, "met": False},
        {"case": "c", "ratio": 1e-9, "wanted": None, "met": None},
    ]
    made = Table("Means", "How.", rows)
    assert made.missed() == ["Means: b"]
    save([made], tmp_path / "out")
    page = (tmp_path / "out" / "BENCH.md").read_text()
    assert "| a | 51.2 | 50 | yes |\n| b | 2 | 50 | no |\n| c | 1e-09 |  |  |" in page
    assert json.loads((tmp_path / "out" / "BENCH.json").read_text())["tables"]["Means"] == rows


def test_turns_and_medians():
    log, clock = [], iter([9.0, 1.0, 2.0])
    medians = alternate(
        {"slow": lambda: log.append("slow") or next(clock), "quick": lambda: log.append("quick") or 0.1}, 3
    )
    assert medians == {"slow": 2.0, "quick": 0.1}
    assert log == ["slow", "quick", "quick"] * 3  # a short run has more than one go in its turn
