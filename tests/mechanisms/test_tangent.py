"""Releases by chart: the proof's assumptions under attack, the error, the look, what is refused."""

import re
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from conftest import cloud, typical_radius
from sfumato.laws.calibration.stein import james_stein
from sfumato.mechanisms import choose
from sfumato.mechanisms.stages import Composition, Looked
from sfumato.mechanisms.tangent import BITS, whole_sums
from sfumato.records import Records
from sfumato.regions import Look
from sfumato.regions.ellipsoid import point_or_center
from sfumato.release.population import released_coordinates

TINY = 1e-6
SPHERE = sf.Sphere(dim=2)


def ellipsoid(space, rng=None):
    center = space.present(space.origin())
    return sf.Ellipsoid(space, center, typical_radius(space) * np.geomspace(1.0, 0.2, max(1, space.dim - 1)))


def public_and_private(m, n, rng, dim=30, decay=1.5):
    """Points of R^d whose coordinates fall off."""
    scale = 1 / np.arange(1, dim + 1) ** decay
    return rng.normal(size=(m, dim)) * scale, rng.normal(size=(n, dim)) * scale


# -- the proof's assumptions ------------------------------------------------------------------------------------------------
def test_one_record_moves_the_exact_mean_by_at_most_two_over_n(space, rng):
    """Whatever it is replaced by; with whole numbers there is no rounding left to argue about."""
    region = ellipsoid(space)
    plan = sf.TangentKNorm(region, 1.0).plan(20)
    points = space.present(cloud(space, space.origin(), typical_radius(space), 21, rng))
    means = []
    for some in (points[:20], points[1:]):  # the first replaced by the last, in another place: sums do not mind
        means.append(plan.mean(Records(space, region.admit(some))))
    moved = sum((a - b) ** 2 for a, b in zip(*means, strict=True))
    assert moved <= Fraction(2, 20) ** 2
    assert moved > 0


@pytest.mark.parametrize("numba", [True, False], ids=["numba", "plain"])
def test_sums_are_those_of_whole_numbers_however_they_are_made(numba, rng, monkeypatch):
    for module in ("mechanisms.tangent", "regions.ellipsoid"):
        monkeypatch.setattr(f"sfumato.{module}.MANY", 1 if numba else 1 << 62)
    region = sf.Ellipsoid(sf.Euclidean(dim=3), [0.0, 0.0, 0.0], [2.0, 1.0, 0.5])
    points = rng.normal(size=(6000, 3))
    whole = whole_sums(region.chart_blocks, points, None)
    assert all(isinstance(total, int) for total in whole)
    parts = [whole_sums(region.chart_blocks, points[part], None) for part in np.array_split(np.arange(6000), 7)]
    assert (sum(parts[1:], parts[0]) == whole).all()
    assert (whole_sums(region.chart_blocks, points[:0], None) == 0).all()  # an empty part of data that come in parts
    rows = np.trunc(region.chart(points) * 2.0**BITS)
    assert all(sum(int(x) for x in rows[:, j]) == whole[j] for j in range(3))
    assert (np.sum(rows.astype(object) ** 2, axis=1) <= (1 << BITS) ** 2).all()


def test_a_record_that_has_no_place_in_the_chart_is_at_the_centre(rng):
    region = ellipsoid(SPHERE)
    points = SPHERE.present(cloud(SPHERE, SPHERE.origin(), 0.2, 10, rng))
    points[3] = -SPHERE.present(SPHERE.origin())  # the antipode: every direction leads there
    release = sf.TangentKNorm(region, 1.0).release(points)
    assert release.on_manifold
    points[4] = np.nan
    with pytest.raises(sf.InvalidPointError, match="record 4"):
        sf.private_mean(points, region, 1.0)
    assert sf.private_mean(points, region, 1.0, invalid="center").on_manifold


@pytest.mark.parametrize("n", [1, 2, 100, 10**9, 10**13])
def test_any_number_of_records_can_be_planned(n):
    plan = sf.TangentKNorm(sf.Ellipsoid(SPHERE, [0.0, 0.0, 1.0], [1e-28, 1e28]), 1.0).plan(n)
    assert plan.losses.numerical_delta < 1e-9
    assert plan.losses.numerical_epsilon == 0
    assert plan.scale.sigma == pytest.approx(2 / n, rel=1e-6)


