"""Bounds on curvature, Hessians, volumes and sensitivities, registered by space.  A space without bounds has charts only."""

from collections.abc import Callable
from functools import lru_cache, partial
from math import pi

from ...errors import Refusal
from ...spaces import SPD, Axes, ElasticCurves, Euclidean, Grassmann, Hyperbolic, PlanarShapes, Rotations, Sphere, Torus
from ...spaces.base import Space
from .base import Bounds, ChartBounds
from .constant import UpToSignCurvature, constant_curvature
from .projective import ProjectiveSpace
from .spd import PositiveDefinite

_MAKERS: dict[type[Space], Callable[..., Bounds | None]] = {}


def register(kind: type[Space], make: Callable[..., Bounds | None]) -> None:
    """Let ``make(space)`` give the bounds of spaces of this kind and of its subclasses; None where nothing is proven."""
    _MAKERS[kind] = make
    known_bounds.cache_clear()
    bounds_of.cache_clear()


def has_bounds(space: Space) -> bool:
    """Return whether KNG, the Laplace and the exponential mechanism are proven on a space."""
    bounds = known_bounds(space)
    return bounds is not None and not isinstance(bounds, ChartBounds)


@lru_cache(maxsize=256)
def known_bounds(space: Space) -> Bounds | None:
    """Return the bounds of a space, or None where nothing is proven of it."""
    makers = (_MAKERS[kind] for kind in type(space).__mro__ if kind in _MAKERS)
    return next((make(space) for make in makers), None)


@lru_cache(maxsize=256)
def bounds_of(space: Space) -> Bounds:
    """Return the bounds of a space.

    >>> bounds_of(Sphere(dim=2)).curvature, bounds_of(SPD(size=3)).mean_sensitivity(1.0)
    ((1.0, 1.0), 2.0)
    """
    if (bounds := known_bounds(space)) is not None:
        return bounds
    raise Refusal(
        f"nothing is proven of {space}: KNG, the Laplace and the exponential mechanism need bounds on its curvature "
        "(sfumato.laws.bounds.register); use the tangent mechanism, which needs none"
    )


register(Euclidean, partial(constant_curvature, kappa=0.0))
register(Sphere, lambda space: constant_curvature(space, space.curvature))
register(PlanarShapes, ProjectiveSpace)
register(ElasticCurves, lambda space: None if space.closed or space.reparametrize else ProjectiveSpace(space))
register(SPD, PositiveDefinite)
register(Torus, partial(ChartBounds, kappa=0.0, injectivity_radius=pi))
register(Grassmann, lambda space: ChartBounds(space, 1.0 if 1 in (space.p, space.n - space.p) else 2.0, pi / 2))
register(Hyperbolic, partial(constant_curvature, kappa=-1.0))
register(Rotations, partial(UpToSignCurvature, kappa=0.25))
register(Axes, partial(UpToSignCurvature, kappa=1.0))

__all__ = ["Bounds", "bounds_of", "constant_curvature", "has_bounds", "known_bounds", "register"]
