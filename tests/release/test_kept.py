"""What commit e5d94c3 wrote is read, checked and described as it was then."""

import json
import shutil

import numpy as np
import pytest

import sfumato as sf
from release.e5d94c3.make_records import HERE, KINDS, facts, load, some

EXPECTED = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))
BOOK = EXPECTED.pop("study.ledger")


def document(name):
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


def leaves(found, path=""):
    """Return numbers and words by where they stand."""
    if isinstance(found, dict | list):
        items = found.items() if isinstance(found, dict) else enumerate(found)
        return {where: leaf for key, item in items for where, leaf in leaves(item, f"{path}/{key}").items()}
    return {path: found}


def releases(found):
    """Return the releases that a finding holds, or the one that it is."""
    if isinstance(found, sf.Release):
        return [found]
    if isinstance(found, sf.Comparison):
        return list(found.groups.values())
    return [found.release if isinstance(found, sf.Components) else found.directions]


def test_every_file_is_expected():
    assert {path.stem for path in HERE.glob("*.json")} - {"expected"} == EXPECTED.keys()
    assert {document(name)["format"] for name in EXPECTED} == {"sfumato release 1", *KINDS}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_record_says_what_it_said(name):
    """Its sum is computed anew from what was read, so that nothing was added or lost."""
    found = load(HERE / f"{name}.json")
    assert found.sha256 == document(name)["sha256"]
    said = leaves(facts(found))
    # that commit asked the mechanism for errors beyond those that a record states
    expected = {where: leaf for where, leaf in leaves(EXPECTED[name]).items() if not where.endswith("/0.9999")}
    words = [where for where, leaf in expected.items() if isinstance(leaf, str)]
    assert [said.pop(where, None) for where in words] == [expected.pop(where) for where in words]
    for where in [where for where in expected if where.endswith("/region")]:  # whose tail that commit cut
        was = expected.pop(where)
        assert was < said.pop(where) < was * (1 + 2e-4)
    assert said == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_record_describes_itself(name):
    found = load(HERE / f"{name}.json")
    for release in releases(found):
        assert f" {release.n} units" in release.describe()
    if hasattr(found, "describe"):
        assert f"{releases(found)[0].n}" in found.describe()


@pytest.mark.parametrize("name", ["kng", "comparison", "components", "classes-one-each"])
def test_an_altered_record_is_refused(name, tmp_path):
    text = (HERE / f"{name}.json").read_text(encoding="utf-8")
    altered = text.replace('"unit": "one ', '"unit": "each ')
    assert altered != text
    (tmp_path / "altered.json").write_text(altered, encoding="utf-8")
    with pytest.raises(sf.RecordError, match="altered since it was saved"):
        load(tmp_path / "altered.json")


def test_parts_that_came_later_are_missing_and_stay_so():
    """``chart.reach`` and ``ball.source``: not known, and not written."""
    found = [release for name in EXPECTED for release in releases(load(HERE / f"{name}.json"))]
    assert {release.ball.source for release in found} == {""}
    assert {release.chart.reach for release in found if release.chart is not None} == {None}
    for release in found:
        assert "source" not in release.record["ball"]
        assert "reach" not in release.record.get("chart", {})
    private = {name for name in EXPECTED for release in releases(load(HERE / f"{name}.json")) if release.found}
    assert private == {"prior", "prior-radius", "found-ball-chart"}


def test_a_variance_reaches_as_far_as_an_old_region_can():
    old = load(HERE / "people.json")
    center = np.asarray(old.ball.center)
    moved = float(old.space.known.distance(center, old.value))
    variance = sf.private_variance(some(old.space.known, 400), old, 1.0, unit="one record")
    assert variance.ball.radius == pytest.approx((old.ball.radius + moved) ** 2 / 2)


def test_a_ledger_is_verified_and_charged(tmp_path):
    shutil.copy(HERE / "study.ledger", tmp_path)
    budget = sf.Ledger(tmp_path / "study.ledger")
    book = budget.verify(head=BOOK["head"])
    assert book.head == BOOK["head"]
    assert [[line.kind, line.epsilon] for line in book.entries] == BOOK["lines"]
    assert str(budget.left) == BOOK["left"]
    assert "of 9 is left" in budget.describe()
    noted = {json.loads(line.record).get("release") for line in book.entries}
    assert {EXPECTED[name]["sha256"] for name in ("mean", "variance", "components", "comparison")} <= noted
    paid = budget.charge(1, {"statistic": "Fréchet mean"})
    assert budget.verify(head=BOOK["head"]).head == paid.hash
