import json

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from conftest import cloud, typical_radius
from sfumato.laws.bounds import bounds_of
from sfumato.laws.sampling import lattice_spacing
from sfumato.mechanisms import MECHANISMS, choose, forecast
from sfumato.records import Records

TINY = 1e-6
SPHERE, SPD, SHAPES = sf.Sphere(dim=2), sf.SPD(size=2), sf.PlanarShapes(landmarks=5)


def ball_of(space, radius=None):
    return sf.Ball(space, space.present(space.origin()), radius or typical_radius(space))


# -- scales ---------------------------------------------------------------------------------------------------------------
def test_laplace_scales_have_their_known_values():
    def ratio(space, r, n, calibration="certified"):
        return sf.ManifoldLaplace(ball_of(space, r), 1.0, calibration).at(n).scale.sigma * n / (2 * r)

    for n in (5, 50, 5000):
        assert ratio(SPHERE, np.pi / 8, n) == pytest.approx(1.0548, abs=1e-3)
        assert ratio(sf.PlanarShapes(landmarks=50), 0.125, n) == pytest.approx(1.0214, abs=1e-3)
    assert ratio(SPD, 1.5, 50) == pytest.approx(1.0, abs=1e-6)
    assert ratio(SPHERE, np.pi / 8, 50, "theorem") == pytest.approx(1.547, abs=1e-3)
    assert ratio(SPHERE, np.pi / 8, 50, "tight") == ratio(SPHERE, np.pi / 8, 50)


def test_scales_fall_with_n_and_epsilon():
    for kind in (sf.KNG, sf.ManifoldLaplace, sf.Exponential, sf.AmbientLaplace):
        scales = [kind(ball_of(SPHERE), e).at(n).scale.sigma for e, n in ((1.0, 50), (1.0, 100), (2.0, 100))]
        assert scales == sorted(scales, reverse=True)


@pytest.mark.parametrize(
    ("make", "limit"),
    [
        (lambda: sf.KNG(ball_of(SPHERE, 0.79), 1.0), "0.785398"),
        (lambda: sf.Exponential(ball_of(SPHERE, 0.79), 1.0), "0.785398"),
        (lambda: sf.KNG(ball_of(SHAPES, 0.4), 1.0), "0.392699"),
        (lambda: sf.ManifoldLaplace(ball_of(SPHERE, 1.5), 1.0), "1.49226"),
        (lambda: sf.ManifoldLaplace(ball_of(SHAPES, 0.75), 1.0), "0.746128"),
        (lambda: sf.ManifoldLaplace(ball_of(SPHERE, 0.9), 1.0, "theorem"), "0.785398"),
    ],
)
def test_too_large_a_radius_is_refused_with_the_largest_and_the_reason(make, limit):
    with pytest.raises(sf.RadiusError, match=rf"below {limit}.*beyond "):
        make().at(100)


def test_laplace_that_does_not_exist_is_refused_with_what_would_do():
    laplace = sf.ManifoldLaplace(ball_of(sf.SPD(size=5), 2.0), epsilon=0.1)
    with pytest.raises(ValueError, match=r"n·ε must exceed 12.65, and is 10; use more records"):
        laplace.at(100)
    assert laplace.at(127).scale.sigma > 0


@pytest.mark.parametrize("epsilon", [0.0, -1.0, np.nan, np.inf])
def test_epsilon_must_be_positive(epsilon):
    for kind in (sf.KNG, sf.ManifoldLaplace):
        with pytest.raises(ValueError, match="epsilon must be a positive number"):
            kind(ball_of(SPHERE), epsilon)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="calibration must be one of certified, tight, theorem, as run"):
        sf.KNG(ball_of(SPHERE), 1.0, "loose")
    with pytest.raises(ValueError, match="known: auto, kng, laplace"):
        sf.private_mean([[0, 0, 1.0]], ball_of(SPHERE), 1.0, mechanism="gauss")


