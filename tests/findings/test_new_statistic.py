"""A statistic of one number is one file: this one.  It is released, charged, said, drawn and saved like ours."""

import json
import subprocess
import sys

import numpy as np
import pytest

import sfumato as sf
from sfumato.findings.scalar import private_scalar
from sfumato.release.terms import Kind, ScalarStatistic

# -- the file ------------------------------------------------------------------------------------------------------------
HEIGHT = ScalarStatistic(
    "mean height above the equator", each="heights above the equator", mean="the mean height above the equator"
)


def private_height(points, region, epsilon, **options):
    """Release the mean of z of unit vectors (x, y, z), which is between −1 and 1."""
    return private_scalar(points, region, lambda points: points[:, 2], (-1.0, 1.0), HEIGHT, epsilon, **options)


# -- what comes with it --------------------------------------------------------------------------------------------------
SPHERE = sf.Sphere(dim=2)
WHOLE = sf.Ball(SPHERE, [0.0, 0.0, 1.0], np.pi)


def some(n=2000):
    points = np.random.default_rng(1).normal([0.0, 0.0, 1.0], size=(n, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def height():
    return private_height(some(), WHOLE, 1.0, unit="one pigeon")


def test_it_is_near_the_mean_and_says_so(height):
    true = some()[:, 2].mean()
    assert abs(height.value[0] - true) < 0.02
    assert height.region(0.95).radius < 0.1
    assert height.kind is Kind.SCALAR
    assert height.error(0.95) < 0.01
    assert height.calibration.sigma == pytest.approx(
        2 / (2000 * 0.9), rel=1e-3
    )  # in the chart, where (−1, 1) has size 1


def test_words_and_picture_are_made_from_the_record_alone(height, tmp_path):
    height.save(tmp_path / "height.json")
    again = "import sfumato as sf, sys; r = sf.Release.load(sys.argv[1]); r.plot(sys.argv[2]); print(r.describe())"
    run = [sys.executable, "-c", again, tmp_path / "height.json", tmp_path / "height.svg"]
    said = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert said.strip() == height.describe()
    assert "Heights above the equator were first clipped to at least -1 and at most 1, which is public" in said
    assert "of the mean height above the equator, each number clipped to the public limits" in said
    assert "released" in (tmp_path / "height.svg").read_text(encoding="utf-8")
    sf.write_report(height, tmp_path / "height.md")
    assert "mean height above the equator" in (tmp_path / "height.md").read_text(encoding="utf-8")


def test_it_is_charged_with_what_it_is_about(tmp_path):
    budget = sf.Ledger.create(tmp_path / "study.ledger", 1)
    released = private_height(some(), WHOLE, 0.4, budget=budget)
    _, charge, note = budget.verify().entries
    assert charge.epsilon == "0.4"
    assert json.loads(charge.record)["scalar"]["each"] == HEIGHT.each
    assert json.loads(note.record)["release"] == released.sha256


def test_records_that_are_no_numbers_and_functions_that_give_none():
    whole = private_scalar(some(), WHOLE, lambda points: np.full(len(points), np.nan), (0.0, 1.0), HEIGHT, 1.0)
    assert whole.value[0] == pytest.approx(0.5, abs=0.05)
    with pytest.raises(ValueError, match="one number for each point"):
        private_scalar(some(), WHOLE, lambda points: points, (0.0, 1.0), HEIGHT, 1.0)


def test_nothing_fails_after_the_charge(tmp_path):
    """A function that fails for one record counts it as the middle of the limits, and one of the wrong length all of them."""

    def fails_below(points):
        if (points[:, 2] < -0.5).any():
            raise ValueError(f"a record: {points}")
        return points[:, 2]

    budget = sf.Ledger.create(tmp_path / "study.ledger", epsilon=3)
    released = private_scalar(some(), WHOLE, fails_below, (-1.0, 1.0), HEIGHT, 1.0, budget=budget)
    heights = some()[:, 2]
    assert abs(released.value[0] - np.where(heights < -0.5, 0.0, heights).mean()) < 0.02
    short = private_scalar(some(), WHOLE, lambda points: points[:3, 2], (-1.0, 1.0), HEIGHT, 1.0, budget=budget)
    assert abs(short.value[0]) < 0.02
    assert budget.left == 1
