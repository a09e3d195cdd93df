"""A public region as a file, so that several studies release in one and the same region."""

import os
from dataclasses import dataclass
from typing import Any, ClassVar

from ..regions import Ball, Ellipsoid, Region, Settled, check_region, check_settled
from .document import Document
from .record import SpaceOf


@dataclass(frozen=True, eq=False)
class RegionOf(Document):
    """A settled region as a file holds it: its space, and the other arguments of a ball or an ellipsoid."""

    space: SpaceOf
    arguments: dict[str, Any]

    format: ClassVar[str] = "sfumato region 1"
    noun: ClassVar[str] = "public region"

    @property
    def region(self) -> Settled:
        space = self.space.required
        return Ball(space, **self.arguments) if "radius" in self.arguments else Ellipsoid(space, **self.arguments)

    def check(self) -> None:
        if not isinstance(self.arguments.get("source", ""), str):
            raise ValueError("the source is not in words")
        _ = self.region  # whose maker refuses what is none


def save_region(region: Region, path: str | os.PathLike[str]) -> None:
    """Write a public region as JSON with its SHA-256, so that others release in the same one; :func:`load_region` reads it.

    It is a ball or an ellipsoid.  What the makers of ellipsoids give depends on n and ε: agree on both, and save
    ``region.settle(n, epsilon)``.  A region that was found privately is refused, as its price would be lost.

    >>> import tempfile
    >>> from sfumato import Euclidean
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_region(Ball(Euclidean(dim=2), [0.0, 1.0], radius=2.0), f"{folder}/region.json")
    ...     load_region(f"{folder}/region.json")
    Ball(space=Euclidean(dim=2), radius=2.0)
    """
    settled = check_settled(check_region(region, "save_region takes"), "save")
    if settled.found:
        raise ValueError("this region was found privately: a file would say that it is public, and lose its price")
    made = RegionOf(SpaceOf.of(settled.space), settled.parameters())
    made.check()
    made.save(path)


def load_region(path: str | os.PathLike[str]) -> Settled:
    """Return the region that :func:`save_region` wrote; a file that was altered or cut is refused with a RecordError."""
    return RegionOf.load(path).region