# -- what they release -------------------------------------------------------------------------------------------------------
def test_every_mechanism_centres_on_its_statistic(rng):
    """With a large ε the draws gather at the statistic that the mechanism is said to release."""
    for space in (SPHERE, SPD, SHAPES, sf.Euclidean(dim=3)):
        points = space.present(cloud(space, space.origin(), typical_radius(space), 40, rng))
        mean = space.validate(sf.frechet_mean(space, points).point[None])[0]
        for kind in (sf.KNG, sf.ManifoldLaplace, sf.Exponential):
            # ten million copies of the records, as it were: an ε of more than 60 has no less noise than 60
            ball = ball_of(space, 1.01 * typical_radius(space))
            records = Records(space, ball.clip(points))
            draws = kind(ball, 10.0).at(10**8).target(records).draw(20, rng).points
            assert space.distance(mean, draws).max() < 1e-3


def test_ambient_laplace_is_a_gamma_radius_about_the_arithmetic_mean(rng):
    points = cloud(SPHERE, SPHERE.origin(), 0.5, 40, rng)
    ambient = sf.AmbientLaplace(ball_of(SPHERE, 0.6), 1.0)
    assert ambient.at(40).scale.sigma == pytest.approx(2 * np.sin(0.6) / 40)
    radius = np.linalg.norm(ambient.sample(points, 20_000, rng) - points.mean(axis=0), axis=1)
    assert stats.kstest(radius / ambient.at(40).scale.sigma, stats.gamma(3).cdf).pvalue > TINY
    assert stats.kstest(radius / ambient.at(40).scale.sigma / 1.05, stats.gamma(3).cdf).pvalue < TINY
    assert np.mean(radius <= ambient.at(40).error_quantile(0.9)) == pytest.approx(0.9, abs=0.012)


def test_ambient_diameter_is_exact_on_spheres_and_a_bound_on_matrices(rng):
    for space, radius in (
        (SPHERE, 0.7),
        (sf.Sphere(dim=2, curvature=4.0), 0.3),
        (SPD, 1.2),
        (sf.Euclidean(dim=2), 2.0),
    ):
        ambient = sf.AmbientLaplace(
            sf.Ball(space, space.present(3 * np.eye(2) if space is SPD else space.origin()), radius), 1.0
        )
        center = ambient.ball.center
        vectors = radius * space.random_directions(center, 2000, rng)
        if space is not SPD:
            vectors[1000:] = -vectors[:1000]
        image = ambient.embedding.embed(space.exp(center, vectors))
        widest = np.linalg.norm(image[:1000] - image[1000:], axis=1).max()
        assert widest <= ambient.diameter * (1 + 1e-12)
        assert widest > (0.4 if space is SPD else 0.9999) * ambient.diameter


def test_projection_returns_to_the_manifold_within_the_predicted_error(rng):
    points = cloud(SPHERE, SPHERE.origin(), 0.5, 40, rng)
    projected = sf.AmbientLaplace(ball_of(SPHERE, 0.6), 1.0, project=True)
    draws = projected.sample(points, 5000, rng)
    assert np.allclose(np.linalg.norm(draws, axis=1), 1.0)
    mean = points.mean(axis=0)
    error = np.linalg.norm(draws - mean / np.linalg.norm(mean), axis=1)
    assert np.mean(error <= projected.at(40).error_quantile(0.9)) >= 0.88

    matrices = cloud(SPD, np.eye(2), 1.0, 10, rng)
    projected = sf.AmbientLaplace(ball_of(SPD, 1.2), 1.0, project=True)
    raised = projected.sample(matrices, 5000, rng)
    assert np.linalg.eigvalsh(raised).min() >= np.exp(-1.2) * (1 - 1e-9)
    upper = np.triu_indices(2)
    error = np.linalg.norm((raised - matrices.mean(axis=0))[:, *upper], axis=1)
    assert np.mean(error <= projected.at(10).error_quantile(0.9)) >= 0.88


