import json
import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

import sfumato as sf
import sklearn
from conftest import cloud, typical_radius
from sfumato.files import Dataset
from sfumato.sklearn.estimators import PrivateFrechetMean, PrivateTangentSpace


def estimator_for(space, /, **changes):
    public = {"center": space.present(space.origin()), "radius": typical_radius(space), "epsilon": 2.0}
    return PrivateFrechetMean(**{"space": space, "mechanism": "kng", **public, **changes})


def tangent_space(**changes):
    return PrivateTangentSpace(**{"center": 1.0, "radius": 2.0, "epsilon": 2.0, "mechanism": "kng", **changes})


def covariances(rng, n=80):
    """Two classes of 3×3 covariances whose first two variances are exchanged."""
    labels = np.arange(n) % 2
    scale = np.where(labels[:, None] == 0, [1.5, 1.0, 1.0], [1.0, 1.5, 1.0])
    signals = rng.standard_normal((n, 3, 60)) * scale[:, :, None]
    return signals @ signals.transpose(0, 2, 1) / 60, labels


# -- the mean -----------------------------------------------------------------------------------------------------------
def test_fit_releases_a_mean_near_the_true_one(space, rng):
    points = cloud(space, space.origin(), 0.5 * typical_radius(space), 400, rng)
    estimator = estimator_for(space)
    assert estimator.fit(space.present(points)) is estimator
    released, mean = space.validate(estimator.mean_[None])[0], sf.frechet_mean(space, space.present(points)).point
    assert space.distance(released, mean) < estimator.release_.error(1 - 1e-6)
    assert estimator.mean_ is estimator.release_.value
    assert estimator.release_.guarantee.epsilon == 2.0
    assert estimator.n_features_in_ == space.present(space.origin()).size


def test_flattened_records_are_the_same_records(space, rng, monkeypatch):
    seen = []
    monkeypatch.setattr(sf.Ball, "clip", clip_and_keep(sf.Ball.clip, seen))
    points = space.present(cloud(space, space.origin(), 0.5 * typical_radius(space), 50, rng))
    for layout in (points, points.reshape(50, -1), points.tolist()):
        estimator = estimator_for(space).fit(layout)
        assert estimator.mean_.shape == points.shape[1:]
        assert estimator.n_features_in_ == points[0].size
    assert np.array_equal(seen[0], seen[1])
    assert np.array_equal(seen[0], seen[2])


def clip_and_keep(clip, seen):
    def wrapped(ball, points, invalid="raise"):
        seen.append(np.array(points))
        return clip(ball, points, invalid)

    return wrapped


def test_complex_landmarks_and_data_frames_are_taken(rng):
    pandas = pytest.importorskip("pandas")
    space = sf.PlanarShapes(landmarks=4)
    points = cloud(space, space.origin(), 0.1, 50, rng)
    assert estimator_for(space).fit(points).mean_.shape == (4, 2)
    names = [f"{axis}{i}" for i in range(4) for axis in "xy"]
    frame = pandas.DataFrame(space.present(points).reshape(50, 8), columns=names)
    assert estimator_for(space).fit(frame).feature_names_in_.tolist() == names


def test_every_parameter_reaches_the_release(rng):
    points = rng.normal(0, 0.1, (60, 3))
    estimator = estimator_for(sf.Euclidean(dim=3), center=[0.0, 0.0, 0.5], radius=0.7, epsilon=0.3, mechanism="laplace")
    release = estimator.fit(points, unit="one patient").release_
    assert release.guarantee.epsilon == 0.3
    assert release.guarantee.unit == "one patient"
    assert release.record["mechanism"]["name"] == "laplace"
    assert release.record["ball"] == {"center": [0.0, 0.0, 0.5], "radius": 0.7}


@pytest.mark.parametrize("missing", ["center", "radius", "epsilon"])
def test_what_is_public_must_be_given(missing, rng):
    with pytest.raises(ValueError, match=f"PrivateFrechetMean needs {missing}: give public knowledge"):
        estimator_for(sf.Euclidean(dim=3), **{missing: None}).fit(rng.normal(size=(20, 3)))
    with pytest.raises(ValueError, match="needs center and radius and epsilon"):
        PrivateFrechetMean().fit(rng.normal(size=(20, 3)))


@pytest.mark.parametrize("flat", [False, True])
def test_bad_records_raise_with_their_row_or_become_the_centre(flat):
    points = np.tile(np.eye(2), (30, 1, 1))
    points[7, 0, 0] = np.nan
    points = points.reshape(30, -1) if flat else points
    estimator = estimator_for(sf.SPD(size=2))
    with pytest.raises(sf.InvalidPointError, match="record 7: holds NaN"):
        estimator.fit(points)
    assert not hasattr(estimator, "mean_")
    assert estimator.set_params(invalid="center").fit(points).mean_.shape == (2, 2)


