import sys
from fractions import Fraction
from types import SimpleNamespace

import mne
import numpy as np
import pytest
from geomstats.geometry.discrete_curves import DiscreteCurvesStartingAtOrigin
from geomstats.geometry.euclidean import Euclidean, EuclideanMetric
from geomstats.geometry.grassmannian import Grassmannian
from geomstats.geometry.hpd_matrices import HPDMatrices
from geomstats.geometry.hyperbolic import Hyperbolic
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.minkowski import Minkowski
from geomstats.geometry.pre_shape import PreShapeSpace
from geomstats.geometry.product_manifold import ProductManifold
from geomstats.geometry.spd_matrices import SPDBuresWassersteinMetric, SPDLogEuclideanMetric, SPDMatrices
from geomstats.geometry.special_orthogonal import SpecialOrthogonal
from geomstats.geometry.stiefel import Stiefel
from pyriemann.estimation import Covariances
from pyriemann.tangentspace import TangentSpace
from sklearn.model_selection import GroupKFold, cross_val_score

import sfumato as sf
from benchmarks.agreement import CASES, LIMIT, TOLERANCE
from benchmarks.peers import SOLVERS, space_of
from sfumato.adapters import as_opendp, from_geomstats, from_mne
from sfumato.adapters.opendp import group_loss
from sfumato.regions import Ellipsoid


# -- geomstats --------------------------------------------------------------------------------------------------------------
def with_metric(space, metric):
    space.equip_with_metric(metric)
    return space


def shapes(landmarks, ambient_dim):
    preshapes = PreShapeSpace(landmarks, ambient_dim)
    preshapes.equip_with_group_action("rotations")
    return preshapes.equip_with_quotient()


TWINS = [
    (Euclidean(3), sf.Euclidean(dim=3)),
    (Hypersphere(4), sf.Sphere(dim=4)),
    (SPDMatrices(3), sf.SPD(size=3)),
    (shapes(5, 2), sf.PlanarShapes(landmarks=5)),
]


@pytest.mark.parametrize(("theirs", "ours"), TWINS, ids=lambda space: type(space).__name__)
def test_geomstats_spaces_have_their_twin(theirs, ours):
    assert from_geomstats(theirs) == ours


@pytest.mark.parametrize(("theirs", "ours"), TWINS, ids=lambda space: type(space).__name__)
def test_distances_are_those_of_geomstats(theirs, ours):
    np.random.seed(5)  # noqa: NPY002  geomstats draws from NumPy's global generator
    a, b = theirs.random_point(10), theirs.random_point(10)
    distances = ours.distance(ours.validate(a), ours.validate(b))
    assert distances == pytest.approx(theirs.metric.dist(a, b), abs=1e-6)
    assert distances.min() > 0.01  # a distance of nothing would agree with anything


# -- any other manifold of theirs -------------------------------------------------------------------------------------------
OTHERS = {
    "hyperboloid": (Hyperbolic(2), 2),
    "half-space": (Hyperbolic(2, coords_type="half-space"), 2),
    "rotations": (SpecialOrthogonal(3), 3),
    "rotation vectors": (SpecialOrthogonal(3, point_type="vector"), 3),
    "subspaces": (Grassmannian(4, 2), 4),
    "frames": (Stiefel(4, 2), 5),
    "log-Euclidean": (with_metric(SPDMatrices(3), SPDLogEuclideanMetric), 6),
    "Bures-Wasserstein": (with_metric(SPDMatrices(2), SPDBuresWassersteinMetric), 3),
    "curves": (DiscreteCurvesStartingAtOrigin(2, 6), 10),  # with the SRV metric
    "solid shapes": (shapes(5, 3), 8),  # geomstats counts the rotations too
    "preshapes": (PreShapeSpace(4, 2), 5),
    "products": (ProductManifold([Hypersphere(2), Hyperbolic(2)]), 4),
    "rescaled": (with_metric(Euclidean(3), EuclideanMetric), 3),
}