def test_a_release_that_is_not_positive_definite_says_so(rng, monkeypatch):
    monkeypatch.setattr("sfumato.mechanisms.paying.secure_generator", lambda: rng)
    matrices = cloud(SPD, np.eye(2), 1.0, 4, rng)
    ambient = sf.AmbientLaplace(ball_of(SPD, 1.5), 0.2)
    releases = [ambient.release(matrices) for _ in range(40)]
    said = [r.record["on_manifold"] for r in releases]
    assert said == [bool(np.linalg.eigvalsh(r.value)[0] > 0) for r in releases]
    assert set(said) == {True, False}
    assert "not a point of this space" in releases[said.index(False)].describe()


def test_pointwise_laplace_adds_laplace_noise_to_each_coordinate(rng):
    landmarks = SHAPES.present(cloud(SHAPES, SHAPES.origin(), 0.1, 30, rng))
    pointwise = sf.PointwiseLaplace(ball_of(SHAPES, 0.2), 1.0)
    width = 2 * np.sin(0.1)
    assert pointwise.at(30).scale.sigma == pytest.approx(2 * width / 30 * 10)
    center = SHAPES.present(SHAPES.origin())
    aligned = SHAPES.present(SHAPES.align(SHAPES.origin(), landmarks))
    noise = pointwise.sample(landmarks, 20_000, rng) - np.clip(aligned, center - width, center + width).mean(axis=0)
    assert stats.kstest(noise[:, 3, 1] / pointwise.at(30).scale.sigma, stats.laplace.cdf).pvalue > TINY
    assert stats.kstest(noise[:, 3, 1] / pointwise.at(30).scale.sigma / 1.1, stats.laplace.cdf).pvalue < TINY
    for p in (0.5, 0.95):  # the predicted error is an upper bound, and not a loose one
        length, bound = np.linalg.norm(noise, axis=(1, 2)), pointwise.at(30).error_quantile(p)
        assert p - 0.02 <= np.mean(length <= bound)
        assert bound < 1.02 * np.quantile(length, p)


def test_pointwise_bounds_clip_every_record():
    landmarks = np.random.default_rng(3).normal(size=(20, 5, 2))
    narrow = sf.PointwiseLaplace(ball_of(SHAPES, 0.3), 1e9, bounds=0.01, align=False)
    assert np.abs(narrow.mean(Records(SHAPES, narrow.ball.clip(landmarks)))).max() <= 0.01 + 1e-6
    with pytest.raises(ValueError, match="bounds must be positive"):
        sf.PointwiseLaplace(ball_of(SHAPES, 0.3), 1.0, bounds=-1.0)


def test_ambient_and_pointwise_know_where_they_belong():
    with pytest.raises(ValueError, match="use PointwiseLaplace"):
        sf.AmbientLaplace(ball_of(SHAPES), 1.0)
    with pytest.raises(ValueError, match="not defined on Sphere"):
        sf.PointwiseLaplace(ball_of(SPHERE), 1.0)


# -- what the paper ran ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [sf.KNG, sf.ManifoldLaplace, sf.AmbientLaplace], ids=lambda k: k.__name__)
def test_variants_of_the_paper_can_be_studied_but_not_released(kind, rng):
    points = cloud(SPHERE, SPHERE.origin(), np.pi / 8, 50, rng)
    variant = kind(ball_of(SPHERE, np.pi / 8), 1.0, calibration="as run")
    assert variant.sample(points, 10, rng).shape == (10, 3)
    with pytest.raises(ValueError, match="for study, not released"):
        variant.release(points)


def test_the_papers_scales():
    ball = ball_of(SPHERE, np.pi / 8)
    h = np.pi / 8 / np.tan(np.pi / 8)
    assert sf.KNG(ball, 1.0, "as run").at(50).scale.sigma == pytest.approx(np.pi / 4 * (2 - h) / 50)
    assert sf.AmbientLaplace(ball, 1.0, "as run").at(50).scale.sigma == pytest.approx(np.pi / 4 / 50)
    assert sf.AmbientLaplace(ball_of(SPD, 1.5), 1.0, "as run").at(50).scale.sigma == pytest.approx(
        2 * np.expm1(1.5) / 50
    )
    assert sf.KNG(ball_of(SPD, 1.5), 1.0, "as run").at(50).scale.sigma == pytest.approx(4 * 1.5 / 50)


