"""Manifolds, and the registry by which the rest of the package knows them.

One line a space, below, exports its class and registers it.  Their order is that in which records are taken for points of
them where no space is named.
"""
# ruff: noqa: I001

from importlib.metadata import EntryPoint, entry_points
from typing import Any, get_args

from ..errors import UnknownSpaceError
from .base import Kind, Space as Space
from .euclidean import Euclidean as Euclidean, Flat as Flat
from .sphere import Sphere as Sphere
from .spd import SPD as SPD
from .shapes import PlanarShapes as PlanarShapes
from .kendall import Shapes3D as Shapes3D, SizeAndShape as SizeAndShape
from .product import Product as Product
from .spd_metrics import DiagonalSPD as DiagonalSPD
from .spd_metrics import BuresWasserstein as BuresWasserstein, LogCholesky as LogCholesky, LogEuclidean as LogEuclidean
from .correlation import Correlation as Correlation
from .grassmann import Grassmann as Grassmann
from .simplex import Aitchison as Aitchison, Simplex as Simplex
from .torus import Torus as Torus
from .stiefel import Stiefel as Stiefel
from .curves import ElasticCurves as ElasticCurves
from .rotations import Rotations as Rotations
from .axes import Axes as Axes
from .hyperbolic import Hyperbolic as Hyperbolic
from .outlines import Outlines as Outlines

from .chart import Chart as Chart
from .family import Family as Family, typed_space
from .kendall import Shapes as Shapes
from .torus import Circle as Circle

SPACES: dict[str, type[Space]] = {
    each.name: each
    for each in [*vars().values()]
    if isinstance(each, type) and issubclass(each, Space) and "name" in vars(each)
}
del SPACES[Chart.name]  # made of two functions, which a record cannot hold
GROUP = "sfumato.spaces"  # of entry points, by which an installed package offers spaces of its own
GLOBE: Space = Sphere(dim=2)  # what latitude and longitude mean where no space is named
LINE: Space = Euclidean(dim=1)  # where numbers lie: sizes, variances


def register(kind: type[Space]) -> None:
    """Make a space known by its name: to records, the command line and reports."""
    SPACES[kind.name] = kind


def space_named(name: str, typed: bool = False) -> type[Space]:
    """Return the kind of space of this name: a registered one, or one that an installed package offers; ``module:Class`` only
    if a user ``typed`` it, as no name in a file may load anything.

    >>> space_named("spd").__name__, space_named("sfumato.spaces:Sphere", typed=True).name
    ('SPD', 'sphere')
    """
    if name in SPACES:
        return SPACES[name]
    offered = [*entry_points(group=GROUP, name=name)]
    if not offered and typed and ":" in name:
        offered = [EntryPoint(name, name, GROUP)]
    if not offered:
        own = "; module:Class for one of your own" if typed else ""
        raise UnknownSpaceError(f"unknown space {name!r}; known: {', '.join(SPACES)}{own}")
    try:
        kind = offered[0].load()
    except (ImportError, AttributeError) as error:
        raise UnknownSpaceError(f"the space {name!r} cannot be loaded: {error}") from None
    if not (isinstance(kind, type) and issubclass(kind, Space)):
        raise ValueError(f"{name!r} is not a kind of space: it must be a class derived from sfumato.Space")
    register(kind)
    return kind


def all_spaces() -> list[type[Space]]:
    """Return the registered kinds of spaces, and those that installed packages offer, landmarks first, by their names.

    >>> [kind.name for kind in all_spaces()][:2]
    ['elastic-curves', 'outlines']
    """
    for offer in entry_points(group=GROUP):
        space_named(offer.name)
    return sorted(SPACES.values(), key=lambda kind: (get_args(Kind).index(kind.kind), kind.name))


def space_typed(text: str) -> Family:
    """Return what a user typed: a name, or a name with arguments.

    >>> space_typed("sphere(dim=3)").sized(), space_typed("sphere").sized(dim=2)
    (Sphere(dim=3, curvature=1.0), Sphere(dim=2, curvature=1.0))
    """
    return typed_space(text, lambda name: space_named(name, typed=True))


def usual_spaces(kind: Kind, shape: tuple[int, ...], degrees: bool = False, turns: bool = False) -> list[type[Space]]:
    """Return what records of a kind and shape may be taken for where no space is named, the most usual first.

    >>> [space.name for space in usual_spaces("matrices", (3, 3))]
    ['spd']
    """
    if degrees:
        return [type(GLOBE)]
    if turns:
        return [Rotations]
    return [space for space in SPACES.values() if space.kind == kind and not space.by_name and _takes(space, shape)]


def _takes(space: type[Space], shape: tuple[int, ...]) -> bool:
    try:
        Family(space).shaped(shape)
    except ValueError:
        return False
    return True


def space_from(name: str, parameters: dict[str, Any]) -> Space:
    """Return the space that a record describes."""
    return space_named(name).from_parameters(parameters)


def recorded_name(space: Space) -> str:
    """Return what a record calls a space.  A class that goes by the name of another one, as one derived from it does, is called
    by its own: they differ.

    >>> class Moon(Sphere): ...
    >>> recorded_name(Sphere(dim=2)), recorded_name(Moon(dim=2)).endswith(".Moon")
    ('sphere', True)
    """
    kind = type(space)
    alike = SPACES.get(space.name, kind) is kind and "name" in vars(kind)
    return space.name if alike else f"{kind.__module__}.{kind.__qualname__}"
