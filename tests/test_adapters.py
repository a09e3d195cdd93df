import sys
from fractions import Fraction

import mne
import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean, EuclideanMetric
from geomstats.geometry.grassmannian import Grassmannian
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.pre_shape import PreShapeSpace
from geomstats.geometry.spd_matrices import SPDLogEuclideanMetric, SPDMatrices
from pyriemann.estimation import Covariances
from pyriemann.tangentspace import TangentSpace

import sfumato as sf
from benchmarks.agreement import CASES, LIMIT, TOLERANCE
from benchmarks.peers import SOLVERS, space_of
from sfumato.adapters import as_opendp, from_geomstats


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


@pytest.mark.parametrize(
    ("theirs", "reason"),
    [
        (Hypersphere(2, intrinsic=True), "are angles; create it with intrinsic=False"),
        (PreShapeSpace(5, 2), "then pass its quotient"),
        (shapes(5, 3), "ambient_dim=3"),
        (with_metric(SPDMatrices(3), SPDLogEuclideanMetric), "no sfumato space for SPDMatrices with SPDLogEuc"),
        (with_metric(Euclidean(3), EuclideanMetric), "no sfumato space for Euclidean with EuclideanMetric"),
        (Euclidean(3, equip=False), "for Euclidean with no metric; known: Euclidean with CanonicalEuclideanMetric"),
        (Grassmannian(3, 2), "no sfumato space for Grassmannian"),
        (sf.Euclidean(dim=3), "no sfumato space for Euclidean with str"),
        (3, "no sfumato space for int"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_spaces_are_refused_with_the_reason(theirs, reason):
    with pytest.raises(ValueError, match=reason):
        from_geomstats(theirs)


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