def near(space, center, length=0.1, n=12):
    directions = np.random.default_rng(3).normal(size=(n, space.dim))
    directions *= length / np.linalg.norm(directions, axis=1, keepdims=True)
    return directions, space.exp(center, space.from_coordinates(center, directions))


@pytest.fixture(scope="module", params=OTHERS)
def other(request):
    theirs, dim = OTHERS[request.param]
    space = from_geomstats(theirs)
    assert space.dim == dim
    origin = space.origin()
    return theirs, space, near(space, origin, 0.05)[1][0]  # a centre that is nothing special


def test_logarithms_invert_and_coordinates_are_orthonormal(other):
    theirs, space, center = other
    coordinates, points = near(space, center)
    assert not space.diagnose(points)[1]
    vectors = space.log(center, points)
    assert space.coordinates(center, vectors) == pytest.approx(coordinates, abs=1e-5)
    assert space.exp(center, vectors) == pytest.approx(points, abs=1e-5)
    found = space.coordinates(center, vectors)
    assert space.from_coordinates(center, found) == pytest.approx(vectors, abs=1e-9)  # they span the tangent space
    lengths = [float(theirs.metric.norm(v, center)) for v in vectors]
    assert np.linalg.norm(found, axis=1) == pytest.approx(lengths, abs=1e-9)
    assert space.norm(center, vectors) == pytest.approx(lengths, abs=1e-9)
    assert space.distance(center, points) == pytest.approx(np.full(12, 0.1), abs=1e-5)
    basis = space.tangent_basis(center)
    inner = [[float(theirs.metric.inner_product(u, v, center)) for u in basis] for v in basis]
    assert inner == pytest.approx(np.eye(space.dim), abs=1e-9)


def test_no_record_notices_another(other, monkeypatch):
    theirs, space, center = other
    region = Ellipsoid(space, center, np.full(space.dim, 0.3))
    _, points = near(space, center)
    alone = region.chart(points)
    for replacement in (center, near(space, center, 0.25)[1][7]):
        others = points.copy()
        others[5] = replacement
        changed = region.chart(others)
        assert (np.abs(changed - alone).max(axis=1) > 1e-9).tolist() == [row == 5 for row in range(12)]
        assert np.delete(changed, 5, axis=0).tobytes() == np.delete(alone, 5, axis=0).tobytes()
    log = theirs.metric.log

    def refusing(point, base_point, **options):
        if np.array_equal(point, points[5]):
            raise RuntimeError("no logarithm")
        return log(point, base_point, **options)

    monkeypatch.setattr(theirs.metric, "log", refusing)
    changed = region.chart(points)
    assert not changed[5].any()
    assert np.delete(changed, 5, axis=0).tobytes() == np.delete(alone, 5, axis=0).tobytes()


def test_bad_rows_are_named(other):
    theirs, space, center = other
    _, points = near(space, center)
    points[4] = np.nan
    with pytest.raises(sf.InvalidPointError, match="record 4: holds NaN"):
        space.validate(points)
    if not isinstance(theirs, Euclidean) and type(theirs).__name__ not in FLAT:
        points[4], points[2] = points[5], -7.0 - np.arange(points[2].size).reshape(points[2].shape)
        with pytest.raises(
            sf.InvalidPointError, match=rf"record 2: is not a point of geomstats.{type(theirs).__name__}"
        ):
            space.validate(points)
        assert list(space.diagnose(points)[1]) == [2]
    with pytest.raises(ValueError, match="points have shape"):
        space.validate(points[..., :1])


FLAT = ("DiscreteCurvesStartingAtOrigin", "_SpecialOrthogonal3Vectors")  # where any numbers are a point