def test_the_papers_pointwise_laplace_takes_its_bounds_from_the_data(rng):
    landmarks = SHAPES.present(cloud(SHAPES, SHAPES.origin(), 0.05, 30, rng))
    as_run, proven = (sf.PointwiseLaplace(ball_of(SHAPES, 0.2), 1.0, c) for c in ("as run", "certified"))
    spreads = [m.sample(landmarks, 4000, rng).std(axis=0).mean() for m in (as_run, proven)]
    assert spreads[0] < 0.5 * spreads[1]
    with pytest.raises(ValueError, match="not released"):
        as_run.release(landmarks)


# -- choice ------------------------------------------------------------------------------------------------------------------
def test_auto_takes_the_smallest_predicted_error():
    ball = ball_of(SPHERE, np.pi / 8)
    assert choose(ball, 20, 1.0).name == "laplace"
    assert choose(ball, 20, 8.0).name == "staircase"
    rows = forecast(ball, 20, 1.0)
    assert not any(row.useless for row in rows[:3])
    # beyond Assumption 1 only those about the computed mean are left
    assert {r.mechanism for r in forecast(ball_of(SPHERE, 1.2), 20, 1.0) if r.refusal} == {"kng", "exponential"}


def test_auto_takes_kng_where_the_laplace_does_not_exist():
    assert choose(ball_of(sf.SPD(size=2), 2.0), 20, 0.1).name != "laplace"


# -- what is refused before anything is spent -------------------------------------------------------------------------------
def test_condition_numbers_beyond_double_precision_are_refused():
    ball = ball_of(SPD, 20.0)
    points = np.stack([np.eye(2)] * 50)
    for kind in (sf.KNG, sf.Exponential, sf.ManifoldLaplace):
        with pytest.raises(sf.PrecisionError, match="too wide for double precision"):
            kind(ball, 1.0).release(points)
    with pytest.raises(sf.Refusal, match="would be useless"):  # by the chart, where nothing is too wide
        sf.private_mean(points, ball, 1.0)


@pytest.mark.parametrize(
    ("space", "center", "radius"),
    [
        (sf.Euclidean(dim=2), np.full(2, 1e12), 1.0),  # coordinates with few digits left for the noise
        (sf.Sphere(dim=2), np.array([0, 0, 1.0]), 1e-11),
    ],
)
def test_coordinates_with_few_digits_left_for_the_noise_get_more_of_it_or_are_refused(space, center, radius):
    ball = sf.Ball(space, center, radius)
    points = np.stack([center] * 50)
    ordinary = 2 * radius / 50
    for kind in (sf.KNG, sf.ManifoldLaplace):
        assert 1.2 * ordinary < kind(ball, 1.0).at(50).scale.sigma < 4 * ordinary
        kind(ball, 1.0).release(points)
    with pytest.raises(sf.PrecisionError, match="rounding in double precision would add"):
        sf.Exponential(ball, 1.0).release(points)


def test_noise_wider_than_the_ball_is_refused_before_it_takes_for_ever():
    ball = ball_of(sf.PlanarShapes(landmarks=42), 0.2)
    points = np.stack([ball.space.present(ball.center)] * 188)
    for kind in (sf.KNG, sf.Exponential):
        with pytest.raises(ValueError, match="as wide as the ball"):
            kind(ball, 1.0).release(points)
    release = sf.private_mean(points, ball, 1.0, allow_useless=True)
    assert release.record["mechanism"]["name"] in ("laplace", "staircase", "tangent")


