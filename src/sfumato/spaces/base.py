"""What a manifold must tell the rest of the package.  Spaces know nothing of privacy."""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidPointError
from ..numerics.arrays import Array, Points, as_numbers, in_pairs, runs

if TYPE_CHECKING:
    from .embedding import Embedding

Kind = Literal["landmarks", "matrices", "vectors", "arrays"]  # (k, 2) or (k, 3), symmetric (k, k), (m,), any other


@dataclass(frozen=True)
class Moments:
    """Sums over records yᵢ of weight wᵢ at one point x: Σwᵢ, Σwᵢ·log_x yᵢ, Σwᵢ·Hess ½ρ(·, yᵢ)², as a matrix in the
    coordinates at x or as its trace alone, and Σwᵢρ(x, yᵢ)², or what is of its size and not above (``second_moment`` of the
    space must then say so); ``error`` bounds what a
    series left out of the mean logarithm."""

    weight: float
    logs: Points
    hessian: Array
    square: float
    error: float = 0.0

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.weight + other.weight,
            self.logs + other.logs,
            self.hessian + other.hessian,
            self.square + other.square,
            max(self.error, other.error),
        )


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
    kind: ClassVar[Kind] = "vectors"  # what one point is as users type it

    # -- what it is ---------------------------------------------------------------------------------------------
    dim: int  # dimension d of the manifold

    @property
    @abstractmethod
    def point_shape(self) -> tuple[int, ...]:
        """Shape of one canonical point."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The arguments that make this space again, for records."""

    @abstractmethod
    def origin(self) -> Points:
        """A fixed point of the space, for plans and tests."""

    @classmethod
    def from_parameters(cls, parameters: dict[str, Any]) -> Space:
        """The space that has these :meth:`parameters`, as a record holds them."""
        return cls(**parameters)

    @property
    def typed(self) -> str:
        """The space as it is typed after ``--space``.

        >>> from sfumato import SPD, Sphere
        >>> SPD(size=3).typed, Sphere(dim=2).typed
        ('spd(size=3)', 'sphere(dim=2, curvature=1.0)')
        """
        arguments = ", ".join(f"{name}={value}" for name, value in self.parameters().items() if value is not None)
        return f"{self.name}({arguments})" if arguments else self.name

    # -- by its size, as from a command line, or by a file ----------------------------------------------------------------
    size_option: ClassVar[str | None] = None  # the parameter that says how large the space is, where one does
    usual_size: ClassVar[int | None] = None  # what it is where nobody says
    fixed_diagonal: ClassVar[float | None] = (
        None  # of matrices: what stands there in all, so that files may leave it out
    )
    by_name: ClassVar[bool] = False  # whether records are taken for points of it only where it is named

    @classmethod
    def sized(cls, **sizes: int | None) -> Space | None:
        """The space of the size that is given by the name of its parameter; None if that is not given.

        >>> from sfumato import SPD
        >>> SPD.sized(size=3, dim=None), SPD.sized(size=None)
        (SPD(size=3), None)
        """
        given = {name: size for name, size in sizes.items() if size is not None}
        for name in given.keys() - {cls.size_option}:
            takes = f"--{cls.size_option}" if cls.size_option else "no size"
            raise ValueError(f"--{name} does not go with --space {cls.name}, which takes {takes}")
        return cls(**given) if given or cls.size_option is None else None

    @classmethod
    def shaped(cls, shape: tuple[int, ...], **given: Any) -> Space:
        """The space whose points have this shape as users type them, for sizes of as many numbers or one fewer; ``given`` are
        other arguments of it.

        >>> from sfumato import Sphere
        >>> Sphere.shaped((3,))
        Sphere(dim=2, curvature=1.0)
        """
        for size in (shape[0], shape[0] - 1):
            space = cls(**given | ({cls.size_option: max(1, size)} if cls.size_option else {}))
            if shape in space.layouts.values():
                return space
        raise ValueError(f"--space {cls.name} has no points of shape {shape}")

    # -- points in and out ----------------------------------------------------------------------------------------
    @abstractmethod
    def diagnose(self, points: ArrayLike) -> tuple[Points, dict[int, str]]:
        """Canonical points, and for each row that is not a point the reason (its canonical row is then arbitrary).

        The points may be the array that was given, where that is canonical already: treat them as read-only.
        """

    def validate(self, points: ArrayLike) -> Points:
        """Canonical points, or an :class:`InvalidPointError` that names the first bad row and the reason."""
        canonical, reasons = self.diagnose(points)
        if reasons:
            raise InvalidPointError(reasons)
        return canonical

    def validate_and_start(self, points: ArrayLike) -> tuple[Points, Points | None]:
        """The same, and what :meth:`mean_start` makes of the points, where the check comes upon it."""
        return self.validate(points), None

    def present(self, points: Points) -> Array:
        """Canonical points in the layout that users read and write."""
        return np.asarray(points, dtype=np.float64)

    @property
    def layouts(self) -> dict[str, tuple[int, ...]]:
        """The ways in which users may write one point, by what they are called, and the shape of each; all of different shapes.
        :meth:`diagnose` takes batches of any, :meth:`present` gives the first."""
        return {self.kind: self.present(self.origin()).shape}

    def corrections(self, points: Array) -> list[str]:
        """What :meth:`diagnose` will put right in such points, in words for the curator."""
        return []

    @property
    def from_degrees(self) -> Callable[[Array, Array], Array] | None:
        """Points from latitudes and longitudes in degrees, where points have these."""
        return None

    def to_degrees(self, points: Array) -> Array | None:
        """Latitudes and longitudes of points, (n, 2): the inverse."""
        return None

    def _real_batch(self, points: ArrayLike) -> Array:
        """A batch of real points as float64; not a copy where it is that already."""
        array = as_numbers(points)
        if np.iscomplexobj(array):
            raise ValueError(f"{self}: complex numbers where real ones are due")
        array = np.ascontiguousarray(array, dtype=np.float64)
        if array.shape[1:] != self.point_shape:
            raise ValueError(f"{self}: points have shape {array.shape}, expected (n, {_shape(self.point_shape)})")
        return array

    # -- geometry --------------------------------------------------------------------------------------------------
    @abstractmethod
    def exp(self, base: Points, vectors: Points) -> Points:
        """End points of the geodesics that leave ``base`` with velocities ``vectors``."""

    def retract(self, base: Points, vectors: Points) -> Points:
        """Points that differ from :meth:`exp` by the cube of the velocities at most, where they are cheaper: for solvers."""
        return self.exp(base, vectors)

    @abstractmethod
    def log(self, base: Points, points: Points) -> Points:
        """Velocities of the shortest geodesics from ``base`` to ``points``; inverse of :meth:`exp`."""

    @abstractmethod
    def distance(self, a: Points, b: Points) -> Array:
        """Riemannian distance."""

    @abstractmethod
    def inner(self, base: Points, u: Points, v: Points) -> Array:
        """Riemannian inner product of tangent vectors at ``base``."""

    def norm(self, base: Points, vectors: Points) -> Array:
        """Riemannian length of tangent vectors."""
        lengths: Array = np.sqrt(np.maximum(self.inner(base, vectors, vectors), 0.0))
        return lengths

    @abstractmethod
    def from_coordinates(self, base: Points, coordinates: Array) -> Points:
        """Tangent vectors at one base point from coordinates (…, dim) in a fixed orthonormal basis there."""

    @abstractmethod
    def coordinates(self, base: Points, vectors: Points) -> Array:
        """Coordinates of tangent vectors at one base point; inverse of :meth:`from_coordinates`."""

    def log_map(self, base: Points, rows: Array | None = None) -> Callable[[Points], Array]:
        """The function that takes points y to rows·coordinates(base, log(base, y)), (n, p), at one base; to all d coordinates
        unless rows, (p, d), are given.  Charts ask it of every record, a block at a time: a space may have a quicker way.
        With rows, what it returns is a new array."""

        def of(points: Points) -> Array:
            found = self.coordinates(base, self.log(base, points))
            return found if rows is None else found @ rows.T

        return of

    def tangent_basis(self, base: Points) -> Points:
        """That orthonormal basis, (dim, *point_shape)."""
        return self.from_coordinates(base, np.eye(self.dim))

    def random_directions(self, base: Points, size: int, rng: np.random.Generator) -> Points:
        """Unit tangent vectors at one base point, uniform on the sphere."""
        gaussian = rng.standard_normal((size, self.dim))
        return self.from_coordinates(base, gaussian / np.linalg.norm(gaussian, axis=1, keepdims=True))

    def random_points(self, center: Points, radius: float, size: int, rng: np.random.Generator) -> Points:
        """Points uniform in direction and in distance up to ``radius``: data for plans and studies."""
        lengths = (radius * rng.random(size)).reshape(-1, *(1,) * len(self.point_shape))
        return self.exp(center, lengths * self.random_directions(center, size, rng))

    # -- where it lies, for what the paper compares with -----------------------------------------------------------------
    def embedding(self) -> Embedding | None:
        """The linear space that this one lies in, if it lies in one."""
        return None

    def widest(self, low: float | None = None, high: float | None = None) -> tuple[Points, float]:
        """Centre and radius of a ball that surely holds the records: all of the space, where it is bounded; or all points whose
        numbers, as each space understands that, lie between two public ones.  A ValueError says what the space takes."""
        raise ValueError(
            f"{self} has no ball that surely holds all records: give a public centre and a generous radius"
        )

    landmark_dim: ClassVar[int | None] = None  # coordinates of each landmark, where points are landmarks

    def displacements(self, base: Points, bending: bool = False) -> Array:
        """The tangent basis at a base point as displacements of landmarks, (dim, k, landmark_dim), where points are landmarks:
        those that may be smooth along an outline, or of little ``bending``."""
        return self.present(self.tangent_basis(base)).reshape(self.dim, -1, self.landmark_dim or 1)

    def align(self, base: Points, points: Points) -> Points:
        """Points as they lie closest to ``base``, where the same point can be written in several ways."""
        return points

    # -- means -----------------------------------------------------------------------------------------------------
    def mean_log(self, bases: Points, points: Points, weights: Array | None = None) -> Points:
        """Weighted mean of log over all points, at each of m bases: the hot kernel (m·n logarithms, in blocks)."""
        return np.stack([(found := self.moments(x, points, weights)).logs / found.weight for x in bases])

    def mean_start(self, points: Points, weights: Array | None = None) -> Points:
        """A point near the Fréchet mean, in closed form where there is one; else any point of the data."""
        return np.asarray(points[0 if weights is None else int(np.argmax(weights))])

    def hessian_trace(self, base: Points, points: Points) -> Array:
        """Trace of the Hessian of ½·distance(·, y)² at one base, for each point y; it only sets the solver's steps."""
        return np.full(len(points), float(self.dim))

    def moments(self, base: Points, points: Points, weights: Array | None = None, accuracy: float = 0.0) -> Moments:
        """What the solver of the Fréchet mean asks of the records, in one pass; logarithms may be off by ``accuracy``."""
        w = np.ones(len(points)) if weights is None else weights

        def of_run(part: slice) -> Moments:
            y, v = points[part], w[part]
            trace, square = v @ self.hessian_trace(base, y), float(v @ self.distance(base, y) ** 2)
            logs = np.tensordot(v, self.log(base, y), 1)
            return Moments(float(v.sum()), logs, np.asarray(trace), square)

        return in_pairs(operator.add, map(of_run, runs(len(points), 8 * int(np.prod(self.point_shape)))))

    def newton(self, base: Points, moments: Moments) -> Points:
        """The tangent vector H⁻¹·(mean log) from mean moments: Newton's step to the mean, with H = trace/dim where no more is
        known, and nowhere less than ¼, as far from a mean H can be anything."""
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
        """Which points are farther than ``radius`` from ``base``, or too far for their distance to be found."""
        return np.asarray(~(self.distance(base, points) <= radius))

    def hessian(self, base: Points, points: Points) -> Array | None:
        """The sum over points y of the Hessian of ½·distance(·, y)² in the coordinates at ``base``, or None where a space
        does not offer it; sampling then asks the data for every proposal."""
        return None

    def smaller(self) -> dict[str, list[Space]]:
        """What else could be asked of the same records, in words, with spaces of fewer dimensions for it, the largest
        first: for plans whose noise is too large to be of use."""
        return {}

    # -- rounding --------------------------------------------------------------------------------------------------
    def rounding_error(self, center: Points, reach: float) -> float:
        """A bound on the double-precision error of one draw in tangent coordinates at ``center``, and of a mean of
        logarithms, for points within ``reach`` of it.  Here a guess, with room: a space with bounds has its own."""
        return (
            256 * 2.0**-53 * math.sqrt(self.dim) * (1 + float(np.abs(center).max())) ** 2 * math.exp(min(reach, 600.0))
        )

    def largest_term(self, reach: float) -> float:
        """The largest number that is added up for a mean of logarithms of points within ``reach``."""
        return reach

    def __str__(self) -> str:
        return repr(self)


