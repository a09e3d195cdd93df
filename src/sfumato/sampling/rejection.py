"""Exact draws with no Markov chain (theory, Result 4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..radial import RadialLaw
from ..spaces.base import Array, Points, Space

PATIENCE = 2000  # batches of proposals, after which a sampler gives up


class EnvelopeError(RuntimeError):
    """The radial envelope was above the energy somewhere: a draw would not be exact.  Nothing was released."""


@dataclass(frozen=True)
class Draws:
    """Exact draws and how often the energy was evaluated for them."""

    points: Points
    evaluations: int


@dataclass(frozen=True)
class Target:
    """The density exp(−energy(x)) on B_region(public centre), with a radial lower envelope about ``base``:
    energy(x) ≥ law.energy(distance(base, x)) − offset.  Without an ``energy`` the target is the envelope itself.

    Propose a radius from V·exp(−envelope) and a uniform direction; accept with probability
    exp(−(energy − envelope))·J/V, and only inside the region.  Accepted points follow the target exactly.
    """

    space: Space
    base: Points
    law: RadialLaw
    energy: Callable[[Points], Array] | None = None
    offset: float = 0.0
    center: Points | None = None
    region: float = np.inf

    def propose(self, size: int, rng: np.random.Generator) -> tuple[Points, Array, Array, Array]:
        """Points, their tangent coordinates at the base, the log of J/V (−∞ outside the region), and the envelope."""
        space = self.space
        radius = self.law.sample(size, rng)
        gaussian = rng.standard_normal((size, space.dim))
        coordinates = radius[:, None] * (gaussian / np.linalg.norm(gaussian, axis=1, keepdims=True))
        vectors = space.from_coordinates(self.base, coordinates)
        x = space.exp(self.base, vectors)
        with np.errstate(divide="ignore"):
            log_radius = (space.dim - 1) * np.log(radius) if space.dim > 1 else 0.0
        log_ratio = space.log_volume_density(self.base, vectors) + log_radius - self.law.volume(radius)
        if self.center is not None and np.isfinite(self.region):
            log_ratio = np.where(space.distance(self.center, x) <= self.region, log_ratio, -np.inf)
        return x, coordinates, log_ratio, self.law.energy(radius) - self.offset

    def log_acceptance(self, x: Points, envelope: Array) -> Array:
        """−(energy − envelope), which must not be positive beyond rounding."""
        if self.energy is None:
            return np.zeros(len(x))
        excess = self.energy(x) - envelope
        if not (excess >= -1e-6).all():
            raise EnvelopeError(
                "the lower envelope of the gradient norm exceeds it at a proposal; nothing was released. For an "
                "objective of your own, check that envelope(radius) never exceeds the norm of the gradient."
            )
        return -np.maximum(excess, 0.0)

    def draw(self, size: int, rng: np.random.Generator) -> Draws:
        """Many draws, evaluating the energy only where the volume and the region leave a proposal standing."""
        accepted: list[Points] = []
        missing, evaluations, proposed = size, 0, 0
        for _ in range(PATIENCE):
            if missing == 0:
                return Draws(np.concatenate(accepted), evaluations)
            # as many as are missing, then what the share accepted so far suggests
            rate = (size - missing + 1) / (proposed + 1)
            count = min(1 << 18, int(np.ceil(missing / max(rate, 1e-3))))
            proposed += count
            x, _, log_ratio, envelope = self.propose(count, rng)
            threshold = -rng.standard_exponential(count)  # log of a uniform number
            standing = np.flatnonzero(threshold <= log_ratio)
            evaluations += len(standing)
            slack = threshold[standing] - log_ratio[standing]
            kept = standing[slack <= self.log_acceptance(x[standing], envelope[standing])]
            accepted.append(x[kept[:missing]])
            missing -= len(accepted[-1])
        raise RuntimeError(
            f"of {proposed} proposals only {size - missing} were accepted: the noise is wider than the ball"
        )

    def draw_one(self, batch: int, rng: np.random.Generator) -> Array:
        """One draw, as tangent coordinates at the base, with a fixed amount of work: a whole batch is proposed and evaluated
        whatever happens, and the first accepted one is kept.  That a second batch is needed is a rare event; see
        ``clock_delta`` in a record."""
        for _ in range(PATIENCE):
            x, coordinates, log_ratio, envelope = self.propose(batch, rng)
            threshold = -rng.standard_exponential(batch)
            kept = np.flatnonzero(threshold <= log_ratio + self.log_acceptance(x, envelope))
            if len(kept):
                return np.asarray(coordinates[kept[0]])
        raise RuntimeError(f"none of {PATIENCE * batch} proposals was accepted; nothing was released")
