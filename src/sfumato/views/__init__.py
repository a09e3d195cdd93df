"""How a release is shown: in words, on a page, as a picture.  Views read a release and nothing else.

What depends on the space is in one file a space, under the space's name in ``VIEWS``; any other space is shown as numbers.
"""

from typing import Any

from .angles import Angles
from .base import View
from .compositions import Compositions
from .curves import Curves
from .directions import Directions, Undirected
from .hyperbolic import Hyperbolic
from .matrices import Correlations, LogCholeskyMatrices, LogEuclideanMatrices, Matrices, TransportMatrices, Variances
from .rotations import Rotations
from .shapes import Outlines, Shapes, SizesAndShapes, Solids
from .tables import Frames, Products, Subspaces, Vectors

VIEWS: dict[str, View] = {
    "euclidean": Vectors(),
    "sphere": Directions(),
    "spd": Matrices(),
    "shapes": Shapes(),
    "shapes3d": Solids(),
    "size-and-shape": SizesAndShapes(),
    "elastic-curves": Curves(),
    "outlines": Outlines(),
    "log-euclidean": LogEuclideanMatrices(),
    "log-cholesky": LogCholeskyMatrices(),
    "bures-wasserstein": TransportMatrices(),
    "correlation": Correlations(),
    "diagonal-spd": Variances(),
    "grassmann": Subspaces(),
    "stiefel": Frames(),
    "simplex": Compositions(),
    "aitchison": Compositions(),
    "torus": Angles(),
    "rotations": Rotations(),
    "axes": Undirected(),
    "hyperbolic": Hyperbolic(),
}
VIEWS["product"] = Products(VIEWS)


def view_of(done: Any) -> View:
    """Return how a release, a region, or whatever else has a space, is shown."""
    return VIEWS.get(done.space.name) or View()
