"""A picture before anything draws it: panels of marks.

A view says what stands where and in which role; Matplotlib (``figures``) and the studio's page each draw the same marks, and
colours belong to roles.  Marks are drawn in their order, the first behind all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from ..numerics.arrays import Array

TURN = np.linspace(0, 2 * np.pi, 181)
CIRCLE = np.stack([np.cos(TURN), np.sin(TURN)], axis=1)  # once round
BREAK = np.full((1, 2), np.nan)  # ends a stretch of a line


class Role(StrEnum):
    """What a mark shows."""

    VALUE = "value"  # what was released
    CENTRE = "centre"  # what was public before
    REACH = "reach"  # how far records could lie from the centre
    NOISE = "noise"  # the edge of what the noise leaves open
    REGION = "region"  # where the mean of the population lies
    FRAME = "frame"  # lines to read places by
    COAST = "coast"
    TIE = "tie"  # joins two places of the same thing
    FIRST = "first"  # the first of two groups
    SECOND = "second"
    DRAW = "draw"  # made-up releases
    OTHER = "other"  # made-up or public records


GROUPS = (Role.FIRST, Role.SECOND)  # of two releases that are compared


@dataclass(frozen=True, eq=False)
class Line:
    """A line through points (n, 2); a row of NaN ends a stretch.  Of a role several are told apart by their ``variant``."""

    points: Array
    role: Role
    label: str = ""
    faint: bool = False
    variant: int = 0
    fill: bool = False  # whether the area inside is washed pale


@dataclass(frozen=True, eq=False)
class Dots:
    """Points (n, 2), of a diameter in points of print."""

    points: Array
    role: Role
    label: str = ""
    faint: bool = False
    size: float = 6.0


@dataclass(frozen=True, eq=False)
class Soft:
    """Areas within edges, darker towards cores of as many points, or of one; where they overlap they are one."""

    edges: Sequence[Array]
    cores: Sequence[Array]
    label: str = ""
    faint: bool = False


@dataclass(frozen=True, eq=False)
class Words:
    """Text at a place, moved by so many points of print."""

    at: Array
    text: str
    role: Role = Role.FRAME
    move: tuple[float, float] = (0.0, 0.0)
    faint: bool = False


@dataclass(frozen=True, eq=False)
class Arrows:
    """An arrow from each of the first points to that of the second."""

    starts: Array
    ends: Array


@dataclass(frozen=True, eq=False)
class Cells:
    """A matrix in colours, of which the strongest stand for ± most; with its numbers, where they are given as text."""

    matrix: Array
    most: float
    names: Sequence[str]
    unit: str
    numbers: Sequence[Sequence[str]] = ()


Mark = Line | Dots | Soft | Words | Arrows | Cells


@dataclass(frozen=True)
class Scales:
    """What stands along two axes: what they are, names for the places 1, 2, … across, and where numbers stand on both."""

    x: str = ""
    y: str = ""
    names: Sequence[str] = ()
    ticks: Sequence[float] = ()
    whole: bool = False  # only whole numbers across
    log_x: bool = False  # whether steps are factors
    log_y: bool = False


@dataclass(frozen=True, eq=False)
class Panel:
    """Marks on one plane, between two corners; without scales, nothing tells its numbers."""

    marks: Sequence[Mark]
    low: Array
    high: Array
    title: str = ""
    size: tuple[float, float] = (6.0, 6.0)  # in inches of print
    scales: Scales | None = None
    boxed: bool = False
    equal: bool = True

    def closer(self, at: Array, half: float, words: str) -> Panel:
        """Return the same about a place, as far as leaves room for something of this size, with a title that says so."""
        scales = None if self.scales is None else replace(self.scales, ticks=())
        return replace(self, low=at - 1.6 * half, high=at + 1.6 * half, title=words, scales=scales, boxed=True)


@dataclass(frozen=True, eq=False)
class Scene:
    """Rows of panels, and what is said above all of them."""

    rows: Sequence[Sequence[Panel]]
    title: str = ""

    @property
    def panels(self) -> list[Panel]:
        return [panel for row in self.rows for panel in row]


def around(points: Sequence[Array], margin: float) -> tuple[Array, Array]:
    """Return the corners of all these points, with a margin."""
    every = np.concatenate([np.reshape(each, (-1, np.shape(each)[-1])) for each in points])
    return np.nanmin(every, axis=0) - margin, np.nanmax(every, axis=0) + margin


def segments(starts: Array, ends: Array) -> Array:
    """Return the points of a line that joins each start to its end, and nothing else."""
    return np.stack([starts, ends, np.full_like(ends, np.nan)], axis=1).reshape(-1, 2)


def broken(lines: Iterable[Array]) -> Array:
    """Return the points of several lines as those of one, in which each is a stretch."""
    return np.concatenate([np.concatenate([line, BREAK]) for line in lines])


def blur(edges: Sequence[Array], cores: Sequence[Array], label: str = "", faint: bool = False) -> list[Mark]:
    """Return areas within closed edges that are darker towards their cores, and the edges themselves."""
    return [Soft(edges, cores, label, faint), Line(broken(edges), Role.NOISE, faint=faint)]


def closed(points: Array) -> Array:
    """Return points with the first again as the last."""
    return np.concatenate([points, points[:1]])


def marker(radius: float, most: float = 6.0) -> float:
    """Return the size of a dot that does not hide what is within this many points of print of it."""
    return float(np.clip(0.7 * radius, 1.8, most))