def whole_number(space: str, name: str, value: object, least: int) -> int:
    """A parameter as a plain int, or an error that names it."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if isinstance(value, bool) or number < least:
        raise ValueError(f"{space}: {name} must be a whole number of at least {least}, not {value!r}")
    return number


def _shape(shape: tuple[int, ...]) -> str:
    return ", ".join(map(str, shape))


def not_finite(array: Points, landmarks: bool = False) -> dict[int, str]:
    """For each record with a number that is none: the first such number, and how many there are.  Complex numbers are always
    landmarks."""
    bad = ~np.isfinite(array)
    reasons = {}
    for row in np.flatnonzero(bad.any(axis=tuple(range(1, bad.ndim)))):
        first, *others = np.argwhere(bad[row]).tolist()
        more = f", and {len(others)} more" if others else ""
        reasons[int(row)] = (
            f"holds NaN or an infinite value: {named_entry(first, landmarks or np.iscomplexobj(array))}{more}"
        )
    return reasons


def named_entry(index: Sequence[int], landmarks: bool) -> str:
    """A number, or a landmark, of a point in words, counted from 1."""
    if landmarks:
        return f"{'xyz'[index[1]]} of landmark {index[0] + 1}" if len(index) == 2 else f"landmark {index[0] + 1}"
    if len(index) == 2:
        return f"the entry in row {index[0] + 1}, column {index[1] + 1}"
    return f"component {index[0] + 1}"
