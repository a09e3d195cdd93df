"""What all mechanisms share: checks, the steps of a release, its record."""

from __future__ import annotations

import logging
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from .. import _version
from ..bounds import bounds_of
from ..calibration.error import FAIL, laplace_error_law
from ..calibration.mean import mean_bounds
from ..calibration.rounding import (
    LEVELS,
    SELECTION,
    UNIT,
    PrecisionError,
    crossing,
    density_error,
    gradient_error,
    relative_error,
    stretch,
    stretch_at_cut_locus,
)
from ..calibration.scale import CALIBRATIONS, Calibration, Scale, check_request
from ..files import Dataset, as_data
from ..records import MEMORY, Progress, Records, chunk_rows, is_lazy, one_thread, stream
from ..regions.ball import Ball, check_invalid
from ..release.record import (
    PROBABILITIES,
    BallOf,
    CalibrationOf,
    ErrorOf,
    Guarantee,
    MechanismOf,
    Record,
    Release,
    SpaceOf,
)
from ..sampling import GENERATOR, Target, is_precise, lattice_spacing, round_to_lattice, secure_generator
from ..spaces.base import Array, Space
from ..units import reduce_to_units, take_unit

PREDICTED = 0.95  # the probability at which a record states its error
LARGEST_BATCH = 1024  # proposals, even if the chance that none is accepted is then above FAIL
LEAST_SHARE = 1e-3  # fewer accepted proposals than this are not worth waiting for
MOST_EPSILON = 60.0  # e^−60 is far below what a draw's chances can be told apart by
MOST_DELTA = 1e-6  # the largest numerical loss that a release is made with
RESERVE, ATTEMPTS = 2.0**-22, 40  # the share of ε that is set aside for rounding, and how often it may be raised
LARGE_EPSILON, LARGEST_EPSILON = 10.0, 100.0  # above which a release is warned of, and refused
PERSON = "one unit: all records with the same label"


class Budget(Protocol):
    """What a release asks of a ledger."""

    def charge(self, epsilon: float, record: Mapping[str, Any], /) -> object:
        """Write the charge down for good, or raise: before the data are used for a draw.

        A budget that also has ``complete(entry, sha256)``, as a :class:`~sfumato.Ledger` does, is then told which release
        the charge paid for: with what ``charge`` gave back, and the release's own sum.
        """


