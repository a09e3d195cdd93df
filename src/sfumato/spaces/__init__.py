"""Manifolds."""

from typing import Any

from .base import InvalidPointError, Points, Space
from .euclidean import Euclidean
from .shapes import PlanarShapes
from .spd import SPD
from .sphere import Sphere

SPACES: dict[str, type[Space]] = {}


def register(kind: type[Space]) -> None:
    """From now on the space is known by its name: to records, the command line and reports."""
    SPACES[kind.name] = kind


for _kind in (Euclidean, Sphere, SPD, PlanarShapes):
    register(_kind)
GLOBE: Space = Sphere(dim=2)  # what latitude and longitude mean where no space is named


def space_from(name: str, parameters: dict[str, Any]) -> Space:
    """The space that a record describes."""
    if name not in SPACES:
        raise ValueError(f"unknown space {name!r}; known: {', '.join(SPACES)}")
    return SPACES[name](**parameters)


__all__ = [
    "GLOBE",
    "SPACES",
    "SPD",
    "Euclidean",
    "InvalidPointError",
    "PlanarShapes",
    "Points",
    "Space",
    "Sphere",
    "register",
    "space_from",
]
