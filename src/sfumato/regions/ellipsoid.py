"""An ellipsoid in the tangent space at a public point: where the records are known to lie, and the chart that it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidPointError
from ..numerics.arrays import CACHE, MANY, Array, Points, as_numbers, blocks, compiled
from ..spaces.base import Space
from .base import INSIDE, Settled

if TYPE_CHECKING:
    from .sketch import ModelSketch, Prior, Relation, SampleSketch

ORTHONORMAL = 1e-9  # how far products of the rows of a basis may be from 0 and 1, in all (as a root of squares)


@dataclass(frozen=True, eq=False)
class Ellipsoid(Settled):
    """All points exp_c(v) with ‖w‖ ≤ 1, where w = A⁻¹·B·v are the chart's p ≤ d coordinates of a tangent vector v at c.

    A is the diagonal matrix of the semi-axes; the rows of B are orthonormal in the space's coordinates at c.  Directions
    outside of the rows of B are frozen: nothing is learned about them, and no noise is spent on them.  Everything is public:
    choose it before you see the data, from another study, an atlas, or smoothness alone (the three makers below).

    Parameters
    ----------
    space : Space
        The space that the records are points of.
    center : array_like
        One point of the space, c.
    axes : array_like
        The p semi-axes: positive lengths in the metric of the space.
    basis : array_like, optional
        (p, d): the directions of the axes, orthonormal rows in ``space.coordinates`` at the centre; the first p coordinates
        unless given.
    source : str
        Where this knowledge comes from, in words; it is written into the record.
    spread : float, optional
        The typical distance of the records' mean from the centre, which a release must beat.  Unless given,
        √(Σaⱼ⁴/Σaⱼ²): the root mean square distance of records for which these axes are the best; the radius, for a ball.
    reach : float, optional
        The distance from the centre within which records lie, in all directions, the frozen ones too.  Unless given, the
        longest semi-axis where no direction is frozen; else it is not known (None).

    Examples
    --------
    >>> from sfumato import Euclidean
    >>> region = Ellipsoid(Euclidean(dim=3), center=[0.0, 0.0, 0.0], axes=[2.0, 0.5])
    >>> region.chart(np.array([[1.0, 0.0, 7.0], [4.0, 0.0, 0.0], [np.nan, 0.0, 0.0]])).round(6).tolist()
    [[0.5, 0.0], [1.0, 0.0], [0.0, 0.0]]
    >>> region.point(np.array([0.5, 0.5])).tolist(), region.radius, region.describe()
    ([1.0, 0.25, 0.0], 2.0, 'an ellipsoid with 2 of 3 directions, semi-axes from 0.5 to 2, given by hand')
    """

    space: Space
    center: Points = field(repr=False)
    axes: Array
    basis: Array = field(repr=False)
    source: str
    spread: float
    reach: float | None

    def __init__(
        self,
        space: Space,
        center: ArrayLike,
        axes: ArrayLike,
        basis: ArrayLike | None = None,
        *,
        source: str = "given by hand",
        spread: float | None = None,
        reach: float | None = None,
    ) -> None:
        point = public_point(space, center, "centre of the ellipsoid")
        lengths = _axes(space, axes)
        rows = np.eye(len(lengths), space.dim) if basis is None else _basis(space, basis, len(lengths))
        for name, length in {"spread": spread, "reach": reach}.items():
            if length is not None and not (isinstance(length, Real) and 0 < float(length) < 1e100):
                raise ValueError(f"the {name} of the ellipsoid must be a positive length, not {length!r}")
        if reach is None and len(lengths) == space.dim:
            reach = float(lengths.max())
        share = (lengths / lengths.max()) ** 2
        typical = float(lengths.max() * np.sqrt(np.sum(share**2) / np.sum(share)))
        for array in (point, lengths, rows):
            array.setflags(write=False)
        vars(self).update(space=space, center=point, axes=lengths, basis=rows, source=source)
        vars(self).update(spread=float(spread or typical), reach=None if reach is None else float(reach))

    @cached_property
    def _key(self) -> tuple[object, ...]:
        numbers = (self.center.tobytes(), self.axes.tobytes(), self.basis.tobytes())
        return self.space, *numbers, self.source, self.spread, self.reach

    # -- makers, each a pure function of public things -------------------------------------------------------------
    @staticmethod
    def from_sample(
        space: Space,
        public_points: ArrayLike,
        relation: Relation = "related",
        *,
        coverage: float | Literal["auto"] = "auto",
        modes: int | Literal["auto"] = "auto",
        weight: float | Literal["auto"] = "auto",
        prior: Prior | Literal["auto"] = "auto",
    ) -> SampleSketch:
        """Return centre, axes and size from a public sample: another study, an atlas, an earlier wave that was released.

        What it returns gives the ellipsoid by ``settle(n, epsilon)``: what is "auto" depends on both.

        Parameters
        ----------
        space : Space
            The space that the records are points of.
        public_points : array_like
            Two points at least, none of them private.
        relation : {"same", "related", "other"}
            How the public points relate to the records: they are from the same population; from a related one, such as the
            other sex or another sample of these populations; or from a different population, species or study.
        coverage : float or "auto"
            The share of points like these that the ellipsoid is to hold.
        modes : int or "auto"
            The number of axes p.
        weight : float or "auto"
            The weight of the prior in the second moment, between 0 and 1.
        prior : {"auto", "ball", "smooth", "open", "bending"}
            What the second moment is mixed with: all directions alike; or, for landmarks, smooth outlines, smooth open
            curves, or little bending.

        Examples
        --------
        >>> from sfumato import Euclidean
        >>> sample = np.random.default_rng(0).normal(size=(60, 6)) * [3.0, 1.0, 0.1, 0.1, 0.1, 0.1]
        >>> sketch = Ellipsoid.from_sample(Euclidean(dim=6), sample, relation="same")
        >>> [len(sketch.settle(n, 1.0).axes) for n in (5, 100, 100000)]
        [1, 1, 6]
        >>> whole = sketch.whole_error(100, 1.0)
        >>> round(whole.quantile(0.95), 2), round(whole.gain, 1)
        (0.44, 2.1)
        """
        from .sketch import from_sample

        return from_sample(space, public_points, relation, coverage, modes, weight, prior)

    @staticmethod
    def smooth(space: Space, center: ArrayLike, radius: float, order: float = 1.0, closed: bool = True) -> ModelSketch:
        """Return a sketch from smoothness alone, for landmarks along an outline: Fourier modes with variance (1 +
        f)^(−2·order) for f waves, or cosines if the curve is not closed.  The centre is one public shape, and records lie
        within the radius.

        >>> from sfumato import PlanarShapes
        >>> space = PlanarShapes(landmarks=40)
        >>> sketch = Ellipsoid.smooth(space, space.present(space.origin()), radius=0.1)
        >>> [len(sketch.settle(n, 1.0).axes) for n in (50, 100, 500)]
        [10, 18, 61]
        """
        from .sketch import from_landmarks

        return from_landmarks(space, center, radius, "smooth" if closed else "open", order)

    @staticmethod
    def bending(space: Space, center: ArrayLike, radius: float) -> ModelSketch:
        """Return a sketch from the thin-plate spline's bending energy at a public shape (principal warps, Bookstein 1989)."""
        from .sketch import from_landmarks

        return from_landmarks(space, center, radius, "bending")

    # -- the chart -------------------------------------------------------------------------------------------------
    def chart(self, points: Points) -> Array:
        """Return w = A⁻¹·B·coord_c(log_c y), clipped to ‖w‖ ≤ 1, for canonical points y: (n, p).

        Each row depends on its own record alone, so replacing one record moves their mean by at most 2/n (proofs, Result 5).
        A record whose logarithm fails, is not a number or overflows becomes 0, and the others do not notice.
        """
        return np.concatenate([np.empty((0, len(self.axes))), *self.chart_blocks(points)])

    def chart_blocks(self, points: Points) -> Iterator[Array]:
        """Yield the same for so many points at a time as stay in the processor's cache, for sums."""
        for block in tangent_blocks(self.space, self.center, points, self.basis / self.axes[:, None]):
            yield shorten(block, in_place=True)

    def of_tangents(self, tangents: Array) -> Array:
        """Return the chart's coordinates of tangent coordinates at the centre, (n, d), clipped."""
        with np.errstate(over="ignore", invalid="ignore"):
            return shorten(tangents @ (self.basis / self.axes[:, None]).T, in_place=True)

    def clip(self, points: Points) -> Points:
        """Return exp_c(W⁺w) for canonical points: projected on the directions of the ellipsoid, and clipped."""
        return self.point(self.chart(points))

    def tangent(self, w: Array) -> Array:
        """Return W⁺w = Bᵀ·A·w: tangent coordinates (…, d) at the centre."""
        return np.asarray((w * self.axes) @ self.basis)

    def point(self, w: Array) -> Points:
        """Return exp_c(W⁺w): the canonical point that chart coordinates (…, p) stand for."""
        return self.space.exp(self.center, self.space.from_coordinates(self.center, self.tangent(w)))

    def nearest(self, w: Array) -> Array:
        """Return chart coordinates of the point of the ellipsoid nearest to W⁺w, in the metric's norm at the centre.

        Outside it is wⱼ·aⱼ²/(aⱼ² + λ), with the λ that puts it on the edge: no mean in the ellipsoid is farther from it than
        from w (proofs, Result 5).

        >>> from sfumato import Euclidean
        >>> Ellipsoid(Euclidean(dim=2), [0.0, 0.0], axes=[2.0, 1.0]).nearest(np.array([1.0, 1.0])).round(3).tolist()
        [0.832, 0.554]
        """
        low = 0.0
        high = float(np.linalg.norm(w))
        if high <= 1:
            return w.copy()
        squares = (self.axes / self.radius) ** 2
        for _ in range(200):  # λ in squares of the longest axis: at the norm of w all lies inside
            middle = (low + high) / 2
            if np.linalg.norm(w * (squares / (squares + middle))) > 1:
                low = middle
            else:
                high = middle
        return shorten(w * (squares / (squares + high)))

    def as_chart(self) -> Ellipsoid:
        return self

    def moved(self, center: Points) -> Ellipsoid:
        space = self.space
        p = len(self.axes)
        ends = np.concatenate([np.eye(p), -np.eye(p)])
        seen = space.coordinates(center, space.log(center, self.point(ends)))
        along = (seen[:p] - seen[p:]) / self.axes[:, None] / 2
        basis = np.linalg.qr(along.T)[0].T if np.isfinite(along).all() else np.eye(p, space.dim)
        reach = None if self.reach is None else self.reach + float(space.distance(self.center, center))
        shown = space.present(center)
        return Ellipsoid(space, shown, self.axes, basis, source=self.source, spread=self.spread, reach=reach)

    def outside(self, points: Points) -> NDArray[np.bool_]:
        """Return which canonical points are clipped in the chart, those without a logarithm among them."""
        with np.errstate(over="ignore", invalid="ignore"):
            w = tangent_coordinates(self.space, self.center, points) @ self.basis.T / self.axes
            return np.asarray(~(np.linalg.norm(w, axis=1) <= INSIDE))

    # -- words and records -----------------------------------------------------------------------------------------
    @property
    def radius(self) -> float:
        """The longest semi-axis: no point of the ellipsoid is farther from the centre."""
        return float(self.axes.max())

    @property
    def frozen(self) -> int:
        """How many directions nothing is learned about."""
        return self.space.dim - len(self.axes)

    def describe(self) -> str:
        """Return what it is and where it comes from, in a line."""
        directions = f"{len(self.axes)} of {self.space.dim}" if self.frozen else f"all {self.space.dim}"
        lengths = f"semi-axes from {self.axes.min():.3g} to {self.axes.max():.3g}"
        return f"an ellipsoid with {directions} directions, {lengths}, {self.source}"

    def parameters(self) -> dict[str, Any]:
        arrays = {"center": self.space.present(self.center), "axes": self.axes, "basis": self.basis}
        numbers = {name: array.tolist() for name, array in arrays.items()}
        return {**numbers, "source": self.source, "spread": self.spread, "reach": self.reach}


