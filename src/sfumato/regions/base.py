"""The contract of a region: what is publicly known about where the records lie, and what every other room asks of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincinv

from ..errors import InvalidPointError
from ..laws.calibration.whole import WholeError, noise_error
from ..laws.privacy import Privacy, as_privacy
from ..numerics.arrays import Array, Points
from ..spaces.base import Space

if TYPE_CHECKING:
    from .ellipsoid import Ellipsoid
    from .look import Look

INSIDE = 1 - 2.0**-40  # clipped points land this fraction inside, against rounding


class Moment(NamedTuple):
    """What is publicly known of how records vary: standard deviations √lⱼ, falling, along orthonormal rows at the centre.  In
    mean square an entry is off by ``doubt``·lᵢlⱼ, twice that on the diagonal; infinite without a sample."""

    deviations: Array
    directions: Array
    doubt: float = np.inf


def best_axes(deviations: Array) -> Array:
    """Return the best axes s·√(√lⱼ·Σ√l) (proofs, Result 5) that hold 97% of the records: ‖w‖² has about a Gamma law."""
    shape = np.sum(deviations) ** 2 / (2 * np.sum(deviations**2))
    return np.asarray(np.sqrt(gammaincinv(shape, 0.97) / shape * deviations * np.sum(deviations)))


class Region(ABC):
    """A public region about a public centre: a ball, an ellipsoid, or a sketch of one whose axes depend on n and ε."""

    is_ball: ClassVar[bool] = False  # whether all directions are alike, and records are clipped along geodesics

    if TYPE_CHECKING:  # fields of a ball and an ellipsoid, properties of a sketch

        @property
        def space(self) -> Space: ...
        @property
        def center(self) -> Points: ...
        @property
        def radius(self) -> float: ...

    @abstractmethod
    def settle(self, n: int, privacy: float | Privacy) -> Settled:
        """Return the region for n records and this ε or other kind of privacy."""

    def looked(self, n: int, privacy: float | Privacy, share: float, always: bool = False) -> Look | Settled:
        """Return the look at whether the region fits, which this share of ε pays for; or the region to use without one.

        ``always``: also where a wrong region would cost little, as a region for the population rests on the answer.
        """
        return self.settle(n, privacy)

    def whole_error(self, n: int, privacy: float | Privacy) -> WholeError:
        """Return the whole error of a release by chart that is foreseen: that of the noise where no more is known."""
        chart = self.settle(n, privacy).as_chart()
        epsilon = as_privacy(privacy).noise(len(chart.axes)).epsilon
        return self.whole_after(chart, n, epsilon) or noise_error(chart.axes, n, epsilon)

    def whole_after(self, chart: Ellipsoid, n: int, epsilon: float, raw: Array | None = None) -> WholeError | None:
        """Return the whole error of a release in a chart that this region settled, or in the ball that it falls back to: as
        foreseen, or after the draw w̃ = ``raw``; ``epsilon`` is that of the noise.  None where no more is known than that."""
        return None

    def public_slope(self, covariate: Array) -> tuple[Array, float]:
        """Return the slope of a public sample for a covariate of its points, in tangent coordinates, and its standard error."""
        raise ValueError("a covariate of public points goes with a public sample, as of Ellipsoid.from_sample")

    @property
    @abstractmethod
    def moment(self) -> Moment:
        """How records vary, as far as is publicly known."""

    def unclipped(self) -> Region:
        """Return the region with records as they are before they are clipped: for charts that are moved to them first."""
        return self

    @property
    def called(self) -> str:
        """The region by its kind and by who knew it before."""
        return "public ellipsoid"

    @property
    def related_as(self) -> str:
        """How a public sample relates to the records, as the curator said; empty where there is none."""
        return ""

    @property
    def found(self) -> str:
        """How the region was found privately, in words; empty for a public one."""
        return ""

    def admit(self, points: ArrayLike, invalid: str = "raise") -> Points:
        """Return records as mechanisms take them: canonical; a chart then clips them in its own coordinates."""
        return admit(self.space, self.center, points, invalid)


class Settled(Region):
    """A region that is the same for any number of records and any ε: it has a chart.  Those of equal numbers are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settled) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    @abstractmethod
    def _key(self) -> tuple[object, ...]: ...

    def settle(self, n: int, privacy: float | Privacy) -> Self:
        """Return itself: these lengths hold for any number of records and any ε (a sketch's axes depend on both)."""
        return self

    @property
    def moment(self) -> Moment:
        """That of records for which the axes aⱼ are the best: √lⱼ ∝ aⱼ²."""
        chart = self.as_chart()
        order = np.argsort(-chart.axes, kind="stable")
        roots = (chart.axes[order] / chart.radius) ** 2
        return Moment(roots * (chart.radius / best_axes(roots)[0]), chart.basis[order])

    @abstractmethod
    def as_chart(self) -> Ellipsoid:
        """Return the region as a chart; a ball is one of p = d equal axes."""

    @abstractmethod
    def moved(self, center: Points) -> Settled:
        """Return the region about another centre, its axes carried along; any public directions would do."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return its arguments but for the space, as JSON can hold them."""

    @abstractmethod
    def outside(self, points: Points) -> NDArray[np.bool_]:
        """Return which canonical points it clips."""


def check_region(region: Any, what: str) -> Region:
    """Return the region, or raise a TypeError that names the argument which is none."""
    if not isinstance(region, Region):
        raise TypeError(f"{what} a region such as a sfumato.Ball, not {region!r}")
    return region


def check_settled(region: Region, what: str) -> Settled:
    """Return the region, or raise a ValueError where its axes depend on n and ε."""
    if not isinstance(region, Settled):
        raise ValueError(f"the axes of this region depend on n and ε: {what} region.settle(n, epsilon)")
    return region


def admit(space: Space, center: Points, points: ArrayLike, invalid: str = "raise") -> Points:
    """Return canonical points; a record that is not one raises an error that names its row, or becomes the centre."""
    check_invalid(invalid)
    canonical, reasons = space.diagnose(points)
    if reasons and invalid == "raise":
        raise InvalidPointError(reasons)
    if reasons:
        canonical = canonical.copy()
        canonical[list(reasons)] = center
    return canonical


def check_invalid(invalid: str) -> None:
    """Raise an error unless ``invalid`` is one of the two known words."""
    if invalid not in ("raise", "center"):
        raise ValueError(f"invalid must be 'raise' or 'center', not {invalid!r}")
