"""Our own studies at a small size: they run and show what they should."""

import csv
import json

import numpy as np
import pytest

from benchmarks import heads, structure, studies
from sfumato.studies.store import Row, Store


def rows(folder):
    with (folder / "results.csv").open(encoding="utf-8") as file:
        return [Row(*(f(v) for f, v in zip(TYPES, line, strict=True))) for line in list(csv.reader(file))[1:]]


TYPES = (str, str, str, str, int, float, int, float, float, int)


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    folder = tmp_path_factory.mktemp("structure")
    studies.run("structure", folder, quick=True)
    return folder


def test_public_knowledge_pays_and_the_look_limits_what_a_wrong_sample_costs(known):
    """With four seeds the largest of these ratios to the ball were 0.34, and 0.92 to 1.27 for wrong samples."""
    names = {"structure.png", "structure.svg", "results.csv", "REPORT.md", "cells.jsonl"}
    assert {path.name for path in known.iterdir()} == names
    every = rows(known)
    held = [row.mean for row in every if row.mechanism == "sample" and row.quantity.startswith(structure.HELD)]
    assert np.mean(held) > 0.8  # of the stated 95%
    table = [row for row in every if row.quantity.startswith(structure.DISTANCE)]
    for data in {row.calibration for row in table}:
        for n, dim in {(row.n, row.dim) for row in table if row.calibration == data}:
            cell = [row for row in table if (row.calibration, row.n, row.dim) == (data, n, dim)]
            mean = {name: np.mean([row.mean for row in cell if row.mechanism == name]) for name in structure.RIGHT}
            assert mean["sample"] < 0.5 * mean["ball"]
            assert max(mean["smooth"], mean["bending"]) < mean["ball"]
            wrong = [row.mean for row in cell if row.mechanism in structure.WRONG and "30°" not in row.mechanism]
            assert max(wrong) < 1.6 * mean["ball"]
            assert min(row.mean for row in cell if row.mechanism == "centre off by 30°") > 0.3  # no region is that wide
    text = (known / "REPORT.md").read_text()
    assert "What public knowledge is worth" in text
    assert "| stated at 95% | held | gain |" in text
    assert "Soto" not in text


def test_a_sample_that_is_turned_has_the_same_lengths_and_other_directions(rng):
    space, sample = (
        structure.space_from("shapes", {"landmarks": 10}),
        structure.samples(("outlines", 1, 10, 30), rng)[1],
    )
    center = space.validate(structure.frechet_mean(space, sample).point[None])[0]
    tangents = {
        name: structure.tangent_coordinates(space, center, space.validate(made))
        for name, made in {"": sample, **structure.misled(space, sample, rng)}.items()
    }
    before, turned = tangents[""], tangents["axes turned by 30°"]
    cosine = np.sum(before * turned, axis=1) / np.sum(before**2, axis=1)
    assert cosine == pytest.approx(np.cos(np.pi / 6), abs=1e-6)
    assert np.linalg.norm(turned, axis=1) == pytest.approx(np.linalg.norm(before, axis=1))
    assert np.sum(tangents["variances doubled"] ** 2) == pytest.approx(2 * np.sum(before**2))
    assert np.linalg.norm((tangents["centre off by 30°"] - before).mean(axis=0)) == pytest.approx(np.pi / 6, abs=1e-6)


def test_without_wings_a_sentence_stands_in_their_place(monkeypatch, known):
    monkeypatch.setattr(structure, "wings", lambda: None)
    store = Store(known, json.loads((known / "cells.jsonl").read_text().splitlines()[0])["settings"])
    text = structure.Structure(quick=True).report(store)
    assert "ktch, which is not installed" in text
    assert "Wings, " not in text


def test_findings_are_studied_and_the_report_says_how_often_they_hold(tmp_path):
    """With 200 studies of each population a coverage of 95% is below 87% with a chance of 1e-6."""
    studies.run("findings", tmp_path, quick=True)
    assert {"findings.png", "findings.svg", "results.csv", "REPORT.md"} <= {path.name for path in tmp_path.iterdir()}
    table = rows(tmp_path)
    coverage = [row.mean for row in table if row.quantity == "covers the mean"]
    assert len(coverage) == 8
    assert min(coverage) > 0.87
    assert max(row.mean for row in table if row.quantity == "rejects equal means") < 0.09  # of 1,000 studies
    power = {row.epsilon: row.mean for row in table if row.quantity == "rejects means 0.65 apart" and row.n == 200}
    assert min(power.values()) > 0.9
    text = (tmp_path / "REPORT.md").read_text()
    assert text.startswith("# Whether findings hold what they say")
    assert "one call, over it" in text


def test_the_command_says_where_it_wrote(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(studies, "run", lambda what, out, **settings: out / f"{what} {settings['seed']}")
    assert studies.main(["findings", "--seed", "3", "--out", str(tmp_path)]) == 0
    assert f"Written: {tmp_path / 'findings 3'}" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        studies.main(["torus"])


def test_the_release_of_the_demo_is_worth_it(capsys):
    """Five runs of twenty splits measured gains from 1.91 to 2.00; the stated error held in 19 or 20 of them."""
    error, public, stated, _ = heads.measure().T
    assert np.sqrt(np.mean(public**2) / np.mean(error**2)) >= 1.7
    assert np.sum(error <= stated) >= 17
    heads.main(2)
    assert "2 random splits, ε = 1" in capsys.readouterr().out
