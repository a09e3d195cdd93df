"""Layouts that several spaces share: numbers side by side, and points on a map."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..numerics.arrays import Array
from .scene import Dots, Line, Mark, Panel, Role, Scales, Scene, Soft, blur, broken, closed, segments
from .subject import Subject

Range = tuple[Array, Array]
HERE = (np.zeros(2),)


def intervals(
    s: Subject,
    x: str,
    y: str,
    reach: Range,
    bars: Range | None = None,
    region: Range | None = None,
    *,
    read: Callable[[Array], Array] = np.ravel,
    log: bool = False,
    least: float | None = None,
) -> Panel:
    """Return the panel of the numbers that are ``read`` from each point; with ``log`` the axis is one of factors.

    Ranges are what clipping left to each record, what the error leaves to each number, and that of the population's mean.
    """
    value = read(s.about)
    centre = read(s.centre)
    others = [] if s.others is None else [read(other) for other in s.others]
    count = value.size
    at = np.arange(1, count + 1).astype(np.float64)
    small = float(np.clip(120 / count, 1.5, 6))
    uprights = (np.stack([at, end], axis=1) for end in reach)
    marks: list[Mark] = [Line(segments(*uprights), Role.REACH, "range of clipped records")]
    if bars is not None:
        edges = _boxes(at, 0.16, *bars)
        rims = np.concatenate([segments(edges[:, i], edges[:, j]) for i, j in ((0, 1), (3, 2))])
        marks.append(Soft(list(edges), list(_boxes(at, 0.16, value, value)), f"{s.error_label}, all bars at once"))
        marks.append(Line(rims, Role.NOISE))
    if region is not None:
        marks.append(Line(broken(map(closed, _boxes(at, 0.1, *region))), Role.REGION, s.region_label))
    marks.append(Dots(np.stack([at, centre], axis=1), Role.CENTRE, "public centre", size=small))
    for i, other in enumerate(others):
        marks.append(Dots(np.stack([at + 0.06 * (i % 4 + 1), other], axis=1), s.role, size=0.7 * small))
    if s.value is not None:
        marks.append(Dots(np.stack([at, value], axis=1), Role.VALUE, s.name, size=small))
    every = np.concatenate([value, centre, *others, *reach, *(bars or ()), *(region or ())])
    ends = np.log(every[every > 0]) if log else every
    margin = 0.05 * max(float(np.ptp(ends)), 1e-9)
    limits = np.array([ends.min() - margin, ends.max() + margin])
    low, high = np.exp(limits) if log else limits
    size = (float(np.clip(2.5 + 0.5 * count, 6, 9)), 4.6)
    scales = Scales(x, y, s.names, whole=True, log_y=log)
    corner = np.array([0.4, low if least is None else least])
    return Panel(marks, corner, np.array([count + 0.6, high]), size=size, scales=scales, equal=False)


def _boxes(at: Array, wide: float, low: Array, high: Array) -> Array:
    """Return the corners of a box about each place, from low to high: (n, 4, 2)."""
    x = at[:, None] + [-wide, wide, wide, -wide]
    return np.stack([x, np.stack([low, low, high, high], axis=1)], axis=2)


def mapped(
    s: Subject,
    ground: Panel,
    place: Callable[[Array], Array],
    region: Array,
    error: Array | None,
    close: float,
    unit: str,
    again: Sequence[Array] = HERE,
) -> Scene:
    """Return the map, on a panel that holds its ground; and closer, where the error is smaller than ``close`` on it.

    ``place`` says where a point stands, ``region`` and ``error`` are the edges of both, drawn ``again`` at every shift.
    """
    at = place(s.about)
    reach = broken(region + shift for shift in again)
    marks: list[Mark] = [*ground.marks, Line(reach, Role.REACH, "range of clipped records")]
    half = np.inf
    if error is not None:
        half = float(np.abs(error - at).max())
        marks += blur([error + shift for shift in again], [(at + shift)[None] for shift in again], s.error_label)
    marks.append(Dots(place(s.centre)[None], Role.CENTRE, "public centre"))
    if s.others is not None:
        marks.append(Dots(np.stack([place(other) for other in s.others]), s.role, size=4.0))
    if s.value is not None:
        marks.append(Dots(at[None], Role.VALUE, s.name))
    whole = replace(ground, marks=marks)
    if half >= close:
        return Scene([[whole]])
    return Scene([[whole, whole.closer(at, half, f"close up: {3.2 * half:.2g}{unit} across")]], columns=4)
