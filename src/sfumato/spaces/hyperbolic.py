"""Hyperbolic space of curvature −1: trees and hierarchies."""

import math
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import CACHE, MANY, Array, Points, compiled, in_runs, loaded, uniform_weights
from ..numerics.curvature import angle_series, coth_excess
from .base import Moments, Space, blame, not_finite, put_right
from .exact import HYPERBOLIC, Exact, hyperbolic

DRIFT = 1e-3  # of the first number, as against the one that the others leave: each is put right
CLOSE = 16.0  # x₀y₀, or x₀ alone, up to which ⟨x, y⟩ loses few digits
FARTHEST = 1e10  # the largest sinh of a distance from the origin: doubles are 1e-6 apart there


@dataclass(frozen=True)
class Hyperbolic(Space):
    """Hyperbolic space, in which trees and hierarchies have room: the sheet x₀ = √(1 + x₁² + …) of the hyperboloid in R^(d+1).

    Points come on the hyperboloid, d + 1 numbers with x₀ first, or in the Poincaré ball, d numbers of norm below 1.
    A point is stored by its space-like part x₁ … x_d, from which x₀ follows.  A tangent vector at x is written in the frame
    that the boost from the origin to x carries along: a 0, then its d coordinates; so lengths and angles are those of R^d.

    >>> space = Hyperbolic(dim=2)
    >>> x, y = space.validate([[0.0, 0.0], [0.5, 0.0]])
    >>> y.round(6).tolist(), round(float(space.distance(x, y)), 6), space.to_poincare(y).tolist()
    ([1.666667, 1.333333, 0.0], 1.098612, [0.5, 0.0])
    """

    dim: int
    name: ClassVar[str] = "hyperbolic"
    metric: ClassVar[str] = "hyperbolic distance"
    size_option: ClassVar[str | None] = "dim"
    usual_size: ClassVar[int | None] = 2
    by_name: ClassVar[bool] = True
    exact_map: ClassVar[Exact | None] = Exact(hyperbolic, HYPERBOLIC)

    def origin(self) -> Points:
        return np.append(1.0, np.zeros(self.dim))

    @property
    def layouts(self) -> dict[str, tuple[int, ...]]:
        return {"points of the hyperboloid": (self.dim + 1,), "points of the Poincaré ball": (self.dim,)}

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        array = self._real_batch(points)
        in_ball = array.shape[1] == self.dim
        with np.errstate(all="ignore"):
            norm = _size(array) if in_ball else np.zeros(1)
            made = _lifted(2 * array / ((1 - norm) * (1 + norm))[:, None] if in_ball else array[:, 1:])
            due = made[:, 0]
            first = due if in_ball else array[:, 0]
            off = ~(np.abs(first - due) <= DRIFT * due)
            far = ~(due <= (1 + 1e-12) * FARTHEST)
        outside = ~(norm < 1)
        if not (off.any() or far.any() or outside.any()):
            return made, {}
        reasons = not_finite(array)
        words = (
            "is not in the Poincaré ball: its norm is {:.9g}, and must be below 1; if it was rounded outwards, shorten it, "
            "as to a norm of 0.99999"
        )
        blame(reasons, outside, lambda row: words.format(norm[row]))
        other = "lies on the other sheet: its first number, x₀, is negative; change all signs"
        blame(reasons, first < 0, lambda _: other)
        sheet = (
            "is not on the hyperboloid: x₀ is {:.6g}, and must be √(1 + x₁² + …) = {:.6g}; x₀ stands first; for coordinates "
            f"in the Poincaré ball of dimension {self.dim + 1} say dim={self.dim + 1}"
        )
        blame(reasons, off & (not in_ball), lambda row: sheet.format(first[row], due[row]))
        away = (
            f"lies too far out to be told from its neighbours: more than {math.asinh(FARTHEST):.3g} from the origin; "
            "a norm in the Poincaré ball must stay below 1 − 2e-10"
        )
        blame(reasons, far, lambda _: away)
        made[list(reasons)] = self.origin()
        return made, reasons

    def validate_and_start(self, points: ArrayLike) -> tuple[Points, Points | None, Moments | None]:
        """Return points not far out as they are, if x₀ follows from the others up to rounding, and the start."""
        array = self._real_batch(points)
        first = array[:, 0]
        if array.shape[1] == self.dim + 1 and len(array) and first.min() > 0 and first.max() <= CLOSE:
            with np.errstate(over="ignore", invalid="ignore"):
                square = first * first
                exact = (np.abs(2 * square - np.vecdot(array, array) - 1) <= 2.0**-50 * square).all()
            if exact:
                total = np.full(len(array), 1 / len(array)) @ array
                return array, total / math.sqrt(2 * total[0] ** 2 - total @ total), None
        return super().validate_and_start(array)

    def corrections(self, points: Array) -> list[str]:
        if points.shape[1] == self.dim:
            return []
        due = _lifted(points[:, 1:])[:, 0]
        words = "records are not quite on the hyperboloid; x₀ is taken from the others"
        return put_right(np.abs(points[:, 0] - due) / due, DRIFT, words)

    def present(self, points: Points) -> Array:
        return _lifted(np.asarray(points, dtype=np.float64)[..., 1:])

    def to_poincare(self, points: ArrayLike) -> Array:
        """Return x/(1 + x₀): points of the hyperboloid in the Poincaré ball.

        >>> Hyperbolic(dim=1).to_poincare([1.25, 0.75]).round(6).tolist()
        [0.333333]
        """
        lifted = self.present(np.asarray(points))
        return np.asarray(lifted[..., 1:] / (1 + lifted[..., :1]))

    def from_poincare(self, points: ArrayLike) -> Array:
        """Return ((1 + ‖x‖²), 2x)/(1 − ‖x‖²): points of the Poincaré ball on the hyperboloid.

        >>> Hyperbolic(dim=1).from_poincare([[1 / 3]]).round(6).tolist()
        [[1.25, 0.75]]
        """
        array = np.asarray(points, dtype=np.float64)
        return self.validate(array.reshape(-1, self.dim)).reshape(*array.shape[:-1], self.dim + 1)

    def exp(self, base: Points, vectors: Points) -> Points:
        """Return the boost to the base of (cosh t, sinh t·v/t), t = ‖v‖; no farther from the origin than FARTHEST.  Along the
        base it is p₀w + ‖p‖w₀ = ½[P·(w₀ + w) − (w₀ − w)/P], P = p₀ + ‖p‖, in which nothing cancels that was rounded."""
        p = np.asarray(base)[..., 1:]
        v = np.asarray(vectors)[..., 1:]
        size = _size(p)[..., None]
        t = _size(v)[..., None]
        length = np.minimum(t, math.asinh(FARTHEST) + np.arcsinh(size))  # any more leads out
        w = v / np.where(t > 0, t, 1.0) * np.sinh(length)
        along = p / np.where(size > 0, size, 1.0)
        w_along = np.sum(along * w, axis=-1, keepdims=True)
        across = w - w_along * along
        plus, minus = _light(w_along, _size(across)[..., None])
        P = np.sqrt(1 + size * size) + size
        y = across + (P * plus - minus / P) / 2 * along
        return _lifted(y * np.minimum(1.0, FARTHEST / np.maximum(_size(y)[..., None], 1.0)))

    def log(self, base: Points, points: Points) -> Points:
        """Return asinh(‖z‖)·z/‖z‖, z the space-like part of the point after the boost that takes the base to the origin."""
        z = _boosted_back(np.asarray(base)[..., 1:], np.asarray(points)[..., 1:])
        length = np.linalg.norm(z, axis=-1, keepdims=True)
        stretch = np.where(length > 0, np.arcsinh(length) / np.where(length > 0, length, 1.0), 1.0)
        return self.from_coordinates(base, z * stretch)

    def distance(self, a: Points, b: Points) -> Array:
        """Return asinh(‖z‖), exact near 0 and far out."""
        z = _boosted_back(np.asarray(a)[..., 1:], np.asarray(b)[..., 1:])
        return np.asarray(np.arcsinh(np.linalg.norm(z, axis=-1)))

    def from_coordinates(self, base: Points, coordinates: Array) -> Points:
        return np.concatenate([np.zeros((*coordinates.shape[:-1], 1)), coordinates], axis=-1)

    def coordinates(self, base: Points, vectors: Points) -> Array:
        return np.asarray(vectors[..., 1:])

    def mean_start(self, points: Points, weights: Array | None = None) -> Points:
        """Return the mean in Minkowski's space, put back onto the sheet."""
        w = uniform_weights(len(points), weights)
        total = w @ points
        length = total[0] ** 2 - total[1:] @ total[1:]
        return _lifted(total[1:] / math.sqrt(length)) if length > 1e-9 * total[0] ** 2 else points[int(np.argmax(w))]

    def moments(
        self, base: Points, points: Points, weights: Array | None = None, accuracy: float = 0.0, adaptive: bool = False
    ) -> Moments:
        """Return the sums; the Hessian t·coth t·(1 − nnᵀ) + nnᵀ has the trace 1 + (d − 1)·t·coth t.  If ``adaptive``, compiled
        loops may take points not far out for directions with Minkowski's product."""
        if adaptive and weights is None and (kernels := self._near(base, points)):
            series = angle_series(hyperbolic=True)
            toward, along, square = kernels.direction_moments(points, self._signs * base, series, math.inf)
            return self._gathered(base, toward, len(points), along, square)
        w = np.ones(len(points)) if weights is None else weights
        sums = in_runs(lambda part: self._sums(base, points[part], w[part]), len(w), 12 * base.size)
        return self._of_sums(base, *sums)

    def _gathered(self, base: Points, toward: Array, weight: float, along: float, square: float, *_: float) -> Moments:
        """Return moments from sums in Minkowski's space."""
        ambient = toward - along * base
        return self._of_sums(base, weight, ambient[1:] - base[1:] * (ambient[0] / (1 + base[0])), along, square)

    def _of_sums(self, base: Points, weight: float, logs: Array, along: float, square: float) -> Moments:
        trace = np.asarray(weight + (self.dim - 1) * along)
        return Moments(float(weight), self.from_coordinates(base, logs), trace, abs(square))

    def _sums(self, base: Points, points: Points, w: Array) -> tuple[float, Array, float, float]:
        """Return sums of weights, of logarithms, of t·coth t and of t²."""
        z = _boosted_back(base[1:], points[:, 1:])
        sinh = np.linalg.norm(z, axis=1)
        t = np.arcsinh(sinh)
        stretch = w * np.where(sinh > 0, t / np.where(sinh > 0, sinh, 1.0), 1.0)
        return float(w.sum()), stretch @ z, float(stretch @ np.hypot(1.0, sinh)), float(w @ (t * t))

    @cached_property
    def _signs(self) -> Array:
        return np.append(1.0, np.full(self.dim, -1.0))

    def _near(self, base: Points, points: Points) -> ModuleType | None:
        """Return compiled loops for points that lie so near to the origin and the base that ⟨x, y⟩ loses no digits."""
        near = points[:, 0].max() * base[0] <= CLOSE and (points @ (self._signs * base)).max() <= 10
        return compiled() if near and (loaded() or points.size >= MANY) else None

    def descend(self, base: Points, points: Points, tolerance: float, most: int) -> tuple[Points, int, Moments | None]:
        if points.size > CACHE or not loaded() or (kernels := self._near(base, points)) is None:
            return base, 0, None
        angles = (angle_series(hyperbolic=True), math.inf)
        x, taken, sums = kernels.descend(points, base, self._signs, False, self.dim, angles, (tolerance, most))
        return x, taken, self._gathered(x, *sums)

    def hessian_trace(self, base: Points, points: Points) -> Array:
        """Return 1 + (d − 1)·t·coth t."""
        return np.asarray(self.dim + (self.dim - 1) * coth_excess(self.distance(base, points)))

    def rounding_error(self, center: Points, reach: float) -> float:
        """Return a bound: a rounding of a point at distance T from the origin moves it by cosh T units of it, and logarithms
        do not stretch that; some two dozen more of the numbers on the way.  Beyond FARTHEST there are no points, nor bounds."""
        far = float(np.arcsinh(np.linalg.norm(center[1:]))) + reach
        if far > math.asinh(FARTHEST):
            return math.inf
        return (32 + 8 * math.sqrt(self.dim)) * 2.0**-53 * math.cosh(far) * (1 + reach)


