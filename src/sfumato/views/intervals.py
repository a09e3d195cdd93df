"""Numbers side by side: each with what the error leaves open, the public centre, and the range of clipped records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numerics.arrays import Array
from .scene import Dots, Line, Mark, Panel, Role, Scales, Soft, broken, closed, segments
from .subject import Subject

Range = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Ranges:
    """Numbers, those of the centre, the range that clipping left to each record, what the error leaves to each, the range of
    the population's mean, and the numbers of other points."""

    value: Array
    centre: Array
    reach: Range
    bars: Range | None = None
    region: Range | None = None
    others: Array | None = None


def intervals(s: Subject, numbers: Ranges, x: str, y: str, log: bool = False, least: float | None = None) -> Panel:
    """Return the panel of these numbers; an axis in factors where all that is drawn is positive."""
    value = numbers.value
    count = value.size
    at = np.arange(1, count + 1).astype(np.float64)
    small = float(np.clip(120 / count, 1.5, 6))
    uprights = (np.stack([at, end], axis=1) for end in numbers.reach)
    marks: list[Mark] = [Line(segments(*uprights), Role.REACH, "range of clipped records")]
    if numbers.bars is not None:
        marks += _bars(at, value, numbers.bars, f"{s.error_label}, all bars at once")
    if numbers.region is not None:
        marks.append(Line(broken(map(closed, _boxes(at, 0.1, *numbers.region))), Role.REGION, s.region_label))
    marks.append(Dots(np.stack([at, numbers.centre], axis=1), Role.CENTRE, "public centre", size=small))
    for i, other in enumerate(() if numbers.others is None else np.reshape(numbers.others, (-1, count))):
        shift = 0.06 * (i % 4 + 1)
        marks.append(Dots(np.stack([at + shift, other], axis=1), s.role, size=0.7 * small))
    if s.value is not None:
        marks.append(Dots(np.stack([at, value], axis=1), Role.VALUE, s.name, size=small))
    low, high = _limits(numbers, log, least)
    size = (float(np.clip(2.5 + 0.5 * count, 6, 9)), 4.6)
    scales = Scales(x, y, s.names, whole=True, log_y=log)
    return Panel(marks, np.array([0.4, low]), np.array([count + 0.6, high]), size=size, scales=scales, equal=False)


def _limits(numbers: Ranges, log: bool, least: float | None) -> tuple[float, float]:
    """Return the ends of the upright axis, with a margin."""
    ranges = [each for pair in (numbers.reach, numbers.bars, numbers.region) if pair is not None for each in pair]
    shown = [numbers.value, numbers.centre, *ranges, *([] if numbers.others is None else [numbers.others])]
    every = np.concatenate([np.ravel(each) for each in shown])
    if log:
        low, high = np.log([every[every > 0].min(), every.max()])
        margin = 0.05 * max(high - low, 1e-9)
        return float(np.exp(low - margin)), float(np.exp(high + margin))
    margin = 0.05 * max(float(np.ptp(every)), 1e-9)
    return float(every.min()) - margin if least is None else least, float(every.max()) + margin


def _bars(at: Array, value: Array, ends: Range, label: str) -> list[Mark]:
    """Return a soft bar from the lower to the upper end of each range, with both ends marked."""
    edges = _boxes(at, 0.16, *ends)
    rims = np.concatenate([segments(edges[:, i], edges[:, j]) for i, j in ((0, 1), (3, 2))])
    return [Soft(list(edges), list(_boxes(at, 0.16, value, value)), label), Line(rims, Role.NOISE)]


def _boxes(at: Array, wide: float, low: Array, high: Array) -> Array:
    """Return the corners of a box about each place, from low to high: (n, 4, 2)."""
    x = at[:, None] + [-wide, wide, wide, -wide]
    return np.stack([x, np.stack([low, low, high, high], axis=1)], axis=2)
