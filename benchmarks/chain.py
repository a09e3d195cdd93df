"""A correct Metropolis–Hastings chain, for comparison with the exact sampler.

Nobody has bounded what a finite chain adds to the privacy loss, so no release uses it.
"""

from __future__ import annotations

import numpy as np

from sfumato.laws.sampling import Target
from sfumato.numerics.arrays import Points


def metropolis(
    target: Target,
    size: int,
    rng: np.random.Generator,
    *,
    step: float,
    burn_in: int = 20_000,
    thin: int = 600,
) -> Points:
    """Return states of a random walk exp_x(step·z), z standard normal in the tangent space at x.

    On spheres, SPD matrices and shapes the density of such a step with respect to volume is symmetric in its two ends, so
    no Hastings factor is needed.  A rejected step repeats the state.
    """
    space = target.space
    energy = target.energy

    def cost(x: Points) -> float:
        if target.center is not None and float(space.distance(target.center, x)) > target.region:
            return np.inf
        if energy is None:
            return float(target.law.energy(np.atleast_1d(space.distance(target.base, x)))[0])
        return float(energy(x[None])[0])

    x = target.base
    current = cost(x)
    states = []
    for i in range(burn_in + size * thin):
        candidate = space.exp(x, space.from_coordinates(x, step * rng.standard_normal(space.dim)))
        proposed = cost(candidate)
        if rng.standard_exponential() >= proposed - current:
            x = candidate
            current = proposed
        if i >= burn_in and (i - burn_in + 1) % thin == 0:
            states.append(x)
    return np.array(states)
