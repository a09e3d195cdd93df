"""Where mechanisms are attacked: a small ball on every kind of space that the package knows, and what can be drawn there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.laws.bounds import bounds_of
from sfumato.mechanisms import Mechanism
from sfumato.regions import Ball
from sfumato.spaces import (
    SPD,
    Axes,
    Correlation,
    DiagonalSPD,
    ElasticCurves,
    Euclidean,
    Grassmann,
    Hyperbolic,
    PlanarShapes,
    Product,
    Rotations,
    Shapes3D,
    Simplex,
    SizeAndShape,
    Space,
    Sphere,
    Stiefel,
    Torus,
)

# by the names under which they are registered, of as few dimensions as tell them apart; and the radius of the small ball
SPACES: dict[str, tuple[Space, float]] = {
    "sphere": (Sphere(dim=2), np.pi / 8),
    "shapes": (PlanarShapes(landmarks=4), 0.2),
    "euclidean": (Euclidean(dim=2), 1.0),
    "axes": (Axes(dim=2), 0.3),
    "rotations": (Rotations(), 0.3),
    "hyperbolic": (Hyperbolic(dim=2), 1.0),
    "elastic-curves": (ElasticCurves(points=4, closed=False), 0.2),
    "spd": (SPD(size=2), 1.0),
    "torus": (Torus(dim=2), 0.5),
    "simplex": (Simplex(parts=3), 0.3),
    "aitchison": (Simplex(parts=3, metric="aitchison"), 0.5),
    "diagonal-spd": (DiagonalSPD(size=2), 1.0),
    "log-euclidean": (SPD(size=2, metric="log-euclidean"), 1.0),
    "log-cholesky": (SPD(size=2, metric="log-cholesky"), 1.0),
    "bures-wasserstein": (SPD(size=2, metric="bures-wasserstein"), 0.3),
    "correlation": (Correlation(size=3), 0.5),
    "grassmann": (Grassmann(n=4, p=2), 0.3),
    "stiefel": (Stiefel(n=3, p=2), 0.3),
    "shapes3d": (Shapes3D(landmarks=4), 0.2),
    "size-and-shape": (SizeAndShape(landmarks=3, dim=2), 0.3),
    "product": (Product(Sphere(dim=2), Euclidean(dim=1)), 0.4),
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

    >>> from sfumato import ManifoldLaplace
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
