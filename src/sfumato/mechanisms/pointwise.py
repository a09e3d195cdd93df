"""Laplace noise on every coordinate of every landmark: what the paper compares with on shapes."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import Refusal
from ..laws.calibration.rounding import SELECTION, UNIT, crossing, mean_error
from ..laws.calibration.scale import Scale
from ..laws.radial import check_probability
from ..laws.sampling import add_exactly, lattice_spacing
from ..means.frechet import solve
from ..numerics.arrays import Array, Points
from ..records import Records
from ..release.terms import Named
from .base import Mechanism
from .plan import Drawn, Losses

MEAN = Named("arithmetic mean of landmark configurations of size one", "Euclidean distance between configurations")


@dataclass(frozen=True)
class PointwiseLaplace(Mechanism):
    """Each of the 2k coordinates of the mean configuration (3k in space) gets Laplace noise with a budget of ε/2k.

    The statistic is the arithmetic mean of the records, centred, scaled to size one, turned towards the *public* centre
    (``align=True``) or left as they lie, and clipped coordinate by coordinate to ``bounds``: half-widths about the centre's
    coordinates (about zero without alignment).  Privacy: ε-DP with scale 2·bound/n / (ε/2k) in each coordinate, by
    composition.  Without ``bounds`` they are what the ball allows: 2·sin(r/2) aligned, 1 otherwise.

    "as run": the paper aligns to the data's own mean and takes the bounds from the data; that is not private.

    >>> from sfumato import Ball, PlanarShapes
    >>> triangle = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    >>> round(PointwiseLaplace(Ball(PlanarShapes(landmarks=3), triangle, radius=0.2), epsilon=1.0).at(100).scale.sigma, 5)
    0.02396
    """

    align: bool = True
    bounds: ArrayLike | None = field(default=None, repr=False)

    name: ClassVar[str] = "pointwise-laplace"
    comparable: ClassVar[bool] = False
    sampler: ClassVar[str] = "exact: independent Laplace noise"
    statistic: ClassVar[Named] = MEAN

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.space.landmark_dim is None:
            raise Refusal(f"PointwiseLaplace adds noise to landmarks; it is not defined on {self.space}")
        if abs(float(np.linalg.norm(self.space.present(self.ball.center))) - 1) > 1e-6:
            raise Refusal(f"PointwiseLaplace is for shapes of size one; {self.space} keeps sizes")
        if self.bounds is not None:  # as tuples, which can be compared
            object.__setattr__(self, "bounds", _tuples(np.asarray(self.bounds, dtype=np.float64).tolist()))
        if not (np.isfinite(self.half_widths).all() and (self.half_widths > 0).all()):
            raise ValueError("bounds must be positive numbers: one, or one for each coordinate of each landmark (k, 2)")

    @cached_property
    def half_widths(self) -> Array:
        """The public bounds, (k, 2)."""
        default = 2 * float(np.sin(min(self.ball.radius, np.pi / 2) / 2)) if self.align else 1.0
        shape = self.space.present(self.ball.center).shape
        return np.broadcast_to(np.asarray(default if self.bounds is None else self.bounds, dtype=np.float64), shape)

    def mean(self, records: Records) -> Array:
        """Return the mean of records, each coordinate held to within its half-width: one moves it by 2·half-width/n at most."""
        return records.mean(self._held)

    def _held(self, points: Points) -> Array:
        aligned = self.space.present(self.space.align(self.ball.center, points) if self.align else points)
        middle = self.space.present(self.ball.center) if self.align else np.zeros(self.half_widths.shape)
        return np.clip(aligned, middle - self.half_widths, middle + self.half_widths)

    def _as_run(self, records: Records) -> tuple[Array, Array]:
        """Return what the paper's run took: the Fréchet mean, and half-widths that come from the data.  Not private."""
        space = self.space
        points = records.points
        mean = space.align(self.ball.center, solve(records).point)
        aligned = space.present(space.align(mean, points) if self.align else points)
        value = space.present(mean)
        return value, np.abs(aligned - value).max(axis=0)

    @property
    def options(self) -> dict[str, Any]:
        bounds = None if self.bounds is None else np.asarray(self.bounds).tolist()
        return {"align": self.align, "bounds": bounds}

    def noise(self, n: int, epsilon: float) -> Scale:
        """Return the largest of the coordinates' scales; they are proportional to the half-widths."""
        widest = float(self.half_widths.max())
        count = self.half_widths.size
        formula = f"(2·bound/n)/(ε/{self.space.landmark_dim}k) in each coordinate; the widest is given"
        return Scale(2 * widest / n * count / epsilon, formula, {"bound": widest, "coordinates": count})

    @cached_property
    def scales(self) -> Array:
        """One for each coordinate."""
        half = self.half_widths
        return np.asarray(half / half.max() * self.scale.sigma)

    @cached_property
    def spacings(self) -> Array:
        return np.asarray(np.vectorize(lattice_spacing)(self.scales))

    def error_quantile(self, p: float) -> float:
        """Return a quantile of the law of Σ(Laplace)², each square rounded up to a grid and the sums found by convolution."""
        check_probability(p)
        scales = self.scales.ravel()
        count = len(scales)
        cells = 1 << 14
        # most that a square is allowed to be; the chance that any is larger is added to the failure
        spare = (1 - p) * 1e-3
        top = float(np.max(scales)) ** 2 * np.log(count / spare) ** 2
        mean = float(2 * np.sum(scales**2))
        step = (mean + top * 2 + 8 * float(np.sqrt(20 * np.sum(scales**4)))) / cells
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

    def release_error(self, p: float) -> float:
        return self.error_quantile(p) + float(np.linalg.norm(self.spacings)) / 2

    def is_on_manifold(self, value: Array) -> bool:
        return not self.space.diagnose(value[None])[1]  # any landmarks that do not all coincide have a shape

    def draws(self, records: Records, size: int, rng: np.random.Generator) -> Array:
        value = self.mean(records)
        scales = self.scales
        if self.calibration == "as run":
            value, half = self._as_run(records)
            scales = 2 * half / self.n * half.size / self.ideal
        return np.asarray(value + scales * rng.laplace(size=(size, *scales.shape)))

    def draw(self, records: Records, rng: np.random.Generator) -> Drawn:
        noise = self.scales * rng.laplace(size=self.scales.shape)
        value = add_exactly(self.mean(records), noise, self.spacings)
        return Drawn(value, value)

    @cached_property
    def losses(self) -> Losses:
        """δ: NumPy takes the logarithm of 53 random bits U, whose steps of 2^−53/U are 37·2^−53 long on average; with the
        roundings that follow, 80 units in all.  ε: each coordinate's mean is a sum in pairs of numbers of at most 2."""
        crossed = [crossing(1, s, 80 * UNIT * b) for s, b in zip(self.spacings.flat, self.scales.flat, strict=True)]
        epsilon = float(np.sum(2 * 2 * mean_error(self.n) / self.scales))
        return Losses(self.both(sum(crossed) + SELECTION, epsilon), epsilon)


def _tuples(numbers: Any) -> Any:
    return tuple(map(_tuples, numbers)) if isinstance(numbers, list) else numbers
