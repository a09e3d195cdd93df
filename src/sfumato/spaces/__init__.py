"""Manifolds, and the registry by which the rest of the package knows them."""

from importlib.metadata import EntryPoint, entry_points
from typing import Any, get_args

from ..errors import InvalidPointError, UnknownSpaceError
from ..numerics.arrays import Points
from .axes import Axes
from .base import Kind, Space
from .chart import Chart
from .correlation import Correlation
from .curves import ElasticCurves
from .diagonal import DiagonalSPD
from .euclidean import Euclidean
from .family import Family, typed_space
from .flat import Flat
from .grassmann import Grassmann
from .hyperbolic import Hyperbolic
from .kendall import Shapes, Shapes3D, SizeAndShape
from .product import Product
from .rotations import Rotations
from .shapes import PlanarShapes
from .simplex import Aitchison, Simplex
from .spd import SPD
from .spd_metrics import BuresWasserstein, LogCholesky, LogEuclidean
from .sphere import Sphere
from .stiefel import Stiefel
from .torus import Circle, Torus

SPACES: dict[str, type[Space]] = {}
GROUP = "sfumato.spaces"  # of entry points, by which an installed package offers spaces of its own


def register(kind: type[Space]) -> None:
    """From now on the space is known by its name: to records, the command line and reports."""
    SPACES[kind.name] = kind


for _kind in (
    Euclidean,
    Sphere,
    SPD,
    PlanarShapes,
    Shapes3D,
    SizeAndShape,
    Product,
    DiagonalSPD,
    LogEuclidean,
    LogCholesky,
    BuresWasserstein,
    Correlation,
    Grassmann,
    Simplex,
    Aitchison,
    Torus,
    Stiefel,
    ElasticCurves,
    Rotations,
    Axes,
    Hyperbolic,
):
    register(_kind)
GLOBE: Space = Sphere(dim=2)  # what latitude and longitude mean where no space is named
LINE: Space = Euclidean(dim=1)  # where numbers lie: sizes, variances


def space_named(name: str, typed: bool = False) -> type[Space]:
    """The kind of space of this name: a registered one, or one that an installed package offers; ``module:Class`` only if a
    user ``typed`` it, as no name in a file may load anything.

    >>> space_named("spd").__name__, space_named("sfumato.spaces:Sphere", typed=True).name
    ('SPD', 'sphere')
    """
    if name in SPACES:
        return SPACES[name]
    offered = [*entry_points(group=GROUP, name=name)] or [EntryPoint(name, name, GROUP)] * (typed and ":" in name)
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
    """The registered kinds of spaces, and those that installed packages offer, landmarks first, by their names.

    >>> [kind.name for kind in all_spaces()][:2]
    ['elastic-curves', 'shapes']
    """
    for offer in entry_points(group=GROUP):
        space_named(offer.name)
    return sorted(SPACES.values(), key=lambda kind: (get_args(Kind).index(kind.kind), kind.name))


def space_typed(text: str) -> Family:
    """What a user typed: a name, or a name with arguments.

    >>> space_typed("sphere(dim=3)").sized(), space_typed("sphere").sized(dim=2)
    (Sphere(dim=3, curvature=1.0), Sphere(dim=2, curvature=1.0))
    """
    return typed_space(text, lambda name: space_named(name, typed=True))


def usual_spaces(kind: Kind, shape: tuple[int, ...], degrees: bool = False, turns: bool = False) -> list[type[Space]]:
    """What records of a kind and shape may be taken for where no space is named, the most usual first.

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
        space.shaped(shape)
    except ValueError:
        return False
    return True


def space_from(name: str, parameters: dict[str, Any]) -> Space:
    """The space that a record describes."""
    return space_named(name).from_parameters(parameters)


def recorded_name(space: Space) -> str:
    """What a record calls a space.  A class that goes by the name of another one, as one derived from it does, is called by its
    own: they differ.

    >>> class Moon(Sphere): ...
    >>> recorded_name(Sphere(dim=2)), recorded_name(Moon(dim=2)).endswith(".Moon")
    ('sphere', True)
    """
    kind = type(space)
    alike = SPACES.get(space.name, kind) is kind and "name" in vars(kind)
    return space.name if alike else f"{kind.__module__}.{kind.__qualname__}"


__all__ = [
    "GLOBE",
    "LINE",
    "SPACES",
    "SPD",
    "Aitchison",
    "Axes",
    "Chart",
    "Circle",
    "Correlation",
    "DiagonalSPD",
    "ElasticCurves",
    "Euclidean",
    "Family",
    "Flat",
    "Grassmann",
    "Hyperbolic",
    "InvalidPointError",
    "PlanarShapes",
    "Points",
    "Product",
    "Rotations",
    "Shapes",
    "Shapes3D",
    "Simplex",
    "SizeAndShape",
    "Space",
    "Sphere",
    "Stiefel",
    "Torus",
    "all_spaces",
    "recorded_name",
    "register",
    "space_from",
    "space_named",
    "space_typed",
    "usual_spaces",
]
