"""Planar curves up to place, length and rotation, by their square-root velocities (Srivastava, Klassen, Joshi and Jermyn 2011;
Srivastava and Klassen 2016)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array, Points
from .base import Kind, Space, blame, not_finite
from .exact import Exact, rays
from .rays import Rays

COINCIDENT = 1e-12  # length over the largest coordinate below which all points of a curve are one


@dataclass(frozen=True)
class ElasticCurves(Rays):
    """Curves in the plane, sampled at ``points`` points, with the elastic metric.

    Users give curves as (n, points, 2), or complex (n, points).  With the steps sⱼ from point to point and the length
    L = Σ|sⱼ|, a canonical point is q, qⱼ = sⱼ/√(|sⱼ|·L): the square-root velocity c′/√|c′| of the curve of length one, a
    complex vector of norm one.  Two curves are as far apart as arccos |⟨q₁, q₂⟩|, the angle between them after the best
    rotation.  So open curves are the complex projective space CP^(points−2).

    A ``closed`` curve has a step from its last point to its first.  Logarithms and distances are those of its velocities from
    a fixed starting point, which is CP^(points−1); what is released is closed by :meth:`present`.

    With ``reparametrize`` a curve is first brought to the point at which its logarithm is asked, in a chart the public centre:
    by the best reparametrization, found by dynamic programming, and from the best starting point if it is closed.  That
    makes charts, but distances are then no longer those of a metric: see the page on spaces.

    >>> space = ElasticCurves(points=4, closed=False)
    >>> hook = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.0, 1.0]])
    >>> turned = 5 * hook @ np.array([[0.0, -1.0], [1.0, 0.0]]) + 2
    >>> line = [[0, 0], [1, 0], [2, 0], [3, 0]]
    >>> a, b, c = space.validate([hook, turned, line])
    >>> float(space.distance(a, b)) < 1e-15, round(float(np.cos(space.distance(a, c))), 6)    # |2 + i|/3
    (True, 0.745356)
    """

    points: int
    closed: bool
    reparametrize: bool = False
    name: ClassVar[str] = "elastic-curves"
    metric: ClassVar[str] = "elastic distance between square-root velocities"
    kind: ClassVar[Kind] = "landmarks"
    size_option: ClassVar[str | None] = "points"
    landmark_dim: ClassVar[int | None] = 2
    by_name: ClassVar[bool] = True
    least_size: ClassVar[int] = 3
    small: ClassVar[dict[str, Any]] = {"points": 4, "closed": False}
    exact_map: ClassVar[Exact | None] = Exact(rays)

    def __post_init__(self) -> None:
        for name in ("closed", "reparametrize"):
            if not isinstance(value := getattr(self, name), (bool, np.bool_)):
                raise ValueError(f"ElasticCurves: {name} must be True or False, not {value!r}")
            object.__setattr__(self, name, bool(value))
        super().__post_init__()

    def _dimension(self) -> int:
        return 2 * self.point_shape[0] - 2

    def origin(self) -> Points:
        """Return a straight line, or a regular polygon."""
        m = self.points if self.closed else self.points - 1
        return np.asarray(np.exp(2j * np.pi * np.arange(m) / m * self.closed) / np.sqrt(m))

    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        z = self._complex(points, self.points)
        reasons = not_finite(z)
        xy = np.stack([z.real, z.imag], axis=-1)
        xy = np.where(np.isfinite(xy), xy, 0.0)
        largest = np.abs(xy).max(axis=(1, 2), keepdims=True)
        xy = xy / np.where(largest < 1e-300, 1.0, largest)  # no overflow, no underflow
        steps = (np.roll(xy, -1, axis=1) - xy)[:, : self.point_shape[0]]
        sizes = np.sqrt(steps[..., 0] ** 2 + steps[..., 1] ** 2)
        length = np.add.reduce(sizes, axis=1)
        blame(reasons, length <= COINCIDENT, lambda _: f"has no curve: all its {self.points} points coincide")
        roots = np.sqrt(sizes) * np.sqrt(length)[:, None]
        made = steps / np.where(roots > 0, roots, 1.0)[..., None]
        q = made[..., 0] + 1j * made[..., 1]
        q[list(reasons)] = self.origin()
        return q, reasons

    def present(self, points: Points) -> Array:
        """Return the curve of length one about its mean point.  The gap of one that should be closed is spread along it, each
        step s less |s| times the gap: steps that sum to nothing."""
        q = self._unit(points)
        steps = q * np.abs(q)
        if self.closed:
            sizes = np.abs(steps)
            steps = steps - sizes * (np.sum(steps, axis=-1, keepdims=True) / np.sum(sizes, axis=-1, keepdims=True))
            length = np.sum(np.abs(steps), axis=-1, keepdims=True)
            regular = self.origin() / np.sqrt(self.points)  # in place of a straight line, which closes to a point
            steps = np.where(length > COINCIDENT, steps / np.where(length > 0, length, 1.0), regular)
        else:
            steps = np.concatenate([steps, np.zeros_like(steps[..., :1])], axis=-1)
        curve = np.cumsum(steps, axis=-1) - steps
        curve = curve - np.mean(curve, axis=-1, keepdims=True)
        return np.stack([curve.real, curve.imag], axis=-1)

    def _facing(self, base: Points, points: Points) -> Points:
        """Return curves reparametrized to ``base``, where that is asked for."""
        if not self.reparametrize:
            return points
        from ..numerics.warps import warped  # which loads Numba

        m = self.point_shape[0]
        base = self._unit(base)
        points = self._unit(points)
        shape = np.broadcast_shapes(np.shape(base), np.shape(points))
        bases, curves = (
            np.ascontiguousarray(np.broadcast_to(each, size), dtype=np.complex128).view(np.float64).reshape(-1, m, 2)
            for each, size in ((base, shape if np.ndim(base) > 1 else (m,)), (points, shape))
        )
        return warped(bases, curves, self.closed).view(np.complex128).reshape(shape)

    def mean_log(self, bases: Points, points: Points, weights: Array | None = None) -> Points:
        if self.reparametrize:
            return Space.mean_log(self, bases, points, weights)
        return super().mean_log(bases, points, weights)

    def displacements(self, base: Points, bending: bool = False) -> Array:
        """Return those of the velocities, not of the points: those are what may be smooth along a curve."""
        if bending:
            raise ValueError(f"{self}: no bending energy is known for its curves; give smoothness or a public sample")
        basis = self.tangent_basis(base)
        return np.stack([basis.real, basis.imag], axis=-1)
