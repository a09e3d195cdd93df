"""The contract of a space: its geometry, and how users write its points.  Spaces know nothing of privacy."""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidPointError
from ..numerics.arrays import MANY, Array, Points, as_numbers, blocks, compiled, in_pairs, loaded, runs
from ..numerics.curvature import angle_series

if TYPE_CHECKING:
    from .embedding import Embedding
    from .exact import Exact

Kind = Literal["landmarks", "matrices", "vectors", "arrays"]  # (k, 2) or (k, 3), symmetric (k, k), (m,), any other


@dataclass(frozen=True)
class Moments:
    """Sums over records yᵢ of weight wᵢ at one point x: Σwᵢ, Σwᵢ·log_x yᵢ, Σwᵢ·Hess ½ρ(·, yᵢ)², as a matrix in the
    coordinates at x or as its trace alone, and Σwᵢρ(x, yᵢ)²; ``error`` bounds what a series left out of the mean logarithm."""

    weight: float
    logs: Points
    hessian: Array
    square: float
    error: float = 0.0

    def __add__(self, other: Moments) -> Moments:
        names = ("weight", "logs", "hessian", "square")
        sums: dict[str, Any] = {name: getattr(self, name) + getattr(other, name) for name in names}
        return Moments(**sums, error=max(self.error, other.error))


