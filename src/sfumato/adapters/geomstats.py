"""Spaces of geomstats, which is not needed to import this module."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array, Points
from ..spaces import SPD, Euclidean, PlanarShapes, Space, Sphere
from ..spaces.base import not_finite
from ..spaces.chart import one_by_one, same_start

# by the names of the class and of its metric, because another metric has another mean
_TWINS: dict[tuple[str, str], Callable[[Any], Space]] = {
    ("Euclidean", "CanonicalEuclideanMetric"): lambda space: Euclidean(dim=space.dim),
    ("Hypersphere", "HypersphereMetric"): lambda space: Sphere(dim=space.dim),
    ("SPDMatrices", "SPDAffineMetric"): lambda space: SPD(size=space.n),
    ("PreShapeSpace", "KendallShapeMetric"): lambda space: PlanarShapes(landmarks=space.k_landmarks),
}
BELONGS = 1e-6  # how far the numbers of a record may be from those of a point, as in a file with six digits
INDEPENDENT = 1e-6  # least new part of a tangent vector, of the longest
STEP = 1e-2  # at a public point
CLOSE = 1e-5  # how well log must lead back along it


def from_geomstats(space: Any) -> Space:
    """Return a geomstats manifold as a space, with its own metric.  Points are the same arrays in both packages.

    Where sfumato has the same space and metric (Euclidean, the sphere, the affine-invariant metric on SPD matrices, planar
    shapes), it is that one, with all mechanisms.  Any other manifold that has a logarithm and an exponential is called through
    geomstats, one record at a time: slower, and for releases by charts, as nothing is proven of its curvature.

    One without a metric, logarithm or exponential that works with the NumPy backend is refused: the error says what is missing.

    >>> from geomstats.geometry.hypersphere import Hypersphere
    >>> from geomstats.geometry.grassmannian import Grassmannian
    >>> from_geomstats(Hypersphere(2)), from_geomstats(Grassmannian(4, 2))
    (Sphere(dim=2, curvature=1.0), from_geomstats(Grassmannian with GrassmannianCanonicalMetric, dim=4))
    """
    lacks = [x for x in ("shape", "belongs", "to_tangent", "metric") if not hasattr(space, x)]
    lacks = lacks or [x for x in ("log", "exp", "inner_product") if not hasattr(space.metric, x)]
    if lacks:
        takes = "takes a geomstats manifold with a metric (equip=True) that has log and exp"
        raise ValueError(f"from_geomstats {takes}: {type(space).__name__} has no {lacks[0]}")
    kind = type(space).__name__
    twin = _TWINS.get((kind, type(space.metric).__name__))
    ours = not space.intrinsic if kind == "Hypersphere" else kind != "PreShapeSpace" or space.ambient_dim == 2
    return twin(space) if ours and twin is not None else Geomstats(space)


class Geomstats(Space):
    """A manifold of geomstats, called one record at a time: some of its logarithms are iterations that end for all records at
    once, or raise for all, and then the result for one record would depend on the others.  See :func:`from_geomstats`."""

    name: ClassVar[str] = "geomstats"

    def __init__(self, space: Any) -> None:
        import geomstats.backend

        backend = geomstats.backend.__name__.rpartition(".")[2]
        if backend != "numpy":
            raise ValueError(
                f"from_geomstats needs geomstats with its NumPy backend, not {backend}: set the environment variable "
                "GEOMSTATS_BACKEND=numpy before Python starts"
            )
        self.manifold = space
        self.geometry = space.metric  # a manifold may be given another metric later; this one stays
        kind = type(space).__name__
        metric = type(space.metric).__name__
        dimensions = "arrays" if len(space.shape) > 1 else "vectors"
        vars(self).update(name=f"geomstats.{kind}", metric=metric, kind=dimensions)
        try:
            with same_start():  # the same point at all times: the first that geomstats draws
                point = np.asarray(space.random_point())
            if np.iscomplexobj(point):
                raise ValueError("its points are complex numbers")
            self._origin = point.astype(np.float64).reshape(space.shape)
            self.dim = len(_frame(self, self._origin.tobytes()))
            self._check_step()
        except Exception as error:  # at a public point: there are no data yet
            words = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            raise ValueError(
                f"from_geomstats: {kind} with {metric} does not work here ({words}); another metric may, or write its "
                "logarithm and exponential as functions, for sfumato.Chart"
            ) from None

    def _check_step(self) -> None:
        """Raise a ValueError if the logarithm does not lead back along a step of the exponential."""
        step = STEP * np.eye(1, self.dim)
        there = self.exp(self._origin, self.from_coordinates(self._origin, step))
        with same_start():
            back = self.coordinates(self._origin, self.geometry.log(there[0], self._origin)[None])
        if self.diagnose(there)[1] or not np.abs(back - step).max() <= CLOSE:
            raise ValueError("its exponential leads out of it, or its logarithm does not lead back")

    def __repr__(self) -> str:
        return f"from_geomstats({type(self.manifold).__name__} with {self.metric}, dim={self.dim})"

    @property
    def point_shape(self) -> tuple[int, ...]:
        return tuple(self.manifold.shape)

    def parameters(self) -> dict[str, Any]:
        """Return dimension and shape, and the other numbers that geomstats knows the manifold by."""
        known = {key: x for key, x in vars(self.manifold).items() if type(x) in (int, float, str) and key[0] != "_"}
        return {**known, "dim": self.dim, "shape": list(self.point_shape)}

    def origin(self) -> Points:
        return self._origin.copy()

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        array = self._real_batch(points)
        known = one_by_one(lambda x: np.all(self.manifold.belongs(x, atol=BELONGS)), array, shape=())
        no_point = f"is not a point of {self.name}"
        return array, {int(row): no_point for row in np.flatnonzero(known != 1)} | not_finite(array)

    # -- geometry --------------------------------------------------------------------------------------------------
    def exp(self, base: Points, vectors: Points) -> Points:
        return self._pairs(lambda x, v: self.geometry.exp(v, x), base, vectors, self.point_shape)

    def log(self, base: Points, points: Points) -> Points:
        return self._pairs(lambda x, y: self.geometry.log(y, x), base, points, self.point_shape)

    def distance(self, a: Points, b: Points) -> Array:
        return self._pairs(self.geometry.dist, a, b, ())

    def inner(self, base: Points, u: Points, v: Points) -> Array:
        return np.asarray(np.sum(self.coordinates(base, u) * self.coordinates(base, v), axis=-1))

    def from_coordinates(self, base: Points, coordinates: Array) -> Points:
        return np.asarray(np.tensordot(coordinates, _frame(self, base.tobytes()), 1))

    def coordinates(self, base: Points, vectors: Points) -> Array:
        basis = _frame(self, base.tobytes())
        flat = np.reshape(vectors, (*vectors.shape[: vectors.ndim - len(self.point_shape)], -1))
        return np.asarray(flat @ np.linalg.pinv(basis.reshape(self.dim, -1)))

    def _pairs(self, function: Callable[..., Any], a: Points, b: Points, shape: tuple[int, ...]) -> Array:
        """Return what a function makes of points and points or vectors, pair by pair."""
        one = self.point_shape
        lead = np.broadcast_shapes(a.shape[: a.ndim - len(one)], b.shape[: b.ndim - len(one)])
        rows = (np.broadcast_to(x, (*lead, *one)).reshape(-1, *one) for x in (a, b))
        return one_by_one(function, *rows, shape=shape).reshape((*lead, *shape))


@lru_cache(maxsize=64)
def _frame(space: Geomstats, base: bytes) -> Points:
    """Return an orthonormal basis of the tangent space at a public point, (dim, *point_shape): the ambient basis vectors in
    order, projected, and made orthonormal by Gram and Schmidt, in the flat metric and then (Cholesky) in that of the space."""
    point = np.frombuffer(base).reshape(space.point_shape)
    shape = (-1, *space.point_shape)

    def gram(rows: Array) -> Array:
        vectors = rows.reshape(shape)
        return np.array([[float(space.geometry.inner_product(u, v, point)) for v in vectors] for u in vectors])

    ambient = np.eye(math.prod(space.point_shape)).reshape(shape)
    flat = _independent(np.stack([np.ravel(space.manifold.to_tangent(vector, point)) for vector in ambient]))
    products = gram(flat)
    horizontal = _independent(products @ flat)
    if len(horizontal) < len(flat):  # the metric of a quotient does not see its fibres
        flat = horizontal
        products = gram(horizontal)
    return np.linalg.solve(np.linalg.cholesky(products), flat).reshape(shape)


def _independent(rows: Array) -> Array:
    """Return an orthonormal basis of what the rows span, in their order; each is made orthogonal twice, against rounding."""
    basis = np.empty((0, rows.shape[1]))
    least = INDEPENDENT * np.linalg.norm(rows, axis=1).max()
    for row in rows:
        rest = row - (row @ basis.T) @ basis
        rest = rest - (rest @ basis.T) @ basis
        length = np.linalg.norm(rest)
        if length > least:
            basis = np.vstack([basis, rest / length])
    return basis