@dataclass(frozen=True)
class Losses:
    """What computing a release adds to the promise; from public numbers only."""

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
    condition: ClassVar[str] = ""  # what the promise rests on and nobody checked
    sampler: ClassVar[str] = "exact rejection from a radial envelope, no Markov chain"

    def __post_init__(self) -> None:
        object.__setattr__(self, "_fitted", {})
        object.__setattr__(self, "_errors", {})
        check_request(1, self.epsilon)
        if not isinstance(self.ball, Ball):
            raise TypeError(f"the first argument of {type(self).__name__} is a sfumato.Ball, not {self.ball!r}")
        if self.calibration not in CALIBRATIONS:
            raise ValueError(f"calibration must be one of {', '.join(CALIBRATIONS)}, not {self.calibration!r}")

    @property
    def space(self) -> Space:
        return self.ball.space

    def options(self) -> dict[str, Any]:
        """Arguments of this mechanism beside ball, epsilon and calibration, for its record."""
        return {}

    @abstractmethod
    def _calibrate(self, n: int, epsilon: float) -> Scale:
        """The noise scale at which ideal draws are ε-private, with every number behind it; from public numbers only."""

    def calibrate(self, n: int) -> Scale:
        """The noise scale for n records with every number behind it; from public numbers only.

        Ideal draws are made a little more private than ε, so that what rounding adds is within ε: by a four-millionth, or more
        where doubles are coarse against the noise, as for very many records or a very large ε.
        """
        return self._ideal(n)[0]

    def _ideal(self, n: int) -> tuple[Scale, float]:
        """The scale, and the ε of ideal draws with it."""
        known: dict[int, tuple[Scale, float]] = self._fitted  # type: ignore[attr-defined]
        if n not in known:
            try:
                known[n] = self._fit(n, known)
            except BaseException:
                known.pop(n, None)
                raise
        return known[n]

    def _fit(self, n: int, known: dict[int, tuple[Scale, float]]) -> tuple[Scale, float]:
        asked = float(self.epsilon)
        if self.calibration == "as run":
            return self._calibrate(n, asked), asked
        epsilon = min(asked * (1 - RESERVE), MOST_EPSILON)
        scale, _ = known[n] = self._calibrate(n, epsilon), epsilon  # losses() asks for it
        for _ in range(ATTEMPTS):
            try:
                lower = self._fitting(n, epsilon)
                if lower == epsilon or epsilon < 1e-6 * asked:
                    break
                scale, epsilon = known[n] = self._calibrate(n, lower), lower
            except ValueError:  # noise too wide for a release, or wider than exists: check() says what would help
                break
        if epsilon < 0.99 * asked:
            scale = replace(
                scale, formula=f"{scale.formula}, at ε = {epsilon:.4g}: all that double precision can carry"
            )
        return scale, epsilon

    def _fitting(self, n: int, epsilon: float) -> float:
        """The same ε if what rounding adds to the scale in use fits beside it, else a smaller one to try."""
        losses, asked, lower = self.losses(n), float(self.epsilon), epsilon
        if losses.numerical_epsilon > asked - epsilon:
            lower = asked - 2 * losses.numerical_epsilon
        if losses.numerical_delta > MOST_DELTA:  # it falls like e^ε
            lower = min(lower, epsilon - float(np.log(losses.numerical_delta / MOST_DELTA)) - 0.01)
        return epsilon if lower == epsilon else max(lower, epsilon / 2)

    def scale(self, n: int) -> float:
        """The noise scale σ for n records."""
        return self.calibrate(n).sigma

    @abstractmethod
    def error_quantile(self, n: int, p: float) -> float:
        """A distance that a draw exceeds with probability at most 1 − p, whatever the data; public numbers only."""

    @abstractmethod
    def release_error(self, n: int, p: float) -> float:
        """The same for a release: plus what the lattice can move a point."""

    def spacing(self, n: int) -> float:
        """Spacing of the public lattice, or the largest where coordinates have their own."""
        return lattice_spacing(self.scale(n))

    def predicted_error(self, n: int) -> ErrorOf | None:
        """The errors that a record states; None where nothing public is known of them."""
        known: dict[int, ErrorOf] = self._errors  # type: ignore[attr-defined]
        if n not in known:
            quantiles = {f"{p:g}": float(self.release_error(n, p)) for p in PROBABILITIES}
            known[n] = ErrorOf(PREDICTED, quantiles[f"{PREDICTED:g}"], self.distance, quantiles)
        return known[n]

    def is_on_manifold(self, value: Array) -> bool:
        """Whether a released value is a point of the space."""
        return True

    @abstractmethod
    def sample(self, points: ArrayLike, size: int, rng: np.random.Generator) -> Array:
        """Draws for study.  They are neither rounded nor made with a secure generator: not releases."""

    @abstractmethod
    def losses(self, n: int) -> Losses:
        """What rounding and the clock would add to the promise, from public numbers only."""

    def _both(self, n: int, chance: float, numerical_epsilon: float) -> float:
        """The δ of a failure that has at most this chance for each of two data sets: 1 + e^ε times it, ε what draws as they
        are computed have."""
        return float((1 + np.exp(min(self._ideal(n)[1] + numerical_epsilon, 600.0))) * chance)

    @abstractmethod
    def _draw(self, records: Records, scale: Scale, rng: np.random.Generator) -> Array:
        """One draw on the lattice, of clipped records."""

    def check(self, n: int) -> Losses:
        """The losses, or an error if a release of n records cannot be made well: before any budget is spent."""
        losses = self.losses(n)
        spent = self._ideal(n)[1] + losses.numerical_epsilon
        if losses.numerical_delta > MOST_DELTA or spent > self.epsilon:
            raise PrecisionError(
                f"rounding in double precision would add {losses.numerical_epsilon:.1e} to epsilon and a failure probability "
                f"of {min(1.0, losses.numerical_delta):.1e} to a release by {self.name} on {self.space} with a radius of "
                f"{self.ball.radius:g}: {self._cure(losses, n)}"
            )
        return losses

    def _cure(self, losses: Losses, n: int) -> str:
        """What is wrong where rounding loses too much, and what would do: tried with ten times the epsilon."""
        try:
            then = replace(self, epsilon=10 * self.epsilon).losses(n)
        except ValueError:  # nor can that be used
            then = losses
        if losses.numerical_delta > MOST_DELTA and 2 * then.numerical_delta < losses.numerical_delta:
            return (
                "the noise is so wide that draws would lie where doubles are too coarse. More records, a larger epsilon or a "
                "smaller radius would do"
            )
        if losses.numerical_delta <= MOST_DELTA and then.numerical_epsilon < 5 * losses.numerical_epsilon:
            return "epsilon is so small that rounding is a large share of it. A larger epsilon would do"
        return (
            "the noise is too small, or the coordinates too large, for doubles. A smaller epsilon, fewer records, or a radius "
            "or coordinates of more ordinary size would do"
        )

    def release(
        self,
        points: ArrayLike | Dataset,
        *,
        unit: str | ArrayLike | None = None,
        unit_name: str = PERSON,
        invalid: str = "raise",
        budget: Budget | None = None,
        force: bool = False,
        workers: int = 1,
        memory: int = MEMORY,
        progress: Progress | None = None,
    ) -> Release:
        """One private value: records are checked and clipped, the scale computed, a draw made and put on the lattice.

        ``unit`` says in words what one row stands for ("one record" unless told); or it labels each row with the person it
        belongs to, and the rows of one person are first reduced to their own Fréchet mean (``unit_name`` then says what a
        label stands for).  It must be given where a column of the data, such as "subject", repeats.
        ``invalid="center"`` replaces records that are not points of the space by the public centre instead of raising.  A
        ``budget`` is charged, durably, after the records were found good and before anything is computed from them.
        An epsilon above 100 promises nothing that anyone would call privacy and is refused without ``force``.  ``workers``
        threads share each pass over the data.

        Points may also be a :class:`~sfumato.Dataset`, a data frame, a ``numpy.memmap``, an HDF5 or Zarr array, an Arrow table
        or dataset, or a Dask array, bag or list of delayed partitions.  All but the first two are then read in chunks, anew in
        each pass, so that about ``memory`` bytes of them are held at a time; ``progress(pass, done, parts)`` is called as the
        parts of a pass are done.
        """
        if self.calibration == "as run":
            raise ValueError(
                f"{type(self).__name__} with calibration='as run' is the paper's experiment, whose privacy is not proven: "
                "it can be sampled for study, not released"
            )
        check_promise(self.epsilon, force)
        points = as_data(points, self.space)
        records, words = gather(self.ball, points, unit, unit_name, invalid, workers, memory, progress)
        return self._release(records, words, budget, getattr(points, "degrees", None))

    def _release(
        self, records: Records, unit: str, budget: Budget | None, degrees: tuple[str, str] | None = None
    ) -> Release:
        n = records.n
        scale = self.calibrate(n)
        losses = self.check(n)
        record = self._record(scale, n)
        paid = None if budget is None else budget.charge(float(self.epsilon), {**record.document(), "unit": unit})
        with one_thread():
            value = self._draw(records, scale, secure_generator())
        guarantee = Guarantee(
            epsilon=float(self.epsilon),
            unit=unit,
            private=not self.condition,
            condition=self.condition,
            numerical_delta=losses.numerical_delta,
            numerical_epsilon=losses.numerical_epsilon,
            clock_delta=losses.clock_delta,
        )
        release = record.released(value, guarantee, self.is_on_manifold(value))
        release = release if degrees is None else release.in_degrees(degrees)
        note_release(budget, paid, release)
        return release

    def _record(self, scale: Scale, n: int) -> Record:
        """Everything public about a release, known before it is made."""
        region = float(scale.region) if np.isfinite(scale.region) else None
        numbers = {key: float(number) for key, number in scale.numbers.items()}
        return Record(
            statistic=self.statistic,
            space=SpaceOf.of(self.space),
            ball=BallOf(self.space.present(self.ball.center).tolist(), self.ball.radius),
            n=n,
            mechanism=MechanismOf(self.name, self.options()),
            calibration=CalibrationOf(
                self.calibration, float(self.epsilon), scale.formula, float(scale.sigma), region, numbers
            ),
            sampler=self.sampler,
            lattice_spacing=self.spacing(n),
            generator=GENERATOR,
            predicted_error=self.predicted_error(n),
            version=_version.__version__,
            time=datetime.now(UTC).isoformat(timespec="seconds"),
        )


