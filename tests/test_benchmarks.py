"""The benchmark's own parts: data that are where they should be, norms that are right, tables that say what was measured."""

import doctest
import json

import numpy as np
import pytest

import sfumato as sf
from benchmarks import cases, table
from benchmarks.cases import Case, gradient_norm
from benchmarks.charts import chart_sum, ellipsoid
from benchmarks.means import CASES
from benchmarks.peers import Timed, space_of
from benchmarks.samplers import experiments
from benchmarks.scale import dask_array, write_parquet
from benchmarks.table import Table, alternate, save

SMALL = [
    Case("sphere", 2, 400),
    Case("sphere", 9, 400),
    Case("shapes", 6, 400),
    Case("spd", 2, 400),
    Case("spd", 5, 400),
]


@pytest.mark.parametrize("module", [cases, table], ids=lambda module: module.__name__)
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


def test_parts_make_up_the_whole(tmp_path):
    import pyarrow.parquet as pq

    case = Case("sphere", 2, 400_000)
    points = case.points()
    assert len(case.parts()) > 1
    np.testing.assert_array_equal(np.concatenate([case.part(i) for i in range(len(case.parts()))]), points)
    np.testing.assert_array_equal(dask_array(case).compute(scheduler="sync"), points)
    tables = [pq.read_table(file) for file in write_parquet(case, tmp_path / "set")]
    assert len(tables) > 1
    columns = [np.concatenate([table.column(i).to_numpy() for table in tables]) for i in range(3)]
    np.testing.assert_array_equal(np.stack(columns, axis=1), points)
    assert sf.read(tmp_path / "set" / "00.parquet", sf.Sphere(2)).points.shape == (tables[0].num_rows, 3)


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


def test_what_is_wanted():
    """The figures that the project holds itself to."""
    wanted = {(case.name, peer): ratio for case, peers in CASES for peer, ratio in peers.items() if ratio is not None}
    assert wanted == {
        ("S^2, n = 100,000", "geomstats"): 50,
        ("S^99, n = 10,000", "geomstats"): 40,
        ("shapes k = 50, n = 409", "geomstats"): 50,
        ("SPD(2), n = 100,000", "geomstats"): 100,
        ("SPD(2), n = 100,000", "pyRiemann"): 50,
        ("SPD(10), n = 10,000", "geomstats"): 4.5,
        ("SPD(10), n = 10,000", "pyRiemann"): 3.3,
        ("SPD(50), n = 500", "geomstats"): 3.5,
        ("SPD(50), n = 500", "pyRiemann"): 3.5,
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
