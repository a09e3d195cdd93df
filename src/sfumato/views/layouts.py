"""Layouts that several spaces share: numbers side by side, and points on a map."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..numerics.arrays import Array
from .scene import GROUPS, Dots, Line, Mark, Panel, Role, Scales, Scene, Soft, blur, broken, closed, segments
from .subject import Subject

Range = tuple[Array, Array]
HERE = (np.zeros(2),)
SEEN = 0.04  # of the height of a panel: bars that are shorter are shown a second time, longer
NEARBY = 8.0  # errors from the released place: a public centre that is nearer is shown in a close-up too


def intervals(
    s: Subject,
    x: str,
    y: str,
    reach: Range | None = None,
    bars: Range | None = None,
    region: Range | None = None,
    *,
    read: Callable[[Array], Array] = np.ravel,
    log: bool = False,
    least: float | None = None,
    label: str = "",
) -> list[Panel]:
    """Return a panel of the numbers that are ``read`` from each point; with ``log`` the axis is one of factors.  Where bars
    would hardly be seen, a second one shows by how much all differ from the public centre.

    Ranges are what clipping left to each record, what the error leaves to each number, and that of the population's mean.
    """
    value, centre, *others = map(read, (s.about, s.centre, *(() if s.others is None else s.others)))
    ranges = (reach, bars, region)
    marks = _bars(s, value, centre, others, ranges, label or f"{s.error_label}, all bars at once")
    every = np.concatenate([value, centre, *others, *(end for ends in ranges for end in ends or ())])
    whole = _side_by_side(marks, every, value.size, Scales(x, y, s.names, whole=True, log_y=log), least)
    along = np.log if log else np.asarray
    room = SEEN * float(along(whole.high[1]) - along(whole.low[1]))
    if s.value is None or bars is None or reach is None or np.median(along(bars[1]) - along(bars[0])) > room:
        return [whole]
    words, away = (f"in parts of the {s.public}", np.divide) if log else (f"minus the {s.public}", np.subtract)
    near = [ends and (away(ends[0], centre), away(ends[1], centre)) for ends in (bars, region)]
    closer = intervals(s, x, words, None, *near, read=lambda point: away(read(point), centre), log=log)
    return [replace(panel, size=(3.7, 3.2)) for panel in (whole, *closer)]


def _bars(
    s: Subject, value: Array, centre: Array, others: list[Array], ranges: tuple[Range | None, ...], label: str
) -> list[Mark]:
    """Return what stands in such a panel."""
    reach, bars, region = ranges
    at = np.arange(1, value.size + 1).astype(np.float64)
    small = float(np.clip(120 / value.size, 2.0, 6.0))
    marks: list[Mark] = []
    if reach is not None:
        uprights = (np.stack([at, end], axis=1) for end in reach)
        marks.append(Line(segments(*uprights), Role.REACH, "range of clipped records"))
    if bars is not None:
        edges = _boxes(at, 0.2, *bars)
        rims = np.concatenate([segments(edges[:, i], edges[:, j]) for i, j in ((0, 1), (3, 2))])
        marks.append(Soft(list(edges), list(_boxes(at, 0.2, value, value)), label))
        marks.append(Line(rims, Role.NOISE))
    if region is not None:
        marks.append(Line(broken(map(closed, _boxes(at, 0.12, *region))), Role.REGION, s.region_label))
    marks.append(Dots(np.stack([at, centre], axis=1), Role.CENTRE, s.public, size=small))
    for i, other in enumerate(others):
        beside = np.stack([at + 0.06 * (i % 4 + 1), other], axis=1)
        marks.append(Dots(beside, s.role, s.others_label, size=0.7 * small))
    if s.value is not None:
        marks.append(Dots(np.stack([at, value], axis=1), Role.VALUE, s.name, size=small))
    return marks


def _side_by_side(marks: list[Mark], numbers: Array, count: int, scales: Scales, least: float | None = None) -> Panel:
    """Return a panel of so many places, and as high as the numbers ask."""
    ends = np.log(numbers[numbers > 0]) if scales.log_y else numbers
    margin = 0.06 * max(float(np.ptp(ends)), 1e-9)
    low, high = (np.exp(end) if scales.log_y else end for end in (ends.min() - margin, ends.max() + margin))
    corners = (np.array([0.4, low if least is None else least]), np.array([count + 0.6, high]))
    size = (float(np.clip(2.5 + 0.5 * count, 4.8, 7.2)), 3.6)
    return Panel(marks, *corners, size=size, scales=scales, equal=False)


def _boxes(at: Array, wide: float, low: Array, high: Array) -> Array:
    """Return the corners of a box about each place, from low to high: (n, 4, 2)."""
    x = at[:, None] + [-wide, wide, wide, -wide]
    return np.stack([x, np.stack([low, low, high, high], axis=1)], axis=2)


def two_groups(subjects: Mapping[str, Subject], x: str, y: str, regions: bool) -> Scene:
    """Return each number of two releases; with ``regions`` what the region of its population's mean leaves to each."""
    marks: list[Mark] = []
    ends: list[Array] = []
    for shift, role, (name, s) in zip((-0.12, 0.12), GROUPS, subjects.items(), strict=True):
        value = np.ravel(s.about if s.raw is None or not regions else s.raw)
        half = np.zeros(value.size) if s.region is None or not regions else s.region.bars()
        at = np.stack([np.arange(1, value.size + 1) + shift, value], axis=1)
        up = np.stack([0 * value, half], axis=1)
        label = f"{s.p:.0%} region for each population's mean" if half.any() and not ends else ""
        marks += [Line(segments(at - up, at + up), role, label), Dots(at, role, f"released mean of {name}")]
        ends += [at - up, at + up]
    numbers = np.concatenate(ends)[:, 1]
    return Scene([[_side_by_side(marks, numbers, value.size, Scales(x, y, s.names, whole=True))]])


def mapped(
    s: Subject,
    ground: Panel,
    place: Callable[[Array], Array],
    region: Array,
    error: Array | None,
    close: float,
    unit: str,
    again: Sequence[Array] = HERE,
    label: str = "",
) -> Scene:
    """Return the map, on a panel that holds its ground; and closer, where the error is smaller than ``close`` on it.  ``place``
    says where a point stands; edges of ``region`` and ``error``, with its ``label``, are drawn ``again`` at every shift."""
    at = place(s.about)
    centre = place(s.centre)
    reach = broken(region + shift for shift in again)
    marks: list[Mark] = [*ground.marks, Line(reach, Role.REACH, "range of clipped records")]
    half = np.inf
    if error is not None:
        half = float(np.abs(error - at).max())
        cores = [(at + shift)[None] for shift in again]
        marks += blur([error + shift for shift in again], cores, label or s.error_label)
    marks.append(Dots(centre[None], Role.CENTRE, s.public))
    if s.others is not None:
        marks.append(Dots(np.stack([place(other) for other in s.others]), s.role, s.others_label, size=4.0))
    if s.value is not None:
        marks.append(Dots(at[None], Role.VALUE, s.name))
    whole = replace(ground, marks=marks)
    if half >= close:
        return Scene([[whole]])
    half = near(half, float(np.abs(centre - at).max()))
    return Scene([[whole, whole.closer(at, half, f"close up: {3.2 * half:.2g}{unit} across")]])


def near(error: float, away: float) -> float:
    """Return half of what a close-up shows, less its margin: the error, and the public centre if it is not far away."""
    return max(error, away) if away < NEARBY * error else error
