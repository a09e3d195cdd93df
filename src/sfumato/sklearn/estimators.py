"""Private means, and a classifier by means of classes, as scikit-learn estimators like any other.

Every ``fit`` is a release and spends ε, also on folds of the same people: k folds put each record into k − 1 training sets, so
together they cost (k − 1)·ε.  A ``budget`` (a :class:`sfumato.Ledger`) is charged k·ε for k folds, as it does not know who is
in them; so clones of an estimator that has one fit only with ``charge_clones=True``.

``fit`` takes ``unit``, whom each row belongs to, so that it can be split into folds.  With metadata routing it is requested by
default; ``set_fit_request(unit="groups")`` takes the groups of a splitter for it.  **The groups of a splitter alone are no
unit**: without ``unit`` the promise is for one record.  Nor is a bootstrap (bagging) private by record: it repeats records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_array, check_is_fitted, column_or_1d

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # scikit-learn 1.5

    def validate_data(estimator: Any, X: ArrayLike, *, ensure_all_finite: bool, **options: Any) -> Array:
        return np.asarray(estimator._validate_data(X, force_all_finite=ensure_all_finite, **options))


from ..adapters import from_mne
from ..errors import Refusal
from ..files.people import take_unit
from ..findings.classes import private_class_means
from ..laws.privacy import Privacy, as_privacy
from ..mechanisms.base import PERSON
from ..mechanisms.choice import private_mean
from ..mechanisms.moments import from_triangle, triangle
from ..mechanisms.paying import Budget
from ..numerics.arrays import Array
from ..regions import Ball, Region, check_region
from ..spaces import Space, space_from

# pyRiemann's names of the metrics of positive definite matrices, and the spaces that have them
METRICS = {
    "riemann": "spd",
    "affine": "spd",
    "logeuclid": "log-euclidean",
    "logchol": "log-cholesky",
    "wasserstein": "bures-wasserstein",
}


@dataclass(kw_only=True, eq=False, repr=False)
class _PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """What the estimators share: parameters, their checks, data in several layouts, and the release.

    Fields with ``init=False`` are attributes of a fitted estimator, and parameters that only some estimators have.
    """

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"unit": True}
    _is_clone = False
    space: Space | None = field(init=False, default=None)
    region: Region | None = field(init=False, default=None)
    center: ArrayLike | None = None
    radius: float | None = None
    metric: str | None = None
    epsilon: float | None = None
    privacy: Privacy | None = None
    budget: Budget | None = None
    charge_clones: bool = False
    allow_useless: bool = False
    release_: Any = field(init=False)  # a Release, or ClassMeans
    n_features_in_: int = field(init=False)
    _space: Space = field(init=False)

    def __sklearn_clone__(self) -> Self:
        copy: Self = super().__sklearn_clone__()
        copy._is_clone = True
        return copy

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # a release takes no seed
        tags.input_tags.three_d_array = True
        return tags

    def _more_tags(self) -> dict[str, Any]:  # the same, for scikit-learn 1.5
        return {"non_deterministic": True, "X_types": ["2darray", "3darray"]}

    def _known(self, shape: tuple[int, ...]) -> tuple[Region, Privacy]:
        """Return the region and the promise; without a space it is of positive definite matrices of the size of records."""
        name = type(self).__name__
        if self._is_clone and self.budget is not None and not self.charge_clones:
            raise Refusal(
                f"this {name} is a clone of one with a budget: cross-validation and searches fit many clones to the same "
                "people, and each fit is charged. Give charge_clones=True to pay for every one, or leave out budget. Nothing "
                "was spent"
            )
        if self.region is not None:
            region = check_region(self.region, "region must be")
            self._leave_out("space", "metric", "center", "radius")
            return region, self._promise()[0]
        promise, center, radius = self._promise("center", "radius")
        if self.space is not None:
            self._leave_out("metric")
            return Ball(self.space, center, radius), promise
        metric = "riemann" if self.metric is None else self.metric
        if metric not in (*METRICS, *METRICS.values()):
            raise ValueError(f"{name}: no metric is called {metric!r}; there are {', '.join(METRICS)}")
        if np.ndim(center) == 0:
            center = center * np.eye(max(1, math.isqrt(math.prod(shape))))
        return Ball(space_from(METRICS.get(metric, metric), {"size": len(center)}), center, radius), promise

    def _promise(self, *names: str) -> list[Any]:
        """Return what is promised, by an ε or the privacy in its place, and other required parameters.  scikit-learn constructs
        estimators without any, so ``fit`` checks for them."""
        required = names if self.privacy is not None else (*names, "epsilon")
        missing = [name for name in required if getattr(self, name) is None]
        if missing:
            raise ValueError(
                f"{type(self).__name__} needs {' and '.join(missing)}: give public knowledge, chosen before the data are seen "
                "and never computed from them"
            )
        return [as_privacy(self.epsilon, self.privacy), *(getattr(self, name) for name in names)]

    def _leave_out(self, *names: str) -> None:
        """Raise an error if one of these parameters is given."""
        for name in names:
            if getattr(self, name) is not None:
                takes = "a region, or center and radius with a space or a metric"
                raise ValueError(f"{type(self).__name__} takes {takes}: leave out {name}")

    def _take(self, X: Any, unit: str | ArrayLike | None) -> tuple[Region, Privacy, Array, str | ArrayLike]:
        """Return the region, the promise, the records and their unit, which a Dataset's labels may ask for."""
        X, unit = take_unit(X, unit)
        X = _array(X)
        region, promise = self._known(X.shape[1:])
        return region, promise, self._records(X, region.space, reset=True), unit

    def _release(self, X: Any, unit: str | ArrayLike | None, **options: Any) -> Array:
        """Release the mean of records, keep its record, and return its value."""
        region, promise, records, unit = self._take(X, unit)
        options |= {"unit": unit, "budget": self.budget, "allow_useless": self.allow_useless}
        self.release_ = private_mean(records, region, None, self.mechanism, privacy=promise, **options)
        self._space = region.space
        return np.asarray(self.release_.value)

    def _records(self, X: Any, space: Space, *, reset: bool) -> Array:
        """Return records in the layout of the space, from that or scikit-learn's; NaN passes, as the space names the row."""
        shape = space.present(space.origin()).shape
        X = _array(X)
        if np.iscomplexobj(X) and np.iscomplexobj(space.origin()):
            X = np.stack([np.real(X), np.imag(X)], axis=-1)
        given = np.shape(X)
        width = math.prod(shape)
        usual = [(), shape, (width,)]  # scikit-learn refuses empty and one-dimensional input below
        if 0 not in given and given[1:] not in usual and (reset or len(given) != 2):  # otherwise scikit-learn raises
            layouts = dict.fromkeys(f"(n, {', '.join(map(str, s))})" for s in (shape, (width,)))
            raise ValueError(f"{type(self).__name__}: X has shape {given}, expected {' or '.join(layouts)}")
        if len(given) > 2:
            X = np.reshape(X, (given[0], width))
        flat = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=False)
        return np.asarray(flat.reshape(-1, *shape))


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateFrechetMean(_PrivateEstimator):
    """The Fréchet mean of the rows of X, released with ε-differential privacy by ``fit``.

    ``center`` and ``radius`` are those of a public ball in the ``space`` of the records; without a space the records are
    positive definite matrices, and the centre may be a number c for c times the identity.  ``metric`` is that of these
    matrices by pyRiemann's names ("riemann" unless given, "logeuclid", "logchol", "wasserstein") or those of :class:`SPD`.  A
    ``region`` (a Ball, an Ellipsoid, or what the makers of ellipsoids give) stands in place of all these.  ``epsilon`` is the
    privacy loss of each ``fit``, or ``privacy`` a promise of another kind; ``mechanism`` is "auto" or the name of one.  A row
    that is not a point of the space raises an error, or is replaced by the public centre with ``invalid="center"``.  A
    ``budget``, such as a Ledger, is charged before the data are used; with ``charge_clones`` clones of the estimator fit and
    charge it too, as cross-validation does: five folds charge five times.  ``allow_useless`` releases also if the noise is as
    large as what is known beforehand.

    Fitted, ``mean_`` is the released value, ``release_`` its record, and ``n_features_in_`` the length of a flattened record.

    >>> from sfumato import SPD
    >>> matrices = np.array([np.diag([1.0 + 0.01 * i, 1.0]) for i in range(100)])
    >>> estimator = PrivateFrechetMean(space=SPD(size=2), center=np.eye(2), radius=1.5, epsilon=1.0).fit(matrices)
    >>> estimator.mean_.shape, estimator.n_features_in_, round(estimator.release_.error(0.95), 2)
    ((2, 2), 4, 0.19)
    >>> from sfumato import Ellipsoid
    >>> atlas = np.array([np.diag([1.0 + 0.05 * i, 1.0]) for i in range(20)])  # public
    >>> fitted = PrivateFrechetMean(region=Ellipsoid.from_sample(SPD(size=2), atlas), epsilon=1.0).fit(matrices)
    >>> fitted.release_.error(0.95) < estimator.release_.error(0.95)
    True
    """

    space: Space | None = None
    region: Region | None = None
    mechanism: str = "auto"
    invalid: str = "raise"
    mean_: Array = field(init=False)

    def fit(self, X: Any, y: Any = None, *, unit: str | ArrayLike | None = None) -> Self:
        """Release the mean of records; y is ignored.

        X are records, (n, ...) in the layout of the space or flattened to (n, features); or MNE's epochs, by the covariance of
        the data channels in each; or a list of MNE's covariances.  ``unit`` is a label for each row, which says whom it
        belongs to: then the promise is for people.  Or what one row stands for, in words; ``"one record"`` unless given.
        """
        self.mean_ = self._release(X, unit, invalid=self.invalid)
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateTangentSpace(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _PrivateEstimator):  # type: ignore[misc]
    """Positive definite matrices as vectors, in the tangent space at a private mean M.

    A replacement for pyRiemann's ``TangentSpace``: the vector of a matrix X is the upper triangle, row by row, of
    log(M^(−1/2)·X·M^(−1/2)) with the entries off the diagonal times √2.  With another metric, it is the coordinates of log_M X
    in an orthonormal basis, so that here too a vector is as long as X is far from M; pyRiemann's are other coordinates.

    **Only the reference M is private.**  ``fit`` releases it with ε-differential privacy; ``transform`` maps each record
    one to one, so its output is as sensitive as its input, and so is a classifier trained on it.

    The parameters are those of :class:`PrivateFrechetMean`; fitted, ``reference_`` is the released M.

    >>> matrices = np.array([np.diag([1.0 + 0.01 * i, 1.0]) for i in range(100)])
    >>> tangent = PrivateTangentSpace(center=1.0, radius=1.5, epsilon=1.0).fit(matrices)
    >>> vectors = tangent.transform(matrices)
    >>> vectors.shape, bool(np.allclose(tangent.inverse_transform(vectors), matrices))
    ((100, 3), True)
    """

    mechanism: str = "auto"
    reference_: Array = field(init=False)

    def fit(self, X: Any, y: Any = None, *, unit: str | ArrayLike | None = None) -> Self:
        """Release the reference of matrices, (n, k, k) or flattened to (n, k·k), or of MNE's epochs or covariances.

        ``unit`` is as of :meth:`PrivateFrechetMean.fit`; y is ignored.
        """
        self.reference_ = self._release(X, unit)
        self._affine = self.metric is None or METRICS.get(self.metric, self.metric) == "spd"
        return self

    def transform(self, X: Any) -> Array:
        """Map matrices, in any form that ``fit`` takes, to tangent vectors, (n, k(k+1)/2).  The result is not private."""
        check_is_fitted(self)
        space = self._space
        at = self._reference
        vectors = space.log(at, space.validate(self._records(X, space, reset=False)))
        if not self._affine:
            return space.coordinates(at, vectors)
        white = _power(at, -0.5)
        rows, columns, weights = triangle(len(at))
        return np.asarray((white @ vectors @ white)[:, rows, columns] * weights)

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Map tangent vectors, (n, k(k+1)/2), back to matrices, (n, k, k)."""
        check_is_fitted(self)
        vectors = check_array(X, dtype=np.float64)
        space = self._space
        at = self._reference
        if vectors.shape[1] != space.dim:
            raise ValueError(f"{type(self).__name__}: X has shape {vectors.shape}, expected (n, {space.dim})")
        if not self._affine:
            return space.present(space.exp(at, space.from_coordinates(at, vectors)))
        color = _power(at, 0.5)
        return space.present(space.exp(at, color @ from_triangle(vectors, len(at)) @ color))

    @property
    def _reference(self) -> Array:
        """The reference as the space computes with it."""
        return np.asarray(self._space.validate(self.reference_[None])[0])

    @property
    def _n_features_out(self) -> int:
        return self._space.dim


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateMDM(ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _PrivateEstimator):  # type: ignore[misc]
    """Minimum distance to private class means: a replacement for pyRiemann's ``MDM``.

    ``fit`` releases the class means with ε-differential privacy; a record is then given the class whose mean is nearest.

    **What it costs.**  One ``fit`` costs ε, whoever has records of how many classes.  Who has records of which class is
    public: a replacement has records of the same classes.  Every person has records of all classes (trials of a
    brain-computer interface), or every person of one (a diagnosis that is public); anything in between is refused.

    **What is released.**  Most of ε goes into the directions in which the classes differ: each person's contrasts there, at
    length 1, so that no bound on their size is needed and what is peculiar to a person cancels.  Medians along these directions
    then say where the classes lie.  In all other directions the means lie at the public centre: ``covmeans_`` are for telling
    classes apart, and :func:`sfumato.compare_groups` for reading means.

    The parameters are those of :class:`PrivateFrechetMean`; a generous radius costs little here, and a region with fewer
    directions makes the noise smaller.  Fitted, ``classes_`` are the classes, ``covmeans_``, (K, …), a private mean of each,
    and ``release_`` is what was released, with its guarantee; it can be saved.

    >>> rng = np.random.default_rng(0)
    >>> y = np.tile([0, 1], 200)
    >>> scale = np.where(y[:, None] == 0, [2.0, 1.0], [1.0, 2.0])
    >>> X = np.array([np.cov(rng.normal(size=(2, 50)) * s[:, None]) for s in scale])
    >>> people = np.repeat(np.arange(100), 4)
    >>> model = PrivateMDM(center=1.5, radius=3.0, epsilon=2.0).fit(X, y, unit=people)
    >>> model.covmeans_.shape, model.score(X, y) > 0.9, model.release_.guarantee.epsilon
    ((2, 2, 2), True, 2.0)
    """

    space: Space | None = None
    region: Region | None = None
    invalid: str = "raise"
    classes_: Array = field(init=False)
    covmeans_: Array = field(init=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: ArrayLike | None = None, *, unit: str | ArrayLike | None = None) -> Self:
        """Release the means of classes y of records.

        X and ``unit`` are as of :meth:`PrivateFrechetMean.fit`.  With labels as units, the records of one person in one class
        are first reduced to their mean.
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        region, promise, records, unit = self._take(X, unit)
        kinds = column_or_1d(y, warn=True)
        assert_all_finite(kinds, input_name="y")
        check_classification_targets(kinds)
        if len(kinds) != len(records):
            raise ValueError(f"there are {len(records)} records but {len(kinds)} classes: give one for each record")
        classes, kind = np.unique(kinds, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"a classifier needs two classes or more; y has one class: {classes.tolist()}")
        words = unit if isinstance(unit, str) else PERSON
        options: dict[str, Any] = {"invalid": self.invalid, "budget": self.budget, "allow_useless": self.allow_useless}
        self.release_ = private_class_means(records, kind, classes.tolist(), region, promise, unit, words, **options)
        self.classes_ = classes
        self.covmeans_ = self.release_.means_in(region.space)
        self._space = region.space
        return self

    def transform(self, X: Any) -> Array:
        """Return distances of records to the class means, (n, K).  Unlike the means they are as sensitive as the records."""
        check_is_fitted(self)
        space = self._space
        points = space.validate(self._records(X, space, reset=False))
        return np.stack([space.distance(mean, points) for mean in space.validate(self.covmeans_)], axis=1)

    def predict(self, X: Any) -> Any:
        """Return the class whose mean is nearest to each record."""
        check_is_fitted(self)
        return self.classes_[self.transform(X).argmin(axis=1)]

    def predict_proba(self, X: Any) -> Array:
        """Return the softmax of minus the squared distances, as in pyRiemann."""
        return np.asarray(softmax(-(self.transform(X) ** 2), axis=1))

    @property
    def _n_features_out(self) -> int:
        return len(self.classes_)


def _array(X: Any) -> Any:
    """Return records as an array, or as they are if they have a shape; MNE's as matrices."""
    X = from_mne(X)
    return X if hasattr(X, "shape") else np.asarray(X)


def _power(matrix: Array, exponent: float) -> Array:
    """Return a power of a positive definite matrix, symmetric."""
    eigenvalues, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * eigenvalues**exponent) @ vectors.T)
