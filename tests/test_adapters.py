import sys
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.adapters import as_opendp, from_geomstats


# -- geomstats --------------------------------------------------------------------------------------------------------------
def stand_in(kind, metric=None, **attributes):
    """An object with the class names and attributes of a geomstats space."""
    if metric is not None:
        attributes["metric"] = type(metric, (), {})()
    return type(kind, (), attributes)()


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (stand_in("Euclidean", "CanonicalEuclideanMetric", dim=3), sf.Euclidean(dim=3)),
        (stand_in("Hypersphere", "HypersphereMetric", dim=4, intrinsic=False), sf.Sphere(dim=4)),
        (stand_in("SPDMatrices", "SPDAffineMetric", n=3, dim=6), sf.SPD(size=3)),
        (
            stand_in("PreShapeSpace", "KendallShapeMetric", k_landmarks=5, ambient_dim=2),
            sf.PlanarShapes(landmarks=5),
        ),
    ],
    ids=lambda space: type(space).__name__,
)
def test_geomstats_spaces_have_their_twin(theirs, ours):
    assert from_geomstats(theirs) == ours


@pytest.mark.parametrize(
    ("theirs", "reason"),
    [
        (
            stand_in("Hypersphere", "HypersphereMetric", dim=2, intrinsic=True),
            "are angles; create it with intrinsic=False",
        ),
        (stand_in("PreShapeSpace", "PreShapeMetric", k_landmarks=5, ambient_dim=2), "then pass its quotient"),
        (stand_in("PreShapeSpace", "KendallShapeMetric", k_landmarks=5, ambient_dim=3), "ambient_dim=3"),
        (stand_in("SPDMatrices", "SPDLogEuclideanMetric", n=3), "no sfumato space for SPDMatrices with SPDLogEuc"),
        (stand_in("Euclidean", "EuclideanMetric", dim=3), "no sfumato space for Euclidean with EuclideanMetric"),
        (stand_in("Euclidean", dim=3), "for Euclidean with no metric; known: Euclidean with CanonicalEuclideanMetric"),
        (stand_in("Grassmannian", "GrassmannianCanonicalMetric"), "no sfumato space for Grassmannian"),
        (sf.Euclidean(dim=3), "no sfumato space for Euclidean with str"),
        (3, "no sfumato space for int"),
    ],
)
def test_other_spaces_are_refused_with_the_reason(theirs, reason):
    with pytest.raises(ValueError, match=reason):
        from_geomstats(theirs)


def test_distances_are_those_of_geomstats():
    pytest.importorskip("geomstats", exc_type=ImportError)
    from geomstats.geometry.euclidean import Euclidean
    from geomstats.geometry.hypersphere import Hypersphere
    from geomstats.geometry.pre_shape import PreShapeSpace
    from geomstats.geometry.spd_matrices import SPDMatrices

    preshapes = PreShapeSpace(5, 2)
    preshapes.equip_with_group_action("rotations")
    preshapes.equip_with_quotient()
    for theirs in (Euclidean(3), Hypersphere(3), SPDMatrices(3), preshapes.quotient):
        a, b = theirs.random_point(10), theirs.random_point(10)
        ours = from_geomstats(theirs)
        assert ours.distance(ours.validate(a), ours.validate(b)) == pytest.approx(theirs.metric.dist(a, b), abs=1e-6)
    with pytest.raises(ValueError, match="pass its quotient"):
        from_geomstats(preshapes)


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