class Space(ABC):
    """A Riemannian manifold, batched: arrays of points are (n, *point_shape), tangent vectors likewise.

    Methods take canonical points, as :meth:`validate` returns them; :meth:`present` turns those back into what users
    type.  A new manifold is one subclass in one file.

    Row i of what :meth:`diagnose`, :meth:`exp`, :meth:`log`, :meth:`distance`, :meth:`coordinates` and
    what :meth:`log_map` makes return depends on record i, its place and the number of records, to the last bit, and on no other
    record: privacy rests on it.  No stopping rule, scale or choice of a method may be common to a batch.
    """

    name: ClassVar[str]
    metric: ClassVar[str]
    usual_radius: ClassVar[str] = ""  # said after a radius that is too large
    kind: ClassVar[Kind] = "vectors"  # what one point is as users type it
    threaded: ClassVar[int] = 10**6  # numbers of records above which threads gain more than they cost

    # -- what it is ---------------------------------------------------------------------------------------------
    dim: int  # dimension d of the manifold

    @abstractmethod
    def origin(self) -> Points:
        """Return a fixed point of the space, for plans and tests."""

    @cached_property
    def point_shape(self) -> tuple[int, ...]:
        """The shape of one canonical point."""
        return self.origin().shape

    def parameters(self) -> dict[str, Any]:
        """Return the arguments that make this space again, for records: those of a dataclass unless a space says."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.init}  # type: ignore[arg-type]

    @classmethod
    def from_parameters(cls, parameters: dict[str, Any]) -> Space:
        """Return the space that has these :meth:`parameters`, as a record holds them."""
        return cls(**parameters)

    @property
    def typed(self) -> str:
        """The space as a user types it.

        >>> from sfumato import SPD, Sphere
        >>> SPD(size=3).typed, Sphere(dim=2).typed
        ('spd(size=3)', 'sphere(dim=2, curvature=1.0)')
        """
        arguments = ", ".join(f"{name}={value}" for name, value in self.parameters().items() if value is not None)
        return f"{self.name}({arguments})" if arguments else self.name

    # -- how large it is, and when records are taken for its points ----------------------------------------------------
    size_option: ClassVar[str | None] = None  # the argument that says how large the space is, where one does
    least_size: ClassVar[int] = 1  # the smallest that it may be
    usual_size: ClassVar[int | None] = None  # what it is where nobody says
    small: ClassVar[dict[str, Any]] = {}  # arguments of the example, where a size of 2 is not enough
    fixed_diagonal: ClassVar[float | None] = None  # of all its matrices, so that files may leave it out
    by_name: ClassVar[bool] = False  # whether records are taken for points of it only where it is named

    def __post_init__(self) -> None:
        """Make the size, where it is a field, a plain int, or refuse it; set the dimension, where it is not one."""
        name = self.size_option
        if name and hasattr(self, name):
            size = whole_number(type(self).__name__, name, getattr(self, name), self.least_size)
            object.__setattr__(self, name, size)
        if (dim := self._dimension()) is not None:
            object.__setattr__(self, "dim", dim)

    def _dimension(self) -> int | None:
        """Return the dimension where it follows from the size."""
        return None

    @classmethod
    def example(cls) -> Space:
        """Return a small space of this kind, on which tests and attacks try it.

        >>> from sfumato import SPD, Grassmann
        >>> SPD.example(), Grassmann.example()
        (SPD(size=2), Grassmann(n=4, p=2))
        """
        size = {cls.size_option: 2} if cls.size_option else {}
        return cls(**(cls.small or size))

    # -- points in and out ----------------------------------------------------------------------------------------
    @abstractmethod
    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        """Return canonical points, and for each row that is not a point the reason (its canonical row is then arbitrary).  They
        may be the array that was given, where that is canonical already: treat them as read-only."""

    def validate(self, points: ArrayLike) -> Points:
        """Return canonical points, or raise an :class:`InvalidPointError` that names the first bad row and the reason."""
        canonical, reasons = self.diagnose(points)
        if reasons:
            raise InvalidPointError(reasons)
        return canonical

    def validate_and_start(self, points: ArrayLike) -> tuple[Points, Points | None, Moments | None]:
        """Return canonical points, a point near their mean and the moments there, where the check comes upon them."""
        return self.validate(points), None, None

    def present(self, points: Points) -> Array:
        """Return canonical points in the layout that users read and write."""
        return np.asarray(points, dtype=np.float64)

    @cached_property
    def layouts(self) -> dict[str, tuple[int, ...]]:
        """The ways in which users may write one point, by what they are called, and the shape of each; all of different shapes.
        :meth:`diagnose` takes batches of any, :meth:`present` gives the first."""
        return {self.kind: self.present(self.origin()).shape}

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Return whether users may write one point in this shape: that of a layout, unless a space takes others too."""
        return shape in self.layouts.values()

    def corrections(self, points: Array) -> list[str]:
        """Return what :meth:`diagnose` will put right in such points, in words for the curator."""
        return []

    @property
    def from_degrees(self) -> Callable[[Array, Array], Array] | None:
        """The function that makes points of latitudes and longitudes in degrees, where points have these."""
        return None

    def to_degrees(self, points: Array) -> Array | None:
        """Return latitudes and longitudes of points in degrees, (n, 2), where points have these."""
        return None

    def _real_batch(self, points: ArrayLike) -> Array:
        """Return a batch of real points, in any layout, as float64; not a copy where it is that already."""
        array = as_numbers(points)
        if np.iscomplexobj(array):
            raise ValueError(f"{self}: complex numbers where real ones are due")
        if not array.ndim or (array.shape[1:] != self.point_shape and not self.takes(array.shape[1:])):
            ways = {name: f"(n, {', '.join(map(str, shape))})" for name, shape in self.layouts.items()}
            known = " or ".join(f"{name} {shape}" if len(ways) > 1 else shape for name, shape in ways.items())
            raise ValueError(f"{self}: points have shape {array.shape}, expected {known}")
        return np.ascontiguousarray(array, dtype=np.float64)

    # -- geometry --------------------------------------------------------------------------------------------------
    @abstractmethod
    def exp(self, base: Points, vectors: Points) -> Points:
        """Return the end points of the geodesics that leave ``base`` with velocities ``vectors``."""

    def retract(self, base: Points, vectors: Points) -> Points:
        """Return points that differ from :meth:`exp` by the cube of the velocities at most, and are cheaper: for solvers."""
        return self.exp(base, vectors)

    @abstractmethod
    def log(self, base: Points, points: Points) -> Points:
        """Return the velocities of the shortest geodesics from ``base`` to ``points``; inverse of :meth:`exp`."""

    def _logs(self, base: Points, points: Points, adaptive: bool) -> Points:
        """Return :meth:`log`, for :meth:`moments`: if ``adaptive``, by a quicker way where one holds for all these points."""
        return self.log(base, points)

    def distance(self, a: Points, b: Points) -> Array:
        """Return the Riemannian distance: the length of :meth:`log`, unless there is a better way."""
        return self.norm(a, self.log(a, b))

    def inner(self, base: Points, u: Points, v: Points) -> Array:
        """Return the Riemannian inner product of tangent vectors at ``base``: Σuⱼvⱼ, unless the metric is another."""
        return np.asarray(np.sum(u * v, axis=tuple(range(-len(self.point_shape), 0))))

    def norm(self, base: Points, vectors: Points) -> Array:
        """Return the Riemannian length of tangent vectors."""
        lengths: Array = np.sqrt(np.maximum(self.inner(base, vectors, vectors), 0.0))
        return lengths

    @abstractmethod
    def from_coordinates(self, base: Points, coordinates: Array) -> Points:
        """Return tangent vectors at one base point from coordinates (…, dim) in a fixed orthonormal basis there."""

    @abstractmethod
    def coordinates(self, base: Points, vectors: Points) -> Array:
        """Return coordinates of tangent vectors at one base point; inverse of :meth:`from_coordinates`."""

    def log_map(self, base: Points, rows: Array | None = None) -> Callable[[Points], Array]:
        """Return the function that takes points y to rows·coordinates(base, log(base, y)), (n, p), at one base; to all d
        coordinates unless rows, (p, d), are given.  Charts ask it of every record: a space may have a quicker way."""

        chart = self._chart(base)
        return chart if rows is None else lambda points: chart(points) @ rows.T

    def _chart(self, base: Points) -> Callable[[Points], Array]:
        return lambda points: self.coordinates(base, self.log(base, points))

    def tangent_basis(self, base: Points) -> Points:
        """Return the orthonormal basis of the coordinates at one base point, (dim, *point_shape)."""
        return self.from_coordinates(base, np.eye(self.dim))

    def random_directions(self, base: Points, size: int, rng: np.random.Generator) -> Points:
        """Return unit tangent vectors at one base point, uniform on the sphere."""
        gaussian = rng.standard_normal((size, self.dim))
        return self.from_coordinates(base, gaussian / np.linalg.norm(gaussian, axis=1, keepdims=True))

    def random_points(self, center: Points, radius: float, size: int, rng: np.random.Generator) -> Points:
        """Return points uniform in direction and in distance up to ``radius``: data for plans and studies."""
        lengths = (radius * rng.random(size)).reshape(-1, *(1,) * len(self.point_shape))
        return self.exp(center, lengths * self.random_directions(center, size, rng))

    # -- where it lies, for what the paper compares with -----------------------------------------------------------------
    def embedding(self) -> Embedding | None:
        """Return the linear space that this one lies in, or None if it lies in none."""
        return None

    def widest(self, low: float | None = None, high: float | None = None) -> tuple[Points, float]:
        """Return centre and radius of a ball that surely holds the records: all of the space, where it is bounded; or all
        points whose numbers, as each space understands that, lie between two public ones."""
        wrong = "has no ball that surely holds all records: give a public centre and a generous radius"
        raise ValueError(f"{self} {wrong}")

    landmark_dim: ClassVar[int | None] = None  # coordinates of each landmark, where points are landmarks

    def displacements(self, base: Points, bending: bool = False) -> Array:
        """Return the tangent basis at a base point as displacements of landmarks, (dim, k, landmark_dim), where points are
        landmarks: those that may be smooth along an outline, or of little ``bending``."""
        return self.present(self.tangent_basis(base)).reshape(self.dim, -1, self.landmark_dim or 1)

    def align(self, base: Points, points: Points) -> Points:
        """Return points as they lie closest to ``base``, where the same point can be written in several ways."""
        return points

    # -- means -----------------------------------------------------------------------------------------------------
    def mean_log(self, bases: Points, points: Points, weights: Array | None = None) -> Points:
        """Return the weighted mean of log over all points, at each of m bases: the hot kernel (m·n logarithms)."""
        return np.stack([(found := self.moments(x, points, weights)).logs / found.weight for x in bases])

    def mean_start(self, points: Points, weights: Array | None = None) -> Points:
        """Return a point near the Fréchet mean, in closed form where there is one; else any point of the data."""
        return np.asarray(points[0 if weights is None else int(np.argmax(weights))])

    def hessian_trace(self, base: Points, points: Points) -> Array:
        """Return the trace of the Hessian of ½·distance(·, y)² at one base, for each y; it only sets the solver's steps."""
        return np.full(len(points), float(self.dim))

    def moments(
        self, base: Points, points: Points, weights: Array | None = None, accuracy: float = 0.0, adaptive: bool = False
    ) -> Moments:
        """Return the sums for the solver of the Fréchet mean, in one pass; logarithms may be off by ``accuracy``.  How they are
        summed may, if ``adaptive``, depend on all records and on what the process has loaded; never for a private release."""
        w = np.ones(len(points)) if weights is None else weights

        def of_run(part: slice) -> Moments:
            y = points[part]
            v = w[part]
            if adaptive and (found := self._quick_moments(base, y, v)) is not None:
                return found
            logs = self._logs(base, y, adaptive)
            trace = np.asarray(v @ self.hessian_trace(base, y))
            return Moments(float(v.sum()), np.tensordot(v, logs, 1), trace, float(v @ self.norm(base, logs) ** 2))

        return in_pairs(operator.add, map(of_run, runs(len(points), 8 * int(np.prod(self.point_shape)))))

    def _loops(self) -> tuple[int | None, float | None] | None:
        """Return ``sweeps`` and ``clear`` of ``frame_kernels.py``, where its loops find logarithms; they know no Hessian."""
        return None

    def _quick_moments(self, base: Points, points: Points, weights: Array) -> Moments | None:
        """Return moments of a run by these loops, for means that are not private; None where they are not accurate."""
        many = points.flags.c_contiguous and (loaded("frame_kernels") or points.size >= MANY)
        if not many or (how := self._loops()) is None or (kernels := compiled("frame_kernels")) is None:
            return None
        sums, fine = kernels.frame_moments(points, weights, base, *how, angle_series())
        weight = float(weights.sum())
        return Moments(weight, sums[:-1].reshape(base.shape), np.asarray(weight * self.dim), sums[-1]) if fine else None

    def descend(self, base: Points, points: Points, tolerance: float, most: int) -> tuple[Points, int, Moments | None]:
        """Return a point that should be nearer to the Fréchet mean than ``base``, the steps to it, at most so many, and the
        moments there: for means that are not private, by compiled loops that the process has loaded; else ``base``, 0, None."""
        return base, 0, None

    def newton(self, base: Points, moments: Moments) -> Points:
        """Return the tangent vector H⁻¹·(mean log) from mean moments: Newton's step to the mean, with H = trace/dim where no
        more is known, and nowhere less than ¼, as far from a mean H can be anything."""
        if moments.hessian.ndim == 0:
            return np.asarray(moments.logs * (self.dim / max(float(moments.hessian), 0.25 * self.dim)))
        eigenvalues, vectors = np.linalg.eigh(moments.hessian)
        step = vectors @ (vectors.T @ self.coordinates(base, moments.logs) / np.maximum(eigenvalues, 0.25))
        return self.from_coordinates(base, np.asarray(step, dtype=np.float64))

    @property
    def series_moments(self) -> bool:
        """Whether moments may leave out something of the logarithms, as their ``error`` tells."""
        return False

    def outside(self, base: Points, points: Points, radius: float) -> NDArray[np.bool_]:
        """Return which points are farther than ``radius`` from ``base``, or too far for their distance to be found."""
        return np.asarray(~(self.distance(base, points) <= radius))

    def square_sums(self, bases: Points, points: Points) -> Array:
        """Return the sum over points y of distance(x, y)², for each base x."""
        each = int(np.prod(self.point_shape)) * 4

        def of_run(some: slice, part: slice) -> Array:
            return np.asarray(np.sum(self.distance(bases[some, None], points[None, part]) ** 2, axis=1))

        return np.concatenate(
            [
                in_pairs(
                    operator.add, (of_run(some, part) for part in runs(len(points), each * (some.stop - some.start)))
                )
                for some in blocks(len(bases), each * len(points))
            ]
        )

    def drawn_in(self, base: Points, points: Points, radius: float) -> Points | None:
        """Return the points, those farther than ``radius`` from ``base`` moved along their geodesics to that distance.

        A point that is moved takes as long as one that is not.  NaN for points whose numbers are too large or small for
        that; None where a space has no loop for it.
        """
        return None

    def hessian(self, base: Points, points: Points) -> Array | None:
        """Return the sum over points y of the Hessian of ½·distance(·, y)² in the coordinates at ``base``, or None where a
        space does not offer it; sampling then asks the data for every proposal."""
        return None

    def smaller(self) -> dict[str, list[Space]]:
        """Return what else could be asked of the same records, in words, with spaces of fewer dimensions for it, the largest
        first: for plans whose noise is too large to be of use."""
        return {}

    # -- rounding --------------------------------------------------------------------------------------------------
    def rounding_error(self, center: Points, reach: float) -> float:
        """Return a bound on the double-precision error of one draw in tangent coordinates at ``center``, and of a mean of
        logarithms, for points within ``reach`` of it.  Here a guess, with room: a space with bounds has its own."""
        largest = 1 + float(np.abs(center).max())
        return 256 * 2.0**-53 * math.sqrt(self.dim) * largest**2 * math.exp(min(reach, 600.0))

    def largest_term(self, reach: float) -> float:
        """Return the largest number that is added up for a mean of logarithms of points within ``reach``."""
        return reach

    exact_map: ClassVar[Exact | None] = None  # log_p(exp_x(v)) in long arithmetic, for spaces of this very class

    @property
    def exact(self) -> Exact | None:
        """The map in long arithmetic, if the class itself has one: a subclass may have another geometry."""
        return vars(type(self)).get("exact_map")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in self.parameters().items())})"


