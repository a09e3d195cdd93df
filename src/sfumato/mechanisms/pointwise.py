"""Laplace noise on every coordinate of every landmark: what the paper compares with on shapes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..calibration.rounding import SELECTION, UNIT, crossing, mean_error
from ..calibration.scale import Scale, check_request
from ..frechet import solve
from ..radial import check_probability
from ..records import Records
from ..sampling import add_exactly, lattice_spacing
from ..spaces import PlanarShapes
from ..spaces.base import Array, Points
from .base import Losses, Mechanism, check_size


@dataclass(frozen=True, eq=False)
class PointwiseLaplace(Mechanism):
    """Each of the 2k coordinates of the mean configuration gets Laplace noise with a budget of ε/2k.

    The statistic is the arithmetic mean of the records, centred, scaled to size one, turned towards the *public* centre
    (``align=True``) or left as they lie, and clipped coordinate by coordinate to ``bounds``: half-widths about the centre's
    coordinates (about zero without alignment).  Privacy: ε-DP with scale 2·bound/n / (ε/2k) in each coordinate, by
    composition.  Without ``bounds`` they are what the ball allows: 2·sin(r/2) aligned, 1 otherwise.

    "as run": the paper aligns to the data's own mean and takes the bounds from the data; that is not private.

    >>> from sfumato import Ball
    >>> triangle = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    >>> round(PointwiseLaplace(Ball(PlanarShapes(landmarks=3), triangle, radius=0.2), epsilon=1.0).scale(100), 5)
    0.02396
    """

    align: bool = True
    bounds: ArrayLike | None = field(default=None, repr=False)
    name: ClassVar[str] = "pointwise-laplace"
    statistic: ClassVar[str] = "arithmetic mean of landmark configurations of size one"
    distance: ClassVar[str] = "Euclidean distance between configurations"
    sampler: ClassVar[str] = "exact: independent Laplace noise"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.space, PlanarShapes):
            raise ValueError(f"PointwiseLaplace adds noise to landmarks; it is not defined on {self.space}")
        half = np.broadcast_to(
            np.asarray(self._default if self.bounds is None else self.bounds, dtype=np.float64), self._shape
        )
        if not (np.isfinite(half).all() and (half > 0).all()):
            raise ValueError("bounds must be positive numbers: one, or one for each coordinate of each landmark (k, 2)")
        object.__setattr__(self, "_half_widths", half)

    @property
    def _shape(self) -> tuple[int, int]:
        return (self.space.point_shape[0], 2)

    @property
    def _default(self) -> float:
        return 2 * float(np.sin(min(self.ball.radius, np.pi / 2) / 2)) if self.align else 1.0

    @property
    def half_widths(self) -> Array:
        """The public bounds, (k, 2)."""
        return self._half_widths  # type: ignore[attr-defined,no-any-return]

    def options(self) -> dict[str, Any]:
        return {
            "align": self.align,
            "bounds": None if self.bounds is None else np.asarray(self.bounds).tolist(),
        }

    def _calibrate(self, n: int, epsilon: float) -> Scale:
        """The largest of the coordinates' scales; they are proportional to the half-widths."""
        check_request(n, epsilon)
        widest = float(self.half_widths.max())
        count = 2 * self._shape[0]
        formula = "(2·bound/n)/(ε/2k) in each coordinate; the widest is given"
        return Scale(2 * widest / n * count / epsilon, formula, {"bound": widest, "coordinates": count})

    def _scales(self, n: int) -> Array:
        return np.asarray(self.half_widths / self.half_widths.max() * self.scale(n))

    def error_quantile(self, n: int, p: float) -> float:
        """From the law of Σ(Laplace)², each square rounded up to a grid and the sums found by convolution."""
        check_probability(p)
        scales = self._scales(n).ravel()
        count, cells = len(scales), 1 << 14
        # most that a square is allowed to be; the chance that any is larger is added to the failure
        spare = (1 - p) * 1e-3
        top = float(np.max(scales)) ** 2 * np.log(count / spare) ** 2
        mean = float(2 * np.sum(scales**2))
        span = mean + top * 2 + 8 * float(np.sqrt(20 * np.sum(scales**4)))
        step = span / cells
        edges = np.sqrt(np.arange(1 << 15) * step)  # padded so that the convolution cannot wrap into what is read
        log_transform = np.zeros((1 << 14) + 1, dtype=np.complex128)
        for scale, repeats in zip(*np.unique(scales, return_counts=True), strict=True):
            mass = -np.diff(np.exp(-edges / scale), append=0.0)  # P(step·j ≤ X² < step·(j+1)), counted at j + 1
            mass[cells:] = 0.0
            with np.errstate(divide="ignore"):
                log_transform += repeats * np.log(np.fft.rfft(np.roll(mass, 1)))
        law = np.fft.irfft(np.exp(log_transform), 1 << 15)[: cells + 1]
        reached = np.flatnonzero(np.cumsum(law) >= p + spare + 1e-9)
        if len(reached) == 0:  # probabilities very close to one: all coordinates at their own quantile
            return float(np.sqrt(np.sum(scales**2)) * np.log(count / (1 - p)))
        return float(np.sqrt(reached[0] * step))

    def release_error(self, n: int, p: float) -> float:
        return self.error_quantile(n, p) + float(np.linalg.norm(self._spacings(n))) / 2

    def _spacings(self, n: int) -> Array:
        return np.asarray(np.vectorize(lattice_spacing)(self._scales(n)))

    def is_on_manifold(self, value: Array) -> bool:
        return not self.space.diagnose(value[None])[1]  # any landmarks that do not all coincide have a shape

    def _statistic(self, records: Records) -> tuple[Array, Array]:
        """The value that noise is added to, and the half-widths that set its size."""
        space = self.space
        assert isinstance(space, PlanarShapes)
        if self.calibration == "as run":
            mean, points = space.align(self.ball.center, solve(records).point), records.points
            aligned = space.present(space.align(mean, points) if self.align else points)
            value = space.present(mean)
            return value, np.abs(aligned - value).max(axis=0)
        return records.mean(self._landmarks), self.half_widths

    def _landmarks(self, points: Points) -> Array:
        """Records as landmarks, each held to its box."""
        space = self.space
        assert isinstance(space, PlanarShapes)
        aligned = space.present(space.align(self.ball.center, points) if self.align else points)
        middle = space.present(self.ball.center) if self.align else np.zeros(self._shape)
        return np.clip(aligned, middle - self.half_widths, middle + self.half_widths)

    def sample(self, points: ArrayLike, size: int, rng: np.random.Generator) -> Array:
        check_size(size)
        records = Records(self.space, self.ball.clip(points))
        value, half = self._statistic(records)
        scales = 2 * half / records.n * (2 * self._shape[0]) / self.epsilon
        return np.asarray(value + scales * rng.laplace(size=(size, *self._shape)))

    def _draw(self, records: Records, scale: Scale, rng: np.random.Generator) -> Array:
        scales, spacing = self._scales(records.n), self._spacings(records.n)
        return add_exactly(self._statistic(records)[0], scales * rng.laplace(size=self._shape), spacing)

    def losses(self, n: int) -> Losses:
        """δ: NumPy takes the logarithm of 53 random bits U, whose steps of 2^−53/U are 37·2^−53 long on average; with the
        roundings that follow, 80 units in all.  ε: each coordinate's mean is a sum in pairs of numbers of at most 2."""
        crossed = [
            crossing(1, s, 80 * UNIT * b) for s, b in zip(self._spacings(n).flat, self._scales(n).flat, strict=True)
        ]
        epsilon = float(np.sum(2 * 2 * mean_error(n) / self._scales(n)))
        return Losses(self._both(n, sum(crossed) + SELECTION, epsilon), epsilon)