# -- draws and errors ---------------------------------------------------------------------------------------------------------
def test_draws_have_a_gamma_length_and_any_direction(rng):
    flat = sf.Euclidean(dim=4)
    region = sf.Ellipsoid(flat, np.zeros(4), [2.0, 1.0, 0.5])
    points = np.zeros((50, 4))
    draws = sf.TangentKNorm(region, 2.0).sample(points, 40_000, rng)[:, :3] / region.axes
    length = np.linalg.norm(draws, axis=1) * 50
    assert stats.kstest(length, stats.gamma(3).cdf).pvalue > TINY
    assert stats.kstest(length / 1.05, stats.gamma(3).cdf).pvalue < TINY
    for j in range(3):  # uniform on the sphere in three dimensions: each coordinate is uniform
        share = draws[:, j] / np.linalg.norm(draws, axis=1)
        assert stats.kstest(share, stats.uniform(-1, 2).cdf).pvalue > TINY


def test_releases_are_on_the_lattice_and_have_their_stated_error(space, rng, monkeypatch):
    monkeypatch.setattr("sfumato.mechanisms.paying.secure_generator", lambda: rng)
    region, n = ellipsoid(space), 200
    points = space.present(cloud(space, space.origin(), typical_radius(space), n, rng))
    tangent = sf.TangentKNorm(region, 1.0)
    plan, records = tangent.plan(n), Records(space, region.admit(points))
    mean = region.tangent(np.array([float(x) for x in plan.mean(records)]))
    inside = []
    for _ in range(400):
        w = plan.lattice_point(plan.mean(records), rng)
        assert (w == np.rint(w / plan.spacing) * plan.spacing).all()
        inside.append(np.linalg.norm(region.tangent(w) - mean) <= plan.release_error(0.8))
    assert 0.8 - 5 * 0.02 <= np.mean(inside) <= 0.8 + 5 * 0.02
    release = tangent.release(points)
    assert release.value.tolist() == sf.Release.from_json(release.to_json()).value.tolist()
    assert release.chart.frozen == space.dim - len(region.axes)
    assert sf.Release.from_json(release.to_json()).error(0.9999) > release.error(0.999)


def test_the_stated_distance_to_the_frechet_mean_is_never_exceeded(rng):
    """The chart's mean without noise, and the Fréchet mean of the records as the chart sees them."""
    for space in (SPHERE, sf.SPD(size=2), sf.PlanarShapes(landmarks=4)):
        region = ellipsoid(space)
        for _ in range(20):
            ends = rng.normal(size=(6, len(region.axes)))
            seen = region.point(ends / np.linalg.norm(ends, axis=1, keepdims=True))
            plan = sf.TangentKNorm(region, 1.0).at(6)
            mean = np.array([float(x) for x in plan.mean(Records(space, seen))])
            exact = space.validate(sf.frechet_mean(space, space.present(seen)).point[None])[0]
            off = region.tangent(mean) - space.coordinates(region.center, space.log(region.center, exact[None]))[0]
            assert np.linalg.norm(off) <= plan.bias()


def test_a_draw_outside_of_a_ball_comes_to_its_edge(rng):
    space = sf.PlanarShapes(landmarks=40)
    ball = sf.Ball(space, space.present(space.origin()), 0.1)
    points = space.present(cloud(space, ball.center, 0.1, 30, rng))
    shrunk = "moved towards the public centre (James and Stein), then "
    for mechanism, before in {sf.TangentKNorm(ball, 1.0): shrunk, sf.ManifoldLaplace(ball, 1.0): ""}.items():
        release = mechanism.release(points, allow_useless=True)
        assert release.after == f"{before}projected onto the public ball"
        assert ball.distances(space.validate(release.value[None]))[0] <= 0.1
        assert ball.distances(space.validate(release.raw[None]))[0] > 0.1
        again = sf.Release.from_json(release.to_json())
        assert np.array_equal(again.raw, release.raw)


@pytest.mark.parametrize("axes", [[0.1, 0.08], np.full(12, 0.1), np.linspace(0.1, 0.05, 12)])
def test_a_value_is_the_draw_moved_to_the_centre_and_into_the_region(axes, rng):
    """And everything that is to be compared starts from the draw, which is in the record."""
    space = sf.PlanarShapes(landmarks=20)
    region = sf.Ellipsoid(space, space.present(space.origin()), axes)
    points = space.present(cloud(space, space.origin(), 0.05, 40, rng))
    release = sf.TangentKNorm(region, 1.0).release(points, allow_useless=True)
    w = np.array(release.chart.point)
    moved = region.nearest(james_stein(w, region.axes, release.calibration.sigma))
    assert np.allclose(release.value, space.present(region.point(moved)), atol=1e-12)
    assert np.allclose(release.raw, space.present(region.point(w)), atol=1e-12)
    assert np.array_equal(released_coordinates(release), w)
    assert release.chart.after == (["projected"] if len(axes) == 2 else ["shrunk", "projected"])
    assert ("nearer to the mean of the clipped records" in release.describe()) == (len(axes) > 2)
    assert sf.Release.from_json(release.to_json()).sha256 == release.sha256


