"""Bounds on curvature, Hessians, volumes and sensitivities, registered by space.  A space without bounds has charts only."""

from collections.abc import Callable
from functools import lru_cache, partial
from math import pi

from ..errors import Refusal
from ..spaces import SPD, Euclidean, Grassmann, PlanarShapes, Space, Sphere, Torus
from .base import Bounds
from .charts import ChartBounds
from .constant import constant_curvature
from .projective import ProjectiveSpace
from .spd import PositiveDefinite

_MAKERS: dict[type[Space], Callable[..., Bounds]] = {}


def register(kind: type[Space], make: Callable[..., Bounds]) -> None:
    """From now on ``make(space)`` gives the bounds of spaces of this kind, and of its subclasses."""
    _MAKERS[kind] = make


def has_bounds(space: Space) -> bool:
    """Whether so much is proven of a space that KNG, the Laplace and the exponential mechanism work on it."""
    known = any(kind in _MAKERS for kind in type(space).__mro__)
    return known and not isinstance(bounds_of(space), ChartBounds)


@lru_cache(maxsize=256)
def bounds_of(space: Space) -> Bounds:
    """The bounds of a space.

    >>> bounds_of(Sphere(dim=2)).curvature, bounds_of(SPD(size=3)).mean_sensitivity(1.0)
    ((1.0, 1.0), 2.0)
    """
    for kind in type(space).__mro__:
        if kind in _MAKERS:
            return _MAKERS[kind](space)
    raise Refusal(
        f"nothing is proven of {space}: KNG, the Laplace and the exponential mechanism need bounds on its curvature "
        "(sfumato.bounds.register); use the tangent mechanism, which needs none"
    )


register(Euclidean, partial(constant_curvature, kappa=0.0))
register(Sphere, lambda space: constant_curvature(space, space.curvature))
register(PlanarShapes, ProjectiveSpace)
register(SPD, PositiveDefinite)
register(Torus, partial(ChartBounds, kappa=0.0, injectivity_radius=pi))
register(Grassmann, lambda space: ChartBounds(space, 1.0 if 1 in (space.p, space.n - space.p) else 2.0, pi / 2))

__all__ = ["Bounds", "bounds_of", "constant_curvature", "has_bounds", "register"]
