"""Landmarks with curves: kept as they are, left out, or with another number of points along each curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import Fix
from ..numerics.arrays import Array
from .base import Choice, Dataset, FileError, Labels
from .missing import CODE, doubtful, remedy

Points = Sequence[Sequence[float]] | Array


@dataclass
class Specimen:
    """The landmarks of one specimen, each of its curves, and where it stands in the file, in words."""

    where: str
    landmarks: Points
    curves: list[Points] = field(default_factory=list)

    @property
    def sizes(self) -> list[int]:
        """Return points of the landmarks and of each curve."""
        return [len(self.landmarks), *map(len, self.curves)]


@dataclass
class Curved:
    """Landmarks and curves as a file holds them, before it is known what becomes of the curves."""

    specimens: list[Specimen]
    dim: int
    labels: Labels
    source: str  # of the landmarks alone
    lines: tuple[int, ...] = ()
    names: tuple[str, ...] = ()  # of the landmarks, and of the points of curves after them

    def records(self, choice: Choice) -> Dataset:
        """Return the points of every specimen, with what the user wants of the curves."""
        first = self.specimens[0]
        count = len(first.curves)
        specimens = self.specimens
        names = self.names
        if choice.curves == "keep":
            note = f", then {sum(first.sizes[1:])} points of curves and outlines"
        elif choice.curves == "drop":
            note = f"; {count} curves and outlines were dropped"
            specimens = [replace(one, curves=[]) for one in specimens]
            names = names[: len(first.landmarks)]
        else:
            self._explained(choice)
            note = f", then {count} curves and outlines, each resampled to {choice.curves} points evenly along it"
            specimens = [self._resampled(one, choice) for one in specimens]
            names = () if count else names
        return Dataset(
            _stacked(specimens, self.dim),
            "landmarks",
            labels=self.labels,
            source=self.source + (note if count else ""),
            lines=self.lines,
            landmarks=names,
            curves=count,
        )

    def _resampled(self, specimen: Specimen, choice: Choice) -> Specimen:
        curves = [np.array(curve, dtype=np.float64).reshape(-1, self.dim) for curve in specimen.curves]
        return replace(specimen, curves=[resampled(choice.filled(curve), int(choice.curves)) for curve in curves])

    def _explained(self, choice: Choice) -> None:
        """Refuse codes for missing values in curves that are not explained: new points would hide them."""
        points = [point for one in self.specimens for curve in one.curves for point in curve]
        if choice.missing is not None or not points:
            return
        flat = np.array(points, dtype=np.float64).reshape(1, -1)
        for row in np.flatnonzero(doubtful(flat, self.dim)[0])[:1].tolist():
            value = flat[0, row]
            owners = [one for one in self.specimens for curve in one.curves for _ in curve]
            where = owners[row // self.dim].where
            raise FileError(f"{where}: a point of a curve holds {value:.10g}; {CODE}", *remedy(value))


def resampled(curve: Array, count: int) -> Array:
    """Return so many points at even distances along a curve, its two ends among them.

    >>> resampled(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 3.0]]), 3).tolist()
    [[0.0, 0.0], [1.0, 1.0], [1.0, 3.0]]
    """
    if len(curve) < 2 or not np.isfinite(curve).all():
        return np.full((count, curve.shape[1]), np.nan) if len(curve) != 1 else np.repeat(curve, count, axis=0)
    size = np.abs(curve).max() or 1.0  # so that no square overflows
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve / size, axis=0), axis=1))])
    at = np.linspace(0.0, length[-1], count)
    points = np.stack([np.interp(at, length, axis) for axis in curve.T], axis=1)
    points[0] = curve[0]
    points[-1] = curve[-1]
    return points


def wanted(curves: Any) -> str | int:
    """Return what a user says of curves, checked.

    >>> wanted("keep"), wanted("20"), wanted(None)
    ('keep', 20, 'keep')
    """
    if curves is None or curves in ("keep", "drop"):
        return curves or "keep"
    number = int(curves) if isinstance(curves, str) and curves.isdecimal() and len(curves) < 10 else curves
    if isinstance(number, bool) or not isinstance(number, int) or number < 2:
        raise ValueError(f"curves must be 'keep', 'drop' or a number of points of at least 2, not {curves!r}")
    return number


def _stacked(specimens: list[Specimen], dim: int) -> Array:
    first = specimens[0]
    for specimen in specimens:
        if not sum(specimen.sizes):
            raise FileError(f"{specimen.where}: has no points")
        if specimen.sizes != first.sizes:
            raise FileError(f"{specimen.where}: ", *_differing(specimen.sizes, first.sizes, first.where))
    blocks = [block for one in specimens for block in (one.landmarks, *one.curves) if len(block)]
    return np.concatenate(blocks, dtype=np.float64).reshape(len(specimens), -1, dim)


def _differing(sizes: list[int], first: list[int], where: str) -> list[str | Fix]:
    """Return that specimens have other numbers of points, and what would help."""
    if len(sizes) == len(first) == 1:
        return [f"{sizes[0]} points, but {where} has {first[0]}; every specimen needs the same landmarks"]
    parts: list[str | Fix] = [
        f"landmarks and curves of {sizes} points, but {where} has {first}; every specimen needs the same"
    ]
    if sizes[0] == first[0]:
        parts += ["; leave the curves out, ", Fix("curves", "drop")]
        if len(sizes) == len(first):
            parts += [", or resample each, as ", Fix("curves", 20)]
    return parts