@pytest.mark.parametrize("relation", ["same", "related", "other"])
def test_a_release_states_the_whole_error_that_was_planned_or_more(relation, rng):
    space = sf.Euclidean(dim=20)
    spread = 1 / np.arange(1, 21)
    region = sf.Ellipsoid.from_sample(space, rng.normal(size=(40, 20)) * spread, relation)
    planned = sf.plan(region, n=500, epsilon=1.0)[0]
    release = sf.private_mean(rng.normal(size=(500, 20)) * spread, region, 1.0)
    again = sf.Release.from_json(release.to_json())
    fell_back = release.chart.look is not None and release.chart.look["fell_back"]
    assert release.whole.quantiles["0.95"] == (planned.fallback_95 if fell_back else planned.error_95)
    assert release.error(0.95) >= release.whole.quantiles["0.95"]
    assert fell_back or release.noise(0.95) == planned.noise_95 < 1.03 * planned.error_95  # it is rounded up
    assert (release.whole.relation, again.error(0.9), again.gain) == (relation, release.error(0.9), release.gain)
    assert f"Within {release.error(0.95):.3g} (" in release.describe()
    assert ") of the mean of the records in 95 of 100 releases" in release.describe()
    wrong = sf.private_mean(rng.normal(size=(500, 20)) * spread + 3 * spread, region, 1.0, check=0, allow_useless=True)
    assert wrong.error(0.95) > wrong.whole.quantiles["0.95"]


def test_no_release_is_useless_that_is_nearer_than_the_public_centre(rng):
    """And none is of use that is not: with next to no records of their own the public specimens say more."""
    region = sf.Ellipsoid.from_sample(sf.Euclidean(dim=20), rng.normal(size=(40, 20)), "same")
    rows = [sf.plan(region, n=n, epsilon=1.0)[0] for n in (5, 20, 1000, 100_000)]
    assert [row.useless for row in rows] == [row.gain <= 1 for row in rows]
    assert (rows[0].useless, rows[-1].useless) == (True, False)
    with pytest.raises(sf.Refusal, match="the public centre alone is expected to be nearer"):
        sf.private_mean(rng.normal(size=(5, 20)), region, 1.0)
    assert sf.plan(sf.Ball(SPHERE, [0.0, 0.0, 1.0], 0.3), n=100, epsilon=1.0)[0].gain is None


def test_a_value_in_many_dimensions_is_much_nearer_than_the_draw(rng):
    plan = sf.TangentKNorm(sf.Ball(sf.Euclidean(dim=30), np.zeros(30), 1.0), 1.0).at(100)
    mean = [Fraction(1, 100)] * 30
    drawn = [plan.about(mean, rng) for _ in range(200)]
    off = [
        np.mean([np.sum((x - 0.01) ** 2) for x in xs]) for xs in zip(*((d.value, d.raw) for d in drawn), strict=True)
    ]
    assert off[0] < 0.36 * off[1]


def test_with_an_ellipsoid_only_charts_apply():
    region = ellipsoid(SPHERE)
    with pytest.raises(TypeError, match="use TangentKNorm"):
        sf.KNG(region, 1.0)
    assert choose(region, 50, 1.0).name == "tangent"


def test_in_too_wide_a_ball_a_chart_is_released_if_asked_for_by_name(rng):
    """Nothing is proven of the Fréchet mean there, and the record says so; an ellipsoid asks for a chart."""
    points = SPHERE.present(cloud(SPHERE, SPHERE.origin(), 0.3, 500, rng))
    wide = sf.Ball(SPHERE, [0.0, 0.0, 1.0], 2.0)
    with pytest.raises(sf.Refusal, match="asked for by name: mechanism='tangent'"):
        sf.private_mean(points, wide, 1.0)
    for release in (
        sf.private_mean(points, wide, 1.0, "tangent"),
        sf.private_mean(points, sf.Ellipsoid(SPHERE, [0.0, 0.0, 1.0], [2.0, 2.0]), 1.0),
    ):
        assert release.chart.bias is None
        assert release.bias is None


