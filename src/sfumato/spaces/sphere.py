"""The sphere S^d of any curvature: directions."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import CACHE, MANY, Array, Points, compiled, in_runs, loaded
from ..numerics.curvature import NEAR, angle_over_sine, angle_series
from .arcs import Rows
from .base import Moments, blame, not_finite, put_right
from .embedding import Embedding, RoundEmbedding
from .exact import Exact, by_arcs

DRIFT = 1e-3  # of the right norm: a vector rounded to three decimals; each is put right
EXACT = 2.0**-52
LARGE = 1 << 20  # directions of which some give a first guess


def norm_error(terms: int) -> float:
    """Return what rounding leaves in the squared norm of a normalised vector; one that is farther off is normalised again."""
    return EXACT * (8 + 4 * math.sqrt(terms))


@dataclass(frozen=True)
class Sphere(Rows):
    """Directions: the d-sphere of curvature κ, vectors of length 1/√κ in R^(d+1), with the metric of that space.

    >>> space = Sphere(dim=2)
    >>> pole, east = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    >>> round(float(space.distance(pole, east)), 6), space.log(pole, east).round(6).tolist()
    (1.570796, [1.570796, 0.0, 0.0])
    """

    dim: int
    curvature: float = 1.0
    name: ClassVar[str] = "sphere"
    metric: ClassVar[str] = "geodesic distance on the sphere"
    size_option: ClassVar[str | None] = "dim"
    usual_size: ClassVar[int | None] = 2
    directions: ClassVar[bool] = True  # whether points are directions, which have latitudes and longitudes on S²
    exact_map: ClassVar[Exact | None] = Exact(by_arcs)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.curvature, Real) and 0 < float(self.curvature) < np.inf):
            raise ValueError(f"Sphere: curvature must be a positive number, not {self.curvature!r}")
        object.__setattr__(self, "curvature", float(self.curvature))

    @cached_property
    def q(self) -> float:  # type: ignore[override]
        return math.sqrt(self.curvature)

    @cached_property
    def shrunk(self) -> float:  # type: ignore[override]
        return self.q

    def origin(self) -> Points:
        return np.append(np.zeros(self.dim), 1 / self.q)

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        fix = "if it is a direction, divide it by its length; if it is a latitude and a longitude, name the columns lat and lon"
        return self.normalised(self._real_batch(points), fix)

    def normalised(self, array: Array, fix: str) -> tuple[Points, dict[int, str]]:
        """Return vectors of the right norm, from those that are off by DRIFT at most, and the reasons of the others."""
        made, ratios = self._put_right(array)
        if ratios is None:
            return made, {}
        wrong = np.flatnonzero(~(np.abs(ratios - 1) <= DRIFT))
        made[wrong] = array[wrong]
        reasons = not_finite(array[wrong])
        wanted = "unit norm" if self.curvature == 1 else f"norm 1/√curvature = {1 / self.q:g}"
        words = f"is not of {wanted}: its norm is {{:.9g}}; {fix}"
        blame(reasons, np.ones(len(wrong)), lambda i: words.format(ratios[wrong[i]] / self.q))
        return made, {int(wrong[i]): reason for i, reason in reasons.items()}

    def _put_right(self, array: Array) -> tuple[Array, Array | None]:
        """Return vectors divided by how many times too long they are, and that: 1 where rounding alone leaves as much; None if
        none is off by more than DRIFT."""
        norm2 = 1 / self.curvature
        exact = norm_error(self.dim + 1)
        made: Array | None = None
        if array.size >= MANY and (kernels := compiled("row_kernels")):
            if self.dim == 2 and array.dtype == np.float64 and kernels.sphere_sum(array, norm2, exact)[1]:
                return array, None
            made = np.empty(array.shape)
            if kernels.put_right(array, norm2, exact, DRIFT, made):
                return made, None
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            squares = np.vecdot(array, array, dtype=np.float64) / norm2
            ratios = np.where(np.abs(squares - 1) <= exact, 1.0, np.sqrt(squares))
            if made is None:  # else rows stay as the loop made them, whatever is wrong with others
                made = array / ratios[:, None]
            return (array, None) if (ratios == 1).all() else (made, ratios)

    def _real_batch(self, points: ArrayLike) -> Array:
        """Return them as ever, but many numbers of single precision on S² as they are: they are put right as they are read."""
        if type(self) is Sphere and isinstance(points, np.ndarray) and points.dtype == np.float32:
            many = points.shape[1:] == (3,) and points.size >= MANY and points.flags.c_contiguous
            if many and compiled() is not None:
                return points
        return super()._real_batch(points)

    def validate_and_start(self, points: ArrayLike) -> tuple[Points, Points | None, Moments | None]:
        """Return canonical points and a start: one read checks and adds up the records, unless one must be put right.  For very
        many on S² the mean of some is the start, and one read checks all records and gives the moments there."""
        array = self._real_batch(points)
        n = len(array)
        plain = type(self) is Sphere and array.dtype == np.float64 and n > 0
        kernels = compiled() if plain and (array.size >= MANY or loaded()) else None
        if kernels is None:
            return super().validate_and_start(array)
        some = array
        if self.dim == 2 and self.curvature == 1 and n >= LARGE:
            some = array[: n - n % 64].reshape(64, -1, 3)[:, : LARGE // 1024].reshape(-1, 3)
        add = kernels.sphere_sum if self.dim == 2 else kernels.direction_sum
        total, right = add(some, 1 / self.curvature, norm_error(self.dim + 1))
        if not right:
            return super().validate_and_start(array)
        x = self._toward(total / len(some), some[0])
        if some is array:
            return array, x, None
        for _ in range(2):
            logs, hessian, *_ = kernels.sphere_moments(some, x, angle_series(), NEAR, 0.0)
            x = self.retract(x, self.newton(x, Moments(1.0, logs / len(some), hessian / len(some), 0.0)))
        *sums, right = kernels.sphere_moments(array, x, angle_series(), NEAR, norm_error(3))
        return (array, x, Moments(n, *sums)) if right else (self.validate(array), x, None)

    def corrections(self, points: Array) -> list[str]:
        drift = np.abs(np.linalg.norm(points, axis=1) * self.q - 1)
        words = "records are not quite of the right length, by up to {most} of it; each is divided by its length"
        return put_right(drift, DRIFT, words)

    @property
    def from_degrees(self) -> Callable[[Array, Array], Array] | None:
        return self._from_degrees if self.dim == 2 and self.directions else None

    def _from_degrees(self, latitude: Array, longitude: Array) -> Array:
        """Return (cos φ·cos λ, cos φ·sin λ, sin φ) / √curvature."""
        up = np.radians(latitude)
        round_ = np.radians(longitude)
        units = [np.cos(up) * np.cos(round_), np.cos(up) * np.sin(round_), np.sin(up)]
        return np.asarray(np.stack(units, axis=-1) * (1 / np.sqrt(self.curvature)))

    def to_degrees(self, points: Array) -> Array | None:
        return degrees_of(points) if self.dim == 2 and self.directions else None

    def from_coordinates(self, base: Points, coordinates: Array) -> Points:
        padded = np.concatenate([np.zeros((*coordinates.shape[:-1], 1)), coordinates], axis=-1)
        return _reflect(base * self.q, padded)

    def coordinates(self, base: Points, vectors: Points) -> Array:
        return np.asarray(_reflect(base * self.q, vectors)[..., 1:])

    def log_map(self, base: Points, rows: Array | None = None) -> Callable[[Points], Array]:
        """Return θ/sin θ times one product of the records with the basis, which is blind to the part along the base."""
        plain = super().log_map(base, rows)
        basis = self.tangent_basis(base)
        x = np.ascontiguousarray(base)
        columns = np.ascontiguousarray((basis if rows is None else rows @ basis).T)

        def of(points: Points) -> Array:
            kernels = compiled() if points.size >= MANY else None
            if kernels is None or not points.flags.c_contiguous:
                return plain(points)
            if columns.shape == (3, 2):
                return np.asarray(kernels.sphere_chart(points, x, self.q, columns, angle_series(), NEAR))
            found = np.asarray(points @ columns)
            kernels.stretch(found, points, x, self.q, angle_series(), NEAR)
            return found

        return of

    def widest(self, low: float | None = None, high: float | None = None) -> tuple[Points, float]:
        """Return the whole sphere: radius π/√κ about any point."""
        if low is not None or high is not None:
            raise ValueError(f"{self}: directions have no range of numbers; the whole sphere is the widest ball")
        return self.origin(), math.pi / math.sqrt(self.curvature)

    def embedding(self) -> Embedding | None:
        return RoundEmbedding(self.dim + 1, self.curvature)

    def drawn_in(self, base: Points, points: Points, radius: float) -> Points | None:
        many = type(self) is Sphere and points.size >= MANY and self.q * radius < 3.0
        kernels = compiled("row_kernels") if many else None
        if kernels is None:
            return None
        angle = self.q * radius
        chord = 2 / self.q * math.sin(angle / 2)
        made = np.empty(points.shape)
        kernels.draw_in(points, base, self.curvature, chord * chord, math.cos(angle), math.sin(angle) / self.q, made)
        return made

    def square_sums(self, bases: Points, points: Points) -> Array:
        kernels = compiled("row_kernels") if type(self) is Sphere and self._compiles(points) else None
        if kernels is None:
            return super().square_sums(bases, points)
        return np.asarray(kernels.square_sums(points, bases, bases[:0], angle_series(), NEAR))

    def mean_log(self, bases: Points, points: Points, weights: Array | None = None) -> Points:
        if weights is None and self.dim == 2 and self._compiles(points):
            return np.stack([self.moments(x, points).logs for x in bases]) / len(points)
        return super().mean_log(bases, points, weights)

    def _compiles(self, points: Points, adaptive: bool = False) -> bool:
        many = points.size >= MANY or (adaptive and loaded())
        return self.curvature == 1 and many and compiled() is not None

    def mean_start(self, points: Points, weights: Array | None = None) -> Points:
        if weights is None:
            return self._toward(np.full(len(points), 1 / len(points)) @ points, points[0])
        return self._toward(weights @ points, points[int(np.argmax(weights))])

    def _toward(self, vector: Array, otherwise: Points) -> Points:
        """Return the point in the direction of a vector, if it has one."""
        length = math.sqrt(vector @ vector) * self.q
        return vector / length if length > 1e-9 else otherwise.copy()

    def _compiled_moments(self, base: Points, points: Points, adaptive: bool) -> Moments | None:
        kernels = compiled() if self._compiles(points, adaptive) else None
        if kernels is None:
            return None
        n = float(len(points))
        if self.dim == 2:
            logs, hessian, square, _ = kernels.sphere_moments(points, base, angle_series(), NEAR, 0.0)
            return Moments(n, logs, hessian, max(0.0, square))
        toward, along, square = kernels.direction_moments(points, base, angle_series(), NEAR)
        return self._gathered(base, toward, n, along, square)

    def hessian(self, base: Points, points: Points) -> Array | None:
        """Return Σ φ + (1 − φ)·nnᵀ, φ = θ·cot θ."""
        if self.dim == 2 and self._compiles(points) and (moments := self.moments(base, points)).hessian.ndim == 2:
            return moments.hessian
        x = base * self.q

        def of_run(part: slice) -> tuple[Array, float]:
            y = points[part] * self.q
            cosine = y @ x
            phi = angle_over_sine(cosine) * cosine
            factor = (1 - phi) / np.maximum((1 - cosine) * (1 + cosine), 1e-12)
            return (y * factor[:, None]).T @ y, float(phi.sum())

        spread, along = in_runs(of_run, len(points), self.dim + 1, CACHE)
        basis = self.tangent_basis(base)
        return np.asarray(basis @ spread @ basis.T + along * np.eye(self.dim))


def _reflect(x: Points, vectors: Points) -> Points:
    """Return the Householder reflection that takes the unit vector x to ∓e₀, so tangent vectors at x to those at e₀."""
    mirror = x.copy()
    mirror[0] += 1.0 if x[0] >= 0 else -1.0
    mirror /= math.sqrt(mirror @ mirror)
    return np.asarray(vectors - 2 * (vectors @ mirror)[..., None] * mirror)


def degrees_of(points: ArrayLike) -> Array:
    """Return latitude and longitude (−180 to 180) of points of a 2-sphere, in degrees, (…, 2): asin(z/‖p‖) and atan2(y, x).

    >>> degrees_of([[0.0, 2.0, 0.0], [0.6, 0.0, -0.8]]).round(3).tolist()
    [[0.0, 90.0], [-53.13, 0.0]]
    """
    x, y, z = np.moveaxis(np.asarray(points, dtype=np.float64), -1, 0)
    return np.asarray(np.degrees(np.stack([np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x)], axis=-1)))
