"""A scikit-learn classifier by private class means, in the place of pyRiemann's MDM."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d

from ..findings.classes import ClassMeans, private_class_means
from ..mechanisms.base import PERSON
from ..numerics.arrays import Array
from ..regions import Region
from ..spaces import Space
from .estimators import _PrivateEstimator

if TYPE_CHECKING:
    from sklearn.utils import Tags


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateMDM(ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _PrivateEstimator):  # type: ignore[misc]
    """Minimum distance to private class means: a replacement for pyRiemann's ``MDM``.

    ``fit`` releases the class means with ε-differential privacy, in all: everything that is kept is private.  A record is then
    given the class whose mean is nearest.

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
    release_: ClassMeans = field(init=False)

    def __sklearn_tags__(self) -> Tags:
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
        region, epsilon, records, unit = self._take(X, unit)
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
        names = classes.tolist()
        self.release_ = private_class_means(records, kind, names, region, epsilon, unit, words, **options)
        self.classes_ = classes
        self.covmeans_ = self.release_.means_in(region.space)
        self._space = region.space
        return self

    def transform(self, X: Any) -> Array:
        """Return distances of records to the class means, (n, K).  Unlike the means they are as sensitive as the records."""
        check_is_fitted(self)
        space = self._space
        points = space.validate(self._records(X, space, reset=False))
        means = space.validate(self.covmeans_)
        return np.stack([space.distance(mean, points) for mean in means], axis=1)

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
