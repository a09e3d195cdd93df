"""Charts under attack: ours keep their promise at the ellipsoid's boundary, those that are wrong on purpose are convicted."""

import numpy as np
import pytest

import sfumato as sf
from attacks import looks
from sfumato.audit import audit, broken, exact_loss, neighbours
from sfumato.mechanisms.stages import Looked

EPSILON = 1.0
SIZES = (1, 2, 10)
SPHERE, SHAPES = sf.Sphere(dim=2), sf.PlanarShapes(landmarks=4)
REGIONS = {
    "two axes": sf.Ellipsoid(SPHERE, SPHERE.origin(), [0.4, 0.1]),
    "one of two directions": sf.Ellipsoid(SPHERE, SPHERE.origin(), [0.4]),
    "three of four directions": sf.Ellipsoid(SHAPES, SHAPES.present(SHAPES.origin()), [0.2, 0.1, 0.05]),
    "a ball": sf.Ball(SPHERE, SPHERE.origin(), 0.4),
}
WIDE, LINE = REGIONS["two axes"], REGIONS["one of two directions"]


def pair(region, n, words):
    return next(found for found in reversed(neighbours(region, n)) if words in found.name)


@pytest.mark.parametrize("name", REGIONS)
def test_pairs_reach_the_boundary_along_the_longest_and_the_shortest_axis(name):
    region = REGIONS[name]
    chart = region.as_chart()
    found = [p for p in neighbours(region, 3) if "others at the centre, one record across" in p.name]
    ends = [chart.chart(chart.admit(side))[p.moved] for p in found for side in (p.first, p.second)]
    assert np.linalg.norm(ends, axis=1) == pytest.approx(1.0, abs=1e-9)
    lengths = np.linalg.norm(chart.tangent(np.array(ends)), axis=1)
    assert (lengths.max(), lengths.min()) == pytest.approx((chart.axes.max(), chart.axes.min()))


@pytest.mark.parametrize("name", REGIONS)
def test_the_exact_loss_is_all_that_was_claimed_and_no_more(name):
    """The formula; the small scale has a loss of 1.25."""
    region = REGIONS[name]
    mechanism = sf.TangentKNorm(region, EPSILON)
    for n in SIZES:
        losses = [exact_loss(mechanism, found.first, found.second) for found in neighbours(region, n)]
        assert EPSILON * (1 - 1e-6) < max(found.loss for found in losses) <= EPSILON
        assert not any(found.broken for found in losses)
        across = pair(region, n, "across the")
        small = exact_loss(sf.TangentKNorm(region, EPSILON / 0.8), across.first, across.second)
        assert small.loss == pytest.approx(1.25, rel=1e-6)


@pytest.mark.parametrize(("name", "floor"), [("two axes", 0.6), ("one of two directions", 0.8), ("a ball", 0.6)])
@pytest.mark.parametrize("n", SIZES)
def test_charts_are_cleared(name, floor, n):
    verdict = audit(sf.TangentKNorm(REGIONS[name], EPSILON), pairs=pair(REGIONS[name], n, "across the"), draws=40_000)
    assert verdict.lower < EPSILON
    if n > 1:  # with a single record the noise goes round the sphere
        assert verdict.lower > floor


BROKEN = {
    "chart, scale 20% too small": (LINE, "boundary, one record across", 60_000, 1.08),
    "chart, clipped in the norm of the metric": (WIDE, "beyond", 8000, 2.0),
    "chart, axes from the data": (WIDE, "from there to the boundary", 4000, 2.0),
    "chart, size from the data": (WIDE, "from there to the boundary", 4000, 2.0),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_charts_are_convicted(name):
    """At the same data and draws at which ours is cleared."""
    region, words, draws, floor = BROKEN[name]
    data = pair(region, 10, words)
    draw = broken.broken_charts(region, EPSILON)[name]
    assert audit(draw, EPSILON, data, region=region, draws=draws).lower > floor
    assert not audit(sf.TangentKNorm(region, EPSILON), pairs=data, draws=draws).convicted


def test_the_race_finds_the_pair_that_tells_of_a_wrong_norm():
    draw = broken.wrong_norm(WIDE, EPSILON)
    verdict = audit(draw, EPSILON, neighbours(WIDE, 10), region=WIDE, draws=20_000)
    assert verdict.convicted
    assert "beyond the ellipsoid, axis 2" in verdict.pair


def test_axes_that_are_not_settled_are_refused(rng):
    sketch = sf.Ellipsoid.from_sample(sf.Euclidean(dim=3), rng.normal(size=(20, 3)))
    with pytest.raises(ValueError, match="settle"):
        audit(sf.TangentKNorm(sketch, EPSILON))


# -- the look -----------------------------------------------------------------------------------------------------------
def test_a_look_and_its_release_lose_no_more_than_claimed_together():
    """What the look moves is counted on top of what the release does: each alone would lose 0.1 and 0.9."""
    looked = looks.LookedAt(EPSILON)
    losses = [looks.look_loss(looked.stage(len(p)), p.first[:, 1:], p.second[:, 1:]) for p in looks.pairs()]
    assert 0.99 < max(losses) <= EPSILON
    assert min(losses) == pytest.approx(0.9, rel=1e-6)


@pytest.mark.parametrize(("kind", "convicted"), [(Looked, False), (looks.Certain, True)])
def test_a_look_is_audited_with_its_release(kind, convicted):
    """Ours is cleared; one that decides without noise is convicted by far."""
    looked, data = looks.LookedAt(EPSILON, kind), looks.pairs([2])[-1]
    verdict = audit(looked, EPSILON, data, region=looked.region, draws=20_000)
    assert verdict.convicted == convicted
    assert verdict.lower > (4 if convicted else 0.4)