@dataclass(frozen=True, eq=False)
class ManifoldMechanism(Mechanism):
    """A mechanism whose draws are points of the manifold with a radial envelope about the Fréchet mean."""

    @abstractmethod
    def target(self, records: Records, scale: Scale) -> Target:
        """The density to draw from, for clipped records."""

    def asks(self, n: int, proposals: int) -> tuple[int, float]:
        """About how many of so many proposals the data must be asked, but for a chance that is given too; from public numbers
        only."""
        return proposals, 0.0

    def acceptance(self, n: int) -> float | None:
        """A lower bound on the share of proposals that are accepted, from public numbers only; None if there is none."""
        return None

    def noise_length(self, n: int) -> float:
        """The length that sets the size of the noise."""
        return self.scale(n)

    def _energy_error(self, error: float) -> float:
        """What an error in logarithms does to the utility that σ divides."""
        return error

    def spacing(self, n: int) -> float:
        return lattice_spacing(min(self.noise_length(n), self.calibrate(n).region))

    def release_error(self, n: int, p: float) -> float:
        ideal, region = self.error_quantile(n, p), self.calibrate(n).region
        shift = self._lattice_shift(n, min(self.ball.radius + ideal, region))
        # no two points of the space, and none of the region and the ball, are farther apart than this
        return min(ideal + shift, bounds_of(self.space).injectivity_radius, self.ball.radius + region + shift)

    def _lattice_shift(self, n: int, reach: float) -> float:
        """Most that rounding moves a point within ``reach`` of the centre: half the diagonal of a lattice cell, times the
        stretch sinh(s)/s of the exponential map where the curvature is at least −κ, s = √κ·reach."""
        half_diagonal = np.sqrt(self.space.dim) / 2 * self.spacing(n)
        s = np.sqrt(max(0.0, -bounds_of(self.space).curvature[0])) * (reach + half_diagonal)
        return float(half_diagonal * (np.sinh(min(s, 300.0)) / s if s > 0 else 1.0))

    def sample(self, points: ArrayLike, size: int, rng: np.random.Generator) -> Array:
        check_size(size)
        records = Records(self.space, self.ball.clip(points))
        with one_thread():
            return self.space.present(self.target(records, self.calibrate(records.n)).draw(size, rng).points)

    def _draw(self, records: Records, scale: Scale, rng: np.random.Generator) -> Array:
        return self._rounded(self.target(records, scale), records.n, rng)

    def _rounded(self, target: Target, n: int, rng: np.random.Generator) -> Array:
        """A draw on the lattice: all that is left of a release once its density is known."""
        batch = self._batch(n)
        coordinates = target.draw_one(batch, rng, self.asks(n, batch)[0])
        if coordinates is None:  # a chance far below numerical_delta: the way out is a public point
            return self.space.present(self.ball.center)
        found = round_to_lattice(self.space, target.base, coordinates, self.ball.center, self.spacing(n))
        return self.space.present(found)

    def _lengths(self, n: int) -> list[float]:
        """Lengths that the noise exceeds with probability at most 1 − LEVELS."""
        return [self.error_quantile(n, p) for p in LEVELS]

    def _condition(self, n: int) -> float:
        """How much the shape of proposals stretches the relative error of a vector."""
        return 1.0

    def losses(self, n: int) -> Losses:
        """δ: draws that rounding takes across a face of a lattice cell or across the edge of the region, and draws not bounded
        here.  ε: four times the error of the log density, which enters the density and its normaliser for both data sets.
        Derived in the proofs, Floating point."""
        space, center, r = self.space, self.ball.center, self.ball.radius
        scale = self.calibrate(n)
        mean_bounds(space, center, r, n)  # raises where the mean could not be found
        share, batch = self.acceptance(n), self._batch(n)
        lengths = self._lengths(n)
        reach = min(scale.region, r + lengths[-1])
        if is_precise(space, reach):
            crossed = crossing(
                space.dim,
                self.spacing(n),
                (relative_error(space.dim) * self._condition(n) + UNIT) * self._stretched_length(n, lengths),
            )
        else:
            crossed = 2 * space.dim * space.rounding_error(center, reach) / self.spacing(n)
        energy_error = self._energy_error(gradient_error(space, center, r + reach, n))
        epsilon = float(4 * (energy_error / scale.sigma + density_error(space, lengths[-1])))
        return Losses(
            numerical_delta=self._both(n, crossed + self._edge(n, lengths) + 1 - LEVELS[-1] + SELECTION, epsilon),
            numerical_epsilon=epsilon,
            clock_delta=None if share is None else float((1 - share) ** batch) + self.asks(n, batch)[1],
        )

    def _stretched_length(self, n: int, lengths: list[float]) -> float:
        """E[ρ·stretch]: a bound from the quantiles of the length ρ of the noise."""
        space, r, region = self.space, self.ball.radius, self.calibrate(n).region
        far = 0.9 * bounds_of(space).injectivity_radius  # from here to the cut locus of the centre, separately
        chances = np.append(1.0, 1 - np.array(LEVELS))
        total = sum(
            chance * length * stretch(space, length, min(r + length, region, far))
            for chance, length in zip(chances, lengths, strict=False)
        )
        if np.isinf(region) and r + lengths[-1] > far:
            total += lengths[-1] * stretch_at_cut_locus(space, laplace_error_law(space, self.scale(n)), r, far)
        return float(total)

    def _edge(self, n: int, lengths: list[float]) -> float:
        """Chance that the edge of the region is as close to a draw as the error of a computed distance: 2·error times the
        density there, which a shell of the thickness of the noise bounds, e² covering how it varies within."""
        region = self.calibrate(n).region
        if np.isinf(region):
            return 0.0
        noise = self.noise_length(n)
        near = min(
            [1.0] + [1 - p for p, u in zip(LEVELS, lengths, strict=True) if u <= region - self.ball.radius - noise]
        )
        error = self.space.rounding_error(self.ball.center, region)
        return float(16 * error * max(1 / noise, self.space.dim / region) * near)

    def _batch(self, n: int) -> int:
        """How many proposals are evaluated at once: so many that one is accepted but for a chance of FAIL."""
        share = self.acceptance(n)
        if share is None:
            share = self._rough_acceptance(n)
            if share < LEAST_SHARE:
                raise ValueError(
                    f"the noise of {self.name} on {self.space} would be as wide as the ball of radius {self.ball.radius:g}: "
                    "a draw would say nothing and take very long; use more records, a larger epsilon or another mechanism"
                )
        return min(LARGEST_BATCH, int(np.ceil(np.log(FAIL) / np.log1p(-min(share, 1 - FAIL)))))

    def _rough_acceptance(self, n: int) -> float:
        """The share of directions that stay in the region from a mean at its edge, as if the space were flat, at the distance
        of a median draw.  Not proven: it decides what to refuse and how much work to do, never what is promised."""
        from scipy.special import betainc

        cosine = self.error_quantile(n, 0.5) / (2 * self.calibrate(n).region)
        return 0.0 if cosine >= 1 else 0.5 * float(betainc((self.space.dim - 1) / 2 + 1e-9, 0.5, 1 - cosine**2))