@pytest.mark.parametrize(
    "points", [None, 3.0, "abc", [[1, 2], [3]], [["a", "b", "c"]], np.zeros((2, 3), dtype="M8[s]")]
)
def test_what_is_no_array_of_numbers_is_refused_in_words(points):
    with pytest.raises(ValueError, match=r"the points are not|points have shape"):
        sf.private_mean(points, ball_of(SPHERE, 0.4), 1.0)


@pytest.mark.parametrize("wrong", ["1", None, [1.0], 1j])
def test_what_is_no_number_is_refused_in_words(wrong):
    with pytest.raises(ValueError, match="epsilon must be a positive number"):
        sf.KNG(ball_of(SPHERE, 0.4), wrong)
    with pytest.raises(ValueError, match="radius of the ball must be a positive number"):
        sf.Ball(SPHERE, [0, 0, 1.0], wrong)
    with pytest.raises(ValueError, match=r"must be a whole number|must be a positive number"):
        sf.Sphere(wrong)
    for mechanism in (sf.AmbientLaplace(ball_of(SPHERE, 0.4), 1.0), sf.PointwiseLaplace(ball_of(SHAPES, 0.2), 1.0)):
        with pytest.raises(ValueError, match="a probability must lie between 0 and 1"):
            mechanism.at(10).error_quantile(wrong)


def test_wrong_arguments_are_named():
    with pytest.raises(TypeError, match=r"second argument of private_mean is a region such as a sfumato\.Ball"):
        sf.private_mean([[0, 0, 1.0]], SPHERE, 1.0)
    with pytest.raises(TypeError, match="first argument is a space"):
        sf.Ball(sf.Sphere, [0, 0, 1.0], 0.3)
    with pytest.raises(ValueError, match="centre of the ball is not a single point"):
        sf.Ball(SPHERE, [0, 1.0], 0.3)
    with pytest.raises(ValueError, match="number of draws"):
        sf.KNG(ball_of(SPHERE, 0.4), 1.0).sample([[0, 0, 1.0]], 0, np.random.default_rng(0))


def test_numpy_integers_and_single_precision_are_fine(rng):
    release = sf.private_mean([[0, 0, 1.0]] * 20, sf.Ball(sf.Sphere(np.int64(2)), [0, 0, 1], 0.4), np.float32(1.0))
    assert sf.Release.from_json(release.to_json()).record["space"]["parameters"] == {"dim": 2, "curvature": 1.0}
    matrices = cloud(sf.SPD(size=3), np.eye(3), 1.0, 40, rng).astype(np.float32)
    assert sf.private_mean(matrices, ball_of(sf.SPD(size=3), 1.5), 1.0).value.shape == (3, 3)


def test_predicted_errors_do_not_exceed_the_space():
    assert sf.ManifoldLaplace(ball_of(SPHERE, 1.49), 1.0).at(20).release_error(0.95) <= np.pi
    assert sf.KNG(ball_of(SPD, 1.0), 1e-4).at(20).release_error(0.95) < 3


def test_nothing_left_is_an_error_with_every_reason():
    with pytest.raises(ValueError, match=r"(?s)no mechanism.*kng.*laplace"):
        choose(ball_of(SPHERE, 1.45), 1, 1e-12)


@pytest.mark.parametrize(
    ("space", "largest", "said"), [(SPHERE, 1.4922, "1.4"), (sf.PlanarShapes(5), 0.7461, "0.74")], ids=str
)
def test_a_radius_that_no_mechanism_takes_is_answered_with_the_largest(space, largest, said):
    assert choose(ball_of(space, largest), 400, 1.0).name == "laplace"
    with pytest.raises(sf.RadiusError, match=f"^the radius may be at most {said} here, not 1.6") as refused:
        choose(ball_of(space, 1.6), 20, 1.0)
    assert "needs a radius" not in str(refused.value)