def whole_number(space: str, name: str, value: object, least: int) -> int:
    """Return a parameter as a plain int, or raise an error that names it."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if isinstance(value, bool) or number < least:
        raise ValueError(f"{space}: {name} must be a whole number of at least {least}, not {value!r}")
    return number


def not_finite(array: Points, landmarks: bool = False) -> dict[int, str]:
    """Return for each record with NaN or an infinite value where the first stands; complex numbers are landmarks."""
    bad = ~np.isfinite(array)
    reasons: dict[int, str] = {}
    if not bad.any():
        return reasons
    for row in np.flatnonzero(bad.any(axis=tuple(range(1, bad.ndim)))):
        first, *others = np.argwhere(bad[row]).tolist()
        more = f", and {len(others)} more" if others else ""
        where = named_entry(first, landmarks or np.iscomplexobj(array))
        reasons[int(row)] = f"holds NaN or an infinite value: {where}{more}"
    return reasons


def blame(reasons: dict[int, str], which: ArrayLike, words: Callable[[Any], str]) -> None:
    """Add for each row that is at fault, and has no reason yet, the words about it."""
    for row in np.flatnonzero(which):
        reasons.setdefault(int(row), words(row))


def put_right(off: Array, most: float, words: str) -> list[str]:
    """Return what is said of records that are off by a little, which is put right; ``{most}`` in the words is by how much."""
    moved = off[(off > 1e-6) & (off <= most)]
    return [f"{len(moved)} of {len(off)} {words.format(most=f'{moved.max():.1g}')}"] if len(moved) else []


def named_entry(index: Sequence[int], landmarks: bool) -> str:
    """Return the place of a number, or of a landmark, in words, counted from 1."""
    first = index[0] + 1
    if len(index) != 2:
        return f"landmark {first}" if landmarks else f"component {first}"
    return f"{'xyz'[index[1]]} of landmark {first}" if landmarks else f"the entry in row {first}, column {index[1] + 1}"
