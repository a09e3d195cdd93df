"""Exact draws with no Markov chain (theory, Result 4)."""

from collections.abc import Callable
from dataclasses import dataclass
from math import fsum

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ...errors import EnvelopeError as EnvelopeError
from ...numerics.arrays import Array, Points
from ...spaces.base import Space
from ..bounds import bounds_of
from ..calibration.error import COARSE
from ..radial import RadialLaw

MOST_BATCHES = 2000  # batches of proposals before the sampler gives up


@dataclass(frozen=True)
class Proposals:
    """Vectors that were drawn, the points x that they propose and their coordinates at the base, log J/V and the envelope."""

    drawn: Array
    coordinates: Array
    x: Points
    log_ratio: Array
    envelope: Array


@dataclass(frozen=True)
class Draws:
    """Exact draws, and how often the energy was evaluated for them."""

    points: Points
    evaluations: int


@dataclass(frozen=True)
class Target:
    """The density exp(−energy(x)) on B_region(public centre), with a radial lower envelope about ``base``:
    energy(x) ≥ law.energy(distance(base, x)) − offset.  Without an ``energy`` the target is the envelope itself.

    Propose a radius from V·exp(−envelope) and a uniform direction; accept with probability
    exp(−(energy − envelope))·J/V, and only inside the region.  Accepted points follow the target exactly.

    With a ``shape`` H⁻¹, a matrix in the coordinates at the base, the law is that of ‖w‖ for proposals H⁻¹w.  ``squeeze`` gives
    bounds on the energy from the coordinates of a proposal alone; where they decide whether it is accepted, the energy is not
    evaluated, and the draw is the same.  With ``doubted`` the envelope is not proven, and one above the energy raises an error;
    otherwise only rounding could cause it, and as an exception would reveal something about the data, the energy is then
    taken to be the envelope.
    """

    space: Space
    base: Points
    law: RadialLaw
    energy: Callable[[Points], Array] | None = None
    offset: float = 0.0
    center: Points | None = None
    region: float = np.inf
    shape: Array | None = None
    squeeze: Callable[[Array], tuple[Array, Array]] | None = None
    doubted: bool = False

    def propose(self, size: int, rng: np.random.Generator) -> Proposals:
        """Return proposals, with a log J/V of −∞ outside the region."""
        space = self.space
        radius = self.law.sample(size, rng)
        gaussian = rng.standard_normal((size, space.dim))
        drawn = radius[:, None] * (gaussian / np.linalg.norm(gaussian, axis=1, keepdims=True))
        coordinates = drawn if self.shape is None else drawn @ self.shape
        vectors = space.from_coordinates(self.base, coordinates)
        x = space.exp(self.base, vectors)
        volume = bounds_of(space).log_volume_density(self.base, vectors) + xlogy(space.dim - 1, radius)
        log_ratio = volume - self.law.volume(radius)
        if self.center is not None and np.isfinite(self.region):
            log_ratio = np.where(space.distance(self.center, x) <= self.region, log_ratio, -np.inf)
        return Proposals(drawn, coordinates, x, log_ratio, self.law.energy(radius) - self.offset)

    def log_acceptance(self, x: Points, envelope: Array) -> Array:
        """Return −(energy − envelope), which is at most zero."""
        if self.energy is None:
            return np.zeros(len(x))
        excess = self.energy(x) - envelope
        if self.doubted and not (excess >= -1e-6).all():
            raise EnvelopeError(
                "the lower envelope of your objective exceeds the norm of its gradient at a proposal; nothing was released. "
                "Check that envelope(radius) never exceeds the norm of the gradient"
            )
        return -np.maximum(excess, 0.0)

    def _settle(self, proposals: Proposals, slack: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which proposals the squeeze accepts, and which it cannot decide; ``slack`` is log u − log J/V."""
        open_ = slack <= 0
        if self.energy is None:
            return open_, np.zeros_like(open_)
        if self.squeeze is None:
            return np.zeros_like(open_), open_
        low, high = self.squeeze(proposals.coordinates)
        accepted = slack <= -np.maximum(high - proposals.envelope, 0.0)
        return accepted, ~accepted & (slack <= -np.maximum(low - proposals.envelope, 0.0))

    def draw(self, size: int, rng: np.random.Generator) -> Draws:
        """Return many draws.  The energy is evaluated only where the volume, the region and the squeeze do not decide."""
        kept: list[Points] = []
        missing = size
        evaluations = 0
        proposed = 0
        for _ in range(MOST_BATCHES):
            if missing == 0:
                return Draws(np.concatenate(kept), evaluations)
            # as many as the acceptance rate so far suggests; all are taken to be accepted at first
            rate = (size - missing + 1) / (proposed + 1)
            count = min(1 << 18, int(np.ceil(missing / max(rate, 1e-3))))
            proposed += count
            proposals = self.propose(count, rng)
            slack = -rng.standard_exponential(count) - proposals.log_ratio  # log of a uniform number, less log J/V
            accepted, unsettled = self._settle(proposals, slack)
            asked = np.flatnonzero(unsettled)
            evaluations += len(asked)
            if len(asked):
                accepted[asked] = slack[asked] <= self.log_acceptance(proposals.x[asked], proposals.envelope[asked])
            kept.append(proposals.x[np.flatnonzero(accepted)[:missing]])
            missing -= len(kept[-1])
        few = f"only {size - missing} of {proposed} proposals were accepted: the noise is wider than the ball"
        raise RuntimeError(f"{few}. Use more records or a larger epsilon")

    def draw_one(self, batch: int, rng: np.random.Generator, asks: int | None = None) -> Array | None:
        """Return the coordinates at the base of one draw, with a fixed amount of work; None if it is not accepted.

        A whole batch is proposed, the energy evaluated at ``asks`` of the proposals (all by default), and the first accepted
        one kept.  More evaluations, or a second batch, are a timing side channel: ``clock_delta`` bounds their probability.
        """
        asks = batch if asks is None else asks
        for _ in range(MOST_BATCHES):
            proposals = self.propose(batch, rng)
            slack = -rng.standard_exponential(batch) - proposals.log_ratio
            accepted, unsettled = self._settle(proposals, slack)
            if self.energy is not None:
                first = np.argsort(~unsettled, kind="stable")  # the undecided ones, then others to make up the number
                for some in np.split(first, range(asks, batch, max(1, asks)))[: 1 if asks >= unsettled.sum() else None]:
                    exact = slack[some] <= self.log_acceptance(proposals.x[some], proposals.envelope[some])
                    accepted[some] = np.where(unsettled[some], exact, accepted[some])
            kept = np.flatnonzero(accepted)
            if len(kept):
                drawn = proposals.drawn[kept[0]]
                return drawn if self.shape is None else product(drawn, self.shape)
        return None


def coarse(matrix: Array) -> Array:
    """Return the matrix rounded to COARSE bits below its largest entry.

    >>> coarse(np.array([[0.5, 1e-9]])).tolist()
    [[0.5, 0.0]]
    """
    unit = 2.0 ** (np.frexp(np.abs(matrix).max())[1] - COARSE)
    return np.asarray(np.rint(matrix / unit) * unit)


def product(vector: Array, matrix: Array) -> Array:
    """Return vector @ matrix for a :func:`coarse` matrix, with each entry rounded once.

    (Unless terms cancel to less than 2^−70 of the largest one.)  The vector is divided into a constant number of pieces with
    so few bits that their products with the matrix are exact in doubles.

    >>> product(np.array([1.0, 1e-17, -1.0]), np.ones((3, 1))).tolist()
    [1e-17]
    """
    bits = 53 - COARSE - len(vector).bit_length()
    count = -(-128 // bits)
    top = np.frexp(np.abs(vector).max())[1]
    rest = np.ldexp(vector, bits - top)
    pieces = np.empty((count, len(vector)))
    for i in range(count):
        pieces[i] = np.rint(rest)
        rest = np.ldexp(rest - pieces[i], bits)
    parts = np.ldexp(pieces @ matrix, top - bits * np.arange(1, count + 1)[:, None])
    return np.array([fsum(column) for column in parts.T.tolist()])
