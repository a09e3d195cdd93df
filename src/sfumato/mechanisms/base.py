"""What all mechanisms share: checks, the steps of a release, its record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from .. import _version
from ..ball import Ball
from ..calibration.scale import CALIBRATIONS, Calibration, Scale, check_request
from ..release import Guarantee, Release
from ..sampling import GENERATOR, Target, lattice_spacing, round_to_lattice, secure_generator
from ..spaces.base import Array, Points, Space
from ..units import reduce_to_units

PREDICTED = 0.95  # the probability at which a record states its error
FAIL = 1e-9  # the chance that a fixed batch of proposals holds no accepted one,
LARGEST_BATCH = 1024  # unless that would take more proposals than this


class Budget(Protocol):
    """What a release asks of a ledger."""

    def charge(self, epsilon: float, record: Mapping[str, Any], /) -> object:
        """Write the charge down for good, or raise: before the data are used for a draw."""


@dataclass(frozen=True)
class Private:
    """A value made of lattice points, and what its computation adds to the promise."""

    value: Array
    numerical_delta: float
    numerical_epsilon: float = 0.0
    clock_delta: float | None = 0.0


@dataclass(frozen=True, eq=False)
class Mechanism(ABC):
    """A way to release a statistic of points in a public ball with ε-differential privacy.

    ``calibration``: "certified" (the smallest proven scale), "tight" (theory, Results 1 and 2), "theorem" (the paper's
    theorems as printed) or "as run" (what the paper's experiments ran: for studies, refused by :meth:`release`).
    """

    ball: Ball
    epsilon: float
    calibration: Calibration = field(default="certified")

    name: ClassVar[str]
    statistic: ClassVar[str] = "Fréchet mean"
    distance: ClassVar[str] = "geodesic distance"
    sampler: ClassVar[str] = "exact rejection from a radial envelope, no Markov chain"

    def __post_init__(self) -> None:
        check_request(1, self.epsilon)
        if self.calibration not in CALIBRATIONS:
            raise ValueError(f"calibration must be one of {', '.join(CALIBRATIONS)}, not {self.calibration!r}")

    @property
    def space(self) -> Space:
        return self.ball.space

    def options(self) -> dict[str, Any]:
        """Arguments of this mechanism beside ball, epsilon and calibration, for its record."""
        return {}

    @abstractmethod
    def calibrate(self, n: int) -> Scale:
        """The noise scale for n records with every number behind it; from public numbers only."""

    def scale(self, n: int) -> float:
        """The noise scale σ for n records."""
        return self.calibrate(n).sigma

    @abstractmethod
    def error_quantile(self, n: int, p: float) -> float:
        """A distance that a draw exceeds with probability at most 1 − p, whatever the data; public numbers only."""

    @abstractmethod
    def release_error(self, n: int, p: float) -> float:
        """The same for a release: plus what the lattice can move a point."""

    def predicted_error(self, n: int) -> dict[str, Any] | None:
        """The error that a record states; None where nothing public is known of it."""
        return {
            "probability": PREDICTED,
            "radius": self.release_error(n, PREDICTED),
            "distance": self.distance,
        }

    def is_on_manifold(self, value: Array) -> bool:
        """Whether a released value is a point of the space."""
        return True

    @abstractmethod
    def sample(self, points: ArrayLike, size: int, rng: np.random.Generator) -> Array:
        """Draws for study.  They are neither rounded nor made with a secure generator: not releases."""

    @abstractmethod
    def _private(self, points: Points, scale: Scale, rng: np.random.Generator) -> Private:
        """One draw on the lattice, of canonical clipped points."""

    def release(
        self,
        points: ArrayLike,
        *,
        unit: str | ArrayLike = "one record",
        invalid: str = "raise",
        budget: Budget | None = None,
    ) -> Release:
        """One private value: records are checked and clipped, the scale computed, a draw made and put on the lattice.

        ``unit`` says in words what one row stands for; or it labels each row with the person it belongs to, and the rows of
        one person are first reduced to their own Fréchet mean.  ``invalid="center"`` replaces records that are not points
        of the space by the public centre instead of raising.  A ``budget`` is charged, durably, after the records were
        found good and before anything is computed from them.
        """
        if self.calibration == "as run":
            raise ValueError(
                f"{type(self).__name__} with calibration='as run' is the paper's experiment, whose privacy is not proven: "
                "it can be sampled for study, not released"
            )
        clipped = self.ball.clip(points, invalid)
        if not isinstance(unit, str):
            clipped, unit = reduce_to_units(self.ball, clipped, unit), "one person: all records with the same label"
        scale = self.calibrate(len(clipped))
        record = self._record(scale, len(clipped))
        if budget is not None:
            budget.charge(float(self.epsilon), {**record, "unit": unit})
        private = self._private(clipped, scale, secure_generator())
        guarantee = Guarantee(
            epsilon=float(self.epsilon),
            unit=unit,
            numerical_delta=private.numerical_delta,
            numerical_epsilon=private.numerical_epsilon,
            clock_delta=private.clock_delta,
        )
        return Release(private.value, guarantee, {**record, "on_manifold": self.is_on_manifold(private.value)})

    def _record(self, scale: Scale, n: int) -> dict[str, Any]:
        """Everything public about a release, known before it is made."""
        numbers = {key: float(number) for key, number in scale.numbers.items()}
        return {
            "statistic": self.statistic,
            "space": {
                "name": self.space.name,
                "parameters": self.space.parameters(),
                "metric": self.space.metric,
            },
            "ball": {"center": self.space.present(self.ball.center).tolist(), "radius": self.ball.radius},
            "n": n,
            "mechanism": {"name": self.name, "options": self.options()},
            "calibration": {
                "name": self.calibration,
                "epsilon": float(self.epsilon),
                "formula": scale.formula,
                "sigma": float(scale.sigma),
                "region": float(scale.region) if np.isfinite(scale.region) else None,
                "numbers": numbers,
            },
            "sampler": self.sampler,
            "lattice_spacing": lattice_spacing(scale.sigma),
            "generator": GENERATOR,
            "predicted_error": self.predicted_error(n),
            "version": _version.__version__,
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
        }


@dataclass(frozen=True, eq=False)
class ManifoldMechanism(Mechanism):
    """A mechanism whose draws are points of the manifold with a radial envelope about the Fréchet mean."""

    @abstractmethod
    def target(self, points: Points, scale: Scale) -> Target:
        """The density to draw from, for canonical clipped points."""

    def acceptance(self, n: int) -> float | None:
        """A lower bound on the share of proposals that are accepted, from public numbers only; None if there is none."""
        return None

    def release_error(self, n: int, p: float) -> float:
        ideal = self.error_quantile(n, p)
        return ideal + self._lattice_shift(n, min(self.ball.radius + ideal, self.calibrate(n).region))

    def _lattice_shift(self, n: int, reach: float) -> float:
        """Most that rounding moves a point within ``reach`` of the centre: half the diagonal of a lattice cell, times the
        stretch sinh(s)/s of the exponential map where the curvature is at least −κ, s = √κ·reach."""
        half_diagonal = np.sqrt(self.space.dim) / 2 * lattice_spacing(self.scale(n))
        s = np.sqrt(max(0.0, -self.space.curvature_bounds[0])) * (reach + half_diagonal)
        return float(half_diagonal * (np.sinh(min(s, 700.0)) / s if s > 0 else 1.0))

    def sample(self, points: ArrayLike, size: int, rng: np.random.Generator) -> Array:
        clipped = self.ball.clip(points)
        return self.space.present(self.target(clipped, self.calibrate(len(clipped))).draw(size, rng).points)

    def _private(self, points: Points, scale: Scale, rng: np.random.Generator) -> Private:
        n, space, sigma = len(points), self.space, scale.sigma
        share = self.acceptance(n)
        batch = LARGEST_BATCH // 4 if share is None else int(np.ceil(np.log(FAIL) / np.log1p(-min(share, 0.9))))
        batch = min(batch, LARGEST_BATCH)
        draw = self.target(points, scale).draw_one(batch, rng)
        spacing = lattice_spacing(sigma)
        value = round_to_lattice(space, self.ball.center, draw, spacing)
        beyond = 0.0
        reach = scale.region
        if np.isinf(reach):
            beyond = 1e-12  # draws farther out than `reach` are that unlikely
            reach = self.ball.radius + self.error_quantile(n, 1 - beyond)
        error = space.rounding_error(self.ball.center, self.ball.radius + reach)
        return Private(
            value=space.present(value),
            numerical_delta=float(min(1.0, 2 * space.dim * error / spacing + beyond)),
            numerical_epsilon=float(2 * error / sigma),
            clock_delta=None if share is None else float((1 - share) ** batch),
        )
