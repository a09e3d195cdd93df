"""Where mechanisms are attacked: a small ball on every kind of space that the package knows, and what can be drawn there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.laws.bounds import bounds_of
from sfumato.mechanisms import Mechanism
from sfumato.regions import Ball
from sfumato.spaces import SPACES as REGISTERED
from sfumato.spaces import Space

# radii of the small balls; RADIUS for a space that is not here
RADIUS = 0.3
RADII = {
    "sphere": np.pi / 8,
    "shapes": 0.2,
    "euclidean": 1.0,
    "axes": 0.3,
    "rotations": 0.3,
    "hyperbolic": 1.0,
    "elastic-curves": 0.2,
    "outlines": 0.3,
    "spd": 1.0,
    "torus": 0.5,
    "simplex": 0.3,
    "aitchison": 0.5,
    "diagonal-spd": 1.0,
    "log-euclidean": 1.0,
    "log-cholesky": 1.0,
    "bures-wasserstein": 0.3,
    "correlation": 0.5,
    "grassmann": 0.3,
    "stiefel": 0.3,
    "shapes3d": 0.2,
    "size-and-shape": 0.3,
    "product": 0.4,
}
OURS = {name: kind for name, kind in REGISTERED.items() if kind.__module__.startswith("sfumato.")}
# by the names under which they are registered: the example of each space, and the radius of the small ball
SPACES: dict[str, tuple[Space, float]] = {
    name: (OURS[name].example(), RADII.get(name, RADIUS)) for name in dict.fromkeys([*RADII, *OURS])
}


def ball_on(name: str) -> Ball:
    """The small ball of a kind of space."""
    space, radius = SPACES[name]
    return Ball(space, space.present(space.origin()), radius)


def small_balls() -> list[Ball]:
    """All of them."""
    return [ball_on(name) for name in SPACES]


def largest_radius(kind: Callable[[Ball, float], Mechanism], space: Space, n: int, most: float = 16.0) -> float:
    """The largest radius, up to ``most``, at which a mechanism is admitted for n records and ε = 1, by bisection.

    >>> from sfumato import ManifoldLaplace, Sphere
    >>> 1.0 < largest_radius(ManifoldLaplace, Sphere(dim=2), 100) <= np.pi / 2
    True
    """

    def admitted(radius: float) -> bool:
        try:
            kind(Ball(space, space.present(space.origin()), radius), 1.0).plan(n)
        except ValueError:
            return False
        return True

    low, high = 0.0, min(most, bounds_of(space).mean_radius_limit)
    if admitted(high):
        return high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if admitted(middle) else (low, middle)
    return low