# -- an objective of one's own -------------------------------------------------------------------------------------------------
def median_objective(space, smoothing=0.05):
    """A smoothed geometric median: the gradient of Σ√(ρ² + s²)/n, each term of norm below 1."""

    def gradient(x, points):
        logs = space.log(x[:, None], points[None])
        size = np.linalg.norm(logs, axis=-1, keepdims=True)
        return -np.mean(logs / np.sqrt(size**2 + smoothing**2), axis=1)

    return sf.Objective(
        gradient=gradient,
        sensitivity=lambda n: 2.0 / n,
        start=lambda points: space.validate(sf.frechet_mean(space, points).point[None])[0],
        envelope=lambda radius, points: np.zeros_like(radius),
        statistic="smoothed median",
    )


def test_a_custom_objective_samples_its_own_density(rng):
    space = sf.Euclidean(dim=2)
    points = rng.normal(0, 0.2, (60, 2)) + np.where(rng.random((60, 1)) < 0.1, 0.6, 0.0)
    kng = sf.KNG(ball_of(space, 1.0), 0.5, objective=median_objective(space))
    draws = kng.sample(points, 8_000, rng)
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 161)] * 2), axis=-1).reshape(-1, 2)
    grid = grid[np.linalg.norm(grid, axis=1) <= 1]
    data = kng.ball.clip(points)
    density = np.exp(-np.linalg.norm(kng.objective.gradient(grid, data), axis=1) / kng.at(60).scale.sigma)
    density /= density.sum()
    for axis in (0, 1):
        assert draws[:, axis].mean() == pytest.approx(density @ grid[:, axis], abs=0.03)
        assert draws[:, axis].std() == pytest.approx(
            np.sqrt(density @ grid[:, axis] ** 2 - (density @ grid[:, axis]) ** 2), rel=0.045
        )
    release = kng.release(points)
    assert release.record["predicted_error"] is None
    assert release.record["statistic"] == "smoothed median"
    assert "nothing public is known" in release.describe()
    with pytest.raises(ValueError, match="states no error"):
        release.error(0.9)


def test_a_custom_envelope_is_used_and_checked(rng):
    space = sf.Euclidean(dim=2)
    points = rng.normal(0, 0.2, (60, 2))

    def objective(slope):
        return sf.Objective(
            gradient=lambda x, p: x - p.mean(axis=0),
            sensitivity=lambda n: 2 / n,
            start=lambda p: p.mean(axis=0),
            envelope=lambda radius, p: slope * radius,
        )

    ball = ball_of(space, 1.0)
    good = sf.KNG(ball, 1.0, objective=objective(1.0))
    radius = np.linalg.norm(good.sample(points, 20_000, rng) - ball.clip(points).mean(axis=0), axis=1)
    theorem = sf.KNG(ball, 1.0, "theorem")
    assert good.at(60).scale.sigma == pytest.approx(theorem.at(60).scale.sigma)
    other = np.linalg.norm(theorem.sample(points, 20_000, rng) - ball.clip(points).mean(axis=0), axis=1)
    assert stats.ks_2samp(radius, other).pvalue > TINY
    with pytest.raises(RuntimeError, match="lower envelope"):
        sf.KNG(ball, 1.0, objective=objective(3.0)).sample(points, 100, rng)
    for slope, words in ((3.0, "must not exceed"), (-1.0, "must not fall")):  # a release finds it without the data
        with pytest.raises(ValueError, match=words):
            sf.KNG(ball, 1.0, objective=objective(slope)).release(points)


def mean_objective(space, sensitivity):
    return sf.Objective(
        gradient=lambda x, points: -space.mean_log(x, points),
        sensitivity=sensitivity,
        start=space.mean_start,
        envelope=lambda radius, points: 0 * radius,
        statistic="a mean of one's own",
    )


