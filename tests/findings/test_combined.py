"""Several studies, one mean: its law, its price, its record, and what is refused."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.laws.calibration.population import sum_quantile
from sfumato.laws.calibration.stein import james_stein
from sfumato.release.population import chart_variance, no_region, released_coordinates
from sfumato.views.words import in_short

PLANE = sf.Euclidean(dim=2)
BALL = sf.Ball(PLANE, [0.0, 0.0], 1.0)
SIZES = (100, 300, 900)


def release(n=300, region=BALL, at=0.2, epsilon=1.0, **options):
    space = region.space
    tangent = np.full(space.dim, at * region.radius / math.sqrt(space.dim))
    point = space.present(space.exp(region.center, space.from_coordinates(region.center, tangent)))
    how = {"mechanism": "tangent", "allow_useless": True} | options
    return sf.private_mean(np.repeat(point[None], n, axis=0), region, epsilon, **how)


@pytest.fixture(scope="module")
def done():
    return [release(n, inference=0.1) for n in SIZES]


# -- the law ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("weights", ["error", "n"])
def test_the_error_is_that_of_draws_of_all_releases(weights):
    """300 times three studies whose means are known; and by the law of the sum, to 2%."""
    away = []
    for _ in range(300):
        both = sf.combine([release(n) for n in SIZES], "apart", weights=weights)
        away.append(np.linalg.norm(both.raw - 0.2 / math.sqrt(2)))
    margin = 5 * math.sqrt(0.25 / 300)
    assert abs(np.mean(np.array(away) <= both.noise(0.5)) - 0.5) < margin
    assert np.mean(np.array(away) <= both.noise(0.95)) > 0.95 - 5 * math.sqrt(0.05 * 0.95 / 300)
    assert abs(np.mean(np.array(away) <= 1.7 * both.noise(0.5)) - 0.5) > margin
    law = np.array([part["share"] for part in both.mechanism.options["releases"]]) * 2
    sizes = np.array([part["n"] for part in both.mechanism.options["releases"]])
    for q in (0.5, 0.95, 0.999):
        exact = sum_quantile(q, 2, (law / sizes).tolist(), 0.0)
        assert exact <= both.noise(q) - both.lattice_spacing / 2 * math.sqrt(2) < 1.02 * exact


def test_weights_are_those_of_the_smallest_error_or_of_the_records(done):
    for weights, power in (("error", 2), ("n", 1)):
        both = sf.combine(done, "apart", weights=weights)
        parts = sorted(both.mechanism.options["releases"], key=lambda part: part["n"])
        expected = np.array(SIZES, dtype=float) ** power
        assert [part["share"] for part in parts] == pytest.approx((expected / expected.sum()).tolist(), rel=0.02)
        w = sum(part["share"] * _of(done, part) for part in parts)
        assert np.array(both.chart.point) == pytest.approx(w, abs=1e-12)
    assert sf.combine(done, "apart").error(0.95) < sf.combine(done, "apart", weights="n").error(0.95)
    assert sf.combine(done, "apart").error(0.95) < min(one.error(0.95) for one in done)


def _of(done, part):
    (one,) = (one for one in done if one.sha256 == part["sha256"])
    assert one.n == part["n"]
    return released_coordinates(one)


def test_the_draws_are_combined_and_then_moved_as_one_draw_is():
    """In 20 directions a mean of values that were each moved to the centre would be as near to it as they are."""
    ball = sf.Ball(sf.Euclidean(dim=20), np.zeros(20), 1.0)
    done = [release(n, ball, at=0.5) for n in (200, 400)]
    both = sf.combine(done, "apart")
    w = np.array(both.chart.point)
    assert w == pytest.approx(0.2 * released_coordinates(done[0]) + 0.8 * released_coordinates(done[1]))
    assert both.raw == pytest.approx(w)
    factor = np.linalg.norm(both.value) / np.linalg.norm(w)
    sigma = math.hypot(*both.mechanism.options["sigmas"])
    low, high = (james_stein(w, np.ones(20), part * sigma) for part in (1.05, 0.95))
    assert np.linalg.norm(low) < np.linalg.norm(both.value) < np.linalg.norm(high)
    assert factor < 1


def test_moving_the_mean_pays_wherever_it_is(rng):
    """As Result 10 has it, for sums of noises: mean squares, and the errors that are stated."""
    from sfumato.laws.calibration.population import sum_squares

    p, sigmas, size = 12, (0.02, 0.05), 20_000
    squares, each = sum_squares(p + 1, sigmas)
    sigma = ((p - 1) * float(each @ (1 / squares))) ** -0.5
    drawn = np.sqrt(sum(s * s * rng.chisquare(p + 1, size) for s in sigmas))[:, None] * rng.normal(size=(size, p))
    assert (1 / (drawn**2).sum(axis=1)).mean() == pytest.approx(1 / ((p - 1) * (p - 2) * sigma**2), rel=0.05)
    for far in (0.0, 0.3, 1.0, 3.0):
        w = drawn + np.eye(1, p) * far
        raw, moved = (np.linalg.norm(x - np.eye(1, p) * far, axis=1) for x in (w, james_stein(w, np.ones(p), sigma)))
        assert (moved**2).mean() < (raw**2).mean()
        for q in (0.5, 0.95):
            assert np.quantile(moved, q) < 1.01 * np.quantile(raw, q)


def test_regions_of_other_sizes_are_brought_into_the_largest():
    small, wide = (sf.Ball(PLANE, [0.0, 0.0], radius) for radius in (0.5, 1.0))
    done = [release(4000, small, at=0.4), release(4000, wide, at=0.2)]
    both = sf.combine(done, "apart")
    assert both.ball.radius == 1.0
    assert both.value == pytest.approx([0.2 / math.sqrt(2)] * 2, abs=0.02)
    shares = {part["sha256"]: part["share"] for part in both.mechanism.options["releases"]}
    assert shares[done[0].sha256] == pytest.approx(0.8, abs=0.01)
    sigma = 2 / 4000
    assert both.noise(0.95) == pytest.approx(sum_quantile(0.95, 2, [0.4 * sigma, 0.2 * sigma], 0.0), rel=0.05)


def test_charts_of_other_axes_are_brought_into_one_that_holds_all(rng):
    """200 times two studies in ellipsoids that cross: the stated noise holds and is not idle, and so does the region."""
    turned = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    charts = [sf.Ellipsoid(PLANE, [0.0, 0.0], [1.0, 0.3]), sf.Ellipsoid(PLANE, [0.0, 0.0], [0.9, 0.3], turned)]
    true = np.array([0.1, 0.1])
    away, inside = [], []
    for _ in range(200):
        done = [
            sf.private_mean(np.tile(true, (n, 1)), one, 1.0, mechanism="tangent", inference=0.1)
            for n, one in zip((300, 500), charts, strict=True)
        ]
        both = sf.combine(done, "apart")
        away.append(np.linalg.norm(both.raw - true))
        inside.append(both.region(0.95).contains(true[None])[0])
    share = {part["sha256"]: part["share"] for part in both.mechanism.options["releases"]}
    assert both.raw == pytest.approx(sum(share[one.sha256] * one.raw for one in done))  # in any chart
    slack = 5 * math.sqrt(0.95 * 0.05 / 200)
    assert np.mean(np.array(away) <= both.noise(0.95)) > 0.95 - slack
    assert np.mean(np.array(away) <= both.noise(0.95) / 2) < 0.95 - slack
    assert np.mean(inside) > 0.95 - slack
    assert all(both.ball.radius >= one.ball.radius * (1 - 1e-9) for one in done)


def test_studies_of_other_sizes_are_combined_by_one_public_sample(rng, tmp_path):
    """As on the command line, where axes are settled for each: the error is less than that of either."""
    space = sf.Euclidean(dim=6)
    spread = [3.0, 1.0, 0.5, 0.3, 0.2, 0.1]
    sketch = sf.Ellipsoid.from_sample(space, rng.normal(size=(60, 6)) * spread, relation="same")
    done = [sf.private_mean(rng.normal(size=(n, 6)) * spread, sketch, 1.0) for n in (60, 900)]
    assert len({len(one.chart.axes) for one in done}) == 2
    both = sf.combine(done, "apart")
    assert both.noise(0.95) < min(one.noise(0.95) for one in done) * 1.2
    assert len(both.chart.axes) == max(len(one.chart.axes) for one in done)
    own = [reason for reason in map(no_region, done) if reason]  # which depends on the draw of the few
    with pytest.raises(ValueError, match="|".join([*own, "some studies left out directions that others have"])):
        both.region(0.95)
    both.save(tmp_path / "both.json")
    assert sf.Release.load(tmp_path / "both.json").sha256 == both.sha256


def test_the_region_of_the_population_covers_and_counts_people_who_are_in_both():
    """Two points of a population: 100 times two studies of other people, and of the same, whose samples err alike."""
    rng, held = np.random.default_rng(2), {"apart": 0, "both": 0}
    for _ in range(100):
        people = [np.where(rng.random(100) < 0.5, 0.9, -0.9)[:, None] * [1.0, 0.0] for _ in range(2)]
        done = [sf.private_mean(x, BALL, 8.0, mechanism="tangent", inference=0.1) for x in (*people, people[0])]
        both = {"apart": sf.combine(done[:2], "apart"), "both": sf.combine(done[::2], "both")}
        for name, found in both.items():
            held[name] += bool(found.region(0.95).contains([[0.0, 0.0]])[0])
    assert min(held.values()) > 100 * (0.945 - 5 * math.sqrt(0.945 * 0.055 / 100))
    same = sf.combine(done[::2], "apart")
    own = [math.sqrt(chart_variance(one, 0.95) / one.n) / 2 for one in done[::2]]
    for found, variance in ((both["both"], sum(own) ** 2), (same, own[0] ** 2 + own[1] ** 2)):
        cells = found.lattice_spacing / 2 * math.sqrt(2)
        radius = sum_quantile(0.95, 2, found.mechanism.options["sigmas"], variance)
        assert found.region(0.95).chart_radius == pytest.approx(radius + cells)
    assert both["both"].region(0.95).chart_radius > 1.2 * same.region(0.95).chart_radius


def test_a_region_says_what_it_is_of_and_is_wider_without_a_spread(done):
    both = sf.combine(done, "apart")
    assert "the weighted mean of the populations lies within" in both.region().words
    assert both.region(0.99).radius > both.region(0.95).radius > both.region(0.9).radius
    assert both.region(0.97).radius > both.region(0.95).radius
    assert both.region().words in both.describe()
    wide = sf.combine([release(n) for n in SIZES], "apart")
    assert wide.spread is None
    assert wide.region().radius > both.region().radius


# -- the price ----------------------------------------------------------------------------------------------------------
KINDS = [sf.PureDP(1.0), sf.PureDP(0.5), sf.ZCDP(0.1), sf.ZCDP(0.4), sf.GDP(0.3), sf.GDP(0.4), sf.ApproxDP(1.0, 1e-6)]


@pytest.mark.parametrize("pair", [(0, 1), (2, 3), (4, 5), (6, 6), (0, 6), (2, 4), (1, 3)])
def test_prices_are_the_largest_of_other_people_and_add_up_of_the_same(pair, tmp_path):
    done = [release(200 + i, epsilon=None, privacy=KINDS[kind]) for i, kind in enumerate(pair)]
    one, two = (each.guarantee for each in done)
    apart, both = (sf.combine(done, people).guarantee for people in ("apart", "both"))
    alike = type(KINDS[pair[0]]) is type(KINDS[pair[1]])
    for name in ("epsilon", "rho", *["numerical_delta"] * alike):
        numbers = getattr(one, name), getattr(two, name)
        assert getattr(apart, name) == max(numbers)
        assert sum(numbers) <= getattr(both, name) <= 1.00002 * sum(numbers)
    assert apart.mu == max(one.mu, two.mu)
    assert math.hypot(one.mu, two.mu) <= both.mu <= 1.00002 * math.hypot(one.mu, two.mu)
    assert both.approx["epsilon"] == pytest.approx(one.approx["epsilon"] + two.approx["epsilon"], rel=2e-5)
    assert both.approx["delta"] == pytest.approx(one.approx["delta"] + two.approx["delta"], rel=2e-5)
    if not alike:  # that of ρ and μ is the chance alone
        assert apart.numerical_delta >= (1 + math.exp(apart.epsilon)) * max(one.numerical_delta, two.numerical_delta)
    assert type(both.privacy) is (type(KINDS[pair[0]]) if alike else sf.ApproxDP)
    if alike:
        numbers = (KINDS[pair[0]] + KINDS[pair[1]]).numbers
        assert both.privacy.numbers == pytest.approx(numbers, rel=2e-5)
        assert KINDS[pair[0]] <= apart.privacy
        assert KINDS[pair[1]] <= apart.privacy
    for people in ("apart", "both"):
        sf.combine(done, people).save(tmp_path / "both.json")
        assert sf.Release.load(tmp_path / "both.json").guarantee == sf.combine(done, people).guarantee


def test_units_and_conditions_are_said():
    done = [release(unit="one person"), release(301, unit="one visit")]
    assert set(sf.combine(done, "both").guarantee.unit.split(" or ")) == {"one person", "one visit"}
    study = replace(done[0], guarantee=replace(done[0].guarantee, private=False))
    assert not sf.combine([study, done[1]], "apart").guarantee.private


# -- the record ---------------------------------------------------------------------------------------------------------
def test_the_order_of_releases_does_not_matter_and_the_record_is_read_alone(done, tmp_path):
    both = sf.combine(done, "apart")
    assert sf.combine(done[::-1], "apart").sha256 == both.sha256 == sf.combine(iter(done), people="apart").sha256
    both.save(tmp_path / "both.json")
    again = sf.Release.load(tmp_path / "both.json")
    assert again.sha256 == both.sha256
    assert again.region(0.95).chart_radius == both.region(0.95).chart_radius
    assert again.describe() == both.describe()
    assert again.n == sum(SIZES)
    document = json.loads((tmp_path / "both.json").read_text())
    assert {part["sha256"] for part in document["mechanism"]["options"]["releases"]} == {one.sha256 for one in done}
    document["mechanism"]["options"]["releases"][0]["share"] += 0.1
    (tmp_path / "both.json").write_text(json.dumps(document))
    with pytest.raises(sf.RecordError, match="altered since it was saved"):
        sf.Release.load(tmp_path / "both.json")


def test_it_says_what_it_is_in_words_reports_and_pictures(done, tmp_path):
    both = sf.combine(done, "apart")
    assert in_short(both)[0].startswith("Released the combined mean of 1300 vectors of 2 numbers; ε = 1 protects")
    assert "Studies: the means of 3 are weighted (" in both.describe()
    assert "nobody is in two of them" in both.describe()
    assert "somebody may be in several of them" in sf.combine(done, "both").describe()
    assert "of the weighted mean of the means of the clipped records" in both.describe()
    assert "One record, whatever it is" not in both.describe()  # that is so of each study alone
    both.plot(tmp_path / "both.png")
    sf.write_report(both, tmp_path / "both.html")
    assert "the means of 3 are weighted (" in (tmp_path / "both.html").read_text(encoding="utf-8")
    assert both.statistic == "weighted mean of 3 studies: mean in a chart about the public centre"
    assert "<img" in both._repr_html_()


@pytest.mark.parametrize(
    "space", [sf.SPD(size=2), sf.Sphere(dim=2), sf.PlanarShapes(landmarks=5), sf.Rotations()], ids=str
)
def test_means_of_every_kind_are_combined(space, tmp_path):
    region = sf.Ball(space, space.present(space.origin()), 0.3)
    both = sf.combine([release(n, region, 0.4, inference=0.1) for n in (2000, 3000)], "apart")
    tangent = np.full(space.dim, 0.4 * 0.3 / math.sqrt(space.dim))
    truth = space.exp(region.center, space.from_coordinates(region.center, tangent))
    assert space.distance(space.validate(both.value[None])[0], truth) < both.error(0.999999)
    both.plot(tmp_path / "both.png")


def test_the_whole_error_of_public_samples_adds_up_what_is_left_out(rng):
    space = sf.Euclidean(dim=6)
    sample = rng.normal(size=(60, 6)) * [3.0, 1.0, 0.5, 0.3, 0.2, 0.1]
    sketch = sf.Ellipsoid.from_sample(space, sample, relation="same")
    done = [sf.private_mean(rng.normal(size=(300, 6)) * [3.0, 1, 0.5, 0.3, 0.2, 0.1], sketch, 1.0) for _ in range(3)]
    both = sf.combine(done, "apart")
    assert both.noise(0.95) < both.error(0.95) < done[0].error(0.95)
    rest = [math.sqrt(one.error(0.95) ** 2 - one.noise(0.95) ** 2) for one in done]
    assert both.error(0.95) == pytest.approx(math.hypot(both.noise(0.95), np.mean(rest)), rel=0.02)
    assert both.gain > done[0].gain
    assert f"Within {both.error(0.95):.3g} (" in in_short(both)[1]


def test_numbers_are_combined_within_the_same_limits(rng):
    shapes = rng.normal(size=(400, 5, 2))
    done = [sf.private_size(shapes[:n], 1.0, 6.0, 4.0).mean for n in (300, 400)]
    both = sf.combine(done, "apart")
    assert both.value[0] == pytest.approx(np.mean([one.value[0] for one in done]), abs=0.3)
    assert "mean centroid size" in both.statistic
    assert both.describe()
    with pytest.raises(sf.Refusal, match="no common mean"):
        sf.combine([done[0], sf.private_size(shapes, 1.0, 7.0, 4.0).mean], "apart")


# -- what is refused ----------------------------------------------------------------------------------------------------
def test_what_has_no_common_mean_is_refused(done, rng):
    moved = release(200, sf.Ball(PLANE, [0.1, 0.0], 1.0))
    other = release(200, sf.Ball(sf.Euclidean(dim=3), np.zeros(3), 1.0))
    number = sf.private_size(rng.normal(size=(200, 4, 2)), 1.0, 5.0, 4.0).mean
    for strange in (moved, other, number):
        with pytest.raises(sf.Refusal, match="have no common mean: use one public sample"):
            sf.combine([done[0], strange], "apart")
    with pytest.raises(sf.Refusal, match="some studies left out directions that others have"):
        sf.combine([done[0], release(200, sf.Ellipsoid(PLANE, [0.0, 0.0], [1.0]))], "apart")
    kng = sf.private_mean(np.zeros((400, 2)), BALL, 4.0, "kng")
    groups = sf.compare_groups(np.zeros((400, 2)), ["f", "m"] * 200, BALL, 4.0)
    parts = sf.private_components(rng.normal(size=(400, 2)) / 4, BALL, 4.0, components=1, allow_useless=True)
    for strange in (kng, groups, parts, sf.combine(done, "apart"), None, "mean.json"):
        with pytest.raises(sf.Refusal, match="only means by chart can be combined"):
            sf.combine([done[0], strange], "apart")
    with pytest.raises(sf.Refusal, match="groups of one comparison"):
        sf.combine(groups.groups.values(), "apart")
    later = replace(groups.groups["m"], time="2031-01-01T00:00:00+00:00")
    assert sf.combine([groups.groups["f"], later], "apart").guarantee.grouped  # of two studies


def test_each_release_counts_once_and_people_must_be_told(done):
    for some in ([], done[:1], [done[0], done[1], done[0]]):
        with pytest.raises(sf.Refusal, match="two releases or more, each once"):
            sf.combine(some, "apart")
    with pytest.raises(TypeError, match="people"):
        sf.combine(done)
    for people, weights in (("same", "n"), (None, "n"), ("apart", "precision")):
        with pytest.raises(ValueError, match="say people='apart' if nobody is in two of the studies"):
            sf.combine(done, people, weights=weights)


def test_records_of_earlier_versions_are_combined_as_far_as_they_say():
    """Of their errors they state the noise alone."""
    old = [replace(release(n), whole=None) for n in (200, 300)]
    assert sf.combine(old, "apart").error(0.95) == pytest.approx(sf.combine(old, "apart").noise(0.95))
    bare = [
        replace(
            one, guarantee=replace(one.guarantee, rho=None, mu=None, approx=None), chart=replace(one.chart, point=None)
        )
        for one in old
    ]
    assert sf.combine(bare, "both").guarantee.epsilon == 2.0
    assert sf.combine(bare, "both").guarantee.rho is None