def test_they_have_files_means_and_ellipsoids_and_nothing_that_is_not_proven(other, tmp_path):
    _, space, center = other
    _, points = near(space, center)
    np.save(tmp_path / "points.npy", points)
    flat = points.reshape(len(points), -1)
    np.savetxt(
        tmp_path / "points.csv", flat, "%.17g", ",", header=",".join(f"v{j}" for j in range(flat.shape[1])), comments=""
    )
    for name in ("points.npy", "points.csv"):
        assert sf.read(tmp_path / name, space).points.tolist() == points.tolist()
    region = Ellipsoid.from_sample(space, points[:8]).settle(100, 1.0)
    assert space.distance(center, region.center) < 0.1
    chart = region.chart(points)
    assert np.linalg.norm(chart, axis=1).max() <= 1
    assert not space.diagnose(space.present(region.point(chart)))[1]
    with pytest.raises(sf.Refusal, match=r"nothing is proven of .* use the tangent mechanism"):
        sf.private_mean(points, sf.Ball(space, center, 0.3), 1.0, "kng")


def test_a_private_mean_of_each(other, tmp_path):
    _, space, center = other
    _, points = near(space, center, n=100)
    release = sf.private_mean(points, Ellipsoid(space, center, np.full(space.dim, 0.15)), epsilon=8.0)
    assert release.mechanism.name == "tangent"
    assert not space.diagnose(release.value[None])[1]
    mean = space.coordinates(center, space.log(center, points)).mean(axis=0)
    found = space.coordinates(center, space.log(center, release.value))
    assert 0 < np.linalg.norm(found - mean) <= 2 * release.error(0.999) < 0.1
    release.save(tmp_path / "mean.json")
    again = sf.Release.load(tmp_path / "mean.json")
    assert again.space.known is None
    assert again.describe() == release.describe()
    sf.plot_release(again, tmp_path / "mean.png")


def test_the_global_generator_is_left_as_it_was():
    np.random.seed(11)  # noqa: NPY002
    expected = np.random.get_state()[1].tolist()  # noqa: NPY002
    first, second = from_geomstats(Grassmannian(3, 1)), from_geomstats(Grassmannian(3, 1))
    assert np.random.get_state()[1].tolist() == expected  # noqa: NPY002
    assert first.origin().tobytes() == second.origin().tobytes()
    assert first.parameters() == {"n": 3, "p": 1, "dim": 2, "point_ndim": 2, "shape": [3, 3]}


def test_the_metric_is_that_at_the_time():
    theirs = with_metric(SPDMatrices(2), SPDLogEuclideanMetric)
    space = from_geomstats(theirs)
    a, b = np.eye(2), np.diag([2.0, 3.0])
    theirs.equip_with_metric(SPDBuresWassersteinMetric)
    assert space.distance(a, b) == pytest.approx(np.hypot(np.log(2), np.log(3)))
    assert from_geomstats(theirs).distance(a, b) != pytest.approx(np.hypot(np.log(2), np.log(3)))