def shorten(vectors: Array, radius: float = 1.0, in_place: bool = False) -> Array:
    """Return rows shortened to at most ``radius``; 0 in place of a row that has no finite length.

    >>> shorten(np.array([[3.0, 4.0], [0.1, 0.0], [1e300, 1e300], [np.nan, 0.0]])).round(6).tolist()
    [[0.6, 0.8], [0.1, 0.0], [0.0, 0.0], [0.0, 0.0]]
    """
    rows = np.ascontiguousarray(vectors) if in_place else vectors.copy()
    # rows of up to 16,000 numbers may be added in any order; NumPy adds longer ones in pairs, else they lose more than INSIDE
    if rows.size >= MANY and rows.ndim == 2 and rows.shape[1] <= 16_000 and (kernels := compiled()):
        kernels.shorten(rows, INSIDE * radius)
        return rows
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.sum(rows * rows, axis=-1, keepdims=True))
        known = np.isfinite(lengths)
        shrink = INSIDE * radius / np.maximum(np.where(known, lengths, 1.0), INSIDE * radius)
        rows *= shrink
    rows[~known[..., 0]] = 0.0
    return rows


def point_or_center(space: Space, center: Points, tangent: Array) -> Array:
    """Return exp_c of released tangent coordinates as users write it, or the centre where a user's exp has no such point.

    Nothing may fail after the charge, and which of the two it is depends on what was released alone.
    """
    shown = space.present(center)
    try:
        with np.errstate(all="ignore"):  # noise can lead so far that numbers overflow
            point = space.present(space.exp(center, space.from_coordinates(center, tangent)))
    except Exception:  # whatever a user's exp raises
        return shown
    return point if point.shape == shown.shape and np.isfinite(point).all() else shown


