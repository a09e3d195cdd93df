"""Private means as scikit-learn estimators, which can be cloned, configured and used in pipelines like any other.

Every ``fit`` is a release and spends ε.  Cross-validation and parameter searches fit many times on the same people: k folds
put each record into k − 1 training sets, so together they cost (k − 1)·ε.  A ``budget`` (a :class:`sfumato.Ledger`) is
charged by every fit, including those of clones.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # scikit-learn 1.5

    def validate_data(estimator: Any, X: ArrayLike, *, ensure_all_finite: bool, **options: Any) -> Array:
        return np.asarray(estimator._validate_data(X, force_all_finite=ensure_all_finite, **options))


from .mechanisms.choice import private_mean
from .mechanisms.plan import Budget
from .regions import Ball, Region
from .release import Release
from .spaces import Space, space_from
from .spaces.base import Array

if TYPE_CHECKING:
    from sklearn.utils import Tags


class _PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """What the estimators share: required parameters, data in two layouts, and the release."""

    release_: Any
    n_features_in_: int
    region: Region | None
    mechanism: str
    unit: str | ArrayLike
    budget: Budget | None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # a release takes no seed
        tags.input_tags.three_d_array = True
        return tags

    def _more_tags(self) -> dict[str, Any]:  # the same, for scikit-learn 1.5
        return {"non_deterministic": True, "X_types": ["2darray", "3darray"]}

    def _require(self, *names: str) -> list[Any]:
        """The values of required parameters.  scikit-learn constructs estimators without any, so ``fit`` checks for them."""
        values = [getattr(self, name) for name in names]
        missing = [name for name, value in zip(names, values, strict=True) if value is None]
        if missing:
            raise ValueError(
                f"{type(self).__name__} needs {' and '.join(missing)}: give public knowledge, chosen before the data are seen "
                "and never computed from them"
            )
        return values

    def _known(self) -> tuple[Region, float]:
        """The region and ε."""
        three = ("space", "center", "radius")
        if self.region is None:
            *ball, epsilon = self._require(*three, "epsilon")
            return Ball(*ball), epsilon
        if not isinstance(self.region, Region):
            raise TypeError(f"region must be a region such as a sfumato.Ball, not {self.region!r}")
        for name in three:
            if getattr(self, name) is not None:
                raise ValueError(f"{type(self).__name__} takes a region, or space, center and radius: leave out {name}")
        return self.region, self._require("epsilon")[0]

    def _release(self, X: ArrayLike, region: Region, epsilon: float, **options: Any) -> Array:
        records = self._records(X, region.space, reset=True)
        options |= {"unit": self.unit, "budget": self.budget, "allow_useless": self.allow_useless}
        self.release_ = private_mean(records, region, epsilon, self.mechanism, **options)
        return np.asarray(self.release_.value)

    def _records(self, X: ArrayLike, space: Space, *, reset: bool) -> Array:
        """Records in the layout of the space, (n, ...), from that layout or scikit-learn's (n, features).

        NaN is let through here: the space then names the row.
        """
        shape = space.present(space.origin()).shape
        X = X if hasattr(X, "shape") else np.asarray(X)
        if np.iscomplexobj(X) and np.iscomplexobj(space.origin()):
            X = np.stack([np.real(X), np.imag(X)], axis=-1)
        given, width = np.shape(X), math.prod(shape)
        usual = [(), shape, (width,)]  # scikit-learn reports empty and one-dimensional input below
        if 0 not in given and given[1:] not in usual and (reset or len(given) != 2):  # else scikit-learn says it
            layouts = dict.fromkeys(f"(n, {', '.join(map(str, s))})" for s in (shape, (width,)))
            raise ValueError(f"{type(self).__name__}: X has shape {given}, expected {' or '.join(layouts)}")
        if len(given) > 2:
            X = np.reshape(X, (given[0], width))
        flat = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=False)
        return np.asarray(flat.reshape(-1, *shape))


class PrivateFrechetMean(_PrivateEstimator):
    """The Fréchet mean of the rows of X, released with ε-differential privacy by ``fit``.

    Parameters
    ----------
    space, center, radius
        The space of the records, and the public centre and radius of a ball in it.  Required, unless a region is given.
    region : Ball, Ellipsoid, or what the makers of ellipsoids give
        The public region, in place of these three.
    epsilon : float
        The privacy loss of each ``fit``.  Required.
    mechanism : str
        ``"auto"``, or the name of a mechanism.
    unit : str or array_like
        What one row stands for, in words; or a label for each row, which says whom it belongs to.
    invalid : {"raise", "center"}
        What to do with a row that is not a point of the space: raise an error, or replace it by the public centre.
    budget : Ledger, optional
        Charged before the data are used.
    allow_useless : bool
        Release also if the noise is as large as what is known beforehand.

    Attributes
    ----------
    mean_ : numpy.ndarray
        The released value.
    release_ : Release
        Its record.
    n_features_in_ : int
        The length of a flattened record.

    Examples
    --------
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

    mean_: Array
    release_: Release

    def __init__(
        self,
        *,
        space: Space | None = None,
        center: ArrayLike | None = None,
        radius: float | None = None,
        region: Region | None = None,
        epsilon: float | None = None,
        mechanism: str = "auto",
        unit: str | ArrayLike = "one record",
        invalid: str = "raise",
        budget: Budget | None = None,
        allow_useless: bool = False,
    ) -> None:
        self.space = space
        self.center = center
        self.radius = radius
        self.region = region
        self.epsilon = epsilon
        self.mechanism = mechanism
        self.unit = unit
        self.invalid = invalid
        self.budget = budget
        self.allow_useless = allow_useless

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Release the mean of records, (n, ...) in the layout of the space or flattened to (n, features); y is ignored."""
        region, epsilon = self._known()
        self.mean_ = self._release(X, region, epsilon, invalid=self.invalid)
        return self


class PrivateTangentSpace(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _PrivateEstimator):  # type: ignore[misc]
    """Positive definite matrices as vectors, in the tangent space at a private mean M.

    A replacement for pyRiemann's ``TangentSpace(metric="riemann")``: the vector of a matrix X is the upper triangle, row
    by row, of log(M^(−1/2)·X·M^(−1/2)) with the entries off the diagonal times √2.

    **Only the reference M is private.**  ``fit`` releases it with ε-differential privacy; ``transform`` maps each record
    one to one, so its output is as sensitive as its input, and so is a classifier trained on it.

    Parameters
    ----------
    center : array_like or float
        The public centre of the ball: a matrix, or a number c for c times the identity.  Required.
    radius, epsilon, mechanism, unit, budget
        As of :class:`PrivateFrechetMean`.

    Attributes
    ----------
    reference_ : numpy.ndarray
        The released reference M.
    release_, n_features_in_
        As of :class:`PrivateFrechetMean`.

    Examples
    --------
    >>> matrices = np.array([np.diag([1.0 + 0.01 * i, 1.0]) for i in range(100)])
    >>> tangent = PrivateTangentSpace(center=1.0, radius=1.5, epsilon=1.0).fit(matrices)
    >>> vectors = tangent.transform(matrices)
    >>> vectors.shape, bool(np.allclose(tangent.inverse_transform(vectors), matrices))
    ((100, 3), True)
    """

    reference_: Array
    release_: Release

    def __init__(
        self,
        *,
        center: ArrayLike | None = None,
        radius: float | None = None,
        epsilon: float | None = None,
        mechanism: str = "auto",
        unit: str | ArrayLike = "one record",
        budget: Budget | None = None,
        allow_useless: bool = False,
    ) -> None:
        self.center = center
        self.radius = radius
        self.epsilon = epsilon
        self.mechanism = mechanism
        self.unit = unit
        self.budget = budget
        self.allow_useless = allow_useless

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Release the reference of matrices, (n, k, k) or flattened to (n, k·k); y is ignored."""
        center, radius, epsilon = self._require("center", "radius", "epsilon")
        if np.ndim(center) == 0:
            center = center * np.eye(max(1, math.isqrt(math.prod(np.shape(X)[1:]))))
        self.reference_ = self._release(X, Ball(_matrices(len(center)), center, radius), epsilon)
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Map matrices, (n, k, k) or (n, k·k), to tangent vectors, (n, k(k+1)/2).  The result is not private."""
        check_is_fitted(self)
        space = _matrices(len(self.reference_))
        points = space.validate(self._records(X, space, reset=False))
        white = _power(self.reference_, -0.5)
        rows, columns, weights = self._triangle
        return np.asarray((white @ space.log(self.reference_, points) @ white)[:, rows, columns] * weights)

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Map tangent vectors, (n, k(k+1)/2), back to matrices, (n, k, k)."""
        check_is_fitted(self)
        vectors, space = check_array(X, dtype=np.float64), _matrices(len(self.reference_))
        if vectors.shape[1] != space.dim:
            raise ValueError(f"{type(self).__name__}: X has shape {vectors.shape}, expected (n, {space.dim})")
        rows, columns, weights = self._triangle
        white = np.empty((len(vectors), *space.point_shape))
        white[:, rows, columns] = white[:, columns, rows] = vectors / weights
        color = _power(self.reference_, 0.5)
        return space.present(space.exp(self.reference_, color @ white @ color))

    @property
    def _triangle(self) -> tuple[Any, Any, Array]:
        """Rows and columns of the upper triangle, with weights 1 on the diagonal and √2 off it: an isometry."""
        rows, columns = np.triu_indices(len(self.reference_))
        return rows, columns, np.where(rows == columns, 1.0, np.sqrt(2))

    @property
    def _n_features_out(self) -> int:
        return len(self._triangle[0])


def _matrices(size: int) -> Space:
    return space_from("spd", {"size": size})


def _power(matrix: Array, exponent: float) -> Array:
    """A power of a positive definite matrix, symmetric."""
    eigenvalues, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * eigenvalues**exponent) @ vectors.T)