# -- public samples and the look ----------------------------------------------------------------------------------------------
def test_a_public_sample_that_fits_is_used_and_one_that_does_not_is_left(rng, monkeypatch):
    monkeypatch.setattr("sfumato.mechanisms.paying.secure_generator", lambda: rng)
    public, private = public_and_private(60, 10_000, rng, dim=100)
    space = sf.Euclidean(dim=100)
    sketch = sf.Ellipsoid.from_sample(space, public)
    plan = choose(sketch, 10_000, 1.0)
    assert isinstance(plan.first, Looked)
    assert plan.first.limit > 5 * plan.first.width
    right = [sf.private_mean(private, sketch, 1.0) for _ in range(20)]
    assert not any(release.chart.look["fell_back"] for release in right)
    shifted = private + 1.5 * np.eye(100)[-1]  # in a direction in which public records do not differ at all
    wrong = [sf.private_mean(shifted, sketch, 1.0) for _ in range(20)]
    assert all(release.chart.look["fell_back"] for release in wrong)
    assert "from 60 public points" in right[0].chart.source
    assert wrong[0].chart.source == "the ball about the public sample"
    for release, data in ((right[0], private), (wrong[0], shifted)):
        assert release.guarantee.epsilon == 1.0 == release.calibration.epsilon
        assert "0.1 of it was spent on the look" in release.calibration.formula
        assert sf.Release.from_json(release.to_json()).sha256 == release.sha256
        assert release.record["ball"]["center"] == pytest.approx(public.mean(axis=0))
        assert np.linalg.norm(release.value - data.mean(axis=0)) < 3


def test_a_look_is_one_pass_and_one_charge(rng):
    public, private = public_and_private(60, 3000, rng)
    space, charged = sf.Euclidean(dim=30), []

    class Budget:
        def charge(self, facts, record):
            charged.append((facts.epsilon, record["chart"]["look"]))

    records = Records(space, private)
    plan = choose(sf.Ellipsoid.from_sample(space, public), 3000, 1.0)
    plan.release_of(records, "one record", Budget())
    assert records.passes == 1
    assert len(charged) == 1
    assert charged[0][0] == 1.0
    assert "fell_back" not in charged[0][1]  # what the look found is known only after the charge


def test_the_look_can_be_left_out_and_is_where_there_are_few_dimensions(rng):
    public, _ = public_and_private(60, 10, rng)
    sketch = sf.Ellipsoid.from_sample(sf.Euclidean(dim=30), public)
    assert not isinstance(choose(sketch, 3000, 1.0, check=0), Composition)
    low = sf.Ellipsoid.from_sample(sf.Euclidean(dim=3), public[:, :3])
    assert not isinstance(choose(low, 3000, 1.0), Composition)
    for wrong in (0.5, -0.1, "0.1"):
        with pytest.raises(ValueError, match="between 0 and a sixth"):
            choose(low, 3000, 1.0, check=wrong)


def test_the_losses_of_a_look_are_told_by_their_records(rng):
    """The mean loss of whole numbers is the one that the look computes in doubles."""
    public, private = public_and_private(60, 500, rng)
    space = sf.Euclidean(dim=30)
    plan = choose(sf.Ellipsoid.from_sample(space, public), 500, 1.0)
    look = plan.first.look
    assert isinstance(look, Look)
    sums = whole_sums(look.row_blocks, private, None)
    lost = np.array([float(Fraction(int(total), 500 << BITS)) for total in sums[-30:]]) * look.ball.radius
    assert lost == pytest.approx(look.lost(private).mean(axis=0), abs=1e-9)


def test_two_steps_move_the_chart_to_the_mean(space, rng, monkeypatch):
    """With a centre at the edge of the records a second chart clips fewer of them."""
    monkeypatch.setattr("sfumato.mechanisms.paying.secure_generator", lambda: rng)
    spread, n = typical_radius(space) / 4, 100_000
    away = space.exp(space.origin(), 2.5 * spread * space.random_directions(space.origin(), 1, rng))[0]
    records = cloud(space, away, spread, 200, rng)
    truth = space.validate(sf.frechet_mean(space, space.present(records)).point[None])[0]
    for region in (sf.Ball(space, space.present(space.origin()), 2 * spread), None):
        region = region or sf.Ellipsoid(space, space.present(space.origin()), np.full(space.dim, 2 * spread))
        errors = []
        for steps in (1, 2):
            plan = choose(region, n, 1.0, "tangent", steps=steps)
            drawn = plan.draw(Records(space, records), rng)
            errors.append(space.distance(truth, space.validate(drawn.raw[None]))[0])
        assert errors[1] < 0.5 * errors[0]


