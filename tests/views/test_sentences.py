"""Sentences that are true of what they are said of."""

from xml.etree import ElementTree

import numpy as np
import pytest

import sfumato as sf
from sfumato.app.cli import main
from sfumato.files.lines import number
from sfumato.views.curator import against, of_clipping, region_used
from sfumato.views.report import write_report

PLANE = sf.Euclidean(dim=2)
TOO_FAR = 0.61  # the radius at which the bound of the bias on shapes is 7


def estimated(release):
    return next(line for line in release.describe().splitlines() if line.startswith("Estimated"))


def test_a_region_of_several_widths_is_within_the_least_to_the_largest(rng):
    region = sf.Ellipsoid(PLANE, [0.0, 0.0], axes=[1.0, 0.5])
    found = sf.private_mean(rng.normal(0, 0.1, (400, 2)), region, 1.0, inference=0.1).region(0.95)
    low, high = (f"{axis:.3g}" for axis in sorted(found.semi_axes))
    assert f"lies within {low} to {high}, depending on direction, of the released mean" in found.words


def test_a_bound_wider_than_the_region_is_not_stated():
    """On shapes, of which no two are farther apart than π/2, the bound of the chart's bias exceeds every limit at 0.62."""
    space = sf.PlanarShapes(landmarks=5)
    center = space.present(space.origin())
    stated = {}
    for radius in (0.5, TOO_FAR):
        ball = sf.Ball(space, center, radius)
        release = sf.private_mean([center] * 400, ball, 1.0, mechanism="tangent", allow_useless=True)
        stated[radius] = f"at most {release.chart.bias:.3g} away whatever the records are" in estimated(release)
    assert release.chart.bias > 2 * TOO_FAR
    assert stated == {0.5: True, TOO_FAR: False}


def test_landmarks_are_an_outline_only_if_somebody_said_so(rng):
    space = sf.PlanarShapes(landmarks=7)
    public = rng.normal(size=(7, 2)) + 0.1 * rng.normal(size=(30, 7, 2))
    sketch = sf.Ellipsoid.from_sample(space, public)
    sources = [sketch._words(*source) for source in sketch._candidates.sources]
    assert any("smoothness along the landmarks in their order" in source for source in sources)
    assert not any("outline" in source for source in sources)
    said = sf.Ellipsoid.from_sample(space, public, prior="smooth").settle(400, 1.0)
    assert "smoothness along the closed outline" in said.source


@pytest.mark.parametrize("mechanism", ["tangent", "laplace"])
def test_a_ball_that_was_found_is_not_called_public(rng, tmp_path, mechanism):
    space, points = sf.Sphere(dim=2), rng.normal([0, 0, 6], 1.0, (2000, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    prior = sf.Ball(space, [0.0, 0.0, 1.0], 1.0)
    if mechanism == "tangent":
        release = sf.private_mean(points, prior=prior, epsilon=4.0, find="radius", inference=0.1)
        assert "mean of the population as clipped to the region that was found privately" in release.describe()
    else:
        ball = sf.find_region(points, prior, 1.0)
        release = sf.private_mean(points, ball, 2.0, mechanism=mechanism)
    write_report(release, tmp_path / "m.html")
    used = region_used(prior, release)
    told = [release.describe(), (tmp_path / "m.html").read_text(), of_clipping(used, points, first=False)]
    for words in told:
        assert "found privately" in words
        assert "the public ball" not in words
    again = sf.Release.from_json(release.to_json())
    assert again.found == release.found
    assert again.sha256 == release.sha256
    plain = sf.private_mean(points, prior, 2.0, mechanism=mechanism)
    assert "clipped to the public ball" in plain.describe()
    assert "source" not in plain.record["ball"]


def test_nothing_was_moved_where_nothing_lay_outside():
    ball = sf.Ball(PLANE, [0.0, 0.0], 1.0)
    inside, outside = np.zeros((5, 2)), np.repeat([[0.0, 0.0], [9.0, 0.0]], [4, 1], axis=0)
    assert of_clipping(ball, inside, first=False).endswith(": none of 5 records lay outside the public ball.")
    assert "1 of 5 records lay outside the public ball (moved to its edge)." in of_clipping(ball, outside, False)
    data = [sf.files.Dataset(points, "vectors", "CSV", {}, None) for points in (inside, outside)]
    assert against(ball, data[0])[0] == "none of 5 records lie outside the public ball"
    assert against(ball, data[1])[0] == "1 of 5 records lies outside the public ball and would be moved to its edge"


@pytest.mark.parametrize(
    ("token", "words"),
    [
        (
            "1,000",
            "'1,000' holds a comma; write 1000 if it separates thousands, or 1.000 if the comma is a decimal comma",
        ),
        ("-1,234,567", "'-1,234,567' holds a comma; write -1234567 if it separates thousands"),
        ("1,5", "'1,5' has a decimal comma; write 1.5"),
    ],
)
def test_a_comma_may_mean_two_things(token, words):
    with pytest.raises(ValueError, match=f"^{words}$"):
        number(token)


EVIL = "\x1b[2J\x1b[31mEVIL\u202e\r"
HARMLESS = "\\x1b[2J\\x1b[31mEVIL\\u202e"


def clean(text):
    assert HARMLESS in text.replace("\\\\", "\\").replace("\\[", "[")
    return not any(c in text for c in "\x1b\u202e\r")


def test_no_name_moves_the_cursor(rng, tmp_path, monkeypatch, capsys):
    """A unit, the label of a group and the name of a file, in words, reports, pictures and refusals."""
    points = rng.normal(0, 0.1, (400, 2))
    ball = sf.Ball(PLANE, [0.0, 0.0], 1.0)
    release = sf.private_mean(points, ball, 1.0, unit=f"one {EVIL} fish")
    assert clean(release.describe())
    found = sf.compare_groups(points, [EVIL, "b"] * 200, ball, 1.0, unit=f"one {EVIL} fish")
    assert clean(found.describe())
    assert clean(found._repr_html_())
    for ending in ("html", "md"):
        write_report(release, tmp_path / f"m.{ending}")
        write_report(found, tmp_path / f"c.{ending}")
        assert clean((tmp_path / f"m.{ending}").read_text())
        assert clean((tmp_path / f"c.{ending}").read_text())
    found.plot(tmp_path / "c.svg")
    ElementTree.parse(tmp_path / "c.svg")
    assert clean((tmp_path / "c.svg").read_text())
    file = tmp_path / f"{EVIL}.csv"
    file.write_text("x,y\n1,2\n3,4\n")
    assert clean(repr(sf.read(file)))
    monkeypatch.setattr("sys.argv", ["sfumato", "inspect", str(file), "--space", "euclidean"])
    with pytest.raises(SystemExit):
        main()
    assert clean(capsys.readouterr().out)
    file.write_text("x,y\n1,2\n3\n")
    with pytest.raises(sf.FileError) as refused:
        sf.read(file)
    assert clean(str(refused.value))
    with pytest.raises(ValueError, match="must be printable text"):
        sf.Ledger.create(tmp_path / "study.ledger", epsilon=1, dataset=EVIL)


def test_a_ledger_of_others_moves_no_cursor(tmp_path):
    ledger = sf.Ledger.create(tmp_path / "study.ledger", epsilon=1, dataset="wings")
    ledger.charge(0.5, {"statistic": EVIL})
    assert clean(ledger.describe())
    assert clean("\n".join(map(str, ledger.verify().entries)))
