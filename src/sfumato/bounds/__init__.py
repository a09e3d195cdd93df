"""Bounds on curvature, Hessians, volumes and sensitivities, registered by space.  A space without bounds has charts only."""

from collections.abc import Callable
from functools import lru_cache, partial

from ..errors import Refusal
from ..spaces import SPD, Axes, Euclidean, Hyperbolic, PlanarShapes, Rotations, Space, Sphere
from .base import Bounds
from .constant import UpToSignCurvature, constant_curvature
from .projective import ProjectiveSpace
from .spd import PositiveDefinite

_MAKERS: dict[type[Space], Callable[..., Bounds]] = {}


def register(kind: type[Space], make: Callable[..., Bounds]) -> None:
    """From now on ``make(space)`` gives the bounds of spaces of this kind, and of its subclasses."""
    _MAKERS[kind] = make


def has_bounds(space: Space) -> bool:
    """Whether something is proven of a space."""
    return any(kind in _MAKERS for kind in type(space).__mro__)


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
register(Hyperbolic, partial(constant_curvature, kappa=-1.0))
register(Rotations, partial(UpToSignCurvature, kappa=0.25))
register(Axes, partial(UpToSignCurvature, kappa=1.0))

__all__ = ["Bounds", "bounds_of", "constant_curvature", "has_bounds", "register"]
