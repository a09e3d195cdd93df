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

from ...errors import Refusal
from ...laws.privacy import PureDP
from ...mechanisms.choice import choose
from ...mechanisms.plan import Plan, Problem
from ...mechanisms.tangent import TangentKNorm
from ...numerics.arrays import Array
from ...records import Records
from ...regions import Ellipsoid, Region
from ...spaces import Space
from ...views import VIEWS
from ...views.base import Noise, View
from ...views.bending import bent_grid, can_bend, magnified
from ...views.figures import shade
from ...views.globe import COARSE, coastlines, frame_of, graticule, runs
from ...views.plots import read_links
from ...views.shapes import grid_title, joined, lines_between, looks_like_an_outline

WIDTH = 400.0  # of a panel
DRAWS, OTHERS, SYNTHETIC = 4, 12, 60  # releases shown, points shown about a centre, synthetic records
P = 0.95
NORMAL = (
    1.96  # a normal error is within so many root mean squares with probability P, and less far in several directions
)
JUST_SEEN = 0.015  # of the size of a shape: a band that is narrower is drawn larger, and the picture says so
MOST_CELLS, MOST_ROWS = 24, 30  # of a heat map on each side, of a table
BAND = f"the soft part holds the mean with probability {P:.0%}."
SHOWN = {
    "points": f"{DRAWS} releases (blue) of made-up records about the public centre (grey); {BAND}",
    "cells": "The public centre, and a release of made-up records about it.",
    "table": "The public centre, and releases of made-up records about it.",
}
LEFT_OUT = (
    "It counts the noise (dashed) and what is left out, as far as public knowledge tells: a larger ε pays for more "
    "directions, each with noise of its own, and leaves out less."
)
EPSILONS = np.round(np.geomspace(0.03, 10, 13), 4)
COARSE_FIRST = [0, 12, 6, 3, 9, 1, 5, 7, 11, 2, 4, 8, 10]  # of these, where planning is slow
SECONDS = 1.5
Marks = list[dict[str, Any]]


class Looks(NamedTuple):
    """What pictures are drawn with beside the numbers: lines between landmarks, as they are typed, names of channels, and
    whether directions are places on the Earth."""

    links: str = ""
    channels: tuple[str, ...] = ()
    places: bool = False

    def called(self, i: int, count: int) -> str:
        """The name of the i-th of so many channels, or its number from 1."""
        return self.channels[i] if len(self.channels) == count else str(i + 1)


LOOKS = Looks()


class Band(NamedTuple):
    """What holds the mean with probability P, about the centre: a distance; and its shape, where the noise has one."""

    error: float
    noise: Noise | None


# -- what the page asks for ---------------------------------------------------------------------------------------------
def of_region(region: Region, sample: Array | None, looks: Looks = LOOKS) -> dict[str, Any]:
    """A public centre with the public specimens it comes from, or with made-up points as far away as the radius.

    >>> from sfumato import Ball, Sphere
    >>> found = of_region(Ball(Sphere(dim=2), [0.0, 0.0, 1.0], radius=0.4), None)
    >>> found["space"], found["radius"], found["dim"]
    ('sphere(dim=2, curvature=1.0)', 0.4, 2)
    """

    space, center, rng = region.space, region.center, np.random.default_rng(0)
    view = VIEWS.get(space.name) or View()
    if looks.channels:
        view.check_names(looks.channels, space.point_shape)
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
    drawn = picture(space, shown, others, "other", None, looks)
    told = (" (grey)", " (thin)") if drawn["as"] == "points" else ("", "")
    return {
        **drawn,
        "space": space.typed,
        "radius": region.radius,
        "dim": space.dim,
        "landmarks": space.kind == "landmarks",
        "named": view.nameable,
        "words": words.format(*told),
    }


