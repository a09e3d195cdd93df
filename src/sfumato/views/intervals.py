"""Numbers side by side: each with what the error leaves open, the public centre, and the range of clipped records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numerics.arrays import Array
from .scene import Dots, Line, Mark, Panel, Role, Scales, Soft, segments
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
    marks: list[Mark] = [Line(_uprights(at, numbers.reach), Role.REACH, "range of clipped records")]
    if numbers.bars is not None:
        marks += _bars(at, value, numbers.bars, f"{s.error_label}, all bars at once")
    if numbers.region is not None:
        marks.append(Line(_boxes(at, numbers.region), Role.REGION, s.region_label))
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


def _uprights(at: Array, ends: Range) -> Array:
    return segments(np.stack([at, ends[0]], axis=1), np.stack([at, ends[1]], axis=1))


def _bars(at: Array, value: Array, ends: Range, label: str) -> list[Mark]:
    """Return a soft bar from the lower to the upper end of each range, with both ends marked."""
    wide = 0.16
    low, high = (np.asarray(end, dtype=np.float64) for end in ends)
    edges = [
        np.array([[x - wide, a], [x + wide, a], [x + wide, b], [x - wide, b]])
        for x, a, b in zip(at, low, high, strict=True)
    ]
    cores = [
        np.array([[x - wide, v], [x + wide, v], [x + wide, v], [x - wide, v]]) for x, v in zip(at, value, strict=True)
    ]
    rims = [segments(np.stack([at - wide, end], axis=1), np.stack([at + wide, end], axis=1)) for end in (low, high)]
    return [Soft(edges, cores, label), Line(np.concatenate(rims), Role.NOISE)]


def _boxes(at: Array, ends: Range) -> Array:
    wide = 0.1
    corners = [
        [[x - wide, a], [x + wide, a], [x + wide, b], [x - wide, b], [x - wide, a], [np.nan, np.nan]]
        for x, a, b in zip(at, *ends, strict=True)
    ]
    return np.concatenate(corners)
