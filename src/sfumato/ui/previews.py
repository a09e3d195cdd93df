"""Pictures from public numbers, as marks for the page to draw: no record and no drawing library is asked.

A picture is a list of panels, each with its title, size and marks; or a table.  A mark has a kind, places in the panel, and a
class that says what it shows: ``centre``, ``draw``, ``band``, ``other``, ``frame``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from ..errors import Refusal
from ..mechanisms.choice import choose
from ..mechanisms.plan import Plan, Problem
from ..mechanisms.tangent import TangentPlan
from ..privacy import PureDP
from ..records import Records
from ..regions import Ellipsoid, Region
from ..spaces import Space
from ..spaces.base import Array
from ..views.base import Noise
from ..views.plots import read_links
from ..views.shapes import joined, looks_like_an_outline

WIDTH = 400.0  # of a panel
DRAWS, OTHERS, SYNTHETIC = 4, 12, 60  # releases shown, points shown about a centre, synthetic records
P = 0.95
JUST_SEEN = 0.015  # of the size of a shape: a band that is narrower is drawn larger, and the picture says so
MOST_CELLS, MOST_ROWS = 24, 30  # of a heat map on each side, of a table
BAND = f"the soft part holds the mean with probability {P:.0%}."
SHOWN = {
    "points": f"{DRAWS} releases (blue) of made-up records about the public centre (grey); {BAND}",
    "cells": "The public centre, and a release of made-up records about it.",
    "table": "The public centre, and releases of made-up records about it.",
}
EPSILONS = np.round(np.geomspace(0.03, 10, 13), 4)
COARSE_FIRST = [0, 12, 6, 3, 9, 1, 5, 7, 11, 2, 4, 8, 10]  # of these, where planning is slow
SECONDS = 1.5
Marks = list[dict[str, Any]]


class Band(NamedTuple):
    """What holds the mean with probability P, about the centre: a distance; and its shape, where the noise has one."""

    error: float
    noise: Noise | None


# -- what the page asks for ---------------------------------------------------------------------------------------------
def of_region(region: Region, sample: Array | None, links: str = "") -> dict[str, Any]:
    """A public centre with the public specimens it comes from, or with made-up points as far away as the radius.

    >>> from sfumato import Ball, Sphere
    >>> found = of_region(Ball(Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.4), None)
    >>> found["space"], found["radius"], found["dim"]
    ('sphere(dim=2, curvature=1.0)', 0.4, 2)
    """
    from ..spaces.family import as_typed

    space, center, rng = region.space, region.center, np.random.default_rng(0)
    shown = space.present(center)
    if sample is None:
        u = rng.normal(size=(OTHERS, space.dim))
        u *= region.radius / np.linalg.norm(u, axis=1, keepdims=True)
        others = space.present(space.exp(center, space.from_coordinates(center, u)))
        words = f"The public centre{{}}, and {OTHERS} made-up records at the distance {region.radius:.3g} from it{{}}."
    else:
        others = _turned(space, center, sample[:: max(1, len(sample) // OTHERS)])
        words = (
            f"The centre of {len(sample)} public specimens (grey), and some of them (thin); size {region.radius:.3g}."
        )
    drawn = picture(space, shown, others, "other", None, links)
    looks = (" (grey)", " (thin)") if drawn["as"] == "points" else ("", "")
    return {
        **drawn,
        "space": as_typed(space),
        "radius": region.radius,
        "dim": space.dim,
        "landmarks": space.kind == "landmarks",
        "words": words.format(*looks),
    }


def of_release(
    region: Region, n: int, epsilon: float, mechanism: str, check: float, inference: float = 0.0, links: str = ""
) -> dict[str, Any]:
    """What releases would look like, of synthetic records that lie evenly about the public centre."""
    plan = choose(Problem(region, n, PureDP(epsilon)), mechanism, check, inference=inference)
    space, center = region.space, region.center
    draws = plan.sample(_synthetic(plan), DRAWS, np.random.default_rng(1))
    error, beat, chart = float(plan.likely_error), float(plan.to_beat), _chart(plan)
    noise = None if chart is None else Noise(chart, np.zeros(len(chart.axes)), plan.scale.sigma, P)
    directions = space.dim if chart is None else len(chart.axes)
    drawn = picture(
        space, space.present(center), _turned(space, center, draws), "draw", Band(plan.stated_error, noise), links
    )
    return {
        **drawn,
        "error": error,
        "to_beat": beat,
        "useless": plan.useless,
        "mechanism": plan.name,
        "directions": directions,
        "dim": space.dim,
        "odds": float(np.exp(min(epsilon, 100.0))),
        "words": f"{SHOWN[drawn['as']]} Not one of your records was read for it.",
    }


def of_errors(region: Region, n: int, mechanism: str, check: float, inference: float = 0.0) -> dict[str, Any]:
    """The error at 95% against ε, on logarithmic scales; ``place`` says where a choice stands: a, b, c, d, bottom, for
    x = a + b·log10 ε and y = c + d·log10(error)."""
    found = _errors(region, n, mechanism, check, inference)
    errors = np.log10([error for _, error, _ in found])
    low, high = float(np.floor(10 * errors.min()) / 10 - 0.1), float(np.ceil(10 * errors.max()) / 10 + 0.1)
    left, right, top, bottom = 52.0, WIDTH - 12, 30.0, 236.0
    ends = np.log10([EPSILONS[0], EPSILONS[-1]])
    b, d = (right - left) / (ends[1] - ends[0]), (top - bottom) / (high - low)
    a, c = left - b * ends[0], bottom - d * low

    def at(epsilon: float, error: float) -> list[float]:
        return [round(float(a + b * np.log10(epsilon)), 2), round(float(c + d * np.log10(error)), 2)]

    marks: Marks = []
    for tick in (0.03, 0.1, 0.3, 1, 3, 10):
        x = at(tick, 1.0)[0]
        marks += [_line([[x, top], [x, bottom]], "frame"), _word([x, bottom + 16], f"{tick:g}", "tick middle")]
    for tick in _ticks(low, high):
        y = at(1.0, tick)[1]
        marks += [_line([[left, y], [right, y]], "frame"), _word([left - 6, y + 4], f"{tick:.2g}", "tick end")]
    if 10**low < region.radius < 10**high:
        y = at(1.0, region.radius)[1]
        words = "size of the region: useless above"
        marks += [_line([[left, y], [right, y]], "limit"), _word([right, y - 5], words, "tick end")]
    marks.append(_line([at(epsilon, error) for epsilon, error, _ in found], "curve"))
    marks += [_word([(left + right) / 2, bottom + 33], "ε", "tick middle"), _word([4, 13], "error at 95%", "tick")]
    place = [float(x) for x in (a, b, c, d, bottom)]
    table = [[f"{epsilon:g}", f"{error:.3g}", "useless" if useless else ""] for epsilon, error, useless in found]
    return {"panels": [{"title": "", "size": [WIDTH, 276], "marks": marks}], "place": place, "table": table}


def _errors(region: Region, n: int, mechanism: str, check: float, inference: float) -> list[tuple[float, float, bool]]:
    """ε, the error, and whether it is useless; at fewer ε where planning is slow."""
    found: list[tuple[float, float, bool]] = []
    until = monotonic() + SECONDS
    for epsilon in EPSILONS[COARSE_FIRST].tolist():
        if monotonic() > until and len(found) > 2:
            break
        try:
            plan = choose(Problem(region, n, PureDP(epsilon)), mechanism, check, inference=inference)
            found.append((epsilon, float(plan.likely_error), plan.useless))
        except Refusal:
            continue
    if not found:
        raise Refusal("nothing can be released at any ε up to 10: use more records, or a smaller radius")
    return sorted(found)


def _ticks(low: float, high: float) -> list[float]:
    every = [m * 10.0**k for k in range(int(np.floor(low)), int(np.ceil(high)) + 1) for m in (1, 2, 5)]
    inside = [tick for tick in every if low <= np.log10(tick) <= high]
    return inside if len(inside) < 7 else [tick for tick in inside if f"{tick:e}"[0] == "1"]


def _chart(plan: Plan) -> Ellipsoid | None:
    """The ellipsoid that a release by chart is made in, or its second part is."""
    found = getattr(plan, "chart", None)
    return found.chart if isinstance(found, TangentPlan) else found


def _synthetic(plan: Plan) -> Records:
    """Records in pairs on both sides of the centre, so that it is their mean."""
    region, rng = plan.problem.region, np.random.default_rng(0)
    space, center = region.space, region.center
    half = rng.normal(size=(SYNTHETIC // 2, space.dim))
    half *= region.radius / 2 / np.linalg.norm(half, axis=1, keepdims=True)
    chart = _chart(plan)
    if chart is not None:
        w = rng.normal(size=(SYNTHETIC // 2, len(chart.axes)))
        half = chart.tangent(w / (2 * np.linalg.norm(w, axis=1, keepdims=True)))
    return Records(space, space.exp(center, space.from_coordinates(center, np.concatenate([half, -half]))))


def _turned(space: Space, center: Any, points: Array) -> Array:
    """Points as they look from the centre: shapes turned to it, and of its size."""
    base = space.validate(points)
    with np.errstate(all="ignore"):
        seen = space.present(space.exp(center, space.log(center, base)))
    return np.asarray(np.where(np.isfinite(seen), seen, space.present(base)))


# -- pictures -------------------------------------------------------------------------------------------------------------
def picture(
    space: Space, center: Array, others: Array, name: str, about: Band | None, links: str = ""
) -> dict[str, Any]:
    """A centre, other points under a name, and the band of a release at the centre, as panels or as a table.

    What the points are decides, not which space they are of: landmarks, matrices, directions; anything else is a table.
    """
    if space.kind == "landmarks":
        pairs = joined(read_links(links, len(center)) if links else None, len(center))
        return {"as": "points", "panels": _landmarks(center, others, name, about, pairs)}
    if space.kind == "matrices" and center.shape[0] in (2, 3) and _definite(center, *others):
        return {"as": "points", "panels": _ellipses(space, center, others, name, about)}
    if space.kind == "matrices" and center.shape[0] <= MOST_CELLS:
        return {"as": "cells", "panels": _heat(center, others[0], name)}
    if center.shape == (3,) and space.to_degrees(center) is not None:
        return {"as": "points", "panels": [_globe(space, center, others, name, about)]}
    rows = [
        (str(i + 1), f"{c:.4g}", *(f"{x:.4g}" for x in row))
        for i, (c, row) in enumerate(zip(center.ravel(), others.reshape(len(others), -1)[:3].T, strict=True))
    ]
    what = "Made-up release" if name == "draw" else "Public record"
    return {
        "as": "table",
        "panels": [],
        "head": ["Number", "Public centre", *(f"{what} {i + 1}" for i in range(min(3, len(others))))],
        "rows": rows[:MOST_ROWS],
    }


class Frame:
    """From the units of data to those of a panel, y upwards."""

    def __init__(self, points: Array, margin: float = 0.08) -> None:
        low, high = points.reshape(-1, 2).min(axis=0), points.reshape(-1, 2).max(axis=0)
        room = margin * max(float((high - low).max()), 1e-9)
        self.low, self.high = low - room, high + room
        width, height = self.high - self.low
        self.scale = WIDTH / max(width, height / 1.1)
        self.size = [WIDTH, round(float(max(height * self.scale, 0.3 * WIDTH)), 2)]
        self.shift = (np.array(self.size) - self.scale * (self.high - self.low)) / 2

    def __call__(self, points: Any) -> list[Any]:
        at = self.shift + self.scale * (np.asarray(points, dtype=np.float64) - self.low)
        at[..., 1] = self.size[1] - at[..., 1]
        found: list[Any] = np.round(at, 2).tolist()
        return found


def _line(points: Any, name: str, closed: bool = False) -> dict[str, Any]:
    return {"t": "line", "p": points, "c": name, "closed": closed}


def _dot(point: Any, name: str, r: float = 3.0) -> dict[str, Any]:
    return {"t": "dot", "p": point, "c": name, "r": r}


def _word(point: Any, text: str, name: str = "label") -> dict[str, Any]:
    return {"t": "text", "p": point, "s": text, "c": name}


def _landmarks(center: Array, others: Array, name: str, about: Band | None, pairs: Any) -> list[dict[str, Any]]:
    """In the plane, or from three sides."""
    dim = center.shape[1]
    titles = dict(zip(combinations(range(dim), 2), ("front: x and y", "top: x and z", "side: y and z"), strict=False))
    sides = [(list(axes), title if dim == 3 else "") for axes, title in titles.items()]
    return [_side(center, others, name, about, axes, title, pairs) for axes, title in sides]


def _side(
    center: Array, others: Array, name: str, about: Band | None, axes: list[int], title: str, pairs: Any
) -> dict[str, Any]:
    k, c, o = len(center), center[:, axes], others[:, :, axes]
    halves, turns = np.zeros((k, 2)), np.zeros(k)
    if about is not None:
        halves, turns = _about_landmarks(about, k, axes)
        seen = float(np.median(halves[:, 0]) / np.ptp(c, axis=0).max())
        times = next((f for f in (1, 2, 5, 10, 20, 50) if f * seen > JUST_SEEN), 100)
        halves, o = times * halves, c + times * (o - c)
        title = ", ".join(filter(None, [title, f"differences drawn {times} times as large" if times > 1 else ""]))
    reach = halves.max(axis=1, keepdims=True)
    frame, marks = Frame(np.concatenate([c[None], o, np.stack([c - reach, c + reach])])), []
    outline = not len(pairs) and center.shape[1] == 2 and looks_like_an_outline(c)
    here = frame(c)
    if about is not None:
        for at, half, turn in zip(here, (frame.scale * halves).tolist(), turns.tolist(), strict=True):
            size = [round(max(x, 0.6), 2) for x in half]
            marks.append({"t": "ellipse", "p": at, "h": size, "a": -round(turn, 2), "c": "band"})

    def drawn(points: list[Any], style: str, r: float) -> Marks:
        if outline:
            return [_line(points, style, closed=True)]
        return [*(_line([points[i], points[j]], style) for i, j in pairs), *(_dot(at, style, r) for at in points)]

    for i, one in enumerate(frame(o)):
        marks += [] if outline else [_line([a, b], "tie") for a, b in zip(here, one, strict=True)]
        marks += drawn(one, f"{name} s{i % DRAWS}", 2.0)
    marks += drawn(here, "centre", 2.6)
    if k <= 30 and not outline:
        marks += [_word([at[0] + 5, at[1] - 5], str(i + 1)) for i, at in enumerate(here)]
    return {"title": title, "size": frame.size, "marks": marks}


def _about_landmarks(about: Band, k: int, axes: list[int]) -> tuple[Array, Array]:
    """Half-axes and turn, in degrees, of the ellipse that holds each landmark with probability P; where the noise has no shape,
    discs of error/√k, the share of each if all are off by as much."""
    if about.noise is None:
        return np.full((k, 2), about.error / np.sqrt(k)), np.zeros(k)
    moves = about.noise.moves(2)
    sides, halves, _ = np.linalg.svd(moves.reshape(k, len(moves) // k, -1)[:, axes])
    return np.pad(halves, ((0, 0), (0, 2 - halves.shape[1]))), np.degrees(np.arctan2(sides[:, 1, 0], sides[:, 0, 0]))


def _edge(space: Space, shown: Array, about: Band, count: int) -> Array:
    """Points on the edge of what holds the mean with probability P: round it in two dimensions, anywhere on it in more."""
    noise = about.noise
    p = space.dim if noise is None else len(noise.w)
    turn = np.linspace(0, 2 * np.pi, count)
    u = np.stack([np.cos(turn), np.sin(turn)], axis=1) if p == 2 else np.random.default_rng(2).normal(size=(count, p))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    if noise is not None:
        return noise.values(noise.reach(p) * u)
    center = space.validate(shown[None])[0]
    return space.present(space.exp(center, space.from_coordinates(center, about.error * u)))


def _definite(*matrices: Array) -> bool:
    return all(np.linalg.eigvalsh(matrix)[0] > 0 for matrix in matrices)


def _ellipses(space: Space, center: Array, others: Array, name: str, about: Band | None) -> list[dict[str, Any]]:
    """Each matrix as the ellipse of its plane, {x: xᵀM⁻¹x = 1}; the band by many."""
    turn = np.linspace(0, 2 * np.pi, 49)
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    soft = np.zeros((0, *center.shape)) if about is None else _edge(space, center, about, 24)
    soft = soft[[_definite(matrix) for matrix in soft]]
    panels = []
    for i, j in combinations(range(len(center)), 2):
        part = np.ix_([i, j], [i, j])

        def rings(matrices: Array, part: Any = part) -> list[Array]:
            return [circle @ np.linalg.cholesky(matrix[part]).T for matrix in matrices]

        groups: Sequence[tuple[str, list[Array]]] = [
            ("soft", rings(soft)), (name, rings(others)), ("centre", rings(center[None]))
        ]  # fmt: skip
        frame = Frame(np.stack([ring for _, each in groups for ring in each]))
        marks = [
            _line(frame(ring), f"{what} s{k % DRAWS}" if what == name else what)
            for what, each in groups
            for k, ring in enumerate(each)
        ]
        panels.append({"title": f"channels {i + 1} and {j + 1}", "size": frame.size, "marks": marks})
    return panels


def _heat(center: Array, other: Array, name: str) -> list[dict[str, Any]]:
    """Matrices as cells: blue below 0, orange above, white at 0."""
    most, k = float(max(np.abs(center).max(), np.abs(other).max(), 1e-300)), len(center)
    step, panels = (WIDTH - 24) / k, []
    for title, matrix in (
        ("public centre", center),
        ("a made-up release" if name == "draw" else "a made-up record", other),
    ):
        marks: Marks = []
        for (i, j), value in np.ndenumerate(matrix):
            cell = [round(24 + j * step, 2), round(24 + i * step, 2), round(step, 2), round(step, 2)]
            marks.append(
                {"t": "cell", "p": cell, "f": _shade(float(value) / most), "s": f"{i + 1}, {j + 1}: {value:.4g}"}
            )
        every = -(-k // 12)
        for i in range(0, k, every):
            marks += [
                _word([24 + (i + 0.5) * step, 16], str(i + 1), "tick middle"),
                _word([18, 28 + (i + 0.5) * step], str(i + 1), "tick end"),
            ]
        panels.append({"title": f"{title} (darkest: ±{most:.3g})", "size": [WIDTH, WIDTH], "marks": marks})
    return panels


def _shade(x: float) -> str:
    """From blue (−1) over white to orange (1)."""
    end = np.array([0xB3, 0x58, 0x06]) if x > 0 else np.array([0x2A, 0x5C, 0x9E])
    red, green, blue = np.round(255 + (end - 255) * min(abs(x), 1.0)).astype(int).tolist()
    return f"#{red:02x}{green:02x}{blue:02x}"


def _globe(space: Space, center: Array, others: Array, name: str, about: Band | None) -> dict[str, Any]:
    """The sphere from above the centre; closer where what is shown is small."""
    size = float(np.linalg.norm(center))
    view = center / size
    axis = np.array([0.0, 0.0, 1.0]) if abs(view[2]) < 0.98 else np.array([0.0, 1.0, 0.0])
    up = axis - (axis @ view) * view
    up /= np.linalg.norm(up)
    turn = np.stack([np.cross(up, view), up, view])
    edge = np.zeros((0, 3)) if about is None else _edge(space, center, about, 73)
    seen = np.concatenate([others, edge]) / size @ turn.T
    reach = 1.0 if (seen[:, 2] < 0.2).any() else min(1.0, 1.4 * float(np.abs(seen[:, :2]).max()) + 1e-6)
    frame = Frame(np.array([[-reach, -reach], [reach, reach]]), 0.04)
    marks: Marks = []
    around = np.linspace(0, 2 * np.pi, 361)
    if reach == 1.0:
        marks.append(_line(frame(np.stack([np.cos(around), np.sin(around)], axis=1)), "frame", closed=True))
    degrees = space.to_degrees(center)
    assert degrees is not None
    for line, words in _graticule(degrees, reach):
        x, y, z = turn @ line.T
        inside = (z > 0) & (np.maximum(np.abs(x), np.abs(y)) <= 1.02 * reach)
        for run in np.split(np.flatnonzero(inside), np.flatnonzero(np.diff(np.flatnonzero(inside)) > 1) + 1):
            if len(run) > 1:
                at = frame(np.stack([x, y], axis=1)[run])
                marks += [_line(at, "frame"), _word(at[len(at) // 5], words, "tick middle")]
    if len(edge):
        marks.append(_line(frame((edge / size @ turn.T)[:, :2]), "band", closed=True))
    marks += [_dot(frame(p[:2]), f"{name} s{i % DRAWS}") for i, p in enumerate(others / size @ turn.T) if p[2] > 0]
    marks.append(_dot(frame([0.0, 0.0]), "centre"))
    return {"title": f"{2 * np.degrees(np.arcsin(reach)):.3g}° across", "size": frame.size, "marks": marks}


def _graticule(degrees: Array, reach: float) -> list[tuple[Array, str]]:
    """Some parallels and meridians at round degrees about a place, with their degrees."""
    latitude, longitude = np.ravel(degrees).tolist()
    width = float(np.degrees(np.arcsin(reach)))
    step = next(s for s in (0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 30) if s >= width / 3 or s == 30)
    t, lines = np.radians(np.linspace(-180, 180, 1441)), []
    for b in np.arange(np.ceil(max(-90 + step, latitude - width) / step) * step, min(90, latitude + width), step):
        lines.append(
            (
                np.stack(
                    [
                        np.cos(np.radians(b)) * np.cos(t),
                        np.cos(np.radians(b)) * np.sin(t),
                        np.full_like(t, np.sin(np.radians(b))),
                    ],
                    axis=1,
                ),
                f"{b:g}°",
            )
        )
    far = min(180.0, width / max(float(np.cos(np.radians(latitude))), width / 180, 1e-6))
    for a in np.arange(np.ceil((longitude - far) / step) * step, longitude + far, step)[:13]:
        r, s = np.radians(a), np.linspace(-np.pi / 2, np.pi / 2, 721)
        lines.append(
            (np.stack([np.cos(s) * np.cos(r), np.cos(s) * np.sin(r), np.sin(s)], axis=1), f"{(a + 180) % 360 - 180:g}°")
        )
    return lines