def of_release(
    region: Region, n: int, epsilon: float, mechanism: str, check: float, inference: float = 0.0, looks: Looks = LOOKS
) -> dict[str, Any]:
    """What releases would look like, of synthetic records that lie evenly about the public centre."""
    plan = choose(Problem(region, n, PureDP(epsilon)), mechanism, check, inference=inference)
    space, center = region.space, region.center
    draws = plan.draws(_synthetic(plan), DRAWS, np.random.default_rng(1))
    error, beat, chart = float(plan.likely_error), float(plan.to_beat), _chart(plan)
    noise = None if chart is None else Noise(chart, np.zeros(len(chart.axes)), plan.scale.sigma, P)
    directions = space.dim if chart is None else len(chart.axes)
    drawn = picture(
        space, space.present(center), _turned(space, center, draws), "draw", Band(plan.stated_error, noise), looks
    )
    return {
        **drawn,
        "error": error,
        "left_out": left_out(region, plan),
        "total": float(np.hypot(error, NORMAL * left_out(region, plan))),
        "degrees": _degrees(space, space.present(center)),
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
    x = a + b·log10 ε and y = c + d·log10(error).

    With ε the number of directions grows, and with it the noise: its own curve has kinks, and may rise.  So the curve counts
    what is left out as well, √(noise² + left out²), which is what the number of directions is chosen by.
    """
    found = _errors(region, n, mechanism, check, inference)
    errors = np.log10([each for row in found for each in (row.total, row.noise)])
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
        words, useful = "size of the region: useless above", [row.epsilon for row in found if row.total < region.radius]
        late = (
            not useful or at(useful[0], 1.0)[0] > (left + right) / 2
        )  # the curve then passes where the words would stand
        beside = _word([left + 4, y + 16], words, "tick") if late else _word([right, y - 5], words, "tick end")
        marks += [_line([[left, y], [right, y]], "limit"), beside]
    if several := any(row.total > 1.0001 * row.noise for row in found):
        marks.append(_line([at(row.epsilon, row.noise) for row in found], "noise"))
    marks.append(_line([at(row.epsilon, row.total) for row in found], "curve"))
    marks += [_word([(left + right) / 2, bottom + 33], "ε", "tick middle"), _word([4, 13], "error at 95%", "tick")]
    place = [float(x) for x in (a, b, c, d, bottom)]
    head = ["ε", "Error at 95%", *(["Of this noise", "Directions"] if several else []), ""]
    table = [row.words(several) for row in found]
    return {
        "panels": [{"title": "", "size": [WIDTH, 276], "marks": marks}],
        "place": place,
        "head": head,
        "table": table,
        "words": LEFT_OUT if several else "",
    }


class Predicted(NamedTuple):
    """What is predicted at an ε: the noise at 95%, with what is left out, in how many directions, and whether it is useless."""

    epsilon: float
    noise: float
    total: float
    directions: int
    useless: bool

    def words(self, several: bool) -> list[str]:
        more = [f"{self.noise:.3g}", str(self.directions)] if several else []
        return [f"{self.epsilon:g}", f"{self.total:.3g}", *more, "useless" if self.useless else ""]


def left_out(region: Region, plan: Plan) -> float:
    """How much of the mean a plan for a region is expected to leave out, as far as public knowledge tells."""
    chart = _chart(plan)
    return 0.0 if chart is None else region.left_out(chart, plan.n)


def _errors(region: Region, n: int, mechanism: str, check: float, inference: float) -> list[Predicted]:
    """What is predicted at each ε; at fewer where planning is slow."""
    found: list[Predicted] = []
    until = monotonic() + SECONDS
    for epsilon in EPSILONS[COARSE_FIRST].tolist():
        if monotonic() > until and len(found) > 2:
            break
        try:
            plan = choose(Problem(region, n, PureDP(epsilon)), mechanism, check, inference=inference)
        except Refusal:
            continue
        noise, chart = float(plan.likely_error), _chart(plan)
        directions = region.space.dim if chart is None else len(chart.axes)
        total = float(np.hypot(noise, NORMAL * left_out(region, plan)))
        found.append(Predicted(epsilon, noise, total, directions, plan.useless))
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
    return found.chart if isinstance(found, TangentKNorm) else found


def _degrees(space: Space, shown: Array) -> float | None:
    """How many degrees a unit of distance is, for directions in space."""
    there = shown.shape == (3,) and space.to_degrees(shown) is not None
    return float(np.degrees(1 / np.linalg.norm(shown))) if there else None


def _synthetic(plan: Plan) -> Records:
    """Records in pairs on both sides of the centre, so that it is their mean."""
    region, rng = plan.region, np.random.default_rng(0)
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
    space: Space, center: Array, others: Array, name: str, about: Band | None, looks: Looks = LOOKS
) -> dict[str, Any]:
    """A centre, other points under a name, and the band of a release at the centre, as panels or as a table.

    What the points are decides, not which space they are of: landmarks, matrices, directions; anything else is a table.
    """
    if space.kind == "landmarks":
        given = read_links(looks.links, len(center)) if looks.links else None
        return {"as": "points", "panels": _landmarks(center, others, name, about, given)}
    if space.kind == "matrices" and center.shape[0] in (2, 3) and _definite(center, *others):
        return {"as": "points", "panels": _ellipses(space, center, others, name, about, looks)}
    if space.kind == "matrices" and center.shape[0] <= MOST_CELLS:
        return {"as": "cells", "panels": _heat(center, others[0], name, looks)}
    if center.shape == (3,) and space.to_degrees(center) is not None:
        return {"as": "points", "panels": [_globe(space, center, others, name, about, looks.places)]}
    rows = [
        (looks.called(i, center.size), f"{c:.4g}", *(f"{x:.4g}" for x in row))
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


def _landmarks(center: Array, others: Array, name: str, about: Band | None, links: Any) -> list[dict[str, Any]]:
    """In the plane, or from three sides; and the first release as a grid on the centre that bends to it."""
    dim = center.shape[1]
    titles = dict(zip(combinations(range(dim), 2), ("front: x and y", "top: x and z", "side: y and z"), strict=False))
    times = 1 if about is None else _times(about, center)
    larger = f"differences drawn {times} times as large" if times > 1 else ""
    sides = [(list(axes), ", ".join(filter(None, [title * (dim == 3), larger]))) for axes, title in titles.items()]
    panels = [_side(center, others, name, about, axes, title, links, times) for axes, title in sides]
    if about is not None and can_bend(center[:, :2]):
        panels.append(_bent(center[:, :2], others[0][:, :2], links))
    return panels


def _bent(first: Array, second: Array, links: Any) -> dict[str, Any]:
    """A grid on the public centre, bent to one release of made-up records: what the noise alone does."""
    times = magnified(first, second)
    second = first + times * (second - first)
    points = np.concatenate([first, second])
    margin = 0.08 * float(np.ptp(points, axis=0).max())
    lines = bent_grid(first, second, points.min(axis=0) - margin, points.max(axis=0) + margin)
    frame, pairs = Frame(np.concatenate([points, *lines]), 0.01), lines_between(links, first)
    marks: Marks = [_line(frame(line), "tie") for line in lines]
    here, there = frame(first), frame(second)
    marks += [_line([a, b], "draw") for a, b in zip(here, there, strict=True)]
    marks += [_line([there[i], there[j]], "draw") for i, j in pairs.tolist()]
    marks += [*(_dot(at, "centre", 1.8) for at in here), *(_dot(at, "draw", 2.4) for at in there)]
    title = grid_title("the public centre", "one such release", times)
    return {"title": title, "size": frame.size, "marks": marks}


def _side(
    center: Array, others: Array, name: str, about: Band | None, axes: list[int], title: str, links: Any, times: int
) -> dict[str, Any]:
    k, c, o = len(center), center[:, axes], others[:, :, axes]
    halves, turns = np.zeros((k, 2)), np.zeros(k)
    if about is not None:
        halves, turns = _about_landmarks(about, k, axes)
        halves, o = times * halves, c + times * (o - c)
    reach = halves.max(axis=1, keepdims=True)
    frame, marks = Frame(np.concatenate([c[None], o, np.stack([c - reach, c + reach])])), []
    pairs = joined(links, k).tolist()
    outline = links is None and center.shape[1] == 2 and looks_like_an_outline(c)
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


def _times(about: Band, center: Array) -> int:
    """How many times as large differences are drawn, so that the bands are just seen."""
    halves = _about_landmarks(about, len(center), [0, 1])[0]
    seen = float(np.median(halves[:, 0]) / np.ptp(center, axis=0).max())
    return next((f for f in (1, 2, 5, 10, 20, 50) if f * seen > JUST_SEEN), 100)


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


def _ellipses(
    space: Space, center: Array, others: Array, name: str, about: Band | None, looks: Looks
) -> list[dict[str, Any]]:
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
        one, two = (looks.called(index, len(center)) for index in (i, j))
        panels.append({"title": f"channels {one} (across) and {two} (up)", "size": frame.size, "marks": marks})
    return panels


def _heat(center: Array, other: Array, name: str, looks: Looks) -> list[dict[str, Any]]:
    """Matrices as cells: blue below 0, orange above, white at 0."""
    most, k = float(max(np.abs(center).max(), np.abs(other).max(), 1e-300)), len(center)
    names = [looks.called(i, k) for i in range(k)]
    upright = k > 8 and max(map(len, names)) > 2
    edge = 12.0 + 9.0 * max(map(len, names))
    step, panels = (WIDTH - edge - 4) / k, []
    what = "a made-up release" if name == "draw" else "a made-up record"
    for title, matrix in (("public centre", center), (what, other)):
        marks: Marks = []
        for (i, j), value in np.ndenumerate(matrix):
            cell = [round(edge + j * step, 2), round(edge + i * step, 2), round(step, 2), round(step, 2)]
            words = f"{names[i]}, {names[j]}: {value:.4g}"
            marks.append({"t": "cell", "p": cell, "f": shade(float(value) / most), "s": words})
        for i in range(0, k, 1 if looks.channels or k <= 12 else 2):
            at = edge + (i + 0.5) * step
            marks.append(_word([edge - 6, at + 4], names[i], "tick end"))
            above = _word(
                [at + 4, edge - 6] if upright else [at, edge - 8], names[i], f"tick{'' if upright else ' middle'}"
            )
            marks.append({**above, "a": -90} if upright else above)
        panels.append({"title": f"{title} (darkest: ±{most:.3g})", "size": [WIDTH, WIDTH], "marks": marks})
    return panels


def _globe(space: Space, center: Array, others: Array, name: str, about: Band | None, places: bool) -> dict[str, Any]:
    """The sphere from above the centre, with degrees, and with coasts where the data are places; closer where what is shown is
    small."""
    size = float(np.linalg.norm(center))
    view = center / size
    turn = frame_of(view)
    edge = np.zeros((0, 3)) if about is None else _edge(space, center, about, 73)
    seen = np.concatenate([others, edge]) / size @ turn.T
    reach = 1.0 if (seen[:, 2] < 0.2).any() else min(1.0, 1.4 * float(np.abs(seen[:, :2]).max()) + 1e-6)
    frame = Frame(np.array([[-reach, -reach], [reach, reach]]), 0.04)
    marks: Marks = []
    if reach == 1.0:
        around = np.linspace(0, 2 * np.pi, 181)
        marks.append(_line(frame(np.stack([np.cos(around), np.sin(around)], axis=1)), "frame", closed=True))
    lines = graticule(view, reach)
    marks += [_line(frame(run[::3]), "frame") for line in lines for run in runs(turn, line.points, reach)]
    for coast in coastlines() if places and reach > COARSE else []:
        marks += [_line(frame(run), "coast") for run in runs(turn, coast, reach)]
    marks += [_word(frame(line.at), line.words, "tick middle") for line in lines if line.at is not None]
    if len(edge):
        marks.append(_line(frame((edge / size @ turn.T)[:, :2]), "band", closed=True))
    marks += [_dot(frame(p[:2]), f"{name} s{i % DRAWS}") for i, p in enumerate(others / size @ turn.T) if p[2] > 0]
    marks.append(_dot(frame([0.0, 0.0]), "centre"))
    return {"title": f"{2 * np.degrees(np.arcsin(reach)):.3g}° across", "size": frame.size, "marks": marks}