@pytest.mark.parametrize(("space", "r"), [(SPHERE, 0.4), (SPD, 1.0), (SHAPES, 0.2)], ids=str)
def test_a_sensitivity_that_made_up_neighbours_refute_is_refused(space, r):
    """Before the charge, and whatever the data: here they all coincide, and could not refute anything."""
    ball, points, charged = ball_of(space, r), np.repeat(space.present(space.origin())[None], 50, axis=0), []

    class Ledger:
        def charge(self, facts, record):
            charged.append(facts.epsilon)

    low = mean_objective(space, lambda n: 0.98 * 2 * r / n)  # the truth is 2r/n or a little more
    with pytest.raises(ValueError, match=r"states a sensitivity of .* for 50 records, but replacing one of 50 made-up"):
        sf.KNG(ball, 1.0, objective=low).release(points, budget=Ledger())
    for wrong in (0.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="a positive number"):
            sf.KNG(ball, 1.0, objective=mean_objective(space, lambda n, wrong=wrong: wrong)).release(points)
    assert charged == []
    true = mean_objective(space, lambda n: bounds_of(space).log_spread(r, r) / n)
    sf.KNG(ball, 1.0, objective=true).release(points, budget=Ledger())
    assert charged == [1.0]


def test_a_stated_sensitivity_is_never_called_private(tmp_path):
    """One that was read off the data, as here, cannot be told from an honest one: the words carry the condition."""
    space, r = SPHERE, 0.4
    data = np.tile([0.0, 0.0, 1.0], (50, 1))
    own = mean_objective(space, lambda n: float(2.2 * r + space.distance(data, data[0]).max()) / n)
    release = sf.KNG(ball_of(space, r), 1.0, objective=own).release(data)
    assert not release.guarantee.private
    assert release.guarantee.condition == "if the stated sensitivity holds: not checked"
    assert "Promise, if the stated sensitivity holds: not checked." in release.describe()
    assert "private" not in release.describe()
    release.save(tmp_path / "own.json")
    assert sf.Release.load(tmp_path / "own.json").guarantee == release.guarantee
    old = json.loads(release.to_json())  # as versions wrote it that knew of no condition
    del old["guarantee"]["condition"]
    old["guarantee"]["private"] = True
    assert sf.Release.from_json(json.dumps(old)).guarantee == release.guarantee
    plain = sf.KNG(ball_of(space, r), 1.0).release(data)
    assert plain.guarantee.private
    assert plain.guarantee.condition == ""
    assert "1-differentially private" in plain.describe()


def test_kng_on_euclidean_space_is_the_laplace_on_euclidean_space(rng):
    points = rng.normal(0, 0.3, (50, 3))
    ball = ball_of(sf.Euclidean(dim=3), 1.0)
    radii = [
        np.linalg.norm(m.sample(points, 30_000, rng) - ball.clip(points).mean(axis=0), axis=1)
        for m in (sf.KNG(ball, 1.0), sf.AmbientLaplace(ball, 1.0))
    ]
    assert stats.ks_2samp(*radii).pvalue > TINY
    assert stats.ks_2samp(radii[0], 1.05 * radii[1]).pvalue < TINY


def test_lattice_spacing_is_a_public_power_of_two():
    for sigma in (1e-9, 0.013, 7.0):
        spacing = lattice_spacing(sigma)
        assert sigma / 32 < spacing <= sigma / 16
        assert np.log2(spacing) == int(np.log2(spacing))


def test_all_mechanisms_have_names():
    names = ["kng", "laplace", "staircase", "exponential", "tangent", "ambient-laplace", "pointwise-laplace"]
    assert list(MECHANISMS) == names


@pytest.mark.parametrize("epsilon", [1.0, 8.0, 20.0, 60.0, 1000.0])
@pytest.mark.parametrize("kind", [sf.KNG, sf.ManifoldLaplace, sf.ManifoldStaircase, sf.Exponential, sf.AmbientLaplace])
def test_what_rounding_adds_is_within_epsilon_and_a_small_delta(kind, epsilon):
    """A draw can have some 10^11 outcomes of a cell, so that chances below e^−25 do not exist: an ε that is about such chances
    is kept with more noise."""
    mechanism = kind(sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 1.0], 0.4), epsilon)
    losses = mechanism.plan(500).losses
    scale, ideal = mechanism.at(500).scale, mechanism.at(500).ideal
    assert ideal + losses.numerical_epsilon <= epsilon
    assert 2e-12 * (1 + np.exp(ideal)) / 2 < losses.numerical_delta <= 1e-6
    assert ("double precision" in scale.formula) == (ideal < 0.99 * epsilon)
    assert ideal > 10 or ideal == pytest.approx(epsilon, rel=1e-5)