def tangent_coordinates(space: Space, center: Points, points: Points) -> Array:
    """Return coord_c(log_c y) of canonical points, (n, d): NaN where a record has none, whatever the other records are."""
    return np.concatenate([np.empty((0, space.dim)), *tangent_blocks(space, center, points)])


def tangent_blocks(space: Space, center: Points, points: Points, rows: Array | None = None) -> Iterator[Array]:
    """Yield rows·coord_c(log_c y) of canonical points, as many at a time as stay in the processor's cache: (…, p)."""
    log_map = space.log_map(center, rows)
    for part in blocks(len(points), int(np.prod(space.point_shape)), CACHE // 8):
        yield for_each(log_map, center, points[part])


def for_each(log_map: Callable[[Points], Array], center: Points, points: Points) -> Array:
    """Return what a function makes of each record: NaN where it fails for one.

    A logarithm that raises does so for all its rows at once.  Those at fault are then found by halving and replaced by the
    centre, and all rows are computed again: in the same place of an array of the same shape, so to the same bits as if
    nothing had happened.  A logarithm that fails at the centre too is broken, and raises.
    """

    def of(rows: Points) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(log_map(rows), dtype=np.float64)

    def at_fault(rows: Points, start: int) -> list[int]:
        try:
            of(rows)
        except Exception:
            if len(rows) == 1:
                return [start]
            middle = len(rows) // 2
            return at_fault(rows[:middle], start) + at_fault(rows[middle:], start + middle)
        return []

    try:
        return of(points)
    except Exception:  # whatever a user's logarithm raises: nothing may fail because of a record
        bad = at_fault(points, 0)
        points = points.copy()
    points[bad] = center
    values = of(points)
    values[bad] = np.nan
    return values


def public_point(space: Space, point: ArrayLike, what: str) -> Points:
    """Return one canonical point, or raise an error that names what it was to be."""
    if not isinstance(space, Space):
        raise TypeError(f"the first argument is a space such as sfumato.Sphere(dim=2), not {space!r}")
    try:
        return np.array(space.validate(as_numbers(point)[None])[0])
    except InvalidPointError as error:
        raise ValueError(f"the {what} {error.reason}") from None
    except ValueError as error:
        raise ValueError(f"the {what} is not a single point: {error}") from None


def _axes(space: Space, axes: ArrayLike) -> Array:
    lengths = np.array(as_numbers(axes), dtype=np.float64)
    if lengths.ndim != 1 or not 1 <= len(lengths) <= space.dim:
        raise ValueError(f"{space}: an ellipsoid has between 1 and {space.dim} axes, not a shape of {lengths.shape}")
    for j in np.flatnonzero(~((lengths > 1e-100) & (lengths < 1e100))):
        raise ValueError(f"axis {j} of the ellipsoid must be a positive length, 1e-100 to 1e100, not {lengths[j]}")
    return lengths


def _basis(space: Space, basis: ArrayLike, p: int) -> Array:
    rows = np.array(as_numbers(basis), dtype=np.float64)
    if rows.shape != (p, space.dim):
        raise ValueError(f"the basis of the ellipsoid has shape {rows.shape}, expected ({p}, {space.dim})")
    if not np.linalg.norm(rows @ rows.T - np.eye(p)) <= ORTHONORMAL:
        raise ValueError("the rows of the ellipsoid's basis are not orthonormal; numpy.linalg.qr makes them so")
    return rows
