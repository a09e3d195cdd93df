"""Laws of a distance: density ∝ V(u)·exp(−E(u)) with a piecewise linear energy E, with or without jumps.

Calibration integrates laws made of public numbers; samplers draw exactly from laws that envelop a target.  V is the upper
radial volume bound of a space.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Self

import numpy as np

from ..errors import Refusal
from ..numerics.arrays import Array
from ..spaces.base import Space
from .bounds import bounds_of

Function = Callable[[Array], Array]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
FINER = 256  # parts that a cell is divided into, twice, to find a quantile
CENTRAL = 512  # cells where the mass is
OUTER = 128  # cells between there and the limit


def check_probability(p: float) -> None:
    """Raise a ValueError unless 0 < p < 1."""
    if not (isinstance(p, Real) and 0 < float(p) < 1):
        raise ValueError(f"a probability must lie between 0 and 1, not {p!r}")


def central_range(space: Space, rate: float) -> float:
    """Return a distance beyond which radius^(d−1)·exp(−rate·u) has less than about e⁻⁴⁰ of its mass."""
    if rate <= bounds_of(space).radial_growth:
        return np.inf
    return float((space.dim + 9 * np.sqrt(space.dim) + 45) / (rate - bounds_of(space).radial_growth))


def gauss_legendre(edges: Array) -> tuple[Array, Array]:
    """Return eight nodes and weights for each cell, (cells, 8); the integrands here are analytic on each cell."""
    half = np.diff(edges)[:, None] / 2
    return edges[:-1, None] + half * (1 + _NODES), half * _WEIGHTS


@dataclass(frozen=True, eq=False)
class RadialLaw:
    """The law on [0, limit] with E of slope ``slopes[i]`` between ``edges[i]`` and ``edges[i + 1]``.

    E rises by ``jumps[i]`` at ``edges[i]``, if there are jumps.  An infinite limit continues the last slope for ever.
    :meth:`from_slope` makes one from a slope function that never rises, taking its value at the right end of each cell, so
    that E is a lower bound.
    """

    space: Space
    edges: Array
    slopes: Array
    unbounded: bool = False
    log_volume: Function | None = None
    jumps: Array | None = None

    @classmethod
    def from_slope(cls, space: Space, slope: Function, limit: float, log_volume: Function | None = None) -> Self:
        """Return the law on [0, limit] with an energy below the one that has this slope."""
        edges = radial_edges(space, float(slope(np.zeros(1))[0]), limit)
        slopes = np.minimum.accumulate(slope(edges[1:]))
        return cls(space, edges, slopes, bool(np.isinf(limit)), log_volume)

    def volume(self, u: Array) -> Array:
        """Return log V."""
        return bounds_of(self.space).log_radial_bounds(u)[1] if self.log_volume is None else self.log_volume(u)

    @cached_property
    def edge_energy(self) -> Array:
        """E at each edge, after its jump."""
        rise = np.concatenate([[0.0], np.cumsum(self.slopes * np.diff(self.edges))])
        return rise if self.jumps is None else rise + np.cumsum(self.jumps)

    @property
    def steps(self) -> Array:
        """Where E jumps."""
        return self.edges[:0] if self.jumps is None else self.edges[self.jumps > 0]

    def energy(self, u: Array) -> Array:
        """Return E."""
        cell = np.clip(np.searchsorted(self.edges, u, side="right") - 1, 0, len(self.slopes) - 1)
        return np.asarray(self.edge_energy[cell] + self.slopes[cell] * (u - self.edges[cell]))

    def log_density(self, u: Array) -> Array:
        """Return log V − E, which is not normalised."""
        return self.volume(u) - self.energy(u)

    def _mass(self, edges: Array) -> Array:
        nodes, weights = gauss_legendre(edges)
        return np.asarray(np.sum(weights * np.exp(self.log_density(nodes) - self._peak), axis=1))

    @cached_property
    def _peak(self) -> float:
        return float(np.max(self.log_density(self.edges[1:])))

    @cached_property
    def _cell_masses(self) -> Array:
        return np.append(self._mass(self.edges), np.exp(self._log_tail[0] - self._peak) if self.unbounded else 0.0)

    def log_masses(self) -> Array:
        """Return the log of the mass of each cell between edges, not normalised."""
        with np.errstate(divide="ignore"):
            return np.log(self._cell_masses[: len(self.slopes)]) + self._peak

    def expect(self, function: Function) -> float:
        """Return the mean of a function of the distance between 0 and 1, which is 1 beyond the last edge."""
        nodes, weights = gauss_legendre(self.edges)
        part = float(np.sum(weights * np.exp(self.log_density(nodes) - self._peak) * function(nodes)))
        beyond = float(self._cell_masses[-1]) if self.unbounded else 0.0
        return (part + beyond) / float(self._cell_masses.sum())

    def cell_of(self, p: float) -> int:
        """Return the cell that the quantile is in."""
        check_probability(p)
        after = np.cumsum(self._cell_masses[::-1])[::-1] / self._cell_masses.sum()  # after[i] = P(u > edges[i])
        if after[-1] > 1 - p:
            raise Refusal(f"the {p} quantile lies beyond the range of this law")
        reached = np.flatnonzero(after > 1 - p)
        return int(reached[-1]) if len(reached) else 0  # 1 − p is 1 for a tiny p

    def reaches(self, levels: Iterable[float]) -> list[float]:
        """Return distances that are exceeded with probability at most 1 − p: the ends of the cells of the quantiles."""
        return [float(self.edges[self.cell_of(p) + 1]) for p in levels]

    def quantile(self, p: float) -> float:
        """Return the distance that is not exceeded with probability p, rounded up."""
        cell = self.cell_of(p)
        low = float(self.edges[cell])
        high = float(self.edges[cell + 1])
        masses = self._cell_masses
        beyond = (1 - p) * masses.sum() - masses[cell + 1 :].sum()  # the mass in the cell after the quantile
        for _ in range(2):
            edges = np.linspace(low, high, FINER + 1)
            masses = self._mass(edges)
            rest = np.append(np.cumsum(masses[::-1])[::-1], 0.0)  # rest[i]: from edges[i] to the end
            part = int(np.searchsorted(-rest, -beyond, side="right")) - 1
            part = min(max(part, 0), FINER - 1)
            low = float(edges[part])
            high = float(edges[part + 1])
            beyond = max(0.0, beyond - float(rest[part + 1]))
        densest = float(masses[max(part - 1, 0) : part + 2].max()) / (high - low)
        return float(max(low, high - beyond / densest)) if densest > 0 else high

    @cached_property
    def _log_tail(self) -> tuple[float, float]:
        """The log mass and the rate of exp(−rate·(u − T)), times the density at the last edge T, a bound beyond T."""
        end = float(self.edges[-1])
        rate = float(self.slopes[-1]) - bounds_of(self.space).radial_growth - (self.space.dim - 1) / end
        return float(self.log_density(np.array([end]))[0] - np.log(rate)), rate

    @cached_property
    def _caps(self) -> tuple[Array, Array]:
        """An upper bound on the log density of each cell (V is monotone on it, E linear), and cumulative masses."""
        volume = self.volume(self.edges)
        right = self.edge_energy[1:] - (0.0 if self.jumps is None else self.jumps[1:])  # E before the jump there
        caps = np.maximum(volume[:-1], volume[1:]) - np.minimum(self.edge_energy[:-1], right) + 1e-12
        log_mass = caps + np.log(np.diff(self.edges))
        if self.unbounded:
            log_mass = np.append(log_mass, self._log_tail[0])
        total = np.cumsum(np.exp(log_mass - log_mass.max()))
        return caps, total / total[-1]

    def sample(self, size: int, rng: np.random.Generator) -> Array:
        """Return exact draws: a cell by its bound, a uniform point in it, kept with probability density/bound."""
        caps, cumulative = self._caps
        drawn: list[Array] = []
        missing = size
        for _ in range(5000):
            if missing == 0:
                return np.concatenate(drawn) if drawn else np.zeros(0)
            count = missing + missing // 16 + 8
            cell = np.searchsorted(cumulative, rng.random(count), side="right")
            tail = cell >= len(caps)
            inner = np.minimum(cell, len(caps) - 1)
            u = self.edges[inner] + rng.random(count) * (self.edges[inner + 1] - self.edges[inner])
            bound = caps[inner]
            if self.unbounded:
                log_mass, rate = self._log_tail
                beyond = rng.standard_exponential(count) / rate
                u = np.where(tail, self.edges[-1] + beyond, u)
                bound = np.where(tail, log_mass + np.log(rate) - rate * beyond, bound)
            keep = -rng.standard_exponential(count) <= self.log_density(u) - bound
            drawn.append(u[keep][:missing])
            missing -= len(drawn[-1])
        raise RuntimeError("the radius could not be drawn: the law is too narrow for its range")


def radial_edges(space: Space, rate: float, limit: float) -> Array:
    """Return cells that are fine where a law of this rate has its mass; they decide speed, not validity."""
    central = central_range(space, rate)
    if np.isinf(limit):
        central = limit = max(central, 4 * (space.dim - 1) / (rate - bounds_of(space).radial_growth))
    return spread_edges(space, central, limit)


def spread_edges(space: Space, central: float, limit: float) -> Array:
    """Return even cells up to ``central``, then cells that grow by a constant factor up to ``limit``.

    The breaks of V are added: on each cell V is monotone and analytic.
    """
    # in many dimensions a law is narrow against its distance from zero
    edges = np.linspace(0.0, min(central, limit), max(CENTRAL, 2 * space.dim) + 1)
    if central < limit:
        edges = np.concatenate([edges, np.geomspace(central, limit, OUTER + 1)[1:-1], [limit]])
    return np.union1d(edges, [t for t in bounds_of(space).radial_breaks() if 0 < t < limit])