def _size(x: Array) -> Array:
    """Return Euclidean norms, of numbers of any size: each divided by its largest number first where squares are no good."""
    with np.errstate(over="ignore"):
        found = np.asarray(np.sqrt(np.vecdot(x, x)))
    odd = ~((found > 1e-140) & (found < 1e140))
    if odd.any():
        some = x[odd]
        largest = np.abs(some).max(axis=-1)
        scale = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
        found[odd] = np.linalg.norm(some / scale[..., None], axis=-1) * scale
    return found


def _lifted(side: Array) -> Array:
    """Return points of the hyperboloid from their space-like parts."""
    return np.concatenate([np.hypot(1.0, _size(side))[..., None], side], axis=-1)


def _light(along: Array, across: Array) -> tuple[Array, Array]:
    """Return x₀ + along and x₀ − along of the point with these parts: their product is 1 + across², so neither cancels."""
    square = 1 + across * across
    large = np.sqrt(square + along * along) + np.abs(along)
    return np.where(along >= 0, large, square / large), np.where(along >= 0, square / large, large)


def _boosted_back(p: Array, y: Array) -> Array:
    """Return the space-like part of y after the boost that takes p to the origin, both given by theirs: across p that of y,
    along p p₀y₁ − ‖p‖y₀, y₁ being y's part along p.  With a = y₁ − ‖p‖ that equals (a·(1 + c) − ‖p‖·‖y⊥‖²)/(y₀ + p₀),
    c = p₀y₀ − ‖p‖y₁ = ½[(y₀ + y₁)/P + P·(y₀ − y₁)], P = p₀ + ‖p‖, which is accurate for near points too."""
    size = _size(p)[..., None]
    along = p / np.where(size > 0, size, 1.0)
    step = y - p
    a, y_along = (np.sum(along * x, axis=-1, keepdims=True) for x in (step, y))
    steps, lengths = (np.sum(x * x, axis=-1, keepdims=True) for x in (step, y))
    near = steps < lengths  # the shorter is rounded less
    across = np.where(near, step - a * along, y - y_along * along)
    width = np.linalg.norm(across, axis=-1, keepdims=True)
    p0 = np.sqrt(1 + size * size)
    plus, minus = _light(np.where(near, size + a, y_along), width)
    P = p0 + size
    c = (plus / P + P * minus) / 2
    moved = (a * (1 + c) - size * width * width) / ((plus + minus) / 2 + p0)
    return np.asarray(across + moved * along)