@pytest.mark.parametrize("n", [10**9, 10**12])
@pytest.mark.parametrize("kind", [sf.KNG, sf.ManifoldLaplace, sf.ManifoldStaircase, sf.Exponential, sf.AmbientLaplace])
def test_very_many_records_get_the_smallest_noise_that_doubles_can_carry(kind, n):
    mechanism = kind(sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 1.0], 0.4), 1.0)
    losses = mechanism.plan(n).losses
    assert losses.numerical_epsilon < 1
    assert losses.numerical_delta <= 1e-6
    assert mechanism.at(n).release_error(0.95) < 1e-3 * (1e9 / n) ** 0.5


def test_no_refusal_of_the_laplace_depends_on_the_records(tmp_path):
    """Records at both ends of a large ball: every split is released."""
    for dim, share, n in ((9, 0.8, 20), (50, 0.75, 5), (5, 0.94, 60)):
        space = sf.Sphere(dim)
        ball = sf.Ball(space, space.origin(), share * np.pi / 2)
        ends = np.zeros((2, dim))
        ends[0, 0], ends[1, 0] = ball.radius, -ball.radius
        ends = space.exp(ball.center, space.from_coordinates(ball.center, ends))
        for k in range(n // 2 + 1):
            split = np.repeat(ends, [n - k, k], axis=0)
            release = sf.ManifoldLaplace(ball, 1.0).release(split, allow_useless=True)
            assert release.value.shape == (dim + 1,)


def test_a_radius_too_close_to_where_means_are_unique_is_refused():
    space = sf.Sphere(dim=2)
    with pytest.raises(sf.RadiusError, match=r"below 1\.49226"):
        sf.ManifoldLaplace(sf.Ball(space, space.origin(), 1.5), 1.0).at(100)


def test_draws_in_many_dimensions(rng):
    space = sf.Euclidean(dim=3000)
    laplace = sf.ManifoldLaplace(sf.Ball(space, np.zeros(3000), 1.0), 1.0)
    length = np.linalg.norm(laplace.sample(np.zeros((100, 3000)), 20, rng), axis=1)
    assert np.allclose(
        length, 3000 * laplace.at(100).scale.sigma, rtol=0.15
    )  # Gamma(3000): a standard deviation of 1.8%


def test_the_delta_counts_what_rounding_adds_to_epsilon():
    kng = sf.KNG(sf.Ball(sf.Sphere(dim=2), [0.0, 0.0, 1.0], 0.3), 14.0)
    n = 10**12
    losses, ideal = kng.plan(n).losses, kng.at(n).ideal
    assert losses.numerical_epsilon > 0.1
    assert losses.numerical_delta > 2e-12 * (1 + np.exp(ideal + losses.numerical_epsilon))


@pytest.mark.parametrize("radius", [0.5, 1.1, 1.3, 1.45])
def test_what_is_projected_is_no_farther_from_any_point_of_the_ball(radius, rng):
    """Also in balls so large that the nearest point of the ball, or its centre, would be farther from some."""
    space = sf.Sphere(dim=2)
    plan = sf.ManifoldLaplace(sf.Ball(space, [0.0, 0.0, 1.0], radius), 1.0).at(500)
    center = plan.ball.center
    inside = space.exp(center, space.random_directions(center, 400, rng) * (radius * rng.random(400) ** 0.1)[:, None])
    for length in np.linspace(0.1, 3.1, 25):
        draw = space.exp(center, length * space.random_directions(center, 1, rng)[0])
        value = plan.projected(draw)
        assert (space.distance(value, inside) <= space.distance(draw, inside) + 1e-9).all()
        if radius < np.pi / 3:
            assert space.distance(center, value[None])[0] <= radius
