"""Units of privacy, and when a budget is charged."""

import numpy as np
import pytest

import sfumato as sf
from conftest import cloud, typical_radius
from sfumato.units import reduce_to_units


class Notebook:
    """A budget that notes what it was asked."""

    def __init__(self, refuse=False):
        self.charges, self.refuse = [], refuse

    def charge(self, epsilon, record, /):
        if self.refuse:
            raise ValueError("the budget is spent")
        self.charges.append((epsilon, record))


def test_each_unit_becomes_its_own_mean(space, rng):
    ball = sf.Ball(space, space.present(space.origin()), typical_radius(space))
    points = ball.clip(space.present(cloud(space, space.origin(), 1.2 * typical_radius(space), 12, rng)))
    labels = np.array(list("abcabcabcdda"))
    reduced = reduce_to_units(ball, points, labels)
    assert len(reduced) == 4
    assert (ball.distances(reduced) <= ball.radius).all()
    for letter, point in zip("abcd", reduced, strict=True):
        own = sf.frechet_mean(space, space.present(points[labels == letter])).point
        assert space.distance(space.validate(own[None])[0], point) < 1e-9


def test_n_counts_people_and_the_record_names_the_unit(rng):
    space = sf.Sphere(dim=2)
    ball = sf.Ball(space, [0.0, 0.0, 1.0], 0.4)
    points = cloud(space, space.origin(), 0.4, 60, rng)
    release = sf.private_mean(points, ball, 1.0, unit=np.repeat(np.arange(20), 3))
    assert release.record["n"] == 20
    assert "same label" in release.guarantee.unit
    assert (
        release.record["calibration"]["sigma"] == sf.private_mean(points[:20], ball, 1.0).record["calibration"]["sigma"]
    )


def test_changing_all_records_of_one_person_moves_one_point(rng):
    """What the unit is for: the statistic sees one changed point, however many records the person has."""
    space = sf.Euclidean(dim=2)
    ball = sf.Ball(space, [0.0, 0.0], 1.0)
    points, labels = rng.normal(0, 0.3, (50, 2)), np.repeat(np.arange(5), 10)
    other = points.copy()
    other[labels == 2] = 0.9
    before, after = (reduce_to_units(ball, ball.clip(p), labels) for p in (points, other))
    assert (np.abs(before - after).max(axis=1) > 1e-9).sum() == 1


def test_each_record_needs_a_label():
    ball = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0)
    with pytest.raises(ValueError, match="3 records but 2 labels"):
        sf.private_mean([[0.1], [0.2], [0.3]], ball, 1.0, unit=["a", "b"])


def test_a_budget_is_charged_once_with_public_numbers_only():
    ball, budget = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0), Notebook()
    release = sf.private_mean([[0.1]] * 5, ball, 0.5, budget=budget)
    [(epsilon, record)] = budget.charges
    assert epsilon == 0.5
    assert "value" not in record
    assert {k: v for k, v in record.items() if k != "unit"} == {
        k: v for k, v in release.record.items() if k != "on_manifold"
    }


def test_bad_records_cost_nothing():
    ball, budget = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0), Notebook()
    with pytest.raises(sf.InvalidPointError):
        sf.private_mean([[np.nan]], ball, 0.5, budget=budget)
    assert budget.charges == []


def test_nothing_is_drawn_when_the_budget_refuses(monkeypatch):
    ball = sf.Ball(sf.Euclidean(dim=1), [0.0], 1.0)
    monkeypatch.setattr("sfumato.mechanisms.base.secure_generator", lambda: pytest.fail("drew without a budget"))
    with pytest.raises(ValueError, match="the budget is spent"):
        sf.private_mean([[0.1]] * 5, ball, 0.5, budget=Notebook(refuse=True))
