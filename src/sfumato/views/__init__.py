"""How a release is shown: in words, on a page, as a picture.  Views read a release and nothing else.

What depends on the space is in one file a space, under the space's name in ``VIEWS``; any other space is shown as numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Table, View
from .directions import Directions, Undirected
from .hyperbolic import Hyperbolic
from .matrices import Matrices
from .products import Products
from .rotations import Rotations
from .shapes import Shapes
from .vectors import Vectors

if TYPE_CHECKING:
    from ..release import Release

VIEWS: dict[str, View] = {
    "euclidean": Vectors(),
    "sphere": Directions(),
    "spd": Matrices(),
    "shapes": Shapes(),
    "product": Products(),
    "rotations": Rotations(),
    "axes": Undirected(),
    "hyperbolic": Hyperbolic(),
}


def view_of(release: Release) -> View:
    """How releases of this space are shown."""
    return VIEWS.get(release.space.name) or Table()
