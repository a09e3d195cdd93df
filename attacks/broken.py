"""More mechanisms that are wrong on purpose, for the attacks at full strength: the paper's scale, a chain that is stopped, a
solver that errs, a draw whose time reveals the data, files that are
written in place or read carelessly.  Those of ``sfumato audit --broken`` are in ``sfumato.audit.broken``."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sfumato.audit.blackbox import Draw
from sfumato.audit.exact import target_of
from sfumato.audit.features import facing
from sfumato.errors import FileError
from sfumato.laws.bounds import bounds_of
from sfumato.laws.calibration import Scale
from sfumato.laws.sampling import Target, secure_generator
from sfumato.mechanisms import KNG, ManifoldLaplace
from sfumato.mechanisms.manifold import ManifoldMechanism
from sfumato.numerics.arrays import Array, Points
from sfumato.records import Records
from sfumato.regions.ball import Ball
from sfumato.spaces import Space


def paper_scale(ball: Ball, epsilon: float) -> Draw:
    """KNG as the paper ran it: on the sphere without the factor 2 of its own theorem, which nothing replaces."""
    kng = KNG(ball, epsilon, "as run")
    return lambda data, size, rng: facing(ball, ball.space.validate(kng.sample(data, size, rng)))


def short_chain(ball: Ball, epsilon: float, steps: int = 50, step: float = 0.25) -> Draw:
    """The manifold Laplace by a Metropolis chain in coordinates at the mean, where it starts; it is stopped after 50 steps of
    a quarter of σ."""
    laplace, space, bounds = ManifoldLaplace(ball, epsilon), ball.space, bounds_of(ball.space)

    def draw(data: Array, size: int, rng: np.random.Generator) -> Array:
        base, sigma = target_of(laplace, data).base, laplace.at(len(data)).scale.sigma

        def energy(z: Array) -> Array:
            lengths = np.linalg.norm(z, axis=1)
            volume = bounds.log_volume_density(base, space.from_coordinates(base, z))
            return np.where(lengths < bounds.injectivity_radius, lengths / sigma - volume, np.inf)

        z = np.zeros((size, space.dim))
        current = energy(z)
        for _ in range(steps):
            candidate = z + step * sigma * rng.standard_normal(z.shape)
            proposed = energy(candidate)
            moved = rng.standard_exponential(size) >= proposed - current
            z, current = np.where(moved[:, None], candidate, z), np.where(moved, proposed, current)
        return facing(ball, space.exp(base, space.from_coordinates(base, z)))

    return draw


@dataclass(frozen=True)
class Misplaced(ManifoldLaplace):
    """The manifold Laplace about ``place(space, points)``, which should be the Fréchet mean and is not always."""

    place: Callable[[Space, Points], Points] = field(kw_only=True)

    def noise(self, n: int, epsilon: float) -> Scale:
        delta, room = bounds_of(self.space).mean_sensitivity(self.ball.radius) / n, 1e-9 * self.ball.radius
        return Scale((delta + room) / epsilon, "Δ/ε (result 2)", {"delta": delta, "solver": room})

    def center(self, records: Records) -> Points:
        return self.place(self.space, records.points)


def straying(space: Space, points: Points) -> Points:
    """A solver that takes any point where the gradient vanishes for the mean: Newton's steps, with the trace of the Hessian for
    all of it, walk out of a large ball, where there are others."""
    x, damping = space.mean_start(points), 1.0
    pull = space.mean_log(x[None], points)[0]
    for _ in range(500):
        norm = float(space.norm(x, pull))
        if norm < 1e-12 or damping < 1e-6:
            break
        there = space.exp(x, damping * pull * (space.dim / float(np.mean(space.hessian_trace(x, points)))))
        new = space.mean_log(there[None], points)[0]
        if float(space.norm(there, new)) < norm:
            x, pull, damping = there, new, min(1.0, 2 * damping)
        else:
            damping /= 2
    return x


def hasty(share: float) -> Callable[[Space, Points], Points]:
    """A solver that stops where the gradient is below a share of the data's own spread: how far off it is, the data decide."""

    def place(space: Space, points: Points) -> Points:
        x: Points = points[0]
        for _ in range(50):
            logs = space.log(x, points)
            pull = logs.mean(axis=0)
            if float(space.norm(x, pull)) <= share * float(np.sqrt(np.mean(space.norm(x, logs) ** 2))):
                break
            x = space.exp(x, pull)
        return x

    return place


def first_acceptance(target: Target, rng: np.random.Generator) -> tuple[Points, int]:
    """A draw that proposes one point at a time and stops at the first that is accepted, and how many it took: exact, but its
    time reveals the data."""
    tried = 0
    while True:
        tried += 1
        proposed = target.propose(1, rng)
        if -rng.standard_exponential() <= float(
            proposed.log_ratio[0] + target.log_acceptance(proposed.x, proposed.envelope)[0]
        ):
            return proposed.x[0], tried


def stopping_at_first(mechanism: ManifoldMechanism) -> Callable[[Array], object]:
    """A release as it should not be: the same draw, but it stops at the first accepted proposal."""
    return lambda data: first_acceptance(target_of(mechanism, data), secure_generator())


# -- files -----------------------------------------------------------------------------------------------------------------
def write_in_place(folder: Path) -> None:
    """A writer that may be stopped half-way."""
    with (folder / "mean.json").open("w") as file:
        file.write("half")
        file.flush()
        file.write(" and half")


def read_carelessly(path: Path, index: int) -> None:
    """A reader that raises what it should not, crashes, takes all memory or speaks unprintably."""
    match index % 4:
        case 0:
            raise KeyError("a reader that lets its errors through")
        case 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        case 2:
            np.ones(1 << 30)
        case _:
            raise FileError("\x07")
