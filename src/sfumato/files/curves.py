"""Landmarks with curves, and outlines: kept as they are, left out, or with another number of points along each curve."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Fix
from ..landmarks.outlines import resample_outlines
from ..numerics.arrays import Array
from .base import AmbiguousError, Choice, Dataset, FileError, Labels, shown
from .labels import strings
from .missing import CODE, doubtful, remedy, with_gaps

Points = Sequence[Sequence[float]] | Array


@dataclass
class Specimen:
    """One specimen: its landmarks and then each of its curves, and where it stands in the file, in words."""

    where: str
    blocks: list[Points]


@dataclass
class Curved:
    """Landmarks and curves as a file holds them, before it is known what becomes of the curves."""

    specimens: Sequence[Specimen]
    dim: int
    labels: Labels
    source: str  # of the landmarks alone
    lines: tuple[int, ...] = ()
    names: tuple[str, ...] = ()  # of the landmarks, and of the points of curves after them
    closed: bool = False  # whether each curve is an outline, which has no ends
    plain: NDArray[Any] | None = None  # the same as the format has arrays, where all have as many points

    @property
    def bare(self) -> bool:
        """Whether each specimen is one curve or outline, and has no landmarks."""
        return all(len(one.blocks) == 2 and not len(one.blocks[0]) for one in self.specimens)

    def records(self, choice: Choice) -> Dataset:
        """Return the points of every specimen, with what the user wants of the curves."""
        marks, *curves = self.specimens[0].blocks
        specimens = self.specimens
        names = self.names
        prepared: dict[str, Any] = {}
        note = f", then {sum(map(len, curves))} points of curves and outlines"
        if choice.curves == "drop":
            note = f"; {len(curves)} curves and outlines were dropped"
            specimens = [replace(one, blocks=one.blocks[:1]) for one in specimens]
            names = names[: len(marks)]
        elif choice.curves != "keep":
            what = "" if self.bare else f"then {len(curves)} curves and outlines, "
            note = f", {what}each resampled to {choice.curves} points evenly along it"
            specimens = self._resampled(choice)
            names = () if curves else names
            prepared = {"curves": choice.curves} if curves else {}
        elif self.bare:
            note = ""
            sizes = sorted(len(one.blocks[1]) for one in specimens)
            if sizes[0] < sizes[-1]:
                many = f"{len(sizes)} outlines of {sizes[0]} to {sizes[-1]} points; every one needs the same number"
                raise AmbiguousError(f"{many}: resample each, as ", Fix("curves", 50))
        points = _stacked(specimens, self.dim)
        facts: dict[str, Any] = {"labels": self.labels, "lines": self.lines, "landmarks": names, "curves": len(curves)}
        facts["prepared"] = prepared
        ends = np.cumsum([len(block) for block in specimens[0].blocks]).tolist()
        facts["sliders"] = tuple((i, i + 1, i + 2) for a, b in pairwise(ends) for i in range(a + 1, b - 1))
        return Dataset(points, "landmarks", source=self.source + (note if curves else ""), **facts)

    def _resampled(self, choice: Choice) -> list[Specimen]:
        """Return new points on all curves; refuse codes for missing values that are not explained, which these would hide."""
        arrays = [[self._there(curve, choice) for curve in one.blocks[1:]] for one in self.specimens]
        flat = np.concatenate([np.empty((0, self.dim)), *chain.from_iterable(arrays)]).reshape(1, -1)
        doubts = np.flatnonzero(doubtful(flat, self.dim)[0]) if choice.missing is None and flat.size else ()
        for entry in doubts[:1]:
            lengths = [sum(map(len, curves)) for curves in arrays]
            owner = np.repeat(np.arange(len(arrays)), lengths)[entry // self.dim]
            where = f"{self.specimens[owner].where}: a point of a curve holds {flat[0, entry]:.10g}; {CODE}"
            raise FileError(where, *remedy(flat[0, entry], choice))
        count = int(choice.curves)
        if self.closed and self.bare and count > 2:
            made = resample_outlines([outline for [outline] in arrays], count, choice.reference())
            return [replace(one, blocks=[(), outline]) for one, outline in zip(self.specimens, made, strict=True)]
        return [
            replace(one, blocks=[one.blocks[0], *(resampled(curve, count) for curve in curves)])
            for one, curves in zip(self.specimens, arrays, strict=True)
        ]

    def _there(self, curve: Points, choice: Choice) -> Array:
        """Return a curve with NaN for what is missing; without that where it is to be estimated, if the curve has its ends."""
        made = choice.filled(with_gaps(np.array(curve, dtype=np.float64).reshape(1, -1, self.dim), choice)[0])
        there = np.asarray(~np.isnan(made).any(axis=1))
        skip = "estimate" in choice.gaps and there.sum() > 1 and (self.closed or there[[0, -1]].all())
        return made[there] if skip else made


def outlines(arrays: Sequence[Array], names: Sequence[str], source: str, closed: bool = True, **more: Any) -> Curved:
    """Return outlines in the plane, or open curves, by their names where they have these."""
    said = [f" (ID {shown(name)})" for name in names] or [""] * len(arrays)
    specimens = [Specimen(f"record {i}{said[i]}", [(), own]) for i, own in enumerate(arrays)]
    labels = more.pop("labels", {}) | ({"ID": strings("ID", list(names))} if names else {})
    return Curved(specimens, 2, labels, source, closed=closed, **more)


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


def _stacked(specimens: Sequence[Specimen], dim: int) -> Array:
    """Return the points of all specimens; refuse those that have other numbers of points than the first."""
    start = specimens[0].where
    first = [len(block) for block in specimens[0].blocks]
    for one in specimens:
        sizes = [len(block) for block in one.blocks]
        if not sum(sizes):
            raise FileError(f"{one.where}: has no points")
        if sizes == first:
            continue
        if len(sizes) == len(first) == 1:
            has = f"{sizes[0]} points, but {start} has {first[0]}; every specimen needs the same landmarks"
            raise FileError(f"{one.where}: {has}: write NA for those that are missing")
        has = f"landmarks and curves of {sizes} points, but {start} has {first}"
        parts: list[str | Fix] = [f"{one.where}: {has}; every specimen needs the same"]
        if sizes[0] == first[0]:
            parts += ["; leave the curves out, ", Fix("curves", "drop")]
            parts += [", or resample each, as ", Fix("curves", 20)] if len(sizes) == len(first) else []
        raise FileError(*parts)
    blocks = [block for one in specimens for block in one.blocks if len(block)]
    return np.concatenate(blocks, dtype=np.float64).reshape(len(specimens), -1, dim)
