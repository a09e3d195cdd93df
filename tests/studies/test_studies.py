"""The paper's experiments at a small size: they run, resume, and show what they should."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from sfumato.app.cli import app
from sfumato.studies import callosa, curves, rates
from sfumato.studies.reproduce import reproduce
from sfumato.studies.store import Row, Store, summary


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduction")
    reproduce("all", folder, quick=True, replicates=1600)
    return folder


def rows(folder):
    with (folder / "results.csv").open(encoding="utf-8") as file:
        return [Row(*(f(v) for f, v in zip(TYPES, line, strict=True))) for line in list(csv.reader(file))[1:]]


TYPES = (str, str, str, str, int, float, int, float, float, int)


def find(table, *wanted, n=None):
    chosen = [r for r in table if (r.study, r.calibration, r.mechanism, r.quantity) == wanted and n in (None, r.n)]
    assert len(chosen) == 1 or n is None
    return chosen[0].mean


def test_every_output_is_written(quick):
    names = {p.name for p in quick.iterdir()}
    figures = {
        "figure1_sphere",
        "figure1_spd",
        "figure2_as_run",
        "figure2_as_proven",
        "figure3_as_run",
        "figure3_as_proven",
        "rates",
    }
    assert {f"{f}.{e}" for f in figures for e in ("png", "svg")} | {"results.csv", "REPORT.md", "cells.jsonl"} == names
    text = (quick / "REPORT.md").read_text()
    for words in ("seed 0", "As run", "As proven", "not private", "Theorem 3"):
        assert words in text


def test_sphere_has_the_known_errors(quick):
    table, own = rows(quick), "distance to its own statistic"
    for calibration, label, expected in [
        ("as run", "KNG", 1.65),
        ("as run", "Euclidean, projected", 1.85),
        ("as run", "Euclidean Laplace", 2.36),
        ("as run", "manifold Laplace", 2.43),
        ("as proven", "KNG", 1.63),
        ("as proven", "manifold Laplace", 1.66),
        ("theorem", "KNG", 3.8),
    ]:  # four data sets of 400 draws: the standard error is about 2%
        assert find(table, "sphere", calibration, label, own, n=500) * 500 == pytest.approx(expected, rel=0.1)


def test_matrices_gain_on_the_euclidean_release(quick):
    table, own = rows(quick), "distance to its own statistic"
    for n in (50, 200):
        euclidean = find(table, "spd", "as proven", "Euclidean Laplace", own, n=n)
        for label in ("KNG", "manifold Laplace"):
            assert find(table, "spd", "as proven", label, own, n=n) < 0.45 * euclidean
    assert find(table, "spd", "as run", "Euclidean Laplace", "share not positive definite", n=20) > 0.1


def test_private_callosa(quick):
    table = rows(quick)
    certified = find(table, "shapes", "as proven", "KNG", "Riemannian distance")
    assert certified < 0.070
    assert 0.11 < find(table, "shapes", "theorem", "KNG", "Riemannian distance") < 0.13
    assert find(table, "shapes", "as run, not private", "point-wise, aligned", "Riemannian distance") > 1.4 * certified
    assert find(table, "shapes", "as proven", "KNG", "Riemannian distance, smoothed") < 0.75 * certified
    assert find(table, "shapes", "as proven", "KNG", "share that cross themselves, smoothed") == 0


def test_rates(quick):
    store = Store(quick, json.loads((quick / "cells.jsonl").read_text().splitlines()[0])["settings"])
    for variable, (slope, _) in rates.slopes(store).items():
        assert slope == pytest.approx(rates.EXPECTED[variable], abs=0.2)


def test_an_interrupted_run_resumes_with_the_same_numbers(tmp_path):
    settings = {"seed": 3, "what": "x"}

    def row(rng):
        return [Row("x", "a", "m", "q", 1, 1.0, 1, float(rng.random()), 0.0, 1)]

    whole = Store(tmp_path / "whole", settings)
    for name in "abc":
        whole.cell(name, row)
    part = Store(tmp_path / "part", settings)
    part.cell("a", row)
    path = tmp_path / "part" / "cells.jsonl"
    path.write_text(path.read_text() + '{"cell": "b", "ro')  # killed while writing
    again = Store(tmp_path / "part", settings)

    def never(rng):
        raise AssertionError("a finished cell was run again")

    again.cell("a", never)
    for name in "bc":
        again.cell(name, row)
    assert again.rows == whole.rows
    assert Store(tmp_path / "part", {**settings, "seed": 4}).rows == []  # other settings start afresh


def test_standard_errors_count_data_sets():
    mean, error = summary(np.array([[1.0, 1.0], [3.0, 3.0]]))
    assert (mean, error) == (2.0, 1.0)


def test_wishart_data_lie_in_the_ball(rng):
    study = curves.spd_curves(quick=True)
    points = study.data(300, rng)
    assert points.shape == (300, 2, 2)
    assert study.ball.distances(points).max() <= 1.5


def test_own_outlines_are_taken_and_labelled(tmp_path, rng):
    data = callosa.from_outlines(rng.normal(0, 0.02, (30, 12, 2)) + np.eye(12, 2) * 3, "mine.npy")
    assert "not a release" in data.source
    assert data.space.landmarks == 12


def test_command_line(tmp_path):
    result = CliRunner().invoke(app, ["reproduce", "rates", "--quick", "--replicates", "100", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "rates.png").exists()
    help_text = CliRunner().invoke(app, ["reproduce", "--help"]).output
    assert "Example: sfumato reproduce all --quick" in help_text


def test_bad_requests_are_refused_in_words(tmp_path):
    with pytest.raises(ValueError, match="unknown study 'torus'"):
        reproduce("torus", tmp_path)
    with pytest.raises(ValueError, match="at least 100 replicates"):
        reproduce("sphere", tmp_path, replicates=5)