def test_two_steps_are_one_charge_and_a_record_of_both(rng):
    charged, region = [], ellipsoid(SPHERE)

    class Budget:
        def charge(self, facts, record):
            charged.append((facts.epsilon, record["ball"]["center"]))

    away = region.point(np.array([[0.6]]))[0]  # so far that the first release is never the centre itself again
    points = SPHERE.present(cloud(SPHERE, away, 0.1, 300, rng))
    release = sf.private_mean(points, region, 1.0, steps=2, budget=Budget())
    assert [epsilon for epsilon, _ in charged] == [1.0]
    assert release.guarantee.epsilon == 1.0
    assert "0.25 of it was spent on a first release" in release.calibration.formula
    assert "moved to a first release" in release.chart.source
    assert release.ball.center != charged[0][1]  # where the second chart is, is known only after the charge
    assert sf.Release.from_json(release.to_json()).sha256 == release.sha256
    with pytest.raises(ValueError, match="steps must be 1 or 2"):
        sf.private_mean(points, region, 1.0, steps=3)


# -- useless releases ------------------------------------------------------------------------------------------------------
def test_useless_releases_are_refused_with_what_helps(rng):
    space = sf.PlanarShapes(landmarks=30)
    center = space.present(space.origin())
    points = space.present(cloud(space, space.origin(), 0.1, 20, rng))
    ball = sf.Ball(space, center, 0.1)
    charged = []
    with pytest.raises(sf.Refusal, match=r"would be useless.*an epsilon of .*records.*public sample.*smoothness"):
        sf.private_mean(points, ball, 1.0, budget=charged)
    with pytest.raises(sf.Refusal, match="would be useless"):
        sf.ManifoldLaplace(ball, 1.0).release(points, budget=charged)
    assert not charged
    assert sf.private_mean(points, ball, 1.0, allow_useless=True).value.shape == (30, 2)
    wide = sf.Ellipsoid(space, center, np.linspace(0.1, 0.09, 50))
    with pytest.raises(sf.Refusal, match=r"would be useless.*public sample"):
        sf.private_mean(points, wide, 1.0)


def test_what_is_said_to_help_helps(rng):
    ball = sf.Ball(SPHERE, [0.0, 0.0, 1.0], 0.3)
    plan = choose(ball, 8, 0.5)

    def again(region, n, epsilon):
        return choose(region, n, epsilon)

    with pytest.raises(sf.Refusal, match="useless") as refusal:
        plan.check_useful(again)
    words = str(refusal.value)
    epsilon, records = re.search(r"an epsilon of ([\d.]+), (\d+) records", words).groups()
    again(ball, 8, float(epsilon)).check_useful(again)
    again(ball, int(records), 0.5).check_useful(again)


def test_a_plan_says_what_there_is_to_beat(rng):
    public, _ = public_and_private(60, 10, rng)
    sketch = sf.Ellipsoid.from_sample(sf.Euclidean(dim=30), public)
    row = sf.plan(sketch, n=3000, epsilon=1.0)[0]
    assert row.mechanism == "tangent"
    assert 0 < row.median_error < row.error_95
    assert row.to_beat < sketch.ball.radius
    assert sf.plan(sf.Ball(SPHERE, [0.0, 0.0, 1.0], 0.3), n=100, epsilon=1.0)[0].to_beat == 0.3


def test_a_chart_in_place_of_a_look_clips_too(rng):
    """Where a look would tell nothing the sample's chart is used without one."""
    sketch = sf.Ellipsoid.from_sample(sf.Euclidean(dim=12), rng.normal(size=(20, 12)))
    points = rng.normal(size=(1000, 12))
    points[0] = 1e6
    assert choose(sketch, 1000, 1.0).region == sketch.settle(1000, 1.0)
    release = sf.private_mean(points, sketch, 1.0)
    assert np.linalg.norm(release.raw) < 2 * sketch.radius


def test_noise_that_leads_beyond_all_numbers_gives_the_centre_and_no_warning():
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert point_or_center(sf.SPD(2), np.eye(2), np.array([1e4, 0.0, 0.0])).tolist() == np.eye(2).tolist()
    assert not heard
