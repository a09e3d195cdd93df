"""The field's tables at a small size: they run, hold what was published, ours are below theirs, and wrong noise is noticed."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest, chi

from sfumato.laws.privacy import GDP, ApproxDP, PureDP
from sfumato.means.frechet import solve
from sfumato.records import Records
from sfumato.studies import field
from sfumato.studies.reproduce import reproduce

SECTIONS = {section.name: section for section in field.sections()}
SEED = 5
PUBLISHED = ["0.153", "0.285", "0.148", "0.057", "0.038", "0.120", "0.231", "0.286", "0.737", "0.177", "0.036"]


def rows_of(section, setting, n, privacy, sets=24):
    """Return the rows of one cell, by curve."""
    rows = SECTIONS[section]._rows(SECTIONS[section].settings[setting], n, privacy, sets, np.random.default_rng(SEED))
    return {row.mechanism: row for row in rows}


def clearly_below(first, second):
    return first.mean + 6 * first.standard_error < second.mean - 6 * second.standard_error


def case_of(section, setting, n, privacy):
    rng = np.random.default_rng(SEED)
    one = SECTIONS[section].settings[setting]
    records = Records(one.ball.space, one.data(n, rng))
    return field.Case(one.ball, records, solve(records).point, privacy, rng)


def test_the_study_runs_and_holds_what_was_published(tmp_path, monkeypatch):
    monkeypatch.setattr(field, "DRAWS", 4)
    text = reproduce("field", tmp_path, quick=True, replicates=100).read_text()
    assert {f"{name}.png" for name in SECTIONS} <= {path.name for path in tmp_path.iterdir()}
    assert all(f"| {number} |" in text for number in PUBLISHED)
    cells = sum(len(section.settings) * len(section.grid) for section in SECTIONS.values())
    assert text.count("\n| S") + text.count("\n| log-") + text.count("\n| affine") == cells
    assert text.count("†") > 4  # of the heading, and of releases that tell nothing


@pytest.mark.parametrize(
    ("section", "setting", "n", "privacy", "theirs"),
    [
        ("sphere", 0, 10, GDP(0.25), "their Gaussian"),
        ("wrapped", 1, 40, GDP(0.5), "wrapped Gaussian"),
        ("wrapped", 5, 40, GDP(1.0), "wrapped Gaussian"),
    ],
)
def test_ours_are_below_theirs(section, setting, n, privacy, theirs):
    rows = rows_of(section, setting, n, privacy)
    assert clearly_below(rows["sfumato"], rows[theirs])
    assert not clearly_below(rows[theirs], rows["sfumato"])


def test_ours_are_below_what_was_published():
    ours = rows_of("sphere", 0, 10, GDP(1.118))["sfumato"]
    assert ours.mean + 6 * ours.standard_error < 0.153
    ours = rows_of("laplace", 0, 100, PureDP(1.0), sets=12)["sfumato"]
    assert ours.mean + 6 * ours.standard_error < 0.177


def test_theirs_come_out_as_published():
    rows = rows_of("descent", 0, 100, ApproxDP(0.1, 1e-3), sets=8)
    assert rows["DP-RiemOpt, its noise"].mean == pytest.approx(0.148, rel=0.4)
    assert clearly_below(rows["public centre"], rows["DP-RiemOpt, its noise"])
    normal = rows_of("wrapped", 4, 40, GDP(1.0), sets=40)["wrapped Gaussian"].mean
    assert normal == pytest.approx(0.231, rel=0.05)
    assert normal == pytest.approx(0.075 * chi.mean(10), rel=0.05)


def test_half_the_noise_is_noticed(monkeypatch):
    """Half of all raw draws are below the median error that their plan predicts; of those with half the noise nearly all."""
    monkeypatch.setattr(field, "DRAWS", 200)
    case = case_of("wrapped", 1, 40, GDP(1.0))
    plan = field.choose(case.ball, 40, case.privacy, "tangent")
    less = plan.settled(40, plan.ideal, replace(plan.scale, sigma=plan.scale.sigma / 2))
    chances = []
    for made in (plan, less):
        monkeypatch.setattr(field, "choose", lambda *_, made=made: made)
        errors = case.ball.space.distance(case.mean, field.released(case, "tangent", raw=True))
        below = int(np.sum(errors < plan.error_quantile(0.5)))
        chances.append(binomtest(below, len(errors)).pvalue)
    assert chances[0] > 1e-6
    assert chances[1] < 1e-6


def test_normal_noise_on_the_sphere_has_its_length():
    """E ρ² of density ∝ exp(−ρ²/2σ²) is 2σ² in the plane, and on S² less by a part of σ²/3; a scale 10% off is noticed."""
    rng = np.random.default_rng(SEED)
    center = field.GLOBE.origin()
    squares = field.GLOBE.distance(center, field.gaussian_noise(center, 0.1, 40_000, rng)) ** 2
    assert np.mean(squares) == pytest.approx(2 * 0.1**2 * (1 - 0.1**2 / 3), rel=0.03)
    other = field.GLOBE.distance(center, field.gaussian_noise(center, 0.11, 40_000, rng)) ** 2
    assert np.mean(other) > 2 * 0.1**2 * 1.15