def check_promise(epsilon: float, force: bool = False) -> None:
    """Warn of an epsilon that promises little, and refuse one that promises nothing unless told to take it."""
    check_request(1, epsilon)
    if epsilon > LARGEST_EPSILON and not force:
        raise ValueError(
            f"an epsilon of {epsilon:g} promises nothing: choose one of 10 or less (1 is common), or give --force (in Python "
            "force=True) to release all the same. Nothing was spent"
        )
    if epsilon > LARGE_EPSILON:
        warnings.warn(
            f"an epsilon of {epsilon:g} promises little: one record may change the odds of what is released by a factor of e "
            f"to the power of {epsilon:g}. 1 is common; above 10 hardly anyone would call it privacy",
            stacklevel=3,
        )


def note_release(budget: Budget | None, paid: object, release: Release) -> None:
    """Tell a ledger which release its charge paid for; if that cannot be written, charge and release stand all the same."""
    if budget is None or not hasattr(budget, "complete"):
        return
    try:
        budget.complete(paid, release.sha256)
    except (RuntimeError, ValueError, OSError) as error:
        logging.getLogger("sfumato").warning(
            "the release is made and charged, but could not be noted beside its charge: %s", error
        )


def gather(
    ball: Ball,
    points: Any,
    unit: str | ArrayLike | None,
    unit_name: str,
    invalid: str,
    workers: int,
    memory: int = MEMORY,
    progress: Progress | None = None,
) -> tuple[Records, str]:
    """Clipped records, one for each unit, and the unit in words."""
    clip = partial(ball.clip, invalid=invalid)
    check_invalid(invalid)  # before any data are read
    chunk_rows(ball.space, 1 << 62, workers)  # refuses what is no number of workers
    points, unit = take_unit(points, unit)
    if not isinstance(unit, str) and is_lazy(ball.space, points, memory):
        raise ValueError(
            "labels of units go with points in memory, not with data that are read in parts: first reduce the records of "
            "each person to one, then release with unit='one person' or the like"
        )
    records = stream(
        ball.space, points, clip, check=invalid == "raise", workers=workers, memory=memory, progress=progress
    )
    if records is not None:
        return records, str(unit)
    clipped = ball.clip(points, invalid)
    if not isinstance(unit, str):
        clipped, unit = reduce_to_units(ball, clipped, unit), unit_name
    return Records(ball.space, clipped, workers=workers), unit


def check_size(size: int) -> None:
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
        raise ValueError(f"the number of draws must be a whole number of at least 1, not {size!r}")