@pytest.mark.parametrize("shape", [(20, 3), (20, 3, 3), (20, 4, 1), (20, 2, 2, 1)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"X has shape \(20, .*\), expected \(n, 2, 2\) or \(n, 4\)"):
        estimator_for(sf.SPD(size=2)).fit(np.ones(shape))
    with pytest.raises(ValueError, match="0 sample"):
        estimator_for(sf.SPD(size=2)).fit(np.ones((0, 2, 2)))


@pytest.mark.parametrize(
    "estimator", [estimator_for(sf.SPD(size=2)), tangent_space()], ids=lambda estimator: type(estimator).__name__
)
def test_every_fit_charges_the_budget_of_clones_only_if_told_so(estimator, tmp_path):
    ledger = sf.Ledger.create(tmp_path / "study.ledger", 4, "matrices")
    points = np.tile(np.eye(2), (30, 1, 1))
    estimator.set_params(budget=ledger)
    fitted = [estimator.fit(points).release_.sha256]
    for copy in (clone(estimator), clone(clone(estimator)), pickle.loads(pickle.dumps(clone(estimator)))):
        with pytest.raises(sf.Refusal, match=r"is a clone .* charge_clones=True .* Nothing was spent"):
            copy.fit(points)
    with pytest.raises(ValueError, match="charge_clones=True"):  # by scikit-learn, which names why all folds failed
        cross_val_score(estimator, points, cv=3, scoring=lambda *_: 0.0)
    assert [x.kind for x in ledger.verify().entries].count("release") == 1
    fitted.append(clone(estimator).set_params(charge_clones=True).fit(points).release_.sha256)
    lines = [line for line in ledger.verify().entries if line.kind == "release"]
    assert [json.loads(line.record)["release"] for line in lines] == fitted
    with pytest.raises(sf.BudgetExceeded):
        clone(estimator.set_params(charge_clones=True)).fit(points)
    without = clone(estimator).set_params(budget=None, charge_clones=False, allow_useless=True)
    assert without.fit(points, unit=np.arange(30) // 3).release_.record["n"] == 10
    with pytest.raises(ValueError, match="looks like the name of a column"):
        without.fit(points, unit="subject_id")


# -- people -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("routed", [False, True])
def test_a_search_over_a_pipeline_keeps_people_as_units(routed, rng):
    matrices, labels = covariances(rng, 240)
    people = np.repeat([f"S{i}" for i in range(60)], 4)
    pipeline = make_pipeline(tangent_space(epsilon=8.0), LogisticRegression())
    grid = {"privatetangentspace__metric": ["riemann", "logeuclid"]}
    search = GridSearchCV(pipeline, grid, cv=GroupKFold(3), error_score="raise")
    with sklearn.config_context(enable_metadata_routing=routed):
        unit = "unit" if routed else "privatetangentspace__unit"
        search.fit(matrices, labels, groups=people, **{unit: people})
    assert search.best_estimator_[0].release_.record["n"] == 60
    assert search.best_score_ > 0.7


@pytest.mark.parametrize("request_of", [True, "groups"])
def test_metadata_routing_gives_the_units_of_each_fold(request_of, rng):
    matrices, _ = covariances(rng, 240)
    people = np.repeat(np.arange(60), 4)
    seen = []

    def units(estimator, X, y=None):
        seen.append(estimator.release_.record["n"])
        return 0.0

    with sklearn.config_context(enable_metadata_routing=True):
        estimator = tangent_space(epsilon=8.0).set_fit_request(unit=request_of)
        params = {"groups": people} | ({"unit": people} if request_of is True else {})
        cross_val_score(estimator, matrices, cv=GroupKFold(5), scoring=units, params=params, error_score="raise")
    assert seen == [48] * 5


# -- metrics ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("metric", "ours"),
    [
        ("riemann", "affine"),
        ("logeuclid", "log-euclidean"),
        ("logchol", "log-cholesky"),
        ("wasserstein", "bures-wasserstein"),
    ],
)
def test_metrics_go_by_the_names_of_pyriemann_and_by_ours(metric, ours, rng):
    matrices, _ = covariances(rng, 200)
    space = sf.SPD(3, metric=ours)
    for name in (metric, ours):
        public = {"metric": name, "center": 1.3, "radius": 2.0, "epsilon": 8.0}
        mean = PrivateFrechetMean(**public).fit(matrices)
        assert mean.release_.space.name == space.name
        assert mean.mean_.shape == (3, 3)
    tangent = PrivateTangentSpace(**public).fit(matrices)
    vectors = tangent.transform(matrices)
    at = space.validate(tangent.reference_[None])[0]
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(space.distance(at, space.validate(matrices)), rel=1e-9)
    assert tangent.inverse_transform(vectors) == pytest.approx(matrices, rel=1e-9)
    assert len(tangent.get_feature_names_out()) == vectors.shape[1] == 6


def test_a_metric_that_is_unknown_or_one_too_many_is_refused(rng):
    matrices, _ = covariances(rng)
    for metric in ("euclid", {"mean": "riemann", "distance": "riemann"}):
        with pytest.raises(
            ValueError, match=r"no metric is called .*; there are riemann, affine, logeuclid, logchol, wasser"
        ):
            tangent_space(metric=metric).fit(matrices)
    with pytest.raises(ValueError, match="leave out metric"):
        estimator_for(sf.SPD(size=3), metric="riemann").fit(matrices)
    region = sf.Ball(sf.SPD(size=3), np.eye(3), 2.0)
    with pytest.raises(ValueError, match="leave out metric"):
        PrivateFrechetMean(region=region, metric="riemann", epsilon=1.0).fit(matrices)


# -- parameters -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "estimator",
    [
        estimator_for(sf.SPD(size=2), mechanism="kng", invalid="center"),
        tangent_space(center=np.eye(2), metric="riemann", charge_clones=True),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_parameters_survive_clone_set_params_and_pickle(estimator, rng):
    before = estimator.get_params()
    for copy in (clone(estimator), pickle.loads(pickle.dumps(estimator)), type(estimator)().set_params(**before)):
        after = copy.get_params()
        assert after.keys() == before.keys()
        assert all(np.array_equal(after[name], before[name]) for name in before)
    points = cloud(sf.SPD(size=2), np.eye(2), 0.5, 40, rng)
    estimator.fit(points)
    assert all(value is before[name] for name, value in estimator.get_params().items())
    assert not hasattr(clone(estimator), "release_")


# scikit-learn's checks fit data of many widths, a space has one: this one takes its dimension from X, as users must not.
class AnyWidth(PrivateFrechetMean):
    def fit(self, X, y=None):
        width = np.shape(X)[1] if len(np.shape(X)) > 1 else 1
        changes = {"space": sf.Euclidean(dim=max(1, width)), "center": np.zeros(max(1, width))}
        fitted = PrivateFrechetMean(**{**self.get_params(), **changes}).fit(X, y)
        vars(self).update({name: value for name, value in vars(fitted).items() if name.endswith("_")})
        return self


@estimator_checks.parametrize_with_checks([AnyWidth(radius=100.0, epsilon=1.0, allow_useless=True)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# The tangent space takes positive definite matrices, which the checks that fit never give; these do not fit.
@pytest.mark.parametrize(
    "check",
    [
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_estimator_tags_renamed",
        "check_valid_tag_types",
        "check_mixin_order",
        "check_no_attributes_set_in_init",
        "check_do_not_raise_errors_in_init_or_set_params",
        "check_parameters_default_constructible",
        "check_get_params_invariance",
        "check_set_params",
    ],
)
def test_scikit_learn_checks_of_the_tangent_space(check):
    if not hasattr(estimator_checks, check):
        pytest.skip(f"{check} came after scikit-learn {sklearn.__version__}")
    getattr(estimator_checks, check)("PrivateTangentSpace", tangent_space())


# -- the tangent space ------------------------------------------------------------------------------------------------------
def test_tangent_vectors_follow_pyriemanns_formula(rng):
    matrices, _ = covariances(rng)
    tangent = tangent_space(center=1.3)
    vectors = tangent.fit_transform(matrices)
    whiten = scipy.linalg.inv(scipy.linalg.sqrtm(tangent.reference_))
    for matrix, vector in zip(matrices, vectors, strict=True):
        log = scipy.linalg.logm(whiten @ matrix @ whiten)
        expected = [log[i, j] * (1 if i == j else np.sqrt(2)) for i in range(3) for j in range(i, 3)]
        assert vector == pytest.approx(expected, abs=1e-12)
    lengths = sf.SPD(size=3).distance(tangent.reference_, matrices)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(lengths, rel=1e-12)
    assert tangent.inverse_transform(vectors) == pytest.approx(matrices, rel=1e-11)
    assert np.array_equal(tangent.transform(matrices.reshape(-1, 9)), vectors)
    assert tangent.reference_ is tangent.release_.value


def test_the_reference_is_the_only_release_and_takes_its_centre_from_no_data(rng):
    matrices, _ = covariances(rng)
    by_number = tangent_space(center=1.3).fit(matrices, unit="one trial")
    by_matrix = tangent_space(center=1.3 * np.eye(3)).fit(matrices)
    assert by_number.release_.record["ball"] == by_matrix.release_.record["ball"]
    assert by_number.release_.record["ball"]["center"] == (1.3 * np.eye(3)).tolist()
    assert by_number.release_.guarantee.unit == "one trial"
    release = by_number.release_
    by_number.transform(matrices)
    assert by_number.release_ is release
    for missing in ("center", "radius", "epsilon"):
        with pytest.raises(ValueError, match=f"PrivateTangentSpace needs {missing}: give public knowledge"):
            tangent_space(**{missing: None}).fit(matrices)


def test_a_pipeline_tells_two_classes_of_covariances_apart(rng):
    matrices, labels = covariances(rng, 300)
    pipeline = make_pipeline(tangent_space(), LogisticRegression())
    clone(pipeline).fit(matrices[:200], labels[:200])
    assert pipeline.fit(matrices[:200], labels[:200]).score(matrices[200:], labels[200:]) > 0.8


def test_the_tangent_space_refuses_what_it_cannot_map(rng):
    matrices, _ = covariances(rng)
    tangent = tangent_space()
    with pytest.raises(NotFittedError):
        tangent.transform(matrices)
    with pytest.raises(ValueError, match=r"X has shape \(80, 3, 2\), expected \(n, 2, 2\) or \(n, 4\)"):
        tangent.fit(matrices[:, :, :2])
    tangent.fit(matrices)
    with pytest.raises(NotFittedError):
        clone(tangent).inverse_transform(np.zeros((1, 6)))
    with pytest.raises(ValueError, match=r"expected \(n, 3, 3\) or \(n, 9\)"):
        tangent.transform(matrices[:, :2, :2])
    with pytest.raises(ValueError, match=r"X has shape \(1, 5\), expected \(n, 6\)"):
        tangent.inverse_transform(np.zeros((1, 5)))
    matrices[4] = -np.eye(3)
    with pytest.raises(sf.InvalidPointError, match="record 4: is not positive definite"):
        tangent.transform(matrices)
    matrices[2, 0, 0] = np.nan
    with pytest.raises(sf.InvalidPointError, match="record 2: holds NaN"):
        tangent.fit(matrices)


def test_feature_names_and_pandas_output(rng):
    pytest.importorskip("pandas")
    matrices, _ = covariances(rng)
    tangent = tangent_space().set_output(transform="pandas")
    frame = tangent.fit_transform(matrices)
    assert frame.shape == (80, 6)
    assert frame.columns.tolist() == tangent.get_feature_names_out().tolist()


def test_any_region_takes_the_place_of_a_ball():
    """Also in clones, with the very same region."""
    rng = np.random.default_rng(4)
    space = sf.Euclidean(dim=12)
    public, private = (rng.normal(size=(n, 12)) / np.arange(1, 13) ** 2 for n in (40, 300))
    sketch = sf.Ellipsoid.from_sample(space, public)
    regions = [sf.Ball(space, np.zeros(12), 3.0), sf.Ellipsoid(space, np.zeros(12), np.ones(4)), sketch]
    for region in regions:
        copy = clone(sf.PrivateFrechetMean(region=region, epsilon=1.0))
        assert copy.fit(private).mean_.shape == (12,)
    assert copy.get_params()["region"].radius == sketch.radius
    assert copy.release_.record["chart"]["look"]["share"] == 0.1
    with pytest.raises(ValueError, match="leave out radius"):
        sf.PrivateFrechetMean(region=sketch, radius=1.0, epsilon=1.0).fit(private)
    with pytest.raises(TypeError, match=r"such as a sfumato\.Ball"):
        sf.PrivateFrechetMean(region=3.0, epsilon=1.0).fit(private)


@pytest.mark.parametrize("unit", [None, "subject"])
def test_people_in_the_labels_of_a_data_set_are_asked_for(unit):
    """The labels were lost on the way to the array, and the promise was for one record without a word."""
    labels = {"subject": np.repeat(np.arange(50), 4)}
    data = Dataset(np.repeat(np.eye(2)[None], 200, axis=0), "matrices", "CSV", labels, Path("trials.csv"))
    known = {"center": 1.0, "radius": 1.0, "epsilon": 2.0}
    for fit in (
        sf.PrivateFrechetMean(**known).fit,
        sf.PrivateTangentSpace(**known).fit,
        partial(sf.PrivateMDM(**known).fit, y=np.arange(200) % 2),
    ):
        with pytest.raises(ValueError, match=r"whose record it is|is the name of a column"):
            fit(data, unit=unit)
    fitted = sf.PrivateFrechetMean(**known).fit(data, unit=data.labels["subject"])
    assert fitted.release_.n == 50
