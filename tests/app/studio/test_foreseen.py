"""What the pictures of a plan show: the right plan for each wish, and sentences with its numbers."""

import pytest

import sfumato as sf
from sfumato.app.request import Request
from sfumato.app.studio.foreseen import foreseen


def of(**wishes):
    region = sf.Ball(sf.Euclidean(dim=2), [0.0, 0.0], wishes.get("radius", 20.0))
    return foreseen(region, Request(center="origin", epsilon=1.0, **wishes))


def test_a_plain_mean_is_planned_as_it_is_released():
    plan, more = of(n=400, radius=1.0)
    assert more == {}
    assert plan(1.0).error_95 == sf.plan(sf.Ball(sf.Euclidean(dim=2), [0.0, 0.0], 1.0), n=400, epsilon=1.0)[0].error_95
    assert plan(0.5).error_95 > plan(1.0).error_95


def test_groups_are_planned_by_the_smallest():
    plan, more = of(radius=1.0, n=1000, smallest=400, by="sex")
    assert plan(1.0).spending == {"spread": 0.1}
    assert 0.05 < more["detectable"] < 0.2
    half = of(radius=1.0, n=800, by="sex")[1]
    assert half["detectable"] == more["detectable"]
    assert "Two groups of 400 would be told apart in 8 of 10 studies" in half["also"][0]


def test_a_region_that_is_found_is_a_quarter_of_what_is_said():
    plan, more = of(prior="20", n=4000)
    assert plan(1.0).region.radius == 5.0
    assert more["says"].startswith("If your records lie within 5 of some point: noise up")


def test_two_steps_say_what_the_first_takes():
    _, more = of(radius=2.0, n=400, steps=2)
    words = "25% of ε is for a first release, which the region is then moved to; the rest is for the mean."
    assert more["also"] == [words]


@pytest.mark.parametrize(("n", "apart"), [(900, 1.0), (90_000, 0.1)])
def test_a_change_is_seen_if_both_halves_are_so_far_apart(n, apart):
    _, more = of(radius=1.0, n=n, on="age", limits="20:90")
    assert more["also"][0].startswith(
        "A change is seen in 8 of 10 studies if the means of the upper and the lower half"
    )
    assert float(more["also"][0].split(" are ")[1].split()[0]) < apart