@pytest.mark.parametrize(
    ("theirs", "reason"),
    [
        (Hypersphere(2, intrinsic=True), "Hypersphere with HypersphereMetric does not work here"),
        (Euclidean(3, equip=False), "Euclidean has no metric"),
        (SimpleNamespace(shape=(2,), belongs=0, to_tangent=0, metric=SimpleNamespace(log=0)), "Namespace has no exp"),
        (SimpleNamespace(shape=(2,), belongs=0, to_tangent=0, metric=SimpleNamespace(exp=0)), "Namespace has no log"),
        (Minkowski(2), "MinkowskiMetric does not work here .*positive definite"),
        (HPDMatrices(2), "its points are complex numbers"),
        (sf.Euclidean(dim=3), "takes a geomstats manifold"),
        (3, "int has no shape"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_missing_is_said(theirs, reason):
    with pytest.raises(ValueError, match=reason):
        from_geomstats(theirs)


def test_another_backend_is_named(monkeypatch):
    monkeypatch.setattr("geomstats.backend.__name__", "geomstats.pytorch")
    with pytest.raises(ValueError, match=r"NumPy backend, not pytorch: .* GEOMSTATS_BACKEND=numpy"):
        from_geomstats(Grassmannian(3, 1))


@pytest.mark.parametrize(
    ("peer", "case"),
    [("geomstats", case) for case in CASES] + [("pyRiemann", case) for case in CASES if case.kind == "spd"],
    ids=lambda value: getattr(value, "name", value),
)
def test_means_are_those_of_the_peers(peer, case):
    data, space = case.data(), space_of(case.kind, case.size)
    theirs = space.validate(SOLVERS[peer](case.kind, case.size, data, TOLERANCE)()[None])
    ours = space.validate(sf.frechet_mean(space, data).point[None])
    assert space.distance(ours, theirs)[0] <= LIMIT
    without_one = space.validate(sf.frechet_mean(space, data[1:]).point[None])
    assert space.distance(without_one, theirs)[0] > LIMIT


def test_recordings_of_mne_go_through_pyriemann_to_us(rng):
    """Epochs of MNE, covariances of pyRiemann, a private reference of ours: tangent vectors as pyRiemann has them there."""
    signals = rng.standard_normal((40, 3, 200)) * np.array([1.0, 1.2, 0.8])[:, None]
    epochs = mne.EpochsArray(signals, mne.create_info(3, 200.0, "eeg"), verbose="error")
    matrices = Covariances("scm").fit_transform(epochs.get_data(copy=True))
    ours = sf.PrivateTangentSpace(center=1.0, radius=1.5, epsilon=5.0).fit(matrices)
    theirs = TangentSpace(metric="riemann").fit(matrices)
    assert (
        np.abs(ours.transform(matrices) - theirs.transform(matrices)).max() > 1e-3
    )  # the exact mean is another reference
    theirs.reference_ = ours.reference_
    assert ours.transform(matrices) == pytest.approx(theirs.transform(matrices), abs=1e-10)


def recording(rng, n=160):
    """Epochs of two classes and 40 people, with a stimulus and a bad channel, and the signals of the three others."""
    labels = np.tile([0, 1], n // 2)
    signals = (
        rng.standard_normal((n, 5, 100)) * np.where(labels[:, None] == 0, [2, 1, 1, 9, 9], [1, 2, 1, 9, 9])[..., None]
    )
    info = mne.create_info(["C3", "Cz", "C4", "STI", "bad"], 100.0, ["eeg", "eeg", "eeg", "stim", "eeg"])
    info["bads"] = ["bad"]
    return mne.EpochsArray(signals, info, verbose="error"), labels, np.repeat(np.arange(n // 4), 4), signals[:, :3]


def test_epochs_are_the_covariances_of_their_good_data_channels(rng):
    epochs, _, _, signals = recording(rng)
    expected = Covariances("scm").fit_transform(signals)
    assert from_mne(epochs) == pytest.approx(expected, abs=1e-12)
    assert from_mne([epochs[:20], epochs[20:]]) == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match="the channels of the recordings differ"):
        from_mne([epochs, epochs.copy().pick(["Cz", "C3", "C4"])])
    with pytest.raises(ValueError, match=r"EvokedArray of MNE has no epochs: .* mne\.Epochs"):
        from_mne(epochs.average(picks="all"))


@pytest.mark.parametrize("form", ["epochs", "covariances"])
def test_estimators_take_what_mne_gives_also_in_folds(form, rng):
    X, labels, people, signals = recording(rng)
    matrices = Covariances("scm").fit_transform(signals)
    if form == "covariances":
        X = [mne.Covariance(matrix, ["C3", "Cz", "C4"], [], [], nfree=99) for matrix in matrices]
        assert from_mne(X) == pytest.approx(matrices)
    public = {"center": 1.5, "radius": 2.0, "epsilon": 8.0}
    model = sf.PrivateMDM(**public).fit(X, labels, unit=people)
    assert model.release_.directions.n == 40
    assert model.transform(X) == pytest.approx(model.transform(matrices))
    assert sf.PrivateFrechetMean(**public).fit(X, unit=people).mean_.shape == (3, 3)
    assert sf.PrivateTangentSpace(**public).fit_transform(X, unit=people).shape == (160, 6)
    folds = {"groups": people, "cv": GroupKFold(3), "params": {"unit": people}, "error_score": "raise"}
    assert cross_val_score(model, X, labels, **folds).mean() > 0.8


def test_a_covariance_that_holds_its_diagonal_alone_is_a_matrix():
    diagonal = mne.Covariance(np.array([1.0, 2.0]), ["C3", "C4"], [], [], nfree=9)
    assert np.array_equal(from_mne([diagonal]), [np.diag([1.0, 2.0])])


# -- OpenDP -----------------------------------------------------------------------------------------------------------------
POINTS = np.array([np.diag([1.0 + 0.01 * i, 1.0]) for i in range(60)])


def mechanism(epsilon=0.5, calibration="certified"):
    return sf.KNG(sf.Ball(sf.SPD(size=2), np.eye(2), 1.5), epsilon, calibration)


@pytest.fixture
def dp():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib", "honest-but-curious")
    yield dp
    dp.disable_features("contrib", "honest-but-curious")


def test_a_measurement_releases_the_mean(dp):
    measurement = as_opendp(mechanism())
    for data in (POINTS, POINTS.tolist()):
        value = measurement(data)
        assert sf.SPD(size=2).validate(value[None]).shape == (1, 2, 2)
    assert measurement.input_metric == dp.hamming_distance()
    assert measurement.output_measure == dp.max_divergence()
    assert not np.array_equal(measurement(POINTS), measurement(POINTS))


@pytest.mark.parametrize("epsilon", [1.0, 0.5, 0.1, np.float64(0.7)])
def test_the_privacy_map_is_group_privacy_rounded_up(dp, epsilon):
    measurement = as_opendp(mechanism(epsilon))
    assert measurement.map(0) == 0.0
    assert measurement.map(1) == epsilon
    assert measurement.check(1, float(epsilon))
    for rows in range(2, 50):
        exact = rows * Fraction(float(epsilon))
        assert exact <= Fraction(measurement.map(rows)) <= exact * (1 + Fraction(1, 2**51))


def test_the_domain_holds_points_of_the_space(dp):
    domain = as_opendp(mechanism()).input_domain
    assert domain.member(POINTS)
    for other in (-POINTS, POINTS[:, :1], POINTS[:0], np.full((3, 2, 2), np.nan), "text", 3.0, None):
        assert not domain.member(other)
    assert domain == as_opendp(mechanism(2.0)).input_domain
    assert domain != as_opendp(sf.KNG(sf.Ball(sf.SPD(size=3), np.eye(3), 1.5), 1.0)).input_domain


def test_a_stated_size_is_the_only_one(dp):
    measurement = as_opendp(mechanism(), size=60)
    assert measurement(POINTS).shape == (2, 2)
    assert measurement.input_domain.member(POINTS)
    assert not measurement.input_domain.member(POINTS[:59])
    with pytest.raises(dp.OpenDPException, match="there are 59 records, but the public size is 60"):
        measurement(POINTS[:59])


def test_opendp_accounts_for_two_releases(dp):
    measurement = as_opendp(mechanism(), size=60)
    compose = getattr(dp.c, "make_adaptive_composition", None) or dp.c.make_sequential_composition
    queries = compose(measurement.input_domain, dp.hamming_distance(), dp.max_divergence(), d_in=1, d_mids=[0.5, 0.5])
    assert queries.map(1) == 1.0
    ask = queries(POINTS)
    assert ask(measurement).shape == ask(measurement).shape == (2, 2)
    with pytest.raises(dp.OpenDPException):
        ask(measurement)


def chart(privacy):
    return sf.TangentKNorm(sf.Ball(sf.SPD(size=2), np.eye(2), 1.5), privacy)


KINDS = {
    sf.PureDP(0.5): (lambda dp: dp.max_divergence(), 0.5, 1.0),
    sf.ZCDP(0.125): (lambda dp: dp.zero_concentrated_divergence(), 0.125, 0.25),
    sf.GDP(0.5): (lambda dp: dp.zero_concentrated_divergence(), 0.125, 0.25),
    sf.ApproxDP(0.5, 1e-6): (lambda dp: dp.approximate(dp.max_divergence()), (0.5, 1e-6), (1.0, 2e-6)),
}


@pytest.mark.parametrize("privacy", KINDS, ids=str)
def test_opendp_accounts_for_two_releases_of_any_kind(dp, privacy):
    measure, once, twice = KINDS[privacy]
    measurement = as_opendp(chart(privacy), size=60)
    assert measurement.output_measure == measure(dp)
    assert measurement.map(1) == once
    compose = getattr(dp.c, "make_adaptive_composition", None) or dp.c.make_sequential_composition
    queries = compose(measurement.input_domain, dp.hamming_distance(), measure(dp), d_in=1, d_mids=[once, once])
    assert queries.map(1) == pytest.approx(twice)
    ask = queries(POINTS)
    assert ask(measurement).shape == ask(measurement).shape == (2, 2)
    with pytest.raises(dp.OpenDPException):
        ask(measurement)


def test_opendp_converts_rho_as_we_do(dp):
    profile = dp.c.make_zCDP_to_approxDP(as_opendp(chart(sf.ZCDP(0.1)))).map(1)
    assert profile.epsilon(1e-6) == pytest.approx(sf.ZCDP(0.1).at(1e-6).epsilon, rel=1e-6)


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 7])
def test_groups_of_rows_lose_no_more_than_the_map_says(rows):
    """Normal noise that is μ-Gaussian about one row is kμ-Gaussian about k, for which each map is a true bound.  From two rows
    on kρ is not, and kδ is not."""
    mu, epsilon = 0.7, 1.0
    most = group_loss(sf.ApproxDP(epsilon, sf.GDP(mu).profile(epsilon)), rows)
    assert Fraction(most[0]) == rows * Fraction(epsilon)
    assert group_loss(sf.ZCDP(mu**2 / 2), rows) == pytest.approx((rows * mu) ** 2 / 2, rel=1e-15)
    assert group_loss(sf.GDP(mu), rows) == pytest.approx((rows * mu) ** 2 / 2, rel=1e-15)
    assert Fraction(group_loss(sf.GDP(mu), rows)) >= (rows * Fraction(mu)) ** 2 / 2
    if rows:
        truth = sf.GDP(rows * mu).profile(rows * epsilon)
        assert truth <= most[1] <= 1
        assert rows == 1 or truth > rows * sf.GDP(mu).profile(epsilon)
    else:
        assert most == (0.0, 0.0)


def test_a_bad_record_is_named_through_opendp(dp):
    bad = POINTS.copy()
    bad[3, 0, 0] = np.nan
    with pytest.raises(dp.OpenDPException, match="record 3: holds NaN"):
        as_opendp(mechanism())(bad)


def test_unproven_mechanisms_have_no_measurement(dp):
    with pytest.raises(ValueError, match="'as run' is not proven"):
        as_opendp(mechanism(calibration="as run"))


def test_trust_is_for_the_user_to_state(dp):
    dp.disable_features("contrib", "honest-but-curious")
    with pytest.raises(dp.OpenDPException, match="honest-but-curious"):
        as_opendp(mechanism())


def test_without_opendp_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(ImportError, match="pip install opendp"):
        as_opendp(mechanism())


@pytest.mark.parametrize("unit", [None, "subject"])
def test_people_in_the_metadata_of_epochs_are_asked_for(unit):
    mne = pytest.importorskip("mne")
    pandas = pytest.importorskip("pandas")
    signals = np.random.default_rng(0).normal(size=(60, 3, 40))
    table = pandas.DataFrame({"subject": np.arange(60) // 4})
    epochs = mne.EpochsArray(signals, mne.create_info(3, 100.0, "eeg"), metadata=table, verbose="error")
    model = sf.PrivateFrechetMean(center=1.0, radius=3.0, epsilon=9.0, allow_useless=True)
    with pytest.raises(ValueError, match=r"whose record it is|is the name of a column"):
        model.fit(epochs, unit=unit)
    assert model.fit(epochs, unit=table["subject"]).release_.n == 15
